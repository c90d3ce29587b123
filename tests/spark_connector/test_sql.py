"""SQL over the catalog: tables by location and by name, MERGE, UPDATE, DELETE, time travel."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import until
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakerace as lr


def make(path: Path, rows: int = 100, **properties: str) -> str:
    """A table of two files with 0 to `rows` as `id`, and its name in SQL."""
    half = rows // 2
    for first, mode in ((0, "error"), (half, "append")):
        ids = range(first, first + half)
        table = pa.table({"id": pa.array(ids, pa.int64()), "v": [f"old {n}" for n in ids]})
        lr.copy(table, f"delta:{path}", mode=mode, **({"table_properties": properties} if mode == "error" else {}))
    return f"lake.`{path}`"


def rows(path: Path) -> dict[int, str]:
    found = pa.table(lr.scan(path)).to_pylist()
    by_id = {row["id"]: row["v"] for row in found}
    assert len(by_id) == len(found)
    return by_id


@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_merge(spark: SparkSession, tmp_path: Path, adaptive: str, has_vectors: bool) -> None:
    table = make(tmp_path / "t", **{"delta.enableDeletionVectors": str(has_vectors).lower()})
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.range(90, 110).selectExpr("id", "concat('new ', id) AS v").createOrReplaceTempView("source")
    spark.sql(
        f"MERGE INTO {table} t USING source s ON t.id = s.id "
        "WHEN MATCHED AND s.id < 95 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v) WHEN NOT MATCHED BY SOURCE AND t.id < 5 THEN DELETE"
    )
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    expected = {n: f"old {n}" for n in range(5, 90)} | {n: f"new {n}" for n in range(95, 110)}
    assert rows(tmp_path / "t") == expected
    assert len(lr.Table(tmp_path / "t").history()) == 3
    if has_vectors:
        assert list((tmp_path / "t").glob("deletion_vector*"))
    spark.sql(f"DELETE FROM {table} WHERE id >= 100")
    spark.sql(f"UPDATE {table} SET v = upper(v), id = id + 1000 WHERE id BETWEEN 95 AND 97")
    expected = {n: v for n, v in expected.items() if n < 95 or 97 < n < 100}
    expected |= {n + 1000: f"NEW {n}" for n in range(95, 98)}
    assert rows(tmp_path / "t") == expected
    assert spark.table(table).count() == len(expected)
    # Rows of files that have vectors already.
    spark.sql(f"DELETE FROM {table} WHERE id % 3 = 0")
    spark.sql(f"UPDATE {table} SET v = 'last' WHERE id % 7 = 0")
    expected = {n: "last" if n % 7 == 0 else v for n, v in expected.items() if n % 3 != 0}
    assert rows(tmp_path / "t") == expected


def test_another_writer_is_a_conflict(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(path)

    def append(number: int) -> int:
        import pyarrow

        import lakerace

        other = pyarrow.table({"id": pyarrow.array([999], pyarrow.int64()), "v": ["other"]})
        lakerace.copy(other, str(path), mode="append")
        return number

    spark.udf.register("append_row", append, "bigint")
    with pytest.raises(Exception, match=r"another writer has added rows .* run it again"):
        spark.sql(f"UPDATE {table} SET id = append_row(id) WHERE id = 7")
    assert spark.table(table).where("id = 999").count() > 0
    assert spark.table(table).where("id = 7").count() == 1


def test_rows_have_ids(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", 10)
    spark.sql(f"DELETE FROM {table} WHERE id IN (1, 7)")
    found = spark.sql(f"SELECT id, _file, _pos FROM {table} WHERE id > 0 ORDER BY id").collect()
    assert [(row.id, row._pos) for row in found] == [(n, n % 5) for n in range(1, 10) if n not in (1, 7)]
    assert len({row._file for row in found}) == 2
    assert spark.sql(f"SELECT _pos FROM {table} WHERE id = 9").collect()[0][:] == (4,)


def test_time_travel(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    assert spark.sql(f"SELECT count(*) FROM {table} VERSION AS OF 0").collect()[0][0] == 50
    assert spark.sql(f"SELECT count(*) FROM {table} TIMESTAMP AS OF '2100-01-01'").collect()[0][0] == 100


def test_tables_by_name(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.named", "lakerace.spark.LakeraceCatalog")
    spark.conf.set("spark.sql.catalog.named.warehouse", str(tmp_path))
    spark.sql(
        "CREATE TABLE named.sales.orders (id BIGINT, part INT) PARTITIONED BY (part) "
        "TBLPROPERTIES ('lakerace.primaryKey' = 'id', 'delta.enableChangeDataFeed' = 'true')"
    )
    spark.sql("INSERT INTO named.sales.orders VALUES (1, 10), (2, 20)")
    spark.table("named.sales.orders").writeTo("named.sales.orders").append()
    assert spark.sql("SELECT sum(id) FROM named.sales.orders WHERE part = 20").collect()[0][0] == 4
    assert [row.tableName for row in spark.sql("SHOW TABLES IN named.sales").collect()] == ["orders"]
    spark.sql("CREATE TABLE named.copy AS SELECT * FROM named.sales.orders")
    assert lr.scan(tmp_path / "copy").count() == 4
    # Options of a query count beside those of the catalog.
    assert spark.read.option("where", "id = 1").table("named.copy").count() == 2
    with pytest.raises(Exception, match="omit LOCATION"):
        spark.sql(f"CREATE TABLE named.other (id BIGINT) LOCATION '{tmp_path / 'elsewhere'}'")
    spark.conf.set("spark.sql.catalog.url", "lakerace.spark.LakeraceCatalog")
    spark.conf.set("spark.sql.catalog.url.warehouse", f"file:{tmp_path}")
    spark.sql("CREATE TABLE url.sales.made (id BIGINT)")
    assert (tmp_path / "sales" / "made" / "_delta_log").is_dir()
    assert {row.tableName for row in spark.sql("SHOW TABLES IN url.sales").collect()} == {"made", "orders"}
    assert lr.schema(tmp_path / "sales" / "orders")["properties"]["delta.enableChangeDataFeed"] == "true"
    with pytest.raises(AnalysisException):
        spark.sql("SELECT * FROM named.sales.nothing")
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql("CREATE TABLE named.copy (id BIGINT)")
    with pytest.raises(AnalysisException, match=r"set spark\.sql\.catalog\.lake\.warehouse"):
        spark.sql("SELECT * FROM lake.orders")


def test_a_failed_ctas_leaves_no_table(spark: SparkSession, tmp_path: Path) -> None:
    table = f"lake.`{tmp_path}/t`"
    query = f"CREATE TABLE {table} AS SELECT if(id = 3, raise_error('on purpose'), id) AS id FROM range(9)"
    for _ in range(2):
        with pytest.raises(Exception, match="on purpose"):
            spark.sql(query)
        # Tasks that are killed remove their files a little later.
        until(lambda: not list((tmp_path / "t").glob("*")))
    spark.sql(query.replace("id = 3", "id = 10"))
    assert lr.scan(tmp_path / "t").count() == 9
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql(query)
    assert lr.scan(tmp_path / "t").count() == 9

    # Where another writer has added rows meanwhile, the table stays.
    def append(number: int) -> int:
        import pyarrow

        import lakerace

        if number == 3:
            rows = pyarrow.table({"id": pyarrow.array([999], pyarrow.int64())})
            lakerace.copy(rows, str(tmp_path / "shared"), mode="append")
            raise RuntimeError("on purpose")
        return number

    spark.udf.register("append_and_fail", append, "bigint")
    with pytest.raises(Exception, match="on purpose"):
        spark.sql(f"CREATE TABLE lake.`{tmp_path}/shared` AS SELECT append_and_fail(id) AS id FROM range(9)")
    assert pa.table(lr.scan(tmp_path / "shared"))["id"].to_pylist() == [999]


def test_what_a_catalog_refuses(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", **{"delta.enableChangeDataFeed": "true"})
    frame = spark.range(3).selectExpr("id", "'x' AS v")
    with pytest.raises(AnalysisException, match=r'option\("overwriteSchema", "true"\) replaces them'):
        frame.select("id").write.mode("overwrite").saveAsTable(table)
    assert len(rows(tmp_path / "t")) == 100
    frame.writeTo(f"lake.`{tmp_path}/new`").createOrReplace()
    assert lr.scan(tmp_path / "new").count() == 3
    options = {"readChangeFeed": "true", "startingVersion": "1"}
    feed = r'read them with spark.read.format\("lakerace"\).option\("readChangeFeed", "true"\)'
    with pytest.raises(AnalysisException, match=feed):
        spark.read.options(**options).table(table).count()
    if spark.version >= "4":
        with pytest.raises(AnalysisException, match=feed):
            spark.sql(f"SELECT * FROM {table} WITH ('readChangeFeed' = 'true', 'startingVersion' = '1')").collect()


def test_texts_of_fixed_length(spark: SparkSession, tmp_path: Path) -> None:
    table, place = f"lake.`{tmp_path}/t`", tmp_path / "t"
    spark.sql(f"CREATE TABLE {table} (id INT, c CHAR(5), s STRUCT<x: CHAR(3)>, v VARCHAR(4))")
    values = ", ".join(f"({n}, '{c}', named_struct('x', '{c}'), '{c}')" for n, c in enumerate(("ab", "cd", "ef", "gh")))
    spark.sql(f"INSERT INTO {table} VALUES {values}")

    def ids(condition: str = "true") -> list[int]:
        return [row.id for row in spark.table(table).where(condition).orderBy("id").collect()]

    spark.sql(f"DELETE FROM {table} WHERE c = 'ab'")
    assert ids() == [1, 2, 3]
    spark.sql(f"DELETE FROM {table} WHERE c IN ('cd   ', 'zz')")
    assert ids() == [2, 3]
    spark.sql(f"UPDATE {table} SET c = upper(trim(c)) WHERE c = 'ef'")
    assert (ids("c = 'EF'"), ids("c = 'EF   '"), ids("length(c) = 5")) == ([2], [2], [2, 3])
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 3 AS id, 'new' AS c UNION ALL SELECT 4, 'more') s ON t.id = s.id "
        "WHEN MATCHED AND t.c = 'gh' THEN UPDATE SET c = s.c "
        "WHEN NOT MATCHED THEN INSERT (id, c, s, v) VALUES (s.id, s.c, named_struct('x', 'y'), 'z')"
    )
    assert (ids(), ids("c = 'new'"), ids("c = 'more' AND s.x = 'y  '")) == ([2, 3, 4], [3], [4])
    stored = {row["id"]: (row["c"], row["s"]["x"]) for row in pa.table(lr.scan(place)).to_pylist()}
    assert stored == {2: ("EF   ", "ef "), 3: ("new  ", "gh "), 4: ("more ", "y  ")}
    for statement in (f"UPDATE {table} SET c = 'longer'", f"UPDATE {table} SET v = 'longer'"):
        with pytest.raises(Exception, match="Exceeds char/varchar type length limitation"):
            spark.sql(statement)
    # The setting of the statement ends with it, and with its error.
    with pytest.raises(AnalysisException):
        spark.sql(f"DELETE FROM {table} WHERE nothing = 1")
    assert spark.conf.get("spark.sql.readSideCharPadding") == "true"
    assert "readSidePadding" in spark.table(table)._jdf.queryExecution().analyzed().toString()
    spark.sql(f"DELETE FROM {table}")
    assert ids() == []
    spark.sql(f"INSERT INTO {table} VALUES (5, 'five', NULL, NULL)")
    spark.sql(f"TRUNCATE TABLE {table}")
    assert ids() == []


@pytest.mark.parametrize("has_vectors", [True, False])
def test_the_log_names_statements(spark: SparkSession, tmp_path: Path, has_vectors: bool) -> None:
    table = make(tmp_path / "t", **{"delta.enableDeletionVectors": str(has_vectors).lower()})
    for statement in (
        f"DELETE FROM {table} WHERE id = 1 AND v LIKE 'o%'",
        f"UPDATE {table} SET v = 'it''s \"new\"' WHERE id = 2",
        f"MERGE INTO {table} t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        f"DELETE FROM {table}",
    ):
        spark.sql(statement)
    told = [(entry.operation, entry.parameters) for entry in lr.Table(tmp_path / "t").history()][:4]
    assert [operation for operation, _ in told] == ["DELETE", "MERGE", "UPDATE", "DELETE"]
    # `history` names the newest first.
    [update, delete] = [json.loads(parameters["predicate"]) for _, parameters in told[2:]]
    assert update == ["id = 2"]
    assert delete[0] == "id = 1"
    assert len(delete) == 2
    assert "o%" in delete[1]
    assert json.loads(told[0][1]["predicate"]) == ["true"]
    assert told[1][1] == {}
    [deleted, merged, updated, first] = [entry.metrics for entry in lr.Table(tmp_path / "t").history()][:4]
    assert deleted["numDeletedRows"] == "98"
    assert merged["numTargetRowsDeleted"] == updated["numUpdatedRows"] == first["numDeletedRows"] == "1"


def test_declarations_that_do_not_apply(spark: SparkSession, tmp_path: Path) -> None:
    table, rows = f"lake.`{tmp_path}/t`", spark.range(2)
    for create, message in (
        (
            lambda: spark.sql(f"CREATE TABLE {table} USING parquet AS SELECT 1 AS id"),
            "USING parquet: .* omit USING",
        ),
        (lambda: spark.sql(f"CREATE TABLE {table} (id INT) USING csv OPTIONS (header 'true')"), "USING csv"),
        (lambda: rows.writeTo(table).using("orc").create(), "USING orc"),
        (lambda: rows.write.format("json").saveAsTable(table), "USING json"),
        (lambda: spark.sql(f"CREATE TABLE {table} (id INT) OPTIONS (header 'true')"), r"OPTIONS \(header\)"),
        (lambda: spark.sql(f"CREATE TABLE {table} (id INT) STORED AS PARQUET"), "STORED AS are for Hive tables"),
    ):
        with pytest.raises(AnalysisException, match=message):
            create()
        assert not (tmp_path / "t").exists()
    spark.sql(f"CREATE TABLE lake.`{tmp_path}/a` (id INT) USING delta")
    spark.sql(f"CREATE TABLE lake.`{tmp_path}/b` (id INT) USING lakerace TBLPROPERTIES ('a.b' = 'c')")
    # Spark's writer names its own default where its user names no format.
    rows.write.option("compression", "zstd").saveAsTable(f"lake.`{tmp_path}/c`")
    assert lr.scan(tmp_path / "c").count() == 2
    for change, message in (
        ("ALTER COLUMN id TYPE BIGINT", "delta.enableTypeWidening"),
        ("DROP COLUMN id", "columnMapping.mode=name|dropping all columns"),
    ):
        with pytest.raises(AnalysisException, match=message):
            spark.sql(f"ALTER TABLE lake.`{tmp_path}/b` {change}")


def test_tables_of_the_session_catalog(spark: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "t", 10)
    spark.sql(f"CREATE TABLE outer_table USING lakerace LOCATION '{tmp_path}/t'")
    spark.sql(f"CREATE TABLE typed_table (id BIGINT, v STRING) USING lakerace LOCATION '{tmp_path}/t'")
    try:
        spark.sql("INSERT INTO outer_table VALUES (10, 'new')")
        assert spark.table("outer_table").count() == lr.scan(tmp_path / "t").count() == 11
        assert spark.sql("SELECT v FROM typed_table WHERE id = 10").collect() == [("new",)]
        spark.sql("INSERT OVERWRITE outer_table VALUES (1, 'one')")
        assert spark.table("typed_table").collect() == [(1, "one")]
    finally:
        spark.sql("DROP TABLE outer_table")
        spark.sql("DROP TABLE typed_table")
    assert lr.scan(tmp_path / "t").count() == 1
