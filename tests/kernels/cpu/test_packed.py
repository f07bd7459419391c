"""Linears in oneDNN's order, by functions of torch that inductor calls: a release that renames them fails here."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sfumato.kernels.cpu import packed
from sfumato.kernels.cpu.packed import PackedLinear, pack_linears, unpack_linears

# N rows, I inputs


def make(num_inputs: int, num_outputs: int, *, bias: bool = False) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(num_inputs, num_outputs, bias=bias)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(64, 48), (577, 33), (1, 1)])
def test_it_is_the_linear_and_gives_it_back(num_inputs: int, num_outputs: int, bias: bool):
    linear, x = make(num_inputs, num_outputs, bias=bias), torch.randn(2, 9, num_inputs)
    one = PackedLinear(linear)
    torch.testing.assert_close(one(x), linear(x))
    back = one.unpacked()
    assert torch.equal(back.weight, linear.weight)
    assert back.weight.requires_grad
    assert torch.equal(back(x), linear(x))


def test_a_row_is_the_same_among_any_whole_eights():
    linear, x_NI = PackedLinear(make(1536, 576)), torch.randn(200, 1536)
    whole = linear(x_NI)
    for first, last in ((0, 8), (16, 56), (64, 200)):
        assert torch.equal(linear(x_NI[first:last]), whole[first:last])


def test_large_linears_of_floats_are_packed_and_come_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packed, "_MIN_WEIGHTS", 64 * 64)
    layers = nn.Sequential(make(64, 64), make(64, 8), nn.Sequential(make(64, 64).double()), make(64, 65, bias=True))
    model = nn.Sequential(layers, make(64, 64))
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    pack_linears(model)
    linears = (layers[0], layers[1], layers[2][0], layers[3])
    assert [isinstance(one, PackedLinear) for one in linears] == [True, False, False, True]
    assert type(model[1]) is nn.Linear, "a head is read as a matrix too"
    unpack_linears(model)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_what_is_not_the_same_for_any_rows_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packed, "_is_invariant", lambda linear: False)
    model = nn.Sequential(nn.Sequential(make(512, 512)))
    pack_linears(model)
    assert type(model[0][0]) is nn.Linear
