"""A decoder with the prefixes of a batch, as the sampler sees it.

The cache holds each row's committed tokens. Where a spec shifts its logits (position i predicts i + 1), the last
committed token is held back and read at the head of every canvas instead; a canvas of one position then reads
that token alone, which is autoregression.
"""

# R rows, L canvas, D model, V vocab

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sfumato.models.attention import KVCache
from sfumato.models.model import Model
from sfumato.spec import GenerationSpec


class PrefixedDenoiser:
    """Implements `sampling.Denoiser` over a KV cache with one row for each request row.

    Args:
        model: the decoder.
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
        self._pending = [prompts[prompt][-1] for prompt in prompt_of_row]
        filled = [self._prefill(prompt[: self.num_prefilled(prompt)]) for prompt in prompts]
        self._cache = KVCache.gather([(filled[prompt], 0) for prompt in prompt_of_row], num_slots)
        self._all = list(range(len(prompt_of_row)))
        self._rows, self._active = self._all, self._cache
        # Positions of the last step.
        self._width = 0

    def __call__(self, tokens_RL: Tensor, soft_RLD: Tensor | None, rows_R: Tensor, valid_RL: Tensor) -> Tensor:
        """Logits of every canvas position; see `sampling.Denoiser`."""
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
        """Positions of a prompt that go through the weights before the first canvas; 0 takes no forward."""
        return len(prompt) - 1 if self._spec.logit_shift else len(prompt)

    def soft_embedding(self, probs_RLV: Tensor) -> Tensor:
        """Mean embedding under token probabilities."""
        return self._model.soft_embedding(probs_RLV)

    def commit(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> bool:
        """Move finished canvases into the prefix. Only these rows are kept, numbered anew from 0.

        Args:
            rows: the rows that go on.
            tokens: the canvas of each.

        Returns:
            True if the keys and values of the last step were kept, False if it took a forward.
        """
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
            self._model(tokens_RL, kept.positions(longest), kept.attention(longest, block=1), cache=kept)
            kept.advance(counts)
        self._pending, self._cache, self._all = [canvas[-1] for canvas in tokens], kept, list(range(len(rows)))
        self._rows, self._active = self._all, kept
        return in_place

    def _take_back(self) -> None:
        """Bring home the last keys and values of rows that were denoised apart, if a commit is to keep them."""
        if self._spec.commit == "in_place" and self._active is not self._cache:
            self._cache.take_back(self._active, self._rows, self._width)

    def _prefill(self, prompt: Sequence[int]) -> KVCache:
        cache = self._model.new_cache(1, max(1, len(prompt)))
        if prompt:
            tokens_1Q = torch.tensor([list(prompt)], device=self._model.device)
            spec = cache.attention(len(prompt), block=1)
            self._model(tokens_1Q, cache.positions(len(prompt)), spec, cache=cache)
            cache.advance([len(prompt)])
        return cache
