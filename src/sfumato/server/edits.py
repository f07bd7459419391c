"""Mercury's edits: the next edit of a file, and abbreviated updates put in their place."""

from __future__ import annotations

import difflib
import re
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
_ELLIPSIS = re.compile(
    r"\s*(?:#|//|--|/\*|<!--)?\s*\.\.\.\s*(?:existing code|rest of .*|unchanged.*)?\s*\.*\s*(?:\*/|-->)?\s*"
)


class EditCompletionRequest(Sampled):
    """`POST /v1/edit/completions`: one message, which holds a file and the part of it that may change."""

    messages: list[Message] = Field(min_length=1, max_length=1)


class ApplyRequest(Sampled):
    """`POST /v1/apply/completions`: one message, which holds a file and an update that leaves out what stays."""

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
    result = await hosted.call(lambda model: model.edit(region, **options))
    check_result(result)
    text = "None" if result.text == region else f"{_FENCE}\n{result.text.strip(chr(10))}\n{_FENCE}"
    return result, _completion("edit.completion", body, text) | {"usage": usage_of([result])}


def apply_answer(body: ApplyRequest) -> dict[str, Any]:
    """The file with its update.

    Raises:
        RequestError: if it cannot be told where a part of the update belongs.
    """
    message = text_of(body.messages[0].content)
    original, update = _between(message, "original_code"), _between(message, "update_snippet")
    text = apply_update(original.strip("\n"), update.strip("\n"))
    tokens = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return _completion("apply.completion", body, text) | {"usage": tokens}


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
    found = re.search(rf"<\|{name}\|>\n?(.*?)\n?<\|/{name}\|>", message, re.DOTALL)
    if found is None:
        raise RequestError(f"messages has no <|{name}|>...<|/{name}|>; allowed: a message with it")
    return found[1]


def apply_update(original: str, update: str) -> str:
    """A text with an update that says "... existing code ..." for what stays.

    Each part of the update replaces the lines between those of its own that stand in the original: its first and last
    lines that do are where it belongs.

    Raises:
        RequestError: if none of a part's lines stands in the original, or not in the order of the parts.
    """
    parts: list[list[str]] = [[]]
    for line in update.split("\n"):
        if line.strip() and _ELLIPSIS.fullmatch(line):
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return update
    lines, done, written = original.split("\n"), 0, list[str]()
    for part in parts:
        if not any(line.strip() for line in part):
            continue
        blocks = difflib.SequenceMatcher(None, lines[done:], part, autojunk=False).get_matching_blocks()
        blocks = [block for block in blocks if any(line.strip() for line in part[block.b : block.b + block.size])]
        if not blocks:
            raise RequestError(f"update_snippet has a part of which no line is in the file: {part[0]!r:.80}")
        start, end = done + blocks[0].a, done + blocks[-1].a + blocks[-1].size
        written += lines[done:start] + part
        done = end
    return "\n".join(written + lines[done:])
