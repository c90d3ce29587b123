"""Differences between the rows of two locations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from lakerace import _lakerace
from lakerace._api import _options
from lakerace._arguments import checked_arguments
from lakerace._job import with_job
from lakerace._location import location_text

if TYPE_CHECKING:
    from datetime import datetime

    from lakerace._api import ArrowStream, Format, Location, OnBadRow, TimestampUnit


class Diff(NamedTuple):
    """Rows that differ between two locations, by key.

    Examples:
        >>> found = lr.diff("orders.parquet", "changes.csv", key="order_id")
        >>> found.inserted, found.deleted, found.changed
        (1, 3, 1)
    """

    #: Rows of the first side.
    first_rows: int
    #: Rows of the second side.
    second_rows: int
    #: Rows whose key the second side alone has.
    inserted: int
    #: Rows whose key the first side alone has.
    deleted: int
    #: Rows of which both sides have the key, with different values.
    changed: int
    #: Rows that are the same on both sides.
    unchanged: int
    #: The columns that differ, with the number of changed rows in which they do.
    changed_columns: dict[str, int]
    #: Columns that the first side alone has. They are not compared.
    first_columns: list[str]
    #: Columns that the second side alone has. They are not compared.
    second_columns: list[str]
    #: The rows that differ, once: the compared columns between `_change_type` (`insert`, `delete`, or `update_preimage` and
    #: `update_postimage` one after the other) and `_changed_columns`, names with commas between them.
    rows: ArrowStream

    @property
    def is_different(self) -> bool:
        """Whether the two sides have other rows or other columns.

        Examples:
            >>> lr.diff("orders.parquet", "delta:lake/orders", key="order_id").is_different
            False
        """
        rows = self.inserted + self.deleted + self.changed
        return rows > 0 or bool(self.first_columns) or bool(self.second_columns)


@checked_arguments
def diff(
    first: Location,
    second: Location,
    *,
    key: str | Sequence[str] | None = None,
    second_at: int | str | datetime | None = None,
    limit: int | None = None,
    summary: bool = False,
    memory_limit: int | str | None = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    params: Sequence[object] | None = None,
    at: int | str | datetime | None = None,
    batch_rows: int | Literal["all"] | None = None,
    format: Format | None = None,
    threads: int | None = None,
    min_seek_size: int | str | None = None,
    max_request_size: int | str | None = None,
    max_requests_in_flight: int | None = None,
    extra_bytes_tolerance: float | None = None,
    prefetch_size: int | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    null_strings: Sequence[str] | None = None,
    header: bool | None = None,
    schema: str | None = None,
    infer_rows: int | None = None,
    on_bad_row: OnBadRow | None = None,
    skip_rows: int | None = None,
    comment: str | None = None,
    date_format: str | None = None,
    timestamp_format: str | None = None,
    decimal_comma: bool | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    timestamp_unit: TimestampUnit | None = None,
    union_columns: bool | None = None,
    file_name_column: str | None = None,
) -> Diff:
    """Compares the rows of two locations by key: files, folders, Delta tables and their versions, databases.

    Sides whose keys ascend are merged as they are read. Others are read once for the hashes of their rows, and again if
    some differ. Hashes and rows that differ are in memory up to `memory_limit`, and beyond it in temporary files on the
    local disk. The rows of the result are in memory: `limit` bounds them.

    Args:
        first: The first side.
        second: The second side; options for reading apply to both.
        key: The columns that identify a row. Default: the key of the first side, if it is a Delta table.
        second_at: The version of the second side; `at` is the version of the first.
        limit: Return at most this many differences. All are counted.
        summary: Count the rows and columns that differ, and return no row.
        memory_limit: Approximate bytes of memory for hashes, keys and rows; 512 MiB by default. The rest is written to
            temporary files on the local disk.

    The other arguments are those of :func:`scan`.

    Raises:
        InvalidInputError: A key is null, or several rows of a side have it.
        NotFoundError: A location does not exist, or a side lacks a column of the key.
        UnsupportedError: A column has types that can't be compared.
        UsageError: There is no key.

    Examples:
        >>> lr.diff("orders.parquet", "changes.csv", key="order_id").changed_columns
        {'price': 1}
    """
    key = [key] if isinstance(key, str) else key
    options = _options(locals(), "first", "second")
    counts, rows = _lakerace.diff(location_text(first), location_text(second), with_job(options))
    return Diff(**counts, rows=rows)
