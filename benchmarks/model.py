"""A model under measurement: real or random weights, asked for a number of tokens, with or without text."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch

from benchmarks.shapes import SHAPES, random_checkpoint
from sfumato.api import DTYPES
from sfumato.checkpoints.load import Checkpoint, load_checkpoint
from sfumato.checkpoints.registry import find_model
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Request, Result
from sfumato.hardware import find_device
from sfumato.machine import cpu_name
from sfumato.models.decoder import fuse
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.text.tokenizer import Tokenizer


@dataclass
class _NoText:
    """Stands in for a tokenizer: no token ends a text, and none has any."""

    vocab_size: int
    eos_ids: tuple[int, ...] = ()
    special_ids: frozenset[int] = frozenset()
    unstable_ids: frozenset[int] = frozenset()

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        return ""


class BenchModel:
    """A checkpoint that answers with exactly as many tokens as it is asked for.

    Args:
        name: for reports.
    """

    def __init__(self, name: str, checkpoint: Checkpoint) -> None:
        self.name = name
        self.vocab_size = checkpoint.model.config.vocab_size
        self.model = TextModel(name, checkpoint, cast(Tokenizer, _NoText(self.vocab_size)))
        self._stepping: int | None = None

    @cached_property
    def engine(self) -> Engine:
        """What answers: one for all measurements, as in use, but no text is given what another one wrote."""
        return Engine(self.model, EngineConfig(reuse_prefixes=False, max_rows=1))

    @classmethod
    def load(
        cls, name: str, *, dtype: str = "float32", quantize: str | None = None, device: str = "cpu", **changes: Any
    ) -> BenchModel:
        """Random weights in one of SHAPES, with changes to its config, or a checkpoint as `sfumato.load` takes it.

        Raises:
            CheckpointError, ConfigError: if it cannot be loaded.
        """
        settings: dict[str, Any] = {
            "dtype": DTYPES[dtype],
            "quantization": None if quantize is None else QUANTIZATIONS[quantize],
        }
        device = find_device(device)
        if name in SHAPES:
            checkpoint = random_checkpoint(name, device=device, **settings, **changes)
        else:
            checkpoint = load_checkpoint(find_model(name), device=device, **settings)
        fuse(checkpoint.model)
        return cls(name, checkpoint)

    def random_prompt(self, num_tokens: int, seed: int = 0) -> list[int]:
        """The same tokens every time."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(self.vocab_size, (num_tokens,), generator=generator).tolist()

    def request(self, prompt: list[int], *, new_tokens: int, steps: int, forced: bool = True, **more: Any) -> Request:
        """What is asked for.

        Args:
            prompt: token ids.
            forced: all steps are taken; otherwise a canvas may stop before.
        """
        return self.model.request(prompt, max_tokens=new_tokens, steps=steps, adaptive=not forced, **more)

    def run(self, request: Request) -> Result:
        """One answer, on a cold cache."""
        self._stop_stepping()
        [result] = [event.result for _, event in self.engine.run([request]) if isinstance(event, Finished)]
        assert len(result.tokens) == request.max_tokens
        return result

    def stepping(self, length: int, prefix: int, steps: int) -> Engine:
        """The engine in the middle of one request, behind a prompt of `prefix` tokens, with so many steps of a canvas
        ahead, or tokens where `length` is 1. The step that wrote the prompt, and one more, are taken."""
        self._stop_stepping()
        tokens, allowed = (steps + 4, 1) if length == 1 else (length, steps + 4)
        prompt = self.random_prompt(prefix)
        request = self.request(prompt, new_tokens=tokens, steps=allowed, canvas_length=length)
        self._stepping = self.engine.submit(request)
        for _ in range(2):
            self.engine.step()
        return self.engine

    def _stop_stepping(self) -> None:
        if self._stepping is not None:
            self.engine.cancel(self._stepping)
            self._stepping = None


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long it takes; by `time.process_time`, what other programs on the core take does not count."""
    started = clock()
    work()
    return clock() - started


def describe_machine() -> dict[str, Any]:
    """What a figure was measured on."""
    return {"cpu": cpu_name(), "cores": os.cpu_count(), "threads": torch.get_num_threads(), "torch": torch.__version__}
