"""Data files of Delta tables that are gone or have another size than the log states, and refusals that say what to do."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

FEED = {"delta.enableChangeDataFeed": "true"}
ROWS = 50


def rows(text: str = "x") -> pa.Table:
    return pa.table({"id": range(ROWS), "day": ["a", "b"] * (ROWS // 2), "v": [text] * ROWS})


def feed(folder: Path, first: int) -> pa.Table:
    return pa.RecordBatchReader.from_stream(lr.Table(folder).changes(first)).read_all()


def data_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


@pytest.mark.parametrize("command", [["--where", "day = 'a'"], []])
def test_a_compaction_with_nothing_to_do_finds_a_file_that_is_gone(tmp_path: Path, command: list[str]) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(), f"delta:{folder}", partition_by="day")
    assert "nothing to compact" in ok("compact", folder).err
    gone = next(path for path in data_files(folder) if "day=a" in str(path))
    gone.unlink()
    done = run("compact", folder, *command)
    assert done.code == 5
    assert str(gone) in done.err
    assert "lakerace restore" in done.err
    assert "nothing to compact" not in done.err
    with pytest.raises(lr.CorruptDataError, match=gone.name):
        lr.Table(folder).compact()
    # Other partitions are none of its business.
    assert "nothing to compact" in ok("compact", folder, "--where", "day = 'b'").err


def test_a_compaction_of_a_table_with_a_file_of_another_size(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(), f"delta:{folder}")
    [file] = data_files(folder)
    stated = file.stat().st_size
    file.write_bytes(file.read_bytes() + b"\0")
    done = run("compact", folder)
    assert done.code == 5
    assert f"it has {stated + 1} bytes, but the log states {stated}" in done.err
    assert str(file) in done.err


@pytest.fixture
def replaced(tmp_path: Path) -> tuple[Path, str]:
    """A table of two files, one of which another program has replaced by one of its own, and what errors say of it."""
    folder = tmp_path / "t"
    lr.copy(rows(), f"delta:{folder}", table_properties=FEED)
    lr.copy(rows("y"), f"delta:{folder}", mode="append")
    # No filter of the test leaves this file out.
    file = next(path for path in data_files(folder) if pq.read_table(path)["v"][0].as_py() == "x")
    stated = file.stat().st_size
    pq.write_table(rows("another text"), file)
    found = file.stat().st_size
    assert found != stated
    return folder, f"{file}: it has {found} bytes, but the log states {stated}"


def test_every_read_notices_a_file_that_was_replaced(tmp_path: Path, replaced: tuple[Path, str]) -> None:
    folder, said = replaced
    source = tmp_path / "new.csv"
    source.write_text("id,day,v\n1,a,z\n")
    for command in [
        ("scan", folder),
        ("scan", folder, "--where", "v = 'x'"),
        ("scan", folder, "--checksum"),
        ("copy", folder, tmp_path / "copy.parquet"),
        ("upsert", folder, source, "--key", "id"),
        ("delete", folder, "--where", "v = 'x'"),
        ("compact", folder),
        ("compact", folder, "--sort-by", "id"),
        ("compact", folder, "--zorder", "id"),
        ("changes", folder, "--from", 0),
        ("sync", folder, f"sqlite:{tmp_path / 'a.db'}#t", "--key", "id"),
        ("verify", folder),
    ]:
        done = run(*command)
        assert done.code == 5, (command, done.err)
        assert said in done.out + done.err, (command, done.err)
    with pytest.raises(lr.CorruptDataError, match="but the log states"):
        lr.Table(folder).scan().lazy().collect()
    with pytest.raises(lr.CorruptDataError, match="but the log states"):
        lr.Table(folder, key="id").upsert(pa.table({"id": [1], "day": ["a"], "v": ["z"]}))
    assert lr.Table(folder).history()[0].version == 1


def test_changes_before_the_change_feed_say_where_it_begins(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(), f"delta:{folder}")
    done = run("changes", folder, "--from", 0)
    assert done.code == 6
    assert "version 0 has no change feed" in done.err
    assert "`lakerace alter TABLE --set delta.enableChangeDataFeed=true`" in done.err
    with pytest.raises(lr.UnsupportedError, match=r"Table\.alter"):
        feed(folder, 0)
    ok("alter", folder, "--set", "delta.enableChangeDataFeed=true")
    lr.copy(rows("y"), f"delta:{folder}", mode="append")
    done = run("changes", folder, "--from", 0)
    assert done.code == 6
    assert "--from 1" in done.err
    with pytest.raises(lr.UnsupportedError, match="first=1"):
        feed(folder, 0)
    assert feed(folder, 1).num_rows == ROWS
    ok("alter", folder, "--set", "delta.enableChangeDataFeed=false")
    done = run("changes", folder, "--from", 1)
    assert done.code == 6
    assert "version 3 has no change feed" in done.err


def test_changes_of_versions_that_are_not_kept_name_the_oldest_one(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(), f"delta:{folder}", table_properties={**FEED, "delta.checkpointInterval": "3"})
    for _ in range(4):
        lr.copy(rows("y"), f"delta:{folder}", mode="append")
    for version in range(3):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    for first in range(3):
        done = run("changes", folder, "--from", first)
        assert done.code == 3, done.err
        assert f"version {first} is no longer kept: the oldest remaining one is 3" in done.err
        assert "--from 3" in done.err
    assert feed(folder, 4).num_rows == ROWS


def test_alter_without_options_says_which_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(), f"delta:{folder}")
    done = run("alter", folder)
    assert done.code == 2
    assert "no change is given" in done.err
    assert "--set NAME=VALUE" in done.err
    assert "--rename OLD=NEW" in done.err
    with pytest.raises(lr.UsageError, match="no change is given"):
        lr.Table(folder).alter()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("scan", "--limit", "x"), "non-negative"),
        (("copy", "b.csv", "--limit", "1.5"), "non-negative"),
        (("changes", "--from", "x"), "non-negative"),
        (("changes", "--from", "0", "--to", "x"), "non-negative"),
        (("history", "--limit", "x"), "positive"),
    ],
)
def test_an_option_that_is_no_number_says_what_it_takes(tmp_path: Path, arguments: tuple[str, ...], kind: str) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    command, *rest = arguments
    done = run(command, "a.csv", *rest, cwd=tmp_path)
    assert done.code == 2
    assert f"is not a {kind} integer" in done.err, done.err
    assert "invalid digit" not in done.err


def test_sync_says_what_it_has_verified(tmp_path: Path) -> None:
    folder, target = tmp_path / "t", f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(rows(), f"delta:{folder}")
    checksum = ok("scan", folder, "--checksum").out.split()[0]
    for _ in range(2):
        done = ok("sync", folder, target, "--key", "id", "--verify")
        assert f"verified: table and target have {ROWS} rows with checksum {checksum}" in done.err
    told = json.loads(ok("sync", folder, target, "--key", "id", "--verify", "--json").out)
    assert (told["rows_verified"], told["checksum"]) == (ROWS, checksum)
    result = lr.sync(folder, target, key="id", verify=True)
    assert (result.rows_verified, result.checksum) == (ROWS, checksum)
    done = ok("sync", folder, target, "--key", "id")
    assert "verified" not in done.err
    assert "rows_verified" not in json.loads(ok("sync", folder, target, "--key", "id", "--json").out)
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("DELETE FROM t WHERE id = 1")
    done = run("sync", folder, target, "--key", "id", "--verify")
    assert done.code == 5
    assert f"{ROWS - 1} rows" in done.err
