"""One forward over chunks of many texts equals a forward of each text alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from plain import Uncached
from sfumato.engine.kvcache import KVCache
from sfumato.engine.model import TextModel
from sfumato.engine.request import EventQueue, Request
from sfumato.engine.runner import Runner
from sfumato.engine.sequence import Sequence
from sfumato.spec import GenerationSpec

Make = Callable[..., TextModel]
NAMES = ["self-conditioned", "shifted", "full", "full-shifted", "block"]
PROMPTS = [tuple(range(20, 20 + size)) for size in (8, 4, 16)]

# L canvas, V vocabulary


class Texts:
    """Texts in a runner's cache.

    Args:
        model: the model that reads and writes them.
    """

    def __init__(self, model: TextModel) -> None:
        self.model, pool = model, model.decoder.new_pool(512)
        self.cache = KVCache(pool, reuse=False)
        self.runner = Runner(model.decoder, pool, model.bundle.layout)
        self.sequences = []
        for prompt in PROMPTS:
            request = Request(prompt=prompt, max_tokens=12, canvas_length=model.spec.canvas_length)
            sequence = Sequence(model.bundle, request, 0, 0, EventQueue(1))
            sequence.cached = self.cache.open([], 64)
            self.sequences.append(sequence)

    def write(self, *, counts: list[int] | None = None) -> None:
        """Write the given number of tokens of each text; None writes all."""
        counts = counts or [sequence.num_unwritten for sequence in self.sequences]
        pairs = [(sequence, num) for sequence, num in zip(self.sequences, counts, strict=True) if num]
        if pairs:
            self.runner.forward([self.runner.text_chunk(sequence, num) for sequence, num in pairs])
        for sequence, num in pairs:
            assert sequence.cached is not None
            self.cache.commit(sequence.cached, sequence.text[sequence.cached.length :][:num])

    def logits(self, canvases: list[list[int]], decided: list[Any] | None = None, **inputs: Any) -> list[torch.Tensor]:
        """Logits [L, V] of a canvas after each text."""
        chunks = [
            self.runner.canvas_chunk(sequence, row, len(canvas), None if decided is None else np.array(decided[row]))
            for row, (sequence, canvas) in enumerate(zip(self.sequences, canvases, strict=True))
        ]
        longest = max(map(len, canvases))
        tokens_RL = torch.tensor([[*canvas, *[0] * (longest - len(canvas))] for canvas in canvases])
        output = self.runner.forward(chunks, tokens_RL, **inputs)
        return [
            self.runner.read(self.runner.model.logits, output.hidden_ND, output.index_RL[row, : len(canvas)])
            for row, canvas in enumerate(canvases)
        ]


def draw(length: int, seed: int) -> list[int]:
    return torch.randint(20, 100, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_packed_forward_equals_forwards_of_each_text(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    model = make_model(specs[name], given_embedding=True)
    texts, length = Texts(model), model.spec.canvas_length
    # One chunk of some texts, then the remainder of all of them together.
    texts.write(counts=[4 if sequence.num_unwritten > 4 else 0 for sequence in texts.sequences])
    texts.write()
    canvases = [draw(length, 1), draw(length if name == "block" else 3, 2), draw(length, 3)]
    longest = max(map(len, canvases))
    soft_RLD = torch.randn(3, longest, model.decoder.embedding_VD.shape[1]) if model.spec.self_conditioning else None
    found = texts.logits(canvases, soft_RLD=soft_RLD)
    for row, (sequence, canvas) in enumerate(zip(texts.sequences, canvases, strict=True)):
        alone = Uncached(model.bundle, sequence.text, [False] * len(canvas))
        soft_1LD = None if soft_RLD is None else soft_RLD[row : row + 1, : len(canvas)]
        index_N = torch.arange(len(canvas))
        expected_LV = alone(torch.tensor([canvas]), soft_1LD, torch.ones(1), index_N)
        torch.testing.assert_close(found[row], expected_LV, rtol=1e-4, atol=1e-4)
    assert texts.runner.num_positions < 3 * 64


@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_partial_forward_gives_the_same_logits(make_model: Make, specs: dict[str, GenerationSpec], name: str):
    """Positions that did not change need not be computed: the decided ones get the same logits."""
    model = make_model(specs[name])
    texts, length = Texts(model), model.spec.canvas_length
    texts.write()
    canvases = [draw(length, seed) for seed in range(3)]
    before = texts.runner.num_positions
    full = texts.logits(canvases)
    computed = texts.runner.num_positions - before
    decided = [[1], [0, 2], [length - 1]]
    found = texts.logits(canvases, decided)
    for row, positions in enumerate(decided):
        torch.testing.assert_close(found[row][positions], full[row][positions], rtol=1e-4, atol=1e-4)
    assert texts.runner.num_positions - before - computed <= 2 * 4


@torch.inference_mode()
def test_steps_of_equal_shape_are_packed_once(
    make_model: Make, specs: dict[str, GenerationSpec], monkeypatch: pytest.MonkeyPatch
):
    model = make_model(specs["uniform"])
    texts = Texts(model)
    texts.write()
    packed = [texts.logits([draw(12, seed)] * 3) and texts.runner._last for seed in range(2)]
    assert packed[0] is packed[1]
    texts.logits([draw(11, 3)] * 3)
    assert texts.runner._last is not packed[0]


@torch.inference_mode()
def test_given_tokens_are_marked_for_models_with_a_given_embedding(make_model: Make, specs: dict[str, GenerationSpec]):
    canvases = [draw(12, seed) for seed in range(3)]
    given_RL = torch.zeros(3, 12, dtype=torch.bool)
    given_RL[:, 5] = True
    for has_embedding in (False, True):
        model = make_model(specs["uniform"], given_embedding=has_embedding)
        texts = Texts(model)
        texts.write()
        unmarked, marked = texts.logits(canvases), texts.logits(canvases, given_RL=given_RL)
        assert torch.equal(unmarked[0], marked[0]) != has_embedding
