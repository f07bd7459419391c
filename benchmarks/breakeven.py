"""Tokens per forward from which a canvas is faster than autoregressive decoding, on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import json
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.model import BenchModel, seconds
from sfumato.errors import ConfigError, SfumatoError

_STEPS = 14
_PEER_TOKENS = 64


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """A step of one canvas, including sampling, against one token of autoregressive models of the same shape."""

    canvas_length: int
    """Positions of the canvas."""
    prefix: int
    """Tokens before the canvas."""
    step_s: float
    """Median seconds of a step, including work done once per canvas."""
    ours_s: float
    """Median seconds of one token on our autoregressive path."""
    against_ours: float
    """step_s / ours_s: tokens per forward from which the canvas is faster."""
    peer_s: float | None
    """Seconds of one token by llama.cpp; None without it."""
    peer: str | None
    """llama.cpp's program and weights."""
    against_peer: float | None
    """step_s / peer_s."""


def break_even(
    canvas: BenchModel,
    single: BenchModel,
    lengths: Sequence[int],
    *,
    prefix: int,
    peer: tuple[str, float] | None = None,
    repeats: int = 5,
) -> Iterator[BreakEven]:
    """Measure steps and tokens in alternation.

    Args:
        canvas, single: models of one shape; the second is autoregressive.
        prefix: tokens before the canvas.
        peer: name and seconds per token of llama.cpp, if measured.
        repeats: timed canvases per length, of 14 steps each, and as many runs of 14 tokens.
    """
    name, peer_s = peer or (None, None)
    for length in lengths:
        pairs = [(_step_seconds(canvas, length, prefix), _step_seconds(single, 1, prefix)) for _ in range(repeats)]
        step_s, token_s = (statistics.median(column) for column in zip(*pairs, strict=True))
        yield BreakEven(
            canvas_length=length,
            prefix=prefix,
            step_s=step_s,
            ours_s=token_s,
            against_ours=step_s / token_s,
            peer_s=peer_s,
            peer=name,
            against_peer=None if peer_s is None else step_s / peer_s,
        )


def _step_seconds(bench_model: BenchModel, length: int, prefix: int) -> float:
    engine = bench_model.stepping(length, prefix, _STEPS)
    return seconds(lambda: [engine.step() for _ in range(_STEPS)]) / _STEPS  # type: ignore[func-returns-value]


def llama_cpp_is_installed() -> bool:
    """Whether `llama_cpp` can run."""
    return importlib.util.find_spec("xllamacpp") is not None


def llama_cpp(gguf: Path, prefix: int) -> float:
    """Seconds per token as llama.cpp reports them; median of three runs.

    Args:
        prefix: tokens before the canvas.
    """
    xllamacpp = importlib.import_module("xllamacpp")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(gguf)
    settings.n_ctx, settings.n_parallel, settings.verbosity, settings.port = 1024, 1, 0, 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = torch.get_num_threads()
    server = xllamacpp.Server(settings)
    request = {
        "prompt": "The " * prefix,
        "n_predict": _PEER_TOKENS,
        "temperature": 0.0,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    found: list[float] = []
    for _ in range(4):
        answers: list[Any] = []
        server.handle_completions(request, answers.append)
        answer = answers[-1] if isinstance(answers[-1], dict) else json.loads(answers[-1])
        found.append(answer["timings"]["predicted_per_token_ms"] / 1000)
    return statistics.median(found[1:])


def llama_bench(program: Path, gguf: Path, prefix: int) -> float:
    """Seconds per token as the `llama-bench` of a llama.cpp built for this machine reports them.

    Args:
        prefix: tokens before the canvas.

    Raises:
        ConfigError: if there is no such program.
        SfumatoError: if it fails, or reports no rate.
    """
    arguments = {
        "-m": gguf,
        "-t": torch.get_num_threads(),
        "-p": 0,
        "-n": _PEER_TOKENS,
        "-d": prefix,
        "-r": 3,
        "-o": "json",
    }
    command = [str(program), *(str(part) for pair in arguments.items() for part in pair)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(f"cannot run {program}: {error.strerror}; allowed: llama-bench of llama.cpp") from None
    try:
        [found] = json.loads(done.stdout)
        return 1.0 / float(found["avg_ts"])
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise SfumatoError(f"{program} ended with {done.returncode} and no figure; it said: {said}") from None
