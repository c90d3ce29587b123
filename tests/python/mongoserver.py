"""A MongoDB server for the tests: one that is named, else SecantusDB of the lock file, which speaks MongoDB's protocol."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymongo
import pymongo.errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Names a server that runs already, such as `mongodb://127.0.0.1:27017`.
VARIABLE = "LAKERACE_TEST_MONGODB"
START_SECONDS = 60


@dataclass
class MongoServer:
    """A server and a database of our own on it."""

    #: `mongodb://host:port`.
    url: str
    database: str = field(default_factory=lambda: f"lakerace_{uuid.uuid4().hex[:12]}")

    @cached_property
    def client(self) -> pymongo.MongoClient[dict[str, Any]]:
        """A client, which :meth:`close` closes."""
        return pymongo.MongoClient(self.url, tz_aware=True, uuidRepresentation="standard")

    def close(self) -> None:
        """Drops the database and closes the client."""
        self.client.drop_database(self.database)
        self.client.close()

    def location(self, collection: str, options: str = "") -> str:
        """A collection as lakerace names it."""
        return f"{self.url}/{self.database}/{collection}{options}"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def start(port: int, folder: str, arguments: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Starts SecantusDB; `folder` is `:memory:` or keeps its data."""
    program = Path(sys.executable).with_name("secantusd-py")
    command = [str(program), "--port", str(port), "--storage-path", folder, "--enable-test-commands", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait(port: int, server: subprocess.Popen[bytes]) -> None:
    """Waits until a server takes connections."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert server.poll() is None, "the MongoDB server ended while it started"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the MongoDB server did not start")


def stop(server: subprocess.Popen[bytes]) -> None:
    """Stops a server."""
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextmanager
def started(arguments: Sequence[str] = ()) -> Iterator[MongoServer]:
    """A server, in memory, and a database that is dropped behind it."""
    if (named := os.environ.get(VARIABLE)) and not arguments:
        server = MongoServer(named.rstrip("/"))
        yield server
        server.close()
        return
    port = free_port()
    process = start(port, ":memory:", arguments)
    try:
        wait(port, process)
        yield MongoServer(f"mongodb://127.0.0.1:{port}")
    finally:
        stop(process)
