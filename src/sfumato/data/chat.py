"""Chat templates: messages to one text, with what looks like markup inside a message kept apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sfumato.errors import CheckpointError, RequestError

Message = Mapping[str, Any]

# Plane 15 is for private use: no text means anything by these characters.
_PRIVATE_CHARACTERS = range(0xF0000, 0xFFFFE)


class ChatTemplate:
    """A checkpoint's chat template, run in a sandbox.

    Args:
        source: Jinja text, or a list of {"name", "template"} whose "default" counts; None if there is none.
        tokens: the tokens a template may name, such as {"eos_token": "<|end|>"}.
    """

    def __init__(self, source: Any, tokens: Mapping[str, str]) -> None:
        if isinstance(source, list):
            source = {entry["name"]: entry["template"] for entry in source}.get("default")
        self._source: str | None = source
        self._tokens = dict(tokens)

    def render(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        """The conversation as one text.

        Args:
            messages: dicts with at least "role" and "content".
            add_generation_prompt: whether to open the assistant's next turn.

        Raises:
            RequestError: if there are no messages, no template, or the template refuses the messages.
            CheckpointError: if the template itself is broken.
        """
        if not messages:
            raise RequestError("messages is empty; allowed: one or more")
        try:
            return self._template.render(
                **self._tokens,
                messages=messages,
                add_generation_prompt=add_generation_prompt,
                tools=None,
                documents=None,
            )
        except jinja2.TemplateError as error:
            raise RequestError(f"the chat template refuses these messages: {error.message or error}") from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # A template that meets a value of a type it did not expect fails with Python's own exceptions.
            raise RequestError(f"the chat template cannot read these messages: {error}") from error

    @cached_property
    def _template(self) -> jinja2.Template:
        if not self._source:
            raise RequestError("this model has no chat template; give it plain text instead of messages")
        # The settings and names that templates are written for: transformers, utils/chat_template_utils.py.
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        try:
            return environment.from_string(self._source)
        except jinja2.TemplateError as error:
            raise CheckpointError(f"the checkpoint's chat template is broken: {error}") from error


def cover(messages: Sequence[Message], markup: Iterable[str]) -> tuple[list[Message], dict[str, str]]:
    """Put one private character for each piece of markup that stands inside a message.

    Args:
        messages: as for `ChatTemplate.render`; not changed.
        markup: the texts of the special tokens.

    Returns:
        The messages to render, and what each private character in the rendered text stands for.
    """
    given = "".join(_strings(list(messages)))
    free = (chr(code) for code in _PRIVATE_CHARACTERS if chr(code) not in given)
    covers = {text: next(free) for text in markup if text in given}
    if not covers:
        return list(messages), {}
    longest_first = sorted(covers, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    covered = [_substitute(message, pattern, covers) for message in messages]
    return covered, {character: text for text, character in covers.items()}


def _strings(value: Any) -> Iterator[str]:
    """Every string inside a message, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _strings(pair)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)


def _substitute(value: Any, pattern: re.Pattern[str], covers: Mapping[str, str]) -> Any:
    """A copy of a message with every match in its strings replaced."""
    if isinstance(value, str):
        return pattern.sub(lambda match: covers[match[0]], value)
    if isinstance(value, Mapping):
        pairs = (_substitute(pair, pattern, covers) for pair in value.items())
        return {key: inner for key, inner in pairs}
    if isinstance(value, (list, tuple)):
        return type(value)(_substitute(inner, pattern, covers) for inner in value)
    return value


def _to_json(value: Any, indent: int | None = None) -> str:
    # jinja2's own filter escapes HTML, which no chat template means.
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
