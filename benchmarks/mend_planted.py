"""Bugs planted in functions of packages that no model was trained on: what is repaired without anybody's tests.

    python benchmarks/mend_planted.py runs/code/held syntax --model mend
    python benchmarks/mend_planted.py runs/code/held several --model mend
    python benchmarks/mend_planted.py runs/code/held bytes --n 2000

syntax: functions that do not parse any more; how many are made to parse with at most 4 lexemes changed, and how many of
those are what they were, beside a program that balances brackets and adds colons, and how often the line that Python's
own message names is one that was changed. several: functions with two or three other names, operators or literals, put
back by one pass over the text, every edit above a threshold at once, or by several passes, the surest edit of each.
bytes: files with byte order marks, CRLF, tabs, odd spaces and no last line end, and a function that does not parse in
each; in how many something is written that the difference of `sfumato mend` does not show.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import random
import re
import subprocess
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.data.code import Corpus
from sfumato.data.edits import EditNoiseConfig, corrupt
from sfumato.mend.mender import load_mender, mend_syntax
from sfumato.mend.parsing import error_line
from sfumato.mend.proposals import Gap, Proposer
from sfumato.text.lexemes import BLANK, CLOSING, END, OPENING, is_level, lex
from sfumato.text.patches import Patch, apply

LENGTHS = range(20, 161)
MAX_CHANGED = 4
THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
MAX_STEPS = 8
_PAIRS = dict(zip("([{", ")]}", strict=True))
_BLOCK = re.compile(r"\s*(def|class|if|elif|else|for|while|try|except|finally|with)\b")


def to_source(lexemes: Sequence[str]) -> str:
    return apply("", [], [Patch(0, 0, tuple(lexemes))]).lstrip("\n") + "\n"


def lexemes_of(source: str) -> list[str]:
    return [lexeme.text for lexeme in lex(source)]


def functions(corpus: Corpus, seed: int) -> Iterator[list[str]]:
    """Functions in random order whose text is that of their lexemes."""
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
    """Lexemes that differ."""
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for tag, a, b, c, d in codes if tag != "equal")


def break_source(source: str, clean: list[str], seen: list[str]) -> str:
    """The text of some lexemes with what was done to them; line ends within brackets stay, though no lexeme tells."""
    patches = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, clean, seen, autojunk=False).get_opcodes():
        if tag != "equal" and not (tag == "delete" and end - start == 1 and is_level(clean[start])):
            patches.append(Patch(start, end, tuple(seen[first:last])))
    return apply(source, lex(source), patches)


def balanced(source: str) -> str:
    """Brackets closed at the end of their line or taken away, and a colon behind the head of a block."""
    lines = []
    for line in source.split("\n"):
        stack: list[str] = []
        kept = ""
        for character in line:
            if character in OPENING:
                stack.append(_PAIRS[character])
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
    """The lexemes of functions, and their text with structural noise, where it does not parse."""
    rng = random.Random(f"syntax {seed}")
    noise = EditNoiseConfig(plausible=0, structural=1, uniform=0, clean=0, opened=0, spare=0)
    for clean in functions(corpus, seed):
        seen = [cell.seen for cell in corrupt(clean, noise, rng) if cell.seen != END]
        broken = break_source(to_source(clean), clean, seen)
        if error_line(broken) is not None:
            yield clean, broken


def run_syntax(corpus: Corpus, proposer: Proposer, n: int, seed: int) -> None:
    tried = located = 0
    parsed = {"model": 0, "balanced": 0}
    few, equal = dict(parsed), dict(parsed)
    for clean, broken in broken_sources(corpus, seed):
        source, line = to_source(clean), error_line(broken)
        tried += 1
        differing = {
            number + 1
            for number, (one, other) in enumerate(zip(broken.split("\n"), source.split("\n"), strict=False))
            if one != other
        }
        located += line in differing
        repair = mend_syntax(proposer, broken)
        for name, text in (("model", repair[0] if repair else broken), ("balanced", balanced(broken))):
            good = error_line(text) is None
            parsed[name] += good
            few[name] += good and changed(lexemes_of(broken), lexemes_of(text)) <= MAX_CHANGED
            equal[name] += lexemes_of(text) == clean
        if tried == n:
            break
    print(f"{tried} functions that do not parse; Python names a changed line in {located / tried:.1%}")
    for name in parsed:
        shares = (parsed[name] / tried, few[name] / tried, equal[name] / tried)
        few_changed = f"{shares[1]:.1%} with at most {MAX_CHANGED} changed"
        print(f"{name}: {shares[0]:.1%} parse, {few_changed}, {shares[2]:.1%} as before")


def as_people_save_it(source: str, rng: random.Random) -> bytes:
    """A file of a text: comments and odd spaces around it, other line ends and indents, with or without a mark."""
    before = rng.choice(["", "# -*- coding: utf-8 -*-\n", "x = 1   \n\n\n", '"""Grüße.\t"""\n\f\n'])
    behind = rng.choice(["", "\n\n# end   ", "\ny = [\n\t1,\n]  # x\n", "\n\n\n"])
    text = (
        before
        + (
            re.sub("^ +", lambda found: "\t" * (len(found[0]) // 4), source, flags=re.MULTILINE)
            if rng.random() < 0.2
            else source
        )
        + behind
    )
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return (BOM_UTF8 if rng.random() < 0.2 else b"") + text.encode()


def shown(before: list[bytes], difference: str) -> list[bytes]:
    """The lines of a file after a difference: what it does not name as it was, what it adds without line ends."""
    after, place = list[bytes](), 0
    for line in difference.split("\n")[2:]:
        if found := re.match(r"@@ -(\d+)(,0)?", line):
            first = int(found[1]) - (found[2] is None)
            after += before[place:first]
            place = first
        elif line[:1] == "+":
            after.append(line[1:].encode())
        elif line[:1] == "-":
            place += 1
        elif line[:1] == " ":
            after.append(before[place])
            place += 1
    return after + before[place:]


def run_bytes(corpus: Corpus, model: str, n: int, seed: int) -> None:
    rng = random.Random(f"bytes {seed}")
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number, (_, broken) in enumerate(itertools.islice(broken_sources(corpus, seed), n)):
            path = Path(folder, f"{number}.py")
            files[path] = as_people_save_it(broken, rng)
            path.write_bytes(files[path])
        command = ["sfumato", "mend", folder, "--model", model]
        # Both end with 1 where something is left.
        said = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=False).stdout)
        untouched = sum(path.read_bytes() == content for path, content in files.items())
        subprocess.run([*command, "--yes"], capture_output=True, check=False)
        differences = {Path(one["path"]): one["diff"] for one in said["repairs"]}
        wrong = 0
        for path, content in files.items():
            found = path.read_bytes().splitlines(keepends=True)
            expected = shown(content.splitlines(keepends=True), differences.get(path, ""))
            wrong += len(found) != len(expected) or not all(
                one == other or one.rstrip(b"\r\n") == other.removeprefix(BOM_UTF8)
                for one, other in zip(found, expected, strict=False)
            )
    print(f"{len(files)} files, {len(differences)} mended; {len(files) - untouched} written by --json")
    print(f"{wrong} in which something else changed than the difference shows")


def edits(proposer: Proposer, lexemes: list[str]) -> list[tuple[float, Patch]]:
    """The edits of one pass, gaps with their likeliest filling."""
    reading = proposer.read(lexemes)
    found = []
    for score, edit in reading.proposals:
        if score <= min(THRESHOLDS):
            break
        if isinstance(edit, Gap):
            inner, patch = reading.fill(edit)[0]
            assert isinstance(patch, Patch)
            found.append((score + min(0.0, inner), patch))
        else:
            found.append((score, edit))
    return sorted(found, key=lambda pair: -pair[0])


def patched(lexemes: list[str], patches: Sequence[Patch]) -> list[str]:
    result = list(lexemes)
    for start, end, texts in sorted(patches, reverse=True):
        result[start:end] = texts
    return result


def one_step(proposer: Proposer, lexemes: list[str], threshold: float) -> list[str]:
    chosen: list[Patch] = []
    for score, patch in edits(proposer, lexemes):
        if score > threshold and all(patch.end <= one.start or one.end <= patch.start for one in chosen):
            chosen.append(patch)
    return patched(lexemes, chosen)


def many_steps(proposer: Proposer, lexemes: list[str], threshold: float) -> list[str]:
    seen = {tuple(lexemes)}
    for _ in range(MAX_STEPS):
        found = edits(proposer, lexemes)
        if not found or found[0][0] <= threshold:
            break
        lexemes = patched(lexemes, [found[0][1]])
        if tuple(lexemes) in seen:
            break
        seen.add(tuple(lexemes))
    return lexemes


def run_several(corpus: Corpus, proposer: Proposer, n: int, seed: int) -> None:
    rng = random.Random(f"several {seed}")
    noise = EditNoiseConfig(plausible=1, structural=0, uniform=0, clean=0, opened=0, spare=0)
    items = []
    for clean in functions(corpus, seed):
        cells = corrupt(clean, noise, rng)[:-1]
        places = sum(cell.seen != cell.target and cell.target != BLANK for cell in cells)
        # Other lexemes alone, so that what is right is known place by place.
        if places in (2, 3) and all(cell.missing <= 0 and cell.target != BLANK for cell in cells):
            items.append((clean, [cell.seen for cell in cells]))
        if len(items) == n:
            break
    print(f"{len(items)} functions with two or three bugs: share put back whole")
    for threshold in THRESHOLDS:
        row = [
            sum(step(proposer, seen, threshold) == clean for clean, seen in items) / len(items)
            for step in (one_step, many_steps)
        ]
        print(f"edits above {threshold:.0f} nats: one step {row[0]:.1%}, up to {MAX_STEPS} steps {row[1]:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("what", choices=("syntax", "several", "bytes"))
    parser.add_argument("--model", default="mend")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = Corpus(options.corpus)
    if options.what == "bytes":
        run_bytes(corpus, options.model, options.n, options.seed)
        return
    run = run_syntax if options.what == "syntax" else run_several
    run(corpus, load_mender(options.model).proposer, options.n, options.seed)


if __name__ == "__main__":
    main()
