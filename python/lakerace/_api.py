"""The functions of the package."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from lakerace import _lakerace
from lakerace._arguments import checked_arguments
from lakerace._filter import with_parameters
from lakerace._job import with_job
from lakerace._location import is_location, located, location_text
from lakerace._progress import progress_shown
from lakerace._read_options import check_schema, checked_names
from lakerace._scan import Scan
from lakerace._sources import is_file, native_source, stored_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import BinaryIO, TypeAlias

    import polars

    from lakerace._table_results import Compacted

    class ArrowStream(Protocol):
        """Anything that gives an Arrow stream: tables and frames of pyarrow, polars, pandas, duckdb, a scan."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    Location: TypeAlias = str | os.PathLike[str]
    #: Files and folders of one store and format are read as one table.
    LocationOrList: TypeAlias = Location | Sequence[Location]
    #: Rows: a location or a list of them, a stream of rows, a lazy frame, or dicts.
    RowSource: TypeAlias = LocationOrList | ArrowStream | polars.LazyFrame | Iterable[Mapping[str, Any]]
    Format: TypeAlias = Literal["parquet", "orc", "csv", "tsv", "tbl", "arrow", "avro", "jsonl", "json", "excel"]
    TimestampUnit: TypeAlias = Literal["auto", "s", "ms", "us", "ns"]
    OnBadRow: TypeAlias = Literal["error", "skip", "null"]
    Mode: TypeAlias = Literal["error", "overwrite", "append", "upsert", "delete"]
    Evolve: TypeAlias = Literal["add", "widen"]
    FileIo: TypeAlias = Literal["auto", "sync", "uring", "uring-direct"]
    JobDurability: TypeAlias = Literal["full", "normal"]


class Requests(NamedTuple):
    """Requests by kind, as object stores bill them.

    Examples:
        >>> lr.copy("orders.csv", "copy.parquet").requests.list
        0
    """

    get: int
    put: int
    list: int
    head: int
    delete: int


class Checksum(NamedTuple):
    """Rows and their checksum.

    Examples:
        >>> rows, checksum = lr.checksum("orders.parquet")
        >>> rows, len(checksum)
        (4, 32)
    """

    rows: int
    #: 32 hexadecimal digits: the same for the same multiset of rows.
    checksum: str


class DryRun(NamedTuple):
    """What a job would do, checked without writing.

    Examples:
        >>> planned = lr.copy("orders.csv", "copy.parquet", dry_run=True).planned
        >>> planned.would, planned.files
        ('would create copy.parquet', 1)
    """

    #: The action, in words.
    would: str
    #: The version of the Delta table that the job would start from; `None` where there is none.
    from_version: int | None
    #: Rows that it would read, or change; `None` where only the data tells.
    rows: int | None
    #: Files that it would read; `None` where the source has none.
    files: int | None
    #: Bytes of them that it would read.
    bytes: int | None


class CopyResult(NamedTuple):
    """What a copy wrote and what it cost.

    Examples:
        >>> copied = lr.copy("orders.csv", "copy.parquet")
        >>> copied.rows, len(copied.files)
        (4, 1)
    """

    #: Rows written.
    rows: int
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
    #: The files written, by path or URL.
    files: list[str]
    #: Bytes of these files.
    file_bytes: int
    #: The version that they made of a Delta table.
    version: int | None = None
    #: How local files were written: as requested, or `"sync"` if the kernel refused. `None`: none were.
    io: FileIo | None = None
    #: Result and cost of compacting a Delta table after the copy, if `auto_compact` is set and there was something to do.
    compacted: Compacted | None = None
    #: Columns of a new Delta table that are nullable though the source's are not, as `"column.field"`.
    made_nullable: Sequence[str] = ()
    #: Rows that a database rejected, and that are in the file of `dead_letter`.
    rejected: int = 0
    #: Rows that were left out because an earlier run had them acknowledged.
    skipped: int = 0
    #: The checksum of what was sent, where `verify` has found it in the target.
    checksum: str | None = None
    #: Rows of the source that did not fit: left out, given nulls or cut, as `on_bad_row` says.
    bad_rows: int = 0
    #: What the copy would do, where it was only checked (`dry_run`).
    planned: DryRun | None = None


@checked_arguments
def scan(
    location: LocationOrList,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    params: Sequence[object] | None = None,
    order_by: str | None = None,
    limit: int | None = None,
    at: int | str | datetime | None = None,
    batch_rows: int | Literal["all"] | None = None,
    memory_limit: int | str | None = None,
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
    flatten: bool | str | None = None,
    unflatten: bool | str | None = None,
    pickle_credentials: bool = True,
    progress: bool = False,
) -> Scan:
    """Plans a read of a file, a folder or a glob. Metadata is read now, data when the scan is consumed.

    Args:
        location: A path or URL whose ending names the format, a folder or a glob of such files: `a.parquet`,
            `data/**/*.csv.gz`, `s3://bucket/folder/`; or the folder of a Delta table. `-` is standard input, which is
            read once, as named pipes are. A list of files and folders of one store and format is read as one table, in the
            order of the list; its names are literal, and each must exist.
        columns: Columns to read, in this order; all by default. An expression of `where` with a name is a computed
            column: `"price * 1.2 as gross"`, `"a as b"`, `"user.name as name"`. The columns that they need are read.
        where: Only rows for which this SQL expression is true.
        params: The values of each `?` in `where`, in order: numbers, texts, bytes, dates, times, booleans or `None`.
        order_by: Sorts the rows by columns, or by values of the language of `where`, each with `asc` or `desc`, and
            `nulls first` or `nulls last`: `"price desc, day"`. Default: `asc nulls last`. NaN is greater than all numbers.
        limit: Maximum number of rows, after sorting if `order_by` is given.
        at: A version of a Delta table, by its number or by a time; the last one by default. Times without an offset
            are in UTC.
        batch_rows: Maximum rows of a batch; `"all"`: one batch.
        memory_limit: With `order_by`: bytes of memory for sorting rows, 512 MiB by default. More rows are written to
            temporary files on the local disk.
        format: The format, if the name does not say it.
        threads: Threads that decode; the number of cores by default.
        min_seek_size: Merge ranges that are closer than this into one request: bytes, `"4MiB"`, 0 (off) or `"auto"`
            (chosen from the measured latency and bandwidth).
        max_request_size: Split larger spans into parallel requests of at most this many bytes.
        max_requests_in_flight: Maximum number of parallel requests.
        extra_bytes_tolerance: If gap bytes exceed this ratio of requested bytes, the requested bytes are copied out of
            a merged request, and the rest is freed. Default: 2.
        prefetch_size: Bytes that may be read ahead of decoding. Default: 480 MiB, and 128 MiB in a copy.
        storage_options: Settings of the store, such as `aws_endpoint_url`; they override `AWS_*` variables.
            `allow_foreign_paths`: `"true"` lets the log of a Delta table name files in other stores than its own.
        delimiter: CSV: the field delimiter, one character; `,` by default.
        quote: CSV: the quote character, or `""` for none; `"` by default.
        escape: CSV: the escape character inside quotes; none by default.
        null_strings: CSV and Excel: unquoted texts that mean null; the empty string by default.
        header: CSV and Excel: whether the first line names the columns.
        schema: CSV, JSON lines and Excel: names and types, such as `"id int64 not null, price decimal(15,2), tags list(utf8)"`.
        infer_rows: CSV and JSON lines: rows that are sampled to infer the schema.
        on_bad_row: CSV, JSON lines and Excel: a malformed row is an error, is skipped, or (CSV, Excel) gets null for
            values that do not parse, and loses surplus fields.
        skip_rows: CSV and Excel: number of lines to skip at the start of each file, before the columns' names.
        comment: CSV: lines that start with this text are skipped.
        date_format: CSV: the format of dates, as in `"%d.%m.%Y"`; ISO 8601 by default.
        timestamp_format: CSV: the format of timestamps, as in `"%d.%m.%Y %H:%M:%S"`; ISO 8601 by default.
        decimal_comma: CSV: numbers have a decimal comma.
        encoding: CSV: `"latin1"`, `"utf-16"`, `"windows-1252"` or another; UTF-8 by default.
        sheet: Excel: the name of the sheet; the first one by default.
        timestamp_unit: The unit of timestamps in ORC, and of 96-bit timestamps in Parquet. `"auto"` (the default):
            `"ns"`, or `"us"` for columns of ORC whose statistics have times before 1677 or after 2262, and for Parquet
            files of Spark. A given unit rounds down.
        union_columns: Read Parquet or ORC files that share few columns or none as one table; missing columns are null.
            Without it, such files are an error.
        file_name_column: The name of a column, after all others, with the path or URL of the file that a row is from.
        flatten: Structs become columns of their fields, at any depth, with names such as `user.address.city`. A text is the
            separator in place of the dot. `columns`, `where` and `order_by` name the source's columns. Lists and maps stay
            unchanged.
        unflatten: Columns become fields of structs by their names: `user.name` and `user.age` become the struct `user`,
            which is null where all of its fields are null. A text is the separator in place of the dot.
        pickle_credentials: Whether a pickle of the scan and of its :meth:`Scan.tasks` holds the credentials of
            `storage_options`. Without them, the process that opens it takes credentials from its environment.
        progress: Shows rows and bytes on a terminal or in a notebook while all rows are taken: by :meth:`Scan.to_arrow`,
            :meth:`Scan.to_polars`, :meth:`Scan.to_pandas`, :meth:`Scan.count` and :meth:`Scan.checksum`.

    Raises:
        NotFoundError: The location or a column does not exist.
        CorruptDataError: The metadata is damaged.
        UsageError: An option or the expression is wrong.

    Examples:
        >>> scan = lr.scan("orders.parquet", columns=["order_id", "price"], where="price > ?", params=[9000])
        >>> scan.to_arrow().to_pylist()
        [{'order_id': 2, 'price': 9500.0}, {'order_id': 4, 'price': 12000.0}]
        >>> list(lr.scan("orders.parquet", columns=["order_id"], order_by="price desc", limit=2))
        [(4,), (2,)]
        >>> lr.scan("orders.parquet", columns=["order_id as id", "price / 2 as half"], limit=1).to_arrow().to_pylist()
        [{'id': 1, 'half': ...}]
        >>> copied = lr.copy("orders.parquet", "more.parquet")
        >>> lr.scan(["orders.parquet", "more.parquet"]).count()
        8
    """
    if memory_limit is not None and order_by is None:
        raise _usage("memory_limit: it bounds the memory of a sort, and order_by is not given")
    first, listed = located(location, "scan")
    options = {**_options(locals(), "location", "pickle_credentials", "progress", "first", "listed"), **listed}
    return Scan(first, options, pickle_credentials=pickle_credentials, progress=progress)


@checked_arguments
def copy(
    source: RowSource | bytes | BinaryIO,
    target: Location,
    *,
    mode: Mode = "error",
    replace_where: str | None = None,
    key: str | Sequence[str] | None = None,
    resume: bool = False,
    dead_letter: Location | None = None,
    max_rate: int | None = None,
    allow_narrowing: bool = False,
    verify: bool = False,
    since: str | None = None,
    overlap: int | float | str | None = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    params: Sequence[object] | None = None,
    order_by: str | None = None,
    limit: int | None = None,
    at: int | str | datetime | None = None,
    batch_rows: int | Literal["all"] | None = None,
    format: Format | None = None,
    output_format: Format | None = None,
    compression: str | None = None,
    row_group_rows: int | None = None,
    row_group_bytes: int | str | None = None,
    bloom_filter: Sequence[str] | None = None,
    file_bytes: int | str | None = None,
    memory_limit: int | str | None = None,
    partition_by: str | Sequence[str] | None = None,
    table_properties: Mapping[str, str] | None = None,
    evolve: Evolve | Sequence[Evolve] | None = None,
    keep_not_null: bool = False,
    auto_compact: bool = False,
    threads: int | None = None,
    min_seek_size: int | str | None = None,
    max_request_size: int | str | None = None,
    max_requests_in_flight: int | None = None,
    extra_bytes_tolerance: float | None = None,
    prefetch_size: int | str | None = None,
    io: FileIo | None = None,
    durability: JobDurability | None = None,
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
    flatten: bool | str | None = None,
    unflatten: bool | str | None = None,
    output_delimiter: str | None = None,
    output_header: bool | None = None,
    dry_run: bool = False,
    progress: bool = False,
) -> CopyResult:
    """Copies a location or an Arrow stream to a file or folder, atomically.

    Args:
        source: A location as for :func:`scan`; a scan, a :class:`Table`, or anything with `__arrow_c_stream__`: a table or
            frame of pyarrow, polars, pandas or duckdb; a lazy frame of polars; a list of dicts (needs pyarrow); or the bytes of a
            file with its `format`, or an open binary file. `columns`, `where`, `order_by`, `limit` and the options of reading
            are for locations and files only; `flatten` and `unflatten` are for all sources.
        target: A path or URL of a file, of a folder (ending in `/`), or `delta:` and the folder of a table.
            In a database: `sqlite:///file.db#table`, `mongodb://host/db/collection` or `elasticsearch://host:9200/index`.
        mode: A target that exists is an error, replaced when the new one is complete, or added to (folders, tables,
            databases). In databases, `"upsert"` replaces the rows of the same `key` and inserts the others, and `"delete"`
            removes the rows of these keys.
        replace_where: Delta, with `mode="overwrite"`: only the rows of the table for which this SQL expression of partition
            columns is true are replaced, in one commit. It must be true of all rows of the source, which `where` filters.
        key: Databases: the key columns, in order. Rows with the same key are replaced or deleted.
        resume: Databases and Delta tables: continue an interrupted copy after its last acknowledged rows. Only a
            location can be read again.
        dead_letter: Databases: a file of JSON lines that gets each rejected row with its key and the reason. Without it,
            such rows are an error.
        max_rate: Maximum rows per second.
        allow_narrowing: Databases: allow values to lose precision that the target's type lacks, such as microseconds.
        verify: Read the target back, and fail unless it has the checksum of the rows that were sent. After an upsert,
            the rows are looked for by their key; after a delete, none of them may exist. In Parquet, ORC and Delta,
            filters must find extremes, zeros and nulls of the columns, too.
        since: With `mode="upsert"`: read only rows from the watermark of this column on, and store the new watermark
            with the target.
        overlap: The distance below the watermark in which rows may still arrive: a number, or a time such as `"10m"`
            for dates and timestamps.
        batch_rows: Databases and Delta tables: rows that the target acknowledges together; `resume` continues after
            them. `"all"` (the default) writes all rows or none.
        output_format: The target's format, if its name does not say it.
        compression: `none`, `snappy`, `gzip` (`zlib` in ORC), `brotli` (not ORC), `lz4` or `zstd`, with a level as
            in `zstd:3`. Default: Parquet snappy, ORC zstd,
            text what the name says.
        row_group_rows: Parquet: rows in a row group; 1,048,576 by default.
        row_group_bytes: Maximum encoded bytes of a row group (Parquet) or stripe (ORC); it limits the writer's memory.
        bloom_filter: Parquet and ORC: columns that get a bloom filter.
        file_bytes: Folders and tables: approximate bytes of each file; the first may have twice as many.
        memory_limit: Bytes of memory for sorting rows by `order_by` or by the key of a Delta table; 512 MiB by default.
        partition_by: Delta tables and folders: partition columns; their values become folders such as `year=2024/`.
        table_properties: Delta: properties of a new table, such as `{"lakerace.primaryKey": "id"}`.
        evolve: Delta: adapt the table's schema to the rows: `"add"` adds columns, `"widen"` widens numeric types (if
            the table allows it by `delta.enableTypeWidening`). A list of both does both.
        keep_not_null: Delta: keep NOT NULL of the source's columns in a new table (writer feature `invariants`), except
            within lists, maps and nullable structs. By default all columns are nullable, which more readers and writers
            support; the result's `made_nullable` names those.
        auto_compact: Delta: compact after the write, by the rules of `Table.compact(auto=True)`. The rows are written
            even if it fails, which is a `LakeraceWarning`.
        io: How local files are written: `"sync"` (blocking writes into the page cache), `"auto"` (the default: the
            same, but large Parquet files bypass the page cache while that is faster), `"uring"` (io_uring, several
            writes in flight) or `"uring-direct"` (io_uring, bypassing the page cache). If the kernel refuses io_uring,
            or for `"uring"` the file system has only blocking writes (ext4), a `LakeraceWarning` says so and `"sync"`
            is used.
        durability: Durability of local files after the copy: `"full"` (the default) survives a power loss (files and
            folders are synced); `"normal"` survives the end of the process (the system writes them later).
        output_delimiter: CSV: the field delimiter of the target; the source's by default.
        output_header: CSV: whether the target's first line names the columns.
        dry_run: Check the copy without writing: the result's `planned` says what it would do. A source that can be read
            only once is used up.
        progress: Shows rows and bytes on a terminal or in a notebook while the copy runs.

    The other arguments are those of :func:`scan`. Ctrl-C ends the copy within a second and leaves no files.

    Raises:
        ConflictError: The target exists and `mode` is `"error"`, or the source was replaced during the copy.
        NotFoundError, InvalidInputError, CorruptDataError, UnsupportedError, UsageError, UnavailableError: see there.

    Examples:
        >>> lr.copy("orders.csv", "orders.orc", where="price > 100").rows
        3
        >>> lr.copy([{"order_id": 6, "price": 20.5}], "delta:lake/new").version
        0
    """
    evolve = [evolve] if isinstance(evolve, str) else evolve
    key = [key] if isinstance(key, str) else key
    dead_letter = None if dead_letter is None else os.fspath(dead_letter)
    overlap = None if overlap is None else str(overlap)
    options = _options(locals(), "source", "target", "progress", "dry_run")
    run = _lakerace.plan_copy if dry_run else _lakerace.copy
    made: dict[str, Any]
    with progress_shown(progress):
        if is_file(source):
            if resume or since is not None:
                raise _usage("resume and since: only a location can be read again")
            if file_name_column is not None:
                raise _usage("file_name_column: bytes and open files have no such name: copy a location")
            with stored_file(source, format) as path:
                made = run(path, location_text(target), with_job(options))
        elif is_location(source):
            first, listed = located(source, "copy")
            made = run(first, location_text(target), with_job({**options, **listed}))
        else:
            given = [name for name in _READ_OPTIONS if options.get(name) is not None]
            if given:
                names = ", ".join(given)
                raise _usage(f"{names}: only a location can be read with these; {type(source).__name__} is a stream")
            made = run(native_source(source, options), location_text(target), with_job(options))
    if dry_run:
        return CopyResult(**dry_fields(made), files=[], file_bytes=0)
    made["requests"] = Requests(**made["requests"])
    copied = CopyResult(**made)
    if not auto_compact or copied.version is None:
        return copied
    from lakerace._table import Table, compacted_after_write  # it needs this module

    table = Table(target, storage_options=storage_options)
    return copied._replace(compacted=compacted_after_write(table, threads=threads, io=io, durability=durability))


@checked_arguments
def schema(
    location: LocationOrList,
    *,
    at: int | str | datetime | None = None,
    format: Format | None = None,
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
    union_columns: bool | None = None,
    file_name_column: str | None = None,
    flatten: bool | str | None = None,
    unflatten: bool | str | None = None,
) -> dict[str, Any]:
    """What a location holds, without reading its data.

    Returns:
        `columns` (a list of `name`, `type`, `nullable`), `format`, `rows` (`None` where only the data says it),
        `files`, `bytes` and `units` (row groups and the like); of a Delta table also `version`, `key`,
        `partition_columns` and `properties`.

    Examples:
        >>> found = lr.schema("orders.parquet")
        >>> found["rows"], [column["name"] for column in found["columns"]]
        (4, ['order_id', 'day', 'customer', 'price'])
    """
    first, listed = located(location, "schema")
    options = _options(locals(), "location", "first", "listed")
    return _lakerace.schema(first, with_job({**options, **listed}))


@checked_arguments
def check(location: Location, *, storage_options: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What can be done at a location, tried out. In a folder, a hidden file of 4 MiB is written, read and removed.

    Returns:
        `store`, `credentials` (where they come from), `region`, `region_source` (`settings` or `amazon`), `endpoint`, `clock_skew_seconds`, `rights` (a list of `right`,
        `outcome` and `message`: `list`, `write`, `read`, `put_if_absent` and `delete`; the outcome is `allowed`, `denied`,
        `unsupported`, `failed` or `not_tried`), `latency_ms`, `write_bytes_per_second`, `read_bytes_per_second` and `advice`.

    Examples:
        >>> rights = lr.check("lake/")["rights"]
        >>> {right["right"]: right["outcome"] for right in rights}["write"]
        'allowed'
    """
    return _lakerace.check(location_text(location), with_job(_options(locals(), "location")))


@checked_arguments
def checksum(source: RowSource, *, threads: int | None = None) -> Checksum:
    """Rows and order-independent checksum of a location, a list of them, a scan or any Arrow stream.

    It is the same for the same multiset of rows, in any order, file format, batch size or library.

    Examples:
        >>> lr.checksum("orders.parquet") == lr.checksum("orders.csv")
        True
    """
    if is_location(source):
        source = scan(source, threads=threads)
    native = native_source(source, {})
    if isinstance(native, _lakerace.Scan):
        return Checksum(*native.checksum())
    return Checksum(*_lakerace.checksum(native, with_job({"threads": threads})))


def dry_fields(made: dict[str, Any]) -> dict[str, Any]:
    """The cost of a job that was only checked, and what it would do."""
    return {**made, "requests": Requests(**made["requests"]), "planned": DryRun(**made["planned"])}


#: What a copy can do to a location and not to a stream.
_READ_OPTIONS = (
    "columns",
    "where",
    "order_by",
    "limit",
    "at",
    "format",
    "header",
    "schema",
    "infer_rows",
    "skip_rows",
    "comment",
    "date_format",
    "timestamp_format",
    "decimal_comma",
    "encoding",
    "sheet",
    "on_bad_row",
    "timestamp_unit",
    "union_columns",
    "file_name_column",
)


def _options(arguments: dict[str, Any], *positional: str) -> dict[str, object]:
    """The keyword arguments of a call, as the native half takes them."""
    options = {name: value for name, value in arguments.items() if value is not None and name not in positional}
    if "params" in options or "where" in options:
        options["where"] = with_parameters(options.get("where"), options.pop("params", None))
    check_schema(options.get("schema"))
    if options.get("batch_rows") == "all":
        options["batch_rows"] = _ALL_ROWS
    for name in ("columns", "bloom_filter", "null_strings"):
        if name in options:
            options[name] = checked_names(name, options[name])
    if isinstance(options.get("order_by"), (list, tuple)):
        terms = ", ".join(map(str, options["order_by"]))
        raise _usage(f"order_by is one text, not a list: write {terms!r}")
    if "min_seek_size" in options:
        options["min_seek_size"] = str(options["min_seek_size"])
    if "storage_options" in options:
        options["storage_options"] = {str(k): str(v) for k, v in options["storage_options"].items()}
    return options


#: More rows than any batch has.
_ALL_ROWS = 2**63 - 1


def _usage(message: str) -> Exception:
    from lakerace._errors import UsageError

    return UsageError(message)
