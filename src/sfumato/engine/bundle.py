"""ModelBundle: a model and everything that stays the same from request to request."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Protocol

import torch

from sfumato.constraints.automaton import Automaton, Truths
from sfumato.diffusion.process import Process
from sfumato.engine.request import Request, Start
from sfumato.errors import CapacityError, ConfigError, RequestError
from sfumato.layout import PrefixLayout
from sfumato.models.model import AttentionSpec, Model
from sfumato.sampling.constraint import backward
from sfumato.sampling.logits import StopHead
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

ENOUGH = 0.9
"""Required probability that the first canvas holds the whole answer."""


@dataclass(frozen=True)
class ModelBundle:
    """A model and everything that stays the same from request to request."""

    name: str
    model: Model
    spec: GenerationSpec
    process: Process
    tokenizer: Tokenizer
    banned: torch.Tensor | None = None
    """bool_V; tokens that no answer may contain: special tokens that do not end it, and ids without a token."""
    stop_head: StopHead | None = None

    @cached_property
    def layout(self) -> PrefixLayout:
        return PrefixLayout(self.spec)

    def num_reserved(self, request: Request) -> int:
        """Maximum positions of a request's text, including its canvas."""
        return self.layout.num_reserved(len(request.prompt) + request.max_tokens)

    def banned_for(self, may_end: Sequence[bool]) -> torch.Tensor:
        """bool [R, V]; tokens each row must not write, including end tokens where the row may not end."""
        vocab_size, device = self.model.config.vocab_size, self.model.device
        banned_V = torch.zeros(vocab_size, dtype=torch.bool, device=device) if self.banned is None else self.banned
        without_V = banned_V.clone()
        without_V[list(self.tokenizer.eos_ids)] = True
        return torch.stack([banned_V if may else without_V for may in may_end])

    @property
    def no_lengths(self) -> str | None:
        """Why the answer's length cannot be predicted; None if there is a length head."""
        if not self.model.length_buckets:
            return "has no length head"
        return self.layout.no_length_head

    @torch.inference_mode()
    def last_state(self, prompt: Sequence[int]) -> torch.Tensor:
        """The hidden state that the length head reads after a prompt, float [D], computed without a cache.

        Raises:
            RequestError: if the prompt has no token to read it from.
        """
        prefix = torch.tensor([list(prompt[: self.layout.num_written(len(prompt))])], device=self.model.device)
        if not prefix.numel():
            raise RequestError(f"the prompt has {len(prompt)} token; allowed: 2 or more, to predict a length from")
        positions = torch.arange(prefix.shape[1], device=prefix.device)[None]
        hidden_1QD: torch.Tensor = self.model(prefix, positions, AttentionSpec(causal=True))
        return hidden_1QD[0, -1]

    def first_length(self, shares: Iterable[float]) -> int | None:
        """The shortest first canvas that probably holds the answer; None if no bucket is long enough.

        Args:
            shares: probabilities of the length buckets, and of longer.
        """
        running = itertools.accumulate(shares)
        return next(
            (edge for edge, share in zip(self.model.length_buckets, running, strict=False) if share >= ENOUGH), None
        )

    def check(self, request: Request) -> None:
        """Refuse a request that the model can never answer.

        Raises:
            RequestError: if it is no request, the sampler does not fit the noise, or the prompt the vocabulary.
            CapacityError: if the request needs more positions than the model has.
        """
        if not isinstance(request, Request):
            raise RequestError(f"the request is {request!r:.100}; allowed: what model.request(prompt) returns")
        request.sampler.check(self.process)
        vocab_size, max_positions = self.model.config.vocab_size, self.model.config.max_position_embeddings
        num_tokens = len(request.prompt)
        if num_tokens >= max_positions:
            raise CapacityError(f"the prompt has {num_tokens:,} tokens; allowed: at most {max_positions - 1:,}")
        start = () if request.start is None else request.start.tokens
        given = {"the prompt": request.prompt, "the start": start, "logit_bias": tuple(dict(request.logit_bias))}
        for name, tokens in given.items():
            for token in tokens:
                if not isinstance(token, Integral) or not 0 <= token < vocab_size:
                    raise RequestError(f"{name} holds token {token!r}; allowed: 0 to {vocab_size - 1}")
        if request.sampler.draft_steps and not self.spec.next_token:
            steps = request.sampler.draft_steps
            raise RequestError(
                f"draft_steps is {steps}; allowed: 0, because {self.name} does not predict the next token"
            )
        if request.automaton is not None:
            self._check_possible(request.automaton, request)
        if request.revisit and not self.layout.reopens:
            raise RequestError(
                f"revisit is {request.revisit}; allowed: 0, because {self.name} keeps the keys and "
                "values of a canvas's last step"
            )
        if request.revisit and self.spec.autoregressive:
            raise RequestError(f"revisit is {request.revisit}; allowed: 0, because {self.name} is autoregressive")
        if num_tokens + request.max_tokens > max_positions:
            raise CapacityError(
                f"the prompt has {num_tokens} tokens and max_tokens is {request.max_tokens}; "
                f"this model holds {max_positions} positions: shorten the prompt or ask for fewer tokens"
            )

    def _check_possible(self, automaton: Automaton, request: Request) -> None:
        """Refuse a request whose constraint no answer can satisfy."""
        shortest, start = int(automaton.distance_S[automaton.start]), request.start
        if shortest > (request.max_tokens if start is None else start.num_bound):
            room = self.model.config.max_position_embeddings - len(request.prompt)
            allowed = (
                f"{shortest} or more" if shortest <= room else f"up to {room} with this prompt, so relax the constraint"
            )
            raise RequestError(
                f"the shortest answer that fits the constraint has {shortest} tokens and max_tokens "
                f"is {request.max_tokens}; allowed: {allowed}"
            )
        if start is not None and not possible_states(automaton, start)[0][automaton.start]:
            raise RequestError(
                f"no answer of {start.num_bound} tokens fits both the constraint and the frozen "
                "tokens; free more of them, or change the length"
            )


class HasBundle(Protocol):
    """The result of `sfumato.load`."""

    @property
    def bundle(self) -> ModelBundle: ...


def bundle_of(model: HasBundle | ModelBundle) -> ModelBundle:
    """The bundle of a model.

    Raises:
        ConfigError: if it is something else, such as a name.
    """
    found = model if isinstance(model, ModelBundle) else getattr(model, "bundle", None)
    if not isinstance(found, ModelBundle):
        raise ConfigError(f"model is {model!r:.80}; allowed: what sfumato.load returns")
    return found


def possible_states(automaton: Automaton, start: Start) -> Truths:
    """bool [N + 1, S]: possible automaton states before each constrained token of a start, and after the last."""
    num = start.num_bound
    pairs = zip(start.tokens[:num], start.frozen[:num], strict=True)
    fixed = [int(automaton.class_V[token]) if kept else -1 for token, kept in pairs]
    return backward(automaton, fixed, may_end=start.blanks)


def forced_tokens(tokenizer: Tokenizer, automaton: Automaton | None, state: int, num_left: int) -> list[int]:
    """Tokens that a constraint forces in a state, except the last, which may merge with what follows.

    Args:
        num_left: maximum tokens of the rest of the answer.
    """
    if automaton is None or state >= automaton.end_state:
        return []
    text, whole = automaton.forced(state)
    tokens = tokenizer.encode(text.decode(errors="ignore"))
    if not whole or len(tokens) == num_left:
        tokens = tokens[:-1]
    after = automaton.walk(state, tokens)
    # Under another tokenization it might not fit.
    fits = len(tokens) <= num_left and after < automaton.num_states
    return tokens if fits and automaton.distance_S[after] <= num_left - len(tokens) else []
