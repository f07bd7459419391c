"""`python -m benchmarks compare`: both sides do the work, and say how long it took."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.__main__ import app
from benchmarks.compare import Work, compare
from benchmarks.shapes import random_checkpoint, write_gemma
from typer.testing import CliRunner

from sfumato.errors import ConfigError

pytest.importorskip("transformers", minversion="5.23")
WORK = Work(prompt_tokens=6, new_tokens=70, steps=2, repeats=2)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("gemma")
    write_gemma(directory, vocab_size=97, hidden_size=16, intermediate_size=16)
    return directory


@pytest.mark.filterwarnings("ignore")
def test_diffusion(gemma: Path) -> None:
    found = compare(gemma, "transformers", WORK)
    # Two canvases of two steps.
    assert found.forward_passes == 4
    assert found.ours_s > 0
    assert found.theirs_s > 0
    assert 0.1 < found.ratio / (found.theirs_s / found.ours_s) < 10


@pytest.mark.filterwarnings("ignore")
def test_autoregression(make_llama: Callable[..., Any], tmp_path: Path) -> None:
    make_llama(tmp_path)
    found = compare(tmp_path, "transformers", WORK)
    assert found.forward_passes == 70


@pytest.fixture
def make_llama() -> Callable[..., Any]:
    import transformers

    def made(directory: Path) -> None:
        config = transformers.LlamaConfig(
            vocab_size=31,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            bos_token_id=None,
            eos_token_id=None,
        )
        transformers.LlamaForCausalLM(config).save_pretrained(directory)

    return made


@pytest.mark.filterwarnings("ignore")
def test_command(gemma: Path) -> None:
    arguments = ["compare", str(gemma), "--prompt", "5", "--tokens", "10", "--steps", "1", "--repeats", "1"]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    values = json.loads(done.stdout)
    work = {"prompt_tokens": 5, "new_tokens": 10, "steps": 1, "repeats": 1, "quantize": None}
    assert values["work"] == work
    assert values["model"] == str(gemma)
    done = CliRunner().invoke(app, arguments)
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["sfumato", "transformers", "ratio"]


def test_unknown_names(gemma: Path) -> None:
    with pytest.raises(ConfigError, match="unknown peer 'transformer'; did you mean 'transformers'"):
        compare(gemma, "transformer", WORK)
    with pytest.raises(ConfigError, match="unknown shape 'gemma'"):
        random_checkpoint("gemma")
