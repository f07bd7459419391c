"""`sfumato train --plan`: what a recipe's steps would take on 1 to 64 GPUs, as a table or JSON."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.training.plan import Plan
    from sfumato.training.recipe import Recipe

NUMBERS_OF_GPUS = (1, 2, 4, 8, 16, 32, 64)
_PIPE_WIDTH = 150


def print_plan(subject: Path, overrides: Sequence[str], *, gpu: str, mfu: float | None, as_json: bool) -> None:
    """Plan a run, and print it; nothing is started.

    Args:
        subject: a recipe, one of `training.plan.SHAPES`, or a directory with the config.json of a decoder.
        overrides: of the recipe.
        gpu: the kind that is shown in the table; JSON has all.
        mfu: share of the peak that is reached; None takes the plan's.
        as_json: print one JSON object.

    Raises:
        ConfigError: if the subject is none of these, or the GPU is not known.
    """
    from sfumato.errors import unknown
    from sfumato.hardware import GPUS
    from sfumato.training.plan import MFU, count_parameters, plan
    from sfumato.training.recipe import outline

    if gpu not in GPUS:
        raise ConfigError(unknown("gpu", gpu, GPUS))
    mfu = MFU if mfu is None else mfu
    recipe = _recipe(subject, overrides)
    model = outline(recipe)
    count = count_parameters(model)

    def planned(kind: str, num_gpus: int, recompute: bool) -> Plan:
        train = dataclasses.replace(recipe.train, recompute=recompute)
        tables = (model.config, recipe.packing, recipe.objective, train)
        return plan(*tables, gpu=kind, num_gpus=num_gpus, mfu=mfu, count=count)

    if as_json:
        plans = [
            _described(planned(kind, num_gpus, recompute)) | {"recompute": recompute}
            for kind in GPUS
            for num_gpus in NUMBERS_OF_GPUS
            for recompute in (False, True)
        ]
        report = {
            "model": str(subject),
            "parameters": count.total,
            "active_parameters": count.active,
            "trained_parameters": count.trained,
            "dtype": recipe.train.precision,
            "rows": recipe.packing.rows,
            "row_length": recipe.packing.row_length,
            "mfu": mfu,
            "plans": plans,
        }
        typer.echo(json.dumps(report))
        return
    active = f", {count.active / 1e9:.2f} billion active" if count.active < count.total else ""
    if count.trained < count.total:
        active += f", {count.trained / 1e6:.1f} million trained"
    packing = recipe.packing
    typer.echo(
        f"{subject}: {count.total / 1e9:.2f} billion parameters{active}; layers in {recipe.train.precision}; "
        f"{packing.rows} x {packing.row_length} positions a batch; {gpu} at {mfu:.0%} of its peak; GB of each GPU"
    )
    pairs = [(planned(gpu, num, False), planned(gpu, num, True)) for num in NUMBERS_OF_GPUS]
    _print_table([(kept if kept.fits else again, kept.fits) for kept, again in pairs], [pair[0] for pair in pairs])


def _recipe(subject: Path, overrides: Sequence[str]) -> Recipe:
    from sfumato.config import from_table, load_recipe, parse_settings
    from sfumato.models.checkpoint import build
    from sfumato.models.decoder import DecoderConfig
    from sfumato.training.plan import SHAPE_PACKING, SHAPES
    from sfumato.training.recipe import Recipe

    if subject.suffix == ".toml":
        return load_recipe(Recipe, subject, overrides)
    if str(subject).lower() in SHAPES:
        model = SHAPES[str(subject).lower()]
    elif (subject / "config.json").exists():
        config = build(subject)[0].config
        if not isinstance(config, DecoderConfig):
            raise ConfigError(f"{subject} holds no decoder; allowed: a model of the families that recipes can train")
        model = json.loads(json.dumps(config.to_dict()))
    else:
        raise ConfigError(
            f"nothing to plan at {subject}; allowed: a recipe (.toml), {', '.join(SHAPES)}, or a directory with a "
            "config.json"
        )
    table: dict[str, Any] = {
        "model": model,
        "data": {},
        "packing": SHAPE_PACKING,
        "train": {"steps": 1, "precision": "bfloat16"},
    }
    for key, value in parse_settings(overrides).items():
        table[key] = {**table[key], **value} if isinstance(value, dict) and key in table else value
    return from_table(Recipe, table)


def _described(one: Plan) -> dict[str, Any]:
    return dataclasses.asdict(one) | {
        "memory_bytes": one.memory_bytes,
        "step_s": one.step_s,
        "positions_per_s": one.positions_per_s,
    }


def _print_table(chosen: Sequence[tuple[Plan, bool]], kept: Sequence[Plan]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    headings = (
        *("GPUs", "batches", "state", "gathered", "activations", "recomputed", "in all", "fits"),
        *("PFLOP", "exchanged", "arithmetic s", "exchange s", "step s", "positions/s"),
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for (one, whole), plain in zip(chosen, kept, strict=True):
        table.add_row(
            str(one.num_gpus),
            str(one.accumulation),
            f"{sum(one.state_bytes.values()) / 1e9:.1f}",
            f"{one.gathered_bytes / 1e9:.1f}",
            f"{plain.activation_bytes / 1e9:.1f}",
            "" if whole else f"{one.activation_bytes / 1e9:.1f}",
            f"{one.memory_bytes / 1e9:.1f}",
            "yes" if whole else "recomputing" if one.fits else "no",
            f"{one.operations / 1e15:.2f}",
            f"{one.exchanged_bytes / 1e9:.1f}",
            f"{one.compute_s:.3f}",
            f"{one.exchange_s:.3f}",
            f"{one.step_s:.3f}",
            f"{one.positions_per_s:,.0f}",
        )
    Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)
