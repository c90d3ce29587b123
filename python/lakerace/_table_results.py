"""The outcomes of a Delta table's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lakerace._api import DryRun, Requests

if TYPE_CHECKING:
    from datetime import datetime

    from lakerace._api import FileIo


class Changed(NamedTuple):
    """What an upsert, an update or a delete did and what it cost.

    Examples:
        >>> changed = lr.Table("lake/orders").upsert("changes.csv")
        >>> changed.rows, changed.rows_hidden
        (2, 1)
    """

    #: Rows written, updated or deleted.
    rows: int
    #: The version that was made; `None` where there was nothing to do.
    version: int | None
    #: Rows of the table that were replaced, updated or deleted.
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
    #: Files whose key columns, or those of the condition, were read.
    files_probed: int
    #: Files that got a new deletion vector.
    vectors: int
    #: Parts that the rows were written in, one after the other in the order of keys; 1 where they fit into memory.
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
    #: Result and cost of compacting after it, if `auto_compact` is set and there was something to do.
    compacted: Compacted | None = None
    #: Rows of the source that did not fit: left out, given nulls or cut, as `on_bad_row` says.
    bad_rows: int = 0
    #: What the job would do, where it was only checked (`dry_run`).
    planned: DryRun | None = None


class Compacted(NamedTuple):
    """What a compaction did and what it cost.

    Examples:
        >>> table = lr.Table("lake/orders")
        >>> deleted = table.delete("order_id = 1")
        >>> table.compact().rows_dropped
        1
    """

    #: Rows that were rewritten.
    rows: int
    #: The last version that was made; `None` where there was nothing to do.
    version: int | None
    #: Versions that were made.
    commits: int
    #: New files.
    files_added: int
    #: Files that they stand for.
    files_removed: int
    #: Bytes of the new files.
    file_bytes: int
    #: Bytes of the files that they stand for.
    file_bytes_removed: int
    #: Deleted rows that went with the old files.
    rows_dropped: int
    #: Groups of files that other writers kept changing, and that were left unchanged.
    given_up: int
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
    #: Rows of a source that did not fit: none, as tables are read.
    bad_rows: int = 0
    #: What the compaction would do, where it was only checked (`dry_run`).
    planned: DryRun | None = None


class Vacuumed(NamedTuple):
    """What a vacuum removed, or would remove.

    Examples:
        >>> vacuumed = lr.Table("lake/orders").vacuum(dry_run=True)
        >>> vacuumed.version, vacuumed.file_bytes_removed
        (1, 0)
    """

    #: The version whose files stayed.
    version: int
    #: The files, by path or URL.
    files: list[str]
    #: Their bytes.
    file_bytes_removed: int
    #: Files that stayed: the last version's, those that earlier ones need, and young ones.
    kept: int


class Finding(NamedTuple):
    """One damage that a verification found.

    Examples:
        >>> from pathlib import Path
        >>> next(Path("lake/orders").glob("*.parquet")).unlink()
        >>> [finding.subject for finding in lr.Table("lake/orders").verify().findings]
        ['file']
    """

    #: The damaged part: `entry`, `checkpoint`, `last_checkpoint`, `checksum`, `file`, `vector`, `statistics` or `key`.
    subject: str
    #: The file, and the place in it.
    place: str
    #: The damage.
    problem: str
    #: The next step.
    advice: str
    #: The repair that was done; `None`: the damage is still there.
    repaired: str | None


class Verified(NamedTuple):
    """The outcome of a verification.

    Examples:
        >>> verified = lr.Table("lake/orders").verify()
        >>> verified.sound, verified.key, verified.findings
        (True, ['order_id'], [])
    """

    #: The version whose files were checked; `None` where no version can be read.
    version: int | None
    #: Whether no damage is left.
    sound: bool
    #: Entries of the log that were read.
    entries: int
    #: Checkpoints that were held against them.
    checkpoints: int
    #: Data files of the version.
    files: int
    #: Deletion vectors of the version.
    vectors: int
    #: Rows of the version, deleted ones left out.
    verified_rows: int
    #: The columns whose values were looked for in several rows; empty where keys were not checked.
    key: list[str]
    #: Files in the table's folder that no version names.
    orphan_files: int
    #: Their bytes.
    orphan_bytes: int
    #: The damage, repaired or not.
    findings: list[Finding]
    #: Whether keys were looked for in several rows.
    keys_checked: bool
    #: Whether the values of the files were held against their statistics (`deep`).
    values_checked: bool
    #: Parts that were not checked, and copies of entries that were not used.
    notes: list[str]


class Altered(NamedTuple):
    """What became of a table's columns, properties and constraints.

    Examples:
        >>> altered = lr.Table("lake/orders").alter(rename={"price": "amount"}, dry_run=True)
        >>> altered.version, altered.features_added
        (None, ['columnMapping'])
    """

    #: The version that was made; `None` where the table was so already, or nothing was to be changed.
    version: int | None
    #: All properties that the table has now.
    properties: dict[str, str]
    #: Features that its protocol has got: writers have to know them.
    features_added: list[str]
    #: Those of them that readers have to know, too.
    reader_features_added: list[str]


class Restored(NamedTuple):
    """What was restored.

    Examples:
        >>> table = lr.Table("lake/orders")
        >>> deleted = table.delete("order_id = 1")
        >>> table.restore(1).restored_version
        1
    """

    #: The version that was made; `None` where the table is as it was then.
    version: int | None
    #: The version that it is like.
    restored_version: int
    #: Files that came back, or got back their deletion vector.
    files_added: int
    #: Files that went.
    files_removed: int


class Version(NamedTuple):
    """A version of a table, as the log describes it.

    Examples:
        >>> entry = lr.Table("lake/orders").history(limit=1)[0]
        >>> entry.version, entry.files_added
        (1, 1)
    """

    #: Its number.
    version: int
    #: When it was made: what a time in place of a version is held against.
    timestamp: datetime
    #: What made it, such as `WRITE` or `MERGE`, where the writer says so.
    operation: str | None
    #: How.
    parameters: dict[str, str]
    #: The writer's own figures.
    metrics: dict[str, str]
    #: The writer.
    engine: str | None
    #: Files that it added.
    files_added: int
    #: Files that it removed.
    files_removed: int
    #: Files that got another deletion vector.
    vectors: int
    #: Bytes of the files that it added.
    bytes_added: int
    #: Bytes of the files that it removed, as far as it says so.
    bytes_removed: int


class UpsertPlan:
    """What an upsert would do. `str()` of it is for people, :meth:`to_dict` for programs.

    Examples:
        >>> plan = lr.Table("lake/orders").explain_upsert("changes.csv")
        >>> "lake/orders" in str(plan)
        True
    """

    __slots__ = ("_plan", "_text")

    def __init__(self, text: str, plan: dict[str, Any]) -> None:
        self._text = text
        self._plan = plan

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, lists, strings and numbers: files kept and pruned and why, row groups, bytes of keys to
        read, requests, rows to be written, files to be rewritten.

        Examples:
            >>> plan = lr.Table("lake/orders").explain_upsert("changes.csv").to_dict()
            >>> plan["rows"]
            2
        """
        return self._plan
