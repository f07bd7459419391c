"""What fewer bits cost: next-token predictions on a text, held against those of the same weights in float32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.engine.model import load_parts
from sfumato.errors import ConfigError
from sfumato.models.attention import AttentionSpec
from sfumato.models.checkpoint import Checkpoint
from sfumato.models.places import find
from sfumato.models.quantized import QUANTIZATIONS

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
        model: see `sfumato.load`.
        text: a file.
        ways: names of quantizations.
        num_tokens: of the text that are predicted.

    Raises:
        ConfigError: if the model is not autoregressive or the text too short.
    """
    checkpoint, tokenizer = load_parts(find(model))
    if not checkpoint.spec.autoregressive:
        raise ConfigError(f"{model} is not autoregressive; what bits cost it, `sfumato eval --quantize` tells")
    ids = tokenizer.encode_raw(text.read_text(encoding="utf-8"))
    if len(ids) <= num_tokens:
        raise ConfigError(f"{text} has {len(ids)} tokens; allowed: more than {num_tokens}, or fewer tokens asked for")
    tokens_N = torch.tensor(ids[: num_tokens + 1])
    reference, best_N = _predict(checkpoint, tokens_N)
    yield Quality(quantize=None, num_tokens=num_tokens, cross_entropy=reference, change=0.0, agreement=1.0)
    for way in ways:
        checkpoint, _ = load_parts(find(model), quantization=QUANTIZATIONS[way])
        found, also_N = _predict(checkpoint, tokens_N)
        yield Quality(
            quantize=way,
            num_tokens=num_tokens,
            cross_entropy=found,
            change=found / reference - 1.0,
            agreement=float((also_N == best_N).float().mean()),
        )


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
