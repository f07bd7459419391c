"""The plain loop: one request, no cache, no batch; every forward computes prefix and canvas with an explicit mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from denoising import denoise
from sfumato.constraints.automaton import Automaton
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.request import Request
from sfumato.models.model import AttentionSpec
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.constraint import Constraint, backward

# R rows (one), L canvas, N positions asked for, D model, V vocabulary

Answered = tuple[list[int], int, int]
"""Tokens, canvases, steps."""


class Uncached:
    """A `sampling.Denoiser` of one row."""

    def __init__(self, bundle: ModelBundle, prefix: Sequence[int], frozen: Sequence[bool]) -> None:
        self.bundle, self.prefix, self.frozen = bundle, list(prefix), list(frozen)

    def __call__(
        self, tokens_RL: Tensor, soft_RLD: Tensor | None, valid_RL: Tensor, index_N: Tensor, *rest: Any
    ) -> Tensor:
        spec, model = self.bundle.spec, self.bundle.model
        full = spec.prefix_attention == "full"
        block = spec.canvas_length if spec.prefix_attention == "block" else 1
        prefix, canvas, frozen = self.prefix, tokens_RL[0].tolist(), self.frozen
        if spec.logit_shift and not full:
            prefix, canvas = prefix[:-1], [prefix[-1], *canvas[:-1]]
            frozen = [False, *frozen[:-1]]
        tokens = torch.tensor([[*prefix, *canvas]])
        positions = torch.arange(tokens.shape[1])
        on_canvas = positions >= len(prefix)
        mask = (positions[None] // block <= positions[:, None] // block) | (on_canvas[None] & on_canvas[:, None]) | full

        def near(window: int) -> Tensor:
            """Each position reads a window up to itself; a canvas reads as far back as its first position does."""
            first = torch.where(on_canvas, len(prefix), positions)
            return mask & (positions[None] > first[:, None] - window)

        attention = AttentionSpec(
            mask=mask[None, None],
            windows={window: AttentionSpec(mask=near(window)[None, None]) for window in model.windows},
        )
        soft = None
        if soft_RLD is not None:
            soft = torch.cat((torch.zeros(1, len(prefix), soft_RLD.shape[-1]), soft_RLD), dim=1)
        hidden = model(
            tokens,
            positions[None],
            attention,
            canvas_RQ=None if spec.autoregressive else on_canvas[None],
            soft_RQD=soft,
            given_RQ=torch.tensor([[False] * len(prefix) + frozen]),
        )
        start = len(prefix) - int(full and spec.logit_shift)
        return model.logits(hidden[0, start + index_N])

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        return self.bundle.model.soft_embedding(probs_RLV)

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        return self.bundle.model.token_embedding(tokens_RL)


def forced_tokens(bundle: ModelBundle, automaton: Automaton, tokens: Sequence[int], max_tokens: int) -> list[int]:
    """The forced tokens, found byte by byte as long as only one byte is possible. The last one is left to the model,
    which may write a longer token, unless every text ends after it; so is the last one that fits."""
    token_of = {data[0]: token for token, data in enumerate(bundle.tokenizer.token_bytes) if data and len(data) == 1}
    state = automaton.walk(automaton.start, tokens)
    text, current = b"", state
    while not automaton.final_S[current]:
        ways = [(byte, automaton.walk(current, [token])) for byte, token in token_of.items()]
        ways = [(byte, after) for byte, after in ways if after < automaton.num_states]
        if len(ways) != 1:
            break
        text, current = text + bytes([ways[0][0]]), ways[0][1]
    found = bundle.tokenizer.encode(text.decode(errors="ignore"))
    left = max_tokens - len(tokens)
    if len(found) == left or not (automaton.final_S[current] and automaton.is_over(current)):
        found = found[:-1]
    after = automaton.walk(state, found)
    can_end = after < automaton.num_states and len(found) + automaton.distance_S[after] <= left
    return found if can_end else []


@torch.inference_mode()
def predicted_length(bundle: ModelBundle, text: Sequence[int]) -> int | None:
    """The shortest bucket with enough probability from the length head, read at the last token before the canvas."""
    before = list(text[: len(text) - bundle.spec.logit_shift])
    if not before:
        return None
    hidden = bundle.model(torch.tensor([before]), torch.arange(len(before))[None], AttentionSpec(causal=True))
    shares = bundle.model.length_logits(hidden[0, -1]).softmax(-1)
    sums = [float(shares[: i + 1].sum()) for i in range(len(shares) - 1)]
    return next((edge for edge, share in zip(bundle.model.length_buckets, sums, strict=True) if share >= 0.9), None)


Cell = tuple[int, bool]
"""A token, and whether it is frozen."""


@torch.inference_mode()
def denoised(
    bundle: ModelBundle,
    request: Request,
    text: Sequence[int],
    cells: Sequence[Cell],
    constraint: Constraint | None,
    *,
    noise_level: float,
    may_end: bool,
    canvas: int,
) -> tuple[list[int], int]:
    """One canvas after a text, and its steps."""
    frozen = [kept for _, kept in cells]
    batch = CanvasBatch.from_tokens(
        bundle.process,
        [[token for token, _ in cells]],
        frozen=[frozen],
        noise_level=noise_level,
        seeds=[request.seed],
        config=request.sampler,
        canvas=canvas,
        constraints=[constraint],
    )
    done = denoise(
        batch,
        Uncached(bundle, text, frozen),
        bundle.process,
        self_conditioning=bundle.spec.self_conditioning,
        banned=bundle.banned_for([may_end]),
        constraints=[constraint],
        backend=bundle.model.backend,
    ).batch
    return done.tokens_RL[0].tolist(), int(done.step_R[0])


def canvas_constraint(
    request: Request,
    tokens: Sequence[int],
    num_leading: int,
    length: int,
    given: Sequence[Cell],
    bound: int,
    may_end: bool,
) -> Constraint | None:
    """Constraint on a canvas after some answer tokens, such that the rest can still match what is given."""
    automaton = request.automaton
    if automaton is None or len(tokens) >= bound:
        return None
    inside = min(length, num_leading + bound - len(tokens))
    end = len(tokens) + inside - num_leading
    allowed = automaton.distance_S <= bound - end
    if given:
        classes = [int(automaton.class_V[token]) if kept else -1 for token, kept in given[end:bound]]
        allowed = backward(automaton, classes, may_end=may_end)[0]
    state, kept = automaton.walk(automaton.start, tokens), [stays for _, stays in given]
    return Constraint(
        automaton=automaton,
        state=state,
        allowed_S=allowed,
        length=inside,
        num_leading=num_leading,
        weighs_suffix=bool(kept) and any(kept[kept.index(False) :]),
    )


def answer(bundle: ModelBundle, request: Request) -> Answered:
    """The canvases of an answer, then the last of them again, except those that nothing follows."""
    tokens, spans, steps, ended = written(bundle, request)
    canvas, start = len(spans), request.start
    again = [(first, last) for first, last in spans if first < last < len(tokens)]
    for first, last in reversed(again[len(again) - min(request.revisit, len(again)) :]):
        free = [
            first <= index < last and not (start is not None and start.frozen[index]) for index in range(len(tokens))
        ]
        given = [(token, not is_free) for token, is_free in zip(tokens, free, strict=True)]
        ends = [(bundle.tokenizer.eos_ids[0], True)] if ended else []
        cells = [*given, *ends][first : last + request.canvas_length]
        found, taken = denoised(
            bundle,
            request,
            [*request.prompt, *tokens[:first]],
            cells,
            canvas_constraint(request, tokens[:first], 0, len(cells), given, len(tokens), False),
            noise_level=request.revisit_level,
            may_end=False,
            canvas=canvas,
        )
        tokens = [*tokens[:first], *found[: last - first], *tokens[last:]]
        canvas, steps = canvas + 1, steps + taken
    return tokens, canvas, steps


def written(bundle: ModelBundle, request: Request) -> tuple[list[int], list[tuple[int, int]], int, bool]:
    """Canvas after canvas, each from noise or from given tokens, the last one cut to what is left; blocks are whole.
    Frozen tokens up to the next free position are text.

    Returns:
        Tokens, (start, end) of each canvas, steps, and whether an end token followed.
    """
    start = request.start
    block = bundle.spec.canvas_length if bundle.spec.prefix_attention == "block" else 1
    given = [] if start is None else list(zip(start.tokens, start.frozen, strict=True))
    may_end = start is None or start.blanks
    context: list[int] = list(request.prompt)
    tokens: list[int] = []
    spans: list[tuple[int, int]] = []
    steps = 0
    automaton = request.automaton
    if automaton is not None and start is None:
        tokens = forced_tokens(bundle, automaton, [], request.max_tokens)
        context += tokens
    while True:
        # What fits one canvas stays on it.
        holds_all = not tokens and len(given) <= request.canvas_length
        while not holds_all and len(tokens) < len(given) and given[len(tokens)][1]:
            context.append(given[len(tokens)][0])
            tokens.append(context[-1])
        if len(tokens) >= request.max_tokens:
            return tokens, spans, steps, False
        whole = len(context) // block * block
        text, head = context[:whole], context[whole:]
        wanted = request.canvas_length
        if request.auto_length and not spans:
            wanted = predicted_length(bundle, text) or wanted
        length = min(wanted, request.max_tokens - len(tokens)) if block == 1 else block
        cells = [(token, True) for token in head] + given[len(tokens) : len(tokens) + length - len(head)]
        cells += [(0, False)] * (length - len(cells))
        found, taken = denoised(
            bundle,
            request,
            text,
            cells,
            canvas_constraint(
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
        context += new
        new = new[: request.max_tokens - len(tokens)]
        ends = [index for index, token in enumerate(new) if token in bundle.tokenizer.eos_ids]
        if ends and start is None:
            spans.append((len(tokens), len(tokens) + ends[0]))
            return [*tokens, *new[: ends[0]]], spans, steps, True
        spans.append((len(tokens), len(tokens) + len(new)))
        tokens += new
        if automaton is not None and start is None:
            more = forced_tokens(bundle, automaton, tokens, request.max_tokens)
            tokens, context = [*tokens, *more], [*context, *more]
            if automaton.is_over(automaton.walk(automaton.start, tokens)):
                return tokens, spans, steps, len(tokens) < request.max_tokens
