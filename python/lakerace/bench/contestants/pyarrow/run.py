"""pyarrow: `pyarrow.parquet.read_table` into a Table, `write_table` from one."""

from __future__ import annotations

from typing import Any

import contest
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset  # read_table would import it in the measured section
import pyarrow.parquet as pq


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Reads into one `pyarrow.Table`."""
    pa.set_cpu_count(job["threads"])
    condition = job["filter"]
    source: dict[str, Any] = {
        "columns": job["columns"],
        "use_threads": job["threads"] > 1,
        "filters": _expression(condition) if condition else None,
    }
    s3 = job["s3"]
    if s3 is None:
        path, source["memory_map"] = job["path"], True
    else:
        from pyarrow import fs

        path = f"{s3['bucket']}/{s3['key']}"
        source["filesystem"] = fs.S3FileSystem(
            access_key=s3["access_key"],
            secret_key=s3["secret_key"],
            region=s3["region"],
            endpoint_override=s3["endpoint"],
            scheme="http",
        )
    options = {k: str(v) for k, v in source.items()} | {"cpu_count": pa.cpu_count(), "io_threads": pa.io_thread_count()}
    return contest.Prepared(pa.__version__, lambda: pq.read_table(path, **source), options, hold=lambda table: table)


def write(job: dict[str, Any]) -> contest.Prepared:
    """Writes a `pyarrow.Table`; the writer encodes on one thread whatever the count."""
    pa.set_cpu_count(job["threads"])
    table = pq.read_table(job["input"])
    options = {"compression": job["codec"], "row_group_size": job["row_group_rows"]}
    return contest.Prepared(
        pa.__version__, lambda: pq.write_table(table, job["output"], **options), options | {"cpu_count": pa.cpu_count()}
    )


def _expression(condition: dict[str, Any]) -> Any:
    field = pc.field(condition["column"])
    return (field >= condition["at_least"]) & (field < condition["below"])


if __name__ == "__main__":
    contest.main({"scan": scan, "write": write})
