"""Training data for `mend`: downloads permissively licensed packages and repositories and builds three corpora.

    python recipes/mend_data.py runs/code --without humanevalpack.jsonl

`mend-packages.txt` pins the packages. Downloads are kept in DIR/wheels, so a second call resumes and writes the same
bytes. 5% of the packages, chosen by a hash of their names, become DIR/held, which is never trained on, the others
DIR/train. `mend-repositories.txt` pins repositories of short algorithms, which become DIR/algorithms; clones are kept
in DIR/repositories. Functions that share a run of 24 lexemes with a test item (`--without`) are left out and counted.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sfumato.data.code import MAX_FILE_BYTES, SKIPPED, CorpusWriter, Package, overlaps, read_wheel
from sfumato.errors import ConfigError
from sfumato.text.lexemes import lex

PACKAGES = Path(__file__).with_name("mend-packages.txt")
REPOSITORIES = Path(__file__).with_name("mend-repositories.txt")
# Pure wheels only, which are the same on every machine.
PIP = [
    "-m",
    "pip",
    "download",
    "--quiet",
    "--no-deps",
    "--only-binary=:all:",
    "--platform",
    "any",
    "--implementation",
    "py",
    "--abi",
    "none",
]
BATCH = 16


def fetch(pins: Sequence[str], wheels: Path) -> None:
    """Download missing wheels; if a batch fails, try its packages one by one."""
    there = {_key(path.name) for path in wheels.glob("*.whl")}
    missing = [pin for pin in pins if _key(pin.replace("==", "-") + "-") not in there]
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        if not _pip(batch, wheels):
            for pin in batch:
                if not _pip([pin], wheels):
                    print(f"{pin} cannot be downloaded", file=sys.stderr)
        print(f"{min(start + BATCH, len(missing))} of {len(missing)} wheels", file=sys.stderr)


def _pip(pins: Sequence[str], wheels: Path) -> bool:
    command = [sys.executable, *PIP, "--python-version", "3.12", "--dest", str(wheels), *pins]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _key(name: str) -> tuple[str, str]:
    """Name and version in a wheel's file name, as pip writes them."""
    project, version, *_ = name.split("-") if name.endswith(".whl") else name.rstrip("-").rsplit("-", 1)
    return project.replace("-", "_").replace(".", "_").lower(), version


def read_repository(name: str, commit: str, licence: str, clones: Path) -> Package:
    """Clone a repository if it is missing, and read the Python files of a commit.

    Raises:
        ConfigError: if it cannot be cloned or lacks the commit.
    """
    clone = clones / name.replace("/", "+")
    try:
        if not clone.exists():
            _git("clone", "--quiet", "--bare", f"https://github.com/{name}", str(clone))
        listed = _git("-C", str(clone), "ls-tree", "-r", "-l", commit).decode()
    except subprocess.CalledProcessError as error:
        raise ConfigError(f"{name} cannot be read at {commit}: {error.stderr.decode().strip()}") from error
    files = []
    for line in sorted(listed.splitlines()):
        attributes, path = line.split("\t", 1)
        _, _, blob, size = attributes.split()
        if path.endswith(".py") and not SKIPPED.search(path) and int(size) <= MAX_FILE_BYTES:
            source = _git("-C", str(clone), "cat-file", "blob", blob).decode("utf-8", "replace")
            # Python 2's name of range, in files that run under either.
            files.append((path, re.sub(r"\bxrange\b", "range", source)))
    return Package(name, commit, licence, tuple(files))


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout


def test_items(paths: Sequence[Path]) -> list[list[str]]:
    """Lexemes of every text in some JSON Lines files."""
    found = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            texts = [value for value in json.loads(line).values() if isinstance(value, str)]
            found += [[lexeme.text for lexeme in lex(text)] for text in texts]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--without", type=Path, action="append", default=[], help="test items, JSON lines; repeatable")
    options = parser.parse_args()
    wheels = options.directory / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    pins = PACKAGES.read_text(encoding="utf-8").split()
    fetch(pins, wheels)
    names = {pin.split("==")[0] for pin in pins}
    is_excluded = overlaps(test_items(options.without))
    writers = {part: CorpusWriter(is_excluded) for part in ("train", "held", "algorithms")}
    cards: dict[str, dict[str, str]] = {part: {} for part in writers}

    def add(part: str, package: Package) -> None:
        cards[part][package.name] = f"{package.version}; {package.licence}"
        writers[part].add(package)

    for path in sorted(wheels.glob("*.whl")):
        try:
            package = read_wheel(path)
        except ConfigError as error:
            print(error, file=sys.stderr)
            continue
        part = "held" if package.held_out else "train"
        if package.name in names and package.permissive and package.name not in cards[part]:
            add(part, package)
    for line in REPOSITORIES.read_text(encoding="utf-8").splitlines():
        add("algorithms", read_repository(*line.split(), options.directory / "repositories"))
    for part, writer in writers.items():
        writer.write(options.directory / part, {"packages": cards[part]})
        print(f"{part}: {writer.counts}, {len(cards[part])} packages", file=sys.stderr)


if __name__ == "__main__":
    main()
