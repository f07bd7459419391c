"""`sfumato chat`: turns, commands, and what a pipe and a terminal see."""

from __future__ import annotations

import json
import re
import shutil
import signal
import stat

import pytest

import sfumato as library
from terminal import Terminal

PROMPT = "answer, then derive: 7*6+3^2"
OTHER = "answer, then derive: 1+1"


@pytest.fixture
def chat(sfumato, talker):
    """Say lines to a model in a pipe."""

    def said(*lines, model=talker, options=()):
        arguments = ("chat", model, "--max-tokens", 16, *options)
        return sfumato(*arguments, input="".join(f"{line}\n" for line in lines))

    return said


def answers(path, *turns, **settings):
    """What the library answers to each of these messages in one conversation."""
    model, messages, found = library.load(path), [], []
    for turn in turns:
        messages.append({"role": "user", "content": turn})
        found.append(model.generate(messages, max_tokens=16, **settings).text)
        messages.append({"role": "assistant", "content": found[-1]})
    return found


def test_piped_lines_are_turns_of_one_conversation(chat, talker):
    done = chat(PROMPT, "", OTHER)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "".join(f"{answer}\n" for answer in answers(talker, PROMPT, OTHER))
    assert done.stderr.count("tokens/s end to end") == 2


def test_model_with_kinds_answers_each_message_alone(chat, talker, tmp_path):
    limited = shutil.copytree(talker, tmp_path / "limited")
    generation = json.loads((limited / "generation_config.json").read_text())
    kind = {"name": "sums", "description": "Adds.", "example": OTHER, "pattern": "answer, then derive: .*"}
    (limited / "generation_config.json").write_text(json.dumps(generation | {"prompt_kinds": [kind]}))
    alone = [answers(limited, turn)[0] for turn in (PROMPT, OTHER)]
    assert alone != answers(limited, PROMPT, OTHER)
    assert chat(PROMPT, OTHER, model=limited).stdout == "".join(f"{answer}\n" for answer in alone)
    assert "sums: " in chat("hello", model=limited).stderr


def test_triple_quotes_join_lines_to_one_turn(chat, talker):
    expected = answers(talker, "one\ntwo", "three")
    done = chat('"""one', 'two"""', '"""', "three", '"""')
    assert done.stdout == "".join(f"{answer}\n" for answer in expected)


def test_commands_change_later_turns(chat, talker):
    first, second = answers(talker, PROMPT, steps=2, seed=7)[0], answers(talker, OTHER, steps=2, seed=7)[0]
    assert chat("/steps 2", "/seed 7", PROMPT).stdout == f"{first}\n"
    assert chat("/steps 2", "/seed 7", PROMPT, "/undo", OTHER).stdout == f"{first}\n{second}\n"
    assert chat("/steps 2", "/seed 7", PROMPT, f"/edit {OTHER}").stdout == f"{first}\n{second}\n"
    assert chat("/steps 3", "/steps", PROMPT).stdout == f"{answers(talker, PROMPT)[0]}\n"
    assert chat("/quit", PROMPT).stdout == ""
    for name in ("help", "model", "steps", "seed", "system", "edit", "undo", "save", "quit"):
        assert f"/{name}" in chat("/help").stderr


def test_another_model_continues_the_conversation(chat, talker, checkpoint):
    done = chat(f"/model {checkpoint}", PROMPT, "/model nowhere", "/model", PROMPT)
    assert done.stdout == "".join(f"{answer}\n" for answer in answers(checkpoint, PROMPT, PROMPT))
    assert done.stderr.count(f"TextModel('{checkpoint}'") == 2
    assert "unknown model 'nowhere'" in done.stderr
    assert done.exit_code == 1


def test_template_without_system_role_refuses(chat, talker, tmp_path):
    expected, plain = answers(talker, PROMPT, system="Be brief.")[0], answers(talker, PROMPT)[0]
    assert expected != plain
    assert chat("/system Be brief.", PROMPT).stdout == f"{expected}\n"
    assert chat(PROMPT, options=("--system", "Be brief.")).stdout == f"{expected}\n"
    refuses = shutil.copytree(talker, tmp_path / "refuses")
    config = json.loads((refuses / "tokenizer_config.json").read_text())
    config["chat_template"] = config["chat_template"].replace('message.role == "system"', "false")
    (refuses / "tokenizer_config.json").write_text(json.dumps(config))
    done = chat("/system Be brief.", PROMPT, "/system", PROMPT, model=refuses)
    assert "unknown role 'system'" in done.stderr
    assert done.stdout == f"{plain}\n"


def test_save_writes_a_document(chat, talker, tmp_path):
    file = tmp_path / "conversation.jsonl"
    assert chat(PROMPT, f"/save {file}").exit_code == 0
    roles = ("user", "assistant")
    contents = (PROMPT, answers(talker, PROMPT)[0])
    turns = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
    assert json.loads(file.read_text()) == {"messages": turns}
    assert file.read_text().count("\n") == 1
    # Another conversation comes after it.
    assert chat(PROMPT, f"/save {file}").exit_code == 0
    assert [json.loads(line) for line in file.read_text().splitlines()] == [{"messages": turns}] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/stpes 3", "unknown command '/stpes'; did you mean '/steps'?"),
        ("/steps 0", "steps is 0; allowed: a whole number, 1 to 1000"),
        ("/steps many", "steps is 'many'; allowed: a whole number"),
        ("/seed -1", "seed is '-1'; allowed: a whole number, 0 to 4611686018427387903"),
        (f"/seed {2**62}", "seed is 4611686018427387904; allowed: a whole number"),
        ("/undo", "there is nothing to undo"),
        ("/edit", "there is no message to edit yet"),
        ("/save", "save is ''; allowed: a file in an existing directory"),
        ("/save nowhere/file", "save is 'nowhere/file'; allowed: a file in an existing directory"),
        ("7 " * 200, "the prompt has 402 tokens; allowed: at most 159"),
    ],
)
def test_failed_commands_leave_the_conversation(chat, talker, line, message):
    done = chat(line, PROMPT)
    assert message in done.stderr
    assert done.stdout == f"{answers(talker, PROMPT)[0]}\n"
    assert done.exit_code == 1


def test_first_turns_are_dropped_without_room(chat, talker):
    turns = [f"{i} " * 30 for i in range(4)]
    done = chat(*turns)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") >= 4
    assert "2 messages are left out: they do not fit into the context" in done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory, talker, checkpoint):
    """One that has two models."""
    serving = pytest.importorskip("serving", reason="the server is an extra")
    models = {"talker": str(talker), "small": str(checkpoint)}
    yield from serving.start(tmp_path_factory.mktemp("server"), models=models)


def test_server_answers_as_local_model(sfumato, chat, server, talker, checkpoint):
    def both(*lines, options=()):
        here = chat(*lines, options=options)
        there = sfumato(
            "chat", "--url", server.url, "--max-tokens", 16, *options, input="".join(f"{line}\n" for line in lines)
        )
        assert (there.stdout, there.exit_code) == (here.stdout, here.exit_code), (there.stderr, here.stderr)
        assert there.stderr.count("tokens/s end to end") == here.stderr.count("tokens/s end to end")
        return there

    both(PROMPT, OTHER, f"/edit {PROMPT}", "/undo", "/steps 2", "/seed 7", OTHER, "/steps", "/undo", PROMPT)
    both(PROMPT, options=("--set", "entropy_bound=0.3", "--temperature", 0.5, "--stop", "a"))
    assert "2 messages are left out" in both(*[f"{i} " * 30 for i in range(4)]).stderr
    assert "the prompt has 402 tokens; allowed: at most 159" in both("7 " * 200, PROMPT).stderr
    both("/system Be brief.", PROMPT, "/system", PROMPT)
    done = sfumato("chat", "--url", server.url, "--max-tokens", 16, input=f"/model smal\n/model small\n{PROMPT}\n")
    assert done.stdout == f"{answers(checkpoint, PROMPT)[0]}\n"
    assert "unknown model 'smal'; did you mean 'small'?" in done.stderr
    assert f"small at {server.url}" in done.stderr
    named = sfumato("chat", "small", "--url", server.url, "--max-tokens", 16, input=f"{PROMPT}\n")
    assert named.stdout == done.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("--url", "http://127.0.0.1:9"), "nothing answers at http://127.0.0.1:9", 1),
        (("--url", "nowhere"), "base_url is 'nowhere'; allowed: such as", 2),
        (("--url", "http://127.0.0.1:9", "--quantize", "int8"), "quantize is given; allowed: only without --url", 2),
        (("--api-key", "sfu-1"), "api_key is given; allowed: only with --url", 2),
    ],
)
def test_unsupported_with_a_server(sfumato, arguments, message, code):
    done = sfumato("chat", *arguments, input="hi\n")
    assert message in done.stderr
    assert done.exit_code == code


def test_server_drafts_are_drawn_and_interrupt_cancels(server, talker, tmp_path):
    terminal = conversation("--url", server.url, "--steps", 900, "--max-tokens", 16, cache=tmp_path)
    assert f"talker at {server.url} · /help" in terminal.written
    terminal.type(f"{PROMPT}\n")
    terminal.read_until(r"step [1-9]\d*/900")
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("cancelled; Ctrl-D leaves[^>]*> ")
    server.wait_until_idle("talker")
    terminal.type(f"/steps 2\n{OTHER}\n")
    terminal.read_until("tokens/s[^>]*> ")
    terminal.type("/quit\n")
    assert terminal.close()[0] == 0
    expected = answers(talker, OTHER, steps=2)[0]
    seen = re.sub(r"\W", "", terminal.written.rsplit("\x1b[?25h", 1)[1])
    assert re.sub(r"\W", "", expected) in seen


def conversation(*arguments, cache):
    """A chat in a terminal, asked for a first time."""
    terminal = Terminal(
        "chat", *arguments, streams=("stdin", "stdout", "stderr"), environment={"SFUMATO_CACHE": str(cache)}
    )
    terminal.read_until("> ")
    return terminal


def test_an_interrupt_cancels_the_answer_and_not_the_session(talker, tmp_path):
    terminal = conversation(talker, "--steps", 900, "--max-tokens", 16, cache=tmp_path)
    terminal.type(f"{PROMPT}\n")
    terminal.read_until(r"step [1-9]\d*/900")
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("cancelled; Ctrl-D leaves[^>]*> ")
    terminal.type("/steps 2\n")
    terminal.type(f"{OTHER}\n")
    terminal.read_until("tokens/s[^>]*> ")
    terminal.process.send_signal(signal.SIGINT)
    # Python's readline does not notice a signal that comes just before it waits; the next one it does.
    terminal.read_until("cancelled(.|\n)*cancelled[^>]*> ", again=lambda: terminal.process.send_signal(signal.SIGINT))
    terminal.type("\x04")
    code, *_ = terminal.close()
    assert code == 0
    assert "Traceback" not in terminal.written
    # The message whose answer was cancelled is forgotten.
    expected = answers(talker, OTHER, steps=2)[0]
    seen = re.sub(r"\W", "", terminal.written.rsplit("\x1b[?25h", 1)[1])
    assert re.sub(r"\W", "", expected) in seen


def test_history_is_kept(talker, tmp_path):
    pytest.importorskip("readline")
    file = tmp_path / "chat_history"
    terminal = conversation(talker, "--steps", 2, cache=tmp_path)
    terminal.type("/seed 51\n/quit\n")
    assert terminal.close()[0] == 0
    assert file.read_text().splitlines() == ["/seed 51", "/quit"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    terminal = conversation(talker, "--steps", 2, cache=tmp_path)
    terminal.type("\x1b[A\x1b[A")
    terminal.read_until("seed 51")
    # What stands in the line now is taken as typed.
    terminal.type("9\n/quit\n")
    assert terminal.close()[0] == 0
    assert file.read_text().splitlines() == ["/seed 51", "/quit", "/seed 519", "/quit"]
