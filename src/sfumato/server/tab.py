"""Models that run in the browser tab: embedded ones with an exported graph, file by file (`sfumato export`)."""

from __future__ import annotations

import json
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from sfumato.checkpoints.onnx import MANIFEST
from sfumato.checkpoints.registry import ASSETS
from sfumato.errors import unknown
from sfumato.server.failures import ApiError

PATH = "/tab/models"
# Files are named by content; only the manifest is revalidated.
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}


def exported_models(directory: Path = ASSETS) -> dict[str, dict[str, int]]:
    """Files of each model that has a graph, with their sizes."""
    found = {}
    for path in sorted(directory.glob(f"*/{MANIFEST}")):
        files = json.loads(path.read_text("utf-8"))["files"]
        found[path.parent.name] = {file: facts["bytes"] for file, facts in files.items()}
    return found


def routes(directory: Path = ASSETS) -> APIRouter:
    """The list of models and their files."""
    router = APIRouter()
    models = exported_models(directory)

    @router.get(f"{PATH}/index.json", include_in_schema=False)
    def _index() -> list[dict[str, str | int]]:
        return [{"name": name, "bytes": sum(files.values())} for name, files in models.items()]

    @router.get(f"{PATH}/{{name}}/{{file}}", include_in_schema=False)
    def _file(name: str, file: str) -> FileResponse:
        if name not in models:
            raise ApiError(404, unknown("model of the tab", name, models), code="model_not_found")
        allowed = (*models[name], MANIFEST)
        if file not in allowed:
            raise ApiError(404, unknown(f"file of {name}", file, allowed), code="file_not_found")
        return FileResponse(directory / name / file, headers=_HEADERS | {"Cache-Control": "no-cache"})

    return router
