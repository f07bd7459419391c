"""One pass over the logits: temperature, bans, draw, argmax, entropy, margin and soft embedding.

The vocabulary axis is the only large one. Positions go through in tiles that stay in the cache, and everything is read
of a tile while it is there. Its exponentials are summed by blocks of the vocabulary; maxima, draws and margins are
looked for among blocks first.
"""

# R rows, L canvas, V vocab, D model, N positions of all rows together, B blocks of the vocabulary, K tokens of a block,
# C classes of tokens

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sfumato.kernels.base import Backend, LogitRows

# What a CPU works on at once, with as much again for exponentials.
_TILE_BYTES = 2**23
_BLOCK = 256

# Logits over a lower temperature may overflow.
COLD = 1e-4
_FAINT = -80.0
# Stands for minus infinity, for which 0 times it is 0.
NEVER = -1e30


class Statistics(NamedTuple):
    """What one step knows of each position; a frozen or kept position has its own token, with certainty."""

    argmax_RL: Tensor
    """int64; the most probable token."""
    sampled_RL: Tensor
    """int64; the token drawn from the tempered distribution, or the argmax in a greedy step."""
    confidence_RL: Tensor
    """float32; probability of the sampled token."""
    entropy_RL: Tensor
    """float32 nats, of the tempered distribution before top_p."""
    margin_RL: Tensor
    """float32; probability of the most probable token less that of the next; NaN if the logits are broken."""


class TopTokens(NamedTuple):
    """The most probable tokens of some positions of a canvas, the first the most."""

    positions: list[int]
    tokens: list[list[int]]
    probabilities: list[list[float]]


_Part = tuple[Statistics, Tensor, Tensor | None]
"""Statistics of some positions; sums of their exponentials; if they are wanted, the exponentials, as a soft embedding
takes them."""


@dataclass(frozen=True, eq=False)
class ConstrainedRow:
    """A row whose text must belong to a language: what is written at its open positions is one string of it."""

    row: int
    """Its number in the batch."""
    place_N: Tensor
    """int64; where its open positions stand among the positions that are read, ascending."""
    host_place: list[int]
    """The same, on the host."""
    on_canvas_N: Tensor
    """int64; where they stand on the canvas."""
    class_V: Tensor
    """int64; the class of each token."""
    bias_NC: Tensor
    """float32, finite; what makes marginals of the scores of the tokens of a class."""
    best_N: Tensor
    """int64; tokens of the best string."""
    drawn_N: Tensor
    """int64; tokens of the one that was drawn."""
    confidence_N: Tensor
    """float32; the probability of those without the language: low where it overrules the model."""

    def put(self, values_RL: Tensor, own_N: Tensor) -> Tensor:
        """A statistic with what it is in this row."""
        values_RL = values_RL.clone()
        values_RL[self.row, self.on_canvas_N] = own_N.to(values_RL.dtype)
        return values_RL


@dataclass(frozen=True, kw_only=True)
class LogitsReader:
    """Turns logits into statistics: one softmax a position, in tiles, and one uniform for its draw."""

    index_N: Tensor
    """int64; which positions there are logits for, as indices into [R, L] laid flat, ascending."""
    open_RL: Tensor
    """bool; positions whose token is in question. The others have theirs with certainty, logits or not."""
    tokens_RL: Tensor
    """int64; what stands on the canvas."""
    temperature_R: Tensor
    greedy_R: Tensor
    cut: tuple[Tensor, Tensor] | None
    """top_p_R and top_k_R; None if no row leaves tokens out."""
    mask_id: int | None
    banned: Tensor | None
    constrained: Sequence[ConstrainedRow] = ()
    """Rows whose text must belong to a language."""
    backend: Backend | None = None
    """Reads logits in one loop, if it can, of rows where nothing but tempering and bans comes before the softmax."""

    def read(
        self, logits_NV: Tensor, u_RL: Tensor, soft_embedding: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[Statistics, Tensor | None]:
        """Read every position of index_N, drawing with u_RL.

        The draw inverts the distribution function at one uniform, where the Gumbel trick would need V of
        them. A token of probability below 2^-24 is out of reach of a float32 uniform, as it is of float32
        Gumbel noise.

        Args:
            logits_NV: of any float type; left as they are.
            u_RL: uniforms.
            soft_embedding: a linear function of probabilities [1, N, V].

        Returns:
            The statistics, and what soft_embedding made of the distributions [N, D], or None without it.
        """
        row_N, u_N = self.index_N // self.open_RL.shape[1], u_RL.flatten()[self.index_N]
        chunk = max(1, len(row_N) if self.backend is None else self.backend.rows_at_once(logits_NV.shape[1]))
        readings: list[Statistics] = []
        softs: list[Tensor] = []
        for start, stop, in_loop in self._stretches(logits_NV, row_N):
            go = self._loop if in_loop else self._tiles
            for first in range(start, stop, chunk):
                part = slice(first, min(first + chunk, stop))
                statistics, total_N, weights = go(logits_NV, row_N, u_N, part, soft_embedding is not None)
                readings.append(statistics)
                if soft_embedding is not None and weights is not None:
                    summed_ND = soft_embedding(weights.unsqueeze(0)).squeeze(0)
                    softs.append((summed_ND / total_N.unsqueeze(-1)).to(summed_ND.dtype))
        statistics = self._placed(readings)
        for one in self.constrained:
            # Marginals tell how sure each position is; what is written belongs to one string.
            drawn_N = torch.where(self._greedy_R[one.row], one.best_N, one.drawn_N)
            statistics = statistics._replace(
                argmax_RL=one.put(statistics.argmax_RL, one.best_N),
                sampled_RL=one.put(statistics.sampled_RL, drawn_N),
                confidence_RL=one.put(statistics.confidence_RL, one.confidence_N),
            )
        return statistics, torch.cat(softs) if softs else None

    def top(self, logits_NV: Tensor, row: int, count: int) -> TopTokens:
        """The most probable tokens of the open positions of a row, among those that its language allows."""
        length = self.open_RL.shape[1]
        here_N = (self.index_N // length == row) & self.open_RL.flatten()[self.index_N]
        place_N = here_N.nonzero().squeeze(-1)
        if not len(place_N):
            return TopTokens([], [], [])
        part = slice(int(place_N[0]), int(place_N[-1]) + 1)
        scores_NV = torch.empty_like(logits_NV[part], dtype=torch.float32)
        self._temper(logits_NV[part], self.index_N[part] // length, scores_NV)
        self._add_bias(scores_NV, part)
        found = scores_NV[place_N - part.start].softmax(-1).topk(min(count, logits_NV.shape[1]))
        return TopTokens((self.index_N[place_N] % length).tolist(), found.indices.tolist(), found.values.tolist())

    @property
    def _greedy_R(self) -> Tensor:
        return (self.temperature_R < COLD) | self.greedy_R

    def _stretches(self, logits_NV: Tensor, row_N: Tensor) -> list[tuple[int, int, bool]]:
        """Positions from and to which all are read in one way, and whether that is one loop.

        One loop reads rows that leave no token out and are not constrained, whoever else is in the batch: so a row
        reads the same, to the last bit, alone.
        """
        if self.backend is None or not self.backend.reads(logits_NV):
            return [(0, len(row_N), False)]
        if self.cut is None and not self.constrained:
            return [(0, len(row_N), True)]
        in_loop_R = torch.ones_like(self.greedy_R)
        if self.cut is not None:
            in_loop_R = (self.cut[0] >= 1.0) & (self.cut[1] == 0)
        in_loop_R[[one.row for one in self.constrained]] = False
        stretches, start = [], 0
        for in_loop, group in itertools.groupby(in_loop_R[row_N].tolist()):
            stretches.append((start, start + len(list(group)), in_loop))
            start = stretches[-1][1]
        return stretches

    def _loop(self, logits_NV: Tensor, row_N: Tensor, u_N: Tensor, part: slice, weigh: bool) -> _Part:
        """Read a part of the positions as if no token were known."""
        rows_N, banned_RV = row_N[part], None if self.banned is None else self.banned.view(-1, logits_NV.shape[1])
        ban_N = None if banned_RV is None else rows_N % len(banned_RV)
        given = (logits_NV[part], self._scale_R[rows_N], u_N[part], self._greedy_R[rows_N], banned_RV, ban_N)
        assert self.backend is not None
        stats, weights = self.backend.read(LogitRows(*given, self.mask_id), weigh=weigh)
        return Statistics(*stats[:-1]), stats.total_N, weights

    def _tiles(self, logits_NV: Tensor, row_N: Tensor, u_N: Tensor, part: slice, weigh: bool) -> _Part:
        """The same in torch, some positions at a time."""
        vocab_size = logits_NV.shape[1]
        width, num_rows = -(-vocab_size // _BLOCK) * _BLOCK, part.stop - part.start
        tile = num_rows if logits_NV.is_cuda else max(1, min(num_rows, _TILE_BYTES // (4 * width)))
        scores_NV = logits_NV.new_empty(tile, width, dtype=torch.float32)
        weights_NV = scores_NV.new_empty(num_rows if weigh else tile, width)
        readings: list[Statistics] = []
        totals: list[Tensor] = []
        for start in range(part.start, part.stop, tile):
            here = slice(start, min(start + tile, part.stop))
            size, place = here.stop - start, start - part.start if weigh else 0
            scores, weights = scores_NV[:size], weights_NV[place : place + size]
            self._temper(logits_NV[here], row_N[here], scores)
            self._add_bias(scores[:, :vocab_size], here)
            statistics, total_N = self._statistics(scores, weights, row_N[here], u_N[here])
            readings.append(statistics)
            totals.append(total_N)
        columns = (torch.cat(column) for column in zip(*readings, strict=True))
        return Statistics(*columns), torch.cat(totals), weights_NV[:, :vocab_size] if weigh else None

    @property
    def _scale_R(self) -> Tensor:
        """What logits are divided by: where the temperature is 0 the statistics stay untempered, and only the draw
        becomes the argmax."""
        return torch.where(self.temperature_R < COLD, 1.0, self.temperature_R)

    def _add_bias(self, scores_NV: Tensor, part: slice) -> None:
        """Make marginals of the scores of constrained rows."""
        for one in self.constrained:
            first, last = bisect.bisect_left(one.host_place, part.start), bisect.bisect_left(one.host_place, part.stop)
            if first < last:
                bias_NV = one.bias_NC[first:last].index_select(1, one.class_V)
                scores_NV.index_add_(0, one.place_N[first:last] - part.start, bias_NV)

    def _temper(self, logits_NV: Tensor, row_N: Tensor, scores_NV: Tensor) -> None:
        """Write what the softmax is of, with what can never be drawn at the bottom, as far as the blocks reach."""
        scale_N1 = self._scale_R[row_N].unsqueeze(-1)
        vocab_size = logits_NV.shape[-1]
        scores_NV[:, vocab_size:] = NEVER
        inside_NV = scores_NV[:, :vocab_size]
        torch.div(logits_NV.float(), scale_N1, out=inside_NV)
        inside_NV.clamp_min_(NEVER)
        if self.mask_id is not None:
            inside_NV[:, self.mask_id] = NEVER
        if self.banned is not None:
            inside_NV.masked_fill_(self.banned if self.banned.ndim == 1 else self.banned[row_N], NEVER)

    def _statistics(
        self, scores_NV: Tensor, weights_NV: Tensor, row_N: Tensor, u_N: Tensor
    ) -> tuple[Statistics, Tensor]:
        """Read a tile, as if no token were known; scores_NV are spent, and weights_NV receive the exponentials.

        Returns:
            The statistics, and the sum of the exponentials.
        """
        place_N = torch.arange(len(row_N), device=row_N.device)
        scores_NBK, weights_NBK = _blocks(scores_NV), _blocks(weights_NV)
        highest_NB = scores_NBK.amax(-1)
        highest_N, block_N = highest_NB.max(-1)
        best_NK = scores_NBK[place_N, block_N]
        within_N1 = best_NK.argmax(-1, keepdim=True)
        argmax_N = block_N * _BLOCK + within_N1.squeeze(-1)
        second_N = torch.maximum(
            best_NK.scatter(-1, within_N1, NEVER).amax(-1),
            highest_NB.scatter(-1, block_N.unsqueeze(-1), NEVER).amax(-1),
        )
        scores_NV.sub_(highest_N.unsqueeze(-1))
        if self.constrained:
            # An exponential that is no normal float takes some hundred times as long, and here most are none.
            faint_NV = scores_NV < _FAINT
            torch.exp(scores_NV.clamp_min_(_FAINT), out=weights_NV).masked_fill_(faint_NV, 0.0)
        else:
            torch.exp(scores_NV, out=weights_NV)
        sums_NB = weights_NBK.sum(-1)
        total_N = sums_NB.sum(-1)
        # By blocks as well: whole rows would be summed in another order where there is one of them.
        mean_N = _blocks(scores_NV.mul_(weights_NV)).sum(-1).sum(-1) / total_N
        entropy_N = (total_N.log() - mean_N).clamp_min(0.0)
        margin_N = (1.0 - (second_N - highest_N).exp()) / total_N
        margin_N = torch.where(highest_N > NEVER, margin_N, math.nan)
        if self.cut is None:
            drawn_N, possible_N = _invert(weights_NBK, sums_NB, u_N)
        else:
            cut_NBK = _blocks(nucleus(weights_NV, self.cut[0][row_N], self.cut[1][row_N]))
            drawn_N, possible_N = _invert(cut_NBK, cut_NBK.sum(-1), u_N)
        greedy_N = self._greedy_R[row_N]
        sampled_N = torch.where(greedy_N | ~possible_N, argmax_N, drawn_N)
        confidence_N = weights_NV.gather(-1, sampled_N.unsqueeze(-1)).squeeze(-1) / total_N
        return Statistics(argmax_N, sampled_N, confidence_N, entropy_N, margin_N), total_N

    def _placed(self, readings: Sequence[Statistics]) -> Statistics:
        """The statistics of all positions, those that are not open being certain."""
        certain_RL = torch.ones_like(self.open_RL, dtype=torch.float32)
        everything = Statistics(self.tokens_RL, self.tokens_RL, certain_RL, torch.zeros_like(certain_RL), certain_RL)
        if not readings:
            return everything
        columns = (torch.cat(column) for column in zip(*readings, strict=True))
        return Statistics(*(self._place(*pair) for pair in zip(everything, columns, strict=True)))

    def _place(self, certain_RL: Tensor, read_N: Tensor) -> Tensor:
        read_RL = certain_RL.flatten().index_copy(0, self.index_N, read_N).view_as(certain_RL)
        return torch.where(self.open_RL, read_RL, certain_RL)


def _blocks(values_NV: Tensor) -> Tensor:
    return torch.unflatten(values_NV, -1, (-1, _BLOCK))


def nucleus(weights_NV: Tensor, top_p_N: Tensor, top_k_N: Tensor) -> Tensor:
    """Zero the weights of what is not among the top_k largest (0 means all), or is outside the smallest set of those
    that holds top_p of their sum; the last ties of either stay in."""
    sorted_NV = weights_NV.sort(-1, descending=True).values
    place_V = torch.arange(sorted_NV.shape[-1], device=sorted_NV.device)
    many_N = torch.where(top_k_N > 0, top_k_N, sorted_NV.shape[-1])
    kept_NV = sorted_NV.masked_fill(place_V >= many_N.unsqueeze(-1), 0.0)
    running_NV = kept_NV.cumsum(-1)
    outside_NV = (running_NV - kept_NV >= (top_p_N * running_NV[:, -1]).unsqueeze(-1)) & (top_p_N < 1.0).unsqueeze(-1)
    outside_NV |= place_V >= many_N.unsqueeze(-1)
    outside_NV[:, 0] = False
    smallest_N = sorted_NV.masked_fill(outside_NV, torch.inf).amin(-1)
    return weights_NV.masked_fill(weights_NV < smallest_N.unsqueeze(-1), 0.0)


def _invert(weights_NBK: Tensor, sums_NB: Tensor, u_N: Tensor) -> tuple[Tensor, Tensor]:
    """The first token at which the running sum of weights passes u times their total: by block, then within it.

    Returns:
        int64 tokens, and bool: whether the token has any weight. Rounding may carry a running sum past one that has
        some.
    """
    num_blocks, place_N = sums_NB.shape[-1], torch.arange(len(u_N), device=u_N.device)
    running_NB = sums_NB.cumsum(-1)
    total_N = running_NB[:, -1]
    # Rounding may carry u times the total up to the total, which no block passes.
    below_N = torch.minimum(u_N * total_N, torch.nextafter(total_N, torch.zeros_like(total_N)))
    # Only a row of NaN runs past the end.
    block_N = torch.searchsorted(running_NB, below_N.unsqueeze(-1), right=True).squeeze(-1).clamp_max(num_blocks - 1)
    before_N = torch.where(block_N > 0, running_NB[place_N, (block_N - 1).clamp_min(0)], 0.0)
    inside_NK = weights_NBK[place_N, block_N]
    rest_N1 = (below_N - before_N).unsqueeze(-1)
    within_N = torch.searchsorted(inside_NK.cumsum(-1), rest_N1, right=True).squeeze(-1).clamp_max(_BLOCK - 1)
    possible_N = inside_NK.gather(-1, within_N.unsqueeze(-1)).squeeze(-1) > 0.0
    return block_N * _BLOCK + within_N, possible_N
