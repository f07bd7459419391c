"""Quality loss of quantized weights against float32: next-token predictions on a text, and greedy answers to everyday
questions, shown side by side for a reader to compare."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.api import load
from sfumato.checkpoints.registry import ASSETS
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.errors import ConfigError
from sfumato.models.model import AttentionSpec

_WINDOW = 512


@dataclass(frozen=True, kw_only=True)
class Quality:
    """One quantization on a text."""

    quantize: str | None
    """Name of the quantization; None is float32."""
    num_tokens: int
    """Tokens predicted, each from those before it in its window of 512."""
    cross_entropy: float
    """Nats per token."""
    change: float
    """Relative change of the cross-entropy from float32."""
    agreement: float
    """Share of tokens with the same most probable prediction as float32."""


def qualities(model: str, text: Path, ways: Sequence[str], *, num_tokens: int) -> Iterator[Quality]:
    """Measure an autoregressive model.

    Args:
        text: a file.
        num_tokens: number of tokens to predict.

    Raises:
        ConfigError: if the model is not autoregressive or the text too short.
    """
    text_model = load(model)
    if not text_model.spec.autoregressive:
        raise ConfigError(f"{model} is not autoregressive; what bits cost it, `sfumato eval --quantize` tells")
    ids = text_model.tokenizer.encode_raw(text.read_text(encoding="utf-8"))
    if len(ids) <= num_tokens:
        raise ConfigError(f"{text} has {len(ids)} tokens; allowed: more than {num_tokens}, or fewer tokens asked for")
    tokens_N = torch.tensor(ids[: num_tokens + 1])
    reference, best_N = _predict(text_model, tokens_N)
    yield Quality(quantize=None, num_tokens=num_tokens, cross_entropy=reference, change=0.0, agreement=1.0)
    for way in ways:
        found, also_N = _predict(load(model, quantize=way), tokens_N)
        yield Quality(
            quantize=way,
            num_tokens=num_tokens,
            cross_entropy=found,
            change=found / reference - 1.0,
            agreement=float((also_N == best_N).float().mean()),
        )


@dataclass(frozen=True, kw_only=True)
class Answers:
    """One quantization's answers to the questions."""

    quantize: str
    """Name of the quantization."""
    num_tokens: int
    """Tokens of float32's answers."""
    agreement: float
    """Share of those with the same most probable prediction after float32's text."""
    divergence: float
    """Mean Kullback-Leibler divergence from float32's predictions there, in nats."""
    same: int
    """Answers with the same tokens."""
    pairs: tuple[tuple[str, str, str, int | None], ...]
    """Question, float32's answer, this answer, and the index of the first token that differs, if any."""


def compare_answers(model: str, ways: Sequence[str], *, max_tokens: int = 48, questions: int = 50) -> Iterator[Answers]:
    """Answer everyday questions greedily.

    Args:
        model: see `sfumato.load`; autoregressive, with a chat template.
        questions: number of questions, at most 50.

    Raises:
        ConfigError: if the model is not autoregressive, or does not chat.
    """
    exact = load(model)
    if not exact.spec.autoregressive or not exact.tokenizer.has_chat_template:
        raise ConfigError(f"{model} answers no questions; allowed: an autoregressive model with a chat template")
    asked = (ASSETS / "questions.txt").read_text(encoding="utf-8").splitlines()[:questions]
    expected = _greedy(exact, asked, max_tokens)
    prompts = [exact.request(question).prompt for question in asked]
    texts = [(*prompt, *result.tokens) for prompt, result in zip(prompts, expected, strict=True)]
    starts = [len(prompt) for prompt in prompts]
    exact_NV = torch.cat([_log_probs(exact, *pair) for pair in zip(texts, starts, strict=True)])
    for way in ways:
        few = load(model, quantize=way)
        found = _greedy(few, asked, max_tokens)
        few_NV = torch.cat([_log_probs(few, *pair) for pair in zip(texts, starts, strict=True)])
        differ = [_first_difference(one.tokens, other.tokens) for one, other in zip(expected, found, strict=True)]
        rows = zip(asked, expected, found, differ, strict=True)
        yield Answers(
            quantize=way,
            num_tokens=len(exact_NV),
            agreement=float((few_NV.argmax(-1) == exact_NV.argmax(-1)).float().mean()),
            divergence=float((exact_NV.exp() * (exact_NV - few_NV)).sum(-1).mean()),
            same=differ.count(None),
            pairs=tuple((question, one.text, other.text, first) for question, one, other, first in rows),
        )


def _greedy(model: TextModel, questions: Sequence[str], max_tokens: int) -> list[Result]:
    return model.generate_batch(questions, max_tokens=max_tokens, temperature=0)


@torch.inference_mode()
def _log_probs(model: TextModel, tokens: Sequence[int], start: int) -> Tensor:
    """Log-probabilities [N, V] for each position from `start` on, given the tokens before it."""
    tokens_1Q = torch.tensor([tokens[:-1]])
    positions_1Q = torch.arange(tokens_1Q.shape[1]).unsqueeze(0)
    hidden_1QD = model.decoder(tokens_1Q, positions_1Q, AttentionSpec(causal=True))
    return model.decoder.logits(hidden_1QD[0, start - 1 :]).log_softmax(-1)


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    pairs = itertools.zip_longest(one, other)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), None)


@torch.inference_mode()
def _predict(model: TextModel, tokens_N: Tensor) -> tuple[float, Tensor]:
    """Mean cross-entropy of all tokens but the first, and the most probable token at each position."""
    total, best = 0.0, []
    for start in range(0, len(tokens_N) - 1, _WINDOW):
        window_N = tokens_N[start : start + _WINDOW + 1]
        log_probs_NV = _log_probs(model, window_N.tolist(), 1)
        total += float(functional.nll_loss(log_probs_NV, window_N[1:], reduction="sum"))
        best.append(log_probs_NV.argmax(-1))
    return total / (len(tokens_N) - 1), torch.cat(best)
