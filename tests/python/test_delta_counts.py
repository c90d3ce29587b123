"""Numbers of rows of Delta tables from their log: no data file is opened that states its rows, judged by delta-rs."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

FILES = 7


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of delta-rs with several files, each in a commit of its own."""
    folder = tmp_path / "table"
    for number in range(FILES):
        rows = pa.table({"id": range(number * 10, number * 10 + number + 1), "part": [number % 2] * (number + 1)})
        deltalake.write_deltalake(folder, rows, mode="append", partition_by=["part"])
    return folder


def rows_of_delta_rs(folder: Path, version: int | None = None) -> int:
    return int(deltalake.DeltaTable(folder, version=version).to_pyarrow_table().num_rows)


def data_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts)


def change_statistics(folder: Path, change: Any, of: int = FILES) -> list[Path]:
    """Changes the statistics of the first files; returns the files."""
    changed = []
    for version in range(of):
        path = folder / "_delta_log" / f"{version:020}.json"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for added in (line["add"] for line in lines if "add" in line):
            added["stats"] = change(added["stats"])
            changed.append(folder / added["path"])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return changed


def test_the_log_has_the_number(table: Path) -> None:
    expected = {version: rows_of_delta_rs(table, version) for version in range(FILES)}
    for path in data_files(table):
        path.unlink()
    for version, rows in expected.items():
        assert ok("scan", table, "--at", version, "--count").out.strip() == str(rows)
        assert len(lr.scan(table, at=version)) == rows
    assert lr.scan(table).count() == expected[FILES - 1] == sum(range(1, FILES + 1))
    assert lr.scan(table, limit=5).count() == 5
    assert lr.scan(table, columns=["id"]).count() == expected[FILES - 1]
    explained = ok("scan", table, "--count", "--explain", "--json").json["explain"]
    assert [len(explained["plan"]["requests"]["requests"]), explained["alternatives"][0]["requests"]] == [0, 0]
    assert f"rows      {expected[FILES - 1]}" in ok("scan", table, "--count", "--explain").out
    # What needs values opens the files.
    for arguments in (["--count", "--where", "id > 3"], ["--checksum"], ["--limit", "3"]):
        assert run("scan", table, *arguments).code == 5
    with pytest.raises(lr.CorruptDataError, match=r"version 6: .*\.parquet"):
        lr.scan(table).to_arrow()


def test_requests_do_not_grow_with_files(table: Path) -> None:
    deltalake.DeltaTable(table).create_checkpoint()
    requests = []
    for _ in range(2):
        scan = lr.scan(table)
        assert scan.count() == rows_of_delta_rs(table)
        requests.append(sum(scan.report()["requests"].values()))
        assert sum(ok("scan", table, "--count", "--json").json["requests"].values()) == requests[-1]
        deltalake.write_deltalake(table, pa.table({"id": range(50), "part": range(50)}), mode="append")
        deltalake.DeltaTable(table).create_checkpoint()
    assert len(data_files(table)) > FILES + 50
    # The data files of the second count are many more, its requests are as many.
    assert requests[0] == requests[1]


def test_a_scan_that_counts_first_reads_all_rows(table: Path) -> None:
    scan = lr.scan(table)
    assert len(scan) == rows_of_delta_rs(table)
    for _ in range(2):
        assert sorted(scan.to_arrow()["id"].to_pylist()) == sorted(
            deltalake.DeltaTable(table).to_pyarrow_table()["id"].to_pylist()
        )
    assert len(scan) == scan.to_arrow().num_rows
    assert scan.checksum() == lr.scan(table).checksum()
    assert sum(part.count() for part in scan.tasks(3)) == len(scan)


@pytest.mark.parametrize(
    "change",
    [
        lambda stats: None,
        lambda stats: "{}",
        lambda stats: "",
        lambda stats: json.dumps({**json.loads(stats), "numRecords": None}),
    ],
    ids=["none", "empty", "no text", "null"],
)
def test_footers_are_read_where_the_log_lacks_the_number(table: Path, change: Any) -> None:
    rows = rows_of_delta_rs(table)
    unknown = change_statistics(table, change, of=3)
    known = [path for path in data_files(table) if path not in unknown]
    assert len(known) == FILES - 3
    for path in known:
        path.unlink()
    assert ok("scan", table, "--count").out.strip() == str(rows)
    assert lr.scan(table).count() == rows
    explained = ok("scan", table, "--count", "--explain").out
    assert (explained.count("counted by its footer"), explained.count("counted by the log")) == (3, FILES - 3)
    unknown[0].unlink()
    assert run("scan", table, "--count").code == 5


def test_bounds_that_are_not_tight_leave_the_number_exact(table: Path) -> None:
    rows = rows_of_delta_rs(table)
    change_statistics(table, lambda stats: json.dumps({**json.loads(stats), "tightBounds": False}))
    for path in data_files(table):
        path.unlink()
    assert lr.scan(table).count() == rows


def test_deleted_rows_are_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    properties = {"delta.enableDeletionVectors": "true", "lakerace.primaryKey": "id"}
    lr.copy(pa.table({"id": range(1000), "v": range(1000)}), f"delta:{folder}", table_properties=properties)
    lr.Table(folder).upsert(pa.table({"id": [5, 6, 2000], "v": [0, 0, 0]}))
    lr.Table(folder).delete(where="id >= 990")
    rows = lr.scan(folder).to_arrow()
    assert sorted(rows["id"].to_pylist()) == list(range(990))
    for path in [*data_files(folder), *folder.rglob("*.bin")]:
        path.unlink()
    assert ok("scan", folder, "--count").out.strip() == "990"
    assert len(lr.scan(folder)) == 990


def test_computed_columns_are_planned_when_the_scan_is_opened(table: Path) -> None:
    scan = lr.scan(table, columns=["now() as t"])
    before = datetime.now(timezone.utc).replace(tzinfo=None)
    assert len(scan) == rows_of_delta_rs(table)
    assert all(moment < before for moment in scan.to_arrow()["t"].to_pylist())


@pytest.mark.parametrize(
    "stated", ['"5"', "1.5", "5.0", "5e0", "-5", "true", "[5]", '" 5 "', "99999999999999999999", "null"]
)
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_a_number_of_rows_that_is_no_count_is_not_believed(table: Path, stated: str, has_checkpoint: bool) -> None:
    """The rows are those of the files, as pyarrow reads them."""
    expected = rows_of_delta_rs(table)

    def changed(text: str) -> str:
        statistics = json.loads(text)
        del statistics["numRecords"]
        rest = json.dumps(statistics)
        return f'{{"numRecords":{stated},{rest[1:]}' if len(stated) % 2 else f'{rest[:-1]}, "numRecords" : {stated} }}'

    change_statistics(table, changed, 3)
    if has_checkpoint:
        # Its text is that of the entries.
        lr.Table(table).upsert([{"id": 999, "part": 0}], key="id")
        expected += 1
    for scan in (lr.scan(table), lr.scan(table, columns=["id"])):
        assert scan.count() == expected
        assert scan.to_arrow().num_rows == expected
    assert ok("scan", table, "--count").out.strip() == str(expected)
    schema = lr.schema(table)
    assert schema["rows"] in {None, expected}
    for limit in (1, 5, expected, expected + 5):
        assert lr.scan(table, limit=limit).to_arrow().num_rows == min(limit, expected)
    # A column of which all rows are said to be null is not left out by a wrong number.
    assert lr.scan(table, where="id >= 0").count() == expected
    assert lr.scan(table, where="id IS NULL").count() == 0


@pytest.mark.parametrize("stated", ['"0"', "0.5", "0.0", "-1", "{}", "[]", "true"])
def test_a_count_of_nulls_that_is_none_excludes_no_file(tmp_path: Path, stated: str) -> None:
    table = tmp_path / "table"
    for ids in ([None, 1], [2, 3]):
        deltalake.write_deltalake(table, pa.table({"id": pa.array(ids, pa.int64())}), mode="append")

    def changed(text: str) -> str:
        count = f'"nullCount":{{"id":{json.loads(text)["nullCount"]["id"]}}}'
        assert count in text
        return text.replace(count, f'"nullCount":{{"id":{stated}}}')

    change_statistics(table, changed, 2)
    assert lr.scan(table, where="id IS NULL").to_arrow().num_rows == 1
    assert lr.scan(table, where="id IS NOT NULL").to_arrow().num_rows == 3
    assert lr.scan(table, where="id IS NULL").count() == 1
    assert lr.scan(table).count() == 4
