"""Spark and lakerace upsert into one table at once: four Spark jobs of four tasks each, and four processes of lakerace.

python race.py FOLDER ROUNDS

In each round every writer upserts rows of its own and rows that all of them have. A round ends when all writers are done. Then each row of
a writer's own has the writer's last values, each shared row those of one writer of this round, and no key is there twice. Prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

JOBS = TASKS = PROCESSES = 4
WRITERS = JOBS + PROCESSES
OWN, SHARED = 100, 50
#: Where the keys that all writers have begin.
FIRST_SHARED = 1_000_000


def keys(writer: int) -> list[int]:
    """The keys that a writer upserts."""
    first = writer * OWN
    return [*range(first, first + OWN), *range(FIRST_SHARED, FIRST_SHARED + SHARED)]


def write(path: str, writer: int) -> None:
    """A process of lakerace: upserts the round that each line names, and says when it is done."""
    import pyarrow as pa

    import lakerace as lr

    for line in sys.stdin:
        ids = keys(writer)
        rows = {"id": pa.array(ids, pa.int64()), "writer": [writer] * len(ids), "round": [int(line)] * len(ids)}
        lr.Table(path).upsert(pa.table(rows))
        print("done", flush=True)


def upsert(spark: object, path: str, writer: int, number: int) -> None:
    """A Spark job: upserts a round."""
    key = f"if(id < {OWN}, id + {writer * OWN}, id - {OWN} + {FIRST_SHARED})"
    source = spark.range(0, OWN + SHARED, 1, TASKS)  # type: ignore[attr-defined]
    frame = source.selectExpr(f"{key} AS id", f"{writer}L AS writer", f"{number}L AS round")
    frame.write.format("lakerace").mode("append").option("key", "id").save(path)


def wrong(path: str, number: int) -> tuple[int, int]:
    """Keys whose row is not of this round's writers, and keys that are there twice."""
    import pyarrow as pa

    import lakerace as lr

    rows = pa.table(lr.scan(path)).to_pylist()
    found = {row["id"]: (row["writer"], row["round"]) for row in rows}
    expected = {key for writer in range(WRITERS) for key in keys(writer)}
    lost = len(expected ^ set(found))
    for key, (writer, last) in found.items():
        owner = key // OWN if key < FIRST_SHARED else writer
        lost += (writer, last) != (owner, number)
    return lost, len(rows) - len(found)


def main(folder: Path, rounds: int) -> None:
    """Runs the rounds."""
    import pyarrow as pa
    from conftest import start

    import lakerace as lr

    path = str(folder / "t")
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("id", "writer", "round")})
    lr.copy(empty, f"delta:{path}", table_properties={"lakerace.primaryKey": "id"})
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(TASKS)}
    spark = start(f"local[{JOBS * TASKS}]", folder / "scratch", **settings)
    command = [sys.executable, __file__, "--writer", path]
    processes = [
        subprocess.Popen([*command, str(JOBS + at)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for at in range(PROCESSES)
    ]
    failures: list[str] = []

    def job(writer: int, number: int) -> None:
        try:
            upsert(spark, path, writer, number)
        except Exception as error:
            failures.append(str(error))

    lost = double = 0
    for number in range(rounds):
        threads = [threading.Thread(target=job, args=(writer, number)) for writer in range(JOBS)]
        for thread in threads:
            thread.start()
        for process in processes:
            print(number, file=process.stdin, flush=True)
        failures += ["a process of lakerace ended" for process in processes if process.stdout.readline() != "done\n"]  # type: ignore[union-attr]
        for thread in threads:
            thread.join()
        found = wrong(path, number)
        lost, double = lost + found[0], double + found[1]
        print(f"round {number}: lost {lost}, double {double}, failures {len(failures)}", file=sys.stderr, flush=True)
    for process in processes:
        process.communicate()
    spark.stop()
    result = {
        "rounds": rounds,
        "spark_tasks": JOBS * TASKS,
        "lakerace_processes": PROCESSES,
        "commits": len(lr.Table(path).history()) - 1,
        "lost": lost,
        "double": double,
        "failures": failures,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    if sys.argv[1] == "--writer":
        write(sys.argv[2], int(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]))
