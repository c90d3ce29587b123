"""The bench of generated tables: a tiny one through the whole race, and what it notices."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, orc

import lakerace as lr
from lakerace_bench import cases, data, entrant, generated
from lakerace_bench.cli import main
from lakerace_bench.contestant import discover
from lakerace_bench.generated import FORMS, TABLES, Tpch
from lakerace_bench.samples import RIGHT, WRONG, Run, Sample, read

SCALE = 0.001
Race = Callable[..., tuple[Run, list[Sample]]]


def reference(table: str, scale: float, path: Path) -> str:
    """Stands for tpchgen, which would have to be downloaded; that its rows are ours is tested elsewhere."""
    rows = pa.table(lr.scan(f"tpch:{table}?sf={scale}"))
    fields = [pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) else f.type) for f in rows.schema]
    pq.write_table(rows.cast(pa.schema(fields)), path)
    return "this test"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def race(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> Race:
    inputs = replace(cases.quick(), tpch=Tpch(SCALE))
    monkeypatch.setattr(cases, "quick", lambda: inputs)
    monkeypatch.setattr(generated, "generate", reference)
    monkeypatch.setenv(data.VARIABLE, str(tables))

    def run(*names: str, only: str = "lakerace,pyarrow", code: int = 0) -> tuple[Run, list[Sample]]:
        arguments = ["run", *names, "--quick", "--rounds", "1", "--threads", "2", "--only", only]
        assert main([*arguments, "--out", str(tmp_path)]) == code
        [path] = tmp_path.glob("*.jsonl")
        return read(path)

    return run


@pytest.mark.usefixtures("without_warm_up")
def test_all_formats_hold_the_same_rows(race: Race, tmp_path: Path) -> None:
    _, samples = race(*(f"tpch/local/all-{form}" for form in FORMS), only="lakerace/default,pyarrow")
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert {sample.rows for sample in samples} == {8_695}
    assert len({sample.checksum for sample in samples}) == 1
    assert {sample.case for sample in samples} == {f"tpch/local/all-{form}/t2" for form in FORMS}
    assert {s.case for s in samples if s.contestant == "pyarrow/from-parquet"} == {"tpch/local/all-orc/t2"}
    [text] = tmp_path.glob("*.md")
    report = text.read_text()
    for heading in ("TPC-H generated as parquet", "TPC-H generated as tbl", "K rows/s"):
        assert heading in report, heading


@pytest.mark.usefixtures("without_warm_up")
def test_all_modes_hold_the_same_rows(race: Race, tmp_path: Path) -> None:
    _, samples = race("tpch/local/lineitem-parquet", "tpch/local/lineitem-csv", "tpch/local/nation-orc")
    measured = [sample for sample in samples if "/uring" not in sample.contestant]
    assert {sample.verdict for sample in measured} == {RIGHT}, [sample.why for sample in measured]
    modes = {sample.contestant for sample in measured}
    ours = {"default", "zero-copy", "true-zero-copy", "baseline"}
    assert modes == {*(f"lakerace/{mode}" for mode in ours), "pyarrow/from-parquet"}
    for table, rows in (("lineitem", 6_005), ("nation", 25)):
        of_table = [sample for sample in measured if f"/{table}-" in sample.case]
        assert {sample.rows for sample in of_table} == {rows}
        assert len({sample.checksum for sample in of_table}) == 1
    [text] = tmp_path.glob("*.md")
    report = text.read_text()
    assert "lakerace, baseline" in report
    assert "| **lineitem** | **6,005** |" in report


def test_cases_are_all_tables_in_all_formats() -> None:
    found = [case for case in cases.all_cases([1, 2], cases.full("full")) if case.bench == "tpch"]
    assert len(found) == sum(len(form.tables) for form in FORMS.values()) == 4 * (len(TABLES) + 1) + 2
    assert {(case.threads, case.input) for case in found} == {(2, Tpch(10))}
    entered = [one for who in discover() for one in entrant.entrants([who], "tpch")]

    def who(variant: str) -> set[str]:
        [case] = [case for case in found if case.variant == variant]
        return {one.contestant.name for one in entered if one.enters(case)}

    assert who("all-parquet") == {"lakerace", "tpchgen", "duckdb_tpch"}
    assert who("lineitem-parquet-none") == {"lakerace", "tpchgen"}
    assert who("orders-tbl") == {"lakerace", "tpchgen"}
    assert who("orders-orc") == {"lakerace", "pyarrow"}


def test_settings_can_be_asked_for_alone(race: Race) -> None:
    run, samples = race("tpch/local/lineitem-parquet-none", only="lakerace/default,lakerace/baseline")
    assert {(sample.contestant, sample.verdict) for sample in samples} == {
        ("lakerace/default", RIGHT),
        ("lakerace/baseline", RIGHT),
    }
    assert set(run.contestants) == {"lakerace/default", "lakerace/baseline"}
    assert main(["run", "tpch", "--only", "lakerace/fast"]) == 2


FAKE = """
import contest, os, shutil
def generate(job):
    def work():
        for table, file in job["inputs"].items():
            if job["options"]["misses"] != table:
                shutil.copy(os.environ["FAKE_TABLES"] + "/" + table + "." + job["format"], job["output"])
    return contest.Prepared("1.0", work)
contest.main({"generate": generate})
"""


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, misses: str = "", without: str | None = None) -> None:
    """A contestant that hands in files that lie in the folder."""
    place = folder / "contestants" / "copier"
    place.mkdir(parents=True)
    setting = {"name": "x", "title": "copier", "options": {"misses": misses, "without": without}}
    manifest = {
        "title": "copier",
        "about": "",
        "languages": [],
        "jobs": ["tpch"],
        "stores": ["local"],
        "settings": {"tpch": [setting]},
        "command": [sys.executable, "run.py"],
    }
    (place / "manifest.json").write_text(json.dumps(manifest))
    (place / "run.py").write_text(FAKE)
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(place.parent))
    monkeypatch.setenv("FAKE_TABLES", str(folder))


@pytest.mark.parametrize(
    ("form", "change", "why"),
    [
        ("parquet", lambda rows: rows.slice(1), "rows: 24 instead of 25"),
        ("parquet", lambda rows: rows.set_column(2, "n_regionkey", rows[0]), "checksum: "),
        ("parquet", lambda rows: rows.set_column(2, "n_regionkey", rows[2].cast(pa.float64())), "schema: "),
        ("orc", lambda rows: rows.slice(1), "rows: 24 instead of 25"),
    ],
)
def test_other_rows_are_noticed(
    form: str,
    change: Callable[[pa.Table], pa.Table],
    why: str,
    race: Race,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reference("nation", SCALE, tmp_path / "right.parquet")
    rows = change(pq.read_table(tmp_path / "right.parquet"))
    if form == "orc":
        orc.write_table(rows, tmp_path / "nation.orc", compression="snappy")
    else:
        pq.write_table(rows, tmp_path / "nation.parquet", compression="snappy")
    fake(tmp_path, monkeypatch)
    _, samples = race(f"tpch/local/nation-{form}", only="copier", code=4)
    assert {sample.verdict for sample in samples} == {WRONG}
    assert (samples[0].why or "").startswith(f"nation: {why}")


def test_another_codec_and_a_missing_file_are_noticed(
    race: Race, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in TABLES:
        reference(table, SCALE, tmp_path / f"{table}.parquet")
        rows = pq.read_table(tmp_path / f"{table}.parquet")
        pq.write_table(rows, tmp_path / f"{table}.parquet", compression="zstd" if table == "region" else "snappy")
    fake(tmp_path, monkeypatch, misses="part")
    _, samples = race("tpch/local/region-parquet", "tpch/local/all-parquet", only="copier", code=4)
    whys = {sample.case.split("/")[2]: sample.why for sample in samples}
    assert whys == {
        "region-parquet": "region: codecs: ZSTD instead of SNAPPY",
        "all-parquet": "did not write part.parquet",
    }


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_columns_that_are_known_to_differ_may_be_left_out(
    form: str, race: Race, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference("nation", SCALE, tmp_path / "nation.parquet")
    rows = pq.read_table(tmp_path / "nation.parquet")
    rows = rows.set_column(3, "n_comment", rows["n_name"])
    if form == "csv":
        csv.write_csv(rows, tmp_path / "nation.csv")
    else:
        pq.write_table(rows, tmp_path / "nation.parquet", compression="snappy")
    fake(tmp_path, monkeypatch, without="_comment")
    _, samples = race(f"tpch/local/nation-{form}", only="copier")
    assert {sample.verdict for sample in samples} == {RIGHT}, samples[0].why
