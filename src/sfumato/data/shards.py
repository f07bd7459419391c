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
from functools import cached_property
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
    """Index behind the last one."""
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


class TeacherShard:
    """A teacher's likeliest tokens for the answers of one shard.

    Args:
        tokens_N: int32; the tokens of all answers, one after the other.
        ids_NK: int32.
        log_probs_NK: float16.
        offsets: int64, one more than answers: where each begins, and where the last one ends.

    Raises:
        CheckpointError: if the arrays do not fit each other.
    """

    def __init__(self, tokens_N: Array, ids_NK: Array, log_probs_NK: Array, offsets: Array) -> None:
        fits = (
            ids_NK.ndim == 2
            and ids_NK.shape == log_probs_NK.shape
            and tokens_N.shape == ids_NK.shape[:1]
            and offsets.ndim == 1
            and len(offsets) > 0
            and offsets[0] == 0
            and offsets[-1] == len(tokens_N)
            and bool((np.diff(offsets) >= 0).all())
        )
        if not fits:
            shapes = [tuple(array.shape) for array in (tokens_N, ids_NK, log_probs_NK, offsets)]
            raise CheckpointError(
                f"tokens, ids, log_probs and offsets have the shapes {shapes}; allowed: [N], [N, K], [N, K], and where "
                "answers begin, from 0 to N"
            )
        self._tokens_N, self._ids_NK, self._log_probs_NK, self._offsets = tokens_N, ids_NK, log_probs_NK, offsets

    @classmethod
    def of(cls, targets: Sequence[Targets], top_k: int) -> TeacherShard:
        """Put the views of several answers into one."""
        empty_NK = np.zeros((0, top_k))
        return cls(
            np.concatenate([np.zeros(0), *(one.tokens_N for one in targets)]).astype(np.int32),
            np.concatenate([empty_NK, *(one.ids_NK for one in targets)]).astype(np.int32),
            np.concatenate([empty_NK, *(one.log_probs_NK for one in targets)]).astype(np.float16),
            np.cumsum([0, *(len(one.tokens_N) for one in targets)], dtype=np.int64),
        )

    @classmethod
    def load(cls, path: Path) -> TeacherShard:
        """Read a file.

        Raises:
            CheckpointError: if it is missing, or is not what `write_shard` writes.
        """
        try:
            tensors = load_file(path)
            return cls(tensors["tokens"], tensors["ids"], tensors["log_probs"], tensors["offsets"])
        except (OSError, KeyError, CheckpointError, safetensors.SafetensorError) as error:
            raise CheckpointError(f"{path} holds no log-probabilities of a teacher: {error}") from error

    def to_bytes(self) -> bytes:
        """The file."""
        arrays = {
            "tokens": self._tokens_N,
            "ids": self._ids_NK,
            "log_probs": self._log_probs_NK,
            "offsets": self._offsets,
        }
        return save(arrays)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> Targets:
        """The view of the answer in one line of the shard.

        Raises:
            IndexError: if there is no such line.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"answer {index}; allowed: 0 to {len(self) - 1}")
        own = slice(int(self._offsets[index]), int(self._offsets[index + 1]))
        return Targets(self._tokens_N[own], self._ids_NK[own], self._log_probs_NK[own])


class TeacherTargets:
    """A teacher's view of all documents of a directory, numbered as `sources.read_records` lists them.

    Args:
        directory: of shards that were written with the teacher's log-probabilities.

    Raises:
        CheckpointError: if it has no manifest, or the file of a shard is missing or does not fit the shard.
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._manifest = directory, Manifest.load(directory)
        self._firsts = np.cumsum([0, *(shard.kept for shard in self._manifest.shards)])

    def __len__(self) -> int:
        return self._manifest.kept

    def __getitem__(self, index: int) -> Targets:
        """The view of one document.

        Raises:
            IndexError: if there is no such document.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"document {index}; allowed: 0 to {len(self) - 1}")
        place = int(np.searchsorted(self._firsts, index, side="right")) - 1
        return self._shards[place][index - int(self._firsts[place])]

    @cached_property
    def _shards(self) -> list[TeacherShard]:
        shards = []
        for shard in self._manifest.shards:
            path = self._directory / shard.teacher_file
            shards.append(TeacherShard.load(path))
            if len(shards[-1]) != shard.kept:
                raise CheckpointError(f"{path} is about {len(shards[-1])} answers; the shard has {shard.kept}")
        return shards


def write_shard(
    directory: Path, shard: Shard, records: Sequence[Mapping[str, Any]], teacher: TeacherShard | None = None
) -> None:
    """Write a shard. It counts once a manifest that names it is saved.

    Args:
        directory: where; made if need be.
        shard: what the manifest will say.
        records: a line each.
        teacher: a teacher's view of their answers.

    Raises:
        CheckpointError: if it cannot be written.
    """
    if teacher is not None:
        write_atomically(directory / shard.teacher_file, teacher.to_bytes())
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
