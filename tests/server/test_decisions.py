"""Decisions: probabilities for questions, in OpenAI's shape and in TypeSafe's."""

from __future__ import annotations

import openai
import pytest

from serving import Served
from sfumato.server.decisions import Decided, Slot

QUESTIONS = {
    "refund": {"type": "noul", "instructions": "Is a refund asked for?"},
    "urgency": {"type": "choice", "instructions": "How urgent is it?", "criteria": {"low": "can wait", "high": None}},
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "annoyed", {"very": "angry"}]},
}
SAME = [
    {"type": "predicate", "instructions": "Is a refund asked for?"},
    {
        "type": "choice",
        "name": "urgency",
        "instructions": [{"type": "input_text", "text": "How urgent is it?"}],
        "choices": [{"value": "low", "description": "can wait"}, {"value": "high"}],
    },
    {
        "type": "score",
        "instructions": "How angry?",
        "levels": [{"label": "calm"}, {"label": "annoyed"}, {"label": '{"very": "angry"}'}],
    },
]
PATHS = ("/v1/decisions", "/v1/systemone")
STATE = "I was charged twice and want one of the charges back."


def test_both_request_formats_answer_alike(served: Served):
    answer = served.ask("/v1/systemone", model="tiny", state=STATE, questions=QUESTIONS).json()
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
        decision = client.decisions.create(model="tiny", input=STATE, questions=SAME)  # type: ignore[arg-type]
    noul, choice, score = answer["answers"].values()
    first, second, third = decision.answers
    assert first.type == "predicate"
    assert first.probability == pytest.approx(noul["noul"], rel=1e-4)
    assert 0 < noul["noul"] < 1
    assert second.type == "choice"
    assert second.name == "urgency"
    assert second.choice == choice["choice"]
    assert second.confidence == pytest.approx(choice["confidence"], rel=1e-3)
    shares = {each.value: each.probability for each in second.probabilities}
    assert shares == pytest.approx(choice["probabilities"], rel=1e-4)
    assert sum(choice["probabilities"].values()) == pytest.approx(1)
    assert choice["probabilities"][choice["choice"]] == max(choice["probabilities"].values())
    assert third.type == "score"
    assert third.score == pytest.approx(score["score"], rel=1e-4)
    shares = [each.probability for each in third.probabilities]
    assert shares == pytest.approx(list(score["probabilities"].values()), rel=1e-4)
    assert score["legend"] == {"0": "calm", "1": "annoyed", "2": {"very": "angry"}}
    assert score["score"] == pytest.approx(sum(int(key) * p for key, p in score["probabilities"].items()))
    assert decision.usage.input_tokens == answer["usage"]["input_tokens"] > 50


def test_all_questions_share_one_canvas(served: Served):
    many = [{"type": "predicate", "instructions": f"{number}?"} for number in range(12)]
    before = _canvases(served)
    answer = served.ask("/v1/decisions", input="x", questions=many)
    assert len(answer.json()["answers"]) == 12
    assert _canvases(served) == before + 1


def _canvases(served: Served) -> float:
    lines = served.http.get("/metrics").text.splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith("sfumato_canvases_total")), 0.0)


def test_confidence():
    slot = Slot.choice("choices", "?", [(value, value) for value in "abcd"])
    assert Decided(slot, (0.25,) * 4).confidence == 0
    assert Decided(slot, (0, 0, 1, 0)).confidence == 1
    assert Decided(slot, (0.1, 0.1, 0.7, 0.1)).confidence == pytest.approx(0.6)
    assert Decided(slot, (0.1, 0.1, 0.7, 0.1)).best == "c"
    assert Decided(slot, (0.1, 0.1, 0.7, 0.1)).mean == pytest.approx(1.8)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"type": "choice", "instructions": "?", "choices": [{"value": "a"}]}, "choices has 1 options; allowed: 2 to"),
        (
            {"type": "choice", "instructions": "?", "choices": [{"value": str(i)} for i in range(63)]},
            "choices has 63 options; allowed: 2 to 62",
        ),
        ({"type": "choice", "instructions": "?", "choices": [{"value": "a"}] * 2}, "choices has a value twice"),
        ({"type": "score", "instructions": "?", "levels": []}, "levels has 0 options"),
        ({"type": "other", "instructions": "?"}, "questions.0"),
        ({"type": "predicate", "instructions": ""}, "questions.0.instructions"),
    ],
)
def test_invalid_questions_are_refused(served: Served, question: dict[str, object], message: str):
    answer = served.ask("/v1/decisions", input="x", questions=[question])
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]


def test_decisions_accept_both_formats(served: Served):
    questions = QUESTIONS | {"is it spam": {"type": "noul"}}
    answers = [served.ask(path, state={"text": STATE}, questions=questions).json() for path in PATHS]
    assert answers[0]["answers"].keys() == questions.keys()
    # What the cache holds of the prompt is rounded like what is computed, but added up in another order.
    for name in ("refund", "is it spam"):
        assert answers[0]["answers"][name]["noul"] == pytest.approx(answers[1]["answers"][name]["noul"], rel=1e-4)
