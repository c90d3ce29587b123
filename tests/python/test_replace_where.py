"""An overwrite of the rows for which a condition is true, judged by delta-rs and polars."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from conftest import ok, run
from deltalake import DeltaTable, write_deltalake

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3


def rows(region: str | None, ids: list[int], text: str = "old") -> pa.Table:
    """Rows of a region."""
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "region": pa.array([region] * len(ids), pa.string()),
            "text": [text] * len(ids),
        }
    )


START = pa.concat_tables([rows("EU", [1, 2]), rows("US", [3]), rows(None, [4])])


def found(table: object, options: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
    """The rows of a table, as polars reads them with delta-rs."""
    frame = pl.read_delta(str(table), storage_options=options)
    return sorted(frame.select("id", "region", "text").rows(), key=lambda row: row[0])


def predicate(table: Path) -> dict[str, Any]:
    """The operation of the last version, as delta-rs tells it."""
    entry = DeltaTable(str(table)).history(1)[0]
    return {"operation": entry["operation"], **entry["operationParameters"]}


@pytest.fixture(params=["lakerace", "delta-rs"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A table that is partitioned by region, of either writer."""
    folder = tmp_path / "table"
    if request.param == "lakerace":
        lr.copy(START, f"delta:{folder}", partition_by="region")
    else:
        write_deltalake(folder, START, partition_by=["region"])
    return folder


def test_a_partition_is_replaced_in_one_commit(table: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    write_deltalake(twin, START, partition_by=["region"])
    new = rows("EU", [7, 8, 9], "new")
    write_deltalake(twin, new, mode="overwrite", predicate="region = 'EU'")
    copied = lr.copy(new, table, mode="overwrite", replace_where="region = 'EU'", verify=True)
    assert (copied.rows, copied.version) == (3, 1)
    assert copied.checksum == lr.checksum(new).checksum
    assert found(table) == found(twin) == [(3, "US", "old"), (4, None, "old"), *((i, "EU", "new") for i in (7, 8, 9))]
    told, known = predicate(table), predicate(twin)
    assert told["operation"] == known["operation"] == "WRITE"
    assert told["predicate"] == known["predicate"] == "region = 'EU'"
    assert told["mode"] == known["mode"] == "Overwrite"
    assert lr.Table(table).history()[0].parameters["predicate"] == "region = 'EU'"
    lr.Table(table).verify(deep=True)


def test_the_command_filters_the_source_by_where(table: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.csv"
    source.write_text("id,region,text\n10,EU,new\n11,US,new\n")
    arguments = ["copy", source, table, "--mode", "overwrite", "--replace-where", "region = 'EU'"]
    refused = run(*arguments, "--json")
    assert refused.code == 4
    assert "region=US is not among the rows to replace" in refused.error["message"]
    assert DeltaTable(str(table)).version() == 0
    assert len(list(table.rglob("*.parquet"))) == 3
    dry = ok(*arguments, "--where", "region = 'EU'", "--dry-run").out
    assert "would replace the rows of" in dry
    assert "region = 'EU'" in dry
    assert DeltaTable(str(table)).version() == 0
    assert ok(*arguments, "--where", "region = 'EU'", "--json").json["version"] == 1
    assert found(table) == [(3, "US", "old"), (4, None, "old"), (10, "EU", "new")]


def test_an_empty_source_deletes(table: Path) -> None:
    assert lr.copy(rows("EU", []), table, mode="overwrite", replace_where="region = 'EU'").version == 1
    assert found(table) == [(3, "US", "old"), (4, None, "old")]
    # There is nothing to replace, and nothing to add.
    assert lr.copy(rows("EU", []), table, mode="overwrite", replace_where="region = 'EU'").version is None
    assert DeltaTable(str(table)).version() == 1


def test_conditions_of_partitions(table: Path) -> None:
    lr.copy(rows("AU", [5]), table, mode="overwrite", replace_where="region = 'AU'")
    assert [row[0] for row in found(table)] == [1, 2, 3, 4, 5]
    lr.copy(rows(None, [6], "new"), table, mode="overwrite", replace_where="region IS NULL")
    assert [row[0] for row in found(table)] == [1, 2, 3, 5, 6]
    both = pa.concat_tables([rows("EU", [20]), rows("US", [21])])
    lr.copy(both, table, mode="overwrite", replace_where="region IN ('EU', 'US', 'XX')")
    assert [row[0] for row in found(table)] == [5, 6, 20, 21]
    lr.copy(rows("ZZ", [30]), table, mode="overwrite", replace_where="region >= 'A' OR region IS NULL")
    assert [row[0] for row in found(table)] == [30]


def test_rows_outside_of_the_condition_are_refused(table: Path) -> None:
    before, files = found(table), sorted(table.rglob("*"))
    for other in (rows("US", [9]), rows(None, [9]), pa.concat_tables([rows("EU", [8]), rows("US", [9])])):
        with pytest.raises(lr.InvalidInputError, match="is not among the rows to replace"):
            lr.copy(other, table, mode="overwrite", replace_where="region = 'EU'")
    assert found(table) == before
    assert sorted(table.rglob("*.parquet")) == [file for file in files if file.suffix == ".parquet"]
    assert DeltaTable(str(table)).version() == 0


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_is_refused(table: Path, tmp_path: Path, dry_run: bool) -> None:
    new = rows("EU", [9])
    plain = tmp_path / "plain"
    write_deltalake(plain, START)
    (tmp_path / "folder").mkdir()
    refused: list[tuple[object, dict[str, Any], type[Exception], str]] = [
        (table, {"mode": "overwrite", "replace_where": "id = 1"}, lr.UnsupportedError, r"partition columns \(region\)"),
        (plain, {"mode": "overwrite", "replace_where": "id = 1"}, lr.UnsupportedError, "it has none"),
        (table, {"mode": "overwrite", "replace_where": "region = "}, lr.UsageError, "replace_where"),
        (table, {"mode": "overwrite", "replace_where": "gone = 1"}, lr.UnsupportedError, "gone"),
        (
            table,
            {"mode": "append", "replace_where": "region = 'EU'"},
            lr.UsageError,
            "mode='overwrite'|mode=\"overwrite\"",
        ),
        (f"delta:{table}", {"replace_where": "region = 'EU'"}, lr.UsageError, "replace_where"),
        (
            tmp_path / "x.parquet",
            {"mode": "overwrite", "replace_where": "region = 'EU'"},
            lr.UsageError,
            "Delta tables",
        ),
        (
            f"{tmp_path / 'folder'}/",
            {"mode": "overwrite", "replace_where": "region = 'EU'", "output_format": "csv"},
            lr.UsageError,
            "Delta tables",
        ),
        (
            f"sqlite:///{tmp_path}/a.db#t",
            {"mode": "overwrite", "replace_where": "region = 'EU'"},
            lr.UsageError,
            "Delta tables",
        ),
        (
            f"delta:{tmp_path / 'new'}",
            {"mode": "overwrite", "replace_where": "region = 'EU'"},
            lr.NotFoundError,
            "no table yet",
        ),
        (table, {"mode": "overwrite", "replace_where": "region = 'EU'", "batch_rows": 1}, lr.UsageError, "one commit"),
    ]
    for target, options, kind, message in refused:
        with pytest.raises(kind, match=message):
            lr.copy(new, target, dry_run=dry_run, **options)  # type: ignore[arg-type]
    assert DeltaTable(str(table)).version() == 0
    assert found(table)[0] == (1, "EU", "old")


def test_a_dry_run_writes_nothing(table: Path) -> None:
    planned = lr.copy(rows("EU", [9]), table, mode="overwrite", replace_where="region = 'EU'", dry_run=True).planned
    assert planned is not None
    assert planned.would.startswith("would replace the rows of")
    assert planned.would.endswith("where region = 'EU'")
    assert planned.from_version == 0
    assert DeltaTable(str(table)).version() == 0


def test_a_table_of_rows_only_to_append(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(START, f"delta:{folder}", partition_by="region", table_properties={"delta.appendOnly": "true"})
    with pytest.raises(lr.InvalidInputError, match="appendOnly"):
        lr.copy(rows("EU", [9]), folder, mode="overwrite", replace_where="region = 'EU'")


def test_writers_side_by_side(table: Path) -> None:
    """Each writer replaces its own partition, and another one appends: nothing of another partition is lost."""
    regions = [f"R{number}" for number in range(4)]
    for region in regions:
        lr.copy(rows(region, [0]), table, mode="append")
    failures: list[BaseException] = []

    def replace(number: int) -> None:
        try:
            for turn in range(5):
                new = rows(regions[number], [100 * number + turn], "new")
                lr.copy(new, table, mode="overwrite", replace_where=f"region = '{regions[number]}'")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=replace, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(5):
        lr.copy(rows("APPENDED", [1000 + turn]), table, mode="append")
    for thread in threads:
        thread.join()
    assert failures == []
    expected = [1, 2, 3, 4, *(100 * number + 4 for number in range(4)), *range(1000, 1005)]
    assert [row[0] for row in found(table)] == sorted(expected)


def test_rows_that_another_writer_adds_meanwhile_are_replaced(table: Path) -> None:
    """The commit that comes after the other's removes the rows of its condition, whoever wrote them."""

    class Between:
        """Rows whose reading lets another writer commit first."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            def batches() -> Any:
                write_deltalake(table, pa.concat_tables([rows("EU", [50]), rows("US", [51])]), mode="append")
                yield from rows("EU", [60], "new").to_batches()

            reader = pa.RecordBatchReader.from_batches(START.schema, batches())
            return reader.__arrow_c_stream__(requested_schema)

    assert lr.copy(Between(), table, mode="overwrite", replace_where="region = 'EU'").version == 2
    assert [row[0] for row in found(table)] == [3, 4, 51, 60]


def test_deletion_vectors_and_change_feeds(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    lr.copy(START, f"delta:{folder}", partition_by="region", table_properties=properties)
    lr.Table(folder).delete("id = 1")
    lr.copy(rows("EU", [9], "new"), folder, mode="overwrite", replace_where="region = 'EU'")
    assert lr.scan(folder, order_by="id").to_arrow()["id"].to_pylist() == [3, 4, 9]
    changes = pa.table(lr.Table(folder).changes(2)).to_pylist()
    assert sorted((row["_change_type"], row["id"]) for row in changes) == [("delete", 2), ("insert", 9)]


def test_on_s3(s3: S3) -> None:
    url = s3.url("replace/table")
    lr.copy(START, f"delta:{url}", partition_by="region", storage_options=s3.options)
    lr.copy(rows("EU", [9], "new"), url, mode="overwrite", replace_where="region = 'EU'", storage_options=s3.options)
    assert [row[0] for row in found(url, {**s3.options, "aws_s3_allow_unsafe_rename": "true"})] == [3, 4, 9]


def test_the_command_tells_the_history(table: Path) -> None:
    lr.copy(rows("EU", [9]), table, mode="overwrite", replace_where="region = 'EU'")
    told = json.dumps(ok("history", table, "--json").json)
    assert "region = 'EU'" in told
