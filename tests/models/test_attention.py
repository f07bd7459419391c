"""Attention against its definition, and the cache's book-keeping against lists."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from sfumato.models.attention import AttentionSpec, KVCache, attend

# R rows, Q queries, S key slots, H heads, G key-value heads, E head dimension


def attend_one_by_one(queries_RQHE: Tensor, keys_RSGE: Tensor, values_RSGE: Tensor, mask_RQS: Tensor) -> Tensor:
    """Softmax over the allowed keys, a query head at a time; heads of a group are neighbours, as in Llama."""
    out = torch.zeros_like(queries_RQHE)
    num_rows, num_queries, num_heads, size = queries_RQHE.shape
    per_group = num_heads // keys_RSGE.shape[2]
    for r, q, h in itertools.product(range(num_rows), range(num_queries), range(num_heads)):
        allowed = mask_RQS[r, q].nonzero().flatten()
        scores = keys_RSGE[r, allowed, h // per_group] @ queries_RQHE[r, q, h] / size**0.5
        out[r, q, h] = scores.softmax(0) @ values_RSGE[r, allowed, h // per_group]
    return out


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("num_groups", [1, 2, 4])
@pytest.mark.parametrize("kind", ["all", "causal", "mask"])
def test_attend(kind: str, num_groups: int, scale: float | None, first: int):
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 5, 4, 6), torch.randn(2, 5, num_groups, 6), torch.randn(2, 5, num_groups, 6)
    mask = torch.ones(2, 5, 5, dtype=torch.bool)
    mask[:, :, :first] = False
    spec = AttentionSpec(first=first)
    if kind == "causal":
        if first:
            return
        mask, spec = mask.tril(), AttentionSpec(causal=True)
    elif kind == "mask":
        mask &= (torch.rand(2, 5, 5) < 0.5) | (torch.arange(5) == 3)
        spec = AttentionSpec(mask=mask[:, None, :, first:], first=first)
    expected = attend_one_by_one(queries * (1.0 if scale is None else scale * 6**0.5), keys, values, mask)
    torch.testing.assert_close(attend(queries, keys, values, spec, scale=scale), expected)


def allowed_slots(spec: AttentionSpec, num_rows: int, num_queries: int, num_slots: int) -> Tensor:
    """The mask that a spec stands for, over all slots."""
    found = torch.zeros(num_rows, num_queries, num_slots, dtype=torch.bool)
    seen = torch.ones(num_rows, num_queries, num_slots - spec.first, dtype=torch.bool)
    if spec.mask is not None:
        seen = spec.mask[:, 0].expand(num_rows, -1, -1)
    elif spec.causal:
        seen = seen.tril()
    found[:, :, spec.first :] = seen
    return found


@pytest.mark.parametrize("window", [None, 1, 3, 6, 50])
@pytest.mark.parametrize("block", [1, 2, 4, None])
@pytest.mark.parametrize("num_queries", [1, 3])
@pytest.mark.parametrize("lengths", [[0, 0], [4, 4], [0, 5], [5, 2], [2, 2]])
def test_what_each_query_may_read(lengths: list[int], num_queries: int, block: int | None, window: int | None):
    """Each query reads up to the end of its block, or of the canvas, from where its window starts."""
    for widths in [None, *itertools.product(range(1, num_queries + 1), repeat=2)]:
        cache = KVCache([(1, 2)], 2, 16, windows=[] if window is None else [window])
        cache.advance(lengths)
        spec = cache.attention(num_queries, block=block, widths=widths).within(window)
        num_slots = max(lengths) + num_queries
        allowed = allowed_slots(spec, 2, num_queries, num_slots)
        assert allowed.any(-1).all(), "a position that reads nothing has NaN for output"
        for row, query, slot in itertools.product(range(2), range(num_queries), range(num_slots)):
            # Slots stand at the row's own positions: prefix, then the queries.
            start, width = lengths[row], num_queries if widths is None else widths[row]
            if query >= width:
                continue
            own = start + query
            end = start + width if block is None else min(start + width, (own // block + 1) * block)
            first = 0 if window is None else (start if block is None else own) - window + 1
            assert allowed[row, query, slot] == (first <= slot < end), (widths, row, query, slot)


def test_a_layer_without_a_window_reads_everything():
    cache = KVCache([(1, 2)], 1, 16, windows=[2])
    cache.advance([5])
    spec = cache.attention(3, block=None)
    assert spec.within(None) is spec
    assert spec.first == 0
    assert spec.within(2).first == 4


def test_positions_follow_each_rows_prefix():
    cache = KVCache([(1, 2)], 3, 16)
    cache.advance([0, 7, 2])
    assert cache.positions(2).tolist() == [[0, 1], [7, 8], [2, 3]]


@pytest.mark.parametrize("lengths", [[3, 3], [1, 4]])
def test_what_is_written_behind_the_prefix_is_read_back(lengths: list[int]):
    cache = KVCache([(1, 2)] * 2, 2, 8)
    before = [[layer.normal_().clone() for layer in side] for side in (cache.keys, cache.values)]
    cache.advance(lengths)
    new_keys, new_values = torch.randn(2, 2, 1, 2), torch.randn(2, 2, 1, 2)
    read = cache.extend(1, new_keys, new_values)
    assert cache.lengths == lengths
    for got, new, stored, old in zip(read, (new_keys, new_values), (cache.keys, cache.values), before, strict=True):
        assert got.shape[1] == max(lengths) + 2
        for row, length in enumerate(lengths):
            torch.testing.assert_close(got[row, :length], old[1][row, :length])
            torch.testing.assert_close(got[row, length : length + 2], new[row])
        torch.testing.assert_close(stored[0], old[0])


def test_selected_rows_are_copies():
    cache = KVCache([(1, 2)], 3, 6)
    cache.keys[0].normal_()
    cache.advance([1, 4, 2])
    picked = cache.select([2, 1, 1], num_slots=9)
    assert picked.lengths == [2, 4, 4]
    assert picked.num_slots == 9
    torch.testing.assert_close(picked.keys[0][0, :2], cache.keys[0][2, :2])
    torch.testing.assert_close(picked.keys[0][2, :4], cache.keys[0][1, :4])
    before = cache.keys[0].clone()
    picked.keys[0].zero_()
    picked.advance([1, 1, 1])
    torch.testing.assert_close(cache.keys[0], before)
    assert cache.lengths == [1, 4, 2]


def test_rows_of_several_caches_are_put_together():
    short, long = KVCache([(1, 2)], 1, 2), KVCache([(1, 2)], 1, 5)
    for cache, length in ((short, 2), (long, 5)):
        cache.values[0].normal_()
        cache.advance([length])
    together = KVCache.gather([(long, 0), (short, 0)], 7)
    assert together.lengths == [5, 2]
    torch.testing.assert_close(together.values[0][0, :5], long.values[0][0])
    torch.testing.assert_close(together.values[0][1, :2], short.values[0][0])


def test_a_prefix_never_outgrows_its_cache():
    cache = KVCache([(1, 2)], 1, 4)
    with pytest.raises(AssertionError):
        cache.advance([5])
