"""The S3 of the bench: a versitygw server on this machine, behind lakerace's counting and delaying proxy."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LATENCY_MS = 20
BYTES_PER_SECOND_PER_CONNECTION = 100_000_000
BUCKET = "bench"
_ACCESS_KEY = "bench"
_SECRET_KEY = "bench-secret-key"
_REGION = "us-east-1"
_START_SECONDS = 20.0


class NoS3Error(RuntimeError):
    """The S3 cases cannot run here; the message says what is missing and how to get it."""


@dataclass
class S3:
    """A bucket that contestants reach through the proxy."""

    proxy_address: str
    server_address: str
    #: The server's and the proxy's.
    pids: list[int]

    def settings(self, key: str) -> dict[str, str]:
        """What a job tells its contestant."""
        return {
            "endpoint": self.proxy_address,
            "bucket": BUCKET,
            "key": key,
            "access_key": _ACCESS_KEY,
            "secret_key": _SECRET_KEY,
            "region": _REGION,
        }

    def pin(self, cpus: set[int]) -> None:
        """Moves the server and the proxy to `cpus`: away from a contestant's where there are CPUs to spare."""
        for pid in self.pids:
            for task in Path(f"/proc/{pid}/task").iterdir():
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), cpus)

    def reset_counts(self) -> None:
        """Sets the proxy's counts to zero."""
        _http("POST", f"http://{self.proxy_address}/__lakerace/reset")

    def counts(self) -> dict[str, Any]:
        """What has gone through the proxy since the reset, as it counts it."""
        answer: dict[str, Any] = json.loads(_http("GET", f"http://{self.proxy_address}/__lakerace/counts"))
        return answer

    def put(self, file: Path) -> None:
        """Uploads `file` past the proxy, under its own name."""
        from pyarrow import fs

        store = fs.S3FileSystem(
            access_key=_ACCESS_KEY,
            secret_key=_SECRET_KEY,
            region=_REGION,
            endpoint_override=self.server_address,
            scheme="http",
            allow_bucket_creation=True,
        )
        store.create_dir(BUCKET)
        fs.copy_files(str(file), f"{BUCKET}/{file.name}", fs.LocalFileSystem(), store)


@contextmanager
def served(folder: Path) -> Iterator[S3]:
    """Starts the server with its objects in a fresh folder below `folder`, and the proxy; both end with the block."""
    gateway, proxy = _find_gateway(), _find_lakerace()
    root = folder / f"s3-{os.getpid()}"
    root.mkdir(parents=True)
    server_address = f"127.0.0.1:{_free_port()}"
    log = (folder / "versitygw.log").open("w")
    processes: list[subprocess.Popen[Any]] = []
    try:
        server = subprocess.Popen(
            [gateway, "--port", server_address, "posix", str(root)],
            env=os.environ | {"ROOT_ACCESS_KEY": _ACCESS_KEY, "ROOT_SECRET_KEY": _SECRET_KEY},
            stdout=log,
            stderr=log,
        )
        processes.append(server)
        _wait_for(server, server_address, log)
        options = ["--latency-ms", str(LATENCY_MS), "--bytes-per-second", str(BYTES_PER_SECOND_PER_CONNECTION)]
        front = subprocess.Popen(
            [*proxy, "proxy", "--listen", "127.0.0.1:0", "--target", server_address, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        processes.append(front)
        assert front.stdout is not None
        line = front.stdout.readline()
        if not line:
            raise NoS3Error(f"`{' '.join(proxy)} proxy` ended at once: see {log.name}")
        yield S3(json.loads(line)["address"], server_address, [process.pid for process in processes])
    finally:
        for process in reversed(processes):
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.terminate()
        for process in processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        log.close()
        shutil.rmtree(root, ignore_errors=True)


def _find_gateway() -> str:
    named = os.environ.get("LAKERACE_VERSITYGW")
    found = named or shutil.which("versitygw", path=f".cache/bin{os.pathsep}{os.environ.get('PATH', '')}")
    if not found or not Path(found).exists():
        raise NoS3Error("no S3 server: `make .cache/bin/versitygw`, or name one in LAKERACE_VERSITYGW")
    return str(Path(found).absolute())


def _find_lakerace() -> list[str]:
    named = os.environ.get("LAKERACE_COMMAND")
    beside = str(Path(sys.executable).parent)
    found = named or shutil.which("lakerace", path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if not found:
        raise NoS3Error("no `lakerace` command for its proxy: install the wheel, or name one in LAKERACE_COMMAND")
    return [found]


def _wait_for(server: subprocess.Popen[Any], address: str, log: IO[str]) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise NoS3Error(f"the S3 server ended with exit code {server.returncode}: see {log.name}")
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.05)
    raise NoS3Error(f"the S3 server did not listen on {address} within {_START_SECONDS:.0f} s: see {log.name}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _http(method: str, url: str) -> bytes:
    request = urllib.request.Request(url, method=method, data=b"" if method == "POST" else None)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return bytes(response.read())
    except urllib.error.URLError as error:
        raise NoS3Error(f"the proxy does not answer {url}: {error}") from error
