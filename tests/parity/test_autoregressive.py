"""Autoregressive families against transformers: logits of one uncached forward, and greedy text through the engine."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import sfumato
from parity import Numbers, check_exported, check_int8, check_saved, relative_error
from settings import sampler_config
from sfumato.checkpoints.load import Checkpoint, load_checkpoint
from sfumato.diffusion.process import make_process
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine
from sfumato.engine.request import Finished, Request
from sfumato.models.model import AttentionSpec
from sfumato.text.tokenizer import Tokenizer

# R rows, Q positions, V vocabulary

VOCAB = 61
LENGTHS = (9, 1, 4)
NUM_TOKENS = 16
MAX_ERROR = 1e-4

# An epsilon as large as the activations, and a base at which all frequencies turn within these texts, so that an
# error in either shows.
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "rms_norm_eps": 0.05,
    "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    "bos_token_id": None,
    "eos_token_id": None,
}

# Wavelengths of 6, 12, 25, 50, 100 ... positions: at 64 positions of pretraining some stay, some are stretched in
# part, the others whole.
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 250.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "norm_topk_prob": True}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "llama, a head for each query": ("Llama", {"num_key_value_heads": 4}),
    "llama, one key-value head": ("Llama", {"num_key_value_heads": 1}),
    "llama, wide heads": ("Llama", {"head_dim": 14}),
    "llama, biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama, biases in the attention": ("Llama", {"attention_bias": True}),
    "llama, tied": ("Llama", {"tie_word_embeddings": True}),
    "llama, tied with biases": ("Llama", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}),
    "llama 3": ("Llama", {"rope_parameters": LLAMA3, "head_dim": 16}),
    "llama, linear": ("Llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 100.0, "factor": 2.5}}),
    "mistral": ("Mistral", {"sliding_window": None}),
    "mistral, wide heads": ("Mistral", {"sliding_window": None, "head_dim": 12, "num_key_value_heads": 1}),
    "qwen2": ("Qwen2", {}),
    "qwen2, tied": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"head_dim": 12}),
    "qwen3, tied with biases": ("Qwen3", {"tie_word_embeddings": True, "attention_bias": True}),
    "qwen3-moe": ("Qwen3Moe", EXPERTS),
    "qwen3-moe, weights as they are": ("Qwen3Moe", EXPERTS | {"norm_topk_prob": False, "num_experts_per_tok": 3}),
    "qwen3-moe, one expert of each": ("Qwen3Moe", EXPERTS | {"num_experts_per_tok": 1}),
    "qwen3-moe, all experts, tied": (
        "Qwen3Moe",
        EXPERTS | {"num_experts_per_tok": 6, "tie_word_embeddings": True, "head_dim": 12},
    ),
}

Make = Callable[..., Any]


def redraw(model: Any, seed: int) -> None:
    """Draw every weight anew: fresh ones of transformers give nearly flat logits, and scales of exactly one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.copy_(0.3 * drawn + (1.0 if "norm" in name else 0.0))
            elif "embed_tokens" in name:
                parameter.copy_(0.4 * drawn)
            else:
                parameter.copy_((4.0 if "lm_head" in name else 2.0) * drawn * parameter.shape[-1] ** -0.5)


@pytest.fixture
def make_reference() -> Make:
    """make_reference(name of the family, seed, changes): a model of transformers with weights of its own."""
    transformers = pytest.importorskip("transformers", minversion="5.23")

    def made(family: str, seed: int, changes: dict[str, Any]) -> Any:
        # A copy, for transformers writes into what it is given.
        values = copy.deepcopy(SIZES | changes)
        if family == "Qwen2":
            del values["head_dim"]
        config = getattr(transformers, f"{family}Config")(**values)
        model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
        redraw(model, seed)
        return model

    return made


def prompts(seed: int, vocab_size: int = VOCAB) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(vocab_size, (length,), generator=generator).tolist() for length in LENGTHS]


def logits_error(checkpoint: Checkpoint, reference: Any, seed: int) -> float:
    """Of one uncached forward over random tokens."""
    tokens_RQ = torch.randint(VOCAB, (2, 27), generator=torch.Generator().manual_seed(seed))
    model = checkpoint.model
    hidden_RQD = model(tokens_RQ, torch.arange(27)[None].expand(2, -1), AttentionSpec(causal=True))
    return relative_error(model.logits(hidden_RQD), reference(tokens_RQ).logits)


def continuations(checkpoint: Checkpoint, texts: list[list[int]]) -> list[list[int]]:
    """Greedy answers of the engine, all in one batch, under the defaults of the checkpoint."""
    bundle = ModelBundle(
        name="it",
        model=checkpoint.model,
        spec=checkpoint.spec,
        process=make_process(checkpoint.spec.noise, VOCAB, checkpoint.spec.mask_id),
        tokenizer=Numbers(),  # type: ignore[arg-type]
    )
    sampler = sampler_config(**checkpoint.generation)
    requests = [
        Request(prompt=tuple(text), sampler=sampler, max_tokens=NUM_TOKENS, canvas_length=checkpoint.spec.canvas_length)
        for text in texts
    ]
    found: dict[int, list[int]] = {}
    for index, event in Engine(bundle).run(requests):
        if isinstance(event, Finished):
            found[index] = list(event.result.tokens)
    return [found[index] for index in range(len(texts))]


def theirs(reference: Any, text: list[int], **settings: Any) -> list[int]:
    out = reference.generate(
        torch.tensor([text]),
        attention_mask=torch.ones(1, len(text), dtype=torch.int64),
        max_new_tokens=NUM_TOKENS,
        do_sample=False,
        pad_token_id=0,
        **settings,
    )
    tokens: list[int] = out[0, len(text) :].tolist()
    return tokens


@pytest.mark.parity("logits")
@pytest.mark.parity("loop")
@pytest.mark.parametrize("case", CASES)
@torch.inference_mode()
def test_logits_and_greedy_text(case: str, make_reference: Make, tmp_path: Path) -> None:
    """Three prompts of different lengths, answered in one batch by the engine and one by one by transformers."""
    seed = list(CASES).index(case)
    reference = make_reference(CASES[case][0], seed, CASES[case][1])
    reference.save_pretrained(tmp_path)
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.spec.autoregressive
    assert logits_error(checkpoint, reference, seed) < MAX_ERROR

    texts = prompts(seed)
    expected = [theirs(reference, text) for text in texts]
    assert len({tuple(tokens) for tokens in expected}) == len(texts)
    assert len({token for tokens in expected for token in tokens}) > 8, "always the same few tokens"
    assert continuations(checkpoint, texts) == expected


@pytest.mark.parity("save/load")
@pytest.mark.parametrize("case", CASES)
def test_our_layout_holds_the_same(case: str, make_reference: Make, tmp_path: Path) -> None:
    make_reference(CASES[case][0], 0, CASES[case][1]).save_pretrained(tmp_path / "theirs")
    checkpoint = load_checkpoint(tmp_path / "theirs")
    check_saved(checkpoint, tmp_path / "ours")
    check_exported(checkpoint, tmp_path / "theirs", tmp_path / "again")


@pytest.mark.parity("int8")
@pytest.mark.parametrize("case", CASES)
def test_weights_in_8_bits(case: str, make_reference: Make, tmp_path: Path) -> None:
    make_reference(CASES[case][0], 0, CASES[case][1]).save_pretrained(tmp_path)
    check_int8(load_checkpoint(tmp_path), tmp_path)


@pytest.mark.parity("save/load")
@pytest.mark.parametrize("case", ["llama", "llama, tied with biases", "qwen3-moe"])
@torch.inference_mode()
def test_shards(case: str, make_reference: Make, tmp_path: Path) -> None:
    reference = make_reference(CASES[case][0], 0, CASES[case][1])
    reference.save_pretrained(tmp_path, max_shard_size="8KB")
    assert (tmp_path / "model.safetensors.index.json").is_file()
    assert len(list(tmp_path.glob("*.safetensors"))) > 5
    assert logits_error(load_checkpoint(tmp_path), reference, 0) < MAX_ERROR


@pytest.mark.parametrize("case", ["llama", "llama 3", "llama, linear", "qwen2, tied", "qwen3"])
@torch.inference_mode()
def test_rotary_settings_as_before_transformers_5(case: str, make_reference: Make, tmp_path: Path) -> None:
    """Most published configs have rope_theta and rope_scaling beside the sizes, and leave out what the sizes imply."""
    reference = make_reference(CASES[case][0], 0, CASES[case][1])
    reference.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    rope = config.pop("rope_parameters")
    kind = rope.pop("rope_type")
    config |= {"rope_theta": rope.pop("rope_theta"), "torch_dtype": config.pop("dtype")}
    # Llama 3.1 writes "rope_type"; before it the key was "type".
    config["rope_scaling"] = None if kind == "default" else {"rope_type" if kind == "llama3" else "type": kind, **rope}
    if config.get("head_dim") == config["hidden_size"] // config["num_attention_heads"]:
        del config["head_dim"]
    config.pop("layer_types", None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert logits_error(load_checkpoint(tmp_path), reference, 0) < MAX_ERROR


@torch.inference_mode()
def test_a_directory_of_transformers_answers_greedily_up_to_the_end_token(
    make_reference: Make, byte_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """The whole way, from sfumato.load: its defaults, the tokens that it never writes, and the end of the text."""
    vocab_size = byte_tokenizer.vocab_size + 11
    reference = make_reference("Llama", 0, {"vocab_size": vocab_size, "max_position_embeddings": 128})
    (end,) = byte_tokenizer.eos_ids
    never = [*(byte_tokenizer.special_ids - {end}), *range(byte_tokenizer.vocab_size, vocab_size)]
    prompt = byte_tokenizer.encode_chat([{"role": "user", "content": "a"}])
    third = theirs(reference, prompt, suppress_tokens=[*never, end])[2]
    # So that an answer ends.
    reference.lm_head.weight[end].copy_(1.01 * reference.lm_head.weight[third])
    reference.save_pretrained(tmp_path)
    byte_tokenizer.save(tmp_path)
    model = sfumato.load(tmp_path)
    endings = set()
    for question in ("a", "b", "What?", "to be", "or not"):
        prompt = byte_tokenizer.encode_chat([{"role": "user", "content": question}])
        expected = theirs(reference, prompt, suppress_tokens=never, eos_token_id=end)
        ended = expected[-1] == end
        result = model.generate(question, max_tokens=NUM_TOKENS)
        assert list(result.tokens) == (expected[:-1] if ended else expected)
        assert result.finish_reason == ("stop" if ended else "length")
        endings.add(ended)
    assert endings == {True, False}
