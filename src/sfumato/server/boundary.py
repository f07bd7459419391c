"""Checks that every request passes: id, key and size; and error responses."""

from __future__ import annotations

import difflib
import html
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.engine.options import SamplerOptions
from sfumato.errors import BusyError, ConfigError
from sfumato.server.access import Access
from sfumato.server.failures import ApiError
from sfumato.server.metrics import Metrics
from sfumato.server.protocol import Diffusion

_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS"})
# What other servers call it, and parts of messages that no model here reads.
_ELSEWHERE = {
    "guided_json": "response_format of type json_schema",
    "guided_regex": "diffusion.regex",
    "guided_grammar": "diffusion.grammar",
    "guided_choice": "diffusion.choices",
    "structured_outputs": "response_format, diffusion.regex, diffusion.grammar or diffusion.choices",
    "json_schema": "response_format of type json_schema",
    **dict.fromkeys(("image_url", "input_audio", "file", "input_image", "input_file"), "parts of type text"),
}
# Maximum characters of a field's name, and of its value.
_MAX_SHOWN = 200
# What a proxy may have named a request.
_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
# Clients of OpenAI's API send these to identify themselves.
_CLIENT_VERSIONS = frozenset({"api-version", "client_version"})
_STYLE = """
[data-theme=light] { color-scheme: light }
[data-theme=dark] { color-scheme: dark }
html { background: light-dark(#f7f5f2, #15131a); color: light-dark(#211d2b, #ece8f3) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 15vh auto 0; padding: 0 1rem }
p { overflow-wrap: anywhere }
p::first-letter { text-transform: uppercase }
h1 { font-size: 1.5rem }
a { color: light-dark(#5b3fa0, #c4aef5) }
"""
# The studio's colours, without its style sheet, which may not be served; its script has the theme that was chosen.
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{status} · Sfumato</title>
<script src="/looks.js"></script>
<style>{style}</style>
<h1>{status}</h1>
<p>{message}</p>
<p><a href="/">All pages</a></p>
"""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s]+")
_IN_JSON = {
    "None": "null",
    "False": "false",
    "a valid integer": "an integer",
    **dict.fromkeys(("a valid dictionary", "a valid dictionary or object to extract fields from"), "a JSON object"),
}
logger = logging.getLogger("sfumato.server")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on requests."""

    max_body_bytes: int = 4_000_000
    cors_origins: tuple[str, ...] = ()
    """Pages of these origins, such as http://localhost:3000, may ask; "*" is any."""
    hosts: frozenset[str] | None = None
    """Names under which clients may call the server; None for any. A page in a browser can make its own name lead to
    this machine."""
    keep_s: float | None = None
    """Seconds after which canvases are deleted; None keeps them."""

    def __post_init__(self) -> None:
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"cors is {origin!r}; allowed: an origin such as http://localhost:3000, or '*' for any"
                )


async def refuse(request: Request, error: Exception) -> Response:
    """OpenAI's error object, with a status that says who is at fault; browsers get a page."""
    if isinstance(error, RequestValidationError):
        refusal = _invalid(request, error)
    elif isinstance(error, HTTPException) and isinstance(error.__cause__, ApiError):
        # The body reader reports any failure as an invalid body.
        refusal = error.__cause__
    elif isinstance(error, HTTPException) and isinstance(error.__cause__, ClientDisconnect):
        raise error.__cause__
    elif isinstance(error, HTTPException) and error.status_code in (404, 405):
        what = f"there is no {request.method} {request.scope['path'][:_MAX_SHOWN]}"
        # Starlette names those of the first route only.
        routes = [route for route in _flat(request.app.routes) if route.matches(request.scope)[0] is Match.PARTIAL]
        methods = ", ".join(sorted({method for route in routes for method in getattr(route, "methods", ())}))
        what += f"; allowed: {methods or 'what /openapi.json lists, and the pages that / leads to'}"
        refusal = ApiError(error.status_code, what, headers={"Allow": methods} if methods else None)
    elif isinstance(error, HTTPException):
        refusal = ApiError(error.status_code, str(error.detail), headers=dict(error.headers or {}))
    else:
        refusal = ApiError.of(error)
    if refusal.status == 500:
        logger.error("request %s failed: %s", request.state.request_id, refusal.code)
    if request.method in ("GET", "HEAD") and request.headers.get("accept", "").startswith("text/html"):
        page = _PAGE.format(status=refusal.status, style=_STYLE, message=html.escape(str(refusal)))
        return HTMLResponse(page, refusal.status, headers=refusal.headers)
    return JSONResponse(refusal.to_dict(), refusal.status, headers=refusal.headers)


def _invalid(request: Request, error: RequestValidationError) -> ApiError:
    """The refusal of an invalid body."""
    # A misspelt name explains the missing one; of a field of several types, what is within the one that was given.
    errors = error.errors()
    first = min(errors, key=lambda each: (each["type"] != "extra_forbidden", -len(each["loc"])))
    kind, param = first["type"], _place(first["loc"], error.body)
    problem = first["msg"][:1].lower() + first["msg"][1:]
    if kind == "model_attributes_type" and isinstance(first["input"], bytes):
        problem = "it is not read as JSON; allowed: with the header Content-Type: application/json"
    elif kind in ("model_attributes_type", "dict_type") and param is None:
        problem = f"it is {json.dumps(first['input'])[:_MAX_SHOWN]}; allowed: a JSON object"
    elif kind == "extra_forbidden":
        *path, name = first["loc"][1:]
        [body] = request.scope["route"].dependant.body_params
        fields = _fields(body.field_info.annotation, path)
        problem = "unknown field"
        if name in _ELSEWHERE:
            problem += f"; allowed: {_ELSEWHERE[name]}"
        elif not path and name in _fields(Diffusion, []) and "diffusion" in fields:
            problem += f"; allowed: diffusion.{name}"
        elif name in SamplerOptions.__optional_keys__ and fields & {"diffusion", "settings"}:
            holder = [*path, "settings"] if "settings" in fields else [*path, "diffusion", "settings"]
            problem += f"; allowed: {'.'.join(map(str, [*holder, name]))}"
        elif near := difflib.get_close_matches(str(name), sorted(fields), n=1, cutoff=0.6):
            problem += f"; did you mean {near[0]}?"
    elif kind in ("too_short", "too_long"):
        sizes = first["ctx"]
        allowed = f"{sizes['min_length']} or more" if kind == "too_short" else f"{sizes['max_length']} or fewer"
        problem = f"it has {sizes['actual_length']} items; allowed: {allowed}"
    elif kind == "union_tag_invalid":
        problem = f"its type is {first['ctx']['tag']!r:.{_MAX_SHOWN}}; allowed: {first['ctx']['expected_tags']}"
    elif kind in ("literal_error", "none_required"):
        allowed = first.get("ctx", {}).get("expected", "None")
        given = json.dumps(first["input"])[:_MAX_SHOWN]
        problem = f"{given} is not supported; allowed: {_IN_JSON.get(allowed, allowed)}"
    elif "should be " in problem:
        # A field of several types has an error for each of them.
        alike = [each for each in errors if _place(each["loc"], error.body) == param]
        kinds = dict.fromkeys(
            each["msg"].partition("should be ")[2] for each in alike if each["input"] is first["input"]
        )
        allowed = " or ".join(_IN_JSON.get(each, each.replace("a valid ", "a ")) for each in filter(None, kinds))
        problem = f"it is {json.dumps(first['input'], default=str)[:_MAX_SHOWN]}; allowed: {allowed}"
    return ApiError(400, f"{param or 'the body'}: {problem}", param=param, code=kind)


async def check_query(request: Request) -> None:
    """Refuse a query parameter that an endpoint of the API does not know (400)."""
    if not request.scope["path"].startswith("/v1/"):
        return
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known and name not in _CLIENT_VERSIONS:
            message = f"{name[:_MAX_SHOWN]} is given in the query; allowed: {', '.join(known) or 'nothing'}"
            raise ApiError(400, message, param=name[:_MAX_SHOWN], code="extra_forbidden")


def _models(kind: Any) -> list[type[BaseModel]]:
    """The models that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in get_args(kind) for model in _models(part)]


def _fields(kind: Any, path: Sequence[str | int]) -> set[str]:
    """Names of the fields where a path leads to in a body of some type."""
    models = _models(kind)
    for part in path:
        # Indices, and the names of union members, lead no further.
        if any(part in model.model_fields for model in models):
            models = [
                inner
                for model in models
                if part in model.model_fields
                for inner in _models(model.model_fields[str(part)].annotation)
            ]
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _place(location: Sequence[str | int], body: object) -> str | None:
    """The field that an error is about, without the names of union members."""
    names, value = [], body
    for i, part in enumerate(location[1:]):
        here = part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int)
        if here:
            names.append(str(part))
            value = value[part]  # type: ignore[index]
        elif i == len(location) - 2 and (not names or isinstance(value, dict)):
            names.append(str(part))
    return ".".join(names)[:_MAX_SHOWN] or None


def _flat(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Routes with those of included routers, which newer versions of FastAPI keep apart."""
    for route in routes:
        router = getattr(route, "original_router", None)
        yield from [route] if router is None else _flat(router.routes)


class Boundary:
    """Middleware that gives every request an id, checks its key and size, and counts it.

    Args:
        is_open: whether a path needs no key.
    """

    def __init__(
        self, inner: ASGIApp, *, access: Access, limits: Limits, metrics: Metrics, is_open: Callable[[str], bool]
    ) -> None:
        self._inner, self._is_open = inner, is_open
        self._access, self._limits, self._metrics = access, limits, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = Request(scope)
        given = request.headers.get("x-request-id", "")
        request.state.request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.state.key = None
        begun, status = time.perf_counter(), 499

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request.state.request_id.encode()))
            await send(message)

        scope["app"].state.num_open += 1
        try:
            inner_receive = self._admit(request, receive)
            # What answers GET answers HEAD too; the server leaves its body out.
            inner_scope = scope if scope["method"] != "HEAD" else {**scope, "method": "GET"}
            await self._inner(inner_scope, inner_receive, sending)
        except ClientDisconnect:
            pass
        except Exception as error:
            if status != 499:
                # The client sees that the answer was cut off.
                raise
            await (await refuse(request, error))(scope, receive, sending)
        finally:
            scope["app"].state.num_open -= 1
            route = self._route(scope)
            seconds = time.perf_counter() - begun
            method = request.method if request.method in _METHODS else "other"
            self._metrics.request(method, route, status, seconds)
            state = request.state
            name = "-" if state.key is None else state.key.name
            logger.info("%s %s %s %s %d %.3f", state.request_id, name, method, route, status, seconds)

    def _route(self, scope: Scope) -> str:
        """The path's pattern, also if the request was refused before it came there."""
        found = scope.get("route") or next(
            (one for one in _flat(scope["app"].routes) if one.matches(scope)[0] is not Match.NONE), None
        )
        return getattr(found, "path", "unknown")

    def _admit(self, request: Request, receive: Receive) -> Receive:
        """Pass the body on, up to the size limit."""
        host = request.headers.get("host", "")
        if self._limits.hosts is not None and re.sub(r":\d*$", "", host).strip("[]") not in self._limits.hosts:
            raise ApiError(
                403,
                f"the host is {host[:_MAX_SHOWN]!r}; allowed: {', '.join(sorted(self._limits.hosts))}, and others if "
                "the server has keys or runs --without-keys",
                code="wrong_host",
            )
        # Not its URL's path, which depends on what the client calls the server.
        reads = request.method in ("GET", "HEAD")
        if not (reads and self._is_open(request.scope["path"])):
            key = self._access.find(request.headers.get("authorization"), request.headers.get("x-api-key"))
            request.state.key = key
            if request.method == "POST":
                if request.app.state.ending:
                    raise ApiError.of(BusyError("", None))
                if not request.app.state.ready:
                    raise ApiError(503, "the server is not ready", code="not_ready", headers={"Retry-After": "5"})
                self._access.admit(key)
        limit = self._limits.max_body_bytes
        too_large = ApiError(413, f"the body is too large; allowed: {limit} bytes", code="body_too_large")
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > limit:
            raise too_large
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise too_large
            return message

        return receiving
