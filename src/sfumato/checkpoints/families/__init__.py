"""Checkpoint families, by the model_type of their config.json."""

from sfumato.checkpoints.families import gemma, llama, masked, own
from sfumato.checkpoints.families.family import Family

FAMILIES: dict[str, Family] = {**own.FAMILIES, **llama.FAMILIES, **masked.FAMILIES, **gemma.FAMILIES}
