"""The contents of reports, as data: headings, cells and notes. Markdown and HTML print the same tables."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from typing import Any

from lakerace_bench import files_report, gaps, generated, load_goals, load_report, paths, spark_report, upserted
from lakerace_bench.numbers import count, megabytes, ratio_cells, seconds, spread, times
from lakerace_bench.samples import RIGHT, WRONG, Run, Sample
from lakerace_bench.statistics import Entry, Ratio, Result, Spread, summarize
from lakerace_bench.table import Row, Section, Table

_BENCHES = {
    "scan": "Scan to Arrow in memory",
    "scan-public": "Scan of public tables to Arrow in memory",
    "scan-types": "Scan of one column to Arrow in memory",
    "write": "Write from memory to Parquet",
    "write-public": "Write of public tables from memory to Parquet",
    "orc-seek": "Columns of ORC",
    "seek": "To seek or to read on",
    "orc-codec": "ORC of TPC-H lineitem, decoded and encoded",
    "upsert": "Upserts by key",
    "tpch": "TPC-H generated",
    "load": "Loads and unloads",
    "files": "Small files",
    "file-sizes": "Small files by size",
    "spark-scan": "Scan in Spark",
    "spark-write": "Write in Spark",
    "spark-upsert": "Upserts by key in Spark",
}
#: Benches with so many cases that the worst are shown first.
_WORST_FIRST = {"scan-public", "scan-types", "write-public"}
#: Benches on a single path, which is not named.
_ONE_PATH = {"write", "write-public", "orc-codec", "tpch"}


@dataclass(frozen=True)
class Panel:
    """All cases of one bench on one path (of `seek`: on all of them): one figure, one table."""

    key: str
    bench: str
    title: str
    about: str
    results: tuple[Result, ...]
    table: Table
    #: Tables that go before it.
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Document:
    """A report before it is printed."""

    title: str
    run: Run
    #: The title of the tool under test.
    who: str
    #: Its entrants, which ratios are relative to.
    subjects: frozenset[str]
    #: Titles of the entrants.
    names: dict[str, str]
    panels: tuple[Panel, ...]
    #: The ratios to the fastest peer in a sentence.
    standing: str
    #: The subject against the fastest peer, a line per case.
    verdicts: Table
    machine: tuple[tuple[str, str], ...]
    contestants: Table
    #: The goals, and the results.
    goals: Section | None = None
    #: `case contestant: why` of all work that was wrong.
    wrong: tuple[str, ...] = field(default=())

    def is_peer(self, contestant: str) -> bool:
        """Whether it is a tool other than the one under test, and not the lower bound of a server."""
        return _is_peer(self.run, contestant, self.who)


def _is_peer(run: Run, contestant: str, who: str) -> bool:
    return tool(run, contestant) != who and not run.contestants[contestant].get("floor")


def tool(run: Run, contestant: str) -> str:
    """The tool of an entrant, with any setting."""
    about = run.contestants[contestant]
    return str(about.get("tool", about["title"]))


def document(run: Run, samples: list[Sample]) -> Document:
    """Builds the report of `samples`, all taken in `run`."""
    subjects = frozenset(name for name, about in run.contestants.items() if about.get("subject"))
    names = {name: str(about["title"]) for name, about in run.contestants.items()}
    who = next((tool(run, name) for name in names if name in subjects), "")
    peers = frozenset(name for name in names if _is_peer(run, name, who))
    results = [_within_versions(result) for result in summarize(samples, subjects)]
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.bench, _group(result)), []).append(result)
    panels = tuple(_panel(bench, store, found, names, who, run, subjects) for (bench, store), found in groups.items())
    return Document(
        title=f"lakerace bench {', '.join(dict.fromkeys(bench for bench, _ in groups))}, {run.date[:10]}",
        run=run,
        who=who,
        subjects=subjects,
        names=names,
        panels=panels,
        verdicts=_verdicts(results, names, peers),
        standing=_standing(results, peers, who),
        machine=_machine(run, samples),
        contestants=_contestants(run, samples),
        goals=load_goals.section(results, names, who),
        wrong=tuple(dict.fromkeys(f"{s.case} {names[s.contestant]}: {s.why}" for s in samples if s.verdict == WRONG)),
    )


def _within_versions(result: Result) -> Result:
    """The result without ratios, for benches whose ratios are taken within a version of Spark."""
    return replace(result, ratios=(), subject=None) if result.bench in spark_report.BENCHES else result


def _group(result: Result) -> str:
    """The common property of a panel's cases: the path; for generated tables, the format."""
    if result.bench == "tpch":
        return result.title.partition(" as ")[2]
    return "" if result.bench == "seek" else result.store


def _panel(
    bench: str,
    store: str,
    results: list[Result],
    names: dict[str, str],
    who: str,
    run: Run,
    subjects: frozenset[str],
) -> Panel:
    rounds = max((len(e.seconds.values) for r in results for e in r.entries if e.seconds), default=0)
    work = run.options.get("inputs", {}).get(bench) or f"{run.options['rows']:,} rows x 8 columns"
    codec = f", {run.options['codec']}" if bench in {"scan", "write", "orc-seek", *spark_report.BENCHES} else ""
    title = _BENCHES.get(bench, bench)
    sections: tuple[Section, ...] = ()
    if bench == "seek":
        table, sections = gaps.table(results), (gaps.crossovers(results),)
    elif bench in spark_report.BENCHES:
        table = spark_report.panel_table(results, names, subjects)
        sections = spark_report.sections(results, names, subjects)
    else:
        table = _panel_table(results, names, who)
        if bench == "orc-seek":
            sections = (gaps.settings(results, names),)
        if bench.endswith("upsert"):
            sections = upserted.sections(results, names, who)
        if bench == "load":
            sections = load_report.sections(results, names, who)
        if bench == "files":
            sections = files_report.sections(results, names, who)
        if bench == "tpch":
            sections, title = generated.sections(results, names, who), f"{title} as {store}"
    return Panel(
        key=f"{bench}-{store}".replace(" ", "-") if store else bench,
        bench=bench,
        title=title if not store or bench in _ONE_PATH else f"{title}: {paths.title(store)}",
        about=f"{work}{codec}; " + _turns(bench, rounds, _has_warm_up(results)),
        results=tuple(results),
        table=table,
        sections=sections,
    )


def _has_warm_up(results: list[Result]) -> bool:
    return results[0].bench != "load" or any(result.has_warm_up for result in results)


def _turns(bench: str, rounds: int, has_warm_up: bool) -> str:
    if bench.endswith("upsert"):
        return "one contestant's table after the other's"
    behind = " after a warm-up" if has_warm_up else ""
    each = " in a warm JVM each" if bench in spark_report.BENCHES else behind
    return f"median of {rounds} round{'' if rounds == 1 else 's'}{each}, contestants taking turns"


def _panel_table(results: list[Result], names: dict[str, str], who: str) -> Table:
    traffic = any(entry.requests is not None for result in results for entry in result.entries)
    output = any(entry.output_bytes is not None for result in results for entry in result.entries)
    headings = ["case", "threads", "contestant", "seconds", "min – max", "CPU s", "peak MB"]
    headings += ["requests", "MB moved"] if traffic else []
    headings += ["file MB", "row groups"] if output else []
    headings += [f"{who or 'subject'} / it, wall", "min – max", "CPU"]
    headings += ["file"] if output else []
    rows = [
        _row(result, entry, names, traffic, output, len(headings)) for result in results for entry in result.entries
    ]
    return Table(tuple(headings), tuple(rows), numbers_from=3)


def _row(
    result: Result,
    entry: Entry,
    names: dict[str, str],
    traffic: bool,
    output: bool,
    width: int,
) -> Row:
    cells = [result.title, str(result.threads), names[entry.contestant]]
    if entry.verdict != RIGHT or entry.seconds is None:
        cells.append(f"{entry.verdict.upper()}: {entry.why or 'only the warm-up ran'}")
        return Row((*cells, *[""] * (width - len(cells))), "bad")
    cells += [seconds(entry.seconds.median), spread(entry.seconds, seconds)]
    cells += [seconds(entry.cpu.median) if entry.cpu else "", megabytes(entry.peak_rss_bytes)]
    if traffic:
        cells += [count(entry.requests), megabytes(entry.request_bytes)]
    if output:
        cells += [megabytes(entry.output_bytes), count(entry.row_groups)]
    ratio = result.ratio_to(entry.contestant)
    cells += ratio_cells(ratio)
    if output:
        cells.append(times(ratio.output.median) if ratio and ratio.output else "")
    return Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer")


def _against_fastest(results: list[Result], peers: frozenset[str]) -> list[tuple[Result, Ratio]]:
    """Each result with its ratio to the fastest peer, for those that have one."""
    return [
        (result, ratio)
        for result in results
        if (ratio := result.fastest(peers)) is not None and not upserted.is_aside(result)
    ]


def _verdicts(results: list[Result], names: dict[str, str], peers: frozenset[str]) -> Table:
    found = _against_fastest(results, peers)
    if {result.bench for result, _ in found} <= _WORST_FIRST:
        found.sort(key=lambda pair: -pair[1].wall.median)
    rows = []
    for result, ratio in found:
        where = f"{result.bench}, {result.store}, {result.title}"
        cells = (where, str(result.threads), names[ratio.peer], *ratio_cells(ratio))
        rows.append(Row(cells, "subject" if ratio.wall.median <= 1 else "peer"))
    headings = ("case", "threads", "fastest peer", "wall ratio", "min – max", "CPU ratio")
    return Table(headings, tuple(rows), numbers_from=3)


def _standing(results: list[Result], peers: frozenset[str], who: str) -> str:
    """What the ratios against the fastest peer say together."""
    walls = [ratio.wall.median for _, ratio in _against_fastest(results, peers)]
    about = f"Below 1, {who} needs less. A ratio is the median of the ratios of all rounds."
    if len(walls) < 2:
        return about
    ahead = sum(wall <= 1 for wall in walls)
    return f"{about} In {ahead} of {len(walls)} cases it is at most 1; the median case has {times(statistics.median(walls))}."


def _machine(run: Run, samples: list[Sample]) -> tuple[tuple[str, str], ...]:
    about: dict[str, Any] = run.machine
    others = [s.other_cpu_seconds / s.outside_seconds for s in samples if s.other_cpu_seconds and s.outside_seconds]
    busy = Spread.of([share for share in others if share < 64])
    checked = sorted({s.checked_by for s in samples if s.checked_by})
    return (
        ("date", ", ".join(about.get("dates", [run.date]))),
        ("CPU", f"{about['cpu']}, {about['cpus']} CPUs usable"),
        ("memory", f"{about['memory_bytes'] / 2**30:.1f} GiB"),
        ("system", f"{about['system']} {about['kernel']}, Python {about['python']}"),
        ("commit", str(about.get("commit"))),
        ("load before", f"{about['load_before']:.2f}"),
        ("CPUs busy with anything else, median", f"{busy.median:.2f}" if busy else "not measured"),
        ("checked by", ", ".join(checked) or "nothing"),
    )


def _contestants(run: Run, samples: list[Sample]) -> Table:
    # A tool may run in several contestants' processes, each with a different version.
    versions: dict[tuple[str, str], str] = {}
    for sample in samples:
        if sample.version:
            versions[_what(run, sample.contestant)] = sample.version
    rows = {}
    for name, about in run.contestants.items():
        who, _ = what = _what(run, name)
        rows[what] = (
            who,
            versions.get(what, "did not run"),
            ", ".join(about["languages"]),
            about["about"],
        )
    headings = ("contestant", "version", "languages", "what it does here")
    return Table(headings, tuple(Row(cells, "peer") for cells in rows.values()), numbers_from=99)


def _what(run: Run, contestant: str) -> tuple[str, str]:
    """An entrant's tool, and the description of its contestant."""
    return tool(run, contestant), str(run.contestants[contestant]["about"])
