"""PrefixLayout: where a text and the canvas after it stand, what reads what, and what stays in the cache.

| prefix | a text position reads | a canvas reads | stays in the cache |
|---|---|---|---|
| causal | itself and what is before it | the prefix and itself | the prefix |
| block | its own block and what is before it | the prefix and itself: a canvas is a block | the prefix |
| full | text and canvas | text and canvas | nothing: every step computes both |

Where logits are shifted, position i predicts the token at i + 1. A canvas after a causal or block prefix is then read
one position to the left, from the last token of the prefix, which is not written ahead of it. In a full layout nothing
moves: its logits stand one position before it.
"""

# Q positions that a step computes

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.errors import ConfigError
from sfumato.spec import GenerationSpec

Positions = np.ndarray[Any, np.dtype[np.int64]]


class CanvasPositions(NamedTuple):
    """What one denoising step puts through the weights, in order of position.

    A token is named by its place after the prefix: the canvas starts at 0, the end of the prefix is negative.
    """

    start: int
    """Position in the text of the segment's first; what is before it is read from the cache."""
    end: int
    """Position after the segment's last, whether computed in this step or before."""
    token_Q: Positions
    """The token that each position reads."""
    canvas_Q: Positions
    """The canvas position whose soft embedding and canvas mark each takes; negative for text."""
    logits_Q: Positions
    """The canvas position that each predicts; outside of the canvas for none."""


class PrefixLayout:
    """How a model reads text and canvas."""

    def __init__(self, spec: GenerationSpec) -> None:
        self.spec = spec
        self.setting = f"prefix_attention is {spec.prefix_attention!r}"
        """For messages."""
        self.causal = spec.prefix_attention == "causal"
        """Whether a text position reads what is before it alone."""
        self.full = spec.prefix_attention == "full"
        """Whether text reads the canvas after it, so that nothing written stays as it is."""
        self.fixed_canvas = spec.prefix_attention == "block"
        """Whether a canvas is a block of the prefix, and so always of the length in the spec."""
        self.block = spec.canvas_length if self.fixed_canvas else 1
        """Positions of the prefix that read each other; 1 is causal."""
        self.shift = int(spec.logit_shift)
        """A token is predicted so many positions before its own."""
        self.canvas_shift = 0 if self.full else self.shift
        """A canvas is read so many positions to the left."""
        self.logits_shift = self.shift - self.canvas_shift
        """What predicts a canvas position stands so many positions before the one that reads it."""
        self.keeps_canvas = spec.commit == "in_place" and not self.full
        """Whether the keys and values of a canvas's last step stay in the cache when it is committed."""
        self.reopens = spec.commit == "reencode" and not self.fixed_canvas
        """Whether a committed canvas can be denoised again: it is encoded anew, whatever its length."""
        self.no_length_head = None if self.causal else "does not read its prefixes causally, as a length head does"
        """Why a length head cannot read this prefix; None if it can."""

    def check_trainable(self) -> None:
        """Refuse a layout that no training rows are made for.

        Raises:
            ConfigError: naming the field.
        """
        if self.fixed_canvas and self.shift:
            raise ConfigError(f"logit_shift is true and {self.setting}; allowed in training: false")

    def num_written(self, num_text: int) -> int:
        """How many tokens of a text are written before a canvas after it can be read."""
        return 0 if self.full else num_text - self.shift

    def num_whole(self, num_tokens: int) -> int:
        """How many of some tokens fill whole blocks; the rest stands frozen at the head of the next canvas."""
        return num_tokens // self.block * self.block

    def num_reserved(self, num_tokens: int) -> int:
        """Positions that a text of so many tokens takes at most, its last canvas included."""
        return -(-num_tokens // self.block) * self.block

    def canvas_length(self, wanted: int, num_left: int) -> int:
        """Positions of a canvas: no more than are left, but a block is whole."""
        return self.spec.canvas_length if self.fixed_canvas else min(wanted, num_left)

    def num_step(self, num_text: int, length: int) -> int:
        """Positions that a step over a whole canvas computes."""
        return num_text + length if self.full else length

    def canvas_positions(self, num_text: int, length: int, decided: Positions | None = None) -> CanvasPositions:
        """What a step over a canvas computes.

        Args:
            num_text: tokens before the canvas.
            length: positions of the canvas.
            decided: the canvas positions to decide, ascending, where the others, and the text, stay as they were
                computed last; None computes all.
        """
        start, shift = self.num_written(num_text), self.shift
        if decided is None:
            token_Q = np.arange(start, num_text + length - self.canvas_shift) - num_text
        elif self.full:
            token_Q = np.union1d(decided, decided - shift)
        else:
            # What reads a token that may have changed is computed with it.
            canvas_Q = np.union1d(decided, decided + shift)
            token_Q = canvas_Q[canvas_Q < length] - shift
        end = num_text + length - self.canvas_shift
        return CanvasPositions(start, end, token_Q, token_Q + self.canvas_shift, token_Q + shift)
