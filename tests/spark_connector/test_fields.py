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


def test_a_new_table_has_what_is_declared(spark: SparkSession, tmp_path: Path) -> None:
    name = f"lake.`{tmp_path}/t`"
    columns = (
        "id BIGINT NOT NULL COMMENT 'a number', v VARCHAR(3), c CHAR(2), l ARRAY<VARCHAR(2)>, "
        "s STRUCT<x: INT COMMENT 'inside'> NOT NULL"
    )
    spark.sql(f"CREATE TABLE {name} ({columns}) COMMENT 'all of it' TBLPROPERTIES ('mine' = '1')")
    entry = (tmp_path / "t" / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (metadata,) = (action["metaData"] for action in map(json.loads, entry) if "metaData" in action)
    fields = {field["name"]: field for field in json.loads(metadata["schemaString"])["fields"]}
    length = "__CHAR_VARCHAR_TYPE_STRING"
    assert {key: field["metadata"] for key, field in fields.items()} == {
        "id": {"comment": "a number"},
        "v": {length: "varchar(3)"},
        "c": {length: "char(2)"},
        "l": {length: "array<varchar(2)>"},
        "s": {},
    }
    assert fields["s"]["type"]["fields"][0]["metadata"] == {"comment": "inside"}
    assert [key for key, field in fields.items() if not field["nullable"]] == ["id", "s"]
    own = {
        key: value for key, value in metadata["configuration"].items() if not key.startswith(("delta.", "lakerace."))
    }
    assert own == {"mine": "1", "comment": "all of it"}

    spark.sql(f"INSERT INTO {name} VALUES (1, 'abc', 'x', array('no'), struct(1))")
    for values, error in (
        ("NULL, 'abc', 'x', array('no'), struct(1)", "NULL|Null"),
        ("2, 'abcd', 'x', array('no'), struct(1)", "EXCEED_LIMIT_LENGTH"),
        ("2, 'abc', 'xyz', array('no'), struct(1)", "EXCEED_LIMIT_LENGTH"),
        ("2, 'abc', 'x', array('yes'), struct(1)", "EXCEED_LIMIT_LENGTH"),
        ("2, 'abc', 'x', array('no'), NULL", "NULL|Null"),
    ):
        with pytest.raises(Exception, match=error):
            spark.sql(f"INSERT INTO {name} VALUES ({values})")
    spark.sql(f"MERGE INTO {name} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'new'")
    rows = [row[:] for row in spark.sql(f"SELECT id, v, c, l[0], s.x FROM {name} WHERE c = 'x'").collect()]
    assert rows == [(1, "new", "x ", "no", 1)]
    frame = spark.table(name).selectExpr("id + 1 AS id", "l", "s")
    frame.write.format("lakerace").mode("append").option("key", "id").save(str(tmp_path / "t"))
    assert sorted(pa.table(lr.scan(tmp_path / "t"))["id"].to_pylist()) == [1, 2]

    # The rows of a query may be null in all columns of the table that they make.
    spark.sql(f"CREATE TABLE lake.`{tmp_path}/copy` AS SELECT * FROM {name}")
    copy = spark.table(f"lake.`{tmp_path}/copy`").schema
    assert copy["id"].nullable
    assert copy["id"].metadata == {"comment": "a number"}


def test_rows_of_save(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "t")
    writer = spark.sql("SELECT 2L AS id, 'wxyz' AS v, 8L AS d").write.format("lakerace").mode("append")
    with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
        writer.save(str(tmp_path / "t"))
    with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
        writer.option("key", "id").save(str(tmp_path / "t"))
    without = spark.sql("SELECT 2L AS id, 'x' AS v").write.format("lakerace").mode("append")
    if spark.version < "4":
        with pytest.raises(AnalysisException, match="CANNOT_FIND_DATA"):
            without.save(str(tmp_path / "t"))
    else:
        without.save(str(tmp_path / "t"))
        assert sorted(pa.table(lr.scan(tmp_path / "t"))["d"].to_pylist()) == [5, 42]


def test_tables_show_their_properties(spark: SparkSession, tmp_path: Path) -> None:
    name = f"lake.`{tmp_path}/t`"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT) COMMENT 'all' TBLPROPERTIES ('mine' = '1', 'lakerace.primaryKey' = 'id')"
    )
    shown = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    expected = {"mine": "1", "lakerace.primaryKey": "id"}
    assert {key: shown.get(key) for key in expected} == expected
    described = spark.sql(f"DESCRIBE EXTENDED {name}").collect()
    assert [row.data_type for row in described if row.col_name == "Comment"] == ["all"]
    spark.range(3).writeTo(f"lake.`{tmp_path}/u`").tableProperty("mine", "2").option("compression", "zstd").create()
    properties = lr.schema(tmp_path / "u")["properties"]
    assert (properties["mine"], "compression" in properties) == ("2", False)
