"""The built studio: whether it is of these sources, small, of one origin, and in what is published."""

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
# Names of XML's vocabularies, which nothing ever asks for.
NAMESPACE = "http://www.w3.org/"
# An error message of ONNX Runtime has it.
IN_A_MESSAGE = "https://web.dev/cross-origin-isolation-guide/"
# The tab's page brings a runtime along when a model is started there.
RUNTIME = ("worker-", "ort-")

if not (STATIC / "index.html").is_file():
    pytest.skip("the studio is not built: make web", allow_module_level=True)


def test_it_is_built_of_these_sources():
    built = json.loads((STATIC / "sources.json").read_text("utf-8"))
    digests = {name: hashlib.sha256((WEB / name).read_bytes()).hexdigest() for name in built if (WEB / name).is_file()}
    stale = sorted(name for name in built if digests.get(name) != built[name])
    files = [path for folder in ("src", "public") for path in (WEB / folder).rglob("*") if path.is_file()]
    new = sorted({path.relative_to(WEB).as_posix() for path in files} - built.keys())
    assert not stale, f"changed since the build: {stale}; make web"
    assert not new, f"not in the build: {new}; make web"


def chunks() -> list[Path]:
    """Scripts and styles of every page but the editor, which brings an editor along; without the tab's runtime."""
    assets = STATIC / "assets"
    files = {path.name for path in assets.iterdir() if not path.name.startswith(RUNTIME)}
    found: set[Path] = set()
    left = [assets / name for name in files if not name.startswith(("editor-", "index-"))]
    imported = {
        name
        for path in assets.glob("*.js")
        if not path.name.startswith("index-")
        for name in re.findall(r"""["']\./([\w.-]+)["']""", path.read_text("utf-8"))
    }
    # What pages share comes in only through a page.
    left = [path for path in left if path.name not in imported]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        left += [
            assets / name for name in re.findall(r"""["']\./([\w.-]+)["']""", path.read_text("utf-8")) if name in files
        ]
    return sorted(found | set(assets.glob("index-*")))


def test_it_is_small():
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in [STATIC / "index.html", *chunks()]}
    names = {name.partition("-")[0] for name in sizes}
    assert {*PAGES} - {"editor"} <= names
    assert sum(sizes.values()) < MAX_BYTES, sizes


def test_nothing_in_it_names_another_server():
    for path in (path for path in STATIC.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")):
        urls = re.findall(
            r"""(?:https?:)?//[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+[^"'`\s)]*""", path.read_text("utf-8"), re.I
        )
        assert [url for url in urls if not url.startswith(NAMESPACE) and url != IN_A_MESSAGE] == [], path.name


def test_pages_of_the_server_are_those_of_the_script():
    router = (WEB / "src/core/router.ts").read_text("utf-8")
    assert sorted(re.findall(r'path: "/(\w+)"', router)) == sorted(PAGES)


@pytest.mark.parametrize("name", ["wheel", "sdist"])
def test_it_is_in_what_is_published(name: str):
    pytest.importorskip("hatchling", reason="not installed")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    build: Callable[[str], WheelBuilder | SdistBuilder] = WheelBuilder if name == "wheel" else SdistBuilder
    held = {Path(each.distribution_path).as_posix() for each in build(str(ROOT)).recurse_included_files()}
    prefix = "sfumato" if name == "wheel" else "src/sfumato"
    files = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert {f"{prefix}/server/static/{path}" for path in files} <= held
    assert not any("node_modules" in path for path in held)
