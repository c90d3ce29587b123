"""Logs that a cleanup has shortened: versions that are left are read, and errors name them."""

import re
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import lakerace as lr

FEED = {"delta.enableChangeDataFeed": "true"}
CHECKPOINT = 5


def cleaned_up(folder: Path, first_entry: int, last: int = 7) -> Path:
    """Makes a table by delta-rs, with a checkpoint of version 5, and removes the entries before `first_entry`."""
    for version in range(last + 1):
        rows = pa.table({"a": [version]})
        deltalake.write_deltalake(folder, rows, mode="append", configuration=FEED if version == 0 else None)
        if version == CHECKPOINT:
            deltalake.DeltaTable(folder).create_checkpoint()
    for version in range(min(first_entry, last + 1)):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    return folder


def changed(table: lr.Table, first: int) -> pa.Table:
    return pa.RecordBatchReader.from_stream(table.changes(first)).read_all()


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(lr.NotFoundError) as raised:
        call()
    text = str(raised.value)
    # Words of the kernel.
    assert not re.search(
        "unavailable for this log|out of range|metadata or protocol|no (version of a )?Delta table", text
    )
    return text


def test_a_log_without_entries_says_what_is_left(tmp_path: Path) -> None:
    folder = str(cleaned_up(tmp_path / "t", 6, last=CHECKPOINT))
    table = lr.Table(folder)
    expected = deltalake.DeltaTable(folder).to_pyarrow_table().num_rows
    assert lr.scan(folder).to_arrow().num_rows == expected
    assert lr.scan(folder, at=5).to_arrow().num_rows == expected
    # The checkpoint was written before this time.
    assert lr.scan(folder, at="2999-01-01").to_arrow().num_rows == expected
    assert "version 5" in refused(table.history)
    for at in (0, 2, 4):
        text = refused(lambda at=at: lr.scan(folder, at=at).to_arrow())
        assert "entries older than version 5 were cleaned up" in text
        assert "read version 5" in text
        assert "read version 5" in refused(lambda at=at: table.restore(at))
        assert "no longer kept" in refused(lambda at=at: changed(table, at))
    assert "no longer kept" in refused(lambda: changed(table, 5))
    for at in (6, 2100):
        assert "the last one is 5" in refused(lambda at=at: lr.scan(folder, at=at).to_arrow())
        assert "the last one is 5" in refused(lambda at=at: table.restore(at))
        assert "the last one is 5" in refused(lambda at=at: changed(table, at))
    for time in ("1999-01-01", "2001-02-03T04:05:06Z"):
        assert "read version 5" in refused(lambda time=time: lr.scan(folder, at=time).to_arrow())
        assert "read version 5" in refused(lambda time=time: table.restore(time))
    # The next version has a history.
    lr.copy(pa.table({"a": [100]}), folder, mode="append")
    assert [entry.version for entry in table.history()] == [6]
    assert deltalake.DeltaTable(folder).version() == 6


@pytest.mark.parametrize(("first_entry", "oldest_changes"), [(3, 5), (5, 5), (6, 6)])
def test_changes_name_the_first_version_that_has_them(tmp_path: Path, first_entry: int, oldest_changes: int) -> None:
    folder = str(cleaned_up(tmp_path / "t", first_entry))
    table = lr.Table(folder)
    for version in range(8):
        if version < oldest_changes:
            text = refused(lambda version=version: changed(table, version))
            assert f"version {version} is no longer kept: the oldest remaining one is {oldest_changes}" in text
        else:
            assert sorted(changed(table, version)["a"].to_pylist()) == list(range(version, 8))
        if version < CHECKPOINT:
            assert "read version 5" in refused(lambda version=version: lr.scan(folder, at=version).to_arrow())
        else:
            assert lr.scan(folder, at=version).to_arrow().num_rows == version + 1


def test_a_time_before_all_in_commit_times_names_the_oldest_version(tmp_path: Path) -> None:
    folder = str(tmp_path / "t")
    properties = {"delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "3"}
    for version in range(5):
        rows, given = pa.table({"a": [version]}), properties if version == 0 else None
        lr.copy(rows, f"delta:{folder}", mode="append", table_properties=given)
    for first in range(4):
        text = refused(lambda: lr.scan(folder, at="1999-01-01").to_arrow())
        assert f"version {first} was made" in text
        assert lr.scan(folder, at="2999-01-01").to_arrow().num_rows == 5
        (tmp_path / "t" / "_delta_log" / f"{first:020}.json").unlink()
