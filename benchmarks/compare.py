"""The same work by Sfumato and another program on the same checkpoint, in alternation, in one process."""

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
    """The work of both programs."""

    prompt_tokens: int = 128
    """Length of the random prompt."""
    new_tokens: int = 128
    """Tokens of the answer; end tokens are ignored."""
    steps: int = 8
    """Denoising steps per canvas, all taken; unused by an autoregressive model."""
    repeats: int = 5
    """Timed runs per program, after one warmup."""
    quantize: str | None = None
    """Quantization of our weights, see `QUANTIZATIONS`."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Seconds of whole answers, including prefill."""

    model: str
    peer: str
    work: Work
    threads: int
    """Threads of torch, for both."""
    ours_s: float
    """Median."""
    theirs_s: float
    """Median."""
    ratio: float
    """theirs / ours: median over pairs of adjacent runs, so that noise hits both."""
    forward_passes: int
    """Our forward passes per answer."""


def compare(directory: Path, peer: str, work: Work) -> Comparison:
    """Time both programs in alternation.

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

        model = transformers.DiffusionGemmaForBlockDiffusion.from_pretrained(directory, dtype=torch.float32)
        # Thresholds that are never met, so that every step is taken.
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
        model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
        settings = {"max_new_tokens": work.new_tokens, "min_new_tokens": work.new_tokens, "do_sample": False}
    else:
        raise ConfigError(f"transformers has no model of type {kind!r} to compare with")
    model.eval()

    def run() -> None:
        with torch.inference_mode():
            model.generate(tokens_1Q, **settings)

    return run
