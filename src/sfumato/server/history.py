"""Canvases and their revisions in a database."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from sfumato.errors import ConfigError
from sfumato.server.failures import ApiError

_METADATA = sa.MetaData()
_CANVASES = sa.Table(
    "canvases",
    _METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("owner", sa.String(64), nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("prompt", sa.JSON, nullable=False),
    sa.Column("created", sa.Float, nullable=False, index=True),
)
_REVISIONS = sa.Table(
    "revisions",
    _METADATA,
    sa.Column("canvas_id", sa.String(64), sa.ForeignKey("canvases.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("rev", sa.Integer, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("made_by", sa.String(16), nullable=False),
    sa.Column("details", sa.JSON, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
_ASSETS = sa.Table(
    "assets",
    _METADATA,
    sa.Column("canvas_id", sa.String(64), sa.ForeignKey("canvases.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("slot", sa.String(64), primary_key=True),
    sa.Column("asset", sa.JSON, nullable=False),
)
Row = Mapping[str, Any]


class History:
    """Database of canvases. Its methods block: call them in a thread.

    Args:
        url: an SQLAlchemy URL, such as "sqlite:///canvases.db", or the path of an SQLite file.

    Raises:
        ConfigError: if the database cannot be opened.
    """

    def __init__(self, url: str | Path) -> None:
        try:
            if isinstance(url, Path) or "://" not in url:
                Path(url).parent.mkdir(parents=True, exist_ok=True)
                url = f"sqlite:///{url}"
            # A connection that the database has closed meanwhile is opened again.
            self._engine: sa.Engine = sa.create_engine(url, pool_pre_ping=True)
            if self._engine.dialect.name == "sqlite":
                sa.event.listen(self._engine, "connect", _set_up_sqlite)
            _METADATA.create_all(self._engine)
        except (ModuleNotFoundError, OSError, SQLAlchemyError) as error:
            reason, shown = str(error).split("\n")[0], re.sub(r"(://[^:@/]*:).*@", r"\1***@", str(url))
            if isinstance(error, ModuleNotFoundError) and error.name == "psycopg":
                reason += ", pip install 'sfumato[postgres]'"
            raise ConfigError(f"cannot use the database {shown!r}: {reason}; allowed: a file, or a URL") from None

    def create(self, canvas_ids: Iterable[str], *, owner: str, model: str, prompt: object) -> None:
        """Store new canvases: all of them, or none."""
        row = {"owner": owner, "model": model, "prompt": prompt}
        rows = [row | {"id": canvas_id, "created": time.time()} for canvas_id in canvas_ids]
        with self._engine.begin() as connection:
            connection.execute(sa.insert(_CANVASES), rows)

    def add(self, canvas_id: str, rev: int, text: str, *, made_by: str, details: Row) -> None:
        """Store a revision; when this returns, it is on disk. 409 if it exists, 404 if the canvas was deleted."""
        row = {"canvas_id": canvas_id, "rev": rev, "text": text, "made_by": made_by, "details": dict(details)}
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.insert(_REVISIONS).values(**row, created=time.time()))
        except IntegrityError:
            if self.find(canvas_id) is None:
                raise ApiError(404, f"canvas {canvas_id} was deleted", code="canvas_not_found") from None
            raise ApiError(409, f"revision {rev} of canvas {canvas_id} already exists", code="stale_revision") from None

    def add_asset(self, canvas_id: str, asset: Row) -> None:
        """Store a slot's asset, replacing an earlier one; 404 if the canvas was deleted."""
        slot = asset["slot"]
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.delete(_ASSETS).where(_ASSETS.c.canvas_id == canvas_id, _ASSETS.c.slot == slot))
                connection.execute(sa.insert(_ASSETS).values(canvas_id=canvas_id, slot=slot, asset=dict(asset)))
        except IntegrityError:
            raise ApiError(404, f"canvas {canvas_id} was deleted", code="canvas_not_found") from None

    def find(self, canvas_id: str) -> dict[str, Any] | None:
        """A canvas with its last revision and its assets: id, owner, model, prompt, created; rev, text, made_by and
        details, which are None without a revision; assets by slot."""
        return next(iter(self._read(sa.select(_CANVASES).where(_CANVASES.c.id == canvas_id))), None)

    def newest(self, owner: str, limit: int, after: str | None = None) -> list[dict[str, Any]]:
        """An owner's canvases as `find` returns them, newest first.

        Args:
            after: id of the last canvas of the page before.
        """
        wanted = sa.select(_CANVASES).where(_CANVASES.c.owner == owner)
        if after is not None:
            last = sa.select(_CANVASES.c.created).where(_CANVASES.c.id == after).scalar_subquery()
            same = (_CANVASES.c.created == last) & (_CANVASES.c.id > after)
            wanted = wanted.where((_CANVASES.c.created < last) | same)
        return self._read(wanted.order_by(_CANVASES.c.created.desc(), _CANVASES.c.id).limit(limit))

    def _read(self, wanted: sa.Select[Any]) -> list[dict[str, Any]]:
        """Canvases with their last revisions and their assets."""
        of_canvas = _REVISIONS.c.canvas_id == _CANVASES.c.id
        last = sa.select(sa.func.max(_REVISIONS.c.rev)).where(of_canvas).correlate(_CANVASES).scalar_subquery()
        is_last = of_canvas & (_REVISIONS.c.rev == last)
        columns = [_REVISIONS.c[name] for name in ("rev", "text", "made_by", "details")]
        with self._engine.connect() as connection:
            rows = connection.execute(wanted.outerjoin(_REVISIONS, is_last).add_columns(*columns)).mappings()
            found = {row["id"]: dict(row) | {"assets": {}} for row in rows}
            assets = sa.select(_ASSETS).where(_ASSETS.c.canvas_id.in_(list(found)))
            for row in connection.execute(assets).mappings():
                found[row["canvas_id"]]["assets"][row["slot"]] = row["asset"]
        return list(found.values())

    def revisions(self, canvas_id: str, limit: int | None = None, after: int = 0) -> list[dict[str, Any]]:
        """Revisions of a canvas, oldest first.

        Args:
            limit: maximum number; None for all.
            after: number of the last one of the page before.
        """
        columns = [column for column in _REVISIONS.c if column.name != "canvas_id"]
        wanted = sa.select(*columns).where(_REVISIONS.c.canvas_id == canvas_id, _REVISIONS.c.rev > after)
        with self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(wanted.order_by(_REVISIONS.c.rev).limit(limit)).mappings()]

    def last_other(self, canvas_id: str, before: int, text: str) -> tuple[int, str] | None:
        """Number and text of the last revision before another one whose text differs from the given one."""
        other = (_REVISIONS.c.rev < before) & (_REVISIONS.c.text != text)
        wanted = sa.select(_REVISIONS.c.rev, _REVISIONS.c.text).where(_REVISIONS.c.canvas_id == canvas_id, other)
        with self._engine.connect() as connection:
            row = connection.execute(wanted.order_by(_REVISIONS.c.rev.desc()).limit(1)).first()
        return None if row is None else (row.rev, row.text)

    def delete(self, canvas_id: str) -> None:
        """Delete a canvas and everything that belongs to it."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(_CANVASES).where(_CANVASES.c.id == canvas_id))

    def expire(self, before: float) -> None:
        """Delete canvases created before a time, with everything that belongs to them."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(_CANVASES).where(_CANVASES.c.created < before))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _set_up_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    # Readers do not wait for a writer, and commits survive a crash of the machine.
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {setting}")
