"""Queries that need the number of rows of a location, and no values: the same answers as duckdb's own readers give."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS

import lakerace as lr

QUERIES = [
    "SELECT count(*) FROM {t}",
    "SELECT count(*) + 1 FROM {t} WHERE name = 'b'",
    "SELECT count(*) FROM {t} WHERE name IS NULL OR price > 3",
    "SELECT count(*), 'id' FROM {t} WHERE price > 3",
    "SELECT 1 FROM {t} WHERE price > 3",
    "SELECT count(id), count(*) FROM {t}",
    "SELECT count(name) FROM {t}",
    "SELECT count(t) FROM {t} t",
    "SELECT t FROM {t} t ORDER BY ALL",
    "SELECT count(DISTINCT t.id) FROM {t} t",
    "SELECT max(COLUMNS('i.')) FROM {t}",
    "SELECT count(*) FROM (SELECT * FROM {t})",
    "SELECT count(*) FROM (FROM {t})",
    "SELECT count(*) FROM {t} x NATURAL JOIN {u} y",
    "SELECT count(*) FROM {t} x JOIN {u} y USING (id)",
    "SELECT count(*) FROM {t} x, {u} y",
    "SELECT count(*) FROM {t} x POSITIONAL JOIN {u} y",
    "SELECT #1 FROM {t} ORDER BY 1",
    'SELECT "#1" FROM (SELECT 1 AS "#1" FROM {t})',
    "SELECT (SELECT count(*) FROM {t}), max(id) FROM {u}",
    "SELECT count(*) FILTER (WHERE id > 2) FROM {t}",
    "SELECT count(*) FROM {t} GROUP BY price ORDER BY 1",
    "SELECT count(*) FROM {t} HAVING count(*) > 2",
    "WITH id AS (SELECT 1 AS v) SELECT count(*) FROM {t}, id",
    "SELECT EXISTS (SELECT 1 FROM {t} WHERE price > 100)",
    "SELECT count(*) FROM {t} UNION ALL SELECT count(*) FROM {u}",
    "SUMMARIZE {t}",
    "PIVOT {u} ON kind IN ('x', 'y') USING count(*) GROUP BY id ORDER BY id",
    "SELECT count(*) OVER () FROM {t} LIMIT 1",
    "SELECT row_number() OVER () FROM {t}",
    # Names that the text of the query does not have.
    "SELECT sum(p) FROM {t} AS x(p)",
    "SELECT count(p) FROM {t} x(p) WHERE p > 1",
    "SELECT count(*) FROM {t} x(p) JOIN {u} y(p) USING (p)",
    "SELECT count(*) FROM {t} x(p) WHERE EXISTS (SELECT 1 FROM {u} y(z) WHERE z = p)",
    "SELECT count(*) FROM {t} x(p) WHERE p IN (SELECT z FROM {u} y(z))",
    "SELECT sum(struct_extract(t, 'i' || 'd')) FROM {t} t",
    "SELECT count(*) FROM {t} t WHERE struct_extract(t, 'i' || 'd') > 2",
    "SELECT count(*) FROM {t} WHERE abs(price) > 2",
    "SELECT count(*) FROM {t} WHERE id + 1 > 2 AND name = 'b'",
    "SELECT count(*) FROM {t} LIMIT 1",
    "SELECT DISTINCT 1 FROM {t}",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("counts")
    names = ["a", "b", None, "b", "c", None]
    rows = pa.table({"id": [1, 2, 3, None, 5, 6], "name": names, "price": [1.5, 2.5, None, 4.5, 5.5, 0.0]})
    pq.write_table(rows, root / "t.parquet", row_group_size=2)
    pq.write_table(pa.table({"id": [2, 3, 3, 9], "kind": ["x", "y", "x", None]}), root / "u.parquet")
    return {name: root / f"{name}.parquet" for name in ("t", "u")}


@pytest.mark.parametrize("form", ["parquet", "orc", "csv", "delta", "sqlite"])
@pytest.mark.parametrize("query", QUERIES)
def test_counts(tables: dict[str, Path], tmp_path: Path, query: str, form: str) -> None:
    places = {name: f"'{path}'" for name, path in tables.items()}
    if form != "parquet":
        for name, path in tables.items():
            place = {"delta": f"delta:{tmp_path}/{name}", "sqlite": f"sqlite:{tmp_path}/a.db#{name}"}.get(form)
            target = place or f"{tmp_path}/{name}.{form}"
            lr.copy(path, target)
            places[name] = f"'{target.removeprefix('delta:')}'"
    expected = duckdb.sql(query.format(**{name: f"'{path}'" for name, path in tables.items()})).to_arrow_table()
    found = lr.sql(query.format(**places)).to_arrow()

    def shown(table: pa.Table) -> Any:
        rows: list[Any] = [str(list(row.values())) for row in table.to_pylist()]
        return rows if "ORDER" in query else sorted(rows)

    if not query.startswith("SUMMARIZE"):
        assert shown(found) == shown(expected)
    else:
        assert found["null_percentage"].to_pylist() == expected["null_percentage"].to_pylist()


@pytest.mark.parametrize("name", ["$", "%", "😀", " ", "a b", "İd", "\u0301"])
def test_columns_of_odd_names(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({name: [1, 2, 3], "b": [1, 1, 2]}), tmp_path / "t.parquet")
    for query in (
        "SELECT sum(\"{}\") FROM '{}'",
        "SELECT \"{}\" FROM '{}' ORDER BY 1",
        "SELECT count(\"{}\") FROM '{}'",
    ):
        text = query.format(name, tmp_path / "t.parquet")
        assert [tuple(row) for row in lr.sql(text)] == duckdb.sql(text).fetchall()
    assert lr.sql(f"SELECT count(*) FROM '{tmp_path}/t.parquet' WHERE b = 1").to_arrow().column(0).to_pylist() == [2]


def test_names_in_parameters(tables: dict[str, Path]) -> None:
    assert list(lr.sql("SELECT sum(t[?])::INT FROM t", params=["id"], t=tables["t"])) == [(17,)]


def test_a_query_runs_in_a_forked_process(tables: dict[str, Path]) -> None:
    code = f"""
import os, sys
import lakerace as lr
rows = lr.sql("SELECT sum(id)::INT FROM '{tables["t"]}'")
assert list(rows) == [(17,)]
child = os.fork()
if child == 0:
    os._exit(0 if list(rows) == [(17,)] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code], check=True, timeout=TIMEOUT_SECONDS
    )


def test_a_program_ends_quietly_in_the_middle_of_a_query(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(1_000_000)}), tmp_path / "t.parquet")
    code = f"import lakerace as lr; rows = lr.sql(\"SELECT id FROM '{tmp_path}/t.parquet'\").batches(); next(rows)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=TIMEOUT_SECONDS, check=True)
    assert done.stderr == b""


def test_errors_after_the_first_rows(tmp_path: Path) -> None:
    texts = ["1"] * 300_000 + ["x"]
    pq.write_table(pa.table({"c": texts}), tmp_path / "t.parquet")
    rows = lr.sql(f"SELECT CAST(c AS INT) AS n FROM '{tmp_path}/t.parquet'")
    for read in (rows.to_arrow, rows.to_polars, lambda: list(rows)):
        with pytest.raises(lr.InvalidInputError, match="Could not convert string 'x'") as raised:
            read()
        assert "lakerace_location" not in str(raised.value)


@pytest.mark.parametrize("limit", [-1, "-5MB", 0, "-1"])
def test_limits_that_are_none(limit: int | str) -> None:
    with pytest.raises(lr.UsageError, match="memory_limit"):
        lr.sql("SELECT 1", memory_limit=limit)
    with pytest.raises(lr.UsageError, match="threads"):
        lr.sql("SELECT 1", threads=100_000)
    assert list(lr.sql("SELECT 1", memory_limit="67108864")) == [(1,)]


def test_a_count_reads_metadata_or_the_filter_alone(tmp_path: Path) -> None:
    chooser = random.Random(1)
    rows = pa.table(
        {"id": chooser.sample(range(10**9), 200_000), "name": [f"n{number % 9}" for number in range(200_000)]}
    )
    pq.write_table(rows, tmp_path / "t.parquet", compression="none")
    counted = lr.sql(f"SELECT count(*) FROM '{tmp_path}/t.parquet'")
    assert counted.to_arrow().column(0).to_pylist() == [200_000]
    assert counted.explain().to_dict()["scans"][0]["columns"] == []
    # The footer.
    assert counted.report()["bytes_read"] < 100_000
    filtered = lr.sql(f"SELECT count(*) FROM '{tmp_path}/t.parquet' WHERE name = 'n3'")
    assert filtered.to_arrow().column(0).to_pylist() == [22_222]
    # Without the other column, which has eight bytes a row.
    assert filtered.report()["bytes_read"] < 400_000
    scan = filtered.explain().to_dict()["scans"][0]
    assert (scan["columns"], scan["where"]) == ([], "(\"name\" = 'n3')")
    named = lr.sql(f"SELECT count(*) FROM (SELECT id FROM '{tmp_path}/t.parquet')").explain().to_dict()["scans"][0]
    assert named["columns"] == ["id"]


def test_a_query_runs_again_with_its_limits(tables: dict[str, Path]) -> None:
    rows = lr.sql(f"SELECT current_setting('threads') AS threads FROM '{tables['t']}' LIMIT 1", threads=1)
    # Both runs are under way at the same time.
    first, second = rows.batches(), rows.batches()
    assert [next(run).column(0).to_pylist() for run in (first, second)] == [[1], [1]]
    assert [list(run) for run in (first, second)] == [[], []]
    zone = lr.sql("SELECT current_setting('TimeZone')")
    assert [next(iter(zone)) for _ in range(2)] == [("UTC",)] * 2
