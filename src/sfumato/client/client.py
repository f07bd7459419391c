"""Clients of Sfumato's server, and the canvases that they follow and change."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Concatenate, Unpack
from urllib.parse import quote

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
from sfumato.errors import ServerError, UnreachableError


class CanvasHandle:
    """A canvas on a server, as it was when it was last heard of; `AsyncClient.canvas` and `Client.canvas` begin one."""

    def __init__(self, connection: Connection, values: Json) -> None:
        self._connection, self._values = connection, values
        self._path = f"/v1/canvas/{quote(values['id'], safe='')}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, rev={self.rev}, {self.status})"

    @property
    def id(self) -> str:
        """By which `find_canvas` finds it again."""
        return str(self._values["id"])

    @property
    def rev(self) -> int:
        """Number of its revision; 0 before the first is whole."""
        return int(self._values["rev"])

    @property
    def text(self) -> str:
        """All of it, a draft included."""
        return str(self._values["text"])

    @property
    def status(self) -> str:
        """ "running", "done", "cancelled", "error", or "interrupted" where the server's end cut it short."""
        return str(self._values["status"])

    @property
    def answer(self) -> Answer | None:
        """What the model answered; None where its last revision is no model's, or is not whole."""
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
        """Change the canvas: by hand, by the model, or both. When this returns, it has a new revision.

        Args:
            replace: (first character, the one after the last, what stands there from now on); first of all.
            spans: (first character, the one after the last) of what the model writes anew, in the text with its
                replacements.
            instruction: what to do.
            rewrite: whether the model has a turn; None: with spans or an instruction, or where nothing is replaced.
            min_certainty: of what the model writes, in nats; else the text stays.
            **options: see `ClientOptions`.

        Returns:
            Its text.

        Raises:
            StaleRevisionError: if it has another revision by now, which the exception has.
            ServerError: if something is being written on it, or an option is not allowed.
        """
        parts = None if replace is None else [{"start": at, "end": end, "text": text} for at, end, text in replace]
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
        """Go back to the text before, in a new revision; once more goes further back.

        Returns:
            Its text.

        Raises:
            StaleRevisionError: if it has another revision by now.
            ServerError: if there is nothing to go back to.
        """
        ask = Ask.post(f"{self._path}/undo", {"base_rev": self.rev})
        self._values = await self._connection.fetch(ask, dict)
        return self.text

    async def refresh(self: CanvasHandle) -> str:
        """Ask how it stands.

        Returns:
            Its text.
        """
        self._values = await self._connection.fetch(Ask(method="GET", path=self._path), dict)
        return self.text

    async def revisions(self: CanvasHandle) -> list[Revision]:
        """All texts that it had, the first one first."""
        return await self._connection.fetch(Ask(method="GET", path=f"{self._path}/revisions"), read_revisions)

    async def delete(self: CanvasHandle) -> None:
        """End what is being done to it, and have the server forget it."""
        await self._connection.fetch(Ask(method="DELETE", path=self._path), dict)

    async def events(self: CanvasHandle) -> AsyncGenerator[Draft, None]:
        """Follow it until nothing changes any more. Where the connection breaks, it is made anew, and what was missed
        is caught up with.

        Yields:
            Its text, whenever it has changed, and at the end with the answer.

        Raises:
            ServerError: if what is being done to it failed.
            UnreachableError: if the server cannot be reached several times in a row, see `Connection`.
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
                # Of a proxy, whose server is away.
                broken = error
            if text.end is None:
                await self._connection.retry(broken, attempt)
                text.seq, attempt = None, attempt + 1
        if text.end["type"] == "canvas.done":
            # Of an earlier revision, only what does not change.
            self._values = {name: self._values[name] for name in ("id", "model")} | text.end
        else:
            # How it was done before we came, or what is left of it, the event does not say.
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
    """The same method for callers that wait."""
    found = blocking(method)

    @functools.wraps(method)
    def called(self: Connection, /, *args: P.args, **options: P.kwargs) -> Canvas:
        canvas = found(self, *args, **options)
        return Canvas(canvas._connection, canvas._values)

    return called


class AsyncClient(Connection):
    """Asks a server of Sfumato, for coroutines. `Client` is the same for callers that wait.

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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self: Connection) -> None:
        """Close all connections."""
        await self._wire.close()

    async def models(self: Connection) -> list[ModelCard]:
        """The models that are served; the first answers where a request names none."""
        return await self.fetch(Ask(method="GET", path="/v1/models"), read_cards)

    async def generate(self: Connection, prompt: Prompt, *, n: int = 1, **options: Unpack[ClientOptions]) -> Answer:
        """Answer a prompt.

        Args:
            prompt: a user's message, or a conversation of {"role", "content"} dicts.
            n: number of answers; answer i has seed + i, and all but the first are its `others`.
            **options: see `ClientOptions`.
        """
        return await self.fetch(ask_answer(prompt, options, n=n), read_answer)

    async def stream(self: Connection, prompt: Prompt, **options: Unpack[ClientOptions]) -> AsyncGenerator[Draft, None]:
        """Answer a prompt, and show the text while it is denoised. Who leaves the iteration ends the work.

        Args:
            prompt: as for `generate`.
            **options: see `ClientOptions`.

        Yields:
            The text as it reads after each step, and at the end with its result. A stream that breaks off cannot be
            taken up again; the events of a canvas can.
        """
        text = AnswerText()
        async with aclosing(self.follow(ask_answer(prompt, options, stream=True))) as events:
            async for data in events:
                if (draft := text.take(data)) is not None:
                    yield draft
                if text.draft.done:
                    return
        raise UnreachableError("the server ended the stream before the answer was whole; ask again")

    async def infill(
        self: Connection, prefix: str, suffix: str = "", *, n: int = 1, **options: Unpack[ClientOptions]
    ) -> Answer:
        """Write what stands between two texts.

        Args:
            prefix: the text before the gap.
            suffix: the text after it.
            n: number of answers with seeds of their own; those that differ are the `others` of the most certain.
            **options: see `ClientOptions`.

        Returns:
            The answer, whose text is what stands in the gap.
        """
        return await self.fetch(ask_infill(prefix, suffix, options, n=n), read_answer)

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
        """Begin a canvas: a text that the server keeps, with all of its revisions.

        Args:
            prompt: as for `generate`; None for a text to write anew in places.
            text: such a text; with a prompt, the draft that the answer starts from.
            spans: (first character, the one after the last) of the places of such a text; None: what the model doubts.
            instruction: what to do with such a text.
            background: return at once; `events` follows what is written.
            **options: see `ClientOptions`.
        """
        given = {"text": text, "spans": spans, "instruction": instruction, "background": background}
        return AsyncCanvas(self, await self.fetch(ask_canvas(prompt, options, **given), dict))

    async def find_canvas(self: Connection, canvas_id: str) -> AsyncCanvas:
        """A canvas that was begun before.

        Raises:
            ServerError: 404 if there is none.
        """
        canvas = AsyncCanvas(self, {"id": canvas_id})
        await canvas.refresh()
        return canvas


class Client(Connection):
    """Asks a server of Sfumato.

    ::

        with Client("http://127.0.0.1:8000") as client:
            answer = client.generate("sums: 12+35, 81/3")
            for draft in client.stream("sums: 12+35, 81/3"):
                print(draft.text)

    Every method raises `ServerError` for what the server refuses, and `UnreachableError` where no answer comes.

    Args:
        base_url: of the server; None takes SFUMATO_URL, or else that of `sfumato serve` on this machine.
        api_key: for a server that asks for one; None takes SFUMATO_API_KEY.
        timeout_s: most seconds without a word from the server.
        max_retries: how often a server that is busy (429, 503) is asked again, and how often in a row the events of a
            canvas are asked for again that broke off.
        max_wait_s: most seconds to wait before that; a server that wants more is not asked again.

    Raises:
        ConfigError: if one of them is not allowed, or httpx is missing.
    """

    _wire_type = BlockingWire

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    close = blocking(AsyncClient.close)
    models = blocking(AsyncClient.models)
    generate = blocking(AsyncClient.generate)
    stream = blocking_iterator(AsyncClient.stream)
    infill = blocking(AsyncClient.infill)
    canvas = blocking_canvas(AsyncClient.canvas)
    find_canvas = blocking_canvas(AsyncClient.find_canvas)
