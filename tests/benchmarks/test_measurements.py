"""What the benchmarks ask for and count; how long it takes is nobody's test."""

from __future__ import annotations

import itertools
import json
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from benchmarks.__main__ import app
from benchmarks.breakeven import break_even, llama_bench
from benchmarks.comparisons import llama_cpp_token
from benchmarks.latency import latencies
from benchmarks.model import BenchModel
from benchmarks.quality import Answers, compare_answers
from benchmarks.roofline import step_share
from benchmarks.shapes import random_checkpoint
from benchmarks.sharing import join, variations
from benchmarks.simulate import answer_seconds, predict
from benchmarks.soak import soak
from benchmarks.state import canvas_state
from benchmarks.throughput import throughput
from typer.testing import CliRunner

from benchmarks import breakeven, quality
from sfumato.checkpoints.load import Checkpoint, save_checkpoint
from sfumato.checkpoints.registry import ASSETS
from sfumato.costs import Machine, step_cost
from sfumato.errors import ConfigError, SfumatoError
from sfumato.models.decoder import Decoder
from sfumato.models.gemma import AttentionShape
from sfumato.models.moe import MoEConfig
from sfumato.models.quantization.products import QuantizedLinear
from sfumato.models.quantization.weights import QUANTIZATIONS, QuantizedWeight
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

Make = Callable[..., Decoder]


@pytest.fixture
def bench_model(make_decoder: Make) -> BenchModel:
    model = make_decoder(canvas_embedding=True, self_conditioning=True)
    return BenchModel("small", Checkpoint(model, GenerationSpec(canvas_length=8, self_conditioning=True), {}))


@pytest.fixture
def single(make_decoder: Make) -> BenchModel:
    spec = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
    return BenchModel("single", Checkpoint(make_decoder(), spec, {}))


def test_every_combination_forced_and_adaptive(bench_model: BenchModel):
    found = list(latencies(bench_model, prompts=[3, 9], canvases=[4, 8], steps=[2, 5], new_tokens=12, repeats=1))
    assert len(found) == 2 * 2 * 2 * 2
    for one in found:
        assert one.tokens_per_s == pytest.approx(12 / one.seconds)
        assert 0 < one.first_commit_s <= one.seconds
        num_canvases = -(-12 // one.canvas_length)
        if one.forced:
            assert one.denoising_steps == num_canvases * one.steps
            # The prompt and all canvases but the last are written, in passes that were taken anyway.
            assert one.positions == one.prompt_tokens + 12 * one.steps + (num_canvases - 1) * one.canvas_length
        assert one.denoising_steps <= num_canvases * one.steps
        assert one.forward_passes == one.denoising_steps


def test_autoregressive_model_has_one_setting(single: BenchModel):
    [one] = latencies(single, prompts=[5], canvases=[4, 8], steps=[2, 5], new_tokens=7, repeats=1)
    assert (one.canvas_length, one.steps, one.forward_passes) == (1, 1, 7)


@pytest.mark.parametrize("users", [1, 3, 64])
def test_requests_in_flight(bench_model: BenchModel, users: int):
    requests = [bench_model.request([1, 2, 3], new_tokens=8, steps=3, canvas_length=8, seed=i) for i in range(6)]
    found = throughput(bench_model, requests, concurrency=users)
    assert (found.num_requests, found.steps, found.forced) == (6, 3, True)
    assert found.forward_passes == 3 * -(-6 // users)
    assert found.positions_per_forward == pytest.approx((6 * 3 * 8 + 6 * 3) / found.forward_passes)
    assert found.tokens_per_s * found.seconds == pytest.approx(6 * 8)
    assert found.first_commit_p50_s <= found.total_p50_s <= found.total_p95_s <= found.seconds


def test_arrivals_at_random_times(bench_model: BenchModel):
    requests = [bench_model.request([1], new_tokens=8, steps=2, canvas_length=8, seed=i) for i in range(5)]
    found = throughput(bench_model, requests, rate=200.0)
    assert (found.rate, found.concurrency, found.num_requests) == (200.0, None, 5)
    # Four gaps of a hundredth of a second or so, whatever the model takes.
    assert found.seconds > 4 / 200 / 10


def test_a_share_of_a_step(bench_model: BenchModel):
    found = step_share(bench_model, 8, 5, repeats=2)
    assert found.share > 0
    cost = step_cost(bench_model.model.decoder, 8, 5, soft_embedding=True)
    assert found.operations_per_s * found.step_s == pytest.approx(cost.operations)


def test_the_state_of_canvases_in_work(bench_model: BenchModel):
    """Soft embeddings, and some dozens of bytes for each position."""
    found = canvas_state(bench_model, num_canvases=5, canvas=8)
    soft = 8 * found.width * 4
    assert soft < found.bytes_each < soft + 8 * 64 + 256


def test_random_weights_in_a_shape():
    small: dict[str, Any] = {"num_hidden_layers": 2, "vocab_size": 64}
    model = random_checkpoint("smollm2-135m", quantization=QUANTIZATIONS["w8a8"], dtype=torch.bfloat16, **small).model
    layer = model.model.layers[0]
    assert isinstance(layer.mlp.up_proj, QuantizedLinear)
    assert model.embedding_VD.dtype == torch.bfloat16
    assert model.embedding_VD.shape == (64, 576)
    assert random_checkpoint("smollm2-135m-ar", **small).spec.autoregressive


def test_large_shapes_are_drawn_on_their_device():
    attention = {
        "sliding": AttentionShape(num_key_value_heads=2, head_dim=8, window=16),
        "full": AttentionShape(num_key_value_heads=1, head_dim=16, shared_values=True),
    }
    gemma: dict[str, Any] = {"attention": attention, "layer_types": ("sliding", "full"), "num_experts": 4}
    gemma |= {"hidden_size": 32, "intermediate_size": 16, "moe_intermediate_size": 8, "num_attention_heads": 4}
    llada: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2, "head_dim": 8}
    llada |= {"num_attention_heads": 4, "num_key_value_heads": 4}
    for shape, changes in (("diffusion-gemma-26b", gemma | {"top_k_experts": 2}), ("llada-8b", llada)):
        vocabulary = 64 if shape == "diffusion-gemma-26b" else 126464
        bench_model = BenchModel.load(shape, dtype="bfloat16", vocab_size=vocabulary, **changes)
        model = bench_model.model.bundle.model
        assert not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
        assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
        request = bench_model.request([1, 2, 3], new_tokens=8, steps=2, canvas_length=8)
        assert bench_model.run(request).usage.denoising_steps == 2


def test_large_shapes_are_drawn_quantized():
    mixture = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2, "head_dim": 8}
    sizes |= {"num_attention_heads": 4, "moe": mixture}
    bench_model = BenchModel.load("llada2-mini", quantize="w8a8", **sizes)
    for layer in bench_model.model.decoder.model.layers:
        assert isinstance(layer.mlp.experts.down_proj, QuantizedWeight)
    request = bench_model.request([1, 2, 3], new_tokens=8, steps=2, canvas_length=8)
    assert bench_model.run(request).usage.denoising_steps == 2


def test_the_sum_of_a_simulated_answer(bench_model: BenchModel):
    """With arithmetic alone, all operations of all forwards; with memory alone, the weights once a forward."""
    model = bench_model.model.decoder
    answer: dict[str, Any] = {"prompt": 6, "new_tokens": 12, "canvas_length": 8, "steps": 3, "soft_embedding": True}
    seconds = answer_seconds(model, Machine(operations_per_s=1.0, bytes_per_s=1e30), 4.0, **answer)
    canvases = 3 * step_cost(model, 8, 6, soft_embedding=True).operations
    canvases += 3 * step_cost(model, 4, 14, soft_embedding=True).operations
    written = step_cost(model, 6, 0, head=False).operations + step_cost(model, 8, 6, head=False).operations
    assert seconds == pytest.approx(canvases + written)
    seconds = answer_seconds(model, Machine(operations_per_s=1e30, bytes_per_s=1.0), 4.0, **answer)
    weights, cached = step_cost(model, 8).num_weights, step_cost(model, 8, 1).num_cached
    # First steps read what was written before them.
    assert seconds == pytest.approx(4.0 * (6 * weights + cached * (2 * 6 + 6 + 2 * 14)))


def test_unknown_hardware(bench_model: BenchModel):
    answer: dict[str, Any] = {"prompt": 6, "new_tokens": 12, "canvas_length": 8, "steps": 3}
    with pytest.raises(ConfigError, match="unknown hardware 'h1000'; did you mean 'h100'"):
        predict(bench_model.model.decoder, "h1000", dtype="bfloat16", **answer)
    with pytest.raises(ConfigError, match="unknown dtype of phone 'float8'"):
        predict(bench_model.model.decoder, "phone", dtype="float8", **answer)
    fast, slow = (predict(bench_model.model.decoder, name, dtype="bfloat16", **answer) for name in ("h200", "laptop"))
    assert fast.seconds < slow.seconds


def test_a_short_soak(bench_model: BenchModel, single: BenchModel, monkeypatch: pytest.MonkeyPatch):
    # A clock that every look at it puts on: as many requests come on a busy machine.
    monkeypatch.setattr("benchmarks.soak.time", SimpleNamespace(perf_counter=itertools.count(0.0, 0.01).__next__))
    for model in (bench_model, single):
        *_, last = soak(model, minutes=0.1, report_every_s=0.5)
        assert last.answered == last.submitted > 5
        assert set(last.reasons) >= {"length", "cancelled"}
        assert last.steps > 50


def test_short_requests_among_long_ones(bench_model: BenchModel):
    short, long = (
        bench_model.request(bench_model.random_prompt(4), new_tokens=tokens, steps=2, canvas_length=8)
        for tokens in (8, 24)
    )
    found = join(bench_model, short, long, num_long=3, num_short=4)
    assert found.joined_p95_s >= found.joined_p50_s > 0
    assert found.ratio_p95 == pytest.approx(found.joined_p95_s / found.alone_s)


def test_variations_prefill_once(bench_model: BenchModel):
    prompt = bench_model.random_prompt(40)
    found = variations(bench_model, bench_model.request(prompt, new_tokens=8, steps=2, canvas_length=8), n=3)
    # Whole pages are shared; what is left of the prompt is written by each.
    assert found.prefilled_tokens == 40 + 2 * (40 % 16)


def test_break_even(bench_model: BenchModel, single: BenchModel):
    found = list(break_even(bench_model, single, [4, 8], prefix=5, repeats=2))
    assert [one.canvas_length for one in found] == [4, 8]
    for one in found:
        assert one.against_ours == pytest.approx(one.step_s / one.ours_s)
        assert one.peer_s is one.against_peer is one.peer is None
    [one] = break_even(bench_model, single, [4], prefix=5, peer=("some", 0.5), repeats=1)
    assert (one.peer, one.peer_s, one.against_peer) == ("some", 0.5, pytest.approx(2.0 * one.step_s))


def program(path: Path, says: str, code: int = 0) -> Path:
    """One that says something, and what it was asked where errors go."""
    told = f"print({says!r}, end=''); sys.stderr.write(' '.join(sys.argv[1:])); sys.exit({code})"
    path.write_text(f"#!{sys.executable}\nimport sys\n{told}\n")
    path.chmod(0o755)
    return path


def test_without_llama_cpp_no_weights_are_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(breakeven, "llama_cpp_is_installed", lambda: False)
    assert llama_cpp_token(None, "nowhere.gguf", 128) is None


def test_llama_bench(tmp_path: Path):
    """What it is asked, what it says, and that it says nothing."""
    gguf = tmp_path / "some.Q4_0.gguf"
    told = program(tmp_path / "llama-bench", '[{"avg_ts": 80.0, "n_gen": 64}]')
    assert llama_bench(told, gguf, prefix=128) == pytest.approx(1 / 80)
    asked = f"-m {gguf} -t {torch.get_num_threads()} -p 0 -n 64 -d 128 -r 3 -o json"
    for says, code in (("", 1), ("[]", 0), ('[{"avg_ts": 0}]', 0), ("nothing", 0)):
        with pytest.raises(SfumatoError, match=rf"ended with {code} and no figure; it said: {re.escape(asked)}"):
            llama_bench(program(tmp_path / "other", says, code), gguf, prefix=128)
    assert llama_cpp_token(told, str(ASSETS / "tiny"), 128) == ("llama-bench tiny", pytest.approx(1 / 80))
    with pytest.raises(ConfigError, match=r"missing: No such file or directory; allowed: llama-bench"):
        llama_bench(tmp_path / "missing", gguf, prefix=128)


def test_quality_on_a_text(make_decoder: Make, tmp_path: Path):
    tokenizer = Tokenizer.load(ASSETS / "tiny")
    save_checkpoint(tmp_path, make_decoder(vocab_size=768), GenerationSpec(canvas_length=1, logit_shift=True))
    tokenizer.save(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("What is 12 + 30? 12 + 30 = 42. " * 50)
    found = lines("quality", str(tmp_path), "--text", str(text), "--tokens", "600", "--quantize", "int8,int4")
    assert [row["quantize"] for row in found] == [None, "int8", "int4"]
    assert (found[0]["change"], found[0]["agreement"]) == (0.0, 1.0)
    assert 1.0 > found[1]["agreement"] > found[2]["agreement"]
    assert abs(found[1]["change"]) < abs(found[2]["change"]) < 0.1


def test_quality_of_answers(make_decoder: Make, tmp_path: Path):
    save_checkpoint(tmp_path, make_decoder(vocab_size=768), GenerationSpec(canvas_length=1, logit_shift=True))
    Tokenizer.load(ASSETS / "tiny").save(tmp_path)
    fine, rough = compare_answers(str(tmp_path), ["int8", "int4"], max_tokens=8, questions=5)
    assert 1.0 >= fine.agreement > rough.agreement
    assert 0.0 < fine.divergence < rough.divergence
    for found in (fine, rough):
        assert len(found.pairs) == 5
        assert found.same == sum(exact == other for _, exact, other, _ in found.pairs)
        assert all((place is None) == (exact == other) for _, exact, other, place in found.pairs)
        assert found.num_tokens <= 5 * 8
    with pytest.raises(ConfigError, match="tiny answers no questions; allowed: an autoregressive model"):
        next(compare_answers("tiny", ["int8"]))


def test_quality_shows_answers_side_by_side(monkeypatch: pytest.MonkeyPatch):
    pairs = (("What is 1 + 1?", "2", "2", None), ("And 2 + 2?", "It is 4.", "It is 5.", 2))
    found = Answers(quantize="int8", num_tokens=9, agreement=0.875, divergence=0.25, same=1, pairs=pairs)
    monkeypatch.setattr(quality, "compare_answers", lambda model, ways: [found])
    done = CliRunner().invoke(app, ["quality", "tiny-twin", "--quantize", "int8"])
    assert "1. What is 1 + 1? (the same)\n   float32: '2'\n   int8: '2'\n" in done.stdout
    assert "2. And 2 + 2? (differs from token 3 on)\n   float32: 'It is 4.'\n   int8: 'It is 5.'\n" in done.stdout
    assert "87.5%" in done.stdout
    assert "1 of 2" in done.stdout
    [row] = lines("quality", "tiny-twin", "--quantize", "int8")
    assert (row["same"], row["divergence"], len(row["pairs"])) == (1, 0.25, 2)


def test_quality_needs_a_text_and_an_autoregressive_model(tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text("short")
    for arguments, message in (
        (["tiny"], "tiny is not autoregressive"),
        (["tiny-twin"], "allowed: more than 1500"),
        (["tiny-twin", "--quantize", "int9"], "unknown quantization 'int9'"),
    ):
        done = CliRunner().invoke(app, ["quality", *arguments, "--text", str(text)])
        assert done.exit_code == 2
        assert message in done.output


def lines(*arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_commands_print_a_line_for_each_measurement(tmp_path: Path):
    plot = tmp_path / "deep" / "latency.png"
    found = lines("latency", "tiny", "--prompt", "4", "--canvas", "8", "--steps", "1,2", "--tokens", "8",
                  "--repeats", "1", "--plot", str(plot))  # fmt: skip
    assert [(row["steps"], row["forced"]) for row in found] == [(1, True), (1, False), (2, True), (2, False)]
    assert found[0]["settings"] == {}
    [row, _] = lines("latency", "tiny", "--prompt", "4", "--canvas", "8", "--steps", "3", "--tokens", "8",
                     "--repeats", "1", "--set", "temperature_start=0", "--set", "reuse=settled")  # fmt: skip
    assert row["settings"] == {"temperature_start": 0, "reuse": "settled"}
    assert row["positions"] < 4 + 3 * 8
    assert found[0]["bench"] == "latency"
    assert set(found[0]["machine"]) == {"cpu", "cores", "threads", "torch"}
    assert plot.read_bytes()[1:4] == b"PNG"
    width, height = struct.unpack(">II", plot.read_bytes()[16:24])
    assert width > height > 300
    [row] = lines("throughput", "tiny", "--rate", "100", "--requests", "2", "--tokens", "4", "--steps", "1",
                  "--canvas", "4", "--prompt", "3")[:1]  # fmt: skip
    assert row["rate"] == 100.0
    [row] = lines("roofline", "tiny", "--canvas", "8", "--repeats", "1")
    assert row["bench"] == "roofline"
    assert [row["hardware"] for row in lines("simulate", "tiny", "--hardware", "phone,h200", "--steps", "4")] == [
        "phone",
        "h200",
    ]


def test_invalid_numbers():
    done = CliRunner().invoke(app, ["latency", "tiny", "--steps", "4,x"])
    assert done.exit_code != 0
    assert isinstance(done.exception, ConfigError) or "steps is '4,x'" in done.output


def test_size_needs_no_weights():
    values = json.loads(CliRunner().invoke(app, ["size", "llada2-mini", "--json"]).stdout)
    assert values["weights_bytes"]["bfloat16"] == 2 * values["parameters"]
    assert values["family"] == "random weights in this shape"
    assert CliRunner().invoke(app, ["size", "smollm2-135m"]).exit_code == 0
    assert "unknown shape 'wade'; did you mean 'wide'?" in CliRunner().invoke(app, ["size", "wade"]).stderr
