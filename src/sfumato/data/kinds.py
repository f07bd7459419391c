"""Kinds of prompts a model was trained on, as listed in its generation_config.json."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeVar

from sfumato.errors import ConfigError, RequestError

Turn = TypeVar("Turn", bound=Mapping[str, object])
FIELD = "prompt_kinds"
"""Key in generation_config.json. A model without it takes any prompt."""


@dataclass(frozen=True, kw_only=True)
class PromptKind:
    """One kind of prompt.

    Raises:
        ConfigError: if the pattern is not a valid regular expression, or the example does not match it.
    """

    name: str
    """For example "json"."""
    description: str
    """What the model does with such a prompt, in one sentence."""
    example: str
    """A complete prompt."""
    pattern: str
    """Python regular expression that matches the whole prompt; a dot also matches line ends."""
    instruction: str = ""
    """The line put before a text to have it rewritten; empty for a kind that does not rewrite."""

    def __post_init__(self) -> None:
        try:
            matches = self.matches(self.example)
        except re.error as error:
            raise ConfigError(f"pattern of prompt kind {self.name!r} is {self.pattern!r}: {error}") from None
        if not matches:
            raise ConfigError(f"example of prompt kind {self.name!r} does not match its pattern {self.pattern!r}")

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.DOTALL | re.ASCII)

    def matches(self, prompt: str) -> bool:
        return self._compiled.fullmatch(prompt) is not None

    def to_dict(self) -> dict[str, str]:
        """The JSON object for generation_config.json."""
        return {key: value for key, value in asdict(self).items() if value}


def read_kinds(generation: Mapping[str, Any]) -> tuple[PromptKind, ...]:
    """Read the kinds listed in generation_config.json.

    Raises:
        ConfigError: if they are not a list of objects with the fields of `PromptKind`.
    """
    listed = generation.get(FIELD, [])
    try:
        if not isinstance(listed, list) or not all(isinstance(text, str) for kind in listed for text in kind.values()):
            raise TypeError("of something else")
        return tuple(PromptKind(**kind) for kind in listed)
    except (TypeError, AttributeError) as error:
        raise ConfigError(f"{FIELD} is {listed!r}: {error}; allowed: a list of objects of strings") from None


def with_kinds(generation: Mapping[str, Any], kinds: Sequence[PromptKind]) -> dict[str, Any]:
    """Sampling defaults with exactly these kinds."""
    others = {key: value for key, value in generation.items() if key != FIELD}
    return others | ({FIELD: [kind.to_dict() for kind in kinds]} if kinds else {})


def visible_turns(turns: Sequence[Turn], kinds: Sequence[object]) -> Sequence[Turn]:
    """The messages of a conversation that a model reads: with kinds, it never saw a second message of a user, so only
    the system message and the last one."""
    return [turn for turn in turns[:-1] if turn["role"] == "system"][:1] + list(turns[-1:]) if kinds else turns


def check_kind(prompt: str | Sequence[Any], kinds: Sequence[PromptKind], model: str) -> None:
    """Refuse a message, or the last one of a conversation, of none of a model's kinds; token ids are never refused.

    Raises:
        RequestError: with an example of each kind.
    """
    message = prompt if isinstance(prompt, str) else prompt[-1]
    if kinds and isinstance(message, Mapping) and message.get("role", "user") != "user":
        raise RequestError(f"the last message has the role {message['role']!r}; allowed: 'user', which {model} answers")
    text = message.get("content") if isinstance(message, Mapping) else message
    if kinds and isinstance(text, str) and not any(kind.matches(text) for kind in kinds):
        shown = text if len(text) <= 60 else f"{text[:60]}..."
        raise RequestError(
            f"{model} was not trained on prompts like {shown!r}; allowed, for example:\n{examples(kinds)}\n"
            "to ask anyway and get a poor answer: check_prompt=False, `sfumato run --any-prompt`, or over HTTP "
            '"check_prompt": false, which stands within "diffusion" except for a canvas'
        )


def check_instruction(given: str, kinds: Sequence[PromptKind], model: str) -> str:
    """Find the instruction among a model's kinds, ignoring case and a final colon; without kinds, any is allowed.

    Raises:
        RequestError: listing the allowed ones.
    """
    known = {kind.instruction.rstrip(":").casefold(): kind.instruction for kind in kinds if kind.instruction}
    found = known.get(given.strip().rstrip(":. ").casefold()) if kinds else given
    if found is None:
        allowed = ", ".join(map(repr, known.values())) or "none, leave it out"
        raise RequestError(f"{model} was not trained on the instruction {given!r}; allowed: {allowed}")
    return found


def examples(kinds: Iterable[PromptKind]) -> str:
    """An example of each kind, one per line, quoted for a shell."""
    return "\n".join(f"  {kind.name}: {_quoted(kind.example)}" for kind in kinds)


def _quoted(text: str) -> str:
    if "\n" not in text:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{escaped}'"
