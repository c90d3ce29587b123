"""Tables of many columns, for reads of every second one: the same rows as ORC and as Parquet, made here from a seed.

ORC by pyarrow, the whole table in one stripe: a single read can then cover all of it, which is what a large minimal seek
size is for. Nothing is sorted; the bytes of the narrow table do not compress, so its size is that of its values.

| table | columns, two of a kind side by side | ORC, snappy |
| --- | --- | --- |
| narrow, 128 columns | random int64, double in 0 .. 1, 8 to 12 letters and digits, random int64 | 72 MB |
| wide, 400 columns | int32 in 0 .. 7, one of 64 words | 20 MB |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from lakerace_bench import kept
from lakerace_bench.data import ALPHABET, below, offsets_of, strings

#: Bump when the rows or the files change, so that cached ones are made again.
RECIPE = 1
CODEC = "snappy"
_STRIPE_BYTES = 256 * 1024 * 1024
_WARM_UP_ROWS = 8_192
_WORDS = 64
#: Columns up to which a table is of large values.
_NARROW = 128


@dataclass(frozen=True)
class Wide:
    """How large such a table is."""

    rows: int
    columns: int
    seed: int = 65_536

    @property
    def about(self) -> str:
        return f"{self.rows:,} rows x {self.columns} columns"

    @property
    def alternate(self) -> tuple[str, ...]:
        """Every second column."""
        return tuple(f"c{number}" for number in range(0, self.columns, 2))

    def files(self, folder: Path) -> dict[str, Path]:
        """The table by format, made if need be; `orc-warm-up` is its first rows, for readers that start slowly."""
        rows = cache(lambda: table(self))
        stem = f"wide-{self.rows}x{self.columns}-v{RECIPE}-{self.seed}"
        files = {
            "orc": folder / f"{stem}.orc",
            "orc-warm-up": folder / f"{stem}-warm-up.orc",
            "parquet": folder / f"{stem}.parquet",
        }
        for kind, path in files.items():
            kept.ensure(path, asdict(self) | {"file": kind}, partial(_write, rows, kind))
        return files


def table(shape: Wide) -> pa.Table:
    """The rows."""
    bits = np.random.PCG64(shape.seed)
    make = _large_value if shape.columns <= _NARROW else _small_value
    return pa.table({f"c{number}": make(bits, shape.rows, number // 2) for number in range(shape.columns)})


def _large_value(bits: np.random.PCG64, rows: int, kind: int) -> pa.Array:
    if kind % 4 == 1:
        return pa.array((bits.random_raw(rows) >> np.uint64(11)).astype(np.float64) / 2**53)
    if kind % 4 != 2:
        return pa.array(bits.random_raw(rows).view(np.int64))
    offsets = offsets_of(8 + below(bits, rows, 5).astype(np.int64))
    total = int(offsets[-1])
    return strings(offsets, ALPHABET[bits.random_raw((total + 7) // 8).view(np.uint8)[:total] & 63])


def _small_value(bits: np.random.PCG64, rows: int, kind: int) -> pa.Array:
    if kind % 2 == 0:
        return pa.array(below(bits, rows, 8).astype(np.int32))
    words = pa.array([f"word-{number:02d}" for number in range(_WORDS)])
    picks = pa.array(below(bits, rows, _WORDS).astype(np.int32))
    return pa.DictionaryArray.from_arrays(picks, words).cast(pa.string())


def _write(make: Callable[[], pa.Table], kind: str, path: Path) -> str:
    rows = make()
    small = len(rows.columns) > _NARROW
    if kind == "parquet":
        # A dictionary of values that never come twice would only make the file larger.
        pq.write_table(rows, path, compression=CODEC, use_dictionary=small)
    else:
        kept_rows = rows.slice(0, _WARM_UP_ROWS) if kind == "orc-warm-up" else rows
        threshold = 0.8 if small else 0.0
        orc.write_table(
            kept_rows, path, compression=CODEC, stripe_size=_STRIPE_BYTES, dictionary_key_size_threshold=threshold
        )
    return f"pyarrow {pa.__version__}"
