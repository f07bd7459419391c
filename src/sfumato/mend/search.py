"""Best-first search for an edited text that can be verified."""

from __future__ import annotations

import difflib
import heapq
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sfumato.mend.mistakes import Written, closings, edits_of_mistakes
from sfumato.mend.parsing import Meaning, can_stand, read_meaning
from sfumato.mend.proposals import Gap, Proposal, Proposer, Reading
from sfumato.text.lexemes import CLOSING, MISALIGNED, OPENING, is_level, kind_of, line_numbers, relative
from sfumato.text.patches import Patch, apply

FURTHER_EDIT = 4.0
"""Nats each edit after the first costs in a text that parsed: most bugs are one edit."""
FURTHER_JUDGED = 12.0
"""The same after an edit that a judge has scored: its scores are further apart."""
ADVANCED, STUCK = -5.0, 12.0
"""The same in a text that did not parse, if the edit before moved its first error further on or not."""
LOST_WORD, LOST_MARK = 2.0, 1.0
"""Nats for each word and mark that an edit of such a text loses: most of its errors are marks that are missing."""
CLOSED_WITHIN = 0.5
"""Nats for closing a bracket before the end of a line."""
JOINED = 10.0
"""Nats against two lines that become one by what stands between them."""
TOLD = 20.0
"""Nats for what the tests' exceptions suggest."""
_LIKE, _VERY_LIKE = 0.6, 0.75
"""Shares of characters in common (`difflib`) with which a word may be another one, mistyped: where the text does not
parse, and where an exception names it."""


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
    lines: Mapping[int, float] | None = None
    """Lines, from 1, whose lexemes may be edited, with the nats by which a mistake is less likely there; None allows
    all."""
    unknown: frozenset[str] = frozenset()
    """Names and keys that do not exist, as the tests' exceptions say."""
    raised: frozenset[str] = frozenset()
    """Classes of the tests' exceptions."""


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
    judged: int = 200
    """Edits whose texts the judge reads, likeliest first over all regions."""


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


@dataclass
class _Text(Written):
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

    @property
    def is_original(self) -> bool:
        return self.parent is None

    @property
    def num_other(self) -> int:
        """How many lexemes its last edit adds beside its own: where a bracket closed early, lines have their levels."""
        assert self.parent is not None
        assert self.patch is not None
        start, end, texts = self.patch
        return len(self.lexemes) - len(self.parent.lexemes) - len(texts) + end - start

    @property
    def is_advanced(self) -> bool:
        """Whether the error is after the last edit, and fewer lexemes follow it than before the edit."""
        if self.parent is None or self.patch is None:
            return False
        num_before = len(self.parent.lexemes) - self.parent.error
        passed = max(self.patch.start + len(self.patch.texts), len(self.lexemes) - num_before)
        # One short parse, where finding the error takes many.
        return passed < len(self.lexemes) and can_stand(self.source, self.lexemes[passed])


class _Node(NamedTuple):
    cost: float
    number: int
    text: _Text
    region: Region
    parses: bool | None = None
    """Whether the text has a meaning; if known, its own edits come next."""
    gap: tuple[Reading, Gap] | None = None


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
    num_runs: int = 0
    num_reads: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, targets: Sequence[Target]) -> Repair | None:
        """Search for a verified edit of some texts; None if the budget runs out first."""
        config, ends_at = self.config, time.monotonic() + self.config.max_s
        seen: set[tuple[str, str]] = set()
        before: dict[str, Meaning | None] = {}
        queue, firsts = list[_Node](), list[_Node]()
        for target in targets:
            found = before[target.name] = self.meaning(target.source)
            seen.add((target.name, found.text if found else target.source))
            whole = _Text(target, 0)
            for region in target.regions:
                node = _Node(-region.prior, 0, whole, region, found is not None)
                firsts.append(node)
                for patch in _told(whole, region):
                    self._push(queue, node, node.cost - TOLD, patch)
        if self.proposer.has_judge:
            self._expand_judged(queue, firsts)
        else:
            for node in firsts:
                self._expand(queue, node)
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
                    further = FURTHER_JUDGED if self.proposer.has_judge else FURTHER_EDIT
                region = node.region._replace(end=node.region.end + text.num_other)
                later = _Node(node.cost + further, next(self._numbers), text, region, found is not None)
                heapq.heappush(queue, later)
        return None

    def _expand(self, queue: list[_Node], node: _Node) -> None:
        if self.num_reads < self.config.max_reads:
            self._queue(queue, node, *self._propose(node))

    def _expand_judged(self, queue: list[_Node], nodes: Sequence[_Node]) -> None:
        """Queue the edits of the original texts; the likeliest gain what the judge thinks of the texts that they make,
        the others count as the worst of these."""
        read = [(node, *self._propose(node)) for node in nodes]
        found = [(each, index) for index, (_, _, proposals) in enumerate(read) for each in proposals]

        def likeliest(each: tuple[Proposal, int]) -> float:
            proposal, index = each
            return nodes[index].cost - proposal.score

        found.sort(key=likeliest)
        filled: list[tuple[Proposal, int]] = []
        for proposal, index in found[: self.config.judged]:
            fillings = (
                read[index][1].fill(proposal.edit) if isinstance(proposal.edit, Gap) else [Proposal(0.0, proposal.edit)]
            )
            filled += [(Proposal(proposal.score + each.score, each.edit), index) for each in fillings]
        filled.sort(key=likeliest)
        rest = found[self.config.judged :] + filled[self.config.judged :]
        scored: list[list[Proposal]] = [[] for _ in nodes]
        worst = 0.0
        for number, (_, reading, _) in enumerate(read):
            chosen = [each for each, index in filled[: self.config.judged] if index == number]
            gains = reading.gains([each.edit for each in chosen if isinstance(each.edit, Patch)]) if chosen else []
            scored[number] = [Proposal(each.score + gain, each.edit) for each, gain in zip(chosen, gains, strict=True)]
            worst = min(worst, *gains) if gains else worst
        for proposal, index in rest:
            scored[index].append(Proposal(proposal.score + worst, proposal.edit))
        for (node, reading, _), proposals in zip(read, scored, strict=True):
            self._queue(queue, node, reading, sorted(proposals, key=lambda each: -each.score))

    def _propose(self, node: _Node) -> tuple[Reading, list[Proposal]]:
        """What the model says of a text, and the edits of it that are allowed."""
        text, lexemes = node.text, node.text.lexemes
        start, end = node.region.start, min(node.region.end, len(lexemes))
        prices = None if text.depth else _line_prices(text)
        limit = len(lexemes) if node.parses else text.error
        self.num_reads += 1
        reading = self.proposer.read(relative([lexeme.text for lexeme in lexemes[start:end]]))
        kept: list[Proposal] = []
        for proposal in reading.proposals:
            edit = proposal.edit
            first, last = (edit.position, edit.position) if isinstance(edit, Gap) else (edit.start, edit.end)
            if start + first > limit:
                continue
            price = 0.0 if prices is None else max(prices[start + first : start + max(last, first + 1)], default=0.0)
            if price < math.inf:
                kept.append(proposal._replace(score=proposal.score - price))
        return reading, kept if prices is None else sorted(kept, key=lambda each: -each.score)

    def _queue(self, queue: list[_Node], node: _Node, reading: Reading, proposals: Sequence[Proposal]) -> None:
        """Queue edits of a text. A text without a meaning needs an edit, whatever the model thinks of it; there, an
        edit costs its log-probability, so that edits beside the error are not added for their own sake."""
        text = node.text
        start, end = node.region.start, min(node.region.end, len(text.lexemes))
        for score, edit in proposals[: self.config.children]:
            cost = node.cost + (-score if node.parses else math.log1p(math.exp(min(-score, 700.0))))
            if isinstance(edit, Gap):
                heapq.heappush(queue, node._replace(cost=cost, number=next(self._numbers), gap=(reading, edit)))
            else:
                self._push(queue, node, cost, edit)
        if not node.parses:
            for price, patch in closings(text, start, min(end, text.error + 1)):
                self._push(queue, node, node.cost + price, patch)
            for price, patch in edits_of_mistakes(text, start, end):
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
    kept = "".join(_letters(each) for each in new if "'" in each or '"' in each)
    if any(kind_of(each.text) == "string" and _letters(each.text) not in kept for each in lexemes[start:end]):
        # No mistake adds a string.
        return math.inf
    gone = [each.text for each in lexemes[start:end] if is_level(each.text) or each.text == MISALIGNED]
    if gone and not any(map(is_level, new)) and (new or MISALIGNED in gone):
        # A line that is indented wrongly is no end of the line above.
        return JOINED
    beside = [lexeme.text for lexeme in (*lexemes[max(0, start - 1) : start], *lexemes[end : end + 1])]
    lost = [lexeme.text for lexeme in lexemes[start:end] if lexeme.text not in beside]
    return sum(_price_of(each) for each in lost if not (new and _is_like(each, new[0])))


def _letters(lexeme: str) -> str:
    """What a string says, whatever its quotes and escapes are."""
    return re.sub(r"^\w{0,2}(?=['\"])|\W", "", lexeme)


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


def _told(text: _Text, region: Region) -> Iterator[Patch]:
    """Patches of a region that the tests' exceptions suggest: names that exist for those that do not, and what was
    raised for what is caught."""
    lexemes, prices = [lexeme.text for lexeme in text.lexemes], _line_prices(text)
    for index in range(region.start, region.end):
        written = lexemes[index]
        if prices is not None and prices[index] == math.inf:
            continue
        caught = (
            index > region.start and lexemes[index - 1] == "except" and written not in (":", "(", *text.target.raised)
        )
        better = sorted(text.target.raised) if caught else []
        if written.strip("'\"") in text.target.unknown:
            known = {lexeme for lexeme in lexemes if _is_word(lexeme) and lexeme != written}
            better += difflib.get_close_matches(written, sorted(known), n=2, cutoff=_VERY_LIKE)
        for new in better:
            yield Patch(index - region.start, index - region.start + 1, (new,))


def _line_prices(text: _Text) -> list[float] | None:
    """Nats for an edit of each lexeme, infinite where none is allowed; None if all cost nothing."""
    if (lines := text.target.lines) is None:
        return None
    return [lines.get(line, math.inf) for line in line_numbers(text.source, text.lexemes)]
