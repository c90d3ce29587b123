"""The measured sections of the benches `files` and `file-sizes`, for contestants written in Python.

A contestant provides a class with the methods of `Store`, with its own loops, as its users write them: no operation
includes a call of this kit.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import contents
import contest
import fill

Pairs = Sequence[tuple[str, bytes]]
#: Names in one call of `get_many`.
TOGETHER = 500
#: Puts in a transaction of the preparation.
GROUP = 1_000
_HOLDS = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN'); c.execute('SELECT 1 FROM sqlite_master').fetchall(); print(flush=True); sys.stdin.read()"
#: Bytes before the frames of a write-ahead log, and before each page in it.
_WAL_HEADER, _FRAME_HEADER = 32, 24


class Store:
    """An open store. Bulk methods that it lacks fall back to single operations."""

    version = ""
    #: The SQLite file whose log has the number of pages that its commits have written.
    sqlite_file: Path | None = None

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        """The contents, read one by one."""
        raise contest.UnableError("has no gets")

    def get_in_snapshot(self, names: Sequence[str]) -> list[bytes]:
        """The contents, read one by one in one snapshot."""
        return self.get_each(names)

    def get_together(self, names: Sequence[str], size: int) -> list[Any]:
        """A mapping or a list of pairs for each `size` names."""
        return [zip(names, self.get_each(names), strict=True)]

    def get_all(self, names: Sequence[str]) -> list[Any]:
        """Mappings or lists of pairs of all files, given their names in order: as fast as the store can."""
        return self.get_together(names, TOGETHER)

    def connect(self, names: Sequence[str]) -> None:
        """Prepares `get_all` once: opens connections."""
        self.get_together(names[:TOGETHER], TOGETHER)

    def put_each(self, files: Pairs) -> None:
        """A commit for each file. Threads call it at the same time."""
        raise contest.UnableError("has no puts")

    def put_together(self, files: Pairs, size: int) -> None:
        """A commit for each `size` files."""
        self.put_each(files)

    def put_sorted(self, files: Pairs) -> None:
        """All files, which are in the order of their names, in one transaction."""
        self.put_together(files, len(files))

    def read_back(self, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        """The contents of all files, for a check."""
        return zip(names, self.get_each(names), strict=True)

    def count(self) -> int:
        """The number of files."""
        return len(self.names())

    def names(self) -> list[str]:
        """The names of all files."""
        raise contest.UnableError("has no list of names")

    def content_bytes(self) -> int | None:
        """Bytes of the stored contents, without names and pages; None where the store can't report them."""
        return None

    def close(self) -> None:
        """Closes the store."""


#: Opens the store of a job; the second argument is true if it is only read.
Open = Callable[[dict[str, Any], bool], Store]


def main(opens: Open) -> None:
    """Serves the jobs of the bench."""
    contest.main({"files": lambda job: prepare(job, opens)})


def prepare(job: dict[str, Any], opens: Open) -> contest.Prepared:
    """Generates the files, and stores them for jobs that read."""
    if job["work"] == "fill":
        return fill.prepare(job, opens)
    made = contents.pairs(job)
    if job["work"] in contents.PUTS:
        return _putting(job, opens, made)
    names = [name for name, _ in made]
    # The disk is not waited for before the measured section.
    store = opens(job | {"durability": "off"}, False)
    store.put_together(made, GROUP)
    version = store.version
    if job["home"] != "memory":
        store.close()
    if job["work"] == "get-processes":
        return _processes(job, opens, names, version)
    if job["home"] != "memory":
        store = opens(job, True)
    wanted = contents.asked(job, names)
    # Caches are warm, connections open.
    if job["work"] == "get-all":
        store.connect(wanted)
    else:
        store.get_each(wanted[:TOGETHER])
    # No name comes twice in one call.
    together = min(TOGETHER, len(names))
    take = {
        "get": lambda: zip(wanted, store.get_each(wanted), strict=True),
        "get-snapshot": lambda: zip(wanted, store.get_in_snapshot(wanted), strict=True),
        "get-many": lambda: _flat(store.get_together(wanted, together)),
        "get-all": lambda: _flat(store.get_all(wanted)),
    }[job["work"]]

    def look(read: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
        return contents.digest(read, job["work"] in contents.ORDERED) | _sizes(job, store)

    return contest.Prepared(version, take, look=look)


def _flat(groups: list[Any]) -> Iterable[tuple[str, bytes]]:
    return itertools.chain.from_iterable(group.items() if isinstance(group, dict) else group for group in groups)


def _putting(job: dict[str, Any], opens: Open, made: Pairs) -> contest.Prepared:
    store = opens(job, False)
    parts = contents.shared(job, made)
    work = {
        "put": lambda: store.put_each(made),
        "put-group": lambda: store.put_together(made, job["group"]),
        "import": lambda: store.put_sorted(made),
        "put-threads": lambda: _threads(store.put_each, parts),
    }[job["work"]]
    # An open read transaction keeps the log from being restarted, so that all its frames can be counted afterwards.
    holder = _holder(store.sqlite_file) if job["counts_frames"] and store.sqlite_file else None

    def look(_: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if holder is not None and store.sqlite_file is not None:
            found["wal_frames"] = _frames(store.sqlite_file)
            holder.communicate()
        again = store
        if job["home"] != "memory":
            store.close()
            again = opens(job, True)
        names = again.names()
        found |= contents.digest(again.read_back(names))
        return found | _sizes(job, again)

    return contest.Prepared(store.version, work, look=look)


def _threads(put: Callable[[Pairs], None], parts: list[Any]) -> None:
    failures: list[BaseException] = []

    def run(part: Pairs) -> None:
        try:
            put(part)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _processes(job: dict[str, Any], opens: Open, names: list[str], version: str) -> contest.Prepared:
    """Starts processes that open the store, wait for each other, read, and report what they have read when asked."""
    spawn = multiprocessing.get_context("spawn")
    gate = spawn.Barrier(job["parts"] + 1)
    pipes = [spawn.Pipe() for _ in range(job["parts"])]
    children = [
        spawn.Process(target=_reader, args=(job, opens, contents.asked(job, names, part), gate, pipes[part][1]))
        for part in range(job["parts"])
    ]
    for child in children:
        child.start()
    for ours, _ in pipes:
        ours.recv()

    def work() -> None:
        gate.wait()
        for ours, _ in pipes:
            ours.recv()

    def look(_: Any) -> dict[str, Any]:
        for ours, _ in pipes:
            ours.send("look")
        digests = [ours.recv() for ours, _ in pipes]
        for child in children:
            child.join()
        return contents.added(digests)

    return contest.Prepared(version, work, look=look)


def _reader(job: dict[str, Any], opens: Open, wanted: list[str], gate: Any, pipe: Any) -> None:
    store = opens(job, True)
    store.get_each(wanted[:TOGETHER])
    pipe.send("open")
    gate.wait()
    found = store.get_each(wanted)
    pipe.send("read")
    pipe.recv()
    pipe.send(contents.digest(zip(wanted, found, strict=True)))
    store.close()


def _sizes(job: dict[str, Any], store: Store) -> dict[str, Any]:
    """Bytes of the store, and of the contents in it."""
    if job["home"] != "local":
        return {}
    content_bytes = store.content_bytes()
    store.close()
    files = [Path(folder, file) for folder, _, found in os.walk(job["place"]) for file in found]
    return {"store_bytes": sum(file.stat().st_size for file in files), "content_bytes": content_bytes}


def _holder(file: Path) -> subprocess.Popen[bytes]:
    """Starts a separate process: a second SQLite in this one would release the first one's locks."""
    held = subprocess.Popen([sys.executable, "-c", _HOLDS, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout is not None
    held.stdout.readline()
    return held


def _frames(file: Path) -> int | None:
    """The frames in a write-ahead log since its last restart; None where there is no log."""
    log = Path(f"{file}-wal")
    if not log.exists():
        return None
    data = log.read_bytes()
    if len(data) < _WAL_HEADER:
        return 0
    page, _, *salts = struct.unpack_from(">4I", data, 8)
    at, count = _WAL_HEADER, 0
    while at + _FRAME_HEADER + page <= len(data) and list(struct.unpack_from(">2I", data, at + 8)) == salts:
        count += 1
        at += _FRAME_HEADER + page
    return count
