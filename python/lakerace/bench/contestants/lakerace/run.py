"""lakerace: `lr.scan(...)` as an Arrow stream into a pyarrow Table, `lr.copy` from one."""

from __future__ import annotations

import os
from typing import Any

import contest


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Consumes the stream of a scan into one `pyarrow.Table`."""
    s3 = job["s3"]
    location = job["path"]
    if s3 is not None:
        location = f"s3://{s3['bucket']}/{s3['key']}"
        os.environ.update(
            AWS_ACCESS_KEY_ID=s3["access_key"],
            AWS_SECRET_ACCESS_KEY=s3["secret_key"],
            AWS_REGION=s3["region"],
            AWS_ENDPOINT_URL=f"http://{s3['endpoint']}",
            AWS_ALLOW_HTTP="true",
        )
    import pyarrow as pa

    import lakerace as lr

    condition = job["filter"]
    where = None
    if condition:
        column = condition["column"]
        where = f"{column} >= {condition['at_least']} AND {column} < {condition['below']}"

    def request() -> Any:
        return lr.scan(location, columns=job["columns"], where=where, threads=job["threads"])

    return contest.Prepared(
        lr.__version__,
        lambda: pa.RecordBatchReader.from_stream(request()).read_all(),
        {"threads": job["threads"], "where": where, "columns": job["columns"]},
        hold=lambda table: table,
        plan=lambda: None if s3 else str(request().explain()),
    )


def write(job: dict[str, Any]) -> contest.Prepared:
    """Copies a `pyarrow.Table` to a file."""
    import pyarrow.parquet as pq

    import lakerace as lr

    table = pq.read_table(job["input"])
    options = {"compression": job["codec"], "row_group_rows": job["row_group_rows"], "threads": job["threads"]}
    return contest.Prepared(lr.__version__, lambda: lr.copy(table, job["output"], **options), options)


if __name__ == "__main__":
    contest.main({"scan": scan, "write": write})
