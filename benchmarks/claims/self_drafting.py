"""The same weights in three ways: canvases as they are, canvases as drafts to verify, and token by token."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sfumato
from benchmarks.claims.panels import error_bars
from benchmarks.options import Row
from sfumato.checkpoints.load import Checkpoint
from sfumato.data.tasks import find_task, items
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.evaluation.statistics import share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = {
    "ui": ("ui_edit", "ui_edit_several", "ui_edit_written", "ui_screen", "ui_screen_written"),
    "tiny": ("bugfix", "json", "field", "pets", "sums", "middle", "plain", "sudoku4", "arithmetic"),
}
WAYS = {"canvas": "#08519c", "drafts": "#6baed6", "tokens": "#bdbdbd"}
WARM_UPS = 3
SIZE = (9.0, 4.2)


def measure(n: int) -> Iterator[Row]:
    """One row per task and way; the ways take turns on each item."""
    for name, tasks in TASKS.items():
        model = sfumato.load(name)
        twin = autoregressive(model)
        for reader in (model, twin):
            # Nobody is to find a prompt read by the one before.
            reader.engine = Engine(reader, EngineConfig(reuse_prefixes=False))
        temperature = model.sampler_defaults.temperature_end
        asking: dict[str, tuple[TextModel, dict[str, Any]]] = {
            "canvas": (model, {"draft_steps": 0}),
            "drafts": (model, {"draft_steps": 1}),
            "tokens": (twin, {"temperature": temperature}),
        }
        for task in map(find_task, tasks):
            asked = items(task, "test", 0, n)
            found: dict[str, list[tuple[Result, float]]] = {way: [] for way in WAYS}
            for i in range(-WARM_UPS, len(asked)):
                for way, (reader, options) in asking.items():
                    start = time.process_time()
                    item, seed = asked[i % len(asked)], i % len(asked)
                    result = reader.generate(item.prompt, seed=seed, check_prompt=False, **options)
                    if i >= 0:
                        found[way].append((result, time.process_time() - start))
            pairs = zip(found["drafts"], found["tokens"], strict=True)
            same = sum(draft.tokens == other.tokens for (draft, _), (other, _) in pairs)
            for way, answers in found.items():
                right = sum(task.check(item, result.text) for item, (result, _) in zip(asked, answers, strict=True))
                usages = [result.usage for result, _ in answers]
                row: Row = {"model": name, "task": task.name, "way": way, "n": len(asked), "right": right / len(asked)}
                row["right_95"] = list(share_interval(right, len(asked)))
                row["tokens"] = statistics.fmean(usage.completion_tokens for usage in usages)
                row["passes"] = statistics.fmean(usage.forward_passes for usage in usages)
                row["positions"] = statistics.fmean(usage.positions_computed for usage in usages)
                row["cpu_ms"] = 1000 * statistics.fmean(seconds for _, seconds in answers)
                yield row | {"same_as_tokens": same / len(asked)} if way == "drafts" else row


def autoregressive(model: TextModel) -> TextModel:
    """The same weights as a model that writes one token after another."""
    spec = replace(model.spec, canvas_length=1, self_conditioning=False, commit="in_place", blanks=False)
    generation = {"max_tokens": model.max_tokens}
    return TextModel(f"{model.name} by token", Checkpoint(model.decoder, spec, generation), model.tokenizer)


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right answers above, passes below."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    right, passes = figure.subplots(2, 1, sharex=True)
    for bar, (way, color) in enumerate(WAYS.items()):
        shown = [row for row in rows if row["way"] == way]
        where = [tasks.index(row["task"]) + 0.27 * (bar - 1) for row in shown]
        ends = error_bars(shown, "right")
        right.bar(where, [row["right"] for row in shown], 0.25, yerr=ends, color=color, label=way, error_kw={"lw": 0.7})
        passes.bar(where, [row["passes"] for row in shown], 0.25, color=color)
    right.set(ylim=(0, 1.02), ylabel="right")
    right.legend(fontsize=8, frameon=False, ncols=3, loc="upper right", bbox_to_anchor=(1, 1.2))
    passes.set(yscale="log", ylabel="passes an answer", ylim=(1, 100))
    passes.set_yticks([1, 2, 5, 10, 20, 50, 100], [1, 2, 5, 10, 20, 50, 100])
    passes.minorticks_off()
    passes.set_xticks(range(len(tasks)), tasks, rotation=25, ha="right", fontsize=8)
