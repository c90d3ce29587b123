"""rocksdict: RocksDB as a mapping."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

import rocksdict
import stores


class Rocks(stores.Store):
    """A database of RocksDB."""

    version = importlib.metadata.version("rocksdict")

    def __init__(self, folder: str, is_durable: bool, is_read: bool) -> None:
        access = rocksdict.AccessType.read_only() if is_read else rocksdict.AccessType.read_write()
        self._db: Any = rocksdict.Rdict(f"{folder}/rocks", rocksdict.Options(raw_mode=True), access_type=access)
        writes = rocksdict.WriteOptions()
        writes.sync = is_durable
        self._db.set_write_options(writes)

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        get = self._db.get
        return [get(name.encode()) for name in names]

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        state = self._db.snapshot()
        return [state[name.encode()] for name in names]

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        get, found = self._db.get, []
        for start in range(0, len(names), size):
            some = names[start : start + size]
            found.append(list(zip(some, get([name.encode() for name in some]), strict=True)))
        return found

    def put_each(self, files: stores.Pairs) -> None:
        put = self._db.put
        for name, content in files:
            put(name.encode(), content)

    def put_together(self, files: stores.Pairs, size: int) -> None:
        for start in range(0, len(files), size):
            batch = rocksdict.WriteBatch(raw_mode=True)
            put = batch.put
            for name, content in files[start : start + size]:
                put(name.encode(), content)
            self._db.write(batch)

    def names(self) -> list[str]:
        return [key.decode() for key in self._db.keys()]  # noqa: SIM118 - no mapping of Python

    def close(self) -> None:
        self._db.close()


def opened(job: dict[str, Any], is_read: bool) -> Rocks:
    """The database of a job."""
    return Rocks(job["place"], job["durability"] == "full", is_read)


if __name__ == "__main__":
    stores.main(opened)
