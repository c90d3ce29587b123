"""SQLite by duckdb: an attached database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import contest
import duckdb
import loads
import pyarrow as pa
import texts

# Where extensions come from is the other contestant's.
sys.path.append(str(Path(__file__).parent.parent / "duckdb"))

import extensions


def load(job: dict[str, Any]) -> contest.Prepared:
    """Inserts each batch."""
    connection, table = _attached(job)

    def write(batch: pa.Table) -> None:
        rows = connection.from_arrow(batch)  # noqa: F841 - duckdb finds it by its name
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM rows WITH NO DATA")
        connection.execute(f"INSERT INTO {table} FROM rows")

    return loads.each(job, duckdb.__version__, write)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """All rows as one table."""
    connection, table = _attached(job)
    types = loads.schema(job)
    names = ", ".join(f'"{name}"' for name in types.names)

    def read() -> pa.Table:
        return connection.execute(f"SELECT {names} FROM {table}").to_arrow_table()

    def again() -> Any:
        rows = (list(row.values()) for batch in read().to_batches(10_000) for row in batch.to_pylist())
        return texts.table(rows, types)

    return loads.counted(job, duckdb.__version__, lambda: read().num_rows, again)


def _attached(job: dict[str, Any]) -> tuple[duckdb.DuckDBPyConnection, str]:
    connection = duckdb.connect(config={"threads": job["threads"]})
    extensions.load(connection, "sqlite_scanner")
    connection.execute(f"ATTACH '{job['place']['path']}' AS held (TYPE sqlite)")
    return connection, f'held."{job["place"]["table"]}"'


if __name__ == "__main__":
    contest.main({"load": load, "unload": unload})
