"""Figures of upserts: what each of them took, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lakerace_bench.canvas import INK, RULE, SOFT, colours, heading, legend, new, no_ticks
from lakerace_bench.samples import Sample
from lakerace_bench.statistics import Result
from lakerace_bench.tables import Document, Panel
from lakerace_bench.upserted import VARIANTS, variant, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "sD^vPX*h"
#: What is alike must look alike: an axis goes over so many times its least at least.
_SPAN = 10
Measure = Callable[[Sample], float | None]


def upserts_figure(panel: Panel, report: Document, headings: bool) -> Figure:
    """A row per case: seconds, memory, bytes (and requests, where they were counted) of each upsert."""
    results = [result for result in panel.results if variant(result) in VARIANTS]
    measures = _measures(results)
    looks = _looks(results, report)
    lines = (len(looks) + 3) // 4
    top = (0.72 if headings else 0.1) + 0.22 * lines + 0.34
    height = top + 2.35 * len(results) + 0.3
    figure = new(height)
    axes = figure.subplots(len(results), len(measures), squeeze=False)
    figure.subplots_adjust(left=0.06, right=0.985, top=1 - top / height, bottom=0.42 / height, hspace=0.36, wspace=0.26)
    if headings:
        heading(figure, height, panel.title, "by the number of the upsert, each once; values on a logarithmic axis")
    for row, result in zip(axes, results, strict=True):
        for axis, (name, measure) in zip(row, measures.items(), strict=True):
            _draw(axis, result, measure, looks)
            axis.set_title(f"{_short(result)}: {name}", loc="left", fontsize=8.6, fontweight="bold", color=INK, pad=4)
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=tint, marker=marker, markersize=5.5, linewidth=1.4, label=report.names[who])
        for who, (tint, marker) in looks.items()
    ]
    legend(figure, marks, 1 - (0.62 if headings else 0.04) / height, 4, 0.5)
    return figure


def _measures(results: list[Result]) -> dict[str, Measure]:
    found: dict[str, Measure] = {
        "seconds": lambda s: s.seconds,
        "peak MB": lambda s: (s.peak_rss_bytes or 0) / 1e6,
    }
    samples = [sample for result in results for entry in result.entries for sample in entry.samples]
    if any(written(sample) is not None for sample in samples):
        found["MB written"] = lambda s: (written(s) or 0) / 1e6
    if any(entry.requests is not None for result in results for entry in result.entries):
        found["requests"] = lambda s: s.requests
    return found


def _looks(results: list[Result], report: Document) -> dict[str, tuple[str, str]]:
    """Colour and marker of each entrant that has any numbers, the subject first."""
    names = {entry.contestant for result in results for entry in result.entries if entry.samples}
    colour = colours(report)
    ordered = sorted(names & report.subjects) + sorted(names - report.subjects)
    return {
        name: (colour(name), "o" if name in report.subjects else _MARKERS[at % len(_MARKERS)])
        for at, name in enumerate(ordered)
    }


def _draw(axis: Axes, result: Result, measure: Measure, looks: dict[str, tuple[str, str]]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

    for entry in result.entries:
        points = [(s.round, value) for s in entry.samples if (value := measure(s))]
        if points:
            tint, marker = looks[entry.contestant]
            axis.plot(*zip(*points, strict=True), color=tint, marker=marker, markersize=4.5, linewidth=1.4)
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.set_ylim(min(low, high / _SPAN), 1.1 * high)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=9))
    axis.yaxis.set_minor_locator(no_ticks())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(SOFT)
    axis.tick_params(axis="both", which="both", labelsize=7.8, colors=SOFT, length=0)
    axis.grid(axis="y", color=RULE, linewidth=0.8, zorder=0)
    axis.set_axisbelow(True)


def _short(result: Result) -> str:
    """`5M into 20M`."""
    return " into ".join(_rounded(part) for part in result.title.replace(" rows", "").split(" into "))


def _rounded(number: str) -> str:
    value = int(number.replace(",", ""))
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return str(value)
