"""Rows that a deletion vector hides, that a row of the source matches, or that AND or OR decides, can't make a condition fail."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from changed_tables import of_delta_rs

import lakerace as lr

ROWS = 1_000
#: Conditions that are errors for the rows with `bad`, and how Python says them of `n`.
CONDITIONS = {
    "CAST(t AS bigint) > 700": lambda n: n > 700,
    "CAST(t AS bigint) + 1 = 1": lambda n: n == 0,
    "big + 9000000000000000000 > 9000000000000000500": lambda n: n > 500,
    "NOT CAST(t AS bigint) > 10 OR n = 900": lambda n: n <= 10 or n == 900,
}


def table(folder: Path) -> lr.Table:
    """A table of several row groups, in which the rows that make conditions fail are hidden."""
    numbers = range(ROWS)
    is_bad = [n % 7 == 3 for n in numbers]
    rows = pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "t": ["bad" if bad else str(n) for n, bad in zip(numbers, is_bad, strict=True)],
            "big": pa.array([2**62 if bad else n for n, bad in zip(numbers, is_bad, strict=True)], pa.int64()),
        }
    )
    place = str(folder / "table")
    properties = {"delta.enableDeletionVectors": "true"}
    lr.copy(rows, f"delta:{place}", row_group_rows=100, table_properties=properties)
    assert lr.Table(place).delete("t = 'bad'").rows == sum(is_bad)
    return lr.Table(place)


def visible(folder: Path) -> set[int]:
    """The rows that delta-rs reads."""
    return set(of_delta_rs(folder / "table")["n"].to_pylist())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_scan(tmp_path: Path, condition: str) -> None:
    shown = table(tmp_path)
    wanted = {n for n in visible(tmp_path) if CONDITIONS[condition](n)}
    assert set(shown.scan(where=condition).to_arrow()["n"].to_pylist()) == wanted
    assert shown.scan(where=condition, columns=["big"]).count() == len(wanted)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_delete(tmp_path: Path, condition: str) -> None:
    shown = table(tmp_path)
    before = visible(tmp_path)
    wanted = {n for n in before if CONDITIONS[condition](n)}
    planned = shown.delete(condition, dry_run=True).planned
    assert planned is not None
    assert planned.rows == len(wanted)
    assert shown.delete(condition).rows == len(wanted)
    assert visible(tmp_path) == before - wanted


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_update(tmp_path: Path, condition: str) -> None:
    shown = table(tmp_path)
    before = visible(tmp_path)
    wanted = {n for n in before if CONDITIONS[condition](n)}
    assert shown.update({"n": "n + 10000"}, where=condition).rows == len(wanted)
    assert visible(tmp_path) == (before - wanted) | {n + 10_000 for n in wanted}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_merge_by_source(tmp_path: Path, condition: str) -> None:
    shown = table(tmp_path)
    before = visible(tmp_path)
    # Matched rows with texts that are no numbers.
    assert shown.update({"t": "'worse'"}, where="n < 50").rows == len([n for n in before if n < 50])
    source = pa.table({"n": pa.array(range(50), pa.int64())})
    wanted = {n for n in before if n >= 50 and CONDITIONS[condition](n)}
    merged = shown.merge(source, on="n").when_not_matched_by_source_delete(condition).execute()
    assert merged.deleted == len(wanted)
    assert visible(tmp_path) == before - wanted


def test_errors_of_rows_that_are_there_name_table_and_condition(tmp_path: Path) -> None:
    shown = table(tmp_path)
    shown.update({"t": "'worse'"}, where="n = 5")
    condition = "CAST(t AS bigint) > 700"
    merge = shown.merge([{"n": 1}], on="n").when_not_matched_by_source_delete(condition)
    for call in (lambda: shown.delete(condition), lambda: shown.update({"n": "1"}, where=condition), merge.execute):
        with pytest.raises(lr.InvalidInputError, match="Cannot cast string 'worse'") as raised:
            call()
        assert str(tmp_path) in str(raised.value)
    with pytest.raises(lr.InvalidInputError, match=r'"CAST\(t AS bigint\) > 700"'):
        merge.execute()
    assert len(visible(tmp_path)) == len(set(range(ROWS)) - {n for n in range(ROWS) if n % 7 == 3})


@pytest.mark.parametrize(
    "condition",
    [
        "t <> 'bad' AND CAST(t AS bigint) > 700",
        "n > 0 AND t <> 'bad' AND CAST(t AS bigint) < 30 AND big < 20",
        "t = 'bad' OR CAST(t AS bigint) > 700",
        "big < 1000000 AND big + 9000000000000000000 > 9000000000000000500",
        "n % 7 = 3 OR CAST(t AS bigint) > 700",
        "unknown = 'n' AND CAST(t AS bigint) > 700",
        "CAST(t AS bigint) > 700 AND unknown = 'n'",
        # Both parts may fail.
        "CAST(t AS bigint) > 700 AND concat(unknown, n) LIKE 'n7%'",
        "CAST(t AS bigint) > 700 AND n + 1 < 900",
        "n + 1 < 900 AND CAST(t AS bigint) > 700",
        "CAST(t AS bigint) > 700 OR n + 1 = 10007",
        "NOT (CAST(t AS bigint) < 700 OR n + 1 = 10007)",
        "CAST(t AS bigint) > 10 AND big + 9000000000000000000 > 9000000000000000500 AND n * 2 < 2000",
    ],
)
def test_rows_that_another_part_decides(tmp_path: Path, condition: str) -> None:
    rows = table(tmp_path).scan(columns=["n", "t", "big"]).to_arrow()
    bad = pa.table(
        {"n": [10_006], "t": ["bad"], "big": pa.array([2**62], pa.int64()), "unknown": pa.array([None], pa.string())}
    )
    rows = rows.append_column("unknown", pa.array(["n"] * len(rows)))
    rows = pa.concat_tables([rows.cast(bad.schema), bad])
    lr.copy(rows, str(tmp_path / "rows.parquet"), row_group_rows=100)
    # duckdb does not say in which order it computes the parts.
    lenient = condition.replace("CAST", "TRY_CAST").replace("big + 9", "big::HUGEINT + 9")
    wanted = duckdb.sql(f"SELECT n FROM rows WHERE {lenient}").to_arrow_table()["n"].to_pylist()
    assert lr.scan(str(tmp_path / "rows.parquet"), where=condition).to_arrow()["n"].to_pylist() == wanted
