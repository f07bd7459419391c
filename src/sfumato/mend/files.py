"""Python source on disk, whatever its encoding and line ends."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import RequestError
from sfumato.mend.parsing import parse
from sfumato.mend.sandbox import IGNORED

SUFFIXES = (".py", ".pyi", ".pyw")
LONGEST_LINE = 2000
"""Characters; what has longer ones was written by a program."""
# What CPython says of the statements of Python 2.
_PYTHON_2 = (
    "Missing parentheses in call to",
    "multiple exception types must be parenthesized",
    "leading zeros in decimal integer literals",
    "Generator expression must be parenthesized",
)


@dataclass(frozen=True)
class SourceFile:
    """A file of Python source."""

    path: Path
    content: bytes
    encoding: str
    """As its first lines declare it; UTF-8 if they do not."""
    text: str
    """With its own line ends."""

    def encode(self, text: str) -> bytes:
        """The content of the file with another text.

        Raises:
            RequestError: if its encoding does not have the text's characters.
        """
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise RequestError(f"{self.path} is {self.encoding}, which has no {text[error.start]!r}") from None


def read_source(path: Path) -> SourceFile:
    """Read a file.

    Raises:
        RequestError: if it cannot be read, or is no Python source.
    """
    if path.suffix == ".ipynb":
        raise RequestError(f"{path} is a notebook; allowed: Python source ({', '.join(SUFFIXES)})")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}") from None
    if path.suffix not in SUFFIXES and not (content.startswith(b"#!") and b"python" in content.split(b"\n", 1)[0]):
        raise RequestError(
            f"{path} is no Python source; allowed: {', '.join(SUFFIXES)}, or a script with #! ... python"
        )
    if b"\0" in content:
        raise RequestError(f"{path} is binary, as it holds a zero byte; allowed: Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise RequestError(f"{path} is not in the encoding that it declares, or in UTF-8: {error}") from None
    return SourceFile(path, content, encoding, text)


def find_sources(paths: Iterable[Path]) -> list[Path]:
    """The files named, and those below the folders named; environments, caches and hidden folders left out.

    Raises:
        RequestError: if there is no such file or folder.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise RequestError(f"no such file or directory: {path}")
        if not path.is_dir():
            found.append(path)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in IGNORED and not name.startswith("."))
            found += [Path(folder, name) for name in sorted(names) if name.endswith(SUFFIXES)]
    return list(dict.fromkeys(found))


def why_not(text: str) -> str:
    """Why a text that does not parse is left alone; empty if it is not."""
    if any(len(line) > LONGEST_LINE for line in text.splitlines()):
        return f"has lines of more than {LONGEST_LINE:,} characters, so a program wrote it"
    error = parse(text)
    if isinstance(error, SyntaxError) and (error.msg or "").startswith(_PYTHON_2):
        return f"reads like Python 2 (line {error.lineno}: {error.msg})"
    return ""
