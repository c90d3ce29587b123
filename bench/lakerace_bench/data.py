"""The table that the benches work on: made here, from a seed, by a neutral writer (pyarrow).

Eight columns of the types that business tables are made of; nothing in it is sorted by what the benches filter on, so
no statistics can prune a row group and every contestant has to decode.

| column     | type           | values                                                          |
| ---------- | -------------- | --------------------------------------------------------------- |
| `id`       | int64          | 0, 1, 2, ...                                                    |
| `key`      | int64          | uniform over 0 .. 2**40                                         |
| `price`    | double         | cents, 0.00 .. 99999.99                                         |
| `quantity` | int32          | 1 .. 50                                                         |
| `day`      | date32         | 2,557 days from 2019-01-01                                      |
| `at`       | timestamp[us]  | uniform over the day of `day`                                   |
| `name`     | string         | 12 .. 20 letters and digits                                     |
| `comment`  | string         | 24 .. 58 bytes of words                                         |

Every value comes from the raw output of PCG64 and integer arithmetic, both stable across numpy versions, so the rows
are the same on every machine. The file's bytes depend on the pyarrow version that wrote them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lakerace_bench import kept

U64 = npt.NDArray[np.uint64]

#: Bump when the rows change, so that cached files of older rows are made again.
RECIPE = 1
KEY_RANGE = 2**40
_CHUNK_ROWS = 500_000
FIRST_DAY = 17_897  # 2019-01-01 as days since 1970-01-01
DAYS = 2_557
_MICROSECONDS_PER_DAY = 86_400_000_000
ALPHABET = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", dtype=np.uint8)
_POOL_BYTES = 16 * 1024 * 1024

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("key", pa.int64()),
        ("price", pa.float64()),
        ("quantity", pa.int32()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("name", pa.string()),
        ("comment", pa.string()),
    ]
)


@dataclass(frozen=True)
class Shape:
    """How large a bench table is: `rows` in all, `row_group_rows` in each row group but the last."""

    rows: int
    row_group_rows: int
    seed: int = 20_190_101

    @property
    def file_name(self) -> str:
        return f"table-{self.rows}x8-v{RECIPE}-{self.seed}.parquet"

    @property
    def about(self) -> str:
        return f"{self.rows:,} rows x {len(SCHEMA)} columns"

    def files(self, folder: Path) -> dict[str, Path]:
        """The files of this table, made if need be, by format."""
        return {"parquet": ensure(self, folder)}


#: About 890 MB in 7 row groups.
FULL = Shape(rows=10_000_000, row_group_rows=1_500_000)
#: About 89 MB in 7 row groups: for `--quick`.
QUICK = Shape(rows=1_000_000, row_group_rows=150_000)


#: Names the folder of tables.
VARIABLE = "LAKERACE_BENCH_DATA"


def directory() -> Path:
    """Where bench tables are kept: `LAKERACE_BENCH_DATA`, or `~/.cache/lakerace-bench`."""
    return Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "lakerace-bench").absolute()


def ensure(shape: Shape, folder: Path | None = None) -> Path:
    """Returns the path of the table of `shape`, made if it is missing or does not check."""
    path = (directory() if folder is None else folder) / shape.file_name
    return kept.ensure(path, asdict(shape), lambda partial: write(partial, shape))


def write(path: Path, shape: Shape) -> str:
    """Writes the table of `shape` to `path` (snappy, pyarrow's defaults otherwise); says by what."""
    with pq.ParquetWriter(path, SCHEMA, compression="snappy") as writer:
        for group in row_groups(shape):
            writer.write_table(group, row_group_size=shape.row_group_rows)
    return f"pyarrow {pa.__version__}"


def row_groups(shape: Shape) -> Iterator[pa.Table]:
    """Yields the rows, one row group at a time, so that memory is bounded by one of them."""
    bits = np.random.PCG64(shape.seed)
    pool, starts = comment_pool(bits)
    first = 0
    while first < shape.rows:
        end = min(first + shape.row_group_rows, shape.rows)
        chunks = []
        for at in range(first, end, _CHUNK_ROWS):
            chunks.append(_chunk(bits, pool, starts, at, min(_CHUNK_ROWS, end - at)))
        yield pa.Table.from_batches(chunks, schema=SCHEMA)
        first = end


def _chunk(bits: np.random.PCG64, pool: npt.NDArray[np.uint8], starts: U64, first: int, rows: int) -> pa.RecordBatch:
    day = FIRST_DAY + below(bits, rows, DAYS).astype(np.int64)
    at = day * _MICROSECONDS_PER_DAY + below(bits, rows, _MICROSECONDS_PER_DAY).astype(np.int64)
    key = below(bits, rows, KEY_RANGE).astype(np.int64)
    price = below(bits, rows, 10_000_000).astype(np.float64) / 100.0
    quantity = (1 + below(bits, rows, 50)).astype(np.int32)
    columns: list[pa.Array] = [
        pa.array(np.arange(first, first + rows, dtype=np.int64)),
        pa.array(key),
        pa.array(price),
        pa.array(quantity),
        pa.array(day.astype(np.int32)).view(pa.date32()),
        pa.array(at).view(pa.timestamp("us")),
        names(bits, rows),
        comments(bits, pool, starts, rows),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def names(bits: np.random.PCG64, rows: int) -> pa.Array:
    lengths = 12 + below(bits, rows, 9).astype(np.int64)
    offsets = offsets_of(lengths)
    total = int(offsets[-1])
    random_bytes = bits.random_raw((total + 7) // 8).view(np.uint8)[:total]
    return strings(offsets, ALPHABET[random_bytes & 63])


def comments(bits: np.random.PCG64, pool: npt.NDArray[np.uint8], starts: U64, rows: int) -> pa.Array:
    lengths = 24 + below(bits, rows, 35).astype(np.int64)
    offsets = offsets_of(lengths)
    begin = starts[below(bits, rows, len(starts))].astype(np.int64)
    positions = np.repeat(begin - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
    return strings(offsets, pool[positions])


def comment_pool(bits: np.random.PCG64) -> tuple[npt.NDArray[np.uint8], U64]:
    """A long text of words, and where its words begin; every comment is a slice of it."""
    letters = ALPHABET[:26]
    words = []
    for length in 3 + below(bits, 8_192, 8):
        words.append(letters[below(bits, int(length), 26)].tobytes() + b" ")
    picks = below(bits, _POOL_BYTES // 8, len(words))
    text = b"".join(words[int(pick)] for pick in picks)
    pool = np.frombuffer(text, dtype=np.uint8)
    starts = np.flatnonzero(pool == ord(" ")).astype(np.uint64) + np.uint64(1)
    return pool, starts[starts < len(pool) - 64]


def below(bits: np.random.PCG64, count: int, limit: int) -> U64:
    """Integers in 0 .. limit. The modulo's bias is far below what a bench could notice."""
    return np.asarray(bits.random_raw(count) % np.uint64(limit), dtype=np.uint64)


def offsets_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def strings(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def main() -> None:
    """`python -m lakerace_bench.data [--quick] [--to FILE]`: makes a bench table and prints its path."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="1 million rows instead of 10 million")
    parser.add_argument("--to", type=Path, help="write it here instead of in the cache")
    options = parser.parse_args()
    shape = QUICK if options.quick else FULL
    if options.to is not None:
        write(options.to, shape)
        print(options.to)
    else:
        print(ensure(shape))


if __name__ == "__main__":
    main()
