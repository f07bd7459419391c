"""Output constraints over a model's tokens, built once and cached for later requests."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Hashable, Sequence
from typing import get_args

from sfumato.config import check_choice
from sfumato.constraints import dfa
from sfumato.constraints.automaton import Automaton, Maker, make_automaton
from sfumato.constraints.dfa import from_constraint
from sfumato.constraints.grammar import from_grammar
from sfumato.constraints.json_compiler import Order
from sfumato.constraints.json_schema import language_of_schema
from sfumato.constraints.regex import from_regex
from sfumato.engine.options import ConstraintOptions
from sfumato.errors import RequestError, as_list
from sfumato.schemas import schema_of
from sfumato.text.tokenizer import Tokenizer

# Limits on cached automata: their number, and their states in total; a state takes about a kilobyte.
_REMEMBERED, _REMEMBERED_STATES = 32, 100_000


class Languages:
    """Automata over the tokens of one model.

    Args:
        vocab_size: the model's; ids beyond the tokenizer's have no text.
    """

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self._tokenizer, self._vocab_size, self.eos_ids = tokenizer, vocab_size, tokenizer.eos_ids
        self.make: Callable[[Sequence[Maker]], Automaton | None] = self._make_here
        """Builds automata from options; a server replaces it to build them in another process."""
        self._automata: dict[Hashable, Automaton | None] = {}

    @functools.cached_property
    def token_bytes(self) -> list[bytes | None]:
        """The bytes of each token; None for tokens without text."""
        known = self._tokenizer.token_bytes
        return [*known, *[None] * (self._vocab_size - len(known))]

    def asked(
        self, options: ConstraintOptions, *, pin: str | None = None, frame: tuple[str, str] = ("", "")
    ) -> Automaton | None:
        """The automaton for all constraints in the options together; None if there are none.

        Args:
            pin: a regex for what a draft may become.
            frame: texts before and after what is constrained.

        Raises:
            RequestError: if a constraint is invalid, or no text satisfies all of them.
        """
        wanted: dict[str, tuple[object, Maker]] = {}
        check_choice("order", order := options.get("order", "any"), get_args(Order))
        if (schema := options.get("schema")) is not None:
            read = schema_of(schema)
            wanted["schema"] = (read, order), functools.partial(language_of_schema, read, order=order)
        for name, text, make_language in (
            ("regex", options.get("regex"), from_regex),
            ("pin", pin, from_regex),
            ("grammar", options.get("grammar"), from_grammar),
        ):
            if text is not None:
                if not isinstance(text, str):
                    raise RequestError(f"{name} is {text!r:.100}; allowed: a string")
                wanted[name] = text, functools.partial(make_language, text)
        if (choices := options.get("choices")) is not None:
            texts = as_list("choices", choices, "text")
            wanted["choices"] = texts, functools.partial(dfa.from_choices, texts)
        if (ban := options.get("ban")) is not None and (texts := as_list("ban", ban, "text")):
            wanted["ban"] = texts, functools.partial(dfa.without, texts)
        constraint = options.get("constraint")
        if not wanted and constraint is None and frame == ("", ""):
            return None
        try:
            key = json.dumps([frame, {name: value for name, (value, _) in wanted.items()}]), constraint
        except (TypeError, ValueError) as error:
            raise RequestError(f"{' or '.join(wanted)} cannot be read: {error}") from None
        try:
            hash(constraint)
        except TypeError:
            raise RequestError(
                f"constraint is {constraint!r:.100}, which has no hash; allowed: a frozen dataclass, for example"
            ) from None
        if constraint is not None:
            wanted["constraint"] = constraint, functools.partial(from_constraint, constraint)

        names = " and ".join(wanted)
        left, right = (text.encode() for text in frame)
        makers = [maker for _, maker in wanted.values()] or [dfa.anything]
        framed = [functools.partial(dfa.between, left, right, maker) for maker in makers]
        # A frame alone takes no time that another process would save.
        make = self.make if wanted else self._make_here
        try:
            automaton = self._remember(key, lambda: make(framed))
        except RequestError as error:
            raise type(error)(str(error).replace(dfa.UNNAMED, names, 1)) from None
        if automaton is None:
            raise RequestError(f"no text satisfies {names}" + " together; relax one of them" * (len(wanted) > 1))
        return automaton

    def _make_here(self, makers: Sequence[Maker]) -> Automaton | None:
        return make_automaton(makers, self.token_bytes, self.eos_ids)

    def _remember(self, key: Hashable, make: Callable[[], Automaton | None]) -> Automaton | None:
        # Another thread may drop it at any time.
        with contextlib.suppress(KeyError):
            return self._automata[key]
        automaton = self._automata[key] = make()
        sizes = {key: 0 if one is None else one.num_states for key, one in list(self._automata.items())}
        for old in list(sizes)[:-1]:
            if len(sizes) > _REMEMBERED or sum(sizes.values()) > _REMEMBERED_STATES:
                del sizes[old]
                self._automata.pop(old, None)
        return automaton
