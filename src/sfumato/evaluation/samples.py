"""Answers to the prompts of a file: how many equal its responses, whether they end, how they repeat, and a judge's
likelihood. Without responses no single number suffices: repetitive text is likely, and noise is diverse.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sfumato.config import check_number
from sfumato.data.filters import distinct_share
from sfumato.data.sources import Chat, chat_document, chat_of, read_json_lines, tell_unread, unreadable
from sfumato.engine.model import TextModel
from sfumato.engine.options import GenerateOptions
from sfumato.errors import ConfigError, RequestError
from sfumato.evaluation.likelihood import continuation_nats
from sfumato.evaluation.tasks import Answered, ask

_GRAM = 4


@dataclass(frozen=True, kw_only=True)
class SampleScore:
    """One model's answers to the prompts of a file."""

    n: int
    """Answers."""
    seed: int
    exact: float | None
    """Share of answers that equal the response, spaces at the ends aside; None if the file has no responses."""
    steps: float
    """Mean denoising steps per answer."""
    ended: float
    """Share of answers that ended within the token limit."""
    tokens: float
    """Mean tokens per answer."""
    tokens_per_forward: float
    """Answer tokens per forward pass, counting passes for prompts and canvases."""
    repetition: float | None
    """Share of 4-token runs that occurred earlier in the same answer; mean over answers of five tokens or more, None if
    there are none."""
    distinct_2: float | None
    """Distinct pairs of adjacent tokens over all pairs, over all answers; None if there are none."""
    unigram_entropy: float | None
    """Entropy of the tokens of all answers, in nats; None if there are none."""
    judge_nll: float | None
    """Mean negative log-probability per answer token under the judge, in nats; None without a judge or tokens."""
    response_nll: float | None
    """Negative log-likelihood of the file's responses per token, end token included, in nats; None unless estimated."""
    response_nll_error: float | None
    """Its standard error, from the noise draws alone; 0 if it is exact."""
    estimator: str | None
    """How it was estimated, see `Likelihood`."""
    judge: str | None
    """The judge: an autoregressive model that reads prompt and answer through its own chat template."""


def read_samples(path: Path) -> Sequence[Chat]:
    """The samples of a file: on each line a conversation, see `chat_of`, with or without a response.

    Raises:
        ConfigError: if the file cannot be read, is empty, or has an invalid line.
    """
    allowed = "messages, prompt with response or completion or neither, or another form of chats to train on"
    found = []
    for value, where in read_json_lines(path):
        conversation = chat_of(value)
        if conversation is None or not all(isinstance(turn.get("content"), str) for turn in conversation.turns):
            raise unreadable(value, where, allowed)
        found.append(conversation)
    if not found:
        raise ConfigError(f"{path} is empty; allowed: {allowed}")
    tell_unread(path, (each.unread for each in found), allowed)
    return found


def evaluate_samples(
    model: TextModel,
    samples: Sequence[Chat],
    *,
    n: int = 100,
    judge: TextModel | None = None,
    draws: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_answers: Callable[[Sequence[Answered]], None] = lambda answers: None,
    **options: Unpack[GenerateOptions],
) -> SampleScore:
    """Answer the prompts of samples and compute the statistics.

    Args:
        samples: the first n, repeated if there are fewer.
        n: number of answers, 1 or more.
        draws: noise draws for the likelihood of each response; 0 leaves it out.
        on_progress: called with (answers done, total).
        on_answers: called with all samples and the model's answers.

    Raises:
        RequestError: if n or a setting is not allowed, the judge is not autoregressive, or there is no response
            whose likelihood could be estimated.
    """
    if n < 1:
        raise RequestError(f"n is {n}; allowed: 1 or more")
    if judge is not None and not judge.spec.autoregressive:
        raise RequestError(f"the judge is {judge.name}; allowed: an autoregressive model")
    asked = [samples[i % len(samples)] for i in range(n)]
    results = ask(model, [sample.turns for sample in asked], on_progress, **options)
    given = [
        Answered(
            sample.turns,
            sample.response,
            result.text,
            None if sample.response is None else result.text.strip() == sample.response.strip(),
        )
        for sample, result in zip(asked, results, strict=True)
    ]
    on_answers(given)
    graded = [each.right for each in given if each.right is not None]
    answers = [list(result.tokens) for result in results]
    pairs = Counter(pair for tokens in answers for pair in itertools.pairwise(tokens))
    repeated = [1.0 - distinct_share(tokens, _GRAM) for tokens in answers if len(tokens) > _GRAM]
    nll = None
    if judge is not None:
        sums = [_judged(judge, sample.turns, result.text) for sample, result in zip(asked, results, strict=True)]
        nll = _share(sum(total for total, _ in sums), sum(count for _, count in sums))
        if nll is not None and not math.isfinite(nll):
            raise RequestError(
                f"the judge {judge.name} says {nll} of an answer; allowed: one whose predictions are finite"
            )
    nats, error, count, estimator = _likelihood(model, asked, draws)
    return SampleScore(
        n=n,
        seed=options.get("seed", 0),
        exact=_share(sum(graded), len(graded)),
        steps=sum(result.usage.denoising_steps for result in results) / n,
        ended=sum(result.finish_reason in ("stop", "steps") for result in results) / n,
        tokens=sum(map(len, answers)) / n,
        tokens_per_forward=sum(map(len, answers)) / max(1, sum(result.usage.forward_passes for result in results)),
        repetition=_share(sum(repeated), len(repeated)),
        distinct_2=_share(len(pairs), pairs.total()),
        unigram_entropy=_entropy(Counter(token for tokens in answers for token in tokens)),
        judge_nll=nll,
        response_nll=_share(nats, count),
        response_nll_error=_share(error, count),
        estimator=estimator,
        judge=None if judge is None else judge.name,
    )


def _likelihood(model: TextModel, samples: Sequence[Chat], draws: int) -> tuple[float, float, int, str | None]:
    """Nats of all responses with their standard error, and the number of tokens; nothing without draws."""
    check_number("draws", draws, 0, whole=True)
    if not draws:
        return 0.0, 0.0, 0, None
    texts = [(sample.turns, sample.response) for sample in samples if sample.response is not None]
    if not texts:
        raise RequestError("draws are given, but the file has no responses; allowed: lines with a response")
    documents = [chat_document(turns, response, model.tokenizer) for turns, response in texts]
    found = [
        continuation_nats(model, document.prompt, document.response, samples=draws, seed=index)
        for index, document in enumerate(documents)
    ]
    error = math.sqrt(sum(each.standard_error**2 for each in found))
    count = sum(len(document.response) for document in documents)
    return sum(each.nats for each in found), error, count, found[0].estimator


def _entropy(counts: Counter[int]) -> float | None:
    total = counts.total()
    return -sum(count / total * math.log(count / total) for count in counts.values()) if total else None


def _share(part: float, whole: int) -> float | None:
    """None for empty input: a 0 would look like the best of all measurements."""
    return part / whole if whole else None


def _judged(judge: TextModel, prompt: Sequence[Mapping[str, object]], text: str) -> tuple[float, int]:
    """Negative log-probability of an answer, in nats, and its number of tokens."""
    before, answer = judge.tokenizer.encode_chat(list(prompt)), judge.tokenizer.encode(text)
    return continuation_nats(judge, before, answer, samples=1, seed=0).nats, len(answer)
