"""Errors and warnings of queries on what a query has no option or no function for: their advice works."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import run

import lakerace as lr

ADVICE = "a query has no such option: copy the file with it and query the copy, or in Python pass lr.scan(location, …) as a relation"


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    lr.copy([{"order_id": 1, "price": 2.5}], tmp_path / "orders.parquet")
    return tmp_path / "orders.parquet"


@pytest.mark.parametrize(
    ("function", "message", "advice"),
    [
        ("delta_scan('lake')", "this needs the extension delta of", "FROM 'delta:lake/orders'"),
        ("read_avro('a.avro')", "this needs the extension avro of", "FROM 'events.avro'"),
        ("read_xlsx('a.xlsx')", "this needs the extension excel of", "FROM 'orders.xlsx'"),
        ("sqlite_scan('a.db', 't')", "this needs the extension sqlite_scanner of", "FROM 'sqlite:shop.db#orders'"),
        ("iceberg_scan('lake')", "this needs the extension iceberg of", "lr.sql(query, t=duckdb.sql(…))"),
        ("st_read('a.shp')", "this needs the extension spatial of", "lr.sql(query, t=duckdb.sql(…))"),
        ("postgres_scan('', 'public', 't')", "postgres_scan is a function of", "lr.sql(query, t=duckdb.sql(…))"),
    ],
)
def test_functions_of_extensions(function: str, message: str, advice: str) -> None:
    with pytest.raises(lr.UsageError) as error:
        lr.sql(f"SELECT * FROM {function}")
    text = str(error.value)
    assert text.startswith(f"the query: {message}"), text
    assert ", and queries load none" in text
    assert advice in (error.value.advice or "")
    assert "\n" not in text


def test_functions_of_extensions_in_the_command() -> None:
    error = run("sql", "SELECT * FROM delta_scan('lake')", "--json").error
    assert (error["kind"], error["exit_code"]) == ("usage", 2)
    assert error["advice"] == "name the location in quotes in place of a function: FROM 'delta:lake/orders'"


def test_versions_of_files(orders: Path) -> None:
    with pytest.raises(lr.UnsupportedError, match=r"\(omit AT \(…\): only Delta tables have versions\)$"):
        lr.sql(f"SELECT * FROM '{orders}' AT (VERSION => 1)")


def test_warnings_name_what_works(tmp_path: Path) -> None:
    path = tmp_path / "semi.csv"
    path.write_text("a;b\n1;2\n3;4\n")
    for query, relations in ((f"SELECT * FROM '{path}'", {}), ("SELECT * FROM s", {"s": path})):
        with pytest.warns(lr.LakeraceWarning) as caught:
            lr.sql(query, **relations)
        assert [str(warning.message).partition("; ")[2] for warning in caught] == [ADVICE]
    with pytest.warns(lr.LakeraceWarning) as caught:
        asyncio.run(lr.aio.sql("SELECT * FROM s WHERE 1 = ? AND 'x' = ?", s=path, params=[1, "x"]))
    assert [str(warning.message).partition("; ")[2] for warning in caught] == [ADVICE]
    with pytest.warns(lr.LakeraceWarning) as caught:
        lr.sql("SELECT * FROM s", s=lr.scan(path))
    assert not any(ADVICE in str(warning.message) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(lr.sql("SELECT b FROM s ORDER BY b", s=lr.scan(path, delimiter=";"))) == [(2,), (4,)]
    done = run("sql", f"SELECT * FROM '{path}'")
    assert f"\nwarning: {ADVICE}\n" in done.err


def test_errors_name_what_works(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n" + "1,2\n" * 20_000 + "x,2\n")
    query = "SELECT sum(a) FROM s"
    with pytest.raises(lr.InvalidInputError) as error:
        lr.sql(query, s=path).to_arrow()
    assert (error.value.advice or "").endswith(f'on_bad_row="null"; {ADVICE}')
    assert str(error.value).endswith(f"; {ADVICE})")
    with pytest.raises(lr.InvalidInputError) as error:
        lr.sql(query, s=lr.scan(path)).to_arrow()
    assert (error.value.advice or "").endswith('on_bad_row="null"')
    assert list(lr.sql(query, s=lr.scan(path, on_bad_row="skip"))) == [(20_000,)]
    assert ADVICE in run("sql", query, "--relation", f"s={path}", "--json").error["advice"]


@pytest.mark.parametrize(
    "query", ["SELECT 1", "SELECT 'a' AS a", "SELECT a FROM range(3) t(a)", "FROM b", "SELECT * FROM b AS a"]
)
def test_unused_relations(orders: Path, query: str) -> None:
    """They are told before anything is opened."""
    used = {"b": orders} if " b" in query else {}
    message = r"^relation 'a': the query does not use this relation \(name it in the query, or omit a=…\)$"
    with pytest.raises(lr.UsageError, match=message):
        lr.sql(query, a="missing.parquet", **used)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM A",
        "FROM a",
        "TABLE a",
        "SUMMARIZE a",
        "DESCRIBE a",
        "SHOW a",
        "SHOW TABLES",
        "SELECT (SELECT max(price) FROM a)",
        "SELECT 1 WHERE 1 IN (SELECT order_id FROM a)",
        "WITH b AS (FROM a) FROM b",
        "SELECT * FROM query_table('a')",
        "SELECT * FROM (UNPIVOT a ON price)",
        "SELECT * FROM (PIVOT a ON order_id IN (1) USING sum(price))",
        "SELECT table_name FROM information_schema.tables",
    ],
)
def test_used_relations(orders: Path, query: str) -> None:
    assert lr.sql(query, a=orders).to_arrow().num_rows >= 1


def test_unused_relations_of_the_command(orders: Path) -> None:
    error = run("sql", "SELECT 1", "--relation", f"a={orders}", "--json").error
    assert (error["exit_code"], error["advice"]) == (2, "name it in the query, or omit --relation a=…")


def test_relations_that_are_arguments_by_another_name() -> None:
    with pytest.raises(lr.UsageError, match=r"^relation 'memorylimit': .* \(did you mean memory_limit\?\)$"):
        lr.sql("SELECT 1", memorylimit="1GB")


@pytest.mark.parametrize("rows", [3, None, {"a": [1]}, [], b"1"])
def test_relations_without_rows_are_named(rows: Any) -> None:
    with pytest.raises((TypeError, lr.UsageError), match=r"^relation 't': "):
        lr.sql("SELECT * FROM t", t=rows)
