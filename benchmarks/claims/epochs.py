"""Epochs over scarce documents: the evaluations of recipes/evidence-epochs.toml and of its twin, over documents read.

Reads runs/evidence-epochs and runs/evidence-epochs-twin, and trains nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import sfumato
from benchmarks.options import Row
from sfumato.config import load_recipe
from sfumato.data.packing import pack
from sfumato.data.sources import make_source
from sfumato.errors import ConfigError
from sfumato.spec import DEFAULT
from sfumato.text.tokenizer import Tokenizer
from sfumato.training.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECIPES = {"canvas": "evidence-epochs", "twin": "evidence-epochs-twin"}
SIZE = (8.0, 3.4)
_STYLES = {
    ("canvas", "canvas_nelbo"): ("canvas, bound, a position", "#d95f0e", "-"),
    ("canvas", "response_nll"): ("canvas read causally, a token", "#fdae6b", "--"),
    ("twin", "response_nll"): ("twin, a token", "#3182bd", "-"),
}


def measure(n: int) -> Iterator[Row]:
    """One row per evaluation; the documents of a step are counted over n steps."""
    for kind, name in RECIPES.items():
        log = Path("runs") / name / "log.jsonl"
        if not log.exists():
            raise ConfigError(f"{log} is missing; train it first: sfumato train recipes/{name}.toml")
        recipe = load_recipe(Recipe, Path("recipes") / f"{name}.toml")
        documents = documents_a_step(recipe, sfumato.load(str(recipe.data.tokenizer)).tokenizer, n)
        corpus = sum(len(Path(path).read_text("utf-8").splitlines()) for path in recipe.data.files)
        for record in map(json.loads, log.read_text("utf-8").splitlines()):
            if "response_nll" in record:
                row: Row = {"kind": kind, "step": record["step"], "epochs": record["step"] * documents / corpus}
                wanted = ("loss", "canvas_nelbo", "response_nll", "score/json")
                yield row | {key: record[key] for key in wanted if key in record}


def documents_a_step(recipe: Recipe, tokenizer: Tokenizer, n: int) -> float:
    """Mean number of documents in a batch of a recipe, from its first n."""
    packing = recipe.packing
    source = make_source(recipe.data.tasks, recipe.data.files, tokenizer, packing, max_tokens=packing.row_length)
    batches = (
        pack(source, packing, seed=0, step=step, end_id=0, spec=recipe.generation_spec or DEFAULT) for step in range(n)
    )
    return fmean(float((batch.documents_BT.amax(1) + 1).sum()) for batch in batches)


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Likelihoods of held-out documents, and right answers, over epochs."""
    nats, right = figure.subplots(1, 2)
    for (kind, key), (label, color, style) in _STYLES.items():
        shown = [row for row in rows if row["kind"] == kind]
        nats.plot([row["epochs"] for row in shown], [row[key] for row in shown], style, color=color, label=label)
    for kind, color in (("canvas", "#d95f0e"), ("twin", "#3182bd")):
        shown = [row for row in rows if row["kind"] == kind]
        right.plot([row["epochs"] for row in shown], [row["score/json"] for row in shown], color=color, label=kind)
    nats.set(xlabel="epochs", ylabel="nats, held out", ylim=(0, 3.5))
    right.set(xlabel="epochs", ylabel="right answers, held out", ylim=(0, None))
    for axes in (nats, right):
        axes.legend(fontsize=8, frameon=False)
