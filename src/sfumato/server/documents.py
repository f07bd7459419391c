"""Answers as the OpenAPI document describes them. What has no field here may be there as well."""

from __future__ import annotations

from typing import Any, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

_Json = dict[str, Any]
EVENT_STREAM: dict[str, _Json] = {"text/event-stream": {}}


class EventStream(JSONResponse):
    """Of a route whose events are JSON: the document then gives their model. The route makes its response itself."""

    media_type = "text/event-stream"


class _Described(BaseModel):
    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


class ErrorDetails(_Described):
    """What was wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(_Described):
    """OpenAI's error object."""

    error: ErrorDetails


class Health(_Described):
    """That the process answers."""

    status: Literal["ok"]


class Ready(_Described):
    """Whether requests are taken."""

    ready: bool


class ModelCard(_Described):
    """A model, and what it can do."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    context_length: int
    capabilities: list[str]


class ModelCards(_Described):
    """All of them."""

    object: Literal["list"]
    data: list[ModelCard]


class TokenCounts(_Described):
    """What an answer cost."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatMessage(_Described):
    """What the model said."""

    role: Literal["assistant"]
    content: str | None


class ChatChoice(_Described):
    """One answer to a chat."""

    index: int
    message: ChatMessage
    finish_reason: str


class TextChoice(_Described):
    """One answer to a text."""

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
    status: Literal["completed", "incomplete", "cancelled"]
    output: list[_Json]


class CanvasBody(_Described):
    """A canvas as it stands."""

    id: str
    object: Literal["canvas"]
    model: str
    rev: int = Field(ge=0)
    status: Literal["running", "done", "cancelled", "error", "interrupted"]
    text: str
    created: int
    seq: int


class CanvasBodies(_Described):
    """n canvases."""

    object: Literal["list"]
    data: list[CanvasBody]


class CanvasChange(_Described):
    """A part of the text that is replaced."""

    chars: list[int]
    """First character in the text as it was before this change, and the one after the last."""
    text: str
    tokens: list[int] | None = None
    """First position of the canvas, and the one after the last; where drafts have positions."""
    pieces: list[str] | None = None
    """What stands at each of them now."""


class CanvasEvent(_Described):
    """What happened to a canvas; which fields there are depends on its type."""

    type: Literal["canvas.started", "canvas.snapshot", "canvas.patch", "canvas.commit", "canvas.done", "canvas.error"]
    seq: int
    """One more than that of the event before; that of a snapshot is the number of the last event that it has."""
    canvas_id: str
    rev: int
    elapsed_ms: float | None = None
    """Since work on it began; while that goes on."""
    status: str | None = None
    text: str | None = None
    """Of a snapshot, and at the end, the whole text; of a commit, what it adds in place of its `chars`."""
    committed: int | None = None
    """Of a snapshot: characters that stay."""
    block: int | None = None
    """Which canvas of the answer, from 0."""
    step: int | None = None
    steps: int | None = None
    """Most steps that it may take."""
    changes: list[CanvasChange] | None = None
    """Of a patch, the last place first."""
    pieces: list[str] | None = None
    """Of a snapshot: the text at each position of the draft."""
    state: list[Literal["noise", "accepted", "revised"]] | None = None
    """Of each position of the draft; empty where there are none, as in an edit. Likewise:"""
    confidence: list[float] | None = None
    """the probability of what was drawn,"""
    entropy: list[float] | None = None
    """and how unsure that was, in nats."""
    chars: list[int] | None = None
    usage: _Json | None = None
    """Of a patch or snapshot, `forward_passes` and `positions_computed` so far, where they are known; at the end, all
    that it cost."""
    logprobs: list[_Json] | None = None
    """With `top_logprobs`: of each token of a commit, or of the answer, `token`, `logprob`, `bytes`, `top_logprobs`."""
    error: ErrorDetails | None = None


class Revision(_Described):
    """A text that was final once."""

    rev: int = Field(ge=1)
    text: str
    made_by: Literal["model", "hand", "undo"]
    details: _Json
    created: float


class Revisions(_Described):
    """All that a canvas ever was, the first one first."""

    object: Literal["list"]
    data: list[Revision]


class Deleted(_Described):
    """A canvas that is gone."""

    id: str
    object: Literal["canvas.deleted"]
    deleted: Literal[True]


class SandboxPage(_Described):
    """A page that is kept."""

    url: str
    """Its path."""


def answered(model: Any, *, status: int = 200, streamed: bool = False, **more: Any) -> _Json:
    """Arguments of a route that say what it answers, without checking each answer.

    Args:
        model: of the body.
        status: that it comes with.
        streamed: it may come as server-sent events.
        **more: further statuses, as status_NUMBER, with the model of each.
    """
    events: _Json = {"content": EVENT_STREAM} if streamed else {}
    others = {int(name.removeprefix("status_")): {"model": other} for name, other in more.items()}
    return {"response_model": None, "responses": {status: {"model": model} | events} | others}
