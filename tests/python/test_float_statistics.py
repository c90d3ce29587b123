"""Statistics of files that we write: other readers see them, and no reader is misled by them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAN = math.nan


def floats() -> pa.Table:
    """Four row groups of 100 rows: ascending, with NaNs between, nothing but NaNs, both zeros with nulls."""
    values: list[float | None] = [i / 4 for i in range(100)]
    values += [NAN if i % 3 == 0 else -float(i) for i in range(100)]
    values += [NAN] * 100
    values += [None if i % 5 == 0 else (0.0, -0.0)[i % 2] for i in range(100)]
    return pa.table(
        {
            "d": pa.array(values, pa.float64()),
            "f": pa.array(values, pa.float32()),
            "s": pa.array([{"x": value} for value in values], pa.struct([("x", pa.float64())])),
        }
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "floats.parquet"
    lr.copy(floats(), path, row_group_rows=100)
    return path


def test_pyarrow_sees_bounds_of_floats(written: Path) -> None:
    metadata = pq.read_metadata(written)
    expected = [(0.0, 24.75), None, None, (0.0, 0.0)]
    assert metadata.num_row_groups == len(expected)
    for group, bounds in enumerate(expected):
        for column in range(3):
            statistics = metadata.row_group(group).column(column).statistics
            assert statistics.has_min_max == (bounds is not None), (group, column)
            if bounds:
                assert (statistics.min, statistics.max) == bounds
                if bounds[0] == 0:
                    assert math.copysign(1, statistics.min) == -1
                if bounds[1] == 0:
                    assert math.copysign(1, statistics.max) == 1
            assert statistics.null_count == (20 if group == 3 else 0)


def test_duckdb_sees_bounds_of_floats(written: Path) -> None:
    query = f"SELECT stats_min_value, stats_max_value FROM parquet_metadata('{written}') WHERE path_in_schema = 'd'"
    found = duckdb.sql(query)
    assert [tuple(None if v is None else float(v) for v in row) for row in found.fetchall()] == [
        (0.0, 24.75),
        (None, None),
        (None, None),
        (0.0, 0.0),
    ]


#: Filters, and what they say of a value that is not null; NaN compares with nothing.
FILTERS: dict[str, Callable[[float], bool]] = {
    "> 24": lambda v: v > 24,
    "< -97": lambda v: v < -97,
    "= 0": lambda v: v == 0,
    "<> 0": lambda v: v != 0,
    "<= 0": lambda v: v <= 0,
    "IN (0, 3)": lambda v: v in (0, 3),
    "BETWEEN -1 AND 0.25": lambda v: -1 <= v <= 0.25,
}


@pytest.mark.parametrize("column", ["d", "f"])
@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("negated", [False, True])
def test_our_pruning_is_not_misled(written: Path, tmp_path: Path, column: str, where: str, negated: bool) -> None:
    theirs = tmp_path / "theirs.parquet"
    pq.write_table(floats(), theirs, row_group_size=100, write_page_index=True)
    expression = f"NOT ({column} {where})" if negated else f"{column} {where}"
    values = floats()[column].to_pylist()
    expected = sum(value is not None and FILTERS[where](value) != negated for value in values)
    for path in (written, theirs):
        assert lr.scan(path, where=expression).count() == expected
        assert lr.scan(path, where=expression).to_arrow().num_rows == expected


def test_bounds_of_floats_prune(written: Path) -> None:
    plan = lr.scan(written, where="d > 24").explain()
    assert str(plan).count("d max") == 1, plan
