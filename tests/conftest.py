"""Models of a few thousand weights and a byte tokenizer, for tests that need something to run."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

# Defined here so that pytest finds it from any directory.
from matrix import mark_cells, pytest_terminal_summary  # noqa: F401
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.text.tokenizer import Tokenizer
from sfumato.text.training import train_tokenizer

# No time limit on a shared machine, no files, the same examples every run.
settings.register_profile("sfumato", deadline=None, database=None, derandomize=True)
settings.load_profile("sfumato")

# A shell that starts tests in the background makes them ignore Ctrl-C, and so would every program a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests neither read nor write a user's cache.
_CACHE = tempfile.TemporaryDirectory()
os.environ["SFUMATO_CACHE"] = _CACHE.name

# Without a GPU its kernels are interpreted; read when Triton is imported.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# Parallel test processes and the programs they start share the cores: waiting threads would make everything many times
# slower.
if (num_workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) > 1:
    num_threads = max(torch.get_num_threads() // num_workers, 1)
    os.environ["OMP_NUM_THREADS"] = str(num_threads)
    torch.set_num_threads(num_threads)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cells of the parity matrix. Files with slow tests come first, so that none of them is the last to end
    while other processes have nothing left to do."""
    mark_cells(items)
    first = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in first)


@pytest.fixture(autouse=True)
def _seed():
    """The same draws every run, alone or among others; `torch.manual_seed` would take a hundred times as long."""
    torch.default_generator.manual_seed(0)


@pytest.fixture(autouse=True)
def _time_to_compile(monkeypatch: pytest.MonkeyPatch):
    """Expensive requests are refused by their states, not by how busy the machine is."""
    monkeypatch.setattr("sfumato.constraints.dfa.MAX_SECONDS", 600.0)


# Every decoder option that changes what its layers compute.
VARIANTS: dict[str, dict[str, Any]] = {
    "multi-head": {"num_key_value_heads": 4},
    "grouped-query": {"num_key_value_heads": 2},
    "multi-query": {"num_key_value_heads": 1},
    "qk-norm": {"qk_norm": True},
    "biases": {"attention_bias": True},
    "untied": {"tie_word_embeddings": False},
    "canvas": {"canvas_embedding": True, "self_conditioning": True},
    "everything": {
        "qk_norm": True,
        "attention_bias": True,
        "tie_word_embeddings": False,
        "canvas_embedding": True,
        "self_conditioning": True,
    },
}


def build_decoder(seed: int = 0, **changes: Any) -> Decoder:
    """A decoder with all weights drawn, including those that start at zero or one, and logits far from flat."""
    sizes: dict[str, Any] = {
        "vocab_size": 23,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 6,
        "max_position_embeddings": 96,
    }
    model = Decoder(DecoderConfig(**sizes | changes))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4 + (parameter.dim() < 2))
    return model.eval()


@pytest.fixture(scope="session")
def make_decoder() -> Callable[..., Decoder]:
    return build_decoder


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> Decoder:
    return build_decoder(**VARIANTS[request.param])


@pytest.fixture(scope="session")
def byte_tokenizer() -> Tokenizer:
    """A token for every byte and the five special ones; 261 in all."""
    return train_tokenizer([], 261)


@pytest.fixture
def recipe(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file with the module's recipe."""
    path = tmp_path / "small.toml"
    path.write_text(request.module.RECIPE)
    return path


@pytest.fixture
def draw() -> Callable[..., list[int]]:
    """Token ids drawn with a seed: draw(count, seed=0, vocab_size=23)."""

    def drawn(count: int, seed: int = 0, vocab_size: int = 23) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(vocab_size, (count,), generator=generator).tolist()

    return drawn
