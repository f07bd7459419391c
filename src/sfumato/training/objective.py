"""What a training step minimises: one pass over packed rows, however the model is meant to generate.

Canvas positions carry DiffusionGemma's flat cross-entropy (all canvas tokens, corrupted and clean, unweighted), the
clean half an autoregressive cross-entropy. Without canvases the second term is all there is, which makes the
autoregressive twin the same program on the same documents.
"""

# B rows, T positions of a row, D model, V vocabulary

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.data.packing import IGNORED, PackedBatch, shift_right
from sfumato.diffusion.loss import flat_cross_entropy
from sfumato.diffusion.process import Process
from sfumato.diffusion.schedule import sample_t
from sfumato.errors import ConfigError
from sfumato.models.attention import AttentionSpec
from sfumato.models.decoder import Decoder


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig:
    """Terms of the loss and how canvases are corrupted."""

    canvas_weight: float = 1.0
    """Weight of the cross-entropy on canvas positions."""
    ar_weight: float = 1.0
    """Weight of the next-token cross-entropy on the clean half of responses."""
    length_weight: float = 0.0
    """Weight of the length head's cross-entropy, a term for each document (models that have one)."""
    t_min: float = 1e-3
    """Lowest noise level drawn."""
    t_max: float = 1.0
    """Highest noise level drawn."""
    span_share: float = 0.0
    """Share of canvases whose noise covers one random interval, or all but one, at the level drawn, over a second,
    lower level elsewhere: the states that samplers and infilling meet, which independent noise hardly ever shows."""
    noised_only: bool = False
    """Supervise only positions whose token was changed, instead of the whole canvas."""
    mask_until: float = 0.0
    """Share of the run over which canvases take mask instead of the process's own noise with a probability falling
    from 1 to 0; 0 never does. Needs a mask token."""
    self_conditioning_from: float = 0.0
    """Share of the run after which self-conditioning is trained (models that have it)."""
    self_conditioning_share: float = 0.5
    """Share of batches whose canvases read the soft embedding of a first, gradient-free pass."""
    unroll_from: float = 1.0
    """Share of the run after which such a first pass also writes: 1 never does."""
    unroll_share: float = 0.5
    """Share of canvases that hold, in the second pass, tokens drawn from the first, some put back to noise: mistakes
    that look right, which noise alone never shows. Two copies of a result that agree are right under noise; of a
    model's own writing they may both be wrong (SUNDAE, Savinov et al. 2022, arXiv 2112.06749)."""

    def __post_init__(self) -> None:
        for name in ("canvas_weight", "ar_weight", "length_weight"):
            if not getattr(self, name) >= 0.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: 0 or more")
        for name in (
            "t_min",
            "t_max",
            "span_share",
            "mask_until",
            "self_conditioning_from",
            "self_conditioning_share",
            "unroll_from",
            "unroll_share",
        ):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: 0 to 1")
        if self.t_min >= self.t_max:
            raise ConfigError(f"t_min is {self.t_min}; allowed: below t_max = {self.t_max}")


@dataclass(frozen=True)
class Unroll:
    """What a first pass writes on the canvases before the second."""

    canvas_BT: Tensor
    """int64, the canvases as they stand, not shifted."""
    uniforms_BT: Tensor
    """float32 in [0, 1), one for each draw."""
    taken_BT: Tensor
    """bool, where the drawn token is taken."""
    before_BT: Tensor | None
    """int64, see `PackedBatch.before_BT`; None where canvases are not shifted."""

    def write(self, probs_BTV: Tensor) -> Tensor:
        """What the canvases hold in the second pass.

        Args:
            probs_BTV: prediction of the first.

        Returns:
            tokens_BT: int64, shifted if the canvases are; of no meaning outside of them.
        """
        running_BTV = probs_BTV.cumsum(-1)
        below_BT1 = (self.uniforms_BT * running_BTV[..., -1])[..., None]
        drawn_BT = torch.searchsorted(running_BTV, below_BT1, right=True)[..., 0].clamp_max(probs_BTV.shape[-1] - 1)
        canvas_BT = torch.where(self.taken_BT, drawn_BT, self.canvas_BT)
        return canvas_BT if self.before_BT is None else shift_right(canvas_BT, self.before_BT)


@dataclass(frozen=True)
class TrainingBatch:
    """A corrupted batch, ready for the model."""

    tokens_BT: Tensor
    """int64, noise on the canvases."""
    positions_BT: Tensor
    """int64 rotary positions."""
    attention: AttentionSpec
    """See `PackedBatch.inputs`."""
    targets_BT: Tensor
    """int64, IGNORED where nothing is supervised."""
    canvas_BT: Tensor
    """bool, True on canvases."""
    on_canvas_BT: Tensor
    """bool, the supervised canvas positions."""
    on_clean_BT: Tensor
    """bool, the supervised positions of clean halves."""
    given_BT: Tensor
    """bool, where the token that is read is given."""
    lengths_BT: Tensor
    """int64, where a length head reads, the number of tokens to come; 0 elsewhere."""
    known_BT: Tensor
    """bool, where the token that is decided is given."""
    known_tokens_BT: Tensor
    """int64, those tokens."""
    self_conditioned: bool
    """True if there is a first pass, whose soft embedding the canvases read if the model has self-conditioning."""
    unroll: Unroll | None = None
    """What that pass writes, if it writes."""
    accompanied: bool = False
    """True if some process has a first pass: then all of them do one, and a batch that has none reads zeros."""

    def first_pass(self, model: Decoder) -> bool:
        """Whether this batch's canvases read something of a first pass, or are written on by it."""
        return self.self_conditioned and (model.config.self_conditioning or self.unroll is not None)


def corrupt(
    batch: PackedBatch,
    process: Process,
    config: ObjectiveConfig,
    share_done: float,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Put noise on the canvases of a batch, each at a level of its own.

    Args:
        batch: clean rows.
        process: the noise.
        config: range of levels, share of mask noise.
        share_done: share of the run that is done, in [0, 1].
        generator: source of every draw.

    Returns:
        tokens_BT: int64; clean halves unchanged.
        t_BT: float32, the level of each position; 0 on clean halves, and at what is given around a gap.
    """
    num_rows = batch.tokens_BT.shape[0]
    most = max(1, int(batch.canvases_BT.max()))
    levels = sample_t(num_rows * most, generator, config.t_min, config.t_max).view(num_rows, -1)
    t_BT = torch.cat((torch.zeros(num_rows, 1), levels), dim=1).gather(1, batch.canvases_BT)
    if config.span_share > 0.0:
        t_BT = torch.where(_outside_span(batch, most, config.span_share, generator), t_BT * t_BT, t_BT)
    t_BT = torch.where(batch.given_BT > 0, 0.0, t_BT)
    noisy_BT = process.corrupt(batch.tokens_BT, t_BT, generator)
    if share_done < config.mask_until:
        if process.mask_id is None:
            raise ConfigError(f"mask_until is {config.mask_until}; allowed with this noise: 0 (it has no mask token)")
        share = 1.0 - share_done / config.mask_until
        chosen = torch.rand((num_rows, most + 1), generator=generator) < share
        kept_BT = torch.rand(t_BT.shape, generator=generator) >= t_BT
        masked_BT = torch.where(kept_BT, batch.tokens_BT, process.mask_id)
        noisy_BT = torch.where(chosen.gather(1, batch.canvases_BT), masked_BT, noisy_BT)
    return torch.where(batch.canvases_BT > 0, noisy_BT, batch.tokens_BT), t_BT


def _outside_span(batch: PackedBatch, most: int, share: float, generator: torch.Generator) -> Tensor:
    """bool_BT: positions of canvases chosen for span noise that lie outside their random interval."""
    num_rows = batch.tokens_BT.shape[0]
    chosen = torch.rand((num_rows, most + 1), generator=generator) < share
    ends = torch.rand((2, num_rows, most + 1), generator=generator).sort(dim=0).values
    # Two draws in four reach to the end of the canvas: the text so far is settled, the rest is noise. One in four turns
    # inside out: both ends are noise, and what stands at the top cannot be copied from the bottom.
    kind = torch.rand((num_rows, most + 1), generator=generator)
    ends[1] = torch.where(kind < 0.5, 1.0, ends[1])
    lengths = torch.zeros((num_rows, most + 1)).scatter_add_(
        1, batch.canvases_BT, torch.ones_like(batch.tokens_BT, dtype=torch.float32)
    )
    canvas = batch.canvases_BT
    place_BT = (batch.positions_BT - batch.starts_BT + 0.5) / lengths.gather(1, canvas)
    inside_BT = (place_BT >= ends[0].gather(1, canvas)) & (place_BT < ends[1].gather(1, canvas))
    inside_BT ^= (kind >= 0.75).gather(1, canvas)
    return chosen.gather(1, canvas) & ~inside_BT & (canvas > 0)


def prepare(
    batch: PackedBatch,
    process: Process,
    config: ObjectiveConfig,
    *,
    share_done: float,
    generator: torch.Generator,
    device: torch.device,
    logit_shift: bool = False,
) -> TrainingBatch:
    """Corrupt a batch and decide what is supervised.

    Args:
        batch: clean rows.
        process: the noise.
        config: levels and terms.
        share_done: share of the run that is done, in [0, 1].
        generator: CPU generator that decides all randomness.
        device: where the result goes.
        logit_shift: canvases too predict the token after each position.
    """
    noisy_BT, t_BT = corrupt(batch, process, config, share_done, generator)
    canvas_BT = batch.canvases_BT > 0
    supervised_BT = batch.targets_BT != IGNORED
    on_canvas_BT = supervised_BT & canvas_BT
    if config.noised_only:
        on_canvas_BT &= noisy_BT != batch.tokens_BT
    draw = float(torch.rand((), generator=generator))
    self_conditioned = (
        share_done >= config.self_conditioning_from and draw < config.self_conditioning_share and bool(canvas_BT.any())
    )
    unroll = None
    if self_conditioned and share_done >= config.unroll_from and config.unroll_from < 1.0:
        unroll = _unroll(batch, process, config, noisy_BT, t_BT, generator, device, logit_shift)
    tokens_BT, positions_BT, mask_B1TT = batch.inputs(noisy_BT, logit_shift=logit_shift)
    given_BT, lengths_BT = batch.given_BT, batch.lengths_BT
    if logit_shift:
        # The last token of a prompt is read at the head of the canvas.
        given_BT = torch.where(canvas_BT, shift_right(given_BT, batch.before_BT.clamp_max(0)), 0)
        lengths_BT = torch.where(batch.documents_BT == batch.documents_BT.roll(-1, dims=1), lengths_BT.roll(-1, 1), 0)
    return TrainingBatch(
        tokens_BT=tokens_BT.to(device),
        positions_BT=positions_BT.to(device),
        attention=AttentionSpec(mask=mask_B1TT.to(device)),
        targets_BT=batch.targets_BT.to(device),
        canvas_BT=canvas_BT.to(device),
        on_canvas_BT=on_canvas_BT.to(device),
        on_clean_BT=(supervised_BT & ~canvas_BT).to(device),
        given_BT=(given_BT > 0).to(device),
        lengths_BT=lengths_BT.to(device),
        known_BT=(batch.given_BT > 0).to(device),
        known_tokens_BT=batch.tokens_BT.to(device),
        self_conditioned=self_conditioned,
        unroll=unroll,
    )


def _unroll(
    batch: PackedBatch,
    process: Process,
    config: ObjectiveConfig,
    noisy_BT: Tensor,
    t_BT: Tensor,
    generator: torch.Generator,
    device: torch.device,
    logit_shift: bool,
) -> Unroll:
    """Draw which canvases are written on, and where: as in a sampler's step from t to a lower level, what is not taken
    is noise."""
    canvases_BT = batch.canvases_BT
    sizes = (noisy_BT.shape[0], int(canvases_BT.max()) + 1)
    chosen_BT = (torch.rand(sizes, generator=generator) < config.unroll_share).gather(1, canvases_BT) & (t_BT > 0)
    s_BT = t_BT * torch.rand(sizes, generator=generator).gather(1, canvases_BT)
    kept_BT = torch.rand(s_BT.shape, generator=generator) < process.schedule.alpha(s_BT)
    noise_BT = process.noise(torch.rand(s_BT.shape, generator=generator), s_BT)
    return Unroll(
        canvas_BT=torch.where(chosen_BT, noise_BT, noisy_BT).to(device),
        uniforms_BT=torch.rand(s_BT.shape, generator=generator).to(device),
        taken_BT=(chosen_BT & kept_BT).to(device),
        before_BT=batch.before_BT.to(device) if logit_shift else None,
    )


def losses(
    model: Decoder, batch: TrainingBatch, *, forward: Callable[..., Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Summed cross-entropies of one batch, in nats.

    Args:
        model: the decoder in training.
        batch: from `prepare`.
        forward: a compiled form of the model's forward; None calls the model.

    Returns:
        canvas_sum: over `on_canvas_BT`, own token.
        clean_sum: over `on_clean_BT`, next token.
        length_sum: of the length head, over the documents; 0 without one.
    """
    forward = forward or model
    tokens_BT, soft_BTD = batch.tokens_BT, None
    marks = {"given_RQ": batch.given_BT} if model.config.given_embedding else {}
    reads = batch.first_pass(model)
    if reads or batch.accompanied:
        with torch.no_grad():
            hidden_BTD = forward(
                batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT, soft_RQD=None, **marks
            )
            if reads:
                probs_BTV = model.logits(hidden_BTD).softmax(-1)
            if model.config.self_conditioning:
                soft_BTD = torch.zeros_like(hidden_BTD)
                if reads:
                    soft_BTD = model.soft_embedding(probs_BTV) * batch.canvas_BT[:, :, None]
                    known_BTD = model.token_embedding(batch.known_tokens_BT)
                    soft_BTD = torch.where(batch.known_BT[:, :, None], known_BTD, soft_BTD)
            if batch.unroll is not None:
                tokens_BT = torch.where(batch.canvas_BT, batch.unroll.write(probs_BTV), tokens_BT)
    hidden_BTD = forward(
        tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT, soft_RQD=soft_BTD, **marks
    )
    sums = []
    for chosen_BT in (batch.on_canvas_BT, batch.on_clean_BT):
        logits_NV = model.logits(hidden_BTD[chosen_BT])
        sums.append(flat_cross_entropy(logits_NV, batch.targets_BT[chosen_BT])[0])
    length_sum = sums[0].new_zeros(())
    read_BT = batch.lengths_BT > 0
    if model.length_buckets:
        edges = torch.tensor(model.length_buckets, device=read_BT.device)
        bucket_N = torch.bucketize(batch.lengths_BT[read_BT], edges)
        length_sum = functional.cross_entropy(model.length_logits(hidden_BTD[read_BT]), bucket_N, reduction="sum")
    return sums[0], sums[1], length_sum
