"""Examples that were written one by one, and variations of them with other labels.

examples.txt has blocks with a blank line between them: a screen with commands and their programs, or a first sentence
with its screen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from random import Random

from sfumato.data.apps.domains import capitalize, coin_name, coin_task, coin_thing, verbs
from sfumato.data.apps.references import says
from sfumato.data.apps.speech import copied, plain
from sfumato.errors import RequestError
from sfumato.ui import execute, is_refusal, parse, to_text
from sfumato.ui.edits import select

SCREEN = "screen: "
_RENAMED_SHARE = 0.4
"""Share of labels that are replaced, of those that can be."""
_THEMED_SHARE = 0.2
_JOINED_SHARE = 0.1
"""Share of commands to which another about the same screen is added."""
_DONE_SHARE = 0.25
"""Share of commands about a screen that is already as they ask, of those that allow it."""
_FIELD = r"(?m)(: |\| |\[|^(?:cell|sort|drop|head) \w+ (?:up |down )?){}(?=$|\]| \|)"
_LABEL = re.compile(r"(?m)^ *(?:[a-z]{1,2} |add .*?)?(?!table|chart|select)[a-z]+\b[^:|\n]*: ([^|\n]+?)(?= \||$)")
"""What a component of any kind but these says; of a record, the first cell."""
_CELL = re.compile(r"(?:(?<=\| )|(?<=table: )|(?<=\[))[^|\n\]]*[^|\n\] ]|^sort \w+ \w+ ([A-Z].*)", re.MULTILINE)
"""A column, an option, or a further cell of a record."""


@dataclass(frozen=True)
class Example:
    """A sentence, and what is written for it."""

    page: str
    """The screen it is about, with ids; empty for a first sentence."""
    sentence: str
    """Varied ones have the marks of `speech.copied`."""
    response: str


@cache
def edits() -> tuple[tuple[Example, ...], ...]:
    """Commands with their programs, by screen."""
    found = []
    for block in _blocks():
        page, *commands = block.split("\n> ")
        if not block.startswith(SCREEN):
            found.append(tuple(Example(page, *command.split("\n", 1)) for command in commands))
    return tuple(found)


@cache
def screens() -> tuple[Example, ...]:
    """First sentences with their screens."""
    return tuple(
        Example("", *each.removeprefix(SCREEN).split("\n", 1)) for each in _blocks() if each.startswith(SCREEN)
    )


def _blocks() -> list[str]:
    return resources.files(__package__).joinpath("examples.txt").read_text("utf-8").strip().split("\n\n")


def draw_screen_example(random: Random) -> Example:
    """A variation of a first sentence and its screen."""
    while True:
        varied = _rename(random.choice(screens()), random)
        if _is_sound(varied):
            return varied


def draw_edit_example(random: Random) -> Example:
    """A variation of a screen, a command, and its program."""
    while True:
        of_screen = random.choice(edits())
        example = random.choice(of_screen)
        if random.random() < _JOINED_SHARE:
            example = _join(example, random.choice(of_screen), random)
        if random.random() < _THEMED_SHARE and not re.search(r"(?m)^\w+ a( |$)", example.response):
            theme = random.choice(("", " dark", " sepia", " contrast"))
            page = re.sub(r"^a page( dark| sepia| contrast)?", f"a page{theme}", example.page)
            example = replace(example, page=page)
        varied = _rename(example, random)
        if _is_sound(varied):
            return _carry_out(varied) if random.random() < _DONE_SHARE else varied


def _carry_out(example: Example) -> Example:
    """The same command about the screen that it makes, if its words mean the same there: if it sets properties of
    components that it names."""
    page, said = parse(example.page), plain(example.sentence).casefold()
    for line in example.response.split("\n"):
        match = re.fullmatch(r"(?:set|clear) ([a-z,]+) \w+", line)
        named = select(page, match[1]) if match else ()
        if not named or any(says(each).casefold() not in said or not says(each) for each in named):
            return example
    return replace(example, page=to_text(execute(page, example.response)))


def _join(first: Example, second: Example, random: Random) -> Example:
    """Two commands in one sentence; the first alone, if the second is about the same components."""
    ids = set(re.findall(r"(?m)^ *([a-z]{1,2}) ", first.page))
    one, other = (
        ids & set(re.findall(r"\b[a-z]{1,2}\b", re.sub(r"(?m)[:|].*", "", each.response))) for each in (first, second)
    )
    if one & other or is_refusal(first.response) or is_refusal(second.response):
        return first
    joint = random.choice((" and ", ", ", ". ", ", then ", " and also "))
    sentence = first.sentence.rstrip(".!?") + joint + second.sentence
    return Example(first.page, sentence, f"{first.response}\n{second.response}")


def _is_sound(example: Example) -> bool:
    """Whether the screen can be shown, and the response fits it and changes it."""
    refused = is_refusal(example.response)
    try:
        if not example.page:
            return refused or bool(parse(example.response).children)
        page = parse(example.page)
        return refused or execute(page, example.response) != page
    except RequestError:
        return False


def _rename(example: Example, random: Random) -> Example:
    """An example with other labels, columns and cells: some of those that the sentence has as they are, and of labels
    also some that it says nothing of."""
    page, sentence, response = example.page, example.sentence, example.response
    text = f"{page}\n{response}"
    labels = set(_LABEL.findall(text))
    cells = {cell for cell in (match[1] or match[0] for match in _CELL.finditer(text)) if _can_change(cell)}
    # A longer label may contain a shorter one.
    for label in sorted(labels | cells, key=lambda label: (-len(label), label)):
        pattern = rf"(?<![\w\x01]){re.escape(label)}(?!\w)(?![^\x01]*\x02)"
        # Most labels are not in the sentence, and patterns take long to compile.
        is_near = label.casefold() in sentence.casefold()
        said = re.search(pattern, sentence, re.IGNORECASE) if is_near else None
        if said is None and (label not in labels or not page or label in response or _shares_word(label, sentence)):
            continue
        if said and label not in labels and re.search(pattern, sentence[said.end() :], re.IGNORECASE):
            continue
        new = label if random.random() > _RENAMED_SHARE else _coin_like(label, random)
        if said:
            shown = new if said[0][0].isupper() else new[:1].lower() + new[1:]
            sentence = sentence[: said.start()] + copied(said[0] if new == label else shown) + sentence[said.end() :]
        if new != label:
            field = _FIELD.format(re.escape(label))
            page, response = (re.sub(field, rf"\g<1>{new}", text) for text in (page, response))
    return Example(page, sentence, response)


def _can_change(cell: str) -> bool:
    """Whether a cell may be another: a number or a name, but no word that many sentences have ("Who", "open")."""
    return cell.isdecimal() or (cell[0].isupper() and len(cell) > 3)


def _shares_word(label: str, sentence: str) -> bool:
    """Whether a word of a label begins like one of a sentence: "painting" may mean "Paint the hall"."""
    ours, theirs = ({word[:4] for word in re.findall(r"\w+", text.casefold())} for text in (label, sentence))
    return not ours.isdisjoint(theirs)


def _coin_like(label: str, random: Random) -> str:
    """A made-up label: a number for a number, a task for a task, otherwise a thing or a name."""
    if label.isdecimal():
        return str(random.randrange(10 ** (len(label) - 1), 10 ** len(label)))
    if re.fullmatch(r"[\d.:,/ -]+", label):
        return label
    first, _, rest = label.casefold().partition(" ")
    coin = coin_task if rest and first in verbs() else random.choice((coin_thing, coin_thing, coin_name))
    return capitalize(coin(random))
