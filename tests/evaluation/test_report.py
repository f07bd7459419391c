"""Reports: what is asked, kept, gone on with, and tabled."""

from __future__ import annotations

import dataclasses
import importlib
import json
import linecache
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from sfumato.checkpoints.registry import ASSETS
from sfumato.engine.request import Result, Usage
from sfumato.errors import ConfigError, SfumatoError
from sfumato.evaluation.records import Record
from sfumato.evaluation.report import Report
from sfumato.evaluation.suite import Suite, SystemConfig, TaskConfig, read_suite
from sfumato.evaluation.systems import FailedError, LocalSystem, RemoteSystem, open_system
from sfumato.evaluation.tables import cells_of, comparisons
from sfumato.evaluation.tasks import evaluate_task
from sfumato.storage import claimed

SUITE = """
n = 3
[systems.tiny]
model = "tiny"
[systems.two-steps]
model = "tiny"
options = {steps = 2}
[tasks.arithmetic]
[tasks.short]
task = "json"
n = 2
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "suite.toml").write_text(SUITE)
    return read_suite(tmp_path / "suite.toml")


def _scores(report: Report) -> dict[tuple[str, str], list[tuple[int, bool | None, str | None]]]:
    return {
        (cell.system, cell.task): [(each.index, each.right, each.answer) for each in cell.records]
        for cell in report.cells()
    }


def test_all_systems_are_asked_the_same_items(suite: Suite, tmp_path: Path) -> None:
    report = Report(suite, tmp_path / "out")
    assert report.estimate() is None
    report.run(try_first=1)
    estimate = report.estimate()
    assert estimate.seconds > 0
    report.run()
    cells = {(cell.system, cell.task): cell for cell in report.cells()}
    assert {key: len(cell.records) for key, cell in cells.items()} == {
        ("tiny", "arithmetic"): 3,
        ("two-steps", "arithmetic"): 3,
        ("tiny", "short"): 2,
        ("two-steps", "short"): 2,
    }
    for task in ("arithmetic", "short"):
        prompts = [[each.prompt for each in cells[system, task].records] for system in ("tiny", "two-steps")]
        assert prompts[0] == prompts[1]
    assert all(each.usage["denoising_steps"] <= 2 for each in cells["two-steps", "arithmetic"].records)
    assert all(each.usage["cpu_s"] > 0 for cell in cells.values() for each in cell.records)
    assert cells["tiny", "short"].row().keys() >= {"cpu s", "whole s"}
    report.write_tables()
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| arithmetic | two-steps | 3 |" in text
    assert "<table>" in (tmp_path / "out" / "report.html").read_text()


def test_interrupted_report_resumes_to_the_same_result(suite: Suite, tmp_path: Path) -> None:
    whole = Report(suite, tmp_path / "whole")
    whole.run()

    class EndedError(Exception):
        pass

    def end(record: Record) -> None:
        raise EndedError

    for _ in range(4):
        with pytest.raises(EndedError):
            Report(suite, tmp_path / "cut").run(on_record=end)
    results = tmp_path / "cut" / "results.jsonl"
    # As if the process had ended in the middle of a line.
    content = results.read_bytes()
    results.write_bytes(content[:-20])
    assert sum(map(len, Report(suite, tmp_path / "cut").left().values())) == 10 - 3
    Report(suite, tmp_path / "cut").run()
    assert _scores(Report(suite, tmp_path / "cut")) == _scores(whole)
    assert len(results.read_text().splitlines()) == 10


def test_report_may_grow_but_not_change(suite: Suite, tmp_path: Path) -> None:
    Report(suite, tmp_path / "out").run(try_first=1)
    (tmp_path / "suite.toml").write_text(SUITE.replace("n = 3", "n = 4") + "[tasks.plain]\n")
    grown = Report(read_suite(tmp_path / "suite.toml"), tmp_path / "out")
    assert len(grown.left()["two-steps"]) == 10 - 2
    (tmp_path / "suite.toml").write_text(SUITE)
    fewer = Report(read_suite(tmp_path / "suite.toml", ["n=1", "tasks.short.n=1"]), tmp_path / "out")
    assert {len(cell.records) for cell in fewer.cells()} == {1}
    (tmp_path / "suite.toml").write_text(SUITE.replace("steps = 2", "steps = 3"))
    with pytest.raises(ConfigError, match=r"systems.two-steps.options.steps was 2 and is 3"):
        Report(read_suite(tmp_path / "suite.toml"), tmp_path / "out").left()
    (tmp_path / "suite.toml").write_text(SUITE)
    with pytest.raises(ConfigError, match=r"systems.tiny.options.steps was None and is 3"):
        Report(read_suite(tmp_path / "suite.toml", ["systems.tiny.options.steps=3"]), tmp_path / "out").left()
    with pytest.raises(ConfigError, match="seed was 0 and is 1"):
        Report(
            read_suite(tmp_path / "suite.toml", ["seed=1", "systems.two-steps.options.steps=2"]), tmp_path / "out"
        ).left()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('task = "json"', 'task = "jsn"'), "'jsn'"),
        (('task = "json"', 'path = "x.jsonl"'), "short"),
        (("steps = 2", "stps = 2"), "stps"),
        (('model = "tiny"\n[', 'model = "tiny"\nkey_env = "NO_SUCH_KEY"\n['), "key_env is given"),
        (
            ('model = "tiny"\n[', 'model = "tiny"\nurl = "http://x/v1"\nkey_env = "NO_SUCH_KEY"\n['),
            "environment variable is not set",
        ),
        (("n = 3", "n = 0"), "n is 0"),
        (('model = "tiny"\n[', 'model = "m"\nurl = "ftp:foo"\n['), "systems.tiny.url is 'ftp:foo'; allowed: such as"),
        (("[tasks.arithmetic]", "[tasks.pairs]"), "tasks.pairs has no path"),
        (("steps = 2", 'sampler = "sampler_here:Slow", stps = 2'), "'sampler_here:Slow' cannot be imported"),
        (('model = "tiny"\n[', 'model = "m"\nurl = "http://x/v1"\nmax_retries = -1\n['), "max_retries is -1; allowed"),
        (
            ('model = "tiny"\n[', 'model = "m"\nurl = "http://x/v1"\noptions = {seed = 5}\n['),
            "systems.tiny.options has seed, which the report sets; allowed: other fields",
        ),
        (("[tasks.arithmetic]", "[tasks.humaneval]\npath = 'none.jsonl'"), "cannot read none.jsonl"),
    ],
)
def test_invalid_suites_are_refused(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(SUITE.replace(*change, 1))
    with pytest.raises(ConfigError, match=message):
        read_suite(tmp_path / "suite.toml")


def test_results_of_another_version_are_refused(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Report(suite, tmp_path / "out").run(["two-steps"], try_first=1)
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99.0")
    with pytest.raises(ConfigError, match=r"version was '.*' and is '99.0'; give another directory"):
        Report(suite, tmp_path / "out").cells()
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before


def test_results_of_other_weights_are_refused(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(ASSETS / "tiny", model)
    (tmp_path / "suite.toml").write_text(f'n = 1\n[systems.mine]\nmodel = "{model}"\n[tasks.json]\n')
    suite = read_suite(tmp_path / "suite.toml")
    weights = load_file(model / "model.safetensors")
    name = next(name for name, tensor in weights.items() if tensor.is_floating_point())
    assert len(Report(suite, tmp_path / "out").left()["mine"]) == 1
    save_file(weights | {name: weights[name] * 2}, model / "model.safetensors")
    # Nothing was asked with the weights before.
    Report(suite, tmp_path / "out").run()
    assert Report(suite, tmp_path / "out").left() == {"mine": []}
    save_file(weights | {name: weights[name] + 1}, model / "model.safetensors")
    with pytest.raises(ConfigError, match=r"has other results: systems\.mine\.weights was"):
        Report(suite, tmp_path / "out").left()


def test_broken_files_and_directories_are_named(suite: Suite, tmp_path: Path) -> None:
    report = Report(suite, tmp_path / "out")
    report.run(["tiny"], try_first=1)
    for content, said in (("", "is not JSON: .*"), ("[]", "holds a list; allowed: an object")):
        (tmp_path / "out" / "suite.json").write_text(content)
        with pytest.raises(ConfigError, match=rf"suite.json {said}; remove .*out, or use another"):
            report.cells()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot write to .*file: "), claimed(tmp_path / "file"):
        pass


def test_invalid_records_file_is_named(suite: Suite, tmp_path: Path) -> None:
    Report(suite, tmp_path).left()
    (tmp_path / "results.jsonl").write_text('{"system": "tiny"}\n')
    with pytest.raises(ConfigError, match=r"results.jsonl, line 1, is not a record"):
        Report(suite, tmp_path).left()


def test_items_whose_prompt_changed_are_asked_again(suite: Suite, tmp_path: Path) -> None:
    report = Report(suite, tmp_path)
    report.run(["two-steps"], try_first=1)
    [(name, _), *_] = suite.tasks.items()
    task, [first, *others] = report._tasks[name]
    assert (name, 0) not in report.left()["two-steps"]
    report._tasks[name] = task, [dataclasses.replace(first, prompt="another"), *others]
    assert (name, 0) in report.left()["two-steps"]
    assert name not in {cell.task for cell in report.cells()}


def test_facts_of_systems_outside_the_suite_are_kept(suite: Suite, tmp_path: Path) -> None:
    Report(suite, tmp_path).run(["two-steps"], try_first=1)
    fewer = dataclasses.replace(suite, systems={"tiny": suite.systems["tiny"]})
    Report(fewer, tmp_path).run(try_first=1)
    assert Report(fewer, tmp_path).facts().keys() == {"tiny"}
    facts = Report(suite, tmp_path).facts()
    assert facts.keys() >= {"tiny", "two-steps"}
    assert facts["two-steps"]["options"] == {"steps": 2}
    assert "options" not in facts["tiny"]


def _record(system: str, index: int, right: bool | None) -> Record:
    return Record(
        system=system,
        task="t",
        index=index,
        prompt="",
        seed=0,
        right=right,
        answer=None if right is None else "",
        error="gone" if right is None else None,
    )


def test_items_without_answer_are_not_scored() -> None:
    known = [(True, True), (True, False), (None, True), (False, True)]
    records = [_record(name, i, pair[n]) for n, name in enumerate("ab") for i, pair in enumerate(known)]
    one, other = cells_of(records, ["a", "b"], ["t"])
    assert (len(one.records), one.failed, one.score) == (3, 1, 2 / 3)
    assert other.row()["right"] == "75.0%"
    assert one.row()["failed"] == "1"
    [row] = comparisons([one, other])
    assert (row["items"], row["only one right"], row["only the other right"]) == ("3", "1", "1")


class _Faulty(BaseHTTPRequestHandler):
    """An API that fails in another way each time, until it does not."""

    faults: list[str]
    asked: list[dict[str, Any]]
    sent_to: list[tuple[str, str | None]]
    """Path and key of each request."""

    def do_POST(self) -> None:
        self.sent_to.append((self.path, self.headers["Authorization"]))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "silence":
            # Until the one who asked gives up.
            self.rfile.read(1)
            return
        if fault.isdecimal():
            self.send_response(int(fault))
            if fault == "429":
                self.send_header("Retry-After", "7")
            self.end_headers()
            code = "context_length_exceeded" if fault == "400" else None
            self.wfile.write(json.dumps({"error": {"message": "not now", "code": code}}).encode())
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        pieces = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("answer", ": 4")]
        ending = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        ending += [{"choices": [], "usage": {"completion_tokens": 3, "prompt_tokens": 5}}]
        for chunk in [*pieces, *([{"error": {"message": "lost"}}] if fault == "error" else ending)]:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            if fault == "cut":
                return
            if fault in ("garbage", "list"):
                self.wfile.write(b"data: <html>\n\n" if fault == "garbage" else b'data: {"choices": ["x"]}\n\n')
                return
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def faulty() -> Iterator[tuple[str, type[_Faulty]]]:
    handler = type("Handler", (_Faulty,), {"faults": [], "asked": [], "sent_to": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_failing_api_is_retried(faulty: tuple[str, type[_Faulty]], caplog: pytest.LogCaptureFixture) -> None:
    url, handler = faulty
    handler.faults[:] = ["429", "500", "cut", "garbage", "error", "list"]
    pauses: list[float] = []
    config = SystemConfig(model="m", url=url, max_retries=6, options={"temperature": 0.5})
    system = RemoteSystem(config, pauses.append)
    task = TaskConfig().find("arithmetic")
    answer = system.answer(task, task.generate(0), seed=3, max_tokens=9)
    assert (answer.text, answer.attempts, answer.finish_reason) == ("answer: 4", 7, "stop")
    assert answer.usage == {"completion_tokens": 3.0, "prompt_tokens": 5.0}
    assert pauses == [7, 1, 2, 4, 8, 16]
    assert [told.partition("); ")[2] for told in caplog.messages] == [
        f"retry {number} of 6 in {pause_s:.1f} s" for number, pause_s in enumerate(pauses, 1)
    ]
    assert {key: handler.asked[0][key] for key in ("model", "seed", "max_tokens", "temperature")} == {
        "model": "m",
        "seed": 3,
        "max_tokens": 9,
        "temperature": 0.5,
    }
    system.close()
    assert system._api._wire._http.is_closed


@pytest.mark.parametrize(
    ("given", "asked"),
    [("", "/v1"), ("/", "/v1"), ("/v1", "/v1"), ("/v1/", "/v1"), ("/openai/v1beta", "/openai/v1beta")],
)
def test_an_api_gets_its_own_path_and_no_other_key(
    given: str, asked: str, faulty: tuple[str, type[_Faulty]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_API_KEY", "of-my-own-server")
    url, handler = faulty
    system = RemoteSystem(SystemConfig(model="m", url=url.removesuffix("/v1") + given))
    task = TaskConfig().find("arithmetic")
    system.answer(task, task.generate(0), seed=0, max_tokens=None)
    system.close()
    assert handler.sent_to == [(f"{asked}/chat/completions", None)]


def test_an_answer_that_failed_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    system = LocalSystem(SystemConfig(model="tiny", options={"steps": 1}))
    task = TaskConfig().find("arithmetic")
    failed = Result(text="", tokens=(), finish_reason="error", seed=0, model="tiny", usage=Usage(), error="out of luck")
    monkeypatch.setattr(system._model, "generate", lambda *prompt, **options: failed)
    with pytest.raises(FailedError, match="out of luck"):
        system.answer(task, task.generate(0), seed=0, max_tokens=None)
    monkeypatch.setattr(system._model, "generate_batch", lambda prompts, **options: [failed] * len(prompts))
    with pytest.raises(SfumatoError, match="tiny cannot be scored: out of luck"):
        evaluate_task(system._model, "arithmetic", n=1)


def test_a_system_without_threads_gets_the_default_ones() -> None:
    default = torch.get_num_threads()
    for threads, expected in ((0, default), (1, 1), (0, default)):
        open_system(SystemConfig(model="tiny", threads=threads)).close()
        assert torch.get_num_threads() == expected


def test_silent_api_is_given_up(faulty: tuple[str, type[_Faulty]]) -> None:
    url, handler = faulty
    handler.faults[:] = ["silence"] * 2
    pauses: list[float] = []
    system = RemoteSystem(SystemConfig(model="m", url=url, max_retries=1, timeout_s=0.2), pauses.append)
    task = TaskConfig().find("arithmetic")
    with pytest.raises(FailedError) as found:
        system.answer(task, task.generate(0), seed=0, max_tokens=None)
    assert (found.value.attempts, found.value.refused, len(pauses)) == (2, False, 1)
    system.close()


def test_missing_api_answer_is_not_a_wrong_one(faulty: tuple[str, type[_Faulty]], tmp_path: Path) -> None:
    url, handler = faulty
    systems = {"hosted": SystemConfig(model="m", url=url, max_retries=0)}
    report = Report(Suite(systems=systems, tasks={"arithmetic": TaskConfig()}, n=4), tmp_path)
    handler.faults[:] = ["none", "400", "500", "none"]
    seen: list[Record] = []
    report.run(on_record=seen.append)
    assert Counter(record.error for record in seen) == {None: 2, "not now": 2}
    [cell] = report.cells()
    assert (len(cell.records), cell.refused, cell.failed) == (2, 1, 1)
    # What failed is asked again; what was answered or refused is not.
    report.run(on_record=seen.append)
    assert len(seen) == 5
    [cell] = report.cells()
    assert (len(cell.records), cell.refused, cell.failed) == (3, 1, 0)


def test_a_wrong_key_is_told_and_asked_again(
    faulty: tuple[str, type[_Faulty]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url, handler = faulty
    systems = {"hosted": SystemConfig(model="m", url=url)}
    report = Report(Suite(systems=systems, tasks={"arithmetic": TaskConfig()}, n=8), tmp_path)
    handler.faults[:] = ["401"] * 5
    report.run()
    assert caplog.messages == ["hosted is skipped after 5 failures: not now"]
    report.run()
    [cell] = report.cells()
    assert (len(cell.records), cell.refused, cell.failed) == (8, 0, 0)


def test_options_that_no_item_allows_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    systems = {"tiny": SystemConfig(model="tiny", options={"temperature": -1.0})}
    report = Report(Suite(systems=systems, tasks={"arithmetic": TaskConfig()}, n=8), tmp_path)
    report.run()
    assert len(caplog.messages) == 1
    assert "tiny is skipped after 5 failures: temperature is -1.0; allowed: " in caplog.messages[0]
    [cell] = report.cells()
    assert (cell.refused, cell.failed) == (0, 5)


def test_answers_are_judged_again_by_another_checker_or_solution(
    faulty: tuple[str, type[_Faulty]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, handler = faulty
    file = tmp_path / "q.jsonl"
    suite = Suite(
        systems={"hosted": SystemConfig(model="m", url=url)},
        tasks={"gsm8k": TaskConfig(path=str(file)), "judge_of_four:Four": TaskConfig()},
        n=2,
    )
    code = """
from sfumato.data.tasks import Item, Task
class Four(Task):
    name = "four"
    def generate(self, seed):
        return Item(prompt=f"{seed}: two and two", response="4")
    def check(self, item, response):
        return VERDICT
"""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def scores(solution: int, verdict: str) -> list[float | None]:
        rows = [{"question": "2+2", "answer": "#### 4"}, {"question": "3+1", "answer": f"#### {solution}"}]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (tmp_path / "judge_of_four.py").write_text(code.replace("VERDICT", verdict))
        # As in a new process.
        sys.modules.pop("judge_of_four", None)
        linecache.clearcache()
        importlib.invalidate_caches()
        report = Report(suite, tmp_path / "out")
        report.run()
        return [cell.score for cell in report.cells()]

    assert scores(5, "True") == [0.5, 1.0]
    assert scores(4, "False") == [1.0, 0.0]
    assert len(handler.asked) == 4


def test_too_long_items_are_refused_and_others_asked(tmp_path: Path) -> None:
    tasks = {"long": TaskConfig(task="arithmetic", max_tokens=1000), "arithmetic": TaskConfig(n=1)}
    report = Report(Suite(systems={"tiny": SystemConfig(model="tiny")}, tasks=tasks, n=6), tmp_path)
    report.run()
    long, short = report.cells()
    assert (len(long.records), long.refused, long.failed) == (0, 6, 0)
    assert len(short.records) == 1
    assert not any(report.left().values())


def test_unreachable_api_is_given_up(tmp_path: Path) -> None:
    systems = {"gone": SystemConfig(model="m", url="http://127.0.0.1:9/v1", max_retries=0)}
    report = Report(Suite(systems=systems, tasks={"arithmetic": TaskConfig()}, n=9), tmp_path)
    seen: list[Record] = []
    report.run(on_record=seen.append)
    assert len(seen) == 5
    assert all("nothing answers at" in (record.error or "") for record in seen)
