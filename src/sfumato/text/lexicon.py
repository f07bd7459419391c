"""A vocabulary that is made for a text: the lexemes that any text may use, then those that this one does.

Names, numbers and strings are too many for one vocabulary. What a model knows of a lexeme is the hash of its spelling
and of the words in it, so that a lexicon's embeddings are computed rather than looked up (`models.lexeme`).
"""

# V lexemes, S words in a lexeme

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from sfumato.text.lexemes import FIXED, kind_of

MAX_WORDS = 15
"""Words of a lexeme that count; of a long string, the first."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


@functools.lru_cache(maxsize=1 << 18)
def features(text: str, num_spellings: int, num_words: int) -> tuple[int, ...]:
    """What a model knows of a lexeme.

    Args:
        text: the lexeme.
        num_spellings, num_words: rows of the tables that the hashes index.

    Returns:
        The hash of the spelling, then `MAX_WORDS + 1` hashes of its kind and its words; 0 where there are fewer.
    """
    kind = kind_of(text)
    words = [f"kind {kind}"]
    if kind in ("name", "string", "number"):
        words += [match.group().lower() for match in _WORD.finditer(text)][:MAX_WORDS]
    hashes = [1 + zlib.crc32(word.encode()) % (num_words - 1) for word in words]
    return (zlib.crc32(text.encode()) % num_spellings, *hashes, *[0] * (MAX_WORDS + 1 - len(hashes)))


class Lexicon:
    """Lexemes and their ids: `FIXED` first, then what is added, in the order in which it came."""

    def __init__(self, lexemes: Iterable[str] = ()) -> None:
        self._ids = dict(_FIXED_IDS)
        self.encode(lexemes)

    def __len__(self) -> int:
        return len(self._ids)

    def encode(self, lexemes: Iterable[str]) -> list[int]:
        """Ids of lexemes; those that are new are added."""
        ids = self._ids
        return [ids.setdefault(text, len(ids)) for text in lexemes]

    @property
    def lexemes(self) -> Sequence[str]:
        """By their ids."""
        return list(self._ids)

    def features(self, num_spellings: int, num_words: int) -> np.ndarray:
        """int64 [V, MAX_WORDS + 2], see `features`."""
        return np.array([features(text, num_spellings, num_words) for text in self._ids], dtype=np.int64)


_FIXED_IDS = {text: index for index, text in enumerate(FIXED)}
