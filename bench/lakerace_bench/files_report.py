"""What reports say of `files`: microseconds of each operation, and what lakerace has to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from lakerace_bench.numbers import count, megabytes, times
from lakerace_bench.samples import RIGHT, Sample
from lakerace_bench.statistics import Entry, Result, Spread
from lakerace_bench.table import Row, Section, Table

#: A ratio that misses by so little was reached, as far as this can tell.
_TOLERANCE = 0.10
#: What ratios are of.
_CPU, _WALL, _STORE, _CONTENT = "CPU", "wall", "store bytes", "content bytes"
_OURS, _DIRECTORY = "lakerace/sqlite", "lakerace/directory"
_TUNED, _SQLITE, _PLAIN = "sqlite3_files/tuned", "sqlite3_files/defaults", "plain_files/open"
_EZFS, _EZFS_WAL, _EZFS_ZSTD = "ezfs/default", "ezfs/wal", "ezfs/zstd"


@dataclass(frozen=True)
class Demand:
    """A ratio that is asked for."""

    variant: str
    peer: str
    #: At least, of times; at most, of bytes.
    factor: float
    measure: str = _CPU
    ours: str = _OURS
    #: Of the peer, where it has another one to do the same.
    peer_variant: str = ""
    store: str = "local"

    @property
    def is_size(self) -> bool:
        """Whether it compares bytes."""
        return self.measure in {_STORE, _CONTENT}


DEMANDS = (
    Demand("64b-get", _SQLITE, 1.3),
    Demand("64b-get", _TUNED, 1.3),
    Demand("64b-get", _EZFS, 4),
    Demand("64b-get-snapshot", _SQLITE, 2),
    Demand("64b-get-snapshot", _TUNED, 2),
    Demand("64b-get-many", _SQLITE, 2),
    Demand("64b-get-many", _TUNED, 2),
    Demand("64b-get-many", _EZFS, 15),
    Demand("64b-put-1000", _EZFS, 3),
    Demand("64b-put-1000", _EZFS_WAL, 3),
    Demand("64b-put-1000", _TUNED, 1.3),
    # ezfs has no import: its puts of 1,000 a commit, in no order.
    Demand("64b-import", _EZFS, 6, peer_variant="64b-put-1000"),
    Demand("64b-put-16-threads-full", _TUNED, 6, _WALL),
    Demand("64b-put-64-threads-full", _TUNED, 25, _WALL),
    Demand("64b-put-normal", _TUNED, 0.9),
    Demand("300kb-get", _PLAIN, 1),
    Demand("300kb-get", _PLAIN, 1, ours=_DIRECTORY),
    Demand("300kb-get", _EZFS, 1.5),
    Demand("300kb-put-full", _EZFS, 1.5),
    Demand("300kb-put-normal", _EZFS_WAL, 1.5),
    Demand("2mb-get", _PLAIN, 1),
    Demand("2mb-get", _PLAIN, 1, ours=_DIRECTORY),
    Demand("2mb-get", _EZFS, 1.5),
    Demand("2mb-put-full", _EZFS, 1.5),
    Demand("2mb-put-normal", _EZFS_WAL, 1.5),
    Demand("json-put", _EZFS_ZSTD, 0.45, _CONTENT, "lakerace/zstd-dict"),
    Demand("json-put", _EZFS_ZSTD, 0.65, _STORE, "lakerace/zstd-dict"),
    Demand("json-put", _EZFS_ZSTD, 0.5, _STORE, "lakerace/packed"),
)


def sections(results: list[Result], names: dict[str, str], who: str) -> tuple[Section, ...]:
    """All tables of a home."""
    found = (
        _demands(results, names),
        _operations(results, names, who),
        _growth(results, names),
        _objects(results, names, who),
        _spaces(results, names),
    )
    return tuple(section for section in found if section.table.rows)


def per_operation(sample: Sample, pick: Callable[[Sample], float | None]) -> float | None:
    """Microseconds of an operation."""
    value = pick(sample)
    return value / sample.operations * 1e6 if value is not None and sample.operations else None


def spread(entry: Entry, pick: Callable[[Sample], float | None]) -> Spread | None:
    """Microseconds of an operation in each round."""
    found = [value for sample in entry.samples if (value := per_operation(sample, pick)) is not None]
    return Spread.of(found)


def _cpu(sample: Sample) -> float | None:
    return sample.cpu_seconds


def _wall(sample: Sample) -> float | None:
    return sample.seconds


def _requests(sample: Sample) -> float | None:
    return sample.requests


def _operations(results: list[Result], names: dict[str, str], who: str) -> Section:
    rows = []
    for result in results:
        ours = result.entry(result.subject)
        for entry in sorted(result.entries, key=_by_cpu):
            cells = [result.title, names[entry.contestant]]
            wall, cpu = spread(entry, _wall), spread(entry, _cpu)
            if entry.verdict != RIGHT or wall is None or cpu is None:
                why = f"{entry.verdict.upper()}: {entry.why or 'only the warm-up ran'}"
                rows.append(Row((*cells, why, *[""] * 6), "bad"))
                continue
            ratio = _ratio(ours, entry, _cpu) if ours and ours is not entry else None
            walls = _ratio(ours, entry, _wall) if ours and ours is not entry else None
            cells += [count(1e6 / wall.median), _micro(wall.median), _micro(cpu.median), _range(cpu)]
            cells += [times(ratio) if ratio else "", times(walls) if walls else "", _frames(entry)]
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    headings = ["operation", "contestant", "a second", "wall µs", "CPU µs", "min – max"]
    headings += [f"it / {who}, CPU", "wall", "log frames a commit"]
    about = (
        f"Microseconds of one get or put; all threads and processes together. Above 1, {who} needs less than that contestant. Frames "
        "of SQLite's log were counted in the warm-up"
    )
    return Section("Each operation", about, Table(tuple(headings), tuple(rows), numbers_from=2, grouped_by=1))


def _growth(results: list[Result], names: dict[str, str]) -> Section:
    rows = []
    for result in results:
        for entry in result.entries:
            found = [sample.tenths for sample in entry.samples if sample.tenths]
            if not found:
                continue
            tenths = [median(one) for one in zip(*found, strict=True)]
            puts = (entry.samples[0].operations or 0) / len(tenths)
            rates = [puts / seconds for seconds in tenths]
            cells = [result.title, names[entry.contestant], *(count(rates[at]) for at in (0, 1, 4, 8, 9))]
            cells += [f"{rates[-1] / rates[0]:.2f}", f"{(entry.peak_rss_bytes or 0) / 1e6:.0f}"]
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    headings = ("operation", "contestant", "1st tenth", "2nd", "5th", "9th", "10th", "10th / 1st", "peak MB")
    about = "Files put per second of wall time, for each tenth of all files; the time to make the files is not included, their memory is"
    return Section("Growth", about, Table(headings, tuple(rows), numbers_from=2, grouped_by=1))


def _objects(results: list[Result], names: dict[str, str], who: str) -> Section:
    rows = []
    for result in results:
        ours = result.entry(result.subject)
        for entry in result.entries:
            if entry.requests is None or entry.seconds is None:
                continue
            before = median(sample.rss_before_bytes or 0 for sample in entry.samples)
            cells = [result.title, names[entry.contestant], count(entry.samples[0].operations or 0)]
            cells += [
                count(entry.requests),
                megabytes(entry.request_bytes),
                f"{entry.seconds.median:.2f}",
                f"{entry.cpu.median:.2f}" if entry.cpu else "",
            ]
            cells += [f"{(entry.peak_rss_bytes or 0) / 1e6:.0f}", f"{before / 1e6:.0f}"]
            picks = (_wall, _cpu, _requests)
            ratios = [_ratio(ours, entry, pick) if ours is not entry else None for pick in picks]
            cells += [times(ratio) if ratio else "" for ratio in ratios]
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    headings = ["operation", "contestant", "gets or puts", "requests", "MB moved", "seconds", "CPU s"]
    headings += ["peak MB", "MB before", f"it / {who}, wall", "CPU", "requests"]
    about = (
        "Requests and bytes as the proxy counts them. Names and contents are in the process's memory before files are put. Above 1, "
        f"{who} needs less than that contestant"
    )
    return Section("Requests", about, Table(tuple(headings), tuple(rows), numbers_from=2, grouped_by=1))


def _spaces(results: list[Result], names: dict[str, str]) -> Section:
    rows = []
    for result in results:
        if result.case.split("/")[2] not in ("json-put", "64b-put-1000", "64b-import"):
            continue
        for entry in result.entries:
            store, content = (_size(entry, measure) for measure in (_STORE, _CONTENT))
            files = next((sample.rows for sample in entry.samples if sample.rows), None)
            if store is None or files is None:
                continue
            cells = [result.title, names[entry.contestant], megabytes(store), f"{store / files:.0f}"]
            cells.append(f"{content / files:.0f}" if content else "")
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    headings = ("operation", "contestant", "store MB", "bytes a file", "of the content")
    about = "What is on the disk when the store is closed. Stores of lakerace hold checksums, sizes and times beside the contents"
    return Section("Space", about, Table(headings, tuple(rows), numbers_from=2, grouped_by=1))


def _demands(results: list[Result], names: dict[str, str]) -> Section:
    rows = []
    for demand in DEMANDS:
        result = _case(results, demand, demand.variant)
        peers = _case(results, demand, demand.peer_variant or demand.variant)
        ours = result.entry(demand.ours) if result else None
        peer = peers.entry(demand.peer) if peers else None
        measured = _measured(demand, ours, peer) if ours and peer else None
        if result is None or peers is None or measured is None:
            continue
        ratio, other = measured
        against = names[demand.peer] + (f" ({peers.title.partition(': ')[2]})" if demand.peer_variant else "")
        sign = "at most" if demand.is_size else "at least"
        cells = [result.title, names[demand.ours], against, demand.measure, f"{sign} {demand.factor:g}x"]
        cells += [f"{times(ratio)}x", f"{times(other)}x" if other is not None else "", _outcome(demand, ratio)]
        rows.append(Row(tuple(cells), "peer" if _outcome(demand, ratio) == "falls short" else "subject"))
    headings = ("operation", "of", "against", "by", "asked for", "measured", "wall or CPU", "outcome")
    about = (
        "For times: the peer's time divided by lakerace's, by the CPU or wall time of an operation, and the other of the two in "
        "the next column. For bytes: lakerace's bytes divided by the peer's. Medians of the ratios of all rounds. A limit that is"
        f" missed by at most {_TOLERANCE:.0%} counts as reached, because this machine can't measure more exactly"
    )
    return Section("What is asked for", about, Table(headings, tuple(rows), numbers_from=4, grouped_by=1))


def _case(results: list[Result], demand: Demand, variant: str) -> Result | None:
    return next((one for one in results if one.case.startswith(f"files/{demand.store}/{variant}/")), None)


def _measured(demand: Demand, ours: Entry, peer: Entry) -> tuple[float, float | None] | None:
    """The ratio, and the ratio by the other clock."""
    if demand.is_size:
        sizes = [_size(ours, demand.measure), _size(peer, demand.measure)]
        return (sizes[0] / sizes[1], None) if sizes[0] and sizes[1] else None
    pick, other = (_cpu, _wall) if demand.measure == _CPU else (_wall, _cpu)
    ratio = _ratio(ours, peer, pick)
    return None if ratio is None else (ratio, _ratio(ours, peer, other))


def _ratio(ours: Entry | None, peer: Entry, pick: Callable[[Sample], float | None]) -> float | None:
    """How many times as much the peer needs for an operation: the median of the rounds that both have."""
    if ours is None:
        return None
    mine = {sample.round: per_operation(sample, pick) for sample in ours.samples}
    pairs = [(per_operation(sample, pick), mine.get(sample.round)) for sample in peer.samples]
    found = [theirs / our for theirs, our in pairs if theirs and our]
    return median(found) if found else None


def _outcome(demand: Demand, ratio: float) -> str:
    share = demand.factor / ratio if demand.is_size else ratio / demand.factor
    if share >= 1:
        return "reached"
    return f"reached within {_TOLERANCE:.0%}" if share >= 1 - _TOLERANCE else "falls short"


def _size(entry: Entry, measure: str) -> float | None:
    found: Iterable[int | None] = (
        sample.store_bytes if measure == _STORE else sample.content_bytes for sample in entry.samples
    )
    known = [value for value in found if value]
    return median(known) if known else None


def _frames(entry: Entry) -> str:
    """Frames of the log for each commit, which the warm-up has counted."""
    return f"{entry.frames_per_put:.1f}" if entry.frames_per_put else ""


def _by_cpu(entry: Entry) -> float:
    cpu = spread(entry, _cpu)
    return cpu.median if cpu else float("inf")


def _micro(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _range(values: Spread) -> str:
    return "" if len(values.values) == 1 else f"{_micro(values.low)} – {_micro(values.high)}"
