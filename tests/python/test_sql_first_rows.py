"""The first rows of an order in queries are found by the scan, where that changes no row. duckdb with its own reader is the judge."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 20_000

#: Queries whose first rows the scan finds.
LEFT_TO_THE_SCAN = [
    "SELECT * FROM '{place}' ORDER BY a, id LIMIT 10",
    "SELECT id, a FROM '{place}' ORDER BY a DESC, ID LIMIT 10",
    "SELECT * FROM '{place}' t ORDER BY t.a NULLS FIRST, T.id DESC LIMIT 10 OFFSET 5",
    "FROM '{place}' ORDER BY f DESC, id LIMIT 700",
    "SELECT b, id FROM '{place}' ORDER BY b DESC NULLS FIRST, id LIMIT 3",
    "SELECT * EXCLUDE (b) FROM '{place}' ORDER BY t, id LIMIT 9",
    "SELECT * FROM (SELECT id, a FROM '{place}' ORDER BY a DESC, id LIMIT 10) WHERE id % 2 = 0 ORDER BY id",
    "WITH w AS (SELECT * FROM '{place}' ORDER BY d, id LIMIT 20) SELECT count(*), sum(id) FROM w",
    "(SELECT id FROM '{place}' ORDER BY a, id LIMIT 2) UNION ALL (SELECT id FROM '{place}' ORDER BY b, id LIMIT 2) ORDER BY 1",
    "SELECT id FROM '{place}' WHERE id IN (SELECT id FROM '{place}' ORDER BY a, id LIMIT 5) ORDER BY id",
    "SELECT * FROM '{place}' ORDER BY a LIMIT 0",
]
#: Queries that need other rows as well, or of which that is not known.
LEFT_TO_DUCKDB = [
    "SELECT a, count(*) FROM '{place}' GROUP BY a ORDER BY a LIMIT 3",
    "SELECT DISTINCT a FROM '{place}' ORDER BY a LIMIT 3",
    "SELECT count(*) FROM '{place}' ORDER BY 1 LIMIT 3",
    "SELECT id AS a, a AS id FROM '{place}' ORDER BY a LIMIT 3",
    "SELECT * REPLACE (-id AS id) FROM '{place}' ORDER BY id LIMIT 3",
    "SELECT id, a FROM '{place}' WHERE a < 50 ORDER BY a DESC, id LIMIT 10",
    "SELECT id, row_number() OVER (ORDER BY a, id) AS n FROM '{place}' ORDER BY a DESC, id LIMIT 3",
    "SELECT sum(id) AS s FROM '{place}' ORDER BY s LIMIT 3",
    "SELECT id FROM '{place}' ORDER BY -id LIMIT 3",
    "SELECT id FROM '{place}' ORDER BY a, id LIMIT 1%",
    "SELECT id FROM '{place}' ORDER BY id",
    "SELECT x.id FROM '{place}' x JOIN '{place}' y USING (id) ORDER BY x.id LIMIT 3",
    "SELECT id, s FROM '{place}' ORDER BY s, id LIMIT 5",
    "SELECT id FROM '{place}' QUALIFY row_number() OVER (PARTITION BY b ORDER BY id DESC) = 1 ORDER BY id LIMIT 3",
    "SELECT a AS k FROM '{place}' GROUP BY ALL ORDER BY a LIMIT 3",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chosen = random.Random(5)
    table = pa.table(
        {
            "id": chosen.sample(range(ROWS), k=ROWS),
            "a": chosen.choices([None, *range(500)], k=ROWS),
            "b": chosen.choices([None, "x", "Y", "ä", "a longer text than a view has"], k=ROWS),
            "f": chosen.choices([None, float("nan"), 0.0, -0.0, 1.5, float("-inf"), float("inf")], k=ROWS),
            "d": pa.array(chosen.choices(range(20_000), k=ROWS), pa.int32()).cast(pa.date32()),
            "t": pa.array(chosen.choices(range(10**15), k=ROWS), pa.timestamp("us")),
            "s": [{"x": chosen.randrange(5)} for _ in range(ROWS)],
        }
    )
    path: Path = tmp_path_factory.mktemp("first") / "rows.parquet"
    pq.write_table(table, path, row_group_size=3000)
    return path


def same(found: pa.Table, expected: pa.Table) -> bool:
    return bool(found.column_names == expected.column_names and str(found.to_pylist()) == str(expected.to_pylist()))


@pytest.mark.parametrize("query", [*LEFT_TO_THE_SCAN, *LEFT_TO_DUCKDB])
def test_rows_are_those_of_duckdb(place: Path, query: str) -> None:
    asked = query.format(place=place)
    assert same(lr.sql(asked).to_arrow(), duckdb.sql(asked).to_arrow_table())


@pytest.mark.parametrize("query", [query for query in LEFT_TO_THE_SCAN if "LIMIT 0" not in query])
def test_the_scan_has_the_limit(place: Path, query: str) -> None:
    scans = lr.sql(query.format(place=place)).explain().to_dict()["scans"]
    assert any(scan["explain"]["plan"]["request"]["limit"] is not None for scan in scans), scans


@pytest.mark.parametrize("query", LEFT_TO_DUCKDB)
def test_the_scan_has_no_limit(place: Path, query: str) -> None:
    scans = lr.sql(query.format(place=place)).explain().to_dict()["scans"]
    assert [scan["explain"]["plan"]["request"]["limit"] for scan in scans] == [None] * len(scans)


def test_relations(place: Path) -> None:
    query = "SELECT id, a FROM t ORDER BY a DESC, id LIMIT 7"
    judged = duckdb.sql(query.replace("FROM t", f"FROM '{place}'")).to_arrow_table()
    assert same(lr.sql(query, t=place).to_arrow(), judged)
    twice = (
        "SELECT (SELECT count(*) FROM t) AS n, id FROM (SELECT id, a FROM t ORDER BY a DESC, id LIMIT 2) ORDER BY id"
    )
    assert same(
        lr.sql(twice, t=place).to_arrow(), duckdb.sql(twice.replace("FROM t", f"FROM '{place}'")).to_arrow_table()
    )
    # The rows of these scans are limited, sorted and named first.
    limited = lr.scan(place, order_by="id", limit=100)
    first = lr.sql("SELECT * FROM t ORDER BY a, id LIMIT 4", t=limited).to_arrow()
    assert same(
        first, duckdb.sql(f"FROM (FROM '{place}' ORDER BY id LIMIT 100) ORDER BY a, id LIMIT 4").to_arrow_table()
    )
    renamed = lr.scan(place, columns=["id as a", "a as id"])
    first = lr.sql("SELECT * FROM t ORDER BY a DESC LIMIT 4", t=renamed).to_arrow()
    assert same(
        first, duckdb.sql(f"FROM (SELECT id AS a, a AS id FROM '{place}') ORDER BY a DESC LIMIT 4").to_arrow_table()
    )
    kept = lr.scan(place, where="a % 2 = 1")
    first = lr.sql("SELECT * FROM t ORDER BY a, id LIMIT 4", t=kept).to_arrow()
    assert same(first, duckdb.sql(f"FROM '{place}' WHERE a % 2 = 1 ORDER BY a, id LIMIT 4").to_arrow_table())


def test_a_run_can_be_repeated_and_cut(place: Path) -> None:
    rows = lr.sql(f"SELECT id, a FROM '{place}' ORDER BY a, id LIMIT 10")
    assert rows.count() == 10
    assert list(rows.head(3)) == list(rows)[:3]
