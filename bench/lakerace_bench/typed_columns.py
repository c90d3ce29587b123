"""Parquet files of one column: a type in an encoding, with a codec, some nulls and an order of the values.

The axes are not multiplied out. Each type is written in each of its encodings with snappy, without nulls and in random order; of the columns in
`VARIED`, codec, nulls and order then change one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakerace_bench import kept
from lakerace_bench.data import ALPHABET, below, offsets_of, strings

#: Bump when the values or the files change, so that cached ones are made again.
RECIPE = 1
ROWS = 10_000_000
NAME = "value"

#: Different values of a dictionary by the name of the encoding.
_DICTIONARY_VALUES = {"dictionary-2": 2, "dictionary-100": 100, "dictionary-100k": 100_000}
#: Names of Parquet's own encodings.
_PARQUET_NAMES = {
    "plain": "PLAIN",
    "rle": "RLE",
    "delta": "DELTA_BINARY_PACKED",
    "delta-length": "DELTA_LENGTH_BYTE_ARRAY",
    "delta-bytes": "DELTA_BYTE_ARRAY",
    "split": "BYTE_STREAM_SPLIT",
}
_DICTIONARIES = tuple(_DICTIONARY_VALUES)
#: The encodings of each type.
_ENCODINGS: dict[str, tuple[str, ...]] = {
    "bool": ("plain", "rle"),
    "int16": ("plain", "dictionary-100"),
    "int32": ("plain", *_DICTIONARIES, "delta", "split"),
    "int64": ("plain", *_DICTIONARIES, "delta", "split"),
    "uint32": ("plain", "dictionary-100"),
    "float32": ("plain", "dictionary-100", "split"),
    "float64": ("plain", *_DICTIONARIES, "split"),
    "decimal-bytes": ("plain", "dictionary-100", "dictionary-100k"),
    "decimal-int64": ("plain", "dictionary-100", "delta"),
    "decimal-wide": ("plain", "dictionary-100"),
    "date": ("plain", "dictionary-100"),
    "time": ("plain", "dictionary-100k"),
    "timestamp": ("plain", "dictionary-100k", "delta"),
    "timestamp-int96": ("plain", "dictionary-100k"),
    "text": ("plain", *_DICTIONARIES, "delta-length", "delta-bytes"),
    "text-long": ("plain", "dictionary-100"),
    "binary": ("plain", "dictionary-100k"),
    "binary-16": ("plain", "dictionary-100k"),
}
#: Columns of which codec, nulls and order are varied.
VARIED = (
    ("int64", "plain"),
    ("int64", "dictionary-100"),
    ("float64", "plain"),
    ("float64", "dictionary-100k"),
    ("decimal-bytes", "dictionary-100"),
    ("text", "plain"),
    ("text", "dictionary-100"),
)
_CODECS = ("none", "zstd", "lz4")
_NULL_PERCENTS = (1, 50)


@dataclass(frozen=True)
class TypedColumn:
    """One of the files; `rows` values."""

    type: str
    encoding: str
    codec: str = "snappy"
    null_percent: int = 0
    sorted: bool = False
    rows: int = ROWS
    seed: int = 20_261_129

    @property
    def name(self) -> str:
        """Such as `int64-dictionary-100` or `text-plain-nulls50`: what differs from snappy, no nulls and random order is named."""
        parts = [self.type, self.encoding]
        parts += [self.codec] if self.codec != "snappy" else []
        parts += [f"nulls{self.null_percent}"] if self.null_percent else []
        parts += ["sorted"] if self.sorted else []
        return "-".join(parts)

    @property
    def about(self) -> str:
        return f"one column of {self.rows:,} values"

    def files(self, folder: Path) -> dict[str, Path]:
        """Its file, made if need be."""
        path = folder / f"typed-{self.name}-{self.rows}-v{RECIPE}-{self.seed}.parquet"
        return {"parquet": kept.ensure(path, asdict(self), partial(_write, self))}

    def write_table(self, table: pa.Table, path: Path, **options: Any) -> None:
        """Writes a table whose column `value` gets the encoding and codec; `options` are further ones of pyarrow."""
        dictionary = self.encoding in _DICTIONARY_VALUES
        pq.write_table(
            table,
            path,
            compression=self.codec,
            use_dictionary=[NAME] if dictionary else False,
            # The largest dictionary of texts needs more than the default.
            dictionary_pagesize_limit=16 << 20,
            column_encoding=None if dictionary else {NAME: _PARQUET_NAMES[self.encoding]},
            store_decimal_as_integer=self.type == "decimal-int64",
            use_deprecated_int96_timestamps=self.type == "timestamp-int96",
            **options,
        )


def columns(rows: int = ROWS) -> list[TypedColumn]:
    """All files: each type in each of its encodings, then the variations."""
    plain = [TypedColumn(kind, encoding, rows=rows) for kind, encodings in _ENCODINGS.items() for encoding in encodings]
    varied = [TypedColumn(kind, encoding, rows=rows) for kind, encoding in VARIED]
    return [
        *plain,
        *(replace(column, codec=codec) for column in varied for codec in _CODECS),
        *(replace(column, null_percent=percent) for column in varied for percent in _NULL_PERCENTS),
        *(replace(column, sorted=True) for column in varied),
    ]


def _write(column: TypedColumn, path: Path) -> str:
    column.write_table(pa.table({NAME: _values(column)}), path)
    return f"pyarrow {pa.__version__}"


def _values(column: TypedColumn) -> pa.Array:
    bits = np.random.PCG64(column.seed)
    make = _MAKERS[column.type]
    if column.encoding in _DICTIONARY_VALUES:
        pool = make(bits, _DICTIONARY_VALUES[column.encoding])
        picks = below(bits, column.rows, len(pool)).astype(np.int64)
        values = pool.take(pa.array(np.sort(picks) if column.sorted else picks))
    else:
        values = make(bits, column.rows)
        if column.sorted:
            values = values.take(pc.sort_indices(values))
    if column.null_percent:
        absent = below(bits, column.rows, 100) < column.null_percent
        values = pc.if_else(pa.array(absent), pa.scalar(None, values.type), values)
    return values


def _whole(kind: type[np.signedinteger] | type[np.unsignedinteger]) -> Callable[..., pa.Array]:
    """Whole numbers of all magnitudes."""
    return lambda bits, count: pa.array(bits.random_raw(count).astype(kind))


def _decimal(precision: int) -> Callable[..., pa.Array]:
    def make(bits: np.random.PCG64, count: int) -> pa.Array:
        return (
            pa.array(below(bits, count, 10**12).astype(np.int64))
            .cast(pa.decimal128(20, 0))
            .cast(pa.decimal128(precision + 2, 2))
        )

    return make


def _moments(kind: pa.DataType, most: int) -> Callable[..., pa.Array]:
    width = np.int32 if kind.bit_width == 32 else np.int64
    return lambda bits, count: pa.array(below(bits, count, most).astype(width)).view(kind)


def _text(shortest: int, longest: int) -> Callable[..., pa.Array]:
    def make(bits: np.random.PCG64, count: int) -> pa.Array:
        lengths = shortest + below(bits, count, longest - shortest + 1).astype(np.int64)
        offsets = offsets_of(lengths)
        total = int(offsets[-1])
        letters: npt.NDArray[np.uint8] = ALPHABET[bits.random_raw((total + 7) // 8).view(np.uint8)[:total] & 63]
        return strings(offsets, letters)

    return make


def _sixteen_bytes(bits: np.random.PCG64, count: int) -> pa.Array:
    data = pa.py_buffer(bits.random_raw(count * 2))
    return pa.Array.from_buffers(pa.binary(16), count, [None, data])


_MAKERS: dict[str, Callable[[np.random.PCG64, int], pa.Array]] = {
    "bool": lambda bits, count: pa.array(below(bits, count, 2).astype(bool)),
    "int16": _whole(np.int16),
    "int32": _whole(np.int32),
    "int64": _whole(np.int64),
    "uint32": _whole(np.uint32),
    "float32": lambda bits, count: pa.array((below(bits, count, 10**6) / 100).astype(np.float32)),
    "float64": lambda bits, count: pa.array(below(bits, count, 10**9) / 100),
    "decimal-bytes": _decimal(13),
    "decimal-int64": _decimal(13),
    "decimal-wide": _decimal(36),
    "date": _moments(pa.date32(), 20_000),
    "time": _moments(pa.time64("us"), 86_400_000_000),
    "timestamp": _moments(pa.timestamp("us"), 1_700_000_000_000_000),
    "timestamp-int96": _moments(pa.timestamp("us"), 1_700_000_000_000_000),
    "text": _text(8, 24),
    "text-long": _text(40, 80),
    "binary": lambda bits, count: _text(8, 24)(bits, count).cast(pa.binary()),
    "binary-16": _sixteen_bytes,
}
