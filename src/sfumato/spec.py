"""GenerationSpec: how a checkpoint family generates.

Everything that differs between families is a field here. Code branches on these fields, never on a model's name.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sfumato.errors import ConfigError, unknown

Noise = Literal["mask", "uniform", "hybrid"]
PrefixAttention = Literal["causal", "full", "block"]
Commit = Literal["reencode", "in_place"]


@dataclass(frozen=True, kw_only=True)
class GenerationSpec:
    """How a checkpoint turns noise into text.

    Raises:
        ConfigError: if a field is not allowed; names the field, value and range.
    """

    noise: Noise = "uniform"
    """What the canvas starts from, and what positions return to when they are not accepted."""
    mask_id: int | None = None
    """Token id of the mask; required for mask and hybrid noise."""
    canvas_length: int = 64
    """Default number of positions denoised together; 1 makes the model autoregressive."""
    prefix_attention: PrefixAttention = "causal"
    """How the committed prefix attends to itself."""
    logit_shift: bool = False
    """True if the logits at position i predict position i + 1."""
    self_conditioning: bool = False
    """True if the model reads the soft embedding of its previous prediction."""
    commit: Commit = "reencode"
    """Whether a finished canvas is re-encoded for the cache, or the keys and values of its last step are kept."""
    next_token: bool = False
    """True if text positions also predict the token after them, so that the model can verify its own drafts
    (`SamplerConfig.draft_steps`)."""
    blanks: bool = False
    """True if end tokens in a gap stand for nothing, so that a gap may have more slots than its text needs."""

    def __post_init__(self) -> None:
        for field, allowed in (
            ("noise", get_args(Noise)),
            ("prefix_attention", get_args(PrefixAttention)),
            ("commit", get_args(Commit)),
        ):
            value = getattr(self, field)
            if value not in allowed:
                raise ConfigError(unknown(field, str(value), allowed))
        if self.canvas_length < 1:
            raise ConfigError(f"canvas_length is {self.canvas_length}; allowed: 1 or more")
        if self.canvas_length == 1 and not self.logit_shift:
            raise ConfigError(
                "canvas_length is 1 and logit_shift is False; allowed: logit_shift = true, because a "
                "canvas of one position is predicted from the token before it"
            )
        if self.next_token and not (self.logit_shift and self.prefix_attention == "causal"):
            raise ConfigError(
                f"next_token is True, logit_shift is {self.logit_shift} and prefix_attention is "
                f"{self.prefix_attention!r}; allowed: with logit_shift true and prefix_attention 'causal'"
            )
        if self.noise != "uniform" and self.canvas_length > 1 and self.mask_id is None:
            raise ConfigError(f"noise {self.noise!r} needs mask_id; it is not set")

    @property
    def autoregressive(self) -> bool:
        """True if a canvas is one position, predicted from the prefix alone."""
        return self.canvas_length == 1

    @property
    def read_fields(self) -> tuple[str, ...]:
        """The fields that affect how weights are read; canvas length does so only for blocks."""
        fields = ("noise", "mask_id", "prefix_attention", "logit_shift", "self_conditioning")
        return (*fields, "canvas_length") if self.prefix_attention == "block" else fields

    def describe(self) -> str:
        """A description for people."""
        if self.autoregressive:
            return "autoregressive"
        return f"{self.noise} noise, canvas {self.canvas_length}, prefix attention {self.prefix_attention}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for config.json."""
        return dataclasses.asdict(self)


DEFAULT = GenerationSpec()
"""Random tokens on a canvas of 64, after a causal prefix."""
