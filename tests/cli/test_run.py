"""`sfumato run`: what goes to stdout, what to stderr, and how it refuses."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file, save_file

import sfumato as library
from sfumato.engine.request import Usage

PROMPT = "answer, then derive: 7*6+3^2"


def test_json_is_one_object_that_agrees_with_the_library(sfumato, checkpoint):
    done = sfumato("run", PROMPT, "--model", checkpoint, "--seed", 3, "--json")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    values = json.loads(done.stdout)
    assert list(values) == ["text", "finish_reason", "seed", "model", "usage"]
    expected = library.load(checkpoint).generate(PROMPT, seed=3)
    assert values["text"] == expected.text
    assert (values["seed"], values["model"], values["finish_reason"]) == (3, str(checkpoint), expected.finish_reason)
    assert values["usage"].keys() == Usage().to_dict().keys()
    counts = {key: value for key, value in expected.usage.to_dict().items() if not key.endswith("_s")}
    assert {key: values["usage"][key] for key in counts} == counts


def test_json_of_several_answers_is_still_one_object(sfumato, checkpoint):
    done = sfumato("run", PROMPT, "--model", checkpoint, "--seed", 3, "--n", 2, "--json")
    values = json.loads(done.stdout)
    assert list(values) == ["results"]
    assert [result["seed"] for result in values["results"]] == [3, 4]
    alone = sfumato("run", PROMPT, "--model", checkpoint, "--seed", 4, "--json")
    assert values["results"][1]["text"] == json.loads(alone.stdout)["text"]


def test_plain_text_on_stdout_and_one_line_of_figures_on_stderr(sfumato, checkpoint):
    arguments = ("run", PROMPT, "--model", checkpoint, "--max-tokens", 20, "--canvas", 8)
    done = sfumato(*arguments)
    values = json.loads(sfumato(*arguments, "--json").stdout)
    assert done.stdout == values["text"] + "\n"
    assert done.stderr.count("\n") == 1
    usage = values["usage"]
    for figure in (
        f"{usage['completion_tokens']} token",
        f"{usage['denoising_steps']} steps",
        f"{usage['forward_passes']} forwards",
        f"{usage['revisions']} revision",
    ):
        assert figure in done.stderr
    assert re.search(r"\d+ ms · \d+ tokens/s end to end", done.stderr)


def test_several_answers_are_told_apart_by_their_seeds(sfumato, checkpoint):
    done = sfumato("run", PROMPT, "--model", checkpoint, "--seed", 5, "--n", 2)
    assert re.findall(r"^--- seed (\d+)$", done.stdout, re.MULTILINE) == ["5", "6"]
    assert done.stderr.startswith("2 answers · ")


def test_settings_reach_the_sampler(sfumato, checkpoint):
    def steps(*options):
        return json.loads(sfumato("run", PROMPT, "--model", checkpoint, "--json", *options).stdout)["usage"]

    # A random model is never sure, so each of the two canvases takes as many steps as it may.
    assert steps()["denoising_steps"] == 2 * 6
    assert steps("--steps", 2)["denoising_steps"] == 2 * 2
    assert steps("--canvas", 24)["canvases"] == 1
    hot, cold = (
        [
            sfumato("run", PROMPT, "--model", checkpoint, "--temperature", t, "--seed", s, "--json").stdout
            for s in (0, 1)
        ]
        for t in (1, 0)
    )
    assert hot != cold


def test_a_dash_reads_the_prompt_from_stdin(sfumato, checkpoint):
    arguments = ("--model", checkpoint, "--no-live")
    assert sfumato("run", "-", *arguments, input=f"{PROMPT}\n").stdout == sfumato("run", PROMPT, *arguments).stdout


def test_the_trace_file_has_every_draft(sfumato, checkpoint, tmp_path):
    path = tmp_path / "deep" / "drafts.jsonl"
    done = sfumato("run", PROMPT, "--model", checkpoint, "--max-tokens", 16, "--trace", path, "--json")
    drafts = [json.loads(line) for line in path.read_text().splitlines()]
    values = json.loads(done.stdout)
    assert "trace" not in values
    assert [draft["step"] for draft in drafts] == list(range(values["usage"]["denoising_steps"] + 1))
    assert drafts[-1]["text"] == values["text"]
    assert [path.name for path in path.parent.iterdir()] == ["drafts.jsonl"]


def test_a_dash_puts_the_trace_into_the_object(sfumato, checkpoint):
    values = json.loads(sfumato("run", PROMPT, "--model", checkpoint, "--trace", "-", "--json").stdout)
    assert values["trace"][-1]["step"] == 6
    assert sfumato("run", PROMPT, "--model", checkpoint, "--trace", "-").exit_code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "0"], "steps is 0; allowed: a whole number, 1 to 1000"),
        (["--steps", "-4"], "steps is -4; allowed: a whole number, 1 to 1000"),
        (["--steps", "1001"], "steps is 1001; allowed: a whole number, 1 to 1000"),
        (["--canvas", "161"], "canvas_length is 161; allowed: 1 to 160, the positions of this model"),
        (["--canvas", "0"], "canvas_length is 0; allowed: 1"),
        (["--sampler", "entrpy"], "unknown sampler 'entrpy'; did you mean 'entropy'? allowed: ancestral, certainty,"),
        (["--sampler", "remdm"], "sampler 'remdm' puts tokens back to the mask"),
        (["--n", "0"], "n is 0; allowed: 1 to"),
        (["--seed", "-1"], "seed is -1; allowed: 0 to"),
        (["--max-tokens", "0"], "max_tokens is 0; allowed: 1 to"),
        (["--temperature", "-0.5"], "is -0.5; allowed: 0 or more"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_asked_is_refused_in_one_line(sfumato, checkpoint, options, message):
    done = sfumato("run", PROMPT, "--model", checkpoint, *options)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("sfumato: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_an_empty_prompt_is_refused(sfumato, checkpoint, prompt):
    done = sfumato("run", prompt, "--model", checkpoint)
    assert (done.exit_code, done.stderr) == (2, "sfumato: the prompt is empty; give some text\n")
    assert sfumato("run", "-", "--model", checkpoint, input=prompt).stderr == done.stderr


def test_an_answer_of_a_given_form(sfumato, checkpoint, tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    arguments = ("run", PROMPT, "--model", checkpoint, "--steps", 2)
    assert json.loads(sfumato(*arguments, "--schema", path).stdout)["a"] >= 3
    assert json.loads(sfumato(*arguments, "--schema", "-", input=json.dumps(schema)).stdout)["a"] >= 3
    assert re.fullmatch("(ab){2,4}\n", sfumato(*arguments, "--regex", "(ab){2,4}").stdout)
    assert sfumato(*arguments, "--choice", "left", "--choice", "right", "--ban", "f").stdout == "right\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--schema", "nowhere.json"), "cannot read the schema nowhere.json: No such file or directory"),
        (("--schema", "-"), "the schema - is not JSON"),
        (("--regex", "("), "the regular expression '(' cannot be taken"),
        (("--choice", ""), "choices is ['']; allowed: one or more texts that are not empty"),
    ],
)
def test_a_form_that_cannot_be_read(sfumato, checkpoint, options, message):
    done = sfumato("run", PROMPT, "--model", checkpoint, *options, input="{")
    assert done.exit_code == 2
    assert message in done.stderr


def test_stdin_that_is_no_text_is_refused(sfumato, checkpoint):
    done = sfumato("run", "-", "--model", checkpoint, input=b"\xff\xfe")
    assert done.exit_code == 2
    assert "stdin" in done.stderr


def test_weights_of_few_bits_or_half_floats(sfumato, checkpoint):
    plain = json.loads(sfumato("run", PROMPT, "--model", checkpoint, "--json").stdout)
    for options in (["--quantize", "int8"], ["--quantize", "int4"], ["--dtype", "bfloat16"]):
        done = sfumato("run", PROMPT, "--model", checkpoint, "--json", *options)
        assert done.exit_code == 0
        assert json.loads(done.stdout)["usage"]["prompt_tokens"] == plain["usage"]["prompt_tokens"]
    assert sfumato("run", PROMPT, "--model", checkpoint, "--quantize", "int3").exit_code == 2


def test_a_raw_prompt_is_continued(sfumato, checkpoint):
    chat, raw = (
        json.loads(sfumato("run", PROMPT, "--model", checkpoint, "--json", *options).stdout)["usage"]["prompt_tokens"]
        for options in ([], ["--raw"])
    )
    assert raw < chat


def test_an_answer_that_the_model_cannot_hold_is_a_failure(sfumato, checkpoint):
    done = sfumato("run", "7 " * 200, "--model", checkpoint, "--max-tokens", 8)
    assert done.exit_code == 1
    assert "this model holds 160 positions" in done.stderr


def test_an_option_of_the_wrong_type_is_usage(sfumato, checkpoint):
    assert sfumato("run", PROMPT, "--model", checkpoint, "--steps", "many").exit_code == 2
    assert sfumato("rum", PROMPT).exit_code == 2


def test_a_model_that_is_not_there(sfumato, tmp_path):
    done = sfumato("run", PROMPT, "--model", tmp_path / "none")
    assert done.exit_code == 1
    assert "unknown model" in done.stderr
    assert sfumato("run", PROMPT, "--model", tmp_path).stderr.startswith(f"sfumato: {tmp_path} holds no config.json")


def test_a_misshapen_checkpoint_names_the_tensors(sfumato, checkpoint, tmp_path):
    broken = shutil.copytree(checkpoint, tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    name = next(name for name, tensor in tensors.items() if tensor.dim() == 2)
    tensors[name] = tensors[name][:, 1:].contiguous()
    save_file(tensors, broken / "model.safetensors")
    done = sfumato("run", PROMPT, "--model", broken)
    assert done.exit_code == 1
    assert "misshapen" in done.stderr
    assert name in done.stderr


def test_a_traceback_only_when_asked(sfumato, checkpoint):
    assert "Traceback" not in sfumato("run", PROMPT, "--model", checkpoint, "--steps", 0).stderr
    done = sfumato("-v", "run", PROMPT, "--model", checkpoint, "--steps", 0)
    assert done.exit_code == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("sfumato: steps is 0")


def test_a_bug_of_ours_is_one_line_and_a_failure(sfumato, checkpoint, monkeypatch):
    monkeypatch.setattr("sfumato.engine.model.TextModel.generate", lambda *args, **settings: 1 / 0)
    done = sfumato("run", PROMPT, "--model", checkpoint)
    assert done.exit_code == 1
    assert done.stderr == "sfumato: unexpected ZeroDivisionError: division by zero; `sfumato -v ...` shows where\n"


def test_a_model_that_gives_nan_is_a_failure(sfumato, checkpoint, monkeypatch):
    from sfumato.models.decoder import Decoder

    logits = Decoder.logits
    monkeypatch.setattr(Decoder, "logits", lambda self, hidden: logits(self, hidden) * torch.nan)
    done = sfumato("run", PROMPT, "--model", checkpoint)
    assert done.exit_code == 1
    assert "NaN" in done.stderr


class Terminal:
    """`sfumato run` with a terminal of 80 columns as its stdout; everything it writes there."""

    def __init__(self, *arguments):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "sfumato", *map(str, arguments)]
        environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}
        self.process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment)
        os.close(theirs)
        self._ours = ours
        self.written = ""

    def read_until(self, pattern: str = "", timeout_s: float = 60.0) -> None:
        """Read until what was written has a match; to the end without a pattern."""
        end = time.monotonic() + timeout_s
        while not (pattern and re.search(pattern, self.written)):
            assert time.monotonic() < end, self.written
            try:
                part = os.read(self._ours, 65536)
            except OSError:
                # Linux says so when the other side is closed.
                break
            if not part:
                break
            self.written += part.decode("utf-8", "replace")

    def close(self) -> tuple[int, str]:
        """The exit code and stderr."""
        self.read_until()
        os.close(self._ours)
        _, stderr = self.process.communicate(timeout=60)
        return self.process.returncode, stderr.decode()


SHOW_CURSOR = "\x1b[?25h"


def test_a_terminal_sees_the_canvas_and_keeps_the_text(sfumato, checkpoint):
    arguments = ("run", PROMPT, "--model", checkpoint, "--max-tokens", 16)
    terminal = Terminal(*arguments)
    code, stderr = terminal.close()
    assert code == 0
    for step in range(7):
        assert f"canvas 1 · step {step}/6" in terminal.written
    shown, text = terminal.written.rsplit(SHOW_CURSOR, 1)
    assert "\x1b[?25l" in shown
    expected = json.loads(sfumato(*arguments, "--json").stdout)["text"]
    seen = "".join(char for char in text if char.isalnum())
    assert seen.endswith("".join(char for char in expected if char.isalnum()))
    assert "tokens/s" in stderr


def test_an_interrupt_restores_the_terminal(checkpoint):
    terminal = Terminal("run", PROMPT, "--model", checkpoint, "--steps", 500, "--max-tokens", 16)
    terminal.read_until(r"step [2-9]/500")
    terminal.process.send_signal(signal.SIGINT)
    code, stderr = terminal.close()
    assert code == 130
    assert SHOW_CURSOR in terminal.written[terminal.written.rindex("\x1b[?25l") :]
    assert "Traceback" not in stderr


def test_any_setting_of_the_sampler_can_be_given(sfumato, checkpoint):
    settings = {"entropy_bound": 2.0, "stable_steps": 3, "budget": "truncated", "adaptive": False}
    given = []
    for key, value in settings.items():
        given += ["--set", f"{key}={json.dumps(value)}"]
    done = sfumato("run", PROMPT, "--model", checkpoint, "--steps", 3, "--json", *given)
    expected = library.load(checkpoint).generate(PROMPT, steps=3, **settings)
    assert json.loads(done.stdout)["text"] == expected.text
    assert json.loads(done.stdout)["usage"]["denoising_steps"] == expected.usage.denoising_steps


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("entropy_bond=2", "did you mean 'entropy_bound'"),
        ("entropy_bound", "has no '='; write key=value"),
        ("entropy_bound=-1", "entropy_bound is -1; allowed: 0 or more"),
        ("seed=3", "unknown setting 'seed'"),
    ],
)
def test_settings_that_are_refused(sfumato, checkpoint, setting, message):
    for command in (("run", PROMPT, "--model"), ("eval",)):
        done = sfumato(*command, checkpoint, "--set", setting)
        assert done.exit_code in (1, 2)
        assert message in done.stderr
