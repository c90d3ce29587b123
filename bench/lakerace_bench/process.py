"""One sample: a contestant's process, from its start through the measured section to what it says it holds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lakerace_bench import termination
from lakerace_bench.contestant import KIT, Contestant
from lakerace_bench.tree import MemoryWatch, Tree, machine_busy_seconds

#: A contestant that has not answered for so long is killed, and its row says so.
TIMEOUT_SECONDS = 1_200.0


class SampleFailedError(Exception):
    """The process ended, broke the protocol or took too long; the message is the row's `why`."""


class SampleUnableError(Exception):
    """The contestant says that it cannot do the job; the message is the row's `why`."""


@dataclass
class Measured:
    """What one process did, as it says and as seen from outside."""

    version: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    #: Wall seconds of the measured section by the contestant's own clock.
    seconds: float = 0.0
    #: The same from outside, with the protocol's two lines.
    outside_seconds: float = 0.0
    #: User and system seconds of the process tree in the measured section.
    cpu_seconds: float = 0.0
    #: CPU seconds that all other processes of the machine used during the measurement (servers and proxy included).
    other_cpu_seconds: float = 0.0
    #: Wall seconds from the start of the process until it was ready (imports, input of a write).
    start_seconds: float = 0.0
    #: Wall seconds from the start of the process to the end of the measured section, and CPU seconds of the tree until then.
    total_seconds: float = 0.0
    total_cpu_seconds: float = 0.0
    #: Resident bytes of the tree just before the measured section.
    rss_before_bytes: int = 0
    #: Largest resident bytes of the tree in the measured section.
    peak_rss_bytes: int = 0
    #: The same without pages of mapped files, sampled.
    peak_anonymous_bytes: int = 0
    #: Bytes that the tree handed to file systems in the measured section.
    written_bytes: int = 0
    #: Its answer to `verify`: rows, checksum, schema, plan.
    held: dict[str, Any] = field(default_factory=dict)


class Processes:
    """Starts contestants: a process for each sample, or one for all samples where the contestant stays.

    A process that stays is stopped between its samples, so that, for example, its garbage collector affects no other
    numbers.
    """

    def __init__(self) -> None:
        self._staying: dict[tuple[str, frozenset[int]], _Talk] = {}
        #: Those and the one that runs.
        self._alive: list[_Talk] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for talk in self._alive:
            talk.end()

    def run(
        self,
        contestant: Contestant,
        job: dict[str, Any],
        cpus: set[int],
        around: Callable[[str], None] = lambda _: None,
        stays: bool = False,
    ) -> Measured:
        """Runs `job` in a process of `contestant` on `cpus`.

        `around` is called with `"before"` and `"after"` next to the measured section (to read request counters).
        """
        who = (contestant.name, frozenset(cpus))
        talk = self._staying.pop(who, None)
        if talk is None:
            with termination.held():
                talk = _Talk(contestant, cpus)
                self._alive.append(talk)
        else:
            talk.send(signal.SIGCONT)
        healthy = False
        try:
            measured = _follow(talk, job, around)
            healthy = True
            return measured
        except SampleUnableError:
            healthy = True
            raise
        finally:
            if stays and healthy:
                talk.send(signal.SIGSTOP)
                self._staying[who] = talk
            else:
                talk.end()
                self._alive.remove(talk)


def _follow(talk: _Talk, job: dict[str, Any], around: Callable[[str], None]) -> Measured:
    measured = Measured()
    tree = Tree(talk.child.pid)
    begin = time.perf_counter()
    talk.say(job)
    ready = talk.hear("ready")
    measured.start_seconds = time.perf_counter() - begin
    waited = time.perf_counter() - talk.begin
    measured.version, measured.options = ready["version"], ready["options"]

    around("before")
    watch = MemoryWatch(tree)
    measured.rss_before_bytes = tree.memory()[0]
    watch.start()
    written = tree.written_bytes()
    busy, cpu, begin = machine_busy_seconds(), tree.cpu_seconds(), time.perf_counter()
    talk.say({"do": "run"})
    done = talk.hear("done")
    measured.outside_seconds = time.perf_counter() - begin
    measured.total_seconds = waited + measured.outside_seconds
    measured.total_cpu_seconds = tree.cpu_seconds()
    measured.cpu_seconds = measured.total_cpu_seconds - cpu
    measured.other_cpu_seconds = max(0.0, machine_busy_seconds() - busy - measured.cpu_seconds)
    watch.stop()
    measured.written_bytes = tree.written_bytes() - written
    around("after")
    measured.seconds = done["seconds"]
    measured.peak_rss_bytes, measured.peak_anonymous_bytes = watch.peak_resident, watch.peak_anonymous

    talk.say({"do": "verify"})
    measured.held = talk.hear("verified")
    return measured


def numbers(measured: Measured, all_of_it: bool) -> dict[str, Any]:
    """The fields of a sample that were measured; options and plan where `all_of_it` is wanted."""
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
        "options": measured.options if all_of_it else {},
        "plan": measured.held.get("plan") if all_of_it else None,
    }


def traffic(counts: dict[str, Any]) -> dict[str, Any]:
    """The fields of a sample that the proxy has counted."""
    if not counts:
        return {}
    return {
        "requests": counts["requests"],
        "request_bytes": counts["bytes_from_client"] + counts["bytes_to_client"],
        "counts": counts,
    }


class _Talk:
    """A contestant's process, and JSON lines to and from it, with a time-out."""

    def __init__(self, contestant: Contestant, cpus: set[int]) -> None:
        python = contestant.python()
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `end`
        self.begin = time.perf_counter()
        self.child = _start(contestant, python, cpus, self._errors)
        self._late = False

    def say(self, what: dict[str, Any]) -> None:
        assert self.child.stdin is not None
        with suppress(BrokenPipeError):  # hear() then finds out why it ended
            self.child.stdin.write(json.dumps(what) + "\n")
            self.child.stdin.flush()

    def hear(self, event: str) -> dict[str, Any]:
        assert self.child.stdout is not None
        timer = threading.Timer(TIMEOUT_SECONDS, self._too_late)
        timer.daemon = True
        try:
            timer.start()
            line = self.child.stdout.readline()
        finally:
            timer.cancel()
        if self._late:
            raise SampleFailedError(f"no answer within {TIMEOUT_SECONDS:.0f} s")
        if not line:
            raise SampleFailedError(self._last_words())
        try:
            answer: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError:
            raise SampleFailedError(f"not a line of the protocol: {line[:200]!r}") from None
        if answer.get("event") == "unable":
            raise SampleUnableError(answer.get("why", "gives no reason"))
        if answer.get("event") != event:
            raise SampleFailedError(f"expected the event `{event}`, got {line[:200]!r}")
        return answer

    def end(self) -> None:
        """Lets the process end, and makes it; may be called again."""
        self.send(signal.SIGCONT)
        for pipe in (self.child.stdin, self.child.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.child.wait(timeout=5)
        self._kill()  # and all processes that it has started
        self._errors.close()

    def _too_late(self) -> None:
        self._late = True
        self._kill()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the process and to all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, number)

    def _kill(self) -> None:
        self.send(signal.SIGKILL)
        self.child.wait()

    def _last_words(self) -> str:
        code = self.child.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        return f"ended with {_status(code)}: {lines[-1][:400] if lines else 'nothing on stderr'}"


def _status(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _start(contestant: Contestant, python: Path, cpus: set[int], errors: IO[str]) -> subprocess.Popen[str]:
    command = [part.replace("{python}", str(python)) for part in contestant.command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    # No configuration of the user changes what is measured.
    environment["LAKERACE_CONFIG"] = ""
    # Installed packages have bytecode. One in a folder of source code has it after the warm-up, if it may be written.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    inherited = [] if contestant.requirements else filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    environment["PYTHONPATH"] = os.pathsep.join([str(KIT), *(str(Path(part).absolute()) for part in inherited)])
    with pinned(cpus):  # a child inherits its parent's CPUs
        return subprocess.Popen(
            command,
            cwd=contestant.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


@contextmanager
def pinned(cpus: set[int]) -> Iterator[None]:
    """Keeps this thread, and what it starts, on `cpus`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpus_for(threads: int) -> tuple[set[int], set[int]]:
    """The CPUs of a contestant with `threads` threads, and those of everything else (all, where none are left)."""
    usable = sorted(os.sched_getaffinity(0))
    if not 1 <= threads <= len(usable):
        raise ValueError(f"{threads} threads need as many CPUs; this process may use {len(usable)}")
    mine = set(usable[-threads:])
    return mine, (set(usable) - mine) or set(usable)


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A fresh folder in `folder` for a sample's output, removed with all that is in it at the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    made = None
    try:
        with termination.held():
            made = Path(tempfile.mkdtemp(prefix="sample-", dir=folder))
        yield made
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
