"""Answers to the prompts of a file, counted by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import sfumato
from sfumato.data.sources import Chat
from sfumato.engine.request import Result, Usage
from sfumato.errors import ConfigError, RequestError
from sfumato.evaluation.samples import evaluate_samples, read_samples
from sfumato.models.model import AttentionSpec

SAMPLES = [
    Chat([{"role": "user", "content": "json: Mia is red."}], " 1 2 3 4 1 2 3 4\n"),
    Chat([{"role": "user", "content": "copy"}], None),
]


class Saying:
    """Gives prepared answers, one after the other."""

    name = "saying"

    def __init__(self, *answers: tuple[tuple[int, ...], str]) -> None:
        self._answers = list(answers)

    def generate_batch(self, prompts: list[Any], *, seeds: list[int], **settings: Any) -> list[Result]:
        assert seeds == [7 + i for i in range(len(prompts))]
        own, self._answers = self._answers[: len(prompts)], self._answers[len(prompts) :]
        return [
            Result(
                text=" ".join(map(str, tokens)),
                tokens=tokens,
                finish_reason=reason,  # type: ignore[arg-type]
                seed=0,
                model="saying",
                usage=Usage(forward_passes=3, denoising_steps=2),
            )
            for tokens, reason in own
        ]


def test_counts_by_hand():
    model = Saying(((1, 2, 3, 4, 1, 2, 3, 4), "length"), ((1, 2), "stop"))
    score = evaluate_samples(model, SAMPLES, n=2, seed=7)  # type: ignore[arg-type]
    assert (score.ended, score.tokens, score.tokens_per_forward, score.steps) == (0.5, 5.0, 10 / 6, 2.0)
    # Only one sample has a response.
    assert score.exact == 1.0
    # 1234, 2341, 3412, 4123, 1234; the short answer has no run of four.
    assert score.repetition == pytest.approx(1 / 5)
    # 12 23 34 41 12 23 34, and 12.
    assert score.distinct_2 == pytest.approx(4 / 8)
    shares = [3 / 10, 3 / 10, 2 / 10, 2 / 10]
    assert score.unigram_entropy == pytest.approx(-sum(share * math.log(share) for share in shares))
    assert score.judge_nll is None


def test_empty_answers():
    """0 would be the best that a judge can say."""
    model, judge = Saying(((), "stop"), ((), "stop")), sfumato.load("tiny-twin")
    score = evaluate_samples(model, SAMPLES, n=2, seed=7, judge=judge)  # type: ignore[arg-type]
    assert (score.judge_nll, score.unigram_entropy, score.distinct_2, score.repetition) == (None,) * 4
    assert (score.ended, score.tokens, score.exact) == (1.0, 0.0, 0.0)


def test_files_without_responses_have_no_exact_answers():
    score = evaluate_samples(Saying(((1, 2), "stop")), SAMPLES[1:], n=1, seed=7)  # type: ignore[arg-type]
    assert score.exact is None


def test_judge_uses_its_own_template():
    judge = sfumato.load("tiny-twin")
    model = Saying(((1, 2, 3, 4, 5), "stop"), ((), "stop"))
    score = evaluate_samples(model, SAMPLES, n=2, seed=7, judge=judge)  # type: ignore[arg-type]
    ahead, own = judge.tokenizer.encode_chat(SAMPLES[0].turns), judge.tokenizer.encode("1 2 3 4 5")
    total = 0.0
    for i, token in enumerate(own):
        read = torch.tensor([[*ahead, *own[:i]]])
        hidden = judge.decoder(read, torch.arange(read.shape[1])[None], AttentionSpec(causal=True))
        total -= float(judge.decoder.logits(hidden)[0, -1].log_softmax(-1)[token].detach())
    assert score.judge_nll == pytest.approx(total / len(own), rel=1e-4)
    assert score.judge == "tiny-twin"


def test_judge_with_nan_is_named():
    judge = sfumato.load("tiny-twin")
    with torch.no_grad():
        judge.decoder.get_parameter("model.norm.weight").fill_(float("nan"))
    with pytest.raises(RequestError, match="the judge tiny-twin says nan of an answer"):
        evaluate_samples(Saying(((1, 2, 3), "stop")), SAMPLES, n=1, seed=7, judge=judge)  # type: ignore[arg-type]


def test_refusals(tmp_path: Path):
    tiny = sfumato.load("tiny")
    with pytest.raises(RequestError, match="n is 0"):
        evaluate_samples(tiny, SAMPLES, n=0)
    with pytest.raises(RequestError, match="the judge is tiny; allowed: an autoregressive model"):
        evaluate_samples(tiny, SAMPLES, n=1, judge=tiny)


def test_prompts_are_read_up_to_the_answer(tmp_path: Path):
    path = tmp_path / "prompts.jsonl"
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    answer = {"role": "assistant", "content": "d"}
    lines = [{"prompt": "x"}, {"prompt": "x", "completion": "y"}, {"messages": turns}, {"messages": [*turns, answer]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    alone = [{"role": "user", "content": "x"}]
    assert read_samples(path) == [Chat(alone, None), Chat(alone, "y"), Chat(turns, None), Chat(turns, "d")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "texts.jsonl is empty; allowed: messages, prompt"),
        ("\n{", "texts.jsonl:2 is not JSON"),
        ('{"text": "no prompt"}', 'texts.jsonl:1 has text "no prompt"; allowed: messages'),
        ('{"prompt": " "}', 'texts.jsonl:1 has prompt " "; allowed'),
        ('{"messages": []}', r"texts.jsonl:1 has messages \[\]; allowed"),
        ('{"messages": [{"role": "user", "content": ["x"]}]}', "texts.jsonl:1 has messages"),
        ('{"prompt": "x", "response": 3}', 'texts.jsonl:1 has prompt "x", response 3; allowed'),
    ],
)
def test_files_without_prompts(tmp_path: Path, content: str, message: str):
    path = tmp_path / "texts.jsonl"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_samples(path)
    with pytest.raises(ConfigError, match="cannot read"):
        read_samples(tmp_path / "nowhere")
