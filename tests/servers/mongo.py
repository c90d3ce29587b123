"""A server in memory that speaks MongoDB's protocol, for loads of many rows: jars of Maven Central, started on loopback.

It knows fewer commands than SecantusDB, which the tests of MongoDB run against, and takes about ten times the documents a second.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import elastic

if TYPE_CHECKING:
    from collections.abc import Iterator

ARTIFACT = "de.bwaldvogel:mongo-java-server:1.47.0"
#: Its classes run on any Java from here on.
JAVA = 17
START_SECONDS = 60
SOURCE = Path(__file__).parent / "mongodb" / "MongoMemory.java"


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    #: `mongodb://host:port`.
    url: str
    pid: int


def install() -> Path:
    """The folder of the server, filled on first use."""
    with elastic.filled("mongodb") as folder:
        if folder is not None:
            elastic.download((ARTIFACT,), folder / "jars")
            javac = elastic.java_home(JAVA) / "bin" / "javac"
            subprocess.run([javac, "-cp", f"{folder}/jars/*", "-d", folder / "classes", SOURCE], check=True)
    return elastic.CACHE / "mongodb"


@contextlib.contextmanager
def running(heap: str = "12g") -> Iterator[Running]:
    """A server that stops at the end. Its data are in its memory: a million documents of 50 fields fill 9 GB."""
    home = install()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    java = str(elastic.java_home(JAVA) / "bin" / "java")
    command = [java, f"-Xmx{heap}", "-cp", f"{home}/classes:{home}/jars/*", "MongoMemory", str(port)]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _wait(port, process)
            yield Running(f"mongodb://127.0.0.1:{port}", process.pid)
        finally:
            process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the server that speaks MongoDB's protocol did not start")
