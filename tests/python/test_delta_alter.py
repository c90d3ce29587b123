"""Properties of Delta tables that exist, and tables that an upsert makes."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakerace as lr


def rows(ids: range, text: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "text": [text] * len(ids)})


def command(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "lakerace", *map(str, arguments)], check=False, input=stdin, capture_output=True
    )


def told(*arguments: str | Path, stdin: bytes = b"") -> dict[str, object]:
    done = command(*arguments, "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_other_readers_see_the_properties_and_the_protocol(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(range(10), "a"), f"delta:{folder}")
    altered = lr.Table(folder).alter(set={"delta.enableChangeDataFeed": "true", "lakerace.primaryKey": "id"})
    assert (altered.version, altered.features_added) == (1, ["changeDataFeed"])
    other = DeltaTable(folder)
    assert other.metadata().configuration["lakerace.primaryKey"] == "id"
    assert other.protocol().min_reader_version == 1
    assert "changeDataFeed" in other.protocol().writer_features
    assert other.to_pyarrow_table().num_rows == 10
    lr.Table(folder).upsert(rows(range(5, 15), "b"))
    changes = pa.table(lr.Table(folder).changes(2)).column("_change_type").value_counts().to_pylist()
    assert {entry["values"]: entry["counts"] for entry in changes} == {
        "insert": 5,
        "update_preimage": 5,
        "update_postimage": 5,
    }


def test_a_table_of_another_writer_gets_deletion_vectors(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    folder = tmp_path / "t"
    write_deltalake(folder, rows(range(10), "a"))
    table = lr.Table(folder, key="id")
    assert table.upsert(rows(range(1), "b")).files_rewritten == 1
    assert table.alter(set={"delta.enableDeletionVectors": "true"}).features_added == ["deletionVectors"]
    assert table.upsert(rows(range(1, 2), "b")).files_rewritten == 0
    assert table.alter(unset="delta.enableDeletionVectors").version is not None
    assert table.upsert(rows(range(2, 3), "b")).files_rewritten == 1
    assert table.scan().count() == 10


def test_wrong_properties_are_errors(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(range(10), "a"), f"delta:{folder}")
    table = lr.Table(folder)
    with pytest.raises(lr.UsageError, match=r"lakerace\.primaryKey"):
        table.alter(set={"lakerace.primarykey": "id"})
    with pytest.raises(lr.NotFoundError, match='"idd"'):
        table.alter(set={"lakerace.primaryKey": "idd"})
    with pytest.raises(lr.NotFoundError, match=r"this property does not exist|the table has no such property"):
        table.alter(unset=["owner"])
    with pytest.raises(lr.UnsupportedError, match="from the start, with table_properties"):
        table.alter(set={"delta.columnMapping.mode": "name"})
    with pytest.raises(lr.UsageError, match="no change is given"):
        table.alter()
    with pytest.raises(lr.NotFoundError):
        lr.Table(tmp_path / "nothing").alter(set={"owner": "me"})


def test_the_command_alters(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(range(10), "a"), f"delta:{folder}")
    answer = told("alter", folder, "--set", "owner=me", "--set", "delta.checkpointInterval=5")
    assert answer["version"] == 1
    assert answer["properties"]["owner"] == "me"  # type: ignore[index]
    answer = told("alter", folder, "--unset", "owner")
    assert "owner" not in answer["properties"]  # type: ignore[operator]
    done = command("alter", folder, "--set", "owner=me", "--set", "owner=you")
    assert (done.returncode, b"two values" in done.stderr) == (2, True)
    done = command("alter", folder)
    assert (done.returncode, b"--set" in done.stderr) == (2, True)
    done = command("alter", folder, "--set", "delta.enableDeletionVectors=maybe")
    assert (done.returncode, b"neither true nor false" in done.stderr) == (2, True)


def test_an_upsert_makes_the_table(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    twice = pa.concat_tables([rows(range(10), "a"), rows(range(5), "b")])
    table = lr.Table(f"delta:{folder}", key="id")
    changed = table.upsert(twice, table_properties={"delta.enableChangeDataFeed": "true"})
    assert (changed.version, changed.rows, changed.rows_hidden) == (1, 10, 0)
    shown = table.schema()
    assert shown["properties"]["lakerace.primaryKey"] == "id"
    assert shown["properties"]["delta.enableChangeDataFeed"] == "true"
    # The table knows its key from now on.
    changed = lr.Table(folder).upsert(rows(range(8, 12), "c"))
    assert (changed.version, changed.rows_hidden) == (2, 2)
    found = pa.table(table.scan()).to_pydict()
    assert sorted(zip(found["id"], found["text"], strict=True)) == list(enumerate(["b"] * 5 + ["a"] * 3 + ["c"] * 4))


def test_the_command_makes_the_table_of_a_pipe(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    text = b"day,id,n\n2026-01-01,1,1\n2026-01-02,2,2\n2026-01-02,2,3\n"
    answer = told("upsert", f"delta:{folder}", "-", "--key", "id,day", "--partition-by", "day", stdin=text)
    assert (answer["version"], answer["rows"]) == (1, 2)
    assert lr.schema(folder)["partition_columns"] == ["day"]
    assert pa.table(lr.scan(folder)).column("n").to_pylist() in ([1, 3], [3, 1])


def test_a_table_is_made_only_where_it_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    with pytest.raises(lr.NotFoundError, match="put delta: in front"):
        lr.Table(folder, key="id").upsert(rows(range(10), "a"))
    with pytest.raises(lr.UsageError, match=r'key=\["A", "B"\]'):
        lr.Table(f"delta:{folder}").upsert(rows(range(10), "a"))
    with pytest.raises(lr.NotFoundError, match='"nothing"'):
        lr.Table(f"delta:{folder}", key="nothing").upsert(rows(range(10), "a"))
    with pytest.raises(lr.NotFoundError):
        lr.Table(f"delta:{folder}", key="id").upsert(tmp_path / "missing.parquet")
    assert not folder.exists() or not list(folder.rglob("*.json"))


def test_upserts_that_make_the_same_table_keep_all_rows(tmp_path: Path) -> None:
    folder = tmp_path / "t"

    def put(number: int) -> int:
        ids = range(number * 10, number * 10 + 15)
        return lr.Table(f"delta:{folder}", key="id").upsert(rows(ids, "a"), threads=1).rows

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(put, range(4))) == [15] * 4
    assert sorted(pa.table(lr.scan(folder)).column("id").to_pylist()) == list(range(45))
