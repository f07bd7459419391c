"""The likeliest tokens of a batch, against those of each text by itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sfumato.data.packing import Document
from sfumato.engine.model import TextModel
from sfumato.models.model import AttentionSpec
from sfumato.synthesis import run
from sfumato.synthesis.run import teacher_targets

TOP_K = 5


def documents(count: int) -> list[Document]:
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 30, (count, 2), generator=generator).tolist()
    texts = [[torch.randint(261, (size,), generator=generator).tolist() for size in pair] for pair in sizes]
    return [Document(prompt, response) for prompt, response in texts]


@pytest.mark.parametrize("most", [1, 100, 4096])
def test_each_answer_is_seen_as_if_it_were_alone(model: TextModel, monkeypatch, most: int):
    monkeypatch.setattr(run, "_POSITIONS", most)
    monkeypatch.setattr(run, "_LOGITS", 7)
    asked = documents(9)
    shard = teacher_targets(model.decoder, asked, TOP_K)
    assert len(shard) == 9
    for i, document in enumerate(asked):
        text = [*document.prompt, *document.response]
        tokens_1Q = torch.tensor([text])
        with torch.inference_mode():
            hidden_1QD = model.decoder(tokens_1Q, torch.arange(len(text))[None], AttentionSpec(causal=True))
            log_probs_QV = model.decoder.logits(hidden_1QD)[0].log_softmax(-1)
        # A token is predicted one position to its left.
        own_NV = log_probs_QV[len(document.prompt) - 1 : -1].numpy()
        found = shard[i]
        assert found.tokens_N.tolist() == document.response
        expected_NK = -np.sort(-own_NV, axis=-1)[:, :TOP_K]
        # float16 has 11 bits.
        np.testing.assert_allclose(found.log_probs_NK, expected_NK, rtol=2**-10, atol=1e-4)
        picked_NK = np.take_along_axis(own_NV, found.ids_NK.astype(np.int64), axis=-1)
        np.testing.assert_allclose(picked_NK, expected_NK, atol=1e-4)
        assert [len({*row}) for row in found.ids_NK.tolist()] == [TOP_K] * len(document.response)


def test_no_answers(model: TextModel):
    assert len(teacher_targets(model.decoder, [], TOP_K)) == 0
