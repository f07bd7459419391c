"""The training objective: one pass over packed rows, for every way a model may generate.

Canvas positions get DiffusionGemma's flat cross-entropy (all canvas tokens, corrupted or clean, unweighted) or the
likelihood bound that LLaDA and MDLM are trained with; the clean half gets an autoregressive cross-entropy. Without
canvases only the latter remains, so the autoregressive twin is the same program on the same documents. A teacher adds a
term: its autoregressive predictions, computed now or stored with the data, when a model is adapted; its predictions on
the same canvas with less noise when a model is distilled to fewer steps.
"""

# B rows, T positions of a row, N positions, D model, V vocabulary

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.config import check_range
from sfumato.data.packing import IGNORED, PackedBatch, deciding
from sfumato.diffusion.loss import nelbo_of_denoiser
from sfumato.diffusion.process import Process, sample_t
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder
from sfumato.models.model import Attention
from sfumato.models.sparse import select_masked_attention
from sfumato.training.distillation import DistillationTarget, canvas_target, clean_target, stored_target
from sfumato.training.unroll import Unroll, draw_unroll


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig:
    """Loss terms, and how canvases are corrupted."""

    canvas_weight: float = 1.0
    """Weight of the loss on canvas positions."""
    canvas_loss: Literal["flat", "bound"] = "flat"
    """The canvas loss: "flat" is the mean cross-entropy of all positions; "bound" the integrand of the bound on the
    negative log-likelihood under the noise: with masks, cross-entropy of masked tokens over t (LLaDA, Nie et al. 2025,
    arXiv 2502.09992); with random tokens, that of UDLM or GIDD. See `sfumato.diffusion.loss`."""
    ar_weight: float = 1.0
    """Weight of the next-token cross-entropy on the clean half of responses."""
    length_weight: float = 0.0
    """Weight of the length head's cross-entropy, one term per document."""
    teacher_weight: float = 0.0
    """Weight of the divergence from a teacher's prediction, over its likeliest tokens, at canvas positions."""
    teacher: Literal["ar", "stored", "canvas"] = "ar"
    """The teacher's input: "ar" reads the clean half, for documents with their response there (ar_share); "stored" is
    the same, computed when the documents were written (`sfumato data synth --top-k`), so it costs nothing here;
    "canvas" reads the same canvas at a lower noise level, the next point on the same path back from noise (Sahoo et al.
    2025, Duo, arXiv 2506.10892)."""
    teacher_until: float = 1.0
    """Share of the run after which the teacher's weight, falling linearly, is 0; 1 keeps it constant."""
    teacher_step: float = 0.25
    """How much lower a "canvas" teacher's noise level is."""
    teacher_top: int = 64
    """Number of the teacher's likeliest tokens used."""
    sharpen_weight: float = 0.0
    """Weight of the entropy, at temperature 1/2, of correct canvas predictions: certain tokens can be accepted together
    (Chen et al. 2025, dParallel, arXiv 2509.26488)."""
    t_min: float = 1e-3
    """Lowest noise level drawn."""
    t_max: float = 1.0
    """Highest noise level drawn."""
    span_share: float = 0.0
    """Share of canvases whose noise covers one random interval, or everything else, at the drawn level, and the rest at
    a second, lower level: states that samplers and infilling meet, but independent noise hardly ever shows."""
    noised_only: bool = False
    """Supervise only changed positions instead of the whole canvas."""
    mask_until: float = 0.0
    """Share of the run during which canvases use mask noise instead of the process's own, with a probability falling
    from 1 to 0; 0 never does. Needs a mask token."""
    self_conditioning_from: float = 0.0
    """Share of the run after which self-conditioning is trained."""
    self_conditioning_share: float = 0.5
    """Share of batches whose canvases read the soft embedding of a first pass without gradient."""
    unroll_from: float = 1.0
    """Share of the run after which that first pass also writes; 1 never does."""
    unroll_share: float = 0.5
    """Share of canvases that hold, in the second pass, tokens drawn from the first, some of them renoised: plausible
    mistakes, which noise alone never shows. Under noise, two copies of a result that agree are right; in a model's own
    writing both may be wrong (SUNDAE, Savinov et al. 2022, arXiv 2112.06749)."""

    def __post_init__(self) -> None:
        check_range(self, "canvas_weight ar_weight length_weight teacher_weight sharpen_weight", 0)
        check_range(self, "t_min t_max span_share mask_until unroll_from unroll_share teacher_until teacher_step", 0, 1)
        check_range(self, "self_conditioning_from self_conditioning_share", 0, 1)
        check_range(self, "teacher_top", 1)
        for name, only in (("noised_only", False), ("unroll_from", 1.0), ("mask_until", 0.0)):
            if self.canvas_loss == "bound" and getattr(self, name) != only:
                raise ConfigError(f'{name} is {getattr(self, name)} and canvas_loss is "bound"; allowed: {only}')
        if self.canvas_loss == "bound" and self.t_min <= 0.0:
            raise ConfigError(f't_min is {self.t_min} and canvas_loss is "bound"; allowed: more than 0')
        if self.t_min >= self.t_max:
            raise ConfigError(f"t_min is {self.t_min}; allowed: below t_max = {self.t_max}")

    @property
    def asks_teacher(self) -> bool:
        """Whether a teacher model is run during training."""
        return self.teacher_weight > 0.0 and self.teacher != "stored"

    @property
    def stored_teacher(self) -> bool:
        """Whether a teacher's predictions must come with the documents."""
        return self.teacher_weight > 0.0 and self.teacher == "stored"

    def weights(self, share_done: float) -> dict[str, float]:
        """Weight of each active term, by name, at a point of the run."""
        falling = 1.0 if self.teacher_until == 1.0 else max(0.0, 1.0 - share_done / max(self.teacher_until, 1e-9))
        weights = {
            "canvas": self.canvas_weight,
            "ar": self.ar_weight,
            "length": self.length_weight,
            "teacher": self.teacher_weight * falling,
            "sharpen": self.sharpen_weight,
        }
        return {name: weight for name, weight in weights.items() if weight > 0.0}


@dataclass(frozen=True)
class Bound:
    """Inputs of a likelihood bound."""

    process: Process
    noisy_BT: Tensor
    """int64, the canvases, not shifted."""
    t_BT: Tensor
    """float32, noise levels."""

    def sum(self, logits_NV: Tensor, targets_N: Tensor, on_canvas_BT: Tensor) -> Tensor:
        """Loss of the supervised canvas positions, in nats."""
        noisy_N, t_N = self.noisy_BT[on_canvas_BT], self.t_BT[on_canvas_BT]
        return nelbo_of_denoiser(self.process, logits_NV, targets_N, noisy_N, t_N).sum()


@dataclass(frozen=True)
class TrainingBatch:
    """A corrupted batch, ready for the model."""

    tokens_BT: Tensor
    """int64, with noise on the canvases."""
    positions_BT: Tensor
    """int64 rotary positions."""
    attention: Attention
    targets_BT: Tensor
    """int64, IGNORED where nothing is supervised."""
    canvas_BT: Tensor
    """bool, True on canvases."""
    on_canvas_BT: Tensor
    """bool, the supervised canvas positions."""
    on_clean_BT: Tensor
    """bool, the supervised positions of clean halves."""
    given_BT: Tensor
    """bool, where the token read is given."""
    lengths_BT: Tensor
    """int64, where a length head reads, the number of tokens to come; 0 elsewhere."""
    shift: int
    known_BT: Tensor
    """bool, where the token to decide is known: given, or visible under mask noise."""
    known_tokens_BT: Tensor
    """int64, those tokens."""
    self_conditioned: bool
    """Whether there is a first pass, whose soft embedding the canvases read if the model has self-conditioning."""
    unroll: Unroll | None = None
    """What that pass writes, if anything."""
    target: DistillationTarget | None = None
    """The teacher's predictions, if needed."""
    bound: Bound | None = None
    """Inputs of the canvas loss, unless it is flat."""
    accompanied: bool = False
    """Whether any process has a first pass: then all run one, and batches without it read zeros."""
    features_VF: Tensor | None = None
    """int64, of the lexicon that tokens are ids of, for models that compute their embeddings."""
    weights_BT: Tensor | None = None
    """float32, weight of each supervised token; None weighs all equally."""
    length_weights_BT: Tensor | None = None
    """float32, weight of each length."""

    def to(self, device: torch.device) -> TrainingBatch:
        """This batch with its own tensors on a device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {name: one.to(device) for name, one in values.items() if isinstance(one, Tensor)}
        return replace(self, **moved)

    def first_pass(self, model: Decoder) -> bool:
        """Whether a first pass affects this batch's canvases."""
        return self.self_conditioned and (model.config.self_conditioning or self.unroll is not None)

    def counts(self) -> dict[str, int]:
        """Number of positions or documents in each term's sum, by name."""
        return {
            "canvas": _count(self.on_canvas_BT, self.weights_BT),
            "ar": _count(self.on_clean_BT, self.weights_BT),
            "length": _count(self.lengths_BT > 0, self.length_weights_BT),
            "teacher": 0 if self.target is None else int(self.target.taught_BT.sum()),
            "sharpen": int(self.on_canvas_BT.sum()),
        }


def _count(supervised_BT: Tensor, weights_BT: Tensor | None) -> int:
    return int((supervised_BT if weights_BT is None else weights_BT[supervised_BT]).sum())


def corrupt(
    batch: PackedBatch,
    process: Process,
    config: ObjectiveConfig,
    share_done: float,
    generator: torch.Generator,
    *,
    less: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Add noise to the canvases of a batch, each at its own level.

    Args:
        share_done: share of the run that is done, in [0, 1].
        less: lowers every level; the same draws with a larger value are further along the same path to the text.

    Returns:
        tokens_BT: int64; clean halves unchanged.
        t_BT: float32, level of each position; 0 on clean halves and on given tokens around a gap.
    """
    num_rows = batch.tokens_BT.shape[0]
    num_canvases = max(1, int(batch.canvases_BT.max()))
    levels = sample_t(num_rows * num_canvases, generator, config.t_min, config.t_max).view(num_rows, -1)
    t_BT = torch.cat((torch.zeros(num_rows, 1), levels), dim=1).gather(1, batch.canvases_BT)
    if config.span_share > 0.0:
        t_BT = torch.where(_outside_span(batch, num_canvases, config.span_share, generator), t_BT * t_BT, t_BT)
    t_BT = torch.where(batch.given_BT > 0, 0.0, t_BT)
    t_BT = (t_BT - less).clamp_min(0.0)
    noisy_BT = process.corrupt(batch.tokens_BT, t_BT, generator)
    if share_done < config.mask_until:
        if process.mask_id is None:
            raise ConfigError(f"mask_until is {config.mask_until}; allowed with this noise: 0 (it has no mask token)")
        share = 1.0 - share_done / config.mask_until
        chosen = torch.rand((num_rows, num_canvases + 1), generator=generator) < share
        kept_BT = torch.rand(t_BT.shape, generator=generator) >= t_BT
        masked_BT = torch.where(kept_BT, batch.tokens_BT, process.mask_id)
        noisy_BT = torch.where(chosen.gather(1, batch.canvases_BT), masked_BT, noisy_BT)
    return torch.where(batch.canvases_BT > 0, noisy_BT, batch.tokens_BT), t_BT


def _outside_span(batch: PackedBatch, num_canvases: int, share: float, generator: torch.Generator) -> Tensor:
    """bool_BT: for canvases chosen for span noise, the positions outside their random interval."""
    num_rows = batch.tokens_BT.shape[0]
    chosen = torch.rand((num_rows, num_canvases + 1), generator=generator) < share
    ends = torch.rand((2, num_rows, num_canvases + 1), generator=generator).sort(dim=0).values
    # Two draws in four reach the end of the canvas: the text so far is settled, the rest is noise. One in four is
    # inverted: both ends are noise, and nothing at the start can be copied from the end.
    kind = torch.rand((num_rows, num_canvases + 1), generator=generator)
    ends[1] = torch.where(kind < 0.5, 1.0, ends[1])
    lengths = torch.zeros((num_rows, num_canvases + 1)).scatter_add_(
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
) -> TrainingBatch:
    """Corrupt a batch and choose what is supervised.

    Args:
        share_done: share of the run that is done, in [0, 1].
        generator: CPU generator that decides all randomness.
    """
    before = generator.get_state()
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
        unroll = draw_unroll(batch, process, config.unroll_share, noisy_BT, t_BT, generator, device)
    tokens_BT, positions_BT, reads = batch.inputs(noisy_BT)
    lengths_BT = batch.lengths_BT
    if batch.moved:
        # The last token of a prompt is read at the start of the canvas.
        lengths_BT = torch.where(batch.documents_BT == batch.documents_BT.roll(-1, dims=1), lengths_BT.roll(-1, 1), 0)
    teacher = config.teacher if "teacher" in config.weights(share_done) else None
    target: DistillationTarget | None = None
    if teacher == "ar":
        target = clean_target(batch, on_canvas_BT, device)
    elif teacher == "stored":
        target = stored_target(batch, on_canvas_BT, device)
    elif teacher == "canvas":
        again = torch.Generator().set_state(before)
        easier_BT, _ = corrupt(batch, process, config, share_done, again, less=config.teacher_step)
        target = canvas_target(batch, easier_BT, on_canvas_BT, device)
    known_BT = batch.given_BT > 0
    if not process.has_uniform:
        known_BT |= canvas_BT & (noisy_BT != process.mask_id)
    return TrainingBatch(
        tokens_BT=tokens_BT,
        positions_BT=positions_BT,
        attention=select_masked_attention(reads.mask(device)),
        targets_BT=batch.targets_BT,
        canvas_BT=canvas_BT,
        on_canvas_BT=on_canvas_BT,
        on_clean_BT=supervised_BT & ~canvas_BT,
        given_BT=batch.read_given_BT > 0,
        lengths_BT=lengths_BT,
        shift=batch.shift,
        known_BT=known_BT,
        known_tokens_BT=batch.tokens_BT,
        self_conditioned=self_conditioned,
        unroll=unroll,
        target=target,
        bound=Bound(process, noisy_BT.to(device), t_BT.to(device)) if config.canvas_loss == "bound" else None,
    ).to(device)


def losses(
    decoder: Decoder,
    batch: TrainingBatch,
    *,
    weights: Mapping[str, float] = MappingProxyType({}),
    teacher: Decoder | None = None,
    teacher_top: int = 64,
) -> dict[str, Tensor]:
    """The terms of one batch, each a sum over `TrainingBatch.counts`, in nats.

    Args:
        weights: from `ObjectiveConfig.weights`; costly terms without a weight are skipped.
        teacher: the teacher model, unless its predictions are stored.
    """
    model = decoder if batch.features_VF is None else decoder.bind(batch.features_VF)
    tokens_BT, soft_BTD = batch.tokens_BT, None
    marks = {"given_RQ": batch.given_BT} if model.config.given_embedding else {}
    reads = batch.first_pass(decoder)
    if reads or batch.accompanied:
        with torch.no_grad():
            hidden_BTD = model(
                batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT, soft_RQD=None, **marks
            )
            if reads:
                probs_BTV = model.logits(deciding(hidden_BTD, batch.shift)).softmax(-1)
            if model.config.self_conditioning:
                soft_BTD = torch.zeros_like(hidden_BTD)
                if reads:
                    soft_BTD = model.soft_embedding(probs_BTV) * batch.canvas_BT[:, :, None]
                    known_BTD = model.token_embedding(batch.known_tokens_BT)
                    soft_BTD = torch.where(batch.known_BT[:, :, None], known_BTD, soft_BTD)
            if batch.unroll is not None:
                tokens_BT = torch.where(batch.canvas_BT, batch.unroll.write(probs_BTV), tokens_BT)
    hidden_BTD = model(
        tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT, soft_RQD=soft_BTD, **marks
    )
    canvas_NV = model.logits(deciding(hidden_BTD, batch.shift)[batch.on_canvas_BT])
    targets_N = batch.targets_BT[batch.on_canvas_BT]
    if batch.bound is None:
        of_canvases = cross_entropy(canvas_NV, targets_N, _at(batch.weights_BT, batch.on_canvas_BT))
    else:
        of_canvases = batch.bound.sum(canvas_NV, targets_N, batch.on_canvas_BT)
    clean_NV = model.logits(hidden_BTD[batch.on_clean_BT])
    clean_weights_N = _at(batch.weights_BT, batch.on_clean_BT)
    clean = cross_entropy(clean_NV, batch.targets_BT[batch.on_clean_BT], clean_weights_N)
    terms = {"canvas": of_canvases, "ar": clean}
    if "sharpen" in weights:
        terms["sharpen"] = right_entropy(canvas_NV, targets_N)
    if "teacher" in weights and batch.target is not None:
        taught_N = batch.target.taught_BT[batch.on_canvas_BT]
        ids_NK, wanted_NK = batch.target.topk(teacher, teacher_top)
        own_NK = canvas_NV[taught_N].log_softmax(-1).gather(1, ids_NK)
        terms["teacher"] = (wanted_NK.exp() * (wanted_NK - own_NK)).sum()
    read_BT = batch.lengths_BT > 0
    if model.length_buckets:
        edges = torch.tensor(model.length_buckets, device=read_BT.device)
        bucket_N = torch.bucketize(batch.lengths_BT[read_BT], edges)
        weights_N = _at(batch.length_weights_BT, read_BT)
        terms["length"] = cross_entropy(model.length_logits(hidden_BTD[read_BT]), bucket_N, weights_N)
    return terms


def _at(weights_BT: Tensor | None, where_BT: Tensor) -> Tensor | None:
    """The weights at some positions, if there are any."""
    return None if weights_BT is None else weights_BT[where_BT]


def cross_entropy(logits_NV: Tensor, targets_N: Tensor, weights_N: Tensor | None = None) -> Tensor:
    """Cross-entropy summed over corrupted and clean tokens alike, weighted if there are weights, in nats.

    Source: the objective of DiffusionGemma (google-deepmind/gemma, hackable_diffusion_adapter).
    """
    wide = torch.promote_types(logits_NV.dtype, torch.float32)
    nats_N: Tensor = functional.cross_entropy(logits_NV.to(wide), targets_N, reduction="none")
    return nats_N.sum() if weights_N is None else (nats_N * weights_N).sum()


def right_entropy(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """Summed entropy at temperature 1/2 where the likeliest token is correct, in nats.

    Source: Chen et al. 2025, dParallel, arXiv 2509.26488, equation 5.
    """
    sharp_MV = (logits_NV[logits_NV.argmax(-1) == targets_N] / 0.5).log_softmax(-1)
    return -(sharp_MV.exp() * sharp_MV).sum()
