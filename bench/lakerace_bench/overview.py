"""One chart in seconds of a case of each bench: `lakerace bench overview`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lakerace_bench import canvas, report
from lakerace_bench.canvas import INK, SOFT, bare, heading
from lakerace_bench.numbers import seconds
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.tables import Document, tool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Job:
    """A case of the chart: the folder of its samples, its name, and what it is in few words."""

    folder: str
    case: str
    title: str


#: The jobs of the chart, line by line. One of them is a case where lakerace is not the fastest.
JOBS = (
    Job("scan-write", "scan/s3/all/t2", "scan 10 million rows from S3"),
    Job("scan-write", "write/local/snappy/t2", "write 10 million rows as Parquet"),
    Job("scan-write", "scan/local/filter/t1", "1 % of 10 million rows, one thread"),
    Job("upsert-local-10x5m", "upsert/local/many/t2", "upsert 5 million rows into 20 million"),
    Job("upsert-local-few", "upsert/local/few/t2", "upsert 1,000 rows into 20 million"),
    Job("load", "load/delta/all-csv/t2", "CSV on S3 into Delta, 1 million x 50"),
    Job("orc-seek", "orc-seek/s3/128-alternate/t1", "every second ORC column, from S3"),
    Job("tpch", "tpch/local/all-parquet/t2", "TPC-H, scale factor 1, as Parquet"),
    Job("files", "files/local/64b-get/t1", "get 20,000 files of 64 bytes"),
)
_COLUMNS = 3
#: Tools of a case at most: lakerace, and the fastest of the others.
_TOOLS = 4
_TOP_INCHES, _CASE_INCHES = 0.72, 1.24


def write(results: Path) -> Path:
    """Draws the chart from the samples below `results`; gives its path. Raises ValueError where a case has no samples."""
    figure = draw([(job, *_find(results, job)) for job in JOBS])
    path = results / "overview.png"
    path.write_bytes(canvas.png(figure))
    return path


def _find(results: Path, job: Job) -> tuple[Document, Result]:
    files = sorted((results / job.folder).glob("*.jsonl"))
    if not files:
        raise ValueError(
            f"no samples in {results / job.folder}: run `lakerace bench run {job.case.partition('/')[0]}` first"
        )
    found = report.read(files)
    for panel in found.panels:
        for result in panel.results:
            if result.case == job.case:
                return found, result
    raise ValueError(f"{results / job.folder} has no samples of {job.case}")


def fastest(document: Document, result: Result) -> list[tuple[str, Entry]]:
    """The subject and the fastest entrant of each other tool, by time, with the tools' names; the subject is always among them."""
    found: dict[str, Entry] = {}
    for entry in (entry for entry in result.entries if entry.seconds):
        if entry.contestant == result.subject:
            found[document.who or entry.contestant] = entry
        elif document.is_peer(entry.contestant):
            found.setdefault(tool(document.run, entry.contestant), entry)
    own = [(name, entry) for name, entry in found.items() if entry.contestant == result.subject]
    peers = [(name, entry) for name, entry in found.items() if entry.contestant != result.subject]
    return sorted([*own, *peers[: _TOOLS - len(own)]], key=lambda one: one[1].seconds.median if one[1].seconds else 0.0)


def draw(cases: list[tuple[Job, Document, Result]]) -> Figure:
    """A small chart for each job, with a separate axis."""
    lines = math.ceil(len(cases) / _COLUMNS)
    height = _TOP_INCHES + lines * _CASE_INCHES
    figure = canvas.new(height)
    axes = figure.subplots(lines, _COLUMNS, squeeze=False, gridspec_kw={"hspace": 0.42, "wspace": 0.62})
    figure.subplots_adjust(left=0.105, right=0.985, top=1 - (_TOP_INCHES + 0.16) / height, bottom=0.06 / height)
    heading(
        figure,
        height,
        "Seconds of a whole job: shorter is better",
        "the fastest of each tool; two cores; each chart has an axis of its own",
    )
    for axis in axes.flat[len(cases) :]:
        axis.set_visible(False)
    for axis, (job, document, result) in zip(axes.flat, cases, strict=False):
        _job(axis, job, document, result)
    return figure


def _job(axis: Axes, job: Job, document: Document, result: Result) -> None:
    entries = fastest(document, result)
    times = [entry.seconds.median for _, entry in entries if entry.seconds]
    longest = max(times)
    axis.set_xlim(0, longest * 1.3)
    axis.set_ylim(_TOOLS - 0.5, -0.5)
    for line, ((name, entry), took) in enumerate(zip(entries, times, strict=True)):
        is_subject = entry.contestant == result.subject
        tint = canvas.SUBJECT if is_subject else canvas.tool_colour(name)
        ink, weight = (canvas.SUBJECT, "bold") if is_subject else (INK, "normal")
        axis.barh(line, took, height=0.68, color=tint, linewidth=0)
        axis.text(-longest * 0.03, line, name, ha="right", va="center", fontsize=8.6, color=ink, fontweight=weight)
        axis.text(
            took + longest * 0.03,
            line,
            f"{seconds(took)} s",
            ha="left",
            va="center",
            fontsize=8.6,
            color=ink,
            fontweight=weight,
        )
    axis.plot([0, 0], [-0.5, len(entries) - 0.5], color=SOFT, linewidth=0.8)
    axis.set_title(job.title, loc="left", fontsize=9, fontweight="bold", color=INK, pad=4, x=-0.42)
    bare(axis)
    axis.set_xticks([])
