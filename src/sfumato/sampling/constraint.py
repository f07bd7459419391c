"""Canvases whose text has to belong to a language.

At every step each position has a distribution of its own, and the language ties them together: what is drawn is a whole
string of the language, with the probability that the product of the positions gives it. Sums over the states of an
automaton, from behind, say how well the rest can go on from each state; drawing forward by them gives a string, their
maxima give the best string (Viterbi), and sums from both sides the marginals, by which positions are accepted. So
whatever is accepted belongs to one string of the language, and whatever is committed is one.

The work of a step grows with positions times arcs of the automaton. The vocabulary comes in only where tokens are
summed into classes, and where one is picked out of a class.

Source: Rabiner 1989, "A tutorial on hidden Markov models": forward and backward sums, and Viterbi's algorithm.
"""

# R rows, L positions of a canvas that are text, N open ones, S states, C classes of tokens, A arcs, K sets of classes,
# P possible arcs of all positions, V vocab

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from sfumato.sampling.automaton import Automaton, Floats, Numbers, Truths
from sfumato.sampling.reading import COLD, NEVER, Tied, nucleus

# What is less probable than this, next to the best that is possible at a position, counts as this probable.
_LEAST = 1e-30
# Nats that a token loses where it is cut.
_LEFT_OUT = 50.0
# Sums are brought back to the size of 1 after so many positions: _LEAST to this power is still a float64.
_RESCALED = 8


@dataclass(frozen=True, eq=False)
class Ways:
    """The arcs that strings may take, position by position, whatever their probability."""

    arcs_P: Numbers
    """int64; arcs, ordered by position, then by where they begin."""
    place_P: Numbers
    """int64; their positions."""
    from_P: Numbers
    """int64; where they begin, as a number among the possible states of their position."""
    to_P: Numbers
    """int64; where they end, as a number among those of the next."""
    first_L: list[int]
    """Where the arcs of each position begin, and behind the last one where they end."""
    begins_L: list[Numbers]
    """For each position, where among its arcs those of each state begin."""
    order_L: list[Numbers]
    """For each position, its arcs by where they end."""
    ends_L: list[Numbers]
    """For each position, where in that order those of each state begin."""
    classes: Truths
    """bool [L, C]; classes that are possible."""
    start: int
    """The number of the state before the first position; there is one."""


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
    _ways: tuple[bytes, Ways] | None = field(default=None, init=False)

    def is_possible(self, tokens: Sequence[int], is_open: Truths) -> bool:
        """Whether any string has the tokens that are not open.

        Args:
            tokens: of the canvas.
            is_open: bool, for each.
        """
        text = slice(self.ahead, self.length)
        fixed_L = np.where(is_open[text], -1, self.automaton.class_V[np.asarray(tokens)[text]])
        return len(self.ways(fixed_L).arcs_P) > 0

    def ways(self, fixed_L: Numbers) -> Ways:
        """What is possible with some tokens fixed; remembered for the next step.

        Args:
            fixed_L: int64; the class of the token of each position, -1 where it is open.
        """
        key = fixed_L.tobytes()
        if self._ways is None or self._ways[0] != key:
            self._ways = key, _find_ways(self.automaton, self.state, self.allowed_S, fixed_L)
        return self._ways[1]


@dataclass(frozen=True, eq=False)
class Strings:
    """What a step makes of the strings that a canvas may hold."""

    best_L: Numbers
    """int64; classes of the best one."""
    drawn_L: Numbers
    """int64; classes of one that was drawn."""
    bias_LC: Floats
    """float64; what to add to the log-probabilities of the tokens of a class for the marginals of all strings, up to a
    constant of the position; minus infinity where none is possible."""


def backward(automaton: Automaton, fixed: Sequence[int], *, may_end: bool = False) -> Truths:
    """bool [L + 1, S]: where a text may stand before each position, to end behind the last one.

    Args:
        automaton: of the language.
        fixed: the class of the token of each position, -1 where it is open.
        may_end: whether end tokens may stand at the end.
    """
    possible = np.zeros((len(fixed) + 1, automaton.num_states + 1), dtype=bool)
    possible[-1, :-1] = automaton.final_S
    possible[-1, automaton.end_state] = may_end
    for place in range(len(fixed) - 1, -1, -1):
        chosen = slice(automaton.end_class + may_end) if fixed[place] < 0 else slice(fixed[place], fixed[place] + 1)
        possible[place, :-1] = possible[place + 1][automaton.next_SC[:, chosen]].any(1)
    return possible[:, :-1]


def _find_ways(automaton: Automaton, state: int, allowed_S: Truths, fixed_L: Numbers) -> Ways:
    length, num_states = len(fixed_L), automaton.num_states
    from_A, to_A, set_A, member_KC = automaton.from_A, automaton.to_A, automaton.set_A, automaton.member_KC
    open_LA = np.where((fixed_L < 0)[:, None], True, member_KC[:, fixed_L].T[:, set_A])
    states = np.zeros((length + 1, num_states), dtype=bool)
    states[0, state] = True
    for place in range(length):
        states[place + 1, to_A[states[place, from_A] & open_LA[place]]] = True
    states[length] &= allowed_S
    for place in range(length - 1, -1, -1):
        before_S = np.zeros(num_states, dtype=bool)
        before_S[from_A[states[place + 1, to_A] & open_LA[place]]] = True
        states[place] &= before_S
    place_P, arcs_P = (states[:-1][:, from_A] & states[1:][:, to_A] & open_LA).nonzero()
    number = states.cumsum(1) - 1
    from_P, to_P = number[place_P, from_A[arcs_P]], number[place_P + 1, to_A[arcs_P]]
    first_L = np.searchsorted(place_P, np.arange(length + 1)).tolist()
    begins_L, order_L, ends_L = [], [], []
    for place in range(length):
        part = slice(first_L[place], first_L[place + 1])
        order = to_P[part].argsort(kind="stable")
        begins_L.append(_begins(from_P[part]))
        order_L.append(order)
        ends_L.append(_begins(to_P[part][order]))
    classes = np.zeros((length, member_KC.shape[1]), dtype=bool)
    used_LK = np.zeros((length, len(member_KC)), dtype=np.float32)
    used_LK[place_P, set_A[arcs_P]] = 1.0
    classes = used_LK @ member_KC.astype(np.float32) > 0.0
    given_L = fixed_L >= 0
    classes[given_L] &= np.arange(classes.shape[1]) == fixed_L[given_L, None]
    return Ways(arcs_P, place_P, from_P, to_P, first_L, begins_L, order_L, ends_L, classes, state)


def _begins(sorted_N: Numbers) -> Numbers:
    """Where in an ascending sequence without gaps each number begins."""
    return np.flatnonzero(np.diff(sorted_N, prepend=-1))


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
    assert len(ways.arcs_P), "no string of the language has what is fixed"
    best_LC, sums_LC = (_within(values_LC, ways.classes, fixed_L) for values_LC in (best_LC, sums_LC))
    weight_LC, members = np.exp(sums_LC), automaton.member_KC
    set_P = automaton.set_A[ways.arcs_P]
    weight_P = (weight_LC @ members.T)[ways.place_P, set_P]
    score_P = _highest(best_LC, automaton)[ways.place_P, set_P]
    behind_P = _from_behind(ways, weight_P, score_P)
    before_P = _from_before(ways, weight_P)
    best_A, drawn_A = _follow(ways, score_P, weight_P * behind_P, u_2L[0])
    best_L = np.where(members[set_P[best_A]], best_LC, -np.inf).argmax(1)
    running_LC = np.where(members[set_P[drawn_A]], weight_LC, 0.0).cumsum(1)
    drawn_L = (running_LC > u_2L[1][:, None] * running_LC[:, -1:]).argmax(1)
    shares_LK = np.bincount(
        ways.place_P * len(members) + set_P, weights=before_P * behind_P, minlength=len(fixed_L) * len(members)
    )
    marginal_LC = shares_LK.reshape(len(fixed_L), -1) @ members
    # Where one side is sure of what the other rules out, nothing is left of the sums but the string that was drawn.
    lost_L = ~(marginal_LC * weight_LC > 0.0).any(1)
    marginal_LC[lost_L, drawn_L[lost_L]] = 1.0
    with np.errstate(divide="ignore"):
        return Strings(best_L, drawn_L, np.log(marginal_LC))


def _within(values_LC: Floats, possible: Truths, fixed_L: Numbers) -> Floats:
    """Log-weights of what is possible at each position, next to the best of it; minus infinity elsewhere."""
    values_LC = np.where(possible, values_LC, -np.inf)
    values_LC = np.maximum(values_LC - values_LC.max(1, keepdims=True), np.log(_LEAST))
    values_LC[fixed_L >= 0] = 0.0
    return np.where(possible, values_LC, -np.inf)


def _highest(best_LC: Floats, automaton: Automaton) -> Floats:
    """The best of each set of classes, [L, K]."""
    sets, classes = automaton.member_KC.nonzero()
    return np.maximum.reduceat(best_LC[:, classes], _begins(sets), axis=1)


def _from_behind(ways: Ways, weight_P: Floats, score_P: Floats) -> Floats:
    """Sums over what may follow each arc; to its score the best of what may follow is added."""
    first_L, to_P = ways.first_L, ways.to_P
    behind_P = np.ones(len(to_P))
    num_last = int(to_P[first_L[-2] :].max()) + 1
    sum_S, top_S = np.ones(num_last), np.zeros(num_last)
    for place in range(len(first_L) - 2, -1, -1):
        low, high = first_L[place], first_L[place + 1]
        if high - low == 1:
            # A single way is certain, whatever it weighs.
            sum_S, top_S = np.ones(1), np.zeros(1)
            continue
        targets = to_P[low:high]
        behind = behind_P[low:high] = sum_S[targets]
        score_P[low:high] += top_S[targets]
        begins = ways.begins_L[place]
        sum_S = np.add.reduceat(weight_P[low:high] * behind, begins)
        top_S = np.maximum.reduceat(score_P[low:high], begins)
        if place % _RESCALED == 0:
            sum_S /= sum_S.max()
    return behind_P


def _from_before(ways: Ways, weight_P: Floats) -> Floats:
    """Sums over what may come before each arc."""
    first_L, from_P = ways.first_L, ways.from_P
    before_P = np.ones(len(from_P))
    sum_S = np.ones(1)
    for place in range(len(first_L) - 1):
        low, high = first_L[place], first_L[place + 1]
        if high - low == 1:
            sum_S = np.ones(1)
            continue
        before = before_P[low:high] = sum_S[from_P[low:high]]
        sum_S = np.add.reduceat((weight_P[low:high] * before)[ways.order_L[place]], ways.ends_L[place])
        if place % _RESCALED == 0:
            sum_S /= sum_S.max()
    return before_P


def _follow(ways: Ways, score_P: Floats, share_P: Floats, u_L: Floats) -> tuple[Numbers, Numbers]:
    """Two strings from the first position to the last, as arcs: by the highest score, and drawn by share."""
    first_L, to_P = ways.first_L, ways.to_P
    length = len(first_L) - 1
    best, drawn = np.zeros(length, dtype=np.int64), np.zeros(length, dtype=np.int64)
    best_state = drawn_state = 0
    for place in range(length):
        low, high = first_L[place], first_L[place + 1]
        if high - low == 1:
            best[place] = drawn[place] = low
            best_state = drawn_state = 0
            continue
        begins = ways.begins_L[place]
        start, stop = low + begins[best_state], high
        if best_state + 1 < len(begins):
            stop = low + begins[best_state + 1]
        arc = start + score_P[start:stop].argmax() if stop - start > 1 else start
        best[place], best_state = arc, to_P[arc]
        start, stop = low + begins[drawn_state], high
        if drawn_state + 1 < len(begins):
            stop = low + begins[drawn_state + 1]
        arc = start
        if stop - start > 1:
            running = share_P[start:stop].cumsum()
            # If nothing is left of the sums, the best of what is possible.
            total = running[-1]
            arc += (
                int(running.searchsorted(u_L[place] * total, "right")) if total > 0.0 else score_P[start:stop].argmax()
            )
        drawn[place], drawn_state = arc, to_P[arc]
    return best, drawn


def tie(
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
) -> Tied | None:
    """Tie the positions of a row together.

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
    scores_NV = logits_NV[torch.from_numpy(place).to(device)].float().nan_to_num(0.0, 0.0, NEVER)
    if temperature >= COLD:
        scores_NV = scores_NV / temperature
    if cut != (1.0, 0):
        top_p_N, top_k_N = (torch.full((len(place),), value, device=device) for value in cut)
        scores_NV = scores_NV - _LEFT_OUT * (nucleus(scores_NV.softmax(-1), top_p_N, top_k_N) == 0.0)
    tokens = _Classed(automaton, scores_NV.cpu().numpy())
    best_LC = np.zeros((len(is_open), automaton.next_SC.shape[1]))
    sums_LC = np.zeros_like(best_LC)
    best_LC[is_open], sums_LC[is_open] = tokens.best_NC, tokens.sums_NC
    fixed_L = np.where(is_open, -1, automaton.class_V[tokens_L[text].cpu().numpy()])
    way_L, class_L, token_L = u_3L[:, text].double().cpu().numpy()
    strings = solve(constraint, fixed_L, best_LC, sums_LC, np.stack((way_L, class_L)))
    bias_NC, drawn_N = strings.bias_LC[is_open], strings.drawn_L[is_open]
    drawn, weight_N = tokens.draw(drawn_N, token_L[is_open])
    # Of the class the share that the marginals give it, and of that the token's own.
    share_NC = tokens.sums_NC + bias_NC
    share_NC = np.exp(share_NC - share_NC.max(1, keepdims=True))
    confidence_N = weight_N * share_NC[np.arange(len(drawn)), drawn_N] / share_NC.sum(1)
    return Tied(
        row=row,
        place_N=torch.from_numpy(place).to(device),
        on_canvas_N=torch.from_numpy(on_canvas).to(device),
        class_V=torch.from_numpy(automaton.class_V).to(device),
        bias_NC=torch.from_numpy(bias_NC).to(device, torch.float32),
        best_N=torch.from_numpy(tokens.best(strings.best_L[is_open])).to(device),
        drawn_N=torch.from_numpy(drawn).to(device),
        confidence_N=torch.from_numpy(confidence_N).to(device, torch.float32),
    )


class _Classed:
    """Log-weights of tokens, class by class.

    Args:
        automaton: has the classes.
        scores_NV: float32.
    """

    def __init__(self, automaton: Automaton, scores_NV: Floats) -> None:
        self._order_V, self._first_C = automaton.by_class
        self._scores_NV = scores_NV[:, self._order_V]
        filled = self._first_C[:-1] < self._first_C[1:]
        begins, shape = self._first_C[:-1][filled], (len(scores_NV), len(filled))
        best = np.maximum.reduceat(self._scores_NV, begins, axis=1)
        sizes = np.diff(np.append(begins, scores_NV.shape[1]))
        self._weights_NV = np.exp(self._scores_NV - best.repeat(sizes, axis=1))
        sums = np.add.reduceat(self._weights_NV, begins, axis=1)
        self.best_NC = np.full(shape, NEVER)
        """float64; of the best token of each class."""
        self.sums_NC = np.full(shape, NEVER)
        """float64; of all its tokens."""
        self.best_NC[:, filled] = best
        self.sums_NC[:, filled] = best + np.log(sums)

    def best(self, class_N: Numbers) -> Numbers:
        """The best token of a class for each position."""
        places = [low + self._scores_NV[n, low:high].argmax() for n, (low, high) in enumerate(self._parts(class_N))]
        return self._order_V[places]

    def draw(self, class_N: Numbers, u_N: Floats) -> tuple[Numbers, Floats]:
        """A token of a class for each position, and its share of the weight of the class."""
        places, shares = [], []
        for n, (low, high) in enumerate(self._parts(class_N)):
            if high - low == 1:
                places.append(low)
                shares.append(1.0)
                continue
            running = self._weights_NV[n, low:high].cumsum(dtype=np.float64)
            within = min(int(running.searchsorted(u_N[n] * running[-1], "right")), high - low - 1)
            places.append(low + within)
            shares.append(float(self._weights_NV[n, low + within] / running[-1]))
        return self._order_V[places], np.array(shares)

    def _parts(self, class_N: Numbers) -> list[tuple[int, int]]:
        return list(zip(self._first_C[class_N].tolist(), self._first_C[class_N + 1].tolist(), strict=True))
