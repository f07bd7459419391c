"""Canvases that clients follow, revise and come back to.

A canvas is a text with a number of its revision. While the model works on it, its draft changes: whoever follows gets
what changed, and at first, after a break, or when too slow, all of it as it stands.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, Literal

from pydantic import Field, JsonValue

from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, Reopened, Result
from sfumato.errors import RequestError
from sfumato.server.completions import check_result
from sfumato.server.failures import ApiError
from sfumato.server.history import History
from sfumato.server.hosting import Host
from sfumato.server.protocol import MAX_SPANS, Body, Diffusion, Message

MAX_BEHIND = 256
"""Events that wait for a reader; one who has more is sent the canvas as it stands instead."""
_REMEMBERED = 1000
_SNAPSHOT_EVERY = 64
_Json = dict[str, Any]
Status = Literal["running", "done", "cancelled", "error", "interrupted"]


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


class Reader:
    """Events on their way to one who follows a canvas."""

    def __init__(self) -> None:
        self.events: deque[_Json] = deque()
        self.is_behind = True
        self.news = asyncio.Event()

    def put(self, event: _Json) -> None:
        """Add an event, or note that there were too many."""
        if len(self.events) >= MAX_BEHIND:
            self.is_behind = True
            self.events.clear()
        if not self.is_behind:
            self.events.append(event)
        self.news.set()


class LiveCanvas:
    """A canvas in memory."""

    def __init__(self, canvas_id: str, owner: str, model: str) -> None:
        self.id, self.owner, self.model = canvas_id, owner, model
        self.rev = 0
        self.status: Status = "running"
        self.text = ""
        """What stays of it, without the draft."""
        self.pieces: tuple[str, ...] = ()
        """The draft, a text for each position."""
        self.block = self.step = self.seq = 0
        self.num_patches = 0
        self.created = time.time()
        self.details: _Json = {}
        self.error: _Json | None = None
        self.task: asyncio.Task[None] | None = None
        self.readers: set[Reader] = set()

    def to_dict(self) -> _Json:
        """The canvas as `GET /v1/canvas/{id}` shows it."""
        values = {
            "id": self.id,
            "object": "canvas",
            "model": self.model,
            "rev": self.rev,
            "status": self.status,
            "text": self.text + "".join(self.pieces),
            "created": int(self.created),
            "seq": self.seq,
        }
        return values | self.details | ({"error": self.error} if self.error else {})

    def snapshot(self) -> _Json:
        """All of it as it stands."""
        committed = len(self.text)
        return self._event("canvas.snapshot") | {
            "status": self.status,
            "text": self.text + "".join(self.pieces),
            "committed": committed,
            "block": self.block,
            "step": self.step,
            "pieces": list(self.pieces),
        }

    def _event(self, kind: str) -> _Json:
        return {"type": kind, "seq": self.seq, "canvas_id": self.id, "rev": self.rev}

    def tell(self, kind: str, **data: object) -> None:
        """An event for all readers."""
        self.seq += 1
        event = self._event(kind) | data
        for reader in self.readers:
            reader.put(event)

    def take(self, event: Event) -> None:
        """What the engine tells of the answer, told to the readers."""
        if isinstance(event, CanvasChanged):
            self._change(event)
        elif isinstance(event, Committed):
            start, end = len(self.text), len(self.text) + len("".join(self.pieces))
            self.text, self.pieces = self.text + event.text, ()
            self.tell("canvas.commit", block=event.canvas, chars=[start, end], text=event.text)
        elif isinstance(event, Reopened):
            self.text, self.pieces = event.text, ()
            self._tell_snapshot()

    def _tell_snapshot(self) -> None:
        self.seq += 1
        snapshot = self.snapshot()
        for reader in self.readers:
            reader.put(snapshot)

    def _change(self, event: CanvasChanged) -> None:
        known, same_block = self.pieces, event.canvas == self.block
        self.pieces, self.block, self.step = event.pieces, event.canvas, event.step
        self.num_patches += 1
        if not same_block or len(known) != len(event.pieces) or self.num_patches % _SNAPSHOT_EVERY == 0:
            self._tell_snapshot()
            return
        state = [
            "revised" if revised else "accepted" if accepted else "noise"
            for accepted, revised in zip(event.accepted, event.revised, strict=True)
        ]
        self.tell(
            "canvas.patch",
            block=event.canvas,
            step=event.step,
            steps=event.steps,
            changes=changes(known, event.pieces, len(self.text)),
            state=state,
            confidence=[round(value, 4) for value in event.confidence],
        )

    def finish(self, text: str) -> None:
        """A new revision is final."""
        self.rev += 1
        self.status, self.text, self.pieces = "done", text, ()
        self.tell("canvas.done", status="done", text=text, **self.details)

    def fail(self, error: Exception) -> None:
        """It came to nothing; the text of the last revision stays."""
        refusal = ApiError.of(error)
        self.status, self.error, self.pieces = "error", refusal.to_dict()["error"], ()
        self.tell("canvas.error", status="error", error=self.error)


def changes(before: tuple[str, ...], after: tuple[str, ...], offset: int) -> list[_Json]:
    """Where two drafts differ, the last place first, so that who replaces them in this order need not count anew.

    Args:
        before, after: a text for each position.
        offset: characters of the text before the draft.

    Returns:
        Of each stretch, its positions, its characters in the whole text as it was, and what stands there now.
    """
    starts = [offset]
    for piece in before:
        starts.append(starts[-1] + len(piece))
    found: list[_Json] = []
    end = len(before)
    while end:
        if before[end - 1] == after[end - 1]:
            end -= 1
            continue
        start = end
        while start and before[start - 1] != after[start - 1]:
            start -= 1
        chars = [starts[start], starts[end]]
        found.append({"tokens": [start, end], "chars": chars, "text": "".join(after[start:end])})
        end = start
    return found


class Canvases:
    """All canvases of a server.

    Args:
        host: its models.
        history: where revisions are kept.
        charge: called with the owner and the positions that an answer cost.
    """

    def __init__(self, host: Host, history: History, charge: Callable[[str, int], None] = lambda *_: None) -> None:
        self._host, self._history, self._charge = host, history, charge
        self._live: OrderedDict[str, LiveCanvas] = OrderedDict()

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
            await asyncio.to_thread(self._make_request, model, body, body.seed)
        prompt = body.model_dump(exclude_none=True, by_alias=True, exclude={"stream", "background", "n"})
        made = []
        for work in works:
            canvas = LiveCanvas(f"canvas_{uuid.uuid4().hex}", owner, name)
            await asyncio.to_thread(self._history.create, canvas.id, owner=owner, model=name, prompt=prompt)
            self._remember(canvas)
            canvas.tell("canvas.started", model=name)
            canvas.task = asyncio.create_task(self._run(canvas, work, "model"))
            made.append(canvas)
        return made

    def _remember(self, canvas: LiveCanvas) -> None:
        self._live[canvas.id] = canvas
        for old in list(self._live.values())[: max(0, len(self._live) - _REMEMBERED)]:
            if old.status != "running" and not old.readers:
                del self._live[old.id]

    def _work(self, model: TextModel, body: CanvasRequest, seed: int) -> Callable[[LiveCanvas], Any]:
        """What makes the text of a canvas."""
        if body.prompt is None and body.messages is None:
            if body.text is None:
                raise RequestError("neither prompt, messages nor text is given; give one")
            for name in ("schema_", "regex", "choices", "ban", "pins", "revisit", "max_tokens", "seed_text", "pin"):
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
        turns = None if body.messages is None else [message.to_turn() for message in body.messages]
        return model.request(turns or body.prompt or "", **options | {"seed": seed})

    async def _generate(self, canvas: LiveCanvas, body: CanvasRequest, seed: int) -> Result:
        with await self._host.use(canvas.model) as hosted:
            request = await asyncio.to_thread(self._make_request, hosted.model, body, seed)
            async for event in hosted.answering.stream(request):
                if isinstance(event, Finished):
                    return event.result
                canvas.take(event)
        raise AssertionError("an answer ends in a result")

    async def _edit(
        self, canvas: LiveCanvas, text: str, body: CanvasRequest | EditRequest, options: Any, seed: int
    ) -> Result:
        for name in ("temperature", "spans", "instruction", "min_certainty"):
            if (value := getattr(body, name, None)) is not None:
                options[name] = value
        canvas.text, canvas.pieces = text, ()
        canvas._tell_snapshot()
        with await self._host.use(canvas.model) as hosted:
            result = await hosted.edit(text, **options, seed=seed)
        return result

    async def _run(self, canvas: LiveCanvas, work: Callable[[LiveCanvas], Any], made_by: str) -> None:
        before = canvas.text
        try:
            result: Result = await work(canvas)
            self._charge(canvas.owner, result.usage.positions_computed)
            check_result(result)
            canvas.details = {
                "finish_reason": result.finish_reason,
                "seed": result.seed,
                "certainty": round(result.certainty, 4) + 0.0,
                "usage": result.usage.to_dict(),
            }
            await self._keep(canvas, result.text, made_by)
        except asyncio.CancelledError:
            canvas.status, canvas.text, canvas.pieces = "cancelled", before, ()
            canvas.tell("canvas.done", status="cancelled", text=before)
        except Exception as error:
            canvas.text = before
            canvas.fail(error)

    async def _keep(self, canvas: LiveCanvas, text: str, made_by: str) -> None:
        adding = asyncio.to_thread(
            self._history.add, canvas.id, canvas.rev + 1, text, made_by=made_by, details=canvas.details
        )
        # What is being written is told of, even where the task is cancelled meanwhile.
        await asyncio.shield(adding)
        canvas.finish(text)

    async def find(self, canvas_id: str, owner: str) -> LiveCanvas:
        """A canvas, out of memory or the database.

        Raises:
            ApiError: 404 if there is none that this owner has.
        """
        canvas = self._live.get(canvas_id)
        if canvas is None and (row := await asyncio.to_thread(self._history.find, canvas_id)) is not None:
            canvas = LiveCanvas(canvas_id, row["owner"], row["model"])
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
            return await self._revise(canvas, text, "hand")
        options = body.to_options()
        for name in ("regex", "choices", "ban", "revisit", "seed_text", "pin"):
            if name in options:
                raise RequestError(f"{name} is for an answer; allowed: in POST /v1/canvas")
        canvas.status = "running"
        canvas.tell("canvas.started", model=canvas.model)
        work = self._run(canvas, lambda canvas: self._edit(canvas, text, body, options, body.seed), "model")
        canvas.task = asyncio.create_task(work)
        try:
            await asyncio.shield(canvas.task)
        except asyncio.CancelledError:
            canvas.task.cancel()
            raise
        if canvas.error is not None:
            error, canvas.error, canvas.status = canvas.error, None, "done"
            status = 400 if error["type"] == "invalid_request_error" else 500
            raise ApiError(status, error["message"], code=error["code"], param=error["param"])
        return canvas

    async def undo(self, canvas_id: str, base_rev: int, owner: str) -> LiveCanvas:
        """Go back to the text before: a new revision with the old text.

        Raises:
            ApiError: as for `edit`; or if there is nothing to go back to.
        """
        canvas = await self._open(canvas_id, base_rev, owner)
        revisions = await asyncio.to_thread(self._history.revisions, canvas_id)
        # An undo of an undo goes further back.
        at = next((row["details"].get("undone_to") for row in revisions if row["rev"] == canvas.rev), None)
        earlier = [row for row in revisions if row["rev"] < (at or canvas.rev)]
        if not earlier:
            raise ApiError(409, f"canvas {canvas_id} has nothing before revision {at or canvas.rev}", code="no_undo")
        canvas.details = {"undone_to": earlier[-1]["rev"]}
        return await self._revise(canvas, earlier[-1]["text"], "undo", keep_details=True)

    async def _open(self, canvas_id: str, base_rev: int, owner: str) -> LiveCanvas:
        canvas = await self.find(canvas_id, owner)
        if canvas.status == "running":
            raise ApiError(409, f"canvas {canvas_id} is being written", code="canvas_busy", rev=canvas.rev)
        if base_rev != canvas.rev:
            message = f"base_rev is {base_rev}; allowed: {canvas.rev}, the revision that the canvas has now"
            raise ApiError(409, message, code="stale_revision", param="base_rev", rev=canvas.rev, text=canvas.text)
        return canvas

    async def _revise(self, canvas: LiveCanvas, text: str, made_by: str, *, keep_details: bool = False) -> LiveCanvas:
        canvas.status = "running"
        canvas.details = canvas.details if keep_details else {}
        try:
            await self._keep(canvas, text, made_by)
        finally:
            canvas.status = "done"
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

    async def events(self, canvas: LiveCanvas) -> AsyncGenerator[str, None]:
        """What happens to a canvas until nothing more does: at first all of it, then what changes."""
        reader = Reader()
        canvas.readers.add(reader)
        try:
            while True:
                reader.news.clear()
                if reader.is_behind:
                    reader.is_behind = False
                    reader.events.clear()
                    yield _sse(canvas.snapshot())
                while reader.events and not reader.is_behind:
                    yield _sse(reader.events.popleft())
                if canvas.status != "running" and not reader.events:
                    return
                if not reader.is_behind and not reader.events:
                    await reader.news.wait()
        finally:
            canvas.readers.discard(reader)

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


def _sse(event: _Json) -> str:
    kind, seq = event["type"], event["seq"]
    return f"event: {kind}\nid: {seq}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
