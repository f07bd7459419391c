"""Options by keyword of `generate`, `stream`, `infill` and `edit`.

Each may be left out; None takes the default of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict, cast

from sfumato.constraints.dfa import TextConstraint
from sfumato.constraints.json_schema import Order
from sfumato.engine.editing import Span
from sfumato.engine.prompts import Prompt
from sfumato.errors import RequestError
from sfumato.sampling.config import Reuse
from sfumato.sampling.samplers.base import Sampler
from sfumato.sampling.samplers.ranking import Budget
from sfumato.sampling.samplers.reverse import RemaskSchedule

Schema = Mapping[str, object] | bool | str | type
"""A JSON Schema, as an object or as JSON; or a pydantic model."""


class SamplerOptions(TypedDict, total=False):
    """How canvases are denoised: fields of `SamplerConfig` and of the built-in samplers, which document them.

    Settings of a sampler from elsewhere are given with it, `sampler=Mine(setting=1)`, or by keyword as well.
    """

    sampler: str | Sampler | None
    """The accept and renoise rule, by name or with its settings."""
    temperature: float | None
    """Both ends of the temperature schedule."""
    steps: int | None
    temperature_start: float | None
    temperature_end: float | None
    top_p: float | None
    top_k: int | None
    greedy_tail: int | None
    commit_sample: bool | None
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
    """What every request has."""

    seed: int
    """Decides all randomness; answer i of n has seed + i."""
    canvas_length: int | Literal["auto"] | None
    """Positions denoised together. "auto" has the model's length head set the first canvas; None is "auto" for a model
    that has one, else the length that it was trained with."""
    trace: bool
    """Record every draft."""
    record: bool
    """Keep every step of every canvas, for training by rewards."""
    priority: int
    """Of requests that wait, the highest goes first."""
    deadline_ms: int | None
    """Milliseconds after which the answer ends with what was committed by then."""
    min_steps: int | None
    """Steps that those of a canvas may be cut to while the engine is busy; None for no fewer than are asked for."""


class GenerateOptions(CanvasOptions, total=False):
    """Options of `TextModel.generate`."""

    budget: Budget | None
    """Of samplers that rank positions: how many of them a step decides."""
    max_tokens: int | None
    """Most tokens of the answer."""
    raw: bool
    """Continue a text as it stands, without the chat template; so it is for a model that has none."""
    system: str | None
    """The system message of the conversation."""
    stop: Sequence[str] | None
    """Texts before the first of which the answer ends; not with schema, regex, choices or constraint."""
    check_prompt: bool
    """Refuse a message of none of the model's `kinds`, where it lists them; not token ids, nor raw. On by default."""
    schema: Schema | None
    """A JSON Schema, as an object, as JSON, or as a pydantic model; the answer is JSON that it accepts."""
    order: Order
    """Of properties: "any", with others besides where the schema allows them, or the "schema"'s."""
    regex: str | None
    """A regular expression, in Python's syntax, that the whole answer matches."""
    choices: Sequence[str] | None
    """Texts of which the answer is one."""
    ban: Sequence[str] | None
    """Texts that do not occur in the answer."""
    constraint: TextConstraint | None
    """What else the answer must be."""
    seed_text: str | None
    """A draft that the answer starts from; it has as many tokens."""
    pin: Sequence[Span]
    """(first character, the one after the last) of parts of the draft that stay."""
    strength: float | None
    """Noise level that the rest of the draft starts from, 0.5 unless given, or a canvas that is revisited, 1 unless
    given: 1 forgets it."""
    logit_bias: Mapping[int, float] | None
    """What is added to the logits of some tokens, by their ids: -100 all but forbids one."""
    top_logprobs: int
    """Of each token of the answer, keep that many of the most probable ones; 0, the default, keeps none."""
    revisit: int | None
    """How many of the last canvases are opened again once the answer is whole, and denoised seeing what follows."""


class InfillOptions(CanvasOptions, total=False):
    """Options of `TextModel.infill`."""

    budget: Budget | None
    """As for `generate`."""
    prompt: Prompt | None
    """What the whole text is the answer to; None takes the text for itself."""
    system: str | None
    """The system message before the prompt."""
    length: int | Literal["auto"]
    """Tokens of the gap. "auto", the default, leaves it to the model: one that was trained for it gets slots of which
    it may leave some empty, several numbers of them in one batch; another one gets all lengths near the best two of
    several. Of what is tried, the answer is taken that the model is most certain of, and from which it finds the text
    after the gap again."""
    max_tokens: int
    """The longest that "auto" tries; 32 by default."""
    stop: Sequence[str] | None
    """Texts before the first of which what is written ends, such as a line end."""


class EditOptions(CanvasOptions, total=False):
    """Options of `TextModel.edit`."""

    spans: Sequence[Span] | None
    """(first character, the one after the last) of each; None leaves it to the model, which reads the text once, and
    chooses the tokens that it would rather have written otherwise."""
    instruction: str | None
    """What to do; the model is asked for it as in a chat, with the lines around the spans that it holds. One that lists
    `kinds` takes their instructions."""
    system: str | None
    """The system message before the instruction."""
    strength: float | None
    """Noise level that the spans start from: 1, the default, forgets what stood there, less keeps more."""
    budget: int
    """Most tokens that the model may choose, 64 by default; of more, those that it is surest of."""
    judge: bool | None
    """Try several lengths, and judge each by what is around it; None: for one span, or those it chose."""
    min_certainty: float | None
    """Of an edit, in nats; else the text stays, with finish_reason "unsure"."""
    on_draft: Callable[[str], None] | None
    """Called after each step with the whole text as it would read; of several lengths that are tried, one is shown."""


def canvas_options(options: InfillOptions | EditOptions, own: frozenset[str]) -> CanvasOptions:
    """The options of each request that a gap or an edit comes to.

    Args:
        options: as they were given.
        own: names that the call takes.

    Raises:
        RequestError: if one is for `generate`.
    """
    if foreign := sorted((options.keys() & GenerateOptions.__optional_keys__) - own):
        raise RequestError(f"{foreign[0]} is not for gaps and edits; allowed: with generate")
    taken = own - CanvasOptions.__optional_keys__
    return cast(CanvasOptions, {name: value for name, value in options.items() if name not in taken})
