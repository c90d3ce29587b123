"""Queries of SQL over locations: the same rows as duckdb's own readers, delta-rs and pyarrow give."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, ok, people
from process_state import cpu_seconds

import lakerace as lr
from lakerace import _sql_scan

TABLES = ("customer", "lineitem", "orders", "part")

#: Queries of TPC-H, by the names of tables.
QUERIES = {
    1: """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
            sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
            sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
            min(l_discount) AS least, max(l_shipmode) AS mode, count(*) AS count_order
        FROM {lineitem} WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    3: """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM {customer}, {orders}, {lineitem}
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
            AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    6: """
        SELECT sum(l_extendedprice * l_discount) AS revenue FROM {lineitem}
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL 1 YEAR
            AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
    14: """
        SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
            / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM {lineitem}, {part}
        WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'""",
    18: """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
        FROM {customer}, {orders}, {lineitem}
        WHERE o_orderkey IN (SELECT l_orderkey FROM {lineitem} GROUP BY l_orderkey HAVING sum(l_quantity) > 250)
            AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100""",
}


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TPC-H as Parquet, ORC, CSV and Delta, a folder each."""
    root = tmp_path_factory.mktemp("tpch")
    for form in ("parquet", "orc", "csv", "delta"):
        lr.tpch(root / form, sf=0.01, tables=TABLES, format=form)
    return root


def places(root: Path, form: str) -> dict[str, str]:
    """What stands for each table of TPC-H in a query: its location in quotes, and its name."""
    ending = "" if form == "delta" else f".{form}"
    return {name: f"'{root / form / name}{ending}' AS {name}" for name in TABLES}


def is_close(found: Any, expected: Any) -> bool:
    """Whether values are equal but for the types that a reader infers, and the order of sums."""
    if isinstance(expected, (decimal.Decimal, float, int)):
        return math.isclose(found, expected, rel_tol=1e-9)
    return bool(found == expected)


@pytest.mark.parametrize("number", QUERIES)
@pytest.mark.parametrize("form", ["parquet", "orc", "csv", "delta"])
def test_tpch(tpch: Path, form: str, number: int) -> None:
    found = lr.sql(QUERIES[number].format(**places(tpch, form)))
    # duckdb reads no ORC, and Delta tables by an extension: their rows are those of Parquet.
    source, reader = ("csv", "read_csv") if form == "csv" else ("parquet", "read_parquet")
    own = {name: f"{reader}('{tpch / source / name}.{source}') AS {name}" for name in TABLES}
    with duckdb.connect() as connection:
        expected = connection.sql(QUERIES[number].format(**own)).fetchall()
    assert expected
    if form == "csv":
        rows = list(found)
        assert [len(row) for row in rows] == [len(row) for row in expected]
        pairs = [pair for row, other in zip(rows, expected, strict=True) for pair in zip(row, other, strict=True)]
        assert [pair for pair in pairs if not is_close(*pair)] == []
    else:
        assert list(found) == expected


def test_delta_with_deletion_vectors(tpch: Path, tmp_path: Path) -> None:
    lr.copy(tpch / "parquet" / "orders.parquet", f"delta:{tmp_path / 'orders'}")
    table = lr.Table(tmp_path / "orders", key="o_orderkey")
    table.delete("o_orderkey % 7 = 0")
    changes = lr.scan(tpch / "parquet" / "orders.parquet", where="o_orderkey % 5 = 0").to_polars()
    table.upsert(changes.with_columns(o_totalprice=pl.lit(decimal.Decimal("1.25")).cast(pl.Decimal(15, 2))))
    assert "deletionVectors" in (deltalake.DeltaTable(str(tmp_path / "orders")).protocol().reader_features or [])
    query = """SELECT o_orderpriority, count(*), sum(o_totalprice), min(o_orderdate) FROM {}
        WHERE o_orderdate < DATE '1997-01-01' GROUP BY o_orderpriority ORDER BY o_orderpriority"""
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(tmp_path / "orders")))
    theirs = pa.table(builder.execute(query.format("t")))
    rows = lr.sql(query.format(f"'{tmp_path}/orders'"))
    assert [list(row) for row in rows] == [list(row.values()) for row in theirs.to_pylist()]
    # Earlier versions, by number and by time.
    counts = lr.sql(f"""SELECT (SELECT count(*) FROM '{tmp_path}/orders' AT (VERSION => 0)),
        (SELECT count(*) FROM '{tmp_path}/orders' AT (VERSION => 1)), (SELECT count(*) FROM '{tmp_path}/orders')""")
    assert next(iter(counts)) == tuple(len(lr.Table(tmp_path / "orders").scan(at=at)) for at in (0, 1, None))
    made = table.history()[0].timestamp.isoformat()
    at = lr.sql(f"SELECT count(*) FROM '{tmp_path}/orders' AT (TIMESTAMP => TIMESTAMPTZ '{made}')")
    assert next(iter(at)) == (len(table),)
    with pytest.raises(lr.NotFoundError, match="99"):
        lr.sql(f"SELECT * FROM '{tmp_path}/orders' AT (VERSION => 99)")
    with pytest.raises(lr.UsageError, match="is not a number"):
        lr.sql(f"SELECT * FROM '{tmp_path}/orders' AT (VERSION => 'x')")


def test_a_run_keeps_the_version_that_was_opened(tmp_path: Path) -> None:
    lr.copy(people(10), f"delta:{tmp_path / 't'}")
    rows = lr.sql(f"SELECT count(*) FROM '{tmp_path}/t' a JOIN '{tmp_path}/t' b USING (id)")
    lr.copy(people(10), tmp_path / "t", mode="append")
    assert list(rows) == [(10,)]
    assert list(lr.sql(f"SELECT count(*) FROM '{tmp_path}/t'")) == [(20,)]


VALUES = pa.table(
    {
        "i": pa.array([1, None, -(2**63)], pa.int64()),
        "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "d": pa.array(
            [decimal.Decimal("12345678901234567890.123456789"), None, decimal.Decimal(0)], pa.decimal128(38, 9)
        ),
        "f": [float("nan"), -0.0, None],
        "t": ["é", None, 'it\'s "x"'],
        "b": [b"\x00\xff", None, b""],
        "day": pa.array([datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
        "us": pa.array([1, None, -1], pa.timestamp("us")),
        "ns": pa.array([1, None, -1], pa.timestamp("ns")),
        "utc": pa.array([1, None, -1], pa.timestamp("us", "UTC")),
        "time": pa.array([1, None, 86_399_999_999], pa.time64("us")),
        "yes": [True, None, False],
        "s": pa.array([{"a": 1, "l": ["x", None]}, None, {"a": None, "l": []}]),
        "l": pa.array([[[1], [2, None]], None, []], pa.list_(pa.list_(pa.int32()))),
        "m": pa.array([[("k", decimal.Decimal("1.50"))], None, []], pa.map_(pa.string(), pa.decimal128(5, 2))),
        "a name": ["x", "y", "z"],
    }
)


def test_types_are_kept(tmp_path: Path) -> None:
    pq.write_table(VALUES, tmp_path / "values.parquet")
    rows = lr.sql(f"SELECT * FROM '{tmp_path}/values.parquet'")
    found = rows.to_arrow()
    for name in VALUES.schema.names:
        assert found[name].type == VALUES[name].type, name
        if name != "f":
            assert found[name].combine_chunks().equals(VALUES[name].combine_chunks()), name
    assert str(found["f"].to_pylist()) == "[nan, -0.0, None]"
    assert rows.schema == found.schema
    given = lr.sql("SELECT * FROM v", v=VALUES).to_arrow()
    assert str(given.to_pydict()) == str(found.to_pydict())
    pq.write_table(pa.table({"d": pa.array([1], pa.duration("ns")), "i": [1]}), tmp_path / "durations.parquet")
    with pytest.raises(lr.UnsupportedError, match=r"durations\.parquet.*'d' has durations of nanoseconds"):
        lr.sql(f"SELECT d FROM '{tmp_path}/durations.parquet'").to_arrow()
    assert list(lr.sql(f"SELECT i FROM '{tmp_path}/durations.parquet'")) == [(1,)]


def test_results(parquet: Path) -> None:
    rows = lr.sql(f"SELECT id, name FROM '{parquet}' WHERE id < 20 ORDER BY id DESC")
    expected = people().select(["id", "name"]).slice(0, 20).to_pylist()[::-1]
    assert rows.to_arrow().to_pylist() == expected
    assert rows.to_polars().to_dicts() == expected
    assert rows.lazy().collect().to_dicts() == expected
    assert rows.to_pandas().astype(object).where(lambda frame: frame.notna(), None).to_dict("records") == expected
    assert list(rows) == [tuple(row.values()) for row in expected]
    assert list(rows.rows(named=True)) == expected
    assert [row for batch in rows.batches() for row in batch.to_pylist()] == expected
    assert rows.to_reader().read_all().to_pylist() == expected
    assert rows.to_dataset().to_table().to_pylist() == expected
    assert rows.to_duckdb().fetchall() == [tuple(row.values()) for row in expected]
    assert pl.DataFrame(rows).to_dicts() == expected
    assert (rows.count(), bool(rows), rows.columns) == (20, True, ["id", "name"])
    assert rows.head(2).to_arrow().to_pylist() == expected[:2]
    assert rows.head(0).to_arrow().schema == rows.schema
    assert lr.checksum(rows) == lr.checksum(rows.to_arrow())
    html = rows._repr_html_()
    assert html.count("<tr>") == 11
    assert "the first 10 rows" in html
    with pytest.raises(lr.UsageError, match="rows=-1"):
        rows.head(-1)


def test_columns_of_one_name_get_numbers(parquet: Path, tmp_path: Path) -> None:
    query = f"SELECT a.id, b.id, a.name AS \"ID\" FROM '{parquet}' a JOIN '{parquet}' b USING (id) WHERE a.id < 2 ORDER BY 1"
    rows = lr.sql(query)
    with duckdb.connect() as connection:
        expected = connection.sql(f"SELECT * FROM ({query})").to_arrow_table()
    assert rows.columns == expected.column_names
    assert len({name.lower() for name in rows.columns}) == 3
    assert rows.to_arrow().equals(expected.cast(rows.schema))
    assert rows.to_polars().columns == expected.column_names
    assert rows.to_reader().read_all().column_names == expected.column_names
    assert rows.to_duckdb().columns == expected.column_names
    lr.copy(rows, tmp_path / "twice.parquet")
    assert lr.scan(tmp_path / "twice.parquet").columns == expected.column_names
    line = ok("sql", query, "--format", "jsonl", "-q").out.splitlines()[0]
    assert list(json.loads(line)) == expected.column_names


def test_rows_go_to_other_jobs(parquet: Path, tmp_path: Path) -> None:
    rows = lr.sql(f"SELECT id, score * 2 AS twice FROM '{parquet}'")
    assert lr.copy(rows, tmp_path / "twice.parquet").rows == 1000
    lr.copy(parquet, f"delta:{tmp_path / 'table'}")
    lr.Table(tmp_path / "table", key="id").upsert(lr.sql(f"SELECT id, 'new' AS name FROM '{parquet}' WHERE id < 3"))
    news = lr.sql(f"SELECT count(*) FROM '{tmp_path}/table' WHERE name = 'new'")
    assert list(news) == [(3,)]
    assert list(lr.sql("SELECT count(*) FROM r WHERE twice > 490", r=rows)) == [(16,)]


def test_relations_and_parameters(parquet: Path, tmp_path: Path) -> None:
    table = people()
    lr.copy(parquet, f"delta:{tmp_path / 'table'}")
    sources: dict[str, Any] = {
        "location": str(parquet),
        "path": parquet,
        "scan": lr.scan(parquet),
        "table": lr.Table(tmp_path / "table"),
        "arrow": table,
        "polars": pl.DataFrame(table),
        "lazy": pl.DataFrame(table).lazy(),
        "stream": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "dicts": table.to_pylist(),
        "rows": lr.sql(f"FROM '{parquet}'"),
    }
    for name, source in sources.items():
        rows = lr.sql("SELECT count(*), sum(id) FROM t WHERE id >= ? AND name IS NOT NULL", t=source, params=[500])
        for _ in range(2):
            assert list(rows) == [(429, 321_571)], name
    narrow = lr.scan(parquet, columns=["id"], where="id > 10", limit=5)
    assert list(lr.sql("SELECT id FROM n WHERE id > 12 ORDER BY id", n=narrow)) == [(13,), (14,), (15,)]
    named = lr.sql("SELECT id FROM t WHERE name = $name", t=parquet, params={"name": "name 8"})
    assert list(named) == [(8,)]
    values: list[Any] = [datetime.date(2020, 1, 1), decimal.Decimal("1.50"), "it's", None, [1, 2], b"\x00"]
    assert list(lr.sql("SELECT ?, ?, ?, ?, ?, ?", params=values)) == [tuple(values)]
    with pytest.raises(lr.UsageError, match="parameter"):
        lr.sql("SELECT ?")
    with pytest.raises(lr.UsageError, match="list of values"):
        lr.sql("SELECT ?", params="x")
    with pytest.raises(lr.UsageError, match="not case-sensitive"):
        lr.sql("SELECT 1", a=table, A=table)
    with pytest.raises(lr.UsageError, match="task of a scan"):
        lr.sql("FROM a", a=lr.scan(parquet).tasks(2)[0])


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names are locations, and how their columns are qualified."""
    monkeypatch.chdir(tmp_path)
    lr.copy(people(10), "orders.parquet")
    lr.copy(people(4), "Orders.parquet")
    lr.copy(people(3), "delta:lake")
    lr.copy(people(5), "sqlite:rows.db#people", key="id")
    one = [
        ("SELECT count(*) FROM 'orders.parquet' WHERE orders.id > 4", 5),
        ("SELECT count(*) FROM 'Orders.parquet'", 4),
        ("SELECT count(*) FROM 'orders.parquet' JOIN 'Orders.parquet' AS b USING (id)", 4),
        ('SELECT count(*) FROM "orders.parquet" o(a, b, c) WHERE o.a > 4', 5),
        ("SELECT count(*) FROM '*.parquet'", 14),
        ("SELECT count(*) FROM lake", 3),
        ("SELECT count(*) FROM 'delta:lake'", 3),
        ("SELECT count(people.id) FROM 'sqlite:rows.db#people'", 5),
        ("SELECT count(*) FROM 'tpch:nation?sf=0.01'", 25),
        ("WITH lake AS (SELECT 1), big AS (FROM 'orders.parquet' WHERE id > 4) SELECT count(*) FROM big, lake", 5),
        ("SELECT (SELECT max(id) FROM 'orders.parquet' o WHERE o.id < l.id) FROM lake l ORDER BY 1 LIMIT 1", 0),
        ("SELECT count(*) FROM (DESCRIBE 'orders.parquet')", 3),
        ("FROM (SELECT count(*) FROM 'orders.parquet' UNION ALL SELECT 7 LIMIT 1)", 10),
        ("SELECT count(*) FROM range(8)", 8),
        ("VALUES (6)", 6),
    ]
    for query, expected in one:
        assert next(iter(lr.sql(query)))[0] == expected, query
    assert lr.sql("SUMMARIZE 'orders.parquet'").to_arrow()["column_name"].to_pylist() == ["id", "name", "score"]
    with pytest.raises(lr.NotFoundError, match="version 7 does not exist"):
        lr.sql("SELECT * FROM lake AT (VERSION => 7)")
    (tmp_path / "empty").mkdir()
    with pytest.raises(lr.NotFoundError, match="no data files"):
        lr.sql("SELECT * FROM empty")


ERRORS: list[tuple[str, type[lr.Error], str]] = [
    ("SELEC 1", lr.UsageError, "the query, line 1 column 1: syntax error"),
    ("SELECT 1 +\n  FROM", lr.UsageError, "the query, line 2 column 3: "),
    ("SELECT 1; SELECT 2", lr.UsageError, "the text has 2"),
    ("", lr.UsageError, "the text has 0"),
    ("CREATE TABLE x (a INT)", lr.UsageError, "only a query is supported"),
    ("COPY (SELECT 1) TO 'x.csv'", lr.UsageError, "only a query is supported"),
    ("INSERT INTO 'orders.parquet' VALUES (1)", lr.UsageError, "only a query is supported"),
    ("PIVOT 'people.parquet' ON name USING sum(id)", lr.UsageError, "ON a IN"),
    ("INSERT INTO x VALUES (1)", lr.UsageError, r"SELECT, FROM, .*lakerace\.copy"),
    ("WITH a AS (SELECT 1) INSERT INTO x FROM a", lr.UsageError, r"lakerace\.copy"),
    ("CREATE TABLE x AS SELECT 1", lr.UsageError, r"lakerace\.copy"),
    ("/* all */ UPDATE x SET a = 1 -- delete", lr.UsageError, r"Table\.upsert"),
    ("DELETE FROM x", lr.UsageError, r"Table\.delete"),
    ("DROP TABLE x", lr.UsageError, "remove the folder"),
    ("ALTER TABLE x ADD COLUMN b INT", lr.UsageError, r"Table\.alter"),
    ("EXPLAIN SELECT 1", lr.UsageError, "method explain"),
    ("SET threads = 1", lr.UsageError, "options of the call"),
    ("PRAGMA database_list", lr.UsageError, "options of the call"),
    ("ATTACH 'x.db'", lr.UsageError, "FROM 'sqlite:"),
    ("INSTALL httpfs", lr.UsageError, "name the location"),
    ("OPTIMIZE x", lr.UsageError, r"syntax error.*Table\.compact"),
    ("RESTORE TABLE x TO VERSION AS OF 1", lr.UsageError, r"syntax error.*Table\.restore"),
    ("DESCRIBE HISTORY x", lr.UsageError, r"syntax error.*Table\.history"),
    ("SHOW TABLES", lr.UsageError, "there is no catalog.*FROM 'lake/orders'"),
    ("SHOW ALL TABLES", lr.UsageError, "there is no catalog"),
    ("SHOW DATABASES", lr.UsageError, "there is no catalog"),
    ("SHOW TABLES FROM x", lr.UsageError, "there is no catalog"),
    ("SHOW x", lr.UsageError, "'x' is none.*DESCRIBE 'x'"),
    ("SELECT insert FROM", lr.UsageError, r"syntax error[^(]*$"),
    ("SELECT nosuch FROM '{}'", lr.UsageError, 'the query, line 1 column 8: Referenced column "nosuch"'),
    ("SELECT id,\n  nosuch(1) FROM '{}'", lr.UsageError, "the query, line 2 column 3: .*nosuch"),
    ("SELECT sum(name) FROM '{}' WHERE id = 1 and id = 2", lr.UsageError, "the query: No function"),
    ("SELECT * FROM nosuch", lr.NotFoundError, "give the table nosuch as nosuch=…"),
    ("SELECT * FROM 'nosuch.parquet'", lr.NotFoundError, r"nosuch\.parquet"),
    ("SELECT * FROM read_parquet('{}')", lr.UsageError, "name the location in quotes"),
    ("SELECT name::INT FROM '{}' WHERE name IS NOT NULL", lr.InvalidInputError, "name"),
    ("SELECT * FROM '{}' WHERE id > 'x'", lr.InvalidInputError, "x"),
]


@pytest.mark.parametrize(("query", "kind", "message"), ERRORS, ids=[query for query, _, _ in ERRORS])
def test_errors(parquet: Path, query: str, kind: type[lr.Error], message: str) -> None:
    with pytest.raises(lr.Error, match=message) as caught:
        lr.sql(query.format(parquet)).to_arrow()
    assert type(caught.value) is kind, caught.value


def test_show_lists_relations_as_duckdb_does(parquet: Path) -> None:
    connection = duckdb.connect()
    connection.register("people", pq.read_table(parquet))
    rows = lr.scan(parquet)
    assert list(lr.sql("SHOW TABLES", people=rows)) == connection.sql("SHOW TABLES").fetchall()
    columns = [row[:2] for row in connection.sql("SHOW people").fetchall()]
    assert [tuple(row)[:2] for row in lr.sql("SHOW people", people=rows)] == columns
    assert [tuple(row)[:2] for row in lr.sql(f"DESCRIBE '{parquet}'")] == columns


def test_errors_of_a_scan_are_its_own(tmp_path: Path) -> None:
    """duckdb wraps what goes wrong in a scan; the error names the file."""
    path = tmp_path / "rows.csv"
    path.write_text("id,n\n" + "".join(f"{n},{n}\n" for n in range(100_000)) + "x,y,z\n")
    rows = lr.sql(f"SELECT sum(n) FROM '{path}' WHERE id >= 0")
    with pytest.raises(lr.InvalidInputError, match=r"rows\.csv"):
        rows.to_arrow()
    skipped = lr.sql("SELECT count(*), sum(n) FROM rows", rows=lr.scan(path, on_bad_row="skip"))
    assert list(skipped) == [(100_000, sum(range(100_000)))]
    with pytest.raises(lr.InvalidInputError, match=r"rows\.csv"):
        list(rows)
    pq.write_table(people(), tmp_path / "gone.parquet")
    gone = lr.sql(f"SELECT sum(id) FROM '{tmp_path}/gone.parquet'")
    (tmp_path / "gone.parquet").write_bytes(b"PAR1")
    with pytest.raises(lr.Error, match=r"gone\.parquet"):
        gone.to_arrow()


#: Conditions, and whether lakerace applies all of them.
CONDITIONS = [
    ("id = 5", True),
    ("id IN (1, 3, 700)", True),
    ("id BETWEEN 100 AND 199 AND name = 'name 150'", True),
    ("name > 'name 99'", True),
    ("name IS NULL AND id < 30", True),
    ("score > 240", True),
    ("score > 240 AND id < 980", True),
    ("name <> 'a \"quote\"'", False),
    ("name <> 'a \"quote\"' AND id < 980", False),
    ("name LIKE 'name 1%' AND id >= 900", True),
    ("id + 1 = 5", True),
    ("(id = 5 OR id = 7) AND NOT name = 'name 5'", None),
    ("NOT (id < 990)", True),
    ("id IN (SELECT id + 1 FROM '{}' WHERE id > 995)", True),
]


@pytest.mark.parametrize(("condition", "is_whole"), CONDITIONS)
def test_filters_are_pushed_and_exact(parquet: Path, condition: str, is_whole: bool | None) -> None:
    query = "SELECT count(*), sum(score), min(name) FROM {} WHERE {}"
    rows = lr.sql(query.format(f"'{parquet}'", condition.format(parquet)))
    own = f"read_parquet('{parquet}')"
    with duckdb.connect() as connection:
        expected = connection.sql(query.format(own, condition.replace("'{}'", own))).fetchall()
    assert list(rows) == expected
    scans = rows.explain().to_dict()["scans"]
    assert is_whole is None or all(scan["filtered_after"] is None for scan in scans) == is_whole


def test_explain_reads_nothing_and_tells_what_is_pushed(parquet: Path) -> None:
    rows = lr.sql(f"SELECT sum(score) FROM '{parquet}' WHERE id >= 950 AND name <> 'a \"b\"'")
    before = rows.report()["bytes_read"]
    explain = rows.explain()
    assert rows.report()["bytes_read"] == before
    (scan,) = explain.to_dict()["scans"]
    assert (scan["location"], scan["columns"], scan["where"]) == (
        str(parquet),
        ["id", "name", "score"],
        '("id" >= 950)',
    )
    assert "name != " in scan["filtered_after"]
    (file,) = scan["explain"]["plan"]["files"]
    assert sum(unit["pruned"] is None for unit in file["units"]) == 1
    text = str(explain)
    assert f"scan of {parquet}" in text
    assert "  afterwards (" in text
    list(rows)
    report = rows.report()
    assert before < report["bytes_read"] < before + parquet.stat().st_size / 4
    assert report["requests"]["get"] > 0


def test_only_files_that_a_filter_keeps_are_opened(tmp_path: Path) -> None:
    for day in range(20):
        lr.copy(
            pa.table({"day": [day] * 10, "n": range(10)}), f"delta:{tmp_path / 't'}", mode="append" if day else "error"
        )
    rows = lr.sql(f"SELECT count(*) FROM '{tmp_path}/t' WHERE day = 7")
    assert list(rows) == [(10,)]
    few = rows.report()["requests"]["get"]
    every = lr.sql(f"SELECT sum(n) FROM '{tmp_path}/t'")
    assert list(every) == [(900,)]
    assert every.report()["requests"]["get"] >= few + 19


def test_s3(s3: Any, parquet: Path) -> None:
    bucket = s3.url("sql")
    lr.copy(parquet, f"{bucket}/people.parquet", storage_options=s3.options, mode="overwrite")
    lr.copy(parquet, f"{bucket}/part=1/people.parquet", storage_options=s3.options, mode="overwrite")
    query = f"SELECT count(*), max(a.id) FROM '{bucket}/people.parquet' a JOIN '{bucket}/part=*/*.parquet' b USING (id) WHERE a.id < 50"
    rows = lr.sql(query, storage_options=s3.options)
    assert list(rows) == [(50, 49)]
    assert rows.report()["cost_usd"] > 0


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A sort of more rows than memory takes goes to the disk, and leaves nothing there."""
    lr.copy(lr.scan("tpch:lineitem?sf=0.05"), tmp_path / "lineitem.parquet")
    code = f"""
        import resource, lakerace as lr
        rows = lr.sql("SELECT l_orderkey, l_comment, row_number() OVER (ORDER BY l_comment, l_orderkey, l_linenumber) AS n "
            "FROM '{tmp_path}/lineitem.parquet' ORDER BY n", memory_limit="100MB", threads=1)
        last = 0
        for batch in rows.batches():
            numbers = batch["n"]
            assert numbers[0].as_py() == last + 1
            last = numbers[-1].as_py()
        print(last)
    """
    spill = tmp_path / "spill"
    spill.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TMPDIR": str(spill)},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert (done.returncode, int(done.stdout or 0)) == (0, lr.scan(tmp_path / "lineitem.parquet").count()), done.stderr
    assert list(spill.iterdir()) == []
    with pytest.raises(lr.UnavailableError, match="memory_limit"):
        lr.sql("SELECT list(range) FROM range(100000000)", memory_limit="20MB").to_arrow()
    with pytest.raises(lr.UsageError, match="memory_limit='much'"):
        lr.sql("SELECT 1", memory_limit="much")


ENDLESS = "SELECT count(*) FROM range(1000000) a, range(10000000) b WHERE (a.range * b.range) % 7 = 3"


@pytest.mark.parametrize("query", [ENDLESS, "SELECT count(*) FROM 'tpch:lineitem?sf=100'"], ids=["duckdb", "scan"])
def test_ctrl_c(query: str, tmp_path: Path) -> None:
    code = f"""
        import lakerace as lr
        rows = lr.sql({query!r})
        print("asked", flush=True)
        try:
            rows.to_arrow()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(list(lr.sql("SELECT 1")), rows.head(0).to_arrow().num_rows)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "asked\n"
    began = cpu_seconds(process)
    while cpu_seconds(process) < began + 0.2:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert out == "interrupted\n[(1,)] 0\n", err


def test_a_consumer_that_stops_ends_the_run(parquet: Path) -> None:
    rows = lr.sql("SELECT * FROM 'tpch:lineitem?sf=10'")
    batches = rows.batches()
    assert next(batches).num_rows > 0
    batches.close()
    assert rows.report()["rows"] < 10_000_000
    assert rows.head(3).to_arrow().num_rows == 3


def test_a_missing_duckdb_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs duckdb: pip install "lakerace\[sql\]"'):
        lr.sql("SELECT 1")


def test_rows_of_a_run_are_read_once_for_each_scan(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    scanner = _sql_scan.SqlDataset.scanner
    monkeypatch.setattr(
        _sql_scan.SqlDataset, "scanner", lambda self, *a, **k: (asked.append(self), scanner(self, *a, **k))[1]
    )
    rows = lr.sql(f"WITH p AS (FROM '{parquet}') SELECT count(*) FROM p a JOIN p b USING (id)")
    asked.clear()
    assert list(rows) == [(1000,)]
    assert len(asked) <= 2
