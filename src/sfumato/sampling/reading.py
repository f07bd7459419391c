"""One pass over the logits: temperature, bans, softmax, draw, argmax, entropy, margin and soft embedding.

The vocabulary axis is the only large one, so positions go through in tiles and no float32 [R, L, V] is made.
"""

# R rows, L canvas, V vocab, D model, N positions of all rows together

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

# Probabilities and their running sum are held for this much of the vocabulary axis at a time: 64 positions of
# DiffusionGemma's 262,144 tokens, where a whole canvas of 256 would take 268 MB for each.
_TILE_BYTES = 64 * 2**20

# Logits over a lower temperature may overflow.
_COLD = 1e-4


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


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Turns logits into statistics: one softmax a position, in tiles, and one uniform for its draw."""

    tokens_RL: Tensor
    known_RL: Tensor
    """bool; positions whose token is not in question: they have it with certainty, whatever the logits."""
    temperature_R: Tensor
    greedy_R: Tensor
    cut: tuple[Tensor, Tensor] | None
    """top_p_R and top_k_R; None if no row leaves tokens out."""
    mask_id: int | None
    banned: Tensor | None

    def read(
        self, logits_RLV: Tensor, u_RL: Tensor, soft_embedding: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[Statistics, Tensor | None]:
        """Read every position of logits_RLV, drawing with u_RL.

        The draw inverts the distribution function at one uniform, where the Gumbel trick would need V of
        them. A token of probability below 2^-24 is out of reach of a float32 uniform, as it is of float32
        Gumbel noise.
        """
        num_rows, length, _ = logits_RLV.shape
        row_N = torch.arange(num_rows, device=logits_RLV.device).repeat_interleave(length)
        cold_R = self.temperature_R < _COLD
        # Where the temperature is 0 the statistics stay untempered, and only the draw becomes the argmax.
        scale_N1 = torch.where(cold_R, 1.0, self.temperature_R)[row_N].unsqueeze(-1)
        greedy_N = (cold_R | self.greedy_R)[row_N]
        logits_NV, token_N = logits_RLV.flatten(0, 1), self.tokens_RL.flatten()
        known_N, u_N = self.known_RL.flatten(), u_RL.flatten()
        size = max(1, _TILE_BYTES // (4 * logits_RLV.shape[-1]))
        readings: list[Statistics] = []
        softs: list[Tensor] = []
        for start in range(0, len(row_N), size):
            part = slice(start, start + size)
            scores_NV = logits_NV[part].float() / scale_N1[part]
            if self.mask_id is not None:
                scores_NV[:, self.mask_id] = -torch.inf
            if self.banned is not None:
                scores_NV.masked_fill_(self.banned if self.banned.ndim == 1 else self.banned[row_N[part]], -torch.inf)
            token_N1, known_N1 = token_N[part].unsqueeze(-1), known_N[part].unsqueeze(-1)
            own_N1 = torch.where(known_N1, 0.0, scores_NV.gather(-1, token_N1))
            scores_NV.masked_fill_(known_N1, -torch.inf).scatter_(-1, token_N1, own_N1)
            probs_NV = scores_NV.softmax(-1)
            del scores_NV
            if soft_embedding is not None:
                softs.append(soft_embedding(probs_NV.unsqueeze(0)).squeeze(0))
            cuts = None if self.cut is None else (self.cut[0][row_N[part]], self.cut[1][row_N[part]])
            readings.append(_read_probs(probs_NV, greedy_N[part], u_N[part], cuts))
        columns = [torch.cat(column).view(num_rows, length) for column in zip(*readings, strict=True)]
        soft_RLD = torch.cat(softs).view(num_rows, length, -1) if softs else None
        return Statistics(*columns), soft_RLD


def _read_probs(probs_NV: Tensor, greedy_N: Tensor, u_N: Tensor, cuts: tuple[Tensor, Tensor] | None) -> Statistics:
    """Statistics of N positions, each a vector; probs_NV is left as it came."""
    entropy_N = torch.special.entr(probs_NV).sum(-1)
    top_N, argmax_N = probs_NV.max(-1)
    # The runner-up is the maximum with the winner taken out; a sort would cost more than all the rest.
    argmax_N1 = argmax_N.unsqueeze(-1)
    probs_NV.scatter_(-1, argmax_N1, 0.0)
    margin_N = top_N - probs_NV.amax(-1)
    probs_NV.scatter_(-1, argmax_N1, top_N.unsqueeze(-1))
    weights_NV = probs_NV if cuts is None else _nucleus(probs_NV, *cuts)
    drawn_N = _invert(weights_NV, u_N)
    # Summed in parallel, as on a GPU, a running sum may creep past a token of weight 0.
    possible_N = weights_NV.gather(-1, drawn_N.unsqueeze(-1)).squeeze(-1) > 0.0
    sampled_N = torch.where(greedy_N | ~possible_N, argmax_N, drawn_N)
    confidence_N = probs_NV.gather(-1, sampled_N.unsqueeze(-1)).squeeze(-1)
    return Statistics(argmax_N, sampled_N, confidence_N, entropy_N, margin_N)


def _nucleus(probs_NV: Tensor, top_p_N: Tensor, top_k_N: Tensor) -> Tensor:
    """Zero what is not among the top_k most probable tokens (0 means all), or is outside the smallest set of those that
    holds top_p of their mass; the last ties of either stay in."""
    sorted_NV = probs_NV.sort(-1, descending=True).values
    place_V = torch.arange(sorted_NV.shape[-1], device=sorted_NV.device)
    many_N = torch.where(top_k_N > 0, top_k_N, sorted_NV.shape[-1])
    kept_NV = sorted_NV.masked_fill(place_V >= many_N.unsqueeze(-1), 0.0)
    running_NV = kept_NV.cumsum(-1)
    outside_NV = (running_NV - kept_NV >= (top_p_N * running_NV[:, -1]).unsqueeze(-1)) & (top_p_N < 1.0).unsqueeze(-1)
    outside_NV |= place_V >= many_N.unsqueeze(-1)
    outside_NV[:, 0] = False
    smallest_N = sorted_NV.masked_fill(outside_NV, torch.inf).amin(-1)
    return probs_NV.masked_fill(probs_NV < smallest_N.unsqueeze(-1), 0.0)


def _invert(weights_NV: Tensor, u_N: Tensor) -> Tensor:
    """The first token at which the running sum of weights passes u times their total."""
    running_NV = weights_NV.cumsum(-1)
    total_N = running_NV[:, -1]
    # Rounding may carry u times the total up to the total, which no token passes.
    below_N = torch.minimum(u_N * total_N, torch.nextafter(total_N, torch.zeros_like(total_N)))
    token_N = torch.searchsorted(running_NV, below_N.unsqueeze(-1), right=True).squeeze(-1)
    # Only a row of NaN runs past the end.
    return token_N.clamp_max(weights_NV.shape[-1] - 1)
