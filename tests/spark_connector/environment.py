"""Writes and reads a table on a real S3 server by what the environment says of it. Prints the sum of its numbers.

python environment.py FOLDER TABLE [SETTING=VALUE ...]

The settings are those of a session, such as `spark.hadoop.fs.s3a.endpoint`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import start


def main() -> None:
    folder, table, *settings = sys.argv[1:]
    spark = start("local[1]", Path(folder) / "scratch", **dict(setting.split("=", 1) for setting in settings))
    spark.range(100).write.format("lakerace").mode("append").save(f"delta:{table}")
    print(spark.read.format("lakerace").load(table).selectExpr("sum(id)").collect()[0][0])
    spark.stop()


if __name__ == "__main__":
    main()
