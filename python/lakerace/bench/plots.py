"""Figures of a report, by matplotlib: bars with their spread for each panel, and the ratios against every peer."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lakerace.bench.samples import RIGHT
from lakerace.bench.statistics import Result
from lakerace.bench.tables import Document, Panel, seconds, times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _SOFT, _RULE = "#1b2733", "#5d6b79", "#dfe5ea"
_SUBJECT = "#e8590c"
#: Peers are greys and blues, given out by name so that a peer looks the same in every figure.
_PEERS = ("#5c7fa3", "#9db4c9", "#7b8794", "#b9c2cb", "#3f5f80", "#cfd8e0")
_FONTS = ("Inter", "Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans")
_WIDTH_INCHES = 8.6


def draw(report: Document, headings: bool) -> dict[str, Figure]:
    """All figures by key: one a panel, and `ratios` where the subject has any; with their own `headings` or without."""
    figures = {panel.key: _bars(panel, report, headings) for panel in report.panels if _timed(panel)}
    if any(result.ratios for panel in report.panels for result in panel.results):
        figures["ratios"] = _ratios(report, headings)
    return figures


def svg(figure: Figure) -> str:
    """The figure as an SVG element, to be put into a page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def png(figure: Figure) -> bytes:
    """The figure as PNG, at twice a README's width."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None})
    return buffer.getvalue()


def _timed(panel: Panel) -> bool:
    return any(entry.seconds for result in panel.results for entry in result.entries)


def _bars(panel: Panel, report: Document, headings: bool) -> Figure:
    """A grid: a row per variant, a column per thread count; within a variant all share the axis."""
    variants = list(dict.fromkeys(result.title for result in panel.results))
    threads = sorted({result.threads for result in panel.results})
    grid = {(result.title, result.threads): result for result in panel.results}
    lines = [max(len(grid[v, t].entries) for t in threads if (v, t) in grid) for v in variants]
    top = 0.94 if headings else 0.34
    height = top + sum(0.25 * count + 0.36 for count in lines)
    figure = _figure(height)
    axes = figure.subplots(
        len(variants),
        len(threads),
        squeeze=False,
        gridspec_kw={"height_ratios": [count + 0.3 for count in lines], "hspace": 0.44, "wspace": 0.30},
    )
    figure.subplots_adjust(left=0.115, right=0.975, top=1 - top / height, bottom=0.08 / height)
    if headings:
        who = report.names.get(report.subject or "", "the subject")
        about = f"{panel.about.partition(',')[0]}; {panel.about.partition(';')[2].partition(',')[0].strip()}"
        if not report.subject:
            about += "; line: min to max"
        else:
            about += f"; line: min to max; x: multiple of {who}'s time"
        _heading(figure, height, panel.title, about)
    for row, variant in enumerate(variants):
        found = [grid[variant, count] for count in threads if (variant, count) in grid]
        longest = max((e.seconds.high for r in found for e in r.entries if e.seconds), default=1.0)
        for column, count in enumerate(threads):
            axis = axes[row][column]
            if (variant, count) in grid:
                _case(axis, grid[variant, count], report, longest)
            else:
                axis.set_visible(False)
            label = f"{variant}, {count} thread{'s' if count > 1 else ''}"
            axis.set_title(label, loc="left", fontsize=9.5, fontweight="bold", color=_INK, pad=4, x=-0.27)
    return figure


def _case(axis: Axes, result: Result, report: Document, longest: float) -> None:
    colour = _colours(report)
    axis.set_xlim(0, longest * 1.42)
    axis.set_ylim(len(result.entries) - 0.5, -0.5)
    mine = next((e.seconds.median for e in result.entries if e.contestant == report.subject and e.seconds), None)
    for line, entry in enumerate(result.entries):
        subject = entry.contestant == report.subject
        ink, weight = (_SUBJECT, "bold") if subject else (_INK, "normal")
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
        axis.plot([spread.low, spread.high], [line, line], color=_INK, linewidth=1.1, solid_capstyle="butt")
        label = f"{seconds(spread.median)} s"
        if mine is not None and not subject:
            label += f"   {spread.median / mine:.2f}x"
        end = max(spread.high, spread.median) + longest * 0.025
        axis.text(end, line, label, ha="left", va="center", fontsize=8.8, color=ink, fontweight=weight)
    axis.axvline(0, color=_SOFT, linewidth=0.8)
    _bare(axis)
    axis.set_xticks([])


def _ratios(report: Document, headings: bool) -> Figure:
    results = [result for panel in report.panels for result in panel.results if result.ratios]
    top = 1.02 if headings else 0.46
    height = top + 0.36 + 0.3 * len(results)
    figure = _figure(height)
    axis = figure.subplots()
    figure.subplots_adjust(left=0.335, right=0.9, top=1 - top / height, bottom=0.36 / height)
    who = report.names[report.subject or ""]
    if headings:
        about = f"wall seconds of {who} / wall seconds of a peer, pair by pair: median; line: min to max"
        _heading(figure, height, f"{who} against every peer: left of 1, {who} is faster", about)
    colour = _colours(report)
    peers = sorted({ratio.peer for result in results for ratio in result.ratios})
    values = [v for r in results for ratio in r.ratios for v in (ratio.wall.low, ratio.wall.high)]
    axis.set_xscale("log", base=2)
    axis.set_xlim(min(0.45, min(values) / 1.15), max(1.15, max(values) * 1.15))
    axis.set_ylim(len(results) - 0.5, -0.5)
    axis.axvline(1, color=_INK, linewidth=1.2)
    for line, result in enumerate(results):
        fastest = result.fastest_peer
        if line % 2 == 0:
            axis.axhspan(line - 0.5, line + 0.5, color="#f5f7f9", linewidth=0, zorder=0)
        label = f"{result.bench}, {result.store}, {result.title.split(',')[0]}, {result.threads} thr."
        axis.text(
            -0.012, line, label, ha="right", va="center", fontsize=9, color=_INK, transform=axis.get_yaxis_transform()
        )
        for ratio in result.ratios:
            tint, leads = colour(ratio.peer), fastest is not None and ratio.peer == fastest.peer
            axis.plot([ratio.wall.low, ratio.wall.high], [line, line], color=tint, linewidth=1.6, zorder=2)
            size = 58 if leads else 34
            edge = _SUBJECT if leads else "white"
            axis.scatter(ratio.wall.median, line, s=size, color=tint, edgecolor=edge, linewidth=1.5, zorder=3)
            if leads:
                text, where = times(ratio.wall.median), axis.get_yaxis_transform()
                axis.text(1.09, line, text, ha="right", va="center", fontsize=9.2, color=_SUBJECT, transform=where)
    _bare(axis)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.xaxis.set_minor_locator(_no_ticks())
    axis.tick_params(axis="x", labelsize=8.5, colors=_SOFT, length=0)
    axis.grid(axis="x", color=_RULE, linewidth=0.8, zorder=1)
    axis.set_axisbelow(True)
    _key(figure, 1 - (top - 0.4) / height, [(report.names[peer], colour(peer)) for peer in peers])
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
    ringed.set_markeredgecolor(_SUBJECT)
    figure.legend(
        handles=[*marks, ringed],
        loc="upper left",
        bbox_to_anchor=(0.0, at),
        ncols=len(entries) + 1,
        frameon=False,
        fontsize=9,
        handletextpad=0.2,
        columnspacing=1.4,
        borderpad=0,
        labelcolor=_INK,
    )


def _figure(height: float) -> Figure:
    import matplotlib as mpl
    from matplotlib import font_manager
    from matplotlib.figure import Figure as New

    installed = {font.name for font in font_manager.fontManager.ttflist}
    mpl.rcParams["font.family"] = next(font for font in _FONTS if font in installed)
    mpl.rcParams["svg.hashsalt"] = "lakerace"
    return New(figsize=(_WIDTH_INCHES, height), facecolor="white")


def _heading(figure: Figure, height: float, title: str, about: str) -> None:
    figure.text(0.012, 1 - 0.12 / height, title, ha="left", va="top", fontsize=12.5, fontweight="bold", color=_INK)
    figure.text(0.012, 1 - 0.37 / height, about, ha="left", va="top", fontsize=8.8, color=_SOFT)


def _bare(axis: Axes) -> None:
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.set_yticks([])


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _colours(report: Document) -> Callable[[str], str]:
    peers = sorted(name for name in report.names if name != report.subject)
    given = {name: _PEERS[at % len(_PEERS)] for at, name in enumerate(peers)}
    return lambda name: _SUBJECT if name == report.subject else given[name]
