"""Entries of delta-spark that lack files which their `commitInfo` counts, on the tables of the conformance corpus."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from conformance import corpus
from conftest import run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


def entry(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020}.json"


def lines(folder: Path, version: int) -> list[str]:
    return entry(folder, version).read_text().splitlines()


GOLDEN = corpus("delta")
SPARK = sorted(path.parent for path in GOLDEN.rglob("_delta_log") if path.is_dir())


@pytest.mark.parametrize("folder", SPARK, ids=[str(path.relative_to(GOLDEN)) for path in SPARK])
def test_entries_of_delta_spark_have_what_they_state(folder: Path) -> None:
    try:
        report = lr.Table(folder).verify()
    except (lr.UnsupportedError, lr.NotFoundError):
        # Features that are not read, and folders without entries.
        return
    assert [finding for finding in report.findings if "commitInfo" in finding.problem] == []


@pytest.mark.parametrize(
    ("name", "version"),
    [("basic-with-inserts-merge", 1), ("basic-with-inserts-overwrite-restore", 3)],
)
def test_a_cut_entry_of_delta_spark_is_found(tmp_path: Path, name: str, version: int) -> None:
    folder = tmp_path / "t"
    shutil.copytree(GOLDEN / name, folder)
    log = folder / "_delta_log"
    for other in [*log.glob(".*.crc"), *log.glob("*.checkpoint.parquet"), *log.glob("_last_checkpoint")]:
        other.unlink()
    info = next(line for line in lines(folder, version) if "commitInfo" in json.loads(line))
    entry(folder, version).write_text(info + "\n")
    done = run("scan", folder, "--count", "--json")
    assert done.code == 5
    assert "but it names no file" in done.error["message"]
    assert str(entry(folder, version)) in done.error["place"]
    assert run("scan", folder, "--count", "--at", version - 1).code == 0
    report = lr.Table(folder).verify()
    assert [finding.subject for finding in report.findings] == ["entry"]


def test_rows_that_delta_spark_counts_are_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    shutil.copytree(GOLDEN / "basic-with-inserts-overwrite-restore", folder)
    for checksum in (folder / "_delta_log").glob(".*.crc"):
        checksum.unlink()
    actions = lines(folder, 1)
    kept = [line for line in actions if "add" not in json.loads(line)]
    added = [line for line in actions if "add" in json.loads(line)]
    assert len(added) == 2
    entry(folder, 1).write_text("\n".join([*kept, added[0]]) + "\n")
    problems = [finding.problem for finding in lr.Table(folder).verify().findings]
    assert any("rows, but the files that it adds have" in problem for problem in problems), problems
