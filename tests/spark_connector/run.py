"""Runs the tests of the Spark connector on each Spark that it is for: `make test-connector`, a part of `make test`.

Each Spark has an environment of its own in .cache/spark, which is made where it is absent; a JDK 17 must be there.
Arguments go to pytest. LAKERACE_SPARK_TESTS=all runs all tests on all of them: `make test-spark`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: Tests of single queries, which meet what a Spark plans otherwise than the oldest one.
QUERIES = ["test_read.py", "test_nested.py", "test_write.py", "test_sql.py", "test_cached.py", "test_schema_writes.py"]
OTHERS = sorted({path.name for path in HERE.glob("test_*.py")} - set(QUERIES))


@dataclass(frozen=True)
class Part:
    """What one run of pytest tests: files of tests on a Spark."""

    version: str
    name: str
    tests: list[str]


#: The oldest Spark runs all tests, later ones those that Spark's own changes reach. The longest part is the first.
PARTS = [
    Part("3.5.8", "others", OTHERS),
    Part("3.5.8", "queries", QUERIES),
    Part(
        "4.3.0", "changes", [*QUERIES, "test_merge.py", "test_statements.py", "test_stream_kills.py", "test_streams.py"]
    ),
    Part("4.1.4", "changes", [*QUERIES, "test_merge.py"]),
]
VERSIONS = list(dict.fromkeys(part.version for part in PARTS))
#: Parts that run at a time: a driver and its tests wait for each other, and leave half of the processors idle.
AT_A_TIME = 3
#: The Spark whose delta-spark the tests have, and the tests that need it.
DELTA_SPARK = "3.5.8"
DELTA_TESTS = ("test_pushdown.py::test_delta", "test_merge.py::test_delta", "test_schema_writes.py::test_delta")
#: The kills of streams at random files, which start the most processes, run on that Spark, too.
KILLS_TEST = "test_stream_kills.py::test_killed_streams"
#: PySpark leaves sockets to the garbage collector, and warns of a newer pandas.
PATIENCE = [
    "-Wignore::ResourceWarning",
    "-Wignore::pytest.PytestUnraisableExceptionWarning",
    "-Wignore::FutureWarning",
]

sys.path[:0] = [str(ROOT / "spark"), str(ROOT / "tests" / "python"), str(ROOT / "bench")]
import build  # noqa: E402
import summary  # noqa: E402

from lakerace_bench import s3_server  # noqa: E402


def numbers(report: Path) -> summary.Numbers:
    """What a run of pytest came to; one that ended without a report has failed."""
    if not report.exists():
        return summary.Numbers(failed=1)
    [suite] = ElementTree.parse(report).getroot().iter("testsuite")
    tests, failures, errors = (int(suite.get(name, "0")) for name in ("tests", "failures", "errors"))
    skipped = [str(skip.get("message")) for skip in suite.iter("skipped")]
    return summary.Numbers(tests - failures - errors - len(skipped), failures + errors, skipped)


def parts(arguments: list[str]) -> list[Part]:
    """What runs: these parts, the tests that the arguments name on each Spark, or all tests on each Spark."""
    if any(Path(argument.split("::")[0]).exists() for argument in arguments):
        return [Part(version, "named", []) for version in VERSIONS]
    if os.environ.get("LAKERACE_SPARK_TESTS") == "all":
        halves = {"others": OTHERS, "queries": QUERIES}
        return [Part(version, name, tests) for version in VERSIONS for name, tests in halves.items()]
    return PARTS


def run_tests(part: Part, jar: str, arguments: list[str]) -> tuple[int, str]:
    """The exit code of pytest for one part, and what it printed."""
    environment = os.environ | {
        "LAKERACE_SPARK_JAR": jar,
        "PYTHONPATH": str(ROOT / "python"),
        "PYSPARK_PYTHON": str(build.environment(part.version)),
        # The environment with other readers of Delta tables.
        "LAKERACE_READERS_PYTHON": sys.executable,
        "TZ": "UTC",
        # SeaweedFS stands next to this Python, and not next to that of the tests.
        s3_server.VARIABLE: s3_server.named() or s3_server.versitygw() or s3_server.weed() or "",
    }
    for name in ("SPARK_HOME", "VIRTUAL_ENV"):
        environment.pop(name, None)
    places = [str(HERE / test) for test in part.tests]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        left_out = [f"--deselect={(HERE / test).relative_to(ROOT)}" for test in (*DELTA_TESTS, KILLS_TEST)]
        left_out = [] if part.version == DELTA_SPARK else left_out
        options = ["-p", "no:cacheprovider", *PATIENCE, f"--junit-xml={report}", *left_out]
        command = [environment["PYSPARK_PYTHON"], "-m", "pytest", *options, *places, *arguments]
        done = subprocess.run(
            command, check=False, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        summary.write(f"spark-{part.version}-{part.name}", numbers(report))
    return done.returncode, done.stdout


def main(arguments: list[str]) -> int:
    """The exit code: 0 where all tests passed on all versions."""
    command = [sys.executable, str(ROOT / "spark" / "build.py"), "--profile", "test"]
    jar = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
    for version in VERSIONS:
        build.environment(version)
    failed = []
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        runs = {(part.version, part.name): pool.submit(run_tests, part, jar, arguments) for part in parts(arguments)}
        for (version, name), run in runs.items():
            code, printed = run.result()
            print(f"Spark {version}, {name}\n{printed}", flush=True)
            if code != 0:
                failed.append(f"{version}, {name}")
    print(f"Spark connector: failed on {failed}" if failed else f"Spark connector: passed on {', '.join(VERSIONS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
