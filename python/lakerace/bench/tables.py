"""What reports show, as data: headings, cells and notes. Markdown and HTML print the same tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lakerace.bench.samples import RIGHT, WRONG, Run, Sample
from lakerace.bench.statistics import Entry, Ratio, Result, Spread, summarize

_STORES = {"local": "local file, page cache warm", "s3": "S3 through 20 ms of latency, 100 MB/s per connection"}
_BENCHES = {"scan": "Scan to Arrow in memory", "write": "Write from memory to Parquet"}


@dataclass(frozen=True)
class Row:
    """One line of a table; `kind` is `subject`, `peer` or `bad`."""

    cells: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Table:
    """A table; columns from `numbers_from` on hold numbers."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers_from: int


@dataclass(frozen=True)
class Panel:
    """All cases of one bench on one store: one figure, one table."""

    key: str
    title: str
    about: str
    results: tuple[Result, ...]
    table: Table


@dataclass(frozen=True)
class Document:
    """A report before it is printed."""

    title: str
    run: Run
    subject: str | None
    names: dict[str, str]
    panels: tuple[Panel, ...]
    #: The subject against the fastest peer, a line per case.
    verdicts: Table
    machine: tuple[tuple[str, str], ...]
    contestants: Table
    #: `case contestant: why` of all work that was wrong.
    wrong: tuple[str, ...] = field(default=())


def document(run: Run, samples: list[Sample]) -> Document:
    """Builds the report of `samples`, all taken in `run`."""
    subject = next((name for name, about in run.contestants.items() if about.get("subject")), None)
    names = {name: str(about["title"]) for name, about in run.contestants.items()}
    results = summarize(samples, subject)
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.bench, result.store), []).append(result)
    panels = tuple(_panel(bench, store, found, names, subject, run) for (bench, store), found in groups.items())
    return Document(
        title=f"lakerace bench, {run.date[:10]}",
        run=run,
        subject=subject,
        names=names,
        panels=panels,
        verdicts=_verdicts(results, names),
        machine=_machine(run, samples),
        contestants=_contestants(run, samples),
        wrong=tuple(dict.fromkeys(f"{s.case} {names[s.contestant]}: {s.why}" for s in samples if s.verdict == WRONG)),
    )


def _panel(
    bench: str, store: str, results: list[Result], names: dict[str, str], subject: str | None, run: Run
) -> Panel:
    traffic = any(entry.requests is not None for result in results for entry in result.entries)
    output = any(entry.output_bytes is not None for result in results for entry in result.entries)
    headings = ["case", "threads", "contestant", "seconds", "min – max", "CPU s", "peak MB"]
    headings += ["requests", "MB moved"] if traffic else []
    headings += ["file MB", "row groups"] if output else []
    who = names.get(subject or "", "subject")
    headings += [f"{who} / it, wall", "min – max", "CPU"]
    rows = [
        _row(result, entry, names, subject, traffic, output, len(headings))
        for result in results
        for entry in result.entries
    ]
    rounds = max((len(e.seconds.values) for r in results for e in r.entries if e.seconds), default=0)
    return Panel(
        key=f"{bench}-{store}",
        title=f"{_BENCHES.get(bench, bench)}: {_STORES.get(store, store)}" if bench == "scan" else _BENCHES[bench],
        about=f"{run.options['rows']:,} rows x 8 columns, {run.options['codec']}; median of {rounds} "
        f"round{'' if rounds == 1 else 's'} after a warm-up, contestants taking turns",
        results=tuple(results),
        table=Table(tuple(headings), tuple(rows), numbers_from=3),
    )


def _row(
    result: Result,
    entry: Entry,
    names: dict[str, str],
    subject: str | None,
    traffic: bool,
    output: bool,
    width: int,
) -> Row:
    cells = [result.title, str(result.threads), names[entry.contestant]]
    if entry.verdict != RIGHT or entry.seconds is None:
        cells.append(f"{entry.verdict.upper()}: {entry.why or 'only the warm-up ran'}")
        return Row((*cells, *[""] * (width - len(cells))), "bad")
    cells += [seconds(entry.seconds.median), _range(entry.seconds, seconds)]
    cells += [seconds(entry.cpu.median) if entry.cpu else "", megabytes(entry.peak_rss_bytes)]
    if traffic:
        cells += [_count(entry.requests), megabytes(entry.request_bytes)]
    if output:
        cells += [megabytes(entry.output_bytes), _count(entry.row_groups)]
    cells += _ratio_cells(result.ratio_to(entry.contestant))
    return Row(tuple(cells), "subject" if entry.contestant == subject else "peer")


def _ratio_cells(ratio: Ratio | None) -> list[str]:
    if ratio is None:
        return ["", "", ""]
    return [times(ratio.wall.median), _range(ratio.wall, times), times(ratio.cpu.median) if ratio.cpu else ""]


def _verdicts(results: list[Result], names: dict[str, str]) -> Table:
    rows = []
    for result in results:
        ratio = result.fastest_peer
        if ratio is None:
            continue
        where = f"{result.bench}, {result.store}, {result.title}"
        cells = (where, str(result.threads), names[ratio.peer], *_ratio_cells(ratio))
        rows.append(Row(cells, "subject" if ratio.wall.median <= 1 else "peer"))
    headings = ("case", "threads", "fastest peer", "wall ratio", "min – max", "CPU ratio")
    return Table(headings, tuple(rows), numbers_from=3)


def _machine(run: Run, samples: list[Sample]) -> tuple[tuple[str, str], ...]:
    about: dict[str, Any] = run.machine
    others = [s.other_cpu_seconds / s.outside_seconds for s in samples if s.other_cpu_seconds and s.outside_seconds]
    busy = Spread.of([share for share in others if share < 64])
    checked = sorted({s.checked_by for s in samples if s.checked_by})
    return (
        ("date", run.date),
        ("CPU", f"{about['cpu']}, {about['cpus']} CPUs usable"),
        ("memory", f"{about['memory_bytes'] / 2**30:.1f} GiB"),
        ("system", f"{about['system']} {about['kernel']}, Python {about['python']}"),
        ("commit", str(about.get("commit"))),
        ("load before", f"{about['load_before']:.2f}"),
        ("CPUs busy with anything else, median", f"{busy.median:.2f}" if busy else "not measured"),
        ("checked by", ", ".join(checked) or "nothing"),
    )


def _contestants(run: Run, samples: list[Sample]) -> Table:
    versions: dict[str, str] = {}
    for sample in samples:
        if sample.version:
            versions[sample.contestant] = sample.version
    rows = [
        Row((about["title"], versions.get(name, "did not run"), ", ".join(about["languages"]), about["about"]), "peer")
        for name, about in run.contestants.items()
    ]
    return Table(("contestant", "version", "languages", "what it does here"), tuple(rows), numbers_from=99)


def seconds(value: float) -> str:
    """Seconds with three significant digits or so."""
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def megabytes(value: float | None) -> str:
    """Bytes as MB (10**6)."""
    return "" if value is None else f"{value / 1e6:,.1f}" if value < 1e7 else f"{value / 1e6:,.0f}"


def times(value: float) -> str:
    """A ratio."""
    return f"{value:.2f}"


def _range(spread: Spread, show: Any) -> str:
    return f"{show(spread.low)} – {show(spread.high)}"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
