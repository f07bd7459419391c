"""Processes with a vocabulary small enough to enumerate."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sfumato.diffusion.process import Flow, HybridProcess, MaskProcess, Process, UniformProcess


class Cosine(Process):
    """Keeps a share with a varying slope, so that no code can rely on alpha' = -1."""

    def alpha(self, t: Tensor) -> Tensor:
        return torch.cos(0.5 * math.pi * t).clamp_min(0.0)

    def flow(self, t: Tensor) -> Flow:
        return Flow(*(0.5 * math.pi * torch.sin(0.5 * math.pi * t) * part for part in super().flow(t)))


class CosineMask(Cosine, MaskProcess):
    pass


class CosineUniform(Cosine, UniformProcess):
    pass


# Three ordinary tokens each; the mask sits between them, so that an index that assumes it last goes wrong.
PROCESSES = {
    "mask": MaskProcess(4, 2),
    "mask-cosine": CosineMask(4, 2),
    "uniform": UniformProcess(3),
    "uniform-cosine": CosineUniform(3),
    "hybrid": HybridProcess(4, 2, p_uniform=0.3),
    "hybrid-more": HybridProcess(4, 2, p_uniform=0.5),
}


@pytest.fixture(params=PROCESSES)
def process(request: pytest.FixtureRequest) -> Process:
    return PROCESSES[request.param]


@pytest.fixture
def ordinary(process: Process) -> Tensor:
    """The ids of tokens that texts may contain."""
    return torch.tensor([k for k in range(process.vocab_size) if k != process.mask_id])


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
