"""The sqlite3 module as a store of files: the table and the defaults of ezfs, or tuned for it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stores

_GET = "SELECT content FROM files WHERE name = ?"
_PUT = "INSERT INTO files VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content"
#: Of pages that a connection keeps, in KiB.
_CACHE_KIB = 16 << 10


class Table(stores.Store):
    """A table with a key."""

    version = sqlite3.sqlite_version

    def __init__(self, job: dict[str, Any]) -> None:
        is_tuned, is_memory = job["options"].get("tuned", False), job["home"] == "memory"
        path = Path(job["place"], "files.db")
        self._connection = sqlite3.connect(
            ":memory:" if is_memory else path, isolation_level=None, check_same_thread=False
        )
        execute = self._connection.execute
        if is_tuned:
            for pragma in ("page_size=8192", "journal_mode=WAL", f"cache_size=-{_CACHE_KIB}"):
                execute(f"PRAGMA {pragma}").fetchall()
            self.sqlite_file = path
        if is_tuned or job["durability"] == "off":
            execute(f"PRAGMA synchronous={job['durability']}")
        ending = "WITHOUT ROWID" if is_tuned else ""
        execute(f"CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY NOT NULL, content BLOB) {ending}")
        self._has_threads = job["work"] == "put-threads"

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        execute = self._connection.execute
        return [execute(_GET, (name,)).fetchone()[0] for name in names]

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        self._connection.execute("BEGIN")
        found = self.get_each(names)
        self._connection.execute("COMMIT")
        return found

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        execute, found = self._connection.execute, []
        for start in range(0, len(names), size):
            some = names[start : start + size]
            query = f"SELECT name, content FROM files WHERE name IN ({','.join('?' * len(some))})"
            found.append(execute(query, some).fetchall())
        return found

    def put_each(self, files: stores.Pairs) -> None:
        execute = self._connection.execute
        if not self._has_threads:
            for name, content in files:
                execute(_PUT, (name, content))
            return
        for name, content in files:
            with _LOCK:
                execute(_PUT, (name, content))

    def put_together(self, files: stores.Pairs, size: int) -> None:
        for start in range(0, len(files), size):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_PUT, files[start : start + size])
            self._connection.execute("COMMIT")

    def names(self) -> list[str]:
        return [name for (name,) in self._connection.execute("SELECT name FROM files").fetchall()]

    def count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM files").fetchone()[0])

    def content_bytes(self) -> int | None:
        total = self._connection.execute("SELECT sum(length(content)) FROM files").fetchone()[0]
        return int(total)

    def close(self) -> None:
        self._connection.close()


#: One connection under a lock, for threads that write.
_LOCK = threading.Lock()


def opened(job: dict[str, Any], is_read: bool) -> Table:
    """The table of a job."""
    return Table(job)


if __name__ == "__main__":
    stores.main(opened)
