"""Running a bench: for each case a warm-up round, then rounds in which the contestants take turns (A B C, A B C, …)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakerace.bench import cases, check, data, process, s3
from lakerace.bench.cases import Case
from lakerace.bench.contestant import Contestant, NoEnvironmentError
from lakerace.bench.data import Shape
from lakerace.bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample, Writer


@dataclass
class Race:
    """All that a run needs; `go` runs it."""

    cases: list[Case]
    contestants: list[Contestant]
    rounds: int
    shape: Shape
    writer: Writer
    folder: Path

    def go(self, tell: Callable[[str], None] = lambda text: print(text, file=sys.stderr)) -> list[Sample]:
        """Runs every case; returns all samples, which are in the writer's file too."""
        tell(f"table of {self.shape.rows} rows in {self.folder}")
        self.table = data.ensure(self.shape, self.folder)
        self.references = check.References(self.table)
        self.tell = tell
        self.taken: list[Sample] = []
        with ExitStack() as stack:
            server = self._serve(stack)
            for case in self.cases:
                self._race(case, server if case.store == "s3" else None)
        return self.taken

    def _serve(self, stack: ExitStack) -> s3.S3 | str | None:
        """The S3 server, or why there is none; None where no case needs one."""
        if not any(case.store == "s3" for case in self.cases):
            return None
        try:
            server = stack.enter_context(s3.served(self.folder))
            server.put(self.table)
        except s3.NoS3Error as why:
            return str(why)
        return server

    def _race(self, case: Case, server: s3.S3 | str | None) -> None:
        if isinstance(server, s3.S3):
            server.pin(process.cpus_for(case.threads)[1])
        entered = [c for c in self.contestants if case.bench in c.jobs and case.store in c.stores]
        for round_number in range(self.rounds + 1):
            for contestant in list(entered):
                sample = self._sample(case, contestant, round_number, server)
                self.writer.add(sample)
                self.taken.append(sample)
                self.tell(_line(sample, self.rounds))
                if sample.verdict in (UNABLE, FAILED):
                    entered.remove(contestant)

    def _sample(self, case: Case, contestant: Contestant, round_number: int, server: s3.S3 | str | None) -> Sample:
        known: dict[str, Any] = {
            "case": case.name,
            "bench": case.bench,
            "store": case.store,
            "title": case.title,
            "threads": case.threads,
            "contestant": contestant.name,
            "round": round_number,
        }
        if isinstance(server, str):
            return Sample(**known, verdict=UNABLE, why=server)
        output = process.scratch(self.folder) / "out.parquet" if case.bench == "write" else None
        counts: dict[str, Any] = {}

        def around(moment: str) -> None:
            if server is None:
                return
            if moment == "before":
                server.reset_counts()
            else:
                counts.update(server.counts())

        try:
            mine, _ = process.cpus_for(case.threads)
            measured = process.run(contestant, self._job(case, server, output), mine, around)
            known |= _numbers(measured, round_number)
            known |= _traffic(counts)
            return Sample(**known, **self._verdict(case, contestant, measured, output))
        except (process.SampleUnableError, NoEnvironmentError) as why:
            return Sample(**known, verdict=UNABLE, why=str(why))
        except (process.SampleFailedError, check.CheckError, OSError) as why:
            return Sample(**known, verdict=FAILED, why=str(why))
        finally:
            if output is not None:
                shutil.rmtree(output.parent, ignore_errors=True)

    def _job(self, case: Case, server: s3.S3 | None, output: Path | None) -> dict[str, Any]:
        job: dict[str, Any] = {"kind": case.bench, "threads": case.threads}
        if case.bench == "write":
            return job | {
                "input": str(self.table),
                "output": str(output),
                "codec": cases.CODEC,
                "row_group_rows": self.shape.row_group_rows,
            }
        return job | {
            "path": str(self.table),
            "s3": server.settings(self.table.name) if server else None,
            "columns": list(case.columns) if case.columns else None,
            "filter": case.filter,
        }

    def _verdict(
        self, case: Case, contestant: Contestant, measured: process.Measured, output: Path | None
    ) -> dict[str, Any]:
        python = contestant.python() if contestant.requirements else Path(sys.executable)
        reference = self.references.of(case, python)
        held, layout, more = measured.held, None, {}
        if output is not None:
            held = check.ask(python, {"written": str(output)})
            layout = check.wrong_layout(held, cases.CODEC, self.shape.row_group_rows)
            more = {"output_bytes": output.stat().st_size, "row_groups": held["row_groups"]}
        why = check.disagreement(reference, held) or layout
        return more | {
            "verdict": WRONG if why else RIGHT,
            "why": why,
            "rows": held.get("rows"),
            "checksum": held.get("checksum"),
            "checked_by": held.get("checked_by"),
        }


def _numbers(measured: process.Measured, round_number: int) -> dict[str, Any]:
    warm_up = round_number == 0
    return {
        "version": measured.version,
        "seconds": round(measured.seconds, 6),
        "outside_seconds": round(measured.outside_seconds, 6),
        "cpu_seconds": round(measured.cpu_seconds, 6),
        "other_cpu_seconds": round(measured.other_cpu_seconds, 2),
        "start_seconds": round(measured.start_seconds, 3),
        "rss_before_bytes": measured.rss_before_bytes,
        "peak_rss_bytes": measured.peak_rss_bytes,
        "peak_anonymous_bytes": measured.peak_anonymous_bytes,
        "options": measured.options if warm_up else {},
        "plan": measured.held.get("plan") if warm_up else None,
    }


def _traffic(counts: dict[str, Any]) -> dict[str, Any]:
    if not counts:
        return {}
    return {
        "requests": counts["requests"],
        "request_bytes": counts["bytes_from_client"] + counts["bytes_to_client"],
        "counts": counts,
    }


def _line(sample: Sample, rounds: int) -> str:
    which = "warm-up" if sample.round == 0 else f"{sample.round}/{rounds}"
    text = f"{sample.case:22} {which:>8}  {sample.contestant:14}"
    if sample.seconds is not None:
        text += f" {sample.seconds:8.3f} s {sample.cpu_seconds:8.3f} CPU s {(sample.peak_rss_bytes or 0) / 1e6:7.0f} MB"
    if sample.requests is not None:
        text += f" {sample.requests:4d} requests"
    if sample.verdict != RIGHT:
        text += f"  {sample.verdict.upper()}: {sample.why}"
    return text
