"""The KV cache: pages of slots, shared between texts that begin alike.

A text reserves at its start all the pages it may ever need, so that it never has to be thrown out half-way. Pages that
are full of committed tokens are kept by content: a later text that begins with the same tokens takes them over, and
reads what an earlier one wrote. Nobody writes a page that has become shared: it is full, and texts only grow. Pages
that no open text uses stay as long as there is room, and go in the order of last use.
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
from sfumato.kernels.base import KVPool, Numbers
from sfumato.machine import free_memory
from sfumato.models.model import Model

Key = tuple[int, tuple[int, ...]]
"""What a full page holds: the page before it (0 for none) under its serial number, and its own tokens."""


@dataclass
class CachedText:
    """One open text: which slots its positions have, and how many of them are committed."""

    pages: list[int]
    slot_S: Numbers
    """int64; the slot of each position that it may come to have."""
    run: bool
    """Whether the slots are neighbours, in order."""
    tokens: list[int]
    """Committed tokens, whose keys and values are written."""
    num_reused: int
    """How many of them it found written."""
    awaited: Key | None = None
    """The page of its prompt that it writes next; others that begin alike wait for it."""
    serials: list[int] = field(default_factory=list)
    """Of its full pages, in order."""
    private: bool = False
    """Whether from here on its keys and values are not what its tokens alone make them."""

    @property
    def length(self) -> int:
        """Committed positions."""
        return len(self.tokens)


class KVCache:
    """Pages of a pool.

    Args:
        pool: the slots; its first page belongs to no text.
        page_size: positions of a page.
        reuse: take over the pages of texts that begin alike.
    """

    def __init__(self, pool: KVPool, page_size: int = 16, *, reuse: bool = True) -> None:
        self.pool, self.page_size, self.reuse = pool, page_size, reuse
        self.num_pages = pool.num_slots // page_size - 1
        assert self.num_pages > 0
        self._free = list(range(1, self.num_pages + 1))
        """Ascending, so that neighbours are found."""
        self._users: dict[int, int] = {}
        """Page -> open texts that read it."""
        self._idle: OrderedDict[int, None] = OrderedDict()
        """Kept pages without users, the one to go first at the front."""
        self._page_of: dict[Key, int] = {}
        self._key_of: dict[int, Key] = {}
        self._serial_of: dict[int, int] = {}
        """Of kept pages. Serial numbers are never used again, so a key cannot come to mean another text."""
        self._last_serial = 0
        self._awaited: dict[Key, int] = {}
        """Pages being written -> by how many texts."""

    @property
    def num_used(self) -> int:
        """Pages that open texts hold."""
        return len(self._users)

    @property
    def num_idle(self) -> int:
        """Pages kept for texts to come."""
        return len(self._idle)

    @property
    def num_free(self) -> int:
        """Pages that hold nothing."""
        return len(self._free)

    def pages_for(self, num_positions: int) -> int:
        """How many pages that many positions take."""
        return -(-num_positions // self.page_size)

    def check_fits(self, num_positions: int) -> None:
        """Refuse a text that would not fit if it were alone.

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
            prompt: the tokens it begins with; as many of them as are found written count as committed.
            num_positions: the most it may come to have.

        Returns:
            None if there is no room now, or if another text is just writing what this one begins with.
        """
        found, serials, key = self._match(prompt)
        if key is not None and key in self._awaited:
            return None
        num_new = self.pages_for(num_positions) - len(found)
        # Pages that are taken over cannot make room.
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
        """Count positions behind a text's end as committed; their keys and values are written.

        Args:
            text: an open text.
            tokens: what stands there.
            prompt: what the text is known to begin with, if that is longer than what is committed of it.
            exact: whether their keys and values are those of a forward over the text; otherwise this text is of no use
                to others from here on.
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
        """Give a text's pages back; those that are full of committed tokens are kept as long as there is room."""
        self._await(text, None)
        # Later pages are of no use without earlier ones, so they go first.
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
        """The key of the page that follows some full ones, if the tokens of a text fill it."""
        start = len(serials) * self.page_size
        own = tuple(tokens[start : start + self.page_size])
        return (serials[-1] if serials else 0, own) if len(own) == self.page_size else None

    def _match(self, tokens: Sequence[int]) -> tuple[list[int], list[int], Key | None]:
        """The kept pages that a text begins with, their serial numbers, and the key of the first that is missing."""
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
        """Make the next full page of a text known; if its like is known already, it stays the text's own."""
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
        """Say which page a text writes next."""
        if text.awaited is not None:
            self._awaited[text.awaited] -= 1
            if self._awaited[text.awaited] == 0:
                del self._awaited[text.awaited]
        text.awaited = key
        if key is not None:
            self._awaited[key] = self._awaited.get(key, 0) + 1

    def _take(self, count: int) -> list[int]:
        """Pages for a new text, neighbours if there are any."""
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
    """Positions whose keys and values a quarter of a device's free memory holds."""
    free_bytes = torch.cuda.mem_get_info(model.device)[0] if model.device.type == "cuda" else free_memory()
    bytes_each = sum(2 * heads * size for heads, size in model.cache_heads) * model.embedding_VD.element_size()
    return free_bytes // 4 // bytes_each
