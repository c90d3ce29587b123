"""The calls of lakerace for `asyncio`: they run on threads, and a task that is cancelled ends them.

Arguments, results and errors are those of the functions of the same names. A call whose task is cancelled cleans up before the task
ends: a copy leaves no files.

Examples:
    >>> import lakerace as lr
    >>> copied = await lr.aio.copy("orders.csv", "lake/orders.parquet")
    >>> scan = await lr.aio.scan("lake/orders.parquet", where="price > 9000")
    >>> frame = await scan.to_polars()
    >>> [batch.num_rows async for batch in scan.batches()]
    [2]
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from lakerace import _api, _diff, _lakerace, _sync
from lakerace import _sql as _queries
from lakerace import _table as _tables
from lakerace import _tpch as _generating
from lakerace._job import job_scope
from lakerace._merge import MergeClauses, Merged
from lakerace._scan import Explain
from lakerace._scan import Scan as _Scan
from lakerace._warnings import reported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas
    import polars
    import pyarrow

    from lakerace._api import FileIo, JobDurability, Location, RowSource

__all__ = [
    "MergeBuilder",
    "Scan",
    "SqlRows",
    "Table",
    "check",
    "checksum",
    "copy",
    "diff",
    "scan",
    "schema",
    "sql",
    "sync",
    "tpch",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def _run(job: _lakerace.Job, call: Callable[[], _T]) -> _T:
    """Runs a call on a thread. Where the task is cancelled, the job is, and the thread is waited for.

    The job's warnings are issued here: the thread does not know the line that awaits the call.
    """

    def work() -> _T:
        with job_scope(job):
            return call()

    thread = asyncio.ensure_future(asyncio.to_thread(_not_interrupted, job, work))
    with reported(job):
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            job.cancel()
            # The error of the ended call is not that of the task.
            with suppress(Exception):
                await _ended(thread)
            raise


async def _ended(thread: asyncio.Future[Any]) -> None:
    """Waits for a thread, however often the task is cancelled meanwhile."""
    while not thread.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([thread])
    thread.exception()


class _Ended(Exception):
    """A call that its job has ended."""


def _not_interrupted(job: _lakerace.Job, work: Callable[[], _T]) -> _T:
    """Calls; a cancelled job raises what an event loop takes for an error of the call."""
    try:
        return work()
    except KeyboardInterrupt:
        if job.is_cancelled:
            raise _Ended from None
        raise


def _twin(call: Callable[_P, _T]) -> Callable[_P, Awaitable[_T]]:
    """The same function, to be awaited."""

    @functools.wraps(call)
    async def twin(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await _run(_lakerace.Job(has_reporter=True), lambda: call(*args, **kwargs))

    return twin


copy = _twin(_api.copy)
check = _twin(_api.check)
checksum = _twin(_api.checksum)
diff = _twin(_diff.diff)
schema = _twin(_api.schema)
sync = _twin(_sync.sync)
tpch = _twin(_generating.tpch)


class Scan:
    """A planned read, whose rows are awaited: made by :func:`scan`. See :class:`lakerace.Scan`.

    Examples:
        >>> scan = await lr.aio.scan("orders.parquet", where="price > 9000")
        >>> (await scan.to_polars()).height
        2
    """

    __slots__ = ("_job", "_open", "_scan")

    def __init__(self, open_scan: Callable[[], _Scan], scan: _Scan, job: _lakerace.Job) -> None:
        self._open = open_scan
        self._scan = scan
        self._job = job

    def __repr__(self) -> str:
        return repr(self._scan).replace("lakerace.Scan", "lakerace.aio.Scan", 1)

    @property
    def location(self) -> str | list[str]:
        """The path or URL, as it was given; of a list of them, all.

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> scan.location
            'orders.parquet'
        """
        return self._scan.location

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and types, as a `pyarrow.Schema` (needs pyarrow).

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> scan.schema.field("price").type
            DataType(double)
        """
        return self._scan.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order (needs pyarrow).

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> scan.columns
            ['order_id', 'day', 'customer', 'price']
        """
        return self._scan.columns

    def explain(self) -> Explain:
        """What the scan will read and what that costs. Reads nothing.

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> len(scan.explain().to_dict()["plan"]["files"])
            1
        """
        return self._scan.explain()

    def report(self) -> dict[str, Any]:
        """What the scan has cost since it was opened: see :meth:`lakerace.Scan.report`.

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> table = await scan.to_arrow()
            >>> scan.report()["rows"]
            4
        """
        return self._scan.report()

    async def count(self) -> int:
        """The number of rows; from metadata alone where that is exact.

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> await scan.count()
            4
        """
        return await self._call(_Scan.count)

    async def checksum(self) -> str:
        """A checksum of the rows: see :meth:`lakerace.Scan.checksum`.

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> await scan.checksum() == lr.scan("orders.csv").checksum()
            True
        """
        return await self._call(_Scan.checksum)

    async def to_arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table` (needs pyarrow).

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> (await scan.to_arrow()).num_rows
            4
        """
        return await self._call(_Scan.to_arrow)

    async def to_polars(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame` (needs polars).

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> (await scan.to_polars())["price"].max()
            12000.0
        """
        return await self._call(_Scan.to_polars)

    async def to_pandas(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame` (needs pyarrow and pandas).

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> (await scan.to_pandas()).shape
            (4, 4)
        """
        return await self._call(_Scan.to_pandas)

    def batches(self) -> AsyncIterator[pyarrow.RecordBatch]:
        """The rows batch by batch (needs pyarrow).

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet")
            >>> [batch.num_rows async for batch in scan.batches()]
            [4]
        """
        return self._iterated(_Scan.batches)

    def rows(self, *, named: bool = False) -> AsyncIterator[Any]:
        """The rows one by one: tuples, or with `named` dicts.

        Examples:
            >>> scan = await lr.aio.scan("orders.parquet", columns=["order_id"])
            >>> [row async for row in scan.rows(named=True)][0]
            {'order_id': 1}
        """
        return self._iterated(lambda scan: _chunks(scan.rows(named=True) if named else scan.rows()), is_chunked=True)

    def __aiter__(self) -> AsyncIterator[tuple[Any, ...]]:
        """The rows one by one, as tuples of Python values."""
        return self.rows()

    async def _call(self, call: Callable[[_Scan], _T]) -> _T:
        await self._opened()
        return await _run(self._job, lambda: call(self._scan))

    async def _opened(self) -> None:
        """Opens the scan again where a cancelled task has ended its job."""
        if self._job.is_cancelled:
            job = _lakerace.Job(has_reporter=True)
            self._scan = await _run(job, self._open)
            self._job = job

    async def _iterated(
        self, iterate: Callable[[_Scan], Iterator[Any]], *, is_chunked: bool = False
    ) -> AsyncIterator[Any]:
        taken = await self._call(iterate)
        while (item := await _run(self._job, lambda: next(taken, None))) is not None:
            if is_chunked:
                for row in item:
                    yield row
            else:
                yield item


#: Rows that are taken from a thread at a time.
_CHUNK_ROWS = 4096


def _chunks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    """Rows in lists: each of them is a turn of the event loop."""
    from itertools import islice

    while chunk := list(islice(rows, _CHUNK_ROWS)):
        yield chunk


def _opening(call: Callable[_P, _Scan]) -> Callable[_P, Awaitable[Scan]]:
    """A function that plans a scan, to be awaited."""

    @functools.wraps(call)
    async def opening(*args: _P.args, **kwargs: _P.kwargs) -> Scan:
        job = _lakerace.Job(has_reporter=True)

        def open_scan() -> _Scan:
            return call(*args, **kwargs)

        return Scan(open_scan, await _run(job, open_scan), job)

    return opening


scan = _opening(_api.scan)


class SqlRows:
    """The rows of a query, which are awaited: made by :func:`sql`. See :class:`lakerace.SqlRows`.

    Examples:
        >>> rows = await lr.aio.sql("SELECT customer, sum(price) FROM 'orders.parquet' GROUP BY customer")
        >>> (await rows.to_polars()).height
        3
    """

    __slots__ = ("_job", "_rows")

    def __init__(self, rows: _queries.SqlRows, job: _lakerace.Job) -> None:
        self._rows = rows
        self._job = job

    def __repr__(self) -> str:
        return repr(self._rows).replace("lakerace.SqlRows", "lakerace.aio.SqlRows", 1)

    @property
    def query(self) -> str:
        """The query, as it was given.

        Examples:
            >>> (await lr.aio.sql("SELECT 1 AS one")).query
            'SELECT 1 AS one'
        """
        return self._rows.query

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and types of the rows, as a `pyarrow.Schema`.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> rows.schema.field("most").type
            DataType(double)
        """
        return self._rows.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> rows.columns
            ['most']
        """
        return self._rows.columns

    def report(self) -> dict[str, Any]:
        """The cost of the runs: see :meth:`lakerace.SqlRows.report`.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> table = await rows.to_arrow()
            >>> rows.report()["rows"]
            4
        """
        return self._rows.report()

    async def explain(self) -> _queries.SqlExplain:
        """The plan of duckdb and the price of each scan: see :meth:`lakerace.SqlRows.explain`.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> "scan of orders.parquet" in str(await rows.explain())
            True
        """
        return await self._call(_queries.SqlRows.explain)

    async def count(self) -> int:
        """The number of rows: the query runs for it.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> await rows.count()
            1
        """
        return await self._call(_queries.SqlRows.count)

    async def to_arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table`.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> (await rows.to_arrow()).to_pylist()
            [{'most': 12000.0}]
        """
        return await self._call(_queries.SqlRows.to_arrow)

    async def to_polars(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame` (needs polars).

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> (await rows.to_polars()).item()
            12000.0
        """
        return await self._call(_queries.SqlRows.to_polars)

    async def to_pandas(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame` (needs pandas).

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> (await rows.to_pandas()).shape
            (1, 1)
        """
        return await self._call(_queries.SqlRows.to_pandas)

    def batches(self) -> AsyncIterator[pyarrow.RecordBatch]:
        """The rows batch by batch, as `pyarrow.RecordBatch`.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> [batch.num_rows async for batch in rows.batches()]
            [1]
        """
        return self._iterated(_queries.SqlRows.batches)

    async def rows(self, *, named: bool = False) -> AsyncGenerator[Any, None]:
        """The rows one by one: tuples, or with `named` dicts.

        Examples:
            >>> rows = await lr.aio.sql("SELECT max(price) AS most FROM 'orders.parquet'")
            >>> [row async for row in rows.rows()]
            [(12000.0,)]
        """
        lists = self._iterated(lambda rows: _chunks(rows.rows(named=True) if named else rows.rows()))
        async with aclosing(lists):
            async for chunk in lists:
                for row in chunk:
                    yield row

    def __aiter__(self) -> AsyncGenerator[tuple[Any, ...], None]:
        """The rows one by one, as tuples of Python values."""
        return self.rows()

    async def _call(self, call: Callable[[_queries.SqlRows], _T]) -> _T:
        if self._job.is_cancelled:
            # A cancelled task has ended the job; the rows take this one when they run again.
            self._job = _lakerace.Job(has_reporter=True)
        return await _run(self._job, lambda: call(self._rows))

    async def _iterated(self, iterate: Callable[[_queries.SqlRows], Iterator[_T]]) -> AsyncGenerator[_T, None]:
        taken = await self._call(iterate)
        try:
            while (item := await _run(self._job, lambda: next(taken, None))) is not None:
                yield item
        finally:
            # A loop that is left ends the query's thread.
            await asyncio.to_thread(taken.close)  # type: ignore[attr-defined]


@functools.wraps(_queries.sql)
async def sql(*args: Any, **kwargs: Any) -> SqlRows:
    """The rows of a query, planned on a thread."""
    job = _lakerace.Job(has_reporter=True)
    with _queries.advised_warnings({name: value for name, value in kwargs.items() if name != "params"}):
        return SqlRows(await _run(job, lambda: _queries.sql(*args, **kwargs)), job)


class _Method(Generic[_P, _T]):
    """A method of a table, to be awaited."""

    def __init__(self, call: Callable[Concatenate[_tables.Table, _P], _T]) -> None:
        self._method = call
        functools.update_wrapper(self, call)  # type: ignore[arg-type]

    def __get__(self, table: Table, owner: type[Table]) -> Callable[_P, Awaitable[_T]]:
        if table is None:
            return self  # type: ignore[unreachable]
        return _twin(functools.partial(self._method, table._table))


class MergeBuilder(MergeClauses):
    """A merge whose run is awaited: see :class:`lakerace.MergeBuilder`, which has the same clauses.

    Examples:
        >>> merge = lr.aio.Table("lake/orders").merge("changes.csv").when_matched_update_all()
        >>> (await merge.execute()).updated
        1
    """

    __slots__ = ()

    async def execute(self, *, dry_run: bool = False) -> Merged:
        """Runs the merge, as :meth:`lakerace.MergeBuilder.execute` does.

        Examples:
            >>> merge = lr.aio.Table("lake/orders").merge("changes.csv").when_not_matched_insert_all()
            >>> (await merge.execute(dry_run=True)).inserted
            1
        """
        return await _twin(self._run)(dry_run)


class Table:
    """A Delta table whose jobs are awaited: see :class:`lakerace.Table`, which has the same arguments.

    Examples:
        >>> changed = await lr.aio.Table("lake/orders").upsert("changes.csv")
        >>> changed.rows, changed.version
        (2, 2)
    """

    __slots__ = ("_table",)

    def __init__(
        self,
        location: Location,
        *,
        key: str | Sequence[str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Names a table, as :class:`lakerace.Table` does."""
        self._table = _tables.Table(location, key=key, storage_options=storage_options)

    def __repr__(self) -> str:
        return repr(self._table).replace("lakerace.Table", "lakerace.aio.Table", 1)

    upsert = _Method(_tables.Table.upsert)
    update = _Method(_tables.Table.update)

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
        """Starts a merge, as :meth:`lakerace.Table.merge` does. Its `execute` is awaited.

        Examples:
            >>> merge = lr.aio.Table("lake/orders").merge("changes.csv", on="order_id")
            >>> (await merge.when_matched_delete().execute()).deleted
            1
        """
        made = self._table.merge(
            source,
            on,
            predicate=predicate,
            source_alias=source_alias,
            target_alias=target_alias,
            memory_limit=memory_limit,
            threads=threads,
            io=io,
            durability=durability,
            enable_deletion_vectors=enable_deletion_vectors,
        )
        return MergeBuilder(made._location, made._source, made._join, made._options)

    delete = _Method(_tables.Table.delete)
    delete_keys = _Method(_tables.Table.delete_keys)
    explain_upsert = _Method(_tables.Table.explain_upsert)
    compact = _Method(_tables.Table.compact)
    vacuum = _Method(_tables.Table.vacuum)
    verify = _Method(_tables.Table.verify)
    history = _Method(_tables.Table.history)
    alter = _Method(_tables.Table.alter)
    restore = _Method(_tables.Table.restore)
    schema = _Method(_tables.Table.schema)

    async def scan(self, **options: Any) -> Scan:
        """Plans a read; the arguments are those of :func:`lakerace.scan`.

        Examples:
            >>> scan = await lr.aio.Table("lake/orders").scan(where="customer = 'ann'")
            >>> await scan.count()
            2
        """
        return await _opening(self._table.scan)(**options)


def __dir__() -> list[str]:
    return __all__
