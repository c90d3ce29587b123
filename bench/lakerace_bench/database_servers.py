"""The servers of `load`: MongoDB's protocol and Elasticsearch, started as the tests start them, from a checkout's `tests/servers`."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakerace_bench import termination
from lakerace_bench.tree import Tree

#: Where a checkout has the programs that start servers.
_FOLDER = Path(__file__).resolve().parents[2] / "tests" / "servers"
#: Name servers that run already.
MONGODB_VARIABLE = "LAKERACE_BENCH_MONGODB"
ELASTICSEARCH_VARIABLE = "LAKERACE_BENCH_ELASTICSEARCH"


class NoServerError(RuntimeError):
    """A server cannot run here; the message says which program is missing and how to get it."""


@dataclass
class Server:
    """A server that runs, and what it takes."""

    #: Where it listens: what a place of a job has besides a name.
    address: str
    #: None: the server was started by someone else, and its memory and CPU are unknown.
    pid: int | None
    _cpu_seconds: float = 0.0

    def begin(self) -> None:
        """Starts to count."""
        if self.pid is not None:
            tree = Tree(self.pid)
            tree.reset_peak()
            self._cpu_seconds = tree.cpu_seconds()

    def taken(self) -> dict[str, Any]:
        """CPU seconds and the largest resident bytes since then, as fields of a sample."""
        if self.pid is None:
            return {}
        tree = Tree(self.pid)
        return {
            "server_cpu_seconds": round(tree.cpu_seconds() - self._cpu_seconds, 3),
            "server_peak_rss_bytes": tree.root_peak(),
        }


class Servers:
    """Those that were asked for, each started once; all end with `stack`."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._running: dict[str, Server | str] = {}

    def get(self, target: str) -> Server:
        """The server of a target."""
        if target not in self._running:
            try:
                self._running[target] = self._start(target)
            except (NoServerError, ImportError, OSError, RuntimeError) as why:
                self._running[target] = f"no server of {target}: {why}"
        found = self._running[target]
        if isinstance(found, str):
            raise NoServerError(found)
        return found

    def _start(self, target: str) -> Server:
        variable = MONGODB_VARIABLE if target == "mongodb" else ELASTICSEARCH_VARIABLE
        if named := os.environ.get(variable):
            return Server(named.rstrip("/"), None)
        if not _FOLDER.is_dir():
            raise NoServerError(f"run the bench from a checkout, or name a server in {variable}")
        if str(_FOLDER) not in sys.path:
            sys.path.append(str(_FOLDER))
        with termination.held():
            if target == "mongodb":
                running = self._stack.enter_context(importlib.import_module("mongo").running())
                return Server(running.url, running.pid)
            running = self._stack.enter_context(importlib.import_module("elastic").running("elasticsearch-8"))
            return Server(running.endpoint, running.pid)
