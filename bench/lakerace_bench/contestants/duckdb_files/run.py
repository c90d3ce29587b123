"""duckdb as a store of files: a table with a key in a separate database file, or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import stores


class Duck(stores.Store):
    """A database of duckdb."""

    version = str(duckdb.__version__)

    def __init__(self, job: dict[str, Any], is_read: bool) -> None:
        place = ":memory:" if job["home"] == "memory" else f"{job['place']}/files.duckdb"
        self._connection: Any = duckdb.connect(place, read_only=is_read, config={"threads": job["threads"]})
        if not is_read:
            self._connection.execute("CREATE TABLE IF NOT EXISTS files (name VARCHAR PRIMARY KEY, content BLOB)")

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        execute = self._connection.execute
        return [execute("SELECT content FROM files WHERE name = ?", [name]).fetchone()[0] for name in names]

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        self._connection.begin()
        found = self.get_each(names)
        self._connection.commit()
        return found

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        execute, query = self._connection.execute, "SELECT name, content FROM files WHERE name IN (SELECT unnest(?))"
        return [execute(query, [names[start : start + size]]).fetchall() for start in range(0, len(names), size)]

    def put_each(self, files: stores.Pairs) -> None:
        execute = self._connection.cursor().execute
        for name, content in files:
            execute("INSERT INTO files VALUES (?, ?)", [name, content])

    def put_together(self, files: stores.Pairs, size: int) -> None:
        for start in range(0, len(files), size):
            names, contents = zip(*files[start : start + size], strict=True)
            self._connection.execute("INSERT INTO files SELECT unnest(?), unnest(?)", [list(names), list(contents)])

    def names(self) -> list[str]:
        return [name for (name,) in self._connection.execute("SELECT name FROM files").fetchall()]

    def close(self) -> None:
        self._connection.close()


def opened(job: dict[str, Any], is_read: bool) -> Duck:
    """The database of a job."""
    return Duck(job, is_read and job["home"] != "memory")


if __name__ == "__main__":
    stores.main(opened)
