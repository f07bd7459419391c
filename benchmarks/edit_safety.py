"""Safety of `sfumato edit` on files: functions of installed packages with one planted bug each.

    edit_safety.py                  100 functions alone, with and without --span, and in their modules
    edit_safety.py --tasks 100      programs of the trained kind
    edit_safety.py --calibrate 100  certainty of right and wrong edits, to choose `min_certainty`

An edit is right if the file is the original program again; any other change is wrong. Calibration and test use
different packages.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from planted import Planted, parses, plant_all, same_program
from typer.testing import CliRunner

import sfumato.api
from sfumato.cli.app import app
from sfumato.data.tasks import find_task, items
from sfumato.text.patches import line_span, line_starts

TESTED = ("click", "requests", "urllib3", "werkzeug", "pygments")
CALIBRATED = ("rich", "jinja2", "networkx", "httpx2", "packaging")
INSTRUCTION = "fix the bug:"
# All calls of the command share one model.
sfumato.api.load = functools.cache(sfumato.api.load)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=0)
    parser.add_argument("--calibrate", type=int, default=0)
    parser.add_argument("--packages", default="")
    parser.add_argument("--max-lines", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="tiny")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    packages = tuple(given.packages.split(",")) if given.packages else ()
    if given.calibrate:
        functions = plant_all(packages or CALIBRATED, given.calibrate, given.seed, given.max_lines)
        calibrate(given.model, functions, given.calibrate, given.seed)
    elif given.tasks:
        score_tasks(given.model, given.tasks, given.seed)
    else:
        functions = plant_all(packages or TESTED, given.functions, given.seed, given.max_lines)
        score_functions(given.model, functions)


def score_functions(model: str, functions: list[Planted]) -> None:
    """Edit files with the command and compare the results."""
    for mode in ("line named", "not named", "line named, in its module"):
        counts: Counter[str] = Counter()
        for one in functions:
            before, right, line = one.buggy, one.right, one.line
            if "module" in mode:
                before, right, line = one.module, one.module_right, one.module_line
            span = [] if mode == "not named" else ["--span", str(line)]
            with tempfile.TemporaryDirectory() as directory:
                file = Path(directory) / "some.py"
                file.write_text(before, encoding="utf-8")
                options = ["--yes", "--model", model, "--threads", "1"]
                done = CliRunner().invoke(app, ["edit", str(file), INSTRUCTION, *span, *options])
                after = file.read_text(encoding="utf-8")
            changed = "right" if same_program(after, right) else "wrong"
            counts[f"exit {done.exit_code}, {'unchanged' if after == before else changed}"] += 1
            counts["no longer parses"] += not parses(after)
            counts["lines lost"] += num_lines(after) < num_lines(before)
            if after != before and changed == "wrong":
                print(json.dumps({"mode": mode, "function": one.name, "before": before, "after": after}))
        print(json.dumps({"mode": mode, "functions": len(functions), **dict(sorted(counts.items()))}), flush=True)


def num_lines(text: str) -> int:
    """Number of lines that are not blank."""
    return sum(map(bool, map(str.strip, text.splitlines())))


def score_tasks(model: str, count: int, seed: int) -> None:
    """Edit test items of the task bugfix: with the line given, without it, and without a bug."""
    for mode in ("line named", "not named", "nothing wrong"):
        counts = Counter(kind for kind, _ in edit_tasks(model, mode, count, seed))
        print(json.dumps({"task": "bugfix", "mode": mode, "n": count, **dict(sorted(counts.items()))}), flush=True)


def edit_tasks(model: str, mode: str, count: int, seed: int, **settings: float) -> Iterator[tuple[str, float]]:
    """(unchanged, right or wrong; certainty) of each item."""
    text_model, task = sfumato.api.load(model, threads=1), find_task("bugfix")
    for item in items(task, "test", seed, count):
        code = item.response if mode == "nothing wrong" else item.prompt.partition("\n")[2]
        number = item.meta["line"] + 1
        spans = [line_span(line_starts(code), code, number, number)] if mode == "line named" else None
        result = text_model.edit(code, spans=spans, instruction=INSTRUCTION, **settings)
        right = "right" if task.check(item, result.text) else "wrong"
        yield "unchanged" if result.text == code else right, result.certainty


def calibrate(model: str, functions: list[Planted], count: int, seed: int) -> None:
    """Edits that pass each threshold, on items of another seed than `score_tasks` uses."""
    text_model = sfumato.api.load(model, threads=1)
    for mode in ("line named", "not named"):
        known = list(edit_tasks(model, mode, count, seed + 1, min_certainty=-math.inf))
        foreign: list[float] = []
        for one in functions:
            span = line_span(line_starts(one.buggy), one.buggy, one.line, one.line)
            spans = [span] if mode == "line named" else None
            try:
                result = text_model.edit(one.buggy, spans=spans, instruction=INSTRUCTION, min_certainty=-math.inf)
            except sfumato.RequestError:
                continue
            if result.text != one.buggy and not same_program(result.text, one.right):
                foreign.append(result.certainty)
        right = [certainty for kind, certainty in known if kind == "right"]
        wrong = [certainty for kind, certainty in known if kind == "wrong"]
        for needed in (-0.05, -0.1, -0.25, -0.5, -0.75, -1.5, -3.0, -math.inf):
            passed = [sum(one >= needed for one in some) for some in (right, wrong, foreign)]
            shares = dict(zip(("right", "wrong", "wrong, of packages"), passed, strict=True))
            print(json.dumps({"mode": mode, "min_certainty": str(needed), "written": shares}), flush=True)


if __name__ == "__main__":
    main()
