"""A packed row trains exactly what generation computes: each document as if alone, each canvas after its prefix."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from plain import Uncached
from sfumato.data.packing import Document, PackedBatch, PackingConfig, pack
from sfumato.diffusion.process import make_process
from sfumato.layout import PrefixLayout
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.spec import GenerationSpec
from sfumato.training.objective import ObjectiveConfig, corrupt, losses, prepare
from texts import Texts

# B rows, T positions of a row, V vocabulary

END = 1


class Random:
    def document(self, seed: int) -> Document:
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(1, 9, (2,), generator=generator)
        prompt, response = (torch.randint(2, 23, (int(n),), generator=generator).tolist() for n in lengths)
        return Document(prompt, [*response, END])


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(params=[1.0, 0.5, 0.0], ids=["ar", "half", "canvases"])
def batch(request: pytest.FixtureRequest) -> PackedBatch:
    """Rows of several documents with several canvases each, in two copies."""
    sizes: dict[str, Any] = {"rows": 2, "row_length": 96, "canvas_lengths": (3, 5), "canvas_copies": 2}
    found = pack(Random(), PackingConfig(ar_share=request.param, **sizes), seed=0, step=0, end_id=END)
    assert int(found.documents_BT.max()) >= 2
    assert int(found.canvases_BT.max()) >= 6
    return found


def noised(batch: PackedBatch) -> Tensor:
    noise = torch.randint(2, 23, batch.tokens_BT.shape, generator=torch.Generator().manual_seed(5))
    return torch.where(batch.canvases_BT > 0, noise, batch.tokens_BT)


def packed_logits(model: Decoder, batch: PackedBatch, noisy_BT: Tensor, logit_shift: bool = False) -> Tensor:
    batch = dataclasses.replace(batch, layout=PrefixLayout(GenerationSpec(logit_shift=logit_shift)))
    tokens_BT, positions_BT, reads = batch.inputs(noisy_BT)
    mask_B1TT = reads.mask(noisy_BT.device)
    attention = AttentionSpec(mask=mask_B1TT)
    return model.logits(model(tokens_BT, positions_BT, attention, canvas_RQ=batch.canvases_BT > 0))


@pytest.mark.parametrize("logit_shift", [False, True])
def test_each_document_has_the_logits_it_has_alone(variant: Decoder, batch: PackedBatch, logit_shift: bool):
    """The clean half by a plain causal forward; every canvas by prefill into a cache and one denoising step."""
    tokens_BT = noised(batch)
    logits = packed_logits(variant, batch, tokens_BT, logit_shift)
    num_canvases = 0
    for row in range(2):
        owners, canvases = batch.documents_BT[row], batch.canvases_BT[row]
        for owner in range(int(owners.max()) + 1):
            clean = ((owners == owner) & (canvases == 0)).nonzero().flatten()
            text = batch.tokens_BT[row, clean][None]
            positions = torch.arange(len(clean))[None]
            alone = variant.logits(variant(text, positions, AttentionSpec(causal=True)))[0]
            torch.testing.assert_close(logits[row, clean], alone, atol=1e-4, rtol=1e-4)
            for canvas in canvases[(owners == owner) & (canvases > 0)].unique():
                places = (canvases == canvas).nonzero().flatten()
                start = int(batch.starts_BT[row, places[0]])
                texts = Texts(variant, 1)
                noisy = tokens_BT[row, places].tolist()
                prefix = text[0, :start].tolist()
                if logit_shift:
                    # The token before the canvas is read at its head, and each position predicts the next.
                    *prefix, last = prefix
                    noisy = [last, *noisy[:-1]]
                if prefix:
                    texts.write({0: prefix})
                alone = texts.logits({0: noisy})[0]
                torch.testing.assert_close(logits[row, places], alone, atol=1e-4, rtol=1e-4)
                num_canvases += 1
    assert num_canvases >= 12


@pytest.mark.parametrize("logit_shift", [False, True])
def test_changed_token_affects_only_its_readers(
    make_decoder: Callable[..., Decoder], batch: PackedBatch, logit_shift: bool
):
    """Two layers carry a change on to readers of readers; all of them stay inside the definition below."""
    model = make_decoder()
    tokens_BT = noised(batch)
    before = packed_logits(model, batch, tokens_BT, logit_shift)[0]
    owners, canvases, positions, starts = (
        column[0] for column in (batch.documents_BT, batch.canvases_BT, batch.positions_BT, batch.starts_BT)
    )
    for changed in range(0, 96, 5):
        other = tokens_BT.clone()
        other[0, changed] = (other[0, changed] + 7) % 23
        after = packed_logits(model, batch, other, logit_shift)[0]
        moved = (before != after).any(-1)
        same = owners == owners[changed]
        if owners[changed] < 0:
            assert not moved[owners >= 0].any()
        elif canvases[changed] > 0:
            last = changed == int((canvases == canvases[changed]).nonzero().max())
            unread = logit_shift and last
            assert torch.equal(moved, (canvases == canvases[changed]) & (not unread))
        else:
            at = positions[changed]
            # The head of a shifted canvas is a copy of the token before it, which stays as it was.
            later = same & torch.where(canvases == 0, positions >= at, starts - int(logit_shift) > at)
            assert torch.equal(moved, later), changed


MASKED: dict[str, Any] = {"noise": "mask", "mask_id": 4}
SPECS = {
    "causal": GenerationSpec(canvas_length=4),
    "shifted": GenerationSpec(canvas_length=4, logit_shift=True),
    "mask": GenerationSpec(canvas_length=4, **MASKED),
    "full": GenerationSpec(canvas_length=4, prefix_attention="full", **MASKED),
    "full, uniform": GenerationSpec(canvas_length=4, prefix_attention="full"),
    "full, shifted": GenerationSpec(canvas_length=4, prefix_attention="full", logit_shift=True, **MASKED),
    "block": GenerationSpec(canvas_length=4, prefix_attention="block", **MASKED),
    "block, uniform": GenerationSpec(canvas_length=4, prefix_attention="block"),
}


@pytest.mark.parametrize("self_conditioning", [False, True], ids=["", "self-conditioned"])
@pytest.mark.parametrize("gap_share", [0.0, 1.0], ids=["", "gaps"])
@pytest.mark.parametrize("name", SPECS)
def test_loss_matches_generation(
    make_decoder: Callable[..., Decoder], name: str, gap_share: float, self_conditioning: bool
):
    """Each canvas behind its text by the denoiser of the plain loop, which the engine is held to."""
    spec = SPECS[name]
    if gap_share and spec.prefix_attention == "block":
        return
    marks = {"canvas_embedding": True, "given_embedding": True, "self_conditioning": self_conditioning}
    model = make_decoder(**marks)
    sizes: dict[str, Any] = {"rows": 2, "row_length": 60, "canvas_lengths": (4,), "canvas_copies": 2}
    config = PackingConfig(ar_share=0.0, gap_share=gap_share, **sizes)
    packed = pack(Random(), config, seed=0, step=0, end_id=END, spec=spec)
    process = make_process(spec.noise, 23, spec.mask_id)
    objective = ObjectiveConfig(self_conditioning_share=1.0)
    seeded = torch.Generator().manual_seed(3)
    noisy_BT, _ = corrupt(packed, process, objective, 0.5, seeded)
    batch = prepare(
        packed,
        process,
        objective,
        share_done=0.5,
        generator=torch.Generator().manual_seed(3),
        device=torch.device("cpu"),
    )
    expected, count = torch.zeros(()), 0
    for row in range(2):
        owners, canvases = packed.documents_BT[row], packed.canvases_BT[row]
        for canvas in range(1, int(canvases.max()) + 1):
            places = (canvases == canvas).nonzero().flatten()
            mine = (owners == owners[places[0]]) & (canvases == 0)
            text = packed.tokens_BT[row][mine & (packed.positions_BT[row] < packed.starts_BT[row, places[0]])]
            given = packed.given_BT[row, places] > 0
            generator: Any = SimpleNamespace(spec=spec, model=model)
            denoiser = Uncached(generator, text.tolist(), given.tolist())
            index, noisy = torch.arange(len(places)), noisy_BT[row, places]
            whole = (torch.ones(1, len(places), dtype=torch.bool), index)
            logits = denoiser(noisy[None], None, *whole)
            if self_conditioning:
                soft = model.soft_embedding(logits.softmax(-1)[None])
                known = given
                if not process.has_uniform:
                    known = given | (noisy != spec.mask_id)
                soft = torch.where(known[None, :, None], model.token_embedding(noisy)[None], soft)
                logits = denoiser(noisy[None], soft, *whole)
            scores = logits.log_softmax(-1)[index, packed.tokens_BT[row, places]]
            expected = expected - scores[~given].sum()
            count += int((~given).sum())
    assert batch.counts()["canvas"] == count > 20
    torch.testing.assert_close(losses(model, batch)["canvas"], expected, atol=1e-4, rtol=1e-5)
