"""The README's commands and code run as they stand. Blocks marked sh and python are run; console blocks are not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.config import load_recipe
from sfumato.models.places import ASSETS
from sfumato.training.recipe import Recipe

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(
    not (ASSETS / "tiny" / "config.json").is_file(), reason="the embedded model is not trained yet: make train-tiny"
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


# make would set up an environment and run these tests again.
COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line and not line.startswith("make ")]


@pytest.fixture
def directory(tmp_path):
    """Like the repository's root, but free to be written to."""
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    return tmp_path


def test_there_is_something_to_run():
    assert len(COMMANDS) >= 5
    assert blocks("python")


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command, directory):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=directory,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("code", blocks("python"))
def test_python(code, directory):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=directory, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("recipe", blocks("toml"))
def test_recipe(recipe, tmp_path):
    (tmp_path / "recipe.toml").write_text(recipe)
    assert load_recipe(Recipe, tmp_path / "recipe.toml").init_from
