"""Corruption and loss sums equal their definitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.data.packing import IGNORED, Document, PackedBatch, PackingConfig, pack
from sfumato.diffusion.loss import nelbo, nelbo_of_denoiser
from sfumato.diffusion.process import HybridProcess, MaskProcess, Process, UniformProcess
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.spec import GenerationSpec
from sfumato.synthesis.run import teacher_targets
from sfumato.training.distillation import StoredTarget, TeacherPass
from sfumato.training.objective import (
    ObjectiveConfig,
    TrainingBatch,
    corrupt,
    cross_entropy,
    losses,
    prepare,
    right_entropy,
)

# B rows, T positions of a row

END, MASK, VOCAB = 1, 4, 23
PROCESSES = {
    "mask": MaskProcess(VOCAB, MASK),
    "uniform": UniformProcess(VOCAB),
    "hybrid": HybridProcess(VOCAB, MASK, p_uniform=0.3),
}


class Long:
    """A prompt of 4 and a response that fills a canvas of `length` but for one place; tokens 5 to 22."""

    def __init__(self, length: int) -> None:
        self.length = length

    def document(self, seed: int) -> Document:
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(5, VOCAB, (self.length + 2,), generator=generator).tolist()
        return Document(tokens[:4], [*tokens[4:], END])


def rows(length: int = 50, num: int = 4, logit_shift: bool = False, **config: Any) -> PackedBatch:
    sizes = {"rows": num, "row_length": 6 * length, "canvas_lengths": (length,), "ar_share": 0.5}
    spec = GenerationSpec(logit_shift=logit_shift)
    return pack(Long(length), PackingConfig(**sizes | config), seed=0, step=0, end_id=END, spec=spec)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def prepared(batch: PackedBatch, process: Process, *, share_done: float = 0.0, **config: Any) -> TrainingBatch:
    return prepare(
        batch, process, ObjectiveConfig(**config), share_done=share_done, generator=seeded(), device=torch.device("cpu")
    )


def places_of(batch: PackedBatch) -> list[Tensor]:
    """Of each canvas, where it is: bool_BT."""
    rows_BT = torch.arange(len(batch.canvases_BT))[:, None]
    return [
        (batch.canvases_BT == canvas) & (rows_BT == row)
        for row, numbers in enumerate(batch.canvases_BT)
        for canvas in range(1, int(numbers.max()) + 1)
    ]


def noised_shares(batch: PackedBatch, tokens_BT: Tensor) -> list[float]:
    """Of each canvas, the share of masks."""
    return [float((tokens_BT[places] == MASK).float().mean()) for places in places_of(batch)]


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
@pytest.mark.parametrize("span_share", [0.0, 1.0])
def test_noise_is_only_on_canvases(process: Process, span_share: float):
    batch = rows()
    tokens_BT, t_BT = corrupt(batch, process, ObjectiveConfig(span_share=span_share), 0.0, seeded())
    assert torch.equal(t_BT > 0, batch.canvases_BT > 0)
    changed = tokens_BT != batch.tokens_BT
    assert changed.any()
    assert not changed[batch.canvases_BT == 0].any()


@pytest.mark.parametrize("unrolled", [False, True])
def test_given_tokens_around_a_gap_are_kept(unrolled: bool):
    """Neither noise nor a draft of the model's own falls on it; on the gap they do."""
    batch = rows(length=60, num=30, canvas_lengths=(60, 90), gap_share=1.0)
    given_BT = batch.given_BT > 0
    assert given_BT.any()
    settings = {"unroll_from": 0.0, "unroll_share": 1.0, "self_conditioning_share": 1.0} if unrolled else {}
    config = {"span_share": 0.5, "t_min": 0.5, **settings}
    ready = prepared(batch, PROCESSES["uniform"], share_done=0.5, **config)
    changed_BT = ready.tokens_BT != batch.tokens_BT
    assert not changed_BT[given_BT].any()
    gap_BT = (batch.canvases_BT > 0) & ~given_BT
    assert changed_BT[gap_BT].float().mean() > 0.4
    assert torch.equal(ready.on_canvas_BT, gap_BT)
    if unrolled:
        assert not ready.unroll.taken_BT[given_BT].any()
        assert ready.unroll.taken_BT[gap_BT].any()
        assert torch.equal(ready.unroll.canvas_BT[given_BT], batch.tokens_BT[given_BT])


def test_canvases_have_their_own_levels():
    """Levels are stratified over the batch, so that the shares of masks of n canvases are spread over n strata."""
    batch = rows(length=200, num=4, canvas_copies=2)
    shares = noised_shares(batch, corrupt(batch, PROCESSES["mask"], ObjectiveConfig(), 0.0, seeded())[0])
    assert len(shares) >= 8
    assert max(shares) - min(shares) > 0.5
    assert len({round(share, 2) for share in shares}) > 0.6 * len(shares)


@pytest.mark.parametrize(
    ("t_min", "t_max", "low", "high"), [(0.0, 1e-6, 0, 0), (0.999999, 1, 1, 1), (0.3, 0.4, 0.3, 0.4)]
)
def test_levels_stay_in_their_range(t_min: float, t_max: float, low: float, high: float):
    batch = rows(length=400, num=8)
    shares = noised_shares(
        batch, corrupt(batch, PROCESSES["mask"], ObjectiveConfig(t_min=t_min, t_max=t_max), 0.0, seeded())[0]
    )
    assert all(low - 0.1 <= share <= high + 0.1 for share in shares)


def test_span_noise_is_a_level_inside_an_interval_and_its_square_outside():
    """It covers 7/12 of a canvas on average: two thirds up to the end (half of them) or inside out (a quarter), one
    third between two draws (a quarter)."""
    batch = rows(length=100, num=100)
    config = ObjectiveConfig(t_min=0.6, t_max=0.600001, span_share=1.0)
    masked_BT = corrupt(batch, PROCESSES["mask"], config, 0.0, seeded())[0] == MASK
    on_canvas = batch.canvases_BT > 0
    # 200 canvases whose interval has a standard deviation below 0.3: five errors of the mean are 0.03.
    assert float(masked_BT[on_canvas].float().mean()) == pytest.approx(0.36 + 0.24 * 7 / 12, abs=0.03)
    first = on_canvas & (batch.positions_BT == batch.starts_BT)
    last = on_canvas & (batch.positions_BT == batch.starts_BT + 99)
    # The first place is noise when the interval is inside out, the last one also when it reaches to the end.
    num = int(first.sum())
    assert num > 150
    assert float(masked_BT[first].float().mean()) == pytest.approx(0.36 + 0.24 / 4, abs=5 * (0.25 / num) ** 0.5)
    assert float(masked_BT[last].float().mean()) == pytest.approx(0.36 + 0.24 * 3 / 4, abs=5 * (0.25 / num) ** 0.5)


def test_half_of_the_canvases_may_have_span_noise():
    batch = rows(length=100, num=100)
    config = ObjectiveConfig(t_min=0.6, t_max=0.600001, span_share=0.5)
    masked_BT = corrupt(batch, PROCESSES["mask"], config, 0.0, seeded())[0] == MASK
    assert float(masked_BT[batch.canvases_BT > 0].float().mean()) == pytest.approx((0.5 + 0.6) / 2, abs=0.03)


@pytest.mark.parametrize(("share_done", "expected"), [(0.0, 1.0), (0.25, 0.5), (0.5, 0.0), (1.0, 0.0)])
def test_mask_noise_is_mixed_per_canvas(share_done: float, expected: float):
    """Hybrid noise at t = 1/2 keeps 35% of tokens here and makes 30% of them uniform; mask noise keeps half."""
    batch = rows(length=60, num=100)
    config = ObjectiveConfig(t_min=0.5, t_max=0.500001, mask_until=0.5)
    tokens_BT, _ = corrupt(batch, PROCESSES["hybrid"], config, share_done, seeded())
    masked_BT = (tokens_BT == MASK) | (tokens_BT == batch.tokens_BT)
    kinds = [bool(masked_BT[places].all()) for places in places_of(batch)]
    # Of 60 tokens some are uniform noise but for 0.7^60 = 5e-10.
    assert len(kinds) > 150
    assert sum(kinds) / len(kinds) == pytest.approx(expected, abs=5 * (0.25 / len(kinds)) ** 0.5 * (0 < expected < 1))


def test_mask_noise_needs_a_mask():
    with pytest.raises(ConfigError, match=r"mask_until is 0.5; allowed with this noise: 0 \(it has no mask token\)"):
        corrupt(rows(), PROCESSES["uniform"], ObjectiveConfig(mask_until=0.5), 0.0, seeded())


def test_generator_determines_the_noise():
    batch = rows()
    config = ObjectiveConfig(span_share=0.5, mask_until=1.0)
    first, second, third = (corrupt(batch, PROCESSES["hybrid"], config, 0.5, seeded(s))[0] for s in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_loss_counts_the_supervised_positions():
    batch = rows()
    found = prepared(batch, PROCESSES["uniform"])
    assert torch.equal(found.canvas_BT, batch.canvases_BT > 0)
    assert torch.equal(found.on_canvas_BT, batch.canvases_BT > 0)
    assert torch.equal(found.on_clean_BT, (batch.targets_BT != IGNORED) & (batch.canvases_BT == 0))
    assert found.on_clean_BT.any()
    noised = prepared(batch, PROCESSES["uniform"], noised_only=True)
    assert torch.equal(noised.on_canvas_BT, noised.tokens_BT != batch.tokens_BT)
    assert 0 < int(noised.on_canvas_BT.sum()) < int(found.on_canvas_BT.sum())


@pytest.mark.parametrize(
    ("share_done", "config", "expected"),
    [
        (0.0, {"self_conditioning_share": 1.0}, True),
        (0.0, {"self_conditioning_share": 0.0}, False),
        (0.29, {"self_conditioning_share": 1.0, "self_conditioning_from": 0.3}, False),
        (0.3, {"self_conditioning_share": 1.0, "self_conditioning_from": 0.3}, True),
    ],
)
def test_share_of_first_predictions(share_done: float, config: dict[str, float], expected: bool):
    assert prepared(rows(), PROCESSES["uniform"], share_done=share_done, **config).self_conditioned == expected
    without = rows(canvas_lengths=(), ar_share=1.0)
    assert not prepared(without, PROCESSES["uniform"], share_done=share_done, **config).self_conditioned


def by_hand(model: Decoder, batch: TrainingBatch, soft: Tensor | None = None) -> tuple[Tensor, Tensor]:
    hidden = model(batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT, soft_RQD=soft)
    nats = -model.logits(hidden).log_softmax(-1)
    sums = [torch.zeros(()), torch.zeros(())]
    for row, place in (batch.targets_BT != IGNORED).nonzero().tolist():
        one = nats[row, place, batch.targets_BT[row, place]]
        sums[0 if batch.canvas_BT[row, place] else 1] += one
    return sums[0], sums[1]


def sums(model: Decoder, batch: TrainingBatch) -> tuple[Tensor, Tensor]:
    terms = losses(model, batch)
    return terms["canvas"], terms["ar"]


def test_loss_sums_equal_a_calculation_by_hand(variant: Decoder):
    batch = prepared(rows(length=9, num=2), PROCESSES["uniform"], self_conditioning_share=0.0)
    torch.testing.assert_close(sums(variant, batch), by_hand(variant, batch))


def test_rows_without_canvases_have_no_canvas_loss(make_decoder: Callable[..., Decoder]):
    model = make_decoder()
    batch = prepared(rows(length=9, num=2, canvas_lengths=(), ar_share=1.0), PROCESSES["uniform"])
    assert losses(model, batch).keys() == {"canvas", "ar"}
    canvas_sum, clean_sum = sums(model, batch)
    assert canvas_sum.item() == 0.0
    torch.testing.assert_close(clean_sum, by_hand(model, batch)[1])


def test_first_prediction_has_no_gradient(make_decoder: Callable[..., Decoder]):
    model = make_decoder(canvas_embedding=True, self_conditioning=True)
    batch = prepared(rows(length=9, num=2), PROCESSES["uniform"], self_conditioning_share=1.0)
    with torch.no_grad():
        hidden = model(batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT)
        soft = model.logits(hidden).softmax(-1) @ model.embedding_VD
        soft[~batch.canvas_BT] = 0.0
    expected = by_hand(model, batch, soft)
    found = sums(model, batch)
    torch.testing.assert_close(found, expected)
    assert not torch.isclose(found[0], by_hand(model, batch)[0])
    torch.testing.assert_close(found[1], by_hand(model, batch)[1])
    gradients = []
    for terms in (found, expected):
        model.zero_grad()
        sum(terms).backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    torch.testing.assert_close(*gradients)


UNROLLED: dict[str, Any] = {"self_conditioning_share": 1.0, "unroll_from": 0.4, "unroll_share": 0.5}


def test_first_pass_drafts_start_at_their_share_of_the_run():
    """Nothing before it is drawn differently."""
    batch, process = rows(num=40), PROCESSES["uniform"]
    before = prepared(batch, process, share_done=0.39, **UNROLLED)
    after = prepared(batch, process, share_done=0.4, **UNROLLED)
    assert before.unroll is None
    assert torch.equal(before.tokens_BT, after.tokens_BT)
    unroll = after.unroll
    assert not unroll.taken_BT[~after.canvas_BT].any()
    shares = []
    for places in places_of(batch):
        written = bool((unroll.canvas_BT != after.tokens_BT)[places].any())
        assert written or not unroll.taken_BT[places].any()
        shares.append(written)
    # Half of some 200 canvases; five standard deviations are 0.18.
    assert sum(shares) / len(shares) == pytest.approx(0.5, abs=0.18)
    assert prepared(batch, process, share_done=1.0, self_conditioning_share=1.0).unroll is None


@pytest.mark.parametrize("logit_shift", [False, True])
@pytest.mark.parametrize("self_conditioning", [False, True])
def test_second_pass_reads_the_first_passs_draft(
    make_decoder: Callable[..., Decoder], self_conditioning: bool, logit_shift: bool
):
    """Each taken position holds the token at which the running sum of its probabilities passes its uniform."""
    model = make_decoder(canvas_embedding=True, self_conditioning=self_conditioning)
    packed = rows(length=9, num=2, logit_shift=logit_shift)
    batch = prepared(packed, PROCESSES["uniform"], share_done=0.5, **UNROLLED)
    unroll = batch.unroll
    assert unroll.taken_BT.any()
    with torch.no_grad():
        hidden = model(batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT)
        probs = model.logits(hidden).softmax(-1)
    written = unroll.canvas_BT.clone()
    for row, place in unroll.taken_BT.nonzero().tolist():
        running = probs[row, place].cumsum(0)
        written[row, place] = int((running <= unroll.uniforms_BT[row, place] * running[-1]).sum())
    second = dataclasses.replace(batch, tokens_BT=packed.inputs(written)[0])
    soft = probs @ model.embedding_VD * batch.canvas_BT[:, :, None] if self_conditioning else None
    torch.testing.assert_close(sums(model, batch), by_hand(model, second, soft))
    assert not torch.isclose(sums(model, batch)[0], by_hand(model, batch, soft)[0])


@pytest.mark.parametrize("logit_shift", [False, True])
def test_given_positions_are_marked(make_decoder: Callable[..., Decoder], logit_shift: bool):
    """A shifted canvas reads each token one place on; the token before the canvas is not marked. Where a given token is
    decided, the model reads that token's embedding in place of its own prediction."""
    model = make_decoder(canvas_embedding=True, self_conditioning=True, given_embedding=True)
    packed = rows(length=30, num=4, logit_shift=logit_shift, canvas_lengths=(30,), gap_share=1.0)
    batch = prepared(packed, PROCESSES["uniform"], share_done=0.5, self_conditioning_share=1.0)
    assert batch.given_BT.any()
    for row, place in (packed.canvases_BT > 0).nonzero().tolist():
        read = place - logit_shift
        before = packed.canvases_BT[row, read] != packed.canvases_BT[row, place]
        assert bool(batch.given_BT[row, place]) == (not before and packed.given_BT[row, read] > 0)
    assert not batch.given_BT[packed.canvases_BT == 0].any()
    read: list[dict[str, Any]] = []
    model.register_forward_pre_hook(lambda _model, _args, kwargs: read.append(kwargs), with_kwargs=True)
    losses(model, batch)
    assert len(read) == 2
    assert all(torch.equal(one["given_RQ"], batch.given_BT) for one in read)
    known = packed.given_BT > 0
    torch.testing.assert_close(read[1]["soft_RQD"][known], model.embedding_VD[packed.tokens_BT[known]])


@pytest.mark.parametrize("logit_shift", [False, True])
def test_length_head_reads_the_end_of_the_prompt(make_decoder: Callable[..., Decoder], logit_shift: bool):
    """By hand: the cross-entropy of the bucket of each response, where the last position ahead of its canvas is."""
    model = make_decoder(length_buckets=(2, 4))
    packed = rows(length=9, num=3, logit_shift=logit_shift)
    batch = prepared(packed, PROCESSES["uniform"], share_done=0.5, self_conditioning_share=0.0)
    hidden = model(batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT)
    expected, num = torch.zeros(()), 0
    for row, last in (packed.lengths_BT > 0).nonzero().tolist():
        place, length = last - logit_shift, int(packed.lengths_BT[row, last])
        if place < 0 or packed.documents_BT[row, place] != packed.documents_BT[row, last]:
            continue
        bucket = 0 if length <= 2 else 1 if length <= 4 else 2
        expected = expected - model.length_logits(hidden[row, place]).log_softmax(-1)[bucket]
        num += 1
    assert num > 3
    assert int((batch.lengths_BT > 0).sum()) == num
    torch.testing.assert_close(losses(model, batch)["length"], expected)


@pytest.mark.parametrize("name", PROCESSES)
def test_bound_covers_the_canvases(make_decoder: Callable[..., Decoder], name: str):
    """With masks it is cross-entropy over t, by hand; with random tokens what `diffusion.loss` says of a denoiser."""
    model, process = make_decoder(canvas_embedding=True), PROCESSES[name]
    packed = rows(length=9, num=3, ar_share=0.0)
    batch = prepared(packed, process, canvas_loss="bound", self_conditioning_share=0.0)
    assert batch.counts()["canvas"] == int((packed.canvases_BT > 0).sum())
    found = losses(model, batch)["canvas"]
    assert found.requires_grad
    noisy_BT, t_BT = corrupt(packed, process, ObjectiveConfig(), 0.0, seeded())
    hidden = model(batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT)
    logits = model.logits(hidden)
    if name == "mask":
        logits = logits.index_fill(-1, torch.tensor(MASK), float("-inf"))
        scores = logits.log_softmax(-1).gather(-1, packed.tokens_BT[:, :, None])[:, :, 0]
        masked = batch.canvas_BT & (noisy_BT == MASK)
        expected = -(scores[masked] / t_BT[masked]).sum()
    else:
        on = batch.on_canvas_BT
        given = (packed.tokens_BT[on], noisy_BT[on], t_BT[on])
        expected = nelbo_of_denoiser(process, logits[on], *given).sum()
        assert not torch.isclose(expected, nelbo(process, logits[on], *given).sum()) or name == "hybrid"
    torch.testing.assert_close(found, expected)


def test_model_without_self_conditioning_needs_one_pass(make_decoder: Callable[..., Decoder]):
    model = make_decoder()
    batch = prepared(rows(length=9, num=2), PROCESSES["uniform"], self_conditioning_share=1.0)
    calls: list[Tensor | None] = []
    model.register_forward_pre_hook(lambda _model, _args, kwargs: calls.append(kwargs["soft_RQD"]), with_kwargs=True)
    losses(model, batch)
    assert calls == [None]


BOUND: dict[str, Any] = {"canvas_loss": "bound"}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"t_min": -0.1}, "t_min is -0.1; allowed: 0 to 1"),
        ({"t_max": 1.1}, "t_max is 1.1; allowed: 0 to 1"),
        ({"t_min": 0.5, "t_max": 0.5}, "t_min is 0.5; allowed: below t_max = 0.5"),
        ({"span_share": 2.0}, "span_share is 2.0; allowed: 0 to 1"),
        ({"mask_until": -1.0}, "mask_until is -1.0; allowed: 0 to 1"),
        ({"unroll_from": 1.5}, "unroll_from is 1.5; allowed: 0 to 1"),
        ({"self_conditioning_share": 1.5}, "self_conditioning_share is 1.5; allowed: 0 to 1"),
        ({"canvas_weight": -1.0}, "canvas_weight is -1.0; allowed: 0 or more"),
        ({"ar_weight": float("nan")}, "ar_weight is nan; allowed: 0 or more"),
        (BOUND | {"noised_only": True}, 'noised_only is True and canvas_loss is "bound"; allowed: False'),
        (BOUND | {"unroll_from": 0.5}, 'unroll_from is 0.5 and canvas_loss is "bound"; allowed: 1.0'),
        (BOUND | {"mask_until": 0.5}, 'mask_until is 0.5 and canvas_loss is "bound"; allowed: 0.0'),
        (BOUND | {"t_min": 0.0}, 't_min is 0.0 and canvas_loss is "bound"; allowed: more than 0'),
    ],
)
def test_invalid_settings_are_refused(config: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        ObjectiveConfig(**config)


def lesson_batch(**config: Any) -> tuple[PackedBatch, TrainingBatch]:
    packed = rows(length=9, num=2, ar_share=1.0, canvas_lengths=(4,))
    return packed, prepared(packed, PROCESSES["uniform"], self_conditioning_share=0.0, **config)


def test_autoregressive_teacher_equals_a_calculation_by_hand(make_decoder: Callable[..., Decoder]):
    """What it says of a token is read from the token before it, in the text alone; the end's fill is not taught."""
    packed, batch = lesson_batch(teacher_weight=1.0)
    model, teacher = make_decoder(canvas_embedding=True), make_decoder(seed=7)
    hidden = model(batch.tokens_BT, batch.positions_BT, batch.attention, canvas_RQ=batch.canvas_BT)
    own = model.logits(hidden).log_softmax(-1)
    expected, count = torch.zeros(()), 0
    for row in range(len(packed.tokens_BT)):
        for document in range(int(packed.documents_BT[row].max()) + 1):
            mine = packed.documents_BT[row] == document
            clean = mine & (packed.canvases_BT[row] == 0)
            text = packed.tokens_BT[row][clean][None]
            said = teacher(text, torch.arange(text.shape[1])[None], AttentionSpec(causal=True))
            said = teacher.logits(said)[0].log_softmax(-1)
            for place in (mine & (packed.canvases_BT[row] > 0)).nonzero()[:, 0].tolist():
                position = int(packed.positions_BT[row, place])
                if position < text.shape[1]:
                    wanted = said[position - 1]
                    expected = expected + (wanted.exp() * (wanted - own[row, place])).sum()
                    count += 1
    terms = losses(model, batch, weights={"teacher": 1.0}, teacher=teacher, teacher_top=VOCAB)
    assert batch.counts()["teacher"] == count > 10
    torch.testing.assert_close(terms["teacher"], expected)
    assert terms["teacher"].requires_grad
    few = losses(model, batch, weights={"teacher": 1.0}, teacher=teacher, teacher_top=2)["teacher"]
    assert not torch.isclose(few, terms["teacher"])


class Taught:
    """Documents of `Long`, by turns with what a teacher said and without."""

    def __init__(self, teacher: Decoder, top: int) -> None:
        documents = [Long(9).document(seed) for seed in range(6)]
        said = teacher_targets(teacher, documents, top)
        self.documents = [
            dataclasses.replace(document, teacher=said[i]) if i % 2 else document
            for i, document in enumerate(documents)
        ]

    def document(self, seed: int) -> Document:
        return self.documents[seed % 6]


@pytest.mark.parametrize("logit_shift", [False, True])
@pytest.mark.parametrize("gap_share", [0.0, 0.8])
def test_stored_predictions_equal_the_teachers(
    make_decoder: Callable[..., Decoder], logit_shift: bool, gap_share: float
):
    """Of the documents that bring it; a gap's blanks, which end nothing, are not taught by either."""
    model, teacher = make_decoder(canvas_embedding=True), make_decoder(seed=7)
    config = PackingConfig(rows=3, row_length=90, canvas_lengths=(4, 8), gap_share=gap_share, ar_share=1.0)
    spec = GenerationSpec(logit_shift=logit_shift)
    packed = pack(Taught(teacher, VOCAB), config, seed=0, step=0, end_id=END, spec=spec)

    def batch_of(kind: str) -> TrainingBatch:
        objective = {"teacher_weight": 1.0, "teacher": kind, "self_conditioning_share": 0.0}
        return prepared(packed, PROCESSES["uniform"], **objective)

    stored, read = batch_of("stored"), batch_of("ar")
    assert isinstance(stored.target, StoredTarget)
    assert isinstance(read.target, TeacherPass)
    brought = torch.zeros(3, 20, dtype=torch.bool)
    for row, teachers in enumerate(packed.teachers):
        brought[row, : len(teachers)] = torch.tensor([one is not None for one in teachers])
    brought_BT = brought.gather(1, packed.documents_BT % brought.shape[1])
    assert torch.equal(stored.target.taught_BT, read.target.taught_BT & brought_BT)
    assert 10 < stored.counts()["teacher"] < read.counts()["teacher"]
    assert not (read.target.taught_BT & (packed.answers_BT < 0)).any()
    of_those = dataclasses.replace(read, target=dataclasses.replace(read.target, taught_BT=stored.target.taught_BT))
    for top in (VOCAB, 3):
        settings = {"weights": {"teacher": 1.0}, "teacher_top": top}
        expected = losses(model, of_those, teacher=teacher, **settings)["teacher"]
        found = losses(model, stored, **settings)["teacher"]
        # float16, as it is stored.
        torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3)
        assert found.requires_grad


def test_batch_without_teacher_predictions_has_no_teacher_loss(make_decoder: Callable[..., Decoder]):
    _, batch = lesson_batch(teacher_weight=1.0, teacher="stored")
    assert batch.target is None
    assert batch.counts()["teacher"] == 0
    assert "teacher" not in losses(make_decoder(), batch, weights={"teacher": 1.0})


def test_teacher_of_the_same_canvas_reads_less_noise(make_decoder: Callable[..., Decoder]):
    """Of the same path: what is noise for it is the same noise for the model, and more of it is text."""
    config = {"teacher_weight": 1.0, "teacher": "canvas", "teacher_step": 0.4, "t_min": 0.5, "t_max": 0.9}
    packed, batch = lesson_batch(**config)
    assert isinstance(batch.target, TeacherPass)
    easier, harder = batch.target.tokens_BS, batch.tokens_BT
    on = batch.on_canvas_BT
    clean = packed.tokens_BT
    assert bool(((easier == clean) | (easier == harder))[on].all())
    assert int((easier != clean)[on].sum()) < int((harder != clean)[on].sum())
    model = make_decoder(canvas_embedding=True)
    same = losses(model, batch, weights={"teacher": 1.0}, teacher=model, teacher_top=VOCAB)["teacher"]
    assert same > 0.0
    _, still = lesson_batch(**config | {"teacher_step": 0.0})
    nothing = losses(model, still, weights={"teacher": 1.0}, teacher=model, teacher_top=VOCAB)["teacher"]
    assert abs(nothing.item()) < 1e-3


def test_certainty_loss_is_on_right_predictions():
    logits_NV = torch.tensor([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    targets_N = torch.tensor([0, 1, 2])
    expected = sum(float(torch.distributions.Categorical(logits=2.0 * logits_NV[i]).entropy()) for i in (0, 2))
    assert right_entropy(logits_NV, targets_N).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("config", "share_done", "expected"),
    [
        ({}, 0.0, {"canvas": 1.0, "ar": 1.0}),
        ({"teacher_weight": 0.5, "teacher_until": 0.5, "ar_weight": 0.0}, 0.25, {"canvas": 1.0, "teacher": 0.25}),
        ({"teacher_weight": 0.5, "teacher_until": 0.5}, 0.5, {"canvas": 1.0, "ar": 1.0}),
        ({"teacher_weight": 0.5}, 0.9, {"canvas": 1.0, "ar": 1.0, "teacher": 0.5}),
    ],
)
def test_loss_weights_follow_the_share_of_the_run(
    config: dict[str, float], share_done: float, expected: dict[str, float]
):
    assert ObjectiveConfig(**config).weights(share_done) == pytest.approx(expected)  # type: ignore[arg-type]


def test_cross_entropy_counts_every_token_by_its_weight():
    generator = torch.Generator().manual_seed(0)
    logits, targets = torch.randn(6, 5, generator=generator), torch.randint(5, (6,), generator=generator)
    nats = torch.stack([logits[i].exp().sum().log() - logits[i, targets[i]] for i in range(6)])
    torch.testing.assert_close(cross_entropy(logits, targets), nats.sum())
    weights = torch.tensor([0.0, 2.0, 1.0, 0.5, 0.0, 1.0])
    torch.testing.assert_close(cross_entropy(logits, targets, weights), (nats * weights).sum())


def test_cross_entropy_accumulates_in_single_precision():
    total = cross_entropy(torch.zeros(3000, 4, dtype=torch.bfloat16), torch.zeros(3000, dtype=torch.long))
    assert total.dtype == torch.float32
    torch.testing.assert_close(total / 3000, torch.tensor(4.0).log())
