"""The protocol between `rewriting` and the model that answers its requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Unpack

from sfumato.data.kinds import PromptKind
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.languages import Languages
from sfumato.engine.options import GenerateOptions
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import Event, Request, Result
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer


class EditableModel(Protocol):
    """A model that can edit texts; `TextModel` is one."""

    name: str
    tokenizer: Tokenizer
    generation: dict[str, object]
    kinds: tuple[PromptKind, ...]
    bundle: ModelBundle

    @property
    def spec(self) -> GenerationSpec: ...

    @property
    def context_length(self) -> int: ...

    @property
    def languages(self) -> Languages: ...

    def context(self, prompt: Prompt | None, system: str | None = None) -> tuple[int, ...]: ...

    def request(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Request: ...

    def results(
        self,
        requests: Sequence[Request],
        on_progress: Callable[[int], None] | None = None,
        on_event: Callable[[int, Event], None] | None = None,
    ) -> list[list[Result]]: ...
