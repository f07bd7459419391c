from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sfumato.checkpoints.load import load_checkpoint
from sfumato.config import from_table
from sfumato.data.code import CorpusWriter, Package
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder
from sfumato.text.lexemes import FIXED, PAD, Lexicon
from sfumato.training.code import CodeBatches, CodeConfig
from sfumato.training.objective import TrainingBatch, losses
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run

FUNCTION = """def {name}(items, limit):
    found = []
    for item in items:
        if item.{attribute} > limit and item not in found:
            found.append(item.{attribute} + {number})
    return found
"""
SHAPE = {
    "vocab_size": len(FIXED),
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "qk_norm": True,
    "length_buckets": [1, 2, 3, 4],
    "lexemes": {"num_spellings": 512, "num_words": 512, "size": 16},
}


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    writer = CorpusWriter()
    sources = (
        FUNCTION.format(name=f"{verb}_{noun}", attribute=noun, number=number)
        for number, verb in enumerate(("find", "list", "count", "get"))
        for noun in ("size", "age", "price")
    )
    files = tuple((f"{number}.py", source) for number, source in enumerate(sources))
    writer.add(Package("some", "1", "MIT", files))
    writer.write(tmp_path / "corpus", {})
    return str(tmp_path / "corpus")


def recipe(corpus: str, **changes: object) -> Recipe:
    table = {
        "model": SHAPE,
        "code": {"corpora": {corpus: 1.0}, "max_length": 64, "batch_lexemes": 256},
        "generation_spec": {"noise": "uniform", "canvas_length": 64},
        "objective": {"ar_weight": 0.0, "length_weight": 0.5},
        "train": {"steps": 6, "lr": 3e-3, "warmup": 1, "average": 0.0},
    }
    return from_table(Recipe, {**table, **changes})


def make(corpus: str, index: int, *, causal: bool = False, **changes: float) -> tuple[TrainingBatch, int]:
    """A batch, and its number of positions without padding."""
    config = CodeConfig(corpora={corpus: 1.0}, max_length=64, **{"batch_lexemes": 256} | changes)
    return CodeBatches(config, recipe(corpus).model.lexemes, causal=causal).make(index)


def test_batch_depends_on_its_number(corpus: str) -> None:
    first, again = (make(corpus, 5)[0] for _ in range(2))
    assert torch.equal(first.tokens_BT, again.tokens_BT)
    assert torch.equal(first.targets_BT, again.targets_BT)
    other, _ = make(corpus, 6)
    assert first.tokens_BT.shape != other.tokens_BT.shape or not torch.equal(first.tokens_BT, other.tokens_BT)


def test_a_corpus_without_functions_is_named(tmp_path: Path) -> None:
    writer = CorpusWriter()
    writer.add(Package("some", "1", "MIT", (("some.py", "total = first + second\n" * 40),)))
    writer.write(tmp_path / "none", {})
    with pytest.raises(ConfigError, match=r"code.corpora has .*none, which holds no functions"):
        make(str(tmp_path / "none"), 0)


def test_loss_weights_are_at_errors(corpus: str) -> None:
    batch, count = make(corpus, 0, changed_weight=5.0, kept_weight=0.5)
    supervised = batch.on_canvas_BT
    assert int(supervised.sum()) == count
    changed = batch.tokens_BT != batch.targets_BT
    assert torch.equal(batch.weights_BT[supervised], torch.where(changed, 5.0, 0.5)[supervised])
    assert bool((batch.tokens_BT[~supervised] == Lexicon().encode([PAD])[0]).all())


def test_batch_moves_whole_to_a_device(corpus: str) -> None:
    batch, _ = make(corpus, 0)
    moved = batch.to(torch.device("meta"))
    tensors = [name for name, value in vars(batch).items() if isinstance(value, torch.Tensor)]
    assert {"tokens_BT", "features_VF", "weights_BT", "length_weights_BT"} <= set(tensors)
    assert all(getattr(moved, name).is_meta for name in tensors)
    assert moved.attention is batch.attention


def test_bound_model_ignores_other_lexemes(corpus: str) -> None:
    model = Decoder(recipe(corpus).model)
    model.initialize(0)
    # In float64, because products of other shapes may add in another order.
    model.double()
    batch, _ = make(corpus, 0)
    with torch.no_grad():
        few = model.bind(batch.features_VF)
        more = model.bind(torch.cat((batch.features_VF, batch.features_VF[:3])))
        hidden = [one(batch.tokens_BT, batch.positions_BT, batch.attention) for one in (few, more)]
    torch.testing.assert_close(hidden[0], hidden[1])
    torch.testing.assert_close(few.logits(hidden[0]), more.logits(hidden[1])[..., : len(batch.features_VF)])


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_reach_every_weight(corpus: str, causal: bool) -> None:
    model = Decoder(recipe(corpus).model)
    model.initialize(0)
    batch, _ = make(corpus, 1, causal=causal, batch_lexemes=512)
    terms = losses(model, batch)
    sum(terms.values()).backward()  # type: ignore[union-attr]
    without = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert without == (["length_head.weight", "length_head.bias"] if causal else [])


def test_training_lowers_the_loss_resumes_and_leaves_a_checkpoint(corpus: str, tmp_path: Path) -> None:
    run = Run(recipe(corpus), tmp_path / "run")
    records: list[dict[str, float]] = []
    run.trainer._on_record = records.append
    run.start()
    run.train()
    assert records[-1]["loss"] < records[0]["loss"]
    run.save_checkpoint()
    loaded = load_checkpoint(tmp_path / "run" / "checkpoint").model
    assert isinstance(loaded, Decoder)
    assert loaded.config == recipe(corpus).model
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, run.trainer.model.state_dict()[name])

    longer = recipe(corpus, train={"steps": 6, "lr": 3e-3, "warmup": 1, "average": 0.0, "save_every_s": 0.0})
    halves = Run(longer, tmp_path / "halves")
    halves.start()
    half = 3

    def stop(record: dict[str, float]) -> None:
        if record["step"] == half:
            raise KeyboardInterrupt

    halves.trainer._on_record = stop
    with pytest.raises(KeyboardInterrupt):
        halves.train()
    rest = Run(longer, tmp_path / "halves")
    rest.resume()
    rest.train()
    for name, tensor in rest.trainer.model.state_dict().items():
        assert torch.equal(tensor, run.trainer.model.state_dict()[name]), name


def test_corpora_have_weights() -> None:
    for weights in ({}, {"a": 0.0}, {"a": -1.0, "b": 2.0}):
        with pytest.raises(ConfigError, match=r"the weights of code\.corpora are \["):
            CodeConfig(corpora=weights)


def test_code_recipe_needs_lexemes(corpus: str, tmp_path: Path) -> None:
    plain = {key: value for key, value in SHAPE.items() if key != "lexemes"}
    with pytest.raises(ConfigError, match=r"one of \[code\] and \[model.lexemes\]"):
        Run(recipe(corpus, model=plain), tmp_path)
