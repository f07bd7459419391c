"""What the odds of `mend` are worth where nothing verifies its edits.

    python -m benchmarks.mend_odds runs/code/held several
    python -m benchmarks.mend_odds runs/intact doubts --n 300

several: functions of a held-out corpus with two or three wrong names, operators or literals, repaired in one pass with
every edit above a threshold, or in several passes with the best edit of each; and how passes adapt to the number of
bugs. doubts: how often the best edit of correct code is above a threshold, and of the same code with a planted bug, in
functions and the code between them; --out writes the probabilities that `sfumato mend --doubts` shows.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import itertools
import operator
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from benchmarks.mend_planted import changed, functions, share
from sfumato.data.code import Corpus
from sfumato.data.edits import EditNoiseConfig, corrupt
from sfumato.evaluation.statistics import mcnemar
from sfumato.mend import doubts
from sfumato.mend.files import find_sources, read_source
from sfumato.mend.mender import load_mender
from sfumato.mend.proposals import Gap, Proposer
from sfumato.text.lexemes import BLANK
from sfumato.text.patches import Patch

MAX_PASSES = 8
MANY = 4
"""Functions with this many bugs or more are counted together."""
CAPS = (1, 2, 4, 8)
THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
DOUBTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
MAX_PART = 248
MAX_PER_FILE = 8
MIN_FITTED = 6.0
"""Log-odds from which the fit is linear: below, false alarms are far commoner."""
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


@dataclass(frozen=True)
class File:
    """Log-odds of the best edits of a file's functions, and of the same functions with planted mistakes."""

    intact: list[float]
    planted: list[tuple[float, bool]]
    """With whether the edit is at a mistake."""

    @property
    def hits(self) -> list[float]:
        """Log-odds of the edits that are at a mistake."""
        return [score for score, is_right in self.planted if is_right]


def read_files(folder: Path, proposer: Proposer, n: int, seed: int) -> Iterator[File]:
    """Read n files of a directory, drawn at random."""
    rng = random.Random(f"doubts {seed}")
    paths = find_sources([folder])
    for path in rng.sample(paths, min(n, len(paths))):
        file = File([], [])
        found = list(doubts.functions(read_source(path).text, MAX_PART))
        # A few generated files would otherwise decide.
        for _, clean in rng.sample(found, min(MAX_PER_FILE, len(found))):
            file.intact.append(doubts.best_edit(proposer, clean)[0])
            seen, wrong = plant_one(clean, rng)
            score, edit = doubts.best_edit(proposer, seen[:MAX_PART])
            touched = range(edit.start, max(edit.end, edit.start + 1))
            file.planted.append((score, not wrong.isdisjoint(touched)))
        yield file


def fit(files: Sequence[File]) -> doubts.Calibration:
    """A logistic regression of hits against intact functions, over edits that are likely at all."""
    intact = [score for file in files for score in file.intact]
    hits = [score for file in files for score in file.hits]
    pairs = [(score, 0.0) for score in intact if score > MIN_FITTED] + [(s, 1.0) for s in hits if s > MIN_FITTED]
    scores_N, labels_N = torch.tensor(pairs, dtype=torch.float64).T
    features_N2 = torch.stack((torch.ones_like(scores_N), scores_N), dim=1)
    weights_2 = torch.zeros(2, dtype=torch.float64)
    for _ in range(50):
        fitted_N = (features_N2 @ weights_2).sigmoid()
        curvature_22 = features_N2.T @ (features_N2 * (fitted_N * (1.0 - fitted_N))[:, None])
        weights_2 += torch.linalg.solve(curvature_22, features_N2.T @ (labels_N - fitted_N))
    intercept, slope = weights_2.tolist()
    calibration = doubts.Calibration(intercept, slope, len(intact), [])
    levels = []
    for probability in doubts.PROBABILITIES:
        flagged, found = (
            sum(calibration.probability(score) >= probability for score in scores) / len(intact)
            for scores in (intact, hits)
        )
        levels.append(doubts.Level(probability, round(flagged, 5), round(found, 4)))
    return dataclasses.replace(calibration, intercept=round(intercept, 4), slope=round(slope, 4), levels=levels)


def print_calibration(files: Sequence[File]) -> None:
    """Probabilities fitted on each half of the files, for the other half, and the shares that are mistakes if a share
    `PRIOR` of the functions has one."""
    said: list[tuple[float, float, bool]] = []
    for fitted, tested in ((files[::2], files[1::2]), (files[1::2], files[::2])):
        calibration = fit(fitted)
        for file in tested:
            said += [(calibration.probability(score), doubts.PRIOR, True) for score in file.hits]
            said += [(calibration.probability(score), 1.0 - doubts.PRIOR, False) for score in file.intact]
    for low, high in itertools.pairwise([*doubts.PROBABILITIES, 1.0]):
        inside = [each for each in said if low <= each[0] < high]
        if not inside:
            continue
        total = sum(weight for _, weight, _ in inside)
        mean = sum(probability * weight for probability, weight, _ in inside) / total
        true = sum(weight for _, weight, is_mistake in inside if is_mistake) / total
        alarms = sum(not is_mistake for *_, is_mistake in inside)
        print(f"  {low:.0%} to {high:.0%}: said {mean:.1%}, true {true:.1%} ({alarms} false alarms)")


def run_doubts(folder: Path, proposer: Proposer, n: int, seed: int, out: Path | None) -> None:
    files = list(read_files(folder, proposer, n, seed))
    intact = [score for file in files for score in file.intact]
    planted = [each for file in files for each in file.planted]
    print(f"{len(intact)} functions of {len(files)} intact files; the same functions with plausible mistakes")
    for threshold in DOUBTS:
        flagged = sum(score > threshold for score in intact)
        doubted = sum(max(file.intact, default=threshold) > threshold for file in files)
        hits = [is_right for score, is_right in planted if score > threshold]
        print(
            f"  above {threshold:.0f} nats: intact functions {share(flagged, len(intact))},"
            f" files {share(doubted, len(files))};"
            f" with mistakes {share(len(hits), len(intact))}, at a mistake {share(sum(hits), len(intact))}"
        )
    print("probabilities fitted on half of the files, on the other half:")
    print_calibration(files)
    calibration = fit(files)
    print(calibration)
    if out is not None:
        calibration.save(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a corpus; for doubts a directory of Python files")
    parser.add_argument("what", choices=("several", "doubts"))
    parser.add_argument("--model", default="mend")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="directory of the model, for its doubts.json")
    options = parser.parse_args()
    proposer = load_mender(options.model).proposer
    if options.what == "doubts":
        run_doubts(options.source, proposer, options.n, options.seed, options.out)
    else:
        run_several(Corpus(options.source), proposer, options.n, options.seed)


if __name__ == "__main__":
    main()
