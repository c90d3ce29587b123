"""What the samples were taken on."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """Kernel, CPU, memory and load of this machine, and the state of the code that was measured."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "cpu": _first("/proc/cpuinfo", "model name") or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
        "commit": _commit(),
    }


def _first(path: str, key: str) -> str | None:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _commit() -> str | None:
    """The commit of the checkout that this file lies in, with `+` where it has been changed since; None outside one."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
