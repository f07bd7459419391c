"""Finds checkpoints by embedded name, package, path or hub id."""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.checkpoints.packaged import PACKAGED, locate
from sfumato.errors import CheckpointError, unknown
from sfumato.gguf_file import SUFFIX

ASSETS = Path(__file__).parent.parent / "assets"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def find_model(name: str | Path) -> Path:
    """Find the directory or GGUF file for a model's name, downloading hub ids if needed. A run's directory gives its
    checkpoint.

    Raises:
        CheckpointError: if there is no such model.
    """
    if name in PACKAGED:
        return locate(str(name))
    embedded = sorted([*(path.parent.name for path in ASSETS.glob("*/config.json")), *PACKAGED])
    path = ASSETS / str(name) if str(name) in embedded else Path(name)
    if path.is_file() and path.suffix != SUFFIX:
        raise CheckpointError(f"{path} is a file; allowed: a checkpoint directory, or a {SUFFIX} file")
    if path.is_dir() and not (path / "config.json").exists():
        if (path / "checkpoint" / "config.json").exists():
            return path / "checkpoint"
        what = "the state of an unfinished run" if any(path.glob("state*")) else "no config.json"
        raise CheckpointError(
            f"{path} holds {what}; allowed: the directory of a checkpoint or a run, or a {SUFFIX} file"
        )
    if path.exists():
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
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, allow_patterns=["*.json", "*.safetensors", "*.jinja"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise CheckpointError(f"there is no directory {hub_id}, and the hub does not provide it: {error}") from None
