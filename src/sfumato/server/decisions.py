"""Decisions: questions about a text, answered with probabilities on one canvas.

Every question is a one-letter slot in an otherwise given text: `1: Y`, `2: B`, and so on. The model's probabilities for
the allowed letters of each slot are the answers. A canvas model answers all of them in the same steps, each in view of
the others; an autoregressive one takes a pass per slot.

Shapes: OpenAI's `/v1/decisions` and TypeSafe's `/v1/systemone`.
"""

from __future__ import annotations

import itertools
import json
import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, JsonValue, Tag

from sfumato.engine.model import TextModel
from sfumato.engine.request import Request, Result
from sfumato.errors import RequestError
from sfumato.server.bodies import Body
from sfumato.server.protocol import Message, TextPart, text_of

_LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits
MAX_QUESTIONS = 400
_Json = dict[str, Any]
Told = str | dict[str, JsonValue] | list[JsonValue]
"""A text, or data shown as JSON."""


@dataclass(frozen=True)
class Slot:
    """A question and its possible values."""

    question: str
    values: tuple[Any, ...]
    options: tuple[str, ...]
    """How the model reads each value."""
    letters: str

    @classmethod
    def predicate(cls, question: str, options: Sequence[str] = ("yes", "no")) -> Slot:
        """A yes/no question."""
        return cls(question, (True, False), tuple(options), "YN")

    @classmethod
    def choice(cls, field: str, question: str, options: Sequence[tuple[Any, str]]) -> Slot:
        """A question with two or more different options, each a value and its description."""
        if not 2 <= len(options) <= len(_LETTERS):
            raise RequestError(f"{field} has {len(options)} options; allowed: 2 to {len(_LETTERS)}")
        if len({(type(value), value) for value, _ in options}) < len(options):
            raise RequestError(f"{field} has a value twice; allowed: each once")
        values, described = zip(*options, strict=True)
        return cls(question, values, described, _LETTERS[: len(options)])


@dataclass(frozen=True)
class Decided:
    """The answer to a question."""

    slot: Slot
    probabilities: tuple[float, ...]
    """Probabilities of its values; they sum to 1."""

    @property
    def best(self) -> Any:
        """The most probable value."""
        return self.slot.values[self.probabilities.index(max(self.probabilities))]

    @property
    def mean(self) -> float:
        """Mean index of the values, from 0."""
        return sum(number * share for number, share in enumerate(self.probabilities))

    @property
    def confidence(self) -> float:
        """0 if all values are equally probable, 1 if one is certain."""
        count = len(self.probabilities)
        return max(0.0, (count * max(self.probabilities) - 1) / (count - 1))


def _draft(slots: Sequence[Slot]) -> tuple[str, list[int]]:
    """The text with a letter in every slot, and the slots' positions."""
    lines = [f"{number}: {slot.letters[0]}" for number, slot in enumerate(slots, 1)]
    ends = itertools.accumulate(len(line) + 1 for line in lines)
    return "\n".join(lines), [end - 2 for end in ends]


def decision_request(model: TextModel, turns: list[_Json], slots: Sequence[Slot], seed: int = 0) -> Request:
    """A request that asks a model to fill in the slots."""
    asked = ["Answer each question with the letter of one option."]
    for number, slot in enumerate(slots, 1):
        asked += [f"{number}. {slot.question}", *map("{}: {}".format, slot.letters, slot.options)]
    question = "\n".join(asked)
    if turns[-1]["role"] == "user":
        turns = [*turns[:-1], turns[-1] | {"content": f"{turns[-1]['content']}\n\n{question}"}]
    else:
        turns = [*turns, {"role": "user", "content": question}]
    draft, positions = _draft(slots)
    options: _Json = {"max_tokens": len(model.tokenizer.encode(draft)) + 4}
    if not model.spec.autoregressive:
        starts = [0, *(position + 1 for position in positions)]
        pins = [pair for pair in zip(starts, [*positions, len(draft)], strict=True) if pair[0] < pair[1]]
        options = {"seed_text": draft, "pin": pins, "strength": 1.0}
    return model.request(
        turns,
        regex="\n".join(f"{number}: [{slot.letters}]" for number, slot in enumerate(slots, 1)),
        temperature=1.0,
        # A letter may span several tokens, together with its neighbours.
        top_logprobs=2 * max(len(slot.letters) for slot in slots) + 8,
        check_prompt=False,
        seed=seed,
        **options,
    )


def decided(model: TextModel, slots: Sequence[Slot], result: Result) -> list[Decided]:
    """Read the slots' probabilities from a result."""
    pieces = model.tokenizer.pieces(result.tokens)
    found, start, at = [], 0, 0
    for slot, position in zip(slots, _draft(slots)[1], strict=True):
        while start + len(pieces[at]) <= position:
            start, at = start + len(pieces[at]), at + 1
        shares = dict.fromkeys(slot.letters, 0.0)
        for token, log in result.top_logprobs[at]:
            letter = model.tokenizer.decode([token])[position - start :][:1]
            if letter in shares:
                shares[letter] += math.exp(log)
        total = sum(shares.values())
        found.append(Decided(slot, tuple(share / total for share in shares.values())))
    return found


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _with(name: str, description: JsonValue) -> str:
    return name if description is None else f"{name} ({_shown(description)})"


# OpenAI's.


class Option(Body):
    """A value of a choice."""

    value: str | bool
    description: str | None = None


class Level(Body):
    """A level of a score."""

    label: str
    description: str | None = None


class Question(Body):
    """Fields of every question."""

    instructions: Annotated[str | list[TextPart], Field(min_length=1)]
    name: str | None = None


class Predicate(Question):
    """A yes/no question."""

    type: Literal["predicate"]

    def to_slot(self) -> Slot:
        return Slot.predicate(text_of(self.instructions))

    def to_answer(self, answer: Decided) -> _Json:
        return {"probability": answer.probabilities[0]}


class Choice(Question):
    """A choice between values."""

    type: Literal["choice"]
    choices: list[Option]

    def to_slot(self) -> Slot:
        options = [(each.value, _with(_shown(each.value), each.description)) for each in self.choices]
        return Slot.choice("choices", text_of(self.instructions), options)

    def to_answer(self, answer: Decided) -> _Json:
        pairs = zip(answer.slot.values, answer.probabilities, strict=True)
        shares = [{"value": value, "probability": share} for value, share in pairs]
        return {"choice": answer.best, "confidence": answer.confidence, "probabilities": shares}


class Score(Question):
    """A score on given levels."""

    type: Literal["score"]
    levels: list[Level]

    def to_slot(self) -> Slot:
        options = [(number, _with(level.label, level.description)) for number, level in enumerate(self.levels)]
        return Slot.choice("levels", text_of(self.instructions), options)

    def to_answer(self, answer: Decided) -> _Json:
        shares = [
            {"value": number, "label": level.label, "probability": share}
            for number, (level, share) in enumerate(zip(self.levels, answer.probabilities, strict=True))
        ]
        return {"score": answer.mean, "confidence": answer.confidence, "probabilities": shares}


class DecisionRequest(Body):
    """`POST /v1/decisions` (OpenAI)."""

    model: str | None = None
    input: Annotated[str | list[Message], Field(min_length=1)]
    questions: list[Annotated[Predicate | Choice | Score, Field(discriminator="type")]] = Field(
        min_length=1, max_length=MAX_QUESTIONS
    )
    seed: int = 0
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None

    def to_turns(self) -> list[_Json]:
        given = [Message(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        return [message.to_turn() for message in given]

    def to_slots(self) -> list[Slot]:
        return [question.to_slot() for question in self.questions]

    def to_answer(self, answers: Sequence[Decided], usage: Mapping[str, Any]) -> _Json:
        pairs = zip(self.questions, answers, strict=True)
        return {
            "model": self.model,
            "answers": [{"type": each.type, "name": each.name} | each.to_answer(answer) for each, answer in pairs],
            "usage": usage_in_and_out(usage),
        }


def usage_in_and_out(usage: Mapping[str, Any]) -> _Json:
    """A usage in OpenAI's newer format."""
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": usage["prompt_tokens_details"] | {"cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": usage["completion_tokens_details"],
        "total_tokens": usage["total_tokens"],
    }


# TypeSafe's.


class Noul(Body):
    """A yes/no question."""

    type: Literal["noul"]
    instructions: Told | None = None
    criteria: dict[Literal["true", "false"], JsonValue] = Field(default_factory=dict)

    def to_slot(self, name: str) -> Slot:
        options = _with("yes", self.criteria.get("true")), _with("no", self.criteria.get("false"))
        return Slot.predicate(_shown(self.instructions or name), options)

    def to_answer(self, answer: Decided) -> _Json:
        return {"noul": answer.probabilities[0]}


class NamedChoice(Body):
    """A choice between values."""

    type: Literal["choice"]
    instructions: Told | None = None
    criteria: dict[str, JsonValue]

    def to_slot(self, name: str) -> Slot:
        options = [(name, _with(name, description)) for name, description in self.criteria.items()]
        return Slot.choice("criteria", _shown(self.instructions or name), options)

    def to_answer(self, answer: Decided) -> _Json:
        shares = dict(zip(self.criteria, answer.probabilities, strict=True))
        return {"choice": answer.best, "confidence": answer.confidence, "probabilities": shares}


class LeveledScore(Body):
    """A score on given levels."""

    type: Literal["score"]
    instructions: Told | None = None
    criteria: list[JsonValue]

    def to_slot(self, name: str) -> Slot:
        return Slot.choice("criteria", _shown(self.instructions or name), list(enumerate(map(_shown, self.criteria))))

    def to_answer(self, answer: Decided) -> _Json:
        legend = {str(number): level for number, level in enumerate(self.criteria)}
        shares = dict(zip(legend, answer.probabilities, strict=True))
        return {"score": answer.mean, "confidence": answer.confidence, "legend": legend, "probabilities": shares}


class SystemOneRequest(Body):
    """`POST /v1/systemone` (TypeSafe)."""

    model: str | None = None
    state: Told
    questions: dict[str, Annotated[Noul | NamedChoice | LeveledScore, Field(discriminator="type")]] = Field(
        min_length=1, max_length=MAX_QUESTIONS
    )
    seed: int = 0

    def to_turns(self) -> list[_Json]:
        return [{"role": "user", "content": _shown(self.state)}]

    def to_slots(self) -> list[Slot]:
        return [question.to_slot(name) for name, question in self.questions.items()]

    def to_answer(self, answers: Sequence[Decided], usage: Mapping[str, Any]) -> _Json:
        pairs = zip(self.questions.items(), answers, strict=True)
        return {
            "model": self.model,
            "answers": {name: {"type": each.type} | each.to_answer(answer) for (name, each), answer in pairs},
            "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
        }


def _shape(body: Any) -> str:
    is_typesafe = isinstance(body, SystemOneRequest) or (isinstance(body, dict) and "state" in body)
    return "typesafe" if is_typesafe else "openai"


AnyDecisionRequest = Annotated[
    Annotated[DecisionRequest, Tag("openai")] | Annotated[SystemOneRequest, Tag("typesafe")], Discriminator(_shape)
]
