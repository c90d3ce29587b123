"""What reports say of gaps: where a seek costs as much as reading on, and how settings of the smallest gap compare."""

from __future__ import annotations

from math import exp, log

from lakerace_bench import paths
from lakerace_bench.numbers import count, milliseconds, seconds, size, spread, times
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.table import Row, Section, Table

#: The entrants of `seek`.
AUTO, ONE, TWO, TURNS = "lakerace/auto", "lakerace/one", "lakerace/two", "lakerace/turns"


def gap_of(result: Result) -> int:
    """The gap of a case of `seek`, in bytes, from its name."""
    text = result.case.split("/")[2]
    return int(text[:-3]) << {"KiB": 10, "MiB": 20}[text[-3:]]


def by_path(results: list[Result] | tuple[Result, ...]) -> dict[str, list[Result]]:
    """The results of each path, by growing gap."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=gap_of):
        found.setdefault(result.store, []).append(result)
    return {name: found[name] for name in paths.PATHS if name in found}


def crossover(results: list[Result], other: str) -> tuple[float | None, str]:
    """The gap up to which one request is no slower than `other`, between the measured ones by its logarithm; in words.

    None where it lies outside of the gaps that were measured.
    """
    points = []
    for result in results:
        one, two = result.entry(ONE), result.entry(other)
        if one and two and one.seconds and two.seconds:
            points.append((log(gap_of(result)), log(one.seconds.median / two.seconds.median)))
    if not points:
        return None, ""
    quicker = [at for at, (_, ratio) in enumerate(points) if ratio <= 0]
    if not quicker:
        return None, f"below {size(gap_of(results[0]))}"
    if quicker[-1] == len(points) - 1:
        return None, f"above {size(gap_of(results[-1]))}"
    (left, before), (right, after) = points[quicker[-1]], points[quicker[-1] + 1]
    gap = exp(left + (right - left) * -before / (after - before))
    return gap, size(gap)


def read_through(results: list[Result]) -> str:
    """Up to which gap `auto` read on, in words."""
    merged = [gap_of(result) for result in results if _requests(result.entry(AUTO)) == 1]
    if not merged:
        return f"not even {size(gap_of(results[0]))}"
    every = len(merged) == len(results)
    return f"{'at least ' if every else ''}{size(max(merged))}"


def crossovers(results: list[Result]) -> Section:
    """The measured crossovers of each path, next to latency x bandwidth and the choice of `auto`."""
    rows = []
    for name, found in by_path(results).items():
        path = paths.PATHS[name]
        known = _planned(found[-1].entry(AUTO))
        observed = known["latency_ms"] / 1000 * known["connection_bytes_per_second"] if known else None
        costs = [ratio.wall.median for result in found if (ratio := result.fastest({ONE, TWO}))]
        cells = (
            path.title,
            size(path.latency_times_bandwidth) if path.latency_times_bandwidth else "",
            f"{known['latency_ms']:.3g} ms, {known['connection_bytes_per_second'] / 1e6:,.0f} MB/s" if known else "",
            size(observed) if observed else "",
            crossover(found, TURNS)[1],
            crossover(found, TWO)[1],
            read_through(found),
            times(max(costs)) if costs else "",
        )
        rows.append(Row(cells, "peer"))
    headings = (
        "path",
        "latency x bandwidth",
        "as lakerace saw it",
        "latency x bandwidth",
        "one request beats two in turn up to",
        "and two at once up to",
        "auto reads on up to",
        "auto / the faster, at worst",
    )
    return Section(
        "Where a seek costs as much as reading on",
        "Two ranges of 1 MiB with a gap between. One after the other, the second request costs one more latency, so reading "
        "through the gap is faster up to latency x bandwidth. In parallel, it costs no latency, and a second connection carries "
        "bytes. auto takes the cheapest of the "
        "plans that it predicts within 10 % of the fastest",
        Table(headings, tuple(rows), numbers_from=1),
    )


def table(results: list[Result]) -> Table:
    """Milliseconds by path and gap."""
    rows = []
    for name, found in by_path(results).items():
        for result in found:
            entries = [result.entry(who) for who in (ONE, TWO, TURNS, AUTO)]
            cells = [paths.PATHS[name].short, size(gap_of(result))]
            cells += [milliseconds(e.seconds.median) if e and e.seconds else _why(result) for e in entries]
            cells.append(count(_requests(entries[-1])))
            fastest = result.fastest({ONE, TWO})
            cells += [times(fastest.wall.median), spread(fastest.wall, times)] if fastest else ["", ""]
            rows.append(Row(tuple(cells), "peer"))
    headings = (
        "path",
        "gap",
        "one request, ms",
        "two at once, ms",
        "two in turn, ms",
        "auto, ms",
        "auto's requests",
        "auto / the faster of one and two",
        "min – max",
    )
    return Table(headings, tuple(rows), numbers_from=1, grouped_by=1)


def settings(results: list[Result], names: dict[str, str]) -> Section:
    """The subject, which is `auto`, next to the tool's own fixed settings."""
    rows = []
    all_columns = {result.case: result.entry(result.subject) for result in results}
    for result in results:
        mine = result.entry(result.subject)
        if mine is None or mine.seconds is None:
            continue
        whole = all_columns.get(result.case.replace("-alternate/", "-all/"))
        prefix = mine.contestant.rpartition("-")[0]
        fixed = {entry.contestant for entry in result.entries if entry.contestant.startswith(prefix)}
        best = result.fastest(fixed - {mine.contestant})
        apart = result.entry(f"{prefix}-0")
        cells = [result.title, seconds(mine.seconds.median), count(mine.requests)]
        cells += [count(apart.requests) if apart else ""]
        if best is None:
            cells += ["", "", ""]
        else:
            cells += [names[best.peer], times(best.wall.median), spread(best.wall, times)]
        cells.append(seconds(whole.seconds.median) if whole and whole.seconds else "")
        rows.append(Row(tuple(cells), "subject" if best and best.wall.median <= 1.1 else "peer"))
    headings = (
        "case",
        "auto, s",
        "requests",
        "requests of 0",
        "best fixed setting",
        "auto / it",
        "min – max",
        "all columns, auto, s",
    )
    return Section(
        "auto against fixed settings",
        "Gaps smaller than the setting are read through",
        Table(headings, tuple(rows), numbers_from=1, grouped_by=1),
    )


def _planned(entry: Entry | None) -> dict[str, float] | None:
    return entry.planned if entry else None


def _requests(entry: Entry | None) -> float | None:
    known = _planned(entry)
    return known["requests"] if known else None


def _why(result: Result) -> str:
    return next((f"{entry.verdict.upper()}: {entry.why}" for entry in result.entries if entry.why), "")
