"""The bench must notice whoever does other work than asked, and must survive whoever does not finish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakerace_bench import data
from lakerace_bench.cli import main
from lakerace_bench.data import Shape
from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Run, Sample, read

FAKES = Path(__file__).parent / "contestants"
TINY = Shape(rows=5_000, row_group_rows=1_000)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(FAKES))
    monkeypatch.setattr(data, "QUICK", TINY)


def race(folder: Path, tables: Path, bench: str, *contestants: str, rounds: int = 1) -> tuple[int, Run, list[Sample]]:
    arguments = ["run", bench, "--quick", "--threads", "1", "--rounds", str(rounds), "--only", ",".join(contestants)]
    code = main([*arguments, "--out", str(folder), "--data", str(tables)])
    [path] = folder.glob("*.jsonl")
    return code, *read(path)


def test_honest_contestants_are_right_whatever_their_row_order(tmp_path: Path, tables: Path) -> None:
    code, run, samples = race(tmp_path, tables, "scan/local", "honest", "other-order")
    assert code == 0
    assert {sample.verdict for sample in samples} == {RIGHT}
    assert run.options["rows"] == TINY.rows
    first = [(s.contestant, s.round) for s in samples if s.case == "scan/local/all/t1"]
    assert first == [(name, number) for number in (0, 1) for name in ("honest", "other-order")]
    rows = {sample.case: sample.rows for sample in samples}
    assert rows["scan/local/all/t1"] == rows["scan/local/two/t1"] == TINY.rows
    assert 0 < (rows["scan/local/filter/t1"] or 0) < TINY.rows / 50
    for sample in samples:
        assert sample.seconds is not None
        assert sample.cpu_seconds is not None
        assert (sample.peak_rss_bytes or 0) > 10_000_000
        assert sample.version == "1.0"


@pytest.mark.parametrize(
    ("behaviour", "bench", "why"),
    [
        ("wrong-value", "scan/local/all", "checksum: "),
        ("swaps-rows", "scan/local/all", "checksum: "),
        ("wrong-type", "scan/local/all", "schema: "),
        ("loses-row", "scan/local/two", "rows: 4999 instead of 5000"),
        ("ignores-filter", "scan/local/filter", "rows: 5000 instead of "),
        ("loses-row", "write", "rows: 4999 instead of 5000"),
        ("wrong-value", "write", "checksum: "),
        ("wrong-codec", "write", "codecs: ZSTD instead of SNAPPY"),
        ("wrong-row-groups", "write", "row groups: up to 3000 rows instead of 1000"),
    ],
)
def test_other_work_is_wrong(
    tmp_path: Path, tables: Path, capsys: pytest.CaptureFixture[str], behaviour: str, bench: str, why: str
) -> None:
    code, _, samples = race(tmp_path, tables, bench, "honest", behaviour)
    assert code == 4
    assert f"{behaviour}: {why}" in capsys.readouterr().err
    for sample in samples:
        assert sample.verdict == (WRONG if sample.contestant == behaviour else RIGHT), sample.why
    [page], [text] = tmp_path.glob("*.html"), tmp_path.glob("*.md")
    for report in (page.read_text(), text.read_text()):
        assert f"WRONG: {why}" in report
        assert "other work than the reference" in report


@pytest.mark.parametrize(
    ("behaviour", "verdict", "why"),
    [
        ("crashes", FAILED, "ended with exit code 1: RuntimeError: stumbled at the first hurdle"),
        ("killed", FAILED, "ended with signal SIGABRT"),
        ("babbles", FAILED, "not a line of the protocol"),
        ("unable", UNABLE, "has lost its shoes"),
    ],
)
def test_a_contestant_that_does_not_finish_is_a_row_that_says_why(
    tmp_path: Path, tables: Path, behaviour: str, verdict: str, why: str
) -> None:
    code, _, samples = race(tmp_path, tables, "scan/local/all", behaviour, "honest", rounds=2)
    assert code == 0
    [lost] = [sample for sample in samples if sample.contestant == behaviour]
    assert lost.verdict == verdict
    assert why in (lost.why or "")
    assert [s.round for s in samples if s.contestant == "honest"] == [0, 1, 2]
    [text] = tmp_path.glob("*.md")
    assert f"{verdict.upper()}: " in text.read_text()


def test_a_write_leaves_no_output_after_and_says_what_it_wrote(tmp_path: Path, tables: Path) -> None:
    code, _, samples = race(tmp_path, tables, "write", "honest")
    assert code == 0
    assert {sample.row_groups for sample in samples} == {5}
    assert all((sample.output_bytes or 0) > 100_000 for sample in samples)
    assert not list(tables.glob("sample-*"))


def test_samples_name_the_data_folder_and_not_its_place(tmp_path: Path, tables: Path) -> None:
    race(tmp_path, tables, "scan/local/all", "lakerace")
    [path] = tmp_path.glob("*.jsonl")
    assert str(tables) not in path.read_text()
    assert f"$LAKERACE_BENCH_DATA/{TINY.file_name}" in path.read_text()


def test_without_a_server_every_contestant_of_an_s3_case_says_why(
    tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKERACE_S3_SERVER", str(tmp_path / "nothing"))
    code, _, samples = race(tmp_path, tables, "scan/s3/all", "honest")
    assert code == 0
    [sample] = samples
    assert sample.verdict == UNABLE
    assert "no S3 server" in (sample.why or "")


@pytest.mark.usefixtures("s3_program")
def test_requests_are_counted_by_the_proxy(tmp_path: Path, tables: Path) -> None:
    code, _, samples = race(tmp_path, tables, "scan/s3/two", "lakerace", "pyarrow")
    assert code == 0
    for sample in samples:
        assert sample.verdict == RIGHT, sample.why
        counts = sample.counts or {}
        assert 0 < (sample.requests or 0) == counts["requests"] < 100
        assert counts["bytes_to_client"] > 5_000 * 10
    assert not list(tables.glob("s3-*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "swim"],
        ["run", "scan", "--only", "nobody"],
        ["run", "scan", "--threads", "100000"],
        ["run", "scan", "--threads", "0"],
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2


def test_missing_samples_exit_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nothing.jsonl"]) == 3
    assert "nothing.jsonl: no such file" in capsys.readouterr().err


def test_a_manifest_with_an_unknown_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = json.loads((FAKES / "honest" / "manifest.json").read_text()) | {"speed": "very"}
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(tmp_path))
    assert main(["run", "scan", "--only", "odd"]) == 2
