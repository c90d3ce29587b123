"""Delta tables: upsert by key, delete, scan, and what they need from time to time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

from lakerace import _lakerace
from lakerace._api import Requests, dry_fields, scan, schema
from lakerace._arguments import checked_arguments, checked_methods
from lakerace._errors import Error
from lakerace._filter import with_parameters
from lakerace._job import with_job
from lakerace._location import location_text
from lakerace._progress import progress_shown
from lakerace._readable import ReadableRows
from lakerace._row_changes import RowChanges, change, planned_change
from lakerace._scan import Scan
from lakerace._sources import native_source
from lakerace._table_results import (
    Altered,
    Changed,
    Compacted,
    Finding,
    Restored,
    UpsertPlan,
    Vacuumed,
    Verified,
    Version,
)
from lakerace._warnings import issue_own

if TYPE_CHECKING:
    from lakerace._api import ArrowStream, Evolve, FileIo, JobDurability, Location, RowSource


@checked_methods
class Table(RowChanges, ReadableRows):
    """A Delta table by the folder that it is in. Opening it reads nothing.

    A table is an Arrow stream of the rows of its last version, as a :class:`Scan` of it is: `polars.DataFrame(table)`.

    Examples:
        >>> table = lr.Table("lake/orders")
        >>> table.version, len(table)
        (1, 4)
    """

    __slots__ = ("_key", "_location", "_name", "_storage_options")

    @checked_arguments
    def __init__(
        self,
        location: Location,
        *,
        key: str | Sequence[str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Names a table.

        Args:
            location: Its folder: a path or URL. With the prefix `delta:`, an upsert creates the table if it does not
                exist.
            key: The key columns. Default: the table's property `lakerace.primaryKey`.
            storage_options: Settings of the store. `allow_foreign_paths`: `"true"` lets the table's log name files in
                other stores than its own, such as local files for a table on S3.
        """
        text = location_text(location)
        self._name = text
        self._location = text if text.lower().startswith("delta:") else f"delta:{text}"
        self._key = [key] if isinstance(key, str) else list(key or ())
        self._storage_options = dict(storage_options) if storage_options else None

    def __repr__(self) -> str:
        return f"<lakerace.Table {self._location!r}>"

    def upsert(
        self,
        source: RowSource,
        *,
        key: str | Sequence[str] | None = None,
        on_duplicate: Literal["last", "error"] = "last",
        merge: Mapping[str, str] | None = None,
        insert_only: bool = False,
        evolve: Evolve | Sequence[Evolve] | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        io: FileIo | None = None,
        durability: JobDurability | None = None,
        auto_compact: bool = False,
        enable_deletion_vectors: bool = False,
        partition_by: str | Sequence[str] | None = None,
        table_properties: Mapping[str, str] | None = None,
        dry_run: bool = False,
        progress: bool = False,
    ) -> Changed:
        """Inserts rows, or replaces those of the table that have their key. Files are rewritten only where the table
        has no deletion vectors.

        If there is no table and its location starts with `delta:`, it is made first, in a separate version without rows:
        with the columns of the source, and the key as its property `lakerace.primaryKey`.

        Columns that the rows do not have keep the values of the row that is replaced, and are null in new rows.

        Args:
            source: A location or a list of them as for :func:`lakerace.scan`, a scan, anything with `__arrow_c_stream__`, a
                lazy frame of polars, or a list of dicts. A CSV file is read in the types of the table's columns.
            key: The key's columns, in place of the table's.
            on_duplicate: Rows of the source with the same key: the last one wins (with `merge`, all are combined), or error.
            merge: How to merge a column's new value with the table's value: `last` (the others' default),
                `last_not_null`, `sum`, `min`, `max` or `concat:SEPARATOR`. A null does not count.
            insert_only: Only insert rows with new keys; existing rows stay unchanged.
            evolve: Adapt the table's schema to the rows: `"add"` adds columns, `"widen"` widens numeric types (if the
                table allows it by `delta.enableTypeWidening`). A list of both does both.
            memory_limit: Approximate bytes of memory for rows, keys and buffers; 1 GiB by default. The rest is written
                to temporary files on the local disk (`TMPDIR`).
            threads: Threads that decode, sort and encode; the number of cores by default.
            io: How local files are written, as for :func:`lakerace.copy`.
            durability: Durability of local files, as for :func:`lakerace.copy`.
            auto_compact: Compact after the upsert, by the rules of `compact(auto=True)`. The rows are written even
                if it fails, which is a `LakeraceWarning`.
            enable_deletion_vectors: Enable deletion vectors on a table of another writer that lacks them: rows are hidden
                without rewriting files, and readers of the table must support them.
            partition_by: Partition columns of a table that the upsert creates.
            table_properties: Properties of a table that the upsert creates, in addition to the key.
            dry_run: Check the upsert without writing: the result's `planned` says what it would do.
            progress: Shows rows and bytes on a terminal or in a notebook while the upsert runs.

        Raises:
            ConflictError: Another writer has changed the table's schema, properties or protocol during the call.
            InvalidInputError: A key is null, or the rows don't fit the table.
            NotFoundError: There is no such table, or a column is not in it.
            UnsupportedError: The key columns have no equality to rely on, or files of rows with ids would be rewritten.

        Examples:
            >>> changed = lr.Table("lake/orders").upsert("changes.csv")
            >>> changed.rows, changed.rows_hidden, changed.version
            (2, 1, 2)
            >>> lr.Table("delta:lake/new", key="id").upsert([{"id": 1, "name": "ann"}]).rows
            1
        """
        options = self._options(key, memory_limit, threads)
        options |= {"on_duplicate": on_duplicate, "merge": dict(merge or {}), "insert_only": insert_only}
        options |= {"evolve": _names(evolve), "io": io, "durability": durability}
        options |= {"enable_deletion_vectors": enable_deletion_vectors}
        options |= {"partition_by": _names(partition_by), "table_properties": dict(table_properties or {})}
        rows = native_source(source, options)
        if dry_run:
            return planned_change(_lakerace.plan_upsert(self._name, rows, auto_compact, with_job(options)))
        with progress_shown(progress):
            changed = change(_lakerace.upsert(self._name, rows, with_job(options)))
        if not auto_compact or changed.version is None:
            return changed
        return changed._replace(compacted=compacted_after_write(self, threads=threads, io=io, durability=durability))

    def explain_upsert(
        self,
        source: RowSource,
        *,
        key: str | Sequence[str] | None = None,
        memory_limit: int | str | None = None,
        enable_deletion_vectors: bool = False,
    ) -> UpsertPlan:
        """Plans an upsert: which files may have the rows' keys, what is read of them, and whether their rows are hidden or
        rewritten.

        Reads the source, the table's log, and the footers of the files that may have one of the keys.

        Args:
            source: As for :meth:`upsert`.
            key: The key's columns, in place of the table's.
            memory_limit: Bytes that rows, keys and buffers of the upsert may take.
            enable_deletion_vectors: The plan of an upsert that gives a table deletion vectors.

        Examples:
            >>> plan = lr.Table("lake/orders").explain_upsert("changes.csv")
            >>> plan.to_dict()["rows"]
            2
        """
        options = self._options(key, memory_limit)
        options |= {"enable_deletion_vectors": enable_deletion_vectors}
        return UpsertPlan(*_lakerace.explain_upsert(self._location, native_source(source, options), with_job(options)))

    def compact(
        self,
        *,
        target_size: int | str | None = None,
        sort_by: str | Sequence[str] | None = None,
        zorder: str | Sequence[str] | None = None,
        where: str | None = None,
        params: Sequence[object] | None = None,
        memory_limit: int | str | None = None,
        auto: bool = False,
        compression: str | None = None,
        dry_run: bool = False,
        threads: int | None = None,
        io: FileIo | None = None,
        durability: JobDurability | None = None,
    ) -> Compacted:
        """Merges small files, and drops deleted rows from files. The table keeps its rows.

        Files that other writers change during the compaction are tried again, then left unchanged: no update is lost.

        Args:
            target_size: Bytes of new files, 256 MiB by default. Files of at least three quarters of this size are kept,
                unless more than 5 % of their rows are deleted.
            sort_by: Sort the rows of each partition by these columns; all of its files are rewritten.
            zorder: Sort them in z-order of these columns instead, so that a filter on any of them skips files.
            where: A SQL expression over partition columns: only these partitions.
            params: The values of each `?` in it, as for :func:`lakerace.scan`.
            memory_limit: Bytes of memory for sorting rows, 512 MiB by default; more rows are written to temporary files
                on the local disk.
            auto: Compact small files only if there are 50 or more. Rewrite a file of 16 MiB or more if over half of its
                rows are hidden; if all files together hide more than three rows for every ten visible ones, also
                rewrite those that hide the most. New files have 128 MiB, unless sizes say otherwise.
            compression: As for :func:`lakerace.copy`.
            dry_run: Find the files that would be rewritten, and write nothing: they are counted in the result's `planned`.
            threads: Threads that decode and encode.
            io: How local files are written, as for :func:`lakerace.copy`.
            durability: Durability of local files, as for :func:`lakerace.copy`.

        Raises:
            ConflictError: Another writer has changed the table's schema, properties or protocol during the call.
            UsageError: `where` names other columns than the table is partitioned by.

        Examples:
            >>> table = lr.Table("lake/orders")
            >>> changed = table.upsert("changes.csv")
            >>> compacted = table.compact()
            >>> compacted.rows, compacted.files_removed, compacted.files_added
            (5, 2, 1)
        """
        options = {
            "target_size": target_size,
            "sort_by": _names(sort_by),
            "zorder": _names(zorder),
            "where": with_parameters(where, params),
            "memory_limit": memory_limit,
            "auto": auto,
            "compression": compression,
            "threads": threads,
            "io": io,
            **self._writing(durability),
        }
        if dry_run:
            told = dry_fields(_lakerace.plan_compact(self._location, with_job(options)))
            return Compacted(**told | dict.fromkeys(_COMPACTED, 0), version=None)
        made = _lakerace.compact(self._location, with_job(options))
        made["requests"] = Requests(**made["requests"])
        return Compacted(**made)

    def vacuum(
        self,
        *,
        retain: str | None = None,
        dry_run: bool = False,
        allow_short_retention: bool = False,
        durability: JobDurability | None = None,
    ) -> Vacuumed:
        """Removes files that no retained version needs: earlier versions can't be read any more then.

        Args:
            retain: How long removed files stay, such as `"7d"` or `"12h"`; by default as long as the table says
                (`delta.deletedFileRetentionDuration`), else seven days.
            dry_run: Return the files that would be removed, and remove nothing.
            allow_short_retention: Allow a retention below the table's own. This may remove files that readers of
                earlier versions and running writers need.
            durability: Whether files stay removed, as for :func:`lakerace.copy`.

        Raises:
            UsageError: `retain` is below the table's own retention.

        Examples:
            >>> lr.Table("lake/orders").vacuum(retain="7d", dry_run=True).files
            []
        """
        options = {"retain": retain, "dry_run": dry_run, "allow_short_retention": allow_short_retention}
        made = _lakerace.vacuum(self._location, with_job({**options, **self._writing(durability)}))
        return Vacuumed(**{name: made[name] for name in Vacuumed._fields})

    def verify(
        self,
        *,
        deep: bool = False,
        repair: bool = False,
        drop_empty_entry: bool = False,
        key: str | Sequence[str] | None = None,
        memory_limit: int | str | None = None,
    ) -> Verified:
        """Checks the log, the files and the keys against each other. Damage is reported, not raised.

        The entries of the log are replayed, and must make each checkpoint and the version that readers see. Each file
        must be there with the size, the rows and the deletion vector that the log states. A key must identify one row.

        Args:
            deep: Also read all values, and compare them with the statistics of the log: bounds and null counts.
            repair: Repair damage if undamaged files prove the correct state: rewrite a checkpoint from the entries,
                restore an entry from a copy in `_delta_log`, remove a `_last_checkpoint` that points to no checkpoint.
            drop_empty_entry: With `repair`: abandon the commit of an empty last entry, for example after a power loss.
                Its version gets the rows of the previous version. Use it only if the entry has no backup and no one
                writes to the table.
            key: The columns that should identify a row. Default: the key of this object, else the table's property
                `lakerace.primaryKey`. Without a key, keys are not checked, and a note says so.
            memory_limit: Bytes of memory for the search for duplicate keys, 512 MiB by default; with a lower limit, the
                key columns are read more often.

        Raises:
            NotFoundError: There is no Delta table.
            UsageError: `drop_empty_entry` without `repair`.

        Examples:
            >>> verified = lr.Table("lake/orders").verify(deep=True)
            >>> verified.sound, verified.verified_rows
            (True, 4)
        """
        options = {"deep": deep, "repair": repair, "drop_empty_entry": drop_empty_entry} | self._options(
            key, memory_limit
        )
        made = _lakerace.verify(self._location, with_job(options))
        made["findings"] = [Finding(**finding) for finding in made["findings"]]
        return Verified(**{name: made[name] for name in Verified._fields})

    def history(self, limit: int | None = None) -> list[Version]:
        """The versions in the log, the newest first, at most `limit`.

        Examples:
            >>> [entry.version for entry in lr.Table("lake/orders").history()]
            [1, 0]
        """
        options = {"limit": limit, "storage_options": self._storage_options}
        told = _lakerace.history(self._location, with_job(options))
        return [Version(**{**entry, "timestamp": _time(entry["timestamp"])}) for entry in told]

    def changes(self, first: int, last: int | None = None) -> ArrowStream:
        """The rows that versions inserted, updated and deleted: an Arrow stream, for one consumer.

        The table must have a change data feed: it is made with the property `delta.enableChangeDataFeed=true`.
        Its columns are the table's, `_change_type` (`insert`, `delete`, `update_preimage`, `update_postimage`),
        `_commit_version` and `_commit_timestamp`.

        Args:
            first: The first version.
            last: The last version; the table's by default.

        Raises:
            NotFoundError: There is no such version.
            UnsupportedError: The table had no change data feed (`delta.enableChangeDataFeed`) in one of them.

        Examples:
            >>> import polars
            >>> table = lr.Table("lake/orders")
            >>> changed = table.upsert("changes.csv")
            >>> sorted(polars.DataFrame(table.changes(2))["_change_type"])
            ['insert', 'update_postimage', 'update_preimage']
        """
        options = {"first": first, "last": last, "storage_options": self._storage_options}
        return _lakerace.changes(self._location, options)

    def alter(
        self,
        *,
        add_columns: str | Sequence[str] | None = None,
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
        comments: Mapping[str, str] | None = None,
        constraints: Mapping[str, str] | None = None,
        set: Mapping[str, str] | None = None,
        unset: str | Sequence[str] | None = None,
        dry_run: bool = False,
        durability: JobDurability | None = None,
    ) -> Altered:
        """Changes columns, properties and constraints. All changes of a call are one version, and no data file is written.

        The table's protocol gets the features that the changes demand: column mapping with the first rename or drop,
        type widening with the first wider type. Readers and writers must support them from then on; `dry_run` returns
        which ones.

        Args:
            add_columns: Columns that come after the others, such as `"note text, price decimal(10,2)"`. Existing rows
                get null.
            rename: Columns and their new names.
            drop: Columns to drop. Files keep the values until they are rewritten.
            types: Columns and their wider types, such as `{"count": "bigint"}`.
            comments: Columns, as they are named after the other changes, and their comments; an empty one removes it.
            constraints: Names and conditions that must be true for every row, such as `{"positive": "price > 0"}`. Null
                is not true. Existing rows are checked first, and later writes check their rows. Remove one by
                `unset="delta.constraints.positive"`.
            set: Properties and their values, such as `{"delta.enableChangeDataFeed": "true"}` or
                `{"lakerace.primaryKey": "id"}`. `delta.feature.NAME` with the value `supported` adds a feature alone.
            unset: Properties to remove. Features stay in the protocol.
            dry_run: Change nothing: the result has the features that the table would get, and no version.
            durability: Durability of local files, as for :func:`lakerace.copy`.

        Raises:
            ConflictError: Another writer has changed the table's schema, properties or protocol during the call.
            InvalidInputError: A row of the table violates a new constraint.
            NotFoundError: The table lacks a column, or the property that is to be unset.
            UnsupportedError: Only new tables get the property, a column is in use by key, partitions or a constraint, a type is not
                wider, or lakerace does not follow the change.
            UsageError: There is no such property, its value is malformed, or a new column's name is taken.

        Examples:
            >>> table = lr.Table("lake/orders")
            >>> altered = table.alter(rename={"price": "amount"}, add_columns="note text")
            >>> table.columns
            ['order_id', 'day', 'customer', 'amount', 'note']
        """
        changes = {
            "set": dict(set or {}),
            "unset": _names(unset) or [],
            "add_columns": _names(add_columns) or [],
            "rename": dict(rename or {}),
            "drop": _names(drop) or [],
            "types": dict(types or {}),
            "comments": dict(comments or {}),
            "constraints": dict(constraints or {}),
            "dry_run": dry_run,
        }
        made = _lakerace.alter(self._location, changes, with_job(self._writing(durability)))
        return Altered(**{name: made[name] for name in Altered._fields})

    def restore(self, at: int | str | datetime, *, durability: JobDurability | None = None) -> Restored:
        """Makes a version with the rows, the schema and the properties of an earlier one.

        Args:
            at: The version, or a time.
            durability: Durability of local files, as for :func:`lakerace.copy`.

        Raises:
            NotFoundError: There is no such version, or its files were vacuumed.

        Examples:
            >>> table = lr.Table("lake/orders")
            >>> changed = table.upsert("changes.csv")
            >>> table.restore(1).version, len(table)
            (3, 4)
        """
        text = at.isoformat() if isinstance(at, datetime) else str(at)
        made = _lakerace.restore(self._location, text, with_job(self._writing(durability)))
        return Restored(**{name: made[name] for name in Restored._fields})

    def _scanned(self) -> Scan:
        return self.scan()

    @property
    def version(self) -> int:
        """The number of the last version in the log.

        Examples:
            >>> lr.Table("lake/orders").version
            1
        """
        number: int = self.schema()["version"]
        return number

    def scan(self, **options: Any) -> Scan:
        """Plans a read; the arguments are those of :func:`lakerace.scan`.

        Examples:
            >>> lr.Table("lake/orders").scan(where="customer = 'ann'").count()
            2
        """
        return scan(self._location, storage_options=self._storage_options, **options)

    def schema(self, at: int | str | None = None) -> dict[str, Any]:
        """Columns, version, key, properties, rows, files and bytes; see :func:`lakerace.schema`.

        Examples:
            >>> found = lr.Table("lake/orders").schema()
            >>> found["version"], found["key"], found["rows"]
            (1, ['order_id'], 4)
        """
        return schema(self._location, at=at, storage_options=self._storage_options)


def compacted_after_write(
    table: Table, *, threads: int | None, io: FileIo | None, durability: JobDurability | None
) -> Compacted | None:
    """Compacts after a write that is done: a failure is a warning, not an error of the write."""
    try:
        compacted = table.compact(auto=True, threads=threads, io=io, durability=durability)
    except Error as error:
        issue_own(f"the rows were written, but the compaction failed: {error}")
        return None
    return None if compacted.version is None else compacted


#: What a compaction counts.
_COMPACTED = (
    "commits",
    "files_added",
    "files_removed",
    "file_bytes",
    "file_bytes_removed",
    "rows_dropped",
    "given_up",
)


def _names(names: str | Sequence[str] | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _time(millis: int) -> datetime:
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=millis)
