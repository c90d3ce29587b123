"""A session that counts memory outside of the heap: reads where there is enough of it, and where there is too little.

python memory.py FOLDER

The folder has `o.parquet`. Prints the rows, what the error says to raise, and the readers and batches that are left.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import start


def main(folder: Path) -> None:
    """Two sessions, one behind the other."""
    for size in ("64m", "1m"):
        settings = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": size}
        spark = start("local[1]", folder / "scratch", **settings)
        frame = spark.read.format("lakerace").option("batch_rows", 1 << 15).load(str(folder / "o.parquet"))
        try:
            print(frame.selectExpr("count(*)", "max(o_comment)").collect()[0][0])
        except Exception as error:
            print("raise spark.memory.offHeap.size" in str(error))
        counters = spark._jvm.lakerace.spark.Counters
        print(counters.readers(), counters.batches())
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
