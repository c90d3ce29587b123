"""Ctrl-C and the like: the job ends within seconds, with 130 or `KeyboardInterrupt`, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command
from process_state import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: From the signal to the end. A second is promised; the rest is for a machine that does other work.
END_SECONDS = 20
#: Processor time after which a scan is under way.
SCANNED_SECONDS = 0.2


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that take minutes to compress at zstd's highest level."""
    path: Path = tmp_path_factory.mktemp("source") / "slow.parquet"
    words = [os.urandom(3).hex() for _ in range(5000)]
    rows = [" ".join(words[(i * k) % 5000] for k in (1, 3, 7, 11, 13)) for i in range(200_000)]
    table = pa.table({f"c{i}": rows for i in range(20)})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    return path


def interrupt(
    process: subprocess.Popen[str], is_under_way: Callable[[], bool], by: signal.Signals = signal.SIGINT
) -> tuple[str, str]:
    """Sends a signal once the job is under way and waits for the end."""
    deadline = time.monotonic() + 60
    while not is_under_way():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the job did not begin"
        time.sleep(0.05)
    process.send_signal(by)
    out, err = process.communicate(timeout=END_SECONDS)
    return out, err


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command(source: Path, tmp_path: Path, by: signal.Signals) -> None:
    slow = ["--compression", "zstd:22", "--threads", 1]
    process = subprocess.Popen(
        command("copy", source, tmp_path / "out.parquet", *slow, "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # The tests themselves may run under nohup, and what is ignored is inherited.
        preexec_fn=lambda: signal.signal(by, signal.SIG_DFL),  # noqa: PLW1509  no thread of the tests holds a lock
    )
    out, err = interrupt(process, lambda: any(tmp_path.iterdir()), by)
    assert process.returncode == 130, err
    assert '"cancelled"' in out
    assert "interrupted" in err
    assert not list(tmp_path.iterdir())


def test_a_hangup_is_ignored_where_nohup_says_so(source: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        ["nohup", *command("copy", source, tmp_path / "out.parquet", "--threads", 1, "-q")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, err = interrupt(process, lambda: any(tmp_path.iterdir()), signal.SIGHUP)
    assert (process.returncode, err) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_python_copy(source: Path, tmp_path: Path) -> None:
    code = f"""
import lakerace as lr
try:
    lr.copy({str(source)!r}, {str(tmp_path / "out.parquet")!r}, compression="zstd:22", threads=1)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = interrupt(process, lambda: any(tmp_path.iterdir()))
    assert (process.returncode, out, err) == (0, "interrupted\n", "")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def big_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten million rows."""
    path: Path = tmp_path_factory.mktemp("csv") / "big.csv"
    with path.open("w") as file:
        file.write("a,b,c\n")
        for _ in range(200):
            file.write("123456,some text that is parsed,1.25\n" * 50_000)
    return path


@pytest.mark.parametrize("consume", ["scan.to_arrow()", "scan.to_polars()", "list(scan.batches())", "pa.table(scan)"])
def test_consumers(big_csv: Path, consume: str) -> None:
    code = f"""
import time
import lakerace as lr
import pyarrow as pa
import polars
scan = lr.scan({str(big_csv)!r}, threads=1)
try:
    try:
        print("ready", flush=True)
        while True:
            {consume}
    except pa.ArrowException:
        for _ in range(600):
            time.sleep(0.1)  # the consumer says that its stream ended; Ctrl-C itself arrives behind that
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = cpu_seconds(process)
    out, err = interrupt(process, lambda: cpu_seconds(process) > begun + SCANNED_SECONDS)
    assert (process.returncode, out) == (0, "interrupted\n"), err


def test_a_scan_can_be_used_again(big_csv: Path) -> None:
    code = f"""
import lakerace as lr
scan = lr.scan({str(big_csv)!r}, threads=1)
try:
    print("ready", flush=True)
    while True:
        scan.checksum()
except KeyboardInterrupt:
    print(scan.report()["rows"], lr.scan({str(big_csv)!r}, limit=5).count(), next(scan.batches()).num_rows > 0)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = cpu_seconds(process)
    out, err = interrupt(process, lambda: cpu_seconds(process) > begun + SCANNED_SECONDS)
    assert process.returncode == 0, err
    assert out.split()[1:] == ["5", "True"]


#: A transform that interrupts its own process in the middle of a long work, and counts what is done all the same.
FILES = """
import os, signal, sys, time
import lakerace as lr

class Counted:
    calls = 0
    def apply(self, data): return data[::-1]
    def remove(self, data):
        Counted.calls += 1
        if Counted.calls == 200:
            os.kill(os.getpid(), signal.SIGINT)
        if Counted.calls > 200:
            time.sleep(0.001)
        return data[::-1]

store = lr.files.Store(sys.argv[1], transforms=[Counted()])
store.put_many((f"f{i:06}", b"content") for i in range(20_000))
try:
    store.verify()
except KeyboardInterrupt:
    print("interrupted", Counted.calls < 20_000)
Counted.calls = 1000
assert store.get("f000000") == b"content"
assert len(store.list()) == 20_000
"""


@pytest.mark.parametrize("place", ["s.db", "memory:", "packs:p"])
def test_a_verification_of_files(tmp_path: Path, place: str) -> None:
    location = {"s.db": f"{tmp_path}/s.db", "packs:p": f"packs:{tmp_path}/p"}.get(place, place)
    done = subprocess.run([sys.executable, "-c", FILES, location], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted True\n"), done.stderr
