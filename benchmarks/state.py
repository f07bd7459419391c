"""Memory of canvases between steps, besides weights and cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from benchmarks.model import BenchModel
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.request import Finished


@dataclass(frozen=True, kw_only=True)
class State:
    """Many running canvases."""

    num_canvases: int
    """Canvases at once."""
    canvas: int
    """Positions per canvas."""
    vocab_size: int
    """Vocabulary of the model."""
    width: int
    """Width of a soft embedding."""
    bytes_each: float
    """Bytes per canvas."""


def canvas_state(bench_model: BenchModel, *, num_canvases: int, canvas: int) -> State:
    """Start all canvases and measure the peak."""
    engine = Engine(bench_model.model, EngineConfig(reuse_prefixes=False, max_rows=num_canvases))
    for seed in range(num_canvases):
        request = bench_model.request([1], new_tokens=canvas, steps=2, canvas_length=canvas, seed=seed)
        engine.submit(request)
    peak, ended = 0, False
    # The canvas with the fewest steps is next, so none ends before all have started.
    while not ended:
        engine.step()
        ended = any(isinstance(event, Finished) for _, event in engine.take_all())
        peak = max(peak, _state_bytes(engine))
    engine.close()
    model = bench_model.model.bundle.model
    return State(
        num_canvases=num_canvases,
        canvas=canvas,
        vocab_size=model.config.vocab_size,
        width=model.embedding_VD.shape[1],
        bytes_each=peak / num_canvases,
    )


def _state_bytes(engine: Engine) -> int:
    """Bytes of the engine's canvas batch, including soft embeddings."""
    batch = engine._batch
    kept = () if batch is None else (*vars(batch).values(), *vars(batch.settings).values())
    return sum(one.nbytes for one in kept if isinstance(one, Tensor | np.ndarray))
