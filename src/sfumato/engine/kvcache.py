"""The KV cache: pages of slots, shared between texts with the same prefix.

A text reserves all the pages it may ever need at its start, so it is never evicted half-way. Full pages of committed
tokens are kept by content: a later text with the same prefix reuses them. A shared page is never written: it is full,
and texts only grow. Unused pages stay while there is room and are evicted least recently used first.
"""

from __future__ import annotations

import bisect
import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from sfumato.errors import CapacityError
from sfumato.kernels.base import KVPool
from sfumato.layout import Numbers
from sfumato.machine import free_memory
from sfumato.models.model import Model

Key = tuple[int, tuple[int, ...]]
"""Content of a full page: the serial number of the page before it (0 for none), and its own tokens."""


@dataclass
class CachedText:
    """One open text: the slots of its positions, and how many are committed."""

    pages: list[int]
    slot_S: Numbers
    """int64; slot of each position it may have."""
    run: bool
    tokens: list[int]
    """Committed tokens, whose keys and values are written."""
    num_reused: int
    awaited: Key | None = None
    """The prompt page it writes next; texts with the same prefix wait for it."""
    serials: list[int] = field(default_factory=list)
    """Keys of its full pages, in order."""
    private: bool = False
    """Whether its keys and values from here on depend on more than its tokens."""

    @property
    def length(self) -> int:
        """Number of committed positions."""
        return len(self.tokens)


class KVCache:
    """The pages of a pool.

    Args:
        pool: slots for keys and values; its first page belongs to no text.
        reuse: share pages between texts with the same prefix.
    """

    def __init__(self, pool: KVPool, page_size: int = 16, *, reuse: bool = True) -> None:
        self.pool, self.page_size, self.reuse = pool, page_size, reuse
        self.num_pages = pool.num_slots // page_size - 1
        assert self.num_pages > 0
        self._free = list(range(1, self.num_pages + 1))
        """Ascending, to find consecutive pages."""
        self._users: dict[int, int] = {}
        """Page -> number of open texts that read it."""
        self._idle: OrderedDict[int, None] = OrderedDict()
        """Cached pages without users, least recently used first."""
        self._page_of: dict[Key, int] = {}
        self._key_of: dict[int, Key] = {}
        self._serial_of: dict[int, int] = {}
        """Serial numbers of cached pages. They are never reused, so a key cannot come to mean another text."""
        self._last_serial = 0
        self._awaited: dict[Key, int] = {}
        """Keys of pages being written -> number of texts writing them."""

    @property
    def num_used(self) -> int:
        """Pages held by open texts."""
        return len(self._users)

    @property
    def num_idle(self) -> int:
        """Cached pages for later texts."""
        return len(self._idle)

    @property
    def num_free(self) -> int:
        return len(self._free)

    def pages_for(self, num_positions: int) -> int:
        return -(-num_positions // self.page_size)

    def check_fits(self, num_positions: int) -> None:
        """Refuse a text that would not fit even alone.

        Raises:
            CapacityError: with the numbers.
        """
        if self.pages_for(num_positions) > self.num_pages:
            raise CapacityError(
                f"prompt and answer may take {num_positions} positions; the cache holds "
                f"{self.num_pages * self.page_size}: shorten the prompt, ask for fewer tokens, or give the engine "
                "a larger cache"
            )

    def open(self, prompt: Sequence[int], num_positions: int) -> CachedText | None:
        """Reserve room for a text.

        Args:
            prompt: its first tokens; those found in the cache count as committed.
            num_positions: the maximum it may need.

        Returns:
            None if there is no room now, or if another text is currently writing the same prefix.
        """
        found, serials, key = self._match(prompt)
        if key is not None and key in self._awaited:
            return None
        num_new = self.pages_for(num_positions) - len(found)
        # Reused pages cannot be evicted to make room.
        num_kept = sum(page in self._idle for page in found)
        if num_new > len(self._free) + len(self._idle) - num_kept:
            return None
        for page in found:
            self._idle.pop(page, None)
            self._users[page] = self._users.get(page, 0) + 1
        pages = [*found, *self._take(num_new)]
        text = CachedText(
            pages=pages,
            slot_S=self._slots(pages),
            run=all(b == a + 1 for a, b in itertools.pairwise(pages)),
            tokens=list(prompt[: len(found) * self.page_size]),
            num_reused=len(found) * self.page_size,
            serials=serials,
        )
        self._await(text, key)
        return text

    def commit(
        self, text: CachedText, tokens: Sequence[int], prompt: Sequence[int] = (), *, exact: bool = True
    ) -> None:
        """Count positions at a text's end as committed, with keys and values written.

        Args:
            prompt: the known start of the text, if that is longer than what is committed.
            exact: whether keys and values equal those of a forward over the text; otherwise this text shares no pages
                from here on.
        """
        text.tokens += tokens
        text.private |= not exact
        if not self.reuse or text.private:
            self._await(text, None)
            return
        while (len(text.serials) + 1) * self.page_size <= text.length:
            self._keep(text)
        self._await(text, self._key(text.serials, prompt))

    def close(self, text: CachedText) -> None:
        """Release a text's pages; full pages of committed tokens stay cached while there is room."""
        self._await(text, None)
        # Later pages are useless without earlier ones, so evict them first.
        for page in reversed(text.pages):
            self._users[page] -= 1
            if self._users[page] == 0:
                del self._users[page]
                if page in self._key_of:
                    self._idle[page] = None
                else:
                    bisect.insort(self._free, page)
        text.pages = []

    def _slots(self, pages: Sequence[int]) -> Numbers:
        page_P1 = np.array(pages, dtype=np.int64)[:, None]
        return (page_P1 * self.page_size + np.arange(self.page_size)).flatten()

    def _key(self, serials: Sequence[int], tokens: Sequence[int]) -> Key | None:
        """The key of the page after some full pages, if the text's tokens fill it."""
        start = len(serials) * self.page_size
        page_tokens = tuple(tokens[start : start + self.page_size])
        return (serials[-1] if serials else 0, page_tokens) if len(page_tokens) == self.page_size else None

    def _match(self, tokens: Sequence[int]) -> tuple[list[int], list[int], Key | None]:
        """The cached pages a text begins with, their serial numbers, and the first missing key."""
        pages: list[int] = []
        serials: list[int] = []
        while self.reuse and (key := self._key(serials, tokens)) is not None:
            page = self._page_of.get(key)
            if page is None:
                return pages, serials, key
            pages.append(page)
            serials.append(self._serial_of[page])
        return pages, serials, None

    def _keep(self, text: CachedText) -> None:
        """Register the next full page of a text; if an equal one is registered already, it stays private."""
        key = self._key(text.serials, text.tokens)
        assert key is not None
        if key in self._page_of:
            text.serials.append(self._serial_of[self._page_of[key]])
            return
        page = text.pages[len(text.serials)]
        self._last_serial += 1
        self._page_of[key], self._key_of[page], self._serial_of[page] = page, key, self._last_serial
        text.serials.append(self._last_serial)

    def _await(self, text: CachedText, key: Key | None) -> None:
        """Register which page a text writes next."""
        if text.awaited is not None:
            self._awaited[text.awaited] -= 1
            if self._awaited[text.awaited] == 0:
                del self._awaited[text.awaited]
        text.awaited = key
        if key is not None:
            self._awaited[key] = self._awaited.get(key, 0) + 1

    def _take(self, count: int) -> list[int]:
        """Allocate pages for a new text, consecutive if possible."""
        while len(self._free) < count:
            page, _ = self._idle.popitem(last=False)
            del self._page_of[self._key_of.pop(page)], self._serial_of[page]
            bisect.insort(self._free, page)
        firsts = range(len(self._free) - count + 1) if count else ()
        first = next((i for i in firsts if self._free[i + count - 1] - self._free[i] == count - 1), 0)
        taken = self._free[first : first + count]
        del self._free[first : first + count]
        for page in taken:
            self._users[page] = 1
        return taken


def num_affordable(model: Model) -> int:
    """Number of positions whose keys and values fit a quarter of a device's free memory."""
    free_bytes = torch.cuda.mem_get_info(model.device)[0] if model.device.type == "cuda" else free_memory()
    bytes_each = sum(2 * heads * size for heads, size in model.cache_heads) * model.embedding_VD.element_size()
    return free_bytes // 4 // bytes_each
