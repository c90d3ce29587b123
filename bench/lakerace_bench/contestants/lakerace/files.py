"""lakerace's stores of files."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stores

import lakerace as lr


class Files(stores.Store):
    """A store of lakerace's."""

    version = lr.__version__

    def __init__(self, job: dict[str, Any], is_read: bool) -> None:
        options = dict(job["options"])
        home = options.pop("home", "sqlite") if job["home"] == "local" else "memory"
        path = Path(job["place"], "files.db")
        if home == "sqlite":
            self.sqlite_file = path
            options |= {"durability": job["durability"], "read_only": is_read}
        location = {"sqlite": f"sqlite:{path}", "directory": f"dir:{path.parent / 'files'}", "memory": "memory:"}[home]
        self._store = lr.files.Store(location, **options)
        self._compacts = options.get("compression") == "zstd-dict"

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        get = self._store.get
        return [get(name) for name in names]

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        with self._store.snapshot() as snapshot:
            get = snapshot.get
            return [get(name) for name in names]

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        get_many = self._store.get_many
        return [get_many(names[start : start + size]) for start in range(0, len(names), size)]

    def put_each(self, files: stores.Pairs) -> None:
        put = self._store.put
        for name, content in files:
            put(name, content)

    def put_together(self, files: stores.Pairs, size: int) -> None:
        for start in range(0, len(files), size):
            self._store.put_many(files[start : start + size])
        if self._compacts:
            # Encodes what was put before there was a dictionary.
            self._store.compact()

    def names(self) -> list[str]:
        return self._store.list()

    def content_bytes(self) -> int | None:
        if self.sqlite_file is None:
            return None
        self.close()
        connection = sqlite3.connect(self.sqlite_file)
        query = "SELECT (SELECT total(length(content)) FROM files) + (SELECT total(length(data)) FROM chunks)"
        total = connection.execute(query).fetchone()[0]
        connection.close()
        return int(total)

    def close(self) -> None:
        self._store.close()


def opened(job: dict[str, Any], is_read: bool) -> Files:
    """The store of a job."""
    return Files(job, is_read and job["home"] != "memory")
