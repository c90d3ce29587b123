"""Data files that a query does not need are not opened: it works without them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakerace as lr


def test_files_of_other_partitions_are_not_opened(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    rows = pa.table({"id": pa.array(range(40), pa.int64()), "p": pa.array([at % 4 for at in range(40)], pa.int32())})
    lr.copy(rows, f"delta:{table}", partition_by=["p"])
    kept = list(table.glob("p=1/*.parquet"))
    for path in table.glob("p=*/*.parquet"):
        if path not in kept:
            path.rename(tmp_path / f"{path.parent.name}.parquet")
    name = f"lake.`{table}`"
    frame = spark.read.format("lakerace").load(str(table))
    assert frame.schema.simpleString() == "struct<id:bigint,p:int>"
    # The log has the number of rows.
    assert frame.count() == 40
    assert frame.where("p = 1").selectExpr("sum(id)").collect()[0][0] == sum(range(1, 40, 4))
    assert spark.sql(f"SELECT count(_file) FROM {name} WHERE p = 1").collect()[0][0] == 10
    spark.sql(f"DELETE FROM {name} WHERE p = 1 AND id = 1")
    spark.sql(f"UPDATE {name} SET id = -id WHERE p = 1 AND id = 5")
    spark.sql(f"INSERT INTO {name} VALUES (100, 1)")
    found = sorted(row.id for row in spark.table(name).where("p = 1").collect())
    assert found == sorted([-5, *range(9, 40, 4), 100])
    with pytest.raises(Exception, match=r"p=[023].*No such file"):
        frame.selectExpr("sum(id)").collect()
