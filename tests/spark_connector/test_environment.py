"""Stores that the environment names, as it does for other programs: Spark's own defaults do not stand before it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from bucket import serving

import lakerace as lr

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "python"), str(ROOT / "bench")]
import s3server  # noqa: E402


def run(folder: Path, environment: dict[str, str], table: str, settings: dict[str, str]) -> str:
    """The last word of a session that has this environment."""
    folder.mkdir()
    command = [sys.executable, str(Path(__file__).with_name("environment.py")), str(folder), table]
    command += [f"{name}={value}" for name, value in settings.items()]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=kept | environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.split()[-1]


def test_settings_of_the_environment(tmp_path: Path) -> None:
    with s3server.started() as server:
        keys = {"AWS_ACCESS_KEY_ID": server.access_key, "AWS_SECRET_ACCESS_KEY": server.secret_key}
        place = {name: value for name, value in server.env.items() if name not in keys}
        strange = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_SESSION_TOKEN": "a token"}
        hadoop = "spark.hadoop.fs.s3a"
        named = {f"{hadoop}.access.key": server.access_key, f"{hadoop}.secret.key": server.secret_key}
        cases: dict[str, tuple[dict[str, str], dict[str, str]]] = {
            # Spark names Amazon's endpoint where its session names none.
            "environment": (place, named),
            # What a session says stands before it. A token belongs to the keys next to it.
            "session": (
                place | strange | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "eu-west-1"},
                named | {f"{hadoop}.endpoint": server.endpoint, f"{hadoop}.endpoint.region": "us-east-1"},
            ),
        }
        with ThreadPoolExecutor(2) as pool:
            found = {
                name: pool.submit(run, tmp_path / name, environment, server.url(name), settings)
                for name, (environment, settings) in cases.items()
            }
        assert {name: answer.result() for name, answer in found.items()} == dict.fromkeys(cases, "4950")
        assert [lr.scan(server.url(name), storage_options=server.options).count() for name in cases] == [100] * len(
            cases
        )


def test_a_token_belongs_to_the_keys_next_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = set()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        requests.add((key, identity, token))
        return True

    with serving() as bucket:
        bucket.before = before
        place = {"aws_endpoint_url": bucket.endpoint, "aws_allow_http": "true", "aws_region": "us-east-1"}
        named = {"aws_access_key_id": "named", "aws_secret_access_key": "secret"}
        rows = pa.table({"id": [1]})
        lr.copy(rows, "s3://bucket/a.parquet", storage_options=place)
        lr.copy(rows, "s3://bucket/b.parquet", storage_options=place | named)
        lr.copy(rows, "s3://bucket/c.parquet", storage_options=place | named | {"aws_session_token": "own"})
    found = {(key, identity, token) for key, identity, token in requests if key.endswith(".parquet")}
    assert found == {
        ("a.parquet", "environment", "token"),
        ("b.parquet", "named", ""),
        ("c.parquet", "named", "own"),
    }
