"""Locates the blocks of an edit snippet in a file, by the lines both have.

A snippet is blocks of code separated by lines such as "# ... existing code ...", which stand for unchanged code. No
model is involved, and no line is invented: the result consists of lines of the file and of the snippet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import RequestError

MAX_LOCATIONS = 32
"""Maximum candidate locations of a block before it counts as unknown."""
MAX_BLOCKS = 256
"""Maximum blocks of a snippet."""
# Possessive, so that a long line of dots takes no longer than another one.
_MARKER = re.compile(
    r"(?:(?!\.{3}|…)\W)*+(?:\.{3}|…)\W*+"
    r"(?:the |all |of |other |previous )*(?:existing|unchanged|remaining|rest|same|other)\b[^.…]*+(?:\.{3}|…)?\W*",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\s*(?:(?:async|export|default|public|private|protected|static|pub|abstract)\s+)*"
    r"(def|class|function|func|fn|struct|enum|interface|trait|impl|type|module)\s+([\w$]+)"
)
_LEAVING = re.compile(r"\s*(return|raise|throw|break|continue)\b")
_CLOSERS = (")", "]", "}", "end")


@dataclass(frozen=True)
class Block:
    """Lines of a snippet between two marks."""

    lines: tuple[str, ...]
    before: int | None
    """Indentation of the mark before it; None at the start of the snippet."""
    after: int | None
    """Indentation of the mark after it; None at the end."""
    gap: int | None = None
    """Blank lines between it and the block before; None if a mark is between them."""


@dataclass(frozen=True)
class Location:
    """A located block: its lines replace those from `start` up to `end`."""

    start: int
    end: int
    lines: tuple[str, ...]


def blocks_of(snippet: str, lines: Sequence[str]) -> list[Block]:
    """The blocks of a snippet for a file, in order; several definitions become several blocks."""
    blocks: list[Block] = []
    held: list[str] = []
    before: int | None = None
    for line in [*snippet.replace("\r\n", "\n").split("\n"), None]:
        if line is not None and not _MARKER.fullmatch(line):
            held.append(line)
            continue
        after = None if line is None else _indent(line)
        if filled := _filled(held):
            blocks.append(Block(tuple(held[filled[0] : filled[-1] + 1]), before, after))
        held, before = [], after
    if not 0 < len(blocks) <= MAX_BLOCKS:
        raise RequestError(f"update_snippet has {len(blocks)} blocks of code; allowed: 1 to {MAX_BLOCKS}")
    filled = _filled(lines)
    [first, last] = [blocks[0].lines[0].strip(), blocks[-1].lines[-1].strip()]
    if len(blocks) == 1 and filled and [lines[filled[0]].strip(), lines[filled[-1]].strip()] == [first, last]:
        # Without any mark it is the whole new file.
        return blocks
    return [part for block in blocks for part in _parts(block)]


def _filled(lines: Sequence[str]) -> list[int]:
    return [i for i, line in enumerate(lines) if line.strip()]


def _parts(block: Block) -> list[Block]:
    """Split a block that begins with a definition at the next definition of the same level."""
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
        parts.append(Block(lines[start:last], before, block.after if end == len(lines) else level, gap))
    return parts


def find_locations(lines: Sequence[str], block: Block, after: int) -> list[Location]:
    """Candidate locations of a block: one is certain, none means unknown.

    Args:
        lines: of the file, without line ends.
        after: first line not used by earlier blocks.
    """
    locations: dict[tuple[str, ...], Location] = {}
    heads = _alike(lines, block.lines[0], after)
    if heads:
        found = [location for head in heads[: MAX_LOCATIONS + 1] for location in _from_head(lines, block, head)]
    else:
        found = _before_tail(lines, block, after) or _between_paragraphs(lines, block, after)
    for location in found[: MAX_LOCATIONS + 1]:
        locations.setdefault((*lines[: location.start], *location.lines, *lines[location.end :]), location)
    return list(locations.values())


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _definition(line: str) -> tuple[str, str] | None:
    """Keyword and name that a line defines."""
    found = _DEFINITION.match(line)
    return None if found is None else (found[1], found[2])


def _leaves(line: str) -> str | None:
    """The keyword of a statement after which the next one is not reached."""
    found = _LEAVING.match(line)
    return None if found is None else found[1]


def _alike(lines: Sequence[str], wanted: str, after: int) -> list[int]:
    """Lines that are equal; otherwise equal except for indentation; otherwise defining the same name."""
    rest, defined = range(after, len(lines)), _definition(wanted)
    return (
        [i for i in rest if lines[i].rstrip() == wanted.rstrip()]
        or [i for i in rest if lines[i].strip() == wanted.strip()]
        or [i for i in rest if defined is not None and _definition(lines[i]) == defined]
    )


def indented(lines: Sequence[str], from_line: str, to_line: str) -> tuple[str, ...]:
    """Indent lines relative to one line as they were to another."""
    old, new = (line[: len(line) - len(line.lstrip())] for line in (from_line, to_line))
    return tuple(new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines)


def _unit_end(lines: Sequence[str], head: int) -> int:
    """The end of a head's body: after the deeper-indented lines and what closes it."""
    end, level = head + 1, _indent(lines[head])
    for i in range(head + 1, len(lines)):
        if lines[i].strip():
            if _indent(lines[i]) <= level:
                closes = _indent(lines[i]) == level and lines[i].strip().startswith(_CLOSERS)
                return i + 1 if closes else end
            end = i + 1
    return end


def _from_head(lines: Sequence[str], block: Block, head: int) -> list[Location]:
    """Locations of a block whose first line is in the file."""
    new = indented(block.lines, block.lines[0], lines[head])
    level, unit = _indent(new[0]), _unit_end(lines, head)
    whole = len(new) > 1 and _unit_end(new, 0) == len(new)
    if whole and (block.after is None or block.after <= _indent(block.lines[0])):
        # The line after the mark follows directly, so nothing was left out.
        return [Location(head, unit, new)]
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
        return [Location(head, best[1], new)]
    num_known = 1
    for known, line in zip(lines[head + 1 : last], new[1:], strict=False):
        if known.rstrip() != line.rstrip():
            break
        num_known += 1
    # Either inserted, or replacing lines of the same scope.
    first = head + num_known
    ends_at = [first]
    for i in range(first, min(last, first + len(new) - num_known, first + MAX_LOCATIONS)):
        if lines[i].strip():
            if _indent(lines[i]) < _indent(new[num_known]):
                break
            ends_at.append(i + 1)
    return [Location(head, end, new) for end in ends_at]


def _before_tail(lines: Sequence[str], block: Block, after: int) -> list[Location]:
    """Locations of a block of which only the last line is in the file."""
    head, tail = block.lines[0], block.lines[-1]
    tails = [i for i in range(after, len(lines)) if lines[i].rstrip() == tail.rstrip()]
    if len(block.lines) == 1 or len(tails) != 1 or _indent(tail) > _indent(head):
        # Lines inside something new are no anchors.
        return []
    [end] = tails
    num_known = 1
    while num_known < len(block.lines) and end - num_known >= after:
        if block.lines[-1 - num_known].rstrip() != lines[end - num_known].rstrip():
            break
        num_known += 1
    start, num_new = end + 1 - num_known, len(block.lines) - num_known
    starts = [start]
    for i in range(start - 1, max(after, start - num_new, start - MAX_LOCATIONS) - 1, -1):
        if lines[i].strip():
            if _indent(lines[i]) < _indent(head):
                break
            starts.append(i)
    return [Location(each, end + 1, block.lines) for each in starts]


def _between_paragraphs(lines: Sequence[str], block: Block, after: int) -> list[Location]:
    """Locations of a block that shares no line with the file: before paragraphs, or after the last one."""
    head, defined = block.lines[0], _definition(block.lines[0])
    if block.gap is not None or not lines:
        return [Location(after, after, (*[""] * (block.gap or 0), *block.lines))]
    if block.before is None and block.after is not None and not after:
        return [Location(0, 0, block.lines)]
    if block.before is None and block.after is None and defined is None:
        return []
    new, level = block.lines, _indent(head)
    similar = [line for line in lines[after:] if defined and (_definition(line) or ("",))[0] == defined[0]]
    if similar and level not in (levels := {_indent(line) for line in similar}) and len(levels) == 1:
        # A method written without its class.
        new, level = indented(new, head, similar[0]), levels.pop()
    is_last = block.before is not None and block.after is None
    # Before each paragraph, and after the last line of each scope, at the same indentation.
    before_paragraphs: list[Location] = []
    after_scopes: list[Location] = []
    gap, last = 1, None
    for i in [*(i for i in range(after, len(lines)) if lines[i].strip()), len(lines)]:
        deep = i < len(lines) and _indent(lines[i]) >= level
        if deep and _indent(lines[i]) == level and last is not None and last + 1 < i:
            gap = i - last - 1
            before_paragraphs += [] if is_last else [Location(i, i, (*new, *[""] * gap))]
        if not deep and last is not None:
            # What follows a return is never reached: one replaces the other.
            leaves = _leaves(lines[last]) if _indent(lines[last]) == level == _indent(new[-1]) else None
            if leaves is not None and leaves == _leaves(new[-1]):
                after_scopes.append(Location(last, last + 1, new))
            else:
                after_scopes.append(Location(last + 1, last + 1, (*[""] * gap, *new)))
        if (after_scopes and after) or len(before_paragraphs) > MAX_LOCATIONS:
            break
        last = i if deep else None
    if after and not after_scopes:
        after_scopes = [Location(after, after, new)]
    return after_scopes[-1:] if is_last else [*before_paragraphs, *after_scopes]
