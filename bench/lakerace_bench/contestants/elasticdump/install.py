"""Brings elasticdump from npm, once: the bench runs this in an environment just made."""

from __future__ import annotations

import shutil
import subprocess
import sys

VERSION = "6.125.1"


def main() -> None:
    """Installs it beside the environment's Python."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("elasticdump needs npm and node: install Debian's npm")
    command = [
        npm,
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        f"{sys.prefix}/node",
        f"elasticdump@{VERSION}",
    ]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
