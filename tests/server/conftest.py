"""A server shared by all server tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from serving import Served, start


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the embedded model."""
    yield from start(tmp_path_factory.mktemp("server"))
