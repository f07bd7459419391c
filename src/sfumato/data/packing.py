"""Packs documents into training rows.

A row packs several documents. Each document is a clean half and noisy canvases, each of which attends to itself in both
directions and to the clean tokens before it; the clean half is read like the model's prefixes. With a causal prefix it
ends where the last canvas starts, unless the autoregressive loss needs the rest; without canvases, a row is ordinary
autoregressive training data. With a block prefix, canvases are blocks, and the end of a prompt that fills none is given
on the first of them. With a full prefix, each canvas has its own copy of everything before it.

A batch depends only on (source, seed, step), so a run resumes by knowing its step.
"""

# B rows, T positions of a row, D model

from __future__ import annotations

import dataclasses
import functools
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from sfumato.config import check_range
from sfumato.data.shards import Targets
from sfumato.errors import ConfigError
from sfumato.layout import PrefixLayout
from sfumato.spec import DEFAULT, GenerationSpec

IGNORED = -100
"""Target of unsupervised positions (the value that torch's cross_entropy ignores)."""
FILL = 0.95
"""Share of a batch's positions that documents are drawn for. Above it some find no row, mostly short ones: at 1 a task
of short documents loses a quarter of its weight."""
_MAX_TOO_LONG = 20
"""Documents of a batch that may be longer than a row: else the longest of a task would end a training after hours."""

_LOG = logging.getLogger(__name__)
GAP_BLANKS = 24
"""Maximum end tokens in a gap that stand for nothing."""
_NOWHERE = torch.iinfo(torch.int32).max


@dataclass(frozen=True)
class Document:
    """Token ids of a prompt and of the response to learn, which ends with the end token."""

    prompt: Sequence[int]
    response: Sequence[int]
    teacher: Targets | None = field(default=None, compare=False, repr=False)
    """A teacher's stored predictions for the response, if any."""
    ends: bool = True
    """Whether the response is whole; a window of a longer text is not, and teaches neither its end nor its length."""

    @property
    def num_tokens(self) -> int:
        return len(self.prompt) + len(self.response)


class Source(Protocol):
    """A source of documents with random access, so that resuming needs no state."""

    def document(self, seed: int) -> Document:
        """The document for `seed`."""
        ...


@dataclass(frozen=True, kw_only=True)
class PackingConfig:
    """How documents become rows."""

    rows: int = 32
    """Rows per batch."""
    row_length: int = 256
    """Positions per row."""
    canvas_lengths: tuple[int, ...] = (64,)
    """Canvas lengths to train. A document takes the smallest that holds its response with probability 1/2, the next
    with 1/4, and so on; a response longer than all is cut into canvases of the largest. Empty: no canvases."""
    canvas_from: tuple[float, ...] = ()
    """Share of the run from which each length is trained, ascending from 0: small canvases first. Empty: all from the
    start."""
    cut_share: float = 0.0
    """Share of documents that take any length that fits a row, so that answers are also learned over several
    canvases."""
    canvas_copies: int = 1
    """Noisy copies of each canvas, at different noise levels, that share one clean half."""
    gap_share: float = 0.0
    """Share of documents with a gap instead of a canvas: an interval of the response to fill in, with up to GAP_BLANKS
    end tokens after it that stand for nothing. Text before the gap is in the clean half; text after it is given on the
    canvas."""
    ar_share: float = 1.0
    """Share of documents whose whole response is also in the clean half, for the autoregressive loss."""
    prompt_share: float = 0.0
    """Share of documents whose prompt is predicted too, for the autoregressive loss: a dense signal for copying."""

    def __post_init__(self) -> None:
        check_range(self, "rows row_length canvas_copies", 1)
        if any(not 2 <= length <= self.row_length for length in self.canvas_lengths):
            given = f"canvas_lengths is {list(self.canvas_lengths)}"
            raise ConfigError(f"{given}; allowed: lengths from 2 to row_length, {self.row_length}")
        shares, num = list(self.canvas_from), len(self.canvas_lengths)
        if shares and (len(shares) != num or shares != sorted(shares) or shares[0] != 0.0 or not shares[-1] < 1.0):
            allowed = f"for each of {num} canvas_lengths a share below 1, ascending, the first 0"
            raise ConfigError(f"canvas_from is {shares}; allowed: {allowed}")
        check_range(self, "cut_share gap_share ar_share prompt_share", 0, 1)
        if not self.canvas_lengths and self.gap_share > 0.0:
            raise ConfigError(f"gap_share is {self.gap_share} with no canvas_lengths; allowed: 0")
        if not self.canvas_lengths and self.ar_share < 1.0:
            raise ConfigError("ar_share is below 1 with no canvas_lengths; those documents would train nothing")

    def check_for(self, spec: GenerationSpec) -> None:
        """Check the settings against how the model will generate.

        Raises:
            ConfigError: if such a model cannot be trained that way.
        """
        if spec.autoregressive and self.canvas_lengths:
            raise ConfigError(
                f"canvas_lengths is {list(self.canvas_lengths)} and the model is autoregressive; allowed: []"
            )
        layout = PrefixLayout(spec)
        if layout.causal:
            return
        read = layout.setting
        for name in ("ar_share", "prompt_share"):
            if (share := getattr(self, name)) > 0.0:
                raise ConfigError(
                    f"{name} is {share} and {read}; allowed: 0, because text that is read in "
                    "both directions predicts nothing"
                )
        if layout.full:
            return
        if self.canvas_lengths != (spec.canvas_length,):
            raise ConfigError(
                f"canvas_lengths is {list(self.canvas_lengths)} and {read}; allowed: [{spec.canvas_length}], the "
                "length of a block"
            )
        if self.gap_share > 0.0:
            raise ConfigError(f"gap_share is {self.gap_share} and {read}; allowed: 0")
        layout.check_trainable()

    def at(self, share_done: float) -> PackingConfig:
        """The settings at a point of the run."""
        if not self.canvas_from:
            return self
        allowed = [
            length for length, share in zip(self.canvas_lengths, self.canvas_from, strict=True) if share_done >= share
        ]
        return dataclasses.replace(self, canvas_lengths=tuple(allowed), canvas_from=())


@dataclass(frozen=True)
class PackedBatch:
    """Rows of clean halves and canvases, before corruption. All tensors are int64 [B, T]."""

    tokens_BT: Tensor
    """Clean tokens, also on the canvases."""
    targets_BT: Tensor
    """Next token on clean positions of a response, own token on canvases, IGNORED elsewhere."""
    positions_BT: Tensor
    """Rotary positions, counted from the document's start."""
    documents_BT: Tensor
    """Index of each position's document within the row; -1 is padding."""
    canvases_BT: Tensor
    """0 on clean positions; on a canvas its number within the row, from 1."""
    starts_BT: Tensor
    """On a canvas, the position it starts at; 0 on clean positions."""
    before_BT: Tensor
    """At the first position of a canvas, the clean token before it; -1 elsewhere."""
    given_BT: Tensor
    """1 at given canvas positions, such as those around a gap; 0 elsewhere."""
    lengths_BT: Tensor
    """At the last token of a causal prompt, the number of tokens of its response; 0 elsewhere."""
    answers_BT: Tensor
    """On a canvas, index of the response token that belongs there; -1 elsewhere, and for end tokens that only pad."""
    teachers: tuple[tuple[Targets | None, ...], ...] = field(default=(), kw_only=True)
    """For each row, `Document.teacher` of its documents."""
    layout: PrefixLayout = field(default=PrefixLayout(DEFAULT), kw_only=True)
    """How the model will generate."""

    @property
    def num_tokens(self) -> int:
        """Number of positions without padding."""
        return int((self.documents_BT >= 0).sum())

    @property
    def moved(self) -> bool:
        """Whether canvases are read one position to the left, from the last clean token before them, and without their
        own last token; see `PrefixLayout`."""
        return bool(self.layout.canvas_shift)

    @property
    def shift(self) -> int:
        """How many positions before a canvas position its prediction is in the row."""
        return self.layout.logits_shift

    @property
    def read_given_BT(self) -> Tensor:
        """int64; 1 where the token read is given."""
        if not self.moved:
            return self.given_BT
        return torch.where(self.canvases_BT > 0, shift_right(self.given_BT, self.before_BT.clamp_max(0)), 0)

    def inputs(self, tokens_BT: Tensor) -> tuple[Tensor, Tensor, Reads]:
        """The model's inputs: tokens, rotary positions, and which position attends to which.

        Args:
            tokens_BT: int64; the clean tokens, or with noise on the canvases.

        Returns:
            tokens_BT, positions_BT: int64.
            reads: see `Reads`.
        """
        canvas_BT = self.canvases_BT > 0
        positions_BT, starts_BT = self.positions_BT, self.starts_BT
        if self.moved:
            tokens_BT = torch.where(canvas_BT, shift_right(tokens_BT, self.before_BT), tokens_BT)
            positions_BT, starts_BT = positions_BT - canvas_BT.long(), starts_BT - canvas_BT.long()
        if self.layout.full:
            indices_BT, ends_BT = positions_BT, torch.full_like(positions_BT, _NOWHERE)
        else:
            block = self.layout.block
            indices_BT = torch.where(canvas_BT, _NOWHERE, positions_BT)
            ends_BT = torch.where(canvas_BT, starts_BT, (positions_BT // block + 1) * block)
        reads = Reads(*(one.int() for one in (self.documents_BT, self.canvases_BT, indices_BT, ends_BT)))
        return tokens_BT, positions_BT, reads


class Reads(NamedTuple):
    """Which position of a row attends to which, in a few int32 numbers per position [B, T].

    A position attends to those of its document with an index below its end, and a canvas to all of itself. Padding
    attends to padding.
    """

    documents_BT: Tensor
    canvases_BT: Tensor
    """As in `PackedBatch`."""
    indices_BT: Tensor
    """Index in the document; _NOWHERE if only the position's canvas attends to it."""
    ends_BT: Tensor
    """End of the indices it attends to."""

    def at(self, index_BS: Tensor) -> Reads:
        """These numbers at some positions, by index."""
        return Reads(*(one.gather(1, index_BS) for one in self))

    def mask(self, device: torch.device) -> Tensor:
        """bool [B, 1, T, T], True where a query may attend to a key.

        Built where it is used: for 32 rows of 2,048 it has 134 MB, and takes a CPU core half a second.
        """
        documents, canvases, indices, ends = (one.to(device) for one in self)
        number_BT = torch.where(canvases == 0, -1, canvases)
        mask_BTT = documents[:, :, None] == documents[:, None, :]
        mask_BTT &= indices[:, None, :] < ends[:, :, None]
        mask_BTT |= number_BT[:, None, :] == canvases[:, :, None]
        return mask_BTT[:, None]


def shift_right(tokens_BT: Tensor, before_BT: Tensor) -> Tensor:
    """Each token one position to the right, after `PackedBatch.before_BT` at a canvas's start."""
    return torch.where(before_BT >= 0, before_BT, tokens_BT.roll(1, dims=1))


def deciding(hidden_BTD: Tensor, shift: int) -> Tensor:
    """At each canvas position, the hidden state that predicts its token, by `PackedBatch.shift`."""
    return hidden_BTD.roll(shift, dims=1) if shift else hidden_BTD


@dataclass
class _Piece:
    """A contiguous piece of a row: a document's clean half, or a canvas."""

    tokens: Sequence[int]
    targets: Sequence[int]
    first: int
    """Its start in the document."""
    canvas: bool = False
    given: tuple[int, int] = (0, 0)
    """Number of its first and of its last tokens that are given."""
    answers: Sequence[int] = ()
    """For a canvas: index of each response token, or -1."""
    length: tuple[int, int] | None = None
    """A position in it, and the number of tokens that follow there."""


@dataclass
class _Row:
    length: int
    columns: list[list[int]] = field(default_factory=lambda: [[] for _ in range(10)])
    teachers: list[Targets | None] = field(default_factory=list)
    num_canvases: int = 0

    @property
    def room(self) -> int:
        return self.length - len(self.columns[0])

    def add(self, pieces: Sequence[_Piece], teacher: Targets | None) -> None:
        clean = pieces[0].tokens
        for piece in pieces:
            self.num_canvases += piece.canvas
            count, first = len(piece.tokens), piece.first
            before, lengths = [-1] * count, [0] * count
            if piece.canvas and first:
                before[0] = clean[first - 1]
            if piece.length is not None:
                lengths[piece.length[0]] = piece.length[1]
            constant = (len(self.teachers), piece.canvas * self.num_canvases, piece.canvas * first)
            head, tail = piece.given
            given = [1] * head + [0] * (count - head - tail) + [1] * tail
            indices = range(first, first + count)
            repeated = ([one] * count for one in constant)
            answers = piece.answers or [-1] * count
            values = (piece.tokens, piece.targets, indices, *repeated, before, given, lengths, answers)
            for column, part in zip(self.columns, values, strict=True):
                column.extend(part)
        self.teachers.append(teacher)


def pack(
    source: Source,
    config: PackingConfig,
    *,
    seed: int,
    step: int,
    end_id: int,
    spec: GenerationSpec = DEFAULT,
    max_tokens: int = 0,
) -> PackedBatch:
    """Draw documents and pack them into one batch.

    Args:
        source: of documents, by seed.
        step: of the batch; with `seed` it determines everything.
        end_id: the end token, which pads the last canvas of a response.
        max_tokens: maximum length of a document, the model's; 0 for any.

    Raises:
        ConfigError: if many documents do not fit an empty row; a few are dropped.
    """
    layout = PrefixLayout(spec)
    rng = random.Random(f"pack {seed} {step}")
    rows = [_Row(config.row_length) for _ in range(config.rows)]
    drawn: list[tuple[int, list[_Piece], Targets | None]] = []
    limits = f"row_length is {config.row_length}" + (f", and the model reads {max_tokens}" if max_tokens else "")
    room, num_too_long = FILL * config.rows * config.row_length, 0
    while room > 0:
        document = source.document(rng.getrandbits(62))
        for pieces in _lay_out(document, config, layout, rng, end_id):
            size = sum(len(piece.tokens) for piece in pieces)
            if size > config.row_length or 0 < max_tokens < document.num_tokens:
                num_too_long += 1
                if num_too_long > _MAX_TOO_LONG:
                    each = f"{document.num_tokens} tokens, and with its canvases {size} positions"
                    raise ConfigError(f"many documents of one batch do not fit, the last with {each}: {limits}")
                _tell_of_long(limits)
                continue
            room -= size
            drawn.append((size, pieces, document.teacher))
    # Best fit, largest first. Documents without a row are dropped; the next batch draws again.
    for size, pieces, teacher in sorted(drawn, key=lambda entry: -entry[0]):
        row = min((row for row in rows if row.room >= size), key=lambda row: row.room, default=None)
        if row is not None:
            row.add(pieces, teacher)
    fill = (end_id, IGNORED, 0, -1, 0, 0, -1, 0, 0, -1)
    columns = [torch.tensor([row.columns[i] + [value] * row.room for row in rows]) for i, value in enumerate(fill)]
    return PackedBatch(*columns, teachers=tuple(tuple(row.teachers) for row in rows), layout=layout)


@functools.cache
def _tell_of_long(limits: str) -> None:
    _LOG.warning("documents that do not fit with their canvases are left out: %s", limits)


def _lay_out(
    document: Document, config: PackingConfig, layout: PrefixLayout, rng: random.Random, end_id: int
) -> list[list[_Piece]]:
    """Pieces that attend to each other: the clean half, then every copy of every canvas; with a full prefix, each copy
    of each canvas after its own clean half."""
    prompt, response = list(document.prompt), list(document.response)
    with_response = rng.random() < config.ar_share
    canvases: list[list[int]] = []
    head, tail, first, num_known = 0, 0, len(prompt), len(response)
    if config.gap_share and rng.random() < config.gap_share:
        before, num_known, canvas, tail = _with_gap(response, rng, end_id, max_canvas=max(config.canvas_lengths))
        canvases, first = [canvas], first + before
    elif config.canvas_lengths:
        head = len(prompt) - layout.num_whole(len(prompt))
        first -= head
        waiting = prompt[first:] + response
        enough = [n for n in sorted(config.canvas_lengths) if n >= len(waiting)] or [max(config.canvas_lengths)]
        length = next((n for n in enough[:-1] if rng.random() < 0.5), enough[-1])
        if rng.random() < config.cut_share:
            room = config.row_length - len(prompt) - len(response)
            rounded = {n: len(response) + -len(response) % n for n in config.canvas_lengths}
            fitting = [n for n in config.canvas_lengths if config.canvas_copies * rounded[n] <= room]
            length = rng.choice(fitting or [length])
        if not document.ends and (shorter := [n for n in config.canvas_lengths if n <= len(waiting)]):
            length = max(shorter)
            waiting = waiting[: len(waiting) // length * length]
        filled = waiting + [end_id] * (-len(waiting) % length)
        canvases = [filled[i : i + length] for i in range(0, len(filled), length)]
    text = (prompt + response)[:first] + [token for canvas in canvases for token in canvas]
    copies: list[_Piece] = []
    for _ in range(config.canvas_copies):
        offset = first
        for canvas in canvases:
            # Given tokens of the first canvas.
            known = head if offset == first else 0
            wanted = [IGNORED] * known + canvas[known : len(canvas) - tail] + [IGNORED] * tail
            answer_start = offset - len(prompt)
            answers = [i if 0 <= i < num_known else -1 for i in range(answer_start, answer_start + len(canvas))]
            copies.append(_Piece(canvas, wanted, offset, canvas=True, given=(known, tail), answers=answers))
            offset += len(canvas)
    if layout.full:
        return [[_Piece(text[: copy.first], [IGNORED] * copy.first, 0), copy] for copy in copies]
    clean = text[: copies[-1].first] if copies else []
    if with_response:
        clean = prompt + response
    targets = [IGNORED] * len(clean)
    if with_response:
        targets[len(prompt) - 1 : -1] = response
    if config.prompt_share and rng.random() < config.prompt_share:
        targets[: len(prompt) - 1] = prompt[1:]
    length_read = (len(prompt) - 1, len(response)) if layout.causal and document.ends else None
    return [[_Piece(clean, targets, 0, length=length_read), *copies]]


def _with_gap(
    response: Sequence[int], rng: random.Random, end_id: int, *, max_canvas: int
) -> tuple[int, int, list[int], int]:
    """A canvas of some interval of the response, which may be empty, with blanks after it, and the text that follows.

    Returns:
        The interval's start and end in the response, the canvas, and how many of its last tokens are given.
    """
    start, end = sorted(rng.choices(range(len(response)), k=2))
    end = min(end, start + max_canvas - 1)
    # Few blanks more often than many.
    blanks = max(int((GAP_BLANKS + 1) * rng.random() ** 2), int(start == end))
    slots = min(end - start + blanks, max_canvas - 1)
    gap = [*response[start:end], *[end_id] * blanks][:slots]
    suffix = list(response[end:])[: max_canvas - slots]
    return start, end, gap + suffix, len(suffix)
