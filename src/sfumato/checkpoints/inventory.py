"""Lists and removes the models on this machine: embedded, from packages, and in the hub's cache."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sfumato.checkpoints import registry
from sfumato.checkpoints.packaged import PACKAGED, cache_directory, file_of, locate
from sfumato.errors import CheckpointError, unknown

Source = Literal["embedded", "package", "hub", "cache"]
KEPT = "kept"
"""Name of the cache of results computed from models, such as quantized weights."""


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """A model that can be named, even if its files are not here."""

    name: str
    """Name for `find_model`."""
    source: Source
    path: Path | None
    """Directory or file; None if it is not here."""
    size_bytes: int = 0
    """Size of its files."""
    problem: str = ""
    """Why it cannot be loaded, and what to do."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return vars(self) | {"path": None if self.path is None else str(self.path)}


def list_models() -> list[StoredModel]:
    """All embedded and packaged models, and those downloaded from the hub."""
    return [*_list_embedded(), *_list_packaged(), *_list_fetched()]


def find_kept() -> StoredModel | None:
    """The cache of results computed from models, as a whole; None if empty."""
    directory = cache_directory() / KEPT
    files = [path for path in directory.glob("**/*") if path.is_file()]
    size = sum(file.stat().st_size for file in files)
    return StoredModel(name=KEPT, source="cache", path=directory, size_bytes=size) if files else None


def remove(name: str) -> StoredModel:
    """Delete a model's downloads, or the cache.

    Args:
        name: from `list_models` or `find_kept`.

    Returns:
        What was removed.

    Raises:
        CheckpointError: if there is no such model, nothing of it is here, or it is part of an installation.
    """
    models = {model.name: model for model in [*list_models(), *filter(None, [find_kept()])]}
    if name not in models:
        raise CheckpointError(unknown("model", name, models))
    model = models[name]
    if model.source == "embedded":
        raise CheckpointError(f"{name} is part of sfumato and cannot be removed; allowed: downloaded models")
    if model.path is None:
        raise CheckpointError(f"there are no files of {name} here; `sfumato models` lists what there is")
    if model.source == "package" and model.path.parent != cache_directory():
        package = PACKAGED[name].package
        raise CheckpointError(f"{name} is a file of the installed package {package}: pip uninstall {package}")
    try:
        if model.source == "package":
            model.path.unlink()
        elif model.source == "cache":
            shutil.rmtree(model.path)
        else:
            _delete_fetched(name)
    except OSError as error:
        raise CheckpointError(f"cannot remove {model.path}: {error.strerror}") from None
    return model


def _list_embedded() -> Iterator[StoredModel]:
    for directory in sorted(
        {registry.ASSETS / "tiny", *(path.parent for path in registry.ASSETS.glob("*/config.json"))}
    ):
        here = (directory / "config.json").is_file()
        yield StoredModel(
            name=directory.name,
            source="embedded",
            path=directory if here else None,
            size_bytes=sum(path.stat().st_size for path in directory.glob("*") if path.is_file()),
            problem="" if here else "missing: make train-tiny",
        )


def _list_packaged() -> Iterator[StoredModel]:
    for name in PACKAGED:
        path, problem = file_of(name), f"not downloaded: sfumato pull {name}"
        if path is not None:
            try:
                locate(name)
                problem = ""
            except CheckpointError:
                problem = f"unexpected file contents: sfumato pull {name} downloads it again"
        size = 0 if path is None else path.stat().st_size
        yield StoredModel(name=name, source="package", path=path, size_bytes=size, problem=problem)


def _list_fetched() -> Iterator[StoredModel]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = scan_cache_dir().repos
    except CacheNotFound:
        return
    for repository in sorted(repositories, key=lambda repository: repository.repo_id):
        revisions = sorted(repository.revisions, key=lambda revision: revision.last_modified)
        if repository.repo_type == "model" and revisions:
            path = revisions[-1].snapshot_path
            yield StoredModel(
                name=repository.repo_id,
                source="hub",
                path=path,
                size_bytes=repository.size_on_disk,
                problem="" if (path / "config.json").is_file() else "not a checkpoint: it holds no config.json",
            )


def _delete_fetched(hub_id: str) -> None:
    from huggingface_hub import scan_cache_dir

    cache = scan_cache_dir()
    [repository] = [one for one in cache.repos if (one.repo_type, one.repo_id) == ("model", hub_id)]
    cache.delete_revisions(*(revision.commit_hash for revision in repository.revisions)).execute()
