"""What a report is about: a TOML file of systems, tasks and settings.

n = 50

[systems.tiny]
model = "tiny"

[systems.tiny-4]
model = "tiny"
options = {steps = 4}

[systems.hosted]
url = "https://api.example.com/v1"
model = "some-model"
key_env = "EXAMPLE_KEY"

[tasks.arithmetic]

[tasks.gsm8k]
path = "test.jsonl"
n = 100
"""

from __future__ import annotations

import os
import typing
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.config import load_recipe
from sfumato.data.tasks import find_task
from sfumato.data.tasks.base import Task
from sfumato.engine.options import GenerateOptions
from sfumato.errors import ConfigError, unknown
from sfumato.evaluation.corpora import CORPORA, Corpus

_LOCAL_OPTIONS = frozenset(typing.get_type_hints(GenerateOptions)) - {"seed", "trace", "record", "constraint"}


@dataclass(frozen=True, kw_only=True)
class SystemConfig:
    """One that answers: a model that is loaded here or, with a url, one behind an OpenAI-compatible API."""

    model: str
    """What `sfumato.load` takes, or the name by which the API knows it."""
    url: str = ""
    """Of the API, such as "http://127.0.0.1:8000/v1"."""
    key_env: str = ""
    """The environment variable that holds the API's key."""
    quantize: str = ""
    """Of a model that is loaded here: see `sfumato.load`."""
    threads: int = 0
    """Of a model that is loaded here; 0 is torch's own number."""
    options: dict[str, object] = field(default_factory=dict)
    """Of `TextModel.generate`, or fields of the API's chat requests."""
    timeout_s: float = 600.0
    """Of the API: most seconds without a byte."""
    max_retries: int = 4
    """Of the API: how often an item is asked again after 429, 5xx, a timeout or a stream that was cut."""

    def check(self, name: str) -> None:
        """Raise ConfigError if it cannot be asked."""
        where = f"systems.{name}"
        if self.url:
            for given, field_name in ((self.quantize, "quantize"), (self.threads, "threads")):
                if given:
                    raise ConfigError(
                        f"{where}.{field_name} is for a model that is loaded here; leave it out with a url"
                    )
            if self.key_env and not os.environ.get(self.key_env):
                raise ConfigError(f"{where}.key_env is {self.key_env!r}; that environment variable is not set")
        else:
            if self.key_env:
                raise ConfigError(f"{where}.key_env is for an API; allowed: with a url")
            for option in self.options:
                if option not in _LOCAL_OPTIONS:
                    raise ConfigError(unknown(f"option of {where}", option, _LOCAL_OPTIONS))


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """What is asked."""

    task: str = ""
    """Its name, where the table is called otherwise: a procedural task, gym:NAME, or one of `CORPORA`."""
    path: str = ""
    """A file with the items of a corpus, in place of those that a package brings."""
    n: int | None = None
    """How many items; None for the suite's n."""
    max_tokens: int | None = None
    """Most tokens of an answer; None for what the task needs."""

    def find(self, name: str) -> Task:
        """The task.

        Raises:
            ConfigError: if there is none of that name, or its data cannot be read.
        """
        wanted = self.task or name
        if wanted in CORPORA:
            return Corpus(wanted, Path(self.path) if self.path else None)
        if self.path:
            raise ConfigError(f"tasks.{name}.path is for a corpus; allowed: with {', '.join(CORPORA)}")
        try:
            return find_task(wanted)
        except ConfigError as error:
            raise ConfigError(f"tasks.{name}: {error}; or a corpus: {', '.join(CORPORA)}") from None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Systems and tasks; all are asked all."""

    systems: dict[str, SystemConfig]
    tasks: dict[str, TaskConfig]
    title: str = "Report"
    n: int = 50
    """Items of each task, the same for all systems."""
    seed: int = 0
    """Of items and of sampling: item i is asked with seed + i."""

    def __post_init__(self) -> None:
        for name, given in (("systems", self.systems), ("tasks", self.tasks)):
            if not given:
                raise ConfigError(f"the suite has no {name}; allowed: one table or more, such as [{name}.NAME]")
        for where, n in (("n", self.n), *((f"tasks.{name}.n", task.n) for name, task in self.tasks.items())):
            if n is not None and n < 1:
                raise ConfigError(f"{where} is {n}; allowed: 1 or more")
        for name, system in self.systems.items():
            system.check(name)

    def count(self, task: str) -> int:
        """Items of a task."""
        return self.tasks[task].n or self.n


def read_suite(path: Path, overrides: typing.Sequence[str] = ()) -> Suite:
    """Read a suite.

    Raises:
        ConfigError: if it cannot be read, names what is not there, or lacks a key.
    """
    suite = load_recipe(Suite, path, overrides)
    for name, task in suite.tasks.items():
        task.find(name)
    return suite
