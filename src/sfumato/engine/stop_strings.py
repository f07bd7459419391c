"""The text of a sequence that is still growing, and where stop strings end it, however it is cut into tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.errors import RequestError, as_list
from sfumato.text.tokenizer import Detokenizer, Tokenizer


def check_stop(given: Iterable[str] | None) -> tuple[str, ...]:
    """Stop strings as they were given.

    Raises:
        RequestError: if they are no list of texts, or one is empty.
    """
    stop = tuple(as_list("stop", () if given is None else given, "text"))
    if not all(stop):
        raise RequestError(f"stop is {stop!r}; allowed: a list of texts that are not empty")
    return stop


def scan(text: str, start: int, stop: Sequence[str], *, last: bool) -> tuple[str, int, bool]:
    """Search a text for the stop string that is complete first; of several that end together, the longest.

    Args:
        text: what was written so far.
        start: characters that were scanned before, less those held back.
        stop: strings that are not empty.
        last: whether nothing will follow.

    Returns:
        The text up to the stop string; how many characters at its end may begin one, not to be shown yet; and whether
        there was one.
    """
    found = [(at + len(one), at) for one in stop if (at := text.find(one, start)) >= 0]
    if found:
        return text[: min(found)[1]], 0, True
    begun = [size for one in stop for size in range(1, len(one)) if not last and text.endswith(one[:size])]
    return text, max(begun, default=0), False


class TextStream:
    """The text of tokens as they come, and what may be shown of it.

    Args:
        tokenizer: the tokenizer that the tokens are from.
        stop: strings that end the text.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self._detokenizer, self._stop = Detokenizer(tokenizer), stop
        self._num_shown = 0
        self.text = ""
        """All of it, or what stands before the stop string."""
        self.stopped = False
        """Whether a stop string ended it."""

    def push(self, tokens: Iterable[int]) -> None:
        """Put tokens after the text."""
        self.text += self._detokenizer.push(tokens)

    def take(self, *, last: bool = False) -> str:
        """What may be shown and was not yet: without what may begin a stop string, and with all of it at the end."""
        if last:
            self.text += self._detokenizer.finish()
        self.text, num_held, self.stopped = scan(self.text, self._num_shown, self._stop, last=last)
        piece = self.text[self._num_shown : len(self.text) - num_held]
        self._num_shown += len(piece)
        return piece


def num_covering(tokenizer: Tokenizer, tokens: Sequence[int], text: str) -> int:
    """How many of the leading tokens it takes for all of a text; the last may reach past its end."""
    num = len(tokens)
    while num and tokenizer.decode(tokens[: num - 1]).startswith(text):
        num -= 1
    return num
