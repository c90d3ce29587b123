"""The chart of all benches, from the samples of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakerace_bench import overview, report
from lakerace_bench.cli import main

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def test_each_job_of_the_chart_has_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in {job.folder for job in overview.JOBS}:
        (tmp_path / folder).symlink_to(RESULTS / folder)
    assert main(["overview", "--out", str(tmp_path)]) == 0
    made = tmp_path / "overview.png"
    assert capsys.readouterr().out.strip() == str(made)
    assert made.read_bytes().startswith(b"\x89PNG")


def test_a_job_shows_the_fastest_entrant_of_each_tool_and_lakerace_always() -> None:
    found = report.read(sorted((RESULTS / "files").glob("*.jsonl")))
    result = next(r for panel in found.panels for r in panel.results if r.case == "files/local/64b-put-normal/t1")
    shown = overview.fastest(found, result)
    assert len(shown) == 4
    assert sum(entry.contestant == result.subject for _, entry in shown) == 1
    assert len({name for name, _ in shown}) == 4
    medians = [entry.seconds.median for _, entry in shown if entry.seconds]
    assert medians == sorted(medians)


def test_a_folder_without_samples_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["overview", "--out", str(tmp_path)]) == 2
    assert "no samples in" in capsys.readouterr().err
