"""The S3 of the bench: a server on this machine that is reached through lakerace's counting and delaying proxies."""

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

from lakerace_bench import paths, s3_server, termination

BUCKET = "bench"
_ACCESS_KEY = "bench"
_SECRET_KEY = "bench-secret-key"
_REGION = "us-east-1"
_START_SECONDS = 20.0


class NoS3Error(RuntimeError):
    """The S3 cases cannot run here; the message says which program is missing and how to get it."""


@dataclass(frozen=True)
class Door:
    """A way to the bucket: through a proxy, which counts, or straight to the server, which does not."""

    address: str
    counts_requests: bool

    def settings(self, key: str) -> dict[str, str]:
        """The settings in a contestant's job."""
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

    def size(self, name: str) -> int:
        """Bytes of all objects of the folder `name` of the bucket."""
        from pyarrow import fs

        selector = fs.FileSelector(f"{BUCKET}/{name}", recursive=True, allow_not_found=True)
        return sum(info.size or 0 for info in self.make_bucket().get_file_info(selector))

    def remove(self, name: str) -> None:
        """Removes all objects of the folder `name` of the bucket."""
        with suppress(OSError):
            self.make_bucket().delete_dir(f"{BUCKET}/{name}")

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
    wanted = list(wanted)
    program = _find_server()
    proxy = _find_lakerace() if any(path.behind_proxy for path in wanted) else []
    root = folder / f"s3-{os.getpid()}"
    (root / "data").mkdir(parents=True)
    port = s3_server.free_port()
    address = f"127.0.0.1:{port}"
    command = s3_server.command(program, port, root, s3_server.Keys(_ACCESS_KEY, _SECRET_KEY))
    log = (folder / "object-store.log").open("w")
    processes: list[subprocess.Popen[Any]] = []
    try:
        with termination.held():
            processes.append(_start_server(command, root, log))
        _wait_for(processes[0], address, log)
        _wait_until_it_stores(S3(address, {}, []), log)
        doors = {}
        for path in wanted:
            if path.behind_proxy:
                with termination.held():
                    processes.append(_start_proxy(proxy, address, path, log))
                door = Door(_address_of(processes[-1], log), counts_requests=True)
            else:
                door = Door(address, counts_requests=False)
            doors[path.name] = door
        yield S3(address, doors, [process.pid for process in processes])
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


def _start_server(command: s3_server.Command, root: Path, log: IO[str]) -> subprocess.Popen[bytes]:
    variables = os.environ | command.variables
    return subprocess.Popen(command.arguments, env=variables, stdout=log, stderr=log, cwd=root)


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


def _find_server() -> str:
    found = s3_server.named() or s3_server.versitygw()
    if not found or not Path(found).exists():
        raise NoS3Error(f"no S3 server: `make versitygw`, or name one in {s3_server.VARIABLE}")
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


def _wait_until_it_stores(server: S3, log: IO[str]) -> None:
    """SeaweedFS answers before it can store anything."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with server.make_bucket().open_output_stream(f"{BUCKET}/ready") as out:
                out.write(b"yes")
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise NoS3Error(f"the S3 server at {server.address} stores nothing: see {log.name}") from error
            time.sleep(0.2)


def _http(method: str, url: str) -> bytes:
    request = urllib.request.Request(url, method=method, data=b"" if method == "POST" else None)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return bytes(response.read())
    except urllib.error.URLError as error:
        raise NoS3Error(f"the proxy does not answer {url}: {error}") from error
