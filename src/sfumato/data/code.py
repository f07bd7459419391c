"""A corpus of Python source as lexemes, built once from wheels and read at random during training.

Whole files are stored as streams of lexemes with the positions of their functions, so that a window over any lines can
be drawn. Selection depends only on content: the same wheels give the same bytes.
"""

# N lexemes of all files, F files, M functions

from __future__ import annotations

import ast
import bisect
import hashlib
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.parser import HeaderParser
from itertools import pairwise
from pathlib import Path

import numpy as np
from safetensors.numpy import save
from safetensors.torch import load_file

from sfumato.errors import ConfigError
from sfumato.storage import write_atomically
from sfumato.text.lexemes import is_level, kind_of, lex, relative

CORPUS, CARD = "code.safetensors", "code.json"
MIN_FUNCTION, MAX_FUNCTION = 16, 1024
"""Minimum and maximum lexemes of functions whose position is stored."""
MAX_FILE_BYTES = 300_000
MAX_PACKAGE_LEXEMES = 1_500_000
"""Limit per package, a few percent of the corpus."""
SKIPPED = re.compile(
    r"(^|/)(tests?|testing|_?vendor(ed)?|site-packages|migrations|node_modules)/|(^|/)(test_|conftest)|_pb2"
)
PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Unlicense|0BSD|Zlib|CC0|Public Domain)\b", re.IGNORECASE
)
COPYLEFT = re.compile(
    r"\b(A?L?GPL|GNU|MPL|Mozilla|EUPL|CeCILL|CDDL|EPL|Eclipse|Proprietary|Commercial|SSPL|BUSL)", re.IGNORECASE
)


@dataclass(frozen=True)
class Package:
    """A wheel: its name and version, its stated licence, and its source files."""

    name: str
    version: str
    licence: str
    files: tuple[tuple[str, str], ...]
    """Path in the wheel and text."""

    @property
    def permissive(self) -> bool:
        """Whether all of its metadata names only permissive licences."""
        return bool(PERMISSIVE.search(self.licence)) and not COPYLEFT.search(self.licence)

    @property
    def held_out(self) -> bool:
        """Whether it is one of the 5% of packages held out from training."""
        return int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % 20 == 0


def read_wheel(path: Path) -> Package:
    """Read a wheel's metadata and Python files, without tests, vendored and generated code.

    Raises:
        ConfigError: if it is not a wheel.
    """
    try:
        with zipfile.ZipFile(path) as wheel:
            infos = sorted(wheel.infolist(), key=lambda info: info.filename)
            [metadata] = [
                info
                for info in infos
                if info.filename.count("/") == 1 and info.filename.endswith(".dist-info/METADATA")
            ]
            headers = HeaderParser().parsestr(wheel.read(metadata).decode("utf-8", "replace"))
            files = []
            for info in infos:
                is_source = info.filename.endswith(".py") and not SKIPPED.search(info.filename)
                if is_source and info.file_size <= MAX_FILE_BYTES:
                    with suppress(UnicodeDecodeError):
                        files.append((info.filename, wheel.read(info).decode("utf-8-sig")))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path} is not a readable wheel: {error}") from error
    stated = [headers.get("License-Expression", ""), headers.get("License", "").strip().split("\n")[0]]
    stated += [
        one.removeprefix("License :: ") for one in headers.get_all("Classifier", []) if one.startswith("License ::")
    ]
    if headers["Name"] is None or headers["Version"] is None:
        raise ConfigError(f"{path} is not a readable wheel: its metadata has no name or no version")
    name = re.sub(r"[-_.]+", "-", headers["Name"]).lower()
    return Package(name, headers["Version"], "; ".join(one for one in stated if one), tuple(files))


def functions_of(source: str) -> list[tuple[int, int]] | None:
    """First and last line, from 1, of every top-level function or method; None if the source does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[tuple[int, int]] = []

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((child.lineno, child.end_lineno or child.lineno))
            elif isinstance(child, ast.ClassDef | ast.If | ast.Try | ast.With):
                visit(child)

    visit(tree)
    return sorted(found)


def looks_written(source: str) -> bool:
    """Whether a file seems to be written by hand: neither minified nor generated."""
    lines = source.splitlines()
    head = "\n".join(lines[:20]).lower()
    marks = ("generated by", "autogenerated", "do not edit")
    return max(map(len, lines), default=0) <= 1000 and not any(mark in head for mark in marks)


class CorpusWriter:
    """Collects packages and writes the corpus."""

    def __init__(self, is_excluded: Callable[[list[str]], bool] = lambda lexemes: False) -> None:
        self._is_excluded = is_excluded
        self._ids: dict[str, int] = {}
        self._streams: list[np.ndarray] = []
        self._functions: list[tuple[int, int]] = []
        self._files: list[int] = [0]
        self._seen: set[bytes] = set()
        self._num_lexemes = 0
        self.counts: dict[str, int] = dict.fromkeys(("files", "doubles", "unparsed", "excluded"), 0)

    def add(self, package: Package) -> int:
        """Add a package's files and return the number of lexemes kept."""
        before = self._num_lexemes
        for _, source in package.files:
            if self._num_lexemes - before > MAX_PACKAGE_LEXEMES:
                break
            self._add_file(source)
        return self._num_lexemes - before

    def _add_file(self, source: str) -> None:
        if not looks_written(source):
            return
        lines = functions_of(source)
        if lines is None:
            self.counts["unparsed"] += 1
            return
        lexemes = lex(source)
        texts = [lexeme.text for lexeme in lexemes]
        if len(texts) < MIN_FUNCTION or sum(kind_of(text) in ("number", "string") for text in texts) > len(texts) // 3:
            return
        starts = [lexeme.start for lexeme in lexemes]
        # Lines as Python counts them: a form feed, for example, ends none.
        offsets = [0, *(end.end() for end in re.finditer(r"\r\n?|\n", source)), len(source)]
        functions, dropped = [], np.zeros(len(texts), dtype=bool)
        for first, last in lines:
            if last >= len(offsets):
                continue
            begin, end = (bisect.bisect_left(starts, offsets[line]) for line in (first - 1, last))
            begin = next((index for index in range(begin, end) if is_level(texts[index])), end)
            if not MIN_FUNCTION <= end - begin <= MAX_FUNCTION:
                continue
            body = relative(texts[begin:end])
            if self._is_excluded(body):
                self.counts["excluded"] += 1
            elif not self._is_new(body):
                self.counts["doubles"] += 1
            else:
                functions.append((begin, end))
                continue
            dropped[begin:end] = True
        if not self._is_new(["file", *texts]):
            return
        kept = np.cumsum(~dropped) - ~dropped
        base = self._num_lexemes
        ids = self._ids
        stream = np.array(
            [ids.setdefault(text, len(ids)) for text, out in zip(texts, dropped, strict=True) if not out], np.uint32
        )
        self._streams.append(stream)
        self._functions += [
            (base + int(kept[begin]), base + int(kept[begin]) + end - begin) for begin, end in functions
        ]
        self._num_lexemes += len(stream)
        self._files.append(self._num_lexemes)
        self.counts["files"] += 1

    def _is_new(self, lexemes: list[str]) -> bool:
        """Whether no text of these lexemes was seen before; it counts as seen now."""
        key = hashlib.sha256("\0".join(lexemes).encode("utf-8", "surrogatepass")).digest()[:10]
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def write(self, directory: Path, card: dict[str, object]) -> None:
        """Write the corpus and its card atomically.

        Raises:
            ConfigError: if nothing was kept.
        """
        if not self._streams:
            raise ConfigError(f"none of the packages' files was kept: {self.counts}")
        texts = list(self._ids)
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        arrays: dict[str, np.ndarray] = {
            "stream": np.concatenate(self._streams).view(np.int32),
            "files": np.array(self._files, np.int64),
            "functions": np.array(self._functions, np.int64).reshape(-1, 2),
            "lexeme_bytes": np.frombuffer(b"".join(encoded), np.uint8),
            "lexeme_ends": np.cumsum([len(one) for one in encoded], dtype=np.int64),
        }
        write_atomically(directory / CORPUS, save(arrays))
        sizes = {
            "lexemes": self._num_lexemes,
            "spellings": len(texts),
            "functions": len(self._functions),
            **self.counts,
        }
        write_atomically(directory / CARD, (json.dumps({**sizes, **card}, indent=1) + "\n").encode())


class Corpus:
    """A written corpus.

    Raises:
        ConfigError: if the directory holds none.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / CORPUS
        if not path.exists():
            raise ConfigError(f"there is no {CORPUS} in {directory}; write it with recipes/mend_data.py")
        # Torch maps the file, which numpy's `load_file` would copy.
        arrays = {name: tensor.numpy() for name, tensor in load_file(path).items()}
        self._stream_N = arrays["stream"].view(np.uint32)
        self._files_F = arrays["files"]
        self.functions_M2 = arrays["functions"]
        """Start and end of each function in the stream of all files."""
        blob, ends = arrays["lexeme_bytes"].tobytes(), arrays["lexeme_ends"].tolist()
        self._texts = [blob[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise([0, *ends])]

    def __len__(self) -> int:
        return len(self._stream_N)

    def window(self, start: int, end: int) -> list[str]:
        """Lexemes of a range of the stream, indented from level 0."""
        return relative(self._lexemes(start, end))

    def _lexemes(self, start: int, end: int) -> list[str]:
        return [self._texts[index] for index in self._stream_N[start:end].tolist()]

    def lines_from(self, position: int, length: int) -> list[str]:
        """Whole lines from the first that starts at or after a position, up to a number of lexemes of one file; may be
        empty."""
        last = int(self._files_F[bisect.bisect_right(self._files_F, position)])
        stop = min(last, position + 2 * length)
        texts = self._lexemes(position, stop)
        bounds = [index for index, text in enumerate(texts) if is_level(text)]
        if stop == last:
            bounds.append(len(texts))
        ends = [index for index in bounds if index - bounds[0] <= length]
        return relative(texts[ends[0] : ends[-1]]) if ends else []


def overlaps(texts: Iterable[list[str]], length: int = 24) -> Callable[[list[str]], bool]:
    """Whether a function shares a run of lexemes with any of some texts, to keep test items out of a corpus."""

    def runs(lexemes: list[str]) -> Iterator[int]:
        return (hash(tuple(lexemes[index : index + length])) for index in range(len(lexemes) - length + 1))

    known = {run for text in texts for run in runs(text)}
    return lambda lexemes: not known.isdisjoint(runs(lexemes))
