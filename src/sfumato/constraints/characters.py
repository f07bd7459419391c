"""Sets of characters as ranges of code points, and their UTF-8 encodings as byte transitions."""

from __future__ import annotations

import functools
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of code points, sorted and disjoint."""

SURROGATES = (0xD800, 0xDFFF)
# For characters of one byte, two, and so on: lowest, highest, lowest first byte, and number of first bytes.
_ENCODED = (
    (0x00, 0x7F, 0x00, 128),
    (0x80, 0x7FF, 0xC0, 32),
    (0x800, 0xFFFF, 0xE0, 16),
    (0x10000, sys.maxunicode, 0xF0, 5),
)
# Above this, no character has a category, and no letter another case.
_LAST_NAMED = 0x3FFFF
_LAST_CASED = 0x1FFFF


def join(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge ranges."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The complement of some ranges, without surrogates."""
    start, gaps = 0, []
    for first, last in [*join([*ranges, SURROGATES]), (sys.maxunicode + 1, 0)]:
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    return tuple(gaps)


def intersect(one: Ranges, other: Ranges) -> Ranges:
    """The intersection of two sets."""
    return complement([*complement(one), *complement(other)])


@functools.cache
def category(letter: str, *, ascii_only: bool = False) -> Ranges:
    """The characters Python counts as digits ("d"), spaces ("s") or word characters ("w")."""
    everything = "".join(map(chr, range(_LAST_NAMED + 1)))
    found = re.finditer(rf"\{letter}+", everything, re.ASCII if ascii_only else re.UNICODE)
    return join((match.start(), match.end() - 1) for match in found)


def ignore_case(ranges: Ranges, *, ascii_only: bool = False) -> Ranges:
    """The characters in ranges, ignoring case as Python does."""
    if not ranges:
        return ranges
    within = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    pattern = re.compile(f"[{within}]", re.IGNORECASE | (re.ASCII if ascii_only else re.UNICODE))
    return join([*ranges, *((ord(found), ord(found)) for found in pattern.findall(_cased()))])


@functools.cache
def _cased() -> str:
    return "".join(each for each in map(chr, range(_LAST_CASED + 1)) if each.lower() != each or each.upper() != each)


@dataclass(frozen=True, eq=False)
class Branch:
    """How the bytes of characters lead to the sets they belong to."""

    slot_B: np.ndarray[Any, np.dtype[np.intp]]
    """[256]: per byte, 0 for no transition, otherwise one more than the index of its slot."""
    slots: tuple[Slot, ...]
    """Next branches, None after the last byte, with the reachable leaves of this branch."""


Slot = tuple[Branch | None, tuple[int, ...]]


class Encoding:
    """Build the branches of characters' UTF-8; equal branches are one object."""

    def __init__(self) -> None:
        self._branches: dict[Any, Branch] = {}

    def encode(self, parts: Sequence[Ranges]) -> tuple[Branch, tuple[int, ...]]:
        """The branch of the first byte, and the set number of each of its leaves.

        Args:
            parts: disjoint, non-empty sets of characters.
        """
        labelled = sorted((first, last, part) for part, ranges in enumerate(parts) for first, last in ranges)
        slots: dict[int, Slot | None] = {}
        for num_more, (low, high, lead, num_leads) in enumerate(_ENCODED):
            clipped = [(max(first, low), min(last, high), part) for first, last, part in labelled]
            clipped = [each for each in clipped if each[0] <= each[1]]
            firsts = [first for first, _, _ in clipped]
            for i in range(num_leads) if clipped else ():
                slots[lead + i] = self._slot(clipped, firsts, i << 6 * num_more, num_more)
        found = self._branch(slots)
        assert found is not None
        return found

    def _slot(self, labelled: list[tuple[int, int, int]], firsts: list[int], start: int, num_more: int) -> Slot | None:
        """The branch of a range of characters that differ only in their last bytes."""
        stop = start + (1 << 6 * num_more)
        found = bisect_right(firsts, start) - 1
        if found < 0 or labelled[found][1] < start:
            found += 1
            if found == len(labelled) or labelled[found][0] >= stop:
                return None
        if not num_more:
            return None, (labelled[found][2],)
        size = stop - start >> 6
        if labelled[found][0] <= start and stop <= labelled[found][1] + 1:
            # All of one part.
            slot = self._slot(labelled, firsts, start, num_more - 1)
            return self._branch(dict.fromkeys(range(0x80, 0xC0), slot))
        return self._branch({0x80 + i: self._slot(labelled, firsts, start + i * size, num_more - 1) for i in range(64)})

    def _branch(self, slot_of_byte: Mapping[int, Slot | None]) -> tuple[Branch, tuple[int, ...]] | None:
        distinct = [slot for slot in dict.fromkeys(slot_of_byte.values()) if slot is not None]
        if not distinct:
            return None
        parts = tuple(dict.fromkeys(part for _, parts in distinct for part in parts))
        # Leaves are numbered in byte order, so that equal branches for different sets are one object.
        slots = tuple((branch, tuple(map(parts.index, of_slot))) for branch, of_slot in distinct)
        slot_B = np.zeros(256, dtype=np.intp)
        for byte, slot in slot_of_byte.items():
            if slot is not None:
                slot_B[byte] = 1 + distinct.index(slot)
        return self._branches.setdefault((slot_B.tobytes(), slots), Branch(slot_B, slots)), parts
