"""The same work done by us and by another program on the same checkpoint, in turns, in one process."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.model import BenchModel, seconds
from benchmarks.shapes import require_transformers
from sfumato.checkpoints.families import llama
from sfumato.config import read_json
from sfumato.errors import ConfigError, unknown

PEERS = ("transformers",)


@dataclass(frozen=True, kw_only=True)
class Work:
    """What both sides are asked for."""

    prompt_tokens: int = 128
    """Random tokens before the answer."""
    new_tokens: int = 128
    """Tokens of the answer; no end token ends it early."""
    steps: int = 8
    """Denoising steps of every canvas, all of them taken; an autoregressive model has none."""
    repeats: int = 5
    """Timed runs of each side, after one that is not."""
    quantize: str | None = None
    """How our weights are held, see `QUANTIZATIONS`; the other side's stay as they are."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Seconds of whole answers, prefill included."""

    model: str
    peer: str
    work: Work
    threads: int
    """Threads of torch, on both sides."""
    ours_s: float
    """Median."""
    theirs_s: float
    """Median."""
    ratio: float
    """theirs / ours; the median over pairs of neighbouring runs, so that a noisy machine hits both."""
    forward_passes: int
    """Ours, of one answer."""


def compare(directory: Path, peer: str, work: Work) -> Comparison:
    """Time both sides in turns.

    Args:
        directory: a checkpoint.
        peer: one of PEERS.

    Raises:
        CheckpointError: if the checkpoint cannot be loaded.
        ConfigError: if the peer is not known, not installed, or does not run this model.
    """
    if peer not in PEERS:
        raise ConfigError(unknown("peer", peer, PEERS))
    bench_model = BenchModel.load(str(directory), quantize=work.quantize)
    prompt = bench_model.random_prompt(work.prompt_tokens)
    request = bench_model.request(prompt, new_tokens=work.new_tokens, steps=work.steps)
    theirs = _transformers(directory, prompt, work)
    passes = 0

    def ours() -> None:
        nonlocal passes
        passes = bench_model.run(request).usage.forward_passes

    pairs = [(seconds(ours), seconds(theirs)) for _ in range(1 + work.repeats)][1:]
    return Comparison(
        model=str(directory),
        peer=peer,
        work=work,
        threads=torch.get_num_threads(),
        ours_s=statistics.median(mine for mine, _ in pairs),
        theirs_s=statistics.median(other for _, other in pairs),
        ratio=statistics.median(other / mine for mine, other in pairs),
        forward_passes=passes,
    )


def _transformers(directory: Path, prompt: list[int], work: Work) -> Callable[[], None]:
    transformers = require_transformers()
    kind = read_json(directory / "config.json")["model_type"]
    tokens_1Q = torch.tensor([prompt])
    settings: dict[str, Any]
    if kind == "diffusion_gemma":
        from transformers.models.diffusion_gemma import generation_diffusion_gemma as diffusion

        model = transformers.DiffusionGemmaForBlockDiffusion.from_pretrained(directory)
        # Thresholds that nothing is below, so that every step is taken.
        config = diffusion.DiffusionGemmaGenerationConfig(
            max_new_tokens=work.new_tokens,
            max_denoising_steps=work.steps,
            sampler_config=diffusion.EntropyBoundSamplerConfig(entropy_bound=0.1),
            t_max=0.8,
            t_min=0.4,
            stability_threshold=1000,
            confidence_threshold=1e-30,
            eos_token_id=None,
        )
        settings = {"generation_config": config}
    elif kind in llama.FAMILIES:
        model = transformers.AutoModelForCausalLM.from_pretrained(directory)
        settings = {"max_new_tokens": work.new_tokens, "min_new_tokens": work.new_tokens, "do_sample": False}
    else:
        raise ConfigError(f"transformers has no model of type {kind!r} to compare with")
    model.eval()

    def run() -> None:
        with torch.inference_mode():
            model.generate(tokens_1Q, **settings)

    return run
