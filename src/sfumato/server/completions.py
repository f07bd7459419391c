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
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, cast

from sfumato.engine.model import TextModel
from sfumato.engine.options import InfillOptions
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import CanvasChanged, Committed, Finished, Request, Result, Usage
from sfumato.errors import RequestError
from sfumato.server.calls import CallStream, tool_call
from sfumato.server.failures import ApiError
from sfumato.server.hosting import Bill, HostedModel
from sfumato.server.protocol import (
    ChatRequest,
    CompletionRequest,
    FimRequest,
    FunctionCall,
    Sampled,
    parse_call,
)
from sfumato.server.streaming import sse

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
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    for result in (one for each in results for one in each):
        check_result(result)
    return results


def check_result(result: Result) -> None:
    """Refuse to return an answer that failed or was cut short by a shutdown."""
    if result.failed:
        raise ApiError(500, result.error or "the model gave NaN or infinite logits", code="model_failed")


def usage_of(results: list[Result]) -> _Json:
    """OpenAI's usage fields, and the cost of the canvases."""
    usage = Usage.together([result.usage for result in results])
    prompt_tokens = max((result.usage.prompt_tokens for result in results), default=0)
    cached = max((result.usage.cached_tokens for result in results), default=0)
    known = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    more = {name: value for name, value in usage.to_dict().items() if name not in (*known, "cached_tokens")}
    return known | {name: round(value, 6) if isinstance(value, float) else value for name, value in more.items()}


def usage_of_many(results: list[list[Result]]) -> _Json:
    """The same for several prompts."""
    each = [usage_of(of_one) for of_one in results]
    summed = usage_of([result for of_one in results for result in of_one])
    summed["prompt_tokens"] = sum(usage["prompt_tokens"] for usage in each)
    summed["total_tokens"] = summed["prompt_tokens"] + summed["completion_tokens"]
    return summed


def finish_reason(result: Result) -> str:
    """OpenAI's finish reason if there is one; "deadline", "cancelled" and "unsure" are ours."""
    return "stop" if result.finish_reason == "steps" else result.finish_reason


def make_request(model: TextModel, prompt: Prompt, body: Sampled, **more: Any) -> Request:
    """The engine's request for a body."""
    options: _Json = {**body.to_options(model), **more}
    return model.request(prompt, n=1 if body.n is None else body.n, **options)


# Chat.


def chat_request(model: TextModel, body: ChatRequest) -> Request:
    """The engine's request for a chat.

    Raises:
        RequestError, CapacityError: if it is not allowed or does not fit.
    """
    if body.stream_options is not None and not body.stream:
        raise RequestError("stream_options is for a stream; allowed: with stream")
    if body.logprobs and body.stream:
        raise RequestError("logprobs is for whole answers; allowed: without stream")
    return make_request(model, body.to_prompt(model), body)


def chat_answer(model: TextModel, body: ChatRequest, results: list[Result]) -> _Json:
    """A chat completion."""
    choices = []
    for index, result in enumerate(results):
        message, reason = _message(body, result)
        logprobs = {"content": logprobs_of(model, result), "refusal": None} if body.logprobs else None
        choices.append({"index": index, "message": message, "finish_reason": reason, "logprobs": logprobs})
    return _head("chatcmpl", "chat.completion", body) | {
        "choices": choices,
        "usage": usage_of(results),
        "sfumato": ours(results),
    }


def _message(body: ChatRequest, result: Result) -> tuple[_Json, str]:
    call = call_of(body, result)
    if call is None:
        return {"role": "assistant", "content": result.text, "refusal": None}, finish_reason(result)
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [tool_call(call)]}
    return message, "tool_calls"


def call_of(body: ChatRequest, result: Result) -> FunctionCall | None:
    """The function call that an answer is, if it is one."""
    calls = body.tools and body.tool_choice != "none"
    return parse_call(result.text, body.tools or []) if calls else None


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


def _text_logprobs(model: TextModel, result: Result) -> _Json:
    """The same in the format of text completions."""
    entries = logprobs_of(model, result)
    ends = list(itertools.accumulate((len(entry["token"]) for entry in entries), initial=0))
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


def _head(prefix: str, kind: str, body: Sampled) -> _Json:
    return {
        "id": f"{prefix}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": body.model,
        "system_fingerprint": None,
    }


# Streams.


async def chat_stream(
    hosted: HostedModel, body: ChatRequest, request: Request, bill: Bill
) -> AsyncGenerator[str, None]:
    """Chunks of a chat completion."""
    head = _head("chatcmpl", "chat.completion.chunk", body)
    # With a forced call, the answer's language begins with the call's name; otherwise it may turn out not to be a call
    # until its end.
    calls = [CallStream() for _ in range(request.n)] if body.called() is not None else []
    held = bool(body.tools) and body.tool_choice != "none" and not calls

    def chunk(index: int, delta: _Json, reason: str | None = None, **more: Any) -> str:
        return sse(head | {"choices": [{"index": index, "delta": delta, "finish_reason": reason}]} | more)

    def end_chunks(result: Result, index: int, rest: str) -> list[str]:
        call = call_of(body, result)
        more = {"sfumato": ours([result])}
        if call is not None:
            made = calls[index] if calls else CallStream()
            return [*deltas(index, made.end(call)), chunk(index, {}, "tool_calls", **more)]
        parts = [chunk(index, {"content": rest})] if rest else []
        return [*parts, chunk(index, {}, finish_reason(result), **more)]

    def deltas(index: int, parts: list[_Json]) -> list[str]:
        return [chunk(index, {"tool_calls": [{"index": 0} | part]}) for part in parts]

    def text(index: int, text: str) -> str:
        return "".join(deltas(index, calls[index].take(text))) if calls else chunk(index, {"content": text})

    for index in range(request.n):
        yield chunk(index, {"role": "assistant", "content": ""})
    async for part in stream_parts(
        hosted,
        body,
        request,
        bill,
        text=text,
        end=end_chunks,
        draft=lambda index, draft: chunk(index, {}, sfumato=draft),
        held=held,
        whole=bool(body.diffusing),
    ):
        yield part if isinstance(part, str) else sse(head | {"choices": [], "usage": part})


async def text_stream(
    hosted: HostedModel, body: CompletionRequest, requests: list[Request], bill: Bill
) -> AsyncGenerator[str, None]:
    """Chunks of a text completion of one prompt."""
    head = _head("cmpl", "text_completion", body)

    def chunk(index: int, text: str, reason: str | None = None, **more: Any) -> str:
        choice = {"index": index, "text": text, "logprobs": None, "finish_reason": reason}
        return sse(head | {"choices": [choice]} | more)

    async for part in stream_parts(
        hosted,
        body,
        requests[0],
        bill,
        text=chunk,
        end=lambda result, index, rest: [chunk(index, rest, finish_reason(result), sfumato=ours([result]))],
        draft=lambda index, draft: chunk(index, "", sfumato=draft),
    ):
        yield part if isinstance(part, str) else sse(head | {"choices": [], "usage": part})


async def stream_parts(
    hosted: HostedModel,
    body: Sampled,
    request: Request,
    bill: Bill,
    *,
    text: Callable[[int, str], str],
    end: Callable[[Result, int, str], list[str]],
    draft: Callable[[int, _Json], str],
    held: bool = False,
    whole: bool = False,
) -> AsyncIterator[str | _Json]:
    """Chunks of a stream, ending with the usage if requested.

    Args:
        bill: called with every result, even if nobody reads it any more.
        text: chunk fields for a piece of final text; empty means nothing yet.
        end: chunk fields for the end of an answer, given its unsent text.
        draft: chunk fields for a draft.
        held: hold text back until the answer is complete.
        whole: send whole drafts instead of text.
    """
    # A reopened canvas may still change.
    held = held or request.revisit > 0 or whole
    sent = [0] * request.n
    results: dict[int, Result] = {}
    seq = 0
    async for event in hosted.answering.stream(request, drafts=bool(body.draft) or whole, on_left=bill):
        if isinstance(event, CanvasChanged):
            if whole:
                yield text(event.variation, event.text)
            else:
                yield draft(event.variation, draft_of(event, seq))
            seq += 1
        elif isinstance(event, Committed) and not held and event.text:
            sent[event.variation] += len(event.text)
            if part := text(event.variation, event.text):
                yield part
        elif isinstance(event, Finished):
            bill([event.result])
            check_result(event.result)
            results[event.variation] = event.result
            rest = event.result.text if whole else event.result.text[sent[event.variation] :]
            for part in end(event.result, event.variation, rest):
                yield part
    if body.stream_options is not None and body.stream_options.include_usage:
        yield usage_of(list(results.values()))


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
        "state": [
            "revised" if revised else "accepted" if accepted else "noise"
            for accepted, revised in zip(event.accepted, event.revised, strict=True)
        ],
        "confidence": [round(value, 4) for value in event.confidence],
    }


# Text completions.


def text_requests(model: TextModel, body: CompletionRequest) -> list[Request]:
    """The engine's requests for a text completion, one per prompt.

    Raises:
        RequestError, CapacityError: if it is not allowed or does not fit.
    """
    given: Any = body.prompt
    several = isinstance(given, list) and given and not isinstance(given[0], int)
    prompts: list[Prompt] = given if several else [given]
    if body.logprobs is not None and body.stream:
        raise RequestError("logprobs is for whole answers; allowed: without stream")
    if body.echo and body.stream:
        raise RequestError("echo is for whole answers; allowed: without stream")
    if body.echo_from is not None and not (body.echo and body.logprobs is not None):
        raise RequestError(f"echo_from is {body.echo_from}; allowed: with echo and logprobs")
    if len(prompts) > 1 and body.stream:
        raise RequestError(f"prompt has {len(prompts)} texts; allowed in a stream: one")
    return [make_request(model, prompt, body, raw=isinstance(prompt, str)) for prompt in prompts]


def text_answer(model: TextModel, body: CompletionRequest | FimRequest, results: list[list[Result]]) -> _Json:
    """A text completion."""
    together = [result for of_one in results for result in of_one]
    wanted = isinstance(body, CompletionRequest) and body.logprobs is not None
    choices = [
        {
            "index": index,
            "text": result.text,
            "finish_reason": finish_reason(result),
            "logprobs": _text_logprobs(model, result) if wanted else None,
        }
        for index, result in enumerate(together)
    ]
    return _head("cmpl", "text_completion", body) | {
        "choices": choices,
        "usage": usage_of_many(results),
        "sfumato": ours(together),
    }


async def fill_gap(hosted: HostedModel, body: CompletionRequest | FimRequest, bill: Bill) -> list[Result]:
    """Fill the gap between a prompt and a suffix, most certain first; `bill` as for `answers`.

    Raises:
        RequestError, CapacityError: if it is not allowed or does not fit.
    """
    if not isinstance(body.prompt, str):
        raise RequestError("prompt is not text; allowed with a suffix: one text")
    for name in ("logprobs", "echo", "echo_from"):
        if (given := getattr(body, name, None)) not in (None, False):
            raise RequestError(f"{name} is {given}; allowed with a suffix: none")
    prefix, options = body.prompt, cast(InfillOptions, body.to_options(hosted.model))
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
    head = _head("cmpl", "text_completion", body)
    for index, result in enumerate(results):
        choice = {"index": index, "text": result.text, "logprobs": None, "finish_reason": finish_reason(result)}
        yield sse(head | {"choices": [choice], "sfumato": ours([result])})
    if body.stream_options is not None and body.stream_options.include_usage:
        yield sse(head | {"choices": [], "usage": usage_of(results)})
