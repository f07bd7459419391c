"""What an autoregressive model would have written at each token of an answer, given the clean text before it."""

# R documents, Q positions, N tokens of answers, D model, V vocab, K likeliest tokens

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sfumato.data.packing import Document
from sfumato.data.shards import Targets
from sfumato.models.attention import AttentionSpec
from sfumato.models.model import Model

_POSITIONS = 4096
"""Most positions of a forward, padding included, unless one document has more."""
_LOGITS = 256
"""Answer tokens whose logits are held at once."""


@torch.inference_mode()
def teacher_targets(model: Model, documents: Sequence[Document], top_k: int) -> list[Targets]:
    """The likeliest tokens at each token of each response, with their log-probabilities at temperature 1.

    Args:
        model: autoregressive, with logits one position to the left.
        documents: conversations, whose prompts have a token at least.
        top_k: tokens at each place, up to the vocabulary.

    Returns:
        A teacher's view of the responses, in the order of the documents.
    """
    targets: dict[int, Targets] = {}
    by_length = sorted(range(len(documents)), key=lambda i: (_length(documents[i]), i))
    batch: list[int] = []
    for i in by_length:
        # The last one is the longest.
        if batch and (len(batch) + 1) * _length(documents[i]) > _POSITIONS:
            targets |= zip(batch, _targets(model, [documents[j] for j in batch], top_k), strict=True)
            batch = []
        batch.append(i)
    if batch:
        targets |= zip(batch, _targets(model, [documents[j] for j in batch], top_k), strict=True)
    return [targets[i] for i in range(len(documents))]


def _length(document: Document) -> int:
    return len(document.prompt) + len(document.response)


def _targets(model: Model, documents: Sequence[Document], top_k: int) -> list[Targets]:
    device = model.device
    # The last token of a response is predicted, and read by nothing.
    texts = [[*document.prompt, *document.response[:-1]] for document in documents]
    # Filled up to whole eights, as the engine's forwards are. What fills a row stands after its text, unread.
    width = -(-max(map(len, texts)) // 8) * 8
    tokens_RQ = torch.tensor([text + [0] * (width - len(text)) for text in texts], device=device)
    positions_RQ = torch.arange(width, device=device).expand_as(tokens_RQ)
    hidden_RQD = model(tokens_RQ, positions_RQ, AttentionSpec(causal=True))
    found = []
    for row, document in enumerate(documents):
        first = len(document.prompt) - 1
        ids_NK, log_probs_NK = _likeliest(model, hidden_RQD[row, first : first + len(document.response)], top_k)
        found.append(Targets(np.array(document.response, dtype=np.int32), ids_NK, log_probs_NK))
    return found


def _likeliest(model: Model, hidden_ND: Tensor, top_k: int) -> tuple[np.ndarray, np.ndarray]:
    ids, log_probs = [], []
    for part_ND in torch.split(hidden_ND, _LOGITS):
        logits_NV = model.logits(part_ND)
        best_NK, ids_NK = logits_NV.topk(top_k, dim=-1)
        ids.append(ids_NK.to(torch.int32).cpu().numpy())
        log_probs.append((best_NK - logits_NV.logsumexp(-1, keepdim=True)).to(torch.float16).cpu().numpy())
    return np.concatenate(ids), np.concatenate(log_probs)
