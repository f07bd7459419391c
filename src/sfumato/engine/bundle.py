"""ModelBundle: a model with all that does not change from request to request."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from sfumato.constraints.automaton import Truths
from sfumato.diffusion.process import Process
from sfumato.engine.request import Request, Start
from sfumato.errors import CapacityError, RequestError
from sfumato.layout import PrefixLayout
from sfumato.models.attention import AttentionSpec
from sfumato.models.model import Model
from sfumato.sampling import Automaton, StopHead
from sfumato.sampling.constraint import backward
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

ENOUGH = 0.9
"""Probability with which a first canvas is to hold the whole answer."""


@dataclass(frozen=True)
class ModelBundle:
    """A model with everything that does not change from request to request."""

    name: str
    """For results."""
    model: Model
    """Weights."""
    spec: GenerationSpec
    """How it generates."""
    process: Process
    """Its noise."""
    tokenizer: Tokenizer
    """Its text."""
    banned: torch.Tensor | None = None
    """bool_V; tokens that no answer may hold: special ones that do not end it, and rows that are no token."""
    stop_head: StopHead | None = None
    """Learned stop rule."""

    @cached_property
    def layout(self) -> PrefixLayout:
        """Where text and canvas stand."""
        return PrefixLayout(self.spec)

    def num_reserved(self, request: Request) -> int:
        """The most positions that a request's text may come to, canvas included."""
        return self.layout.num_reserved(len(request.prompt) + request.max_tokens)

    def banned_for(self, may_end: Sequence[bool]) -> torch.Tensor | None:
        """bool [V], or [R, V] where rows differ: what each row must not write; ends as well, where it may not end."""
        if all(may_end):
            return self.banned
        vocab_size, device = self.model.config.vocab_size, self.model.device
        banned_V = torch.zeros(vocab_size, dtype=torch.bool, device=device) if self.banned is None else self.banned
        without_V = banned_V.clone()
        without_V[list(self.tokenizer.eos_ids)] = True
        return torch.stack([banned_V if may else without_V for may in may_end])

    @property
    def no_lengths(self) -> str | None:
        """Why nothing says beforehand how long an answer will be; None if a length head does."""
        if not self.model.length_buckets:
            return "has no length head"
        return self.layout.no_length_head

    @torch.inference_mode()
    def last_state(self, prompt: Sequence[int]) -> torch.Tensor:
        """The state that a length head reads behind a prompt: float [D], without any cache.

        Raises:
            RequestError: if the prompt has no token for it to read.
        """
        ahead = torch.tensor([list(prompt[: self.layout.num_written(len(prompt))])], device=self.model.device)
        if not ahead.numel():
            raise RequestError(f"the prompt has {len(prompt)} token; allowed: 2 or more, for a length to be read from")
        positions = torch.arange(ahead.shape[1], device=ahead.device)[None]
        hidden_1QD: torch.Tensor = self.model(ahead, positions, AttentionSpec(causal=True))
        return hidden_1QD[0, -1]

    def first_length(self, shares: Iterable[float]) -> int | None:
        """The length of a first canvas that most likely holds the answer; None if that is longer than all buckets.

        Args:
            shares: probabilities of the model's length buckets, and of longer.
        """
        running = itertools.accumulate(shares)
        return next(
            (edge for edge, share in zip(self.model.length_buckets, running, strict=False) if share >= ENOUGH), None
        )

    def check(self, request: Request) -> None:
        """Refuse a request that the model can never answer.

        Raises:
            RequestError: if its sampler does not fit the noise, or its prompt the vocabulary.
            CapacityError: if the model's positions cannot hold it; with the numbers.
        """
        request.sampler.check(self.process)
        vocab_size, most = self.model.config.vocab_size, self.model.config.max_position_embeddings
        start = () if request.start is None else request.start.tokens
        given = {"the prompt": request.prompt, "the start": start, "logit_bias": tuple(dict(request.logit_bias))}
        for name, tokens in given.items():
            for token in tokens:
                if not 0 <= token < vocab_size:
                    raise RequestError(f"{name} holds token {token}; allowed: 0 to {vocab_size - 1}")
        if request.automaton is not None:
            self._check_possible(request.automaton, request)
        if request.revisit and not self.layout.reopens:
            raise RequestError(
                f"revisit is {request.revisit}; allowed: 0, as {self.name} keeps of a canvas what its last step "
                "computed"
            )
        if request.revisit and self.spec.autoregressive:
            raise RequestError(f"revisit is {request.revisit}; allowed: 0, as {self.name} is autoregressive")
        if len(request.prompt) + request.max_tokens > most:
            raise CapacityError(
                f"the prompt has {len(request.prompt)} tokens and max_tokens is {request.max_tokens}; "
                f"this model holds {most} positions: shorten the prompt or ask for fewer tokens"
            )

    @staticmethod
    def _check_possible(automaton: Automaton, request: Request) -> None:
        """Refuse a request whose answer cannot be of its language."""
        shortest, start = int(automaton.distance_S[automaton.start]), request.start
        if shortest > (request.max_tokens if start is None else start.num_bound):
            raise RequestError(
                f"the shortest answer of what is asked for has {shortest} tokens and max_tokens is "
                f"{request.max_tokens}; allowed: {shortest} or more"
            )
        if start is not None and not possible_states(automaton, start)[0][automaton.start]:
            raise RequestError(
                f"no answer of what is asked for has {start.num_bound} tokens and what the start freezes; "
                "free more of it, or change its length"
            )


def possible_states(automaton: Automaton, start: Start) -> Truths:
    """bool [N + 1, S]: where the automaton may stand before each token of a start that it is about, and behind them."""
    num = start.num_bound
    pairs = zip(start.tokens[:num], start.frozen[:num], strict=True)
    fixed = [int(automaton.class_V[token]) if kept else -1 for token, kept in pairs]
    return backward(automaton, fixed, may_end=start.blanks)
