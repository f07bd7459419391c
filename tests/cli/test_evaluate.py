"""`sfumato eval`: one score, or a table of them."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import torch

from sfumato import load
from sfumato.data.sources import chat_document
from sfumato.evaluation.tasks import GapScore, LengthScore, TaskScore
from sfumato.models.model import AttentionSpec

FAST = ("--n", 2, "--steps", 2)


def test_one_task_is_one_json_object(sfumato, checkpoint):
    done = sfumato("eval", checkpoint, "--task", "arithmetic", *FAST, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    values = json.loads(done.stdout)
    assert list(values) == [field.name for field in dataclasses.fields(TaskScore)]
    assert (values["task"], values["n"], values["steps"], values["seed"]) == ("arithmetic", 2, 2, 0)
    assert values["twin"] is None


def test_default_tasks_are_the_models(sfumato, checkpoint):
    values = json.loads(sfumato("eval", checkpoint, *FAST, "--json").stdout)
    assert list(values) == ["tasks"]
    assert [score["task"] for score in values["tasks"]] == ["pi", "arithmetic"]


def test_several_steps_make_a_row_each(sfumato, checkpoint):
    arguments = ("eval", checkpoint, "--task", "arithmetic", "--n", 2, "--steps", "1,3")
    scores = json.loads(sfumato(*arguments, "--json").stdout)["tasks"]
    # A random model is never sure, so each of its two canvases takes all the steps it may.
    assert [(score["steps"], score["mean_steps"]) for score in scores] == [(1, 2.0), (3, 6.0)]
    table = [line.split() for line in sfumato(*arguments).stdout.splitlines()]
    assert table[0][:7] == ["task", "n", "cap", "right", "95%", "steps", "forwards"]
    # Nor does it settle.
    assert [score["unsettled"] for score in scores] == [2, 2]
    assert table[0][7] == "unsettled"
    assert [row[9] for row in table[1:]] == ["2", "2"]
    assert "unsettled" not in sfumato(*arguments, "--set", "adaptive=false").stdout
    assert [row[:8] for row in table[1:]] == [
        ["arithmetic", "2", "1", "0.0%", "0%", "to", "66%", "2.0"],
        ["arithmetic", "2", "3", "0.0%", "0%", "to", "66%", "6.0"],
    ]


def test_gap_scores(sfumato, checkpoint):
    arguments = ("eval", checkpoint, "--task", "arithmetic", *FAST, "--gaps")
    values = json.loads(sfumato(*arguments, "--json").stdout)
    assert list(values) == [field.name for field in dataclasses.fields(GapScore)]
    assert (values["task"], values["n"], values["steps"]) == ("arithmetic", 2, 2)
    table = [line.split() for line in sfumato(*arguments).stdout.splitlines()]
    assert table[0] == ["task", "n", "cap", "restored", "right", "length", "±1", "steps"]
    assert table[1][:3] == ["arithmetic", "2", "2"]


def test_length_scores(sfumato, checkpoint):
    """Of the embedded model, as the other has no such head; and that is said."""
    arguments = ("eval", "tiny", "--task", "fizzbuzz", "--n", 1, "--steps", 2, "--lengths")
    values = json.loads(sfumato(*arguments, "--json").stdout)
    assert list(values) == [field.name for field in dataclasses.fields(LengthScore)]
    table = [line.split() for line in sfumato(*arguments).stdout.splitlines()]
    assert table[0] == ["task", "n", "bucket", "sure", "held", "positions", "without", "right", "without"]
    assert table[1][:2] == ["fizzbuzz", "1"]
    refused = sfumato("eval", checkpoint, "--task", "fizzbuzz", *FAST, "--lengths")
    assert refused.exit_code == 2
    assert "has no length head" in refused.stderr
    both = sfumato(*arguments, "--gaps")
    assert both.exit_code == 2
    assert "--gaps and --lengths are both given; allowed: one of them" in both.stderr


def test_twin_gets_the_same_items(sfumato, checkpoint, tmp_path):
    arguments = ("eval", checkpoint, "--task", "arithmetic", *FAST)
    values = json.loads(sfumato(*arguments, "--twin", checkpoint, "--json").stdout)
    assert values["twin"] == {"answer_first": 0.0, "answer_last": 0.0}
    assert "twin" in sfumato(*arguments, "--twin", checkpoint).stdout
    assert "twin" not in sfumato(*arguments).stdout


def test_default_twin(sfumato, checkpoint, tmp_path):
    model = shutil.copytree(checkpoint, tmp_path / "small")
    shutil.copytree(checkpoint, tmp_path / "small-twin")
    arguments = ("eval", model, "--task", "pi", *FAST, "--json")
    assert json.loads(sfumato(*arguments).stdout)["twin"] == {"answer_first": 0.0, "answer_last": None}
    assert json.loads(sfumato(*arguments, "--twin", "none").stdout)["twin"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "sudko4"], "unknown task 'sudko4'; did you mean 'sudoku4'?"),
        (["--steps", "4,x"], "steps is '4,x'; allowed: whole numbers"),
        (["--steps", ""], "steps is ''; allowed: whole numbers"),
        (["--steps", "0"], "steps is 0; allowed: a whole number, 1 to 1000"),
        (["--n", "0"], "n is 0; allowed: 1 or more"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_requests_are_refused(sfumato, checkpoint, options, message):
    done = sfumato("eval", checkpoint, *options)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_a_model_without_tasks_needs_some(sfumato, checkpoint, tmp_path):
    model = shutil.copytree(checkpoint, tmp_path / "plain")
    path = model / "generation_config.json"
    path.write_text(json.dumps({key: value for key, value in json.loads(path.read_text()).items() if key != "tasks"}))
    done = sfumato("eval", model, *FAST)
    assert done.exit_code == 2
    assert "plain does not say what tasks it was made for; give --task, or --samples" in " ".join(done.stderr.split())


def test_missing_models(sfumato, checkpoint, tmp_path):
    assert sfumato("eval", tmp_path / "none").exit_code == 1
    assert sfumato("eval", checkpoint, "--twin", tmp_path / "none").exit_code == 1


def test_sample_statistics(sfumato, tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "json: Mia is red."}\n{"prompt": "answer, then derive: 7*6+3^2"}\n')
    arguments = ("eval", "tiny", "--samples", path, "--n", "3", "--max-tokens", "24")
    done = sfumato(*arguments, "--judge", "tiny-twin", "--json")
    assert done.exit_code == 0, done.stderr
    score = json.loads(done.stdout)
    assert score["n"] == 3
    assert 0.0 < score["tokens"] <= 24.0
    assert score["judge_nll"] > 0.0
    assert "judge_nll" not in sfumato(*arguments).stdout
    assert (score["response_nll"], score["estimator"]) == (None, None)
    none = sfumato(*arguments, "--likelihood", "8")
    assert none.exit_code == 2
    assert "the file has no responses" in none.stderr


def test_answers_are_written(sfumato, tmp_path):
    """In order, for tasks and for samples; without --n, every sample once."""
    path, wrong = tmp_path / "pairs.jsonl", tmp_path / "answers.jsonl"
    path.write_text(
        '{"prompt": "answer, then derive: 7*6", "response": "answer: 42\\n7*6 = 42"}\n'
        '{"prompt": "answer, then derive: 7*6", "response": "answer: 43"}\n'
        '{"prompt": "answer, then derive: 7*6"}\n'
    )
    done = sfumato("eval", "tiny", "--samples", path, "--answers", wrong, "--json")
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in wrong.read_text().splitlines()]
    assert [row["right"] for row in rows] == [True, False, None]
    assert [row["response"] for row in rows] == ["answer: 42\n7*6 = 42", "answer: 43", None]
    assert {row["answer"] for row in rows} == {"answer: 42\n7*6 = 42"}
    assert json.loads(done.stdout)["n"] == 3

    done = sfumato(
        "eval", "tiny", "--task", "json", "--n", "3", "--steps", "1,32", "--twin", "none", "--answers", wrong
    )
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in wrong.read_text().splitlines()]
    assert [(row["task"], row["steps"]) for row in rows] == [("json", 1)] * 3 + [("json", 32)] * 3
    assert [row["prompt"] for row in rows[:3]] == [row["prompt"] for row in rows[3:]]
    assert all(json.loads(row["answer"]) == json.loads(row["response"]) for row in rows if row["right"])
    refused = sfumato("eval", "tiny", "--gaps", "--answers", wrong)
    assert refused.exit_code == 2
    assert "--answers is given; allowed: only without --gaps and --lengths" in " ".join(refused.stderr.split())


def test_likelihoods_of_responses(sfumato, tmp_path):
    path = tmp_path / "pairs.jsonl"
    pairs = [{"prompt": "answer, then derive: 7*6", "response": f"answer: {n}\n7*6 = {n}"} for n in (42, 43)]
    scores = {}
    for name, draws in (("tiny", "16"), ("tiny-twin", "1")):
        for pair in pairs:
            path.write_text(json.dumps(pair))
            done = sfumato("eval", name, "--samples", path, "--n", "1", "--likelihood", draws, "--json")
            scores[name, pair["response"][8:10]] = json.loads(done.stdout)
    assert scores["tiny", "42"]["response_nll"] < 0.1 < scores["tiny", "43"]["response_nll"]
    assert scores["tiny", "43"]["response_nll_error"] > 0.0
    assert "upper bound" in scores["tiny", "43"]["estimator"]
    twin = scores["tiny-twin", "42"]
    assert (twin["response_nll_error"], twin["estimator"]) == (0.0, "exact autoregressive NLL")
    model = load("tiny-twin")
    document = chat_document([{"role": "user", "content": pairs[0]["prompt"]}], pairs[0]["response"], model.tokenizer)
    text = torch.tensor([[*document.prompt, *document.response]])
    with torch.inference_mode():
        hidden_1QD = model.decoder(text, torch.arange(text.shape[1])[None], AttentionSpec(causal=True))
        logprobs_QV = model.decoder.logits(hidden_1QD[0]).log_softmax(-1)
    first = len(document.prompt)
    nats = -logprobs_QV[first - 1 : -1].gather(1, text[0, first:, None]).mean()
    assert twin["response_nll"] == pytest.approx(float(nats), rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", "tiny-twin"), "allowed: only with --samples"),
        (("--max-tokens", "3"), "allowed: only with --samples"),
        (("--likelihood", "3"), "allowed: only with --samples"),
        (("--samples", "x.jsonl", "--task", "json"), "--samples cannot be combined"),
        (("--samples", "x.jsonl", "--twin", "tiny-twin"), "--samples cannot be combined"),
        (("--samples", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
    ],
)
def test_refused_samples(sfumato, arguments, message):
    done = sfumato("eval", "tiny", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_set_steps_limits_as_steps_does(sfumato, checkpoint):
    arguments = ("eval", checkpoint, "--task", "arithmetic", "--n", 2, "--json")
    limited, other = (sfumato(*arguments, *more) for more in (("--set", "steps=2"), ("--steps", "2")))
    assert limited.stdout == other.stdout
    assert json.loads(limited.stdout)["steps"] == 2
    done = sfumato(*arguments, "--set", "steps=2", "--steps", "3")
    assert done.exit_code == 2
    assert "--set steps=2 is given with --steps; allowed: one of them" in done.stderr


def test_answers_do_not_replace_the_samples(sfumato, checkpoint, tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text('{"prompt": "a", "response": "b"}\n')
    done = sfumato("eval", checkpoint, "--samples", path, "--answers", path)
    assert done.exit_code == 2
    assert "the samples themselves; allowed: another file" in done.stderr
    assert path.read_text() == '{"prompt": "a", "response": "b"}\n'
    done = sfumato("eval", checkpoint, "--samples", path, "--answers", tmp_path / "none" / "a.jsonl")
    assert done.exit_code == 2
    assert "allowed: a file in an existing directory" in done.stderr
