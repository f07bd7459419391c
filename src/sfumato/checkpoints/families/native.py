"""Our own checkpoints: the decoder's config, with the generation spec."""

from __future__ import annotations

from typing import Any

from sfumato.checkpoints.families.family import ConfigTable, Family, same_names
from sfumato.config import from_table
from sfumato.errors import CheckpointError
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.model import Model
from sfumato.spec import GenerationSpec

MODEL_TYPE = "sfumato"


def native_config(config: DecoderConfig, spec: GenerationSpec) -> dict[str, Any]:
    """The config.json of one of our checkpoints."""
    return {"model_type": MODEL_TYPE, **config.to_dict(), "generation_spec": spec.to_dict()}


def _build(table: ConfigTable) -> tuple[Model, GenerationSpec]:
    spec_table = table.take("generation_spec", {})
    if not isinstance(spec_table, dict):
        raise CheckpointError(f"{table.where}: generation_spec is {spec_table!r}; allowed: an object")
    spec = from_table(GenerationSpec, spec_table, "generation_spec.")
    return Decoder(from_table(DecoderConfig, table.rest())), spec


FAMILIES = {MODEL_TYPE: Family(_build, same_names)}
