"""What incremental unloads keep with their target: a run without news, a target that was made again, a source spelled otherwise."""

from __future__ import annotations

import datetime
import decimal
import sqlite3
import urllib.parse
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import empty_place, ok
from deltalake import DeltaTable, write_deltalake

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "seen"}


@pytest.fixture(params=["mongodb", "elasticsearch", "sqlite", "delta"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each kind that takes upserts."""
    return empty_place(request, tmp_path)


def filled(path: Path, count: int) -> sqlite3.Connection:
    """A table of another program, which knows nothing of lakerace."""
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, seen INTEGER, text TEXT, day DATE, price DECIMAL(10, 2))")
    database.execute("CREATE INDEX seen ON t (seen)")
    values = ((n, n // 3, f"text {n}", "2024-02-29", 1.5) for n in range(count))
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", values)
    database.commit()
    return database


def test_a_run_without_news_writes_nothing(tmp_path: Path) -> None:
    folder, source = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    with closing(filled(tmp_path / "a.db", 1000)) as database:
        # For other readers.
        properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
        assert lr.copy(source, f"delta:{folder}", **OPTIONS, table_properties=properties).rows == 1000
        before = DeltaTable(folder).version()
        entries = sorted(path.name for path in folder.rglob("*"))
        arguments = ["copy", source, f"delta:{folder}", "--mode", "upsert", "--key", "id", "--since", "seen"]
        done = ok(*arguments, "--json")
        assert (done.json["rows"], done.json["unchanged"]) == (0, True)
        assert "no new rows since" in done.err
        assert (DeltaTable(folder).version(), sorted(path.name for path in folder.rglob("*"))) == (before, entries)
        # A row that comes with the highest value is told from those that were there.
        database.execute("INSERT INTO t VALUES (5000, 333, 'more', NULL, NULL)")
        database.execute("UPDATE t SET text = 'changed' WHERE id = 999")
        database.commit()
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 2
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 0
    rows = DeltaTable(folder).to_pyarrow_table().sort_by("id").to_pylist()
    assert len(rows) == 1001
    assert [row["text"] for row in rows[-2:]] == ["changed", "more"]


def test_a_run_without_news_reads_little(tmp_path: Path) -> None:
    """The types are known by the second run, and SQLite finds the rows by its index."""
    folder, source = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    with closing(filled(tmp_path / "a.db", 3000)) as database:
        lr.copy(source, f"delta:{folder}", **OPTIONS)
        database.execute("INSERT INTO t VALUES (9000, 9000, NULL, NULL, NULL)")
        # What does not fit the types is seen, and all rows are looked at again.
        database.execute("INSERT INTO t VALUES (9001, 9001, 'x', '2024-03-01', 2)")
        database.commit()
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 2
    (row,) = lr.scan(folder, where="id = 9001").rows()
    assert row == (9001, 9001, "x", datetime.date(2024, 3, 1), decimal.Decimal("2.00"))


def test_columns_without_values_have_the_declared_type(tmp_path: Path) -> None:
    folder, source = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        columns = "shipped DATE, ok BOOLEAN, amount DECIMAL(10, 2), at DATETIME"
        database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, seen INTEGER, {columns})")
        database.execute("INSERT INTO t (id, seen) VALUES (1, 1)")
        database.commit()
        types = {name: str(lr.scan(source).schema.field(name).type) for name in ["shipped", "ok", "amount", "at"]}
        assert types == {"shipped": "date32[day]", "ok": "bool", "amount": "decimal128(10, 2)", "at": "timestamp[us]"}
        lr.copy(source, f"delta:{folder}", **OPTIONS)
        database.execute("INSERT INTO t VALUES (2, 2, '2024-01-01', 1, '12.50', '2024-01-01 10:00:00')")
        database.commit()
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 1
    (row,) = lr.scan(folder, where="id = 2").rows()
    moment = datetime.datetime(2024, 1, 1, 10)
    assert row == (2, 2, datetime.date(2024, 1, 1), True, decimal.Decimal("12.50"), moment)


def test_types_that_sqlite_does_not_know_are_texts_without_values(tmp_path: Path) -> None:
    """SQLite compares the values of such columns as numbers, and yet keeps texts in them as they are."""
    declared = {
        "TIME": "string",
        "JSON": "string",
        "UUID": "string",
        "STRING": "string",
        "INTERVAL": "string",
        "MONEY": "double",
        "NUMBER": "double",
        "BLOB": "binary",
        "TIMESTAMPTZ": "timestamp[us, tz=UTC]",
    }
    folder, source = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        columns = ", ".join(f"c{number} {name}" for number, name in enumerate(declared))
        database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, seen INTEGER, {columns})")
        database.execute("INSERT INTO t (id, seen) VALUES (1, 1)")
        database.commit()
        assert [str(field.type) for field in lr.scan(source).schema][2:] == list(declared.values())
        lr.copy(source, f"delta:{folder}", **OPTIONS)
        values = ["10:00", "{}", "0f-1", "x", "1 day", 1.5, 2.5, b"\xff", "2024-01-01 10:00:00+02:00"]
        database.execute(f"INSERT INTO t VALUES (2, 2, {', '.join('?' * len(values))})", values)
        database.commit()
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 1
    (row,) = lr.scan(folder, where="id = 2").rows()
    assert list(row[2:10]) == values[:8]
    assert row[10] == datetime.datetime(2024, 1, 1, 8, tzinfo=datetime.UTC)


def test_fields_that_are_null_everywhere_have_the_type_of_before(target: str, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("mongo")
    name = f"notes_{target.split(':', 1)[0]}"
    notes = server.client[server.database][name]
    notes.insert_many([{"_id": n, "seen": n, "note": "x"} for n in range(200)])
    options = {**OPTIONS, "key": "_id"}
    if target.startswith(("sqlite", "elasticsearch")):
        options["columns"] = ["_id", "seen", "note"]
    assert lr.copy(server.location(name), target, **options).rows == 200
    notes.delete_many({"_id": {"$lt": 199}})
    notes.update_one({"_id": 199}, {"$set": {"note": None, "seen": 200}})
    notes.insert_one({"_id": 300, "seen": 300, "note": None})
    assert lr.copy(server.location(name), target, **options).rows == 2
    found = {row[0]: row[1] for row in lr.scan(target, columns=["_id", "note"]).rows()}
    assert (len(found), found[198], found[199], found[300]) == (201, "x", None, None)


def made_again(target: str, request: pytest.FixtureRequest) -> None:
    """Another program drops the place, and makes it again."""
    scheme, rest = target.split(":", 1)
    match scheme:
        case "mongodb":
            server = request.getfixturevalue("mongo")
            name = target.rsplit("/", 1)[1]
            server.client[server.database].drop_collection(name)
            server.client[server.database].create_collection(name)
        case "elasticsearch":
            import http.client

            place = urllib.parse.urlsplit(f"http:{rest}")
            connection = http.client.HTTPConnection(place.netloc)
            body = '{"mappings": {"properties": {"id": {"type": "long"}, "seen": {"type": "long"}}}}'
            for method, text in [("DELETE", None), ("PUT", body)]:
                connection.request(method, place.path, text, {"content-type": "application/json"})
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()
            connection.close()
        case _:
            path, name = rest.split("#")
            with closing(sqlite3.connect(path)) as database, database:
                database.execute(f"DROP TABLE {name}")
                database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, seen INTEGER)")


@pytest.mark.parametrize("target", ["mongodb", "elasticsearch", "sqlite"], indirect=True)
def test_a_target_that_was_made_again_gets_all_rows(
    target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source = tmp_path / "rows.parquet"
    numbers = pa.array(range(20), pa.int64())
    pq.write_table(pa.table({"id": numbers, "seen": numbers}), source)
    assert lr.copy(source, target, **OPTIONS).rows == 20
    assert lr.copy(source, target, **OPTIONS).rows == 0
    made_again(target, request)
    assert lr.copy(source, target, **OPTIONS).rows == 20
    assert lr.scan(target).count() == 20
    assert lr.copy(source, target, **OPTIONS).rows == 0


def test_a_source_that_is_spelled_otherwise_is_the_same(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = request.getfixturevalue("mongo")
    server.client[server.database].rows.insert_many([{"_id": n, "seen": n} for n in range(200)])
    filled(tmp_path / "a.db", 10).close()
    pq.write_table(pa.table({"id": [1, 2], "seen": [1, 2]}), tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    host = server.url.removeprefix("mongodb://")
    table = lr.copy(tmp_path / "rows.parquet", f"delta:{tmp_path / 'source'}")
    assert table.rows == 2
    spellings = {
        "_id": [
            f"mongodb://{host}/{server.database}/rows?retryWrites=true&mixed=error",
            f"mongodb://{host.upper()}/{server.database}/rows?mixed=error&retryWrites=true",
            server.location("rows"),
        ],
        "id": [f"sqlite:{tmp_path / 'a.db'}#t", "sqlite:a.db#T", f"sqlite://{tmp_path}/./a.db#t"],
        "id ": ["rows.parquet", str(tmp_path / "rows.parquet"), f"file://{tmp_path}/rows.parquet"],
        "id  ": ["source", f"delta:{tmp_path / 'source'}/", "./source"],
    }
    for number, (key, places) in enumerate(spellings.items()):
        target = f"sqlite:{tmp_path / 'target.db'}#t{number}"
        first, *others = [lr.copy(place, target, **{**OPTIONS, "key": key.strip()}).rows for place in places]
        assert first > 0
        assert others == [0, 0]


def test_a_strict_table_of_another_program_has_its_own_types(tmp_path: Path) -> None:
    """The types that lakerace has kept are of a table that is gone."""
    path = tmp_path / "a.db"
    rows = pa.table({"id": [1], "day": [datetime.date(2024, 1, 1)]})
    lr.copy(rows, f"sqlite:{path}#t", key="id")
    assert str(lr.scan(f"sqlite:{path}#t").schema.field("day").type) == "date32[day]"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE t")
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, day TEXT NOT NULL) STRICT")
        database.execute("INSERT INTO t VALUES (1, 'monday')")
    assert list(lr.scan(f"sqlite:{path}#t").rows()) == [(1, "monday")]


def test_a_table_that_another_program_overwrites_gets_all_rows(tmp_path: Path) -> None:
    folder, source = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    with closing(filled(tmp_path / "a.db", 100)):
        properties = {"delta.enableDeletionVectors": "false"}
        assert lr.copy(source, f"delta:{folder}", **OPTIONS, table_properties=properties).rows == 100
        one = DeltaTable(folder).to_pyarrow_table().slice(0, 1)
        # The properties of the table stay, and with them what the last run has noted.
        write_deltalake(folder, one, mode="overwrite")
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 100
        assert sorted(DeltaTable(folder).to_pyarrow_table()["id"].to_pylist()) == list(range(100))
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 0
        # Rows that another program adds are no reason.
        write_deltalake(folder, one.set_column(0, "id", pa.array([1000], one.schema.field("id").type)), mode="append")
        assert lr.copy(source, f"delta:{folder}", **OPTIONS).rows == 0


@pytest.mark.parametrize("system", ["delta", "sqlite"])
def test_a_source_that_stays_empty(tmp_path: Path, system: str) -> None:
    folder, source = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    target = f"delta:{folder}" if system == "delta" else f"sqlite:{tmp_path / 'b.db'}#t"
    arguments = ["copy", source, target, "--mode", "upsert", "--key", "id", "--since", "seen", "--json"]
    with closing(filled(tmp_path / "a.db", 0)) as database:
        first = ok(*arguments)
        assert (first.json["rows"], "unchanged" in first.json, "no new rows since" in first.err) == (0, False, False)
        version = DeltaTable(folder).version() if system == "delta" else None
        for _ in range(2):
            again = ok(*arguments)
            assert (again.json["rows"], again.json["unchanged"], "no new rows since" in again.err) == (0, True, True)
        assert version is None or DeltaTable(folder).version() == version
        database.execute("INSERT INTO t VALUES (1, 1, 'a', NULL, NULL)")
        database.commit()
        assert ok(*arguments).json["rows"] == 1
        assert ok(*arguments).json["unchanged"] is True
