"""Figures of a report, by matplotlib: bars with their spread for each panel, and the ratios against every peer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lakerace_bench import lines, operations, rounds, upserted
from lakerace_bench.canvas import INK, RULE, SOFT, SUBJECT, bare, colours, heading, legend, new, no_ticks
from lakerace_bench.load_figure import load_figure
from lakerace_bench.numbers import seconds, times
from lakerace_bench.rates import rates_figure
from lakerace_bench.samples import RIGHT
from lakerace_bench.statistics import Result
from lakerace_bench.tables import Document, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Contestants in a row of a chart's key.
_KEY_COLUMNS = 4
#: The cases of a report that has charts: those of more would be as tall as a hundred screens.
_CHARTED_CASES = 150


def draw(report: Document, headings: bool) -> dict[str, Figure]:
    """All figures by key: one a panel, and `ratios` where there are any peers; with their own `headings` or without.

    A report of more cases than can be looked at has none: its tables show the worst cases first.
    """
    if sum(len(panel.results) for panel in report.panels) > _CHARTED_CASES:
        return {}
    drawers = {"seek": lines.gaps_figure, "orc-seek": lines.settings_figure, "upsert": rounds.upserts_figure}
    drawers |= {"tpch": rates_figure, "files": operations.operations_figure, "load": load_figure}
    drawers["file-sizes"] = operations.operations_figure
    drawers["spark-upsert"] = rounds.upserts_figure
    figures = {
        panel.key: drawers.get(panel.bench, _bars)(panel, report, headings) for panel in report.panels if _timed(panel)
    }
    if _against_peers(report):
        figures["ratios"] = _ratios(report, headings)
    return figures


def _timed(panel: Panel) -> bool:
    return any(entry.seconds for result in panel.results for entry in result.entries)


def _against_peers(report: Document) -> list[Result]:
    results = [result for panel in report.panels for result in panel.results if not upserted.is_aside(result)]
    return [result for result in results if any(report.is_peer(ratio.peer) for ratio in result.ratios)]


def _place(result: Result) -> tuple[str, str]:
    """The row and the column of a case's bars."""
    if result.bench == "orc-codec":
        verb, _, codec = result.title.partition(" ")
        return codec, verb
    return result.title.partition(" as ")[0], f"{result.threads} thread{'s' if result.threads > 1 else ''}"


def _bars(panel: Panel, report: Document, headings: bool) -> Figure:
    """A grid: a row per variant, a column per thread count; within a variant all thread counts share the axis."""
    grid = {_place(result): result for result in panel.results}
    variants = list(dict.fromkeys(row for row, _ in grid))
    columns = list(dict.fromkeys(column for _, column in grid))
    counts = [max(len(grid[v, c].entries) for c in columns if (v, c) in grid) for v in variants]
    top = 0.94 if headings else 0.34
    height = top + sum(0.25 * number + 0.36 for number in counts)
    figure = new(height)
    axes = figure.subplots(
        len(variants),
        len(columns),
        squeeze=False,
        gridspec_kw={"height_ratios": [number + 0.3 for number in counts], "hspace": 0.44, "wspace": 0.30},
    )
    # By the letters of a name, of which approximately 105 fill a line. One column alone has room for all of them.
    longest_name = max((len(report.names[e.contestant]) for r in panel.results for e in r.entries), default=0)
    left = 0.115 if len(columns) > 1 else max(0.115, longest_name / 105 + 0.02)
    figure.subplots_adjust(left=left, right=0.975, top=1 - top / height, bottom=0.08 / height)
    if headings:
        work, _, turns = panel.about.partition(";")
        about = f"{work.partition(', ')[0]}; {turns.partition(',')[0].strip()}"
        about += "; line: min to max"
        if report.who and any(result.subject for result in panel.results):
            about += f"; x: multiple of {report.who}'s time"
        heading(figure, height, panel.title, about)
    start = -0.27 if len(columns) > 1 else 0.0
    for row, variant in enumerate(variants):
        for column, name in enumerate(columns):
            axis = axes[row][column]
            if (variant, name) in grid:
                result = grid[variant, name]
                same = [grid[variant, other] for other in columns if (variant, other) in grid]
                scale = [result] if result.bench == "orc-codec" else same
                longest = max((e.seconds.high for r in scale for e in r.entries if e.seconds), default=1.0)
                _case(axis, result, report, longest)
            else:
                axis.set_visible(False)
            axis.set_title(f"{variant}, {name}", loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=4, x=start)
    return figure


def _case(axis: Axes, result: Result, report: Document, longest: float) -> None:
    colour = colours(report)
    axis.set_xlim(0, longest * 1.42)
    axis.set_ylim(len(result.entries) - 0.5, -0.5)
    own = result.entry(result.subject)
    mine = own.seconds.median if own and own.seconds else None
    for line, entry in enumerate(result.entries):
        subject = entry.contestant == result.subject
        ink, weight = (SUBJECT, "bold") if subject else (INK, "normal")
        name = report.names[entry.contestant]
        axis.text(-longest * 0.03, line, name, ha="right", va="center", fontsize=9, color=ink, fontweight=weight)
        if entry.seconds is None:
            why = entry.verdict.upper() if entry.verdict != RIGHT else "no rounds"
            axis.text(
                longest * 0.02, line, why, ha="left", va="center", fontsize=8.5, color="#b00020", fontweight="bold"
            )
            continue
        spread = entry.seconds
        axis.barh(line, spread.median, height=0.68, color=colour(entry.contestant), linewidth=0)
        axis.plot([spread.low, spread.high], [line, line], color=INK, linewidth=1.1, solid_capstyle="butt")
        label = f"{seconds(spread.median)} s"
        if mine is not None and not subject:
            label += f"   {spread.median / mine:.2f}x"
        end = max(spread.high, spread.median) + longest * 0.025
        axis.text(end, line, label, ha="left", va="center", fontsize=8.8, color=ink, fontweight=weight)
    axis.axvline(0, color=SOFT, linewidth=0.8)
    bare(axis)
    axis.set_xticks([])


def _ratios(report: Document, headings: bool) -> Figure:
    results = _against_peers(report)
    peers = sorted({ratio.peer for result in results for ratio in result.ratios if report.is_peer(ratio.peer)})
    # A comma without a blank is part of a number.
    titles = [
        r.title
        if r.bench in ("load", "scan-public", "scan-types", "write-public")
        else r.title.split(", ")[0].split(" into ")[0]
        for r in results
    ]
    labels = [f"{r.bench}, {r.store}, {what}, {r.threads} thr." for r, what in zip(results, titles, strict=True)]
    key_top = 0.62 if headings else 0.06
    top = key_top + 0.2 + 0.2 * math.ceil((len(peers) + 1) / _KEY_COLUMNS)
    height = top + 0.36 + 0.3 * len(results)
    figure = new(height)
    axis = figure.subplots()
    # By the letters of a label, of which approximately 125 fill a line.
    left = max(0.335, max(map(len, labels), default=0) / 125 + 0.02)
    figure.subplots_adjust(left=left, right=0.9, top=1 - top / height, bottom=0.36 / height)
    who = report.who
    if headings:
        about = f"wall seconds of {who} / wall seconds of a peer, median of the ratios of all rounds; line: min to max"
        heading(figure, height, f"{who} against every peer: left of 1, {who} is faster", about)
    colour = colours(report)
    values = [v for r in results for x in r.ratios if x.peer in peers for v in (x.wall.low, x.wall.high)]
    axis.set_xscale("log", base=2)
    axis.set_xlim(min(0.45, min(values) / 1.15), max(1.15, max(values) * 1.15))
    axis.set_ylim(len(results) - 0.5, -0.5)
    axis.axvline(1, color=INK, linewidth=1.2)
    for line, (result, label) in enumerate(zip(results, labels, strict=True)):
        fastest = result.fastest(peers)
        if line % 2 == 0:
            axis.axhspan(line - 0.5, line + 0.5, color="#f5f7f9", linewidth=0, zorder=0)
        axis.text(
            -0.012, line, label, ha="right", va="center", fontsize=9, color=INK, transform=axis.get_yaxis_transform()
        )
        for ratio in [ratio for ratio in result.ratios if ratio.peer in peers]:
            tint, leads = colour(ratio.peer), fastest is not None and ratio.peer == fastest.peer
            axis.plot([ratio.wall.low, ratio.wall.high], [line, line], color=tint, linewidth=1.6, zorder=2)
            size = 58 if leads else 34
            edge = INK if leads else "white"
            axis.scatter(ratio.wall.median, line, s=size, color=tint, edgecolor=edge, linewidth=1.5, zorder=3)
            if leads:
                text, where = times(ratio.wall.median), axis.get_yaxis_transform()
                axis.text(
                    1.09,
                    line,
                    text,
                    ha="right",
                    va="center",
                    fontsize=9.2,
                    fontweight="bold",
                    color=INK,
                    transform=where,
                )
    bare(axis)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.2g}")
    axis.xaxis.set_minor_locator(no_ticks())
    axis.set_xlabel("ratio, logarithmic", fontsize=8.5, color=SOFT)
    axis.tick_params(axis="x", labelsize=8.5, colors=SOFT, length=0)
    axis.grid(axis="x", color=RULE, linewidth=0.8, zorder=1)
    axis.set_axisbelow(True)
    _key(figure, 1 - key_top / height, [(report.names[peer], colour(peer)) for peer in peers])
    return figure


def _key(figure: Figure, at: float, entries: list[tuple[str, str]]) -> None:
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], marker="o", linestyle="", markersize=6, color=tint, label=name) for name, tint in entries]
    ringed = Line2D(
        [],
        [],
        marker="o",
        linestyle="",
        markersize=7,
        color="white",
        label="fastest peer: its ratio is on the right",
        mew=1.5,
    )
    ringed.set_markeredgecolor(INK)
    legend(figure, [*marks, ringed], at, min(_KEY_COLUMNS, len(entries) + 1), 0.2)
