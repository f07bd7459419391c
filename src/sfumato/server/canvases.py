"""Canvases that clients create, follow and revise.

A canvas is a text with a revision number. While the model works on it, its draft changes. Readers get the changes; at
first, after a break, or if they are too slow, they get a snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

from pydantic import Field

from sfumato.engine.editing import check_spans
from sfumato.engine.model import TextModel
from sfumato.engine.options import ConstraintOptions
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import Committed, Finished, Request, Result
from sfumato.errors import RequestError
from sfumato.server.bodies import Body
from sfumato.server.canvas import LiveCanvas
from sfumato.server.completions import check_result, logprobs_of
from sfumato.server.failures import ApiError
from sfumato.server.history import History
from sfumato.server.hosting import MAX_EDITED, Host
from sfumato.server.protocol import MAX_SPANS, Constrained, Diffusion, Message
from sfumato.server.streaming import end_tasks, run_to_end

logger = logging.getLogger("sfumato.server")
_REMEMBERED = 1000
_EXPIRE_EVERY_S = 3600.0
# Fields that only apply to answers.
_OF_ANSWERS = ("pins", "max_tokens", "top_logprobs", "revisit", "seed_text", "pin")
_Json = dict[str, Any]
_Made = tuple[Result, _Json]
"""Fields of an answer that are stored with it."""


class CanvasRequest(Diffusion):
    """`POST /v1/canvas`."""

    model: str | None = None
    prompt: str | None = None
    messages: list[Message] | None = None
    text: str | None = None
    """With a prompt, the draft to start from; without one, a text to rewrite in parts."""
    pins: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    """[start, end) character ranges of the draft that stay."""
    spans: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    """Parts of the text to rewrite; by default, what the model doubts."""
    instruction: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int = 0
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    """For each committed token, its log-probability and this many alternatives."""
    every_step: bool = False
    """Send every step. Otherwise, if steps are faster than the stream, only the newest."""
    n: int = Field(default=1, ge=1, le=16)
    stream: bool = False
    background: bool = False
    """Return at once; the canvas is followed by its events and does not need a reader."""


class Replacement(Body):
    """A manual replacement of a part of the text."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str


class EditRequest(Constrained):
    """`POST /v1/canvas/{id}/edits`."""

    base_rev: int
    replace: list[Replacement] | None = Field(default=None, max_length=MAX_SPANS)
    """Replacements to make before the model's turn."""
    spans: list[list[int]] | None = Field(default=None, max_length=MAX_SPANS)
    """Parts for the model to rewrite, in the text after replacements."""
    instruction: str | None = None
    rewrite: bool | None = None
    """Whether the model has a turn; by default, if spans, an instruction or a constraint are given, or nothing is
    replaced."""
    temperature: float | None = None
    seed: int = 0
    min_certainty: float | None = None
    """Nats, up to 0: a less certain edit is withheld; the revision has the same text and `finish_reason` "unsure"."""
    every_step: bool = False
    """Send every step, including those that change nothing."""


class UndoRequest(Body):
    """`POST /v1/canvas/{id}/undo`."""

    base_rev: int


class Canvases:
    """All canvases of a server.

    Args:
        bill: called with the owner and the results.
    """

    def __init__(
        self, host: Host, history: History, bill: Callable[[str, list[Result]], None] = lambda *_: None
    ) -> None:
        self._host, self._history, self._bill = host, history, bill
        self._live: dict[str, LiveCanvas] = {}

    async def create(self, body: CanvasRequest, owner: str) -> list[LiveCanvas]:
        """Create n canvases and start work on them."""
        name = body.model or self._host.default
        self._host.check(name)
        works = await self._works(name, body)
        prompt = body.model_dump(exclude_none=True, by_alias=True, exclude={"stream", "background", "n"})
        made = [LiveCanvas(f"canvas_{uuid.uuid4().hex}", owner, name) for _ in works]
        ids = [canvas.id for canvas in made]
        await asyncio.to_thread(self._history.create, ids, owner=owner, model=name, prompt=prompt)
        # All of them, or none: work whose request failed would have no reader.
        for canvas, work in zip(made, works, strict=True):
            canvas.prompt = _prompt_of(body)
            self._remember(canvas)
            canvas.begin()
            canvas.task = asyncio.create_task(self._run(canvas, work))
        # Work that is cancelled before it begins could not say so.
        await asyncio.sleep(0)
        return made

    def _remember(self, canvas: LiveCanvas) -> LiveCanvas:
        """The canvas in memory with this one's id, which is this one if there was none; idle ones make room for it."""
        canvas = self._live.setdefault(canvas.id, canvas)
        for old in list(self._live.values())[: max(0, len(self._live) - _REMEMBERED)]:
            if not old.is_busy and not old.is_followed:
                del self._live[old.id]
        return canvas

    async def _works(self, name: str, body: CanvasRequest) -> list[Callable[[LiveCanvas], Awaitable[_Made]]]:
        """Work that produces the text of each canvas. Refused here, while the client still waits for an answer."""
        seeds = range(body.seed, body.seed + body.n)
        if body.stream and body.background:
            raise RequestError("stream is given; allowed: only without background, whose events are read by GET")
        if body.prompt is None and body.messages is None:
            if body.text is None:
                raise RequestError("neither prompt, messages nor text is given; give one")
            for field in _OF_ANSWERS:
                if getattr(body, field) is not None:
                    raise RequestError(f"{field} is given; allowed: only with prompt or messages")
            options = body.to_options()
            edit = partial(self._edit, text=body.text, body=body, options=options)
            return [partial(edit, seed=seed) for seed in seeds]
        if body.prompt is not None and body.messages is not None:
            raise RequestError("prompt and messages are given; allowed: one of them")
        for field in ("spans", "instruction"):
            if getattr(body, field) is not None:
                raise RequestError(f"{field} is given; allowed: only without prompt and messages")
        for field, same in (("seed_text", "text"), ("pin", "pins")):
            if getattr(body, field) is not None and getattr(body, same) is not None:
                raise RequestError(f"{field} is given; allowed: only without {same}, which says the same")
        with await self._host.use(name) as hosted:
            request = await asyncio.to_thread(_request, hosted.model, body)
        return [partial(self._generate, body=body, request=replace(request, seed=seed)) for seed in seeds]

    async def _generate(self, canvas: LiveCanvas, body: CanvasRequest, request: Request) -> _Made:
        with_logprobs = body.top_logprobs is not None
        with await self._host.use(canvas.model) as hosted:
            left = partial(self._bill, canvas.owner)
            stream = hosted.answering.stream(request, every_draft=body.every_step, on_left=left)
            async for event in stream:
                more: _Json = {}
                if with_logprobs and isinstance(event, Committed | Finished):
                    answer = event.result if isinstance(event, Finished) else event
                    more = {"logprobs": logprobs_of(hosted.model, answer)}
                if isinstance(event, Finished):
                    return event.result, more
                canvas.take(event, **more)
        raise AssertionError("an answer ends in a result")

    async def _edit(
        self, canvas: LiveCanvas, text: str, body: CanvasRequest | EditRequest, options: Any, seed: int
    ) -> _Made:
        fields = {"temperature", "spans", "instruction", "min_certainty"}
        options = options | body.model_dump(include=fields, exclude_none=True)
        canvas.redraft(text)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def show(draft: str) -> None:
            # A thread may tell of a draft just before it learns that its reader has left.
            if canvas.task is task and canvas.status == "running":
                canvas.redraft(draft, always=body.every_step)

        def tell(draft: str) -> None:
            loop.call_soon_threadsafe(show, draft)

        with await self._host.use(canvas.model) as hosted:
            left = partial(self._bill, canvas.owner)
            if canvas.prompt is not None and "instruction" not in options:
                # A long one would leave no room for the text.
                is_short = len(hosted.model.context(canvas.prompt)) <= hosted.model.context_length // 2
                options |= {"prompt": canvas.prompt} if is_short else {}
            return await hosted.edit(text, **options, seed=seed, on_draft=tell, on_left=left), {}

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
            failure = ApiError.of(error)
            if canvas.rev and failure.status < 500:
                # Nothing is wrong with the canvas: the edit was refused.
                canvas.cancel(before)
                canvas.failure = failure
            else:
                canvas.fail(failure, before)

    async def _keep(self, canvas: LiveCanvas, text: str, made_by: str, details: _Json) -> None:
        """Store a text as the next revision. Once started, it is stored even if nobody waits."""

        async def write() -> None:
            await asyncio.to_thread(
                self._history.add, canvas.id, canvas.rev + 1, text, made_by=made_by, details=details
            )
            canvas.details = details
            canvas.finish(text)

        await run_to_end(write())

    async def find(self, canvas_id: str, owner: str, *, param: str = "canvas_id") -> LiveCanvas:
        """An owner's canvas, from memory or the database; 404 if there is none."""
        canvas = self._live.get(canvas_id)
        if canvas is None or not canvas.is_busy:
            # Another server may have changed or deleted it.
            row = await asyncio.to_thread(self._history.find, canvas_id)
            if row is not None:
                canvas = self._restore(row)
            elif canvas is not None and not canvas.is_busy:
                self._live.pop(canvas_id, None)
                canvas = None
        if canvas is None or canvas.owner != owner:
            raise ApiError(404, f"there is no canvas {canvas_id[:100]!r}", code="canvas_not_found", param=param)
        return canvas

    def _restore(self, row: _Json) -> LiveCanvas:
        """The canvas in memory of one in the database, which another server may have changed."""
        known = self._live.get(row["id"])
        if known is not None and (known.is_busy or known.rev >= (row["rev"] or 0)):
            return known
        self._live.pop(row["id"], None)
        # Numbers continue above those of events before a restart.
        canvas = LiveCanvas(row["id"], row["owner"], row["model"], seq=int(time.time() * 1000))
        asked = {name: row["prompt"].get(name) for name in ("prompt", "messages")}
        canvas.created, canvas.prompt = row["created"], _prompt_of(CanvasRequest.model_validate(asked))
        canvas.rev, canvas.text = row["rev"] or 0, row["text"] or ""
        canvas.details, canvas.assets = row["details"] or {}, row["assets"]
        # A canvas without a revision was cut short by a restart of the server.
        canvas.status = "done" if canvas.rev else "interrupted"
        return self._remember(canvas)

    async def page(self, owner: str, limit: int, after: str | None) -> tuple[list[LiveCanvas], bool]:
        """An owner's canvases, newest first, and whether there are more.

        Args:
            after: id of the last canvas of the page before.

        Raises:
            ApiError: 404 if there is no such canvas.
        """
        if after is not None:
            await self.find(after, owner, param="after")
        rows = await asyncio.to_thread(self._history.newest, owner, limit + 1, after)
        return [self._restore(row) for row in rows[:limit]], len(rows) > limit

    async def edit(self, canvas_id: str, body: EditRequest, owner: str) -> LiveCanvas:
        """Edit a canvas by hand, by the model, or both; 409 if base_rev is not its revision or it is being edited."""
        canvas = await self._open(canvas_id, body.base_rev, owner)
        text = _replaced(canvas.text, body.replace or [])
        if len(text) > MAX_EDITED:
            raise RequestError(f"the edited text has {len(text):,} characters; allowed: {MAX_EDITED:,}")
        options, by_model = body.to_options(), body.rewrite
        if by_model is None:
            asks = body.spans is not None or body.instruction is not None
            by_model = asks or not body.replace or bool(options.keys() & ConstraintOptions.__optional_keys__)
        if not by_model:
            return await self._revise(canvas, lambda: (text, "hand", {}))
        check_spans(text, cast(Any, body.spans or ()), "spans")
        canvas.begin()
        work = partial(self._edit, text=text, body=body, options=options, seed=body.seed)
        task = canvas.task = asyncio.create_task(self._run(canvas, work))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if canvas.failure is not None:
            failure, canvas.failure, canvas.status = canvas.failure, None, "done"
            raise failure
        return canvas

    async def undo(self, canvas_id: str, base_rev: int, owner: str) -> LiveCanvas:
        """Restore the last text that was different as a new revision; 409 as for `edit`, or if there is none."""
        canvas = await self._open(canvas_id, base_rev, owner)

        def earlier() -> tuple[str, str, _Json]:
            # Undoing an undo goes further back.
            at = canvas.details.get("undone_to", canvas.rev)
            found = self._history.last_other(canvas_id, at, canvas.text)
            if found is None:
                raise ApiError(409, f"canvas {canvas_id} has nothing before revision {at}", code="no_undo")
            rev, text = found
            return text, "undo", {"undone_to": rev}

        return await self._revise(canvas, earlier)

    async def _open(self, canvas_id: str, base_rev: int, owner: str) -> LiveCanvas:
        canvas = await self.find(canvas_id, owner)
        if canvas.status == "running":
            raise ApiError(409, f"canvas {canvas_id} is being edited", code="canvas_busy", rev=canvas.rev)
        if base_rev != canvas.rev:
            message = f"base_rev is {base_rev}; allowed: {canvas.rev}, the canvas's current revision"
            raise ApiError(409, message, code="stale_revision", param="base_rev", rev=canvas.rev, text=canvas.text)
        return canvas

    async def _revise(self, canvas: LiveCanvas, make: Callable[[], tuple[str, str, _Json]]) -> LiveCanvas:
        """A revision made without a model, as (text, made_by, details); no other edit runs meanwhile."""
        status, canvas.status = canvas.status, "running"
        try:
            await self._keep(canvas, *await asyncio.to_thread(make))
        finally:
            if canvas.status == "running":
                canvas.status = status
                canvas.wake()
        return canvas

    async def revisions(self, canvas_id: str, owner: str, limit: int | None, after: int) -> tuple[list[_Json], bool]:
        """Revisions of a canvas, oldest first, and whether there are more; see `History.revisions`."""
        await self.find(canvas_id, owner)
        wanted = None if limit is None else limit + 1
        rows = await asyncio.to_thread(self._history.revisions, canvas_id, wanted, after)
        return rows[:limit], limit is not None and len(rows) > limit

    async def delete(self, canvas_id: str, owner: str) -> None:
        """Stop work on a canvas and delete it."""
        canvas = await self.find(canvas_id, owner)
        if canvas.task is not None:
            await end_tasks([canvas.task])
        await asyncio.to_thread(self._history.delete, canvas_id)
        # Last, so that nobody can find it in the database and bring it back.
        self._live.pop(canvas_id, None)

    async def expire(self, keep_s: float) -> None:
        """Periodically delete canvases older than a number of seconds."""
        while True:
            before = time.time() - keep_s
            for canvas in [each for each in self._live.values() if each.created < before and not each.is_busy]:
                del self._live[canvas.id]
            try:
                await asyncio.to_thread(self._history.expire, before)
            except Exception as error:
                # Such as a locked database. The next time may succeed.
                logger.error("old canvases were not deleted: %s", error)
            await asyncio.sleep(min(_EXPIRE_EVERY_S, max(1.0, keep_s)))

    @property
    def is_busy(self) -> bool:
        """Whether any canvas is being worked on."""
        return any(canvas.is_busy for canvas in self._live.values())

    async def close(self) -> None:
        """Cancel all work in progress."""
        await end_tasks(canvas.task for canvas in self._live.values() if canvas.task is not None)


def _request(model: TextModel, body: CanvasRequest) -> Request:
    options: _Json = {**body.to_options(), "seed": body.seed}
    options |= body.model_dump(include={"max_tokens", "temperature", "top_logprobs"}, exclude_none=True)
    given = {"seed_text": body.text, "pin": body.pins}
    options |= {name: value for name, value in given.items() if value is not None}
    return model.request(_prompt_of(body) or "", **options)


def _prompt_of(body: CanvasRequest) -> Prompt | None:
    return [message.to_turn() for message in body.messages] if body.messages else body.prompt


def _replaced(text: str, replacements: list[Replacement]) -> str:
    """A text with replacements."""
    end = whole = len(text)
    # From the end, and of texts put in at one place the last one first.
    for each in sorted(reversed(replacements), key=lambda each: (-each.start, -each.end)):
        if not each.start <= each.end <= end:
            raise RequestError(
                f"replace has ({each.start}, {each.end})"
                + (f" and another part that starts at {end}" if each.start <= each.end <= whole else "")
                + f"; allowed: parts of the {whole} characters that do not overlap"
            )
        text = text[: each.start] + each.text + text[each.end :]
        end = each.start
    return text
