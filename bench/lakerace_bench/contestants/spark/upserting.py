"""Delta tables by lakerace's connector in Spark: made and changed by `option("key", …)`, scanned into Spark's rows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import contest
import readers
import verify

#: Who reads tables of others reads them by the connector.
_READER = {"reader": "lakerace"}
_SESSIONS: list[Any] = []


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """All rows of the source into the table by its key; the first ones make the table."""
    spark, place = _open(job)

    def work() -> None:
        rows = spark.read.format("lakerace").load(f"file:{job['source']}")
        options = {"key": job["key"], **job["options"]["write"]}
        rows.write.format("lakerace").mode("append").options(**options).save(place)

    return _prepared(spark, work)


def compact(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace compact`: the connector leaves that to the command."""
    spark, place = _open(job)
    program = shutil.which("lakerace")
    if program is None:
        raise contest.UnableError("no `lakerace` command on the path, which compacts")
    command = [program, "compact", place.replace("s3a://", "s3://"), "--threads", str(job["threads"]), "--json"]
    for setting in contest.object_store(job["s3"]).items():
        command += ["--storage-option", "=".join(setting)]
    return _prepared(spark, lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Materialises all rows, and counts them."""
    spark, place = _open(job)

    def rows() -> Any:
        return spark.read.format("lakerace").load(place)

    def look(_: Any) -> dict[str, Any]:
        """The same rows into Parquet files, which duckdb then looks at."""
        with tempfile.TemporaryDirectory(dir=job["home"]) as scratch:
            rows().write.parquet(f"file://{scratch}/rows")
            question = json.dumps({"parquet": f"{scratch}/rows/*.parquet"})
            done = subprocess.run(
                [sys.executable, verify.__file__], input=question, capture_output=True, text=True, check=True
            )
            answer: dict[str, Any] = json.loads(done.stdout)
            return answer

    prepared = _prepared(spark, lambda: rows()._jdf.queryExecution().toRdd().count())
    prepared.look = look
    return prepared


def _open(job: dict[str, Any]) -> tuple[Any, str]:
    """The session, and the table's location."""
    if not _SESSIONS:
        _SESSIONS.append(readers.start(job | {"options": _READER}))
    [spark] = _SESSIONS
    readers.session.use_s3(spark, job["s3"])
    return spark, f"delta:s3a://{job['s3']['bucket']}/{job['s3']['key']}"


def _prepared(spark: Any, work: Any) -> contest.Prepared:
    return contest.Prepared(readers.about(spark), work, {"master": spark.sparkContext.master})
