"""The server's models: which are in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from sfumato.errors import ConfigError
from sfumato.server import hosting
from sfumato.server.failures import ApiError
from sfumato.server.hosting import Host, parse_names

# More than one of tiny's size in float32, and less than two.
LIMIT = 20_000_000


def test_an_idle_model_is_unloaded_before_another_is_read(monkeypatch: pytest.MonkeyPatch):
    host = Host({"first": "tiny", "second": "tiny", "third": "tiny"}, memory_bytes=LIMIT)
    held: list[list[str]] = []
    load = hosting.load
    monkeypatch.setattr(hosting, "load", lambda *source, **settings: held.append([*host.loaded]) or load(*source))

    async def use_all() -> None:
        for name in ("first", "second", "second", "third", "first"):
            with await host.use(name):
                assert [*host.loaded] == [name]
                assert host.size_bytes < LIMIT
        await host.close()

    asyncio.run(use_all())
    assert held == [[]] * 4


def test_names_of_models(tmp_path: Path):
    """A path may hold an equals sign."""
    run = tmp_path / "lr=0.1"
    run.mkdir()
    assert parse_names(["tiny", "mine=tiny", str(run)]) == {"tiny": "tiny", "mine": "tiny", "lr=0.1": str(run)}
    for given in ("=tiny", "tiny="):
        with pytest.raises(ConfigError, match=f"a model is '{given}'; allowed: NAME=MODEL"):
            parse_names([given])


def test_answers_have_the_name_under_which_a_model_is_served():
    host = Host({"prod": "tiny"})

    async def ask() -> None:
        with await host.use("prod") as hosted:
            [result] = await hosted.answering.generate(hosted.model.request("12+5=", max_tokens=4, steps=1))
            assert (hosted.model.name, result.model) == ("prod", "prod")
        await host.close()

    asyncio.run(ask())


def test_a_model_in_use_stays_and_the_other_is_refused(monkeypatch: pytest.MonkeyPatch):
    host = Host({"first": "tiny", "second": "tiny"}, memory_bytes=LIMIT)

    async def use_both() -> None:
        with await host.use("first") as first:
            monkeypatch.setattr(hosting, "load", None)
            with pytest.raises(ApiError, match="second needs the memory of models that are answering") as caught:
                await host.use("second")
            assert caught.value.status == 503
            request = first.model.request("12+5=", max_tokens=4, steps=1)
            [result] = await first.answering.generate(request)
            assert result.text
            monkeypatch.undo()
        with await host.use("second"):
            assert [*host.loaded] == ["second"]
        await host.close()

    asyncio.run(use_both())
