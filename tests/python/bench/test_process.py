"""Contestants' processes: one for each sample, or one that stays and is stopped between its samples."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakerace_bench import data
from lakerace_bench.contestant import Contestant, load
from lakerace_bench.data import Shape
from lakerace_bench.process import Processes, SampleFailedError
from lakerace_bench.tree import Tree

FAKES = Path(__file__).parent / "contestants"


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    table = data.ensure(Shape(rows=1_000, row_group_rows=1_000), tmp_path)
    return {"kind": "scan", "threads": 1, "path": str(table), "columns": None, "filter": None}


@pytest.fixture
def children() -> Callable[[], list[int]]:
    """Tells the processes that this one has started since the test began: those of servers may be there before."""
    tree = Tree(os.getpid())
    before = set(tree.members())
    return lambda: [pid for pid in tree.members() if pid not in before]


def wait_until_stopped(pid: int) -> None:
    """A signal is heeded soon, not at once."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline, "it goes on running"
        time.sleep(0.01)


def run(processes: Processes, contestant: Contestant, job: dict[str, Any], stays: bool) -> int:
    return int(processes.run(contestant, job, os.sched_getaffinity(0), stays=stays).held["rows"])


def test_who_stays_is_stopped_and_goes_on(job: dict[str, Any], children: Callable[[], list[int]]) -> None:
    honest = load(FAKES / "honest")
    with Processes() as processes:
        assert run(processes, honest, job, stays=True) == 1_000
        [pid] = children()
        wait_until_stopped(pid)
        assert run(processes, honest, job, stays=True) == 1_000
        assert children() == [pid]
        wait_until_stopped(pid)
    assert children() == []


def test_who_does_not_stay_is_gone(job: dict[str, Any], children: Callable[[], list[int]]) -> None:
    with Processes() as processes:
        assert run(processes, load(FAKES / "honest"), job, stays=False) == 1_000
        assert children() == []


def test_who_fails_does_not_stay(job: dict[str, Any], children: Callable[[], list[int]]) -> None:
    with Processes() as processes:
        with pytest.raises(SampleFailedError):
            run(processes, load(FAKES / "crashes"), job, stays=True)
        assert children() == []
