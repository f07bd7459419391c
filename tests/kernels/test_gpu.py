"""Triton kernels equal torch and the CPU loops; without a GPU they are interpreted, and compiled for one."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sfumato.kernels.base import TORCH, KVPool, LogitRows, Statistics
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.kernels.gpu.backend import TritonBackend
from sfumato.layout import Segment
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec, Heads, PackedAttention, set_backend

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not made for this platform", allow_module_level=True)

from sfumato.kernels.gpu import kernels

# N rows, I inputs, H heads, E head dimension, V vocabulary

DEVICE = kernels.DEVICE
DTYPES = [torch.float32, torch.bfloat16]


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def check(found: Tensor, expected: Tensor) -> None:
    """Equal to a few units in the last place of the expected dtype."""
    size = 3 * torch.finfo(expected.dtype).eps
    torch.testing.assert_close(found, expected, rtol=size, atol=size * float(expected.abs().max()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", kernels.GATES)
@pytest.mark.parametrize(("num_rows", "size"), [(1, 1), (3, 70), (2, 2000)])
def test_gate_equals_torch_on_strided_halves(num_rows: int, size: int, activation: str, dtype: torch.dtype):
    gate, up = (9 * numbers(num_rows, 2 * size)).to(dtype).chunk(2, -1)
    check(kernels.gate(gate, up, activation), TORCH.gate(gate.float(), up.float(), activation).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("turned", [8, 4])
def test_rotation_equals_torch_on_strided_heads(apart: bool, turned: int, dtype: torch.dtype):
    x_NHE = (numbers(6, 5, 8)[:, :3] if not apart else numbers(6, 3, 9)[..., :8]).to(dtype)
    cos, sin = numbers(6, turned, seed=1), numbers(6, turned, seed=2)
    expected = TORCH.rotate(x_NHE.unsqueeze(0).float(), cos[None, :, None], sin[None, :, None])[0]
    check(kernels.rotate(x_NHE, cos, sin), expected.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_soft_cap_equals_torch_and_returns_float32(dtype: torch.dtype):
    logits = (40 * numbers(3, 5000)).to(dtype)
    check(kernels.cap(logits, 30.0), 30.0 * torch.tanh(logits.float() / 30.0))


@pytest.mark.parametrize("size", [1, 24, 700])
def test_fp8_rounding_equals_torch_within_its_mantissa(size: int):
    x_NI = numbers(5, size) * torch.tensor([1.0, 1e-3, 1e6, 0.0, 1.0], device=DEVICE)[:, None]
    x_NI[4, 0] = torch.nan
    (levels, scale), (expected, expected_scale) = kernels.round_rows(x_NI), TORCH.quantize_float8(x_NI)
    torch.testing.assert_close(scale, expected_scale, equal_nan=True)
    assert scale.isnan().tolist() == [False] * 4 + [True]
    back = levels.float()[:4] * scale[:4, None]
    # Three bits of mantissa, and one that is implied.
    torch.testing.assert_close(back, x_NI[:4], rtol=1 / 16, atol=0)
    assert (levels[:4].float() != expected[:4].float()).float().mean() < 0.01


@pytest.mark.parametrize("banned", [False, True])
@pytest.mark.parametrize("size", [5, 700, 9000])
def test_token_statistics_equal_the_cpu_loops(size: int, banned: bool):
    logits_NV, u_N = 4 * numbers(8, size), torch.rand(8, generator=torch.Generator().manual_seed(1))
    # Two tokens alike: the first is the best.
    logits_NV[3, 2] = logits_NV[3, size - 1] = 30.0
    asked: dict[str, Any] = {}
    if banned:
        asked = {"banned_RV": torch.rand(2, size, generator=torch.Generator().manual_seed(2)) < 0.3, "mask_id": 3}
        asked["banned_RV"][1] = True
        asked["ban_N"] = torch.tensor([0, 0, 0, 0, 0, 0, 0, 1])
    rows = (torch.full((8,), 0.8), u_N, torch.arange(8) == 2)
    expected, expected_sums, _ = CompiledBackend().read(LogitRows(logits_NV.cpu(), *rows, **asked), weigh=False)
    weights = ((logits_NV.cpu() - logits_NV.cpu().amax(-1, keepdim=True)) / 0.8).exp()
    asked = {name: value.to(DEVICE) if isinstance(value, Tensor) else value for name, value in asked.items()}
    on_device = (row.to(DEVICE) for row in rows)
    found, found_sums, found_weights = kernels.read(
        LogitRows(logits_NV, *on_device, **asked), weights_dtype=torch.float32
    )
    found = Statistics(*(x.cpu() for x in found))
    whole = 7 if banned else 8
    for name, one, other in zip(
        (*found._fields, "sums"), (*found, found_sums.cpu()), (*expected, expected_sums), strict=True
    ):
        torch.testing.assert_close(one[:whole], other[:whole], rtol=2e-5, atol=2e-5, msg=name)
    assert found.margin_RL.isnan().tolist() == [False] * whole + [True] * (8 - whole)
    assert found_weights is not None
    if not banned:
        torch.testing.assert_close(found_weights.cpu(), weights)
        assert int(found.argmax_RL[3]) == 2
        assert torch.equal(found.sampled_RL[2], found.argmax_RL[2])


@pytest.mark.parametrize("bad", [torch.nan, -torch.nan, torch.inf])
@pytest.mark.parametrize("place", [0, 299, 511])
def test_non_finite_logits_give_a_nan_margin_only_in_their_row(bad: float, place: int):
    logits = numbers(3, 512)
    logits[1, place] = bad
    zeros = torch.zeros(3, device=DEVICE)
    found, _, _ = kernels.read(LogitRows(logits, torch.ones_like(zeros), zeros, zeros.bool()))
    assert found.margin_RL.isnan().tolist() == [False, True, False]
    assert all(bool(((tokens >= 0) & (tokens < 512)).all()) for tokens in (found.argmax_RL, found.sampled_RL))


@pytest.mark.parametrize("dtype", DTYPES)
def test_draws_follow_the_tempered_distribution(dtype: torch.dtype):
    logits_V, count = torch.tensor([0.0, 1.0, -1.0, 2.0], dtype=dtype, device=DEVICE), 64
    u_N = (torch.arange(count, device=DEVICE) + 0.5) / count
    rows = (torch.full((count,), 2.0, device=DEVICE), u_N, torch.zeros(count, dtype=torch.bool, device=DEVICE))
    stats, _, weights = kernels.read(LogitRows(logits_V.expand(count, 4), *rows), weights_dtype=dtype)
    assert weights is not None
    assert weights.dtype == dtype
    shares = torch.bincount(stats.sampled_RL, minlength=4) / count
    torch.testing.assert_close(shares, (logits_V.float() / 2).softmax(-1), rtol=0, atol=1 / count)


@pytest.mark.parametrize(("num_heads", "num_groups", "size"), [(6, 2, 24), (4, 4, 16), (8, 1, 70)])
# Interpreted, products of bfloat16 are those of their bits.
@pytest.mark.parametrize(("dtype", "window"), [(torch.float32, None), (torch.float16, 40)])
def test_attention_over_many_tiles_equals_torch(
    dtype: torch.dtype, num_heads: int, num_groups: int, size: int, window: int | None
):
    """Tiles of queries and of keys; the heads of a group need not divide a tile."""
    generator = torch.Generator().manual_seed(0)
    pool = KVPool([(num_groups, size)], 500, dtype=dtype, device=DEVICE)
    for tensor in (*pool.keys, *pool.values):
        tensor.copy_(torch.randn(tensor.shape, generator=generator))
    slots = torch.randperm(500, generator=generator).numpy()
    # Two texts that share what stands before their canvases, a prompt, a block, one token.
    ends = ((90, 150, None), (90, 130, None), (0, 75, 1), (64, 96, 32), (33, 34, 1))
    starts = (0, 0, 170, 250, 350)
    segments = [
        Segment(slot_S=slots[first : first + end], start=start, end=end, block=block)
        for first, (start, end, block) in zip(starts, ends, strict=True)
    ]
    segments[1] = dataclasses.replace(segments[1], slot_S=np.concatenate((slots[:90], slots[400:440])))
    total = sum(segment.count for segment in segments)
    inputs = [torch.randn(1, total + 2, heads, size, generator=generator) for heads in (num_heads, *[num_groups] * 2)]
    inputs = [one.to(DEVICE, dtype) for one in inputs]
    found = []
    for backend in (TORCH, TritonBackend(dtype)):
        windows = [] if window is None else [window]
        packed = PackedAttention(pool, segments, total + 2, windows=windows, backend=backend)
        found.append(packed.attend(0, Heads(*inputs), window=window)[:, :total])
    tolerance = 1e-5 if dtype is torch.float32 else 3e-3
    torch.testing.assert_close(found[1], found[0], rtol=tolerance, atol=tolerance)


def test_model_logits_equal_torch(make_decoder: Callable[..., Decoder], draw: Callable[..., list[int]]):
    model = make_decoder(hidden_size=16, head_dim=8, self_conditioning=True).to(DEVICE)
    tokens = torch.tensor([draw(12)], device=DEVICE)
    inputs = (tokens, torch.arange(12, device=DEVICE)[None], AttentionSpec(causal=True))
    expected = model.logits(model(*inputs))
    set_backend(model, TritonBackend(torch.float32))
    torch.testing.assert_close(model.logits(model(*inputs)), expected, rtol=1e-4, atol=1e-5)


_COMPILE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from sfumato.kernels.gpu import kernels

def built(kernel, pointers, integers, floats=(), constants=(), warps=4):
    types = {name: f"*{kind}" for name, kind in pointers.items()}
    types |= dict.fromkeys(integers, "i32") | dict.fromkeys(floats, "fp32")
    types |= dict.fromkeys(dict(constants), "constexpr")
    assert set(types) == set(kernel.arg_names), kernel
    given = {(kernel.arg_names.index(name),): value for name, value in dict(constants).items()}
    source = ASTSource(kernel, {name: types[name] for name in kernel.arg_names}, constexprs=given)
    assert compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps}).asm["cubin"]

for kind, flag in (("fp32", False), ("bf16", True)):
    built(
        kernels._gate_rows, dict.fromkeys(("gate", "up", "out"), kind), ("stride", "size"),
        constants={"GELU": flag, "COLUMNS": 1024},
    )
    built(
        kernels._rotate_heads, dict.fromkeys(("x", "cos", "sin", "out"), kind),
        ("row_stride", "head_stride", "num_heads", "size", "half"),
        constants={"HALF": 64, "SIZE": 64 * flag}, warps=1,
    )
    built(kernels._cap_rows, {"logits": kind, "out": "fp32"}, ("count",), ("cap",), {"COLUMNS": 4096})
    built(
        kernels._round_rows, {"x": kind, "levels": "fp8e4nv", "scales": "fp32"}, ("stride", "size"), ("most",),
        {"SIZE": 4096}, warps=8,
    )
    for size, rows, warps in ((64, 64, 4), (512, 16, 8)) if kind == "bf16" else ((128, 16, 4),):
        built(
            kernels._attend_tiles,
            dict.fromkeys(("queries", "keys", "values", "out"), kind) | {"slots": "i32", "tiles": "i32"},
            ("window", "row_stride", "head_stride", "slot_stride", "size"), ("scale",),
            {"HEADS": 3, "SIZE": size, "ROWS": rows, "KEYS": 32}, warps=warps,
        )
    pointers = dict.fromkeys(("scale_N", "u_N", "numbers"), "fp32") | dict.fromkeys(("ban_N", "tokens"), "i64")
    pointers |= {"logits": kind, "weights": kind, "greedy_N": "u8", "banned_RV": "u8"}
    built(
        kernels._read_rows, pointers, ("mask_id", "num_rows", "size"),
        constants={"BANS": flag, "WEIGH": flag, "TILE": 4096}, warps=8,
    )
print("all compiled")
"""


@pytest.mark.slow
def test_all_kernels_compile_for_a_gpu():
    """To machine code of Hopper, with types as the model gives them; that needs no GPU."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", _COMPILE], env=environment, capture_output=True, text=True)
    assert done.stdout == "all compiled\n", done.stderr
