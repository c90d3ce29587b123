"""lakerace's stores of files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import contest
import stores

import lakerace as lr

#: Files of one call where all of them are read from S3.
_TOGETHER = 20_000


class Files(stores.Store):
    """A store of lakerace's."""

    version = lr.__version__

    def __init__(self, job: dict[str, Any], is_read: bool) -> None:
        options = dict(job["options"])
        self._has_packs = job["home"] == "s3"
        home = options.pop("home", "sqlite") if job["home"] == "local" else job["home"]
        path = Path(job["place"], "files.db")
        if home == "sqlite":
            self.sqlite_file = path
            options |= {"durability": job["durability"], "read_only": is_read}
        if self._has_packs:
            options |= {"storage_options": contest.object_store(job["s3"]), "read_only": is_read}
        location = {
            "sqlite": f"sqlite:{path}",
            "directory": f"dir:{path.parent / 'files'}",
            "memory": "memory:",
            "s3": f"s3://{job['s3']['bucket']}/{job['s3']['key']}" if self._has_packs else "",
        }[home]
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

    def get_all(self, names: Sequence[str]) -> list[Any]:
        return self.get_together(names, _TOGETHER)

    def put_each(self, files: stores.Pairs) -> None:
        put = self._store.put
        for name, content in files:
            put(name, content)

    def put_together(self, files: stores.Pairs, size: int) -> None:
        if self._has_packs:
            # One flush, after which all are durable.
            size = len(files)
        for start in range(0, len(files), size):
            self._store.put_many(files[start : start + size])
        if self._compacts:
            # Encodes what was put before there was a dictionary.
            self._store.compact()

    def read_back(self, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        if not self._has_packs:
            return super().read_back(names)
        groups = (names[start : start + _TOGETHER] for start in range(0, len(names), _TOGETHER))
        return (pair for group in groups for pair in self._store.get_many(group).items())

    def names(self) -> list[str]:
        return self._store.list()

    def count(self) -> int:
        if self.sqlite_file is None:
            return len(self.names())
        connection = sqlite3.connect(self.sqlite_file)
        [total] = connection.execute("SELECT count(*) FROM files").fetchone()
        connection.close()
        return int(total)

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
