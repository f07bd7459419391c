"""Writes conversations to a directory of shards, resumably, with a teacher's likeliest tokens.

The teacher is the model itself: its predictions at each answer token, given the clean text before it.
"""

# R documents, Q positions, N tokens of answers, D model, V vocab, K likeliest tokens

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato.config import changes
from sfumato.data.filters import Repeated
from sfumato.data.packing import Document
from sfumato.data.shards import MANIFEST, Manifest, Shard, Targets, read_shards, write_shard
from sfumato.engine.model import TextModel
from sfumato.errors import ConfigError, RequestError
from sfumato.models.model import AttentionSpec, Model
from sfumato.synthesis.conversations import Conversation, Conversations, SynthesisConfig


class Synthesis:
    """The conversations of one model in one directory.

    Args:
        model: an autoregressive model with a chat template.
        about: the manifest's description of the model; its name by default.

    Raises:
        RequestError, CapacityError: see `Conversations`; also if there are fewer tokens than top_k.
    """

    def __init__(
        self,
        model: TextModel,
        config: SynthesisConfig,
        directory: Path,
        *,
        about: Mapping[str, Any] | None = None,
        rows: int = 64,
    ) -> None:
        if config.top_k > model.decoder.config.vocab_size:
            raise RequestError(
                f"top_k is {config.top_k}; allowed: 0 to {model.decoder.config.vocab_size}, the tokens of {model.name}"
            )
        self._model, self._config, self._directory = model, config, directory
        self._conversations = Conversations(model, config, rows)
        self._repeated = Repeated(config.filters.near_duplicate, config.filters.shingle_words)
        # Only its last part: data travels further than this machine's paths.
        about = {"name": Path(model.name).name} if about is None else about
        self.manifest = Manifest(model=dict(about), settings=_plain(config))
        """Current contents of the directory."""

    def start(self) -> None:
        """Start a new directory.

        Raises:
            ConfigError: if it already holds shards.
            CheckpointError: if it cannot be written.
        """
        if any(self._directory.glob("*.jsonl")) or (self._directory / MANIFEST).exists():
            raise ConfigError(
                f"{self._directory} holds shards already: continue with --resume, or give another directory"
            )
        self.manifest.save(self._directory)

    def resume(self) -> None:
        """Continue after the last complete shard of the directory.

        Raises:
            ConfigError: if it was started with other settings, or by another model.
            CheckpointError: if it has no manifest, or a listed shard was changed.
        """
        found = Manifest.load(self._directory)
        before, now = ({**one.model, **one.settings} for one in (found, self.manifest))
        changed = changes(before, now)
        if changed:
            raise ConfigError(
                f"{self._directory} holds a run of other settings: {'; '.join(changed)}. Resume with the same values, "
                "or give another directory"
            )
        for record in read_shards(self._directory, found):
            turn, answer = (message["content"] for message in record["messages"][-2:])
            self._repeated.take(turn, answer)
        self.manifest = found

    def run(self, n: int, on_shard: Callable[[Manifest], None] | None = None) -> Manifest:
        """Write conversations until a total number was sampled, including earlier runs.

        Args:
            n: conversations to sample, 1 or more; fewer are kept.

        Raises:
            ConfigError: if n is not allowed.
            CheckpointError: if a shard cannot be written; earlier ones are kept.
        """
        if n < 1:
            raise ConfigError(f"n is {n}; allowed: 1 or more")
        while self.manifest.sampled < n:
            start = self.manifest.sampled
            self._write_shard(range(start, min(n, start + self._config.shard_size)))
            if on_shard is not None:
                on_shard(self.manifest)
        return self.manifest

    def _write_shard(self, indices: range) -> None:
        kept: list[Conversation] = []
        dropped: Counter[str] = Counter()
        for conversation in self._conversations.write(indices):
            reason = conversation.dropped
            if reason is None:
                turn, answer = (message["content"] for message in conversation.messages[-2:])
                reason = self._repeated.take(turn, answer)
            if reason is None:
                kept.append(conversation)
            else:
                dropped[reason] += 1
        documents = [conversation.document for conversation in kept if conversation.document is not None]
        shard = Shard(
            name=f"shard-{len(self.manifest.shards):06}",
            start=indices.start,
            stop=indices.stop,
            kept=len(kept),
            dropped=dict(sorted(dropped.items())),
            turn_tokens=sum(conversation.turn_tokens for conversation in kept),
            answer_tokens=sum(len(document.response) for document in documents),
        )
        top_k = self._config.top_k
        teacher = teacher_targets(self._model.decoder, documents, top_k) if top_k else None
        write_shard(self._directory, shard, [conversation.to_dict() for conversation in kept], teacher)
        self.manifest = self.manifest.with_shard(shard)
        self.manifest.save(self._directory)


def _plain(config: SynthesisConfig) -> dict[str, Any]:
    """The settings as plain JSON values; topics as a count and a digest."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    digest = hashlib.sha256("\n".join(config.topics).encode()).hexdigest()
    return {**values, "topics": {"count": len(config.topics), "sha256": digest} if config.topics else None}


_POSITIONS = 4096
"""Maximum positions per forward, including padding, unless one document has more."""
_LOGITS = 256
"""Answer tokens whose logits are in memory at once."""


@torch.inference_mode()
def teacher_targets(model: Model, documents: Sequence[Document], top_k: int) -> list[Targets]:
    """The likeliest tokens at each response token, with their log-probabilities at temperature 1.

    Args:
        model: autoregressive, with logits one position to the left.
        documents: conversations with non-empty prompts.
        top_k: tokens per position, up to the vocabulary.

    Returns:
        Teacher predictions for the responses, in the order of the documents.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(documents)), key=lambda i: (documents[i].num_tokens, i)):
        # The last one is the longest.
        if not batches or (len(batches[-1]) + 1) * documents[i].num_tokens > _POSITIONS:
            batches.append([])
        batches[-1].append(i)
    targets: dict[int, Targets] = {}
    for batch in batches:
        targets |= zip(batch, _targets(model, [documents[i] for i in batch], top_k), strict=True)
    return [targets[i] for i in range(len(documents))]


def _targets(model: Model, documents: Sequence[Document], top_k: int) -> list[Targets]:
    device = model.device
    # The last token of a response is predicted, but nothing reads it.
    texts = [[*document.prompt, *document.response[:-1]] for document in documents]
    # Padded to multiples of eight like the engine's forwards; the padding follows the text and is not read.
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
