"""Reads logits in one pass: temperature, bans, draw, argmax, entropy, margin and soft embedding. A small network on
these statistics, the learned stop, predicts whether a draft would still change.

Only the vocabulary axis is large. Positions are processed in tiles that fit the cache, and everything is computed while
a tile is there. Exponentials are summed by blocks of the vocabulary; maxima, draws and margins are searched by block
first.
"""

# R rows, L canvas, V vocab, D model, N positions of all rows, B blocks of the vocabulary, K tokens per block, C token
# classes, F features

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import CheckpointError
from sfumato.gguf_file import GGUFFile
from sfumato.kernels.base import Backend, LogitRows, Statistics
from sfumato.storage import write_atomically

# Tile size on a CPU; exponentials take as much again.
_TILE_BYTES = 2**23
_BLOCK = 256

# Logits divided by a lower temperature may overflow.
COLD = 1e-4
_FAINT = -80.0
# Stands for minus infinity, but times 0 it is 0.
NEVER = -1e30


class TopTokens(NamedTuple):
    """The most probable tokens at some positions of a canvas, most probable first."""

    positions: list[int]
    tokens: list[list[int]]
    probabilities: list[list[float]]


_STEPS = 4096
"""Steps per nat, or in a margin, in which positions of constrained rows are compared."""

_Part = tuple[Statistics, Tensor, Tensor | None]
"""Statistics of some positions, the sums of their exponentials and, if needed, the exponentials for a soft
embedding."""


@dataclass(frozen=True, eq=False)
class ConstrainedRow:
    """A row constrained to a language: its open positions are filled with one string."""

    row: int
    """Index in the batch."""
    place_N: Tensor
    """int64; indices of its open positions among the positions read, ascending."""
    host_place: list[int]
    """The same, on the host."""
    on_canvas_N: Tensor
    """int64; canvas positions of these."""
    class_V: Tensor
    """int64; class of each token."""
    bias_NC: Tensor
    """float32, finite; added to the scores of a class's tokens, it gives marginals."""
    best_N: Tensor
    """int64; tokens of the best string."""
    drawn_N: Tensor
    """int64; tokens of the sampled string."""
    confidence_N: Tensor
    """float32; unconstrained probability of the sampled tokens: low where the language overrules the model."""

    def put(self, values_RL: Tensor, own_N: Tensor) -> Tensor:
        """A statistic with this row's values filled in."""
        values_RL = values_RL.clone()
        values_RL[self.row, self.on_canvas_N] = own_N.to(values_RL.dtype)
        return values_RL


@dataclass(frozen=True, kw_only=True)
class LogitsReader:
    """Turns logits into statistics: one softmax per position, in tiles, and one uniform for its draw."""

    index_N: Tensor
    """int64; positions with logits, as ascending indices into flattened [R, L]."""
    open_RL: Tensor
    """bool; positions to decide. The others keep their tokens with certainty."""
    tokens_RL: Tensor
    """int64; tokens on the canvas."""
    temperature_R: Tensor
    greedy_R: Tensor
    cut: tuple[Tensor, Tensor] | None
    """top_p_R and top_k_R; None if no row uses them."""
    mask_id: int | None
    banned: Tensor | None
    constrained: Sequence[ConstrainedRow] = ()
    """Rows constrained to a language."""
    backend: Backend | None = None
    """Reads logits in one fused loop, if available, for rows that need only temperature and bans before the softmax."""

    def read(
        self, logits_NV: Tensor, u_RL: Tensor, soft_embedding: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[Statistics, Tensor | None]:
        """Read every position of index_N, drawing with u_RL.

        Draws by inverting the distribution function at one uniform; the Gumbel trick would need V of them. Tokens of
        probability below 2^-24 are out of reach, as with float32 Gumbel noise.

        Args:
            logits_NV: of any float type; not modified.
            soft_embedding: a linear function of probabilities [1, N, V].

        Returns:
            The statistics, and the soft embedding [N, D] if requested.
        """
        row_N, u_N = self.index_N // self.open_RL.shape[1], u_RL.flatten()[self.index_N]
        chunk = max(1, len(row_N))
        if self.backend is not None:
            chunk = max(1, self.backend.held_bytes // (self.backend.bytes_per_weight * logits_NV.shape[1]))
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
            # Marginals measure confidence; the tokens written belong to one string.
            drawn_N = torch.where(self._greedy_R[one.row], one.best_N, one.drawn_N)
            statistics = statistics._replace(
                argmax_RL=one.put(statistics.argmax_RL, one.best_N),
                sampled_RL=one.put(statistics.sampled_RL, drawn_N),
                confidence_RL=one.put(statistics.confidence_RL, one.confidence_N),
            )
        return statistics, torch.cat(softs) if softs else None

    def top(self, logits_NV: Tensor, row: int, count: int) -> TopTokens:
        """The most probable allowed tokens at the open positions of a row."""
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
        """Ranges of positions that are read in the same way, and whether by the fused loop.

        The fused loop reads rows without top_k, top_p or constraint. The choice depends only on the row, so a row reads
        bit-identically alone.
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
        """Read some positions as if no token were known."""
        rows_N, banned_RV = row_N[part], None if self.banned is None else self.banned.view(-1, logits_NV.shape[1])
        ban_N = None if banned_RV is None else rows_N % len(banned_RV)
        given = (logits_NV[part], self._scale_R[rows_N], u_N[part], self._greedy_R[rows_N], banned_RV, ban_N)
        assert self.backend is not None
        return self.backend.read(LogitRows(*given, self.mask_id), weigh=weigh)

    def _tiles(self, logits_NV: Tensor, row_N: Tensor, u_N: Tensor, part: slice, weigh: bool) -> _Part:
        """The same in torch, in tiles."""
        vocab_size = logits_NV.shape[1]
        width, num_rows = -(-vocab_size // _BLOCK) * _BLOCK, part.stop - part.start
        tile = num_rows if logits_NV.is_cuda else max(1, min(num_rows, _TILE_BYTES // (4 * width)))
        scores_NV = logits_NV.new_empty(tile, width, dtype=torch.float32)
        weights_NV = scores_NV.new_empty(num_rows if weigh else tile, width)
        readings: list[Statistics] = []
        totals: list[Tensor] = []
        for start in range(part.start, part.stop, tile):
            here = slice(start, min(start + tile, part.stop))
            size, offset = here.stop - start, start - part.start if weigh else 0
            scores, weights = scores_NV[:size], weights_NV[offset : offset + size]
            self._temper(logits_NV[here], row_N[here], scores)
            self._add_bias(scores[:, :vocab_size], here)
            statistics, total_N = self._statistics(scores, weights, row_N[here], u_N[here])
            readings.append(statistics)
            totals.append(total_N)
        columns = (torch.cat(column) for column in zip(*readings, strict=True))
        return Statistics(*columns), torch.cat(totals), weights_NV[:, :vocab_size] if weigh else None

    @property
    def _scale_R(self) -> Tensor:
        """Divisor of the logits; at temperature 0 the statistics stay untempered and only the draw becomes the
        argmax."""
        return torch.where(self.temperature_R < COLD, 1.0, self.temperature_R)

    def _add_bias(self, scores_NV: Tensor, part: slice) -> None:
        """Turn the scores of constrained rows into marginals."""
        for one in self.constrained:
            first, last = bisect.bisect_left(one.host_place, part.start), bisect.bisect_left(one.host_place, part.stop)
            if first < last:
                bias_NV = one.bias_NC[first:last].index_select(1, one.class_V)
                scores_NV.index_add_(0, one.place_N[first:last] - part.start, bias_NV)

    def _temper(self, logits_NV: Tensor, row_N: Tensor, scores_NV: Tensor) -> None:
        """Write the softmax's inputs, with impossible tokens at the minimum, padded to whole blocks."""
        scale_N1 = self._scale_R[row_N].unsqueeze(-1)
        vocab_size = logits_NV.shape[-1]
        scores_NV[:, vocab_size:] = NEVER
        inside_NV = scores_NV[:, :vocab_size]
        torch.div(logits_NV.float(), scale_N1, out=inside_NV)
        inside_NV.clamp_min_(NEVER)
        banned = self.banned if self.banned is None or self.banned.ndim == 1 else self.banned[row_N]
        forbid_(inside_NV, self.mask_id, banned)

    def _statistics(
        self, scores_NV: Tensor, weights_NV: Tensor, row_N: Tensor, u_N: Tensor
    ) -> tuple[Statistics, Tensor]:
        """Read a tile as if no token were known; overwrites scores_NV and writes the exponentials to weights_NV.

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
            # Denormal exponentials are a hundred times slower, and most would be denormal here.
            faint_NV = scores_NV < _FAINT
            torch.exp(scores_NV.clamp_min_(_FAINT), out=weights_NV).masked_fill_(faint_NV, 0.0)
        else:
            torch.exp(scores_NV, out=weights_NV)
        sums_NB = weights_NBK.sum(-1)
        total_N = sums_NB.sum(-1)
        # Also by blocks: a single whole row would be summed in another order.
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
        """Statistics of all positions; those that are not open are certain."""
        certain_RL = torch.ones_like(self.open_RL, dtype=torch.float32)
        everything = Statistics(self.tokens_RL, self.tokens_RL, certain_RL, torch.zeros_like(certain_RL), certain_RL)
        if not readings:
            return everything
        columns = (torch.cat(column) for column in zip(*readings, strict=True))
        placed = Statistics(*(self._place(*pair) for pair in zip(everything, columns, strict=True)))
        for one in self.constrained:
            # Several positions often hang on one choice. Equal but for rounding, they must not be ranked by it.
            for values_RL in (placed.entropy_RL, placed.margin_RL):
                values_RL[one.row].mul_(_STEPS).round_().div_(_STEPS)
        return placed

    def _place(self, certain_RL: Tensor, read_N: Tensor) -> Tensor:
        read_RL = certain_RL.flatten().index_copy(0, self.index_N, read_N).view_as(certain_RL)
        return torch.where(self.open_RL, read_RL, certain_RL)


def _blocks(values_NV: Tensor) -> Tensor:
    return torch.unflatten(values_NV, -1, (-1, _BLOCK))


def forbid_(scores_NV: Tensor, mask_id: int | None, banned: Tensor | None) -> None:
    """Put the scores of the mask and of banned tokens, bool [V] or [N, V], at the minimum, in place."""
    if mask_id is not None:
        scores_NV[:, mask_id] = NEVER
    if banned is not None:
        scores_NV.masked_fill_(banned, NEVER)


def nucleus(weights_NV: Tensor, top_p_N: Tensor, top_k_N: Tensor) -> Tensor:
    """Zero the weights outside the top_k largest (0 means all) and outside the smallest set of those with top_p of
    their sum; ties at the edge are kept."""
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
    """The first token whose cumulative weight passes u times the total: by block, then within it.

    Returns:
        int64 tokens, and bool: whether the token has any weight. Rounding may carry a cumulative sum past one that has
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


StopHead = Callable[[Statistics, Tensor, Tensor], Tensor]
"""A stop rule: (statistics, free_RL, stable_R) -> prob_R, the probability that more steps would not change the draft,
given how long it has been stable. Positions outside free_RL must not count. Source: Learn2PD, a small MLP on the
confidences."""
STOP_HEAD = "stop_head.safetensors"
"""File name within a checkpoint directory."""
_WORST, _LEAST, _LONGEST_STABLE = 6, 1e-6, 3
_BELOW = (0.3, 0.6, 0.9, 0.99)
NUM_FEATURES = _WORST + 1 + len(_BELOW) + 2
_WIDTH = 24


def stop_features(confidence_RL: Tensor, free_RL: Tensor, stable_R: Tensor) -> Tensor:
    """The network's input features.

    Args:
        confidence_RL: float32; probability of the token drawn at each position.
        free_RL: bool; the positions that count.
        stable_R: int64; steps in a row that left the draft unchanged.

    Returns:
        features_RF: float32; surprise at the least likely tokens, its mean, shares of positions below several
        confidences, stable steps, and the number of positions.
    """
    count_R = free_RL.sum(-1).clamp_min(1)
    surprise_RL = -confidence_RL.float().clamp_min(_LEAST).log() * free_RL
    padded_RL = functional.pad(surprise_RL, (0, max(0, _WORST - surprise_RL.shape[1])))
    shares = [((confidence_RL < bound) & free_RL).sum(-1) / count_R for bound in _BELOW]
    columns = [surprise_RL.sum(-1) / count_R, *shares, stable_R.clamp_max(_LONGEST_STABLE).float(), count_R.log()]
    return torch.cat((padded_RL.topk(_WORST, dim=-1).values, torch.stack(columns, dim=-1)), dim=-1)


class LearnedStop(nn.Module):
    """Probability that more steps would leave the draft unchanged: a `StopHead`.

    Source: Learn2PD, a multilayer perceptron of some 2,000 parameters on the confidences.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Linear(NUM_FEATURES, _WIDTH)
        self.between = nn.Linear(_WIDTH, _WIDTH)
        self.outside = nn.Linear(_WIDTH, 1)

    def logits(self, features_RF: Tensor) -> Tensor:
        """Logits from features."""
        hidden = functional.gelu(self.inside(features_RF))
        logits_R: Tensor = self.outside(functional.gelu(self.between(hidden)))[..., 0]
        return logits_R

    def forward(self, statistics: Statistics, free_RL: Tensor, stable_R: Tensor) -> Tensor:
        """prob_R of a step."""
        features_RF = stop_features(statistics.confidence_RL.nan_to_num(), free_RL, stable_R)
        return self.logits(features_RF).sigmoid()

    def write(self, directory: Path) -> None:
        """Save it in a checkpoint directory, atomically."""
        stored = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        write_atomically(directory / STOP_HEAD, save(stored))

    @classmethod
    def read(cls, source: Path | GGUFFile) -> LearnedStop | None:
        """Load it from a checkpoint, if that is a directory and has one.

        Raises:
            CheckpointError: if the file is damaged, or another kind of file.
        """
        path = None if isinstance(source, GGUFFile) else source / STOP_HEAD
        if path is None or not path.is_file():
            return None
        head = cls()
        try:
            with safe_open(path, framework="pt") as file:
                head.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        except (SafetensorError, OSError, RuntimeError) as error:
            raise CheckpointError(f"{path} is not a stop head: {error}") from None
        return head.eval().requires_grad_(False)
