"""DiffusionGemma's whole denoising loop, token for token what transformers generates from the same random numbers.

The reference draws from torch's generator. Here its two sources, the noise and the sampling of tokens, are given what
our counter-based uniforms say for the same seed, canvas, step and position; all else is left as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from parity import Numbers
from settings import sampler_config
from sfumato.api import load
from sfumato.checkpoints.load import load_checkpoint
from sfumato.diffusion.process import UniformProcess
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine
from sfumato.engine.request import Finished, Request, Result
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.samplers.base import Stream, uniform
from sfumato.text.tokenizer import Tokenizer

# L canvas, V vocabulary, N positions of all rows together

LENGTH, CANVASES = 10, 4


@dataclass
class SharedDraws:
    """Stands in for the reference's randomness, and counts its steps: one draw of tokens, then one of noise."""

    seed: int
    vocab_size: int
    steps: list[int] = field(default_factory=list)
    """Steps of each canvas so far."""
    stepping: bool = False
    """True from a step's draw of tokens to its draw of noise."""

    def noise(self, sampler: Any, batch_size: int, device: torch.device) -> Tensor:
        """In place of the sampler's random canvas: the first noise of a canvas, or that of a step."""
        assert batch_size == 1
        if self.stepping:
            u_L = self._uniforms(Stream.RENOISE)
            self.steps[-1] += 1
            self.stepping = False
        else:
            self.steps.append(0)
            u_L = self._uniforms(Stream.START_NOISE)
        return (u_L * self.vocab_size).long()[None]

    def multinomial(self, probs_NV: Tensor, num_samples: int) -> Tensor:
        """In place of torch's: the first token at which the running sum of probabilities passes the uniform."""
        assert num_samples == 1
        assert not self.stepping
        self.stepping = True
        running_NV = probs_NV.double().cumsum(-1)
        below_N1 = self._uniforms(Stream.SAMPLE)[:, None] * running_NV[:, -1:]
        return (running_NV <= below_N1).sum(-1, keepdim=True)

    def _uniforms(self, stream: Stream) -> Tensor:
        keys = (torch.tensor([key]) for key in (self.seed, len(self.steps) - 1, self.steps[-1]))
        return uniform(*keys, torch.arange(LENGTH), stream)[0]


class Drafts:
    """A streamer that keeps the reference's argmax canvas of every step."""

    def __init__(self) -> None:
        self.drafts: list[tuple[int, ...]] = []

    def put(self, value: Tensor) -> None:
        """Committed tokens; not of interest here."""

    def put_draft(self, value: Tensor) -> None:
        self.drafts.append(tuple(value[0].tolist()))

    def end(self) -> None:
        """The end; not of interest here."""


@dataclass(frozen=True)
class Answer:
    """What both sides are compared by."""

    tokens: list[int]
    """Up to the first that ends the text."""
    steps: list[int]
    """Of each canvas."""
    drafts: list[tuple[int, ...]]
    """Of each step."""


def theirs(reference: Any, prompt: list[int], seed: int, settings: dict[str, Any], eos_ids: list[int]) -> Answer:
    """What the reference's generate gives with our draws; `settings` under our names."""
    module = pytest.importorskip("transformers.models.diffusion_gemma.generation_diffusion_gemma")
    config = module.DiffusionGemmaGenerationConfig(
        max_new_tokens=LENGTH * CANVASES,
        max_denoising_steps=settings["steps"],
        sampler_config=module.EntropyBoundSamplerConfig(entropy_bound=settings["entropy_bound"]),
        t_max=settings["temperature_start"],
        t_min=settings["temperature_end"],
        stability_threshold=settings["stable_steps"],
        confidence_threshold=settings["stop_entropy"],
        eos_token_id=eos_ids or None,
    )
    draws, streamer = SharedDraws(seed, reference.config.text_config.vocab_size), Drafts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "multinomial", draws.multinomial)
        patch.setattr(module.EntropyBoundSampler, "initialize_canvas", lambda *a, **k: draws.noise(*a, **k))
        # Would import the compiler, which warns and takes seconds, and does nothing here.
        patch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
        out = reference.generate(torch.tensor([prompt]), generation_config=config, streamer=streamer)
    tokens = out.sequences[0, len(prompt) :].tolist()
    ends = [i for i, token in enumerate(tokens) if token in eos_ids]
    return Answer(tokens[: ends[0]] if ends else tokens, draws.steps, streamer.drafts)


def ours(directory: Path, prompt: list[int], seed: int, settings: dict[str, Any], eos_ids: list[int]) -> Answer:
    """What our loop gives with the checkpoint that the reference was saved to."""
    result = answer(directory, prompt, seed, settings, eos_ids)
    # The event of step 0 is the noise.
    taken = [event for event in result.trace if event.step > 0]
    steps = [max(event.step for event in taken if event.canvas == canvas) for canvas in range(result.usage.canvases)]
    assert sum(steps) == result.usage.denoising_steps
    return Answer(list(result.tokens), steps, [event.tokens for event in taken])


def answer(directory: Path, prompt: list[int], seed: int, settings: dict[str, Any], eos_ids: list[int]) -> Result:
    checkpoint = load_checkpoint(directory)
    generator = ModelBundle(
        name="gemma",
        model=checkpoint.model,
        spec=checkpoint.spec,
        process=UniformProcess(checkpoint.model.config.vocab_size),
        tokenizer=Numbers(tuple(eos_ids)),  # type: ignore[arg-type]
    )
    request = Request(
        prompt=tuple(prompt),
        sampler=sampler_config(**settings),
        max_tokens=LENGTH * CANVASES,
        canvas_length=checkpoint.spec.canvas_length,
        seed=seed,
        trace=True,
    )
    (finished,) = [event for _, event in Engine(generator).run([request]) if isinstance(event, Finished)]
    return finished.result


DEFAULTS = {
    "entropy_bound": 0.1,
    "temperature_start": 0.8,
    "temperature_end": 0.4,
    "steps": 48,
    "stable_steps": 1,
    "stop_entropy": 0.005,
}
SETTINGS = {
    "the released defaults": {},
    "hot": {"temperature_start": 1.0, "temperature_end": 0.5, "steps": 24, "stop_entropy": 0.05},
    "cold and stable": {
        "temperature_start": 0.6,
        "temperature_end": 0.3,
        "steps": 24,
        "stable_steps": 2,
        "stop_entropy": 0.05,
    },
    "confident alone": {
        "temperature_start": 0.9,
        "temperature_end": 0.2,
        "steps": 24,
        "stable_steps": 0,
        "stop_entropy": 0.02,
    },
    "bold": {"entropy_bound": 1.0, "steps": 24, "stable_steps": 3, "stop_entropy": 0.2},
}
PROMPT = [3, 5, 7, 2, 9] * 6

# The seeds of a model and of its request. Each step's soft embedding hangs on the last one's, so most random models
# magnify rounding, which differs between CPUs, until a token differs. These do not: noise of 1e-5 in every logit, a
# hundred times the rounding, leaves their texts as they are.
SEEDS = {
    "the released defaults": [(0, 0), (2, 0), (2, 3)],
    "hot": [(0, 0)],
    "cold and stable": [(2, 2)],
    "confident alone": [(2, 3)],
    "bold": [(1, 1), (3, 3)],
}


@pytest.mark.parity("loop", "DiffusionGemma")
@pytest.mark.parametrize(
    ("name", "model_seed", "seed"), [(name, *pair) for name, pairs in SEEDS.items() for pair in pairs]
)
def test_tokens_drafts_and_steps(name: str, model_seed: int, seed: int, make_gemma: Callable[..., Any], tmp_path: Path):
    settings = DEFAULTS | SETTINGS[name]
    reference = make_gemma(tmp_path, seed=model_seed, canvas_length=LENGTH, certainty=8.0)
    expected = theirs(reference, PROMPT, seed, settings, [])
    assert ours(tmp_path, PROMPT, seed, settings, []) == expected
    assert len(expected.steps) == CANVASES
    assert len(set(expected.steps)) > 1, "every canvas stopped at the same step"
    assert min(expected.steps) < settings["steps"], "no canvas stopped early"
    assert len(set(expected.tokens)) > 3, "the text says nothing"


@pytest.mark.parity("loop", "DiffusionGemma")
def test_another_seed_is_another_text(make_gemma: Callable[..., Any], tmp_path: Path):
    """The draws matter: with others, neither side would repeat itself."""
    (model_seed, seed), (again, other) = SEEDS["the released defaults"][1:3]
    assert model_seed == again
    reference = make_gemma(tmp_path, seed=model_seed, canvas_length=LENGTH, certainty=8.0)
    texts = [theirs(reference, PROMPT, each, DEFAULTS, []).tokens for each in (seed, other)]
    assert texts[0] != texts[1]


def test_a_fixed_number_of_steps(make_gemma: Callable[..., Any], tmp_path: Path):
    """A threshold that no entropy is below."""
    settings = DEFAULTS | {"steps": 5, "stop_entropy": 1e-30}
    reference = make_gemma(tmp_path, canvas_length=LENGTH, certainty=8.0)
    expected = theirs(reference, PROMPT, 0, settings, [])
    assert expected.steps == [5] * CANVASES
    assert ours(tmp_path, PROMPT, 0, settings, []) == expected


@pytest.mark.parity("loop", "DiffusionGemma")
@pytest.mark.parametrize("others", [[], [0, 45, 46]])
def test_the_first_of_several_end_tokens_ends_the_text(
    others: list[int], make_gemma: Callable[..., Any], tmp_path: Path
):
    """A token that first comes in the middle of the second canvas, among others that may come later or never."""
    reference = make_gemma(tmp_path, canvas_length=LENGTH, certainty=8.0)
    whole = theirs(reference, PROMPT, 0, DEFAULTS, []).tokens
    place = next(i for i in range(LENGTH + 1, 2 * LENGTH) if whole[i] not in whole[:i])
    others = [id_ for id_ in others if id_ not in whole[:place]]
    eos_ids = [*others, whole[place]]
    expected = theirs(reference, PROMPT, 0, DEFAULTS, eos_ids)
    assert expected.tokens == whole[:place]
    assert len(expected.steps) == 2
    assert ours(tmp_path, PROMPT, 0, DEFAULTS, eos_ids) == expected
    assert answer(tmp_path, PROMPT, 0, DEFAULTS, eos_ids).finish_reason == "stop"


def test_a_checkpoint_with_a_tokenizer_answers(
    make_gemma: Callable[..., Any], byte_tokenizer: Tokenizer, tmp_path: Path
):
    """From the directory alone: spec and sampling defaults are the family's."""
    make_gemma(tmp_path, canvas_length=LENGTH, vocab_size=byte_tokenizer.vocab_size)
    byte_tokenizer.save(tmp_path)
    model = load(tmp_path)
    assert model.sampler_defaults == sampler_config(name="entropy", **DEFAULTS)
    request = model.request("Hello")
    assert (request.max_tokens, request.canvas_length) == (256, LENGTH)
    result = model.generate("Hello", max_tokens=2 * LENGTH, steps=3)
    assert result.usage.canvases == 2 or result.finish_reason == "stop"


@pytest.mark.parametrize("ends", [(0.8, 0.4), (1.0, 0.5), (0.7, 0.0)])
@pytest.mark.parametrize("steps", [1, 7, 48])
def test_temperatures_to_the_last_bit(ends: tuple[float, float], steps: int):
    module = pytest.importorskip("transformers.models.diffusion_gemma.generation_diffusion_gemma")
    start, end = ends
    process = module.LinearTemperatureScheduleLogitsProcessor(t_min=end, t_max=start, max_denoising_steps=steps)
    config = sampler_config(temperature_start=start, temperature_end=end, steps=steps)
    batch = CanvasBatch.from_tokens(UniformProcess(4), [[0, 0]], seeds=[0], config=config)
    for step in range(steps):
        # Their steps count down to 1.
        left = torch.tensor(steps - step, dtype=torch.int32)
        found = dataclasses.replace(batch, step_R=torch.tensor([step])).temperature_R
        assert torch.equal(1.0 / found, process(None, torch.ones(1), cur_step=left))
