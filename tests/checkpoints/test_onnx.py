"""ONNX exports: onnxruntime predicts each step of recorded runs as torch does; other models are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import sfumato
from sfumato.checkpoints import onnx as exporting
from sfumato.checkpoints.load import Checkpoint, load_checkpoint, save_checkpoint
from sfumato.checkpoints.onnx import FILES, MANIFEST, export_onnx, manifest
from sfumato.checkpoints.registry import ASSETS
from sfumato.cli.app import app
from sfumato.engine.model import TextModel
from sfumato.errors import CheckpointError, SfumatoError
from sfumato.models.gemma import AttentionShape, Gemma, GemmaConfig
from sfumato.models.moe import MoEConfig
from sfumato.sampling.canvas import StepRecord
from sfumato.sampling.samplers.base import Stream, uniform
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

ort = pytest.importorskip("onnxruntime", reason="an extra")
pytest.importorskip("onnxscript", reason="an extra")

TAB_MODELS = ("tiny", "ui")
# As LLaDA: prefix and canvas attend to each other, under mask noise.
LLADA = GenerationSpec(noise="mask", mask_id=4, canvas_length=24, prefix_attention="full")
SHAPES = {"llada": {"num_key_value_heads": 4, "tie_word_embeddings": False}, "grouped": {"num_key_value_heads": 2}}


class Exported:
    """An export run by onnxruntime, and the model it was made from."""

    def __init__(self, directory: Path, model: TextModel) -> None:
        self.model = model
        self.about = json.loads((directory / MANIFEST).read_text("utf-8"))
        self._session = ort.InferenceSession(directory / "model.onnx")
        self._outputs = [output.name for output in self._session.get_outputs()]

    def run(self, tokens: list[int], **given: Any) -> dict[str, np.ndarray]:
        """One forward; inputs that are not given are those of a prefill."""
        num, config = len(tokens), self.model.decoder.config
        inputs = {
            "tokens": np.array(tokens, np.int32),
            "cache": self.empty,
            "causal": np.array(True),
            "read": np.arange(num, dtype=np.int32),
            "temperature": np.array(1.0, np.float32),
            "banned": self.model.bundle.banned.numpy(),
            "canvas": np.zeros(num, bool),
            "given": np.zeros(num, bool),
            "soft": np.zeros((num, config.hidden_size), np.float32),
            **given,
        }
        inputs.setdefault("uniform", np.zeros(len(inputs["read"]), np.float32))
        feed = {name: inputs[name] for name in self.about["inputs"]}
        return dict(zip(self._outputs, self._session.run(None, feed), strict=True))

    @property
    def empty(self) -> np.ndarray:
        """An empty cache of keys and values."""
        layers, two, heads, size = self.about["cache_shape"]
        return np.zeros((layers, two, heads, 0, size), np.float32)

    def step(self, text: tuple[int, ...], step: StepRecord, seed: int, canvas: int) -> dict[str, np.ndarray]:
        """A step of a canvas after a prefix."""
        layout, tokens = self.model.bundle.layout, step.tokens_L.tolist()
        num_written, num = layout.num_written(len(text)), len(tokens)
        cache = self.run(list(text[:num_written]))["written"] if num_written else self.empty
        positions = layout.canvas_positions(len(text), num)
        known = [*text, *tokens]
        canvas_N = torch.arange(num)
        u_1N = uniform(*(torch.tensor([key]) for key in (seed, canvas, step.step)), canvas_N, Stream.SAMPLE)
        soft = np.zeros((len(positions.token_Q), self.about["hidden_size"]), np.float32)
        if step.soft_LD is not None:
            soft[positions.canvas_Q >= 0] = step.soft_LD.numpy()
        return self.run(
            [known[len(text) + i] for i in positions.token_Q],
            cache=cache,
            causal=np.array(False),
            read=np.flatnonzero((positions.logits_Q >= 0) & (positions.logits_Q < num)).astype(np.int32),
            temperature=np.array(step.temperature, np.float32),
            uniform=u_1N[0].numpy(),
            canvas=positions.canvas_Q >= 0,
            soft=soft,
        )


def _masked(directory: Path, byte_tokenizer: Tokenizer, make_decoder: Any, **shape: Any) -> Path:
    """A checkpoint like LLaDA's with random weights."""
    save_checkpoint(directory, make_decoder(vocab_size=261, **shape), LLADA, generation={"steps": 12})
    byte_tokenizer.save(directory)
    return directory


def _export(source: Path, directory: Path, **options: Any) -> Exported:
    checkpoint, tokenizer = load_checkpoint(source), Tokenizer.load(source)
    export_onnx(directory, "it", checkpoint, tokenizer, source=source, **options)
    return Exported(directory, sfumato.load(source))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """By the command of docs/guides/tab.md."""
    directory = tmp_path_factory.mktemp("export") / "tiny"
    done = CliRunner().invoke(app, ["export", "tiny", str(directory), "--to", "onnx"])
    assert (done.exit_code, done.stdout) == (0, f"{directory / MANIFEST}\n"), done.stderr
    return Exported(directory, sfumato.load("tiny"))


@pytest.fixture(scope="module", params=SHAPES)
def llada(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    byte_tokenizer: Tokenizer,
    make_decoder: Any,
) -> Exported:
    directory = tmp_path_factory.mktemp("llada")
    return _export(
        _masked(directory / "masked", byte_tokenizer, make_decoder, **SHAPES[request.param]), directory / "export"
    )


def _steps(exported: Exported, prompt: str, **options: Any) -> Iterator[tuple[StepRecord, dict[str, np.ndarray]]]:
    for seed in (1, 2):
        result = exported.model.generate(prompt, seed=seed, record=True, **options)
        assert result.canvases
        for index, canvas in enumerate(result.canvases):
            for step in canvas.steps:
                yield step, exported.step(canvas.text, step, seed, index)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"canvas_length": 16, "max_tokens": 40}])
def test_tiny_predicts_every_step_as_torch(tiny: Exported, options: dict[str, Any]):
    num_read = 0
    for step, read in _steps(tiny, "answer, then derive: 81*(2/3)^2+sqrt(9)", **options):
        np.testing.assert_array_equal(read["best"], step.draft_L.numpy())
        np.testing.assert_array_equal(read["drawn"], step.sampled_L.numpy())
        np.testing.assert_allclose(read["confidence"], step.confidence_L.numpy(), atol=1e-4)
        num_read += len(read["best"])
    assert num_read > 100


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_llada_predicts_every_step_as_torch(llada: Exported, temperature: float):
    num_read = 0
    for step, read in _steps(llada, "what?", raw=True, max_tokens=48, temperature=temperature):
        is_open = (step.tokens_L == LLADA.mask_id).numpy()
        np.testing.assert_array_equal(read["drawn"][is_open], step.sampled_L.numpy()[is_open])
        rest = is_open & ~step.accepted_L.numpy()
        np.testing.assert_array_equal(read["best"][rest], step.draft_L.numpy()[rest])
        num_read += int(rest.sum())
    assert num_read > 100


@pytest.mark.slow
def test_lengths_equal_those_of_the_length_head(tiny: Exported):
    prompt = "fizzbuzz in python"
    tokens = tiny.model.tokenizer.encode_chat([{"role": "user", "content": prompt}])
    read = tiny.run(tokens[:-1], read=np.array([len(tokens) - 2], np.int32))
    np.testing.assert_allclose(read["lengths"][0], [*tiny.model.length_shares(prompt).values()], atol=1e-5)


@pytest.mark.slow
def test_8_bit_export_equals_its_dequantized_weights(tmp_path: Path, byte_tokenizer: Tokenizer, make_decoder: Any):
    source = _masked(tmp_path / "masked", byte_tokenizer, make_decoder)
    exported = _export(source, tmp_path / "export", dtype="int8")
    weights = (tmp_path / "export" / "model.safetensors").stat().st_size
    assert weights < 0.5 * (source / "model.safetensors").stat().st_size
    # The export is itself a checkpoint.
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / name, tmp_path / "export" / name)
    exported.model = sfumato.load(tmp_path / "export")
    for step, read in _steps(exported, "what?", raw=True, max_tokens=24):
        is_open = (step.tokens_L == LLADA.mask_id).numpy()
        np.testing.assert_array_equal(read["drawn"][is_open], step.sampled_L.numpy()[is_open])


@pytest.mark.parametrize("name", TAB_MODELS)
def test_embedded_graphs_match_the_embedded_weights(name: str):
    source = ASSETS / name
    written = json.loads((source / MANIFEST).read_text("utf-8"))
    assert written == manifest(name, load_checkpoint(source), Tokenizer.load(source), source), "make tab-models"


@pytest.mark.slow
def test_embedded_graph_equals_a_fresh_export(tiny: Exported, tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.getbasetemp()
    written = next(directory.glob("export*/tiny"))
    for file in FILES:
        assert (written / file).read_bytes() == (ASSETS / "tiny" / file).read_bytes(), file


def _gemma() -> Gemma:
    shape = AttentionShape(num_key_value_heads=1, head_dim=8, rope_theta=1e4, partial_rotary_factor=1.0, window=None)
    sizes = {"vocab_size": 23, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    experts = {"num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 8}
    return Gemma(GemmaConfig(layer_types=("full",), attention={"full": shape}, **sizes, **experts))


@pytest.mark.parametrize(("kind", "reason"), [("mend", "lexemes"), ("moe", "experts"), ("gemma", "Gemma")])
def test_unsupported_models_are_refused_by_name(kind: str, reason: str, tmp_path: Path, make_decoder: Any):
    moe = MoEConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8)
    if kind == "mend":
        checkpoint = load_checkpoint(ASSETS / "mend")
    else:
        model = _gemma() if kind == "gemma" else make_decoder(moe=moe)
        checkpoint = Checkpoint(model, GenerationSpec(), {})
    with pytest.raises(CheckpointError, match=rf"^that-one .*{reason}.*cannot be exported; allowed: "):
        export_onnx(tmp_path / "out", "that-one", checkpoint, Tokenizer.load(ASSETS / "tiny"))
    assert not (tmp_path / "out").exists()


def test_full_disk_leaves_no_manifest(tmp_path: Path, monkeypatch: Any):
    written: list[str] = []

    def write(path: Path, content: bytes) -> None:
        if len(written) == 2:
            raise CheckpointError("cannot write: No space left on device")
        written.append(path.name)

    monkeypatch.setattr(exporting, "write_atomically", write)
    monkeypatch.setattr(exporting, "trace", lambda model, held: b"graph")
    source = ASSETS / "tiny"
    with pytest.raises(SfumatoError, match="No space left"):
        export_onnx(tmp_path, "tiny", load_checkpoint(source), Tokenizer.load(source), source=source)
    assert MANIFEST not in written
