"""HumanEvalFix-Python: number of test runs per repair.

Each function has one bug written by a person. Edits are tried in the order of the model's scores on half of the
asserts; a repair that passes is scored on the other half, which the search never sees.

    python -m benchmarks.humanevalfix humanevalpack.jsonl --model runs/mend/checkpoint
    python -m benchmarks.humanevalfix humanevalpack.jsonl --by twin --model runs/mend-twin/checkpoint

Others order the edits with `--by`, or write the function anew: see `benchmarks/repair_rankers.py`. The items are the
Python part of HumanEvalPack (MIT), a file of the public repository bigcode-project/octopack.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from benchmarks.intervals import bootstrap
from benchmarks.repair_rankers import Masked, Mutation, Ranker, Rewriter, Rewriting, Ruff, Surprisal, Twin
from sfumato.mend.mender import Mender, load_mender
from sfumato.mend.parsing import parse
from sfumato.mend.proposals import Proposer
from sfumato.mend.sandbox import Limits, run_limited
from sfumato.mend.search import Region, Search, SearchConfig, Target
from sfumato.text.lexemes import lex

SMOL = "smollm2-135m-instruct"
WITHIN = (1, 3, 5, 10, 20, 50)


class _Dropping(ast.NodeTransformer):
    """Removes every other assert."""

    def __init__(self, first: int) -> None:
        self.number = first

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.number += 1
        return node if self.number % 2 else ast.copy_location(ast.Pass(), node)


def split_asserts(test: str) -> tuple[str, str]:
    """A test's even and odd asserts as two tests; both are the whole test if it has fewer than two."""
    if sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(test))) < 2:
        return test, test
    return ast.unparse(_Dropping(0).visit(ast.parse(test))), ast.unparse(_Dropping(1).visit(ast.parse(test)))


def items(path: Path) -> Iterable[dict[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        code = item["declaration"].rstrip("\n").split("\n")
        start = max(index for index, text in enumerate(code) if text.startswith(f"def {item['entry_point']}"))
        head = "\n".join(code[start:])
        visible, hidden = split_asserts(item["test"])
        header = "\n".join(code[:start])
        yield {
            "id": item["task_id"],
            "bug_type": item["bug_type"],
            "header": header,
            "buggy": f"{header}\n{head}\n{item['buggy_solution']}",
            "right": f"{header}\n{head}\n{item['canonical_solution']}",
            "visible": visible,
            "hidden": hidden,
        }


def passes(item: dict[str, str], source: str, half: str, folder: Path) -> bool:
    program = f"{source}\n{item[half]}\n"
    command = [sys.executable, "-I", "-S", "-c", program]
    return run_limited(command, folder, folder, Limits(seconds=4.0, memory_bytes=2 << 30)).passed


RANKERS: dict[str, Callable[[Namespace], Mender | Proposer | Ranker | Rewriter]] = {
    "mend": lambda options: load_mender(options.model or "mend"),
    "one-pass": lambda options: load_mender(options.model or "mend").proposer,
    "twin": lambda options: Twin(options.model),
    "twin-rescored": lambda options: Twin(options.model, rescored=True),
    "masked": lambda options: Masked(options.model),
    "surprisal": lambda options: Surprisal(options.model or SMOL),
    "rewriting": lambda options: Rewriting(options.model or SMOL, options.runs),
    "ruff": lambda options: Ruff(),
    "random": lambda options: Mutation(options.seed),
    "operators-first": lambda options: Mutation(options.seed, operators_first=True),
}


def search(
    item: dict[str, str], ranker: Mender | Proposer | Ranker | Rewriter, options: Namespace, folder: Path
) -> dict[str, object]:
    """What comes of an item."""
    started, in_tests_s = time.monotonic(), 0.0

    def verify(source: str) -> bool:
        nonlocal in_tests_s
        begun = time.monotonic()
        passed = passes(item, source, "visible", folder)
        in_tests_s += time.monotonic() - begun
        return passed

    source: str | None = None
    more: dict[str, object] = {}
    if isinstance(ranker, Rewriter):
        seen, runs = {ast.dump(ast.parse(item["buggy"]))}, 0
        for text in (f"{item['header']}\n{function}" for function in ranker.rewrite(item["buggy"])):
            tree = parse(text)
            if isinstance(tree, ast.Module) and (key := ast.dump(tree)) not in seen:
                seen.add(key)
                runs += 1
                if verify(text):
                    source = text
                    break
    else:
        targets = [Target(item["buggy"], [Region(len(lex(item["header"])), len(lex(item["buggy"])))])]
        config = SearchConfig(max_runs=options.runs, max_edits=options.edits, children=2000)
        if isinstance(ranker, Mender):
            found = ranker.search(targets, lambda _, source: verify(source), config)
        else:
            found = Search(cast(Proposer, ranker), lambda _, source: verify(source), config)
        repair = found.run(targets)
        runs = found.num_runs
        if repair is not None:
            source, more = repair.source, {"edits": repair.num_edits, "score": round(repair.score, 3)}
    seconds = time.monotonic() - started
    result = {
        "id": item["id"],
        "kind": item["bug_type"],
        "runs": runs,
        "seconds": round(seconds, 2),
        "without_tests": round(seconds - in_tests_s, 2),
        "fixed": source is not None and passes(item, source, "hidden", folder),
    }
    if source is not None:
        same = ast.dump(ast.parse(source)) == ast.dump(ast.parse(item["right"]))
        result |= {"passed": True, "same": same, "source": source, **more}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=Path)
    parser.add_argument("--by", choices=RANKERS, default="mend")
    parser.add_argument("--model", help="a name or a checkpoint")
    parser.add_argument("--n", type=int, default=0, help="number of items from the start; 0 for all")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--edits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="results, JSON lines; items that it has are not tried again")
    options = parser.parse_args()
    if options.by in ("twin", "twin-rescored", "masked") and not options.model:
        parser.error(f"--by {options.by} needs --model; allowed: a checkpoint of recipes/mend-*.toml")
    ranker = RANKERS[options.by](options)
    results = []
    if options.out and options.out.exists():
        results = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    done = {result["id"] for result in results}
    with tempfile.TemporaryDirectory() as name:
        for item in itertools.islice(items(options.items), options.n or None):
            if item["id"] in done:
                continue
            results.append(search(item, ranker, options, Path(name)))
            if options.out:
                with options.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(results[-1]) + "\n")
    fixed = [result["runs"] for result in results if result["fixed"]]
    print(f"{len(results)} functions, {sum('passed' in result for result in results)} pass the visible half")
    print(
        f"{len(fixed)} pass the hidden half, {sum(result.get('same', False) for result in results)} equal the reference"
    )
    for limit in WITHIN:
        if limit <= options.runs:
            print(f"within {limit} runs: {_count([result['fixed'] and result['runs'] <= limit for result in results])}")
    print(f"median runs among those fixed: {statistics.median(fixed) if fixed else '-'}")
    print(f"seconds a function: {statistics.fmean(result['seconds'] for result in results):.2f}, without tests "
          f"{statistics.fmean(result['without_tests'] for result in results):.2f}")  # fmt: skip


def _count(hits: list[bool]) -> str:
    low, high = bootstrap(sum, hits, random.Random(0))
    return f"{sum(hits)} ({low:.0f} to {high:.0f})"


if __name__ == "__main__":
    main()
