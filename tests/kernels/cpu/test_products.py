"""Integer products equal torch's for any size, instruction set and number of threads."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sfumato.kernels.base import QuantizedActivation, unpack
from sfumato.kernels.cpu import products, running
from sfumato.kernels.cpu.loops.sizes import features
from sfumato.kernels.cpu.products import Matrix
from sfumato.models.quantization.products import IntegerMatrix
from sfumato.models.quantization.weights import Quantization, QuantizedWeight

# N rows, M one or two digits of each, I inputs, O outputs

pytestmark = pytest.mark.skipif(not products.is_available(), reason="this CPU does not multiply integers in these ways")
# Rows and outputs that fill tiles and panels, some less and some more, down to none; and inputs as well.
SIZES = [(0, 3, 5), (1, 32, 64), (5, 40, 70), (15, 31, 3), (16, 64, 128), (33, 100, 192), (47, 96, 64), (90, 33, 130)]


@pytest.fixture(params=["lanes", "tiles", *list(running.LIBRARIES)[1:]])
def instruction(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes of the best library for this CPU or of another one, or tiles."""
    if request.param == "tiles" and not products._has_tiles():
        pytest.skip("this CPU has no AMX, or may not use it")
    if request.param in running.LIBRARIES:
        if sys.platform != "linux" or not features() >= running.LIBRARIES[request.param]:
            pytest.skip("this library is for other CPUs")
        library = ctypes.CDLL(str(running.LOOPS / request.param))
        monkeypatch.setattr(running, "library", lambda: library)
        for loop in ("_run", "_sum"):
            monkeypatch.setattr(products, loop, running.Loop(getattr(products, loop).name))
    monkeypatch.setattr(products, "_MIN_TILED", 0 if request.param == "tiles" else sys.maxsize // 2)


def integers(*shape: int, least: int = -127, seed: int = 0) -> Tensor:
    return torch.randint(least, 128, shape, generator=torch.Generator().manual_seed(seed)).to(torch.int8)


def multiply(matrix: Matrix, levels_MI: Tensor, digits: int = 1) -> Tensor:
    """With factors of 1."""
    scale_NG = torch.ones(len(levels_MI) // digits, 1)
    return matrix.multiply(QuantizedActivation(levels_MI, scale_NG), torch.ones(matrix.shape[0]))


def grouped(bits: int, group: int, *shape: int) -> QuantizedWeight:
    """Random weights whose rows differ in magnitude."""
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    held = QuantizedWeight(torch.Size(shape), Quantization(bits=bits, group=group, arithmetic="int8"), torch.float32)
    held.put((), weight * torch.linspace(1e-3, 9.0, shape[-2])[:, None])
    return held


def inputs(num_rows: int, digits: int, matrix: Matrix) -> QuantizedActivation:
    levels_MI = integers(digits * num_rows, matrix.shape[-1])
    return QuantizedActivation(levels_MI, torch.rand(num_rows, matrix.num_groups) + 0.5)


def in_doubles(x: QuantizedActivation, weight_OI: Tensor) -> Tensor:
    """The product of dequantized inputs and weights."""
    num_rows, num_groups = x.scale_NG.shape
    digits = torch.unflatten(x.levels_MI.double(), 1, (num_groups, -1))
    whole = digits[:num_rows] + digits[num_rows:] / 254 if len(digits) > num_rows else digits
    return (whole * x.scale_NG.double()[..., None]).flatten(1) @ weight_OI.double().T


@pytest.mark.usefixtures("instruction", "threads")
@pytest.mark.parametrize(("num_rows", "num_outputs", "num_inputs"), SIZES)
def test_integer_products_are_exact(num_rows: int, num_outputs: int, num_inputs: int):
    """With so few inputs, exact in float32 too."""
    x_NI, levels_OI = integers(num_rows, num_inputs), integers(num_outputs, num_inputs, seed=1)
    matrix = Matrix(levels_OI)
    assert torch.equal(matrix.levels, levels_OI)
    assert torch.equal(multiply(matrix, x_NI), (x_NI.long() @ levels_OI.long().T).float())


@pytest.mark.usefixtures("instruction")
def test_extreme_integers_do_not_overflow():
    x_NI, levels_OI = torch.full((20, 640), -128).to(torch.int8), torch.full((40, 640), -128).to(torch.int8)
    assert multiply(Matrix(levels_OI), x_NI).eq(128 * 128 * 640).all()


@pytest.mark.usefixtures("instruction")
def test_more_rows_than_fit_the_cache(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(products, "_MAX_ROWS", 20)
    x_NI, levels_OI = integers(50, 64), integers(32, 64, seed=1)
    assert torch.equal(multiply(Matrix(levels_OI), x_NI), (x_NI.long() @ levels_OI.long().T).float())
    # Rows among others are read where they stand.
    assert torch.equal(multiply(Matrix(levels_OI), x_NI[::3]), (x_NI[::3].long() @ levels_OI.long().T).float())


@pytest.mark.usefixtures("instruction", "threads")
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize(("num_rows", "num_outputs", "num_inputs"), SIZES)
def test_scales_bias_and_residual_are_applied(
    num_rows: int, num_outputs: int, num_inputs: int, digits: int, adds: bool
):
    levels_MI, levels_OI = integers(digits * num_rows, num_inputs), integers(num_outputs, num_inputs, seed=1)
    scale_N1, scales_O, bias_O = torch.rand(num_rows, 1), torch.rand(num_outputs), torch.rand(num_outputs)
    residual_NO = torch.rand(num_rows, num_outputs) if adds else None
    x, given = QuantizedActivation(levels_MI, scale_N1), (scales_O, bias_O if adds else None)
    found_NO = Matrix(levels_OI).multiply(x, *given, residual_NO=residual_NO)
    high_NO, *low_NO = (levels_MI.double() @ levels_OI.double().T).split(max(1, num_rows))
    whole_NO = high_NO + low_NO[0] / 254 if low_NO else high_NO
    expected_NO = whole_NO * scale_N1 * scales_O
    if residual_NO is not None:
        expected_NO += bias_O + residual_NO
    torch.testing.assert_close(found_NO.double(), expected_NO, rtol=1e-5, atol=1e-2)
    in_torch = IntegerMatrix(levels_OI)
    if num_rows:
        torch.testing.assert_close(
            found_NO, in_torch.multiply(x, *given, residual_NO=residual_NO), rtol=1e-6, atol=1e-3
        )


@pytest.mark.usefixtures("instruction", "threads")
@pytest.mark.parametrize("counts", [(3, 0, 1, 40, 0), (0, 0, 0, 0, 2), (17, 16, 33, 4, 5), (0,) * 5])
@pytest.mark.parametrize(("num_outputs", "num_inputs"), [(5, 3), (32, 64), (70, 100)])
def test_stacked_matrices_multiply_their_own_rows(counts: tuple[int, ...], num_outputs: int, num_inputs: int):
    """A matrix may have no rows."""
    levels_XOI = integers(len(counts), num_outputs, num_inputs, seed=1)
    levels_MI, scale_M1 = integers(sum(counts), num_inputs), torch.rand(sum(counts), 1)
    scales_XO, end_X = torch.rand(len(counts), num_outputs), torch.tensor(counts).cumsum(0).int()
    matrices = Matrix(levels_XOI)
    assert torch.equal(matrices.levels, levels_XOI)
    found_MO = matrices.multiply(QuantizedActivation(levels_MI, scale_M1), scales_XO, end_X=end_X)
    own_M = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    product_MO = (levels_XOI.double()[own_M] @ levels_MI.double()[:, :, None]).squeeze(-1)
    expected_MO = product_MO * scale_M1 * scales_XO[own_M]
    torch.testing.assert_close(found_MO.double(), expected_MO, rtol=1e-6, atol=1e-6)


GROUPS = [
    *((4, 32, 64, 96), (4, 32, 33, 32), (4, 12, 70, 36), (4, 64, 7, 10), (4, 64, 40, 192), (8, 32, 40, 128)),
    (8, 16, 31, 3),
]


@pytest.mark.usefixtures("instruction", "threads")
@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize("num_rows", [0, 1, 3, 6, 17])
@pytest.mark.parametrize(("bits", "group", "num_outputs", "num_inputs"), GROUPS)
def test_grouped_weights_equal_dequantized_products(
    num_rows: int, bits: int, group: int, num_outputs: int, num_inputs: int, digits: int
):
    """Levels, scales and minimums are unpacked unchanged."""
    held = grouped(bits, group, num_outputs, num_inputs)
    matrix, in_torch = Matrix(held.levels, held.groups), IntegerMatrix(held.levels, held.groups)
    assert torch.equal(matrix.levels, held.levels)
    assert matrix.groups is not None
    assert torch.equal(matrix.groups, held.groups)
    x, scales_O = inputs(num_rows, digits, matrix), held.scales.squeeze(-1)
    residual_NO, bias_O = torch.rand(num_rows, num_outputs), torch.rand(num_outputs)
    expected_NO = in_doubles(x, held.dequantized()) + bias_O + residual_NO
    for one in (matrix, in_torch):
        found_NO = one.multiply(x, scales_O, bias_O, residual_NO=residual_NO)
        torch.testing.assert_close(found_NO.double(), expected_NO, rtol=1e-5, atol=2e-2)
        torch.testing.assert_close(one.multiply(x, scales_O), found_NO - bias_O - residual_NO, rtol=1e-5, atol=2e-2)


@pytest.mark.usefixtures("instruction")
@pytest.mark.parametrize("value", [-128, -127, 127])
@pytest.mark.parametrize("bits", [4, 8])
def test_extreme_group_sums_do_not_overflow(bits: int, value: int):
    """AVX2 adds products in 16 bits, which must not overflow."""
    held = torch.full((32, 64), 255, dtype=torch.uint8) if bits == 4 else torch.full((32, 128), 127, dtype=torch.int8)
    highest = int(unpack(held).max())
    matrix = Matrix(held, torch.ones(32, 4, 2, dtype=torch.float16))
    x = QuantizedActivation(torch.full((5, 128), value, dtype=torch.int8), torch.ones(5, 4))
    expected = float(128 * value * (highest + 1))
    assert torch.equal(matrix.multiply(x, torch.ones(1, 32)), torch.full((5, 32), expected))
    assert highest == 2**bits - 1


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize(("bits", "group"), [(4, 32), (4, 64), (8, 32)])
def test_grouped_row_is_bitwise_equal_in_any_batch(bits: int, group: int, digits: int):
    """To the last bit, with any number of rows: in tiles, if there are many."""
    held = grouped(bits, group, 70, 192)
    matrix, scales_O = Matrix(held.levels, held.groups), held.scales.squeeze(-1)
    x = inputs(23, digits, matrix)
    together_NO = matrix.multiply(x, scales_O)
    for first, last in ((0, 1), (1, 3), (3, 8), (8, 15), (15, 23)):
        levels = torch.cat([part[first:last] for part in torch.split(x.levels_MI, 23)])
        alone_NO = matrix.multiply(QuantizedActivation(levels, x.scale_NG[first:last]), scales_O)
        assert torch.equal(alone_NO, together_NO[first:last])


@pytest.mark.usefixtures("instruction", "threads")
@pytest.mark.parametrize("counts", [(3, 0, 1, 40, 0), (0, 0, 0, 0, 2), (0,) * 5])
@pytest.mark.parametrize(("bits", "group"), [(4, 32), (4, 64), (8, 32)])
def test_stacked_grouped_matrices_multiply_their_own_rows(counts: tuple[int, ...], bits: int, group: int):
    held = grouped(bits, group, len(counts), 40, 128)
    matrices, in_torch = Matrix(held.levels, held.groups), IntegerMatrix(held.levels, held.groups)
    assert torch.equal(matrices.levels, held.levels)
    x, scales_XO = inputs(sum(counts), 1, matrices), held.scales.squeeze(-1)
    ends = torch.tensor(counts).cumsum(0).tolist()
    parts = [
        in_doubles(QuantizedActivation(x.levels_MI[end - count : end], x.scale_NG[end - count : end]), weight_OI)
        for end, count, weight_OI in zip(ends, counts, held.dequantized(), strict=True)
        if count
    ]
    expected_MO = torch.cat(parts) if parts else torch.empty(0, 40).double()
    for one in (matrices, in_torch):
        found_MO = one.multiply(x, scales_XO, end_X=torch.tensor(ends).int())
        torch.testing.assert_close(found_MO.double(), expected_MO, rtol=1e-5, atol=2e-2)


@pytest.mark.usefixtures("instruction", "threads")
@pytest.mark.parametrize("chunk", [64, 2048])
@pytest.mark.parametrize(("num_rows", "num_outputs", "num_inputs"), SIZES)
def test_mean_of_two_digit_weights(
    num_rows: int, num_outputs: int, num_inputs: int, chunk: int, monkeypatch: pytest.MonkeyPatch
):
    """With sums split among threads."""
    monkeypatch.setattr(products, "_CHUNK", chunk)
    digits_MI, levels_OI = integers(2 * num_rows, num_inputs, least=0), integers(num_outputs, num_inputs, seed=1)
    matrix = Matrix(levels_OI, sums=True)
    assert torch.equal(matrix.levels, levels_OI)
    high_NO, low_NO = (digits_MI.double() @ levels_OI.double().T).chunk(2)
    found_NO = matrix.mean(digits_MI, 0.25)
    torch.testing.assert_close(found_NO.double(), (high_NO + low_NO / 127) * 0.25, rtol=1e-5, atol=1e-2)


def test_amx_is_unused_where_the_system_refuses_it(monkeypatch: pytest.MonkeyPatch):
    """AMX would kill a process that may not use it."""
    source = (
        "import ctypes, torch\n"
        "class Refuses:\n"
        "    def __init__(self, name): pass\n"
        "    def syscall(self, *numbers): return -1\n"
        "from sfumato.kernels.cpu import products, running\n"
        "running.library()\n"
        "products.ctypes.CDLL = Refuses\n"
        "x = torch.ones(40, 64, dtype=torch.int8)\n"
        "from sfumato.kernels.base import QuantizedActivation\n"
        "rows = QuantizedActivation(x, torch.ones(40, 1))\n"
        "print(int(products.Matrix(x).multiply(rows, torch.ones(40)).sum()), products._has_tiles())\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(40 * 40 * 64), "False"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="it pretends to be an older CPU of that kind")
def test_older_cpu_compiles_no_avx512_or_amx(tmp_path: Path):
    """Compiling instructions that the CPU does not have ends the process."""
    source = (
        "from sfumato.kernels.cpu.loops import sizes\n"
        "sizes.features = frozenset\n"
        "from sfumato.kernels.cpu import products\n"
        "from sfumato.kernels.cpu.loops import tiles\n"
        "print(products.is_available(), tiles.AMX)\n"
    )
    older = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False, env=os.environ | older
    )
    assert (done.returncode, done.stdout) == (0, "False False\n"), done.stderr
