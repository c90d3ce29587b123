"""Conditions on texts that repeat, which are asked once of each text. duckdb is the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: Short and long texts, of which some are equal without case, and an empty one.
WORDS = ["AIR", "air", "Rail", "", "a%b", "deliver in person, at the door", "DELIVER IN PERSON, AT THE DOOR", None, "x"]
ROWS = 9_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repeated") / "words.parquet"
    rows = pa.table(
        {
            "id": range(ROWS),
            "t": [WORDS[row * 7 % len(WORDS)] for row in range(ROWS)],
            "valid": [WORDS[row % 7] for row in range(ROWS)],
            # They stop repeating in the middle of the file.
            "mixed": [WORDS[row % 9] if row < ROWS // 2 else f"text {row}" for row in range(ROWS)],
            "single": [f"text {row}" for row in range(ROWS)],
            "nothing": pa.nulls(ROWS, pa.string()),
        }
    )
    pq.write_table(rows, path, row_group_size=2_500)
    return path


@pytest.mark.parametrize("column", ["t", "valid", "mixed", "single", "nothing"])
@pytest.mark.parametrize(
    "condition",
    [
        "{} LIKE 'a%'",
        "{} NOT LIKE '%in person%'",
        "{} ILIKE '%PERSON%'",
        "upper({}) = 'AIR'",
        "lower({}) IN ('air', 'rail')",
        "{} IN ('AIR', 'Rail', '', 'x', 'text 7', 'text 8000')",
        "{} NOT IN ('AIR', 'Rail', '', 'x', 'text 7', 'text 8000')",
        "length({}) > 3",
        "coalesce({}, 'none') = 'none'",
        "{} IS NULL OR lower({}) = 'air'",
        "substr({}, 1, 1) = 'A' AND id % 2 = 0",
        "{} LIKE 'A%' OR id > 8990",
        "CASE WHEN {} = 'x' THEN id > 4000 ELSE length({}) = 3 END",
        "upper({}) = t",
        "NOT ({} LIKE '%i%')",
        "try_cast({} AS BIGINT) IS NULL",
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_those_of_duckdb(file: Path, column: str, condition: str, threads: int) -> None:
    where = condition.replace("{}", column)
    expected = [row[0] for row in duckdb.sql(f"SELECT id FROM '{file}' WHERE {where} ORDER BY id").fetchall()]
    assert lr.scan(file, where=where, columns=["id"], threads=threads).to_arrow()["id"].to_pylist() == expected
    assert lr.scan(file, where=where, threads=threads).count() == len(expected)
