"""The `lakerace` command: `python -m lakerace` and the wheel's console script."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from lakerace._lakerace import run


def _bench(arguments: list[str]) -> int:
    """Runs `lakerace bench`, where lakerace-bench is installed; imported here, so that no other command waits for it."""
    from lakerace_bench import main as bench

    return bench(arguments)


def main() -> int:
    """Runs the command with `sys.argv` and gives its exit code."""
    return run(["lakerace", *sys.argv[1:]], _bench if find_spec("lakerace_bench") else None)


if __name__ == "__main__":
    sys.exit(main())
