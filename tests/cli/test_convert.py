"""`sfumato convert`: what comes out is read back, by us and by others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.checkpoints.registry import ASSETS
from sfumato.checkpoints.tensors import WEIGHTS
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import AttentionSpec
from sfumato.sampling.logits import LearnedStop
from sfumato.spec import GenerationSpec
from sfumato.text.training import train_tokenizer

AR = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
SHAPES = {"llama": {}, "qwen2": {"attention_bias": True, "tie_word_embeddings": False}, "qwen3": {"qk_norm": True}}


@pytest.fixture(params=SHAPES)
def autoregressive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tokenizer = train_tokenizer([], 261)
    config = DecoderConfig(
        vocab_size=261,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=6,
        rope_theta=5000.0,
        **SHAPES[request.param],
    )
    model = Decoder(config)
    model.initialize(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    save_checkpoint(tmp_path / "ours", model, AR)
    tokenizer.save(tmp_path / "ours")
    return tmp_path / "ours"


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:FutureWarning")
def test_transformers_gives_the_same_logits(sfumato, autoregressive, tmp_path):
    transformers = pytest.importorskip("transformers")
    done = sfumato("convert", autoregressive, tmp_path / "theirs", "--to", "huggingface")
    assert done.exit_code == 0, done.output
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "theirs").float()
    ours = load_checkpoint(autoregressive).model
    tokens = torch.arange(5, 45)[None]
    with torch.no_grad():
        expected = ours.logits(ours(tokens, torch.arange(40)[None], AttentionSpec(causal=True)))
        found = theirs(tokens).logits
    assert expected.std() > 0.1
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    # And back again, to the bit.
    done = sfumato("convert", tmp_path / "theirs", tmp_path / "again")
    assert done.exit_code == 0, done.output
    again = load_checkpoint(tmp_path / "again").model
    assert again.config.to_dict() | {"max_position_embeddings": 0} == ours.config.to_dict() | {
        "max_position_embeddings": 0
    }
    assert all(torch.equal(again.state_dict()[name], tensor) for name, tensor in ours.state_dict().items())


def test_dtype_option(sfumato, autoregressive, tmp_path):
    assert sfumato("convert", autoregressive, tmp_path / "half", "--dtype", "bfloat16").exit_code == 0
    ours, half = (load_checkpoint(path).model.state_dict() for path in (autoregressive, tmp_path / "half"))
    assert all(torch.equal(ours[name].bfloat16().float(), half[name]) for name in ours)


@pytest.mark.parametrize(("model", "what"), [(None, "refines canvases"), ("mend", "reads lexemes")])
def test_own_architecture_is_refused(sfumato, checkpoint, tmp_path, model, what):
    done = sfumato("convert", model or checkpoint, tmp_path / "theirs", "--to", "huggingface")
    assert done.exit_code == 1
    assert f"this model {what}, which no transformers model does" in done.stderr
    assert not (tmp_path / "theirs").exists()


def test_as_the_checkpoint_it_was_trained_from(sfumato, autoregressive, tmp_path):
    """Weights in the types that the other holds; the same model in another layout, and none that is another."""
    theirs = tmp_path / "theirs"
    assert sfumato("convert", autoregressive, theirs, "--to", "huggingface", "--dtype", "bfloat16").exit_code == 0
    done = sfumato("convert", autoregressive, tmp_path / "like", "--to", "huggingface", "--base", theirs)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "like" / WEIGHTS).read_bytes() == (theirs / WEIGHTS).read_bytes()
    assert (tmp_path / "like" / "tokenizer.json").read_bytes() == (theirs / "tokenizer.json").read_bytes()
    for base, said in ((ASSETS / "tiny", "the model does not have the layout of"), (tmp_path, "holds no config.json")):
        done = sfumato("convert", autoregressive, tmp_path / "none", "--to", "huggingface", "--base", base)
        assert done.exit_code == 1
        assert said in done.stderr
    copy = tmp_path / "canvas"
    shutil.copytree(autoregressive, copy)
    config = json.loads((copy / "config.json").read_text())
    config["generation_spec"] |= {"canvas_length": 8, "logit_shift": False}
    (copy / "config.json").write_text(json.dumps(config))
    done = sfumato("convert", copy, tmp_path / "none", "--to", "huggingface", "--base", theirs)
    assert done.exit_code == 1
    assert "logit_shift of the model is False; allowed for one like" in done.stderr
    assert not (tmp_path / "none").exists()


def test_existing_files_are_not_overwritten(sfumato, checkpoint, tmp_path):
    before = json.loads((checkpoint / "config.json").read_text())
    done = sfumato("convert", checkpoint, checkpoint)
    assert done.exit_code == 1
    assert "already exists; allowed: a new or empty directory" in done.stderr
    assert json.loads((checkpoint / "config.json").read_text()) == before


def test_stop_head_is_converted(sfumato, tmp_path):
    assert sfumato("convert", "tiny", tmp_path / "half", "--dtype", "bfloat16").exit_code == 0
    before, after = (LearnedStop.read(path) for path in (ASSETS / "tiny", tmp_path / "half"))
    assert before is not None
    assert after is not None
    assert all(
        torch.equal(*pair) for pair in zip(before.state_dict().values(), after.state_dict().values(), strict=True)
    )


def test_quantized_as_it_is_multiplied(sfumato, tmp_path):
    """An embedded model's answers are those of the same weights quantized when they are loaded."""
    done = sfumato("convert", "tiny", tmp_path / "out", "--quantize", "w4a8")
    assert (tmp_path / "out/stop_head.safetensors").exists()
    assert done.exit_code == 0, done.output
    assert not list((tmp_path / "out").glob("*.partial"))
    asked = ("run", "12+5", "--seed", "1", "--json", "--model")
    ours, theirs = (sfumato(*asked, tmp_path / "out"), sfumato(*asked, "tiny", "--quantize", "w4a8"))
    assert ours.exit_code == theirs.exit_code == 0, ours.output
    assert json.loads(ours.stdout)["text"] == json.loads(theirs.stdout)["text"]
    refused = sfumato(*asked, tmp_path / "out", "--quantize", "w8a8")
    assert refused.exit_code == 1
    assert "holds weights in w4a8" in refused.stderr
    assert json.loads(sfumato("models", "show", tmp_path / "out", "--json").stdout)["quantized"] == "w4a8"


@pytest.mark.parametrize("options", [("--to", "delta", "--base", "tiny"), ("--bits", "8")])
def test_quantized_with_another_layout_is_refused(sfumato, tmp_path, options):
    done = sfumato("convert", "tiny", tmp_path / "out", "--quantize", "w4a8", *options)
    assert done.exit_code == 2, done.output
    assert "without --to, --base, --bits" in done.stderr
    assert not (tmp_path / "out").exists()
