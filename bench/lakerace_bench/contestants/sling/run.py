"""sling: its command, from CSV on S3 into SQLite."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import contest
from sling_linux_amd64 import __file__ as package

_VERSION = "1.4.11"


def load(job: dict[str, Any]) -> contest.Prepared:
    """All rows into a new table."""
    s3, place = job["csv"], job["place"]
    source = {"type": "s3", "bucket": s3["bucket"], "endpoint": f"http://{s3['endpoint']}", "region": s3["region"]}
    source |= {"access_key_id": s3["access_key"], "secret_access_key": s3["secret_key"]}
    # It takes connections from the environment, and keeps logs in a separate home folder.
    variables = os.environ | {
        "SOURCE": json.dumps(source),
        "TARGET": f"sqlite://{place['path']}",
        "SLING_HOME_DIR": os.path.dirname(place["path"]),
        "SLING_DISABLE_TELEMETRY": "true",
    }
    program = os.path.join(os.path.dirname(package), "bin", "sling-linux-amd64")
    stream = f"s3://{s3['bucket']}/{s3['key']}"
    ends = [
        "--src-conn",
        "SOURCE",
        "--src-stream",
        stream,
        # It makes empty texts of nulls otherwise, and there are no empty texts.
        "--src-options",
        json.dumps({"empty_as_null": True}),
        "--tgt-conn",
        "TARGET",
        "--tgt-object",
        f"main.{place['table']}",
    ]

    def work() -> None:
        done = subprocess.run(
            [program, "run", *ends, "--mode", "full-refresh"],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit((done.stderr or done.stdout).strip().splitlines()[-1])

    return contest.Prepared(_VERSION, work, {"arguments": ends})


if __name__ == "__main__":
    contest.main({"load": load})
