"""The part of reports on upserts: their cost, and that of scans of the table before and after its compaction."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from lakerace_bench.numbers import count, megabytes, ratio_cells, seconds, spread, times
from lakerace_bench.samples import RIGHT, Sample
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.table import Row, Section, Table

#: Cases whose rounds are upserts, one after the other; the others do something else with the same tables.
VARIANTS = ("many", "few")
_SCAN, _COMPACTED_SCAN = "many-scan-by-", "many-compacted-scan-by-"


def variant(result: Result) -> str:
    """The variant of a case of `upsert`: `many`, `many-create`, `many-scan-by-lakerace`, …."""
    return result.case.split("/")[2]


def is_aside(result: Result) -> bool:
    """Whether a case of an upsert bench measures something other than upserts."""
    return result.bench.endswith("upsert") and variant(result) not in VARIANTS


def written(sample: Sample) -> int | None:
    """Bytes that went to the disk, or to the S3 server; None where nothing in between has counted them."""
    if sample.counts:
        return int(sample.counts["bytes_from_client"])
    return sample.written_bytes if sample.store == "local" else None


def sections(results: list[Result], names: dict[str, str], who: str) -> tuple[Section, ...]:
    """All tables of a path."""
    found = [_upserts(results, names, who)]
    asides = (_scans(results, names), _besides(results, names))
    return (*found, *(section for section in asides if section.table.rows))


def _upserts(results: list[Result], names: dict[str, str], who: str) -> Section:
    counted = any(entry.requests is not None for result in results for entry in result.entries)
    headings = ["case", "contestant", "upserts", "all, s", "median, s", "min – max", "CPU s", "peak MB", "MB written"]
    headings += ["requests"] if counted else []
    headings += ["table MB", f"{who} / it, wall", "min – max", "CPU", "read back by"]
    rows = []
    for result in results:
        if variant(result) not in VARIANTS:
            continue
        most = max((len(entry.samples) for entry in result.entries), default=0)
        for entry in result.entries:
            cells = [result.title, names[entry.contestant]]
            if entry.verdict != RIGHT or entry.seconds is None:
                cells.append(f"{entry.verdict.upper()}: {entry.why}")
                rows.append(Row((*cells, *[""] * (len(headings) - len(cells))), "bad"))
                continue
            cells += [f"{len(entry.samples)} of {most}", seconds(sum(entry.seconds.values))]
            cells += [seconds(entry.seconds.median), spread(entry.seconds, seconds)]
            cells += [seconds(_total(entry, lambda s: s.cpu_seconds) or 0)]
            cells += [megabytes(max(s.peak_rss_bytes or 0 for s in entry.samples))]
            cells += [megabytes(_total(entry, written))]
            cells += [count(_total(entry, lambda s: s.requests))] if counted else []
            cells += [megabytes(entry.samples[-1].table_bytes), *ratio_cells(result.ratio_to(entry.contestant))]
            readers = dict.fromkeys(reader for sample in entry.samples for reader in sample.read_by or ())
            cells += [", ".join(names.get(reader, reader) for reader in readers)]
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    return Section(
        "Upserts",
        "Each source once, in turn, into the same table; memory is the largest of any upsert, bytes and requests are those of "
        "all upserts, the table's size is that of all its files after the last one",
        Table(tuple(headings), tuple(rows), numbers_from=2, grouped_by=1),
    )


def _scans(results: list[Result], names: dict[str, str]) -> Section:
    compacted = {variant(result)[len(_COMPACTED_SCAN) :]: result for result in results if _is(result, _COMPACTED_SCAN)}
    rows = []
    for result in (result for result in results if _is(result, _SCAN)):
        other = compacted.get(variant(result)[len(_SCAN) :])
        for entry in result.entries:
            cells = [result.title, names[entry.contestant]]
            if entry.verdict != RIGHT or entry.seconds is None:
                cells.append(f"{entry.verdict.upper()}: {entry.why}")
                rows.append(Row((*cells, "", "", "", ""), "bad"))
                continue
            cells += [seconds(entry.seconds.median), spread(entry.seconds, seconds)]
            after = other.entry(entry.contestant) if other else None
            if after and after.seconds:
                cells += [seconds(after.seconds.median), spread(after.seconds, seconds)]
                cells += [times(entry.seconds.median / after.seconds.median)]
            else:
                cells += ["", "", ""]
            rows.append(Row(tuple(cells), "subject" if entry.contestant == result.subject else "peer"))
    return Section(
        "Scans of the table",
        "All rows are streamed and thrown away, after all upserts, and again after the tool that made the table has compacted it."
        " Each line names the tool that scans and the tool that made the table",
        Table(
            ("scan", "table of", "seconds", "min – max", "compacted, s", "min – max", "as it is / compacted"),
            tuple(rows),
            numbers_from=2,
            grouped_by=1,
        ),
    )


def _besides(results: list[Result], names: dict[str, str]) -> Section:
    rows = []
    made = {variant(result): result for result in results}
    # The same base is made for both cases: one of them is enough.
    wanted = ["many-create" if "many-create" in made else "few-create", "many-compact"]
    for result in (made[name] for name in wanted if name in made):
        for entry in result.entries:
            if entry.verdict != RIGHT or entry.seconds is None:
                continue
            cells = (
                result.title,
                names[entry.contestant],
                seconds(entry.seconds.median),
                seconds(median(s.cpu_seconds or 0.0 for s in entry.samples)),
                megabytes(entry.peak_rss_bytes),
                megabytes(_total(entry, written)),
                megabytes(entry.samples[-1].table_bytes),
            )
            rows.append(Row(cells, "subject" if entry.contestant == result.subject else "peer"))
    return Section(
        "The base, and compacting",
        "The table's size is that of all its files, old ones included",
        Table(
            ("what", "contestant", "seconds", "CPU s", "peak MB", "MB written", "table MB"),
            tuple(rows),
            numbers_from=2,
            grouped_by=1,
        ),
    )


def _is(result: Result, prefix: str) -> bool:
    return variant(result).startswith(prefix)


def _total(entry: Entry, pick: Callable[[Sample], float | None]) -> float | None:
    found = [value for sample in entry.samples if (value := pick(sample)) is not None]
    return sum(found) if found else None
