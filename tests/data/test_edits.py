from __future__ import annotations

import random

import pytest

from sfumato.data.edits import Cell, EditNoiseConfig, corrupt
from sfumato.errors import ConfigError
from sfumato.text.lexemes import BLANK, END, MASK, lex

SOURCE = """def f(values, limit=10):
    total = 0
    for index, value in enumerate(values):
        if value.size > limit and not value.done:
            total += abs(value.size - values[index - 1].size) * 2
        elif value.name == "all":
            return min(total, limit)
    return total
"""
CLEAN = [lexeme.text for lexeme in lex(SOURCE)]
KINDS = {"plausible": 0.0, "structural": 0.0, "uniform": 0.0, "masked": 0.0}


def recovered(cells: list[Cell]) -> list[str]:
    return [cell.target for cell in cells if cell.target != BLANK]


@pytest.mark.parametrize("kind", KINDS)
def test_targets_and_gaps_restore_the_clean_text(kind: str) -> None:
    """What belongs to the cells is the text, but for what is missing: as many lexemes as the gaps say."""
    config = EditNoiseConfig(**{**KINDS, kind: 1.0})
    changed = 0
    for seed in range(400):
        cells = corrupt(CLEAN, config, random.Random(seed))
        found, told = recovered(cells), sum(cell.missing for cell in cells if cell.missing > 0)
        assert cells[-1].target == END
        unknown = any(cell.missing < 0 for cell in cells)
        assert len(found) + told == len(CLEAN) + 1 or unknown
        rest = iter([*CLEAN, END])
        assert all(text in rest for text in found), "in their order"
        changed += any(cell.seen != cell.target or cell.missing for cell in cells)
    assert changed > 300


def test_the_same_seed_gives_the_same_noise() -> None:
    config = EditNoiseConfig()
    assert corrupt(CLEAN, config, random.Random(3)) == corrupt(CLEAN, config, random.Random(3))


def test_clean_texts_are_unchanged() -> None:
    config = EditNoiseConfig(plausible=1.0, structural=0.0, uniform=0.0, clean=1.0, spare=0.0)
    cells = corrupt(CLEAN, config, random.Random(0))
    assert cells == [Cell(text, text, 0) for text in [*CLEAN, END]]


def test_share_of_opened_gaps() -> None:
    shares = []
    for opened in (0.0, 1.0):
        config = EditNoiseConfig(plausible=0.0, structural=1.0, uniform=0.0, opened=opened, spare=0.0)
        drawn = [corrupt(CLEAN, config, random.Random(seed)) for seed in range(200)]
        shares.append(sum(any(cell.seen == MASK for cell in cells) for cells in drawn))
        assert any(cell.missing > 0 for cells in drawn for cell in cells) == (opened == 0.0)
    assert shares[0] == 0 < shares[1]


def test_masks_hide_any_number_of_lexemes_and_change_none() -> None:
    config = EditNoiseConfig(**{**KINDS, "masked": 1.0})
    counts = set()
    for seed in range(400):
        cells = corrupt(CLEAN, config, random.Random(seed))
        assert [cell.target for cell in cells] == [*CLEAN, END]
        assert all(cell.seen in (cell.target, MASK) and not cell.missing for cell in cells)
        counts.add(sum(cell.seen == MASK for cell in cells))
    assert min(counts) == 0
    assert max(counts) > 0.9 * len(CLEAN)


def test_line_heads_vanish_behind_an_open_bracket() -> None:
    """As in the text that would be read: they are not counted as missing, and nothing is learned there."""
    config = EditNoiseConfig(plausible=0.0, structural=1.0, uniform=0.0, clean=0.0, opened=0.0, spare=0.0)
    for seed in range(2000):
        cells = corrupt(CLEAN, config, random.Random(seed))
        seen = [cell.seen for cell in cells]
        if any(cell.missing < 0 for cell in cells):
            assert sum(text in ("(", "[", "{") for text in seen) > sum(text in (")", "]", "}") for text in seen)
            return
    raise AssertionError("a bracket was never left open")


def test_shares_are_checked() -> None:
    with pytest.raises(ConfigError, match="opened is 2"):
        EditNoiseConfig(opened=2.0)
    with pytest.raises(ConfigError, match="are all 0"):
        EditNoiseConfig(plausible=0.0, structural=0.0, uniform=0.0)
