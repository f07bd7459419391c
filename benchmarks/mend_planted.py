"""Repair that the parser verifies: syntax errors in functions of held-out packages, or that a model wrote.

    python -m benchmarks.mend_planted runs/code/held syntax
    python -m benchmarks.mend_planted runs/smol-broken.jsonl syntax
    python -m benchmarks.mend_planted runs/code/held bytes --n 2000

syntax: how many functions parse after at most 4 changed lexemes, and how many equal the original, compared with a
program that balances brackets and adds colons; and how often the line in Python's message is a changed one. The
functions of a file of `benchmarks/broken_functions.py` have no original. bytes: files with a syntax error and byte
order marks, CRLF, tabs, odd spaces and no final line end; in how many `sfumato mend` writes something its diff does not
show.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import itertools
import json
import random
import re
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.data.code import Corpus
from sfumato.data.edits import EditNoiseConfig, corrupt
from sfumato.evaluation.statistics import share_interval
from sfumato.mend.mender import load_mender, mend_syntax
from sfumato.mend.parsing import error_line, parse
from sfumato.mend.proposals import Proposer
from sfumato.text.lexemes import CLOSED_BY, CLOSING, END, OPENING, is_level, lex
from sfumato.text.patches import Patch, apply

LENGTHS = range(20, 161)
MAX_CHANGED = 4
NUM_MESSAGES = 6
_BLOCK = re.compile(r"\s*(def|class|if|elif|else|for|while|try|except|finally|with)\b")


def to_source(lexemes: Sequence[str]) -> str:
    return apply("", [], [Patch(0, 0, tuple(lexemes))]).lstrip("\n") + "\n"


def lexemes_of(source: str) -> list[str]:
    return [lexeme.text for lexeme in lex(source)]


def functions(corpus: Corpus, seed: int) -> Iterator[list[str]]:
    """Functions in random order whose text can be restored from their lexemes."""
    rng = random.Random(seed)
    order = list(range(len(corpus.functions_M2)))
    rng.shuffle(order)
    for number in order:
        start, end = corpus.functions_M2[number].tolist()
        if end - start in LENGTHS:
            lexemes = corpus.window(start, end)
            source = to_source(lexemes)
            if error_line(source) is None and lexemes_of(source) == lexemes:
                yield lexemes


def changed(before: Sequence[str], after: Sequence[str]) -> int:
    """Number of differing lexemes."""
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for tag, a, b, c, d in codes if tag != "equal")


def break_source(source: str, clean: list[str], seen: list[str]) -> str:
    """The source with the changes from clean to seen lexemes; line ends within brackets stay."""
    patches = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, clean, seen, autojunk=False).get_opcodes():
        if tag != "equal" and not (tag == "delete" and end - start == 1 and is_level(clean[start])):
            patches.append(Patch(start, end, tuple(seen[first:last])))
    return apply(source, lex(source), patches)


def balanced(source: str) -> str:
    """A source with brackets closed at the end of their line or removed, and colons after block heads."""
    lines = []
    for line in source.split("\n"):
        stack: list[str] = []
        kept = ""
        for character in line:
            if character in OPENING:
                stack.append(CLOSED_BY[character])
            elif character in CLOSING:
                if not stack or stack[-1] != character:
                    continue
                stack.pop()
            kept += character
        ends = kept.endswith(":")
        kept = kept.removesuffix(":") + "".join(reversed(stack)) + ":" * ends
        lines.append(kept + ":" if _BLOCK.match(kept) and not ends else kept)
    return "\n".join(lines)


def broken_sources(corpus: Corpus, seed: int) -> Iterator[tuple[list[str], str]]:
    """(lexemes of a function, its source with structural noise that does not parse)."""
    rng = random.Random(f"syntax {seed}")
    noise = EditNoiseConfig(plausible=0, structural=1, uniform=0, clean=0, opened=0, spare=0)
    for clean in functions(corpus, seed):
        seen = [cell.seen for cell in corrupt(clean, noise, rng) if cell.seen != END]
        broken = break_source(to_source(clean), clean, seen)
        if error_line(broken) is not None:
            yield clean, broken


def written_sources(path: Path, *, cut: bool) -> Iterator[tuple[None, str]]:
    """Sources of a JSONL file that the token limit did or did not cut."""
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item["cut"] is cut:
            yield None, item["source"]


def share(right: int, n: int) -> str:
    low, high = share_interval(right, n)
    return f"{right / n:.1%} ({low:.0%} to {high:.0%})"


def run_syntax(items: Iterable[tuple[list[str] | None, str]], proposer: Proposer, n: int) -> None:
    tried = located = 0
    parsed = {"model": 0, "balanced": 0}
    few, equal = dict(parsed), dict(parsed)
    messages: dict[str, list[bool]] = {}
    for clean, broken in itertools.islice(items, n):
        tried += 1
        repair = mend_syntax(proposer, broken)
        mended = repair[0] if repair else broken
        for name, text in (("model", mended), ("balanced", balanced(broken))):
            good = error_line(text) is None
            parsed[name] += good
            is_near = good and changed(lexemes_of(broken), lexemes_of(text)) <= MAX_CHANGED
            few[name] += is_near
            equal[name] += lexemes_of(text) == clean
            if name == "model":
                error = parse(broken)
                assert isinstance(error, SyntaxError)
                messages.setdefault(re.sub(r" on line \d+|'[^']+'", "", error.msg), []).append(is_near)
        lines = zip(broken.split("\n"), (to_source(clean) if clean else mended).split("\n"), strict=False)
        located += error_line(broken) in {number for number, (one, other) in enumerate(lines, 1) if one != other}
    if not tried:
        print("no function was broken: nothing to repair")
        return
    print(f"{tried} functions that do not parse; Python names a changed line in {share(located, tried)}")
    for name in parsed:
        line = f"{name}: {parsed[name] / tried:.1%} parse, {share(few[name], tried)} with at most {MAX_CHANGED} changed"
        print(f"{line}, {share(equal[name], tried)} as before")
    for message, repaired in sorted(messages.items(), key=lambda pair: -len(pair[1]))[:NUM_MESSAGES]:
        print(f"  {message!r}: {len(repaired)}, of which {sum(repaired)} parse with at most {MAX_CHANGED} changed")


def file_bytes(source: str, rng: random.Random) -> bytes:
    """A source as a file: with comments and odd spaces around it, varying line ends, indents and byte order mark."""
    before = rng.choice(["", "# -*- coding: utf-8 -*-\n", "x = 1   \n\n\n", '"""Grüße.\t"""\n\f\n'])
    after = rng.choice(["", "\n\n# end   ", "\ny = [\n\t1,\n]  # x\n", "\n\n\n"])
    if rng.random() < 0.2:
        source = re.sub("^ +", lambda found: "\t" * (len(found[0]) // 4), source, flags=re.MULTILINE)
    text = before + source + after
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return (BOM_UTF8 if rng.random() < 0.2 else b"") + text.encode()


def apply_diff(before: bytes, difference: str) -> bytes:
    """A file after a unified diff, which shows neither the byte order mark nor the last line end."""
    mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
    last_end = b"\n" if before.endswith(b"\n") else b""
    lines = before.removeprefix(mark).removesuffix(b"\n").split(b"\n")
    after, line_number = list[bytes](), 0
    for line in difference.split("\n")[2:]:
        if found := re.match(r"@@ -(\d+)(,0)?", line):
            first = int(found[1]) - (found[2] is None)
            after += lines[line_number:first]
            line_number = first
        elif line[:1] == "+":
            after.append(line[1:].encode())
        elif line[:1] == "-":
            line_number += 1
        elif line[:1] == " ":
            after.append(lines[line_number])
            line_number += 1
    return mark + b"\n".join(after + lines[line_number:]) + last_end


def run_bytes(corpus: Corpus, model: str, n: int, seed: int) -> None:
    rng = random.Random(f"bytes {seed}")
    mender = load_mender(model)
    with (
        tempfile.TemporaryDirectory() as folder,
        # Both commands search for a file's repair, once.
        patch.object(mender, "mend", functools.cache(mender.mend)),
        patch("sfumato.mend.mender.load_mender", lambda name: mender),
    ):
        files = {}
        for number, (_, broken) in enumerate(itertools.islice(broken_sources(corpus, seed), n)):
            path = Path(folder, f"{number}.py")
            files[path] = file_bytes(broken, rng)
            path.write_bytes(files[path])
        # Both exit with 1 if files are left unrepaired.
        report = json.loads(CliRunner().invoke(app, ["mend", folder, "--json"]).stdout)
        untouched = sum(path.read_bytes() == content for path, content in files.items())
        CliRunner().invoke(app, ["mend", folder, "--yes"])
        differences = {Path(one["path"]): one["diff"] for one in report["repairs"]}
        written = sum(path.read_bytes() != content for path, content in files.items())
        wrong = sum(path.read_bytes() != apply_diff(files[path], differences.get(path, "")) for path in files)
    by_json = len(files) - untouched
    print(f"{len(files)} files, {len(differences)} repaired; {by_json} written by --json, {written} by --yes")
    print(f"{wrong} with bytes changed that the diff does not show")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a corpus; for syntax also a JSONL file")
    parser.add_argument("what", choices=("syntax", "bytes"))
    parser.add_argument("--model", default="mend")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.what == "bytes":
        run_bytes(Corpus(options.source), options.model, options.n, options.seed)
        return
    proposer = load_mender(options.model).proposer
    if options.source.suffix != ".jsonl":
        run_syntax(broken_sources(Corpus(options.source), options.seed), proposer, options.n)
        return
    for cut in (False, True):
        print("cut by the token limit:" if cut else "complete:")
        run_syntax(written_sources(options.source, cut=cut), proposer, options.n)


if __name__ == "__main__":
    main()
