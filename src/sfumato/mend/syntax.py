"""Repairs syntax errors with as few edits as possible."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from sfumato.mend.parsing import Meaning, error_line
from sfumato.mend.search import Proposes, Region, Search, SearchConfig, Target
from sfumato.text.lexemes import Lexeme, is_level, lex

MAX_ERRORS = 20
"""Maximum errors repaired in a file, one after the other."""


def window(source: str, lexemes: Sequence[Lexeme], line: int, length: int) -> Region:
    """Whole lines around a line, more before than after it, up to the model's maximum length."""
    offsets = [0]
    for text in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(text))
    at = offsets[min(line, len(offsets) - 1) - 1] if line > 1 else 0
    heads = [index for index, lexeme in enumerate(lexemes) if is_level(lexeme.text) or index == 0]
    number = max(0, bisect.bisect_right([lexemes[index].start for index in heads], at) - 1)
    first = last = number
    ends = [*heads[1:], len(lexemes)]
    while True:
        room = length - (ends[last] - heads[first])
        behind = ends[last + 1] - ends[last] if last + 1 < len(heads) else length
        before = heads[first] - heads[first - 1] if first else length
        # Two lines before for each line after: the missing part is usually earlier.
        if before <= room and (number - first < 2 * (last - number) + 2 or behind > room):
            first -= 1
        elif behind <= room:
            last += 1
        else:
            return Region(heads[first], min(ends[last], heads[first] + length))


def mend_syntax(
    proposer: Proposes, source: str, *, length: int = 192, config: SearchConfig | None = None
) -> tuple[str, int] | None:
    """A text that parses, with the number of edits; None if none is found.

    Args:
        proposer: reads windows of the text.
        source: text that does not parse.
        length: lexemes of a window.
        config: limits of the search for each error.
    """
    config = config or SearchConfig(max_runs=1, max_reads=400, max_edits=4, max_s=20.0)
    edits = 0
    for _ in range(MAX_ERRORS):
        line = error_line(source)
        if line is None:
            return source, edits
        lexemes = lex(source)
        region = window(source, lexemes, line, length)
        beyond = source.count("\n", 0, lexemes[region.end - 1].end) + 1 if region.end else 1

        def reaches(text: str, last: int = beyond) -> Meaning | None:
            """The text itself if its first error, if any, is after the window."""
            found = error_line(text)
            return Meaning(text) if found is None or found > last + 1 else None

        repair = Search(proposer, lambda target, text: True, config, meaning=reaches).run([Target(source, [region])])
        if repair is None:
            return None
        source, edits = repair.source, edits + repair.num_edits
    return None
