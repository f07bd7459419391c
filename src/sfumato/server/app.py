"""The HTTP application and its routes."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

import sfumato
from sfumato.engine.model import TextModel
from sfumato.errors import BusyError, SfumatoError
from sfumato.server import completions, documents
from sfumato.server.access import Access, owner_of
from sfumato.server.bodies import JsonRoute
from sfumato.server.boundary import Boundary, Limits, check_query, refuse
from sfumato.server.canvas_routes import canvas_routes
from sfumato.server.canvases import Canvases
from sfumato.server.decisions import AnyDecisionRequest, DecisionRequest, SystemOneRequest, decided, decision_request
from sfumato.server.documents import answered
from sfumato.server.echo import echo_answer
from sfumato.server.edits import FileRequest, apply_answer, apply_stream, edit_answer
from sfumato.server.history import History
from sfumato.server.hosting import Bill, Host, HostedModel
from sfumato.server.images import Assets, ImageRequest, make_images, read_images
from sfumato.server.metrics import Metrics, record_spans
from sfumato.server.protocol import ChatRequest, CompletionRequest, FimRequest
from sfumato.server.responses import ResponseRequest, response_answer, response_stream
from sfumato.server.sandbox import sandbox_routes
from sfumato.server.speech import Speech, speech_routes
from sfumato.server.streaming import DONE, Events, run_while_connected
from sfumato.server.studio import Studio
from sfumato.server.upstream import Relay

_Json = dict[str, Any]
_THREADS = 64


async def bill_of(request: Request) -> Bill:
    """Charges results to the request's key."""
    return functools.partial(request.app.state.bill, await owner_of(request))


Billed = Annotated[Bill, Depends(bill_of)]


def create_app(
    host: Host,
    history: History,
    access: Access | None = None,
    limits: Limits | None = None,
    *,
    preload: bool = True,
    studio: Studio | None = None,
    images: str = "svg",
    speech: Speech | None = None,
) -> FastAPI:
    """Create the application.

    Args:
        access: keys; None lets everybody ask.
        preload: load the first model at startup; otherwise the caller does, and sets `app.state.ready`.
        studio: served at `/`; None serves nothing there.
        images: source of pictures, see `read_images`.
        speech: speech recognition; None disables it.

    Raises:
        ConfigError: if images is not allowed.
    """
    access, limits = access or Access(), limits or Limits()
    metrics = Metrics(host)

    def bill(owner: str, results: list[Any]) -> None:
        access.charge(owner, sum(result.usage.positions_computed for result in results))
        metrics.count(results)
        record_spans(results)

    canvases, relay = Canvases(host, history, bill), Relay()
    painter = read_images(images, relay)
    assets = Assets(canvases, history, painter)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # By default a few per core, which requests whose schemas are compiled would take from all others.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        if preload:
            await host.use(host.default)
            app.state.ready = True
        expiring = None if limits.keep_s is None else asyncio.create_task(canvases.expire(limits.keep_s))
        yield
        app.state.ready = False
        if expiring is not None:
            expiring.cancel()
        await cut_off()
        await relay.close()
        await asyncio.to_thread(history.close)

    app = FastAPI(
        title="Sfumato",
        version=sfumato.__version__,
        summary="Text diffusion over HTTP: OpenAI's and Mercury's completions, and canvases that can be revised.",
        lifespan=lifespan,
        dependencies=[Depends(check_query)],
        docs_url=None,
        redoc_url=None,
        responses={status: {"model": documents.ErrorBody} for status in ("4XX", "5XX")},
    )
    app.router.route_class = JsonRoute
    app.state.ready, app.state.ending, app.state.num_open, app.state.bill = False, False, 0, bill

    async def cut_off() -> None:
        """End what is being answered, with what there is."""
        await assets.close()
        await canvases.close()
        await host.close()

    app.state.cut_off = cut_off
    # Some work has no request that waits for it.
    app.state.is_busy = lambda: app.state.num_open > 0 or canvases.is_busy

    def is_open(path: str) -> bool:
        open_to_all = path in ("/health", "/ready") or path.startswith("/sandbox/")
        return open_to_all or (studio is not None and studio.serves(path))

    app.add_middleware(Boundary, access=access, limits=limits, metrics=metrics, is_open=is_open)
    if limits.cors_origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(limits.cors_origins),
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    app.openapi = functools.partial(_describe, app, app.openapi)  # type: ignore[method-assign]
    for kind in (SfumatoError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, refuse)

    # Endpoints about the server.

    @app.get("/health", tags=["server"], **answered(documents.Health))
    async def health() -> _Json:
        """Whether the process is alive."""
        return {"status": "ok"}

    @app.get("/ready", tags=["server"], **answered(documents.Ready, others={503: documents.Ready}))
    async def ready() -> Response:
        """Whether requests are accepted: 503 while the first model loads and during shutdown."""
        return JSONResponse({"ready": app.state.ready}, 200 if app.state.ready else 503)

    @app.get("/version", tags=["server"], **answered(documents.Version))
    async def version() -> _Json:
        """The server's version."""
        return {"version": sfumato.__version__}

    @app.get(
        "/metrics",
        tags=["server"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def prometheus() -> Response:
        """Metrics for Prometheus."""
        return Response(metrics.render(), media_type=metrics.media_type)

    @app.get("/v1/models", tags=["models"], **answered(documents.ModelCards))
    async def models() -> _Json:
        """List the models and their capabilities."""
        return {"object": "list", "data": [_card(host, name) for name in (*host.names, *host.upstreams)]}

    @app.get("/v1/models/{model:path}", tags=["models"], **answered(documents.ModelCard))
    async def model_card(model: str) -> _Json:
        """A model's capabilities."""
        return _card(host, model)

    # Completions.

    def named(body: Any) -> str:
        """Set a request's model to the default if it names none, and return it."""
        body.model = body.model or host.default
        return str(body.model)

    @app.post("/v1/chat/completions", tags=["completions"], **answered(documents.ChatCompletion, streamed=True))
    async def chat_completions(body: ChatRequest, request: Request, bill: Billed) -> Response:
        """Create a chat completion."""
        model = named(body)
        if model in host.upstreams:
            return await relay.answer(host.upstreams[model], "chat/completions", body, request)
        with await host.use(model) as hosted:
            asked = await asyncio.to_thread(completions.chat_request, hosted.model, body)
            if not body.stream:
                [results] = await run_while_connected(request, completions.answers(hosted, [asked], bill))
                return JSONResponse(completions.chat_answer(hosted.model, body, results))
        return await _streamed(host, model, asked.n, lambda it: completions.chat_stream(it, body, asked, bill))

    @app.post("/v1/responses", tags=["completions"], **answered(documents.ModelResponse, streamed=True))
    async def responses(body: ResponseRequest, request: Request, bill: Billed) -> Response:
        """Create a response (OpenAI's newer format for chats)."""
        chat, model = body.to_chat(), named(body)
        with await host.use(model) as hosted:
            asked = await asyncio.to_thread(completions.chat_request, hosted.model, chat)
            if not body.stream:
                [[result]] = await run_while_connected(request, completions.answers(hosted, [asked], bill))
                return JSONResponse(response_answer(hosted.model, body, chat, result))
        return await _streamed(host, model, asked.n, lambda it: response_stream(it, body, chat, asked, bill), end="")

    @app.post("/v1/completions", tags=["completions"], **answered(documents.TextCompletion, streamed=True))
    async def text_completions(body: CompletionRequest, request: Request, bill: Billed) -> Response:
        """Create a text completion; with a suffix, fill the gap before it."""
        model = named(body)
        if model in host.upstreams:
            return await relay.answer(host.upstreams[model], "completions", body, request)
        if body.suffix is not None:
            return await fill_gap(body, request, bill)
        with await host.use(model) as hosted:
            asked = await asyncio.to_thread(completions.text_requests, hosted.model, body)
            if not body.stream:
                if body.echo:
                    return JSONResponse(await run_while_connected(request, echo_answer(hosted, body, asked, bill)))
                results = await run_while_connected(request, completions.answers(hosted, asked, bill))
                return JSONResponse(completions.text_answer(hosted.model, body, results))
        return await _streamed(host, model, asked[0].n, lambda it: completions.text_stream(it, body, asked, bill))

    @app.post("/v1/fim/completions", tags=["completions"], **answered(documents.TextCompletion, streamed=True))
    async def fim_completions(body: FimRequest, request: Request, bill: Billed) -> Response:
        """Fill the gap between a prompt and a suffix (Mercury)."""
        return await fill_gap(body, request, bill)

    async def fill_gap(body: CompletionRequest | FimRequest, request: Request, bill: Bill) -> Response:
        with await host.use(named(body)) as hosted:
            results = await run_while_connected(request, completions.fill_gap(hosted, body, bill))
        if body.stream:
            return Events(completions.stream_gap(body, results))
        return JSONResponse(completions.text_answer(host.outlines[named(body)], body, [results]))

    @app.post("/v1/edit/completions", tags=["completions"], **answered(documents.ChatCompletion))
    async def edit_completions(body: FileRequest, request: Request, bill: Billed) -> _Json:
        """Predict the next edit of a file (Mercury)."""
        with await host.use(named(body)) as hosted:
            return await run_while_connected(request, edit_answer(hosted, body, bill))

    @app.post("/v1/apply/completions", tags=["completions"], **answered(documents.ChatCompletion, streamed=True))
    async def apply_completions(body: FileRequest, request: Request, bill: Billed) -> Response:
        """Merge a snippet into a file (Mercury)."""
        with await host.use(named(body)) as hosted:
            answer = await run_while_connected(request, apply_answer(hosted, body, bill))
        if body.stream:
            return Events(apply_stream(body, answer))
        return JSONResponse(answer)

    # Decisions.

    async def decide(body: DecisionRequest | SystemOneRequest, request: Request, bill: Bill) -> _Json:
        slots = body.to_slots()
        with await host.use(named(body)) as hosted:
            asked = await asyncio.to_thread(decision_request, hosted.model, body.to_turns(), slots, body.seed)
            [[result]] = await run_while_connected(request, completions.answers(hosted, [asked], bill))
        if result.finish_reason == "cancelled":
            raise BusyError("the server is shutting down", None)
        return body.to_answer(decided(hosted.model, slots, result), completions.usage_of([result]))

    @app.post("/v1/decisions", tags=["decisions"])
    async def decisions(body: AnyDecisionRequest, request: Request, bill: Billed) -> _Json:
        """Answer questions about a text with probabilities, in OpenAI's format or in TypeSafe's, which Mercury uses
        here."""
        return await decide(body, request, bill)

    @app.post("/v1/systemone", tags=["decisions"])
    async def system_one(body: SystemOneRequest, request: Request, bill: Billed) -> _Json:
        """Answer questions about a text with probabilities (TypeSafe)."""
        return await decide(body, request, bill)

    # Beside text.

    @app.post("/v1/images/generations", tags=["images"], **answered(documents.ImageAnswer))
    async def image_generations(body: ImageRequest, request: Request) -> _Json:
        """Generate pictures. Without an image model, these are placeholder patterns."""
        return await run_while_connected(request, make_images(painter, body))

    app.include_router(canvas_routes(canvases, assets))
    app.include_router(speech_routes(speech))
    app.include_router(sandbox_routes())
    if studio is not None:
        studio.add_to(app)
    return app


def _describe(app: FastAPI, make: Callable[[], _Json]) -> _Json:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = documents.complete(make())
    return app.openapi_schema


def describe() -> _Json:
    """The OpenAPI document."""
    return create_app(Host({}), History(":memory:")).openapi()


async def _streamed(
    host: Host, name: str, n: int, make: Callable[[HostedModel], AsyncGenerator[str, None]], *, end: str = DONE
) -> Events:
    """A stream of n answers, refused while the status can still say so."""
    with await host.use(name) as hosted:
        hosted.answering.engine.check_room(n)

    async def parts() -> AsyncGenerator[str, None]:
        with await host.use(name) as hosted:
            async with aclosing(make(hosted)) as stream:
                async for part in stream:
                    yield part

    return Events(parts(), end=end)


def _card(host: Host, name: str) -> _Json:
    if name in host.upstreams:
        return host.upstreams[name].card(host.created)
    model = host.check(name)
    spec = model.spec
    card = {"id": name, "object": "model", "created": host.created, "owned_by": "sfumato"}
    return card | {
        "context_length": model.decoder.config.max_position_embeddings,
        "capabilities": _capabilities(model),
        "loaded": name in host.loaded,
        "sfumato": {
            "noise": None if spec.autoregressive else spec.noise,
            "canvas_length": spec.canvas_length,
            "steps": model.sampler_defaults.steps,
            "draft_steps": model.sampler_defaults.draft_steps if spec.next_token else None,
            "temperature": [model.sampler_defaults.temperature_start, model.sampler_defaults.temperature_end],
            "sampler": model.sampler_defaults.sampler.name,
            "samplers": model.samplers,
            "limits": model.limits,
            "max_tokens": model.max_tokens,
            "tasks": model.tasks,
            "kinds": [kind.to_dict() for kind in model.kinds],
            "parameters": sorted(ChatRequest.model_fields.keys() - {"messages"}),
        },
    }


def _capabilities(model: TextModel) -> list[str]:
    found = ["completion", "structured_output"]
    found += ["chat", "tools"] if model.tokenizer.has_chat_template else []
    return found if model.spec.autoregressive else [*found, "infill", "edit", "canvas", "draft"]
