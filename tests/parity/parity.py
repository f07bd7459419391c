"""What the parity tests share: a tokenizer of numbers, errors, and the ways in which any checkpoint has to survive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from sfumato.checkpoints.load import Checkpoint, export_like, load_checkpoint, save_checkpoint
from sfumato.checkpoints.tensors import WEIGHTS
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec, Model
from sfumato.models.quantization.products import QuantizedLinear
from sfumato.models.quantization.weights import Quantization, QuantizedWeight

# Q positions, V vocabulary


@dataclass
class Numbers:
    """A tokenizer whose text is the tokens' numbers."""

    eos_ids: tuple[int, ...] = ()
    special_ids: frozenset[int] = frozenset()
    unstable_ids: frozenset[int] = frozenset()

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        return "".join(self.pieces(ids))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        return [f"{id_} " for id_ in ids]


def relative_error(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest expected value."""
    assert found.shape == expected.shape
    assert (expected.std(-1) > 0.3).all(), "logits too flat to compare"
    return float((found - expected).abs().max() / expected.abs().max())


@torch.inference_mode()
def logits(model: Model) -> Tensor:
    """Logits [Q, V] of one text, read causally."""
    tokens_1Q = torch.randint(model.config.vocab_size, (1, 23), generator=torch.Generator().manual_seed(0))
    return model.logits(model(tokens_1Q, torch.arange(23)[None], AttentionSpec(causal=True)))[0]


def check_saved(checkpoint: Checkpoint, directory: Path) -> None:
    """What our layout holds is the same model: spec, defaults, and every bit of its logits."""
    assert isinstance(checkpoint.model, Decoder)
    save_checkpoint(directory, checkpoint.model, checkpoint.spec, generation=checkpoint.generation)
    loaded = load_checkpoint(directory)
    assert loaded.spec == checkpoint.spec
    assert loaded.generation == checkpoint.generation
    assert torch.equal(logits(loaded.model), logits(checkpoint.model))


def check_exported(checkpoint: Checkpoint, source: Path, directory: Path) -> None:
    """A checkpoint in the layout of the one it came from holds every bit of that, and what stands beside it.

    Args:
        checkpoint: as it was loaded.
        source: it was loaded from there.
        directory: to write to.
    """
    (source / "modeling_own.py").write_text("raise SystemExit\n")
    (source / "model.safetensors.index.json").write_text("{}")
    export_like(directory, checkpoint, source)
    (source / "model.safetensors.index.json").unlink()
    before, after = load_file(source / WEIGHTS), load_file(directory / WEIGHTS)
    assert all(torch.equal(after[name], before[name]) for name in after)
    # A head that is tied may be stored besides.
    assert before.keys() - after.keys() <= {"lm_head.weight", "model.transformer.ff_out.weight"}
    beside = {path.name for path in source.iterdir()} - {WEIGHTS}
    assert {path.name for path in directory.iterdir()} == beside | {WEIGHTS}
    assert all((directory / name).read_bytes() == (source / name).read_bytes() for name in beside)
    assert torch.equal(logits(load_checkpoint(directory).model), logits(checkpoint.model))


def check_int8(checkpoint: Checkpoint, directory: Path) -> None:
    """Weights of 8 bits compute what their float values would, and that is close to the model as it was.

    Args:
        checkpoint: of float weights, which are replaced.
        directory: it was loaded from there.
    """
    exact = logits(checkpoint.model)
    quantized = load_checkpoint(directory, quantization=Quantization(bits=8)).model
    found = logits(quantized)
    held = dict(quantized.named_modules())
    replaced = 0
    with torch.no_grad():
        for path, module in held.items():
            if isinstance(module, QuantizedLinear):
                linear = checkpoint.model.get_submodule(path)
                assert isinstance(linear, nn.Linear)
                linear.weight.copy_(module.weight.dequantized())
                replaced += 1
            elif isinstance(module, QuantizedWeight) and not isinstance(held[path.rpartition(".")[0]], QuantizedLinear):
                checkpoint.model.get_parameter(path).copy_(module.dequantized())
                replaced += 1
    assert replaced >= 4 * len(checkpoint.model.cache_heads)
    assert torch.allclose(found, logits(checkpoint.model), rtol=1e-5, atol=1e-5)
    # The median, for where two experts were nearly equal a position may go to the other one.
    assert 0.0 < float((found - exact).abs().median() / exact.std()) < 0.1
