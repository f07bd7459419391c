"""The built studio: up to date, small, from one origin, and included in the packages."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.server.studio import PAGES, STATIC

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
MAX_BYTES = 400_000
# XML namespaces, which are never requested.
NAMESPACE = "http://www.w3.org/"
# A link in one of onnxruntime's messages.
DOCUMENTATION = "https://web.dev/cross-origin-isolation-guide/"
# The tab's runtime and its worker: loaded together with a model, which is larger.
TAB_PREFIXES = ("ort-", "worker-")
MAX_WASM_BYTES = 4_500_000

if not (STATIC / "index.html").is_file():
    pytest.skip("the studio is not built: make web", allow_module_level=True)


def test_build_is_up_to_date():
    built = json.loads((STATIC / "sources.json").read_text("utf-8"))
    digests = {name: hashlib.sha256((WEB / name).read_bytes()).hexdigest() for name in built if (WEB / name).is_file()}
    stale = sorted(name for name in built if digests.get(name) != built[name])
    files = [path for folder in ("src", "public") for path in (WEB / folder).rglob("*") if path.is_file()]
    new = sorted({path.relative_to(WEB).as_posix() for path in files} - built.keys())
    assert not stale, f"changed since the build: {stale}; make web"
    assert not new, f"not in the build: {new}; make web"


def chunks() -> list[Path]:
    """Scripts and styles of every page except the editor, which includes a text editor."""
    assets = STATIC / "assets"
    found: set[Path] = set()
    pending = [path for path in assets.iterdir() if not path.name.startswith(("editor-", "index-", *TAB_PREFIXES))]
    imported = {
        name
        for path in assets.glob("*.js")
        if not path.name.startswith(("index-", *TAB_PREFIXES))
        for name in re.findall(r"""["']\./([\w.-]+)["']""", path.read_text("utf-8"))
    }
    # Shared chunks count only if a page imports them.
    pending = [path for path in pending if path.name not in imported]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        pending += [assets / name for name in re.findall(r"""["']\./([\w.-]+)["']""", path.read_text("utf-8"))]
    return sorted(found | set(assets.glob("index-*")))


def test_bundle_is_small():
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in [STATIC / "index.html", *chunks()]}
    names = {name.partition("-")[0] for name in sizes}
    assert {*PAGES} - {"editor"} <= names
    assert sum(sizes.values()) < MAX_BYTES, sizes


def test_no_asset_refers_to_another_server():
    for path in (path for path in STATIC.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")):
        urls = re.findall(
            r"""(?:https?:)?//[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+[^"'`\s)]*""", path.read_text("utf-8"), re.I
        )
        assert [url for url in urls if not url.startswith((NAMESPACE, DOCUMENTATION))] == [], path.name


def test_tab_runtime_is_one_small_webassembly_file():
    (runtime,) = STATIC.rglob("*.wasm")
    assert len(gzip.compress(runtime.read_bytes(), 6)) < MAX_WASM_BYTES


def test_server_and_router_have_the_same_pages():
    router = (WEB / "src/core/router.ts").read_text("utf-8")
    assert sorted(re.findall(r'path: "/(\w+)"', router)) == sorted(PAGES)


@pytest.mark.parametrize("name", ["wheel", "sdist"])
def test_studio_is_in_the_packages(name: str):
    pytest.importorskip("hatchling", reason="not installed")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    build: Callable[[str], WheelBuilder | SdistBuilder] = WheelBuilder if name == "wheel" else SdistBuilder
    packaged = {Path(file.distribution_path).as_posix() for file in build(str(ROOT)).recurse_included_files()}
    prefix = "sfumato" if name == "wheel" else "src/sfumato"
    files = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert {f"{prefix}/server/static/{path}" for path in files} <= packaged
    assert not any("node_modules" in path for path in packaged)
