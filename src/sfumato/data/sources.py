"""Where training documents come from: procedural tasks, and files of text or of chats."""

from __future__ import annotations

import bisect
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.data.packing import Document, Source
from sfumato.data.tasks import Item, Split, draw, find_task
from sfumato.data.tokenizer import Tokenizer
from sfumato.errors import ConfigError


class MixtureSource:
    """Draw each document from one of several sources, by weight."""

    def __init__(self, sources: Sequence[Source], weights: Sequence[float]) -> None:
        if not sources or min(weights) < 0 or sum(weights) <= 0:
            raise ConfigError(f"mixture weights are {list(weights)}; allowed: 0 or more each, one above 0")
        self._sources = list(sources)
        self._bounds = list(itertools.accumulate(weights))

    def document(self, seed: int) -> Document:
        rng = random.Random(seed)
        chosen = bisect.bisect_right(self._bounds, rng.random() * self._bounds[-1])
        return self._sources[min(chosen, len(self._sources) - 1)].document(rng.getrandbits(62))


class TaskSource:
    """Items of one procedural task, as one turn of a chat each.

    Args:
        name: of the task.
        tokenizer: encodes prompt and response.
        split: whether items are those to train on or those held out.
    """

    def __init__(self, name: str, tokenizer: Tokenizer, split: Split = "train") -> None:
        self._task = find_task(name)
        self._tokenizer = tokenizer
        self._split = split

    def item(self, seed: int) -> Item:
        """The item behind a document."""
        return draw(self._task, self._split, seed)

    def document(self, seed: int) -> Document:
        item = self.item(seed)
        messages = [{"role": "user", "content": item.prompt}]
        return _chat_document(messages, item.response, self._tokenizer)


class FileSource:
    """Documents of a `.jsonl` file of chats or texts, or windows of a plain text file.

    A JSONL line is `{"messages": [...]}` whose last message is the assistant's, `{"prompt": ..., "response": ...}`, or
    `{"text": ...}`.

    Args:
        path: the file, UTF-8.
        tokenizer: encodes it.
        window: tokens of one document of plain text; longer texts are cut at a random place per seed.

    Raises:
        ConfigError: if the file is missing, empty, not UTF-8, or a line is none of the above.
    """

    def __init__(self, path: Path, tokenizer: Tokenizer, window: int) -> None:
        try:
            content = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ConfigError(f"no training file at {path}") from None
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{path} is not UTF-8: byte {error.start} is {content_byte(error)}; convert it first"
            ) from None
        self._window = window
        self._end = tokenizer.eos_ids[0]
        if path.suffix == ".jsonl":
            lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
            self._documents = [_jsonl_document(line, f"{path}:{number}", tokenizer) for number, line in lines]
        else:
            tokens = tokenizer.encode(content)
            self._documents = [Document(prompt=[self._end], response=tokens)] if tokens else []
        if not self._documents:
            raise ConfigError(f"{path} holds no documents")

    def document(self, seed: int) -> Document:
        rng = random.Random(seed)
        document = rng.choice(self._documents)
        spare = len(document.response) - self._window
        if spare <= 0:
            return document
        start = rng.randrange(spare + 1)
        return Document(document.prompt, document.response[start : start + self._window])


def content_byte(error: UnicodeDecodeError) -> str:
    """The byte a decoder stumbled over, for a message."""
    return f"0x{error.object[error.start]:02x}"


def make_source(tasks: Mapping[str, float], files: Mapping[str, float], tokenizer: Tokenizer, window: int) -> Source:
    """Build the source a recipe describes.

    Args:
        tasks: weight by task name.
        files: weight by path.
        tokenizer: encodes all of it.
        window: longest response, in tokens, taken from a file at once.
    """
    sources: list[Source] = [TaskSource(name, tokenizer) for name in tasks]
    sources += [FileSource(Path(path), tokenizer, window) for path in files]
    return MixtureSource(sources, [*tasks.values(), *files.values()])


def _chat_document(messages: Sequence[Mapping[str, Any]], response: str, tokenizer: Tokenizer) -> Document:
    prompt = tokenizer.encode_chat(list(messages))
    return Document(prompt, [*tokenizer.encode(response), tokenizer.eos_ids[0]])


def _jsonl_document(line: str, where: str, tokenizer: Tokenizer) -> Document:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where} is not JSON: {error}") from None
    match record:
        case {"messages": [*turns, {"role": "assistant", "content": str(response)}]} if turns:
            return _chat_document(turns, response, tokenizer)
        case {"prompt": str(prompt), "response": str(response)}:
            return _chat_document([{"role": "user", "content": prompt}], response, tokenizer)
        case {"text": str(text)} if text:
            end = tokenizer.eos_ids[0]
            return Document([end], [*tokenizer.encode(text), end])
    raise ConfigError(
        f"{where} is no document; allowed: messages ending with the assistant's, prompt and response, or text"
    )
