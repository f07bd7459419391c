"""Options that several commands share: how weights are held, and how canvases are denoised."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_type_hints

import typer

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.engine.options import CanvasOptions, SamplerOptions


DTypeName = Literal["float32", "bfloat16", "float16"]
QuantizationName = Literal["int8", "int4", "w8a8", "w4a8", "fp8"]
MODEL_HELP = "An embedded model's name, a checkpoint directory, a GGUF file, or a hub id."


def complete_model(incomplete: str) -> list[str]:
    """Names of models that begin so, for a shell; files complete themselves."""
    from sfumato.checkpoints.inventory import list_models

    return [model.name for model in list_models() if model.name.startswith(incomplete) and not model.problem]


def complete_packaged(incomplete: str) -> list[str]:
    """Names of checkpoints that `pull` gets, for a shell."""
    from sfumato.checkpoints.packaged import PACKAGED

    return [name for name in PACKAGED if name.startswith(incomplete)]


def complete_task(incomplete: str) -> list[str]:
    """Names of tasks that begin so, for a shell."""
    from sfumato.data.tasks import TASKS

    return [name for name in TASKS if name.startswith(incomplete)]


ModelName = Annotated[str, typer.Argument(help=MODEL_HELP, autocompletion=complete_model)]
Model = Annotated[str, typer.Option(help=MODEL_HELP, autocompletion=complete_model)]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
System = Annotated[str | None, typer.Option(help="System message before the prompt, for a model that takes one.")]
Stop = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="Repeatable; the answer ends before the first of them.")
]
DType = Annotated[DTypeName, typer.Option(help="Of the weights and of what is computed with them.")]
Quantize = Annotated[
    QuantizationName | None,
    typer.Option(
        help="Hold the weights of linears and experts in 8 or 4 bits; w8a8 and w4a8 multiply integers, fp8 floats."
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Of the CPU; if not given, as many as are fastest, measured at the start.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Repeatable; any setting of the sampler, as entropy_bound=0.2."),
]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How a model is held."""

    dtype: DType = "float32"
    quantize: Quantize = None
    threads: Threads = None
    device: Device = "cpu"

    def load(self, name: str, check: Callable[[TextModel], object] | None = None) -> TextModel:
        """Load a model, and show that it is being loaded; `check` refuses before weights are read."""
        from sfumato.cli.output import progress

        with progress(f"loading {name}"):
            from sfumato.api import load

            return load(name, **self.settings(), check=check)

    def settings(self) -> dict[str, Any]:
        """Arguments of `sfumato.load`."""
        return {
            "dtype": self.dtype,
            "quantize": self.quantize,
            "threads": self.threads or "auto",
            "device": self.device,
        }


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How canvases are denoised."""

    steps: Annotated[int | None, typer.Option(help="Most denoising steps a canvas may take.")] = None
    sampler: Annotated[
        str | None, typer.Option(help="Rule that accepts and renoises; a wrong name lists them all.")
    ] = None
    temperature: Annotated[float | None, typer.Option(help="0 takes the likeliest token.")] = None
    seed: Annotated[int, typer.Option(help="Decides all randomness.")] = 0
    settings: Settings = None

    def apply_to(self, options: CanvasOptions) -> None:
        """Put it into the options of a request.

        Raises:
            ConfigError, RequestError: if the sampler, or one of --set, is not known.
        """
        options["seed"], options["steps"] = self.seed, self.steps
        options["sampler"], options["temperature"] = self.sampler, self.temperature
        for name, value in sampler_settings(self.settings, self.sampler).items():
            if options.get(name) is None:
                options[name] = value  # type: ignore[literal-required]


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """A command with an option for each field of its parameters that are dataclasses, such as `Weights`."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}

    @functools.wraps(command)
    def expanded(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        command(**given)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            of_group = get_type_hints(groups[name], include_extras=True)
            for field in dataclasses.fields(groups[name]):
                default, hint = getattr(parameter.default, field.name), of_group[field.name]
                parameters.append(
                    inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=default, annotation=hint)
                )
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def sampler_settings(settings: Sequence[str] | None, sampler: str | None = None) -> SamplerOptions:
    """What `--set` gave, for a sampler of that name.

    Raises:
        ConfigError: if one has no "=".
        RequestError: if the sampler has no such setting.
    """
    from sfumato.config import parse_settings
    from sfumato.sampling.config import check_settings
    from sfumato.sampling.samplers.base import find_sampler

    given = parse_settings(settings or ())
    check_settings(given, find_sampler(sampler or "entropy"))
    return cast("SamplerOptions", given)


def format_size(num_bytes: float) -> str:
    """Bytes as a person reads them."""
    return f"{num_bytes / 1e9:.2f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:.1f} MB"
