"""A Spark session with S3A, in the environment that the bench makes for this contestant.

`python -m lakerace_bench.contestant spark` makes it and prints its Python, for whoever wants to try something in it:

    import session                      # with this folder as the working directory
    spark = session.start(threads=1)
    spark.read.orc("/path/to/file.orc").show()
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

#: What `install.py` has fetched.
JARS = Path(sys.prefix) / "jars"
#: How the jars of Comet are called, which only its own sessions take.
COMET = "org.apache.datafusion_"
#: The releases of Java that the bench's Sparks are made for: Spark 4 needs 17, Spark 3.5 takes all.
_JAVA = ("17", "11", "8") if version("pyspark").startswith("3.") else ("17",)


class NoJavaError(RuntimeError):
    """There is no Java that this Spark runs on; the message says where it was looked for."""


def start(threads: int, more: dict[str, str] | None = None, jars: tuple[str, ...] = ()) -> SparkSession:
    """Starts Spark in this JVM with `threads` tasks, the settings `more`, and `jars` in addition to the installed."""
    os.environ["JAVA_HOME"] = java_home()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    scratch = _scratch()
    settings = {
        "spark.local.dir": str(scratch),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.warehouse.dir": str(Path(sys.prefix) / "warehouse"),
    }
    found = [str(path) for path in sorted(JARS.glob("*.jar")) if not path.name.startswith(COMET)]
    if found:
        settings["spark.jars"] = ",".join([*found, *jars])
    builder = SparkSession.builder.master(f"local[{threads}]").appName("lakerace bench")
    for key, value in {**settings, **(more or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _scratch() -> Path:
    """A folder for what this session keeps for itself: copies of all jars. A session that is killed leaves its folder to the next one."""
    folder = Path(sys.prefix) / "scratch"
    for old in folder.glob("*"):
        if not Path("/proc", old.name).exists():
            shutil.rmtree(old, ignore_errors=True)
    own = folder / str(os.getpid())
    own.mkdir(parents=True, exist_ok=True)
    return own


def s3a(s3: dict[str, str]) -> dict[str, str]:
    """The settings of S3A for a bucket of the bench, for Hadoop's configuration."""
    return {
        "fs.s3a.endpoint": f"http://{s3['endpoint']}",
        "fs.s3a.endpoint.region": s3["region"],
        "fs.s3a.access.key": s3["access_key"],
        "fs.s3a.secret.key": s3["secret_key"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        # The default of Hadoop from 3.4 on. Before, S3A deletes the names of all parent folders after each file. These
        # are not objects on the bench's server, so that S3A waits and tries again if so configured.
        "fs.s3a.directory.marker.retention": "keep",
    }


def use_s3(spark: SparkSession, s3: dict[str, str]) -> None:
    """Makes `s3a://` URLs of the bench's bucket go to this endpoint."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    if settings.get("fs.s3a.endpoint") != f"http://{s3['endpoint']}":
        # It knows a bucket by its name alone.
        spark._jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        for key, value in s3a(s3).items():
            settings.set(key, value)


def java_home() -> str:
    """The folder of a Java that this Spark runs on: JAVA_HOME if it fits, else one below /usr/lib/jvm, else PATH's."""
    found = shutil.which("java")
    places = [os.environ.get("JAVA_HOME"), *sorted(map(str, Path("/usr/lib/jvm").glob("*")))]
    places.append(str(Path(found).resolve().parent.parent) if found else None)
    releases = {place: _release(place) for place in dict.fromkeys(places) if place}
    for wanted in _JAVA:
        for place, release in releases.items():
            if release == wanted:
                return place
    seen = ", ".join(f"{place} ({release or 'no Java'})" for place, release in releases.items()) or "nowhere"
    raise NoJavaError(f"Spark {version('pyspark')} needs Java {', '.join(_JAVA)}: set JAVA_HOME; found: {seen}")


def _release(home: str) -> str | None:
    java = Path(home) / "bin" / "java"
    if not java.exists():
        return None
    about: Any = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', about)
    return match.group(1) if match else None
