"""Request bodies: OpenAI's, Mercury's and our own fields, checked by name and type."""

from __future__ import annotations

import json
from typing import Any, Literal, Self, cast

from pydantic import Field, JsonValue, model_validator

from sfumato.data.kinds import visible_turns
from sfumato.engine.model import TextModel
from sfumato.engine.options import GenerateOptions, SamplerOptions
from sfumato.engine.prompts import Prompt
from sfumato.errors import RequestError
from sfumato.sampling.samplers.base import registered_sampler
from sfumato.server.bodies import Body
from sfumato.server.tools import Function, NamedTool, Tool, ToolCall, schema_of_calls

MAX_SPANS = 4096
"""Maximum spans, pins or replacements per request."""
Effort = Literal["none", "instant", "minimal", "low", "medium", "high", "xhigh"]
# Of the model's default steps per canvas.
_SHARE_OF_STEPS: dict[str, float] = {
    "none": 0.25, "instant": 0.25, "minimal": 0.25, "low": 0.5, "medium": 1.0, "high": 2.0, "xhigh": 4.0,
}  # fmt: skip

# For editors that do not send a suffix.
_PREFIX, _SUFFIX, _MIDDLE = "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"


class TextPart(Body):
    """A part of a message."""

    type: Literal["text", "input_text", "output_text"] = "text"
    text: str
    annotations: list[JsonValue] | None = None
    logprobs: list[JsonValue] | None = None


class Message(Body):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    name: str | None = None
    refusal: None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    # Clients send these back with our answers, or use them for notes of their own.
    annotations: list[JsonValue] | None = Field(default=None, max_length=0)
    audio: None = None
    function_call: None = None
    provider_specific_fields: dict[str, JsonValue] | None = None

    def to_turn(self) -> dict[str, object]:
        """The message for the chat template."""
        content = text_of(self.content)
        if self.tool_calls:
            calls = [{"name": call.function.name, "arguments": call.function.arguments} for call in self.tool_calls]
            content = "\n".join([*filter(None, [content]), *map(json.dumps, calls)])
        return {"role": "system" if self.role == "developer" else self.role, "content": content}


class JsonSchema(Body):
    """A schema for the answer."""

    name: str = "answer"
    description: str | None = None
    schema_: dict[str, JsonValue] | bool = Field(alias="schema", default=True)
    strict: bool | None = None


class ResponseFormat(Body):
    """Format of the answer."""

    type: Literal["text", "json_object", "json_schema", "regex", "grammar", "choices"]
    json_schema: JsonSchema | None = None
    regex: str | None = None
    grammar: str | None = None
    choices: list[str] | None = None

    def to_options(self) -> GenerateOptions:
        """The engine's options."""
        for name in ("json_schema", "regex", "grammar", "choices"):
            if name != self.type and getattr(self, name) is not None:
                raise RequestError(f"response_format has {name} and type {self.type!r}; allowed: type {name!r}")
        if self.type in ("text", "json_object"):
            return {"schema": {"type": "object"}} if self.type == "json_object" else {}
        given = getattr(self, self.type)
        if given is None:
            raise RequestError(f"response_format has type {self.type!r} but no {self.type}")
        if self.type == "json_schema":
            return {"schema": given.schema_, "order": "schema"}
        return cast(GenerateOptions, {self.type: given})


class Prediction(Body):
    """A draft to start from."""

    type: Literal["content"]
    content: str | list[TextPart]


class StreamOptions(Body):
    """Further contents of a stream."""

    include_usage: bool = False
    include_obfuscation: Literal[False] = False


class Constrained(Body):
    """Options of how canvases are denoised, and of the form that an answer or an edit must have."""

    schema_: dict[str, JsonValue] | bool | None = Field(default=None, alias="schema")
    regex: str | None = None
    grammar: str | None = None
    choices: list[str] | None = None
    ban: list[str] | None = None
    steps: int | None = None
    sampler: str | None = None
    settings: dict[str, JsonValue] | None = None
    """Settings of the sampler."""
    canvas_length: int | Literal["auto"] | None = None
    strength: float | None = None
    min_steps: int | None = None
    deadline_ms: int | None = None
    priority: int | None = None
    check_prompt: bool | None = None

    def to_options(self) -> GenerateOptions:
        """The engine's options."""
        if self.sampler is not None:
            registered_sampler(self.sampler)
        given = self.model_dump(include=set(Diffusion.model_fields), exclude_none=True, by_alias=True)
        settings = given.pop("settings", {})
        # These have fields of their own.
        known = SamplerOptions.__optional_keys__ - {"sampler", "steps", "temperature"}
        if foreign := sorted(settings.keys() - known):
            raise RequestError(f"settings has {foreign[0]}; allowed: {', '.join(sorted(known))}")
        return merged(cast(GenerateOptions, given), settings)


class Diffusion(Constrained):
    """Diffusion options of an answer: those of `sfumato.GenerateOptions`."""

    seed_text: str | None = None
    pin: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    revisit: int | None = None


class Sampled(Body):
    """Fields of every request for text."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    frequency_penalty: Literal[0] | None = None
    presence_penalty: Literal[0] | None = None
    logit_bias: dict[str, float] | None = Field(default=None, max_length=1024)
    """Values added to the logits of tokens, by token id."""
    user: str | None = None
    metadata: dict[str, str] | None = None
    diffusion: Diffusion | None = None
    draft: bool | None = None
    """Stream drafts too, in an object `sfumato` of chunks with an empty delta."""

    @property
    def wants_logprobs(self) -> bool:
        """Whether tokens come with their log-probabilities; 0 asks for those of the chosen ones."""
        given = getattr(self, "logprobs", None)
        return given is not None and given is not False

    def to_options(self, model: TextModel) -> GenerateOptions:
        """The engine's options."""
        for name in ("stream_options", "draft", "diffusing"):
            if getattr(self, name, None) not in (None, False) and not self.stream:
                raise RequestError(f"{name} is given; allowed: only with stream")
        options: GenerateOptions = self.diffusion.to_options() if self.diffusion else {}
        names = {"max_tokens", "temperature", "top_p", "top_k", "seed"}
        values = self.model_dump(include=names, exclude_none=True)
        if self.top_k == -1:
            # Others use this value for no cutoff.
            values["top_k"] = 0
        if self.logit_bias:
            values["logit_bias"] = {_token_id(token): value for token, value in self.logit_bias.items()}
        if self.stop:
            values["stop"] = [self.stop] if isinstance(self.stop, str) else self.stop
        return merged(options, values)


class CompletionRequest(Sampled):
    """`POST /v1/completions`; a prompt with fill-in-the-middle marks is one with a suffix."""

    prompt: str | list[str] | list[int] | list[list[int]]
    suffix: str | None = None
    message: str | None = None
    """With a suffix: the message that the whole text answers."""
    echo: bool | None = None
    """Return the prompt before the answer; with logprobs, including those of its tokens."""
    echo_from: int | None = Field(default=None, ge=1)
    """With echo and logprobs: index of the first prompt token with a log-probability; earlier ones are context."""
    logprobs: int | None = Field(default=None, ge=0, le=20)
    best_of: Literal[1] | None = None

    @property
    def prompts(self) -> list[Prompt]:
        """Its prompts, of which each is a text or token ids."""
        given: Any = self.prompt
        return given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]

    @model_validator(mode="after")
    def _read_marks(self) -> Self:
        if self.suffix is None and isinstance(given := self.prompt, str) and given.startswith(_PREFIX):
            # Not by a regular expression, which would restart at every mark.
            before, mark, after = given.removeprefix(_PREFIX).rpartition(_SUFFIX)
            if mark and after.endswith(_MIDDLE):
                self.prompt, self.suffix = before, after.removesuffix(_MIDDLE)
        return self

    def to_options(self, model: TextModel) -> GenerateOptions:
        return merged(super().to_options(model), {"top_logprobs": self.logprobs} if self.logprobs else {})


class FimRequest(Sampled):
    """`POST /v1/fim/completions` (Mercury)."""

    prompt: str
    suffix: str = ""
    message: str | None = None
    """The message that the whole text answers."""
    repetition_penalty: Literal[1] | None = None


class ChatRequest(Sampled):
    """`POST /v1/chat/completions`."""

    messages: list[Message] = Field(min_length=1)
    max_completion_tokens: int | None = None
    response_format: ResponseFormat | None = None
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Effort | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    prediction: Prediction | None = None
    modalities: list[Literal["text"]] | None = None
    service_tier: Literal["auto", "default"] | None = None
    store: Literal[False] | None = None
    safety_identifier: str | None = None
    diffusing: bool | None = None
    """Mercury: each delta is the whole draft instead of new text."""
    realtime: bool | None = None
    """Mercury: waiting requests with this go first."""
    reasoning_summary: Literal[False] | None = None
    reasoning_summary_wait: Literal[False] | None = None

    def to_options(self, model: TextModel) -> GenerateOptions:
        options = super().to_options(model)
        more: GenerateOptions = {}
        if self.max_completion_tokens is not None:
            more["max_tokens"] = self.max_completion_tokens
        if self.top_logprobs is not None:
            if not self.logprobs:
                raise RequestError("top_logprobs is given; allowed: only with logprobs")
            more["top_logprobs"] = self.top_logprobs
        if self.realtime:
            more["priority"] = 1
        if self.prediction is not None:
            more["seed_text"] = text_of(self.prediction.content)
        if self.reasoning_effort is not None:
            if "steps" in options:
                raise RequestError("reasoning_effort is given; allowed: only without steps, which it sets")
            share = _SHARE_OF_STEPS[self.reasoning_effort]
            more["steps"] = max(1, round(model.sampler_defaults.steps * share))
        if self.response_format is not None:
            more = merged(more, self.response_format.to_options())
        if (called := self.called()) is not None:
            if self.response_format is not None and self.response_format.type != "text":
                raise RequestError("response_format is given; allowed: only where no tool must be called")
            more = merged(more, {"schema": schema_of_calls(called), "order": "schema"})
        return merged(options, more)

    def callable_tools(self) -> list[Tool]:
        """The tools that the answer may call."""
        return [] if self.tool_choice == "none" else self.tools or []

    def called(self) -> list[Function] | None:
        """The functions of which one must be called; None if none must."""
        functions = [tool.function for tool in self.tools or ()]
        if isinstance(self.tool_choice, NamedTool):
            name = self.tool_choice.function.name
            chosen = [function for function in functions if function.name == name]
            if not chosen:
                listed = ", ".join(function.name for function in functions) or "none, because tools is empty"
                raise RequestError(f"tool_choice is {name!r}; allowed: {listed}")
            return chosen
        if self.tool_choice != "required":
            return None
        if not functions:
            raise RequestError("tool_choice is 'required'; allowed: only with tools")
        return functions

    def to_prompt(self, model: TextModel) -> list[dict[str, object]]:
        """The messages for the model, with the tools described in the system message."""
        turns = list(visible_turns([message.to_turn() for message in self.messages], model.kinds))
        tools = self.callable_tools()
        if tools and not model.kinds:
            described = "\n".join(tool.function.model_dump_json(exclude_none=True) for tool in tools)
            text = f'Answer with {{"name": ..., "arguments": {{...}}}} to call one of these functions:\n{described}'
            if turns[0]["role"] == "system":
                turns[0] = turns[0] | {"content": f"{turns[0]['content']}\n\n{text}"}
            else:
                turns.insert(0, {"role": "system", "content": text})
        return turns


def text_of(content: str | list[TextPart] | None) -> str:
    """A message's text."""
    return content if isinstance(content, str) else "".join(part.text for part in content or ())


def _token_id(given: str) -> int:
    if not given.isascii() or not given.isdecimal() or len(given) > 9:
        raise RequestError(f"logit_bias has {given!r}; allowed: token ids")
    return int(given)


def merged(options: GenerateOptions, more: GenerateOptions | dict[str, Any]) -> GenerateOptions:
    """Merge options."""
    for name, value in more.items():
        if name in options and options[name] != value:  # type: ignore[literal-required]
            raise RequestError(f"{name} is given twice with different values; allowed: once")
    return cast(GenerateOptions, {**options, **more})
