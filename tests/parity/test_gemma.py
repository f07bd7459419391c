"""DiffusionGemma against transformers: the cache of the encoder and the logits of the decoder, over two canvases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from parity import check_int8, logits
from settings import sampler_config
from sfumato.checkpoints.load import build, load_checkpoint
from sfumato.errors import CheckpointError
from sfumato.models.gemma import AttentionShape, Gemma, GemmaConfig
from sfumato.models.model import AttentionSpec
from texts import Texts

# R rows, Q positions, L canvas, V vocabulary

LENGTH = 8
SLIDING, FULL = "sliding_attention", "full_attention"

# What each config has of its own; what it leaves open is drawn with its seed.
CASES: dict[str, dict[str, Any]] = {
    "one layer of each kind": {"layer_types": [SLIDING, FULL], "sliding_window": 16},
    "window of two": {"layer_types": [SLIDING, SLIDING, FULL], "sliding_window": 2},
    "window longer than any text": {"layer_types": [SLIDING, FULL], "sliding_window": 512},
    "window as long as a prompt": {"layer_types": [SLIDING, SLIDING, FULL], "sliding_window": 41},
    "full layers first": {"layer_types": [FULL, SLIDING, FULL]},
    "full layers alone": {"layer_types": [FULL, FULL]},
    "one expert": {"num_experts": 1, "top_k_experts": 1},
    "three of eight experts": {"num_experts": 8, "top_k_experts": 3},
    "all experts": {"num_experts": 3, "top_k_experts": 3},
    "wide full heads": {"head_dim": 6, "global_head_dim": 24, "num_global_key_value_heads": 1},
    "narrow full heads": {"head_dim": 12, "global_head_dim": 8, "num_global_key_value_heads": 4},
    "one shape for all layers": {"head_dim": 8, "global_head_dim": 8, "num_global_key_value_heads": None},
    "no key-value heads of its own": {"global_head_dim": 12, "num_global_key_value_heads": None},
    "values apart asked for": {"attention_k_eq_v": False, "num_global_key_value_heads": 2},
    "one key-value head": {"num_key_value_heads": 1},
    "full heads rotated whole": {
        "rope_parameters": {
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
            FULL: {"rope_type": "default", "rope_theta": 5000.0},
        }
    },
    "half a head rotated": {
        "rope_parameters": {
            SLIDING: {"rope_type": "proportional", "rope_theta": 100.0, "partial_rotary_factor": 0.6},
            FULL: {"rope_type": "proportional", "rope_theta": 5000.0, "partial_rotary_factor": 0.5},
        }
    },
    "low soft-cap": {"final_logit_softcapping": 4.0},
    "vision attention": {"use_bidirectional_attention": "vision"},
}


def draw(generator: torch.Generator, vocab_size: int, *shape: int) -> Tensor:
    return torch.randint(vocab_size, shape, generator=generator)


def relative_error(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest expected value."""
    assert found.shape == expected.shape
    assert expected.std() > 1e-2, "nothing to compare"
    return float((found - expected).abs().max() / expected.abs().max())


def rows(tokens_RQ: Tensor) -> dict[int, list[int]]:
    return dict(enumerate(tokens_RQ.tolist()))


def canvas_logits(texts: Texts, tokens_RL: Tensor, soft_RLD: Tensor | None = None) -> Tensor:
    logits = texts.logits(rows(tokens_RL), None if soft_RLD is None else dict(enumerate(soft_RLD)))
    return torch.stack([logits[row] for row in range(len(tokens_RL))])


def cache_error(texts: Texts, theirs: Any, windows: list[int | None]) -> float:
    """The largest relative error of keys and values; sliding layers of the reference keep a window less one."""
    errors = []
    for layer, window in enumerate(windows):
        pairs = ((texts.pool.keys, theirs.layers[layer].keys), (texts.pool.values, theirs.layers[layer].values))
        for mine, other in pairs:
            written = [mine[layer][slots[: texts.lengths[0]]] for slots in texts.slots]
            prefix = torch.stack(written).transpose(1, 2)
            kept = prefix.shape[2] if window is None else min(prefix.shape[2], window - 1)
            assert other.shape[2] == kept
            errors.append(relative_error(prefix[:, :, prefix.shape[2] - kept :], other))
    return max(errors)


@pytest.fixture
def gemma(make_gemma: Callable[..., Any], tmp_path: Path) -> Gemma:
    """A loaded checkpoint of two layers."""
    make_gemma(tmp_path, canvas_length=LENGTH)
    model = load_checkpoint(tmp_path).model
    assert isinstance(model, Gemma)
    return model


@pytest.mark.parity("logits", "DiffusionGemma")
@pytest.mark.parametrize("case", CASES)
@torch.inference_mode()
def test_keys_values_and_logits(case: str, make_gemma: Callable[..., Any], tmp_path: Path):
    seed = list(CASES).index(case)
    reference = make_gemma(tmp_path, seed=seed, canvas_length=LENGTH, **CASES[case])
    checkpoint = load_checkpoint(tmp_path)
    model, config = checkpoint.model, checkpoint.model.config
    assert isinstance(model, Gemma)
    assert checkpoint.spec.canvas_length == LENGTH
    windows = [shape.window for shape in config.shapes]
    generator = torch.Generator().manual_seed(seed)
    errors: dict[str, list[float]] = {"cache": [], "logits": [], "self-conditioned": []}
    for num_rows, num_tokens in ((1, 1), (1, 5), (3, 40), (1, 41), (1, 300), (3, 300)):
        prompt_RQ = draw(generator, config.vocab_size, num_rows, num_tokens)
        texts = Texts(model, num_rows, num_tokens + 2 * LENGTH)
        texts.write(rows(prompt_RQ))
        theirs = reference.model.encoder(input_ids=prompt_RQ).past_key_values
        for canvas in range(2):
            errors["cache"].append(cache_error(texts, theirs, windows))
            noise_RL = draw(generator, config.vocab_size, num_rows, LENGTH)
            expected = reference(decoder_input_ids=noise_RL, past_key_values=theirs).logits
            found = canvas_logits(texts, noise_RL)
            errors["logits"].append(relative_error(found, expected))

            # The logits of one step, tempered, are what the next step is conditioned on.
            tempered = expected / 0.6
            conditioned = reference(
                decoder_input_ids=noise_RL, past_key_values=theirs, self_conditioning_logits=tempered
            ).logits
            assert relative_error(conditioned, expected) > 1e-2, "self-conditioning changes nothing"
            found = canvas_logits(texts, noise_RL, model.soft_embedding(tempered.softmax(-1)))
            errors["self-conditioned"].append(relative_error(found, conditioned))

            if canvas == 0:
                committed_RL = expected.argmax(-1)
                texts.write(rows(committed_RL))
                theirs = reference.model.encoder(input_ids=committed_RL, past_key_values=theirs).past_key_values
    for name, values in errors.items():
        assert max(values) < 1e-4, name


@pytest.mark.parity("save/load", "DiffusionGemma")
@pytest.mark.parametrize("case", CASES)
def test_shards_hold_the_same(case: str, make_gemma: Callable[..., Any], tmp_path: Path):
    reference = make_gemma(tmp_path / "one", canvas_length=LENGTH, **CASES[case])
    reference.save_pretrained(tmp_path / "shards", max_shard_size="8KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 3
    one, shards = (load_checkpoint(tmp_path / name) for name in ("one", "shards"))
    assert one.spec == shards.spec
    assert one.generation == shards.generation
    assert torch.equal(logits(one.model), logits(shards.model))


@pytest.mark.parity("int8", "DiffusionGemma")
@pytest.mark.parametrize("case", CASES)
def test_weights_in_8_bits(case: str, make_gemma: Callable[..., Any], tmp_path: Path):
    make_gemma(tmp_path, canvas_length=LENGTH, **CASES[case])
    check_int8(load_checkpoint(tmp_path), tmp_path)


@torch.inference_mode()
def test_encoder_and_decoder_differ(gemma: Gemma):
    """What the roles change is large, so that comparing one with the other could not pass."""
    tokens_RQ = torch.arange(LENGTH)[None]
    positions = torch.arange(LENGTH)[None]
    decoded = gemma(tokens_RQ, positions, AttentionSpec(), canvas_RQ=torch.ones_like(tokens_RQ, dtype=torch.bool))
    encoded = gemma(tokens_RQ, positions, AttentionSpec())
    assert relative_error(encoded, decoded) > 0.1
    scalars = torch.stack([layer.layer_scalar for layer in gemma.model.layers])
    assert scalars.unique().numel() == scalars.numel()


@torch.inference_mode()
def test_no_soft_embedding_is_one_of_zeros(gemma: Gemma):
    texts = Texts(gemma, 1)
    tokens_RL = torch.arange(LENGTH)[None]
    zeros = torch.zeros(1, LENGTH, gemma.config.hidden_size)
    assert torch.equal(canvas_logits(texts, tokens_RL), canvas_logits(texts, tokens_RL, zeros))


@torch.inference_mode()
def test_rows_of_both_roles_share_a_forward(gemma: Gemma):
    """One row commits while another denoises; each is as if it were alone."""
    generator = torch.Generator().manual_seed(0)
    tokens = rows(draw(generator, gemma.config.vocab_size, 2, LENGTH))
    soft_LD = torch.randn(LENGTH, gemma.config.hidden_size, generator=generator)
    prefixes = rows(draw(generator, gemma.config.vocab_size, 2, 30))
    together, apart = Texts(gemma, 2), Texts(gemma, 2)
    together.write(prefixes)
    for row in range(2):
        apart.write({row: prefixes[row]})
    hidden = together.forward(tokens, canvases=[0], soft={0: soft_LD})
    expected = apart.logits({0: tokens[0]}, {0: soft_LD})[0]
    torch.testing.assert_close(gemma.logits(hidden[0]), expected, rtol=1e-4, atol=1e-4)
    alone = apart.write({1: tokens[1]})
    torch.testing.assert_close(hidden[1], alone[1], rtol=1e-4, atol=1e-4)
    for mine, other in zip(together.pool.keys, apart.pool.keys, strict=True):
        written = apart.slots[1][: 30 + LENGTH]
        torch.testing.assert_close(mine[written], other[written], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_prompts_of_different_lengths_are_denoised_together(make_gemma: Callable[..., Any], tmp_path: Path):
    """Rows with their own prefixes, windows cut in some and not in others, against the reference row by row."""
    reference = make_gemma(tmp_path, canvas_length=LENGTH, sliding_window=16)
    model = load_checkpoint(tmp_path).model
    assert isinstance(model, Gemma)
    generator = torch.Generator().manual_seed(0)
    prompts = [draw(generator, model.config.vocab_size, 1, length) for length in (3, 9, 15, 16, 60)]
    together = Texts(model, len(prompts), 60 + 2 * LENGTH)
    together.write({row: prompt[0].tolist() for row, prompt in enumerate(prompts)})
    theirs = [reference.model.encoder(input_ids=prompt).past_key_values for prompt in prompts]
    for _ in range(2):
        noise_RL = draw(generator, model.config.vocab_size, len(prompts), LENGTH)
        found = canvas_logits(together, noise_RL)
        for row, past in enumerate(theirs):
            expected = reference(decoder_input_ids=noise_RL[row : row + 1], past_key_values=past).logits
            assert relative_error(found[row : row + 1], expected) < 1e-4
        committed_RL = found.argmax(-1)
        together.write(rows(committed_RL))
        for row, past in enumerate(theirs):
            reference.model.encoder(input_ids=committed_RL[row : row + 1], past_key_values=past)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_embeddings_are_scaled_in_the_type_of_the_weights(
    make_gemma: Callable[..., Any], tmp_path: Path, dtype: torch.dtype
):
    """sqrt(48) is 6.9282 in float32 and 6.9375 in bfloat16; a soft embedding that is certain is the token's."""
    reference = make_gemma(tmp_path, hidden_size=48).to(dtype)
    model = load_checkpoint(tmp_path, dtype=dtype).model
    assert isinstance(model, Gemma)
    tokens_RQ = torch.arange(model.config.vocab_size)[None]
    expected = reference.model.decoder.embed_tokens(tokens_RQ)
    assert torch.equal(model.token_embedding(tokens_RQ), expected)
    certain = torch.nn.functional.one_hot(tokens_RQ, model.config.vocab_size).float()
    assert torch.equal(model.soft_embedding(certain), expected)
    exact = 6.9375 if dtype == torch.bfloat16 else pytest.approx(48**0.5, rel=1e-7)
    assert float(model.embedding_scale) == exact


@torch.inference_mode()
def test_norms_are_computed_in_float32(make_gemma: Callable[..., Any], tmp_path: Path):
    reference = make_gemma(tmp_path).to(torch.bfloat16)
    model = load_checkpoint(tmp_path, dtype=torch.bfloat16).model
    assert isinstance(model, Gemma)
    x = torch.randn(5, 7, model.config.hidden_size, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert torch.equal(model.model.norm(x), reference.model.decoder.norm(x))


def change_tensors(directory: Path, change: Callable[[dict[str, Tensor]], Any]) -> None:
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors")


def change_config(directory: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    config = json.loads((directory / "config.json").read_text())
    change(config)
    (directory / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    "name",
    [
        "model.decoder.embed_tokens.weight",
        "model.decoder.layers.1.router.per_expert_scale",
        "model.decoder.layers.0.experts.gate_up_proj",
        "model.decoder.layers.0.layer_scalar",
        "model.encoder.language_model.layers.1.layer_scalar",
        "model.decoder.self_conditioning.pre_norm.weight",
    ],
)
def test_a_missing_tensor_is_named(make_gemma: Callable[..., Any], tmp_path: Path, name: str):
    make_gemma(tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.pop(name))
    with pytest.raises(CheckpointError, match=f"does not hold this model: missing: {name}$"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "name", ["model.decoder.layers.1.self_attn.v_proj.weight", "model.encoder.language_model.norm.bias", "extra"]
)
def test_a_tensor_of_no_use_is_named(make_gemma: Callable[..., Any], tmp_path: Path, name: str):
    make_gemma(tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.update({name: torch.zeros(1)}))
    with pytest.raises(CheckpointError, match=f"unexpected: {name}$"):
        load_checkpoint(tmp_path)


def test_images_are_left_aside(make_gemma: Callable[..., Any], tmp_path: Path):
    """The vision tower may be there, with whatever it holds, or not."""
    make_gemma(tmp_path)
    before = load_checkpoint(tmp_path).model.state_dict()
    tensors = load_file(tmp_path / "model.safetensors")
    vision = [name for name in tensors if "vision" in name]
    assert any(bool(tensors[name].isinf().any()) for name in vision), "clipping bounds are infinite"

    def without_images(config: dict[str, Any]) -> None:
        for key in ("vision_config", "image_token_id", "boi_token_id", "eoi_token_id"):
            del config[key]

    change_config(tmp_path, without_images)
    change_tensors(tmp_path, lambda tensors: [tensors.pop(name) for name in vision])
    after = load_checkpoint(tmp_path).model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"canvas_lenght": 8}, "config.json: unknown canvas_lenght"),
        ({"canvas_length": 0}, "canvas_length is 0"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is False; allowed: True"),
        ({"text_config": {"enable_moe_block": False}}, "text_config: unknown enable_moe_block"),
        ({"text_config": {"attention_bias": True}}, "attention_bias is True; allowed: False"),
        ({"text_config": {"use_bidirectional_attention": "all"}}, "is 'all'; allowed: None or 'vision'"),
        ({"text_config": {"hidden_activation": "silu"}}, "hidden_activation is 'silu'"),
        ({"text_config": {"layer_types": [FULL, "linear"]}}, "layer_types has linear; allowed: full_attention"),
        ({"text_config": {"layer_types": [FULL]}}, "allowed: a list of 2 names"),
        ({"text_config": {"num_experts": None}}, "num_experts is None; allowed: a number"),
        ({"text_config": {"top_k_experts": 9}}, "top_k_experts is 9; allowed: at most num_experts"),
        ({"text_config": {"num_attention_heads": 3}}, "num_key_value_heads of sliding_attention is 2"),
        ({"text_config": {"per_layer_config": {"1": {"sliding_window": 3}}}}, "1: unknown sliding_window"),
        ({"text_config": {"per_layer_config": {"2": {"head_dim": 4}}}}, "has layer 2; allowed: 0 to 1"),
        ({"text_config": {"per_layer_config": {"a": {}}}}, "allowed: an object with layers' numbers"),
        ({"text_config": {"layer_types": [FULL, FULL]}}, "allowed: all of a kind alike"),
        ({"text_config": {"rope_parameters": {FULL: {"rope_theta": 1.0}}}}, "sliding_attention is missing"),
        (
            {"text_config": {"rope_parameters": {SLIDING: {"rope_theta": 1.0, "rope_type": "yarn"}}}},
            "rope_type is 'yarn'; allowed: 'default' or 'proportional'",
        ),
    ],
)
def test_a_config_that_asks_for_something_else(
    make_gemma: Callable[..., Any], tmp_path: Path, own: dict[str, Any], message: str
):
    make_gemma(tmp_path, layer_types=[SLIDING, FULL], global_head_dim=12)

    def changed(config: dict[str, Any]) -> None:
        config["text_config"] |= own.pop("text_config", {})
        config |= own

    change_config(tmp_path, changed)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path)


def test_both_ways_of_writing_the_heads_of_full_layers(make_gemma: Callable[..., Any], tmp_path: Path):
    """Older configs have two keys where newer ones list layers."""
    make_gemma(tmp_path, head_dim=8, global_head_dim=12, num_global_key_value_heads=1)
    listed = load_checkpoint(tmp_path).model.config

    def older(config: dict[str, Any]) -> None:
        del config["text_config"]["per_layer_config"]
        config["text_config"] |= {"global_head_dim": 12, "num_global_key_value_heads": 1}

    change_config(tmp_path, older)
    assert load_checkpoint(tmp_path).model.config == listed


def test_layers_numbers_are_padded_with_zeros(make_gemma: Callable[..., Any], tmp_path: Path):
    make_gemma(tmp_path, layer_types=[SLIDING, *[FULL] * 10], head_dim=8, global_head_dim=12)
    assert "01" in json.loads((tmp_path / "config.json").read_text())["text_config"]["per_layer_config"]
    assert [shape.head_dim for shape in load_checkpoint(tmp_path).model.config.shapes] == [8, *[12] * 10]


@pytest.mark.parametrize(
    ("written", "own"),
    [
        (None, {}),
        ({}, {}),
        ({"t_max": None, "sampler_config": None, "transformers_version": "5.23.0", "eos_token_id": [1, 106]}, {}),
        (
            {
                "sampler_config": {"_cls_name": "EntropyBoundSamplerConfig", "entropy_bound": 0.3},
                "t_max": 0.9,
                "t_min": 0.2,
                "max_denoising_steps": 12,
                "stability_threshold": 3,
                "confidence_threshold": 0.01,
                "max_new_tokens": 512,
            },
            {
                "entropy_bound": 0.3,
                "temperature_start": 0.9,
                "temperature_end": 0.2,
                "steps": 12,
                "stable_steps": 3,
                "stop_entropy": 0.01,
                "max_tokens": 512,
            },
        ),
    ],
)
def test_sampling_defaults(
    make_gemma: Callable[..., Any], tmp_path: Path, written: dict[str, Any] | None, own: dict[str, Any]
):
    make_gemma(tmp_path)
    (tmp_path / "generation_config.json").unlink()
    if written is not None:
        (tmp_path / "generation_config.json").write_text(json.dumps(written))
    module = pytest.importorskip("transformers.models.diffusion_gemma.generation_diffusion_gemma")
    theirs = module.DiffusionGemmaGenerationConfig._get_default_generation_params()
    defaults = {
        "name": "entropy",
        "entropy_bound": theirs["sampler_config"].entropy_bound,
        "temperature_start": theirs["t_max"],
        "temperature_end": theirs["t_min"],
        "steps": theirs["max_denoising_steps"],
        "stable_steps": theirs["stability_threshold"],
        "stop_entropy": theirs["confidence_threshold"],
        "max_tokens": theirs["max_new_tokens"],
    }
    found = load_checkpoint(tmp_path).generation
    assert found == defaults | own
    sampler_config(**{key: value for key, value in found.items() if key != "max_tokens"})


def test_another_sampler_is_refused(make_gemma: Callable[..., Any], tmp_path: Path):
    make_gemma(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"sampler_config": {"_cls_name": "OtherConfig"}}')
    with pytest.raises(CheckpointError, match="allowed: EntropyBoundSamplerConfig"):
        load_checkpoint(tmp_path)


def test_the_released_config_is_read(tmp_path: Path):
    """google/diffusiongemma-26B-A4B-it, as published: 26 billion weights, less those of the vision tower."""
    kinds = ([SLIDING] * 5 + [FULL]) * 5
    text = {
        "model_type": "diffusion_gemma_text",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 2,
        "dtype": "bfloat16",
        "eos_token_id": 1,
        "final_logit_softcapping": 30.0,
        "global_head_dim": 512,
        "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 2816,
        "initializer_range": 0.02,
        "intermediate_size": 2112,
        "layer_types": kinds,
        "max_position_embeddings": 262144,
        "moe_intermediate_size": 704,
        "num_attention_heads": 16,
        "num_experts": 128,
        "num_global_key_value_heads": 2,
        "num_hidden_layers": 30,
        "num_key_value_heads": 8,
        "pad_token_id": 0,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {
            FULL: {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
            SLIDING: {"rope_theta": 10000.0, "rope_type": "default"},
        },
        "sliding_window": 1024,
        "tie_word_embeddings": True,
        "top_k_experts": 8,
        "use_bidirectional_attention": "vision",
        "vocab_size": 262144,
    }
    config = {
        "architectures": ["DiffusionGemmaForBlockDiffusion"],
        "model_type": "diffusion_gemma",
        "canvas_length": 256,
        "eos_token_id": [1, 106],
        "boi_token_id": 255999,
        "eoi_token_id": 258882,
        "image_token_id": 258880,
        "tie_word_embeddings": True,
        "vision_config": {"model_type": "gemma4_vision"},
        "text_config": text,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, spec, _ = build(tmp_path)
    assert isinstance(model, Gemma)
    assert spec.canvas_length == 256
    full = AttentionShape(
        num_key_value_heads=2, head_dim=512, shared_values=True, rope_theta=1e6, partial_rotary_factor=0.25
    )
    assert isinstance(model.config, GemmaConfig)
    assert model.config.attention == {
        SLIDING: AttentionShape(num_key_value_heads=8, head_dim=256, window=1024, rope_theta=1e4),
        FULL: full,
    }
    assert model.windows == (1024,)
    assert 25e9 < model.num_parameters < 26e9
