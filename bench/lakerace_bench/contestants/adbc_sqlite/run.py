"""SQLite by ADBC: `adbc_ingest` and `fetch_arrow_table`."""

from __future__ import annotations

from typing import Any

import adbc_driver_sqlite
import contest
import loads
import pyarrow as pa
import texts
from adbc_driver_sqlite import dbapi


def load(job: dict[str, Any]) -> contest.Prepared:
    """Takes in each batch, and commits."""
    place = job["place"]
    connection = dbapi.connect(place["path"])

    def write(batch: pa.Table) -> None:
        with connection.cursor() as cursor:
            cursor.adbc_ingest(place["table"], batch, mode="create_append")
        connection.commit()

    return loads.each(job, adbc_driver_sqlite.__version__, write)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """All rows as one table."""
    place, types = job["place"], loads.schema(job)
    names = ", ".join(f'"{name}"' for name in types.names)

    def read() -> pa.Table:
        with dbapi.connect(place["path"]) as connection, connection.cursor() as cursor:
            cursor.execute(f'SELECT {names} FROM "{place["table"]}"')
            return cursor.fetch_arrow_table()

    def again() -> Any:
        rows = (list(row.values()) for batch in read().to_batches(10_000) for row in batch.to_pylist())
        return texts.table(rows, types)

    return loads.counted(job, adbc_driver_sqlite.__version__, lambda: read().num_rows, again)


if __name__ == "__main__":
    contest.main({"load": load, "unload": unload})
