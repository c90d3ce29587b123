"""What Delta tables say of their columns beside types: comments, lengths of texts, defaults."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakerace as lr

METADATA = {
    "id": {"comment": "a number", "delta.mine": "x"},
    "v": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"},
    "d": {"CURRENT_DEFAULT": "40 + 2"},
}


def make(path: Path) -> str:
    """A table of one row whose columns have this metadata, as other engines write it; its name in SQL."""
    row = pa.table({"id": pa.array([1], pa.int64()), "v": ["abc"], "d": pa.array([5], pa.int64())})
    lr.copy(row, f"delta:{path}")
    log = path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            features = [*action["protocol"].get("writerFeatures", []), "allowColumnDefaults"]
            action["protocol"] |= {"minWriterVersion": 7, "writerFeatures": features}
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            for field in schema["fields"]:
                field["metadata"] = METADATA[field["name"]]
            action["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for sums in log.parent.glob("*.crc"):
        sums.unlink()
    return f"lake.`{path}`"


def test_metadata_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    name = make(tmp_path / "t")
    for frame in (spark.table(name), spark.read.format("lakerace").load(str(tmp_path / "t"))):
        assert frame.schema["id"].metadata == {"comment": "a number"}
        assert frame.select("d", "id").schema["id"].metadata == {"comment": "a number"}
    comments = {row.col_name: row.comment for row in spark.sql(f"DESCRIBE {name}").collect()}
    assert comments["id"] == "a number"


def test_texts_that_are_too_long(spark: SparkSession, tmp_path: Path) -> None:
    name = make(tmp_path / "t")
    spark.sql(f"INSERT INTO {name} VALUES (2, 'xyz', 6)")
    for statement in (f"INSERT INTO {name} VALUES (3, 'wxyz', 7)", f"UPDATE {name} SET v = 'wxyz' WHERE id = 1"):
        with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
            spark.sql(statement)
    with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
        spark.sql("SELECT CAST(4 AS BIGINT) AS id, 'wxyz' AS v, CAST(8 AS BIGINT) AS d").writeTo(name).append()
    assert sorted(pa.table(lr.scan(tmp_path / "t"))["v"].to_pylist()) == ["abc", "xyz"]


def test_columns_with_defaults(spark: SparkSession, tmp_path: Path) -> None:
    name = make(tmp_path / "t")
    without = f"INSERT INTO {name} (id, v) VALUES (2, 'x')"
    if spark.version < "4":
        # It takes no rows without a column from those who write to a catalog's table.
        with pytest.raises(AnalysisException, match="CANNOT_FIND_DATA"):
            spark.sql(without)
        return
    spark.sql(without)
    spark.sql("SELECT CAST(4 AS BIGINT) AS id, 'z' AS v").writeTo(name).append()
    found = pa.table(lr.scan(tmp_path / "t"))
    assert {row["id"]: row["d"] for row in found.to_pylist()} == {1: 5, 2: 42, 4: 42}
