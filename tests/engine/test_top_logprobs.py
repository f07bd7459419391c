"""The log-probabilities of each position's most probable tokens, and logit biases."""

from __future__ import annotations

import math

import pytest

import sfumato
from sfumato.errors import RequestError

EXPRESSION = "answer, then derive: 81*(2/3)^2+sqrt(9)"


@pytest.fixture(scope="module")
def model() -> sfumato.TextModel:
    return sfumato.load("tiny")


def test_first_logprob_is_the_committed_token(model: sfumato.TextModel):
    result = model.generate(EXPRESSION, top_logprobs=3, seed=4)
    assert len(result.top_logprobs) == len(result.tokens) > 10
    for token, confidence, top in zip(result.tokens, result.confidence, result.top_logprobs, strict=True):
        assert len(top) == 3
        assert [log for _, log in top] == sorted((log for _, log in top), reverse=True)
        assert top[0][0] == token
        # Confidence is that of the last sampled token, which the argmax may have overruled.
        assert math.exp(top[0][1]) >= confidence - 1e-5
    assert sum(math.exp(log) for _, log in result.top_logprobs[0]) <= 1 + 1e-5


def test_logprobs_do_not_change_the_output(model: sfumato.TextModel):
    plain, result = (model.generate(EXPRESSION, top_logprobs=count, seed=1) for count in (0, 5))
    assert plain.tokens == result.tokens
    assert plain.confidence == result.confidence
    assert plain.top_logprobs == ()


def test_constraint_leaves_only_the_allowed_tokens(model: sfumato.TextModel):
    result = model.generate("answer, then derive: 12+5", regex="[789]", top_logprobs=5, check_prompt=False)
    allowed = {model.tokenizer.decode([token]): log for token, log in result.top_logprobs[0] if log > -50}
    assert allowed.keys() == {"7", "8", "9"}
    assert sum(map(math.exp, allowed.values())) == pytest.approx(1, abs=1e-4)


def test_pinned_text_has_no_logprobs(model: sfumato.TextModel):
    text = "57; 9+48"
    result = model.generate(EXPRESSION, seed_text=text, pin=[(0, 4)], top_logprobs=2)
    num_pinned = len(model.tokenizer.encode(text[:4]))
    assert {len(top) for top in result.top_logprobs[:num_pinned]} == {0}
    assert {len(top) for top in result.top_logprobs[num_pinned:]} == {2}


def test_logprobs_with_autoregression(model: sfumato.TextModel):
    result = model.generate(EXPRESSION, canvas_length=1, top_logprobs=2, temperature=0.0, max_tokens=8)
    assert [top[0][0] for top in result.top_logprobs] == list(result.tokens)


@pytest.mark.parametrize("count", [-1, 257, True, "3"])
def test_invalid_top_logprobs_are_refused(model: sfumato.TextModel, count: object):
    with pytest.raises(RequestError, match=r"top_logprobs is .*; allowed"):
        model.generate(EXPRESSION, top_logprobs=count)  # type: ignore[typeddict-item]


def test_top_logprobs_with_revisit_are_refused(model: sfumato.TextModel):
    with pytest.raises(RequestError, match="top_logprobs is 2; allowed with revisit: 0"):
        model.generate(EXPRESSION, top_logprobs=2, revisit=1)


def test_logit_bias_bans_and_forces_tokens(model: sfumato.TextModel):
    plain = model.generate(EXPRESSION, temperature=0.0)
    [nine] = model.tokenizer.encode("9")
    [six] = model.tokenizer.encode("6")
    assert "9" in plain.text
    assert "9" not in model.generate(EXPRESSION, temperature=0.0, logit_bias={nine: -100}).text
    assert set(model.generate(EXPRESSION, max_tokens=4, logit_bias={six: 100}).text) == {"6"}
    # In a batch, with a constraint, a bias applies to its own request only.
    requests = [
        model.request(EXPRESSION, temperature=0.0),
        model.request(EXPRESSION, temperature=0.0, regex="[0-9]{2}", logit_bias={nine: -100}),
    ]
    first, second = (result for [result] in model.results(requests))
    assert first.tokens == plain.tokens
    assert "9" not in second.text


def test_invalid_logit_biases_are_refused(model: sfumato.TextModel):
    with pytest.raises(RequestError, match="logit_bias holds token 99999; allowed: 0 to"):
        model.generate(EXPRESSION, logit_bias={99999: 1.0})
    with pytest.raises(RequestError, match="logit_bias of token 5 is 101; allowed: -100 to 100"):
        model.generate(EXPRESSION, logit_bias={5: 101})
