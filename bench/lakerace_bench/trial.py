"""One entrant's table in `upsert`: made, changed time after time, looked at by others after each change, scanned, compacted."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lakerace_bench import check, memory, process, s3
from lakerace_bench.cases import Case
from lakerace_bench.entrant import Entrant
from lakerace_bench.environment import NoEnvironmentError
from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample
from lakerace_bench.upserts import KEY, Upserts

#: Jobs that take memory for what they write, and are done once.
_CHANGES = ("create", "upsert", "compact")
#: Bytes of memory that are touched before each of them, for each byte of the base: for a peer that writes the whole
#: table, on S3 with its parts in addition, and for the contestant's own memory.
_TOUCHED = 4
#: Scans of a table that are measured, after a warm-up.
_SCANS = 3
#: Who takes so long for one scan of a table needs no warm-up, and sits out the other rounds.
_LONG_SCAN_SECONDS = 12.0


@dataclass
class Umpire:
    """Has tables read back, and says whether they hold what they must."""

    processes: process.Processes
    references: check.References
    #: All who read any tables where these are.
    readers: list[Entrant]

    def of(self, entrant: Entrant) -> list[Entrant]:
        """Who reads the tables that `entrant` makes: others first, since they know nothing of what it meant to write."""
        found = [one for one in self.readers if one.contestant.table == entrant.contestant.table]
        return sorted(found, key=lambda one: one.contestant.name == entrant.contestant.name)

    def wanted(self, files: dict[str, Path], changes: int, reader: Entrant) -> dict[str, Any]:
        """What `reader` must see after so many changes."""
        contestant = reader.contestant
        python = contestant.python() if contestant.requirements else Path(sys.executable)
        return self.references.after_upserts(files, python)[changes]

    def look(self, trial: Trial, changes: int) -> dict[str, Any]:
        """The verdict on a table after so many changes, as fields of a sample.

        Who cannot read here at all is left out, and the sample says who has read.
        """
        readers = self.of(trial.entrant)
        quick = [one for one in readers if one.contestant.checks == "each"] or readers
        seen: dict[str, Any] = {
            "verdict": FAILED,
            "why": "nobody is there who could read the table back",
            "read_by": [],
        }
        for reader in quick:
            try:
                job = trial.job("scan-table", reader) | {"measured": False, "explain": False}
                measured = self.processes.run(reader.contestant, job, trial.cpus, stays=trial.stays(reader))
                wrong = check.disagreement(self.wanted(trial.files, changes, reader), measured.held)
            except (process.SampleUnableError, NoEnvironmentError):
                continue
            except (process.SampleFailedError, check.CheckError) as why:
                return {"verdict": FAILED, "why": f"read by {reader.title}: {why}"}
            known = [*seen["read_by"], reader.contestant.name]
            seen = {"verdict": RIGHT, "why": None, "read_by": known} | _held(measured.held)
            if wrong:
                return seen | {"verdict": WRONG, "why": f"read by {reader.title}: {wrong}"}
            if len(known) == trial.input.looks:
                break
        return seen


@dataclass
class Trial:
    """`go` runs it; `keep` gets its samples."""

    case: Case
    entrant: Entrant
    umpire: Umpire
    server: s3.S3 | str | None
    folder: Path
    files: dict[str, Path]
    rounds: int
    keep: Callable[[Sample], None]
    home: Path = field(init=False)

    @property
    def input(self) -> Upserts:
        found = self.case.input
        assert isinstance(found, Upserts)
        return found

    @property
    def cpus(self) -> set[int]:
        return process.cpus_for(self.case.threads)[0]

    def go(self) -> None:
        """Runs all of it, as far as it goes."""
        if isinstance(self.server, str):
            self.keep(replace(self._sample(self.case, 1), verdict=UNABLE, why=self.server))
            return
        if self.server is not None:
            self.server.make_bucket()
        with process.scratch(self.folder) as self.home:
            self.home.chmod(0o755)  # some databases refuse to run as root, and run as another user
            try:
                self._go()
            finally:
                self._remove_table()

    def _go(self) -> None:
        names = list(self.files)
        if not self._change("create", self._named("create", "the base"), 1, self.files[names[0]], 0):
            return
        spent = 0.0
        for number, name in enumerate(names[1:], start=1):
            if spent > self.case.patience_seconds:
                return
            sample = self._change("upsert", self.case, number, self.files[name], number)
            if sample is None:
                return
            spent += sample.seconds or 0.0
        if self.case.variant != "many":
            return
        self._scans("scan", "scanned")
        if "compact" in self.entrant.contestant.jobs:
            case = self._named("compact", "compacted")
            if self._change("compact", case, 1, None, self.input.times):
                self._scans("compacted-scan", "compacted, then scanned")

    def _change(self, kind: str, case: Case, number: int, source: Path | None, changes: int) -> Sample | None:
        """Has the table made or changed, and looked at; None where it is no good any more."""
        job = self.job(kind, self.entrant) | {"source": str(source) if source else None, "looked_at": False}
        sample = self._measured(case, number, self.entrant, job)
        if sample.verdict == RIGHT:
            sample = replace(sample, table_bytes=self._table_bytes(), **self.umpire.look(self, changes))
        self.keep(sample)
        return sample if sample.verdict == RIGHT else None

    def _scans(self, name: str, title: str) -> None:
        """Has all readers scan the table, taking turns; what each of them sees is looked at in the warm-up."""
        readers = self.umpire.of(self.entrant)
        for number in range(min(self.rounds, _SCANS) + 1):
            for reader in list(readers):
                case = self._named(f"{name}-by-{reader.contestant.name}", f"{title} by {reader.title}")
                job = self.job("scan-table", reader) | {"looked_at": number == 0, "explain": number == 0}
                sample = self._measured(case, number, reader, job)
                is_long = (sample.seconds or 0.0) > _LONG_SCAN_SECONDS
                if sample.verdict != RIGHT or is_long:
                    readers.remove(reader)
                self.keep(replace(sample, round=max(number, 1)) if is_long else sample)

    def _measured(self, case: Case, number: int, who: Entrant, job: dict[str, Any]) -> Sample:
        """One measured section of `who`, which is the entrant or a reader of its table."""
        sample = self._sample(case, number)
        door = self.server.doors[self.case.store] if isinstance(self.server, s3.S3) else None
        counts: dict[str, Any] = {}
        base_bytes = self.files["0"].stat().st_size

        def around(moment: str) -> None:
            if moment == "before" and job["kind"] in _CHANGES:
                # Earlier writes go to the disk now; otherwise the kernel would write them during a measurement.
                os.sync()
                memory.touch(_TOUCHED * base_bytes)
            if door is not None and moment == "before":
                door.reset_counts()
            elif door is not None:
                counts.update(door.counts())

        try:
            run = self.umpire.processes.run
            measured = run(who.contestant, job, self.cpus, around, self.stays(who))
            numbers = process.numbers(measured, job["explain"]) | process.traffic(counts)
            if door is None:
                numbers["written_bytes"] = measured.written_bytes
            wrong = None
            if job["looked_at"]:
                wrong = check.disagreement(self.umpire.wanted(self.files, self.input.times, who), measured.held)
                numbers |= _held(measured.held)
            return replace(sample, verdict=WRONG if wrong else RIGHT, why=wrong, **numbers)
        except (process.SampleUnableError, NoEnvironmentError) as why:
            return replace(sample, verdict=UNABLE, why=str(why))
        except (process.SampleFailedError, check.CheckError, OSError) as why:
            return replace(sample, verdict=FAILED, why=str(why))

    def job(self, kind: str, who: Entrant) -> dict[str, Any]:
        """What is asked of `who`."""
        door = self.server.doors[self.case.store] if isinstance(self.server, s3.S3) else None
        return {
            "kind": kind,
            "threads": self.case.threads,
            "options": self.entrant.options if who.contestant is self.entrant.contestant else who.options,
            "table": str(self.home / "table"),
            "home": str(self.home),
            "key": KEY,
            "s3": door.settings(self.home.name) if door else None,
            "explain": True,
        }

    def stays(self, who: Entrant) -> bool:
        """Whether one process of `who` serves all of its samples."""
        return self.case.bench in who.contestant.stays

    def _table_bytes(self) -> int:
        """What the table takes, older files included."""
        if isinstance(self.server, s3.S3):
            return self.server.size(self.home.name)
        return _size(self.home / "table")

    def _remove_table(self) -> None:
        if isinstance(self.server, s3.S3):
            self.server.remove(self.home.name)
        else:
            shutil.rmtree(self.home / "table", ignore_errors=True)

    def _named(self, name: str, title: str) -> Case:
        """The case of another thing that is done to the table than upserts."""
        return replace(self.case, variant=f"{self.case.variant}-{name}", title=title)

    def _sample(self, case: Case, number: int) -> Sample:
        return Sample(
            case=case.name,
            bench=case.bench,
            store=case.store,
            title=case.title,
            threads=case.threads,
            contestant=self.entrant.name,
            round=number,
            verdict=RIGHT,
        )


def _held(held: dict[str, Any]) -> dict[str, Any]:
    return {name: held.get(name) for name in ("rows", "checksum", "checked_by")}


def _size(place: Path) -> int:
    """Bytes of a file or of all files of a folder."""
    files = [place] if place.is_file() else place.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())
