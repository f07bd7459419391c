"""A teacher's predictions at canvas positions, stored with the documents or computed on the fly."""

# B rows, T positions of a row, S positions the teacher reads, N taught positions, K likeliest tokens

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sfumato.data.packing import IGNORED, PackedBatch
from sfumato.data.shards import Targets
from sfumato.models.decoder import Decoder
from sfumato.models.model import Attention
from sfumato.models.sparse import select_masked_attention


@dataclass(frozen=True)
class StoredTarget:
    """A teacher's predictions stored with the documents."""

    taught_BT: Tensor
    """bool, where there are predictions."""
    ids_NK: Tensor
    """int64."""
    log_probs_NK: Tensor
    """float32."""

    def topk(self, teacher: Decoder | None, top: int) -> tuple[Tensor, Tensor]:
        """See `TeacherPass`; no model is run."""
        return self.ids_NK[:, :top], self.log_probs_NK[:, :top]


@dataclass(frozen=True)
class TeacherPass:
    """The teacher's inputs, and the positions its predictions are for."""

    tokens_BS: Tensor
    """int64; clean halves only, or whole rows with less noise."""
    positions_BS: Tensor
    """int64 rotary positions."""
    attention: Attention
    canvas_BS: Tensor
    """bool, True on canvases."""
    given_BS: Tensor
    """bool, where the token read is given."""
    place_BT: Tensor
    """int64; for each position of the batch, the teacher position that predicts its token."""
    taught_BT: Tensor
    """bool, where there is one."""

    @torch.no_grad()
    def topk(self, teacher: Decoder | None, top: int) -> tuple[Tensor, Tensor]:
        """The likeliest tokens at each of those positions.

        Returns:
            ids_NK: int64.
            log_probs_NK: float32, in nats, of up to `top` tokens.
        """
        assert teacher is not None, "the teacher is given"
        marks = {"given_RQ": self.given_BS} if teacher.config.given_embedding else {}
        hidden_BSD = teacher(self.tokens_BS, self.positions_BS, self.attention, canvas_RQ=self.canvas_BS, **marks)
        rows_B1 = torch.arange(len(hidden_BSD), device=hidden_BSD.device)[:, None]
        hidden_ND = hidden_BSD[rows_B1, self.place_BT.clamp_min(0)][self.taught_BT]
        wanted_NV = teacher.logits(hidden_ND).log_softmax(-1)
        log_probs_NK, ids_NK = wanted_NV.topk(min(top, wanted_NV.shape[-1]), dim=-1)
        return ids_NK, log_probs_NK


DistillationTarget = StoredTarget | TeacherPass
"""A teacher's predictions for a batch."""


def stored_target(batch: PackedBatch, on_canvas_BT: Tensor, device: torch.device) -> StoredTarget | None:
    """Stored predictions of all documents, concatenated."""
    firsts_BM = torch.full((len(batch.teachers), max(map(len, batch.teachers)) + 1), -1)
    targets: list[Targets] = []
    count = 0
    for row, teachers in enumerate(batch.teachers):
        for document, teacher in enumerate(teachers):
            if teacher is not None:
                firsts_BM[row, document] = count
                targets.append(teacher)
                count += len(teacher.tokens_N)
    if not targets:
        return None
    # Padding, document -1, reads the last column.
    first_BT = firsts_BM.gather(1, batch.documents_BT % firsts_BM.shape[1])
    taught_BT = on_canvas_BT & (first_BT >= 0) & (batch.answers_BT >= 0)
    line_N = (first_BT + batch.answers_BT)[taught_BT].numpy()
    ids_NK = np.concatenate([one.ids_NK for one in targets])[line_N]
    log_probs_NK = np.concatenate([one.log_probs_NK for one in targets])[line_N]
    return StoredTarget(
        taught_BT=taught_BT.to(device),
        ids_NK=torch.from_numpy(ids_NK).to(device).long(),
        log_probs_NK=torch.from_numpy(log_probs_NK).to(device).float(),
    )


def clean_target(batch: PackedBatch, on_canvas_BT: Tensor, device: torch.device) -> TeacherPass:
    """Teacher inputs of clean halves; a canvas token's prediction is one position before it."""
    clean_BT = (batch.canvases_BT == 0) & (batch.documents_BT >= 0)
    width = max(1, int(clean_BT.sum(1).max()))
    index_BS = (~clean_BT).long().argsort(dim=1, stable=True)[:, :width]
    _, positions_BT, reads = batch.inputs(batch.tokens_BT)
    # Index of each document position whose next token is known.
    size = int(batch.documents_BT.max()) + 1, int(batch.positions_BT.max()) + 2
    table = torch.full((len(clean_BT), *size), -1)
    documents_BS, own_BS = batch.documents_BT.gather(1, index_BS), batch.positions_BT.gather(1, index_BS)
    known_BS = (clean_BT & (batch.targets_BT != IGNORED)).gather(1, index_BS)
    row_N, column_N = known_BS.nonzero(as_tuple=True)
    table[row_N, documents_BS[known_BS], own_BS[known_BS] + 1] = column_N
    rows_B1 = torch.arange(len(table))[:, None]
    place_BT = table[rows_B1, batch.documents_BT.clamp_min(0), batch.positions_BT]
    nowhere_BS = torch.zeros_like(index_BS, dtype=torch.bool, device=device)
    return TeacherPass(
        tokens_BS=batch.tokens_BT.gather(1, index_BS).to(device),
        positions_BS=positions_BT.gather(1, index_BS).to(device),
        attention=select_masked_attention(reads.at(index_BS).mask(device)),
        canvas_BS=nowhere_BS,
        given_BS=nowhere_BS,
        place_BT=place_BT.to(device),
        taught_BT=(on_canvas_BT & (batch.answers_BT >= 0) & (place_BT >= 0)).to(device),
    )


def canvas_target(batch: PackedBatch, easier_BT: Tensor, on_canvas_BT: Tensor, device: torch.device) -> TeacherPass:
    """The same rows with less noise."""
    tokens_BT, positions_BT, reads = batch.inputs(easier_BT)
    return TeacherPass(
        tokens_BS=tokens_BT.to(device),
        positions_BS=positions_BT.to(device),
        attention=select_masked_attention(reads.mask(device)),
        canvas_BS=(batch.canvases_BT > 0).to(device),
        given_BS=(batch.read_given_BT > 0).to(device),
        place_BT=(torch.arange(tokens_BT.shape[1])[None] - batch.shift).expand_as(tokens_BT).to(device),
        taught_BT=on_canvas_BT.to(device),
    )
