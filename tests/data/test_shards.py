"""Shards on disk: what was written is read, and what does not fit is refused by its name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.data.shards import Manifest, Shard, Targets, read_shards, read_targets, write_shard
from sfumato.data.sources import FileSource, read_records
from sfumato.errors import CheckpointError, ConfigError
from sfumato.text.tokenizer import Tokenizer

TOP_K = 3


def record(i: int) -> dict:
    messages = [{"role": "user", "content": f"ask {i}\u2028"}, {"role": "assistant", "content": f"answer {i}"}]
    return {"messages": messages, "seed": i}


def targets(i: int) -> Targets:
    length = i % 4 + 1
    ids_NK = np.arange(length * TOP_K, dtype=np.int32).reshape(length, TOP_K) + i
    return Targets(np.full(length, i, dtype=np.int32), ids_NK, (-ids_NK / 8).astype(np.float16))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three shards, of two documents, none, and three."""
    manifest = Manifest(model={"name": "some"}, settings={"seed": 0, "top_k": TOP_K})
    for number, documents in enumerate(([0, 1], [], [2, 3, 4])):
        shard = Shard(
            name=f"shard-{number:06}",
            start=number * 5,
            stop=number * 5 + 5,
            kept=len(documents),
            dropped={"turn_short": 1, "answer_long": 4 - len(documents)},
            turn_tokens=10,
            answer_tokens=20,
        )
        write_shard(tmp_path / "data", shard, [record(i) for i in documents], [targets(i) for i in documents])
        manifest = manifest.with_shard(shard)
    manifest.save(tmp_path / "data")
    return tmp_path / "data"


def test_shards_round_trip(directory: Path):
    manifest = Manifest.load(directory)
    assert [line["seed"] for line in read_shards(directory, manifest)] == [0, 1, 2, 3, 4]
    assert [one.text for one in read_records(directory)] == [f"answer {i}" for i in range(5)]
    assert list(read_records(directory)[2].turns) == record(2)["messages"][:1]
    assert (manifest.sampled, manifest.kept) == (15, 5)
    assert manifest.dropped == {"answer_long": 7, "turn_short": 3}
    assert manifest.tokens == {"turns": 30, "answers": 60}
    told = json.loads((directory / "manifest.json").read_text())
    assert told["counts"] == {"sampled": 15, "kept": 5, "dropped": {"answer_long": 7, "turn_short": 3}}


def test_teacher_predictions_are_numbered_as_documents(directory: Path):
    teacher = read_targets(directory)
    assert len(teacher) == 5
    for i in (4, 0, 1, 3, 2):
        found, expected = teacher[i], targets(i)
        assert (found.ids_NK.dtype, found.log_probs_NK.dtype) == (np.int32, np.float16)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own, other)


def test_a_shard_that_lost_lines_is_named(directory: Path, byte_tokenizer: Tokenizer):
    (directory / "shard-000002.jsonl").write_text(json.dumps(record(2)) + "\n")
    with pytest.raises(ConfigError, match=r"holds 3 documents; its manifest.json says 5"):
        FileSource(directory, byte_tokenizer, 100, teacher_top=1)


def test_mismatched_teacher_predictions(directory: Path):
    (directory / "shard-000002.teacher.safetensors").write_bytes(
        (directory / "shard-000000.teacher.safetensors").read_bytes()
    )
    with pytest.raises(CheckpointError, match=r"is about 2 answers of \[3\] tokens; the shard has 3 answers"):
        read_targets(directory)
    (directory / "shard-000002.teacher.safetensors").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"shard-000002\.teacher\.safetensors holds no log-probabilities"):
        read_targets(directory)
    (directory / "shard-000002.teacher.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"shard-000002\.teacher\.safetensors holds no log-probabilities"):
        read_targets(directory)
    one = targets(0)
    shard = Shard(name="shard-000000", start=0, stop=1, kept=1)
    write_shard(directory, shard, [record(0)], [one._replace(ids_NK=np.zeros((2, TOP_K)))])
    with pytest.raises(CheckpointError, match=r"is about 1 answers of \[1, 2\] tokens"):
        read_targets(directory)


def test_shard_that_contradicts_its_manifest(directory: Path):
    manifest = Manifest.load(directory)
    path = directory / "shard-000002.jsonl"
    path.write_text(json.dumps(record(2)) + "\n")
    with pytest.raises(CheckpointError, match=r"shard-000002\.jsonl has 1 lines; the manifest says 3"):
        list(read_shards(directory, manifest))
    path.unlink()
    with pytest.raises(CheckpointError, match=r"cannot read .*shard-000002\.jsonl, which the manifest names"):
        list(read_shards(directory, manifest))


def test_invalid_manifest(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"no manifest\.json in"):
        Manifest.load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"shards": [{"colour": 1}]}')
    with pytest.raises(CheckpointError, match="is not a manifest of shards"):
        Manifest.load(tmp_path)
