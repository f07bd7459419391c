"""Two processes over gloo equal one: the same losses, gradients and weights, also after a kill."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from sfumato.checkpoints.registry import ASSETS
from sfumato.config import load_recipe
from sfumato.errors import CheckpointError, ConfigError
from sfumato.training.distributed import World, join_world
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run
from sfumato.training.state import newest_state
from sfumato.training.trainer import Trainer

pytestmark = pytest.mark.slow

RECIPE = """
[model]
vocab_size = 261
hidden_size = 12
intermediate_size = 20
num_hidden_layers = 2
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 4
qk_norm = true
canvas_embedding = true
self_conditioning = true
length_buckets = [8, 32]

[generation_spec]
self_conditioning = true

[data]
tasks = { countdown = 1.0 }
tokenizer_items = 1

[packing]
rows = 1
row_length = 256
canvas_lengths = [48, 96]

[objective]
length_weight = 0.1
unroll_from = 0.3

[train]
steps = 8
warmup = 3
accumulation = 2
threads = 1
save_every_s = 1e9
"""
LORA = f"""
[adapt]
base = "{ASSETS / "tiny-twin"}"
layers = 1

[lora]
rank = 4

[generation_spec]
self_conditioning = true

[data]
tasks = {{ countdown = 1.0 }}

[packing]
rows = 1
row_length = 256
canvas_lengths = [48]

[train]
steps = 4
warmup = 1
accumulation = 2
threads = 1
save_every_s = 1e9
"""
MOE = ("model.moe={num_experts = 4, num_experts_per_tok = 2, moe_intermediate_size = 8, score_function = 'sigmoid'}",)

# Imports once, then forks as many processes as a line asks for, each with the environment that torchrun gives. As
# torchrun does, it ends the others when one fails.
LAUNCHER = """
import contextlib, json, os, resource, signal, sys, traceback
from pathlib import Path
import torch, torch._dynamo
import torch.distributed.checkpoint
from sfumato.cli.app import app
from sfumato.config import load_recipe
from sfumato.training.distributed import join_world
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run
from sfumato.training.state import newest_state

def work(order):
    if "command" in order:
        with contextlib.ExitStack() as both:
            for name, redirect in (("out", contextlib.redirect_stdout), ("err", contextlib.redirect_stderr)):
                both.enter_context(redirect(both.enter_context(open(order["directory"] + name, "a", buffering=1))))
            app(order["command"], standalone_mode=False)
        return
    with join_world() as world:
        run = Run(load_recipe(Recipe, Path(order["recipe"]), order["overrides"]), Path(order["directory"]), world=world)
        if newest_state(run.trainer.state_path):
            run.trainer.resume()
        if "spoil" in order:
            def spoiled(model, args, hidden):
                bad = [world.rank, run.trainer.progress.step] in order["spoil"]
                return hidden * (float("nan") if bad else 1.0)
            run.trainer.model.register_forward_hook(spoiled)
        if "full" in order:
            step = run.trainer._step
            def limited():
                if [world.rank, run.trainer.progress.step] == order["full"]:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
                return step()
            run.trainer._step = limited
        run.trainer.run()
        run.save_checkpoint()

for line in sys.stdin:
    order = json.loads(line)
    children = []
    for rank in range(order["size"]):
        child = os.fork()
        if child == 0:
            names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": order["size"], "MASTER_PORT": order["port"]}
            os.environ.update({name: str(value) for name, value in names.items()} | {"MASTER_ADDR": "127.0.0.1"})
            try:
                work(order)
                os._exit(0)
            except KeyboardInterrupt:
                os._exit(3)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    print(json.dumps(children), flush=True)
    codes = {}
    while len(codes) < len(children):
        child, status = os.wait()
        codes[child] = os.waitstatus_to_exitcode(status)
        if codes[child] not in (0, 3):
            for other in set(children) - codes.keys():
                os.kill(other, signal.SIGKILL)
    print(json.dumps([codes[child] for child in children]), flush=True)
"""
PATIENCE_S = 600.0


class Launcher:
    """What stands in for torchrun."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, recipe: Path, directory: Path, *overrides: str, size: int = 2, **more: Any) -> list[int]:
        """Start a run in some processes; their ids."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        order = {"recipe": str(recipe), "directory": str(directory), "overrides": overrides, "size": size, "port": port}
        print(json.dumps(order | more), file=self._process.stdin, flush=True)
        return self._line()

    def wait(self) -> list[int]:
        """Exit codes of all."""
        return self._line()

    def run(self, recipe: Path, directory: Path, *overrides: str, **more: Any) -> None:
        """A run to its end."""
        self.start(recipe, directory, *overrides, **more)
        assert set(self.wait()) == {0}

    def _line(self) -> list[int]:
        found: list[int] = json.loads(self._process.stdout.readline())
        return found


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", LAUNCHER], env=environment, text=True, **streams) as process:
        yield Launcher(process)
        process.stdin.close()


def alone(recipe: Path, directory: Path, *overrides: str) -> Run:
    """A run in this process, from its newest state if it has one."""
    run = Run(load_recipe(Recipe, recipe, overrides), directory)
    if newest_state(run.trainer.state_path):
        run.trainer.resume()
    run.trainer.run()
    run.save_checkpoint()
    return run


def records_of(directory: Path) -> list[dict[str, Any]]:
    lines = (directory / "log.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "tokens_per_s"} for line in lines]


def assert_same_run(first: Path, second: Path, *, steps: int, tolerance: float = 1e-5) -> None:
    """Losses, gradient norms and the weights that come out, of two directories."""
    one, other = records_of(first), records_of(second)
    assert len(one) == len(other) == steps
    for mine, theirs in zip(one, other, strict=True):
        assert mine.keys() == theirs.keys()
        for key, value in mine.items():
            assert theirs[key] == pytest.approx(value, rel=tolerance, abs=tolerance), (mine["step"], key)
    weights = [load_file(place / "checkpoint" / "model.safetensors") for place in (first, second)]
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert (weights[1][name] - tensor).norm() <= tolerance * tensor.norm(), name
        # Where a gradient is nearly nothing, AdamW takes its last bits for a direction: a fiftieth of a step, not more.
        torch.testing.assert_close(weights[1][name], tensor, atol=2e-5, rtol=1e-4)


def wait_for_step(directory: Path, step: int) -> None:
    deadline, log = time.monotonic() + PATIENCE_S, directory / "log.jsonl"
    while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n") >= step):
        time.sleep(0.002)


@pytest.mark.parametrize("overrides", [(), MOE, ("train.recompute=true",)], ids=["dense", "mixture", "recompute"])
def test_two_processes_equal_one(launcher: Launcher, recipe: Path, tmp_path: Path, overrides: tuple[str, ...]):
    one = alone(recipe, tmp_path / "one", *overrides)
    launcher.run(recipe, tmp_path / "two", *overrides)
    assert_same_run(tmp_path / "one", tmp_path / "two", steps=8)
    assert not (tmp_path / "two" / "state.safetensors").exists()
    # AdamW's first moments are the mean of the gradients.
    both = Run(load_recipe(Recipe, recipe, overrides), tmp_path / "two")
    both.trainer.resume()
    pairs = [(one.trainer.model.state_dict(), both.trainer.model.state_dict())]
    states = [run.trainer.optimizers["adamw"].state_dict()["state"] for run in (one, both)]
    assert states[0].keys() == states[1].keys()
    pairs += [(states[0][index], states[1][index]) for index in states[0]]
    for first, second in pairs:
        for name, value in first.items():
            torch.testing.assert_close(second[name], value, atol=1e-5, rtol=1e-4)


def test_lora_of_two_processes_equals_one(launcher: Launcher, tmp_path: Path):
    """Most of each shard is not trained; what comes out is whole, and merged."""
    recipe = tmp_path / "lora.toml"
    recipe.write_text(LORA)
    alone(recipe, tmp_path / "one")
    launcher.run(recipe, tmp_path / "two")
    assert_same_run(tmp_path / "one", tmp_path / "two", steps=4)


def test_muon_equals_itself_on_sharded_matrices(launcher: Launcher, recipe: Path, tmp_path: Path):
    """It makes them orthogonal in bfloat16, of 8 bits, where a last bit of the gradient can be one of the update; done
    shard by shard, updates would be others altogether."""
    overrides = ("train.muon_lr=1e-2", "train.steps=4")
    begun = Run(load_recipe(Recipe, recipe, overrides), tmp_path / "one").trainer.model.state_dict()
    begun = {name: tensor.clone() for name, tensor in begun.items()}
    alone(recipe, tmp_path / "one", *overrides)
    launcher.run(recipe, tmp_path / "two", *overrides)
    one, two = (load_file(tmp_path / name / "checkpoint" / "model.safetensors") for name in ("one", "two"))
    for name, tensor in one.items():
        if ".layers." in name and tensor.dim() == 2:
            assert float((two[name] - tensor).norm() / (tensor - begun[name]).norm()) < 0.1, name
    pairs = zip(records_of(tmp_path / "one"), records_of(tmp_path / "two"), strict=True)
    assert all(theirs["loss"] == pytest.approx(mine["loss"], rel=1e-3) for mine, theirs in pairs)


def test_one_process_alone_may_need_a_first_pass(recipe: Path, tmp_path: Path):
    """The other must join it, or both would wait forever."""
    trainer = Run(load_recipe(Recipe, recipe), tmp_path / "run").trainer
    firsts = [tuple(batch.first_pass(trainer.model) for batch in trainer._batches(step)[0]) for step in range(8)]
    assert {(True, False), (False, True)} & set(firsts)
    assert {(True, True), (False, False)} & set(firsts)


LONGER = "train.steps=12"


@pytest.fixture(scope="module")
def whole(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run of two processes."""
    directory = tmp_path_factory.mktemp("whole")
    (directory / "small.toml").write_text(RECIPE)
    launcher.run(directory / "small.toml", directory / "run", LONGER)
    return directory / "run"


@pytest.mark.parametrize("victim", [0, 1])
def test_killed_process_resumes_exactly(launcher: Launcher, recipe: Path, tmp_path: Path, whole: Path, victim: int):
    directory = tmp_path / "killed"
    children = launcher.start(recipe, directory, LONGER, "train.save_every_s=0.05")
    wait_for_step(directory, 5)
    time.sleep(random.uniform(0.0, 0.1))
    os.kill(children[victim], signal.SIGKILL)
    codes = launcher.wait()
    # The other loses its peer, or is ended as torchrun would.
    assert codes[victim] == -signal.SIGKILL
    assert codes[1 - victim] in (1, -signal.SIGKILL)
    state = newest_state(directory / "state.safetensors")
    assert 0 < int(state.name.removeprefix("state-")) < 12
    launcher.run(recipe, directory, LONGER)
    assert records_of(directory) == records_of(whole)
    assert_same_run(whole, directory, steps=12, tolerance=0.0)
    assert [place.name for place in directory.glob("state*")] == ["state-12"]


def test_interrupting_one_process_stops_both(launcher: Launcher, recipe: Path, tmp_path: Path):
    overrides = ("train.steps=60",)
    children = launcher.start(recipe, tmp_path / "run", *overrides)
    wait_for_step(tmp_path / "run", 5)
    os.kill(children[1], signal.SIGINT)
    assert launcher.wait() == [3, 3]
    done = len(records_of(tmp_path / "run"))
    assert 5 <= done < 60
    assert newest_state(tmp_path / "run" / "state.safetensors") == tmp_path / "run" / f"state-{done}"


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 3)])
def test_run_resumes_with_another_number_of_processes(
    launcher: Launcher, recipe: Path, tmp_path: Path, before: int, after: int
):
    """Shards are cut anew; the steps that follow are those of a run in one process. Of three processes, some hold
    nothing of a small tensor."""
    accumulation = f"train.accumulation={before * after}"
    alone(recipe, tmp_path / "one", accumulation)
    directory = tmp_path / "other"
    stopped = ("train.eval_every=4", accumulation)
    for size, last in ((before, 4), (after, 8)):
        # The schedule knows the number of steps, so that the first sitting ends by an interrupt.
        if last == 4 and size == 1:
            run = Run(load_recipe(Recipe, recipe, stopped), directory)
            for _ in range(last):
                run.trainer._tell(run.trainer._step())
            run.trainer.save()
        elif last == 4:
            children = launcher.start(recipe, directory, *stopped)
            wait_for_step(directory, 1)
            os.kill(children[0], signal.SIGINT)
            assert launcher.wait() == [3] * size
        elif size == 1:
            alone(recipe, directory, *stopped)
        else:
            launcher.run(recipe, directory, *stopped, size=size)
    assert_same_run(tmp_path / "one", directory, steps=8)
    assert len(list(directory.glob("state*"))) == 1


def test_non_finite_step_is_refused_by_all_processes(launcher: Launcher, recipe: Path, tmp_path: Path):
    launcher.run(recipe, tmp_path / "run", spoil=[[0, 3], [1, 5]])
    records = records_of(tmp_path / "run")
    assert [record["step"] for record in records if record["refused"]] == [4, 6]
    assert all(
        bool(tensor.isfinite().all())
        for tensor in load_file(tmp_path / "run" / "checkpoint" / "model.safetensors").values()
    )


def test_full_disk_of_one_process_keeps_the_old_state(launcher: Launcher, recipe: Path, tmp_path: Path):
    launcher.start(recipe, tmp_path / "run", "train.save_every_s=0", full=[1, 4])
    # Both fail, unless the first to do so has the other ended.
    assert set(launcher.wait()) <= {1, -signal.SIGKILL}
    assert newest_state(tmp_path / "run" / "state.safetensors") == tmp_path / "run" / "state-4"
    launcher.run(recipe, tmp_path / "run")
    alone(recipe, tmp_path / "one")
    assert_same_run(tmp_path / "one", tmp_path / "run", steps=8)


def test_half_precision_layers_keep_float32_weights(launcher: Launcher, recipe: Path, tmp_path: Path):
    """Losses are near those of float32, and what is stored is float32."""
    alone(recipe, tmp_path / "one")
    launcher.run(recipe, tmp_path / "two", "train.precision=bfloat16")
    pairs = zip(records_of(tmp_path / "one"), records_of(tmp_path / "two"), strict=True)
    ratios = [theirs["loss"] / mine["loss"] for mine, theirs in pairs]
    assert ratios == pytest.approx([1.0] * 8, abs=0.02)
    assert any(ratio != pytest.approx(1.0, abs=1e-6) for ratio in ratios)
    stored = load_file(tmp_path / "two" / "checkpoint" / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float32}


def test_incompatible_states_are_refused(recipe: Path, launcher: Launcher, tmp_path: Path):
    """Of another model or other optimizers, and half written."""
    launcher.run(recipe, tmp_path / "run", "train.steps=2")
    for override, match in (
        ("model.num_hidden_layers=1", "belongs to a model of another shape"),
        ("model.intermediate_size=24", "belongs to a model of another shape"),
        ("train.muon_lr=1e-2", "belongs to a run with other optimizers"),
    ):
        run = Run(load_recipe(Recipe, recipe, ["train.steps=2", override]), tmp_path / "run")
        with pytest.raises(CheckpointError, match=match):
            run.trainer.resume()
    path = tmp_path / "run" / "state.safetensors"
    place = newest_state(path)
    (place.parent / "state-3.partial").mkdir()
    assert newest_state(path) == place
    shards = sorted(place.glob("*.distcp"))
    assert len(shards) == 2
    shards[0].write_bytes(shards[0].read_bytes()[:100])
    with pytest.raises(CheckpointError, match=r"cannot resume from .*state-2"):
        Run(load_recipe(Recipe, recipe, ["train.steps=2"]), tmp_path / "run").trainer.resume()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"accumulation": 3}, "accumulation is 3; allowed with 2 processes: a multiple of 2"),
        ({"accumulation": 2, "compile": True}, "compile is true; allowed under torchrun: false"),
    ],
)
def test_settings_for_one_process_are_refused_with_several(
    make_trainer: Callable[..., Trainer], tmp_path: Path, config: dict[str, Any], message: str
):
    mesh: Any = object()
    with pytest.raises(ConfigError, match=message):
        make_trainer(tmp_path, world=World(0, 2, mesh), **config)


def test_incomplete_environment_is_refused(monkeypatch: pytest.MonkeyPatch):
    for name in ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with (
        pytest.raises(ConfigError, match="the environment has no RANK, LOCAL_RANK, MASTER_ADDR, MASTER_PORT"),
        join_world(),
    ):
        pass


def test_one_process_needs_no_environment():
    world = World()
    assert (world.sum(1.5, 2), world.any(True, False), list(world.share(3))) == ([1.5, 2], [True, False], [0, 1, 2])
    assert world.first(lambda: 5) == 5
    tensors = {"x": torch.ones(2)}
    assert world.whole(tensors)["x"] is tensors["x"]
    assert [list(dataclasses.replace(world, rank=rank, size=2).share(4)) for rank in (0, 1)] == [[0, 2], [1, 3]]


def test_only_one_process_prints(launcher: Launcher, recipe: Path, tmp_path: Path):
    """That torchrun starts it is in the guide to many GPUs, whose commands are run."""
    arguments = ["train", str(recipe), "--dir", str(tmp_path / "run"), "--set", "train.steps=2"]
    launcher.run(recipe, tmp_path / "said.", command=arguments)
    out, err = ((tmp_path / f"said.{name}").read_text() for name in ("out", "err"))
    assert out.count("\n") == 1
    assert json.loads(out)["steps"] == 2
    assert err.count("run: step 2/2") == 1
