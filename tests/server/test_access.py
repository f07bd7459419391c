"""Keys, budgets, sizes, and who is listened to."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from serving import EXPRESSION, Served, start
from sfumato.cli.app import app
from sfumato.engine.engine import EngineConfig
from sfumato.errors import ConfigError
from sfumato.server.access import Access, Key, add_key
from sfumato.server.boundary import Limits
from sfumato.server.failures import ApiError


def key(name: str, **limits: int) -> Key:
    return Key(name=name, sha256=hashlib.sha256(name.encode()).hexdigest(), **limits)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Needs keys, and takes 2,000 bytes."""
    keys = (key("anna"), key("ben", requests_per_minute=2), key("cleo", positions_per_day=60))
    yield from start(
        tmp_path_factory.mktemp("guarded"),
        keys=keys,
        limits=Limits(max_body_bytes=2000),
        config=EngineConfig(max_rows=1, max_queue=1),
    )


def asked(served: Served, who: str | None, **body: Any) -> Any:
    headers = {} if who is None else {"Authorization": f"Bearer {who}"}
    return served.http.post("/v1/canvas", json={"prompt": EXPRESSION} | body, headers=headers)


def test_requests_without_key_are_refused(guarded: Served):
    for who in (None, "dora", "ann"):
        response = asked(guarded, who)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert not who or who not in response.text
    assert guarded.http.get("/v1/models").status_code == 401
    assert guarded.http.get("/metrics").status_code == 401
    assert guarded.http.get("/health").status_code == 200
    assert asked(guarded, "anna").status_code == 200


def test_canvases_belong_to_their_key(guarded: Served):
    made = asked(guarded, "anna").json()
    for who, status in (("anna", 200), ("ben", 404)):
        response = guarded.http.get(f"/v1/canvas/{made['id']}", headers={"Authorization": f"Bearer {who}"})
        assert response.status_code == status


def test_spent_quota_returns_at_its_reset(guarded: Served):
    codes = [asked(guarded, "ben").status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    assert 1 <= int(asked(guarded, "ben").headers["retry-after"]) <= 60
    # One answer costs more than the 60 positions: it is finished, and the last one.
    assert [asked(guarded, "cleo").status_code for _ in range(2)] == [200, 429]
    assert "positions_per_day" in asked(guarded, "cleo").json()["error"]["message"]
    told = guarded.http.get("/metrics", headers={"Authorization": "Bearer anna"}).text
    assert re.search(r'route="/v1/canvas",status="429"|status="429",route="/v1/canvas"', told), "its path is counted"
    assert asked(guarded, "anna").status_code == 200


SLOW: dict[str, Any] = {"diffusion": {"steps": 1000, "settings": {"adaptive": False}}}
CHAT = {"messages": [{"role": "user", "content": EXPRESSION}]} | SLOW


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/chat/completions", CHAT | {"stream": True}),
        ("/v1/completions", {"prompt": ["1+1="], "max_tokens": 64} | SLOW),
        ("/v1/fim/completions", {"prompt": "1+1", "suffix": "2\n"} | SLOW),
        ("/v1/canvas", {"prompt": EXPRESSION} | SLOW["diffusion"]),
        ("/v1/canvas", {"text": "1+1=3", "spans": [[4, 5]]} | SLOW["diffusion"]),
    ],
)
def test_disconnected_clients_pay_for_computed_tokens(tmp_path: Path, path: str, body: dict[str, Any]):
    for served in start(tmp_path, keys=(key("dora", positions_per_day=1000),)):
        content, headers = json.dumps(body).encode(), {"Authorization": "Bearer dora"}
        lines = [f"POST {path} HTTP/1.1", "Host: here", "Authorization: Bearer dora", "Content-Type: application/json"]
        engine = served.host.loaded["tiny"].answering.engine
        with socket.create_connection((served.http.base_url.host, served.http.base_url.port)) as client:
            client.sendall("\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content)
            while not any(each.usage.positions_computed > 1000 for each in list(engine._running)):
                time.sleep(0.01)
        served.wait_until_idle()
        end = time.monotonic() + 600
        while 'finish_reason="cancelled"' not in served.http.get("/metrics", headers=headers).text:
            assert time.monotonic() < end
            time.sleep(0.01)
        refused = served.http.post(path, json=body, headers=headers)
        assert refused.status_code == 429
        assert "positions_per_day" in refused.json()["error"]["message"]


def test_oversized_body_is_not_read(guarded: Served):
    assert asked(guarded, "anna", text="x" * 3000).status_code == 413

    def parts() -> Iterator[bytes]:
        for _ in range(10):
            yield b" " * 1000

    headers = {"Authorization": "Bearer anna", "content-type": "application/json"}
    assert guarded.http.post("/v1/canvas", content=parts(), headers=headers).status_code == 413
    assert asked(guarded, "anna").status_code == 200


def test_full_queue_gives_retry_after(guarded: Served):
    slow = {"steps": 1000, "settings": {"adaptive": False}, "background": True}
    canvases = [asked(guarded, "anna", **slow) for _ in range(2)]
    while guarded.host.loaded["tiny"].answering.engine.num_waiting < 1:
        pass
    body = {"messages": [{"role": "user", "content": EXPRESSION}]}
    refused = guarded.http.post("/v1/chat/completions", json=body, headers={"Authorization": "Bearer anna"})
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    # A stream too, before it begins.
    bodies = {"chat/completions": body, "completions": {"prompt": EXPRESSION}, "responses": {"input": EXPRESSION}}
    for path, asked_for in bodies.items():
        streamed = asked_for | {"stream": True}
        refused = guarded.http.post(f"/v1/{path}", json=streamed, headers={"Authorization": "Bearer anna"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "queue_full")
    for canvas in canvases:
        path = f"/v1/canvas/{canvas.json()['id']}"
        assert guarded.http.delete(path, headers={"Authorization": "Bearer anna"}).status_code == 200
    guarded.wait_until_idle()


def test_keys_are_stored_as_hashes(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    file = tmp_path / "keys.toml"
    made = add_key(file, "anna", {"requests_per_minute": 3, "positions_per_day": None})
    other = add_key(file, "ben", {})
    assert made not in file.read_text()
    access = Access(path=file)
    found = access.find(f"Bearer {made}")
    assert (found.name, found.requests_per_minute) == ("anna", 3)
    assert access.find(None, other).name == "ben"  # type: ignore[union-attr]
    for name, limits, said in (("anna", {}, "anna"), ("café", {}, "café"), ("cleo", {"positions_per_day": 0}, "is 0")):
        with pytest.raises(ConfigError, match=said):
            add_key(file, name, limits)
    assert [key.name for key in Access(path=file).keys] == ["anna", "ben"]
    notes = tmp_path / "notes.toml"
    notes.write_text("# Keys of the team.\n")
    add_key(notes, "anna", {})
    assert notes.read_text().startswith("# Keys of the team.\n\n[anna]\n")
    added = add_key(file, "cleo", {})
    assert access.find(f"Bearer {added}").name == "cleo"  # type: ignore[union-attr]
    for table, told in (
        ("anna = 1", "anna is 1; allowed: tables, such as [anna]"),
        ("[anna]\nrequest_per_minute = 3", "did you mean 'anna.requests_per_minute'"),
    ):
        file.write_text(table)
        with pytest.raises(ConfigError, match=re.escape(told)):
            Access(path=file)
    file.write_text("[anna]\nsha256 = 3\n")
    assert access.find(f"Bearer {made}").name == "anna", "as long as the file cannot be read"  # type: ignore[union-attr]
    caplog.clear()
    file.write_text("")
    with pytest.raises(ApiError, match="unknown API key"):
        access.find(f"Bearer {made}")
    assert caplog.messages == [f"{file} has no keys: requests are refused until --add-key NAME creates one"]
    for digest in ("3", f'"{"é" * 64}"', f'"{"A" * 64}"'):
        file.write_text(f"[anna]\nsha256 = {digest}\n")
        with pytest.raises(ConfigError, match="sha256"):
            Access(path=file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--host", "0.0.0.0"), "--api-key-file"),
        (("nothing-here",), "nothing-here"),
        (("mend",), "mend"),
        (("--api-key-file", "/nowhere/keys"), "/nowhere/keys"),
        (("--add-key", "anna"), "--api-key-file"),
        (("--database", "nosuch://x"), "nosuch"),
        (("--database", "nosuch://me:HUNTER2@host/x"), "nosuch://me:***@host/x"),
        (("--database", "/dev/null/canvases.db"), "/dev/null/canvases.db"),
        (("tiny", "tiny"), "tiny"),
        (("--upstream", "gpt"), "NAME=URL"),
        (("--upstream", "tiny=http://host/v1"), "two models"),
        (("--cors", "localhost:3000"), "cors is 'localhost:3000'; allowed: an origin such as http://localhost:3000"),
        (("--cors", "http://localhost:3000/"), "allowed: an origin"),
    ],
)
def test_invalid_keys_and_limits_are_refused(arguments: tuple[str, ...], said: str):
    done = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert "HUNTER2" not in done.stderr


def test_other_names_of_this_machine_are_refused(tmp_path: Path):
    # A page could make its own name lead here, and read the answers.
    for served in start(tmp_path, limits=Limits(hosts=frozenset({"localhost", "127.0.0.1", "::1"}))):
        for name, status in (
            ("localhost", 200),
            ("127.0.0.1:81", 200),
            ("evil.example", 403),
            ("[::1]:80", 200),
            ("[", 403),
            ("localhost.evil.org", 403),
        ):
            response = served.http.get("/v1/models", headers={"Host": name})
            assert response.status_code == status
        assert (
            "'localhost.evil.org'; allowed: 127.0.0.1, ::1, localhost, and others if"
            in response.json()["error"]["message"]
        )


def test_pages_of_allowed_origins_may_ask(tmp_path: Path):
    origin = "http://localhost:3000"
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    for served in start(tmp_path, limits=Limits(cors_origins=(origin,))):
        for path in ("/v1/chat/completions", "/v1/canvas"):
            allowed = served.http.options(path, headers={"Origin": origin, **asks})
            assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, origin)
        answered = served.http.get("/v1/models", headers={"Origin": origin})
        assert answered.headers["access-control-expose-headers"] == "Retry-After, X-Request-Id"
        assert (
            "access-control-allow-origin" not in served.http.get("/v1/models", headers={"Origin": f"{origin}0"}).headers
        )


def test_a_body_without_content_type_says_what_is_missing(guarded: Served):
    headers = {"Authorization": "Bearer anna", "Content-Type": "application/x-www-form-urlencoded"}
    response = guarded.http.post("/v1/canvas", content=json.dumps({"prompt": EXPRESSION}), headers=headers)
    assert response.status_code == 400
    assert "allowed: with the header Content-Type: application/json" in response.json()["error"]["message"]
