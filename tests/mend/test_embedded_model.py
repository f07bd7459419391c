"""The embedded model of repairs: it is there, it is small, and what it repairs is verified."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato
from sfumato.checkpoints.load import load_checkpoint
from sfumato.checkpoints.registry import ASSETS
from sfumato.errors import CheckpointError
from sfumato.mend.mender import JUDGE
from sfumato.mend.proposals import Proposer
from sfumato.mend.search import Region, Search, SearchConfig, Target
from sfumato.models.decoder import Decoder
from sfumato.text.lexemes import lex

CLAMP = """def clamp(x, low, high):
    # keep this comment
    if x < low:
        return low
    if x > high:
        return low
    return x
"""


@pytest.fixture(scope="module")
def mender() -> sfumato.Mender:
    return sfumato.load("mend")


def test_it_fits_in_the_wheel() -> None:
    for folder in (ASSETS / "mend", ASSETS / "mend" / JUDGE):
        assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) <= 12e6
    assert (ASSETS / "mend" / "README.md").is_file()


@pytest.mark.parametrize(
    ("broken", "right"),
    [
        ("def f(x:\n    return x\n", "def f(x):\n    return x\n"),
        ("if x > 1\n    print(x)\n", "if x > 1:\n    print(x)\n"),
        ("x = f(a, b\nprint(x)\n", "x = f(a, b)\nprint(x)\n"),
        # What is there stays, although it also parses without the call.
        ("d = {'a': 1, 'b': 2\nprint(d)\n", "d = {'a': 1, 'b': 2}\nprint(d)\n"),
        ("print(len(sorted(a))\n", "print(len(sorted(a)))\n"),
        ("x = [1, 2, 3\n", "x = [1, 2, 3]\n"),
        ("foo(bar(1, 2)\n", "foo(bar(1, 2))\n"),
        # A line between two levels goes to one of them, and never onto the line above.
        (
            "def f(xs):\n    for x in xs:\n        if x:\n            y = x.size\n       print(x)\n",
            "def f(xs):\n    for x in xs:\n        if x:\n            y = x.size\n        print(x)\n",
        ),
        (
            "def f(a):\n    if a:\n        return 1\n   return 2\n",
            "def f(a):\n    if a:\n        return 1\n    return 2\n",
        ),
        # A misspelt word may change, and a doubled one may go.
        ("def f(x):\n    retrun x\n", "def f(x):\n    return x\n"),
        ("def f(x):\n    return return x\n", "def f(x):\n    return x\n"),
    ],
)
def test_syntax(mender: sfumato.Mender, broken: str, right: str) -> None:
    mended = mender.mend(broken)
    assert (mended.text, mended.verified_by) == (right, "parser")


@pytest.mark.parametrize(
    ("broken", "right"),
    [
        ("def ratio(a, b):\n    return b / a  # of two\n", "def ratio(a, b):\n    return a / b  # of two\n"),
        ("def gap(a, b):\n    return a  -  b\n", "def gap(a, b):\n    return abs(a  -  b)\n"),
        ("def mean(v):\n    return sum(v) / v\n", "def mean(v):\n    return sum(v) / len(v)\n"),
        ("def first(v):\n    return sorted(v  [0])\n", "def first(v):\n    return v  [0]\n"),
    ],
)
def test_two_places_that_are_wrong_together(mender: sfumato.Mender, broken: str, right: str) -> None:
    config = SearchConfig(max_runs=20, max_edits=1)
    assert mender.mend(broken, lambda text: text == right, config=config).text == right


def test_semantic_bug(mender: sfumato.Mender) -> None:
    def verify(text: str) -> bool:
        scope: dict[str, Callable[[int, int, int], int]] = {}
        exec(text, scope)  # type: ignore[arg-type]
        try:
            return [scope["clamp"](x, 0, 3) for x in (5, -1, 2)] == [3, 0, 2]
        except (AttributeError, TypeError, NameError):
            return False

    mended = mender.mend(CLAMP, verify)
    assert mended.verified_by == "caller"
    assert verify(mended.text)
    assert "# keep this comment" in mended.text


def test_a_loaded_mender_reads_as_its_plain_model_does(mender: sfumato.Mender) -> None:
    plain = load_checkpoint(ASSETS / "mend").model
    assert isinstance(plain, Decoder)
    lexemes = [lexeme.text for lexeme in lex(CLAMP)]
    found, expected = (each.read(lexemes).proposals[:5] for each in (mender.proposer, Proposer(plain)))
    assert [proposal.edit for proposal in found] == [proposal.edit for proposal in expected]
    assert [proposal.score for proposal in found] == pytest.approx([proposal.score for proposal in expected], abs=1e-3)


def test_the_judge_orders_edits_that_tests_verify(mender: sfumato.Mender) -> None:
    """By itself, the model tries other edits of this function first."""
    wrong, right = (
        f"def gcd(a, b):\n    while b:\n        a, b = b, a {sign} b\n    return a\n" for sign in ("//", "%")
    )
    targets = [Target(wrong, [Region(0, len(lex(wrong)))])]

    def verify(target: Target, text: str) -> bool:
        return text == right

    judged, alone = mender.search(targets, verify, SearchConfig()), Search(mender.proposer, verify)
    assert judged.run(targets) is not None
    assert alone.run(targets) is not None
    assert judged.num_runs < alone.num_runs


def test_right_code_is_unchanged(mender: sfumato.Mender) -> None:
    mended = mender.mend(CLAMP)
    assert (mended.text, mended.verified_by, mended.num_edits) == (CLAMP, None, 0)


def test_it_writes_no_text(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="repairs Python and cannot generate text; allowed: sfumato mend"):
        sfumato.load(ASSETS / "mend")
    with pytest.raises(CheckpointError, match="repairs Python and cannot generate text"):
        sfumato.load("mend", quantize="w8a8")  # type: ignore[call-overload]
    with pytest.raises(CheckpointError, match="does not read Python lexemes; allowed: mend"):
        sfumato.load_mender("tiny")
