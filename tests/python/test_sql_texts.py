"""Texts of queries, which duckdb gets as keys of dictionaries: the same answers as duckdb's own reader gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lakerace as lr

ROWS = 6_000

QUERIES = [
    "SELECT {c}, count(*), sum(n) FROM {t} GROUP BY {c}",
    "SELECT count(DISTINCT {c}), min({c}), max({c}), count({c}), any_value({c}) IS NULL FROM {t}",
    "SELECT upper({c}) AS u, length({c}), count(*) FROM {t} GROUP BY ALL",
    "SELECT n, {c} FROM {t}",
    "SELECT DISTINCT {c} FROM {t}",
    "SELECT a.{c}, count(*) FROM {t} a JOIN (SELECT DISTINCT {c} FROM {t} WHERE n % 7 = 0) b ON a.{c} = b.{c} GROUP BY 1",
    "SELECT n FROM {t} WHERE {c} IN (SELECT {c} FROM {t} WHERE n < 100)",
    "SELECT n FROM {t} WHERE {c} = 'value 3'",
    "SELECT n FROM {t} WHERE {c} <> 'value 3' AND n % 2 = 0",
    "SELECT n FROM {t} WHERE {c} IS NULL",
    "SELECT n FROM {t} WHERE {c} IS NOT NULL AND {c} LIKE '%1%'",
    "SELECT n, {c} FROM {t} WHERE {c} IN ('value 1', 'value 2', '') OR n = 5",
    # pyarrow applies these to the rows of the scan.
    "SELECT n, {c} FROM {t} WHERE d IN ('2024-01-02'::DATE, '2024-01-05'::DATE)",
    "SELECT {c}, few FROM {t} WHERE d IN ('2024-01-02'::DATE, '2024-01-05'::DATE) AND {c} > 'value 2'",
    "SELECT count(*) FROM {t} WHERE d IN ('2024-01-02'::DATE, '2024-01-05'::DATE)",
    "SELECT {c}, row_number() OVER (PARTITION BY {c} ORDER BY n) AS r FROM {t} WHERE n < 3000",
    "SELECT list({c} ORDER BY n) FROM {t} WHERE n < 50",
    "SELECT CASE WHEN n % 2 = 0 THEN {c} ELSE few END AS v, count(*) FROM {t} GROUP BY 1",
    "SELECT {c} || few AS v, count(*) FROM {t} GROUP BY 1",
    "SELECT n FROM {t} ORDER BY {c} DESC NULLS LAST, n LIMIT 20",
    "SELECT {c}, n FROM {t} WHERE n < 0",
    "SELECT count(*) FROM {t} WHERE {c} = few",
    "SELECT {c}::INT FROM {t} WHERE n < 10 AND {c} SIMILAR TO '[0-9]+'",
]


def texts() -> dict[str, pa.Array]:
    """Columns of a few values and many, short and long, with nulls, and with few values at first only."""
    random_rows = random.Random(5)
    few = [f"value {random_rows.randrange(6)}" for _ in range(ROWS)]
    return {
        "few": pa.array(few),
        "nulls": pa.array([None if random_rows.random() < 0.3 else text for text in few]),
        "only_nulls": pa.nulls(ROWS, pa.string()),
        "empty": pa.array([""] * ROWS),
        "long": pa.array([f"a text of more than twelve bytes, ä€😀 {random_rows.randrange(40)}" for _ in range(ROWS)]),
        "many": pa.array([f"{random_rows.randrange(10**9)}" for _ in range(ROWS)]),
        "later_many": pa.array([f"value {row % 3 if row < ROWS // 2 else row}" for row in range(ROWS)]),
        "sorted": pa.array(sorted(f"{random_rows.randrange(3000)}" for _ in range(ROWS))),
    }


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A table in files with and without dictionaries, of several row groups, and as a Delta table with deleted rows."""
    root = tmp_path_factory.mktemp("texts")
    days = pa.array([19723 + row % 9 for row in range(ROWS)], pa.int32()).cast(pa.date32())
    table = pa.table({"n": pa.array(range(ROWS)), "d": days, **texts()})
    pq.write_table(table, root / "dictionary.parquet", row_group_size=2_000)
    pq.write_table(table, root / "plain.parquet", row_group_size=ROWS, use_dictionary=False)
    pq.write_table(table, root / "overflow.parquet", dictionary_pagesize_limit=2_000, data_page_size=5_000)
    lr.copy(root / "dictionary.parquet", f"delta:{root}/delta")
    lr.Table(root / "delta").delete("n % 11 = 3")
    pq.write_table(table.filter(pc.not_equal(pa.array([row % 11 for row in range(ROWS)]), 3)), root / "left.parquet")
    return {
        name: root / name
        for name in ("dictionary.parquet", "plain.parquet", "overflow.parquet", "delta", "left.parquet")
    }


def _rows(table: pa.Table) -> list[Any]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


@pytest.mark.parametrize("form", ["dictionary.parquet", "plain.parquet", "overflow.parquet", "delta"])
@pytest.mark.parametrize("query", QUERIES)
def test_texts(places: dict[str, Path], query: str, form: str) -> None:
    own = places["left.parquet" if form == "delta" else form]
    # Files of other layouts differ for texts that repeat.
    for column in texts() if form in {"dictionary.parquet", "delta"} else ("few", "nulls", "long", "later_many"):
        found = lr.sql(query.format(c=column, t=f"'{places[form]}'")).to_arrow()
        expected = duckdb.sql(query.format(c=column, t=f"'{own}'")).to_arrow_table()
        assert _rows(found) == _rows(expected), column
        assert [str(field.type) for field in found.schema] == [str(field.type) for field in expected.schema], column


@pytest.mark.parametrize("length", [30, 34, 35, 61])
@pytest.mark.parametrize("letter", ["日", "é", "😀"])
def test_long_texts_in_lists(tmp_path: Path, letter: str, length: int) -> None:
    """pyarrow shortens the texts of lists where it shows them, and may cut them within a character."""
    text = letter * length
    pq.write_table(pa.table({"t": ["a", text, None], "n": [1, 2, 3]}), tmp_path / "t.parquet")
    for condition in (f"t IN ('{text}', 'b')", f"t NOT IN ('{text}')", f"t IN ('{text}', 'b') OR n = 1"):
        query = f"SELECT n FROM '{tmp_path}/t.parquet' WHERE {condition} ORDER BY n"
        assert [tuple(row) for row in lr.sql(query)] == duckdb.sql(query).fetchall()
        lr.sql(query).explain()
    query = f"SELECT n FROM '{tmp_path}/t.parquet' WHERE t IN (?, ?) ORDER BY n"
    assert [tuple(row) for row in lr.sql(query, params=[text, "a"])] == [(1,), (2,)]


def test_batches_of_any_size_have_the_same_texts(places: dict[str, Path]) -> None:
    query = "SELECT nulls, long, count(*) FROM t GROUP BY ALL"
    expected = duckdb.sql(query.replace("FROM t", f"FROM '{places['plain.parquet']}'")).to_arrow_table()
    for rows in (1, 3, 1000, 100_000):
        scan = lr.scan(places["dictionary.parquet"], batch_rows=rows)
        assert _rows(lr.sql(query, t=scan).to_arrow()) == _rows(expected)
