"""Drafts that the model verifies from left to right (`draft_steps`)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from benchmarks.claims.self_drafting import autoregressive
from benchmarks.integrity import check_engine

from sfumato.checkpoints.load import Checkpoint
from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Finished, Request, Result
from sfumato.errors import ConfigError, RequestError
from sfumato.models.model import AttentionSpec
from sfumato.sampling.config import SamplerConfig
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
SPECS = {
    "uniform": GenerationSpec(canvas_length=12, logit_shift=True, next_token=True),
    "self-conditioned": GenerationSpec(canvas_length=12, logit_shift=True, self_conditioning=True, next_token=True),
    "mask": GenerationSpec(noise="mask", mask_id=4, canvas_length=12, logit_shift=True, next_token=True),
    "in-place": GenerationSpec(canvas_length=12, logit_shift=True, commit="in_place", next_token=True),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "drawn": {"temperature": 0.4},
    "warm": {"temperature": 1.0},
    "cut": {"temperature": 0.8, "top_k": 20, "top_p": 0.9},
}
# Few classes of tokens, so that random weights write something; nothing is forced.
PATTERN = "[a-d]{2,5}([ ][a-d]{1,4}){0,9}"


def answers(result: Result) -> tuple[Any, ...]:
    """Everything that drafts must not change."""
    return result.tokens, result.text, result.finish_reason, result.confidence, round(result.certainty, 4)


def check_equal(result: Result, expected: Result) -> None:
    """Forwards over another number of positions round differently."""
    assert (result.tokens, result.text) == (expected.tokens, expected.text)
    assert result.finish_reason == expected.finish_reason
    assert result.confidence == pytest.approx(expected.confidence, rel=1e-4)
    assert result.certainty == pytest.approx(expected.certainty, rel=1e-4)


def check_drafts(model: TextModel, drafts: tuple[tuple[int, int], ...], **options: Any) -> None:
    """Drafts of some lengths and steps write what the same weights write token by token."""
    seeds = (0, 1)
    expected = autoregressive(model).generate_batch(["hello"] * len(seeds), seeds=seeds, **options)
    asked = [(seed, *draft) for seed in seeds for draft in drafts]
    found = model.results(
        [
            model.request("hello", seed=seed, canvas_length=length, draft_steps=steps, **options)
            for seed, length, steps in asked
        ]
    )
    for (seed, *_), [one] in zip(asked, found, strict=True):
        check_equal(one, expected[seed])


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", SPECS)
def test_the_answer_is_the_autoregressive_one(make_model: Make, name: str, settings: dict[str, Any]):
    model = make_model(SPECS[name])
    check_drafts(model, ((1, 1), (2, 1), (7, 1), (12, 3), (40, 2)), max_tokens=30, **settings)
    assert not check_engine(model.engine)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_so_is_an_answer_under_a_constraint(make_model: Make, settings: dict[str, Any]):
    model = make_model(SPECS["self-conditioned"])
    check_drafts(model, ((1, 2), (5, 2), (24, 2)), max_tokens=24, regex=PATTERN, **settings)


def test_text_that_a_constraint_forces_is_the_same_for_all_canvas_lengths(make_model: Make):
    model = make_model(SPECS["uniform"])
    given: dict[str, Any] = {"regex": "(name|role): [a-c]{2,4}; done", "max_tokens": 32, "draft_steps": 1}
    found = [model.generate("hello", canvas_length=length, **given) for length in (1, 3, 32)]
    assert len({(one.tokens, one.text, one.finish_reason) for one in found}) == 1
    assert found[0].text.endswith("; done")
    assert found[0].finish_reason == "stop"


def test_a_draft_that_agrees_is_committed_in_one_pass(make_scripted: Make):
    tokens = list(range(70, 94))
    model = make_scripted(SPECS["uniform"], [*tokens, 1])
    result = model.generate("?", canvas_length=12, draft_steps=1, temperature=0.0, max_tokens=48)
    assert list(result.tokens) == tokens
    assert (result.finish_reason, result.usage.unsettled) == ("stop", 0)
    # Two drafts of 12, and one of the end; each takes a step and is verified in another.
    assert (result.usage.canvases, result.usage.denoising_steps, result.usage.forward_passes) == (3, 6, 6)


def test_the_first_difference_replaces_a_token_and_ends_the_canvas(
    make_scripted: Make, monkeypatch: pytest.MonkeyPatch
):
    tokens = list(range(70, 82))
    model = make_scripted(SPECS["uniform"], tokens)
    decoder: Any = model.decoder
    drafted, script = decoder.forward, decoder.script
    first = len(model.request("?").prompt) - 1

    def forward(tokens_RQ: Any, positions_RQ: Any, attention: Any, *, canvas_RQ: Any = None, **rest: Any) -> Any:
        hidden = drafted(tokens_RQ, positions_RQ, attention, canvas_RQ=canvas_RQ, **rest)
        # Positions that are read as text are told apart by a second row of the script.
        return hidden if canvas_RQ is not None and canvas_RQ.any() else hidden + 1000

    def read(position: int) -> int:
        if position < 1000:
            return int(script(position))
        return 99 if position - 1000 == first + 5 else int(script(position - 1000))

    monkeypatch.setattr(decoder, "forward", forward)
    monkeypatch.setattr(decoder, "script", read)
    events = [
        event
        for _, event in Engine(model).run(
            [model.request("?", canvas_length=12, draft_steps=1, temperature=0.0, max_tokens=12)], drafts=True
        )
    ]
    [result] = [event.result for event in events if isinstance(event, Finished)]
    assert list(result.tokens) == [*tokens[:5], 99, *tokens[6:]]
    assert [len(event.tokens) for event in events if isinstance(event, Committed)] == [6, 6]
    checked = [event for event in events if isinstance(event, CanvasChanged) and event.step == event.steps == 2]
    # The rest of the first draft is still shown, though not accepted.
    assert checked[0].tokens == (*tokens[:5], 99, *tokens[6:])
    assert checked[0].accepted == (*[True] * 5, *[False] * 7)
    # After six tokens, the next draft could be twice as long.
    assert [len(event.tokens) for event in checked] == [12, 6]


def test_the_next_draft_is_twice_what_the_last_one_kept(make_model: Make):
    model = make_model(SPECS["uniform"])
    request = model.request("hello", canvas_length=64, draft_steps=1, temperature=0.0, max_tokens=64)
    events = [event for _, event in Engine(model).run([request], drafts=True)]
    kept = [len(event.tokens) for event in events if isinstance(event, Committed)]
    drafts = [len(event.tokens) for event in events if isinstance(event, CanvasChanged) and event.step == 0]
    left = [64 - sum(kept[:i]) for i in range(len(kept))]
    assert drafts[0] == 16
    assert drafts[1:] == [min(num, max(8, 2 * last)) for num, last in zip(left[1:], kept, strict=False)]


def test_answers_do_not_depend_on_the_batch(make_model: Make):
    model = make_model(SPECS["self-conditioned"])
    options: list[dict[str, Any]] = [
        {"draft_steps": 1, "temperature": 0.5},
        {"steps": 4},
        {"draft_steps": 2, "canvas_length": 5, "regex": PATTERN},
        {"draft_steps": 1, "canvas_length": 1},
        {"canvas_length": 6, "steps": 3, "regex": PATTERN},
    ]
    requests = [
        model.request(f"hello {i}", seed=i, max_tokens=20, n=1 + i % 2, **given)
        for i, given in enumerate(itertools.chain(options, options))
    ]
    together = model.results(requests)
    for request, results in zip(requests, together, strict=True):
        [alone] = TextModel("alone", Checkpoint(model.decoder, model.spec, {}), model.tokenizer).results([request])
        assert [answers(one) for one in results] == [answers(one) for one in alone]
        assert [one.usage.denoising_steps for one in results] == [one.usage.denoising_steps for one in alone]
    assert not check_engine(model.engine)


def test_what_was_verified_is_reused_as_a_prefix(make_model: Make):
    model = make_model(SPECS["uniform"])
    engine = Engine(model)
    prompt = tuple(range(20, 40))
    first = Request(
        prompt=prompt, sampler=SamplerConfig(draft_steps=1, temperature_start=0.0, temperature_end=0.0), max_tokens=40
    )
    [result] = [event.result for _, event in engine.run([first]) if isinstance(event, Finished)]
    longer = dataclasses.replace(first, prompt=(*prompt, *result.tokens), max_tokens=12)
    [again] = [event.result for _, event in engine.run([longer]) if isinstance(event, Finished)]
    # All full pages of 16 but the last, which the next canvas reads.
    assert again.usage.cached_tokens == (len(longer.prompt) - 1) // 16 * 16
    [fresh] = [event.result for _, event in Engine(model).run([longer]) if isinstance(event, Finished)]
    check_equal(again, fresh)
    assert not check_engine(engine)


def test_confidence_is_the_probability_of_each_next_token(make_model: Make):
    model = make_model(SPECS["uniform"])
    request = model.request("hello", draft_steps=1, temperature=1.0, max_tokens=20)
    [[result]] = model.results([request])
    text = torch.tensor([[*request.prompt, *result.tokens]])
    with torch.inference_mode():
        hidden = model.decoder(text, torch.arange(text.shape[1])[None], AttentionSpec(causal=True))
        logits = model.decoder.logits(hidden[0]).float()
        assert model.bundle.banned is not None
        probs = logits.masked_fill(model.bundle.banned, -torch.inf).softmax(-1)
    first = len(request.prompt)
    expected = [float(probs[first + i - 1, token]) for i, token in enumerate(result.tokens)]
    assert result.confidence == pytest.approx(expected, rel=1e-4)


def test_a_stop_string_and_the_variations(make_model: Make):
    model = make_model(SPECS["uniform"])
    whole = model.generate("hello", draft_steps=1, max_tokens=40, temperature=0.7)
    stop = whole.text[6:8]
    cut = model.generate("hello", draft_steps=1, max_tokens=40, temperature=0.7, stop=[stop])
    assert cut.text == whole.text[: whole.text.index(stop)]
    several = model.generate("hello", n=3, draft_steps=1, max_tokens=40, temperature=0.7)
    assert isinstance(several, list)
    assert several[0].text == whole.text
    assert len({one.text for one in several}) == 3


def test_defaults_give_way_to_what_cannot_be_verified(make_model: Make):
    model = make_model(SPECS["uniform"], {"draft_steps": 1})
    assert model.request("hello").verifies
    given: dict[str, Any]
    for given in ({"seed_text": "abc"}, {"revisit": 1, "max_tokens": 24}):
        whole, as_before = (model.generate("hello", **given, **more) for more in ({}, {"draft_steps": 0}))
        assert whole.tokens == as_before.tokens
        assert whole.usage.denoising_steps == as_before.usage.denoising_steps
        with pytest.raises(RequestError, match=f"draft_steps is 2 with {next(iter(given))}; allowed: one of them"):
            model.request("hello", draft_steps=2, **given)
    assert model.infill("ab", "cd", length=2, steps=2).tokens
    assert model.edit("hello there", spans=[(0, 5)], steps=2).text.endswith(" there")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draft_steps": -1}, "draft_steps is -1; allowed: a whole number, 0 to 1000"),
        ({"draft_steps": 1, "commit_sample": True}, "draft_steps is 1 with commit_sample"),
        ({"draft_steps": 1, "reuse": "settled"}, "draft_steps is 1 with reuse 'settled'"),
    ],
)
def test_settings_that_do_not_go_together(make_model: Make, settings: dict[str, Any], message: str):
    with pytest.raises(RequestError, match=message):
        make_model(SPECS["uniform"]).request("hello", **settings)


def test_models_that_do_not_predict_the_next_token_refuse(make_model: Make):
    with pytest.raises(RequestError, match="draft_steps is 1; allowed: 0, because small does not predict the next tok"):
        make_model(GenerationSpec(canvas_length=12)).request("hello", draft_steps=1)
    with pytest.raises(ConfigError, match="next_token is True, logit_shift is False"):
        GenerationSpec(next_token=True)
    with pytest.raises(ConfigError, match="prefix_attention is 'full'"):
        GenerationSpec(next_token=True, logit_shift=True, prefix_attention="full")
