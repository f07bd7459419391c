from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sfumato.kernels.base import TORCH, Backend, Statistics
from sfumato.kernels.cpu.backend import CompiledBackend
from sfumato.kernels.gpu.backend import TritonBackend
from sfumato.sampling import logits
from sfumato.sampling.logits import LogitsReader

# R rows, L canvas, V vocab, D model

LOGITS_RLV = 3 * torch.randn(3, 5, 11, generator=torch.Generator().manual_seed(0))


class _Setup:
    backend: Backend = TORCH
    num_draws = 4096


@pytest.fixture(params=["torch", "compiled", "triton"], autouse=True)
def select_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"torch": lambda: TORCH, "compiled": CompiledBackend, "triton": lambda: TritonBackend(torch.float32)}
    monkeypatch.setattr(_Setup, "backend", made[request.param]())
    if request.param == "triton":
        # The interpreter is slow.
        monkeypatch.setattr(_Setup, "num_draws", 128)


@torch.no_grad()
def read(logits_RLV: Tensor, u_RL: Tensor | None = None, soft: Any = None, **changes: Any) -> tuple[Statistics, Any]:
    num_rows, length, _ = logits_RLV.shape
    fields: dict[str, Any] = {
        "tokens_RL": torch.zeros(num_rows, length, dtype=torch.int64),
        "open_RL": torch.ones(num_rows, length, dtype=torch.bool),
        "temperature_R": torch.ones(num_rows),
        "greedy_R": torch.zeros(num_rows, dtype=torch.bool),
        "cut": None,
        "mask_id": None,
        "banned": None,
        "backend": _Setup.backend,
    }
    fields |= changes
    reader = LogitsReader(index_N=fields["open_RL"].flatten().nonzero().squeeze(-1), **fields)
    return reader.read(
        logits_RLV.flatten(0, 1)[reader.index_N], torch.zeros(num_rows, length) if u_RL is None else u_RL, soft
    )


def cut(top_p: list[float], top_k: list[int] | None = None) -> tuple[Tensor, Tensor]:
    return torch.tensor(top_p), torch.tensor(top_k or [0] * len(top_p))


def softmax(logits: Any) -> Any:
    weights = np.exp(np.asarray(logits, dtype=np.float64))
    return weights / weights.sum(-1, keepdims=True)


def frequencies(logits_V: Tensor, num_draws: int = 4096, **changes: Any) -> Tensor:
    """Shares of the tokens drawn at evenly spaced uniforms: off by less than 1 / num_draws each."""
    u_RL = (torch.arange(num_draws).unsqueeze(0) + 0.5) / num_draws
    statistics, _ = read(logits_V.expand(1, num_draws, -1), u_RL, **changes)
    return torch.bincount(statistics.sampled_RL[0], minlength=len(logits_V)) / num_draws


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_statistics_agree_with_float64(temperature: float) -> None:
    statistics, _ = read(LOGITS_RLV, torch.full((3, 5), 0.4), temperature_R=torch.full((3,), temperature))
    probs = softmax(LOGITS_RLV.numpy().astype(np.float64) / temperature)
    ordered = np.sort(probs, axis=-1)
    np.testing.assert_allclose(statistics.entropy_RL, -(probs * np.log(probs)).sum(-1), rtol=1e-4)
    np.testing.assert_allclose(statistics.margin_RL, ordered[..., -1] - ordered[..., -2], atol=1e-6)
    np.testing.assert_array_equal(statistics.argmax_RL, probs.argmax(-1))
    sampled = (probs.cumsum(-1) <= 0.4).sum(-1)
    np.testing.assert_array_equal(statistics.sampled_RL, sampled)
    confidence = np.take_along_axis(probs, sampled[..., None], -1)[..., 0]
    np.testing.assert_allclose(statistics.confidence_RL, confidence, rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_draws_follow_the_tempered_distribution(temperature: float) -> None:
    shares_V = frequencies(LOGITS_RLV[0, 0], _Setup.num_draws, temperature_R=torch.tensor([temperature]))
    np.testing.assert_allclose(shares_V, softmax(LOGITS_RLV[0, 0] / temperature), atol=1 / _Setup.num_draws)


@pytest.mark.parametrize("temperature", [0.0, 1e-30])
def test_temperature_zero_takes_the_argmax_with_statistics_of_temperature_one(temperature: float) -> None:
    cold, _ = read(LOGITS_RLV, torch.full((3, 5), 0.99), temperature_R=torch.full((3,), temperature))
    warm, _ = read(LOGITS_RLV, torch.full((3, 5), 0.99))
    assert torch.equal(cold.sampled_RL, warm.argmax_RL)
    assert torch.equal(cold.entropy_RL, warm.entropy_RL)
    assert torch.equal(cold.margin_RL, warm.margin_RL)
    assert not torch.equal(warm.sampled_RL, warm.argmax_RL)
    np.testing.assert_allclose(cold.confidence_RL, softmax(LOGITS_RLV).max(-1), rtol=1e-5)


def test_greedy_rows_take_the_argmax() -> None:
    statistics, _ = read(LOGITS_RLV, torch.full((3, 5), 0.99), greedy_R=torch.tensor([True, False, True]))
    greedy_R = (statistics.sampled_RL == statistics.argmax_RL).all(-1)
    assert greedy_R.tolist() == [True, False, True]


def test_top_p_keeps_the_smallest_sufficient_set() -> None:
    logits_V = torch.tensor([0.05, 0.4, 0.15, 0.3, 0.1]).log()
    # 0.4 + 0.3 reaches 0.7 only with the third token, for float32 puts the sum a hair below; 0.69 needs two.
    shares_V = frequencies(logits_V, cut=cut([0.69]))
    np.testing.assert_allclose(shares_V, [0, 4 / 7, 0, 3 / 7, 0], atol=1 / 4096)
    shares_V = frequencies(logits_V, cut=cut([0.75]))
    np.testing.assert_allclose(shares_V, [0, 0.4 / 0.85, 0.15 / 0.85, 0.3 / 0.85, 0], atol=1 / 4096)
    assert frequencies(logits_V, cut=cut([1e-6])).tolist() == [0, 1, 0, 0, 0]


def test_top_p_applies_within_top_k() -> None:
    logits_V = torch.tensor([0.1, 0.4, 0.2, 0.05, 0.25]).log()
    torch.testing.assert_close(
        frequencies(logits_V, cut=cut([1.0], [2])), torch.tensor([0, 0.4, 0, 0, 0.25]) / 0.65, atol=1e-3, rtol=0
    )
    # 0.4 of 0.65 is less than 0.7 of it, 0.4 of 1 would have been too.
    assert (frequencies(logits_V, cut=cut([0.6], [2])) > 0).tolist() == [False, True, False, False, False]
    assert (frequencies(logits_V, cut=cut([0.6], [0])) > 0).tolist() == [False, True, False, False, True]


def test_top_p_applies_per_row() -> None:
    u_RL = torch.rand(3, 5, generator=torch.Generator().manual_seed(1))
    plain, _ = read(LOGITS_RLV, u_RL)
    mixed, _ = read(LOGITS_RLV, u_RL, cut=cut([1.0, 0.2, 1.0]))
    assert torch.equal(mixed.sampled_RL[[0, 2]], plain.sampled_RL[[0, 2]])
    assert not torch.equal(mixed.sampled_RL[1], plain.sampled_RL[1])
    assert torch.equal(mixed.entropy_RL[[0, 2]], plain.entropy_RL[[0, 2]])
    torch.testing.assert_close(mixed.entropy_RL[1], plain.entropy_RL[1])


def test_tokens_without_probability_are_never_drawn() -> None:
    num = _Setup.num_draws // 2
    logits_RLV = torch.full((1, num, 8), -math.inf)
    logits_RLV[..., 1:4] = torch.randn(1, num, 3, generator=torch.Generator().manual_seed(2))
    for u in (0.0, 1 - 2**-24):
        statistics, _ = read(logits_RLV, torch.full((1, num), u))
        assert set(statistics.sampled_RL.unique().tolist()) <= {1, 2, 3}


def test_banned_tokens_and_the_mask_are_neither_drawn_nor_drafted() -> None:
    u_RL = torch.rand(3, 5, generator=torch.Generator().manual_seed(3))
    banned_V = torch.zeros(11, dtype=torch.bool)
    banned_V[[0, 4, 7]] = True
    statistics, _ = read(LOGITS_RLV, u_RL, banned=banned_V, mask_id=9)
    for tokens_RL in (statistics.sampled_RL, statistics.argmax_RL):
        assert not torch.isin(tokens_RL, torch.tensor([0, 4, 7, 9])).any()
    banned_RV = torch.stack([banned_V, torch.zeros_like(banned_V), banned_V])
    by_row, _ = read(LOGITS_RLV, u_RL, banned=banned_RV, mask_id=9)
    assert torch.equal(by_row.entropy_RL[[0, 2]], statistics.entropy_RL[[0, 2]])
    unbanned, _ = read(LOGITS_RLV, u_RL, mask_id=9)
    assert torch.equal(by_row.entropy_RL[1], unbanned.entropy_RL[1])


def test_closed_positions_keep_their_token_with_certainty() -> None:
    """The others are as when all are open."""
    open_RL = torch.ones(3, 5, dtype=torch.bool)
    open_RL[1, 2] = open_RL[0, 0] = False
    banned = torch.arange(11) > 8
    settings: dict[str, Any] = {"tokens_RL": torch.full((3, 5), 9), "mask_id": 9, "banned": banned}
    u_RL = torch.full((3, 5), 0.99)
    statistics, soft_ND = read(LOGITS_RLV, u_RL, lambda probs: probs, open_RL=open_RL, **settings)
    everything, full_ND = read(LOGITS_RLV, u_RL, lambda probs: probs, **settings)
    for column, full in zip(statistics, everything, strict=True):
        assert torch.equal(column[open_RL], full[open_RL])
    for where in ((1, 2), (0, 0)):
        assert [column[where].item() for column in statistics] == [9, 9, 1.0, 0.0, 1.0]
    assert torch.equal(soft_ND, full_ND[open_RL.flatten()])


def test_canvas_without_open_positions() -> None:
    statistics, soft_ND = read(LOGITS_RLV, None, lambda probs: probs, open_RL=torch.zeros(3, 5, dtype=torch.bool))
    assert soft_ND is None
    assert statistics.confidence_RL.min() == 1.0


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_broken_logits_give_a_nan_margin_only_at_their_position(broken: float) -> None:
    logits_RLV = LOGITS_RLV.clone()
    logits_RLV[1, 2, 4] = broken
    statistics, _ = read(logits_RLV)
    expected_RL = torch.zeros(3, 5, dtype=torch.bool)
    expected_RL[1, 2] = True
    assert torch.equal(statistics.margin_RL.isnan(), expected_RL)
    assert ((statistics.sampled_RL >= 0) & (statistics.sampled_RL < 11)).all()


def test_soft_embedding_uses_the_tempered_distribution_before_top_p() -> None:
    embedding_VD = torch.randn(11, 4, generator=torch.Generator().manual_seed(4))
    _, soft_ND = read(
        LOGITS_RLV, None, lambda probs: probs @ embedding_VD, temperature_R=torch.full((3,), 0.5), cut=cut([0.5] * 3)
    )
    expected = softmax(LOGITS_RLV / 0.5) @ embedding_VD.double().numpy()
    np.testing.assert_allclose(soft_ND, expected.reshape(15, 4), atol=1e-5)


def test_tiling_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    u_RL = torch.rand(3, 5, generator=torch.Generator().manual_seed(5))
    banned_RV = torch.rand(3, 11, generator=torch.Generator().manual_seed(6)) < 0.3
    options: dict[str, Any] = {
        "banned": banned_RV,
        "cut": cut([0.5, 1.0, 0.9]),
        "temperature_R": torch.tensor([0.5, 1.0, 0.0]),
        "open_RL": ~torch.eye(3, 5, dtype=torch.bool),
    }
    full, full_soft = read(LOGITS_RLV, u_RL, lambda probs: probs, **options)
    # Tiles of two positions in chunks of four: 12 open positions make three chunks, across rows.
    monkeypatch.setattr(logits, "_TILE_BYTES", 2 * 4 * 256)
    monkeypatch.setattr(Backend, "held_bytes", 4 * 4 * 256)
    tiled, tiled_soft = read(LOGITS_RLV, u_RL, lambda probs: probs, **options)
    for one, other in zip((*full, full_soft), (*tiled, tiled_soft), strict=True):
        assert torch.equal(one, other)
    # Alone in its tile, a position gives the same bits.
    monkeypatch.setattr(logits, "_TILE_BYTES", 4 * 256)
    single, single_soft = read(LOGITS_RLV, u_RL, lambda probs: probs, **options)
    for one, other in zip((*full, full_soft), (*single, single_soft), strict=True):
        assert torch.equal(one, other)


def test_half_precision_logits_are_widened_first() -> None:
    half_RLV = LOGITS_RLV.bfloat16()
    statistics, _ = read(half_RLV)
    widened, _ = read(half_RLV.float())
    assert statistics.entropy_RL.dtype == torch.float32
    assert torch.equal(statistics.entropy_RL, widened.entropy_RL)


def test_vocabulary_of_one_token() -> None:
    statistics, _ = read(torch.zeros(1, 2, 1))
    assert statistics.sampled_RL.tolist() == [[0, 0]]
    assert statistics.margin_RL.tolist() == [[1.0, 1.0]]
