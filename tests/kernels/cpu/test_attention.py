"""Attention loops equal torch for any heads, slots, blocks, canvases and windows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sfumato.kernels.base import TORCH, GatheredSegments, KVPool
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.layout import Segment
from sfumato.models.model import Heads, PackedAttention

LOOPS = CompiledBackend()
# N positions, H heads, G key-value heads, E head dimension


def segments(num_slots: int) -> list[Segment]:
    """Four texts: a canvas in consecutive slots; a prompt, a single token and blocks in scattered slots."""
    slots = np.random.default_rng(0).permutation(np.arange(200, num_slots))
    starts_ends = [(0, 250, 1), (290, 291, 1), (3, 36, 8)]
    scattered, first = [], 0
    for start, end, block in starts_ends:
        scattered.append(Segment(slot_S=slots[first : first + end + 3], start=start, end=end, block=block))
        first += end + 3
    return [Segment(slot_S=np.arange(1, 193), start=131, end=192, block=None, run=True), *scattered]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("num_heads", "num_groups", "size", "window"),
    [
        *((9, 3, 64, window) for window in (None, 7, 150)),
        *((4, 4, 48, None), (4, 1, 16, 150), (2, 1, 20, 7), (40, 1, 32, 150)),
    ],
)
def test_attention_equals_torch_in_a_batch_and_alone(num_heads: int, num_groups: int, size: int, window: int | None):
    generator = torch.Generator().manual_seed(0)
    pool = KVPool([(num_groups, size)], 1000)
    # What no text ever wrote is not read.
    pool.keys[0].fill_(torch.nan)
    pool.values[0].fill_(torch.nan)
    texts = segments(1000)
    for segment in texts:
        held = torch.from_numpy(segment.slot_S[: segment.end])
        for whole in (pool.keys[0], pool.values[0]):
            whole[held] = torch.randn(len(held), num_groups, size, generator=generator)
    total = sum(segment.count for segment in texts)
    inputs = [
        torch.randn(1, total + 3, heads, size, generator=generator) for heads in (num_heads, num_groups, num_groups)
    ]
    windows = [] if window is None else [window]
    found, expected = (
        PackedAttention(pool, texts, total + 3, windows=windows, backend=backend).attend(
            0, Heads(*inputs), window=window
        )
        for backend in (LOOPS, TORCH)
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert not found[:, total:].any()
    # Alone each reads the same, to the last bit.
    first = 0
    for segment in texts:
        part = slice(first, first + segment.count)
        alone = PackedAttention(pool, [segment], segment.count, windows=windows, backend=LOOPS)
        assert torch.equal(alone.attend(0, Heads(*(one[:, part] for one in inputs)), window=window), found[:, part])
        first += segment.count


def test_prompt_in_chunks_equals_the_whole_prompt():
    generator = torch.Generator().manual_seed(0)
    pool, slots = KVPool([(2, 32)], 400), np.random.default_rng(0).permutation(400)[:300]
    inputs = [torch.randn(1, 300, heads, 32, generator=generator) for heads in (6, 2, 2)]
    found = []
    for ends in ([300], [1, 70, 299, 300]):
        parts = []
        for start, end in zip([0, *ends], ends, strict=False):
            chunk = PackedAttention(pool, [Segment(slot_S=slots, start=start, end=end)], end - start, backend=LOOPS)
            parts.append(chunk.attend(0, Heads(*(one[:, start:end] for one in inputs))))
        found.append(torch.cat(parts, dim=1))
    assert torch.equal(*found)


def test_nan_key_affects_only_its_readers():
    pool, slots = KVPool([(1, 16)], 100), np.arange(100)
    texts = [Segment(slot_S=slots[:40], start=0, end=40), Segment(slot_S=slots[50:], start=0, end=40)]
    inputs = [torch.randn(1, 80, 1, 16, generator=torch.Generator().manual_seed(0)) for _ in range(3)]
    inputs[1][0, 10, 0, 3] = torch.nan
    found = PackedAttention(pool, texts, 80, backend=LOOPS).attend(0, Heads(*inputs))
    assert found[0].isnan().flatten(1).any(1).tolist() == [10 <= place < 40 for place in range(80)]


def test_bfloat16_pool_falls_back_to_torch():
    pool = KVPool([(1, 16)], 100, dtype=torch.bfloat16)
    text = Segment(slot_S=np.arange(40), start=0, end=40)
    assert isinstance(PackedAttention(pool, [text], 40, backend=LOOPS)._reader, GatheredSegments)
