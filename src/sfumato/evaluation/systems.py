"""Systems that answer a report's items: a local model, or one behind an OpenAI-compatible API."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import torch

from sfumato.api import load, outline
from sfumato.client.client import AsyncClient
from sfumato.client.connection import BlockingWire, Connection, blocking, blocking_iterator
from sfumato.client.protocol import Ask
from sfumato.data.tasks.base import Item, Task
from sfumato.engine.options import GenerateOptions
from sfumato.errors import CapacityError, ConfigError, ServerError, SfumatoError, UnreachableError
from sfumato.evaluation.suite import SystemConfig
from sfumato.evaluation.tasks import first_accepted_answer

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One item's answer with its cost."""

    text: str
    finish_reason: str
    usage: dict[str, float]
    """As in `sfumato.Usage`, plus `cpu_s`, the seconds of all threads; for an API, what it reports."""
    first_s: float
    """Seconds to the first text that stayed; to the end if there was none."""
    total_s: float
    """Seconds to the end."""
    attempts: int = 1
    """Number of requests to an API."""
    first_answer: str | None = None
    """The answer line when all its positions were first accepted; None if unknown."""


def memory_mb() -> int | None:
    """Current memory of this process; None if the platform does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


class FailedError(SfumatoError):
    """A system gave no answer; this says nothing about its quality.

    Args:
        refused: whether it can never answer this item.
    """

    def __init__(self, message: str, attempts: int = 1, *, refused: bool = False) -> None:
        super().__init__(message)
        self.attempts, self.refused = attempts, refused


@cache
def _default_threads() -> int:
    return torch.get_num_threads()


class LocalSystem:
    """A local model, asked one item at a time."""

    def __init__(self, config: SystemConfig) -> None:
        # A thread count holds for the whole process, and so for the systems after this one.
        threads = config.threads or _default_threads()
        started = time.perf_counter()
        self._model = load(config.model, quantize=config.quantize or None, threads=threads)
        self._load_s = time.perf_counter() - started
        self._options = config.options
        self._is_warm = False

    def answer(self, task: Task, item: Item, *, seed: int, max_tokens: int | None) -> Answer:
        """Answer an item.

        Raises:
            FailedError: if there is no answer.
        """
        given = {"max_tokens": max_tokens, "check_prompt": False} | self._options | {"seed": seed}
        options = cast(GenerateOptions, given)
        options["trace"] = item.answer is not None and not self._model.spec.autoregressive
        try:
            if not self._is_warm:
                # One-time compilation or measurement must not count as an answer's time.
                self._model.generate(item.prompt, **options)
                self._is_warm = True
            started = time.process_time()
            result = self._model.generate(item.prompt, **options)
            cpu_s = time.process_time() - started
        except SfumatoError as error:
            # Of one item at a time, what does not fit never will. Other refusals are about the options.
            raise FailedError(str(error), refused=isinstance(error, CapacityError)) from error
        if result.failed:
            raise FailedError(result.failure)
        return Answer(
            text=result.text,
            finish_reason=result.finish_reason,
            usage={name: float(cast(float, value)) for name, value in result.usage.to_dict().items()}
            | {"cpu_s": cpu_s},
            first_s=result.usage.time_to_first_commit_s or result.usage.total_s,
            total_s=result.usage.total_s,
            first_answer=first_accepted_answer(task, result) if options["trace"] else None,
        )

    def facts(self) -> dict[str, object]:
        """Facts for the report, next to its name."""
        return {
            "model": self._model.name,
            "parameters": outline(self._model.name).decoder.num_parameters,
            "load_s": round(self._load_s, 2),
            "memory_mb": memory_mb(),
        }

    def close(self) -> None:
        del self._model


class _Api(Connection):
    _wire_type = BlockingWire

    follow_now = blocking_iterator(Connection.follow)
    close = blocking(AsyncClient.close)


class RemoteSystem:
    """A model behind an OpenAI-compatible API, asked one item at a time with streaming.

    Args:
        config: the address, and fields of the requests.
        pause: waits some seconds before a retry.
    """

    def __init__(self, config: SystemConfig, pause: Callable[[float], None] = time.sleep) -> None:
        # Not the key of the user's own server.
        key = os.environ.get(config.key_env, "") if config.key_env else ""
        self._config, self._pause = config, pause
        # `Connection` leaves out "/v1"; another path is the API's own.
        self._path = f"{'/v1' if urlsplit(config.url).path.rstrip('/') in ('', '/v1') else ''}/chat/completions"
        self._api = _Api(config.url, api_key=key, timeout_s=config.timeout_s, max_retries=0)

    def answer(self, task: Task, item: Item, *, seed: int, max_tokens: int | None) -> Answer:
        """See `LocalSystem`; a permanent refusal is a `FailedError` at once."""
        body: dict[str, object] = {
            "model": self._config.model,
            "messages": [{"role": "user", "content": item.prompt}],
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        ask = Ask.post(self._path, body | self._config.options)
        for attempt in range(1, self._config.max_retries + 2):
            try:
                return self._answer_of(ask, attempt)
            except (ServerError, UnreachableError) as error:
                status = error.status if isinstance(error, ServerError) else 0
                is_final = 400 <= status < 500 and status not in (408, 409, 425, 429)
                if is_final or attempt > self._config.max_retries:
                    raise FailedError(str(error), attempt, refused=is_final and _is_too_long(error)) from error
                asked_s = error.retry_after_s if isinstance(error, ServerError) else None
                pause_s = min(60.0, 0.5 * 2 ** (attempt - 1) if asked_s is None else asked_s)
                told = "%s did not answer (%s); retry %d of %d in %.1f s"
                _LOG.warning(told, self._config.model, error, attempt, self._config.max_retries, pause_s)
                self._pause(pause_s)
        raise AssertionError("the last attempt ends in an answer or an error")

    def _answer_of(self, ask: Ask, attempt: int) -> Answer:
        started, first_s = time.perf_counter(), 0.0
        text = finish_reason = ""
        usage: dict[str, float] = {}
        for chunk in self._chunks(ask):
            try:
                for choice in chunk.get("choices") or ():
                    if piece := (choice.get("delta") or {}).get("content"):
                        text += piece
                        first_s = first_s or time.perf_counter() - started
                    finish_reason = choice.get("finish_reason") or finish_reason
                numbers = (chunk.get("usage") or {}).items()
            except (AttributeError, TypeError):
                shown = json.dumps(chunk)[:60]
                raise UnreachableError(f"the API sent {shown!r}, which is not a chunk of an answer") from None
            usage |= {name: float(value) for name, value in numbers if isinstance(value, (int, float)) and value >= 0}
        if not finish_reason:
            raise UnreachableError(
                "the stream of events ended before the answer did, or is none; is the address right?"
            )
        total_s = time.perf_counter() - started
        return Answer(
            text=text,
            finish_reason=finish_reason,
            usage=usage,
            first_s=first_s or total_s,
            total_s=total_s,
            attempts=attempt,
        )

    def _chunks(self, ask: Ask) -> Iterator[dict[str, Any]]:
        for data in self._api.follow_now(ask):
            if data == "[DONE]":
                return
            try:
                chunk = json.loads(data)
            except ValueError:
                raise UnreachableError(f"the API sent {data[:60]!r}, which is not JSON") from None
            if not isinstance(chunk, dict):
                raise UnreachableError(f"the API sent {data[:60]!r}, which is not a chunk of an answer")
            if "error" in chunk:
                error = chunk["error"]
                raise ServerError(str(error.get("message") if isinstance(error, dict) else error), status=500)
            yield chunk

    def facts(self) -> dict[str, object]:
        return {"model": self._config.model, "url": self._config.url}

    def close(self) -> None:
        self._api.close()


def _is_too_long(error: SfumatoError) -> bool:
    """Whether an API refused an item for its length; other refusals are about the request's other fields."""
    if not isinstance(error, ServerError):
        return False
    return error.status == 413 or error.code == "context_length_exceeded" or "context length" in str(error)


System = LocalSystem | RemoteSystem


def open_system(config: SystemConfig) -> System:
    """Open a system.

    Raises:
        ConfigError: if its model cannot be loaded.
    """
    _default_threads()
    if config.url:
        return RemoteSystem(config)
    try:
        return LocalSystem(config)
    except ConfigError:
        raise
    except SfumatoError as error:
        raise ConfigError(f"cannot load {config.model}: {error}") from error
