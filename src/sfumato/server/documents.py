"""Answers as the OpenAPI document describes them. What has no field here may be there as well."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_Json = dict[str, Any]
EVENT_STREAM: dict[str, _Json] = {"text/event-stream": {}}


class _Described(BaseModel):
    model_config = ConfigDict(extra="allow")


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


def answered(model: Any, *, streamed: bool = False, **more: Any) -> _Json:
    """Arguments of a route that say what it answers, without checking each answer.

    Args:
        model: of the body.
        streamed: it may come as server-sent events.
        **more: further statuses, as status_NUMBER, with the model of each.
    """
    events: _Json = {"content": EVENT_STREAM} if streamed else {}
    others = {int(name.removeprefix("status_")): {"model": other} for name, other in more.items()}
    return {"response_model": None, "responses": {200: {"model": model} | events} | others}
