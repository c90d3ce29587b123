"""What reports say of loads: writing and reading, each with the time of the work alone and of the whole process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from lakerace_bench.numbers import count, megabytes, seconds, times
from lakerace_bench.samples import RIGHT, Sample
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.table import Row, Section, Table

_COSTS = ("CPU s", "server CPU s", "peak MB", "server peak MB")


def sections(results: list[Result], names: dict[str, str], who: str) -> tuple[Section, ...]:
    """All tables of a system."""
    found = (_writes(results, names, who), _reads(results, names, who))
    return tuple(section for section in found if section.table.rows)


def _writes(results: list[Result], names: dict[str, str], who: str) -> Section:
    """From memory and from CSV side by side: a line for each contestant and size of batches."""
    by_batch: dict[str, dict[str, Result]] = {}
    for result in results:
        batch, _, verb = _variant(result).partition("-")
        if verb in ("write", "csv"):
            by_batch.setdefault(batch, {})[verb] = result
    rows = []
    for found in by_batch.values():
        size = next(iter(found.values())).title.partition(", ")[2]
        entered = dict.fromkeys(entry.contestant for result in found.values() for entry in result.entries)
        for name in entered:
            entries = [_entry(found.get(verb), name) for verb in ("write", "csv")]
            cells = [size, names[name], *_numbers(entries[0], whole=False), *_numbers(entries[1], whole=True)]
            cells += [_lost(entries), _ratio(found.get("write"), name), _total_ratio(found.get("csv"), name)]
            rows.append(_row(cells, entries, found.values()))
    headings = ["batch", "contestant", "write s", *_COSTS, "total s", *(f"{cost}, total" for cost in _COSTS)]
    headings += ["rows lost", f"{who} / it, CPU", "total CPU"]
    return Section(
        "Writing",
        "First from Arrow in memory, the work alone, where the peak has the table in it; then from the CSV file on S3, the whole process with "
        "its start. CPU and memory are the client's, and apart from them those of the database's server",
        Table(tuple(headings), tuple(rows), numbers_from=2, grouped_by=1),
    )


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
    """The subject's CPU beside this one's, in pairs."""
    ratio = result.ratio_to(name) if result else None
    return times(ratio.cpu.median) if ratio and ratio.cpu else ""


def _total_ratio(result: Result | None, name: str) -> str:
    """The CPU of the subject's whole process beside that of this one's: the medians."""
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
