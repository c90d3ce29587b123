"""What all figures of a report share: colours, fonts, headings, keys."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lakerace_bench.tables import Document, tool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

INK, SOFT, RULE = "#1b2733", "#5d6b79", "#dfe5ea"
SUBJECT = "#e8590c"
#: The same tool in its other settings.
KIN = "#f4b183"
#: Greys and blues for entries that are not tools: ways to read, settings of one tool.
PEERS = ("#5c7fa3", "#9db4c9", "#7b8794", "#b9c2cb", "#3f5f80", "#cfd8e0")
#: The colour of each tool, the same in every figure, from palettes that people who see colours differently tell apart
#: (Okabe and Ito, https://jfly.uni-koeln.de/color/; Paul Tol's muted one, https://personal.sron.nl/~pault/). Orange is lakerace's.
TOOLS = {
    "adbc": "#6699cc",
    "delta-rs": "#332288",
    "delta-spark": "#882255",
    "duckdb": "#009e73",
    "ezfs": "#cc3311",
    "elasticdump": "#b8a642",
    "elasticsearch": "#aa4499",
    "lakesoul": "#cc79a7",
    "lmdb": "#0072b2",
    "one object a file": "#0072b2",
    "plain files": "#7b8794",
    "polars": "#56b4e9",
    "pyarrow": "#0072b2",
    "pymongoarrow": "#117733",
    "pymongo": "#44aa99",
    "rocksdb": "#aa4499",
    "sling": "#999933",
    "spark": "#882255",
    "sqlite3": "#661100",
    "tpchgen-cli": "#0072b2",
    "webdataset": "#44aa99",
}
#: A tool that is not listed.
_OTHER_TOOL = "#7b8794"
#: How much lighter each further entrant of a tool is than the one before.
_LIGHTER = 0.4
_FONTS = ("Inter", "Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans")
_WIDTH_INCHES = 8.6


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


def new(height: float) -> Figure:
    """A figure of a report's width and this height, in inches."""
    import matplotlib as mpl
    from matplotlib import font_manager
    from matplotlib.figure import Figure as New

    installed = {font.name for font in font_manager.fontManager.ttflist}
    mpl.rcParams["font.family"] = next(font for font in _FONTS if font in installed)
    mpl.rcParams["svg.hashsalt"] = "lakerace"
    return New(figsize=(_WIDTH_INCHES, height), facecolor="white")


def heading(figure: Figure, height: float, title: str, about: str) -> None:
    """Title and subtitle, at the top left."""
    figure.text(0.012, 1 - 0.12 / height, title, ha="left", va="top", fontsize=12.5, fontweight="bold", color=INK)
    figure.text(0.012, 1 - 0.37 / height, about, ha="left", va="top", fontsize=8.8, color=SOFT)


def legend(figure: Figure, marks: list[Line2D], at: float, columns: int, gap: float) -> None:
    """A key without a frame whose top is `at`; `gap` lies between a mark and its text, in font sizes."""
    figure.legend(
        handles=marks,
        loc="upper left",
        bbox_to_anchor=(0.0, at),
        ncols=columns,
        frameon=False,
        fontsize=9,
        handletextpad=gap,
        columnspacing=1.4,
        borderpad=0,
        labelcolor=INK,
    )


def bare(axis: Axes) -> None:
    """Takes the frame away and the ticks of the values."""
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.set_yticks([])


def no_ticks() -> Any:
    """For an axis that has major ticks only."""
    from matplotlib.ticker import NullLocator

    return NullLocator()


def colours(report: Document) -> Callable[[str], str]:
    """The colour of an entrant: its tool's, and lighter for each further entrant of that tool."""
    seen: Counter[str] = Counter()
    given = {name: PEERS[-1] for name, about in report.run.contestants.items() if about.get("floor")}
    for name in sorted(name for name in report.names if report.is_peer(name)):
        tint = tool_colour(tool(report.run, name))
        given[name] = lighter(tint, 1 - (1 - _LIGHTER) ** seen[tint])
        seen[tint] += 1
    return lambda name: SUBJECT if name in report.subjects else given.get(name, KIN)


def tool_colour(title: str) -> str:
    """The colour of the tool whose title starts with this text, for all of its versions."""
    begins = [name for name in TOOLS if title.lower().startswith(name)]
    return TOOLS[max(begins, key=len)] if begins else _OTHER_TOOL


def lighter(tint: str, share: float) -> str:
    """The colour `#rrggbb` mixed with so much white, from 0 to 1."""
    parts = (int(tint[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * share):02x}" for part in parts)
