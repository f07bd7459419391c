"""Enforces the import order below: leftwards only, and never between siblings in braces."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import sfumato

PACKAGE = Path(sfumato.__file__).parent
ORDER = (
    {"errors", "interrupts"},
    {"schemas"},
    {"client", "spec", "storage", "config", "gguf_file", "hardware", "machine"},
    {"text", "layout", "ui"},
    {"kernels"},
    {"diffusion", "models", "data", "constraints"},
    {"checkpoints", "sampling", "costs"},
    {"engine", "mend"},
    {"api"},
    {"training", "synthesis", "evaluation"},
    {"server"},
    {"runs", "integrations"},
    {"cli"},
)
LAYER = {name: layer for layer, names in enumerate(ORDER) for name in names}
# The package itself and its entry point are exempt: they name everything, and no module may import them.
OUTSIDE = {"__init__", "__main__"}
# An evaluation asks a model for answers; training is given rollouts and scores instead.
EXTRA_BANS = {("training", "engine")}


def modules() -> list[str]:
    """Dotted names below the package, such as "models.decoder"."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
    return sorted(".".join(path.parts) for path in paths if path.parts[0] not in OUTSIDE)


def imports_of(source: str, module: str) -> Iterator[str]:
    """Every module of the package that some source imports, including inside functions and type checks.

    Args:
        source: Python.
        module: its dotted name below the package, which relative imports start from.

    Yields:
        Dotted names below the package; "" for the package itself.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = ["sfumato", *module.split(".")][: -node.level] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            # `from package import module` names a module as well.
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "sfumato" or name.startswith("sfumato."):
                yield name.removeprefix("sfumato").removeprefix(".")


def offence(module: str, imported: str) -> str | None:
    """What is wrong with an import, if anything."""
    own, other = module.split(".")[0], imported.split(".")[0]
    if own == other:
        return None
    if other not in LAYER:
        # The programs may ask the package for its version.
        return (
            None
            if own in ("cli", "server") and other in ("", "__version__")
            else f"{module} imports the package itself"
        )
    if LAYER[other] >= LAYER[own] or (own, other) in EXTRA_BANS:
        return f"{module} imports {imported}, which is not to its left"
    return None


def test_every_module_has_a_place_in_the_order():
    assert {module.split(".")[0] for module in modules()} <= LAYER.keys()


@pytest.mark.parametrize("module", modules())
def test_imports_follow_the_order(module):
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    found = imports_of(path.read_text(encoding="utf-8"), module)
    assert [wrong for imported in found if (wrong := offence(module, imported))] == []


def resolve(name: str, known: Mapping[str, str]) -> str | None:
    """The module that an imported name is, or that it comes from."""
    return known.get(name) or known.get(name.rpartition(".")[0])


def find_cycle(imports: dict[str, set[str]]) -> list[str]:
    """Some modules that import each other in a circle, the first named twice; none if there is no circle."""
    done: set[str] = set()

    def search(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module not in done:
            for imported in sorted(imports.get(module, ())):
                if found := search(imported, [*path, module]):
                    return found
            done.add(module)
        return []

    return next((found for module in sorted(imports) if (found := search(module, []))), [])


def test_no_import_cycles():
    """Imports inside functions and for type checks count."""
    known = {name.removesuffix(".__init__"): name for name in modules()}
    imports = {}
    for module in modules():
        source = PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        found = (resolve(name, known) for name in imports_of(source, module))
        imports[module] = {each for each in found if each is not None}
    assert find_cycle(imports) == []


def test_import_cycle_is_found():
    assert find_cycle({"a": {"b", "d"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("models.decoder", "from sfumato.diffusion.loss import x"),
        ("models.decoder", "def f():\n    import sfumato.engine.model"),
        ("models.decoder", "from ..sampling import step"),
        ("spec", "from sfumato.storage import write_atomically"),
        ("data.tokenizer", "from sfumato import cli"),
        ("data.tokenizer", "import sfumato"),
        ("training.trainer", "from sfumato.engine.request import Result"),
        ("evaluation.tasks", "from sfumato.training import trainer"),
        ("engine.model", "if TYPE_CHECKING:\n    from sfumato.cli.app import app"),
    ],
)
def test_wrong_import_is_found(module, source):
    assert any(offence(module, imported) for imported in imports_of(source, module))


def test_right_imports_pass():
    source = "import torch\nfrom sfumato.errors import x\nfrom .canvas import y\nfrom sfumato.diffusion import process"
    assert [offence("sampling.step", imported) for imported in imports_of(source, "sampling.step")] == [None] * 3
