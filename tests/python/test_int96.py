"""Timestamps of 96 bits in Parquet: the unit that is asked for, as pyarrow reads them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok

import lakerace as lr

#: Microseconds: 0068-09-03, 1969, 1970, 5138-11-16 and the last of 9999.
MICROSECONDS = [-6 * 10**16, -1, 0, 10**17, 253_402_300_799_999_999]


def write(path: Path, values: list[int], data_type: pa.DataType) -> None:
    column = pa.array(values).cast(data_type)
    rows = pa.table({"t": column, "ts": pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), column)})
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True, store_schema=False)


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_any_year_in_the_unit_that_is_asked_for(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "a.parquet"
    write(path, MICROSECONDS, pa.timestamp("us"))
    scan = lr.scan(path, timestamp_unit=unit)
    assert scan.schema.field("t").type == pa.timestamp(unit)
    divisor = {"us": 1, "ms": 1000, "s": 1_000_000}[unit]
    expected = [value // divisor for value in MICROSECONDS]
    read = scan.to_arrow()
    assert read["t"].cast(pa.int64()).to_pylist() == expected
    if unit == "us":
        assert read["t"].equals(pq.read_table(path, coerce_int96_timestamp_unit=unit)["t"])
        assert read["ts"].combine_chunks().flatten().cast(pa.int64()).to_pylist() == expected
    target = tmp_path / "b.parquet"
    lr.copy(path, target, timestamp_unit=unit)
    assert pq.read_table(target)["t"].cast(pa.timestamp(unit)).cast(pa.int64()).to_pylist() == expected


def test_what_nanoseconds_do_not_reach_is_an_error_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(path, MICROSECONDS, pa.timestamp("us"))
    for unit in (None, "auto", "ns"):
        with pytest.raises(lr.UnsupportedError, match='timestamp_unit="us"'):
            lr.scan(path, timestamp_unit=unit).to_arrow()


def test_digits_below_the_unit_are_rounded_down(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(path, [-1, 0, 1, 1_234_567_891], pa.timestamp("ns"))
    read = {
        unit: lr.scan(path, timestamp_unit=unit).to_arrow()["t"].cast(pa.int64()).to_pylist()
        for unit in ("ns", "us", "s")
    }
    assert read["ns"] == [-1, 0, 1, 1_234_567_891]
    assert read["us"] == [-1, 0, 0, 1_234_567]
    assert read["s"] == [-1, 0, 0, 1]


@pytest.mark.parametrize("count", [3, 300])
def test_a_unit_that_changes_nothing_is_told_for_chosen_columns_too(tmp_path: Path, count: int) -> None:
    path, wide = tmp_path / "a.parquet", {f"c{at}": [at] for at in range(count)}
    pq.write_table(pa.table({**wide, "t": pa.array([0], pa.timestamp("us"))}), path)

    def told(columns: str) -> list[str]:
        return ok("scan", path, "--columns", columns, "--timestamp-unit", "ms", "--checksum", "--json").json["warnings"]

    # Of a wide file, only the columns that are read are known.
    assert ["has no effect" in warning for warning in told("c1,t")] == ([True] if count < 100 else [])
    # The file has such timestamps in columns that are not read.
    pq.write_table(
        pa.table({**wide, "t": pa.array([0], pa.timestamp("us"))}), path, use_deprecated_int96_timestamps=True
    )
    assert told("c1") == []
    assert told("t") == []
