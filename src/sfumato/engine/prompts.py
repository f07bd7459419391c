"""Converts prompts and drafts to tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from sfumato.config import check_number
from sfumato.engine import editing
from sfumato.engine.request import Start
from sfumato.errors import CapacityError, RequestError
from sfumato.text.tokenizer import Tokenizer, check_characters

Prompt = str | Sequence[Mapping[str, object]] | Sequence[int]
"""A user message, a conversation, or token ids."""

_ALLOWED = "allowed: a string, messages with role and content, or token ids"


def encode_prompt(
    tokenizer: Tokenizer, prompt: Prompt, *, raw: bool = False, system: str | None = None
) -> tuple[int, ...]:
    """Tokenize a prompt.

    Args:
        prompt: token ids are used unchanged.
        raw: use the text unchanged, without the chat template; always so for models that have none.

    Raises:
        RequestError: if it is empty, of another type, or refused by the chat template.
    """
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes | bytearray):
        raise RequestError(f"the prompt is {prompt!r:.100}; {_ALLOWED}")
    if not len(prompt) or (isinstance(prompt, str) and not prompt.strip()):
        raise RequestError("the prompt is empty; give some text")
    if isinstance(prompt, str):
        if system is None and (raw or not tokenizer.has_chat_template):
            return tuple(tokenizer.encode_raw(prompt))
        prompt = [{"role": "user", "content": prompt}]
    entries: list[Any] = list(prompt)
    if all(isinstance(entry, Integral) and not isinstance(entry, bool) for entry in entries):
        if system is not None:
            raise RequestError("system is given with token ids; allowed: with a text or messages as the prompt")
        return tuple(int(entry) for entry in entries)
    if all(isinstance(entry, str) for entry in entries):
        raise RequestError("the prompt is a list of texts; allowed: one text, or all of them in generate_batch")
    if not all(isinstance(entry, Mapping) for entry in entries):
        raise RequestError(f"the prompt is not text; {_ALLOWED}")
    if raw:
        raise RequestError("raw is for plain text; a conversation or system message needs the chat template")
    if not str(entries[-1].get("content", "")).strip():
        raise RequestError("the prompt is empty; give some text")
    if system is not None:
        if any(entry.get("role") == "system" for entry in entries):
            raise RequestError("system is given but the conversation has a system message; allowed: one of them")
        entries.insert(0, {"role": "system", "content": system})
    return tuple(tokenizer.encode_chat(entries))


def check_length(prompt: Prompt, limit: int) -> None:
    """Refuse a text or conversation of too many characters.

    Raises:
        CapacityError: with the limit.
    """
    turns = prompt if isinstance(prompt, Sequence) and not isinstance(prompt, str) else [{"content": prompt}]
    texts = [turn.get("content") for turn in turns if isinstance(turn, Mapping)]
    count = sum(len(text) for text in texts if isinstance(text, str))
    if count > limit:
        raise CapacityError(f"the prompt has {count:,} characters; allowed: at most {limit:,}")


def start_from(
    tokenizer: Tokenizer, seed_text: str | None, pin: Sequence[editing.Span], strength: float | None, revisit: int
) -> tuple[Start | None, str | None]:
    """Turn a draft into the start of an answer, if there is one, with a regex for the answer if pins need one.

    Raises:
        RequestError: if the draft is empty, or an option needs a draft that is not given.
    """
    if strength is not None:
        check_number("strength", strength, 0, 1, above=True)
    if seed_text is None:
        if pin:
            raise RequestError("pin needs a seed_text, which is not given")
        if strength is not None and not revisit:
            raise RequestError("strength needs a seed_text or revisit; neither is given")
        return None, None
    check_characters(seed_text)
    spans, pinned = editing.check_spans(seed_text, pin, "pin"), None
    if tokenizer.has_bytes:
        tokens, frozen, pinned = editing.pin_tokens(tokenizer, seed_text, spans)
    else:
        pieces = editing.cut(tokenizer, seed_text, editing.between(seed_text, spans))
        tokens = [token for piece in pieces for token in piece.tokens]
        frozen = [not piece.free for piece in pieces for _ in piece.tokens]
    if not tokens:
        raise RequestError("seed_text is empty; give a draft, or leave it out")
    return Start(tokens=tuple(tokens), frozen=tuple(frozen), noise_level=0.5 if strength is None else strength), pinned
