"""tpchgen-cli: the command."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import contest


def generate(job: dict[str, Any]) -> contest.Prepared:
    """Runs it once for all tables."""
    form = job["format"]
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), form, "--quiet"]
    command += [f"--scale-factor={job['scale']}", f"--tables={','.join(job['tables'])}"]
    command += [f"--output-dir={job['output']}", f"--num-threads={job['threads']}"]
    if form == "parquet":
        codec = "uncompressed" if job["codec"] == "none" else job["codec"]
        command.append(f"--compression={codec.upper()}")
        if not job["options"].get("defaults"):
            command.append(f"--row-group-bytes={job['row_group_bytes']}")
    options = {"command": ["tpchgen-cli", *command[1:]]}
    return contest.Prepared(version("tpchgen-cli"), lambda: subprocess.run(command, check=True), options)


if __name__ == "__main__":
    contest.main({"generate": generate})
