"""What `load` works on: a table of 50 columns, as CSV and as Parquet, made from a seed by a neutral writer (pyarrow).

| columns              | type                 | values                                                            |
| -------------------- | -------------------- | ----------------------------------------------------------------- |
| `id`                 | int64                | 0, 1, 2, ...                                                      |
| `n01` ... `n16`      | int64                | uniform below 100, 2**20, 2**40 and in all 63 bits, in turn       |
| `x01` ... `x13`      | double               | cents below 100,000, and fractions with all 53 bits, in turn      |
| `t01` ... `t14`      | string               | 12 to 20 letters and digits, and words of 24 to 58 bytes, in turn |
| `b01`, `b02`         | bool                 |                                                                   |
| `d01`, `d02`         | date32               | 2,557 days from 2019-01-01                                        |
| `s01`, `s02`         | timestamp[us, UTC]   | whole milliseconds of these days                                  |

A twentieth of `n16`, `x13` and `t14` is null. No text is empty, and no time has microseconds: all systems of the bench can
hold all values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from lakerace_bench import kept
from lakerace_bench.data import DAYS, FIRST_DAY, U64, below, comment_pool, comments, names

#: Bump when the rows change, so that cached files of older rows are made again.
RECIPE = 1
_CHUNK_ROWS = 50_000
_MILLISECONDS_PER_DAY = 86_400_000
_NULLS = ("n16", "x13", "t14")
_NULL_EVERY = 20
#: Of whole numbers: below this, in turn.
_LIMITS = (100, 1 << 20, 1 << 40, (1 << 63) - 1)

_COLUMNS = (
    (("id",), pa.int64()),
    (tuple(f"n{at:02}" for at in range(1, 17)), pa.int64()),
    (tuple(f"x{at:02}" for at in range(1, 14)), pa.float64()),
    (tuple(f"t{at:02}" for at in range(1, 15)), pa.string()),
    (("b01", "b02"), pa.bool_()),
    (("d01", "d02"), pa.date32()),
    (("s01", "s02"), pa.timestamp("us", "UTC")),
)
SCHEMA = pa.schema([(name, kind) for group, kind in _COLUMNS for name in group])


@dataclass(frozen=True)
class Loads:
    """The number of rows, and of rows in each write; in addition, all rows in one write."""

    rows: int
    batches: tuple[int, ...] = (10_000, 100_000)
    seed: int = 20_210_301

    @property
    def about(self) -> str:
        return f"{self.rows:,} rows x {len(SCHEMA)} columns"

    @property
    def tenth(self) -> Loads:
        """The same with a tenth of the rows."""
        return replace(self, rows=max(1, self.rows // 10))

    def files(self, folder: Path) -> dict[str, Path]:
        """The same rows as `parquet` and as `csv`, made if need be."""
        shape = {name: value for name, value in asdict(self).items() if name != "batches"}
        path = folder / f"load-{self.rows}x{len(SCHEMA)}-v{RECIPE}-{self.seed}.parquet"
        parquet = kept.ensure(path, shape, self._write_parquet)
        text = kept.ensure(path.with_suffix(".csv"), shape, lambda partial: _write_csv(parquet, partial))
        return {"parquet": parquet, "csv": text}

    def _write_parquet(self, path: Path) -> str:
        with pq.ParquetWriter(path, SCHEMA, compression="snappy") as writer:
            for batch in self._batches():
                writer.write_batch(batch)
        return f"pyarrow {pa.__version__}"

    def _batches(self) -> Iterator[pa.RecordBatch]:
        bits = np.random.PCG64(self.seed)
        pool, starts = comment_pool(bits)
        for first in range(0, self.rows, _CHUNK_ROWS):
            rows = min(_CHUNK_ROWS, self.rows - first)
            columns = [pa.array(np.arange(first, first + rows, dtype=np.int64))]
            for at, field in enumerate(list(SCHEMA)[1:]):
                columns.append(_nulls(bits, field.name, _values(bits, field.type, at, rows, (pool, starts))))
            yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _values(
    bits: np.random.PCG64, kind: pa.DataType, at: int, rows: int, texts: tuple[npt.NDArray[np.uint8], U64]
) -> pa.Array:
    if pa.types.is_int64(kind):
        return pa.array(below(bits, rows, _LIMITS[at % len(_LIMITS)]).astype(np.int64))
    if pa.types.is_float64(kind):
        if at % 2 == 0:
            return pa.array(below(bits, rows, 10_000_000).astype(np.float64) / 100.0)
        return pa.array((bits.random_raw(rows) >> np.uint64(11)).astype(np.float64) / float(1 << 53))
    if pa.types.is_string(kind):
        return names(bits, rows) if at % 2 == 0 else comments(bits, texts[0], texts[1], rows)
    if pa.types.is_boolean(kind):
        return pa.array(below(bits, rows, 2).astype(np.bool_))
    days = FIRST_DAY + below(bits, rows, DAYS).astype(np.int64)
    if pa.types.is_date32(kind):
        return pa.array(days.astype(np.int32)).view(pa.date32())
    milliseconds = days * _MILLISECONDS_PER_DAY + below(bits, rows, _MILLISECONDS_PER_DAY).astype(np.int64)
    return pa.array(milliseconds * 1000).view(pa.timestamp("us", "UTC"))


def _nulls(bits: np.random.PCG64, name: str, values: pa.Array) -> pa.Array:
    if name not in _NULLS:
        return values
    absent = pa.array(below(bits, len(values), _NULL_EVERY) == 0)
    return pc.if_else(absent, pa.scalar(None, values.type), values)


def _write_csv(parquet: Path, path: Path) -> str:
    """A line of names, then a line a row; texts in quotes, null as nothing."""
    with csv.CSVWriter(path, SCHEMA) as writer:
        for batch in pq.ParquetFile(parquet).iter_batches(_CHUNK_ROWS):
            writer.write_batch(batch)
    return f"pyarrow {pa.__version__}"
