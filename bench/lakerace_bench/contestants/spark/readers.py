"""The ways to read and write in a Spark session: Spark's own, Comet's, and lakerace's connector."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import contest
import session

#: Names the connector's jar; without it, the one that `make spark` has built in this checkout.
JAR_VARIABLE = "LAKERACE_SPARK_JAR"
_BUILT = Path(__file__).resolve().parents[4] / "spark" / "target"
_COMET_SETTINGS = {
    "spark.plugins": "org.apache.spark.CometPlugin",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "2g",
}
#: What the plan of a query shows that is read in this way.
_SHOWN = {"comet": "CometNativeScan", "lakerace": "lakerace ", "builtin": "FileScan parquet"}


def start(job: dict[str, Any]) -> Any:
    """The session of the job's reader."""
    options = job["options"]
    settings = dict(options.get("settings", {}))
    jars: tuple[str, ...] = ()
    if options["reader"] == "lakerace":
        jars = (_connector(),)
    if options["reader"] == "comet":
        jars = tuple(str(path) for path in session.JARS.glob(f"{session.COMET}*.jar"))
        settings |= _COMET_SETTINGS | {"spark.driver.extraClassPath": ":".join(jars)}
    try:
        return session.start(job["threads"], settings, jars)
    except session.NoJavaError as why:
        raise contest.UnableError(str(why)) from None


def load(spark: Any, job: dict[str, Any], path: str | None = None) -> Any:
    """The rows of a local Parquet file, or of the job's file on S3."""
    lakerace = job["options"]["reader"] == "lakerace"
    if path is not None:
        place = f"file:{path}"
    else:
        s3 = job["s3"]
        session.use_s3(spark, s3)
        place = f"{'s3' if lakerace else 's3a'}://{s3['bucket']}/{s3['key']}"
    return spark.read.format("lakerace" if lakerace else "parquet").load(place)


def check_plan(job: dict[str, Any], plan: str) -> str:
    """The plan, where it shows the job's reader."""
    shown = _SHOWN[job["options"]["reader"]]
    if shown not in plan:
        raise contest.UnableError(f"the plan has no {shown.strip()}: {plan[:300]}")
    return plan


def about(spark: Any) -> str:
    """Its versions."""
    hadoop = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    return f"{spark.version}, Hadoop {hadoop}"


def _connector() -> str:
    named = os.environ.get(JAR_VARIABLE)
    found = [Path(named)] if named else sorted(_BUILT.glob("lakerace-spark-*.jar"))
    if not found or not found[-1].exists():
        raise contest.UnableError(f"no jar of the connector: `make spark`, or name one in {JAR_VARIABLE}")
    return str(found[-1])
