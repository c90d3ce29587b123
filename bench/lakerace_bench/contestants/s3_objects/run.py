"""obstore: an object for each file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import objects
import obstore
import stores

#: Requests in flight.
_TASKS = 64


class Objects(stores.Store):
    """Objects below a folder of a bucket."""

    version = str(obstore.__version__)

    def __init__(self, job: dict[str, Any]) -> None:
        self._store = objects.opened(job)

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        get, store = obstore.get, self._store
        return [get(store, name).bytes().to_bytes() for name in names]

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        return [self._pairs(names[start : start + size]) for start in range(0, len(names), size)]

    def get_all(self, names: Sequence[str]) -> list[Any]:
        return [self._pairs(names)]

    def put_together(self, files: stores.Pairs, size: int) -> None:
        put, store = obstore.put_async, self._store

        async def one(file: tuple[str, bytes]) -> None:
            await put(store, file[0], file[1])

        asyncio.run(_each(files, one))

    def read_back(self, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        return self._pairs(names)

    def names(self) -> list[str]:
        return [found["path"] for found in obstore.list(self._store).collect()]

    def _pairs(self, names: Sequence[str]) -> list[tuple[str, bytes]]:
        get, store, found = obstore.get_async, self._store, dict.fromkeys(names, b"")

        async def one(name: str) -> None:
            found[name] = (await (await get(store, name)).bytes_async()).to_bytes()

        asyncio.run(_each(names, one))
        return list(found.items())


async def _each(items: Iterable[Any], do: Callable[[Any], Awaitable[None]]) -> None:
    """Does it for each item, many at the same time."""
    left = iter(items)

    async def work() -> None:
        for item in left:
            await do(item)

    await asyncio.gather(*(work() for _ in range(_TASKS)))


def opened(job: dict[str, Any], is_read: bool) -> Objects:
    """The objects of a job."""
    return Objects(job)


if __name__ == "__main__":
    stores.main(opened)
