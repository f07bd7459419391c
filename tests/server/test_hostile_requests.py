"""Hostile requests are refused by name and do not affect others."""

from __future__ import annotations

import asyncio
import json
import logging
import operator
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from serving import EXPRESSION, Served, start
from sfumato.constraints.automaton import make_automaton
from sfumato.constraints.dfa import from_choices
from sfumato.constraints.regex import from_regex
from sfumato.engine.async_engine import AsyncEngine
from sfumato.engine.engine import Engine
from sfumato.engine.languages import Languages
from sfumato.engine.request import Request, Result, Usage
from sfumato.errors import BusyError, RequestError
from sfumato.server import compiling
from sfumato.server.bodies import read_json
from sfumato.server.compiling import Compiler
from sfumato.server.failures import ApiError
from sfumato.server.hosting import Host, HostedModel

TOKENS, EOS = [bytes([byte]) for byte in range(256)] + [None], (256,)
CHAT = "/v1/chat/completions"
TURNS = json.dumps([{"role": "user", "content": EXPRESSION}])


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("[" * 40_000, "is nested too deeply"),
        ('{"a":' * 40_000, "is nested too deeply"),
        (
            '{"messages": %s, "stop": [' + '"a",' * 60_000 + '"a"]}',
            "about 60,007 values, most of them in stop; allowed: 50,000",
        ),
        ('{"messages": %s, "temperature": NaN}', "NaN"),
        ('{"messages": %s, "temperature": 1e999}', "temperature"),
        ('{"messages": %s, "seed": ' + "9" * 5000 + "}", "too long"),
        ('{"messages": %s, "seed": ' + "9" * 400 + "}", "seed"),
        ('{"messages": %s, "seed": 1', "not JSON"),
        ('{"messages": [{"role": "user", "content": "\\ud800"}]}', "messages.0.content"),
        ('{"messages": %s, "stop": ["a", "\\udfff b"]}', "stop.1"),
        ('{"messages": %s, "metadata": {"\\ud800": "a"}}', "a name in metadata"),
        ('{"messages": %s, "stop": 5}', "stop"),
        ('{"messages": %s, "temperature": 1e308}', "temperature"),
        ('{"messages": %s, "diffusion": {"settings": {"adaptive": "x"}}}', "adaptive"),
        ('{"messages": %s, "diffusion": {"settings": {"sampler": 3}}}', "sampler"),
        ('{"messages": %s, "diffusion": {"pin": [' + "[0, 1]," * 5000 + "[0, 1]]}}", "pin"),
        ('{"messages": %s, "diffusion": {"canvas_length": [1]}}', "diffusion.canvas_length"),
        ('{"messages": %s, "model": "' + "x" * 100_000 + '"}', "model"),
        (
            '{"messages": %s, "response_format": {"type": "regex", "regex": "(a|b)*a(a|b){20}"}}',
            "regex regex takes more",
        ),
        ('{"messages": %s, "response_format": {"type": "choices", "choices": []}}', "choices"),
    ],
)
def test_refused_bodies(served: Served, body: str, named: str):
    content = body.replace("%s", TURNS).encode()
    response = served.http.post(CHAT, content=content, headers={"content-type": "application/json"})
    assert response.status_code in (400, 404), response.text
    assert response.headers["x-request-id"]
    error = response.json()["error"]
    assert named in f"{error['param']} {error['message']}"
    assert len(response.content) < 2000
    assert served.chat(max_tokens=2).status_code == 200


@pytest.mark.parametrize("pair", ["\\ud83d\\ude00", "\\\\ud800"])
def test_surrogate_pairs_and_lookalikes_pass(served: Served, pair: str):
    content = f'{{"prompt": "{pair}", "max_tokens": 1, "diffusion": {{"check_prompt": false}}}}'.encode()
    response = served.http.post("/v1/completions", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("body", [b'"\xed\xa0\x80"', '"a"'.encode("utf-16")])
def test_bodies_are_utf_8(body: bytes):
    with pytest.raises(ApiError, match="not UTF-8"):
        read_json(body)


def test_values_within_texts_are_not_counted():
    value = {"a": ['[{",\\' * 20_000, "\\"], "b": ',"' * 60_000}
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/v1/canvas", {"text": "x" * 20_001}, "20,000"),
        ("/v1/canvas", {"text": "x" * 200_001, "spans": [[0, 1]]}, "200,000"),
        ("/v1/edit/completions", {"messages": [{"role": "user", "content": "<|code_to_edit|>" * 100_000}]}, "messages"),
        ("/v1/fim/completions", {"prompt": "a", "suffix": "b", "n": 0}, "n is 0"),
        ("/v1/completions", {"prompt": "a", "suffix": "b", "n": -1}, "n is -1"),
    ],
)
def test_too_expensive_requests_are_refused(served: Served, path: str, body: dict[str, Any], named: str):
    response = served.ask(path, **body)
    assert response.status_code == 400
    assert named in response.json()["error"]["message"]


def test_one_refused_prompt_cancels_the_others(tmp_path: Path):
    from sfumato.engine.engine import EngineConfig

    for served in start(tmp_path, config=EngineConfig(max_rows=1, max_queue=4)):
        response = served.ask("/v1/completions", prompt=["1+1="] * 40, max_tokens=64)
        assert response.status_code == 429
        served.wait_until_idle()
        assert served.ask("/v1/completions", prompt=["1+1="], max_tokens=2).status_code == 200


def test_request_that_cannot_start_fails_alone(served: Served, monkeypatch: pytest.MonkeyPatch):
    open_canvases = Engine._open_canvases

    def failing(self: Engine, sequences: list[Any]) -> None:
        if any(sequence.seed == 13 for sequence in sequences):
            raise ValueError("a bug")
        open_canvases(self, sequences)

    monkeypatch.setattr(Engine, "_open_canvases", failing)

    async def ask() -> list[Any]:
        async def one(seed: int) -> Any:
            return await asyncio.to_thread(lambda: served.chat(seed=seed))

        return await asyncio.gather(*map(one, (12, 13, 14)))

    assert [response.status_code for response in asyncio.run(ask())] == [200, 500, 200]


def test_crashed_engine_is_replaced(served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    def failing(self: Engine) -> None:
        raise ValueError(EXPRESSION)

    before = served.host.loaded["tiny"]
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "step", failing)
        streamed = served.chat(stream=True)
        assert '"unexpected ValueError"' in streamed.text
        assert any("unexpected ValueError" in record.getMessage() for record in caplog.records)
        response = served.chat()
    assert response.status_code == 500
    assert response.json()["error"]["message"] == "unexpected ValueError"
    # Neither the answer nor the log says what was asked.
    assert EXPRESSION not in response.text
    assert any("ValueError" in record.getMessage() for record in caplog.records)
    assert EXPRESSION not in caplog.text
    assert served.chat().status_code == 200
    assert served.host.loaded["tiny"] is not before


def test_an_answer_that_a_shutdown_leaves_empty_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch):
    async def cancelled(self: AsyncEngine, request: Request, **more: Any) -> list[Result]:
        return [Result(text="", tokens=(), finish_reason="cancelled", seed=0, model="tiny", usage=Usage())]

    monkeypatch.setattr(AsyncEngine, "generate", cancelled)
    refused = served.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")


def test_unknown_methods_count_as_one(served: Served):
    for method in ("PROPFIND", "MKCALENDAR"):
        assert served.http.request(method, "/v1/models").status_code == 405
    assert "PROPFIND" not in served.http.get("/metrics").text


def test_requests_are_not_logged(served: Served, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, logger="sfumato"):
        served.chat("secret prompt")
        served.http.get("/v1/canvas/secret", headers={"Authorization": "Bearer secret"})
        served.http.get("/secret?key=secret")
        # What is logged of a request comes after its answer.
        end = time.monotonic() + 600
        while len(caplog.records) < 3:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert "secret" not in caplog.text


def test_schemas_compile_outside_the_server_threads(served: Served, monkeypatch: pytest.MonkeyPatch):
    def failing(*_: object) -> None:
        raise AssertionError("in this process")

    monkeypatch.setattr(Languages, "_make_here", failing)
    asked: dict[str, Any] = {
        "/v1/canvas": {"prompt": EXPRESSION, "regex": "[cd]{3}"},
        "/v1/completions": {"prompt": "1+1=", "diffusion": {"regex": "[de]{3}"}},
        "/v1/responses": {"input": EXPRESSION, "diffusion": {"regex": "[ef]{3}"}},
        CHAT: {"messages": json.loads(TURNS), "diffusion": {"choices": ["only this"]}},
    }
    for path, body in asked.items():
        for streamed in (False, True):
            response = served.ask(path, **body, stream=streamed)
            assert response.status_code == 200, response.text
            assert "in this process" not in response.text
            assert "AssertionError" not in response.text


def test_waiting_schemas_do_not_delay_others(served: Served):
    compiler = served.host.loaded["tiny"]._compiler
    num = min(compiling.MAX_WAITING + 1, (os.cpu_count() or 1) + 4)
    with ThreadPoolExecutor(num) as pool:
        with compiler._turn:
            waiting = [pool.submit(served.chat, diffusion={"regex": f"[gh]{{{i + 2}}}"}) for i in range(num)]
            while compiler._room._value > compiling.MAX_WAITING + 1 - num:
                time.sleep(0.01)
            plain = {"messages": json.loads(TURNS), "max_tokens": 1}
            assert served.http.post(CHAT, json=plain, timeout=60).status_code == 200
        assert {each.result().status_code for each in waiting} == {200}


@pytest.fixture
def compiler() -> Any:
    made = Compiler(TOKENS, EOS)
    yield made
    made.close()


def test_compiler_process_makes_equal_automata(compiler: Compiler):
    for maker in (partial(from_regex, "a{3}(b|c)*"), partial(from_choices, ["yes", "no"])):
        here, there = make_automaton([maker], TOKENS, EOS), compiler.make([maker])
        assert here is not None
        assert there is not None
        assert (here.num_states, here.class_V.tolist()) == (there.num_states, there.class_V.tolist())
    assert compiler.make([partial(from_regex, "a"), partial(from_regex, "b")]) is None


@pytest.mark.parametrize("maker", [partial(from_regex, "(a|b)*a(a|b){20}"), partial(from_choices, ["\ud800"])])
def test_compiler_errors_are_passed_on(compiler: Compiler, maker: Callable[..., Any]):
    with pytest.raises(RequestError):
        compiler.make([maker])
    assert compiler.make([partial(from_regex, "a")]) is not None


def test_hanging_compilation_is_killed(compiler: Compiler, monkeypatch: pytest.MonkeyPatch):
    compiler.make([partial(from_regex, "a")])
    monkeypatch.setattr(compiling, "_SECONDS", 0.1)
    with pytest.raises(RequestError, match="memory or time"):
        compiler.make([partial(operator.contains, range(10**15))])
    monkeypatch.setattr(compiling, "_SECONDS", 600.0)
    assert compiler.make([partial(from_regex, "b")]) is not None


# Counting to the end of this range takes weeks, and no other thread of the process runs meanwhile.
COMPILING = """
from functools import partial
import operator, pickle
from sfumato.server.compiling import Compiler
process = Compiler([b"a", None], (1,))._started()
pickle.dump([partial(print, flush=True), partial(operator.contains, range(10**15))], process.stdin)
process.stdin.flush()
process.stdout.readline()
print(process.pid, flush=True)
input()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="waits for a process that is not a child")
def test_compiler_ends_with_its_parent():
    parent = subprocess.Popen([sys.executable, "-c", COMPILING], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    compiler = os.pidfd_open(number)
    parent.kill()
    parent.communicate()
    # Readable when the process has ended.
    ended = select.select([compiler], [], [], 30)[0]
    os.close(compiler)
    if not ended:
        os.kill(number, signal.SIGKILL)
    assert ended


def test_a_client_that_leaves_during_a_load_leaves_no_process(monkeypatch: pytest.MonkeyPatch):
    loading: list[HostedModel] = []
    start = HostedModel.start

    async def run() -> None:
        host, begun, left = Host({"tiny": "tiny"}), asyncio.Event(), asyncio.Event()

        async def held(hosted: HostedModel) -> None:
            await start(hosted)
            loading.append(hosted)
            begun.set()
            await left.wait()

        monkeypatch.setattr(HostedModel, "start", held)
        using = asyncio.ensure_future(host.use("tiny"))
        await begun.wait()
        using.cancel()
        with pytest.raises(asyncio.CancelledError):
            await using
        left.set()
        await host.close()

    asyncio.run(run())
    [hosted] = loading
    assert (hosted._compiler._process, hosted.answering._thread) == (None, None)


def test_excess_compilations_get_retry_after(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiling, "MAX_WAITING", 0)
    compiler = Compiler(TOKENS, EOS)
    with compiler._turn:
        waiting = threading.Thread(target=compiler.make, args=([partial(from_regex, "a")],))
        waiting.start()
        while compiler._room._value:
            pass
        with pytest.raises(BusyError):
            compiler.make([partial(from_regex, "a")])
    waiting.join()
    assert compiler.make([partial(from_regex, "a")]) is not None
    compiler.close()
    with pytest.raises(BusyError):
        compiler.make([partial(from_regex, "a")])
    assert compiler._process is None


@pytest.mark.parametrize(
    ("field", "allowed"),
    [("guided_json", "response_format of type json_schema"), ("guided_choice", "diffusion.choices")],
)
def test_fields_of_other_servers_are_told_by_their_names_here(served: Served, field: str, allowed: str):
    response = served.ask(CHAT, messages=[{"role": "user", "content": "1+1="}], **{field: {}})
    assert response.status_code == 400
    assert response.json()["error"]["message"] == f"{field}: unknown field; allowed: {allowed}"
