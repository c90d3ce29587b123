"""Merging a source into a Delta table, with clauses that say what becomes of the rows of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lakerace import _lakerace
from lakerace._api import DryRun, Requests
from lakerace._arguments import checked_methods
from lakerace._assignments import checked_updates
from lakerace._errors import NotFoundError, UsageError, set_advice
from lakerace._filter import with_parameters_in
from lakerace._job import with_job
from lakerace._sources import is_read_once, native_source

if TYPE_CHECKING:
    from typing_extensions import Self

    from lakerace._api import FileIo, RowSource

#: A clause as the native half takes it: its rows, its action, its condition, its values, and the columns left out.
_Clause = tuple[str, str, str | None, list[tuple[str, str]], list[str]]
#: The columns or the condition that a merge is joined by, and the names of table and source.
_Join = tuple[list[str], str | None, str, str]


class Merged(NamedTuple):
    """What a merge did and what it cost.

    Examples:
        >>> merged = lr.Table("lake/orders").merge("changes.csv").when_matched_update_all().execute()
        >>> merged.inserted, merged.updated, merged.deleted
        (0, 1, 0)
    """

    #: Rows that were inserted, updated or deleted.
    rows: int
    #: The version that was made; `None` where there was nothing to do.
    version: int | None
    #: Rows of the source.
    source_rows: int
    #: Rows of the source that were inserted.
    inserted: int
    #: Rows of the table that were updated.
    updated: int
    #: Rows of the table that were deleted.
    deleted: int
    #: Rows of the table that were updated or deleted.
    rows_hidden: int
    #: New files.
    files_added: int
    #: Files without a row left.
    files_removed: int
    #: Files that were rewritten without the rows, of a table without deletion vectors.
    files_rewritten: int
    #: Bytes of these files as they were.
    bytes_replaced: int
    #: Bytes of the files that took their place.
    bytes_rewritten: int
    #: Files whose key columns, or those of conditions, were read.
    files_probed: int
    #: Files that got a new deletion vector.
    vectors: int
    #: Parts that the source was merged in, one after the other in the order of keys; 1 where it fits into memory.
    windows: int
    #: Bytes received from stores.
    bytes_read: int
    #: Bytes sent to stores.
    bytes_written: int
    #: Those of them that went past the kernel's page cache.
    bytes_past_cache: int
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
    #: How local files were written: as requested, or `"sync"` if the kernel refused. `None`: none were.
    io: FileIo | None = None
    #: Rows of the source that did not fit: left out, given nulls or cut, as `on_bad_row` says.
    bad_rows: int = 0
    #: What the merge would do, where it was only checked (`dry_run`).
    planned: DryRun | None = None


@checked_methods
class MergeClauses:
    """The clauses of a merge. Of the clauses for a row, the first one whose condition is true decides.

    Expressions name columns as `source.x` and `target.x`, or by the aliases of the merge. A column that only one side has needs no such
    front.
    """

    __slots__ = ("_clauses", "_has_run", "_join", "_location", "_options", "_source")

    def __init__(self, location: str, source: RowSource, join: _Join, options: dict[str, Any]) -> None:
        """A merge without clauses: :meth:`lakerace.Table.merge` makes it."""
        self._location = location
        self._source = source
        self._join = join
        self._options = options
        self._clauses: list[_Clause] = []
        self._has_run = False

    def when_matched_update(
        self, updates: Mapping[str, str], predicate: str | None = None, params: Sequence[object] | None = None
    ) -> Self:
        """Sets columns of rows of the table that a row of the source matches.

        Args:
            updates: Columns and their values: SQL expressions over both rows, such as `{"price": "source.price * 1.1"}`.
            predicate: A SQL expression; true of all pairs by default.
            params: The values of each `?`, first those in `updates`, then those in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv")
            >>> merge.when_matched_update({"price": "source.price + ?"}, "target.price > ?", [2.5, 0]).execute().updated
            1
        """
        return self._with("matched", "set", predicate, params, updates)

    def when_matched_update_all(
        self,
        predicate: str | None = None,
        except_cols: str | Sequence[str] | None = None,
        params: Sequence[object] | None = None,
    ) -> Self:
        """Sets each column that the source has, in rows of the table that a row of the source matches.

        Args:
            predicate: A SQL expression; true of all pairs by default.
            except_cols: Columns of the source that are left out.
            params: The values of each `?` in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv")
            >>> merge.when_matched_update_all("source.price <> target.price").execute().updated
            1
        """
        return self._with("matched", "set_all", predicate, params, except_cols=except_cols)

    def when_matched_delete(self, predicate: str | None = None, params: Sequence[object] | None = None) -> Self:
        """Deletes rows of the table that a row of the source matches.

        Args:
            predicate: A SQL expression; true of all pairs by default.
            params: The values of each `?` in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> lr.Table("lake/orders").merge([{"order_id": 1}, {"order_id": 9}]).when_matched_delete().execute().deleted
            1
        """
        return self._with("matched", "delete", predicate, params)

    def when_not_matched_insert(
        self, updates: Mapping[str, str], predicate: str | None = None, params: Sequence[object] | None = None
    ) -> Self:
        """Inserts rows of the source that no row of the table matches.

        Args:
            updates: Columns and their values: SQL expressions over the row of the source. Other columns are null.
            predicate: A SQL expression; true of all such rows by default.
            params: The values of each `?`, first those in `updates`, then those in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv")
            >>> merge.when_not_matched_insert({"order_id": "order_id", "price": "price * 2"}).execute().inserted
            1
        """
        return self._with("not_matched", "set", predicate, params, updates)

    def when_not_matched_insert_all(
        self,
        predicate: str | None = None,
        except_cols: str | Sequence[str] | None = None,
        params: Sequence[object] | None = None,
    ) -> Self:
        """Inserts rows of the source that no row of the table matches, with all columns of the source.

        Args:
            predicate: A SQL expression; true of all such rows by default.
            except_cols: Columns of the source that are left out: they are null.
            params: The values of each `?` in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv")
            >>> merge.when_not_matched_insert_all("source.price > 0").execute().inserted
            1
        """
        return self._with("not_matched", "set_all", predicate, params, except_cols=except_cols)

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, str], predicate: str | None = None, params: Sequence[object] | None = None
    ) -> Self:
        """Sets columns of rows of the table that no row of the source matches.

        Args:
            updates: Columns and their values: SQL expressions over the row of the table.
            predicate: A SQL expression; true of all such rows by default.
            params: The values of each `?`, first those in `updates`, then those in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv")
            >>> merge.when_not_matched_by_source_update({"price": "0"}).execute().updated
            3
        """
        return self._with("not_matched_by_source", "set", predicate, params, updates)

    def when_not_matched_by_source_delete(
        self, predicate: str | None = None, params: Sequence[object] | None = None
    ) -> Self:
        """Deletes rows of the table that no row of the source matches.

        Args:
            predicate: A SQL expression; true of all such rows by default.
            params: The values of each `?` in `predicate`, as for :func:`lakerace.scan`.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv")
            >>> merge.when_not_matched_by_source_delete("customer = 'ann'").execute().deleted
            2
        """
        return self._with("not_matched_by_source", "delete", predicate, params)

    def _with(
        self,
        rows: str,
        action: str,
        predicate: str | None,
        params: Sequence[object] | None,
        updates: Mapping[str, str] | None = None,
        except_cols: str | Sequence[str] | None = None,
    ) -> Self:
        pairs = [] if updates is None else checked_updates(updates)
        texts = [*(value for _, value in pairs), *([] if predicate is None else [predicate])]
        filled = with_parameters_in(texts, params)
        pairs = [(column, value) for (column, _), value in zip(pairs, filled, strict=False)]
        predicate = None if predicate is None else filled[-1]
        left_out = [except_cols] if isinstance(except_cols, str) else list(except_cols or ())
        self._clauses.append((rows, action, predicate, pairs, left_out))
        return self

    def _run(self, dry_run: bool) -> Merged:
        if self._has_run and is_read_once(self._source):
            raise UsageError(
                "the source is a stream that this merge has read: no rows are left in it",
                advice="make the merge again with a new stream, or with a table in memory",
            )
        options = dict(self._options)
        rows = native_source(self._source, options)
        self._has_run = True
        call = _lakerace.plan_merge if dry_run else _lakerace.merge
        try:
            made = call(self._location, rows, self._join, self._clauses, with_job(options))
        except NotFoundError as error:
            if any(f'there is no column "{name}"' in str(error) for name in self._join[0] if "=" in name):
                set_advice(error, "`on` takes names of columns: pass a condition as predicate=")
            raise
        made["requests"] = Requests(**made["requests"])
        if made["planned"] is not None:
            made["planned"] = DryRun(**made["planned"])
        return Merged(**made)


@checked_methods
class MergeBuilder(MergeClauses):
    """A merge to which clauses are added, one after the other, until :meth:`execute` runs it.

    Examples:
        >>> merge = lr.Table("lake/orders").merge("changes.csv")
        >>> merged = merge.when_matched_update_all().when_not_matched_insert_all().execute()
        >>> merged.updated, merged.inserted
        (1, 1)
    """

    __slots__ = ()

    def execute(self, *, dry_run: bool = False) -> Merged:
        """Runs the merge, in one commit.

        Args:
            dry_run: Make all new rows and check them, and write nothing: the result's `planned` says what the merge would do.

        Raises:
            ConflictError: Another writer has changed the table's schema, properties or protocol during the call.
            InvalidInputError: Several rows of the source change one row of the table, a value does not fit its column or is
                null in one that is NOT NULL, or a row violates a constraint.
            NotFoundError: There is no such table, or a column is on no side.
            UnsupportedError: The columns that are joined by have no equality to rely on.
            UsageError: There is no clause, or a name without alias is that of a column of both sides.

        Examples:
            >>> merge = lr.Table("lake/orders").merge("changes.csv").when_not_matched_insert_all()
            >>> merge.execute(dry_run=True).inserted, merge.execute().inserted
            (1, 1)
        """
        return self._run(dry_run)
