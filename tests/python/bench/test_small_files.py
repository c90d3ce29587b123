"""The bench of small files, tiny: who does the work is right, and who loses, changes or never writes a file is shown."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakerace_bench import cases, small_files
from lakerace_bench.cli import main
from lakerace_bench.contestant import KIT, discover
from lakerace_bench.entrant import entrants
from lakerace_bench.files_report import DEMANDS
from lakerace_bench.samples import RIGHT, WRONG, Run, Sample, read
from lakerace_bench.small_files import SmallFiles

FAKES = Path(__file__).parent / "contestants"
TINY = SmallFiles(0.005)
PEERS = "lakerace,ezfs,sqlite3_files,plain_files,py_lmdb,rocksdict,duckdb_files"
S3_PEERS = "lakerace,s3_objects,webdataset"
Race = Callable[..., tuple[Run, list[Sample]]]


@pytest.fixture
def race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Race:
    inputs = replace(cases.quick(), small_files=TINY)
    monkeypatch.setattr(cases, "quick", lambda: inputs)
    # However slow the disk is, everybody is asked for everything.
    monkeypatch.setattr(cases, "_FILES_PATIENCE_SECONDS", math.inf)
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(FAKES))

    def run(*names: str, only: str, code: int = 0) -> tuple[Run, list[Sample]]:
        arguments = ["run", *names, "--quick", "--rounds", "1", "--threads", "2", "--only", only]
        assert main([*arguments, "--out", str(tmp_path), "--data", str(tmp_path / "data")]) == code
        [path] = tmp_path.glob("*.jsonl")
        return read(path)

    return run


def expected(**job: Any) -> dict[str, Any]:
    """What the kit says that has to be read."""
    job = {"form": "random", "bytes": 64, "files": 50, "operations": 0, "parts": 1, "group": 1_000, "seed": "a"} | job
    command = [sys.executable, str(KIT / "contents.py")]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_is_read_is_told_by_the_seed_and_other_in_every_round() -> None:
    first = expected(work="put")
    assert first == expected(work="put")
    assert first["rows"] == 50
    # Names and contents are the same in any order.
    assert first == expected(work="import")
    assert first == expected(work="get", operations=50)
    assert first["checksum"] != expected(work="put", seed="b")["checksum"]
    assert expected(work="get-processes", operations=70, parts=3)["rows"] == 210


def test_all_files_are_read_in_the_order_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(KIT))
    contents = importlib.import_module("contents")
    job = {"work": "get-all", "form": "random", "bytes": 64, "files": 50, "operations": 50, "parts": 1, "seed": "a"}
    files = dict(contents.pairs(job))
    wanted = contents.asked(job, list(files))
    assert wanted == sorted(files)
    read = [(name, files[name]) for name in wanted]
    assert contents.digest(read, is_ordered=True) == expected(**job)
    assert contents.digest([read[1], read[0], *read[2:]], is_ordered=True) != expected(**job)
    assert contents.digest(read) == expected(work="get", operations=50)


@pytest.mark.parametrize(
    "variants",
    [
        ("64b-get", "64b-get-snapshot", "64b-get-many", "64b-get-8-processes"),
        ("64b-put-normal", "64b-put-1000", "64b-import", "64b-put-full", "64b-put-16-threads-full"),
        ("300kb-get", "300kb-put-normal", "2mb-get", "json-put", "json-get"),
    ],
)
def test_all_contestants_do_the_same_work(race: Race, tmp_path: Path, variants: tuple[str, ...]) -> None:
    _, samples = race(*(f"files/local/{variant}" for variant in variants), only=PEERS)
    assert {sample.verdict for sample in samples} == {RIGHT}, {(s.contestant, s.case, s.why) for s in samples}
    every = [
        case
        for case in cases.all_cases([2], cases.quick())
        if (case.bench, case.store) == ("files", "local") and case.variant in variants
    ]
    entered = [one for one in entrants(discover(), "files") if one.contestant.name in PEERS.split(",")]
    wanted = {(case.name, one.name) for case in every for one in entered if one.enters(case)}
    assert {(sample.case, sample.contestant) for sample in samples} == wanted
    assert len({case for case, name in wanted if name.startswith("lakerace")}) == len(variants)
    for sample in samples:
        assert sample.operations
        assert sample.rows
        # Each commit of a store with SQLite's log has written a page.
        if sample.wal_frames is not None:
            assert sample.wal_frames >= sample.operations
    counted = {sample.contestant for sample in samples if sample.wal_frames}
    if "64b-put-normal" in variants:
        assert {"lakerace/sqlite", "sqlite3_files/tuned", "ezfs/wal"} <= counted
    [text] = tmp_path.glob("*.md")
    report = text.read_text()
    assert "### What is asked for" in report
    assert "### Each operation" in report
    assert ("### Space" in report) == any(variant in ("json-put", "64b-put-1000") for variant in variants)


def test_stores_do_the_same_work_with_files_of_each_size(race: Race) -> None:
    _, samples = race("file-sizes", only=f"{PEERS},duckdb_sqlite_files")
    told = {(s.contestant, s.case, s.why) for s in samples if s.verdict != RIGHT}
    assert not told
    by_store: dict[str, set[str]] = {}
    for sample in samples:
        by_store.setdefault(sample.store, set()).add(sample.contestant)
    assert by_store == {
        "local": {
            "lakerace/sqlite",
            "lakerace/directory",
            "sqlite3_files/tuned",
            "plain_files/open",
            "duckdb_files/table",
            "duckdb_sqlite_files/attach",
        },
        "memory": {"lakerace/memory", "sqlite3_files/memory", "duckdb_files/table"},
    }
    variants = {sample.case.split("/")[2] for sample in samples}
    assert variants == {
        f"{size}-{does}" for size in ("64B", "2MiB") for does in ("get", "put-1", "put-100", "put-1000")
    }


def test_stores_in_memory_do_the_same_work(race: Race) -> None:
    _, samples = race("files/memory", only=PEERS)
    assert {sample.verdict for sample in samples} == {RIGHT}, {(s.contestant, s.case, s.why) for s in samples}
    assert {sample.contestant for sample in samples} == {
        "lakerace/memory",
        "ezfs/memory",
        "sqlite3_files/memory",
        "duckdb_files/table",
    }


def test_a_store_that_grows_tells_what_each_tenth_takes(race: Race, tmp_path: Path, monkeypatch: Any) -> None:
    tiny = SmallFiles(12_345 / 10_000_000)
    monkeypatch.setattr(cases, "quick", lambda: replace(cases.full(), small_files=tiny))
    _, samples = race("files/local/10m-fill", only="lakerace,sqlite3_files")
    assert {sample.contestant for sample in samples} == {"lakerace/sqlite", "sqlite3_files/tuned"}
    for sample in samples:
        assert (sample.verdict, sample.rows, sample.operations) == (RIGHT, 12_345, 12_345), sample.why
        assert sample.tenths is not None
        assert len(sample.tenths) == 10
        assert sample.seconds is not None
        assert sum(sample.tenths) <= sample.seconds
    [text] = tmp_path.glob("*.md")
    assert "### Growth" in text.read_text()


@pytest.mark.usefixtures("s3_program")
def test_a_store_on_s3_counts_requests(race: Race, tmp_path: Path) -> None:
    _, samples = race("files/s3", only=S3_PEERS)
    assert {sample.verdict for sample in samples} == {RIGHT}, {(s.case, s.contestant, s.why) for s in samples}
    found = {(sample.case.split("/")[2], sample.contestant): sample for sample in samples}
    ours, each, shards = "lakerace/packs", "s3_objects/default", "webdataset/default"
    all_three = {(variant, name) for variant in ("20k-put", "20k-get-all") for name in (ours, each, shards)}
    # A million are lakerace's alone, and a shard has no get of one name.
    assert found.keys() == all_three | {("20k-get", ours), ("20k-get", each), ("1m-put", ours), ("1m-get", ours)}
    assert {variant: sample.rows for (variant, _), sample in found.items()} == {
        "20k-put": 100,
        "20k-get": 2,
        "20k-get-all": 100,
        "1m-put": 5_000,
        "1m-get": 2,
    }
    requests = {who: sample.requests or 0 for who, sample in found.items()}
    # All files are in one pack; names are known.
    assert 0 < requests["20k-put", ours] < 50
    assert 0 < requests["1m-put", ours] < 50
    assert 0 < requests["20k-get-all", ours] < 10
    assert requests["20k-get", ours] == requests["1m-get", ours] == requests["20k-get", each] == 2
    assert requests["20k-put", each] == requests["20k-get-all", each] == 100
    assert requests["20k-put", shards] == requests["20k-get-all", shards] == 1
    [text] = tmp_path.glob("*.md")
    report = text.read_text()
    assert "### Requests" in report
    assert "it / lakerace, wall" in report


@pytest.mark.parametrize(
    ("behaviour", "variant", "why"),
    [
        ("loses-file", "64b-put-normal", "rows: 19 instead of 20"),
        ("loses-file", "64b-get-many", "rows: 99 instead of 100"),
        ("changes-file", "64b-put-normal", "checksum: "),
        ("changes-file", "64b-get", "checksum: "),
        ("commits-once", "64b-put-normal", "frames of the log for 20 commits"),
    ],
)
def test_other_work_is_wrong(race: Race, tmp_path: Path, behaviour: str, variant: str, why: str) -> None:
    _, samples = race(f"files/local/{variant}", only=f"sqlite3_files,{behaviour}", code=4)
    told = [sample for sample in samples if sample.contestant == behaviour]
    assert told[0].verdict == WRONG
    assert why in (told[0].why or "")
    assert {sample.verdict for sample in samples if sample.contestant != behaviour} == {RIGHT}
    [text] = tmp_path.glob("*.md")
    assert "WRONG: " in text.read_text()


def test_what_is_asked_for_names_cases_and_entrants_that_there_are() -> None:
    entered = {one.name: one for one in entrants(discover(), "files")}
    every = {(case.store, case.variant): case for case in cases.all_cases([2], cases.full()) if case.bench == "files"}
    assert len(every) == sum(len(works) for (bench, _), works in small_files.WORKS.items() if bench == "files")
    for demand in DEMANDS:
        case = every[demand.store, demand.variant]
        assert entered[demand.ours].enters(case), demand
        assert entered[demand.peer].enters(every[demand.store, demand.peer_variant or demand.variant]), demand
