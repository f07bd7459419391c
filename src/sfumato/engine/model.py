"""TextModel: what `sfumato.load` gives. Text in, text out."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import torch

from sfumato.data.tokenizer import Tokenizer, check_characters
from sfumato.diffusion.process import make_process
from sfumato.engine import editing
from sfumato.engine.engine import Engine
from sfumato.engine.generator import Generator
from sfumato.engine.languages import Languages
from sfumato.engine.request import Event, Finished, Request, Result, Start
from sfumato.engine.rewriting import Rewriting
from sfumato.engine.threads import choose_threads
from sfumato.errors import CheckpointError, ConfigError, RequestError, unknown
from sfumato.gguf_file import opened
from sfumato.hardware import find_device
from sfumato.models.checkpoint import Checkpoint, build, load_checkpoint
from sfumato.models.model import Model
from sfumato.models.places import ASSETS, find
from sfumato.models.quantized import QUANTIZATIONS, Quantization
from sfumato.sampling import SamplerConfig, StopHead
from sfumato.sampling.stopping import LearnedStop
from sfumato.spec import GenerationSpec

Prompt = str | Sequence[Mapping[str, Any]] | Sequence[int]
"""A user's message, a conversation, or token ids."""

MAX_TOKENS = 128
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_SAMPLER_FIELDS = {field.name for field in dataclasses.fields(SamplerConfig)}


def load(
    name: str | Path,
    *,
    dtype: str | torch.dtype = "float32",
    quantize: str | None = None,
    device: str = "cpu",
    threads: int | Literal["auto"] | None = None,
) -> TextModel:
    """Load a model.

    Args:
        name: an embedded model's name, such as "tiny", or that of a checkpoint that comes in a package, such as
            "smollm2-135m-instruct"; a checkpoint directory; a GGUF file; or a hub id, such as "org/model", which is
            taken from the local cache where it is complete or the network is off.
        dtype: "float32", "bfloat16" or "float16": of the weights and of what is computed with them.
        quantize: "int8" or "int4" holds the weights of linears and experts in few bits; "w8a8" multiplies integers as
            well, and is the fast way on a CPU; "fp8" holds and multiplies floats of 8 bits, the fast way on a GPU.
        device: "cpu", "cuda", or "auto", an accelerator if there is one.
        threads: of the CPU, for all of this process: a number, or "auto", the fastest as measured on the model; None
            leaves it to torch, which takes all cores of the machine.

    Raises:
        CheckpointError: if there is no such model, or its files are not what they should be.
        ConfigError: if there is no such dtype, quantization or number of threads, or the device is not there.
    """
    if threads not in (None, "auto") and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ConfigError(f"threads is {threads!r}; allowed: a whole number, 1 or more, or 'auto'")
    device = find_device(device)
    of_weights = str(dtype).removeprefix("torch.")
    if of_weights not in DTYPES:
        raise ConfigError(unknown("dtype", of_weights, DTYPES))
    if quantize is not None and quantize not in QUANTIZATIONS:
        raise ConfigError(unknown("quantization", quantize, QUANTIZATIONS))
    quantization = None if quantize is None else QUANTIZATIONS[quantize]
    place = find(name)
    checkpoint, tokenizer = load_parts(place, dtype=DTYPES[of_weights], quantization=quantization, device=device)
    if isinstance(threads, int):
        torch.set_num_threads(threads)
    elif threads == "auto" and device == "cpu":
        choose_threads(checkpoint.model)
    stop_head = LearnedStop.read(place) if place.is_dir() else None
    return TextModel(str(name), checkpoint, tokenizer, stop_head=None if stop_head is None else stop_head.to(device))


def load_parts(
    path: Path,
    *,
    dtype: torch.dtype = torch.float32,
    quantization: Quantization | None = None,
    device: str = "cpu",
) -> tuple[Checkpoint, Tokenizer]:
    """The checkpoint and the tokenizer of a directory or GGUF file.

    Raises:
        CheckpointError: if a file is not what it should be.
    """
    place = opened(path)
    # What cannot be run is refused before anything large is read.
    build(place)
    tokenizer = Tokenizer.of(place)
    if quantization is not None and quantization.arithmetic == "int8":
        quantization = dataclasses.replace(quantization, sample=_sample(tokenizer))
    return load_checkpoint(place, dtype=dtype, quantization=quantization, device=device), tokenizer


def _sample(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Tokens of a text of our own, on which inputs are seen; its questions go through the chat template, if any."""
    tokens: list[int] = []
    for part in (ASSETS / "sample.txt").read_text(encoding="utf-8").split("\n\n"):
        turns = re.fullmatch("User: (.*?)\nAssistant: (.*)", part, re.DOTALL)
        own = None
        if turns and tokenizer.has_chat_template:
            messages = [{"role": "user", "content": turns[1]}, {"role": "assistant", "content": turns[2]}]
            # A template that takes no such conversation is none of this one's business.
            with contextlib.suppress(RequestError, CheckpointError):
                own = tokenizer.encode_chat(messages, add_generation_prompt=False)
        tokens += tokenizer.encode(part + "\n\n") if own is None else own
    return tuple(tokens)


def check_settings(settings: Iterable[str]) -> None:
    """Refuse what is no setting of the sampler.

    Raises:
        RequestError: naming it, and the nearest one that is.
    """
    allowed = _SAMPLER_FIELDS - {"name"}
    for key in settings:
        if key not in allowed:
            raise RequestError(unknown("setting", key, allowed))


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
        self.languages = Languages(tokenizer, config.vocab_size)
        """What answers can be asked to be."""
        self.generation: dict[str, Any] = dict(checkpoint.generation)
        """What generation_config.json holds."""
        try:
            process = make_process(checkpoint.spec.noise, config.vocab_size, checkpoint.spec.mask_id)
        except ConfigError as error:
            raise CheckpointError(f"config.json of {name}: {error}") from None
        settings = {key: value for key, value in self.generation.items() if key in _SAMPLER_FIELDS}
        max_tokens = self.generation.get("max_tokens", MAX_TOKENS)
        try:
            self.sampler_defaults = SamplerConfig(**settings)
            self.sampler_defaults.check(process)
            # The checks of a request are those of its defaults.
            Request(prompt=(0,), max_tokens=max_tokens)
        except RequestError as error:
            raise CheckpointError(f"generation_config.json of {name}: {error}") from None
        self.generator = Generator(
            name=name,
            model=checkpoint.model,
            spec=checkpoint.spec,
            process=process,
            tokenizer=tokenizer,
            banned=self._banned(config.vocab_size).to(checkpoint.model.device),
            stop_head=stop_head,
        )

    @cached_property
    def engine(self) -> Engine:
        """What answers: one engine for all calls, whose cache remembers how earlier texts began."""
        return Engine(self.generator)

    @property
    def decoder(self) -> Model:
        """The weights."""
        return self.generator.model

    @property
    def spec(self) -> GenerationSpec:
        """How it generates."""
        return self.generator.spec

    @overload
    def generate(self, prompt: Prompt, *, n: Literal[1] = 1, **settings: Any) -> Result: ...
    @overload
    def generate(self, prompt: Prompt, *, n: int, **settings: Any) -> Result | list[Result]: ...
    def generate(self, prompt: Prompt, *, n: int = 1, **settings: Any) -> Result | list[Result]:
        """Answer a prompt.

        Args:
            prompt: a user's message, a conversation, or token ids.
            n: number of answers over one prefilled prompt; variation i uses seed + i.
            **settings: see `request`.

        Returns:
            The answer, or a list of them for n > 1.

        Raises:
            RequestError: if a setting is not allowed.
            CapacityError: if the model cannot hold prompt and answer.
        """
        results = self.results([self.request(prompt, n=n, **settings)])[0]
        return results if n > 1 else results[0]

    def stream(self, prompt: Prompt, **settings: Any) -> Iterator[Event]:
        """Answer a prompt and tell of every step.

        Args:
            prompt: a user's message, a conversation, or token ids.
            **settings: see `request`.

        Yields:
            `CanvasChanged` (its step 0 is the noise), `Committed`, `Reopened` if that is asked for, and one `Finished`
            for each answer.
        """
        request = self.request(prompt, **settings)
        return (event for _, event in self.engine.run([request], drafts=True))

    def generate_batch(
        self, prompts: Sequence[Prompt], *, seeds: Sequence[int] | None = None, **settings: Any
    ) -> list[Result]:
        """Answer several prompts together; each as if it were alone.

        Args:
            prompts: messages, conversations or token ids.
            seeds: one per prompt; None uses the setting's seed for all.
            **settings: see `request`; n is 1.

        Raises:
            RequestError, CapacityError: as for `request`, or if there is not one seed for each prompt.
        """
        if settings.get("n", 1) != 1:
            raise RequestError(f"n is {settings['n']}; allowed in a batch: 1, name a prompt several times instead")
        if seeds is not None and len(seeds) != len(prompts):
            raise RequestError(f"seeds has {len(seeds)} entries; allowed: one for each of {len(prompts)} prompts")
        requests = [self.request(prompt, **settings) for prompt in prompts]
        if seeds is not None:
            pairs = zip(requests, seeds, strict=True)
            requests = [dataclasses.replace(request, seed=seed) for request, seed in pairs]
        return [results[0] for results in self.results(requests)]

    @overload
    def infill(self, prefix: str, suffix: str = "", *, n: Literal[1] = 1, **settings: Any) -> Result: ...
    @overload
    def infill(self, prefix: str, suffix: str = "", *, n: int, **settings: Any) -> Result | list[Result]: ...
    def infill(
        self,
        prefix: str,
        suffix: str = "",
        *,
        prompt: Prompt | None = None,
        length: int | Literal["auto"] = "auto",
        max_tokens: int = 32,
        n: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> Result | list[Result]:
        """Write what stands between two texts, which stay as they are.

        Args:
            prefix: the text before the gap.
            suffix: the text behind it; the end of the text is behind that.
            prompt: what the whole text is the answer to; None takes the text for itself.
            length: tokens of the gap. "auto" leaves it to the model: one that was trained for it gets slots of which it
                may leave some empty, several numbers of them in one batch; another one gets all lengths near the best
                two of several. Of what is tried, the answer is taken that the model is most certain of, and from
                which it finds the text behind the gap again.
            max_tokens: the longest that "auto" tries.
            n: number of answers, each with a seed of its own.
            seed: decides all randomness.
            **settings: see `request`.

        Returns:
            The answer; for n > 1 a list of those whose texts differ, the most certain first. `text` is what stands in
            the gap, `usage` holds all that was tried for it. With the extra "schema", words that the seams cut in two
            are put together as the tokenizer ever does: the tokens next to the gap are chosen anew, and spell what they
            spelled.

        Raises:
            RequestError: if a setting is not allowed, or the model reads only what is before a position.
            CapacityError: if the model cannot hold the gap and what it needs to see.
        """
        self._check_sees_behind("infill")
        if isinstance(length, bool) or (length != "auto" and (not isinstance(length, int) or length < 1)):
            raise RequestError(f"length is {length!r}; allowed: 'auto' or a whole number, 1 or more")
        if max_tokens < 1:
            raise RequestError(f"max_tokens is {max_tokens}; allowed: 1 or more")
        _check_number_of_answers(n)
        job = Rewriting(self, self._context(prompt), range(seed, seed + n), settings)
        ranked = job.infill(prefix, suffix, length=length, max_tokens=max_tokens)
        return ranked if n > 1 else ranked[0]

    @overload
    def edit(self, text: str, *, n: Literal[1] = 1, **settings: Any) -> Result: ...
    @overload
    def edit(self, text: str, *, n: int, **settings: Any) -> Result | list[Result]: ...
    def edit(
        self,
        text: str,
        *,
        spans: Sequence[editing.Span] | None = None,
        instruction: str | None = None,
        strength: float | None = None,
        budget: int = 64,
        judge: bool | None = None,
        n: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> Result | list[Result]:
        """Write spans of a text anew; every byte outside them stays.

        Args:
            text: any text.
            spans: (first character, the one behind the last) of each; None leaves it to the model, which reads the text
                once, and chooses the tokens that it would rather have written otherwise.
            instruction: what to do; the model is asked for it as in a chat, with the text.
            strength: noise level that the spans start from: 1, the default, forgets what stood there, less keeps more
                of it.
            budget: most tokens that the model may choose; of more, those that it is surest of.
            judge: try several lengths, and judge each by what is around it. None does so for a single span, and for
                those that the model chose.
            n: number of answers, each with a seed of its own.
            seed: decides all randomness.
            **settings: see `request`.

        Returns:
            The answer; for n > 1 a list of those whose texts differ, the most certain first. `text` is the whole text,
            as it was where the model is to choose and doubts nothing. A short span that is judged comes back with up to
            three tokens more or less, or any number up to ten more where the model was trained to leave slots empty;
            another one with as many tokens as it had, or up to a few more.

        Raises:
            RequestError: if spans are not ones of this text, a setting is not allowed, the model reads only what is
                before a position, or it has no chat to take an instruction in.
            CapacityError: if the model cannot hold a span and what it needs to see.
        """
        self._check_sees_behind("edit")
        if instruction is not None and not self.tokenizer.has_chat_template:
            raise RequestError(f"{self.name} takes no instructions, as it has no chat template; leave it out")
        noise_level = 1.0 if strength is None else strength
        if not 0.0 < noise_level <= 1.0:
            raise RequestError(f"strength is {noise_level}; allowed: more than 0, at most 1")
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            raise RequestError(f"budget is {budget!r}; allowed: a whole number, 1 or more")
        _check_number_of_answers(n)
        check_characters(text)
        context = self._context(None if instruction is None else f"{instruction}\n{text}")
        job = Rewriting(self, context, range(seed, seed + n), settings)
        if spans is None:
            ranked = job.edit_where_doubted(text, noise_level=noise_level, budget=budget, judge=judge)
        else:
            ranked = job.edit(text, editing.check_spans(text, spans), noise_level=noise_level, judge=judge)
        return ranked if n > 1 else ranked[0]

    def _check_sees_behind(self, what: str) -> None:
        if self.spec.autoregressive:
            raise RequestError(f"{self.name} is autoregressive and sees nothing behind a position; it cannot {what}")

    def _context(self, prompt: Prompt | None) -> tuple[int, ...]:
        """What stands ahead of a text that is filled in."""
        if prompt is not None:
            return self._tokens(prompt, raw=False)
        return tuple(self.tokenizer.encode_raw("")) or (self.tokenizer.eos_ids[0],)

    def length_shares(self, prompt: Prompt) -> dict[int | None, float]:
        """How probable it is that an answer has up to so many tokens and more than the next lower number; None is more
        than all.

        Raises:
            RequestError: if the model has no length head.
        """
        shares = self.generator.length_shares(self._tokens(prompt, raw=False)).tolist()
        return dict(zip((*self.decoder.length_buckets, None), shares, strict=True))

    def request(
        self,
        prompt: Prompt,
        *,
        max_tokens: int | None = None,
        canvas_length: int | Literal["auto"] | None = None,
        seed: int = 0,
        n: int = 1,
        trace: bool = False,
        record: bool = False,
        sampler: str | None = None,
        temperature: float | None = None,
        raw: bool = False,
        priority: int = 0,
        deadline_ms: int | None = None,
        least_steps: int | None = None,
        schema: Mapping[str, Any] | bool | None = None,
        regex: str | None = None,
        choices: Sequence[str] | None = None,
        ban: Sequence[str] | None = None,
        seed_text: str | None = None,
        pin: Sequence[editing.Span] = (),
        strength: float | None = None,
        revisit: int = 0,
        **settings: Any,
    ) -> Request:
        """Check what is asked, once, and put it into the engine's terms.

        Args:
            prompt: a user's message, a conversation of {"role", "content"} dicts, or token ids, which are taken as they
                are.
            max_tokens: most tokens of the answer; None takes the model's default.
            canvas_length: positions denoised together. "auto" has the model's length head set the first canvas; None is
                "auto" for a model that has one, else the length that it was trained with.
            seed: decides all randomness.
            n: number of answers.
            trace: record every draft.
            record: keep every step of every canvas, for training by rewards.
            sampler: name of the accept and renoise rule.
            temperature: sets both ends of the temperature schedule.
            raw: continue a text as it stands, without the chat template; so it is for a model that has none.
            priority: of requests that wait, the highest goes first.
            deadline_ms: milliseconds after which the answer ends with what was committed by then.
            least_steps: steps that those of a canvas may be cut to while the engine is busy; None for no fewer than are
                asked for, whoever else is there.
            schema: a JSON Schema; the answer is JSON that it accepts, whatever the model.
            regex: a regular expression, in the syntax of Rust's regex crate, that the whole answer matches.
            choices: texts of which the answer is one.
            ban: texts that do not occur in the answer.
            seed_text: a draft that the answer starts from; it has as many tokens.
            pin: (first character, the one behind the last) of parts of the draft that stay.
            strength: noise level that the rest of the draft starts from, 0.5 unless given, or a canvas that is
                revisited, 1 unless given: 1 forgets it.
            revisit: how many of the last canvases are opened again once the answer is whole, and denoised seeing what
                follows them.
            **settings: any other field of `SamplerConfig`, such as steps or entropy_bound; None takes the default.

        Raises:
            RequestError: naming what is not allowed.
            CapacityError: if the model cannot hold prompt and answer.
        """
        check_settings(settings)
        settings = {key: value for key, value in settings.items() if value is not None}
        if sampler is not None:
            settings["name"] = sampler
        if temperature is not None:
            settings |= {"temperature_start": temperature, "temperature_end": temperature}
        most = self.decoder.config.max_position_embeddings
        no_lengths = self.generator.no_lengths
        if canvas_length == "auto" and no_lengths:
            raise RequestError(f"canvas_length is 'auto' and {self.name} {no_lengths}; allowed: a whole number")
        fit = canvas_length in ("auto", None) and not no_lengths
        length = self.spec.canvas_length if canvas_length is None or canvas_length == "auto" else canvas_length
        if self.spec.autoregressive and length != 1:
            raise RequestError(f"canvas_length is {length}; allowed: 1, this model is autoregressive")
        if self.spec.prefix_attention == "block" and length != self.spec.canvas_length:
            raise RequestError(
                f"canvas_length is {length}; allowed: {self.spec.canvas_length}, the block that "
                "this model reads at once"
            )
        if isinstance(length, int) and length > most:
            raise RequestError(f"canvas_length is {length}; allowed: 1 to {most}, the positions of this model")
        config = dataclasses.replace(self.sampler_defaults, **settings)
        tokens = self._tokens(prompt, raw)
        start = self._start(seed_text, pin, strength, revisit)
        if start is not None:
            if max_tokens not in (None, len(start.tokens)):
                raise RequestError(
                    f"max_tokens is {max_tokens}; allowed with this seed_text: {len(start.tokens)}, its tokens"
                )
            max_tokens = len(start.tokens)
        if max_tokens is None:
            # The default gives way to a long prompt; a stated number does not.
            max_tokens = max(1, min(self.generation.get("max_tokens", MAX_TOKENS), most - len(tokens)))
        request = Request(
            prompt=tokens,
            sampler=config,
            max_tokens=max_tokens,
            canvas_length=length,
            fit=fit,
            seed=seed,
            n=n,
            trace=trace,
            record=record,
            priority=priority,
            deadline_ms=deadline_ms,
            least_steps=least_steps,
            start=start,
            automaton=self.languages.asked(schema=schema, regex=regex, choices=choices, ban=ban),
            revisit=revisit,
            revisit_level=1.0 if strength is None else strength,
        )
        self.generator.check(request)
        return request

    def _start(
        self, seed_text: str | None, pin: Sequence[editing.Span], strength: float | None, revisit: int
    ) -> Start | None:
        """What a draft is as the start of an answer."""
        if seed_text is None:
            if pin:
                raise RequestError("pin is for a seed_text; it is not given")
            if strength is not None and not revisit:
                raise RequestError("strength is for a seed_text or revisit; neither is given")
            return None
        self._check_sees_behind("start from a draft")
        check_characters(seed_text)
        pieces = editing.cut(self.tokenizer, seed_text, editing.between(seed_text, editing.check_spans(seed_text, pin)))
        tokens = tuple(token for piece in pieces for token in piece.tokens)
        if not tokens:
            raise RequestError("seed_text is empty; give a draft, or leave it out")
        frozen = tuple(not piece.free for piece in pieces for _ in piece.tokens)
        return Start(tokens=tokens, frozen=frozen, noise_level=0.5 if strength is None else strength)

    def _tokens(self, prompt: Prompt, raw: bool) -> tuple[int, ...]:
        if isinstance(prompt, str):
            if not prompt.strip():
                raise RequestError("the prompt is empty; give some text")
            if raw or not self.tokenizer.has_chat_template:
                return tuple(self.tokenizer.encode_raw(prompt))
            return tuple(self.tokenizer.encode_chat([{"role": "user", "content": prompt}]))
        entries: list[Any] = list(prompt)
        if not entries:
            raise RequestError("the prompt is empty; give some text")
        if all(isinstance(entry, int) and not isinstance(entry, bool) for entry in entries):
            return tuple(entries)
        if not all(isinstance(entry, Mapping) for entry in entries):
            raise RequestError("the prompt is no text; allowed: a string, messages with role and content, or token ids")
        if raw:
            raise RequestError("raw is for a text; a conversation needs the chat template")
        if not str(entries[-1].get("content", "")).strip():
            raise RequestError("the prompt is empty; give some text")
        return tuple(self.tokenizer.encode_chat(entries))

    def results(self, requests: Sequence[Request]) -> list[list[Result]]:
        """Answer requests together: of each, its answers.

        Raises:
            CapacityError: see `Engine.submit`.
        """
        found: list[dict[int, Result]] = [{} for _ in requests]
        for index, event in self.engine.run(requests):
            if isinstance(event, Finished):
                found[index][event.variation] = event.result
        return [[results[i] for i in sorted(results)] for results in found]

    def _banned(self, vocab_size: int) -> torch.Tensor:
        """Tokens that no answer may hold: special ones that do not end it, and rows that are no token."""
        banned_V = torch.zeros(vocab_size, dtype=torch.bool)
        banned_V[self.tokenizer.vocab_size :] = True
        banned_V[[id_ for id_ in self.tokenizer.special_ids if id_ not in self.tokenizer.eos_ids]] = True
        return banned_V
