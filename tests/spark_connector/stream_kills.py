"""Streams whose process is killed again and again: one appends, and one upserts by key. Prints what has become of their rows.

python stream_kills.py FOLDER KILLS

The process is killed (SIGKILL) after so many further commits, and a moment later; both numbers are random. The last process is left alone, and
ends when all has been read.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

KEYS, ROWS = 50, 20
#: Versions of the source that are there at first, and those that each process finds in addition.
FIRST_VERSIONS, MORE_VERSIONS = 6, 3
#: A kill waits for so many commits, and then so long, at most.
MOST_COMMITS, MOST_SECONDS = 5, 0.3
#: The Spark whose delta-spark reads what is there.
DELTA_SPARK = "3.5.8"
#: Longer than any machine takes.
PATIENCE_SECONDS = 300


def rows_of(version: int) -> list[tuple[int, int, int]]:
    """The rows (key, version, number) that a version of the source adds: each key once."""
    return [((version * 7 + at) % KEYS, version, version * ROWS + at) for at in range(ROWS)]


def add(folder: Path, version: int) -> None:
    """Adds a version to the source."""
    import pyarrow as pa

    import lakerace as lr

    columns = zip(*rows_of(version), strict=True)
    batch = {name: pa.array(values, pa.int64()) for name, values in zip(("key", "version", "n"), columns, strict=True)}
    lr.copy(pa.table(batch), f"delta:{folder / 'source'}", mode="append")


def stream(folder: Path) -> None:
    """Runs both streams until they have read what is there."""
    from conftest import start

    spark = start("local[2]", folder / "scratch")
    reader = spark.readStream.format("lakerace").option("maxFilesPerTrigger", 1)
    queries = []
    for name, options in (("appended", {}), ("upserted", {"key": "key"})):
        writer = reader.load(str(folder / "source")).writeStream.format("lakerace").options(**options)
        writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{name}")).trigger(availableNow=True)
        queries.append(writer.start(f"delta:{folder / name}"))
    for query in queries:
        query.awaitTermination()
    spark.stop()


def commits(folder: Path) -> int:
    return sum(len(list((folder / name / "_delta_log").glob("*.json"))) for name in ("appended", "upserted"))


def killed(folder: Path, dice: random.Random, log: Path) -> bool:
    """Runs the streams, and kills their process; whether it was still running."""
    aim = commits(folder) + dice.randint(1, MOST_COMMITS)
    with log.open("a") as out:
        process = subprocess.Popen(
            [sys.executable, __file__, "--stream", str(folder)], stdout=out, stderr=out, start_new_session=True
        )
    end = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and commits(folder) < aim:
        if time.monotonic() > end:
            raise TimeoutError(log.read_text()[-2000:])
        time.sleep(0.002)
    time.sleep(dice.random() * MOST_SECONDS)
    was_running = process.poll() is None
    if was_running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return was_running


def read(table: Path) -> list[tuple[int, ...]]:
    """The rows of a table: as delta-spark reads them, on the Spark that it is for."""
    import pyspark

    if pyspark.__version__ != DELTA_SPARK:
        import lakerace as lr

        return sorted(tuple(row.values()) for row in lr.scan(str(table)).to_arrow().to_pylist())
    done = subprocess.run([sys.executable, __file__, "--delta", str(table)], check=True, capture_output=True, text=True)
    return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]


def print_rows(table: str) -> None:
    """Prints the rows of a table by delta-spark."""
    import filter_delta

    jars = Path(__file__).resolve().parents[2] / ".cache" / "spark" / "ivy"
    spark = filter_delta.start(str(jars))
    print(json.dumps(sorted(list(row) for row in spark.read.format("delta").load(table).collect())))
    spark.stop()


def main(folder: Path, kills: int) -> None:
    """Runs the streams, and reads what they have written."""
    seed = int(os.environ.get("LAKERACE_SEED", random.randrange(1 << 30)))
    dice, count, runs = random.Random(seed), 0, 0
    for version in range(FIRST_VERSIONS):
        add(folder, version)
    version = FIRST_VERSIONS
    while count < kills:
        for _ in range(MORE_VERSIONS):
            add(folder, version)
            version += 1
        count += killed(folder, dice, folder / "log")
        runs += 1
        print(f"run {runs}: killed {count}, commits {commits(folder)}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, __file__, "--stream", str(folder)], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    expected = [row for at in range(version) for row in rows_of(at)]
    last = {row[0]: row for row in expected}
    result = {"seed": seed, "kills": count, "versions": version}
    for name, wanted in (("appended", sorted(expected)), ("upserted", sorted(last.values()))):
        found = read(folder / name)
        result[name] = {"rows": len(found), "lost": len(set(wanted) - set(found)), "more": len(found) - len(wanted)}
        result[name]["checksum"] = sum(row[2] for row in found)
    print(json.dumps(result))


if __name__ == "__main__":
    if sys.argv[1] == "--stream":
        stream(Path(sys.argv[2]))
    elif sys.argv[1] == "--delta":
        print_rows(sys.argv[2])
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]))
