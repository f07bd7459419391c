"""Pages of the KV cache: reservation, sharing by content, eviction, and accounting under random operations."""

from __future__ import annotations

import random
from typing import Any

import pytest
from benchmarks.integrity import check_cache

from sfumato.engine.kvcache import CachedText, KVCache
from sfumato.errors import CapacityError
from sfumato.kernels.base import KVPool

PAGE = 4


def make_cache(num_pages: int, **options: Any) -> KVCache:
    return KVCache(KVPool([(1, 2)], (num_pages + 1) * PAGE), PAGE, **options)


def open_prefilled(cache: KVCache, prompt: list[int], num_positions: int) -> CachedText:
    """A text whose prompt is in the cache."""
    text = cache.open(prompt, num_positions)
    assert text is not None
    cache.commit(text, prompt[text.length :], prompt)
    return text


def test_text_reserves_its_maximum_length():
    cache = make_cache(6)
    text = open_prefilled(cache, [1, 2, 3], 13)
    assert (cache.num_used, cache.num_free) == (4, 2)
    assert text.slot_S.tolist() == list(range(PAGE, 5 * PAGE))
    assert text.run
    assert cache.open([9], 9) is None
    assert cache.open([9], 8) is not None
    assert cache.num_free == 0


def test_slot_0_is_never_assigned():
    cache = make_cache(3)
    text = cache.open([], 12)
    assert text is not None
    assert min(text.slot_S.tolist()) == PAGE
    assert max(text.slot_S.tolist()) == cache.pool.num_slots - 1


def test_oversized_texts_are_refused():
    cache = make_cache(3)
    cache.check_fits(12)
    with pytest.raises(CapacityError, match="may take 13 positions; the cache holds 12"):
        cache.check_fits(13)


def test_texts_sharing_a_prefix_share_full_pages():
    cache = make_cache(10)
    first = open_prefilled(cache, [1, 2, 3, 4, 5, 6, 7, 8, 9], 12)
    second = cache.open([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 12)
    third = cache.open([1, 2, 3, 4, 0, 6, 7, 8], 12)
    assert second is not None
    assert third is not None
    assert (second.pages[:2], second.num_reused, second.length) == (first.pages[:2], 8, 8)
    assert (third.pages[0], third.num_reused) == (first.pages[0], 4)
    assert cache.num_used == 3 + 1 + 2
    check_cache(cache, [first, second, third])


def test_equal_tokens_after_another_prefix_are_not_shared():
    """The same tokens after a different prefix are another page."""
    cache = make_cache(10)
    text = open_prefilled(cache, [1, 2, 3, 4, 5, 6, 7, 8], 8)
    other = cache.open([0, 0, 0, 0, 5, 6, 7, 8], 8)
    assert other is not None
    assert other.num_reused == 0
    check_cache(cache, [text, other])


def test_request_sharing_a_prefix_waits_for_prefill():
    cache = make_cache(10)
    prompt = list(range(9))
    first = cache.open(prompt, 12)
    assert first is not None
    assert cache.open(prompt, 12) is None
    assert cache.open([7, 7, 7, 7, 7], 8) is not None
    cache.commit(first, prompt[:4], prompt)
    assert cache.open(prompt, 12) is None, "the second page is still being written"
    cache.commit(first, prompt[4:], prompt)
    again = cache.open(prompt, 12)
    assert again is not None
    assert again.num_reused == 8


def test_waiting_request_proceeds_when_the_writer_is_cancelled():
    cache = make_cache(10)
    first = cache.open(list(range(9)), 12)
    assert first is not None
    cache.close(first)
    again = cache.open(list(range(9)), 12)
    assert again is not None
    assert again.num_reused == 0


def test_committed_canvases_are_reused():
    cache = make_cache(10)
    text = open_prefilled(cache, [1, 2, 3], 12)
    cache.commit(text, [4, 5, 6, 7])
    cache.commit(text, [8, 9])
    again = cache.open([1, 2, 3, 4, 5, 6, 7, 8, 9, 1], 12)
    assert again is not None
    assert again.num_reused == 8


def test_inexact_pages_are_not_shared():
    cache = make_cache(10)
    text = open_prefilled(cache, [1, 2, 3, 4, 5], 16)
    cache.commit(text, [6, 7], exact=False)
    cache.commit(text, [8, 9, 10, 11, 12])
    again = cache.open(list(range(1, 13)), 16)
    assert again is not None
    assert again.num_reused == 4
    check_cache(cache, [text, again])


def test_no_request_waits_for_inexact_pages():
    cache = make_cache(10)
    text = cache.open([1, 2, 3, 4, 5], 16)
    assert text is not None
    assert cache.open([1, 2, 3, 4, 5], 16) is None
    cache.commit(text, [1, 2], [1, 2, 3, 4, 5], exact=False)
    assert cache.open([1, 2, 3, 4, 5], 16) is not None


def test_idle_pages_are_evicted_least_recently_used_first():
    cache = make_cache(4)
    for prompt in ([1] * 4, [2] * 4, [3] * 4):
        cache.close(open_prefilled(cache, prompt, 4))
    assert (cache.num_idle, cache.num_free) == (3, 1)
    cache.close(open_prefilled(cache, [1] * 4, 4))
    text = cache.open([9] * 3, 8)
    assert text is not None
    assert cache.num_idle == 2
    found = [cache.open(prompt, 4) for prompt in ([1] * 4, [3] * 4)]
    assert [other.num_reused for other in found if other is not None] == [4, 4]


def test_last_pages_of_a_text_are_evicted_first():
    cache = make_cache(4)
    cache.close(open_prefilled(cache, list(range(12)), 12))
    other = cache.open([50], 8)
    assert other is not None
    again = cache.open(list(range(8)), 8)
    assert again is not None
    assert again.num_reused == 8


def test_reused_pages_are_not_evicted():
    """All four pages are idle; a text that reuses two of them and needs three more does not fit."""
    cache = make_cache(4)
    cache.close(open_prefilled(cache, list(range(16)), 16))
    assert cache.open([*range(8), 99], 20) is None
    text = cache.open([*range(8), 99], 16)
    assert text is not None
    check_cache(cache, [text])


def test_without_reuse_no_pages_are_retained():
    cache = make_cache(4, reuse=False)
    text = open_prefilled(cache, list(range(8)), 8)
    other = open_prefilled(cache, list(range(8)), 8)
    assert other.num_reused == 0
    check_cache(cache, [text, other])
    cache.close(text)
    cache.close(other)
    assert (cache.num_free, cache.num_idle) == (4, 0)


@pytest.mark.parametrize("seed", range(20))
def test_page_accounting_holds_under_random_operations(seed: int):
    """Texts over a small alphabet, so that many share prefixes, open, grow, share and close in too small a cache."""
    random_ = random.Random(seed)
    cache = make_cache(random_.choice([9, 20]))
    texts: list[tuple[CachedText, list[int]]] = []
    reused = refused = 0
    for _ in range(300):
        kind = random_.random()
        if kind < 0.4:
            prompt = [random_.randrange(2) for _ in range(random_.randint(1, 14))]
            text = cache.open(prompt, len(prompt) + random_.randint(0, 8))
            if text is None:
                refused += 1
            else:
                assert text.tokens == prompt[: text.length]
                reused += text.num_reused
                texts.append((text, prompt))
        elif texts and kind < 0.8:
            text, prompt = random_.choice(texts)
            room = len(text.pages) * PAGE - text.length
            count = random_.randint(0, room)
            tokens = prompt[text.length : text.length + count]
            tokens += [random_.randrange(2) for _ in range(count - len(tokens))]
            cache.commit(text, tokens, prompt, exact=random_.random() < 0.9)
        elif texts:
            text, _ = texts.pop(random_.randrange(len(texts)))
            cache.close(text)
        check_cache(cache, [text for text, _ in texts])
    assert reused > 0
    assert refused > 0
    for text, _ in texts:
        cache.close(text)
    check_cache(cache, [])
    assert cache.num_used == 0
