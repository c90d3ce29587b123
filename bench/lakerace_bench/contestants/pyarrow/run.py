"""pyarrow: `pyarrow.parquet.read_table` into a Table, `write_table` from one, and the same of `pyarrow.orc`."""

from __future__ import annotations

import functools
import operator
from typing import Any

import contest
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset  # read_table would import it in the measured section
import pyarrow.parquet as pq
from pyarrow import orc


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Reads into one `pyarrow.Table`."""
    pa.set_cpu_count(job["threads"])
    source: dict[str, Any] = {"columns": job["columns"]}
    path = job["path"]
    if job["s3"] is not None:
        path, source["filesystem"] = _s3(job["s3"])
    read = orc.read_table
    if job["format"] == "parquet":
        condition = job["filter"]
        source |= {"use_threads": job["threads"] > 1, "filters": _expression(condition) if condition else None}
        if job["s3"] is None:
            source["memory_map"] = True
        read = pq.read_table
    options = {k: str(v) for k, v in source.items()} | {"cpu_count": pa.cpu_count(), "io_threads": pa.io_thread_count()}
    return contest.Prepared(pa.__version__, lambda: read(path, **source), options, hold=lambda table: table)


def write(job: dict[str, Any]) -> contest.Prepared:
    """Writes a `pyarrow.Table`; the writers encode on one thread for any number of threads."""
    pa.set_cpu_count(job["threads"])
    table = pq.read_table(job["input"])
    options: dict[str, Any]
    if job["format"] == "orc":
        options = {"compression": "uncompressed" if job["codec"] == "none" else job["codec"]}
        work = orc.write_table
    else:
        options = {"compression": job["codec"], "row_group_size": job["row_group_rows"]}
        work = pq.write_table
    return contest.Prepared(
        pa.__version__, lambda: work(table, job["output"], **options), options | {"cpu_count": pa.cpu_count()}
    )


def generate(job: dict[str, Any]) -> contest.Prepared:
    """Converts tables from Parquet, which is not generating them: one after the other, each a row group at a time."""
    pa.set_cpu_count(job["threads"])

    def work() -> None:
        for name, file in job["inputs"].items():
            with orc.ORCWriter(f"{job['output']}/{name}.orc", compression=job["codec"]) as writer:
                found = pq.ParquetFile(file)
                for group in range(found.num_row_groups):
                    writer.write(found.read_row_group(group))

    return contest.Prepared(pa.__version__, work, {"compression": job["codec"], "cpu_count": pa.cpu_count()})


def _s3(s3: dict[str, str]) -> tuple[str, Any]:
    from pyarrow import fs

    store = fs.S3FileSystem(
        access_key=s3["access_key"],
        secret_key=s3["secret_key"],
        region=s3["region"],
        endpoint_override=s3["endpoint"],
        scheme="http",
    )
    return f"{s3['bucket']}/{s3['key']}", store


def _expression(condition: dict[str, Any]) -> Any:
    field = pc.field(condition["column"])
    parts = []
    if condition["at_least"] is not None:
        parts.append(field >= condition["at_least"])
    if condition["below"] is not None:
        parts.append(field < condition["below"])
    if condition["equals"] is not None:
        parts.append(field == condition["equals"])
    if condition["one_of"]:
        parts.append(field.isin(condition["one_of"]))
    if condition["like"] is not None:
        parts.append(pc.match_like(field, condition["like"]))
    if condition["further"]:
        parts.append(_expression(condition["further"]))
    return functools.reduce(operator.and_, parts)


if __name__ == "__main__":
    contest.main({"scan": scan, "write": write, "generate": generate})
