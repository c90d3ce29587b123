"""SQLite by polars: `write_database` and `read_database_uri`, by ADBC."""

from __future__ import annotations

import os
from typing import Any

import contest
import loads
import pyarrow as pa
import texts


def load(job: dict[str, Any]) -> contest.Prepared:
    """Writes each batch."""
    pl = _polars(job)
    place = job["place"]

    def write(batch: pa.Table) -> None:
        frame = pl.from_arrow(batch)
        frame.write_database(place["table"], _uri(place), engine="adbc", if_table_exists="append")

    return loads.each(job, pl.__version__, write, engine="adbc")


def unload(job: dict[str, Any]) -> contest.Prepared:
    """All rows as one DataFrame."""
    pl = _polars(job)
    place, types = job["place"], loads.schema(job)
    names = ", ".join(f'"{name}"' for name in types.names)

    def read() -> Any:
        return pl.read_database_uri(f'SELECT {names} FROM "{place["table"]}"', _uri(place), engine="adbc")

    def again() -> Any:
        return texts.table(read().iter_rows(), types)

    return loads.counted(job, pl.__version__, lambda: len(read()), again, engine="adbc")


def _polars(job: dict[str, Any]) -> Any:
    os.environ["POLARS_MAX_THREADS"] = str(job["threads"])
    import polars

    return polars


def _uri(place: dict[str, str]) -> str:
    return f"sqlite:///{place['path']}"


if __name__ == "__main__":
    contest.main({"load": load, "unload": unload})
