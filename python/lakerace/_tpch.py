"""Tables of TPC-H."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from lakerace import _lakerace
from lakerace._api import Requests, _options, _usage
from lakerace._arguments import checked_arguments
from lakerace._job import with_job
from lakerace._location import location_text

if TYPE_CHECKING:
    from typing import TypeAlias

    from lakerace._api import FileIo, JobDurability, Location

    TpchFormat: TypeAlias = Literal["parquet", "orc", "csv", "tsv", "tbl", "arrow", "avro", "jsonl", "json", "delta"]
    TpchMode: TypeAlias = Literal["baseline", "zero-copy", "true-zero-copy"]


class GeneratedTable(NamedTuple):
    """A table that was generated, or one kind of files of refresh streams.

    Examples:
        >>> table = lr.tpch("tpch", sf=0.001, tables=["region"]).tables[0]
        >>> table.table, table.rows, len(table.files)
        ('region', 5, 1)
    """

    #: Its name; `delete` for the keys that streams delete.
    table: str
    #: Rows.
    rows: int
    #: Bytes as stored.
    bytes: int
    #: From its first row to its last byte, while other tables were made, too.
    seconds: float
    #: Paths or URLs.
    files: list[str]


class Generated(NamedTuple):
    """What was generated and what it cost.

    Examples:
        >>> generated = lr.tpch("tpch", sf=0.001, tables=["nation", "region"])
        >>> generated.rows, [table.table for table in generated.tables]
        (30, ['nation', 'region'])
    """

    #: Rows of all tables.
    rows: int
    #: The tables, in the order asked for.
    tables: list[GeneratedTable]
    #: Bytes of all files.
    file_bytes: int
    #: How columns were made.
    mode: TpchMode
    #: How local files were written. `None`: none were.
    io: FileIo | None
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
    #: Rows of a source that did not fit: none, as rows are made.
    bad_rows: int = 0


@checked_arguments
def tpch(
    target: Location,
    *,
    sf: float = 1,
    tables: Sequence[str] | None = None,
    format: TpchFormat | None = None,
    mode: TpchMode | None = None,
    io: FileIo | None = None,
    durability: JobDurability | None = None,
    compression: str | None = None,
    row_group_rows: int | None = None,
    row_group_bytes: int | str | None = None,
    parts: int | None = None,
    file_bytes: int | str | None = None,
    refresh: int | None = None,
    overwrite: bool = False,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Generated:
    """Generates tables of TPC-H into a folder, in parallel, with the rows that dbgen generates.

    One table as a stream, without files: `lr.scan("tpch:lineitem?sf=1")`.

    Args:
        target: A folder, as a path or URL. Tables become `TABLE.parquet` and so on in it, or Delta tables `TABLE`.
        sf: The scale factor, 0.001 to 10,000: 1 is 1 GB of text.
        tables: Names of tables; all eight by default.
        format: Format of the tables; `"parquet"` by default.
        mode: How columns are generated; by default the fastest way, which the result names.
        io: How local files are written: see :func:`copy`.
        durability: Durability of local files: see :func:`copy`.
        compression: As for :func:`copy`.
        row_group_rows: Parquet: rows in a row group.
        row_group_bytes: Maximum encoded bytes of a row group (Parquet) or stripe (ORC).
        parts: Number of files for each table except nation and region, `TABLE/TABLE.1.parquet` and so on; 1 by default.
        file_bytes: Make each table a folder of files of approximately this size; the first may have twice as many
            bytes.
        refresh: Generate this many refresh streams instead of the tables (TPC-H's RF1 and RF2).
        overwrite: Replace files and tables that exist.
        memory_limit: Approximate bytes of memory for files that are being written; 1 GiB by default. It limits their
            number.
        threads: Threads; the number of cores by default.
        storage_options: Settings of the store, such as `aws_endpoint_url`; they override `AWS_*` variables.

    Files appear together when all of them are complete; Ctrl-C ends it within a second, and leaves no file. Delta
    tables, and folders of files of a size, appear one after the other.

    Raises:
        ConflictError: A file or table exists, and `overwrite` is not given.
        NotFoundError: There is no such table.
        UsageError: An option is wrong, or two of them do not fit together.
        UnavailableError: The disk is full, or the store does not answer.

    Examples:
        >>> lr.tpch("tpch", sf=0.001, tables=["nation"], format="csv").rows
        25
        >>> lr.scan("tpch:region?sf=1").count()
        5
    """
    arguments = dict(locals())
    if isinstance(tables, str):
        raise _usage(f"tables is a list of names, not one text: write [{tables!r}]")
    arguments["tables"] = None if tables is None else list(tables)
    made = _lakerace.tpch(location_text(target), with_job(_options(arguments, "target")))
    made["requests"] = Requests(**made["requests"])
    made["tables"] = [GeneratedTable(**table) for table in made["tables"]]
    return Generated(**made)
