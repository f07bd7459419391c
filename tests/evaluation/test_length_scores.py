"""Length heads by hand: one that knows, one that does not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sfumato.checkpoints.registry import ASSETS
from sfumato.data.tasks import find_task, items
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.request import Result, Usage
from sfumato.evaluation.tasks import evaluate_lengths
from sfumato.text.tokenizer import Tokenizer

EDGES = (2, 16, 32, 64, 128)


class Knowing:
    """Puts a share of its belief on the bucket so many places from the right one, the rest on the next."""

    tokenizer = Tokenizer.load(ASSETS / "tiny")

    class decoder:  # noqa: N801
        length_buckets = EDGES

    class spec:  # noqa: N801
        canvas_length = 72

    def __init__(self, off: int, share: float) -> None:
        self.off, self.share = off, share
        self.gold = {item.prompt: item.response for item in items(find_task("json"), "test", 5, 40)}
        self.asked: list[Any] = []

    @property
    def bundle(self) -> Any:
        return self

    def first_length(self, shares: Any) -> int | None:
        return ModelBundle.first_length(self, shares)  # type: ignore[arg-type]

    @property
    def model(self) -> Any:
        return self.decoder

    def length_shares(self, prompt: str) -> dict[int | None, float]:
        size = len(self.tokenizer.encode(self.gold[prompt])) + 1
        right = next(i for i, edge in enumerate(EDGES) if size <= edge)
        shares = dict.fromkeys((*EDGES, None), 0.0)
        keys = list(shares)
        shares[keys[right + self.off]] += self.share
        shares[keys[right + self.off + 1]] += 1.0 - self.share
        return shares

    def generate_batch(self, prompts: list[str], *, seeds: list[int], canvas_length: Any, **settings: Any) -> list[Any]:
        self.asked += list(itertools.product([canvas_length], seeds))
        usage = Usage(prompt_tokens=30, cached_tokens=10, positions_computed=50 if canvas_length == "auto" else 92)
        return [
            Result(text=self.gold[prompt], tokens=(), finish_reason="stop", seed=0, model="", usage=usage)
            for prompt in prompts
        ]


@pytest.mark.parametrize(
    ("off", "share", "right", "held"), [(0, 0.95, 1.0, 1.0), (0, 0.7, 1.0, 1.0), (-1, 0.95, 0.0, 0.0)]
)
def test_shares(off: int, share: float, right: float, held: float):
    model = Knowing(off, share)
    score = evaluate_lengths(model, "json", n=40, seed=5)  # type: ignore[arg-type]
    assert (score.bucket_right, score.held) == (right, held)
    assert score.confidence == pytest.approx(share)
    assert (score.positions, score.positions_without) == (30.0, 72.0)
    assert (score.right, score.right_without) == (1.0, 1.0)
    assert model.asked == [(length, 5 + i) for length in ("auto", 72) for i in range(40)]
