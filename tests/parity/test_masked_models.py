"""LLaDA, Dream, SDAR and LLaDA2 checkpoints against layers of transformers: alone, and as the engine reads them.

transformers has none of the four. But they are built of Llama's, Qwen2's, Qwen3's and Glm4-MoE's layers, so their
checkpoints are written here from such models, under their own names and with the keys of their published configs, and
compared with those models under the attention that the four have.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from parity import check_exported, check_int8, check_saved, relative_error
from sfumato.checkpoints.families import FAMILIES
from sfumato.checkpoints.families.family import ConfigTable, stored_shape
from sfumato.checkpoints.load import Checkpoint, load_checkpoint
from sfumato.engine.runner import Runner, ScheduledChunk
from sfumato.layout import PrefixLayout
from sfumato.models.model import AttentionSpec
from sfumato.models.moe import MoEConfig, Router
from sfumato.spec import GenerationSpec
from texts import Texts

# R rows, Q positions, L canvas, V vocabulary, N positions, K experts of a position, X experts

VOCAB, MASK, BLOCK = 53, 7, 4
MAX_ERROR = 1e-4

# An epsilon as large as the activations, and a base at which all frequencies turn within these texts.
EPSILON, THETA = 0.05, 100.0
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": EPSILON,
    "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
    "bos_token_id": None,
    "eos_token_id": None,
}

# Sizes as the four write them; what is not of this test stands as published.
SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCAB,
    "rms_norm_eps": EPSILON,
    "rope_theta": THETA,
    "rope_scaling": None,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "attention_dropout": 0.0,
    "initializer_range": 0.02,
    "use_sliding_window": False,
    "torch_dtype": "bfloat16",
}

LLADA: dict[str, Any] = {
    "activation_type": "silu",
    "alibi": False,
    "alibi_bias_max": 8.0,
    "architectures": ["LLaDAModelLM"],
    "attention_dropout": 0.0,
    "attention_layer_norm": False,
    "attention_layer_norm_with_affine": True,
    "auto_map": {"AutoConfig": "configuration_llada.LLaDAConfig", "AutoModel": "modeling_llada.LLaDAModelLM"},
    "bias_for_layer_norm": False,
    "block_group_size": 1,
    "block_type": "llama",
    "d_model": 32,
    "embedding_dropout": 0.0,
    "embedding_size": VOCAB,
    "eos_token_id": 3,
    "flash_attention": False,
    "include_bias": False,
    "include_qkv_bias": False,
    "init_cutoff_factor": None,
    "init_device": "meta",
    "init_fn": "mitchell",
    "init_std": 0.02,
    "input_emb_norm": False,
    "layer_norm_type": "rms",
    "layer_norm_with_affine": True,
    "mask_token_id": MASK,
    "max_sequence_length": 64,
    "mlp_hidden_size": 40,
    "mlp_ratio": 4,
    "model_type": "llada",
    "multi_query_attention": None,
    "n_heads": 4,
    "n_kv_heads": 4,
    "n_layers": 3,
    "pad_token_id": 3,
    "precision": "amp_bf16",
    "residual_dropout": 0.0,
    "rms_norm_eps": EPSILON,
    "rope": True,
    "rope_full_precision": True,
    "rope_theta": THETA,
    "scale_logits": False,
    "transformers_version": "4.46.3",
    "use_cache": False,
    "vocab_size": VOCAB,
    "weight_tying": False,
}

DREAM: dict[str, Any] = SHAPE | {
    "architectures": ["DreamModel"],
    "auto_map": {"AutoConfig": "configuration_dream.DreamConfig", "AutoModel": "modeling_dream.DreamModel"},
    "bos_token_id": 3,
    "eos_token_id": 3,
    "mask_token_id": MASK,
    "max_position_embeddings": 64,
    "max_window_layers": 3,
    "model_type": "Dream",
    "pad_token_id": 3,
    "sliding_window": None,
    "transformers_version": "4.46.2",
    "use_cache": True,
    "use_mrope": False,
}

SDAR: dict[str, Any] = SHAPE | {
    "architectures": ["SDARForCausalLM"],
    "attention_bias": False,
    "attn_implementation": "flex_attention",
    "auto_map": {"AutoConfig": "configuration_sdar.SDARConfig"},
    "block_size": BLOCK,
    "bos_token_id": 3,
    "debug": False,
    "eos_token_id": 3,
    "fuse_cross_entropy": True,
    "head_dim": 12,
    "mask_token_id": MASK,
    "max_position_embeddings": 64,
    "max_window_layers": 3,
    "model_type": "sdar",
    "sliding_window": None,
    "transformers_version": "4.52.4",
    "use_cache": True,
}

SDAR_MOE: dict[str, Any] = {
    **SDAR,
    "architectures": ["SDARMoeForCausalLM"],
    "decoder_sparse_step": 1,
    "ep_size": 1,
    "micro_forward": False,
    "mlp_only_layers": [],
    "model_type": "sdar_moe",
    "moe_intermediate_size": 12,
    "norm_topk_prob": True,
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "output_router_logits": False,
    "router_aux_loss_coef": 0.001,
    "skip_checkpoint": False,
    "use_deepep": False,
}

# Neither the mask nor the block is in a published config: BLOCK and MASK are ours to add.
LLADA2: dict[str, Any] = {key: value for key, value in SHAPE.items() if key != "torch_dtype"} | {
    "architectures": ["LLaDA2MoeModelLM"],
    "auto_map": {"AutoConfig": "configuration_llada2_moe.LLaDA2MoeConfig"},
    "block_length": BLOCK,
    "dtype": "bfloat16",
    "embedding_dropout": 0.0,
    "first_k_dense_replace": 1,
    "head_dim": 12,
    "mask_token_id": MASK,
    "max_position_embeddings": 64,
    "max_window_layers": 28,
    "model_type": "llada2_moe",
    "moe_intermediate_size": 12,
    "moe_router_enable_expert_bias": True,
    "n_group": 4,
    "norm_head": False,
    "norm_softmax": False,
    "norm_topk_prob": True,
    "num_experts": 12,
    "num_experts_per_tok": 3,
    "num_shared_experts": 1,
    "output_dropout": 0.0,
    "output_router_logits": False,
    "pad_token_id": 3,
    "partial_rotary_factor": 0.5,
    "rotary_dim": 6,
    "routed_scaling_factor": 2.5,
    "router_dtype": "fp32",
    "score_function": "sigmoid",
    "sliding_window": 4096,
    "topk_group": 2,
    "transformers_version": "4.57.1",
    "use_bias": False,
    "use_cache": False,
    "use_qkv_bias": False,
    "use_rmsnorm": True,
    "using_split_qkv_in_self_attention": False,
}

# family, its own config, changes to that, changes to the reference's
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "llada": ("llada", {}, {"num_key_value_heads": 4}),
    "llada, fewer key-value heads": ("llada", {"n_kv_heads": 1}, {"num_key_value_heads": 1}),
    "llada, width by ratio": (
        "llada",
        {"mlp_hidden_size": None, "mlp_ratio": 2},
        {"num_key_value_heads": 4, "intermediate_size": 64},
    ),
    "llada, rows that are no token": ("llada", {"vocab_size": VOCAB - 5}, {"num_key_value_heads": 4}),
    "dream": ("Dream", {}, {}),
    "dream, tied": ("Dream", {"tie_word_embeddings": True}, {"tie_word_embeddings": True}),
    "sdar": ("sdar", {}, {"head_dim": 12}),
    "sdar, blocks of eight": ("sdar", {"block_size": 8}, {"head_dim": 12}),
    "sdar-moe": ("sdar_moe", {}, {"head_dim": 12}),
    "sdar-moe, weights as they are": ("sdar_moe", {"norm_topk_prob": False}, {"head_dim": 12, "norm_topk_prob": False}),
    "llada2": ("llada2_moe", {}, {"head_dim": 12}),
    "llada2, whole heads rotated": (
        "llada2_moe",
        {"partial_rotary_factor": 1.0},
        {"head_dim": 12, "partial_rotary_factor": 1.0},
    ),
    "llada2, experts throughout, two shared": (
        "llada2_moe",
        {"first_k_dense_replace": 0, "num_shared_experts": 2, "num_experts_per_tok": 5},
        {"head_dim": 12, "first_k_dense_replace": 0, "n_shared_experts": 2, "num_experts_per_tok": 5},
    ),
    "llada2, one group": (
        "llada2_moe",
        {"n_group": 1, "topk_group": 1},
        {"head_dim": 12, "n_group": 1, "topk_group": 1},
    ),
}
QWEN3_MOE = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "norm_topk_prob": True}
GLM4_MOE = {
    "n_routed_experts": 12,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 12,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "n_group": 4,
    "topk_group": 2,
    "routed_scaling_factor": 2.5,
    "norm_topk_prob": True,
    "use_qk_norm": True,
    "partial_rotary_factor": 0.5,
    "num_mtp_layers": 0,
}
# config, the reference's layers, and what those need besides SIZES
LAYERS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "llada": (LLADA, "Llama", {}),
    "Dream": (DREAM, "Qwen2", {}),
    "sdar": (SDAR, "Qwen3", {}),
    "sdar_moe": (SDAR_MOE, "Qwen3Moe", QWEN3_MOE),
    "llada2_moe": (LLADA2, "Glm4Moe", GLM4_MOE),
}

LLADA_NAMES = {
    "model.embed_tokens": "wte",
    "model.norm": "ln_f",
    "lm_head": "ff_out",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "q_proj",
    "self_attn.k_proj": "k_proj",
    "self_attn.v_proj": "v_proj",
    "self_attn.o_proj": "attn_out",
    "post_attention_layernorm": "ff_norm",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
}
LLADA2_NAMES = {
    "model.embed_tokens": "model.word_embeddings",
    "self_attn.o_proj": "attention.dense",
    "self_attn.q_norm": "attention.query_layernorm",
    "self_attn.k_norm": "attention.key_layernorm",
    "e_score_correction_bias": "expert_bias",
}

Reference = Callable[[Sequence[int]], Tensor]
"""Logits [Q, V] of a text, each position's own, under the attention that the family has."""


def redraw(model: Any, seed: int, bias: tuple[float, float]) -> None:
    """Draw every weight anew, so that logits are far from flat and no scale or bias is what it begins as.

    Args:
        model: of transformers, in place.
        seed: of the draws.
        bias: mean and spread of the biases by which a router chooses.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.copy_(0.3 * drawn + (1.0 if "norm" in name else 0.0))
            elif "embed_tokens" in name:
                parameter.copy_(0.4 * drawn)
            else:
                parameter.copy_((4.0 if "lm_head" in name else 1.5) * drawn * parameter.shape[-1] ** -0.5)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.copy_(bias[0] + bias[1] * torch.randn(buffer.shape, generator=generator))


def write_llada(directory: Path) -> None:
    """Give the tensors LLaDA's names."""
    renamed = {}
    for name, tensor in load_file(directory / "model.safetensors").items():
        path = name.removesuffix(".weight")
        if path.startswith("model.layers."):
            _, _, layer, own = path.split(".", 3)
            renamed[f"model.transformer.blocks.{layer}.{LLADA_NAMES[own]}.weight"] = tensor
        else:
            renamed[f"model.transformer.{LLADA_NAMES[path]}.weight"] = tensor
    save_file(renamed, directory / "model.safetensors")


def write_llada2(directory: Path) -> None:
    """Give the tensors LLaDA2's names, and put the rows of queries, keys and values under each other."""
    renamed = {}
    tensors = load_file(directory / "model.safetensors")
    for name, tensor in tensors.items():
        if "k_proj" in name or "v_proj" in name:
            continue
        if "q_proj" in name:
            three = [tensors[name.replace("q_proj", kind)] for kind in ("q_proj", "k_proj", "v_proj")]
            renamed[name.replace("self_attn.q_proj", "attention.query_key_value")] = torch.cat(three)
            continue
        for other, own in LLADA2_NAMES.items():
            name = name.replace(other, own)
        renamed[name] = tensor
    save_file(renamed, directory / "model.safetensors")


@pytest.fixture
def make() -> Callable[..., tuple[Checkpoint, Reference]]:
    """make(case, directory, bias): our checkpoint and the reference that it was written from."""
    transformers = pytest.importorskip("transformers", minversion="5.23")

    def made(case: str, directory: Path, bias: tuple[float, float] = (0.5, 0.5)) -> tuple[Checkpoint, Reference]:
        family, changes, reference_changes = CASES[case]
        config, layers, needed = LAYERS[family]
        # A copy, for transformers writes into what it is given.
        values = copy.deepcopy(SIZES | needed | reference_changes)
        reference_config = getattr(transformers, f"{layers}Config")(**values)
        model = getattr(transformers, f"{layers}ForCausalLM")(reference_config).eval()
        redraw(model, list(CASES).index(case), bias)
        model.save_pretrained(directory)
        (directory / "generation_config.json").unlink()
        config = config | changes
        (directory / "config.json").write_text(json.dumps(config))
        if family == "llada":
            write_llada(directory)
        if family == "llada2_moe":
            write_llada2(directory)
        block = config.get("block_size", config.get("block_length"))

        def logits(tokens: Sequence[int]) -> Tensor:
            mask_QQ = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
            if block is not None:
                block_Q = torch.arange(len(tokens)) // block
                mask_QQ = block_Q[:, None] >= block_Q
            out: Tensor = model(torch.tensor([list(tokens)]), attention_mask=mask_QQ[None, None]).logits[0]
            return torch.cat((out[:1], out[:-1])) if family == "Dream" else out

        return load_checkpoint(directory), logits

    return made


def draw(count: int, seed: int) -> list[int]:
    """Random tokens, the mask among them."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(VOCAB, (count,), generator=generator)
    return torch.where(torch.rand(count, generator=generator) < 0.3, MASK, tokens).tolist()


@pytest.mark.parity("save/load")
@pytest.mark.parametrize("case", CASES)
def test_our_layout_holds_the_same(
    case: str, make: Callable[..., tuple[Checkpoint, Reference]], tmp_path: Path
) -> None:
    checkpoint = make(case, tmp_path / "theirs")[0]
    check_saved(checkpoint, tmp_path / "ours")
    check_exported(checkpoint, tmp_path / "theirs", tmp_path / "again")


@pytest.mark.parity("int8")
@pytest.mark.parametrize("case", CASES)
def test_weights_in_8_bits(case: str, make: Callable[..., tuple[Checkpoint, Reference]], tmp_path: Path) -> None:
    check_int8(make(case, tmp_path)[0], tmp_path)


@pytest.mark.parity("logits")
@pytest.mark.parametrize("case", CASES)
@torch.inference_mode()
def test_logits_of_one_forward(case: str, make: Callable[..., tuple[Checkpoint, Reference]], tmp_path: Path) -> None:
    checkpoint, reference = make(case, tmp_path)
    spec, model = checkpoint.spec, checkpoint.model
    assert spec.noise == "mask"
    assert spec.mask_id == MASK
    tokens = draw(19, seed=1)
    place_Q = torch.arange(19)
    mask = None
    if spec.prefix_attention == "block":
        assert spec.canvas_length == CASES[case][1].get("block_size", BLOCK)
        mask = (place_Q[:, None] // spec.canvas_length >= place_Q // spec.canvas_length)[None, None]
    else:
        assert spec.prefix_attention == "full"
    found_QV = model.logits(model(torch.tensor([tokens]), place_Q[None], AttentionSpec(mask=mask)))[0]
    if spec.logit_shift:
        found_QV = torch.cat((found_QV[:1], found_QV[:-1]))
    assert relative_error(found_QV, reference(tokens)) < MAX_ERROR
    # Nobody reads past the own block; without blocks, everybody reads the last token.
    other_QV = reference([*tokens[:-1], (tokens[-1] + 1) % VOCAB])
    changed_Q = (other_QV - reference(tokens)).abs().amax(-1) > 100 * MAX_ERROR
    if spec.prefix_attention == "block":
        assert changed_Q.tolist() == (place_Q >= 18 // spec.canvas_length * spec.canvas_length).tolist()
    else:
        assert changed_Q.all()


@pytest.mark.parity("logits")
@pytest.mark.parametrize("case", ["llada", "llada, fewer key-value heads", "dream", "dream, tied"])
@torch.inference_mode()
def test_canvases_behind_prefixes_that_read_them(
    case: str, make: Callable[..., tuple[Checkpoint, Reference]], tmp_path: Path
) -> None:
    """Three prompts and canvases of different lengths in one batch, each as if it were alone; then a second canvas."""
    checkpoint, reference = make(case, tmp_path)
    prefixes = [draw(length, seed=length) for length in (6, 1, 11)]
    texts, layout = Texts(checkpoint.model, 3), PrefixLayout(checkpoint.spec)
    runner = Runner(checkpoint.model, texts.pool, layout)
    for turn in range(2):
        canvases = [draw(width, seed=100 * turn + width) for width in (8, 5, 3)]
        tokens_RL = torch.tensor([[*canvas, *[0] * (8 - len(canvas))] for canvas in canvases])
        chunks = []
        for row, (prefix, canvas) in enumerate(zip(prefixes, canvases, strict=True)):
            segment = texts.segment(row, len(prefix) + len(canvas), None)
            positions = layout.canvas_positions(len(prefix), len(canvas))
            chunks.append(ScheduledChunk(segment=segment, tokens=prefix, row=row, positions=positions))
        hidden_ND, place_RL, _ = runner.forward(chunks, tokens_RL)
        for row, (prefix, canvas) in enumerate(zip(prefixes, canvases, strict=True)):
            found_LV = runner.read(runner.model.logits, hidden_ND, place_RL[row, : len(canvas)])
            expected_LV = reference([*prefix, *canvas])[len(prefix) :]
            assert relative_error(found_LV, expected_LV) < MAX_ERROR
        final = [draw(len(canvas), seed=1000 + turn) for canvas in canvases]
        prefixes = [[*prefix, *canvas] for prefix, canvas in zip(prefixes, final, strict=True)]


@pytest.mark.parity("logits")
@pytest.mark.parametrize("case", ["sdar", "sdar, blocks of eight", "sdar-moe", "llada2"])
@torch.inference_mode()
def test_canvases_behind_a_prefix_of_whole_blocks(
    case: str, make: Callable[..., tuple[Checkpoint, Reference]], tmp_path: Path
) -> None:
    """Two steps on each of three blocks; the first begins with what the prompts have beyond whole blocks."""
    checkpoint, reference = make(case, tmp_path)
    block = checkpoint.spec.canvas_length
    # Whole blocks; less than one; whole ones and a rest.
    prompts = [draw(length, seed=length) for length in (2 * block, block - 1, block + 2)]
    prefixes = [prompt[: len(prompt) // block * block] for prompt in prompts]
    texts = Texts(checkpoint.model, 3)
    texts.write(dict(enumerate(prefixes)), block=block)
    heads = [prompt[len(prefix) :] for prompt, prefix in zip(prompts, prefixes, strict=True)]
    for turn in range(3):
        for step in range(2):
            canvases = [[*head, *draw(block - len(head), seed=10 * turn + step)] for head in heads]
            logits = texts.logits(dict(enumerate(canvases)))
            for row, (prefix, canvas) in enumerate(zip(prefixes, canvases, strict=True)):
                expected_LV = reference([*prefix, *canvas])[len(prefix) :]
                assert relative_error(logits[row], expected_LV) < MAX_ERROR
        final = [[*head, *draw(block - len(head), seed=1000 + turn)] for head in heads]
        texts.write(dict(enumerate(final)), block=block)
        prefixes = [[*prefix, *canvas] for prefix, canvas in zip(prefixes, final, strict=True)]
        heads = [[], [], []]


@torch.inference_mode()
def test_biases_of_a_router_may_be_negative(make: Callable[..., tuple[Checkpoint, Reference]], tmp_path: Path) -> None:
    checkpoint, reference = make("llada2", tmp_path, bias=(-2.0, 0.5))
    tokens = draw(BLOCK, seed=1)
    found_QV = checkpoint.model.logits(
        checkpoint.model(torch.tensor([tokens]), torch.arange(BLOCK)[None], AttentionSpec())
    )[0]
    assert relative_error(found_QV, reference(tokens)) < MAX_ERROR
    # The bias has its say: without it others are chosen.
    for name, buffer in checkpoint.model.state_dict().items():
        if name.endswith("expert_bias"):
            assert buffer.max() < 0
            buffer.zero_()
    unbiased_QV = checkpoint.model.logits(
        checkpoint.model(torch.tensor([tokens]), torch.arange(BLOCK)[None], AttentionSpec())
    )[0]
    assert relative_error(unbiased_QV, reference(tokens)) > 100 * MAX_ERROR


def route(scores: list[float], bias: list[float], n_group: int, topk_group: int, num: int) -> dict[int, float]:
    """LLaDA2's router in the words of its description: expert to weight, before the factor on all of them."""
    chosen_by = [score + own for score, own in zip(scores, bias, strict=True)]
    size = len(scores) // n_group
    groups = [list(range(group * size, (group + 1) * size)) for group in range(n_group)]
    worth = {group: sum(sorted((chosen_by[i] for i in groups[group]), reverse=True)[:2]) for group in range(n_group)}
    kept = sorted(worth, key=lambda group: -worth[group])[:topk_group]
    # What is outside of the kept groups cannot be chosen at all, however low the others' values are.
    allowed = [i for group in kept for i in groups[group]]
    best = sorted(allowed, key=lambda i: -chosen_by[i])[:num]
    total = sum(scores[i] for i in best)
    return {i: scores[i] / (total if num > 1 else 1.0) for i in best}


@pytest.mark.parametrize(("n_group", "topk_group", "num"), [(2, 1, 2), (2, 1, 4), (4, 2, 3), (4, 1, 1), (1, 1, 3)])
@pytest.mark.parametrize("bias", [-3.0, -0.6, 0.0, 2.0])
def test_experts_outside_of_the_best_groups_are_never_chosen(
    n_group: int, topk_group: int, num: int, bias: float
) -> None:
    """Negative biases make all sums negative, so that a 0 in place of the excluded would be the highest of all."""
    generator = torch.Generator().manual_seed(n_group + num)
    router = Router(
        5,
        MoEConfig(
            num_experts=8,
            num_experts_per_tok=num,
            moe_intermediate_size=4,
            score_function="sigmoid",
            n_group=n_group,
            topk_group=topk_group,
            routed_scaling_factor=2.5,
        ),
    )
    with torch.no_grad():
        router.weight.copy_(torch.randn(8, 5, generator=generator))
        router.expert_bias.copy_(bias + 0.4 * torch.randn(8, generator=generator))
        x_ND = torch.randn(40, 5, generator=generator)
        experts_NK, weights_NK = router(x_ND)
        scores_NX = (x_ND @ router.weight.T).sigmoid()
    used = set()
    for scores, experts, weights in zip(scores_NX.tolist(), experts_NK.tolist(), weights_NK.tolist(), strict=True):
        expected = route(scores, router.expert_bias.tolist(), n_group, topk_group, num)
        assert dict(zip(experts, weights, strict=True)) == pytest.approx({i: 2.5 * w for i, w in expected.items()})
        used |= set(experts)
    assert len(used) > num


# Sizes, and how many tensors and weights the indexes of the published checkpoints count; SDAR's are counted as tensors.
PUBLISHED: dict[str, tuple[dict[str, Any], int, int | None]] = {
    "LLaDA-8B": (
        LLADA
        | {"d_model": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 32, "mlp_hidden_size": 12288}
        | {"vocab_size": 126464, "embedding_size": 126464, "mask_token_id": 126336},
        291,
        8_015_581_184,
    ),
    "Dream-7B": (
        DREAM
        | {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28}
        | {"num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "mask_token_id": 151666},
        339,
        7_615_616_512,
    ),
    "SDAR-4B": (
        SDAR
        | {"hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36, "head_dim": 128}
        | {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936, "mask_token_id": 151669},
        399,
        None,
    ),
    "SDAR-30B-A3B": (
        {key: value for key, value in SDAR_MOE.items() if key not in ("block_size", "mask_token_id")}
        | {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48, "head_dim": 128}
        | {"num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 151936}
        | {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768},
        18867,
        None,
    ),
    "LLaDA2-mini": (
        {key: value for key, value in LLADA2.items() if key not in ("block_length", "mask_token_id")}
        | {"hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 20, "head_dim": 128}
        | {"num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 157184}
        | {"num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512, "n_group": 8, "topk_group": 4},
        14813,
        16_255_643_392,
    ),
}
# noise, mask, canvas, attention of the prefix, shift. Blocks and masks that a config leaves out are those of the
# generate functions; canvases of LLaDA and Dream are ours to choose.
SPECS = {
    "LLaDA-8B": GenerationSpec(noise="mask", mask_id=126336, canvas_length=128, prefix_attention="full"),
    "Dream-7B": GenerationSpec(
        noise="mask", mask_id=151666, canvas_length=256, prefix_attention="full", logit_shift=True
    ),
    "SDAR-4B": GenerationSpec(noise="mask", mask_id=151669, canvas_length=4, prefix_attention="block"),
    "SDAR-30B-A3B": GenerationSpec(noise="mask", mask_id=151669, canvas_length=4, prefix_attention="block"),
    "LLaDA2-mini": GenerationSpec(noise="mask", mask_id=156895, canvas_length=32, prefix_attention="block"),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_checkpoints_have_these_tensors(name: str) -> None:
    config, num_tensors, num_weights = PUBLISHED[name]
    family = FAMILIES[config["model_type"]]
    with torch.device("meta"):
        model, spec = family.build(ConfigTable(config, name))
    assert spec == SPECS[name]
    layout, empty = family.layout(model), model.state_dict()
    assert len(layout) == num_tensors
    if num_weights is not None:
        assert sum(math.prod(stored_shape(empty, parts)) for parts in layout.values()) == num_weights
