"""Sudoku of side 4 and 9: grids with blanks that have a unique solution."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np

from sfumato.data.kinds import PromptKind
from sfumato.data.tasks.base import Item, Task

_EXAMPLE4 = "12..\n..12\n2.4.\n.3.1"
_EXAMPLE9 = "53..7....\n6..195...\n.98....6.\n8...6...3\n4..8.3..1\n7...2...6\n.6....28.\n...419..5\n....8..79"

# A grid is its cells in row order, 1..side, 0 for a blank.
Grid = list[int]


def _text(grid: Grid, side: int) -> str:
    rows = (grid[start : start + side] for start in range(0, side * side, side))
    return "\n".join("".join(str(digit) if digit else "." for digit in row) for row in rows)


@cache
def _units(side: int) -> tuple[tuple[int, ...], ...]:
    """Rows, columns and boxes as tuples of cells."""
    box = 2 if side == 4 else 3
    cells = range(side * side)
    rows = [tuple(c for c in cells if c // side == i) for i in range(side)]
    columns = [tuple(c for c in cells if c % side == i) for i in range(side)]
    boxes = [tuple(c for c in cells if c // side // box * box + c % side // box == i) for i in range(side)]
    return (*rows, *columns, *boxes)


@cache
def _units_of(side: int) -> tuple[tuple[int, int, int], ...]:
    """The row, column and box of each cell, as indices into `_units`."""
    units = _units(side)
    found = [[i for i, unit in enumerate(units) if cell in unit] for cell in range(side * side)]
    return tuple((row, column, box) for row, column, box in found)


def _valid(grid: Grid, side: int) -> bool:
    digits = set(range(1, side + 1))
    return all({grid[cell] for cell in unit} == digits for unit in _units(side))


def _solve(grid: Grid, side: int, limit: int, random: Random | None = None) -> list[Grid]:
    """Up to `limit` ways to fill the blanks: depth-first search on the blank with the fewest candidates, smallest digit
    first, or in random order."""
    units_of = _units_of(side)
    used = [0] * (3 * side)
    for cell, digit in enumerate(grid):
        if digit:
            for unit in units_of[cell]:
                if used[unit] >> digit & 1:
                    return []
                used[unit] |= 1 << digit
    every = (1 << side + 1) - 2
    blanks = [cell for cell, digit in enumerate(grid) if not digit]
    filled = list(grid)
    found: list[Grid] = []

    def search() -> None:
        if not blanks:
            found.append(list(filled))
            return
        best, best_count, best_mask = -1, side + 1, 0
        for index, cell in enumerate(blanks):
            row, column, box = units_of[cell]
            mask = every & ~(used[row] | used[column] | used[box])
            count = mask.bit_count()
            if count < best_count:
                best, best_count, best_mask = index, count, mask
                if count <= 1:
                    break
        if not best_count:
            return
        cell = blanks.pop(best)
        row, column, box = units_of[cell]
        digits = [digit for digit in range(1, side + 1) if best_mask >> digit & 1]
        if random is not None:
            random.shuffle(digits)
        for digit in digits:
            if len(found) == limit:
                break
            bit = 1 << digit
            used[row] |= bit
            used[column] |= bit
            used[box] |= bit
            filled[cell] = digit
            search()
            used[row] ^= bit
            used[column] ^= bit
            used[box] ^= bit
        blanks.insert(best, cell)

    search()
    return found


def _kind(name: str, side: int, example: str) -> PromptKind:
    row = rf"[1-{side}.]{{{side}}}"
    return PromptKind(
        name=name,
        description=f"Fills the blanks of a sudoku of side {side}.",
        example=f"sudoku:\n{example}",
        pattern=rf"sudoku:\n(?:{row}\n){{{side - 1}}}{row}",
    )


class _Sudoku(Task):
    side: int

    def _item(self, puzzle: Grid, solution: Grid) -> Item:
        return Item(
            prompt=f"sudoku:\n{_text(puzzle, self.side)}",
            response=_text(solution, self.side),
            meta={"num_blanks": puzzle.count(0)},
        )

    def check(self, item: Item, response: str) -> bool:
        """True for a grid with each digit once in every row, column and box, and unchanged givens."""
        rows = response.strip().split("\n")
        digits = "123456789"[: self.side]
        if len(rows) != self.side or any(len(row) != self.side or set(row) - set(digits) for row in rows):
            return False
        text = "".join(rows)
        givens = "".join(item.prompt.split("\n")[1:])
        agrees = all(given in (".", digit) for given, digit in zip(givens, text, strict=True))
        return agrees and _valid([int(digit) for digit in text], self.side)


@cache
def _grids4() -> np.ndarray:
    """All 288 valid grids of side 4 (OEIS A107739)."""
    return np.array(_solve([0] * 16, 4, 1000), dtype=np.int8)


class Sudoku4(_Sudoku):
    """Side 4, 6 to 11 blanks. Only 288 grids exist: test puzzles are unseen as puzzles, not as solutions."""

    name = "sudoku4"
    side = 4
    kind = _kind(name, side, _EXAMPLE4)

    def generate(self, seed: int) -> Item:
        """A uniformly drawn grid with a drawn number of blanks."""
        random = Random(seed)
        grids = _grids4()
        solution = grids[random.choice(range(len(grids)))]
        num_blanks = random.randint(6, 11)
        while True:
            cells = random.sample(range(16), 16 - num_blanks)
            if (grids[:, cells] == solution[cells]).all(axis=1).sum() == 1:
                break
        puzzle = [digit if cell in cells else 0 for cell, digit in enumerate(solution.tolist())]
        return self._item(puzzle, solution.tolist())


class Sudoku9(_Sudoku):
    """Side 9, 30 to 54 blanks."""

    name = "sudoku9"
    side = 9
    kind = _kind(name, side, _EXAMPLE9)

    def generate(self, seed: int) -> Item:
        """A random grid without cells that the rest determines."""
        random = Random(seed)
        [solution] = _solve([0] * 81, 9, 1, random)
        num_blanks = random.randint(30, 54)
        puzzle = list(solution)
        units, units_of = _units(9), _units_of(9)
        for cell in random.sample(range(81), 81):
            puzzle[cell] = 0
            # Including its own blank: if the cells around one have all other digits, there is nothing to search.
            around = {puzzle[other] for unit in units_of[cell] for other in units[unit]}
            if len(around) < 9 and len(_solve(puzzle, 9, 2)) > 1:
                puzzle[cell] = solution[cell]
            elif puzzle.count(0) == num_blanks:
                break
        return self._item(puzzle, solution)
