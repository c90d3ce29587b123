"""Racing writers: processes that change overlapping keys of one Delta table, and the proof that nothing was lost.

Every change makes one version and is written down with it, so the table must be what one writer would have made of all
changes in the order of their versions: after all of them, and at versions between.

    python tests/python/races.py --writers 16 --rounds 200            # a table on the local disk
    python tests/python/races.py --writers 16 --rounds 200 --s3       # one on the S3 server of the tests
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import s3server

import lakerace as lr

#: Keys that all writers draw from.
KEYS = 500
#: Keys of one change.
KEYS_OF_A_CHANGE = 40
#: Memory of an upsert from a file, and what makes the file too large for it.
FILE_MEMORY_BYTES = 131_072
TEXT = "what fills a row " * 300
#: Versions between the first and the last that are read and compared.
VERSIONS_READ = 10


@dataclass
class Change:
    """One change that a writer made."""

    version: int
    kind: str
    keys: list[int]
    writer: int
    round: int


@dataclass
class Figures:
    """What a race came to."""

    writers: int
    rounds: int
    changes: int
    versions: int
    versions_compared: int
    conflicts: int
    rows: int
    lost_updates: int
    duplicate_keys: int
    seconds: float


def write(location: str, writer: int, rounds: int) -> None:
    """One writer: makes its changes and prints each as a line of JSON."""
    drawn = random.Random(writer)
    table = lr.Table(location, key="id")
    for round_ in range(rounds):
        keys = drawn.sample(range(KEYS), KEYS_OF_A_CHANGE)
        kind = drawn.choices(["upsert", "file", "sum", "insert", "delete"], weights=[4, 2, 3, 2, 1])[0]
        rows = pa.table(
            {"id": keys, "writer": [writer] * len(keys), "round": [round_] * len(keys), "n": [1] * len(keys)}
        ).append_column("text", pa.array([TEXT] * len(keys)))
        while True:
            try:
                changed = change(table, kind, rows)
                break
            except lr.ConflictError:
                print(json.dumps({"conflict": kind}), flush=True)
        if changed.version is not None:
            made = Change(version=changed.version, kind=kind, keys=keys, writer=writer, round=round_)
            print(json.dumps(asdict(made)), flush=True)


def change(table: lr.Table, kind: str, rows: pa.Table) -> lr.Changed:
    """Makes a change of some kind."""
    if kind == "delete":
        return table.delete_keys(rows.select(["id"]))
    if kind == "insert":
        return table.upsert(rows, insert_only=True)
    if kind == "file":
        # So large beside the memory that its keys are read first, and its rows written in runs.
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            pq.write_table(rows, file.name, use_dictionary=False, compression="none")
            return table.upsert(file.name, memory_limit=FILE_MEMORY_BYTES)
    return table.upsert(rows, merge={"n": "sum"} if kind == "sum" else None)


Rows = dict[int, tuple[int, int, int]]


def replay(changes: list[Change], last: int) -> Rows:
    """What one writer would have made of all changes up to a version."""
    rows: Rows = dict.fromkeys(range(0, KEYS, 2), (-1, -1, 0))
    for made in changes:
        if made.version > last:
            break
        for key in made.keys:
            if made.kind == "delete":
                rows.pop(key, None)
            elif made.kind == "sum":
                rows[key] = (made.writer, made.round, 1 + (rows[key][2] if key in rows else 0))
            elif made.kind in ("upsert", "file") or key not in rows:
                rows[key] = (made.writer, made.round, 1)
    return rows


def read(location: str, version: int) -> tuple[Rows, int]:
    """The rows of a version by their keys, and how many of them have the key of another one."""
    table = lr.scan(location, at=version).to_arrow()
    columns = [table[name].to_pylist() for name in ("id", "writer", "round", "n")]
    rows = {key: values for key, *values in zip(*columns, strict=True)}
    return {key: (values[0], values[1], values[2]) for key, values in rows.items()}, table.num_rows - len(rows)


def told(location: str, version: int) -> Rows:
    """The rows of a version as the change data feed tells them. A row that goes must be as it was."""
    feed = pa.table(lr.Table(location).changes(0, version)).sort_by("_commit_version")
    names = ("_commit_version", "_change_type", "id", "writer", "round", "n")
    rows: Rows = {}
    # What goes before what comes, within a version.
    changes = zip(*(feed[name].to_pylist() for name in names), strict=True)
    for _, kind, key, *values in sorted(changes, key=lambda row: (row[0], row[1] in ("insert", "update_postimage"))):
        row = (values[0], values[1], values[2])
        if kind in ("delete", "update_preimage"):
            if rows.pop(key, None) != row:
                raise RuntimeError(f"the feed takes a row that is not there: {key}, {row}")
        elif rows.setdefault(key, row) is not row:
            raise RuntimeError(f"the feed gives a row that is there: {key}, {row}")
    return rows


def race(location: str, writers: int, rounds: int, feed: bool = False, rewrite: bool = False) -> Figures:
    """Lets writers race, and compares what came of it with their changes one after the other; of a table with a change
    data `feed`, what that tells, too. `rewrite`: of a table without deletion vectors."""
    base = list(range(0, KEYS, 2))
    ones = [-1] * len(base)
    rows = pa.table({"id": base, "writer": ones, "round": ones, "n": [0] * len(base), "text": [TEXT] * len(base)})
    properties = {
        "delta.enableChangeDataFeed": str(feed).lower(),
        "delta.enableDeletionVectors": str(not rewrite).lower(),
    }
    lr.copy(rows, f"delta:{location}", table_properties=properties)
    started = time.monotonic()
    with ExitStack() as stack:
        processes = []
        for writer in range(writers):
            out = stack.enter_context(tempfile.TemporaryFile("w+"))
            command = [sys.executable, __file__, "--write", location, str(writer), str(rounds)]
            processes.append((subprocess.Popen(command, stdout=out), out))
        changes, conflicts = [], 0
        for process, out in processes:
            if process.wait() != 0:
                raise RuntimeError(f"a writer ended with code {process.returncode}")
            out.seek(0)
            for line in map(json.loads, out):
                if "conflict" in line:
                    conflicts += 1
                else:
                    changes.append(Change(**line))
    seconds = time.monotonic() - started
    changes.sort(key=lambda made: made.version)
    versions = [made.version for made in changes]
    if versions != list(range(1, len(versions) + 1)):
        raise RuntimeError("the versions of the changes are not one after the other")
    step = max(1, len(versions) // VERSIONS_READ)
    compared = sorted({*range(0, len(versions) + 1, step), len(versions)})
    lost = duplicates = 0
    now: Rows = {}
    for version in compared:
        now, twice = read(location, version)
        expected = replay(changes, version)
        lost += sum(now.get(key) != row for key, row in expected.items()) + len(now.keys() - expected.keys())
        duplicates += twice
    if feed and told(location, len(versions)) != now:
        raise RuntimeError("the change data feed tells of other changes")
    return Figures(
        writers=writers,
        rounds=rounds,
        changes=len(changes),
        versions=len(versions),
        versions_compared=len(compared),
        conflicts=conflicts,
        rows=len(now),
        lost_updates=lost,
        duplicate_keys=duplicates,
        seconds=round(seconds, 1),
    )


def main() -> int:
    """Runs a race, or one writer of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--feed", action="store_true", help="with a change data feed, which is compared, too")
    parser.add_argument("--rewrite", action="store_true", help="without deletion vectors")
    parser.add_argument("--s3", action="store_true", help="on the S3 server of the tests")
    parser.add_argument("--write", nargs=3, metavar=("TABLE", "WRITER", "ROUNDS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        location, writer, rounds = args.write
        write(location, int(writer), int(rounds))
        return 0
    with ExitStack() as stack:
        if args.s3:
            server = stack.enter_context(s3server.started())
            os.environ.update(server.env)
            figures = race(server.url("races"), args.writers, args.rounds, args.feed, args.rewrite)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            figures = race(str(Path(folder) / "races"), args.writers, args.rounds, args.feed, args.rewrite)
    print(json.dumps(asdict(figures)))
    return int(figures.lost_updates + figures.duplicate_keys > 0)


if __name__ == "__main__":
    sys.exit(main())
