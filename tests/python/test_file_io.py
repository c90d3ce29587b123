"""`--io`: the same bytes every way, and what happens where the kernel does not go along."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import resource
import struct
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="io_uring is Linux's")

WAYS = ["auto", "sync", "uring", "uring-direct"]


def taken(way: str, folder: Path) -> str:
    """The way that is taken in a folder: io_uring is left where writes into the page cache can't but block (ext4)."""
    if way != "uring":
        return way
    with (folder / "asked").open("wb") as file:
        try:
            os.pwritev(file.fileno(), [b"x"], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return way
        except OSError:
            return "sync"
        finally:
            (folder / "asked").unlink()
    return way


def sums(folder: Path) -> dict[str, str]:
    """A hash of every file."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "tbl"])
def test_tables_are_the_same_bytes_every_way(tmp_path: Path, format: str) -> None:
    made = []
    for way in WAYS:
        out = tmp_path / way
        done = ok("tpch", "-s", "0.05", "-o", out, "--format", format, "--parts", "2", "--io", way, "--json")
        assert done.json["io"] == taken(way, tmp_path)
        assert (done.json["warnings"] == []) == (done.json["io"] == way)
        made.append(sums(out))
    assert len(made[0]) == 14
    assert all(files == made[0] for files in made)


@pytest.mark.parametrize("way", WAYS)
def test_copies_upserts_and_compactions(tmp_path: Path, way: str) -> None:
    source, table, io = tmp_path / "orders.parquet", tmp_path / "orders", taken(way, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if io == way else "ignore")
        done = lr.copy("tpch:orders?sf=0.05", source, compression="none", io=way)  # type: ignore[arg-type]
    assert (done.io, done.rows, pq.read_metadata(source).num_rows) == (io, 75_000, 75_000)
    # Which way a job chooses depends on the machine; the others keep to theirs.
    assert way == "auto" or (done.bytes_past_cache > 0) == (io == "uring-direct")
    assert done.bytes_past_cache <= done.file_bytes
    ok("copy", source, f"delta:{table}", "--io", way, "--table-property", "lakerace.primaryKey=o_orderkey")
    upserted = ok("upsert", table, source, "--where", "o_orderkey < 1000", "--io", way, "--json").json
    assert upserted["io"] == io
    assert 0 <= upserted["bytes_past_cache"] <= upserted["bytes_written"]
    assert ok("compact", table, "--sort-by", "o_custkey", "--io", way, "--json").json["io"] == io
    with warnings.catch_warnings():
        warnings.simplefilter("error" if io == way else "ignore")
        # The rows of a scan, which has a job of its own.
        done = lr.copy(lr.scan(source), tmp_path / "again.parquet", compression="none", io=way)  # type: ignore[arg-type]
        assert (done.io, done.rows) == (io, 75_000)
        some = lr.scan(source, where="o_orderkey < 1000")
        changed = lr.Table(table).upsert(some, io=way)  # type: ignore[arg-type]
    assert (changed.io, changed.rows_hidden) == (io, changed.rows)
    assert lr.scan(table).checksum() == lr.scan(source).checksum()


def test_another_way_is_a_usage_error(tmp_path: Path) -> None:
    done = run("copy", "tpch:nation?sf=1", tmp_path / "x.csv", "--io", "fast")
    assert done.code == 2
    assert "uring-direct" in done.err
    with pytest.raises(lr.UsageError, match="io: "):
        lr.copy("tpch:nation?sf=1", tmp_path / "x.csv", io="fast")  # type: ignore[arg-type]


def test_nothing_is_reported_where_no_file_is_written(parquet: Path) -> None:
    assert ok("scan", parquet, "--count", "--json").json["io"] is None


def limited(prepare: Callable[[], None], *args: object) -> subprocess.CompletedProcess[str]:
    """Runs `lakerace` in a process that was prepared for it."""
    return subprocess.run(
        command(*args),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        preexec_fn=prepare,
        # Python ignores the signal that a file which grows too long gives.
        restore_signals=False,
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_may_not_grow(tmp_path: Path, way: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))

    out = tmp_path / "out"
    done = limited(limit, "tpch", "-s", 0.05, "-o", out, "--format", "tbl", "--io", way, "--json")
    assert done.returncode == 8, done.stderr
    assert "File too large" in done.stderr
    assert str(out) in json.loads(done.stdout)["error"]["place"]
    assert not out.exists()
    done = limited(limit, "tpch", "-s", 0.01, "-o", out, "--tables", "orders,part", "--io", way, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["io"] == taken(way, tmp_path)


def refuse_io_uring() -> None:
    """Makes `io_uring_setup` fail with EPERM for this process, as a container's filter does; exits with 77 if it can't."""
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter_, 0, 0) != 0:
        raise OSError("no filter")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="numbers of system calls")
def test_a_kernel_that_refuses(tmp_path: Path) -> None:
    args = ["tpch", "-s", "0.02", "--tables", "lineitem", "--format", "csv", "--json", "-o"]
    try:
        done = limited(refuse_io_uring, *args, tmp_path / "a", "--io", "uring")
    except subprocess.SubprocessError:
        pytest.skip("system calls can't be filtered here")
    assert done.returncode == 0, done.stderr
    assert "warning: io_uring is not available here (Operation not permitted" in done.stderr
    made = json.loads(done.stdout)
    assert made["io"] == "sync"
    assert len(made["warnings"]) == 1
    ok(*args, tmp_path / "b")
    assert sums(tmp_path / "a") == sums(tmp_path / "b")

    code = "import lakerace as lr, sys; print(lr.copy('tpch:region?sf=1', sys.argv[1], io='uring-direct').io)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "region.csv")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
        preexec_fn=refuse_io_uring,
    )
    assert done.stdout == "sync\n"
    assert "LakeraceWarning: io_uring is not available" in done.stderr
