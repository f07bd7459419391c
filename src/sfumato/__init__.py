"""Text diffusion: models that refine a whole canvas of tokens at once.

The public names load when they are first used, so that `import sfumato` costs nothing and pulls in no torch.
"""

# ruff: noqa: F403, F405
from __future__ import annotations

# As type checkers know it, without the import: the first line of a command has to run as soon as it can.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sfumato.api import *
    from sfumato.runs import TrainResult, train

    __version__: str

__all__ = [
    "AsyncEngine",
    "CanvasChanged",
    "CapacityError",
    "CheckpointError",
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
    "SfumatoError",
    "TextConstraint",
    "TextModel",
    "TrainResult",
    "Turn",
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

    # Errors cost nothing; all else imports torch.
    module = "errors" if name.endswith("Error") else "runs" if name in ("TrainResult", "train") else "api"
    return getattr(importlib.import_module(f"sfumato.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
