"""First sentences, and the screens that they ask for.

What a sentence names stands on the screen as it is named. Where it gives a number alone ("ten items about moving
house"), the first of the domain's own are taken: a domain that training never sees has all of them named.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sfumato.data.apps.domains import (
    NUM_HELD_OUT,
    Domain,
    capitalize,
    coin_name,
    coin_task,
    coin_thing,
    domains,
)
from sfumato.data.apps.speech import copied, plain, templates, word

NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
COLORS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "grey", "black", "white"]
HELD_OUT_COMBINATIONS = {
    ("todo", "sepia"), ("list", "color"), ("table", "dark"), ("form", "color"), ("tabs", "dark"), ("cards", "contrast"),
    ("mix", "sepia"),
}  # fmt: skip
"""Kinds of screens with what they are never trained to have besides."""


@dataclass(kw_only=True)
class Screen:
    """A first sentence with the page it asks for."""

    sentence: str
    """With the marks of `speech.copied`."""
    lines: list[str]
    """Of the page, without slot ids; one line that refuses, if nothing can be shown."""
    combination: bool = False
    """Whether it has something of `HELD_OUT_COMBINATIONS`."""
    choices: tuple[str, ...] = ()
    """What items may be that the sentence does not name; empty where it names all."""


_ASKING = (
    "[||||make me |I need |I want |please make |build |create "
    "|show me |can you make |give me |could you build |let's have |I would like ]"
)
_TODO = """
{ask}[a|the] [to-do list|todo list|checklist|list of tasks|task list]{topic}{filling}{done}
{ask}[a list of things to do|a list to tick off|tasks to check off]{topic}{filling}{done}
[to-do list|checklist|tasks]{topic}{filling}{done}
{ask}[a|one] [page|screen|app] [with|that has] [a checklist|a to-do list]{topic}{filling}{done}
~[what is there to do|things that must get done]{topic}? {ask}[an app to tick them off|boxes to tick]{filling}{done}
~[keep track of|track|follow] [my|our|the] [chores|duties]{topic}{filling}{done}
"""
_LIST = """
{ask}[a|the] [list|simple list|plain list]{topic}{filling}
[list|a page that lists things|listing]{topic}{filling}
{ask}a [page|screen] with a list{topic}{filling}
~[write down|put down|note] [some|a few] things{topic}{filling}
"""
_TABLE = """
{ask}[a|the] [table|grid|spreadsheet]{topic}{filling}{columns}
[table|spreadsheet]{topic}{filling}{columns}
{ask}a [page|screen] with a table{topic}{filling}{columns}
~[lay out|arrange] [everything|it all] in [rows and columns|a table]{topic}{filling}{columns}
"""
_FORM = """
{ask}[a|the] [form|entry form|questionnaire]{topic} [with|asking for|that asks for|with the fields] {names}{button}
[form|entry form]{topic}: {names}{button}
{ask}a [page|screen] [where I can enter|to enter|to fill in] {names}{topic}{button}
~[let people|people should] [type in|give us] {names}{topic}{button}
"""
_TABS = """
{ask}[tabs|a page with tabs|a screen with the tabs|an app with tabs]{topic} [for|named|called] {names}
{ask}[a page|an app]{topic} with [a tab each for|tabs for|the tabs] {names}
~[split it into|three or so] tabs{topic}: {names}
"""
_CARDS = """
{ask}[cards|a row of cards|a gallery|a page of cards]{topic} [for|with|showing] {names}{each}
{ask}[a card each for|one card each for] {names}{topic}{each}
~[put|place] {names} on cards[| side by side]{topic}{each}
"""
_MIX = """
{ask}[a page|a screen|an app]{topic} with {parts}
{ask}[a|one] [page|screen]{topic}: {parts}
[dashboard|page|screen]{topic} with {parts}
~[I have to see|there must be] {parts} [on one screen|on a page]{topic}
"""
_NONSENSE = (
    "[make it sing|make me a coffee|play a song|call my mother|what's the weather|tell me a joke]\n"
    "[what is|what's] [the time|love|the capital of {name}|two plus two|the meaning of life]\n"
    "[sing|dance|cook|fly to {name}|open the door|turn off the lights|send a mail to {name}|order a pizza|drive home]\n"
    "[hello|hi there|good morning|thank you|never mind|how are you|asdf|blah blah|test]\n"
    "~[write a poem about|how old is|why is|where do I find|buy me] {name}"
)
_THEMES = {
    "dark": "[in dark mode|with a dark theme|, dark|in dark colours]",
    "sepia": "[in sepia|with a sepia theme|, sepia]",
    "contrast": "[with high contrast|in high contrast]",
}
_DEFAULT_TITLES = {
    "todo": "To-do list", "list": "List", "table": "Table", "form": "Form", "tabs": "Tabs", "cards": "Cards",
    "mix": "Page",
}  # fmt: skip
_WEIGHTS = {"todo": 6, "list": 4, "table": 4, "form": 4, "tabs": 2, "cards": 3, "mix": 6, "nonsense": 1}


def enumerate_names(names: list[str], random: Random) -> str:
    """Names in a row, each marked as copied: "a, b and c"."""
    marked = [copied(name) for name in names]
    joint = random.choice((" and ", " and ", ", "))
    return joint.join([", ".join(marked[:-1]), marked[-1]]) if len(marked) > 1 else marked[0]


def number_word(count: int, random: Random) -> str:
    """A number as a word or in digits."""
    return NUMBERS[count] if count < len(NUMBERS) and random.random() < 0.6 else str(count)


def draw_domain(random: Random, *, held_out: bool) -> Domain:
    """One of the domains that are trained on, or of those that are not."""
    return random.choice(domains()[-NUM_HELD_OUT:] if held_out else domains()[:-NUM_HELD_OUT])


def draw_screen(
    random: Random, *, unseen_wording: bool = False, unseen_domain: bool = False, domain: Domain | None = None
) -> Screen:
    """A first sentence with its screen, in a wording and of a domain that training sees, or does not."""
    domain = domain or draw_domain(random, held_out=unseen_domain)
    kind = random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if kind == "nonsense" and unseen_domain:
        kind = "mix"
    draft = _Draft(random, domain, kind, unseen_wording, unseen_domain)
    return draft.nonsense() if kind == "nonsense" else draft.screen()


class _Draft:
    """One screen while it is put together."""

    def __init__(self, random: Random, domain: Domain, kind: str, unseen_wording: bool, unseen_domain: bool) -> None:
        self.random, self.domain, self.kind = random, domain, kind
        self.unseen_wording, self.unseen_domain = unseen_wording, unseen_domain
        self.choices: tuple[str, ...] = ()
        self.title = _DEFAULT_TITLES.get(kind, "")

    def _template(self, text: str) -> str:
        return self.random.choice(templates(text, held_out=self.unseen_wording))

    def _fill(self, template: str, **marked: str) -> str:
        """A template's sentence; slots hold marks already."""
        for name, value in marked.items():
            template = template.replace(f"{{{name}}}", value)
        return word(template, self.random)

    def nonsense(self) -> Screen:
        name = capitalize(coin_name(self.random))
        sentence = self._fill(self._template(_NONSENSE), name=copied(name))
        return Screen(sentence=sentence, lines=["refuse: a screen cannot do that"])

    def screen(self) -> Screen:
        random, kind = self.random, self.kind
        topic = self._topic()
        body, slots, template = getattr(self, f"_{kind}")()
        sentence = self._fill(self._template(template), ask=_ASKING, topic=topic, **slots)
        combination = False
        theme = color = ""
        if random.random() < 0.2:
            theme = random.choice(list(_THEMES))
            phrase = word(_THEMES[theme], random)
            sentence = (
                f"{sentence} {phrase}".replace(" ,", ",")
                if random.random() < 0.8
                else f"{phrase.lstrip(', ')}: {sentence}"
            )
            combination |= (kind, theme) in HELD_OUT_COMBINATIONS
        if random.random() < 0.15:
            color = random.choice(COLORS)
            sentence += f" {random.choice(('with', 'and'))} a {color} {random.choice(('title', 'header', 'heading'))}"
            combination |= (kind, "color") in HELD_OUT_COMBINATIONS
        lines = ["page" + f" {theme}" * bool(theme), f" header{f' {color}' * bool(color)}: {self.title}", *body]
        return Screen(sentence=sentence, lines=lines, combination=combination, choices=self.choices)

    def _topic(self) -> str:
        random = self.random
        form = random.random()
        if form < 0.25:
            name = coin_name(random) if random.random() < 0.5 else coin_thing(random)
            self.title = capitalize(name)
            return (
                " "
                + random.choice(("called", "named", "titled"))
                + " "
                + copied(self.title if random.random() < 0.7 else name)
            )
        if form < 0.85 or self.unseen_domain:
            self.title = capitalize(self.domain.topic)
            return " " + random.choice(("for", "about", "on", "for")) + " " + copied(self.domain.topic)
        return ""

    def _contents(self, own: tuple[str, ...], coin: object, low: int, high: int) -> tuple[list[str], bool]:
        """Names to put on a screen, and whether the sentence has to say them."""
        random = self.random
        count = min(random.randint(low, high), len(own))
        if self.title == capitalize(self.domain.topic) and not self.unseen_domain and random.random() < 0.5:
            self.choices = tuple(map(capitalize, own))
            return list(own[:count]), False
        count = min(count, 6)
        if self.unseen_domain or random.random() < 0.4:
            return random.sample(own, count), True
        assert callable(coin)
        return list(dict.fromkeys(coin(random) for _ in range(count))), True

    def _filling(self, names: list[str], named: bool, noun: str) -> str:
        random = self.random
        if named:
            return random.choice((": ", " with ", " with the " + noun + " ", " containing ")) + enumerate_names(
                names, random
            )
        return f" with {number_word(len(names), random)} {noun}"

    def _todo(self) -> tuple[list[str], dict[str, str], str]:
        random = self.random
        names, named = self._contents(self.domain.tasks, coin_task, 2, 10)
        done: set[int] = set()
        said = ""
        if random.random() < 0.6:
            if named and random.random() < 0.5:
                done = set(random.sample(range(len(names)), random.randint(1, min(2, len(names)))))
                listed = enumerate_names([names[i] for i in sorted(done)], random)
                said = "; " + word(f"{listed} [is|are] [done|ticked|finished|checked]", random)
            else:
                count = random.randint(1, len(names))
                done = set(range(count))
                word_ = "all" if count == len(names) else number_word(count, random)
                first = "the first " if count < len(names) and random.random() < (0.9 if named else 0.3) else ""
                said = word(f", {first}{word_} [of them done|done|already done|ticked off|checked|finished]", random)
                if named and not first and count < len(names):
                    said = said.replace(", ", ", the first ", 1)
        body = [
            " list",
            *(f"  checkbox{' on' if i in done else ''}: {capitalize(name)}" for i, name in enumerate(names)),
        ]
        if random.random() < 0.2:
            said += word(" and [a field to add more|an input for new ones|a way to add things]", random)
            body += [" row", "  input: New item", "  button: Add"]
        noun = random.choice(("items", "tasks", "entries", "things", "to-dos"))
        return body, {"filling": self._filling(names, named, noun), "done": said}, _TODO

    def _list(self) -> tuple[list[str], dict[str, str], str]:
        random = self.random
        names, named = self._contents(self.domain.things, coin_thing, 2, 8)
        numbered = random.random() < 0.25
        filling = self._filling(names, named, random.choice(("items", "entries", "things")))
        filling += random.choice((", numbered", " and numbers", ", with numbers")) * numbered
        body = [f" list{' numbered' * numbered}", *(f"  item: {capitalize(name)}" for name in names)]
        return body, {"filling": filling}, _LIST

    def _table(self) -> tuple[list[str], dict[str, str], str]:
        random = self.random
        names, named = self._contents(self.domain.things, coin_thing, 2, 6)
        known = [
            "price",
            "date",
            "status",
            "owner",
            "notes",
            "priority",
            "amount",
            "place",
            self.domain.number.lower(),
            self.domain.state.lower(),
        ]
        columns = random.sample(list(dict.fromkeys(known)), random.randint(1, 3))
        filling = self._filling(names, named, random.choice(("rows", "entries", "lines")))
        said = word(f"[, columns|, with the columns|; columns] name, {enumerate_names(columns, random)}", random)
        cells = [capitalize(name)[:16].strip() for name in names]
        body = [
            " table: " + " | ".join(["Name", *map(capitalize, columns)]),
            *("  record: " + " | ".join([cell, *("-" for _ in columns)]) for cell in cells),
        ]
        return body, {"filling": filling, "columns": said}, _TABLE

    def _form(self) -> tuple[list[str], dict[str, str], str]:
        random = self.random
        known = [
            *self.domain.fields,
            *(() if self.unseen_domain else ("Name", "Email", "Phone", "Password", "City", "Comment")),
        ]
        names = random.sample(list(dict.fromkeys(known)), random.randint(2, 4))
        required = random.random() < 0.2
        said, label = "", "Send"
        if required:
            said += random.choice((", all required", ", all of them required", ", nothing may stay empty"))
        if random.random() < 0.4:
            label = random.choice(("Save", "Submit", "Go", "Sign up", "Book", coin_name(random)))
            said += random.choice((" and a button ", " with a button called ", ", button ")) + copied(label)
        body = [f" input{input_type(name)}{' required' * required}: {name}" for name in names]
        return (
            [*body, f" button: {label}"],
            {
                "names": enumerate_names([name.lower() if name != label else name for name in names], random),
                "button": said,
            },
            _FORM,
        )

    def _tabs(self) -> tuple[list[str], dict[str, str], str]:
        names = self._some_names(2, 4)
        body = [" tabs", *(f"  tab{' on' if i == 0 else ''}: {capitalize(name)}" for i, name in enumerate(names))]
        return body, {"names": enumerate_names(names, self.random)}, _TABS

    def _cards(self) -> tuple[list[str], dict[str, str], str]:
        random = self.random
        names = self._some_names(2, 4)
        image, button = random.random() < 0.4, random.random() < 0.3
        said, body = "", [" row"]
        if image or button:
            parts = [random.choice(("a picture", "an image"))] * image + ["a button"] * button
            said = random.choice((" with {} each", ", each with {}", ", {} on each")).format(" and ".join(parts))
        for name in names:
            body += [
                f"  card: {capitalize(name)}",
                *[f"   image: {capitalize(name)}"] * image,
                *["   button: Open"] * button,
            ]
        return body, {"names": enumerate_names(names, random), "each": said}, _CARDS

    def _some_names(self, low: int, high: int) -> list[str]:
        random = self.random
        count = random.randint(low, high)
        if self.unseen_domain or random.random() < 0.4:
            return random.sample(self.domain.things, count)
        return list(dict.fromkeys(coin_thing(random) for _ in range(count)))

    def _mix(self) -> tuple[list[str], dict[str, str], str]:
        random = self.random
        parts = [self._part() for _ in range(random.randint(2, 5))]
        said = [text for text, _ in parts]
        return [f" {line}" for _, line in parts], {"parts": " and ".join([", ".join(said[:-1]), said[-1]])}, _MIX

    def _part(self) -> tuple[str, str]:
        random = self.random
        name = random.choice(self._some_names(1, 2))
        kind, nouns = random.choice(list(PART_NOUNS.items()))
        noun = random.choice(nouns)
        color = random.choice(COLORS) if kind in COLORED and random.random() < 0.3 else ""
        label = copied(name)
        if kind == "divider":
            return f"a {noun}", kind
        value = random.randint(1, 20) * 5 if kind in ("progress", "slider") and random.random() < 0.5 else None
        words, at = (
            [str(value)] * (value is not None),
            f" at {value}" + random.choice(("", "%", " percent")) if value is not None else "",
        )
        adjective = color
        if kind == "chart" and random.random() < 0.5:
            form = random.choice(("line", "pie"))
            words.append(form)
            noun = f"{form} chart"
        words += [color] * bool(color)
        if kind == "checkbox" and random.random() < 0.3:
            words, adjective = ["on", *words], random.choice(("ticked ", "checked ")) + color
        cells = ""
        if kind == "select" and random.random() < 0.7:
            options = [coin_name(random) for _ in range(random.randint(2, 3))]
            cells, at = "".join(f" | {option}" for option in options), " between " + enumerate_names(options, random)
        article = "an" if (adjective or noun)[0] in "aeiou" else "a"
        joint = random.choice((" ", " ", " called ", " for " if kind not in ("text", "header") else " saying "))
        line = " ".join([kind, *words]) + f": {capitalize(name)}{cells}"
        return plain_spaces(f"{article} {adjective} {noun}{joint}{label}{at}"), line


def plain_spaces(text: str) -> str:
    """A marked text without spaces too many."""
    return " ".join(text.split())


PART_NOUNS = {
    "button": ("button",), "text": ("text", "line of text", "paragraph"), "checkbox": ("checkbox", "tick box"),
    "input": ("input", "text field", "field"), "image": ("picture", "image", "photo"), "chart": ("chart", "diagram"),
    "progress": ("progress bar",), "badge": ("badge", "tag"), "select": ("select", "dropdown", "choice"),
    "slider": ("slider",),
    "divider": ("divider", "separator", "line"), "header": ("heading", "subtitle"), "card": ("card",),
}  # fmt: skip
"""What components are called that stand alone."""
COLORED = ("button", "text", "checkbox", "chart", "progress", "badge", "header", "card")


def input_type(label: str) -> str:
    """The word of an input's type, by its label, with the space before it."""
    found = {
        " email": ("email",), " password": ("password",), " time": ("time",),
        " date": ("date", "birthday", "deadline", "departure", "arrival", "joined"),
        " number": ("phone", "rooms", "guests", "servings", "sets", "weight", "amount", "quantity", "count", "year",
                    "pages", "tickets", "people", "nights", "seats", "hours", "rating", "round", "grade", "kilometers"),
    }  # fmt: skip
    words = plain(label).lower().split()
    return next((name for name, hints in found.items() if any(hint in words for hint in hints)), "")
