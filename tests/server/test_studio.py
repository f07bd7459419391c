"""The studio's files, as a browser gets them."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from serving import Served, start
from sfumato.server.access import Key
from sfumato.server.studio import PAGES, Studio

INDEX, SCRIPT = "<!doctype html><title>Sfumato</title>", "let x = 1;\n" * 500
KEY = "sfu-test"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a key and a built studio."""
    directory = tmp_path_factory.mktemp("static")
    (directory / "assets").mkdir()
    (directory / "index.html").write_text(INDEX)
    (directory / "icon.svg").write_text("<svg/>")
    (directory / "assets" / "app-1a2b.js").write_text(SCRIPT)
    key = Key(name="one", sha256=hashlib.sha256(KEY.encode()).hexdigest())
    yield from start(tmp_path_factory.mktemp("server"), keys=(key,), studio=Studio(directory))


def test_pages_serve_the_index_with_strict_policy(shown: Served):
    for path in ("/", *(f"/{page}" for page in PAGES), "/canvas/canvas_1", "/?x=1"):
        page = shown.http.get(path)
        assert (page.status_code, page.text) == (200, INDEX)
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["content-security-policy"] == (
            "default-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self' data: blob:; "
            "style-src 'self' 'unsafe-inline'; script-src 'self'; object-src 'none'; base-uri 'none'; "
            "frame-ancestors 'self'; worker-src 'self' blob:; media-src 'self' blob:"
        )
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["cache-control"] == "no-cache"
    assert shown.http.head("/canvas").status_code == 200
    etag = shown.http.get("/").headers["etag"]
    assert shown.http.get("/icon.svg").headers["content-type"] == "image/svg+xml"
    assert etag


def test_assets_are_immutable_and_compressed(shown: Served):
    with shown.http.stream("GET", "/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip"}) as response:
        packed = b"".join(response.iter_raw())
    assert gzip.decompress(packed).decode() == SCRIPT
    assert len(packed) < len(SCRIPT)
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["x-content-type-options"] == "nosniff"
    plain = shown.http.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert plain.text == SCRIPT


def test_missing_assets_are_not_the_index(shown: Served):
    for path in ("/assets/app-old.js", "/assets/", "/assets/..%2findex.html", "/assets/%2e%2e/%2e%2e/x", "/missing.js"):
        answer = shown.http.get(path, headers={"Authorization": f"Bearer {KEY}"})
        assert answer.status_code == 404, path
        assert answer.json()["error"]["message"]


def test_only_pages_need_no_key(shown: Served):
    assert shown.http.get("/v1/models").status_code == 401
    assert shown.http.get("/v1/models", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200
    assert shown.http.post("/sandbox", content=b"x", headers={"Content-Type": "text/html"}).status_code == 401
    # What a client calls the server is no part of a path.
    for host in ("a/health?", "a/assets/", "a/?"):
        assert shown.http.get("/v1/models", headers={"Host": host}).status_code == 401
    for path in ("/assets/../v1/models", "/canvas/../v1/models", "/sandbox/../v1/models", "//v1/models"):
        request = httpx.Request("GET", shown.url, extensions={"target": path.encode()})
        answer = shown.http.send(request)
        assert "data" not in answer.text
        assert answer.text == INDEX or answer.status_code in (401, 404)
    authorized = {"Authorization": f"Bearer {KEY}", "Content-Type": "text/html"}
    made = shown.http.post("/sandbox", content=b"x", headers=authorized)
    # A frame sends no key.
    assert shown.http.get(made.json()["url"]).text == "x"


def test_unbuilt_studio_names_the_build_command(tmp_path: Path):
    for served in start(tmp_path, studio=Studio(tmp_path / "static")):
        answer = served.http.get("/")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "studio_not_built")
        assert "make web" in answer.json()["error"]["message"]


def test_server_without_studio(served: Served):
    assert served.http.get("/").status_code == 404
    assert served.http.get("/canvas").status_code == 404


def test_tab_models_are_those_with_a_graph(shown: Served):
    listed = {each["name"]: each["bytes"] for each in shown.http.get("/tab/models/index.json").json()}
    assert listed.keys() == {"tiny", "ui"}
    manifest = shown.http.get("/tab/models/tiny/export.json").json()
    assert sum(file["bytes"] for file in manifest["files"].values()) == listed["tiny"]
    for name, facts in manifest["files"].items():
        content = shown.http.get(f"/tab/models/tiny/{name}").content
        assert hashlib.sha256(content).hexdigest() == facts["sha256"], name
    for path, named in (
        ("mend/export.json", "tiny"),
        ("tiny/README.md", "model.onnx"),
        ("tiny/config.json", "allowed"),
    ):
        answer = shown.http.get(f"/tab/models/{path}")
        assert answer.status_code == 404
        assert named in answer.json()["error"]["message"]


def test_tab_is_cross_origin_isolated(shown: Served):
    page = shown.http.get("/tab").headers
    assert page["cross-origin-opener-policy"] == "same-origin"
    assert page["cross-origin-embedder-policy"] == "require-corp"
    assert "cross-origin-opener-policy" not in shown.http.get("/canvas").headers
    worker = shown.http.get("/assets/app-1a2b.js").headers
    assert worker["cross-origin-embedder-policy"] == "require-corp"
