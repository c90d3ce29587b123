"""SQLite as source and sink, with Python's own sqlite3 as the other side."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import itertools
import json
import os
import signal
import sqlite3
import stat
import subprocess
import time
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run

import lakerace as lr

UTC = datetime.timezone.utc


def every_type() -> pa.Table:
    day, moment = datetime.date(2024, 2, 29), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)
    ms = moment.replace(microsecond=123_000)
    return pa.table(
        {
            "int8": pa.array([-128, None, 127], pa.int8()),
            "int64": pa.array([-(2**63), None, 2**63 - 1], pa.int64()),
            "uint32": pa.array([0, None, 2**32 - 1], pa.uint32()),
            "uint64": pa.array([2**63, None, 2**64 - 1], pa.uint64()),
            "float32": pa.array([0.1, None, float("-inf")], pa.float32()),
            "float64": pa.array([0.1, None, 1e300], pa.float64()),
            "bool": pa.array([True, None, False]),
            "money": pa.array(
                [decimal.Decimal("-0.05"), None, decimal.Decimal("9" * 36 + ".99")], pa.decimal128(38, 2)
            ),
            "wide": pa.array([decimal.Decimal("1" * 60), None, decimal.Decimal(-1)], pa.decimal256(60, 0)),
            "text": pa.array(["007", None, "a\0b \N{SNOWMAN}"]),
            "empty": pa.array(["", None, " "], pa.large_string()),
            "bytes": pa.array([b"\x00\xff", None, b""], pa.binary()),
            "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
            "day": pa.array([day, None, datetime.date(1, 1, 1)], pa.date32()),
            "ms": pa.array([ms, None, ms], pa.timestamp("ms")),
            "us": pa.array([moment, None, moment], pa.timestamp("us")),
            "ns": pa.array([1, None, -1], pa.timestamp("ns")),
            "utc": pa.array([moment.replace(tzinfo=UTC), None, moment.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")),
            "clock": pa.array([datetime.time(1, 2, 3, 4), None, datetime.time(23, 59, 59)], pa.time64("us")),
            "span": pa.array([1, None, -1], pa.duration("s")),
            "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
            "struct": pa.array(
                [{"a": 1, "b": None}, None, {"a": None, "b": ["x"]}],
                pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())}),
            ),
            "nothing": pa.nulls(3),
        }
    )


def rows_of(path: Path, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as connection:
        return connection.execute(sql).fetchall()


def change(path: Path, script: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executescript(script)


def numbers(n: int, first: int = 0) -> pa.Table:
    ids = range(first, first + n)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids], "x": [i / 4 for i in ids]})


def test_every_type_comes_back_as_what_it_was(tmp_path: Path) -> None:
    table, target = every_type(), f"sqlite:{tmp_path / 'a.db'}#t"
    copied = lr.copy(table, target, verify=True)
    assert (copied.rows, copied.rejected) == (3, 0)
    assert copied.checksum == lr.checksum(table).checksum == lr.checksum(target).checksum
    back = lr.scan(target).to_arrow()
    assert back.equals(table.cast(back.schema))
    assert [str(f.type) for f in back.schema] == [str(f.type) for f in table.schema]
    found = rows_of(tmp_path / "a.db", "SELECT typeof(int64), money, day, us, utc, list, uint64, bool FROM t")[0]
    assert found == ("integer", "-0.05", "2024-02-29", "1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999Z",
                     "[1,null]", str(2**63), 1)  # fmt: skip
    sql = rows_of(tmp_path / "a.db", "SELECT sql FROM sqlite_schema WHERE name = 't'")[0][0]
    assert isinstance(sql, str)
    assert sql.endswith("STRICT")
    assert '"money" TEXT /* decimal(38, 2) */' in sql or "decimal(38,2)" in sql


@pytest.mark.filterwarnings('ignore:column "fixed":lakerace.LakeraceWarning')
def test_one_checksum_through_other_places(tmp_path: Path) -> None:
    table = every_type().drop_columns(["nothing", "span", "clock", "uint64", "uint32", "ns", "wide"])
    pq.write_table(table, tmp_path / "a.parquet")
    sums = {lr.checksum(tmp_path / "a.parquet").checksum}
    hops: list[str] = [
        str(tmp_path / "a.parquet"),
        f"delta:{tmp_path / 'delta'}",
        f"sqlite:{tmp_path / 'a.db'}#t",
        str(tmp_path / "b.parquet"),
    ]
    for source, target in itertools.pairwise(hops):
        sums.add(str(lr.copy(source, target, verify=True).checksum))
    assert len(sums) == 1


def test_modes(tmp_path: Path) -> None:
    database, target = tmp_path / "a.db", f"sqlite://{tmp_path}/a.db#t"
    lr.copy(numbers(5), target, key="id")
    with pytest.raises(lr.ConflictError, match='replace it with mode="overwrite"'):
        lr.copy(numbers(5), target)
    with pytest.raises(lr.ConflictError, match="UNIQUE constraint failed"):
        lr.copy(numbers(3, 3), target, mode="append")
    assert rows_of(database, "SELECT count(*) FROM t") == [(5,)]
    lr.copy(numbers(2, 5), target, mode="append", verify=True)
    changed = pa.table({"id": [1, 6, 9], "name": ["one", None, "new"]})
    assert lr.copy(changed, target, mode="upsert", key="id").rows == 3
    assert rows_of(database, "SELECT id, name, x FROM t WHERE id IN (1, 6, 9) ORDER BY id") == [
        (1, "one", 0.25),
        (6, None, 1.5),
        (9, "new", None),
    ]
    lr.copy(pa.table({"id": [1, 77]}), target, mode="delete", key="id")
    assert rows_of(database, "SELECT count(*), min(id) FROM t WHERE id > 0") == [(6, 2)]
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE INDEX by_name ON t (name)")
        connection.execute("CREATE VIEW v AS SELECT id FROM t")
    copied = lr.copy(numbers(1000), target, mode="overwrite", verify=True)
    assert copied.rows == 1000
    assert rows_of(database, "SELECT count(*) FROM v") == [(1000,)]
    assert rows_of(database, "SELECT name FROM sqlite_schema WHERE type = 'index' AND name = 'by_name'")
    assert lr.scan(f"sqlite:{database}#v").count() == 1000


def test_upsert_needs_a_unique_key(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER, name TEXT, x REAL)")
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    with pytest.raises(lr.InvalidInputError, match="CREATE UNIQUE INDEX"):
        lr.copy(numbers(3), target, mode="upsert", key="id")
    with pytest.raises(lr.UsageError, match="key"):
        lr.copy(numbers(3), target, mode="upsert")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE UNIQUE INDEX k ON t (id)")
    lr.copy(numbers(3), target, mode="upsert", key="id")
    lr.copy(numbers(4), target, mode="upsert", key="id")
    assert rows_of(tmp_path / "a.db", "SELECT count(*) FROM t") == [(4,)]


@pytest.mark.parametrize("made_by", ["lakerace", "others"])
def test_a_null_is_no_number_of_a_row(tmp_path: Path, made_by: str) -> None:
    path, target = tmp_path / "a.db", f"sqlite:{tmp_path / 'a.db'}#t"
    if made_by == "lakerace":
        lr.copy(pa.table({"id": [1], "x": ["a"]}), target, key="id")
    else:
        change(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES (1, 'a')")
    nulls = pa.table({"id": pa.array([7, None], pa.int64()), "x": ["b", "c"]})
    with pytest.raises(lr.InvalidInputError, match='row 2 of the load: the key column "id" is null'):
        lr.copy(nulls, target, mode="append")
    # Rows that have no such column take the next number.
    if made_by == "others":
        assert lr.copy(pa.table({"x": ["d"]}), target, mode="append").rows == 1
    assert rows_of(path, "SELECT id FROM t") == ([(1,), (2,)] if made_by == "others" else [(1,)])
    # A key that is an index beside the rows keeps its nulls.
    change(path, "CREATE TABLE d (id INTEGER PRIMARY KEY DESC, x TEXT)")
    assert lr.copy(nulls, f"sqlite:{path}#d", mode="append").rows == 2
    assert rows_of(path, "SELECT count(*) FROM d WHERE id IS NULL") == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT PRIMARY KEY ON CONFLICT IGNORE, b TEXT); INSERT INTO t VALUES (1, 'old')",
        """CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'old');
        CREATE TRIGGER no BEFORE INSERT ON t WHEN new.b = 'new1' BEGIN SELECT raise(ignore); END""",
    ],
)
def test_rows_that_the_table_ignores_are_refused(tmp_path: Path, sql: str) -> None:
    path, target, letters = tmp_path / "a.db", f"sqlite:{tmp_path / 'a.db'}#t", tmp_path / "letters"
    change(path, sql)
    new = pa.table({"a": range(200), "b": [f"new{n}" for n in range(200)]})
    with pytest.raises(lr.InvalidInputError, match="row 2 of the load: the table ignored the row"):
        lr.copy(new, target, mode="append")
    assert rows_of(path, "SELECT * FROM t") == [(1, "old")]
    done = lr.copy(new, target, mode="append", dead_letter=letters)
    assert (done.rows, done.rejected) == (199, 1)
    assert json.loads(letters.read_text())["row"] == {"a": 1, "b": "new1"}
    assert rows_of(path, "SELECT count(*) FROM t WHERE a = 1 AND b = 'old'") == [(1,)]


def test_tables_that_mend_rows_take_them(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    change(
        path,
        """CREATE TABLE replaced (a INT PRIMARY KEY ON CONFLICT REPLACE, b TEXT); INSERT INTO replaced VALUES (1, 'old');
        CREATE TABLE log (a INT); CREATE TABLE logged (a INT, b TEXT);
        CREATE TRIGGER log_it AFTER INSERT ON logged BEGIN INSERT INTO log VALUES (new.a), (new.a); END;
        CREATE TABLE kept (a INT PRIMARY KEY ON CONFLICT FAIL, b TEXT); INSERT INTO kept VALUES (150, 'old');
        CREATE TABLE keys (a INT PRIMARY KEY); INSERT INTO keys VALUES (1)""",
    )
    new = pa.table({"a": range(200), "b": [f"new{n}" for n in range(200)]})
    for table in ("replaced", "logged"):
        assert lr.copy(new, f"sqlite:{path}#{table}", mode="append").rows == 200
        assert rows_of(path, f"SELECT count(*) FROM {table}") == [(200,)]
    # A key that is there already is no change, and no row that is lost.
    assert lr.copy(new.select(["a"]), f"sqlite:{path}#keys", mode="upsert", key="a").rows == 200
    assert rows_of(path, "SELECT count(*) FROM keys") == [(200,)]
    assert rows_of(path, "SELECT b FROM replaced WHERE a = 1") == [("new1",)]
    # The rows before the one that is refused are no duplicates.
    done = lr.copy(new, f"sqlite:{path}#kept", mode="append", dead_letter=tmp_path / "letters")
    assert (done.rows, done.rejected) == (199, 1)


def test_a_column_that_the_table_lacks(tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(pa.table({"id": [1]}), target, key="id")
    for options in (["--mode", "append"], ["--mode", "upsert", "--key", "id"]):
        pq.write_table(pa.table({"id": [2], "w": ["b"]}), tmp_path / "more.parquet")
        done = run("copy", tmp_path / "more.parquet", target, *options)
        assert done.code == 3
        assert 'add it (ALTER TABLE "t" ADD COLUMN "w" TEXT' in done.err
        assert "--mode overwrite" in done.err
    change(tmp_path / "a.db", 'ALTER TABLE "t" ADD COLUMN "w" TEXT /* utf8 */')
    ok("copy", tmp_path / "more.parquet", target, "--mode", "append")
    assert list(lr.scan(target).rows()) == [(1, None), (2, "b")]


@pytest.mark.parametrize(
    ("declared", "row"),
    [
        ("v TEXT UNIQUE", {"id": 2, "v": "a"}),
        ("v TEXT NOT NULL", {"id": 2, "v": None}),
        ("v TEXT CHECK (v <> 'b')", {"id": 2, "v": "b"}),
        ("v TEXT, UNIQUE (v, id)", {"id": 1, "v": "a"}),
        ("v TEXT, CONSTRAINT named CHECK (id < 2)", {"id": 2, "v": "b"}),
    ],
)
def test_a_table_that_is_replaced_is_named_where_a_constraint_fails(
    tmp_path: Path, declared: str, row: dict[str, object]
) -> None:
    database, target, dead = tmp_path / "a.db", f"sqlite:{tmp_path / 'a.db'}#t", tmp_path / "dead.jsonl"
    change(database, f"CREATE TABLE t (id INTEGER, {declared})")
    change(database, "INSERT INTO t VALUES (1, 'a')")
    # What SQLite says of the row itself.
    with pytest.raises(sqlite3.IntegrityError) as refused:
        change(database, f"INSERT INTO t VALUES ({row['id']}, {'NULL' if row['v'] is None else repr(row['v'])})")
    rows = pa.Table.from_pylist([{"id": 1, "v": "a"}, row], pa.schema({"id": pa.int64(), "v": pa.string()}))
    with pytest.raises(lr.Error) as raised:
        lr.copy(rows, target, mode="overwrite")
    assert str(refused.value) in str(raised.value)
    assert "_lakerace" not in str(raised.value)
    assert rows_of(database, "SELECT * FROM t") == [(1, "a")]
    lr.copy(rows, target, mode="overwrite", dead_letter=dead)
    assert json.loads(dead.read_text())["reason"] == str(refused.value)


def test_rejected_rows_go_to_the_dead_letter_file(tmp_path: Path) -> None:
    target, dead = f"sqlite:{tmp_path / 'a.db'}#t", tmp_path / "dead.jsonl"
    rows = pa.table({"id": [1, 2, 2, None, 3], "x": [0.5, float("nan"), 2.0, 3.0, 4.0], "secret": ["canary"] * 5})
    with pytest.raises(lr.Error, match='dead_letter="FILE"') as raised:
        lr.copy(rows, target, key="id")
    assert "canary" not in str(raised.value)
    assert not (tmp_path / "a.db").exists()
    copied = lr.copy(rows, target, key="id", dead_letter=dead, verify=True)
    assert (copied.rows, copied.rejected) == (3, 2)
    assert stat.S_IMODE(dead.stat().st_mode) == 0o600
    letters = [json.loads(line) for line in dead.read_text().splitlines()]
    assert [letter["key"] for letter in letters] == [{"id": 2}, {"id": None}]
    assert letters[0]["row"] == {"id": 2, "x": "NaN", "secret": "canary"}
    assert "canary" not in letters[0]["reason"]
    nan = pa.table({"id": [7, 8], "x": [float("nan"), 1.0]})
    assert lr.copy(nan, f"sqlite:{tmp_path / 'b.db'}#t", key="id", dead_letter=tmp_path / "nan").rejected == 1
    reason = json.loads((tmp_path / "nan").read_text())["reason"]
    assert reason == 'column "x" is NaN, which SQLite stores as null (allow this with `allow_narrowing`)'
    copied = lr.copy(rows, target, key="id", dead_letter=tmp_path / "more", mode="overwrite", allow_narrowing=True)
    assert (copied.rows, copied.rejected) == (3, 2)


def test_parts_and_filters_agree_with_sqlite(tmp_path: Path) -> None:
    database, target = tmp_path / "a.db", f"sqlite:{tmp_path / 'a.db'}#t"
    n = 200_000
    lr.copy(numbers(n), target, key="id")
    scan = lr.scan(target, threads=4)
    assert [row["id"] for row in scan.to_arrow().select(["id"]).to_pylist()] == list(range(n))
    assert lr.scan(target, columns=["name"], limit=70_000).to_arrow().num_rows == 70_000
    for where in ["id > 199990", "name >= 'n9999' and id < 100000", "x = 2.5", "name is null", "id in (1, 5, -1)",
                  "name = 'n7' or id = 8", "not (id > 3)", "name like '%99'"]:  # fmt: skip
        expected = rows_of(database, f"SELECT id FROM t WHERE {where} ORDER BY id")
        found = lr.scan(target, columns=["id"], where=where).to_arrow()["id"].to_pylist()
        assert found == [row[0] for row in expected], where
        assert lr.scan(target, where=where).count() == len(expected)
    parts = lr.scan(target).tasks(3)
    assert sum(part.count() for part in parts) == n


def test_a_foreign_database_with_affinities(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    with sqlite3.connect(database) as connection:
        connection.executescript(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, flag BOOLEAN, day DATE, at DATETIME, price DECIMAL(10, 2), n NUMERIC,
                            any, code TEXT COLLATE NOCASE, "quoted ""name" VARCHAR(10));
            INSERT INTO t VALUES (1, 1, '2024-02-29', '2024-01-01 12:00:00', 1.5, 1, 1, 'A', 'x'),
                                 (7, 0, NULL, '2024-01-01 12:00:00.25', 3, 2.5, 2, 'a', NULL);
            CREATE TABLE mixed (a INTEGER, b INTEGER);
            INSERT INTO mixed VALUES (1, 1), (2, 'two'), (3, 3);
            CREATE TABLE keyed (k TEXT PRIMARY KEY, v INTEGER) WITHOUT ROWID;
            INSERT INTO keyed VALUES ('b', 2), ('a', 1);
            """
        )
    table = lr.scan(f"sqlite:{database}#t").to_arrow()
    assert [str(field.type) for field in table.schema] == [
        "int64", "bool", "date32[day]", "timestamp[ms]", "decimal128(10, 2)", "double", "int64", "string", "string",
    ]  # fmt: skip
    assert table["price"].to_pylist() == [decimal.Decimal("1.50"), decimal.Decimal("3.00")]
    assert table["at"].to_pylist()[1].microsecond == 250_000
    assert lr.scan(f"sqlite:{database}#t", where="code = 'a'").count() == 1
    with pytest.raises(
        lr.InvalidInputError, match=r'column "b": .*integers \(first at rowid 1\), texts \(first at rowid 2\)'
    ):
        lr.scan(f"sqlite:{database}#mixed")
    given = lr.scan(f"sqlite:{database}#mixed", schema="b utf8").to_arrow()
    assert given["b"].to_pylist() == ["1", "two", "3"]
    assert given["a"].to_pylist() == [1, 2, 3]
    with pytest.raises(lr.InvalidInputError, match="rowid 2"):
        lr.scan(f"sqlite:{database}#mixed", schema="b int64").to_arrow()
    assert lr.scan(f"sqlite:{database}#keyed").to_arrow()["k"].to_pylist() == ["a", "b"]
    query = lr.scan(f"sqlite:{database}?query=SELECT k, v * 2 AS w FROM keyed WHERE v > 1;").to_arrow()
    assert query.to_pylist() == [{"k": "b", "w": 4}]
    assert lr.scan(f"sqlite:{database}?query=SELECT k FROM keyed -- all").count() == 2
    with pytest.raises(lr.InvalidInputError, match="another number"):
        lr.copy(pa.table({"id": [9], "price": ["007"]}), f"sqlite:{database}#t", mode="append")


def test_bad_places(tmp_path: Path) -> None:
    text, database = tmp_path / "text.db", tmp_path / "a.db"
    text.write_text("this is no database, whatever its name says\n" * 50)
    lr.copy(numbers(3), f"sqlite:{database}#numbers")
    cases: list[tuple[list[object], int, str]] = [
        (["scan", f"sqlite:{tmp_path}/none.db#t"], 3, "the database file does not exist"),
        (["scan", f"sqlite:{database}#nmbers"], 3, "numbers"),
        (["scan", f"sqlite:{database}"], 2, "the location names no table"),
        (["scan", f"sqlite://host/{database}#t"], 2, "names a host"),
        (["scan", f"sqlite:{text}#t"], 4, "not a SQLite database"),
        (["scan", f"sqlite:{tmp_path}#t"], 4, "not a regular file"),
        (["scan", f"sqlite:{database}?query=DROP TABLE numbers"], 2, "SELECT"),
        (["scan", f"sqlite:{database}#numbers", "--at", "3"], 6, "version"),
        (["copy", f"sqlite:{database}#numbers", f"sqlite:{tmp_path}/no/b.db#t"], 3, "can't be opened"),
        # Like a file in a folder that may not be written, which nothing keeps root from.
        (["copy", f"sqlite:{database}#numbers", f"sqlite:{tmp_path}#t"], 4, "give write access"),
        (["copy", f"sqlite:{database}#numbers", tmp_path / "a.parquet", "--key", "id"], 2, "only databases"),
        (["copy", f"sqlite:{database}#numbers", tmp_path / "a.parquet", "--batch-rows", "5"], 2, "written whole"),
        (["copy", f"sqlite:{database}#numbers", tmp_path / "a.parquet", "--mode", "upsert"], 2, "one by one"),
        (["copy", f"sqlite:{database}#numbers", f"sqlite:{tmp_path}/b.db#t", "--key", "idd"], 3, "idd"),
    ]
    for arguments, code, message in cases:
        done = run(*arguments)
        assert (done.code, message in done.err) == (code, True), (arguments, done)
    bytes_ = bytearray(database.read_bytes())
    bytes_[4096:8192] = b"\xff" * 4096
    (tmp_path / "bad.db").write_bytes(bytes_)
    assert run("scan", f"sqlite:{tmp_path}/bad.db#numbers").code == 5


def test_a_text_that_is_not_utf8_is_bytes(tmp_path: Path) -> None:
    change(tmp_path / "a.db", "CREATE TABLE t (s TEXT); INSERT INTO t VALUES (CAST(X'FF41' AS TEXT))")
    done = run("scan", f"sqlite:{tmp_path / 'a.db'}#t")
    assert (done.code, 'such as "s binary"' in done.err) == (4, True), done.err
    assert list(lr.scan(f"sqlite:{tmp_path / 'a.db'}#t", schema="s binary").rows()) == [(b"\xffA",)]


def test_a_lock_is_told_and_waited_for(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    lr.copy(numbers(3), f"sqlite:{database}#t")
    with sqlite3.connect(database, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        # Locks are those of processes.
        done = run("copy", f"sqlite:{database}#t", f"sqlite:{tmp_path / 'b.db'}#u")
        assert (done.code, "locked" in done.err) == (8, True)
        other.execute("ROLLBACK")
    lr.copy(numbers(3), f"sqlite:{database}#u")


@pytest.mark.parametrize("kind", ["sqlite", "delta"])
def test_a_killed_load_goes_on_and_loses_and_doubles_nothing(tmp_path: Path, kind: str) -> None:
    source, rows = tmp_path / "a.parquet", 30_000
    pq.write_table(numbers(rows), source)
    target = f"sqlite:{tmp_path / 'a.db'}#t" if kind == "sqlite" else f"delta:{tmp_path / 'table'}"
    arguments = ["copy", source, target, "--batch-rows", "1000", "--max-rate", "60000", "--json"]
    env = {**os.environ}
    kills = 0
    for attempt in range(60):
        mine = arguments + (["--resume"] if attempt else [])
        job = subprocess.Popen(command(*mine), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        time.sleep(0.15 + attempt * 0.01)
        if job.poll() is None:
            job.send_signal(signal.SIGKILL)
            kills += 1
        _, err = job.communicate(timeout=TIMEOUT_SECONDS)
        if job.returncode == 0:
            break
        assert job.returncode == -signal.SIGKILL, err.decode()
    else:
        ok(*arguments, "--resume")
    assert kills > 1
    back = lr.scan(target).to_arrow()
    assert sorted(back["id"].to_pylist()) == list(range(rows))
    again = json.loads(ok(*arguments, "--resume").out)
    assert (again["rows"], again["skipped"]) == (0, rows)
    assert lr.scan(target).count() == rows


def test_a_changed_source_is_told_on_resume(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", f"sqlite:{tmp_path / 'a.db'}#t"
    pq.write_table(numbers(5000), source)
    job = subprocess.Popen(command("copy", source, target, "--batch-rows", "100", "--max-rate", "500"))
    while not (tmp_path / "a.db").exists() or not (
        rows_of(tmp_path / "a.db", "SELECT count(*) FROM sqlite_schema") > [(2,)]
    ):
        time.sleep(0.05)
    job.send_signal(signal.SIGKILL)
    job.wait()
    pq.write_table(numbers(5001), source)
    with pytest.raises(lr.ConflictError, match="another version of the source"):
        lr.copy(source, target, batch_rows=100, resume=True)


@pytest.mark.parametrize("batch_rows", [1000, 777, "all"])
def test_batches_are_commits(tmp_path: Path, batch_rows: int | Literal["all"]) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(numbers(5000), source, row_group_size=1300)
    table = f"delta:{tmp_path / 'table'}"
    copied = lr.copy(source, table, batch_rows=batch_rows, verify=True)
    assert copied.rows == 5000
    commits = {1000: 5, 777: 7, "all": 1}[batch_rows]
    assert len(list((tmp_path / "table" / "_delta_log").glob("*.json"))) == commits
    lr.copy(source, table, mode="append", batch_rows=batch_rows, verify=True)
    lr.copy(source, table, mode="overwrite", batch_rows=batch_rows, verify=True)
    assert lr.scan(table).count() == 5000
    lr.copy(source, f"sqlite:{tmp_path / 'a.db'}#t", batch_rows=batch_rows, mode="overwrite", verify=True)
    assert rows_of(tmp_path / "a.db", "SELECT count(*), sum(id) FROM t") == [(5000, 12_497_500)]


def test_a_query_stands_as_it_is_written(tmp_path: Path) -> None:
    base = tmp_path / "a.db"
    with sqlite3.connect(base) as connection:
        connection.execute("CREATE TABLE t (x TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("120%",), ("a b",), ("ä",)])
    connection.close()
    sql = "SELECT x FROM t WHERE x LIKE '%20%' OR x = '%C3%A4'"
    assert [row[0] for row in lr.scan(f"sqlite:{base}?query={sql}").rows()] == ["120%"]
    # A URL is decoded, as all of it is.
    sql = "SELECT%20x FROM t WHERE x LIKE '%2520%25' OR x = '%C3%A4'"
    assert [row[0] for row in lr.scan(f"sqlite://{base}?query={sql}").rows()] == ["120%", "ä"]


def test_nested_values_of_every_kind_come_back(tmp_path: Path) -> None:
    span, text = pa.duration("ms"), pa.dictionary(pa.int32(), pa.string())
    moment = pa.timestamp("us", "Europe/Berlin")
    rows = pa.table(
        {
            "list": pa.array([[1, None], [], None], pa.list_(span)),
            "struct": pa.array([{"d": -(2**62)}, {"d": None}, None], pa.struct([("d", span)])),
            "map": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), span)),
            "texts": pa.array([["a", "b", "a"], [None], None], pa.list_(text)),
            "moments": pa.array([[0, 253_402_300_799_999_999], [-62_135_596_800_000_000], None], pa.list_(moment)),
        }
    )
    target = f"sqlite:{tmp_path}/a.db#t"
    copied = lr.copy(rows, target, verify=True)
    assert copied.checksum == lr.checksum(rows).checksum
    back = lr.scan(target).to_arrow()
    assert back.schema.types == rows.schema.types
    assert back.equals(rows)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[253_402_300_800_000_000]], pa.list_(pa.timestamp("us"))),
        pa.array([{"d": -62_167_219_200_000_001}], pa.struct([("d", pa.timestamp("us", "UTC"))])),
        pa.array([[2_932_897]], pa.list_(pa.date32())),
        pa.array([[(1, 1)]], pa.map_(pa.int64(), pa.int64())),
        pa.array([[pa.MonthDayNano([1, 2, 3])]], pa.list_(pa.month_day_nano_interval())),
        pa.ListArray.from_arrays([0, 1], pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])),
    ],
    ids=lambda column: str(column.type),
)
def test_nested_values_that_would_not_come_back_are_refused(tmp_path: Path, column: pa.Array) -> None:
    rows = pa.table({"id": [1], "c": column})
    with pytest.raises((lr.UnsupportedError, lr.InvalidInputError), match='column "c"'):
        lr.copy(rows, f"sqlite:{tmp_path}/a.db#t")
    assert not list(tmp_path.iterdir())


TIMES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("unit", TIMES)
def test_times_that_no_text_stands_for_are_refused(tmp_path: Path, unit: str) -> None:
    a_day = 86_400 * TIMES[unit]
    kind, integer = (pa.time32, pa.int32()) if unit in ("s", "ms") else (pa.time64, pa.int64())

    def times(*values: int | None) -> pa.Table:
        return pa.table({"id": range(len(values)), "at": pa.array(values, integer).view(kind(unit))})

    target = f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(times(0, None, a_day - 1), target)
    texts = [text for (text,) in rows_of(tmp_path / "a.db", "SELECT at FROM t ORDER BY id")]
    assert [text and text[:8] for text in texts] == ["00:00:00", None, "23:59:59"]
    assert lr.checksum(target) == lr.checksum(times(0, None, a_day - 1))
    for value in (-1, a_day, 2**31 - 1):
        if 0 <= value < a_day:
            continue
        with pytest.raises(lr.InvalidInputError, match=r'column "at": the time of row 2 is .* not within a day'):
            lr.copy(times(5, value), target, mode="append")
    assert rows_of(tmp_path / "a.db", "SELECT count(*) FROM t") == [(3,)]


def test_maps_with_a_key_twice_are_refused(tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    kind = pa.map_(pa.string(), pa.int64())
    once, twice = [("a", 1), ("b", 2)], [("a", 1), ("b", 2), ("a", 3)]
    lr.copy(pa.table({"m": pa.array([once, None], kind)}), target)
    assert rows_of(tmp_path / "a.db", "SELECT m FROM t") == [('{"a":1,"b":2}',), (None,)]
    for column in (pa.array([once, twice], kind), pa.array([[once], [once, twice]], pa.list_(kind))):
        with pytest.raises(lr.InvalidInputError, match='column "m": the map of row 2 has the key "a" twice'):
            lr.copy(pa.table({"m": column}), target, mode="overwrite")
    assert lr.scan(target).to_arrow()["m"].to_pylist() == [once, None]
