"""One run: conversations into a directory of shards, from where the last run stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.config import changes
from sfumato.data.dedup import Repeated
from sfumato.data.shards import MANIFEST, Manifest, Shard, read_shards, write_shard
from sfumato.engine.model import TextModel
from sfumato.errors import ConfigError, RequestError
from sfumato.synthesis.conversations import Conversation, Conversations, SynthesisConfig
from sfumato.synthesis.teacher import teacher_targets


class Synthesis:
    """Conversations of one model in one directory.

    Args:
        model: an autoregressive model with a chat template.
        config: what decides the texts.
        directory: of the shards.
        about: what the manifest says of the model; its name by default.
        rows: see `Conversations`.

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
        # By its last part: data travels further than the paths of the machine it was made on.
        about = {"name": Path(model.name).name} if about is None else about
        self.manifest = Manifest(model=dict(about), settings=_plain(config))
        """What the directory holds so far."""

    def start(self) -> None:
        """Begin a directory.

        Raises:
            ConfigError: if it holds shards already.
            CheckpointError: if it cannot be written.
        """
        if any(self._directory.glob("*.jsonl")) or (self._directory / MANIFEST).exists():
            raise ConfigError(f"{self._directory} holds shards already: go on with --resume, or give another directory")
        self.manifest.save(self._directory)

    def resume(self) -> None:
        """Go on after the last whole shard of the directory.

        Raises:
            ConfigError: if it was begun with other settings, or by another model.
            CheckpointError: if it has no manifest, or a shard that the manifest names is not as it was written.
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
        """Write conversations until so many were sampled, those of earlier runs included.

        Args:
            n: conversations to sample, 1 or more; fewer are kept.
            on_shard: called after each shard.

        Raises:
            ConfigError: if n is not allowed.
            CheckpointError: if a shard cannot be written; those before it stay.
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
    """The settings as JSON gives them back; of topics, how many there are and a digest."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    digest = hashlib.sha256("\n".join(config.topics).encode()).hexdigest()
    return {**values, "topics": {"count": len(config.topics), "sha256": digest} if config.topics else None}
