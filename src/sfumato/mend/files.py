"""Reads and writes Python source in any encoding and with any line ends."""

from __future__ import annotations

import io
import os
import re
import sys
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import RequestError
from sfumato.mend.parsing import parse
from sfumato.mend.sandbox import IGNORED

SUFFIXES = (".py", ".pyi", ".pyw")
LONGEST_LINE = 2000
"""Maximum line length in characters; longer lines are taken for generated code."""
# CPython's messages about Python 2 statements.
_PYTHON_2 = (
    "Missing parentheses in call to",
    "multiple exception types must be parenthesized",
    "Generator expression must be parenthesized",
)
_OCTAL = re.compile(r"\b0[0-7]{2,}\b")
# Annotated results, f-strings, and other things that Python 2 has not.
_PYTHON_3 = re.compile(r"""\)\s*->|\bf["']|\basync def\b|\bnonlocal\b|\byield from\b|:=""")
# Type aliases and type parameters (PEP 695), and quotes, backslashes and comments within f-strings (PEP 701).
_PYTHON_3_12 = re.compile(
    r"""\s*(?:type\s+\w+\s*[=\[]|(?:class|(?:async\s+)?def)\s+\w+\s*\[)|.*\bf(["'])[^{]*\{[^}]*\1[^}]*\1[^}]*\}"""
)
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


@dataclass(frozen=True)
class SourceFile:
    path: Path
    content: bytes
    encoding: str
    """Declared encoding; UTF-8 by default."""
    text: str
    """Its text, with the original line ends."""

    def encode(self, text: str) -> bytes:
        """The file's content with another text.

        Raises:
            RequestError: if its encoding cannot represent the text.
        """
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise RequestError(f"{self.path} is {self.encoding}, which has no {text[error.start]!r}") from None


def read_source(path: Path) -> SourceFile:
    """Read a file.

    Raises:
        RequestError: if it cannot be read, or is not Python source.
    """
    if path.suffix == ".ipynb":
        raise RequestError(f"{path} is a notebook; allowed: Python source ({', '.join(SUFFIXES)})")
    if path.exists() and not path.is_file():
        raise RequestError(f"{path} is not a regular file; allowed: Python source")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}") from None
    if path.suffix not in SUFFIXES and not (content.startswith(b"#!") and b"python" in content.split(b"\n", 1)[0]):
        raise RequestError(
            f"{path} is not Python source; allowed: {', '.join(SUFFIXES)}, or a script with #! ... python"
        )
    return decode_source(path, content)


def decode_source(path: Path, content: bytes) -> SourceFile:
    """The content of a file as source.

    Raises:
        RequestError: if it is binary, or not in the declared encoding.
    """
    if b"\0" in content:
        raise RequestError(f"{path} is binary: it holds a zero byte; allowed: Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise RequestError(
            f"{path} cannot be decoded: {error}; allowed: UTF-8, or an encoding declared in the first lines"
        ) from None
    return SourceFile(path, content, encoding, text)


def find_sources(paths: Iterable[Path]) -> list[Path]:
    """The named files and those in the named directories, without environments, builds, caches, and what is hidden.

    Raises:
        RequestError: if a file or directory does not exist.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise RequestError(f"no such file or directory: {path}")
        if not path.is_dir():
            found.append(path)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not _is_left_out(Path(folder, name)))
            # Editors mark open files by hidden links.
            shown = sorted(name for name in names if name.endswith(SUFFIXES) and not name.startswith("."))
            found += [Path(folder, name) for name in shown]
    # A file may be named in two ways.
    unique: dict[Path, Path] = {}
    for path in found:
        unique.setdefault(path.resolve(), path)
    return list(unique.values())


def _is_left_out(folder: Path) -> bool:
    left_out = folder.name in (*IGNORED, "site-packages", "build", "dist") or folder.name.startswith(".")
    return left_out or (folder / "pyvenv.cfg").exists()


_OTHER_TEXTS = {
    "a notebook's magic or shell command": re.compile(r"%{1,2}[a-z]|![a-z]"),
    "an interpreter's session": re.compile(r"\s*>>> "),
    "a diff": re.compile(r"diff --git |(\+\+\+|---) \S|@@ -\d"),
    "Markdown": re.compile(r"```|~~~"),
    "a template": re.compile(r"\s*\{[%#]"),
}
"""Beginnings of lines with the error."""
_PROSE = re.compile(r"\s*[A-Z]?[a-z,;'-]+( [\w,;'-]+){2,}[.,;?!]\s*")


def why_not(text: str) -> str:
    """Why a text that does not parse is left alone; empty if it is not."""
    if any(len(line) > LONGEST_LINE for line in text.splitlines()):
        return f"has lines of more than {LONGEST_LINE:,} characters, so it was probably generated"
    if conflict := _CONFLICT.search(text):
        return f"has the markers of a merge conflict (line {text.count(chr(10), 0, conflict.start()) + 1})"
    error = parse(text)
    if isinstance(error, SyntaxError):
        message, line = error.msg or "", error.text or ""
        lines = [line for line in text.splitlines() if line.strip()]
        if 2 * sum(_PROSE.fullmatch(line) is not None for line in lines) > len(lines):
            return "looks like prose, not Python source"
        for what, pattern in _OTHER_TEXTS.items():
            if pattern.match(line):
                return f"looks like {what} (line {error.lineno}), not Python source"
        if message.startswith(_PYTHON_2) and not _PYTHON_3.search(text):
            return f"looks like Python 2 (line {error.lineno}: {message})"
        if message.startswith("leading zeros") and _OCTAL.search(line):
            return f"line {error.lineno} may have a number in octal, as in Python 2 or C ({message})"
        if sys.version_info < (3, 12) and (_PYTHON_3_12.match(line) or "f-string expression part cannot" in message):
            running = f"{sys.version_info.major}.{sys.version_info.minor}"
            return f"line {error.lineno} may need Python 3.12 or newer; this is Python {running}"
    return ""
