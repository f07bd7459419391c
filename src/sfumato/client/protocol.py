"""What is sent to a server and what its answers say; nothing here does I/O."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypedDict

from sfumato.errors import RequestError, ServerError, StaleRevisionError, UnreachableError, unknown

Json = dict[str, Any]
Prompt = str | Sequence[Mapping[str, object]]
"""A user's message, or a conversation of {"role", "content"} dicts."""


class ClientOptions(TypedDict, total=False):
    """Options of requests for text, named as in `sfumato.GenerateOptions`; None is the model's default."""

    model: str | None
    """One of those that the server has; None is its first."""
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    seed: int | None
    stop: str | Sequence[str] | None
    system: str | None
    raw: bool | None
    schema: Mapping[str, object] | bool | None
    regex: str | None
    choices: Sequence[str] | None
    ban: Sequence[str] | None
    steps: int | None
    sampler: str | None
    settings: Mapping[str, object] | None
    """Further ones of the sampler, such as {"entropy_bound": 0.2}."""
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
    """What a model answered."""

    text: str
    """The answer."""
    finish_reason: str
    """Why it ended, as in `sfumato.Result`."""
    seed: int
    """The seed that gives it again."""
    certainty: float
    """Mean log-probability of what was decided, in nats: answers to one prompt can be ranked by it."""
    model: str
    """The server's name of the model."""
    usage: Mapping[str, float]
    """What it cost, by the names of `sfumato.Usage`; of n answers together."""
    others: tuple[Answer, ...] = ()
    """The other answers, where n was more than 1."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A text that is being written, as it reads now."""

    text: str
    """All of it; what is not committed may still change."""
    committed: str
    """The part at its beginning that stays."""
    done: bool = False
    """Whether nothing changes any more."""
    result: Answer | None = None
    """At the end, what was answered; None where a canvas was changed by hand, or its work was cancelled."""
    block: int = 0
    """Index of the canvas in work within the answer."""
    step: int = 0
    """Steps taken on it."""
    steps: int = 0
    """Most steps it may take; 0 where that is not told."""
    pieces: tuple[str, ...] = ()
    """Of a stream, the draft's text at each position."""
    states: tuple[str, ...] = ()
    """Of each position, what the last step did: "noise", "accepted" or "revised"."""
    confidence: tuple[float, ...] = ()
    """Of each position, the probability of what was drawn."""


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What a served model can do."""

    name: str
    """As requests give it."""
    context_length: int
    """Positions of prompt and answer together."""
    max_tokens: int
    """Of an answer, unless a request says otherwise."""
    steps: int
    """Most denoising steps of a canvas, unless a request says otherwise."""
    canvas_length: int
    """Positions denoised together."""
    capabilities: tuple[str, ...]
    """Such as "chat", "infill", "canvas"."""
    kinds: tuple[str, ...]
    """Of prompts that it was trained on; where there are none, it takes any."""
    loaded: bool
    """Whether its weights are in memory."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A text that a canvas had."""

    rev: int
    """Its number."""
    text: str
    """All of it."""
    made_by: str
    """"model", "hand" or "undo"."""
    created: float
    """When, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One HTTP request."""

    method: str
    path: str
    body: bytes | None = None

    @classmethod
    def post(cls, path: str, body: Json) -> Ask:
        """Send an object.

        Raises:
            RequestError: if it cannot be JSON.
        """
        try:
            return cls(method="POST", path=path, body=json.dumps(body, allow_nan=False).encode())
        except (TypeError, ValueError) as error:
            raise RequestError(f"an option cannot be sent as JSON: {error}") from None


# What is asked.


_OF_COMPLETIONS = ("model", "max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "n")


def ask_answer(prompt: Prompt, options: ClientOptions, *, n: int = 1, stream: bool = False) -> Ask:
    """A request for an answer, of which a stream shows drafts.

    Raises:
        RequestError: if an option is not known, or not for a text as it stands.
    """
    given = _given(options) | {"n": n}
    more: Json = {"stream": True, "draft": True, "stream_options": {"include_usage": True}} if stream else {}
    if given.pop("raw", False):
        if not isinstance(prompt, str) or (asked := given.keys() & {"system", "schema"}):
            named = "a conversation" if not isinstance(prompt, str) else min(asked)
            raise RequestError(f"raw is given with {named}; allowed: with a text, without system and schema")
        return Ask.post("/v1/completions", {"prompt": prompt, **_nested(given), **more})
    if "schema" in given:
        more["response_format"] = {"type": "json_schema", "json_schema": {"schema": given.pop("schema")}}
    messages = _messages(prompt, given.pop("system", None))
    return Ask.post("/v1/chat/completions", {"messages": messages, **_nested(given), **more})


def ask_infill(prefix: str, suffix: str, options: ClientOptions, *, n: int) -> Ask:
    """A request for what stands between two texts.

    Raises:
        RequestError: if an option is not known.
    """
    return Ask.post("/v1/fim/completions", {"prompt": prefix, "suffix": suffix, **_nested(_given(options) | {"n": n})})


def ask_canvas(prompt: Prompt | None, options: ClientOptions, **more: object) -> Ask:
    """A request for a canvas.

    Raises:
        RequestError: if an option is not known.
    """
    given = _given(options)
    system = given.pop("system", None)
    if system is not None or not (prompt is None or isinstance(prompt, str)):
        more["messages"] = _messages(prompt or "", system)
    elif prompt is not None:
        more["prompt"] = prompt
    return Ask.post("/v1/canvas", _flat(given) | _without_none(more))


def ask_edit(path: str, options: ClientOptions, **more: object) -> Ask:
    """A request for a change of a canvas.

    Raises:
        RequestError: if an option is not known.
    """
    return Ask.post(f"{path}/edits", _flat(_given(options)) | _without_none(more))


def _given(options: ClientOptions) -> Json:
    if foreign := sorted(options.keys() - ClientOptions.__optional_keys__):
        raise RequestError(unknown("option", foreign[0], ClientOptions.__optional_keys__))
    return _without_none(options)


def _without_none(values: Mapping[str, object]) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def _nested(given: Json) -> Json:
    """Options where completions have them: those that are OpenAI's above, the others in an object of their own."""
    own = {name: value for name, value in given.items() if name in _OF_COMPLETIONS}
    return own | {"diffusion": {name: value for name, value in given.items() if name not in own}}


def _flat(given: Json) -> Json:
    """Options where canvases have them: all of them above, and what is the sampler's in its settings."""
    settings = {name: given.pop(name) for name in ("top_p", "top_k") if name in given}
    return given | ({"settings": {**given.get("settings", {}), **settings}} if settings else {})


def _messages(prompt: Prompt, system: str | None) -> list[Json]:
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
    return turns if system is None else [{"role": "system", "content": system}, *turns]


# What is answered.


@contextmanager
def ours() -> Iterator[None]:
    """Reads what only a server of ours says.

    Raises:
        UnreachableError: if it is something else.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnreachableError(f"what answers is no Sfumato server, or one of another version: {error!r}") from error


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ServerError:
    """What a status that is no success comes to."""
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
    """What an error object comes to that arrives where there is no status any more."""
    status = 400 if error.get("type") == "invalid_request_error" else 500
    return refusal(status, {}, json.dumps({"error": error}).encode())


def _seconds(retry_after: str | None) -> float | None:
    """Of a Retry-After, which is a number of seconds or a date."""
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
    """What a model answered on a canvas; None where its last revision is no model's.

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
    """The list of models, without those that the server only passes on."""
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
