"""From scheduled sequences to one forward over all of them, packed in a row without padding between them."""

# R rows, L canvas, N packed positions, Q positions of a chunk, D model, V vocab

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.engine.sequence import Sequence
from sfumato.kernels.base import WHOLE, Backend, KVPool, Numbers, Segment
from sfumato.kernels.graphs import Replayer
from sfumato.layout import CanvasPositions, PrefixLayout
from sfumato.models.attention import PackedAttention
from sfumato.models.model import Model
from sfumato.sampling import Active, CanvasBatch


@dataclass(frozen=True, kw_only=True)
class ScheduledChunk:
    """What one text puts through the weights in one forward."""

    segment: Segment
    """Where in its text and in the pool."""
    tokens: list[int]
    """Its leading tokens; those of a canvas follow."""
    row: int | None = None
    """The canvas that follows, as a row of the batch; None for text that is only written."""
    positions: CanvasPositions | None = None
    """Of a canvas: what is computed."""


class ForwardOutput(NamedTuple):
    """What one pass through the weights gives."""

    hidden_ND: Tensor
    """Hidden states of all positions, one after the other."""
    index_RL: Tensor
    """int64; where among them the one stands that predicts a canvas position, 0 if none does."""
    last_C: list[int]
    """Where the last position of each chunk stands, in the order in which they were given."""


class _PackedChunks:
    """Where everything in a forward comes from, and where it goes: all that does not change while its chunks do not.

    Args:
        key: see `_key`.
        chunks: see `Runner.forward`.
        shape: of the batch of canvases.
        num_positions: of the forward, padding included.
        pool: where keys and values are.
        windows, backend: see `PackedAttention`.
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
        # Neighbours of one shape are read together.
        order = sorted(
            range(len(chunks)),
            key=lambda i: (chunks[i].row is not None, chunks[i].segment.start, chunks[i].segment.count),
        )
        self.key = key
        """That of `_key`: it names slots by identity, so that they have to stay."""
        self.chunks, self.last_C, self.total = [chunks[i] for i in order], [0] * len(chunks), 0
        # Tokens of the canvases, then those that the host knows, of which the first pads.
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
                place_Q, row = np.arange(first, first + len(token_Q)), chunk.row * width
                source_N.append(token_Q[token_Q >= 0] + row)
                canvas_M.append(place_Q[canvas_Q >= 0])
                decided_M.append(canvas_Q[canvas_Q >= 0] + row)
                predicts = (logits_Q >= 0) & (logits_Q < width)
                index_RL[chunk.row, logits_Q[predicts]] = place_Q[predicts]
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
        model: the weights.
        pool: where keys and values are.
        layout: of text and canvas. Of an autoregressive model no position is marked as canvas, and a single position is
            run as it is, for speed.
        replayer: replays steps that differ in their tokens alone; None computes each.
    """

    def __init__(self, model: Model, pool: KVPool, layout: PrefixLayout, replayer: Replayer | None = None) -> None:
        self.layout, self._model, self._pool = layout, model, pool
        self._autoregressive = layout.spec.autoregressive
        self._last: _PackedChunks | None = None
        self.replayer = replayer
        self.num_forwards = 0
        """Passes through the weights so far."""
        self.num_positions = 0
        """Positions in them, without padding."""

    def text_chunk(self, sequence: Sequence, count: int) -> ScheduledChunk:
        """The next tokens of a text, to be written."""
        cached = sequence.cached
        assert cached is not None
        start, end = cached.length, cached.length + count
        segment = Segment(slot_S=cached.slot_S, start=start, end=end, block=self.layout.block, run=cached.run)
        return ScheduledChunk(segment=segment, tokens=sequence.text[start:end])

    def canvas_chunk(self, sequence: Sequence, row: int, length: int, decided: Numbers | None) -> ScheduledChunk:
        """A canvas, and what is computed with it of the text before; see `PrefixLayout.canvas_positions`."""
        text, cached = sequence.text, sequence.cached
        assert cached is not None
        positions = self.layout.canvas_positions(len(text), length, decided)
        whole = len(positions.token_Q) == positions.end - positions.start
        segment = Segment(
            slot_S=cached.slot_S,
            start=positions.start,
            end=positions.end,
            # A single position reads what is before it, whichever way it is put.
            block=1 if self._autoregressive else None,
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
        """One pass through the weights; keys and values of all chunks are written.

        Args:
            chunks: any number, at most one for each row of the batch, and no two of one text that overlap.
            tokens_RL: int64; what the canvases read, if there are any.
            soft_RLD: soft embeddings of the last predictions, if there are any.
            given_RL: bool; which tokens of the canvases are given, if any is.

        Returns:
            What came out; the next forward may overwrite the hidden states.
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
        """Some chunks, packed; those of the last forward are packed already."""
        key = _key(chunks, shape)
        if self._last is None or key is None or self._last.key != key:
            num_positions = self._padded(sum(chunk.segment.count for chunk in chunks))
            windows, backend = self._model.windows, self._model.backend
            self._last = _PackedChunks(key, chunks, shape, num_positions, self._pool, windows, backend)
        return self._last

    def _compute(
        self, packed: _PackedChunks, tokens_RL: Tensor, soft_RLD: Tensor | None, given_RL: Tensor | None
    ) -> Tensor:
        tokens_1N = torch.cat((tokens_RL.flatten(), packed.known_N))[packed.index_N].unsqueeze(0)
        given_1N = canvas_1N = soft_1ND = None
        if given_RL is not None and self._model.marks_given:
            known_N = torch.zeros_like(packed.known_N, dtype=torch.bool)
            given_1N = torch.cat((given_RL.flatten(), known_N))[packed.index_N].unsqueeze(0)
        if not self._autoregressive:
            canvas_1N = packed.canvas_1N
            if soft_RLD is not None and packed.canvas_M is not None and packed.decided_M is not None:
                soft_1ND = soft_RLD.new_zeros(1, tokens_1N.shape[1], soft_RLD.shape[2])
                soft_1ND[0].index_copy_(0, packed.canvas_M, soft_RLD.flatten(0, 1)[packed.decided_M])
        attention = packed.attention
        hidden_1ND: Tensor = self._model(
            tokens_1N, attention.positions_1N, attention, canvas_RQ=canvas_1N, soft_RQD=soft_1ND, given_RQ=given_1N
        )
        return hidden_1ND.squeeze(0)

    def logits(self, hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        """Logits [N, V] of some of the positions."""
        return self._of_some(self._model.logits, hidden_ND, place_N)

    def length_logits(self, hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        """Logits [N, B + 1] of how long the answers after some of the positions will be."""
        return self._of_some(self._model.length_logits, hidden_ND, place_N)

    def _of_some(self, head: Callable[[Tensor], Tensor], hidden_ND: Tensor, place_N: Tensor) -> Tensor:
        count = len(place_N)
        padding = place_N.new_zeros(self._padded(count) - count)
        return head(hidden_ND[torch.cat((place_N, padding))])[:count]

    def soft_embedding(self, probs_1NV: Tensor) -> Tensor:
        """Mean embedding [1, N, D] under token probabilities, or under what its backend gave as weights."""
        count = probs_1NV.shape[1]
        # Digits are two rows for each position, and sums of integers the same for any number of rows.
        if probs_1NV.is_floating_point() and count % WHOLE:
            padding = probs_1NV.new_zeros(1, -count % WHOLE, probs_1NV.shape[2])
            probs_1NV = torch.cat((probs_1NV, padding), dim=1)
        return self._model.soft_embedding(probs_1NV)[:, :count]

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        """The same for tokens that are certain."""
        return self._model.token_embedding(tokens_RL)

    def _padded(self, count: int) -> int:
        return count if self._autoregressive and count == 1 else count + -count % WHOLE


class StepForward:
    """One forward as `sampling.step` sees it, a `Denoiser`: canvases, and text that is written in the same pass.

    Args:
        runner: runs it.
        texts: the text.
        sequences: whose canvases they are, row by row.
        batch: the canvases.
    """

    def __init__(
        self, runner: Runner, texts: list[ScheduledChunk], sequences: list[Sequence], batch: CanvasBatch | None
    ) -> None:
        self._runner, self._texts, self._batch = runner, texts, batch
        self.sequences = sequences
        self.num_computed: dict[Sequence, int] = {}
        """Positions of each canvas that went through the weights."""
        self.soft_embedding = runner.soft_embedding
        self.embedding = runner.embedding

    def write(self) -> None:
        """Take the pass for the text alone."""
        self._output = self._runner.forward(self._texts)

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, active: Active | None
    ) -> Tensor:
        batch = self._batch
        assert batch is not None
        decided: list[Numbers | None] = [None] * len(batch)
        if active is not None:
            canvas_RL, whole_R = (column.cpu().numpy() for column in active)
            decided = [
                None if whole else canvas_L.nonzero()[0] for canvas_L, whole in zip(canvas_RL, whole_R, strict=True)
            ]
        canvases = [
            self._runner.canvas_chunk(sequence, row, int(batch.host_length_R[row]), decided[row])
            for row, sequence in enumerate(self.sequences)
        ]
        counts = (chunk.segment.count for chunk in canvases)
        self.num_computed = dict(zip(self.sequences, counts, strict=True))
        given_RL = batch.frozen_RL if batch.fixed else None
        chunks = [*self._texts, *canvases]
        self._output = self._runner.forward(chunks, tokens_RL, soft_RLD, given_RL)
        return self._runner.logits(self._output.hidden_ND, self._output.index_RL.flatten()[index_N])

    def length_shares(self, i: int) -> list[float]:
        """What the length head says after the i-th text: probabilities of its buckets, and of longer."""
        last_N = torch.tensor([self._output.last_C[i]], device=self._output.hidden_ND.device)
        shares: list[float] = self._runner.length_logits(self._output.hidden_ND, last_N)[0].softmax(-1).tolist()
        return shares


def _key(chunks: list[ScheduledChunk], shape: tuple[int, int]) -> tuple[Hashable, ...] | None:
    """Equal for chunks that are packed alike; None for some that do not come again, as what is written does not."""
    if any(chunk.positions is None for chunk in chunks):
        return None
    fields: list[Hashable] = [shape]
    for chunk in chunks:
        segment = chunk.segment
        computed = None if segment.place_Q is None else segment.place_Q.tobytes()
        fields.append((id(segment.slot_S), segment.start, segment.end, computed, tuple(chunk.tokens), chunk.row))
    return tuple(fields)


def _index(parts: list[Numbers], device: torch.device) -> Tensor:
    return torch.from_numpy(np.concatenate(parts).astype(np.int64)).to(device, non_blocking=True)
