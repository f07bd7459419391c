"""Attention against its definition, among the positions of a forward and over texts in a pool."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from sfumato.models.attention import AttentionSpec, KVPool, PackedAttention, Segment, readable

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


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("num_groups", [1, 2, 4])
@pytest.mark.parametrize("kind", ["all", "causal", "mask"])
def test_positions_of_a_forward_read_each_other(kind: str, num_groups: int, scale: float | None):
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 5, 4, 6), torch.randn(2, 5, num_groups, 6), torch.randn(2, 5, num_groups, 6)
    mask, spec = torch.ones(2, 5, 5, dtype=torch.bool), AttentionSpec()
    if kind == "causal":
        mask, spec = mask.tril(), AttentionSpec(causal=True)
    elif kind == "mask":
        mask &= (torch.rand(2, 5, 5) < 0.5) | (torch.arange(5) == 3)
        spec = AttentionSpec(mask=mask[:, None])
    expected = attend_one_by_one(queries * (1.0 if scale is None else scale * 6**0.5), keys, values, mask)
    torch.testing.assert_close(spec.attend(0, queries, keys, values, scale=scale), expected)


def test_a_layer_with_a_window_has_a_mask_of_its_own():
    torch.manual_seed(0)
    queries, keys, values = torch.randn(1, 5, 2, 6), torch.randn(1, 5, 2, 6), torch.randn(1, 5, 2, 6)
    near = torch.ones(1, 5, 5, dtype=torch.bool).tril().triu(-1)
    spec = AttentionSpec(causal=True, windows={2: AttentionSpec(mask=near[:, None])})
    for window, mask in ((None, near.new_ones(1, 5, 5).tril()), (2, near), (9, near.new_ones(1, 5, 5).tril())):
        expected = attend_one_by_one(queries, keys, values, mask)
        torch.testing.assert_close(spec.attend(0, queries, keys, values, window=window), expected)


def may_read(start: int, count: int, block: int | None, window: int | None, query: int, place: int) -> bool:
    """The rule, position by position: up to the end of the block or canvas, from where the window starts."""
    own, end = start + query, start + count
    last = end if block is None else min(end, (own // block + 1) * block)
    first = 0 if window is None else (start if block is None else own) - window + 1
    return first <= place < last


@pytest.mark.parametrize("window", [None, 1, 3, 6, 50])
@pytest.mark.parametrize("block", [1, 2, 4, None])
@pytest.mark.parametrize("count", [1, 3, 7])
@pytest.mark.parametrize("start", [0, 2, 5])
def test_what_each_position_may_read(start: int, count: int, block: int | None, window: int | None):
    first, mask = readable(start, start + count, block, window)
    seen = torch.zeros(count, start + count, dtype=torch.bool)
    seen[:, first:] = True if mask is None else mask
    assert seen.any(-1).all(), "a position that reads nothing has NaN for output"
    for query, place in itertools.product(range(count), range(start + count)):
        assert seen[query, place] == may_read(start, count, block, window, query, place), (query, place)


SHAPES: dict[str, list[tuple[int, int, int | None]]] = {
    "one prompt": [(0, 9, 1)],
    "prompts of one length": [(0, 6, 1), (0, 6, 1), (0, 6, 1)],
    "canvases behind prefixes": [(4, 5, None), (7, 3, None), (4, 5, None)],
    "everything": [(0, 9, 1), (3, 4, 1), (0, 5, None), (2, 4, None), (2, 4, None), (4, 8, 4), (8, 1, None)],
}


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("window", [None, 3, 20])
@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_packed_texts_read_their_own(
    shapes: list[tuple[int, int, int | None]], padding: int, window: int | None, scale: float | None
):
    """Each position against the definition: its own text up to where it may, and no other's slots; in two layers."""
    generator = torch.Generator().manual_seed(0)
    pool = KVPool([(2, 6)] * 2, 1 + 20 * len(shapes))
    for tensor in (*pool.keys, *pool.values):
        tensor.normal_(generator=generator)
    prefixes: list[list[tuple[Tensor, Tensor]]] = []
    segments = []
    for text, (start, count, block) in enumerate(shapes):
        run = text % 2 == 0
        slots = torch.arange(20) if run else torch.randperm(20, generator=generator)
        slots = 1 + 20 * text + slots
        segments.append(Segment(slot_S=slots, start=start, end=start + count, block=block, run=run))
        layers = [(torch.randn(start, 2, 6, generator=generator), torch.randn(start, 2, 6)) for _ in range(2)]
        for layer, (keys, values) in enumerate(layers):
            pool.keys[layer][slots[:start]], pool.values[layer][slots[:start]] = keys, values
        prefixes.append(layers)
    total = sum(segment.count for segment in segments)
    attention = PackedAttention(pool, segments, total + padding, windows=[] if window is None else [window])
    expected_positions = [place for segment in segments for place in range(segment.start, segment.end)]
    assert attention.positions_1N[0, :total].tolist() == expected_positions
    before = [tensor.clone() for tensor in (*pool.keys, *pool.values)]
    for layer in range(2):
        queries, keys, values = (torch.randn(1, total + padding, heads, 6) for heads in (4, 2, 2))
        found = attention.attend(layer, queries, keys, values, window=window, scale=scale)
        assert found.shape == queries.shape
        place = 0
        for segment, layers, (start, count, block) in zip(segments, prefixes, shapes, strict=True):
            part = slice(place, place + count)
            mask = torch.tensor(
                [[may_read(start, count, block, window, q, s) for s in range(start + count)] for q in range(count)]
            )
            expected = attend_one_by_one(
                queries[:, part] * (1.0 if scale is None else scale * 6**0.5),
                torch.cat((layers[layer][0], keys[0, part]))[None],
                torch.cat((layers[layer][1], values[0, part]))[None],
                mask[None],
            )
            torch.testing.assert_close(found[:, part], expected)
            # What was written can be read back, and nothing else has changed.
            written = segment.slot_S[start : start + count]
            assert torch.equal(pool.keys[layer][written], keys[0, part])
            before[layer][written], before[2 + layer][written] = keys[0, part], values[0, part]
            place += count
    for old, new in zip(before, (*pool.keys, *pool.values), strict=True):
        assert torch.equal(old[1:], new[1:])
