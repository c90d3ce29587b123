"""What reports say of loads: writing and reading, each with the time of the work alone and of the whole process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from lakerace_bench import load_goals
from lakerace_bench.numbers import count, megabytes, seconds, times
from lakerace_bench.samples import RIGHT, Sample
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.table import Row, Section, Table

_COSTS = ("CPU s", "server CPU s", "peak MB", "server peak MB")
_ALONE = (
    "Writing",
    "From Arrow in memory, the work alone; the peak has the table in it. CPU and memory are the client's, then the server's",
)
_WHOLE = ("Loading from CSV", "From the CSV file on S3, the whole process with its start")


def sections(results: list[Result], names: dict[str, str], who: str) -> tuple[Section, ...]:
    """All tables of a system."""
    found = (
        _writes(results, names, who, whole=False),
        _writes(results, names, who, whole=True),
        _reads(results, names, who),
        load_goals.syncs(results, names, who),
    )
    return tuple(section for section in found if section.table.rows)


def _writes(results: list[Result], names: dict[str, str], who: str, *, whole: bool) -> Section:
    """The writing alone, from memory, or the whole process from CSV: a line for each contestant and size of batches."""
    rows = []
    for result in results:
        if not _variant(result).endswith("-csv" if whole else "-write"):
            continue
        size = result.title.partition(", ")[2]
        for entry in result.entries:
            cells = [size, names[entry.contestant], *_numbers(entry, whole=whole), _lost([entry])]
            cells.append((_total_ratio if whole else _ratio)(result, entry.contestant))
            rows.append(_row(cells, [entry], [result]))
    headings = ("batch", "contestant", "total s" if whole else "write s", *_COSTS, "rows lost", f"{who} / it, CPU")
    title, about = _WHOLE if whole else _ALONE
    return Section(title, about, Table(headings, tuple(rows), numbers_from=2, grouped_by=1))


def _reads(results: list[Result], names: dict[str, str], who: str) -> Section:
    rows = []
    for result in results:
        if not _variant(result).endswith("-read"):
            continue
        for entry in result.entries:
            cells = [result.title, names[entry.contestant], *_numbers(entry, whole=False)]
            cells += [seconds(_median(entry, lambda s: s.total_seconds)) if entry.seconds else ""]
            cells += [seconds(_median(entry, lambda s: s.total_cpu_seconds)) if entry.seconds else ""]
            cells += [_lost([entry]), _ratio(result, entry.contestant)]
            rows.append(_row(cells, [entry], [result]))
    headings = ("read", "contestant", "read s", *_COSTS, "total s", "CPU s, total", "rows lost", f"{who} / it, CPU")
    return Section(
        "Reading",
        "All rows: the reading alone, then the whole process with its start",
        Table(headings, tuple(rows), numbers_from=2, grouped_by=1),
    )


def _variant(result: Result) -> str:
    return result.case.split("/")[2]


def _entry(result: Result | None, name: str) -> Entry | None:
    entries = result.entries if result else ()
    return next((entry for entry in entries if entry.contestant == name), None)


def _numbers(entry: Entry | None, whole: bool) -> list[str]:
    """Seconds, CPU of client and server, memory of client and server."""
    if entry is None or entry.seconds is None or entry.verdict != RIGHT:
        return [""] * (1 + len(_COSTS))
    server = [sample.server_cpu_seconds for sample in entry.samples if sample.server_cpu_seconds is not None]
    peaks = [sample.server_peak_rss_bytes for sample in entry.samples if sample.server_peak_rss_bytes is not None]
    return [
        seconds(_median(entry, lambda s: s.total_seconds if whole else s.seconds)),
        seconds(_median(entry, lambda s: s.total_cpu_seconds if whole else s.cpu_seconds)),
        seconds(median(server)) if server else "",
        megabytes(entry.peak_rss_bytes),
        megabytes(median(peaks)) if peaks else "",
    ]


def _median(entry: Entry, pick: Callable[[Sample], float | None]) -> float:
    return median(pick(sample) or 0.0 for sample in entry.samples)


def _lost(entries: list[Entry | None]) -> str:
    """Rows that did not arrive, in any of these."""
    lost = [sample.lost_rows for entry in entries if entry for sample in entry.samples if sample.lost_rows is not None]
    return count(max(lost)) if lost else ""


def _ratio(result: Result | None, name: str) -> str:
    """The subject's CPU relative to this one's, in pairs."""
    ratio = result.ratio_to(name) if result else None
    return times(ratio.cpu.median) if ratio and ratio.cpu else ""


def _total_ratio(result: Result | None, name: str) -> str:
    """The CPU of the subject's whole process relative to that of this one's: the medians."""
    ours, theirs = (_entry(result, each) for each in (result.subject if result and result.subject else "", name))
    if ours is None or theirs is None or ours is theirs or not (ours.seconds and theirs.seconds):
        return ""
    pair = [_median(entry, lambda sample: sample.total_cpu_seconds) for entry in (ours, theirs)]
    return times(pair[0] / pair[1]) if pair[0] and pair[1] else ""


def _row(cells: list[str], entries: list[Entry | None], results: Iterable[Result]) -> Row:
    bad = next((entry for entry in entries if entry and entry.verdict != RIGHT), None)
    timed = any(entry and entry.seconds for entry in entries)
    if bad is not None and not timed:
        kept = cells[:2]
        return Row((*kept, f"{bad.verdict.upper()}: {bad.why}", *[""] * (len(cells) - 3)), "bad")
    subjects = {result.subject for result in results}
    return Row(tuple(cells), "subject" if any(entry and entry.contestant in subjects for entry in entries) else "peer")
