"""`sfumato rl`: from a recipe to a checkpoint that answers, and what is refused before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.training.rl import RLTrainer

RECIPE = """
init_from = "{model}"

[rollout]
canvas_length = 16
max_tokens = 16
tasks = {{ arithmetic = 1.0, sums = 1.0 }}
sampler = {{ steps = 2 }}

[rl]
prompts = 2
answers = 2

[train]
steps = 2
warmup = 0
threads = 1

[evaluation]
tasks = ["arithmetic"]
n = 2
"""

Run = Callable[..., Any]


@pytest.fixture
def recipe(tmp_path: Path, checkpoint: Path) -> Path:
    path = tmp_path / "rewarded.toml"
    path.write_text(RECIPE.format(model=checkpoint))
    return path


@pytest.fixture
def rewarding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights at random solve nothing; here every second answer is right."""
    from sfumato.data.tasks import Arithmetic, Sums

    for task in (Arithmetic, Sums):
        monkeypatch.setattr(task, "check", lambda self, item, response: len(response) % 2 == 0)


@pytest.mark.usefixtures("rewarding")
def test_run_writes_checkpoint_and_one_line_of_numbers(sfumato: Run, recipe: Path, tmp_path: Path):
    done = sfumato("rl", recipe, "--dir", tmp_path / "run", "--set", "rl.answers=4")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    numbers = json.loads(done.stdout)
    assert list(numbers) == ["steps", "seconds", "reward", "before", "after", "checkpoint"]
    assert numbers["before"].keys() == numbers["after"].keys() == {"score/arithmetic", "mean_steps/arithmetic"}
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in log] == [0, 1, 2]
    assert {"reward", "solved", "mean_steps", "kl", "clipped", "seconds"} <= log[1].keys()
    assert sum(record["decisions"] for record in log[1:]) > 0
    assert all(record["replay_error"] < 1e-4 for record in log[1:])
    assert "run: step 2/2 · reward" in done.stderr
    answer = sfumato("run", "7+8", "--model", numbers["checkpoint"], "--json")
    assert answer.exit_code == 0, answer.stderr


@pytest.mark.usefixtures("rewarding")
def test_interrupt_names_the_resume_command(
    sfumato: Run, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = sfumato("rl", recipe, "--dir", tmp_path / "whole")
    assert whole.exit_code == 0, whole.stderr
    step = RLTrainer._step

    def stopping(self: RLTrainer) -> dict[str, Any]:
        if self.progress.step == 1:
            raise KeyboardInterrupt
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(RLTrainer, "_step", stopping)
        stopped = sfumato("rl", recipe, "--dir", tmp_path / "run")
    assert stopped.exit_code == 130
    assert "saved at step 1; to continue, run: sfumato rl" in stopped.stderr
    arguments = stopped.stderr.split("to continue, run: sfumato ")[1].split()
    assert sfumato(*arguments).exit_code == 0
    files = [(tmp_path / name / "checkpoint" / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("init_from=nothing", "nothing"),
        ("rollout.tasks.additions=1.0", "unknown task 'additions'"),
        ('evaluation.tasks=["additions"]', "unknown task 'additions'"),
        ("rollout.tasks={}", "tasks is empty"),
        ("rollout.tasks.sums=-1.0", "the weight of task 'sums' is -1.0"),
        ("rollout.sampler.top_p=0.5", "top_p is 0.5"),
        ("rollout.sampler.temperature=0.0", "temperature_start is 0.0"),
        ("rollout.sampler.name=ancestral", "sampler is 'ancestral'"),
        ("rollout.sampler.setps=3", "unknown option 'setps'"),
        ("rl.answer=3", "answers"),
        ("rl.answers=1", "answers is 1"),
        ("train.accumulation=2", "accumulation is 2"),
        ("evaluation.bound_batches=2", "bound_batches is 2"),
    ],
)
def test_invalid_runs_are_refused(sfumato: Run, recipe: Path, tmp_path: Path, override: str, message: str):
    done = sfumato("rl", recipe, "--dir", tmp_path / "run", "--set", override)
    assert done.exit_code == (1 if override.startswith("init_from") else 2), done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run" / "log.jsonl").exists()


def test_autoregressive_model_is_refused(sfumato: Run, recipe: Path, tmp_path: Path):
    done = sfumato(
        "rl", recipe, "--dir", tmp_path / "run", "--set", "init_from=tiny-twin", "--set", "rollout.canvas_length=0"
    )
    assert done.exit_code == 2
    assert "canvas_length is 1" in done.stderr


def test_existing_and_missing_states(sfumato: Run, recipe: Path, tmp_path: Path):
    missing = sfumato("rl", recipe, "--dir", tmp_path / "run", "--resume")
    assert (missing.exit_code, "no state to resume from" in missing.stderr) == (2, True)
    assert sfumato("rl", recipe, "--dir", tmp_path / "run").exit_code == 0
    again = sfumato("rl", recipe, "--dir", tmp_path / "run")
    assert (again.exit_code, "--resume" in again.stderr) == (2, True)
    other = sfumato("rl", recipe, "--dir", tmp_path / "run", "--resume", "--set", "rl.kl_weight=0.5")
    assert other.exit_code == 2
    assert "rl.kl_weight was 0.02 and is 0.5" in other.stderr


def test_stop_head_is_kept(sfumato: Run, recipe: Path, tmp_path: Path):
    settings = ("init_from=tiny", "train.steps=1", "evaluation.tasks=[]", "rollout.sampler.name=random")
    overrides = [part for setting in settings for part in ("--set", setting)]
    done = sfumato("rl", recipe, "--dir", tmp_path / "run", *overrides)
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "run" / "checkpoint" / "stop_head.safetensors").is_file()
