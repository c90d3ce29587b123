"""duckdb: `read_parquet` to a pyarrow Table, `COPY` from one."""

from __future__ import annotations

from typing import Any

import contest
import duckdb
import extensions
import pyarrow  # noqa: F401 - fetch_arrow_table would import it in the measured section
import tables


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Runs one SELECT into a `pyarrow.Table`."""
    connection = _connect(job)
    path = job["path"]
    if job["s3"] is not None:
        path = extensions.use_s3(connection, job["s3"])
    columns = ", ".join(f'"{name}"' for name in job["columns"]) if job["columns"] else "*"
    query = f"SELECT {columns} FROM read_parquet('{path}')"
    if job["filter"]:
        query += f" WHERE {job['filter']['sql']}"
    return contest.Prepared(
        duckdb.__version__,
        lambda: connection.sql(query).fetch_arrow_table(),
        {"threads": _setting(connection, "threads"), "query": query},
        hold=lambda table: table,
        plan=lambda: str(connection.sql(query).explain()),
    )


def write(job: dict[str, Any]) -> contest.Prepared:
    """Copies a pyarrow Table, which duckdb scans in place, to a file."""
    import pyarrow.parquet as pq

    connection = _connect(job)
    table = pq.read_table(job["input"])
    connection.register("held", table)
    query = (
        f"COPY held TO '{job['output']}' "
        f"(FORMAT parquet, COMPRESSION {job['codec']}, ROW_GROUP_SIZE {job['row_group_rows']})"
    )
    return contest.Prepared(
        duckdb.__version__,
        lambda: connection.execute(query),
        {"threads": _setting(connection, "threads"), "query": query},
    )


def _connect(job: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": job["threads"], "autoinstall_known_extensions": False})


def _setting(connection: duckdb.DuckDBPyConnection, name: str) -> Any:
    return connection.execute(f"SELECT current_setting('{name}')").fetchall()[0][0]


if __name__ == "__main__":
    jobs = {"create": tables.create, "upsert": tables.upsert, "scan-table": tables.scan}
    contest.main({"scan": scan, "write": write, **jobs})
