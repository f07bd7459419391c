"""Likelihoods over HTTP are those of the library."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import sfumato
from serving import Served, start
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.evaluation.likelihood import continuation_nats
from sfumato.server import echo
from sfumato.server.protocol import CompletionRequest

TEXT = "answer, then derive: 12+5\nanswer: 17\n12+5 = 17\n"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from start(tmp_path_factory.mktemp("echo"), models={"tiny": "tiny", "twin": "tiny-twin"})


def echoed(served: Served, tokens: Any, **body: Any) -> Any:
    # As lm-eval asks.
    asked = {"prompt": tokens, "max_tokens": 1, "temperature": 0, "seed": 3, "echo": True, "logprobs": 1}
    return served.ask("/v1/completions", **asked | body)


def bound(model: TextModel, tokens: list[int], first: int, last: int | None = None) -> float:
    """The largest bound on what begins at the first of some tokens, or at a later one."""
    firsts = range(first, first + 1 if last is None else last + 1)
    return min(-continuation_nats(model, tokens[:i], tokens[i:], samples=32, seed=3).nats for i in firsts)


@pytest.mark.parametrize(("name", "estimator"), [("twin", "exact autoregressive NLL"), ("tiny", "NELBO (upper bound)")])
def test_logprobs_add_up_from_every_token(both: Served, name: str, estimator: str):
    model = sfumato.load({"twin": "tiny-twin"}.get(name, name))
    tokens = list(model.tokenizer.encode_raw(TEXT))
    others = list(model.tokenizer.encode_raw("1+1=2"))
    answer = echoed(both, [tokens, others], model=name).json()
    assert estimator in answer["sfumato"]["estimator"]
    assert answer["usage"]["positions_computed"] > len(tokens)
    for choice, own in zip(answer["choices"], (tokens, others), strict=True):
        assert choice["text"].startswith(model.tokenizer.decode(own))
        logprobs = choice["logprobs"]
        assert len(logprobs["tokens"]) == len(own) + 1
        assert logprobs["token_logprobs"][0] is None
        spelled = "".join(logprobs["tokens"])
        for text, offset in zip(logprobs["tokens"], logprobs["text_offset"], strict=True):
            assert spelled[offset : offset + len(text)] == text
        for first in (len(own) - 1, max(1, len(own) - 5), max(1, len(own) - 32), 1):
            total = sum(logprobs["token_logprobs"][first:-1])
            if name == "twin" or first >= len(own) - 32:
                assert total == pytest.approx(bound(model, own, first, len(own) - 1), abs=1e-3)
            assert total < 0
        assert all(logprob <= 0 for logprob in logprobs["token_logprobs"][1:-1])
        assert all(len(top) == 1 for top in logprobs["top_logprobs"][1:-1])
        if name == "twin":
            pairs = zip(logprobs["token_logprobs"][1:-1], logprobs["top_logprobs"][1:-1], strict=True)
            assert all(own <= max(top.values()) for own, top in pairs)


def test_context_length_can_be_given(both: Served):
    model = sfumato.load("tiny")
    tokens = list(model.tokenizer.encode_raw(TEXT))
    for first in (5, len(tokens) - 3):
        logprobs = echoed(both, tokens, echo_from=first, logprobs=0).json()["choices"][0]["logprobs"]
        assert logprobs["token_logprobs"][:first] == [None] * first
        found = sum(logprobs["token_logprobs"][first:-1])
        assert found == pytest.approx(bound(model, tokens, first), abs=1e-3)


def test_a_prompt_is_scored_without_an_answer(both: Served):
    answer = echoed(both, TEXT, max_tokens=0, n=2, model="twin").json()
    whole = echoed(both, TEXT, max_tokens=1, model="twin").json()["choices"][0]["logprobs"]
    assert answer["usage"]["completion_tokens"] == 0
    for choice in answer["choices"]:
        assert (choice["text"], choice["finish_reason"]) == (TEXT, "length")
        assert choice["logprobs"]["token_logprobs"] == whole["token_logprobs"][: len(choice["logprobs"]["tokens"])]
        assert "".join(choice["logprobs"]["tokens"]) == TEXT


def test_echo_without_logprobs(both: Served):
    raw = {"check_prompt": False}
    alone = both.ask("/v1/completions", prompt=TEXT, max_tokens=5, diffusion=raw).json()["choices"][0]["text"]
    asked = {"max_tokens": 5, "logprobs": None, "temperature": None, "seed": 0, "diffusion": raw}
    [choice] = echoed(both, TEXT, **asked).json()["choices"]
    assert (choice["text"], choice["logprobs"]) == (TEXT + alone, None)
    # What is not scored is answered as without.
    asked = {"prompt": "12+5=", "max_tokens": 8, "seed": 0}
    [plain], [choice] = (both.ask("/v1/completions", **asked, echo=echo).json()["choices"] for echo in (False, True))
    assert choice["text"] == "12+5=" + plain["text"]
    assert both.ask("/v1/completions", prompt="make it sing", echo=True).status_code == 400


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"stream": True, "logprobs": None}, "echo"),
        ({"suffix": "x"}, "logprobs"),
        ({"suffix": "x", "logprobs": None}, "echo"),
        ({"echo_from": 500}, "echo_from"),
        ({"echo_from": 3, "logprobs": None}, "echo_from"),
        ({"echo_from": 0}, "echo_from"),
        ({"max_tokens": 0, "echo": False}, "max_tokens"),
    ],
)
def test_invalid_echo_is_refused(both: Served, body: dict[str, Any], named: str):
    response = echoed(both, TEXT, **body)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == named


def test_left_likelihoods_are_computed_one_at_a_time_and_billed(monkeypatch: pytest.MonkeyPatch):
    """Who leaves while one is computed pays for it, and who leaves while waiting pays nothing."""
    model, begun, go = sfumato.load("tiny"), threading.Semaphore(0), threading.Event()
    asked = CompletionRequest(prompt=TEXT, logprobs=1)
    running: list[int] = []
    num_running: list[int] = []

    def slow(*args: Any, **options: Any) -> Any:
        running.append(1)
        num_running.append(len(running))
        begun.release()
        go.wait()
        running.pop()
        return continuation_nats(*args, **options)

    monkeypatch.setattr(echo, "continuation_nats", slow)

    async def leave() -> list[Result]:
        hosted: Any = SimpleNamespace(model=model, scoring=asyncio.Lock())
        request, billed = model.request(TEXT, raw=True), list[Result]()

        def score() -> asyncio.Future[Any]:
            return asyncio.ensure_future(echo._scored(hosted, request, asked, billed.extend))

        first, waiting, last = score(), score(), score()
        await asyncio.to_thread(begun.acquire)
        first.cancel()
        waiting.cancel()
        # Time in which the last one would begin.
        await asyncio.wait({last}, timeout=0.2)
        before = len(billed)
        go.set()
        assert (before, waiting.done()) == (0, True)
        await asyncio.to_thread(begun.acquire)
        last.cancel()
        await asyncio.wait({first, last})
        return billed

    billed = asyncio.run(leave())
    assert max(num_running) == 1
    assert [result.usage.positions_computed > 0 for result in billed] == [True, True]
