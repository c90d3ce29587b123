"""Conditions on texts in queries are left to the scan, too, where that changes no row. duckdb with its own reader is the judge."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [
    "alpha",
    "Alps",
    "beta",
    "a%c",
    "a_c",
    "abc",
    "äbc",
    "xäc",
    "it's",
    "",
    None,
    "alpha\nbeta",
    "ALPHA",
    "a\\b",
    "ſharp",
    "Straße",
    "\u212aelvin",
    "İ",
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pushed")
    rows, chosen = 6_000, random.Random(7)
    one = pa.table(
        {
            "id": range(rows),
            "t": chosen.choices(WORDS, k=rows),
            "u": chosen.choices(WORDS, k=rows),
            "s": [{"t": WORDS[row % 3], "id": row} for row in range(rows)],
            "b": pa.array([(WORDS[row % 3] or "").encode() for row in range(rows)], pa.binary()),
            "Big": [f"Big {row % 7}" for row in range(rows)],
        }
    )
    two = pa.table({"id": range(0, rows, 3), "t": chosen.choices(WORDS, k=rows // 3)})
    pq.write_table(one, folder / "one.parquet")
    pq.write_table(two, folder / "two.parquet")
    return {"one": folder / "one.parquet", "two": folder / "two.parquet"}


#: What a filter of a condition has in it.
SIGNS = ("LIKE", "upper(", "lower(")

#: Queries, and how many of their scans have a condition on texts.
QUERIES = [
    ("SELECT count(*) FROM '{one}' WHERE t LIKE 'al%'", 1),
    ("SELECT id FROM '{one}' WHERE t LIKE '%c' AND u LIKE '_l%'", 1),
    ("SELECT id FROM '{one}' WHERE t LIKE 'a_c' AND id < 500", 1),
    ("SELECT id FROM '{one}' WHERE t LIKE 'a\\%'", 1),
    ("SELECT id FROM '{one}' WHERE t LIKE ''", 1),
    ("SELECT id FROM '{one}' WHERE t LIKE 'it''s'", 1),
    ("SELECT id FROM '{one}' WHERE contains(t, 'ph') AND starts_with(u, 'a')", 1),
    ("SELECT id FROM '{one}' WHERE suffix(t, 'ta') OR t LIKE 'x%'", 0),
    ("SELECT id FROM '{one}' WHERE contains(t, '%')", 0),
    ("SELECT id FROM '{one}' WHERE t NOT LIKE 'a%'", 0),
    ("SELECT id FROM '{one}' WHERE NOT (t LIKE 'a%')", 0),
    ("SELECT id FROM '{one}' WHERE t ILIKE 'a%'", 1),
    ("SELECT id, t FROM '{one}' WHERE t ILIKE '%s%'", 1),
    ("SELECT id, t FROM '{one}' WHERE t ILIKE 'k%'", 1),
    ("SELECT id, t FROM '{one}' WHERE t ILIKE '%SS%' OR t ILIKE 'i%'", 0),
    ("SELECT id, t FROM '{one}' WHERE t ILIKE 'STRAß_'", 0),
    ("SELECT id, t FROM '{one}' WHERE lower(t) = 'kelvin'", 1),
    ("SELECT id, t FROM '{one}' WHERE 'ALPHA' = upper(t)", 1),
    ("SELECT id, t FROM '{one}' WHERE upper(t) IN ('ALPHA', 'SHARP', 'STRASSE', '{{}}')", 1),
    ("SELECT id, t FROM '{one}' WHERE lower(t) IN ('alpha', NULL)", 0),
    ("SELECT id, t FROM '{one}' WHERE lower(t) = u", 0),
    ("SELECT id, t FROM '{one}' WHERE upper(t) <> 'ALPHA'", 0),
    ("SELECT id, t FROM '{one}' WHERE length(t) = 4 AND lower(u) = 'alpha'", 1),
    ("SELECT id FROM '{one}' WHERE t LIKE 'a$%%' ESCAPE '$'", 0),
    ("SELECT id FROM '{one}' WHERE t LIKE u", 0),
    ("SELECT id FROM '{one}' WHERE T LIKE 'a%' AND big LIKE '%3'", 1),
    ("SELECT o.id FROM '{one}' o WHERE o.t LIKE 'a%'", 1),
    ("SELECT one.id FROM '{one}' WHERE one.t LIKE 'a%'", 1),
    ("SELECT s.id FROM '{one}' s WHERE s.t LIKE 'b%'", 1),
    ("SELECT id FROM '{one}' WHERE s.t LIKE 'b%'", 0),
    # A name of the result is no column, and a column is before it.
    ("SELECT id, upper(t) AS word FROM '{one}' WHERE word LIKE 'A%'", 0),
    ("SELECT id, upper(t) AS u FROM '{one}' WHERE u LIKE 'a%'", 1),
    ("SELECT o.id FROM '{one}' o JOIN '{two}' w ON o.id = w.id WHERE w.t LIKE 'a%' AND o.u LIKE '%c'", 2),
    ("SELECT o.id FROM '{one}' o, '{two}' w WHERE o.id = w.id AND u LIKE 'a%'", 1),
    ("SELECT id FROM '{one}' o JOIN '{two}' w USING (id, t) WHERE t LIKE 'a%'", 2),
    ("SELECT o.id, w.t FROM '{one}' o LEFT JOIN '{two}' w ON o.id = w.id WHERE o.t LIKE 'a%' AND w.t LIKE 'a%'", 0),
    ("SELECT o.id FROM '{one}' o LEFT JOIN '{two}' w ON o.id = w.id AND w.t LIKE 'a%' WHERE w.t IS NULL", 0),
    ("SELECT id FROM '{one}' WHERE t LIKE 'a%' UNION ALL SELECT id FROM '{one}' WHERE t LIKE 'b%'", 2),
    ("SELECT id FROM '{one}' WHERE t LIKE 'a%' UNION ALL SELECT id FROM '{one}'", 1),
    ("SELECT id FROM '{one}' WHERE id IN (SELECT id FROM '{two}' WHERE t LIKE 'a%')", 1),
    ("SELECT id FROM '{one}' o WHERE EXISTS (SELECT 1 FROM '{two}' w WHERE w.id = o.id AND u LIKE 'a%')", 0),
    ("WITH c AS (SELECT * FROM '{one}' WHERE t LIKE 'a%') SELECT a.id, b.id FROM c a JOIN c b ON a.id = b.id + 1", 1),
    ("SELECT id FROM (SELECT id, lower(t) AS t FROM '{one}') WHERE t LIKE 'a%'", 0),
    ("SELECT t, count(*) FROM '{one}' WHERE t LIKE 'a%' GROUP BY t HAVING t LIKE '%c'", 1),
    ("SELECT x FROM '{one}' o(x, y) WHERE y LIKE 'a%'", 0),
]


def read(query: str, places: dict[str, Path]) -> tuple[list[Any], list[Any], lr.SqlRows]:
    text = query.format(**places)
    rows = lr.sql(text)
    return sorted(rows, key=repr), sorted(duckdb.sql(text).fetchall(), key=repr), rows


@pytest.mark.parametrize(("query", "pushed"), QUERIES)
def test_rows_are_those_of_duckdb(query: str, pushed: int, places: dict[str, Path]) -> None:
    ours, theirs, rows = read(query, places)
    assert ours == theirs
    assert ours
    scans = rows.explain().to_dict()["scans"]
    assert sum(any(sign in (scan["where"] or "") for sign in SIGNS) for scan in scans) == pushed


def test_a_sample_is_taken_before_the_condition(places: dict[str, Path]) -> None:
    query = "SELECT count(*) FROM '{one}' TABLESAMPLE reservoir(100 ROWS) WHERE t LIKE 'a%'".format(**places)
    rows = lr.sql(query)
    ((count,),) = rows
    assert count <= 100
    assert all("LIKE" not in (scan["where"] or "") for scan in rows.explain().to_dict()["scans"])


@pytest.mark.parametrize(
    ("query", "pushed"),
    [
        ("SELECT id FROM x WHERE t LIKE 'a%'", 1),
        ("SELECT id FROM X WHERE x.t LIKE 'a%'", 1),
        ("SELECT id FROM x WHERE t LIKE 'a%' UNION ALL SELECT id FROM x", 0),
        ("WITH x AS (SELECT 1 AS id, 'b' AS t) SELECT id FROM x WHERE t LIKE 'b%'", 0),
    ],
)
def test_relations_have_patterns_where_they_are_used_once(query: str, pushed: int, places: dict[str, Path]) -> None:
    if query.startswith("WITH"):
        query += f" UNION ALL SELECT id FROM '{places['two']}' WHERE t LIKE 'b%'"
        rows = lr.sql(query)
        pushed += 1
    else:
        rows = lr.sql(query, x=str(places["one"]))
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW x AS SELECT * FROM '{places['one']}'")
    assert sorted(rows) == sorted(connection.sql(query).fetchall())
    scans = rows.explain().to_dict()["scans"]
    assert sum(any(sign in (scan["where"] or "") for sign in SIGNS) for scan in scans) == pushed


def test_a_table_that_is_read_twice_is_read_in_one_version(tmp_path: Path) -> None:
    """Each condition has a scan of its own, and both are of the version that was opened."""
    import deltalake

    place = tmp_path / "lake"
    deltalake.write_deltalake(place, pa.table({"t": ["ax", "bx"]}))
    query = f"SELECT t FROM '{place}' WHERE t LIKE 'a%' UNION ALL SELECT t FROM '{place}' WHERE t LIKE 'b%'"
    rows = lr.sql(query)
    deltalake.write_deltalake(place, pa.table({"t": ["ay", "by"]}), mode="append")
    assert sorted(rows) == [("ax",), ("bx",)]
    assert len({id(opened) for opened in rows._opened.values()}) == 1
