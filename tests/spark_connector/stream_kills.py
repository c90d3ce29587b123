"""Streams whose process is killed again and again: one appends, and one upserts by key. Prints what has become of their rows.

python stream_kills.py FOLDER KILLS

The process is killed (SIGKILL) the first time when a stream has planned its first micro-batch, and then after a random number of further files of
the checkpoints and the logs. The last process is left alone, and ends when all has been read.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

KEYS, ROWS = 50, 20
#: Versions of the source that are there at first, and those that each process finds in addition.
FIRST_VERSIONS, MORE_VERSIONS = 6, 3
#: A kill waits for so many files at most: two of a checkpoint and one of a log for each micro-batch.
MOST_FILES = 12
#: The Spark whose delta-spark reads what is there.
DELTA_SPARK = "3.5.8"
#: Spark 4.1 and later refuse a checkpoint that a kill has left with an unfinished plan of the first micro-batch.
EMPTY_CHECK = "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"
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

    spark = start("local[2]", folder / "scratch", **{EMPTY_CHECK: "false"})
    reader = spark.readStream.format("lakerace").option("maxFilesPerTrigger", 1)
    queries = []
    for name, options in (("appended", {}), ("upserted", {"key": "key"})):
        writer = reader.load(str(folder / "source")).writeStream.format("lakerace").options(**options)
        writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{name}")).trigger(availableNow=True)
        queries.append(writer.start(f"delta:{folder / name}"))
    for query in queries:
        query.awaitTermination()
    spark.stop()


def files_of(folder: Path) -> int:
    """The number of the planned and committed micro-batches in the checkpoints, and of the versions in the logs."""
    count = 0
    for name in ("appended", "upserted"):
        checkpoint = folder / f"checkpoint-{name}"
        count += sum(path.name.isdigit() for part in ("offsets", "commits") for path in (checkpoint / part).glob("*"))
        count += len(list((folder / name / "_delta_log").glob("*.json")))
    return count


def killed(is_time: Callable[[], bool], folder: Path, log: Path) -> bool:
    """Runs the streams, and kills their process at its time; returns false if it has ended before."""
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, __file__, "--stream", str(folder)], stdout=out, stderr=out, start_new_session=True
        )
    end = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and not is_time():
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            raise TimeoutError(log.read_text()[-2000:])
        time.sleep(0.002)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the streams ended by themselves with {code}: {log.read_text()[-3000:]}")
    return code != 0


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
        aim = files_of(folder) + dice.randint(1, MOST_FILES)
        first = folder / "checkpoint-appended" / "offsets" / "0"
        is_time = first.exists if runs == 0 else lambda aim=aim: files_of(folder) >= aim
        count += killed(is_time, folder, folder / "log")
        runs += 1
        print(f"run {runs}: killed {count}, files {files_of(folder)}", file=sys.stderr, flush=True)
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
