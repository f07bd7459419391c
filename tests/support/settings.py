"""Sampler configs from a flat table, ignoring settings a sampler does not have, for tests over all samplers."""

from __future__ import annotations

import dataclasses
from typing import Any

from sfumato.sampling.config import SamplerConfig
from sfumato.sampling.samplers.base import samplers

SAMPLERS = tuple(samplers())
_OWN = {name: {field.name for field in dataclasses.fields(kind)} for name, kind in samplers().items()}
_ALL = set().union(*_OWN.values())


def sampler_config(name: str = "entropy", **settings: Any) -> SamplerConfig:
    others = _ALL - _OWN.get(name, _ALL)
    return SamplerConfig.of({"name": name, **{key: value for key, value in settings.items() if key not in others}})
