"""Goals of loads, next to the results: each ratio is computed from the samples, and passes or fails by its limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from lakerace_bench import following
from lakerace_bench.numbers import count, megabytes, times
from lakerace_bench.samples import Sample
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.table import Row, Section, Table

_BATCHES = ("10000", "100000", "all")
_LARGEST_BYTES = 300e6
_GROWTH = 1.2
#: The most bytes that a sync may send, relative to the bytes of the changed rows: it also stores its version.
_SYNC = 1.2
#: The most bytes that it may read from the table, relative to the same: a replaced row is read before and after.
_SYNC_SOURCE = 2.0
Measure = Callable[[Sample], float | None]


def _wall(sample: Sample) -> float | None:
    return sample.seconds


def _cpu(sample: Sample) -> float | None:
    return sample.cpu_seconds


def _total(sample: Sample) -> float | None:
    return sample.total_seconds


def _peak(sample: Sample) -> float | None:
    return sample.peak_rss_bytes


def _sent(sample: Sample) -> float | None:
    """Bytes that were sent to a server; for a file, bytes that were written."""
    target = (sample.counts or {}).get("target")
    return float(target["bytes_from_client"]) if target else sample.written_bytes


@dataclass(frozen=True)
class Goal:
    """A ratio of lakerace to a peer in the same case, and its limit."""

    job: str
    what: str
    limit: float
    variants: tuple[str, ...]
    peer: str
    measure: Measure


def _writes(verb: str) -> tuple[str, ...]:
    return tuple(f"{batch}-{verb}" for batch in _BATCHES)


_GOALS = {
    "delta": (
        Goal("write from CSV", "total time", 1 / 5, _writes("csv"), "delta_spark/append", _total),
        Goal("write from CSV", "total time", 1 / 2, _writes("csv"), "delta_rs/append", _total),
    ),
    "mongodb": (
        Goal("write", "client CPU", 1 / 6, _writes("write"), "pymongo/insert-many", _cpu),
        Goal("write", "time", 1.2, ("all-write",), "pymongo/raw", _wall),
        Goal("read", "client CPU", 0.65, ("arrow-read",), "pymongoarrow/arrow", _cpu),
    ),
    "elasticsearch": (
        Goal("write", "client CPU", 1 / 6, _writes("write"), "elasticsearch_py/bulk", _cpu),
        Goal("write", "time", 0.6, _writes("write"), "elasticsearch_py/parallel-bulk", _wall),
        Goal("read", "client CPU", 1 / 3, ("rows-read",), "elasticsearch_py/search-after", _cpu),
    ),
    "sqlite": (
        Goal("write", "time", 1, _writes("write"), "duckdb_sqlite/attach", _wall),
        Goal("read", "time", 1, ("arrow-read",), "adbc_sqlite/ingest", _wall),
    ),
    "parquet": (Goal("rows", "time", 0.9, ("rows-read", "named-read"), "polars", _wall),),
}
_SYNC_PEERS = {"mongodb": "pymongo/changes", "elasticsearch": "elasticsearch_py/changes", "sqlite": "sqlite3/changes"}


def section(results: list[Result], names: dict[str, str], who: str) -> Section | None:
    """The table of all goals; None where nothing was loaded."""
    cases: dict[tuple[str, str], Result] = {}
    for result in results:
        if result.bench == "load":
            cases[result.store, result.case.split("/")[2]] = result
    rows = [row for store in _GOALS for row in _of_store(store, cases, names, who)]
    if not rows:
        return None
    return Section(
        "What is to be reached",
        "The limits were set before the measurement; a sync may send a fifth more than the changed rows alone, and read each of "
        "them twice. A ratio is the median of the ratios of all rounds. The line of a peer that did not run this case stays open."
        " Memory is that of the client's process; loads are from CSV on S3",
        Table(("system", "job", "what", "at most", "measured", "verdict"), tuple(rows), numbers_from=3, grouped_by=1),
    )


def _of_store(store: str, cases: dict[tuple[str, str], Result], names: dict[str, str], who: str) -> Iterator[Row]:
    title = {"delta": "Delta", "mongodb": "MongoDB", "elasticsearch": "Elasticsearch", "sqlite": "SQLite"}
    system = title.get(store, "Parquet")
    for goal in _GOALS[store]:
        for variant in goal.variants:
            if result := cases.get((store, variant)):
                what = f"{goal.what}, {who} / {names.get(goal.peer, goal.peer)}"
                job = f"{goal.job}, {result.title}" if result.title else goal.job
                yield _row((system, job, what), goal.limit, _pairs(result, goal.peer, goal.measure), times)
    if store == "delta":
        yield from _small_batches(system, cases)
    yield from _memory(system, store, cases)
    for how in ("feed", "comparison"):
        if result := cases.get((store, f"{how}-sync")):
            found = _pairs(result, _SYNC_PEERS[store], _sent)
            what = "bytes written" if store == "sqlite" else "bytes sent"
            yield _row((system, f"sync, {result.title}", f"{what}, {who} / the rows alone"), _SYNC, found, times)
            got = "bytes got from the table / so many rows of the whole load"
            yield _row((system, f"sync, {result.title}", got), _SYNC_SOURCE, _got(result), times)


def _small_batches(system: str, cases: dict[tuple[str, str], Result]) -> Iterator[Row]:
    """Batches of 10,000 against one batch of all rows, by the time of the whole process."""
    small, whole = (_middle(cases.get(("delta", f"{batch}-csv")), _total) for batch in ("10000", "all"))
    if small and whole:
        yield _row((system, "write from CSV", "total time, 10,000 a batch / all at once"), 3, small / whole, times)


def _memory(system: str, store: str, cases: dict[tuple[str, str], Result]) -> Iterator[Row]:
    """The largest memory of a job, and its growth from a tenth of the rows; without Arrow tables in memory."""
    for (at, variant), result in cases.items():
        what, _, verb = variant.partition("-")
        if at != store or (verb != "csv" and (what, verb) not in (("rows", "read"), ("named", "read"))):
            continue
        peak = _middle(result, _peak)
        if peak is None:
            continue
        job = f"read, {result.title}" if verb == "read" else f"write, {result.title}"
        yield _row((system, job, "peak MB"), _LARGEST_BYTES, peak, megabytes)
        less = _middle(cases.get((store, f"{what}-tenth")), _peak)
        if less:
            yield _row((system, job, "peak memory / that of a tenth of the rows"), _GROWTH, peak / less, times)


def _got(result: Result) -> float | None:
    """Bytes that were read from the table, relative to as many rows of a full load."""
    entry = _entry(result, result.subject)
    rows = max((one.rows for one in result.entries), default=0)
    if entry is None or not rows:
        return None
    counts = [sample.counts for sample in entry.samples if sample.counts]
    changed = following.REPLACED + following.NEW + following.GONE
    found = [one["source"]["bytes_to_client"] / (one["whole_bytes"] * changed / rows) for one in counts]
    return median(found) if found else None


def _pairs(result: Result, peer: str, measure: Measure) -> float | None:
    """The median ratio of the rounds that both have measured."""
    ours, theirs = _entry(result, result.subject), _entry(result, peer)
    if ours is None or theirs is None:
        return None
    others = {sample.round: measure(sample) for sample in theirs.samples}
    pairs = [(measure(sample), others.get(sample.round)) for sample in ours.samples]
    found = [mine / other for mine, other in pairs if mine and other]
    return median(found) if found else None


def _middle(result: Result | None, measure: Measure) -> float | None:
    entry = _entry(result, result.subject) if result else None
    found = [value for sample in entry.samples if (value := measure(sample))] if entry else []
    return median(found) if found else None


def _entry(result: Result, name: str | None) -> Entry | None:
    return next((entry for entry in result.entries if entry.contestant == name and entry.seconds), None)


def _row(about: tuple[str, str, str], limit: float, found: float | None, show: Callable[[float], str]) -> Row:
    if found is None:
        return Row((*about, show(limit), "", "not measured"), "peer")
    reached = found <= limit
    return Row(
        (*about, show(limit), show(found), "reached" if reached else "falls short"), "subject" if reached else "peer"
    )


def syncs(results: list[Result], names: dict[str, str], who: str) -> Section:
    """Bytes that were sent to the target and read from the table after a thousand rows had changed."""
    headings = ["changes", "contestant", "s", "CPU s", "server CPU s", "peak MB", "requests", "MB sent", "MB back"]
    headings += ["MB written", "GETs of the table", "MB of the table", "MB of the whole load", f"{who} / it, bytes"]
    rows = []
    for result in results:
        if not result.case.split("/")[2].endswith("-sync"):
            continue
        for entry in result.entries:
            if not entry.seconds:
                cells = [result.title, names[entry.contestant], f"{entry.verdict.upper()}: {entry.why}"]
                rows.append(Row((*cells, *[""] * (len(headings) - 3)), "bad"))
                continue
            ratio = _pairs(result, entry.contestant, _sent) if entry.contestant != result.subject else None
            cells = [result.title, names[entry.contestant], *_sync_numbers(entry), times(ratio) if ratio else ""]
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    return Section(
        "Keeping in step",
        "Before each sample, 700 random rows of the Delta table are changed, 100 random rows are deleted, and 200 rows with new "
        "keys are inserted. Then the target is brought up to date. A proxy counts the bytes to and from the target, and the bytes read from the table on S3; "
        "for a file, the written bytes. The whole load is that of all rows, once",
        Table(tuple(headings), tuple(rows), numbers_from=2, grouped_by=1),
    )


def _sync_numbers(entry: Entry) -> list[str]:
    def middle(pick: Measure) -> float | None:
        found = [value for sample in entry.samples if (value := pick(sample)) is not None]
        return median(found) if found else None

    def counted(where: str, what: str) -> Measure:
        return lambda sample: (sample.counts or {}).get(where, {}).get(what)

    served = middle(counted("target", "requests")) is not None
    return [
        f"{middle(_wall) or 0:.3f}",
        f"{middle(_cpu) or 0:.3f}",
        f"{value:.3f}" if (value := middle(lambda s: s.server_cpu_seconds)) is not None else "",
        megabytes(middle(_peak)),
        count(middle(counted("target", "requests"))),
        _fine(middle(counted("target", "bytes_from_client"))),
        _fine(middle(counted("target", "bytes_to_client"))),
        "" if served else _fine(middle(lambda s: s.written_bytes)),
        count(middle(counted("source", "requests"))),
        _fine(middle(counted("source", "bytes_to_client"))),
        megabytes(middle(lambda s: (s.counts or {}).get("whole_bytes"))),
    ]


def _fine(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.3f}" if value < 1e7 else megabytes(value)
