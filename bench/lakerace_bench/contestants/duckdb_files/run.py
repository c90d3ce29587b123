"""duckdb as a store of files: a table with a key in a separate database file, in a file of SQLite, or in memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import stores

# Where extensions come from is the other contestant's.
sys.path.append(str(Path(__file__).parent.parent / "duckdb"))

import extensions


class Duck(stores.Store):
    """A database of duckdb."""

    version = str(duckdb.__version__)

    def __init__(self, job: dict[str, Any], is_read: bool) -> None:
        is_attached = job["options"].get("over") == "sqlite"
        place = ":memory:" if is_attached or job["home"] == "memory" else f"{job['place']}/files.duckdb"
        is_locked = is_read and not is_attached
        self._connection: Any = duckdb.connect(place, read_only=is_locked, config={"threads": job["threads"]})
        if is_attached:
            extensions.load(self._connection, "sqlite_scanner")
            self._connection.execute(f"ATTACH '{job['place']}/files.db' AS held (TYPE sqlite)")
        self._table = "held.files" if is_attached else "files"
        if not is_read:
            self._connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} (name VARCHAR PRIMARY KEY, content BLOB)"
            )

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        execute, query = self._connection.execute, f"SELECT content FROM {self._table} WHERE name = ?"
        return [execute(query, [name]).fetchone()[0] for name in names]

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        self._connection.begin()
        found = self.get_each(names)
        self._connection.commit()
        return found

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        execute = self._connection.execute
        query = f"SELECT name, content FROM {self._table} WHERE name IN (SELECT unnest(?))"
        return [execute(query, [names[start : start + size]]).fetchall() for start in range(0, len(names), size)]

    def put_each(self, files: stores.Pairs) -> None:
        execute, statement = self._connection.cursor().execute, f"INSERT INTO {self._table} VALUES (?, ?)"
        for name, content in files:
            execute(statement, [name, content])

    def put_together(self, files: stores.Pairs, size: int) -> None:
        for start in range(0, len(files), size):
            names, contents = zip(*files[start : start + size], strict=True)
            self._connection.execute(
                f"INSERT INTO {self._table} SELECT unnest(?), unnest(?)", [list(names), list(contents)]
            )

    def names(self) -> list[str]:
        return [name for (name,) in self._connection.execute(f"SELECT name FROM {self._table}").fetchall()]

    def close(self) -> None:
        self._connection.close()


def opened(job: dict[str, Any], is_read: bool) -> Duck:
    """The database of a job."""
    return Duck(job, is_read and job["home"] != "memory")


if __name__ == "__main__":
    stores.main(opened)
