"""TextModel: what `sfumato.load` gives. Text in, text out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal, Unpack, overload

import torch

from sfumato.checkpoints.load import Checkpoint
from sfumato.data.kinds import check_kind, read_kinds
from sfumato.diffusion.process import make_process
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine
from sfumato.engine.languages import Languages
from sfumato.engine.options import EditOptions, GenerateOptions, InfillOptions, SamplerOptions
from sfumato.engine.prompts import Prompt, encode_prompt, start_from
from sfumato.engine.request import Event, Finished, Request, Result, Start
from sfumato.engine.rewriting import edit_text, infill_text
from sfumato.engine.stop_strings import check_stop
from sfumato.errors import CheckpointError, ConfigError, RequestError, as_list
from sfumato.models.model import Model
from sfumato.sampling import SamplerConfig, StopHead
from sfumato.sampling.config import check_settings, setting_names
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

MAX_TOKENS = 128
# Options that are no settings of a sampler; what is in no list may be one of a sampler from elsewhere.
_NO_SETTINGS = {"sampler", "steps", "temperature"} | GenerateOptions.__optional_keys__ - (
    SamplerOptions.__optional_keys__ | {"budget"}
)


def _check_number_of_answers(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 256:
        raise RequestError(f"n is {n!r}; allowed: 1 to 256")


class TextModel:
    """A checkpoint with its tokenizer.

    Args:
        name: for results.
        checkpoint: weights, spec and sampling defaults.
        tokenizer: its tokenizer.
        stop_head: a learned stop rule.

    Raises:
        CheckpointError: if the tokenizer has more tokens than the model, the sampling defaults are wrong, or the spec
            asks for what this program does not compute.
    """

    def __init__(
        self, name: str, checkpoint: Checkpoint, tokenizer: Tokenizer, *, stop_head: StopHead | None = None
    ) -> None:
        config = checkpoint.model.config
        if tokenizer.vocab_size > config.vocab_size:
            raise CheckpointError(
                f"the tokenizer of {name} has {tokenizer.vocab_size} tokens, the model {config.vocab_size}"
            )
        self.name = name
        self.tokenizer = tokenizer
        self.generation: dict[str, object] = dict(checkpoint.generation)
        """What generation_config.json holds."""
        self.tasks: list[str] = list(checkpoint.generation.get("tasks", ()))
        """What it was made for, where it says so."""
        self.max_tokens: int = checkpoint.generation.get("max_tokens", MAX_TOKENS)
        """Of an answer, unless the request says otherwise."""
        try:
            process = make_process(checkpoint.spec.noise, config.vocab_size, checkpoint.spec.mask_id)
        except ConfigError as error:
            raise CheckpointError(f"config.json of {name}: {error}") from None
        try:
            known = setting_names()
            settings = {key: value for key, value in self.generation.items() if key in known}
            self.sampler_defaults = SamplerConfig.of(settings)
            self.sampler_defaults.check(process)
            # The checks of a request are those of its defaults.
            Request(prompt=(0,), max_tokens=self.max_tokens)
            self.kinds = read_kinds(self.generation)
            """Of prompts that it was trained on; where it lists none, it takes any."""
        except (RequestError, ConfigError) as error:
            raise CheckpointError(f"generation_config.json of {name}: {error}") from None
        # Made on the CPU: on the meta device, where models have no weights, it would import torch's compiler.
        banned_V = torch.arange(config.vocab_size) >= tokenizer.vocab_size
        banned_V[[id_ for id_ in tokenizer.special_ids if id_ not in tokenizer.eos_ids]] = True
        self.bundle = ModelBundle(
            name=name,
            model=checkpoint.model,
            spec=checkpoint.spec,
            process=process,
            tokenizer=tokenizer,
            banned=banned_V.to(checkpoint.model.device),
            stop_head=stop_head,
        )

    def __repr__(self) -> str:
        num, weights = sum(parameter.numel() for parameter in self.decoder.parameters()), self.decoder.embedding_VD
        kind = "autoregressive" if self.spec.autoregressive else f"{self.spec.noise} noise"
        return f"TextModel({self.name!r}, {num / 1e6:.1f}M parameters, {kind}, {weights.dtype} on {weights.device})"

    def __getstate__(self) -> dict[str, object]:
        # A copy answers with an engine of its own.
        return {name: value for name, value in vars(self).items() if name != "engine"}

    @cached_property
    def languages(self) -> Languages:
        """What answers can be asked to be."""
        return Languages(self.tokenizer, self.decoder.config.vocab_size)

    @cached_property
    def engine(self) -> Engine:
        """What answers: one engine for all calls, whose cache remembers how earlier texts began."""
        return Engine(self.bundle)

    @property
    def decoder(self) -> Model:
        """The weights."""
        return self.bundle.model

    @property
    def spec(self) -> GenerationSpec:
        """How it generates."""
        return self.bundle.spec

    @property
    def context_length(self) -> int:
        """Positions of prompt and answer together."""
        return self.decoder.config.max_position_embeddings

    @overload
    def generate(self, prompt: Prompt, *, n: Literal[1] = 1, **options: Unpack[GenerateOptions]) -> Result: ...
    @overload
    def generate(self, prompt: Prompt, *, n: int, **options: Unpack[GenerateOptions]) -> Result | list[Result]: ...
    def generate(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Result | list[Result]:
        """Answer a prompt.

        Args:
            prompt: a user's message, a conversation of {"role", "content"} dicts, or token ids, which are taken as they
                are.
            n: number of answers over one prefilled prompt.
            **options: see `GenerateOptions`.

        Returns:
            The answer, or a list of them for n > 1.

        Raises:
            RequestError: if an option is not allowed.
            CapacityError: if the model cannot hold prompt and answer.
        """
        results = self.results([self.request(prompt, n=n, **options)])[0]
        return results if n > 1 else results[0]

    def stream(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Iterator[Event]:
        """Answer a prompt as `generate` does, step by step.

        Yields:
            `CanvasChanged` (its step 0 is the noise), `Committed`, `Reopened` if that is asked for, and one `Finished`
            for each answer.
        """
        request = self.request(prompt, n=n, **options)
        return (event for _, event in self.engine.run([request], drafts=True))

    def generate_batch(
        self,
        prompts: Sequence[Prompt],
        *,
        seeds: Sequence[int] | None = None,
        on_progress: Callable[[int], None] | None = None,
        n: Literal[1] = 1,
        **options: Unpack[GenerateOptions],
    ) -> list[Result]:
        """Answer several prompts together; each as if it were alone.

        Args:
            prompts: messages, conversations or token ids.
            seeds: one per prompt; None uses the option's seed for all.
            on_progress: called with the number of answers that are finished.
            n: answers to each.
            **options: see `GenerateOptions`.

        Raises:
            RequestError, CapacityError: as for `generate`, or if there is not one seed for each prompt.
        """
        if n != 1:
            raise RequestError(f"n is {n}; allowed in a batch: 1, name a prompt several times instead")
        prompts = as_list("prompts", prompts, "prompt")
        seeds = None if seeds is None else as_list("seeds", seeds, "seed")
        if seeds is not None and len(seeds) != len(prompts):
            raise RequestError(f"seeds has {len(seeds)} entries; allowed: one for each of {len(prompts)} prompts")
        requests = [self.request(prompt, **options) for prompt in prompts]
        if seeds is not None:
            pairs = zip(requests, seeds, strict=True)
            requests = [dataclasses.replace(request, seed=seed) for request, seed in pairs]
        return [results[0] for results in self.results(requests, on_progress)]

    @overload
    def infill(
        self, prefix: str, suffix: str = "", *, n: Literal[1] = 1, **options: Unpack[InfillOptions]
    ) -> Result: ...
    @overload
    def infill(
        self, prefix: str, suffix: str = "", *, n: int, **options: Unpack[InfillOptions]
    ) -> Result | list[Result]: ...
    def infill(
        self, prefix: str, suffix: str = "", *, n: int = 1, **options: Unpack[InfillOptions]
    ) -> Result | list[Result]:
        """Write what stands between two texts, which stay as they are.

        Args:
            prefix: the text before the gap.
            suffix: the text after it; the end of the text is after that.
            n: number of answers, each with a seed of its own.
            **options: see `InfillOptions`.

        Returns:
            The answer; for n > 1 a list of those whose texts differ, the most certain first. `text` is what stands in
            the gap, `usage` holds all that was tried for it. Words that the seams cut in two are put together as the
            tokenizer ever does: the tokens next to the gap are chosen anew, and spell what they spelled.

        Raises:
            RequestError: if an option is not allowed, or the model reads only what is before a position.
            CapacityError: if the model cannot hold the gap and what it needs to see.
        """
        self._check_sees_suffix("infill")
        _check_number_of_answers(n)
        ranked = infill_text(self, prefix, suffix, n, options)
        return ranked if n > 1 else ranked[0]

    @overload
    def edit(self, text: str, *, n: Literal[1] = 1, **options: Unpack[EditOptions]) -> Result: ...
    @overload
    def edit(self, text: str, *, n: int, **options: Unpack[EditOptions]) -> Result | list[Result]: ...
    def edit(self, text: str, *, n: int = 1, **options: Unpack[EditOptions]) -> Result | list[Result]:
        """Write spans of a text anew; every byte outside them stays.

        Args:
            text: any text.
            n: number of answers, each with a seed of its own.
            **options: see `EditOptions`.

        Returns:
            The answer; for n > 1 a list of those whose texts differ, the most certain first. `text` is the whole text,
            as it was where the model is to choose and doubts nothing, or is not sure enough; lines that are written end
            and indent as its others do. A short span that is judged comes back with up to three tokens more or less, or
            any number up to ten more where the model was trained to leave slots empty; another one with up to a few
            more.

        Raises:
            RequestError: if spans are not ones of this text, it is too long for the model and they do not say where to
                read, an option or instruction is not allowed, or the model reads only what is before a position.
            CapacityError: if the model cannot hold a span and what it needs to see.
        """
        self._check_sees_suffix("edit")
        _check_number_of_answers(n)
        ranked = edit_text(self, text, n, options)
        return ranked if n > 1 else ranked[0]

    def _check_sees_suffix(self, what: str) -> None:
        if self.spec.autoregressive:
            raise RequestError(f"{self.name} is autoregressive and sees nothing after a position; it cannot {what}")

    def context(self, prompt: Prompt | None, system: str | None = None) -> tuple[int, ...]:
        """What stands before a text that is filled in."""
        if prompt is not None:
            return encode_prompt(self.tokenizer, prompt, system=system)
        if system is not None:
            raise RequestError("system is for a chat; allowed: with a prompt or an instruction")
        return tuple(self.tokenizer.encode_raw("")) or (self.tokenizer.eos_ids[0],)

    def length_shares(self, prompt: Prompt) -> dict[int | None, float]:
        """How probable it is that an answer has up to so many tokens and more than the next lower number; None is more
        than all.

        Raises:
            RequestError: if the model has no length head, or the prompt no token for it to read.
        """
        if self.bundle.no_lengths:
            raise RequestError(f"{self.name} {self.bundle.no_lengths}")
        state_D = self.bundle.last_state(encode_prompt(self.tokenizer, prompt))
        with torch.inference_mode():
            shares = self.decoder.length_logits(state_D[None]).softmax(-1)[0].tolist()
        return dict(zip((*self.decoder.length_buckets, None), shares, strict=True))

    def request(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Request:
        """Check what `generate` is asked, once, and put it into the engine's terms.

        Raises:
            RequestError: naming what is not allowed.
            CapacityError: if the model cannot hold prompt and answer.
        """
        config = self._sampler_config(options)
        length, auto_length = self._canvas_length(options.get("canvas_length"))
        tokens = encode_prompt(self.tokenizer, prompt, raw=options.get("raw", False), system=options.get("system"))
        if options.get("check_prompt", True) and not options.get("raw"):
            check_kind(prompt, self.kinds, self.name)
        seed_text, strength = options.get("seed_text"), options.get("strength")
        if seed_text is not None:
            self._check_sees_suffix("start from a draft")
        revisit = options.get("revisit") or 0
        start, pinned = start_from(self.tokenizer, seed_text, options.get("pin", ()), strength, revisit)
        stop = check_stop(options.get("stop"))
        whole = ("schema", "regex", "choices", "constraint")
        if stop and (asked := [name for name in whole if options.get(name) is not None]):
            raise RequestError(f"stop would cut an answer that {asked[0]} says as a whole; allowed: one of them")
        request = Request(
            prompt=tokens,
            sampler=config,
            max_tokens=self._max_tokens(options.get("max_tokens"), tokens, start),
            canvas_length=length,
            auto_length=auto_length,
            seed=options.get("seed", 0),
            n=n,
            trace=options.get("trace", False),
            record=options.get("record", False),
            priority=options.get("priority", 0),
            deadline_ms=options.get("deadline_ms"),
            min_steps=options.get("min_steps"),
            start=start,
            stop=stop,
            automaton=self.languages.asked(options, pin=pinned),
            logit_bias=tuple((options.get("logit_bias") or {}).items()),
            top_logprobs=options.get("top_logprobs", 0),
            revisit=revisit,
            revisit_level=1.0 if strength is None else strength,
        )
        self.bundle.check(request)
        return request

    def _sampler_config(self, options: GenerateOptions) -> SamplerConfig:
        """The model's defaults, with what was asked for."""
        sampler, steps, temperature = options.get("sampler"), options.get("steps"), options.get("temperature")
        config = self.sampler_defaults
        if isinstance(sampler, str):
            config = SamplerConfig.of({"name": sampler}, config)
        elif sampler is not None:
            config = dataclasses.replace(config, sampler=sampler)
        settings = {name: value for name, value in options.items() if name not in _NO_SETTINGS}
        check_settings(settings, type(config.sampler))
        config = SamplerConfig.of({name: value for name, value in settings.items() if value is not None}, config)
        if steps is not None:
            config = dataclasses.replace(config, steps=steps)
        if temperature is not None:
            config = dataclasses.replace(config, temperature_start=temperature, temperature_end=temperature)
        return config

    def _canvas_length(self, asked: int | Literal["auto"] | None) -> tuple[int, bool]:
        """Positions of a canvas, and whether the length head sets those of the first."""
        num_positions = self.decoder.config.max_position_embeddings
        no_lengths = self.bundle.no_lengths
        if asked == "auto" and no_lengths:
            raise RequestError(f"canvas_length is 'auto' and {self.name} {no_lengths}; allowed: a whole number")
        length = self.spec.canvas_length if asked is None or asked == "auto" else asked
        if self.spec.autoregressive and length != 1:
            raise RequestError(f"canvas_length is {length}; allowed: 1, this model is autoregressive")
        if self.bundle.layout.fixed_canvas and length != self.spec.canvas_length:
            raise RequestError(
                f"canvas_length is {length}; allowed: {self.spec.canvas_length}, the block that "
                "this model reads at once"
            )
        if isinstance(length, int) and length > num_positions:
            raise RequestError(f"canvas_length is {length}; allowed: 1 to {num_positions}, the positions of this model")
        return length, asked in ("auto", None) and not no_lengths

    def _max_tokens(self, asked: int | None, prompt: Sequence[int], start: Start | None) -> int:
        if start is not None:
            if asked not in (None, len(start.tokens)):
                raise RequestError(
                    f"max_tokens is {asked}; allowed with this seed_text: {len(start.tokens)}, its tokens"
                )
            return len(start.tokens)
        if asked is not None:
            return asked
        # The default gives way to a long prompt; a stated number does not.
        return max(1, min(self.max_tokens, self.decoder.config.max_position_embeddings - len(prompt)))

    def results(
        self,
        requests: Sequence[Request],
        on_progress: Callable[[int], None] | None = None,
        on_event: Callable[[int, Event], None] | None = None,
    ) -> list[list[Result]]:
        """Answer requests together: of each, its answers.

        Args:
            requests: any number.
            on_progress: called with the number of answers that are finished.
            on_event: called with the index of a request and an event of it; drafts are told of as well.

        Raises:
            CapacityError: see `Engine.submit`.
        """
        found: list[dict[int, Result]] = [{} for _ in requests]
        for index, event in self.engine.run(requests, drafts=on_event is not None):
            if on_event is not None:
                on_event(index, event)
            if isinstance(event, Finished):
                found[index][event.variation] = event.result
                if on_progress:
                    on_progress(sum(map(len, found)))
        return [[results[i] for i in sorted(results)] for results in found]
