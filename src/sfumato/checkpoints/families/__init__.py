"""Checkpoint families, by the model_type of their config.json."""

from sfumato.checkpoints.families import gemma, llama, masked, native
from sfumato.checkpoints.families.family import Family

FAMILIES: dict[str, Family] = {**native.FAMILIES, **llama.FAMILIES, **masked.FAMILIES, **gemma.FAMILIES}
