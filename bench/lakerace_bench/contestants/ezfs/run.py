"""ezfs: a file system over SQLite, or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import contents
import ezfs
import stores


class Ezfs(stores.Store):
    """A file system of ezfs."""

    version = str(ezfs.__version__)

    def __init__(self, job: dict[str, Any]) -> None:
        options = job["options"]
        if job["home"] == "memory":
            self._fs: Any = ezfs.MemFilesystem()
            return
        path = Path(job["place"], "ez.db")
        is_new = not path.exists()
        self._fs = ezfs.SQLiteFilesystem(str(path), compression=_compression(options.get("zstd"), job))
        self._commit = self._fs.commit
        if options.get("wal"):
            self._fs.execute("PRAGMA journal_mode=WAL").fetchall()
            self.sqlite_file = path
        if options.get("wal") or job["durability"] == "off":
            self._fs.execute(f"PRAGMA synchronous={job['durability']}")
        if is_new:
            self._fs.create_table()

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        opens, found = self._fs.open, []
        for name in names:
            with opens(name, "rb") as file:
                found.append(file.read())
        return found

    def put_each(self, files: stores.Pairs) -> None:
        opens = self._fs.open
        for name, content in files:
            with opens(name, "wb") as file:
                file.write(content)

    def put_together(self, files: stores.Pairs, size: int) -> None:
        if isinstance(self._fs, ezfs.MemFilesystem):
            self.put_each(files)
            return
        # It offers no transaction: without this, each write is one.
        self._fs.commit = lambda: None
        for start in range(0, len(files), size):
            self.put_each(files[start : start + size])
            self._commit()
        self._fs.commit = self._commit

    def names(self) -> list[str]:
        if isinstance(self._fs, ezfs.MemFilesystem):
            return list(self._fs.tree)
        return [name for (name,) in self._fs.execute("SELECT file FROM files").fetchall()]

    def content_bytes(self) -> int | None:
        total = self._fs.execute("SELECT sum(length(content)) FROM files").fetchone()[0]
        return int(total)

    def close(self) -> None:
        if not isinstance(self._fs, ezfs.MemFilesystem):
            self._fs._connection.close()


def _compression(kind: str | None, job: dict[str, Any]) -> Any:
    if kind is None:
        return "none"
    import zstandard

    ezfs.init_compressors()
    if kind == "object":
        return "zstd"
    if kind == "function":
        return ezfs.Transform(zstandard.compress, zstandard.decompress)
    samples = [content for _, content in contents.pairs(job)[:2_000]]
    trained = zstandard.train_dictionary(16 << 10, samples)
    compressor = zstandard.ZstdCompressor(dict_data=trained)
    return ezfs.Transform(compressor.compress, zstandard.ZstdDecompressor(dict_data=trained).decompress)


def opened(job: dict[str, Any], is_read: bool) -> Ezfs:
    """The file system of a job."""
    return Ezfs(job)


if __name__ == "__main__":
    stores.main(opened)
