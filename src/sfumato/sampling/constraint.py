"""Constrained decoding: canvases whose text must belong to a language.

In each step every position has its own distribution, and the language ties the positions together. From left to right,
the automaton state after the earlier positions determines which tokens are possible, and these share the probability. A
string drawn this way belongs to the language; taking maxima instead of sums gives the best string (Viterbi), and
summing over all paths to a state gives the marginals by which positions are accepted. So everything that is committed
belongs to the language.

Text to the right of a position has no weight, except that an end must remain possible. The model predicts each position
given all others as they stand: a wrong `88}` supports itself where `8}` is meant, and a product over positions would be
stuck. Given only `8`, the model's `}` is possible, and the rest gives way. Given text after free positions, as in a
gap, is not a guess and does have weight: backward sums then say how well strings continue from each state.

The work per step grows with positions times arcs of the automaton. The vocabulary matters only when token weights are
summed per class, and when a token is picked from a class.

Sources: Rabiner 1989, "A tutorial on hidden Markov models" (forward and backward sums, Viterbi); Willard and Louf 2023,
arXiv 2307.09702 (excluding impossible tokens).
"""

# R rows, L text positions of a canvas, N open ones, S states, C token classes, A arcs, K sets of classes, P possible
# arcs of all positions, V vocab

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.constraints.automaton import Automaton, Floats, Numbers, Truths
from sfumato.sampling.logits import COLD, NEVER, ConstrainedRow, forbid_, nucleus

_LOG = logging.getLogger(__name__)
# Lower bound on probabilities, relative to the best possible token at a position.
_LEAST = 1e-30
_FAINT = -50.0
# Nats subtracted from a token that top_p or top_k excludes.
_LEFT_OUT = 50.0


@functools.cache
def _loops() -> ModuleType:
    """The compiled loops, imported on first use because their compiler takes half a second."""
    from sfumato.sampling import strings

    if not any(Path(str(strings.find.stats.cache_path)).glob("strings.find-*")):
        _LOG.warning("compiling loops for constraints and edits, once: this takes about five seconds")
    return strings


class Ways(NamedTuple):
    """The arcs that strings may take, position by position, whatever their probability; see `strings.find`."""

    first_L: Numbers
    size_L: Numbers
    from_P: Numbers
    to_P: Numbers
    set_P: Numbers


@dataclass(eq=False)
class Constraint:
    """Constraint on the text of one canvas."""

    automaton: Automaton
    """The language."""
    state: int
    """State before the canvas."""
    allowed_S: Truths
    """bool; allowed states after it."""
    length: int
    """Number of canvas positions."""
    num_leading: int = 0
    """Leading positions that are not part of the text."""
    weighs_suffix: bool = False
    """Whether later text affects earlier choices: if given text follows a free position."""
    num_after: int = 0
    """Number of positions that the answer may have after the canvas."""
    _ways: tuple[bytes, Ways] | None = field(default=None, init=False)

    def is_possible(self, tokens: Sequence[int], is_open: Truths) -> bool:
        """Whether any string contains the tokens that are not open.

        Args:
            is_open: bool, per token.
        """
        text = slice(self.num_leading, self.length)
        fixed_L = np.where(is_open[text], -1, self.automaton.class_V[np.asarray(tokens)[text]])
        return len(self.ways(fixed_L).set_P) > 0

    def ways(self, fixed_L: Numbers) -> Ways:
        """The possible arcs with some tokens fixed, cached for the next step.

        Args:
            fixed_L: int64; class of the token at each position, -1 if open.
        """
        key, automaton = fixed_L.tobytes(), self.automaton
        if self._ways is None or self._ways[0] != key:
            arcs = (automaton.from_A, automaton.to_A, automaton.set_A, automaton.member_KC, automaton.num_states)
            self._ways = key, Ways(*_loops().find(*arcs, self.state, self.allowed_S, fixed_L))
        return self._ways[1]


@dataclass(frozen=True, eq=False)
class Strings:
    """The strings chosen for a canvas in a step."""

    best_L: Numbers
    """int64; token classes of the best string."""
    drawn_L: Numbers
    """int64; token classes of a sampled string."""
    marginal_LC: Floats
    """float64; factor per token class that turns probabilities into marginals over all strings, up to a constant per
    position."""


def backward(automaton: Automaton, fixed: Sequence[int], *, may_end: bool = False) -> Truths:
    """bool [L + 1, S]: possible states before each position of a text that can still end after the last one.

    Args:
        fixed: class of the token at each position, -1 if open.
        may_end: whether end tokens are allowed at the end.
    """
    possible = np.zeros((len(fixed) + 1, automaton.num_states), dtype=bool)
    possible[-1] = automaton.final_S
    possible[-1, automaton.end_state] = may_end
    for position in range(len(fixed) - 1, -1, -1):
        goes_A = possible[position + 1, automaton.to_A]
        if fixed[position] >= 0:
            goes_A &= automaton.member_KC[automaton.set_A, fixed[position]]
        possible[position, automaton.from_A[goes_A]] = True
    return possible


def solve(constraint: Constraint, fixed_L: Numbers, best_LC: Floats, sums_LC: Floats, u_2L: Floats) -> Strings:
    """Compute the best string, a sampled one, and the marginals over all.

    Args:
        fixed_L: int64; class of the token at each position, -1 if open.
        best_LC: float64; log-probability of each class's best token, up to a constant per position.
        sums_LC: float64; the same for all tokens of a class.
        u_2L: uniforms [2, L] in [0, 1) for sampling.
    """
    automaton, ways = constraint.automaton, constraint.ways(fixed_L)
    assert len(ways.set_P), "no string of the language has the fixed tokens"
    return Strings(
        *_loops().solve(
            *ways, *automaton.members, fixed_L, best_LC, sums_LC, u_2L, np.log(_LEAST), constraint.weighs_suffix
        )
    )


@dataclass(frozen=True, kw_only=True)
class RowLogits:
    """A row of a step, as constraints read it."""

    tokens_L: Tensor
    """int64; the canvas tokens, padded."""
    open_L: Tensor
    """bool; positions to decide."""
    index_N: Tensor
    """int64; positions with logits, as ascending indices into flattened [R, L]."""
    logits_NV: Tensor
    mask_id: int | None
    banned_V: Tensor | None
    """bool; like the mask, these tokens are never drawn."""
    temperature: float
    """Temperature of the row; at 0, weights are those of temperature 1."""
    cut: tuple[float, int]
    """top_p and top_k; excluded tokens are used only if the language allows no others."""
    u_3L: Tensor
    """Uniforms [3, L]: for the sampled string's path, its classes and its tokens."""


def constrain(constraint: Constraint, row: int, read: RowLogits) -> ConstrainedRow | None:
    """Constrain the open positions of a row to the strings of its language; None if no position is open."""
    automaton, device, temperature = constraint.automaton, read.logits_NV.device, read.temperature
    text = slice(constraint.num_leading, constraint.length)
    is_open = read.open_L[text].cpu().numpy()
    on_canvas = constraint.num_leading + is_open.nonzero()[0]
    if not len(on_canvas):
        return None
    indices = np.searchsorted(read.index_N.cpu().numpy(), on_canvas + row * len(read.tokens_L))
    near = indices[-1] - indices[0] + 1 == len(indices)
    rows = slice(indices[0], indices[-1] + 1) if near else torch.from_numpy(indices).to(device)
    scores_NV = read.logits_NV[rows].to(torch.float32, copy=True)
    forbid_(scores_NV, read.mask_id, read.banned_V)
    if COLD <= temperature != 1.0:
        scores_NV = scores_NV / temperature
    if read.cut != (1.0, 0):
        top_p_N, top_k_N = (torch.full((len(indices),), value, device=device) for value in read.cut)
        scores_NV = scores_NV - _LEFT_OUT * (nucleus(scores_NV.softmax(-1), top_p_N, top_k_N) == 0.0)
    scores = scores_NV.cpu().numpy()
    if not np.isfinite(scores.sum()):
        # The row fails later; until then it must not stop the others.
        scores = np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=NEVER)
    tokens = _Classed(automaton, scores)
    best_LC = np.zeros((len(is_open), automaton.num_classes))
    sums_LC = np.zeros_like(best_LC)
    best_LC[is_open], sums_LC[is_open] = tokens.best_NC, tokens.sums_NC
    fixed_L = np.where(is_open, -1, automaton.class_V[read.tokens_L[text].cpu().numpy()])
    way_L, class_L, token_L = read.u_3L[:, text].double().cpu().numpy()
    found = solve(constraint, fixed_L, best_LC, sums_LC, np.stack((way_L, class_L)))
    drawn_N = found.drawn_L[is_open]
    drawn, weight_N = tokens.pick(drawn_N, token_L[is_open])
    bias_NC, confidence_N = _loops().share(
        found.marginal_LC[is_open], tokens.sums_NC, drawn_N, weight_N, _FAINT, NEVER, constraint.weighs_suffix
    )
    return ConstrainedRow(
        row=row,
        place_N=torch.from_numpy(indices).to(device),
        host_place=indices.tolist(),
        on_canvas_N=torch.from_numpy(on_canvas).to(device),
        class_V=torch.from_numpy(automaton.class_V).to(device),
        bias_NC=torch.from_numpy(bias_NC).to(device),
        best_N=torch.from_numpy(tokens.pick(found.best_L[is_open])[0]).to(device),
        drawn_N=torch.from_numpy(drawn).to(device),
        confidence_N=torch.from_numpy(confidence_N).to(device),
    )


def constrain_draft(constraint: Constraint, row: int, read: RowLogits, *, greedy: bool) -> list[ConstrainedRow]:
    """Constrain each position of a draft as if it were a canvas of its own after the tokens before it, up to the first
    token that would be chosen differently.

    Args:
        greedy: whether the best token is chosen at any temperature.
    """
    automaton, state = constraint.automaton, constraint.state
    greedy |= read.temperature < COLD
    chosen: list[ConstrainedRow] = []
    for position, token in enumerate(read.tokens_L[: constraint.length].tolist()):
        allowed_S = automaton.distance_S < constraint.num_after + constraint.length - position
        one = constrain(Constraint(automaton, state, allowed_S, position + 1, num_leading=position), row, read)
        assert one is not None
        chosen.append(one)
        state = automaton.walk(state, [token])
        if token != (one.best_N if greedy else one.drawn_N) or state >= automaton.end_state:
            break
    return chosen


class _Classed:
    """Log-weights of tokens, grouped by class.

    Args:
        scores_NV: float32.
    """

    def __init__(self, automaton: Automaton, scores_NV: Floats) -> None:
        self._order_V, self._first_C, class_V = automaton.by_class
        self._weights_NV, self.best_NC, self.sums_NC = _loops().weigh(
            scores_NV, self._order_V, self._first_C, class_V, NEVER
        )

    def pick(self, class_N: Numbers, u_N: Floats | None = None) -> tuple[Numbers, Floats]:
        """Pick a token of a class for each position, the best or a sampled one, with its share of the class's
        weight."""
        place_N, share_N = _loops().pick(self._weights_NV, self._first_C, class_N, u_N)
        return self._order_V[place_N], share_N
