"""Jobs of a process that may open few files, start few threads, or take little address space."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, Done, command

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILES = 400
FILE_ROWS = 5
ROWS = FILES * FILE_ROWS

#: Sets a limit to itself, as `ulimit` does, and becomes the command.
LIMITED = """
import os, resource, sys
name, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(getattr(resource, name), (limit, limit))
os.execv(sys.argv[3], sys.argv[3:])
"""


def run_limited(limit: tuple[str, int], *args: object, env: Mapping[str, str] | None = None) -> Done:
    """A command whose process has this limit. A crash, or an error that is not told in one line, fails the test."""
    name, value = limit
    words = [sys.executable, "-c", LIMITED, name, str(value), *command(*args)]
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, env=environment)
    assert done.returncode >= 0, (args, done.returncode, done.stderr)
    assert "panicked" not in done.stderr, (args, done.stderr)
    return Done(done.returncode, done.stdout, done.stderr)


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"row {number}" for number in numbers]})


def write(table: pa.Table, path: Path) -> None:
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path)
        case ".orc":
            pyarrow.orc.write_table(table, path)
        case ".csv":
            pyarrow.csv.write_csv(table, path)
        case ".tbl":
            lines = (f"{row['id']}|{row['text']}|\n" for row in table.to_pylist())
            path.write_text("".join(lines))
        case _:
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


@pytest.fixture(scope="module", params=["parquet", "orc", "csv", "tbl", "jsonl"])
def many_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp(request.param)
    for number in range(FILES):
        write(rows(number * FILE_ROWS, FILE_ROWS), folder / f"{number:03}.{request.param}")
    return f"{folder}/*.{request.param}"


#: Open files of a process that has a few for itself.
FEW_FILES = ("RLIMIT_NOFILE", 64)


def text_options(source: str) -> list[str]:
    return ["--schema", "id long, text string"] if source.endswith(".tbl") else []


def sorted_rows(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_few_open_files_are_enough_to_read_many(many_files: str, threads: int) -> None:
    options = [*text_options(many_files), "--threads", threads, "--json"]
    free = lr.scan(many_files, **({"schema": "id long, text string"} if options[0] == "--schema" else {})).checksum()
    summed = run_limited(FEW_FILES, "scan", many_files, "--checksum", *options)
    assert (summed.code, summed.json["rows"]) == (0, ROWS), summed.err
    assert summed.json["checksum"] == str(free)


def test_few_open_files_are_enough_to_copy_many(many_files: str, tmp_path: Path) -> None:
    expected, options = rows(0, ROWS).to_pylist(), text_options(many_files)
    for target in (tmp_path / "all.parquet", f"delta:{tmp_path}/table", f"{tmp_path}/folder/"):
        more = ["--output-format", "parquet", "--file-bytes", "4096"] if str(target).endswith("/") else []
        copied = run_limited(FEW_FILES, "copy", many_files, target, *options, *more)
        assert copied.code == 0, copied.err
    assert sorted_rows(pq.read_table(tmp_path / "all.parquet")) == expected
    assert sorted_rows(pq.read_table(tmp_path / "folder")) == expected
    assert sorted_rows(pa.table(lr.scan(tmp_path / "table"))) == expected
    for _ in range(2):
        put = run_limited(FEW_FILES, "upsert", f"delta:{tmp_path}/kept", many_files, "--key", "id", *options)
        assert put.code == 0, put.err
    assert sorted_rows(pa.table(lr.scan(tmp_path / "kept"))) == expected


def test_few_open_files_are_enough_to_write_many(tmp_path: Path) -> None:
    source, expected = f"{tmp_path}/source/*.csv", rows(0, ROWS).to_pylist()
    (tmp_path / "source").mkdir()
    for number in range(100):
        write(rows(number * ROWS // 100, ROWS // 100), tmp_path / f"source/{number:03}.csv")
    folder = f"{tmp_path}/folder/"
    for mode in ("error", "append", "append"):
        options = ["--output-format", "parquet", "--mode", mode, "--file-bytes", "100"]
        copied = run_limited(FEW_FILES, "copy", source, folder, *options)
        assert copied.code == 0, copied.err
    assert len(list((tmp_path / "folder").glob("*.parquet"))) > FEW_FILES[1]
    found = pa.table(lr.scan(folder))
    assert sorted_rows(found) == [row for row in expected for _ in range(3)]
    table = f"delta:{tmp_path}/table"
    copied = run_limited(FEW_FILES, "copy", source, table, "--partition-by", "text")
    assert copied.code == 0, copied.err
    assert sorted_rows(pa.table(lr.scan(tmp_path / "table"))) == expected
    compacted = run_limited(FEW_FILES, "compact", tmp_path / "table")
    assert compacted.code == 0, compacted.err
    made = run_limited(FEW_FILES, "tpch", "-s", "0.001", "-o", tmp_path / "tpch", "--parts", "30", "--threads", "4")
    assert made.code == 0, made.err
    assert len(list((tmp_path / "tpch" / "lineitem").iterdir())) == 30


def test_a_long_log_is_read_with_few_open_files(tmp_path: Path) -> None:
    table = lr.Table(tmp_path / "table", key="id")
    lr.copy(rows(0, 1), f"delta:{tmp_path}/table", table_properties={"delta.checkpointInterval": "1000"})
    for number in range(1, 150):
        lr.copy(rows(number, 1), f"delta:{tmp_path}/table", mode="append")
    counted = run_limited(FEW_FILES, "scan", tmp_path / "table", "--count")
    assert (counted.code, counted.out.strip()) == (0, "150"), counted.err
    assert table.scan().count() == 150


def test_the_command_raises_its_own_limit_of_open_files(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("id\n1\n")
    code = (
        "import resource, sys, lakerace.__main__ as command\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (70, 90))\n"
        "sys.argv = ['lakerace', 'scan', sys.argv[1], '--count']\n"
        "try:\n    code = command.main()\nexcept SystemExit as end:\n    code = end.code\n"
        "assert not code, code\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, source], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1", "(90, 90)"], done


#: The stack of each thread that Rust code starts: so large that address space tells how many there may be.
STACK_BYTES = 2 << 30


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def with_few_threads(threads: int, *args: object) -> Done:
    """A command for whose threads there is room for so many stacks, about."""
    limit = ("RLIMIT_AS", (threads + 1) * STACK_BYTES)
    # The allocator of C libraries takes address space for each thread.
    env = {"RUST_MIN_STACK": str(STACK_BYTES), "MALLOC_ARENA_MAX": "1"}
    done = run_limited(limit, *args, env=env)
    if done.code != 0:
        assert done.code == 8, (args, done.err)
        assert "thread" in done.err, done.err
        assert "ulimit" in done.err, done.err
    return done


@pytest.mark.parametrize("threads", [0, 2, 3, 5, 40])
def test_few_threads_are_enough_or_an_error(tmp_path: Path, threads: int) -> None:
    source, expected = tmp_path / "source.parquet", rows(0, ROWS).to_pylist()
    pq.write_table(rows(0, ROWS), source, row_group_size=100)
    with busy_loops(2):
        for name in ("x.parquet", "x.csv", "x.jsonl"):
            copied = with_few_threads(threads, "copy", source, tmp_path / name, "--threads", "4")
            assert (tmp_path / name).exists() == (copied.code == 0)
            if copied.code == 0:
                summed = with_few_threads(threads, "scan", tmp_path / name, "--checksum", "--threads", "4")
                assert summed.code != 0 or summed.out == run_limited(FEW_FILES, "scan", source, "--checksum").out
        put = with_few_threads(threads, "upsert", f"delta:{tmp_path}/table", source, "--key", "id", "--threads", "4")
        again = with_few_threads(threads, "upsert", tmp_path / "table", source, "--key", "id", "--threads", "4")
        if put.code == 0:
            assert sorted_rows(pa.table(lr.scan(tmp_path / "table"))) == expected
        made = with_few_threads(threads, "tpch", "-s", "0.001", "-o", tmp_path / "tpch", "--threads", "4")
        assert (tmp_path / "tpch/lineitem.parquet").exists() == (made.code == 0)
    if threads == 40:
        assert (put.code, again.code, made.code) == (0, 0, 0)
        assert lr.scan(tmp_path / "tpch/lineitem.parquet").checksum() == lr.scan("tpch:lineitem?sf=0.001").checksum()


#: kB of address space, as `ulimit -v` takes them, in which tables of 50 MB are copied and upserted.
ADDRESS_SPACE_KB = 1_000_000


def test_a_table_is_copied_and_upserted_in_little_address_space(tmp_path: Path) -> None:
    count = 700_000
    texts = [f"{number * 7919 % 1_000_003:064x}" for number in range(count)]
    table = pa.table({"id": pa.array(range(count), pa.int64()), "text": texts})
    source, limit = tmp_path / "source.parquet", ("RLIMIT_AS", ADDRESS_SPACE_KB << 10)
    pq.write_table(table, source, compression="none", use_dictionary=False)
    assert source.stat().st_size > 50_000_000
    free = lr.scan(source).checksum()
    for target in ("x.parquet", "x.orc", "x.csv", "x.jsonl"):
        copied = run_limited(limit, "copy", source, tmp_path / target)
        assert copied.code == 0, (target, copied.err)
        assert lr.scan(tmp_path / target).checksum() == free
    for target in (f"delta:{tmp_path}/table", tmp_path / "table"):
        put = run_limited(limit, "upsert", target, source, "--key", "id")
        assert put.code == 0, (target, put.err)
    assert lr.scan(tmp_path / "table").checksum() == free


def test_too_little_address_space_is_said_at_the_start(tmp_path: Path) -> None:
    source = tmp_path / "source.parquet"
    pq.write_table(rows(0, 10), source)
    for args in (["copy", source, tmp_path / "x.csv"], ["upsert", f"delta:{tmp_path}/table", source, "--key", "id"]):
        done = run_limited(("RLIMIT_AS", 400_000 << 10), *args, "--json")
        assert done.error["exit_code"] == 8
        assert "limited to 400000 kB (ulimit -v), but the job needs " in done.err
    assert os.listdir(tmp_path) == ["source.parquet"]
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
