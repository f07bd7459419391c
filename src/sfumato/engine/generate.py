"""The plain loop from requests to answers: canvas after canvas, all requests' canvases denoised together.

It is the reference the engine is tested against. Rows wait for each other only between canvases.
"""

# R rows, L canvas

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from sfumato.data.tokenizer import Detokenizer, Tokenizer
from sfumato.diffusion.process import Process
from sfumato.engine.denoiser import PrefixDenoiser, make_denoiser
from sfumato.engine.request import (
    CanvasChanged,
    Committed,
    Event,
    Finished,
    FinishReason,
    Request,
    Result,
    Usage,
)
from sfumato.errors import CapacityError
from sfumato.models.model import Model
from sfumato.sampling import CanvasBatch, StepResult, StopHead, denoising
from sfumato.spec import GenerationSpec


@dataclass(frozen=True)
class Generator:
    """A decoder with everything that does not change from request to request."""

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
    """bool_V; tokens never to be written."""
    stop_head: StopHead | None = None
    """Learned stop rule."""


@dataclass
class _Answer:
    """One answer in the making; a request has n."""

    request: int
    variation: int
    seed: int
    wanted: Request
    detokenizer: Detokenizer
    head: tuple[int, ...] = ()
    """End of the prompt that shares its block with the first canvas, and stands frozen at its head."""
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    canvas: int = 0
    usage: Usage = field(default_factory=Usage)
    trace: list[CanvasChanged] = field(default_factory=list)
    finish_reason: FinishReason | None = None

    def next_canvas(self, spec: GenerationSpec) -> tuple[list[int], list[bool]]:
        """The next canvas before noise, and what is frozen on it.

        The last canvas is cut to what max_tokens leaves, but a block of a block-causal prefix is always whole.
        """
        length = self.wanted.canvas_length
        if spec.prefix_attention != "block":
            length = min(length, self.wanted.max_tokens - len(self.tokens))
        free = length - len(self.head)
        return [*self.head, *[0] * free], [*[True] * len(self.head), *[False] * free]


def generate(generator: Generator, requests: Sequence[Request], *, drafts: bool = False) -> Iterator[tuple[int, Event]]:
    """Answer requests together.

    Args:
        generator: the model.
        requests: any number; their answers are independent of each other.
        drafts: yield `CanvasChanged` events too.

    Yields:
        (index of the request, event); each answer ends in one `Finished`.

    Raises:
        CapacityError: if a request needs more positions than the model has.
    """
    for request in requests:
        check_capacity(generator.model, request)
    if requests:
        yield from _generate(generator, requests, drafts)


def check_capacity(model: Model, request: Request) -> None:
    """Refuse a request that the model's positions can never hold.

    Raises:
        CapacityError: with the numbers.
    """
    most = model.config.max_position_embeddings
    if len(request.prompt) + request.max_tokens > most:
        raise CapacityError(
            f"the prompt has {len(request.prompt)} tokens and max_tokens is {request.max_tokens}; "
            f"this model holds {most} positions: shorten the prompt or ask for fewer tokens"
        )


# As a decorator it is off while the caller has an event; a with block would leave it on.
@torch.inference_mode()
def _generate(generator: Generator, requests: Sequence[Request], drafts: bool) -> Iterator[tuple[int, Event]]:
    started = time.perf_counter()
    answers = [
        _Answer(index, i, request.seed + i, request, Detokenizer(generator.tokenizer))
        for index, request in enumerate(requests)
        for i in range(request.n)
    ]
    denoiser = make_denoiser(
        generator.model,
        generator.spec,
        [request.prompt for request in requests],
        [answer.request for answer in answers],
        max(len(request.prompt) + request.max_tokens for request in requests)
        + max(request.canvas_length for request in requests),
    )
    for answer in answers:
        answer.usage.prompt_tokens = len(answer.wanted.prompt)
        prefilled = denoiser.num_prefilled(answer.wanted.prompt)
        answer.usage.forward_passes += prefilled > 0
        answer.usage.positions_computed += prefilled
        if generator.spec.prefix_attention == "block":
            answer.head = answer.wanted.prompt[prefilled:]
    while answers:
        canvases = [answer.next_canvas(generator.spec) for answer in answers]
        batch = CanvasBatch.from_tokens(
            generator.process,
            [tokens for tokens, _ in canvases],
            frozen=[frozen for _, frozen in canvases],
            seeds=[answer.seed for answer in answers],
            config=[answer.wanted.sampler for answer in answers],
            canvas=[answer.canvas for answer in answers],
            device=generator.model.device,
        )
        if drafts or any(answer.wanted.trace for answer in answers):
            for i, answer in enumerate(answers):
                yield from _show(generator, answer, batch, None, i, drafts)
        steps = denoising(
            batch,
            denoiser,
            generator.process,
            self_conditioning=generator.spec.self_conditioning,
            banned=generator.banned,
            stop_head=generator.stop_head,
        )
        while True:
            try:
                result = next(steps)
            except StopIteration as stop:
                batch = stop.value.batch
                break
            if drafts or any(answer.wanted.trace for answer in answers):
                for i, row in enumerate(result.batch.row_R.tolist()):
                    yield from _show(generator, answers[row], result.batch, result, i, drafts)
        yield from _commit(generator, denoiser, answers, batch, started)
        going = [i for i, answer in enumerate(answers) if answer.finish_reason is None]
        if going:
            _extend(denoiser, answers, going, batch)
        answers = [answers[i] for i in going]


def _commit(
    generator: Generator, denoiser: PrefixDenoiser, answers: Sequence[_Answer], batch: CanvasBatch, started: float
) -> Iterator[tuple[int, Event]]:
    """Take finished canvases into the answers."""
    now = time.perf_counter() - started
    columns = (batch.tokens_RL, batch.length_R, batch.step_R, batch.revisions_R, batch.failed_R)
    for row, (answer, tokens, length, steps, revisions, failed) in enumerate(
        zip(answers, *(column.tolist() for column in columns), strict=True)
    ):
        usage = answer.usage
        usage.canvases += 1
        usage.denoising_steps += steps
        usage.forward_passes += steps
        usage.positions_computed += steps * denoiser.num_computed(row, length)
        usage.revisions += revisions
        usage.time_to_first_commit_s = usage.time_to_first_commit_s or now
        left = answer.wanted.max_tokens - len(answer.tokens)
        written, ended = _until_end(tokens[len(answer.head) : length], generator.tokenizer)
        written, ended = written[:left], ended and len(written) <= left
        if failed:
            answer.finish_reason, written = "error", []
        elif ended:
            answer.finish_reason = "stop"
        answer.tokens += written
        if answer.finish_reason is None and len(answer.tokens) >= answer.wanted.max_tokens:
            answer.finish_reason = "length"
        piece = answer.detokenizer.push(written)
        if answer.finish_reason is not None:
            piece += answer.detokenizer.finish()
        answer.text += piece
        yield answer.request, Committed(variation=answer.variation, canvas=answer.canvas, text=piece)
        answer.canvas += 1
        answer.head = ()
        if answer.finish_reason is not None:
            usage.completion_tokens = len(answer.tokens)
            usage.total_s = time.perf_counter() - started
            yield answer.request, Finished(variation=answer.variation, result=_result(generator, answer))


def _extend(denoiser: PrefixDenoiser, answers: Sequence[_Answer], going: Sequence[int], batch: CanvasBatch) -> None:
    """Write the canvases of answers that go on into the prefix; in one forward."""
    canvases = [batch.tokens_RL[i, : int(batch.length_R[i])].tolist() for i in going]
    took_forward = denoiser.commit(going, canvases)
    for i, canvas in zip(going, canvases, strict=True):
        if took_forward:
            answers[i].usage.forward_passes += 1
            answers[i].usage.positions_computed += len(canvas)


def _show(
    generator: Generator,
    answer: _Answer,
    batch: CanvasBatch,
    result: StepResult | None,
    i: int,
    drafts: bool,
) -> Iterator[tuple[int, Event]]:
    length = int(batch.length_R[i])
    head = len(answer.head)
    draft = batch.draft_RL[i, head:length].tolist()
    shown, _ = _until_end(draft, generator.tokenizer)
    part, length = slice(head, length), length - head
    none = (False,) * length
    event = CanvasChanged(
        variation=answer.variation,
        canvas=answer.canvas,
        step=int(batch.step_R[i]),
        steps=int(batch.steps_R[i]),
        tokens=tuple(draft),
        pieces=(*(generator.tokenizer.decode([token]) for token in shown), *[""] * (length - len(shown))),
        text=generator.tokenizer.decode(shown),
        accepted=tuple(batch.accepted_RL[i, part].tolist()) if result else none,
        revised=tuple(result.revised_RL[i, part].tolist()) if result else none,
        confidence=tuple(result.statistics.confidence_RL[i, part].nan_to_num().tolist()) if result else (0.0,) * length,
    )
    if answer.wanted.trace:
        answer.trace.append(event)
    if drafts:
        yield answer.request, event


def _until_end(tokens: Sequence[int], tokenizer: Tokenizer) -> tuple[list[int], bool]:
    """The tokens before the first that ends a text, and whether there is one."""
    ends = [i for i, token in enumerate(tokens) if token in tokenizer.eos_ids]
    return (list(tokens[: ends[0]]), True) if ends else (list(tokens), False)


def _result(generator: Generator, answer: _Answer) -> Result:
    assert answer.finish_reason is not None
    return Result(
        text=answer.text,
        tokens=tuple(answer.tokens),
        finish_reason=answer.finish_reason,
        seed=answer.seed,
        model=generator.name,
        usage=answer.usage,
        trace=answer.trace,
    )
