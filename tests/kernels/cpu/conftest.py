from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from sfumato.kernels.cpu import running


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Of the loops; with several, each thread takes a row at a time."""
    monkeypatch.setattr(running, "_GRAIN", 1)
    monkeypatch.setattr(running, "_PARTS", 10**6)
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)
