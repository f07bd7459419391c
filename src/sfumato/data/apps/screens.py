"""First sentences, and the screens they ask for.

Names in a sentence appear on the screen unchanged. A bare number ("ten items about moving house") takes the domain's
first items; for held-out domains, the sentence names all items.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from sfumato.data.apps.domains import (
    NUM_HELD_OUT,
    Coin,
    Domain,
    capitalize,
    coin_domain,
    coin_name,
    coin_several,
    coin_task,
    coin_thing,
    domains,
    draw_value,
)
from sfumato.data.apps.speech import copied, indefinite, plain, templates, texts, word
from sfumato.ui.tree import MAX_CELL

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
COLORS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "grey", "black", "white"]
COLORED = ("button", "text", "checkbox", "chart", "progress", "badge", "header", "card")
HELD_OUT_COMBINATIONS = {
    ("todo", "sepia"), ("list", "color"), ("table", "dark"), ("form", "color"), ("tabs", "dark"), ("cards", "contrast"),
    ("mix", "sepia"),
}  # fmt: skip
"""Kinds of screens with the features they never have in training."""


@dataclass(kw_only=True)
class Screen:
    """A first sentence with the page it asks for."""

    sentence: str
    """With the marks of `speech.copied`."""
    lines: list[str]
    """Text of the page, without slot ids; one refusing line if nothing can be shown."""
    combination: bool = False
    """Whether it has a held-out combination."""
    choices: tuple[str, ...] = ()
    """Possible items where the sentence does not name them; empty if it names all."""


_KNOWN_SHARE = 0.5
_BARE_SHARE = 0.15
"""Share of sentences that do not say what is on the screen: "a to-do list for the garden", "a contact form"."""
_THINGS_SHARE = 0.3
"""Share of checklists of things rather than of things to do."""
_NUM_UNASKED = 4
_ADDING = [" row", "  input: New item", "  button: Add"]
_WEIGHTS = {"todo": 6, "list": 4, "table": 4, "form": 4, "tabs": 2, "cards": 3, "mix": 6, "nonsense": 1}


def enumerate_names(names: list[str], random: Random) -> str:
    """Names in a list, each marked as copied: "a, b and c"."""
    marked = [copied(name) for name in names]
    joint = random.choice((" and ", " and ", ", "))
    return joint.join([", ".join(marked[:-1]), marked[-1]]) if len(marked) > 1 else marked[0]


def number_word(count: int, random: Random) -> str:
    """A number as a word or in digits."""
    return NUMBERS[count] if count < len(NUMBERS) and random.random() < 0.6 else str(count)


def draw_domain(random: Random, *, held_out: bool) -> Domain:
    """A domain of training, known or made up, or a held-out one."""
    if held_out:
        return random.choice(domains()[-NUM_HELD_OUT:])
    return random.choice(domains()[:-NUM_HELD_OUT]) if random.random() < _KNOWN_SHARE else coin_domain(random)


def draw_screen(
    random: Random, *, unseen_wording: bool = False, unseen_domain: bool = False, domain: Domain | None = None
) -> Screen:
    """A first sentence with its screen, with seen or unseen wordings and domain."""
    domain = domain or draw_domain(random, held_out=unseen_domain)
    kind = random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if kind == "nonsense" and unseen_domain:
        kind = "mix"
    draft = _Draft(random, domain, kind, unseen_wording)
    return draft.nonsense() if kind == "nonsense" else draft.screen()


class _Draft:
    """A screen under construction."""

    def __init__(self, random: Random, domain: Domain, kind: str, unseen_wording: bool) -> None:
        self.random, self.domain, self.kind, self.unseen_wording = random, domain, kind, unseen_wording
        self.choices: tuple[str, ...] = ()
        self.title = ""
        self.prefix = ""

    def _sentence(self, **marked: str) -> str:
        """A sentence asking for a screen of this kind; its slots already contain marks."""
        lines = templates(texts()["screens"][self.kind], held_out=self.unseen_wording)
        template = self.random.choice([line for line in lines if ("{prefix}" in line) == bool(self.prefix)])
        for name, value in (marked | {"prefix": copied(self.prefix)}).items():
            template = template.replace(f"{{{name}}}", value)
        return word(template, self.random)

    def nonsense(self) -> Screen:
        name = capitalize(coin_name(self.random))
        return Screen(sentence=self._sentence(name=copied(name)), lines=["refuse: a screen cannot do that"])

    def screen(self) -> Screen:
        random, kind = self.random, self.kind
        topic = self._topic()
        body, slots = getattr(self, f"_{kind}")()
        sentence = self._sentence(ask=texts()["ask"], topic=topic, **slots)
        combination = False
        theme = color = ""
        if random.random() < 0.2:
            theme, phrase = random.choice(list(texts()["screen_themes"].items()))
            phrase = word(phrase, random)
            at_end = random.random() < 0.8
            sentence = f"{sentence} {phrase}".replace(" ,", ",") if at_end else f"{phrase.lstrip(', ')}: {sentence}"
            combination |= (kind, theme) in HELD_OUT_COMBINATIONS
        if self.title and random.random() < 0.15:
            color = random.choice(COLORS)
            sentence += f" {random.choice(('with', 'and'))} a {color} {random.choice(('title', 'header', 'heading'))}"
            combination |= (kind, "color") in HELD_OUT_COMBINATIONS
        header = [f" header{f' {color}' * bool(color)}: {self.title}"] if self.title else []
        lines = ["page" + f" {theme}" * bool(theme), *header, *body]
        return Screen(sentence=sentence, lines=lines, combination=combination, choices=self.choices)

    def _topic(self) -> str:
        random = self.random
        form = random.random()
        if form < 0.25:
            name = coin_name(random) if random.random() < 0.5 else coin_thing(random)
            self.title = capitalize(name)
            called = random.choice(("called", "named", "titled"))
            return f" {called} {copied(self.title if random.random() < 0.7 else name)}"
        plain_topic = re.sub("^(an?|the|my|our) ", "", self.domain.topic)
        if form < 0.4 and not self.unseen_wording:
            self.title = capitalize(plain_topic)
            if random.random() < 0.5:
                return f" {random.choice(('for my', 'for our', 'of', 'of my', 'about my'))} {copied(plain_topic)}"
            self.prefix = plain_topic
            return ""
        if form < 0.85 or not self.domain.known:
            self.title = capitalize(plain_topic)
            of_someone = f"{random.choice(('the', 'my', 'our'))} {plain_topic}"
            said = of_someone if random.random() < 0.3 else self.domain.topic
            return f" {random.choice(('for', 'about', 'on', 'for'))} {copied(said)}"
        return ""

    def _contents(
        self, known: tuple[str, ...], coin: Coin, high: int, noun: str, usual: tuple[str, ...] = ()
    ) -> tuple[list[str], bool, str]:
        """Two or more names to show on a screen, whether the sentence includes them, and what it says of them.

        A sentence that says nothing gets some names of a known domain, and none of another; from `usual`, if it is
        given.
        """
        random, usual = self.random, usual or known
        count = min(random.randint(2, high), len(known), len(usual))
        bare = random.random() < _BARE_SHARE
        on_topic = bool(self.title) and self.title.casefold() in self.domain.topic.casefold()
        if self.domain.known and on_topic and (bare or random.random() < 0.5):
            self.choices = tuple(map(capitalize, usual))
            names = list(usual[: _NUM_UNASKED if bare else count])
            return names, False, "" if bare else f" with {number_word(count, random)} {noun}"
        if bare:
            return [], False, ""
        names = self._draw_names(known, coin, min(count, 6))
        joint = random.choice((": ", " with ", f" with the {noun} ", " containing ", " like ", ", "))
        return names, True, joint + enumerate_names(names, random)

    def _draw_names(self, known: tuple[str, ...], coin: Coin, count: int) -> list[str]:
        if not self.domain.known or self.random.random() < 0.4:
            return self.random.sample(known, count)
        return list(coin_several(coin, count, self.random))

    def _draw_things(self, low: int, high: int) -> list[str]:
        return self._draw_names(self.domain.things, coin_thing, self.random.randint(low, high))

    def _todo(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        noun = random.choice(("items", "tasks", "entries", "things", "to-dos"))
        of_things = random.random() < _THINGS_SHARE
        known, coin = (self.domain.things, coin_thing) if of_things else (self.domain.tasks, coin_task)
        names, named, filling = self._contents(known, coin, len(known), noun, usual=self.domain.tasks)
        done: set[int] = set()
        wording = ""
        if named and random.random() < 0.15:
            done = set(random.sample(range(len(names)), random.randint(1, len(names))))
            note = random.choice((" (done)", " (ticked)", " (checked)", ", done,", " (already done)"))
            filling = random.choice((": ", " with ")) + ", ".join(
                copied(name) + note * (i in done) for i, name in enumerate(names)
            ).rstrip(",")
        elif filling and random.random() < 0.6:
            if named and random.random() < 0.5:
                done = set(random.sample(range(len(names)), random.randint(1, min(2, len(names)))))
                wording = word(
                    f"[; |. |, ]{self._references(names, done)} [is|are] [|already ][done|ticked|finished|checked]",
                    random,
                )
            else:
                count = random.randint(1, len(names))
                done = set(range(count))
                word_ = "all" if count == len(names) else number_word(count, random)
                first = "the first " if count < len(names) and random.random() < (0.9 if named else 0.3) else ""
                wording = word(f", {first}{word_} [of them done|done|already done|ticked off|checked|finished]", random)
                if named and not first and count < len(names):
                    wording = wording.replace(", ", ", the first ", 1)
        body = [f"  checkbox{' on' * (i in done)}: {capitalize(name)}" for i, name in enumerate(names)]
        body.insert(0, " list")
        if filling and random.random() < 0.2:
            wording += word(" and [a field to add more|an input for new ones|a way to add things]", random)
            body += _ADDING
        return body if names else [*body, *_ADDING], {"filling": filling, "done": wording}

    def _references(self, names: list[str], chosen: set[int]) -> str:
        """Some of the names, by their words, position or last words."""
        random = self.random
        if len(chosen) == 1 and random.random() < 0.3:
            index = min(chosen)
            if index == len(names) - 1:
                return random.choice(("the last one", "the last", "last one"))
            if index < len(ORDINALS):
                return f"the {ORDINALS[index]}{random.choice((' one', ''))}"
        ends = [name.split()[-1] for name in names]
        if random.random() < 0.3 and len(set(ends)) == len(ends):
            return " and ".join(f"the {copied(ends[i])}" for i in sorted(chosen))
        return enumerate_names([names[i] for i in sorted(chosen)], random)

    def _list(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        noun = random.choice(("items", "entries", "things"))
        names, _, filling = self._contents(self.domain.things, coin_thing, 8, noun)
        numbered = random.random() < 0.25
        filling += random.choice((", numbered", " and numbers", ", with numbers")) * numbered
        body = [f" list{' numbered' * numbered}", *(f"  item: {capitalize(name)}" for name in names)]
        return body if names else [*body, *_ADDING], {"filling": filling}

    def _table(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        noun = random.choice(("rows", "entries", "lines"))
        names, named, filling = self._contents(self.domain.things, coin_thing, 6, noun)
        known = ["price", "date", "status", "owner", "notes", "priority", "amount", "place"]
        known += [self.domain.number.lower(), self.domain.state.lower()]
        columns = random.sample(list(dict.fromkeys(known)), random.randint(1, 3))
        wording = word(
            f"[, columns|, with the columns|; columns|, the columns are] [name, |]{enumerate_names(columns, random)}",
            random,
        )
        values = [["-"] * len(columns) for _ in names]
        if names and named and random.random() < 0.4:
            values = [[draw_value(self.domain, random) for _ in columns] for _ in names]
            said, between = list[str](), ", " if len(columns) == 1 else "; "
            for name, row in zip(names, values, strict=True):
                joint = random.choice((", ", " ")) if len(row) == 1 else ", "
                said.append(joint.join(map(copied, (name, *row))))
            rows = word("[: |, rows: |, with the rows |; rows |. Rows: ]", random) + between.join(said)
            return _table_lines(names, columns, values), {"filling": "", "columns": wording + rows}
        return _table_lines(names, columns, values), {"filling": filling, "columns": wording}

    def _form(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        if random.random() < _BARE_SHARE:
            return self._usual_form()
        known = self.domain.fields
        if self.domain.known:
            known += ("Name", "Email", "Phone", "Password", "City", "Comment")
        names = random.sample(list(dict.fromkeys(known)), random.randint(2, 4))
        required = random.random() < 0.2
        wording, label = "", "Send"
        if required:
            wording += random.choice((", all required", ", all of them required", ", nothing may stay empty"))
        if random.random() < 0.4:
            label = random.choice(("Save", "Submit", "Go", "Sign up", "Book", coin_name(random)))
            wording += random.choice((" and a button ", " with a button called ", ", button ")) + copied(label)
        body = [f" input{input_type(name)}{' required' * required}: {name}" for name in names]
        listed = enumerate_names([name.lower() if name != label else name for name in names], random)
        return [*body, f" button: {label}"], {"names": listed, "button": wording}

    def _usual_form(self) -> tuple[list[str], dict[str, str]]:
        """A form that everybody knows, so that the sentence does not name its fields."""
        self.kind, self.prefix = "usual_form", self.random.choice(list(texts()["forms"]))
        self.title = capitalize(self.prefix)
        *names, label = texts()["forms"][self.prefix]
        return [*(f" input{input_type(name)}: {name}" for name in names), f" button: {label}"], {}

    def _tabs(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        names = self._draw_things(2, 4)
        body = [" tabs", *(f"  tab{' on' * (i == 0)}: {capitalize(name)}" for i, name in enumerate(names))]
        listed = enumerate_names(names, random)
        if random.random() < 0.35:
            index = random.randrange(len(names))
            inside, said = self._inside()
            body[index + 2 : index + 2] = [f"   {line}" for line in inside]
            tab = copied(names[index])
            where = word(f"[in|on|under] [the {tab} tab|{tab}|the tab {tab}|tab {tab}]", random)
            listed += random.choice(
                (f"; {where} {said}", f", {where} {said}", f", with {said} {where}", f". {where} is {said}")
            )
        return body, {"names": listed}

    def _inside(self) -> tuple[list[str], str]:
        """What is in a tab, and what is said of it."""
        random = self.random
        if random.random() < 0.5:
            said, line = self._part(inside=True)
            return [line], said
        names = self._draw_things(2, 4)
        body = ["list", *(f" item: {capitalize(name)}" for name in names)]
        return body, "a list with " + enumerate_names(names, random)

    def _cards(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        names = self._draw_things(1, 4)
        if random.random() < 0.25:
            return self._told_cards(names[:2])
        image, button = random.random() < 0.4, random.random() < 0.3
        wording, body = "", [" row"]
        if image or button:
            parts = [random.choice(("a picture", "an image"))] * image + ["a button"] * button
            wording = random.choice((" with {} each", ", each with {}", ", {} on each")).format(" and ".join(parts))
        for name in map(capitalize, names):
            body += [f"  card: {name}", *[f"   image: {name}"] * image, *["   button: Open"] * button]
        return body, {"names": enumerate_names(names, random), "each": wording}

    def _told_cards(self, names: list[str]) -> tuple[list[str], dict[str, str]]:
        """Cards of which a sentence says what is in each."""
        body, told = [" row"], list[str]()
        for name in names:
            parts = [self._part(inside=True) for _ in range(self.random.randint(1, 2))]
            body += [f"  card: {capitalize(name)}", *(f"   {line}" for _, line in parts)]
            told.append(f"{copied(name)} with {' and '.join(text for text, _ in parts)}")
        return body, {"names": "; ".join(told), "each": ""}

    def _mix(self) -> tuple[list[str], dict[str, str]]:
        random = self.random
        parts = [self._part() for _ in range(random.randint(1, 5))]
        *wording, last = [text for text, _ in parts]
        listed = f"{', '.join(wording)} and {last}" if wording else last
        return [f" {line}" for _, line in parts], {"parts": listed}

    def _part(self, *, inside: bool = False) -> tuple[str, str]:
        """What is said of a component, and its line; one that fits inside a tab or card if need be."""
        random = self.random
        name = random.choice(self._draw_things(1, 2))
        kind, nouns = random.choice([each for each in texts()["parts"].items() if not (inside and each[0] == "card")])
        noun = random.choice(nouns)
        color = random.choice(COLORS) if kind in COLORED and random.random() < 0.3 else ""
        label = copied(name)
        article = random.choice(("a", "a", "a", "the", ""))
        if kind == "divider":
            return f"a {noun}", kind
        words, adjective, at = [], color, ""
        if kind in ("progress", "slider") and random.random() < 0.5:
            words = [str(random.randint(1, 20) * 5)]
            at = f" at {words[0]}" + random.choice(("", "%", " percent"))
        if kind == "chart" and random.random() < 0.5:
            form = random.choice(("line", "pie"))
            words.append(form)
            noun = f"{form} chart"
        words += [color] * bool(color)
        if kind == "checkbox" and random.random() < 0.3:
            words, adjective = ["on", *words], random.choice(("ticked ", "checked ")) + color
        if kind == "input":
            words = input_type(name).split()
            if random.random() < 0.2:
                words, adjective = [*words, "required"], random.choice(("required", "mandatory"))
        cells = ""
        if kind == "select" and random.random() < 0.7:
            options = [self._option() for _ in range(random.randint(2, 3))]
            cells = "".join(f" | {capitalize(option)}" for option in options)
            at = word("[ between | with | with the options |: | of | for ]", random) + enumerate_names(options, random)
        if kind == "chart" and random.random() < 0.4:
            points = [
                f"{self._option()[: MAX_CELL - 4].strip()} {random.randint(1, 99)}" for _ in range(random.randint(2, 4))
            ]
            cells = "".join(f" | {capitalize(point)}" for point in points)
            at = word("[ with | of |: | showing ]", random) + enumerate_names(points, random)
        if article == "a":
            article = indefinite(adjective or noun)
        joints = {"text": (" saying ", " that says "), "header": (" saying ",), "button": (" that says ", " for ")}
        joint = random.choice((" ", " ", " called ", " labelled ", *joints.get(kind, (" for ", " of "))))
        line = " ".join([kind, *words]) + f": {capitalize(name)}{cells}"
        return " ".join(f"{article} {adjective} {noun}{joint}{label}{at}".split()), line

    def _option(self) -> str:
        return coin_name(self.random) if self.random.random() < 0.5 else coin_thing(self.random)


def _table_lines(names: list[str], columns: list[str], values: list[list[str]]) -> list[str]:
    return [
        " table: " + " | ".join(["Name", *map(capitalize, columns)]),
        *("  record: " + " | ".join([capitalize(name), *row]) for name, row in zip(names, values, strict=True)),
    ]


def input_type(label: str) -> str:
    """The type word of an input, from its label, with a leading space."""
    words = plain(label).lower().split()
    return next((f" {name}" for name, hints in texts()["types"].items() if any(hint in words for hint in hints)), "")
