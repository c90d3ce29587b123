"""Nulls among numbers that no codec makes smaller: their pages are literals, which are read in place. pyarrow is the judge."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lakerace as lr

ROWS = 150_000


def _numbers(share: float) -> pa.Table:
    """Random numbers of each width, of which this share is null, in runs and one by one."""
    random = np.random.default_rng(11)
    mask = random.random(ROWS) < share
    mask[1_000:9_000] = True
    mask[20_000:60_000] = False
    bits = random.integers(-(2**63), 2**63 - 1, ROWS, dtype=np.int64)
    columns = {
        "i32": pa.array(bits.astype(np.int32), mask=mask),
        "u32": pa.array(bits.astype(np.uint32), mask=mask),
        "i16": pa.array(bits.astype(np.int16), mask=mask),
        "i64": pa.array(bits, mask=mask),
        "f64": pa.array(random.random(ROWS), mask=mask),
        "f32": pa.array(random.random(ROWS).astype(np.float32), mask=mask),
        "at": pa.array(bits, pa.timestamp("us"), mask=mask),
        "d9": pa.array([Decimal(int(b % 10**9)).scaleb(-2) for b in bits], pa.decimal128(9, 2), mask=mask),
        "d38": pa.array([Decimal(int(b)) for b in bits], pa.decimal128(38, 0), mask=mask),
        "uuid": pa.array([random.bytes(16) for _ in range(ROWS)], pa.binary(16), mask=mask),
        "valid": pa.array(bits),
    }
    return pa.table(columns)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["snappy", "lz4", "none", "zstd"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.97])
def test_scattered_nulls(tmp_path: Path, share: float, codec: str, version: str) -> None:
    table = _numbers(share)
    file = tmp_path / "numbers.parquet"
    pq.write_table(
        table, file, compression=codec, data_page_version=version, use_dictionary=False, data_page_size=300_000
    )
    assert pa.table(lr.scan(file)) == table
    # The rows of conditions and limits are read from within pages.
    read = pa.table(lr.scan(file, where="valid > 0"))
    assert read == table.filter(pc.greater(table["valid"], 0))
    read = pa.table(lr.scan(file, where="i64 is null", columns=["valid", "d38"]))
    assert read == table.filter(pc.is_null(table["i64"])).select(["valid", "d38"])
