"""Consistency checks of an engine and its cache, for tests and soak tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.engine.engine import Engine
from sfumato.engine.kvcache import CachedText, Key, KVCache


def check_engine(engine: Engine) -> None:
    """Check an engine's cache and batch against its running sequences; an AssertionError names what is wrong."""
    with engine._lock:
        texts = [sequence.cached for sequence in engine._running if sequence.cached is not None]
        assert len(texts) == len(engine._running)
        check_cache(engine.cache, texts)
        assert all(sequence.cached is None for sequence in engine._waiting)
        assert all(sequence in engine._running for sequence in engine._rows)
        assert [sequence.row for sequence in engine._rows] == list(range(len(engine._rows)))
        assert len(engine._rows) == (0 if engine._batch is None else len(engine._batch))


def check_cache(cache: KVCache, texts: Sequence[CachedText]) -> None:
    """Check a cache against the open texts; an AssertionError names what is wrong."""
    users: dict[int, int] = {}
    awaited: dict[Key, int] = {}
    for text in texts:
        assert len(set(text.pages)) == len(text.pages), "a text has a page twice"
        assert np.array_equal(text.slot_S, cache._slots(text.pages))
        assert text.length <= len(text.pages) * cache.page_size
        for page in text.pages:
            users[page] = users.get(page, 0) + 1
        if text.awaited is not None:
            awaited[text.awaited] = awaited.get(text.awaited, 0) + 1
        for page, serial in zip(text.pages, text.serials, strict=False):
            kept = cache._serial_of.get(page)
            assert kept is None or kept == serial, "a text's page is registered under another serial"
        for i, page in enumerate(text.pages):
            full = text.tokens[i * cache.page_size : (i + 1) * cache.page_size]
            assert users[page] == 1 or cache._key_of[page][1] == tuple(full), "a shared page has other tokens"
    assert users == cache._users, "page counts differ from the open texts"
    assert awaited == cache._awaited
    everything = [*cache._free, *cache._users, *cache._idle]
    assert sorted(everything) == list(range(1, cache.num_pages + 1)), "a page is missing or in two lists"
    assert cache._free == sorted(cache._free)
    assert set(cache._idle) <= set(cache._key_of), "an idle page has no key"
    assert {key: page for page, key in cache._key_of.items()} == cache._page_of
    assert set(cache._serial_of) == set(cache._key_of)
