"""Constrained output always matches its schema, pattern or choices, whatever the model predicts."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import json
import random
import re
from collections.abc import Callable
from typing import Any, Literal

import jsonschema
import pydantic
import pytest

import plain
import sfumato
from schemas import random_schema
from settings import SAMPLERS
from sfumato.engine.editing import pin_tokens
from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Request, Result, Start
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
NAMES = ["uniform", "self-conditioned", "mask", "hybrid", "shifted", "full", "block", "in-place", "ar"]
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name"],
}


def run(model: TextModel, request: Request) -> Result:
    [result] = [event.result for _, event in model.engine.run([request]) if isinstance(event, Finished)]
    return result


@pytest.mark.slow
def test_random_schemas_hold_for_every_model(make_model: Make, specs: dict[str, GenerationSpec]):
    """Models of every family with random weights, any sampler, one step or more."""
    random_ = random.Random(7)
    models = {name: make_model(specs[name], max_position_embeddings=700) for name in NAMES}
    for number in range(36):
        schema = random_schema(random_)
        model = models[NAMES[number % len(NAMES)]]
        process = model.bundle.process
        masked = not process.has_uniform
        names = [
            name
            for name in SAMPLERS
            if (masked or name not in ("edit", "remdm")) and (process.mask_id is None or name != "predictor-corrector")
        ]
        settings: dict[str, Any] = {
            "steps": random_.choice([1, 2, 5]),
            "sampler": random_.choice(names),
            "temperature": random_.choice([0.0, 1.0]),
            "adaptive": random_.random() < 0.7,
        }
        automaton = model.request("?", schema=schema, max_tokens=600).automaton
        assert automaton is not None
        shortest = int(automaton.distance_S[automaton.start])
        # Room for just the shortest text, or for more.
        max_tokens = shortest + random_.choice([0, 1, 30])
        result = model.generate("?", schema=schema, max_tokens=max_tokens, seed=number, **settings)
        assert result.finish_reason in ("stop", "steps"), (schema, settings)
        jsonschema.Draft202012Validator(schema).validate(json.loads(result.text))
        assert len(result.tokens) <= max_tokens


EXACT = [*(name for name in NAMES if name != "in-place"), "full-shifted", "ar-reencoded"]


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        *((name, "entropy") for name in EXACT),
        *((name, "ancestral") for name in ("hybrid", "shifted", "ar")),
        *((name, "confidence") for name in ("uniform", "full", "block")),
    ],
)
def test_constrained_output_equals_the_plain_loop(
    make_model: Make, specs: dict[str, GenerationSpec], name: str, sampler: str
):
    model = make_model(specs[name])
    for settings in ({"schema": PERSON}, {"regex": "(ab|c)*x?"}, {"choices": ["yes", "no", "never mind at all"]}):
        request = model.request("hi", max_tokens=40, steps=3, seed=4, sampler=sampler, temperature=0.7, **settings)
        result = run(model, request)
        tokens, canvases, steps = plain.answer(model.bundle, request)
        assert list(result.tokens) == tokens
        assert (result.usage.canvases, result.usage.denoising_steps) == (canvases, steps)
        assert result.text == model.tokenizer.decode(tokens)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_positions_of_one_choice_are_ranked_alike(
    make_model: Make, specs: dict[str, GenerationSpec], temperature: float
):
    """The order of the properties decides many positions at once. Which of them counts must not depend on rounding,
    which differs between the engine and the plain loop."""
    model = make_model(specs["uniform"])
    options = {"max_tokens": 40, "schema": PERSON, "temperature": temperature}
    for seed in range(6):
        for steps in (2, 3):
            request = model.request("hi", steps=steps, seed=seed, **options)
            assert list(run(model, request).tokens) == plain.answer(model.bundle, request)[0]


@pytest.mark.parametrize("name", NAMES)
def test_constrained_requests_in_a_batch_equal_single_ones(
    make_model: Make, specs: dict[str, GenerationSpec], name: str
):
    """Constraints of several kinds, beside unconstrained requests."""
    model = make_model(specs[name])
    kinds: list[dict[str, Any]] = [{"schema": PERSON}, {}, {"regex": "[a-f]{5,30}"}, {"ban": ["a", "e"]}]
    requests = [model.request("hello", max_tokens=30, steps=3, seed=seed, **kinds[seed % 4]) for seed in range(8)]
    alone = [run(model, request) for request in requests]
    found = {index: event.result for index, event in Engine(model).run(requests) if isinstance(event, Finished)}
    for index, result in enumerate(alone):
        assert found[index].tokens == result.tokens
        assert found[index].text == result.text
    for result in alone[2::4]:
        assert re.fullmatch("[a-f]{5,30}", result.text)
    for result in alone[3::4]:
        assert not set(result.text) & set("ae")


@pytest.mark.parametrize("name", ["uniform", "mask", "hybrid", "shifted", "block"])
def test_frozen_tokens_stay_and_the_rest_completes_the_schema(
    make_model: Make, specs: dict[str, GenerationSpec], name: str
):
    """Random positions of a valid text are frozen, over several canvases."""
    model, random_ = make_model(specs[name]), random.Random(name)
    text = '{"name": "abcdefgh", "age": 105}'
    tokens = tuple(model.tokenizer.encode(text))
    for seed in range(6):
        frozen = tuple(random_.random() < 0.4 for _ in tokens)
        if all(frozen):
            continue
        request = dataclasses.replace(
            # With properties in any order, positions that depend on one decision are equally certain, up to rounding.
            model.request("hi", max_tokens=len(tokens), steps=2, seed=seed, schema=PERSON, order="schema"),
            start=Start(tokens=tokens, frozen=frozen, noise_level=random_.choice([0.3, 1.0])),
        )
        result = run(model, request)
        assert list(result.tokens) == plain.answer(model.bundle, request)[0]
        assert [a for a, kept in zip(result.tokens, frozen, strict=True) if kept] == [
            a for a, kept in zip(tokens, frozen, strict=True) if kept
        ]
        jsonschema.validate(json.loads(model.tokenizer.decode(result.tokens)), PERSON)


def test_seed_text_and_pins(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    draft = '{"name": "été", "age": 33}'
    start = draft.index("été")
    result = model.generate("?", seed_text=draft, pin=[(start, start + 3)], schema=PERSON, seed=3)
    assert result.finish_reason in ("stop", "steps")
    read = json.loads(result.text)
    jsonschema.validate(read, PERSON)
    assert "été" in result.text
    assert len(result.tokens) == len(model.tokenizer.encode(draft))
    kept = model.generate("?", seed_text=draft, pin=[(0, len(draft) - 1)])
    assert kept.text[:-1] == draft[:-1]
    free = model.generate("?", seed_text=draft, strength=1.0)
    assert free.text != draft


def test_pin_that_ends_within_a_token_keeps_its_text():
    model = sfumato.load("tiny")
    draft = '{"name": "Mia", "animal": "cat", "color": "red", "age": 8}'
    end = draft.index("mal")
    tokens, frozen, regex = pin_tokens(model.tokenizer, draft, [(0, end)])
    assert tokens == model.tokenizer.encode(draft)
    assert model.tokenizer.decode(list(itertools.compress(tokens, frozen))) != draft[:end]
    assert regex is not None
    assert re.fullmatch(regex, draft)
    assert not re.fullmatch(regex, draft.replace("ani", "any"))
    # Where no token crosses an end, no pattern is needed.
    assert pin_tokens(model.tokenizer, draft, [(0, len(draft))])[2] is None
    result = model.generate(
        "json: Our 8-year-old cat Mia is red.", seed_text=draft, pin=[(0, end)], strength=1.0, steps=8
    )
    assert result.text.startswith(draft[:end])


def test_properties_come_in_the_requested_order(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    schema = {"type": "object", "properties": {"b": {"const": 1}, "a": {"const": 2}}, "required": ["a", "b"]}
    closed = {**schema, "additionalProperties": False}
    texts = [model.generate("?", schema=closed, regex=rf'\{{"{first}".*').text for first in "ab"]
    assert texts == ['{"a": 2, "b": 1}', '{"b": 1, "a": 2}']
    assert model.generate("?", schema=schema, order="schema").text == '{"b": 1, "a": 2}'
    with pytest.raises(RequestError, match="unknown order 'any order'"):
        model.generate("?", schema=schema, order="any order")
    with pytest.raises(RequestError, match="unknown order 'x'"):
        model.generate("?", order="x")  # type: ignore[arg-type]
    for wrong in (5, re.compile("a"), [schema]):
        with pytest.raises(RequestError, match=r"schema is .*; allowed: an object or text with a JSON Schema"):
            model.generate("?", schema=wrong)  # type: ignore[arg-type]


@dataclasses.dataclass
class Point:
    x: Literal[1, 2]
    y: bool


def test_types_that_pydantic_knows_are_schemas(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    adapter = pydantic.TypeAdapter(list[bool])
    for schema in (
        Point,
        dict[Literal["a"], bool],
        Literal["a", "b"],
        adapter,
        pydantic.create_model("One", a=(bool, ...)),
    ):
        text = model.generate("?", schema=schema, max_tokens=60, steps=2).text
        known = schema if schema is adapter else pydantic.TypeAdapter(schema)
        known.validate_json(text)  # type: ignore[attr-defined]


def test_forced_text_is_written_without_denoising(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    unforced = model.generate("?", regex="[a-z]{60}", max_tokens=64, steps=4, adaptive=False)
    forced = model.generate(
        "?", regex="the quick brown fox jumps over the lazy dog and [a-z]{4}", max_tokens=64, steps=4
    )
    assert forced.text.startswith("the quick brown fox jumps over the lazy dog and ")
    assert len(forced.text) == 52
    assert forced.usage.canvases == 1 < unforced.usage.canvases
    assert model.generate("?", choices=["only this"]).text == "only this"
    [*events] = model.stream("?", choices=["only this"])
    assert "".join(event.text for event in events if type(event).__name__ == "Committed") == "only this"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"schema": {"type": "string", "minLength": 50}, "max_tokens": 20},
            r"shortest answer .* has 5\d tokens and max_t",
        ),
        ({"schema": {"type": "object", "minProperties": 2}}, "minProperties"),
        ({"regex": "(a"}, "cannot be read at character 1"),
        ({"choices": []}, r"choices is \[\]"),
        ({"ban": [""]}, "a banned string is empty"),
        ({"ban": "51"}, "ban is '51'; allowed: a list of texts"),
        ({"choices": "yes"}, "choices is 'yes'; allowed: a list of texts"),
        ({"choices": ["a", 5]}, "choices has 5; allowed: a list of texts"),
        ({"seed_text": "abc", "pin": (0, 1)}, r"pin has 0; allowed: a list of \(start, end\)"),
        ({"regex": "a(?=b)"}, "has a lookahead or lookbehind at character 2"),
        ({"regex": ".*a.{20}"}, "takes more than"),
        ({"regex": "a", "choices": ["b"]}, "no text satisfies regex and choices together"),
        ({"choices": ["a"], "reuse": "settled"}, "reuse is 'settled'; allowed with a constraint on the answer"),
        ({"schema": {"const": object()}}, "schema cannot be read"),
        ({"pin": [(0, 1)]}, "pin needs a seed_text, which is not given"),
        ({"strength": 0.5}, "strength needs a seed_text or revisit; neither is given"),
        ({"seed_text": ""}, "seed_text is empty"),
        ({"seed_text": "abc", "pin": [(0, 3)]}, "freezes every position"),
        ({"seed_text": "abc", "pin": [(1, 9)]}, r"pin has \(1, 9\); allowed"),
        ({"seed_text": "abc", "max_tokens": 2}, "max_tokens is 2; allowed with this draft: 3, its tokens, or more"),
        ({"seed_text": "abc", "pin": [(1, 2)], "regex": "xyz"}, "no answer of 3 tokens fits both the constraint and"),
    ],
)
def test_invalid_constraints_and_pins_are_refused(
    make_model: Make, specs: dict[str, GenerationSpec], settings: dict[str, Any], message: str
):
    with pytest.raises(RequestError, match=message):
        make_model(specs["uniform"]).generate("?", **settings)


def test_options_of_other_calls_are_refused(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    with pytest.raises(RequestError, match="top_logprobs is given for a gap or an edit"):
        model.infill("a", "b", top_logprobs=1)
    with pytest.raises(RequestError, match="unknown option 'span'; did you mean 'spans'"):
        model.edit("abc", span=[(0, 1)])
    with pytest.raises(RequestError, match="seed_text is given for a gap or an edit"):
        model.edit("abc", seed_text="c")
    with pytest.raises(RequestError, match=r"spans has 0; allowed: a list of \(start, end\)"):
        model.edit("abc", spans=(0, 1))
    with pytest.raises(RequestError, match="prompts is 'hi'; allowed: a list of prompts"):
        model.generate_batch("hi")
    with pytest.raises(RequestError, match="seeds is 5; allowed: a list of whole numbers"):
        model.generate_batch(["hi"], seeds=5)
    with pytest.raises(RequestError, match=r"prompts\[1\]: "):
        model.generate_batch(["hi", 5])  # type: ignore[list-item]


def test_automata_are_cached(make_model: Make, specs: dict[str, GenerationSpec]):
    model = make_model(specs["uniform"])
    automaton = model.request("?", regex="a+").automaton
    assert model.request("!", regex="a+").automaton is automaton
    for i in range(1, 40):
        model.request("?", regex=f"b{{{i}}}")
    assert model.request("?", regex="a+").automaton is not automaton


def test_deadline_ends_a_constrained_request(make_model: Make, specs: dict[str, GenerationSpec]):
    result = make_model(specs["uniform"]).generate("?", schema=PERSON, deadline_ms=1, steps=48, adaptive=False)
    assert result.finish_reason == "deadline"


@pytest.mark.parametrize("fails", [False, True])
def test_full_garbage_collection_is_off_while_an_automaton_is_built(
    make_model: Make, specs: dict[str, GenerationSpec], fails: bool
):
    """It would take longer than an interrupt may wait. It is back on afterwards, even after an exception."""
    found = set()

    class Anything:
        start = 0

        def advance(self, state: int, byte: int) -> int:
            found.add(gc.get_threshold())
            if fails:
                raise KeyboardInterrupt
            return state

        def accepts(self, state: int) -> bool:
            return True

    model = make_model(specs["uniform"])
    before = gc.get_threshold()
    with pytest.raises(KeyboardInterrupt) if fails else contextlib.nullcontext():
        model.request("?", constraint=Anything())
    assert found == {(*before[:2], 2**31 - 1)}
    assert gc.get_threshold() == before
