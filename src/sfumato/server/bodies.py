"""Request bodies: strict JSON, refused with the name of the invalid part."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from sfumato.server.failures import ApiError

MAX_VALUES = 50_000
"""Maximum number of values in a body. Python parses JSON in one go and blocks all other requests."""
_LARGE = 1 << 16
_NAME = re.compile(rb'"([^"\\]{1,64})"\s*:')
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


class Body(BaseModel):
    """A JSON object that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True)


class JsonRoute(APIRoute):
    """A route whose bodies are read by `read_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handling(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return handling


class _JsonRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        # Large bodies are parsed in a thread, so that other requests can run.
        return await asyncio.to_thread(read_json, body) if len(body) > _LARGE else read_json(body)


def read_json(body: bytes) -> Any:
    """Parse a body; what is not JSON, or has unusable text or numbers, is refused (400)."""
    if _most_values(body) > MAX_VALUES and (at_most := _most_values(_without_texts(body))) > MAX_VALUES:
        field = _longest_field(body)
        where = f", most of them in {field}" if field else ""
        raise _refusal(f"the body has about {at_most:,} values{where}; allowed: {MAX_VALUES:,}")
    try:
        # Not as bytes, from which json would also take half pairs and other encodings.
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant)
        if _HALF_PAIR.search(body) and (path := _find_half_pair(value, "")) is not None:
            raise _refusal(f"{path or 'the body'} has half a surrogate pair; allowed: Unicode characters", path or None)
    except RecursionError:
        raise _refusal("the body is nested too deeply; allowed: a few hundred levels") from None
    except json.JSONDecodeError as error:
        raise _refusal(f"the body is not JSON: {error}") from None
    except UnicodeDecodeError as error:
        raise _refusal(f"the body is not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise _refusal(f"the body has a number that is too long: {error}") from None
    return value


def _refusal(message: str, param: str | None = None) -> ApiError:
    return ApiError(400, message, code="json_invalid", param=param)


def _most_values(body: bytes) -> int:
    """Upper bound on the number of values, from commas and brackets."""
    return 1 + sum(map(body.count, (b",", b"[", b"{")))


def _without_texts(body: bytes) -> bytes:
    return b"".join(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])


def _longest_field(body: bytes) -> str | None:
    """The name followed by the longest distance to the next one."""
    names = list(_NAME.finditer(body))
    ends = [name.start() for name in names[1:]] + [len(body)]
    if not names:
        return None
    _, longest = max(zip(ends, names, strict=True), key=lambda pair: pair[0] - pair[1].end())
    return longest[1].decode("utf-8", "replace")


def _refuse_constant(name: str) -> float:
    raise _refusal(f"the body has {name}; allowed: JSON with finite numbers")


def _find_half_pair(value: Any, path: str) -> str | None:
    """Path to a lone surrogate, such as "messages.0.content"."""
    if isinstance(value, str):
        return path if any("\ud800" <= character <= "\udfff" for character in value) else None
    if isinstance(value, dict):
        for name in value:
            if _find_half_pair(name, path) is not None:
                return f"a name in {path}" if path else "a name"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = (_find_half_pair(each, f"{path}.{name}" if path else str(name)) for name, each in items)
    return next((each for each in found if each is not None), None)
