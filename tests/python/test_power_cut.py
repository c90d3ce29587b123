"""Losses of power: what a job that has ended has written is there, whole. What one was writing is there, whole, or not at all.

The jobs write to a file system that forgets what was not synced; see `powercut`. Other programs read what a cut has left.
`LAKERACE_POWER_CUTS` is the number of cuts of each job while it runs; one more comes when it has ended.
"""

from __future__ import annotations

import csv
import gzip
import os
import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import polars
import powercut
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as ds
import pyarrow.json as pa_json
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from powercut import Device

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CUTS = int(os.environ.get("LAKERACE_POWER_CUTS", "2"))

OLD = pa.table({"id": range(1000), "v": [f"old {n}" for n in range(1000)]})
NEW = pa.table({"id": range(900, 1400), "v": [f"new {n}" for n in range(900, 1400)]})

Rows = list[tuple[Any, ...]]
#: Looks at what a cut has left, and whether the job had ended.
Check = "Callable[[Path, bool], None]"


def rows_of(table: pa.Table) -> Rows:
    """Rows in the order of their first column."""
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


MERGED = rows_of(pa.concat_tables([OLD.slice(0, 900), NEW]))


def either(read: Callable[[Path], Any], before: Any, after: Any) -> Callable[[Path, bool], None]:
    """Before the end the one or the other, then the other."""

    def check(left: Path, has_ended: bool) -> None:
        found = read(left)
        assert found == after or (not has_ended and found == before)

    return check


def read_table(folder: Path) -> Rows | None:
    """The rows of a Delta table, by polars and delta-rs; `None` where there is none."""
    if not list(folder.glob("_delta_log/*.json")):
        return None
    found = rows_of(polars.read_delta(str(folder)).to_arrow())
    assert deltalake.DeltaTable(str(folder)).version() == len(list(folder.glob("_delta_log/*.json"))) - 1
    return found


def read_file(path: Path) -> Rows | None:
    """The rows of a file, by pyarrow or Python's own readers; `None` where there is none."""
    if not path.exists():
        return None
    if path.suffix == ".tbl":
        with path.open(newline="") as lines:
            return sorted((int(line[0]), line[1]) for line in csv.reader(lines, delimiter="|"))
    if path.suffix == ".gz":
        return rows_of(pa_csv.read_csv(pa.BufferReader(gzip.decompress(path.read_bytes()))))
    if path.suffix == ".arrow":
        with pa.ipc.open_file(path) as file:
            return rows_of(file.read_all())
    readers: dict[str, Callable[[Path], pa.Table]] = {
        ".parquet": pq.read_table,
        ".orc": lambda orc: pa_orc.read_table(str(orc)),
        ".csv": pa_csv.read_csv,
        ".jsonl": pa_json.read_json,
    }
    return rows_of(readers[path.suffix](path))


def read_folder(folder: Path) -> Rows | None:
    """The rows of a folder of files, by pyarrow."""
    return rows_of(ds.dataset(folder, format="parquet").to_table()) if folder.exists() else None


def read_database(path: Path) -> Rows | None:
    """The rows of a table of SQLite, by Python's own library."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 't'").fetchall():
            return None
        return sorted(database.execute("SELECT id, v FROM t"))


def read_bytes(path: Path) -> bytes | None:
    """A file's content; `None` where there is none."""
    return path.read_bytes() if path.exists() else None


@dataclass
class Job:
    """A command, those before it, and what a cut may leave. `@` is the folder of the device, `%` that of the sources."""

    command: str
    check: Callable[[Path, bool], None]
    before: list[str] = field(default_factory=list)
    #: Whether files get their names by a rename, and are synced before.
    renames: bool = True

    def run(self, device: Path, sources: Path) -> None:
        """Runs the job."""
        ok(*arguments(self.command, device, sources))

    def prepare(self, device: Device, sources: Path) -> None:
        """Runs what is before, which is on the disk then."""
        for command in self.before:
            ok(*arguments(command, device.folder, sources))
        device.sync_all()
        device.events.clear()


def arguments(command: str, device: Path, sources: Path) -> list[str]:
    """The arguments of a command."""
    return [part.replace("@", str(device)).replace("%", str(sources)) for part in command.split()]


MAKE = "copy %/old.parquet delta:@/lake/t --table-property lakerace.primaryKey=id"
FULL = "--durability full"


def part_of_tree(left: Path, has_ended: bool) -> None:
    """An import to a directory: each file is whole or not there."""
    found = {path.name: path.read_bytes() for path in left.glob("s/**/*.txt")}
    wanted = {f"{n}.txt": bytes([n]) * 5000 for n in range(20)}
    assert found == wanted or (not has_ended and found.items() <= wanted.items())


def tables_of_tpch(left: Path, has_ended: bool) -> None:
    """Generated tables: each is whole or not there."""
    rows = {path.name: pq.read_metadata(path).num_rows for path in left.glob("tpch/*.parquet")}
    wanted = {"nation.parquet": 25, "region.parquet": 5, "supplier.parquet": 10}
    assert rows == wanted or (not has_ended and rows.items() <= wanted.items())


def appended_folder(left: Path, has_ended: bool) -> None:
    """A folder that got files: other programs see all of them at the end, and lakerace all or none before."""
    both = rows_of(pa.concat_tables([OLD, NEW]))
    if has_ended:
        assert read_folder(left / "f") == both
    assert rows_of(pa.table(lr.scan(f"{left}/f/"))) in (rows_of(OLD), both)


def of_table(before: Rows | None, after: Rows | None) -> Callable[[Path, bool], None]:
    """A Delta table of some folder."""
    return either(lambda left: read_table(left / "lake/t"), before, after)


def vacuumed(left: Path, has_ended: bool) -> None:
    """Files that were removed stay so."""
    assert read_table(left / "lake/t") == MERGED
    assert not has_ended or len(list(left.glob("lake/t/*.parquet"))) == 1


JOBS = {
    "table": Job(MAKE, of_table(None, rows_of(OLD))),
    "table by partitions": Job(
        "copy %/days.parquet delta:@/lake/t --partition-by day",
        either(lambda left: read_table(left / "lake/t") and len(read_table(left / "lake/t") or []), None, 1000),
    ),
    "append": Job(
        "copy %/new.parquet @/lake/t --mode append",
        of_table(rows_of(OLD), rows_of(pa.concat_tables([OLD, NEW]))),
        [MAKE],
    ),
    "upsert": Job("upsert @/lake/t %/new.parquet", of_table(rows_of(OLD), MERGED), [MAKE]),
    "upsert with a checkpoint": Job(
        "upsert @/lake/t %/new.parquet",
        either(lambda left: rows_of(polars.read_delta(str(left / "lake/t")).to_arrow()), rows_of(OLD), MERGED),
        [f"{MAKE} --table-property delta.checkpointInterval=1"],
    ),
    "delete": Job("delete @/lake/t --where id>=900", of_table(rows_of(OLD), rows_of(OLD.slice(0, 900))), [MAKE]),
    "compact": Job("compact @/lake/t", of_table(MERGED, MERGED), [MAKE, "upsert @/lake/t %/new.parquet"]),
    "vacuum": Job(
        "vacuum @/lake/t --retain 0s --allow-short-retention",
        vacuumed,
        [MAKE, "upsert @/lake/t %/new.parquet", "compact @/lake/t"],
    ),
    "restore": Job("restore @/lake/t --at 0", of_table(MERGED, rows_of(OLD)), [MAKE, "upsert @/lake/t %/new.parquet"]),
    "changes": Job(
        "upsert @/lake/t %/new.parquet",
        of_table(rows_of(OLD), MERGED),
        [f"{MAKE} --table-property delta.enableChangeDataFeed=true"],
    ),
    **{
        f"file{ending}": Job(
            f"copy %/old.parquet @/new/f{ending}",
            either(lambda left, e=ending: read_file(left / f"new/f{e}"), None, rows_of(OLD)),  # type: ignore[misc]
        )
        for ending in (".parquet", ".orc", ".csv", ".csv.gz", ".jsonl", ".arrow", ".tbl")
    },
    "file replaced": Job(
        "copy %/new.parquet @/f.parquet --mode overwrite",
        either(lambda left: read_file(left / "f.parquet"), rows_of(OLD), rows_of(NEW)),
        ["copy %/old.parquet @/f.parquet"],
    ),
    "file by io_uring": Job(
        "copy %/old.parquet @/f.parquet --io uring-direct",
        either(lambda left: read_file(left / "f.parquet"), None, rows_of(OLD)),
    ),
    "folder": Job(
        "copy %/old.parquet @/a/f/ --file-bytes 2000",
        either(lambda left: read_folder(left / "a/f"), None, rows_of(OLD)),
    ),
    "folder replaced": Job(
        "copy %/new.parquet @/f/ --mode overwrite --file-bytes 2000",
        either(lambda left: read_folder(left / "f"), rows_of(OLD), rows_of(NEW)),
        ["copy %/old.parquet @/f/"],
    ),
    "folder appended": Job(
        "copy %/new.parquet @/f/ --mode append --file-bytes 2000", appended_folder, ["copy %/old.parquet @/f/"]
    ),
    "scan": Job("scan %/old.parquet -o @/o.csv", either(lambda left: read_file(left / "o.csv"), None, rows_of(OLD))),
    "tpch": Job("tpch -s 0.001 -o @/tpch --tables nation,region,supplier", tables_of_tpch),
    "database": Job(
        "copy %/old.parquet sqlite:@/q.db#t",
        either(lambda left: read_database(left / "q.db"), None, rows_of(OLD)),
        renames=False,
    ),
    "database appended": Job(
        "copy %/new.parquet sqlite:@/q.db#t --mode append",
        either(lambda left: read_database(left / "q.db"), rows_of(OLD), rows_of(pa.concat_tables([OLD, NEW]))),
        ["copy %/old.parquet sqlite:@/q.db#t"],
        renames=False,
    ),
    "put": Job(
        f"files put dir:@/s a/b %/1.txt {FULL}",
        either(lambda left: read_bytes(left / "s/a/b"), None, bytes([1]) * 5000),
    ),
    "put again": Job(
        f"files put dir:@/s a/b %/2.txt {FULL}",
        either(lambda left: read_bytes(left / "s/a/b"), bytes([1]) * 5000, bytes([2]) * 5000),
        ["files put dir:@/s a/b %/1.txt"],
    ),
    "remove": Job(
        f"files rm dir:@/s a/b {FULL}",
        either(lambda left: read_bytes(left / "s/a/b"), bytes([1]) * 5000, None),
        ["files put dir:@/s a/b %/1.txt"],
    ),
    "rename": Job(
        f"files mv dir:@/s a/b c/d {FULL}",
        either(lambda left: read_bytes(left / "s/c/d"), None, bytes([1]) * 5000),
        ["files put dir:@/s a/b %/1.txt"],
        renames=False,
    ),
    "import": Job(f"files import dir:@/s %/tree {FULL}", part_of_tree),
    "get": Job(
        "files get %/s.db 1.txt -o @/o/1.txt",
        either(lambda left: read_bytes(left / "o/1.txt"), None, bytes([1]) * 5000),
    ),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the jobs read."""
    folder: Path = tmp_path_factory.mktemp("sources")
    pq.write_table(OLD.append_column("day", pa.array([n % 3 for n in range(1000)])), folder / "days.parquet")
    pq.write_table(OLD, folder / "old.parquet")
    pq.write_table(NEW, folder / "new.parquet", row_group_size=50)
    tree = folder / "tree"
    (tree / "below").mkdir(parents=True)
    for n in range(20):
        (tree / ("below" if n % 2 else ".") / f"{n}.txt").write_bytes(bytes([n]) * 5000)
    (folder / "1.txt").write_bytes(bytes([1]) * 5000)
    (folder / "2.txt").write_bytes(bytes([2]) * 5000)
    ok("files", "put", folder / "s.db", "1.txt", folder / "1.txt")
    return folder


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    """A file system that forgets."""
    with powercut.mounted(tmp_path / "device") as mounted:
        yield mounted
    assert mounted.faults == []


@pytest.mark.parametrize("name", JOBS)
def test_a_cut_leaves_what_has_ended_and_no_part_of_the_rest(name: str, tmp_path: Path, sources: Path) -> None:
    job, numbers = JOBS[name], random.Random(f"{name} {CUTS}")
    with powercut.mounted(tmp_path / "first") as device:
        job.prepare(device, sources)
        job.run(device.folder, sources)
        steps = len(device.events)
        check_order(device.events, job)
    with powercut.mounted(tmp_path / "second") as device:
        job.prepare(device, sources)
        images = [device.image()]
        moments = set(numbers.sample(range(steps), min(CUTS, steps)))

        def cut(step: int) -> None:
            if step in moments:
                # The lock is held by who calls.
                images.extend([device._image(device.root, None), device._image(device.root, numbers)])

        device.on_change = cut
        job.run(device.folder, sources)
        device.on_change = None
        ended = [device.image(), *(device.image(numbers) for _ in range(2))]
        assert device.faults == []
    for has_ended, left in [*((False, left) for left in images), *((True, left) for left in ended)]:
        job.check(powercut.write_image(left, tmp_path / "left"), has_ended)


def check_order(events: list[tuple[str, ...]], job: Job) -> None:
    """Files are synced, once, before they get their names, and folders after names in them have changed."""
    unsynced_files: set[str] = set()
    unsynced_folders: set[str] = set()
    for verb, *places in events:
        folders = {place.rpartition("/")[0] for place in places}
        if verb in ("write", "truncate"):
            unsynced_files.add(places[0])
        elif verb == "fsync":
            unsynced_files.discard(places[0])
        elif verb in ("fsyncdir", "rmdir"):
            unsynced_folders.discard(places[0])
        elif verb in ("rename", "link", "exchange", "mkdir"):
            assert not job.renames or places[0] not in unsynced_files, f"{verb} of {places[0]} before its sync"
            unsynced_folders |= folders
    assert unsynced_folders == set()
    if job.renames:
        synced = Counter(place for verb, place, *_ in events if verb == "fsync")
        assert set(synced.values()) <= {1}, synced


def syncs(events: list[tuple[str, ...]]) -> dict[str, int]:
    """Syncs by the kind of file or folder."""

    def kind(verb: str, place: str) -> str:
        name = place.rpartition("/")[2]
        if verb == "fsyncdir":
            return name if name in ("_delta_log", "_change_data", "t", "lake") else "above" if not name else "folder"
        kinds = {
            "deletion_vector": "vectors",
            "part-": "data",
            "cdc-": "changes",
            "_last_": "hint",
            ".checkpoint": "checkpoint",
        }
        return next((kind for part, kind in kinds.items() if part in name), "entry" if ".json" in name else "file")

    return dict(Counter(kind(verb, place) for verb, place, *_ in events if verb in ("fsync", "fsyncdir")))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("table", {"data": 1, "entry": 1, "_delta_log": 1, "t": 1, "lake": 1, "above": 1}),
        ("append", {"data": 1, "entry": 1, "_delta_log": 1, "t": 1}),
        ("upsert", {"data": 1, "vectors": 1, "entry": 1, "_delta_log": 1, "t": 1}),
        ("delete", {"vectors": 1, "entry": 1, "_delta_log": 1, "t": 1}),
        ("file.parquet", {"file": 1, "folder": 1, "above": 1}),
        ("file replaced", {"file": 1, "above": 1}),
        ("put again", {"file": 1, "folder": 1}),
        # That of the file is gone: it was empty.
        ("remove", {"folder": 1}),
    ],
)
def test_each_file_and_each_folder_is_synced_once(
    name: str, expected: dict[str, int], device: Device, sources: Path
) -> None:
    job = JOBS[name]
    job.prepare(device, sources)
    job.run(device.folder, sources)
    found = syncs(device.events)
    assert found == expected


@pytest.mark.parametrize("name", ["upsert", "file.parquet", "folder", "folder replaced", "scan", "tpch", "compact"])
def test_a_job_that_is_not_to_be_durable_syncs_nothing(name: str, device: Device, sources: Path) -> None:
    job = JOBS[name]
    job.prepare(device, sources)
    ok(*arguments(f"{job.command} --durability normal", device.folder, sources))
    assert [event for event in device.events if "sync" in event[0]] == []
    device.sync_all()


#: Jobs, and the file or folder whose sync fails.
FAILURES = [
    ("table", "part-"),
    ("table", "_delta_log/."),
    ("table", "/_delta_log"),
    ("upsert", "part-"),
    ("upsert", "deletion_vector"),
    ("upsert", "_delta_log/."),
    ("upsert", "/_delta_log"),
    ("upsert", "/t"),
    ("file.parquet", "f.parquet"),
    ("file.csv", "/new"),
    ("file replaced", "f.parquet"),
    ("folder", "part-"),
    ("folder replaced", "part-"),
    ("scan", "o.csv"),
    ("put", ".lakerace-files-"),
    ("put again", "/a"),
    ("remove", "/s"),
    ("get", "1.txt"),
]


@pytest.mark.parametrize(("name", "place"), FAILURES)
def test_a_failed_sync_is_an_error(name: str, place: str, device: Device, tmp_path: Path, sources: Path) -> None:
    job = JOBS[name]
    job.prepare(device, sources)
    device.fails_to_sync = lambda path: path.endswith(place) or (place in path and not place.startswith("/"))
    done = run(*arguments(job.command, device.folder, sources))
    assert done.code == 8, done
    assert "the disk failed to store" in done.err
    device.fails_to_sync = lambda _: False
    # What was not to appear is gone, and what readers see is whole.
    device.sync_all()
    left = powercut.write_image(device.image(), tmp_path / "left")
    assert [path for path in left.rglob("*.tmp") if ".lakerace-" in path.name] == []
    job.check(left, False)
