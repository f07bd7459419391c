from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from scripted import Scripted, ScriptedReading
from sfumato.mend.mender import mend_syntax, window
from sfumato.mend.parsing import Meaning, error_line, is_beginning, parse, read_meaning
from sfumato.mend.search import Region, Search, SearchConfig, Target
from sfumato.text.lexemes import lex
from sfumato.text.patches import Patch

SOURCE = "def f(a, b):\n    # keep\n    return a + b - 1\n"


def whole(source: str, **settings: Any) -> Target:
    return Target(source, [Region(0, len(lex(source)))], **settings)


def search(proposer: Any, wanted: str, source: str = SOURCE, **settings: Any) -> tuple[Any, list[str]]:
    tried: list[str] = []

    def verify(target: Target, text: str) -> bool:
        tried.append(text)
        return text == wanted

    one = Search(proposer, verify, SearchConfig(**settings))
    return one.run([whole(source)]), tried


def test_likeliest_edit_comes_first() -> None:
    proposer = Scripted(("+", True, ("*",), 2.0), ("1", True, ("2",), 1.0), ("-", True, ("+",), -1.0))
    repair, tried = search(proposer, SOURCE.replace("1", "2"))
    assert tried == [SOURCE.replace("+", "*"), SOURCE.replace("1", "2")]
    assert (repair.source, repair.num_runs, repair.num_edits) == (tried[1], 2, 1)
    assert "# keep" in repair.source


def test_several_edits_cost_more_than_one() -> None:
    proposer = Scripted(("+", True, ("*",), 2.0), ("1", True, ("2",), 1.0))
    both = SOURCE.replace("+", "*").replace("1", "2")
    repair, tried = search(proposer, both)
    assert repair.num_edits == 2
    assert tried.index(both) == 2, "after both single edits"
    assert search(proposer, both, max_edits=1)[0] is None


def test_unparsable_candidates_are_edited_but_not_run() -> None:
    proposer = Scripted(("a", False, ("abs", "("), 3.0), ("+", False, (")",), 1.0))
    wanted = SOURCE.replace("return a +", "return abs(a) +")
    source = SOURCE.replace("def f(a, b)", "def f(x, b)")
    repair, tried = search(proposer, wanted.replace("def f(a, b)", "def f(x, b)"), source)
    assert repair is not None
    assert all(ast.parse(text) for text in tried)


def test_equivalent_candidates_run_once() -> None:
    proposer = Scripted(("1", True, ("0x2",), 2.0), ("1", True, ("2",), 1.0))
    assert len(search(proposer, "never", max_edits=1)[1]) == 1


def test_the_budget_of_runs_is_kept() -> None:
    proposer = Scripted(*[("1", True, (str(number),), -float(number)) for number in range(2, 40)])
    repair, tried = search(proposer, "never", max_runs=5)
    assert repair is None
    assert len(tried) == 5


def test_names_that_do_not_exist_are_respelled_first() -> None:
    source = "class Box:\n    items = ['first']\n\n    def add(self, x):\n        return self.itmes, x['frist'] + 1\n"
    proposer = Scripted(("+", True, ("*",), 9.0), ("1", True, ("2",), 8.0))
    tried: list[str] = []
    one = Search(proposer, lambda target, text: bool(tried.append(text)), SearchConfig(max_edits=1))  # type: ignore[func-returns-value, arg-type]
    one.run([whole(source, unknown=frozenset({"itmes", "frist", "gone"}))])
    assert tried[:2] == [source.replace("itmes", "items"), source.replace("frist", "first")]
    assert len(tried) > 2
    # Not where nothing may be edited.
    tried.clear()
    one.run([whole(source, unknown=frozenset({"itmes"}), lines={4: 0.0})])
    assert tried == []


def test_only_the_lines_that_are_allowed_are_edited() -> None:
    proposer = Scripted(("b", True, ("a",), 2.0), ("1", True, ("2",), 1.0))
    tried: list[str] = []
    one = Search(proposer, lambda target, text: bool(tried.append(text)), SearchConfig(max_edits=1))  # type: ignore[func-returns-value, arg-type]
    assert one.run([whole(SOURCE, lines={3: 0.0})]) is None
    assert tried == [SOURCE.replace("1", "2")]


def test_the_judge_scores_the_likeliest_edits_of_all_regions() -> None:
    source = "def f(a):\n    return a + 10 * 20\n\n\ndef g(b):\n    return b + 30 * 40\n"
    edits = {"10": "11", "20": "21", "30": "31", "40": "41"}
    script = ((old, True, (new,), score) for (old, new), score in zip(edits.items(), (5.0, 4.0, 3.0, 2.0), strict=True))

    @dataclass(frozen=True)
    class Judged(ScriptedReading):
        def gains(self, patches: Sequence[Patch]) -> list[float]:
            judged.extend(patch.texts for patch in patches)
            return [{"11": -9.0, "21": -2.0, "31": 4.0}[patch.texts[0]] for patch in patches]

    class WithJudge(Scripted):
        has_judge = True

        def read(self, lexemes: Sequence[str]) -> ScriptedReading:
            reading = super().read(lexemes)
            return Judged(reading.proposals, reading.fillings)

    judged: list[tuple[str, ...]] = []
    tried: list[str] = []
    config = SearchConfig(max_edits=1, judged=3)
    one = Search(WithJudge(*script), lambda target, text: bool(tried.append(text)), config)  # type: ignore[func-returns-value, arg-type]
    half = [each.text for each in lex(source)].index("g") - 2
    one.run([Target(source, [Region(0, half), Region(half, len(lex(source)))])])
    assert judged == [("11",), ("21",), ("31",)]
    # 3 + 4; 4 - 2; 5 - 9; what was not judged counts as the worst: 2 - 9.
    assert tried == [source.replace(old, edits[old]) for old in ("30", "20", "10", "40")]


def test_the_likelier_of_two_texts_is_edited_first() -> None:
    proposer = Scripted(("+", True, ("*",), 2.0), ("-", True, ("+",), 1.0))
    sources = {"one": "x = a + b\n", "two": "y = a - b\n"}
    tried: list[str] = []

    def verify(target: Target, text: str) -> bool:
        tried.append(target.name)
        return text == "y = a + b\n"

    for prior, order in ((0.0, ["one", "two"]), (2.0, ["two"])):
        tried.clear()
        targets = [Target(text, [Region(0, 6, prior * (name == "two"))], name) for name, text in sources.items()]
        repair = Search(proposer, verify).run(targets)  # type: ignore[arg-type]
        assert repair is not None
        assert (repair.name, repair.source, tried) == ("two", "y = a + b\n", order)
        assert repair.score == 1.0 + prior


BROKEN = "def f(a:\n    return a\n\n\ndef g(b:\n    return b\n"


def test_syntax_is_mended_error_by_error() -> None:
    proposer = Scripted((":", False, (")",), 5.0), ("return", True, ("yield",), 1.0))
    mended = mend_syntax(proposer, BROKEN, length=10)  # type: ignore[arg-type]
    assert mended == (BROKEN.replace("(a:", "(a):").replace("(b:", "(b):"), 2)


OTHERS = "try:\n    x = (\n1)\nexcept Error:\n    pass\n@cached\ndef h():\n    return 1\n" * 100
TEXT = '"""\n' + "word\n" * 1000 + '"""\n'


@pytest.mark.parametrize(("before", "after", "num_wholes"), [(OTHERS, OTHERS, 3), (TEXT, "", None), ("", TEXT, None)])
def test_candidates_of_a_long_text_are_parsed_with_their_surroundings(
    before: str, after: str, num_wholes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(text: str) -> ast.Module | SyntaxError:
        sizes.append(len(text))
        return parse(text)

    def counted_beginning(text: str) -> bool:
        sizes.append(len(text))
        return is_beginning(text)

    monkeypatch.setattr("sfumato.mend.parsing.parse", counted)
    monkeypatch.setattr("sfumato.mend.mender.parse", counted)
    monkeypatch.setattr("sfumato.mend.mender.is_beginning", counted_beginning)
    proposer = Scripted((":", False, (")",), 5.0), ("return", True, ("yield",), 1.0))
    mended = mend_syntax(proposer, before + BROKEN + after, length=10)  # type: ignore[arg-type]
    assert mended == (before + BROKEN.replace("(a:", "(a):").replace("(b:", "(b):") + after, 2)
    if num_wholes is not None:
        # Once before each repair, and once after the last.
        assert sum(size > len(before) for size in sizes) == num_wholes < len(sizes)


def test_unmendable_source_gives_none() -> None:
    source = "def f(a b):\n    return a\n"
    assert mend_syntax(Scripted(("return", True, ("yield",), 1.0)), source) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("broken", "right"),
    [
        ("x = g(h(a)\n", "x = g(h(a))\n"),
        ("if (a and [b:  # of both\n    x = (1)\n", "if (a and [b]):  # of both\n    x = (1)\n"),
        ("print('a)\n", "print('a')\n"),
        ('if b == "a:\n    x = (1)\n', 'if b == "a":\n    x = (1)\n'),
        ("x = f(f'a: {b})\n", "x = f(f'a: {b}')\n"),
        ("while a\n    pass\nx = (1)\n", "while a:\n    pass\nx = (1)\n"),
        ("def f(a, b  # two\n    return (a)\n", "def f(a, b):  # two\n    return (a)\n"),
        ("x = [\n    a,\n    b\ny = (1)\n", "x = [\n    a,\n    b]\ny = (1)\n"),
    ],
)
def test_brackets_and_strings_are_closed_at_the_end_of_a_line(broken: str, right: str) -> None:
    # The model thinks little of it, and more of what loses a word or a mark.
    proposer = Scripted(("(", True, (), 1.5), ("a", True, (), 1.5), ("[", True, (), 1.5))
    mended = mend_syntax(proposer, broken)  # type: ignore[arg-type]
    assert mended == (right, 1)


@pytest.mark.parametrize(
    ("broken", "right"),
    [
        ("if a:\n    b = 1\nelse if c:\n    b = (2)\n", "if a:\n    b = 1\nelif c:\n    b = (2)\n"),
        ("if a && (b):\n    c = a || b\n", "if a and (b):\n    c = a or b\n"),
        ("if a && !(b) || !c:\n    d = 1\n", "if a and not (b) or not c:\n    d = 1\n"),
        ("if (a > (3) {\n    b = 1\n}\nc = [2]\n", "if (a > (3)):\n    b = 1\nc = [2]\n"),
        ("if a then:\n    const b = (1)\n", "if a:\n    b = (1)\n"),
        ("while (a) do\n    b = new C(1)\n", "while (a):\n    b = C(1)\n"),
        ("function f(a):\n    return [a]\n", "def f(a):\n    return [a]\n"),
        ("try:\n    a()\ncatch B as b:\n    c([b])\n", "try:\n    a()\nexcept B as b:\n    c([b])\n"),
        ("import a from b\nc = (a)\n", "from b import a\nc = (a)\n"),
        ("a = b == [c] ? (1) : 2\n", "a = (1) if b == [c] else 2\n"),
        ("f(a, b ? [1] : 2)\n", "f(a, [1] if b else 2)\n"),
        ("for (int a = 0; a < len(b); a++) {\n    c(a)\n}\n", "for a in range(0, len(b)):\n    c(a)\n"),
        ("def f(a, b=1, c, d):\n    return [a]\n", "def f(a, b=1, c=None, d=None):\n    return [a]\n"),
        ("if a and:\n    b = (1)\n", "if a:\n    b = (1)\n"),
        (
            "def f(a):\n    match a\n        case [1]:\n            pass\n",
            "def f(a):\n    match a:\n        case [1]:\n            pass\n",
        ),
        ("if a = 5 and len(b) = 6:\n    pass\n", "if a == 5 and len(b) == 6:\n    pass\n"),
        ('def f(a):\n    raise A, "no: %s" % (a)\n', 'def f(a):\n    raise A("no: %s" % (a))\n'),
        ("class = [1]\n", "class_ = [1]\n"),
        ("a = f(08, 10)\n", "a = f(8, 10)\n"),
        ('print("a "quoted" word and "another"")\n', 'print("a \\"quoted\\" word and \\"another\\"")\n'),
        ('print(f"{a", [b])\n', 'print(f"{a}", [b])\n'),
        ("while !(b):\n    a++\n", "while not (b):\n    a += 1\n"),
        ("a = (\u201cb\u201d)\n", 'a = ("b")\n'),
        ('print "a: %s" % (b)  # a\n', 'print("a: %s" % (b))  # a\n'),
        ("print('it's (not) Jim's')\n", "print('it\\'s (not) Jim\\'s')\n"),
        ("try:\n    a = (b)\nc = [1]\n", "try:\n    a = (b)\nfinally: pass\nc = [1]\n"),
        (
            "def f():\n  try:\n    try:\n      a = (b)\n    except B:\n      c()\n  return [1]\n",
            "def f():\n  try:\n    try:\n      a = (b)\n    except B:\n      c()\n  finally: pass\n  return [1]\n",
        ),
        ("a = (b)\ndef f():\n", "a = (b)\ndef f():\n    pass\n"),
        ("class A:\n\n\nclass B:\n    a = (b)\n", "class A:\n    pass\n\n\nclass B:\n    a = (b)\n"),
        ("def f():\n    try:\n        a = (b)\n", "def f():\n    try:\n        a = (b)\n    finally: pass\n"),
        ("a = ({'b: [1], 'c': (2)})\n", "a = ({'b': [1], 'c': (2)})\n"),
        ('def f(a):\n    """One.\n    return (a)\n', 'def f(a):\n    """One."""\n    return (a)\n'),
        (
            'def f(a):\n    """One.\n    return (a)\n\n\ndef g(b):\n    """Two."""\n    return [b]\n',
            'def f(a):\n    """One."""\n    return (a)\n\n\ndef g(b):\n    """Two."""\n    return [b]\n',
        ),
        (
            'def f(a):\n    """One.""\n    return (a)\n\ndef g(b):\n    """Two."""\n    return [b]\n',
            'def f(a):\n    """One."""\n    return (a)\n\ndef g(b):\n    """Two."""\n    return [b]\n',
        ),
        ('a = """\n(one)\ntwo\n\nb = [a]\n', 'a = """\n(one)\ntwo"""\n\nb = [a]\n'),
        ('a = ("C:\\Users\\me")\n', 'a = (r"C:\\Users\\me")\n'),
        ('a = [b"\\x"]\n', 'a = [rb"\\x"]\n'),
        ("a = ('C:\\\\data\\')\n", "a = ('C:\\\\data\\\\')\n"),
        ("a = b + \\ \n    c\n", "a = b + \\\n    c\n"),
        ("if a and \\\t \n   b:\n    pass\n", "if a and \\\n   b:\n    pass\n"),
        ('a = (r"C:\\data\\")\n', 'a = ("C:\\\\data\\\\")\n'),
        ("a = (b) === c !== [2]\n", "a = (b) == c != [2]\n"),
        ("// a (b)\nc = [1]\n", "# a (b)\nc = [1]\n"),
        ("/* it's (a) */\nc = [1]\n", "# it's (a)\nc = [1]\n"),
        (
            "def f(a):\n    /**\n     * One (b)\n     * two.\n     */\n    c = a\n",
            "def f(a):\n    # One (b)\n    # two.\n    c = a\n",
        ),
        ("a = (1)  /* b */\n", "a = (1) # b\n"),
        ("static int f(int a, double b = 1) {\n    return [a]\n}\n", "def f(a: int, b = 1):\n    return [a]\n"),
        ("String a = (b)\n", "a = (b)\n"),
        ("for (let a = 0; a <= b; a += 2) {\n    c(a)\n}\n", "for a in range(0, b + 1, 2):\n    c(a)\n"),
        ("for (String a : b[1]) {\n    c(a)\n}\n", "for a in b[1]:\n    c(a)\n"),
        ("for a in 0..10:\n    b([a])\n", "for a in range(0, 10):\n    b([a])\n"),
        ("for a = 1 to (b):\n    c(a)\n", "for a in range(1, (b) + 1):\n    c(a)\n"),
        ("unless a and (b):\n    c()\n", "if not (a and (b)):\n    c()\n"),
        ("a = b \u2212 c \u00d7 2 if b \u2264 3 else 1\n", "a = b - c * 2 if b <= 3 else 1\n"),
        ("Sure! Here is the fixed code:\na = 1\n", "# Sure! Here is the fixed code:\na = 1\n"),
        ("until a:\n    c()\n", "while not a:\n    c()\n"),
        (
            "switch (a) {\n    case 1:\n        b()\n    default:\n        c()\n}\n",
            "match a:\n    case 1:\n        b()\n    case _:\n        c()\n",
        ),
        ("a = f((b, c) => b + c)\n", "a = f(lambda b, c: b + c)\n"),
        ("a = {b = 1, c = [2]}\n", "a = dict(b = 1, c = [2])\n"),
        ("a-b = (1)\n", "a_b = (1)\n"),
        ("a = (b) <> c\nd = a ?? [1]\n", "a = (b) != c\nd = a or [1]\n"),
        ("a = f(b if c)\n", "a = f(b if c else None)\n"),
        ("try:\n    a = (b)\nexcept A as `b`:\n    c()\n", "try:\n    a = (b)\nexcept A as b:\n    c()\n"),
        ('a = f"(b) "{c}" d"\n', 'a = f"(b) \\"{c}\\" d"\n'),
        ('puts "a (b)"\n', 'print("a (b)")\n'),
    ],
)
def test_other_languages_words_and_strings_that_end_too_late(broken: str, right: str) -> None:
    proposer = Scripted(("(", True, (), 1.5), ("a", True, (), 1.5), ("[", True, (), 1.5))
    mended = mend_syntax(proposer, broken)  # type: ignore[arg-type]
    assert mended is not None
    assert mended[0] == right


def test_more_errors_than_one_search_repairs() -> None:
    broken = "".join(f"def f{i}(x):\n    if x === {i}:\n        return x\n\n\n" for i in range(12))
    assert mend_syntax(Scripted(), broken) == (broken.replace("===", "=="), 12)  # type: ignore[arg-type]


def test_a_text_that_ends_in_a_brace_is_read() -> None:
    repaired = "a = {}"
    assert mend_syntax(Scripted(), "a = {") == (repaired, 1)  # type: ignore[arg-type]


def test_edits_after_an_error_are_not_tried() -> None:
    proposer = Scripted(("b", True, (")",), 9.0), ("a", True, ("b",), 1.0), ("2", True, ("3",), 9.0))
    tried: list[str] = []
    search = Search(proposer, lambda target, text: True, meaning=lambda text: tried.append(text))  # type: ignore[arg-type, func-returns-value]
    assert search.run([Target("a ? b = 2\n", [Region(0, 6)])]) is None
    assert "b ? b = 2\n" in tried
    assert not any(text.startswith("a ? b") for text in tried[1:])


def test_an_edit_that_moves_the_error_on_comes_before_likelier_ones() -> None:
    # Two marks are too many; what is likelier changes nothing about either.
    proposer = Scripted(("a", True, ("b",), 3.0), ("b", True, ("c",), 3.0), ("?", True, (), 1.0), ("$", True, (), 1.0))
    tried: list[str] = []

    def meaning(text: str) -> Meaning | None:
        tried.append(text)
        return read_meaning(text)

    search = Search(proposer, lambda target, text: True, meaning=meaning)  # type: ignore[arg-type]
    repair = search.run([Target("a = ? 1\nx = $ 2\n", [Region(0, 10)])])
    assert repair is not None
    assert repair.source == "a = 1\nx = 2\n"
    assert len(tried) < 6


def test_a_string_of_several_lines_is_never_lost() -> None:
    """It may hold most of the text."""
    source = 'def f(a):\n    return a\n\n\nx = = """One\ntwo\n'
    proposer = Scripted(('"""One\ntwo\n', True, ("0",), 9.0), ("=", True, (), 5.0), ("a", True, ("b",), 1.0))
    mended = mend_syntax(proposer, source)  # type: ignore[arg-type]
    assert mended is None or "two" in mended[0]


def test_a_mistyped_word_costs_less_than_a_lost_one() -> None:
    proposer = Scripted(("retrun", True, ("yield",), 2.0), ("retrun", True, ("return",), 1.0))
    assert mend_syntax(proposer, "def f(a):\n    retrun a\n") == ("def f(a):\n    return a\n", 1)  # type: ignore[arg-type]


def test_a_bracket_is_rather_closed_at_the_end_of_a_line() -> None:
    # Not before the second number, although the model prefers that a little.
    proposer = Scripted((",", False, ("]",), 2.0), ("y", False, ("]",), 1.5))
    mended = mend_syntax(proposer, "x = [1, 2\ny = 3\n")  # type: ignore[arg-type]
    assert mended == ("x = [1, 2]\ny = 3\n", 1)


@pytest.mark.parametrize("line", range(1, 41))
def test_window_contains_its_line(line: int) -> None:
    source = "".join(f"x{number} = {number} + 1\n" for number in range(40))
    lexemes = lex(source)
    region = window(source, lexemes, line, 36)
    assert region.end - region.start <= 36
    assert f"x{line - 1}" in [one.text for one in lexemes[region.start : region.end]]


def test_window_contains_its_line_after_form_feeds() -> None:
    source = "".join(f"x{number} = {number} + 1\n\f\n" for number in range(40))
    lexemes = lex(source)
    region = window(source, lexemes, 61, 36)
    assert "x30" in [one.text for one in lexemes[region.start : region.end]]


def test_first_error_matches_python() -> None:
    assert error_line("a = 1\nb = (\nc = 2\n") == 2
    assert error_line("a = 1\n") is None
    assert error_line("a\0b") == 1


@pytest.mark.parametrize("broken", ['a = (b"é")\n', 'def f(a):\n    return (f"{a} } {{")\n'])
def test_what_a_string_says_is_never_dropped(broken: str) -> None:
    proposer = Scripted((broken[broken.index("(") + 1 : -2], True, ("a",), 1.5))
    assert mend_syntax(proposer, broken) is None  # type: ignore[arg-type]
