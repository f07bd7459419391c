"""One sampling step: a forward of an injected denoiser, then one decision per row.

Used by the engine and by the plain loop of the tests. Nothing here knows a model, a tokenizer or a cache, and nothing
waits for the device: code branches on shapes and settings, never on a tensor's value.
"""

# R rows, L canvas, V vocab, D model

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from sfumato.diffusion.process import Process
from sfumato.kernels.base import Backend, Statistics
from sfumato.sampling.canvas import CanvasBatch, StepResult
from sfumato.sampling.config import RowSettings
from sfumato.sampling.constraint import Constraint, RowLogits, constrain, constrain_draft
from sfumato.sampling.logits import ConstrainedRow, LogitsReader, StopHead
from sfumato.sampling.samplers.base import Decision, StepLogits, Stream, Turn


class Active(NamedTuple):
    """The positions to compute in a step that skips some."""

    canvas_RL: Tensor
    """bool; canvas positions."""
    whole_R: Tensor
    """bool; rows computed in full, including the text if it reads the canvas."""


class Denoiser(Protocol):
    """A model with its prefixes, as the sampler sees it."""

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, active: Active | None
    ) -> Tensor:
        """Predict the clean canvas at the positions to decide.

        Args:
            tokens_RL: int64; canvas tokens.
            soft_RLD: soft embedding of each row's last prediction; zero or None if there is none yet.
            valid_RL: bool; False for padding, which no valid position may read.
            index_N: int64; positions whose logits are needed, as ascending indices into flattened [R, L].
            active: positions to recompute; the others keep their last keys and values. None is everything.

        Returns:
            logits_NV: float32 (any float works and is widened by tile). A row's logits must depend only on that row.
        """
        ...

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        """Probabilities times the embedding matrix, [R, L, D] for any R and L; for models with
        self-conditioning only."""
        ...

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        """The soft embedding [R, L, D] of known tokens; for models with self-conditioning only."""
        ...


@torch.no_grad()
def step(
    batch: CanvasBatch,
    denoiser: Denoiser,
    process: Process,
    *,
    self_conditioning: bool = False,
    banned: Tensor | None = None,
    constraints: Sequence[Constraint | None] | None = None,
    stop_head: StopHead | None = None,
    backend: Backend | None = None,
    logit_bias: Mapping[int, Mapping[int, float]] | None = None,
    num_top: Mapping[int, int] | None = None,
) -> StepResult:
    """Take one step of every row: one forward, then accept, renoise and test the stop rule.

    A finishing row commits its draft: the argmax, or the token that stays where noise is mask only. Samplers that
    follow the reverse process (`Sampler.reverse`) commit the sample of their last step, which is x_s at s = 0; so do a
    canvas of one position (autoregression) and a config with commit_sample. After its draft_steps, a row takes one more
    step, in which the denoiser reads the draft as text, and commits that step's samples up to the first one that
    differs from the draft. For reverse samplers, a position counts as accepted when its new token is the drawn x_0.

    A row whose logits are NaN or infinite at a position to decide is marked failed and done; the others continue.

    Args:
        batch: canvases, which may be at different steps and under different settings.
        process: the noise the denoiser was trained on.
        self_conditioning: pass the soft embedding of the tempered prediction to the next step.
        banned: bool [V] or [R, V]; tokens never to be sampled or drafted. Frozen tokens are exempt.
        constraints: constraint on each row's text, or None. The committed text then belongs to the language, whatever
            the sampler; tokens that an edit could change stay.
        backend: reads the logits if it can; otherwise torch does.
        logit_bias: for some rows, values added to the logits of some tokens.
        num_top: for some rows, how many of the most probable tokens to return at each open position.

    Returns:
        The batch after the step, and what was decided.
    """
    tokens_RL, free_RL = batch.tokens_RL, batch.free_RL
    active = _active(batch, process)
    awake_RL = None if active is None else active.canvas_RL
    open_RL = _open(batch, process, constraints)
    if awake_RL is not None:
        open_RL = open_RL & awake_RL
    index_N = _positions_to_read(batch, open_RL)
    logits_NV = denoiser(tokens_RL, batch.soft_RLD, batch.valid_RL, index_N, active)
    assert logits_NV.shape[-1] == process.vocab_size, "the process has another vocabulary"
    for row, bias in (logit_bias or {}).items():
        own_N1 = (index_N // tokens_RL.shape[1] == row).unsqueeze(-1)
        tokens, values = torch.tensor([*bias], device=logits_NV.device), logits_NV.new_tensor([*bias.values()])
        logits_NV.index_add_(1, tokens, own_N1 * values)
    constrained: list[ConstrainedRow] = []
    if constraints:
        constrained = _constrain_rows(batch, process, constraints, open_RL, index_N, logits_NV, banned)
    reader = LogitsReader(
        index_N=index_N,
        open_RL=open_RL,
        tokens_RL=tokens_RL,
        temperature_R=batch.temperature_R,
        greedy_R=batch.greedy_R,
        cut=(batch.settings.top_p_R, batch.settings.top_k_R) if batch.settings.cuts else None,
        mask_id=process.mask_id,
        banned=banned,
        constrained=constrained,
        backend=backend,
    )
    soft_embedding = denoiser.soft_embedding if self_conditioning else None
    statistics, soft_ND = reader.read(logits_NV, batch.uniforms(Stream.SAMPLE), soft_embedding)
    if awake_RL is not None:
        # Skipped positions keep their values.
        statistics = statistics._replace(argmax_RL=torch.where(awake_RL, statistics.argmax_RL, batch.draft_RL))
    step_logits = StepLogits(
        logits_NV=logits_NV,
        index_N=index_N,
        tokens_RL=tokens_RL,
        draw=lambda logits_NV, stream: reader.read(logits_NV, batch.uniforms(stream))[0].sampled_RL,
    )
    (accepted_RL, next_RL), finished_R = _decide(batch, _turn(batch, process, statistics, step_logits, awake_RL))
    kept_R = batch.kept_R
    if batch.settings.verifies:
        accepted_RL, statistics, kept_R = _verify(batch, statistics, accepted_RL)
    if awake_RL is not None:
        accepted_RL = torch.where(awake_RL, accepted_RL, batch.accepted_RL)
    if constrained and not process.has_uniform:
        # Accepted tokens must belong to the drawn string, and so must what is filled in beside them.
        constrained_R = torch.zeros_like(batch.done_R)
        constrained_R[[one.row for one in constrained]] = True
        argmax_RL = torch.where(constrained_R.unsqueeze(-1), statistics.sampled_RL, statistics.argmax_RL)
        statistics = statistics._replace(argmax_RL=argmax_RL)
    stop_R, met_R, stable_R, draft_RL = _review(batch, process, statistics, next_RL, finished_R, stop_head, awake_RL)
    drafted_R = stop_R & batch.settings.verifies_R & ~batch.verifying_R
    next_RL = torch.where(stop_R.unsqueeze(-1), draft_RL, next_RL)

    running_R = ~batch.done_R
    failed_R = running_R & statistics.margin_RL.isnan().any(-1)
    moving_R = running_R & ~failed_R
    change_RL = moving_R.unsqueeze(-1) & free_RL
    accepted_RL = accepted_RL & change_RL
    draft_RL = torch.where(change_RL, draft_RL, batch.draft_RL)
    revised_RL = batch.ever_accepted_RL & (draft_RL != batch.draft_RL)
    soft_RLD = batch.soft_RLD
    if soft_ND is not None:
        known_RL = ~open_RL if awake_RL is None else ~open_RL & awake_RL
        soft_RLD = _condition(batch, process, denoiser, index_N, soft_ND, known_RL, moving_R, awake_RL)
    block_R, next_block_R = _block(batch, process, tokens_RL), _block(batch, process, next_RL)
    after = dataclasses.replace(
        batch,
        tokens_RL=torch.where(change_RL, next_RL, tokens_RL),
        draft_RL=draft_RL,
        accepted_RL=accepted_RL,
        ever_accepted_RL=batch.ever_accepted_RL | accepted_RL,
        settled_RL=_settled(batch, process, accepted_RL, next_RL),
        step_R=batch.step_R + running_R.long(),
        block_step_R=torch.where(next_block_R == block_R, batch.block_step_R + 1, 0),
        stable_R=torch.where(moving_R, stable_R, batch.stable_R),
        revisions_R=batch.revisions_R + revised_RL.sum(-1),
        done_R=batch.done_R | failed_R | stop_R & ~drafted_R,
        failed_R=batch.failed_R | failed_R,
        unsettled_R=batch.unsettled_R | (moving_R & stop_R & ~met_R),
        verifying_R=batch.verifying_R | (moving_R & drafted_R),
        kept_R=kept_R,
        soft_RLD=soft_RLD,
    )
    return StepResult(
        batch=after,
        statistics=statistics,
        revised_RL=revised_RL,
        before=batch,
        drawn_RL=open_RL,
        top={row: reader.top(logits_NV, row, count) for row, count in (num_top or {}).items()},
    )


def _open(batch: CanvasBatch, process: Process, constraints: Sequence[Constraint | None] | None) -> Tensor:
    """bool_RL: positions to decide, whether the step computes them or not."""
    open_RL = batch.free_RL
    if not process.has_uniform:
        open_RL = open_RL & ((batch.tokens_RL == process.mask_id) | batch.verifying_R.unsqueeze(-1))
    if not batch.settings.reads_decided:
        return open_RL
    # An edit may change visible tokens too, so it needs statistics of both.
    edited_R = batch.settings.reads_decided_R
    if constraints is not None:
        # A single edit could leave the language.
        edited_R = edited_R & torch.tensor([one is None for one in constraints], device=edited_R.device)
    return torch.where(edited_R.unsqueeze(-1), batch.free_RL, open_RL)


def _condition(
    batch: CanvasBatch,
    process: Process,
    denoiser: Denoiser,
    index_N: Tensor,
    soft_ND: Tensor,
    known_RL: Tensor,
    moving_R: Tensor,
    awake_RL: Tensor | None,
) -> Tensor:
    """soft_RLD after the step: the predictions at the positions computed, and the tokens at those that are known."""
    soft_RLD = batch.soft_RLD
    if soft_RLD is None:
        soft_RLD = soft_ND.new_zeros(*batch.tokens_RL.shape, soft_ND.shape[-1])
    predicted_RLD = soft_RLD.flatten(0, 1).index_copy(0, index_N, soft_ND).view_as(soft_RLD)
    if awake_RL is not None:
        # A device reads logits of all positions.
        predicted_RLD = torch.where(awake_RL.unsqueeze(-1), predicted_RLD, soft_RLD)
    if not process.has_uniform or batch.fixed:
        certain_RLD = denoiser.embedding(batch.tokens_RL).to(soft_ND.dtype)
        predicted_RLD = torch.where(known_RL.unsqueeze(-1), certain_RLD, predicted_RLD)
    return torch.where(moving_R[:, None, None], predicted_RLD, soft_RLD)


def _constrain_rows(
    batch: CanvasBatch,
    process: Process,
    constraints: Sequence[Constraint | None],
    open_RL: Tensor,
    index_N: Tensor,
    logits_NV: Tensor,
    banned: Tensor | None,
) -> list[ConstrainedRow]:
    u_R3L = batch.uniforms((Stream.PATH, Stream.CLASS, Stream.SAMPLE))
    constrained: list[ConstrainedRow] = []
    for row, constraint in enumerate(constraints):
        if constraint is None or batch.done_R[row]:
            continue
        read = RowLogits(
            tokens_L=batch.tokens_RL[row],
            open_L=open_RL[row],
            index_N=index_N,
            logits_NV=logits_NV,
            mask_id=process.mask_id,
            banned_V=banned if banned is None or banned.ndim == 1 else banned[row],
            temperature=float(batch.temperature_R[row]),
            cut=(batch.settings.configs[row].top_p, batch.settings.configs[row].top_k),
            u_3L=u_R3L[row],
        )
        if batch.verifying_R[row]:
            constrained += constrain_draft(constraint, row, read, greedy=bool(batch.greedy_R[row]))
        elif (one := constrain(constraint, row, read)) is not None:
            constrained.append(one)
    return constrained


def _waits_for_nothing(device: torch.device) -> bool:
    """Whether a tensor's values are available on the host, so that shapes may depend on them."""
    return device.type == "cpu"


def _positions_to_read(batch: CanvasBatch, open_RL: Tensor) -> Tensor:
    """index_N, the positions to read: the open ones, or all that ever were if counting them would wait for the
    device."""
    if _waits_for_nothing(open_RL.device):
        return open_RL.flatten().nonzero().squeeze(-1)
    return torch.from_numpy(batch.host_free_RL.ravel().nonzero()[0]).to(open_RL.device, non_blocking=True)


def _block(batch: CanvasBatch, process: Process, tokens_RL: Tensor) -> Tensor:
    """Index of each row's current block; one past the last if no mask is left."""
    if process.has_uniform:
        return torch.zeros_like(batch.step_R)
    length = tokens_RL.shape[1]
    masked_RL = batch.free_RL & (tokens_RL == process.mask_id)
    first_R = torch.where(masked_RL.any(-1), masked_RL.int().argmax(-1), 2 * length)
    lengths_R = batch.settings.block_length_R
    return first_R // torch.where(lengths_R > 0, lengths_R, 2 * length)


def _inside(batch: CanvasBatch, process: Process) -> tuple[Tensor, Tensor]:
    """bool_RL, each row's current block, and int64_R, its number of blocks."""
    length = batch.tokens_RL.shape[1]
    lengths_R = torch.where(batch.settings.block_length_R > 0, batch.settings.block_length_R, length)
    blocks_RL = torch.arange(length, device=lengths_R.device) // lengths_R.unsqueeze(-1)
    inside_RL = blocks_RL == _block(batch, process, batch.tokens_RL).unsqueeze(-1)
    return inside_RL, (batch.length_R + lengths_R - 1) // lengths_R


def _active(batch: CanvasBatch, process: Process) -> Active | None:
    """The positions this step computes; None for all positions of every row."""
    settings = batch.settings
    if not settings.reuses:
        return None
    inside_RL, _ = _inside(batch, process)
    left_out_RL = torch.where(settings.by_block_R.unsqueeze(-1), ~inside_RL, batch.settled_RL)
    awake_RL = batch.valid_RL & ~left_out_RL
    step_R = torch.where(settings.by_block_R, batch.block_step_R, batch.step_R)
    # A row that would compute nothing computes everything.
    # So does the last step of a row with masks left.
    ends_R = (batch.step_R + 1 >= batch.steps_R) & _skips_masks(batch, process, awake_RL)
    whole_R = (step_R % settings.every_R == 0) | ~awake_RL.any(-1) | ends_R
    return Active(torch.where(whole_R.unsqueeze(-1), batch.valid_RL, awake_RL), whole_R)


def _skips_masks(batch: CanvasBatch, process: Process, awake_RL: Tensor) -> Tensor:
    """bool_R: rows with masks that this step does not compute."""
    if process.has_uniform:
        return torch.zeros_like(batch.done_R)
    return (batch.free_RL & ~awake_RL & (batch.tokens_RL == process.mask_id)).any(-1)


def _settled(batch: CanvasBatch, process: Process, accepted_RL: Tensor, next_RL: Tensor) -> Tensor:
    if not batch.settings.reuses:
        return batch.settled_RL
    if process.has_uniform:
        settled_RL = accepted_RL & batch.accepted_RL & (next_RL == batch.tokens_RL)
    else:
        # One step after it was filled in, so that its own keys and values have been computed.
        settled_RL = batch.valid_RL & (batch.tokens_RL != process.mask_id) & (next_RL != process.mask_id)
    return settled_RL | batch.frozen_RL


def _turn(
    batch: CanvasBatch, process: Process, statistics: Statistics, logits: StepLogits, awake_RL: Tensor | None
) -> Turn:
    """The candidates of each row's current block, and the block's share of the steps."""
    free_RL = batch.free_RL
    candidates_RL = block_RL = free_RL if awake_RL is None else free_RL & awake_RL
    step_R, steps_R = batch.step_R, batch.steps_R
    if not process.has_uniform:
        inside_RL, num_blocks_R = _inside(batch, process)
        block_RL = free_RL & inside_RL
        candidates_RL = block_RL & (batch.tokens_RL == process.mask_id)
        steps_R = (steps_R // num_blocks_R).clamp_min(1)
        step_R = batch.block_step_R
    return Turn(
        process=process,
        statistics=statistics,
        tokens_RL=batch.tokens_RL,
        free_RL=free_RL,
        candidates_RL=candidates_RL,
        count_R=block_RL.sum(-1),
        step_R=step_R,
        steps_R=steps_R,
        t_R=batch.noise_level(batch.step_R),
        s_R=batch.noise_level(batch.step_R + 1),
        uniforms=batch.uniforms,
        logits=logits,
    )


def _decide(batch: CanvasBatch, turn: Turn) -> tuple[Decision, Tensor]:
    """Each row's sampler decision, and which rows its sampler considers finished."""
    groups = batch.settings.groups
    finished_R = torch.zeros_like(batch.done_R)
    decision = Decision(torch.zeros_like(turn.free_RL), turn.tokens_RL)
    for sampler, rows in groups:
        part = turn if rows is None else turn.of(rows)
        found = sampler.decide(part)
        decision = Decision(*(part.spread(*pair) for pair in zip(found, decision, strict=True)))
        if not turn.process.has_uniform:
            finished_R = part.spread(sampler.is_finished(part, found), finished_R)
    single_R1 = (batch.length_R == 1).unsqueeze(-1)
    return decision._replace(accepted_RL=decision.accepted_RL | (single_R1 & turn.free_RL)), finished_R


def _verify(batch: CanvasBatch, statistics: Statistics, accepted_RL: Tensor) -> tuple[Tensor, Statistics, Tensor]:
    """Compare the drafts of the rows that are verified with what was drawn.

    Returns:
        accepted_RL, there the positions up to the first difference; the statistics, with the draft after that; and
        kept_R, the positions to commit.
    """
    verifying_R1, sampled_RL = batch.verifying_R.unsqueeze(-1), statistics.sampled_RL
    agreed_RL = (sampled_RL == batch.tokens_RL).cumprod(-1).bool()
    num_agreed_R = agreed_RL.sum(-1)
    position_L = torch.arange(sampled_RL.shape[1], device=sampled_RL.device)
    rest_RL = verifying_R1 & (position_L > num_agreed_R.unsqueeze(-1))
    sampled_RL = torch.where(rest_RL, batch.tokens_RL, sampled_RL)
    kept_R = torch.where(batch.verifying_R, torch.minimum(num_agreed_R + 1, batch.length_R), batch.kept_R)
    return torch.where(verifying_R1, agreed_RL, accepted_RL), statistics._replace(sampled_RL=sampled_RL), kept_R


def _review(
    batch: CanvasBatch,
    process: Process,
    statistics: Statistics,
    next_RL: Tensor,
    finished_R: Tensor,
    stop_head: StopHead | None,
    awake_RL: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Evaluate the draft: stop_R, met_R (may it end here), stable_R, and draft_RL, what a stopping row commits."""
    settings, free_RL = batch.settings, batch.free_RL
    last_R = batch.step_R + 1 >= batch.steps_R
    draft_RL = statistics.argmax_RL
    if not process.has_uniform:
        masked_RL = free_RL & (next_RL == process.mask_id)
        draft_RL = torch.where(masked_RL, draft_RL, next_RL)
    same_R = ((draft_RL == batch.draft_RL) | ~free_RL).all(-1) & (batch.step_R > 0)
    stable_R = torch.where(same_R, batch.stable_R + 1, 0)
    stop_R = stop(settings, stable_R, statistics, free_RL, stop_head) | (finished_R & settings.adaptive_R)
    if awake_RL is not None:
        # Nothing is known of them.
        stop_R = stop_R & ~_skips_masks(batch, process, awake_RL)
    # Whether a draft has settled does not matter if it is verified.
    met_R = stop_R | settings.by_schedule_R | ~settings.adaptive_R | (batch.length_R == 1) | settings.verifies_R
    stop_R = stop_R | last_R | batch.verifying_R
    sample_R = last_R & (settings.reverse_R | (batch.length_R == 1)) | stop_R & settings.commit_sample_R
    sample_R = sample_R | batch.verifying_R
    return stop_R, met_R, stable_R, torch.where(sample_R.unsqueeze(-1), statistics.sampled_RL, draft_RL)


def stop(
    settings: RowSettings, stable_R: Tensor, statistics: Statistics, free_RL: Tensor, head: StopHead | None
) -> Tensor:
    """The stop rule: the draft is stable and confident, or a learned head says so.

    Args:
        settings: per-row settings; rows that are not adaptive never stop here.
        stable_R: int64; steps in a row that left the draft unchanged.
        free_RL: bool; the positions that count.

    Returns:
        stop_R: bool.

    Source: DiffusionGemma's stable-and-confident rule; Learn2PD for the head.
    """
    entropy_R = (statistics.entropy_RL * free_RL).sum(-1) / free_RL.sum(-1).clamp_min(1)
    stop_R = (stable_R >= settings.stable_steps_R) & (entropy_R < settings.stop_entropy_R)
    if head is not None and settings.adapts:
        stop_R = stop_R | (head(statistics, free_RL, stable_R) > settings.stop_probability_R)
    return stop_R & settings.adaptive_R
