"""HumanEvalFix-Python: number of test runs per repair.

Each function has one bug written by a person. Edits are tried in the order of the model's scores on half of the
asserts; a repair that passes is scored on the other half, which the search never sees.

    python benchmarks/humanevalfix.py humanevalpack.jsonl --model runs/mend/checkpoint

The items are the Python part of HumanEvalPack (MIT), a file of the public repository bigcode-project/octopack.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.mend.mender import load_mender
from sfumato.mend.proposals import Gap, Proposal
from sfumato.mend.sandbox import Limits, run_limited
from sfumato.mend.search import Region, Search, SearchConfig, Target
from sfumato.text.lexemes import FAMILIES, FIXED, kind_of, lex
from sfumato.text.patches import Patch

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


class Mutations:
    """Proposals without gaps."""

    def __init__(self, proposals: list[Proposal]) -> None:
        self.proposals = proposals

    def fill(self, gap: Gap) -> list[Proposal]:
        raise AssertionError("no mutation is a gap")


class RandomProposer:
    """Every mutation of one lexeme, in random order, or with operators and constants first."""

    def __init__(self, seed: int, *, operators_first: bool = False) -> None:
        self._rng = random.Random(seed)
        self._operators_first = operators_first

    def read(self, lexemes: Sequence[str]) -> Mutations:
        scope = [text for text in dict.fromkeys(lexemes) if kind_of(text) in ("name", "number", "string")]
        common = [text for text in FIXED if kind_of(text) in ("name", "number")]
        found = []
        for index, text in enumerate(lexemes):
            kind = kind_of(text)
            others = {other for family in FAMILIES if text in family for other in family} - {text}
            if kind in ("name", "number", "string"):
                others |= {other for other in (*scope, *common) if kind_of(other) == kind and other != text}
            for other in sorted(others):
                bonus = 1.0 if self._operators_first and kind in ("fixed", "number") else 0.0
                found.append(Proposal(-1.0 - self._rng.random() + bonus, Patch(index, index + 1, (other,))))
        return Mutations(sorted(found, key=lambda proposal: -proposal.score))


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
            "kind": item["bug_type"],
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=Path)
    parser.add_argument("--model", help="a name or a checkpoint; without one, mutation in random order")
    parser.add_argument("--operators-first", action="store_true", help="random mutation, operators and numbers first")
    parser.add_argument("--n", type=int, default=0, help="number of items from the start; 0 for all")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--edits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    proposer = None if options.model is None else load_mender(options.model).proposer
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, item in enumerate(items(options.items)):
            if options.n and number >= options.n:
                break
            reader = proposer or RandomProposer(options.seed + number, operators_first=options.operators_first)
            search = Search(
                reader,
                lambda target, source, item=item: passes(item, source, "visible", folder),
                SearchConfig(max_runs=options.runs, max_edits=options.edits, children=2000),
            )
            started = time.monotonic()
            region = Region(len(lex(item["header"])), len(lex(item["buggy"])))
            repair = search.run([Target(item["buggy"], [region])])
            result = {
                "id": item["id"],
                "kind": item["kind"],
                "runs": search.num_runs,
                "reads": search.num_reads,
                "fixed": False,
                "seconds": round(time.monotonic() - started, 2),
            }
            if repair is not None:
                result |= {
                    "passed": True,
                    "fixed": passes(item, repair.source, "hidden", folder),
                    "edits": repair.num_edits,
                    "score": round(repair.score, 3),
                    "same": ast.dump(ast.parse(repair.source)) == ast.dump(ast.parse(item["right"])),
                    "source": repair.source,
                }
            results.append(result)
            if options.out:
                with options.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(result) + "\n")
    fixed = [one["runs"] for one in results if one["fixed"]]
    print(f"{len(results)} functions, {sum('passed' in one for one in results)} pass the visible half")
    print(f"{len(fixed)} pass the hidden half, {sum(one.get('same', False) for one in results)} equal the reference")
    print("within runs: " + ", ".join(f"{limit}: {sum(runs <= limit for runs in fixed)}" for limit in WITHIN))
    print(f"median runs among those fixed: {statistics.median(fixed) if fixed else '-'}")


if __name__ == "__main__":
    main()
