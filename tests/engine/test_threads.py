"""How many threads are chosen, by what forwards are said to take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

import sfumato
from sfumato.engine import threads
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder


@pytest.fixture(autouse=True)
def _put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("given", "cores", "seconds", "chosen"),
    [
        (1, 8, {1: 1.0}, 1),
        (8, 8, {8: 1.0, 4: 2.0, 2: 0.1}, 8),
        (8, 8, {8: 2.0, 4: 1.5, 2: 1.0, 1: 1.2}, 2),
        (8, 8, {8: 4.0, 4: 3.0, 2: 2.0, 1: 1.0}, 1),
        # More are there than may be used.
        (64, 3, {3: 1.0, 1: 2.0}, 3),
        (64, 3, {3: 2.0, 1: 1.0}, 1),
        (4, 64, {4: 0.001, 2: 0.002}, 4),
    ],
)
def test_the_fastest_number_is_taken(
    make_decoder: Callable[..., Decoder],
    monkeypatch: pytest.MonkeyPatch,
    given: int,
    cores: int,
    seconds: dict[int, float],
    chosen: int,
):
    timed: list[int] = []

    def forward_s(model: Decoder) -> float:
        timed.append(torch.get_num_threads())
        return seconds[timed[-1]]

    monkeypatch.setattr(threads, "usable_cores", lambda: cores)
    monkeypatch.setattr(threads, "_forward_s", forward_s)
    torch.set_num_threads(given)
    assert threads.choose_threads(make_decoder()) == torch.get_num_threads() == chosen
    assert set(timed) <= set(seconds)


def test_a_forward_of_each_model_can_be_timed(variant: Decoder):
    assert 0.0 < threads._forward_s(variant) < 60.0
    assert threads.choose_threads(variant) >= 1


def test_a_number_in_the_environment_stays(make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(threads, "_forward_s", None)
    torch.set_num_threads(3)
    assert threads.choose_threads(make_decoder()) == 3


def test_threads_of_a_model_that_is_loaded(monkeypatch: pytest.MonkeyPatch):
    torch.set_num_threads(3)
    sfumato.load("tiny")
    assert torch.get_num_threads() == 3
    sfumato.load("tiny", threads=2)
    assert torch.get_num_threads() == 2
    monkeypatch.setattr(threads, "usable_cores", lambda: 1)
    sfumato.load("tiny", threads="auto")
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "all"])
def test_numbers_that_are_none(number: object):
    with pytest.raises(ConfigError, match=r"threads is .*; allowed: a whole number, 1 or more, or 'auto'"):
        sfumato.load("tiny", threads=number)  # type: ignore[arg-type]


def test_a_text_does_not_depend_on_them():
    found = []
    for number in (1, 2):
        model = sfumato.load("tiny", threads=number)
        found.append(model.generate("answer, then derive: 7*6+3^2", seed=3).tokens)
    assert found[0] == found[1]
