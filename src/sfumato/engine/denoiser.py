"""A model with the prefixes of a batch, as the sampler sees it.

Where the prefix does not see the canvas, its keys and values are cached; where it does (`prefix_attention = "full"`),
they change with every step and are computed again. Where a spec shifts its logits (position i predicts i + 1), the last
committed token is held back and read at the head of every canvas instead; a canvas of one position then reads
that token alone, which is autoregression.
"""

# R rows, L canvas, D model, V vocab

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from sfumato.models.attention import AttentionSpec, KVCache
from sfumato.models.model import Model
from sfumato.spec import GenerationSpec


class PrefixDenoiser(Protocol):
    """A `sampling.Denoiser` that holds the prefix of every row, and takes finished canvases into it."""

    def __call__(self, tokens_RL: Tensor, soft_RLD: Tensor | None, rows_R: Tensor, valid_RL: Tensor) -> Tensor:
        """Logits of every canvas position; see `sampling.Denoiser`."""
        ...

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        """Mean embedding under token probabilities."""
        ...

    def num_prefilled(self, prompt: Sequence[int]) -> int:
        """Positions of a prompt that go through the weights before the first canvas; 0 takes no forward."""
        ...

    def num_computed(self, row: int, length: int) -> int:
        """Positions that a step over a row's canvas of that length puts through the weights."""
        ...

    def commit(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> bool:
        """Move finished canvases into the prefix. Only these rows are kept, numbered anew from 0.

        Args:
            rows: the rows that go on.
            tokens: the canvas of each.

        Returns:
            True if it took a forward.
        """
        ...


def make_denoiser(
    model: Model,
    spec: GenerationSpec,
    prompts: Sequence[Sequence[int]],
    prompt_of_row: Sequence[int],
    num_slots: int,
) -> PrefixDenoiser:
    """The denoiser that a spec asks for.

    Args:
        model, spec, prompts, prompt_of_row, num_slots: see `CachedDenoiser`.
    """
    if spec.prefix_attention == "full":
        return FullDenoiser(model, spec, [prompts[prompt] for prompt in prompt_of_row])
    return CachedDenoiser(model, spec, prompts, prompt_of_row, num_slots)


class FullDenoiser:
    """Every position reads every other, prefix and canvas alike, so each step computes all of them (LLaDA, Dream).

    Args:
        model: the model.
        spec: how it generates.
        prefixes: the tokens before the canvas of each row, none empty.
    """

    def __init__(self, model: Model, spec: GenerationSpec, prefixes: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._spec = spec
        self._prefixes = [list(prefix) for prefix in prefixes]

    def __call__(self, tokens_RL: Tensor, soft_RLD: Tensor | None, rows_R: Tensor, valid_RL: Tensor) -> Tensor:
        device, length = tokens_RL.device, tokens_RL.shape[1]
        prefixes = [self._prefixes[row] for row in rows_R.tolist()]
        longest = max(map(len, prefixes))
        # Canvases start at the same column, so that one slice holds them all; what stands before a prefix is padding.
        padded = [[0] * (longest - len(prefix)) + prefix for prefix in prefixes]
        text_RQ = torch.cat((torch.tensor(padded, device=device), tokens_RL), dim=1)
        start_R1 = torch.tensor([[longest - len(prefix)] for prefix in prefixes], device=device)
        place_Q = torch.arange(text_RQ.shape[1], device=device)
        positions_RQ = (place_Q - start_R1).clamp_min(0)
        mask_R11Q = None
        if not bool(valid_RL.all()) or longest > min(map(len, prefixes)):
            read_RQ = place_Q >= start_R1
            read_RQ[:, longest:] &= valid_RL
            mask_R11Q = read_RQ[:, None, None]
        on_canvas_RQ = (place_Q >= longest).expand(len(prefixes), -1)
        if soft_RLD is not None:
            soft_RLD = torch.cat((soft_RLD.new_zeros(len(prefixes), longest, soft_RLD.shape[-1]), soft_RLD), dim=1)
        hidden_RQD = self._model(
            text_RQ, positions_RQ, AttentionSpec(mask=mask_R11Q), canvas_RQ=on_canvas_RQ, soft_RQD=soft_RLD
        )
        first = longest - int(self._spec.logit_shift)
        return self._model.logits(hidden_RQD[:, first : first + length])

    def num_prefilled(self, prompt: Sequence[int]) -> int:
        return 0

    def num_computed(self, row: int, length: int) -> int:
        return len(self._prefixes[row]) + length

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        return self._model.soft_embedding(probs_RLV)

    def commit(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> bool:
        pairs = zip(rows, tokens, strict=True)
        self._prefixes = [[*self._prefixes[row], *canvas] for row, canvas in pairs]
        return False


class CachedDenoiser:
    """Keeps the keys and values of each row's prefix, which never reads the canvas.

    Args:
        model: the model.
        spec: how it generates.
        prompts: the distinct prompts, token ids, none empty.
        prompt_of_row: for each row, the index of its prompt; a prompt shared by rows is prefilled once.
        num_slots: room of the cache: the longest prefix plus the longest canvas.
    """

    def __init__(
        self,
        model: Model,
        spec: GenerationSpec,
        prompts: Sequence[Sequence[int]],
        prompt_of_row: Sequence[int],
        num_slots: int,
    ) -> None:
        self._model = model
        self._spec = spec
        # Positions that read each other in the prefix; a commit is always of whole blocks.
        self._block = spec.canvas_length if spec.prefix_attention == "block" else 1
        self._pending = [prompts[prompt][-1] for prompt in prompt_of_row]
        filled = [self._prefill(prompt[: self.num_prefilled(prompt)]) for prompt in prompts]
        self._cache = KVCache.gather([(filled[prompt], 0) for prompt in prompt_of_row], num_slots)
        self._all = list(range(len(prompt_of_row)))
        self._rows, self._active = self._all, self._cache
        # Positions of the last step.
        self._width = 0

    def __call__(self, tokens_RL: Tensor, soft_RLD: Tensor | None, rows_R: Tensor, valid_RL: Tensor) -> Tensor:
        rows = rows_R.tolist()
        if rows != self._rows:
            self._take_back()
            self._rows = rows
            self._active = self._cache if rows == self._all else self._cache.select(rows)
        cache, length = self._active, tokens_RL.shape[1]
        self._width = length
        single = self._spec.autoregressive
        if self._spec.logit_shift:
            pending_R1 = torch.tensor([self._pending[row] for row in rows], device=tokens_RL.device)[:, None]
            tokens_RL = torch.cat((pending_R1, tokens_RL[:, :-1]), dim=1)
        canvas_RL = None if single else torch.ones_like(tokens_RL, dtype=torch.bool)
        hidden_RLD = self._model(
            tokens_RL,
            cache.positions(length),
            cache.attention(length, block=1 if single else None, widths=valid_RL.sum(-1).tolist()),
            cache=cache,
            canvas_RQ=canvas_RL,
            soft_RQD=soft_RLD,
        )
        return self._model.logits(hidden_RLD)

    def num_prefilled(self, prompt: Sequence[int]) -> int:
        if self._spec.logit_shift:
            return len(prompt) - 1
        return len(prompt) // self._block * self._block

    def num_computed(self, row: int, length: int) -> int:
        return length

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        return self._model.soft_embedding(probs_RLV)

    def commit(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> bool:
        if self._spec.logit_shift:
            pending = [self._pending[row] for row in rows]
            written = [[first, *canvas[:-1]] for first, canvas in zip(pending, tokens, strict=True)]
        else:
            written = [list(canvas) for canvas in tokens]
        counts = [len(canvas) for canvas in written]
        in_place = self._spec.commit == "in_place"
        if in_place:
            self._take_back()
            # Before the selection, which copies what is committed and no more.
            advanced = dict(zip(rows, counts, strict=True))
            self._cache.advance([advanced.get(row, 0) for row in self._all])
        kept = self._cache if list(rows) == self._all else self._cache.select(rows)
        if not in_place:
            longest = max(counts)
            # What pads a shorter canvas is written behind it and never counted as committed.
            padded = [[*canvas, *[0] * (longest - len(canvas))] for canvas in written]
            tokens_RL = torch.tensor(padded, device=self._model.device)
            self._model(tokens_RL, kept.positions(longest), kept.attention(longest, block=self._block), cache=kept)
            kept.advance(counts)
        self._pending, self._cache, self._all = [canvas[-1] for canvas in tokens], kept, list(range(len(rows)))
        self._rows, self._active = self._all, kept
        return not in_place

    def _take_back(self) -> None:
        """Bring home the last keys and values of rows that were denoised apart, if a commit is to keep them."""
        if self._spec.commit == "in_place" and self._active is not self._cache:
            self._cache.take_back(self._active, self._rows, self._width)

    def _prefill(self, prompt: Sequence[int]) -> KVCache:
        cache = self._model.new_cache(1, max(1, len(prompt)))
        if prompt:
            tokens_1Q = torch.tensor([list(prompt)], device=self._model.device)
            spec = cache.attention(len(prompt), block=self._block)
            self._model(tokens_1Q, cache.positions(len(prompt)), spec, cache=cache)
            cache.advance([len(prompt)])
        return cache
