"""A store that grows to millions of files: the seconds that each tenth of them takes.

Files are generated while they are put, since they would not fit into memory together. The times exclude their
generation.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import contents
import contest

Pair = tuple[str, bytes]
#: Files of a commit.
GROUP = 1_000
TENTHS = 10
#: Of so many files, one is looked at afterwards.
SAMPLED = 500


def groups(job: dict[str, Any]) -> Iterator[list[Pair]]:
    """The files of each commit; no commit has files of two tenths."""
    made, files = contents.stream(job), job["files"]
    for tenth in range(TENTHS):
        left = files * (tenth + 1) // TENTHS - files * tenth // TENTHS
        while left:
            yield list(itertools.islice(made, min(GROUP, left)))
            left -= min(GROUP, left)


def prepare(job: dict[str, Any], opens: Callable[[dict[str, Any], bool], Any]) -> contest.Prepared:
    """Puts all files into a new store."""
    store = opens(job, False)
    bounds = [job["files"] * (tenth + 1) // TENTHS for tenth in range(TENTHS)]

    def work() -> list[float]:
        seconds, put = [0.0] * TENTHS, 0
        for group in groups(job):
            tenth = next(at for at, bound in enumerate(bounds) if put < bound)
            begin = time.perf_counter()
            store.put_together(group, len(group))
            seconds[tenth] += time.perf_counter() - begin
            put += len(group)
        return seconds

    def look(seconds: list[float]) -> dict[str, Any]:
        store.close()
        again = opens(job, True)
        wanted = [name for name, _ in itertools.islice(contents.stream(job), 0, None, SAMPLED)]
        found = contents.digest(zip(wanted, again.get_in_snapshot(wanted), strict=True))
        found["rows"] = again.count()
        again.close()
        return found | {"tenths": [round(one, 3) for one in seconds]}

    return contest.Prepared(store.version, work, look=look)
