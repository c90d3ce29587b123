"""Azurite, Microsoft's own stand-in for Azure Blob Storage: a package of npm, started on loopback, stopped at the end. Needs Node 18.

python tests/servers/azurite.py      runs one in the foreground and prints its endpoint
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import elastic
from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60
#: The account that every Azurite has, and its key, which Microsoft has published.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
PACKAGE = Path(__file__).parent / "azurite"


@dataclass
class Azurite:
    """A server and a container of our own on it."""

    port: int
    container: str = field(default_factory=lambda: f"lakerace-{uuid.uuid4().hex[:12]}")

    @property
    def endpoint(self) -> str:
        """`http://host:port/account`."""
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    @property
    def options(self) -> dict[str, str]:
        """Storage options that reach the server."""
        return {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_storage_endpoint": self.endpoint,
            "azure_allow_http": "true",
        }

    @property
    def pyarrow(self) -> fs.AzureFileSystem:
        """The same server through another client: that of Microsoft for C++."""
        authority = f"127.0.0.1:{self.port}"
        return fs.AzureFileSystem(
            account_name=ACCOUNT,
            account_key=KEY,
            blob_storage_authority=authority,
            dfs_storage_authority=authority,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        )

    def url(self, key: str) -> str:
        """The URL of a key in our container."""
        return f"az://{self.container}/{key}"

    def read(self, key: str) -> bytes:
        """The bytes of an object, through the other client."""
        with self.pyarrow.open_input_stream(f"{self.container}/{key}") as stream:
            data: bytes = stream.read()
        return data

    def keys(self, prefix: str) -> list[str]:
        """The keys below a folder, which ends in a slash, through the other client."""
        selector = fs.FileSelector(f"{self.container}/{prefix}", recursive=True, allow_not_found=True)
        found = [info.path for info in self.pyarrow.get_file_info(selector) if info.type == fs.FileType.File]
        return sorted(path.removeprefix(f"{self.container}/") for path in found)


def install() -> Path:
    """The program, which npm brings on first use."""
    with elastic.filled("azurite-3.37.0") as folder:
        if folder is not None:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(PACKAGE / name, folder / name)
            npm = shutil.which("npm")
            if npm is None:
                raise RuntimeError("Azurite needs Node 18 or newer: install Debian's npm")
            subprocess.run(
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True
            )
    return elastic.CACHE / "azurite-3.37.0" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


@contextlib.contextmanager
def started() -> Iterator[Azurite]:
    """A server with an empty container, which ends with the block."""
    program = install()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = Azurite(listener.getsockname()[1])
    arguments = ["--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(server.port), "--silent"]
    # Clients are newer than the versions of the interface that it knows.
    arguments += ["--skipApiVersionCheck", "--disableTelemetry"]
    process = subprocess.Popen(["node", str(program), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(process, server)
        server.pyarrow.create_dir(server.container)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], server: Azurite) -> None:
    """Until the server answers a request."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"Azurite ended with {process.returncode}")
        try:
            urllib.request.urlopen(server.endpoint, timeout=5).close()
        except urllib.error.HTTPError:
            return  # Requests without a signature are refused: it is there.
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("Azurite does not answer")


def main() -> int:
    """Serves until it is interrupted."""
    with started() as server, contextlib.suppress(KeyboardInterrupt):
        print(server.endpoint, server.container, flush=True)
        while True:
            time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
