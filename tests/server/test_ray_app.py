"""Replicas on Ray Serve. Where Ray is not installed, pip install 'sfumato[ray]'."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator

import httpx
import openai
import pytest
from benchmarks.http_load import ray_server

from serving import EXPRESSION

pytest.importorskip("ray.serve")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two replicas."""
    with ray_server(tmp_path_factory.mktemp("ray"), replicas=2) as port:
        yield f"http://127.0.0.1:{port}"


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
