"""The `lakerace` command: `python -m lakerace` and the wheel's console script."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from lakerace._lakerace import Job, run


def _bench(arguments: list[str]) -> int:
    """Runs `lakerace bench`, where lakerace-bench is installed; imported here, so that no other command waits for it."""
    from lakerace_bench import main as bench

    return bench(arguments)


def _sql(query: str, relations: list[tuple[str, str]], options: dict[str, Any], job: Job) -> object:
    """Answers `lakerace sql`."""
    from lakerace._sql import answer_command

    return answer_command(query, relations, options, job)


def main() -> int:
    """Runs the command with `sys.argv` and gives its exit code."""
    return run(["lakerace", *sys.argv[1:]], _bench if find_spec("lakerace_bench") else None, _sql)


if __name__ == "__main__":
    sys.exit(main())
