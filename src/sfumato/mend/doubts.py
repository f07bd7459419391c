"""What a model doubts in Python that nothing verifies, with calibrated probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from sfumato.errors import CheckpointError
from sfumato.mend.evidence import find_targets
from sfumato.mend.parsing import error_line
from sfumato.mend.proposals import Gap, Proposer
from sfumato.storage import write_atomically
from sfumato.text.lexemes import lex, relative
from sfumato.text.patches import Patch, apply, common_ends

PRIOR = 0.01
"""Assumed share of functions with a mistake."""
PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75)
"""Probabilities from which false alarms and found mistakes are measured; doubts below the first are not reported."""
MIN_LEXEMES = 20
"""Shorter functions, and shorter pieces of code between functions, are not doubted."""
_FILE = "doubts.json"


class Level(NamedTuple):
    """What doubts from some probability on are worth, as shares of functions."""

    probability: float
    false_alarms: float
    """Correct functions that are doubted."""
    found: float
    """Functions with a planted mistake in which the doubt is at a mistake."""


@dataclass(frozen=True)
class Calibration:
    """From log-odds of edits to probabilities of mistakes, measured by `benchmarks.mend_odds` for one model."""

    intercept: float
    slope: float
    """Log of how often an edit of some log-odds is at a mistake, against how often it is in correct code, is
    `intercept + slope * log_odds`."""
    num_functions: int
    """Number of functions measured."""
    levels: Sequence[Level]

    def probability(self, log_odds: float) -> float:
        """Probability that an edit is at a mistake, if a share `PRIOR` of the functions has one."""
        logit = math.log(PRIOR / (1.0 - PRIOR)) + self.intercept + self.slope * log_odds
        return 1.0 / (1.0 + math.exp(-logit))

    def save(self, directory: Path) -> None:
        write_atomically(directory / _FILE, (json.dumps(asdict(self), indent=2) + "\n").encode())


def load_calibration(directory: Path) -> Calibration:
    """Read a model's calibration.

    Raises:
        CheckpointError: if it has none.
    """
    try:
        fields = json.loads((directory / _FILE).read_text(encoding="utf-8"))
        return Calibration(**fields | {"levels": [Level(*level) for level in fields["levels"]]})
    except FileNotFoundError:
        raise CheckpointError(
            f"the doubts of this model have not been measured: {directory} has no {_FILE}; benchmarks/mend_odds.py"
            " writes it; allowed: mend"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{directory / _FILE} is not a calibration: {error}") from None


class Doubt(NamedTuple):
    """A likely mistake."""

    line: int
    """From 1."""
    probability: float
    text: str
    """The whole text with the likeliest edit."""


def functions(source: str, length: int) -> Iterator[tuple[int, list[str]]]:
    """The functions of a text and the code between them: index of the first lexeme, and the lexemes as a model reads
    them."""
    lexemes = [lexeme.text for lexeme in lex(source)]
    for target in find_targets({Path(): source}, length=length, max_regions=len(lexemes)):
        for region in target.regions:
            if region.end - region.start >= MIN_LEXEMES:
                yield region.start, relative(lexemes[region.start : region.end])


def best_edit(proposer: Proposer, lexemes: Sequence[str]) -> tuple[float, Patch]:
    """The likeliest edit of some lexemes and its log-odds; a gap has its likeliest filling."""
    reading = proposer.read(lexemes)
    score, edit = reading.proposals[0]
    if isinstance(edit, Gap):
        [_, edit] = reading.fill(edit)[0]
        assert isinstance(edit, Patch), "a gap is filled at once"
    return score, edit


def find_doubts(proposer: Proposer, source: str, calibration: Calibration, length: int) -> list[Doubt]:
    """At most one doubt for each function of a text that parses.

    Args:
        length: lexemes that the model reads at once.
    """
    lexemes, found = lex(source), []
    for first, texts in functions(source, length):
        score, edit = best_edit(proposer, texts)
        probability = calibration.probability(score)
        if probability < PROBABILITIES[0]:
            continue
        patch = edit._replace(start=first + edit.start, end=first + edit.end)
        text = apply(source, lexemes, [patch])
        if error_line(text) is None:
            start, _ = common_ends(source, text)
            found.append(Doubt(source.count("\n", 0, start) + 1, probability, text))
    return found
