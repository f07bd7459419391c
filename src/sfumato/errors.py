"""The exception tree. Every message says what was given, what is allowed, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SfumatoError(Exception):
    """Anything Sfumato raises on purpose."""


class ConfigError(SfumatoError):
    """A recipe or configuration value is unknown, of the wrong type, or out of range."""


class CheckpointError(SfumatoError):
    """A checkpoint cannot be read or written as it is."""


class RequestError(SfumatoError):
    """A request asks for something that the model or this program cannot do."""


class CapacityError(SfumatoError):
    """The request is well formed, but there is no room for it (now, or ever: the message says which)."""


def unknown(kind: str, given: str, allowed: Iterable[str]) -> str:
    """Word the refusal of a name that is not known, with the nearest one that is.

    Args:
        kind: what is being named, such as ``"sampler"``.
        given: the name as it was given.
        allowed: every name that would have been accepted.

    Returns:
        One sentence for an exception's message.
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown {kind} {given!r}{hint} allowed: {', '.join(names)}"
