"""Picture generation in OpenAI's format, from one of three sources, and the pictures of canvases.

The default source ignores the prompt's meaning: it draws a pattern from the prompt's hash, and says so.
"""

from __future__ import annotations

import asyncio
import base64
import colorsys
import hashlib
import importlib
import importlib.util
import io
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal
from xml.sax.saxutils import escape

from pydantic import Field

from sfumato.errors import ConfigError, RequestError
from sfumato.server.bodies import Body
from sfumato.server.canvas import LiveCanvas
from sfumato.server.canvases import Canvases
from sfumato.server.failures import ApiError
from sfumato.server.history import History
from sfumato.server.streaming import end_tasks
from sfumato.server.upstream import Relay, Upstream, read_upstream

MAX_PROMPT = 4000
"""Characters."""
MAX_ASSETS = 32
"""Maximum number per canvas."""
_Json = dict[str, Any]
_SIZE = re.compile(r"([1-9]\d{1,3})x([1-9]\d{1,3})")
_MIN_SIDE, _MAX_SIDE = 16, 2048
# Characters not allowed in XML.
_NOT_XML = {code: None for code in (*range(0x20), 0xFFFE, 0xFFFF) if chr(code) not in "\t\n\r"}
_NOTE = "a decorative pattern; no image model is running"


class ImageRequest(Body):
    """`POST /v1/images/generations`."""

    prompt: str = Field(min_length=1, max_length=MAX_PROMPT)
    model: str | None = None
    n: int = Field(default=1, ge=1, le=10)
    size: str = "512x512"
    """Width and height in pixels."""
    response_format: Literal["b64_json", "url"] = "b64_json"
    """The bytes, or a URL; locally generated pictures are embedded (`data:`)."""
    user: str | None = None


class PatternImages:
    """Abstract SVG patterns, without a model; the same prompt gives the same picture."""

    name = "svg"

    async def generate(self, body: ImageRequest) -> _Json:
        width, height = size_of(body.size)
        drawn = [pattern(body.prompt, width, height, i).encode() for i in range(body.n)]
        return _answer(body, drawn, "svg") | {"sfumato": {"backend": "svg", "depicts_prompt": False, "note": _NOTE}}


class UpstreamImages:
    """Pictures from another server."""

    def __init__(self, upstream: Upstream, relay: Relay) -> None:
        self.name, self._upstream, self._relay = upstream.model, upstream, relay

    async def generate(self, body: ImageRequest) -> _Json:
        payload = body.model_dump(exclude_none=True) | {"model": self.name}
        return await self._relay.post(self._upstream, "images/generations", payload)


class DiffusersImages:
    """Pictures from a diffusers pipeline, one request at a time."""

    def __init__(self, name: str) -> None:
        if importlib.util.find_spec("diffusers") is None:
            raise ConfigError("--images diffusers:MODEL needs more packages: pip install diffusers")
        self.name, self._thread = name, ThreadPoolExecutor(1)
        self._pipeline: Any = None

    async def generate(self, body: ImageRequest) -> _Json:
        # One thread, which a client that leaves does not free before the picture is drawn.
        loop, size = asyncio.get_running_loop(), size_of(body.size)
        drawn = await loop.run_in_executor(self._thread, self._draw, body, *size)
        return _answer(body, drawn, "png") | {"sfumato": {"backend": "diffusers", "model": self.name}}

    def _draw(self, body: ImageRequest, width: int, height: int) -> list[bytes]:
        if self._pipeline is None:
            import torch

            diffusers: Any = importlib.import_module("diffusers")
            self._pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(self.name)
            self._pipeline.to("cuda" if torch.cuda.is_available() else "cpu")
            self._pipeline.set_progress_bar_config(disable=True)
        try:
            drawn = self._pipeline(body.prompt, width=width, height=height, num_images_per_prompt=body.n).images
        except ValueError as error:
            # For example, a size that is not a multiple of the latent's.
            raise RequestError(f"size is {body.size!r}, which {self.name} cannot draw: {str(error)[:200]}") from None
        return [_png(image) for image in drawn]


Images = PatternImages | UpstreamImages | DiffusersImages


def read_images(given: str, relay: Relay) -> Images:
    """The source of pictures: "svg", "diffusers:MODEL", or an API's URL, as for `read_upstream`."""
    kind, _, model = given.partition(":")
    if given == "svg":
        return PatternImages()
    if kind == "diffusers" and model:
        return DiffusersImages(model)
    if kind in ("http", "https"):
        return UpstreamImages(read_upstream(f"images={given}"), relay)
    raise ConfigError(f"images is {given!r}; allowed: svg, diffusers:MODEL, or URL#MODEL,key=VARIABLE")


async def make_images(images: Images, body: ImageRequest) -> _Json:
    """A response in OpenAI's format."""
    size_of(body.size)
    if body.model not in (None, images.name):
        message = f"model is {body.model!r}; allowed for images: {images.name!r}"
        raise ApiError(404, message, code="model_not_found", param="model")
    return await images.generate(body)


async def image_url(images: Images, prompt: str, size: str) -> str:
    """The URL of one picture, embedded if its bytes are known."""
    answer = await images.generate(ImageRequest(prompt=prompt, size=size))
    try:
        [made] = answer["data"]
        if data := made.get("b64_json"):
            return _data_url(data, answer.get("output_format") or "png")
        return str(made["url"])
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ApiError(502, "the image source returned no picture", code="upstream_failed") from None


def size_of(given: str) -> tuple[int, int]:
    """Width and height."""
    found = _SIZE.fullmatch(given)
    if found is None or not all(_MIN_SIDE <= int(side) <= _MAX_SIDE for side in found.groups()):
        raise RequestError(f"size is {given[:40]!r}; allowed: WIDTHxHEIGHT, each {_MIN_SIDE} to {_MAX_SIDE}")
    return int(found[1]), int(found[2])


def pattern(prompt: str, width: int, height: int, number: int = 0) -> str:
    """An SVG of soft shapes, determined by a prompt's hash.

    Args:
        width, height: in pixels.
        number: index among several for one prompt.
    """
    draw = random.Random(hashlib.sha256(f"{number}\n{prompt}".encode()).digest())
    hue = draw.random()

    def color(lightness: float) -> str:
        red, green, blue = colorsys.hls_to_rgb((hue + draw.gauss(0, 0.09)) % 1, lightness, draw.uniform(0.3, 0.7))
        return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"

    shapes = [
        f'<ellipse cx="{draw.uniform(0, width):.0f}" cy="{draw.uniform(0, height):.0f}" '
        f'rx="{draw.uniform(0.1, 0.45) * width:.0f}" ry="{draw.uniform(0.1, 0.45) * height:.0f}" '
        f'fill="{color(draw.uniform(0.3, 0.8))}" opacity="{draw.uniform(0.35, 0.8):.2f}"/>'
        for _ in range(draw.randint(5, 9))
    ]
    blur = f'<filter id="b"><feGaussianBlur stdDeviation="{min(width, height) / 18:.1f}"/></filter>'
    title = escape(f"Abstract pattern for: {prompt}".translate(_NOT_XML))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{title}</title><desc>This is {_NOTE}.</desc>{blur}'
        f'<rect width="100%" height="100%" fill="{color(0.55)}"/><g filter="url(#b)">{"".join(shapes)}</g></svg>'
    )


def _answer(body: ImageRequest, drawn: list[bytes], kind: str) -> _Json:
    encoded = [base64.b64encode(image).decode() for image in drawn]
    if body.response_format == "url":
        data = [{"url": _data_url(image, kind)} for image in encoded]
    else:
        data = [{"b64_json": image} for image in encoded]
    return {"created": int(time.time()), "data": data, "output_format": kind, "size": body.size}


def _data_url(data: str, kind: str) -> str:
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{data}"


def _png(image: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


class AssetRequest(Body):
    """`POST /v1/canvas/{id}/assets`."""

    slot: str = Field(pattern=r"^[\w.-]{1,64}$")
    """Its purpose, such as an element's id; a later picture replaces an earlier one."""
    prompt: str = Field(min_length=1, max_length=MAX_PROMPT)
    size: str = "512x512"


class Assets:
    """The pictures of all canvases, requested by slot and announced in a canvas's events.

    A canvas's event stream stays open while its text or a picture is being made. A reader that left finds the pictures
    in the canvas.
    """

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
        await end_tasks(self._tasks)
