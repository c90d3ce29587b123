"""Figures with lines: time and requests by the smallest gap that is not read through, and where reading on stops paying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakerace_bench import paths
from lakerace_bench.canvas import INK, KIN, PEERS, RULE, SOFT, SUBJECT, heading, legend, new, no_ticks
from lakerace_bench.gaps import AUTO, ONE, TURNS, TWO, by_path, crossover, gap_of
from lakerace_bench.numbers import size
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.tables import Document, Panel, tool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_WAYS = ((ONE, "one request, the gap read through", PEERS[4]), (TWO, "two requests at once", PEERS[1]))
_TURNS = (TURNS, "two requests in turn", PEERS[2])


def settings_figure(panel: Panel, report: Document, headings: bool) -> Figure:
    """A row per case: seconds on the left, requests on the right (where they were counted), by setting."""
    results = panel.results
    counted = any(entry.requests is not None for result in results for entry in result.entries)
    top, row_height = (1.1 if headings else 0.5), 1.75
    height = top + row_height * len(results) + 0.3
    figure = new(height)
    axes = figure.subplots(len(results), 2 if counted else 1, squeeze=False)
    figure.subplots_adjust(
        left=0.075, right=0.985, top=1 - top / height, bottom=0.36 / height, hspace=0.42, wspace=0.14
    )
    if headings:
        about = "by the smallest gap that is not read through; bars: min to max"
        heading(figure, height, panel.title, about)
    groups = _groups(report)
    steps = sorted({step for series in groups.values() for _, step in series if step is not None})
    for row, result in enumerate(results):
        for column, what in enumerate(("seconds", "requests")[: 2 if counted else 1]):
            axis = axes[row][column]
            for name, series in groups.items():
                _series(axis, result, series, steps, what, _look(name, report))
            _log_axis(axis)
            axis.set_xlim(-0.4, len(steps) + 0.4)
            axis.set_xticks(range(len(steps) + 1), [*("0" if step == 0 else size(step) for step in steps), "auto"])
            axis.set_title(f"{result.title}: {what}", loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=4)
    marks = [_mark(name, *_look(name, report)) for name in groups]
    legend(figure, marks, 1 - (0.6 if headings else 0.04) / height, 4, 0.5)
    return figure


def gaps_figure(panel: Panel, report: Document, headings: bool) -> Figure:
    """A plot per path: milliseconds by gap for each way to read, the crossovers, and what `auto` took."""
    from matplotlib.ticker import FuncFormatter

    found = by_path(panel.results)
    rows = (len(found) + 1) // 2
    top = 1.3 if headings else 0.7
    height = top + 2.5 * rows + 0.35
    figure = new(height)
    axes = figure.subplots(rows, 2, squeeze=False)
    figure.subplots_adjust(left=0.065, right=0.985, top=1 - top / height, bottom=0.45 / height, hspace=0.3, wspace=0.15)
    if headings:
        about = "milliseconds to read two ranges of 1 MiB, by the gap between them; bars: min to max"
        heading(figure, height, panel.title, about)
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    for axis, (name, results) in zip(axes.flat, found.items(), strict=False):
        for who, _, tint in (*_WAYS, _TURNS):
            _curve(axis, results, who, tint)
        for requests, filled in ((1, SUBJECT), (2, "white")):
            chosen = [r for r in results if _took(r.entry(AUTO)) == requests]
            times = [1000 * entry.seconds.median for r in chosen if (entry := r.entry(AUTO)) and entry.seconds]
            axis.scatter(
                [gap_of(r) for r in chosen], times, s=30, color=filled, edgecolor=SUBJECT, linewidth=1.5, zorder=4
            )
        product = paths.PATHS[name].latency_times_bandwidth
        measured, _ = crossover(results, TURNS)
        for at, style in ((product, (0, (5, 3))), (measured, (0, (1, 1.6)))):
            if at is not None:
                axis.axvline(at, color=INK, linewidth=1.2, linestyle=style, zorder=1)
        _log_axis(axis)
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
        axis.set_xticks([gap_of(result) for result in results][::2])
        axis.xaxis.set_minor_locator(no_ticks())
        axis.set_title(paths.PATHS[name].short, loc="left", fontsize=9.2, fontweight="bold", color=INK, pad=4)
    legend(figure, _gap_marks(), 1 - (0.6 if headings else 0.04) / height, 4, 0.5)
    return figure


def _groups(report: Document) -> dict[str, list[tuple[str, int | None]]]:
    """The entrants of `orc-seek` by tool and format, each with its smallest gap in bytes; None: `auto`, or no setting."""
    groups: dict[str, list[tuple[str, int | None]]] = {}
    for name, about in report.run.contestants.items():
        options = about.get("options")
        if options is None or "format" not in options:
            continue
        key = about["title"].partition(",")[0]
        groups.setdefault(key, []).append((name, options.get("min_seek_size")))
    return groups


def _look(name: str, report: Document) -> tuple[str, str]:
    """Colour and marker of a group; no marker for one that has no setting."""
    groups = _groups(report)
    entrants = [entrant for entrant, _ in groups[name]]
    if tool(report.run, entrants[0]) == report.who:
        return (SUBJECT, "o") if any(entrant in report.subjects for entrant in entrants) else (KIN, "D")
    return (PEERS[2], "") if len(entrants) == 1 else (PEERS[4], "s")


def _series(
    axis: Axes,
    result: Result,
    series: list[tuple[str, int | None]],
    steps: list[int],
    what: str,
    look: tuple[str, str],
) -> None:
    """Points at the settings, joined where there are several (the better, where two have the same gap)."""
    tint, marker = look
    best: dict[int, float] = {}
    for name, step in series:
        entry = result.entry(name)
        if entry is None or entry.seconds is None:
            continue
        value = entry.seconds.median if what == "seconds" else entry.requests
        if value is None:
            continue
        at = len(steps) if step is None else steps.index(step)
        shown = at + 0.13 if marker == "D" else at
        if not marker:
            axis.axhline(value, color=tint, linewidth=1.3, linestyle=(0, (4, 2)), zorder=1)
            continue
        if what == "seconds":
            axis.plot([shown, shown], [entry.seconds.low, entry.seconds.high], color=tint, linewidth=1.3, zorder=2)
        axis.scatter(shown, value, s=34, color=tint, marker=marker, edgecolor="white", linewidth=0.8, zorder=3)
        if step is not None:
            best[at] = min(value, best.get(at, value))
    if len(best) > 1:
        axis.plot(sorted(best), [best[at] for at in sorted(best)], color=tint, linewidth=1.2, zorder=1)


def _curve(axis: Axes, results: list[Result], who: str, tint: str) -> None:
    entries = [(gap_of(result), entry.seconds) for result in results if (entry := result.entry(who)) and entry.seconds]
    axis.plot([gap for gap, _ in entries], [1000 * found.median for _, found in entries], color=tint, linewidth=1.6)
    for gap, found in entries:
        axis.plot([gap, gap], [1000 * found.low, 1000 * found.high], color=tint, linewidth=1.0)


def _took(entry: Entry | None) -> float | None:
    return entry.planned["requests"] if entry and entry.planned else None


def _log_axis(axis: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_minor_locator(no_ticks())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(SOFT)
    axis.tick_params(axis="both", which="both", labelsize=8.3, colors=SOFT, length=0)
    axis.grid(axis="y", color=RULE, linewidth=0.8, zorder=0)
    axis.set_axisbelow(True)


def _mark(name: str, tint: str, marker: str) -> Line2D:
    from matplotlib.lines import Line2D

    style: Any = "-" if marker else (0, (4, 2))
    return Line2D([], [], color=tint, marker=marker, markersize=6, linewidth=1.3, linestyle=style, label=name)


def _gap_marks() -> list[Line2D]:
    from matplotlib.lines import Line2D

    ways = [Line2D([], [], color=tint, linewidth=1.8, label=label) for _, label, tint in (*_WAYS, _TURNS)]
    autos = [
        Line2D([], [], marker="o", linestyle="", markersize=6, color=filled, mec=SUBJECT, mew=1.5, label=label)
        for filled, label in ((SUBJECT, "auto: one request"), ("white", "auto: two requests"))
    ]
    upright = [
        Line2D([], [], color=INK, linewidth=1.2, linestyle=(0, (5, 3)), label="latency x bandwidth"),
        Line2D([], [], color=INK, linewidth=1.2, linestyle=(0, (1, 1.6)), label="measured crossover, in turn"),
    ]
    return [*ways, *autos, *upright]
