"""polars: `scan_parquet(...).collect()` into a DataFrame, `write_parquet` from one."""

from __future__ import annotations

import os
from typing import Any

import contest


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Reads into one DataFrame; filter and columns go through polars' own optimiser."""
    os.environ["POLARS_MAX_THREADS"] = str(job["threads"])
    import polars as pl

    s3 = job["s3"]
    path, storage = job["path"], None
    if s3 is not None:
        path = f"s3://{s3['bucket']}/{s3['key']}"
        storage = contest.object_store(s3)

    def query() -> pl.LazyFrame:
        frame = pl.scan_parquet(path, storage_options=storage)
        if job["filter"]:
            frame = frame.filter(pl.sql_expr(job["filter"]["sql"]))
        return frame.select(job["columns"]) if job["columns"] else frame

    return contest.Prepared(
        pl.__version__,
        lambda: query().collect(),
        {"threads": pl.thread_pool_size(), "engine": "auto", "storage": "s3" if s3 else "local"},
        hold=lambda frame: frame.to_arrow(compat_level=pl.CompatLevel.newest()),
        plan=lambda: None if s3 else query().explain(),
    )


def write(job: dict[str, Any]) -> contest.Prepared:
    """Writes a DataFrame."""
    os.environ["POLARS_MAX_THREADS"] = str(job["threads"])
    import polars as pl

    frame = pl.read_parquet(job["input"])
    options = {"compression": job["codec"], "row_group_size": job["row_group_rows"]}
    return contest.Prepared(
        pl.__version__,
        lambda: frame.write_parquet(job["output"], **options),
        options | {"threads": pl.thread_pool_size()},
    )


def unload(job: dict[str, Any]) -> contest.Prepared:
    """Every row of a Parquet file, as a tuple or as a dict."""
    os.environ["POLARS_MAX_THREADS"] = str(job["threads"])
    import loads
    import polars as pl

    named = job["how"] == "named"

    def read() -> int:
        return loads.exhausted(pl.read_parquet(job["place"]["path"]).iter_rows(named=named))

    def again() -> Any:
        return loads.table(pl.read_parquet(job["place"]["path"]).iter_rows(named=True), loads.schema(job))

    return loads.counted(job, pl.__version__, read, again, threads=pl.thread_pool_size())


if __name__ == "__main__":
    contest.main({"scan": scan, "write": write, "unload": unload})
