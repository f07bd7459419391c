"""Answers written before their derivation and corrected after it: how often, after which step, from what.

A line is answered when all its positions are accepted, and revised if it differs at the end. In the first four families
the first line depends on the lines below it; the others are for comparison.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sfumato
from benchmarks.claims.asking import Asked
from benchmarks.options import Row
from sfumato.data.tasks import Item, Task, find_task, items
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Result
from sfumato.evaluation.statistics import share_interval
from sfumato.evaluation.tasks import first_accepted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEMO = "answer, then derive: 81*(2/3)^2+sqrt(9)"
"""36 + 3, in the form that the embedded model was trained on."""
SEEDS = 100
DEPENDENT = ("arithmetic", "terms", "plain", "sudoku4")
OTHERS = ("sums", "bugfix", "middle", "json", "pets", "field")
SIZE = (8.0, 4.0)


class FirstLine(Task):
    """A task whose answer is the first line of its text.

    Args:
        begins: start of the prompts that count.
    """

    def __init__(self, task: Task, begins: str = "") -> None:
        self.name, self._task, self._begins = task.name, task, begins

    def generate(self, seed: int) -> Item:
        """An item of the task, with the first line of its response as its answer."""
        while not (item := self._task.generate(seed)).prompt.startswith(self._begins):
            seed += 1
        return replace(item, answer=first_line(item.response))

    def check(self, item: Item, response: str) -> bool:
        """Whether the first line is right."""
        return first_line(response) == item.answer

    def answer(self, response: str) -> str | None:
        """The first line."""
        return first_line(response) or None

    def answer_last(self, item: Item) -> Item | None:
        """See `Task`, with the task's own form of the answer."""
        return self._task.answer_last(replace(item, answer=str(item.answer).removeprefix("answer: ")))


def first_line(text: str) -> str:
    """A text's first line."""
    return text.partition("\n")[0].strip()


def last_line(text: str) -> str:
    """A text's last line."""
    return text.rstrip().rpartition("\n")[2].strip()


def drafts(result: Result) -> list[CanvasChanged]:
    """The drafts of an answer's first canvas, one per step."""
    return [event for event in result.trace or () if event.canvas == 0 and event.step > 0]


def step_of(drafts: Sequence[CanvasChanged], line: Callable[[str], str], reading: str) -> int | None:
    """The step from which a line keeps a reading to the end; None if it ends otherwise."""
    found = None
    for draft in reversed(drafts):
        if line(draft.text) != reading:
            break
        found = draft.step
    return found


def describe(family: str, asked: Asked) -> Row:
    """How the first lines of a family's answers changed."""
    task, n = asked.task, len(asked.items)
    drafted = revised = fixed = spoiled = 0
    answered: list[int] = []
    fixed_at: list[int] = []
    order: Counter[str] = Counter()
    firsts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for item, result, right in zip(asked.items, asked.results, asked.right, strict=True):
        steps = drafts(result)
        drafted += bool(steps) and task.check(item, steps[0].text)
        readings = list(dict.fromkeys(first_line(step.text) for step in steps))
        seen[" → ".join(readings)] += 1
        event = first_accepted(task, result)
        if event is None:
            continue
        answered.append(event.step)
        first = task.answer(event.text)
        was_right = first == item.answer
        if first == task.answer(result.text):
            continue
        revised += 1
        fixed += right and not was_right
        spoiled += was_right and not right
        firsts[f"{first}, in the end {task.answer(result.text)}"] += 1
        if right and not was_right and "\n" in item.response:
            step = step_of(steps, first_line, str(item.answer))
            below = step_of(steps, last_line, last_line(item.response))
            if step is not None:
                fixed_at.append(step)
                order[
                    "never" if below is None else "before" if below < step else "same" if below == step else "after"
                ] += 1
    row: Row = {"family": family, "dependent": family not in OTHERS, "n": n, "right": asked.score}
    row |= {"drafted_right": drafted / n, "answered": len(answered), "revised": revised}
    row |= {"wrong_to_right": fixed, "right_to_wrong": spoiled, "wrong_to_right_95": list(share_interval(fixed, n))}
    row |= {"steps": statistics.fmean(asked.steps), "answered_step": _median(answered), "fixed_step": _median(fixed_at)}
    # When the last line became right for good, relative to the corrected answer.
    row |= {"below": dict(order), "firsts": dict(firsts.most_common(12))}
    return row | {"seen": dict(seen.most_common(12))} if family == "demo" else row


def _median(values: Sequence[int]) -> float | None:
    return statistics.median(values) if values else None


def _twin(twin: TextModel, task: Task, asked: Sequence[Item]) -> Row:
    """The autoregressive twin on the same items, greedy: answer first, and answer last if the task has that form."""
    last = [moved for item in asked if (moved := task.answer_last(item)) is not None]
    found = {"twin_first": Asked(twin, task, asked=asked, temperature=0.0).score, "twin_last": None}
    if last:
        results = Asked(twin, find_task("arithmetic_last"), asked=last, temperature=0.0)
        found["twin_last"] = results.score
    return found


def measure(n: int) -> Iterator[Row]:
    """One row for the demo in a hundred seeds, and one per family."""
    tiny, twin = sfumato.load("tiny"), sfumato.load("tiny-twin")
    arithmetic = FirstLine(find_task("arithmetic"))
    gold = "answer: 39\n81*(2/3)^2 = 36\nsqrt(9) = 3\n36+3 = 39"
    demo = Item(prompt=DEMO, response=gold, answer="answer: 39", meta={"expression": DEMO.partition(": ")[2]})
    asked = Asked(tiny, arithmetic, SEEDS, [demo], trace=True)
    yield describe("demo", asked) | _twin(twin, arithmetic, [demo])
    for name in (*DEPENDENT, *OTHERS):
        task = FirstLine(find_task(name), "answer, then" if name == "plain" else "")
        asked = Asked(tiny, task, asked=items(task, "test", 0, n), trace=True)
        yield describe(name, asked) | _twin(twin, task, asked.items)


def plot(rows: Sequence[Row], figure: Figure) -> None:
    """Right in the first draft, when accepted, and at the end, next to the twin."""
    axes = figure.subplots()
    names = [row["family"] for row in rows]
    columns: dict[str, tuple[str, Callable[[Row], Any]]] = {
        "twin, answering first": ("#bbbbbb", lambda row: row["twin_first"]),
        "tiny, draft of step 1": ("#c6dbef", lambda row: row["drafted_right"]),
        "tiny, less what was put right": (
            "#6baed6",
            lambda row: row["right"] - (row["wrong_to_right"] - row["right_to_wrong"]) / row["n"],
        ),
        "tiny, in the end": ("#08519c", lambda row: row["right"]),
    }
    for bar, (label, (color, value)) in enumerate(columns.items()):
        axes.bar(
            [i + 0.2 * (bar - 1.5) for i in range(len(rows))], list(map(value, rows)), 0.19, label=label, color=color
        )
    axes.axvline(len([row for row in rows if row["dependent"]]) - 0.5, color="black", linewidth=0.6, linestyle=":")
    axes.set_xticks(range(len(rows)), names, fontsize=8)
    axes.set(
        ylim=(0, 1.02),
        ylabel="first line right",
        title="The first line of an answer; left of the dots it depends on what is below",
    )
    axes.title.set_fontsize(10)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
