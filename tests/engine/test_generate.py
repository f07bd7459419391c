"""Engine output against the plain loop; usage counts, events and traces."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import plain
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Finished, Request, Result, Start
from sfumato.errors import RequestError
from sfumato.models.model import AttentionSpec
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
AR = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
PLAIN = GenerationSpec(canvas_length=8)
EXACT = [
    "uniform",
    "self-conditioned",
    "mask",
    "hybrid",
    "shifted",
    "full",
    "full-shifted",
    "block",
    "ar",
    "ar-reencoded",
]
SPEC_NAMES = [*EXACT, "in-place"]
END = 1


SAMPLERS: list[dict[str, Any]] = [
    {"temperature_start": 0.0, "temperature_end": 0.0},
    {"sampler": "entropy", "entropy_bound": 2.0},
    {"sampler": "ancestral"},
    {"sampler": "threshold", "temperature": 0.7},
]


FROZEN = {
    "a gap": [True] * 9 + [False] * 5 + [True] * 6,
    "ends": [False] * 3 + [True] * 20 + [False] * 2,
    "longer than a canvas": [True] * 2 + [False] * 19 + [True],
    "everything": [False] * 12,
}


@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
@pytest.mark.parametrize("noise_level", [1.0, 0.4])
@pytest.mark.parametrize("name", EXACT)
def test_frozen_tokens_stay_and_the_rest_equals_the_plain_loop(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, noise_level: float, frozen: list[bool]
):
    model = make_model(specs[name], given_embedding=True)
    given = tuple(range(40, 40 + len(frozen)))
    request = dataclasses.replace(
        model.request("hello", max_tokens=len(given), steps=4, seed=5, temperature=0.5),
        start=Start(tokens=given, frozen=tuple(frozen), noise_level=noise_level),
    )
    [result] = [event.result for _, event in model.engine.run([request]) if isinstance(event, Finished)]
    tokens, canvases, steps = plain.answer(model.bundle, request)
    assert list(result.tokens) == tokens
    assert (result.usage.canvases, result.usage.denoising_steps) == (canvases, steps)
    assert result.finish_reason in ("stop", "steps")
    assert [token for token, fixed in zip(tokens, frozen, strict=True) if fixed] == [
        token for token, fixed in zip(given, frozen, strict=True) if fixed
    ]
    assert not set(tokens) & set(model.tokenizer.eos_ids)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["greedy", "entropy", "ancestral", "threshold"])
@pytest.mark.parametrize("name", EXACT)
def test_generation_equals_the_plain_loop(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, sampler: dict[str, Any]
):
    """Three canvases, the last one cut."""
    model = make_model(specs[name])
    request = model.request("hello", max_tokens=29, steps=4, seed=5, **sampler)
    [result] = [event.result for _, event in model.engine.run([request]) if isinstance(event, Finished)]
    tokens, canvases, steps = plain.answer(model.bundle, request)
    assert list(result.tokens) == tokens
    assert len(tokens) > 1
    assert (result.usage.canvases, result.usage.denoising_steps) == (canvases, steps)
    assert result.text == model.tokenizer.decode(tokens)


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("uniform", [7]),
        ("self-conditioned", [9] * 20),
        ("mask", [*range(10, 42)]),
        ("shifted", [9] * 20),
        ("shifted", [*range(10, 42)]),
    ],
)
def test_length_head_sets_the_first_canvas(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, prompt: list[int]
):
    """As in the plain loop, however much of the prompt an earlier request left in the cache."""
    model = make_model(specs[name], length_buckets=(2, 5, 9, 30))
    # Scaled up, so that the head is sure of some bucket.
    model.decoder.get_parameter("length_head.weight").data *= 20
    sizes = set()
    for ending in range(60, 80):
        request = model.request([*prompt, ending, ending], max_tokens=29, steps=2, seed=5)
        assert request.auto_length
        [result] = [event.result for _, event in model.engine.run([request]) if isinstance(event, Finished)]
        assert (list(result.tokens), result.usage.canvases, result.usage.denoising_steps) == plain.answer(
            model.bundle, request
        )
        size = plain.predicted_length(model.bundle, request.prompt)
        sizes.add(size)
        ended = result.finish_reason in ("stop", "steps")
        remaining = 29 - min(29, size or 12)
        assert ended or result.usage.canvases == 1 + -(-remaining // 12)
    assert len(sizes) > 2
    assert not model.request("hello", canvas_length=8).auto_length


def test_auto_length_without_a_length_head_is_refused(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    assert not model.request("hello").auto_length
    with pytest.raises(RequestError, match="canvas_length is 'auto' and small has no length head; allowed: a whole"):
        model.request("hello", canvas_length="auto")


def test_auto_length_without_causal_prefixes_is_refused(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["full"], length_buckets=(4, 8))
    assert not model.request("hello").auto_length
    message = "small does not read its prefixes causally, as a length head does"
    with pytest.raises(RequestError, match=f"canvas_length is 'auto' and {message}; allowed: a whole"):
        model.request("hello", canvas_length="auto")
    with pytest.raises(RequestError, match=message):
        model.length_shares("hello")


@pytest.mark.parametrize("spec", [AR, dataclasses.replace(AR, commit="reencode")], ids=["in place", "reencoded"])
def test_autoregression_equals_a_greedy_loop(make_model: Make, spec: GenerationSpec):
    """The loop has neither canvas nor sampler: argmax over the allowed tokens, one at a time."""
    model = make_model(spec, tie_word_embeddings=False)
    prompts = ["hello", "a longer prompt than that", "x"]
    results = model.generate_batch(prompts, max_tokens=12, temperature=0.0)
    banned = torch.tensor([0, 2, 3, 4])
    for prompt, result in zip(prompts, results, strict=True):
        prefix = model.tokenizer.encode_chat([{"role": "user", "content": prompt}])
        expected: list[int] = []
        for _ in range(12):
            tokens = torch.tensor([[*prefix, *expected]])
            with torch.no_grad():
                hidden = model.decoder(tokens, torch.arange(tokens.shape[1])[None], AttentionSpec(causal=True))
                logits = model.decoder.logits(hidden)[0, -1].index_fill(0, banned, -torch.inf)
            token = int(logits.argmax())
            if token == END:
                break
            expected.append(token)
        assert list(result.tokens) == expected


def tokens_of(model: TextModel, requests: Sequence[Request]) -> list[list[tuple[int, ...]]]:
    found: list[list[tuple[int, ...]]] = [[] for _ in requests]
    for index, event in model.engine.run(requests):
        if isinstance(event, Finished):
            found[index].append((event.variation, *event.result.tokens))
    return [[answer[1:] for answer in sorted(answers)] for answers in found]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("name", SPEC_NAMES)
def test_seeded_output_does_not_depend_on_the_batch(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, temperature: float
):
    """Alone, as one of eight variations, and among requests of other lengths that end before and after it."""
    model = make_model(specs[name])
    settings: dict[str, Any] = {"steps": 4, "temperature": temperature, "entropy_bound": 1.0}
    request = model.request("hello there", max_tokens=14, seed=103, **settings)
    [[alone]] = tokens_of(model, [request])
    assert len(alone) > 1
    [variations] = tokens_of(model, [model.request("hello there", max_tokens=14, seed=100, n=8, **settings)])
    assert variations[3] == alone
    if temperature:
        assert len(set(variations)) == 8
    elif model.spec.autoregressive:
        assert len(set(variations)) == 1
    shorter = {} if name in ("ar", "ar-reencoded", "block") else {"canvas_length": 5}
    others = [
        model.request("x", max_tokens=3, seed=9, **settings),
        model.request("a prompt that is longer", max_tokens=20, seed=103, n=2, **settings),
        model.request("hello there", max_tokens=14, seed=4, **shorter, **settings | {"steps": 2}),
    ]
    found = [tokens_of(model, order) for order in ([request, *others], [others[1], request, others[2]])]
    assert found[0][0] == found[1][1] == [alone]
    assert found[0][2] == found[1][0]


@pytest.mark.parametrize("name", ["uniform", "ar"])
def test_output_does_not_depend_on_the_number_of_threads(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name])
    request = model.request("hello", max_tokens=8, steps=3, temperature=0.0, entropy_bound=1.0)
    before, found = torch.get_num_threads(), []
    try:
        for num_threads in (1, 2):
            torch.set_num_threads(num_threads)
            found.append(tokens_of(model, [request]))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


def forwards_of(model: TextModel) -> list[int]:
    """Positions of each forward so far."""
    calls: list[tuple[int, ...]] = model.decoder.calls  # type: ignore[assignment]
    assert all(num_rows == 1 for num_rows, _ in calls)
    return [num_positions for _, num_positions in calls]


@pytest.fixture
def alphabet(byte_tokenizer: Any) -> list[int]:
    return byte_tokenizer.encode("abcdefghijklmnopqrstuvwxyz")


def test_usage_equals_a_count_by_hand(make_scripted: Make, alphabet: list[int]):
    """20 tokens on canvases of 8, 8 and 4 with 3 steps each, after a prompt of 3: the prompt and two canvases are
    written together with the first step that reads them."""
    model = make_scripted(PLAIN, alphabet)
    result = model.generate("?", max_tokens=20, steps=3, adaptive=False)
    assert result.text == "abcdefghijklmnopqrst"
    assert result.finish_reason == "length"
    usage = result.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (3, 20)
    assert (usage.canvases, usage.denoising_steps, usage.forward_passes) == (3, 9, 9)
    assert usage.positions_computed == 3 + 3 * (8 + 8 + 4) + 8 + 8
    # Forwards are padded to multiples of eight.
    assert forwards_of(model) == [16, 8, 8, 16, 8, 8, 16, 8, 8]
    assert 0.0 < usage.time_to_first_commit_s <= usage.total_s


@pytest.mark.parametrize("name", ["uniform", "self-conditioned", "mask", "shifted", "in-place", "ar", "ar-reencoded"])
@pytest.mark.parametrize("max_tokens", [1, 12, 20])
def test_usage_counts_the_forwards_computed(
    make_scripted: Make, specs: dict[str, GenerationSpec], alphabet: list[int], name: str, max_tokens: int
):
    model = make_scripted(specs[name], alphabet)
    result = model.generate("?", max_tokens=max_tokens, steps=5)
    assert result.text == "abcdefghijklmnopqrst"[:max_tokens]
    assert result.usage.forward_passes == len(forwards_of(model)) == model.engine.runner.num_forwards
    assert result.usage.positions_computed == model.engine.runner.num_positions
    assert sum(forwards_of(model)) - result.usage.positions_computed < 8 * len(forwards_of(model))


def test_autoregression_computes_one_position_per_token(make_scripted: Make, alphabet: list[int]):
    """The prompt's last token is read with the first canvas, in the pass that writes the others: 2 + 10 positions."""
    model = make_scripted(AR, alphabet)
    usage = model.generate("?", max_tokens=10, steps=7).usage
    assert (usage.canvases, usage.denoising_steps, usage.forward_passes) == (10, 10, 10)
    assert usage.positions_computed == 2 + 10
    assert forwards_of(model) == [8, *[1] * 9]


@pytest.mark.parametrize("spec", [PLAIN, AR], ids=["canvas", "ar"])
def test_variations_share_the_cached_prompt(make_scripted: Make, spec: GenerationSpec):
    """A prompt of 70 tokens: the first variation writes four pages of 16, and the others reuse them."""
    model = make_scripted(spec, [])
    results = model.generate([70] * 70, max_tokens=8, steps=2, adaptive=False, n=3)
    assert [result.seed for result in results] == [0, 1, 2]
    assert [result.usage.cached_tokens for result in results] == [0, 64, 64]
    steps, prefix = 8 + 8, 70 - spec.logit_shift
    if spec.autoregressive:
        steps = 8
    assert [result.usage.positions_computed for result in results] == [prefix + steps, *[prefix - 64 + steps] * 2]


@pytest.mark.parametrize("position", [0, 3, 7, 8, 15])
@pytest.mark.parametrize("spec", [PLAIN, AR], ids=["canvas", "ar"])
def test_end_token_ends_the_output(make_scripted: Make, alphabet: list[int], spec: GenerationSpec, position: int):
    model = make_scripted(spec, [*alphabet[:position], END, *alphabet[position:]])
    result = model.generate("?", max_tokens=20, steps=3)
    assert result.text == "abcdefghijklmnopqrst"[:position]
    assert len(result.tokens) == result.usage.completion_tokens == position
    assert result.finish_reason == "stop"
    assert result.usage.canvases == (position + 1 if spec.autoregressive else position // 8 + 1)


def test_end_token_past_max_tokens_is_not_reached(make_scripted: Make, alphabet: list[int]):
    model = make_scripted(PLAIN, [*alphabet[:10], END])
    assert model.generate("?", max_tokens=10, steps=3).finish_reason == "length"
    assert model.generate("?", max_tokens=11, steps=3).finish_reason == "stop"


@pytest.mark.parametrize(
    ("certainty", "steps", "reason", "unsettled"), [(20.0, 5, "stop", 0), (20.0, 1, "steps", 2), (1.0, 5, "steps", 2)]
)
def test_unsettled_canvases_are_reported(
    make_scripted: Make, alphabet: list[int], certainty: float, steps: int, reason: str, unsettled: int
):
    model = make_scripted(PLAIN, [*alphabet[:10], END], certainty=certainty)
    settings: dict[str, Any] = {"steps": steps, "temperature": 0.0}
    result = model.generate("?", max_tokens=20, **settings)
    assert (result.text, result.finish_reason, result.usage.unsettled) == ("abcdefghij", reason, unsettled)
    # Another finish reason takes precedence; unsettled canvases are still counted.
    assert model.generate("?", max_tokens=10, **settings).finish_reason == "length"
    assert model.generate("?", max_tokens=10, **settings).usage.unsettled == unsettled
    # With a fixed number of steps, no canvas is unsettled.
    assert model.generate("?", max_tokens=20, adaptive=False, **settings).finish_reason == "stop"


def test_special_tokens_are_never_generated(make_scripted: Make):
    """Except the end token; the script insists on the others."""
    model = make_scripted(PLAIN, [0, 2, 3, 4] * 2)
    result = model.generate("?", max_tokens=8, steps=2)
    assert not {*result.tokens} & {0, 2, 3, 4}


def test_character_split_across_canvases_is_emitted_whole(make_scripted: Make, byte_tokenizer: Any):
    tokens = byte_tokenizer.encode("aé€b")
    assert len(tokens) == 7
    model = make_scripted(GenerationSpec(canvas_length=2), tokens)
    events = list(model.stream("?", max_tokens=7, steps=2))
    pieces = [event.text for event in events if isinstance(event, Committed)]
    assert pieces == ["a", "é", "€", "b"]
    assert "".join(pieces) == "aé€b"
    assert not any("\ufffd" in piece for piece in pieces)


def test_stream_events(make_scripted: Make, alphabet: list[int]):
    """The noise, every step, the commit of each canvas, and the end; the text of a draft stops at its end token."""
    model = make_scripted(PLAIN, [*alphabet[:10], END])
    events = list(model.stream("?", max_tokens=20, steps=3, adaptive=False))
    kinds = "".join(type(event).__name__[1] for event in events)
    assert kinds == "aaaao" * 2 + "i"
    steps = [(event.canvas, event.step, event.steps) for event in events if isinstance(event, CanvasChanged)]
    assert steps == [(canvas, step, 3) for canvas in (0, 1) for step in range(4)]
    last = events[-3]
    assert isinstance(last, CanvasChanged)
    assert last.text == "ij"
    assert last.tokens[:3] == (*alphabet[8:10], END)
    assert last.pieces == ("i", "j", *[""] * 6)
    assert len(last.confidence) == len(last.accepted) == len(last.revised) == 8
    noise = events[0]
    assert isinstance(noise, CanvasChanged)
    assert not any(noise.accepted)
    assert noise.confidence == (0.0,) * 8
    commits = [event for event in events if isinstance(event, Committed)]
    assert [(event.canvas, event.text) for event in commits] == [(0, "abcdefgh"), (1, "ij")]
    result = events[-1].result  # type: ignore[union-attr]
    assert result.text == "abcdefghij"
    assert result.trace == []


def test_trace_holds_the_drafts_of_its_request(make_scripted: Make, alphabet: list[int]):
    model = make_scripted(PLAIN, alphabet)
    requests = [model.request("?", max_tokens=10, steps=2, trace=trace, adaptive=False) for trace in (True, False)]
    events = list(model.engine.run(requests))
    assert not any(isinstance(event, CanvasChanged) for _, event in events)
    traced, other = (event.result for _, event in sorted(events, key=lambda e: e[0]) if isinstance(event, Finished))
    assert [(event.canvas, event.step) for event in traced.trace] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert traced.trace[-1].text == "ij"
    assert other.trace == []
    assert "trace" not in other.to_dict()
    assert json.loads(json.dumps(traced.to_dict()))["trace"][-1]["text"] == "ij"


def test_revisions_equal_those_of_the_trace(make_model: Make):
    model = make_model(PLAIN)
    result = model.generate("hello", max_tokens=24, steps=8, trace=True, entropy_bound=5.0, adaptive=False)
    assert result.usage.revisions == sum(sum(event.revised) for event in result.trace) > 0


def test_streaming_leaves_gradients_enabled(make_model: Make):
    """Between events, torch's modes are as the caller set them."""
    model = make_model(PLAIN)
    for _ in model.stream("hello", max_tokens=10, steps=2):
        assert not torch.is_inference_mode_enabled()
        assert torch.is_grad_enabled()
    stream = model.stream("hello", max_tokens=10, steps=2)
    next(stream)
    weight = torch.ones(2, requires_grad=True)
    (weight * 2).sum().backward()
    assert weight.grad is not None


@pytest.mark.parametrize("name", ["uniform", "mask", "ar"])
def test_broken_weights_give_an_error_and_no_text(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name])
    with torch.no_grad():
        model.decoder.model.norm.weight[0] = torch.nan
    result = model.generate("hello", max_tokens=20, steps=3, trace=True)
    assert (result.finish_reason, result.text, result.tokens) == ("error", "", ())
    assert result.usage.denoising_steps == 1
    json.dumps(result.to_dict(), allow_nan=False)


def test_broken_row_does_not_affect_the_others(make_model: Make):
    """One prompt holds a token whose embedding is not finite; under mask noise no canvas reads it."""
    model = make_model(GenerationSpec(noise="mask", mask_id=4, canvas_length=12), tie_word_embeddings=False)
    prompts = ["hello", "#", "there"]
    settings: dict[str, Any] = {"max_tokens": 12, "steps": 3, "temperature": 0.0}
    expected = [model.generate(prompt, **settings).tokens for prompt in prompts]
    [broken] = model.tokenizer.encode("#")
    assert not any(broken in tokens for tokens in (expected[0], expected[2]))
    with torch.no_grad():
        model.decoder.model.embed_tokens.weight[broken] = torch.inf
    results = model.generate_batch(prompts, **settings)
    assert [result.finish_reason for result in results] == ["length", "error", "length"]
    assert [results[0].tokens, results[2].tokens] == [expected[0], expected[2]]


def test_empty_batch_gives_no_results(make_model: Make):
    model = make_model(PLAIN)
    assert list(model.engine.run([])) == []
    assert model.generate_batch([]) == []


def test_result_can_be_reproduced_from_its_seed(make_model: Make):
    model = make_model(PLAIN)
    results: list[Result] = model.generate("hello", n=3, seed=7, max_tokens=8, steps=3)
    again = model.generate("hello", seed=results[2].seed, max_tokens=8, steps=3)
    assert again.tokens == results[2].tokens
    assert again.model == "small"
