"""The benches of ORC and of seeks: tiny ones, through the whole race."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakerace_bench import cases, data, generated
from lakerace_bench.cases import Inputs
from lakerace_bench.cli import main
from lakerace_bench.data import Shape
from lakerace_bench.generated import Tpch
from lakerace_bench.lineitem import Lineitem
from lakerace_bench.noise import Noise
from lakerace_bench.samples import RIGHT, UNABLE, Sample, read
from lakerace_bench.small_files import SizedFiles, SmallFiles
from lakerace_bench.wide import Wide

TINY = Inputs(
    Shape(5_000, 1_000),
    Wide(2_000, 8),
    Wide(2_000, 130),
    Lineitem(0.001),
    Noise(40 << 20),
    *cases.UPSERTS["quick"],
    Tpch(0.001),
    cases.LOADS["quick"],
    SmallFiles(0.005),
    SizedFiles(0.005),
    0.02,
)
Race = Callable[..., list[Sample]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def race(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> Race:
    monkeypatch.setattr(cases, "quick", lambda: TINY)
    monkeypatch.setenv(data.VARIABLE, str(tables))

    def run(*names: str, only: str = "lakerace,pyarrow") -> list[Sample]:
        assert main(["run", *names, "--quick", "--rounds", "1", "--only", only, "--out", str(tmp_path)]) == 0
        [path] = tmp_path.glob("*.jsonl")
        return read(path)[1]

    return run


def requests(samples: list[Sample], contestant: str) -> int | None:
    [found] = {sample.requests for sample in samples if sample.contestant == contestant}
    return found


def test_every_setting_reads_the_same_columns(race: Race, tmp_path: Path) -> None:
    samples = race("orc-seek/local/8-alternate")
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert {sample.rows for sample in samples} == {2_000}
    names = [sample.contestant for sample in samples if sample.round == 1]
    assert names[0] == "lakerace/orc-auto"
    assert {"lakerace/orc-4m-slices", "lakerace/parquet-auto", "pyarrow/orc"} < set(names)
    [text] = tmp_path.glob("*.md")
    assert "auto against fixed settings" in text.read_text()


@pytest.mark.usefixtures("s3_program")
def test_large_gaps_take_few_requests(race: Race) -> None:
    samples = race("orc-seek/s3/8-alternate")
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert requests(samples, "lakerace/orc-4m") == requests(samples, "lakerace/orc-4m-slices")
    assert (requests(samples, "lakerace/orc-4m") or 0) <= 3


def test_who_is_slow_is_asked_once_on_a_path(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "_PATIENCE_SECONDS", 1e-9)
    samples = race("orc-seek/local/8-alternate", "orc-seek/local/8-all", only="pyarrow")
    assert [(s.case.split("/")[2], s.round, s.verdict) for s in samples] == [
        ("8-alternate", 1, RIGHT),
        ("8-all", 0, UNABLE),
    ]
    assert "in orc-seek/local/8-alternate/t1" in (samples[1].why or "")


def test_a_seek_reads_what_was_asked_for_in_every_way(race: Race) -> None:
    samples = race("seek/disk/1MiB", only="lakerace")
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert {sample.rows for sample in samples} == {2 << 20}
    planned = {s.contestant: (s.planned or {})["requests"] for s in samples}
    assert planned["lakerace/one"] == 1
    assert planned["lakerace/two"] == planned["lakerace/turns"] == 2
    assert len({sample.checksum for sample in samples}) == 4, "each round reads at another place"


@pytest.mark.usefixtures("s3_program")
def test_a_seek_through_the_proxy_is_counted(race: Race) -> None:
    samples = race("seek/s3/16KiB", only="lakerace")
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert [requests(samples, f"lakerace/{way}") for way in ("one", "two", "turns")] == [1, 2, 2]
    assert all(sample.requests == (sample.planned or {})["requests"] for sample in samples)


def test_both_read_what_either_writes(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    def generate(table: str, scale: float, path: Path) -> str:
        numbers = pa.array(range(1_000))
        pq.write_table(pa.table({"l_orderkey": numbers, "l_comment": numbers.cast(pa.string())}), path)
        return "this test"

    monkeypatch.setattr(generated, "generate", generate)
    samples = race("orc-codec/local/decode-zstd", "orc-codec/local/encode-zstd")
    assert {sample.verdict for sample in samples} == {RIGHT}, [sample.why for sample in samples]
    assert len({sample.checksum for sample in samples}) == 1
    written = [sample for sample in samples if "encode" in sample.case]
    assert all(sample.output_bytes for sample in written)
    assert {sample.row_groups for sample in written} == {1}


def test_a_setting_with_an_unknown_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(tmp_path))
    manifest = {
        "title": "odd",
        "about": "",
        "languages": [],
        "jobs": ["seek"],
        "stores": ["local"],
        "settings": {"seek": [{"name": "fast", "title": "odd, fast", "speed": 9}]},
        "command": ["true"],
    }
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "manifest.json").write_text(json.dumps(manifest))
    assert main(["run", "seek/disk/1MiB", "--only", "odd"]) == 2
