"""Jobs that are checked and not run: they write nothing, and they find what the run finds before it writes."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import urllib.request
import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import mongoserver
    from s3server import S3


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The time and the bytes of everything below a folder, folders included."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, b"" if path.is_dir() else path.read_bytes())
        for path in [folder, *folder.rglob("*")]
    }


def rows(first: int, last: int) -> pa.Table:
    number = range(first, last)
    return pa.table({"id": pa.array(number, pa.int64()), "text": [f"row {n}" for n in number]})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Files, a table of two versions with deleted rows, and a follower."""
    lr.copy(rows(0, 10), tmp_path / "a.parquet")
    lr.copy(rows(5, 15), tmp_path / "b.csv")
    lr.copy(rows(0, 3), f"{tmp_path}/folder/", output_format="parquet")
    lr.copy(rows(0, 10), f"delta:{tmp_path}/t", table_properties={"lakerace.primaryKey": "id"})
    lr.Table(tmp_path / "t").upsert(rows(8, 12))
    lr.sync(tmp_path / "t", f"sqlite:{tmp_path}/f.db#t")
    lr.Table(tmp_path / "t").delete("id = 0")
    lr.copy(rows(0, 3), f"sqlite:{tmp_path}/f.db#other", key="id")
    (tmp_path / "notes").write_text("no folder")
    return tmp_path


#: Commands that succeed, and the start of what they would do.
FINE = [
    ("copy a.parquet new.csv", "would create new.csv; 10 rows, 1 file, "),
    ("copy b.csv new/deep/new.parquet", "would create new/deep/new.parquet; 1 file, "),
    ("copy b.csv a.parquet --mode overwrite", "would replace a.parquet; 1 file, "),
    ("copy a.parquet new/", "would create new/; 10 rows"),
    ("copy a.parquet new/ --partition-by text", "would create new/; 10 rows"),
    ("copy a.parquet folder/ --mode append", "would append to folder/; 10 rows"),
    ("copy a.parquet folder/ --mode overwrite", "would replace folder/; 10 rows"),
    ("copy a.parquet delta:new", "would create delta:new; 10 rows"),
    ("copy a.parquet t --mode append", "would append to delta:t; starts from version 2; 10 rows"),
    ("copy a.parquet t --mode overwrite --batch-rows 3", "would replace delta:t; starts from version 2"),
    ("copy a.parquet sqlite:new.db#t --key id", "would create new.db#t; 10 rows"),
    ("copy b.csv sqlite:f.db#other --mode append --key id", "would append to f.db#other; 1 file"),
    ("copy b.csv sqlite:f.db#other --mode upsert --key id", "would upsert into f.db#other; 1 file"),
    ("copy b.csv sqlite:f.db#other --mode overwrite", "would replace f.db#other; 1 file"),
    ("copy b.csv sqlite:f.db#other --mode delete --key id", "would delete the rows of these keys from f.db#other"),
    (
        "copy b.csv sqlite:f.db#other --mode upsert --key id --since id",
        "would upsert into f.db#other, reading all rows",
    ),
    ("copy b.csv delta:t --mode upsert --key id --since id", "would upsert 10 keys into t, reading all rows; starts"),
    ("copy b.csv - --output-format jsonl", "would write to standard output; 1 file"),
    ("upsert t b.csv", "would upsert 10 keys into t; starts from version 2; 10 rows, 2 files, "),
    ("upsert delta:new a.parquet --key id", "would create new and insert the rows; 10 rows"),
    ("delete t --where id>8", "would delete 3 rows from t; starts from version 2; 3 rows, "),
    ("delete t --where id>100", "would change nothing: no row of t is to be deleted; starts from version 2; 0 rows"),
    ("delete t --keys b.csv", "would delete 7 rows from t; starts from version 2; 7 rows, "),
    ("update t --set text=upper(text) --where id>9", "would update 2 rows of t; starts from version 2; 2 rows, 1 file"),
    ("update t --set id=id+1 --where id>100", "would change nothing: no row of t is to be updated; starts from"),
    ("compact t", "would rewrite 2 files of t in 1 group, and drop 3 deleted rows; starts from version 2; 11 rows"),
    (
        "compact t --sort-by text",
        "would rewrite 2 files of t in 1 group, and drop 3 deleted rows; starts from version 2",
    ),
    ("compact t --auto", "would change nothing: no file of t needs it; starts from version 2"),
    ("sync t sqlite:f.db#t", "would bring f.db#t from version 1 to 2; starts from version 1; 1 file, "),
    ("sync t sqlite:f.db#t --mode overwrite", "would load version 2 whole into f.db#t; 11 rows, 2 files, "),
    ("sync t sqlite:new.db#t", "would load version 2 whole into new.db#t; 11 rows, 2 files, "),
    ("vacuum t --retain 0s --allow-short-retention", ""),
    ("alter t --add-column x_int", ""),
]


def words(line: str) -> list[str]:
    return [word.replace("x_int", "x int") for word in line.split()]


@pytest.mark.parametrize(("line", "would"), FINE)
def test_nothing_is_written_and_the_run_succeeds(lake: Path, line: str, would: str) -> None:
    before = content(lake)
    told = ok(*words(line), "--dry-run", cwd=lake)
    assert told.out.startswith(would), told.out
    if line != "copy b.csv - --output-format jsonl":
        report = ok(*words(line), "--dry-run", "--json", cwd=lake).json
        assert report["dry_run"] is True
        assert (report["requests"]["put"], report["requests"]["delete"], report["bytes_written"]) == (0, 0, 0)
        if would:
            assert told.out.startswith(report["planned"]["would"])
            assert report["rows"] == 0
    assert content(lake) == before
    done = ok(*words(line), cwd=lake)
    assert done.code == 0
    if line.startswith("delete t"):
        assert would.removeprefix("would ").startswith(("delete", "change nothing"))
        number = int(would.split()[2]) if "would delete" in would else 0
        assert f"deleted {number} rows" in done.err
    if line in ("compact t", "compact t --sort-by text"):
        assert "2 files" in done.err
        assert "dropped 3 deleted rows" in done.err


#: Commands that fail before they write, each for another reason.
FAILING = [
    "copy gone.parquet new.csv",
    "copy a.parquet a.parquet --mode overwrite",
    "copy b.csv a.parquet",
    "copy b.csv a.parquet --mode append",
    "copy b.csv folder/",
    "copy b.csv notes/new.parquet",
    "copy b.csv new.parquet --columns idd",
    "copy b.csv new.parquet --where idd>1",
    "copy b.csv new.unknown",
    "copy b.csv new/ --partition-by idd",
    "copy nested.parquet new.csv",
    "copy b.csv t",
    "copy other.csv t --mode append",
    "copy b.csv t --mode append --table-property delta.appendOnly=true",
    "copy b.csv delta:new --table-property lakerace.primaryKey=idd",
    "copy b.csv delta:new --partition-by idd",
    "copy b.csv sqlite:f.db#other",
    "copy b.csv sqlite:none/f.db#other",
    "copy b.csv sqlite:notes#other",
    "copy other.csv sqlite:f.db#other --mode append",
    "copy b.csv sqlite:f.db#other --mode upsert --key text",
    "copy b.csv sqlite:f.db#other --mode upsert",
    "copy b.csv sqlite:f.db#gone --mode delete --key id",
    "copy b.csv sqlite:f.db#other --mode upsert --key id --since idd",
    "copy b.csv new.parquet --batch-rows 3",
    "upsert gone b.csv --key id",
    "upsert t other.csv",
    "upsert t b.csv --key text",
    "upsert delta:new b.csv",
    "upsert t twice.csv --on-duplicate error",
    "update t --set idd=1",
    "update t --set id=idd",
    "update t --set id=text",
    "update t --set text=id --where idd>1",
    "update gone --set id=1",
    "delete t --where idd>1",
    "delete gone --where id>1",
    "delete t --keys other.csv",
    "compact gone",
    "compact t --where id>1",
    "compact t --sort-by idd",
    "sync gone sqlite:f.db#t",
    "sync t sqlite:f.db#other",
    "sync t sqlite:f.db#t --key text",
    "sync t a.parquet",
    "vacuum t --retain 0s",
    "alter t --drop id",
]


@pytest.mark.parametrize("line", FAILING)
def test_errors_are_those_of_the_run(lake: Path, line: str) -> None:
    (lake / "other.csv").write_text("unknown\n1\n")
    (lake / "twice.csv").write_text("id,text\n1,a\n1,b\n")
    lr.copy(pa.table({"a": [[{"b": 1}]]}), lake / "nested.parquet")
    before = content(lake)
    dry = run(*line.split(), "--dry-run", "--json", cwd=lake)
    assert content(lake) == before
    done = run(*line.split(), "--json", cwd=lake)
    assert dry.code == done.code != 0, dry.out + dry.err + done.err
    assert {**dry.error, "advice": ""} == {**done.error, "advice": ""}


def test_python_has_the_same(lake: Path) -> None:
    table = lr.Table(lake / "t")
    before = content(lake)
    jobs: list[Callable[[], Any]] = [
        lambda: lr.copy(lake / "a.parquet", lake / "new.csv", dry_run=True),
        lambda: lr.copy(rows(0, 5), lake / "new.csv", dry_run=True),
        lambda: lr.copy(lr.scan(lake / "b.csv"), f"delta:{lake}/new", dry_run=True),
        lambda: lr.copy([{"id": 1, "text": "a"}], f"sqlite:{lake}/f.db#other", mode="append", dry_run=True),
        lambda: table.upsert(lake / "b.csv", dry_run=True),
        lambda: table.upsert(rows(0, 5), dry_run=True),
        lambda: table.update({"text": "?"}, where="id > ?", params=["a", 8], dry_run=True),
        lambda: table.delete("id > ?", params=[8], dry_run=True),
        lambda: table.delete_keys(rows(0, 5), dry_run=True),
        lambda: table.compact(dry_run=True),
        lambda: lr.sync(lake / "t", f"sqlite:{lake}/f.db#t", dry_run=True),
    ]
    done = [job() for job in jobs]
    assert content(lake) == before
    assert [result.planned.would.split()[1] for result in done] == [
        *("create", "create", "create", "append"),
        *("upsert", "upsert", "update", "delete", "delete", "rewrite", "bring"),
    ]
    assert [result.planned.rows for result in done] == [10, None, None, None, 10, 5, 3, 3, 4, 11, None]
    assert {result.requests.put + result.requests.delete + result.rows for result in done} == {0}
    assert (done[10].from_version, done[10].version, done[9].version) == (1, 1, None)
    with pytest.raises(lr.ConflictError):
        lr.copy(rows(0, 5), lake / "a.parquet", dry_run=True)
    with pytest.raises(lr.UsageError, match="follow=True"):
        lr.sync(lake / "t", f"sqlite:{lake}/f.db#t", dry_run=True, follow=True)
    # Without it, the same calls write.
    assert table.delete("id > 8").rows == 3
    assert table.upsert(rows(0, 5)).planned is None


def test_a_pipe_has_no_counts(lake: Path) -> None:
    """Its size is known at its end; a file of the same text has counts."""
    data = (lake / "b.csv").read_bytes()
    for more in ([], ["--json"]):
        line = command("copy", "-", "new.parquet", "--dry-run", *more)
        done = subprocess.run(line, input=data, capture_output=True, cwd=lake, timeout=TIMEOUT_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        if more:
            planned = json.loads(done.stdout)["planned"]
            assert [planned.get(name) for name in ("rows", "files", "bytes")] == [None, None, None]
        else:
            assert done.stdout == b"would create new.parquet\n"
    assert ok("copy", "b.csv", "new.parquet", "--dry-run", cwd=lake).out == (
        f"would create new.parquet; 1 file, {len(data)} bytes\n"
    )


def test_options_without_effect_are_named(lake: Path) -> None:
    idle = ("--verify", "--max-rate", "5", "--dead-letter", "dead.jsonl")
    told = ok("copy", "b.csv", "sqlite:f.db#new", *idle, "--dry-run", cwd=lake)
    for option in ("--verify", "--max-rate", "--dead-letter"):
        assert f"warning: {option}: it has no effect with --dry-run" in told.err
    assert not (lake / "dead.jsonl").exists()
    assert "--auto-compact: it has no effect" in ok("upsert", "t", "b.csv", "--auto-compact", "--dry-run", cwd=lake).err
    for line in (
        "upsert t b.csv --explain",
        "sync t sqlite:f.db#t --follow",
        "copy b.csv /dev/null --output-format csv",
    ):
        assert run(*line.split(), "--dry-run", cwd=lake).code == 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lr.copy(lake / "b.csv", lake / "new.parquet", verify=True, dry_run=True)
    assert [str(warning.message) for warning in caught] == [
        "verify=True: it has no effect with dry_run=True, because nothing is written"
    ]


def test_s3_gets_no_request_that_writes(s3: S3, tmp_path: Path) -> None:
    lr.copy(rows(0, 10), tmp_path / "a.parquet")
    url = s3.url("dry")
    lr.copy(rows(0, 10), f"{url}/a.parquet", storage_options=s3.options)
    lr.copy(rows(0, 10), f"{url}/folder/", output_format="parquet", storage_options=s3.options)
    lr.copy(rows(0, 10), f"delta:{url}/t", storage_options=s3.options, table_properties={"lakerace.primaryKey": "id"})
    lr.Table(f"{url}/t", storage_options=s3.options).upsert(rows(9, 12))
    before = s3.keys("dry/")
    lines = [
        ("copy", tmp_path / "a.parquet", f"{url}/new.csv"),
        ("copy", tmp_path / "a.parquet", f"{url}/a.parquet", "--mode", "overwrite"),
        ("copy", tmp_path / "a.parquet", f"{url}/folder/", "--mode", "append"),
        ("copy", tmp_path / "a.parquet", f"delta:{url}/new"),
        ("copy", tmp_path / "a.parquet", f"{url}/t", "--mode", "append"),
        ("upsert", f"{url}/t", tmp_path / "a.parquet"),
        ("upsert", f"delta:{url}/new", tmp_path / "a.parquet", "--key", "id"),
        ("delete", f"{url}/t", "--where", "id > 3"),
        ("compact", f"{url}/t"),
        ("vacuum", f"{url}/t", "--retain", "0s", "--allow-short-retention"),
        ("alter", f"{url}/t", "--add-column", "x int"),
        ("sync", f"{url}/t", f"sqlite:{tmp_path}/s.db#t"),
    ]
    for line in lines:
        report = ok(*line, "--dry-run", "--json", env=s3.env).json
        assert report["dry_run"] is True, line
        assert (report["requests"]["put"], report["requests"]["delete"]) == (0, 0), line
    assert s3.keys("dry/") == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    for target in (f"{url}/a.parquet", f"{url}/folder/", f"{url}/t"):
        assert run("copy", tmp_path / "a.parquet", target, "--dry-run", env=s3.env).code == 7


def of_mongodb(server: mongoserver.MongoServer) -> dict[str, list[Any]]:
    """All documents of a server, by collection."""
    client = server.client
    names = [name for name in client.list_database_names() if name not in ("admin", "config", "local")]
    return {
        f"{database}.{name}": list(client[database][name].find())
        for database in names
        for name in client[database].list_collection_names()
    }


def of_elasticsearch(endpoint: str) -> dict[str, Any]:
    """All indices of a server with their fields, and the operations that they have taken."""
    server = endpoint.replace("elasticsearch://", "http://").rstrip("/")
    found = {}
    for path in ("_all/_mapping?expand_wildcards=all", "_all/_stats/indexing?expand_wildcards=all", "_alias"):
        with urllib.request.urlopen(f"{server}/{path}", timeout=30) as answer:
            found[path] = json.load(answer)
    indices = found["_all/_stats/indexing?expand_wildcards=all"]["indices"]
    counts = {name: stats["primaries"]["indexing"]["index_total"] for name, stats in indices.items()}
    return {"mappings": found["_all/_mapping?expand_wildcards=all"], "counts": counts, "aliases": found["_alias"]}


@pytest.mark.parametrize("system", ["mongodb", "elasticsearch"])
def test_servers_keep_their_state(request: pytest.FixtureRequest, tmp_path: Path, system: str) -> None:
    place = {
        "mongodb": lambda: request.getfixturevalue("mongo").location("dry"),
        "elasticsearch": lambda: request.getfixturevalue("index") + "dry",
    }[system]()
    state = (
        (lambda: of_mongodb(request.getfixturevalue("mongo")))
        if system == "mongodb"
        else (lambda: of_elasticsearch(request.getfixturevalue("index")))
    )
    lr.copy(rows(0, 10), f"delta:{tmp_path}/t", table_properties={"lakerace.primaryKey": "id"})
    lr.copy(rows(0, 10), tmp_path / "a.parquet")
    (tmp_path / "other.csv").write_text("id,text\n1,2\n")
    lr.copy(rows(0, 10), f"{place}-copied", key="id")
    lr.sync(tmp_path / "t", f"{place}-synced")
    lr.Table(tmp_path / "t").delete("id = 3")
    source = str(tmp_path / "a.parquet")
    lines = [
        (("copy", source, f"{place}-new", "--key", "id"), "would create"),
        (("copy", source, f"{place}-copied", "--key", "id", "--mode", "overwrite"), "would replace"),
        (("copy", source, f"{place}-copied", "--key", "id", "--mode", "upsert"), "would upsert into"),
        (("copy", source, f"{place}-copied", "--key", "id", "--mode", "append"), "would append to"),
        (("copy", source, f"{place}-copied", "--key", "id", "--mode", "delete"), "would delete the rows"),
        (("copy", source, f"{place}-new", "--key", "id", "--mode", "upsert", "--since", "id"), "would create"),
        (("sync", tmp_path / "t", f"{place}-new"), "would load version 1 whole"),
        (("sync", tmp_path / "t", f"{place}-synced"), "would bring"),
        (("sync", tmp_path / "t", f"{place}-synced", "--mode", "overwrite"), "would load version 1 whole"),
    ]
    failing = [
        ("copy", source, f"{place}-copied", "--key", "id"),
        ("copy", source, f"{place}-new", "--key", "id", "--mode", "delete"),
        ("copy", source, f"{place}-new", "--key", "idd"),
        ("copy", source, f"{place}-copied", "--key", "text", "--mode", "upsert"),
        ("sync", tmp_path / "t", f"{place}-copied"),
        ("sync", tmp_path / "t", f"{place}-synced", "--key", "text"),
    ]
    before = state()
    for line, would in lines:
        assert ok(*line, "--dry-run").out.startswith(would), line
    dry = [run(*line, "--dry-run", "--json") for line in failing]
    assert state() == before
    for line, told in zip(failing, dry, strict=True):
        done = run(*line, "--json")
        assert told.code == done.code != 0, line
        assert told.error["message"] == done.error["message"], line
    assert lr.sync(tmp_path / "t", f"{place}-synced").deleted == 1


def test_a_database_in_use_stays_as_it_is(tmp_path: Path) -> None:
    """A write-ahead log, a full-text index, a trigger and a view are no hindrance."""
    file = tmp_path / "w.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
        writer.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        writer.execute("CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO words VALUES (new.text); END")
        writer.execute("CREATE VIEW seen AS SELECT text FROM t")
        writer.execute("INSERT INTO t VALUES (1, 'one')")
        before = (list(writer.iterdump()), file.read_bytes())
        for mode in ("append", "upsert", "overwrite"):
            planned = lr.copy(rows(5, 9), f"sqlite:{file}#t", mode=mode, key="id", dry_run=True).planned
            assert planned is not None
        with pytest.raises(lr.UnsupportedError, match="view"):
            lr.copy(rows(5, 9), f"sqlite:{file}#seen", mode="append", dry_run=True)
        assert (list(writer.iterdump()), file.read_bytes()) == before
        # A writer's transaction is no obstacle either.
        writer.execute("BEGIN IMMEDIATE")
        assert lr.copy(rows(5, 9), f"sqlite:{file}#t", mode="append", dry_run=True).planned is not None
        writer.execute("ROLLBACK")


@pytest.mark.parametrize("partition_by", [None, "part"])
def test_an_upsert_that_makes_its_table_checks_its_keys(tmp_path: Path, partition_by: str | None) -> None:
    target = f"delta:{tmp_path / 'table'}"
    part = pa.array(["a"] * 4)
    good = pa.table({"id": pa.array([3, 1, 2, 1], pa.int64()), "part": part})
    null = pa.table({"id": pa.array([3, None, 2, 1], pa.int64()), "part": part})
    options: dict[str, Any] = {} if partition_by is None else {"partition_by": partition_by}
    table = lr.Table(target, key="id")
    for source, more in [(null, {}), (good, {"on_duplicate": "error"})]:
        errors = []
        for dry_run in (True, False):
            with pytest.raises(lr.InvalidInputError) as raised:
                table.upsert(source, dry_run=dry_run, **more, **options)
            errors.append(str(raised.value))
        assert errors[0] == errors[1]
        if (tmp_path / "table").exists():
            # The run that fails has made the table.
            shutil.rmtree(tmp_path / "table")
    planned = table.upsert(good, dry_run=True, **options).planned
    assert planned is not None
    assert planned.rows == 3
    assert not (tmp_path / "table").exists()
    assert table.upsert(good, **options).rows == 3


@pytest.mark.parametrize("below", ["", "/deeper", "/deeper/still"])
def test_a_file_in_the_place_of_a_table_is_refused(tmp_path: Path, below: str) -> None:
    file = tmp_path / "rows.parquet"
    lr.copy(rows(0, 3), file)
    before = content(tmp_path)
    for arguments in (("copy", file, f"delta:{file}{below}"), ("upsert", f"delta:{file}{below}", file, "--key", "id")):
        for dry in ((), ("--dry-run",)):
            done = run(*arguments, *dry, "--json")
            assert done.code == 7, done.out
            assert str(file) in str(done.error["place"])
            assert done.error["message"] == "this is a file, and a Delta table is a folder"
            assert done.error["advice"]
    assert content(tmp_path) == before
