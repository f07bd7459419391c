"""A scripted proposer of edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.mend.mender import Mender
from sfumato.mend.proposals import Gap, Proposal
from sfumato.text.patches import Patch


@dataclass(frozen=True)
class ScriptedReading:
    """The script's predictions for one text."""

    proposals: list[Proposal]
    fillings: dict[Gap, tuple[str, ...]]

    def fill(self, gap: Gap) -> list[Proposal]:
        return [Proposal(0.0, Patch(gap.position, gap.position, self.fillings[gap]))]


class Scripted:
    """Proposes from a script of (anchor lexeme, whether to remove it, new lexemes, score)."""

    has_judge = False

    def __init__(self, *script: tuple[str, bool, tuple[str, ...], float]) -> None:
        self.script = script

    def read(self, lexemes: Sequence[str]) -> ScriptedReading:
        reading = ScriptedReading([], {})
        for anchor, removes, new, score in sorted(self.script, key=lambda line: -line[3]):
            if anchor not in lexemes:
                continue
            at = lexemes.index(anchor)
            edit: Patch | Gap = Patch(at, at + 1, new) if removes else Gap(at, len(new))
            reading.proposals.append(Proposal(score, edit))
            if isinstance(edit, Gap):
                reading.fillings[edit] = new
        return reading


def scripted_mender(*script: tuple[str, bool, tuple[str, ...], float]) -> Mender:
    """A mender without a model, with scripted edits."""
    mender = object.__new__(Mender)
    mender.proposer, mender._length = Scripted(*script), 252  # type: ignore[assignment]
    mender._load_judge = None
    return mender
