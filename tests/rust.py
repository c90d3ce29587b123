"""Runs the Rust tests with what they need: servers of S3, Azure and Google, a MongoDB server, Elasticsearch, and room for a small file system.
Arguments go to `cargo test`. With --workspace, dependencies are those of `make build`: see tests/profile.toml.
LAKERACE_TEST_ELASTICSEARCH_SERVER chooses one of the servers of tests/servers/elastic.py.

python tests/rust.py --workspace
python tests/rust.py -p lakerace-io --test io s3
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "python"))
sys.path.insert(0, str(Path(__file__).parent / "servers"))

import azurite
import elastic
import google_storage
import mongoserver
import s3server
import summary

#: How our crates are compiled for tests.
PROFILE = Path(__file__).parent / "profile.toml"
RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored")


def main(arguments: list[str]) -> int:
    """Runs them all, prints what they print, and writes their numbers down; gives cargo's exit code."""
    numbers = summary.Numbers()
    with (
        tempfile.NamedTemporaryFile("r", prefix="lakerace-left-out-") as left_out,
        s3server.started() as server,
        mongoserver.started() as mongo,
        azurite.started() as azure,
        google_storage.started() as google,
        _elasticsearch(arguments) as elasticsearch,
    ):
        variables = {
            "LAKERACE_LEFT_OUT": left_out.name,
            "LAKERACE_TEST_S3_ENDPOINT": server.endpoint,
            "LAKERACE_TEST_S3_BUCKET": server.bucket,
            "AWS_ACCESS_KEY_ID": server.access_key,
            "AWS_SECRET_ACCESS_KEY": server.secret_key,
            "AWS_REGION": "us-east-1",
            "LAKERACE_TEST_AZURE": f"{azure.endpoint} {azure.container}",
            "LAKERACE_TEST_GOOGLE_ENDPOINT": google.endpoint,
            mongoserver.VARIABLE: mongo.url,
            elastic.VARIABLE: elasticsearch,
        }
        # Ignored tests are those that need what is started here.
        profile = ["--release", "--config", str(PROFILE)] if "--workspace" in arguments else []
        command = ["cargo", "test", *profile, "--locked", "--all-features", "--no-fail-fast", *arguments, "--"]
        code = _run([*command, "--include-ignored"], variables, numbers)
        for line in left_out:
            # Its test passed, and has tested nothing.
            numbers.passed -= 1
            numbers.left_out.append(line.strip())
    summary.write("rust", numbers)
    print(numbers.line("Rust"))
    return code


def _elasticsearch(arguments: list[str]) -> contextlib.AbstractContextManager[str]:
    """The endpoint of a server, where tests of databases are among those that run."""
    if "--workspace" in arguments or "lakerace-database" in arguments:
        return elastic.endpoint(os.environ.get("LAKERACE_TEST_ELASTICSEARCH_SERVER", "elasticsearch-8"))
    return contextlib.nullcontext("")


def _run(command: list[str], variables: dict[str, str], numbers: summary.Numbers) -> int:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", env=os.environ | variables
    ) as cargo:
        assert cargo.stdout is not None
        for line in cargo.stdout:
            print(line, end="", flush=True)
            if found := RESULT.match(line):
                passed, failed, ignored = map(int, found.groups())
                numbers.passed += passed
                numbers.failed += failed
                numbers.left_out += ["ignored, though what it needs is started"] * ignored
        return cargo.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["--workspace", "--quiet"]))
