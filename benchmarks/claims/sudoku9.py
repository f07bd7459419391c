"""Sudoku of side 9: the evaluations of recipes/evidence-sudoku9.toml and its twin, and samplers on the trained models.

Reads runs/evidence-sudoku9 and runs/evidence-sudoku9-twin, and trains nothing.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sfumato
from benchmarks.claims.asking import Asked
from benchmarks.claims.epochs import documents_a_step
from benchmarks.claims.panels import error_bars
from benchmarks.options import Row
from sfumato.config import load_recipe
from sfumato.errors import ConfigError
from sfumato.evaluation.statistics import share_interval
from sfumato.text.tokenizer import Tokenizer
from sfumato.training.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = {"canvas": Path("runs/evidence-sudoku9"), "twin": Path("runs/evidence-sudoku9-twin")}
SAMPLERS = ("confidence", "margin", "certainty", "random")
STEPS = (1, 4, 16, 48, 96)
SIZE = (9.0, 3.4)
_COLORS = {"canvas": "#d95f0e", "twin": "#3182bd"}


def measure(n: int) -> Iterator[Row]:
    """One row per evaluation of a training, then one per sampler and number of steps, then the twin's."""
    for kind, run in RUNS.items():
        if not (run / "checkpoint").exists():
            raise ConfigError(f"{run} has no checkpoint; train it first: sfumato train recipes/{run.name}.toml")
        recipe = load_recipe(Recipe, Path("recipes") / f"{run.name}.toml")
        puzzles = documents_a_step(recipe, Tokenizer.load(run / "tokenizer"), 4)
        for record in map(json.loads, (run / "log.jsonl").read_text("utf-8").splitlines()):
            if "score/sudoku9" in record:
                row: Row = {"kind": kind, "step": record["step"], "puzzles": record["step"] * puzzles}
                yield row | {"tokens": record["num_tokens"], "right": record["score/sudoku9"]}
    canvas = sfumato.load(RUNS["canvas"] / "checkpoint")
    for sampler in SAMPLERS:
        for steps in STEPS:
            asked = Asked(canvas, "sudoku9", n, sampler=sampler, steps=steps)
            yield {"kind": "canvas", "sampler": sampler, "steps": steps} | _counted(asked)
    yield {"kind": "twin"} | _counted(Asked(sfumato.load(RUNS["twin"] / "checkpoint"), "sudoku9", n))


def _counted(asked: Asked) -> Row:
    """Right puzzles, the share of their blanks with the right digit, and right puzzles by blanks."""
    n, right, cells, by_blanks = len(asked.items), sum(asked.right), list[bool](), dict[str, list[bool]]()
    for item, result, is_right in zip(asked.items, asked.results, asked.right, strict=True):
        puzzle = item.prompt.split("\n", 1)[1]
        written = result.text.strip().ljust(len(puzzle))
        cells += [mine == it for mine, it, given in zip(written, item.response, puzzle, strict=False) if given == "."]
        low = item.meta["num_blanks"] // 5 * 5
        by_blanks.setdefault(f"{low} to {low + 4}", []).append(is_right)
    return {
        **{"n": n, "right": right / n, "right_95": list(share_interval(right, n)), "cells": statistics.fmean(cells)},
        "by_blanks": {blanks: [sum(found), len(found)] for blanks, found in sorted(by_blanks.items())},
    }


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right puzzles over puzzles read, and over steps for each sampler."""
    learned, asked = figure.subplots(1, 2, sharey=True)
    for kind, color in _COLORS.items():
        shown = [row for row in rows if row["kind"] == kind and "puzzles" in row]
        learned.plot([row["puzzles"] / 1000 for row in shown], [row["right"] for row in shown], color=color, label=kind)
    for sampler in SAMPLERS:
        shown = [row for row in rows if row.get("sampler") == sampler]
        errors = error_bars(shown, "right")
        asked.errorbar([row["steps"] for row in shown], [row["right"] for row in shown], errors, label=sampler)
    [twin] = [row for row in rows if row["kind"] == "twin" and "n" in row]
    asked.axhline(twin["right"], color=_COLORS["twin"], linestyle="--", label="twin")
    learned.set(xlabel="thousand puzzles read", ylabel="puzzles solved, held out", ylim=(0, 1.02))
    asked.set_xscale("log", base=2)
    asked.set_xticks(STEPS, [str(steps) for steps in STEPS])
    asked.set(xlabel="most steps of a canvas")
    for axes in (learned, asked):
        axes.legend(fontsize=8, frameon=False)
        axes.grid(alpha=0.25)
