"""Credentials that Hadoop's providers give are asked for again by each task and commit: `make test-spark`, which has built the jar.

The bench's environment of Spark is made where it is absent: it has S3A. A JDK 17 must be there.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import s3server
from asking import ask

from lakerace_bench import contestant

ROOT = Path(__file__).resolve().parents[2]


def test_credentials_that_expire(tmp_path: Path) -> None:
    home = contestant.named("spark").python().parents[1]
    [jars] = home.glob("lib/python*/site-packages/pyspark/jars")
    path = f"{home}/jars/*:{jars}/*"
    source = str(Path(__file__).with_name("FileProvider.java"))
    subprocess.run(["javac", "-proc:none", "-nowarn", "-cp", path, "-d", str(tmp_path), source], check=True)
    [jar] = (ROOT / "spark" / "target" / "test").glob("lakerace-spark-*.jar")
    with s3server.started() as server:
        question = {
            "endpoint": server.endpoint,
            "bucket": server.bucket,
            "key": server.access_key,
            "secret": server.secret_key,
            "file": str(tmp_path / "keys"),
            "provider": str(tmp_path),
            "jar": str(jar),
        }
        answers = ask("read_with_credentials.py", [question])
    # A query that was planned, a write and a plan, with credentials that the server does not know; then with those that it knows.
    assert answers == ["denied", "denied", "denied", 499500, 499500]
