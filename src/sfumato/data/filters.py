"""Filters for generated text: length, repetition, language and duplicates.

Exact and near duplicates are found by MinHash over word shingles, in bands. The share of equal entries of two
signatures estimates the Jaccard similarity of the texts' shingle sets (Broder 1997). Two texts are compared only if one
band of their signatures is equal (locality-sensitive hashing; Leskovec, Rajaraman and Ullman, Mining of Massive
Datasets, chapter 3).
"""

# H hashes, S shingles

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import regex  # type: ignore[import-untyped]

from sfumato.config import check_range
from sfumato.errors import ConfigError

_LAID_OUT = "\n\t\r"
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, kw_only=True)
class FilterConfig:
    """Requirements for keeping a conversation."""

    min_turn_tokens: int = 4
    """Minimum tokens of the user's message."""
    max_turn_tokens: int = 128
    """Maximum tokens of the user's message."""
    min_answer_tokens: int = 8
    """Minimum tokens of the answer."""
    max_answer_tokens: int = 512
    """Maximum tokens of the answer; longer ones are dropped."""
    ngram: int = 4
    """Length in tokens of the runs used to measure repetition."""
    min_distinct: float = 0.7
    """Minimum share of distinct runs among all runs, 0 to 1."""
    scripts: tuple[str, ...] = ("latin",)
    """Allowed Unicode scripts of letters, such as latin or cyrillic; empty allows all."""
    min_letters: float = 0.9
    """Minimum share of letters in these scripts, 0 to 1; a text without letters passes."""
    min_printable: float = 0.98
    """Minimum share of printable characters, including line ends and tabs, 0 to 1."""
    near_duplicate: float = 0.8
    """Jaccard similarity from which a message or answer counts as a duplicate, more than 0, at most 1."""
    shingle_words: int = 3
    """Words per shingle."""

    def __post_init__(self) -> None:
        for min_name, max_name in (("min_turn_tokens", "max_turn_tokens"), ("min_answer_tokens", "max_answer_tokens")):
            if not 1 <= getattr(self, min_name) <= getattr(self, max_name):
                raise ConfigError(
                    f"{min_name} is {getattr(self, min_name)} and {max_name} {getattr(self, max_name)}; "
                    "allowed: 1 or more, in order"
                )
        check_range(self, "ngram shingle_words", 1)
        check_range(self, "min_distinct min_letters min_printable", 0, 1)
        check_range(self, "near_duplicate", 0, 1, above=True)
        letters_share("", self.scripts)

    def reason(self, text: str, tokens: Sequence[int], *, ended: bool, min_tokens: int, max_tokens: int) -> str | None:
        """Why a text should be dropped, in one word: long, unended, short, unprintable, language or repetitive.

        Args:
            text: generated text, without its end token.
            tokens: its token ids, without the end token.
            ended: whether the model ended it.
            min_tokens, max_tokens: minimum and maximum number of tokens.

        Returns:
            The first reason in this order; None if the text may stay.
        """
        if len(tokens) > max_tokens:
            return "long"
        if not ended:
            return "unended"
        if len(tokens) < min_tokens or not text.strip():
            return "short"
        if printable_share(text) < self.min_printable:
            return "unprintable"
        if self.scripts and letters_share(text, self.scripts) < self.min_letters:
            return "language"
        if distinct_share(tokens, self.ngram) < self.min_distinct:
            return "repetitive"
        return None


def distinct_share(tokens: Sequence[int], ngram: int) -> float:
    """Distinct runs of a length over all runs; 1 for a shorter text."""
    runs = [tuple(tokens[i : i + ngram]) for i in range(len(tokens) - ngram + 1)]
    return len(set(runs)) / len(runs) if runs else 1.0


def printable_share(text: str) -> float:
    """Share of printable and layout characters; U+FFFD, which stands for broken bytes, does not count."""
    good = sum((char.isprintable() and char != _REPLACEMENT) or char in _LAID_OUT for char in text)
    return good / len(text) if text else 1.0


def letters_share(text: str, scripts: Sequence[str]) -> float:
    """Share of letters in some Unicode scripts; 1 for a text without letters.

    Raises:
        ConfigError: if there is no such script.
    """
    num_letters = len(regex.findall(r"\p{L}", text))
    num_own = 0
    for script in dict.fromkeys(scripts):
        try:
            if not script.replace("_", "").isalpha():
                raise regex.error("not a name")
            pattern = regex.compile(rf"[\p{{L}}&&\p{{Script={script}}}]", regex.VERSION1)
        except regex.error:
            raise ConfigError(
                f"unknown script {script!r}; allowed: Unicode's names, as latin, greek, cyrillic or han"
            ) from None
        num_own += len(pattern.findall(text))
    return num_own / num_letters if num_letters else 1.0


Signature = np.ndarray[Any, np.dtype[np.uint32]]
# 32 bands of four entries each miss two texts of similarity 0.8 once in ten million times.
_NUM_HASHES, _NUM_BANDS = 128, 32

_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_OPERATORS = r"\p{Sm}\p{Sc}/*%\-"
_WORD = regex.compile(rf"[{_SPACELESS}{_OPERATORS}]|[\w--[{_SPACELESS}]]+", regex.VERSION1)


def words(text: str) -> list[str]:
    """The words of a text, ignoring case and punctuation, with each operator as a word; in scripts without spaces,
    characters."""
    found: list[str] = _WORD.findall(text.casefold())
    return found


def shingles(text: str, size: int) -> set[str]:
    """Every run of a number of words; a shorter text is one run."""
    found = words(text) or [text]
    return {" ".join(found[i : i + size]) for i in range(max(1, len(found) - size + 1))}


def similarity(one_H: Signature, other_H: Signature) -> float:
    """Estimated Jaccard similarity of two signatures, with a standard error of sqrt(J (1 - J) / 128)."""
    return float(np.mean(one_H == other_H))


class NearDuplicates:
    """Texts added so far, searchable by similarity."""

    def __init__(self, threshold: float, shingle_words: int = 3) -> None:
        rng = np.random.default_rng(0)
        self._factor_H = rng.integers(1, 2**64, _NUM_HASHES, dtype=np.uint64) | np.uint64(1)
        self._offset_H = rng.integers(0, 2**64, _NUM_HASHES, dtype=np.uint64)
        self._threshold, self._shingle_words = threshold, shingle_words
        self._signatures: list[Signature] = []
        self._by_band: dict[tuple[int, bytes], list[int]] = {}

    def signature(self, text: str) -> Signature:
        """The signature for `find` and `add`: uint32 [H], the minimum of each hash function over the shingles."""
        digests = (
            hashlib.blake2b(shingle.encode(), digest_size=4).digest() for shingle in shingles(text, self._shingle_words)
        )
        key_S = np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
        # Multiply, add and shift: any two 32-bit keys get independent values (Dietzfelbinger 1996).
        value_SH = (key_S[:, None] * self._factor_H + self._offset_H) >> np.uint64(32)
        least_H: Signature = value_SH.min(axis=0).astype(np.uint32)
        return least_H

    def find(self, signature_H: Signature) -> int | None:
        """Index of the first added text that this one resembles; None if there is none."""
        near = {index for band in _bands(signature_H) for index in self._by_band.get(band, ())}
        alike = (index for index in sorted(near) if similarity(self._signatures[index], signature_H) >= self._threshold)
        return next(alike, None)

    def add(self, signature_H: Signature) -> None:
        for band in _bands(signature_H):
            self._by_band.setdefault(band, []).append(len(self._signatures))
        self._signatures.append(signature_H)


def _bands(signature_H: Signature) -> list[tuple[int, bytes]]:
    return [(i, band.tobytes()) for i, band in enumerate(np.split(signature_H, _NUM_BANDS))]


class Repeated:
    """Conversations added so far; rejects repeated messages and answers."""

    def __init__(self, threshold: float, shingle_words: int) -> None:
        self._exact: tuple[set[bytes], set[bytes]] = (set(), set())
        self._near = (NearDuplicates(threshold, shingle_words), NearDuplicates(threshold, shingle_words))

    def take(self, turn: str, answer: str) -> str | None:
        """Add a conversation; return "exact_duplicate" or "near_duplicate" if it is one.

        Args:
            turn: the user's message. Case and amount of whitespace are ignored.
        """
        texts = (turn, answer)
        digests = [hashlib.blake2b(_plain(text).encode(), digest_size=16).digest() for text in texts]
        if any(digest in known for digest, known in zip(digests, self._exact, strict=True)):
            return "exact_duplicate"
        signatures = [index.signature(text) for index, text in zip(self._near, texts, strict=True)]
        if any(index.find(signature) is not None for index, signature in zip(self._near, signatures, strict=True)):
            return "near_duplicate"
        for known, digest, index, signature in zip(self._exact, digests, self._near, signatures, strict=True):
            known.add(digest)
            index.add(signature)
        return None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
