"""History, compaction, vacuum and restoring of Delta tables, by the commands and from Python."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command, ok, run
from s3server import S3

import lakerace as lr

WEEK = timedelta(days=7)


def made(folder: Path, files: int = 5, **options: Any) -> lr.Table:
    """A table of some files of ten rows, some of them replaced."""
    lr.copy(rows(0, 10), f"delta:{folder}", **options)
    for number in range(1, files):
        lr.copy(rows(number * 10, number * 10 + 10), folder, mode="append")
    table = lr.Table(folder, key="id")
    table.upsert(pa.table({"id": [3, 13], "day": ["b", "b"], "v": [0.5, 0.5]}))
    return table


def rows(first: int, last: int) -> pa.Table:
    ids = range(first, last)
    return pa.table({"id": ids, "day": ["a" if n % 2 else "b" for n in ids], "v": [float(n) for n in ids]})


def ids(table: lr.Table, at: int | None = None) -> list[int]:
    found = table.scan(at=at).to_arrow()["id"].to_pylist()
    assert all(isinstance(n, int) for n in found)
    return sorted(found)


def data_files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and "_delta_log" not in path.parts}


def age(folder: Path, by: timedelta) -> None:
    """Makes a table look as if all had been done earlier."""
    then = time.time() - by.total_seconds()
    for path in folder.rglob("*"):
        if path.suffix == ".json" and path.parent.name == "_delta_log":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            for line in lines:
                if "remove" in line:
                    line["remove"]["deletionTimestamp"] = int(then * 1000)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (then, then))


def test_history_tells_what_each_version_did(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 3)
    table.delete("id < 5")
    told = table.history()
    assert [(v.version, v.operation) for v in told] == [
        (4, "DELETE"),
        (3, "MERGE"),
        (2, "WRITE"),
        (1, "WRITE"),
        (0, "CREATE TABLE"),
    ]
    assert [(v.files_added, v.files_removed, v.vectors) for v in told] == [
        (0, 0, 2),
        (1, 0, 2),
        (1, 0, 0),
        (1, 0, 0),
        (1, 0, 0),
    ]
    assert abs(told[0].timestamp - datetime.now(timezone.utc)) < timedelta(minutes=5)
    assert told[2].parameters["mode"] == "Append"
    assert table.history(limit=2) == told[:2]
    # Its times are those that a version is found by.
    assert table.schema(at=told[2].timestamp.isoformat())["version"] == 2
    printed = ok("history", folder, "--limit", 3).out.splitlines()
    assert len(printed) == 5
    assert printed[0].split() == [
        "version",
        "timestamp",
        "operation",
        "files",
        "bytes",
        "vectors",
        "rows",
        "engine",
        "parameters",
    ]
    assert "MERGE" in printed[3]
    entry = told[1]
    assert f"+{entry.files_added}" + (f" -{entry.files_removed}" if entry.files_removed else "") + "  " in printed[3]
    assert "  inserted=" in printed[3] or "  updated=" in printed[3]
    assert [entry["version"] for entry in ok("history", folder, "--json").json["history"]] == [4, 3, 2, 1, 0]
    assert run("history", tmp_path).code == 3


def test_compaction_keeps_the_rows(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder)
    before = lr.checksum(table.scan())
    done = ok("compact", folder, "--json").json
    assert (done["version"], done["files_removed"], done["files_added"]) == (6, 6, 1)
    assert (done["rows"], done["rows_dropped"], done["given_up"]) == (50, 2, 0)
    assert lr.checksum(table.scan()) == before == lr.checksum(table.scan(at=5))
    assert table.schema()["files"] == 1
    again = table.compact()
    assert (again.version, again.rows, again.requests.put) == (None, 0, 0)
    assert "nothing to compact" in ok("compact", folder).err
    table.upsert(rows(20, 30))
    sorted_ = table.compact(sort_by=["v", "id"])
    assert sorted_.files_removed == 2
    assert table.scan().to_arrow()["v"].to_pylist() == sorted(table.scan().to_arrow()["v"].to_pylist())
    curve = table.compact(zorder="id")
    assert curve.rows == 50
    assert lr.checksum(table.scan()).rows == 50


def test_compaction_of_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 4, partition_by=["day"])
    assert table.schema()["files"] == 9
    before = lr.checksum(table.scan())
    assert table.compact(where="day = 'a'").files_removed == 4
    with pytest.raises(lr.UsageError, match="partitioned"):
        table.compact(where="id = 1")
    with pytest.raises(lr.NotFoundError, match="nope"):
        table.compact(sort_by="nope")
    with pytest.raises(lr.UsageError):
        table.compact(sort_by="id", zorder="v")
    assert table.compact(sort_by="id").files_added == 2
    assert lr.checksum(table.scan()) == before
    assert run("compact", folder, "--sort-by", "id", "--zorder", "v").code == 2


@pytest.mark.parametrize("data_type", ["float32", "float64"])
def test_zeros_and_nans_are_sorted_as_by_duckdb(tmp_path: Path, data_type: str) -> None:
    import random

    import duckdb

    values = [0.0, -0.0, float("nan"), -float("nan"), float("inf"), -float("inf"), -1.5, 1.5, None]
    drawn = random.Random(7)
    whole = pa.table({"x": pa.array([drawn.choice(values) for _ in range(2000)], data_type), "id": range(2000)})
    shuffled = whole.take(drawn.sample(range(2000), 2000))
    folder = tmp_path / "table"
    lr.copy(shuffled.slice(0, 900), f"delta:{folder}")
    lr.copy(shuffled.slice(900), folder, mode="append")
    before = lr.checksum(shuffled)
    assert lr.Table(folder).compact(sort_by=["x", "id"]).rows == 2000
    wanted = duckdb.sql("SELECT id FROM whole ORDER BY x NULLS FIRST, id").fetchall()
    assert [(one,) for one in lr.scan(folder).to_arrow()["id"].to_pylist()] == wanted
    # The values are those that were there, with their signs.
    assert lr.checksum(lr.scan(folder)) == before
    signs = {row["id"]: str(row["x"]) for row in whole.to_pylist()}
    assert {row["id"]: str(row["x"]) for row in lr.scan(folder).to_arrow().to_pylist()} == signs


def test_compaction_of_every_type(tmp_path: Path) -> None:
    from test_delta_write import everything

    folder = tmp_path / "table"
    # More than the least limit of memory holds.
    wanted = pa.concat_tables([everything()] * 100)
    for mode in ("error", "append", "append"):
        lr.copy(wanted, f"delta:{folder}", mode=mode)
    wanted = lr.checksum(pa.concat_tables([wanted] * 3))
    table = lr.Table(folder)
    assert table.compact(sort_by=["f64", "i8"], memory_limit=294_912).rows == 15_000
    assert lr.checksum(table.scan()) == wanted
    lr.copy(everything(), folder, mode="append")
    assert table.compact().files_removed == 2
    assert table.compact(zorder=["i32", "f64"]).rows == 15_050


def test_writes_may_compact_after_them(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    pq.write_table(rows(0, 10), tmp_path / "rows.parquet")
    lr.copy(rows(0, 1), f"delta:{folder}")
    for number in range(48):
        lr.copy(rows(number, number + 1), folder, mode="append")
    job = ok("copy", tmp_path / "rows.parquet", folder, "--mode", "append", "--auto-compact", "--json")
    done = job.json
    assert "version 50: merged 50 files" in job.err
    assert done["version"] == 49
    assert (done["auto_compact"]["version"], done["auto_compact"]["files_removed"]) == (50, 50)
    more = ok("upsert", folder, tmp_path / "rows.parquet", "--key", "id", "--auto-compact", "--json").json
    assert more["auto_compact"]["version"] is None
    assert lr.Table(folder).compact(auto=True).version is None


def test_writes_from_python_may_compact_after_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "table"
    for number in range(49):
        made_before = lr.copy(rows(number, number + 1), f"delta:{folder}", mode="append")
    assert made_before.compacted is None
    copied = lr.copy(rows(49, 59), f"delta:{folder}", mode="append", auto_compact=True)
    assert copied.version == 49
    assert copied.compacted is not None
    assert (copied.compacted.version, copied.compacted.files_removed, copied.compacted.rows) == (50, 50, 59)
    table = lr.Table(folder, key="id")
    with pytest.raises(lr.UsageError, match="io: "):
        table.compact(io="fast")  # type: ignore[arg-type]
    changed = table.upsert(rows(0, 59), threads=1, io="sync", auto_compact=True)
    assert (changed.rows_hidden, changed.compacted) == (59, None), "all rows are hidden, and their file went"
    with pytest.raises(lr.UsageError, match="auto_compact"):
        lr.copy(rows(0, 1), tmp_path / "rows.parquet", auto_compact=True)

    def outrun(*_: object, **__: object) -> None:
        raise lr.ConflictError("another writer was faster")

    monkeypatch.setattr(lr.Table, "compact", outrun)
    with pytest.warns(lr.LakeraceWarning, match="the rows were written, but the compaction failed: another writer"):
        changed = table.upsert(rows(58, 60), auto_compact=True)
    assert changed.version == 52
    assert table.scan().count() == 60


def test_automatic_compaction_bounds_what_is_hidden(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    for first in range(0, 4000, 1000):
        lr.copy(rows(first, first + 1000), f"delta:{folder}", mode="append")
    table = lr.Table(folder)
    table.delete("id < 350 OR id >= 1000 AND id < 1250 OR id >= 2000 AND id < 2250")
    assert table.compact(auto=True).version is None, "these files are tiny"
    # Of an eighth of the target and more; 850 rows hidden, 3,150 visible.
    assert table.compact(auto=True, target_size=4096).version is None
    table.delete("id >= 3000 AND id < 3100")
    done = table.compact(auto=True, target_size=4096)
    assert (done.files_removed, done.rows, done.rows_dropped) == (1, 650, 350)
    assert ok("compact", folder, "--auto", "--target-size", "4KiB", "--json").json["version"] is None
    assert table.scan().count() == 3050


def test_vacuum_removes_what_no_retained_version_needs(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder)
    table.compact()
    (folder / "_mine").mkdir()
    (folder / "_mine" / "x").write_text("x")
    left_over = folder / ".part-00000-x.parquet.lakerace-0123456789abcdef.tmp"
    left_over.write_text("half a file")
    (folder / "half.parquet").write_text("x")
    before = data_files(folder)
    assert table.vacuum() == (6, [], 0, len(before) - 1)
    age(folder, WEEK - timedelta(hours=1))
    assert table.vacuum().files == []
    assert lr.checksum(table.scan(at=5)).rows == 50
    age(folder, WEEK + timedelta(hours=1))
    dry = ok("vacuum", folder, "--dry-run", "--json").json
    assert data_files(folder) == before
    # Five files, that of the upsert, its vectors, and two left-overs.
    assert (dry["files_removed"], dry["kept"], len(dry["files"])) == (9, 1, 9)
    listed = ok("vacuum", folder, "--dry-run").out.splitlines()
    assert sorted(listed) == sorted(dry["files"])
    done = ok("vacuum", folder, "--json").json
    assert (done["files_removed"], done["file_bytes_removed"]) == (9, dry["file_bytes_removed"])
    assert data_files(folder) == before - {Path(name).name for name in listed}
    assert not left_over.exists()
    assert (folder / "_mine" / "x").exists()
    assert len(ids(table)) == 50
    with pytest.raises(lr.NotFoundError, match="vacuumed"):
        table.scan(at=5).to_arrow()


def test_a_short_retention_must_be_allowed(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder)
    table.compact()
    with pytest.raises(lr.UsageError, match="retention"):
        table.vacuum(retain="1h")
    assert run("vacuum", folder, "--retain", "6d").code == 2
    assert run("vacuum", folder, "--retain", "soon").code == 2
    assert table.vacuum(retain="30d").files == []
    assert table.vacuum(retain="1h", allow_short_retention=True).files == []
    time.sleep(0.02)
    assert len(table.vacuum(retain="0", allow_short_retention=True).files) == 7
    assert len(ids(table)) == 50


def test_summaries_count_no_rows_where_a_command_moves_none(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    made(folder)
    for arguments in (["alter", folder, "--set", "owner=me"], ["restore", folder, "--at", 1], ["vacuum", folder]):
        summary = ok(*arguments).err.splitlines()[-1]
        assert re.match(r"(altered|restored|vacuumed): read [\d.]+ [kM]?B in \d+ requests", summary), summary
        assert " row" not in summary
    for arguments in (["alter", folder, "--set", "owner=you"], ["vacuum", folder]):
        summary = ok(*arguments, "--dry-run").err.splitlines()[-1]
        assert re.match(r"dry run, nothing was written: read [\d.]+ [kM]?B in \d+ requests", summary), summary


def test_the_errors_name_the_columns_that_a_table_is_partitioned_by(tmp_path: Path) -> None:
    plain, parted = tmp_path / "plain", tmp_path / "parted"
    made(plain)
    made(parted, partition_by=["day", "v"])
    done = run("compact", parted, "--where", "id > 3", "--json")
    assert (done.code, done.error["kind"]) == (2, "usage")
    assert "partitioned by day, v;" in done.err
    done = run("compact", plain, "--where", "id > 3", "--json")
    assert (done.code, "the table has no partitions" in done.err) == (2, True)
    lr.copy(rows(0, 3), tmp_path / "rows.parquet")
    for folder, known in ((parted, "is partitioned by day, v"), (plain, "has no partitions")):
        done = run("copy", tmp_path / "rows.parquet", folder, "--mode", "append", "--partition-by", "id", "--json")
        assert (done.code, done.error["kind"]) == (6, "unsupported")
        assert f"the table {known}, but --partition-by names id" in done.err


def test_vacuum_refuses_tables_that_demand_what_it_does_not_know(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 1)
    listed = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clockwork"]}
    # The first change that hides rows has a protocol, too.
    for entry in (folder / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in entry.read_text().splitlines()]
        lines = [{"protocol": listed} if "protocol" in line else line for line in lines]
        entry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for job in (table.vacuum, table.compact, lambda: table.restore(0)):
        with pytest.raises(lr.UnsupportedError, match="clockwork"):
            job()


def test_versions_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 3)
    before = [lr.checksum(table.scan(at=version)) for version in range(4)]
    table.compact()
    done = table.restore(1)
    assert (done.version, done.restored_version, done.files_added, done.files_removed) == (5, 1, 2, 1)
    assert lr.checksum(table.scan()) == before[1]
    told = ok("restore", folder, "--at", 3, "--json").json
    assert (told["version"], told["restored_version"]) == (6, 3)
    assert lr.checksum(table.scan()) == before[3]
    assert "is already in the state of version 3" in ok("restore", folder, "--at", 3).err
    assert table.restore(table.history()[-3].timestamp).restored_version == 2
    assert lr.checksum(table.scan()) == before[2]
    table.compact()
    time.sleep(0.02)
    table.vacuum(retain="0", allow_short_retention=True)
    with pytest.raises(lr.NotFoundError, match="gone"):
        table.restore(0)
    assert run("restore", folder, "--at", 99).code == 3
    assert lr.checksum(table.scan()) == before[2]


def test_versions_of_one_moment_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 3)
    rows = [lr.checksum(table.scan(at=version)) for version in range(4)]
    for entry in (folder / "_delta_log").glob("*.json"):
        os.utime(entry, (1_700_000_000, 1_700_000_000))
    told = table.history()
    assert [told.timestamp.microsecond for told in told] == [3000, 2000, 1000, 0]
    assert [lr.checksum(table.scan(at=told.timestamp)) for told in reversed(told)] == rows


def test_others_read_maintained_tables(tmp_path: Path) -> None:
    import polars

    folder = tmp_path / "table"
    table = made(folder)
    for job in (table.compact, lambda: table.restore(2), lambda: table.compact(sort_by="id")):
        job()
        assert lr.checksum(polars.read_delta(str(folder))) == lr.checksum(table.scan())


def test_on_s3(s3: S3) -> None:
    url = s3.url("delta/maintained")
    table = lr.Table(url, key="id", storage_options=s3.options)
    for number in range(3):
        mode = "append" if number else "error"
        lr.copy(rows(number * 10, number * 10 + 10), f"delta:{url}", mode=mode, storage_options=s3.options)
    table.upsert(rows(5, 15))
    before = lr.checksum(table.scan())
    assert table.compact().files_removed == 4
    assert lr.checksum(table.scan()) == before
    assert table.restore(1).version == 5
    assert lr.checksum(table.scan()).rows == 20
    assert table.compact().version == 6
    time.sleep(1.1)
    gone = table.vacuum(retain="0", allow_short_retention=True)
    # Three files, one with a file of vectors, and the first compaction's.
    assert len(gone.files) == 6
    assert all(name.startswith("s3://") for name in gone.files)
    assert lr.checksum(table.scan()).rows == 20
    assert [version.operation for version in table.history(2)] == ["OPTIMIZE", "RESTORE"]


def test_processes_that_upsert_and_compact_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 3)
    model = dict.fromkeys(range(30), 0.0) | {n: float(n) for n in range(30)} | {3: 0.5, 13: 0.5}
    for number in range(4):
        mine = [*range(number * 5, number * 5 + 10), 1000 + number]
        pq.write_table(rows_of(mine, 100.0 + number), tmp_path / f"{number}.parquet")
        model |= dict.fromkeys(mine, 100.0 + number)
    commands = [("upsert", folder, tmp_path / f"{n}.parquet", "--key", "id", "-q") for n in range(4)]
    for _ in range(2):
        jobs = [subprocess.Popen(command(*arguments)) for arguments in [*commands, *2 * [("compact", folder, "-q")]]]
        assert [job.wait(60) for job in jobs] == [0] * len(jobs)
    assert ids(table) == sorted(model)
    found = {row["id"]: row["v"] for row in table.scan().to_arrow().to_pylist()}
    # Of keys that several writers wrote, any of them may have been the last.
    assert all(found[n] == model[n] or 100.0 <= found[n] < 104.0 for n in model)
    assert all(found[1000 + n] == 100.0 + n for n in range(4))
    assert {version.operation for version in table.history()} >= {"MERGE", "WRITE"}


def rows_of(numbers: list[int], value: float) -> pa.Table:
    return pa.table({"id": numbers, "day": ["c"] * len(numbers), "v": [value] * len(numbers)})


def test_killed_compactions_leave_the_table_whole(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(rows(0, 60_000), f"delta:{folder}")
    for number in range(1, 5):
        lr.copy(rows(number * 60_000, number * 60_000 + 60_000), folder, mode="append")
    table = lr.Table(folder, key="id")
    before = lr.checksum(table.scan())
    for number in range(8):
        job = subprocess.Popen(command("compact", folder, "--sort-by", "v", "-q"))
        time.sleep(0.1 + number * 0.15)
        job.kill()
        job.wait(60)
        assert lr.checksum(table.scan()) == before
    assert table.compact(sort_by="v").version is not None
    time.sleep(0.02)
    vacuumed = table.vacuum(retain="0", allow_short_retention=True)
    assert vacuumed.kept == table.schema()["files"] == len(data_files(folder))
    # Neither files that nobody knows of are left, nor half ones.
    assert not [path for path in folder.rglob("*") if ".lakerace-" in path.name]
    assert lr.checksum(table.scan()) == before


@pytest.mark.parametrize("lost", [3, 6])
def test_a_lost_entry_is_damage_and_a_cleaned_up_one_is_not(tmp_path: Path, lost: int) -> None:
    folder = tmp_path / "table"
    entry = lambda version: folder / "_delta_log" / f"{version:020}.json"  # noqa: E731
    for number in range(10):
        deltalake.write_deltalake(folder, pa.table({"id": [number]}), mode="append")
        if number in (4, 8):
            deltalake.DeltaTable(folder).create_checkpoint()
    entry(lost).unlink()
    for version in range(10):
        done = run("scan", folder, "--at", version, "--count", "--json")
        # The next checkpoint replaces the entries before it.
        if lost <= version < (4 if lost < 4 else 8):
            assert (done.code, done.error["kind"]) == (5, "corrupt_data")
            assert f"{lost:020}.json: the entry of version {lost} does not exist" in done.error["message"]
            assert "verify" in done.error["advice"]
        else:
            assert done.code == 0
            assert deltalake.DeltaTable(folder, version=version).version() == version
    later = run("scan", folder, "--at", "10", "--count", "--json")
    assert (later.code, "the last one is 9" in later.error["message"]) == (3, True)
    # A cleanup of the log leaves nothing before a checkpoint.
    for version in range(8):
        entry(version).unlink(missing_ok=True)
    (folder / "_delta_log" / f"{4:020}.checkpoint.parquet").unlink()
    for version in range(8):
        done = run("scan", folder, "--at", version, "--count", "--json")
        assert (done.code, done.error["kind"]) == (3, "not_found")
        assert "entries older than version 8 were cleaned up" in done.error["message"]
        assert "read version 8" in done.error["advice"]
    assert ok("scan", folder, "--at", "8", "--count").out.strip() == "9"
    assert ok("scan", folder, "--count").out.strip() == "10"


def test_tables_within_tables_stay(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    for place in (outer, inner):
        deltalake.write_deltalake(place, pa.table({"id": [1, 2, 3]}))
    lr.Table(outer).delete("true")
    for file in outer.rglob("*.parquet"):
        os.utime(file, (0, 0))
    lr.Table(outer).vacuum(retain="0 s", allow_short_retention=True)
    assert not list(outer.glob("*.parquet"))
    assert deltalake.DeltaTable(inner).to_pyarrow_table().num_rows == 3
    # Nothing is written where the next vacuum would remove it.
    rows = pa.table({"id": [4]})
    for target in (
        f"delta:{outer / 'new'}",
        outer / "export.parquet",
        f"{outer / 'folder'}/",
        f"delta:{outer / 'p=1'}",
    ):
        with pytest.raises(lr.ConflictError, match="in the folder of the Delta table"):
            lr.copy(rows, target, output_format=None if str(target).startswith("delta:") else "parquet")
        with pytest.raises(lr.ConflictError, match="in the folder of the Delta table"):
            lr.copy(rows, target, output_format=None if str(target).startswith("delta:") else "parquet", dry_run=True)
    with pytest.raises(lr.ConflictError, match="in the folder of the Delta table"):
        lr.Table(f"delta:{outer / 'keyed'}", key="id").upsert(rows)
    assert run("scan", inner, "-o", outer / "rows.csv").code == 7
    assert sorted(path.name for path in outer.iterdir() if path.name[0] != "_") == ["inner"]
    lr.copy(rows, outer / "_exports" / "x.parquet")
    lr.copy(rows, inner, mode="append")
    assert deltalake.DeltaTable(inner).to_pyarrow_table().num_rows == 4
