"""The bench of upserts: tiny ones, through the whole race; and the rows that it makes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from lakerace_bench import cases, data, trial
from lakerace_bench.check import References
from lakerace_bench.cli import main
from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample, read
from lakerace_bench.upserts import KEY, SCHEMA, Upserts, drawn, permuted

FAKES = Path(__file__).parent / "contestants"
MANY, FEW = Upserts(4_000, 1_000, 3), Upserts(4_000, 10, 2)
Race = Callable[..., list[Sample]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def race(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> Race:
    whole = cases.quick()
    monkeypatch.setattr(cases, "quick", lambda: replace(whole, upserts=MANY, few=FEW))
    monkeypatch.setenv(data.VARIABLE, str(tables))
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(FAKES))

    def run(*names: str, only: str = "lakerace,duckdb", code: int = 0) -> list[Sample]:
        assert main(["run", *names, "--quick", "--rounds", "1", "--only", only, "--out", str(tmp_path)]) == code
        [path] = tmp_path.glob("*.jsonl")
        return read(path)[1]

    return run


def of(samples: list[Sample], what: str, contestant: str) -> list[Sample]:
    """The samples of `many`, `many-create`, …, that did not fail."""
    found = [s for s in samples if s.case.split("/")[2] == what and s.contestant == contestant]
    assert {sample.verdict for sample in found} == {RIGHT}, [sample.why for sample in found]
    return found


def test_half_of_each_upsert_is_new(tables: Path) -> None:
    files = MANY.files(tables)
    assert list(files) == ["0", "1", "2", "3"]
    known: set[int] = set()
    for number, file in enumerate(files.values()):
        rows = pq.read_table(file)
        assert rows.schema.equals(SCHEMA)
        assert set(rows["revision"].to_pylist()) == {number}
        ids = rows[KEY].to_pylist()
        assert len(set(ids)) == len(ids) == (1_000 if number else 4_000)
        assert len(known & set(ids)) == (500 if number else 0)
        assert ids != sorted(ids)
        known |= set(ids)
    assert len(known) == 5_500


def test_the_rows_are_the_same_each_time(tmp_path: Path, tables: Path) -> None:
    again = Upserts(4_000, 1_000, 2).files(tmp_path)
    for name, file in again.items():
        assert pq.read_table(file).equals(pq.read_table(MANY.files(tables)[name]))


@pytest.mark.parametrize(("among", "count"), [(1, 1), (2, 1), (10, 10), (1_000, 999), (4_097, 100)])
def test_numbers_are_drawn_once_each(among: int, count: int) -> None:
    found = drawn(among, count, 7).tolist()
    assert len(set(found)) == len(found) == count
    assert max(found) < among


def test_more_numbers_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no 11 different numbers below 10"):
        drawn(10, 11, 7)


@pytest.mark.parametrize("width", [1, 5, 12])
def test_a_permutation_hits_each_number(width: int) -> None:
    numbers = np.arange(1 << width, dtype=np.uint64)
    assert sorted(permuted(numbers, width, 3).tolist()) == numbers.tolist()


def test_the_reference_is_what_deleting_and_inserting_gives(tables: Path) -> None:
    files = MANY.files(tables)
    answers = References(lambda _: tables).after_upserts(files, Path(sys.executable))
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE held AS FROM '{files['0']}'")
    names = ", ".join(SCHEMA.names)
    for number, answer in enumerate(answers):
        if number:
            connection.execute(f"DELETE FROM held WHERE id IN (SELECT id FROM '{files[str(number)]}')")
            connection.execute(f"INSERT INTO held FROM '{files[str(number)]}'")
        [(rows, total)] = connection.sql(f"SELECT count(*), sum(hash({names})::HUGEINT) FROM held").fetchall()
        assert (answer["rows"], answer["checksum"]) == (rows, str(total))


def test_all_tables_hold_what_they_must_after_each_upsert(race: Race, tables: Path, tmp_path: Path) -> None:
    samples = race("upsert/local")
    for who in ("lakerace/default", "lakerace/auto-compact", "duckdb"):
        reader = who.split("/")[0]
        assert [s.rows for s in of(samples, "many-create", who)] == [4_000]
        upserts = of(samples, "many", who)
        assert [(s.round, s.rows) for s in upserts] == [(1, 4_500), (2, 5_000), (3, 5_500)]
        if who != "lakerace/auto-compact":
            assert [(s.round, s.rows) for s in of(samples, "few", who)] == [(1, 4_005), (2, 4_010)]
        for sample in upserts:
            assert sample.read_by == [reader]
            assert (sample.written_bytes or 0) > 30_000
            assert (sample.table_bytes or 0) > 100_000
            assert (sample.peak_rss_bytes or 0) > 10_000_000
        scans = of(samples, f"many-scan-by-{reader}", who)
        assert [(s.round, s.rows) for s in scans] == [(0, 5_500), (1, None)]
    ours, theirs = of(samples, "many", "lakerace/default"), of(samples, "many", "duckdb")
    assert [sample.checksum for sample in ours] == [sample.checksum for sample in theirs]
    assert not list(tables.glob("sample-*"))
    [text] = tmp_path.glob("*.md")
    lines = text.read_text().splitlines()
    [line] = [line for line in lines if line.startswith("| 1,000 rows into 4,000 | duckdb | 3 of 3 |")]
    assert line.endswith("| duckdb |")
    assert any(line.startswith("| **scanned by lakerace** | **lakerace** |") for line in lines)
    assert "### The base, and compacting" in lines


def test_who_scans_for_long_is_asked_once(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_LONG_SCAN_SECONDS", 0.0)
    samples = race("upsert/local/many", only="lakerace/default")
    for name in ("many-scan-by-lakerace", "many-compacted-scan-by-lakerace"):
        assert [(s.round, s.rows) for s in of(samples, name, "lakerace/default")] == [(1, 5_500)]


def test_a_contestant_that_loses_rows_is_wrong_and_goes_no_further(race: Race) -> None:
    samples = race("upsert/local/many", only="lakerace,loses-upserts", code=4)
    assert len(of(samples, "many", "lakerace/default")) == 3
    lost = [sample for sample in samples if sample.contestant == "loses-upserts"]
    assert [(s.case.split("/")[2], s.verdict) for s in lost] == [("many-create", RIGHT), ("many", WRONG)]
    assert "read by loses-upserts: rows: 4000 instead of 4500" in (lost[1].why or "")


def test_a_table_that_nobody_can_read_is_no_success(race: Race) -> None:
    samples = race("upsert/local/few", only="writes-riddles")
    [sample] = samples
    assert sample.verdict == FAILED
    assert sample.why == "nobody is there who could read the table back"


@pytest.mark.usefixtures("s3_program")
def test_requests_of_upserts_are_counted_by_the_proxy(race: Race, tables: Path) -> None:
    samples = race("upsert/s3/few", only="lakerace")
    upserts = of(samples, "few", "lakerace/default")
    assert [s.rows for s in upserts] == [4_005, 4_010]
    for sample in upserts:
        assert 3 <= (sample.requests or 0) <= 40
        assert (sample.counts or {})["bytes_from_client"] > 1_000
        assert sample.written_bytes is None
        assert (sample.table_bytes or 0) > 100_000
    assert not list(tables.glob("s3-*"))


def test_without_a_server_a_row_says_why(race: Race, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKERACE_S3_SERVER", str(tmp_path / "nothing"))
    [sample] = race("upsert/s3/few", only="lakerace")
    assert sample.verdict == UNABLE
    assert "no S3 server" in (sample.why or "")


def test_who_is_slow_is_asked_for_no_more_upserts(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "UPSERT_PATIENCE_SECONDS", 1e-9)
    samples = race("upsert/local/many", only="duckdb")
    assert [s.round for s in of(samples, "many", "duckdb")] == [1]
    assert not [sample for sample in samples if "scan" in sample.case]


def test_a_run_that_is_told_to_end_leaves_nothing_behind(
    tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(FAKES))
    command = [sys.executable, "-m", "lakerace_bench", "run", "upsert/local/few", "--quick", "--only", "dawdles"]
    run = subprocess.Popen([*command, "--out", str(tmp_path), "--data", str(tables)], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not list(tables.glob("sample-*")):
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.001)  # the moments behind this one are those in which a thing is made that nobody knows of yet
        run.terminate()
        assert run.wait(timeout=30) == 128 + signal.SIGTERM
    finally:
        run.kill()
        run.wait()
    assert not list(tables.glob("sample-*"))


def test_a_manifest_whose_checks_are_unknown_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = json.loads((FAKES / "loses-upserts" / "manifest.json").read_text()) | {"checks": "seldom"}
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(tmp_path))
    assert main(["run", "upsert", "--only", "odd"]) == 2
