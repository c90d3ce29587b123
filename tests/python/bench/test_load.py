"""The bench of loads against real servers, small: who does the work is right, and who loses rows or values is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from lakerace_bench import cases
from lakerace_bench.cli import main
from lakerace_bench.contestant import discover
from lakerace_bench.entrant import entrants
from lakerace_bench.loads import SCHEMA, Loads
from lakerace_bench.samples import RIGHT, WRONG, Run, Sample, read

FAKES = Path(__file__).parent / "contestants"
TINY = Loads(2_500, batches=(400, 1_000))
Race = Callable[..., tuple[Run, list[Sample]]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def race(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch, s3_program: None) -> Race:
    quick = cases.quick()
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(FAKES))

    def run(*names: str, only: str, code: int = 0, loads: Loads = TINY) -> tuple[Run, list[Sample]]:
        inputs = replace(quick, loads=loads)
        monkeypatch.setattr(cases, "quick", lambda: inputs)
        arguments = ["run", *names, "--quick", "--rounds", "1", "--threads", "2", "--only", only]
        assert main([*arguments, "--out", str(tmp_path), "--data", str(tables)]) == code
        [path] = tmp_path.glob("*.jsonl")
        return read(path)

    return run


def test_the_table_is_the_same_as_csv_and_as_parquet(tables: Path) -> None:
    files = TINY.files(tables)
    rows = pq.read_table(files["parquet"])
    assert rows.schema == SCHEMA
    assert (rows.num_rows, rows.num_columns) == (2_500, 50)
    assert rows["id"].to_pylist() == list(range(2_500))
    assert all(0 < rows[name].null_count < 250 for name in ("n16", "x13", "t14"))
    types = {field.name: field.type for field in SCHEMA}
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    assert csv.read_csv(files["csv"], convert_options=options).equals(rows)
    assert TINY.files(tables) == files


@pytest.mark.usefixtures("without_warm_up")
@pytest.mark.parametrize("target", ["delta", "mongodb", "elasticsearch", "sqlite"])
def test_lakerace_and_its_peers_do_the_same_work(race: Race, tmp_path: Path, target: str) -> None:
    who = {
        "delta": "lakerace,delta_rs",
        "mongodb": "lakerace,pymongo,pymongoarrow",
        "elasticsearch": "lakerace,elasticsearch_py",
        "sqlite": "lakerace,sqlite3,adbc_sqlite,polars_sqlite,duckdb_sqlite",
    }[target]
    variants = ["400-write", "arrow-read", "rows-read"]
    # CSV comes from the same place, whatever the target. What a server takes of ready BSON is measured for MongoDB alone.
    variants += {"mongodb": ["all-write"], "sqlite": ["all-csv"]}.get(target, [])
    names = [f"load/{target}/{variant}" for variant in variants]
    run, samples = race(*names, only=who)
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert {sample.lost_rows for sample in samples} == {0}
    asked = {name for name in run.contestants if name.partition("/")[0] in who.split(",")}
    # Whoever sends changed rows alone enters syncs alone.
    asked = {name for name in asked if not name.endswith("/changes")}
    assert {sample.contestant for sample in samples} == asked
    # Of each entrant of a case the first sample is looked at by its checksum, the others by their rows.
    looked_at = [sample for sample in samples if sample.checksum]
    assert len(looked_at) == len({(sample.case, sample.contestant) for sample in samples})
    assert {sample.rows for sample in looked_at} == {TINY.rows}
    served = [sample for sample in samples if sample.server_peak_rss_bytes]
    assert len(served) == (len(samples) if target in ("mongodb", "elasticsearch") else 0)
    for sample in samples:
        assert sample.total_seconds is not None
        assert sample.seconds is not None
        assert sample.total_seconds > sample.seconds
        assert (sample.total_cpu_seconds or 0) >= (sample.cpu_seconds or 0)
    [text] = tmp_path.glob("*.md")
    report = text.read_text()
    assert "### Writing" in report
    assert "### Reading" in report
    assert "| 400 a batch | **lakerace**" in report.replace("**400 a batch**", "400 a batch")


@pytest.mark.parametrize("target", ["mongodb", "elasticsearch", "sqlite"])
def test_a_database_follows_a_table_and_what_it_is_sent_is_counted(race: Race, tmp_path: Path, target: str) -> None:
    peer = {"mongodb": "pymongo", "elasticsearch": "elasticsearch_py", "sqlite": "sqlite3"}[target]
    loads = Loads(10_000, batches=(1_000,))
    names = [f"load/{target}/{how}-sync" for how in ("feed", "comparison")]
    _, samples = race(*names, only=f"lakerace,{peer}", loads=loads)
    assert [sample.verdict for sample in samples] == [RIGHT] * 8, [sample.why for sample in samples]
    # Each change puts 200 rows more than it had, and takes 100 away.
    assert [sample.rows for sample in samples if sample.rows] == [10_100, 10_200] * 2
    told = [sample.counts["told"] for sample in samples if sample.counts and sample.counts["told"]]
    assert told == [{"upserted": 900, "deleted": 100}] * 2
    for sample in samples:
        assert sample.counts is not None
        sent, written = sample.counts["target"], sample.written_bytes or 0
        # A thousand of 10,000 rows are a small part of them; a file has other rows in the pages that are written.
        part = 0.25 if sent else 0.9
        assert 100_000 < (sent["bytes_from_client"] if sent else written) < sample.counts["whole_bytes"] * part
        assert bool(sample.requests) == (target != "sqlite")
        assert (sample.counts["source"]["requests"] > 0) == sample.contestant.startswith("lakerace")
    [text] = tmp_path.glob("*.md")
    assert "### Keeping in step" in text.read_text()
    assert "the rows alone | 1.20 |" in text.read_text().replace("**", "")


def test_memory_is_compared_with_that_of_a_tenth_of_the_rows(race: Race, tmp_path: Path) -> None:
    _, samples = race("load/sqlite/all-csv", "load/sqlite/all-tenth", "load/sqlite/rows-tenth", only="lakerace")
    assert [sample.verdict for sample in samples] == [RIGHT] * 6, [sample.why for sample in samples]
    assert [sample.rows for sample in samples if sample.rows] == [2_500, 250, 250]
    [text] = tmp_path.glob("*.md")
    assert "peak memory / that of a tenth of the rows | 1.20 |" in text.read_text().replace("**", "")


def test_rows_of_parquet_by_lakerace_and_polars(race: Race) -> None:
    _, samples = race("load/parquet", only="lakerace,polars")
    assert [sample.verdict for sample in samples] == [RIGHT] * 8, [sample.why for sample in samples]
    assert {sample.case for sample in samples} == {"load/parquet/rows-read/t2", "load/parquet/named-read/t2"}


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [("loses-loaded-row", "rows: 2499 instead of 2500"), ("loads-wrong-value", "checksum: ")],
)
def test_a_load_that_is_not_whole_is_wrong(race: Race, tmp_path: Path, behaviour: str, why: str) -> None:
    _, samples = race("load/sqlite/all-write", "load/sqlite/rows-read", only=f"sqlite3,{behaviour}", code=4)
    for sample in samples:
        assert sample.verdict == (WRONG if sample.contestant == behaviour else RIGHT), sample.why
        if sample.contestant == behaviour:
            assert why in (sample.why or "")
            assert sample.lost_rows == (1 if "loses" in behaviour else 0)
    [text] = tmp_path.glob("*.md")
    assert f"WRONG: {why}" in text.read_text()


def test_rows_that_are_lost_in_a_later_round_are_seen(race: Race) -> None:
    _, samples = race("load/sqlite/rows-read", only="lakerace,sqlite3,loses-unseen-row", code=4)
    told = [(sample.verdict, sample.lost_rows) for sample in samples if sample.contestant.startswith("loses")]
    assert told == [(RIGHT, 0), (WRONG, 1)]
    assert {sample.verdict for sample in samples if not sample.contestant.startswith("loses")} == {RIGHT}


def test_everybody_has_a_case_of_loads_to_enter() -> None:
    found = entrants(discover(), "load")
    every = [case for case in cases.all_cases([2], cases.full()) if case.bench == "load"]
    assert len({case.name for case in every}) == len(every)
    assert all(any(case.store in one.contestant.stores and one.enters(case) for case in every) for one in found)
    for case in every:
        entered = {one.contestant.name for one in found if one.enters(case)}
        assert "lakerace" in entered
        assert len(entered) > 1 or case.variant == "arrow-read" or case.variant.endswith("-tenth"), case.name
    assert cases.full("full").loads.rows == 1_000_000
