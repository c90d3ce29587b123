"""Incremental unloads, and the proof of loads by key."""

from __future__ import annotations

import datetime
import shutil
import sqlite3
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import empty_place, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

START = datetime.datetime(2024, 2, 28, 12, tzinfo=datetime.UTC)


@pytest.fixture(params=["mongodb", "elasticsearch", "sqlite", "delta"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each kind that takes upserts."""
    return empty_place(request, tmp_path)


def rows(numbers: list[int], text: str = "old") -> pa.Table:
    """Rows, one changed each minute."""
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "text": pa.array([f"{text}{n}" for n in numbers]),
            "at": pa.array([START + datetime.timedelta(minutes=n) for n in numbers], pa.timestamp("us", "UTC")),
        }
    )


def found(target: str) -> dict[int, str]:
    return dict(lr.scan(target, columns=["id", "text"]).rows())


@pytest.mark.parametrize(("column", "overlap"), [("at", "5m"), ("id", 5)])
def test_a_run_reads_from_the_highest_value_on(target: str, tmp_path: Path, column: str, overlap: str | int) -> None:
    source = f"sqlite:{tmp_path / 'source.db'}#rows"
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": column}
    lr.copy(rows(list(range(100))), source, key="id")
    assert lr.copy(source, target, **options).rows == 100
    # The row with the highest value is read again, as others may have the same. The target has it.
    assert lr.copy(source, target, **options).rows == 0
    lr.copy(rows([97, 102, 101], "new"), source, key="id", mode="upsert")
    done = lr.copy(source, target, **options)
    assert done.rows == 2
    assert (found(target)[97], found(target)[102]) == ("old97", "new102")
    # Row 97 came behind others; an overlap finds it.
    assert lr.copy(source, target, **options, overlap=overlap).rows == 2
    assert found(target)[97] == "new97"
    assert len(found(target)) == 102


def test_rows_without_a_value_are_read_each_time(tmp_path: Path) -> None:
    source, target = f"sqlite:{tmp_path / 'source.db'}#rows", f"sqlite:{tmp_path / 'target.db'}#rows"
    table = pa.table({"id": [1, 2, 3], "seen": pa.array([5, None, 7], pa.int64())})
    lr.copy(table, source, key="id")
    for expected in (3, 0):
        done = ok("copy", source, target, "--mode", "upsert", "--key", "id", "--since", "seen", "--json")
        assert done.json["rows"] == expected
    assert lr.scan(target).count() == 3


def test_another_filter_is_another_unload(tmp_path: Path) -> None:
    source, target = tmp_path / "rows.parquet", f"sqlite:{tmp_path / 'target.db'}#rows"
    pq.write_table(rows(list(range(10))), source)
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "id"}
    assert lr.copy(source, target, **options, where="id < 5 or id = 6").rows == 6
    assert lr.copy(source, target, **options).rows == 10
    assert lr.copy(source, target, **options, where="id < 5 or id = 6").rows == 0


def test_a_target_that_is_gone_gets_all_rows(target: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(rows(list(range(20))), source)
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "id"}
    assert lr.copy(source, target, **options).rows == 20
    drop(target, request)
    with pytest.raises(lr.NotFoundError):
        lr.scan(target).count()
    assert lr.copy(source, target, **options).rows == 20
    assert lr.copy(source, target, **options).rows == 0
    assert len(found(target)) == 20


def test_rows_that_others_replace_are_read_again(target: str, tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(rows(list(range(20))), source)
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "id"}
    assert lr.copy(source, target, **options).rows == 20
    key = None if target.startswith("delta:") else "id"
    lr.copy(source, target, key=key, mode="overwrite", where="id < 10")
    assert len(found(target)) == 10
    assert lr.copy(source, target, **options).rows == 20
    assert lr.copy(source, target, **options).rows == 0
    assert len(found(target)) == 20


def drop(target: str, request: pytest.FixtureRequest) -> None:
    """Removes a collection, an index or a table, as others would."""
    scheme, rest = target.split(":", 1)
    match scheme:
        case "mongodb":
            server = request.getfixturevalue("mongo")
            server.client[server.database].drop_collection(target.rsplit("/", 1)[1])
        case "elasticsearch":
            deletion = urllib.request.Request(f"http:{rest}", method="DELETE")
            with urllib.request.urlopen(deletion) as answer:
                assert answer.status == 200
        case "sqlite":
            path, name = rest.split("#")
            with closing(sqlite3.connect(path)) as database, database:
                database.execute(f"DROP TABLE {name}")
        case _:
            shutil.rmtree(rest)


def test_floats_that_are_not_finite_are_no_highest_value(tmp_path: Path) -> None:
    source, target = tmp_path / "rows.parquet", f"sqlite:{tmp_path / 'target.db'}#rows"
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "seen"}
    pq.write_table(pa.table({"id": [1, 2, 3], "seen": [1.5, float("-inf"), 2.5]}), source)
    assert lr.copy(source, target, **options).rows == 3
    pq.write_table(pa.table({"id": [1, 3, 4, 5], "seen": [1.5, 2.5, float("inf"), 3.5]}), source)
    # Row 4 is above each value.
    assert [lr.copy(source, target, **options).rows for _ in range(2)] == [2, 0]
    assert lr.scan(target).count() == 5


@pytest.mark.parametrize("place", ["parquet", "delta", "mongodb"])
def test_rows_whose_value_is_nan_are_read_each_time(tmp_path: Path, place: str, request: pytest.FixtureRequest) -> None:
    source, target = str(tmp_path / "rows.parquet"), f"delta:{tmp_path / 'target'}"
    match place:
        case "delta":
            source = f"delta:{tmp_path / 'source'}"
        case "mongodb":
            server = request.getfixturevalue("mongo")
            source = server.location("rows")
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "seen"}
    lr.copy(pa.table({"id": [1, 2], "seen": [1.5, 2.5]}), source)
    assert lr.copy(source, target, **options).rows == 2
    after = pa.table({"id": [1, 2, 3, 4, 5], "seen": [1.5, 2.5, float("nan"), None, 1.0]})
    lr.copy(after, source, mode="overwrite")
    # Row 5 is below the highest value, and row 2 is there.
    assert lr.copy(source, target, **options).rows == 2
    assert sorted(lr.scan(target, columns=["id"]).to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_values_have_the_type_of_the_tables_column(tmp_path: Path, ending: str) -> None:
    source, target = tmp_path / f"rows.{ending}", f"delta:{tmp_path / 'table'}"
    source.write_text(
        {
            "jsonl": '{"id": 1, "at": "2024-01-01T00:00:00"}\n{"id": 2, "at": "2024-01-02T00:00:00"}\n',
            "csv": "id,at\n1,20240101\n2,20240102\n",
        }[ending]
    )
    options: dict[str, Any] = {"key": "id", "mode": "upsert", "since": "at"}
    given = {"jsonl": "at timestamp(us)", "csv": "at utf8"}[ending]
    assert lr.copy(source, target, **options, schema=given).rows == 2
    assert lr.copy(source, target, **options).rows == 0
    assert lr.scan(target).count() == 2
    # So it is with any other filter.
    where = {"jsonl": "at >= TIMESTAMP '2024-01-02'", "csv": "at >= '20240102'"}[ending]
    assert lr.copy(source, target, mode="append", where=where).rows == 1
    with pytest.raises(lr.NotFoundError, match="nothing"):
        lr.copy(source, target, mode="append", where="nothing > 1")


def test_how_files_are_written_reaches_a_table(tmp_path: Path) -> None:
    source, folder = tmp_path / "rows.parquet", tmp_path / "table"
    pq.write_table(rows(list(range(100))), source)
    lr.copy(source, f"delta:{folder}", mode="upsert", key="id", since="id", compression="gzip")
    (file,) = folder.glob("*.parquet")
    assert pq.read_metadata(file).row_group(0).column(0).compression == "GZIP"


@pytest.mark.parametrize(
    "options",
    [
        ["--verify"],
        ["--max-rate", "10"],
        ["--batch-rows", "10"],
        ["--dead-letter", "rejected.jsonl"],
        ["--allow-narrowing"],
        ["--keep-not-null"],
        ["--output-format", "csv"],
    ],
)
def test_what_a_table_does_not_take_is_refused(tmp_path: Path, options: list[str]) -> None:
    source, folder = tmp_path / "rows.parquet", tmp_path / "table"
    pq.write_table(rows([1]), source)
    done = run("copy", source, f"delta:{folder}", "--since", "id", "--mode", "upsert", "--key", "id", *options)
    assert (done.code, options[0] in done.err, "omit it" in done.err) == (2, True, True), done.err
    assert not folder.exists()


def test_a_damaged_value_and_a_column_that_is_not_copied(tmp_path: Path) -> None:
    source, path = tmp_path / "rows.parquet", tmp_path / "target.db"
    arguments = ["copy", source, f"sqlite:{path}#rows", "--since", "id", "--mode", "upsert", "--key", "id", "--json"]
    pq.write_table(rows([1, 2]), source)
    ok(*arguments)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE _lakerace_states SET state = '{}'")
    done = run(*arguments)
    assert (done.error["kind"], done.error["place"]) == ("corrupt_data", f"{path}#rows: --since")
    assert ok(*arguments, "--where", "1 = 1").json["rows"] == 2
    done = run(*arguments, "--columns", "text")
    assert (done.code, "name it in --columns, too" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--since", "id"], 2),
        (["--since", "id", "--mode", "upsert", "--key", "id", "--limit", "3"], 2),
        (["--since", "id", "--mode", "upsert", "--key", "id", "--resume"], 2),
        (["--since", "nothing", "--mode", "upsert", "--key", "id"], 3),
        (["--since", "id", "--mode", "upsert", "--key", "id", "--overlap", "5m"], 2),
        (["--since", "at", "--mode", "upsert", "--key", "id", "--overlap", "5"], 2),
        (["--overlap", "5"], 2),
    ],
)
def test_wrong_calls(tmp_path: Path, options: list[str], code: int) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(rows([1]), source)
    done = run("copy", source, f"sqlite:{tmp_path / 'target.db'}#rows", *options)
    assert done.code == code, done.err
    done = run("copy", source, tmp_path / "x.csv", "--since", "id", "--mode", "upsert", "--key", "id")
    assert done.code == 2, done.err


@pytest.mark.parametrize("target", ["mongodb", "elasticsearch", "sqlite"], indirect=True)
def test_loads_by_key_are_proved(target: str) -> None:
    lr.copy(rows(list(range(50))), target, key="id")
    newer = pa.concat_tables([rows([3, 60, 61], "mid"), rows([3], "new")])
    done = lr.copy(newer, target, key="id", mode="upsert", verify=True)
    # Of two rows of one key, the last one counts.
    last = pa.concat_tables([rows([60, 61], "mid"), rows([3], "new")])
    assert (done.rows, done.checksum) == (4, lr.checksum(last).checksum)
    assert found(target)[3] == "new3"
    gone = rows([3, 4, 60]).select(["id"])
    assert lr.copy(gone, target, key="id", mode="delete", verify=True).rows == 3
    assert len(found(target)) == 49


def test_a_proof_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    target = f"sqlite:{path}#t"
    lr.copy(rows([1, 2, 3]), target, key="id")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TRIGGER spoil AFTER UPDATE ON t WHEN new.text = 'new2' BEGIN "
            "UPDATE t SET text = 'spoilt' WHERE id = new.id; END"
        )
        database.execute(
            "CREATE TRIGGER keep AFTER DELETE ON t BEGIN INSERT INTO t VALUES (old.id, old.text, old.at); END"
        )
    with pytest.raises(
        lr.CorruptDataError,
        match=r"a\.db#t: the target .* of 2 rows, compared by key, 0 are missing and 1 have other values",
    ):
        lr.copy(rows([1, 2], "new"), target, key="id", mode="upsert", verify=True)
    with pytest.raises(lr.CorruptDataError, match="1 rows still exist"):
        lr.copy(rows([1]).select(["id"]), target, key="id", mode="delete", verify=True)


def test_the_version_that_is_told_is_that_of_the_table(tmp_path: Path) -> None:
    import deltalake

    source, folder = tmp_path / "rows.parquet", tmp_path / "t"
    options = ("--since", "id", "--mode", "upsert", "--key", "id", "--json")
    for count in (3, 5):
        pq.write_table(rows(list(range(count))), source)
        told = ok("copy", source, f"delta:{folder}", *options).json
        assert told["version"] == deltalake.DeltaTable(folder).version()
        # A program that goes on from the version that it was told sees the property as well.
        assert any(name.startswith("lakerace.since.") for name in deltalake.DeltaTable(folder).metadata().configuration)
    version = deltalake.DeltaTable(folder).version()
    idle = ok("copy", source, f"delta:{folder}", *options).json
    assert (idle.get("version"), idle["unchanged"]) == (None, True)
    assert deltalake.DeltaTable(folder).version() == version


UNUSED = [
    ("--keep-not-null",),
    ("--partition-by", "id"),
    ("--table-property", "a=b"),
    ("--evolve", "add"),
    ("--auto-compact",),
    ("--output-format", "csv"),
    ("--compression", "zstd"),
    ("--bloom-filter", "id"),
    ("--file-bytes", "1MB"),
    ("--output-delimiter", ";"),
]


@pytest.mark.parametrize("option", UNUSED, ids=lambda option: option[0])
def test_options_that_nothing_reads_are_refused_by_idle_runs_as_well(tmp_path: Path, option: tuple[str, ...]) -> None:
    source, target = tmp_path / "rows.parquet", f"sqlite:{tmp_path / 'target.db'}#rows"
    pq.write_table(rows(list(range(3))), source)
    arguments = ("copy", source, target, "--since", "id", "--mode", "upsert", "--key", "id")
    first = run(*arguments, *option)
    assert first.code == 2
    ok(*arguments)
    idle = run(*arguments, *option)
    assert (idle.code, idle.err) == (2, first.err)


def test_options_of_csv_are_refused_by_idle_runs_into_tables(tmp_path: Path) -> None:
    source, target = tmp_path / "rows.parquet", f"delta:{tmp_path / 't'}"
    pq.write_table(rows(list(range(3))), source)
    arguments = ("copy", source, target, "--since", "id", "--mode", "upsert", "--key", "id")
    for _ in range(2):
        assert run(*arguments, "--output-delimiter", ";").code == 2
        ok(*arguments)
