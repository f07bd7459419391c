"""Text diffusion: models that refine a whole canvas of tokens at once.

The public names load when they are first used, so that `import sfumato` costs nothing and pulls in no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.engine.async_engine import AsyncEngine
    from sfumato.engine.engine import Engine, EngineConfig
    from sfumato.engine.model import TextModel, load
    from sfumato.engine.request import CanvasChanged, Committed, Event, Finished, Reopened, Request, Result, Usage
    from sfumato.errors import CapacityError, CheckpointError, ConfigError, RequestError, SfumatoError
    from sfumato.sampling.settings import SamplerConfig

    __version__: str

__all__ = [
    "AsyncEngine",
    "CanvasChanged",
    "CapacityError",
    "CheckpointError",
    "Committed",
    "ConfigError",
    "Engine",
    "EngineConfig",
    "Event",
    "Finished",
    "Reopened",
    "Request",
    "RequestError",
    "Result",
    "SamplerConfig",
    "SfumatoError",
    "TextModel",
    "Usage",
    "__version__",
    "load",
]

_MODULES = {
    "sfumato.engine.async_engine": ("AsyncEngine",),
    "sfumato.engine.engine": ("Engine", "EngineConfig"),
    "sfumato.engine.model": ("TextModel", "load"),
    "sfumato.engine.request": (
        "CanvasChanged",
        "Committed",
        "Event",
        "Finished",
        "Reopened",
        "Request",
        "Result",
        "Usage",
    ),
    "sfumato.errors": ("CapacityError", "CheckpointError", "ConfigError", "RequestError", "SfumatoError"),
    "sfumato.sampling.settings": ("SamplerConfig",),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
