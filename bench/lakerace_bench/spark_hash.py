"""Spark's `xxhash64` of rows, by numpy: what the rows of a table that Spark reads must add up to, without any Spark.

Spark hashes the columns of a row one after the other: the hash of one is the seed of the next, and the first seed is 42. Each of
them is XXH64 of the value's bytes: 4 for INT and DATE, 8 for BIGINT, DOUBLE and TIMESTAMP, those of a text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]

_SEED = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_STRIPE_BYTES = 32
_BATCH_ROWS = 250_000


def xor_of(path: Path) -> int:
    """The XOR of the hashes of all rows of a Parquet file: signed, as Spark's `bit_xor` gives it."""
    total = np.uint64(0)
    for batch in pq.ParquetFile(path).iter_batches(_BATCH_ROWS):
        total ^= np.bitwise_xor.reduce(rows_of(batch))
    return int(total.astype(np.int64))


def rows_of(batch: pa.RecordBatch) -> U64:
    """The hash of each row."""
    hashes = np.full(batch.num_rows, _SEED, dtype=np.uint64)
    for column in batch.columns:
        if pa.types.is_string(column.type):
            hashes = _texts(column, hashes)
        else:
            width = column.type.bit_width // 8
            bits = np.frombuffer(column.buffers()[1], dtype=f"<u{width}")
            hashes = _fixed(bits[column.offset : column.offset + len(column)].astype(np.uint64), width, hashes)
    return hashes


def _texts(column: Any, seeds: U64) -> U64:
    offsets = np.frombuffer(column.buffers()[1], dtype="<i4")[column.offset : column.offset + len(column) + 1]
    # Words are loaded whole, also those that only begin in the last text.
    data = np.concatenate([np.frombuffer(column.buffers()[2], dtype=np.uint8), np.zeros(8, dtype=np.uint8)])
    return texts_hash(data, offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64), seeds)


def _fixed(bits: U64, width: int, seeds: U64) -> U64:
    hashes: U64 = seeds + _P5 + np.uint64(width)
    return _avalanche(_eight(hashes, bits) if width == 8 else _four(hashes, bits))


def texts_hash(data: U8, begins: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], seeds: U64) -> U64:
    """XXH64 of each text of `data`, which has 8 more bytes after the last one."""
    at, ends = begins.copy(), begins + lengths
    hashes: U64 = seeds + _P5
    long = np.flatnonzero(lengths >= _STRIPE_BYTES)
    if len(long):
        hashes[long] = _stripes(data, at, ends, seeds, long)
    hashes += lengths.astype(np.uint64)
    while len(rows := np.flatnonzero(ends - at >= 8)):
        hashes[rows] = _eight(hashes[rows], _load(data, at[rows], 8))
        at[rows] += 8
    rows = np.flatnonzero(ends - at >= 4)
    hashes[rows] = _four(hashes[rows], _load(data, at[rows], 4))
    at[rows] += 4
    while len(rows := np.flatnonzero(ends > at)):
        mixed = hashes[rows] ^ (data[at[rows]].astype(np.uint64) * _P5)
        hashes[rows] = _rotated(mixed, 11) * _P1
        at[rows] += 1
    return _avalanche(hashes)


def _stripes(data: U8, at: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], seeds: U64, rows: Any) -> U64:
    """The four lanes over all whole stripes of `rows`, whose places in `at` go on; then merged."""
    seed = seeds[rows]
    lanes = [seed + _P1 + _P2, seed + _P2, seed.copy(), seed - _P1]
    while len(some := np.flatnonzero(ends[rows] - at[rows] >= _STRIPE_BYTES)):
        for lane in range(4):
            lanes[lane][some] = _round(lanes[lane][some], _load(data, at[rows[some]] + 8 * lane, 8))
        at[rows[some]] += _STRIPE_BYTES
    merged = sum((_rotated(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)), np.uint64(0))
    for lane in lanes:
        merged = (merged ^ _round(np.zeros_like(lane), lane)) * _P1 + _P4
    found: U64 = merged
    return found


def _load(data: U8, at: npt.NDArray[np.int64], width: int) -> U64:
    parts = data[at[:, None] + np.arange(width)]
    return np.ascontiguousarray(parts).view(f"<u{width}").ravel().astype(np.uint64)


def _round(lane: U64, word: U64) -> U64:
    found: U64 = _rotated(lane + word * _P2, 31) * _P1
    return found


def _eight(hashes: U64, word: U64) -> U64:
    found: U64 = _rotated(hashes ^ _round(np.zeros_like(word), word), 27) * _P1 + _P4
    return found


def _four(hashes: U64, word: U64) -> U64:
    found: U64 = _rotated(hashes ^ (word * _P1), 23) * _P2 + _P3
    return found


def _rotated(values: U64, bits: int) -> U64:
    found: U64 = (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))
    return found


def _avalanche(hashes: U64) -> U64:
    hashes = hashes ^ (hashes >> np.uint64(33))
    hashes = hashes * _P2
    hashes = hashes ^ (hashes >> np.uint64(29))
    hashes = hashes * _P3
    found: U64 = hashes ^ (hashes >> np.uint64(32))
    return found
