"""`sfumato train --plan`: estimate a recipe's memory and time on 1 to 64 GPUs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.output import print_table
from sfumato.config import check_choice
from sfumato.errors import ConfigError

if TYPE_CHECKING:
    from sfumato.training.plan import Plan
    from sfumato.training.recipe import Recipe

NUMBERS_OF_GPUS = (1, 2, 4, 8, 16, 32, 64)


def print_plan(subject: Path, overrides: Sequence[str], *, gpu: str, mfu: float | None, as_json: bool) -> None:
    """Print the plan of a run, without starting it.

    Args:
        subject: a recipe, one of `training.plan.SHAPES`, or a directory with a decoder's config.json.
        gpu: the kind shown in the table; JSON has all.
        mfu: share of peak arithmetic reached; None takes the plan's default.

    Raises:
        ConfigError: if the subject is none of these, or the GPU is unknown.
    """
    from sfumato.hardware import GPUS
    from sfumato.training.plan import MFU, count_parameters, plan
    from sfumato.training.run import outline

    check_choice("gpu", gpu, GPUS, ConfigError)
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
            _describe(planned(kind, num_gpus, recompute)) | {"recompute": recompute}
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
    rows = [_row(planned(gpu, num, False), planned(gpu, num, True)) for num in NUMBERS_OF_GPUS]
    active = f", {count.active / 1e9:.2f} billion active" if count.active < count.total else ""
    if count.trained < count.total:
        active += f", {count.trained / 1e6:.1f} million trained"
    packing = recipe.packing
    typer.echo(
        f"{subject}: {count.total / 1e9:.2f} billion parameters{active}; layers in "
        f"{recipe.train.precision}; {packing.rows} x {packing.row_length} positions per "
        f"batch; {gpu} at {mfu:.0%} of its peak; GB per GPU"
    )
    print_table(rows)


def _recipe(subject: Path, overrides: Sequence[str]) -> Recipe:
    from sfumato.checkpoints.load import build
    from sfumato.checkpoints.registry import find_model
    from sfumato.config import from_table, load_recipe, parse_settings
    from sfumato.models.decoder import DecoderConfig
    from sfumato.training.plan import SHAPE_PACKING, SHAPES
    from sfumato.training.recipe import Recipe

    if subject.suffix == ".toml":
        return load_recipe(Recipe, subject, overrides)
    if str(subject).lower() in SHAPES:
        model = SHAPES[str(subject).lower()]
    elif subject.is_dir():
        config = build(find_model(subject))[0].config
        if not isinstance(config, DecoderConfig):
            raise ConfigError(f"{subject} holds no decoder; allowed: a model of the families that recipes can train")
        model = config.to_dict()
    else:
        raise ConfigError(
            f"cannot plan {subject}; allowed: a recipe (.toml), {', '.join(SHAPES)}, or a directory with a config.json"
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


def _describe(plan: Plan) -> dict[str, Any]:
    return dataclasses.asdict(plan) | {
        "memory_bytes": plan.memory_bytes,
        "step_s": plan.step_s,
        "positions_per_s": plan.positions_per_s,
    }


def _row(plain: Plan, again: Plan) -> dict[str, str | None]:
    """One row of the table: a plan, with recomputation if it does not fit without."""
    shown = plain if plain.fits else again
    return {
        "GPUs": str(shown.num_gpus),
        "batches": str(shown.accumulation),
        "state": f"{sum(shown.state_bytes.values()) / 1e9:.1f}",
        "gathered": f"{shown.gathered_bytes / 1e9:.1f}",
        "activations": f"{plain.activation_bytes / 1e9:.1f}",
        "recomputed": "" if plain.fits else f"{shown.activation_bytes / 1e9:.1f}",
        "in all": f"{shown.memory_bytes / 1e9:.1f}",
        "fits": "yes" if plain.fits else "recomputing" if shown.fits else "no",
        "PFLOP": f"{shown.operations / 1e15:.2f}",
        "exchanged": f"{shown.exchanged_bytes / 1e9:.1f}",
        "arithmetic s": f"{shown.compute_s:.3f}",
        "exchange s": f"{shown.exchange_s:.3f}",
        "step s": f"{shown.step_s:.3f}",
        "positions/s": f"{shown.positions_per_s:,.0f}",
    }
