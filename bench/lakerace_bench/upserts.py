"""What `upsert` works on: a base table, and tables of rows to be inserted or replaced by key, made here from a seed.

Half of each upsert's keys are in the table already, wherever the rows came from: drawn evenly from all keys so far.

| column     | type    | values                                                              |
| ---------- | ------- | ------------------------------------------------------------------- |
| `id`       | int64   | the key: unique in each file, random over 0 .. 2**62, in no order   |
| `revision` | int32   | 0 in the base, then the number of the upsert                        |
| `account`  | int64   | 0 .. 2**40                                                          |
| `quantity` | int32   | 1 .. 50                                                             |
| `price`    | double  | cents, 0.00 .. 99999.99                                             |
| `day`      | date32  | 2,557 days from 2019-01-01                                          |
| `name`     | string  | 12 .. 20 letters and digits                                         |
| `comment`  | string  | 24 .. 58 bytes of words                                             |

Keys are the numbers 0, 1, 2, … after a permutation of 0 .. 2**62, so that they are random and yet distinct for any
size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lakerace_bench import kept
from lakerace_bench.data import DAYS, FIRST_DAY, KEY_RANGE, U64, below, comment_pool, comments, names

#: Bump when the rows change, so that cached files of older rows are made again.
RECIPE = 1
KEY = "id"
CODEC = "snappy"
_KEY_BITS = 62
_CHUNK_ROWS = 500_000

SCHEMA = pa.schema(
    [
        (KEY, pa.int64()),
        ("revision", pa.int32()),
        ("account", pa.int64()),
        ("quantity", pa.int32()),
        ("price", pa.float64()),
        ("day", pa.date32()),
        ("name", pa.string()),
        ("comment", pa.string()),
    ]
)


@dataclass(frozen=True)
class Upserts:
    """How large the base is, how many upserts follow, and how large each of them is."""

    base_rows: int
    rows: int
    times: int
    #: How many others read a table back after each upsert.
    looks: int = 3
    seed: int = 20_190_701

    @property
    def about(self) -> str:
        return f"{self.base_rows:,} rows x {len(SCHEMA)} columns, then {self.times} upserts of {self.rows:,} rows, half of them new"

    def files(self, folder: Path) -> dict[str, Path]:
        """The base as `0` and each upsert by its number, made if need be."""
        found = {}
        for number in range(self.times + 1):
            path = (
                folder
                / f"upsert-{self.base_rows}{f'-{number}x{self.rows}' if number else ''}-v{RECIPE}-{self.seed}.parquet"
            )
            # The base does not depend on the changes after it.
            shape = {"base_rows": self.base_rows, "seed": self.seed, "number": number}
            shape |= {"rows": self.rows} if number else {}
            found[str(number)] = kept.ensure(path, shape, partial(self._write, number))
        return found

    def _write(self, number: int, path: Path) -> str:
        with pq.ParquetWriter(path, SCHEMA, compression=CODEC) as writer:
            for batch in self.batches(number):
                writer.write_batch(batch)
        return f"pyarrow {pa.__version__}"

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of the base (0) or of an upsert, in the order of the file."""
        bits = np.random.PCG64([self.seed, self.base_rows, self.rows if number else 0, number])
        pool, starts = comment_pool(bits)
        ordinals = self._ordinals(number, bits)
        for at in range(0, len(ordinals), _CHUNK_ROWS):
            ids = permuted(ordinals[at : at + _CHUNK_ROWS], _KEY_BITS, 0).astype(np.int64)
            rows = len(ids)
            columns = [
                pa.array(ids),
                pa.array(np.full(rows, number, dtype=np.int32)),
                pa.array(below(bits, rows, KEY_RANGE).astype(np.int64)),
                pa.array((1 + below(bits, rows, 50)).astype(np.int32)),
                pa.array(below(bits, rows, 10_000_000).astype(np.float64) / 100.0),
                pa.array((FIRST_DAY + below(bits, rows, DAYS)).astype(np.int32)).view(pa.date32()),
                names(bits, rows),
                comments(bits, pool, starts, rows),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _ordinals(self, number: int, bits: np.random.PCG64) -> U64:
        """Which keys a file has, by their numbers before the permutation."""
        if number == 0:
            return np.arange(self.base_rows, dtype=np.uint64)
        new = self.rows - self.rows // 2
        before = self.base_rows + (number - 1) * new
        fresh = np.arange(before, before + new, dtype=np.uint64)
        known = drawn(before, self.rows // 2, int(bits.random_raw()))
        both = np.concatenate([fresh, known])
        return both[np.argsort(bits.random_raw(len(both)), kind="stable")]


def drawn(among: int, count: int, seed: int) -> U64:
    """`count` different numbers below `among`, in no order."""
    width = max(among - 1, 1).bit_length()
    found: list[U64] = []
    missing, at = count, 0
    while missing:
        chunk = np.arange(at, min(at + 2 * missing + 16, 1 << width), dtype=np.uint64)
        if len(chunk) == 0:
            raise ValueError(f"there are no {count} different numbers below {among}")
        at += len(chunk)
        numbers = permuted(chunk, width, seed)
        fit = numbers[numbers < among][:missing]
        found.append(fit)
        missing -= len(fit)
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)


def permuted(numbers: U64, width: int, seed: int) -> U64:
    """A permutation of 0 .. 2**width, applied to each of `numbers`: each step of it can be undone."""
    mask = np.uint64((1 << width) - 1)
    half = np.uint64(max(width // 2, 1))
    found: npt.NDArray[np.uint64] = (numbers + np.uint64(seed & int(mask))) & mask
    for odd in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F):
        found ^= found >> half
        found = (found * np.uint64(odd)) & mask
    found ^= found >> half
    return found
