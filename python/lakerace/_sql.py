"""Queries of SQL over locations: duckdb computes, lakerace reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from lakerace import _lakerace
from lakerace._arguments import checked_arguments, checked_methods
from lakerace._errors import UnsupportedError, UsageError, told
from lakerace._job import current_job
from lakerace._packages import needed
from lakerace._readable import ShownRows
from lakerace._warnings import changed_warnings, reported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Literal, TypeAlias

    import duckdb
    import pandas
    import polars
    import pyarrow
    import pyarrow.dataset

    from lakerace._api import RowSource
    from lakerace._sql_database import QueryDatabase
    from lakerace._sql_run import QueryRun
    from lakerace._sql_scan import OpenLocation, RunState
    from lakerace._sql_text import ParsedQuery

    Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]

#: The first version of duckdb whose syntax trees and relations are those that queries use.
_LEAST_DUCKDB = 2


@checked_arguments
def sql(
    query: str,
    /,
    *,
    params: Parameters | None = None,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, str] | None = None,
    **relations: RowSource,
) -> SqlRows:
    """Runs a SQL query over locations (needs the extra `sql`: duckdb and pyarrow). Metadata is read now, data when rows
    are taken.

    duckdb parses, plans and computes. Its tables are scans of lakerace: they read the columns that the query needs, and leave out
    the files, row groups and pages that its filters rule out. All that is read is in one :meth:`SqlRows.report`.

    Args:
        query: One query in the dialect of duckdb: SELECT, FROM, WITH, VALUES, TABLE, SHOW, DESCRIBE or SUMMARIZE. Tables that are no relations
            are locations as for :func:`lakerace.scan`, in quotes where they are no plain names: files, folders, globs, Delta
            tables, databases. `'lake/orders' AT (VERSION => 3)` and `AT (TIMESTAMP => …)` read a version of a Delta table.
        params: Values of `?` (a list) or of `$name` (a dict).
        memory_limit: Bytes of memory for joins, groups and sorts; the rest is written to temporary files on the local
            disk (`TMPDIR`). Default: 80 % of the machine's memory.
        threads: Threads that decode and compute; the number of cores by default.
        storage_options: Settings of the stores of locations in the query, as for :func:`lakerace.scan`.
        **relations: Tables by their names in the query: a location, a scan, a :class:`Table`, or rows as for :func:`lakerace.copy`.
            A scan has its own options. Streams and lists are read into memory now.

    Raises:
        UsageError: The query is wrong, a parameter is missing, or the query does not use a relation.
        NotFoundError: A location does not exist.
        ModuleNotFoundError: duckdb or pyarrow is not installed.

    Examples:
        >>> lr.sql("SELECT customer, count(*) FROM 'orders.parquet' GROUP BY customer ORDER BY customer").to_arrow().num_rows
        3
        >>> query = "SELECT orders.order_id FROM orders JOIN changes USING (order_id) WHERE orders.price > ?"
        >>> list(lr.sql(query, params=[9000], orders="delta:lake/orders", changes="changes.csv"))
        [(2,)]
    """
    job = current_job() or _lakerace.Job(has_reporter=True)
    with advised_warnings(relations), reported(job):
        return SqlRows._asked(query, relations, params, _limits(memory_limit, threads, storage_options), job)


def advised_warnings(relations: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Adds to the warnings that are issued within what works in a query, which has no options for reading."""
    from lakerace._sql_advice import with_reading_advice
    from lakerace._sql_relations import has_scans

    return changed_warnings(None if has_scans(relations) else with_reading_advice)


def _limits(
    memory_limit: int | str | None,
    threads: int | None,
    storage_options: Mapping[str, str] | None,
    output: str | None = None,
    relation_form: str = "",
) -> dict[str, Any]:
    """The limits of a query, and the text before `name=location` where the caller names relations."""
    if threads is not None and threads < 1:
        raise UsageError(f"threads={threads}: not a number of threads")
    storage = {str(name): str(value) for name, value in (storage_options or {}).items()}
    return {
        "memory_limit": memory_limit,
        "threads": threads,
        "storage_options": storage or None,
        "output": output,
        "relation_form": relation_form,
    }


@checked_methods
class SqlRows(ShownRows):
    """The rows of a query: made by :func:`lakerace.sql`. Each call runs the query again, over the versions that were opened first.

    They are an Arrow stream, as a :class:`Scan` is: `polars.DataFrame(rows)`, `lakerace.copy(rows, "s3://lake/sums.parquet")`.

    Examples:
        >>> rows = lr.sql("SELECT day, sum(price) AS total FROM 'orders.parquet' GROUP BY day")
        >>> lr.copy(rows, "sums.parquet").rows
        3
    """

    __slots__ = ("_database", "_job", "_opened", "_params", "_parsed", "_query", "_schema", "_tables")

    def __init__(
        self,
        query: str,
        parsed: ParsedQuery,
        params: Parameters | None,
        database: QueryDatabase,
        job: _lakerace.Job,
        opened: Mapping[str, OpenLocation],
        tables: Mapping[str, pyarrow.Table],
    ) -> None:
        self._query = query
        self._parsed = parsed
        self._params = params
        self._database = database
        self._job = job
        self._opened = opened
        self._tables = tables
        self._schema: pyarrow.Schema | None = None

    @classmethod
    def _asked(
        cls,
        query: str,
        relations: Mapping[str, Any],
        params: Parameters | None,
        limits: Mapping[str, Any],
        job: _lakerace.Job,
    ) -> SqlRows:
        """Opens the locations of a query and checks it."""
        needed("pyarrow")
        duckdb = needed("duckdb", extra="sql")
        _check_version(duckdb.__version__)
        if isinstance(params, (str, bytes)):
            raise UsageError(f"params is a list of values, not one text: write [{params!r}]")
        from lakerace._sql_database import QueryDatabase
        from lakerace._sql_relations import check_names, check_places, is_scanned, open_places, relation_table
        from lakerace._sql_run import raised
        from lakerace._sql_scan import RunState
        from lakerace._sql_text import parse_query

        check_names(relations)
        # Where it can't be encoded, the caller names the argument.
        query.encode()
        database = QueryDatabase(limits)
        with database.connected() as connection:
            try:
                parsed = parse_query(connection, query, list(relations), limits["relation_form"])
            except duckdb.Error as error:
                raise raised(error, RunState(query)) from error
        opened = open_places(parsed, relations, limits, job)
        check_places(parsed, relations, limits, job)
        tables = {name: relation_table(name, source) for name, source in relations.items() if not is_scanned(source)}
        rows = cls(query, parsed, params, database, job, opened, tables)
        # What is wrong with the query shows now.
        rows._schema = rows._run(f"SELECT * FROM ({parsed.text}\n) LIMIT 0", reads=False).schema()
        return rows

    def __repr__(self) -> str:
        return f"<lakerace.SqlRows {self._query!r}>"

    @property
    def query(self) -> str:
        """The query, as it was given.

        Examples:
            >>> lr.sql("SELECT 1 AS one").query
            'SELECT 1 AS one'
        """
        return self._query

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and types of the rows, as a `pyarrow.Schema`.

        Examples:
            >>> lr.sql("SELECT max(price) AS most FROM 'orders.parquet'").schema.field("most").type
            DataType(double)
        """
        assert self._schema is not None
        return self._schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order.

        Examples:
            >>> lr.sql("SELECT day, price FROM 'orders.parquet'").columns
            ['day', 'price']
        """
        names: list[str] = self.schema.names
        return names

    def _schema_shown(self) -> pyarrow.Schema:
        return self.schema

    def _caption(self) -> str:
        return self._query

    def _run(self, text: str | None = None, *, reads: bool = True) -> QueryRun:
        from lakerace._sql_run import QueryRun
        from lakerace._sql_scan import RunState, SqlDataset
        from lakerace._sql_text import UsedRows

        if self._job.is_cancelled:
            # An interrupted run has ended the job of all scans.
            self._job = current_job() or _lakerace.Job(has_reporter=True)
            # A location that the query has several times stays one.
            once = {id(opened): opened for opened in self._opened.values()}
            again = {key: opened.reopened(self._job) for key, opened in once.items()}
            self._opened = {name: again[id(opened)] for name, opened in self._opened.items()}
        state = RunState(self._query, self._parsed.words, reads=reads)
        used = self._parsed.used
        tables: dict[str, Any] = {
            name: SqlDataset(opened, state, used.get(name, UsedRows())) for name, opened in self._opened.items()
        }
        return QueryRun(
            text or self._parsed.text, self._params, self._database, self._job, {**tables, **self._tables}, state
        )

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows batch by batch, as `pyarrow.RecordBatch`. Memory holds a few of them at a time.

        Examples:
            >>> sum(batch.num_rows for batch in lr.sql("SELECT * FROM 'orders.parquet'").batches())
            4
        """
        pyarrow = needed("pyarrow")
        names = self.columns
        for batch in self._run().batches():
            # duckdb gives columns of one name their number in the schema only.
            yield (
                batch
                if batch.schema.names == names
                else pyarrow.RecordBatch.from_arrays(
                    batch.columns, schema=pyarrow.schema(map(pyarrow.Field.with_name, batch.schema, names))
                )
            )

    def explain(self) -> SqlExplain:
        """The plan of duckdb, and of each scan the columns, the filter and the price. Reads no data.

        Examples:
            >>> plan = lr.sql("SELECT price FROM 'orders.parquet' WHERE price > 9000").explain()
            >>> "scan of orders.parquet" in str(plan)
            True
        """
        run = self._run(reads=False)
        for _ in run.batches():
            pass
        return SqlExplain(self._query, self._run(f"EXPLAIN {self._parsed.text}", reads=False).plan(), run.state)

    def report(self) -> dict[str, Any]:
        """The cost of all runs of the query, in the form of :meth:`Scan.report`. `rows` are those that the scans returned.

        Examples:
            >>> rows = lr.sql("SELECT price FROM 'orders.parquet'")
            >>> table = rows.to_arrow()
            >>> rows.report()["rows"]
            4
        """
        return self._job.report(self._job.progress()[1])

    def head(self, rows: int = 5) -> SqlRows:
        """The first rows.

        Examples:
            >>> list(lr.sql("SELECT order_id FROM 'orders.parquet' ORDER BY price").head(2))
            [(3,), (1,)]
        """
        if rows < 0:
            raise UsageError(f"rows={rows}: not a number of rows")
        parsed = self._parsed._replace(text=f"SELECT * FROM ({self._parsed.text}\n) LIMIT {rows}")
        limited = SqlRows(self._query, parsed, self._params, self._database, self._job, self._opened, self._tables)
        limited._schema = self._schema
        return limited

    def count(self) -> int:
        """The number of rows: the query runs for it.

        Examples:
            >>> lr.sql("SELECT DISTINCT customer FROM 'orders.parquet'").count()
            3
        """
        counted = self._run(f"SELECT count(*) FROM ({self._parsed.text}\n)")
        (count,) = [batch.column(0)[0].as_py() for batch in counted.batches()]
        return int(count)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, as tuples of Python values: see :meth:`Scan.rows`."""
        return self.rows()

    @overload
    def rows(self, *, named: Literal[False] = False) -> Iterator[tuple[Any, ...]]: ...
    @overload
    def rows(self, *, named: Literal[True]) -> Iterator[dict[str, Any]]: ...
    def rows(self, *, named: bool = False) -> Iterator[tuple[Any, ...]] | Iterator[dict[str, Any]]:
        """The rows one by one: tuples, or with `named` dicts. The values are those of :meth:`Scan.rows`.

        Examples:
            >>> next(lr.sql("SELECT sum(price) AS total FROM 'changes.csv'").rows(named=True))
            {'total': 9075.5}
        """
        for table in self._batch_tables():
            yield from _lakerace.rows(table, named)

    def _batch_tables(self) -> Iterator[pyarrow.Table]:
        """The rows as tables of one batch each, which the native half takes."""
        pyarrow = needed("pyarrow")
        for batch in self.batches():
            yield pyarrow.Table.from_batches([batch])

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table`.

        Examples:
            >>> lr.sql("SELECT max(price) AS most FROM 'orders.parquet'").to_arrow().to_pylist()
            [{'most': 12000.0}]
        """
        return needed("pyarrow").Table.from_batches(list(self.batches()), self.schema)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame` (needs polars).

        Examples:
            >>> lr.sql("SELECT order_id FROM 'orders.parquet' ORDER BY 1 DESC").to_polars()["order_id"].to_list()
            [4, 3, 2, 1]
        """
        frame: polars.DataFrame = needed("polars").from_arrow(self.to_arrow())
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame` (needs pandas).

        Examples:
            >>> lr.sql("SELECT day, price FROM 'orders.parquet'").to_pandas().shape
            (4, 2)
        """
        needed("pandas")
        return self.to_arrow().to_pandas()

    def lazy(self) -> polars.LazyFrame:
        """All rows as a `polars.LazyFrame` (needs polars): the query runs now.

        Examples:
            >>> lr.sql("SELECT * FROM 'orders.parquet'").lazy().select("price").sum().collect().item()
            21660.0
        """
        return self.to_polars().lazy()

    def to_dataset(self) -> pyarrow.dataset.Dataset:
        """All rows as a `pyarrow.dataset.Dataset`: the query runs now.

        Examples:
            >>> lr.sql("SELECT * FROM 'orders.parquet' WHERE price > 9000").to_dataset().count_rows()
            2
        """
        from pyarrow.dataset import dataset

        return dataset(self.to_arrow())

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a `pyarrow.RecordBatchReader`, which is read once and batch by batch.

        Examples:
            >>> lr.sql("SELECT order_id FROM 'orders.parquet'").to_reader().read_all().num_rows
            4
        """
        return needed("pyarrow").RecordBatchReader.from_batches(self.schema, self.batches())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """All rows as a relation of duckdb: the query runs now.

        Args:
            connection: The connection of the relation; duckdb's default one if it is left out.

        Examples:
            >>> lr.sql("SELECT * FROM 'orders.parquet'").to_duckdb().filter("customer = 'eve'").fetchall()[0][0]
            4
        """
        relations = needed("duckdb", extra="sql") if connection is None else connection
        relation: duckdb.DuckDBPyRelation = relations.from_arrow(self.to_arrow())
        return relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an `arrow_array_stream` capsule."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The columns and types as an `arrow_schema` capsule."""
        return self.schema.__arrow_c_schema__()


class SqlExplain:
    """The plan of a query and the price of its scans. `str()` of it is for people, :meth:`to_dict` for programs.

    Examples:
        >>> plan = lr.sql("SELECT customer FROM 'orders.parquet'").explain()
        >>> "scan of orders.parquet" in str(plan)
        True
    """

    __slots__ = ("_plan", "_query", "_scans")

    def __init__(self, query: str, plan: str, state: RunState) -> None:
        self._query = query
        self._plan = plan
        self._scans = state.asked

    def __str__(self) -> str:
        parts = [self._plan.rstrip()]
        for scan in self._scans:
            lines = [f"scan of {scan.location}"]
            if scan.filtered_after is not None:
                lines.append(f"  afterwards {scan.filtered_after}")
            lines += [f"  {line}".rstrip() for line in scan.scan.explain().splitlines()]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The query, duckdb's plan (`plan`), and of each scan (`scans`) the location, the columns (`None` for all of them), the filter
        that lakerace applies (`where`), a filter that is applied after it (`filtered_after`), and the result of :meth:`Explain.to_dict` (`explain`).

        Examples:
            >>> plan = lr.sql("SELECT price FROM 'orders.parquet' WHERE price > 9000").explain().to_dict()
            >>> [(scan["location"], scan["columns"]) for scan in plan["scans"]]
            [('orders.parquet', ['price'])]
        """
        scans = [
            {
                "location": scan.location,
                "columns": scan.columns,
                "where": scan.where,
                "filtered_after": scan.filtered_after,
                "explain": scan.scan.explain_dict(),
            }
            for scan in self._scans
        ]
        return {"query": self._query, "plan": self._plan, "scans": scans}


def _check_version(version: str) -> None:
    if int(version.partition(".")[0]) < _LEAST_DUCKDB:
        advice = 'pip install "lakerace[sql]"'
        raise told(
            UnsupportedError, f"duckdb {version} is too old for queries: {_LEAST_DUCKDB}.0 is needed", None, advice
        )


class _CommandAnswer:
    """A query of the command line, as the native half asks it."""

    def __init__(self, rows: SqlRows) -> None:
        self._rows = rows

    def explained(self) -> tuple[str, str]:
        """The plan as text and as JSON."""
        import json

        explain = self._rows.explain()
        return str(explain), json.dumps(explain.to_dict())

    def empty_table(self) -> pyarrow.Table:
        """A table without rows, for its columns."""
        return self._rows.schema.empty_table()

    def tables(self) -> Iterator[pyarrow.Table]:
        """The rows as tables of one batch each."""
        return self._rows._batch_tables()


def answer_command(
    query: str, relations: Sequence[tuple[str, str]], options: Mapping[str, Any], job: _lakerace.Job
) -> _CommandAnswer:
    """Answers `lakerace sql`. All that is read counts for `job`."""
    named: dict[str, str] = {}
    for name, location in relations:
        if named.setdefault(name, location) != location:
            raise UsageError(f"relation {name!r} is given twice")
    limits = _limits(**options, relation_form="--relation ")
    try:
        answer = _CommandAnswer(SqlRows._asked(query, named, None, limits, job))
    except UsageError as error:
        from lakerace._sql_run import VALUES_ADVICE

        if error.advice != VALUES_ADVICE:
            raise
        message = "the query has parameters, and the command takes no values for them"
        advice = "write the values in the query, or call lakerace.sql with params"
        raise told(UsageError, message, error.place, advice) from error
    from lakerace._sql_advice import READING_ADVICE, names_option

    # The command prints all warnings of the job, those that are taken here, too.
    if any(map(names_option, job.take_warnings())):
        job.add_warning(READING_ADVICE)
    return answer
