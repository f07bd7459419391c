"""Accuracy lost to format constraints on tasks a model knows. Each format allows the right answers.

    python benchmarks/forms_quality.py --n 200

schema: the type of each property of the record, all required; other properties are allowed. regex: the form of the
task's answers. choice: the right answer and a partly wrong one, both whole, because the model never saw a bare value.
ban: strings that no right answer has. pin: the first third of the right answer is fixed. Rows of one task share items
and seeds; certainty is the mean log-probability of the constrained answer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from random import Random
from typing import Any

import sfumato
from sfumato.data.tasks import Item
from sfumato.evaluation.tasks import ROWS, asked_items

TYPES = {str: "string", int: "integer", bool: "boolean"}
REGEXES = {
    "json": r'\{("\w+": ("[^"]*"|\d+|true|false|\{("\w+": \d+(, )?)*\})(, )?)+\}',
    "bugfix": r"(# [^\n]+\n)?def \w+\([\w, ]*\):(\n +[^\n]+)+",
    "middle": r"[A-Z][^.\n]*\.",
}


def schema_of(record: dict[str, Any]) -> dict[str, Any]:
    properties = {
        name: {"type": "object", "additionalProperties": {"type": "integer"}}
        if isinstance(value, dict)
        else {"type": TYPES[type(value)]}
        for name, value in record.items()
    }
    return {"type": "object", "properties": properties, "required": list(record)}


def wrong_answer(task: str, item: Item, items: list[Item]) -> str:
    """An answer that is partly wrong."""
    random = Random(item.prompt)
    if task == "bugfix":
        return item.prompt.removeprefix("fix the bug:\n")
    if task == "middle":
        return random.choice(sorted({other.response for other in items} - {item.response}))
    record = dict(item.meta["record"])
    alike = [other.meta["record"] for other in items if other.meta["kind"] == item.meta["kind"]]
    wrong = [(name, other[name]) for other in alike for name in record if other.get(name, record[name]) != record[name]]
    record.update([random.choice(wrong)])
    return json.dumps(record, ensure_ascii=False)


def forms_of(task: str, items: list[Item]) -> dict[str, Callable[[Item], dict[str, Any]]]:
    """Request settings by format."""
    forms: dict[str, Callable[[Item], dict[str, Any]]] = {
        "none": lambda item: {},
        "schema": lambda item: {"schema": schema_of(item.meta["record"])},
        "regex": lambda item: {"regex": REGEXES[task]},
        "choice": lambda item: {"choices": sorted((item.response, wrong_answer(task, item, items)))},
        "ban": lambda item: {"ban": ["zebra", "import", "\t", "!!"]},
        "pin": lambda item: {"seed_text": item.response, "pin": [(0, len(item.response) // 3 or 1)], "strength": 1.0},
    }
    return forms if task == "json" else {name: form for name, form in forms.items() if name != "schema"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--n", type=int, default=200, help="items of each task's test split")
    parser.add_argument("--tasks", nargs="+", default=list(REGEXES), choices=list(REGEXES))
    asked = parser.parse_args()
    model = sfumato.load(asked.model)
    print(f"{'task':8}{'form':8}{'n':>5}{'right':>8}{'cost':>7}{'steps':>7}{'certainty':>11}")
    for name in asked.tasks:
        task, items = asked_items(name, 0, asked.n)
        without = 0.0
        for form, settings_of in forms_of(name, items).items():
            results = []
            for start in range(0, len(items), ROWS):
                part = list(enumerate(items))[start : start + ROWS]
                results += model.results([model.request(item.prompt, seed=i, **settings_of(item)) for i, item in part])
            answers = [answer for [answer] in results]
            right = sum(task.check(item, each.text) for item, each in zip(items, answers, strict=True)) / len(items)
            without = right if form == "none" else without
            steps = sum(each.usage.denoising_steps for each in answers) / len(items)
            certainty = sum(each.certainty for each in answers) / len(items)
            cost = f"{100 * (without - right):+.1f}"
            print(f"{name:8}{form:8}{len(items):>5}{right:>8.1%}{cost:>7}{steps:>7.1f}{certainty:>11.3f}", flush=True)


if __name__ == "__main__":
    main()
