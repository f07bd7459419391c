"""Gaps by hand: a model that knows what was cut out, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from settings import sampler_config
from sfumato.checkpoints.registry import ASSETS
from sfumato.data.tasks import Item, find_task, items
from sfumato.engine.request import Result, Usage
from sfumato.errors import RequestError
from sfumato.evaluation.tasks import evaluate_gaps
from sfumato.text.tokenizer import Tokenizer


class Filler:
    """Fills a gap with what the gold response has there, changed by a function."""

    sampler_defaults = sampler_config(steps=17)
    tokenizer = Tokenizer.load(ASSETS / "tiny")

    def __init__(self, change: Any) -> None:
        self.change = change
        self.gold = {item.prompt: item.response for item in items(find_task("bugfix"), "test", 5, 20)}

    def infill(self, prefix: str, suffix: str, *, prompt: str, seed: int, **settings: Any) -> Result:
        response = self.gold[prompt]
        assert response.startswith(prefix)
        assert response.endswith(suffix)
        cut = response[len(prefix) : len(response) - len(suffix)]
        assert 1 <= len(self.tokenizer.encode(cut)) <= 12
        usage = Usage(denoising_steps=3)
        return Result(text=self.change(cut), tokens=(), finish_reason="stop", seed=seed, model="", usage=usage)


@pytest.mark.parametrize(
    ("change", "restored", "near"),
    [(lambda cut: cut, 1.0, 1.0), (lambda cut: "", 0.0, None), (lambda cut: cut + " 1 2 3 4", 0.0, 0.0)],
)
def test_shares(change: Any, restored: float, near: float | None):
    score = evaluate_gaps(Filler(change), "bugfix", n=20, seed=5)  # type: ignore[arg-type]
    assert score.restored == score.right == restored
    assert (score.n, score.steps, score.mean_steps) == (20, 17, 3.0)
    if near is None:
        # One token was cut out of some.
        assert 0.0 < score.length_near < 0.5
    else:
        assert score.length_near == near


def test_refusals(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RequestError, match="n is 0; allowed: 1 or more"):
        evaluate_gaps(Filler(str), "bugfix", n=0)  # type: ignore[arg-type]
    monkeypatch.setattr(find_task("bugfix"), "generate", lambda seed: Item(prompt=str(seed), response=""))
    with pytest.raises(RequestError, match="task 'bugfix' has items without a gold response"):
        evaluate_gaps(Filler(str), "bugfix", n=1)  # type: ignore[arg-type]
