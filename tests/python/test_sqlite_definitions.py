"""Definitions of SQLite's tables, and values in declared types: Python's sqlite3 is the judge."""

from __future__ import annotations

import decimal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

SHOP = """
CREATE TABLE maker (id INTEGER PRIMARY KEY);
CREATE TABLE shop (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name VARCHAR(20) NOT NULL COLLATE NOCASE,
  price DECIMAL(10,2) NOT NULL DEFAULT 1.5 CHECK (price > 0),
  maker INTEGER REFERENCES maker(id),
  parent INTEGER REFERENCES shop(id),
  twice DECIMAL(10,2) GENERATED ALWAYS AS (price * 2) STORED,
  UNIQUE (name)
);
CREATE TABLE line (id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shop(id) ON DELETE CASCADE);
CREATE INDEX by_price ON shop(price);
CREATE TRIGGER noted AFTER DELETE ON shop BEGIN DELETE FROM line; END;
CREATE VIEW cheap AS SELECT * FROM shop WHERE price < 2;
INSERT INTO maker VALUES (1);
INSERT INTO shop(id, name, price, maker) VALUES (1, 'a', 12.5, 1), (2, 'b', 1.25, NULL), (9, 'z', 3, 1);
DELETE FROM shop WHERE id = 9;
INSERT INTO line VALUES (1, 1), (2, 2);
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SHOP)
    return path


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def definitions(path: Path) -> list[tuple[Any, ...]]:
    sql = "SELECT type, name, tbl_name, replace(sql, '\"shop\"', 'shop') FROM sqlite_schema WHERE name NOT LIKE '%lakerace%'"
    return sorted(rows(path, sql), key=str)


def table(ids: list[int], names: list[str]) -> pa.Table:
    price = pa.array([decimal.Decimal("7.10")] * len(ids), pa.decimal128(10, 2))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": names, "price": price})


@pytest.mark.parametrize("batch_rows", [None, 1])
def test_an_overwrite_keeps_the_definition(shop: Path, batch_rows: int | None) -> None:
    before = definitions(shop)
    lr.copy(table([1, 2, 3], ["x", "y", "w"]), f"sqlite:{shop}#shop", mode="overwrite", batch_rows=batch_rows)
    assert definitions(shop) == before
    assert rows(shop, "SELECT id, name, price, maker, twice FROM shop") == [
        (1, "x", 7.1, None, 14.2),
        (2, "y", 7.1, None, 14.2),
        (3, "w", 7.1, None, 14.2),
    ]
    assert rows(shop, "SELECT typeof(price) FROM shop LIMIT 1") == [("real",)]
    assert rows(shop, "SELECT count(*) FROM line") == [(2,)]
    assert rows(shop, "PRAGMA foreign_key_check") == []
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("INSERT INTO shop(name) VALUES ('next')")
        assert connection.execute("SELECT id, price FROM shop WHERE name = 'NEXT'").fetchall() == [(10, 1.5)]
    # Rows that it gave are taken again.
    columns = ["id", "name", "price"]
    again = pa.table(lr.scan(f"sqlite:{shop}#shop", columns=columns))
    lr.copy(again, f"sqlite:{shop}#shop", mode="overwrite")
    assert pa.table(lr.scan(f"sqlite:{shop}#shop", columns=columns)).equals(again)


def test_what_would_be_lost_is_refused_by_name(shop: Path) -> None:
    before = (definitions(shop), rows(shop, "SELECT * FROM shop"))
    other = table([1, 2], ["x", "y"]).append_column("more", pa.array([1, 2]))
    done = run("copy", write(shop, other), f"sqlite:{shop}#shop", "--mode", "overwrite")
    assert done.code != 0
    for lost in (
        "more",
        "PRIMARY KEY (id)",
        "NOT NULL of name",
        "CHECK",
        "COLLATE",
        "AUTOINCREMENT",
        "UNIQUE (name)",
        "DEFAULT of price",
        "FOREIGN KEY to maker",
        "twice",
        "line",
    ):
        assert lost in done.err, lost
    assert (definitions(shop), rows(shop, "SELECT * FROM shop")) == before


def write(shop: Path, rows: pa.Table) -> Path:
    path = shop.with_suffix(".parquet")
    pq.write_table(rows, path)
    return path


def test_rows_that_others_refer_to_stay(shop: Path) -> None:
    before = rows(shop, "SELECT * FROM shop")
    with pytest.raises(lr.ConflictError, match="line"):
        lr.copy(table([1], ["x"]), f"sqlite:{shop}#shop", mode="overwrite")
    assert rows(shop, "SELECT * FROM shop") == before
    assert rows(shop, "SELECT count(*) FROM line") == [(2,)]


def test_rows_that_the_definition_refuses_are_refused(shop: Path) -> None:
    cheap = pa.table({"id": [1, 2], "name": ["x", "y"], "price": [-1.0, 2.0]})
    with pytest.raises(lr.InvalidInputError, match="CHECK"):
        lr.copy(cheap, f"sqlite:{shop}#shop", mode="overwrite")
    assert rows(shop, "SELECT name FROM shop") == [("a",), ("b",)]


def test_a_table_without_constraints_takes_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2)")
    lr.copy(pa.table({"c": [1, 2]}), f"sqlite:{path}#t", mode="overwrite", verify=True)
    assert rows(path, "SELECT c FROM t") == [(1,), (2,)]
    # A table that lakerace made keeps its key when its columns change.
    lr.copy(pa.table({"id": [1], "c": [1]}), f"sqlite:{path}#k", key="id")
    lr.copy(pa.table({"id": [1], "d": ["x"]}), f"sqlite:{path}#k", mode="overwrite", verify=True)
    assert rows(path, "SELECT name FROM pragma_table_info('k') WHERE pk > 0") == [("id",)]


def test_a_virtual_table_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE VIRTUAL TABLE t USING fts5(body)")
    with pytest.raises(lr.UnsupportedError, match="virtual"):
        lr.copy(pa.table({"body": ["x"]}), f"sqlite:{path}#t", mode="overwrite")


def test_decimals_go_back_by_value(tmp_path: Path) -> None:
    path, file = tmp_path / "s.db", tmp_path / "s.parquet"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE shop (id INTEGER PRIMARY KEY, price DECIMAL(10,2) NOT NULL, code NUMERIC);"
            "INSERT INTO shop VALUES (1, 12.5, 'A1'), (2, 3, 'x'), (3, -0.1, 'B')"
        )
    before = rows(path, "SELECT id, price, typeof(price), code, typeof(code) FROM shop")
    ok("copy", f"sqlite:{path}#shop", file)
    for mode in (["upsert", "--key", "id"], ["overwrite"]):
        ok("copy", file, f"sqlite:{path}#shop", "--mode", *mode)
        assert rows(path, "SELECT id, price, typeof(price), code, typeof(code) FROM shop") == before


@pytest.mark.parametrize("strict", ["", " STRICT"])
@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("INTEGER", "007"),
        ("REAL", " 1.50"),
        ("INTEGER", decimal.Decimal("9223372036854775808")),
        ("REAL", decimal.Decimal("9007199254740993")),
        ("REAL", decimal.Decimal("1234567890123456789.01")),
    ],
)
def test_a_value_that_would_change_is_refused(tmp_path: Path, declared: str, value: object, strict: str) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, v {declared}){strict}")
    source = tmp_path / "s.parquet"
    pq.write_table(pa.table({"id": [1], "v": pa.array([value])}), source)
    letters = tmp_path / "letters"
    done = ok("copy", source, f"sqlite:{path}#t", "--mode", "append", "--dead-letter", letters, "--json")
    assert done.json["rejected"] == 1
    assert str(value) in letters.read_text()
    assert rows(path, "SELECT count(*) FROM t") == [(0,)]


#: What other programs write into columns of timestamps.
TIMES = {
    "SQLite, Django": ["2024-01-01 10:00:00", "1969-12-31 23:59:59"],
    "strftime": ["2024-01-01 10:00:00.000", "2024-01-01 10:00:00.120"],
    "SQLAlchemy": ["2024-01-01 10:00:00.000000", "2024-01-01 10:00:00.500000"],
    "pandas": ["2024-01-01 10:00:00", "2024-01-01 10:00:00.120000"],
    "ISO": ["2024-01-01T10:00:00", "2024-01-01T10:00:01"],
    "zoned": ["2024-01-01 10:00:00+00:00", "2024-01-01 10:00:01+00:00"],
    "dates": ["2024-01-01", "2024-02-29"],
}


@pytest.mark.parametrize("program", TIMES)
@pytest.mark.parametrize("mode", ["overwrite", "upsert"])
def test_times_come_back_as_the_texts_they_were(tmp_path: Path, program: str, mode: str) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a DATETIME, b TIMESTAMP, d DATE, c TIME)")
        rows = [(n, value, value, "2024-02-29", "10:00:00") for n, value in enumerate(TIMES[program])]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()
        options = {"key": ["id"]} if mode == "upsert" else {}
        lr.copy(f"sqlite:{path}#t", tmp_path / "a.parquet")
        lr.copy(tmp_path / "a.parquet", f"sqlite:{path}#t", mode=mode, verify=True, **options)  # type: ignore[arg-type]
        assert database.execute("SELECT * FROM t ORDER BY id").fetchall() == rows
        # A column without values has the form of SQLite's own functions.
        database.execute("DELETE FROM t")
        database.commit()
        lr.copy(tmp_path / "a.parquet", f"sqlite:{path}#t", mode="append")
        wrong = "SELECT count(*) FROM t WHERE datetime(a) <> substr(a, 1, 19) OR a NOT LIKE '____-__-__ __:__:__%'"
        assert database.execute(wrong).fetchone() == (0,)


def test_numbers_that_a_float_rounds_need_an_option(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    exact = pa.table({"n": pa.array([2**53, -(2**53), 3], pa.int64())})
    large = pa.array([2**53 + 1, 2**63 - 1], pa.int64())
    digits = pa.array([decimal.Decimal("0.12345678901234567890"), decimal.Decimal("1.5")], pa.decimal128(38, 20))
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (n REAL)")
        lr.copy(exact, f"sqlite:{path}#t", mode="append", verify=True)
        assert [int(n) for (n,) in database.execute("SELECT n FROM t")] == [2**53, -(2**53), 3]
        for values in (large, large.cast(pa.uint64()), digits):
            database.execute("DELETE FROM t")
            database.commit()
            rows = pa.table({"n": values})
            with pytest.raises(lr.InvalidInputError, match="allow_narrowing"):
                lr.copy(rows, f"sqlite:{path}#t", mode="append")
            assert database.execute("SELECT count(*) FROM t").fetchone() == (0,)
            lr.copy(rows, f"sqlite:{path}#t", mode="append", allow_narrowing=True, verify=True)
            assert [n for (n,) in database.execute("SELECT n FROM t")] == [float(n) for n in values.to_pylist()]
