"""What the odds of `mend` are worth where nothing verifies its edits.

    python -m benchmarks.mend_odds runs/code/held several
    python -m benchmarks.mend_odds runs/intact doubts --n 300

several: functions of a held-out corpus with two or three wrong names, operators or literals, repaired in one pass with
every edit above a threshold, or in several passes with the best edit of each; and how passes adapt to the number of
bugs. doubts: how often the best edit of correct code is above a threshold, and of the same code with a planted bug; a
part is a function, or code between functions.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import operator
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.mend_planted import LENGTHS, changed, functions, lexemes_of, share
from sfumato.data.code import Corpus
from sfumato.data.edits import EditNoiseConfig, corrupt
from sfumato.evaluation.statistics import mcnemar
from sfumato.mend.evidence import find_targets
from sfumato.mend.files import find_sources, read_source
from sfumato.mend.mender import load_mender
from sfumato.mend.proposals import Gap, Proposer
from sfumato.text.lexemes import BLANK, relative
from sfumato.text.patches import Patch

MAX_PASSES = 8
MANY = 4
"""Functions with this many bugs or more are counted together."""
CAPS = (1, 2, 4, 8)
THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
DOUBTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
MAX_PART = 248
NOISE = EditNoiseConfig(plausible=1, structural=0, uniform=0, clean=0, opened=0, spare=0)


def edits(proposer: Proposer, lexemes: list[str]) -> list[tuple[float, Patch]]:
    """The edits of one pass, with the likeliest filling of each gap."""
    reading = proposer.read(lexemes)
    found = []
    for score, edit in reading.proposals:
        if score <= min(THRESHOLDS):
            break
        if isinstance(edit, Gap):
            inner, filled = reading.fill(edit)[0]
            assert isinstance(filled, Patch)
            found.append((score + min(0.0, inner), filled))
        else:
            found.append((score, edit))
    return sorted(found, key=lambda pair: -pair[0])


def patched(lexemes: list[str], patches: Sequence[Patch]) -> list[str]:
    result = list(lexemes)
    for start, end, texts in sorted(patches, reverse=True):
        result[start:end] = texts
    return result


def one_pass(found: Sequence[tuple[float, Patch]], lexemes: list[str], threshold: float) -> list[str]:
    """A text with all edits above a threshold that do not overlap better ones."""
    chosen: list[Patch] = []
    for score, edit in found:
        if score > threshold and all(edit.end <= one.start or one.end <= edit.start for one in chosen):
            chosen.append(edit)
    return patched(lexemes, chosen)


@dataclass(frozen=True)
class Trial:
    """A function with planted bugs, and what the passes do to it."""

    clean: list[str]
    seen: list[str]
    """The same with bugs; as long as `clean`."""
    edits: list[tuple[float, Patch]]
    """The edits of the first pass."""
    passes: list[tuple[float, list[str]]]
    """Log-odds of each pass's best edit, and the text with it."""

    @cached_property
    def wrong(self) -> set[int]:
        """Positions of the bugs."""
        return {index for index, lexeme in enumerate(self.clean) if self.seen[index] != lexeme}

    def after(self, threshold: float, cap: int = MAX_PASSES) -> tuple[list[str], int]:
        """The text after passes while the best edit is above a threshold, and the number of edits."""
        kept = list(itertools.takewhile(lambda each: each[0] > threshold, self.passes[:cap]))
        return (kept[-1][1] if kept else self.seen), len(kept)

    def is_repaired(self, threshold: float, cap: int = MAX_PASSES) -> bool:
        return self.after(threshold, cap)[0] == self.clean

    def restored_and_spoiled(self, text: list[str]) -> tuple[int, int]:
        """Number of wrong lexemes that became right, and of right ones that became wrong."""
        blocks = difflib.SequenceMatcher(None, self.clean, text, autojunk=False).get_matching_blocks()
        kept = {index for start, _, size in blocks for index in range(start, start + size)}
        restored = len(self.wrong & kept)
        return restored, changed(self.clean, text) - len(self.wrong) + restored


def run_passes(proposer: Proposer, clean: list[str], seen: list[str]) -> Trial:
    """Make the best edit of each pass until there is none, a text returns, or the cap is reached."""
    first = found = edits(proposer, seen)
    lexemes, texts, passes = seen, {tuple(seen)}, list[tuple[float, list[str]]]()
    while found and len(passes) < MAX_PASSES:
        score, edit = found[0]
        lexemes = patched(lexemes, [edit])
        passes.append((score, lexemes))
        if tuple(lexemes) in texts:
            break
        texts.add(tuple(lexemes))
        found = edits(proposer, lexemes)
    return Trial(clean, seen, first, passes)


def plant_several(corpus: Corpus, n: int, seed: int) -> dict[int, list[tuple[list[str], list[str]]]]:
    """Functions and the same with bugs, by number of bugs: n with two or three, up to n / 4 with none, one, or more."""
    rng = random.Random(f"several {seed}")
    found: dict[int, list[tuple[list[str], list[str]]]] = {number: [] for number in range(MANY + 1)}
    for clean in functions(corpus, seed):
        if len(found[0]) < n // 4:
            found[0].append((clean, clean))
            continue
        *cells, end = corrupt(clean, NOISE, rng)
        # Only substitutions, so that the right edits are known.
        if any(cell.missing or cell.target == BLANK for cell in (*cells, end)):
            continue
        number = min(MANY, sum(cell.seen != cell.target for cell in cells))
        if number in (2, 3) or (number and len(found[number]) < n // 4):
            found[number].append((clean, [cell.seen for cell in cells]))
        if len(found[2]) + len(found[3]) == n:
            break
    return found


def run_several(corpus: Corpus, proposer: Proposer, n: int, seed: int) -> None:
    planted = plant_several(corpus, n, seed)
    trials = {number: [run_passes(proposer, *pair) for pair in pairs] for number, pairs in planted.items()}
    items = trials[2] + trials[3]
    print(f"{len(items)} functions with two or three bugs, fully repaired in one pass and in up to {MAX_PASSES}:")
    for threshold in THRESHOLDS:
        once = [one_pass(trial.edits, trial.seen, threshold) == trial.clean for trial in items]
        often = [trial.is_repaired(threshold) for trial in items]
        more, fewer = sum(map(operator.gt, often, once)), sum(map(operator.gt, once, often))
        shares = f"{share(sum(once), len(items))}, {share(sum(often), len(items))}"
        alone = f"passes alone {more}, one pass alone {fewer}, p {mcnemar(more, fewer):.2g}"
        print(f"  edits above {threshold:.0f} nats: {shares}; {alone}")
    best = max(THRESHOLDS, key=lambda threshold: sum(trial.is_repaired(threshold) for trial in items))
    within = ", ".join(f"{cap}: {sum(trial.is_repaired(best, cap) for trial in items)}" for cap in CAPS)
    print(f"at {best:.0f} nats, repaired within passes: {within}")
    for number, group in trials.items():
        if not group:
            continue
        results = [trial.after(best) for trial in group]
        counts = [trial.restored_and_spoiled(text) for trial, (text, _) in zip(group, results, strict=True)]
        print(
            f"  {number}{'+' if number == MANY else ''} bugs: {len(group)} functions,"
            f" {sum(num_edits for _, num_edits in results) / len(group):.2f} edits each,"
            f" {sum(trial.is_repaired(best) for trial in group)} right at the end;"
            f" {sum(restored for restored, _ in counts)} of {sum(len(trial.wrong) for trial in group)} wrong lexemes"
            f" became right, {sum(spoiled for _, spoiled in counts)} right ones wrong"
        )


def plant_one(clean: list[str], rng: random.Random) -> tuple[list[str], set[int]]:
    """A text with plausible mistakes, and where they are."""
    cells = corrupt(clean, NOISE, rng)
    positions = {index for index, cell in enumerate(cells) if cell.seen != cell.target or cell.missing > 0}
    return [cell.seen for cell in cells[:-1]], positions


def best_edit(proposer: Proposer, lexemes: list[str]) -> tuple[float, range]:
    """Log-odds of the best edit, and the positions that it touches."""
    score, edit = proposer.read(lexemes).proposals[0]
    start, end = (edit.position, edit.position) if isinstance(edit, Gap) else (edit.start, edit.end)
    return score, range(start, max(end, start + 1))


def run_doubts(folder: Path, proposer: Proposer, n: int, seed: int) -> None:
    rng = random.Random(f"doubts {seed}")
    intact: list[list[float]] = []
    planted: list[tuple[float, bool]] = []
    for path in find_sources([folder])[:n]:
        text = read_source(path).text
        scores: list[float] = []
        for region in (each for target in find_targets({path: text}, length=MAX_PART) for each in target.regions):
            clean = relative(lexemes_of(text)[region.start : region.end])
            if len(clean) < LENGTHS.start:
                continue
            scores.append(best_edit(proposer, clean)[0])
            seen, wrong = plant_one(clean, rng)
            score, touched = best_edit(proposer, seen[:MAX_PART])
            planted.append((score, not wrong.isdisjoint(touched)))
        intact.append(scores)
    parts = [score for scores in intact for score in scores]
    print(f"{len(parts)} parts of {len(intact)} intact files; the same parts with plausible mistakes")
    for threshold in DOUBTS:
        flagged = sum(score > threshold for score in parts)
        files = sum(max(scores, default=threshold) > threshold for scores in intact)
        hits = [is_right for score, is_right in planted if score > threshold]
        print(
            f"  above {threshold:.0f} nats: intact parts {share(flagged, len(parts))},"
            f" files {share(files, len(intact))};"
            f" with mistakes {share(len(hits), len(parts))}, at a mistake {share(sum(hits), len(parts))}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a corpus; for doubts a directory of Python files")
    parser.add_argument("what", choices=("several", "doubts"))
    parser.add_argument("--model", default="mend")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    proposer = load_mender(options.model).proposer
    if options.what == "doubts":
        run_doubts(options.source, proposer, options.n, options.seed)
    else:
        run_several(Corpus(options.source), proposer, options.n, options.seed)


if __name__ == "__main__":
    main()
