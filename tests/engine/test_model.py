"""TextModel: loading, prompts, options and defaults, and the messages of its refusals."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sfumato
from sfumato.api import load
from sfumato.checkpoints.load import Checkpoint, save_checkpoint
from sfumato.engine.model import TextModel
from sfumato.errors import CapacityError, CheckpointError, ConfigError, RequestError
from sfumato.models.decoder import Decoder
from sfumato.models.quantization.apply import quantize_model
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.sampling.config import SamplerConfig
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

Make = Callable[..., TextModel]
PLAIN = GenerationSpec(canvas_length=8)
AR = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
MASK = GenerationSpec(noise="mask", mask_id=4, canvas_length=8)
# The model of the tests holds 96 positions; a prompt of n bytes has n + 2 tokens.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps is 0; allowed: a whole number, 1 to 1000"),
        ({"steps": -1}, "steps is -1; allowed: a whole number, 1 to 1000"),
        ({"steps": 1001}, "steps is 1001; allowed: a whole number, 1 to 1000"),
        ({"steps": 2.5}, "steps is 2.5; allowed: a whole number"),
        ({"canvas_length": 97}, "canvas_length is 97; allowed: 1 to 96, the positions of this model"),
        ({"canvas_length": 0}, "canvas_length is 0; allowed: a whole number, 1 to"),
        ({"canvas_length": "8"}, "canvas_length is '8'; allowed: a whole number"),
        ({"max_tokens": 0}, "max_tokens is 0; allowed"),
        ({"n": 0}, "n is 0; allowed"),
        ({"seed": -1}, "seed is -1; allowed"),
        (
            {"sampler": "entrpy"},
            r"unknown sampler 'entrpy'; did you mean 'entropy'\? allowed: ancestral, certainty, confidence",
        ),
        ({"sampler": "remdm"}, "sampler 'remdm' returns tokens to the mask; allowed: models with mask noise only"),
        ({"step": 4}, r"unknown option 'step'; did you mean 'steps'\?"),
        ({"step": None}, r"unknown option 'step'; did you mean 'steps'\?"),
        ({"raw": "false"}, "raw is 'false'; allowed: True or False"),
        ({"check_prompt": 0}, "check_prompt is 0; allowed: True or False"),
        ({"max_new_tokens": 4}, r"unknown option 'max_new_tokens'; did you mean 'max_tokens'\?"),
        ({"treshold": 0.5}, r"unknown option 'treshold'; did you mean 'threshold'\?"),
        ({"sampler": "threshold", "threshold": 1.5}, "threshold is 1.5; allowed: 0 to 1"),
        ({"sampler": "threshold", "threshold": "high"}, "threshold is 'high'; allowed: 0 to 1"),
        ({"temperature": -1.0}, "temperature is -1.0; allowed: 0 to 1000"),
        ({"temperature": float("nan")}, "temperature is nan; allowed: 0 to 1000"),
        (
            {"temperature": 1.0, "temperature_end": 0.5},
            "temperature_end is 0.5 with a temperature of 1.0; allowed: one",
        ),
        ({"logit_bias": {"5": 1.0}}, "logit_bias holds token '5'; allowed: 0 to"),
        ({"logit_bias": [5]}, r"logit_bias is \[5\]; allowed: values by token id"),
        ({"name": "entropy"}, "unknown option 'name'"),
        ({"sampler": {"name": "entropy"}}, r"sampler is \{'name': 'entropy'\}; allowed: a name, or an object"),
    ],
)
def test_invalid_settings_are_refused(make_model: Make, settings: dict[str, Any], message: str):
    model = make_model(PLAIN)
    with pytest.raises(RequestError, match=message):
        model.generate("hello", **settings)
    with pytest.raises(RequestError, match=message):
        model.stream("hello", **settings)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (None, "the prompt is None; allowed: a string, messages with role and content, or token ids"),
        (7, "the prompt is 7; allowed: a string"),
        (b"hello", "the prompt is b'hello'; allowed: a string"),
        ({"role": "user", "content": "x"}, "the prompt is {'role': 'user'"),
        (["a", "b"], "the prompt is a list of texts; allowed: one text, or all of them in generate_batch"),
        ([1.5], "the prompt is not text; allowed: a string, messages with role and content, or token ids"),
    ],
)
def test_invalid_prompts_are_refused(make_model: Make, prompt: Any, message: str):
    with pytest.raises(RequestError, match=re.escape(message)):
        make_model(PLAIN).generate(prompt)


def test_invalid_system_messages_are_refused(make_model: Make):
    model = make_model(PLAIN)
    assert model.generate("x", system="y").text == model.generate("y\n\nx").text
    for prompt, message in (
        ([5, 6], "system is given with token ids"),
        ([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}], "allowed: one of them"),
    ):
        with pytest.raises(RequestError, match=message):
            model.request(prompt, system="y")
    with pytest.raises(RequestError, match="needs the chat template"):
        model.request("x", system="y", raw=True)
    with pytest.raises(RequestError, match="system is given; allowed: only with a prompt or an instruction"):
        model.infill("a", "b", system="y")


def test_copies_generate_the_same_text_independently(make_model: Make):
    model = make_model(PLAIN)
    before = model.generate("hello", steps=3).tokens
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.generate("hello", steps=3).tokens == before
        assert other.engine is not model.engine
        with torch.no_grad():
            other.decoder.embedding_VD.mul_(-1)
        assert other.generate("hello", steps=3).tokens != before
    assert model.generate("hello", steps=3).tokens == before


def test_repr_describes_the_model(make_model: Make):
    model = make_model(PLAIN)
    num = sum(parameter.numel() for parameter in model.decoder.parameters())
    assert repr(model) == f"TextModel('small', {num / 1e6:.1f}M parameters, uniform noise, torch.float32 on cpu)"
    assert "autoregressive" in repr(make_model(AR))
    quantize_model(model.decoder, QUANTIZATIONS["int8"])
    assert repr(model) == (
        f"TextModel('small', {num / 1e6:.1f}M parameters, uniform noise, 8-bit layers, torch.float32 on cpu)"
    )
    assert model.decoder.num_parameters == num


def test_batch_reports_its_progress(make_model: Make):
    progress: list[int] = []
    make_model(PLAIN).generate_batch(["a", "b", "c"], max_tokens=8, steps=2, on_progress=progress.append)
    assert progress == [1, 2, 3]


@pytest.mark.parametrize("prompt", ["", "  \n", [], [{"role": "user", "content": " "}], [{"role": "user"}]])
def test_empty_prompts_are_refused(make_model: Make, prompt: Any):
    with pytest.raises(RequestError, match="the prompt is empty; give some text"):
        make_model(PLAIN).generate(prompt)


@pytest.mark.parametrize("prompt", [[{"role": "critic", "content": "x"}], [{"role": "user", "content": 7}]])
def test_messages_refused_by_the_template_raise_a_request_error(make_model: Make, prompt: Any):
    with pytest.raises(RequestError, match="the chat template refuses these messages"):
        make_model(PLAIN).generate(prompt)


@pytest.mark.parametrize(("num_bytes", "settings"), [(200, {}), (94, {}), (90, {"max_tokens": 5})])
def test_oversized_requests_are_refused(make_model: Make, num_bytes: int, settings: dict[str, Any]):
    message = f"the prompt has {num_bytes + 2} tokens"
    if settings:
        message += " and max_tokens is 5; this model holds 96 positions: shorten"
    else:
        message += "; allowed: at most 95"
    with pytest.raises(CapacityError, match=message):
        make_model(PLAIN).generate("x" * num_bytes, **settings)


def test_largest_requests_fit(make_model: Make):
    """A given max_tokens is kept; the default shrinks to leave room for a long prompt."""
    model = make_model(PLAIN)
    settings = {"steps": 1, "temperature": 0.0}
    assert len(model.generate("x" * 90, max_tokens=4, **settings).tokens) == 4
    assert len(model.generate("x" * 93, **settings).tokens) == 1
    assert model.request("x").max_tokens == 96 - 3


def test_defaults_come_from_the_checkpoint(make_model: Make):
    model = make_model(PLAIN, generation={"steps": 5, "max_tokens": 7, "name": "ancestral", "tasks": ["pi"]})
    assert (model.sampler_defaults.steps, model.sampler_defaults.sampler.name) == (5, "ancestral")
    request = model.request("hello")
    assert (request.max_tokens, request.sampler.steps, request.canvas_length) == (7, 5, 8)
    request = model.request("hello", steps=3, sampler="margin", temperature=0.3, max_tokens=9, canvas_length=4)
    expected = {"steps": 3, "name": "margin", "temperature_start": 0.3, "temperature_end": 0.3}
    assert request.sampler == SamplerConfig.of(expected, model.sampler_defaults)
    assert (request.max_tokens, request.canvas_length) == (9, 4)
    assert model.request("hello", steps=None, sampler=None) == model.request("hello")


@pytest.mark.parametrize(
    ("generation", "message"),
    [
        ({"steps": 0}, "generation_config.json of small: steps is 0"),
        ({"name": "entrpy"}, "generation_config.json of small: unknown sampler 'entrpy'"),
        ({"name": "antigravity:X"}, "generation_config.json of small: unknown sampler 'antigravity:X'"),
        ({"name": "threshold", "threshold": "x"}, "generation_config.json of small: threshold is 'x'"),
        ({"tasks": 5}, "generation_config.json of small: tasks is 5; allowed: a list of texts"),
        ({"max_tokens": "many"}, "generation_config.json of small: max_tokens is 'many'"),
        ({"max_tokens": 0}, "generation_config.json of small: max_tokens is 0"),
    ],
)
def test_invalid_defaults_are_refused(make_model: Make, generation: dict[str, Any], message: str):
    with pytest.raises(CheckpointError, match=message):
        make_model(PLAIN, generation=generation)


def test_block_causal_model_requires_its_block_length(make_model: Make):
    model = make_model(dataclasses.replace(MASK, prefix_attention="block", canvas_length=8))
    with pytest.raises(RequestError, match="canvas_length is 4; allowed: 8, the block that this model reads at once"):
        model.generate("hello", canvas_length=4)
    result = model.generate("hello you", max_tokens=13, steps=3)
    prompt = result.usage.prompt_tokens
    assert prompt % 8
    assert len(result.tokens) == 13
    assert result.finish_reason == "length"
    assert result.usage.canvases == -(-(prompt % 8 + 13) // 8)


def test_autoregressive_model_requires_canvases_of_length_one(make_model: Make):
    model = make_model(AR)
    with pytest.raises(RequestError, match="canvas_length is 8; allowed: 1, this model is autoregressive"):
        model.generate("hello", canvas_length=8)
    assert model.request("hello", canvas_length=1).canvas_length == 1


@pytest.mark.parametrize(
    ("spec", "message"), [(dataclasses.replace(MASK, mask_id=300), "mask_id is 300; allowed: 0 to 260")]
)
def test_invalid_specs_are_refused(make_model: Make, spec: GenerationSpec, message: str):
    with pytest.raises(CheckpointError, match=message):
        make_model(spec)


def test_tokenizer_larger_than_the_model_is_refused(make_decoder: Callable[..., Decoder], byte_tokenizer: Tokenizer):
    with pytest.raises(CheckpointError, match="the tokenizer of small has 261 tokens, the model 100"):
        TextModel("small", Checkpoint(make_decoder(vocab_size=100), PLAIN, {}), byte_tokenizer)


def test_unused_embedding_rows_are_never_generated(make_decoder: Callable[..., Decoder], byte_tokenizer: Tokenizer):
    model = TextModel("wide", Checkpoint(make_decoder(vocab_size=400), PLAIN, {}), byte_tokenizer)
    results = model.generate("hello", n=4, max_tokens=40, steps=2)
    tokens = [token for result in results for token in result.tokens]
    assert len(tokens) > 50
    assert max(tokens) < 261
    # They are in noise, which can be watched.
    pieces = [
        piece for event in model.stream("hello", max_tokens=40, steps=2) for piece in getattr(event, "pieces", ())
    ]
    assert "" in pieces


def test_batch_takes_one_seed_per_prompt(make_model: Make):
    model = make_model(PLAIN)
    settings: dict[str, Any] = {"max_tokens": 8, "steps": 2}
    results = model.generate_batch(["a", "b"], seeds=[5, 6], **settings)
    assert [result.seed for result in results] == [5, 6]
    assert [result.tokens for result in results] == [
        model.generate(prompt, seed=seed, **settings).tokens for prompt, seed in (("a", 5), ("b", 6))
    ]
    assert [result.seed for result in model.generate_batch(["a", "b"], seed=9, **settings)] == [9, 9]
    # numpy's integers count too, in prompts as well.
    found = model.generate_batch(
        [np.array([5, 6]).tolist(), list(np.array([5, 6]))], seeds=np.array([5, 5]), **settings
    )  # type: ignore[list-item, arg-type]
    assert found[0].tokens == found[1].tokens
    assert json.loads(json.dumps([result.seed for result in found])) == [5, 5]
    with pytest.raises(RequestError, match="seeds has 1 entries; allowed: one for each of 2 prompts"):
        model.generate_batch(["a", "b"], seeds=[5], **settings)
    with pytest.raises(RequestError, match="n is 2; allowed in a batch: 1"):
        model.generate_batch(["a", "b"], n=2, **settings)


def test_prompt_may_be_a_string_or_messages(make_model: Make):
    model = make_model(PLAIN)
    assert model.request("hello") == model.request([{"role": "user", "content": "hello"}])
    conversation = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert model.request(conversation).prompt == tuple(model.tokenizer.encode_chat(conversation))


def test_generate_returns_a_result_or_a_list(make_model: Make):
    model = make_model(PLAIN)
    assert model.generate("hello", max_tokens=4, steps=1).text is not None
    assert len(model.generate("hello", n=2, max_tokens=4, steps=1)) == 2


@pytest.fixture
def directory(make_model: Make, tmp_path: Path) -> Path:
    model = make_model(MASK)
    save_checkpoint(tmp_path / "model", model.decoder, model.spec, generation={"steps": 3})
    model.tokenizer.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", [str, Path])
def test_directory_is_loaded(make_model: Make, directory: Path, kind: Callable[[Path], Any]):
    model = sfumato.load(kind(directory))
    assert model.name == str(directory)
    assert model.spec == MASK
    settings: dict[str, Any] = {"max_tokens": 12, "seed": 3}
    assert model.generate("hello", **settings).tokens == make_model(MASK).generate("hello", steps=3, **settings).tokens


def test_prompt_may_be_text_or_tokens(make_model: Make):
    model = make_model(PLAIN)
    chat = model.request("hello").prompt
    assert model.request(chat).prompt == chat
    assert model.request([{"role": "user", "content": "hello"}]).prompt == chat
    raw = model.request("hello", raw=True).prompt
    assert raw == tuple(model.tokenizer.encode("hello"))
    assert model.generate(raw, max_tokens=4).tokens == model.generate("hello", raw=True, max_tokens=4).tokens
    for prompt, message in (
        ([1, "a"], "the prompt is not text"),
        ([1, True], "the prompt is not text"),
        ([3, 10**6], "the prompt holds token 1000000; allowed: 0 to"),
        ([-1], "the prompt holds token -1"),
    ):
        with pytest.raises(RequestError, match=message):
            model.request(prompt)
    with pytest.raises(RequestError, match="raw is for plain text"):
        model.request([{"role": "user", "content": "hello"}], raw=True)


def test_prompt_is_continued_without_a_chat_template(directory: Path):
    config = json.loads((directory / "tokenizer_config.json").read_text())
    del config["chat_template"]
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    model = load(directory)
    assert model.request("hello").prompt == tuple(model.tokenizer.encode("hello"))
    with pytest.raises(RequestError, match="no chat template"):
        model.request([{"role": "user", "content": "hello"}])


@pytest.mark.parametrize("dtype", ["bfloat16", torch.bfloat16])
def test_weights_are_loaded_in_the_requested_dtype(directory: Path, dtype: Any):
    assert {weight.dtype for weight in load(directory, dtype=dtype).decoder.parameters()} == {torch.bfloat16}
    few_bits = load(directory, quantize="int8").decoder
    assert {buffer.dtype for name, buffer in few_bits.named_buffers() if name.endswith("levels")} == {torch.int8}
    for settings in ({"dtype": dtype}, {"quantize": "int8"}, {"quantize": "int4"}):
        assert load(directory, **settings).generate("hello", max_tokens=12).finish_reason != "error"


def test_unknown_dtypes_are_refused(directory: Path):
    with pytest.raises(ConfigError, match="unknown dtype 'float31'; did you mean 'float32'"):
        load(directory, dtype="float31")
    with pytest.raises(ConfigError, match="unknown quantization 'int3'; did you mean 'int"):
        load(directory, quantize="int3")


def test_config_is_checked_before_other_files(directory: Path):
    (directory / "tokenizer.json").unlink()
    (directory / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(CheckpointError, match="unknown model_type 'gpt2'"):
        load(directory)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
def test_missing_files_are_named(directory: Path, name: str):
    (directory / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load(directory)


def test_truncated_weights_are_refused(directory: Path):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CheckpointError, match=r"cannot read .*model\.safetensors"):
        load(directory)


def test_non_finite_weights_are_refused(make_model: Make, directory: Path):
    model = make_model(MASK)
    broken = {name: tensor * float("nan") for name, tensor in model.decoder.state_dict().items()}
    save_checkpoint(directory, model.decoder, model.spec, tensors=broken)
    with pytest.raises(CheckpointError, match="does not hold this model: not finite: "):
        load(directory)


@pytest.mark.parametrize("max_tokens", ["many", 0])
def test_invalid_generation_config_file_is_refused(directory: Path, max_tokens: Any):
    (directory / "generation_config.json").write_text(json.dumps({"max_tokens": max_tokens}))
    with pytest.raises(CheckpointError, match="max_tokens is"):
        load(directory)


def test_unknown_model_names_are_refused(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"unknown model 'tinny'.*or a checkpoint directory"):
        load("tinny")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"file is a file; allowed: a checkpoint directory, or a \.gguf"):
        load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="the model is ''; allowed: a name or a path"):
        load("")
    with pytest.raises(CheckpointError, match="the model is None; allowed: a name or a path"):
        load(None)  # type: ignore[arg-type]


def test_calibration_uses_the_chat_template_where_possible(monkeypatch: pytest.MonkeyPatch):
    """And the text without a template where it fails."""
    found = []
    for broken in (False, True):
        if broken:

            def refuse(*_: Any, **__: Any) -> list[int]:
                raise RequestError("no")

            monkeypatch.setattr(Tokenizer, "encode_chat", refuse)
        model = sfumato.load("tiny", quantize="w8a8")
        found.append(model.decoder.model.layers[0].mlp.down_proj.product.unsmooth_I)
        assert model.tokenizer.has_chat_template
    assert not torch.equal(*found)


def test_embedded_model_settles_on_an_example_of_each_kind():
    model = sfumato.load("tiny")
    assert {kind.name for kind in model.kinds} >= {"arithmetic", "json", "bugfix"}
    results = model.generate_batch([kind.example for kind in model.kinds])
    reasons = {kind.name: result.finish_reason for kind, result in zip(model.kinds, results, strict=True)}
    assert set(reasons.values()) == {"stop"}, reasons


def test_unavailable_devices_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigError, match="device is 'cuda' but there is no accelerator; allowed here: auto, cpu"):
        sfumato.load("tiny", device="cuda")
    with pytest.raises(ConfigError, match="unknown device 'gpu'"):
        sfumato.load("tiny", device="gpu")
