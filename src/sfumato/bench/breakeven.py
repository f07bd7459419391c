"""From how many tokens a forward a canvas is faster than one token after another, on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sfumato.bench.subject import Subject, seconds

_PEER_TOKENS = 64


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """A step over one canvas, sampling included, against one token of autoregressive models of the same shape."""

    canvas_length: int
    """Positions of the canvas."""
    prefix: int
    """Tokens before it."""
    step_s: float
    """Seconds of a step; median."""
    ours_s: float
    """Seconds of one token on our own autoregressive path; median."""
    against_ours: float
    """Tokens a forward has to bring so that the canvas is faster than that: step_s / ours_s."""
    peer_s: float | None
    """Seconds of one token by llama.cpp; None without it."""
    against_peer: float | None
    """The same against llama.cpp."""


def break_even(
    canvas: Subject, single: Subject, lengths: Sequence[int], *, prefix: int, peer_s: float | None, repeats: int = 9
) -> Iterator[BreakEven]:
    """Measure steps and tokens in turns.

    Args:
        canvas, single: models of one shape, of which the second is autoregressive.
        lengths: of the canvas.
        prefix: tokens before it.
        peer_s: what `llama_cpp` took; None leaves it out.
        repeats: timed steps of each.
    """
    for length in lengths:
        ours, theirs = canvas.stepping(length, prefix, repeats), single.stepping(1, prefix, repeats)
        pairs = [(seconds(ours.step), seconds(theirs.step)) for _ in range(repeats)]
        step_s, token_s = (statistics.median(column) for column in zip(*pairs, strict=True))
        yield BreakEven(
            canvas_length=length,
            prefix=prefix,
            step_s=step_s,
            ours_s=token_s,
            against_ours=step_s / token_s,
            peer_s=peer_s,
            against_peer=None if peer_s is None else step_s / peer_s,
        )


def llama_cpp_is_installed() -> bool:
    """Whether `llama_cpp` can be asked."""
    return importlib.util.find_spec("xllamacpp") is not None


def llama_cpp(gguf: Path, prefix: int) -> float:
    """Seconds of one token by llama.cpp, as it reports them itself; median of three runs.

    Args:
        gguf: its weights.
        prefix: tokens before it.
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
