"""Free memory, touched before it is measured what is done with it.

The host of a virtual machine may take back memory that its guest does not use. Whoever gets such a page first then waits until the host
has found another: writing a file into the page cache can take three times as long. Where contestants have their turns one after the other, that would be
the first one's loss.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
#: What a container may take, and takes (cgroup v2).
_LIMIT = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))
#: Of the free memory, so that nothing has to make room.
_SHARE = 0.8
#: Populated by the kernel at once, and freed by the end of the process.
_TOUCH = "import mmap, sys; mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)"


def free_bytes() -> int:
    """Memory that nobody uses, not even for files; 0 where the system does not say."""
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return 0
    free = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemFree:")), 0)
    try:
        most, taken = (int(path.read_text()) for path in _LIMIT)
    except (OSError, ValueError):  # no container, or one without a limit
        return free
    return max(0, min(free, most - taken))


def touch(most_bytes: int) -> int:
    """Touches free memory, up to so many bytes of it; says how many these were."""
    size = min(most_bytes, int(free_bytes() * _SHARE))
    if size <= 0:
        return 0
    done = subprocess.run([sys.executable, "-c", _TOUCH, str(size)], capture_output=True, check=False)
    return size if done.returncode == 0 else 0
