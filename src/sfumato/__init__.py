"""Run, train and serve text diffusion models, which refine a whole canvas of tokens at once.

Public names load on first use, so `import sfumato` is fast and does not import torch.
"""

# ruff: noqa: F403, F405
from __future__ import annotations

# Defined here instead of imported: the first line of a command must run as soon as possible.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sfumato.api import *
    from sfumato.client import AsyncClient, Client
    from sfumato.errors import ServerError, StaleRevisionError, UnreachableError
    from sfumato.runs import TrainResult, train

    __version__: str

__all__ = [
    "AsyncClient",
    "AsyncEngine",
    "BusyError",
    "CanvasChanged",
    "CapacityError",
    "CheckpointError",
    "Client",
    "Committed",
    "ConfigError",
    "EditOptions",
    "Engine",
    "EngineConfig",
    "Event",
    "Finished",
    "GenerateOptions",
    "InfillOptions",
    "Mended",
    "Mender",
    "Reopened",
    "Request",
    "RequestError",
    "Result",
    "Sampler",
    "SamplerConfig",
    "SamplerOptions",
    "SearchConfig",
    "ServerError",
    "SfumatoError",
    "StaleRevisionError",
    "TextConstraint",
    "TextModel",
    "TrainResult",
    "Turn",
    "UnreachableError",
    "Usage",
    "__version__",
    "load",
    "load_mender",
    "train",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    # Errors and clients are cheap to import; everything else imports torch.
    modules = {"AsyncClient": "client", "Client": "client", "TrainResult": "runs", "train": "runs"}
    module = "errors" if name.endswith("Error") else modules.get(name, "api")
    return getattr(importlib.import_module(f"sfumato.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
