"""A report as one self-contained HTML page."""

from __future__ import annotations

from html import escape

from lakerace_bench.table import Table
from lakerace_bench.tables import Document

_STYLE = """
:root { --ink: #1b2733; --soft: #5d6b79; --rule: #dfe5ea; --subject: #c2410c; --wash: #fdf3ec; --bad: #b00020; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 40px 28px 80px; max-width: 1080px; color: var(--ink); background: #fff;
  font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 52px 0 4px; letter-spacing: -0.01em; }
h3 { font-size: 16px; margin: 30px 0 4px; }
p { margin: 4px 0 14px; color: var(--soft); max-width: 78ch; }
figure { margin: 14px 0 18px; } figure svg { width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1.5px solid var(--ink);
  padding: 6px 10px 6px 0; vertical-align: bottom; }
td { border-bottom: 1px solid var(--rule); padding: 5px 10px 5px 0; vertical-align: top; }
td.number, th.number { text-align: right; } td.number { white-space: nowrap; }
tr.subject td { color: var(--subject); font-weight: 600; background: var(--wash); }
tr.bad td { color: var(--bad); } tr.first td { border-top: 1.5px solid #b9c4ce; }
.wrong { border-left: 5px solid var(--bad); background: #fdecef; color: var(--bad); padding: 12px 18px; }
.wrong p { color: inherit; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 22px; }
dt { color: var(--soft); } dd { margin: 0; }
details { margin: 10px 0; } summary { cursor: pointer; color: var(--soft); }
"""

_SUBTITLE = (
    "Every number is made from raw samples: a fresh process each (Spark's stays); the rows that each of them holds or has written are "
    "checked against a reference by duckdb and pyarrow."
)


def render(report: Document, figures: dict[str, str]) -> str:
    """The whole page; `figures` maps a panel's key (and `ratios`) to its SVG."""
    parts = [f"<h1>{escape(report.title)}</h1>", f"<p>{_SUBTITLE}</p>"]
    if report.wrong:
        items = "".join(f"<li>WRONG {escape(line)}</li>" for line in report.wrong)
        parts.append(
            "<div class=wrong><p>Wrong work: these contestants did other work than the reference; "
            f"their times count for nothing.</p><ul>{items}</ul></div>"
        )
    if report.verdicts.rows:
        parts.append(f"<h2>{escape(report.who)} against the fastest peer</h2>")
        parts.append(f"<p>{escape(report.standing)}</p>")
        parts.append(_table(report.verdicts))
    if report.goals is not None:
        parts.append(
            f"<h2>{escape(report.goals.title)}</h2><p>{escape(report.goals.about)}.</p>{_table(report.goals.table)}"
        )
    if "ratios" in figures:
        parts.append(_figure(figures["ratios"], "ratios against every peer"))
    for panel in report.panels:
        parts.append(f"<h2>{escape(panel.title)}</h2><p>{escape(panel.about)}. Line: fastest to slowest round.</p>")
        if panel.key in figures:
            parts.append(_figure(figures[panel.key], panel.title))
        for section in panel.sections:
            parts.append(f"<h3>{escape(section.title)}</h3><p>{escape(section.about)}.</p>{_table(section.table)}")
        parts += ["<h3>All of it</h3>"] if panel.sections else []
        parts.append(_table(panel.table))
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.machine)
    parts.append(f"<h2>Machine</h2><dl>{facts}</dl>")
    parts.append(f"<h2>Contestants</h2>{_table(report.contestants)}")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _figure(svg: str, label: str) -> str:
    return f'<figure role="img" aria-label="{escape(label)}">{svg}</figure>'


def _table(table: Table) -> str:
    def cells(tag: str, texts: tuple[str, ...]) -> str:
        numbers = [" class=number" if at >= table.numbers_from else "" for at in range(len(texts))]
        return "".join(f"<{tag}{number}>{escape(text)}</{tag}>" for number, text in zip(numbers, texts, strict=True))

    lines = []
    before: tuple[str, ...] = ()
    for row in table.rows:
        group = row.cells[: table.grouped_by] if len(table.headings) > 7 else ()
        first = " first" if before and group != before else ""
        before = group
        if row.kind == "bad":
            at = next(i for i, text in enumerate(row.cells) if _is_reason(text))
            body = cells("td", row.cells[:at]) + f"<td colspan={len(row.cells) - at}>{escape(row.cells[at])}</td>"
        else:
            body = cells("td", row.cells)
        lines.append(f'<tr class="{row.kind}{first}">{body}</tr>')
    return (
        f"<div class=scroll><table><thead><tr>{cells('th', table.headings)}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _is_reason(text: str) -> bool:
    return text.startswith(("WRONG: ", "UNABLE: ", "FAILED: ", "RIGHT: "))
