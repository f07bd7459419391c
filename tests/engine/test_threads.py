"""Choice of the number of threads from forward times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import sfumato
from sfumato.engine import threads
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder


@pytest.fixture(autouse=True)
def _put_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path))
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


def test_a_choice_is_kept_while_forwards_take_as_long(
    make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Not one that was made while other processes wanted the cores; and a damaged entry is none."""
    monkeypatch.setattr(threads, "usable_cores", lambda: 2)
    seconds, timed, preemptions = {1: 2.0, 2: 1.0}, [], iter([0, 10**6])

    def forward_s(model: Decoder) -> float:
        timed.append(torch.get_num_threads())
        return seconds[timed[-1]]

    def choose() -> tuple[int, set[int]]:
        timed.clear()
        torch.set_num_threads(2)
        return threads.choose_threads(make_decoder()), set(timed)

    monkeypatch.setattr(threads, "_forward_s", forward_s)
    monkeypatch.setattr(threads, "num_preemptions", lambda: next(preemptions, 0))
    assert choose() == choose() == (2, {1, 2})
    assert choose() == (2, {2})
    # Two threads take far longer than they did.
    seconds[2] = 10.0
    preemptions = iter([0, 10**6])
    assert choose() == (1, {1, 2})
    seconds[2] = 1.0
    assert choose() == (2, {2})
    [entry] = (tmp_path / "kept").iterdir()
    for content in ("{", "[]", '{"threads": 3, "forward_s": 1.0}', '{"threads": 1}'):
        entry.write_text(content)
        assert choose() == (2, {1, 2})
        assert choose() == (2, {2})


def test_no_forward_is_started_when_the_time_is_over(
    make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch
):
    clock = [0.0]

    def forward_s(model: Decoder) -> float:
        clock[0] += 3.0
        return 3.0 / torch.get_num_threads()

    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.setattr(threads, "_forward_s", forward_s)
    monkeypatch.setattr(threads.time, "perf_counter", lambda: clock[0])
    torch.set_num_threads(8)
    assert threads.choose_threads(make_decoder()) == 8
    # One that is not counted, and one of each number.
    assert clock[0] == 3 * 3.0


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
