"""Running a bench: for each case a warm-up round, then rounds in which the entrants take turns (A B C, A B C, …)."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lakerace_bench import cases, check, filing, generated, kept, loading, noise, process, s3, spark_jobs
from lakerace_bench.cases import Case
from lakerace_bench.contestant import Contestant
from lakerace_bench.entrant import Entrant, entrants, readers
from lakerace_bench.environment import NoEnvironmentError
from lakerace_bench.lineitem import LEVELS
from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample, Writer
from lakerace_bench.trial import Trial, Umpire
from lakerace_bench.upserts import Upserts

#: Bytes that `seek` reads before it is measured, so that the path is known: several small ranges and a large one.
_LEARNING_BYTES = (64 << 10,) * 4 + (8 << 20,)
#: Kinds of cases that have files for their result.
_WRITES = {"write", "generate"}
#: Kinds of cases whose processes do the work once before it is measured.
_WARMED_UP = {"query", "convert"}
#: A sample of so many times a case's patience is the last that its entrant is asked for on that path.
_ENOUGH = 2


@dataclass
class Race:
    """All that a run needs; `go` runs it."""

    cases: list[Case]
    contestants: list[Contestant]
    rounds: int
    writer: Writer
    folder: Path

    def go(self, tell: Callable[[str], None] = lambda text: print(text, file=sys.stderr)) -> list[Sample]:
        """Runs every case; returns all samples, which are in the writer's file too."""
        self.references = check.References(lambda case: self._files(case)["parquet"])
        self.files: dict[cases.Input, dict[str, Path]] = {}
        self.tell = tell
        self.taken: list[Sample] = []
        #: Files of contestants that were read back, by their bytes' SHA-256.
        self.seen: dict[tuple[str, str], dict[str, Any]] = {}
        #: What is known of generated tables.
        self.tables = generated.Umpire(Path(sys.executable))
        #: Who has used up the patience with a path, and where.
        self.slow: dict[tuple[str, str, str], str] = {}
        with ExitStack() as stack:
            self.processes = stack.enter_context(process.Processes())
            self.loading = loading.Loading(self.processes, stack, self.folder, self.tell)
            self.filing = filing.Filing(self.processes, stack, self.folder)
            server = self._serve(stack)
            for case in self.cases:
                self.tell(f"{case.name}: {case.input.about}, in {self.folder}")
                self._race(case, server if case.path.is_s3 else None)
        return self.taken

    def _serve(self, stack: ExitStack) -> s3.S3 | str | None:
        """The S3 server, or why there is none; None where no case needs one."""
        wanted = {case.path for case in self.cases if case.path.is_s3}
        if not wanted:
            return None
        try:
            return stack.enter_context(s3.served(self.folder, sorted(wanted, key=lambda path: path.name)))
        except s3.NoS3Error as why:
            return str(why)

    def _race(self, case: Case, server: s3.S3 | str | None) -> None:
        if isinstance(server, s3.S3):
            server.pin(process.cpus_for(case.threads)[1])
        entered = [entrant for entrant in entrants(self.contestants, case.bench) if entrant.enters(case)]
        if case.kind == "upsert":
            self._change(case, entered, server)
            return
        rounds = self.rounds * case.turns
        spent = dict.fromkeys((entrant.name for entrant in entered), 0.0)
        for round_number in range(_first_round(case), rounds + 1):
            for entrant in list(entered):
                sample = self._sample(case, entrant, round_number, server)
                spent[entrant.name] += sample.seconds or 0.0
                if spent[entrant.name] > case.patience_seconds:
                    entered.remove(entrant)
                    # Who is that slow needs no warm-up.
                    sample = replace(sample, round=max(sample.round, 1))
                self._keep(sample, case, rounds)
                if sample.verdict in (UNABLE, FAILED) and entrant in entered:
                    entered.remove(entrant)

    def _change(self, case: Case, entered: list[Entrant], server: s3.S3 | str | None) -> None:
        """Tables that change: one entrant's after the other's, because together they may not fit on the disk."""
        assert isinstance(case.input, Upserts)
        times = case.input.times
        umpire = Umpire(self.processes, self.references, [one for one in readers(self.contestants) if one.reads(case)])
        for entrant in entered:

            def keep(sample: Sample) -> None:
                self._keep(sample, case, times)

            Trial(case, entrant, umpire, server, self.folder, self._files(case), self.rounds, keep).go()

    def _keep(self, sample: Sample, case: Case, rounds: int) -> None:
        self.writer.add(sample)
        self.taken.append(sample)
        self.tell(_line(sample, rounds))
        if sample.seconds is not None and sample.seconds > _ENOUGH * case.patience_seconds:
            self.slow[sample.contestant, case.bench, case.store] = f"{sample.seconds:.0f} s in {case.name}"

    def _sample(self, case: Case, entrant: Entrant, round_number: int, server: s3.S3 | str | None) -> Sample:
        known: dict[str, Any] = {
            "case": case.name,
            "bench": case.bench,
            "store": case.store,
            "title": case.title,
            "threads": case.threads,
            "contestant": entrant.name,
            "round": round_number,
        }
        if isinstance(server, str) and case.bench != "load":
            return Sample(**known, verdict=UNABLE, why=server)
        slow = self.slow.get((entrant.name, case.bench, case.store))
        if slow:
            return Sample(**known, verdict=UNABLE, why=f"not asked again on this path: it took {slow}")
        if case.bench == "load":
            return self.loading.sample(case, entrant, known, server)
        if case.kind == "files":
            assert not isinstance(server, str)
            return self.filing.sample(case, entrant, known, server)
        assert not isinstance(server, str)
        door = server.doors[case.store] if server else None
        counts: dict[str, Any] = {}

        def around(moment: str) -> None:
            if door is None:
                return
            if moment == "before":
                door.reset_counts()
            else:
                counts.update(door.counts())

        try:
            with process.scratch(self.folder) if case.kind in _WRITES else nullcontext() as home:
                output = _output(case, home) if home else None
                job = self._job(case, entrant, round_number, server, output)
                mine, _ = process.cpus_for(case.threads)
                stays = case.bench in entrant.contestant.stays
                measured = self.processes.run(entrant.contestant, job, mine, around, stays)
                known |= process.numbers(measured, round_number == _first_round(case))
                known |= process.traffic(counts)
                if case.kind == "convert":
                    return Sample(**known, **self._converted(case, job, server))
                return Sample(**known, **self._verdict(case, entrant, job, measured, output))
        except (process.SampleUnableError, NoEnvironmentError, generated.NoTablesError) as why:
            return Sample(**known, verdict=UNABLE, why=str(why))
        except (process.SampleFailedError, check.CheckError, OSError) as why:
            return Sample(**known, verdict=FAILED, why=str(why))

    def _job(
        self, case: Case, entrant: Entrant, round_number: int, server: s3.S3 | None, output: Path | None
    ) -> dict[str, Any]:
        files = self._files(case)
        options = dict(entrant.options)
        source = str(options.pop("format", case.format))
        job: dict[str, Any] = {
            "kind": case.kind,
            "threads": case.threads,
            "format": source.partition("-")[0],
            "options": options,
            "explain": round_number == _first_round(case),
        }
        if isinstance(case.input, generated.Tpch) and output is not None:
            return job | generated.job(case.variant, case.input.scale, files, output)
        if case.kind == "write":
            return job | {
                "input": str(files["parquet"]),
                "output": str(output),
                "codec": case.codec,
                "level": LEVELS.get(str(case.codec)) if case.format == "orc" else None,
                "row_group_rows": getattr(case.input, "row_group_rows", None),
            }
        if case.kind == "convert" and server:
            key = f"{entrant.name.replace('/', '-')}-{round_number}"
            warm_up = spark_jobs.WARM_UP.files(self.folder)["parquet"]
            place = server.doors[case.store].settings(key)
            return job | {"path": str(files["parquet"]), "warm_up": str(warm_up), "s3": place}
        file = files[source]
        if server:
            server.put(file)
        if case.kind == "query":
            job |= spark_jobs.job(hashed=round_number == _first_round(case))
        job |= {
            "path": str(file),
            "s3": server.doors[case.store].settings(file.name) if server else None,
            "s3_direct": server.direct.settings(file.name) if server else None,
        }
        if case.kind == "ranges":
            return job | _ranges(case, file, round_number)
        return job | {
            "columns": list(case.columns) if case.columns else None,
            "filter": case.filter.job if case.filter else None,
            "reads_before": case.reads_before,
            "warm_up": str(files.get(f"{source}-warm-up", file)),
        }

    def _files(self, case: Case) -> dict[str, Path]:
        """The input's files, which are checked once in a run."""
        if case.input not in self.files:
            self.files[case.input] = case.input.files(self.folder)
        return self.files[case.input]

    def _verdict(
        self, case: Case, entrant: Entrant, job: dict[str, Any], measured: process.Measured, output: Path | None
    ) -> dict[str, Any]:
        if case.kind == "generate" and output is not None:
            return self.tables.verdict(case.variant, self._files(case), output, entrant.options.get("without"))
        held, layout, more = measured.held, None, {}
        if case.kind == "query":
            why = spark_jobs.disagreement(spark_jobs.reference(self._files(case)["parquet"]), held)
            return {"verdict": WRONG if why else RIGHT, "why": why} | spark_jobs.seen(held)
        if case.kind == "ranges":
            reference = {
                "rows": sum(end - begin for begin, end in job["ranges"]),
                "checksum": noise.digest(Path(job["path"]), job["ranges"]),
                "checked_by": "SHA-256",
            }
            more = {"planned": held.get("planned")}
        else:
            python = entrant.contestant.python() if entrant.contestant.requirements else Path(sys.executable)
            reference = self.references.of(case, python)
        if output is not None:
            held = self._written(case, entrant, output)
            layout = check.disagreement(reference, held["lakerace"]) if "lakerace" in held else None
            layout = layout or check.wrong_layout(held, str(case.codec), job["row_group_rows"])
            more = {"output_bytes": output.stat().st_size, "row_groups": held["row_groups"]}
        why = check.disagreement(reference, held) or layout
        return more | {
            "verdict": WRONG if why else RIGHT,
            "why": why,
            "rows": held.get("rows"),
            "checksum": held.get("checksum"),
            "checked_by": held.get("checked_by"),
        }

    def _converted(self, case: Case, job: dict[str, Any], server: s3.S3 | None) -> dict[str, Any]:
        """The verdict on what was written to S3, which is read back by others and removed."""
        assert server is not None
        python = Path(sys.executable)
        with spark_jobs.brought(server, job["s3"]["key"], self.folder) as files:
            written = sum(file.stat().st_size for file in Path(files).parent.glob("*.parquet"))
            held = check.ask(python, {"parquet": files})
        why = check.disagreement(self.references.of(case, python), held)
        return {"verdict": WRONG if why else RIGHT, "why": why, "output_bytes": written} | spark_jobs.seen(held)

    def _written(self, case: Case, entrant: Entrant, output: Path) -> dict[str, Any]:
        """What others read from a written file; the same bytes are not read twice."""
        python = entrant.contestant.python() if entrant.contestant.requirements else Path(sys.executable)
        key = (case.name, kept.sha256(output))
        if key not in self.seen:
            found = check.ask(python, {"written": str(output), "format": case.format})
            if case.format == "orc":
                found["lakerace"] = check.read_back(output)
            self.seen[key] = found
        return self.seen[key]


def _first_round(case: Case) -> int:
    """0 is the warm-up, which those need not whose processes warm themselves up, or who take long."""
    return 0 if case.warm_up and case.kind not in _WARMED_UP else 1


def _output(case: Case, home: Path) -> Path:
    """Where the result goes: a file, or a folder of them."""
    return home / f"out.{case.format}" if case.kind == "write" else home


def _ranges(case: Case, file: Path, round_number: int) -> dict[str, Any]:
    """Two ranges with the case's gap between, at a place that every entrant of a round shares and no other round has."""
    assert case.gap is not None
    span = 2 * cases.SEEK_WANTED + case.gap
    size = file.stat().st_size
    place = random.Random(f"{case.gap} {round_number}")
    begin = place.randrange(0, size - span)
    second = begin + cases.SEEK_WANTED + case.gap
    before = []
    for length in _LEARNING_BYTES:
        at = place.randrange(0, size - length)
        before.append([at, at + length])
    return {
        "ranges": [[begin, begin + cases.SEEK_WANTED], [second, second + cases.SEEK_WANTED]],
        "before": before,
        "cold": case.store == "disk",
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
