"""The studio: pages and scripts, built of web/, as a browser gets them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from sfumato.server import tab
from sfumato.server.failures import ApiError

STATIC = Path(__file__).parent / "static"
"""Where the build puts it."""
PAGES = ("canvas", "editor", "race", "structure", "cost", "tab", "todo", "desktop")
"""What the script shows by the path of its page."""
_POLICY = (
    "default-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'self'; "
    "worker-src 'self' blob:; media-src 'self' blob:"
)
_SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_PAGE_HEADERS = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache", **_SAFE}
# Pages that compute in several threads: browsers let those alone share memory that no other origin has a part in.
_ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
# Names of assets change with what is in them. Workers among them are isolated as their page is, or not at all.
_ASSET_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Cross-Origin-Embedder-Policy": "require-corp",
    **_SAFE,
}
_HOW_TO_BUILD = "the studio is not built; in a checkout: make web"


class Studio:
    """The files of a built studio.

    Args:
        directory: of its index.html; it need not be there.
    """

    def __init__(self, directory: Path = STATIC) -> None:
        self.directory = directory
        self.is_built = (directory / "index.html").is_file()
        self._files = [each.name for each in directory.iterdir() if each.is_file()] if self.is_built else []

    def serves(self, path: str) -> bool:
        """Whether a path is one of its own: a page, an asset, or a file beside the index."""
        first = path.removeprefix("/").partition("/")[0]
        return path == "/" or first in PAGES or path.startswith("/assets/") or path.removeprefix("/") in self._files

    def routes(self) -> APIRouter:
        """Its pages, at `/` and by name, and its files."""
        router = APIRouter()

        def add(path: str, answer: Callable[[], Response]) -> None:
            router.add_api_route(path, answer, methods=["GET", "HEAD"], include_in_schema=False)

        router.include_router(tab.routes())
        for path in ("/", *(f"/{page}{rest}" for page in PAGES for rest in ("", "/{rest:path}"))):
            add(path, self._isolated_page if path.startswith("/tab") else self._page)
        for name in self._files:
            add(f"/{name}", lambda name=name: FileResponse(self.directory / name, headers=_PAGE_HEADERS))  # type: ignore[misc]
        if (assets := self.directory / "assets").is_dir():
            # Streams of events are not among them: those must not wait for a block of gzip. Nor is WebAssembly: 14 MB
            # of it would take a second of every first visit.
            for file in assets.glob("*.wasm"):
                add(f"/assets/{file.name}", lambda file=file: FileResponse(file, headers=_ASSET_HEADERS))  # type: ignore[misc]
            router.routes.append(Mount("/assets", GZipMiddleware(_Assets(directory=assets), minimum_size=1000)))
        return router

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
