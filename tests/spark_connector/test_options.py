"""Names of options: one that is not known is an error, for what it was to do would not be done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from bucket import serving
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakerace as lr


def refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(AnalysisException, match=message) as raised:
        call()
    assert "LAKERACE_USAGE" in (raised.value.getErrorClass() or "")


def test_names_that_are_not_known(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    lr.copy(pa.table({"id": pa.array([1, 2], pa.int64())}), f"delta:{table}")

    def write(mode: str, name: str, value: object) -> None:
        spark.range(5).write.format("lakerace").mode(mode).option(name, value).save(table)

    # Each of these rows would be there twice, and an overwrite of some rows would replace them all.
    refused(lambda: write("append", "keys", "id"), '"keys": "key" is the nearest one')
    refused(
        lambda: spark.read.format("lakerace").option("versionsAsOf", 0).load(table), '"versionAsOf" is the nearest one'
    )
    refused(lambda: spark.read.option("wher", "id = 1").table(f"lake.`{table}`").count(), '"where" is the nearest one')
    refused(
        lambda: spark.range(5).writeTo(f"lake.`{table}`").option("treads", 2).append(), '"threads" is the nearest one'
    )
    refused(lambda: spark.read.format("lakerace").load([table, table]), "several locations")
    assert lr.scan(table).count() == 2
    options = {"WHERE": "id > 1", "Threads": 2, "storage.aws_region": "eu-west-1"}
    assert spark.read.format("lakerace").options(**options).load(table).count() == 1


def test_tables_of_the_session_catalog(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    lr.copy(pa.table({"id": pa.array([1, 2], pa.int64())}), f"delta:{table}")
    made = "CREATE TABLE {} USING lakerace OPTIONS (path '" + table + "', {} '2') TBLPROPERTIES ('team' = 'x')"
    spark.sql(made.format("kept", "threads"))
    assert spark.table("kept").count() == 2
    spark.sql("INSERT INTO kept VALUES (3)")
    assert lr.scan(table).count() == 3
    if spark.version >= "4":
        # Before, the session's catalog keeps a table without asking its source.
        refused(lambda: spark.sql(made.format("other", "treads")), '"threads" is the nearest one')


def test_settings_of_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    keys = set()

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        keys.add((identity, token))
        return True

    with serving() as bucket:
        bucket.before = before
        own = {"endpoint": bucket.endpoint, "endpoint.region": "us-east-1", "access.key": "all", "secret.key": "secret"}
        own |= {"bucket.bucket.access.key": "own", "session.token": "a token"}
        options = {f"fs.s3a.{name}": value for name, value in own.items()}
        spark.range(10).write.format("lakerace").mode("append").options(**options).save("delta:s3a://bucket/t")
        frame = spark.read.format("lakerace").options(**options).load("s3a://bucket/t")
        assert (frame.count(), frame.where("id > 5").selectExpr("sum(id)").collect()[0][0]) == (10, 30)
        assert keys == {("own", "a token")}
        for name, value in options.items():
            spark.conf.set(f"spark.sql.catalog.store.{name}", value)
        spark.conf.set("spark.sql.catalog.store", "lakerace.spark.LakeraceCatalog")
        spark.sql("INSERT INTO store.`s3a://bucket/t` VALUES (10)")
        assert spark.table("store.`s3a://bucket/t`").count() == 11
        late = spark.read.option("fs.s3a.access.key", "other").table("store.`s3a://bucket/t`")
        refused(late.count, r"set spark\.sql\.catalog\.CATALOG\.fs\.s3a\.access\.key")
        assert keys == {("own", "a token")}
