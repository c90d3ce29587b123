"""Micro-batches that run again, from the position and with the rows that they were planned with."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bucket import serving
from pyspark.sql import DataFrame, SparkSession
from test_streams import Collected, end, entries, reader, table

import lakerace as lr


def add(place: str, ids: list[int], **options: Any) -> None:
    """Adds a version with these rows."""
    lr.copy(pa.table({"id": pa.array(ids, pa.int64())}), place, mode="append", **options)


def flat(batches: list[list[Any]]) -> list[Any]:
    return sorted(row for batch in batches for row in batch)


def fail_in(frame: DataFrame, checkpoint: Path, number: int) -> None:
    """Runs a query that fails in the micro-batch of this number."""

    def take(batch: DataFrame, at: int) -> None:
        if at == number:
            raise ValueError("the batch fails")

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    with pytest.raises(Exception, match="the batch fails"):
        end(writer.trigger(availableNow=True).start())


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path / "checkpoint")


@pytest.mark.parametrize("limit", [1, 1000])
@pytest.mark.parametrize("options", [{}, {"startingVersion": 0}, {"startingTimestamp": "2000-01-01T00:00:00Z"}])
def test_the_first_micro_batch_fails(
    spark: SparkSession, tmp_path: Path, collected: Collected, options: dict[str, object], limit: int
) -> None:
    place = table(tmp_path, [[1, 2], [3], [4]])
    fail_in(reader(spark, maxFilesPerTrigger=limit, **options).load(place), collected.checkpoint, 0)
    add(place, [5])
    again = reader(spark, maxFilesPerTrigger=limit, **options)
    assert flat(collected.run(again.load(place))) == [1, 2, 3, 4, 5]
    assert len(collected.batches) == (4 if limit == 1 else 2)
    add(place, [6])
    assert collected.run(again.load(place)) == [[6]]


def test_a_start_at_the_next_version_stays(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1], [2]])
    fail_in(reader(spark, startingVersion="latest").load(place), collected.checkpoint, 0)
    add(place, [3])
    assert flat(collected.run(reader(spark, startingVersion="latest").load(place))) == [3]


@pytest.mark.parametrize("text", ["", '{"table_id": "a", "ver', "[1]"])
def test_damaged_starts(spark: SparkSession, tmp_path: Path, collected: Collected, text: str) -> None:
    place = table(tmp_path, [[1]])
    fail_in(reader(spark).load(place), collected.checkpoint, 0)
    [kept] = collected.checkpoint.rglob("lakerace-start.json")
    kept.write_text(text)
    (kept.parent / f".{kept.name}.crc").unlink(missing_ok=True)
    with pytest.raises(Exception, match=r"lakerace-start\.json: the checkpoint of the stream has a position"):
        collected.run(reader(spark).load(place))
    kept.unlink()
    with pytest.raises(Exception, match=r"lakerace-start\.json: the first position of the stream is not there"):
        collected.run(reader(spark).load(place))
    assert collected.batches == []


def test_options_that_change_between_runs(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1, 2], [3]])
    spark.sql(f"UPDATE lake.`{place}` SET id = 20 WHERE id = 2")
    add(place, [4])

    def load(**options: object) -> DataFrame:
        return reader(spark, startingVersion=0, **options).load(place)

    planned = flat(Collected(tmp_path / "whole").run(load(ignoreChanges="true")))
    assert {1, 2, 3, 4, 20} == set(planned)
    fail_in(load(ignoreChanges="true"), collected.checkpoint, 0)
    # The micro-batch has the rows that it was planned with.
    assert collected.run(load(skipChangeCommits="true", maxFilesPerTrigger=1)) == [planned]
    spark.sql(f"UPDATE lake.`{place}` SET id = 30 WHERE id = 3")
    add(place, [5])
    assert collected.run(load(skipChangeCommits="true")) == [[5]]


def test_options_that_change_within_a_version(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1, 2]])
    parts = pa.table({"id": pa.array([10, 20, 30], pa.int64()), "p": ["a", "b", "c"]})
    shutil.rmtree(place)
    lr.copy(parts, f"delta:{place}", partition_by=["p"])
    lr.copy(parts, place, mode="overwrite")
    assert [sum("add" in action for action in entry) for entry in entries(place)] == [3, 3]

    def load(**options: object) -> DataFrame:
        return reader(spark, startingVersion=0, maxFilesPerTrigger=2, **options).load(place).select("id")

    fail_in(load(ignoreChanges="true"), collected.checkpoint, 2)
    assert collected.run(load(ignoreChanges="true")) == [[20, 30]]
    other = tmp_path / "other"
    # A version of which one file has been read.
    fail_in(load(ignoreChanges="true", maxBytesPerTrigger="1t").where("id > 0"), other, 1)
    for name in ("offsets/2", "offsets/.2.crc"):
        (other / name).unlink(missing_ok=True)
    assert len(Collected(other).run(load(ignoreChanges="true"))) == 2
    half = tmp_path / "half"
    frame = reader(spark, startingVersion=0, maxFilesPerTrigger=4, ignoreChanges="true").load(place).select("id")
    fail_in(frame, half, 1)
    for name in ("offsets/1", "offsets/.1.crc"):
        (half / name).unlink()
    with pytest.raises(Exception, match=r"version 1 has 0 files(.|\n)*as the query had them before"):
        Collected(half).run(load(skipChangeCommits="true"))


@pytest.mark.parametrize("feed", [False, True])
def test_checkpoints_of_the_other_kind(spark: SparkSession, tmp_path: Path, collected: Collected, feed: bool) -> None:
    place = table(tmp_path, [[1], [2]], **{"delta.enableChangeDataFeed": "true"})
    changes = {"readChangeFeed": "true", "startingVersion": 0}
    [before, after] = [changes, {}] if feed else [{"startingVersion": 0}, changes]
    assert len(collected.run(reader(spark, **before).load(place))) == 1
    add(place, [3])
    told = "a stream of changes, and this one reads rows" if feed else "a stream of rows, and this one reads changes"
    with pytest.raises(Exception, match=told):
        collected.run(reader(spark, **after).load(place))
    assert collected.batches == []
    assert len(collected.run(reader(spark, **before).load(place))) == 1


@pytest.mark.parametrize("options", [{}, {"readChangeFeed": "true"}])
def test_a_table_is_replaced_under_a_stream(spark: SparkSession, tmp_path: Path, options: dict[str, object]) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    place, batches = table(tmp_path, [[1], [2], [3]], **feed), list[list[int]]()

    def replace(batch: DataFrame, number: int) -> None:
        batches.append([row.id for row in batch.collect()])
        if number == 0:
            shutil.rmtree(place)
            table(tmp_path, [[n] for n in range(10, 15)], **feed)

    frame = reader(spark, startingVersion=0, maxFilesPerTrigger=1, **options).load(place)
    writer = frame.writeStream.foreachBatch(replace).option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(Exception, match="it is not the table that the stream has read"):
        end(writer.trigger(availableNow=True).start())
    assert batches == [[1]]


def test_columns_that_are_gone_since_the_first_version(
    spark: SparkSession, tmp_path: Path, collected: Collected
) -> None:
    place = f"{tmp_path}/source"
    name = f"lake.`{place}`"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, text STRING) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN text")
    spark.sql(f"INSERT INTO {name} VALUES (2)")
    with pytest.raises(Exception, match='version 1 has the column "text"'):
        collected.run(reader(spark, startingVersion=1).load(place))
    assert collected.batches == []
    other = Collected(tmp_path / "other")
    assert other.run(reader(spark, startingVersion=2).load(place)) == [[2]]
    spark.sql(f"INSERT INTO {name} VALUES (3)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO number")
    with pytest.raises(Exception, match='version 4 has the name "id" of the column "number"'):
        other.run(reader(spark).load(place))


def test_a_micro_batch_reads_the_log_once(spark: SparkSession, tmp_path: Path) -> None:
    requests: list[tuple[str, str]] = []

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        requests.append((verb, key))
        return True

    with serving() as bucket:
        store = {
            "aws_endpoint_url": bucket.endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }
        for number in range(5):
            rows = pa.table({"id": pa.array([number], pa.int64())})
            lr.copy(rows, "delta:s3://bucket/t", mode="append", storage_options=store)
        bucket.before = before
        windows, found = list[list[tuple[str, str]]](), list[int]()

        def take(batch: DataFrame, number: int) -> None:
            windows.append(requests.copy())
            requests.clear()
            found.extend(row.id for row in batch.collect())
            requests.clear()

        options = {f"storage.{name}": value for name, value in store.items()}
        frame = reader(spark, startingVersion=0, maxFilesPerTrigger=1, **options).load("s3://bucket/t")
        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "c"))
        end(writer.trigger(availableNow=True).start())
    assert found == [0, 1, 2, 3, 4]
    for version, window in enumerate(windows[1:], 1):
        log = [key for verb, key in window if verb == "GET" and key.endswith(".json")]
        assert f"t/_delta_log/{version:020}.json" in log
        assert len(log) == len(set(log)), log
        assert sum(verb == "GET" and not key for verb, key in window) == 1
