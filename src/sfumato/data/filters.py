"""What is wrong with a text that a model wrote, judged by the text alone: length, repetition, language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from sfumato.errors import ConfigError, check_range

_LAID_OUT = "\n\t\r"
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, kw_only=True)
class Written:
    """A text that a model wrote."""

    text: str
    """The text, without its end token."""
    tokens: Sequence[int]
    """Its token ids, without the end token."""
    ended: bool
    """Whether the model ended it."""


@dataclass(frozen=True, kw_only=True)
class FilterConfig:
    """What a conversation must be to be kept."""

    min_turn_tokens: int = 4
    """Fewest tokens of the user's turn."""
    max_turn_tokens: int = 128
    """Most tokens of the user's turn."""
    min_answer_tokens: int = 8
    """Fewest tokens of the answer."""
    max_answer_tokens: int = 512
    """Most tokens of the answer; one that has not ended by then is dropped."""
    ngram: int = 4
    """Tokens of the runs that repetition is counted in."""
    min_distinct: float = 0.7
    """Least share of distinct runs among all runs, 0 to 1."""
    scripts: tuple[str, ...] = ("latin",)
    """Unicode scripts that letters may be of, as latin or cyrillic; empty allows all."""
    min_letters: float = 0.9
    """Least share of letters that are of these scripts, 0 to 1; a text without letters passes."""
    min_printable: float = 0.98
    """Least share of characters that can be printed, line ends and tabs included, 0 to 1."""
    near_duplicate: float = 0.8
    """Jaccard similarity of shingles from which a turn or an answer counts as one that was there before, more than 0,
    at most 1."""
    shingle_words: int = 3
    """Words of a shingle."""

    def __post_init__(self) -> None:
        for least, most in (("min_turn_tokens", "max_turn_tokens"), ("min_answer_tokens", "max_answer_tokens")):
            if not 1 <= getattr(self, least) <= getattr(self, most):
                raise ConfigError(
                    f"{least} is {getattr(self, least)} and {most} {getattr(self, most)}; allowed: 1 or more, in order"
                )
        check_range(self, "ngram shingle_words", 1)
        check_range(self, "min_distinct min_letters min_printable", 0, 1)
        check_range(self, "near_duplicate", 0, 1, above=True)
        letters_share("", self.scripts)

    def reason(self, written: Written, *, least: int, most: int) -> str | None:
        """Why a text is to be dropped, in one word: long, unended, short, unprintable, language or repetitive.

        Returns:
            The first of them, in this order; None if the text may stay.
        """
        if len(written.tokens) > most:
            return "long"
        if not written.ended:
            return "unended"
        if len(written.tokens) < least or not written.text.strip():
            return "short"
        if printable_share(written.text) < self.min_printable:
            return "unprintable"
        if self.scripts and letters_share(written.text, self.scripts) < self.min_letters:
            return "language"
        if distinct_share(written.tokens, self.ngram) < self.min_distinct:
            return "repetitive"
        return None


def distinct_share(tokens: Sequence[int], ngram: int) -> float:
    """Distinct runs of so many tokens / all of them; 1 for a text that is shorter than a run."""
    runs = [tuple(tokens[i : i + ngram]) for i in range(len(tokens) - ngram + 1)]
    return len(set(runs)) / len(runs) if runs else 1.0


def printable_share(text: str) -> float:
    """Share of characters that can be printed, or lay the text out; U+FFFD stands for broken bytes and is none."""
    good = sum((char.isprintable() and char != _REPLACEMENT) or char in _LAID_OUT for char in text)
    return good / len(text) if text else 1.0


def letters_share(text: str, scripts: Sequence[str]) -> float:
    """Share of letters that are of some Unicode scripts; 1 for a text without letters.

    Raises:
        ConfigError: if there is no such script.
    """
    num_letters = len(regex.findall(r"\p{L}", text))
    num_own = 0
    for script in dict.fromkeys(scripts):
        if not script.replace("_", "").isalpha():
            raise ConfigError(f"unknown script {script!r}; allowed: Unicode's names, as latin, greek, cyrillic or han")
        try:
            own = regex.compile(rf"[\p{{L}}&&\p{{Script={script}}}]", regex.VERSION1)
        except regex.error:
            raise ConfigError(
                f"unknown script {script!r}; allowed: Unicode's names, as latin, greek, cyrillic or han"
            ) from None
        num_own += len(own.findall(text))
    return num_own / num_letters if num_letters else 1.0
