"""HTTP connections to a server, blocking and async, and the retry logic they share.

Operations are coroutines. Over `BlockingWire` they never suspend, so `run_now` runs them to the end: each operation is
written once and serves both clients.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from sfumato.client.drafts import ServerSentEvents
from sfumato.client.protocol import Ask, Json, ours, refusal
from sfumato.errors import ConfigError, ServerError, UnreachableError

if TYPE_CHECKING:
    import httpx

DEFAULT_URL = "http://127.0.0.1:8000"
"""Default address of `sfumato serve`."""
_FIRST_PAUSE_S = 0.5
P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise ConfigError("the client needs one more package: pip install 'sfumato[client]'") from error
    return httpx


class _Wire:
    """A pool of connections to a server.

    Args:
        timeout_s: maximum seconds without a byte.
    """

    _client: ClassVar[str]

    def __init__(self, url: str, headers: dict[str, str], timeout_s: float) -> None:
        httpx = _httpx()
        self.url, self._timeout_s = url, timeout_s
        self._http: Any = getattr(httpx, self._client)(base_url=url, headers=headers, timeout=timeout_s)

    @contextmanager
    def _as_unreachable(self) -> Iterator[None]:
        httpx = _httpx()
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableError(f"nothing answers at {self.url}; is `sfumato serve` running there?") from error
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self.url} has sent nothing for {self._timeout_s:g} s") from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"the connection to {self.url} broke: {reason}") from error

    def _sent(self, ask: Ask) -> Any:
        return self._http.stream(
            ask.method, ask.path, content=ask.body, headers={"Content-Type": "application/json"} if ask.body else None
        )


class BlockingWire(_Wire):
    """A blocking pool."""

    _client = "Client"

    async def stream(self, ask: Ask) -> AsyncGenerator[bytes, None]:
        """The body of a response as it arrives.

        Raises:
            ServerError: if the server refuses.
            UnreachableError: if there is no response, or it breaks off.
        """
        response: httpx.Response
        with self._as_unreachable(), self._sent(ask) as response:
            if not response.is_success:
                raise refusal(response.status_code, response.headers, response.read())
            for chunk in response.iter_bytes():
                yield chunk

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        self._http.close()


class AsyncWire(_Wire):
    """An async pool."""

    _client = "AsyncClient"

    async def stream(self, ask: Ask) -> AsyncGenerator[bytes, None]:
        response: httpx.Response
        with self._as_unreachable():
            async with self._sent(ask) as response:
                if not response.is_success:
                    raise refusal(response.status_code, response.headers, await response.aread())
                async for chunk in response.aiter_bytes():
                    yield chunk

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        await self._http.aclose()


class Connection:
    """A server and its retry policy; arguments as for `Client`."""

    _wire_type: ClassVar[type[BlockingWire | AsyncWire]]

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        max_retries: int = 4,
        max_wait_s: float = 60.0,
    ) -> None:
        url = (base_url or os.environ.get("SFUMATO_URL") or DEFAULT_URL).rstrip("/").removesuffix("/v1")
        if not is_url(url):
            raise ConfigError(f"base_url is {url!r}; allowed: such as {DEFAULT_URL!r}")
        if not timeout_s > 0:
            raise ConfigError(f"timeout_s is {timeout_s}; allowed: more than 0")
        if not max_wait_s >= 0:
            raise ConfigError(f"max_wait_s is {max_wait_s}; allowed: 0 or more")
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise ConfigError(f"max_retries is {max_retries!r}; allowed: a whole number, 0 or more")
        key = os.environ.get("SFUMATO_API_KEY", "") if api_key is None else api_key
        if not (key.isascii() and key.isprintable()):
            raise ConfigError("api_key has characters that are not allowed; allowed: printable ASCII")
        self.url = url
        self._max_retries, self._max_wait_s = max_retries, max_wait_s
        self._wire = self._wire_type(url, {"Authorization": f"Bearer {key}"} if key else {}, timeout_s)

    async def fetch(self, ask: Ask, read: Callable[[Json], T]) -> T:
        """Send a request and read its response.

        Raises:
            ServerError: if the server refuses.
            UnreachableError: if there is no response.
        """
        async with aclosing(self._chunks(ask)) as chunks:
            body = b"".join([chunk async for chunk in chunks])
        with ours():
            return read(json.loads(body))

    async def follow(self, ask: Ask) -> AsyncGenerator[str, None]:
        """The data of a stream's events.

        Raises:
            ServerError, UnreachableError: as for `fetch`.
        """
        events = ServerSentEvents()
        async with aclosing(self._chunks(ask)) as chunks:
            async for chunk in chunks:
                with ours():
                    found = events.feed(chunk)
                for data in found:
                    yield data

    async def retry(self, error: ServerError | UnreachableError, attempt: int) -> None:
        """Wait before a retry.

        Args:
            attempt: number of retries so far.

        Raises:
            ServerError, UnreachableError: the given error, if retries are used up or the wait would be too long.
        """
        asked_s = error.retry_after_s if isinstance(error, ServerError) else None
        wait_s = min(_FIRST_PAUSE_S * 2**attempt, self._max_wait_s) if asked_s is None else asked_s
        if attempt >= self._max_retries or wait_s > self._max_wait_s:
            raise error
        await self._wire.pause(wait_s)

    async def _chunks(self, ask: Ask) -> AsyncGenerator[bytes, None]:
        attempt = 0
        while True:
            try:
                async with aclosing(self._wire.stream(ask)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except ServerError as error:
                # Refused before any work started.
                if error.status not in (429, 503):
                    raise
                await self.retry(error, attempt)
                attempt += 1


def is_url(text: str) -> bool:
    """Whether a text is an absolute address of HTTP."""
    httpx = _httpx()
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host)


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise AssertionError("a coroutine over a blocking wire has waited")


def blocking(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[S, P], T]:
    """The blocking version of a method."""

    @functools.wraps(method)
    def called(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return run_now(method(self, *args, **options))

    return called


def blocking_iterator(
    method: Callable[Concatenate[S, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[S, P], Iterator[T]]:
    """The blocking version of an async iterator."""

    @functools.wraps(method)
    def called(self: S, /, *args: P.args, **options: P.kwargs) -> Iterator[T]:
        items = method(self, *args, **options)
        try:
            while True:
                try:
                    item = run_now(items.__anext__())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            run_now(items.aclose())

    # For help and the documentation.
    signature = inspect.signature(method)
    returned = signature.return_annotation.replace("AsyncGenerator", "Iterator").replace(", None", "")
    called.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
    return called
