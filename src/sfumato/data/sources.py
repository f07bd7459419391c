"""Sources of training documents: procedural tasks, and files of texts or chats."""

from __future__ import annotations

import dataclasses
import gzip
import json
import logging
import math
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato.data.packing import Document, PackingConfig, Source
from sfumato.data.shards import MANIFEST, Manifest, Targets, read_targets
from sfumato.data.tasks import Split, draw, find_task
from sfumato.errors import ConfigError, RequestError
from sfumato.text.chat import Message
from sfumato.text.tokenizer import Tokenizer

_LOG = logging.getLogger(__name__)
_LINES = (
    "messages ending with the assistant's, prompt with response or completion, instruction with output, conversations "
    "in ShareGPT's form, or text"
)
_ROLES = {"human": "user", "gpt": "assistant"} | {role: role for role in ("system", "user", "assistant")}
"""Roles by their names in ShareGPT's form."""
_SHOWN = 24
"""Maximum characters of a value in a message."""
_TABLES = frozenset({".csv", ".json", ".tsv", ".xlsx", ".yaml", ".yml"})
"""Ends of files that are no prose, and no lines of JSON either."""


def check_weights(what: str, weights: Sequence[float]) -> None:
    """Refuse weights by which nothing can be drawn.

    Raises:
        ConfigError: with what they are and what is allowed.
    """
    if not 0 < sum(weights) < math.inf or min(weights) < 0:
        raise ConfigError(f"{what} are {list(weights)}; allowed: 0 or more each, one above 0")


class MixtureSource:
    """Draw each document from one of several sources, by weight."""

    def __init__(self, sources: Sequence[Source], weights: Sequence[float]) -> None:
        if not sources:
            raise ConfigError("there is nothing to train on; allowed: tasks in [data.tasks], or files in [data.files]")
        check_weights("mixture weights", weights)
        self._sources, self._weights = list(sources), list(weights)

    def document(self, seed: int) -> Document:
        rng = random.Random(seed)
        [source] = rng.choices(self._sources, self._weights)
        return source.document(rng.getrandbits(62))


class TaskSource:
    """Items of one procedural task, each as a chat of one turn.

    Args:
        split: train or test.
    """

    def __init__(self, name: str, tokenizer: Tokenizer, split: Split = "train") -> None:
        self._task = find_task(name)
        self._tokenizer = tokenizer
        self._split = split

    def document(self, seed: int) -> Document:
        item = draw(self._task, self._split, seed)
        return chat_document([{"role": "user", "content": item.prompt}], item.response, self._tokenizer)


@dataclass(frozen=True)
class Record:
    """One document of a file, before tokenization."""

    turns: Sequence[Message]
    """The conversation before the response; empty for a text."""
    text: str
    where: str
    """Path and line, for messages."""
    unread: frozenset[str] = frozenset()
    """Keys of the line that mean nothing here."""


class Chat(NamedTuple):
    """A conversation, as in a file."""

    turns: Sequence[Message]
    """Before the response."""
    response: str | None
    """None if the last message is not the assistant's."""
    unread: frozenset[str] = frozenset()
    """Keys that mean nothing here."""


class FileSource:
    """Documents of a file or directory of shards: whole chats, and windows of texts.

    Args:
        path: see `read_records`.
        window: maximum tokens of a text per document; longer texts are cut at a random position per seed.
        max_tokens: chats of more tokens are left out.
        teacher_top: number of a teacher's likeliest tokens per document, if a directory has them.
        every_answer: whether each answer of a chat is a document, and not only the last.

    Raises:
        ConfigError: as for `read_records`; if the chat template refuses a chat; if stored predictions are for other
            tokens, or too few; if all chats are too long.
        CheckpointError: if the files of stored predictions do not match the manifest.
    """

    def __init__(
        self,
        path: Path,
        tokenizer: Tokenizer,
        window: int,
        max_tokens: int = sys.maxsize,
        teacher_top: int = 0,
        every_answer: bool = False,
    ) -> None:
        records = read_records(path)
        if every_answer:
            records = [each for record in records for each in _answers(record)]
        tell_unread(path, (record.unread for record in records))
        empty = [record.where for record in records if record.turns and not record.text.strip()]
        if empty:
            told = "%d responses of %s are empty, the first at %s: the model learns to answer with nothing"
            _LOG.warning(told, len(empty), path, empty[0])
        self._documents = [_document(record, tokenizer) for record in records]
        self.taught = False
        """Whether documents come with teacher predictions."""
        if teacher_top and (path / MANIFEST).exists():
            self._teach(path, [record.where for record in records], teacher_top)
        kept = [
            not record.turns or each.num_tokens <= max_tokens
            for record, each in zip(records, self._documents, strict=True)
        ]
        if not all(kept):
            many = f"{kept.count(False)} of {len(kept)} documents of {path} have more than {max_tokens} tokens"
            told = f"{many}, the first at {records[kept.index(False)].where}"
            if not any(kept):
                raise ConfigError(f"{told}; allowed: up to packing.row_length and the model's max_position_embeddings")
            _LOG.warning("%s: they are left out", told)
        self._documents = list(compress(self._documents, kept))
        self._windows = [None if record.turns else window for record in compress(records, kept)]

    def document(self, seed: int) -> Document:
        rng = random.Random(seed)
        chosen = rng.randrange(len(self._documents))
        document, window = self._documents[chosen], self._windows[chosen]
        if window is None or len(document.response) <= window:
            return document
        start = rng.randrange(len(document.response) - window + 1)
        end = start + window
        return Document(document.prompt, document.response[start:end], ends=end == len(document.response))

    def _teach(self, path: Path, where: Sequence[str], top: int) -> None:
        kept = Manifest.load(path).settings.get("top_k", 0)
        if not kept:
            return
        if kept < top:
            raise ConfigError(f"teacher_top is {top}; allowed: up to {kept}, as many as {path} has of each token")
        found = read_targets(path)
        if len(found) > len(self._documents):
            raise ConfigError(f"{path} holds {len(self._documents)} documents; its {MANIFEST} says {len(found)}")
        # Lines not listed in the manifest were left by an interrupted program, and are at the end.
        for index, targets in enumerate(found):
            document = self._documents[index]
            if not np.array_equal(targets.tokens_N, document.response):
                raise ConfigError(
                    f"{where[index]}: its teacher used another tokenization than this model's tokenizer "
                    "gives; write the shards with a model of the same tokenizer, or have the teacher read"
                )
            cut = Targets(targets.tokens_N, targets.ids_NK[:, :top], targets.log_probs_NK[:, :top])
            self._documents[index] = dataclasses.replace(document, teacher=cut)
        self.taught = True


def read_records(path: Path) -> list[Record]:
    """Read the documents of a UTF-8 training file, or of a directory of shards.

    A line of a `.jsonl` or `.ndjson` file, also with `.gz`, is a conversation that ends with the assistant's message,
    see `chat_of`, or `{"text": ...}`; so is a row of a `.parquet` file, if pyarrow is installed. Any other file
    is one text. In a directory, all files of lines and `.parquet` files count, in the order of names; some may be
    empty.

    Raises:
        ConfigError: if the file is missing, empty, not UTF-8, or has an invalid line; if there are no shards.
    """
    if path.is_dir():
        shards = sorted(one for one in path.iterdir() if one.suffix.lower() == ".parquet" or _has_lines(one))
        if not shards:
            raise ConfigError(f"{path} holds no shards; allowed: a file, or a directory of .jsonl or .parquet files")
        records = [record for shard in shards for record in _records_of_file(shard)]
    else:
        records = _records_of_file(path)
    if not records:
        raise ConfigError(f"{path} holds no documents")
    return records


def _records_of_file(path: Path) -> list[Record]:
    if path.suffix.lower() == ".parquet" and path.exists():
        return [_record(row, f"{path}:{number}") for number, row in enumerate(_parquet_rows(path), 1)]
    if path.suffix.lower() in _TABLES:
        raise ConfigError(f"{path} ends with {path.suffix}; allowed: lines of JSON, in a file that ends with .jsonl")
    if _has_lines(path):
        return [_record(value, where) for value, where in read_json_lines(path)]
    content = _read_text(path)
    return [Record((), content, str(path))] if content else []


def _has_lines(path: Path) -> bool:
    """Whether a file holds one JSON value a line."""
    return path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))


def read_json_lines(path: Path) -> list[tuple[Any, str]]:
    """The values of a .jsonl or .jsonl.gz file, each with its path and line.

    Raises:
        ConfigError: if the file cannot be read, is not UTF-8, or a line is not JSON or has a key twice in one object.
    """
    found: list[tuple[Any, str]] = []
    # Not splitlines: a JSON string may hold U+2028 and other characters that it treats as line ends.
    for number, line in enumerate(_read_text(path).split("\n"), 1):
        if line.strip():
            try:
                found.append((json.loads(line, object_pairs_hook=_with_distinct_keys), f"{path}:{number}"))
            except json.JSONDecodeError as error:
                told = f"{error.msg} at character {error.colno}"
                raise ConfigError(f"{path}:{number} is not JSON, one object a line: {told}") from None
            except (ValueError, RecursionError) as error:
                raise ConfigError(f"{path}:{number} is not JSON: {error}") from None
    return found


def _with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which Python would keep only the last value of a key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"an object has the key {twice!r} twice; allowed: once")
    return found


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError as error:
        given = f"0x{error.object[error.start]:02x}"
        raise ConfigError(f"{path} is not UTF-8: byte {error.start} is {given}; convert it first") from None


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ConfigError(
            f"{path} is a parquet file, but pyarrow is not installed: pip install 'sfumato[parquet]', or give .jsonl"
        ) from None
    try:
        rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise ConfigError(f"cannot read {path}: {error}") from None
    # A missing column reads as null.
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def make_source(
    tasks: Mapping[str, float],
    files: Mapping[str, float],
    tokenizer: Tokenizer,
    packing: PackingConfig,
    *,
    max_tokens: int,
    teacher_top: int = 0,
    every_answer: bool = False,
    split: Split = "train",
) -> Source:
    """Build the source that a recipe describes.

    Args:
        tasks: weight by task name.
        files: weight by path.
        packing: how documents become rows. A canvas adds as many positions as it has tokens.
        max_tokens: maximum length of a document, the model's.
        teacher_top: number of stored teacher tokens to load with the documents; 0 loads none.
        every_answer: whether each answer of a chat is a document, and not only the last.
        split: of the tasks.

    Raises:
        ConfigError: as for `FileSource`; if a file does not exist; if stored teacher tokens, which are of the last
            answers, are wanted for every answer.
    """
    if teacher_top and every_answer:
        raise ConfigError(
            'every_answer is true and the teacher is "stored", for the last answers; allowed: one of them'
        )
    window, room = packing.row_length // (2 + packing.canvas_copies), min(packing.row_length, max_tokens)
    of_files = [FileSource(Path(path), tokenizer, window, room, teacher_top, every_answer) for path in files]
    if teacher_top and not any(source.taught for source in of_files):
        raise ConfigError(
            f'the teacher is "stored", but none of {list(files)} has stored predictions; allowed: '
            "a directory that `sfumato data synth --top-k` wrote"
        )
    sources: list[Source] = [TaskSource(name, tokenizer, split) for name in tasks]
    return MixtureSource([*sources, *of_files], [*tasks.values(), *files.values()])


def chat_document(turns: Sequence[Message], response: str, tokenizer: Tokenizer) -> Document:
    """A conversation as tokens: the prompt with the chat template, the response with its end token.

    Raises:
        RequestError: if the chat template refuses the turns.
    """
    return Document(tokenizer.encode_chat(turns), [*tokenizer.encode(response), tokenizer.eos_ids[0]])


def _document(record: Record, tokenizer: Tokenizer) -> Document:
    try:
        if record.turns:
            return chat_document(record.turns, record.text, tokenizer)
        end = tokenizer.eos_ids[0]
        return Document([end], [*tokenizer.encode(record.text), end])
    except RequestError as error:
        raise ConfigError(f"{record.where}: {error}") from None


def _answers(record: Record) -> Iterator[Record]:
    """The beginnings of a chat that end with an answer, then the whole chat."""
    for index, turn in enumerate(record.turns):
        if index and turn["role"] == "assistant" and isinstance(turn.get("content"), str):
            yield dataclasses.replace(record, turns=record.turns[:index], text=turn["content"])
    yield record


def _record(value: Any, where: str) -> Record:
    found = chat_of(value)
    if found is not None and found.response is not None:
        return Record(found.turns, found.response, where, found.unread)
    match value:
        case {"text": str(text)} if text:
            return Record((), text, where, frozenset(value) - {"text"})
    raise unreadable(value, where, f"{_LINES}; only a response may be empty")


def chat_of(value: Any) -> Chat | None:
    """The conversation of a line or row in one of the usual forms.

    They are messages; a prompt with a response or completion, as texts or messages; Alpaca's instruction, input and
    output; and ShareGPT's conversations.
    """
    turns: list[Any]
    match value:
        case {"messages": list(turns)}:
            keys = {"messages"}
        case {"conversations": list(said)} if all(isinstance(each, dict) for each in said):
            turns = [{"role": _ROLES.get(str(each.get("from"))), "content": each.get("value")} for each in said]
            keys = {"conversations"}
        case {"prompt": str() | list()}:
            keys = value.keys() & {"prompt", "response", "completion"}
            answers = [value[key] for key in keys - {"prompt"} if value[key] is not None]
            turns = [
                *_turns(value["prompt"], "user"),
                *(turn for each in answers for turn in _turns(each, "assistant")),
            ]
            if len(answers) > 1:
                return None
        case {"instruction": str(instruction), "output": output} if isinstance(value.get("input"), str | None):
            keys = value.keys() & {"instruction", "input", "output"}
            prompt = "\n\n".join(filter(None, (instruction, value.get("input"))))
            turns = [*_turns(prompt, "user"), *_turns(output, "assistant")]
        case _:
            return None
    if not turns or not all(isinstance(turn, dict) and turn.get("role") for turn in turns):
        return None
    turns = [turn | {"content": _joined(turn.get("content"))} for turn in turns]
    *before, last = turns
    if not all(isinstance(turn["content"], str) for turn in before):
        return None
    answered = last["role"] == "assistant" and isinstance(last["content"], str)
    unread = frozenset(value) - keys
    unread |= {f"messages.{key}" for turn in turns for key in turn.keys() - {"role", "content"}}
    return Chat(before, last["content"], unread) if before and answered else Chat(turns, None, unread)


def _turns(said: Any, role: str) -> list[Any]:
    """Messages, or a text as the one message of a role; anything else stands for itself, and is refused."""
    if isinstance(said, list):
        return said
    return [
        {"role": role, "content": said} if isinstance(said, str) and (said.strip() or role == "assistant") else said
    ]


def _joined(content: Any) -> Any:
    """The text of a message's parts; anything else stands for itself."""
    match content:
        case [*parts] if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
            return "".join(part["text"] for part in parts)
    return content


def unreadable(value: Any, where: str, allowed: str) -> ConfigError:
    """An error that shows the keys and values of a line."""
    if isinstance(value, dict):
        shown = {key: json.dumps(each) for key, each in value.items()}
        keys = [f"{key} {text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}" for key, text in shown.items()]
        found = f"has {', '.join(keys) or 'no keys'}"
    else:
        found = f"is {json.dumps(value):.60}"
    return ConfigError(f"{where} {found}; allowed: {allowed}")


def tell_unread(path: Path, unread: Iterable[frozenset[str]], allowed: str = _LINES) -> None:
    """Warn of the keys of a file's lines that mean nothing here."""
    if names := frozenset[str]().union(*unread):
        _LOG.warning("keys of %s that are not read: %s; allowed: %s", path, ", ".join(sorted(names)), allowed)
