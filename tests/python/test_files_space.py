"""The space that small files take in SQLite: a table of `sqlite3` is the oracle of what pages of its kind hold."""

from __future__ import annotations

import random
import sqlite3
from typing import TYPE_CHECKING

import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: Bytes of a name, of a file's properties and of their places in pages.
ROW_BYTES = 64
#: Bytes that a store has without files.
EMPTY_BYTES = 160 << 10
PAGE_BYTES = 8192
#: Sizes of contents, and the bytes of the store for each byte of rows at most. A page of 8 KiB holds a whole number of contents: three of
#: 2,048 bytes, two of 3,000, one of 4,096 or 6,000.
BOUNDS = {
    64: 1.1,
    128: 1.1,
    256: 1.2,
    512: 1.2,
    1_000: 1.2,
    1_500: 1.2,
    2_000: 1.1,
    2_048: 1.4,
    2_500: 1.2,
    3_000: 1.4,
    4_000: 1.1,
    4_096: 2.1,
    6_000: 1.4,
    8_000: 1.1,
    12_000: 1.1,
    20_000: 1.1,
    50_000: 1.1,
    300_000: 1.1,
    2_000_000: 1.1,
}


def contents(size: int, chance: random.Random, *, compresses: bool) -> list[tuple[str, bytes]]:
    """Files of together 4 MB, at least ten of them."""
    words = [b"alpha ", b"beta ", b"gamma "]

    def content() -> bytes:
        return b"".join(chance.choices(words, k=size // 5 + 1))[:size] if compresses else chance.randbytes(size)

    return [(f"f{number:06}", content()) for number in range(max(10, min(5_000, 4_000_000 // size)))]


def bound(files: list[tuple[str, bytes]], size: int) -> float:
    return BOUNDS[size] * len(files) * (size + ROW_BYTES) + EMPTY_BYTES


@pytest.mark.parametrize("compresses", [False, True])
@pytest.mark.parametrize("size", BOUNDS)
def test_files_take_little_more_than_their_contents(tmp_path: Path, size: int, compresses: bool) -> None:
    files = contents(size, random.Random(size), compresses=compresses)
    one_by_one = lr.files.Store(tmp_path / "one.db", durability="off")
    for name, content in files:
        one_by_one.put(name, content)
    together = lr.files.Store(tmp_path / "many.db", durability="off")
    together.put_many(files)
    for store, path in ((one_by_one, tmp_path / "one.db"), (together, tmp_path / "many.db")):
        store.close()
        assert path.stat().st_size <= bound(files, size)
        with lr.files.Store(path) as again:
            again.compact()
            assert again.get_many([name for name, _ in files]) == dict(files)
            assert not again.verify().damage
        assert path.stat().st_size <= bound(files, size)


@pytest.mark.parametrize("size", BOUNDS)
def test_contents_take_no_more_pages_than_in_a_table_of_sqlite(tmp_path: Path, size: int) -> None:
    """The table has the pages and the columns of a store, and row numbers."""
    files = contents(size, random.Random(size), compresses=False)
    with lr.files.Store(tmp_path / "pack.db", durability="off") as store:
        store.put_many(files)
    table = sqlite3.connect(tmp_path / "table.db")
    table.execute(f"PRAGMA page_size={PAGE_BYTES}")
    table.execute("CREATE TABLE files (name TEXT PRIMARY KEY, size, mtime_ms, checksum, check_sum, content BLOB)")
    rows = [(name, size, 1_700_000_000_000, 1 << 62, 1 << 30, content) for name, content in files]
    table.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", rows)
    table.commit()
    table.close()
    stored, plain = ((tmp_path / name).stat().st_size for name in ("pack.db", "table.db"))
    # In rows of a b-tree without row numbers, SQLite leaves a little more space.
    assert stored <= plain * 1.15 + EMPTY_BYTES


def test_compacting_moves_contents_out_of_long_rows(tmp_path: Path) -> None:
    """Earlier versions wrote contents up to 32 KiB into rows of `files`."""
    path = tmp_path / "pack.db"
    files = contents(2_500, random.Random(1), compresses=False)
    with lr.files.Store(path) as store:
        store.put_many(files)
        store.put("short", b"x" * 100)
        stats = [store.stat(name) for name, _ in files]
    table = sqlite3.connect(path)
    (chunks,) = table.execute("SELECT count(*) FROM chunks").fetchone()
    assert chunks == len(files)
    assert table.execute("SELECT name FROM files WHERE content IS NOT NULL").fetchall() == [("short",)]
    table.close()
    with lr.files.Store(path) as store:
        store.compact()
        assert [store.stat(name) for name, _ in files] == stats
