"""Changes of a Delta table's rows by conditions and keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakerace import _lakerace
from lakerace._api import Requests, dry_fields
from lakerace._arguments import checked_methods
from lakerace._assignments import checked_updates
from lakerace._filter import with_parameters, with_parameters_in
from lakerace._job import with_job
from lakerace._merge import MergeBuilder
from lakerace._sources import native_source
from lakerace._table_results import Changed

if TYPE_CHECKING:
    from lakerace._api import FileIo, JobDurability, RowSource


@checked_methods
class RowChanges:
    """A Delta table whose rows are changed."""

    __slots__ = ()

    _key: list[str]
    _location: str
    _name: str
    _storage_options: dict[str, str] | None

    def update(
        self,
        updates: Mapping[str, str],
        *,
        where: str | None = None,
        params: Sequence[object] | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        io: FileIo | None = None,
        durability: JobDurability | None = None,
        enable_deletion_vectors: bool = False,
        dry_run: bool = False,
    ) -> Changed:
        """Sets columns of the rows for which a SQL expression is true, in one commit. Files are rewritten only where the
        table has no deletion vectors.

        A value is converted to the type of its column as `CAST` does it: a number for an integer column is cut towards zero.
        One that does not fit is an error. Partition columns and key columns may be set, too. If another writer changes one of the
        rows, the update is made again from the newest version.

        Args:
            updates: Columns and their values: SQL expressions over the row as it was, such as `{"price": "price * 1.1"}`. A
                text is written as `"'void'"`, or as `"?"` with `params`.
            where: A SQL expression; all rows by default.
            params: The values of each `?`, first those in `updates`, then those in `where`, as for :func:`lakerace.scan`.
            memory_limit: Approximate bytes of memory for the new rows, which are sorted by the key of the table; 512 MiB by
                default.
            threads: Threads that decode, sort and encode; the number of cores by default.
            io: How local files are written, as for :func:`lakerace.copy`.
            durability: Durability of local files, as for :func:`lakerace.copy`.
            enable_deletion_vectors: A table without deletion vectors gets them, whoever made it.
            dry_run: Count the rows that would be updated, check their new values, and write nothing: they are in the result's
                `planned`.

        Raises:
            ConflictError: Another writer has changed the table's schema, properties or protocol during the call.
            InvalidInputError: A value does not fit its column, is null in a column that is NOT NULL, or violates a
                constraint.
            NotFoundError: There is no such table, or a column is not in it.

        Examples:
            >>> table = lr.Table("lake/orders")
            >>> changed = table.update({"price": "price * ?"}, where="customer = ?", params=[2, "ann"])
            >>> changed.rows, changed.version
            (2, 2)
        """
        pairs = checked_updates(updates)
        names, texts = [name for name, _ in pairs], [text for _, text in pairs]
        filled = with_parameters_in([*texts, *([] if where is None else [where])], params)
        options = {"memory_limit": memory_limit, "threads": threads, "io": io, **self._writing(durability)}
        options |= {"enable_deletion_vectors": enable_deletion_vectors}
        pairs, condition = list(zip(names, filled, strict=False)), None if where is None else filled[-1]
        if dry_run:
            return planned_change(_lakerace.plan_update(self._location, pairs, condition, with_job(options)))
        return change(_lakerace.update(self._location, pairs, condition, with_job(options)))

    def merge(
        self,
        source: RowSource,
        on: str | Sequence[str] | None = None,
        *,
        predicate: str | None = None,
        source_alias: str = "source",
        target_alias: str = "target",
        memory_limit: int | str | None = None,
        threads: int | None = None,
        io: FileIo | None = None,
        durability: JobDurability | None = None,
        enable_deletion_vectors: bool = False,
    ) -> MergeBuilder:
        """Starts a merge of a source into the table, whose clauses say what becomes of rows that match and of rows that do
        not. Its :meth:`lakerace.MergeBuilder.execute` runs it, in one commit.

        A row of the source and a row of the table match if the columns that they are joined by are equal. Null is equal to
        nothing. Of the clauses for a row, the first one whose condition is true decides; without such a clause it stays unchanged. If
        several rows of the source would change one row of the table, that is an error, unless all matched rows are deleted.

        Args:
            source: As for :meth:`upsert`.
            on: The columns that both sides are joined by; the table's key by default.
            predicate: The condition that they are joined by, as delta-rs takes it, in place of `on`: equalities such as
                `"target.id = source.order_id and target.day = source.day"`.
            source_alias: The name of the source in expressions.
            target_alias: The name of the table in expressions.
            memory_limit: Approximate bytes of memory for rows, keys and buffers; 1 GiB by default. The rest is written
                to temporary files on the local disk (`TMPDIR`).
            threads: Threads that decode, sort and encode; the number of cores by default.
            io: How local files are written, as for :func:`lakerace.copy`.
            durability: Durability of local files, as for :func:`lakerace.copy`.
            enable_deletion_vectors: A table without deletion vectors gets them, whoever made it.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv", on="order_id")
            >>> merge = merge.when_matched_update({"price": "source.price"}).when_not_matched_insert_all()
            >>> merged = merge.execute()
            >>> merged.updated, merged.inserted, merged.version
            (1, 1, 2)
        """
        columns = [on] if isinstance(on, str) else list(on or ())
        if not columns and predicate is None:
            columns = self._key
        options = {"memory_limit": memory_limit, "threads": threads, "io": io, **self._writing(durability)}
        options |= {"enable_deletion_vectors": enable_deletion_vectors}
        return MergeBuilder(self._location, source, (columns, predicate, target_alias, source_alias), options)

    def delete(
        self,
        where: str,
        *,
        params: Sequence[object] | None = None,
        enable_deletion_vectors: bool = False,
        dry_run: bool = False,
        durability: JobDurability | None = None,
    ) -> Changed:
        """Deletes the rows for which a SQL expression is true. Files are rewritten only where the table has no deletion
        vectors; tables that lakerace made get them, and others by `enable_deletion_vectors`.

        Args:
            where: The SQL expression.
            params: The values of each `?` in it, as for :func:`lakerace.scan`.
            enable_deletion_vectors: A table without deletion vectors gets them, whoever made it.
            dry_run: Count the rows that would be deleted, and write nothing: they are in the result's `planned`.
            durability: Durability of local files, as for :func:`lakerace.copy`.

        Examples:
            >>> lr.Table("lake/orders").delete("price < ?", params=[100]).rows
            1
        """
        options = {"enable_deletion_vectors": enable_deletion_vectors, **self._writing(durability)}
        if dry_run:
            return planned_change(
                _lakerace.plan_delete(self._location, with_parameters(where, params) or "", with_job(options))
            )
        return change(_lakerace.delete(self._location, with_parameters(where, params) or "", with_job(options)))

    def delete_keys(
        self,
        source: RowSource,
        *,
        key: str | Sequence[str] | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        enable_deletion_vectors: bool = False,
        dry_run: bool = False,
        durability: JobDurability | None = None,
    ) -> Changed:
        """Deletes the rows that have the key of one of these rows. Files are rewritten only where the table has no
        deletion vectors.

        Args:
            source: A location, a scan, or anything with `__arrow_c_stream__`; other columns than the key's do not matter.
            key: The key's columns, in place of the table's.
            memory_limit: Approximate bytes of memory for keys and buffers; 1 GiB by default.
            threads: Threads that decode and search; the number of cores by default.
            enable_deletion_vectors: A table without deletion vectors gets them, whoever made it.
            dry_run: Count the rows that would be deleted, and write nothing: they are in the result's `planned`.
            durability: Durability of local files, as for :func:`lakerace.copy`.

        Examples:
            >>> lr.Table("lake/orders").delete_keys([{"order_id": 1}, {"order_id": 9}]).rows
            1
        """
        options = self._options(key, memory_limit, threads)
        options |= {"enable_deletion_vectors": enable_deletion_vectors, "durability": durability}
        rows = native_source(source, options)
        if dry_run:
            return planned_change(_lakerace.plan_delete_keys(self._location, rows, with_job(options)))
        return change(_lakerace.delete_keys(self._location, rows, with_job(options)))

    def _options(
        self, key: str | Sequence[str] | None, memory_limit: int | str | None, threads: int | None = None
    ) -> dict[str, Any]:
        columns = [key] if isinstance(key, str) else list(key or self._key)
        limits = {"memory_limit": memory_limit, "threads": threads}
        return {"key": columns, **limits, "storage_options": self._storage_options}

    def _writing(self, durability: JobDurability | None) -> dict[str, Any]:
        return {"durability": durability, "storage_options": self._storage_options}


#: What a change counts.
_CHANGED = (
    "rows_hidden",
    "files_added",
    "files_removed",
    "files_rewritten",
    "bytes_replaced",
    "bytes_rewritten",
    "files_probed",
    "vectors",
    "windows",
)


def planned_change(made: dict[str, Any]) -> Changed:
    """The outcome of a change that was only checked."""
    return Changed(**dry_fields(made) | dict.fromkeys(_CHANGED, 0), version=None)


def change(made: dict[str, Any]) -> Changed:
    """The outcome of a change."""
    made["requests"] = Requests(**made["requests"])
    return Changed(**made)
