"""Requests of queries and statements: the log tells all that a plan needs, and rows are read by the tasks that want them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest
from bucket import Bucket, serving
from conftest import plan
from pyspark.sql import SparkSession

import lakerace as lr

PARTITIONS, ROWS = 10, 100_000
NAME = "counted.`s3://bucket/t`"
#: LIST, `_last_checkpoint` and the one entry of the table, which a second request may be needed for.
OPENING_READS = 4
#: A LIST before a commit: the table is still the one that was opened.
COMMIT_READS = 1
#: Opening a table of which an earlier version is open: a LIST, and a second one if there are new entries. Own entries are not fetched.
REOPENING_READS = 2


@dataclass
class Counted:
    """A table in a bucket, and what is asked of it."""

    spark: SparkSession
    bucket: Bucket
    #: Verbs and keys of requests.
    requests: list[tuple[str, str]]
    #: The rows that it has, and the settings of its store.
    rows: pa.Table
    storage: dict[str, str]
    url = "s3://bucket/t"

    @property
    def place(self) -> dict[str, str]:
        """The settings of the store as options of Spark."""
        return {f"storage.{name}": value for name, value in self.storage.items()}

    def during(self, work: Callable[[], object]) -> tuple[int, list[tuple[str, int]]]:
        """The requests of the log, and the data files that are read with the bytes that come of them, while this runs."""
        first, sent = len(self.requests), len(self.bucket.sent)
        work()
        requests = self.requests[first:]
        log = [key for verb, key in requests if verb in ("GET", "HEAD") and (not key or "_delta_log" in key)]
        data = [(key, length) for key, length in self.bucket.sent[sent:] if key.endswith(".parquet")]
        heads = [key for verb, key in requests if verb == "HEAD" and key.endswith(".parquet")]
        return len(log), data + [(key, 0) for key in heads]

    def sql(self, statement: str) -> tuple[int, list[tuple[str, int]]]:
        return self.during(lambda: self.spark.sql(statement).collect())

    def size(self, folder: str) -> int:
        """The bytes of the data files in a folder."""
        return sum(len(data) for key, data in self.bucket.objects.items() if folder in key)


@pytest.fixture
def counted(spark: SparkSession) -> Iterator[Counted]:
    requests: list[tuple[str, str]] = []

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        requests.append((verb, key))
        return True

    with serving() as bucket:
        place = {
            "aws_endpoint_url": bucket.endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }
        ids = range(ROWS)
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "p": pa.array([at * PARTITIONS // ROWS for at in ids], pa.int32()),
                "text": [hashlib.sha1(b"%d" % at).hexdigest() for at in ids],
                "s": [{"n": at, "words": hashlib.sha1(b"s%d" % at).hexdigest()} for at in ids],
            }
        )
        lr.copy(rows, "delta:s3://bucket/t", partition_by=["p"], row_group_rows=500, storage_options=place)
        spark.conf.set("spark.sql.catalog.counted", "lakerace.spark.LakeraceCatalog")
        settings = {f"storage.{name}": value for name, value in place.items()} | {"warehouse": "s3://bucket"}
        # Small gaps between what is wanted are not read through.
        settings["min_seek_size"] = "0"
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.catalog.counted.{name}", value)
        bucket.before = before
        yield Counted(spark, bucket, requests, rows, place)
        # A catalog keeps the settings that it was made with.
        spark._jsparkSession.sessionState().catalogManager().reset()
        for name in settings:
            spark.conf.unset(f"spark.sql.catalog.counted.{name}")
        spark.conf.unset("spark.sql.catalog.counted")


def test_plans_open_no_data_file(counted: Counted) -> None:
    spark = counted.spark
    frame = spark.table(NAME)
    queries: dict[str, Callable[[], object]] = {
        "schema": lambda: spark.table(NAME).schema,
        "DESCRIBE": lambda: spark.sql(f"DESCRIBE TABLE EXTENDED {NAME}").collect(),
        "count": lambda: spark.table(NAME).count(),
        "plan": lambda: plan(spark.table(NAME).where("p = 1 AND id > 5")),
        # Its frame is made while requests are counted.
        "partitions": lambda: spark.table(NAME).select("id").rdd.getNumPartitions(),  # noqa: PLW0108
    }
    for name, query in queries.items():
        log, data = counted.during(query)
        assert (name, data) == (name, [])
        assert log <= OPENING_READS, name
    assert frame.count() == ROWS
    # The frame's table is open.
    assert counted.during(lambda: frame.where("p = 3").selectExpr("sum(id)").collect())[0] == 0


def test_queries_read_the_log_once_and_files_in_tasks(counted: Counted) -> None:
    log, data = counted.sql(f"SELECT sum(id) FROM {NAME} WHERE p IN (3, 4)")
    assert log <= OPENING_READS
    assert {key.split("/")[1] for key, _ in data} == {"p=3", "p=4"}
    found = counted.spark.sql(f"SELECT sum(id) FROM {NAME} WHERE p IN (3, 4)").collect()[0][0]
    assert found == sum(range(3 * ROWS // PARTITIONS, 5 * ROWS // PARTITIONS))


def test_an_insert_reads_no_data_file(counted: Counted) -> None:
    first = len(counted.requests)
    log, data = counted.sql(f"INSERT INTO {NAME} VALUES (-1, 0, 'new', NULL)")
    assert data == []
    assert log <= OPENING_READS + COMMIT_READS
    puts = [key for verb, key in counted.requests[first:] if verb == "PUT"]
    assert [key.split("/")[1] for key in puts] == ["p=0", "_delta_log"]


STATEMENTS = {
    "INSERT": f"INSERT INTO {NAME} VALUES (-1, 0, 'new', NULL)",
    "tasks": f"INSERT INTO {NAME} SELECT /*+ REPARTITION(4) */ id, 0, 'new', NULL FROM range(8)",
    "DELETE": f"DELETE FROM {NAME} WHERE id = 70321",
    "UPDATE": f"UPDATE {NAME} SET text = 'new' WHERE id = 5",
    "MERGE": (
        f"MERGE INTO {NAME} t USING (SELECT id FROM range(3, 6)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET text = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, p, text) VALUES (s.id, 0, 'i')"
    ),
    "partition": f"INSERT OVERWRITE {NAME} PARTITION (p = 1) SELECT id, 'o', NULL FROM range(10)",
    "OVERWRITE": f"INSERT OVERWRITE {NAME} SELECT id, 3, 'o', NULL FROM range(10)",
    "TRUNCATE": f"TRUNCATE TABLE {NAME}",
}


def test_the_steps_of_a_statement_share_one_version(counted: Counted) -> None:
    """Statements, one after the other: each continues from the version before, and reads no entry of the log again."""
    spark = counted.spark
    spark.table(NAME).count()
    for name, statement in STATEMENTS.items():
        first = len(counted.requests)
        log, _ = counted.sql(statement)
        fetched = [key for verb, key in counted.requests[first:] if verb == "GET" and "_delta_log" in key]
        assert (name, fetched) == (name, [])
        assert log <= REOPENING_READS + COMMIT_READS, name
    assert counted.during(lambda: spark.table(NAME).count()) == (REOPENING_READS, [])
    assert spark.table(NAME).count() == 0


@pytest.mark.parametrize("options", [{}, {"key": "id"}, {"txnAppId": "a", "txnVersion": "1"}])
def test_saves_continue_from_an_open_version(counted: Counted, options: dict[str, str]) -> None:
    spark = counted.spark
    rows = spark.sql("SELECT id, 0 AS p, 'x' AS text, NULL AS s FROM range(5)")
    rows = rows.selectExpr("id", "p", "text", "CAST(s AS STRUCT<n: BIGINT, words: STRING>) AS s")

    def save() -> None:
        rows.write.format("lakerace").mode("append").options(**counted.place, **options).save("s3://bucket/t")

    save()
    log, _ = counted.during(save)
    # A transaction is looked for in the last version.
    assert log <= REOPENING_READS + COMMIT_READS + ("txnAppId" in options)


def test_entries_of_other_writers_are_read_once(counted: Counted) -> None:
    spark = counted.spark
    spark.table(NAME).count()
    for at in range(6):
        row = counted.rows.slice(at, 1)
        lr.copy(row, f"delta:{counted.url}", mode="append", storage_options=counted.storage)
    first = len(counted.requests)
    counted.sql(STATEMENTS["INSERT"])
    fetched = [key for verb, key in counted.requests[first:] if verb == "GET" and "_delta_log" in key]
    assert len(fetched) == len(set(fetched)) == 6
    assert spark.table(NAME).count() == ROWS + 7


def test_a_table_in_place_of_another_is_another(counted: Counted) -> None:
    spark, bucket = counted.spark, counted.bucket
    for versions in (1, 2, 4):
        counted.sql(f"INSERT INTO {NAME} VALUES (-1, 0, 'new', NULL)")
        for key in [key for key in bucket.objects if key.startswith("t/")]:
            del bucket.objects[key]
        for version in range(versions):
            rows = pa.table({"other": pa.array([version], pa.int64())})
            lr.copy(rows, f"delta:{counted.url}", mode="append", storage_options=counted.storage)
        assert [row.other for row in spark.table(NAME).orderBy("other").collect()] == list(range(versions))
        counted.sql(f"INSERT INTO {NAME} VALUES (7)")
        assert spark.table(NAME).count() == versions + 1
        for key in [key for key in bucket.objects if key.startswith("t/")]:
            del bucket.objects[key]
        lr.copy(counted.rows.slice(0, 10), f"delta:{counted.url}", storage_options=counted.storage)
        assert spark.table(NAME).count() == 10


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        (f"UPDATE {NAME} SET text = 'new' WHERE p = 7 AND id = 70321", 1),
        (f"DELETE FROM {NAME} WHERE p = 7 AND id BETWEEN 70321 AND 70323", 3),
        (
            (
                f"MERGE INTO {NAME} AS t USING (SELECT id FROM range(70000, 70005)) AS s ON t.id = s.id"
                " WHEN MATCHED THEN UPDATE SET text = 'new'"
            ),
            5,
        ),
    ],
)
def test_changes_read_the_row_groups_of_their_rows(counted: Counted, statement: str, changed: int) -> None:
    spark = counted.spark
    partition = counted.size("/p=7/")
    _, data = counted.sql(statement)
    assert {key.split("/")[1] for key, _ in data} == {"p=7"}
    # The first request for a footer is of 64 KiB.
    read = sum(length for _, length in data)
    assert 0 < read < partition / 2
    removed = 0 if "UPDATE" in statement else changed
    counts = spark.sql(f"SELECT count(*), count_if(text = 'new') FROM {NAME} WHERE id >= 0").collect()[0]
    assert tuple(counts) == (ROWS - removed, changed - removed)


def test_positions_are_read_of_the_row_groups_that_a_filter_leaves(counted: Counted) -> None:
    partition = counted.size("/p=7/")
    statement = f"SELECT _pos, id FROM {NAME} WHERE id = 70321"
    _, data = counted.sql(statement)
    assert {key.split("/")[1] for key, _ in data} == {"p=7"}
    assert sum(length for _, length in data) < partition / 2
    assert [tuple(row) for row in counted.spark.sql(statement).collect()] == [(321, 70321)]


def test_fields_of_rows_with_their_positions_are_pruned(counted: Counted) -> None:
    partition = counted.size("/p=7/")
    for statement in (
        f"SELECT max(_pos), sum(s.n) FROM {NAME} WHERE p = 7",
        f"SELECT max(_pos), sum(s.n) FROM {NAME} WHERE p = 7 AND id < 80000",
    ):
        _, data = counted.sql(statement)
        assert sum(length for _, length in data) < partition / 2
        found = counted.spark.sql(statement).collect()[0]
        assert tuple(found) == (9999, sum(range(70_000, 80_000)))


def test_a_table_is_dropped_with_its_log_first(counted: Counted) -> None:
    bucket, had_log = counted.bucket, []

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        if verb == "POST":
            had_log.append(any("_delta_log" in key for key in bucket.objects))
        return True

    bucket.objects["other/file"] = b"x"
    bucket.before = before
    counted.spark.sql("DROP TABLE counted.t")
    assert set(bucket.objects) == {"other/file"}
    assert had_log == [True, False]
