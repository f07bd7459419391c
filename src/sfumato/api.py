"""The public API: `load`, `TextModel`, options, results and the engine.

import sfumato

model = sfumato.load("tiny")
print(model.generate("answer, then derive: 81*(2/3)^2+sqrt(9)", steps=24, seed=0).text)
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, overload

import torch

from sfumato.checkpoints.load import Checkpoint, describe, load_checkpoint, preparation_of, save_prepared
from sfumato.checkpoints.registry import ASSETS, find_model, open_checkpoint
from sfumato.config import check_choice
from sfumato.constraints.dfa import TextConstraint
from sfumato.engine.async_engine import AsyncEngine
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.options import EditOptions, GenerateOptions, InfillOptions, SamplerOptions
from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, Reopened, Request, Result, Usage
from sfumato.engine.threads import choose_threads
from sfumato.errors import BusyError, CapacityError, CheckpointError, ConfigError, RequestError, SfumatoError
from sfumato.gguf_file import GGUFFile
from sfumato.mend.mender import Mended, Mender, load_mender
from sfumato.mend.search import SearchConfig
from sfumato.models.decoder import fuse
from sfumato.models.model import find_device
from sfumato.models.quantization.weights import QUANTIZATIONS, Quantization
from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.logits import LearnedStop
from sfumato.sampling.samplers.base import Sampler, Turn
from sfumato.storage import write_json
from sfumato.text.tokenizer import Tokenizer

__all__ = [
    "AsyncEngine",
    "BusyError",
    "CanvasChanged",
    "CapacityError",
    "CheckpointError",
    "Committed",
    "ConfigError",
    "EditOptions",
    "Engine",
    "EngineConfig",
    "Event",
    "Finished",
    "GenerateOptions",
    "InfillOptions",
    "Mended",
    "Mender",
    "Reopened",
    "Request",
    "RequestError",
    "Result",
    "Sampler",
    "SamplerConfig",
    "SamplerOptions",
    "SearchConfig",
    "SfumatoError",
    "TextConstraint",
    "TextModel",
    "Turn",
    "Usage",
    "load",
    "load_mender",
]

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@overload
def load(name: Literal["mend"]) -> Mender: ...  # type: ignore[overload-overlap]


@overload
def load(
    name: str | Path,
    *,
    dtype: str | torch.dtype = "float32",
    quantize: str | None = None,
    device: str = "cpu",
    threads: int | Literal["auto"] | None = None,
    check: Callable[[TextModel], object] | None = None,
) -> TextModel: ...


def load(
    name: str | Path,
    *,
    dtype: str | torch.dtype = "float32",
    quantize: str | None = None,
    device: str = "cpu",
    threads: int | Literal["auto"] | None = None,
    check: Callable[[TextModel], object] | None = None,
) -> TextModel | Mender:
    """Load a model: a `TextModel`, or a `Mender` for "mend" (see `load_mender` for other checkpoints of that kind).

    Args:
        name: an embedded model, such as "tiny"; a checkpoint from a package, such as "smollm2-135m-instruct"; a
            checkpoint directory; a GGUF file; or a hub id, such as "org/model", which is read from the local cache if
            that is complete or the network is off.
        dtype: "float32", "bfloat16" or "float16"; type of the weights and of the computation.
        quantize: "int8" and "int4" save memory; "w8a8" and "w4a8" also multiply integers, the fast ways on a CPU; "fp8"
            stores and multiplies 8-bit floats, the fast way on a GPU. None takes a directory of `sfumato convert
            --quantize` as it was converted.
        device: "cpu", "cuda", or "auto" for an accelerator if there is one.
        threads: CPU threads for the whole process: a number, or "auto" for the fastest as measured on the model; None
            leaves torch's default.
        check: called with the model before any weights are read; for example, `lambda model: model.request(prompt)`
            raises early what it would raise later.

    Raises:
        CheckpointError: if there is no such model, or its files are invalid.
        ConfigError: if the dtype, quantization, number of threads or device is not allowed.
    """
    if threads not in (None, "auto") and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ConfigError(f"threads is {threads!r}; allowed: a whole number, 1 or more, or 'auto'")
    device = find_device(device)
    of_weights = str(dtype).removeprefix("torch.")
    check_choice("dtype", of_weights, DTYPES, ConfigError)
    if quantize is not None:
        check_choice("quantization", quantize, QUANTIZATIONS, ConfigError)
    quantization = None if quantize is None else QUANTIZATIONS[quantize]
    source = open_checkpoint(find_model(name))
    given = dtype, quantize, device, threads, check
    if name == "mend" and given == ("float32", None, "cpu", None, None) and describe(source).model.reads_lexemes:
        return load_mender(name)
    # Refuse what cannot run before anything large is read.
    empty = _outline(name, source)
    if check is not None:
        check(empty)
    checkpoint = _load(source, empty.tokenizer, DTYPES[of_weights], quantization, device)
    fuse(checkpoint.model)
    if isinstance(threads, int):
        torch.set_num_threads(threads)
    elif threads == "auto" and device == "cpu":
        choose_threads(checkpoint.model)
    stop_head = LearnedStop.read(source)
    stop_head = None if stop_head is None else stop_head.to(device)
    text_model = TextModel(str(name), checkpoint, empty.tokenizer, stop_head=stop_head)
    if check is not None:
        # Keep automata that it has already built.
        text_model.languages = empty.languages
    return text_model


def outline(name: str | Path) -> TextModel:
    """A model without its weights, which can describe itself and check requests.

    Raises:
        CheckpointError: like `load`.
    """
    return _outline(name, open_checkpoint(find_model(name)))


def _outline(name: str | Path, source: Path | GGUFFile) -> TextModel:
    described = describe(source)
    if described.model.reads_lexemes:
        raise CheckpointError(
            f"{name} repairs Python and cannot generate text; allowed: sfumato mend, sfumato.load_mender({str(name)!r})"
        )
    return TextModel(str(name), described, Tokenizer.of(source))


def quantize(source: Path | GGUFFile, directory: Path, way: str, *, dtype: torch.dtype = torch.float32) -> None:
    """Write a checkpoint as a CPU multiplies it in "w4a8" or "w8a8"; `load` maps the files.

    Raises:
        CheckpointError: see `save_prepared`.
        ConfigError: if the quantization is not allowed.
    """
    ways = [name for name, one in QUANTIZATIONS.items() if one.arithmetic == "int8"]
    check_choice("quantization", way, ways, ConfigError)
    if describe(source).model.reads_lexemes:
        raise CheckpointError("this model repairs Python, and runs in float32; allowed: models that generate text")
    tokenizer = Tokenizer.of(source)
    quantization = dataclasses.replace(QUANTIZATIONS[way], sample=_sample(tokenizer))
    save_prepared(directory, source, quantization, dtype=dtype)
    stop_head = LearnedStop.read(source)
    if stop_head is not None:
        stop_head.write(directory)
    if not isinstance(source, Path):
        generation = describe(source).generation | {"eos_token_id": list(tokenizer.eos_ids)}
        write_json(directory / "generation_config.json", generation)
        tokenizer.save(directory)


def _load(
    source: Path | GGUFFile, tokenizer: Tokenizer, dtype: torch.dtype, quantization: Quantization | None, device: str
) -> Checkpoint:
    if quantization is None and (preparation := preparation_of(source)) is not None:
        quantization = preparation.quantization
    elif quantization is not None and quantization.arithmetic == "int8":
        quantization = dataclasses.replace(quantization, sample=_sample(tokenizer))
    return load_checkpoint(source, dtype=dtype, quantization=quantization, device=device)


def _sample(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Tokens of a sample text for calibration; its questions go through the chat template, if any."""
    tokens: list[int] = []
    for part in (ASSETS / "sample.txt").read_text(encoding="utf-8").split("\n\n"):
        turns = re.fullmatch("User: (.*?)\nAssistant: (.*)", part, re.DOTALL)
        encoded = None
        if turns and tokenizer.has_chat_template:
            messages = [{"role": "user", "content": turns[1]}, {"role": "assistant", "content": turns[2]}]
            # A template that refuses this conversation is not an error here.
            with contextlib.suppress(RequestError, CheckpointError):
                encoded = tokenizer.encode_chat(messages, add_generation_prompt=False)
        tokens += tokenizer.encode(part + "\n\n") if encoded is None else encoded
    return tuple(tokens)
