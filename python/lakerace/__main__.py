"""The `lakerace` command: `python -m lakerace` and the wheel's console script."""

from __future__ import annotations

import sys

from lakerace._lakerace import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lakerace._lakerace import Job


def _bench(arguments: list[str]) -> int:
    """Runs `lakerace bench`, where lakerace-bench is installed; imported here, so that no other command waits for it."""
    from lakerace_bench import main as bench

    return bench(arguments)


def _sql(query: str, relations: list[tuple[str, str]], options: dict[str, Any], job: Job) -> object:
    """Answers `lakerace sql`."""
    from lakerace._sql import answer_command

    return answer_command(query, relations, options, job)


def _has_bench() -> bool:
    """As `importlib.util.find_spec` finds it, whose import takes longer than the search."""
    return any(finder.find_spec("lakerace_bench", None) for finder in sys.meta_path)


def main() -> int:
    """Runs the command with `sys.argv` and gives its exit code."""
    return run(["lakerace", *sys.argv[1:]], _bench if _has_bench() else None, _sql)


if __name__ == "__main__":
    sys.exit(main())
