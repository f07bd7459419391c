"""What answers must be, over a model's tokens: made once, and remembered for requests to come."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.data import language
from sfumato.data.schema import regex_of_schema
from sfumato.data.tokenizer import Tokenizer
from sfumato.errors import RequestError
from sfumato.sampling import Automaton
from sfumato.sampling.automaton import over_tokens
from sfumato.sampling.constraint import NOT_INSTALLED, is_installed

_REMEMBERED = 32
_MAKERS: dict[str, Callable[[Any], language.Language]] = {
    "schema": lambda schema: language.of_regex(regex_of_schema(schema)),
    "regex": language.of_regex,
    "choices": language.of_choices,
    "ban": language.without,
}
LANGUAGES = frozenset(_MAKERS)
"""Settings of a request that say what its answer must be."""


class Languages:
    """Automata over the tokens of one model.

    Args:
        tokenizer: of the model.
        vocab_size: of the model; ids past the tokenizer's stand for no text.
    """

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self._tokenizer, self._vocab_size = tokenizer, vocab_size
        self._automata: dict[str, Automaton | None] = {}

    @property
    def can_frame(self) -> bool:
        """Whether `framed` can be asked for."""
        return is_installed() and self._tokenizer.has_bytes

    def asked(
        self,
        *,
        schema: Mapping[str, Any] | bool | None = None,
        regex: str | None = None,
        choices: Sequence[str] | None = None,
        ban: Sequence[str] | None = None,
    ) -> Automaton | None:
        """What is asked for, all of it at once; None if nothing is.

        Raises:
            RequestError: if it cannot be read, or there is no such text.
        """
        wanted = {"schema": schema, "regex": regex, "choices": choices, "ban": ban or None}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        if not wanted:
            return None
        try:
            key = json.dumps(wanted)
        except (TypeError, ValueError) as error:
            raise RequestError(f"{' or '.join(wanted)} cannot be read: {error}") from None
        automaton = self._remember(
            key, lambda: functools.reduce(operator.and_, (_MAKERS[name](value) for name, value in wanted.items()))
        )
        if automaton is None:
            raise RequestError(f"no text is what {' and '.join(wanted)} ask for together; ask for less")
        return automaton

    def framed(self, left: str, right: str) -> Automaton | None:
        """Any text that begins and ends so; None if that is no demand."""
        if (left, right) == ("", ""):
            return None
        return self._remember(json.dumps((left, right)), lambda: language.framed(left.encode(), right.encode()))

    def _remember(self, key: str, make: Callable[[], language.Language]) -> Automaton | None:
        if not is_installed():
            raise RequestError(NOT_INSTALLED)
        if key not in self._automata:
            token_bytes = self._tokenizer.token_bytes
            padded = [*token_bytes, *[None] * (self._vocab_size - len(token_bytes))]
            self._automata[key] = over_tokens(make(), padded, self._tokenizer.eos_ids)
            if len(self._automata) > _REMEMBERED:
                self._automata.pop(next(iter(self._automata)), None)
        return self._automata[key]
