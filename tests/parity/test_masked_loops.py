"""The decoding loops of LLaDA, Dream, SDAR and LLaDA2, canvas by canvas after every step, at temperature 0.

The loops stand here in their authors' order of things, over one uncached forward a step. Ours runs in the engine:
prefixes cached in blocks where they are, several prompts in one batch. Three differences are known:

- Our samplers never propose the mask itself, so the loops are given logits in which it has no chance. Where a model
  would propose it, theirs leave the position open, run without end, or fail.
- Some of their steps take a forward although nothing is left to decide. Ours take no such step, here neither do theirs.
- SDAR and LLaDA2.0 share a block out over the steps by its length, ours by how many of its positions are not prompt.
  That is the same unless a prompt ends inside of a block and there are fewer steps than positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from parity import Numbers
from settings import sampler_config
from sfumato.diffusion.process import make_process
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine
from sfumato.engine.request import CanvasChanged, Finished, Request, Result
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.models.moe import MoEConfig
from sfumato.sampling.samplers.base import Stream, uniform
from sfumato.spec import GenerationSpec

# T positions of a text, L canvas or block, M masked positions, V vocabulary

VOCAB, MASK, SEED = 23, 5, 11

Canvas = list[int]
Logits = Callable[[Tensor], Tensor]
"""Logits [T, V] of a text [T]."""


@dataclass(frozen=True)
class Run:
    """What the engine did for one prompt."""

    canvases: list[Canvas]
    """Prompt and canvas before the first step and after each, as long as the last; masks where nothing is decided."""
    result: Result


@pytest.fixture(params=[0, 1], ids=["one model", "another model"])
def model(request: pytest.FixtureRequest, make_decoder: Callable[..., Decoder]) -> Decoder:
    """Sure of some tokens and unsure of others."""
    decoder = make_decoder(seed=request.param, vocab_size=VOCAB, qk_norm=True, tie_word_embeddings=False)
    with torch.no_grad():
        assert decoder.lm_head is not None
        decoder.lm_head.weight.mul_(1.5)
    return decoder


@pytest.fixture
def mixture(make_decoder: Callable[..., Decoder]) -> Decoder:
    """The same with experts."""
    moe = MoEConfig(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12)
    return make_decoder(vocab_size=VOCAB, qk_norm=True, tie_word_embeddings=False, moe=moe)


def prompts(*lengths: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(sum(lengths))
    ordinary = torch.tensor([token for token in range(VOCAB) if token != MASK])
    return [ordinary[torch.randint(len(ordinary), (length,), generator=generator)].tolist() for length in lengths]


def uncached(model: Decoder, block: int | None = None) -> Logits:
    """The model without a cache: every position reads all others, or those up to the end of its own block."""

    @torch.inference_mode()
    def logits(text_T: Tensor) -> Tensor:
        place_T = torch.arange(len(text_T))
        mask = None if block is None else (place_T[:, None] // block >= place_T // block)[None, None]
        logits_TV = model.logits(model(text_T[None], place_T[None], AttentionSpec(mask=mask)))[0]
        logits_TV[:, MASK] = -torch.inf
        return logits_TV

    return logits


def run(
    model: Decoder,
    spec: GenerationSpec,
    texts: list[list[int]],
    max_tokens: int,
    *,
    eos_ids: tuple[int, ...] = (),
    **settings: Any,
) -> list[Run]:
    """Answer prompts in one batch, and put their canvases together from what the engine shows of each step."""
    sampler = sampler_config(temperature_start=0.0, temperature_end=0.0, stop_entropy=0.0, **settings)
    length = spec.canvas_length
    bundle = ModelBundle(
        name="it",
        model=model,
        spec=spec,
        process=make_process("mask", VOCAB, MASK),
        tokenizer=Numbers(eos_ids),  # type: ignore[arg-type]
    )
    requests = [
        Request(prompt=tuple(text), sampler=sampler, max_tokens=max_tokens, canvas_length=length, seed=SEED)
        for text in texts
    ]
    shown: dict[int, list[CanvasChanged]] = {index: [] for index in range(len(texts))}
    results: dict[int, Result] = {}
    for index, event in Engine(bundle).run(requests, drafts=True):
        if isinstance(event, CanvasChanged):
            shown[index].append(event)
        if isinstance(event, Finished):
            results[index] = event.result
    runs = [Run(canvases_of(text, shown[index]), results[index]) for index, text in enumerate(texts)]
    for text, one in zip(texts, runs, strict=True):
        # What was committed is what was accepted: no step decided by being the last.
        assert list(one.result.tokens) == one.canvases[-1][len(text) :][: len(one.result.tokens)]
        assert one.result.usage.denoising_steps == len(one.canvases) - 1
    return runs


def canvases_of(text: Canvas, events: Sequence[CanvasChanged]) -> list[Canvas]:
    """Where a token is accepted it is written; all else stays."""
    canvases: list[Canvas] = []
    current = text
    for event in events:
        if event.step == 0:
            current = [*current, *[MASK] * len(event.tokens)]
            canvases += [] if canvases else [current]
            continue
        start = len(current) - len(event.tokens)
        pairs = zip(event.tokens, event.accepted, current[start:], strict=True)
        current = current[:start] + [token if accepted else before for token, accepted, before in pairs]
        canvases.append(current)
    return [[*canvas, *[MASK] * (len(current) - len(canvas))] for canvas in canvases]


def num_decided(canvases: Sequence[Canvas]) -> list[int]:
    """How many masks each step filled."""
    masks = [canvas.count(MASK) for canvas in canvases]
    return [before - after for before, after in pairwise(masks)]


def llada(
    logits: Logits,
    prompt: list[int],
    *,
    gen_length: int,
    block_length: int,
    steps: int,
    draw: Callable[[int, int], Tensor] | None = None,
) -> list[Canvas]:
    """LLaDA's generate function; blocks that do not come out even are those of its demo, app.py.

    Args:
        logits: the model.
        prompt: before the canvas.
        gen_length, block_length, steps: as there.
        draw: draw(step, count) gives the uniforms of random remasking; None is low_confidence.
    """
    text_T = torch.tensor([*prompt, *[MASK] * gen_length])
    canvases = [text_T.tolist()]
    per_block = max(1, steps // -(-gen_length // block_length))
    for first in range(len(prompt), len(text_T), block_length):
        last = min(first + block_length, len(text_T))
        count = int((text_T[first:last] == MASK).sum())
        for step in range(per_block):
            masked_T = text_T == MASK
            if not masked_T[first:last].any():
                break
            confidence_T, tokens_T = logits(text_T).softmax(-1).max(-1)
            if draw is not None:
                confidence_T = torch.cat((torch.ones(len(prompt)), draw(len(canvases) - 1, gen_length)))
            confidence_T = confidence_T.masked_fill(~masked_T, -torch.inf)
            confidence_T[last:] = -torch.inf
            quota = count // per_block + (step < count % per_block)
            chosen = confidence_T.topk(quota).indices
            text_T[chosen] = tokens_T[chosen]
            canvases.append(text_T.tolist())
    return canvases


def dream(logits: Logits, prompt: list[int], *, max_new_tokens: int, steps: int, alg: str) -> list[Canvas]:
    """Dream's diffusion_generate, without top_p and top_k."""
    text_T = torch.tensor([*prompt, *[MASK] * max_new_tokens])
    canvases = [text_T.tolist()]
    levels = torch.linspace(1, 1e-3, steps + 1)
    for step in range(steps):
        masked_T = text_T == MASK
        raw_TV = logits(text_T)
        shifted_TV = torch.cat((raw_TV[:1], raw_TV[:-1]))
        probs_MV = shifted_TV[masked_T].softmax(-1)
        confidence_M, tokens_M = probs_MV.max(-1)
        if alg == "topk_margin":
            sorted_MV = probs_MV.sort(-1, descending=True).values
            confidence_M = sorted_MV[:, 0] - sorted_MV[:, 1]
        elif alg == "entropy":
            confidence_M = (probs_MV * torch.log(probs_MV + 1e-10)).sum(-1)
        else:
            assert alg == "maskgit_plus"
        left = masked_T.sum()
        count = int(left * (1 - levels[step + 1] / levels[step])) if step < steps - 1 else int(left)
        confidence_T = torch.full((len(text_T),), -torch.inf)
        confidence_T[masked_T] = confidence_M
        proposed_T = text_T.clone()
        proposed_T[masked_T] = tokens_M
        chosen = confidence_T.topk(count).indices
        text_T[chosen] = proposed_T[chosen]
        canvases.append(text_T.tolist())
    return canvases


def block_by_block(
    logits: Logits,
    prompt: list[int],
    *,
    gen_length: int,
    block_length: int,
    steps: int,
    threshold: float | None,
    eos_id: int | None = None,
    prompt_counts: bool = True,
) -> list[Canvas]:
    """SDAR's block_diffusion_generate and LLaDA2.0's generate function, which decide alike.

    SDAR's greedy setting is one token to sample from, with the confidence of its evaluation: before that cut, and with
    known tokens protected. LLaDA2.0's is the argmax, as its later versions have it.

    Args:
        logits: the model.
        prompt: before the canvases.
        gen_length, block_length, steps: as there.
        threshold: of LLaDA2.0 and of low_confidence_dynamic; None is low_confidence_static.
        eos_id: ends the text with the block that it is in.
        prompt_counts: share a block out by its length; False is our way.
    """
    num_blocks = -(-(len(prompt) + gen_length) // block_length)
    text_T = torch.tensor([*prompt, *[MASK] * (num_blocks * block_length - len(prompt))])
    canvases = [text_T.tolist()]
    for block in range(len(prompt) // block_length, num_blocks):
        first, last = block * block_length, (block + 1) * block_length
        count = block_length if prompt_counts else min(block_length, last - len(prompt))
        for quota in [count // steps + (step < count % steps) for step in range(steps)]:
            current_L = text_T[first:last]
            masked_L = current_L == MASK
            if not masked_L.any():
                break
            confidence_L, tokens_L = logits(text_T[:last])[first:].softmax(-1).max(-1)
            confidence_L = confidence_L.masked_fill(~masked_L, -torch.inf)
            taken_L = confidence_L > (torch.inf if threshold is None else threshold)
            if threshold is None or int(taken_L.sum()) < quota:
                best = confidence_L.topk(min(quota, int(masked_L.sum()))).indices
                taken_L = torch.zeros_like(masked_L).index_fill(0, best, True)
            text_T[first:last] = torch.where(taken_L, tokens_L, current_L)
            canvases.append(text_T.tolist())
        if eos_id is not None and eos_id in canvases[-1][len(prompt) : last]:
            return [canvas[:last] for canvas in canvases]
    return canvases


def with_edits(
    logits: Logits,
    prompt: list[int],
    *,
    gen_length: int,
    block_length: int,
    threshold: float,
    editing_threshold: float,
    max_post_steps: int,
) -> tuple[list[Canvas], list[int]]:
    """LLaDA2.1's generate function with num_to_transfer 1, and how many forwards each full block took."""
    num_blocks = -(-(len(prompt) + gen_length) // block_length)
    text_T = torch.tensor([*prompt, *[MASK] * (num_blocks * block_length - len(prompt))])
    canvases, posts = [text_T.tolist()], []
    for block in range(len(prompt) // block_length, num_blocks):
        first, last = block * block_length, (block + 1) * block_length
        not_prompt_L = torch.arange(first, last) >= len(prompt)
        post = 0
        while True:
            current_L = text_T[first:last].clone()
            masked_L = current_L == MASK
            if not masked_L.any():
                post += 1
            if post > max_post_steps:
                post -= 1
                break
            confidence_L, tokens_L = logits(text_T[:last])[first:].softmax(-1).max(-1)
            filled_L = masked_L & (confidence_L > threshold)
            if masked_L.any() and not filled_L.any():
                best = confidence_L.masked_fill(~masked_L, -torch.inf).topk(1).indices
                filled_L = torch.zeros_like(masked_L).index_fill(0, best, True)
            edited_L = ~masked_L & not_prompt_L & (confidence_L > editing_threshold) & (tokens_L != current_L)
            text_T[first:last] = torch.where(filled_L | edited_L, tokens_L, current_L)
            canvases.append(text_T.tolist())
            if not masked_L.any() and not edited_L.any():
                break
        posts.append(post)
    return canvases, posts


# tokens, block, steps: one block; several; steps that do not divide a block; fewer and more steps than positions;
# a last block that is shorter.
LLADA = [(16, 16, 16), (16, 4, 16), (15, 5, 9), (16, 8, 6), (12, 12, 5), (12, 6, 24), (14, 4, 9), (8, 4, 2)]


@pytest.mark.parity("loop", "LLaDA")
@pytest.mark.parametrize("remasking", ["low_confidence", "random"])
@pytest.mark.parametrize(("tokens", "block", "steps"), LLADA, ids=str)
def test_llada(model: Decoder, tokens: int, block: int, steps: int, remasking: str) -> None:
    def draw(step: int, count: int) -> Tensor:
        keys = (torch.tensor([key]) for key in (SEED, 0, step))
        return uniform(*keys, torch.arange(count), Stream.ORDER)[0]

    random = remasking == "random"
    spec = GenerationSpec(noise="mask", mask_id=MASK, canvas_length=tokens, prefix_attention="full")
    texts = prompts(5, 1, 9)
    runs = run(model, spec, texts, tokens, name="random" if random else "confidence", steps=steps, block_length=block)
    for text, found in zip(texts, runs, strict=True):
        expected = llada(
            uncached(model), text, gen_length=tokens, block_length=block, steps=steps, draw=draw if random else None
        )
        assert found.canvases == expected
        assert MASK not in expected[-1]


@pytest.mark.parity("loop", "Dream")
@pytest.mark.parametrize(
    ("alg", "sampler"), [("maskgit_plus", "confidence"), ("topk_margin", "margin"), ("entropy", "certainty")]
)
@pytest.mark.parametrize(("tokens", "steps"), [(16, 16), (16, 8), (16, 5), (10, 25), (7, 1)], ids=str)
def test_dream(model: Decoder, tokens: int, steps: int, alg: str, sampler: str) -> None:
    """Its budget: nothing in the first step where there is a step for each position, the rest in the last."""
    spec = GenerationSpec(noise="mask", mask_id=MASK, canvas_length=tokens, prefix_attention="full", logit_shift=True)
    texts = prompts(5, 1, 9)
    runs = run(model, spec, texts, tokens, name=sampler, budget="truncated", steps=steps)
    for text, found in zip(texts, runs, strict=True):
        expected = dream(uncached(model), text, max_new_tokens=tokens, steps=steps, alg=alg)
        assert found.canvases == expected
        assert len(expected) == steps + 1
        assert (num_decided(expected)[0] == 0) == (steps >= tokens)


def test_the_orders_of_dream_differ(model: Decoder) -> None:
    """Or a sampler could stand for another."""
    (text,) = prompts(5)
    runs = [
        dream(uncached(model), text, max_new_tokens=16, steps=8, alg=alg)
        for alg in ("maskgit_plus", "topk_margin", "entropy")
    ]
    assert runs[0] != runs[1] != runs[2] != runs[0]


def block_spec(block: int) -> GenerationSpec:
    return GenerationSpec(noise="mask", mask_id=MASK, canvas_length=block, prefix_attention="block")


# Whole blocks; less than one; whole ones and a rest, up to all but one.
def block_prompts(block: int) -> list[list[int]]:
    return prompts(2 * block, block - 1, 1, block + 2, 2 * block - 1)


def sdar_rule(threshold: float | None) -> dict[str, Any]:
    """low_confidence_static, or low_confidence_dynamic."""
    return {"name": "confidence"} if threshold is None else {"name": "threshold", "threshold": threshold}


@pytest.mark.parity("loop", "SDAR")
@pytest.mark.parametrize("threshold", [None, 0.3, 0.5], ids=["static", "low threshold", "high threshold"])
@pytest.mark.parametrize(("block", "steps", "tokens"), [(4, 4, 13), (8, 8, 16), (8, 20, 9)], ids=str)
def test_sdar(model: Decoder, block: int, steps: int, tokens: int, threshold: float | None) -> None:
    texts = block_prompts(block)
    runs = run(model, block_spec(block), texts, tokens, steps=steps, **sdar_rule(threshold))
    counts = set()
    for text, found in zip(texts, runs, strict=True):
        expected = block_by_block(
            uncached(model, block), text, gen_length=tokens, block_length=block, steps=steps, threshold=threshold
        )
        assert found.canvases == expected
        counts |= set(num_decided(expected))
    assert counts == {1} if threshold is None else counts > {1}


@pytest.mark.parity("loop", "SDAR-MoE")
@pytest.mark.parametrize("threshold", [None, 0.3], ids=["static", "low threshold"])
def test_sdar_with_experts(mixture: Decoder, threshold: float | None) -> None:
    texts = block_prompts(4)
    runs = run(mixture, block_spec(4), texts, 13, steps=4, **sdar_rule(threshold))
    for text, found in zip(texts, runs, strict=True):
        assert found.canvases == block_by_block(
            uncached(mixture, 4), text, gen_length=13, block_length=4, steps=4, threshold=threshold
        )


@pytest.mark.parity("loop", "SDAR")
@pytest.mark.parametrize("threshold", [None, 0.3, 0.5], ids=["static", "low threshold", "high threshold"])
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_sdar_with_fewer_steps_than_positions(model: Decoder, steps: int, threshold: float | None) -> None:
    block, tokens = 8, 16
    texts = block_prompts(block)
    runs = run(model, block_spec(block), texts, tokens, steps=steps, **sdar_rule(threshold))
    for text, found in zip(texts, runs, strict=True):
        whole, ours = (
            block_by_block(
                uncached(model, block),
                text,
                gen_length=tokens,
                block_length=block,
                steps=steps,
                threshold=threshold,
                prompt_counts=prompt_counts,
            )
            for prompt_counts in (True, False)
        )
        assert found.canvases == (whole if len(text) % block == 0 else ours)
        assert max(num_decided(ours)) > 1


@pytest.mark.parity("loop", "LLaDA2")
@pytest.mark.parametrize("eos_id", [token for token in range(VOCAB) if token != MASK][::4])
def test_llada_2_0(model: Decoder, eos_id: int) -> None:
    """The threshold rule; a text ends with the block that holds the end token, which the prompt may hold too."""
    block, tokens, threshold = 8, 20, 0.4
    texts = [[*text[:-1], eos_id] for text in block_prompts(block)]
    settings: dict[str, Any] = {"name": "threshold", "threshold": threshold, "steps": block}
    runs = run(model, block_spec(block), texts, tokens, eos_ids=(eos_id,), **settings)
    for text, found in zip(texts, runs, strict=True):
        expected = block_by_block(
            uncached(model, block),
            text,
            gen_length=tokens,
            block_length=block,
            steps=block,
            threshold=threshold,
            eos_id=eos_id,
        )
        assert found.canvases == expected
        answer = expected[-1][len(text) :][:tokens]
        ends = eos_id in answer
        assert list(found.result.tokens) == (answer[: answer.index(eos_id)] if ends else answer)
        assert found.result.finish_reason == ("stop" if ends else "length")


# threshold, editing_threshold, max_post_steps: the model card's two modes; every bound on what follows the last mask;
# one fill a step; no edits.
EDITS = [(0.7, 0.5, 16), (0.5, 0.0, 16), (0.5, 0.0, 0), (0.4, 0.2, 1), (0.3, 0.0, 3), (1.0, 0.0, 5), (0.3, 1.0, 16)]


@pytest.mark.parity("loop", "LLaDA2")
@pytest.mark.parametrize(("threshold", "editing_threshold", "max_post_steps"), EDITS, ids=str)
def test_llada_2_1(model: Decoder, threshold: float, editing_threshold: float, max_post_steps: int) -> None:
    """Steps are given in plenty, as its loop does not count them."""
    block, tokens = 8, 20
    texts = block_prompts(block)
    runs = run(
        model,
        block_spec(block),
        texts,
        tokens,
        name="edit",
        threshold=threshold,
        edit_threshold=editing_threshold,
        post_steps=max_post_steps,
        steps=1000,
    )
    edits, after = 0, []
    for text, found in zip(texts, runs, strict=True):
        expected, posts = with_edits(
            uncached(model, block),
            text,
            gen_length=tokens,
            block_length=block,
            threshold=threshold,
            editing_threshold=editing_threshold,
            max_post_steps=max_post_steps,
        )
        assert found.canvases == expected
        after += posts
        edits += sum(
            first not in (MASK, second)
            for before, later in pairwise(expected)
            for first, second in zip(before, later, strict=True)
        )
    # Some blocks run into the bound, under the higher thresholds others settle before; without edits all do at once.
    assert (edits > 0) == (editing_threshold < 1.0)
    assert max(after) == (max_post_steps if edits else 1)
    assert editing_threshold < 0.5 or min(after) == 1
