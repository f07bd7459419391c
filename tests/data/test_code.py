from __future__ import annotations

import itertools
import zipfile
from pathlib import Path

import pytest

from sfumato.data.code import CARD, CORPUS, Corpus, CorpusWriter, Package, overlaps, read_wheel
from sfumato.errors import ConfigError
from sfumato.text.lexemes import is_level, lex

MODULE = '''import os


class Reader:
    def read(self, path, mode="r"):
        """Read a file."""
        with open(path, mode) as file:
            return file.read()

    def size(self, path):
        if not os.path.exists(path):
            return 0
        return os.stat(path).st_size + 1
'''
METADATA = "Metadata-Version: 2.1\nName: Some.Reader\nVersion: 1.2\nLicense-Expression: {licence}\n\nLong text.\n"


def write_wheel(path: Path, *, licence: str = "MIT", files: dict[str, str] | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("some_reader-1.2.dist-info/METADATA", METADATA.format(licence=licence))
        for name, text in ({"reader/core.py": MODULE} if files is None else files).items():
            wheel.writestr(name, text)
    return path


def write_corpus(directory: Path, *sources: str) -> Corpus:
    writer = CorpusWriter()
    writer.add(Package("some", "1", "MIT", tuple((f"{number}.py", source) for number, source in enumerate(sources))))
    writer.write(directory, {"packages": {}})
    return Corpus(directory)


def test_wheel_without_tests_and_vendored_code(tmp_path: Path) -> None:
    names = ["reader/core.py", "reader/_vendor/x.py", "tests/test_core.py", "reader/core_pb2.py", "reader/data.txt"]
    package = read_wheel(write_wheel(tmp_path / "a.whl", files=dict.fromkeys(names, MODULE)))
    assert (package.name, package.version, package.licence) == ("some-reader", "1.2", "MIT")
    assert [path for path, _ in package.files] == ["reader/core.py"]


@pytest.mark.parametrize(
    ("licence", "permissive"), [("BSD-3-Clause", True), ("GPL-3.0", False), ("MIT OR GPL-2.0", False), ("", False)]
)
def test_licences(tmp_path: Path, licence: str, permissive: bool) -> None:
    assert read_wheel(write_wheel(tmp_path / "a.whl", licence=licence)).permissive == permissive


def test_invalid_wheels_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"no wheel")
    with pytest.raises(ConfigError, match=r"a\.whl is not a readable wheel"):
        read_wheel(tmp_path / "a.whl")
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("some_reader-1.2.dist-info/METADATA", "Version: 1.2\n")
    with pytest.raises(ConfigError, match=r"a\.whl is not a readable wheel: its metadata has no name"):
        read_wheel(tmp_path / "a.whl")


def test_corpus_round_trip(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, MODULE)
    functions = [" ".join(corpus.window(*bounds)) for bounds in corpus.functions_M2.tolist()]
    assert functions == [
        '<0> def read ( self , path , mode = "r" ) : <1> """Read a file.""" <1> with open ( path , mode ) as file : '
        "<2> return file . read ( )",
        "<0> def size ( self , path ) : <1> if not os . path . exists ( path ) : <2> return 0 "
        "<1> return os . stat ( path ) . st_size + 1",
    ]
    assert len(corpus) == len(lex(MODULE))


def test_form_feeds_end_no_line(tmp_path: Path) -> None:
    plain, paged = (write_corpus(tmp_path / str(i), f"{mark}\n{MODULE}") for i, mark in enumerate(("#", "#\f\x1c")))
    assert [paged.window(*bounds) for bounds in paged.functions_M2] == [
        plain.window(*bounds) for bounds in plain.functions_M2
    ]


def test_duplicates_and_syntax_errors_are_skipped(tmp_path: Path) -> None:
    again = MODULE.replace("class Reader", "class Other")
    corpus = write_corpus(tmp_path, MODULE, again, MODULE, "def f(:\n    return 1\n" * 20)
    assert len(corpus.functions_M2) == 2
    assert len(corpus) < len(lex(MODULE)) + len(lex(again)) // 2


def test_windows_are_whole_lines(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, MODULE)
    heads = [is_level(text) for text in corpus.window(0, len(corpus))] + [True]
    for length, position in itertools.product((8, 24), range(len(corpus))):
        window = corpus.lines_from(position, length)
        assert len(window) <= length
        if window:
            begin = heads.index(True, position)
            assert is_level(window[0])
            assert heads[begin + len(window)]


def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_corpus(tmp_path / name, MODULE)
    for file in (CORPUS, CARD):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_functions_that_overlap_with_a_test_are_left_out(tmp_path: Path) -> None:
    test_item = [lexeme.text for lexeme in lex("def f(path):\n    if not os.path.exists(path):\n        return 0\n")]
    excluded = overlaps([test_item], length=12)
    writer = CorpusWriter(excluded)
    writer.add(Package("some", "1", "MIT", (("core.py", MODULE),)))
    writer.write(tmp_path, {})
    [bounds] = Corpus(tmp_path).functions_M2.tolist()
    assert "read" in Corpus(tmp_path).window(*bounds)
    assert writer.counts["excluded"] == 1


def test_missing_corpus_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no code\.safetensors in .*mend_data\.py"):
        Corpus(tmp_path)
