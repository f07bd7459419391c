"""What fewer bits cost, next to the same weights in float32: next-token predictions on a text, and greedy answers to
everyday questions. Whether two answers are equal in substance is for a reader to say: they stand side by side."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.api import load, load_parts
from sfumato.checkpoints.load import Checkpoint
from sfumato.checkpoints.registry import ASSETS, find_model
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.errors import ConfigError
from sfumato.models.model import AttentionSpec
from sfumato.models.quantization.weights import QUANTIZATIONS

_WINDOW = 512


@dataclass(frozen=True, kw_only=True)
class Quality:
    """One way of holding the weights."""

    quantize: str | None
    """Which; None is float32."""
    num_tokens: int
    """Predicted, each from those before it in its window of 512."""
    cross_entropy: float
    """Nats a token."""
    change: float
    """Of the cross-entropy, relative to float32."""
    agreement: float
    """Share of the tokens whose most probable prediction is that of float32."""


def qualities(model: str, text: Path, ways: Sequence[str], *, num_tokens: int) -> Iterator[Quality]:
    """Measure an autoregressive model.

    Args:
        text: a file.
        num_tokens: of the text that are predicted.

    Raises:
        ConfigError: if the model is not autoregressive or the text too short.
    """
    checkpoint, tokenizer = load_parts(find_model(model))
    if not checkpoint.spec.autoregressive:
        raise ConfigError(f"{model} is not autoregressive; what bits cost it, `sfumato eval --quantize` tells")
    ids = tokenizer.encode_raw(text.read_text(encoding="utf-8"))
    if len(ids) <= num_tokens:
        raise ConfigError(f"{text} has {len(ids)} tokens; allowed: more than {num_tokens}, or fewer tokens asked for")
    tokens_N = torch.tensor(ids[: num_tokens + 1])
    reference, best_N = _predict(checkpoint, tokens_N)
    yield Quality(quantize=None, num_tokens=num_tokens, cross_entropy=reference, change=0.0, agreement=1.0)
    for way in ways:
        checkpoint, _ = load_parts(find_model(model), quantization=QUANTIZATIONS[way])
        found, also_N = _predict(checkpoint, tokens_N)
        yield Quality(
            quantize=way,
            num_tokens=num_tokens,
            cross_entropy=found,
            change=found / reference - 1.0,
            agreement=float((also_N == best_N).float().mean()),
        )


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answers to the questions of one way of holding the weights."""

    quantize: str
    """Which."""
    num_tokens: int
    """Of float32's answers."""
    agreement: float
    """Share of those whose most probable prediction, behind float32's own text, is that of float32."""
    divergence: float
    """Mean Kullback-Leibler divergence of predictions from float32's there, in nats."""
    same: int
    """Answers that are the same, token by token."""
    pairs: tuple[tuple[str, str, str, int | None], ...]
    """Question, answer of float32, answer of this one, and the first token at which they differ; None if none does."""


def compare_answers(model: str, ways: Sequence[str], *, max_tokens: int = 48, questions: int = 50) -> Iterator[Answers]:
    """Answer everyday questions with the likeliest tokens.

    Args:
        model: see `sfumato.load`; autoregressive, with a chat template.
        questions: how many, of 50.

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
            pairs=tuple((question, one.text, other.text, place) for question, one, other, place in rows),
        )


def _greedy(model: TextModel, questions: Sequence[str], max_tokens: int) -> list[Result]:
    return model.generate_batch(questions, max_tokens=max_tokens, temperature=0)


@torch.inference_mode()
def _log_probs(model: TextModel, tokens: Sequence[int], start: int) -> Tensor:
    """Log-probabilities [N, V] in the place of each token from `start` on, given those before it."""
    tokens_1Q = torch.tensor([tokens[:-1]])
    positions_1Q = torch.arange(tokens_1Q.shape[1]).unsqueeze(0)
    hidden_1QD = model.decoder(tokens_1Q, positions_1Q, AttentionSpec(causal=True))
    return model.decoder.logits(hidden_1QD[0, start - 1 :]).log_softmax(-1)


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    pairs = itertools.zip_longest(one, other)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), None)


@torch.inference_mode()
def _predict(checkpoint: Checkpoint, tokens_N: Tensor) -> tuple[float, Tensor]:
    """Mean cross-entropy of all tokens but the first, and the most probable token in the place of each."""
    total, best = 0.0, []
    for start in range(0, len(tokens_N) - 1, _WINDOW):
        window_1Q = tokens_N[start : start + _WINDOW].unsqueeze(0)
        targets_Q = tokens_N[start + 1 : start + 1 + _WINDOW]
        positions_1Q = torch.arange(window_1Q.shape[1]).unsqueeze(0)
        hidden_1QD = checkpoint.model(window_1Q, positions_1Q, AttentionSpec(causal=True))
        logits_QV = checkpoint.model.logits(hidden_1QD)[0, : len(targets_Q)]
        total += float(functional.cross_entropy(logits_QV, targets_Q, reduction="sum"))
        best.append(logits_QV.argmax(-1))
    return total / (len(tokens_N) - 1), torch.cat(best)
