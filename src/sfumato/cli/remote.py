"""A model behind a server, for what otherwise asks one in this process."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack, cast

from sfumato.client import Answer, Client, ClientOptions, Draft
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, FinishReason, Result, Usage
from sfumato.errors import CapacityError, RequestError, ServerError, unknown

if TYPE_CHECKING:
    from sfumato.engine.options import GenerateOptions


class RemoteModel:
    """One model of a server.

    Args:
        client: of the server.
        name: of the model; None is the server's first.

    Raises:
        RequestError: if the server has no such model.
        ServerError, UnreachableError: if it does not say which it has.
    """

    def __init__(self, client: Client, name: str | None = None) -> None:
        self._client, cards = client, client.models()
        names = [card.name for card in cards]
        if name is not None and name not in names:
            raise RequestError(unknown("model", name, names))
        self._card = cards[0 if name is None else names.index(name)]

    def __repr__(self) -> str:
        return f"{self._card.name} at {self._client.url}"

    @property
    def kinds(self) -> Sequence[str]:
        """Of prompts that it was trained on; where there are none, it takes any."""
        return self._card.kinds

    @property
    def context_length(self) -> int:
        """Positions of prompt and answer together."""
        return self._card.context_length

    def stream(self, prompt: Sequence[Mapping[str, object]], **options: Unpack[GenerateOptions]) -> Iterator[Event]:
        """Answer a conversation as `TextModel.stream` does; events have no tokens.

        Raises:
            CapacityError: if the model cannot hold it.
            ServerError, UnreachableError: if the server refuses, or does not answer.
        """
        drafts = self._client.stream(prompt, **_sent(options, self._card.name))
        try:
            first = next(drafts)
        except ServerError as error:
            if error.code == "context_length_exceeded":
                raise CapacityError(str(error)) from None
            raise
        return _events(itertools.chain((first,), drafts))


def _sent(options: GenerateOptions, model: str) -> ClientOptions:
    """Options as a client takes them: what is a sampler's own, apart."""
    given = {name: value for name, value in options.items() if value is not None}
    known = ClientOptions.__optional_keys__
    own = {name: value for name, value in given.items() if name in known}
    settings = {name: value for name, value in given.items() if name not in known}
    return cast("ClientOptions", own | {"model": model, "settings": settings or None})


def _events(drafts: Iterator[Draft]) -> Iterator[Event]:
    """What an engine would tell of the same answer."""
    num_committed = 0
    for draft in drafts:
        if draft.result is not None:
            yield Finished(variation=0, result=_result(draft.result))
        elif len(draft.committed) > num_committed:
            yield Committed(variation=0, canvas=draft.block, text=draft.committed[num_committed:])
            num_committed = len(draft.committed)
        else:
            yield CanvasChanged(
                variation=0,
                canvas=draft.block,
                step=draft.step,
                steps=draft.steps,
                tokens=(),
                pieces=draft.pieces,
                text="".join(draft.pieces),
                accepted=tuple(state != "noise" for state in draft.states),
                revised=tuple(state == "revised" for state in draft.states),
                confidence=draft.confidence,
            )


def _result(answer: Answer) -> Result:
    names = {field.name for field in dataclasses.fields(Usage)}
    return Result(
        text=answer.text,
        tokens=(),
        finish_reason=cast("FinishReason", answer.finish_reason),
        seed=answer.seed,
        model=answer.model,
        usage=Usage(**{name: cost for name, cost in answer.usage.items() if name in names}),  # type: ignore[arg-type]
        certainty=answer.certainty,
    )
