"""The S3 of the bench: a versitygw server on this machine, behind lakerace's counting and delaying proxies."""

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lakerace.bench import paths, termination

BUCKET = "bench"
_ACCESS_KEY = "bench"
_SECRET_KEY = "bench-secret-key"
_REGION = "us-east-1"
_START_SECONDS = 20.0


class NoS3Error(RuntimeError):
    """The S3 cases cannot run here; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class Door:
    """A way to the bucket: through a proxy, which counts, or straight to the server, which does not."""

    address: str
    counts_requests: bool

    def settings(self, key: str) -> dict[str, str]:
        """What a job tells its contestant."""
        return {
            "endpoint": self.address,
            "bucket": BUCKET,
            "key": key,
            "access_key": _ACCESS_KEY,
            "secret_key": _SECRET_KEY,
            "region": _REGION,
        }

    def reset_counts(self) -> None:
        """Sets the proxy's counts to zero."""
        if self.counts_requests:
            _http("POST", f"http://{self.address}/__lakerace/reset")

    def counts(self) -> dict[str, Any]:
        """What has gone through the proxy since the reset, as it counts it; nothing where there is none."""
        if not self.counts_requests:
            return {}
        answer: dict[str, Any] = json.loads(_http("GET", f"http://{self.address}/__lakerace/counts"))
        return answer


@dataclass
class S3:
    """A running server with a bucket, and its doors by the names of paths."""

    address: str
    doors: dict[str, Door]
    #: The server's and the proxies'.
    pids: list[int]
    #: Where the server keeps its objects, each as a file.
    root: Path
    _uploaded: set[str] = field(default_factory=set)

    @property
    def direct(self) -> Door:
        """Past every proxy."""
        return Door(self.address, counts_requests=False)

    def pin(self, cpus: set[int]) -> None:
        """Moves the server and the proxies to `cpus`: away from a contestant's where there are CPUs to spare."""
        for pid in self.pids:
            for task in Path(f"/proc/{pid}/task").iterdir():
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), cpus)

    def put(self, file: Path) -> None:
        """Uploads `file` past the proxies, under its own name, once."""
        if file.name in self._uploaded:
            return
        from pyarrow import fs

        store = self.make_bucket()
        fs.copy_files(str(file), f"{BUCKET}/{file.name}", fs.LocalFileSystem(), store)
        self._uploaded.add(file.name)

    def folder(self, name: str) -> Path:
        """Where the server keeps the objects of the folder `name` of the bucket."""
        return self.root / BUCKET / name

    def make_bucket(self) -> Any:
        """Makes the bucket, if need be; returns the server's file system."""
        from pyarrow import fs

        store = fs.S3FileSystem(
            access_key=_ACCESS_KEY,
            secret_key=_SECRET_KEY,
            region=_REGION,
            endpoint_override=self.address,
            scheme="http",
            allow_bucket_creation=True,
        )
        store.create_dir(BUCKET)
        return store


@contextmanager
def served(folder: Path, wanted: Iterable[paths.Path]) -> Iterator[S3]:
    """Starts the server with its objects in a fresh folder below `folder`, and a proxy for each of `wanted` that has one.

    All end with the block.
    """
    gateway, proxy = _find_gateway(), _find_lakerace()
    root = folder / f"s3-{os.getpid()}"
    root.mkdir(parents=True)
    address = f"127.0.0.1:{_free_port()}"
    log = (folder / "versitygw.log").open("w")
    processes: list[subprocess.Popen[Any]] = []
    try:
        with termination.held():
            processes.append(_start_gateway(gateway, address, root, log))
        _wait_for(processes[0], address, log)
        doors = {}
        for path in wanted:
            if path.behind_proxy:
                with termination.held():
                    processes.append(_start_proxy(proxy, address, path, log))
                door = Door(_address_of(processes[-1], log), counts_requests=True)
            else:
                door = Door(address, counts_requests=False)
            doors[path.name] = door
        yield S3(address, doors, [process.pid for process in processes], root)
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


def _start_gateway(gateway: str, address: str, root: Path, log: IO[str]) -> subprocess.Popen[bytes]:
    # Connections stay open, as those of S3 do, and tags of objects are of the checksum that the server makes anyway: an MD5 of all that is
    # put would be a quarter of what the server takes of the contestants' processors.
    return subprocess.Popen(
        [gateway, "--port", address, "--keep-alive", "posix", "--data-integrity-etag", str(root)],
        env=os.environ | {"ROOT_ACCESS_KEY": _ACCESS_KEY, "ROOT_SECRET_KEY": _SECRET_KEY},
        stdout=log,
        stderr=log,
    )


def _start_proxy(proxy: list[str], target: str, path: paths.Path, log: IO[str]) -> subprocess.Popen[str]:
    options = ["--latency-ms", f"{path.latency_ms:g}", "--bytes-per-second", str(path.bytes_per_second)]
    return subprocess.Popen(
        [*proxy, "proxy", "--listen", "127.0.0.1:0", "--target", target, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )


def _address_of(front: subprocess.Popen[str], log: IO[str]) -> str:
    assert front.stdout is not None
    line = front.stdout.readline()
    if not line:
        raise NoS3Error(f"`lakerace proxy` ended at once: see {log.name}")
    return str(json.loads(line)["address"])


def _find_gateway() -> str:
    named = os.environ.get("LAKERACE_VERSITYGW")
    found = named or shutil.which("versitygw", path=f".cache/bin{os.pathsep}{os.environ.get('PATH', '')}")
    if not found or not Path(found).exists():
        raise NoS3Error("no S3 server: `make versitygw`, or name one in LAKERACE_VERSITYGW")
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
