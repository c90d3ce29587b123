"""CPU time and memory of a process and its descendants, seen from outside through /proc (Linux)."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
#: The interval at which memory is sampled. A single process's peak is exact for any interval (VmHWM).
SAMPLING_SECONDS = 0.02


class Tree:
    """The process `pid` and all its descendants."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def members(self) -> list[int]:
        """The processes alive now, the root first."""
        found, queue = [], [self.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            with suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    queue += [int(child) for child in (task / "children").read_text().split()]
        return found

    def cpu_seconds(self) -> float:
        """User and system seconds so far, of the living (to the ns) and of children waited for (to the tick)."""
        return sum(_cpu_clock(pid) + _reaped_cpu(pid) for pid in self.members())

    def written_bytes(self) -> int:
        """Bytes that were handed to file systems to be stored so far, by the living and by children waited for.

        Counted by the page when it becomes dirty, or directly when it is written past the page cache: temporary files
        count, too.
        """
        return sum(_io(pid).get("write_bytes", 0) for pid in self.members())

    def memory(self) -> tuple[int, int]:
        """Resident bytes now, and those of them that are anonymous (not pages of mapped files)."""
        resident = anonymous = 0
        for pid in self.members():
            status = _status(pid)
            resident += status.get("VmRSS", 0)
            anonymous += status.get("RssAnon", 0)
        return resident, anonymous

    def reset_peak(self) -> None:
        """Resets the root's peak to its current memory."""
        with suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def root_peak(self) -> int:
        """The root's largest resident size since `reset_peak`, bytes."""
        return _status(self.pid).get("VmHWM", 0)


class MemoryWatch:
    """Samples a tree's memory from a thread, between `start` and `stop`."""

    def __init__(self, tree: Tree) -> None:
        self.peak_resident = 0
        self.peak_anonymous = 0
        self._tree = tree
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begins to sample."""
        self._tree.reset_peak()
        self._thread.start()

    def stop(self) -> None:
        """Ends; `peak_resident` then also knows the root's exact peak."""
        self._stop.set()
        self._thread.join()
        self._look()
        self.peak_resident = max(self.peak_resident, self._tree.root_peak())

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLING_SECONDS):
            self._look()

    def _look(self) -> None:
        resident, anonymous = self._tree.memory()
        self.peak_resident = max(self.peak_resident, resident)
        self.peak_anonymous = max(self.peak_anonymous, anonymous)


def machine_busy_seconds() -> float:
    """CPU seconds that anything on this machine has used since it started."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / _TICKS_PER_SECOND


def _cpu_clock(pid: int) -> float:
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)  # the clock id of a process: clock_getcpuclockid(3)
    return 0.0


def _reaped_cpu(pid: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / _TICKS_PER_SECOND
    return 0.0


def _io(pid: int) -> dict[str, int]:
    found = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            key, _, value = line.partition(":")
            found[key] = int(value)
    return found


def _status(pid: int) -> dict[str, int]:
    found = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            key, _, value = line.partition(":")
            if value.endswith("kB"):
                found[key] = int(value.split()[0]) * 1024
    return found
