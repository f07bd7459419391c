"""Edits for the everyday mistakes of text that does not parse, which need no model: what is left open, what other
languages write, strings that end at the wrong character, and blocks without a body."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from sfumato.mend.parsing import OPEN_STRING, find_error, parse
from sfumato.text.lexemes import CLOSED_BY, CLOSING, LEVELS, OPENING, Lexeme, is_level, kind_of, lex
from sfumato.text.patches import Patch

CLOSED = 1.0
"""Nats for closing what is open at the end of a line, whatever the model thinks."""
EMPTY = 4.0
"""Nats for leaving a block empty where a line follows."""
_WORDS: dict[tuple[str, ...], tuple[str, ...]] = {
    **{("else", "if"): ("elif",), ("&", "&"): ("and",), ("|", "|"): ("or",)},
    **{("&", "&", "!"): ("and", "not"), ("|", "|", "!"): ("or", "not")},
    **{("and", ":"): (":",), ("or", ":"): (":",)},
    **{("==", "="): ("==",), ("!=", "="): ("!=",), ("<", ">"): ("!=",), ("?", "?"): ("or",)},
}
_BEFORE_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("const", "let", "var", "new"), ()),
    **dict.fromkeys(("fn", "fun", "func", "function"), ("def",)),
    "catch": ("except",),
}
_AT_ENDS = {("+", "+"): ("+=", "1"), ("-", "-"): ("-=", "1"), ("do",): (":",), ("then",): (":",), ("then", ":"): (":",)}
"""What other languages write, and Python's words for it: anywhere, before names, and at ends of lines."""
_SIGNS = {
    "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "*", "\u00f7": "/",
    "\u2264": "<=", "\u2265": ">=", "\u2260": "!=",
}  # fmt: skip
"""Signs of word processors and mathematics, and Python's."""
_TYPE = "(?:auto|bool|boolean|char|double|float|int|Integer|long|object|Object|str|[sS]tring|void)"
_PARAMETER = re.compile(rf"([(,]\s*)({_TYPE}) (\w+)")
_ACCESS = "(?:final|private|protected|public|static)"
_COUNTED = r"for\s*\((?:\w+ )?\s*(\w+)\s*=\s*(.+?);\s*\1\s*<{}\s*([^=].*?);\s*(?:{})\s*\)\s*[:{{]?"
_ONE, _MORE = r"\1\+\+|\+\+\1", r"\1\s*\+=\s*(.+?)"
_TERNARY = r"([^?]+?)\s*\?\s*([^?:]+?)\s*:\s*([^?:]+)"
_LINES = [
    (re.compile(pattern, re.DOTALL), line)
    for pattern, line in {
        _COUNTED.format("(?!=)", _ONE): r"for \1 in range(\2, \3):",
        _COUNTED.format("(?!=)", _MORE): r"for \1 in range(\2, \3, \4):",
        _COUNTED.format("=", _ONE): r"for \1 in range(\2, \3 + 1):",
        _COUNTED.format("=", _MORE): r"for \1 in range(\2, \3 + 1, \4):",
        rf"for(?:each)?\s*\((?:(?:const|let|var|{_TYPE}) )?(\w+) (?:in|of|:) (.+)\)\s*[:{{]?": r"for \1 in \2:",
        r"for (\w+) in ([^.]+)\.\.([^.=].*?)\s*[:{]?": r"for \1 in range(\2, \3):",
        r"for (\w+) (?:=|from|in) (.+?)(?: to |\.\.=)(.+?)\s*[:{]?": r"for \1 in range(\2, \3 + 1):",
        r"unless (\w+)(?: then)?\s*[:{]?": r"if not \1:",
        r"unless (.+?)(?: then)?\s*[:{]?": r"if not (\1):",
        r"until (\w+)(?: do)?\s*[:{]?": r"while not \1:",
        r"until (.+?)(?: do)?\s*[:{]?": r"while not (\1):",
        r"switch\s*\(?(.+?)\)?\s*[:{]": r"match \1:",
        r"default\s*:": "case _:",
        rf"{_ACCESS} (\w.*)": r"\1",
        rf"(?:{_ACCESS} )*{_TYPE} (\w+\s*\(.*\))\s*[:{{]?": r"def \1:",
        rf"{_TYPE} (\w+\s*=[^=].*)": r"\1",
        r"([A-Za-z][\w-]*)-([A-Za-z]\w*\s*=[^=].*)": r"\1_\2",
        r"(.*?)\(([\w, ]*)\)\s*=>\s*([^{].*)": r"\1lambda \2: \3",
        rf"(.*?(?:=|return\b)\s*|){_TERNARY}": r"\1\3 if \2 else \4",
        rf"(.*[(\[{{,]\s*){_TERNARY}": r"\1\3 if \2 else \4",
        r"// ?(.*)": r"# \1",
        rf"(?!(?i:{'|'.join(keyword.kwlist)})\b)([A-Z][a-z']*!?(?:,? [A-Za-z']+){{2,}}[.:!]*)": r"# \1",
    }.items()
]
"""Lines of other languages, and Python's."""
_COMMENT = re.compile(r"/\*[\s*]*(.*?)\s*\*+/", re.DOTALL)
_BLOCKS = frozenset(
    ["async", "case", "class", "def", "elif", "else", "except", "finally", "for", "if", "match", "try", "while", "with"]
)
_CONDITIONS = frozenset(["elif", "if", "while"])
_CURLY = frozenset("\u201c\u201d\u201e\u2018\u2019\u201a")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_STRING = re.compile(r"""(?i:[rbfut]{0,2})(\"{3}|'{3}|["'])""")
_ZEROS = re.compile(r"0+(?:\d|\d*[89]\d*)")
"""A number with zeros before it that is not octal, or the same in octal."""


class Written:
    """A text as lexemes."""

    @property
    def source(self) -> str:
        raise NotImplementedError

    @property
    def is_original(self) -> bool:
        raise NotImplementedError

    @cached_property
    def lexemes(self) -> list[Lexeme]:
        return lex(self.source)

    @cached_property
    def error(self) -> int:
        """Index of the first lexeme that cannot stand there; edits after it do not help."""
        return find_error(self.source, self.lexemes)

    def ends_line(self, index: int) -> bool:
        lexemes = self.lexemes
        if not 0 < index < len(lexemes) or is_level(lexemes[index].text):
            return True
        return "\n" in self.source[lexemes[index - 1].end : lexemes[index].start]

    def line_end(self, index: int) -> int:
        """Index after the last lexeme of a lexeme's line."""
        return next(i for i in range(index + 1, len(self.lexemes) + 1) if self.ends_line(i))

    def between(self, start: int, end: int) -> str:
        """The characters from one lexeme to the one before another."""
        return self.source[self.lexemes[start].start : self.lexemes[end - 1].end]


def edits_of_mistakes(text: Written, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """Patches of a range of lexemes, with their price in nats."""
    found = (
        _foreign_words(text, start, end),
        _odd_strings(text, start, end),
        _continuations(text, start, end),
        _fillers(text, start),
    )
    for price, patch in (each for patches in found for each in patches):
        yield price, patch.moved(-start)


def _foreign_words(text: Written, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """What other languages and Python 2 write."""
    lexemes = text.lexemes
    head, depth, has_default, line_end = "", 0, False, start
    for index in range(start, end):
        three = tuple(each.text for each in lexemes[index : min(index + 3, end)])
        two, written, following = three[:2], three[0], "".join(three[1:2])
        begins, ends = index == 0 or is_level(lexemes[index - 1].text), text.ends_line(index + 1)
        if begins:
            head, depth, has_default, line_end = written, 0, False, text.line_end(index)
        if begins and not is_level(written):
            yield from _foreign_lines(text, index)
        if written == "/" and following.startswith("*"):
            yield from _foreign_comment(text, index, end)
        depth += (written in OPENING) - (written in CLOSING)
        new: tuple[int, tuple[str, ...]] | None = None
        if words := _WORDS.get(three, _WORDS.get(two)):
            new = 3 if three in _WORDS else 2, words
        elif two in _AT_ENDS and text.ends_line(index + 2):
            new = 2, _AT_ENDS[two]
        elif (written,) in _AT_ENDS and ends:
            new = 1, _AT_ENDS[written,]
        elif written in _BEFORE_NAMES and following and kind_of(following) == "name":
            new = 1, _BEFORE_NAMES[written]
        elif written in _SIGNS:
            new = 1, (_SIGNS[written],)
        elif written == "`" == "".join(three[2:]):
            new = 3, (following,)
        elif written == "!":
            new = 2, ("not", following)
        elif written == "=" and head in _CONDITIONS and not depth:
            new = 1, ("==",)
        elif written == "=" and head in ("async", "def") and depth == 1:
            has_default = True
        elif (
            has_default and depth == 1 and written == "," and three[2:] in ((",",), (")",)) and following.isidentifier()
        ):
            new = 2, (",", following, "=", "None")
        elif begins and following == "=" and written.isidentifier() and kind_of(written) == "fixed":
            new = 1, (f"{written}_",)
        elif begins and written == "}" and ends:
            new = 1, ()
        elif (
            head in ("async", "def")
            and not depth
            and following == "("
            and ")" in (rest := text.between(index, line_end))
        ):
            inner, bracket, _ = rest.partition(")")
            if (typed := _PARAMETER.sub(_without_type, inner)) != inner:
                last = next(i for i in range(index, line_end) if lexemes[i].text == ")")
                new = last + 1 - index, (typed + bracket,)
        elif written == "{" and head in _BLOCKS and ends:
            new = 1, (*")" * (depth - 1), ":")
        elif written == "{" and following.isidentifier() and three[2:] == ("=",):
            close = next((i for i in range(index, end) if lexemes[i].text == "}"), None)
            if close is not None:
                new = close + 1 - index, (f"dict({text.between(index + 1, close)})",)
        elif written == "import" and three[2:] == ("from",) and index + 3 < end:
            new = 4, ("from", lexemes[index + 3].text, "import", following)
        elif written == "raise" and three[2:] == (",",) and not text.ends_line(index + 3):
            last = text.line_end(index)
            new = last - index, ("raise", f"{following}({text.between(index + 3, last)})")
        elif written in ("echo", "print", "puts") and following and kind_of(following) in ("name", "number", "string"):
            last = text.line_end(index)
            new = last - index, (f"print({text.between(index + 1, last)})",)
        elif kind_of(written) == "number" and _ZEROS.fullmatch(written):
            new = 1, (written.lstrip("0"),)
        if new is not None:
            yield 0.0, Patch(index, index + new[0], new[1])


def _without_type(found: re.Match[str]) -> str:
    before, kind, name = found.groups()
    return f"{before}{name}: {kind}" if kind in vars(builtins) else f"{before}{name}"


def _foreign_lines(text: Written, start: int) -> Iterator[tuple[float, Patch]]:
    """Python's form of a line that another language would read."""
    line_end = text.line_end(start)
    line = text.between(start, line_end)
    if not text.is_original and line.startswith("//"):
        # An edit that adds the slashes would comment any line out.
        return
    for pattern, new in _LINES:
        if found := pattern.fullmatch(line):
            yield 0.0, Patch(start, line_end, (found.expand(new),))


def _foreign_comment(text: Written, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """Python's form of a comment that begins with a slash and a star."""
    at = text.lexemes[start].start
    if found := _COMMENT.match(text.source, at):
        after = next((i for i in range(start, end) if text.lexemes[i].start >= found.end()), end)
        indent = " " * (at - text.source.rfind("\n", 0, at) - 1)
        if text.ends_line(after):
            yield 0.0, Patch(start, after, ("# " + re.sub(r"\n[ \t]*\**[ \t]?", f"\n{indent}# ", found[1]),))


def _odd_strings(text: Written, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """Strings that end too early or too late, and curly quotes."""
    lexemes, first = text.lexemes, None
    for index in range(start, end):
        written = text.between(index, index + 1)
        if written in _CURLY:
            other = next((i for i in range(index + 1, end) if lexemes[i].text in _CURLY), None)
            if other is not None:
                yield 0.0, Patch(index, other + 1, (f'"{text.source[lexemes[index].end : lexemes[other].start]}"',))
        if quotes := _STRING.match(written):
            quote = quotes[1]
            if "f" in written[: quotes.start(1)].lower() and written.count("{") > written.count("}"):
                yield 0.0, Patch(index, index + 1, (f"{written.removesuffix(quote)}}}{quote}",))
            if "\\" in written and isinstance(parse(written), SyntaxError):
                yield from ((0.0, Patch(index, index + 1, (new,))) for new in _with_backslashes(written, quotes))
            # Ends after the first line, which may have some of the quotes or, if that is empty, before a blank line.
            if line_end := re.search(r"\n(?=\s*\n|\Z)" if written.startswith(f"{quotes[0]}\n") else r"\n", written):
                whole = written[: line_end.start()].rstrip()
                head = whole.rstrip(quote[0])
                price = CLOSED if head == whole else 0.0
                yield price, Patch(index, index + 1, (f"{head}{quote}{written[line_end.start() :]}",))
            first = index if first is None else first
            rest = text.between(first, index + 1)
            if first < index and (opened := _STRING.match(rest)):
                head, following = opened[0], lexemes[first + 1].text
                goes_on = kind_of(following) in ("name", "number") or following == "{"
                if goes_on and opened[1] == quote and rest.endswith(quote):
                    inner = rest[len(head) : -len(quote)].replace(quote, f"\\{quote}")
                    yield 0.0, Patch(first, index + 1, (head + inner + quote,))
                if OPEN_STRING.fullmatch(written):
                    for mark in re.finditer(r"[:,)\]}]", text.between(first, first + 1)):
                        ended = rest[: mark.start()] + opened[1] + rest[mark.start() :]
                        yield CLOSED, Patch(first, index + 1, (ended,))
        if text.ends_line(index + 1):
            if first is not None and _APOSTROPHE.search(rest := text.between(first, index + 1)):
                yield 0.0, Patch(first, index + 1, (_APOSTROPHE.sub(r"\'", rest),))
            first = None


def _continuations(text: Written, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """Spaces after the backslash that continues a line."""
    for index in range(start, end - 2):
        line_end, following = text.lexemes[index + 1 : index + 3]
        if text.lexemes[index].text == "\\" and is_level(line_end.text):
            rest = text.source[text.lexemes[index].end : following.end].lstrip(" \t")
            yield 0.0, Patch(index, index + 3, ("\\" + rest,))


def _with_backslashes(written: str, quotes: re.Match[str]) -> Iterator[str]:
    """A string whose backslashes, as in a Windows path, cannot be read as escapes, or escape the quote at its end."""
    prefix, quote = quotes[0].removesuffix(quotes[1]), quotes[1]
    inner = written[quotes.end() :]
    if OPEN_STRING.fullmatch(written):
        stem, escaped, rest = inner.rpartition(f"\\{quote}")
        if escaped:
            stem = stem.replace("\\", "\\\\") if "r" in prefix.lower() else stem
            yield f"{re.sub('[rR]', '', prefix)}{quote}{stem}\\\\{quote}{rest}"
    elif "r" not in prefix.lower():
        yield f"r{prefix}{quote}{inner}".replace("ru", "r")


def _fillers(text: Written, start: int) -> Iterator[tuple[float, Patch]]:
    """What does nothing, added before the line with the error: as the body of a block, or as a handler of a `try`."""
    lexemes, error = text.lexemes, text.error
    found = parse(text.source)
    if isinstance(found, SyntaxError) and "expected 'else' after 'if'" in found.msg:
        yield CLOSED, Patch(error, error, ("else", "None"))
    at = error - (error < len(lexemes))
    level = lexemes[at].text if at < len(lexemes) else LEVELS[0]
    if at > start and lexemes[at - 1].text == ":":
        # A line that follows rather lacks its indentation, unless it begins a block behind a blank line.
        is_apart = at + 1 < len(lexemes) and "\n\n" in text.source[lexemes[at - 1].end : lexemes[at].end]
        if is_apart and lexemes[at + 1].text in ("class", "def", "async", "@"):
            price = 0.0
        else:
            price = EMPTY if at < len(lexemes) else CLOSED
        begins = next((each.text for each in reversed(lexemes[:at]) if is_level(each.text)), LEVELS[0])
        yield price, Patch(at, at, (LEVELS[min(LEVELS.index(begins) + 1, len(LEVELS) - 1)], "pass"))
    for index in range(at - 2, start - 1, -1):
        head = lexemes[index].text
        if lexemes[index + 1].text == "try" and is_level(head) and is_level(level) and head >= level:
            yield CLOSED, Patch(at, at, (head, "finally", ":", "pass"))


def closings(text: Written, start: int, end: int) -> Iterator[tuple[float, Patch]]:
    """Patches of a range, with their price, that close at the end of a line the string, the brackets and the head of a
    block that are open there. A head before a deeper line lacks its colon for certain."""
    missing: list[str] = []
    begins_block, level = False, LEVELS[0]
    for index in range(start, end):
        lexeme = text.lexemes[index].text
        if is_level(lexeme):
            missing.clear()
            level = lexeme
            begins_block = index + 1 < len(text.lexemes) and text.lexemes[index + 1].text in _BLOCKS
        elif lexeme in CLOSED_BY:
            missing.insert(0, CLOSED_BY[lexeme])
        elif missing[:1] == [lexeme]:
            missing.pop(0)
        if not text.ends_line(index + 1):
            continue
        at = index - start
        if string := OPEN_STRING.fullmatch(lexeme):
            yield from ((CLOSED, Patch(at, at + 1, texts)) for texts in _close_string(lexeme, string[1], missing))
            continue
        at += lexeme != ":"
        if missing:
            yield CLOSED, Patch(at, at, tuple(missing))
        if begins_block and lexeme != ":":
            following = text.lexemes[index + 1].text if index + 1 < len(text.lexemes) else ""
            is_certain = not missing and is_level(following) and following > level
            yield 0.0 if is_certain else CLOSED, Patch(at, at, (*missing, ":"))


def _close_string(lexeme: str, quote: str, missing: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A string without an end, ended before the brackets, or before the brackets and the colon, of its line."""
    for colon in ("", ":"):
        if lexeme.endswith(colon):
            text, brackets = lexeme.removesuffix(colon), "".join(missing)
            while not text.endswith(brackets):
                brackets = brackets[:-1]
            yield (text.removesuffix(brackets) + quote, *missing, *colon)
