"""The Python functions: arguments, results, errors, pickling."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import people

import lakerace as lr


def test_scan_reads_what_is_asked_for(parquet: Path) -> None:
    scan = lr.scan(parquet, columns=["score", "id"], where="id > 990 AND name IS NOT NULL", limit=3)
    assert scan.schema.names == ["score", "id"]
    assert scan.to_arrow()["id"].to_pylist() == [991, 992, 993]
    assert scan.count() == 3
    assert scan.location == str(parquet)
    assert "people.parquet" in repr(scan)


def test_paths_and_texts_name_the_same(parquet: Path, tmp_path: Path) -> None:
    assert lr.scan(str(parquet)).checksum() == lr.scan(parquet).checksum() == lr.checksum(parquet).checksum
    result = lr.copy(parquet, tmp_path / "copy.parquet")
    assert result.rows == 1000
    assert lr.schema(tmp_path / "copy.parquet")["rows"] == 1000


def test_each_consumer_reads_anew(parquet: Path) -> None:
    scan = lr.scan(parquet)
    first, second = scan.to_arrow(), scan.to_arrow()
    assert first == second
    assert scan.report()["rows"] == 2000
    assert scan.report()["requests"]["get"] > 0


def test_batches_are_bounded(parquet: Path) -> None:
    sizes = [batch.num_rows for batch in lr.scan(parquet, batch_rows=64).batches()]
    assert max(sizes) <= 64
    assert sum(sizes) == 1000
    sizes = [batch.num_rows for batch in lr.scan(parquet, batch_rows="all").batches()]
    assert sizes == [1000]


def test_explain_prints_and_gives_values(parquet: Path) -> None:
    explain = lr.scan(parquet, where="id >= 950").explain()
    assert "statistics" in str(explain)
    units = explain.to_dict()["plan"]["files"][0]["units"]
    assert sum(unit["pruned"] is None for unit in units) == 1


def test_scans_and_tasks_can_be_pickled(parquet: Path) -> None:
    scan = lr.scan(parquet, columns=["id"], where="id >= 250")
    again = pickle.loads(pickle.dumps(scan))
    assert again.checksum() == scan.checksum()
    tasks = scan.tasks(4)
    assert 2 <= len(tasks) <= 4
    parts = [pickle.loads(pickle.dumps(task)).to_arrow() for task in tasks]
    assert all(part.num_rows < 750 for part in parts)
    assert sorted(pa.concat_tables(parts)["id"].to_pylist()) == list(range(250, 1000))


def test_tasks_keep_columns_of_a_dictionary(tmp_path: Path) -> None:
    table = pa.table({"kind": pa.array(["a", "b", "a"]).dictionary_encode()})
    with pa.ipc.new_file(str(tmp_path / "kinds.arrow"), table.schema) as file:
        file.write_table(table)
    (task,) = lr.scan(tmp_path / "kinds.arrow").tasks(1)
    found = pickle.loads(pickle.dumps(task)).to_arrow()
    assert found["kind"].cast(pa.string()).to_pylist() == ["a", "b", "a"]


def test_tasks_run_in_another_process(parquet: Path, tmp_path: Path) -> None:
    tasks = lr.scan(parquet).tasks(3)
    file = tmp_path / "task.pickle"
    counts = []
    for task in tasks:
        file.write_bytes(pickle.dumps(task))
        code = f"import pickle; print(pickle.load(open({str(file)!r}, 'rb')).to_arrow().num_rows)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        counts.append(int(done.stdout))
    assert sum(counts) == 1000


def test_settings_that_are_no_secrets_stay_in_pickles(parquet: Path, tmp_path: Path) -> None:
    lr.copy(parquet, f"delta:{tmp_path / 'table'}")
    settings = {
        "allow_foreign_paths": "true",
        "AWS_REGION": "eu-1",
        "aws_endpoint_url": "https://me:secret@host",
        "token": "secret",
        "allow_http": "true",
    }
    scan = lr.scan(tmp_path / "table", storage_options=settings, pickle_credentials=False)
    data = pickle.dumps(scan)
    assert b"secret" not in data
    assert b"eu-1" in data
    assert pickle.loads(data).checksum() == scan.checksum()


def test_copy_says_what_it_did(parquet: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    result = lr.copy(parquet, target, compression="zstd:3", row_group_rows=500)
    assert isinstance(result, lr.CopyResult)
    assert result.files == [str(target)]
    assert result.file_bytes == result.bytes_written == target.stat().st_size
    assert result.requests.get > 0
    assert result.cost_usd == 0
    assert result.wall_seconds > 0
    assert pq.read_metadata(target).num_row_groups == 2


def test_copy_takes_streams_and_scans(parquet: Path, tmp_path: Path) -> None:
    expected = lr.checksum(parquet)
    assert lr.checksum(people()) == expected
    lr.copy(people(), tmp_path / "table.parquet")
    lr.copy(lr.scan(parquet), tmp_path / "scan.csv")
    reader = pa.RecordBatchReader.from_batches(people().schema, people().to_batches(max_chunksize=10))
    lr.copy(reader, tmp_path / "reader.parquet")
    for name in ("table.parquet", "scan.csv", "reader.parquet"):
        assert lr.checksum(tmp_path / name) == expected, name


def test_stream_sources_take_no_options_of_reading(tmp_path: Path) -> None:
    with pytest.raises(lr.UsageError, match="where"):
        lr.copy(people(), tmp_path / "x.parquet", where="id > 1")
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        lr.copy(42, tmp_path / "x.parquet")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_an_error_in_the_source_stream_leaves_nothing(tmp_path: Path) -> None:
    def batches() -> object:
        yield people().to_batches()[0]
        raise RuntimeError("the producer broke")

    reader = pa.RecordBatchReader.from_batches(people().schema, batches())
    with pytest.raises(lr.InvalidInputError, match="the producer broke"):
        lr.copy(reader, tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_wrong_arguments() -> None:
    for options in ({"min_seek_size": "x"}, {"threads": 0}, {"format": "xml"}, {"delimiter": "ab"}):
        with pytest.raises(lr.UsageError, match=next(iter(options))):
            lr.scan("x.parquet", **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="threads"):
        lr.scan("x.parquet", threads="two")  # type: ignore[arg-type]
    with pytest.raises(lr.UsageError, match="list"):
        lr.scan("x.parquet", columns="id")
    with pytest.raises(TypeError):
        lr.scan("x.parquet", nonsense=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("number", [-1, 1 << 64, -(1 << 80)])
def test_numbers_out_of_range_are_errors_of_their_option(tmp_path: Path, parquet: Path, number: int) -> None:
    least = {"threads": 1, "batch_rows": 1, "max_requests_in_flight": 1, "infer_rows": 1, "limit": 0, "skip_rows": 0}
    for name, first in least.items():
        most = 1024 if name == "threads" else (1 << 64) - 1
        with pytest.raises(lr.UsageError, match=f"{name}: must be a whole number from {first} to {most}"):
            lr.scan(parquet, **{name: number})  # type: ignore[arg-type]
    for name in ("prefetch_size", "max_request_size"):
        with pytest.raises(lr.UsageError, match=f"{name}: must be a whole number from 0"):
            lr.scan(parquet, **{name: number})  # type: ignore[arg-type]
    for name in ("row_group_rows", "row_group_bytes", "file_bytes", "memory_limit"):
        with pytest.raises(lr.UsageError, match=f"{name}: must be a whole number from [01] to"):
            lr.copy(parquet, tmp_path / "a.parquet", **{name: number})  # type: ignore[arg-type]
    with pytest.raises(lr.UsageError, match="parts: must be a whole number from 1 to 4294967295"):
        lr.tpch(tmp_path / "tpch", sf=0.001, parts=number)
    lr.copy(parquet, f"delta:{tmp_path}/table")
    with pytest.raises(lr.UsageError, match="limit: must be a whole number"):
        lr.Table(tmp_path / "table").history(limit=number)
    for versions in [(number,), (0, number)]:
        with pytest.raises(lr.UsageError, match=r"(first|last): must be a whole number"):
            lr.Table(tmp_path / "table").changes(*versions)


def test_classes_of_errors(parquet: Path, tmp_path: Path) -> None:
    with pytest.raises(lr.NotFoundError) as missing:
        lr.scan(tmp_path / "missing.parquet")
    assert isinstance(missing.value, FileNotFoundError)
    assert (missing.value.kind, missing.value.exit_code) == ("not_found", 3)
    assert "missing.parquet" in (missing.value.place or "")
    with pytest.raises(lr.NotFoundError, match="score"):
        lr.scan(parquet, columns=["scores"])
    with pytest.raises(lr.UsageError):
        lr.scan(parquet, where="id >")
    target = tmp_path / "target.parquet"
    target.touch()
    with pytest.raises(lr.ConflictError) as exists:
        lr.copy(parquet, target)
    assert isinstance(exists.value, FileExistsError)
    (tmp_path / "empty.parquet").touch()
    with pytest.raises(lr.CorruptDataError) as corrupt:
        lr.scan(tmp_path / "empty.parquet").to_arrow()
    assert isinstance(corrupt.value, ValueError)


@pytest.mark.parametrize("name", [name for name in lr.__all__ if name.endswith("Error")])
def test_errors_survive_pickling(name: str) -> None:
    error = getattr(lr, name)("place: message (advice)", "place", "advice")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == "place: message (advice)"
    assert (again.place, again.advice, again.kind) == ("place", "advice", error.kind)
    assert isinstance(error, lr.Error)


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    table = pa.table({"a": [f"{i} {'x' * 50}" for i in range(200_000)]})
    ticks = 0
    is_done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not is_done.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        before = ticks
        lr.copy(table, tmp_path / "out.parquet", compression="zstd:15", threads=1)
        assert ticks - before > 3
    finally:
        is_done.set()
        ticker.join()


def test_several_threads_share_a_scan(parquet: Path) -> None:
    scan = lr.scan(parquet)
    expected = scan.checksum()
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(scan.checksum())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_the_schema_of_a_location_takes_the_types_that_a_scan_takes(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,007\nx,8\n")
    found = lr.schema(path, schema="a int64, b utf8", on_bad_row="skip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lr.LakeraceWarning)
        rows = lr.scan(path, schema="a int64, b utf8", on_bad_row="skip").to_arrow()
    assert rows.to_pylist() == [{"a": 1, "b": "007"}]
    assert [column["name"] for column in found["columns"]] == rows.column_names
    assert [column["type"].lower().removesuffix("view") for column in found["columns"]] == ["int64", "utf8"]
