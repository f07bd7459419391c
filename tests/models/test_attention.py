"""Attention against its definition: within a forward, and over texts packed in a pool."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from sfumato.kernels.base import TORCH, Backend, KVPool, readable
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.layout import Segment
from sfumato.models import sparse
from sfumato.models.model import AttentionSpec, Heads, PackedAttention
from sfumato.models.sparse import BlockDiagonal, BlockSparse, _flex, select_masked_attention

# R rows, Q queries, S key slots, H heads, G key-value heads, E head dimension


def attend_by_definition(queries_RQHE: Tensor, keys_RSGE: Tensor, values_RSGE: Tensor, mask_RQS: Tensor) -> Tensor:
    """Softmax over the allowed keys, one query head at a time; the heads of a group are adjacent, as in Llama."""
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
def test_attention_equals_its_definition(kind: str, num_groups: int, scale: float | None):
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 5, 4, 6), torch.randn(2, 5, num_groups, 6), torch.randn(2, 5, num_groups, 6)
    mask, spec = torch.ones(2, 5, 5, dtype=torch.bool), AttentionSpec()
    if kind == "causal":
        mask, spec = mask.tril(), AttentionSpec(causal=True)
    elif kind == "mask":
        mask &= (torch.rand(2, 5, 5) < 0.5) | (torch.arange(5) == 3)
        spec = AttentionSpec(mask=mask[:, None])
    expected = attend_by_definition(queries * (1.0 if scale is None else scale * 6**0.5), keys, values, mask)
    torch.testing.assert_close(spec.attend(0, Heads(queries, keys, values), scale=scale), expected)


def random_mask(num_rows: int, size: int) -> Tensor:
    """A mask for each row; one block of the second is empty."""
    mask_R1QQ = torch.rand(num_rows, 1, size, size, generator=torch.Generator().manual_seed(0)) < 0.3
    mask_R1QQ[1:, :, :128, 128:] = False
    return mask_R1QQ | torch.eye(size, dtype=torch.bool)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize(
    ("size", "num_groups", "scale"), [(256, 1, None), (256, 4, 1.0), (200, 2, 1.0), (200, 4, None)]
)
def test_block_sparse_attention_equals_masked_attention(size: int, num_groups: int, scale: float | None):
    torch.manual_seed(0)
    mask_R1QQ = random_mask(2, size)
    queries, keys, values = (torch.randn(2, size, heads, 16) for heads in (4, num_groups, num_groups))
    expected = AttentionSpec(mask=mask_R1QQ).attend(0, Heads(queries, keys, values), scale=scale)
    block_sparse = BlockSparse.of(mask_R1QQ, flex_attention)
    torch.testing.assert_close(block_sparse.attend(0, Heads(queries, keys, values), scale=scale), expected)
    mixed = block_sparse.attend(0, Heads(queries, keys, values.bfloat16()), scale=scale)
    assert mixed.dtype is torch.bfloat16
    if size == 256:
        assert block_sparse.blocks.kv_num_blocks.sum() + block_sparse.blocks.full_kv_num_blocks.sum() == 4 + 3


def dense(mask_R1QQ: Tensor, queries: Tensor, keys: Tensor, values: Tensor, **settings: Any) -> Tensor:
    enable_gqa, scale = settings["enable_gqa"], settings["scale"]
    return functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask_R1QQ, scale=scale, enable_gqa=enable_gqa
    )


def test_flex_attention_is_verified_before_use(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """Stand-ins for compiled flex attention, which has no backward on CPUs: one that applies the mask, and two that do
    not."""

    def by_mask(queries: Tensor, keys: Tensor, values: Tensor, *, block_mask: BlockMask, **settings: Any) -> Tensor:
        position = torch.arange(queries.shape[2])
        index = (torch.arange(len(queries))[:, None, None], torch.zeros(1), position[:, None], position[None])
        return dense(block_mask.mask_mod(*index)[:, None], queries, keys, values, **settings)

    def everything(queries: Tensor, keys: Tensor, values: Tensor, *, block_mask: BlockMask, **settings: Any) -> Tensor:
        return dense(torch.ones(1, 1, 256, 256, dtype=torch.bool), queries, keys, values, **settings)

    def broken(*_: Tensor, **settings: Any) -> Tensor:
        raise RuntimeError("no kernel image")

    device = torch.device("cpu")
    for stand_in, message in ((by_mask, ""), (everything, "wrong results"), (broken, "RuntimeError: no kernel image")):
        monkeypatch.setattr(torch, "compile", lambda _, stand_in=stand_in: stand_in)
        caplog.clear()
        found = _flex.__wrapped__(device)
        assert (found is stand_in) == (not message)
        assert message in caplog.text
        assert bool(caplog.text) == bool(message)


@pytest.mark.parametrize(
    ("short", "starts"), [(1, [[0, 3, 4], [0]]), (4, [[0, 4], [0]]), (7, [[0, 4], [0]]), (8, [[0], [0]])]
)
def test_rows_are_cut_where_nothing_is_read_across(
    short: int, starts: list[list[int]], monkeypatch: pytest.MonkeyPatch
):
    """A text, one that reads only itself, two that meet in one position, and a row whose ends meet."""
    monkeypatch.setattr(sparse, "_SHORT", short)
    mask_R1QQ = torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    for first, end in ((0, 3), (3, 4), (4, 7), (6, 8)):
        mask_R1QQ[0, 0, first:end, first:end] = True
    mask_R1QQ[1] = torch.eye(8, dtype=torch.bool)
    mask_R1QQ[1, 0, 0, 7] = True
    assert [row.nonzero().flatten().tolist() for row in BlockDiagonal.of(mask_R1QQ).starts_RQ] == starts


def test_short_rows_are_not_cut():
    assert isinstance(select_masked_attention(random_mask(1, 128)), AttentionSpec)
    assert isinstance(select_masked_attention(random_mask(1, 129)), BlockDiagonal)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("num_groups", "scale", "max_scores"), [(4, None, 1), (2, 1.0, 1 << 22)])
def test_stretches_and_their_gradients_equal_masked_attention(
    num_groups: int, scale: float | None, max_scores: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sparse, "_MAX_SCORES", max_scores)
    monkeypatch.setattr(sparse, "_SHORT", 16)
    ends, mask_R1QQ = [[1, 34, 66, 75, 100], [64, 96, 98, 100]], random_mask(2, 100)
    inside = torch.stack([torch.bucketize(torch.arange(100), torch.tensor(each), right=True) for each in ends])
    mask_R1QQ &= (inside[:, :, None] == inside[:, None])[:, None]
    drawn = [torch.randn(2, 100, heads, 16).to(dtype) for heads in (4, num_groups, num_groups, 4)]
    found = []
    for attention in (AttentionSpec(mask=mask_R1QQ), select_masked_attention(mask_R1QQ)):
        inputs = [one.clone().requires_grad_() for one in drawn[:3]]
        out = attention.attend(0, Heads(*inputs), scale=scale)
        found.append([out, *torch.autograd.grad(out, inputs, drawn[3])])
    share = 1e-6 if dtype is torch.float32 else 0.01
    for expected, ours in zip(*found, strict=True):
        assert (ours - expected).norm() < share * expected.norm()


def test_compiled_layers_attend_in_stretches_of_any_number(monkeypatch: pytest.MonkeyPatch):
    """One graph serves batches whose stretches differ."""
    monkeypatch.setattr(sparse, "_SHORT", 1)
    graphs = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph

    def attend(attention: BlockDiagonal, *heads: Tensor) -> Tensor:
        return attention.attend(0, Heads(*heads))

    compiled = torch.compile(attend, backend=backend, dynamic=False, fullgraph=True)
    for cut in (3, 8):
        mask_R1QQ = torch.ones(1, 1, 8, 8, dtype=torch.bool)
        mask_R1QQ[..., :cut, cut:] = mask_R1QQ[..., cut:, :cut] = False
        heads = [torch.randn(1, 8, 2, 4) for _ in range(3)]
        expected = AttentionSpec(mask=mask_R1QQ).attend(0, Heads(*heads))
        torch.testing.assert_close(compiled(BlockDiagonal.of(mask_R1QQ), *heads), expected)
    assert len(graphs) == 1


def test_windowed_layers_have_their_own_mask():
    torch.manual_seed(0)
    queries, keys, values = torch.randn(1, 5, 2, 6), torch.randn(1, 5, 2, 6), torch.randn(1, 5, 2, 6)
    near = torch.ones(1, 5, 5, dtype=torch.bool).tril().triu(-1)
    spec = AttentionSpec(causal=True, windows={2: AttentionSpec(mask=near[:, None])})
    for window, mask in ((None, near.new_ones(1, 5, 5).tril()), (2, near), (9, near.new_ones(1, 5, 5).tril())):
        expected = attend_by_definition(queries, keys, values, mask)
        torch.testing.assert_close(spec.attend(0, Heads(queries, keys, values), window=window), expected)


def may_read(start: int, count: int, block: int | None, window: int | None, query: int, key: int) -> bool:
    """The rule, position by position: up to the end of the block or canvas, from where the window starts."""
    position, end = start + query, start + count
    last = end if block is None else min(end, (position // block + 1) * block)
    first = 0 if window is None else (start if block is None else position) - window + 1
    return first <= key < last


@pytest.mark.parametrize("window", [None, 1, 3, 6, 50])
@pytest.mark.parametrize("block", [1, 2, 4, None])
@pytest.mark.parametrize("count", [1, 3, 7])
@pytest.mark.parametrize("start", [0, 2, 5])
def test_readable_positions_follow_the_rule(start: int, count: int, block: int | None, window: int | None):
    first, mask = readable(start, start + count, block, window)
    seen = torch.zeros(count, start + count, dtype=torch.bool)
    seen[:, first:] = True if mask is None else mask
    assert seen.any(-1).all(), "a position that reads nothing has NaN for output"
    for query, key in itertools.product(range(count), range(start + count)):
        assert seen[query, key] == may_read(start, count, block, window, query, key), (query, key)


SHAPES: dict[str, list[tuple[int, int, int | None]]] = {
    "one prompt": [(0, 9, 1)],
    "prompts of one length": [(0, 6, 1), (0, 6, 1), (0, 6, 1)],
    "canvases behind prefixes": [(4, 5, None), (7, 3, None), (4, 5, None)],
    "everything": [(0, 9, 1), (3, 4, 1), (0, 5, None), (2, 4, None), (2, 4, None), (4, 8, 4), (8, 1, None)],
}


@pytest.fixture(params=["torch", "triton", "compiled"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """The Triton kernel is interpreted where there is no GPU."""
    if request.param == "triton":
        pytest.importorskip("triton", reason="Triton is not made for this platform")
        from sfumato.kernels.gpu.backend import TritonBackend

        return TritonBackend(torch.float32)
    return TORCH if request.param == "torch" else CompiledBackend()


@pytest.mark.parametrize(("padding", "window", "scale"), [(0, None, None), (3, 3, None), (0, 20, 1.0), (3, None, 1.0)])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_packed_texts_attend_only_to_themselves(
    shapes: list[tuple[int, int, int | None]], padding: int, window: int | None, scale: float | None, backend: Backend
):
    """Each position against the definition, in two layers: its own text as far as allowed, and no other slots."""
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
        segments.append(Segment(slot_S=slots.numpy(), start=start, end=start + count, block=block, run=run))
        layers = [(torch.randn(start, 2, 6, generator=generator), torch.randn(start, 2, 6)) for _ in range(2)]
        for layer, (keys, values) in enumerate(layers):
            pool.keys[layer][slots[:start]], pool.values[layer][slots[:start]] = keys, values
        prefixes.append(layers)
    total = sum(segment.count for segment in segments)
    windows = [] if window is None else [window]
    packed = PackedAttention(pool, segments, total + padding, windows=windows, backend=backend)
    expected_positions = [position for segment in segments for position in range(segment.start, segment.end)]
    assert packed.positions_1N[0, :total].tolist() == expected_positions
    before = [tensor.clone() for tensor in (*pool.keys, *pool.values)]
    for layer in range(2):
        queries, keys, values = (torch.randn(1, total + padding, heads, 6) for heads in (4, 2, 2))
        found = packed.attend(layer, Heads(queries, keys, values), window=window, scale=scale)
        assert found.shape == queries.shape
        assert not found[:, total:].any()
        offset = 0
        for segment, layers, (start, count, block) in zip(segments, prefixes, shapes, strict=True):
            part = slice(offset, offset + count)
            mask = torch.tensor(
                [[may_read(start, count, block, window, q, s) for s in range(start + count)] for q in range(count)]
            )
            expected = attend_by_definition(
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
            offset += count
    for old, new in zip(before, (*pool.keys, *pool.values), strict=True):
        assert torch.equal(old[1:], new[1:])
