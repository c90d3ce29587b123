"""A session that counts memory outside of the heap: reads, writes and upserts where there is enough of it, and where there is too little.

python memory.py FOLDER

The folder has `o.parquet`, and the table `t` with its key `o_orderkey`. Prints, of each session, the rows that were read or whether the
error says what to raise, the same of a write and of an upsert, and the readers and batches that are left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from conftest import start


def told(do: Callable[[], object]) -> object:
    """What it gives, or whether its error says what to raise."""
    try:
        return do()
    except Exception as error:
        return "raise spark.memory.offHeap.size" in str(error)


def session(folder: Path, size: str) -> None:
    """A session that has so much memory."""
    settings = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": size}
    spark = start("local[1]", folder / "scratch", **settings)
    frame = spark.read.format("lakerace").option("batch_rows", 1 << 15).load(str(folder / "o.parquet"))
    rows = frame.selectExpr("count(*)", "max(o_comment)")
    print(told(lambda: rows.collect()[0][0]))
    wide = spark.range(1 << 15).selectExpr("id", "repeat('x', 100) AS text").coalesce(1)
    print(told(lambda: wide.write.format("lakerace").mode("append").save(f"delta:{folder}/wide{size}")))
    changes = spark.range(0, 50_000, 1, 4).selectExpr("id AS o_orderkey", "repeat('y', 100) AS o_comment")
    upsert = changes.write.format("lakerace").mode("append").option("key", "o_orderkey")
    print(told(lambda: upsert.save(str(folder / "t"))))
    counters = spark._jvm.lakerace.spark.Counters
    print(counters.readers(), counters.batches())
    spark.stop()


def main(folder: Path) -> None:
    """Two sessions, one behind the other."""
    for size in ("64m", "1m"):
        session(folder, size)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
