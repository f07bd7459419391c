"""Denoisers without a model: pure functions of a row, bit-exact in any batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.diffusion.process import HybridProcess, MaskProcess, Process, UniformProcess

# R rows, L canvas, V vocab, D model

# Six ordinary tokens each; the mask stands among them, so that an index that assumes it last goes wrong.
PROCESSES: dict[str, Process] = {
    "mask": MaskProcess(7, 2),
    "uniform": UniformProcess(6),
    "hybrid": HybridProcess(7, 2, p_uniform=0.3),
}


class HashDenoiser:
    """Logits hashed from the row's valid tokens in integer arithmetic: changing any token changes them all."""

    def __init__(self, vocab_size: int, scale: float = 6.0) -> None:
        self.vocab_size = vocab_size
        self.scale = scale

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
    ) -> Tensor:
        position_L = torch.arange(tokens_RL.shape[1])
        context_R = ((tokens_RL + 1) * valid_RL * (position_L * 7919 + 31)).sum(-1)
        if soft_RLD is not None:
            context_R = context_R + ((soft_RLD * 64).round().long() * valid_RL.unsqueeze(-1)).sum((1, 2))
        key_RLV = context_R[:, None, None] * 1_000_003 + position_L[:, None] * 8_191 + torch.arange(self.vocab_size)
        logits_RLV = ((key_RLV * 2_654_435_761) >> 12).remainder(4096).float() / 4096 * self.scale
        return logits_RLV.flatten(0, 1)[index_N]

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        return probs_RLV[..., :2]

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        return torch.eye(self.vocab_size)[tokens_RL][..., :2]


class ScriptedDenoiser:
    """The same prediction for every row: the n-th call predicts the tokens of script[n], with the same certainty."""

    def __init__(self, vocab_size: int, script: Sequence[Sequence[int]], certainty: float = 20.0) -> None:
        self.vocab_size = vocab_size
        self.script = script
        self.certainty = certainty
        self.calls = 0

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
    ) -> Tensor:
        predicted_L = torch.tensor(self.script[min(self.calls, len(self.script) - 1)])
        self.calls += 1
        logits_LV = torch.nn.functional.one_hot(predicted_L, self.vocab_size).float() * self.certainty
        return logits_LV.expand(tokens_RL.shape[0], -1, -1).flatten(0, 1)[index_N]

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        raise AssertionError("no self-conditioning here")

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        raise AssertionError("no self-conditioning here")


class FixedDenoiser:
    """The same logits for every row and position."""

    def __init__(self, logits_V: Tensor) -> None:
        self.logits_V = logits_V

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
    ) -> Tensor:
        return self.logits_V.expand(len(index_N), -1)

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        raise AssertionError("no self-conditioning here")

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        raise AssertionError("no self-conditioning here")


@pytest.fixture(params=PROCESSES, scope="session")
def process(request: pytest.FixtureRequest) -> Process:
    return PROCESSES[request.param]


@pytest.fixture(scope="session")
def uniform_process() -> Process:
    return PROCESSES["uniform"]


@pytest.fixture(scope="session")
def mask_process() -> Process:
    return PROCESSES["mask"]


@pytest.fixture(scope="session")
def hashing() -> Callable[..., HashDenoiser]:
    return HashDenoiser


@pytest.fixture(scope="session")
def scripted() -> Callable[..., ScriptedDenoiser]:
    return ScriptedDenoiser


@pytest.fixture(scope="session")
def fixed() -> Callable[..., FixedDenoiser]:
    return FixedDenoiser
