"""lakerace: `lr.scan(...)` as an Arrow stream into a pyarrow Table, `lr.copy` from one, and ranges of bytes alone."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import contest
import databases
import files
import stores
import tables

#: Files whose path has been learnt, with the settings of their store.
_LEARNT: set[tuple[str, str]] = set()


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Consumes the stream of a scan into one `pyarrow.Table`."""
    import pyarrow as pa

    import lakerace as lr

    location, storage = _place(job)
    where = job["filter"]["sql"] if job["filter"] else None
    options = {"columns": job["columns"], "where": where, "threads": job["threads"], **job["options"]}

    def request() -> Any:
        return lr.scan(location, storage_options=storage, **options)

    return contest.Prepared(
        lr.__version__,
        lambda: pa.RecordBatchReader.from_stream(request()).read_all(),
        options,
        hold=lambda table: table,
        plan=lambda: str(request().explain()),
    )


def write(job: dict[str, Any]) -> contest.Prepared:
    """Copies a `pyarrow.Table` to a file."""
    import pyarrow.parquet as pq

    import lakerace as lr

    table = pq.read_table(job["input"])
    codec = job["codec"] if job["level"] is None else f"{job['codec']}:{job['level']}"
    options = {"compression": codec, "row_group_rows": job["row_group_rows"], "threads": job["threads"]}
    return contest.Prepared(lr.__version__, lambda: lr.copy(table, job["output"], **options), options)


def query(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each dropped when the next one arrives; nothing is summed up except for the check."""
    import pyarrow as pa

    import lakerace as lr

    location, storage = _place(job)

    def rows() -> Any:
        return pa.RecordBatchReader.from_stream(lr.scan(location, storage_options=storage, threads=job["threads"]))

    def look(_: Any) -> dict[str, Any]:
        import duckdb

        connection = duckdb.connect()
        connection.register("rows", rows())
        [row] = connection.execute(job["duckdb_sql"]).fetchall()
        checksum = " ".join(str(value) for value in row)
        return {"rows": row[0], "checksum": checksum, "checked_by": job["checked_by"]}

    return contest.Prepared(
        lr.__version__, lambda: sum(batch.num_rows for batch in rows()), {"threads": job["threads"]}, look=look
    )


def convert(job: dict[str, Any]) -> contest.Prepared:
    """A local Parquet file into a Delta table on S3."""
    import lakerace as lr

    target = f"delta:s3://{job['s3']['bucket']}/{job['s3']['key']}"
    options = {"threads": job["threads"]}
    return contest.Prepared(
        lr.__version__,
        lambda: lr.copy(job["path"], target, storage_options=contest.object_store(job["s3"]), **options),
        options,
    )


def ranges(job: dict[str, Any]) -> contest.Prepared:
    """Reads ranges of bytes by the planner and the fetcher of a scan: all together, or each after the one before."""
    import lakerace as lr
    from lakerace import _lakerace

    location, storage = _place(job)
    options = dict(job["options"])
    in_turn = options.pop("in_turn", False)
    options["min_seek_size"] = str(options["min_seek_size"])
    source = _lakerace.Ranges(location, {"storage_options": storage, "threads": 1, **options})
    wanted = [tuple(one) for one in job["ranges"]]
    # What a path is like is learnt from what has been read, by all that this process reads on it.
    if (location, str(storage)) not in _LEARNT:
        _LEARNT.add((location, str(storage)))
        for begin, end in job["before"]:
            source.read([(begin, end)])
    if job["cold"]:
        with open(job["path"], "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    planned = source.plan(wanted)

    def work() -> bytes:
        return b"".join(source.read([one]) for one in wanted) if in_turn else source.read(wanted)

    def look(found: bytes) -> dict[str, Any]:
        path = planned["path"]
        return {
            "rows": len(found),
            "checksum": hashlib.sha256(found).hexdigest(),
            "checked_by": "SHA-256",
            "planned": {
                "requests": len(wanted) if in_turn else len(planned["requests"]),
                "gap_bytes": planned["gap_bytes"],
                "seconds": planned["seconds"],
                "latency_ms": path["latency_ms"],
                "connection_bytes_per_second": path["connection_bytes_per_second"],
            },
        }

    return contest.Prepared(lr.__version__, work, {**options, "in_turn": in_turn}, look=look)


def _place(job: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The location of the job's file and the settings of its store."""
    s3 = job["s3"]
    if s3 is None:
        return job["path"], {}
    return f"s3://{s3['bucket']}/{s3['key']}", contest.object_store(s3)


if __name__ == "__main__":
    jobs = {"create": tables.create, "upsert": tables.upsert, "compact": tables.compact, "scan-table": tables.scan}
    jobs |= {"generate": tables.generate, "load": databases.load, "unload": databases.unload}
    jobs["files"] = lambda job: stores.prepare(job, files.opened)
    jobs |= {"query": query, "convert": convert}
    jobs |= {"change": databases.change, "follow": databases.follow}
    contest.main({"scan": scan, "write": write, "ranges": ranges, **jobs})
