"""Engine output with the GPU kernels, interpreted where there is no GPU, and tests that need one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfumato.api import load
from sfumato.checkpoints.load import save_checkpoint
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Request
from sfumato.kernels.gpu.backend import TritonBackend
from sfumato.models.model import AttentionSpec, set_backend
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization.products import grouped_product
from sfumato.models.quantization.weights import QUANTIZATIONS, QuantizedWeight
from sfumato.models.sparse import _flex
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not made for this platform", allow_module_level=True)

NAMES = ["self-conditioned", "block", "full-shifted", "ar"]
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
Make = Callable[..., TextModel]


@pytest.fixture
def load_on_device(byte_tokenizer: Tokenizer, tmp_path: Path) -> Callable[..., TextModel]:
    """A model on the device where the kernels run: load_on_device(model, **options of `load`)."""

    def loaded(model: TextModel, **settings: Any) -> TextModel:
        save_checkpoint(tmp_path, model.decoder, model.spec)  # type: ignore[arg-type]
        byte_tokenizer.save(tmp_path)
        return load(tmp_path, device=DEVICE, **settings)

    return loaded


def requests_of(model: TextModel) -> list[Request]:
    """Sampled and greedy, of different lengths."""
    settings: dict[str, Any] = {"max_tokens": 6, "steps": 2}
    if not model.spec.autoregressive:
        settings["canvas_length"] = 4
    return [
        model.request("ab" * (1 + i), seed=i, temperature_start=i / 2, temperature_end=i / 2, **settings)
        for i in range(3)
    ]


def tokens_of(model: TextModel, requests: list[Request], **config: Any) -> dict[int, tuple[int, ...]]:
    events = Engine(model, EngineConfig(**config)).run(requests)
    return {index: event.result.tokens for index, event in events if isinstance(event, Finished)}


@pytest.mark.parametrize("name", NAMES)
def test_triton_output_equals_torch_alone_and_in_a_batch(
    make_model: Make, specs: dict[str, GenerationSpec], load_on_device: Make, name: str, monkeypatch: pytest.MonkeyPatch
):
    """Token for token."""
    plain = make_model(specs[name], num_hidden_layers=1)
    expected = tokens_of(plain, requests_of(plain))
    model = load_on_device(plain)
    backend = TritonBackend(torch.float32)
    set_backend(model.bundle.model, backend)
    requests = requests_of(model)
    assert tokens_of(model, requests) == expected
    assert tokens_of(model, requests[1:2])[0] == expected[1]


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("experts", [False, True])
def test_recorded_steps_give_the_same_tokens(
    make_model: Make, specs: dict[str, GenerationSpec], load_on_device: Make, name: str, experts: bool
):
    changes: dict[str, Any] = {}
    if experts:
        changes["moe"] = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
    model = load_on_device(make_model(specs[name], **changes))
    settings = {} if model.spec.autoregressive else {"canvas_length": 8}
    requests = [model.request("abc", n=3, max_tokens=24, steps=6, adaptive=False, **settings)]
    computed, recorded = (Engine(model, EngineConfig(replay=replay)) for replay in (False, True))
    tokens = [
        [event.result.tokens for _, event in engine.run(requests) if isinstance(event, Finished)]
        for engine in (computed, recorded)
    ]
    assert tokens[0] == tokens[1]
    if not model.spec.autoregressive:
        assert recorded.runner.replayer is not None
        assert recorded.runner.replayer.num_replays > 0


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
@pytest.mark.parametrize("quantize", [None, "fp8"])
def test_gpu_logits_match_cpu_logits(
    make_model: Make, specs: dict[str, GenerationSpec], load_on_device: Make, quantize: str
):
    """In bfloat16 and in FP8, within their precision."""
    plain = make_model(
        specs["uniform"],
        hidden_size=64,
        intermediate_size=64,
        moe=MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64),
    )
    model = load_on_device(plain, dtype="bfloat16", quantize=quantize)
    tokens = torch.randint(20, (1, 32), generator=torch.Generator().manual_seed(0))
    logits = []
    with torch.no_grad():
        for decoder in (plain.bundle.model, model.bundle.model):
            positions = torch.arange(32, device=decoder.device)[None]
            hidden = decoder(tokens.to(decoder.device), positions, AttentionSpec(causal=True))
            logits.append(decoder.logits(hidden).cpu())
    assert (logits[0] - logits[1]).std() < (0.1 if quantize is None else 0.4) * logits[0].std()


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
def test_fp8_experts_on_gpu_match_cpu():
    generator = torch.Generator().manual_seed(0)
    weight_XOI, x_MI = torch.randn(4, 32, 64, generator=generator), torch.randn(24, 64, generator=generator)
    end_X = torch.tensor([8, 8, 19, 24], dtype=torch.int32)
    found = []
    for device, dtype in (("cpu", torch.float32), ("cuda", torch.bfloat16)):
        quantized = QuantizedWeight(weight_XOI.shape, QUANTIZATIONS["fp8"], dtype, device)
        quantized.put((), weight_XOI)
        found.append(grouped_product(x_MI.to(device, dtype), quantized, end_X.to(device)).float().cpu())
    torch.testing.assert_close(found[1], found[0], rtol=0.05, atol=0.05 * float(found[0].abs().max()))


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
def test_flex_attention_is_used():
    assert _flex(torch.device("cuda", 0)) is not None
