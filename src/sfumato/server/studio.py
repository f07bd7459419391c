"""The studio and the models that run in a browser tab, as files.

The studio is built from web/. Models of the tab are embedded ones with an exported graph (`sfumato export`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import FileResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from sfumato.checkpoints.onnx import MANIFEST
from sfumato.checkpoints.registry import ASSETS
from sfumato.errors import unknown
from sfumato.server.failures import ApiError

STATIC = Path(__file__).parent / "static"
"""Output directory of the build."""
PAGES = ("canvas", "editor", "race", "structure", "cost", "tab", "todo", "encyclopedia", "forum", "desktop")
"""Paths of the pages; the script shows the page of its path."""
TAB_MODELS = "/tab/models"
_POLICY = (
    "default-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'self'; "
    "worker-src 'self' blob:; media-src 'self' blob:"
)
_SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_PAGE_HEADERS = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache", **_SAFE}
# Browsers give shared memory, which threads need, only to cross-origin isolated pages.
_ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
# Assets are named by content. Workers among them must be isolated like their page.
_ASSET_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Cross-Origin-Embedder-Policy": "require-corp",
    **_SAFE,
}
# Only the manifest changes, but all are revalidated.
_MODEL_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_HOW_TO_BUILD = "the studio is not built; in a checkout: make web"


class Studio:
    """The files of a built studio.

    Args:
        directory: contains index.html; may be missing.
    """

    def __init__(self, directory: Path = STATIC) -> None:
        self.directory = directory
        self.is_built = (directory / "index.html").is_file()
        self._files = [each.name for each in directory.iterdir() if each.is_file()] if self.is_built else []

    def serves(self, path: str) -> bool:
        """Whether a path belongs to the studio: a page, an asset, or a file next to the index."""
        first = path.removeprefix("/").partition("/")[0]
        return path == "/" or first in PAGES or path.startswith("/assets/") or path.removeprefix("/") in self._files

    def add_to(self, app: FastAPI) -> None:
        """Add the pages, at `/` and by name, their files, and the models of the tab."""
        router = APIRouter()

        def add(path: str, answer: Callable[[], Response]) -> None:
            router.add_api_route(path, answer, methods=["GET", "HEAD"], include_in_schema=False)

        router.include_router(tab_routes())
        for path in ("/", *(f"/{page}{rest}" for page in PAGES for rest in ("", "/{rest:path}"))):
            add(path, self._isolated_page if path.startswith("/tab") else self._page)
        for name in self._files:
            add(f"/{name}", lambda name=name: FileResponse(self.directory / name, headers=_PAGE_HEADERS))  # type: ignore[misc]
        assets = self.directory / "assets"
        # Not compressed: event streams, which must not wait for a gzip block, and WebAssembly, because its 14 MB would
        # delay every first visit by a second.
        for wasm in assets.glob("*.wasm"):
            add(f"/assets/{wasm.name}", lambda wasm=wasm: FileResponse(wasm, headers=_ASSET_HEADERS))  # type: ignore[misc]
        app.include_router(router)
        if assets.is_dir():
            # Not of the router: some versions of FastAPI drop its mounts.
            app.mount("/assets", GZipMiddleware(_Assets(directory=assets), minimum_size=1000))

    def _page(self) -> Response:
        if not self.is_built:
            raise ApiError(404, _HOW_TO_BUILD, code="studio_not_built")
        return FileResponse(self.directory / "index.html", headers=_PAGE_HEADERS)

    def _isolated_page(self) -> Response:
        response = self._page()
        response.headers.update(_ISOLATED)
        return response


class _Assets(StaticFiles):
    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(_ASSET_HEADERS)
        return response


def tab_routes() -> APIRouter:
    """The list of the tab's models, and their files."""
    router, models = APIRouter(), dict[str, dict[str, int]]()
    for path in sorted(ASSETS.glob(f"*/{MANIFEST}")):
        files = json.loads(path.read_text("utf-8"))["files"]
        models[path.parent.name] = {file: facts["bytes"] for file, facts in files.items()}

    @router.get(f"{TAB_MODELS}/index.json", include_in_schema=False)
    def _index() -> list[dict[str, str | int]]:
        return [{"name": name, "bytes": sum(files.values())} for name, files in models.items()]

    @router.get(f"{TAB_MODELS}/{{name}}/{{file}}", include_in_schema=False)
    def _file(name: str, file: str) -> FileResponse:
        if name not in models:
            raise ApiError(404, unknown("model of the tab", name, models), code="model_not_found")
        allowed = (*models[name], MANIFEST)
        if file not in allowed:
            raise ApiError(404, unknown(f"file of {name}", file, allowed), code="file_not_found")
        return FileResponse(ASSETS / name / file, headers=_MODEL_HEADERS)

    return router
