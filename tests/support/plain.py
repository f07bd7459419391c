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


Place = tuple[int, bool]
"""A token, and whether it is frozen."""


@torch.inference_mode()
def denoised(
    generator: Generator,
    request: Request,
    text: Sequence[int],
    places: Sequence[Place],
    constraint: Constraint | None,
    *,
    noise_level: float,
    may_end: bool,
    canvas: int,
) -> tuple[list[int], int]:
    """One canvas behind a text, and its steps."""
    frozen = [kept for _, kept in places]
    batch = CanvasBatch.from_tokens(
        generator.process,
        [[token for token, _ in places]],
        frozen=[frozen],
        noise_level=noise_level,
        seeds=[request.seed],
        config=request.sampler,
        canvas=canvas,
        constraints=[constraint],
    )
    done = denoise(
        batch,
        Uncached(generator, text, frozen),
        generator.process,
        self_conditioning=generator.spec.self_conditioning,
        banned=generator.banned_for([may_end]),
        constraints=[constraint],
        operations=generator.model.operations,
    ).batch
    return done.tokens_RL[0].tolist(), int(done.step_R[0])


def within(
    request: Request, tokens: Sequence[int], ahead: int, length: int, given: Sequence[Place], most: int, may_end: bool
) -> Constraint | None:
    """What a canvas behind some tokens of the answer must be: so that the rest of it can be what is given."""
    automaton = request.automaton
    if automaton is None or len(tokens) >= most:
        return None
    inside = min(length, ahead + most - len(tokens))
    end = len(tokens) + inside - ahead
    allowed = automaton.distance_S <= most - end
    if given:
        classes = [int(automaton.class_V[token]) if kept else -1 for token, kept in given[end:most]]
        allowed = backward(automaton, classes, may_end=may_end)[0]
    state = automaton.walk(automaton.start, tokens)
    return Constraint(automaton=automaton, state=state, allowed_S=allowed, length=inside, ahead=ahead)


def answer(generator: Generator, request: Request) -> Answered:
    """The canvases of an answer, and then the last of them once more, those that something follows."""
    tokens, spans, steps, ended = written(generator, request)
    canvas, start = len(spans), request.start
    again = [(first, last) for first, last in spans if first < last < len(tokens)]
    for first, last in reversed(again[len(again) - min(request.revisit, len(again)) :]):
        free = [
            first <= place < last and not (start is not None and start.frozen[place]) for place in range(len(tokens))
        ]
        given = [(token, not own) for token, own in zip(tokens, free, strict=True)]
        ends = [(generator.tokenizer.eos_ids[0], True)] if ended else []
        places = [*given, *ends][first : last + request.canvas_length]
        most = len(tokens)
        found, taken = denoised(
            generator,
            request,
            [*request.prompt, *tokens[:first]],
            places,
            within(request, tokens[:first], 0, len(places), given, most, False),
            noise_level=request.revisit_level,
            may_end=False,
            canvas=canvas,
        )
        tokens = [*tokens[:first], *found[: last - first], *tokens[last:]]
        canvas, steps = canvas + 1, steps + taken
    return tokens, canvas, steps


def written(generator: Generator, request: Request) -> tuple[list[int], list[tuple[int, int]], int, bool]:
    """Canvas after canvas, each from noise or from what is given, the last one cut to what is left; blocks are whole.
    What is frozen up to the next free position is text.

    Returns:
        Tokens, the first and the one behind the last of each canvas, steps, and whether there was an end behind them.
    """
    start, block = request.start, generator.spec.block
    given = [] if start is None else list(zip(start.tokens, start.frozen, strict=True))
    may_end = start is None or start.blanks
    behind: list[int] = list(request.prompt)
    tokens: list[int] = []
    spans: list[tuple[int, int]] = []
    steps = 0
    automaton = request.automaton
    if automaton is not None and start is None:
        tokens = forced(generator, automaton, [], request.max_tokens)
        behind += tokens
    while True:
        while len(tokens) < len(given) and given[len(tokens)][1]:
            behind.append(given[len(tokens)][0])
            tokens.append(behind[-1])
        if len(tokens) >= request.max_tokens:
            return tokens, spans, steps, False
        whole = len(behind) // block * block
        text, head = behind[:whole], behind[whole:]
        wanted = request.canvas_length
        if request.fit and not spans:
            wanted = fitted(generator, text) or wanted
        length = min(wanted, request.max_tokens - len(tokens)) if block == 1 else block
        places = [(token, True) for token in head] + given[len(tokens) : len(tokens) + length - len(head)]
        places += [(0, False)] * (length - len(places))
        found, taken = denoised(
            generator,
            request,
            text,
            places,
            within(
                request,
                tokens,
                len(head),
                length,
                given,
                request.max_tokens if start is None else start.num_bound,
                may_end,
            ),
            noise_level=1.0 if start is None else start.noise_level,
            may_end=may_end,
            canvas=len(spans),
        )
        steps += taken
        new = found[len(head) :]
        behind += new
        new = new[: request.max_tokens - len(tokens)]
        ends = [place for place, token in enumerate(new) if token in generator.tokenizer.eos_ids]
        if ends and start is None:
            spans.append((len(tokens), len(tokens) + ends[0]))
            return [*tokens, *new[: ends[0]]], spans, steps, True
        spans.append((len(tokens), len(tokens) + len(new)))
        tokens += new
        if automaton is not None and start is None:
            more = forced(generator, automaton, tokens, request.max_tokens)
            tokens, behind = [*tokens, *more], [*behind, *more]
            if automaton.is_over(automaton.walk(automaton.start, tokens)):
                return tokens, spans, steps, len(tokens) < request.max_tokens
