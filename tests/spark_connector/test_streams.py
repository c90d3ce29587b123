"""Delta tables as sources and sinks of Structured Streaming."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamReader, StreamingQuery

import lakerace as lr

#: Longer than any machine takes.
PATIENCE_SECONDS = 120


def table(folder: Path, versions: list[list[int]], **properties: str) -> str:
    """The location of a table of the column `id`, to which each version adds such rows, a file each."""
    place = str(folder / "source")
    for number, ids in enumerate(versions):
        rows = pa.table({"id": pa.array(ids, pa.int64())})
        lr.copy(rows, f"delta:{place}", mode="append", table_properties=properties if number == 0 else {})
    return place


def reader(spark: SparkSession, **options: object) -> DataStreamReader:
    return spark.readStream.format("lakerace").options(**{name: str(value) for name, value in options.items()})


class Collected:
    """The micro-batches of runs of a query that ends with what is there."""

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.batches: list[list[Any]] = []

    def run(self, frame: DataFrame) -> list[list[Any]]:
        """The rows of each micro-batch of one run, sorted."""
        self.batches = []

        def take(batch: DataFrame, number: int) -> None:
            self.batches.append(sorted(row[0] if len(row) == 1 else tuple(row) for row in batch.collect()))

        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(self.checkpoint))
        end(writer.trigger(availableNow=True).start())
        return self.batches


def end(query: StreamingQuery) -> None:
    assert query.awaitTermination(PATIENCE_SECONDS)


def rows(spark: SparkSession, place: str | Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format("lakerace").load(str(place)).collect())


def entries(place: str | Path) -> list[list[dict[str, Any]]]:
    """The actions of each entry of a log."""
    logs = sorted((Path(place) / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]


def transactions(place: str | Path) -> list[int]:
    """The numbers of the transactions that a log tells of."""
    return [action["txn"]["version"] for entry in entries(place) for action in entry if "txn" in action]


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path / "checkpoint")


def test_versions_become_micro_batches(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1, 2], [3], [4, 5]])
    assert collected.run(reader(spark, maxFilesPerTrigger=1).load(place)) == [[1, 2], [3], [4, 5]]
    # What is there has been read.
    assert collected.run(reader(spark).load(place)) == []
    for ids in ([6], [7], [8]):
        lr.copy(pa.table({"id": pa.array(ids, pa.int64())}), place, mode="append")
    # A compaction moves rows, and adds none.
    lr.Table(place).compact()
    assert collected.run(reader(spark, maxFilesPerTrigger=2).load(place)) == [[6, 7], [8]]
    lr.copy(pa.table({"id": pa.array([9], pa.int64())}), place, mode="append")
    assert collected.run(reader(spark, where="id > 8").load(f"delta:{place}"))[-1] == [9]


def test_bytes_limit_micro_batches(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[n] for n in range(6)])
    sizes = {path.stat().st_size for path in Path(place).glob("*.parquet")}
    limit = 2 * max(sizes) + min(sizes) // 2
    assert collected.run(reader(spark, maxBytesPerTrigger=limit).load(place)) == [[0, 1], [2, 3], [4, 5]]
    other = Collected(tmp_path / "other")
    # A file that is larger comes alone.
    assert other.run(reader(spark, maxBytesPerTrigger="1b").load(place)) == [[n] for n in range(6)]


def test_starts(spark: SparkSession, tmp_path: Path) -> None:
    place = table(tmp_path, [[1], [2], [3]])

    def of(**options: object) -> list[Any]:
        name = "-".join(map(str, options.values())).replace(":", "").replace("/", "")
        batches = Collected(tmp_path / f"start-{name}").run(reader(spark, **options).load(place))
        return sorted(row for batch in batches for row in batch)

    assert of(startingVersion=1) == [2, 3]
    assert of(startingVersion="latest") == []
    assert of(startingTimestamp="2000-01-01T00:00:00Z") == [1, 2, 3]
    with pytest.raises(Exception, match="no version of that time or later"):
        of(startingTimestamp="2100-01-01T00:00:00Z")
    with pytest.raises(Exception, match="version 9 does not exist: the last one is 2"):
        of(startingVersion=9)
    with pytest.raises(Exception, match="neither a version nor"):
        of(startingVersion="soon")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"versionAsOf": 0}, "give startingVersion"),
        ({"startingVersion": 0, "startingTimestamp": "2000-01-01"}, "give one of the options"),
        ({"maxFilesPerTrigger": 0}, "a positive integer"),
        ({"maxBytesPerTrigger": "many"}, "give bytes above 0"),
        ({"skipChangeCommits": "true", "ignoreChanges": "true"}, "give one of them"),
        ({"readChangeFeed": "true", "startingVersion": 0, "endingVersion": 0}, "no option .endingVersion"),
        ({"readChangeFeed": "true", "startingVersion": 0, "ignoreChanges": "true"}, "give one of them"),
        ({"maxFilesPerTriger": 1}, "maxFilesPerTrigger"),
    ],
)
def test_options_that_do_not_fit(
    spark: SparkSession, tmp_path: Path, collected: Collected, options: dict[str, object], told: str
) -> None:
    place = table(tmp_path, [[1]], **{"delta.enableChangeDataFeed": "true"})
    with pytest.raises(Exception, match=told):
        collected.run(reader(spark, **options).load(place))


def test_batch_queries_have_no_options_of_streams(spark: SparkSession, tmp_path: Path) -> None:
    place = table(tmp_path, [[1]])
    for option in ("maxFilesPerTrigger", "startingVersion", "ignoreChanges"):
        with pytest.raises(Exception, match=f"{option}. is for spark.readStream"):
            spark.read.format("lakerace").option(option, "1").load(place).collect()
    files = tmp_path / "files.parquet"
    lr.copy(pa.table({"id": [1]}), str(files))
    with pytest.raises(Exception, match="streams can only read Delta tables"):
        Collected(tmp_path / "c").run(reader(spark).load(str(files)))


def test_versions_that_change_rows(spark: SparkSession, tmp_path: Path) -> None:
    place = table(tmp_path, [[1, 2], [3, 4]])
    name = f"lake.`{place}`"
    spark.sql(f"UPDATE {name} SET id = 20 WHERE id = 2")
    spark.sql(f"INSERT INTO {name} VALUES (5)")

    def of(**options: object) -> list[list[Any]]:
        checkpoint = tmp_path / f"c-{len(list(tmp_path.iterdir()))}"
        return Collected(checkpoint).run(reader(spark, startingVersion=0, **options).load(place))

    refused = Collected(tmp_path / "refused")
    with pytest.raises(Exception, match=r"version 2 \([A-Z]+\) changes rows(.|\n)*readChangeFeed"):
        refused.run(reader(spark, startingVersion=0).load(place))
    # What comes before is there.
    assert refused.batches == [[1, 2, 3, 4]]
    assert refused.run(reader(spark, startingVersion=0, skipChangeCommits="true").load(place)) == [[5]]
    assert of(skipChangeCommits="true", maxFilesPerTrigger=1) == [[1, 2], [3, 4], [5]]
    again = sorted(row for batch in of(ignoreChanges="true") for row in batch)
    assert set(again) == {1, 2, 3, 4, 5, 20}
    lr.copy(pa.table({"id": pa.array([], pa.int64())}), place, mode="overwrite")
    lr.copy(pa.table({"id": pa.array([6], pa.int64())}), place, mode="append")
    later = {"startingVersion": 4}
    with pytest.raises(Exception, match="removes rows"):
        Collected(tmp_path / "d").run(reader(spark, **later).load(place))
    assert Collected(tmp_path / "e").run(reader(spark, ignoreDeletes="true", **later).load(place)) == [[6]]


def test_changes(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1, 2], [3]], **{"delta.enableChangeDataFeed": "true"})
    name = f"lake.`{place}`"
    columns = ["id", "_change_type", "_commit_version"]
    options = {"readChangeFeed": "true", "startingVersion": 0}

    def expected(first: int) -> list[Any]:
        feed = spark.read.format("lakerace").option("readChangeFeed", "true").option("startingVersion", first)
        return sorted(tuple(row) for row in feed.load(place).select(columns).collect())

    with pytest.raises(Exception, match="needs a first version"):
        Collected(tmp_path / "none").run(reader(spark, readChangeFeed="true").load(place))
    batches = collected.run(reader(spark, maxFilesPerTrigger=1, **options).load(place).select(columns))
    assert len(batches) == 2
    assert sorted(row for batch in batches for row in batch) == expected(0)
    spark.sql(f"UPDATE {name} SET id = 20 WHERE id = 2")
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN (more STRING)")
    spark.sql(f"INSERT INTO {name} VALUES (4, 'x')")
    frame = reader(spark, **options).load(place)
    assert frame.columns[:2] == ["id", "more"]
    found = [row for batch in collected.run(frame.select(columns)) for row in batch]
    assert sorted(found) == expected(2)
    assert len(found) == 4


def source_of(spark: SparkSession, place: str, **options: object) -> DataFrame:
    return reader(spark, **options).load(place)


def forget_commit(checkpoint: Path) -> None:
    """Leaves a checkpoint as a process does that is killed after the commit of its last micro-batch."""
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    (checkpoint / "commits" / str(last)).unlink()
    (checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)


def write(frame: DataFrame, target: str | Path, checkpoint: Path, mode: str = "append", **options: str) -> None:
    """Runs a query that writes what is there."""
    writer = frame.writeStream.format("lakerace").outputMode(mode).options(**options)
    end(writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(target)))


def test_appends_once(spark: SparkSession, tmp_path: Path) -> None:
    place, target, checkpoint = table(tmp_path, [[1], [2], [3]]), tmp_path / "target", tmp_path / "c"
    frame = source_of(spark, place, maxFilesPerTrigger=1)
    write(frame, f"delta:{target}", checkpoint)
    assert (rows(spark, target), transactions(target)) == ([(1,), (2,), (3,)], [0, 1, 2])
    files = len(list(target.glob("*.parquet")))
    forget_commit(checkpoint)
    write(frame, target, checkpoint)
    assert (rows(spark, target), transactions(target)) == ([(1,), (2,), (3,)], [0, 1, 2])
    # Those of the second time are gone.
    assert len(list(target.glob("*.parquet"))) == files
    lr.copy(pa.table({"id": pa.array([4], pa.int64())}), place, mode="append")
    lr.Table(place).compact()
    write(frame, target, checkpoint)
    assert rows(spark, target) == [(1,), (2,), (3,), (4,)]
    versions = len(entries(target))
    # Micro-batches without rows make no version.
    lr.Table(place).compact()
    write(frame.where("id > 100"), target, checkpoint)
    assert len(entries(target)) == versions


def test_streams_that_go_on(spark: SparkSession, tmp_path: Path) -> None:
    """A query without an end waits for new versions, of which this process knows nothing."""
    place, target = table(tmp_path, [[1]]), tmp_path / "target"
    writer = source_of(spark, place).writeStream.format("lakerace").option("checkpointLocation", str(tmp_path / "c"))
    query = writer.trigger(processingTime="10 milliseconds").start(f"delta:{target}")
    try:
        for number in range(2, 5):
            # It has found that there is nothing more.
            until(lambda: not query.isActive or (query.lastProgress or {}).get("numInputRows") == 0)
            lr.copy(pa.table({"id": pa.array([number], pa.int64())}), place, mode="append")
            wanted = [(n,) for n in range(1, number + 1)]
            until(
                lambda wanted=wanted: (
                    not query.isActive or (bool(transactions(target)) and rows(spark, target) == wanted)
                )
            )
        assert query.exception() is None
        assert query.isActive
    finally:
        query.stop()
    assert rows(spark, target) == [(1,), (2,), (3,), (4,)]


def test_complete_results(spark: SparkSession, tmp_path: Path) -> None:
    place, target, checkpoint = table(tmp_path, [[1, 2], [3], [4, 5]]), tmp_path / "target", tmp_path / "c"
    frame = source_of(spark, place, maxFilesPerTrigger=1).groupBy((f.col("id") % 2).alias("odd")).count()
    write(frame, f"delta:{target}", checkpoint, mode="complete")
    assert rows(spark, target) == [(0, 2), (1, 3)]
    forget_commit(checkpoint)
    write(frame, target, checkpoint, mode="complete")
    assert rows(spark, target) == [(0, 2), (1, 3)]
    lr.copy(pa.table({"id": pa.array([7], pa.int64())}), place, mode="append")
    write(frame, target, checkpoint, mode="complete")
    assert rows(spark, target) == [(0, 2), (1, 4)]


@pytest.mark.parametrize("feed", ["false", "true"])
def test_upserts_once(spark: SparkSession, tmp_path: Path, feed: str) -> None:
    place, target, checkpoint = table(tmp_path, [[1, 2], [2, 3], [1, 4]]), tmp_path / "target", tmp_path / "c"
    changes = source_of(spark, place, maxFilesPerTrigger=1).select("id", f.col("id").cast("string").alias("text"))
    options = {"key": "id", "table.delta.enableChangeDataFeed": feed}
    write(changes, f"delta:{target}", checkpoint, **options)
    expected = [(n, str(n)) for n in (1, 2, 3, 4)]
    assert (rows(spark, target), transactions(target)) == (expected, [0, 1, 2])
    # What others have written meanwhile stays when a micro-batch comes again.
    spark.sql(f"UPDATE lake.`{target}` SET text = 'other' WHERE id = 4")
    forget_commit(checkpoint)
    write(changes, target, checkpoint, key="id")
    assert (rows(spark, target), transactions(target)) == ([*expected[:3], (4, "other")], [0, 1, 2])


def test_updates_by_key(spark: SparkSession, tmp_path: Path) -> None:
    place, target, checkpoint = table(tmp_path, [[1, 2], [3], [5]]), tmp_path / "target", tmp_path / "c"
    counts = source_of(spark, place, maxFilesPerTrigger=1).groupBy((f.col("id") % 2).alias("odd")).count()
    write(counts, f"delta:{target}", checkpoint, mode="update", key="odd")
    assert rows(spark, target) == [(0, 1), (1, 3)]
    with pytest.raises(Exception, match="does not support Update mode"):
        write(counts, target, tmp_path / "d", mode="update")


def test_batch_upserts_once(spark: SparkSession, tmp_path: Path) -> None:
    target = tmp_path / "target"
    for texts in ("a", "b"):
        frame = spark.createDataFrame([(1, texts)], "id bigint, text string")
        writer = frame.write.format("lakerace").mode("append").option("key", "id")
        writer.option("txnAppId", "job").option("txnVersion", 7).save(f"delta:{target}")
    assert (rows(spark, target), transactions(target)) == ([(1, "a")], [7])


def test_tables_of_catalogs(spark: SparkSession, tmp_path: Path) -> None:
    place, target = table(tmp_path, [[1], [2]]), tmp_path / "target"
    frame = spark.readStream.option("maxFilesPerTrigger", "1").table(f"lake.`{place}`")
    query = frame.writeStream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    end(query.toTable(f"lake.`{target}`"))
    assert (rows(spark, target), transactions(target)) == ([(1,), (2,)], [0, 1])


def test_writes_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    place, target = table(tmp_path, [[1]]), tmp_path / "target"
    lr.copy(pa.table({"other": pa.array([1], pa.int64()), "id": pa.array(["a"])}), f"delta:{target}")
    frame = source_of(spark, place)
    with pytest.raises(Exception, match="its own transactions"):
        write(frame, target, tmp_path / "a", txnAppId="job", txnVersion="1")
    with pytest.raises(Exception, match="column"):
        write(frame.withColumn("more", f.lit(1)), target, tmp_path / "b")
    with pytest.raises(Exception, match="id"):
        write(frame, target, tmp_path / "c")
    with pytest.raises(Exception, match="a stream can only write to Delta tables"):
        write(frame, tmp_path / "files", tmp_path / "d", format="parquet")
    assert rows(spark, target) == [(1, "a")]
    assert not (tmp_path / "files").exists()


def test_schemas_that_change(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1]])
    name = f"lake.`{place}`"
    frame = reader(spark).load(place)
    assert collected.run(frame) == [[1]]
    # Of what another process writes, the frame does not know.
    lr.copy(pa.table({"id": pa.array([2], pa.int64())}), place, mode="append")
    lr.copy(pa.table({"id": pa.array([3], pa.int64()), "text": ["c"]}), place, mode="append", evolve="add")
    with pytest.raises(Exception, match=r'version 2 has the column "text"(.|\n)*start the query again'):
        collected.run(frame)
    assert collected.batches == [[2]]
    assert collected.run(reader(spark).load(place)) == [[(3, "c")]]
    # A frame reads on with its own columns where its session has changed the others.
    before = reader(spark).load(place)
    spark.sql(f"ALTER TABLE {name} ADD COLUMN (more STRING)")
    spark.sql(f"INSERT INTO {name} VALUES (4, 'd', 'e')")
    assert [row for batch in collected.run(before) for row in batch] == [(4, "d")]


def test_tables_that_go(spark: SparkSession, tmp_path: Path, collected: Collected) -> None:
    place = table(tmp_path, [[1], [2]], **{"delta.checkpointInterval": "1"})
    frame = reader(spark, maxFilesPerTrigger=1, startingVersion=0).load(place)
    assert collected.run(frame) == [[1], [2]]
    for ids in ([3], [4], [5]):
        lr.copy(pa.table({"id": pa.array(ids, pa.int64())}), place, mode="append")
    # Entries that the log does not keep any more.
    log = Path(place) / "_delta_log"
    lost = [log / f"{version:020}.json" for version in range(4)]
    for path in lost:
        path.rename(tmp_path / path.name)
    with pytest.raises(Exception, match=r"the log no longer has version 2(.|\n)*another checkpoint"):
        collected.run(frame)
    for path in lost:
        (tmp_path / path.name).rename(path)
    # Files that a vacuum has removed.
    lr.Table(place).compact()
    lr.Table(place).vacuum(retain="0s", allow_short_retention=True)
    with pytest.raises(Exception, match=r"vacuumed or removed in another way"):
        collected.run(frame)
    # Another table at the same place.
    shutil.rmtree(place)
    table(tmp_path, [[n] for n in range(9)])
    with pytest.raises(Exception, match="not the table that the stream has read"):
        collected.run(reader(spark).load(place))


def test_checkpoints_that_go(spark: SparkSession, tmp_path: Path) -> None:
    place, target, checkpoint = table(tmp_path, [[1, 2], [3]]), tmp_path / "target", tmp_path / "c"
    frame = source_of(spark, place).select("id", (f.col("id") * 2).alias("twice"))
    write(frame, f"delta:{target}", checkpoint, key="id")
    shutil.rmtree(checkpoint)
    lr.copy(pa.table({"id": pa.array([4], pa.int64())}), place, mode="append")
    # By a key the same rows are the same table.
    write(frame, target, checkpoint, key="id")
    assert rows(spark, target) == [(n, 2 * n) for n in (1, 2, 3, 4)]


def test_two_streams_into_one_table(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    places = [table(tmp_path / "a", [[n] for n in range(8)]), table(tmp_path / "b", [[n] for n in range(100, 108)])]
    target, failures = tmp_path / "target", list[Exception]()
    lr.copy(pa.table({"id": pa.array([], pa.int64())}), f"delta:{target}")

    def run(number: int) -> None:
        try:
            frame = source_of(spark, places[number], maxFilesPerTrigger=1)
            write(frame, target, tmp_path / f"c{number}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rows(spark, target) == [(n,) for n in [*range(8), *range(100, 108)]]
    assert sorted(transactions(target)) == sorted([*range(8), *range(8)])
