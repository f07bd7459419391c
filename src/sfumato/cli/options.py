"""Options that several commands share: how weights are loaded and how canvases are denoised."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_type_hints

import typer

from sfumato.cli.output import read_file
from sfumato.errors import RequestError

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.engine.options import CanvasOptions, ConstraintOptions, SamplerOptions


DTypeName = Literal["float32", "bfloat16", "float16"]
QuantizationName = Literal["int8", "int4", "w8a8", "w4a8", "fp8"]
MODEL_HELP = "An embedded model, a checkpoint directory, a GGUF file or a hub id."


def complete_model(incomplete: str) -> list[str]:
    """Model names with this prefix, for shell completion; the shell completes files itself."""
    from sfumato.checkpoints.registry import list_models

    return [model.name for model in list_models() if model.name.startswith(incomplete) and not model.problem]


def complete_packaged(incomplete: str) -> list[str]:
    """Names of checkpoints that `pull` can download, for shell completion."""
    from sfumato.checkpoints.registry import PACKAGED

    return [name for name in PACKAGED if name.startswith(incomplete)]


def complete_task(incomplete: str) -> list[str]:
    """Task names with this prefix, for shell completion."""
    from sfumato.data.tasks import TASKS

    return [name for name in TASKS if name.startswith(incomplete)]


ModelName = Annotated[str, typer.Argument(help=MODEL_HELP, autocompletion=complete_model)]
Model = Annotated[str, typer.Option(help=MODEL_HELP, autocompletion=complete_model)]
Device = Annotated[str, typer.Option(help="Device to compute on: cpu, cuda or auto.")]
System = Annotated[str | None, typer.Option(help="System message, for models that take one.")]
Stop = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="End the answer before this text. Repeatable.")]
DType = Annotated[DTypeName, typer.Option(help="Type of the weights and of the computation.")]
Quantize = Annotated[
    QuantizationName | None,
    typer.Option(
        help="Quantize linears and experts: int8 and int4 save memory; w8a8, w4a8 (CPU) and fp8 (GPU) are also faster."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="CPU threads; default: the fastest number, measured at the start."),
]
SamplerName = Annotated[
    str | None, typer.Option("--sampler", help="Sampling method; an unknown name lists all of them.")
]
Temperature = Annotated[float | None, typer.Option(help="Sampling temperature; 0 takes the likeliest token.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the sampler, e.g. entropy_bound=0.2. Repeatable."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the diff and write nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Write without asking.")]
JsonOnly = Annotated[bool, typer.Option("--json", help="Print one JSON object and write nothing.")]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How a model is loaded."""

    dtype: DType = "float32"
    quantize: Quantize = None
    threads: Threads = None
    device: Device = "cpu"

    def load(self, name: str, check: Callable[[TextModel], object] | None = None) -> TextModel:
        """Load a model with a progress display; `check` can refuse before weights are read."""
        from sfumato.cli.output import progress

        with progress(f"loading {name}"):
            from sfumato.api import load

            return load(name, **self.settings(), check=check)

    def settings(self) -> dict[str, Any]:
        """Arguments of `sfumato.load`."""
        return dataclasses.asdict(self) | {"threads": self.threads or "auto"}


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How canvases are denoised."""

    steps: Annotated[int | None, typer.Option(help="Maximum denoising steps per canvas.")] = None
    sampler: SamplerName = None
    temperature: Temperature = None
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0
    settings: Settings = None

    def apply_to(self, options: CanvasOptions) -> None:
        """Write these settings into the options of a request."""
        options["seed"], options["steps"] = self.seed, self.steps
        options["sampler"], options["temperature"] = self.sampler, self.temperature
        for name, value in sampler_settings(self.settings, self.sampler).items():
            if options.get(name) is None:
                options[name] = value  # type: ignore[literal-required]


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """What the new text must be."""

    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON Schema the new text must match; - reads it from stdin.")
    ] = None
    regex: Annotated[str | None, typer.Option(help="Regular expression the whole new text must match.")] = None
    grammar: Annotated[
        str | None, typer.Option(metavar="FILE", help="Grammar in GBNF the new text must match; - reads it from stdin.")
    ] = None
    choice: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Allow only this text. Repeatable.")] = None
    ban: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Forbid this in the new text. Repeatable.")] = (
        None
    )

    def check_stdin(self, **others: str | None) -> None:
        """Refuse to read several inputs from stdin."""
        given = [
            name for name, value in (others | {"schema": self.schema, "grammar": self.grammar}).items() if value == "-"
        ]
        if len(given) > 1:
            raise RequestError(f"{' and '.join(given)} are both '-'; allowed: only one of them from stdin")

    def apply_to(self, options: ConstraintOptions) -> None:
        """Write these constraints into the options of a request."""
        options["regex"], options["choices"], options["ban"] = self.regex, self.choice, self.ban
        if self.grammar is not None:
            options["grammar"] = read_file("grammar", self.grammar)
        if self.schema is not None:
            text = read_file("schema", self.schema)
            try:
                options["schema"] = json.loads(text)
            except ValueError as error:
                raise RequestError(f"the schema {self.schema} is not JSON: {error}") from None


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Expand a command's dataclass parameters, such as `Weights`, into one option per field."""
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
    """Parse `--set` for a sampler."""
    from sfumato.config import parse_settings
    from sfumato.sampling.config import check_settings
    from sfumato.sampling.samplers.base import find_sampler

    given = parse_settings(settings or ())
    check_settings(given, find_sampler(sampler or "entropy"))
    return cast("SamplerOptions", given)


def format_size(num_bytes: float) -> str:
    """A human-readable size."""
    return f"{num_bytes / 1e9:.2f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:.1f} MB"
