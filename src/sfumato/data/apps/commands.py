"""Commands about a screen, and the programs they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random

from sfumato.data.apps.domains import Domain, capitalize, coin_thing
from sfumato.data.apps.drafts import Draft
from sfumato.data.apps.intents import ON_TASK
from sfumato.data.apps.picks import NothingToDoError
from sfumato.data.apps.references import holder_of, refer, refer_to_cells
from sfumato.data.apps.screens import ORDINALS, draw_domain, draw_screen
from sfumato.data.apps.speech import copied_words, plain, templates, texts, word
from sfumato.errors import RequestError
from sfumato.ui import Component, execute, is_refusal, parse
from sfumato.ui.edits import select

HELD_OUT_COMBINATIONS = {
    ("color", "badge"), ("color", "card"), ("size", "text"), ("delete", "image"), ("hide", "input"), ("rename", "tab"),
    ("copy", "record"), ("swap", "item"), ("move_to", "record"), ("align", "button"), ("value", "slider"),
}  # fmt: skip
"""Held-out combinations of an operation and a component kind."""
_WEIGHTS = {
    "delete": 3, "check": 3, "color": 3, "rename": 3, "add": 3, "add_part": 3, "cell": 2, "theme": 2, "sort": 2,
    "missing": 0.7, "column": 2, "add_to": 2, "move_section": 2, "flag": 2,
}  # fmt: skip
_TOGETHER = (
    "delete", "check", "uncheck", "hide", "show", "mark", "unmark", "disable", "require", "color", "uncolor", "rename",
    "size", "align", "value", "chart", "cell", "copy", "move", "bold",
)  # fmt: skip
"""Intents about one component, of which a sentence may combine several."""
_UNDOES = {
    "uncheck": "check", "uncheck_did": "check", "uncolor": "color", "show": "hide", "unmark": "mark",
    "enable": "disable", "unrequire": "require", "unbold": "bold", "unsize": "size", "unalign": "align",
    "bars": "chart", "unnumber": "number",
}  # fmt: skip
"""Intents that need a page to which another was applied."""
_EARLIER = (
    "check", "color", "hide", "mark", "mark", "add", "delete", "move", "swap", "add_part", "add_part",
    "add_part_beside", "sort", "disable", "copy", "size", "align", "require", "bold", "only_state", "hide_state",
)  # fmt: skip
"""Intents that may have been applied to a page before."""
_SECOND_SHARE = 0.2
"""Share of pages with a second screen below the first."""
_TITLED_SHARE = 0.15
"""Share of pages whose title is their own text rather than a header's."""
_FILLED_SHARE = 0.5
"""Share of tabs and cards that contain something."""
_FLAGGED_SHARE = 0.4
"""Share of tables with a column of yes and no."""
_NAMED_LIST_SHARE = 0.25
_IT_SHARE = 0.3
"""Share of sentences with several commands of which the second is about the same component, called "it"."""
_POSITION_SHARE = 0.8
_POSITION = re.compile(rf"\b(the ({'|'.join(ORDINALS)}|last)|number \d+)\b(?! place)")
_FIELD = re.compile(r"\{(\w+)\}")
_MAX_LINES = 16
_MAX_TOGETHER = 6
_MAX_REFERENCES = 8
_MAX_CELLS = 3
"""Phrases at most that name records by a cell, of those on one page."""
_MAX_TRIES = 60


@dataclass(frozen=True, kw_only=True)
class Command:
    """A sentence about a page, with the program it means."""

    page: Component
    sentence: str
    """With the marks of `speech.copied`."""
    program: str
    intent: str
    combination: bool

    @property
    def selector(self) -> str:
        """What its program, or the first line of that, is about."""
        return self.program.split()[1].rstrip(":")


def _fill_table(page: Component, domain: Domain, random: Random) -> Component:
    """Fill empty cells with values, some of them the domain's states, or yes and no."""
    flags: list[str] = list(texts()["flags"])
    for table in [each for each in page.walk() if each.kind == "table"]:
        if len(table.cells) > 1 and random.random() < _FLAGGED_SHARE:
            page = execute(page, f"head {table.id} {random.choice(table.cells[1:])} | {random.choice(flags)}")
    for record in [each for each in page.walk() if each.kind == "record"]:
        table = holder_of(page, record)
        for column in table.cells[1:]:
            index = table.cells.index(column)
            stated = column == domain.state or index % 2 == 0
            value = random.choice(domain.states) if stated else str(random.randint(1, 120))
            if column in flags or random.random() < 0.9:
                value = random.choice(("yes", "no")) if column in flags else value
                page = execute(page, f"cell {record.id} {column} | {value}")
    return page


def _draw_lines(random: Random, domain: Domain, *, unseen_domain: bool) -> list[str]:
    """The lines of a page: a screen, or two, with something in its tabs and cards."""

    def draw(min_lines: int) -> list[str]:
        while True:
            lines = draw_screen(random, unseen_domain=unseen_domain, domain=domain).lines
            if len(lines) > min_lines:
                return lines

    lines = draw(3)
    if lines[1].startswith(" header:") and random.random() < _TITLED_SHARE:
        lines[:2] = [lines[0] + lines[1].removeprefix(" header")]
    if random.random() < _SECOND_SHARE:
        lines += draw(3)[1:]
    found = list[str]()
    for line in lines:
        is_named = line.endswith(" list") and random.random() < _NAMED_LIST_SHARE
        found.append(line + f": {capitalize(coin_thing(random))}" * is_named)
        if re.match("  (tab|card)", line) and random.random() < _FILLED_SHARE:
            inside = draw(2)[2:][: random.randint(1, 4)]
            if not re.search("^ *(row|tabs|tab|card)", "\n".join(inside), re.MULTILINE):
                found += [f"  {each}" for each in inside]
    return found if len(found) <= _MAX_LINES else lines[:_MAX_LINES]


def draw_page(random: Random, domain: Domain, *, unseen_domain: bool, last: str | None = None) -> Component:
    """A page that was created and edited, so that its slots are not in the order of their ids; `last` is the intent of
    the last edit."""
    while True:
        try:
            page = parse("\n".join(_draw_lines(random, domain, unseen_domain=unseen_domain)))
            break
        except RequestError:
            continue
    page = _fill_table(page, domain, random)
    intents = random.choices(_EARLIER, k=random.choice((0, 0, 1, 1, 2, 3)))
    for intent in [*intents, last] if last else intents:
        try:
            program, _, _ = Draft(random, page, domain)(intent)
            page = execute(page, program)
        except RequestError:
            continue
    return page


def draw_command(
    random: Random, *, unseen_wording: bool = False, unseen_domain: bool = False, unseen_intent: bool = False
) -> Command:
    """A command about a screen, with seen or unseen wordings and domain; with `unseen_intent`, of an intent with
    held-out combinations."""
    domain = draw_domain(random, held_out=unseen_domain)
    intents = sorted({name for name, _ in HELD_OUT_COMBINATIONS}) if unseen_intent else list(texts()["commands"])
    while True:
        intent = _draw_intent(intents, random)
        # Few pages have tables and checkboxes: draw another page rather than another intent.
        for _ in range(_MAX_TRIES):
            page = draw_page(random, domain, unseen_domain=unseen_domain, last=_UNDOES.get(intent))
            command = _command(random, page, domain, intent, unseen_wording)
            if command is not None:
                return command


def draw_commands(random: Random) -> Command:
    """Several commands in one sentence, each about another component: a program of two to six lines."""
    while True:
        domain = draw_domain(random, held_out=False)
        page = draw_page(random, domain, unseen_domain=False)
        num_wanted, found, used = random.randint(2, _MAX_TOGETHER), list[Command](), set[str]()
        with_it = random.random() < _IT_SHARE
        for intent in random.choices(_TOGETHER, k=_MAX_TRIES):
            it = found[0].selector if with_it and len(found) == 1 else ""
            command = _command(random, page, domain, intent, unseen_wording=False, it=it)
            if command is None or command.combination:
                continue
            named = select(page, command.selector)
            touched = {each.id for component in named for each in component.walk()}
            if it and (
                found[0].intent in ("delete", "copy", _UNDOES.get(intent)) or intent in ("delete", found[0].intent)
            ):
                continue
            if touched & used and not it:
                continue
            used |= touched
            found.append(command)
            if len(found) == num_wanted:
                return Command(
                    page=page,
                    sentence=_enumerate([command.sentence.rstrip(".") for command in found], random),
                    program="\n".join(command.program for command in found),
                    intent="several",
                    combination=False,
                )


def draw_filtered_command(random: Random) -> Command:
    """A command about one component of a page of which several are hidden; most name it by its position among those
    beside it that are not."""
    by_position = random.random() < _POSITION_SHARE
    while True:
        domain = draw_domain(random, held_out=False)
        page = draw_page(random, domain, unseen_domain=False, last=random.choice(("only_state", "hide_state")))
        if sum(each.get("hidden") is not None for each in page.walk()) < 2:
            continue
        for intent in random.choices(_TOGETHER, k=_MAX_TRIES):
            command = _command(random, page, domain, intent, unseen_wording=False)
            if command is None or command.combination:
                continue
            [named, *_] = select(page, command.selector)
            beside = holder_of(page, named).children
            if not by_position or (_POSITION.search(command.sentence) and any(each.get("hidden") for each in beside)):
                return command


def draw_missing_command(random: Random) -> Command:
    """A command that names a component by its text, about a page that lacks it: a refusal."""
    while True:
        domain = draw_domain(random, held_out=False)
        page = draw_page(random, domain, unseen_domain=False)
        for intent in random.choices(_TOGETHER, k=_MAX_TRIES):
            command = _command(random, page, domain, intent, unseen_wording=False)
            if command is None or command.combination:
                continue
            [named, *others] = select(page, command.selector)
            if others or not copied_words(command.sentence) & _words(named):
                continue
            text = capitalize(coin_thing(random))
            # Another text for it, so that nothing but the text tells that it is missing.
            column = holder_of(page, named).cells[:1]
            rest = execute(page, f"cell {named.id} {column[0]} | {text}" if column else f"text {named.id}: {text}")
            if not any(_words(each) & _words(named) for each in rest.walk()):
                return replace(command, page=rest, program="refuse: not on this screen", intent="missing")


def _words(component: Component) -> set[str]:
    return {word for cell in (component.text, *component.cells) for word in cell.casefold().split()}


def draw_references(random: Random) -> tuple[Component, list[tuple[str, str]]]:
    """A page, and references to its components and to records with some cell, in random order, each with what names
    it in a program."""
    while True:
        domain = draw_domain(random, held_out=False)
        page = draw_page(random, domain, unseen_domain=False)
        cells = refer_to_cells(page, random)
        phrases = random.sample(cells, min(_MAX_CELLS, len(cells)))
        for component in list(page.walk())[1:]:
            phrase = refer(page, component, random)
            if phrase is not None:
                phrases.append((phrase, component.id))
        if phrases:
            random.shuffle(phrases)
            return page, [(plain(phrase), name) for phrase, name in phrases[:_MAX_REFERENCES]]


def _enumerate(sentences: list[str], random: Random) -> str:
    between, last = random.choice(((", ", " and "), (", ", ", "), ("; ", "; "), (". ", ". "), (", ", ", then ")))
    return between.join(sentences[:-1]) + last + sentences[-1]


def draw_command_about(page: Component, domain: Domain, random: Random, *, unseen_wording: bool = False) -> Command:
    """A command about a page that is there, of an intent that it has something for."""
    while True:
        command = _command(random, page, domain, _draw_intent(list(texts()["commands"]), random), unseen_wording)
        if command is not None:
            return command


def _draw_intent(intents: list[str], random: Random) -> str:
    return random.choices(intents, [_WEIGHTS.get(name, 1) for name in intents])[0]


def _command(
    random: Random, page: Component, domain: Domain, intent: str, unseen_wording: bool, it: str = ""
) -> Command | None:
    """A command of an intent; None where the page has nothing to do that to."""
    try:
        program, slots, kind = Draft(random, page, domain, it)(intent)
        changed = execute(page, program) != page
        sentence = _sentence(intent, slots, random, unseen_wording)
    except RequestError:
        return None
    if not changed and not is_refusal(program):
        return None
    return Command(
        page=page,
        sentence=sentence,
        program=program,
        intent=intent,
        combination=(intent, kind) in HELD_OUT_COMBINATIONS,
    )


def _sentence(intent: str, slots: dict[str, str], random: Random, unseen_wording: bool) -> str:
    directed = texts()["directed"].get(f"{intent} {slots.get('which')}", "")
    either = texts()["toggles"].get(_UNDOES.get(intent, intent), "") if intent not in ON_TASK else ""
    lines = templates(texts()["commands"][intent] + directed + either, held_out=unseen_wording)
    allowed = [line for line in lines if slots.get("needs", "") in line and set(_FIELD.findall(line)) <= slots.keys()]
    if not allowed:
        raise NothingToDoError
    template = random.choice(allowed)
    names_first = template.startswith("{")
    for name, value in slots.items():
        template = template.replace(f"{{{name}}}", value)
    sentence = word(template, random)
    if unseen_wording:
        return sentence
    asks = not names_first and sentence.split()[0].rstrip(",") not in texts()["no_verbs"] and random.random() < 0.3
    around: str = random.choice(texts()["asking" if asks else "polite"])
    return around.format(sentence)
