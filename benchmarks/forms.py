"""Compile time of automata for constrained answers, and how fast an interrupt ends it.

    python benchmarks/forms.py [--n 500] [--seed 0] [--interrupts 100]

Compiles random regular expressions and schemas, with bounds into the thousands, over the vocabularies of tiny and
SmolLM2, without weights. Prints a table, the reasons of refusals, and one line of JSON. Seconds are wall time, and
processor time (cpu), which other programs on the cores do not lengthen.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sfumato
from sfumato.checkpoints.registry import locate
from sfumato.engine.languages import Languages
from sfumato.errors import CheckpointError, RequestError
from sfumato.gguf_file import GGUFFile
from sfumato.text.tokenizer import Tokenizer

LIMIT_S = 2.0
INTERRUPT_LIMIT_S = 0.2
CLASSES = [".", r"\w", r"\d", r"\s", r"\S", r"\W", "[a-z]", '[^"]', "[^,;]", "[A-Za-z0-9_]", "[é-ü]", "[\u4e00-\u9fff]"]
WORDS = ["red", "green", "blue", "name", "value", "total", "naïve", "日本", "answer", "the", "of", "and"]
WORDS += ["yes", "no", "maybe", "http", "json", "list", "item", "42", "-7"]
NAMES = [f"{word}_{i}" if i else word for i in range(8) for word in WORDS]
PATTERNS = [
    "^[a-z]{2,5}$", "^[A-Z][a-z]*(-[A-Z][a-z]*)?$", "[0-9]", r"^\d{3}-\d{4}$", r"\.txt$", r"^\S+\s\S+$", r"^\w{1,40}$",
    "^(ab|cd){1,200}$", "^.{1,500}$", r"^(\w+ ?){1,30}$", "^(a|aa){1,300}$", "(a.{12}){2}",
]  # fmt: skip
FORMATS = ["date", "time", "date-time", "uuid", "ipv4", "ipv6", "hostname", "email"]


def bound(source: random.Random) -> int:
    """A repetition bound, mostly as people write them; one in ten is large."""
    return source.choice([255, 500, 1000, 5000] if source.random() < 0.1 else [1, 2, 3, 5, 8, 10, 20, 30, 50, 100])


def random_regex(source: random.Random, depth: int = 4) -> str:
    """A regular expression as people write them, or one whose automaton explodes."""
    kinds = ["class", "word", "sequence", "sequence", "either", "repeat", "repeat", "repeat", "list", "hard"]
    kind = source.choice(kinds)
    if depth == 0 or kind in ("class", "word"):
        return source.choice(CLASSES) if kind == "class" else re.escape(source.choice(WORDS))
    inner = [random_regex(source, depth - 1) for _ in range(source.randint(2, 4))]
    count = bound(source)
    if kind == "sequence":
        return "".join(inner)
    if kind == "either":
        return f"(?:{'|'.join(inner)})"
    if kind == "repeat":
        times = source.choice(["*", "+", "?", f"{{{count}}}", f"{{{count},}}", f"{{0,{count}}}", f"{{1,{count}}}"])
        return f"(?:{inner[0]}){times}"
    if kind == "list":
        words = [f"{source.choice(WORDS)}{source.randrange(10**6)}" for _ in range(source.choice([10, 30, 100, 1000]))]
        return f"(?:{'|'.join(words)})"
    return source.choice(
        [
            f".*a.{{{count}}}",
            f"(a|aa){{{count}}}",
            rf"(\w*\s?){{0,{count}}}",
            f"(.{{0,{count}}}\n){{1,50}}",
            f"(a?){{{count}}}a{{{count}}}",
        ]
    )


def random_schema(source: random.Random, depth: int = 4) -> dict[str, Any]:
    """A schema as people write them, sometimes large."""
    kinds = ["object", "object", "array", "anyOf", "string", "string", "number", "enum"]
    kind = "object" if depth == 4 else source.choice(kinds)
    if depth == 0 and kind in ("object", "array", "anyOf"):
        kind = "string"
    if kind == "object":
        names = source.sample(NAMES, source.choice([30, 100] if source.random() < 0.05 else [1, 2, 3, 4, 5, 6, 8]))
        properties = {name: random_schema(source, source.randrange(depth)) for name in names}
        required = [name for name in names if source.random() < 0.6]
        schema = {"type": "object", "properties": properties, "required": required}
        if source.random() < 0.1:
            schema["patternProperties"] = {"^x": random_schema(source, 0)}
        return schema | ({"additionalProperties": False} if source.random() < 0.5 else {})
    if kind == "array":
        low = source.choice([0, 0, 1, 3])
        size = {"minItems": low} | ({"maxItems": low + bound(source)} if source.random() < 0.5 else {})
        return {"type": "array", "items": random_schema(source, depth - 1), **size}
    if kind == "anyOf":
        return {"anyOf": [random_schema(source, depth - 1) for _ in range(source.choice([2, 3, 10]))]}
    if kind == "number":
        low, span = source.randint(-(10**6), 10**6), 10 ** source.randrange(9)
        limits = {"minimum": low, "maximum": low + span} if source.random() < 0.5 else {}
        return {"type": source.choice(["integer", "number"]), **limits}
    if kind == "enum":
        count = source.choice([100, 1000] if source.random() < 0.1 else [2, 3, 5, 10])
        return {"enum": [f"{source.choice(WORDS)} {source.randrange(10**6)}" for _ in range(count)]}
    draw = source.random()
    if draw < 0.15:
        return {"type": "string", "pattern": source.choice(PATTERNS)}
    if draw < 0.3:
        return {"type": "string", "format": source.choice(FORMATS)}
    if draw < 0.65:
        return {"type": "string"}
    low = source.choice([0, 0, 1, 10])
    return {"type": "string", "minLength": low, "maxLength": low + bound(source)}


def cases(count: int, seed: int) -> Iterator[tuple[str, str, Any]]:
    """(name of a case, request setting, its value)."""
    source = random.Random(seed)
    for i in range(count):
        yield f"regex {i}", "regex", random_regex(source)
    for i in range(count):
        yield f"schema {i}", "schema", random_schema(source)


def vocabularies() -> dict[str, Tokenizer]:
    found = {"tiny": Tokenizer.load(Path(sfumato.__file__).parent / "assets" / "tiny")}
    try:
        found["SmolLM2"] = Tokenizer.of(GGUFFile(locate("smollm2-135m-instruct")))
    except CheckpointError as error:
        print(f"without SmolLM2: {error}")
    return found


def time_case(tokenizer: Tokenizer, setting: str, value: Any) -> tuple[float, float, str | None]:
    """Wall and processor seconds, and the reason of a refusal."""
    languages, reason = Languages(tokenizer, tokenizer.vocab_size), None
    start, worked = time.perf_counter(), time.process_time()
    try:
        languages.asked({setting: value})  # type: ignore[misc]
    except RequestError as error:
        reason = str(error)
    return time.perf_counter() - start, time.process_time() - worked, reason


def time_interrupt(make: Callable[[], object], delay_s: float, *, by_work: bool) -> float | None:
    """Seconds from a signal to the end of what it interrupts, in wall or processor time; None if that ended before."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    clock, number, timer = time.perf_counter, signal.SIGALRM, signal.ITIMER_REAL
    if by_work:
        clock, number, timer = time.process_time, signal.SIGPROF, signal.ITIMER_PROF
    previous = signal.signal(number, interrupt)
    start = clock()
    try:
        signal.setitimer(timer, delay_s)
        make()
        return None
    except KeyboardInterrupt:
        return clock() - start - delay_s
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, previous)


def reason_of(message: str) -> str:
    """A refusal's message without the names and numbers of its case."""
    for words in (
        "takes more than [0-9,]+ states",
        r"takes more than [0-9.]+ s",
        "longer than",
        "cannot be guaranteed",
    ):
        if found := re.search(words, message):
            return found[0]
    return re.sub(r"'.*?'|#\S*|\d+", "…", message)[:70]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--interrupts", type=int, default=100, help="number of interrupts, in the slowest cases at random moments"
    )
    parser.add_argument("--slowest", type=int, default=0, help="show this many of the slowest cases")
    given = parser.parse_args()
    report: dict[str, Any] = {"n": given.n, "seed": given.seed}
    heads = "".join(f"{head:>9}" for head in ("median", "p99", "max", "p99 cpu", "max cpu", "refused"))
    print(f"{'vocabulary':<11}{'kind':<8}{heads}   seconds, n = {given.n}", flush=True)
    slow: list[tuple[float, Tokenizer, str, Any]] = []
    for name, tokenizer in vocabularies().items():
        assert tokenizer.token_bytes  # made once; not part of any case
        for setting, group in itertools.groupby(cases(given.n, given.seed), key=lambda case: case[1]):
            wall, work, reasons = [], [], Counter[str]()
            for label, _, value in group:
                seconds, worked, reason = time_case(tokenizer, setting, value)
                wall.append(seconds)
                work.append(worked)
                slow.append((worked, tokenizer, setting, value))
                if reason is not None:
                    reasons[reason_of(reason)] += 1
                if worked > LIMIT_S:
                    print(f"  {label}: {worked:.2f} s cpu, {seconds:.2f} s wall; {reason or 'compiled'}")
            median, p99 = np.quantile(wall, (0.5, 0.99)).tolist()
            figures = [median, p99, max(wall), float(np.quantile(work, 0.99)), max(work)]
            shown = "".join(f"{figure:>9.3f}" for figure in figures)
            print(f"{name:<11}{setting:<8}{shown}{reasons.total():>9}", flush=True)
            for reason, count in reasons.most_common():
                print(f"{'':<19}{count:>4} {reason}")
            keys = ("median_s", "p99_s", "max_s", "p99_cpu_s", "max_cpu_s")
            report[f"{name} {setting}"] = dict(zip(keys, figures, strict=True)) | {"refused": dict(reasons)}
    slow.sort(key=lambda case: -case[0])
    for seconds, _, setting, value in slow[: given.slowest]:
        print(f"{seconds:.2f} s  {setting} {json.dumps(value, ensure_ascii=False)[:200]}")
    for unit, by_work in (("clock", False), ("cpu", True)):
        source, latencies = random.Random(given.seed), []
        for i in range(given.interrupts):
            seconds, tokenizer, setting, value = slow[i % min(50, len(slow))]
            make = functools.partial(time_case, tokenizer, setting, value)
            latency = time_interrupt(make, source.random() * seconds, by_work=by_work)
            if latency is not None:
                latencies.append(latency)
        if latencies:
            print(
                f"interrupt: {len(latencies)} of {given.interrupts} arrived in time; seconds to the end "
                f"({unit}): median {np.median(latencies):.3f}, max {max(latencies):.3f} (limit {INTERRUPT_LIMIT_S})"
            )
            report[f"interrupt {unit}"] = {"median_s": float(np.median(latencies)), "max_s": max(latencies)}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
