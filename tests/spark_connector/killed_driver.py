"""A driver that dies before its commit: a task has written rows of a new column to a table, and the next one ends the process.

python killed_driver.py TABLE SCRATCH
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from conftest import start
from pyspark.sql import functions as f

ROWS = 10


def kill(number: int) -> int:
    """Ends the driver in its second task."""
    if number >= ROWS // 2:
        # The worker of Python is a child of the daemon, which is a child of the driver.
        daemon = os.getppid()
        driver = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(driver, signal.SIGKILL)
    return number


def main(table: str, scratch: Path) -> None:
    """Writes until it dies."""
    spark = start("local[1]", scratch / "killed")
    frame = spark.range(0, ROWS, 1, 2).selectExpr("id", "1 AS p", "'k' AS text", "1 AS n")
    frame = frame.withColumn("id", f.udf(kill, "bigint", useArrow=False)("id"))
    frame.write.format("lakerace").mode("append").option("mergeSchema", "true").save(table)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
