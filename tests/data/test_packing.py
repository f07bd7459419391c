"""Rows by hand, the attention mask by its definition, and what packing must not lose."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.data.packing import GAP_BLANKS, IGNORED, Document, PackedBatch, PackingConfig, pack
from sfumato.data.shards import Targets
from sfumato.data.sources import make_source
from sfumato.errors import ConfigError
from sfumato.spec import DEFAULT, GenerationSpec
from sfumato.text.tokenizer import Tokenizer

END = 1


class Listed:
    """Documents of a list, by seed."""

    def __init__(self, *documents: Document) -> None:
        self.documents = documents

    def document(self, seed: int) -> Document:
        return self.documents[seed % len(self.documents)]


def packed(
    *documents: Document,
    seed: int = 0,
    step: int = 0,
    spec: GenerationSpec = DEFAULT,
    max_tokens: int = 0,
    **config: Any,
) -> PackedBatch:
    source, options = Listed(*documents), {"seed": seed, "step": step, "end_id": END, "max_tokens": max_tokens}
    return pack(source, PackingConfig(**config), spec=spec, **options)


def rows_of(batch: PackedBatch) -> list[list[list[int]]]:
    columns = ("tokens", "targets", "positions", "documents", "canvases", "starts", "before")
    return [[getattr(batch, f"{name}_BT")[row].tolist() for name in columns] for row in range(len(batch.tokens_BT))]


ONE = Document(prompt=[5, 6], response=[7, 8, END])
NONE = IGNORED


def test_a_row_by_hand():
    """Prompt and response, the response's targets one to the left, and the canvas with one place filled."""
    batch = packed(ONE, rows=1, row_length=10, canvas_lengths=(4,))
    [row] = rows_of(batch)
    assert row == [
        [5, 6, 7, 8, END, 7, 8, END, END, END],
        [NONE, 7, 8, END, NONE, 7, 8, END, END, NONE],
        [0, 1, 2, 3, 4, 2, 3, 4, 5, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, -1],
        [0, 0, 0, 0, 0, 1, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 2, 2, 2, 2, 0],
        [-1, -1, -1, -1, -1, 6, -1, -1, -1, -1],
    ]
    assert batch.answers_BT.tolist() == [[-1, -1, -1, -1, -1, 0, 1, 2, -1, -1]]


def test_shifted_row():
    """The canvas stands behind the last token of the prompt, which only the clean half and the canvas's head hold."""
    batch = packed(ONE, spec=GenerationSpec(logit_shift=True), rows=1, row_length=9, canvas_lengths=(4,))
    tokens, positions, reads = batch.inputs(batch.tokens_BT)
    mask = reads.mask(tokens.device)
    assert tokens.tolist() == [[5, 6, 7, 8, END, 6, 7, 8, END]]
    assert positions.tolist() == [[0, 1, 2, 3, 4, 1, 2, 3, 4]]
    assert mask[0, 0, 5].tolist() == [True, False, False, False, False, True, True, True, True]


@pytest.mark.parametrize(("ar_share", "read"), [(0.0, [6, IGNORED]), (1.0, [6, 7, 8, END, IGNORED])])
def test_prompts_can_be_predicted_in_the_clean_half(ar_share: float, read: list[int]):
    settings = {"rows": 1, "row_length": 9, "canvas_lengths": (4,), "ar_share": ar_share}
    without, with_prompt = packed(ONE, **settings), packed(ONE, **settings, prompt_share=1.0)
    assert torch.equal(without.tokens_BT, with_prompt.tokens_BT)
    clean = with_prompt.canvases_BT[0] == 0
    assert with_prompt.targets_BT[0, clean].tolist()[: len(read)] == read
    assert without.targets_BT[0, 0] == IGNORED
    assert torch.equal(without.targets_BT[0, ~clean], with_prompt.targets_BT[0, ~clean])


FULL = GenerationSpec(noise="mask", mask_id=4, prefix_attention="full")
BLOCK = GenerationSpec(noise="mask", mask_id=4, canvas_length=4, prefix_attention="block")


def test_full_prefix_is_copied_for_each_canvas():
    """A prompt of 2 and a response of 3 on canvases of 2: the second canvas stands behind the first as it should be."""
    batch = packed(ONE, spec=FULL, rows=1, row_length=10, canvas_lengths=(2,), ar_share=0.0)
    owners, tokens = batch.documents_BT[0], batch.tokens_BT[0]
    texts = [tokens[owners == owner].tolist() for owner in range(2)]
    assert sorted(texts) == [[5, 6, 7, 8], [5, 6, 7, 8, END, END]]
    places = [batch.positions_BT[0][owners == owner].tolist() for owner in range(2)]
    assert sorted(places) == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
    assert (batch.targets_BT[0] != IGNORED).sum() == 4
    assert torch.equal(batch.targets_BT[0] != IGNORED, batch.canvases_BT[0] > 0)
    mask = batch.inputs(batch.tokens_BT)[2].mask(tokens.device)[0, 0]
    assert torch.equal(mask, owners[:, None] == owners[None])


def test_block_prefix_puts_the_prompts_end_on_the_first_canvas():
    """Blocks of 4: of a prompt of 6 two tokens are given on the first canvas; the clean half is the whole blocks before
    the last canvas, each read by itself and by what follows."""
    document = Document([5, 6, 7, 8, 9, 10], [11, 12, 13, END])
    batch = packed(document, spec=BLOCK, rows=1, row_length=16, canvas_lengths=(4,), ar_share=0.0)
    assert [column[:16] for column in rows_of(batch)[0][:1]] == [
        [5, 6, 7, 8, 9, 10, 11, 12, 9, 10, 11, 12, 13, END, END, END]
    ]
    assert batch.given_BT.tolist() == [[0] * 8 + [1, 1] + [0] * 6]
    assert batch.targets_BT.tolist() == [[IGNORED] * 10 + [11, 12, 13, END, END, END]]
    assert batch.answers_BT.tolist() == [[-1] * 10 + [0, 1, 2, 3, -1, -1]]
    assert batch.lengths_BT.sum() == 0
    mask = batch.inputs(batch.tokens_BT)[2].mask(batch.tokens_BT.device)[0, 0]
    firsts, seconds = torch.arange(16) < 4, torch.arange(16) < 8
    for place, expected in (
        (0, firsts),
        (3, firsts),
        (4, seconds),
        (8, firsts | (torch.arange(16) // 4 == 2)),
        (15, seconds | (torch.arange(16) // 4 == 3)),
    ):
        assert torch.equal(mask[place], expected), place


@pytest.mark.parametrize(
    ("spec", "config", "message"),
    [
        (
            GenerationSpec(canvas_length=1, logit_shift=True),
            {"canvas_lengths": (4,)},
            r"canvas_lengths is \[4\] and the model is autoregressive; allowed: \[\]",
        ),
        (FULL, {"ar_share": 0.5}, "ar_share is 0.5 and prefix_attention is 'full'; allowed: 0"),
        (FULL, {"ar_share": 0, "prompt_share": 1.0}, "prompt_share is 1.0 and prefix_attention is 'full'; allowed: 0"),
        (BLOCK, {"canvas_lengths": (4,)}, "ar_share is 1.0 and prefix_attention is 'block'; allowed: 0"),
        (BLOCK, {"ar_share": 0.0, "canvas_lengths": (4, 8)}, r"canvas_lengths is \[4, 8\] .* allowed: \[4\]"),
        (BLOCK, {"ar_share": 0.0, "canvas_lengths": (4,), "gap_share": 0.1}, "gap_share is 0.1 .* allowed: 0"),
        (
            dataclasses.replace(BLOCK, logit_shift=True),
            {"ar_share": 0.0, "canvas_lengths": (4,)},
            "logit_shift is true .* allowed in training: false",
        ),
    ],
)
def test_unsuitable_rows_are_refused(spec: GenerationSpec, config: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        PackingConfig(**config).check_for(spec)


def test_a_row_without_the_autoregressive_loss_stops_where_the_last_canvas_starts():
    [row] = rows_of(packed(ONE, rows=1, row_length=8, canvas_lengths=(2,), ar_share=0.0))
    assert row == [
        [5, 6, 7, 8, 7, 8, END, END],
        [NONE, NONE, NONE, NONE, 7, 8, END, END],
        [0, 1, 2, 3, 2, 3, 4, 5],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 2, 2],
        [0, 0, 0, 0, 2, 2, 4, 4],
        [-1, -1, -1, -1, 6, -1, 8, -1],
    ]


def test_without_canvases_a_row_is_autoregressive_training_data():
    [row] = rows_of(packed(ONE, rows=1, row_length=12, canvas_lengths=()))
    assert row == [
        [5, 6, 7, 8, END, 5, 6, 7, 8, END, END, END],
        [NONE, 7, 8, END, NONE, NONE, 7, 8, END, NONE, NONE, NONE],
        [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0],
        [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1, -1],
        [0] * 12,
        [0] * 12,
        [-1] * 12,
    ]


def test_copies_share_one_clean_half():
    [row] = rows_of(packed(ONE, rows=1, row_length=11, canvas_lengths=(3,), canvas_copies=2))
    assert row[0] == [5, 6, 7, 8, END, 7, 8, END, 7, 8, END]
    assert row[2] == [0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4]
    assert row[4] == [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


def draw_documents(num: int, longest: int, seed: int = 0) -> list[Document]:
    generator = torch.Generator().manual_seed(seed)

    def tokens(most: int) -> list[int]:
        count = int(torch.randint(1, most + 1, (), generator=generator))
        return torch.randint(2, 100, (count,), generator=generator).tolist()

    return [Document([100 + i, *tokens(4)], [*tokens(longest - 1), END]) for i in range(num)]


def test_mask_matches_its_definition():
    """Every pair of positions of a crowded batch, from the documents and canvases of both."""
    config: dict[str, Any] = {"rows": 2, "row_length": 48, "canvas_lengths": (4, 8), "canvas_copies": 2}
    batch = packed(*draw_documents(20, 9), **config, ar_share=0.5)
    assert len(set(batch.documents_BT.flatten().tolist())) > 2
    allowed = batch.inputs(batch.tokens_BT)[2].mask(batch.tokens_BT.device)
    assert allowed.shape == (2, 1, 48, 48)
    for row, columns in enumerate(rows_of(batch)):
        places = list(zip(*columns[2:6], strict=True))
        for (q, query), (k, key) in itertools.product(enumerate(places), repeat=2):
            position, document, canvas, start = query
            key_position, key_document, key_canvas, _ = key
            if document != key_document:
                expected = False
            elif document == -1:
                continue
            elif canvas == 0:
                expected = key_canvas == 0 and key_position <= position
            else:
                expected = key_canvas == canvas or (key_canvas == 0 and key_position < start)
            assert bool(allowed[row, 0, q, k]) == expected, (query, key)
    assert allowed.any(-1).all(), "a position that reads nothing has NaN for logits"


@pytest.mark.parametrize("ar_share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("lengths", [(3,), (2, 4, 8), ()])
@pytest.mark.parametrize(("copies", "cut_share"), [(1, 0.0), (1, 0.7), (2, 0.0)])
def test_responses_are_supervised_once_and_prompts_never(
    lengths: tuple[int, ...], ar_share: float, copies: int, cut_share: float
):
    if not lengths and ar_share < 1.0:
        return
    documents = draw_documents(30, 12)
    config: dict[str, Any] = {"rows": 8, "row_length": 100, "canvas_lengths": lengths, "ar_share": ar_share}
    batch = packed(*documents, canvas_copies=copies, cut_share=cut_share, **config)
    num_found = num_with_response = 0
    for tokens, targets, positions, owners, canvases, starts, _ in rows_of(batch):
        for owner in range(max(owners) + 1):
            mine = [i for i, other in enumerate(owners) if other == owner]
            clean = [i for i in mine if canvases[i] == 0]
            assert [positions[i] for i in clean] == list(range(len(clean)))
            text = [tokens[i] for i in clean]
            document = documents[text[0] - 100]
            prompt, response = list(document.prompt), list(document.response)
            assert text[: len(prompt)] == prompt
            supervised = [(positions[i], targets[i]) for i in clean if targets[i] != IGNORED]
            if supervised:
                num_with_response += 1
                assert text[len(prompt) :] == response
                assert supervised == list(enumerate(response, len(prompt) - 1))
            found: dict[int, list[int]] = {}
            for i in mine:
                if canvases[i]:
                    assert targets[i] == tokens[i]
                    found.setdefault(canvases[i], []).append(i)
            num_found += 1
            if not lengths:
                assert not found
                continue
            written = [tokens[i] for part in found.values() for i in part]
            length = len(written) // copies
            assert written == written[:length] * copies
            assert written[: len(response)] == response
            assert set(written[len(response) : length]) <= {END}
            assert {len(part) for part in found.values()} == {len(next(iter(found.values())))} <= {*lengths}
            assert length - len(response) < len(next(iter(found.values())))
            for part in found.values():
                assert {starts[i] for i in part} == {positions[part[0]]}
                before = [tokens[i] for i in clean if positions[i] < starts[part[0]]]
                assert before == [*prompt, *response][: starts[part[0]]]
    assert num_found > 10
    if ar_share in (0.0, 1.0):
        assert num_with_response == ar_share * num_found
    else:
        assert 0 < num_with_response < num_found


def test_a_canvas_takes_the_smallest_length_that_fits_with_probability_one_half():
    """Then a quarter, and the rest for the last; a response of 3 never takes 2."""
    batch = packed(Document([5], [7, 8, END]), rows=300, row_length=40, canvas_lengths=(16, 2, 4, 8), ar_share=0.0)
    found: Counter[int] = Counter()
    for row in rows_of(batch):
        found.update(Counter(canvas for canvas in row[4] if canvas).values())
    assert found.keys() == {4, 8, 16}
    total = found.total()
    assert total > 400
    # Four standard deviations of a share drawn 400 times are 0.1.
    for length, share in ((4, 0.5), (8, 0.25), (16, 0.25)):
        assert found[length] / total == pytest.approx(share, abs=0.1)


def test_a_document_is_not_cut_into_more_than_a_row_holds():
    """102 tokens are two canvases of 96, which a row of 256 cannot hold next to the clean half."""
    long = Document(range(5, 9), range(5, 107))
    batch = packed(long, rows=40, row_length=256, canvas_lengths=(24, 96, 128), cut_share=1.0)
    sizes = {tuple(Counter(canvas for canvas in row[4] if canvas).values()) for row in rows_of(batch)}
    assert sizes == {(24,) * 5, (128,)}


def test_a_share_of_documents_takes_any_length():
    """Half of them 2, 4 or 8 alike, so that a sixth is cut into two canvases; the other half as before."""
    config: dict[str, Any] = {"rows": 300, "row_length": 40, "canvas_lengths": (2, 4, 8), "ar_share": 1.0}
    batch = packed(Document([5], [7, 8, END]), cut_share=0.5, **config)
    found = Counter[tuple[int, ...]]()
    for row in rows_of(batch):
        for owner in range(max(row[3]) + 1):
            sizes = Counter(canvas for mine, canvas in zip(row[3], row[4], strict=True) if mine == owner and canvas)
            found[tuple(sizes.values())] += 1
    total = found.total()
    assert total > 400
    for sizes, share in (((2, 2), 1 / 6), ((4,), 1 / 6 + 1 / 4), ((8,), 1 / 6 + 1 / 4)):
        assert found[sizes] / total == pytest.approx(share, abs=0.1)


def test_a_gap_is_an_interval_of_the_response_with_blanks_and_what_follows():
    """What is before the gap is text; without the end tokens of the gap, text and canvas are the response."""
    prompt, response = [5, 6], [*range(10, 29), END]
    batch = packed(
        Document(prompt, response), rows=200, row_length=100, canvas_lengths=(32, 48, 64), gap_share=0.6, ar_share=0.5
    )
    with_gap = num_canvases = num_empty = most = 0
    for row in range(len(batch.tokens_BT)):
        for number in range(1, int(batch.canvases_BT[row].max()) + 1):
            here = batch.canvases_BT[row] == number
            tokens, given = batch.tokens_BT[row][here].tolist(), batch.given_BT[row][here].tolist()
            num_canvases += 1
            if not any(given):
                assert tokens == response + [END] * (len(tokens) - len(response))
                continue
            with_gap += 1
            free = given.index(1)
            assert given == [0] * free + [1] * (len(tokens) - free)
            assert batch.targets_BT[row][here].tolist() == tokens[:free] + [IGNORED] * (len(tokens) - free)
            filled = [token for token in tokens[:free] if token != END]
            blanks = tokens[len(filled) : free]
            assert blanks == [END] * len(blanks)
            num_empty, most = num_empty + (not filled), max(most, len(blanks))
            owner = batch.documents_BT[row][here][0]
            start = int(batch.starts_BT[row][here][0])
            clean = (batch.documents_BT[row] == owner) & (batch.canvases_BT[row] == 0)
            before = batch.tokens_BT[row][clean & (batch.positions_BT[row] < start)].tolist()
            assert before + filled + tokens[free:] == prompt + response
    assert not batch.given_BT[batch.canvases_BT == 0].any()
    assert num_canvases > 200
    assert with_gap / num_canvases == pytest.approx(0.6, abs=0.12)
    assert num_empty > 0
    assert most > GAP_BLANKS / 2


@pytest.mark.parametrize("config", [{}, {"gap_share": 0.7}, {"canvas_copies": 2, "ar_share": 0.0}])
def test_canvas_cells_have_response_positions(config: dict[str, Any]):
    """Every token of the response, once a copy, where there is no gap; else those of the gap, without its blanks."""
    documents = [Document([5, 6], [*range(10 * i, 10 * i + 7 + i), END]) for i in range(1, 6)]
    batch = packed(*documents, rows=30, row_length=120, canvas_lengths=(8, 16), **config)
    num_gaps = 0
    for row, document in itertools.product(range(30), range(int(batch.documents_BT.max()) + 1)):
        mine = (batch.documents_BT[row] == document) & (batch.canvases_BT[row] > 0)
        if not mine.any():
            continue
        first = batch.tokens_BT[row][(batch.documents_BT[row] == document) & (batch.positions_BT[row] == 0)]
        assert first.tolist() == [5]
        answers, tokens = batch.answers_BT[row][mine], batch.tokens_BT[row][mine]
        given = batch.given_BT[row][mine] > 0
        assert not (answers[given] >= 0).any()
        found = answers[answers >= 0].tolist()
        fills = (answers < 0) & ~given
        assert (tokens[fills] == END).all()
        lengths = batch.lengths_BT[row][batch.documents_BT[row] == document].max()
        own = next(one.response for one in documents if len(one.response) == lengths)
        assert [own[i] for i in found] == tokens[answers >= 0].tolist()
        if given.any() or len(found) % len(own):
            num_gaps += 1
            assert found == list(range(found[0], found[-1] + 1)) if found else True
        else:
            assert found == list(range(len(own))) * (len(found) // len(own))
    assert bool(num_gaps) == ("gap_share" in config)


def test_teacher_predictions_follow_their_document():
    said = [Targets(np.zeros(3), np.full((3, 2), i), np.zeros((3, 2))) for i in range(2)]
    documents = [Document([5, 6 + i], [7, 8, END], said[i] if i < 2 else None) for i in range(3)]
    batch = packed(*documents, rows=20, row_length=40, canvas_lengths=(4,))
    assert documents[0] == Document([5, 6], [7, 8, END])
    num = 0
    for row, teachers in enumerate(batch.teachers):
        assert len(teachers) == int(batch.documents_BT[row].max()) + 1
        for document, teacher in enumerate(teachers):
            which = int(batch.tokens_BT[row][batch.documents_BT[row] == document][1]) - 6
            assert teacher is (said[which] if which < 2 else None)
            num += 1
    assert num > 20


def test_a_gap_and_what_follows_fill_one_canvas_at_most():
    long = Document([5], [*range(10, 90), END])
    batch = packed(long, rows=100, row_length=200, canvas_lengths=(16, 24), gap_share=1.0)
    sizes = set()
    for row in range(len(batch.tokens_BT)):
        for number in range(1, int(batch.canvases_BT[row].max()) + 1):
            here = batch.canvases_BT[row] == number
            sizes.add(int(here.sum()))
            assert 0 < int(batch.given_BT[row][here].sum()) < int(here.sum())
    assert max(sizes) == 24
    assert min(sizes) < 24


def test_response_length_is_at_the_end_of_the_prompt():
    batch = packed(
        Document([5, 6, 7], [*range(10, 15), END]), rows=4, row_length=60, gap_share=0.5, canvas_lengths=(8,)
    )
    places = (batch.lengths_BT > 0).nonzero().tolist()
    assert len(places) == len({(row, int(batch.documents_BT[row, place])) for row, place in places})
    assert {row for row, _ in places} == {0, 1, 2, 3}
    for row, place in places:
        assert batch.lengths_BT[row, place] == 6
        assert batch.tokens_BT[row, place] == 7
        assert batch.canvases_BT[row, place] == 0


def test_batch_depends_on_seed_and_step():
    documents = draw_documents(50, 9)
    config: dict[str, Any] = {"rows": 2, "row_length": 64, "canvas_lengths": (4, 8), "ar_share": 0.5}
    first = rows_of(packed(*documents, **config, seed=3, step=7))
    assert rows_of(packed(*documents, **config, seed=3, step=7)) == first
    assert rows_of(packed(*documents, **config, seed=3, step=8)) != first
    assert rows_of(packed(*documents, **config, seed=4, step=7)) != first


def test_short_documents_are_not_crowded_out():
    """Their share of a batch is that of the source: documents are not dropped by size."""
    short, long = Document([2] * 10, [3, END]), Document([4] * 30, [5] * 30 + [END])
    num = Counter[int]()
    for step in range(20):
        batch = packed(short, long, rows=16, row_length=128, canvas_lengths=(), step=step)
        num.update(batch.tokens_BT[batch.positions_BT == 0][:, None].flatten().tolist())
    assert num[2] > 400
    assert num[2] / num[4] == pytest.approx(1.0, abs=0.15)


def test_number_of_tokens_leaves_padding_out():
    batch = packed(ONE, rows=3, row_length=12, canvas_lengths=())
    assert batch.num_tokens == 30


def test_documents_that_are_all_too_long_are_refused():
    message = "do not fit, the last with 5 tokens, and with its canvases 13 positions: row_length is 12$"
    with pytest.raises(ConfigError, match=message):
        packed(ONE, rows=2, row_length=12, canvas_lengths=(8,))
    with pytest.raises(ConfigError, match=r"13 positions: row_length is 64, and the model reads 4$"):
        packed(ONE, rows=2, row_length=64, canvas_lengths=(8,), max_tokens=4)


def test_a_rare_document_that_is_too_long_is_dropped():
    long = Document(prompt=(1,) * 40, response=(2,))
    for step in range(10):
        batch = packed(*[ONE] * 9, long, rows=8, row_length=12, canvas_lengths=(), step=step)
        assert batch.num_tokens == 80


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"rows": 0}, "rows is 0; allowed: 1 or more"),
        ({"row_length": -1}, "row_length is -1; allowed: 1 or more"),
        ({"canvas_copies": 0}, "canvas_copies is 0; allowed: 1 or more"),
        ({"canvas_lengths": (8, 1)}, r"canvas_lengths is \[8, 1\]; allowed: lengths from 2 to row_length, 256"),
        ({"canvas_lengths": (8, 257)}, r"canvas_lengths is \[8, 257\]; allowed: lengths from 2 to row_length, 256"),
        ({"ar_share": 1.5}, "ar_share is 1.5; allowed: 0 to 1"),
        ({"gap_share": 2.0}, "gap_share is 2.0; allowed: 0 to 1"),
        ({"cut_share": -0.5}, "cut_share is -0.5; allowed: 0 to 1"),
        ({"canvas_lengths": (), "ar_share": 0.5}, "ar_share is below 1 with no canvas_lengths"),
    ],
)
def test_refusals(config: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        PackingConfig(**config)


def test_windows_of_a_text_teach_no_end_and_no_length(byte_tokenizer: Tokenizer, tmp_path: Path):
    """But for the one at the text's end."""
    path = tmp_path / "text.txt"
    path.write_text("abcdefghij" * 40)
    packing = PackingConfig(rows=4, row_length=128, canvas_lengths=(16, 24))
    [end_id] = byte_tokenizer.eos_ids
    source = make_source({}, {str(path): 1.0}, byte_tokenizer, packing, max_tokens=128)
    windows = [source.document(seed) for seed in range(4000)]
    assert {document.ends for document in windows} == {True, False}
    for document in windows:
        assert document.ends == (document.response[-1] == end_id)

    [window, *_] = [each for each in windows if not each.ends]
    batch = pack(Listed(window), packing, seed=0, step=0, end_id=end_id)
    assert (batch.targets_BT != IGNORED).any()
    assert not (batch.targets_BT == end_id).any()
    assert not (batch.lengths_BT > 0).any()
