"""Checkpoint families, by the model_type of their config.json."""

from sfumato.checkpoints.families import gemma, llama, masked
from sfumato.checkpoints.families.family import NATIVE, Family

FAMILIES: dict[str, Family] = {**NATIVE, **llama.FAMILIES, **masked.FAMILIES, **gemma.FAMILIES}
