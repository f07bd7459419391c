"""`sfumato data synth`: from an autoregressive checkpoint to shards, and what is refused. `sfumato data show`."""

from __future__ import annotations

import json
import re

import pytest

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.data.sources import read_records
from sfumato.spec import GenerationSpec
from sfumato.synthesis.run import Synthesis
from sfumato.text.tokenizer import Tokenizer

LIMITS = ("--max-turn", "12", "--max-answer", "12")
OPEN = (
    *LIMITS,
    *("--set", "filters.scripts=[]", "--set", "filters.min_printable=0.0", "--set", "filters.min_distinct=0.0"),
    *("--set", "filters.min_turn_tokens=1", "--set", "filters.min_answer_tokens=1"),
)


@pytest.fixture(scope="session")
def twin(checkpoint, tmp_path_factory):
    """The same weights, read from left to right."""
    directory = tmp_path_factory.mktemp("models") / "small-ar"
    spec = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
    save_checkpoint(directory, load_checkpoint(checkpoint).model, spec, generation={})
    Tokenizer.load(checkpoint).save(directory)
    return directory


def test_shards_and_one_line_of_numbers(sfumato, twin, tmp_path):
    done = sfumato("data", "synth", twin, tmp_path / "data", "--n", 10, *OPEN, "--set", "shard_size=4", "--rows", 4)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    numbers = json.loads(done.stdout)
    assert list(numbers) == ["model", "counts", "tokens", "seconds", "directory"]
    assert numbers["model"] == {"name": "small-ar", "dtype": "float32", "quantize": None}
    assert numbers["counts"]["sampled"] == 10
    assert numbers["counts"]["kept"] + sum(numbers["counts"]["dropped"].values()) == 10
    assert "data: 4/10 sampled" in done.stderr
    assert done.stderr.count("\n") == 3
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text())
    assert [shard["stop"] for shard in manifest["shards"]] == [4, 8, 10]
    assert str(twin) not in json.dumps(manifest)
    if numbers["counts"]["kept"]:
        assert len(read_records(tmp_path / "data")) == numbers["counts"]["kept"]

    refused = sfumato("data", "synth", twin, tmp_path / "data", "--n", 10, *OPEN)
    assert refused.exit_code == 2
    assert "holds shards already: continue with --resume" in refused.stderr
    refused = sfumato("data", "synth", twin, tmp_path / "data", "--n", 10, *OPEN, "--resume")
    assert refused.exit_code == 2
    assert "shard_size was 4 and is 256" in refused.stderr
    more = sfumato("data", "synth", twin, tmp_path / "data", "--n", 14, *OPEN, "--set", "shard_size=4", "--resume")
    assert more.exit_code == 0, more.stderr
    assert json.loads(more.stdout)["counts"]["sampled"] == 14


def test_interrupt_names_the_resume_command(sfumato, twin, tmp_path, monkeypatch):
    def interrupted(self, n, on_shard=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Synthesis, "run", interrupted)
    done = sfumato("data", "synth", twin, tmp_path / "data", "--n", 10, *OPEN)
    assert done.exit_code == 130
    assert "0 of 10 conversations sampled; run the same command with --resume to continue" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--n", "0", *LIMITS), "n is 0; allowed: 1 or more"),
        (("--resume", *LIMITS), "holds no manifest.json to resume from; leave --resume out"),
        (("--top-k", "-1", *LIMITS), "top_k is -1; allowed: 0 or more"),
        (("--top-k", "9999", *LIMITS), "top_k is 9999; allowed: 0 to"),
        (("--rows", "0", *LIMITS), "rows is 0; allowed: 1 or more"),
        (("--set", "filters.min_distnct=1", *LIMITS), "did you mean 'filters.min_distinct'?"),
        (("--set", "filters.min_distinct=2.0", *LIMITS), "min_distinct is 2.0; allowed: 0 to 1"),
        (("--set", "filters=3", *LIMITS), "filters is 3; allowed: a table, e.g. filters.min_distinct=0.6"),
        (("--set", 'filters.scripts=["klingon"]', *LIMITS), "unknown script 'klingon'"),
        (("--max-answer", "4"), "min_answer_tokens is 8 and max_answer_tokens 4"),
        (("--topic", "no-such-file", *LIMITS), "cannot read the topics no-such-file: No such file"),
    ],
)
def test_refusals(sfumato, twin, tmp_path, args, message):
    done = sfumato("data", "synth", twin, tmp_path / "data", *args)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "data").exists()


def test_diffusion_model_is_refused(sfumato, checkpoint, tmp_path):
    done = sfumato("data", "synth", checkpoint, tmp_path / "data", *LIMITS)
    assert done.exit_code == 2
    assert "denoises canvases of 16; allowed: an autoregressive model" in done.stderr


def test_answers_longer_than_the_model_are_refused(sfumato, twin, tmp_path):
    done = sfumato("data", "synth", twin, tmp_path / "data")
    assert done.exit_code == 1
    assert "this model holds 160 positions: ask for fewer" in done.stderr


def test_topics_are_the_lines_of_files(tmp_path):
    from sfumato.cli.data import _topics

    (tmp_path / "a.txt").write_text("tea\n\n  the sea \n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("trees", encoding="utf-8")
    assert _topics([tmp_path / "a.txt", tmp_path / "b.txt"]) == ["tea", "the sea", "trees"]


def test_empty_topics_file_is_refused(sfumato, twin, tmp_path):
    (tmp_path / "empty.txt").write_text("\n")
    done = sfumato("data", "synth", twin, tmp_path / "data", *LIMITS, "--topic", tmp_path / "empty.txt")
    assert done.exit_code == 2
    assert "holds no topics; write one per line" in done.stderr


def test_documents_are_shown_as_they_are_read_and_learnt(sfumato, checkpoint, tmp_path):
    turns = [("system", "Be brief."), ("user", "1+1?"), ("assistant", "2"), ("user", "2+2?"), ("assistant", "4")]
    messages = [{"role": role, "content": content} for role, content in turns]
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": messages}))
    recipe = tmp_path / "talk.toml"
    recipe.write_text(
        "[model]\nvocab_size = 280\nhidden_size = 8\nintermediate_size = 8\nnum_hidden_layers = 1\n"
        "num_attention_heads = 1\nnum_key_value_heads = 1\nhead_dim = 8\nmax_position_embeddings = 128\n"
        f'[data]\nfiles = {{ "{tmp_path / "chats.jsonl"}" = 1.0 }}\n'
        f'tokenizer = "{checkpoint}"\nevery_answer = true\n[train]\nsteps = 2\nlr = 1e-3\n'
    )
    done = sfumato("data", "show", recipe, "--n", 9)
    assert done.exit_code == 0, done.stderr
    first = "<|user|>Be brief.\n\n1+1?<|assistant|>"
    second = f"{first}2<|end|><|user|>2+2?<|assistant|>"
    shown = re.findall(
        r"^document (\d) reads \((\d+) tokens\)\n((?s:.*?))\ndocument \1 learns \((\d+) tokens\)\n(.*)",
        done.stdout,
        re.M,
    )
    assert {(text, answer) for _, _, text, _, answer in shown} == {(first, "2<|end|>"), (second, "4<|end|>")}
    assert [number for number, *_ in shown] == [str(number) for number in range(1, 10)]
    lengths = sorted({int(number) for _, number, *_ in shown})
    assert f"1,000 documents\nread {lengths[0]} to {lengths[1]} tokens" in done.stdout
    assert not (tmp_path / "runs").exists()
    recipe.write_text(recipe.read_text() + "[code]\ncorpora = { code = 1.0 }\n")
    refused = sfumato("data", "show", recipe)
    assert refused.exit_code == 2
    assert "has [code], which has no documents" in refused.stderr
