"""The endpoints of canvases, beneath `/v1/canvas`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from sfumato.server import documents
from sfumato.server.access import Owner
from sfumato.server.bodies import JsonRoute
from sfumato.server.canvas import LiveCanvas, ag_ui_events
from sfumato.server.canvases import Canvases, CanvasRequest, EditRequest, UndoRequest
from sfumato.server.documents import answered
from sfumato.server.images import AssetRequest, Assets
from sfumato.server.streaming import Events, run_while_connected

_Json = dict[str, Any]
_CANVASES = documents.CanvasBody | documents.CanvasBodies


def canvas_routes(canvases: Canvases, assets: Assets) -> APIRouter:
    """The endpoints."""
    router = APIRouter(tags=["canvases"], route_class=JsonRoute)

    @router.post("/v1/canvas", **answered(_CANVASES, streamed=True, others={202: _CANVASES}))
    async def create_canvas(body: CanvasRequest, request: Request, owner: Owner) -> Response:
        """Create one or n canvases."""
        made = await canvases.create(body, owner)
        if body.background:
            return JSONResponse(_listed(made), 202)
        if body.stream:
            return CanvasStream(made)
        tasks = [canvas.task for canvas in made if canvas.task is not None]
        try:
            await run_while_connected(request, asyncio.wait(tasks))
        finally:
            for task in tasks:
                task.cancel()
        for canvas in made:
            if canvas.failure is not None:
                raise canvas.failure
        return JSONResponse(_listed(made))

    @router.get("/v1/canvas", **answered(documents.CanvasPage))
    async def list_canvases(
        owner: Owner, limit: Annotated[int, Query(ge=1, le=100)] = 20, after: str | None = None
    ) -> _Json:
        """List canvases, newest first. `after` is the id of the last one of the page before."""
        found, has_more = await canvases.page(owner, limit, after)
        return {"object": "list", "data": [canvas.to_dict() for canvas in found], "has_more": has_more}

    @router.get("/v1/canvas/{canvas_id}", **answered(documents.CanvasBody))
    async def read_canvas(canvas_id: str, owner: Owner) -> _Json:
        """A canvas's current state."""
        return (await canvases.find(canvas_id, owner)).to_dict()

    @router.get(
        "/v1/canvas/{canvas_id}/events", response_class=documents.EventStream, **answered(documents.CanvasEvent)
    )
    async def canvas_events(
        canvas_id: str,
        owner: Owner,
        after: int | None = None,
        last_event_id: Annotated[str | None, Header()] = None,
        shape: Annotated[Literal["sfumato", "ag-ui"], Query(alias="format")] = "sfumato",
    ) -> Response:
        """A canvas's events after an event number. Without one, if it is too old, or if none follows it on a final
        canvas, a snapshot comes first. AG-UI's format always starts with a snapshot."""
        canvas = await canvases.find(canvas_id, owner)
        if after is None and last_event_id is not None and last_event_id.isdecimal():
            after = int(last_event_id[:18])
        parts = ag_ui_events(canvas.id, canvas.events()) if shape == "ag-ui" else canvas.events(after)
        return Events(parts, end="")

    @router.post("/v1/canvas/{canvas_id}/edits", **answered(documents.CanvasBody))
    async def edit_canvas(canvas_id: str, body: EditRequest, request: Request, owner: Owner) -> _Json:
        """Edit a canvas: replace parts of its text, have the model rewrite spans, or both; everything else stays."""
        return (await run_while_connected(request, canvases.edit(canvas_id, body, owner))).to_dict()

    @router.post("/v1/canvas/{canvas_id}/undo", **answered(documents.CanvasBody))
    async def undo_canvas(canvas_id: str, body: UndoRequest, owner: Owner) -> _Json:
        """Restore the previous text."""
        return (await canvases.undo(canvas_id, body.base_rev, owner)).to_dict()

    @router.get("/v1/canvas/{canvas_id}/revisions", **answered(documents.Revisions))
    async def canvas_revisions(
        canvas_id: str,
        owner: Owner,
        limit: Annotated[int | None, Query(ge=1, le=100)] = None,
        after: Annotated[int, Query(ge=0, lt=1 << 31)] = 0,
    ) -> _Json:
        """List a canvas's revisions, oldest first: all of them, or `limit`. `after` is the number of the last one of
        the page before."""
        found, has_more = await canvases.revisions(canvas_id, owner, limit, after)
        return {"object": "list", "data": found, "has_more": has_more}

    @router.delete("/v1/canvas/{canvas_id}", **answered(documents.Deleted))
    async def delete_canvas(canvas_id: str, owner: Owner) -> _Json:
        """Stop work on a canvas and delete it."""
        await canvases.delete(canvas_id, owner)
        return {"id": canvas_id, "object": "canvas.deleted", "deleted": True}

    @router.post("/v1/canvas/{canvas_id}/assets", **answered(documents.Asset, status=202))
    async def add_asset(canvas_id: str, body: AssetRequest, owner: Owner) -> Response:
        """Start generating a picture for a slot of a canvas; its events and the canvas show when it is ready."""
        return JSONResponse(await assets.add(canvas_id, body, owner), 202)

    return router


def _listed(made: list[LiveCanvas]) -> _Json:
    if len(made) == 1:
        return made[0].to_dict()
    return {"object": "list", "data": [canvas.to_dict() for canvas in made]}


class CanvasStream(Events):
    """The events of several canvases in sequence; work on them ends if the reader leaves, even before the first."""

    def __init__(self, made: list[LiveCanvas]) -> None:
        self._made = made
        # Later ones are of others' edits.
        self._tasks = [canvas.task for canvas in made if canvas.task is not None]
        super().__init__(self._events(), end="")

    async def _events(self) -> AsyncGenerator[str, None]:
        for canvas in self._made:
            async for part in canvas.events():
                yield part

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            for task in self._tasks:
                task.cancel()
