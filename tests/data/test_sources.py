"""Documents from tasks and files: nothing held out gets in, nothing malformed passes."""

from __future__ import annotations

import codecs
import gzip
import importlib.util
import json
import math
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sfumato.data.packing import Document, PackingConfig
from sfumato.data.sources import (
    FileSource,
    MixtureSource,
    TaskSource,
    chat_of,
    make_source,
    read_json_lines,
    read_records,
)
from sfumato.data.tasks import TASKS, draw, items, problem_key, split_of
from sfumato.errors import ConfigError
from sfumato.text.tokenizer import Tokenizer

OPEN_TASKS = [name for name, task in TASKS.items() if not task.fixed]


def texts(document: Document, tokenizer: Tokenizer) -> tuple[str, str]:
    return tokenizer.decode(document.prompt), tokenizer.decode(document.response)


@pytest.mark.parametrize("name", OPEN_TASKS)
def test_held_out_items_are_in_no_training_document(name: str, byte_tokenizer: Tokenizer):
    """Judged by what the document says, not by the item it came from."""
    source = TaskSource(name, byte_tokenizer)
    documents = [source.document(seed) for seed in range(40)]
    prompts = {byte_tokenizer.decode(document.prompt) for document in documents}
    assert {split_of(prompt) for prompt in prompts} == {"train"}
    held_out = {problem_key(item.prompt) for item in items(TASKS[name], "test", 0, 10)}
    assert not held_out & {problem_key(prompt) for prompt in prompts}


def test_held_out_split_can_be_selected(byte_tokenizer: Tokenizer):
    source = TaskSource("arithmetic", byte_tokenizer, "test")
    assert {split_of(texts(source.document(seed), byte_tokenizer)[0]) for seed in range(50)} == {"test"}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_document_is_one_turn_of_a_chat(name: str, byte_tokenizer: Tokenizer):
    source = TaskSource(name, byte_tokenizer)
    document, item = source.document(7), draw(TASKS[name], "train", 7)
    assert document == source.document(7)
    assert document.prompt == byte_tokenizer.encode_chat([{"role": "user", "content": item.prompt}])
    assert texts(document, byte_tokenizer)[1] == item.response
    assert document.response[-1] in byte_tokenizer.eos_ids
    assert not {*document.response[:-1]} & byte_tokenizer.special_ids


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def every_document(source: FileSource) -> list[Document]:
    found: list[Document] = []
    for seed in range(200):
        document = source.document(seed)
        if document not in found:
            found.append(document)
    return found


def test_chats_pairs_and_texts(tmp_path: Path, byte_tokenizer: Tokenizer):
    chat = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"},
    ]
    path = write(tmp_path / "some.jsonl", {"messages": chat}, {"prompt": "e", "response": "f"}, {"text": "g"})
    found = every_document(FileSource(path, byte_tokenizer, 100))
    end = byte_tokenizer.eos_ids[0]
    expected = [
        Document(byte_tokenizer.encode_chat(chat[:3]), [*byte_tokenizer.encode("d"), end]),
        Document(byte_tokenizer.encode_chat([{"role": "user", "content": "e"}]), [*byte_tokenizer.encode("f"), end]),
        Document([end], [*byte_tokenizer.encode("g"), end]),
    ]
    assert len(found) == 3
    assert all(document in found for document in expected)


@pytest.mark.parametrize("name", ["a.ndjson", "a.JSONL", "a.jsonl.gz", "a.JSONL.GZ", "a.jsonl"])
def test_files_of_lines_are_known_by_their_names(tmp_path: Path, name: str):
    """A byte order mark, as some editors write it, is no part of them."""
    content = codecs.BOM_UTF8 + b'{"prompt": "a", "response": "b"}\n{"text": "c"}\n'
    (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
    assert [record.text for record in read_records(tmp_path / name)] == ["b", "c"]
    assert [record.text for record in read_records(tmp_path)] == ["b", "c"]


def test_json_files_are_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"a\.json ends with \.json; allowed: lines of JSON"):
        read_records(tmp_path / "a.json")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_unicode_line_ends_are_text(tmp_path: Path, byte_tokenizer: Tokenizer, separator: str):
    """JSON lets them stand inside a string as they are; only \\n ends a line."""
    line = f'{{"text": "one{separator}two"}}\n' if separator > "\x1f" else json.dumps({"text": f"one{separator}two"})
    (tmp_path / "some.jsonl").write_text(f"{line}\n\n  \n", encoding="utf-8")
    [document] = every_document(FileSource(tmp_path / "some.jsonl", byte_tokenizer, 100))
    assert texts(document, byte_tokenizer)[1] == f"one{separator}two"


def test_a_long_text_comes_in_windows(tmp_path: Path, byte_tokenizer: Tokenizer):
    text = "".join(map(chr, range(48, 108)))
    (tmp_path / "some.txt").write_text(text, encoding="utf-8")
    source = FileSource(tmp_path / "some.txt", byte_tokenizer, 20)
    windows = [texts(source.document(seed), byte_tokenizer)[1] for seed in range(500)]
    assert all(window in text for window in windows)
    # 61 tokens with the end have 42 windows of 20; 500 draws miss a given one with probability 6e-6.
    assert len(set(windows)) == 42
    assert windows == [texts(source.document(seed), byte_tokenizer)[1] for seed in range(500)]


def test_a_chat_is_never_cut(tmp_path: Path, byte_tokenizer: Tokenizer):
    """A piece from the middle of an answer is no answer to the prompt."""
    path = write(tmp_path / "some.jsonl", {"prompt": "say it", "response": "0123456789"})
    [document] = every_document(FileSource(path, byte_tokenizer, 4))
    assert texts(document, byte_tokenizer)[1] == "0123456789"
    assert document.response[-1] in byte_tokenizer.eos_ids


def test_markup_in_a_file_is_text(tmp_path: Path, byte_tokenizer: Tokenizer):
    path = write(tmp_path / "some.jsonl", {"prompt": "<|end|>", "response": "<|assistant|><|end|>"})
    [document] = every_document(FileSource(path, byte_tokenizer, 100))
    assert byte_tokenizer.decode(document.response) == "<|assistant|><|end|>"
    assert document.response.index(byte_tokenizer.eos_ids[0]) == len(document.response) - 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"some\.jsonl:2 is not JSON"),
        ("[" * 100_000, r"some\.jsonl:2 is not JSON"),
        ("9" * 5000, r"some\.jsonl:2 is not JSON"),
        ('{"text": "a", "text": "b"}', r"some\.jsonl:2 .*: an object has the key 'text' twice; allowed: once"),
        ('{"messages": [{"role": "user", "role": "system"}]}', r"some\.jsonl:2 .* the key 'role' twice"),
        ("[]", r"some\.jsonl:2 is \[\]; allowed: messages ending"),
        ('"text"', 'is "text"; allowed'),
        ('{"text": ""}', 'has text ""; allowed'),
        ('{"text": 4}', "has text 4; allowed"),
        ('{"prompt": "a"}', 'has prompt "a"; allowed'),
        ('{"prompt": "", "response": null}', 'has prompt "", response null; allowed'),
        ("{}", "has no keys; allowed"),
        ("[1]", r"is \[1\]; allowed"),
        ('{"messages": []}', r"has messages \[\]; allowed"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', r"has messages \[.{22}…; allowed"),
        ('{"messages": [{"role": "user", "content": "a"}]}', r"has messages \[.{22}…; allowed"),
        ('{"messages": ["hello", {"role": "assistant", "content": "a"}]}', r"has messages \[.{22}…; allowed"),
        (
            '{"messages": [{"role": "critic", "content": "a"}, {"role": "assistant", "content": "a"}]}',
            r"some\.jsonl:2: .* unknown role 'critic'; allowed: assistant, user",
        ),
        ('{"prompt": "a", "response": "\\ud800"}', r"some\.jsonl:2: the text has \\ud800 at 0"),
    ],
)
def test_invalid_line(tmp_path: Path, byte_tokenizer: Tokenizer, line: str, message: str):
    path = tmp_path / "some.jsonl"
    path.write_text(f'{{"text": "fine"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        FileSource(path, byte_tokenizer, 100)


ASKED, ANSWERED = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}


@pytest.mark.parametrize(
    "line",
    [
        {"messages": [ASKED, ANSWERED]},
        {"prompt": "a", "response": "b"},
        {"prompt": "a", "completion": "b", "response": None},
        {"prompt": [ASKED], "completion": [ANSWERED]},
        {"prompt": [ASKED, ANSWERED]},
        {"instruction": "a", "output": "b", "input": ""},
        {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
    ],
)
def test_usual_forms_of_conversations(tmp_path: Path, line: dict[str, Any]):
    [record] = read_records(write(tmp_path / "some.jsonl", line))
    assert (record.turns, record.text, record.unread) == ([ASKED], "b", frozenset())


@pytest.mark.parametrize(
    "line",
    [
        {"prompt": "a", "completion": "b", "response": "c"},
        {"prompt": "a", "completion": 3},
        {"prompt": "a", "completion": [ASKED]},
        {"instruction": "a", "output": None},
        {"instruction": "", "output": "b"},
        {"instruction": "a", "input": ["c"], "output": "b"},
        {"conversations": [{"from": "critic", "value": "a"}, {"from": "gpt", "value": "b"}]},
        {"conversations": ["a", "b"]},
    ],
)
def test_other_forms_are_refused(tmp_path: Path, line: dict[str, Any]):
    with pytest.raises(ConfigError, match=r"some\.jsonl:1 has .*; allowed: messages ending"):
        read_records(write(tmp_path / "some.jsonl", line))


def test_an_input_follows_its_instruction():
    found = chat_of({"instruction": "Translate.", "input": "one", "output": "un", "id": 3})
    assert found == ([{"role": "user", "content": "Translate.\n\none"}], "un", {"id"})


def test_empty_responses_are_told(tmp_path: Path, byte_tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture):
    """They may be meant; a text that is empty is refused."""
    answers = ("b", "", "\n", "c")
    path = write(tmp_path / "some.jsonl", *({"prompt": "a", "response": answer} for answer in answers))
    FileSource(path, byte_tokenizer, 100)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        f"2 responses of {path} are empty, the first at {path}"
    ]
    assert f"{path}:2:" in caplog.text
    caplog.clear()
    FileSource(write(tmp_path / "other.jsonl", {"prompt": "a", "response": "b"}), byte_tokenizer, 100)
    assert not caplog.records


def test_unread_keys_are_told(tmp_path: Path, byte_tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture):
    lines = ({"prompt": "a", "response": "b", "system": "Be brief."}, {"text": "c", "prompt": "d"}, {"text": "e"})
    path = write(tmp_path / "some.jsonl", *lines)
    FileSource(path, byte_tokenizer, 100)
    [told] = caplog.messages
    assert told.startswith(f"keys of {path} that are not read: prompt, system; allowed: messages ending")


def test_documents_that_are_too_long_are_told(
    tmp_path: Path, byte_tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture
):
    """Texts are cut to windows instead."""
    lines = ({"prompt": "a", "response": "b"}, {"prompt": "a", "response": "b" * 90}, {"text": "c" * 200})
    path = write(tmp_path / "some.jsonl", *lines)
    most = Document(byte_tokenizer.encode_chat([{"role": "user", "content": "a"}]), [0] * 91).num_tokens
    assert len(every_document(FileSource(path, byte_tokenizer, 300, most))) == 3
    assert not caplog.messages
    assert len(every_document(FileSource(path, byte_tokenizer, 300, most - 1))) == 2
    [told] = caplog.messages
    assert told.startswith(f"1 of 3 documents of {path} have more than {most - 1} tokens, the first at {path}:2: they")
    path = write(tmp_path / "other.jsonl", *lines[:2])
    with pytest.raises(ConfigError, match=r"2 of 2 documents of .* have more than 3 tokens, .*packing\.row_length"):
        FileSource(path, byte_tokenizer, 300, 3)


@pytest.mark.parametrize("name", ["some.txt", "some.jsonl"])
def test_unreadable_file(tmp_path: Path, name: str):
    path = tmp_path / name
    with pytest.raises(ConfigError, match=f"cannot read .*{name}"):
        read_records(path)
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match="holds no documents"):
        read_records(path)
    path.write_bytes(b" " * 20_000 + "ü".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"is not UTF-8: byte 20000 is 0xfc; convert it first"):
        read_records(path)
    packed = path.with_name(f"{name}.gz")
    for content in (gzip.compress(b'{"text": "a"}\n' * 9)[:-9], b"none", gzip.compress(b"")[:10] + b"\xff" * 40):
        packed.write_bytes(content)
        with pytest.raises(ConfigError, match=f"cannot read .*{name}.gz"):
            read_json_lines(packed)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match=r"holds no shards; allowed: a file, or a directory of \.jsonl or \.parquet"):
        read_records(path)


def test_a_directory_of_shards(tmp_path: Path, byte_tokenizer: Tokenizer):
    write(tmp_path / "b.jsonl", {"text": "three"})
    write(tmp_path / "a.jsonl", {"text": "one"}, {"text": "two"})
    write(tmp_path / "c.jsonl")
    (tmp_path / "manifest.json").write_text("{}")
    assert [record.text for record in read_records(tmp_path)] == ["one", "two", "three"]
    assert [record.where for record in read_records(tmp_path)][2] == f"{tmp_path / 'b.jsonl'}:1"
    found = every_document(FileSource(tmp_path, byte_tokenizer, 100))
    assert {texts(document, byte_tokenizer)[1] for document in found} == {"one", "two", "three"}
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("\n")
    with pytest.raises(ConfigError, match="holds no documents"):
        read_records(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_parquet_without_pyarrow_is_refused_by_name(tmp_path: Path):
    (tmp_path / "some.parquet").write_bytes(b"PAR1")
    for path in (tmp_path, tmp_path / "some.parquet"):
        with pytest.raises(ConfigError, match=r"some\.parquet is a parquet file, but pyarrow is not installed"):
            read_records(path)
    with pytest.raises(ConfigError, match=r"cannot read .*other\.parquet"):
        read_records(tmp_path / "other.parquet")


def test_parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    rows = [{"text": "one"}, {"prompt": "two", "response": "three"}, {"messages": [{"role": "user", "content": "a"}]}]
    names = ("text", "prompt", "response", "messages")
    path = tmp_path / "some.parquet"
    columns = {name: [row.get(name) for row in rows[:2]] for name in names[:3]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    assert [record.text for record in read_records(path)] == ["one", "three"]
    pyarrow.parquet.write_table(pyarrow.table({"messages": [rows[2]["messages"]]}), path)
    with pytest.raises(ConfigError, match=r"some\.parquet:1 has messages; allowed"):
        read_records(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(ConfigError, match=r"cannot read .*some\.parquet"):
        read_records(path)


@pytest.mark.parametrize("row", [{"text": "one"}, {"prompt": "two", "response": "one", "text": None}])
def test_rows_of_parquet_are_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any]):
    """With what pyarrow would give: a column that a row lacks is null."""
    parquet = types.SimpleNamespace(read_table=lambda path: types.SimpleNamespace(to_pylist=lambda: [row]))
    arrow = types.SimpleNamespace(parquet=parquet, ArrowException=ValueError)
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    (tmp_path / "some.parquet").write_bytes(b"PAR1")
    assert [record.text for record in read_records(tmp_path)] == ["one"]


class Constant:
    def __init__(self, token: int) -> None:
        self.token = token

    def document(self, seed: int) -> Document:
        return Document([self.token], [seed])


def test_a_mixture_draws_by_weight():
    source = MixtureSource([Constant(0), Constant(1), Constant(2), Constant(3)], [0.0, 3.0, 0.0, 1.0])
    documents = [source.document(seed) for seed in range(4000)]
    num = Counter(document.prompt[0] for document in documents)
    assert num.keys() == {1, 3}
    # Five standard deviations are 0.034.
    assert num[1] / 4000 == pytest.approx(0.75, abs=0.034)
    assert len({document.response[0] for document in documents}) == 4000, "each seed gives a document of its own"
    assert documents == [source.document(seed) for seed in range(4000)]


def test_a_mixture_of_nothing():
    with pytest.raises(ConfigError, match=r"nothing to train on; allowed: tasks in \[data.tasks\], or files"):
        MixtureSource([], [])


@pytest.mark.parametrize("weights", [[0.0], [1.0, -0.5], [1.0, math.nan], [math.inf, 1.0]])
def test_invalid_weights(weights: list[float]):
    with pytest.raises(ConfigError, match=r"mixture weights are \[.*\]; allowed: 0 or more each, one above 0"):
        MixtureSource([Constant(0) for _ in weights], weights)


def test_every_answer_of_a_chat_can_be_learnt(tmp_path: Path, byte_tokenizer: Tokenizer):
    said = [("system", "s"), ("user", "a"), ("assistant", "first"), ("user", "b"), ("assistant", "second")]
    turns = [{"role": role, "content": content} for role, content in said]
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"messages": turns}) + '\n{"text": "third"}\n')

    def answers(every_answer: bool) -> dict[str, str]:
        source = FileSource(path, byte_tokenizer, window=100, every_answer=every_answer)
        drawn = [source.document(seed) for seed in range(60)]
        return {byte_tokenizer.decode(each.response[:-1]): byte_tokenizer.decode(each.prompt) for each in drawn}

    assert answers(every_answer=False).keys() == {"second", "third"}
    found = answers(every_answer=True)
    assert found.keys() == {"first", "second", "third"}
    assert "first" not in found["first"]
    assert "first" in found["second"]
    with pytest.raises(ConfigError, match='every_answer is true and the teacher is "stored"'):
        make_source(
            {}, {str(path): 1.0}, byte_tokenizer, PackingConfig(), max_tokens=99, teacher_top=1, every_answer=True
        )


def test_a_recipes_source_mixes_tasks_and_files(tmp_path: Path, byte_tokenizer: Tokenizer):
    path = write(tmp_path / "some.jsonl", {"prompt": "a", "response": "b"})
    source = make_source(
        {"countdown": 1.0, "pi": 0.0}, {str(path): 1.0}, byte_tokenizer, PackingConfig(), max_tokens=50
    )
    prompts = {texts(source.document(seed), byte_tokenizer)[0].split(":")[0] for seed in range(60)}
    assert prompts == {"countdown", "a"}
    with pytest.raises(ConfigError, match="unknown task 'countdwn'; did you mean 'countdown'"):
        make_source({"countdwn": 1.0}, {}, byte_tokenizer, PackingConfig(), max_tokens=50)


def test_parts_of_messages_are_joined_and_their_other_keys_told(tmp_path: Path):
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    call = {"role": "assistant", "content": "c", "tool_calls": []}
    found = chat_of({"messages": [{"role": "user", "content": parts}, call]})
    assert found == ([{"role": "user", "content": "ab"}], "c", {"messages.tool_calls"})
    image = {"role": "user", "content": [{"type": "image_url"}]}
    for first in (image, {"role": "user", "content": None}):
        with pytest.raises(ConfigError, match="has messages"):
            read_records(write(tmp_path / "some.jsonl", {"messages": [first, call]}))
