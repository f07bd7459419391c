"""From a recipe to a run: names and files are checked, and parts that do not fit are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import sfumato
from sfumato.checkpoints.load import load_checkpoint
from sfumato.config import load_recipe
from sfumato.data.tasks import TASKS, split_of
from sfumato.errors import CheckpointError, ConfigError
from sfumato.models.model import AttentionSpec
from sfumato.spec import DEFAULT
from sfumato.text.tokenizer import Tokenizer
from sfumato.training import run as recipes
from sfumato.training.heads import HeadsRecipe
from sfumato.training.recipe import DataConfig, Recipe
from sfumato.training.rl import RLRecipe
from sfumato.training.run import Run

SMALL = """
[model]
vocab_size = 261
hidden_size = 8
intermediate_size = 16
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 4

[data]
tasks = { countdown = 1.0 }
tokenizer_items = 1

[packing]
rows = 1
row_length = 256
canvas_lengths = [64]

[train]
steps = 2
threads = 1
"""
KEPT = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path / "small.toml"


def read(path: Path, *overrides: str) -> Recipe:
    return load_recipe(Recipe, path, overrides)


# But for the suite of a report.
@pytest.mark.parametrize(
    "name", sorted({path.name for path in KEPT.glob("*.toml")} - {"report.toml", "frontier.toml", "noise.toml"})
)
def test_repository_recipes_are_valid(name: str):
    for ending, kind in (("-heads.toml", HeadsRecipe), ("-rl.toml", RLRecipe)):
        if name.endswith(ending):
            load_recipe(kind, KEPT / name)
            return
    found = read(KEPT / name)
    shape = found.model or found.adapt
    assert (shape is None) == (found.model is None and bool(found.init_from))
    assert shape is None or found.generation_spec.self_conditioning == shape.self_conditioning
    assert found.generation_spec.autoregressive == (found.packing.canvas_lengths == ())


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trian.steps=3", "unknown key 'trian'; did you mean 'train'"),
        ("train.step=3", "unknown key 'train.step'; did you mean 'train.steps'"),
        ("model.hiden_size=3", "unknown key 'model.hiden_size'; did you mean 'model.hidden_size'"),
        ("objective.spanshare=0.1", "did you mean 'objective.span_share'"),
        ("generation_spec.noise=gauss", "unknown value of generation_spec.noise 'gauss'"),
        ("packing.rows=0", "packing.rows is 0; allowed: 1 or more"),
        ("evaluation.n=0", "evaluation.n is 0; allowed: 1 or more"),
        ("train.steps=many", "train.steps is 'many'; allowed: a whole number"),
        ("generation={steps = '7'}", "generation: steps is '7'; allowed: a whole number"),
        ("generation={name = 'threshold', threshold = '0.9'}", "generation: threshold is '0.9'; allowed: 0 to 1"),
        ("generation={max_tokens = 1.5}", "generation: max_tokens is 1.5; allowed: a whole number, 1 or more"),
        ("generation={min_certainty = 0.5}", "generation: min_certainty is 0.5; allowed: -inf to 0"),
        ("generation={tasks = 'json'}", "generation: tasks is 'json'; allowed: a list of names"),
    ],
)
def test_invalid_recipes_are_refused(path: Path, override: str, message: str):
    with pytest.raises(ConfigError, match=message):
        read(path, override)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.tasks={countdwn = 1.0}", "unknown task 'countdwn'; did you mean 'countdown'"),
        ("data.tasks={}", "there is nothing to train on"),
        ("data.files={'nowhere.txt' = 1.0}", "cannot read nowhere.txt: No such file"),
        ("model.vocab_size=100", "vocab_size is 100; allowed: 261 or more"),
        ("generation_spec={noise = 'mask', mask_id = 261}", "mask_id is 261; allowed: 0 to 260"),
        ("generation_spec.self_conditioning=true", "generation_spec.self_conditioning is True and model.self_cond"),
        ("model.self_conditioning=true", "generation_spec.self_conditioning is False and model.self_conditioning"),
    ],
)
def test_recipes_whose_parts_do_not_fit_are_refused(path: Path, tmp_path: Path, override: str, message: str):
    with pytest.raises(ConfigError, match=message):
        Run(read(path, override), tmp_path / "run")


@pytest.mark.parametrize(("name", "line"), [("some.txt", b"na\xefve"), ("some.jsonl", b'{"text": "na\xefve"}')])
def test_training_file_must_be_utf8(path: Path, tmp_path: Path, name: str, line: bytes):
    """Whichever comes to it first, the training of a tokenizer included."""
    (tmp_path / name).write_bytes(line)
    found = read(path, f"data.files={{'{tmp_path / name}' = 1.0}}")
    with pytest.raises(ConfigError, match=rf"{name} is not UTF-8: byte {line.index(0xEF)} is 0xef; convert it first"):
        Run(found, tmp_path / "run")


def test_new_tokenizer_learns_from_text_not_markup(path: Path, tmp_path: Path):
    record = {"messages": [{"role": "user", "content": "zebra"}, {"role": "assistant", "content": "quagga\n"}]}
    (tmp_path / "some.jsonl").write_text(f"{json.dumps(record)}\n" * 3)
    overrides = (f"data.files={{'{tmp_path / 'some.jsonl'}' = 1.0}}", "data.tasks={}", "model.vocab_size=300")
    tokenizer = Run(read(path, *overrides), tmp_path / "run").tokenizer
    assert len(tokenizer.encode("zebra")) == 1
    assert len(tokenizer.encode('{"role": "user"')) > 10


def test_tokenizer_learns_only_from_training_items():
    data = DataConfig(tasks={"arithmetic": 1.0, "countdown": 1.0}, tokenizer_items=300)
    texts = list(recipes._texts(data))
    assert len(texts) == 2 * 2 * 300
    assert {split_of(prompt) for prompt in texts[::2]} == {"train"}


def test_run_writes_a_checkpoint_of_the_average(path: Path, tmp_path: Path):
    run = Run(read(path, "generation={steps = 7}", "train.average=0.5"), tmp_path / "run")
    run.trainer.run()
    run.save_checkpoint()
    loaded = load_checkpoint(tmp_path / "run" / "checkpoint")
    assert loaded.generation == {"steps": 7, "prompt_kinds": [TASKS["countdown"].kind.to_dict()]}
    assert loaded.spec == run.spec == DEFAULT
    weights = loaded.model.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in run.trainer.average.items())
    assert not torch.equal(weights["model.norm.weight"], run.trainer.model.state_dict()["model.norm.weight"])
    tokenizer = Tokenizer.load(tmp_path / "run" / "checkpoint")
    assert tokenizer.encode("answer: 7") == run.tokenizer.encode("answer: 7")


def test_checkpoint_lists_kinds_only_if_trained_on_tasks(path: Path, tmp_path: Path):
    def kinds(*overrides: str) -> list[str]:
        run = Run(read(path, *overrides), tmp_path / "run")
        run.save_checkpoint()
        return [kind["name"] for kind in run.generation.get("prompt_kinds", [])]

    start = f"init_from={tmp_path / 'run' / 'checkpoint'}"
    (tmp_path / "some.jsonl").write_text('{"prompt": "a", "response": "b"}\n')
    assert kinds() == ["countdown"]
    assert kinds(start, "data.tasks={pi = 1.0}") == ["pi"]
    assert kinds(start, f"data.files={{'{tmp_path / 'some.jsonl'}' = 1.0}}") == []
    # What that one was asked is not known.
    assert kinds(start) == []


def test_run_takes_over_no_tokenizer_of_a_start_that_failed(path: Path, tmp_path: Path):
    settings = ("model.vocab_size=280", "data.tokenizer_items=20")
    with pytest.raises(ConfigError, match="nowhere"):
        Run(read(path, *settings, "data.tasks={pi = 1.0}", "data.files={'nowhere.jsonl' = 1.0}"), tmp_path / "run")
    again = Run(read(path, *settings), tmp_path / "run").tokenizer
    assert again.encode("countdown") == Run(read(path, *settings), tmp_path / "new").tokenizer.encode("countdown")
    pi = Run(read(path, *settings, "data.tasks={pi = 1.0}"), tmp_path / "pi").tokenizer
    assert again.encode("countdown") != pi.encode("countdown")


def test_resumed_run_keeps_its_tokenizer(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = Run(read(path, "model.vocab_size=280", "data.tokenizer_items=20"), tmp_path / "run")
    monkeypatch.setattr(recipes, "train_tokenizer", None)
    again = Run(read(path, "model.vocab_size=280", "data.tokenizer_items=20"), tmp_path / "run")
    assert again.tokenizer.encode("countdown: 1 2 3") == first.tokenizer.encode("countdown: 1 2 3")
    given = Run(read(path, "model.vocab_size=280", f"data.tokenizer={tmp_path / 'run' / 'tokenizer'}"), tmp_path / "b")
    assert given.tokenizer.vocab_size == first.tokenizer.vocab_size
    named = Run(read(path, "model.vocab_size=768", "data.tokenizer=tiny"), tmp_path / "c")
    assert named.tokenizer.encode("12+5=17") == sfumato.load("tiny").tokenizer.encode("12+5=17")
    with pytest.raises(
        ConfigError, match=r"model.vocab_size is 262; allowed: at least 2[0-9]+, the size of the tokenizer"
    ):
        Run(read(path, "model.vocab_size=262", f"data.tokenizer={tmp_path / 'run' / 'tokenizer'}"), tmp_path / "d")


def test_missing_tokenizer_is_named(path: Path, tmp_path: Path):
    with pytest.raises(CheckpointError, match="no tokenizer at"):
        Run(read(path, f"data.tokenizer={tmp_path}"), tmp_path / "run")


def test_run_starts_from_a_checkpoint(path: Path, tmp_path: Path):
    """What the checkpoint lacks starts fresh; what does not fit is named."""
    first = Run(read(path, "train.seed=5"), tmp_path / "one")
    first.save_checkpoint()
    start = f"init_from={first.checkpoint_directory}"
    second = Run(read(path, start, "model.canvas_embedding=true"), tmp_path / "two")
    expected, found = first.trainer.model.state_dict(), second.trainer.model.state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert found.keys() - expected.keys() == {"model.canvas_embed.weight"}
    # Embeddings mean nothing to another tokenizer.
    assert not (tmp_path / "two" / "tokenizer").exists()
    assert second.tokenizer.encode("7+8") == first.tokenizer.encode("7+8")
    assert all(torch.equal(found[name], tensor) for name, tensor in second.trainer.average.items())
    with pytest.raises(ConfigError, match=r"model\.embed_tokens\.weight \[\d+, 8\] \(\[\d+, 12\]\)"):
        Run(read(path, start, "model.hidden_size=12"), tmp_path / "three")
    with pytest.raises(CheckpointError, match=r"no such file or directory: .*nowhere; allowed: a checkpoint directory"):
        Run(read(path, f"init_from={tmp_path / 'nowhere'}"), tmp_path / "four")


def test_run_starts_from_a_shallower_checkpoint(path: Path, tmp_path: Path):
    """A deeper model computes the same before its first step."""
    first = Run(read(path, "model.num_hidden_layers=2", "train.seed=5"), tmp_path / "one")
    first.save_checkpoint()
    start = f"init_from={first.checkpoint_directory}"
    second = Run(read(path, start, "model.num_hidden_layers=5"), tmp_path / "two")
    tokens_BT = torch.tensor([first.tokenizer.encode("countdown: 1 2 3")])
    indices_BT = torch.arange(tokens_BT.shape[1])[None]

    def logits(run: Run) -> Tensor:
        with torch.no_grad():
            return run.trainer.model.logits(run.trainer.model(tokens_BT, indices_BT, AttentionSpec(causal=True)))

    assert second.trainer.model.config.num_hidden_layers == 5
    torch.testing.assert_close(logits(second), logits(first), rtol=0, atol=0)
    second.trainer.run()
    assert not torch.equal(logits(second), logits(first))
    with pytest.raises(ConfigError, match=r"its tensors do not fit this model's .*model\.layers\.1\..*\(none\)"):
        Run(read(path, start, "model.num_hidden_layers=1"), tmp_path / "three")


def test_text_without_a_loss_drafts_no_more(path: Path, tmp_path: Path):
    """What no longer learns to predict the next token cannot verify a draft."""
    spec = "generation_spec={canvas_length = 8, logit_shift = true, next_token = true}"
    first = Run(read(path, spec, "generation={draft_steps = 1}"), tmp_path / "one")
    first.save_checkpoint()
    (tmp_path / "further.toml").write_text(SMALL[SMALL.index("[data]") :])
    start = f"init_from={first.checkpoint_directory}"
    same = Run(load_recipe(Recipe, tmp_path / "further.toml", [start]), tmp_path / "two")
    assert (same.spec.next_token, same.generation["draft_steps"]) == (True, 1)
    without = Run(load_recipe(Recipe, tmp_path / "further.toml", [start, "packing.ar_share=0"]), tmp_path / "three")
    assert not without.spec.next_token
    assert "draft_steps" not in without.generation


def test_checkpoint_is_trained_with_its_own_spec(path: Path, tmp_path: Path):
    """A recipe that does not say how a model generates takes it, and how it samples, from where it starts."""
    masks = "generation_spec={noise = 'mask', mask_id = 4, canvas_length = 8, prefix_attention = 'full'}"
    first = Run(read(path, masks, "generation={steps = 7}", "packing.ar_share=0"), tmp_path / "one")
    first.save_checkpoint()
    (tmp_path / "further.toml").write_text(SMALL[SMALL.index("[data]") :])
    start = [f"init_from={first.checkpoint_directory}", "packing.ar_share=0"]
    second = Run(load_recipe(Recipe, tmp_path / "further.toml", start), tmp_path / "two")
    second.trainer.run()
    second.save_checkpoint()
    found = load_checkpoint(second.checkpoint_directory)
    assert (found.spec, found.generation) == (first.spec, first.generation)
    with pytest.raises(ConfigError, match=r"ar_share is 1.0 and prefix_attention is 'full'; allowed: 0"):
        Run(load_recipe(Recipe, tmp_path / "further.toml", start[:1]), tmp_path / "three")
    with pytest.raises(ConfigError, match=r"length_weight is 0.1 and prefix_attention is 'full'; allowed: 0"):
        Run(load_recipe(Recipe, tmp_path / "further.toml", [*start, "objective.length_weight=0.1"]), tmp_path / "four")
    with pytest.raises(ConfigError, match=r"length_weight is 0.1 and the model has no length head; allowed: 0, or"):
        Run(read(path, "objective.length_weight=0.1"), tmp_path / "five")
    other = Run(load_recipe(Recipe, tmp_path / "further.toml", [*start[:1], "generation_spec={}"]), tmp_path / "five")
    assert other.spec == DEFAULT


def test_lora_without_checkpoint_is_refused(path: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"\[lora\] corrects an existing model.*allowed: \[adapt\], or init_from"):
        Run(read(path, "lora.rank=2"), tmp_path / "run")


def test_seed_determines_the_run(path: Path, tmp_path: Path):
    def losses(name: str, seed: int) -> list[Any]:
        run = Run(read(path, f"train.seed={seed}"), tmp_path / name)
        run.trainer.run()
        return [json.loads(line)["loss"] for line in run.trainer.log.path.read_text().splitlines()]

    first = losses("a", 1)
    assert losses("b", 1) == first
    assert losses("c", 2) != first


def test_twin_reads_the_same_documents(path: Path, tmp_path: Path):
    """Canvases change what a row holds, not which document a seed gives."""
    runs = [
        Run(read(path, *overrides), tmp_path / name)
        for name, overrides in (
            ("diffusion", ()),
            ("twin", ("packing.canvas_lengths=[]", "generation_spec={canvas_length = 1, logit_shift = true}")),
        )
    ]
    for seed in range(5):
        documents = [run.trainer._source.document(seed) for run in runs]
        assert documents[0] == documents[1]
    for run in runs:
        run.trainer.run()
        last = json.loads(run.trainer.log.path.read_text().splitlines()[-1])
        assert (last["canvas_loss"] == 0.0) == (run.directory.name == "twin")
        assert last["ar_loss"] > 1.0


def test_run_is_resumed_only_with_its_own_recipe(path: Path, tmp_path: Path):
    started = Run(read(path), tmp_path / "run")
    started.start()
    started.trainer.run()
    again = Run(read(path, "train.threads=2", "evaluation.n=3"), tmp_path / "run")
    again.resume()
    assert again.trainer.progress.step == 2
    other = Run(read(path, "train.lr=0.5", "data.tasks.pi=1.0"), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"data\.tasks\.pi was None and is 1\.0; train\.lr was 0\.001 and is 0\.5"):
        other.resume()
    assert other.trainer.progress.step == 0
    # A setting that is newer than the run has its default.
    saved = json.loads(started.recipe_path.read_text())
    del saved["data"]["every_answer"]
    started.recipe_path.write_text(json.dumps(saved))
    again.resume()
    with pytest.raises(ConfigError, match=r"data\.every_answer was False and is True"):
        Run(read(path, "data.every_answer=true"), tmp_path / "run").resume()
