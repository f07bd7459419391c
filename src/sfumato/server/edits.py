"""Mercury's endpoints for the next edit of a file and for merging a snippet into one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

from pydantic import Field

from sfumato.engine.request import Request, Result
from sfumato.errors import RequestError
from sfumato.server.completions import answers, check_result, head_of, make_request, usage_chunks, usage_of
from sfumato.server.failures import ApiError
from sfumato.server.hosting import MAX_EDITED, Bill, HostedModel
from sfumato.server.placing import MAX_LOCATIONS, Location, blocks_of, find_locations, indented
from sfumato.server.protocol import Message, Sampled, text_of
from sfumato.server.streaming import sse

_CURSOR = "<|cursor|>"
_FENCE = "```"
_SEEN = 3  # Lines shown after the candidate locations of a block when one is chosen.


class FileRequest(Sampled):
    """`POST /v1/edit/completions` and `/v1/apply/completions`: one message, with a file and the region that may change,
    or the snippet to merge into it."""

    messages: list[Message] = Field(min_length=1, max_length=1)
    n: Literal[1] | None = None
    """There is one next edit, or one merged file."""


async def edit_answer(hosted: HostedModel, body: FileRequest, bill: Bill) -> dict[str, Any]:
    """The region as the model would rewrite it, in a code fence; "None" without a change.

    Args:
        bill: called with the result, even if nobody waits for it any more.

    Raises:
        RequestError: if the message has no region, or the model cannot edit.
    """
    if body.stream:
        raise RequestError("stream is true; allowed: false, an edit is one answer")
    message = text_of(body.messages[0].content)
    region = _between(message, "code_to_edit").replace(_CURSOR, "")
    options: dict[str, Any] = dict(body.to_options(hosted.model))
    options.pop("max_tokens", None)
    options.pop("stop", None)
    result = await hosted.edit(region, on_left=bill, **options)
    bill([result])
    check_result(result)
    text = "None" if result.text == region else f"{_FENCE}\n{result.text.strip(chr(10))}\n{_FENCE}"
    return _completion("edit.completion", body, text) | {"usage": usage_of([result])}


async def apply_answer(hosted: HostedModel, body: FileRequest, bill: Bill) -> dict[str, Any]:
    """Merge a snippet into a file, using only lines of both. Arguments are those of `edit_answer`.

    Blocks are located by lines that both have; if several locations fit, the model chooses among the resulting files. A
    block that cannot be located is refused ("not_placed").
    """
    message = text_of(body.messages[0].content)
    code, snippet = _between(message, "original_code"), _between(message, "update_snippet")
    for name, text in (("original_code", code), ("update_snippet", snippet)):
        if len(text) > MAX_EDITED:
            raise RequestError(f"{name} has {len(text):,} characters; allowed: {MAX_EDITED:,}")
    *whole, last = code.split("\n")
    # Lines with their ends. After the last end follows an empty line without one.
    file = [(line.removesuffix("\r"), "\r\n" if line.endswith("\r") else "\n") for line in whole]
    file += [(last, "")] if last else []
    newline = max("\n", "\r\n", key=[end for _, end in file].count)
    lines = [line for line, _ in file]
    results: list[Result] = []
    placed: list[dict[str, Any]] = []
    after, moved = 0, ("", "")
    for block in blocks_of(snippet, lines):
        if block.gap is not None:
            block = dataclasses.replace(block, lines=indented(block.lines, *moved))
        locations = await asyncio.to_thread(find_locations, lines, block, after)
        location, chosen = await _choose(hosted, body, bill, lines, block.lines[0], locations)
        results += chosen
        placed.append({"line": location.start + 1, "by": "model" if chosen else "anchors", "of": len(locations)})
        moved = block.lines[0], next(line for line in location.lines if line.strip())
        # Unchanged lines keep their spaces and line ends.
        known = {line.rstrip(): (line, end) for line, end in file[location.start : location.end]}
        new = [known.get(line.rstrip(), (line, newline)) for line in location.lines]
        file[location.start : location.end] = new
        lines = [line for line, _ in file]
        after = location.start + len(new)
    text = "".join(line + (end or newline) for line, end in file)
    if last:
        text = text.removesuffix(file[-1][1] or newline)
    answer = _completion("apply.completion", body, text)
    return answer | {"usage": usage_of(*([each] for each in results)), "sfumato": {"blocks": placed}}


async def apply_stream(body: Sampled, answer: dict[str, Any]) -> AsyncGenerator[str, None]:
    """The same as chunks of a chat; nothing is certain before everything is."""
    [choice] = answer["choices"]
    head = {name: answer[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for delta, reason in ((choice["message"], None), ({}, choice["finish_reason"])):
        yield sse(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    for usage in usage_chunks(body, head, answer["usage"]):
        yield usage


async def _choose(
    hosted: HostedModel, body: Sampled, bill: Bill, lines: Sequence[str], first: str, locations: Sequence[Location]
) -> tuple[Location, list[Result]]:
    """The location of a block that begins with a line, and the cost of choosing among several."""
    if not 0 < len(locations) <= MAX_LOCATIONS:
        where = (
            "no line of the original code" if not locations else f"lines that occur at more than {MAX_LOCATIONS} places"
        )
        message = (
            f"update_snippet has a block with {where}: {first.strip()[:100]!r}; allowed: "
            "unchanged lines around new ones, and '... existing code ...' between blocks"
        )
        raise ApiError(400, message, code="not_placed", param="update_snippet")
    if len(locations) == 1:
        return locations[0], []
    start, end = min(location.start for location in locations), max(location.end for location in locations) + _SEEN
    texts = ["\n".join([*lines[start : p.start], *p.lines, *lines[p.end : end]]) for p in locations]

    def asked() -> Request:
        model, tokenizer = hosted.model, hosted.model.tokenizer
        size = max(len(tokenizer.encode(text)) for text in texts) + 1
        before = tokenizer.encode_raw("".join(f"{line}\n" for line in lines[:start])) or model.context(None)
        room = max(1, model.decoder.config.max_position_embeddings - size)
        options: dict[str, Any] = {"temperature": 0.0} if body.temperature is None else {}
        fields = body.model_copy(update={"max_tokens": size, "stop": None})
        return make_request(model, tuple(before)[-room:], fields, choices=texts, **options)

    # Tokenizing many copies of a long file takes seconds.
    request = await asyncio.to_thread(asked)
    [[result]] = await answers(hosted, [request], bill)
    if result.text not in texts:
        message = f"a block fits at {len(locations)} places, and none was chosen: {result.finish_reason}"
        raise ApiError(400, message, code="not_placed", param="update_snippet")
    return locations[texts.index(result.text)], [result]


def _completion(kind: str, body: Sampled, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return head_of(kind.replace(".", "-"), kind, body) | {"choices": choices}


def _between(message: str, name: str) -> str:
    """The text between a named pair of marks; marks of a cursor and a file may surround it."""
    # Not by a regular expression, which would restart at every unclosed mark.
    _, opened, rest = message.partition(f"<|{name}|>")
    inside, closed, _ = rest.partition(f"<|/{name}|>")
    if not opened or not closed:
        raise RequestError(f"messages has no <|{name}|>...<|/{name}|>; allowed: a message with it")
    return inside.removeprefix("\n").removesuffix("\n")
