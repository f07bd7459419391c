"""Directories of written conversations: JSONL shards, a manifest that lists the valid ones, and a teacher's
predictions.

A shard is written by rename and counts once the manifest lists it, which is replaced afterwards. A kill at any moment
leaves complete shards and at most one unlisted file, which is rewritten byte for byte.
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

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A shard's entry in the manifest."""

    name: str
    """File name, without the suffix."""
    start: int
    """Index of the first conversation sampled for it."""
    stop: int
    """Index after the last one."""
    kept: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    turn_tokens: int = 0
    answer_tokens: int = 0

    @property
    def file(self) -> str:
        return f"{self.name}.jsonl"

    @property
    def teacher_file(self) -> str:
        """Name of the file with the teacher's log-probabilities, if any."""
        return f"{self.name}.teacher.safetensors"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Contents of a directory of shards, and how it was made."""

    model: Mapping[str, Any]
    settings: Mapping[str, Any]
    shards: tuple[Shard, ...] = ()

    @property
    def sampled(self) -> int:
        return self.shards[-1].stop if self.shards else 0

    @property
    def kept(self) -> int:
        return sum(shard.kept for shard in self.shards)

    @property
    def dropped(self) -> dict[str, int]:
        return dict(sorted(sum((Counter(shard.dropped) for shard in self.shards), Counter()).items()))

    @property
    def tokens(self) -> dict[str, int]:
        return {
            "turns": sum(shard.turn_tokens for shard in self.shards),
            "answers": sum(shard.answer_tokens for shard in self.shards),
        }

    def with_shard(self, shard: Shard) -> Manifest:
        return dataclasses.replace(self, shards=(*self.shards, shard))

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the fields, and totals over all shards."""
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
            CheckpointError: if it is missing or invalid.
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
            raise CheckpointError(f"{path} is not a manifest of shards: {error}") from error


class Targets(NamedTuple):
    """A teacher's predictions for one answer."""

    tokens_N: Array
    """int32; the answer's tokens, with its end token, that the log-probabilities are for."""
    ids_NK: Array
    """int32; the likeliest tokens at each of them, likeliest first."""
    log_probs_NK: Array
    """float16; their log-probabilities given the conversation before that token, in nats."""


def write_shard(
    directory: Path, shard: Shard, records: Sequence[Mapping[str, Any]], targets: Sequence[Targets] | None = None
) -> None:
    """Write a shard. It counts once a saved manifest lists it.

    Args:
        directory: created if missing.
        records: one per line.
        targets: teacher predictions for their answers.

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
            # Start of each answer, then the end of the last one.
            "offsets": np.cumsum([0, *(len(one.tokens_N) for one in targets)], dtype=np.int64),
        }
        write_atomically(directory / shard.teacher_file, save(arrays))
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    write_atomically(directory / shard.file, "".join(lines).encode())


def read_shards(directory: Path, manifest: Manifest) -> Iterator[dict[str, Any]]:
    """The lines of all shards in a manifest.

    Raises:
        CheckpointError: if a shard is missing, or has the wrong number of lines.
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
    """Teacher predictions for all documents of a directory, in the order of `sources.read_records`.

    Raises:
        CheckpointError: if there is no manifest, or a shard's file is missing or does not fit the shard.
    """
    found: list[Targets] = []
    for shard in Manifest.load(directory).shards:
        path = directory / shard.teacher_file
        try:
            arrays = load_file(path)
            columns = [arrays[name] for name in ("tokens", "ids", "log_probs")]
            answers = [
                Targets(*(column[start:end] for column in columns))
                for start, end in pairwise(arrays["offsets"].tolist())
            ]
            lengths = {len(column) for column in columns} | {int(arrays["offsets"][-1])}
        except (OSError, KeyError, IndexError, safetensors.SafetensorError) as error:
            raise CheckpointError(f"{path} holds no log-probabilities of a teacher: {error}") from error
        if len(answers) != shard.kept or len(lengths) != 1:
            raise CheckpointError(
                f"{path} is about {len(answers)} answers of {sorted(lengths)} tokens; "
                f"the shard has {shard.kept} answers"
            )
        found += answers
    return found
