"""Locations of a snippet's blocks in a file."""

from __future__ import annotations

import random

from sfumato.server.placing import blocks_of, find_locations

LINES = ["class A:", "def f(x):", "def g():", "    def f(x):", "    x = 1", "        x = 1", "y = 2", "}", "", "# a"]
MARKS = ["# ... existing code ...", "    // ... rest of code ...", "<!-- … unchanged … -->"]


def test_long_lines_of_dots_are_code():
    for line in ("." * 100_000, "# ... existing" + " " * 100_000 + ".a"):
        [block] = blocks_of(f"{line}\nx", ["y"])
        assert block.lines == (line, "x")


def test_candidates_are_in_the_remaining_text_and_contain_the_block():
    draw = random.Random(5)
    num_sure = 0
    for _ in range(2000):
        lines = draw.choices(LINES, k=draw.randrange(12))
        snippet = draw.choices([*LINES, *MARKS, "new = 3", "    new = 3"], k=draw.randrange(1, 9))
        if not any(line.strip() for line in snippet if line not in MARKS):
            continue
        for block in blocks_of("\n".join(snippet), lines):
            after = draw.randrange(len(lines) + 1)
            places = find_locations(lines, block, after)
            num_sure += len(places) == 1
            for place in places:
                assert after <= place.start <= place.end <= len(lines)
                own = [line.strip() for line in place.lines if line.strip()]
                assert own == [line.strip() for line in block.lines if line.strip()]
    assert num_sure > 100
