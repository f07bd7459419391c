"""Pictures that belong to a canvas, requested by slot and announced in its events.

A canvas's event stream stays open while its text or a picture is being made. A reader that left finds the pictures in
the canvas.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from sfumato.server.canvas import LiveCanvas
from sfumato.server.canvases import Canvases
from sfumato.server.failures import ApiError
from sfumato.server.history import History
from sfumato.server.images import MAX_PROMPT, Images, image_url, size_of
from sfumato.server.protocol import Body

MAX_ASSETS = 32
"""Maximum number per canvas."""


class AssetRequest(Body):
    """`POST /v1/canvas/{id}/assets`."""

    slot: str = Field(pattern=r"^[\w.-]{1,64}$")
    """Its purpose, such as an element's id; a later picture replaces an earlier one."""
    prompt: str = Field(min_length=1, max_length=MAX_PROMPT)
    size: str = "512x512"


class Assets:
    """The pictures of all canvases."""

    def __init__(self, canvases: Canvases, history: History, images: Images) -> None:
        self._canvases, self._history, self._images = canvases, history, images
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, canvas_id: str, body: AssetRequest, owner: str) -> dict[str, Any]:
        """Start generating a picture.

        Returns:
            The asset's initial state.

        Raises:
            ApiError: 404 if there is no such canvas; 409 if the slot's picture is being made.
            RequestError: if the size is not allowed.
        """
        size_of(body.size)
        canvas = await self._canvases.find(canvas_id, owner)
        known = canvas.assets.get(body.slot)
        if known is not None and known["status"] == "pending":
            message = f"slot is {body.slot!r}, whose picture is still being made; wait for it"
            raise ApiError(409, message, code="asset_busy", param="slot")
        if known is None and len(canvas.assets) == MAX_ASSETS:
            raise ApiError(409, f"canvas {canvas_id} has {MAX_ASSETS} assets; allowed: no more", code="too_many_assets")
        canvas.assets[body.slot] = asset = body.model_dump() | {"status": "pending"}
        task = asyncio.create_task(self._make(canvas, body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"object": "canvas.asset", "canvas_id": canvas.id} | asset

    async def _make(self, canvas: LiveCanvas, body: AssetRequest) -> None:
        asset = canvas.assets[body.slot]
        try:
            url = await image_url(self._images, body.prompt, body.size)
            await asyncio.to_thread(self._history.add_asset, canvas.id, asset | {"status": "ready", "url": url})
        except Exception as error:
            failure = ApiError.of(error).to_dict()
            asset.update(failure, status="error")
            canvas.tell("asset.error", slot=body.slot, **failure)
        else:
            asset.update(status="ready", url=url)
            canvas.tell("asset.ready", slot=body.slot, url=url)

    async def close(self) -> None:
        """Cancel all pictures in progress."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
