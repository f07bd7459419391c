"""Answers with the kernels of a GPU, interpreted where there is none."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
import torch

from sfumato.engine.engine import Engine
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Request
from sfumato.models import attention
from sfumato.models.operations import TORCH, on_gpu, use
from sfumato.spec import GenerationSpec

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not made for this platform", allow_module_level=True)

NAMES = ["uniform", "self-conditioned", "mask", "block", "full-shifted", "ar"]


def tokens_of(model: TextModel, requests: list[Request]) -> dict[int, tuple[int, ...]]:
    events = Engine(model).run(requests)
    return {index: event.result.tokens for index, event in events if isinstance(event, Finished)}


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_without_kernels_alone_and_together(
    make_model: Callable[..., TextModel],
    specs: dict[str, GenerationSpec],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
):
    """Token for token, drawn and greedy; three texts of different lengths."""
    model = make_model(specs[name], num_hidden_layers=1)
    model.decoder.to("cpu" if not torch.cuda.is_available() else "cuda")
    settings: dict[str, Any] = {"max_tokens": 6, "steps": 2}
    if not specs[name].autoregressive:
        settings["canvas_length"] = 4
    requests = [
        model.request("ab" * (1 + i), seed=i, temperature_start=i / 2, temperature_end=i / 2, **settings)
        for i in range(3)
    ]
    expected = tokens_of(model, requests)
    monkeypatch.setattr(attention, "_reads_in_kernels", lambda _: True)
    operations = on_gpu(torch.float32)
    assert operations is not TORCH
    use(model.generator.model, operations)
    assert tokens_of(model, requests) == expected
    assert tokens_of(model, requests[1:2])[0] == expected[1]
