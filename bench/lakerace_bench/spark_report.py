"""The Spark part of reports: lakerace's connector and other readers and writers in the same version of Spark."""

from __future__ import annotations

from lakerace_bench.numbers import count, megabytes, seconds, spread, times
from lakerace_bench.samples import RIGHT
from lakerace_bench.statistics import Entry, Result, Spread
from lakerace_bench.table import Row, Section, Table

#: Benches whose ratios are taken within a version of Spark.
BENCHES = ("spark-scan", "spark-write")


def sections(results: list[Result], names: dict[str, str], subjects: frozenset[str]) -> tuple[Section, ...]:
    """All tables of a path."""
    return (
        _gains(results, names, subjects),
        *(section for section in (_boundary(results, names, subjects),) if section.table.rows),
    )


def panel_table(results: list[Result], names: dict[str, str], subjects: frozenset[str]) -> Table:
    """A line for each contestant, without ratios across versions."""
    counted = any(entry.requests is not None for result in results for entry in result.entries)
    headings = ["case", "contestant", "seconds", "min – max", "CPU s", "min – max", "peak MB"]
    headings += ["requests", "MB moved"] if counted else []
    written = any(entry.output_bytes is not None for result in results for entry in result.entries)
    headings += ["files MB"] if written else []
    rows = []
    for result in results:
        for entry in result.entries:
            cells = [result.title, names[entry.contestant]]
            if entry.verdict != RIGHT or entry.seconds is None or entry.cpu is None:
                cells.append(f"{entry.verdict.upper()}: {entry.why or 'only the warm-up ran'}")
                rows.append(Row((*cells, *[""] * (len(headings) - len(cells))), "bad"))
                continue
            cells += [seconds(entry.seconds.median), spread(entry.seconds, seconds)]
            cells += [seconds(entry.cpu.median), spread(entry.cpu, seconds), megabytes(entry.peak_rss_bytes)]
            cells += [count(entry.requests), megabytes(entry.request_bytes)] if counted else []
            cells += [megabytes(entry.output_bytes)] if written else []
            rows.append(Row(tuple(cells), "subject" if entry.contestant in subjects else "peer"))
    return Table(tuple(headings), tuple(rows), numbers_from=2, grouped_by=1)


def gains(result: Result, subjects: frozenset[str]) -> list[tuple[Entry, Entry, Spread, Spread]]:
    """The connector against all else in a version of Spark, and delta-spark and LakeSoul: wall and CPU, theirs over ours, pair by pair."""
    found = []
    for ours in result.entries:
        if ours.contestant not in subjects or not ours.samples:
            continue
        for theirs in result.entries:
            if theirs.contestant in subjects or not theirs.samples or not _is_peer(ours.contestant, theirs.contestant):
                continue
            # By their order: several runs may have been joined, whose rounds have the same numbers.
            pairs = list(zip(theirs.samples, ours.samples, strict=False))
            wall = Spread.of([a.seconds / b.seconds for a, b in pairs if a.seconds and b.seconds])
            cpu = Spread.of([a.cpu_seconds / b.cpu_seconds for a, b in pairs if a.cpu_seconds and b.cpu_seconds])
            if wall and cpu:
                found.append((ours, theirs, wall, cpu))
    return found


def _is_peer(ours: str, theirs: str) -> bool:
    """Whether both run in the same Spark, or the peer is not one of the contestants by version."""
    return _contestant(ours) == _contestant(theirs) or not _contestant(theirs).startswith(("spark", "lakerace"))


def _contestant(name: str) -> str:
    return name.partition("/")[0]


def _gains(results: list[Result], names: dict[str, str], subjects: frozenset[str]) -> Section:
    rows = []
    for result in results:
        for ours, theirs, wall, cpu in sorted(gains(result, subjects), key=lambda one: one[0].contestant):
            cells = (names[ours.contestant], names[theirs.contestant], times(wall.median), spread(wall, times))
            rows.append(Row((*cells, times(cpu.median), spread(cpu, times)), "subject" if wall.median >= 1 else "peer"))
    return Section(
        "The same Spark by lakerace and without",
        "Seconds of the other tool divided by those of lakerace's connector: above 1, lakerace needs less. A ratio is the median "
        "of the ratios of all rounds",
        Table(("lakerace", "the other", "wall", "min – max", "CPU", "min – max"), tuple(rows), numbers_from=2),
    )


def _boundary(results: list[Result], names: dict[str, str], subjects: frozenset[str]) -> Section:
    """CPU of the query in Spark less that of lakerace alone."""
    rows = []
    for result in (result for result in results if result.bench == "spark-scan"):
        alone = next((entry for entry in result.entries if entry.contestant == "lakerace/alone"), None)
        for ours in result.entries:
            if ours.contestant not in subjects or alone is None or not (ours.cpu and alone.cpu):
                continue
            more = seconds(ours.cpu.median - alone.cpu.median)
            rows.append(
                Row((names[ours.contestant], seconds(ours.cpu.median), seconds(alone.cpu.median), more), "peer")
            )
    return Section(
        "What Spark adds to the scan",
        "CPU seconds of the query in Spark minus those of lakerace alone: the boundary, Spark's sums, its planning and its tasks together",
        Table(("lakerace", "CPU s", "alone, CPU s", "more, CPU s"), tuple(rows), numbers_from=1),
    )
