"""Output constraints in every form: schemas of several kinds, custom constraints."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sfumato.engine.model import TextModel
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
PLAIN = GenerationSpec(canvas_length=8)
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 3}}, "required": ["age"]}
SETTINGS: dict[str, Any] = {"steps": 2, "max_tokens": 40}


class HasSchema:
    """Stands in for a pydantic model."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return SCHEMA


def test_schema_may_be_a_dict_json_or_a_pydantic_model(make_model: Make):
    model = make_model(PLAIN)
    expected = model.generate("?", schema=SCHEMA, **SETTINGS).text
    assert json.loads(expected)["age"] >= 3
    for schema in (json.dumps(SCHEMA), HasSchema):
        assert model.generate("?", schema=schema, **SETTINGS).text == expected
    with pytest.raises(RequestError, match=r"the schema '\{' is not JSON: "):
        model.generate("?", schema="{", **SETTINGS)


def test_output_validates_as_its_pydantic_model(make_model: Make):
    pydantic = pytest.importorskip("pydantic")
    pet = pydantic.create_model("Pet", age=(int, pydantic.Field(ge=3, le=90)), tame=(bool, ...))
    owner = pydantic.create_model("Owner", pet=(pet, ...), other=(pet | None, None))
    text = make_model(PLAIN, max_position_embeddings=400).generate("?", schema=owner, steps=2, max_tokens=200).text
    assert owner.model_validate_json(text).pet.age >= 3


class Alternating:
    """The letters a and b alternating, two to six of them."""

    start = ""

    def advance(self, text: str, byte: int) -> str | None:
        longer = text + chr(byte)
        return longer if longer in "ababab" or longer in "bababa" else None

    def accepts(self, text: str) -> bool:
        return 2 <= len(text) <= 6


def test_custom_constraint(make_model: Make):
    model = make_model(PLAIN)
    constraint = Alternating()
    texts = {model.generate("?", constraint=constraint, seed=seed, **SETTINGS).text for seed in range(12)}
    assert len(texts) > 1
    assert all(text in ("abab" * 2, "baba" * 2) or set(text) == {"a", "b"} for text in texts)
    assert all(2 <= len(text) <= 6 and "aa" not in text and "bb" not in text for text in texts)
    assert model.generate("?", constraint=constraint, ban=["ab"], **SETTINGS).text == "ba"
    automaton = model.request("?", constraint=constraint, **SETTINGS).automaton
    assert model.request("?", constraint=constraint, **SETTINGS).automaton is automaton
    assert model.request("?", constraint=Alternating(), **SETTINGS).automaton is not automaton


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constraint": "ab"}, "constraint is 'ab'; allowed: an object with start, advance and accepts"),
        ({"constraint": []}, "constraint is .*, which has no hash"),
        ({"constraint": ([],)}, "constraint is .*, which has no hash"),
        ({"constraint": Alternating(), "choices": ["c"]}, "no text satisfies choices and constraint together"),
        ({"constraint": Alternating(), "stop": ["b"]}, "stop would cut a text that must match constraint"),
    ],
)
def test_invalid_constraints_are_refused(make_model: Make, settings: dict[str, Any], message: str):
    with pytest.raises(RequestError, match=message):
        make_model(PLAIN).generate("?", **settings, **SETTINGS)
