"""A session of two executors, each a process: counts what both read. The argument is a folder with `o.parquet`."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import start


def main() -> None:
    """Prints the rows, and how many executors there are."""
    folder = Path(sys.argv[1])
    spark = start("local-cluster[2,1,1024]", folder / "scratch")
    read = spark.read.format("lakerace").option("max_task_bytes", 20_000)
    frame = read.load(str(folder / "o.parquet"))
    rows = frame.where("o_orderkey > 0").selectExpr("count(o_comment)").collect()[0][0]
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    print(rows, executors)
    spark.stop()


if __name__ == "__main__":
    main()
