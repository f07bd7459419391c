"""The plain loop: one request, no cache, no batch; every forward computes prefix and canvas, every mask written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sfumato.engine.generator import Generator
from sfumato.engine.request import Request
from sfumato.models.attention import AttentionSpec
from sfumato.sampling import Automaton, CanvasBatch, Constraint, denoise
from sfumato.sampling.constraint import backward

# R rows (one), L canvas, N positions asked for, D model, V vocabulary

Answered = tuple[list[int], int, int]
"""Tokens, canvases, steps."""


class Uncached:
    """A `sampling.Denoiser` of one row."""

    def __init__(self, generator: Generator, prefix: Sequence[int], frozen: Sequence[bool]) -> None:
        self.generator, self.prefix, self.frozen = generator, list(prefix), list(frozen)

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, rows_R: Tensor, valid_RL: Tensor, index_N: Tensor, *rest: Any
    ) -> Tensor:
        spec, model = self.generator.spec, self.generator.model
        full, block = spec.prefix_attention == "full", 1
        prefix, canvas, frozen = self.prefix, tokens_RL[0].tolist(), self.frozen
        if spec.logit_shift and not full:
            prefix, canvas = prefix[:-1], [prefix[-1], *canvas[:-1]]
            frozen = [False, *frozen[:-1]]
        if spec.prefix_attention == "block":
            block = spec.canvas_length
        tokens = torch.tensor([[*prefix, *canvas]])
        places = torch.arange(tokens.shape[1])
        on_canvas = places >= len(prefix)
        mask = (places[None] // block <= places[:, None] // block) | (on_canvas[None] & on_canvas[:, None]) | full

        def near(window: int) -> Tensor:
            """Each reads a window up to itself; a canvas reads as far as its first position does."""
            own = torch.where(on_canvas, len(prefix), places)
            return mask & (places[None] > own[:, None] - window)

        attention = AttentionSpec(
            mask=mask[None, None],
            windows={window: AttentionSpec(mask=near(window)[None, None]) for window in model.windows},
        )
        soft = None
        if soft_RLD is not None:
            soft = torch.cat((torch.zeros(1, len(prefix), soft_RLD.shape[-1]), soft_RLD), dim=1)
        hidden = model(
            tokens,
            places[None],
            attention,
            canvas_RQ=None if spec.autoregressive else on_canvas[None],
            soft_RQD=soft,
            given_RQ=torch.tensor([[False] * len(prefix) + frozen]),
        )
        first = len(prefix) - int(full and spec.logit_shift)
        return model.logits(hidden[0, first + index_N])

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        return self.generator.model.soft_embedding(probs_RLV)

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        return self.generator.model.token_embedding(tokens_RL)


def forced(generator: Generator, automaton: Automaton, tokens: Sequence[int], most: int) -> list[int]:
    """The tokens that must follow, but the last of them unless the text ends there, or there is room for no more."""
    state = automaton.walk(automaton.start, tokens)
    text, whole = automaton.forced(state)
    found = generator.tokenizer.encode(text.decode(errors="ignore"))
    found = found[: len(found) - (not whole)]
    left = most - len(tokens)
    found = found[: left - 1] if len(found) == left else found
    behind = automaton.walk(state, found)
    if len(found) > left or behind == automaton.num_states or automaton.distance_S[behind] > left - len(found):
        return []
    return found


@torch.inference_mode()
def fitted(generator: Generator, text: Sequence[int]) -> int | None:
    """The shortest bucket of which the length head is sure enough, by the last token that is not read on the canvas."""
    ahead = list(text[: len(text) - generator.spec.logit_shift])
    if not ahead:
        return None
    hidden = generator.model(torch.tensor([ahead]), torch.arange(len(ahead))[None], AttentionSpec(causal=True))
    shares = generator.model.length_logits(hidden[0, -1]).softmax(-1)
    sums = [float(shares[: i + 1].sum()) for i in range(len(shares) - 1)]
    return next((edge for edge, share in zip(generator.model.length_buckets, sums, strict=True) if share >= 0.9), None)


@torch.inference_mode()
def answer(generator: Generator, request: Request) -> Answered:
    """Canvas after canvas, each from noise or from what is given, the last one cut to what is left; blocks are whole.
    What is frozen up to the next free position is text."""
    spec, start = generator.spec, request.start
    block = spec.block
    given = [] if start is None else list(zip(start.tokens, start.frozen, strict=True))
    banned = generator.banned_for([start is None or start.blanks])
    behind: list[int] = list(request.prompt)
    tokens: list[int] = []
    canvas = steps = 0
    automaton = request.automaton
    if automaton is not None and start is None:
        tokens = forced(generator, automaton, [], request.max_tokens)
        behind += tokens
    while True:
        while len(tokens) < len(given) and given[len(tokens)][1]:
            behind.append(given[len(tokens)][0])
            tokens.append(behind[-1])
        if len(tokens) >= request.max_tokens:
            return tokens, canvas, steps
        constraint = None
        whole = len(behind) // block * block
        text, head = behind[:whole], behind[whole:]
        wanted = request.canvas_length
        if request.fit and canvas == 0:
            wanted = fitted(generator, text) or wanted
        length = min(wanted, request.max_tokens - len(tokens)) if block == 1 else block
        places = [(token, True) for token in head] + given[len(tokens) : len(tokens) + length - len(head)]
        places += [(0, False)] * (length - len(places))
        if automaton is not None and (start is None or len(tokens) < start.num_bound):
            most = request.max_tokens if start is None else start.num_bound
            inside = min(length, len(head) + most - len(tokens))
            end = len(tokens) + inside - len(head)
            allowed = automaton.distance_S <= most - end
            if start is not None:
                rest = given[end:most]
                classes = [int(automaton.class_V[token]) if kept else -1 for token, kept in rest]
                allowed = backward(automaton, classes, may_end=start.blanks)[0]
            constraint = Constraint(
                automaton=automaton,
                state=automaton.walk(automaton.start, tokens),
                allowed_S=allowed,
                length=inside,
                ahead=len(head),
            )
        batch = CanvasBatch.from_tokens(
            generator.process,
            [[token for token, _ in places]],
            frozen=[[frozen for _, frozen in places]],
            noise_level=1.0 if start is None else start.noise_level,
            seeds=[request.seed],
            config=request.sampler,
            canvas=canvas,
            constraints=[constraint],
        )
        done = denoise(
            batch,
            Uncached(generator, text, [frozen for _, frozen in places]),
            generator.process,
            self_conditioning=spec.self_conditioning,
            banned=banned,
            constraints=[constraint],
        ).batch
        canvas, steps = canvas + 1, steps + int(done.step_R[0])
        written = done.tokens_RL[0].tolist()[len(head) :]
        behind += written
        written = written[: request.max_tokens - len(tokens)]
        ends = [place for place, token in enumerate(written) if token in generator.tokenizer.eos_ids]
        if ends and start is None:
            return [*tokens, *written[: ends[0]]], canvas, steps
        tokens += written
        if automaton is not None and start is None:
            more = forced(generator, automaton, tokens, request.max_tokens)
            tokens, behind = [*tokens, *more], [*behind, *more]
            if automaton.is_over(automaton.walk(automaton.start, tokens)):
                return tokens, canvas, steps
