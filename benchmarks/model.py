"""The measured model: real or random weights, asked for an exact number of tokens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
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
from sfumato.machine import cpu_name
from sfumato.models.decoder import fuse
from sfumato.models.model import find_device
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.text.tokenizer import Tokenizer


@dataclass
class _NoText:
    """Replaces the tokenizer: no token ends an answer, and none has text."""

    vocab_size: int
    eos_ids: tuple[int, ...] = ()
    special_ids: frozenset[int] = frozenset()
    unstable_ids: frozenset[int] = frozenset()

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        return ""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [""] * len(ids)


class BenchModel:
    """A checkpoint whose answers have exactly the number of tokens asked for.

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
        """One engine for all measurements, as in use, but without prefix reuse."""
        return Engine(self.model, EngineConfig(reuse_prefixes=False, max_rows=1))

    @classmethod
    def load(
        cls, name: str, *, dtype: str = "float32", quantize: str | None = None, device: str = "cpu", **changes: Any
    ) -> BenchModel:
        """Load random weights in one of SHAPES, with changes to its config, or a checkpoint as `sfumato.load`.

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
        """Random tokens, the same for the same seed."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(self.vocab_size, (num_tokens,), generator=generator).tolist()

    def request(self, prompt: list[int], *, new_tokens: int, steps: int, forced: bool = True, **more: Any) -> Request:
        """Make a request.

        Args:
            prompt: token ids.
            forced: whether all steps are taken; otherwise a canvas may stop early.
        """
        return self.model.request(prompt, max_tokens=new_tokens, steps=steps, adaptive=not forced, **more)

    def run(self, request: Request) -> Result:
        """One answer, on a cold cache."""
        self._stop_stepping()
        [result] = [event.result for _, event in self.engine.run([request]) if isinstance(event, Finished)]
        assert len(result.tokens) == request.max_tokens
        return result

    def stepping(self, length: int, prefix: int, steps: int) -> Engine:
        """The engine in the middle of a request after a prompt of `prefix` tokens: two steps are done, including the
        prefill, and at least `steps` remain, each a token if `length` is 1."""
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
    """Seconds a function takes; `time.process_time` excludes other programs on the core."""
    started = clock()
    work()
    return clock() - started


def describe_machine() -> dict[str, Any]:
    """The machine, for reports."""
    return {"cpu": cpu_name(), "cores": os.cpu_count(), "threads": torch.get_num_threads(), "torch": torch.__version__}
