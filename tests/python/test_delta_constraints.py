"""Constraints, properties and columns that change together, and files that others replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import run
from deltalake import DeltaTable

import lakerace as lr


def rows(ids: range) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "count": pa.array([number % 7 for number in ids], pa.int32()),
            "ratio": pa.array([number / 4 for number in ids], pa.float64()),
            "text": ["a"] * len(ids),
        }
    )


def made(folder: Path, **properties: str) -> lr.Table:
    lr.copy(rows(range(10)), f"delta:{folder}", table_properties=properties)
    return lr.Table(folder)


def append(folder: Path, more: pa.Table) -> None:
    lr.copy(more, f"delta:{folder}", mode="append")


def configure(folder: Path, changes: dict[str, str]) -> None:
    """Adds an entry that sets properties without any check, as another writer may."""
    log = folder / "_delta_log"
    action: dict[str, Any] = {}
    for entry in sorted(log.glob("*.json")):
        lines = [json.loads(line) for line in entry.read_text().splitlines()]
        action = next((line["metaData"] for line in lines if "metaData" in line), action)
    action["configuration"].update(changes)
    last = max(int(entry.stem) for entry in log.glob("*.json"))
    (log / f"{last + 1:020}.json").write_text(json.dumps({"metaData": action}) + "\n")


REFUSED = [
    "count + 1 > 0",
    "count / 2 >= 0",
    "CAST(count AS text) <> 'x'",
    "trim(text) = 'a'",
    "text || 'b' = 'ab'",
    "concat(text, 'b') = 'ab'",
    "lower(text) = 'a'",
    r"text NOT LIKE '\_'",
    "text <> 'it''s'",
    "date_part('dow', DATE '2024-02-29') >= 0",
    "ratio <= ratio",
    "id < '99'",
    "ratio < 0.12345678901234567890",
]


def test_conditions_that_spark_may_evaluate_otherwise_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder)
    for text in REFUSED:
        with pytest.raises(lr.UnsupportedError):
            table.alter(constraints={"odd": text})
    # Spark has made one: rows are read, and none is written until it is gone.
    table.alter(constraints={"fine": "count % 7 >= 0 AND length(text) BETWEEN 1 AND 3"})
    for text in REFUSED:
        configure(folder, {"delta.constraints.odd": text})
        with pytest.raises(lr.UnsupportedError, match="constraint odd"):
            append(folder, rows(range(10, 12)))
        with pytest.raises(lr.UnsupportedError, match="constraint odd"):
            lr.Table(folder, key="id").upsert(rows(range(10, 12)))
        assert lr.scan(folder).count() == 10
        altered = lr.Table(folder).alter(unset=["delta.constraints.odd"], set={"owner": "me"})
        assert "delta.constraints.odd" not in DeltaTable(folder).metadata().configuration
        assert altered.properties["owner"] == "me"
    append(folder, rows(range(10, 12)))
    assert DeltaTable(folder).to_pyarrow_table().num_rows == 12
    configure(folder, {"delta.constraints.odd": "regexp_count(text, 'a') = 1"})
    for changes in [{"rename": {"ratio": "part"}}, {"drop": "ratio"}, {"types": {"count": "bigint"}}]:
        with pytest.raises(lr.UnsupportedError, match="constraint odd may use the column"):
            table.alter(**changes)
    with pytest.raises(lr.UnsupportedError, match="constraint fine uses the column"):
        table.alter(unset=["delta.constraints.odd"], types={"count": "bigint"})
    table.alter(unset=["delta.constraints.odd"], rename={"ratio": "part"})


def test_nan_is_the_greatest_number_in_a_constraint(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder)
    nan = rows(range(10, 11)).set_column(2, "ratio", pa.array([float("nan")]))
    table.alter(constraints={"low": "ratio >= 0"})
    append(folder, nan)
    with pytest.raises(lr.InvalidInputError, match="violates the constraint high"):
        table.alter(constraints={"high": "ratio < 1e300"})
    assert lr.scan(folder).count() == 11


def test_names_of_constraints_have_no_case(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    with pytest.raises(lr.UsageError, match="case"):
        table.alter(constraints={"Low": "id >= 0", "low": "count >= 0"})
    table.alter(constraints={"low": "id >= 0"})
    with pytest.raises(lr.UsageError, match="already has a constraint with this name"):
        table.alter(constraints={"LOW": "count >= 0"})


def test_values_that_are_set_win_over_those_that_follow_columns(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, **{"lakerace.primaryKey": "id", "delta.dataSkippingStatsColumns": "id,count"})
    would = table.alter(rename={"count": "number"}, dry_run=True)
    assert (table.version, would.properties["delta.dataSkippingStatsColumns"]) == (0, "id,number")
    altered = table.alter(
        rename={"count": "number", "id": "key"},
        set={"delta.dataSkippingStatsColumns": "key,ratio", "lakerace.primaryKey": "key,number"},
    )
    configuration = DeltaTable(folder).metadata().configuration
    for found in [altered.properties, configuration]:
        assert found["delta.dataSkippingStatsColumns"] == "key,ratio"
        assert found["lakerace.primaryKey"] == "key,number"
    with pytest.raises(lr.NotFoundError, match="number"):
        table.alter(rename={"number": "n"}, set={"lakerace.primaryKey": "key,number"})
    lr.copy(rows(range(3)), f"delta:{tmp_path / 'u'}")
    with pytest.raises(lr.UsageError, match=r"need delta.columnMapping.mode=name"):
        lr.Table(tmp_path / "u").alter(rename={"id": "key"}, set={"delta.columnMapping.mode": "none"})


def test_columns_of_the_feed_and_damaged_properties(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, **{"delta.enableChangeDataFeed": "true"})
    for changes in [{"add_columns": "_Change_Type text"}, {"rename": {"text": "_commit_version"}}]:
        with pytest.raises(lr.UnsupportedError, match="change data feed"):
            table.alter(**changes)
    other = rows(range(10, 12)).append_column("_commit_timestamp", pa.array([1, 2]))
    with pytest.raises(lr.UnsupportedError, match="change data feed"):
        lr.copy(other, f"delta:{folder}", mode="append", evolve="add")
    table.alter(unset=["delta.enableChangeDataFeed"], add_columns="_change_type text")
    with pytest.raises(lr.UnsupportedError, match="change data feed"):
        table.alter(set={"delta.enableChangeDataFeed": "true"})
    configure(folder, {"delta.dataSkippingStatsColumns": "id,`count"})
    with pytest.raises(lr.CorruptDataError, match="dataSkippingStatsColumns"):
        table.alter(drop="text")
    table.alter(drop="text", unset=["delta.dataSkippingStatsColumns"])
    assert [field.name for field in DeltaTable(folder).schema().fields] == ["id", "count", "ratio", "_change_type"]


def replace(file: Path, other: pa.Table) -> None:
    """Replaces a file by one of the same size with other rows."""
    size, pad = file.stat().st_size, 0
    for _ in range(20):
        with pq.ParquetWriter(file, other.schema, store_schema=False) as writer:
            writer.write_table(other)
            writer.add_key_value_metadata({"pad": "x" * pad})
        missing = size - file.stat().st_size
        if missing == 0:
            return
        pad += missing
    raise AssertionError(f"{file} has {missing} bytes too few")


def test_a_file_that_one_of_the_same_size_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(rows(range(2000)), f"delta:{folder}", table_properties={"lakerace.primaryKey": "id"})
    append(folder, rows(range(2000, 2010)))
    table = lr.Table(folder)
    (file,) = [file for file in folder.glob("*.parquet") if pq.read_metadata(file).num_rows == 2000]
    replace(file, rows(range(700)))
    told = "it has 700 rows, but the log states 2000"
    for read in [
        lambda: lr.scan(folder).to_arrow(),
        lambda: lr.scan(folder, where="id = 5").to_arrow(),
        lambda: lr.scan(folder, columns=["text"]).checksum(),
        lambda: lr.copy(folder, tmp_path / "copy.parquet"),
        lambda: list(lr.sql("SELECT sum(id) FROM t", t=folder).rows()),
        lambda: table.upsert(rows(range(5, 6))),
        lambda: table.delete("id = 6"),
        lambda: table.compact(target_size=1 << 30),
    ]:
        with pytest.raises(lr.CorruptDataError, match=told):
            read()
    done = run("scan", folder)
    assert done.code == 5
    assert told in done.err
    assert table.version == 1
    # Another reader takes the rows for those of the version.
    assert DeltaTable(folder).to_pyarrow_table().num_rows == 710
