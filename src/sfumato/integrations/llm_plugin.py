"""Plugin for `llm`, which runs models in its process: `llm -m sfumato/tiny "12+5="`.

A model is loaded at its first prompt and stays loaded. Listing models does not import torch.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import llm
from pydantic import Field

from sfumato.checkpoints.registry import StoredModel, list_models
from sfumato.data.kinds import visible_turns

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.engine.request import Event, Request

# Concurrent prompts wait for one load.
_LOADING = threading.Lock()


@llm.hookimpl
def register_models(register: Callable[..., None]) -> None:
    """Register every model on this machine that generates text."""
    for stored in list_models():
        if not stored.problem and _writes_text(stored):
            register(SfumatoModel(stored.name), AsyncSfumatoModel(stored.name))


def _writes_text(stored: StoredModel) -> bool:
    """Whether it generates text, rather than repairing Python."""
    config = None if stored.path is None else stored.path / "config.json"
    return config is None or not config.is_file() or json.loads(config.read_bytes()).get("lexemes") is None


class _Options(llm.Options):
    seed: int = Field(default=0, description="Random seed.")
    steps: int | None = Field(default=None, description="Maximum denoising steps per canvas.")
    temperature: float | None = Field(default=None, description="Sampling temperature; 0 takes the likeliest token.")
    max_tokens: int | None = Field(default=None, description="Maximum tokens of the answer.")


@functools.cache
def _load(name: str) -> TextModel:
    from sfumato.api import load

    return load(name, threads="auto")


class _Sfumato:
    """Shared by the sync and async models."""

    can_stream = True
    supports_schema = True

    def __init__(self, name: str) -> None:
        self.model_id, self._name = f"sfumato/{name}", name

    def _request(self, prompt: llm.Prompt) -> tuple[TextModel, Request]:
        """The model and its request."""
        with _LOADING:
            model = _load(self._name)
        messages = [
            {"role": message.role, "content": "".join(getattr(part, "text", "") for part in message.parts)}
            for message in prompt.messages
        ]
        turns = visible_turns(messages, model.kinds)
        options: dict[str, Any] = prompt.options.model_dump(exclude_none=True)
        if prompt.schema is not None:
            options |= {"schema": prompt.schema, "order": "schema"}
        # A single message is plain text for a model without a chat template.
        alone = len(turns) == 1 and turns[0]["role"] == "user"
        return model, model.request(turns[0]["content"] if alone else turns, **options)


class SfumatoModel(_Sfumato, llm.Model):
    """A model for `llm`."""

    class Options(_Options):
        """Options for `llm -o NAME VALUE`."""

    def execute(
        self, prompt: llm.Prompt, stream: bool, response: llm.Response, conversation: llm.Conversation | None
    ) -> Iterator[str]:
        """The answer, canvas by canvas as they are committed."""
        model, request = self._request(prompt)
        answer = _Answer(response)
        for _, event in model.engine.run([request]):
            yield from answer.take(event)


class AsyncSfumatoModel(_Sfumato, llm.AsyncModel):
    """The same for `asyncio`."""

    class Options(_Options):
        """Options for `llm -o NAME VALUE`."""

    async def execute(
        self, prompt: llm.Prompt, stream: bool, response: llm.AsyncResponse, conversation: llm.AsyncConversation | None
    ) -> AsyncGenerator[str, None]:
        """The answer, canvas by canvas as they are committed."""
        import asyncio

        from sfumato.engine.async_engine import AsyncEngine

        model, request = await asyncio.to_thread(self._request, prompt)
        answer = _Answer(response)
        # A separate engine per call: it belongs to one event loop, and `llm` creates one per call.
        async with AsyncEngine(model) as answering:
            async for event in answering.stream(request, drafts=False):
                for text in answer.take(event):
                    yield text


class _Answer:
    """Converts events to `llm`'s terms."""

    def __init__(self, response: llm.Response | llm.AsyncResponse) -> None:
        self._response = response
        self._num_sent = 0

    def take(self, event: Event) -> Iterator[str]:
        """The text that an event adds.

        Raises:
            ModelError: if the answer failed.
        """
        from sfumato.engine.request import Committed, Finished

        if isinstance(event, Committed):
            self._num_sent += len(event.text)
            yield event.text
        elif isinstance(event, Finished):
            result = event.result
            if result.failed:
                raise llm.ModelError(result.failure)
            if rest := result.text[self._num_sent :]:
                yield rest
            self._response.response_json = result.to_dict()
            usage = result.usage
            details = {"canvases": usage.canvases, "denoising_steps": usage.denoising_steps}
            self._response.set_usage(input=usage.prompt_tokens, output=usage.completion_tokens, details=details)
