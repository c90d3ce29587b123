"""Delta tables: upsert by key, delete, scan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lakerace import _lakerace
from lakerace._api import Requests, scan, schema
from lakerace._scan import Scan

if TYPE_CHECKING:
    from lakerace._api import ArrowStream, Location


class Changed(NamedTuple):
    """What an upsert or a delete did and what it cost."""

    #: Rows written, or deleted.
    rows: int
    #: The version that was made; `None` where there was nothing to do.
    version: int | None
    #: Rows of the table that were replaced or deleted.
    rows_hidden: int
    #: New files.
    files_added: int
    #: Files without a row left.
    files_removed: int
    #: Files whose key columns, or those of the condition, were read.
    files_probed: int
    #: Files that got a new deletion vector.
    vectors: int
    #: Bytes received from stores.
    bytes_read: int
    #: Bytes sent to stores.
    bytes_written: int
    #: Requests by kind.
    requests: Requests
    #: From start to end.
    wall_seconds: float
    #: User and system time of this process.
    cpu_seconds: float
    #: The most memory that this process had resident, in its whole life.
    peak_rss_bytes: int
    #: What the requests cost, in US dollars; nothing on local disks.
    cost_usd: float


class Table:
    """A Delta table by the folder that it is in. Opening it reads nothing."""

    __slots__ = ("_key", "_location", "_storage_options")

    def __init__(
        self,
        location: Location,
        *,
        key: str | Sequence[str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Names a table.

        Args:
            location: Its folder: a path or URL, with or without `delta:` in front.
            key: The columns by which upserts find rows; those that the table names (`lakerace.primaryKey`) by default.
            storage_options: Settings of the store.
        """
        text = os.fspath(location)
        self._location = text if text.lower().startswith("delta:") else f"delta:{text}"
        self._key = [key] if isinstance(key, str) else list(key or ())
        self._storage_options = dict(storage_options) if storage_options else None

    def __repr__(self) -> str:
        return f"<lakerace.Table {self._location!r}>"

    def upsert(
        self,
        source: Location | ArrowStream,
        *,
        key: str | Sequence[str] | None = None,
        on_duplicate: Literal["last", "error"] = "last",
        memory_limit: int | None = None,
    ) -> Changed:
        """Inserts rows, or replaces those of the table that have their key. No file is rewritten.

        Args:
            source: A location, a scan, or anything with `__arrow_c_stream__`.
            key: The key's columns, in place of the table's.
            on_duplicate: Rows of the source with the same key: the last one wins, or they are an error.
            memory_limit: Bytes that the source's rows may take; 1 GiB by default.

        Raises:
            ConflictError: Another writer has changed the table's schema, properties or protocol meanwhile.
            InvalidInputError: A key is null, or the rows don't fit the table.
            UnsupportedError: The table has no deletion vectors, or the rows take more than `memory_limit`.
        """
        columns = [key] if isinstance(key, str) else list(key or self._key)
        options: dict[str, Any] = {"key": columns, "on_duplicate": on_duplicate, "memory_limit": memory_limit}
        options["storage_options"] = self._storage_options
        rows: object = source
        if isinstance(source, (str, os.PathLike)):
            rows = os.fspath(source)
        elif isinstance(source, Scan):
            rows = source._native
        return _changed(_lakerace.upsert(self._location, rows, options))

    def delete(self, where: str) -> Changed:
        """Deletes the rows for which a SQL expression is true. No file is rewritten."""
        return _changed(_lakerace.delete(self._location, where, {"storage_options": self._storage_options}))

    def scan(self, **options: Any) -> Scan:
        """Plans a read; the arguments are those of :func:`lakerace.scan`."""
        return scan(self._location, storage_options=self._storage_options, **options)

    def schema(self, at: int | str | None = None) -> dict[str, Any]:
        """Columns, version, key, properties, rows, files and bytes; see :func:`lakerace.schema`."""
        return schema(self._location, at=at, storage_options=self._storage_options)


def _changed(made: dict[str, Any]) -> Changed:
    made["requests"] = Requests(**made["requests"])
    return Changed(**made)
