"""Float products equal torch's for any size, batch and number of threads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from sfumato.kernels.cpu.backend import FloatMatrix

# N rows, I inputs, O outputs


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    ("num_rows", "num_inputs", "num_outputs"), [(1, 1, 1), (3, 64, 48), (9, 577, 33), (5, 48, 32), (40, 7, 64)]
)
def test_product_equals_torch_linear(
    num_rows: int, num_inputs: int, num_outputs: int, biased: bool, added: bool, threads: int
):
    weight_OI, x_NI = numbers(num_outputs, num_inputs), numbers(num_rows, num_inputs, seed=1)
    bias_O = numbers(num_outputs, seed=2) if biased else None
    residual_NO = numbers(num_rows, num_outputs, seed=3) if added else None
    matrix = FloatMatrix(weight_OI, bias_O)
    expected = functional.linear(x_NI, weight_OI, bias_O) + (0.0 if residual_NO is None else residual_NO)
    torch.testing.assert_close(matrix.multiply(x_NI, residual_NO=residual_NO), expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("biased", [False, True])
def test_sums_over_many_inputs_equal_torch_linear(biased: bool):
    weight_OI, x_NI, bias_O = numbers(40, 5000) / 70, numbers(11, 5000, seed=1), numbers(40, seed=2)
    matrix = FloatMatrix(weight_OI, bias_O if biased else None)
    residual_NO = numbers(11, 40, seed=3)
    expected = functional.linear(x_NI, weight_OI, bias_O if biased else None) + residual_NO
    torch.testing.assert_close(matrix.multiply(x_NI, residual_NO=residual_NO), expected, atol=1e-4, rtol=1e-5)


def test_row_is_bitwise_equal_in_any_batch(threads: int):
    matrix, x_NI = FloatMatrix(numbers(576, 192)), numbers(40, 192, seed=1)
    whole_NO = matrix.multiply(x_NI)
    for first, last in ((0, 1), (0, 8), (3, 16), (7, 40)):
        assert torch.equal(matrix.multiply(x_NI[first:last]), whole_NO[first:last])


def test_inputs_may_be_strided():
    weight_OI, wide_NS = numbers(64, 16), numbers(12, 48, seed=1)
    x_NI = wide_NS[:, 16:32]
    torch.testing.assert_close(FloatMatrix(weight_OI).multiply(x_NI), functional.linear(x_NI, weight_OI))
    x_NI = numbers(16, 12, seed=1).T
    torch.testing.assert_close(FloatMatrix(weight_OI).multiply(x_NI), functional.linear(x_NI, weight_OI))


def test_nan_stays_in_its_row():
    x_NI = numbers(16, 64, seed=1)
    x_NI[3, 5] = torch.nan
    found_N = FloatMatrix(numbers(40, 64)).multiply(x_NI).isnan().any(-1)
    assert found_N.nonzero().flatten().tolist() == [3]
