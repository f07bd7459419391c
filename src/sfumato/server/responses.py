"""OpenAI's `/v1/responses`: chats in another format. Nothing is stored."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from sfumato.engine.model import TextModel
from sfumato.engine.request import Request, Result
from sfumato.errors import RequestError
from sfumato.server.bodies import Body
from sfumato.server.completions import call_of, finish_reason, logprobs_of, ours, stream_parts, usage_of
from sfumato.server.decisions import usage_in_and_out
from sfumato.server.failures import ApiError
from sfumato.server.hosting import Bill, HostedModel
from sfumato.server.protocol import ChatRequest, Diffusion, Effort, Message, ResponseFormat, TextPart
from sfumato.server.streaming import sse
from sfumato.server.tools import Function, FunctionCall, NamedFunction, Tool, ToolCall

_Json = dict[str, Any]
_LOGPROBS = "message.output_text.logprobs"


class _Item(Body):
    id: str | None = None
    status: Literal["in_progress", "completed", "incomplete"] | None = None


class MessageItem(_Item):
    """One message, from a client or from an earlier answer."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart]
    phase: Literal["commentary", "final_answer"] | None = None

    def to_message(self) -> Message:
        return Message(role=self.role, content=self.content)


class CallItem(_Item):
    """A function call, sent back by a client."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str

    def to_message(self) -> Message:
        call = FunctionCall(name=self.name, arguments=self.arguments)
        return Message(role="assistant", tool_calls=[ToolCall(id=self.call_id, function=call)])


class OutputItem(_Item):
    """The output of a function."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | list[TextPart]

    def to_message(self) -> Message:
        return Message(role="tool", content=self.output, tool_call_id=self.call_id)


class FunctionTool(Function):
    """A function that the model may call."""

    type: Literal["function"]


class NamedFunctionTool(NamedFunction):
    """The function that must be called."""

    type: Literal["function"]


class TextFormat(Body):
    """Format of the text."""

    type: Literal["text", "json_object", "json_schema", "regex", "grammar", "choices"]
    name: str | None = None
    description: str | None = None
    schema_: Annotated[dict[str, JsonValue] | bool | None, Field(alias="schema")] = None
    strict: bool | None = None
    regex: str | None = None
    grammar: str | None = None
    choices: list[str] | None = None

    def to_format(self) -> ResponseFormat:
        """The same for a chat."""
        given = self.model_dump(include={"type", "regex", "grammar", "choices"}, exclude_none=True)
        if self.type == "json_schema" or self.schema_ is not None:
            given["json_schema"] = {
                "name": self.name or "answer",
                "schema": True if self.schema_ is None else self.schema_,
            }
        return ResponseFormat.model_validate(given)


class TextOptions(Body):
    """Text settings."""

    format: TextFormat | None = None
    verbosity: None = None


class Reasoning(Body):
    """How much work to spend on an answer."""

    effort: Effort | None = None
    summary: None = None
    generate_summary: None = None


class ResponseStreamOptions(Body):
    """Further contents of a stream."""

    include_obfuscation: Literal[False] = False


class ResponseRequest(Body):
    """`POST /v1/responses`."""

    model: str | None = None
    input: Annotated[str | list[CallItem | OutputItem | MessageItem], Field(min_length=1)]
    instructions: str | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    include: list[Literal["message.output_text.logprobs"]] | None = None
    text: TextOptions | None = None
    tools: list[FunctionTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedFunctionTool | None = None
    parallel_tool_calls: bool | None = None
    reasoning: Reasoning | None = None
    store: Literal[False] | None = None
    """Answers are not stored; `POST /v1/canvas` has ones that are."""
    background: Literal[False] | None = None
    truncation: Literal["disabled"] | None = None
    service_tier: Literal["auto", "default"] | None = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    seed: int | None = None
    diffusion: Diffusion | None = None
    draft: bool | None = None

    def to_chat(self) -> ChatRequest:
        """The equivalent chat."""
        items = [MessageItem(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        system = [Message(role="system", content=self.instructions)] if self.instructions is not None else []
        functions = [Function(**tool.model_dump(exclude={"type"})) for tool in self.tools or ()]
        choice: Any = self.tool_choice
        if isinstance(choice, NamedFunctionTool):
            choice = {"type": "function", "function": {"name": choice.name}}
        logprobs = _LOGPROBS in (self.include or ())
        if self.top_logprobs and not logprobs:
            raise RequestError(f"top_logprobs is {self.top_logprobs}; allowed: only with {_LOGPROBS!r} in include")
        return ChatRequest(
            stream=self.stream,
            messages=[*system, *(item.to_message() for item in items)],
            max_completion_tokens=self.max_output_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            logprobs=logprobs or None,
            top_logprobs=self.top_logprobs if logprobs else None,
            response_format=self.text.format.to_format() if self.text and self.text.format else None,
            tools=[Tool(type="function", function=function) for function in functions] or None,
            tool_choice=choice,
            reasoning_effort=self.reasoning.effort if self.reasoning else None,
            diffusion=self.diffusion,
            draft=self.draft,
        )


def _response(body: ResponseRequest, **more: Any) -> _Json:
    tools = [{"strict": None, "parameters": None} | tool.model_dump(exclude_none=True) for tool in body.tools or ()]
    given = body.model_dump(include={"text", "tool_choice", "reasoning"}, exclude_none=True, by_alias=True)
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "metadata": body.metadata or {},
        "model": body.model,
        "output": [],
        "parallel_tool_calls": False,
        "previous_response_id": None,
        "reasoning": given.get("reasoning"),
        "store": False,
        "temperature": body.temperature,
        "text": given.get("text", {"format": {"type": "text"}}),
        "tool_choice": given.get("tool_choice", "auto"),
        "tools": tools,
        "top_p": body.top_p,
        "truncation": "disabled",
        "usage": None,
    } | more


def _ended(result: Result, item: _Json) -> _Json:
    """Final fields of a response."""
    is_whole = finish_reason(result) == "stop"
    return {
        "status": "completed" if is_whole else "incomplete",
        "incomplete_details": None if is_whole else {"reason": "max_output_tokens"},
        "output": [item],
        "usage": usage_in_and_out(usage_of([result])),
        "sfumato": ours([result]),
    }


def _part(text: str, logprobs: list[_Json]) -> _Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _message(item_id: str, status: str, *content: _Json) -> _Json:
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": list(content)}


def _item(model: TextModel, chat: ChatRequest, result: Result, key: str) -> _Json:
    """The output of a result: a text, or a function call; the key makes its id unique."""
    call = call_of(chat, result)
    if call is not None:
        call_id = f"call_{uuid.uuid4().hex[:24]}"
        head = {"id": f"fc_{key}", "type": "function_call", "call_id": call_id, "status": "completed"}
        return head | call.model_dump()
    logprobs = logprobs_of(model, result) if chat.wants_logprobs else []
    status = "completed" if finish_reason(result) == "stop" else "incomplete"
    return _message(f"msg_{key}", status, _part(result.text, logprobs))


def response_answer(model: TextModel, body: ResponseRequest, chat: ChatRequest, result: Result) -> _Json:
    """A response."""
    return _response(body, **_ended(result, _item(model, chat, result, uuid.uuid4().hex)))


async def response_stream(
    hosted: HostedModel, body: ResponseRequest, chat: ChatRequest, request: Request, bill: Bill
) -> AsyncGenerator[str, None]:
    """Events of a response. Drafts are sent in extra events that add no text."""
    key, response, numbers = uuid.uuid4().hex, _response(body), itertools.count()
    location = {"item_id": f"msg_{key}", "output_index": 0, "content_index": 0}
    # A possible call is another kind of item, so none is opened before this is known.
    held = bool(chat.callable_tools())

    def event(kind: str, **fields: Any) -> str:
        return sse({"type": kind, "sequence_number": next(numbers)} | fields, kind)

    def opened() -> list[str]:
        item = _message(f"msg_{key}", "in_progress")
        return [
            event("response.output_item.added", output_index=0, item=item),
            event("response.content_part.added", **location, part=_part("", [])),
        ]

    def delta(text: str, logprobs: Sequence[_Json]) -> str:
        return event("response.output_text.delta", **location, delta=text, logprobs=list(logprobs))

    def end_events(result: Result, rest: str, logprobs: Sequence[_Json]) -> list[str]:
        item = _item(hosted.model, chat, result, key)
        end = response | _ended(result, item)
        parts = []
        if item["type"] == "function_call":
            whole = {"item_id": item["id"], "output_index": 0}
            begun = item | {"arguments": "", "status": "in_progress"}
            parts += [
                event("response.output_item.added", output_index=0, item=begun),
                event("response.function_call_arguments.delta", **whole, delta=item["arguments"]),
                event("response.function_call_arguments.done", **whole, arguments=item["arguments"], name=item["name"]),
            ]
        else:
            [part] = item["content"]
            parts += opened() if held else []
            parts += [delta(rest, logprobs)] if rest or logprobs else []
            parts += [
                event("response.output_text.done", **location, text=part["text"], logprobs=part["logprobs"]),
                event("response.content_part.done", **location, part=part),
            ]
        parts.append(event("response.output_item.done", output_index=0, item=item))
        kind = "response.completed" if end["status"] == "completed" else "response.incomplete"
        return [*parts, event(kind, response=end)]

    yield event("response.created", response=response)
    yield event("response.in_progress", response=response)
    if not held:
        for part in opened():
            yield part
    try:
        async for sent in stream_parts(hosted, chat, request, bill, held=held):
            if sent.draft is not None:
                yield event("response.in_progress", response=response, sfumato=sent.draft)
            elif sent.result is None:
                yield delta(sent.text, sent.logprobs)
            else:
                for part in end_events(sent.result, sent.text, sent.logprobs):
                    yield part
    except Exception as error:
        refusal = ApiError.of(error)
        failed = response | {"status": "failed", "error": {"code": "server_error", "message": str(refusal)}}
        yield event("response.failed", response=failed)
