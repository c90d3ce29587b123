"""Databases that follow Delta tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lakerace import _lakerace
from lakerace._api import DryRun, Requests, _options, dry_fields
from lakerace._arguments import checked_arguments
from lakerace._job import with_job
from lakerace._location import location_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakerace._api import JobDurability, Location


class SyncResult(NamedTuple):
    """What a sync has sent and what it cost.

    Examples:
        >>> synced = lr.sync("lake/orders", "sqlite:orders.db#orders")
        >>> synced.from_version, synced.version, synced.rows
        (None, 1, 4)
    """

    #: Rows sent.
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
    #: The version that the target had; `None` where the table was loaded whole.
    from_version: int | None
    #: The version that it has.
    version: int
    #: Rows that were inserted or replaced.
    upserted: int
    #: Rows that were removed.
    deleted: int
    #: The checksum of the rows, where the target was read and has those of the version (`verify`).
    checksum: str | None = None
    #: The number of these rows.
    rows_verified: int | None = None
    #: Rows of a source that did not fit: none, as tables are read.
    bad_rows: int = 0
    #: What the sync would do, where it was only checked (`dry_run`).
    planned: DryRun | None = None


@checked_arguments
def sync(
    table: Location,
    target: str,
    *,
    key: str | Sequence[str] | None = None,
    mode: Literal["error", "overwrite"] = "error",
    follow: bool = False,
    interval: float = 1.0,
    batch_rows: int | Literal["all"] | None = None,
    max_rate: int | None = None,
    allow_narrowing: bool = False,
    verify: bool = False,
    threads: int | None = None,
    durability: JobDurability | None = None,
    storage_options: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> SyncResult:
    """Brings a MongoDB collection, an Elasticsearch index or a table of SQLite to the last version of a Delta table.

    The first run loads the table whole. Later ones send the rows that were inserted, changed and deleted since the
    version that the target's own state names: by the change data feed, or by comparing the two versions where there is
    none. If a run is stopped at any point, the next one repairs it.

    Args:
        table: The folder of the Delta table.
        target: `mongodb://host/db/collection`, `elasticsearch://host:9200/index` or `sqlite:///file.db#table`.
        key: The key columns, in order. Default: the table's property `lakerace.primaryKey`.
        mode: A target that exists and does not follow the table is an error, or is replaced by a load of the whole table.
        follow: Run until Ctrl-C, and send each new version; look for one every `interval` seconds.
        interval: Seconds between two checks of the table.
        batch_rows: Rows per batch; the target acknowledges each batch. `"all"` (the default): one batch.
        max_rate: Maximum rows per second.
        allow_narrowing: Allow values to lose precision that the target's type lacks, such as microseconds.
        verify: At the end, compare the row counts and checksums of the table and the target.
        threads: Threads that decode and encode. Default: the number of cores.
        durability: What a SQLite target survives, as for :func:`copy`.
        storage_options: Settings of the table's store; they override `AWS_*` variables.
        dry_run: Check the sync without writing: the result's `planned` says what it would do, and its `version` is the
            target's, or 0.

    Raises:
        ConflictError: The target exists and does not follow this table by this key, has a version that the table lacks, or another
            run writes to it.
        CorruptDataError: The target does not have the rows of the table (`verify`).
        UsageError: The target is no database, or no key is known.

    Examples:
        >>> lr.sync("lake/orders", "sqlite:orders.db#orders").rows
        4
        >>> changed = lr.Table("lake/orders").upsert("changes.csv")
        >>> lr.sync("lake/orders", "sqlite:orders.db#orders").upserted
        2
        >>> synced = lr.sync("lake/orders", "mongodb://localhost/shop/orders")  # doctest: +SKIP
    """
    key = [key] if isinstance(key, str) else key
    options = _options(locals(), "table", "target", "dry_run")
    if dry_run:
        told = dry_fields(_lakerace.plan_sync(location_text(table), target, with_job(options)))
        version = told["planned"].from_version
        return SyncResult(**told, from_version=version, version=version or 0, upserted=0, deleted=0)
    made: dict[str, Any] = _lakerace.sync(location_text(table), target, with_job(options))
    made["requests"] = Requests(**made["requests"])
    return SyncResult(**made)
