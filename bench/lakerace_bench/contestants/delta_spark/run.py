"""delta-spark: tables saved and merged into by Spark, with deletion vectors or by rewriting files."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import contest
import verify

# How Spark is started is the other contestant's.
sys.path.append(str(Path(__file__).parent.parent / "spark"))

import session

_SETTINGS = {
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_VECTORS = "spark.databricks.delta.properties.defaults.enableDeletionVectors"


def create(job: dict[str, Any]) -> contest.Prepared:
    """All rows of the source into a new table."""
    spark, place = _open(job)
    vectors = str(job["options"]["vectors"]).lower()
    spark.conf.set(_VECTORS, vectors)
    return _prepared(
        spark, lambda: spark.read.parquet(f"file://{job['source']}").write.format("delta").save(place), vectors=vectors
    )


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """MERGE INTO by the key."""
    spark, place = _open(job)
    key = f"`{job['key']}`"
    query = (
        f"MERGE INTO delta.`{place}` AS held USING parquet.`file://{job['source']}` AS new ON held.{key} = new.{key} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    return _prepared(spark, lambda: spark.sql(query), query=query)


def compact(job: dict[str, Any]) -> contest.Prepared:
    """OPTIMIZE."""
    spark, place = _open(job)
    query = f"OPTIMIZE delta.`{place}`"
    return _prepared(spark, lambda: spark.sql(query), query=query)


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Materialises all rows, and counts them.

    Not by the `noop` sink: it is of the second version of Spark's interface, whose writes Delta does not prepare for reading
    deletion vectors.
    """
    spark, place = _open(job)

    def rows() -> Any:
        return spark.read.format("delta").load(place)

    def look(_: Any) -> dict[str, Any]:
        """The same rows into Parquet files, which duckdb then looks at."""
        with tempfile.TemporaryDirectory(dir=job["home"]) as scratch:
            rows().write.parquet(f"file://{scratch}/rows")
            return _parquet(f"{scratch}/rows/*.parquet")

    prepared = _prepared(spark, lambda: rows()._jdf.queryExecution().toRdd().count())
    prepared.look = look
    return prepared


def load(job: dict[str, Any]) -> contest.Prepared:
    """Appends rows by ranges of `id`, with a commit each: the CSV file's, cached unless there is a single range, or those of memory.

    For the CSV file, the session starts in the measured section, since users of a job wait for it. Rows of memory are cached before it.
    """
    place = f"s3a://{job['place']['bucket']}/{job['place']['key']}"
    if job["origin"] == "memory":
        return _load_from_memory(job, place)
    text = f"s3a://{job['csv']['bucket']}/{job['csv']['key']}"

    def work() -> None:
        spark = session.start(job["threads"], _SETTINGS)
        session.use_s3(spark, job["csv"])
        types = spark.read.parquet(f"file://{job['input']}").schema
        times = "yyyy-MM-dd HH:mm:ss.SSSSSSX"
        rows = spark.read.csv(text, header=True, schema=types, timestampFormat=times)
        if job["batch_rows"] is None:
            rows.write.format("delta").save(place)
            return
        rows = rows.persist()
        _append_ranges(rows, rows.count(), job["batch_rows"], place)

    return contest.Prepared("3.3.2", work, _SETTINGS)


def _load_from_memory(job: dict[str, Any], place: str) -> contest.Prepared:
    """Rows that Spark has cached: only the writes are measured."""
    spark = session.start(job["threads"], _SETTINGS)
    session.use_s3(spark, job["place"])
    rows = spark.read.parquet(f"file://{job['input']}").persist()
    count = rows.count()
    return _prepared(spark, lambda: _append_ranges(rows, count, job["batch_rows"], place))


def _append_ranges(rows: Any, count: int, batch_rows: int | None, place: str) -> None:
    """A commit for each range of `batch_rows` ids; one commit for `None`."""
    if batch_rows is None:
        rows.write.format("delta").mode("append").save(place)
        return
    for begin in range(0, count, batch_rows):
        part = rows.where(f"id >= {begin} AND id < {begin + batch_rows}")
        part.write.format("delta").mode("append").save(place)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """Every row, by an iterator that brings one partition after the other to Python."""

    def rows() -> Any:
        spark = session.start(job["threads"], _SETTINGS)
        session.use_s3(spark, job["csv"])
        return spark.read.format("delta").load(f"s3a://{job['place']['bucket']}/{job['place']['key']}")

    def look(count: int) -> dict[str, Any]:
        session.start(job["threads"]).conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        with tempfile.TemporaryDirectory() as scratch:
            rows().write.parquet(f"file://{scratch}/rows")
            return _parquet(f"{scratch}/rows/*.parquet") | {"counted": count}

    return contest.Prepared("3.3.2", lambda: sum(1 for _ in rows().toLocalIterator()), _SETTINGS, look=look)


def convert(job: dict[str, Any]) -> contest.Prepared:
    """All rows of a local Parquet file into a table on S3; warmed up by a smaller file."""
    spark, place = _open(job)

    def write(path: str, to: str) -> None:
        spark.read.parquet(f"file://{path}").write.format("delta").save(to)

    write(job["warm_up"], f"{place}-warm-up")
    return _prepared(spark, lambda: write(job["path"], place))


def _parquet(files: str) -> dict[str, Any]:
    """The result of duckdb for some files, in a separate process."""
    question = json.dumps({"parquet": files})
    done = subprocess.run([sys.executable, verify.__file__], input=question, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _open(job: dict[str, Any]) -> tuple[Any, str]:
    """The session, and the URL of the table."""
    try:
        spark = session.start(job["threads"], _SETTINGS)
    except session.NoJavaError as why:
        raise contest.UnableError(str(why)) from None
    s3 = job["s3"]
    if s3 is None:
        return spark, f"file://{job['table']}"
    session.use_s3(spark, s3)
    return spark, f"s3a://{s3['bucket']}/{s3['key']}"


def _prepared(spark: Any, work: Any, **more: str) -> contest.Prepared:
    options = _SETTINGS | {"master": spark.sparkContext.master} | more
    return contest.Prepared(f"3.3.2, Spark {spark.version}", work, options)


if __name__ == "__main__":
    jobs = {"create": create, "upsert": upsert, "compact": compact, "scan-table": scan}
    contest.main({**jobs, "load": load, "unload": unload, "convert": convert})
