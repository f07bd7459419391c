"""Python that a small language model writes and Python refuses, for `benchmarks/mend_planted.py FILE syntax`.

    python benchmarks/broken_functions.py runs/smol-broken.jsonl --n 200

SmolLM2-135M-Instruct is asked for small functions at temperature 1. The first block of code of each answer is kept if
it does not parse, marked if the token limit cut it, until there are N that were not cut.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from pathlib import Path

import sfumato
from sfumato.mend.parsing import error_line

TASKS = (
    "returns the second largest number of a list", "counts the vowels in a string",
    "checks whether a word is a palindrome", "merges two sorted lists",
    "reads a CSV file and returns its rows as dictionaries", "computes the factorial of n",
    "returns the n-th Fibonacci number", "removes duplicates from a list and keeps the order",
    "groups words by their first letter", "converts degrees Celsius to Fahrenheit", "finds all prime numbers up to n",
    "rotates a list by k places", "parses a date such as 2024-05-01 into year, month and day",
    "flattens a nested list", "transposes a matrix", "counts how often each word occurs in a text",
    "validates an email address", "computes the mean and median of a list", "writes a dictionary to a JSON file",
    "searches a sorted list by bisection", "sorts a list by bubble sort", "returns the longest word of a sentence",
    "checks whether brackets in a string are balanced", "adds two binary strings",
    "computes the greatest common divisor of two numbers", "draws a triangle of stars of height n",
    "retries a function three times", "formats a number of seconds as hours, minutes and seconds",
    "splits a list into chunks of size k", "inverts a dictionary", "converts a Roman numeral to an integer",
    "returns the sum of the digits of a number",
)  # fmt: skip
PROMPT = "Write a Python function that {}. Reply with code only."
BATCH = 16
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(\n```|\Z)", re.DOTALL | re.IGNORECASE)


def first_block(answer: str) -> tuple[str, bool] | None:
    """The first block of code in an answer, and whether it ends there; None if there is none."""
    found = _BLOCK.search(answer)
    return (found[1] + "\n", bool(found[2])) if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--n", type=int, default=200, help="number of blocks, without those that are cut")
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=1.0)
    options = parser.parse_args()
    model = sfumato.load(options.model, quantize="w8a8")
    assert isinstance(model, sfumato.TextModel)
    seen: set[str] = set()
    num_answers = num_blocks = num_kept = 0
    with options.out.open("w", encoding="utf-8") as out:
        for first in itertools.count(0, BATCH):
            tasks = [TASKS[number % len(TASKS)] for number in range(first, first + BATCH)]
            answers = model.generate_batch(
                [PROMPT.format(task) for task in tasks],
                seeds=range(first, first + BATCH),
                temperature=options.temperature,
                max_tokens=options.max_tokens,
            )
            num_answers += BATCH
            for number, (task, answer) in enumerate(zip(tasks, answers, strict=True), first):
                block = first_block(answer.text)
                if block is None:
                    continue
                source, ended = block
                num_blocks += 1
                if num_kept < options.n and source not in seen and error_line(source) is not None:
                    seen.add(source)
                    num_kept += ended
                    out.write(json.dumps({"task": task, "seed": number, "source": source, "cut": not ended}) + "\n")
            out.flush()
            if num_kept >= options.n:
                break
    print(
        f"{num_answers} answers, {num_blocks} with code; {len(seen)} do not parse, {len(seen) - num_kept} of them cut"
    )


if __name__ == "__main__":
    main()
