"""The server on Ray Serve, for more than one machine: replicas and an ingress.

    serve run sfumato.server.ray_app:build models=tiny replicas=2

Requests with the same `x-session-id` go to the same replica, which has their prefix in its cache and their canvas in
memory; others go anywhere. If a replica is lost before it has begun to answer, the ingress asks another one. Revisions
are in a database that all replicas share, so another replica can continue. Each replica counts key budgets separately.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Literal

from fastapi import Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from ray.exceptions import RayActorError, RayError
from ray.serve.config import AutoscalingConfig, RequestRouterConfig
from ray.serve.handle import DeploymentHandle
from starlette.requests import ClientDisconnect

from sfumato.engine.engine import EngineConfig
from sfumato.server.access import Access
from sfumato.server.app import create_app
from sfumato.server.boundary import Limits
from sfumato.server.failures import ApiError
from sfumato.server.history import History
from sfumato.server.hosting import Host, parse_names
from sfumato.server.streaming import end_tasks, run_while_connected, sse

_TRIES = 3
"""Maximum replicas tried in turn when replicas are lost."""
_MAX_OPEN = 10_000
_OF_SCOPE = ("type", "http_version", "method", "scheme", "path", "raw_path", "query_string", "headers", "client")
_Message = MutableMapping[str, Any]


class Options(BaseModel):
    """Arguments of `serve run sfumato.server.ray_app:build` as NAME=VALUE, and of a Serve config."""

    model_config = ConfigDict(extra="forbid")
    models: str = "tiny"
    """Names, paths or NAME=MODEL, separated by commas."""
    database: str = "canvases.db"
    """A URL that all replicas can reach; on one machine, a file works too."""
    api_key_file: Path | None = None
    replicas: int | Literal["auto"] = "auto"
    """Number of replicas, or "auto" to follow the running requests."""
    min_replicas: int = Field(default=1, ge=1)
    max_replicas: int = Field(default=8, ge=1)
    cpus: float = Field(default=1, gt=0)
    """CPUs per replica, and its compute threads."""
    gpus: float = Field(default=0, ge=0)
    max_rows: int = Field(default=64, ge=1)
    """Running answers per model and replica."""


def build(args: Mapping[str, str]) -> serve.Application:
    """The Ray Serve application; arguments are those of `Options`."""
    options = Options.model_validate(args)
    scaled = {
        "autoscaling_config": AutoscalingConfig(
            min_replicas=options.min_replicas,
            max_replicas=options.max_replicas,
            target_ongoing_requests=options.max_rows / 2,
        )
    }
    replicas = serve.deployment(
        name="sfumato",
        max_ongoing_requests=2 * options.max_rows,
        ray_actor_options={"num_cpus": options.cpus, "num_gpus": options.gpus},
        request_router_config=RequestRouterConfig(
            request_router_class="ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"
        ),
        **(scaled if options.replicas == "auto" else {"num_replicas": options.replicas}),
    )(Replica)
    ingress = serve.deployment(name="ingress", max_ongoing_requests=_MAX_OPEN, ray_actor_options={"num_cpus": 0})(
        Ingress
    )
    return ingress.bind(replicas.bind(options))


class Replica:
    """The application, called by the ingress."""

    async def __init__(self, options: Options) -> None:  # type: ignore[misc]
        host = Host(parse_names(options.models.split(",")), config=EngineConfig(max_rows=options.max_rows))
        access = Access(path=options.api_key_file)
        self._app = create_app(host, History(options.database), access)
        self._life = contextlib.AsyncExitStack()
        await self._life.enter_async_context(self._app.router.lifespan_context(self._app))

    async def answer(self, scope: _Message, body: bytes) -> AsyncIterator[_Message]:
        """ASGI messages of a response."""
        messages: asyncio.Queue[_Message | None] = asyncio.Queue()
        unread: list[_Message] = [{"type": "http.request", "body": body}]

        async def receive() -> _Message:
            if not unread:
                # The end of the connection arrives as this call's cancellation.
                await asyncio.Event().wait()
            return unread.pop()

        working = asyncio.ensure_future(self._app(scope, receive, messages.put))
        working.add_done_callback(lambda _: messages.put_nowait(None))
        try:
            while (message := await messages.get()) is not None:
                yield message
            working.result()
        finally:
            await end_tasks([working])


class Ingress:
    """Forwards requests to a replica, and to another one if it is lost before sending anything."""

    def __init__(self, replicas: DeploymentHandle) -> None:
        self._replicas = replicas

    async def __call__(self, request: Request) -> Response:
        """The response of a replica."""
        scope, body = {name: request.scope.get(name) for name in _OF_SCOPE}, b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > Limits.max_body_bytes:
                    # The replica refuses it by its size.
                    break
            return await self._ask(request, scope, body)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:
            failure = ApiError.of(error)
            return JSONResponse(failure.to_dict(), failure.status, headers=failure.headers)

    async def _ask(self, request: Request, scope: _Message, body: bytes) -> Response:
        session = request.headers.get("x-session-id", "")
        for _ in range(_TRIES):
            messages = self._replicas.options(stream=True, session_id=session).answer.remote(scope, body)
            try:
                start = await run_while_connected(request, anext(messages))
                first = await run_while_connected(request, anext(messages))
            except RayActorError:
                continue
            except BaseException:
                messages.cancel()
                raise
            response = StreamingResponse(_parts(start, first, messages), start["status"])
            response.raw_headers = start["headers"]
            return response
        raise _lost()


async def _parts(start: _Message, first: _Message, messages: Any) -> AsyncIterator[bytes]:
    """The body of a response; a stream reports the loss of its replica."""
    try:
        yield first["body"]
        async for message in messages:
            yield message["body"]
    except RayError:
        if not dict(start["headers"]).get(b"content-type", b"").startswith(b"text/event-stream"):
            raise
        yield sse(_lost().to_dict()).encode()
    finally:
        messages.cancel()


def _lost() -> ApiError:
    message = "the replica working on this answer was lost; try again"
    return ApiError(503, message, code="replica_lost", headers={"Retry-After": "1"})
