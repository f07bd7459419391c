"""Number of the package's files that run in one sampler step, one engine step, a load of "tiny", and one training step.

A reader who wants to understand one of these has to open as many. A file counts if one of its functions runs, by
`sys.setprofile`. Every step has run before, so initialization on first use does not count.

    python benchmarks/files_read.py [--names]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

import sfumato
from sfumato.data.packing import Document, PackingConfig
from sfumato.diffusion.process import MaskProcess, UniformProcess
from sfumato.engine.engine import Engine
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.step import step
from sfumato.training.objective import ObjectiveConfig
from sfumato.training.trainer import TrainConfig, Trainer

PACKAGE = Path(sfumato.__file__).parent
PROMPT = "sums: 12+35, 81/3, 40-17"


class Copies:
    """Training documents: a prompt of some tokens and the same as response."""

    def document(self, seed: int) -> Document:
        tokens = [3 + seed // 7**i % 7 for i in range(4)]
        return Document([2, *tokens], [*tokens, 1])


def trace_files(run: Callable[[], Any]) -> dict[str, list[str]]:
    """The package's files with the functions that run in them."""
    found: dict[str, set[str]] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(PACKAGE):
            found.setdefault(str(path.relative_to(PACKAGE)), set()).add(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return {path: sorted(found[path]) for path in sorted(found)}


def trace_sampler_step() -> dict[str, list[str]]:
    """One `sampling.step` over two canvases with given logits."""

    class Table:
        """A denoiser with fixed logits."""

        def __call__(self, tokens_RL: Any, soft_RLD: Any, valid_RL: Any, index_N: Any, active: Any) -> Any:
            return torch.randn(len(index_N), 50, generator=torch.Generator().manual_seed(0))

    process = MaskProcess(50, 49)
    config = SamplerConfig.of({"steps": 8})
    batch = CanvasBatch.from_tokens(process, [[0] * 16] * 2, seeds=[0, 1], config=config)
    batch = step(batch, Table(), process).batch  # type: ignore[arg-type]
    return trace_files(lambda: step(batch, Table(), process))  # type: ignore[arg-type]


def trace_engine_step() -> dict[str, list[str]]:
    """One `Engine.step` in the middle of a canvas."""
    model = sfumato.load("tiny")
    engine = Engine(model)
    engine.submit(model.request(PROMPT, steps=8, adaptive=False))
    for _ in range(3):
        engine.step()
    return trace_files(engine.step)


def trace_load() -> dict[str, list[str]]:
    """`load("tiny")`, with everything imported."""
    sfumato.load("tiny")
    return trace_files(lambda: sfumato.load("tiny"))


def trace_training_step() -> dict[str, list[str]]:
    """The third step of a small run."""
    decoder = Decoder(
        DecoderConfig(
            vocab_size=16,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            canvas_embedding=True,
        )
    )
    decoder.initialize(0)
    with tempfile.TemporaryDirectory() as directory:
        trainer = Trainer(
            decoder,
            UniformProcess(16),
            Copies(),
            end_id=1,
            packing=PackingConfig(rows=4, row_length=32, canvas_lengths=(8,)),
            objective=ObjectiveConfig(),
            config=TrainConfig(steps=4, warmup=1, threads=1),
            directory=Path(directory),
        )
        trainer._step()
        trainer._step()
        return trace_files(trainer._step)


STEPS = {
    "sampler step": trace_sampler_step,
    "engine step": trace_engine_step,
    'load("tiny")': trace_load,
    "training step": trace_training_step,
}


def main() -> None:
    """Print the counts, and with `--names` what ran in each file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="list files and functions")
    names = parser.parse_args().names
    for title, trace in STEPS.items():
        files = trace()
        print(f"{title}: {len(files)} files")
        for path, functions in files.items() if names else ():
            print(f"  {path}: {', '.join(functions)}")


if __name__ == "__main__":
    main()
