"""Scores on procedural tasks: accuracy, steps, and the effect of revisions.

Also scores for filling gaps, pieces cut out of gold responses, and for predicting answer lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, Unpack

from sfumato.data.tasks import Item, Task, find_task, items
from sfumato.data.tasks.base import judge
from sfumato.engine.model import TextModel
from sfumato.engine.options import GenerateOptions, InfillOptions
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import CanvasChanged, Result
from sfumato.errors import RequestError, SfumatoError
from sfumato.sampling.config import SamplerConfig

ROWS = 32
"""Items generated together; they do not influence each other."""


class Answered(NamedTuple):
    """An item with the model's answer."""

    prompt: Prompt
    response: str | None
    """A correct answer, if one is known."""
    answer: str
    right: bool | None
    """Whether the answer is correct; None if nothing says so."""


@dataclass(frozen=True, kw_only=True)
class TwinScore:
    """The autoregressive twin on the same items."""

    answer_first: float | None
    """Share correct in the task's own form."""
    answer_last: float | None
    """Share correct with the derivation first; None for a task without that form."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """One model on one task."""

    task: str
    n: int
    """Number of test items; a recall task has one, asked with n seeds."""
    seed: int
    """Random seed of items and sampling."""


@dataclass(frozen=True, kw_only=True)
class TaskScore(Score):
    """One model on one task."""

    steps: int
    """Maximum steps per canvas."""
    score: float
    """Share of correct responses."""
    unsettled: int
    """Answers that used all their steps before the stop rule was met."""
    mean_steps: float
    """Mean denoising steps per answer, over all its canvases."""
    mean_forward_passes: float
    """Mean forward passes per answer; writing a prompt or canvas shares a pass with the step that first reads it."""
    mean_positions: float
    """Mean positions per answer, including its prompt, also where another answer's prefix was reused."""
    revised: int | None
    """Answers whose answer line changed after it was first accepted in full; None for a task without an answer line."""
    wrong_to_right: int | None
    """Revised answers that were wrong and ended right."""
    right_to_wrong: int | None
    """Revised answers that were right and ended wrong."""
    twin: TwinScore | None
    """The autoregressive twin, if there is one."""


def evaluate_task(
    model: TextModel,
    name: str,
    *,
    n: int = 100,
    twin: TextModel | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_answers: Callable[[Sequence[Answered]], None] = lambda answers: None,
    **options: Unpack[GenerateOptions],
) -> TaskScore:
    """Score a model on n items of a task's test split.

    Args:
        n: items, 1 or more.
        twin: an autoregressive model to give the same items.
        on_progress: called with (items done, total).
        on_answers: called with all items and the model's answers.

    Raises:
        ConfigError: if the task is unknown.
        RequestError: if n or a setting is not allowed.
    """
    seed = options.get("seed", 0)
    task, asked = asked_items(name, seed, n)
    has_answer = asked[0].answer is not None
    options["trace"] = has_answer
    limits = {name: options[name] for name in ("steps", "draft_steps") if options.get(name) is not None}
    results = ask(model, [item.prompt for item in asked], on_progress, **options)
    right = check_answers(task, asked, results)
    on_answers(
        [
            Answered(item.prompt, item.response or None, result.text, correct)
            for item, result, correct in zip(asked, results, right, strict=True)
        ]
    )
    revised = wrong_to_right = right_to_wrong = None
    if has_answer:
        firsts = [first_accepted_answer(task, result) for result in results]
        pairs = [
            (first == item.answer, final)
            for item, result, first, final in zip(asked, results, firsts, right, strict=True)
            if first is not None and first != task.answer(result.text)
        ]
        revised = len(pairs)
        wrong_to_right = sum(not before and after for before, after in pairs)
        right_to_wrong = sum(before and not after for before, after in pairs)
    return TaskScore(
        task=name,
        n=n,
        seed=seed,
        steps=SamplerConfig.of(limits, model.sampler_defaults).max_steps,
        score=sum(right) / n,
        unsettled=sum(result.usage.unsettled > 0 for result in results),
        mean_steps=sum(result.usage.denoising_steps for result in results) / n,
        mean_forward_passes=sum(result.usage.forward_passes for result in results) / n,
        mean_positions=sum(result.usage.positions_computed + result.usage.cached_tokens for result in results) / n,
        revised=revised,
        wrong_to_right=wrong_to_right,
        right_to_wrong=right_to_wrong,
        twin=_twin_score(twin, task, asked, seed) if twin else None,
    )


def first_accepted_answer(task: Task, result: Result) -> str | None:
    """The answer line when all its positions were first accepted.

    Returns:
        That answer; None if this never happened before the end, or the line held no answer.
    """
    event = first_accepted(task, result)
    return task.answer(event.text) if event else None


def first_accepted(task: Task, result: Result) -> CanvasChanged | None:
    """The step after which all positions of the answer line had been accepted; None if that never happened."""
    if not result.trace:
        return None
    accepted = [False] * len(result.trace[0].tokens)
    for event in result.trace:
        if event.canvas > 0:
            break
        accepted = [before or now for before, now in zip(accepted, event.accepted, strict=True)]
        answer = task.answer(event.text)
        if answer is not None and all(accepted[position] for position in _answer_positions(task, event, answer)):
            return event
    return None


def _answer_positions(task: Task, event: CanvasChanged, answer: str) -> list[int]:
    """Positions of a draft's answer line with its end; all of the text if no line alone states the answer."""
    lines: list[list[int]] = [[]]
    texts = [""]
    for position, piece in enumerate(event.pieces):
        if not any(event.pieces[position:]):
            # The end token, and nothing past it.
            lines[-1].append(position)
            break
        for more, part in enumerate(piece.split("\n")):
            if more:
                lines.append([])
                texts.append("")
            lines[-1].append(position)
            texts[-1] += part
        if piece.endswith("\n"):
            lines[-1].remove(position)
    for positions, text in zip(lines, texts, strict=True):
        if task.answer(text) == answer:
            return positions
    return [position for positions in lines for position in positions]


def asked_items(name: str, seed: int, n: int) -> tuple[Task, list[Item]]:
    """A task and n items of its test split; a task with one text is repeated with other seeds.

    Raises:
        ConfigError: if the task is unknown.
        RequestError: if n is not allowed.
    """
    if n < 1:
        raise RequestError(f"n is {n}; allowed: 1 or more")
    task = find_task(name)
    asked = items(task, "test", seed, n)
    return task, [asked[i % len(asked)] for i in range(n)]


def ask(
    model: TextModel,
    prompts: Sequence[Prompt],
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Unpack[GenerateOptions],
) -> list[Result]:
    """Answers to prompts, ROWS at a time, prompt i with seed + i, without checking the kinds of prompts.

    Raises:
        SfumatoError: if an answer failed, which says nothing about its quality.
    """
    options.setdefault("check_prompt", False)
    results: list[Result] = []
    seed = options.pop("seed", 0)
    for start in range(0, len(prompts), ROWS):
        part = prompts[start : start + ROWS]
        seeds = [seed + start + i for i in range(len(part))]

        def tell(done: int, before: int = start) -> None:
            on_progress(before + done, len(prompts))

        results += model.generate_batch(part, seeds=seeds, on_progress=tell, **options)
    for result in results:
        if result.failed:
            raise SfumatoError(f"{model.name} cannot be scored: {result.failure}")
    return results


def check_answers(task: Task, asked: Sequence[Item], results: Sequence[Result]) -> list[bool]:
    """Whether each answer is right."""
    return [judge(task, item, result.text) for item, result in zip(asked, results, strict=True)]


def _twin_score(twin: TextModel, task: Task, asked: Sequence[Item], seed: int) -> TwinScore:
    """Ask the twin greedily, in the task's form and, if there is one, with the derivation first."""

    def score(form: Sequence[Item]) -> float:
        results = ask(twin, [item.prompt for item in form], seed=seed, temperature=0.0)
        return sum(check_answers(task, form, results)) / len(form)

    last = [moved for item in asked if (moved := task.answer_last(item)) is not None]
    return TwinScore(answer_first=score(asked), answer_last=score(last) if last else None)


_LONGEST = 12


@dataclass(frozen=True, kw_only=True)
class GapScore(Score):
    """One model on the gaps of one task: one gap of 1 to 12 tokens per item."""

    steps: int
    """Maximum steps per canvas."""
    restored: float
    """Share of gaps restored exactly."""
    right: float
    """Share of whole responses that the task's checker accepts."""
    length_near: float
    """Share of gaps whose length is right within one token."""
    mean_steps: float
    """Mean denoising steps per answer, over all attempts."""


def evaluate_gaps(
    model: TextModel,
    name: str,
    *,
    n: int = 100,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Unpack[InfillOptions],
) -> GapScore:
    """Cut a random piece out of n gold responses and let the model fill it, without telling its length.

    Raises:
        ConfigError: if the task is unknown.
        RequestError: if n or a setting is not allowed, the model is autoregressive, or the task has no gold responses.
    """
    seed = options.get("seed", 0)
    task, asked = asked_items(name, seed, n)
    if not all(item.response for item in asked):
        raise RequestError(
            f"task {name!r} has items without a gold response; allowed: a task whose responses can be cut"
        )
    tokenizer = model.tokenizer
    restored = right = near = num_steps = 0
    for i, item in enumerate(asked):
        random = Random(f"gap {seed} {i}")
        tokens = tokenizer.encode(item.response)
        size = random.randint(1, min(_LONGEST, len(tokens)))
        first = random.randint(0, len(tokens) - size)
        prefix, cut, suffix = (
            tokenizer.decode(part) for part in (tokens[:first], tokens[first : first + size], tokens[first + size :])
        )
        options["prompt"], options["seed"] = item.prompt, seed + i
        result = model.infill(prefix, suffix, **options)
        restored += result.text == cut
        right += judge(task, item, f"{prefix}{result.text}{suffix}")
        near += abs(len(tokenizer.encode(result.text)) - size) <= 1
        num_steps += result.usage.denoising_steps
        on_progress(i + 1, n)
    return GapScore(
        task=name,
        n=n,
        seed=seed,
        steps=options.get("steps") or model.sampler_defaults.steps,
        restored=restored / n,
        right=right / n,
        length_near=near / n,
        mean_steps=num_steps / n,
    )


@dataclass(frozen=True, kw_only=True)
class LengthScore(Score):
    """One model's length head on one task."""

    bucket_right: float
    """Share of items whose gold response falls into the most probable bucket."""
    confidence: float
    """Mean probability of that bucket; if calibrated, close to the share."""
    held: float
    """Share of items whose gold response fits the canvas that the head sets."""
    positions: float
    """Mean positions computed per answer, without its prompt, with the head."""
    positions_without: float
    """Mean positions computed per answer on canvases of the trained length."""
    right: float
    """Share of correct answers with the head."""
    right_without: float
    """Share of correct answers without it."""


def evaluate_lengths(
    model: TextModel,
    name: str,
    *,
    n: int = 100,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Unpack[GenerateOptions],
) -> LengthScore:
    """Compare the length head with gold responses, and answer n items with and without it.

    Raises:
        ConfigError: if the task is unknown.
        RequestError: if n or a setting is not allowed, or the model has no length head.
    """
    seed = options.get("seed", 0)
    task, asked = asked_items(name, seed, n)
    tokenizer, buckets = model.tokenizer, model.decoder.length_buckets
    bucket_right = held = 0
    confidence = 0.0
    for item in asked:
        shares = model.length_shares(item.prompt)
        best = max(shares, key=shares.__getitem__)
        # The end token is part of an answer.
        size = len(tokenizer.encode(item.response)) + 1
        bucket_right += best == next((edge for edge in buckets if size <= edge), None)
        confidence += shares[best]
        held += size <= (model.bundle.first_length(shares.values()) or model.spec.canvas_length)
    positions: list[float] = []
    right: list[float] = []
    lengths: tuple[Literal["auto"], int] = ("auto", model.spec.canvas_length)
    for length in lengths:
        options["canvas_length"] = length
        results = ask(model, [item.prompt for item in asked], on_progress, **options)
        usages = [result.usage for result in results]
        num_prompt = sum(usage.prompt_tokens - usage.cached_tokens for usage in usages)
        positions.append((sum(usage.positions_computed for usage in usages) - num_prompt) / n)
        right.append(sum(check_answers(task, asked, results)) / n)
    return LengthScore(
        task=name,
        n=n,
        seed=seed,
        bucket_right=bucket_right / n,
        confidence=confidence / n,
        held=held / n,
        positions=positions[0],
        positions_without=positions[1],
        right=right[0],
        right_without=right[1],
    )
