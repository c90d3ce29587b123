"""The figure of loads: the work alone, the whole process and memory, a line of charts for each size of batches and for reading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from lakerace_bench.canvas import INK, SOFT, SUBJECT, bare, colours, heading, new
from lakerace_bench.numbers import count, seconds
from lakerace_bench.samples import Sample
from lakerace_bench.statistics import Entry, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lakerace_bench.tables import Document, Panel

#: Inches of a bar, of the space above and below a chart's bars, and of the heading.
_BAR, _CHART, _TOP = 0.21, 0.52, 0.72
#: The share of the width that the names of entrants take, left of the charts.
_NAMES = 0.24
#: The position of each measure.
_COLUMNS = {
    "write only, s": 0,
    "read only, s": 0,
    "from CSV, total, s": 1,
    "total, s": 1,
    "from CSV, peak MB": 2,
    "peak MB": 2,
}
Measure = Callable[[Sample], float | None]


@dataclass
class Line:
    """Charts side by side: the same entrants by several measures."""

    title: str
    #: By heading: an entrant's number, and how numbers are shown.
    charts: dict[str, tuple[dict[str, float], Callable[[float], str]]] = field(default_factory=dict)

    @property
    def entrants(self) -> list[str]:
        """Everybody with a number, the quickest first."""
        first: dict[str, float] = {}
        for numbers, _ in self.charts.values():
            first = {**numbers, **first}
        return sorted(first, key=lambda name: first[name])


def load_figure(panel: Panel, report: Document, headings: bool) -> Figure:
    """Three charts in a line, each with a separate scale."""
    lines = [line for line in (*_writes(panel), *_reads(panel)) if line.entrants]
    heights = [_CHART + _BAR * len(line.entrants) for line in lines]
    top = _TOP if headings else 0.12
    height = top + sum(heights)
    figure = new(height)
    if headings:
        work, _, turns = panel.about.partition(";")
        heading(figure, height, panel.title, f"{work}; {turns.partition(',')[0].strip()}")
    begin = top
    for line, tall in zip(lines, heights, strict=True):
        width = (0.985 - _NAMES) / 3
        first = next(iter(line.charts))
        for name, (numbers, show) in line.charts.items():
            column = _COLUMNS[name]
            bottom = 1 - (begin + tall - 0.08) / height
            axis = figure.add_axes((_NAMES + column * width, bottom, width * 0.94, (tall - 0.42) / height))
            _chart(axis, line.entrants, numbers, show, report, named=name == first, title=name)
        figure.text(0.012, 1 - (begin + 0.28) / height, line.title, fontsize=9.2, fontweight="bold", color=INK)
        begin += tall
    return figure


def _chart(
    axis: Axes,
    entrants: list[str],
    numbers: dict[str, float],
    show: Callable[[float], str],
    report: Document,
    *,
    named: bool,
    title: str,
) -> None:
    colour = colours(report)
    longest = max(numbers.values(), default=1.0)
    axis.set_xlim(0, longest * 1.28)
    axis.set_ylim(len(entrants) - 0.5, -0.5)
    axis.set_title(title, loc="left", fontsize=9.2, fontweight="bold", color=INK, pad=3)
    for line, name in enumerate(entrants):
        subject = name in report.subjects
        ink, weight = (SUBJECT, "bold") if subject else (INK, "normal")
        if named:
            label = report.names[name]
            axis.text(-longest * 0.04, line, label, ha="right", va="center", fontsize=8.6, color=ink, fontweight=weight)
        if name in numbers:
            value = numbers[name]
            axis.barh(line, value, height=0.7, color=colour(name), linewidth=0)
            axis.text(
                value + longest * 0.02, line, show(value), va="center", fontsize=8.4, color=ink, fontweight=weight
            )
    axis.axvline(0, color=SOFT, linewidth=0.8)
    bare(axis)
    axis.set_xticks([])


def _writes(panel: Panel) -> list[Line]:
    """A line for each size of batches: from memory the writing alone, from CSV the rest."""
    found: dict[str, Line] = {}
    by_verb = sorted(panel.results, key=lambda result: "-csv" in result.case)
    for result in by_verb:
        batch, _, verb = result.case.split("/")[2].partition("-")
        if verb not in ("write", "csv"):
            continue
        line = found.setdefault(batch, Line(result.title.partition(", ")[2]))
        if verb == "write":
            line.charts["write only, s"] = (_numbers(result, lambda s: s.seconds), seconds)
        else:
            line.charts["from CSV, total, s"] = (_numbers(result, lambda s: s.total_seconds), seconds)
            line.charts["from CSV, peak MB"] = (_numbers(result, _peak), count)
    return list(found.values())


def _reads(panel: Panel) -> list[Line]:
    lines = []
    for result in panel.results:
        if not result.case.split("/")[2].endswith("-read"):
            continue
        line = Line(result.title)
        line.charts["read only, s"] = (_numbers(result, lambda s: s.seconds), seconds)
        line.charts["total, s"] = (_numbers(result, lambda s: s.total_seconds), seconds)
        line.charts["peak MB"] = (_numbers(result, _peak), count)
        lines.append(line)
    return lines


def _peak(sample: Sample) -> float | None:
    return None if sample.peak_rss_bytes is None else sample.peak_rss_bytes / 1e6


def _numbers(result: Result, measure: Measure) -> dict[str, float]:
    """The medians of those who did the work."""
    return {entry.contestant: value for entry in result.entries if (value := _median(entry, measure)) is not None}


def _median(entry: Entry, measure: Measure) -> float | None:
    found = [value for sample in entry.samples if (value := measure(sample)) is not None]
    return median(found) if found and entry.seconds else None
