"""One sample of `files` or `file-sizes`: a store in a separate folder, and a check of the contents that were read or put."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakerace_bench import check, process, s3, small_files
from lakerace_bench.cases import Case
from lakerace_bench.contestant import KIT
from lakerace_bench.entrant import Entrant
from lakerace_bench.environment import NoEnvironmentError
from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample
from lakerace_bench.small_files import SmallFiles, Work


def work(case: Case) -> Work:
    """The work of a case."""
    return small_files.WORKS[case.bench, case.store][case.variant]


@dataclass
class Filing:
    """Takes the samples of `files` and `file-sizes`; `folder` holds the stores until `stack` ends.

    Stores are removed together: ext4 takes long to make files where others were removed in the last minutes.
    """

    processes: process.Processes
    stack: ExitStack
    folder: Path
    _home: Path | None = None
    #: The expected contents, by the job's fields that determine them.
    _expected: dict[str, dict[str, Any]] = field(default_factory=dict)

    def sample(self, case: Case, entrant: Entrant, known: dict[str, Any], server: s3.S3 | None) -> Sample:
        """One sample; `known` are the fields that identify it. `server` is given for cases on S3."""
        assert isinstance(case.input, SmallFiles)
        files = case.input.job(work(case), f"{case.name} round {known['round']}")
        try:
            job = files | {
                "kind": "files",
                "threads": case.threads,
                "options": entrant.options,
                "home": "local" if case.store == "local" else case.store,
                "place": str(self._place()),
                "counts_frames": known["round"] == 0 and files["work"] == "put",
            }
            measured, counts = self._run(case, entrant, job, server)
            numbers = process.numbers(measured, known["round"] == 0) | process.traffic(counts)
            numbers["written_bytes"] = measured.written_bytes
            return Sample(**known, **numbers, **self._verdict(files, measured.held))
        except (process.SampleUnableError, NoEnvironmentError) as why:
            return Sample(**known, verdict=UNABLE, why=str(why))
        except (process.SampleFailedError, check.CheckError, OSError) as why:
            return Sample(**known, verdict=FAILED, why=str(why))

    def _run(
        self, case: Case, entrant: Entrant, job: dict[str, Any], server: s3.S3 | None
    ) -> tuple[process.Measured, dict[str, Any]]:
        """The measurements, and the counts of the proxy during them."""
        cpus, counts = process.cpus_for(case.threads)[0], dict[str, Any]()
        if server is None:
            return self.processes.run(entrant.contestant, job, cpus), counts
        server.make_bucket()
        door, key = server.doors[case.store], Path(job["place"]).name

        def around(moment: str) -> None:
            if moment == "before":
                door.reset_counts()
            else:
                counts.update(door.counts())

        try:
            measured = self.processes.run(entrant.contestant, job | {"s3": door.settings(key)}, cpus, around)
            return measured, counts
        finally:
            server.remove(key)

    def _place(self) -> Path:
        """A new folder."""
        if self._home is None:
            self._home = self.stack.enter_context(process.scratch(self.folder))
        return Path(tempfile.mkdtemp(dir=self._home))

    def _verdict(self, files: dict[str, Any], held: dict[str, Any]) -> dict[str, Any]:
        expected = self._reference(files)
        frames = held.get("wal_frames")
        why = check.disagreement(expected, held)
        if why is None and frames is not None and frames < files["files"]:
            why = f"{frames} frames of the log for {files['files']} commits: not every put has written a page"
        operations = files["operations"] * files["parts"] if files["operations"] else files["files"]
        return {
            "verdict": WRONG if why else RIGHT,
            "why": why,
            "operations": operations,
            **{name: held.get(name) for name in ("wal_frames", "store_bytes", "content_bytes", "tenths")},
            **{name: held.get(name) for name in ("rows", "checksum", "checked_by")},
        }

    def _reference(self, files: dict[str, Any]) -> dict[str, Any]:
        """The expected contents, computed from the seed in a separate process."""
        key = json.dumps(files, sort_keys=True)
        if key not in self._expected:
            self._expected = {key: check.answer([sys.executable, str(KIT / "contents.py")], key)}
        return self._expected[key]
