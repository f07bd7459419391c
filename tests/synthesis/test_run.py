"""A run in a directory: what is written, what is left out, and that stopping it leaves no trace."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.config import from_table
from sfumato.data.shards import Manifest, read_targets
from sfumato.data.sources import FileSource, read_records
from sfumato.engine.model import TextModel
from sfumato.errors import CheckpointError, ConfigError, RequestError
from sfumato.synthesis.conversations import Conversations
from sfumato.synthesis.run import Synthesis
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run

SETTINGS = (
    *("--max-turn", "24", "--max-answer", "40", "--top-k", "3", "--set", "top_p=1.0", "--set", "shard_size=8"),
    *("--set", "filters.scripts=[]", "--set", "filters.min_printable=0.0", "--set", "filters.min_distinct=0.0"),
    *("--set", "filters.min_turn_tokens=1", "--set", "filters.min_answer_tokens=1", "--n", "96"),
)
PATIENCE_S = 600.0


def files_of(directory: Path) -> dict[str, bytes]:
    """What a directory holds, but for what was being written when its program was killed."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix != ".partial"}


def test_written_files(model: TextModel, make_config, tmp_path: Path):
    config = make_config(top_k=4)
    synthesis = Synthesis(model, config, tmp_path / "data")
    synthesis.start()
    told: list[Manifest] = []
    manifest = synthesis.run(40, told.append)
    assert [one.sampled for one in told] == [16, 32, 40]
    assert manifest == Manifest.load(tmp_path / "data")
    assert manifest.sampled == manifest.kept + sum(manifest.dropped.values()) == 40
    written = Conversations(model, config, 8).write(range(40))
    reasons = Counter(one.dropped for one in written if one.dropped)
    again = {reason: manifest.dropped.get(f"{reason}_duplicate", 0) for reason in ("exact", "near")}
    assert manifest.kept == sum(one.dropped is None for one in written) - sum(again.values())
    assert all(manifest.dropped[reason] == count for reason, count in reasons.items())

    records = read_records(tmp_path / "data")
    paths = sorted((tmp_path / "data").glob("*.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text().split("\n") if line]
    assert len(records) == len(lines) == manifest.kept > 10
    kept = {one.seed: one for one in written if one.dropped is None}
    teacher, spent = read_targets(tmp_path / "data"), Counter()
    for i, (record, line) in enumerate(zip(records, lines, strict=True)):
        own = kept[line["seed"]]
        assert line == {"messages": list(own.messages), "seed": own.seed}
        assert (list(record.turns), record.text) == ([own.messages[0]], own.messages[1]["content"])
        # The teacher is about the very tokens that training will see.
        assert teacher[i].tokens_N.tolist() == list(own.document.response)
        assert teacher[i].ids_NK.shape == (len(own.document.response), 4)
        spent += Counter(turns=own.turn_tokens, answers=len(own.document.response))
    assert manifest.tokens == spent
    assert FileSource(tmp_path / "data", model.tokenizer, 100).document(0) in [one.document for one in kept.values()]
    assert manifest.model == {"name": "small-ar"}
    assert manifest.settings["filters"]["max_answer_tokens"] == 40


def test_stored_predictions_teach_as_the_teacher(model: TextModel, make_config, checkpoint: Path, tmp_path: Path):
    """The checkpoint that wrote the shards is adapted on them, by what it said then and by what it says now."""
    synthesis = Synthesis(model, make_config(top_k=4), tmp_path / "data")
    synthesis.start()
    synthesis.run(40)
    # A program that was stopped left a shard that the manifest does not know.
    last = sorted((tmp_path / "data").glob("*.jsonl"))[-1]
    (tmp_path / "data" / "shard-999999.jsonl").write_text(last.read_text())
    values = {
        "adapt": {"base": str(checkpoint)},
        "generation_spec": {"canvas_length": 8, "self_conditioning": True},
        "data": {"files": {str(tmp_path / "data"): 1.0}},
        "packing": {"rows": 4, "row_length": 200, "canvas_lengths": [8]},
        "objective": {"teacher_weight": 1.0, "teacher_top": 4},
        "train": {"steps": 3, "warmup": 1, "threads": 1},
    }
    found: dict[str, list[dict[str, float]]] = {}
    for kind in ("ar", "stored"):
        recipe = from_table(Recipe, {**values, "objective": {**values["objective"], "teacher": kind}})
        found[kind] = []
        run = Run(recipe, tmp_path / kind, on_record=found[kind].append)
        run.trainer.run()
    for read, stored in zip(*found.values(), strict=True):
        assert stored["canvas_loss"] == pytest.approx(read["canvas_loss"], rel=1e-2)
        # One shard of four is not known to the manifest, and says nothing.
        assert stored["teacher_loss"] == pytest.approx(read["teacher_loss"], rel=0.2)
    for change, message in [
        ({"teacher_top": 5}, f"teacher_top is 5; allowed: up to 4, as many as {tmp_path / 'data'} has of each token"),
        ({}, "has stored predictions; allowed: a directory that `sfumato data synth --top-k` wrote"),
    ]:
        files = {str(tmp_path / "data" if change else last): 1.0}
        objective = {**values["objective"], "teacher": "stored", **change}
        with pytest.raises(ConfigError, match=re.escape(message)):
            Run(from_table(Recipe, {**values, "objective": objective, "data": {"files": files}}), tmp_path / "none")


def test_repetitive_conversations_are_dropped(model: TextModel, make_config, tmp_path: Path):
    """At temperature 0 all turns are the same, across shards too."""
    config = make_config(turn_temperature=0.0, shard_size=4)
    written = Conversations(model, config).write(range(12))
    assert len({one.messages[0]["content"] for one in written}) == 1
    num_good = sum(one.dropped is None for one in written)
    assert num_good > 2
    synthesis = Synthesis(model, config, tmp_path / "data")
    synthesis.start()
    manifest = synthesis.run(12)
    assert (manifest.kept, manifest.dropped["exact_duplicate"]) == (1, num_good - 1)


def test_resumed_equals_uninterrupted(model: TextModel, make_config, tmp_path: Path):
    """Also what was there before an interrupt is known to the filters, and rows do not matter."""
    # Short turns, so that repetitions occur across shards: one that is forgotten would be kept.
    config = make_config(shard_size=6, top_k=3, filters={"max_turn_tokens": 3, "shingle_words": 1})
    whole = Synthesis(model, config, tmp_path / "whole")
    whole.start()
    manifest = whole.run(60)
    assert sum(count for reason, count in manifest.dropped.items() if "duplicate" in reason) >= 3
    first = Synthesis(model, config, tmp_path / "parts", rows=3)
    first.start()
    for stop in (0, 6, 24, 60):
        part = Synthesis(model, config, tmp_path / "parts", rows=5)
        part.resume()
        if stop:
            part.run(stop)
    assert files_of(tmp_path / "parts") == files_of(tmp_path / "whole")


@pytest.mark.parametrize("last", ["shard-000001.jsonl", "shard-000001.teacher.safetensors", None])
def test_a_kill_between_two_files(model: TextModel, make_config, tmp_path: Path, monkeypatch, last: str | None):
    """Whatever of a shard was written when the program died is written again."""
    from sfumato.data import shards
    from sfumato.storage import write_atomically

    config = make_config(shard_size=6, top_k=3)
    whole = Synthesis(model, config, tmp_path / "whole")
    whole.start()
    whole.run(18)
    stopped = Synthesis(model, config, tmp_path / "stopped")
    stopped.start()

    def dying(path: Path, content: bytes) -> None:
        if path.name.startswith("shard-000001") and last is None:
            path.with_name(path.name + ".partial").write_bytes(content[:20])
            raise SystemExit
        write_atomically(path, content)
        if path.name == last:
            raise SystemExit

    monkeypatch.setattr(shards, "write_atomically", dying)
    with pytest.raises(SystemExit):
        stopped.run(18)
    monkeypatch.undo()
    resumed = Synthesis(model, config, tmp_path / "stopped")
    resumed.resume()
    assert resumed.manifest.sampled == 6
    resumed.run(18)
    assert files_of(tmp_path / "stopped") == files_of(tmp_path / "whole")


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_no_trace(checkpoint: Path, tmp_path: Path):
    command = [sys.executable, "-m", "sfumato", "data", "synth", str(checkpoint)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    done = CliRunner().invoke(app, [*command[3:], str(alone), *SETTINGS])
    assert done.exit_code == 0, done.stderr
    with subprocess.Popen(
        [*command, str(killed), *SETTINGS, "--rows", "3"], env=environment, stderr=subprocess.DEVNULL
    ) as program:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and len(list(killed.glob("*.jsonl"))) < 3:
            time.sleep(0.002)
        time.sleep(random.uniform(0.0, 0.1))
        program.send_signal(signal.SIGKILL)
    assert program.returncode == -signal.SIGKILL
    left = Manifest.load(killed)
    # The third shard is there; the manifest may not have known of it yet.
    assert 16 <= left.sampled < 96
    done = CliRunner().invoke(app, [*command[3:], str(killed), *SETTINGS, "--resume"])
    assert done.exit_code == 0, done.stderr
    assert files_of(killed) == files_of(alone)


def test_mismatched_directories(model: TextModel, make_config, tmp_path: Path):
    directory = tmp_path / "data"
    first = Synthesis(model, make_config(topics=()), directory)
    first.start()
    with pytest.raises(ConfigError, match="holds shards already: continue with --resume, or give another directory"):
        first.start()
    other = Synthesis(model, make_config(seed=3, filters={"ngram": 5}), directory, about={"name": "other"})
    with pytest.raises(
        ConfigError, match=r"filters\.ngram was 4 and is 5; name was 'small-ar' and is 'other'; seed was 0 and is 3"
    ):
        other.resume()
    with pytest.raises(ConfigError, match="n is 0; allowed: 1 or more"):
        first.run(0)
    with pytest.raises(CheckpointError, match=r"no manifest\.json"):
        Synthesis(model, make_config(), tmp_path / "nowhere").resume()
    with pytest.raises(RequestError, match="top_k is 262; allowed: 0 to 261, the tokens of"):
        Synthesis(model, make_config(top_k=262), directory)


def test_other_topics_are_other_settings(model: TextModel, make_config, tmp_path: Path):
    from sfumato.synthesis.run import _plain

    one, other = (_plain(make_config(topics=topics)) for topics in (("tea", "sea"), ("sea", "tea")))
    assert one["topics"]["count"] == other["topics"]["count"] == 2
    assert one["topics"]["sha256"] != other["topics"]["sha256"]
    assert _plain(make_config())["topics"] is None
