"""Best-first search for an edited text that can be verified."""

from __future__ import annotations

import difflib
import heapq
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sfumato.mend.parsing import OPEN_STRING, Meaning, can_stand, find_error, read_meaning
from sfumato.mend.proposals import Gap, Proposer, Reading
from sfumato.text.lexemes import (
    CLOSED_BY,
    CLOSING,
    LEVELS,
    OPENING,
    Lexeme,
    is_level,
    kind_of,
    lex,
    line_numbers,
    relative,
)
from sfumato.text.patches import Patch, apply

FURTHER_EDIT = 4.0
"""Nats each edit after the first costs in a text that parsed: most bugs are one edit."""
FURTHER_JUDGED = 12.0
"""The same after an edit that a judge has scored: its scores are further apart."""
ADVANCED, STUCK = -5.0, 12.0
"""The same in a text that did not parse, if the edit before moved its first error further on or not."""
LOST_WORD, LOST_MARK = 2.0, 1.0
"""Nats for each word and mark that an edit of such a text loses: most of its errors are marks that are missing."""
CLOSED, CLOSED_WITHIN = 1.0, 0.5
"""Nats for closing what is open at the end of a line, whatever the model thinks, and more for closing one before."""
EMPTY = 4.0
"""Nats for leaving a block empty where a line follows."""
RESPELLED = 20.0
"""Nats for another spelling of a name that does not exist."""
_LIKE, _VERY_LIKE = 0.6, 0.75
"""Shares of characters in common (`difflib`) with which a word may be another one, mistyped: where the text does not
parse, and where an exception names it."""
_HABITS = {("else", "if"): ("elif",), ("&", "&"): ("and",), ("|", "|"): ("or",)}
_AT_ENDS = {("+", "+"): ("+=", "1"), ("-", "-"): ("-=", "1")}
"""What other languages write, and Python's words for it; the second at ends of lines."""
_BLOCKS = frozenset(["async", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with"])
_CURLY = frozenset("\u201c\u201d\u201e\u2018\u2019\u201a")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_STRING = re.compile(r"""(?i:[rbfut]{0,2})(\"{3}|'{3}|["'])""")


class Region(NamedTuple):
    """A range of lexemes that a model reads together."""

    start: int
    end: int
    prior: float = 0.0
    """Nats by which a bug is likelier here than elsewhere."""


@dataclass(frozen=True)
class Target:
    """A text that may be edited, and where."""

    source: str
    regions: Sequence[Region]
    """Each within the model's maximum length."""
    name: str = ""
    """Identifies the target within a search."""
    lines: frozenset[int] | None = None
    """Lines, from 1, whose lexemes may be edited; None allows all."""
    unknown: frozenset[str] = frozenset()
    """Names and keys that do not exist, as the tests' exceptions say."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Limits of a search."""

    max_runs: int = 50
    """Maximum texts passed to `verify`."""
    max_s: float = float("inf")
    """Seconds after which no further text is."""
    max_edits: int = 3
    """Maximum edits of one text."""
    max_reads: int = 1000
    """Maximum passes through the model."""
    children: int = 200
    """Edits kept per region."""


@dataclass(frozen=True)
class Repair:
    """A verified text."""

    source: str
    score: float
    """Log-odds of its edits, in nats, minus the cost of further edits."""
    num_edits: int
    num_runs: int
    """Texts passed to `verify`, including this one."""
    name: str = ""
    """Key of the target."""


@dataclass
class _Text:
    """A queued text, built only when its turn comes."""

    target: Target
    depth: int
    parent: _Text | None = None
    patch: Patch | None = None

    @cached_property
    def source(self) -> str:
        if self.parent is None or self.patch is None:
            return self.target.source
        return apply(self.parent.source, self.parent.lexemes, [self.patch])

    @cached_property
    def lexemes(self) -> list[Lexeme]:
        return lex(self.source)

    @cached_property
    def error(self) -> int:
        """Index of the first lexeme that cannot stand there; edits after it do not help."""
        return find_error(self.source, self.lexemes)

    @property
    def is_advanced(self) -> bool:
        """Whether the error is after the last edit, and fewer lexemes follow it than before the edit."""
        if self.parent is None or self.patch is None:
            return False
        num_before = len(self.parent.lexemes) - self.parent.error
        passed = max(self.patch.start + len(self.patch.texts), len(self.lexemes) - num_before)
        # One short parse, where finding the error takes many.
        return passed < len(self.lexemes) and can_stand(self.source, self.lexemes[passed])

    def ends_line(self, index: int) -> bool:
        """Whether a line ends before a lexeme."""
        lexemes = self.lexemes
        if not 0 < index < len(lexemes) or is_level(lexemes[index].text):
            return True
        return "\n" in self.source[lexemes[index - 1].end : lexemes[index].start]


class _Node(NamedTuple):
    cost: float
    number: int
    text: _Text
    region: Region
    parses: bool | None = None
    """Whether the text has a meaning; if known, its own edits come next."""
    gap: tuple[Reading, Gap] | None = None
    """A gap to fill first."""


@dataclass
class Search:
    """A running search.

    Args:
        verify: whether a target's text is correct; called with texts that have a meaning, differ in meaning from all
            earlier ones, and have no new faults.
        meaning: the meaning a text must have to be verified; None if it has none yet.
        on_run: called with the number of verified texts so far.
    """

    proposer: Proposer
    verify: Callable[[Target, str], bool]
    config: SearchConfig = SearchConfig()
    meaning: Callable[[str], Meaning | None] = read_meaning
    on_run: Callable[[int], None] = lambda _: None
    further: Proposer | None = None
    """Reads edited texts; by default the one that reads the originals."""
    num_runs: int = 0
    num_reads: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, targets: Sequence[Target]) -> Repair | None:
        """Search for a verified edit of some texts; None if the budget runs out first."""
        config, ends_at = self.config, time.monotonic() + self.config.max_s
        seen: set[tuple[str, str]] = set()
        before: dict[str, Meaning | None] = {}
        queue: list[_Node] = []
        for target in targets:
            found = before[target.name] = self.meaning(target.source)
            seen.add((target.name, found.text if found else target.source))
            whole = _Text(target, 0)
            for region in target.regions:
                node = _Node(-region.prior, 0, whole, region, found is not None)
                self._expand(queue, node)
                for patch in _respellings(whole, region):
                    self._push(queue, node, node.cost - RESPELLED, patch)
        while queue and self.num_runs < config.max_runs and time.monotonic() < ends_at:
            node = heapq.heappop(queue)
            text = node.text
            if node.gap is not None:
                self._fill(queue, node, *node.gap)
                continue
            if node.parses is not None:
                self._expand(queue, node)
                continue
            found = self.meaning(text.source)
            key = (text.target.name, found.text if found else text.source)
            if key in seen:
                continue
            seen.add(key)
            original = before[text.target.name]
            if found is not None and not found.is_worse_than(original):
                self.num_runs += 1
                self.on_run(self.num_runs)
                if self.verify(text.target, text.source):
                    return Repair(text.source, -node.cost, text.depth, self.num_runs, text.target.name)
            if text.depth < config.max_edits:
                if original is None:
                    further = ADVANCED if text.is_advanced else STUCK
                else:
                    further = FURTHER_EDIT if self.further is None else FURTHER_JUDGED
                later = node._replace(cost=node.cost + further, number=next(self._numbers), parses=found is not None)
                heapq.heappush(queue, later)
        return None

    def _expand(self, queue: list[_Node], node: _Node) -> None:
        """Queue the edits of a text. A text without a meaning needs an edit, whatever the model thinks of it; there, an
        edit costs its log-probability, so that edits beside the error are not added for their own sake."""
        if self.num_reads >= self.config.max_reads:
            return
        text, lexemes = node.text, node.text.lexemes
        start, end = node.region.start, min(node.region.end, len(lexemes))
        allowed = None if text.depth else _on_lines(text)
        limit = len(lexemes) if node.parses else text.error
        self.num_reads += 1
        texts = relative([lexeme.text for lexeme in lexemes[start:end]])
        proposer = self.further if text.depth and self.further is not None else self.proposer
        reading = proposer.read(texts)
        kept = 0
        for score, edit in reading.proposals:
            first, last = (edit.position, edit.position) if isinstance(edit, Gap) else (edit.start, edit.end)
            if start + first > limit:
                continue
            if allowed is not None and not all(allowed[start + first : start + max(last, first + 1)]):
                continue
            cost = node.cost + (-score if node.parses else math.log1p(math.exp(min(-score, 700.0))))
            if isinstance(edit, Gap):
                heapq.heappush(queue, node._replace(cost=cost, number=next(self._numbers), gap=(reading, edit)))
            else:
                self._push(queue, node, cost, edit)
            kept += 1
            if kept == self.config.children:
                break
        if not node.parses:
            for patch in _closings(text, start, min(end, limit + 1)):
                self._push(queue, node, node.cost + CLOSED, patch)
            for price, patch in _habits(text, start, end):
                self._push(queue, node, node.cost, patch, price)

    def _fill(self, queue: list[_Node], node: _Node, reading: Reading, gap: Gap) -> None:
        """Queue fillings of a gap, none likelier than the gap itself."""
        if self.num_reads >= self.config.max_reads:
            return
        self.num_reads += 1
        for score, edit in reading.fill(gap):
            assert isinstance(edit, Patch), "a gap is filled at once"
            self._push(queue, node, node.cost - score, edit)

    def _push(self, queue: list[_Node], node: _Node, cost: float, patch: Patch, price: float | None = None) -> None:
        """Queue a text with one more edit; in a text without a meaning, the edit has a price."""
        moved = patch.moved(node.region.start)
        if not node.parses:
            cost += _price(node.text, moved) if price is None else price
        if cost == math.inf:
            return
        end = min(node.region.end, len(node.text.lexemes)) + len(patch.texts) - (patch.end - patch.start)
        edited = _Text(node.text.target, node.text.depth + 1, node.text, moved)
        heapq.heappush(queue, _Node(cost, next(self._numbers), edited, node.region._replace(end=end)))


def _price(text: _Text, patch: Patch) -> float:
    """Nats for the lexemes that a patch loses, unless doubled or mistyped, and for closing brackets within a line."""
    lexemes, (start, end, new) = text.lexemes, patch
    if start == end:
        while not text.ends_line(start) and lexemes[start].text in CLOSING | {":"}:
            start += 1
        return CLOSED_WITHIN if CLOSING.issuperset(new) and not text.ends_line(start) else 0.0
    if any("\n" in text.source[lexeme.start : lexeme.end] for lexeme in lexemes[start:end]):
        # A string that ends too late or never may hold much of the text.
        return math.inf
    beside = [lexeme.text for lexeme in (*lexemes[max(0, start - 1) : start], *lexemes[end : end + 1])]
    lost = [lexeme.text for lexeme in lexemes[start:end] if lexeme.text not in beside]
    return sum(_price_of(each) for each in lost if not (new and _is_like(each, new[0])))


def _price_of(lexeme: str) -> float:
    if kind_of(lexeme) == "special":
        return 0.0
    return LOST_WORD if _is_word(lexeme) or is_level(lexeme) else LOST_MARK


def _is_word(lexeme: str) -> bool:
    """Whether it is a name, keyword, number or string."""
    return lexeme[0].isalnum() or lexeme[0] in "_\"'"


def _is_like(lexeme: str, other: str) -> bool:
    """Whether one may be the other, mistyped."""
    if is_level(lexeme):
        return is_level(other)
    if not _is_word(lexeme):
        return {lexeme, other} <= OPENING | CLOSING
    return difflib.SequenceMatcher(None, lexeme, other, autojunk=False).ratio() >= _LIKE


def _closings(text: _Text, start: int, end: int) -> Iterator[Patch]:
    """Patches of a range that close, at the end of a line, the string, the brackets and the head of a block that are
    open there."""
    missing: list[str] = []
    begins_block = False
    for index in range(start, end):
        lexeme = text.lexemes[index].text
        if is_level(lexeme):
            missing.clear()
            begins_block = index + 1 < len(text.lexemes) and text.lexemes[index + 1].text in _BLOCKS
        elif lexeme in CLOSED_BY:
            missing.insert(0, CLOSED_BY[lexeme])
        elif missing[:1] == [lexeme]:
            missing.pop(0)
        if not text.ends_line(index + 1):
            continue
        at = index - start
        if string := OPEN_STRING.fullmatch(lexeme):
            yield from (Patch(at, at + 1, texts) for texts in _close_string(lexeme, string[1], missing))
            continue
        at += lexeme != ":"
        if missing:
            yield Patch(at, at, tuple(missing))
        if begins_block and lexeme != ":":
            yield Patch(at, at, (*missing, ":"))


def _respellings(text: _Text, region: Region) -> Iterator[Patch]:
    """Patches of a region that replace names which do not exist by those that do."""
    lexemes, allowed = [lexeme.text for lexeme in text.lexemes], _on_lines(text)
    for index in range(region.start, region.end):
        written = lexemes[index]
        if written.strip("'\"") in text.target.unknown and (allowed is None or allowed[index]):
            known = {lexeme for lexeme in lexemes if _is_word(lexeme) and lexeme != written}
            for near in difflib.get_close_matches(written, sorted(known), n=2, cutoff=_VERY_LIKE):
                yield Patch(index - region.start, index - region.start + 1, (near,))


def _habits(text: _Text, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """Patches of a range, with their price, for what other languages write, strings that end too early or too late, and
    blocks that are empty or a `try` without a handler."""
    lexemes, source = text.lexemes, text.source
    yield from _fillers(text, start)
    first = None
    for index in range(start, end):
        lexeme, at = lexemes[index], index - start
        pair = (lexeme.text, lexemes[index + 1].text if index + 1 < end else "")
        if pair in _HABITS or (pair in _AT_ENDS and text.ends_line(index + 2)):
            yield 0.0, Patch(at, at + 2, _HABITS.get(pair) or _AT_ENDS[pair])
        elif lexeme.text == "!":
            yield 0.0, Patch(at, at + 2, ("not", pair[1]))
        elif lexeme.text == "print" and pair[1] and kind_of(pair[1]) in ("name", "number", "string"):
            last = next(i for i in range(index + 1, len(lexemes) + 1) if text.ends_line(i))
            yield 0.0, Patch(at, last - start, (f"print({source[lexemes[index + 1].start : lexemes[last - 1].end]})",))
        elif lexeme.text in _CURLY:
            other = next((i for i in range(index + 1, end) if lexemes[i].text in _CURLY), None)
            if other is not None:
                yield 0.0, Patch(at, other + 1 - start, (f'"{source[lexeme.end : lexemes[other].start]}"',))
        written = source[lexeme.start : lexeme.end]
        if quotes := _STRING.match(written):
            if "\n" in written:
                head, _, rest = written.partition("\n")
                yield CLOSED, Patch(at, at + 1, (f"{head.rstrip()}{quotes[1]}\n{rest}",))
            first = index if first is None else first
            if OPEN_STRING.fullmatch(written) and first < index:
                rest = source[lexemes[first].start : lexeme.end]
                for mark in re.finditer(r"[:,)\]}]", rest[: lexemes[first].end - lexemes[first].start]):
                    yield CLOSED, Patch(first - start, at + 1, (rest[: mark.start()] + rest[0] + rest[mark.start() :],))
        if text.ends_line(index + 1):
            if first is not None and _APOSTROPHE.search(rest := source[lexemes[first].start : lexeme.end]):
                yield 0.0, Patch(first - start, at + 1, (_APOSTROPHE.sub(r"\'", rest),))
            first = None


def _fillers(text: _Text, start: int) -> Iterator[tuple[float, Patch]]:
    """Patches, with their price, of a range from a lexeme on that add before the line with the error what does nothing:
    to a block without a body, or as a handler to a `try`."""
    lexemes, error = text.lexemes, text.error
    at = error - (error < len(lexemes))
    level = lexemes[at].text if at < len(lexemes) else LEVELS[0]
    if at > start and lexemes[at - 1].text == ":":
        # A line that follows rather lacks its indentation.
        yield EMPTY if at < len(lexemes) else CLOSED, Patch(at - start, at - start, ("pass",))
    for index in range(at - 2, start - 1, -1):
        head = lexemes[index].text
        if lexemes[index + 1].text == "try" and is_level(head) and is_level(level) and head >= level:
            yield CLOSED, Patch(at - start, at - start, (head, "finally", ":", "pass"))


def _close_string(lexeme: str, quote: str, missing: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A string without an end, ended before the brackets, or before the brackets and the colon, of its line."""
    for colon in ("", ":"):
        if lexeme.endswith(colon):
            text, brackets = lexeme.removesuffix(colon), "".join(missing)
            while not text.endswith(brackets):
                brackets = brackets[:-1]
            yield (text.removesuffix(brackets) + quote, *missing, *colon)


def _on_lines(text: _Text) -> list[bool] | None:
    """Lexemes on the target's lines; None if all may be edited."""
    if text.target.lines is None:
        return None
    return [line in text.target.lines for line in line_numbers(text.source, text.lexemes)]
