"""Compiled inner loops of `constraint`, over positions and over the arcs that strings may take.

Written as loops, because the work per position is a few dozen additions. Compiled at the first call and cached on disk.
"""

# L positions, S states, C token classes, A arcs, K sets of classes, M members of all sets, P arcs of all positions

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.kernels.cpu.loops.compiling import exp

Array = np.ndarray[Any, Any]
# Replaces 0 as a divisor.
_TINY = 1e-250


@njit(cache=True)
def find(
    from_A: Array,
    to_A: Array,
    set_A: Array,
    member_KC: Array,
    num_states: int,
    state: int,
    allowed_S: Array,
    fixed_L: Array,
) -> tuple[Array, Array, Array, Array, Array]:
    """The arcs that strings may take.

    Args:
        from_A, to_A, set_A, member_KC: see `Automaton`.
        state: before the first position.
        allowed_S: bool; allowed states after the last position.
        fixed_L: int64; class of the token at each position, -1 if open.

    Returns:
        first_L: int64 [L + 1]; start of each position's arcs.
        size_L: int64 [L + 1]; number of possible states before each position, and after the last.
        from_P, to_P: int64; source and target of each arc, numbered among those states, ascending by source.
        set_P: int64; class set of each arc.
    """
    length = len(fixed_L)
    possible = np.zeros((length + 1, num_states), dtype=np.bool_)
    possible[0, state] = True
    for position in range(length):
        for arc in range(len(from_A)):
            if possible[position, from_A[arc]] and (fixed_L[position] < 0 or member_KC[set_A[arc], fixed_L[position]]):
                possible[position + 1, to_A[arc]] = True
    for one in range(num_states):
        possible[length, one] &= allowed_S[one]
    count = 0
    for position in range(length - 1, -1, -1):
        leads = np.zeros(num_states, dtype=np.bool_)
        for arc in range(len(from_A)):
            goes = possible[position, from_A[arc]] and possible[position + 1, to_A[arc]]
            if goes and (fixed_L[position] < 0 or member_KC[set_A[arc], fixed_L[position]]):
                leads[from_A[arc]] = True
                count += 1
        for one in range(num_states):
            possible[position, one] &= leads[one]
    first_L, size_L = np.zeros(length + 1, dtype=np.int64), np.zeros(length + 1, dtype=np.int64)
    number = np.zeros((length + 1, num_states), dtype=np.int64)
    for position in range(length + 1):
        for one in range(num_states):
            if possible[position, one]:
                number[position, one] = size_L[position]
                size_L[position] += 1
    from_P, to_P, set_P = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    arc_P = 0
    for position in range(length):
        first_L[position] = arc_P
        for arc in range(len(from_A)):
            goes = possible[position, from_A[arc]] and possible[position + 1, to_A[arc]]
            if goes and (fixed_L[position] < 0 or member_KC[set_A[arc], fixed_L[position]]):
                from_P[arc_P], to_P[arc_P] = number[position, from_A[arc]], number[position + 1, to_A[arc]]
                set_P[arc_P] = set_A[arc]
                arc_P += 1
    first_L[length] = arc_P
    return first_L, size_L, from_P[:arc_P], to_P[:arc_P], set_P[:arc_P]


@njit(cache=True)
def _first(from_P: Array, low: int, high: int, state: int) -> int:
    """Index of a state's first arc, of those from one index to another."""
    while low < high:
        middle = (low + high) // 2
        if from_P[middle] < state:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def solve(
    first_L: Array,
    size_L: Array,
    from_P: Array,
    to_P: Array,
    set_P: Array,
    first_K: Array,
    member_M: Array,
    fixed_L: Array,
    best_LC: Array,
    sums_LC: Array,
    u_2L: Array,
    floor: float,
    weighs_suffix: bool,
) -> tuple[Array, Array, Array]:
    """The best string, a sampled one, and the marginals over all; see `constraint.solve`.

    Each position is chosen given the state after the earlier ones: the model's probabilities restricted to tokens that
    can still reach an end, weighted by how well that continues if `weighs_suffix`.

    Args:
        first_L, size_L, from_P, to_P, set_P: from `find`.
        first_K, member_M: the classes of each set, concatenated.
        fixed_L, best_LC, sums_LC, u_2L: as for `constraint.solve`.
        floor: lower bound on log-weights, relative to the best possible at a position.

    Returns:
        best_L, drawn_L: int64; classes.
        marginal_LC: float64; factor from each class's weight to its marginal, up to a constant per position.
    """
    length, num_classes = best_LC.shape
    num_sets, max_states = len(first_K) - 1, 1
    for size in size_L:
        max_states = max(max_states, size)
    # Weights of classes and sets, and the best of each.
    weight_LC = np.zeros((length, num_classes))
    weight_LK, score_LK = np.zeros((length, num_sets)), np.zeros((length, num_sets))
    weight_LK[:] = 1.0
    seen_K = np.zeros(num_sets, np.int64)
    seen_K[:] = -1
    used, num_used = np.zeros(num_sets, np.int64), 0
    for position in range(length):
        if fixed_L[position] >= 0:
            weight_LC[position, fixed_L[position]] = 1.0
            continue
        num_used = 0
        for arc in range(first_L[position], first_L[position + 1]):
            if seen_K[set_P[arc]] != position:
                seen_K[set_P[arc]] = position
                used[num_used] = set_P[arc]
                num_used += 1
        top_best = top_sum = -np.inf
        for one in used[:num_used]:
            for member in member_M[first_K[one] : first_K[one + 1]]:
                top_best, top_sum = max(top_best, best_LC[position, member]), max(top_sum, sums_LC[position, member])
        for one in used[:num_used]:
            weight, score = 0.0, floor
            for member in member_M[first_K[one] : first_K[one + 1]]:
                if weight_LC[position, member] == 0.0:
                    weight_LC[position, member] = np.exp(max(sums_LC[position, member] - top_sum, floor))
                weight += weight_LC[position, member]
                score = max(score, best_LC[position, member] - top_best)
            weight_LK[position, one], score_LK[position, one] = weight, score

    # Backward: how well strings continue from each state if that counts, in total, and at best.
    sum_LS, all_LS = np.zeros((length + 1, max_states)), np.zeros((length, max_states))
    top_LS = np.zeros((length + 1, max_states))
    sum_LS[:], top_LS[:] = 1.0, -np.inf
    top_LS[length] = 0.0
    for position in range(length - 1, -1, -1):
        low, high = first_L[position], first_L[position + 1]
        for arc in range(low, high):
            all_LS[position, from_P[arc]] += weight_LK[position, set_P[arc]] * sum_LS[position + 1, to_P[arc]]
        if weighs_suffix:
            largest = 0.0
            for here in range(max_states):
                largest = max(largest, all_LS[position, here])
            for here in range(max_states):
                sum_LS[position, here] = max(all_LS[position, here] / largest, _TINY)
        for arc in range(low, high):
            here, there = from_P[arc], to_P[arc]
            score = score_LK[position, set_P[arc]] + top_LS[position + 1, there]
            if not weighs_suffix:
                score -= np.log(all_LS[position, here])
            top_LS[position, here] = max(top_LS[position, here], score)
    # Forward, and the marginals.
    marginal_LC = np.zeros((length, num_classes))
    sum_S, share_K = np.zeros(max_states), np.zeros(num_sets)
    sum_S[:] = 1.0
    for position in range(length):
        new_S = np.zeros(max_states)
        for arc in range(first_L[position], first_L[position + 1]):
            here, one = from_P[arc], set_P[arc]
            part = sum_S[here] * sum_LS[position + 1, to_P[arc]] / max(all_LS[position, here], _TINY)
            new_S[to_P[arc]] += part * weight_LK[position, one]
            share_K[one] += part
        sum_S = new_S
        for one in range(num_sets):
            if share_K[one] > 0.0:
                for member in member_M[first_K[one] : first_K[one + 1]]:
                    marginal_LC[position, member] += share_K[one]
                share_K[one] = 0.0

    # Two strings, from the left.
    best_L, drawn_L = np.zeros(length, np.int64), np.zeros(length, np.int64)
    best_state, drawn_state = 0, 0
    for position in range(length):
        low, high = first_L[position], first_L[position + 1]
        best_arc = _first(from_P, low, high, best_state)
        for arc in range(best_arc + 1, high):
            if from_P[arc] != best_state:
                break
            score = score_LK[position, set_P[arc]] + top_LS[position + 1, to_P[arc]]
            if score > score_LK[position, set_P[best_arc]] + top_LS[position + 1, to_P[best_arc]]:
                best_arc = arc
        drawn_arc = _first(from_P, low, high, drawn_state)
        running = 0.0
        for arc in range(drawn_arc, high):
            if from_P[arc] != drawn_state:
                break
            running += weight_LK[position, set_P[arc]] * sum_LS[position + 1, to_P[arc]]
            drawn_arc = arc
            if running > u_2L[0, position] * all_LS[position, drawn_state]:
                break
        best_state, drawn_state = to_P[best_arc], to_P[drawn_arc]
        if fixed_L[position] >= 0:
            best_L[position] = drawn_L[position] = fixed_L[position]
            continue
        top, total, running = -np.inf, 0.0, 0.0
        for member in member_M[first_K[set_P[best_arc]] : first_K[set_P[best_arc] + 1]]:
            if best_LC[position, member] > top:
                top, best_L[position] = best_LC[position, member], member
        members = member_M[first_K[set_P[drawn_arc]] : first_K[set_P[drawn_arc] + 1]]
        for member in members:
            total += weight_LC[position, member]
        for member in members:
            running += weight_LC[position, member]
            drawn_L[position] = member
            if running > u_2L[1, position] * total:
                break
    return best_L, drawn_L, marginal_LC


@njit(cache=True)
def pick(weights_NV: Array, first_C: Array, class_N: Array, u_N: Array | None) -> tuple[Array, Array]:
    """Pick a token of a class for each position.

    Args:
        weights_NV: token weights grouped by class, 1 for each class's best.
        first_C: int64 [C + 1]; start of each class's tokens.
        class_N: int64.
        u_N: uniforms in [0, 1) for sampling; None takes the best.

    Returns:
        place_N: int64; index among the ordered tokens.
        share_N: float64; its share of its class's weight.
    """
    place_N, share_N = np.zeros(len(class_N), np.int64), np.zeros(len(class_N))
    for n in range(len(class_N)):
        low, high = first_C[class_N[n]], first_C[class_N[n] + 1]
        total, best = 0.0, low
        for position in range(low, high):
            total += weights_NV[n, position]
            if weights_NV[n, position] > weights_NV[n, best]:
                best = position
        chosen, running = best, 0.0
        if u_N is not None:
            for position in range(low, high):
                if weights_NV[n, position] > 0.0:
                    running += weights_NV[n, position]
                    chosen = position
                    if running > u_N[n] * total:
                        break
        place_N[n], share_N[n] = chosen, weights_NV[n, chosen] / total
    return place_N, share_N


@njit(fastmath={"reassoc", "contract", "nsz"}, cache=True)
def weigh(scores_NV: Array, order_V: Array, first_C: Array, class_V: Array, never: float) -> tuple[Array, Array, Array]:
    """Log-weights of tokens, grouped by class.

    Args:
        scores_NV: float32.
        order_V: int64; tokens ordered by class.
        first_C: int64 [C + 1]; start of each class's tokens.
        class_V: int64; class of each ordered token.
        never: log-weight of a class without tokens.

    Returns:
        weights_NV: float32; of the ordered tokens, 1 for each class's best.
        best_NC: float64; log-weight of each class's best token.
        sums_NC: float64; log-weight of all tokens of a class.
    """
    num_rows, num_classes = len(scores_NV), len(first_C) - 1
    weights_NV = np.empty((num_rows, len(order_V)), np.float32)
    best_NC, sums_NC = np.empty((num_rows, num_classes)), np.empty((num_rows, num_classes))
    best_NC[:], sums_NC[:] = never, never
    best_C = np.empty(num_classes, np.float32)
    for n in range(num_rows):
        scores_V, weights_V = scores_NV[n], weights_NV[n]
        best_C[:] = -np.inf
        for v in range(len(order_V)):
            weights_V[v] = scores_V[order_V[v]]
            if weights_V[v] > best_C[class_V[v]]:
                best_C[class_V[v]] = weights_V[v]
        for v in range(len(order_V)):
            weights_V[v] -= best_C[class_V[v]]
        for v in range(len(order_V)):
            weights_V[v] = exp(weights_V[v])
        for c in range(num_classes):
            if first_C[c] < first_C[c + 1]:
                total = np.float32(0.0)
                for v in range(first_C[c], first_C[c + 1]):
                    total += weights_V[v]
                best_NC[n, c] = best_C[c]
                sums_NC[n, c] = best_C[c] + (np.log(total) if total != 1.0 else 0.0)
    return weights_NV, best_NC, sums_NC


@njit(cache=True)
def share(
    marginal_NC: Array, sums_NC: Array, drawn_N: Array, weight_N: Array, faint: float, never: float, weighs_suffix: bool
) -> tuple[Array, Array]:
    """The bias that turns token log-weights into marginals, and the probability of the drawn tokens: by the marginals
    if later text counts, otherwise without the language.

    Args:
        marginal_NC: from `solve`.
        sums_NC: from `weigh`.
        drawn_N: int64; class of each drawn token.
        weight_N: its share of its class's weight.
        faint: log-share below which a class is ignored, because its floats would be denormal and slow.
        never: stands for minus infinity.

    Returns:
        bias_NC: float32; added to log-weights, up to a constant per position.
        confidence_N: float32.
    """
    num_rows, num_classes = sums_NC.shape
    bias_NC, confidence_N = np.empty((num_rows, num_classes), np.float32), np.empty(num_rows, np.float32)
    bias_NC[:] = never
    log_C = np.empty(num_classes)
    for n in range(num_rows):
        top = -np.inf
        log_C[:] = never
        for c in range(num_classes):
            if marginal_NC[n, c] > 0.0:
                log_C[c] = np.log(marginal_NC[n, c])
                top = max(top, log_C[c] + sums_NC[n, c])
        for c in range(num_classes):
            if marginal_NC[n, c] > 0.0 and log_C[c] + sums_NC[n, c] - top >= faint:
                bias_NC[n, c] = log_C[c]
        if not weighs_suffix:
            log_C[:] = 0.0
        largest, total = -np.inf, 0.0
        for c in range(num_classes):
            largest = max(largest, sums_NC[n, c] + log_C[c])
        for c in range(num_classes):
            total += np.exp(sums_NC[n, c] + log_C[c] - largest)
        drawn = drawn_N[n]
        confidence_N[n] = weight_N[n] * np.exp(sums_NC[n, drawn] + log_C[drawn] - largest) / total
    return bias_NC, confidence_N
