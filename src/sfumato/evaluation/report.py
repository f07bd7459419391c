"""Asks all systems of a suite all of its items, skipping those already answered."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import inspect
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.checkpoints.registry import find_model
from sfumato.checkpoints.tensors import hash_of_weights
from sfumato.config import check_choice
from sfumato.data.tasks.base import Item, Task, judge
from sfumato.errors import CheckpointError, ConfigError
from sfumato.evaluation.corpora import Corpus
from sfumato.evaluation.records import Record, Records
from sfumato.evaluation.suite import Suite
from sfumato.evaluation.systems import Answer, FailedError, System, open_system
from sfumato.evaluation.tables import Cell, cells_of, write_tables
from sfumato.evaluation.tasks import asked_items
from sfumato.storage import write_json

_FREE = ("n", "key_env", "timeout_s", "max_retries")
_SETTINGS = ("quantize", "threads", "options")
_MAX_FAILURES = 5
_LOG = logging.getLogger(__name__)


class Estimate(NamedTuple):
    """Estimate of what is left to do."""

    seconds: float
    """Time to answer, without loading."""
    tokens: int
    """Tokens of prompts and answers."""


def _hash_of_weights(model: str) -> str | None:
    """The hash of a model's weights; None if there is no such model here."""
    try:
        return hash_of_weights(find_model(model))
    except CheckpointError:
        return None


class Report:
    """A run of a suite.

    Args:
        directory: of results, new or existing.

    Raises:
        ConfigError: if the directory has results of another suite, or a task has too few items.
    """

    def __init__(self, suite: Suite, directory: Path) -> None:
        self.suite, self.directory = suite, directory
        self._facts = directory / "systems.json"
        self._tasks: dict[str, tuple[Task, list[Item]]] = {}
        for name, config in suite.tasks.items():
            task = config.find(name)
            if isinstance(task, Corpus):
                self._tasks[name] = task, task.items[: suite.count(name)]
                if len(task.items) < suite.count(name):
                    _LOG.warning("%s has %d items, fewer than n, %d", name, len(task.items), suite.count(name))
            else:
                self._tasks[name] = asked_items(config.task or name, suite.seed, suite.count(name))

    def records(self) -> Records:
        """All known results."""
        return Records(self.directory, self._meaning, self._checked)

    @functools.cached_property
    def _meaning(self) -> dict[str, Any]:
        # Scores belong to a program version; a system's retries and timeouts do not affect them.
        suite = dataclasses.asdict(self.suite)
        meaning: dict[str, Any] = {"version": importlib.metadata.version("sfumato"), "seed": self.suite.seed}
        for kind in ("systems", "tasks"):
            meaning[kind] = {
                name: {key: value for key, value in config.items() if value and key not in _FREE}
                for name, config in suite[kind].items()
            }
        ours = {name: config.model for name, config in self.suite.systems.items() if not config.url}
        hashes = {model: _hash_of_weights(model) for model in sorted(set(ours.values()))}
        for name, model in ours.items():
            meaning["systems"][name]["weights"] = hashes[model]
        return meaning

    def _checked(self, record: Record) -> Record | None:
        """A record as it counts now. A corpus may have been written anew: None if the prompt is another, and the answer
        is judged again if the solution or the checker is."""
        task, items = self._tasks.get(record.task, (None, []))
        if task is None or record.index >= len(items):
            return record
        item = items[record.index]
        if item.prompt != record.prompt:
            return None
        if record.answer is None or record.judged_by == _judge_of(task, item):
            return record
        return _judged(record, task, item, record.answer)

    def left(self, only: Sequence[str] | None = None) -> dict[str, list[tuple[str, int]]]:
        """(task, index) of items to ask, by system.

        Args:
            only: systems; None for all.

        Raises:
            ConfigError: if a system is unknown.
        """
        for name in only or ():
            check_choice("system", name, self.suite.systems, ConfigError)
        with self.records() as records:
            return {
                system: [
                    (task, index)
                    for task, (_, items) in self._tasks.items()
                    for index in range(len(items))
                    if (system, task, index) not in records
                ]
                for system in only or self.suite.systems
            }

    def estimate(self, only: Sequence[str] | None = None) -> Estimate | None:
        """Estimated effort of the remaining items; None if nothing is known for some of them."""
        cells = {(cell.system, cell.task): cell for cell in self.cells()}
        seconds = tokens = 0.0
        for system, left in self.left(only).items():
            for task, number in Counter(task for task, _ in left).items():
                cell = cells.get((system, task))
                if cell is None or not cell.records:
                    return None
                seconds += number * sum(record.total_s for record in cell.records) / len(cell.records)
                tokens += number * sum(cell.usage(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
        return Estimate(seconds, round(tokens))

    def run(
        self,
        only: Sequence[str] | None = None,
        *,
        try_first: int | None = None,
        on_record: Callable[[Record], None] = lambda record: None,
    ) -> None:
        """Ask the remaining items, one system after the other, so that one model at a time is in memory.

        A system that fails five items in a row is skipped with a warning; the next call asks its items again.

        Args:
            only: systems; None for all.
            try_first: ask only the first few items of each task, to `estimate` the rest.
            on_record: called with each new record.

        Raises:
            ConfigError: if a system cannot be used at all.
        """
        to_ask = self.left(only)
        for name, left in to_ask.items():
            if left and not self.suite.systems[name].url:
                try:
                    find_model(self.suite.systems[name].model)
                except CheckpointError as error:
                    raise ConfigError(f"systems.{name}: {error}") from None
        for name, left in to_ask.items():
            asked = [(task, index) for task, index in left if try_first is None or index < try_first]
            if not asked:
                continue
            with self.records() as records, closing(open_system(self.suite.systems[name])) as system:
                failures = 0
                for record in self._asked(name, system, asked):
                    records.add(record)
                    on_record(record)
                    failures = failures + 1 if record.error is not None and not record.refused else 0
                    if failures == _MAX_FAILURES:
                        _LOG.warning("%s is skipped after %d failures: %s", name, failures, record.error)
                        break
                write_json(self._facts, self._all_facts() | {name: system.facts()})

    def _asked(self, name: str, system: System, left: list[tuple[str, int]]) -> Iterator[Record]:
        for task_name, index in left:
            task, items = self._tasks[task_name]
            item, seed = items[index], self.suite.seed + index
            max_tokens = self.suite.tasks[task_name].max_tokens
            if max_tokens is None and isinstance(task, Corpus):
                max_tokens = task.max_tokens
            base = Record(system=name, task=task_name, index=index, prompt=item.prompt, seed=seed)
            try:
                answer = system.answer(task, item, seed=seed, max_tokens=max_tokens)
            except FailedError as error:
                yield dataclasses.replace(base, error=str(error), attempts=error.attempts, refused=error.refused)
            else:
                yield _recorded(base, task, item, answer)

    def _all_facts(self) -> dict[str, dict[str, object]]:
        return json.loads(self._facts.read_text("utf-8")) if self._facts.exists() else {}

    def facts(self) -> dict[str, dict[str, object]]:
        """Facts about each system, besides its answers, and how the suite sets it."""
        found = self._all_facts()
        return {
            name: found[name] | {key: given for key in _SETTINGS if (given := getattr(config, key))}
            for name, config in self.suite.systems.items()
            if name in found
        }

    def cells(self) -> list[Cell]:
        """Known results by task and system."""
        with self.records() as records:
            # Of tasks that have fewer items now than when they were asked, these.
            asked = [each for each in records if each.index < len(self._tasks.get(each.task, (None, []))[1])]
            return cells_of(asked, list(self.suite.systems), list(self._tasks))

    def write_tables(self) -> None:
        """Write report.md, report.html and a plot of the known results."""
        left = sum(map(len, self.left().values()))
        write_tables(self.directory, self.suite.title, self.cells(), self.facts(), left=left)


@functools.cache
def _code_of(checker: type[Task]) -> str:
    """The hash of the code of a task's module; of nothing if it cannot be read."""
    try:
        code = inspect.getsource(sys.modules[checker.__module__])
    except (OSError, TypeError):
        code = ""
    return hashlib.sha256(code.encode()).hexdigest()


def _judge_of(task: Task, item: Item) -> str:
    """See `Record.judged_by`."""
    return hashlib.sha256(f"{_code_of(type(task))} {item!r}".encode()).hexdigest()[:16]


def _judged(record: Record, task: Task, item: Item, answer: str) -> Record:
    return dataclasses.replace(record, answer=answer, right=judge(task, item, answer), judged_by=_judge_of(task, item))


def _recorded(base: Record, task: Task, item: Item, answer: Answer) -> Record:
    first = answer.first_answer
    is_revised = first is not None and first != task.answer(answer.text)
    return dataclasses.replace(
        _judged(base, task, item, answer.text),
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        first_s=answer.first_s,
        total_s=answer.total_s,
        attempts=answer.attempts,
        first_right=first == item.answer if is_revised else None,
    )
