"""Models on other servers with OpenAI's API: requests and answers are forwarded.

Model descriptions are the other server's; nothing is added.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
from fastapi import Request, Response
from fastapi.responses import JSONResponse

from sfumato.errors import ConfigError, RequestError
from sfumato.server.failures import ApiError
from sfumato.server.protocol import ChatRequest, Sampled
from sfumato.server.streaming import Events, run_while_connected

_Json = dict[str, Any]
_TIMEOUT = httpx.Timeout(600.0, connect=10.0)
_OURS = (
    "diffusion",
    "draft",
    "diffusing",
    "echo_from",
    "message",
    "realtime",
    "reasoning_summary",
    "reasoning_summary_wait",
)


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """A model on another server."""

    name: str
    """Its name here."""
    url: str
    """The API's address, such as "https://host/v1"."""
    model: str
    """Its name there."""
    key: str | None = field(default=None, repr=False)
    """The key its server requires."""

    def card(self, created: int) -> _Json:
        """Its description."""
        return {
            "id": self.name,
            "object": "model",
            "created": created,
            "owned_by": urlsplit(self.url).hostname,
            "context_length": None,
            "capabilities": ["chat", "completion", "upstream"],
            "loaded": True,
        }


def read_upstream(given: str) -> Upstream:
    """Parse NAME=URL, with #MODEL if it has another name there, and ,key=VARIABLE for a key in the environment."""
    name, _, rest = given.partition("=")
    address, _, variable = rest.partition(",key=")
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
        allowed = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.username
        allowed = allowed and parts.port != 0
    except ValueError:
        allowed = False
    if not name or not allowed:
        raise ConfigError(f"upstream is {given!r}; allowed: NAME=URL#MODEL,key=VARIABLE, such as gpt=https://host/v1")
    if variable and variable not in os.environ:
        raise ConfigError(f"the key of {name} must be in the variable {variable}, which is not set")
    return Upstream(name=name, url=url.rstrip("/"), model=model or name, key=os.environ[variable] if variable else None)


class Relay:
    """Sends requests to other servers."""

    async def answer(self, upstream: Upstream, path: str, body: Sampled, request: Request) -> Response:
        """Forward a request and return the answer.

        Args:
            path: of its API, such as "chat/completions".

        Raises:
            RequestError: if a diffusion option is given.
            ApiError: 502 or 504 if its server fails, or that server's refusal of the request.
        """
        payload = _payload(upstream, body)
        if body.stream:
            parts = self._stream(upstream, path, payload)
            # Once this arrives, it has agreed to answer; before that, its refusal is ours.
            await run_while_connected(request, anext(parts))
            return Events(parts, end="")
        return JSONResponse(await run_while_connected(request, self.post(upstream, path, payload)))

    async def post(self, upstream: Upstream, path: str, payload: _Json) -> _Json:
        """The JSON that comes back, or the failure as for `answer`."""
        with _failures(upstream):
            response = await self._http.post(**_request(upstream, path, payload))
        _check(upstream, response)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            message = f"the server of model {upstream.name!r} did not answer with a JSON object"
            raise ApiError(502, message, code="upstream_failed", upstream_status=response.status_code)
        return answer

    async def _stream(self, upstream: Upstream, path: str, payload: _Json) -> AsyncGenerator[str, None]:
        """Nothing, once the server has agreed to answer; then its events, each whole."""
        with _failures(upstream):
            async with self._http.stream("POST", **_request(upstream, path, payload)) as response:
                if response.status_code != 200:
                    await response.aread()
                _check(upstream, response)
                kind = response.headers.get("content-type", "")
                if kind and not kind.startswith("text/event-stream"):
                    message = f"the server of model {upstream.name!r} answers with {kind!r}, and not with a stream"
                    raise ApiError(502, message, code="upstream_failed")
                yield ""
                # Not by httpx's lines: JSON may hold other characters that `str.splitlines` splits at.
                rest = ""
                async for text in response.aiter_text():
                    *events, rest = (rest + text).replace("\r\n", "\n").split("\n\n")
                    for event in events:
                        yield f"{event}\n\n"
                if rest.strip():
                    yield f"{rest}\n\n"

    @functools.cached_property
    def _http(self) -> httpx.AsyncClient:
        # Created in the event loop that uses it, and only if needed, because it reads certificates.
        return httpx.AsyncClient(timeout=_TIMEOUT)

    async def close(self) -> None:
        """Close all connections."""
        if "_http" in vars(self):
            await self._http.aclose()


def _request(upstream: Upstream, path: str, payload: _Json) -> _Json:
    headers = {"Authorization": f"Bearer {upstream.key}"} if upstream.key else {}
    return {"url": f"{upstream.url}/{path}", "json": payload, "headers": headers}


def _payload(upstream: Upstream, body: Sampled) -> _Json:
    """The client's body with the model's name on the other server."""
    foreign = f"model {upstream.name!r} is on another server and not a diffusion model; leave it out"
    for name in _OURS:
        if getattr(body, name, None):
            raise RequestError(f"{name} is for canvases; {foreign}")
    if isinstance(body, ChatRequest) and body.response_format is not None:
        kind = body.response_format.type
        if kind in ("regex", "grammar", "choices"):
            raise RequestError(f"response_format has type {kind!r}; {foreign}")
    payload = body.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude=set(_OURS))
    return payload | {"model": upstream.model}


@contextmanager
def _failures(upstream: Upstream) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException:
        message = f"the server of model {upstream.name!r} did not answer in time"
        raise ApiError(504, message, code="upstream_timeout") from None
    except httpx.HTTPError as error:
        message = f"the server of model {upstream.name!r} cannot be reached: {type(error).__name__}"
        raise ApiError(502, message, code="upstream_unreachable") from None


def _check(upstream: Upstream, response: httpx.Response) -> None:
    """Raise the other server's refusal, if it refused."""
    status = response.status_code
    if status == 200:
        return
    refusal = _error_of(response)
    message = f"the server of model {upstream.name!r} says: {refusal.get('message') or f'status {status}'}"
    if status == 429:
        wait = response.headers.get("retry-after")
        headers = {"Retry-After": wait} if wait else {}
        raise ApiError(429, message, code="upstream_busy", headers=headers)
    if status in (400, 413, 422):
        param = refusal.get("param")
        raise ApiError(status, message, code="upstream_refused", param=param if isinstance(param, str) else None)
    if status in (408, 504):
        raise ApiError(504, message, code="upstream_timeout")
    # For example a rejected key, which is this server's fault and not the client's.
    raise ApiError(502, message, code="upstream_failed", upstream_status=status)


def _error_of(response: httpx.Response) -> _Json:
    try:
        error = response.json()["error"]
    except (ValueError, LookupError, TypeError):
        return {}
    return error if isinstance(error, dict) else {"message": error}
