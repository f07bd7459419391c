"""Generated pages, served from unguessable addresses.

A page in a frame's `srcdoc` can still reach the network. A page served here cannot: its policy gives it an origin of
its own, no storage, and no one to talk to except its frame.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from sfumato.server.documents import SandboxPage, answered
from sfumato.server.failures import ApiError

MAX_PAGE_BYTES = 1_000_000
_MAX_PAGES, _MAX_BYTES = 1000, 64_000_000
_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'none'; form-action 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    # For what the policy does not cover: WebRTC peers, and connections opened ahead of a request. Chromium
    # enforces it; other browsers do not know it yet.
    "Connection-Allowlist": "()",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Lets frames of cross-origin isolated pages show it.
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_HTML = {"requestBody": {"required": True, "content": {"text/html": {"schema": {"type": "string"}}}}}


class Pages:
    """Pages in memory; the least recently requested are evicted."""

    def __init__(self, *, max_pages: int = _MAX_PAGES, max_bytes: int = _MAX_BYTES) -> None:
        self._pages: OrderedDict[str, bytes] = OrderedDict()
        self._max_pages, self._max_bytes, self._num_bytes = max_pages, max_bytes, 0

    def add(self, page: bytes) -> str:
        """Store a page under an unguessable name."""
        name = secrets.token_urlsafe(24)
        self._pages[name] = page
        self._num_bytes += len(page)
        while len(self._pages) > self._max_pages or self._num_bytes > self._max_bytes:
            self._num_bytes -= len(self._pages.popitem(last=False)[1])
        return name

    def find(self, name: str) -> bytes | None:
        """The page of a name, if still stored."""
        if name in self._pages:
            self._pages.move_to_end(name)
        return self._pages.get(name)


def sandbox_routes() -> APIRouter:
    """`/sandbox`: store a page, and get it back sandboxed."""
    router, pages = APIRouter(tags=["sandbox"]), Pages()

    @router.post("/sandbox", status_code=201, openapi_extra=_HTML, **answered(SandboxPage, status=201))
    async def add_page(request: Request) -> Response:
        """Store a page in memory, for a frame."""
        # Browsers send a preflight before a page of another origin posts this type.
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "text/html":
            raise ApiError(415, f"content-type is {kind[:100]!r}; allowed: 'text/html'", param="content-type")
        page = await request.body()
        if len(page) > MAX_PAGE_BYTES:
            message = f"the page has {len(page)} bytes; allowed: {MAX_PAGE_BYTES}"
            raise ApiError(413, message, code="body_too_large")
        url = f"/sandbox/{pages.add(page)}"
        return JSONResponse({"url": url}, 201, headers={"Location": url})

    @router.get(
        "/sandbox/{page_id}",
        response_class=Response,
        responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    )
    async def read_page(page_id: str) -> Response:
        """A page without network, storage or a shared origin. Needs no key: its name is one."""
        page = pages.find(page_id)
        if page is None:
            raise ApiError(404, f"there is no page {page_id[:100]!r}; it may have been evicted", code="page_not_found")
        return Response(page, media_type="text/html; charset=utf-8", headers=_HEADERS)

    return router
