"""Campaigns: the measurements of one write-up, run case by case, and its tables."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from lakerace_bench import cases, samples
from lakerace_bench.cases import Case
from lakerace_bench.contestant import Contestant
from lakerace_bench.race import Race
from lakerace_bench.samples import Run, Sample, Writer

FOLDER = Path(__file__).parent / "campaigns"


@dataclass(frozen=True)
class CampaignStep:
    """Cases that run with the same threads, rounds and size; their samples are one file."""

    names: tuple[str, ...]
    threads: tuple[int, ...]
    rounds: int
    size: str


@dataclass(frozen=True)
class PrintedTime:
    """A number of the write-up, and the entrant that repeats it."""

    title: str
    printed: float
    case: str
    contestant: str


@dataclass(frozen=True)
class PrintedSpeedup:
    """A quotient of the write-up, and the two entrants of a case that repeat it."""

    title: str
    printed: float
    case: str
    slow: str
    fast: str


@dataclass(frozen=True)
class CampaignGrid:
    """Cases as rows and entrants as columns: `measure` is a field of samples or one of `campaign_page.MEASURES`."""

    title: str
    about: str
    measure: str
    rows: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CampaignThreshold:
    """The size from which one way to work takes at most `factor` times as long as another one."""

    title: str
    factor: float
    #: The entrants of the first way and of the other one.
    contestants: tuple[str, str]
    #: By growing size: its name, and the cases of both ways.
    sizes: tuple[tuple[str, tuple[str, str]], ...]


@dataclass(frozen=True)
class Campaign:
    """A write-up's measurements."""

    letter: str
    title: str
    about: str
    steps: tuple[CampaignStep, ...]
    times: tuple[PrintedTime, ...]
    speedups: tuple[PrintedSpeedup, ...]
    grids: tuple[CampaignGrid, ...]
    thresholds: tuple[CampaignThreshold, ...]
    #: What the write-up has and the bench has not, and why.
    missing: tuple[str, ...]


def letters() -> list[str]:
    """The names of all campaigns."""
    return sorted(path.stem.upper() for path in FOLDER.glob("*.json"))


def load(letter: str) -> Campaign:
    """The campaign of that letter."""
    path = FOLDER / f"{letter.lower()}.json"
    if not path.exists():
        raise ValueError(f"no campaign is called {letter}: there are {', '.join(letters())}")
    found: dict[str, Any] = json.loads(path.read_text())
    return Campaign(
        letter=letter.upper(),
        title=found["title"],
        about=found["about"],
        steps=tuple(
            CampaignStep(tuple(step["names"]), tuple(step["threads"]), step["rounds"], step.get("size", "small"))
            for step in found["steps"]
        ),
        times=tuple(PrintedTime(**one) for one in found.get("times", ())),
        speedups=tuple(PrintedSpeedup(**one) for one in found.get("speedups", ())),
        grids=tuple(
            CampaignGrid(
                one["title"], one["about"], one["measure"], tuple(one["rows"].items()), tuple(one["columns"].items())
            )
            for one in found.get("grids", ())
        ),
        thresholds=tuple(
            CampaignThreshold(
                one["title"],
                one["factor"],
                (one["contestants"][0], one["contestants"][1]),
                tuple((size, (pair[0], pair[1])) for size, pair in one["sizes"].items()),
            )
            for one in found.get("thresholds", ())
        ),
        missing=tuple(found.get("missing", ())),
    )


class StepSamples(Writer):
    """The samples of a step. A case's samples enter the file together when it has ended: a run that is killed loses one case."""

    def __init__(self, path: Path, run: Run, places: Mapping[str, str]) -> None:
        self._text = io.StringIO()
        super().__init__(self._text, places)
        self.path = path
        #: Seconds that each case has taken which has ended.
        self.seconds = samples.finished(path) if path.exists() else {}
        if path.exists():
            _check_same(path, samples.read(path)[0], run)
            self._text.write(path.read_text())
        else:
            self.begin(run)
        self._began = time.monotonic()

    def begin_case(self) -> None:
        """Starts the clock of a case."""
        self._began = time.monotonic()

    def end_case(self, case: str) -> None:
        """Makes the samples of a case part of the file."""
        self.seconds[case] = time.monotonic() - self._began
        self.finish(case, self.seconds[case])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{os.getpid()}.partial.{self.path.name}")
        partial.write_text(self._text.getvalue())
        os.replace(partial, self.path)


def _check_same(path: Path, begun: Run, now: Run) -> None:
    """A file of samples holds what one state of the code did on one machine."""
    was, is_now = (
        {"commit": run.machine.get("commit"), "cpu": run.machine.get("cpu"), "options": run.options}
        for run in (begun, now)
    )
    different = [name for name in was if was[name] != is_now[name]]
    if different:
        told = "; ".join(f"{name}: {was[name]}, now {is_now[name]}" for name in different)
        raise ValueError(f"{path} was begun otherwise ({told}): move it away, or give another --out")


@dataclass
class CampaignRun:
    """A run of a campaign, which continues where an earlier one in the same folder has ended."""

    campaign: Campaign
    contestants: list[Contestant]
    #: The folder of the samples.
    out: Path
    #: The folder of the tables.
    folder: Path
    is_quick: bool
    #: Makes the first line of a step's file.
    describe: Callable[[CampaignStep, list[Case], cases.Inputs], Run]
    places: Mapping[str, str]
    tell: Callable[[str], None]

    def go(self) -> list[Sample]:
        """Runs the cases that have not ended; returns all samples of the campaign."""
        plans = [self._plan(number, step) for number, step in enumerate(self.campaign.steps, start=1)]
        taken: list[Sample] = []
        for step, chosen, file in plans:
            left = [case for case in chosen if case.name not in file.seconds]
            if len(left) < len(chosen):
                self.tell(f"{file.path}: {len(chosen) - len(left)} of {len(chosen)} cases have ended in an earlier run")
            # One race a case: what a race starts for a case is stopped before the clock of the next one.
            for case in left:
                self.tell(self._progress(plans, case))
                file.begin_case()
                rounds = 1 if self.is_quick else step.rounds
                Race([case], self.contestants, rounds, file, self.folder).go(self.tell)
                file.end_case(case.name)
            taken += samples.read(file.path)[1]
        return taken

    def paths(self) -> list[Path]:
        """The files of samples that exist."""
        numbers = range(1, len(self.campaign.steps) + 1)
        return [path for number in numbers if (path := self._path(number)).exists()]

    def _plan(self, number: int, step: CampaignStep) -> tuple[CampaignStep, list[Case], StepSamples]:
        inputs = cases.quick() if self.is_quick else cases.full(step.size)
        chosen = cases.select(list(step.names), list(step.threads), inputs)
        run = self.describe(step, chosen, inputs)
        return step, chosen, StepSamples(self._path(number), run, self.places)

    def _path(self, number: int) -> Path:
        quick = "-quick" if self.is_quick else ""
        return self.out / f"campaign-{self.campaign.letter.lower()}{quick}-{number}.jsonl"

    def _progress(self, plans: list[tuple[CampaignStep, list[Case], StepSamples]], current: Case) -> str:
        """The place of a case among all, and the time that is left by what cases of each bench have taken."""
        every = [case for _, chosen, _ in plans for case in chosen]
        seconds = {name: taken for _, _, file in plans for name, taken in file.seconds.items()}
        left = [case for case in every if case.name not in seconds]
        text = f"campaign {self.campaign.letter}: case {len(every) - len(left) + 1} of {len(every)}, {current.name}"
        if not seconds:
            return text
        of_bench = {
            case.bench: mean(
                [seconds[other.name] for other in every if other.bench == case.bench and other.name in seconds]
                or seconds.values()
            )
            for case in left
        }
        minutes = sum(of_bench[case.bench] for case in left) / 60
        return f"{text}, about {minutes:.0f} min left"
