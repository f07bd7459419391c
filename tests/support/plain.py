"""The plain loop: one request, no cache, no batch; every forward computes prefix and canvas with an explicit mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from denoising import denoise
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.request import Request
from sfumato.models.model import AttentionSpec
from sfumato.sampling import Automaton, CanvasBatch, Constraint
from sfumato.sampling.constraint import backward

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
        places = torch.arange(tokens.shape[1])
        on_canvas = places >= len(prefix)
        mask = (places[None] // block <= places[:, None] // block) | (on_canvas[None] & on_canvas[:, None]) | full

        def near(window: int) -> Tensor:
            """Each position reads a window up to itself; a canvas reads as far back as its first position does."""
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
        return self.bundle.model.soft_embedding(probs_RLV)

    def embedding(self, tokens_RL: Tensor) -> Tensor:
        return self.bundle.model.token_embedding(tokens_RL)


def forced(bundle: ModelBundle, automaton: Automaton, tokens: Sequence[int], most: int) -> list[int]:
    """The forced tokens, found byte by byte: as long as only one byte is possible. The last one is left to the model,
    which may write a longer token, unless every text ends after it; so is the last one that fits."""
    single = {own[0]: token for token, own in enumerate(bundle.tokenizer.token_bytes) if own and len(own) == 1}
    state = automaton.walk(automaton.start, tokens)
    text, place = b"", state
    while not automaton.final_S[place]:
        ways = [(byte, automaton.walk(place, [token])) for byte, token in single.items()]
        ways = [(byte, after) for byte, after in ways if after < automaton.num_states]
        if len(ways) != 1:
            break
        text, place = text + bytes([ways[0][0]]), ways[0][1]
    found = bundle.tokenizer.encode(text.decode(errors="ignore"))
    left = most - len(tokens)
    if len(found) == left or not (automaton.final_S[place] and automaton.is_over(place)):
        found = found[:-1]
    after = automaton.walk(state, found)
    can_end = after < automaton.num_states and len(found) + automaton.distance_S[after] <= left
    return found if can_end else []


@torch.inference_mode()
def fitted(bundle: ModelBundle, text: Sequence[int]) -> int | None:
    """The shortest bucket that the length head is sure enough of, read at the last token before the canvas."""
    ahead = list(text[: len(text) - bundle.spec.logit_shift])
    if not ahead:
        return None
    hidden = bundle.model(torch.tensor([ahead]), torch.arange(len(ahead))[None], AttentionSpec(causal=True))
    shares = bundle.model.length_logits(hidden[0, -1]).softmax(-1)
    sums = [float(shares[: i + 1].sum()) for i in range(len(shares) - 1)]
    return next((edge for edge, share in zip(bundle.model.length_buckets, sums, strict=True) if share >= 0.9), None)


Place = tuple[int, bool]
"""A token, and whether it is frozen."""


@torch.inference_mode()
def denoised(
    bundle: ModelBundle,
    request: Request,
    text: Sequence[int],
    places: Sequence[Place],
    constraint: Constraint | None,
    *,
    noise_level: float,
    may_end: bool,
    canvas: int,
) -> tuple[list[int], int]:
    """One canvas after a text, and its steps."""
    frozen = [kept for _, kept in places]
    batch = CanvasBatch.from_tokens(
        bundle.process,
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
        Uncached(bundle, text, frozen),
        bundle.process,
        self_conditioning=bundle.spec.self_conditioning,
        banned=bundle.banned_for([may_end]),
        constraints=[constraint],
        backend=bundle.model.backend,
    ).batch
    return done.tokens_RL[0].tolist(), int(done.step_R[0])


def within(
    request: Request, tokens: Sequence[int], ahead: int, length: int, given: Sequence[Place], most: int, may_end: bool
) -> Constraint | None:
    """Constraint on a canvas after some answer tokens, such that the rest can still match what is given."""
    automaton = request.automaton
    if automaton is None or len(tokens) >= most:
        return None
    inside = min(length, ahead + most - len(tokens))
    end = len(tokens) + inside - ahead
    allowed = automaton.distance_S <= most - end
    if given:
        classes = [int(automaton.class_V[token]) if kept else -1 for token, kept in given[end:most]]
        allowed = backward(automaton, classes, may_end=may_end)[0]
    state, kept = automaton.walk(automaton.start, tokens), [stays for _, stays in given]
    return Constraint(
        automaton=automaton,
        state=state,
        allowed_S=allowed,
        length=inside,
        num_leading=ahead,
        weighs_behind=bool(kept) and any(kept[kept.index(False) :]),
    )


def answer(bundle: ModelBundle, request: Request) -> Answered:
    """The canvases of an answer, then the last of them again, except those that nothing follows."""
    tokens, spans, steps, ended = written(bundle, request)
    canvas, start = len(spans), request.start
    again = [(first, last) for first, last in spans if first < last < len(tokens)]
    for first, last in reversed(again[len(again) - min(request.revisit, len(again)) :]):
        free = [
            first <= place < last and not (start is not None and start.frozen[place]) for place in range(len(tokens))
        ]
        given = [(token, not own) for token, own in zip(tokens, free, strict=True)]
        ends = [(bundle.tokenizer.eos_ids[0], True)] if ended else []
        places = [*given, *ends][first : last + request.canvas_length]
        most = len(tokens)
        found, taken = denoised(
            bundle,
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
    behind: list[int] = list(request.prompt)
    tokens: list[int] = []
    spans: list[tuple[int, int]] = []
    steps = 0
    automaton = request.automaton
    if automaton is not None and start is None:
        tokens = forced(bundle, automaton, [], request.max_tokens)
        behind += tokens
    while True:
        # What fits one canvas stays on it.
        holds_all = not tokens and len(given) <= request.canvas_length
        while not holds_all and len(tokens) < len(given) and given[len(tokens)][1]:
            behind.append(given[len(tokens)][0])
            tokens.append(behind[-1])
        if len(tokens) >= request.max_tokens:
            return tokens, spans, steps, False
        whole = len(behind) // block * block
        text, head = behind[:whole], behind[whole:]
        wanted = request.canvas_length
        if request.auto_length and not spans:
            wanted = fitted(bundle, text) or wanted
        length = min(wanted, request.max_tokens - len(tokens)) if block == 1 else block
        places = [(token, True) for token in head] + given[len(tokens) : len(tokens) + length - len(head)]
        places += [(0, False)] * (length - len(places))
        found, taken = denoised(
            bundle,
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
        ends = [place for place, token in enumerate(new) if token in bundle.tokenizer.eos_ids]
        if ends and start is None:
            spans.append((len(tokens), len(tokens) + ends[0]))
            return [*tokens, *new[: ends[0]]], spans, steps, True
        spans.append((len(tokens), len(tokens) + len(new)))
        tokens += new
        if automaton is not None and start is None:
            more = forced(bundle, automaton, tokens, request.max_tokens)
            tokens, behind = [*tokens, *more], [*behind, *more]
            if automaton.is_over(automaton.walk(automaton.start, tokens)):
                return tokens, spans, steps, len(tokens) < request.max_tokens
