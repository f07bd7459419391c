"""The text of a growing sequence, and where stop strings end it, independent of tokenization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.errors import RequestError, as_list
from sfumato.text.tokenizer import Detokenizer, Tokenizer


def check_stop(given: Iterable[str] | None) -> tuple[str, ...]:
    """Validate stop strings.

    Raises:
        RequestError: if they are not a list of non-empty strings.
    """
    stop = tuple(as_list("stop", () if given is None else given, "text"))
    if not all(stop):
        raise RequestError(f"stop is {list(stop)!r}; allowed: a list of non-empty strings")
    return stop


def scan(text: str, start: int, stop: Sequence[str], *, last: bool) -> tuple[str, int, bool]:
    """Find the stop string that is complete first; of several that end together, the longest.

    Args:
        text: everything written so far.
        start: characters already scanned, minus those held back.
        last: whether nothing will follow.

    Returns:
        The text before the stop string; how many characters at its end may begin one and must be held back; and whether
        one was found.
    """
    found = [(at + len(one), at) for one in stop if (at := text.find(one, start)) >= 0]
    if found:
        return text[: min(found)[1]], 0, True
    begun = [size for one in stop for size in range(1, len(one)) if not last and text.endswith(one[:size])]
    return text, max(begun, default=0), False


class TextStream:
    """The text of a token stream, and what may be shown of it.

    Args:
        stop: strings that end the text.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self._detokenizer, self._stop = Detokenizer(tokenizer), stop
        self._num_shown = 0
        self.text = ""
        """The whole text, or the part before the stop string."""
        self.stopped = False
        """Whether a stop string ended it."""
        self.num_held = 0
        """Characters at its end that may begin a stop string."""

    def push(self, tokens: Iterable[int]) -> None:
        """Append tokens."""
        self.text += self._detokenizer.push(tokens)

    def take(self, *, last: bool = False) -> str:
        """New text that may be shown: excludes what may begin a stop string, except at the end."""
        if last:
            self.text += self._detokenizer.finish()
        self.text, self.num_held, self.stopped = scan(self.text, self._num_shown, self._stop, last=last)
        piece = self.text[self._num_shown : len(self.text) - self.num_held]
        self._num_shown += len(piece)
        return piece

    def num_shown(self, tokenizer: Tokenizer, tokens: Sequence[int]) -> int:
        """How many of its tokens may be shown."""
        return num_covering(tokenizer, tokens, self.text[: -self.num_held]) if self.num_held else len(tokens)


def num_covering(tokenizer: Tokenizer, tokens: Sequence[int], text: str) -> int:
    """How many leading tokens cover a text; the last may reach past its end."""
    num = len(tokens)
    while num and tokenizer.decode(tokens[: num - 1]).startswith(text):
        num -= 1
    return num
