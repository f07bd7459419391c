"""Conversations written by an autoregressive model alone: a user's message and the answer.

The model writes the user's message where its chat template puts one (Xu et al. 2024, Magpie, arXiv 2406.08464), and
then answers it as usual. Conversation i depends only on the settings and i, not on other conversations.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.config import check_range
from sfumato.data.filters import FilterConfig
from sfumato.data.packing import Document
from sfumato.data.sources import chat_document
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import Finished, Request, Result
from sfumato.errors import CapacityError, ConfigError, RequestError
from sfumato.text.tokenizer import Tokenizer

# Latency does not matter here, and on a CPU large steps are cheaper per position.
_STEP_POSITIONS = 512
# In the whole conversation the turn is tokenized again, possibly to more tokens, and the template adds some after it.
_SPARE = 64


@dataclass(frozen=True, kw_only=True)
class SynthesisConfig:
    """Settings that determine the texts, and which are kept."""

    seed: int = 0
    """Random seed; 0 or more."""
    system: str = ""
    """System message stored in every conversation; empty for none."""
    topics: tuple[str, ...] = ()
    """Topics of users' messages: conversation i takes topic i, cyclically. The answer does not see it."""
    topic_prompt: str = "You are a helpful assistant. The user asks you about {topic}."
    """System message while the model writes the user's message, if there are topics; contains {topic}."""
    turn_temperature: float = 1.0
    """Sampling temperature of users' messages."""
    answer_temperature: float = 0.7
    """Sampling temperature of answers."""
    top_p: float = 0.95
    """Nucleus (top-p) for both, in (0, 1]."""
    shard_size: int = 256
    """Conversations sampled per shard; a kill loses at most this many."""
    top_k: int = 0
    """Number of likeliest tokens, per answer token, whose log-probabilities are stored; 0 for none."""
    filters: FilterConfig = FilterConfig()
    """Requirements for keeping a conversation."""

    def __post_init__(self) -> None:
        check_range(self, "seed top_k", 0)
        check_range(self, "shard_size", 1)
        if "{topic}" not in self.topic_prompt:
            raise ConfigError(f"topic_prompt is {self.topic_prompt!r}; allowed: a text that contains {{topic}}")


@dataclass(frozen=True, kw_only=True)
class Conversation:
    seed: int
    """Its seed; its answer uses twice this seed plus one."""
    topic: str | None
    messages: tuple[dict[str, str], ...] = ()
    """A system message if there is one, then the user's and the assistant's."""
    turn_tokens: int = 0
    """Tokens of the user's message."""
    document: Document | None = None
    dropped: str | None = None
    """Why it was dropped; None if it is kept."""

    def to_dict(self) -> dict[str, Any]:
        about = {} if self.topic is None else {"topic": self.topic}
        return {"messages": list(self.messages), "seed": self.seed, **about}


class Conversations:
    """Writes conversations.

    Args:
        model: an autoregressive model with a chat template.
        rows: answers computed at once; more are faster and take more memory, with the same texts.

    Raises:
        RequestError: if the model is not autoregressive, its chat template does not fit, or a setting is not allowed.
        CapacityError: if a conversation may exceed the model's positions.
    """

    def __init__(self, model: TextModel, config: SynthesisConfig, rows: int = 64) -> None:
        if not model.spec.autoregressive:
            raise RequestError(
                f"{model.name} denoises canvases of {model.spec.canvas_length}; allowed: an autoregressive model"
            )
        if not model.tokenizer.has_chat_template:
            raise RequestError(f"{model.name} has no chat template; give a model that has one")
        if rows < 1:
            raise ConfigError(f"rows is {rows}; allowed: 1 or more")
        self._model, self._config = model, config
        filters = config.filters
        self._system = ({"role": "system", "content": config.system},) if config.system else ()
        topics: Sequence[str | None] = config.topics or (None,)
        openings = [model.tokenizer.encode_opening(self._before_turn(topic)) for topic in topics]
        self._openings = [tuple(tokens) for tokens, _ in openings]
        if not all(self._openings):
            raise RequestError(
                f"the chat template of {model.name} puts nothing before a user's turn; give another model"
            )
        longest = max(map(len, self._openings)) + filters.max_turn_tokens + filters.max_answer_tokens + _SPARE
        max_positions = model.decoder.config.max_position_embeddings
        if longest > max_positions:
            raise CapacityError(
                f"a conversation may have {longest} tokens: {max(map(len, self._openings))} of the template, "
                f"{filters.max_turn_tokens} of the turn, {filters.max_answer_tokens} of the answer and {_SPARE} to "
                f"spare; this model holds {max_positions} positions: ask for fewer"
            )
        self._longest = longest
        engine = EngineConfig(max_rows=rows, max_positions=_STEP_POSITIONS, cache_positions=(rows + 1) * longest)
        self._answering = self._asking = Engine(model, engine)
        # In some templates the next turn's token is what ends a user's.
        end_id = openings[0][1]
        if end_id is not None and end_id not in model.tokenizer.eos_ids:
            self._asking = Engine(_ending_with(model.bundle, end_id), engine)

    def write(self, indices: range) -> list[Conversation]:
        seeds = [_seed_of(self._config.seed, i) for i in indices]
        topic_indices = [i % len(self._openings) for i in indices]
        turns = self._turns(seeds, topic_indices)
        conversations = [self._begun(*parts) for parts in zip(seeds, topic_indices, turns, strict=True)]
        max_tokens = self._config.filters.max_answer_tokens
        requests: dict[int, Request] = {}
        for i, conversation in enumerate(conversations):
            if conversation.dropped is not None:
                continue
            prompt = tuple(self._model.tokenizer.encode_chat(conversation.messages))
            if len(prompt) + max_tokens >= self._longest:
                conversations[i] = dataclasses.replace(conversation, dropped="turn_long")
                continue
            temperature = self._config.answer_temperature
            requests[i] = self._request(prompt, max_tokens=max_tokens, seed=2 * seeds[i] + 1, temperature=temperature)
        for i, result in zip(requests, _results(self._answering, list(requests.values())), strict=True):
            conversations[i] = self._ended(conversations[i], result)
        return conversations

    def _before_turn(self, topic: str | None) -> list[dict[str, str]]:
        parts = [message["content"] for message in self._system]
        if topic is not None:
            parts.append(self._config.topic_prompt.replace("{topic}", topic))
        return [{"role": "system", "content": "\n".join(parts)}] if parts else []

    def _turns(self, seeds: Sequence[int], topic_indices: Sequence[int]) -> list[Result]:
        requests = [
            self._request(
                self._openings[topic_index],
                max_tokens=self._config.filters.max_turn_tokens,
                seed=2 * seed,
                temperature=self._config.turn_temperature,
            )
            for seed, topic_index in zip(seeds, topic_indices, strict=True)
        ]
        return _results(self._asking, requests)

    def _request(self, prompt: tuple[int, ...], *, max_tokens: int, seed: int, temperature: float) -> Request:
        # One more than allowed, for the end token.
        return self._model.request(
            prompt, max_tokens=max_tokens + 1, seed=seed, temperature=temperature, top_p=self._config.top_p
        )

    def _begun(self, seed: int, topic_index: int, turn: Result) -> Conversation:
        filters, topics = self._config.filters, self._config.topics
        reason = _reason(filters, turn, min_tokens=filters.min_turn_tokens, max_tokens=filters.max_turn_tokens)
        return Conversation(
            seed=seed,
            topic=topics[topic_index] if topics else None,
            messages=(*self._system, {"role": "user", "content": turn.text.strip()}),
            turn_tokens=len(turn.tokens),
            dropped=reason and f"turn_{reason}",
        )

    def _ended(self, conversation: Conversation, answer: Result) -> Conversation:
        filters, text = self._config.filters, answer.text.strip()
        reason = _reason(filters, answer, min_tokens=filters.min_answer_tokens, max_tokens=filters.max_answer_tokens)
        if reason is not None:
            return dataclasses.replace(conversation, dropped=f"answer_{reason}")
        document = chat_document(conversation.messages, text, self._model.tokenizer)
        if document.num_tokens > self._longest:
            return dataclasses.replace(conversation, dropped="answer_long")
        messages = (*conversation.messages, {"role": "assistant", "content": text})
        return dataclasses.replace(conversation, messages=messages, document=document)


def _reason(filters: FilterConfig, result: Result, *, min_tokens: int, max_tokens: int) -> str | None:
    if result.failed:
        return "failed"
    return filters.reason(
        result.text, result.tokens, ended=result.finish_reason == "stop", min_tokens=min_tokens, max_tokens=max_tokens
    )


def _results(engine: Engine, requests: Sequence[Request]) -> list[Result]:
    found = {index: event.result for index, event in engine.run(requests) if isinstance(event, Finished)}
    return [found[i] for i in range(len(requests))]


def _ending_with(bundle: ModelBundle, end_id: int) -> ModelBundle:
    """The same model, additionally ending at this special token."""
    tokenizer: Tokenizer = bundle.tokenizer.ending_with(end_id)
    banned_V = bundle.banned
    if banned_V is not None:
        banned_V = banned_V.clone()
        banned_V[end_id] = False
    return dataclasses.replace(bundle, tokenizer=tokenizer, banned=banned_V)


def _seed_of(seed: int, index: int) -> int:
    """The seed of a conversation: 52 bits, which every JSON reader represents exactly."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{index}".encode(), digest_size=8).digest(), "little") >> 12
