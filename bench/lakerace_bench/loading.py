"""One sample of `load`: a place is made or filled, a contestant writes into it or reads it, and others look at what it has done."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakerace_bench import check, contestant, database_servers, following, process, s3
from lakerace_bench.cases import Case
from lakerace_bench.entrant import Entrant
from lakerace_bench.environment import NoEnvironmentError, python_with
from lakerace_bench.loads import Loads
from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample

#: Whose environment has all that reads places back.
_READER = "pymongo"
#: Targets that are servers of their own, and not a file or a folder of the S3 server.
_SERVED = ("mongodb", "elasticsearch")
_TABLE = "rows"
#: Ways to read.
READS = ("arrow", "rows", "named")


@dataclass(frozen=True)
class Work:
    """What a case asks for, by its variant: `10000-write`, `all-csv`, `rows-read`, `feed-sync`; `all-tenth` and `rows-tenth` of a tenth of the rows."""

    verb: str
    #: Of a load: rows in a batch, None for all of them.
    batch_rows: int | None = None
    #: Of a read: `arrow`, `rows` or `named`; of a sync: `feed` or `comparison`.
    how: str = ""

    @staticmethod
    def of(variant: str) -> Work:
        """The work of a variant."""
        what, _, verb = variant.partition("-")
        if verb == "tenth":
            verb = "read" if what in READS else "csv"
        if verb in ("read", "sync"):
            return Work(verb, how=what)
        return Work(verb, None if what == "all" else int(what))


@dataclass
class Loading:
    """Takes the samples of `load`; `folder` keeps the inputs, and `stack` ends the servers."""

    processes: process.Processes
    stack: ExitStack
    folder: Path
    tell: Callable[[str], None]
    servers: database_servers.Servers = field(init=False)
    #: Places that are full, for those who read, by target and rows.
    _full: dict[tuple[str, Path], dict[str, Any]] = field(default_factory=dict)
    #: What the input holds, by the interpreter that was asked.
    _references: dict[tuple[Path, Path], dict[str, Any]] = field(default_factory=dict)
    #: Entrants whose work was looked at by its checksum, by case.
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.servers = database_servers.Servers(self.stack)
        self.following = following.Following(self.processes, self.stack, self.folder, self._place)

    def sample(self, case: Case, entrant: Entrant, known: dict[str, Any], server: s3.S3 | str | None) -> Sample:
        """One sample; `known` are the fields that tell which."""
        assert isinstance(case.input, Loads)
        work = Work.of(case.variant)
        place: dict[str, Any] | None = None
        try:
            files = case.input.files(self.folder)
            if isinstance(server, str) and (case.store == "delta" or work.verb in ("csv", "sync")):
                return Sample(**known, verdict=UNABLE, why=server)
            store = server if isinstance(server, s3.S3) else None
            if work.verb == "sync":
                assert store is not None
                return self._synced(
                    case, entrant, known, self.following.of(case.store, work.how, files["parquet"], store)
                )
            if work.verb == "read":
                full = self._filled(case.store, files, store)
                return self._measured(case, entrant, known, self._job(case, entrant, work, files, full, store))
            place = self._place(case.store, store)
            return self._measured(case, entrant, known, self._job(case, entrant, work, files, place, store))
        except (process.SampleUnableError, NoEnvironmentError, database_servers.NoServerError) as why:
            return Sample(**known, verdict=UNABLE, why=str(why))
        except (process.SampleFailedError, check.CheckError, OSError) as why:
            return Sample(**known, verdict=FAILED, why=str(why))
        finally:
            if place is not None:
                self._remove(case.store, place, server)

    def _job(
        self,
        case: Case,
        entrant: Entrant,
        work: Work,
        files: dict[str, Path],
        place: dict[str, Any],
        store: s3.S3 | None,
    ) -> dict[str, Any]:
        if store is not None and work.verb == "csv":
            store.put(files["csv"])
        return {
            "kind": "unload" if work.verb == "read" else "load",
            "threads": case.threads,
            "options": entrant.options,
            "target": case.store,
            "place": place,
            "input": str(files["parquet"]),
            "csv": store.direct.settings(files["csv"].name) if store else None,
            "origin": "csv" if work.verb == "csv" else "memory",
            "batch_rows": work.batch_rows,
            "how": work.how,
            "looked_at": (case.name, entrant.name) not in self._seen,
        }

    def _measured(self, case: Case, entrant: Entrant, known: dict[str, Any], job: dict[str, Any]) -> Sample:
        numbers, held = self._run(case, entrant, job)
        return Sample(**known, **numbers, **self._verdict(case, entrant, job, held))

    def _run(
        self, case: Case, entrant: Entrant, job: dict[str, Any], followed: following.Followed | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The numbers of a sample, and what the contestant says that it holds."""
        served = self._served(case.store)
        taken: dict[str, Any] = {}

        def around(moment: str) -> None:
            if served is not None and moment == "before":
                served.begin()
            elif served is not None:
                taken.update(served.taken())
            if followed is not None and moment == "before":
                self.following.begin(followed)
            elif followed is not None:
                taken.update(self.following.taken(followed))

        mine, _ = process.cpus_for(case.threads)
        measured = self.processes.run(entrant.contestant, job, mine, around)
        numbers = process.numbers(measured, job["looked_at"]) | taken
        numbers["total_seconds"] = round(measured.total_seconds, 6)
        numbers["total_cpu_seconds"] = round(measured.total_cpu_seconds, 6)
        if followed is not None:
            numbers["written_bytes"] = measured.written_bytes
        return numbers, measured.held

    def _synced(self, case: Case, entrant: Entrant, known: dict[str, Any], followed: following.Followed) -> Sample:
        """The table changes, and its target follows; then both must have the same rows."""
        assert isinstance(case.input, Loads)
        changes = self.following.change(followed, case.input)
        looked_at = (case.name, entrant.name) not in self._seen
        job = self.following.job(followed) | {name: str(path) for name, path in changes.items()}
        job |= {"threads": case.threads, "options": entrant.options, "looked_at": looked_at}
        numbers, held = self._run(case, entrant, job, followed)
        what, parquet = "look" if looked_at else "count", str(followed.parquet)
        wanted = self._ask(what, "delta", followed.table, parquet)
        found = self._ask(what, case.store, followed.place, parquet)
        rows = [answer["rows"] if looked_at else int(answer) for answer in (wanted, found)]
        wrong = check.disagreement(wanted, found) if looked_at else None
        if rows[0] != rows[1]:
            wrong = f"rows: {rows[1]} instead of {rows[0]}"
        if wrong is None:
            self._seen.add((case.name, entrant.name))
        if not entrant.subject:
            self.following.catch_up(followed)
        numbers["counts"] = numbers["counts"] | {"told": held.get("told", {})}
        if looked_at:
            numbers |= {name: found[name] for name in ("rows", "checksum", "checked_by")}
        numbers |= {"verdict": WRONG if wrong else RIGHT, "why": wrong, "lost_rows": rows[0] - rows[1]}
        return Sample(**known, **numbers)

    def _served(self, target: str) -> database_servers.Server | None:
        return self.servers.get(target) if target in _SERVED else None

    def _verdict(self, case: Case, entrant: Entrant, job: dict[str, Any], held: dict[str, Any]) -> dict[str, Any]:
        """Whether all rows have arrived; their checksum is computed once for each entrant of a case."""
        assert isinstance(case.input, Loads)
        is_read = job["kind"] == "unload"
        if not job["looked_at"]:
            rows = held.get("counted") if is_read else int(self._ask("count", case.store, job["place"], job["input"]))
            if rows is None:
                return {"verdict": WRONG, "why": "it does not say how many rows it has read"}
            lost = case.input.rows - rows
            return {
                "verdict": WRONG if lost else RIGHT,
                "why": f"{lost:,} rows lost" if lost else None,
                "lost_rows": lost,
            }
        python = self._python(entrant) if is_read else self._reader()
        if not is_read:
            held = self._ask("look", case.store, job["place"], job["input"])
        rows = min(held["rows"], held.get("counted", held["rows"]))
        wrong = check.disagreement(self._reference(Path(job["input"]), python), held | {"rows": rows})
        if wrong is None:
            self._seen.add((case.name, entrant.name))
        return {
            "verdict": WRONG if wrong else RIGHT,
            "why": wrong,
            "lost_rows": case.input.rows - rows,
            "rows": rows,
            "checksum": held["checksum"],
            "checked_by": held["checked_by"],
        }

    def _python(self, entrant: Entrant) -> Path:
        return entrant.contestant.python() if entrant.contestant.requirements else Path(sys.executable)

    def _reference(self, parquet: Path, python: Path) -> dict[str, Any]:
        if (parquet, python) not in self._references:
            self._references[parquet, python] = check.ask(python, {"parquet": str(parquet)})
        return self._references[parquet, python]

    def _reader(self) -> Path:
        return python_with(contestant.named(_READER).requirements, contestant.named(_READER).folder)

    def _ask(self, what: str, target: str, place: dict[str, Any], parquet: str) -> Any:
        question = {"do": what, "target": target, "place": place, "input": parquet}
        return check.answer([str(self._reader()), str(contestant.KIT / "loaded.py")], json.dumps(question))

    def _place(self, target: str, store: s3.S3 | None) -> dict[str, Any]:
        """A new place, which is empty."""
        name = f"load{next(self._numbers)}"
        if target == "mongodb":
            return {"url": self.servers.get(target).address, "database": name, "collection": _TABLE}
        if target == "elasticsearch":
            return {"endpoint": self.servers.get(target).address, "index": name}
        if target == "delta":
            assert store is not None
            store.make_bucket()
            return store.direct.settings(name)
        home = self.stack.enter_context(process.scratch(self.folder))
        return {"path": str(home / "rows.db"), "table": _TABLE}

    def _filled(self, target: str, files: dict[str, Path], store: s3.S3 | None) -> dict[str, Any]:
        """A location with all rows. lakerace fills it, with the types stored in addition, and others read it."""
        if target == "parquet":
            return {"path": str(files["parquet"])}
        key = (target, files["parquet"])
        if key not in self._full:
            place = self._place(target, store)
            filler = next(one for one in contestant.discover() if one.subject)
            job: dict[str, Any] = {
                "kind": "load",
                "threads": 1,
                "options": {},
                "target": target,
                "place": place,
                "input": str(files["parquet"]),
                "csv": store.direct.settings(files["csv"].name) if store else None,
                "origin": "memory",
                "batch_rows": None,
                "looked_at": False,
            }
            self.processes.run(filler, job, process.cpus_for(1)[0])
            held = self._ask("look", target, place, job["input"])
            wrong = check.disagreement(self._reference(files["parquet"], self._reader()), held)
            if wrong:
                raise check.CheckError(f"what {target} was filled with: {wrong}")
            self._full[key] = place
        return self._full[key]

    def _remove(self, target: str, place: dict[str, Any], server: s3.S3 | str | None) -> None:
        try:
            if target in _SERVED:
                parquet = next(Path(self.folder).glob("load-*.parquet"))
                self._ask("drop", target, place, str(parquet))
            elif target == "delta" and isinstance(server, s3.S3):
                server.remove(place["key"])
            elif target == "sqlite":
                Path(place["path"]).unlink(missing_ok=True)
        except (check.CheckError, OSError) as why:
            self.tell(f"{target}: what a sample has left could not be removed: {why}")
