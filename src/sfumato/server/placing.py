"""Where the blocks of an edit snippet belong in a file: found by the lines that both have.

A snippet is blocks of code with lines such as "# ... existing code ..." between them, which stand for what stays.
Nothing here asks a model, and no line is made up: a place comes to lines of the file and lines of the snippet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import RequestError

MAX_PLACES = 32
"""At which a block may stand, before it is said to be anywhere."""
MAX_BLOCKS = 256
"""Of a snippet, between its marks."""
_MARKER = re.compile(
    r"\W*(?:\.{3}|…)\W*(?:the |all |of |other |previous )*(?:existing|unchanged|remaining|rest|same|other)\b[^.…]*"
    r"(?:\.{3}|…)?\W*",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\s*(?:(?:async|export|default|public|private|protected|static|pub|abstract)\s+)*"
    r"(def|class|function|func|fn|struct|enum|interface|trait|impl|type|module)\s+([\w$]+)"
)
_CLOSERS = (")", "]", "}", "end")


@dataclass(frozen=True)
class Block:
    """Lines of a snippet between two of its marks."""

    lines: tuple[str, ...]
    before: int | None
    """Indentation of the mark ahead of it; None is the beginning of the snippet."""
    behind: int | None
    """Of the mark behind it; None is its end."""
    gap: int | None = None
    """Empty lines between it and the block before; None where a mark is between them."""


@dataclass(frozen=True)
class Place:
    """What a block comes to: lines in place of those from `start` to the one before `end`."""

    start: int
    end: int
    lines: tuple[str, ...]


def blocks_of(snippet: str, lines: Sequence[str]) -> list[Block]:
    """The blocks of a snippet for a file, in order; each of several definitions is one.

    Raises:
        RequestError: if it has none.
    """
    blocks: list[Block] = []
    held: list[str] = []
    before: int | None = None
    for line in [*snippet.replace("\r\n", "\n").split("\n"), None]:
        if line is not None and not _MARKER.fullmatch(line):
            held.append(line)
            continue
        behind = None if line is None else _indent(line)
        if filled := _filled(held):
            blocks.append(Block(tuple(held[filled[0] : filled[-1] + 1]), before, behind))
        held, before = [], behind
    if not 0 < len(blocks) <= MAX_BLOCKS:
        raise RequestError(f"update_snippet has {len(blocks)} blocks of code; allowed: 1 to {MAX_BLOCKS}")
    filled = _filled(lines)
    [first, last] = [blocks[0].lines[0].strip(), blocks[-1].lines[-1].strip()]
    if len(blocks) == 1 and filled and [lines[filled[0]].strip(), lines[filled[-1]].strip()] == [first, last]:
        # The file as it shall be, if no mark says otherwise.
        return blocks
    return [part for block in blocks for part in _parts(block)]


def _filled(lines: Sequence[str]) -> list[int]:
    return [i for i, line in enumerate(lines) if line.strip()]


def _parts(block: Block) -> list[Block]:
    """A block whose first line defines something, cut where the next definition beside it begins."""
    lines, level = block.lines, _indent(block.lines[0])
    cuts = [
        i
        for i, line in enumerate(lines)
        if i and _indent(line) == level and _definition(line) and not lines[i - 1].strip()
    ]
    if not cuts or _definition(lines[0]) is None:
        return [block]
    parts: list[Block] = []
    last = 0
    for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        before, gap = (level, start - last) if start else (block.before, None)
        last = start + _filled(lines[start:end])[-1] + 1
        parts.append(Block(lines[start:last], before, block.behind if end == len(lines) else level, gap))
    return parts


def find_places(lines: Sequence[str], block: Block, after: int) -> list[Place]:
    """Where a block may stand; one place is sure, and with none it cannot be known.

    Args:
        lines: of the file, without their ends.
        block: what is put there.
        after: the first line that earlier blocks leave.
    """
    places: dict[tuple[str, ...], Place] = {}
    heads = _alike(lines, block.lines[0], after)
    if heads:
        found = [place for head in heads[: MAX_PLACES + 1] for place in _from_head(lines, block, head)]
    else:
        found = _before_tail(lines, block, after) or _between_paragraphs(lines, block, after)
    for place in found[: MAX_PLACES + 1]:
        places.setdefault((*lines[: place.start], *place.lines, *lines[place.end :]), place)
    return list(places.values())


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _definition(line: str) -> tuple[str, str] | None:
    """Keyword and name of what a line defines."""
    found = _DEFINITION.match(line)
    return None if found is None else (found[1], found[2])


def _alike(lines: Sequence[str], wanted: str, after: int) -> list[int]:
    """Lines that are the same; else the same but for their indentation; else that define the same."""
    rest, defined = range(after, len(lines)), _definition(wanted)
    return (
        [i for i in rest if lines[i].rstrip() == wanted.rstrip()]
        or [i for i in rest if lines[i].strip() == wanted.strip()]
        or [i for i in rest if defined is not None and _definition(lines[i]) == defined]
    )


def indented(lines: Sequence[str], from_line: str, to_line: str) -> tuple[str, ...]:
    """Lines that stand to one line as they stood to another."""
    old, new = (line[: len(line) - len(line.lstrip())] for line in (from_line, to_line))
    return tuple(new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines)


def _unit_end(lines: Sequence[str], head: int) -> int:
    """The line behind a head, what is indented deeper, and what closes it."""
    end, level = head + 1, _indent(lines[head])
    for i in range(head + 1, len(lines)):
        if lines[i].strip():
            if _indent(lines[i]) <= level:
                closes = _indent(lines[i]) == level and lines[i].strip().startswith(_CLOSERS)
                return i + 1 if closes else end
            end = i + 1
    return end


def _from_head(lines: Sequence[str], block: Block, head: int) -> list[Place]:
    """Places of a block whose first line is there."""
    new = indented(block.lines, block.lines[0], lines[head])
    level, unit = _indent(new[0]), _unit_end(lines, head)
    whole = len(new) > 1 and _unit_end(new, 0) == len(new)
    if whole and (block.behind is None or block.behind <= _indent(block.lines[0])):
        # What follows the mark is beside it, so that nothing inside was left out.
        return [Place(head, unit, new)]
    last = unit if _indent(new[-1]) > level else len(lines)
    wanted, met = {line.strip() for line in new if line.strip()}, set[str]()
    best: tuple[int, int] | None = None
    for i in range(head, last):
        if lines[i].strip() in wanted:
            met.add(lines[i].strip())
        ends = i > head and lines[i].rstrip() == new[-1].rstrip()
        if ends and (best is None or len(met) > best[0]):
            best = len(met), i + 1
    if best is not None:
        return [Place(head, best[1], new)]
    num_known = 1
    for known, line in zip(lines[head + 1 : last], new[1:], strict=False):
        if known.rstrip() != line.rstrip():
            break
        num_known += 1
    # They are put in, or stand in place of lines of the same scope.
    first = head + num_known
    ends_at = [first]
    for i in range(first, min(last, first + len(new) - num_known, first + MAX_PLACES)):
        if lines[i].strip():
            if _indent(lines[i]) < _indent(new[num_known]):
                break
            ends_at.append(i + 1)
    return [Place(head, end, new) for end in ends_at]


def _before_tail(lines: Sequence[str], block: Block, after: int) -> list[Place]:
    """Places of a block of which the last line alone is there."""
    head, tail = block.lines[0], block.lines[-1]
    tails = [i for i in range(after, len(lines)) if lines[i].rstrip() == tail.rstrip()]
    if len(block.lines) == 1 or len(tails) != 1 or _indent(tail) > _indent(head):
        # What is inside of something new is no anchor.
        return []
    [end] = tails
    num_known = 1
    while num_known < len(block.lines) and end - num_known >= after:
        if block.lines[-1 - num_known].rstrip() != lines[end - num_known].rstrip():
            break
        num_known += 1
    start, num_new = end + 1 - num_known, len(block.lines) - num_known
    starts = [start]
    for i in range(start - 1, max(after, start - num_new, start - MAX_PLACES) - 1, -1):
        if lines[i].strip():
            if _indent(lines[i]) < _indent(head):
                break
            starts.append(i)
    return [Place(each, end + 1, block.lines) for each in starts]


def _between_paragraphs(lines: Sequence[str], block: Block, after: int) -> list[Place]:
    """Places of a block that has no line of the file: ahead of paragraphs, or behind the last of them."""
    head, defined = block.lines[0], _definition(block.lines[0])
    if block.gap is not None or not lines:
        return [Place(after, after, (*[""] * (block.gap or 0), *block.lines))]
    if block.before is None and block.behind is not None and not after:
        return [Place(0, 0, block.lines)]
    if block.before is None and block.behind is None and defined is None:
        return []
    new, level = block.lines, _indent(head)
    beside = [line for line in lines[after:] if defined and (_definition(line) or ("",))[0] == defined[0]]
    if beside and level not in (levels := {_indent(line) for line in beside}) and len(levels) == 1:
        # A method that is written as if there were no class around it.
        new, level = indented(new, head, beside[0]), levels.pop()
    is_last = block.before is not None and block.behind is None
    # Ahead of each paragraph, and behind the last line of each scope, of those that are indented so.
    ahead: list[Place] = []
    behind: list[Place] = []
    gap, last = 1, None
    for i in [*(i for i in range(after, len(lines)) if lines[i].strip()), len(lines)]:
        deep = i < len(lines) and _indent(lines[i]) >= level
        if deep and _indent(lines[i]) == level and last is not None and last + 1 < i:
            gap = i - last - 1
            ahead += [] if is_last else [Place(i, i, (*new, *[""] * gap))]
        if not deep and last is not None:
            behind.append(Place(last + 1, last + 1, (*[""] * gap, *new)))
        if (behind and after) or len(ahead) > MAX_PLACES:
            break
        last = i if deep else None
    if after and not behind:
        behind = [Place(after, after, new)]
    return behind[-1:] if is_last else [*ahead, *behind]
