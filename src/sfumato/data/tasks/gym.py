"""Any reasoning-gym generator as a task (optional package ``reasoning-gym``)."""

from __future__ import annotations

import functools
from typing import Any

from sfumato.config import check_choice
from sfumato.data.tasks.base import Item, Task
from sfumato.errors import ConfigError

PREFIX = "gym:"
# pool_matrix refuses larger seeds; the others take any.
_NUM_SEEDS = 2**32


class Gym(Task):
    """One generator with its default settings and its own scorer.

    The scorers are the package's. Many give partial credit for an answer inside a sentence; `check` does not.

    Raises:
        ConfigError: if the package is not installed, or has no generator of that name.
    """

    def __init__(self, generator: str) -> None:
        try:
            from reasoning_gym import factory
        except ImportError as error:
            raise ConfigError(
                f"task {PREFIX + generator!r} needs reasoning-gym, which is not installed: pip install 'sfumato[train]'"
            ) from error
        # A composite is made of other generators and has no defaults of its own.
        names = factory.DATASETS.keys() - {"composite"}
        check_choice("reasoning-gym task", generator, names, ConfigError)
        self.name = PREFIX + generator
        self._generator = generator
        self._create = factory.create_dataset

    def generate(self, seed: int) -> Item:
        """The first entry of the generator's data set with this seed, modulo 2**32.

        A generator without a gold answer gives an empty response: use it for scoring, not for training.
        """
        # One data set per seed: some compute all their entries at once, so indexing a large one is no option.
        entry = self._create(self._generator, seed=seed % _NUM_SEEDS, size=1)[0]
        gold = entry["answer"]
        return Item(
            prompt=entry["question"],
            response=gold if isinstance(gold, str) else "",
            answer=gold if isinstance(gold, str) else None,
            meta={"entry": entry},
        )

    @functools.cached_property
    def _scorer(self) -> Any:
        """A data set, whose scores depend on nothing but the response and the entry."""
        return self._create(self._generator, seed=0, size=1)

    def score(self, item: Item, response: str) -> float:
        """The package's own score in 0..1; 0 for a response its scorer cannot parse."""
        entry: dict[str, Any] = item.meta["entry"]
        try:
            return float(self._scorer.score_answer(response.strip(), entry))
        except Exception:
            # Scorers parse the response and let any parsing error escape.
            return 0.0

    def check(self, item: Item, response: str) -> bool:
        """True at full score."""
        return self.score(item, response) >= 1.0

    def answer(self, response: str) -> str | None:
        """The whole response: these tasks ask only for the answer."""
        return response.strip() or None
