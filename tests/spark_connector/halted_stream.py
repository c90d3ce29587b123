"""A stream whose process ends when Spark has written the plan of the first micro-batch to a hidden file, and has not renamed it yet.

python halted_stream.py FOLDER FORMAT

FOLDER has the table `source`; the checkpoint and the target are `checkpoint` and `target`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
from conftest import JAR, start
from pyspark.sql import DataFrame, SparkSession


def stream(spark: SparkSession, folder: Path, source: str) -> DataFrame:
    """The rows of the built-in source of rates, or those that the table gets from now on."""
    reader = spark.readStream.format(source)
    if source == "rate":
        return reader.option("rowsPerSecond", 1).load().selectExpr("value AS id")
    return reader.option("startingVersion", "latest").load(str(folder / "source"))


def halting_files(folder: Path) -> Path:
    """The jar of the file system that ends the process."""
    classes = folder / "classes"
    classes.mkdir()
    source = Path(__file__).parent / "java" / "HaltingFiles.java"
    jars = Path(pyspark.__path__[0]) / "jars"
    subprocess.run(["javac", "-nowarn", "-d", str(classes), "-cp", f"{jars}/*", str(source)], check=True)
    jar = folder / "halting.jar"
    subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)
    return jar


def main(folder: Path, source: str) -> None:
    """Runs the stream, which ends the process."""
    jars = f"{JAR},{halting_files(folder)}"
    settings = {"spark.jars": jars, "spark.hadoop.fs.halt.impl": "HaltingFiles"}
    spark = start("local[2]", folder / "scratch", **settings)
    writer = stream(spark, folder, source).writeStream.format("lakerace")
    writer = writer.option("checkpointLocation", f"halt://{folder / 'checkpoint'}").trigger(availableNow=True)
    writer.start(f"delta:{folder / 'target'}").awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
