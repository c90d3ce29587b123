"""Runs the fuzzers, as long as one likes.

    python tests/python/fuzz/soak.py [filters|tables|damage …] [--seconds N | --cases N] [--seed N]
    python tests/python/fuzz/soak.py filters --case N        # one case again

`make soak` does so, with SOAK_SECONDS for each fuzzer and SOAK_SEED. A case is a number: all that it does follows from it. Each fuzzer is a
process, so that what ends a process or never ends is found, too. The last line on standard output tells how many cases ran.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FUZZERS = ("filters", "tables", "damage")
#: A case takes about a second; the rest is for machines with much else to do.
CASE_SECONDS = 900
#: Address space of a process: what asks for more than it will use is stopped here.
ADDRESS_SPACE = 16 << 30
#: Memory that a case may take, of tables of a few hundred rows.
CASE_MEMORY = 1 << 30
#: Cases of one seed lie this far from those of the next.
STRIDE = 1_000_000


def main() -> int:
    """Runs what was asked for; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzzers", nargs="*", help=f"of {', '.join(FUZZERS)}; all by default")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_SECONDS", "60")))
    parser.add_argument("--cases", type=int, help="run so many cases, whatever time they take")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SOAK_SEED", random.randrange(STRIDE))))
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.fuzzers or list(FUZZERS)
    unknown = set(names) - set(FUZZERS)
    if unknown:
        parser.error(f"no fuzzer is called {', '.join(sorted(unknown))}: there are {', '.join(FUZZERS)}")
    if given.worker:
        return _work(names[0], given.seed, given.cases, given.seconds)
    if given.case is not None:
        return _one(names[0], given.case)
    failed = [name for name in names if not _started(name, given.seed, given.cases, given.seconds)]
    print(f"failed: {', '.join(failed)}" if failed else "no case failed")
    return 1 if failed else 0


def _started(name: str, seed: int, cases: int | None, seconds: float) -> bool:
    """Runs a fuzzer in a process of its own, and says how to run the case that ended it again."""
    print(f"{name}: seed {seed}", flush=True)
    budget = ["--cases", str(cases)] if cases is not None else ["--seconds", str(seconds)]
    with tempfile.NamedTemporaryFile("r", prefix="lakerace-fuzz-") as state:
        command = [sys.executable, __file__, name, "--worker", "--seed", str(seed), *budget]
        done = subprocess.run(command, check=False, env={**os.environ, "FUZZ_STATE": state.name})
        if done.returncode == 0:
            return True
        case = state.read() or "none"
    print(f"{name}: case {case} ended with {done.returncode}; again: {sys.executable} {__file__} {name} --case {case}")
    return False


def _work(name: str, seed: int, cases: int | None, seconds: float) -> int:
    """Runs cases until the budget is used up or one fails."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    module, state = _module(name), Path(os.environ["FUZZ_STATE"])
    end = time.monotonic() + seconds
    number = 0
    while number < cases if cases is not None else time.monotonic() < end:
        state.write_text(str(seed * STRIDE + number))
        _run(module, seed * STRIDE + number)
        number += 1
    _clean_up(module)
    print(f"{name}: {number} cases", flush=True)
    return 0


def _one(name: str, case: int) -> int:
    module = _module(name)
    print(_run(module, case))
    _clean_up(module)
    return 0


def _module(name: str) -> ModuleType:
    """The fuzzer of a name: a module with a function `run`."""
    import damage
    import filters
    import tables

    return {"filters": filters, "tables": tables, "damage": damage}[name]


def _run(module: ModuleType, case: int) -> str:
    """Runs a case within its time and memory; what libraries print about panics is a fault, too."""
    with tempfile.TemporaryDirectory(prefix="lakerace-fuzz-") as folder, tempfile.TemporaryFile() as printed:
        before = _memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        stderr = os.dup(2)
        os.dup2(printed.fileno(), 2)
        faulthandler.dump_traceback_later(CASE_SECONDS, exit=True, file=stderr)
        try:
            told: str = module.run(case, Path(folder))
        finally:
            faulthandler.cancel_dump_traceback_later()
            os.dup2(stderr, 2)
            os.close(stderr)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
        assert "panicked" not in text, f"{told}: printed {text[:400]}"
        grown = _memory("VmHWM") - before
        assert grown < CASE_MEMORY, f"{told}: took {grown >> 20} MiB"
        return told


def _memory(what: str) -> int:
    """A figure of this process's memory, in bytes; `VmHWM` is the most since `clear_refs` was written."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{what}:"))


def _clean_up(module: ModuleType) -> None:
    if hasattr(module, "clean_up"):
        module.clean_up()


if __name__ == "__main__":
    sys.exit(main())
