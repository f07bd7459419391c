"""Chat and text completions in OpenAI's format, whole or streamed.

A stream's deltas are final text and add up to the answer. Drafts are sent in an extra object of chunks with an empty
delta, so that clients that do not know it append nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sfumato.engine.model import TextModel
from sfumato.engine.options import InfillOptions
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import CanvasChanged, Committed, Finished, Request, Result, Usage
from sfumato.errors import BusyError, RequestError
from sfumato.server.canvas import states_of
from sfumato.server.failures import ApiError
from sfumato.server.hosting import Bill, HostedModel
from sfumato.server.protocol import ChatRequest, CompletionRequest, FimRequest, Sampled
from sfumato.server.streaming import end_tasks, sse
from sfumato.server.tools import CALL_HEAD, FunctionCall, parse_call

_Json = dict[str, Any]


async def answers(hosted: HostedModel, requests: list[Request], bill: Bill) -> list[list[Result]]:
    """The results of each request.

    Args:
        bill: called with every result, even if nobody waits for it any more.

    Raises:
        ApiError: if something failed.
    """

    async def answer(request: Request) -> list[Result]:
        results = await hosted.answering.generate(request, on_left=bill)
        bill(results)
        return results

    tasks = [asyncio.ensure_future(answer(request)) for request in requests]
    try:
        results = await asyncio.gather(*tasks)
    except BaseException:
        # One failure must not lose the other answers.
        await end_tasks(tasks)
        raise
    for result in itertools.chain.from_iterable(results):
        check_result(result)
        if result.finish_reason == "cancelled" and not result.text:
            raise BusyError("the server is shutting down", None)
    return results


def check_result(result: Result) -> None:
    """Refuse to return an answer that failed."""
    if result.failed:
        raise ApiError(500, result.failure, code="model_failed")


def usage_of(*groups: Sequence[Result]) -> _Json:
    """OpenAI's usage fields, and the cost of the canvases.

    Args:
        groups: answers to one prompt each, which counts once.
    """
    usage = Usage.together([result.usage for group in groups for result in group])
    prompt_tokens = sum(max((result.usage.prompt_tokens for result in group), default=0) for group in groups)
    cached = sum(max((result.usage.cached_tokens for result in group), default=0) for group in groups)
    known = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    more = {name: value for name, value in usage.to_dict().items() if name not in (*known, "cached_tokens")}
    return known | {name: round(value, 6) if isinstance(value, float) else value for name, value in more.items()}


def finish_reason(result: Result) -> str:
    """OpenAI's finish reason; `ours` has the exact one."""
    return "length" if result.finish_reason in ("length", "deadline", "cancelled") else "stop"


def make_request(model: TextModel, prompt: Prompt, body: Sampled, **more: Any) -> Request:
    """The engine's request for a body."""
    options: _Json = {**body.to_options(model), **more}
    return model.request(prompt, n=1 if body.n is None else body.n, **options)


# Chat.


def chat_request(model: TextModel, body: ChatRequest) -> Request:
    """The engine's request for a chat."""
    return make_request(model, body.to_prompt(model), body)


def chat_answer(model: TextModel, body: ChatRequest, results: list[Result]) -> _Json:
    """A chat completion."""
    choices = []
    for index, result in enumerate(results):
        call, reason = call_of(body, result), finish_reason(result)
        message: _Json = {"role": "assistant", "content": result.text, "refusal": None}
        if call is not None:
            message, reason = message | {"content": None, "tool_calls": [tool_call(call)]}, "tool_calls"
        logprobs = _chat_logprobs(logprobs_of(model, result)) if body.wants_logprobs else None
        choices.append({"index": index, "message": message, "finish_reason": reason, "logprobs": logprobs})
    ending = {"choices": choices, "usage": usage_of(results), "sfumato": ours(results)}
    return head_of("chatcmpl", "chat.completion", body) | ending


def tool_call(call: FunctionCall) -> _Json:
    """A call with a new id, in OpenAI's format."""
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": call.model_dump()}


def call_of(body: ChatRequest, result: Result) -> FunctionCall | None:
    """The function call that an answer is, if it is one."""
    tools = body.callable_tools()
    return parse_call(result.text, tools) if tools else None


def logprobs_of(model: TextModel, result: Result | Committed) -> list[_Json]:
    """Log-probability of each token of an answer or commit when it was last decided, and of its alternatives."""

    def entry(token: int, logprob: float) -> _Json:
        piece = model.tokenizer.token_bytes[token] or b""
        return {"token": piece.decode("utf-8", "replace"), "logprob": logprob, "bytes": list(piece)}

    # Some answers, such as edits, have no probabilities.
    tops = result.top_logprobs or [()] * len(result.tokens)
    return [
        entry(token, math.log(max(confidence, 1e-9))) | {"top_logprobs": [entry(*other) for other in top]}
        for token, confidence, top in zip(result.tokens, result.confidence, tops, strict=False)
    ]


def _chat_logprobs(entries: Sequence[_Json]) -> _Json:
    return {"content": list(entries), "refusal": None}


def _text_logprobs(entries: Sequence[_Json], start: int = 0) -> _Json:
    """The same in the format of text completions, for text that starts at an offset."""
    ends = list(itertools.accumulate((len(entry["token"]) for entry in entries), initial=start))
    return {
        "tokens": [entry["token"] for entry in entries],
        "token_logprobs": [entry["logprob"] for entry in entries],
        "top_logprobs": [{other["token"]: other["logprob"] for other in entry["top_logprobs"]} for entry in entries],
        "text_offset": ends[:-1],
    }


def ours(results: list[Result]) -> _Json:
    """Sfumato's additional fields about answers."""
    return {
        "seeds": [result.seed for result in results],
        "certainty": [round(result.certainty, 4) + 0.0 for result in results],
        "finish_reasons": [result.finish_reason for result in results],
    }


def head_of(prefix: str, kind: str, body: Sampled) -> _Json:
    """The first fields of a completion, with a new id."""
    return {
        "id": f"{prefix}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": body.model,
        "system_fingerprint": None,
    }


# Streams.


class CallStream:
    """A function call as it is committed: deltas of its name and arguments."""

    def __init__(self) -> None:
        self._text, self._arguments_from, self._num_sent = "", 0, 0

    def take(self, text: str) -> list[_Json]:
        """The deltas for a further piece of text."""
        self._text += text
        parts: list[_Json] = []
        if not self._arguments_from:
            if (head := CALL_HEAD.match(self._text)) is None:
                return []
            self._arguments_from = head.end()
            parts.append(tool_call(FunctionCall(name=head[1], arguments="")))
        # Hold back what may be the end of the call itself.
        return parts + self._send(self._text[self._arguments_from :].rstrip("} \n\t"))

    def end(self, call: FunctionCall) -> list[_Json]:
        """The rest of the call."""
        if not self._arguments_from:
            return [tool_call(call)]
        return self._send(call.arguments)

    def _send(self, arguments: str) -> list[_Json]:
        new, self._num_sent = arguments[self._num_sent :], max(self._num_sent, len(arguments))
        return [{"function": {"arguments": new}}] if new else []


@dataclass(frozen=True)
class Part:
    """A part of a stream: final text, a draft, or a result after the text that was not sent yet."""

    index: int
    """Index of the answer."""
    text: str = ""
    logprobs: Sequence[_Json] = ()
    """If requested: those of the text's tokens."""
    draft: _Json | None = None
    result: Result | None = None


async def stream_parts(
    hosted: HostedModel, body: Sampled, request: Request, bill: Bill, *, held: bool = False, whole: bool = False
) -> AsyncIterator[Part]:
    """What a stream sends, in any format.

    Args:
        bill: called with every result, even if nobody reads it any more.
        held: hold text back until the answer is complete.
        whole: send whole drafts as text.
    """
    # A reopened canvas may still change.
    held = held or request.revisit > 0 or whole
    sent, told, seq = [0] * request.n, [0] * request.n, 0
    wanted = body.wants_logprobs
    async for event in hosted.answering.stream(request, drafts=bool(body.draft) or whole, on_left=bill):
        index = event.variation
        if isinstance(event, CanvasChanged):
            yield Part(index, event.text) if whole else Part(index, draft=draft_of(event, seq))
            seq += 1
        elif isinstance(event, Committed) and not held and (event.text or (wanted and event.tokens)):
            sent[index] += len(event.text)
            told[index] += len(event.tokens)
            yield Part(index, event.text, logprobs_of(hosted.model, event) if wanted else ())
        elif isinstance(event, Finished):
            bill([event.result])
            check_result(event.result)
            text = event.result.text[0 if whole else sent[index] :]
            rest = logprobs_of(hosted.model, event.result)[told[index] :] if wanted else ()
            yield Part(index, text, rest, result=event.result)


def usage_chunks(body: Sampled, head: _Json, usage: _Json) -> list[str]:
    """The chunk with the usage, if requested."""
    wanted = body.stream_options is not None and body.stream_options.include_usage
    return [sse(head | {"choices": [], "usage": usage})] if wanted else []


async def chat_stream(
    hosted: HostedModel, body: ChatRequest, request: Request, bill: Bill
) -> AsyncGenerator[str, None]:
    """Chunks of a chat completion."""
    head, results = head_of("chatcmpl", "chat.completion.chunk", body), list[Result]()
    # With a forced call, the answer's language begins with the call's name; otherwise it may turn out not to be a call
    # until its end.
    calls = [CallStream() for _ in range(request.n)] if body.called() is not None else []
    held = bool(body.callable_tools()) and not calls

    def chunk(index: int, delta: _Json, reason: str | None = None, entries: Sequence[_Json] = (), **more: Any) -> str:
        logprobs = {"logprobs": _chat_logprobs(entries)} if entries else {}
        choice = {"index": index, "delta": delta, "finish_reason": reason} | logprobs
        return sse(head | {"choices": [choice]} | more)

    def call_deltas(parts: list[_Json]) -> list[_Json]:
        return [{"tool_calls": [{"index": 0} | part]} for part in parts]

    for index in range(request.n):
        yield chunk(index, {"role": "assistant", "content": ""})
    async for part in stream_parts(hosted, body, request, bill, held=held, whole=bool(body.diffusing)):
        index, text, result = part.index, part.text, part.result
        if part.draft is not None:
            yield chunk(index, {}, sfumato=part.draft)
            continue
        call = None if result is None else call_of(body, result)
        if call is not None:
            deltas = call_deltas((calls[index] if calls else CallStream()).end(call))
        elif result is None and calls:
            deltas = call_deltas(calls[index].take(text))
        else:
            deltas = [{"content": text}] if text or part.logprobs or result is None else []
        entries = part.logprobs
        for delta in deltas:
            yield chunk(index, delta, entries=entries)
            entries = ()
        if result is not None:
            results.append(result)
            reason = finish_reason(result) if call is None else "tool_calls"
            yield chunk(index, {}, reason, sfumato=ours([result]))
    for usage in usage_chunks(body, head, usage_of(results)):
        yield usage


async def text_stream(
    hosted: HostedModel, body: CompletionRequest, requests: list[Request], bill: Bill
) -> AsyncGenerator[str, None]:
    """Chunks of a text completion of one prompt."""
    head, results = head_of("cmpl", "text_completion", body), list[Result]()
    offsets = [0] * requests[0].n
    async for part in stream_parts(hosted, body, requests[0], bill):
        if part.result is not None:
            results.append(part.result)
        logprobs = _text_logprobs(part.logprobs, offsets[part.index]) if part.logprobs else None
        offsets[part.index] += sum(len(entry["token"]) for entry in part.logprobs)
        more = {} if part.draft is None else {"sfumato": part.draft}
        yield _text_chunk(head, part.index, part.text, part.result, logprobs, **more)
    for usage in usage_chunks(body, head, usage_of(results)):
        yield usage


def _text_chunk(
    head: _Json, index: int, text: str, result: Result | None, logprobs: _Json | None = None, **more: Any
) -> str:
    reason = None if result is None else finish_reason(result)
    more |= {} if result is None else {"sfumato": ours([result])}
    choice = {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason}
    return sse(head | {"choices": [choice]} | more)


def draft_of(event: CanvasChanged, seq: int) -> _Json:
    """A draft for clients: each canvas position's text and its state after the step."""
    return {
        "type": "diffusion_frame",
        "seq": seq,
        "block": event.canvas,
        "step": event.step,
        "total": event.steps,
        "text": event.text,
        "pieces": list(event.pieces),
        "state": states_of(event),
        "confidence": [round(value, 4) for value in event.confidence],
    }


# Text completions.


def text_requests(model: TextModel, body: CompletionRequest) -> list[Request]:
    """The engine's requests for a text completion, one per prompt."""
    prompts, is_scored = body.prompts, body.echo and (body.logprobs is not None or body.max_tokens == 0)
    if body.echo and body.stream:
        raise RequestError("echo is given; allowed: only without stream")
    if body.echo_from is not None and not (body.echo and body.logprobs is not None):
        raise RequestError(f"echo_from is {body.echo_from}; allowed: only with echo and logprobs")
    if body.message is not None:
        raise RequestError("message is given; allowed: only with a suffix")
    if len(prompts) > 1 and body.stream:
        raise RequestError(f"prompt has {len(prompts)} texts; allowed in a stream: one")
    if body.max_tokens == 0:
        if not body.echo:
            raise RequestError("max_tokens is 0; allowed: only with echo")
        # Nothing is generated, see `echo_answer`.
        body = body.model_copy(update={"max_tokens": 1})
    # A model trained on kinds of prompts has seen them only as messages; a text that is scored is read as it is.
    checked = body.diffusion is None or body.diffusion.check_prompt is not False
    as_message = bool(model.kinds) and checked and not is_scored
    return [make_request(model, prompt, body, raw=isinstance(prompt, str) and not as_message) for prompt in prompts]


def text_answer(model: TextModel, body: CompletionRequest | FimRequest, results: list[list[Result]]) -> _Json:
    """A text completion."""
    together = list(itertools.chain.from_iterable(results))
    choices = [
        {
            "index": index,
            "text": result.text,
            "finish_reason": finish_reason(result),
            "logprobs": _text_logprobs(logprobs_of(model, result)) if body.wants_logprobs else None,
        }
        for index, result in enumerate(together)
    ]
    answer = {"choices": choices, "usage": usage_of(*results), "sfumato": ours(together)}
    return head_of("cmpl", "text_completion", body) | answer


async def fill_gap(hosted: HostedModel, body: CompletionRequest | FimRequest, bill: Bill) -> list[Result]:
    """Fill the gap between a prompt and a suffix, most certain first; `bill` as for `answers`."""
    if not isinstance(body.prompt, str):
        raise RequestError("prompt is not text; allowed with a suffix: one text")
    for name in ("logprobs", "echo", "echo_from"):
        given = getattr(body, name, None)
        # 0 asks for the log-probabilities of the chosen tokens.
        if given is not None and given is not False:
            raise RequestError(f"{name} is {given}; allowed with a suffix: none")
    prefix, options = body.prompt, cast(InfillOptions, body.to_options(hosted.model))
    if body.message is not None:
        options["prompt"] = body.message
    answers = await hosted.call(
        lambda model: model.infill(prefix, body.suffix or "", n=1 if body.n is None else body.n, **options), bill
    )
    results = answers if isinstance(answers, list) else [answers]
    bill(results)
    for result in results:
        check_result(result)
    return results


async def stream_gap(body: CompletionRequest | FimRequest, results: list[Result]) -> AsyncGenerator[str, None]:
    """The same as a stream; because lengths are tried in parallel, all text comes at the end."""
    head = head_of("cmpl", "text_completion", body)
    for index, result in enumerate(results):
        yield _text_chunk(head, index, result.text, result)
    for usage in usage_chunks(body, head, usage_of(results)):
        yield usage
