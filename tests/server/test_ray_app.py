"""Replicas on Ray Serve. Where Ray is not installed, pip install 'sfumato[ray]'."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from serving import EXPRESSION

pytest.importorskip("ray.serve")
pytestmark = pytest.mark.slow

# So that a busy machine is no unhealthy one.
PATIENT = {
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "300",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "300",
    "RAY_USAGE_STATS_ENABLED": "0",
}
URL = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two replicas, as somebody would start it."""
    directory = tmp_path_factory.mktemp("ray")
    programs = Path(sys.executable).parent
    source = str(Path(__file__).parents[2] / "src")
    environment = os.environ | PATIENT | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    command = [programs / "serve", "run", "sfumato.server.ray_app:build", "models=tiny", "replicas=2"]
    with (directory / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=directory, env=environment, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 600
        while not _is_ready():
            assert server.poll() is None, (directory / "log").read_text()[-5000:]
            assert time.monotonic() < end
            time.sleep(0.5)
        yield URL
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(600)
        subprocess.run([programs / "ray", "stop", "--force"], capture_output=True, timeout=600)


def _is_ready() -> bool:
    try:
        return httpx.get(f"{URL}/ready", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


def _replicas() -> list[int]:
    found = subprocess.run(["pgrep", "-f", "ServeReplica:default:sfumato"], capture_output=True, text=True).stdout
    return [int(number) for number in found.split()]


def test_canvas_is_found_from_any_replica(url: str):
    canvas = httpx.post(f"{url}/v1/canvas", json={"prompt": EXPRESSION}, timeout=600).json()
    for session in "abcdefgh":
        found = httpx.get(f"{url}/v1/canvas/{canvas['id']}", headers={"x-session-id": session}, timeout=600)
        assert found.json()["text"] == canvas["text"]


def test_answers_survive_a_killed_replica(url: str):
    async def ask_all() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=600) as client:

            async def ask(seed: int) -> str:
                messages = [{"role": "user", "content": EXPRESSION}]
                answer = await client.chat.completions.create(model="tiny", messages=messages, seed=seed)  # type: ignore[arg-type]
                return answer.choices[0].finish_reason

            asked = [asyncio.create_task(ask(seed)) for seed in range(48)]
            while not any(task.done() for task in asked):
                await asyncio.sleep(0.01)
            os.kill(_replicas()[0], signal.SIGKILL)
            return await asyncio.gather(*asked)

    assert set(asyncio.run(ask_all())) == {"stop"}


def test_stream_of_a_lost_replica_ends_with_error(url: str):
    body = {"messages": [{"role": "user", "content": EXPRESSION}], "stream": True, "draft": True}
    slow = {"diffusion": {"steps": 1000, "settings": {"adaptive": False}, "canvas_length": 64}}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body | slow, timeout=600) as response:
        lines = response.iter_lines()
        assert any("diffusion_frame" in line for line in lines)
        for process in _replicas():
            os.kill(process, signal.SIGKILL)
        rest = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    assert rest[-1]["error"]["code"] == "replica_lost"
