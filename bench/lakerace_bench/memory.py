"""Free memory of the machine, touched before a table is changed.

A virtual machine pays its host for each page that it has not used recently: several times the cost of a page that was
freed immediately before. Pages that one contestant has touched are cheaper for the next one, and a pause between two
samples makes them expensive again. So the pages that a change will take are touched before each of them, by a process
that ends immediately.
"""

from __future__ import annotations

import mmap
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

#: The part of the free memory that may be touched: other processes on the machine may need some in the meantime.
_PART = 4


def touch(at_most: int) -> int:
    """Touches a quarter of the free memory, or so many bytes where that is less; returns the bytes that were touched.

    A machine that has not that much to give, after all, ends the process that does it, and no other.
    """
    size = min(free_bytes() // _PART, at_most) // mmap.PAGESIZE * mmap.PAGESIZE
    if size == 0:
        return 0
    # In a separate process, since only its end is sure to free the pages; by the file alone, since that starts faster.
    done = subprocess.run([sys.executable, "-I", "-S", __file__, str(size)], check=False, stderr=subprocess.DEVNULL)
    return size if done.returncode == 0 else 0


def free_bytes(source: Path = Path("/proc/meminfo")) -> int:
    """Memory that nothing uses, not even as page cache."""
    for line in source.read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "MemFree":
            return int(rest.split()[0]) * 1024
    return 0


def _touch(size: int) -> None:
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with mmap.mmap(-1, size) as pages:
        for at in range(0, size, mmap.PAGESIZE):
            pages[at] = 1


if __name__ == "__main__":
    _touch(int(sys.argv[1]))
