"""Contestants of `load` that do not do all of the work: `fake_load.py BEHAVIOUR`."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

import contest
import loads
import pyarrow as pa
import texts

BEHAVIOUR = sys.argv[1]


def load(job: dict[str, Any]) -> contest.Prepared:
    """Inserts all rows, or what the behaviour makes of them."""
    types = loads.schema(job)
    connection = sqlite3.connect(job["place"]["path"])
    table = job["place"]["table"]

    def write(batch: pa.Table) -> None:
        with connection:
            connection.execute(f"CREATE TABLE {table} ({', '.join(types.names)})")
            rows = [[_plain(value) for value in row.values()] for row in batch.to_pylist()]
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(types))})", _spoil(rows))

    return loads.each(job, "1.0", write)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """Reads all rows, or what the behaviour makes of them."""
    types = loads.schema(job)

    def rows() -> list[list[Any]]:
        connection = sqlite3.connect(job["place"]["path"])
        found = connection.execute(f"SELECT {', '.join(types.names)} FROM {job['place']['table']}").fetchall()
        return _spoil([list(row) for row in found])

    def count() -> int:
        return len(rows()) - (BEHAVIOUR == "loses-unseen-row" and not job["looked_at"])

    return loads.counted(job, "1.0", count, lambda: texts.table(rows(), types))


def _spoil(rows: list[list[Any]]) -> list[list[Any]]:
    if BEHAVIOUR == "loses-unseen-row":
        return rows
    if BEHAVIOUR == "loses-loaded-row":
        return rows[:-1]
    rows[len(rows) // 2][1] += 1
    return rows


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


if __name__ == "__main__":
    contest.main({"load": load, "unload": unload})
