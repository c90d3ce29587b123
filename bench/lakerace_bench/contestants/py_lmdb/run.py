"""py-lmdb: a transaction each, one for many, and cursors for many keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lmdb
import stores

_MAP_BYTES = 4 << 30


class Lmdb(stores.Store):
    """An environment of LMDB."""

    version = str(lmdb.__version__)

    def __init__(self, folder: str, is_durable: bool, is_read: bool) -> None:
        self._env: Any = lmdb.open(f"{folder}/lmdb", map_size=_MAP_BYTES, sync=is_durable, readonly=is_read)

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        begin, found = self._env.begin, []
        for name in names:
            with begin() as transaction:
                found.append(transaction.get(name.encode()))
        return found

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        with self._env.begin() as transaction:
            get = transaction.get
            return [get(name.encode()) for name in names]

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        with self._env.begin() as transaction:
            cursor, found = transaction.cursor(), []
            for start in range(0, len(names), size):
                keys = [name.encode() for name in names[start : start + size]]
                found.append([(key.decode(), content) for key, content in cursor.getmulti(keys)])
            return found

    def put_each(self, files: stores.Pairs) -> None:
        begin = self._env.begin
        for name, content in files:
            with begin(write=True) as transaction:
                transaction.put(name.encode(), content)

    def put_together(self, files: stores.Pairs, size: int) -> None:
        for start in range(0, len(files), size):
            with self._env.begin(write=True) as transaction:
                put = transaction.put
                for name, content in files[start : start + size]:
                    put(name.encode(), content)

    def put_sorted(self, files: stores.Pairs) -> None:
        with self._env.begin(write=True) as transaction:
            put = transaction.put
            for name, content in files:
                put(name.encode(), content, append=True)

    def names(self) -> list[str]:
        with self._env.begin() as transaction:
            return [key.decode() for key in transaction.cursor().iternext(values=False)]

    def close(self) -> None:
        self._env.close()


def opened(job: dict[str, Any], is_read: bool) -> Lmdb:
    """The environment of a job."""
    return Lmdb(job["place"], job["durability"] == "full", is_read)


if __name__ == "__main__":
    stores.main(opened)
