"""Campaigns: what they name is there, a run goes on where another one was ended, and the page shows each printed number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakerace_bench import campaign, campaign_page, cases, data
from lakerace_bench.cases import Case
from lakerace_bench.cli import main
from lakerace_bench.contestant import discover
from lakerace_bench.data import Shape
from lakerace_bench.entrant import entrants
from lakerace_bench.race import Race
from lakerace_bench.samples import Sample, finished, read

FAKES = Path(__file__).parent / "contestants"
SMALL = {
    "title": "three scans",
    "about": "Scans of a small table.",
    "steps": [
        {"names": ["scan/local/all", "scan/local/two"], "threads": [1], "rounds": 3},
        {"names": ["scan/local/filter"], "threads": [1], "rounds": 2},
    ],
    "times": [
        {"title": "all columns", "printed": 10.0, "case": "scan/local/all/t1", "contestant": "honest"},
        {"title": "nobody", "printed": 1.0, "case": "scan/local/all/t1", "contestant": "nobody"},
    ],
    "speedups": [
        {"title": "whole", "printed": 0.001, "case": "scan/local/all/t1", "slow": "honest", "fast": "other-order"},
        {"title": "half", "printed": 1e6, "case": "scan/local/two/t1", "slow": "honest", "fast": "other-order"},
        {"title": "lied", "printed": 2.0, "case": "scan/local/all/t1", "slow": "honest", "fast": "wrong-value"},
    ],
    "grids": [
        {
            "title": "Scans",
            "about": "One thread.",
            "measure": "seconds",
            "rows": {"all": "scan/local/all/t1", "filter": "scan/local/filter/t1", "far": "scan/s3/all/t1"},
            "columns": {"honest": "honest", "liar": "wrong-value"},
        }
    ],
    "thresholds": [
        {
            "title": "columns",
            "factor": 1e6,
            "contestants": ["honest", "other-order"],
            "sizes": {
                "two": ["scan/local/two/t1", "scan/local/two/t1"],
                "all": ["scan/local/all/t1", "scan/local/all/t1"],
            },
        },
        {
            "title": "never",
            "factor": 1e-9,
            "contestants": ["honest", "other-order"],
            "sizes": {"all": ["scan/local/all/t1", "scan/local/all/t1"]},
        },
        {
            "title": "liars",
            "factor": 1.0,
            "contestants": ["honest", "wrong-value"],
            "sizes": {"all": ["scan/local/all/t1", "scan/local/all/t1"]},
        },
    ],
    "missing": ["Nothing else."],
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for the samples of a campaign of three cases."""
    monkeypatch.setenv("LAKERACE_BENCH_CONTESTANTS", str(FAKES))
    monkeypatch.setattr(data, "QUICK", Shape(rows=5_000, row_group_rows=1_000))
    folder = tmp_path / "campaigns"
    folder.mkdir()
    (folder / "s.json").write_text(json.dumps(SMALL))
    monkeypatch.setattr(campaign, "FOLDER", folder)
    return tmp_path / "out"


def go(out: Path, *options: str) -> int:
    arguments = ["campaign", "S", "--quick", "--out", str(out), "--data", str(out.parent / "data"), *options]
    return main([*arguments, "--only", "honest,other-order,wrong-value"])


def test_a_campaign_goes_on_after_the_last_case_that_ended(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raced: list[str] = []
    whole = Race._race

    def counted(self: Race, case: Case, server: object) -> None:
        raced.append(case.name)
        if len(raced) == 2:
            raise KeyboardInterrupt
        whole(self, case, server)  # type: ignore[arg-type]

    monkeypatch.setattr(Race, "_race", counted)
    with pytest.raises(KeyboardInterrupt):
        go(small)
    assert list(finished(small / "campaign-s-quick-1.jsonl")) == ["scan/local/all/t1"]
    assert go(small) == 4, "one contestant does wrong work"
    assert raced == ["scan/local/all/t1", "scan/local/two/t1", "scan/local/two/t1", "scan/local/filter/t1"]
    assert "about 0 min left" in capsys.readouterr().err
    assert go(small) == 4, "wrong work of an earlier run counts, too"
    assert len(raced) == 4
    page = (small / "campaign-s-quick.md").read_text()
    times = {line.split(" | ")[1]: line for line in page.splitlines() if line.startswith(("| all columns", "| nobody"))}
    assert "| honest | 10 | " in times["honest"]
    assert "not run" not in times["honest"]
    assert "| 1 | not run |" in times["nobody"]
    for text in (
        "| whole | 0.001x |",
        "| met |",
        "| half | 1e+06x |",
        "| short of it |",
        "| lied | 2x | wrong-value: wrong: ",
    ):
        assert text in page
    assert "- all, liar: wrong: checksum: " in page
    assert "- columns: at every size (" in page
    assert "- never: at no size (" in page
    assert "- liars: " not in page
    assert "- Nothing else." in page


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ("111", "at every size"),
        ("000", "at no size"),
        ("110", "up to 2"),
        ("100", "up to 1"),
        ("011", "from 2 on"),
        ("001", "from 3 on"),
        ("101", "at 1, 3"),
        ("010", "at 2"),
    ],
)
def test_thresholds_in_words(marks: str, words: str) -> None:
    assert campaign_page._where([(str(at), mark == "1") for at, mark in enumerate(marks, start=1)]) == words


def test_samples_of_another_state_are_not_continued(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(small)
    path = small / "campaign-s-quick-1.jsonl"
    text = path.read_text()
    commit = json.dumps(read(path)[0].machine["commit"])
    path.write_text(text.replace(f'"commit": {commit}', '"commit": "another"'))
    assert go(small) == 2
    assert "was begun otherwise (commit: another, now " in capsys.readouterr().err
    # A page is made from whatever samples there are.
    assert go(small, "--page-only") == 0
    (small / "campaign-s-quick-2.jsonl").write_text(path.read_text())
    assert go(small, "--page-only") == 2
    assert "both have samples of scan/local/all/t1 by honest: move one of them away" in capsys.readouterr().err
    assert main(["campaign", "Z"]) == 2
    assert "there are S" in capsys.readouterr().err


@pytest.mark.parametrize("letter", campaign.letters())
def test_campaigns_name_cases_and_entrants_that_exist(letter: str) -> None:
    asked = campaign.load(letter)
    planned: dict[str, Case] = {}
    for is_quick in (False, True):
        of_steps = [
            cases.select(list(step.names), list(step.threads), cases.quick() if is_quick else cases.full(step.size))
            for step in asked.steps
        ]
        names = [case.name for chosen in of_steps for case in chosen]
        assert len(names) == len(set(names)), "a case is in one step"
        planned |= {case.name: case for chosen in of_steps for case in chosen}
    named = {(one.case, one.contestant) for one in asked.times}
    named |= {(one.case, who) for one in asked.speedups for who in (one.slow, one.fast)}
    for threshold in asked.thresholds:
        for _, pair in threshold.sizes:
            named |= set(zip(pair, threshold.contestants, strict=True))
    contestants = discover()
    for case, who in named:
        entered = [one for one in entrants(contestants, planned[case].bench) if one.enters(planned[case])]
        assert who in {one.name for one in entered}, (case, who)
    for grid in asked.grids:
        cells = {
            (case, one.name)
            for _, case in grid.rows
            for one in entrants(contestants, planned[case].bench)
            if one.enters(planned[case])
        }
        for _, case in grid.rows:
            assert any((case, who) in cells for _, who in grid.columns), case
        for _, who in grid.columns:
            assert any((case, who) in cells for _, case in grid.rows), who


def test_a_real_campaign_runs_small(tmp_path: Path) -> None:
    options = ["--quick", "--only", "lakerace/memory", "--out", str(tmp_path), "--data", str(tmp_path / "data")]
    assert main(["campaign", "E", *options]) == 0
    taken: list[Sample] = read(tmp_path / "campaign-e-quick-1.jsonl")[1]
    assert {sample.contestant for sample in taken} == {"lakerace/memory"}
    page = (tmp_path / "campaign-e-quick.md").read_text()
    assert "| 64 B, get | " in page
    assert "| 2 MB, put | " in page
