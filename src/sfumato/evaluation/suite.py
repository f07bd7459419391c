"""Suites of a report: a TOML file of systems, tasks and settings.

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

import dataclasses
import os
import typing
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.client.connection import is_url
from sfumato.config import check_choice, load_recipe
from sfumato.data.tasks import find_task
from sfumato.data.tasks.base import Task
from sfumato.engine.options import GenerateOptions
from sfumato.errors import ConfigError, RequestError
from sfumato.evaluation.corpora import CORPORA, Corpus
from sfumato.sampling.samplers.base import find_sampler

_OF_ANSWERS = frozenset({"model", "messages", "seed", "stream", "stream_options"})
"""Fields of requests that a report sets itself."""
_LOCAL_OPTIONS = frozenset(typing.get_type_hints(GenerateOptions)) - {"seed", "trace", "record", "constraint"}


@dataclass(frozen=True, kw_only=True)
class SystemConfig:
    """A system: a local model or, with a url, one behind an OpenAI-compatible API."""

    model: str
    """Argument of `sfumato.load`, or the API's name for the model."""
    url: str = ""
    """The API's address, such as "http://127.0.0.1:8000/v1"."""
    key_env: str = ""
    """Environment variable with the API's key."""
    quantize: str = ""
    """For a local model: see `sfumato.load`."""
    threads: int = 0
    """For a local model: CPU threads; 0 is torch's default."""
    options: dict[str, object] = field(default_factory=dict)
    """Options of `TextModel.generate`, or fields of the API's chat requests."""
    timeout_s: float = 600.0
    """For an API: maximum seconds without a byte."""
    max_retries: int = 4
    """For an API: maximum retries of an item after 429, 5xx, a timeout or a broken stream."""

    def check(self, name: str) -> None:
        """Raise ConfigError if it cannot be used."""
        where = f"systems.{name}"
        if self.max_retries < 0:
            raise ConfigError(f"{where}.max_retries is {self.max_retries}; allowed: 0 or more")
        if self.url:
            if not is_url(self.url):
                raise ConfigError(f"{where}.url is {self.url!r}; allowed: such as 'http://127.0.0.1:8000/v1'")
            if fixed := sorted(self.options.keys() & _OF_ANSWERS):
                raise ConfigError(f"{where}.options has {fixed[0]}, which the report sets; allowed: other fields")
            for given, field_name in ((self.quantize, "quantize"), (self.threads, "threads")):
                if given:
                    raise ConfigError(f"{where}.{field_name} is for a local model; leave it out with a url")
            if self.key_env and not os.environ.get(self.key_env):
                raise ConfigError(f"{where}.key_env is {self.key_env!r}; that environment variable is not set")
        else:
            if self.key_env:
                raise ConfigError(f"{where}.key_env is given; allowed: only with a url")
            allowed, sampler = _LOCAL_OPTIONS, self.options.get("sampler")
            if isinstance(sampler, str) and ":" in sampler:
                try:
                    allowed |= {each.name for each in dataclasses.fields(find_sampler(sampler))}
                except RequestError as error:
                    raise ConfigError(f"{where}.options: {error}") from None
            for option in self.options:
                check_choice(f"option of {where}", option, allowed, ConfigError)


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """A task of the suite."""

    task: str = ""
    """Its name, if it differs from the table's: a procedural task, gym:NAME, or one of `CORPORA`."""
    path: str = ""
    """A file with the items of a corpus, instead of the package's."""
    n: int | None = None
    """Number of items; None for the suite's n."""
    max_tokens: int | None = None
    """Maximum tokens of an answer; None for the task's default."""

    def find(self, name: str) -> Task:
        """Build the task.

        Raises:
            ConfigError: if the name is unknown, or its data cannot be read.
        """
        wanted = self.task or name
        if wanted in CORPORA:
            return Corpus(wanted, Path(self.path) if self.path else None)
        if self.path:
            raise ConfigError(f"tasks.{name}.path is given; allowed: only with {', '.join(CORPORA)}")
        try:
            return find_task(wanted)
        except ConfigError as error:
            raise ConfigError(f"tasks.{name}: {error}; or a corpus: {', '.join(CORPORA)}") from None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Systems and tasks; every system gets every task."""

    systems: dict[str, SystemConfig]
    tasks: dict[str, TaskConfig]
    title: str = "Report"
    n: int = 50
    """Items per task, the same for all systems."""
    seed: int = 0
    """Random seed for items and sampling: item i uses seed + i."""

    def __post_init__(self) -> None:
        for name, given in (("systems", self.systems), ("tasks", self.tasks)):
            if not given:
                raise ConfigError(f"the suite has no {name}; allowed: at least one table, such as [{name}.NAME]")
        for where, n in (("n", self.n), *((f"tasks.{name}.n", task.n) for name, task in self.tasks.items())):
            if n is not None and n < 1:
                raise ConfigError(f"{where} is {n}; allowed: 1 or more")
        for name, system in self.systems.items():
            system.check(name)

    def count(self, task: str) -> int:
        """Number of items of a task."""
        return self.tasks[task].n or self.n


def read_suite(path: Path, overrides: typing.Sequence[str] = ()) -> Suite:
    """Read a suite.

    Raises:
        ConfigError: if it cannot be read, names something unknown, or lacks a key.
    """
    suite = load_recipe(Suite, path, overrides)
    for name, task in suite.tasks.items():
        task.find(name)
    return suite
