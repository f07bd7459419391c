"""Chat templates: render messages to text, and keep markup inside messages apart."""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from sfumato.errors import CheckpointError, RequestError

Message = Mapping[str, Any]

# Plane 15 is for private use: these characters have no meaning in any text.
_PRIVATE_CHARACTERS = range(0xF0000, 0xFFFFE)

# Far more than a template needs.
_MAX_TURNS = 1_000_000
_MAX_SIZE = 10_000_000


class ChatTemplate:
    """A checkpoint's chat template, run in a sandbox.

    Args:
        source: Jinja text, or a list of {"name", "template"} of which "default" is used; None if there is none.
        tokens: the tokens a template may name, such as {"eos_token": "<|end|>"}.

    Raises:
        CheckpointError: if the source is anything else.
    """

    def __init__(self, source: Any, tokens: Mapping[str, str]) -> None:
        template = source
        if isinstance(source, list):
            with contextlib.suppress(TypeError, KeyError):
                template = {entry["name"]: entry["template"] for entry in source}.get("default")
        if not isinstance(template, str | None):
            raise CheckpointError(
                f"the checkpoint's chat_template is {source!r:.80}; allowed: a text, or a list of names and templates"
            )
        self._source: str | None = template
        self._tokens = dict(tokens)

    def __getstate__(self) -> dict[str, Any]:
        # Compiled templates cannot be copied, so a copy compiles again.
        return {name: value for name, value in vars(self).items() if name != "_template"}

    @property
    def exists(self) -> bool:
        return bool(self._source)

    def render(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        """Render a conversation.

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
                **{_TURNS: _Turns()},
                messages=messages,
                add_generation_prompt=add_generation_prompt,
                tools=None,
                documents=None,
            )
        except jinja2.TemplateError as error:
            raise RequestError(f"the chat template refuses these messages: {error.message or error}") from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # A template that gets a value of an unexpected type fails with Python's own exceptions.
            raise RequestError(f"the chat template cannot read these messages: {error}") from error

    @cached_property
    def _template(self) -> jinja2.Template:
        if not self._source:
            raise RequestError("this model has no chat template; give it plain text instead of messages")
        # The settings and names that templates expect: transformers, utils/chat_template_utils.py.
        environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
        environment.filters["tojson"] = _to_json
        # They make texts of any size.
        for name in ("center", "format", "indent"):
            del environment.filters[name]
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now, "namespace": _GuardedNamespace}
        # Python reads names in this form.
        if _TURNS in unicodedata.normalize("NFKC", self._source):
            raise CheckpointError(f"the checkpoint's chat template names {_TURNS}; allowed: other names")
        try:
            return environment.from_string(self._source)
        except (jinja2.TemplateError, SyntaxError, RecursionError, ValueError) as error:
            raise CheckpointError(f"the checkpoint's chat template is broken: {error}") from error


_TURNS = "turns_of_all_loops"
# Methods of texts and bytes that make texts of any size.
_WIDENING = frozenset({"center", "expandtabs", "format", "format_map", "ljust", "rjust", "zfill"})


class _Turns:
    """Counts loop iterations and macro calls within one rendering."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self) -> None:
        self._count += 1
        if self._count > _MAX_TURNS:
            raise jinja2.TemplateError(f"it takes more than {_MAX_TURNS:,} loop iterations")


class _Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox with limits on loops and sizes."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Multiply, raise to a power or format, unless the result would be huge."""
        sized, number = (left, right) if hasattr(left, "__len__") else (right, left)
        if operator == "*" and hasattr(sized, "__len__") and isinstance(number, int):
            if len(sized) * number > _MAX_SIZE:
                raise jinja2.TemplateError(f"it repeats a text to more than {_MAX_SIZE:,} characters")
        elif operator == "**" and abs(right) > 64:
            raise jinja2.TemplateError(f"it takes a power of {right}; allowed: up to 64")
        elif operator == "%" and isinstance(left, str) and re.search(r"\d{5}|\*", left):
            raise jinja2.TemplateError(f"it formats {left!r}; allowed: widths below 10,000")
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read an attribute."""
        return super().is_safe_attribute(obj, attr, value) and not (isinstance(obj, str | bytes) and attr in _WIDENING)

    def wrap_str_format(self, value: Any) -> None:
        """Leave `str.format` to `is_safe_attribute`, which jinja2 would not ask about it."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        repeated: list[nodes.For | nodes.Macro] = [*template.find_all(nodes.For), *template.find_all(nodes.Macro)]
        for node in repeated:
            turn = nodes.Call(nodes.Name(_TURNS, "load"), [], [], None, None)
            node.body.insert(0, nodes.ExprStmt(turn).set_lineno(node.lineno))
        return template


class _Generation(Extension):
    """{% generation %}, which marks the model's text in templates and does not affect it."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _GuardedNamespace(Namespace):
    """jinja2's namespace, without names that begin with an underscore."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise jinja2.TemplateError(f"it sets {name!r} on a namespace")
        if hasattr(value, "__len__") and len(value) > _MAX_SIZE:
            raise jinja2.TemplateError(f"it sets {name} to more than {_MAX_SIZE:,} characters or entries")
        super().__setitem__(name, value)


def cover(messages: Sequence[Message], markup: Iterable[str]) -> tuple[list[Message], dict[str, str]]:
    """Replace each piece of markup inside messages by a private character; also its start at the end of a string, if
    another string begins with its end, because templates join strings.

    Returns:
        The messages to render, and what each private character stands for.
    """
    markup, strings = list(markup), list(_strings(list(messages)))
    given = "".join(strings)
    # Templates also strip strings.
    shorter, first = range(1, max(map(len, markup), default=0)), {text[:1] for text in markup}
    tails = {text[-num:] for text in map(str.rstrip, strings) for num in shorter if text[-num:][:1] in first}
    heads = {text[:num] for text in map(str.lstrip, strings) for num in shorter} if tails else set()
    starts = [
        text[:num]
        for text in (markup if tails else ())
        for num in range(1, len(text))
        if text[:num] in tails and any(text[end:] in heads for end in range(num, len(text)))
    ]
    whole = [text for text in markup if text in given]
    free = (chr(code) for code in _PRIVATE_CHARACTERS if chr(code) not in given)
    covers = {text: next(free) for text in dict.fromkeys([*whole, *starts])}
    if not covers:
        return list(messages), {}
    inside, at_end = (map(re.escape, sorted(some, key=len, reverse=True)) for some in (whole, starts))
    pattern = re.compile("|".join([*inside, *(rf"{text}(?=\s*\Z)" for text in at_end)]))
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


def _to_json(value: Any, ensure_ascii: bool = False, **settings: Any) -> str:
    # jinja2's own filter escapes HTML, which chat templates do not want.
    return json.dumps(value, ensure_ascii=ensure_ascii, **settings)


def _now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
