"""Canvases whose text has to belong to a language.

At every step each position has a distribution of its own, and the language ties them together. Position by position,
the state that the ones before lead to says which tokens are possible, and these share the position. A string drawn so
is one of the language; maxima in place of sums give the best string (Viterbi), and sums over all ways to a state the
marginals, by which positions are accepted. So whatever is committed belongs to the language.

What stands behind a position does not weigh on it, beyond that an end must be possible. A model says of each position
what it is given all others as they stand: `88}` holds itself up where `8}` is meant, and a product of positions is
stuck there. Given `8` alone, the model's `}` is possible, and what is behind gives way. Text that is given behind free
positions, as in a gap, is no guess, and does weigh: then sums from behind say how well strings go on from each state.

The work of a step grows with positions times arcs of the automaton. The vocabulary comes in only where tokens are
summed into classes, and where one is picked out of a class.

Source: Rabiner 1989, "A tutorial on hidden Markov models": forward and backward sums, and Viterbi's algorithm;
Willard and Louf 2023, arXiv 2307.09702: what is impossible is left out token by token.
"""

# R rows, L positions of a canvas that are text, N open ones, S states, C classes of tokens, A arcs, K sets of classes,
# P possible arcs of all positions, V vocab

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sfumato.constraints.automaton import Automaton, Floats, Numbers, Truths
from sfumato.sampling.logits import COLD, NEVER, ConstrainedRow, nucleus

# What is less probable than this, next to the best that is possible at a position, counts as this probable.
_LEAST = 1e-30
_FAINT = -50.0
# Nats that a token loses where it is cut.
_LEFT_OUT = 50.0


def _loops() -> ModuleType:
    """The compiled loops, imported when they are needed: their compiler takes half a second."""
    from sfumato.sampling import strings

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
    """What the text of one canvas must be."""

    automaton: Automaton
    """Of the language."""
    state: int
    """Where it stands before the canvas."""
    allowed_S: Truths
    """bool; where it may stand behind it."""
    length: int
    """Positions of the canvas."""
    ahead: int = 0
    """Its leading positions that are not part of the text."""
    weighs_behind: bool = False
    """Whether what may follow weighs on what is taken: where text behind a free position is given."""
    _ways: tuple[bytes, Ways] | None = field(default=None, init=False)

    def is_possible(self, tokens: Sequence[int], is_open: Truths) -> bool:
        """Whether any string has the tokens that are not open.

        Args:
            tokens: of the canvas.
            is_open: bool, for each.
        """
        text = slice(self.ahead, self.length)
        fixed_L = np.where(is_open[text], -1, self.automaton.class_V[np.asarray(tokens)[text]])
        return len(self.ways(fixed_L).set_P) > 0

    def ways(self, fixed_L: Numbers) -> Ways:
        """What is possible with some tokens fixed; remembered for the next step.

        Args:
            fixed_L: int64; the class of the token of each position, -1 where it is open.
        """
        key, own = fixed_L.tobytes(), self.automaton
        if self._ways is None or self._ways[0] != key:
            arcs = (own.from_A, own.to_A, own.set_A, own.member_KC, own.num_states)
            self._ways = key, Ways(*_loops().find(*arcs, self.state, self.allowed_S, fixed_L))
        return self._ways[1]


@dataclass(frozen=True, eq=False)
class Strings:
    """What a step makes of the strings that a canvas may hold."""

    best_L: Numbers
    """int64; classes of the best one."""
    drawn_L: Numbers
    """int64; classes of one that was drawn."""
    marginal_LC: Floats
    """float64; what to multiply the probabilities of the tokens of a class by for the marginals of all strings, up to a
    constant of the position."""


def backward(automaton: Automaton, fixed: Sequence[int], *, may_end: bool = False) -> Truths:
    """bool [L + 1, S]: where a text may stand before each position, to end behind the last one.

    Args:
        automaton: of the language.
        fixed: the class of the token of each position, -1 where it is open.
        may_end: whether end tokens may stand at the end.
    """
    possible = np.zeros((len(fixed) + 1, automaton.num_states), dtype=bool)
    possible[-1] = automaton.final_S
    possible[-1, automaton.end_state] = may_end
    for place in range(len(fixed) - 1, -1, -1):
        goes_A = possible[place + 1, automaton.to_A]
        if fixed[place] >= 0:
            goes_A &= automaton.member_KC[automaton.set_A, fixed[place]]
        possible[place, automaton.from_A[goes_A]] = True
    return possible


def solve(constraint: Constraint, fixed_L: Numbers, best_LC: Floats, sums_LC: Floats, u_2L: Floats) -> Strings:
    """The best string, a drawn one, and the marginals of all.

    Args:
        constraint: what the canvas must be.
        fixed_L: int64; the class of the token of each position, -1 where it is open.
        best_LC: float64; log-probability of the best token of each class, up to a constant of the position.
        sums_LC: float64; that of all tokens of the class.
        u_2L: uniforms [2, L] in [0, 1) to draw with.
    """
    automaton, ways = constraint.automaton, constraint.ways(fixed_L)
    assert len(ways.set_P), "no string of the language has what is fixed"
    return Strings(
        *_loops().solve(
            *ways, *automaton.members, fixed_L, best_LC, sums_LC, u_2L, np.log(_LEAST), constraint.weighs_behind
        )
    )


def constrain(
    constraint: Constraint,
    row: int,
    *,
    tokens_L: Tensor,
    open_L: Tensor,
    index_N: Tensor,
    logits_NV: Tensor,
    temperature: float,
    cut: tuple[float, int],
    u_3L: Tensor,
) -> ConstrainedRow | None:
    """Constrain the open positions of a row to the strings of a language.

    Args:
        constraint: what its text must be.
        row: its number in the batch.
        tokens_L: int64; what stands on its canvas, padded.
        open_L: bool; positions whose token is in question.
        index_N: int64; which positions there are logits for, as indices into [R, L] laid flat, ascending.
        logits_NV: theirs.
        temperature: of the row; where it is 0, weights are those of temperature 1.
        cut: top_p and top_k; tokens that they leave out are taken where the language leaves nothing else.
        u_3L: uniforms [3, L]: for the way of the drawn string, its classes and its tokens.

    Returns:
        None if no position is open.
    """
    automaton, device = constraint.automaton, logits_NV.device
    text = slice(constraint.ahead, constraint.length)
    is_open = open_L[text].cpu().numpy()
    on_canvas = constraint.ahead + is_open.nonzero()[0]
    if not len(on_canvas):
        return None
    place = np.searchsorted(index_N.cpu().numpy(), on_canvas + row * len(tokens_L))
    near = place[-1] - place[0] + 1 == len(place)
    scores_NV = logits_NV[place[0] : place[-1] + 1] if near else logits_NV[torch.from_numpy(place).to(device)]
    scores_NV = scores_NV.float()
    if COLD <= temperature != 1.0:
        scores_NV = scores_NV / temperature
    if cut != (1.0, 0):
        top_p_N, top_k_N = (torch.full((len(place),), value, device=device) for value in cut)
        scores_NV = scores_NV - _LEFT_OUT * (nucleus(scores_NV.softmax(-1), top_p_N, top_k_N) == 0.0)
    scores = scores_NV.cpu().numpy()
    if not np.isfinite(scores.sum()):
        # The row fails; until then it must not stop the others.
        scores = np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=NEVER)
    tokens = _Classed(automaton, scores)
    best_LC = np.zeros((len(is_open), automaton.num_classes))
    sums_LC = np.zeros_like(best_LC)
    best_LC[is_open], sums_LC[is_open] = tokens.best_NC, tokens.sums_NC
    fixed_L = np.where(is_open, -1, automaton.class_V[tokens_L[text].cpu().numpy()])
    way_L, class_L, token_L = u_3L[:, text].double().cpu().numpy()
    found = solve(constraint, fixed_L, best_LC, sums_LC, np.stack((way_L, class_L)))
    drawn_N = found.drawn_L[is_open]
    drawn, weight_N = tokens.pick(drawn_N, token_L[is_open])
    bias_NC, confidence_N = _loops().share(
        found.marginal_LC[is_open], tokens.sums_NC, drawn_N, weight_N, _FAINT, NEVER, constraint.weighs_behind
    )
    return ConstrainedRow(
        row=row,
        place_N=torch.from_numpy(place).to(device),
        host_place=place.tolist(),
        on_canvas_N=torch.from_numpy(on_canvas).to(device),
        class_V=torch.from_numpy(automaton.class_V).to(device),
        bias_NC=torch.from_numpy(bias_NC).to(device),
        best_N=torch.from_numpy(tokens.pick(found.best_L[is_open])[0]).to(device),
        drawn_N=torch.from_numpy(drawn).to(device),
        confidence_N=torch.from_numpy(confidence_N).to(device),
    )


class _Classed:
    """Log-weights of tokens, class by class.

    Args:
        automaton: has the classes.
        scores_NV: float32.
    """

    def __init__(self, automaton: Automaton, scores_NV: Floats) -> None:
        self._order_V, self._first_C, class_V = automaton.by_class
        self._weights_NV, self.best_NC, self.sums_NC = _loops().weigh(
            scores_NV, self._order_V, self._first_C, class_V, NEVER
        )

    def pick(self, class_N: Numbers, u_N: Floats | None = None) -> tuple[Numbers, Floats]:
        """A token of a class for each position, the best or one drawn, and its share of the weight of the class."""
        place_N, share_N = _loops().pick(self._weights_NV, self._first_C, class_N, u_N)
        return self._order_V[place_N], share_N
