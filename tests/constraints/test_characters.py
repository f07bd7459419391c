"""Sets of characters against Python's own."""

from __future__ import annotations

import re
import sys

import pytest

from sfumato.constraints.characters import (
    SURROGATES,
    Encoding,
    Ranges,
    category,
    complement,
    ignore_case,
    intersect,
    join,
)

EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))


def members(ranges: Ranges) -> set[int]:
    return {point for first, last in ranges for point in range(first, last + 1)}


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("letter", ["d", "s", "w"])
def test_categories_match_python(letter: str, ascii_only: bool):
    flags = re.ASCII if ascii_only else re.UNICODE
    expected = {ord(each) for each in re.findall(rf"\{letter}", EVERYTHING, flags)}
    assert members(category(letter, ascii_only=ascii_only)) == expected


@pytest.mark.parametrize("ranges", [((0x61, 0x7A),), ((0x49, 0x49),), ((0xB5, 0xDF),), ((0x1E00, 0x1E943),)], ids=str)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_case_matches_python(ranges: Ranges, ascii_only: bool):
    within = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    flags = re.IGNORECASE | (re.ASCII if ascii_only else re.UNICODE)
    expected = {ord(each) for each in re.findall(f"[{within}]", EVERYTHING, flags)}
    assert members(ignore_case(ranges, ascii_only=ascii_only)) == expected


def test_ranges_are_sets():
    one, other = join([(5, 9), (1, 2), (3, 3), (20, 0xD801)]), ((2, 6), (8, 30))
    assert one == ((1, 3), (5, 9), (20, 0xD801))
    assert members(intersect(one, other)) == members(one) & members(other)
    first, last = SURROGATES
    expected = set(range(sys.maxunicode + 1)) - members(one) - set(range(first, last + 1))
    assert members(complement(one)) == expected


def test_byte_automata_match_characters():
    parts: list[Ranges] = [((0x41, 0x5A), (0xE9, 0xE9), (0x1F600, 0x1F6FF)), ((0x4E00, 0x9FFF),), ((0x20AC, 0x20AC),)]
    encoding = Encoding()
    root, leaves = encoding.encode(parts)
    for text in "AZ@[é\u00e8中鿿€😀\U0001f700\x00\U0010ffff":
        branch, found = root, leaves
        for byte in text.encode():
            slot = int(branch.slot_B[byte]) if branch is not None else 0
            if not slot:
                break
            branch, local = branch.slots[slot - 1]  # type: ignore[assignment]
            found = tuple(found[i] for i in local)
        expected = [i for i, part in enumerate(parts) if ord(text) in members(part)]
        assert (list(found) if slot and branch is None else []) == expected


def test_equal_branches_are_shared():
    encoding = Encoding()
    one, _ = encoding.encode([((0x80, sys.maxunicode),)])
    other, _ = encoding.encode([((0x20, 0x7F),), ((0x80, sys.maxunicode),)])
    assert one is not other
    assert {branch for branch, _ in one.slots} < {branch for branch, _ in other.slots}
