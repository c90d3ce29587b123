"""Runs of a query: duckdb works on a thread of its own, so that Ctrl-C is heard meanwhile."""

from __future__ import annotations

import atexit
import queue
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow

from lakerace._errors import (
    Error,
    InternalError,
    InvalidInputError,
    UnavailableError,
    UnsupportedError,
    UsageError,
    told,
)
from lakerace._sql_database import ERROR_KIND, OPEN_CONNECTIONS, message_of
from lakerace._sql_scan import check_decimals, check_types
from lakerace._sql_text import query_place
from lakerace._warnings import reported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakerace import _lakerace
    from lakerace._sql_database import QueryDatabase
    from lakerace._sql_scan import RunState

#: Rows of a batch.
BATCH_ROWS = 122_880
#: Batches that wait for their consumer.
_WAITING_BATCHES = 2
#: Seconds between two looks at the job.
_LOOK_SECONDS = 0.1


#: Runs whose consumers may come back for more rows.
_RUNS: weakref.WeakSet[QueryRun] = weakref.WeakSet()
#: Seconds for which the end of the program waits for a thread.
_LAST_SECONDS = 10.0


def _end_runs() -> None:
    """At the end of the program: duckdb complains of objects that a thread still has."""
    for run in list(_RUNS):
        run.end(_LAST_SECONDS)


atexit.register(_end_runs)


class QueryRun:
    """One run of a query, on a connection of its own."""

    def __init__(
        self,
        text: str,
        params: Sequence[Any] | Mapping[str, Any] | None,
        database: QueryDatabase,
        job: _lakerace.Job,
        tables: Mapping[str, Any],
        state: RunState,
    ) -> None:
        self._text = text
        self._params = params
        self._database = database
        self._job = job
        self._tables = tables
        self.state = state
        self._batches: queue.Queue[pyarrow.RecordBatch | BaseException | None] = queue.Queue(_WAITING_BATCHES)
        self._is_stopped = threading.Event()
        self._running: tuple[duckdb.DuckDBPyConnection, threading.Thread] | None = None

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows batch by batch.

        Raises:
            KeyboardInterrupt: The job was cancelled.
        """
        with reported(self._job), self._connected() as connection:
            thread = threading.Thread(target=self._work, args=(connection,), name="lakerace-sql", daemon=True)
            thread.start()
            self._running = (connection, thread)
            _RUNS.add(self)
            try:
                while (batch := self._next(connection)) is not None:
                    yield batch
            except KeyboardInterrupt:
                self._job.cancel()
                raise
            finally:
                self.end(None)
                _RUNS.discard(self)
                self._running = None

    def end(self, seconds: float | None) -> None:
        """Ends the thread, and waits for that: not longer than for this time, if it is given."""
        if self._running is None:
            return
        connection, thread = self._running
        # In a forked process, the thread is its parent's.
        if id(connection) in OPEN_CONNECTIONS:
            self._is_stopped.set()
            connection.interrupt()
            thread.join(seconds)

    def schema(self) -> pyarrow.Schema:
        """The columns of the rows."""
        with self._connected() as connection:
            try:
                return self._relation(connection).to_arrow_reader(1).schema
            except duckdb.Error as error:
                raise raised(error, self.state) from error

    def plan(self) -> str:
        """The plan of duckdb, of an EXPLAIN."""
        with self._connected() as connection:
            try:
                rows = self._relation(connection).fetchall()
            except duckdb.Error as error:
                raise raised(error, self.state) from error
            return "\n".join(str(row[1]) for row in rows)

    @contextmanager
    def _connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = self._connection()
        OPEN_CONNECTIONS[id(connection)] = connection
        try:
            yield connection
        finally:
            # A process that was forked in the meantime has none open: the connection is its parent's.
            if OPEN_CONNECTIONS.pop(id(connection), None) is not None:
                connection.close()

    def _connection(self) -> duckdb.DuckDBPyConnection:
        connection = self._database.connected()
        try:
            for name, table in self._tables.items():
                if isinstance(table, pyarrow.Table):
                    check_types(table.schema, None, name)
                    check_decimals(table.schema, name)
                connection.register(name, table)
        except BaseException:
            connection.close()
            raise
        return connection

    def _relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        params = self._params
        return connection.sql(
            self._text, params=dict(params) if isinstance(params, Mapping) else params and list(params)
        )

    def _work(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            reader = self._relation(connection).to_arrow_reader(BATCH_ROWS)
            for batch in reader:
                if not self._put(batch):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, item: pyarrow.RecordBatch | BaseException | None) -> bool:
        """Hands on what there is; false where the consumer has gone."""
        while not self._is_stopped.is_set():
            try:
                self._batches.put(item, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False

    def _next(self, connection: duckdb.DuckDBPyConnection) -> pyarrow.RecordBatch | None:
        if id(connection) not in OPEN_CONNECTIONS:
            message = "another process has begun this query, and was forked since then"
            raise told(UsageError, message, advice="run the query again in this process")
        while True:
            try:
                item = self._batches.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if self._job.is_cancelled:
                    raise KeyboardInterrupt from None
                continue
            if isinstance(item, BaseException):
                if self._job.is_cancelled:
                    raise KeyboardInterrupt from item
                if isinstance(item, (duckdb.InternalException, duckdb.FatalException)):
                    self._database.discard()
                raise raised(item, self.state) from item
            return item


_KINDS: tuple[tuple[type[BaseException], type[Error]], ...] = (
    (duckdb.NotImplementedException, UnsupportedError),
    (duckdb.OutOfMemoryException, UnavailableError),
    (duckdb.IOException, UnavailableError),
    (duckdb.InternalException, InternalError),
    (duckdb.FatalException, InternalError),
    (duckdb.ConversionException, InvalidInputError),
    (duckdb.OutOfRangeException, InvalidInputError),
    (duckdb.ConstraintException, InvalidInputError),
    (duckdb.PermissionException, UsageError),
    (duckdb.BinderException, UsageError),
    (duckdb.CatalogException, UsageError),
    (duckdb.ParserException, UsageError),
    (duckdb.SyntaxException, UsageError),
    (duckdb.TypeMismatchException, UsageError),
    (duckdb.InvalidTypeException, UsageError),
    (duckdb.InvalidInputException, UsageError),
)

_ADVICE: tuple[tuple[type[BaseException], str], ...] = (
    (duckdb.OutOfMemoryException, "raise memory_limit, or lower threads"),
    (duckdb.PermissionException, "name the location in quotes in place of a function: FROM 'orders.parquet'"),
)


#: What duckdb says of a query whose parameters have no values, and the advice on it.
_WITHOUT_VALUES = "Values were not provided"
VALUES_ADVICE = "give their values with params=[…]"


def raised(error: BaseException, state: RunState) -> BaseException:
    """The error of a scan that has failed, else that of duckdb by what the caller can do about it."""
    own = state.failure()
    if own is not None:
        return own
    error = _of_duckdb(error)
    kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), None)
    missing = _missing_extension(message_of(error)) if isinstance(error, duckdb.Error) else None
    if missing is not None:
        return told(UsageError, missing[0], query_place(state.query, None), missing[1])
    if kind is None:
        return InvalidInputError(str(error)) if isinstance(error, (duckdb.Error, pyarrow.ArrowException)) else error
    advice = next((text for theirs, text in _ADVICE if isinstance(error, theirs)), None)
    message = message_of(error)
    if message.startswith(_WITHOUT_VALUES):
        message, advice = "the query has parameters without values", VALUES_ADVICE
    return told(kind, message, query_place(state.query, _position(state.query, message)), advice)


#: Extensions of duckdb whose functions read what a location names, too, and such a location.
_LOCATIONS = {
    "avro": "'events.avro'",
    "delta": "'delta:lake/orders'",
    "excel": "'orders.xlsx'",
    "sqlite_scanner": "'sqlite:shop.db#orders'",
}
#: What duckdb says of a function or a type of an extension that is not loaded.
_EXTENSION = re.compile(r"required extension '(\w+)|exists in the (\w+) extension")
#: Functions of extensions that duckdb does not know while they are not loaded.
_SCANNER = re.compile(r'Table Function with name "?((?:postgres|mysql|odbc)_\w+)"? does not exist')


def _missing_extension(message: str) -> tuple[str, str] | None:
    """The error and the advice of a message of duckdb on an extension: queries load none."""
    named = _EXTENSION.search(message)
    if named is not None:
        name = named[1] or named[2]
        what = f"this needs the extension {name} of duckdb"
        location = _LOCATIONS.get(name)
        if location is not None:
            return (
                f"{what}, and queries load none",
                f"name the location in quotes in place of a function: FROM {location}",
            )
    else:
        function = _SCANNER.search(message)
        if function is None:
            return None
        what = f"{function[1]} is a function of an extension of duckdb"
    advice = "read it with duckdb itself, and in Python pass the rows as a relation: lr.sql(query, t=duckdb.sql(…))"
    return f"{what}, and queries load none", advice


def _position(query: str, message: str) -> int | None:
    """The position of the name that a message of duckdb quotes, if it occurs once in the query."""
    name = _NAME.search(message)
    word = "" if name is None else re.escape(name[1] or name[2])
    found = [match.start() for match in re.finditer(rf"\b{word}\b", query)] if word else []
    return found[0] if len(found) == 1 else None


def _of_duckdb(error: BaseException) -> BaseException:
    """The error of duckdb that pyarrow raises as another one, where it comes after the first rows."""
    named = ERROR_KIND.match(str(error)) if isinstance(error, OSError) else None
    if named is None:
        return error
    name = named[0].removesuffix("Error: ").title().replace(" ", "")
    kind = {"Io": "IO", "Internal": "Internal"}.get(name, name) + "Exception"
    own = getattr(duckdb, kind, duckdb.Error)
    return own(str(error)) if isinstance(own, type) and issubclass(own, duckdb.Error) else error


_NAME = re.compile(r'(?:column|near) "(\w+)"|[Nn]ame (\w+) does not exist')
