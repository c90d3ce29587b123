"""Loads that are killed after each of their requests: the server has done what was asked, and its answer is lost. The next run
goes on, and ends with the rows of the source.
"""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command, empty_place
from http_server import QuietHandler, serving

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Requests of the end of a load that are tried, one after the other.
STEPS = 9

#: Commands that MongoDB's driver sends by itself. Their number depends on time: a client that is closed does not wait long for
#: the end of its sessions.
DRIVER_COMMANDS = (b"hello", b"isMaster", b"ping", b"endSessions")


class Fuse:
    """Counts requests, and kills a process when one of them was carried out."""

    def __init__(self, burns_after: int | None) -> None:
        """`burns_after` is the number of that request, `None` for none."""
        self.burns_after = burns_after
        self.requests = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def take(self) -> bool:
        """Counts a request; whether it is the last one."""
        with self.lock:
            self.requests += 1
            return self.requests == self.burns_after

    def burn(self) -> None:
        """Kills the process."""
        assert self.process is not None
        self.process.kill()


@contextmanager
def http_proxy(server: str, fuse: Fuse) -> Iterator[str]:
    """A way to a server of Elasticsearch."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))) or None
            is_last = fuse.take()
            kind = {"content-type": self.headers.get("content-type", "application/json")}
            request = urllib.request.Request(f"http://{server}{self.path}", body, kind, method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=60) as found:
                    status, text = found.status, found.read()
            except urllib.error.HTTPError as error:
                status, text = error.code, error.read()
            if is_last:
                fuse.burn()
                self.close_connection = True
                return
            self.send(status, text, {"Content-Type": "application/json"})

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

    with serving(Handler) as address:
        yield address.removeprefix("http://")


def message(connection: socket.socket) -> bytes:
    """One message of MongoDB's protocol; nothing at the end."""
    whole = b""
    while len(whole) < 4 or len(whole) < struct.unpack("<i", whole[:4])[0]:
        least = 4 if len(whole) < 4 else struct.unpack("<i", whole[:4])[0]
        part = connection.recv(least - len(whole))
        if not part:
            return b""
        whole += part
    return whole


def carry(client: socket.socket, server: socket.socket, fuse: Fuse) -> None:
    """Carries requests and answers of a connection, in turn."""
    # A driver may close a connection before it has read all answers: that resets it.
    with client, server, suppress(ConnectionError):
        while request := message(client):
            is_of_driver = any(command in request[:200] for command in DRIVER_COMMANDS)
            is_last = not is_of_driver and fuse.take()
            server.sendall(request)
            answer = message(server)
            if is_last:
                fuse.burn()
                return
            client.sendall(answer)


@contextmanager
def mongo_proxy(server: str, fuse: Fuse) -> Iterator[str]:
    """A way to a server of MongoDB."""
    host, port = server.split(":")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                upstream = socket.create_connection((host, int(port)))
                threading.Thread(target=carry, args=(client, upstream, fuse), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture(params=["mongodb", "elasticsearch"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place in a database whose load has several steps."""
    return empty_place(request, tmp_path)


def load(source: Path, target: str, options: list[str], fuse: Fuse) -> int:
    """A load on a way that breaks; gives its exit code."""
    parts = urllib.parse.urlsplit(target)
    way = mongo_proxy if parts.scheme == "mongodb" else http_proxy
    with way(parts.netloc, fuse) as place:
        # A server that names its own address would be asked past the proxy.
        direct = "directConnection=true" if parts.scheme == "mongodb" else ""
        arguments = command("copy", source, parts._replace(netloc=place, query=direct).geturl(), *options)
        fuse.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return fuse.process.wait(60)


@pytest.mark.parametrize(("mode", "key"), [("error", "id"), ("overwrite", None)])
def test_a_load_goes_on_after_each_of_its_last_requests(
    target: str, tmp_path: Path, mode: str, key: str | None
) -> None:
    source, options = (
        tmp_path / "rows.parquet",
        ["--batch-rows", "100", "--mode", mode, *(["--key", key] if key else [])],
    )
    pq.write_table(pa.table({"id": range(300), "text": [f"row {n}" for n in range(300)]}), source)
    wanted = lr.scan(source).checksum()

    def begin(name: object, fuse: Fuse) -> tuple[str, int]:
        place = f"{target}{name}"
        if mode == "overwrite":
            lr.copy(pa.table({"id": [1], "other": [True]}), place)
        return place, load(source, place, options, fuse)

    # The first load of a server makes what all of them need.
    whole = [Fuse(None), Fuse(None)]
    assert [begin(f"whole{number}", fuse)[1] for number, fuse in enumerate(whole)] == [0, 0]
    requests = whole[1].requests
    assert requests > STEPS
    for step in range(STEPS):
        place, code = begin(step, Fuse(requests - step))
        assert code == -signal.SIGKILL, step
        # Done again, it changes nothing. Without --resume it is a load of its own.
        again: dict[str, Any] = {"batch_rows": 100, "mode": mode, "key": key}
        for _ in range(2):
            lr.copy(source, place, resume=True, **again)
            assert lr.scan(place).checksum() == wanted, step
        if mode == "error":
            with pytest.raises(lr.ConflictError):
                lr.copy(source, place, **again)
