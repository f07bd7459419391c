"""Errors of requests: a status and OpenAI's error object."""

from __future__ import annotations

import logging
import re
import traceback
from typing import Any

from sqlalchemy.exc import DatabaseError

from sfumato.errors import BusyError, CapacityError, CheckpointError, SfumatoError

logger = logging.getLogger("sfumato.server")
# Messages begin with the field that they are about, or with a model's name, which is none.
_PARAM = re.compile(
    r"(?!\S+ (?:is autoregressive|has no \w))(\w+) (?:is|has|takes|needs|would|and \w+ are|'.*?' \w+|\d+ depends) "
    r"|unknown (?!setting |option )(\w+) |the (prompt|schema|instruction|grammar|regular expression)\b"
)


class ApiError(SfumatoError):
    """A refused request.

    Args:
        code: of OpenAI's error object, such as "model_not_found".
        param: name of the invalid field.
        **details: further fields of the error object.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
        **details: object,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param
        self.headers, self.details = headers or {}, details

    @classmethod
    def of(cls, error: Exception) -> ApiError:
        """Convert an exception; internal errors are logged and reveal nothing of the inside."""
        if isinstance(error, ApiError):
            return error
        if isinstance(error, BusyError):
            if error.retry_after_s is None:
                return cls(503, "the server is shutting down", code="shutting_down", headers={"Retry-After": "5"})
            wait = {"Retry-After": str(error.retry_after_s)}
            return cls(429, str(error), code="queue_full", headers=wait)
        if isinstance(error, CapacityError):
            return cls(400, str(error), code="context_length_exceeded", param=_named(error))
        if isinstance(error, CheckpointError):
            return cls(500, str(error), code="model_unusable")
        if isinstance(error, SfumatoError):
            return cls(400, str(error), param=_named(error))
        if isinstance(error, DatabaseError):
            # The driver's message, such as "database is locked", does not contain the request's values.
            logger.error("the database failed: %s", str(error.orig).split("\n")[0])
            message = "canvases cannot be stored or read now"
            return cls(503, message, code="storage_failed", headers={"Retry-After": "5"})
        # The place without the message, which may contain the request's text.
        where = "".join(traceback.format_tb(error.__traceback__))
        logger.error("unexpected %s\n%s", type(error).__name__, where)
        return cls(500, f"unexpected {type(error).__name__}", code="internal_error")

    def to_dict(self) -> dict[str, Any]:
        """The body of the response."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        kind = {401: "authentication_error", 429: "rate_limit_error"}.get(self.status, kind)
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return {"error": error | self.details}


def _named(error: SfumatoError) -> str | None:
    """The field that a message begins with."""
    found = _PARAM.match(str(error))
    return None if found is None else found[found.lastindex or 0].replace("regular expression", "regex")
