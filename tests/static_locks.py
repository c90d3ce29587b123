"""Locks in statics of crates that Python loads.

A fork copies a lock that another thread holds, and the child has no thread that releases it. So a lock of the process is a `ProcessLocal`
of `lakerace-exec`, and a value that a child needs from its parent is in an `ArcSwap`. Those in `HELD` are taken before each fork.

python tests/static_locks.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: Crates of processes that never fork: the command, the library in Java's machine, tests and benches.
OTHERS = {"cli", "spark", "testing"}

#: Statics whose lock no fork leaves behind, by their file.
HELD = {
    "files/src/sqlite/fork.rs": {"HOMES", "TAINTED"},
    "sqlite/src/file_locks.rs": {"FILES"},
    # Only its readers could hold it at a fork, and readers do not wait for readers.
    "format/src/format_registry.rs": {"ADDED"},
}

_STATIC = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?static (\w+):\s*([^=;]+)", re.MULTILINE)
_LOCK = re.compile(r"\b(?:Mutex|RwLock|Condvar|WatchedValue|WeightedSemaphore|BufferPool|SpareMemory)\b")


def found(crates: Path) -> list[str]:
    """The statics with a lock that a child could wait for: file, name and type."""
    lines = []
    for path in sorted(crates.glob("*/src/**/*.rs")):
        name = path.relative_to(crates).as_posix()
        if name.split("/")[0] in OTHERS or "tests" in path.parts or path.name == "tests.rs":
            continue
        for static in _STATIC.finditer(path.read_text()):
            is_local = static[2].lstrip().startswith("ProcessLocal<")
            if _LOCK.search(static[2]) and not is_local and static[1] not in HELD.get(name, set()):
                lines.append(f"crates/{name}: {static[1]}: {static[2].strip()}")
    return lines


def main() -> int:
    """Prints them; 1 if there are any."""
    lines = found(Path(__file__).parent.parent / "crates")
    for line in lines:
        print(f"{line}: a forked process would wait for it: use ProcessLocal of lakerace-exec")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
