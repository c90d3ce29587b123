"""The figure of generated tables: rows a second, a small chart for each table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lakerace_bench import generated
from lakerace_bench.canvas import INK, SOFT, SUBJECT, bare, colours, heading, new
from lakerace_bench.numbers import count
from lakerace_bench.samples import RIGHT
from lakerace_bench.statistics import Entry, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lakerace_bench.tables import Document, Panel

#: Charts side by side, where there are so many tables.
_COLUMNS = 3
#: Inches of a bar, of the space above and below a chart's bars, and of the heading.
_BAR, _CHART, _TOP = 0.2, 0.5, 0.72
#: The share of the width that the names of entrants take, left of the charts.
_NAMES = 0.27


def rates_figure(panel: Panel, report: Document, headings: bool) -> Figure:
    """A chart for each table, a bar for each entrant; each chart has a separate scale."""
    entered = generated.entered(list(panel.results), report.names)
    columns = min(_COLUMNS, len(panel.results))
    lines = math.ceil(len(panel.results) / columns)
    top = _TOP if headings else 0.12
    height = top + lines * (_CHART + _BAR * len(entered))
    figure = new(height)
    charts = figure.subplots(lines, columns, squeeze=False)
    gap = _CHART / (_BAR * len(entered))
    bottom = 0.12 / height
    figure.subplots_adjust(
        left=_NAMES, right=0.985, top=1 - (top + 0.28) / height, bottom=bottom, hspace=gap, wspace=0.1
    )
    if headings:
        work, _, turns = panel.about.partition(";")
        about = f"thousands of rows a second; {work.partition(',')[0]}; {turns.partition(',')[0].strip()}"
        heading(figure, height, panel.title, about)
    for at, axis in enumerate(charts.flat):
        if at < len(panel.results):
            _chart(axis, panel.results[at], entered, report, named=at % columns == 0)
        else:
            axis.set_visible(False)
    return figure


def _chart(axis: Axes, result: Result, entered: list[str], report: Document, named: bool) -> None:
    colour = colours(report)
    rates = {name: generated.rate(result.entry(name)) for name in entered}
    longest = max((rate for rate in rates.values() if rate is not None), default=1.0)
    axis.set_xlim(0, longest * 1.3)
    axis.set_ylim(len(entered) - 0.5, -0.5)
    axis.set_title(result.title.partition(" as ")[0], loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=3)
    for line, name in enumerate(entered):
        subject = name in report.subjects
        ink, weight = (SUBJECT, "bold") if subject else (INK, "normal")
        if named:
            label = report.names[name]
            axis.text(-longest * 0.04, line, label, ha="right", va="center", fontsize=8.8, color=ink, fontweight=weight)
        rate = rates[name]
        if rate is None:
            axis.text(longest * 0.02, line, _why(result.entry(name)), va="center", fontsize=8, color=SOFT)
            continue
        axis.barh(line, rate, height=0.7, color=colour(name), linewidth=0)
        axis.text(rate + longest * 0.02, line, count(rate), va="center", fontsize=8.5, color=ink, fontweight=weight)
    axis.axvline(0, color=SOFT, linewidth=0.8)
    bare(axis)
    axis.set_xticks([])


def _why(entry: Entry | None) -> str:
    """Why an entrant has no bar."""
    return "" if entry is None or entry.verdict == RIGHT else entry.verdict
