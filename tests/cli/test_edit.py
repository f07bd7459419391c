"""`sfumato edit` and `sfumato infill`: what is shown, what is written, and what is refused."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from sfumato.data.tasks import find_task, items
from sfumato.engine.request import Result, Usage

# However unsure the model is, and even if it is Python no more.
ANY = ("--min-certainty", "-inf", "--force")
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


def test_yes_writes_only_the_span(sfumato, file):
    done = sfumato("edit", file, "--span", "2", "--seed", "1", "--yes", "--steps", "1", *ANY)
    assert done.exit_code == 0, done.stderr
    lines = file.read_bytes().decode()
    assert lines != BUGGY
    assert lines.startswith("def area(a, b):\r\n")
    assert lines.endswith("\r\n\r\n# the end")


def test_without_terminal_nothing_is_written(sfumato, file):
    done = sfumato("edit", file, "--span", "2", "--steps", "1", *ANY)
    assert done.exit_code == 2
    assert "cannot ask: stdin is not a terminal; allowed: --yes to write, --dry-run not to" in done.stderr
    assert file.read_bytes() == BUGGY.encode()


def test_concurrently_changed_file_is_kept(sfumato, file, monkeypatch):
    def confirm(*args: object, **options: object) -> bool:
        file.write_text("something else")
        return True

    monkeypatch.setattr("sfumato.cli.output.may_write", confirm)
    done = sfumato("edit", file, "--span", "2", "--steps", "1", *ANY)
    assert done.exit_code == 2
    assert "was changed by another program meanwhile; nothing written" in done.stderr
    assert file.read_text() == "something else"


def test_json_writes_nothing(sfumato, file):
    done = sfumato("edit", file, "--span", "1-2", "--steps", "1", "--json", *ANY)
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
def test_invalid_lines(sfumato, file, span, message):
    done = sfumato("edit", file, "--span", span)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a\0b", "is binary: it holds a zero byte"), (b"ab\xff", "is not UTF-8 at byte 2"), (None, "cannot read")],
)
def test_binary_files(sfumato, tmp_path, content, message):
    path = tmp_path / "some"
    if content is not None:
        path.write_bytes(content)
    done = sfumato("edit", path)
    assert done.exit_code == 2
    assert message in done.stderr


KNOWN = "def area(a, b):\n    return a + b\n"
UNKNOWN = """\
def walk(tree, visit):
    for node in tree.children:
        if visit(node) is None:
            continue
        yield node
        yield from walk(node, visit)
"""


@pytest.mark.parametrize("span", [("--span", "3"), ()])
def test_uncertain_edit_is_not_written(sfumato, tmp_path, span):
    path = tmp_path / "walk.py"
    path.write_text(UNKNOWN)
    done = sfumato("edit", path, "fix the bug:", *span, "--yes")
    assert done.exit_code == 1
    assert "not sure enough: nothing changed (certainty -" in done.stderr
    assert "needed -0.5)" in done.stderr
    assert path.read_text() == UNKNOWN
    told = json.loads(sfumato("edit", path, "fix the bug:", *span, "--json").stdout)
    assert told["finish_reason"] == "unsure"
    assert told["certainty"] < -0.5
    assert told["text"] == UNKNOWN


def test_certainty_is_in_figures_and_json(sfumato, tmp_path):
    path = tmp_path / "area.py"
    path.write_text(KNOWN)
    done = sfumato("edit", path, "fix the bug:", "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"certainty -?0\.0\d", done.stderr)
    assert json.loads(sfumato("edit", path, "fix the bug:", "--json").stdout)["certainty"] >= -0.5
    assert sfumato("edit", path, "fix the bug:", "--min-certainty", "0", "--yes").exit_code == 1
    assert path.read_text() == KNOWN


@pytest.mark.parametrize(
    ("name", "before", "after", "error"),
    [
        ("a.py", "x = 1\n", "x = (\n", "was never closed"),
        ("a.json", "\ufeff[1]\n", "[1\n", "Expecting ',' delimiter"),
        ("a.toml", "x = 1\n", "x = \n", "Invalid value"),
        ("a.py", "x = (\n", "x = )\n", None),
        ("a.txt", "x = 1\n", "x = (\n", None),
        ("a.txt", "a\nb\nc\n", "a\n\nc\n", "have an emptied line"),
        ("a.txt", "a\nb\nc\n", "a\nc\n", None),
        ("a.txt", "a\n\nc\n", "a\nb\nc\n", None),
    ],
)
def test_parsing_files_still_parse(sfumato, tmp_path, monkeypatch, name, before, after, error):
    result = Result(text=after, tokens=(), finish_reason="stop", seed=0, model="tiny", usage=Usage())
    monkeypatch.setattr("sfumato.engine.model.TextModel.edit", lambda *args, **settings: result)
    path = tmp_path / name
    path.write_text(before)
    done = sfumato("edit", path, "--yes")
    assert done.exit_code == (1 if error else 0)
    if error:
        assert error in done.stderr
        assert "nothing written; use --force to write it" in done.stderr
        assert path.read_text() == before
        assert sfumato("edit", path, "--yes", "--force").exit_code == 0
    assert path.read_text() == after


@pytest.mark.parametrize("given", ["make it faster", "json:", ""])
def test_untrained_instructions(sfumato, file, given):
    done = sfumato("edit", file, given, "--span", "2", "--yes")
    assert done.exit_code == 2
    assert f"tiny was not trained on the instruction {given!r}; allowed: 'fix the bug:'" in done.stderr
    assert file.read_bytes() == BUGGY.encode()


def test_files_keep_mode_and_links(sfumato, tmp_path):
    path, link = tmp_path / "area.py", tmp_path / "link.py"
    path.write_text(KNOWN)
    path.chmod(0o755)
    link.symlink_to(path)
    done = sfumato("edit", link, "Fix the bug", "--yes")
    assert done.exit_code == 0, done.stderr
    assert path.read_text() == KNOWN.replace("+", "*")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert link.is_symlink()


def test_read_only_file(sfumato, file):
    file.chmod(0o444)
    done = sfumato("edit", file, "fix the bug:", "--yes")
    assert done.exit_code == 2
    assert "is read-only; allowed: a writable file, or --dry-run" in done.stderr
    assert file.read_bytes() == BUGGY.encode()
    assert sfumato("edit", file, "fix the bug:", "--span", "2", "--dry-run", *ANY).exit_code == 0


@pytest.mark.parametrize("span", [("--span", "2"), ()])
@pytest.mark.parametrize(("mark", "end", "indent"), [("\ufeff", "\r\n", "\t"), ("", "\r\n", "    "), ("", "\n", "\t")])
def test_byte_order_mark_line_ends_and_tabs_are_kept(sfumato, tmp_path, span, mark, end, indent):
    path = tmp_path / "area.py"
    text = f"{mark}def area(a, b):{end}{indent}return a + b{end}"
    path.write_bytes(text.encode())
    done = sfumato("edit", path, "fix the bug:", *span, "--yes")
    assert done.exit_code == 0, done.stderr
    assert path.read_bytes().decode() == text.replace("+", "*")


def test_a_file_longer_than_the_model(sfumato, tmp_path):
    functions = [item.response for item in items(find_task("bugfix"), "test", 3, 40)]
    text = "\n\n\n".join([*functions[:20], KNOWN.rstrip(), *functions[20:]]) + "\n"
    path = tmp_path / "long.py"
    path.write_text(text)
    line = text[: text.index("return a + b")].count("\n") + 1
    done = sfumato("edit", path, "fix the bug:", "--yes")
    assert done.exit_code == 2
    assert re.search(
        r"too long for tiny, which reads about \d+ of \d+ lines at once; name a span with --span", done.stderr
    )
    done = sfumato("edit", path, "fix the bug:", "--span", line, "--yes")
    assert done.exit_code == 0, done.stderr
    assert path.read_text() == text.replace("return a + b", "return a * b")
    done = sfumato("edit", path, "fix the bug:", "--span", f"1-{line}", "--yes")
    assert done.exit_code == 2
    assert "the spans are too long for tiny" in done.stderr


def test_several_edits_and_samplers(sfumato, tmp_path, checkpoint):
    path = tmp_path / "area.txt"
    path.write_text(KNOWN)
    asked = ("edit", path, "--span", "2", "--model", checkpoint, "--n", "3", "--sampler", "margin", "--set", "steps=2")
    done = sfumato(*asked, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["results"]
    assert len({one["text"] for one in found}) == len(found) > 1
    assert [one["certainty"] for one in found] == sorted((one["certainty"] for one in found), reverse=True)
    assert sfumato(*asked, "--yes").exit_code == 0
    assert path.read_text() == found[0]["text"]
    done = sfumato("edit", path, "--sampler", "best", "--dry-run")
    assert done.exit_code == 2
    assert "margin" in done.stderr


@pytest.mark.parametrize(("at", "before"), [("2:5", "first\n    "), ("2", "first\n    code"), ("1:1", "")])
def test_infill_at_a_position(sfumato, tmp_path, at, before):
    text = "first\n    code\nlast"
    path = tmp_path / "some.py"
    path.write_text(text)
    done = sfumato("infill", path, "--at", at, "--length", "3", "--steps", "1", "--json")
    assert done.exit_code == 0, done.stderr
    middle = json.loads(done.stdout)["text"]
    done = sfumato("infill", path, "--at", at, "--length", "3", "--steps", "1")
    assert done.stdout == before + middle + text.removeprefix(before)
    assert path.read_text() == text


def test_gaps_and_spans_are_constrained(sfumato, tmp_path):
    path, schema = tmp_path / "some.py", tmp_path / "schema.json"
    path.write_text("first\ncode\nlast")
    schema.write_text('{"type": "integer", "minimum": 10, "maximum": 99}')
    done = sfumato("infill", "--only", "--schema", schema, input="x = <FILL>\n")
    assert 10 <= int(done.stdout) <= 99
    done = sfumato("edit", path, "--span", "2", "--choice", "one", "--choice", "two", "--yes")
    assert done.exit_code == 0, done.stderr
    assert path.read_text() in ("first\none\nlast", "first\ntwo\nlast")
    for arguments, message in (
        (["infill", "--schema", "-"], "text and schema are both '-'"),
        (["infill", path, "--at", "1", "--regex", "x{99}"], "every text that satisfies regex is longer than 32 tokens"),
        (["edit", path, "--regex", "x"], "regex is given with no spans; allowed: with one span"),
    ):
        done = sfumato(*arguments, input="")
        assert done.exit_code == 2
        assert message in done.stderr


@pytest.mark.parametrize(
    ("at", "message"), [("9", "lines from 1 to 3"), ("2:99", "columns 1 to 9 of line 2"), ("a", "at is 'a'")]
)
def test_invalid_positions(sfumato, tmp_path, at, message):
    path = tmp_path / "some.py"
    path.write_text("first\n    code\nlast")
    done = sfumato("infill", path, "--at", at)
    assert done.exit_code == 2
    assert message in done.stderr


def test_unwritten_edit_is_reported(sfumato, monkeypatch):
    empty = Result(text="", tokens=(), finish_reason="stop", seed=0, model="tiny", usage=Usage())
    monkeypatch.setattr("sfumato.engine.model.TextModel.infill", lambda *texts, **settings: empty)
    done = sfumato("infill", input="a <FILL> b")
    assert done.stdout == "a  b"
    assert done.stderr.endswith(" · nothing written\n")


def test_a_marker_in_a_text_from_stdin(sfumato):
    done = sfumato("infill", "--length", "2", "--steps", "1", "--only", input="a <FILL> b")
    assert done.exit_code == 0, done.stderr
    whole = sfumato("infill", "-", "--length", "2", "--steps", "1", input="a <FILL> b")
    assert whole.stdout == f"a {done.stdout.removesuffix(chr(10))} b"
    none = sfumato("infill", "--length", "2", input="a b")
    assert none.exit_code == 2
    assert "stdin holds the marker '<FILL>' 0 times; allowed: once, or give --at" in none.stderr
