"""Streams whose process is killed lose no row, and write none twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from halted_stream import stream
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from stream_kills import EMPTY_CHECK
from test_streams import end, rows, table

import lakerace as lr

HERE = Path(__file__).parent
#: The first Spark that checks whether the checkpoint of a new stream is empty.
CHECKING_SPARK = (4, 1)


def test_killed_streams(tmp_path: Path) -> None:
    kills = int(os.environ.get("LAKERACE_STREAM_KILLS", "2"))
    command = [sys.executable, str(HERE / "stream_kills.py"), str(tmp_path), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600 + 60 * kills)
    assert done.returncode == 0, done.stderr[-4000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["kills"] == kills
    for name in ("appended", "upserted"):
        assert (result[name]["lost"], result[name]["more"]) == (0, 0), result


def test_files_that_a_killed_run_has_staged_are_removed(spark: SparkSession, tmp_path: Path) -> None:
    place = table(tmp_path, [[1], [2]])
    # The id of a query is in its checkpoint, so that the next run has it, too.
    query = "d40bae0d-3202-4bf6-86dd-84aeb3501822"
    checkpoint, target = tmp_path / "checkpoint", tmp_path / "upserted"
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text(json.dumps({"id": query}))
    staged = tmp_path / f"upserted.lakerace-{query}.tmp"
    staged.mkdir()
    for task in range(8):
        (staged / f"part-{task:05}-0.parquet").write_bytes(b"half a file")
    writer = spark.readStream.format("lakerace").load(place).writeStream.format("lakerace").option("key", "id")
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    end(writer.start(f"delta:{target}"))
    assert rows(spark, target) == [(1,), (2,)]
    assert not staged.exists()


@pytest.mark.parametrize("source", ["rate", "lakerace"])
def test_a_kill_while_the_first_micro_batch_is_planned(spark: SparkSession, tmp_path: Path, source: str) -> None:
    place = table(tmp_path, [[1], [2]])
    command = [sys.executable, str(HERE / "halted_stream.py"), str(tmp_path), source]
    halted = subprocess.run(command, capture_output=True, text=True, check=False)
    checkpoint = tmp_path / "checkpoint"
    assert (checkpoint / "metadata").exists(), halted.stderr[-4000:]
    [hidden] = (checkpoint / "offsets").iterdir()
    assert hidden.name.startswith(".0.")
    lr.copy(pa.table({"id": pa.array([3], pa.int64())}), place, mode="append")

    def run(checkpoint: Path, target: Path) -> None:
        writer = stream(spark, tmp_path, source).writeStream.format("lakerace")
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        end(writer.start(f"delta:{target}"))

    # The refusal is Spark's: its own sources meet it, too.
    if tuple(int(number) for number in spark.version.split(".")[:2]) >= CHECKING_SPARK:
        with pytest.raises(StreamingQueryException, match="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"):
            run(checkpoint, tmp_path / "refused")
    without_folder = Path(shutil.copytree(checkpoint, tmp_path / "without_folder"))
    shutil.rmtree(without_folder / "offsets")
    run(without_folder, tmp_path / "first")
    spark.conf.set(EMPTY_CHECK, "false")
    try:
        run(checkpoint, tmp_path / "second")
    finally:
        spark.conf.unset(EMPTY_CHECK)
    run(checkpoint, tmp_path / "second")
    if source == "lakerace":
        assert rows(spark, tmp_path / "first") == rows(spark, tmp_path / "second") == [(3,)]
