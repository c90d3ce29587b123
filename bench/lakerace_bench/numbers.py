"""How reports write numbers."""

from __future__ import annotations

from collections.abc import Callable

from lakerace_bench.statistics import Ratio, Spread


def seconds(value: float) -> str:
    """Seconds with three significant digits or so."""
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def megabytes(value: float | None) -> str:
    """Bytes as MB (10**6)."""
    return "" if value is None else f"{value / 1e6:,.1f}" if value < 1e7 else f"{value / 1e6:,.0f}"


def times(value: float) -> str:
    """A ratio: to the hundredth, or with two digits where it is small."""
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def spread(of: Spread, show: Callable[[float], str]) -> str:
    """The smallest and the largest; nothing for one value."""
    return "" if len(of.values) == 1 else f"{show(of.low)} – {show(of.high)}"


def ratio_cells(ratio: Ratio | None) -> list[str]:
    """Three cells: wall time, smallest and largest, CPU."""
    if ratio is None:
        return ["", "", ""]
    return [times(ratio.wall.median), spread(ratio.wall, times), times(ratio.cpu.median) if ratio.cpu else ""]


def count(value: float | None) -> str:
    """A whole number."""
    return "" if value is None else f"{value:,.0f}"


def size(value: float) -> str:
    """Bytes in binary units, as gaps are written."""
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if value >= 1 << power:
            return f"{value / (1 << power):.3g} {unit}"
    return f"{value:.0f} B"


def milliseconds(value: float) -> str:
    """Seconds as ms."""
    return f"{value * 1000:.0f}" if value >= 0.1 else f"{value * 1000:.1f}" if value >= 0.01 else f"{value * 1000:.2f}"
