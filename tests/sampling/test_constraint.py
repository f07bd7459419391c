"""Strings of a language by enumeration: the best, the probability of each, what each position comes to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from denoising import noise_canvases
from settings import sampler_config
from sfumato.constraints.automaton import over_tokens
from sfumato.constraints.dfa import Language, from_choices, without
from sfumato.constraints.regex import from_regex
from sfumato.diffusion.process import make_process
from sfumato.sampling import Automaton, Constraint, step
from sfumato.sampling.constraint import _Classed, backward, solve

# 0 ends a text, 1 is no text.
TOKENS = [None, None, b"a", b"b", b"ab", b"ba", b"c", b"bc", b"\xc3", b"\xa9", "é".encode()]
END = 0
LANGUAGES = {
    "alternatives": from_regex("(ab|ba|c)*"),
    "one long": from_regex("a{2}b{2}c?"),
    "unicode": from_regex("(é|a)+"),
    "choices": from_choices(["abab", "ba", "c"]),
    "without": without(["ab", "cc"]),
    "both": from_regex("[abc]*").intersect(without(["bb"])),
}


def automaton_of(language: Language) -> Automaton:
    automaton = over_tokens(language, TOKENS, [END])
    assert automaton is not None
    return automaton


def text_of(tokens: Sequence[int]) -> bytes | None:
    """What a canvas says; None if anything but ends stands behind an end, or a token is no text."""
    ends = [place for place, token in enumerate(tokens) if token == END]
    text = tokens[: ends[0]] if ends else tokens
    if any(TOKENS[token] is None for token in text) or (ends and set(tokens[ends[0] :]) != {END}):
        return None
    return b"".join(TOKENS[token] or b"" for token in text)


def strings_of(language: Language, length: int, fixed: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """All token strings of a length that are texts of a language, ended or just at an end."""
    found = []
    for tokens in itertools.product(range(len(TOKENS)), repeat=length):
        text = text_of(tokens)
        agrees = all(own in (-1, token) for own, token in zip(fixed, tokens, strict=False))
        if agrees and text is not None and language.accepts(text):
            found.append(tokens)
    return found


@pytest.mark.parametrize("name", LANGUAGES)
def test_token_strings_are_those_of_the_language(name: str):
    language, automaton = LANGUAGES[name], automaton_of(LANGUAGES[name])
    for length in range(1, 5):
        for tokens in itertools.product(range(len(TOKENS)), repeat=length):
            state = automaton.walk(automaton.start, tokens)
            text = text_of(tokens)
            final = state < automaton.num_states and bool(automaton.final_S[state])
            assert final == (text is not None and language.accepts(text))


@pytest.mark.parametrize("name", LANGUAGES)
def test_distances_are_the_fewest_tokens(name: str):
    automaton = automaton_of(LANGUAGES[name])
    shortest = next(
        length
        for length in range(6)
        if any(
            automaton.final_S[state]
            for tokens in itertools.product(range(2, len(TOKENS)), repeat=length)
            if (state := automaton.walk(automaton.start, tokens)) < automaton.num_states
        )
    )
    assert automaton.distance_S[automaton.start] == shortest


def test_a_language_that_no_tokens_spell():
    assert over_tokens(from_regex("x+"), TOKENS, [END]) is None


def shares_of(strings: Sequence[Sequence[int]], scores_LV: np.ndarray, weighs_behind: bool = False) -> np.ndarray:
    """The probability of each string: that of each token, among those with which strings go on there; or the product
    of its positions."""
    if weighs_behind:
        totals = np.array([sum(scores_LV[i, token] for i, token in enumerate(tokens)) for tokens in strings])
        return np.exp(totals - totals.max()) / np.exp(totals - totals.max()).sum()
    after: dict[tuple[int, ...], set[int]] = {}
    for string in strings:
        for place, token in enumerate(string):
            after.setdefault(tuple(string[:place]), set()).add(token)
    weights_LV = np.exp(scores_LV.astype(np.float64))
    return np.array(
        [
            np.prod(
                [
                    weights_LV[place, token] / weights_LV[place, sorted(after[tuple(string[:place])])].sum()
                    for place, token in enumerate(string)
                ]
            )
            for string in strings
        ]
    )


def weights(length: int, seed: int, scale: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(length, len(TOKENS))).astype(np.float32) * scale


@pytest.mark.parametrize("weighs_behind", [False, True])
@pytest.mark.parametrize("fixed", [(), (-1, 4), (2,), (-1, -1, -1, 0)], ids=str)
@pytest.mark.parametrize("name", LANGUAGES)
def test_best_string_and_marginals_by_enumeration(name: str, fixed: tuple[int, ...], weighs_behind: bool):
    language, automaton, length = LANGUAGES[name], automaton_of(LANGUAGES[name]), 4
    fixed = (*fixed, *[-1] * (length - len(fixed)))
    strings = strings_of(language, length, fixed)
    if not strings:
        pytest.skip("no string has these tokens")
    scores_LV = weights(length, seed=3)
    shares = shares_of(strings, scores_LV, weighs_behind)
    tokens = _Classed(automaton, scores_LV)
    constraint = Constraint(
        automaton=automaton,
        state=automaton.start,
        allowed_S=automaton.final_S.copy(),
        length=length,
        weighs_behind=weighs_behind,
    )
    fixed_L = np.array([-1 if token < 0 else automaton.class_V[token] for token in fixed])
    found = solve(constraint, fixed_L, tokens.best_NC, tokens.sums_NC, np.full((2, length), 0.5))
    best = tuple(tokens.pick(found.best_L)[0].tolist())
    open_ = [place for place in range(length) if fixed[place] < 0]
    assert [best[place] for place in open_] == [strings[shares.argmax()][place] for place in open_]
    for place in open_:
        expected = np.zeros(len(TOKENS))
        for string, share in zip(strings, shares, strict=True):
            expected[string[place]] += share
        with np.errstate(divide="ignore"):
            scores = scores_LV[place] + np.log(found.marginal_LC[place])[automaton.class_V]
        marginal = np.exp(scores - scores.max())
        np.testing.assert_allclose(marginal / marginal.sum(), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["alternatives", "unicode", "without"])
def test_strings_are_drawn_as_often_as_they_are_probable(name: str):
    language, automaton, length, num = LANGUAGES[name], automaton_of(LANGUAGES[name]), 3, 4000
    strings = strings_of(language, length)
    scores_LV = weights(length, seed=4, scale=1.0)
    shares = shares_of(strings, scores_LV)
    tokens = _Classed(automaton, scores_LV)
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=length)
    u = np.random.default_rng(0).random((num, 3, length))
    drawn: Counter[tuple[int, ...]] = Counter()
    for own in u:
        found = solve(constraint, np.full(length, -1), tokens.best_NC, tokens.sums_NC, own[:2])
        drawn[tuple(tokens.pick(found.drawn_L, own[2])[0].tolist())] += 1
    assert set(drawn) <= set(strings)
    counts = np.array([drawn[string] for string in strings])
    # Pearson's statistic has the number of cells less one as mean, and twice that as variance.
    cells = shares * num >= 5
    statistic = ((counts - shares * num)[cells] ** 2 / (shares * num)[cells]).sum()
    assert statistic < cells.sum() + 5 * np.sqrt(2 * cells.sum())


@pytest.mark.parametrize("scale", [200.0, 20_000.0])
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_model_that_is_sure_of_something_else(name: str, scale: float):
    """Weights far out of what a float can hold still give strings of the language, and finite marginals."""
    language, automaton, length = LANGUAGES[name], automaton_of(LANGUAGES[name]), 40
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=length)
    for seed in range(5):
        tokens = _Classed(automaton, weights(length, seed, scale))
        u = np.random.default_rng(seed).random((3, length))
        found = solve(constraint, np.full(length, -1), tokens.best_NC, tokens.sums_NC, u[:2])
        for string in (tokens.pick(found.best_L)[0], tokens.pick(found.drawn_L, u[2])[0]):
            text = text_of(string.tolist())
            assert text is not None
            assert language.accepts(text)
        assert (found.marginal_LC.max(1) > 0.0).all()


def test_where_a_text_may_stand_to_end_with_what_is_fixed():
    automaton = automaton_of(LANGUAGES["alternatives"])
    fixed = [-1, 3, -1]
    possible = backward(automaton, [-1 if token < 0 else int(automaton.class_V[token]) for token in fixed])
    for place in range(4):
        for state in range(automaton.num_states):
            ways = [
                tokens
                for tokens in itertools.product(range(2, len(TOKENS)), repeat=3 - place)
                if all(own in (-1, token) for own, token in zip(fixed[place:], tokens, strict=True))
                and (behind := automaton.walk(state, tokens)) < automaton.end_state
                and automaton.final_S[behind]
            ]
            assert possible[place, state] == bool(ways)


@pytest.mark.parametrize("sampler", ["entropy", "threshold", "confidence", "random", "ancestral", "edit", "remdm"])
@pytest.mark.parametrize("noise", ["uniform", "mask", "hybrid"])
def test_what_a_canvas_ends_as_belongs_to_the_language(noise: str, sampler: str):
    """With any number of steps, other rows beside it, and a denoiser that changes its mind at every step."""
    process = make_process(noise, len(TOKENS) + 1, len(TOKENS) if noise != "uniform" else None)
    if (sampler in ("edit", "remdm")) and process.has_uniform:
        pytest.skip("not under this noise")
    language = LANGUAGES["both"]
    automaton = over_tokens(language, [*TOKENS, None], [END])
    assert automaton is not None
    for steps in (1, 2, 5):
        config = sampler_config(name=sampler, steps=steps, threshold=0.3, adaptive=steps != 2)  # type: ignore[arg-type]
        batch = noise_canvases(process, [9, 6, 9], seeds=[1, 2, steps], config=config)
        constraints = [
            Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=length)
            for length in (9, 6)
        ]

        class Fickle:
            generator = torch.Generator().manual_seed(steps)

            def __call__(self, tokens_RL: torch.Tensor, *rest: object) -> torch.Tensor:
                index_N = rest[2]
                assert isinstance(index_N, torch.Tensor)
                return torch.randn(len(index_N), len(TOKENS) + 1, generator=self.generator) * 3

        fickle = Fickle()
        while not batch.done_R.all():
            batch = step(batch, fickle, process, constraints=[constraints[0], constraints[1], None]).batch  # type: ignore[arg-type]
        for row, length in ((0, 9), (1, 6)):
            text = text_of(batch.tokens_RL[row, :length].tolist())
            assert text is not None
            assert language.accepts(text)


def test_positions_that_hold_each_other_up_give_way():
    """Each position is sure given the others as they stand: `ccc` where `c` and an end are meant."""
    automaton = automaton_of(from_regex("c|ccc"))
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=3)
    scores_LV = np.log(np.full((3, len(TOKENS)), 1e-6, dtype=np.float32))
    scores_LV[0, 6] = 0.0
    # Behind the c, an end; what stands behind that was read as if another c were there.
    scores_LV[1, [END, 6]] = np.log([0.8, 0.2])
    scores_LV[2, [END, 6]] = np.log([0.01, 0.99])
    tokens = _Classed(automaton, scores_LV)
    found = solve(constraint, np.full(3, -1), tokens.best_NC, tokens.sums_NC, np.full((2, 3), 0.5))
    assert tokens.pick(found.best_L)[0].tolist() == [6, END, END]


@pytest.mark.parametrize(("sure_of", "confident"), [(6, True), (2, False)])
def test_confidence_is_that_of_the_model_without_the_language(sure_of: int, confident: bool):
    process = make_process("uniform", len(TOKENS), None)
    automaton = automaton_of(from_regex("cccc"))
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=4)
    batch = noise_canvases(process, [4], seeds=[0], config=sampler_config(steps=1))

    def denoiser(tokens_RL: torch.Tensor, *rest: object) -> torch.Tensor:
        logits = torch.zeros(4, len(TOKENS))
        logits[:, sure_of] = 8.0
        return logits

    result = step(batch, denoiser, process, constraints=[constraint])  # type: ignore[arg-type]
    assert result.batch.tokens_RL[0].tolist() == [6] * 4
    expected = torch.zeros(4, len(TOKENS)).index_fill(1, torch.tensor([sure_of]), 8.0).softmax(-1)[:, 6]
    torch.testing.assert_close(result.statistics.confidence_RL[0], expected)
    assert bool((expected > 0.9).all()) == confident


def test_what_is_cut_off_is_taken_where_nothing_else_is_left():
    process = make_process("uniform", len(TOKENS), None)
    language = from_regex("cccc")
    automaton = automaton_of(language)
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=6)
    batch = noise_canvases(process, [6], seeds=[0], config=sampler_config(steps=1, top_k=1))

    def sure_of_a(tokens_RL: torch.Tensor, *rest: object) -> torch.Tensor:
        logits = torch.zeros(6, len(TOKENS))
        logits[:, 2] = 20.0
        return logits

    done = step(batch, sure_of_a, process, constraints=[constraint]).batch  # type: ignore[arg-type]
    assert done.tokens_RL[0].tolist() == [6, 6, 6, 6, END, END]
