"""`sfumato run --batch`: answers are those of the library, and what is answered is not lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sfumato as library
from sfumato.engine.engine import Engine

PROMPTS = [f"answer, then derive: {i}+{i}" for i in range(5)]


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def read(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def run(sfumato: Any, checkpoint: Path) -> Any:
    return lambda *arguments, **settings: sfumato("run", "--model", checkpoint, *arguments, **settings)


def expected(checkpoint: Path, prompt: Any, **options: Any) -> Any:
    return library.load(checkpoint).generate(prompt, **options)


def test_lines_are_answered_independently(run: Any, checkpoint: Path, tmp_path: Path):
    lines: list[dict[str, Any]] = [
        {"prompt": PROMPTS[0], "max_tokens": 4},
        {"prompt": PROMPTS[1], "id": "second", "seed": 7, "entropy_bound": 0.3},
        {"prompt": [{"role": "user", "content": PROMPTS[2]}], "id": 30, "choices": ["yes", "no"]},
        {"prompt": PROMPTS[3], "n": 2},
        {"prompt": "7+8\u2028=", "raw": True},
    ]
    given = write(tmp_path / "prompts.jsonl", *lines, "")
    out = tmp_path / "answers.jsonl"
    done = run("--batch", given, "--output", out, "--steps", 4)
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    answers = read(out.read_text())
    assert [answer["id"] for answer in answers] == [1, "second", 30, 4, 5]
    for line, answer in zip(lines, answers, strict=True):
        options = {name: value for name, value in line.items() if name not in ("prompt", "id")}
        alone = expected(checkpoint, line["prompt"], **{"steps": 4} | options)
        found = answer["results"] if "n" in line else [answer]
        for one, result in zip(found, alone if "n" in line else [alone], strict=True):
            assert (one["text"], one["seed"]) == (result.text, result.seed)
            assert one["usage"]["denoising_steps"] == result.usage.denoising_steps
    assert "6 answers" in done.stderr
    # On stdout, in whatever order they finish; from stdin.
    again = run("--batch", "-", "--steps", 4, input=given.read_text())
    assert again.exit_code == 0
    assert {answer["id"]: answer.get("text") for answer in read(again.stdout)} == {
        answer["id"]: answer.get("text") for answer in answers
    }


def test_invalid_lines_fail_alone(run: Any, checkpoint: Path, tmp_path: Path):
    lines = [
        {"prompt": PROMPTS[0]},
        "{",
        '["x"]',
        {"id": "a"},
        {"id": "b", "prompt": PROMPTS[0], "stpes": 3},
        {"id": "c", "prompt": "7 " * 200},
        {"id": "d", "prompt": PROMPTS[0], "steps": "many"},
        {"id": "e", "prompt": 5},
        {"id": "f", "prompt": PROMPTS[0], "seed_text": "x", "strength": "much"},
        {"id": "g", "prompt": PROMPTS[0], "n": 0},
        {"id": [1], "prompt": PROMPTS[0]},
        {"id": "h", "prompt": PROMPTS[1]},
        {"id": "h", "prompt": PROMPTS[2]},
        {"id": "i", "prompt": PROMPTS[0], "n": "x"},
    ]
    out = tmp_path / "answers.jsonl"
    done = run("--batch", write(tmp_path / "prompts.jsonl", *lines), "--output", out)
    assert done.exit_code == 1
    assert "12 lines could not be answered" in done.stderr
    answers = read(out.read_text())
    assert [answer["id"] for answer in answers] == [1, 2, 3, "a", "b", "c", "d", "e", "f", "g", 11, "h", "h", "i"]
    said = [answer.get("error", "") for answer in answers]
    for error, part in zip(
        said,
        [
            "",
            "line 2 is not a JSON object: {",
            "line 3 is not a JSON object",
            "prompt is missing",
            "did you mean 'steps'?",
            "allowed: at most 159",
            "steps is 'many'",
            "the prompt is 5",
            "strength is 'much'; allowed: more than 0, at most 1",
            "n is 0",
            "id is [1]; allowed",
            "",
            "id is 'h', which an earlier line has",
            "n is 'x'",
        ],
        strict=True,
    ):
        assert part in error
        assert bool(part) == bool(error)
    assert answers[0]["text"] == expected(checkpoint, PROMPTS[0]).text
    # Made right, only those are answered that were wrong.
    done = run("--batch", write(tmp_path / "prompts.jsonl", *lines[:1], {"prompt": PROMPTS[4]}), "--output", out)
    assert done.exit_code == 0
    assert "1 of 2 lines are already answered" in done.stderr
    assert "1 answer ·" in done.stderr
    # Answers that no line asks for stay, ahead of the others.
    assert [answer["id"] for answer in read(out.read_text())] == ["h", 1, 2]


def test_changed_lines_are_answered_again(sfumato: Any, checkpoint: Path, tmp_path: Path):
    batch, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"

    def run(*lines: str, **options: object) -> tuple[list[Any], str]:
        batch.write_text("".join(json.dumps({"prompt": line}) + "\n" for line in lines))
        given = [f"--{name}={value}" for name, value in options.items()]
        done = sfumato("run", "--batch", batch, "--output", out, "--model", checkpoint, "--max-tokens", 4, *given)
        assert done.exit_code == 0, done.stderr
        return [json.loads(line) for line in out.read_text().splitlines()], done.stderr

    before, _ = run(*PROMPTS[:2])
    same, told = run(*PROMPTS[:2])
    assert same == before
    assert "2 of 2 lines are already answered" in told
    changed, told = run(PROMPTS[2], PROMPTS[1])
    assert "1 line changed since" in told
    assert changed[1] == before[1]
    assert changed[0]["asked"] != before[0]["asked"]
    other, told = run(PROMPTS[2], PROMPTS[1], seed=9)
    assert "2 lines changed since" in told
    assert [line["seed"] for line in other] == [9, 9]


def test_answered_lines_are_skipped(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given = write(tmp_path / "prompts.jsonl", *({"prompt": prompt} for prompt in PROMPTS))
    out, whole = tmp_path / "answers.jsonl", tmp_path / "whole.jsonl"
    assert run("--batch", given, "--output", whole).exit_code == 0
    lines = whole.read_text().splitlines(keepends=True)
    # Cut short in the middle of a line, with another that had failed, and not in order.
    out.write_text(lines[3] + lines[0] + '{"id": 2, "error": "the model failed"}\n' + lines[1][:20])
    asked: list[Any] = []
    engine_run = Engine.run

    def watched(self: Engine, requests: Any, **settings: Any) -> Any:
        asked.extend(requests := list(requests))
        return engine_run(self, requests, **settings)

    monkeypatch.setattr(Engine, "run", watched)
    done = run("--batch", given, "--output", out)
    assert done.exit_code == 0
    assert len(asked) == 3
    texts = [(answer["id"], answer["text"]) for answer in read(out.read_text())]
    assert texts == [(answer["id"], answer["text"]) for answer in read(whole.read_text())]
    before = out.read_bytes()
    monkeypatch.setattr("sfumato.cli.options.Weights.load", lambda *_: 1 / 0)
    done = run("--batch", given, "--output", out)
    assert (done.exit_code, out.read_bytes()) == (0, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to answer; allowed: PROMPT or --batch FILE"),
        (("7+8", "--batch", "FILE"), "two sources; allowed: PROMPT or --batch FILE"),
        (("7+8", "--output", "OUT"), "allowed with --batch"),
        (("--batch", "FILE", "--output", "nowhere/OUT"), "allowed with --batch: a file in an existing directory"),
        (("--batch", "nowhere"), "cannot read the batch nowhere: No such file"),
        (("--batch", "EMPTY"), "has no lines; allowed: one JSON object per line"),
        (("--batch", "FILE", "--trace", "t"), "trace is for one prompt"),
        (("--batch", "FILE", "--output", "FILE"), "line 1 of FILE is not an answer; allowed as output: a new file"),
    ],
)
def test_invalid_batches(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
):
    monkeypatch.chdir(tmp_path)
    given = write(Path("FILE"), {"prompt": PROMPTS[0]}).read_text()
    Path("EMPTY").write_text("\n")
    done = run(*arguments)
    assert message in done.stderr
    assert (done.exit_code, done.stdout) == (2, "")
    assert Path("FILE").read_text() == given
    assert not Path("OUT").exists()


def test_requests_are_answered_as_by_the_server(run: Any, checkpoint: Path, tmp_path: Path):
    messages = [{"role": "user", "content": PROMPTS[0]}]
    body = {"model": checkpoint.name, "messages": messages, "seed": 7, "max_tokens": 8, "n": 2}
    chat = {"custom_id": "chat", "method": "POST", "url": "/v1/chat/completions", "body": body}
    given = write(
        tmp_path / "requests.jsonl",
        chat,
        {**chat, "custom_id": "elsewhere", "body": {**body, "model": "other"}},
        {**chat, "custom_id": "stream", "body": {**body, "stream": True}},
        {**chat, "custom_id": "url", "url": "chat"},
        {"prompt": PROMPTS[1], "id": "prompt", "max_tokens": 4},
    )
    out = tmp_path / "answers.jsonl"
    done = run("--batch", given, "--output", out)
    assert done.exit_code == 1
    assert "3 answers" in done.stderr
    assert "3 lines could not be answered" in done.stderr
    answered, elsewhere, stream, url, prompt = read(out.read_text())
    assert (answered["custom_id"], answered["error"], answered["response"]["status_code"]) == ("chat", None, 200)
    texts = [choice["message"]["content"] for choice in answered["response"]["body"]["choices"]]
    assert texts == [result.text for result in expected(checkpoint, messages, seed=7, max_tokens=8, n=2)]
    assert elsewhere["response"]["status_code"] == 404
    assert elsewhere["error"]["message"] == f"unknown model 'other'; allowed: {checkpoint.name}"
    assert stream["error"] == "allowed as a request: POST with a JSON object, without stream"
    assert url["error"] == "url is 'chat'; allowed: an endpoint such as /v1/chat/completions"
    assert prompt["text"] == expected(checkpoint, PROMPTS[1], max_tokens=4).text
    again = run("--batch", given, "--output", out)
    assert "2 of 5 lines are already answered" in again.stderr
    assert read(out.read_text())[0] == answered
    for arguments, message in (
        (("--steps", 4), "steps is given; allowed for a request: only in its body"),
        (("--ray", 2), f"ray is 2; allowed: only for prompts, and {given} holds requests"),
    ):
        refused = run("--batch", given, *arguments)
        assert message in refused.stdout + refused.stderr


def test_interrupt_keeps_finished_answers(run: Any, checkpoint: Path, tmp_path: Path):
    lines: list[Any] = [{"prompt": prompt, "steps": 2, "max_tokens": 4} for prompt in PROMPTS]
    slow = {"prompt": PROMPTS[0], "id": "slow", "steps": 1000, "adaptive": False, "canvas_length": 1, "max_tokens": 90}
    given, out = write(tmp_path / "prompts.jsonl", slow, *lines), tmp_path / "answers.jsonl"
    command = [sys.executable, "-m", "sfumato", "run", "--model", checkpoint, "--batch", given, "--output", out]
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, env=os.environ, text=True)
    end = time.monotonic() + 600
    while not out.exists() or out.read_text().count("\n") < len(lines):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    kept = {answer["id"]: answer["text"] for answer in read(out.read_text())}
    assert kept.keys() == set(range(2, 7))
    write(given, slow | {"steps": 2, "max_tokens": 4}, *lines)
    done = run("--batch", given, "--output", out)
    assert "5 of 6 lines are already answered" in done.stderr
    assert [answer["id"] for answer in read(out.read_text())] == ["slow", 2, 3, 4, 5, 6]
    assert {answer["id"]: answer["text"] for answer in read(out.read_text())[1:]} == kept


@pytest.mark.slow
def test_ray_workers_answer_as_one_process(run: Any, checkpoint: Path, tmp_path: Path):
    pytest.importorskip("ray.data")
    lines = [{"prompt": prompt, "id": f"line {i}", "seed": i} for i, prompt in enumerate(PROMPTS * 3)]
    given = write(tmp_path / "prompts.jsonl", *lines, {"prompt": PROMPTS[0], "n": 2}, {"prompt": 5})
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    assert run("--batch", given, "--output", here).exit_code == 1
    command = [sys.executable, "-m", "sfumato", "run", "--model", checkpoint, "--batch", given, "--output", there]
    done = subprocess.run([*map(str, command), "--ray", "2"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "17 answers" in done.stderr
    answers, expected = read(there.read_text()), read(here.read_text())
    for answer, other in zip(answers, expected, strict=True):
        for one, same in zip(answer.get("results", [answer]), other.get("results", [other]), strict=True):
            assert (one.get("text"), one.get("seed")) == (same.get("text"), same.get("seed"))
    assert [answer["id"] for answer in answers] == [answer["id"] for answer in expected]
