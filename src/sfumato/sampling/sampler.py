"""One step, and the plain loop around it.

``step`` is one forward of an injected denoiser and one decision per row; the engine calls it, and so does
``denoise``, the uncached reference loop that the engine is tested against. Nothing here knows a model, a
tokenizer or a cache. ``step`` never waits for the device: it branches on shapes and settings, never on the
value of a tensor.
"""

# R rows, L canvas, V vocab, D model

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from sfumato.diffusion.loss import loo_from_denoiser
from sfumato.diffusion.process import Process
from sfumato.models.operations import TORCH, Operations
from sfumato.sampling import policy
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.constraint import Constraint, tie
from sfumato.sampling.policy import StopHead
from sfumato.sampling.random import Stream
from sfumato.sampling.reading import Reader, Statistics, Tied
from sfumato.sampling.record import StepRecord
from sfumato.sampling.settings import LOOKING_SAMPLERS, REVERSE_SAMPLERS


class Active(NamedTuple):
    """What a step computes anew, where it leaves something out."""

    canvas_RL: Tensor
    """bool; positions of the canvases."""
    whole_R: Tensor
    """bool; rows of which everything is computed, the text ahead included where it reads the canvas."""


class Denoiser(Protocol):
    """A model with its prefixes, as the sampler sees it."""

    def __call__(
        self,
        tokens_RL: Tensor,
        soft_RLD: Tensor | None,
        rows_R: Tensor,
        valid_RL: Tensor,
        index_N: Tensor,
        active: Active | None,
    ) -> Tensor:
        """Predict the clean canvas where it is in question.

        Args:
            tokens_RL: int64; what stands on each canvas.
            soft_RLD: soft embedding of the row's last prediction; zero stands for none yet, as does None.
            rows_R: int64; which row of the batch given to ``denoise`` each of these is. Rows leave as they
                finish, and whatever the denoiser keeps for a row, such as the KV of its prefix, is looked up
                by this.
            valid_RL: bool; False for padding, which no valid position may read.
            index_N: int64; the positions whose logits are asked for, as indices into [R, L] laid flat, ascending.
            active: what has to be computed anew: where the rest is read, what was computed of it last will do. None is
                everything.

        Returns:
            logits_NV: float32 (any float works, and is widened tile by tile). A row's logits must depend on nothing
            but that row.
        """
        ...

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        """Probabilities times the embedding matrix, [R, L, D] for any R and L; for models with
        self-conditioning only."""
        ...

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        """The soft embedding [R, L, D] of tokens that are certain; for models with self-conditioning only."""
        ...


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What one step did. Rows that were done before it are unchanged and have nothing accepted or revised."""

    batch: CanvasBatch
    """The batch after the step; ``done_R``, ``draft_RL`` and ``accepted_RL`` are in it."""
    statistics: Statistics
    """What the denoiser said of the tokens that stood before the step."""
    revised_RL: Tensor
    """bool; positions accepted in an earlier step whose draft token this step changed."""
    before: CanvasBatch
    """The batch before the step: what the denoiser read."""
    drawn_RL: Tensor
    """bool; positions whose token was in question."""

    def record(self, row: int) -> StepRecord:
        """The step of one row. Waits for the device."""
        before, length = self.before, int(self.before.host_length_R[row])
        temperature_R = before.settings.temperature_at(before.step_R, before.steps_R)
        config = before.settings.configs[row]
        accepted_RL = self.batch.accepted_RL
        decisive_RL = self.drawn_RL if config.name in LOOKING_SAMPLERS else accepted_RL
        if bool(self.batch.done_R[row]):
            decisive_RL = self.drawn_RL if config.commit_sample else torch.zeros_like(accepted_RL)

        def host(values: Tensor) -> Tensor:
            # A view would keep the whole batch's.
            return values[row, :length].to("cpu", copy=True)

        return StepRecord(
            step=int(before.step_R[row]),
            tokens_L=host(before.tokens_RL),
            frozen_L=host(before.frozen_RL),
            soft_LD=None if before.soft_RLD is None else host(before.soft_RLD),
            temperature=float(temperature_R[row]),
            sampled_L=host(self.statistics.sampled_RL),
            draft_L=host(self.batch.draft_RL),
            accepted_L=host(accepted_RL),
            decisive_L=host(decisive_RL),
            revised_L=host(self.revised_RL),
            confidence_L=host(self.statistics.confidence_RL),
        )


@dataclass(frozen=True, kw_only=True)
class Denoised:
    """Finished canvases."""

    batch: CanvasBatch
    """All rows, done, in the order they were given; ``tokens_RL`` is what to commit, ``step_R`` the forwards
    of each."""
    trace: dict[int, list[StepRecord]]
    """The steps of the rows that were to be traced."""


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
    operations: Operations = TORCH,
) -> StepResult:
    """Take one step of every row: one forward, then accept, renoise and test for the end.

    A finishing row commits the draft: the argmax, or the token that stays where noise is mask only. The
    samplers that follow the reverse process (REVERSE_SAMPLERS) commit, at their last step, the sample itself,
    which is x_s at s = 0; and so does a canvas of one position under any sampler, which is autoregression, and
    one whose config has commit_sample. For the former a position counts as accepted when its new token is the
    drawn x_0.

    A row whose logits are NaN or infinite at a position in question is marked failed and done; the others go
    on.

    Args:
        batch: canvases, which may be at different steps and under different settings.
        denoiser: gives the logits.
        process: the noise the denoiser was trained on.
        self_conditioning: carry the soft embedding of the tempered prediction to the next step.
        banned: bool [V] or [R, V]; tokens never to be sampled or drafted. Frozen tokens are exempt.
        constraints: what the text of each row must be, None where it may be anything. Then what the row is committed
            with is a string of its language, whatever the sampler; tokens that an edit could change stay.
        stop_head: a learned stop rule.
        operations: read the logits, where they can.

    Returns:
        The batch after the step, with what was decided.
    """
    tokens_RL, free_RL, steps_R = batch.tokens_RL, batch.free_RL, batch.steps_R
    active = _active(batch, process)
    awake_RL = None if active is None else active.canvas_RL
    turn = _turn(batch, process, awake_RL)
    # An edit may touch what stands as well as what is missing, so it has to know what the denoiser makes of both.
    open_RL = free_RL & (tokens_RL == process.mask_id) if not process.has_uniform else free_RL
    if batch.settings.has("edit"):
        edited_R = batch.settings.uses("edit")
        if constraints is not None:
            # One edit alone could leave the language.
            edited_R &= torch.tensor([one is None for one in constraints], device=edited_R.device)
        open_RL = torch.where(edited_R.unsqueeze(-1), free_RL, open_RL)
    if awake_RL is not None:
        open_RL = open_RL & awake_RL
    index_N = _reading(batch, open_RL)
    logits_NV = denoiser(tokens_RL, batch.soft_RLD, batch.row_R, batch.valid_RL, index_N, active)
    assert logits_NV.shape[-1] == process.vocab_size, "the process has another vocabulary"
    temperature_R = batch.settings.temperature_at(batch.step_R, steps_R)
    tied = _tie(batch, constraints, open_RL, index_N, logits_NV, temperature_R) if constraints else []
    reader = Reader(
        index_N=index_N,
        open_RL=open_RL,
        tokens_RL=tokens_RL,
        temperature_R=temperature_R,
        greedy_R=batch.step_R >= steps_R - batch.settings.greedy_tail_R,
        cut=(batch.settings.top_p_R, batch.settings.top_k_R) if batch.settings.cuts else None,
        mask_id=process.mask_id,
        banned=banned,
        tied=tied,
        operations=operations,
    )
    soft_embedding = denoiser.soft_embedding if self_conditioning else None
    statistics, soft_ND = reader.read(logits_NV, batch.uniforms(Stream.SAMPLE), soft_embedding)
    if awake_RL is not None:
        # What is left out reads as it did.
        statistics = statistics._replace(argmax_RL=torch.where(awake_RL, statistics.argmax_RL, batch.draft_RL))
    accepted_RL, next_RL = _decide(batch, process, reader, logits_NV, statistics, turn)
    if awake_RL is not None:
        accepted_RL = torch.where(awake_RL, accepted_RL, batch.accepted_RL)
    if tied and not process.has_uniform:
        # What is accepted belongs to the string that was drawn, and so does what is filled in beside it.
        tied_R = torch.zeros_like(batch.done_R)
        tied_R[[one.row for one in tied]] = True
        tied_RL = torch.where(tied_R.unsqueeze(-1), statistics.sampled_RL, statistics.argmax_RL)
        statistics = statistics._replace(argmax_RL=tied_RL)
    stop_R, stable_R, draft_RL = _review(batch, process, statistics, next_RL, accepted_RL, stop_head)
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
        if soft_RLD is None:
            soft_RLD = soft_ND.new_zeros(*tokens_RL.shape, soft_ND.shape[-1])
        predicted_RLD = soft_RLD.flatten(0, 1).index_copy(0, index_N, soft_ND).view_as(soft_RLD)
        if not process.has_uniform or batch.fixed:
            certain_RLD = denoiser.embedding(tokens_RL).to(soft_ND.dtype)
            known_RL = ~open_RL if awake_RL is None else ~open_RL & awake_RL
            predicted_RLD = torch.where(known_RL.unsqueeze(-1), certain_RLD, predicted_RLD)
        soft_RLD = torch.where(moving_R[:, None, None], predicted_RLD, soft_RLD)
    after = dataclasses.replace(
        batch,
        tokens_RL=torch.where(change_RL, next_RL, tokens_RL),
        draft_RL=draft_RL,
        accepted_RL=accepted_RL,
        ever_accepted_RL=batch.ever_accepted_RL | accepted_RL,
        settled_RL=_settled(batch, process, accepted_RL, next_RL),
        step_R=batch.step_R + running_R.long(),
        block_step_R=torch.where(_block(batch, process, next_RL) == _block(batch, process, tokens_RL), 1, 0)
        * (batch.block_step_R + 1),
        stable_R=torch.where(moving_R, stable_R, batch.stable_R),
        revisions_R=batch.revisions_R + revised_RL.sum(-1),
        done_R=batch.done_R | failed_R | stop_R,
        failed_R=batch.failed_R | failed_R,
        soft_RLD=soft_RLD,
    )
    return StepResult(batch=after, statistics=statistics, revised_RL=revised_RL, before=batch, drawn_RL=open_RL)


def _tie(
    batch: CanvasBatch,
    constraints: Sequence[Constraint | None],
    open_RL: Tensor,
    index_N: Tensor,
    logits_NV: Tensor,
    temperature_R: Tensor,
) -> list[Tied]:
    """Tie together the positions of rows that are constrained."""
    u_R3L = batch.uniforms((Stream.PATH, Stream.CLASS, Stream.SAMPLE))
    tied = []
    for row, constraint in enumerate(constraints):
        if constraint is not None and not batch.done_R[row]:
            one = tie(
                constraint,
                row,
                tokens_L=batch.tokens_RL[row],
                open_L=open_RL[row],
                index_N=index_N,
                logits_NV=logits_NV,
                temperature=float(temperature_R[row]),
                cut=(batch.settings.configs[row].top_p, batch.settings.configs[row].top_k),
                u_3L=u_R3L[row],
            )
            tied += [] if one is None else [one]
    return tied


def denoising(
    batch: CanvasBatch,
    denoiser: Denoiser,
    process: Process,
    *,
    self_conditioning: bool = False,
    banned: Tensor | None = None,
    constraints: Sequence[Constraint | None] | None = None,
    stop_head: StopHead | None = None,
    operations: Operations = TORCH,
    trace: Collection[int] | bool = False,
) -> Generator[StepResult, None, Denoised]:
    """Step until every row is done: the plain loop. A finished row leaves at once.

    Args:
        batch: the canvases; their rows are numbered from 0 for ``rows_R``.
        denoiser: gives the logits.
        process: the noise the denoiser was trained on.
        self_conditioning: see ``step``.
        banned, constraints: see ``step``; rows as in ``batch``.
        stop_head, operations: see ``step``.
        trace: rows to record step by step; True for all.

    Yields:
        What each step did; ``row_R`` of its batch tells which rows are left.

    Returns:
        The finished batch, in its original order, and the trace.
    """
    traced = set(range(len(batch))) if trace is True else set(trace or ())
    records: dict[int, list[StepRecord]] = {row: [] for row in sorted(traced)}
    active = dataclasses.replace(batch, row_R=torch.arange(len(batch), device=batch.row_R.device))
    rows = list(range(len(batch)))
    finished: list[CanvasBatch] = []
    order: list[int] = []
    while True:
        left, done = active.split_done()
        if done or not rows:
            finished.append(dataclasses.replace(active.select(done), soft_RLD=None))
            order.extend(rows[i] for i in done)
            active, rows = active.select(left), [rows[i] for i in left]
        if not rows:
            break
        result = step(
            active,
            denoiser,
            process,
            self_conditioning=self_conditioning,
            banned=banned[active.row_R] if banned is not None and banned.ndim == 2 else banned,
            constraints=None if constraints is None else [constraints[row] for row in rows],
            stop_head=stop_head,
            operations=operations,
        )
        for i, row in enumerate(rows):
            if row in traced:
                records[row].append(result.record(i))
        yield result
        active = result.batch
    places = sorted(range(len(order)), key=order.__getitem__)
    whole = CanvasBatch.concatenate(finished).select(places)
    return Denoised(
        batch=dataclasses.replace(whole, row_R=torch.arange(len(whole), device=batch.row_R.device)), trace=records
    )


def denoise(
    batch: CanvasBatch,
    denoiser: Denoiser,
    process: Process,
    *,
    self_conditioning: bool = False,
    banned: Tensor | None = None,
    constraints: Sequence[Constraint | None] | None = None,
    stop_head: StopHead | None = None,
    operations: Operations = TORCH,
    on_step: Callable[[StepResult], None] | None = None,
    trace: Collection[int] | bool = False,
) -> Denoised:
    """``denoising`` to its end.

    Args:
        batch, denoiser, process, self_conditioning, banned, constraints, stop_head, operations, trace: see
            ``denoising``.
        on_step: called after each step.
    """
    steps = denoising(
        batch,
        denoiser,
        process,
        self_conditioning=self_conditioning,
        banned=banned,
        constraints=constraints,
        stop_head=stop_head,
        operations=operations,
        trace=trace,
    )
    while True:
        try:
            result = next(steps)
        except StopIteration as stop:
            finished: Denoised = stop.value
            return finished
        if on_step is not None:
            on_step(result)


def _waits_for_nothing(device: torch.device) -> bool:
    """Whether the values of a tensor are at hand, so that shapes may depend on them."""
    return device.type == "cpu"


def _reading(batch: CanvasBatch, open_RL: Tensor) -> Tensor:
    """index_N, the positions to read: the open ones, or where that would wait for the device, all that ever were."""
    if _waits_for_nothing(open_RL.device):
        return open_RL.flatten().nonzero().squeeze(-1)
    return torch.from_numpy(batch.host_free_RL.ravel().nonzero()[0]).to(open_RL.device, non_blocking=True)


def _block(batch: CanvasBatch, process: Process, tokens_RL: Tensor) -> Tensor:
    """Index of the block that each row is deciding; one past the last block if no mask is left."""
    if process.has_uniform:
        return torch.zeros_like(batch.step_R)
    length = tokens_RL.shape[1]
    masked_RL = batch.free_RL & (tokens_RL == process.mask_id)
    first_R = torch.where(masked_RL.any(-1), masked_RL.int().argmax(-1), 2 * length)
    lengths_R = batch.settings.block_length_R
    return first_R // torch.where(lengths_R > 0, lengths_R, 2 * length)


def _inside(batch: CanvasBatch, process: Process) -> tuple[Tensor, Tensor]:
    """bool_RL, the block that each row is deciding, and int64_R, how many blocks it has."""
    length = batch.tokens_RL.shape[1]
    lengths_R = torch.where(batch.settings.block_length_R > 0, batch.settings.block_length_R, length)
    blocks_RL = torch.arange(length, device=lengths_R.device) // lengths_R.unsqueeze(-1)
    inside_RL = blocks_RL == _block(batch, process, batch.tokens_RL).unsqueeze(-1)
    return inside_RL, (batch.length_R + lengths_R - 1) // lengths_R


def _active(batch: CanvasBatch, process: Process) -> Active | None:
    """What this step computes; None if it is all of every row."""
    settings = batch.settings
    if not settings.reuses:
        return None
    inside_RL, _ = _inside(batch, process)
    left_out_RL = torch.where(settings.by_block_R.unsqueeze(-1), ~inside_RL, batch.settled_RL)
    awake_RL = batch.valid_RL & ~left_out_RL
    step_R = torch.where(settings.by_block_R, batch.block_step_R, batch.step_R)
    # A row that would compute nothing computes everything.
    whole_R = (step_R % settings.every_R == 0) | ~awake_RL.any(-1)
    return Active(torch.where(whole_R.unsqueeze(-1), batch.valid_RL, awake_RL), whole_R)


def _settled(batch: CanvasBatch, process: Process, accepted_RL: Tensor, next_RL: Tensor) -> Tensor:
    if not batch.settings.reuses:
        return batch.settled_RL
    if process.has_uniform:
        settled_RL = accepted_RL & batch.accepted_RL & (next_RL == batch.tokens_RL)
    else:
        # One step after it was filled in, so that its own keys and values have been computed.
        settled_RL = batch.valid_RL & (batch.tokens_RL != process.mask_id) & (next_RL != process.mask_id)
    return settled_RL | batch.frozen_RL


def _turn(batch: CanvasBatch, process: Process, awake_RL: Tensor | None) -> policy.Turn:
    """Where each row stands: the candidates of the block it is deciding, and that block's share of the steps."""
    free_RL = batch.free_RL
    candidates_RL = block_RL = free_RL if awake_RL is None else free_RL & awake_RL
    step_R, steps_R = batch.step_R, batch.steps_R
    if not process.has_uniform:
        inside_RL, num_blocks_R = _inside(batch, process)
        block_RL = free_RL & inside_RL
        candidates_RL = block_RL & (batch.tokens_RL == process.mask_id)
        steps_R = (steps_R // num_blocks_R).clamp_min(1)
        step_R = batch.block_step_R
    return policy.Turn(
        candidates_RL=candidates_RL,
        count_R=block_RL.sum(-1),
        step_R=step_R,
        steps_R=steps_R,
        order_RL=batch.uniforms(Stream.ORDER),
    )


def _decide(
    batch: CanvasBatch,
    process: Process,
    reader: Reader,
    logits_NV: Tensor,
    statistics: Statistics,
    turn: policy.Turn,
) -> tuple[Tensor, Tensor]:
    """Accept and renoise by each row's rule: accepted_RL, and the tokens that would be read next."""
    settings, free_RL, sampled_RL = batch.settings, batch.free_RL, statistics.sampled_RL
    candidates_RL = turn.candidates_RL
    t_R, s_R = batch.noise_level(batch.step_R), batch.noise_level(batch.step_R + 1)
    accepted_RL = policy.accept(settings, statistics, turn)
    # Noise of the level that the next step reads.
    noise_RL = process.noise(batch.uniforms(Stream.RENOISE), s_R)
    next_RL = torch.where(accepted_RL, sampled_RL, noise_RL)
    next_RL = torch.where(candidates_RL, next_RL, batch.tokens_RL)
    if settings.has("edit"):
        decided_RL = settings.uses("edit").unsqueeze(-1) & free_RL & (batch.tokens_RL != process.mask_id)
        edited_RL = policy.accept_edits(
            statistics.confidence_RL, sampled_RL, batch.tokens_RL, decided_RL, settings.edit_threshold_R
        )
        accepted_RL, next_RL = accepted_RL | edited_RL, torch.where(edited_RL, sampled_RL, next_RL)
    if settings.has(*REVERSE_SAMPLERS):
        u_RL = batch.uniforms(Stream.MOVE)
        moved_RL = policy.draw_ancestral(process, batch.tokens_RL, sampled_RL, s_R, t_R, u_RL, noise_RL)
        if settings.has("remdm"):
            remasked_RL = policy.draw_remasking(process, batch.tokens_RL, sampled_RL, s_R, t_R, settings, u_RL)
            moved_RL = torch.where(settings.uses("remdm").unsqueeze(-1), remasked_RL, moved_RL)
        if settings.has("predictor-corrector"):
            corrected_RL = _correct(batch, process, reader, logits_NV, moved_RL, s_R, t_R)
            moved_RL = torch.where(settings.uses("predictor-corrector").unsqueeze(-1), corrected_RL, moved_RL)
        reverse_R1 = settings.uses(*REVERSE_SAMPLERS).unsqueeze(-1)
        next_RL = torch.where(reverse_R1, moved_RL, next_RL)
        accepted_RL = torch.where(reverse_R1, candidates_RL & (moved_RL == sampled_RL), accepted_RL)
    single_R1 = (batch.length_R == 1).unsqueeze(-1)
    return accepted_RL | (single_R1 & free_RL), next_RL


def _review(
    batch: CanvasBatch,
    process: Process,
    statistics: Statistics,
    next_RL: Tensor,
    accepted_RL: Tensor,
    stop_head: StopHead | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Read the draft and test for the end: stop_R, stable_R, and draft_RL, what a stopping row commits."""
    settings, free_RL = batch.settings, batch.free_RL
    last_R = batch.step_R + 1 >= batch.steps_R
    draft_RL = statistics.argmax_RL
    if not process.has_uniform:
        masked_RL = free_RL & (next_RL == process.mask_id)
        draft_RL = torch.where(masked_RL, draft_RL, next_RL)
    same_R = ((draft_RL == batch.draft_RL) | ~free_RL).all(-1) & (batch.step_R > 0)
    stable_R = torch.where(same_R, batch.stable_R + 1, 0)
    stop_R = last_R | policy.stop(settings, stable_R, statistics, free_RL, stop_head)
    if not process.has_uniform:
        # Remasking may still open what looks settled, and an edit may still change it.
        full_R = ~masked_RL.any(-1)
        settled_R = full_R & ~settings.uses("remdm", "edit")
        if settings.has("edit"):
            was_full_R = ~(free_RL & (batch.tokens_RL == process.mask_id)).any(-1)
            post_R = torch.where(was_full_R, batch.block_step_R + 1, 0)
            over_R = (was_full_R & ~accepted_RL.any(-1)) | (post_R >= settings.post_steps_R)
            settled_R = settled_R | (settings.uses("edit") & full_R & over_R)
        stop_R = stop_R | (settled_R & settings.adaptive_R)
    sample_R = last_R & (settings.uses(*REVERSE_SAMPLERS) | (batch.length_R == 1)) | stop_R & settings.commit_sample_R
    return stop_R, stable_R, torch.where(sample_R.unsqueeze(-1), statistics.sampled_RL, draft_RL)


def _correct(
    batch: CanvasBatch,
    process: Process,
    reader: Reader,
    logits_NV: Tensor,
    moved_RL: Tensor,
    s_R: Tensor,
    t_R: Tensor,
) -> Tensor:
    """Draw again the tokens that the rest of the canvas speaks against, from alpha_s x0_loo + (1 - alpha_s) / K.

    x0_loo is the leave-one-out prediction at t, so this is the exact q(x_s here | x_t elsewhere): what the position
    would have been given had its own token not been seen; no further forward is needed. The k positions are those whose
    token, as the ancestral step left it, has the lowest margin over the best other token. Choosing by the token in
    question sharpens: errors of few steps are repaired, and over many steps likely canvases are favoured.

    Source: LOO, arXiv 2605.22765; the margin from informed correctors, Zhao et al. 2024, arXiv 2407.21243.
    """
    index_N, margin_RL = reader.index_N, torch.zeros_like(batch.tokens_RL, dtype=torch.float32)
    alpha_N = process.schedule.alpha(t_R)[index_N // margin_RL.shape[1]]
    loo_NV = loo_from_denoiser(logits_NV, batch.tokens_RL.flatten()[index_N], alpha_N)
    margin_N = policy.token_margin(loo_NV, moved_RL.flatten()[index_N])
    margin_RL = margin_RL.flatten().index_copy(0, index_N, margin_N).view_as(margin_RL)
    chosen_RL = policy.pick_highest(-margin_RL, batch.free_RL, batch.settings.corrector_k_R)
    sampled_RL = reader.read(loo_NV, batch.uniforms(Stream.CORRECT_SAMPLE))[0].sampled_RL
    noise_RL = process.noise(batch.uniforms(Stream.CORRECT_NOISE), s_R)
    kept_RL = batch.uniforms(Stream.CORRECT_KEEP) < process.schedule.alpha(s_R).unsqueeze(-1)
    return torch.where(chosen_RL, torch.where(kept_RL, sampled_RL, noise_RL), moved_RL)
