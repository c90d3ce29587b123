"""Makes the tables in `tables/` by Spark: what the golden tables of Delta's repository leave out.

Run by hand, where PySpark 3.5 is installed: `TZ=UTC python make_tables.py`; then `make.py tables` writes what Spark
reads from them. Files that no reader needs (checksums of the local file system) are removed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from session import session

TABLES = Path(__file__).parent / "tables"


def main() -> None:
    spark = session()
    shutil.rmtree(TABLES, ignore_errors=True)
    TABLES.mkdir()

    def at(name: str) -> str:
        return f"delta.`{TABLES / name}`"

    def sql(*statements: str) -> None:
        for statement in statements:
            spark.sql(statement)

    vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"

    # Vectors: two in one file of vectors, one joined with an older one, a file without any row left.
    table = at("deletion-vectors")
    sql(f"CREATE TABLE {table} (id LONG, text STRING) USING delta {vectors}")
    for start in (0, 1000, 2000):
        sql(
            f"INSERT INTO {table} SELECT /*+ REPARTITION(1) */ id, concat('text ', id) FROM range({start}, {start + 1000})"
        )
    sql(f"DELETE FROM {table} WHERE id % 3 = 0", f"DELETE FROM {table} WHERE id BETWEEN 100 AND 400")
    sql(f"DELETE FROM {table} WHERE id BETWEEN 1000 AND 1998", f"INSERT INTO {table} VALUES (9999, NULL)")

    # Vectors beside partitions whose values need escapes.
    table = at("partitions")
    sql(
        f"CREATE TABLE {table} (id INT, name STRING, day DATE, at TIMESTAMP, price DECIMAL(8,3), small BYTE, yes BOOLEAN) "
        f"USING delta PARTITIONED BY (name, day, at, price, small, yes) {vectors}",
        f"""INSERT INTO {table} VALUES
            (1, 'plain', DATE'2024-02-29', TIMESTAMP'2024-02-29 12:34:56.789012', 1.500, 1, true),
            (2, 'a b/c%20d:e=f', DATE'0001-01-01', TIMESTAMP'1969-12-31 23:59:59', -0.001, -128, false),
            (3, 'Größe 東京 #?&', DATE'9999-12-31', NULL, 12345.678, 127, NULL),
            (4, NULL, NULL, NULL, NULL, NULL, NULL),
            (5, 'plain', DATE'2024-02-29', TIMESTAMP'2024-02-29 12:34:56.789012', 1.500, 1, true),
            (6, '__HIVE', NULL, NULL, NULL, NULL, true)""",
        f"DELETE FROM {table} WHERE id = 5",
    )

    # Columns renamed, swapped, dropped and added again, at two levels.
    for mode in ("name", "id"):
        table = at(f"column-mapping-{mode}")
        sql(
            f"CREATE TABLE {table} (a INT, b STRING, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<u: INT, v: INT>>, p INT) "
            f"USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}', "
            "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')",
            f"INSERT INTO {table} VALUES (1, 'one', named_struct('x', 1, 'y', 'one'), "
            "array(named_struct('u', 1, 'v', 2)), 7), (2, NULL, NULL, NULL, NULL)",
            f"ALTER TABLE {table} RENAME COLUMN a TO c",
            f"ALTER TABLE {table} RENAME COLUMN b TO a",
            f"ALTER TABLE {table} RENAME COLUMN s.x TO z",
            f"ALTER TABLE {table} RENAME COLUMN s.y TO x",
            f"ALTER TABLE {table} DROP COLUMN l.element.u",
            f"ALTER TABLE {table} ADD COLUMN (b DOUBLE AFTER a, l.element.u STRING)",
            f"ALTER TABLE {table} RENAME COLUMN p TO part",
            f"INSERT INTO {table} SELECT 3, 'three', 3.5, named_struct('z', 3, 'x', 'three'), "
            "array(named_struct('v', 3, 'u', 'new')), 8",
        )

    table = at("type-widening")
    sql(
        f"CREATE TABLE {table} (b BYTE, s SHORT, i INT, f FLOAT, k INT, d DECIMAL(6,2), t DATE, l ARRAY<SHORT>) "
        "USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        f"INSERT INTO {table} VALUES (-128, 32767, 2147483647, 1.25, -7, 1234.56, DATE'2024-02-29', array(1S, NULL))",
    )
    for column, wide in (("b", "INT"), ("s", "INT"), ("l.element", "INT")):
        sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {wide}")
    sql(f"INSERT INTO {table} SELECT 70000, 70000, 0, 0, 0, 0, NULL, array(70000)")

    # Timestamps as Spark stores them, 96 bits wide, far from 1970 and inside of lists.
    table = at("timestamps")
    sql(
        f"CREATE TABLE {table} (t TIMESTAMP, n TIMESTAMP_NTZ, l ARRAY<TIMESTAMP>, m MAP<STRING, TIMESTAMP>) USING delta",
        f"""INSERT INTO {table} VALUES
            (TIMESTAMP'0010-01-01 00:00:00', TIMESTAMP_NTZ'0010-01-01 00:00:00', array(), map()),
            (TIMESTAMP'9999-12-31 23:59:59.999999', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999',
             array(TIMESTAMP'1600-02-29 01:02:03.000004', NULL), map('a', TIMESTAMP'2500-01-01 00:00:00', 'b', NULL)),
            (NULL, NULL, NULL, NULL)""",
    )

    # Fields that came later, at two levels.
    table = at("schema-evolution")
    sql(
        f"CREATE TABLE {table} (id INT, s STRUCT<x: INT>) USING delta",
        f"INSERT INTO {table} VALUES (1, named_struct('x', 1)), (2, NULL)",
        f"ALTER TABLE {table} ADD COLUMNS (text STRING AFTER id, s.y STRING, m MAP<STRING, INT>)",
        f"INSERT INTO {table} VALUES (3, 'three', named_struct('x', 3, 'y', 'three'), map('k', 3, 'l', NULL))",
    )

    # Checkpoints: with sidecars, and in several parts.
    spark.conf.set("spark.databricks.delta.checkpoint.partSize", "3")
    for name, properties in (
        ("checkpoint-sidecars", "'delta.checkpointPolicy' = 'v2', 'delta.enableDeletionVectors' = 'true'"),
        ("checkpoint-parts", "'delta.checkpointPolicy' = 'classic', 'delta.enableDeletionVectors' = 'true'"),
    ):
        table = at(name)
        sql(
            f"CREATE TABLE {table} (id LONG, p INT) USING delta PARTITIONED BY (p) "
            f"TBLPROPERTIES ({properties}, 'delta.checkpointInterval' = '4')"
        )
        for number in range(4):
            sql(
                f"INSERT INTO {table} SELECT /*+ REPARTITION(1) */ id, {number} FROM range({number * 10}, {number * 10 + 10})"
            )
        sql(f"DELETE FROM {table} WHERE id % 10 = 3", f"INSERT INTO {table} VALUES (99, NULL)")
    spark.stop()
    for junk in [*TABLES.rglob("*.crc"), *TABLES.rglob(".*.crc")]:
        junk.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
