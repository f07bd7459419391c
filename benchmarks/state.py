"""What canvases in work hold from step to step, besides weights and cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from benchmarks.model import BenchModel
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.request import Finished


@dataclass(frozen=True, kw_only=True)
class State:
    """Many canvases, each of them begun."""

    num_canvases: int
    """In work at once."""
    canvas: int
    """Positions of each."""
    vocab_size: int
    """Of the model."""
    width: int
    """Of a soft embedding."""
    bytes_each: float
    """What is kept of a canvas."""


def canvas_state(bench_model: BenchModel, *, num_canvases: int, canvas: int) -> State:
    """Begin every canvas, and see the most that is kept."""
    engine = Engine(bench_model.model, EngineConfig(reuse_prefixes=False, max_rows=num_canvases))
    for seed in range(num_canvases):
        request = bench_model.request([1], new_tokens=canvas, steps=2, canvas_length=canvas, seed=seed)
        engine.submit(request)
    most, ended = 0, False
    # Who took the fewest steps is next: none ends before all have begun.
    while not ended:
        engine.step()
        ended = any(isinstance(event, Finished) for _, event in engine.take_all())
        most = max(most, _state_bytes(engine))
    engine.close()
    model = bench_model.model.bundle.model
    return State(
        num_canvases=num_canvases,
        canvas=canvas,
        vocab_size=model.config.vocab_size,
        width=model.embedding_VD.shape[1],
        bytes_each=most / num_canvases,
    )


def _state_bytes(engine: Engine) -> int:
    """Of all that an engine keeps of its canvases from step to step, soft embeddings included."""
    batch = engine._batch
    kept = () if batch is None else (*vars(batch).values(), *vars(batch.settings).values())
    return sum(one.nbytes for one in kept if isinstance(one, Tensor | np.ndarray))
