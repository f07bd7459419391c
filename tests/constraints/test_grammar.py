"""Grammars: what is accepted, against a matcher that backtracks; recursion; what is refused."""

from __future__ import annotations

import itertools
import json
from random import Random

import pytest

import sfumato
from sfumato.constraints.dfa import Budget, Language
from sfumato.constraints.grammar import Expression, Parts, Repeat, Rule, _Grammar, _Parser, _Unroller, from_grammar
from sfumato.errors import RequestError

JSON = r"""
# As llama.cpp's json.gbnf.
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
"""
SUM = 'root ::= sum "\\n"\nsum ::= term ("+" term)*\nterm ::= [0-9] | "(" sum ")"'


class Matcher:
    """Where a prefix of a text may end, by backtracking."""

    def __init__(self, rules: dict[str, Expression], text: str) -> None:
        self.rules, self.text = rules, text
        self.known: dict[tuple[str, int], set[int]] = {}

    def ends(self, of: Expression, at: int) -> set[int]:
        if isinstance(of, str):
            return {at + len(of)} if self.text.startswith(of, at) else set()
        if isinstance(of, Rule):
            if (of.name, at) not in self.known:
                self.known[of.name, at] = self.ends(self.rules[of.name], at)
            return self.known[of.name, at]
        if isinstance(of, Parts) and not of.is_sequence:
            return set[int]().union(*(self.ends(part, at) for part in of.parts))
        found = {at}
        if isinstance(of, Parts):
            for part in of.parts:
                found = {end for start in found for end in self.ends(part, start)}
            return found
        if of.high == 0:
            return found
        reached = found if not of.low else set[int]()
        for count in itertools.count(1):
            found = {end for start in found for end in self.ends(of.part, start)}
            new = reached | found if count >= of.low else reached
            if count >= of.low and (new == reached or count == of.high):
                return new
            reached = new
        raise AssertionError

    def accepts(self) -> bool:
        return len(self.text) in self.ends(Rule("root"), 0)


def texts(alphabet: str, length: int) -> list[str]:
    return ["".join(each) for count in range(length + 1) for each in itertools.product(alphabet, repeat=count)]


def draw(random: Random, names: list[str], depth: int = 3) -> Expression:
    kind = random.randrange(6 if depth else 2)
    if kind == 0:
        return random.choice(["a", "b", "ab", ""])
    if kind == 1:
        return Rule(random.choice(names)) if random.random() < 0.7 else "b"
    if kind == 2:
        low = random.randrange(3)
        return Repeat(draw(random, names, depth - 1), low, random.choice([None, low, low + 1]))
    parts = tuple(draw(random, names, depth - 1) for _ in range(random.randint(2, 3)))
    return Parts(parts, is_sequence=kind < 5)


def unroll(rules: dict[str, Expression], depth: int) -> tuple[Language, bool]:
    unroller = _Unroller(_Grammar(rules), Budget(), depth)
    return unroller.compile(unroller.root), unroller.is_cut


def test_random_grammars():
    """Nothing is accepted that is no text of the grammar; everything is, where no rule was cut."""
    random, counts = Random(0), {True: 0, False: 0}
    while min(counts.values()) < 60:
        rules = {name: draw(random, ["root", "x", "y"]) for name in ("root", "x", "y")}
        try:
            language, is_cut = unroll(rules, depth=1)
        except RequestError:
            # It begins with itself.
            continue
        counts[is_cut] += 1
        for text in texts("ab", 6):
            found, expected = language.accepts(text), Matcher(rules, text).accepts()
            assert found <= expected if is_cut else found == expected, (rules, text)


def test_recursion_at_the_end_is_exact():
    for grammar in ('root ::= "a" root | "b"', 'root ::= ("a" | "c") ("b" | root)', 'root ::= x "b"\nx ::= ([ac] x)?'):
        language = from_grammar(grammar)
        assert language.accepts("a" * 500 + "b")
        assert not language.accepts("a" * 500)


def test_rules_are_nested_as_deep_as_fits():
    rules = _Parser(SUM).rules
    language = from_grammar(SUM)
    for text in texts("1+()", 7):
        expected = Matcher({name: _plain(body) for name, body in rules.items()}, text + "\n").accepts()
        assert language.accepts(text + "\n") == expected
    assert language.accepts("(" * 15 + "1" + ")" * 15 + "\n")
    assert not language.accepts("(" * 16 + "1" + ")" * 16 + "\n")
    for value in ({}, {"a": [1, -2.5e3, {"b": None}], "c\n": "ü\u2028"}, {"a": [[[True]]]}):
        assert from_grammar(JSON).accepts(json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028"))
    for text in ('{"a": 01}', "[]", '{"a": "\t"}', '{"a": }'):
        assert not from_grammar(JSON).accepts(text)


def test_rules_are_nested_as_deep_as_the_shortest_text_needs():
    def chain(length: int) -> str:
        lines = [f'r{i} ::= "(" r{i + 1} ")"' for i in range(length)]
        return "\n".join(["root ::= r0", *lines, f'r{length} ::= "x" | "[" r0 "]"'])

    assert from_grammar(chain(20)).accepts("(" * 20 + "x" + ")" * 20)
    with pytest.raises(RequestError, match="rules are more than 32 deep within one another in all its texts"):
        from_grammar(chain(40))


def _plain(of: Expression) -> Expression:
    """With one digit, and without the escapes of regular expressions."""
    if isinstance(of, str):
        return "1" if of == "[0-9]" else of.replace("\\", "") if of != "\\n" else "\n"
    if isinstance(of, Parts):
        return Parts(tuple(map(_plain, of.parts)), of.is_sequence)
    return Repeat(_plain(of.part), of.low, of.high) if isinstance(of, Repeat) else of


@pytest.mark.parametrize(
    ("grammar", "accepted", "refused"),
    [
        ('root ::= "a|b" | [x\\]y-] | .', ["a|b", "]", "-", "y", "\n", "ü"], ["ab", "xy", ""]),
        ('root ::= "\\x41\\u00fc\\U0001F600" "\\"\\\\" "\\n"', ['Aü😀"\\\n'], ["Aü"]),
        ("root ::= [^a]{2,3} # not a\n", ["bb", "bbb"], ["b", "ab", "bbbb"]),
        ('root ::= "a"{2} | "b"{,2} | "c"{3,}', ["aa", "", "b", "cccc"], ["a", "cc", "bbb"]),
        ('root ::= ("a"\n  | "b") # first\n  my-rule_2?\nmy-rule_2 ::=\n  "c"\n  | "d"', ["a", "bd", "ac"], ["c"]),
        ('root ::= "A.(" "*"', ["A.(*"], ["Ab(*"]),
        ("root ::= " + "(" * 100 + '"a"' + ")" * 100, ["a"], ["aa"]),
    ],
)
def test_notation(grammar: str, accepted: list[str], refused: list[str]):
    language = from_grammar(grammar)
    assert [text for text in accepted if not language.accepts(text)] == []
    assert [text for text in refused if language.accepts(text)] == []


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ("", "the grammar has no rule root; it has none"),
        ('start ::= "a"', "the grammar has no rule root; it has start"),
        ("root ::= digits\ndigit ::= [0-9]", "rule root: 'digits'; did you mean 'digit'"),
        ('root ::= root "a" | "b"', "rule root begins with itself; allowed: itself at the end"),
        ('root ::= "x" y\ny ::= z? w\nw ::= y "c" | "d"\nz ::= "e"', "rule y begins with itself"),
        ('root ::= "a"\nroot ::= "b"', "line 2: the rule root is defined twice"),
        ('root ::= "a" )', "line 1: ')' ends nothing"),
        ('root ::= ("a"\n', "line 2: a group is not closed"),
        ('"a"', "line 1: '\"a\"' is in no rule"),
        ('\nroot ::= "\\d"', r"line 2: '\\d' is no escape; allowed: \n, "),
        ("root ::= [z-a]", "line 1: '[z-a]' cannot be read: bad character range"),
        ("root ::= + ", "line 1: '+' repeats nothing"),
        ('root ::= "a"{3,2}', "line 1: '{3,2}' counts downwards"),
        ('root ::= "a"{}', "line 1: '{}' says no number"),
        ('root ::= "a" = "b"', "line 1: '= \"b\"' is unknown; allowed: NAME ::="),
        ("root ::= " + "(" * 101 + '"a"' + ")" * 101, "line 1: more than 100 groups are within one another"),
        ('root ::= "a"{9999999999}', "'{9999999999}' is unknown"),
        ("\n".join(f'r{i} ::= "a"' for i in range(1001)), "has 1,001 rules; allowed: 1,000"),
        ("a" * 100_001, "has 100,001 characters; allowed: 100,000"),
        ('root ::= ([a-z] | "x")* "x" [a-z]{20}', "takes more than"),
    ],
)
def test_refused(grammar: str, said: str):
    with pytest.raises(RequestError) as found:
        from_grammar(grammar)
    assert said in str(found.value)


def test_answers_gaps_and_edits_follow_a_grammar():
    model = sfumato.load("tiny")
    language = from_grammar(SUM)
    for seed in range(3):
        text = model.generate("12+5=", grammar=SUM, seed=seed, max_tokens=24, temperature=2.0).text
        assert language.accepts(text), text
    filled = model.infill("x = (", ")\n", grammar='root ::= [0-9]+ (" " [+*] " " [0-9]+)*').text
    assert from_grammar("root ::= [0-9]+ ([ +*] | [0-9])*").accepts(filled)
    with pytest.raises(RequestError, match="grammar is 3; allowed: a string"):
        model.generate("12+5=", grammar=3)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="no text satisfies regex and grammar together"):
        model.generate("12+5=", grammar=SUM, regex="[a-z]+")
    with pytest.raises(RequestError, match="stop would cut a text that must match grammar as a whole"):
        model.generate("12+5=", grammar=SUM, stop=["\n"])
