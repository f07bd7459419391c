"""Where checkpoints are: by the names of embedded ones and of those in packages, by paths, by hub ids."""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.errors import CheckpointError, unknown
from sfumato.gguf_file import SUFFIX
from sfumato.models.packaged import PACKAGED, locate

ASSETS = Path(__file__).parent.parent / "assets"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def find(name: str | Path) -> Path:
    """The directory or GGUF file that a model's name stands for; a hub id is fetched if need be.

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
        raise CheckpointError(f"{path} holds no config.json; allowed: a checkpoint directory, or a {SUFFIX} file")
    if path.exists():
        return path
    if not isinstance(name, str) or not _HUB_ID.fullmatch(name) or path.suffix == SUFFIX:
        raise CheckpointError(f"{unknown('model', str(name), embedded)}, or a checkpoint directory or hub id")
    return _downloaded(name)


def _downloaded(hub_id: str) -> Path:
    """The local copy of a repository's config, tokenizer and safetensors; nothing else is fetched, no code ever."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, allow_patterns=["*.json", "*.safetensors", "*.jinja"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise CheckpointError(
            f"cannot get {hub_id!r} from the hub, and it is not in the local cache: {error}"
        ) from None
