"""The decoder's cache, masks and options against one uncached forward with every mask written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import AttentionSpec, PackedAttention
from texts import Texts

# R rows, Q positions, D model, V vocabulary

Draw = Callable[..., list[int]]
TOLERANCE = {"atol": 1e-5, "rtol": 1e-4}


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def uncached(model: Decoder, prefix: Sequence[int], canvas: Sequence[int], soft_LD: Tensor | None = None) -> Tensor:
    """Logits [prefix + canvas, V] of one row in one forward: the prefix causal, the canvas open to itself."""
    tokens = torch.tensor([[*prefix, *canvas]])
    length, split = tokens.shape[1], len(prefix)
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mask[split:, split:] = True
    on_canvas = torch.arange(length)[None] >= split
    soft = None
    if soft_LD is not None:
        soft = torch.cat((torch.zeros(split, soft_LD.shape[1]), soft_LD))[None]
    spec = AttentionSpec(mask=mask[None, None])
    hidden = model(tokens, torch.arange(length)[None], spec, canvas_RQ=on_canvas, soft_RQD=soft)
    return model.logits(hidden)[0]


PREFIXES = {"level": [6, 6, 6], "ragged": [9, 1, 4], "none": [0, 0, 0], "some": [0, 5, 2]}
CANVASES = {"equal": [4, 4, 4], "padded": [2, 7, 1], "single": [1, 1, 1]}


@pytest.mark.parametrize("widths", CANVASES.values(), ids=CANVASES)
@pytest.mark.parametrize("lengths", PREFIXES.values(), ids=PREFIXES)
def test_cached_prefill_and_canvas_equal_one_uncached_forward(
    variant: Decoder, draw: Draw, lengths: list[int], widths: list[int]
):
    prefixes = {i: draw(length, seed=i) for i, length in enumerate(lengths)}
    canvases = {i: draw(width, seed=10 + i) for i, width in enumerate(widths)}
    texts = Texts(variant, 3)
    prefilled = texts.write(prefixes) if max(lengths) else {}
    soft = None
    if variant.config.self_conditioning:
        soft = {i: torch.randn(len(canvas), 16) for i, canvas in canvases.items()}
    for _ in range(2):  # A step leaves the prefix as it was: the second gives the same.
        logits = texts.logits(canvases, soft)
        for i, canvas in canvases.items():
            expected = uncached(variant, prefixes[i], canvas, None if soft is None else soft[i])
            torch.testing.assert_close(logits[i], expected[lengths[i] :], **TOLERANCE)
            if lengths[i]:
                torch.testing.assert_close(variant.logits(prefilled[i]), expected[: lengths[i]], **TOLERANCE)


def test_committed_canvases_join_the_prefix(variant: Decoder, draw: Draw):
    """Prefill in two parts, commit one ragged canvas, denoise a second."""
    prefixes = [draw(7, seed=0), draw(3, seed=1)]
    first = [draw(4, seed=2), draw(2, seed=3)]
    second = [draw(3, seed=4), draw(3, seed=5)]
    texts = Texts(variant, 2)
    for part in ([row[:2] for row in prefixes], [row[2:] for row in prefixes], first):
        texts.write(dict(enumerate(part)))
    logits = texts.logits(dict(enumerate(second)))
    for row in range(2):
        prefix = [*prefixes[row], *first[row]]
        expected = uncached(variant, prefix, second[row])[len(prefix) :]
        torch.testing.assert_close(logits[row], expected, **TOLERANCE)


def test_prompt_and_canvas_share_a_forward(variant: Decoder, draw: Draw):
    """As two consecutive segments of one text."""
    prefix, canvas = draw(7), draw(5, seed=1)
    texts = Texts(variant, 2)
    segments = [texts.segment(1, 7, 1)]
    texts.lengths[1] = 7
    segments.append(texts.segment(1, 5, None))
    attention = PackedAttention(texts.pool, segments, 12)
    on_canvas = torch.arange(12)[None] >= 7
    hidden = variant(torch.tensor([[*prefix, *canvas]]), attention.positions_1N, attention, canvas_RQ=on_canvas)
    torch.testing.assert_close(variant.logits(hidden)[0], uncached(variant, prefix, canvas), **TOLERANCE)


def test_causal_mode_equals_one_token_at_a_time(variant: Decoder, draw: Draw):
    tokens = draw(11)
    texts = Texts(variant, 1)
    logits = [variant.logits(texts.write({0: [token]})[0])[0] for token in tokens]
    torch.testing.assert_close(torch.stack(logits), uncached(variant, tokens, []), **TOLERANCE)


def test_decoder_equals_its_formula(make_decoder: Callable[..., Decoder], draw: Draw):
    """Pre-norm residual blocks around grouped-query attention and the gated MLP, written out in float64."""
    model = make_decoder(attention_bias=True, qk_norm=True, tie_word_embeddings=False, num_hidden_layers=1)
    w = {name: tensor.double() for name, tensor in model.state_dict().items()}
    tokens = draw(5)
    expected = uncached(model, tokens, [])

    def norm(x: Tensor, name: str) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * w[name]

    def project(x: Tensor, name: str, num_heads: int) -> Tensor:
        return (x @ w[f"{name}.weight"].T + w[f"{name}.bias"]).view(5, num_heads, 6)

    def turn(x: Tensor) -> Tensor:
        angles = torch.arange(5.0).double()[:, None, None] * 10000.0 ** (-torch.arange(0, 6, 2).double() / 6)
        pairs = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat((pairs.real, pairs.imag), dim=-1)

    block = "model.layers.0"
    x = w["model.embed_tokens.weight"][tokens]
    inner = norm(x, f"{block}.input_layernorm.weight")
    q = turn(norm(project(inner, f"{block}.self_attn.q_proj", 4), f"{block}.self_attn.q_norm.weight"))
    k = turn(norm(project(inner, f"{block}.self_attn.k_proj", 2), f"{block}.self_attn.k_norm.weight"))
    v = project(inner, f"{block}.self_attn.v_proj", 2)
    k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
    scores = torch.einsum("qhe,she->hqs", q, k) / 6**0.5
    scores = scores.masked_fill(~torch.ones(5, 5, dtype=torch.bool).tril(), -torch.inf).softmax(-1)
    x = x + torch.einsum("hqs,she->qhe", scores, v).reshape(5, -1) @ w[f"{block}.self_attn.o_proj.weight"].T
    inner = norm(x, f"{block}.post_attention_layernorm.weight")
    gate = inner @ w[f"{block}.mlp.gate_proj.weight"].T
    up = inner @ w[f"{block}.mlp.up_proj.weight"].T
    x = x + (gate * gate.sigmoid() * up) @ w[f"{block}.mlp.down_proj.weight"].T
    logits = norm(x, "model.norm.weight") @ w["lm_head.weight"].T
    torch.testing.assert_close(expected.double(), logits, **TOLERANCE)


@pytest.mark.parametrize("changed", [0, 3, 5, 8])
def test_prefix_is_causal_and_canvas_bidirectional(make_decoder: Callable[..., Decoder], draw: Draw, changed: int):
    """Prefix of 5, canvas of 4: a prefix position affects itself and what follows, a canvas position the canvas."""
    model = make_decoder()
    prefix, canvas = draw(5), draw(4, seed=1)
    before = uncached(model, prefix, canvas)
    tokens = [*prefix, *canvas]
    tokens[changed] = (tokens[changed] + 1) % 23
    after = uncached(model, tokens[:5], tokens[5:])
    moved = (before != after).any(-1).tolist()
    expected = range(changed, 9) if changed < 5 else range(5, 9)
    assert [i for i, m in enumerate(moved) if m] == list(expected)


def test_zero_initialized_parts_do_not_change_the_output():
    """A model extended with a canvas embedding and self-conditioning computes what it did before."""
    sizes: dict[str, Any] = {
        "vocab_size": 23,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
    }
    plain = Decoder(DecoderConfig(**sizes))
    plain.initialize(3)
    extended = Decoder(DecoderConfig(**sizes, canvas_embedding=True, self_conditioning=True))
    extended.initialize(4)
    extended.load_state_dict(extended.state_dict() | plain.state_dict())
    tokens = torch.randint(23, (2, 6))
    positions = torch.arange(6).expand(2, -1)
    soft = torch.randn(2, 6, 16)
    on_canvas = torch.ones(2, 6, dtype=torch.bool)
    expected = plain(tokens, positions, AttentionSpec())
    assert torch.equal(extended(tokens, positions, AttentionSpec(), canvas_RQ=on_canvas, soft_RQD=soft), expected)
    torch.nn.init.normal_(extended.model.canvas_embed.weight)
    torch.nn.init.normal_(extended.model.self_conditioning.mlp.down_proj.weight)
    assert not torch.equal(extended(tokens, positions, AttentionSpec(), canvas_RQ=on_canvas), expected)
    assert not torch.equal(extended(tokens, positions, AttentionSpec(), soft_RQD=soft), expected)
    nowhere, nothing = torch.zeros_like(on_canvas), torch.zeros_like(soft)
    assert torch.equal(extended(tokens, positions, AttentionSpec(), canvas_RQ=nowhere, soft_RQD=nothing), expected)


def test_seed_determines_every_weight():
    """Whatever the state of torch's global generator; biases included."""
    config = DecoderConfig(
        vocab_size=11,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=4,
        attention_bias=True,
        qk_norm=True,
        tie_word_embeddings=False,
        canvas_embedding=True,
        self_conditioning=True,
    )
    states = []
    for seed in (5, 5, 6):
        torch.rand(7)
        model = Decoder(config)
        model.initialize(seed)
        states.append(model.state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[0]["lm_head.weight"], states[2]["lm_head.weight"])
    for name, tensor in states[0].items():
        starts_at_zero = "bias" in name or "canvas_embed" in name or "self_conditioning.mlp.down_proj" in name
        assert bool(tensor.any()) != starts_at_zero, name


def test_soft_embedding_is_the_mean_embedding(make_decoder: Callable[..., Decoder]):
    model = make_decoder()
    probs = torch.rand(2, 3, 23).softmax(-1)
    expected = torch.einsum("rqv,vd->rqd", probs, model.model.embed_tokens.weight)
    torch.testing.assert_close(model.soft_embedding(probs), expected)


def test_number_of_parameters_equals_a_count_by_hand(make_decoder: Callable[..., Decoder]):
    """By hand: embedding, two blocks (q, k, v, o, MLP, two norms), final norm; an untied head adds an embedding."""
    block = 16 * 24 + 2 * 16 * 12 + 24 * 16 + 3 * 16 * 24 + 2 * 16
    assert make_decoder().num_parameters == 23 * 16 + 2 * block + 16
    assert make_decoder(tie_word_embeddings=False).num_parameters == 2 * 23 * 16 + 2 * block + 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size is 0; allowed: a whole number, more than 0"),
        ({"rope_theta": -1.0}, "rope_theta is -1.0; allowed: more than 0"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan; allowed: more than 0"),
        ({"partial_rotary_factor": 1.5}, "partial_rotary_factor is 1.5; allowed: more than 0, at most 1"),
        ({"num_key_value_heads": 3}, "num_key_value_heads is 3; allowed: a divisor of num_attention_heads = 4"),
        ({"head_dim": 5}, "head_dim is 5; allowed: an even number"),
    ],
)
def test_invalid_sizes_are_refused(make_decoder: Callable[..., Decoder], changes: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        make_decoder(**changes)
