"""The progress of other processes, as Linux shows it: events to wait for in place of a time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from conftest import TIMEOUT_SECONDS

#: Consecutive looks at which all threads of a process sleep before it counts as blocked.
LOOKS = 10
LOOK_SECONDS = 0.02


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Seconds of processor time that a process has used."""
    # The name stands in parentheses, and may hold spaces.
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_blocked(process: subprocess.Popen[bytes], handled: signal.Signals) -> None:
    """Waits until a process handles a signal and all of its threads sleep, as they do where it waits for others."""
    deadline, looks = time.monotonic() + TIMEOUT_SECONDS, 0
    while looks < LOOKS:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the process is still busy"
        looks = looks + 1 if _catches(process, handled) and _sleeps(process) else 0
        time.sleep(LOOK_SECONDS)


def _catches(process: subprocess.Popen[bytes], handled: signal.Signals) -> bool:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    caught = next(line for line in lines if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (handled - 1) & 1)


def _sleeps(process: subprocess.Popen[bytes]) -> bool:
    try:
        states = [
            (task / "stat").read_text().rpartition(")")[2].split()[0]
            for task in Path(f"/proc/{process.pid}/task").iterdir()
        ]
    except (FileNotFoundError, ProcessLookupError):
        # A thread has ended meanwhile.
        return False
    return set(states) == {"S"}
