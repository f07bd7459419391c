"""Keyword options of `generate`, `stream`, `infill` and `edit`.

All are optional; None takes the model's default.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict, TypeVar, cast

from sfumato.constraints.dfa import TextConstraint
from sfumato.constraints.json_compiler import Order
from sfumato.engine.editing import Span
from sfumato.engine.prompts import Prompt
from sfumato.errors import RequestError, unknown
from sfumato.sampling.config import Reuse, sampler_setting_names
from sfumato.sampling.samplers.base import Sampler
from sfumato.sampling.samplers.ranking import Budget
from sfumato.sampling.samplers.reverse import RemaskSchedule
from sfumato.schemas import Schema

Options = TypeVar("Options", bound=Mapping[str, object])


class SamplerOptions(TypedDict, total=False):
    """How canvases are denoised: fields of `SamplerConfig` and of the built-in samplers, where they are documented.

    Settings of a custom sampler are given with it, `sampler=Mine(setting=1)`, or as keywords.
    """

    sampler: str | Sampler | None
    """The sampler, by name or as an object with settings."""
    temperature: float | None
    """Start and end of the temperature schedule."""
    steps: int | None
    temperature_start: float | None
    temperature_end: float | None
    top_p: float | None
    top_k: int | None
    greedy_tail: int | None
    commit_sample: bool | None
    draft_steps: int | None
    block_length: int | None
    adaptive: bool | None
    stable_steps: int | None
    stop_entropy: float | None
    stop_probability: float | None
    reuse: Reuse | None
    refresh: int | None
    entropy_bound: float | None
    threshold: float | None
    edit_threshold: float | None
    post_steps: int | None
    remask: float | None
    remask_schedule: RemaskSchedule | None
    corrector_k: int | None


class CanvasOptions(SamplerOptions, total=False):
    """Options of every request."""

    seed: int
    """Random seed; answer i of n uses seed + i."""
    canvas_length: int | Literal["auto"] | None
    """Positions denoised together. "auto" lets the model's length head choose for the first canvas; None is "auto" for
    models with a length head, otherwise the length they were trained with."""
    trace: bool
    """Record every draft."""
    record: bool
    """Record every step of every canvas, for training with rewards."""
    priority: int
    """Requests with higher priority go first, in every step: others wait while those fill it."""
    deadline_ms: int | None
    """Milliseconds after which the answer ends. The canvas in work takes one last step, and its text is kept."""
    min_steps: int | None
    """Lower limit for a canvas's steps when the engine is busy; None never cuts steps."""


class ConstraintOptions(TypedDict, total=False):
    """What the answer must be, or the new text of a gap or a span."""

    schema: Schema | None
    """A JSON Schema as an object or JSON text, or a type that pydantic knows; the text is JSON that satisfies it."""
    order: Order
    """Order of object properties: "any", which also allows additional properties if the schema does, or "schema" for
    the schema's order."""
    regex: str | None
    """A regular expression in Python's syntax that the whole text matches."""
    grammar: str | None
    """A grammar in GBNF, the notation of llama.cpp and xgrammar; the text is one of its rule `root`. Rules are nested
    within themselves as deep as a few thousand states allow."""
    choices: Sequence[str] | None
    """The allowed texts."""
    ban: Sequence[str] | None
    """Strings that must not occur in the text."""
    constraint: TextConstraint | None
    """A custom constraint on the text."""


class GenerateOptions(CanvasOptions, ConstraintOptions, total=False):
    """Options of `TextModel.generate`."""

    budget: Budget | None
    """For samplers that rank positions: number of positions decided per step."""
    max_tokens: int | None
    """Maximum tokens of the answer."""
    raw: bool
    """Continue the prompt as plain text, without the chat template; always so for models that have none."""
    system: str | None
    """System message of the conversation."""
    stop: Sequence[str] | None
    """Strings before which the answer ends; not with schema, regex, grammar, choices or constraint."""
    check_prompt: bool
    """Refuse a message of a kind the model was not trained on, if it lists `kinds`. Does not apply to token ids or raw
    prompts. On by default."""
    seed_text: str | None
    """A draft to start from; the answer has the same number of tokens."""
    pin: Sequence[Span]
    """(start, end) character ranges of the draft that stay, end exclusive."""
    strength: float | None
    """Noise level for the rest of the draft (default 0.5), or for a revisited canvas (default 1);
    1 forgets it."""
    logit_bias: Mapping[int, float] | None
    """Values added to the logits of some token ids; -100 practically forbids a token."""
    top_logprobs: int
    """Number of most probable tokens to keep for each answer token; default 0."""
    revisit: int | None
    """Number of last canvases to reopen once the answer is complete, and denoise with what follows in view."""


class InfillOptions(CanvasOptions, ConstraintOptions, total=False):
    """Options of `TextModel.infill`."""

    budget: Budget | None
    """As for `generate`."""
    prompt: Prompt | None
    """The prompt that the whole text answers; None for a text without a prompt."""
    system: str | None
    """System message before the prompt."""
    length: int | Literal["auto"]
    """Tokens of the gap. Those beside it are chosen again, so its text may come out as two more. "auto", the default,
    lets the model choose: models trained for it get several numbers of slots in one batch and may leave slots empty;
    other models try all lengths near the best two of several. The attempt wins of which the model is most certain and
    after which it best restores the text behind the gap."""
    max_tokens: int
    """Maximum length that "auto" tries; default 32."""
    stop: Sequence[str] | None
    """Strings before which the new text ends, such as a line end; not with schema, regex, grammar, choices or
    constraint."""


class EditOptions(CanvasOptions, ConstraintOptions, total=False):
    """Options of `TextModel.edit`. Constraints need a single span, which is written anew."""

    spans: Sequence[Span] | None
    """(start, end) character ranges, end exclusive; None lets the model read the text once and rewrite the tokens it
    doubts."""
    prompt: Prompt | None
    """The prompt that the whole text answers; not with an instruction."""
    instruction: str | None
    """The instruction, given as a chat message with the lines around the spans. A model that lists `kinds` accepts only
    theirs."""
    system: str | None
    """System message before the prompt or the instruction."""
    strength: float | None
    """Noise level of the spans: 1, the default, forgets the old text; less keeps more of it."""
    budget: int
    """Maximum tokens the model may choose to rewrite, surest first; default 64."""
    judge: bool | None
    """Try several lengths and judge each by its context; None does so for one span or for spans the model chose."""
    min_certainty: float | None
    """Minimum certainty of an edit, in nats; otherwise the text stays, with finish_reason "unsure". Models may have a
    default; with a constraint it is -inf."""
    on_draft: Callable[[str], None] | None
    """Called after each step with the whole text as it reads now; if several lengths are tried, with one of them."""


def given_options(options: Options) -> Options:
    """Those that are not None."""
    return cast(Options, {name: value for name, value in options.items() if value is not None})


def constraint_options(options: GenerateOptions | InfillOptions | EditOptions) -> ConstraintOptions:
    """Those that constrain the text.

    Raises:
        RequestError: if a stop string would cut a text that must match as a whole.
    """
    given, names = given_options(options), ConstraintOptions.__optional_keys__
    found = {name: value for name, value in given.items() if name in names}
    whole = [name for name in found if name not in ("ban", "order")]
    if whole and options.get("stop"):
        raise RequestError(f"stop would cut a text that must match {whole[0]} as a whole; allowed: one of them")
    return cast(ConstraintOptions, found)


def canvas_options(options: InfillOptions | EditOptions, allowed: frozenset[str]) -> CanvasOptions:
    """The options of each request behind a gap or an edit.

    Args:
        allowed: names of the call's options.

    Raises:
        RequestError: if an option belongs to `generate`, or is unknown and no sampler is given whose setting it may be.
    """
    if foreign := sorted((options.keys() & GenerateOptions.__optional_keys__) - allowed):
        raise RequestError(f"{foreign[0]} is given for a gap or an edit; allowed: only with generate")
    for name in sorted(options.keys() - allowed - sampler_setting_names()):
        if options.get("sampler") is None or difflib.get_close_matches(name, allowed, n=1):
            raise RequestError(unknown("option", name, allowed))
    taken = allowed - CanvasOptions.__optional_keys__
    return cast(CanvasOptions, {name: value for name, value in options.items() if name not in taken})
