"""Scans: planned reads that are Arrow streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from lakerace import _lakerace
from lakerace._arguments import checked_methods
from lakerace._errors import UsageError
from lakerace._filter import quoted
from lakerace._job import current_job, with_job
from lakerace._packages import needed
from lakerace._progress import progress_shown
from lakerace._readable import ReadableRows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import pandas
    import polars
    import pyarrow

    from lakerace._dataset import ScanDataset

_T = TypeVar("_T")

#: What a computed column has, and few names.
_ALIAS = re.compile(r"\bas\b", re.IGNORECASE)

#: Storage options that a pickle without credentials keeps, without `aws_` in front: where a store is, and how it is spoken to.
PUBLIC_SETTINGS = frozenset(
    {
        "allow_foreign_paths",
        "allow_http",
        "conditional_put",
        "copy_if_not_exists",
        "default_region",
        "disable_tagging",
        "endpoint",
        "endpoint_url",
        "endpoint_url_s3",
        "region",
        "request_payer",
        "s3_express",
        "skip_signature",
        "unsigned_payload",
        "virtual_hosted_style_request",
    }
)


def _public_name(name: str) -> str:
    return name.lower().removeprefix("aws_")


def _without_credentials(options: Mapping[str, object]) -> dict[str, object]:
    """The options without settings of the store that may be secret."""
    kept = dict(options)
    settings = kept.get("storage_options")
    if isinstance(settings, Mapping):
        # An address may have a name and a password in it.
        public = {k: v for k, v in settings.items() if _public_name(k) in PUBLIC_SETTINGS and "@" not in v}
        kept["storage_options"] = public or None
    return kept


def _changes_nesting(options: Mapping[str, object]) -> bool:
    """Whether the columns of a scan with these options have other names than those of the source."""
    return any(options.get(name) not in (None, False) for name in ("flatten", "unflatten"))


def can_filter(options: Mapping[str, object], names: Sequence[str]) -> bool:
    """Whether rows of a scan with these options and columns can be filtered by lakerace, too."""
    if _changes_nesting(options):
        return False
    # The rows are limited first. A column of a struct's field may have another name behind the scan than it has in the options.
    return options.get("limit") is None and list(options.get("columns") or names) == list(names)  # type: ignore[call-overload]


def can_narrow(options: Mapping[str, Any]) -> bool:
    """Whether a scan with these options has the same rows where it reads some of its columns."""
    # With dots, the names of fields are those of the result.
    if _changes_nesting(options) and (options.get("flatten") not in (True, ".") or options.get("columns") is not None):
        return False
    if options.get("on_bad_row") == "skip":
        # Rows are left out by the values of the columns that are read.
        return False
    columns = options.get("columns") or ()
    items = [columns] if isinstance(columns, str) else columns
    # An order may name computed columns.
    return options.get("order_by") is None or not any(_ALIAS.search(item) for item in items)


def _items_by_name(names: Sequence[str], columns: Sequence[str] | None) -> dict[str, list[str]]:
    """The columns of a scan by their names, as its option `columns` has them: fields of one struct are one column."""
    if columns is None:
        return {name: [_plain_item(name)] for name in names}
    items = [columns] if isinstance(columns, str) else columns
    own: dict[str, list[str]] = {}
    rest = iter(names)
    for item in items:
        structs = () if _ALIAS.search(item) or len(items) == len(names) else own
        known = next((name for name in structs if item.startswith(f"{name}.")), None)
        own.setdefault(next(rest) if known is None else known, []).append(item)
    return own


def _plain_item(name: str) -> str:
    """A column's name as an item of `columns`, where it could also be read as a value with a name."""
    return f"{quoted(name)} as {quoted(name)}" if _ALIAS.search(name) else name


def narrowed_options(
    options: Mapping[str, Any],
    names: Sequence[str],
    columns: Sequence[str] | None,
    where: str | None,
    limit: int | None,
) -> dict[str, Any]:
    """The options of a scan that leaves out columns and rows where that is known to be right."""
    narrowed, limited = dict(options), options.get("limit")
    if _changes_nesting(options):
        where = None
    if not can_narrow(options):
        columns = None
    # Files that a filter leaves out may be the only ones that have a column: all are named.
    if columns is not None or where is not None:
        own = _items_by_name(names, options.get("columns"))
        narrowed["columns"] = [item for name in (names if columns is None else columns) for item in own[name]]
    if where is not None and can_filter(options, names):
        narrowed["where"] = f"({options['where']}) AND ({where})" if options.get("where") else where
    if limit is not None:
        narrowed["limit"] = limit if limited is None else min(limit, limited)
    return narrowed


class Explain:
    """A plan and its price. `str()` of it is for people, :meth:`to_dict` for programs.

    Examples:
        >>> plan = str(lr.scan("orders.parquet", where="price > 9000").explain())
        >>> "orders.parquet" in plan
        True
    """

    __slots__ = ("_native",)

    def __init__(self, native: _lakerace.Scan) -> None:
        self._native = native

    def __str__(self) -> str:
        return self._native.explain()

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, lists, strings and numbers: files, row groups kept and pruned and why, requests
        with their byte ranges, bytes wanted and read through, predicted seconds and US dollars.

        Examples:
            >>> plan = lr.scan("orders.parquet").explain().to_dict()
            >>> [unit["rows"] for file in plan["plan"]["files"] for unit in file["units"]]
            [4]
        """
        return self._native.explain_dict()


class _Once:
    """One pass over a scan, for one consumer, whose errors are replaced by the scan's own."""

    __slots__ = ("_stream",)

    def __init__(self, stream: _lakerace.Stream) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream.__arrow_c_stream__(requested_schema, raises_later=True)


def raise_own(stream: _lakerace.Stream, call: Callable[[], _T]) -> _T:
    """Calls, and raises the stream's own error in place of the consumer's."""
    try:
        return call()
    except StopIteration:
        raise
    except Exception as error:
        own = stream.exception()
        if own is None:
            raise
        raise own from error


@checked_methods
class Scan(ReadableRows):
    """A planned read of a location: made by :func:`lakerace.scan`.

    A scan is an Arrow stream (`__arrow_c_stream__`): pyarrow, polars, pandas, duckdb and other consumers of the
    Arrow PyCapsule interface read it directly, without a copy. Each of them reads the rows again. Strings arrive as string
    views, unless the consumer requests another type.

    A scan of a Delta table reads one version: the last one when it was made, or that of `at`. Its `head`, `lazy` and
    `to_dataset`, a pickle of it and its tasks read the same version.

    A C stream carries a message only, so an error in the middle of one is raised by the consumer as its own class;
    :meth:`to_arrow`, :meth:`to_polars`, :meth:`to_pandas` and :meth:`batches` raise :class:`lakerace.Error`.

    A scan can be pickled. The pickle holds the location, all options, and `storage_options` with the credentials in them,
    as plain text: whoever reads the pickle has them. With `pickle_credentials=False` it holds those settings alone that
    are no secrets (:data:`PUBLIC_SETTINGS`), and the process that opens it takes its credentials from its own environment
    (`AWS_*`). Credentials of the environment are never in a pickle.

    Examples:
        >>> import polars
        >>> polars.DataFrame(lr.scan("orders.parquet", where="price > 9000")).height
        2
    """

    __slots__ = ("_job", "_location", "_native", "_options", "_part", "_pickle_credentials")

    def __init__(
        self,
        location: str,
        options: Mapping[str, object],
        part: str | None = None,
        pickle_credentials: bool = True,
        progress: bool = False,
        native: _lakerace.Scan | None = None,
    ) -> None:
        self._location = location
        self._options = dict(options)
        self._part = part
        self._pickle_credentials = pickle_credentials
        # Progress is that of a job.
        self._job = (current_job() or _lakerace.Job()) if progress else None
        given = with_job(self._options) if self._job is None else {**self._options, "job": self._job}
        self._native = native or _lakerace.Scan(location, given, part)

    def __reduce__(self) -> tuple[object, ...]:
        options = self._fixed_options()
        options = options if self._pickle_credentials else _without_credentials(options)
        return (Scan, (self._location, options, self._part, self._pickle_credentials))

    def __repr__(self) -> str:
        hidden = ("storage_options", "locations", "table_id")
        set_options = {k: v for k, v in self._options.items() if v is not None and k not in hidden}
        options = "".join(f", {name}={value!r}" for name, value in set_options.items())
        return f"<lakerace.Scan {self.location!r}{options}>"

    @property
    def location(self) -> str | list[str]:
        """The path or URL, as it was given; of a list of them, all.

        Examples:
            >>> lr.scan("orders.parquet").location
            'orders.parquet'
        """
        listed = self._options.get("locations")
        return list(listed) if isinstance(listed, list) else self._location

    def _scanned(self) -> Scan:
        return self

    def _limited(self, rows: int) -> Scan:
        """The first rows of the scan."""
        if self._part is not None:
            raise UsageError("a task of a scan has no first rows: use those of the whole scan")
        limit = self._options.get("limit")
        return self._with_options({**self._options, "limit": min(rows, limit) if isinstance(limit, int) else rows})

    def _fixed_options(self) -> dict[str, Any]:
        """The options with which another process or job reads the same version of a table."""
        version = self._native.version
        if version is None or self._part is not None:
            return self._options
        return {**self._options, "at": str(version), "table_id": self._native.table_id}

    def _with_options(self, options: dict[str, Any]) -> Scan:
        """A scan of the same opened files, and of the same version of a table, with other columns, filter and limit."""
        native = self._native.narrowed(options)
        return Scan(self._location, options, None, self._pickle_credentials, native=native)

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and types of the stream, as a `pyarrow.Schema` (needs pyarrow).

        Examples:
            >>> lr.scan("orders.parquet").schema.field("price").type
            DataType(double)
        """
        return needed("pyarrow").schema(self)

    def explain(self) -> Explain:
        """What the scan will read and what that costs. Reads nothing.

        Examples:
            >>> print(lr.scan("orders.parquet", columns=["price"]).explain())
            columns   price
            files     1, ...; 1 of 1 parts are read
            rows      4
            ...
        """
        return Explain(self._native)

    def count(self) -> int:
        """The number of rows; from metadata alone where that is exact.

        Examples:
            >>> lr.scan("orders.parquet", where="customer = 'ann'").count()
            2
        """
        with self._progress():
            return self._native.count()

    def checksum(self) -> str:
        """A checksum of the rows, 32 hexadecimal digits: the same for the same multiset of rows, in any
        order, file format or batch size.

        Examples:
            >>> lr.scan("orders.parquet").checksum() == lr.scan("orders.csv").checksum()
            True
        """
        with self._progress():
            return self._native.checksum()[1]

    def report(self) -> dict[str, Any]:
        """What the scan has cost since it was opened: `rows`, `bad_rows` (those left out or given nulls by
        `on_bad_row`), `bytes_read`, `requests` by kind, `wall_seconds`, `cpu_seconds` and `peak_rss_bytes` of the process,
        `cost_usd`.

        Examples:
            >>> scan = lr.scan("orders.parquet")
            >>> table = scan.to_arrow()
            >>> scan.report()["rows"]
            4
        """
        return self._native.report()

    def tasks(self, n: int) -> list[Scan]:
        """Splits the scan into up to `n` scans that together read the same rows, balanced by bytes.

        Each can be pickled and run in another process or on another machine that sees the same files. The parts of
        a scan with a limit may give more rows than the limit. A scan with `order_by` has no parts.

        Examples:
            >>> import pickle
            >>> tasks = [pickle.loads(pickle.dumps(task)) for task in lr.scan("orders.parquet").tasks(2)]
            >>> sum(task.count() for task in tasks)
            4
        """
        parts = self._native.parts(n)
        return [Scan(self._location, self._options, part, self._pickle_credentials) for part in parts]

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table` (needs pyarrow).

        Examples:
            >>> lr.scan("orders.parquet", columns=["customer"], limit=2).to_arrow().to_pylist()
            [{'customer': 'ann'}, {'customer': 'bob'}]
        """
        pyarrow = needed("pyarrow")
        # `pyarrow.table` would import pandas first, to see whether it is given a frame of it.
        return self._consume(lambda stream: pyarrow.RecordBatchReader.from_stream(stream).read_all())

    def to_polars(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame` (needs polars).

        Examples:
            >>> lr.scan("orders.parquet").to_polars()["price"].max()
            12000.0
        """
        frame: polars.DataFrame = self._consume(needed("polars").DataFrame)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame` (needs pyarrow and pandas).

        Examples:
            >>> lr.scan("orders.parquet").to_pandas().shape
            (4, 4)
        """
        needed("pandas")
        return self.to_arrow().to_pandas()

    def lazy(self) -> polars.LazyFrame:
        """The rows as a `polars.LazyFrame` (needs polars and pyarrow). Nothing is read before it is collected: then lakerace reads the
        columns that the query needs, and leaves out what its filter rules out.

        Examples:
            >>> import polars as pl
            >>> orders = lr.scan("orders.parquet").lazy()
            >>> orders.filter(pl.col("price") > 9000).select("order_id").collect()["order_id"].to_list()
            [2, 4]
        """
        needed("polars")
        needed("pyarrow")
        from lakerace._lazy import lazy

        return lazy(self)

    def to_dataset(self) -> ScanDataset:
        """The rows as a `pyarrow.dataset.Dataset` (needs pyarrow), by which duckdb and others ask for columns and filters of a query:
        `data = scan.to_dataset(); duckdb.sql("SELECT … FROM data WHERE …")`.

        Examples:
            >>> import duckdb
            >>> orders = lr.scan("orders.parquet").to_dataset()
            >>> duckdb.sql("SELECT order_id FROM orders WHERE price > 10000").fetchall()
            [(4,)]
        """
        needed("pyarrow")
        from lakerace._dataset import ScanDataset

        return ScanDataset(self)

    def _narrowed(self, columns: Sequence[str] | None, where: str | None, limit: int | None) -> Scan:
        """A scan that leaves out columns and rows where that is known to be right. Who calls applies all of it again."""
        if self._part is not None:
            return self
        return self._with_options(narrowed_options(self._options, self.schema.names, columns, where, limit))

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows batch by batch, as `pyarrow.RecordBatch` (needs pyarrow). Memory holds a few of them at a time.

        Examples:
            >>> [batch.num_rows for batch in lr.scan("orders.parquet", batch_rows=3).batches()]
            [3, 1]
        """
        return self._batches(None)

    def _batches(self, schema: pyarrow.Schema | None) -> Iterator[pyarrow.RecordBatch]:
        """The same with the types of a schema."""
        pyarrow = needed("pyarrow")
        stream = self._native.stream()
        reader = raise_own(stream, lambda: pyarrow.RecordBatchReader.from_stream(_Once(stream), schema))
        while True:
            try:
                batch = raise_own(stream, reader.read_next_batch)
            except StopIteration:
                return
            yield batch

    @overload
    def rows(self, *, named: Literal[False] = False) -> Iterator[tuple[Any, ...]]: ...
    @overload
    def rows(self, *, named: Literal[True]) -> Iterator[dict[str, Any]]: ...
    def rows(self, *, named: bool = False) -> Iterator[tuple[Any, ...]] | Iterator[dict[str, Any]]:
        """The rows one by one: tuples, or with `named` dicts. They are read by batches, of which memory holds a few.

        Dates, times and durations are those of `datetime`, decimals `decimal.Decimal`, UUIDs `uuid.UUID`, structs dicts,
        lists lists and maps lists of pairs.

        Raises:
            ValueError: A time has nanoseconds, or a year that Python's times have not.

        Examples:
            >>> for row in lr.scan("orders.parquet", columns=["order_id", "customer"], limit=2).rows(named=True):
            ...     print(row)
            {'order_id': 1, 'customer': 'ann'}
            {'order_id': 2, 'customer': 'bob'}
        """
        return self._native.rows(named)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an `arrow_array_stream` capsule. Columns are cast to the types of `requested_schema`, an
        `arrow_schema` capsule with the same names."""
        return self._native.stream().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The columns and types as an `arrow_schema` capsule."""
        return self._native.__arrow_c_schema__()

    def _consume(self, consumer: Callable[[Any], _T]) -> _T:
        stream = self._native.stream()
        with self._progress():
            return raise_own(stream, lambda: consumer(_Once(stream)))

    def _progress(self) -> AbstractContextManager[None]:
        return progress_shown(self._job is not None, self._job)
