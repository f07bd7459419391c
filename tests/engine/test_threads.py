"""Choice of the number of threads from forward times."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import sfumato
from sfumato.engine import threads
from sfumato.errors import ConfigError
from sfumato.kernels.cpu import running
from sfumato.machine import core_time
from sfumato.models.decoder import Decoder


@pytest.fixture(autouse=True)
def _restore_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
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
        # The machine has more cores than may be used.
        (64, 3, {3: 1.0, 1: 2.0}, 3),
        (64, 3, {3: 2.0, 1: 1.0}, 1),
        (4, 64, {4: 0.001, 2: 0.002}, 4),
    ],
)
def test_fastest_number_of_threads_is_chosen(
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


def test_choice_is_cached_unless_other_programs_used_the_cores(
    make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, use_cores: UseCores
):
    """Damaged entries are ignored."""
    monkeypatch.setattr(threads, "usable_cores", lambda: 2)
    timed: list[int] = []

    def forward_s(model: Decoder) -> float:
        timed.append(torch.get_num_threads())
        use_cores(1, share_waited)
        return 1.0 / timed[-1]

    def choose() -> tuple[int, set[int]]:
        timed.clear()
        torch.set_num_threads(2)
        return threads.choose_threads(make_decoder()), set(timed)

    monkeypatch.setattr(threads, "_forward_s", forward_s)
    share_waited = 0.5
    assert choose() == choose() == (2, {1, 2})
    share_waited = 0.0
    assert choose() == (2, {1, 2})
    assert choose() == (2, set())
    [entry] = (tmp_path / "kept").iterdir()
    for content in ("{", "[]", '{"threads": 3}', '{"threads": "2"}'):
        entry.write_text(content)
        assert choose() == (2, {1, 2})
        assert choose() == (2, set())


class UseCores:
    """The times that the threads of this process ran and waited, and the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.ran, self.waited = 0.0, 0, 0
        monkeypatch.setattr(running, "core_time", lambda: (self.ran, self.waited))
        # In that module alone: a server of other tests, in this process, sleeps by the clock.
        monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: self.clock))

    def __call__(self, seconds: float, share_waited: float) -> None:
        self.clock += seconds
        self.ran += round(1e9 * seconds * (1 - share_waited))
        self.waited += round(1e9 * seconds * share_waited)


@pytest.fixture
def use_cores(monkeypatch: pytest.MonkeyPatch) -> UseCores:
    return UseCores(monkeypatch)


def test_fewer_threads_compute_while_other_programs_use_the_cores(use_cores: UseCores):
    cores = running._SharedCores()
    torch.set_num_threads(4)

    def steps(seconds: float, share_waited: Callable[[int], float]) -> list[int]:
        """Steps of a tenth of a second; returns the numbers of threads, without repetitions."""
        found: list[int] = []
        for _ in range(round(10 * seconds)):
            with cores:
                found.append(torch.get_num_threads())
                use_cores(0.1, share_waited(found[-1]))
            assert torch.get_num_threads() == 4
        return [number for number, _ in itertools.groupby(found)]

    assert steps(10, lambda number: 0.05) == [4]
    # One of four cores is taken: three threads would fit, two do.
    busy = steps(60, lambda number: 0.3 * (number > 3))
    assert busy[0] == 4
    assert set(busy) == {4, 2}
    # Tried again after half a second, a second, two, four, and every eight.
    assert 5 <= busy.count(4) <= 12
    # All cores are taken.
    assert set(steps(60, lambda number: 0.3 * (number > 1))) >= {2, 1}
    # None is.
    assert steps(30, lambda number: 0.0)[-1] == 4
    assert steps(0.4, lambda number: 0.3 * (number > 3)) == [4, 2]


def test_a_number_of_threads_set_by_the_caller_stays(use_cores: UseCores):
    cores = running._SharedCores()
    torch.set_num_threads(2)
    for expected in (2, 1):
        with cores:
            assert torch.get_num_threads() == expected
            use_cores(0.2, 0.5)
    torch.set_num_threads(1)
    with cores:
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 1


def test_waiting_for_a_core_is_noticed():
    """More busy threads than cores wait for each other."""
    if core_time() == (0, 0):
        pytest.skip("this system does not say how long threads wait")
    waits = running.Waits()
    allowed = os.sched_getaffinity(0)
    done = threading.Event()

    def compute() -> None:
        os.sched_setaffinity(0, {min(allowed)})
        while not done.is_set():
            torch.ones(200, 200) @ torch.ones(200, 200)

    computing = [threading.Thread(target=compute) for _ in range(2)]
    for thread in computing:
        thread.start()
    try:
        for _ in range(600):
            if waits.is_crowded():
                break
            time.sleep(0.1)
        assert waits.is_crowded()
    finally:
        done.set()
        for thread in computing:
            thread.join()


def test_no_forward_starts_after_the_time_limit(make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]

    def forward_s(model: Decoder) -> float:
        clock[0] += 3.0
        return 3.0 / torch.get_num_threads()

    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.setattr(threads, "_forward_s", forward_s)
    monkeypatch.setattr(threads, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    torch.set_num_threads(8)
    assert threads.choose_threads(make_decoder()) == 8
    # One warm-up, and one for each number tried.
    assert clock[0] == 3 * 3.0


def test_every_model_variant_can_be_timed(variant: Decoder):
    assert 0.0 < threads._forward_s(variant) < 60.0
    assert threads.choose_threads(variant) >= 1


def test_omp_num_threads_is_respected(make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(threads, "_forward_s", None)
    torch.set_num_threads(3)
    assert threads.choose_threads(make_decoder()) == 3


def test_load_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch):
    torch.set_num_threads(3)
    sfumato.load("tiny")
    assert torch.get_num_threads() == 3
    sfumato.load("tiny", threads=2)
    assert torch.get_num_threads() == 2
    monkeypatch.setattr(threads, "usable_cores", lambda: 1)
    sfumato.load("tiny", threads="auto")
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "all"])
def test_invalid_numbers_of_threads_are_refused(number: object):
    with pytest.raises(ConfigError, match=r"threads is .*; allowed: a whole number, 1 or more, or 'auto'"):
        sfumato.load("tiny", threads=number)  # type: ignore[arg-type]


def test_output_does_not_depend_on_the_number_of_threads():
    found = []
    for number in (1, 2):
        model = sfumato.load("tiny", threads=number)
        found.append(model.generate("answer, then derive: 7*6+3^2", seed=3).tokens)
    assert found[0] == found[1]
