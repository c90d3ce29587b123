"""A location in a query, as duckdb asks for it: by columns, and by filters that it leaves to the scan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
import pyarrow.dataset

from lakerace import _lakerace
from lakerace._dataset import ScanDataset, plain_schema, pushed_filter, shown_filter
from lakerace._errors import UnsupportedError, told
from lakerace._scan import can_filter, can_narrow, narrowed_options, raise_own
from lakerace._sql_advice import advise_reading
from lakerace._sql_conditions import conditions_filter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakerace._sql_text import UsedRows

#: The most digits of decimals that duckdb keeps in 64 bits.
_WORD_DIGITS = 18
#: Texts as keys of a dictionary, in which each text stands once or a few times.
_SHARED_TEXTS = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())


class AskedScan(NamedTuple):
    """What duckdb has asked of a location, and what lakerace does of it."""

    #: The location.
    location: str
    #: The columns that are read; `None` for all of them.
    columns: list[str] | None
    #: The filter that lakerace applies, and prunes files, row groups and pages by.
    where: str | None
    #: The filter that is applied to the rows of the scan, where `where` is not all of it.
    filtered_after: str | None
    #: The scan.
    scan: _lakerace.Scan


class RunState:
    """What one run of a query shares with its scans."""

    def __init__(self, query: str, words: frozenset[str] | None = None, *, reads: bool = True) -> None:
        #: The query as it was given, for errors.
        self.query = query
        #: The words of a query that uses columns in its condition alone, in lower case; `None` for another query.
        self.words = words
        #: Whether rows are read. Without them, a run tells what it would read.
        self.reads = reads
        #: The scans, in the order in which they began.
        self.asked: list[AskedScan] = []
        self._streams: list[tuple[_lakerace.Stream, OpenLocation]] = []
        self._failure: BaseException | None = None

    def failure(self) -> BaseException | None:
        """The error of the first scan that has failed: duckdb tells its message alone."""
        for stream, opened in self._streams:
            failure = stream.exception()
            if failure is not None:
                if not opened.is_scan:
                    advise_reading(failure)
                return failure
        return self._failure

    def fail(self, failure: BaseException) -> None:
        """Keeps an error that duckdb is going to wrap."""
        self._failure = self._failure or failure

    def stream(self, scan: _lakerace.Scan, opened: OpenLocation, schema: pyarrow.Schema) -> _lakerace.Stream:
        """Begins to read a scan of an opened location, for batches of this schema."""
        stream = scan.stream([field.name for field in schema if _is_compact(field.type)])
        self._streams.append((stream, opened))
        return stream


class OpenLocation:
    """An opened location, which runs of a query read again and again, in one version."""

    def __init__(self, location: str, options: Mapping[str, Any], job: _lakerace.Job, *, is_scan: bool = False) -> None:
        self.location = location
        self.options = dict(options)
        #: Whether the caller has given a scan, with options for reading.
        self.is_scan = is_scan
        self.native = _lakerace.Scan.described(location, {**options, "job": job})
        self.schema = plain_schema(pyarrow.schema(self.native))
        #: The columns as duckdb gets them.
        self.handed_schema = pyarrow.schema([_handed_field(field) for field in pyarrow.schema(self.native)])
        # Of a location, duckdb looks at all columns before it asks for some.
        check_decimals(self.schema, location)

    def reopened(self, job: _lakerace.Job) -> OpenLocation:
        """The same location, opened again for another job."""
        return OpenLocation(self.location, self.options, job, is_scan=self.is_scan)


def _is_compact(kind: pyarrow.DataType) -> bool:
    """Whether lakerace may read values as this type, which has fewer bytes than that of its batches."""
    is_compact: bool = kind == _SHARED_TEXTS or pyarrow.types.is_decimal64(kind)
    return is_compact


def _handed_field(field: pyarrow.Field) -> pyarrow.Field:
    """The field as duckdb gets it: texts as keys of a dictionary, by which it groups them in less than half of the time, and
    decimals in 64 bits, which it takes without a copy."""
    if pyarrow.types.is_string_view(field.type):
        return field.with_type(_SHARED_TEXTS)
    if pyarrow.types.is_decimal128(field.type) and field.type.precision <= _WORD_DIGITS:
        return field.with_type(pyarrow.decimal64(field.type.precision, field.type.scale))
    return plain_schema(pyarrow.schema([field])).field(0)


class SqlDataset(ScanDataset):
    """An opened location in one run of a query. duckdb asks it for scanners."""

    def __init__(self, opened: OpenLocation, run: RunState, used: UsedRows) -> None:
        self._opened = opened
        self._used = used
        self._run = run
        self._schema = opened.schema

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a location of a query is not pickled")

    def __repr__(self) -> str:
        return f"<lakerace.SqlDataset {self._opened.location!r}>"

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns as duckdb gets them."""
        return self._opened.handed_schema

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        """The rows of a filter and some columns, as an object that gives a reader."""
        try:
            return self._scanner(columns, filter)
        except BaseException as error:
            self._run.fail(error)
            raise

    def _scanner(self, columns: list[str] | None, filter: pyarrow.dataset.Expression | None) -> Any:
        opened, names = self._opened, self._schema.names
        where, is_whole = None, filter is None
        if can_filter(opened.options, names):
            if filter is not None:
                where, is_whole = pushed_filter(filter, self._schema)
            # duckdb asks the rows that are left for these again.
            matched = conditions_filter(self._used.conditions, opened.handed_schema, _SHARED_TEXTS)
            where = " AND ".join(part for part in (where, matched) if part is not None) or None
        # What is filtered afterwards needs its columns.
        needed = columns if is_whole else self._needed(columns, filter)
        if not can_narrow(opened.options):
            needed, is_whole = None, columns is None and is_whole
        check_types(self._schema, needed, opened.location)
        if columns is not None and is_whole and self._is_counted(columns):
            return _Reads(self._counted(columns, where))
        narrowed = narrowed_options(opened.options, names, needed, where, None)
        if filter is None and where is None:
            narrowed |= self._first_rows() or {}
        scan = opened.native.narrowed(narrowed)
        after = None if is_whole or filter is None else shown_filter(filter) or "a filter that can't be shown"
        self._run.asked.append(AskedScan(opened.location, needed, where, after, scan))
        if is_whole:
            return _Reads(self._reader(scan, _chosen(opened.handed_schema, needed)))
        schema = _chosen(self._schema, needed)
        batches = self._batches_of(scan, schema)
        scanner = pyarrow.dataset.Scanner.from_batches(batches, schema=schema, columns=columns, filter=filter)
        return _Reads(_handed(scanner.to_reader(), _chosen(opened.handed_schema, columns)))

    def _first_rows(self) -> dict[str, Any] | None:
        """The options of a scan that has no other rows than the query uses; `None` where a scan of its own order has them, or all."""
        options, first = self._opened.options, self._used.first
        if first is None or options.get("order_by") is not None or not can_filter(options, self._schema.names):
            return None
        return first.options(self._opened.handed_schema)

    def _is_counted(self, columns: list[str]) -> bool:
        """Whether duckdb needs the number of rows alone: it asks for one column then, which the query does not name."""
        words, names = self._run.words, self._schema.names
        if words is None or len(columns) != 1 or len(names) == 1:
            return False
        is_word = re.fullmatch(r"[A-Za-z0-9_]+", columns[0]) is not None
        return is_word and columns[0].lower() not in words and can_narrow(self._opened.options)

    def _counted(self, columns: list[str], where: str | None) -> pyarrow.RecordBatchReader:
        """As many nulls as there are rows."""
        opened = self._opened
        scan = opened.native.narrowed(narrowed_options(opened.options, self._schema.names, [], where, None))
        self._run.asked.append(AskedScan(opened.location, [], where, None, scan))
        rows = self._reader(scan, pyarrow.schema([]))
        schema = _chosen(opened.handed_schema, columns)
        kind = schema.field(0).type
        nulls = (
            pyarrow.RecordBatch.from_arrays([pyarrow.nulls(batch.num_rows, kind)], schema=schema) for batch in rows
        )
        return pyarrow.RecordBatchReader.from_batches(schema, nulls)

    def _reader(self, scan: _lakerace.Scan, schema: pyarrow.Schema) -> pyarrow.RecordBatchReader:
        if not self._run.reads:
            return pyarrow.RecordBatchReader.from_batches(schema, [])
        stream = self._run.stream(scan, self._opened, schema)
        return raise_own(stream, lambda: pyarrow.RecordBatchReader.from_stream(_Taken(stream), schema))

    def _batches_of(self, scan: _lakerace.Scan, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
        yield from self._reader(scan, schema)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """A location of a query counts no rows: duckdb does."""
        raise NotImplementedError


def _chosen(schema: pyarrow.Schema, names: Sequence[str] | None) -> pyarrow.Schema:
    """Some columns; `None` for all of them."""
    return schema if names is None else pyarrow.schema([schema.field(name) for name in names])


def _handed(rows: pyarrow.RecordBatchReader, schema: pyarrow.Schema) -> pyarrow.RecordBatchReader:
    """The rows with texts as keys of dictionaries and decimals in 64 bits, where the schema has them."""

    def column(values: pyarrow.Array, kind: pyarrow.DataType) -> pyarrow.Array:
        if values.type == kind:
            return values
        return values.dictionary_encode() if kind == _SHARED_TEXTS else values.cast(kind)

    batches = (
        pyarrow.RecordBatch.from_arrays(
            [column(values, field.type) for values, field in zip(batch.columns, schema, strict=True)], schema=schema
        )
        for batch in rows
    )
    return pyarrow.RecordBatchReader.from_batches(schema, batches)


class _Reads:
    """What duckdb takes for a scanner: it asks for the reader alone."""

    def __init__(self, reader: pyarrow.RecordBatchReader) -> None:
        self._reader = reader

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """The rows."""
        return self._reader


class _Taken:
    """A stream whose errors are raised by the run of the query."""

    __slots__ = ("_stream",)

    def __init__(self, stream: _lakerace.Stream) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream.__arrow_c_stream__(requested_schema, raises_later=True)


def check_types(schema: pyarrow.Schema, columns: Sequence[str] | None, location: str) -> None:
    """Refuses columns that duckdb would cut without a word, and those that it has no type for."""
    for name in schema.names if columns is None else columns:
        kind = schema.field(name).type
        if pyarrow.types.is_duration(kind) and kind.unit == "ns":
            advice = "exclude the column, or cast it in a copy: intervals of duckdb have microseconds"
            raise told(UnsupportedError, f"column {name!r} has durations of nanoseconds", location, advice)


def check_decimals(schema: pyarrow.Schema, location: str) -> None:
    """Refuses decimals of more than 38 digits, which duckdb has no type for, within other types, too."""
    for field in schema:
        if "decimal256" in str(field.type):
            advice = "give a scan of other columns as a relation: lr.sql(query, t=lr.scan(location, columns=[…]))"
            raise told(UnsupportedError, f"column {field.name!r} has decimals of more than 38 digits", location, advice)
