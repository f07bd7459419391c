"""Sync and async clients of Sfumato's server, and the canvases they follow and edit."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Concatenate, Unpack
from urllib.parse import quote, urlencode

from sfumato.client.connection import AsyncWire, BlockingWire, Connection, P, blocking, blocking_iterator
from sfumato.client.drafts import AnswerText, CanvasText, LostTrackError
from sfumato.client.protocol import (
    Answer,
    Ask,
    ClientOptions,
    Draft,
    Json,
    ModelCard,
    Prompt,
    Revision,
    ask_answer,
    ask_canvas,
    ask_edit,
    ask_infill,
    failure,
    read_answer,
    read_canvas_answer,
    read_cards,
    read_revisions,
)
from sfumato.errors import RequestError, ServerError, UnreachableError


class CanvasHandle:
    """A canvas on a server, as last seen; created by `AsyncClient.canvas` and `Client.canvas`."""

    def __init__(self, connection: Connection, values: Json) -> None:
        self._connection, self._values = connection, values
        self._path = f"/v1/canvas/{quote(values['id'], safe='')}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, rev={self.rev}, {self.status})"

    @property
    def id(self) -> str:
        """Id, for `find_canvas`."""
        return str(self._values["id"])

    @property
    def rev(self) -> int:
        """Revision number; 0 before the first one is complete."""
        return int(self._values["rev"])

    @property
    def text(self) -> str:
        """Its whole text, including a draft."""
        return str(self._values["text"])

    @property
    def status(self) -> str:
        """ "running", "done", "cancelled", "error", or "interrupted" if the server stopped meanwhile."""
        return str(self._values["status"])

    @property
    def answer(self) -> Answer | None:
        """The model's answer; None if the last revision was not made by a model, or is incomplete."""
        return read_canvas_answer(self._values)


class AsyncCanvas(CanvasHandle):
    """A canvas on a server, for coroutines."""

    async def edit(
        self: CanvasHandle,
        *,
        replace: Iterable[tuple[int, int, str]] | None = None,
        spans: Sequence[tuple[int, int]] | None = None,
        instruction: str | None = None,
        rewrite: bool | None = None,
        min_certainty: float | None = None,
        **options: Unpack[ClientOptions],
    ) -> str:
        """Edit the canvas by hand, by the model, or both, and wait for the new revision.

        Args:
            replace: (start, end, new text) character ranges, applied first.
            spans: (start, end) character ranges that the model rewrites, in the text after replacements.
            instruction: what to do.
            rewrite: whether the model has a turn; None: with spans or an instruction, or if nothing is replaced.
            min_certainty: minimum certainty of the model's text, in nats; otherwise the text stays.
            **options: see `ClientOptions`.

        Returns:
            Its text.

        Raises:
            StaleRevisionError: if the canvas has a newer revision, which the exception carries.
            ServerError: if another edit is running, or an option is not allowed.
        """
        given = None if replace is None else list(replace)
        for part in given or ():
            if not isinstance(part, tuple | list) or len(part) != 3:
                raise RequestError(f"replace has {part!r}; allowed: (start, end, text)")
        parts = None if given is None else [{"start": start, "end": end, "text": text} for start, end, text in given]
        ask = ask_edit(
            self._path,
            options,
            base_rev=self.rev,
            replace=parts,
            spans=spans,
            instruction=instruction,
            rewrite=rewrite,
            min_certainty=min_certainty,
        )
        self._values = await self._connection.fetch(ask, dict)
        return self.text

    async def undo(self: CanvasHandle) -> str:
        """Restore the previous text as a new revision; repeating it goes further back.

        Returns:
            Its text.

        Raises:
            StaleRevisionError: if the canvas has a newer revision.
            ServerError: if there is nothing to undo.
        """
        ask = Ask.post(f"{self._path}/undo", {"base_rev": self.rev})
        self._values = await self._connection.fetch(ask, dict)
        return self.text

    async def refresh(self: CanvasHandle) -> str:
        """Fetch its current state.

        Returns:
            Its text.
        """
        self._values = await self._connection.fetch(Ask(method="GET", path=self._path), dict)
        return self.text

    async def revisions(self: CanvasHandle) -> list[Revision]:
        """All its revisions, oldest first."""
        return await self._connection.fetch(Ask(method="GET", path=f"{self._path}/revisions"), read_revisions)

    async def delete(self: CanvasHandle) -> None:
        """Stop work on it and delete it from the server."""
        await self._connection.fetch(Ask(method="DELETE", path=self._path), dict)

    async def events(self: CanvasHandle) -> AsyncGenerator[Draft, None]:
        """Follow it until it is final. A broken connection is reopened, and missed events are caught up with.

        Yields:
            Its text whenever it changed, and at the end with the answer.

        Raises:
            ServerError: if the work on it failed.
            UnreachableError: if the server cannot be reached several times in a row; see `Connection`.
        """
        text, attempt = CanvasText(), 0
        while text.end is None:
            try:
                async with aclosing(self._connection.follow(Ask(method="GET", path=f"{self._path}/events"))) as events:
                    async for data in events:
                        follows, draft = text.seq is not None, text.take(data)
                        attempt = 0 if follows else attempt
                        self._values = self._values | {"text": text.draft.text}
                        if text.end is not None:
                            break
                        if draft is not None:
                            yield draft
                broken: ServerError | UnreachableError = UnreachableError(f"the events of {self.id} broke off")
            except (UnreachableError, LostTrackError) as error:
                broken = UnreachableError(str(error))
            except ServerError as error:
                if error.status not in (502, 504):
                    raise
                # From a proxy whose server is away.
                broken = error
            if text.end is None:
                await self._connection.retry(broken, attempt)
                text.seq, attempt = None, attempt + 1
        if text.end["type"] == "canvas.done":
            # From an earlier revision, only fields that never change.
            self._values = {name: self._values[name] for name in ("id", "model")} | text.end
        else:
            # The event does not say what happened before, or the details of the rest.
            await AsyncCanvas.refresh(self)
        if "error" in text.end:
            raise failure(text.end["error"])
        yield Draft(text=self.text, committed=self.text, done=True, result=self.answer, block=text.draft.block)


class Canvas(CanvasHandle):
    """A canvas on a server."""

    edit = blocking(AsyncCanvas.edit)
    undo = blocking(AsyncCanvas.undo)
    refresh = blocking(AsyncCanvas.refresh)
    revisions = blocking(AsyncCanvas.revisions)
    delete = blocking(AsyncCanvas.delete)
    events = blocking_iterator(AsyncCanvas.events)


def blocking_canvas(
    method: Callable[Concatenate[Connection, P], Coroutine[Any, Any, AsyncCanvas]],
) -> Callable[Concatenate[Connection, P], Canvas]:
    """The blocking version of the same method."""
    found = blocking(method)

    @functools.wraps(method)
    def called(self: Connection, /, *args: P.args, **options: P.kwargs) -> Canvas:
        canvas = found(self, *args, **options)
        return Canvas(canvas._connection, canvas._values)

    return called


class AsyncClient(Connection):
    """Async client of a Sfumato server; `Client` is the blocking version.

    ::

        async with AsyncClient("http://127.0.0.1:8000") as client:
            answer = await client.generate("sums: 12+35, 81/3")
            async for draft in client.stream("sums: 12+35, 81/3"):
                print(draft.text)

    Arguments and errors are those of `Client`.
    """

    _wire_type = AsyncWire

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self: Connection) -> None:
        """Close all connections."""
        await self._wire.close()

    async def models(self: Connection) -> list[ModelCard]:
        """The served models; the first is the default."""
        return await self.fetch(Ask(method="GET", path="/v1/models"), read_cards)

    async def generate(self: Connection, prompt: Prompt, *, n: int = 1, **options: Unpack[ClientOptions]) -> Answer:
        """Answer a prompt.

        Args:
            prompt: a user message, or a conversation of {"role", "content"} dicts.
            n: number of answers; answer i uses seed + i, and all but the first are in `others`.
            **options: see `ClientOptions`.
        """
        return await self.fetch(ask_answer(prompt, options, n=n), read_answer)

    async def stream(self: Connection, prompt: Prompt, **options: Unpack[ClientOptions]) -> AsyncGenerator[Draft, None]:
        """Answer a prompt and yield drafts. Leaving the iteration stops the work.

        Args:
            prompt: as for `generate`.
            **options: see `ClientOptions`.

        Yields:
            The text after each step, and at the end with its result. A broken stream cannot be resumed; the events of a
            canvas can.
        """
        text = AnswerText()
        async with aclosing(self.follow(ask_answer(prompt, options, stream=True))) as events:
            async for data in events:
                if (draft := text.take(data)) is not None:
                    yield draft
                if text.draft.done:
                    return
        raise UnreachableError("the server ended the stream before the answer was complete; ask again")

    async def infill(
        self: Connection,
        prefix: str,
        suffix: str = "",
        *,
        prompt: str | None = None,
        n: int = 1,
        **options: Unpack[ClientOptions],
    ) -> Answer:
        """Fill the gap between two texts.

        Args:
            prefix: the text before the gap.
            suffix: the text after it.
            prompt: the message that the whole text answers.
            n: number of answers, each with its own seed; different ones are in `others` of the most certain.
            **options: see `ClientOptions`.

        Returns:
            The answer, whose text is the gap's.
        """
        return await self.fetch(ask_infill(prefix, suffix, prompt, options, n=n), read_answer)

    async def canvas(
        self: Connection,
        prompt: Prompt | None = None,
        *,
        text: str | None = None,
        spans: Sequence[tuple[int, int]] | None = None,
        instruction: str | None = None,
        background: bool = False,
        **options: Unpack[ClientOptions],
    ) -> AsyncCanvas:
        """Create a canvas: a text that the server keeps, with all its revisions.

        Args:
            prompt: as for `generate`; None for a text to rewrite in parts.
            text: such a text; with a prompt, the draft to start from.
            spans: (start, end) character ranges of such a text to rewrite; None: what the model doubts.
            instruction: what to do with such a text.
            background: return at once; `events` follows the work.
            **options: see `ClientOptions`.
        """
        given = {"text": text, "spans": spans, "instruction": instruction, "background": background}
        return AsyncCanvas(self, await self.fetch(ask_canvas(prompt, options, **given), dict))

    async def find_canvas(self: Connection, canvas_id: str) -> AsyncCanvas:
        """Find an existing canvas.

        Raises:
            ServerError: 404 if there is none.
        """
        if not canvas_id:
            raise RequestError("canvas_id is empty; allowed: the id of a canvas")
        canvas = AsyncCanvas(self, {"id": canvas_id})
        await canvas.refresh()
        return canvas

    async def list_canvases(self: Connection, *, limit: int = 20, after: str | None = None) -> list[AsyncCanvas]:
        """List your canvases, newest first.

        Args:
            limit: how many, up to 100.
            after: id of the last one of the page before.
        """
        query = {"limit": limit} | ({} if after is None else {"after": after})
        page = await self.fetch(Ask(method="GET", path=f"/v1/canvas?{urlencode(query)}"), dict)
        return [AsyncCanvas(self, values) for values in page["data"]]


class Client(Connection):
    """Client of a Sfumato server.

    ::

        with Client("http://127.0.0.1:8000") as client:
            answer = client.generate("sums: 12+35, 81/3")
            for draft in client.stream("sums: 12+35, 81/3"):
                print(draft.text)

    Every method raises `ServerError` if the server refuses, and `UnreachableError` if no answer comes.

    Args:
        base_url: of the server; None takes SFUMATO_URL, or the default address of `sfumato serve` on this machine.
        api_key: if the server needs one; None takes SFUMATO_API_KEY, "" sends none.
        timeout_s: maximum seconds without data from the server.
        max_retries: number of retries when the server is busy (429, 503), and of reconnections in a row for a canvas's
            events.
        max_wait_s: maximum seconds to wait before a retry; if the server asks for more, there is none.

    Raises:
        ConfigError: if an argument is not allowed, or httpx is missing.
    """

    _wire_type = BlockingWire

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    close = blocking(AsyncClient.close)
    models = blocking(AsyncClient.models)
    generate = blocking(AsyncClient.generate)
    stream = blocking_iterator(AsyncClient.stream)
    infill = blocking(AsyncClient.infill)
    canvas = blocking_canvas(AsyncClient.canvas)
    find_canvas = blocking_canvas(AsyncClient.find_canvas)

    @functools.wraps(AsyncClient.list_canvases)
    def list_canvases(self, *, limit: int = 20, after: str | None = None) -> list[Canvas]:
        found = blocking(AsyncClient.list_canvases)(self, limit=limit, after=after)
        return [Canvas(self, canvas._values) for canvas in found]
