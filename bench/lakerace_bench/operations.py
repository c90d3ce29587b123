"""The figure of `files`: CPU microseconds of each operation, a line for each, a mark for each contestant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakerace_bench.canvas import INK, RULE, SOFT, SUBJECT, colours, heading, legend, new, no_ticks
from lakerace_bench.files_report import spread
from lakerace_bench.statistics import Result
from lakerace_bench.tables import Document, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "sDv^PX*h<>"
_COLUMNS = 4


def operations_figure(panel: Panel, report: Document, headings: bool) -> Figure:
    """A line per operation on a logarithmic axis; left is better."""
    results = list(panel.results)
    looks = _looks(results, report)
    lines = (len(looks) + _COLUMNS - 1) // _COLUMNS
    top = (0.72 if headings else 0.1) + 0.22 * lines + 0.1
    height = top + 0.33 * len(results) + 0.5
    figure = new(height)
    axis = figure.subplots()
    left = max(len(result.title) for result in results) / 118 + 0.02
    figure.subplots_adjust(left=left, right=0.98, top=1 - top / height, bottom=0.42 / height)
    if headings:
        about = "CPU microseconds of one operation, median of the rounds, on a logarithmic axis: further left is better"
        heading(figure, height, panel.title, about)
    for line, result in enumerate(results):
        _line(axis, line, result, report, looks)
    _dress(axis, results)
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=tint, marker=marker, linestyle="", markersize=6, label=report.names[name])
        for name, (tint, marker) in looks.items()
    ]
    legend(figure, marks, 1 - (0.62 if headings else 0.04) / height, _COLUMNS, 0.2)
    return figure


def _line(axis: Axes, line: int, result: Result, report: Document, looks: dict[str, tuple[str, str]]) -> None:
    if line % 2 == 0:
        axis.axhspan(line - 0.5, line + 0.5, color="#f5f7f9", linewidth=0, zorder=0)
    for entry in result.entries:
        cpu = spread(entry, lambda sample: sample.cpu_seconds)
        if cpu is None:
            continue
        tint, marker = looks[entry.contestant]
        is_ours = entry.contestant in report.subjects
        size, front = (62, 4) if is_ours else (34, 3)
        axis.scatter(
            cpu.median, line, s=size, color=tint, marker=marker, edgecolor="white", linewidth=0.7, zorder=front
        )


def _looks(results: list[Result], report: Document) -> dict[str, tuple[str, str]]:
    """Colour and mark of each entrant with numbers, the subjects first and alike."""
    entered = {entry.contestant for result in results for entry in result.entries if entry.samples}
    colour = colours(report)
    ours = sorted(entered & report.subjects)
    rest = sorted(entered - report.subjects)
    looks = dict.fromkeys(ours, (SUBJECT, "o"))
    return looks | {name: (colour(name), _MARKERS[at % len(_MARKERS)]) for at, name in enumerate(rest)}


def _dress(axis: Axes, results: list[Result]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_ylim(len(results) - 0.5, -0.5)
    axis.set_xscale("log")
    axis.set_yticks(range(len(results)), [result.title for result in results])
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=12))
    axis.xaxis.set_minor_locator(no_ticks())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g} µs"))
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(SOFT)
    axis.tick_params(axis="both", labelsize=8.8, colors=INK, length=0)
    axis.grid(axis="x", color=RULE, linewidth=0.8, zorder=1)
    axis.set_axisbelow(True)
