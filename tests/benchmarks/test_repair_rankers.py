"""Other ways to order repairs: their scores are what the models say about the edited texts."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from benchmarks.humanevalfix import items, search
from benchmarks.repair_rankers import Masked, Mutation, Ranked, Rewriter, Surprisal, Twin, substitutions

from sfumato.checkpoints.load import save_checkpoint
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.layers import LexemeConfig
from sfumato.models.model import AttentionSpec
from sfumato.spec import GenerationSpec
from sfumato.text.lexemes import END, FIXED, MASK, Lexicon, lex
from sfumato.text.patches import Patch

SOURCE = "def f(a, b):\n    return a - b\n"
TEXT = [lexeme.text for lexeme in lex(SOURCE)]
SHAPE = {
    "vocab_size": len(FIXED),
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "lexemes": LexemeConfig(num_spellings=64, num_words=64, size=8),
}


@pytest.fixture
def twin(tmp_path: Path) -> str:
    spec = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
    return saved(tmp_path / "twin", DecoderConfig(**SHAPE), spec)


@pytest.fixture
def masked(tmp_path: Path) -> str:
    spec = GenerationSpec(noise="mask", mask_id=FIXED.index(MASK), canvas_length=64)
    return saved(tmp_path / "masked", DecoderConfig(**SHAPE), spec)


def saved(path: Path, config: DecoderConfig, spec: GenerationSpec) -> str:
    model = Decoder(config)
    model.initialize(0)
    save_checkpoint(path, model, spec)
    return str(path)


def log_probs(ranker: Twin | Masked, texts: list[str], *, causal: bool) -> tuple[torch.Tensor, Lexicon]:
    lexicon = Lexicon(TEXT)
    model = ranker._model.bind(torch.from_numpy(lexicon.features(64, 64)))
    tokens = torch.tensor([lexicon.encode(texts)])
    canvas = None if causal else torch.ones_like(tokens, dtype=torch.bool)
    positions = torch.arange(len(texts))[None]
    with torch.inference_mode():
        hidden = model(tokens, positions, AttentionSpec(causal=causal), canvas_RQ=canvas)
        return model.logits(hidden)[0].log_softmax(-1), lexicon


def likelihood(ranker: Twin, texts: list[str]) -> float:
    found, lexicon = log_probs(ranker, texts, causal=True)
    return sum(float(found[index, token]) for index, token in enumerate(lexicon.encode(texts[1:])))


def scores(ranked: Ranked) -> dict[Patch, float]:
    assert [one.score for one in ranked.proposals] == sorted((one.score for one in ranked.proposals), reverse=True)
    return {one.edit: one.score for one in ranked.proposals if isinstance(one.edit, Patch)}


def test_rescored_edits_have_the_likelihood_of_the_edited_text(twin: str) -> None:
    ranker = Twin(twin, rescored=True)
    found, before = scores(ranker.read(TEXT)), likelihood(ranker, TEXT)
    mean = before / (len(TEXT) - 1)
    widths = set()
    for (start, end, texts), score in found.items():
        edited = [*TEXT[:start], *texts, *TEXT[end:]]
        longer = len(edited) - len(TEXT)
        widths.add(longer)
        assert score == pytest.approx(likelihood(ranker, edited) - before - mean * longer, abs=1e-3)
    assert widths == {-5, -4, -3, -2, -1, 0, 1}


def test_one_pass_is_right_where_nothing_follows_the_edit(twin: str) -> None:
    """Of the last lexeme, a substitution and what is deleted before it."""
    once, again = scores(Twin(twin).read(TEXT)), scores(Twin(twin, rescored=True).read(TEXT))
    last = len(TEXT) - 1
    exact = [
        edit for edit in once if edit.end == last + 1 or (edit.end == last and not edit.texts and edit.start < last)
    ]
    assert any(edit.texts for edit in exact)
    assert any(not edit.texts for edit in exact)
    assert once.keys() == again.keys()
    for edit in exact:
        assert once[edit] == pytest.approx(again[edit], abs=1e-3)


def test_masks_are_read_one_by_one(masked: str) -> None:
    ranker = Masked(masked)
    found = scores(ranker.read(TEXT))
    own = []
    for index, text in enumerate([*TEXT, END]):
        row = [*TEXT, END]
        row[index] = MASK
        values, lexicon = log_probs(ranker, row, causal=False)
        [token] = lexicon.encode([text])
        own.append(float(values[index, token]))
    mean = sum(own[1:]) / len(TEXT)
    for width in (0, 1):
        edit = next(edit for edit in found if edit.end == edit.start + width and edit.texts)
        values, lexicon = log_probs(ranker, [*TEXT[: edit.start], MASK, *TEXT[edit.end :], END], causal=False)
        [token] = lexicon.encode(edit.texts)
        before = own[edit.start] if width else mean
        assert found[edit] == pytest.approx(float(values[edit.start, token]) - before, abs=1e-3)
    assert found[Patch(3, 5, ())] == pytest.approx(2 * mean - own[3] - own[4], abs=1e-3)


def test_a_language_model_of_tokens_orders_substitutions() -> None:
    found = scores(Surprisal("tiny-twin").read(TEXT))
    assert found
    assert set(found) <= set(substitutions(TEXT))
    assert len({round(score, 3) for score in found.values()}) > 20


@pytest.fixture
def item(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "items.jsonl"
    line = {
        "task_id": "one",
        "bug_type": "operator misuse",
        "declaration": "def f(a, b):\n",
        "entry_point": "f",
        "buggy_solution": "    return a - b\n",
        "canonical_solution": "    return a + b\n",
        "test": "assert f(1, 2) == 3\nassert f(0, 2) == 2\n",
    }
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return next(iter(items(path)))


OPTIONS = Namespace(runs=50, edits=1)


def test_a_search_tries_edits_until_the_visible_asserts_pass(item: dict[str, str], tmp_path: Path) -> None:
    result = search(item, Mutation(0, operators_first=True), OPTIONS, tmp_path)
    assert result["fixed"]
    assert result["same"]
    assert 1 <= result["runs"] <= 20


def test_functions_written_anew_are_tried_once_each(item: dict[str, str], tmp_path: Path) -> None:
    class Scripted(Rewriter):
        def rewrite(self, source: str) -> Iterator[str]:
            assert source == item["buggy"]
            wrong = "def f(a, b):\n    return a * b\n"
            yield from ("def f(a, b) return", source, wrong, wrong, "def f(a, b):\n    return b + a\n")

    result = search(item, Scripted(), OPTIONS, tmp_path)
    assert (result["runs"], result["fixed"], result["same"]) == (2, True, False)
