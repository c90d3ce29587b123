"""Spark: an ORC file through S3A or from disk into the noop sink, by `orc.min.disk.seek.size`; and the jobs of the other files here."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import contest
import queries
import session
import upserting
import verify

_WARM_UPS = 3
_SESSIONS: dict[int, Any] = {}
#: What has warmed the session up.
_WARM: set[str] = set()
#: The rows that a job has read, by everything that they depend on: they are checked once.
_LOOKED: dict[str, dict[str, Any]] = {}


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Materialises all rows of the wanted columns, which `noop` then throws away."""
    spark = _session(job["threads"])
    options = {"orc.min.disk.seek.size": str(job["options"]["min_seek_size"])}
    schema = spark.read.orc(f"file://{job['path']}").schema

    def frame(path: str) -> Any:
        found = spark.read.options(**options).schema(schema).orc(path)
        return found.select(*job["columns"]) if job["columns"] else found

    if job["warm_up"] not in _WARM:
        for _ in range(_WARM_UPS):
            _noop(frame(f"file://{job['warm_up']}"))
        _WARM.add(job["warm_up"])
    rows = frame(_open(spark, job["path"], job["s3"]))

    def look(_: Any) -> dict[str, Any]:
        job_itself = json.dumps([job["path"], job["columns"], options, job["s3"] is None])
        if job_itself not in _LOOKED:
            _LOOKED[job_itself] = read_again()
        return _LOOKED[job_itself]

    def read_again() -> dict[str, Any]:
        """The same read past the proxy, into Parquet, which duckdb and pyarrow then look at."""
        again = frame(_open(spark, job["path"], job["s3_direct"]))
        with tempfile.TemporaryDirectory(dir=Path(job["path"]).parent) as scratch:
            again.coalesce(1).write.parquet(f"file://{scratch}/rows")
            [written] = Path(scratch, "rows").glob("*.parquet")
            question = json.dumps({"file": str(written)})
            done = subprocess.run(
                [sys.executable, verify.__file__], input=question, capture_output=True, text=True, check=True
            )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return contest.Prepared(
        f"{spark.version}, Hadoop {_hadoop(spark)}",
        lambda: _noop(rows),
        options | {"master": spark.sparkContext.master},
        look=look,
        plan=lambda: str(rows._jdf.queryExecution().executedPlan()),
    )


def _session(threads: int) -> Any:
    if threads not in _SESSIONS:
        try:
            _SESSIONS[threads] = session.start(threads)
        except session.NoJavaError as why:
            raise contest.UnableError(str(why)) from None
    return _SESSIONS[threads]


def _open(spark: Any, path: str, s3: dict[str, str] | None) -> str:
    """The URL of the file, whose file system is up and connected: that is in no number."""
    if s3 is None:
        return f"file://{path}"
    hadoop = spark._jvm.org.apache.hadoop.fs
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    session.use_s3(spark, s3)
    url = f"s3a://{s3['bucket']}/{s3['key']}"
    place = hadoop.Path(url)
    place.getFileSystem(settings).getFileStatus(place)
    return url


def _noop(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _hadoop(spark: Any) -> str:
    return str(spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion())


if __name__ == "__main__":
    tables = {"create": upserting.upsert, "upsert": upserting.upsert, "compact": upserting.compact}
    tables["scan-table"] = upserting.scan
    contest.main({"scan": scan, "query": queries.query, "convert": queries.convert, **tables})
