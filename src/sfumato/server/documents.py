"""Responses as the OpenAPI document describes them. Responses may have more fields than listed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

_Json = dict[str, Any]


class EventStream(JSONResponse):
    """Marks a route with JSON events, so that the document shows their model; the route makes its response itself."""

    media_type = "text/event-stream"


class _Described(BaseModel):
    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


class ErrorDetails(_Described):
    """Description of an error."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(_Described):
    """OpenAI's error object."""

    error: ErrorDetails


class Health(_Described):
    """The process is alive."""

    status: Literal["ok"]


class Ready(_Described):
    """Whether requests are accepted."""

    ready: bool


class Version(_Described):
    """The server's version."""

    version: str


class ModelCard(_Described):
    """A model and its capabilities."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    context_length: int | None
    """None if its own server does not report it."""
    capabilities: list[str]


class ModelCards(_Described):
    """The list of models."""

    object: Literal["list"]
    data: list[ModelCard]


class TokenCounts(_Described):
    """Cost of an answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatMessage(_Described):
    """The model's message."""

    role: Literal["assistant"]
    content: str | None


class ChatChoice(_Described):
    """One choice of a chat completion."""

    index: int
    message: ChatMessage
    finish_reason: str


class TextChoice(_Described):
    """One choice of a text completion."""

    index: int
    text: str
    finish_reason: str


class _Completion(_Described):
    id: str
    created: int
    model: str
    usage: TokenCounts


class ChatCompletion(_Completion):
    """A chat completion; with `stream`, chunks of it."""

    choices: list[ChatChoice]


class TextCompletion(_Completion):
    """A text completion; with `stream`, chunks of it."""

    object: Literal["text_completion"]
    choices: list[TextChoice]


class ModelResponse(_Described):
    """OpenAI's response; with `stream`, its events."""

    id: str
    object: Literal["response"]
    status: Literal["completed", "incomplete", "failed"]
    output: list[_Json]


class Asset(_Described):
    """A picture of a canvas."""

    slot: str
    prompt: str
    size: str
    status: Literal["pending", "ready", "error"]
    url: str | None = None
    """Set when it is ready; locally generated pictures are embedded (`data:`)."""


class CanvasBody(_Described):
    """A canvas's current state."""

    id: str
    object: Literal["canvas"]
    model: str
    rev: int = Field(ge=0)
    status: Literal["running", "done", "cancelled", "error", "interrupted"]
    text: str
    created: int
    seq: int
    assets: list[Asset] | None = None


class CanvasBodies(_Described):
    """n canvases."""

    object: Literal["list"]
    data: list[CanvasBody]


class CanvasPage(CanvasBodies):
    """Canvases, newest first."""

    has_more: bool


class CanvasChange(_Described):
    """A replaced part of the text."""

    chars: list[int]
    """[start, end) characters in the text before this change."""
    text: str
    tokens: list[int] | None = None
    """[start, end) canvas positions, if drafts have positions."""
    pieces: list[str] | None = None
    """New text at each of them."""


class CanvasEvent(_Described):
    """A canvas event; its fields depend on its type."""

    type: Literal[
        "canvas.started",
        "canvas.snapshot",
        "canvas.patch",
        "canvas.commit",
        "canvas.done",
        "canvas.error",
        "asset.ready",
        "asset.error",
    ]
    seq: int
    """Increases by one per event; a snapshot has the number of the last event it includes."""
    canvas_id: str
    rev: int
    elapsed_ms: float | None = None
    """Milliseconds since work started, while it goes on."""
    status: str | None = None
    text: str | None = None
    """In a snapshot and at the end, the whole text; in a commit, the text that replaces its `chars`."""
    committed: int | None = None
    """In a snapshot: number of final characters."""
    block: int | None = None
    """Index of the canvas within the answer."""
    step: int | None = None
    steps: int | None = None
    """Maximum steps of the canvas."""
    changes: list[CanvasChange] | None = None
    """In a patch: the changes, from the end of the text to its start."""
    pieces: list[str] | None = None
    """In a snapshot: the text at each draft position."""
    state: list[Literal["noise", "accepted", "revised"]] | None = None
    """State of each draft position; empty if there are none, as in an edit."""
    confidence: list[float] | None = None
    """Probability of the token drawn at each draft position."""
    entropy: list[float] | None = None
    """Entropy at each draft position, in nats."""
    chars: list[int] | None = None
    usage: _Json | None = None
    """In a patch or snapshot, `forward_passes` and `positions_computed` so far, if known; at the end, the whole
    cost."""
    logprobs: list[_Json] | None = None
    """With `top_logprobs`: for each token of a commit or answer, `token`, `logprob`, `bytes`, `top_logprobs`."""
    assets: list[Asset] | None = None
    """In a snapshot."""
    slot: str | None = None
    """For a picture that is ready or failed."""
    url: str | None = None
    """Location of a picture; locally generated ones are embedded (`data:`)."""
    error: ErrorDetails | None = None


class Revision(_Described):
    """A stored revision of the text."""

    rev: int = Field(ge=1)
    text: str
    made_by: Literal["model", "hand", "undo"]
    details: _Json
    created: float


class Revisions(_Described):
    """Revisions of a canvas, oldest first."""

    object: Literal["list"]
    data: list[Revision]
    has_more: bool


class Deleted(_Described):
    """A deleted canvas."""

    id: str
    object: Literal["canvas.deleted"]
    deleted: Literal[True]


class ImageData(_Described):
    """One picture, as `b64_json` or `url`."""

    b64_json: str | None = None
    url: str | None = None


class ImageAnswer(_Described):
    """Pictures. `sfumato` describes the source if it was this server."""

    created: int
    data: list[ImageData]
    output_format: str | None = None
    """For example "svg" or "png"."""


class Transcription(_Described):
    """The transcription; in "verbose_json" with its segments."""

    text: str
    usage: _Json


class SandboxPage(_Described):
    """A stored page."""

    url: str
    """Its path."""


def complete(document: _Json) -> _Json:
    """Add to an OpenAPI document what routes do not say: keys, the events of new canvases, and JSON for refusals."""
    bearer = {"type": "http", "scheme": "bearer", "description": "Needed if the server has keys (--api-key-file)."}
    document["components"]["securitySchemes"] = {"bearer": bearer}
    document["security"] = [{}, {"bearer": []}]
    paths = document["paths"]
    events = paths["/v1/canvas/{canvas_id}/events"]["get"]["responses"]
    for status in ("4XX", "5XX"):
        events[status]["content"] = {"application/json": events[status]["content"].pop(EventStream.media_type)}
    paths["/v1/canvas"]["post"]["responses"]["200"]["content"] |= events["200"]["content"]
    return document


def answered(model: Any, *, status: int = 200, streamed: bool = False, others: Mapping[int, Any] = {}) -> _Json:
    """Route arguments that document its responses without validating each of them.

    Args:
        streamed: whether it may be server-sent events.
        others: models of further statuses.
    """
    events: _Json = {"content": {"text/event-stream": {}}} if streamed else {}
    described = {status: {"model": model} | events} | {other: {"model": others[other]} for other in others}
    return {"response_model": None, "responses": described}
