"""CPU and memory of a process and its children, seen from outside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from lakerace_bench.tree import MemoryWatch, Tree

_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
sys.stdout.write(child.stdout.readline().decode()); sys.stdout.flush()
sys.stdin.readline()
child.communicate(b"end")
print("over", flush=True)
sys.stdin.readline()
"""
_CHILD = """
import sys, time
held = bytearray(100_000_000)
while time.process_time() < 0.5:
    pass
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _PARENT, _CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.communicate("\n\n")


def test_a_child_counts_while_it_lives_and_after(parent: subprocess.Popen[str]) -> None:
    assert parent.stdin is not None
    assert parent.stdout is not None
    tree = Tree(parent.pid)
    watch = MemoryWatch(tree)
    watch.start()
    assert parent.stdout.readline() == "ready\n"
    watch.stop()
    assert len(tree.members()) == 2
    assert tree.cpu_seconds() >= 0.5
    assert watch.peak_resident >= 100_000_000
    assert watch.peak_resident >= watch.peak_anonymous >= 100_000_000

    parent.stdin.write("\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == "over\n"
    assert tree.members() == [parent.pid]
    assert tree.cpu_seconds() >= 0.5
    assert tree.memory()[0] < 100_000_000
