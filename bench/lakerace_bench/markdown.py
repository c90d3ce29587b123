"""A report as Markdown."""

from __future__ import annotations

from lakerace_bench.table import Table
from lakerace_bench.tables import Document


def render(report: Document, figures: dict[str, str]) -> str:
    """The whole page; `figures` maps a panel's key (and `ratios`) to its picture's file name."""
    lines = [f"# {report.title}", ""]
    if report.wrong:
        lines += [
            "**WRONG WORK: these contestants did other work than the reference; their times count for nothing.**",
            "",
        ]
        lines += [f"- WRONG {_escape(line)}" for line in report.wrong] + [""]
    if report.verdicts.rows:
        lines += [f"## {report.who} against the fastest peer", ""]
        lines += [report.standing, "", *table(report.verdicts), ""]
    if report.goals is not None:
        lines += [f"## {report.goals.title}", "", f"{report.goals.about}.", "", *table(report.goals.table), ""]
    if "ratios" in figures:
        lines += [f"![Ratios against every peer]({figures['ratios']})", ""]
    for panel in report.panels:
        lines += [f"## {panel.title}", "", f"{panel.about}.", ""]
        if panel.key in figures:
            lines += [f"![{panel.title}]({figures[panel.key]})", ""]
        for section in panel.sections:
            lines += [f"### {section.title}", "", f"{section.about}.", "", *table(section.table), ""]
        lines += ["### All of it", ""] if panel.sections else []
        lines += [*table(panel.table), ""]
    lines += ["## Machine", ""]
    lines += [f"- {name}: {_escape(value)}" for name, value in report.machine]
    lines += ["", "## Contestants", "", *table(report.contestants), ""]
    lines += ["How this is measured, and what it cannot tell: [docs/bench.md](../../bench.md).", ""]
    return "\n".join(lines)


def table(content: Table) -> list[str]:
    """A table's lines."""
    rules = [":--" if at < content.numbers_from else "--:" for at in range(len(content.headings))]
    lines = [_line(content.headings), _line(rules)]
    for row in content.rows:
        cells = [_escape(cell) for cell in row.cells]
        lines.append(_line([f"**{cell}**" if cell and row.kind != "peer" else cell for cell in cells]))
    return lines


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
