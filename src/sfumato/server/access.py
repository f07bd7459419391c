"""API keys, budgets and size limits."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter, RateLimiter, SlidingWindowCounterRateLimiter

from sfumato.config import check_number, from_table
from sfumato.errors import ConfigError
from sfumato.server.failures import ApiError
from sfumato.storage import write_atomically

_PREFIX = "sfu-"
_SHA256 = re.compile(r"[0-9a-f]{64}")
logger = logging.getLogger("sfumato.server")


@dataclass(frozen=True, kw_only=True)
class Key:
    """An API key with its budgets. The key itself is stored nowhere."""

    name: str
    sha256: str
    """SHA-256 of the key, in hexadecimal."""
    requests_per_minute: int | None = None
    positions_per_day: int | None = None
    """Budget of computed positions, the unit of cost (`Usage.positions_computed`)."""

    def __post_init__(self) -> None:
        if not isinstance(self.sha256, str) or not _SHA256.fullmatch(self.sha256):
            raise ConfigError(f"sha256 of key {self.name!r} is {self.sha256!r}; allowed: 64 digits 0-9 and a-f")
        for field in ("requests_per_minute", "positions_per_day"):
            if (value := getattr(self, field)) is not None:
                check_number(f"{field} of key {self.name!r}", value, 1, whole=True, error=ConfigError)


class Access:
    """Checks keys and their remaining budgets.

    Args:
        keys: without any, and without a file, requests need no key.
        path: file of the keys, read again whenever it changes.

    Raises:
        ConfigError: if the file cannot be read.
    """

    def __init__(self, keys: tuple[Key, ...] = (), *, path: Path | None = None) -> None:
        self.keys, self._path = keys, path
        self._changed: int | None = None
        self._refresh()
        storage = MemoryStorage()
        self._requests = MovingWindowRateLimiter(storage)
        # Remembers two numbers, and not every position.
        self._positions = SlidingWindowCounterRateLimiter(storage)

    def _refresh(self) -> None:
        """Read the file if it is new or has changed."""
        if self._path is None:
            return
        try:
            changed = self._path.stat().st_mtime_ns
        except OSError:
            changed = -1
        if changed != self._changed:
            self._changed = changed
            self.keys = _read(self._path)
            if not self.keys:
                logger.warning("%s has no keys: requests are refused until --add-key NAME creates one", self._path)

    def find(self, authorization: str | None, x_api_key: str | None = None) -> Key | None:
        """The key of a request, or None if none is needed; a missing or unknown one is refused (401)."""
        try:
            self._refresh()
        except ConfigError as error:
            # Those that were read before stay valid, until it can be read again.
            logger.warning("%s", error)
        if not self.keys and self._path is None:
            return None
        scheme, _, given = (authorization or "").partition(" ")
        given = given.strip() if scheme.lower() == "bearer" else x_api_key or ""
        if not given:
            given = "has no Bearer before the key" if authorization else "is missing"
            raise _refused(f"the header Authorization {given}; this server needs a key: Authorization: Bearer KEY")
        digest = hashlib.sha256(given.encode()).hexdigest()
        # All keys are compared, each in constant time.
        found = [key for key in self.keys if hmac.compare_digest(key.sha256, digest)]
        if not found:
            raise _refused("unknown API key")
        return found[0]

    def admit(self, key: Key | None) -> None:
        """Count a request; one over budget is refused with the seconds until there is room (429)."""
        if key is None:
            return
        if key.positions_per_day is not None:
            item: RateLimitItem = RateLimitItemPerDay(key.positions_per_day)
            if not self._positions.test(item, key.name, "positions_per_day"):
                raise _spent(self._positions, item, key, "positions_per_day")
        if key.requests_per_minute is not None:
            item = RateLimitItemPerMinute(key.requests_per_minute)
            if not self._requests.hit(item, key.name, "requests_per_minute"):
                raise _spent(self._requests, item, key, "requests_per_minute")

    def charge(self, name: str, positions: int) -> None:
        """Count the cost of an answer against the key of a name."""
        key = next((key for key in self.keys if key.name == name), None)
        if key is not None and key.positions_per_day is not None:
            item = RateLimitItemPerDay(key.positions_per_day)
            left = self._positions.get_window_stats(item, key.name, "positions_per_day").remaining
            # Started answers are finished: the last one may exceed the budget.
            self._positions.hit(item, key.name, "positions_per_day", cost=min(positions, left))


def _spent(limiter: RateLimiter, item: RateLimitItem, key: Key, budget: str) -> ApiError:
    reset = limiter.get_window_stats(item, key.name, budget).reset_time
    wait = max(1, round(reset - time.time()))
    message = f"{budget} of key {key.name!r} is {item.amount} and used up; try again in {wait} s"
    return ApiError(429, message, code="budget_spent", headers={"Retry-After": str(wait)})


def add_key(path: Path, name: str, limits: Mapping[str, int | None]) -> str:
    """Create a key and store its hash in a file.

    Args:
        limits: `requests_per_minute` and `positions_per_day`; None is unlimited.

    Returns:
        The key, which is stored nowhere else.

    Raises:
        ConfigError: if the name or a limit is not allowed, the name exists, or the file cannot be read.
    """
    keys = _read(path) if path.exists() else ()
    if not re.fullmatch(r"\w+", name, re.ASCII) or any(key.name == name for key in keys):
        raise ConfigError(
            f"the name of the key is {name!r}; allowed: a-z, A-Z, 0-9 and _, and not the name of an existing key"
        )
    key = _PREFIX + secrets.token_urlsafe(32)
    made = Key(name=name, sha256=hashlib.sha256(key.encode()).hexdigest(), **limits)
    lines = [f"[{name}]", f'sha256 = "{made.sha256}"']
    lines += [f"{limit} = {value}" for limit, value in limits.items() if value is not None]
    before = path.read_text(encoding="utf-8").strip("\n") if path.exists() else ""
    write_atomically(path, (f"{before}\n\n".lstrip("\n") + "\n".join(lines) + "\n").encode())
    return key


def _read(path: Path) -> tuple[Key, ...]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return tuple(_key(name, table) for name, table in tables.items())
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not a key file: {error}; `sfumato serve --add-key NAME` creates one") from None


def _key(name: str, table: object) -> Key:
    if not isinstance(table, dict):
        raise ConfigError(f"{name} is {table!r:.60}; allowed: tables, such as [{name}]")
    return from_table(Key, {**table, "name": name}, f"{name}.")


def _refused(message: str) -> ApiError:
    return ApiError(401, message, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})


# A coroutine, because FastAPI runs functions in a thread, which costs more than they do.
async def owner_of(request: Request) -> str:
    """Name of the request's key; empty if none is needed."""
    key: Key | None = request.state.key
    return key.name if key else ""


Owner = Annotated[str, Depends(owner_of)]
