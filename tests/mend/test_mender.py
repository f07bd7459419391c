"""Repairs of texts and projects, with scripted edits."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripted import scripted_mender
from sfumato.errors import CheckpointError, RequestError
from sfumato.mend.evidence import PASSING, UNTESTED, Counts, Evidence, find_targets, gather
from sfumato.mend.files import find_sources, read_source, why_not
from sfumato.mend.mender import Mended, Mender
from sfumato.mend.sandbox import Outcome, Sandbox
from sfumato.mend.search import SearchConfig
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.layers import LexemeConfig
from sfumato.text.lexemes import lex

SIZES = dict(
    vocab_size=227,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=1,
    num_attention_heads=1,
    num_key_value_heads=1,
    head_dim=16,
)
CORE = '''"""Sums."""


def add(a, b):
    # of two
    return a - b


def double(a):
    return add(a, a)


def unused(a):
    return a - 1
'''
TEST = """from core import double


def test_double():
    assert double(3) == 6


if __name__ == "__main__":
    test_double()
"""
COMMAND = [sys.executable, "test_core.py"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.fixture
def mender() -> Mender:
    return scripted_mender(("-", True, ("*",), 2.0), ("-", True, ("+",), 1.0), (":", False, (")",), 3.0))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "core.py").write_text(CORE)
    (tmp_path / "test_core.py").write_text(TEST)
    return tmp_path


def mend_project(mender: Mender, project: Path, command: list[str] = COMMAND, **settings: Any) -> Any:
    return mender.mend_project(project, [read_source(project / "core.py")], command, **settings)


def test_other_models_are_refused() -> None:
    with pytest.raises(CheckpointError, match="does not read Python lexemes"):
        Mender(Decoder(DecoderConfig(**SIZES)), 256)


def test_a_judge_with_other_tables_is_refused() -> None:
    tables = [LexemeConfig(num_spellings=size, num_words=64, size=8) for size in (64, 32)]
    model, judge = (Decoder(DecoderConfig(**SIZES, lexemes=each, length_buckets=(1,))) for each in tables)
    with pytest.raises(CheckpointError, match="tables of lexemes differ"):
        Mender(model, 256, lambda: judge).search([], lambda target, text: False, SearchConfig())


def test_what_is_no_text_is_refused(mender: Mender) -> None:
    with pytest.raises(RequestError, match="the text is None; allowed: a string"):
        mender.mend(None)  # type: ignore[arg-type]


def test_valid_code_is_unchanged_without_tests(mender: Mender) -> None:
    assert mender.mend(CORE) == Mended(CORE, reason="it parses, and there is nothing else to check it with")


def test_a_caller_verifies(mender: Mender) -> None:
    mended = mender.mend(CORE, lambda text: "a + b" in text, function="add")
    assert mended == Mended(CORE.replace("a - b", "a + b"), "caller", 1, 2, 1.0)


def test_only_the_named_function_is_edited(mender: Mender) -> None:
    tried: list[str] = []
    mended = mender.mend(CORE, lambda text: bool(tried.append(text)), function="unused")  # type: ignore[func-returns-value]
    assert tried
    assert all("return a - b" in text for text in tried)
    assert (mended.text, mended.verified_by, mended.num_runs) == (CORE, None, len(tried))
    assert mender.mend(CORE, lambda text: True, function="nothing").reason == "there is no function nothing"


def test_syntax_errors_are_repaired(mender: Mender) -> None:
    broken = "def f(a:\n    return a - 1\n"
    assert mender.mend(broken) == Mended("def f(a):\n    return a - 1\n", "parser", 1)
    assert mender.mend(broken, lambda text: "+" in text).text == "def f(a):\n    return a + 1\n"
    assert mender.mend("x = = 1\n").reason == "no repair was found that parses"


def test_tests_verify(mender: Mender, project: Path) -> None:
    runs: list[int] = []
    [(file, mended)] = mend_project(mender, project, on_run=runs.append)
    assert (file.path.name, mended.text) == ("core.py", CORE.replace("a - b", "a + b"))
    assert (mended.verified_by, mended.num_edits, mended.num_runs, runs) == ("tests", 1, 2, [1, 2])
    assert (project / "core.py").read_text() == CORE


def test_passing_tests_mend_nothing(mender: Mender, project: Path) -> None:
    (project / "core.py").write_text(CORE.replace("a - b", "a + b"))
    assert mend_project(mender, project) == []


def test_unexecuted_code_is_not_edited(mender: Mender, project: Path) -> None:
    (project / "test_core.py").write_text("raise ValueError('elsewhere')\n")
    [(_, mended)] = mend_project(mender, project)
    end = "ValueError: elsewhere"
    assert mended == Mended(
        CORE, reason=f"the failing tests execute no line of it; run in {project}, the tests end with: {end}"
    )


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (
            "import cores",
            "the tests cannot be run: ModuleNotFoundError: No module named 'cores'; allowed: modules that",
        ),
        (
            "import os\nos.environ['SOME_KEY']",
            "KeyError: 'SOME_KEY'; variables are not passed on: --test 'env SOME_KEY=",
        ),
    ],
)
def test_what_the_environment_lacks_is_no_mistake(mender: Mender, project: Path, test: str, said: str) -> None:
    (project / "test_core.py").write_text(f"{test}\n")
    with pytest.raises(RequestError, match=re.escape(said)):
        mend_project(mender, project)


def test_a_budget_ends_the_search(mender: Mender, project: Path) -> None:
    [(_, mended)] = mend_project(mender, project, config=SearchConfig(max_runs=1))
    assert mended == Mended(
        CORE,
        num_runs=1,
        reason="no edit was verified in 1 run; the tests end with: AssertionError; "
        "try a larger budget, or one failing test at a time",
    )


def test_syntax_errors_are_repaired_before_tests(mender: Mender, project: Path) -> None:
    (project / "core.py").write_text(CORE.replace("def add(a, b):", "def add(a, b:"))
    [(_, mended)] = mend_project(mender, project)
    assert (mended.text, mended.num_edits) == (CORE.replace("a - b", "a + b"), 2)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "import os\nname = os.path.join(os.environ['TMPDIR'], 'ran')\nfirst = not os.path.exists(name)\n"
            "open(name, 'w').close()\nraise SystemExit(first)\n",
            "fail in one run and pass in the next",
        ),
        (
            # Fails twice, and passes from then on, whatever the edit.
            "import os, core\ncore.add(1, 2)\nname = os.path.join(os.environ['TMPDIR'], 'ran')\n"
            "with open(name, 'a') as file:\n    file.write('.')\n"
            "raise SystemExit(os.path.getsize(name) < 3)\n",
            "fail in one run and pass in the next",
        ),
        ("raise SystemExit(127)\n", r"cannot be run in .* \(exit 127\)"),
    ],
)
def test_tests_without_result_are_refused(mender: Mender, project: Path, program: str, message: str) -> None:
    (project / "test_core.py").write_text(program)
    with pytest.raises(RequestError, match=message):
        mend_project(mender, project)


def test_files_elsewhere_are_refused(mender: Mender, project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "core.py"
    other.write_text(CORE)
    with pytest.raises(RequestError, match="none of the files is in"):
        mender.mend_project(project, [read_source(other)], COMMAND)


def test_evidence_has_executed_lines_and_exceptions(project: Path) -> None:
    with Sandbox(project) as sandbox:
        evidence = gather(sandbox, COMMAND, {})
        changed = gather(sandbox, COMMAND, {Path("core.py"): CORE.replace("a - b", "a + b").encode()})
    assert evidence.outcome.status == 1
    # Which lines belong to a test is known of pytest's only.
    assert evidence.executed[Path("core.py")] == dict.fromkeys((1, 4, 6, 9, 10, 13), Counts(0, 0, 1))
    assert (Path("test_core.py"), 5) in evidence.frames
    assert changed.outcome.passed


def test_evidence_from_pytest(project: Path) -> None:
    with Sandbox(project) as sandbox:
        evidence = gather(sandbox, [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"], {})
    assert evidence.outcome.status == 1, evidence.outcome.output
    assert evidence.executed[Path("core.py")][6] == Counts(1, 0, 0)
    assert evidence.executed[Path("core.py")][4] == Counts(0, 0, 1)
    assert evidence.frames == [(Path("test_core.py"), 5)]


def test_what_is_raised_is_caught(mender: Mender, project: Path) -> None:
    source = (
        "def get(values, key):\n    try:\n        return values[key]\n    except ValueError:\n        return None\n"
    )
    (project / "core.py").write_text(source)
    (project / "test_core.py").write_text("from core import get\n\n\ndef test_get():\n    assert get({}, 1) is None\n")
    for command in (PYTEST, [sys.executable, "-c", "import test_core; test_core.test_get()"]):
        [(_, mended)] = mend_project(mender, project, command)
        assert (mended.text, mended.num_runs) == (source.replace("ValueError", "KeyError"), 1)


def test_edits_are_tried_on_the_failing_tests_before_all(
    mender: Mender, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = "def test_a():\n    pass\n"
    (project / "test_others.py").write_text(others + others.replace("test_a", "test_b"))
    # One in the same file, and a project with a say in what is collected.
    (project / "test_core.py").write_text(TEST + others)
    (project / "conftest.py").write_text("def pytest_ignore_collect():\n    return False\n")
    runs, run = list[tuple[str, bool]](), Sandbox.run

    def recorded(*arguments: Any, **options: Any) -> Outcome:
        outcome = run(*arguments, **options)
        num_run = sum(map(int, re.findall(r"(\d+) (?:passed|failed)", outcome.output)))
        runs.append(({1: "failing", 4: "all"}[num_run], outcome.passed))
        return outcome

    monkeypatch.setattr(Sandbox, "run", recorded)
    [(_, mended)] = mend_project(mender, project, PYTEST)
    assert (mended.verified_by, mended.num_runs) == ("tests", 2)
    original, first, second = [("failing", False)], [("failing", False)], [("failing", True), ("all", True)]
    assert runs[:2] + runs[-3:] == [("all", False)] * 5
    assert runs[2:-3] == [*original, *first, *second, ("all", True)]


def test_tests_that_fail_only_after_others_are_not_run_alone(mender: Mender, project: Path) -> None:
    state = "import core\n\n\ndef test_a():\n    core.wrong = True\n"
    (project / "test_a.py").write_text(state)
    (project / "test_core.py").write_text(
        "import core\n\n\ndef test_double():\n    assert core.double(3) == (6 if hasattr(core, 'wrong') else 0)\n"
    )
    [(_, mended)] = mend_project(mender, project, PYTEST)
    assert mended.verified_by == "tests"


def failing(executed: set[int], *frames: int) -> Evidence:
    lines = {Path("core.py"): dict.fromkeys(executed, Counts(0, 0, 1))} if executed else {}
    return Evidence(Outcome(1, "", 1.0), lines, [(Path("core.py"), line) for line in frames])


def named(target: Any) -> list[tuple[str, float]]:
    """The first name of each region that is a function's, and its prior."""
    lexemes = [lexeme.text for lexeme in lex(target.source)]
    regions = [(lexemes[region.start : region.end], region.prior) for region in target.regions]
    return [(texts[texts.index("def") + 1], prior) for texts, prior in regions if "def" in texts]


def test_functions_of_the_traceback_come_first() -> None:
    [target] = find_targets({Path("core.py"): CORE}, failing({4, 6, 9, 10, 13}, 10, 6))
    # The third one was defined, and did not run.
    assert named(target) == [("add", 3.0), ("double", 2.0)]
    assert target.lines is not None
    assert 14 not in target.lines
    [target] = find_targets({Path("core.py"): CORE}, failing(set()))
    assert (named(target), target.lines) == ([("add", 0.0), ("double", 0.0), ("unused", 0.0)], None)
    [target] = find_targets({Path("core.py"): CORE}, function="double")
    assert named(target) == [("double", 0.0)]


def test_lines_of_few_passing_tests_come_first() -> None:
    source = "A = 1\n\n\ndef f(a):\n    return a\n\n\ndef g(a):\n    if a:\n        return 1\n    return A\n"
    counts = {1: Counts(0, 0, 1), 4: Counts(0, 0, 1), 5: Counts(0, 3, 0), 8: Counts(0, 0, 1)}
    counts |= {9: Counts(1, 4, 0), 10: Counts(0, 4, 0), 11: Counts(2, 0, 0)}
    [target] = find_targets({Path("core.py"): source}, Evidence(Outcome(1, "", 1.0), {Path("core.py"): counts}, []))
    # Neither what only passing tests ran, nor the head of its function.
    assert target.lines == {1: UNTESTED, 8: 0.0, 9: pytest.approx(PASSING * math.log(5.0)), 11: 0.0}
    # The function before the module's own lines.
    assert [region.start > 10 for region in target.regions] == [True, False]


def test_statements_of_several_lines_are_whole() -> None:
    source = "def f(\n    a,\n    b=1,\n):\n    return (\n        a +\n        b\n    )\n\n\ndef g():\n    return 1\n"
    [target] = find_targets({Path("core.py"): source}, failing({6}))
    assert target.lines == dict.fromkeys(range(1, 9), 0.0)
    assert named(target) == [("f", 0.0)]


def test_long_functions_are_read_in_parts() -> None:
    source = "def f(a):\n" + "".join(f"    a = a + {number}\n" for number in range(100))
    [target] = find_targets({Path("core.py"): source}, length=64)
    assert target.regions[0].start == 0
    assert target.regions[-1].end == len(lex(source))
    for before, after in zip(target.regions, target.regions[1:], strict=False):
        assert before.end == after.start
        assert before.end - before.start <= 64


def test_methods_are_found_by_their_class() -> None:
    source = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n"
    [both] = find_targets({Path("core.py"): source}, function="f")
    [one] = find_targets({Path("core.py"): source}, function="B.f")
    assert [len(target.regions) for target in (both, one)] == [2, 1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.ipynb", b"{}", "is a notebook"),
        ("a.js", b"let a = 1", "is not Python source"),
        ("a.py", b"a = '\0'", "is binary"),
        ("a.py", b"a = '\xff'", "cannot be decoded: .*; allowed: UTF-8, or an encoding declared"),
        ("a.py", b"# coding: nonsense\n", "cannot be decoded: .*; allowed: UTF-8, or an encoding declared"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RequestError, match=message):
        read_source(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    ["# é\n".encode(), b"\xef\xbb\xbfa = 1\r\n", "# -*- coding: latin-1 -*-\na = 'é'\r\n".encode("latin-1"), b"a = 1"],
)
def test_files_keep_their_encoding(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)
    file = read_source(tmp_path / "a.py")
    assert file.encode(file.text) == content


def test_a_character_that_an_encoding_lacks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# coding: latin-1\n")
    with pytest.raises(RequestError, match="which has no '→'"):
        read_source(tmp_path / "a.py").encode("→")


def test_sources_below_a_folder(tmp_path: Path) -> None:
    for name in ("b.py", "a/c.pyi", ".venv/d.py", "node_modules/e.py", "a/.hidden/f.py", "env/h.py", "g.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "linked.txt").symlink_to(tmp_path / "b.py")
    found = find_sources([tmp_path, tmp_path / "b.py", tmp_path / "a" / ".." / "b.py", tmp_path / "linked.txt"])
    assert [str(path.relative_to(tmp_path)) for path in found] == ["b.py", "a/c.pyi"]
    with pytest.raises(RequestError, match="no such file or directory"):
        find_sources([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("print 'hello'\n", "looks like Python 2"),
        ("%matplotlib inline\nimport os\n", "looks like a notebook's magic"),
        ("!ls\n", "looks like a notebook's magic or shell command (line 1)"),
        (">>> a = 1\n1\n", "looks like an interpreter's session"),
        ("diff --git a/b c/d\n@@ -1,2 +1,2 @@\n", "looks like a diff"),
        ("```python\na = 1\n```\n", "looks like Markdown"),
        ("{% if a %}\n", "looks like a template"),
        ("Hello all,\nplease find attached the report.\nIt is great.\n", "looks like prose"),
        ("try:\n    pass\nexcept E, e:\n    pass\n", "looks like Python 2"),
        ("os.chmod(a, 0777)\n", "may have a number in octal"),
        ("a = 1\n<<<<<<< HEAD\na = 2\n=======\na = 3\n>>>>>>> b\n", "markers of a merge conflict (line 2)"),
        (f"a = ({'1, ' * 800}\n", "probably generated"),
        ("a = = 1\n", ""),
    ],
)
def test_unmended_files_have_a_reason(mender: Mender, source: str, message: str) -> None:
    assert message in why_not(source)
    assert bool(why_not(source)) == bool(message)
    assert mender.mend(source).text == source


@pytest.mark.parametrize("source", ["a = [1\nif b is c and d is e\n    f()\n", "a = (b\n    % c\n", "a > > b\n"])
def test_source_is_not_taken_for_other_texts(source: str) -> None:
    assert why_not(source) == ""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="parses here")
@pytest.mark.parametrize("source", ["type A = int\n", "def f[T](x: T): pass\n", "class A[T]: pass\n", 'f"{a["b"]}"\n'])
def test_code_for_a_newer_python_is_left_alone(mender: Mender, source: str) -> None:
    assert "may need Python 3.12 or newer; this is Python 3.11" in mender.mend(source).reason


def test_tracer_needs_no_project_imports(tmp_path: Path) -> None:
    tracer = Path(Mender.__module__.replace(".", "/")).parent
    done = subprocess.run(
        [sys.executable, "-c", "import sitecustomize, sys; print(sys.gettrace())"],
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src" / tracer / "tracing")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "None\n", "without its variables it does nothing"
