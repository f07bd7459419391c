"""Chooses which sequences take part in an engine step, and packs them into one forward pass without padding.

Among sequences of the highest priority, the one with the least computation so far goes first, so short requests join
long ones without waiting for them. Sequences that were left out several times in a row go before all others, in turn.
"""

# R rows, L canvas, N packed positions, Q positions of a chunk, D model, V vocab

from __future__ import annotations

import bisect
import functools
import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.engine.sequence import Sequence
from sfumato.kernels.base import WHOLE, Backend, KVPool
from sfumato.kernels.graphs import Replayer
from sfumato.layout import CanvasPositions, Numbers, PrefixLayout, Segment
from sfumato.models.model import Model, PackedAttention
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.step import Active

# Steps in a row without a turn after which a sequence goes first.
_PATIENCE = 32
_GPU_POSITIONS, _LONE_POSITIONS, _SHARED_POSITIONS = 2048, 512, 128


class TurnLock:
    """A reentrant lock that no thread takes twice while another one waits.

    Python's locks go to whichever thread is awake when they are released, so a thread that takes one in a loop keeps
    it.
    """

    def __init__(self) -> None:
        self._lock, self._next = threading.Lock(), threading.Lock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        thread_id = threading.get_ident()
        if self._owner != thread_id:
            # Held by the next thread in line, so that the current holder cannot be next as well.
            with self._next:
                self._lock.acquire()
            self._owner = thread_id
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()


@dataclass(frozen=True)
class ScheduledSequence:
    """The work of one sequence in one engine step."""

    sequence: Sequence
    num_written: int
    """Text positions to write."""
    denoises: bool
    """Whether its canvas takes a step."""

    @property
    def num_positions(self) -> int:
        sequence = self.sequence
        step = sequence.layout.num_step(len(sequence.text), sequence.canvas_length) if self.denoises else 0
        return self.num_written + step


def enqueue(waiting: list[Sequence], sequence: Sequence, *, first: bool = False) -> None:
    """Insert a waiting sequence by priority, after its equals or before them."""
    insort = bisect.insort_left if first else bisect.insort_right
    insort(waiting, sequence, key=lambda one: -one.request.priority)


def max_positions(running: Iterable[Sequence], device: torch.device) -> int:
    """Default limit on the positions of a step; see `EngineConfig.max_positions`."""
    if device.type != "cpu":
        return _GPU_POSITIONS
    alone = len({sequence.request_id for sequence in running}) == 1
    return _LONE_POSITIONS if alone else _SHARED_POSITIONS


def schedule(running: Iterable[Sequence], *, max_positions: int, chunk: int) -> list[ScheduledSequence]:
    """Choose the work of one step.

    Args:
        max_positions: maximum positions of the step; the first sequence takes part in any case.
        chunk: maximum text positions written per step, so that a long prompt delays nobody.

    Returns:
        At least one entry if there is any sequence.
    """
    scheduled: list[ScheduledSequence] = []
    total = 0
    for sequence in sorted(running, key=_turn):
        work = _next_work(sequence, chunk)
        if scheduled and total + work.num_positions > max_positions:
            sequence.waited += 1
            continue
        sequence.waited = 0
        total += work.num_positions
        scheduled.append(work)
    return scheduled


def _turn(sequence: Sequence) -> tuple[float, ...]:
    patience = sequence.waited if sequence.waited >= _PATIENCE else 0
    return (-sequence.request.priority, -patience, sequence.service, sequence.started)


def _next_work(sequence: Sequence, chunk: int) -> ScheduledSequence:
    num_unwritten = sequence.num_unwritten
    if num_unwritten <= chunk:
        # What is written tells how long the first canvas will be.
        return ScheduledSequence(sequence, num_unwritten, not sequence.wants_length)
    # Chunks end where they would if the text were alone, on whole blocks.
    assert sequence.cached is not None
    block = sequence.layout.block
    size = max(block, chunk // block * block)
    return ScheduledSequence(sequence, size - sequence.cached.length % size, False)


@dataclass(frozen=True, kw_only=True)
class ScheduledChunk:
    """The part of one text that goes through the weights in one forward."""

    segment: Segment
    """The text, with its slots in the pool."""
    tokens: list[int]
    """Text tokens, before those of a canvas."""
    row: int | None = None
    """The row of the canvas that follows; None if only text is written."""
    positions: CanvasPositions | None = None
    """The canvas positions to compute."""


class ForwardOutput(NamedTuple):
    """The result of one pass through the weights."""

    hidden_ND: Tensor
    """Hidden states of all positions, concatenated."""
    index_RL: Tensor
    """int64; index of the hidden state that predicts each canvas position, 0 if none does."""
    last_C: list[int]
    """Index of the last position of each chunk, in the given order."""


class _PackedChunks:
    """The layout of a forward: everything that stays the same while its chunks do.

    Args:
        num_positions: of the forward, including padding.
    """

    def __init__(
        self,
        key: tuple[Hashable, ...] | None,
        chunks: list[ScheduledChunk],
        shape: tuple[int, int],
        num_positions: int,
        pool: KVPool,
        windows: tuple[int, ...],
        backend: Backend,
    ) -> None:
        device = pool.device
        # Adjacent chunks of one shape are read together.
        order = sorted(
            range(len(chunks)),
            key=lambda i: (chunks[i].row is not None, chunks[i].segment.start, chunks[i].segment.count),
        )
        self.key = key
        # Kept, because the key names slots by identity.
        self.chunks, self.last_C, self.total = [chunks[i] for i in order], [0] * len(chunks), 0
        # Canvas tokens, then those known to the host; the first of these pads.
        first_known, width = shape[0] * shape[1], shape[1]
        known, source_N, canvas_M, decided_M = [0], [], [], []
        index_RL = np.zeros(shape, dtype=np.int64)
        for i, chunk in zip(order, self.chunks, strict=True):
            first = self.total
            source_N.append(np.arange(len(chunk.tokens)) + first_known + len(known))
            known += chunk.tokens
            if chunk.positions is not None:
                assert chunk.row is not None
                _, _, token_Q, canvas_Q, logits_Q = chunk.positions
                index_Q, row = np.arange(first, first + len(token_Q)), chunk.row * width
                source_N.append(token_Q[token_Q >= 0] + row)
                canvas_M.append(index_Q[canvas_Q >= 0])
                decided_M.append(canvas_Q[canvas_Q >= 0] + row)
                predicts = (logits_Q >= 0) & (logits_Q < width)
                index_RL[chunk.row, logits_Q[predicts]] = index_Q[predicts]
            self.total += chunk.segment.count
            self.last_C[i] = self.total - 1
        source_N.append(np.full(num_positions - self.total, first_known))
        self.known_N, self.index_N = torch.tensor(known, device=device), _index(source_N, device)
        self.index_RL = torch.from_numpy(index_RL).to(device, non_blocking=True)
        segments = [chunk.segment for chunk in self.chunks]
        self.attention = PackedAttention(pool, segments, num_positions, windows=windows, backend=backend)
        self.canvas_1N = self.canvas_M = self.decided_M = None
        if canvas_M:
            self.canvas_M, self.decided_M = _index(canvas_M, device), _index(decided_M, device)
            self.canvas_1N = torch.zeros(1, num_positions, dtype=torch.bool, device=device)
            self.canvas_1N[0].index_fill_(0, self.canvas_M, True)


class Runner:
    """Runs a model over chunks of texts.

    Args:
        layout: of text and canvas. An autoregressive model marks no position as canvas, and a single position runs
            unpacked, for speed.
        replayer: replays steps that differ only in their tokens; None computes every step.
    """

    def __init__(self, model: Model, pool: KVPool, layout: PrefixLayout, replayer: Replayer | None = None) -> None:
        self.layout, self.model, self._pool = layout, model, pool
        self._autoregressive = layout.spec.autoregressive
        self._last: _PackedChunks | None = None
        self.replayer = replayer
        self.num_forwards = 0
        """Number of passes through the weights so far."""
        self.num_positions = 0
        """Positions in them, without padding."""

    def text_chunk(self, sequence: Sequence, count: int) -> ScheduledChunk:
        """A chunk of a text's next tokens."""
        cached = sequence.cached
        assert cached is not None
        start, end = cached.length, cached.length + count
        segment = Segment(slot_S=cached.slot_S, start=start, end=end, block=self.layout.block, run=cached.run)
        return ScheduledChunk(segment=segment, tokens=sequence.text[start:end])

    def canvas_chunk(
        self, sequence: Sequence, row: int, length: int, decided: Numbers | None, *, as_text: bool = False
    ) -> ScheduledChunk:
        """A chunk with a canvas and the text to recompute with it; see `PrefixLayout.canvas_positions`.

        Args:
            as_text: read the canvas as text.
        """
        text, cached = sequence.text, sequence.cached
        assert cached is not None
        positions = self.layout.canvas_positions(len(text), length, decided)
        if as_text:
            positions = positions._replace(canvas_Q=np.full_like(positions.canvas_Q, -1))
        whole = len(positions.token_Q) == positions.end - positions.start
        segment = Segment(
            slot_S=cached.slot_S,
            start=positions.start,
            end=positions.end,
            # A single position attends to what is before it in any layout.
            block=1 if self._autoregressive or as_text else None,
            run=cached.run,
            place_Q=None if whole else len(text) + positions.token_Q,
        )
        first = len(text) - int((positions.token_Q < 0).sum())
        return ScheduledChunk(segment=segment, tokens=text[first:], row=row, positions=positions)

    def forward(
        self,
        chunks: list[ScheduledChunk],
        tokens_RL: Tensor | None = None,
        soft_RLD: Tensor | None = None,
        given_RL: Tensor | None = None,
    ) -> ForwardOutput:
        """Run one pass through the weights and write the keys and values of all chunks.

        Args:
            chunks: any number, at most one per row of the batch, and no two of one text that overlap.
            tokens_RL: int64; canvas tokens, if there are canvases.
            soft_RLD: soft embeddings of the previous predictions, if there are any.
            given_RL: bool; which canvas tokens are given, if any.

        Returns:
            The result; the next forward may overwrite its hidden states.
        """
        if tokens_RL is None:
            tokens_RL = torch.zeros(0, 0, dtype=torch.int64, device=self._pool.device)
        packed = self._pack(chunks, (tokens_RL.shape[0], tokens_RL.shape[1]))
        compute, inputs = functools.partial(self._compute, packed), (tokens_RL, soft_RLD, given_RL)
        hidden_ND = compute(*inputs) if self.replayer is None else self.replayer(packed.key, compute, *inputs)
        self.num_forwards += 1
        self.num_positions += packed.total
        return ForwardOutput(hidden_ND, packed.index_RL, packed.last_C)

    def _pack(self, chunks: list[ScheduledChunk], shape: tuple[int, int]) -> _PackedChunks:
        """Pack some chunks, reusing the last layout if it is the same."""
        key = _key(chunks, shape)
        if self._last is None or key is None or self._last.key != key:
            num_positions = self._padded(sum(chunk.segment.count for chunk in chunks))
            windows, backend = self.model.windows, self.model.backend
            self._last = _PackedChunks(key, chunks, shape, num_positions, self._pool, windows, backend)
        return self._last

    def _compute(
        self, packed: _PackedChunks, tokens_RL: Tensor, soft_RLD: Tensor | None, given_RL: Tensor | None
    ) -> Tensor:
        tokens_1N = torch.cat((tokens_RL.flatten(), packed.known_N))[packed.index_N].unsqueeze(0)
        given_1N = canvas_1N = soft_1ND = None
        if given_RL is not None and self.model.marks_given:
            known_N = torch.zeros_like(packed.known_N, dtype=torch.bool)
            given_1N = torch.cat((given_RL.flatten(), known_N))[packed.index_N].unsqueeze(0)
        if not self._autoregressive:
            canvas_1N = packed.canvas_1N
            if soft_RLD is not None and packed.canvas_M is not None and packed.decided_M is not None:
                soft_1ND = soft_RLD.new_zeros(1, tokens_1N.shape[1], soft_RLD.shape[2])
                soft_1ND[0].index_copy_(0, packed.canvas_M, soft_RLD.flatten(0, 1).index_select(0, packed.decided_M))
        attention = packed.attention
        hidden_1ND: Tensor = self.model(
            tokens_1N, attention.positions_1N, attention, canvas_RQ=canvas_1N, soft_RQD=soft_1ND, given_RQ=given_1N
        )
        return hidden_1ND.squeeze(0)

    def read(self, head: Callable[[Tensor], Tensor], hidden_ND: Tensor, index_N: Tensor) -> Tensor:
        """The output of a head, such as `Model.logits`, at some of the positions."""
        count = len(index_N)
        padding = index_N.new_zeros(self._padded(count) - count)
        return head(hidden_ND.index_select(0, torch.cat((index_N, padding))))[:count]

    def soft_embedding(self, probs_1NV: Tensor) -> Tensor:
        """Mean embedding [1, N, D] under token probabilities, or under the backend's weights."""
        count = probs_1NV.shape[1]
        # Digits are two rows per position, and integer sums do not depend on the number of rows.
        if probs_1NV.is_floating_point() and count % WHOLE:
            padding = probs_1NV.new_zeros(1, -count % WHOLE, probs_1NV.shape[2])
            probs_1NV = torch.cat((probs_1NV, padding), dim=1)
        return self.model.soft_embedding(probs_1NV)[:, :count]

    def _padded(self, count: int) -> int:
        return count if self._autoregressive and count == 1 else count + -count % WHOLE


class StepForward:
    """One forward as `sampling.step` sees it (a `Denoiser`): canvases, and text written in the same pass.

    Args:
        sequences: owners of the canvases, row by row.
    """

    def __init__(
        self, runner: Runner, texts: list[ScheduledChunk], sequences: list[Sequence], batch: CanvasBatch | None
    ) -> None:
        self._runner, self._texts, self._batch = runner, texts, batch
        self.sequences = sequences
        self.num_computed: dict[Sequence, int] = {}
        """Number of computed positions of each canvas."""
        self.soft_embedding = runner.soft_embedding
        self.embedding = runner.model.token_embedding

    def write(self) -> None:
        """Run the pass for text only."""
        self._output = self._runner.forward(self._texts)

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, active: Active | None
    ) -> Tensor:
        batch = self._batch
        assert batch is not None
        decided: list[Numbers | None] = [None] * len(batch)
        verifying = batch.verifying_R.tolist() if batch.settings.verifies else [False] * len(batch)
        if active is not None:
            canvas_RL, whole_R = (column.cpu().numpy() for column in active)
            decided = [
                None if whole else canvas_L.nonzero()[0] for canvas_L, whole in zip(canvas_RL, whole_R, strict=True)
            ]
        canvases = [
            self._runner.canvas_chunk(
                sequence, row, int(batch.host_length_R[row]), decided[row], as_text=verifying[row]
            )
            for row, sequence in enumerate(self.sequences)
        ]
        counts = (chunk.segment.count for chunk in canvases)
        self.num_computed = dict(zip(self.sequences, counts, strict=True))
        given_RL = batch.frozen_RL if batch.fixed else None
        chunks = [*self._texts, *canvases]
        self._output = self._runner.forward(chunks, tokens_RL, soft_RLD, given_RL)
        runner, output = self._runner, self._output
        return runner.read(runner.model.logits, output.hidden_ND, output.index_RL.flatten()[index_N])

    def length_shares(self, i: int) -> list[float]:
        """The length head's probabilities after the i-th text: its buckets, and longer."""
        hidden_ND, _, last_C = self._output
        last_N = torch.tensor([last_C[i]], device=hidden_ND.device)
        logits_NB = self._runner.read(self._runner.model.length_logits, hidden_ND, last_N)
        shares: list[float] = logits_NB[0].softmax(-1).tolist()
        return shares


def _key(chunks: list[ScheduledChunk], shape: tuple[int, int]) -> tuple[Hashable, ...] | None:
    """A key that is equal for identical layouts; None for layouts that do not repeat, such as those that write text."""
    if any(chunk.positions is None for chunk in chunks):
        return None
    fields: list[Hashable] = [shape]
    for chunk in chunks:
        segment = chunk.segment
        computed = None if segment.place_Q is None else segment.place_Q.tobytes()
        place = (id(segment.slot_S), segment.start, segment.end, segment.block, computed)
        fields.append((*place, tuple(chunk.tokens), chunk.row))
    return tuple(fields)


def _index(parts: list[Numbers], device: torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate(parts).astype(np.int64)).to(device, non_blocking=True)
