"""TextModel: the object that `sfumato.load` returns. Text in, text out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, Unpack, overload

import torch

from sfumato.checkpoints.load import Checkpoint
from sfumato.config import check_number
from sfumato.data.kinds import check_kind, read_kinds
from sfumato.diffusion.process import make_process
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.engine import Engine
from sfumato.engine.languages import Languages
from sfumato.engine.options import (
    EditOptions,
    GenerateOptions,
    InfillOptions,
    SamplerOptions,
    constraint_options,
    given_options,
)
from sfumato.engine.prompts import Prompt, check_length, encode_prompt, start_from
from sfumato.engine.request import MAX_POSITIONS, Event, Finished, Request, Result, Start, results_of
from sfumato.engine.rewriting import edit_text, infill_text
from sfumato.engine.stop_strings import check_stop
from sfumato.errors import CapacityError, CheckpointError, ConfigError, RequestError, as_list
from sfumato.models.model import Model
from sfumato.models.quantization.weights import quantized_weights
from sfumato.sampling.config import (
    MAX_STEPS,
    MAX_TEMPERATURE,
    SamplerConfig,
    check_settings,
    setting_names,
    usable_samplers,
)
from sfumato.sampling.logits import StopHead
from sfumato.sampling.samplers.base import registered_sampler
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

MAX_TOKENS = 128
# Characters of a prompt per position of the model: far more than tokens have, and few enough to tokenize at once.
_MAX_CHARACTERS = 200
# Options that are not sampler settings; anything else may be a setting of a custom sampler.
_NO_SETTINGS = frozenset({"sampler", "steps", "temperature"}) | GenerateOptions.__optional_keys__ - (
    SamplerOptions.__optional_keys__ | {"budget"}
)


class TextModel:
    """A checkpoint with its tokenizer.

    Args:
        name: shown in results.

    Raises:
        CheckpointError: if the tokenizer has more tokens than the model, the sampling defaults are wrong, or the spec
            is not supported.
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
        """Contents of generation_config.json."""
        self.max_tokens: int = checkpoint.generation.get("max_tokens", MAX_TOKENS)
        """Default maximum tokens of an answer."""
        try:
            process = make_process(checkpoint.spec.noise, config.vocab_size, checkpoint.spec.mask_id)
        except ConfigError as error:
            raise CheckpointError(f"config.json of {name}: {error}") from None
        try:
            known = setting_names()
            settings = {key: value for key, value in self.generation.items() if key in known}
            registered_sampler(str(settings.get("name", "entropy")))
            self.sampler_defaults = SamplerConfig.of(settings)
            self.sampler_defaults.check(process)
            check_number("max_tokens", self.max_tokens, 1, MAX_POSITIONS, whole=True)
            self.tasks: list[str] = checkpoint.generation.get("tasks", [])
            """Tasks the model was made for, if listed."""
            if not isinstance(self.tasks, list):
                raise RequestError(f"tasks is {self.tasks!r}; allowed: a list of texts")
            self.kinds = read_kinds(self.generation)
            """Kinds of prompts it was trained on; empty if it takes any prompt."""
        except (RequestError, ConfigError) as error:
            raise CheckpointError(f"generation_config.json of {name}: {error}") from None
        # Built on the CPU: on the meta device, used for models without weights, it would import torch's compiler.
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
        num, weights = self.decoder.num_parameters, self.decoder.embedding_VD
        kind = "autoregressive" if self.spec.autoregressive else f"{self.spec.noise} noise"
        bits = next((f"{each.bits}-bit layers, " for each in quantized_weights(self.decoder)), "")
        stored = f"{bits}{weights.dtype} on {weights.device}"
        return f"TextModel({self.name!r}, {num / 1e6:.1f}M parameters, {kind}, {stored})"

    def __getstate__(self) -> dict[str, object]:
        # A copy gets its own engine.
        return {name: value for name, value in vars(self).items() if name != "engine"}

    @cached_property
    def languages(self) -> Languages:
        """Builds output constraints."""
        return Languages(self.tokenizer, self.decoder.config.vocab_size)

    @cached_property
    def engine(self) -> Engine:
        """One engine for all calls, whose cache keeps earlier prefixes."""
        return Engine(self.bundle)

    @property
    def decoder(self) -> Model:
        """The weights."""
        return self.bundle.model

    @property
    def spec(self) -> GenerationSpec:
        """How the model generates."""
        return self.bundle.spec

    @property
    def context_length(self) -> int:
        """Maximum positions of prompt and answer together."""
        return self.decoder.config.max_position_embeddings

    @overload
    def generate(self, prompt: Prompt, *, n: Literal[1] = 1, **options: Unpack[GenerateOptions]) -> Result: ...
    @overload
    def generate(self, prompt: Prompt, *, n: int, **options: Unpack[GenerateOptions]) -> Result | list[Result]: ...
    def generate(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Result | list[Result]:
        """Answer a prompt.

        Args:
            prompt: a user message, a conversation of {"role", "content"} dicts, or token ids, used unchanged.
            n: number of answers over one prefilled prompt.
            **options: see `GenerateOptions`.

        Returns:
            The result, or a list of results for n > 1.

        Raises:
            RequestError: if an option is not allowed.
            CapacityError: if prompt and answer do not fit the model.
        """
        results = self.results([self.request(prompt, n=n, **options)])[0]
        return results if n > 1 else results[0]

    def stream(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Iterator[Event]:
        """Answer a prompt like `generate`, yielding events step by step.

        Yields:
            `CanvasChanged` (step 0 is the noise), `Committed`, `Reopened` with `revisit`, and one `Finished` per
            answer.
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
        """Answer several prompts together, each as if it were alone.

        Args:
            prompts: messages, conversations or token ids.
            seeds: one per prompt; None uses the option's seed for all.
            on_progress: called with the number of finished answers.
            n: answers per prompt; must be 1.
            **options: see `GenerateOptions`.

        Raises:
            RequestError, CapacityError: as for `generate`, or if the number of seeds is wrong.
        """
        if n != 1:
            raise RequestError(f"n is {n}; allowed in a batch: 1, repeat a prompt instead")
        prompts = as_list("prompts", prompts, "prompt")
        seeds = None if seeds is None else as_list("seeds", seeds, "seed")
        if seeds is not None and len(seeds) != len(prompts):
            raise RequestError(f"seeds has {len(seeds)} entries; allowed: one for each of {len(prompts)} prompts")
        requests = []
        for index, prompt in enumerate(prompts):
            try:
                requests.append(self.request(prompt, **options))
            except (RequestError, CapacityError) as error:
                raise type(error)(f"prompts[{index}]: {error}") from None
        if seeds is not None:
            pairs = zip(requests, seeds, strict=True)
            requests = [dataclasses.replace(request, seed=int(seed)) for request, seed in pairs]
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
        """Fill the gap between two texts, which stay unchanged.

        Args:
            prefix: the text before the gap.
            suffix: the text after it, which ends the whole text.
            n: number of answers, each with its own seed.
            **options: see `InfillOptions`.

        Returns:
            The result; for n > 1 a list of different ones, the most certain first. `text` is the text of the gap, and
            `usage` counts all attempts. The tokens next to the gap are chosen again, with the same text, so words that
            the gap cuts are tokenized normally.

        Raises:
            RequestError: if an option is not allowed, or the model is autoregressive.
            CapacityError: if the gap and its context do not fit the model.
        """
        self._check_sees_suffix("infill")
        ranked = infill_text(self, prefix, suffix, n, given_options(options))
        return ranked if n > 1 else ranked[0]

    @overload
    def edit(self, text: str, *, n: Literal[1] = 1, **options: Unpack[EditOptions]) -> Result: ...
    @overload
    def edit(self, text: str, *, n: int, **options: Unpack[EditOptions]) -> Result | list[Result]: ...
    def edit(self, text: str, *, n: int = 1, **options: Unpack[EditOptions]) -> Result | list[Result]:
        """Rewrite spans of a text; every byte outside them stays the same.

        Args:
            n: number of answers, each with its own seed.
            **options: see `EditOptions`.

        Returns:
            The result; for n > 1 a list of different ones, the most certain first. `text` is the whole text, unchanged
            if the model doubts nothing or is not sure enough. New lines follow the text's indentation and line ends. A
            short span that is judged may come back up to three tokens shorter or longer, or up to ten longer if the
            model was trained to leave slots empty; other spans may come back a few tokens longer.

        Raises:
            RequestError: if spans are invalid, the text is too long and no spans say where to read, an option or
                instruction is not allowed, or the model is autoregressive.
            CapacityError: if a span and its context do not fit the model.
        """
        self._check_sees_suffix("edit")
        ranked = edit_text(self, text, n, given_options(options))
        return ranked if n > 1 else ranked[0]

    def _check_sees_suffix(self, what: str) -> None:
        if self.spec.autoregressive:
            raise RequestError(
                f"{self.name} is autoregressive and cannot see what follows a position; it cannot {what}"
            )

    def context(self, prompt: Prompt | None, system: str | None = None) -> tuple[int, ...]:
        """The tokens before a text with gaps."""
        if prompt is not None:
            return encode_prompt(self.tokenizer, prompt, system=system)
        if system is not None:
            raise RequestError("system is given; allowed: only with a prompt or an instruction")
        return tuple(self.tokenizer.encode_raw("")) or (self.tokenizer.eos_ids[0],)

    def length_shares(self, prompt: Prompt) -> dict[int | None, float]:
        """The probability of each length bucket of the answer, by its upper end; None is longer than all.

        Raises:
            RequestError: if the model has no length head, or the prompt no token to read.
        """
        if self.bundle.no_lengths:
            raise RequestError(f"{self.name} {self.bundle.no_lengths}")
        state_D = self.bundle.last_state(encode_prompt(self.tokenizer, prompt))
        with torch.inference_mode():
            shares = self.decoder.length_logits(state_D[None]).softmax(-1)[0].tolist()
        return dict(zip((*self.decoder.length_buckets, None), shares, strict=True))

    @property
    def samplers(self) -> list[str]:
        """Names of the samplers that this model's noise supports."""
        return usable_samplers(self.bundle.process)

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest value of numeric options. Prompt and answer together also have to fit the model."""
        fixed = self.spec.autoregressive or self.bundle.layout.fixed_canvas
        length = self.spec.canvas_length
        return {
            "steps": (1, MAX_STEPS),
            "temperature": (0, MAX_TEMPERATURE),
            "canvas_length": (length, length) if fixed else (1, self.context_length),
            "max_tokens": (1, self.context_length),
        }

    def request(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Request:
        """Validate the arguments of `generate` and turn them into an engine request.

        Raises:
            RequestError: naming what is not allowed.
            CapacityError: if prompt and answer do not fit the model.
        """
        config = self._sampler_config(options)
        options = given_options(options)
        for name in ("raw", "check_prompt", "trace", "record"):
            if not isinstance(given := options.get(name, False), bool):
                raise RequestError(f"{name} is {given!r}; allowed: True or False")
        length, auto_length = self._canvas_length(options.get("canvas_length"))
        check_length(prompt, _MAX_CHARACTERS * self.context_length)
        tokens = encode_prompt(self.tokenizer, prompt, raw=options.get("raw", False), system=options.get("system"))
        if options.get("check_prompt", True) and not options.get("raw"):
            check_kind(prompt, self.kinds, self.name)
        seed_text, strength = options.get("seed_text"), options.get("strength")
        if seed_text is not None:
            self._check_sees_suffix("start from a draft")
        revisit, logit_bias = options.get("revisit") or 0, options.get("logit_bias") or {}
        if not isinstance(logit_bias, Mapping):
            raise RequestError(f"logit_bias is {logit_bias!r}; allowed: values by token id")
        start, pinned = start_from(self.tokenizer, seed_text, options.get("pin", ()), strength, revisit)
        stop, constraints = check_stop(options.get("stop")), constraint_options(options)
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
            automaton=self.languages.asked(constraints, pin=pinned),
            logit_bias=tuple(logit_bias.items()),
            top_logprobs=options.get("top_logprobs", 0),
            revisit=revisit,
            revisit_level=1.0 if strength is None else strength,
        )
        if options.get("draft_steps") and not request.verifies:
            given = "revisit" if revisit else "seed_text"
            raise RequestError(f"draft_steps is {config.draft_steps} with {given}; allowed: one of them")
        self.bundle.check(request)
        return request

    def _sampler_config(self, options: GenerateOptions) -> SamplerConfig:
        """The model's defaults, updated with the options."""
        sampler, steps, temperature = options.get("sampler"), options.get("steps"), options.get("temperature")
        config = self.sampler_defaults
        if isinstance(sampler, str):
            config = SamplerConfig.of({"name": sampler}, config)
        elif sampler is not None:
            config = dataclasses.replace(config, sampler=sampler)
        settings = {name: value for name, value in options.items() if name not in _NO_SETTINGS}
        check_settings(settings, type(config.sampler), options=_NO_SETTINGS)
        config = SamplerConfig.of(given_options(settings), config)
        if steps is not None:
            config = dataclasses.replace(config, steps=steps)
        if temperature is not None:
            check_number("temperature", temperature, 0, MAX_TEMPERATURE)
            for name in ("temperature_start", "temperature_end"):
                if settings.get(name) is not None:
                    raise RequestError(
                        f"{name} is {settings[name]} with a temperature of {temperature}; allowed: one of them"
                    )
            config = dataclasses.replace(config, temperature_start=temperature, temperature_end=temperature)
        return config

    def _canvas_length(self, asked: int | Literal["auto"] | None) -> tuple[int, bool]:
        """The canvas length, and whether the length head sets the first canvas's."""
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
        if isinstance(length, int) and length > self.context_length:
            raise RequestError(
                f"canvas_length is {length}; allowed: 1 to {self.context_length}, the positions of this model"
            )
        return length, asked in ("auto", None) and not no_lengths

    def _max_tokens(self, asked: int | None, prompt: Sequence[int], start: Start | None) -> int:
        if start is not None:
            if asked is not None and asked < len(start.tokens):
                raise RequestError(
                    f"max_tokens is {asked}; allowed with this draft: {len(start.tokens)}, its tokens, or more"
                )
            return len(start.tokens)
        if asked is not None:
            return asked
        # The default gives way to a long prompt; an explicit number does not.
        return max(1, min(self.max_tokens, self.context_length - len(prompt)))

    def results(
        self,
        requests: Sequence[Request],
        on_progress: Callable[[int], None] | None = None,
        on_event: Callable[[int, Event], None] | None = None,
    ) -> list[list[Result]]:
        """Answer requests together and return the results of each.

        Args:
            on_progress: called with the number of finished answers.
            on_event: called with the index of a request and its event, including drafts.

        Raises:
            CapacityError: see `Engine.submit`.
        """
        finished: list[list[Event]] = [[] for _ in requests]
        for index, event in self.engine.run(requests, drafts=on_event is not None):
            if on_event is not None:
                on_event(index, event)
            if isinstance(event, Finished):
                finished[index].append(event)
                if on_progress:
                    on_progress(sum(map(len, finished)))
        return [results_of(events) for events in finished]
