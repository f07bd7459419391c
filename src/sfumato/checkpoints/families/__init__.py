"""Families of checkpoints, by the model_type of their config.json."""

from sfumato.checkpoints.families import gemma, llama, masked, own
from sfumato.checkpoints.families.family import ConfigTable, Family, Layout, Part, stored_shape
from sfumato.checkpoints.families.llama import hugging_face_config
from sfumato.checkpoints.families.own import own_config

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
