"""Results of a report's items, one JSON line each, saved as soon as it is known."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.config import changes, read_json
from sfumato.errors import CheckpointError, ConfigError
from sfumato.storage import write_json

_KINDS = ("systems", "tasks")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One item: answered, refused, or failed."""

    system: str
    task: str
    index: int
    """Index of the item within the task."""
    prompt: str
    seed: int
    answer: str | None = None
    """None if there was no answer; then `error` says why, and the item enters no score."""
    right: bool | None = None
    judged_by: str = ""
    """Hash of what judged the answer: the item with its solution, and the checker's code."""
    error: str | None = None
    refused: bool = False
    """Whether the system can never answer it, for example because the prompt is too long."""
    finish_reason: str = ""
    usage: dict[str, float] = field(default_factory=dict)
    first_s: float | None = None
    total_s: float = 0.0
    attempts: int = 1
    first_right: bool | None = None
    """Whether the answer was right when first accepted; None if it was not revised, or unknown."""

    @property
    def key(self) -> tuple[str, str, int]:
        """Identity of the item."""
        return self.system, self.task, self.index


class Records:
    """The records of a report in results.jsonl, with their meaning in suite.json.

    An incomplete line from a killed process is dropped and its item is asked again; so are failed items.

    Args:
        directory: of the report; created if missing.
        meaning: version and seed, and the definitions of systems and tasks by name. New names may be added.
        check: gives a record as it counts now, judged anew if it has to be, or None if its prompt is no longer asked.

    Raises:
        ConfigError: if the directory has results of another version or seed, or of another definition of a name, or an
            invalid line.
    """

    def __init__(self, directory: Path, meaning: dict[str, Any], check: Callable[[Record], Record | None]) -> None:
        self._path = directory / "results.jsonl"
        self._done: dict[tuple[str, str, int], Record] = {}
        known = directory / "suite.json"
        before: dict[str, Any] = {kind: {} for kind in _KINDS}
        found = self._read() if self._path.exists() else {}
        if known.exists():
            try:
                before |= read_json(known)
            except CheckpointError as error:
                raise ConfigError(f"{error}; remove {directory}, or use another") from None
            if differences := _differences(before, meaning, found.values()):
                raise ConfigError(
                    f"{directory} has other results: {differences[0]}; give another directory, or remove it"
                )
        merged = before | meaning
        for kind in _KINDS:
            merged[kind] = before[kind] | meaning[kind]
        write_json(known, merged)
        self._file = self._path.open("ab")
        for record in found.values():
            checked = check(record)
            if checked is not None and checked != record:
                self.add(checked)
            elif checked is not None:
                self._done[record.key] = record

    def _read(self) -> dict[tuple[str, str, int], Record]:
        """The records of the file, the latest of each item."""
        found = {}
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.split(b"\n")[:-1], 1):
            try:
                record = Record(**json.loads(line))
            except (ValueError, TypeError):
                raise ConfigError(
                    f"{self._path}, line {number}, is not a record; remove it to ask its item again"
                ) from None
            found[record.key] = record
        if len(whole) < len(content):
            with self._path.open("r+b") as file:
                file.truncate(len(whole))
        return found

    def __iter__(self) -> Iterator[Record]:
        """All known records, the latest of each item."""
        return iter(self._done.values())

    def __contains__(self, key: tuple[str, str, int]) -> bool:
        """Whether an item needs no further attempt."""
        found = self._done.get(key)
        return found is not None and (found.error is None or found.refused)

    def add(self, record: Record) -> None:
        """Save a record; when this returns, it is on disk."""
        self._done[record.key] = record
        self._file.write(json.dumps(asdict(record), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def _differences(before: dict[str, Any], now: dict[str, Any], records: Collection[Record]) -> list[str]:
    """See `changes`; a system or task without records may differ."""
    used = {"systems": {record.system for record in records}, "tasks": {record.task for record in records}}
    shared = {kind: used[kind] & before[kind].keys() & now[kind].keys() for kind in _KINDS}

    def compared(table: dict[str, Any]) -> dict[str, Any]:
        return table | {kind: {name: table[kind][name] for name in names} for kind, names in shared.items()}

    return changes(compared(before), compared(now))
