"""Function calls in OpenAI's format: whole, or as deltas."""

from __future__ import annotations

import uuid
from typing import Any

from sfumato.server.protocol import CALL_HEAD, FunctionCall

_Json = dict[str, Any]


def tool_call(call: FunctionCall) -> _Json:
    """A call with a new id."""
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": call.model_dump()}


class CallStream:
    """A function call as it is committed: deltas of its name and arguments."""

    def __init__(self) -> None:
        self._text, self._arguments_from, self._num_sent = "", 0, 0

    def take(self, text: str) -> list[_Json]:
        """The deltas for a further piece of text."""
        self._text += text
        parts: list[_Json] = []
        if not self._arguments_from:
            if (head := CALL_HEAD.match(self._text)) is None:
                return []
            self._arguments_from = head.end()
            parts.append(tool_call(FunctionCall(name=head[1], arguments="")))
        # Hold back what may be the end of the call itself.
        return parts + self._send(self._text[self._arguments_from :].rstrip("} \n\t"))

    def end(self, call: FunctionCall) -> list[_Json]:
        """The rest of the call."""
        if not self._arguments_from:
            return [tool_call(call)]
        return self._send(call.arguments)

    def _send(self, arguments: str) -> list[_Json]:
        new, self._num_sent = arguments[self._num_sent :], max(self._num_sent, len(arguments))
        return [{"function": {"arguments": new}}] if new else []
