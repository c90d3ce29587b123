"""The sqlite3 module: `executemany`, and a cursor. Its folder has a library of the same name, which must come first."""

from __future__ import annotations

import datetime
import sqlite3
from typing import Any

import contest
import loads
import pyarrow as pa
import texts


def load(job: dict[str, Any]) -> contest.Prepared:
    """Inserts the rows of each batch in a transaction."""
    place, types = job["place"], loads.schema(job)
    connection = sqlite3.connect(place["path"], check_same_thread=False)
    columns = ", ".join(f'"{field.name}" {_declared(field.type)}' for field in types)
    insert = f'INSERT INTO "{place["table"]}" VALUES ({", ".join("?" * len(types))})'
    source = loads.source(job)

    def work() -> None:
        connection.execute(f'CREATE TABLE "{place["table"]}" ({columns})')
        for batch in source():
            with connection:
                connection.executemany(insert, zip(*map(_values, batch.columns), strict=True))
        connection.close()

    return contest.Prepared(sqlite3.sqlite_version, work)


def follow(job: dict[str, Any]) -> contest.Prepared:
    """Puts the rows that have changed and removes those that are gone, by their key, in a transaction."""
    place, key, types = job["place"], job["key"], loads.schema(job)
    connection = sqlite3.connect(place["path"])
    put, gone = loads.changed(job)
    names = ", ".join(f'"{name}"' for name in types.names)
    replace = f'INSERT OR REPLACE INTO "{place["table"]}" ({names}) VALUES ({", ".join("?" * len(types))})'

    def work() -> None:
        with connection:
            connection.executemany(replace, [[_value(row[name]) for name in types.names] for row in put])
            connection.executemany(f'DELETE FROM "{place["table"]}" WHERE "{key}" = ?', [[each] for each in gone])
        connection.close()

    return contest.Prepared(sqlite3.sqlite_version, work)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """Every row as a tuple."""
    place, types = job["place"], loads.schema(job)
    connection = sqlite3.connect(place["path"], check_same_thread=False)
    names = ", ".join(f'"{name}"' for name in types.names)
    query = f'SELECT {names} FROM "{place["table"]}"'

    def again() -> Any:
        return texts.table(connection.execute(query), types)

    return loads.counted(job, sqlite3.sqlite_version, lambda: loads.exhausted(connection.execute(query)), again)


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_temporal(column.type):
        return [None if value is None else value.isoformat() for value in values]
    return values


def _value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value


def _declared(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


if __name__ == "__main__":
    contest.main({"load": load, "follow": follow, "unload": unload})
