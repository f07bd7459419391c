"""Applies lexeme edits to the source; every character outside the edits stays the same."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from sfumato.text.lexemes import CLOSING, LEVELS, MISALIGNED, Lexeme, is_level, kind_of


class Patch(NamedTuple):
    """Lexemes that replace others."""

    start: int
    """Index of the first lexeme to replace, or the insertion point."""
    end: int
    """Index after the last lexeme to replace."""
    texts: tuple[str, ...]

    def moved(self, by: int) -> Patch:
        """The same behind some more lexemes."""
        return self._replace(start=self.start + by, end=self.end + by)


def apply(source: str, lexemes: Sequence[Lexeme], patches: Sequence[Patch]) -> str:
    """Apply patches to the source.

    Args:
        lexemes: `lex(source)`.
        patches: must not overlap.
    """
    unit = indentation(source, lexemes)
    parts = [part for patch in patches for part in _parts(lexemes, patch)]
    for patch in sorted(parts, reverse=True):
        start, end, text = _span(source, lexemes, patch, unit)
        source = source[:start] + text + source[end:]
    return source


def _parts(lexemes: Sequence[Lexeme], patch: Patch) -> list[Patch]:
    """The same patch without the lexemes that stay, and what stands between them."""
    start, end, texts = patch
    if end - start < 2 or not texts:
        return [patch]
    old = [lexeme.text for lexeme in lexemes[start:end]]
    if len(old) != len(texts):
        codes = difflib.SequenceMatcher(None, old, texts, autojunk=False).get_opcodes()
        return [Patch(start + a, start + b, texts[c:d]) for tag, a, b, c, d in codes if tag != "equal"]
    runs = [(stays, list(run)) for stays, run in itertools.groupby(range(len(old)), lambda at: old[at] == texts[at])]
    return [Patch(start + run[0], start + run[-1] + 1, texts[run[0] : run[-1] + 1]) for stays, run in runs if not stays]


def common_ends(text: str, other: str) -> tuple[int, int]:
    """Lengths of the common prefix of two texts, and of the common suffix of what follows it."""
    start = _num_common(text, other)
    return start, _num_common(text[start:][::-1], other[start:][::-1])


def _num_common(text: str, other: str) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))


def line_starts(text: str) -> list[int]:
    """Start offset of each line, then the end of the text."""
    return [0, *(match.end() for match in re.finditer("\r\n?|\n", text) if match.end() < len(text)), len(text)]


def line_span(starts: Sequence[int], text: str, first: int, last: int) -> tuple[int, int] | None:
    """The characters of some lines, counted from 1, without the last line end; None if the text has no such lines.

    Args:
        starts: `line_starts(text)`.
    """
    if not 1 <= first <= last < len(starts):
        return None
    start = starts[first - 1]
    return start, start + len(text[start : starts[last]].removesuffix("\n").removesuffix("\r"))


def indentation(source: str, lexemes: Sequence[Lexeme]) -> list[str]:
    """Indentation per level: as in the first such line, or four spaces more than the level above."""
    known: dict[str, str] = {}
    for lexeme in lexemes:
        if is_level(lexeme.text):
            known.setdefault(lexeme.text, source[lexeme.start : lexeme.end])
    found: list[str] = []
    for level in LEVELS:
        found.append(known.get(level, f"{found[-1]}    " if found else ""))
    return found


def _span(source: str, lexemes: Sequence[Lexeme], patch: Patch, unit: Sequence[str]) -> tuple[int, int, str]:
    """The character range to replace, and the new text."""
    start, end, texts = patch
    goes = lexemes[start:end]
    if len(goes) == len(texts) == 1 and _likeness(goes[0].text) == _likeness(texts[0]):
        [new] = texts
        return goes[0].start, goes[0].end, unit[LEVELS.index(new)] if is_level(new) else new
    before = lexemes[start - 1] if start else None
    after = lexemes[end] if end < len(lexemes) else None
    if goes and not texts and (before is None or _is_head(before.text)) and (after is None or _is_head(after.text)):
        first, last = source.rfind("\n", 0, goes[0].start) + 1, source.find("\n", goes[-1].end) + 1 or len(source)
        if not source[goes[-1].end : last].strip():
            # Nothing is left of its lines.
            return first, last, ""
    left = before_end = before.end if before is not None else 0
    goes_end = goes[-1].end if goes else before_end
    right = after.start if after is not None else len(source)
    if after is None or _is_head(after.text) or source[goes_end:right].strip(" \t"):
        # Text between them, such as a comment or a line end, stays after the new text.
        right = goes_end
    if goes and before is not None and source[left : goes[0].start].strip(" \t") and not _is_head(goes[0].text):
        left = goes[0].start
    following = after.text if after is not None and right == after.start else ""
    context = [lexeme.text for lexeme in lexemes[max(0, start - 24) : start]] if left == before_end else []
    depth = sum((text in "([{") - (text in ")]}") for text in context if len(text) == 1)
    pieces: list[str] = []
    for text in texts:
        if is_level(text):
            pieces.append(f"\n{unit[LEVELS.index(text)]}")
        else:
            pieces.append(_separator(context, text, depth) + text)
        context.append(text)
    tail = _separator(context, following, depth) if following else ""
    return left, right, "".join(pieces) + tail


def _is_head(text: str) -> bool:
    return is_level(text) or text == MISALIGNED


def _likeness(text: str) -> tuple[bool, bool]:
    """Lexemes with the same need the same spaces around them: heads of lines, words, and marks."""
    return _is_head(text), text[0].isalnum() or text[0] in "_\"'"


_TIGHT_AFTER = frozenset({"(", "[", "{", ".", "~", "@", ""})
_TIGHT_BEFORE = frozenset({")", "]", "}", ",", ".", ":", ";", ""})
_UNARY = frozenset({"-", "+", "*", "**", "~"})


def _ends_operand(text: str) -> bool:
    return text in CLOSING or (text != "" and kind_of(text) in ("name", "number", "string"))


def _separator(before: Sequence[str], text: str, depth: int) -> str:
    """The text between the last of some lexemes and the next one."""
    last = before[-1] if before else ""
    if last and text.startswith(".") and kind_of(last) == "number":
        # "1." would be one number.
        return " "
    if not last or _is_head(last) or last in _TIGHT_AFTER or text in _TIGHT_BEFORE:
        return ""
    if text in ("(", "[") and _ends_operand(last):
        return ""
    if depth > 0 and "=" in (last, text) and len(text) + len(last) > 1:
        return ""
    if last in _UNARY and not _ends_operand(before[-2] if len(before) > 1 else ""):
        return ""
    if last == ":" and depth > 0:
        return ""
    return " "
