"""Requests to a server and its responses; does no I/O."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypedDict

from sfumato.errors import RequestError, ServerError, StaleRevisionError, UnreachableError, unknown
from sfumato.schemas import Schema, schema_of

Json = dict[str, Any]
Prompt = str | Sequence[Mapping[str, object]]
"""A user message, or a conversation of {"role", "content"} dicts."""


class ClientOptions(TypedDict, total=False):
    """Options of requests for text, named as in `sfumato.GenerateOptions`; None is the model's default."""

    model: str | None
    """Name of a served model; None is the server's first."""
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int | None
    stop: str | Sequence[str] | None
    system: str | None
    raw: bool | None
    schema: Schema | None
    """A JSON Schema, or a type that pydantic knows."""
    regex: str | None
    grammar: str | None
    choices: Sequence[str] | None
    ban: Sequence[str] | None
    steps: int | None
    sampler: str | None
    settings: Mapping[str, object] | None
    """Further settings of the sampler, such as {"entropy_bound": 0.2}."""
    canvas_length: int | Literal["auto"] | None
    seed_text: str | None
    pin: Sequence[tuple[int, int]] | None
    strength: float | None
    revisit: int | None
    min_steps: int | None
    deadline_ms: int | None
    priority: int | None
    check_prompt: bool | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer."""

    text: str
    """The answer's text."""
    finish_reason: str
    """Why it ended, as in `sfumato.Result`."""
    seed: int
    """The seed that reproduces it."""
    certainty: float
    """Mean log-probability of the decided tokens, in nats, for ranking answers to one prompt."""
    model: str
    """The server's name for the model."""
    usage: Mapping[str, float]
    """Its cost, with the names of `sfumato.Usage`; for n answers together."""
    others: tuple[Answer, ...] = ()
    """The other answers, if n was more than 1."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The current state of a text being written."""

    text: str
    """The whole text; what is not committed may still change."""
    committed: str
    """The committed text at its start."""
    done: bool = False
    """Whether the text is final."""
    result: Answer | None = None
    """At the end, the answer; None if a canvas was edited by hand, or its work was cancelled."""
    block: int = 0
    """Index of the current canvas within the answer."""
    step: int = 0
    """Steps taken on it."""
    steps: int = 0
    """Its maximum steps; 0 if unknown."""
    pieces: tuple[str, ...] = ()
    """In a stream, the draft's text at each position."""
    states: tuple[str, ...] = ()
    """State of each position after the last step: "noise", "accepted" or "revised"."""
    confidence: tuple[float, ...] = ()
    """Probability of the token drawn at each position."""


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """A served model's capabilities."""

    name: str
    """Name in requests."""
    context_length: int
    """Maximum positions of prompt and answer together."""
    max_tokens: int
    """Default maximum tokens of an answer."""
    steps: int
    """Default maximum denoising steps per canvas."""
    canvas_length: int
    """Positions denoised together."""
    capabilities: tuple[str, ...]
    """For example "chat", "infill", "canvas"."""
    kinds: tuple[str, ...]
    """Kinds of prompts it was trained on; empty if it takes any prompt."""
    loaded: bool
    """Whether its weights are in memory."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A revision of a canvas."""

    rev: int
    """Its number."""
    text: str
    """Its whole text."""
    made_by: str
    """"model", "hand" or "undo"."""
    created: float
    """Creation time, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One HTTP request."""

    method: str
    path: str
    body: bytes | None = None

    @classmethod
    def post(cls, path: str, body: Json) -> Ask:
        """Build a request with a JSON object.

        Raises:
            RequestError: if it cannot be converted to JSON.
        """
        try:
            return cls(method="POST", path=path, body=json.dumps(body, allow_nan=False).encode())
        except (TypeError, ValueError) as error:
            wrong = next((name for name, value in body.items() if not _is_json(value)), "an option")
            raise RequestError(f"{wrong} cannot be sent as JSON: {error}") from None


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


# Requests.


_OF_COMPLETIONS = ("model", "max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "n")


def ask_answer(prompt: Prompt, options: ClientOptions, *, n: int = 1, stream: bool = False) -> Ask:
    """A request for an answer; a stream includes drafts.

    Raises:
        RequestError: if an option is unknown, or not for raw text.
    """
    given = _given(options) | {"n": n}
    more: Json = {"stream": True, "draft": True, "stream_options": {"include_usage": True}} if stream else {}
    if given.pop("raw", False):
        if not isinstance(prompt, str) or (asked := given.keys() & {"system", "schema"}):
            named = "a conversation" if not isinstance(prompt, str) else min(asked)
            raise RequestError(f"raw is given with {named}; allowed: with a text, without system and schema")
        given["check_prompt"] = False
        return Ask.post("/v1/completions", {"prompt": prompt, **_nest(given), **more})
    if "schema" in given:
        more["response_format"] = {"type": "json_schema", "json_schema": {"schema": given.pop("schema")}}
    messages = _messages(prompt, given.pop("system", None))
    return Ask.post("/v1/chat/completions", {"messages": messages, **_nest(given), **more})


def ask_infill(prefix: str, suffix: str, prompt: str | None, options: ClientOptions, *, n: int) -> Ask:
    """A request to fill the gap between two texts; RequestError if an option is unknown."""
    gap = _without_none({"prompt": prefix, "suffix": suffix, "message": prompt})
    return Ask.post("/v1/fim/completions", gap | _nest(_given(options) | {"n": n}))


def ask_canvas(prompt: Prompt | None, options: ClientOptions, **more: object) -> Ask:
    """A request for a new canvas; RequestError if an option is unknown."""
    given = _given(options)
    system = given.pop("system", None)
    if system is not None or not (prompt is None or isinstance(prompt, str)):
        more["messages"] = _messages(prompt or "", system)
    elif prompt is not None:
        more["prompt"] = prompt
    return Ask.post("/v1/canvas", _flat(given) | _without_none(more))


def ask_edit(path: str, options: ClientOptions, **more: object) -> Ask:
    """A request to edit a canvas; RequestError if an option is unknown."""
    return Ask.post(f"{path}/edits", _flat(_given(options)) | _without_none(more))


def _given(options: ClientOptions) -> Json:
    if foreign := sorted(options.keys() - ClientOptions.__optional_keys__):
        raise RequestError(unknown("option", foreign[0], ClientOptions.__optional_keys__))
    given = _without_none(options)
    if "schema" in given:
        given["schema"] = schema_of(given["schema"])
    return given


def _without_none(values: Mapping[str, object]) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def _nest(given: Json) -> Json:
    """Options as completions take them: OpenAI's at the top, others in an object."""
    openai = {name: value for name, value in given.items() if name in _OF_COMPLETIONS}
    return openai | {"diffusion": {name: value for name, value in given.items() if name not in openai}}


def _flat(given: Json) -> Json:
    """Options as canvases take them: all at the top, with the sampler's in settings."""
    settings = {name: given.pop(name) for name in ("top_p", "top_k") if name in given}
    return given | ({"settings": {**given.get("settings", {}), **settings}} if settings else {})


def _messages(prompt: Prompt, system: str | None) -> list[Json]:
    is_chat = isinstance(prompt, Sequence) and all(isinstance(turn, Mapping) for turn in prompt)
    if not isinstance(prompt, str) and not is_chat:
        raise RequestError(f"the prompt is {prompt!r:.80}; allowed: a string, or messages with role and content")
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
    return turns if system is None else [{"role": "system", "content": system}, *turns]


# Responses.


@contextmanager
def ours() -> Iterator[None]:
    """Read a response that only a Sfumato server sends.

    Raises:
        UnreachableError: if it is something else.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnreachableError(f"this is not a Sfumato server, or one of another version: {error!r}") from error


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ServerError:
    """The error for an HTTP status."""
    try:
        error = json.loads(body)["error"]
        message = str(error["message"])
    except (ValueError, LookupError, TypeError):
        error, message = {}, f"the server answers with status {status} and gives no reason"
    if error.get("code") == "stale_revision" and "text" in error:
        return StaleRevisionError(message, rev=error["rev"], text=error["text"])
    return ServerError(
        message,
        status=status,
        param=error.get("param"),
        code=error.get("code"),
        retry_after_s=_seconds(headers.get("retry-after")),
    )


def failure(error: Json) -> ServerError:
    """The error for an error object within a stream."""
    status = 400 if error.get("type") == "invalid_request_error" else 500
    return refusal(status, {}, json.dumps({"error": error}).encode())


def _seconds(retry_after: str | None) -> float | None:
    """Parse Retry-After: seconds or a date."""
    if retry_after is None or retry_after.isdecimal():
        return None if retry_after is None else float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def read_answer(values: Json) -> Answer:
    """A completion: its first answer, with the others."""
    ours, answers = values["sfumato"], []
    for choice, reason, seed, certainty in zip(
        values["choices"], ours["finish_reasons"], ours["seeds"], ours["certainty"], strict=True
    ):
        text = choice["text"] if "text" in choice else choice["message"]["content"]
        answers.append(_answer(values | {"finish_reason": reason, "seed": seed, "certainty": certainty}, text))
    return replace(answers[0], others=tuple(answers[1:]))


def read_canvas_answer(values: Json) -> Answer | None:
    """The model's answer on a canvas; None if its last revision was not made by a model.

    Raises:
        ServerError: if it failed.
    """
    if values.get("error") is not None:
        raise failure(values["error"])
    return _answer(values, values["text"]) if "finish_reason" in values else None


def _answer(values: Json, text: str) -> Answer:
    usage = {name: cost for name, cost in values["usage"].items() if isinstance(cost, (int, float))}
    named = {name: values[name] for name in ("finish_reason", "seed", "certainty")}
    return Answer(text=text, model=values.get("model", ""), usage=usage, **named)


def read_cards(values: Json) -> list[ModelCard]:
    """The list of models, without those the server only forwards to."""
    return [_card(card, card["sfumato"]) for card in values["data"] if "upstream" not in card["capabilities"]]


def _card(values: Json, ours: Json) -> ModelCard:
    return ModelCard(
        name=values["id"],
        context_length=values["context_length"],
        max_tokens=ours["max_tokens"],
        steps=ours["steps"],
        canvas_length=ours["canvas_length"],
        capabilities=tuple(values["capabilities"]),
        kinds=tuple(kind["name"] for kind in ours["kinds"]),
        loaded=values["loaded"],
    )


def read_revisions(values: Json) -> list[Revision]:
    """The list of a canvas's revisions."""
    names = ("rev", "text", "made_by", "created")
    return [Revision(**{name: row[name] for name in names}) for row in values["data"]]
