"""A model on a server, with the interface of a local one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack, cast

from sfumato.client import Answer, Client, ClientOptions, Draft
from sfumato.config import check_choice
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, FinishReason, Result, Usage
from sfumato.errors import CapacityError, ServerError

if TYPE_CHECKING:
    from sfumato.engine.options import GenerateOptions


class RemoteModel:
    """One model of a server.

    Args:
        name: of the model; None is the server's first.

    Raises:
        RequestError: if the server has no such model.
        ServerError, UnreachableError: if the server does not list its models.
    """

    def __init__(self, client: Client, name: str | None = None) -> None:
        self._client, cards = client, client.models()
        names = [card.name for card in cards]
        if name is not None:
            check_choice("model", name, names)
        self._card = cards[0 if name is None else names.index(name)]

    def __repr__(self) -> str:
        return f"{self._card.name} at {self._client.url}"

    @property
    def kinds(self) -> Sequence[str]:
        """Kinds of prompts it was trained on; empty if it takes any prompt."""
        return self._card.kinds

    @property
    def context_length(self) -> int:
        """Maximum positions of prompt and answer together."""
        return self._card.context_length

    def stream(self, prompt: Sequence[Mapping[str, object]], **options: Unpack[GenerateOptions]) -> Iterator[Event]:
        """Answer a conversation like `TextModel.stream`, without tokens; CapacityError if it does not fit."""
        drafts = self._client.stream(prompt, **_client_options(options, self._card.name))
        try:
            first = next(drafts)
        except ServerError as error:
            if error.code == "context_length_exceeded":
                raise CapacityError(str(error)) from None
            raise
        return _events(itertools.chain((first,), drafts))


def _client_options(options: GenerateOptions, model: str) -> ClientOptions:
    """Options in the client's form, with the sampler's settings separate."""
    given = {name: value for name, value in options.items() if value is not None}
    known = ClientOptions.__optional_keys__
    client_options = {name: value for name, value in given.items() if name in known}
    settings = {name: value for name, value in given.items() if name not in known}
    return cast("ClientOptions", client_options | {"model": model, "settings": settings or None})


def _events(drafts: Iterator[Draft]) -> Iterator[Event]:
    """The events an engine would give for the same answer."""
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
