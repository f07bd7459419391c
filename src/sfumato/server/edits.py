"""Mercury's next edit of a file."""

from __future__ import annotations

import time
import uuid
from typing import Any

from pydantic import Field

from sfumato.engine.request import Result
from sfumato.errors import RequestError
from sfumato.server.completions import check_result, usage_of
from sfumato.server.hosting import HostedModel
from sfumato.server.protocol import Message, Sampled, text_of

_CURSOR = "<|cursor|>"
_FENCE = "```"


class EditCompletionRequest(Sampled):
    """`POST /v1/edit/completions`: one message, which holds a file and the part of it that may change."""

    messages: list[Message] = Field(min_length=1, max_length=1)


async def edit_answer(hosted: HostedModel, body: EditCompletionRequest) -> tuple[Result, dict[str, Any]]:
    """The region as the model would have it, in a fence; "None" if it would change nothing.

    Raises:
        RequestError: if the message has no region, or the model cannot edit.
    """
    if body.n not in (None, 1):
        raise RequestError(f"n is {body.n}; allowed: 1, there is one next edit")
    if body.stream:
        raise RequestError("stream is true; allowed: false, an edit is one answer")
    message = text_of(body.messages[0].content)
    region = _between(message, "code_to_edit").replace(_CURSOR, "")
    options: dict[str, Any] = dict(body.to_options(hosted.model))
    options.pop("max_tokens", None)
    options.pop("stop", None)
    result = await hosted.edit(region, **options)
    check_result(result)
    text = "None" if result.text == region else f"{_FENCE}\n{result.text.strip(chr(10))}\n{_FENCE}"
    return result, _completion("edit.completion", body, text) | {"usage": usage_of([result])}


def _completion(kind: str, body: Sampled, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": f"{kind.replace('.', '-')}-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": body.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def _between(message: str, name: str) -> str:
    """What stands between the marks of a name, wherever they are; the marks of a cursor and a file may be around."""
    # Not by an expression: on marks without an end it would begin again at each.
    _, opened, rest = message.partition(f"<|{name}|>")
    inside, closed, _ = rest.partition(f"<|/{name}|>")
    if not opened or not closed:
        raise RequestError(f"messages has no <|{name}|>...<|/{name}|>; allowed: a message with it")
    return inside.removeprefix("\n").removesuffix("\n")
