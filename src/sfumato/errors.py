"""The exception tree. Every message says what was given, what is allowed, and what to do."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any


class SfumatoError(Exception):
    """Anything Sfumato raises on purpose."""


class ConfigError(SfumatoError):
    """A recipe or configuration value is unknown, of the wrong type, or out of range."""


class CheckpointError(SfumatoError):
    """A checkpoint cannot be read or written as it is."""


class RequestError(SfumatoError):
    """A request asks for something that the model or this program cannot do."""


class CapacityError(SfumatoError):
    """The request is well formed, but there is no room for it."""


class BusyError(CapacityError):
    """There is no room for a request now.

    Args:
        message: what is full.
        retry_after_s: seconds after which there may be room; None if there will be none here.
    """

    def __init__(self, message: str, retry_after_s: int | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerError(SfumatoError):
    """A server refuses a request, or failed at it.

    Args:
        message: what it says.
        status: of HTTP.
        param: the field that is wrong, where it names one.
        code: such as "model_not_found" or "queue_full", where it gives one.
        retry_after_s: seconds after which it may be asked again, where it says so.
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
    """A canvas has changed since the revision that a change of it is about.

    Args:
        message: what the server says.
        rev: the canvas's revision now.
        text: its text now.
    """

    def __init__(self, message: str, *, rev: int, text: str) -> None:
        super().__init__(message, status=409, param="base_rev", code="stale_revision")
        self.rev, self.text = rev, text


class UnreachableError(SfumatoError):
    """No server answers, or the connection broke."""


def unknown(kind: str, given: str, allowed: Iterable[str]) -> str:
    """Word the refusal of a name that is not known, with the nearest one that is.

    Returns:
        One sentence for an exception's message.
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown {kind} {given!r}{hint} allowed: {', '.join(names)}"


def check_range(owner: object, names: str, low: float, high: float = math.inf, *, above: bool = False) -> None:
    """Refuse fields of a config that are outside a range.

    Args:
        owner: the config.
        names: of the fields, with spaces between them.
        low, high: the range, its ends included.
        above: leave `low` out of it.

    Raises:
        ConfigError: naming the field, its value and the range.
    """
    allowed = f"more than {low:g}" if above else f"{low:g}"
    if high < math.inf:
        allowed += f", at most {high:g}" if above else f" to {high:g}"
    elif not above:
        allowed += " or more"
    for name in names.split():
        value = getattr(owner, name)
        if not (low < value if above else low <= value) or not value <= high or value == math.inf:
            raise ConfigError(f"{name} is {value}; allowed: {allowed}")


def _is_span(item: Any) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(each, Integral) for each in item)


_ITEMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda item: isinstance(item, str), 'a list of texts, such as ["red", "green"]'),
    "span": (_is_span, "a list of (start, end), such as [(0, 3)]"),
    "seed": (lambda item: isinstance(item, Integral), "a list of whole numbers, such as [0, 1]"),
    "prompt": (lambda item: True, "a list of prompts"),
}


def as_list(name: str, given: Any, kind: str) -> list[Any]:
    """What a parameter lists; one bare text is not the list of its characters.

    Args:
        name: of the parameter.
        given: what should be a list, or anything else that is gone through in order.
        kind: of its items: "text", "span", "seed" or "prompt".

    Raises:
        RequestError: if it is no list, or has another item.
    """
    is_right, allowed = _ITEMS[kind]
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise RequestError(f"{name} is {given!r}; allowed: {allowed}")
    items = list(given)
    wrong = [item for item in items if not is_right(item)]
    if wrong:
        raise RequestError(f"{name} has {wrong[0]!r}; allowed: {allowed}")
    return items
