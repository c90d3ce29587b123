"""A scan by two executors whose keys expire while it runs. Prints the rows, whether the first keys had expired by the end, and refusals.

python credentials.py FOLDER

The server takes the last keys that were handed out, and a new one is handed out after a few requests. FOLDER has `o.parquet`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pyspark
from bucket import serving
from conftest import JAR, start

REQUESTS_OF_A_KEY = 8
#: A request may be on its way while others have newer keys.
GOOD_KEYS = 4


def stand_in(folder: Path) -> Path:
    """The jar of what stands in for Hadoop's S3A."""
    classes = folder / "classes"
    classes.mkdir()
    source = Path(__file__).parent / "java" / "RotatingKeys.java"
    jars = Path(pyspark.__path__[0]) / "jars"
    subprocess.run(["javac", "-nowarn", "-d", str(classes), "-cp", f"{jars}/*", str(source)], check=True)
    jar = folder / "keys.jar"
    subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)
    return jar


def main() -> None:
    folder = Path(sys.argv[1])
    keys = folder / "keys"
    lock = threading.Lock()
    handed_out, requests, refused = ["key-0"], 0, 0
    keys.write_text("key-0")

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        nonlocal requests, refused
        with lock:
            requests += 1
            if requests % REQUESTS_OF_A_KEY == 0:
                handed_out.append(f"key-{len(handed_out)}")
                written = keys.with_suffix(".new")
                written.write_text(handed_out[-1])
                os.replace(written, keys)
            is_known = identity in handed_out[-GOOD_KEYS:] and token == f"token of {identity}"
            refused += not is_known
            return is_known

    with serving() as bucket:
        bucket.objects["o.parquet"] = (folder / "o.parquet").read_bytes()
        bucket.before = before
        settings = {
            "endpoint": bucket.endpoint,
            "endpoint.region": "us-east-1",
            "impl": "RotatingKeys",
            "aws.credentials.provider": "of.the.Test",
            "Keys.File": str(keys),
        }
        hadoop = {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}
        jars = f"{JAR},{stand_in(folder)}"
        spark = start("local-cluster[2,1,1024]", folder / "scratch", **hadoop, **{"spark.jars": jars})
        limits = {"max_task_bytes": 100_000, "min_seek_size": "0", "max_requests_in_flight": 1}
        frame = spark.read.format("lakerace").options(**limits).load("s3a://bucket/o.parquet")
        rows = frame.selectExpr("sum(length(o_clerk)) / 15").collect()[0][0]
        spark.stop()
    print(int(rows), len(handed_out) > 2 * GOOD_KEYS, refused)


if __name__ == "__main__":
    main()
