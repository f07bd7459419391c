"""Prompts returned with the log-probability of each token, as lm-eval requests them.

In a canvas model a token has no likelihood of its own, but a text after another has a bound. The last tokens therefore
get differences of bounds: from each of them on, they add up to the bound of everything after it, or to that of a
shorter text, if it is larger. Earlier tokens share their canvas's bound evenly.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.engine.model import TextModel
from sfumato.engine.request import Request, Result, Usage
from sfumato.errors import RequestError
from sfumato.evaluation.likelihood import continuation_nats, token_logprobs
from sfumato.server.completions import answers, text_answer
from sfumato.server.hosting import Bill, HostedModel
from sfumato.server.protocol import CompletionRequest
from sfumato.server.streaming import run_to_end

_SAMPLES = 32
"""Noise draws per bound."""
_CUTS = 32
"""Number of last prompt tokens from which bounds are computed, if the request does not set it."""
_Json = dict[str, Any]


@dataclass
class _Scores:
    """Log-probabilities of a prompt's tokens; None for tokens that are only context."""

    logprobs: list[float | None]
    top: list[_Json | None]
    estimator: str = ""
    num_positions: int = 0

    def read(self, model: TextModel, tokens: Sequence[int], start: int, end: int, num_top: int) -> None:
        """Tokens the model would have preferred, in a range."""
        found = token_logprobs(model, tokens[:start], tokens[start:end], num_top=num_top)
        for index, (chosen, best) in enumerate(zip(found.chosen, found.top, strict=True), start):
            self.top[index] = {_text(model, token): logprob for token, logprob in best}
            if model.spec.autoregressive:
                self.logprobs[index] = chosen
        self.num_positions += found.num_positions

    def bound(self, model: TextModel, tokens: Sequence[int], start: int, end: int, seed: int) -> float:
        """The bound from one token up to another."""
        found = continuation_nats(model, tokens[:start], tokens[start:end], samples=_SAMPLES, seed=seed)
        self.estimator, self.num_positions = found.estimator, self.num_positions + found.num_positions
        return found.nats

    def share(self, nats: float, start: int, end: int) -> None:
        """Spread a bound over some tokens."""
        self.logprobs[start:end] = [-nats / (end - start)] * (end - start)


async def echo_answer(hosted: HostedModel, body: CompletionRequest, requests: list[Request], bill: Bill) -> _Json:
    """A text completion that begins with its prompt."""
    for request in requests:
        if body.echo_from is not None and body.echo_from >= len(request.prompt):
            raise RequestError(
                f"echo_from is {body.echo_from}; allowed: 1 to {len(request.prompt) - 1}, a prompt's tokens"
            )
    if body.max_tokens == 0:
        results = [_nothing(hosted.model, request) for request in requests]
    else:
        results = await answers(hosted, requests, bill)
    answer = text_answer(hosted.model, body, results)
    choices = iter(answer["choices"])
    for prompt, request, prompt_results in zip(body.prompts, requests, results, strict=True):
        scores = None
        if body.logprobs is not None:
            scores = await _scored(hosted, request, body, bill)
            answer["sfumato"]["estimator"] = scores.estimator
            answer["usage"]["positions_computed"] += scores.num_positions
        text = prompt if isinstance(prompt, str) else _text(hosted.model, *request.prompt)
        for choice, result in zip(itertools.islice(choices, len(prompt_results)), prompt_results, strict=True):
            choice["text"] = text + choice["text"]
            if scores is not None:
                choice["logprobs"] = _joined(hosted.model, request.prompt, scores, choice["logprobs"], result)
    return answer


def _nothing(model: TextModel, request: Request) -> list[Result]:
    """Empty answers."""
    usage = Usage(prompt_tokens=len(request.prompt))
    seeds = range(request.seed, request.seed + request.n)
    return [
        Result(text="", tokens=(), finish_reason="length", seed=seed, model=model.name, usage=usage) for seed in seeds
    ]


async def _scored(hosted: HostedModel, request: Request, body: CompletionRequest, bill: Bill) -> _Scores:
    """Score a prompt; stops after the current read if nobody waits any more."""
    model, tokens, num_top = hosted.model, request.prompt, body.logprobs or 0
    first, size = body.echo_from or 1, len(tokens)
    scores = _Scores([None] * size, [None] * size)

    async def read(start: int, end: int) -> None:
        await run_to_end(asyncio.to_thread(scores.read, model, tokens, start, end, num_top))

    async def bound(start: int, end: int) -> float:
        return await run_to_end(asyncio.to_thread(scores.bound, model, tokens, start, end, request.seed))

    async with hosted.scoring:
        try:
            if model.spec.autoregressive:
                scores.estimator = "exact autoregressive NLL"
                if first < size:
                    await read(1, size)
                scores.logprobs[:first] = [None] * min(first, size)
                return scores
            length = model.spec.canvas_length
            cut = max(first, size - min(_CUTS, length)) if body.echo_from is None else size
            for start in range(first, cut, length):
                end = min(start + length, cut)
                scores.share(await bound(start, end), start, end)
                await read(start, end)
            if cut < size:
                await read(cut, size)
            rest = 0.0
            for start in range(size - 1, cut - 1, -1):
                # A longer text is never likelier; the noise of its bound can make it seem so.
                nats = max(rest, await bound(start, size))
                scores.share(nats - rest, start, start + 1)
                rest = nats
            return scores
        finally:
            usage = Usage(prompt_tokens=size, positions_computed=scores.num_positions)
            bill([Result(text="", tokens=(), finish_reason="stop", seed=request.seed, model=model.name, usage=usage)])


def _joined(model: TextModel, tokens: Sequence[int], scores: _Scores, answer: _Json, result: Result) -> _Json:
    """Log-probabilities of a prompt and its answer, which ends in a token without one if the model ended it."""
    texts = [_text(model, token) for token in tokens] + answer["tokens"]
    logprobs, tops = [*scores.logprobs, *answer["token_logprobs"]], [*scores.top, *answer["top_logprobs"]]
    if result.finish_reason == "stop" and not result.tokens:
        texts, logprobs, tops = [*texts, ""], [*logprobs, None], [*tops, None]
    return {
        "tokens": texts,
        "token_logprobs": logprobs,
        "top_logprobs": tops,
        "text_offset": list(itertools.accumulate(map(len, texts), initial=0))[:-1],
    }


def _text(model: TextModel, *tokens: int) -> str:
    return b"".join(model.tokenizer.token_bytes[token] or b"" for token in tokens).decode("utf-8", "replace")
