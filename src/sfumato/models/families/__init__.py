"""Families of checkpoints, by the model_type of their config.json."""

from sfumato.models.families import gemma, llama, masked, own
from sfumato.models.families.family import ConfigTable, Family, Layout, Part, stored_shape
from sfumato.models.families.llama import hugging_face_config
from sfumato.models.families.own import own_config

FAMILIES: dict[str, Family] = {**own.FAMILIES, **llama.FAMILIES, **masked.FAMILIES, **gemma.FAMILIES}

__all__ = [
    "FAMILIES",
    "ConfigTable",
    "Family",
    "Layout",
    "Part",
    "hugging_face_config",
    "own_config",
    "stored_shape",
]
