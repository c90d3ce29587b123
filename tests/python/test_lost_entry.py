"""The way out of an empty last entry of a log: it is given up where the user asks for that, and other readers go on."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import polars as pl
import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

    from s3server import S3

GIVE_UP = ("--repair", "--drop-empty-entry")


def rows(first: int, last: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, last), pa.int64())})


def entry(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020}.json"


#: What is lost is a warning, too.
pytestmark = pytest.mark.filterwarnings("ignore:.*the commit of version:lakerace.LakeraceWarning")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of delta-rs with versions 0 to 3, of which the last entry is empty."""
    folder = tmp_path / "t"
    for version in range(4):
        deltalake.write_deltalake(folder, rows(version * 10, version * 10 + 10), mode="append")
    entry(folder, 3).write_bytes(b"")
    return folder


def is_read_by_all(folder: Path, expected: int) -> None:
    for found in (
        deltalake.DeltaTable(folder).to_pyarrow_table(),
        pl.read_delta(str(folder)).to_arrow(),
        lr.scan(folder).to_arrow(),
    ):
        assert sorted(found["id"].to_pylist()) == list(range(expected))


def test_an_empty_last_entry_is_given_up_when_asked_for(table: Path) -> None:
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    for options in ((), ("--repair",)):
        done = run("verify", table, *options)
        assert done.code == 5
        assert "--drop-empty-entry" in done.out
    assert run("restore", table, "--at", 2).code == 5
    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before
    assert run("verify", table, "--drop-empty-entry").code == 2
    with pytest.raises(lr.UsageError, match="repair"):
        lr.Table(table).verify(drop_empty_entry=True)
    done = ok("verify", table, *GIVE_UP, "--json")
    told = json.loads(done.out)
    assert told["sound"]
    [finding] = told["findings"]
    assert "the commit of version 3 is lost" in finding["repaired"]
    assert any("the rows of version 2" in warning for warning in told["warnings"])
    assert lr.Table(table).verify(deep=True).findings == []
    is_read_by_all(table, 30)
    assert deltalake.DeltaTable(table).version() == 3
    assert deltalake.DeltaTable(table).history(1)[0]["operation"] == "GIVE UP LOST COMMIT"
    # All go on: ours, delta-rs, and a checkpoint by it.
    lr.copy(rows(30, 40), table, mode="append")
    deltalake.write_deltalake(table, rows(40, 50), mode="append")
    deltalake.DeltaTable(table).create_checkpoint()
    is_read_by_all(table, 50)
    assert lr.Table(table).verify(deep=True).findings == []


def with_a_later_entry(folder: Path) -> None:
    shutil.copyfile(entry(folder, 2), entry(folder, 4))


def with_a_later_checkpoint(folder: Path) -> None:
    (folder / "_delta_log" / f"{3:020}.checkpoint.parquet").write_bytes(b"PAR1")


def with_a_checksum(folder: Path) -> None:
    (folder / "_delta_log" / f"{3:020}.crc").write_text('{"numFiles":4,"tableSizeBytes":1}')


def with_a_hint(folder: Path) -> None:
    (folder / "_delta_log" / "_last_checkpoint").write_text('{"version":3,"size":3}')


def with_a_copy(folder: Path) -> None:
    shutil.copyfile(entry(folder, 2), entry(folder, 3).with_suffix(".json.bak"))


def with_a_temporary_file(folder: Path) -> None:
    (folder / "_delta_log" / f".{3:020}.json.1234.tmp").write_text('{"commitInfo":{}}')


def with_joined_entries(folder: Path) -> None:
    (folder / "_delta_log" / f"{1:020}.{3:020}.compacted.json").write_text('{"commitInfo":{}}\n')


EVIDENCE = [
    with_a_later_entry,
    with_a_later_checkpoint,
    with_a_checksum,
    with_a_hint,
    with_a_copy,
    with_a_temporary_file,
    with_joined_entries,
]


@pytest.mark.parametrize("evidence", EVIDENCE, ids=lambda change: change.__name__)
def test_an_entry_that_the_log_tells_of_is_not_given_up(table: Path, evidence: Callable[[Path], None]) -> None:
    evidence(table)
    done = run("verify", table, *GIVE_UP, "--json")
    assert done.code == 5
    told = json.loads(done.out)
    left = [finding["problem"] for finding in told["findings"] if finding["repaired"] is None]
    assert any("its commit is not given up: " in problem for problem in left), left
    assert entry(table, 3).read_bytes() == b""


def test_entries_that_have_anything_are_not_given_up(table: Path) -> None:
    for content in (b"\n", b"{}\n", b'{"add":'):
        entry(table, 3).write_bytes(content)
        assert run("verify", table, *GIVE_UP).code == 5
        assert entry(table, 3).read_bytes() == content
    # The first entry makes the table.
    for version in (1, 2, 3):
        entry(table, version).unlink()
    entry(table, 0).write_bytes(b"")
    done = run("verify", table, *GIVE_UP)
    assert done.code == 5
    assert "without which there is no table" in done.out


def test_an_entry_with_checksums_of_hadoop_is_read_by_it(table: Path) -> None:
    checksums = table / "_delta_log" / f".{3:020}.json.crc"
    # Those of no byte.
    checksums.write_bytes(b"crc\0\0\0\x02\0")
    ok("verify", table, *GIVE_UP)
    assert not checksums.exists()
    is_read_by_all(table, 30)


def test_times_in_entries_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(0, 10), f"delta:{folder}", table_properties={"delta.enableInCommitTimestamps": "true"})
    lr.copy(rows(10, 20), folder, mode="append")
    lr.copy(rows(20, 30), folder, mode="append")
    entry(folder, 2).write_bytes(b"")
    ok("verify", folder, *GIVE_UP)
    times = [
        json.loads(entry(folder, n).read_text().splitlines()[0])["commitInfo"]["inCommitTimestamp"] for n in (1, 2)
    ]
    assert times[1] > times[0]
    lr.copy(rows(20, 30), folder, mode="append")
    assert sorted(lr.scan(folder).to_arrow()["id"].to_pylist()) == list(range(30))
    assert lr.Table(folder).verify(deep=True).findings == []


def test_two_repairs_and_a_writer_at_once_lose_no_commit(tmp_path: Path) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        for version in range(3):
            deltalake.write_deltalake(folder, rows(version * 10, version * 10 + 10), mode="append")
        entry(folder, 2).write_bytes(b"")
        begin = threading.Barrier(3)
        failures: list[Exception] = []

        def repair(
            folder: Path = folder, begin: threading.Barrier = begin, failures: list[Exception] = failures
        ) -> None:
            begin.wait()
            try:
                lr.Table(folder).verify(repair=True, drop_empty_entry=True)
            except lr.ConflictError as error:
                failures.append(error)

        committed: list[int] = []

        def write(folder: Path = folder, begin: threading.Barrier = begin, committed: list[int] = committed) -> None:
            begin.wait()
            for first in range(100, 150, 10):
                try:
                    lr.copy(rows(first, first + 10), folder, mode="append")
                except lr.CorruptDataError:
                    continue
                committed.extend(range(first, first + 10))

        threads = [threading.Thread(target=job) for job in (repair, repair, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert lr.Table(folder).verify().findings == []
        assert len(failures) < 2
        found = sorted(deltalake.DeltaTable(folder).to_pyarrow_table()["id"].to_pylist())
        assert found == [*range(20), *committed]


def test_an_object_store(s3: S3, table: Path) -> None:
    for path in table.rglob("*"):
        if path.is_file():
            s3.put(f"lost/{path.relative_to(table)}", path.read_bytes())
    url = s3.url("lost")
    assert run("scan", url, "--count", env=s3.env).code == 5
    ok("verify", url, *GIVE_UP, env=s3.env)
    assert ok("scan", url, "--count", env=s3.env).out == "30\n"
    assert ok("verify", url, env=s3.env).out == ""
    found = deltalake.DeltaTable(url, storage_options=s3.options)
    assert (found.version(), found.to_pyarrow_table().num_rows) == (3, 30)
