"""Canvases that clients follow, revise and come back to.

A canvas is a text with a number of its revision. While the model works on it, its draft changes: whoever follows gets
what changed, and at first, after a break, or when too slow, all of it as it stands.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import Field, JsonValue

from sfumato.engine.model import TextModel
from sfumato.engine.request import Committed, Finished, Result
from sfumato.errors import RequestError
from sfumato.server.canvas import LiveCanvas
from sfumato.server.completions import check_result, logprobs_of
from sfumato.server.failures import ApiError
from sfumato.server.history import History
from sfumato.server.hosting import Host
from sfumato.server.protocol import MAX_SPANS, Body, Diffusion, Message

_REMEMBERED = 1000
_EXPIRE_EVERY_S = 3600.0
_Json = dict[str, Any]
_Made = tuple[Result, _Json]
"""An answer, and what else is kept of it."""


class CanvasRequest(Diffusion):
    """`POST /v1/canvas`."""

    model: str | None = None
    prompt: str | None = None
    messages: list[Message] | None = None
    text: str | None = None
    """With a prompt, the draft that the answer starts from; without one, a text to write anew in places."""
    pins: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    """[first character, the one after the last] of parts of the draft that stay."""
    spans: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    """The places of a text that are written anew; without them, what the model doubts."""
    instruction: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int = 0
    schema_: dict[str, JsonValue] | bool | None = Field(default=None, alias="schema")
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    """Of each token that is committed, its log-probability, and that many others that might stand there."""
    every_step: bool = False
    """Tell of every step. Else, of steps that come faster than they are told of, the newest."""
    n: int = Field(default=1, ge=1, le=16)
    stream: bool = False
    background: bool = False
    """Answer at once; the canvas is followed by its events, and lives on without a reader."""


class Replacement(Body):
    """What a person wrote in place of a part of the text."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


class EditRequest(Diffusion):
    """`POST /v1/canvas/{id}/edits`."""

    base_rev: int
    replace: list[Replacement] | None = Field(default=None, max_length=MAX_SPANS)
    """Parts of the text and what stands there from now on, before the model has its turn."""
    spans: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    """The places that the model writes anew, in the text with its replacements."""
    instruction: str | None = None
    rewrite: bool | None = None
    """Whether the model has a turn; by default, where spans or an instruction are given, or nothing is replaced."""
    temperature: float | None = None
    seed: int = 0
    min_certainty: float | None = None
    every_step: bool = False
    """Tell of every step, of those too that change nothing."""


class Canvases:
    """All canvases of a server.

    Args:
        host: its models.
        history: where revisions are kept.
        bill: called with the owner and what was answered.
    """

    def __init__(
        self, host: Host, history: History, bill: Callable[[str, list[Result]], None] = lambda *_: None
    ) -> None:
        self._host, self._history, self._bill = host, history, bill
        self._live: dict[str, LiveCanvas] = {}

    async def create(self, body: CanvasRequest, owner: str) -> list[LiveCanvas]:
        """Begin canvases, one for each of n.

        Raises:
            SfumatoError: if what is asked for cannot be done.
        """
        name = body.model or self._host.default
        model = self._host.check(name)
        works = [self._work(model, body, body.seed + i) for i in range(body.n)]
        if body.prompt is not None or body.messages is not None:
            # Refused here, where the client still waits for an answer.
            with await self._host.use(name) as hosted:
                await asyncio.to_thread(self._make_request, hosted.model, body, body.seed)
        prompt = body.model_dump(exclude_none=True, by_alias=True, exclude={"stream", "background", "n"})
        made = []
        for work in works:
            canvas = LiveCanvas(f"canvas_{uuid.uuid4().hex}", owner, name)
            await asyncio.to_thread(self._history.create, canvas.id, owner=owner, model=name, prompt=prompt)
            self._remember(canvas)
            canvas.begin()
            canvas.task = asyncio.create_task(self._run(canvas, work))
            made.append(canvas)
        return made

    def _remember(self, canvas: LiveCanvas) -> None:
        self._live[canvas.id] = canvas
        for old in list(self._live.values())[: max(0, len(self._live) - _REMEMBERED)]:
            if old.status != "running" and not old.is_followed:
                del self._live[old.id]

    def _work(self, model: TextModel, body: CanvasRequest, seed: int) -> Callable[[LiveCanvas], Any]:
        """What makes the text of a canvas."""
        if body.prompt is None and body.messages is None:
            if body.text is None:
                raise RequestError("neither prompt, messages nor text is given; give one")
            for name in (
                "schema_",
                "regex",
                "choices",
                "ban",
                "pins",
                "revisit",
                "max_tokens",
                "seed_text",
                "pin",
                "top_logprobs",
            ):
                if getattr(body, name) is not None:
                    raise RequestError(f"{name.rstrip('_')} is for an answer; allowed: with prompt or messages")
            options = body.to_options()
            return lambda canvas: self._edit(canvas, body.text or "", body, options, seed)
        if body.prompt is not None and body.messages is not None:
            raise RequestError("prompt and messages are given; allowed: one of them")
        if body.spans is not None or body.instruction is not None:
            raise RequestError("spans is for a text; allowed: without prompt and messages")
        return lambda canvas: self._generate(canvas, body, seed)

    def _make_request(self, model: TextModel, body: CanvasRequest, seed: int) -> Any:
        options = own_options(body)
        for name, value in (("seed_text", body.text), ("pin", body.pins), ("schema", body.schema_)):
            if value is not None:
                options[name] = value
        options["top_logprobs"] = body.top_logprobs or 0
        turns = None if body.messages is None else [message.to_turn() for message in body.messages]
        return model.request(turns or body.prompt or "", **options | {"seed": seed})

    async def _generate(self, canvas: LiveCanvas, body: CanvasRequest, seed: int) -> _Made:
        told = body.top_logprobs is not None
        with await self._host.use(canvas.model) as hosted:
            request = await asyncio.to_thread(self._make_request, hosted.model, body, seed)
            async for event in hosted.answering.stream(request, every_draft=body.every_step):
                more: _Json = {}
                if told and isinstance(event, Committed | Finished):
                    answer = event.result if isinstance(event, Finished) else event
                    more = {"logprobs": logprobs_of(hosted.model, answer)}
                if isinstance(event, Finished):
                    return event.result, more
                canvas.take(event, **more)
        raise AssertionError("an answer ends in a result")

    async def _edit(
        self, canvas: LiveCanvas, text: str, body: CanvasRequest | EditRequest, options: Any, seed: int
    ) -> _Made:
        for name in ("temperature", "spans", "instruction", "min_certainty"):
            if (value := getattr(body, name, None)) is not None:
                options[name] = value
        canvas.redraft(text)
        loop = asyncio.get_running_loop()

        def tell(draft: str) -> None:
            loop.call_soon_threadsafe(lambda: canvas.redraft(draft, always=body.every_step))

        with await self._host.use(canvas.model) as hosted:
            result: Result = await hosted.edit(text, **options, seed=seed, on_draft=tell)
        return result, {}

    async def _run(self, canvas: LiveCanvas, work: Callable[[LiveCanvas], Awaitable[_Made]]) -> None:
        before = canvas.text
        try:
            result, more = await work(canvas)
            self._bill(canvas.owner, [result])
            check_result(result)
            details = {
                "finish_reason": result.finish_reason,
                "seed": result.seed,
                "certainty": round(result.certainty, 4) + 0.0,
                "usage": result.usage.to_dict(),
            }
            await self._keep(canvas, result.text, "model", details | more)
        except asyncio.CancelledError:
            if canvas.status == "running":
                canvas.cancel(before)
        except Exception as error:
            canvas.fail(error, before)

    async def _keep(self, canvas: LiveCanvas, text: str, made_by: str, details: _Json) -> None:
        """Make a text the next revision. What has begun to be written is written, even if nobody waits for it."""

        async def write() -> None:
            await asyncio.to_thread(
                self._history.add, canvas.id, canvas.rev + 1, text, made_by=made_by, details=details
            )
            canvas.details = details
            canvas.finish(text)

        writing = asyncio.ensure_future(write())
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    async def find(self, canvas_id: str, owner: str) -> LiveCanvas:
        """A canvas, out of memory or the database.

        Raises:
            ApiError: 404 if there is none that this owner has.
        """
        canvas = self._live.get(canvas_id)
        if canvas is None and (row := await asyncio.to_thread(self._history.find, canvas_id)) is not None:
            # No event of an earlier life has a higher number than those to come.
            canvas = LiveCanvas(canvas_id, row["owner"], row["model"], seq=int(time.time() * 1000))
            canvas.created = row["created"]
            canvas.rev, canvas.text = row["rev"] or 0, row["text"] or ""
            canvas.details = row["details"] or {}
            # One that was begun and has no revision was cut short, with the server.
            canvas.status = "done" if canvas.rev else "interrupted"
            canvas = self._live.setdefault(canvas_id, canvas)
        if canvas is None or canvas.owner != owner:
            raise ApiError(404, f"there is no canvas {canvas_id!r}", code="canvas_not_found", param="canvas_id")
        return canvas

    async def edit(self, canvas_id: str, body: EditRequest, owner: str) -> LiveCanvas:
        """Change a canvas: by hand, by the model, or both; when this returns, it has a new revision.

        Raises:
            ApiError: 409 if base_rev is not its revision, or it is being changed.
            SfumatoError: if what is asked for cannot be done.
        """
        canvas = await self._open(canvas_id, body.base_rev, owner)
        text = _replaced(canvas.text, body.replace or [])
        by_model = body.rewrite
        if by_model is None:
            by_model = body.spans is not None or body.instruction is not None or body.replace is None
        if not by_model:
            return await self._revise(canvas, lambda: (text, "hand", {}))
        options = body.to_options()
        for name in ("regex", "choices", "ban", "revisit", "seed_text", "pin"):
            if name in options:
                raise RequestError(f"{name} is for an answer; allowed: in POST /v1/canvas")
        canvas.begin()
        canvas.task = asyncio.create_task(
            self._run(canvas, lambda canvas: self._edit(canvas, text, body, options, body.seed))
        )
        try:
            await asyncio.shield(canvas.task)
        except asyncio.CancelledError:
            canvas.task.cancel()
            raise
        if canvas.failure is not None:
            failure, canvas.failure, canvas.status = canvas.failure, None, "done"
            raise failure
        return canvas

    async def undo(self, canvas_id: str, base_rev: int, owner: str) -> LiveCanvas:
        """Go back to the text before: a new revision with the old text.

        Raises:
            ApiError: as for `edit`; or if there is nothing to go back to.
        """
        canvas = await self._open(canvas_id, base_rev, owner)

        def earlier() -> tuple[str, str, _Json]:
            revisions = self._history.revisions(canvas_id)
            # An undo of an undo goes further back.
            at = next((row["details"].get("undone_to") for row in revisions if row["rev"] == canvas.rev), None)
            rows = [row for row in revisions if row["rev"] < (at or canvas.rev)]
            if not rows:
                message = f"canvas {canvas_id} has nothing before revision {at or canvas.rev}"
                raise ApiError(409, message, code="no_undo")
            return rows[-1]["text"], "undo", {"undone_to": rows[-1]["rev"]}

        return await self._revise(canvas, earlier)

    async def _open(self, canvas_id: str, base_rev: int, owner: str) -> LiveCanvas:
        canvas = await self.find(canvas_id, owner)
        if canvas.status == "running":
            raise ApiError(409, f"canvas {canvas_id} is being written", code="canvas_busy", rev=canvas.rev)
        if base_rev != canvas.rev:
            message = f"base_rev is {base_rev}; allowed: {canvas.rev}, the revision that the canvas has now"
            raise ApiError(409, message, code="stale_revision", param="base_rev", rev=canvas.rev, text=canvas.text)
        return canvas

    async def _revise(self, canvas: LiveCanvas, make: Callable[[], tuple[str, str, _Json]]) -> LiveCanvas:
        """A revision that no model writes, as (text, made_by, details); nobody else changes the canvas meanwhile."""
        status, canvas.status = canvas.status, "running"
        try:
            await self._keep(canvas, *await asyncio.to_thread(make))
        finally:
            if canvas.status == "running":
                canvas.status = status
        return canvas

    async def revisions(self, canvas_id: str, owner: str) -> list[_Json]:
        """All that a canvas ever was."""
        await self.find(canvas_id, owner)
        return await asyncio.to_thread(self._history.revisions, canvas_id)

    async def delete(self, canvas_id: str, owner: str) -> None:
        """End what is being done to a canvas, and forget it."""
        canvas = await self.find(canvas_id, owner)
        if canvas.task is not None and not canvas.task.done():
            canvas.task.cancel()
            await asyncio.wait({canvas.task})
        self._live.pop(canvas_id, None)
        await asyncio.to_thread(self._history.delete, canvas_id)

    async def expire(self, keep_s: float) -> None:
        """Forget, again and again, canvases that were begun longer ago than so many seconds."""
        while True:
            before = time.time() - keep_s
            for canvas in [each for each in self._live.values() if each.created < before and each.status != "running"]:
                del self._live[canvas.id]
            await asyncio.to_thread(self._history.expire, before)
            await asyncio.sleep(min(_EXPIRE_EVERY_S, max(1.0, keep_s)))

    async def close(self) -> None:
        """End what is being written."""
        tasks = [canvas.task for canvas in self._live.values() if canvas.task is not None and not canvas.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def own_options(body: CanvasRequest) -> _Json:
    """Options of `TextModel.request` that a canvas has by the same name."""
    options: _Json = dict(body.to_options())
    for name in ("max_tokens", "temperature"):
        if (value := getattr(body, name)) is not None:
            options[name] = value
    return options


def _replaced(text: str, replacements: list[Replacement]) -> str:
    """A text with parts of it replaced.

    Raises:
        RequestError: if they overlap, or are not in the text.
    """
    end = len(text)
    for each in sorted(replacements, key=lambda each: each.start, reverse=True):
        if not each.start <= each.end <= end:
            raise RequestError(
                f"replace has ({each.start}, {each.end}); allowed: parts of the {len(text)} characters, none twice"
            )
        text = text[: each.start] + each.text + text[each.end :]
        end = each.start
    return text
