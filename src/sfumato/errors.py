"""The exception hierarchy. Every message says what was given, what is allowed, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any


class SfumatoError(Exception):
    """Base class of all errors that Sfumato raises on purpose."""


class ConfigError(SfumatoError):
    """A recipe or configuration value is unknown, of the wrong type, or out of range."""


class CheckpointError(SfumatoError):
    """A checkpoint cannot be read or written."""


class RequestError(SfumatoError):
    """A request asks for something that the model or this program cannot do."""


class CapacityError(SfumatoError):
    """The request is valid but does not fit."""


class BusyError(CapacityError):
    """The queue is full, or the engine is closed.

    Args:
        retry_after_s: estimated seconds until there is room; None if there never will be.
    """

    def __init__(self, message: str, retry_after_s: int | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerError(SfumatoError):
    """A server refused a request or failed to answer it.

    Args:
        param: name of the invalid field, if the server gives one.
        code: such as "model_not_found" or "queue_full", if the server gives one.
        retry_after_s: seconds to wait before retrying, if the server gives them.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code
        self.retry_after_s = retry_after_s


class StaleRevisionError(ServerError):
    """A canvas has changed since the revision that an edit was based on.

    Args:
        rev: the canvas's current revision.
        text: its current text.
    """

    def __init__(self, message: str, *, rev: int, text: str) -> None:
        super().__init__(message, status=409, param="base_rev", code="stale_revision")
        self.rev, self.text = rev, text


class UnreachableError(SfumatoError):
    """The server does not answer, or the connection broke."""


def unknown(kind: str, given: str, allowed: Iterable[str]) -> str:
    """Message for an unknown name, suggesting the nearest known one.

    Returns:
        An exception's message as one sentence.
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown {kind} {given!r}{hint} allowed: {', '.join(names)}"


def _is_span(item: Any) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(each, Integral) for each in item)


_ITEMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda item: isinstance(item, str), 'a list of texts, such as ["red", "green"]'),
    "span": (_is_span, "a list of (start, end), such as [(0, 3)]"),
    "seed": (lambda item: isinstance(item, Integral), "a list of whole numbers, such as [0, 1]"),
    "prompt": (lambda item: True, "a list of prompts"),
}


def as_list(name: str, given: Any, kind: str) -> list[Any]:
    """The items of a list parameter. A bare string is refused rather than read as a list of characters.

    Args:
        given: the list, or any other iterable.
        kind: type of the items: "text", "span", "seed" or "prompt".

    Raises:
        RequestError: if it is not a list, or holds another type.
    """
    is_right, allowed = _ITEMS[kind]
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise RequestError(f"{name} is {given!r}; allowed: {allowed}")
    items = list(given)
    wrong = [item for item in items if not is_right(item)]
    if wrong:
        raise RequestError(f"{name} has {wrong[0]!r}; allowed: {allowed}")
    return items
