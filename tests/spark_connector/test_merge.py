"""MERGE, UPDATE and DELETE by keys of another table: which files of the target they read, and that their rows are those of delta-spark."""

from __future__ import annotations

import decimal
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from bucket import Bucket, serving
from pyspark.sql import SparkSession

import lakerace as lr

NAME = "merged.`s3://bucket/t`"
#: Files of a table that is clustered by its key, and rows of each.
FILES, ROWS = 20, 1000
#: Keys in two files, and one that the table does not have.
KEYS = [5, 6, 7, 8, 6000, 6001, 6002, 6003, 6004, 100_000]
FILES_OF_KEYS = [0, 6]
UPDATE = "WHEN MATCHED THEN UPDATE SET n = -1"
INSERT = "WHEN NOT MATCHED THEN INSERT (id, n, text) VALUES (s.id, 0, 'in')"


class Merged:
    """A table of many files, and the files that statements read."""

    def __init__(self, spark: SparkSession, bucket: Bucket) -> None:
        self.spark, self.bucket = spark, bucket
        #: The data files, the oldest first.
        self.files = [key for key in bucket.objects if key.startswith("t/part-")]

    def read(self, statement: str) -> tuple[list[int], int]:
        """The numbers of the files that a statement reads, and the bytes of these."""
        first = len(self.bucket.sent)
        self.spark.sql(statement).collect()
        sent = [(key, length) for key, length in self.bucket.sent[first:] if key in self.files]
        return sorted({self.files.index(key) for key, _ in sent}), sum(length for _, length in sent)


@pytest.fixture
def merged(spark: SparkSession) -> Iterator[Merged]:
    with serving() as bucket:
        storage = {
            "aws_endpoint_url": bucket.endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }
        for number in range(FILES):
            ids = range(number * ROWS, number * ROWS + ROWS)
            rows = {
                "id": pa.array(ids, pa.int64()),
                "n": pa.array(ids, pa.int32()),
                "text": [f"key {at:06}" for at in ids],
                "price": pa.array(map(decimal.Decimal, ids), pa.decimal128(12, 2)),
            }
            lr.copy(pa.table(rows), "delta:s3://bucket/t", mode="append", row_group_rows=100, storage_options=storage)
        settings = {"": "lakerace.spark.LakeraceCatalog", ".min_seek_size": "0"}
        settings |= {f".storage.{name}": value for name, value in storage.items()}
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.catalog.merged{name}", value)
        values = ", ".join(f"({key}L, {key}, 'key {key:06}', CAST({key} AS DECIMAL(14, 3)))" for key in KEYS)
        spark.sql(
            f"SELECT * FROM VALUES {values}, (NULL, NULL, NULL, NULL) AS v(id, n, text, price)"
        ).createOrReplaceTempView("keys")
        yield Merged(spark, bucket)
        # A catalog keeps the settings that it was made with.
        spark._jsparkSession.sessionState().catalogManager().reset()
        for name in settings:
            spark.conf.unset(f"spark.sql.catalog.merged{name}")


@pytest.mark.parametrize(
    ("condition", "clauses", "changed"),
    [
        ("t.id = s.id", f"{UPDATE} {INSERT}", 9),
        ("t.id = s.id", UPDATE, 9),
        ("t.id = s.id", INSERT, 0),
        ("s.n = t.id", f"{UPDATE} {INSERT}", 9),
        ("t.n = s.id", f"{UPDATE} {INSERT}", 9),
        ("t.text = s.text", f"{UPDATE} {INSERT}", 9),
        ("t.price = s.price", f"{UPDATE} {INSERT}", 9),
        ("t.text = s.text AND t.price = s.price AND t.n > 6", f"{UPDATE} {INSERT}", 7),
    ],
)
def test_a_merge_reads_the_row_groups_of_its_keys(merged: Merged, condition: str, clauses: str, changed: int) -> None:
    whole = sum(len(merged.bucket.objects[key]) for key in merged.files)
    files, read = merged.read(f"MERGE INTO {NAME} t USING keys s ON {condition} {clauses}")
    assert files == FILES_OF_KEYS
    assert read < whole / 5
    inserted = 0 if INSERT not in clauses else len(KEYS) + 1 - (changed or 9)
    counts = merged.spark.sql(f"SELECT count_if(n = -1), count(*) FROM {NAME}").collect()[0]
    assert tuple(counts) == (changed, FILES * ROWS + inserted)


def test_deletes_and_updates_read_the_files_of_their_keys(merged: Merged) -> None:
    for statement, changed in (
        (f"DELETE FROM {NAME} WHERE id IN (SELECT id FROM keys WHERE id < 8)", [0]),
        (f"UPDATE {NAME} SET n = -1 WHERE id IN (SELECT id FROM keys WHERE id > 8)", [6]),
        (f"UPDATE {NAME} t SET n = -2 WHERE EXISTS (SELECT 1 FROM keys s WHERE s.id = t.id)", FILES_OF_KEYS),
    ):
        assert merged.read(statement)[0] == changed
    counts = merged.spark.sql(f"SELECT count_if(n = -1), count_if(n = -2), count(*) FROM {NAME}").collect()[0]
    assert tuple(counts) == (0, 6, FILES * ROWS - 3)


def test_many_keys_are_a_range_and_none_are_no_file(merged: Merged) -> None:
    clauses = f"{UPDATE} {INSERT}"
    many = "SELECT id FROM range(3500, 17500)"
    assert merged.read(f"MERGE INTO {NAME} t USING ({many}) s ON t.id = s.id {clauses}")[0] == list(range(3, 18))
    none = "SELECT id FROM keys WHERE id > 1000000"
    assert merged.read(f"MERGE INTO {NAME} t USING ({none}) s ON t.id = s.id {clauses}") == ([], 0)
    counts = merged.spark.sql(f"SELECT count_if(n = -1), count(*) FROM {NAME}").collect()[0]
    assert tuple(counts) == (14_000, FILES * ROWS)


def test_merges_that_need_all_rows_read_them(merged: Merged) -> None:
    """Rows without a match count, or the keys of the source may differ when it is computed again."""
    spark = merged.spark
    # One of these rows has a match.
    by_source = f"{UPDATE} WHEN NOT MATCHED BY SOURCE AND t.id % 1000 = 3 THEN DELETE"
    assert merged.read(f"MERGE INTO {NAME} t USING keys s ON t.id = s.id {by_source}")[0] == list(range(FILES))
    if spark.version < "4.3":
        # Spark 4.3 refuses it.
        spark.sql("SELECT id + CAST(rand() * 0 AS BIGINT) AS id FROM range(10)").createOrReplaceTempView("random_keys")
        assert merged.read(f"MERGE INTO {NAME} t USING random_keys s ON t.id = s.id {UPDATE}")[0] == list(range(FILES))
    spark.sql("SELECT id FROM range(100000000)").createOrReplaceTempView("large")
    statement = f"MERGE INTO {NAME} t USING large s ON t.id = s.id {UPDATE}"
    assert "dynamicpruning" not in spark.sql(f"EXPLAIN {statement}").collect()[0][0]
    assert spark.table(NAME).count() == FILES * ROWS - FILES + 1


def test_a_setting_of_spark_turns_the_filters_off(merged: Merged) -> None:
    spark = merged.spark
    statement = f"MERGE INTO {NAME} t USING keys s ON t.id = s.id {UPDATE}"
    assert "dynamicpruning" in spark.sql(f"EXPLAIN {statement}").collect()[0][0]
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
    try:
        assert merged.read(statement)[0] == list(range(FILES))
    finally:
        spark.conf.unset("spark.sql.optimizer.dynamicPartitionPruning.enabled")
    # Without adaptive execution, subqueries are planned elsewhere.
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        assert merged.read(statement)[0] == FILES_OF_KEYS
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_cached_rows_are_computed_once(merged: Merged) -> None:
    """Spark does not know whether rows of Python are the same the next time."""
    spark = merged.spark
    frame = spark.createDataFrame([(key,) for key in KEYS], "id bigint")
    frame.createOrReplaceTempView("of_python")
    statement = f"MERGE INTO {NAME} t USING of_python s ON t.id = s.id {UPDATE}"
    assert merged.read(statement)[0] == list(range(FILES))
    frame.cache().count()
    try:
        assert merged.read(statement)[0] == FILES_OF_KEYS
    finally:
        frame.unpersist()
    assert spark.table(NAME).where("n = -1").count() == len(KEYS) - 1


def test_delta(tmp_path: Path) -> None:
    """delta-spark merges the same rows, and reads more of the table."""
    jars = Path(__file__).resolve().parents[2] / ".cache" / "spark" / "ivy"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("merge_delta.py"))],
        input=json.dumps({"ivy": str(jars), "folder": str(tmp_path), "merges": 45}),
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
        text=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"delta-spark: {told['compared']} merges, {told['refused']} refused by both; bytes {told['read']}")
    assert not told["differing"], "\n".join(told["differing"])
    assert 0 < told["refused"] < told["compared"] / 2
    assert told["read"]["lakerace"] < min(told["read"]["delta"], told["read"]["all"]) / 8
