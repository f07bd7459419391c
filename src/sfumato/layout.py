"""PrefixLayout: positions of text and canvas, who attends to whom, and what stays in the cache.

| prefix | a text position reads | a canvas reads | stays in the cache |
|---|---|---|---|
| causal | itself and what is before it | the prefix and itself | the prefix |
| block | its own block and what is before it | the prefix and itself: a canvas is a block | the prefix |
| full | text and canvas | text and canvas | nothing: every step computes both |

With shifted logits, position i predicts the token at i + 1. After a causal or block prefix, a canvas is then read one
position to the left, from the last token of the prefix, which is not written ahead of it. In a full layout nothing
moves: a position's logits stand one position before it.
"""

# Q positions computed in a step

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfumato.errors import ConfigError
from sfumato.spec import GenerationSpec

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class CanvasPositions(NamedTuple):
    """What one denoising step puts through the weights, ordered by position.

    Token indices are relative to the canvas start: 0 is the first canvas token, and prefix tokens are negative.
    """

    start: int
    """Text position of the segment's start; earlier positions are read from the cache."""
    end: int
    """Text position after the segment's end, whether computed in this step or before."""
    token_Q: Numbers
    """Token that each position reads."""
    canvas_Q: Numbers
    """Canvas position whose soft embedding and canvas mark each takes; negative for text."""
    logits_Q: Numbers
    """Canvas position that each predicts; outside the canvas for none."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Adjacent positions of one text that go through the weights together."""

    slot_S: Numbers
    """int64; the pool's slot of each position of the text, at least up to the end of this segment."""
    start: int
    """Text position of the start."""
    end: int
    """Text position after the end."""
    block: int | None = 1
    """A position attends up to the end of its own block of this size, counted from the start of the text: 1 is causal.
    None is a canvas, whose positions attend to all of it. Nothing attends past the segment."""
    run: bool = False
    """Whether the slots are consecutive."""
    place_Q: Numbers | None = None
    """int64, ascending; for a canvas, the positions to recompute, while others keep their last keys and values. None is
    all."""

    @property
    def count(self) -> int:
        """Number of positions that go through the weights."""
        return self.end - self.start if self.place_Q is None else len(self.place_Q)


class PrefixLayout:
    """How a model reads text and canvas."""

    def __init__(self, spec: GenerationSpec) -> None:
        self.spec = spec
        self.setting = f"prefix_attention is {spec.prefix_attention!r}"
        """For error messages."""
        self.causal = spec.prefix_attention == "causal"
        """Whether text attends only to earlier positions."""
        self.full = spec.prefix_attention == "full"
        """Whether text attends to the canvas after it, so that nothing written stays valid."""
        self.fixed_canvas = spec.prefix_attention == "block"
        """Whether a canvas is a block of the prefix, and so always has the spec's length."""
        self.block = spec.canvas_length if self.fixed_canvas else 1
        """Size of the blocks in which prefix positions attend to each other; 1 is causal."""
        self.shift = int(spec.logit_shift)
        """How many positions before a token its prediction stands."""
        self.canvas_shift = 0 if self.full else self.shift
        """How many positions to the left a canvas is read."""
        self.logits_shift = self.shift - self.canvas_shift
        """How many positions before a canvas position its prediction stands."""
        self.keeps_canvas = spec.commit == "in_place" and not self.full
        """Whether the keys and values of a canvas's last step are kept on commit."""
        self.reopens = spec.commit == "reencode" and not self.fixed_canvas
        """Whether a committed canvas can be denoised again, which re-encodes it."""
        self.no_length_head = None if self.causal else "does not read its prefixes causally, as a length head does"
        """Why a length head cannot read this prefix; None if it can."""

    def check_trainable(self) -> None:
        """Refuse a layout that training does not support.

        Raises:
            ConfigError: naming the field.
        """
        if self.fixed_canvas and self.shift:
            raise ConfigError(f"logit_shift is true and {self.setting}; allowed in training: false")

    def num_written(self, num_text: int) -> int:
        """How many tokens of a text must be written before the canvas after it can be read."""
        return 0 if self.full else num_text - self.shift

    def num_whole(self, num_tokens: int) -> int:
        """How many of these tokens fill whole blocks; the rest is frozen at the start of the next canvas."""
        return num_tokens // self.block * self.block

    def num_reserved(self, num_tokens: int) -> int:
        """Maximum positions of a text with this many tokens, including its last canvas."""
        return -(-num_tokens // self.block) * self.block

    def canvas_length(self, wanted: int, num_left: int) -> int:
        """Length of the next canvas: limited by what is left, except that a block is whole."""
        return self.spec.canvas_length if self.fixed_canvas else min(wanted, num_left)

    def num_step(self, num_text: int, length: int) -> int:
        """Positions that a step over a whole canvas computes."""
        return num_text + length if self.full else length

    def canvas_positions(self, num_text: int, length: int, decided: Numbers | None = None) -> CanvasPositions:
        """The positions that a step over a canvas computes.

        Args:
            num_text: tokens before the canvas.
            length: positions of the canvas.
            decided: canvas positions to decide, ascending; other positions and the text keep their last values. None
                computes all.
        """
        start, shift = self.num_written(num_text), self.shift
        if decided is None:
            token_Q = np.arange(start, num_text + length - self.canvas_shift) - num_text
        elif self.full:
            token_Q = np.union1d(decided, decided - shift)
        else:
            # Recompute everything that reads a token which may have changed.
            canvas_Q = np.union1d(decided, decided + shift)
            token_Q = canvas_Q[canvas_Q < length] - shift
        end = num_text + length - self.canvas_shift
        return CanvasPositions(start, end, token_Q, token_Q + self.canvas_shift, token_Q + shift)
