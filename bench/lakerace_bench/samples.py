"""Raw samples: JSON lines, the run first, then one line per process that ran. All reports are computed from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

#: The verdict of a sample. RIGHT: measured, and its work was checked. WRONG: its work differs from the reference.
#: UNABLE: the contestant reports that it does not support the case. FAILED: it ended, hung or broke the protocol.
RIGHT, WRONG, UNABLE, FAILED = "right", "wrong", "unable", "failed"
FORMAT = 1


@dataclass(frozen=True)
class Run:
    """The circumstances of all samples of a file."""

    date: str
    machine: dict[str, Any]
    #: Rounds, data, store and codec: all options of the run.
    options: dict[str, Any]
    #: Title and description of every contestant, by name; `subject` marks the tool under test.
    contestants: dict[str, dict[str, Any]]
    format: int = FORMAT


@dataclass(frozen=True)
class Sample:
    """One process. Round 0 is the warm-up and is left out of all statistics."""

    case: str
    bench: str
    store: str
    title: str
    threads: int
    contestant: str
    round: int
    verdict: str
    #: Why the verdict is not RIGHT.
    why: str | None = None
    version: str | None = None
    seconds: float | None = None
    outside_seconds: float | None = None
    cpu_seconds: float | None = None
    other_cpu_seconds: float | None = None
    start_seconds: float | None = None
    rss_before_bytes: int | None = None
    peak_rss_bytes: int | None = None
    peak_anonymous_bytes: int | None = None
    requests: int | None = None
    request_bytes: int | None = None
    #: The proxy's counts, unchanged.
    counts: dict[str, Any] | None = None
    #: Bytes of the output of a write.
    output_bytes: int | None = None
    row_groups: int | None = None
    #: `upsert`: bytes that local file systems were given to store, temporary files included.
    written_bytes: int | None = None
    #: `upsert`: bytes of the table afterwards, including files that no version needs any more.
    table_bytes: int | None = None
    #: `upsert`: the contestants that have read the table back.
    read_by: list[str] | None = None
    #: `load`: from the start of the process, its imports included.
    total_seconds: float | None = None
    total_cpu_seconds: float | None = None
    #: `load`: of the database's server, while the contestant was measured.
    server_cpu_seconds: float | None = None
    server_peak_rss_bytes: int | None = None
    #: `load`: rows that did not arrive.
    lost_rows: int | None = None
    #: `files`: gets or puts in the measured section.
    operations: int | None = None
    #: `files`: frames of SQLite's log that the puts have written; counted in the warm-up of puts with a commit each.
    wal_frames: int | None = None
    #: `files`: bytes of the store, and of the stored contents in it.
    store_bytes: int | None = None
    content_bytes: int | None = None
    #: `files`: seconds that each tenth of the puts took, where there are many.
    tenths: list[float] | None = None
    rows: int | None = None
    checksum: str | None = None
    checked_by: str | None = None
    #: `ranges`: the requests that the planner chose, and the path that it assumed.
    planned: dict[str, Any] | None = None
    #: Effective options, and the plan if the contestant reports one; kept for the warm-up only.
    options: dict[str, Any] = field(default_factory=dict)
    plan: str | None = None


class Writer:
    """Appends samples to an open file, each flushed, so that an interrupted run keeps what it has.

    Where a text holds one of `places`, a folder of this machine, its name is written instead.
    """

    def __init__(self, file: TextIO, places: Mapping[str, str] | None = None) -> None:
        self._file = file
        self._places = dict(places or {})

    def add(self, sample: Sample) -> None:
        """Writes one line; fields without a value are left out."""
        kept = {k: v for k, v in asdict(sample).items() if v is not None and v != {}}
        self._line({"record": "sample"} | kept)

    def finish(self, case: str, seconds: float) -> None:
        """Writes the line that says that a case has ended, and how long it took."""
        self._line({"record": "finished", "case": case, "seconds": round(seconds, 3)})

    def begin(self, run: Run) -> None:
        """Writes the first line."""
        self._line({"record": "run"} | asdict(run))

    def _line(self, what: dict[str, Any]) -> None:
        self._file.write(json.dumps(self._without_places(what)) + "\n")
        self._file.flush()

    def _without_places(self, value: Any) -> Any:
        if isinstance(value, str):
            for place, name in self._places.items():
                value = value.replace(place, name)
            return value
        if isinstance(value, dict):
            return {key: self._without_places(inner) for key, inner in value.items()}
        return [self._without_places(inner) for inner in value] if isinstance(value, list) else value


@contextmanager
def create(path: Path, run: Run, places: Mapping[str, str] | None = None) -> Iterator[Writer]:
    """Opens a new file of samples; `places` as in `Writer`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x") as file:
        writer = Writer(file, places)
        writer.begin(run)
        yield writer


def read(path: Path) -> tuple[Run, list[Sample]]:
    """Reads a file of samples."""
    run = None
    samples = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            record = json.loads(line)
            kind = record.pop("record")
            if kind == "run":
                run = Run(**record)
            elif kind != "finished":
                samples.append(Sample(**record))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: not a bench sample: {error}") from error
    if run is None or run.format != FORMAT:
        raise ValueError(f"{path}: no run of format {FORMAT} in it")
    return run, samples


def finished(path: Path) -> dict[str, float]:
    """The cases of a file that have ended, and the seconds that each took. A file of a single run has none."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {record["case"]: record["seconds"] for record in records if record["record"] == "finished"}
