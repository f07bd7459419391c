"""Record what Python makes of pages and programs: `python web/tests/record_ui.py [COUNT [FILE]]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src")]

from sfumato.data.tasks import TASKS  # noqa: E402
from sfumato.errors import RequestError  # noqa: E402
from sfumato.ui import execute, parse, to_text  # noqa: E402

TASK_NAMES = ("ui_edit", "ui_edit_wordings", "ui_edit_domains", "ui_edit_combinations")
LETTERS = "abcdefgh klmn onst,:|+-*[]\n0123ABé𝄞"


def _corrupt(text: str, random: Random) -> str:
    place = random.randrange(len(text))
    put = random.choice(("", random.choice(LETTERS), random.choice(LETTERS) + text[place]))
    return text[:place] + put + text[place + 1 :]


def _result(page: str, program: str) -> dict[str, str]:
    try:
        return {"result": to_text(execute(parse(page), program))}
    except RequestError as error:
        return {"error": str(error)}


def main(count: int, target: Path) -> None:
    """Write as many cases: pages with programs that fit, with corrupted ones, and corrupted pages."""
    random, cases = Random(0), []
    for seed in range(count):
        item = TASKS[TASK_NAMES[seed % len(TASK_NAMES)]].generate(seed)
        page, program = item.prompt.rpartition("\n> ")[0], item.response
        if seed % 3 == 1:
            program = _corrupt(program, random)
        elif seed % 3 == 2:
            page = _corrupt(page, random)
        cases.append({"page": page, "program": program, **_result(page, program)})
    text = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    target.write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else 150,
        Path(given[1]) if len(given) > 1 else Path(__file__).with_name("recorded_ui.json"),
    )
