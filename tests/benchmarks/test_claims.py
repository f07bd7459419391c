"""What the pages of docs/evidence count, on answers that are made up and on few that are not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.__main__ import app
from benchmarks.claims import (
    answer_first,
    batch,
    difficulty,
    drafting,
    epochs,
    iteration,
    learned_stop,
    noise,
    self_drafting,
    steps,
    sudoku9,
)
from benchmarks.claims.asking import Asked
from benchmarks.shapes import build_shape
from benchmarks.simulate import reached
from typer.testing import CliRunner

from benchmarks import claims
from sfumato.costs import step_cost
from sfumato.data.tasks import Item, find_task
from sfumato.engine.request import CanvasChanged, Result, Usage
from sfumato.errors import ConfigError
from sfumato.evaluation.records import Record
from sfumato.evaluation.report import Report
from sfumato.evaluation.suite import read_suite
from sfumato.evaluation.tasks import asked_items
from sfumato.models.decoder import Decoder

ROOT = Path(__file__).parents[2]
GOLD = Item(prompt="answer, then derive: 4*9+sqrt(9)", response="39\n36+3 = 39", answer="39")


def draft(step: int, text: str, accepted: str) -> CanvasChanged:
    """A step of a canvas whose positions are characters; accepted are those that are marked."""
    size = len(text)
    return CanvasChanged(
        variation=0,
        canvas=0,
        step=step,
        steps=9,
        tokens=(0,) * (size + 1),
        pieces=(*text, ""),
        text=text,
        accepted=tuple(mark == "x" for mark in accepted.ljust(size + 1)),
        revised=(False,) * (size + 1),
        confidence=(1.0,) * (size + 1),
    )


def asked(*answers: Sequence[tuple[str, str]]) -> Asked:
    """Answers of which each draft is a text and what was accepted of it."""
    found = Asked.__new__(Asked)
    found.task = answer_first.FirstLine(find_task("arithmetic"))
    found.items = [GOLD] * len(answers)
    found.results = [
        Result(
            text=drafts[-1][0],
            tokens=(),
            finish_reason="stop",
            model="tiny",
            seed=0,
            usage=Usage(denoising_steps=len(drafts)),
            trace=[draft(step, *each) for step, each in enumerate(drafts, 1)],
        )
        for drafts in answers
    ]
    found.right = [found.task.check(GOLD, result.text) for result in found.results]
    return found


def test_corrections_differ_from_changes_before_acceptance():
    put_right = [
        ("60\n36+4 = 40", ""),
        ("49\n36+3 = 40", "xxx"),
        ("49\n36+3 = 39", "   xxxxxxxxx"),
        ("39\n36+3 = 39", "xxx"),
    ]
    never_stood = [("60\n36+4 = 40", ""), ("39\n36+3 = 39", "xxx")]
    spoiled = [("39\n36+3 = 39", "xxx"), ("40\n36+4 = 40", "xxxxxxxxxxxxx")]
    at_once = [("49\n36+3 = 49", "xxx"), ("39\n36+3 = 39", "xxx")]
    row = answer_first.describe("demo", asked(put_right, never_stood, spoiled, at_once))
    assert (row["n"], row["right"], row["drafted_right"]) == (4, 0.75, 0.25)
    assert (row["revised"], row["wrong_to_right"], row["right_to_wrong"]) == (3, 2, 1)
    # 39 came to stand at steps 4 and 2; the line below read right from 3 on, and in the same step.
    assert row["below"] == {"before": 1, "same": 1}
    assert row["fixed_step"] == 3
    assert row["firsts"]["49, in the end 39"] == 2
    assert row["seen"]["60 → 49 → 39"] == 1


def test_family_checks_the_first_line():
    task = answer_first.FirstLine(find_task("plain"), "answer, then")
    for seed in range(20):
        item = task.generate(seed)
        assert item.prompt.startswith("answer, then")
        assert item.answer == item.response.split("\n")[0]
        assert task.check(item, item.response)
        assert not task.check(item, f"x\n{item.response}")


def test_gains_are_paired():
    one, other = (
        asked([("39", "xx")], [("40", "xx")], [("39", "xx")]),
        asked([("40", "xx")], [("40", "xx")], [("39", "xx")]),
    )
    gain = one.gain(other)
    assert gain["gain"] == pytest.approx(1 / 3)
    # Differences 1, 0, 0: a deviation of sqrt(1/3), over sqrt(3).
    assert gain["two_errors"] == pytest.approx(2 / 3)
    assert other.gain(one)["gain"] == pytest.approx(-1 / 3)


def test_caps_limit_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(steps, "TASKS", {"tiny": ("sudoku4",)})
    monkeypatch.setattr(steps, "CAPS", (1, 2))
    rows = list(steps.measure(3))
    assert [(row["cap"], row["against"]) for row in rows] == [(1, None), (2, 1), (None, 1)]
    assert all(row["steps"] <= row["cap"] for row in rows[:2])
    assert [row["worse"] for row in rows[1:]] == [row["gain"] < -row["two_errors"] for row in rows[1:]]


def test_steps_by_difficulty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(difficulty, "MEASURES", {"sums": difficulty.MEASURES["sums"]})
    [row] = difficulty.measure(8)
    assert sum(level[1] for level in row["levels"]) == 8
    assert {level[0] for level in row["levels"]} <= {3, 4, 5, 6}
    mean = sum(level[1] * level[2] for level in row["levels"]) / 8
    assert mean == pytest.approx(row["steps"])
    assert row["spearman_95"][0] <= row["spearman"] <= row["spearman_95"][1]


def test_with_and_without_the_learned_stop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(steps, "TASKS", {"tiny": ("json",)})
    monkeypatch.setattr(learned_stop, "TASKS", {"tiny": ("json",)})
    [row] = learned_stop.measure(6)
    assert row["steps_with"] < row["steps_without"]


def test_gaps_in_one_step_and_in_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(iteration, "TASKS", ("json",))
    [row] = iteration.measure(2)
    assert row["one_steps"] < row["many_steps"]


def test_crossing():
    assert batch.crossing(lambda rows: (100.0, 10.0 * rows)) == 11
    assert batch.crossing(lambda rows: (1.0, 2.0)) == 1
    assert batch.crossing(lambda rows: (rows, rows)) is None


def test_computed_rows_match_the_roofline():
    [row] = batch.computed("smollm2-135m", "h100", 64, 8)
    model, _ = build_shape("smollm2-135m")
    machine = reached("h100", "bfloat16")
    single = machine.seconds(step_cost(model, 1, batch.PREFIX, rows=4), 2.0)
    assert row["single_tokens_per_s"][row["concurrency"].index(4)] == pytest.approx(4 / single)
    step = machine.seconds(step_cost(model, 64, batch.PREFIX, soft_embedding=True), 2.0)
    assert row["canvas_tokens_per_s"][0] == pytest.approx(64 / 8 / step)


def test_several_rows_read_the_weights_once(make_decoder: Callable[..., Decoder]):
    one, three = (step_cost(make_decoder(), 8, 5, soft_embedding=True, rows=rows) for rows in (1, 3))
    assert three.operations == pytest.approx(3 * one.operations)
    assert three.num_cached == pytest.approx(3 * one.num_cached)
    assert three.num_weights == one.num_weights


def test_drafting_bounds():
    rows = list(drafting.bounds("here", "m", "float32", {1: 1.0, 4: 2.0}))
    assert [row["free_and_perfect"] for row in rows] == [1.0, 2.0]
    assert rows[1]["one_step_and_perfect"] == 1.0
    # Four tokens of four: every one has to be accepted.
    assert rows[1]["acceptance_for_2"] == pytest.approx(1.0)
    assert drafting.acceptance(2, 1.5) == pytest.approx(0.5)
    assert drafting.acceptance(2, 2.5) is None


def test_drafts_are_what_the_same_weights_write_by_token(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(self_drafting, "TASKS", {"tiny": ("json",)})
    canvas, drafts, tokens = self_drafting.measure(3)
    assert [row["way"] for row in (canvas, drafts, tokens)] == ["canvas", "drafts", "tokens"]
    assert drafts["same_as_tokens"] == 1.0
    assert (drafts["right"], drafts["tokens"]) == (tokens["right"], tokens["tokens"])
    # One pass a token and one for the end, against far fewer.
    assert tokens["passes"] == tokens["tokens"] + 1
    assert drafts["passes"] < tokens["passes"] / 2


def test_noise_counts_answers_by_task_and_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"sfumato report recipes/noise\.toml"):
        next(noise.measure(9))
    noise.SUITE.parent.mkdir()
    shutil.copy(ROOT / noise.SUITE, noise.SUITE)
    task, seed = "sums", 0
    _, items = asked_items(task, seed, 5)
    usage = {"denoising_steps": 4.0, "revisions": 2.0}
    answers = [(False, True), (True, False), (None, True), (True, True)]
    with Report(read_suite(noise.SUITE), noise.DIRECTORY).records() as records:
        asked = [
            Record(system="random-0.1", task=task, index=i, prompt=item.prompt, seed=i) for i, item in enumerate(items)
        ]
        # Those that failed are asked again, and the last of them for good.
        for record in (asked[0], asked[2], asked[4]):
            records.add(replace(record, error="gone"))
        for record, item, (first, right) in zip(asked, items, answers, strict=False):
            answer = item.response if right else ""
            records.add(replace(record, answer=answer, usage=usage, first_right=first, right=right))
    (row,) = noise.measure(9)
    assert (row["n"], row["score"], row["right_to_wrong"], row["wrong_to_right"]) == (4, 0.75, 1, 1)
    (row,) = noise.measure(2)
    assert (row["n"], row["score"], row["revisions"]) == (2, 0.5, 2.0)


def test_epochs_are_documents_drawn_over_documents_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in epochs.RECIPES.values():
        (tmp_path / "recipes").mkdir(exist_ok=True)
        shutil.copy(ROOT / "recipes" / f"{name}.toml", tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"sfumato train recipes/evidence-epochs\.toml"):
        next(epochs.measure(1))
    for name in epochs.RECIPES.values():
        log = Path("runs", name, "log.jsonl")
        log.parent.mkdir(parents=True)
        records = [{"step": 1, "loss": 2.0}, {"step": 7, "loss": 1.0, "response_nll": 0.5, "score/json": 0.0}]
        log.write_text("".join(json.dumps(record) + "\n" for record in records))
    counted = {}
    for size in (3, 6):
        for path in ("scarce.jsonl", "held.jsonl"):
            Path(path).write_text('{"prompt": "json: a", "response": "{}"}\n' * size)
        canvas, twin = epochs.measure(2)
        assert (canvas["kind"], twin["kind"]) == ("canvas", "twin")
        counted[size] = canvas["epochs"], twin["epochs"]
    assert counted[3] == pytest.approx([2 * count for count in counted[6]])
    # A canvas takes at least 48 positions of a row of 256, and there are eight rows and seven steps.
    assert 0 < counted[3][0] <= 7 * 8 * (256 // 48) / 3


def test_digits_of_blanks_are_counted():
    asked = [item for item in map(find_task("sudoku9").generate, range(40)) if item.meta["num_blanks"] < 38][:4]
    half = asked[1].response[:45] + asked[1].response[:44]
    texts = [asked[0].response, half, "", asked[3].response + "\n1"]
    results = [SimpleNamespace(text=text) for text in texts]
    counted = sudoku9._counted(SimpleNamespace(items=asked, results=results, right=[True, False, False, False]))  # type: ignore[arg-type]
    blanks = [item.prompt.count(".") for item in asked]
    puzzle = asked[1].prompt.split("\n", 1)[1]
    agree = sum(puzzle[i] == "." and half[i] == asked[1].response[i] for i in range(89))
    assert counted["cells"] == pytest.approx((blanks[0] + agree + blanks[3]) / sum(blanks))
    assert (counted["n"], counted["right"]) == (4, 0.25)
    assert sum(total for _, total in counted["by_blanks"].values()) == 4
    low = blanks[0] // 5 * 5
    assert counted["by_blanks"][f"{low} to {low + 4}"][0] == 1


def test_claim_is_measured_stored_and_redrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row: dict[str, Any] = {"task": "json", "n": 1, "one": 0.5, "many": 1.0}
    row |= {"one_95": [0.1, 0.9], "many_95": [0.2, 1.0], "one_steps": 1.0, "many_steps": 9.0}
    monkeypatch.setattr(iteration, "measure", lambda n: iter([row]))
    arguments = ["claims", "iteration", "--dir", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    kept, drawn = tmp_path / "iteration.jsonl", tmp_path / "iteration.png"
    assert row.items() <= json.loads(kept.read_text()).items()
    before = drawn.read_bytes()
    drawn.unlink()
    monkeypatch.setattr(iteration, "measure", None)
    assert CliRunner().invoke(app, [*arguments, "--redraw"]).exit_code == 0
    assert drawn.read_bytes()[:4] == before[:4] == b"\x89PNG"
    with pytest.raises(ConfigError, match="unknown claim 'step'; did you mean 'steps'"):
        claims.command.claims("step")
