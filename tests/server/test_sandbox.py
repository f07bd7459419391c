"""Generated pages in a sandbox."""

from __future__ import annotations

from typing import Any

import httpx

from serving import Served
from sfumato.server.sandbox import MAX_PAGE_BYTES, Pages


def put(served: Served, page: bytes, kind: str = "text/html") -> httpx.Response:
    return served.http.post("/sandbox", content=page, headers={"Content-Type": kind})


def test_pages_have_an_isolating_policy(served: Served):
    page = "<!doctype html><p>ä</p><script>document.title = 1</script>".encode()
    made = put(served, page, "text/html; charset=utf-8")
    assert made.status_code == 201
    assert made.headers["location"] == made.json()["url"]
    shown = served.http.get(made.json()["url"])
    assert (shown.status_code, shown.content) == (200, page)
    headers: dict[str, Any] = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": (
            "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
            "img-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'"
        ),
        "connection-allowlist": "()",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-embedder-policy": "require-corp",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }
    assert {name: shown.headers[name] for name in headers} == headers
    assert put(served, page).json()["url"] != made.json()["url"]


def test_invalid_pages_are_refused(served: Served):
    # A page of another origin may send these without asking.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json", ""):
        refused = put(served, b"<p>", kind)
        assert (refused.status_code, refused.json()["error"]["param"]) == (415, "content-type")
    assert put(served, b"x" * MAX_PAGE_BYTES).status_code == 201
    large = put(served, b"x" * (MAX_PAGE_BYTES + 1))
    assert (large.status_code, large.json()["error"]["code"]) == (413, "body_too_large")
    assert served.http.get("/sandbox/none").status_code == 404


def test_oldest_pages_are_evicted():
    pages = Pages(max_pages=3, max_bytes=10)
    names = [pages.add(b"a"), pages.add(b"b"), pages.add(b"c")]
    assert pages.find(names[0]) == b"a"
    pages.add(b"d")
    assert [pages.find(name) for name in names] == [b"a", None, b"c"]
    pages.add(b"123456789")
    # So many bytes leave room for one of them: d was too many, a too large.
    assert [pages.find(name) for name in names] == [None, None, b"c"]
    last = pages.add(b"123456789A")
    assert pages.find(last) == b"123456789A"
    assert pages.find(names[2]) is None
