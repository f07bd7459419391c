"""Constraints against enumeration: the best string, the probability of each string, and the marginals."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from denoising import noise_canvases
from settings import sampler_config
from sfumato.constraints.automaton import Automaton, over_tokens
from sfumato.constraints.dfa import Language, from_choices, without
from sfumato.constraints.regex import from_regex
from sfumato.diffusion.process import make_process
from sfumato.sampling import strings
from sfumato.sampling.constraint import Constraint, _Classed, _loops, backward, solve
from sfumato.sampling.step import step

# Token 0 ends a text; token 1 has no text.
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
    """The text of a canvas; None if anything but end tokens follows an end, or a token has no text."""
    ends = [position for position, token in enumerate(tokens) if token == END]
    text = tokens[: ends[0]] if ends else tokens
    if any(TOKENS[token] is None for token in text) or (ends and set(tokens[ends[0] :]) != {END}):
        return None
    return b"".join(TOKENS[token] or b"" for token in text)


def strings_of(language: Language, length: int, fixed: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """All token strings of a length that spell a text of a language, padded with end tokens."""
    found = []
    for tokens in itertools.product(range(len(TOKENS)), repeat=length):
        text = text_of(tokens)
        agrees = all(fixed_token in (-1, token) for fixed_token, token in zip(fixed, tokens, strict=False))
        if agrees and text is not None and language.accepts(text):
            found.append(tokens)
    return found


@pytest.mark.parametrize("name", LANGUAGES)
def test_automaton_accepts_exactly_the_language(name: str):
    language, automaton = LANGUAGES[name], automaton_of(LANGUAGES[name])
    for length in range(1, 5):
        for tokens in itertools.product(range(len(TOKENS)), repeat=length):
            state = automaton.walk(automaton.start, tokens)
            text = text_of(tokens)
            final = state < automaton.num_states and bool(automaton.final_S[state])
            assert final == (text is not None and language.accepts(text))


@pytest.mark.parametrize("name", LANGUAGES)
def test_distance_is_the_length_of_the_shortest_string(name: str):
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


def test_language_that_no_tokens_spell_has_no_automaton():
    assert over_tokens(from_regex("x+"), TOKENS, [END]) is None


def string_probs(strings: Sequence[Sequence[int]], scores_LV: np.ndarray, weighs_suffix: bool = False) -> np.ndarray:
    """The probability of each string: the product over its tokens, each among the tokens that can follow there; with
    `weighs_suffix`, in proportion to the product of its weights."""
    if weighs_suffix:
        totals = np.array([sum(scores_LV[i, token] for i, token in enumerate(tokens)) for tokens in strings])
        return np.exp(totals - totals.max()) / np.exp(totals - totals.max()).sum()
    after: dict[tuple[int, ...], set[int]] = {}
    for string in strings:
        for position, token in enumerate(string):
            after.setdefault(tuple(string[:position]), set()).add(token)
    weights_LV = np.exp(scores_LV.astype(np.float64))
    return np.array(
        [
            np.prod(
                [
                    weights_LV[position, token] / weights_LV[position, sorted(after[tuple(string[:position])])].sum()
                    for position, token in enumerate(string)
                ]
            )
            for string in strings
        ]
    )


def random_scores(length: int, seed: int, scale: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(length, len(TOKENS))).astype(np.float32) * scale


@pytest.mark.parametrize("weighs_suffix", [False, True])
@pytest.mark.parametrize("fixed", [(), (-1, 4), (2,), (-1, -1, -1, 0)], ids=str)
@pytest.mark.parametrize("name", LANGUAGES)
def test_best_string_and_marginals_by_enumeration(name: str, fixed: tuple[int, ...], weighs_suffix: bool):
    language, automaton, length = LANGUAGES[name], automaton_of(LANGUAGES[name]), 4
    fixed = (*fixed, *[-1] * (length - len(fixed)))
    strings = strings_of(language, length, fixed)
    if not strings:
        pytest.skip("no string has these tokens")
    scores_LV = random_scores(length, seed=3)
    probs = string_probs(strings, scores_LV, weighs_suffix)
    tokens = _Classed(automaton, scores_LV)
    constraint = Constraint(
        automaton=automaton,
        state=automaton.start,
        allowed_S=automaton.final_S.copy(),
        length=length,
        weighs_suffix=weighs_suffix,
    )
    fixed_L = np.array([-1 if token < 0 else automaton.class_V[token] for token in fixed])
    found = solve(constraint, fixed_L, tokens.best_NC, tokens.sums_NC, np.full((2, length), 0.5))
    best = tuple(tokens.pick(found.best_L)[0].tolist())
    open_ = [position for position in range(length) if fixed[position] < 0]
    assert [best[position] for position in open_] == [strings[probs.argmax()][position] for position in open_]
    for position in open_:
        expected = np.zeros(len(TOKENS))
        for string, prob in zip(strings, probs, strict=True):
            expected[string[position]] += prob
        with np.errstate(divide="ignore"):
            scores = scores_LV[position] + np.log(found.marginal_LC[position])[automaton.class_V]
        marginal = np.exp(scores - scores.max())
        np.testing.assert_allclose(marginal / marginal.sum(), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["alternatives", "unicode", "without"])
def test_strings_are_drawn_with_their_probability(name: str):
    language, automaton, length, num = LANGUAGES[name], automaton_of(LANGUAGES[name]), 3, 4000
    strings = strings_of(language, length)
    scores_LV = random_scores(length, seed=4, scale=1.0)
    probs = string_probs(strings, scores_LV)
    tokens = _Classed(automaton, scores_LV)
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=length)
    u = np.random.default_rng(0).random((num, 3, length))
    drawn: Counter[tuple[int, ...]] = Counter()
    for draws in u:
        found = solve(constraint, np.full(length, -1), tokens.best_NC, tokens.sums_NC, draws[:2])
        drawn[tuple(tokens.pick(found.drawn_L, draws[2])[0].tolist())] += 1
    assert set(drawn) <= set(strings)
    counts = np.array([drawn[string] for string in strings])
    # Pearson's statistic has the number of cells less one as mean, and twice that as variance.
    cells = probs * num >= 5
    statistic = ((counts - probs * num)[cells] ** 2 / (probs * num)[cells]).sum()
    assert statistic < cells.sum() + 5 * np.sqrt(2 * cells.sum())


@pytest.mark.parametrize("scale", [200.0, 20_000.0])
@pytest.mark.parametrize("name", LANGUAGES)
def test_extreme_scores_still_give_strings_of_the_language(name: str, scale: float):
    """Weights far beyond the range of a float still give strings of the language, and finite marginals."""
    language, automaton, length = LANGUAGES[name], automaton_of(LANGUAGES[name]), 40
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=length)
    for seed in range(5):
        tokens = _Classed(automaton, random_scores(length, seed, scale))
        u = np.random.default_rng(seed).random((3, length))
        found = solve(constraint, np.full(length, -1), tokens.best_NC, tokens.sums_NC, u[:2])
        for string in (tokens.pick(found.best_L)[0], tokens.pick(found.drawn_L, u[2])[0]):
            text = text_of(string.tolist())
            assert text is not None
            assert language.accepts(text)
        assert (found.marginal_LC.max(1) > 0.0).all()


def test_backward_finds_the_states_that_can_end():
    automaton = automaton_of(LANGUAGES["alternatives"])
    fixed = [-1, 3, -1]
    possible = backward(automaton, [-1 if token < 0 else int(automaton.class_V[token]) for token in fixed])
    for position in range(4):
        for state in range(automaton.num_states):
            completions = [
                tokens
                for tokens in itertools.product(range(2, len(TOKENS)), repeat=3 - position)
                if all(fixed_token in (-1, token) for fixed_token, token in zip(fixed[position:], tokens, strict=True))
                and (final_state := automaton.walk(state, tokens)) < automaton.end_state
                and automaton.final_S[final_state]
            ]
            assert possible[position, state] == bool(completions)


@pytest.mark.parametrize("sampler", ["entropy", "threshold", "confidence", "random", "ancestral", "edit", "remdm"])
@pytest.mark.parametrize("noise", ["uniform", "mask", "hybrid"])
def test_finished_canvas_belongs_to_the_language(noise: str, sampler: str):
    """For any number of steps, beside other rows, with a denoiser that predicts something else at every step."""
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

        class RandomDenoiser:
            generator = torch.Generator().manual_seed(steps)

            def __call__(self, tokens_RL: torch.Tensor, *rest: object) -> torch.Tensor:
                index_N = rest[2]
                assert isinstance(index_N, torch.Tensor)
                return torch.randn(len(index_N), len(TOKENS) + 1, generator=self.generator) * 3

        denoiser = RandomDenoiser()
        while not batch.done_R.all():
            batch = step(batch, denoiser, process, constraints=[constraints[0], constraints[1], None]).batch  # type: ignore[arg-type]
        for row, length in ((0, 9), (1, 6)):
            text = text_of(batch.tokens_RL[row, :length].tolist())
            assert text is not None
            assert language.accepts(text)


def test_best_string_overrides_positions_that_confirm_each_other():
    """Each position is certain given the others as they are: `ccc` where `c` and an end are meant."""
    automaton = automaton_of(from_regex("c|ccc"))
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=3)
    scores_LV = np.log(np.full((3, len(TOKENS)), 1e-6, dtype=np.float32))
    scores_LV[0, 6] = 0.0
    # After the c, an end; the position after that was predicted as if another c preceded it.
    scores_LV[1, [END, 6]] = np.log([0.8, 0.2])
    scores_LV[2, [END, 6]] = np.log([0.01, 0.99])
    tokens = _Classed(automaton, scores_LV)
    found = solve(constraint, np.full(3, -1), tokens.best_NC, tokens.sums_NC, np.full((2, 3), 0.5))
    assert tokens.pick(found.best_L)[0].tolist() == [6, END, END]


@pytest.mark.parametrize(("token", "confident"), [(6, True), (2, False)])
def test_confidence_ignores_the_constraint(token: int, confident: bool):
    process = make_process("uniform", len(TOKENS), None)
    automaton = automaton_of(from_regex("cccc"))
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=4)
    batch = noise_canvases(process, [4], seeds=[0], config=sampler_config(steps=1))

    def denoiser(tokens_RL: torch.Tensor, *rest: object) -> torch.Tensor:
        logits = torch.zeros(4, len(TOKENS))
        logits[:, token] = 8.0
        return logits

    result = step(batch, denoiser, process, constraints=[constraint])  # type: ignore[arg-type]
    assert result.batch.tokens_RL[0].tolist() == [6] * 4
    expected = torch.zeros(4, len(TOKENS)).index_fill(1, torch.tensor([token]), 8.0).softmax(-1)[:, 6]
    torch.testing.assert_close(result.statistics.confidence_RL[0], expected)
    assert bool((expected > 0.9).all()) == confident


def test_constraint_overrides_top_k_where_nothing_else_is_left():
    process = make_process("uniform", len(TOKENS), None)
    language = from_regex("cccc")
    automaton = automaton_of(language)
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=6)
    batch = noise_canvases(process, [6], seeds=[0], config=sampler_config(steps=1, top_k=1))

    def certain_of_a(tokens_RL: torch.Tensor, *rest: object) -> torch.Tensor:
        logits = torch.zeros(6, len(TOKENS))
        logits[:, 2] = 20.0
        return logits

    done = step(batch, certain_of_a, process, constraints=[constraint]).batch  # type: ignore[arg-type]
    assert done.tokens_RL[0].tolist() == [6, 6, 6, 6, END, END]


@pytest.mark.parametrize(
    ("cut", "banned", "allowed"), [({"top_k": 1}, 1, {2}), ({}, 2, {3, 6}), ({"top_p": 0.5}, 1, {2})]
)
def test_tokens_that_are_never_drawn_take_no_share_of_top_k(cut: dict[str, Any], banned: int, allowed: set[int]):
    """The mask and banned tokens lead; what is cut is the rest."""
    process = make_process("mask", len(TOKENS) + 1, len(TOKENS))
    automaton = over_tokens(from_regex("[abc]{4}"), [*TOKENS, None], [END])
    assert automaton is not None
    constraint = Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.distance_S <= 0, length=4)
    config = sampler_config(steps=4, adaptive=False, commit_sample=True, **cut)
    batch = noise_canvases(process, [4] * 20, seeds=range(20), config=config)
    banned_V = torch.zeros(len(TOKENS) + 1, dtype=torch.bool).index_fill(0, torch.tensor([banned]), True)
    logits_V = torch.full((len(TOKENS) + 1,), -20.0)
    logits_V[[2, 3, 6, 1, -1]] = torch.tensor([2.0, 1.0, 0.0, 5.0, 5.0])

    def denoiser(tokens_RL: torch.Tensor, soft: object, valid: object, index_N: torch.Tensor, *rest: object) -> Any:
        return logits_V.repeat(tokens_RL.numel(), 1)[index_N]

    for _ in range(4):
        batch = step(batch, denoiser, process, banned=banned_V, constraints=[constraint] * 20).batch
    assert set(batch.tokens_RL.flatten().tolist()) == allowed


def test_the_first_compilation_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """It takes seconds, in which nothing else would be seen."""
    automaton = automaton_of(LANGUAGES["choices"])
    Constraint(automaton=automaton, state=automaton.start, allowed_S=automaton.final_S, length=4).ways(np.full(4, -1))
    said = []
    for cache in (tmp_path, strings.find.stats.cache_path):
        monkeypatch.setattr(strings, "find", SimpleNamespace(stats=SimpleNamespace(cache_path=cache)))
        _loops.__wrapped__()
        said.append("compiling loops for constraints and edits" in caplog.text)
        caplog.clear()
    assert said == [True, False]
