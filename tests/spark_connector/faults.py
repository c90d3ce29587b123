"""A write of two executors, which something goes wrong with. Prints the rows that are the table's, how many are there twice, and their sum.

python faults.py FOLDER WHAT

`killed`: the process of a task that writes is killed in the middle, and Spark runs the task again. `twins`: a task hangs until Spark has begun
a second attempt of it, and both write on. `again`: the job runs again behind its commit, as the same transaction.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
from conftest import start
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

ROWS, TASKS = 40_000, 4
#: Longer than any machine takes.
PATIENCE_SECONDS = 200
TWINS = {
    "spark.driver.host": "127.0.0.1",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.efficiency.enabled": "false",
}


def disturbed(folder: Path, what: str) -> object:
    """A function of a row's number, which gives the same number."""

    def disturb(number: int) -> int:
        import os
        import signal
        import time
        from pathlib import Path

        from pyspark import TaskContext

        if number != ROWS - 100:
            return number
        mark = Path(folder) / "second"
        if what == "twins" and TaskContext.get().attemptNumber() > 0:
            mark.touch()
        elif what == "twins":
            end = time.monotonic() + PATIENCE_SECONDS
            while not mark.exists() and time.monotonic() < end:
                time.sleep(0.01)
        elif what == "killed" and TaskContext.get().attemptNumber() == 0:
            (Path(folder) / "killed").touch()
            # The worker of Python is a child of the daemon, which is a child of the executor.
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
        return number

    return f.udf(disturb, LongType())


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a cluster of two hosts, as Spark sees them: it runs no second attempt on the host of the first one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    run = [f"{pyspark.__path__[0]}/bin/spark-class"]
    commands = [["org.apache.spark.deploy.master.Master", "-h", "127.0.0.1", "-p", str(port), "--webui-port", "0"]]
    for at in (2, 3):
        worker = ["org.apache.spark.deploy.worker.Worker", "-h", f"127.0.0.{at}", "-c", "1", "-m", "1g"]
        commands.append([*worker, "-d", str(folder / f"worker-{at}"), "--webui-port", "0", master])
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_IP"}
    with (folder / "cluster.log").open("w") as log, contextlib.ExitStack() as stack:
        for command in commands:
            process = subprocess.Popen([*run, *command], stdout=log, stderr=log, env=environment)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        end = time.monotonic() + PATIENCE_SECONDS
        while (folder / "cluster.log").read_text().count("Successfully registered with master") < 2:
            if time.monotonic() > end:
                raise TimeoutError((folder / "cluster.log").read_text()[-2000:])
            time.sleep(0.1)
        yield master


def write(folder: Path, what: str, master: str) -> None:
    """Writes, and reads what is there."""
    settings = {"spark.executor.memory": "1g", "spark.task.maxFailures": "8", **(TWINS if what == "twins" else {})}
    spark = start(master, folder / "scratch", **settings)
    frame = spark.range(0, ROWS, 1, TASKS).select(disturbed(folder, what)("id").alias("id"))  # type: ignore[operator]
    table = str(folder / "t")
    for _ in range(2 if what == "again" else 1):
        writer = frame.write.format("lakerace").mode("append").option("row_group_rows", 1000)
        if what == "again":
            writer = writer.option("txnAppId", "job").option("txnVersion", 1)
        writer.save(f"delta:{table}")
    rows = spark.read.format("lakerace").load(table)
    print(rows.count(), rows.count() - rows.distinct().count(), rows.agg(f.sum("id")).collect()[0][0])
    spark.stop()


def main(folder: Path, what: str) -> None:
    """Runs one of the writes."""
    if what == "twins":
        with cluster(folder) as master:
            write(folder, what, master)
    else:
        write(folder, what, "local-cluster[2,1,1024]")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
