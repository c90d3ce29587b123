"""A PostgreSQL server of this process's own: its cluster lies in a folder, and it ends with the process."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import contest

USER, DATABASE = "lakesoul", "postgres"
#: PostgreSQL does not run as root; then it runs as this user.
_NOT_ROOT = "nobody"
_START_SECONDS = 30.0


def serve(home: Path, first: Path) -> int:
    """Starts the server whose cluster is in `home`, made with the statements in the file `first` if need be.

    Returns its port on this machine.
    """
    programs = _programs()
    cluster = home / "cluster"
    if not cluster.exists():
        home.mkdir(exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(home, _NOT_ROOT)
        _run(programs / "initdb", "-D", cluster, "-U", USER, "--auth=trust", "--encoding=UTF8", **_owner())
    port = _free_port()
    with (home / "log").open("a") as log:
        options = ["-c", "listen_addresses=127.0.0.1", "-k", str(home)]
        command = [str(programs / "postgres"), "-D", str(cluster), "-p", str(port), *options]
        server = subprocess.Popen(command, stdout=log, stderr=log, **_owner())
    atexit.register(_end, server)
    _wait(programs, server, port, home / "log")
    if not (home / "made").exists():
        place = ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "-d", DATABASE]
        _run(programs / "psql", *place, "-q", "-v", "ON_ERROR_STOP=1", "-f", first)
        (home / "made").touch()
    return port


def _programs() -> Path:
    """The folder of the newest PostgreSQL: Debian keeps its programs off the PATH."""
    places = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if places:
        return max(places, key=lambda place: float(place.parent.name))
    found = shutil.which("initdb")
    if found is None:
        raise contest.UnableError("needs PostgreSQL for its metadata: `apt-get install postgresql`")
    return Path(found).parent


def _run(*command: Any, **options: Any) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()
        raise contest.UnableError(f"{Path(str(command[0])).name} failed: {said[0]}")


def _owner() -> dict[str, Any]:
    return {"user": _NOT_ROOT, "extra_groups": []} if os.getuid() == 0 else {}


def _wait(programs: Path, server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    asking = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(asking, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise contest.UnableError(f"PostgreSQL does not start: {log.read_text().strip().splitlines()[-1]}")
        time.sleep(0.05)


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
