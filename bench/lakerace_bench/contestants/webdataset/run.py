"""WebDataset: tar files of many samples each, as objects of a bucket."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any

import objects
import obstore
import stores
import webdataset
from webdataset.tariterators import group_by_keys, tar_file_expander

_SHARD_BYTES = 16_000_000


class Shards(stores.Store):
    """Shards below a folder of a bucket. All files are put together."""

    version = str(webdataset.__version__)

    def __init__(self, job: dict[str, Any]) -> None:
        self._store = objects.opened(job)

    def connect(self, names: Sequence[str]) -> None:
        _ = self._shards

    def get_all(self, names: Sequence[str]) -> list[Any]:
        return [list(self._samples())]

    def put_together(self, files: stores.Pairs, size: int) -> None:
        def put(shard: tuple[int, bytes]) -> None:
            obstore.put(self._store, f"{shard[0]:06}.tar", shard[1])

        for _ in _ahead(put, enumerate(_written(sorted(files)))):
            pass

    def read_back(self, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        return self._samples()

    def names(self) -> list[str]:
        return [name for name, _ in self._samples()]

    @cached_property
    def _shards(self) -> list[str]:
        return sorted(found["path"] for found in obstore.list(self._store).collect())

    def _streams(self) -> Iterator[dict[str, Any]]:
        """Shards as webdataset wants them opened."""

        def get(shard: str) -> dict[str, Any]:
            return {"url": shard, "stream": io.BytesIO(obstore.get(self._store, shard).bytes())}

        return _ahead(get, self._shards)

    def _samples(self) -> Iterator[tuple[str, bytes]]:
        stages = (webdataset.pipelinefilter(stage)() for stage in (tar_file_expander, group_by_keys))
        for sample in webdataset.DataPipeline(self._streams, *stages):
            yield f"{sample['__key__']}.bin", sample["bin"]


def _written(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """The bytes of each shard."""
    left = iter(files)
    file = next(left, None)
    while file is not None:
        shard = io.BytesIO()
        with webdataset.TarWriter(shard) as tar:
            while file is not None and shard.tell() < _SHARD_BYTES:
                tar.write({"__key__": file[0].removesuffix(".bin"), "bin": file[1]})
                file = next(left, None)
        yield shard.getvalue()


def _ahead(do: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """The result of `do` for each item; a thread computes the next one in the meantime."""
    with ThreadPoolExecutor(1) as pool:
        coming: Future[Any] | None = None
        for item in items:
            done, coming = coming, pool.submit(do, item)
            if done is not None:
                yield done.result()
        if coming is not None:
            yield coming.result()


def opened(job: dict[str, Any], is_read: bool) -> Shards:
    """The shards of a job."""
    return Shards(job)


if __name__ == "__main__":
    stores.main(opened)
