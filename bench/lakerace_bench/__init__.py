"""The side-by-side bench: every job next to the tools a user would otherwise take, all of their work checked.

`lakerace bench list`, `lakerace bench run NAME…` and `lakerace bench report` are implemented here. `docs/bench.md`
describes the measurements and their limits.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `lakerace bench` with `arguments` (default: the process's own); returns the exit code."""
    from lakerace_bench.cli import main as run

    return run(arguments)
