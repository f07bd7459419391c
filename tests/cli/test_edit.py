"""`sfumato edit` and `sfumato infill`: what is shown, what is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BUGGY = "def area(a, b):\r\n    return a + b\r\n\r\n# the end"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "area.py"
    path.write_bytes(BUGGY.encode())
    return path


def test_a_dry_run_shows_the_difference_and_writes_nothing(sfumato, file):
    done = sfumato("edit", file, "fix the bug:", "--span", "2", "--strength", "1", "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert "-    return a + b" in done.stdout
    assert done.stdout.count("\n+") == 2
    assert file.read_bytes() == BUGGY.encode()
    assert "canvas" in done.stderr


def test_consent_by_option_writes_all_but_the_span_as_it_was(sfumato, file):
    done = sfumato("edit", file, "--span", "2", "--seed", "1", "--yes", "--steps", "1")
    assert done.exit_code == 0, done.stderr
    lines = file.read_bytes().decode()
    assert lines != BUGGY
    assert lines.startswith("def area(a, b):\r\n")
    assert lines.endswith("\r\n\r\n# the end")


def test_nobody_to_ask(sfumato, file):
    done = sfumato("edit", file, "--span", "2", "--steps", "1")
    assert done.exit_code == 2
    assert "nobody is there to ask; allowed: --yes to write, --dry-run not to" in done.stderr
    assert file.read_bytes() == BUGGY.encode()


def test_a_file_that_changes_meanwhile_stays_as_it_is(sfumato, file, monkeypatch):
    def confirm(*args: object, **options: object) -> bool:
        file.write_text("something else")
        return True

    monkeypatch.setattr("sfumato.cli.edit._consent", confirm)
    done = sfumato("edit", file, "--span", "2", "--steps", "1")
    assert done.exit_code == 2
    assert "was changed by somebody else meanwhile; nothing written" in done.stderr
    assert file.read_text() == "something else"


def test_json_writes_nothing(sfumato, file):
    done = sfumato("edit", file, "--span", "1-2", "--steps", "1", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["text"].endswith("\r\n\r\n# the end")
    assert file.read_bytes() == BUGGY.encode()


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ("5", "span is '5'; allowed: L1 or L1-L2, lines from 1 to 4"),
        ("2-1", "span is '2-1'"),
        ("x", "span is 'x'"),
        ("3", "span '3' is an empty line; `sfumato infill --at 3` writes into one"),
    ],
)
def test_lines_that_are_none(sfumato, file, span, message):
    done = sfumato("edit", file, "--span", span)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a\0b", "is binary, as it holds a zero byte"), (b"ab\xff", "is not UTF-8 at byte 2"), (None, "cannot read")],
)
def test_files_that_are_no_text(sfumato, tmp_path, content, message):
    path = tmp_path / "some"
    if content is not None:
        path.write_bytes(content)
    done = sfumato("edit", path)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(("at", "before"), [("2:5", "first\n    "), ("2", "first\n    code"), ("1:1", "")])
def test_infilling_at_a_place(sfumato, tmp_path, at, before):
    text = "first\n    code\nlast"
    path = tmp_path / "some.py"
    path.write_text(text)
    done = sfumato("infill", path, "--at", at, "--length", "3", "--steps", "1", "--json")
    assert done.exit_code == 0, done.stderr
    middle = json.loads(done.stdout)["text"]
    done = sfumato("infill", path, "--at", at, "--length", "3", "--steps", "1")
    assert done.stdout == before + middle + text.removeprefix(before)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("at", "message"), [("9", "lines from 1 to 3"), ("2:99", "columns 1 to 9 of line 2"), ("a", "at is 'a'")]
)
def test_places_that_are_none(sfumato, tmp_path, at, message):
    path = tmp_path / "some.py"
    path.write_text("first\n    code\nlast")
    done = sfumato("infill", path, "--at", at)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_marker_in_a_text_from_stdin(sfumato):
    done = sfumato("infill", "--length", "2", "--steps", "1", "--only", input="a <FILL> b")
    assert done.exit_code == 0, done.stderr
    whole = sfumato("infill", "-", "--length", "2", "--steps", "1", input="a <FILL> b")
    assert whole.stdout == f"a {done.stdout.removesuffix(chr(10))} b"
    none = sfumato("infill", "--length", "2", input="a b")
    assert none.exit_code == 2
    assert "stdin holds the marker '<FILL>' 0 times; allowed: once, or give --at" in none.stderr
