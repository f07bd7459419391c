"""A model's answers to held-out items of a task, with the uncertainty of comparisons."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.intervals import bootstrap_interval
from sfumato.data.tasks import Item, Task, find_task, items
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.evaluation.tasks import ask, check_answers


class Asked:
    """A model's answers to n held-out items of a task, item i with seed i; canvases are committed as they are, unless
    draft_steps is given.

    Args:
        task: the task or its name.
        n: number of items; a task with one text is asked with n seeds.
        asked: these items instead of the task's first n.
    """

    def __init__(
        self, model: TextModel, task: Task | str, n: int = 0, asked: Sequence[Item] | None = None, **options: Any
    ) -> None:
        self.task = find_task(task) if isinstance(task, str) else task
        found = items(self.task, "test", 0, n) if asked is None else list(asked)
        self.items = [found[i % len(found)] for i in range(n or len(found))]
        self.results: list[Result] = ask(model, [item.prompt for item in self.items], **{"draft_steps": 0} | options)
        self.right = check_answers(self.task, self.items, self.results)

    @property
    def score(self) -> float:
        """Share of right answers."""
        return sum(self.right) / len(self.right)

    @property
    def steps(self) -> list[int]:
        """Denoising steps of each answer."""
        return [result.usage.denoising_steps for result in self.results]

    @property
    def unsettled(self) -> int:
        """Number of answers that ended at the maximum of steps."""
        return sum(result.usage.unsettled > 0 for result in self.results)

    def gain(self, other: Asked) -> dict[str, Any]:
        """Gain in the share of right answers over other settings, with two standard errors and a bootstrap interval."""
        differences = [float(mine) - float(theirs) for mine, theirs in zip(self.right, other.right, strict=True)]
        error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
        return {
            "gain": statistics.fmean(differences),
            "two_errors": 2 * error,
            "gain_95": list(bootstrap_interval(differences)),
        }
