"""`sfumato run`: what goes to stdout, what to stderr, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import sfumato as library
from sfumato.engine.engine import Engine
from sfumato.engine.request import CanvasChanged, Request, Usage
from sfumato.errors import RequestError
from sfumato.text.tokenizer import Tokenizer
from terminal import Terminal

PROMPT = "answer, then derive: 7*6+3^2"


def test_json_agrees_with_the_library(sfumato, checkpoint):
    done = sfumato("run", PROMPT, "--model", checkpoint, "--seed", 3, "--json")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    values = json.loads(done.stdout)
    assert list(values) == ["text", "finish_reason", "certainty", "seed", "model", "usage"]
    expected = library.load(checkpoint).generate(PROMPT, seed=3)
    assert values["text"] == expected.text
    assert (values["seed"], values["model"], values["finish_reason"]) == (3, str(checkpoint), expected.finish_reason)
    assert values["usage"].keys() == Usage().to_dict().keys()
    counts = {key: value for key, value in expected.usage.to_dict().items() if not key.endswith("_s")}
    assert {key: values["usage"][key] for key in counts} == counts


def test_json_of_several_answers_is_one_object(sfumato, checkpoint):
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
    figures, *more = done.stderr.splitlines()
    usage = values["usage"]
    unsettled = "sfumato: the answer had not settled when the steps ran out, and may be noise"
    assert more == [unsettled] * bool(usage["unsettled"])
    for figure in (
        f"{usage['completion_tokens']} token",
        f"{usage['denoising_steps']} steps",
        f"{usage['forward_passes']} forwards",
        f"{usage['revisions']} revision",
    ):
        assert figure in figures
    assert re.search(r"\d+ ms · \d+ tokens/s end to end · loaded in \d+\.\d s", figures)


def test_unsettled_answers_are_reported(sfumato, checkpoint):
    arguments = ("run", PROMPT, "--model", checkpoint, "--n", 2)
    done = sfumato(*arguments, "--steps", 2)
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1].startswith("sfumato: 2 of 2 answers had not settled")
    assert "settled" not in sfumato(*arguments, "--steps", 2, "--set", "adaptive=false").stderr
    assert sfumato(*arguments, "--steps", 2, "--json").stderr == ""


def test_unknown_kind_of_prompt_is_refused(sfumato, checkpoint, tmp_path):
    kind = {"name": "sum", "description": "Adds.", "example": "7*6+3^2", "pattern": "[-+*/^0-9]+"}
    model = shutil.copytree(checkpoint, tmp_path / "small")
    defaults = json.loads((model / "generation_config.json").read_text())
    (model / "generation_config.json").write_text(json.dumps(defaults | {"prompt_kinds": [kind]}))
    done = sfumato("run", "hello", "--model", model)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{model} was not trained on prompts like 'hello'" in done.stderr
    assert "\n  sum: '7*6+3^2'\n" in done.stderr
    assert "--any-prompt" in done.stderr
    for arguments in (("7*6",), ("hello", "--any-prompt"), ("hello", "--raw")):
        assert sfumato("run", *arguments, "--model", model).exit_code == 0
    # Noise to a prompt that looks like one it knows: with the example that it does know.
    assert (
        "trained on prompts such as\n  sum: '7*6+3^2'\n" in sfumato("run", "7*6", "--model", model, "--steps", 2).stderr
    )
    assert "such as" not in sfumato("run", "hello", "--any-prompt", "--model", model, "--steps", 2).stderr
    with pytest.raises(RequestError, match="check_prompt=False"):
        library.load(model).generate("hello")
    assert library.load(model).generate("hello", check_prompt=False, seed=1).seed == 1


def test_refusals_come_before_loading(sfumato, checkpoint, tmp_path):
    """Of a checkpoint whose weights are missing, that is all that is said."""
    for path in checkpoint.iterdir():
        if path.suffix != ".safetensors":
            shutil.copy(path, tmp_path)
    for arguments, message in (
        ([""], "the prompt is empty"),
        (["x", "--sampler", "none"], "unknown sampler 'none'"),
        (["x", "--canvas", 500], "canvas_length is 500; allowed: 1 to 160"),
        (["x", "--max-tokens", 5000], "this model holds 160 positions"),
    ):
        done = sfumato("run", *arguments, "--model", tmp_path)
        assert done.exit_code in (1, 2)
        assert message in done.stderr
        assert "safetensors" not in done.stderr
    assert "safetensors" in sfumato("run", "x", "--model", tmp_path).stderr


def test_several_answers_have_seeds(sfumato, checkpoint):
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


def test_dash_reads_prompt_from_stdin(sfumato, checkpoint):
    arguments = ("--model", checkpoint, "--no-live")
    assert sfumato("run", "-", *arguments, input=f"{PROMPT}\n").stdout == sfumato("run", PROMPT, *arguments).stdout


def test_the_trace_file_has_every_draft(sfumato, checkpoint, tmp_path):
    path = tmp_path / "deep" / "drafts.jsonl"
    path.parent.mkdir()
    done = sfumato("run", PROMPT, "--model", checkpoint, "--max-tokens", 16, "--trace", path, "--json")
    drafts = [json.loads(line) for line in path.read_text().splitlines()]
    values = json.loads(done.stdout)
    assert "trace" not in values
    assert [draft["step"] for draft in drafts] == list(range(values["usage"]["denoising_steps"] + 1))
    assert drafts[-1]["text"] == values["text"]
    assert [path.name for path in path.parent.iterdir()] == ["drafts.jsonl"]


def test_trace_into_missing_directory(sfumato, checkpoint, tmp_path):
    done = sfumato("run", PROMPT, "--model", checkpoint, "--trace", tmp_path / "none" / "drafts.jsonl")
    assert done.exit_code == 2
    assert "none/drafts.jsonl'; allowed: a file in an existing directory" in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_dash_puts_trace_into_json(sfumato, checkpoint):
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
        (["--canvas", "0"], "canvas_length is 0; allowed: a whole number, 1 to"),
        (["--sampler", "entrpy"], "unknown sampler 'entrpy'; did you mean 'entropy'? allowed: ancestral, certainty,"),
        (["--sampler", "remdm"], "sampler 'remdm' returns tokens to the mask"),
        (["--n", "0"], "n is 0; allowed: a whole number, 1 to"),
        (["--seed", "-1"], "seed is -1; allowed: a whole number, 0 to"),
        (["--max-tokens", "0"], "max_tokens is 0; allowed: a whole number, 1 to"),
        (["--temperature", "-0.5"], "is -0.5; allowed: 0 to 1000"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals_are_one_line(sfumato, checkpoint, options, message):
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


def test_constrained_answer(sfumato, checkpoint, tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    arguments = ("run", PROMPT, "--model", checkpoint, "--steps", 2)
    assert json.loads(sfumato(*arguments, "--schema", path).stdout)["a"] >= 3
    assert json.loads(sfumato(*arguments, "--schema", "-", input=json.dumps(schema)).stdout)["a"] >= 3
    assert re.fullmatch("(ab){2,4}\n", sfumato(*arguments, "--regex", "(ab){2,4}").stdout)
    written = sfumato(*arguments, "--grammar", "-", input='root ::= "a" root? "b"').stdout
    assert re.fullmatch("a+b+\n", written)
    assert written.count("a") == written.count("b")
    assert sfumato(*arguments, "--choice", "left", "--choice", "right", "--ban", "f").stdout == "right\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--schema", "nowhere.json"), "cannot read the schema nowhere.json: No such file or directory"),
        (("--schema", "-"), "the schema - is not JSON"),
        (("--regex", "("), "the regular expression '(' cannot be read at character 1"),
        (("--choice", ""), "choices is ['']; allowed: one or more non-empty strings"),
    ],
)
def test_invalid_constraint(sfumato, checkpoint, options, message):
    done = sfumato("run", PROMPT, "--model", checkpoint, *options, input="{")
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_answer_ends_before_a_stop_string(sfumato):
    whole = sfumato("run", PROMPT).stdout
    done = sfumato("run", PROMPT, "--stop", "no such text", "--stop", "\n7")
    assert done.stdout == whole[: whole.index("\n7")] + "\n"
    assert sfumato("run", PROMPT, "--stop", "", "--model", "tiny").exit_code == 2


def test_a_system_message_reaches_the_chat_template(sfumato, checkpoint, tmp_path):
    refused = sfumato("run", PROMPT, "--model", "tiny", "--system", "Be brief.")
    assert refused.exit_code == 2
    assert "unknown role 'system'; allowed: assistant, user" in refused.stderr
    takes_one = shutil.copytree(checkpoint, tmp_path / "takes-one")
    config = json.loads((takes_one / "tokenizer_config.json").read_text())
    config["chat_template"] = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    (takes_one / "tokenizer_config.json").write_text(json.dumps(config))

    def usage(*options):
        return json.loads(sfumato("run", "7", "--model", takes_one, "--json", *options).stdout)["usage"]

    tokenizer = Tokenizer.of(takes_one)
    assert usage()["prompt_tokens"] == len(tokenizer.encode("user: 7\n"))
    assert usage("--system", "9")["prompt_tokens"] == len(tokenizer.encode("system: 9\nuser: 7\n"))


def test_missing_device(sfumato, checkpoint, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a <FILL> b\n")
    for command in (("run", "x", "--model"), ("edit", file, "--model"), ("infill", file, "--model"), ("eval",)):
        assert sfumato(*command, checkpoint, "--device", "tpu").exit_code == 2
        assert "tpu" in sfumato(*command, checkpoint, "--device", "tpu").stderr


def test_binary_stdin_is_refused(sfumato, checkpoint):
    done = sfumato("run", "-", "--model", checkpoint, input=b"\xff\xfe")
    assert done.exit_code == 2
    assert "stdin" in done.stderr


def test_quantized_and_half_precision_weights(sfumato, checkpoint):
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


def test_too_long_answer_fails(sfumato, checkpoint):
    done = sfumato("run", "7 " * 200, "--model", checkpoint, "--max-tokens", 8)
    assert done.exit_code == 1
    assert "the prompt has 402 tokens; allowed: at most 159" in done.stderr


def test_wrong_option_type_is_a_usage_error(sfumato, checkpoint):
    assert sfumato("run", PROMPT, "--model", checkpoint, "--steps", "many").exit_code == 2
    assert sfumato("rum", PROMPT).exit_code == 2


def test_missing_model(sfumato, tmp_path):
    done = sfumato("run", PROMPT, "--model", tmp_path / "none")
    assert done.exit_code == 1
    assert f"no such file or directory: {tmp_path / 'none'}; allowed" in done.stderr
    assert "no such file or directory: none.gguf" in sfumato("run", PROMPT, "--model", "none.gguf").stderr
    assert sfumato("run", PROMPT, "--model", tmp_path).stderr.startswith(f"sfumato: {tmp_path} holds no config.json")


def test_mismatched_checkpoint_names_the_tensors(sfumato, checkpoint, tmp_path):
    broken = shutil.copytree(checkpoint, tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    name = next(name for name, tensor in tensors.items() if tensor.dim() == 2)
    tensors[name] = tensors[name][:, 1:].contiguous()
    save_file(tensors, broken / "model.safetensors")
    done = sfumato("run", PROMPT, "--model", broken)
    assert done.exit_code == 1
    assert "misshapen" in done.stderr
    assert name in done.stderr


def test_traceback_only_on_request(sfumato, checkpoint):
    assert "Traceback" not in sfumato("run", PROMPT, "--model", checkpoint, "--steps", 0).stderr
    done = sfumato("-v", "run", PROMPT, "--model", checkpoint, "--steps", 0)
    assert done.exit_code == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("sfumato: steps is 0")


def test_internal_error_is_one_line(sfumato, checkpoint, monkeypatch):
    monkeypatch.setattr("sfumato.engine.model.TextModel.stream", lambda *args, **settings: 1 / 0)
    done = sfumato("run", PROMPT, "--model", checkpoint)
    assert done.exit_code == 1
    assert (
        done.stderr == "sfumato: unexpected ZeroDivisionError: division by zero; run `sfumato -v ...` for a traceback\n"
    )


def test_nan_logits_fail(sfumato, checkpoint, monkeypatch):
    from sfumato.models.decoder import Decoder

    logits = Decoder.logits
    monkeypatch.setattr(Decoder, "logits", lambda self, hidden: logits(self, hidden) * torch.nan)
    done = sfumato("run", PROMPT, "--model", checkpoint)
    assert done.exit_code == 1
    assert "NaN" in done.stderr


SHOW_CURSOR = "\x1b[?25h"


def test_terminal_shows_canvas_and_keeps_text(sfumato, checkpoint):
    arguments = ("run", PROMPT, "--model", checkpoint, "--max-tokens", 16)
    terminal = Terminal(*arguments)
    code, _, stderr = terminal.close()
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
    code, _, stderr = terminal.close()
    assert code == 130
    assert SHOW_CURSOR in terminal.written[terminal.written.rindex("\x1b[?25l") :]
    assert "Traceback" not in stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("n", [1, 2])
def test_a_signal_keeps_the_draft(sfumato, checkpoint, monkeypatch, number, code, n):
    take, seen = Engine.take, []

    def interrupted(self, request_id):
        events = list(take(self, request_id))
        seen.extend(events)
        if len(seen) > 8:
            signal.raise_signal(number)
        return events

    monkeypatch.setattr(Engine, "take", interrupted)
    given = ("run", PROMPT, "--model", checkpoint, "--steps", 500, "--max-tokens", 16, "--set", "adaptive=false")
    done = sfumato(*given, "--n", n)
    drafts = {event.variation: event.text for event in seen if isinstance(event, CanvasChanged)}
    assert done.exit_code == code
    assert done.stdout == "".join(f"--- seed {i}\n{drafts[i]}\n" if n > 1 else f"{drafts[i]}\n" for i in sorted(drafts))
    assert done.stderr.endswith("sfumato: interrupted: partial text\n")

    seen.clear()
    done = sfumato(*given, "--n", n, "--json")
    answers = json.loads(done.stdout)
    for answer in answers["results"] if n > 1 else [answers]:
        assert answer["finish_reason"] == "cancelled"
        assert 0 < answer["usage"]["forward_passes"] < 500
    assert done.exit_code == code


def run_shell(command):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", command], env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("run - <&-", 2, "sfumato: the prompt is empty; give some text\n"),
        ("run 7+8 >&-", 1, "sfumato: stdout is closed; send it to a file, a pipe or /dev/null\n"),
        ("--help >&-", 1, "sfumato: stdout is closed; send it to a file, a pipe or /dev/null\n"),
        pytest.param(
            "--help >/dev/full",
            1,
            "sfumato: no space left on the device\n",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full"),
        ),
    ],
)
def test_closed_stdout_is_reported(command, code, message):
    done = run_shell(f"python -m sfumato {command}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", message)


def test_closed_stderr_keeps_the_answer(checkpoint):
    done = run_shell(f"python -m sfumato run 7+8 --model {checkpoint} 2>&-")
    assert done.returncode == 0
    assert done.stdout.strip()


def test_any_setting_of_the_sampler_can_be_given(sfumato, checkpoint):
    settings = {"entropy_bound": 2.0, "stable_steps": 3, "top_k": 7, "adaptive": False}
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
def test_refused_settings(sfumato, checkpoint, setting, message):
    for command in (("run", PROMPT, "--model"), ("eval",)):
        done = sfumato(*command, checkpoint, "--set", setting)
        assert done.exit_code in (1, 2)
        assert message in done.stderr


def test_seed_steps_and_schema_reach_the_engine(sfumato, checkpoint, tmp_path, monkeypatch):
    asked: list[Request] = []
    run = Engine.run

    def spied(self: Engine, requests: list[Request], **settings: Any) -> Any:
        asked.extend(requests)
        return run(self, requests, **settings)

    monkeypatch.setattr(Engine, "run", spied)
    schema = tmp_path / "schema.json"
    schema.write_text('{"enum": [7, 8]}')
    done = sfumato(
        "run", "hi", "--model", checkpoint, "--seed", 7, "--steps", 3, "--schema", schema, "--set", "top_k=5"
    )
    assert done.exit_code == 0, done.stderr
    [request] = asked
    assert (request.seed, request.sampler.steps, request.sampler.top_k) == (7, 3, 5)
    assert request.automaton is not None
    assert done.stdout.strip() in ("7", "8")


def test_options_are_typed():
    """From the command line to the request; what --set gives is checked by name before it joins them."""
    root = Path(str(library.__file__)).parent
    modules = ("cli/run", "cli/edit", "cli/chat", "cli/evaluate", "engine/model", "engine/options", "engine/rewriting")
    for name in (*modules, "engine/languages", "engine/request", "evaluation/tasks"):
        assert "dict[str, Any]" not in (root / f"{name}.py").read_text(encoding="utf-8"), name


def test_verbose_shows_where_a_sampler_failed(tmp_path: Path):
    source = """
        from sfumato import Sampler


        class Mine(Sampler):
            name = "mine"

            def accept(self, turn):
                return 1 / 0
    """
    (tmp_path / "mine.py").write_text(textwrap.dedent(source))
    command = [sys.executable, "-m", "sfumato", "-v", "run", "answer, then derive: 7*6", "--sampler", "mine:Mine"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1
    assert 'mine.py", line 9, in accept' in done.stderr
    assert "ZeroDivisionError: division by zero; the answer ends there" in done.stderr
