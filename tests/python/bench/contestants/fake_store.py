"""Contestants of `files` that do not do all of the work: `fake_store.py BEHAVIOUR`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stores

BEHAVIOUR = sys.argv[1]


class Fake(stores.Store):
    """A table with a log, and what the behaviour makes of it."""

    version = "1.0"

    def __init__(self, job: dict[str, Any]) -> None:
        self.sqlite_file = Path(job["place"], "files.db")
        self._is_get = job["work"] in ("get", "get-many")
        self._connection = sqlite3.connect(self.sqlite_file, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL").fetchall()
        self._connection.execute("CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, content BLOB) WITHOUT ROWID")

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        query = "SELECT content FROM files WHERE name = ?"
        found = [self._connection.execute(query, (name,)).fetchone()[0] for name in names]
        if self._is_get and BEHAVIOUR == "changes-file":
            found[-1] = found[0]
        return found

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        found = list(zip(names, self.get_each(names), strict=True))
        return [found[:-1] if BEHAVIOUR == "loses-file" else found]

    def put_each(self, files: stores.Pairs) -> None:
        kept = list(files)
        if not self._is_get and BEHAVIOUR == "loses-file":
            kept.pop()
        if not self._is_get and BEHAVIOUR == "changes-file":
            kept[-1] = (kept[-1][0], b"else")
        if BEHAVIOUR == "commits-once":
            self._connection.execute("BEGIN")
        for pair in kept:
            self._connection.execute("INSERT INTO files VALUES (?, ?)", pair)
        if BEHAVIOUR == "commits-once":
            self._connection.execute("COMMIT")

    def names(self) -> list[str]:
        return [name for (name,) in self._connection.execute("SELECT name FROM files").fetchall()]

    def close(self) -> None:
        self._connection.close()


def opened(job: dict[str, Any], is_read: bool) -> Fake:
    """The table of a job."""
    return Fake(job)


if __name__ == "__main__":
    stores.main(opened)
