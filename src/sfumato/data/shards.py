"""Directories of written conversations: JSONL shards, a manifest that says which of them count, and a teacher's view.

A shard is written by rename and counts once the manifest names it, which is replaced behind it. So a program that is
killed at any moment leaves a directory of whole shards, and at most one file that the manifest does not know, which is
written again, byte for byte.
"""

# N tokens of answers, K likeliest tokens of each

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
from safetensors.numpy import load_file, save

from sfumato.errors import CheckpointError
from sfumato.storage import write_atomically

MANIFEST = "manifest.json"
_TEACHER_SUFFIX = ".teacher.safetensors"

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One shard, as the manifest tells of it."""

    name: str
    """Of its file, without the suffix."""
    start: int
    """Index of the first conversation that was sampled for it."""
    stop: int
    """Index after the last one."""
    kept: int
    """Conversations in it."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Conversations that are not in it, by what was wrong with them."""
    turn_tokens: int = 0
    """Tokens of the users' turns in it."""
    answer_tokens: int = 0
    """Tokens of the answers in it."""

    @property
    def file(self) -> str:
        """Name of the JSONL file."""
        return f"{self.name}.jsonl"

    @property
    def teacher_file(self) -> str:
        """Name of the file with the teacher's log-probabilities, if there is one."""
        return f"{self.name}{_TEACHER_SUFFIX}"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a directory of shards holds, and how it was made."""

    model: Mapping[str, Any]
    """Which model wrote it."""
    settings: Mapping[str, Any]
    """How."""
    shards: tuple[Shard, ...] = ()
    """Its shards, in order."""

    @property
    def sampled(self) -> int:
        """Conversations sampled."""
        return self.shards[-1].stop if self.shards else 0

    @property
    def kept(self) -> int:
        """Conversations kept."""
        return sum(shard.kept for shard in self.shards)

    @property
    def dropped(self) -> dict[str, int]:
        """Conversations dropped, by what was wrong with them."""
        return dict(sorted(sum((Counter(shard.dropped) for shard in self.shards), Counter()).items()))

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens kept."""
        return {
            "turns": sum(shard.turn_tokens for shard in self.shards),
            "answers": sum(shard.answer_tokens for shard in self.shards),
        }

    def with_shard(self, shard: Shard) -> Manifest:
        """The manifest with one shard more."""
        return dataclasses.replace(self, shards=(*self.shards, shard))

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the fields, and the sums over all shards."""
        return {
            "model": dict(self.model),
            "settings": dict(self.settings),
            "counts": {"sampled": self.sampled, "kept": self.kept, "dropped": self.dropped},
            "tokens": self.tokens,
            "shards": [dataclasses.asdict(shard) | {"dropped": dict(shard.dropped)} for shard in self.shards],
        }

    def save(self, directory: Path) -> None:
        """Replace the manifest of a directory.

        Raises:
            CheckpointError: if it cannot be written.
        """
        write_atomically(directory / MANIFEST, (json.dumps(self.to_dict(), indent=1) + "\n").encode())

    @classmethod
    def load(cls, directory: Path) -> Manifest:
        """Read the manifest of a directory.

        Raises:
            CheckpointError: if there is none, or it is none.
        """
        path = directory / MANIFEST
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            shards = tuple(Shard(**shard) for shard in values["shards"])
            return cls(model=values["model"], settings=values["settings"], shards=shards)
        except FileNotFoundError:
            raise CheckpointError(
                f"no {MANIFEST} in {directory}; give a directory that `sfumato data synth` wrote"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path} is no manifest of shards: {error}") from error


class Targets(NamedTuple):
    """A teacher's view of one answer."""

    tokens_N: Array
    """int32; the tokens of the answer, its end token included: those that the log-probabilities are about."""
    ids_NK: Array
    """int32; at each of them, the likeliest tokens, the likeliest first."""
    log_probs_NK: Array
    """float16; their log-probabilities given the conversation before that token, in nats."""


def write_shard(
    directory: Path, shard: Shard, records: Sequence[Mapping[str, Any]], targets: Sequence[Targets] | None = None
) -> None:
    """Write a shard. It counts once a manifest that names it is saved.

    Args:
        directory: where; made if need be.
        shard: what the manifest will say.
        records: a line each.
        targets: a teacher's view of their answers.

    Raises:
        CheckpointError: if it cannot be written.
    """
    if targets is not None:
        nothing = Targets(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
        tokens_N, ids_NK, log_probs_NK = (
            np.concatenate(column) for column in zip(*(targets or [nothing]), strict=True)
        )
        arrays: dict[str, Array] = {
            "tokens": tokens_N.astype(np.int32),
            "ids": ids_NK.astype(np.int32),
            "log_probs": log_probs_NK.astype(np.float16),
            # Where each answer begins, and where the last one ends.
            "offsets": np.cumsum([0, *(len(one.tokens_N) for one in targets)], dtype=np.int64),
        }
        write_atomically(directory / shard.teacher_file, save(arrays))
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    write_atomically(directory / shard.file, "".join(lines).encode())


def read_shards(directory: Path, manifest: Manifest) -> Iterator[dict[str, Any]]:
    """The lines of all shards that a manifest names.

    Raises:
        CheckpointError: if a shard is missing, or has not the lines that the manifest says.
    """
    for shard in manifest.shards:
        path = directory / shard.file
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        except (OSError, ValueError) as error:
            raise CheckpointError(f"cannot read {path}, which the manifest names: {error}") from error
        if len(lines) != shard.kept:
            raise CheckpointError(f"{path} has {len(lines)} lines; the manifest says {shard.kept}")
        yield from lines


def read_targets(directory: Path) -> list[Targets]:
    """A teacher's view of all documents of a directory, in the order of `sources.read_records`.

    Raises:
        CheckpointError: if there is no manifest, or the file of a shard is missing or does not fit the shard.
    """
    found: list[Targets] = []
    for shard in Manifest.load(directory).shards:
        path = directory / shard.teacher_file
        try:
            arrays = load_file(path)
            columns = [arrays[name] for name in ("tokens", "ids", "log_probs")]
            own = [
                Targets(*(column[start:end] for column in columns))
                for start, end in pairwise(arrays["offsets"].tolist())
            ]
            lengths = {len(column) for column in columns} | {int(arrays["offsets"][-1])}
        except (OSError, KeyError, IndexError, safetensors.SafetensorError) as error:
            raise CheckpointError(f"{path} holds no log-probabilities of a teacher: {error}") from error
        if len(own) != shard.kept or len(lengths) != 1:
            raise CheckpointError(
                f"{path} is about {len(own)} answers of {sorted(lengths)} tokens; the shard has {shard.kept} answers"
            )
        found += own
    return found
