"""A query over all columns of a Parquet file on S3, and the same rows into a new place on S3."""

from __future__ import annotations

import time
from typing import Any

import contest
import readers


def query(job: dict[str, Any]) -> contest.Prepared:
    """The sums, as one row; the session has done the same once before, and how long that took is among the options."""
    spark = readers.start(job)
    readers.load(spark, job).createOrReplaceTempView("rows")

    def run() -> Any:
        frame = spark.sql(job["sql"])
        return frame, frame.collect()

    begin = time.perf_counter()
    run()
    first = time.perf_counter() - begin

    def look(result: Any) -> dict[str, Any]:
        frame, [row] = result
        readers.check_plan(job, _plan(frame))
        found = {"rows": row[0], "checksum": " ".join(str(value) for value in row), "checked_by": job["checked_by"]}
        if job["hash_sql"]:
            found["hash"] = str(spark.sql(job["hash_sql"]).collect()[0][0])
        return found

    # The plan of what ran: asked for before it runs, it would show what Spark may still change.
    kept: list[Any] = []

    def work() -> Any:
        kept[:] = [run()]
        return kept[0]

    return contest.Prepared(
        readers.about(spark),
        work,
        {"first run, seconds": round(first, 3), "master": spark.sparkContext.master} | job["options"],
        look=look,
        plan=lambda: _plan(kept[0][0]),
    )


def convert(job: dict[str, Any]) -> contest.Prepared:
    """All rows of a local Parquet file to S3, read and written in the same way; warmed up by a smaller file."""
    spark = readers.start(job)
    lakerace = job["options"]["reader"] == "lakerace"

    def write(path: str, key: str) -> None:
        frame = readers.load(spark, job, path)
        place = f"s3a://{job['s3']['bucket']}/{key}"
        if lakerace:
            frame.write.format("lakerace").mode("append").save(f"delta:{place}")
        else:
            frame.write.parquet(place)

    readers.session.use_s3(spark, job["s3"])
    begin = time.perf_counter()
    write(job["warm_up"], f"{job['s3']['key']}-warm-up")
    first = time.perf_counter() - begin
    return contest.Prepared(
        readers.about(spark),
        lambda: write(job["path"], job["s3"]["key"]),
        {"warm-up, seconds": round(first, 3), "master": spark.sparkContext.master} | job["options"],
    )


def _plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan())
