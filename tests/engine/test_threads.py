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


def test_choice_is_cached_while_forward_times_hold(
    make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Except a choice made while other processes used the cores; damaged entries are ignored."""
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
    # Two threads take far longer than before.
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


def test_no_forward_starts_after_the_time_limit(make_decoder: Callable[..., Decoder], monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]

    def forward_s(model: Decoder) -> float:
        clock[0] += 3.0
        return 3.0 / torch.get_num_threads()

    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.setattr(threads, "_forward_s", forward_s)
    monkeypatch.setattr(threads.time, "perf_counter", lambda: clock[0])
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
