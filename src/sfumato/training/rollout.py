"""Rollouts: answers recorded step by step, and replayed with gradients.

A canvas is a trajectory: each step draws a token at every free position, accepts some and renoises the rest. If
entropies, margins or chance decide what is accepted, the trajectory's log-probability is the sum, over steps and
accepted positions, of the drawn tokens': noise has no parameters. If the drawn tokens' own probability decides, it is
the sum over all drawn tokens: accepted ones alone are biased towards likely tokens, which would be made less likely
wherever answers are mostly wrong, that is, where the model is unsure (docs/log). The distribution is the one the
sampler drew from, at its temperature, given the recorded canvas and soft embedding, which count as observed.

If the draft is committed, the last step is not a draw. Learning from it as if it were one would weaken likely but
unsure tokens, which wrong answers end with more often: entropies would rise and scores fall. But then nothing
constrains draft tokens at positions that are never accepted; with `commit_sample` every answer token is a draw.

Source: a denoising step as an action, DDPO, Black et al. 2023, arXiv 2305.13301.
"""

# B steps, L canvas, W positions of a row, A positions before it, N decided positions, D model, V vocabulary

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.errors import ConfigError
from sfumato.kernels.base import attend, readable
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec, Heads
from sfumato.sampling.canvas import CanvasRecord, StepRecord
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.logits import COLD, NEVER
from sfumato.spec import GenerationSpec

# Smallest probability that a float32 softmax distinguishes from 0.
_LEAST = 1e-30


@dataclass(frozen=True)
class SharedPrefix:
    """One text and several rows after it, packed as [1, A + B * W]; a row attends to the text and to all of itself.

    Text shared by several canvas steps is computed once, and gradients pass through it.
    """

    num_prefix: int
    """Positions A of the text; 0 for rows without text."""
    num_rows: int
    """Number B of rows, each of length W."""
    prefix: AttentionSpec
    """How the text attends to itself."""

    def attend(self, layer: int, heads: Heads, *, window: int | None = None, scale: float | None = None) -> Tensor:
        """See `Attention`; R is 1. Windows are not supported."""
        assert window is None
        text = Heads(*(each[:, : self.num_prefix] for each in heads))
        rows = Heads(*(torch.unflatten(each[0, self.num_prefix :], 0, (self.num_rows, -1)) for each in heads))
        if not self.num_prefix:
            return attend(*rows, None, False, scale).flatten(0, 1).unsqueeze(0)
        keys, values = (
            torch.cat((before.expand(self.num_rows, -1, -1, -1), each), dim=1)
            for before, each in zip(text[1:], rows[1:], strict=True)
        )
        out_RQHE = attend(rows.queries_RQHE, keys, values, None, False, scale)
        out_prefix = self.prefix.attend(layer, text, scale=scale)
        return torch.cat((out_prefix, out_RQHE.flatten(0, 1).unsqueeze(0)), dim=1)


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """One answer and its reward."""

    canvases: tuple[CanvasRecord, ...]
    """Its canvases; may be empty for a failed answer."""
    reward: float
    """Reward from the checker."""
    parts: tuple[float, ...] = ()
    """Rewards of its parts."""

    @property
    def num_steps(self) -> int:
        """Denoising steps it took."""
        return sum(len(canvas.steps) for canvas in self.canvases)


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Steps over canvases of one length after one text, to replay in one forward."""

    text: tuple[int, ...]
    """Tokens before the canvases."""
    tokens_BL: Tensor
    """int64; tokens read."""
    frozen_BL: Tensor
    """bool; given tokens."""
    soft_BLD: Tensor | None
    """Soft embeddings read; None without self-conditioning."""
    temperature_B: Tensor
    """float32."""
    decided_BL: Tensor
    """bool; the N decided positions."""
    sampled_N: Tensor
    """int64; tokens drawn there."""
    log_prob_N: Tensor
    """float32; their probabilities."""
    advantage_N: Tensor
    """float32; advantages of the answers."""

    @property
    def num_positions(self) -> int:
        """Number of canvas positions to compute."""
        return self.tokens_BL.numel()


def check_replayable(spec: GenerationSpec, sampler: SamplerConfig) -> None:
    """Refuse settings whose steps are not draws from the model's distribution, or cannot be replayed.

    Raises:
        ConfigError: with the field, its value and what is allowed.
    """
    if spec.autoregressive:
        raise ConfigError(f"canvas_length is {spec.canvas_length}; allowed: 2 or more, a model that denoises canvases")
    if spec.commit == "in_place":
        raise ConfigError(
            "commit is 'in_place'; allowed: 'reencode', because a canvas's cached keys and values cannot be replayed"
        )
    if sampler.sampler.reverse:
        raise ConfigError(
            f"sampler is {sampler.sampler.name!r}, which follows the reverse process; allowed: "
            "one that accepts what it has drawn, such as 'entropy'"
        )
    for name, only in (("top_p", 1.0), ("top_k", 0), ("greedy_tail", 0), ("draft_steps", 0), ("reuse", "none")):
        if getattr(sampler, name) != only:
            raise ConfigError(f"{name} is {getattr(sampler, name)!r}; allowed for replayed steps: {only!r}")
    for name in ("temperature_start", "temperature_end"):
        if not getattr(sampler, name) >= COLD:
            raise ConfigError(f"{name} is {getattr(sampler, name)}; allowed: {COLD} or more, as 0 draws nothing")


def lay_out(rollouts: Iterable[tuple[Rollout, float]], *, device: torch.device, positions: int) -> list[Replay]:
    """Group steps that can be replayed in one forward.

    Args:
        rollouts: answers with advantages.
        positions: maximum canvas positions per forward; a single step may have more.

    Returns:
        The replays, without steps that decided nothing.
    """
    alike: dict[tuple[tuple[int, ...], int], list[tuple[StepRecord, float]]] = {}
    for rollout, advantage in rollouts:
        for canvas in rollout.canvases:
            for step in canvas.steps:
                if bool(step.decisive_L.any()):
                    alike.setdefault((canvas.text, len(step.tokens_L)), []).append((step, advantage))
    replays = []
    for (text, length), steps in alike.items():
        size = max(1, positions // length)
        replays += [_stack(text, steps[i : i + size], device) for i in range(0, len(steps), size)]
    return replays


def _stack(text: tuple[int, ...], decided: list[tuple[StepRecord, float]], device: torch.device) -> Replay:
    steps = [step for step, _ in decided]
    decided_BL = torch.stack([step.decisive_L for step in steps])
    advantage_BL = torch.tensor([advantage for _, advantage in decided])[:, None].expand(decided_BL.shape)
    known = next((step.soft_LD for step in steps if step.soft_LD is not None), None)
    soft_BLD = None
    if known is not None:
        # Zero stands for no prediction yet.
        soft_BLD = torch.stack([torch.zeros_like(known) if step.soft_LD is None else step.soft_LD for step in steps])
    confidence_N = torch.stack([step.confidence_L for step in steps])[decided_BL]
    return Replay(
        text=text,
        tokens_BL=torch.stack([step.tokens_L for step in steps]).to(device),
        frozen_BL=torch.stack([step.frozen_L for step in steps]).to(device),
        soft_BLD=None if soft_BLD is None else soft_BLD.to(device),
        temperature_B=torch.tensor([step.temperature for step in steps], device=device),
        decided_BL=decided_BL.to(device),
        sampled_N=torch.stack([step.sampled_L for step in steps])[decided_BL].to(device),
        log_prob_N=confidence_N.clamp_min(_LEAST).log().to(device),
        advantage_N=advantage_BL[decided_BL].to(device),
    )


@dataclass(frozen=True)
class Policy:
    """A sampler's distribution, as a function of the weights."""

    spec: GenerationSpec
    """How text and canvas are laid out."""
    mask_id: int | None = None
    """Mask token, never drawn."""
    banned_V: Tensor | None = None
    """bool; other tokens never drawn."""

    def log_probs(self, model: Decoder, replay: Replay) -> Tensor:
        """Log-probabilities of decided tokens.

        Args:
            replay: steps, possibly of other weights.

        Returns:
            log_prob_N: float32, with gradient if enabled.
        """
        text = torch.tensor(replay.text, device=replay.tokens_BL.device)
        num_rows, length = replay.tokens_BL.shape
        layout = PrefixLayout(self.spec)
        num_ahead, _, *columns = layout.canvas_positions(len(text), length)
        token_W, canvas_W, logits_W = (torch.from_numpy(column).to(text.device) for column in columns)

        def pack(text_S: Tensor, canvas_BL: Tensor) -> Tensor:
            """[1, N]: the text before, and for each row what it reads of text and canvas."""
            rows_BS = torch.cat((text_S.expand(num_rows, -1), canvas_BL), dim=1)[:, len(text) + token_W]
            return torch.cat((text_S[:num_ahead], rows_BS.flatten())).unsqueeze(0)

        no_text = torch.zeros_like(text, dtype=torch.bool)
        place_W, on_canvas_W = len(text) + token_W, canvas_W >= 0
        canvas_1N = torch.cat((no_text[:num_ahead], on_canvas_W.repeat(num_rows))).unsqueeze(0)
        soft_1ND = None
        if replay.soft_BLD is not None:
            soft_1ND = replay.soft_BLD.new_zeros(*canvas_1N.shape, replay.soft_BLD.shape[2])
            soft_1ND[canvas_1N] = replay.soft_BLD[:, canvas_W[on_canvas_W]].flatten(0, 1)
        hidden_1ND = model(
            pack(text, replay.tokens_BL),
            torch.cat((torch.arange(num_ahead, device=text.device), place_W.repeat(num_rows))).unsqueeze(0),
            SharedPrefix(num_ahead, num_rows, _text_attention(layout, num_ahead, text.device)),
            canvas_RQ=canvas_1N,
            soft_RQD=soft_1ND,
            given_RQ=pack(no_text, replay.frozen_BL) if model.marks_given else None,
        )
        hidden_BWD = hidden_1ND[0, num_ahead:].unflatten(0, (num_rows, len(token_W)))
        hidden_ND = hidden_BWD[:, (logits_W >= 0) & (logits_W < length)][replay.decided_BL]
        temperature_BL = replay.temperature_B[:, None].expand(replay.decided_BL.shape)
        scores_NV = model.logits(hidden_ND) / temperature_BL[replay.decided_BL][:, None]
        if self.mask_id is not None:
            scores_NV = scores_NV.index_fill(1, torch.tensor(self.mask_id, device=scores_NV.device), NEVER)
        if self.banned_V is not None:
            scores_NV = scores_NV.masked_fill(self.banned_V, NEVER)
        return scores_NV.log_softmax(-1).gather(1, replay.sampled_N[:, None]).squeeze(1)


def _text_attention(layout: PrefixLayout, num_text: int, device: torch.device) -> AttentionSpec:
    """How the text before a canvas attends to itself."""
    if layout.block == 1 or not num_text:
        return AttentionSpec(causal=True)
    _, mask_QS = readable(0, num_text, layout.block, device=device)
    return AttentionSpec(mask=None if mask_QS is None else mask_QS[None, None])
