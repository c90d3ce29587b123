"""Reads of SQLite tables by an index: few pages, the same rows, and no value left out that does not fit."""

from __future__ import annotations

import datetime
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ok

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

    Value = Callable[[int], Any]

ROWS = 20_000
PAGE_BYTES = 4096
OPTIONS: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "seen", "threads": 4}


def time(number: int) -> datetime.datetime:
    return datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=370 * number)


COLUMNS: dict[str, tuple[str, Value]] = {
    "integer": ("INTEGER", lambda n: n),
    "untyped": ("", lambda n: n),
    "real": ("REAL", lambda n: 1.7e9 + n + 0.25),
    "decimal": ("DECIMAL(10,2)", lambda n: n + 0.25),
    "text": ("TEXT", lambda n: f"v{n:08d}"),
    "text of another collation": ("TEXT COLLATE NOCASE", lambda n: f"v{n:08d}"),
    "date": ("DATE", lambda n: (datetime.date(2000, 1, 1) + datetime.timedelta(days=n // 7)).isoformat()),
    "timestamp": ("DATETIME", lambda n: time(n).isoformat(" ")),
    "timestamp with T": ("TEXT", lambda n: time(n).isoformat()),
    "instant": ("TIMESTAMP", lambda n: time(n).isoformat() + "Z"),
    "instant with an offset": ("TIMESTAMP", lambda n: time(n).isoformat(" ") + "+02:00"),
}


def filled(path: Path, declared: str, value: Value, index: str | None = "CREATE INDEX by_seen ON t (seen)") -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, seen {declared}, text TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", ((n, value(n), "x" * 300) for n in range(ROWS)))
        if index is not None:
            database.execute(index)
        database.commit()


def bytes_read(job: Callable[[], object]) -> int:
    """The bytes that this process reads from files, as the kernel counts them."""

    def count() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return int(next(line.removeprefix("rchar: ") for line in lines if line.startswith("rchar")))

    before = count()
    job()
    return count() - before


def unloaded_again(folder: Path, declared: str, value: Value, index: str | None) -> tuple[int, int, int]:
    """Bytes that a run reads after two rows have changed, the rows that it takes, and the bytes of the database."""
    path, target = folder / "a.db", f"sqlite:{folder / 'b.db'}#t"
    filled(path, declared, value, index)
    assert lr.copy(f"sqlite:{path}#t", target, **OPTIONS).rows == ROWS
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE t SET seen = ?, text = 'new' WHERE id IN (5, 17000)", (value(ROWS + 1),))
        database.commit()
    taken = []
    read = bytes_read(lambda: taken.append(lr.copy(f"sqlite:{path}#t", target, **OPTIONS).rows))
    with closing(sqlite3.connect(folder / "b.db")) as database:
        assert database.execute("SELECT id FROM t WHERE text = 'new' ORDER BY id").fetchall() == [(5,), (17000,)]
    return read, taken[0], path.stat().st_size


@pytest.mark.parametrize("column", [name for name in COLUMNS if "collation" not in name])
def test_a_run_after_two_changes_reads_few_pages(tmp_path: Path, column: str) -> None:
    read, rows, size = unloaded_again(tmp_path, *COLUMNS[column], "CREATE INDEX by_seen ON t (seen)")
    assert rows == 2
    # The index's pages of a day are read where texts may be in any zone.
    assert read < 150 * PAGE_BYTES, f"{read // PAGE_BYTES} pages of {size // PAGE_BYTES}"


@pytest.mark.parametrize(
    "index", [None, "CREATE INDEX other ON t (text)", "CREATE INDEX part ON t (seen) WHERE id < 9"]
)
def test_a_run_without_an_index_reads_all_pages(tmp_path: Path, index: str | None) -> None:
    read, rows, size = unloaded_again(tmp_path, *COLUMNS["integer"], index)
    assert rows == 2
    assert read > size * 0.9 - (ROWS * 310 if index and "other" in index else 0)


def test_explain_tells_how_rows_are_found(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", *COLUMNS["integer"])
    place = f"sqlite:{tmp_path / 'a.db'}#t"
    few = ok("scan", place, "--where", f"seen >= {ROWS - 3}", "--explain")
    assert "found by index by_seen" in few.out
    assert "3 rows" in few.out
    for filter_, why in [("seen >= 3", "too many rows"), ("id + 1 = 7", "can't evaluate"), ("text > 'x'", "no index")]:
        assert why in ok("scan", place, "--where", filter_, "--explain").out


LITERALS: dict[str, Callable[[int], str]] = {
    "integer": str,
    "untyped": str,
    "real": lambda n: repr(1.7e9 + n + 0.25),
    "decimal": lambda n: f"{n}.25",
    "text": lambda n: f"'v{n:08d}'",
    "text of another collation": lambda n: f"'v{n:08d}'",
    "date": lambda n: f"DATE '{datetime.date(2000, 1, 1) + datetime.timedelta(days=n // 7)}'",
    "timestamp": lambda n: f"TIMESTAMP '{time(n)}'",
    "timestamp with T": lambda n: f"TIMESTAMP '{time(n)}'",
    "instant": lambda n: f"TIMESTAMP '{time(n)}Z'",
    "instant with an offset": lambda n: f"TIMESTAMP '{time(n)}+02:00'",
}


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_by_an_index_are_those_of_a_model_in_the_order_of_their_numbers(tmp_path: Path, column: str) -> None:
    declared, value = COLUMNS[column]
    order = list(range(ROWS))
    random.Random(7).shuffle(order)
    filled(tmp_path / "a.db", declared, lambda n: value(order[n]) if n % 50 else None)
    # Timestamps that are written otherwise.
    place, schema = f"sqlite:{tmp_path / 'a.db'}#t", "seen timestamp(us)" if column == "timestamp with T" else None
    for at in [ROWS - 1, ROWS - 2, ROWS - 700]:
        literal = LITERALS[column](at)
        low = value(at)
        expected = [n for n in range(ROWS) if not n % 50 or value(order[n]) >= low]
        found = lr.scan(place, columns=["id"], where=f"seen >= {literal} OR seen IS NULL", schema=schema, threads=3)
        assert [row["id"] for row in found.to_arrow().to_pylist()] == expected
        above = [n for n in expected if n % 50 and value(order[n]) > low]
        found = lr.scan(place, columns=["id"], where=f"seen > {literal}", schema=schema, threads=3)
        assert [row["id"] for row in found.to_arrow().to_pylist()] == above


def test_times_that_are_written_in_many_ways_are_found(tmp_path: Path) -> None:
    texts = [
        *("2024-03-05", "2024-03-05 00:00", "2024-03-05T00:00:00", "2024-03-05 12:34", "2024-03-05T12:34"),
        *("2024-03-05 12:34:00", "2024-03-05T12:34:00.5", "2024-03-05 12:34:59.999999", "2024-03-04T23:59:59"),
        *("2024-03-06", "2024-03-06 00:00:00", "+12024-01-01", "+12024-01-01 01:00", "-0044-03-15", "0000-01-01 00:00"),
    ]
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, seen DATETIME)")
        database.execute("CREATE INDEX by_seen ON t (seen)")
        database.executemany("INSERT INTO t (seen) VALUES (?)", [(text,) for text in texts])
        database.commit()
    place = f"sqlite:{tmp_path / 'a.db'}#t"
    plain = f"sqlite:{tmp_path / 'a.db'}?query=SELECT * FROM t"
    lows = [
        "2024-03-05 00:00:00",
        "2024-03-05 12:34:00",
        "2024-03-05 12:34:00.25",
        "2024-03-06 00:00:00",
        "9999-12-31 00:00:00",
    ]
    for low in [*lows, "0001-01-01 00:00:00"]:
        options: dict[str, Any] = {"where": f"seen >= TIMESTAMP '{low}'", "schema": "seen timestamp(us)"}
        found = lr.scan(place, **options, columns=["id"])
        # lakerace judges the rows of a query without its columns' types.
        all_rows = lr.scan(plain, schema="seen timestamp(us)").to_arrow()
        seen = all_rows["seen"].cast("int64").to_pylist()
        unit = (datetime.datetime.fromisoformat(low) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(
            microseconds=1
        )
        expected = [row for row, at in zip(all_rows["id"].to_pylist(), seen, strict=True) if at >= unit]
        assert [row["id"] for row in found.to_arrow().to_pylist()] == expected
        assert len(expected) > 1


@pytest.mark.parametrize(
    ("column", "value"),
    [("text", b"v"), ("timestamp", 17), ("timestamp", 1.5), ("timestamp", "soon"), ("integer", "soon"), ("date", 3)],
)
def test_values_of_another_kind_are_told_and_not_left_out(tmp_path: Path, column: str, value: Any) -> None:
    filled(tmp_path / "a.db", *COLUMNS[column])
    source, target = f"sqlite:{tmp_path / 'a.db'}#t", f"sqlite:{tmp_path / 'b.db'}#t"
    assert lr.copy(source, target, **OPTIONS).rows == ROWS
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("UPDATE t SET seen = ? WHERE id = 5", (value,))
        database.commit()
    with pytest.raises((lr.InvalidInputError, lr.UnsupportedError), match="seen"):
        lr.copy(source, target, **OPTIONS)


def test_types_that_are_given_once_are_kept(tmp_path: Path) -> None:
    path, target = tmp_path / "a.db", f"sqlite:{tmp_path / 'b.db'}#t"
    filled(path, "", lambda n: 1_700_000_000 + n)
    with closing(sqlite3.connect(path)) as database:
        # The column has values of several kinds, so that no type is found in them.
        database.execute("ALTER TABLE t ADD COLUMN code")
        database.execute("UPDATE t SET code = CASE id % 2 WHEN 0 THEN id ELSE 'c' || id END")
        database.commit()
        schema = "seen timestamp(s), code utf8"
        assert lr.copy(f"sqlite:{path}#t", target, **OPTIONS, schema=schema).rows == ROWS
        for run, options in enumerate([{"schema": schema}, {}, {"schema": "code utf8"}]):
            database.execute("UPDATE t SET seen = seen + ?, text = 'new' WHERE id IN (5, 6)", (10**6 * (run + 1),))
            database.commit()
            rows: list[int] = []

            def unload(given: dict[str, str] = options, rows: list[int] = rows) -> None:
                rows.append(lr.copy(f"sqlite:{path}#t", target, **OPTIONS, **given).rows)

            read = bytes_read(unload)
            assert rows == [2]
            assert read < 100 * PAGE_BYTES
    with closing(sqlite3.connect(tmp_path / "b.db")) as database:
        found = database.execute("SELECT seen, code FROM t WHERE text = 'new' ORDER BY id").fetchall()
    assert found == [("2024-01-23T08:53:25", "c5"), ("2024-01-23T08:53:26", "6")]


def test_history_shows_a_kept_state_shortened(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", *COLUMNS["integer"])
    lr.copy(f"sqlite:{tmp_path / 'a.db'}#t", f"delta:{tmp_path / 'd'}", **OPTIONS)
    shown = ok("history", tmp_path / "d").out
    assert max(len(line) for line in shown.splitlines()) < 400
    entries = ok("history", tmp_path / "d", "--json").json["history"]
    assert any(len(value) > 400 for entry in entries for value in entry["parameters"].values())
