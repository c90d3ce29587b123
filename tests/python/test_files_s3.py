"""Stores of small files on a real S3 server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3


def test_files_go_to_packs_and_come_back(s3: S3) -> None:
    url = s3.url("files/one")
    files = {f"d{i % 10}/{i:05}": os.urandom(64) for i in range(5000)} | {"long": os.urandom(20_000_000), "empty": b""}
    with lr.files.Store(url, storage_options=s3.options, compression="zstd") as store:
        assert store.put_many(files) == 5002
        store.put("later", b"pending")
        assert store.get("later") == b"pending"
        assert "later" not in lr.files.Store(url, storage_options=s3.options)
    assert len(s3.keys("files/one/packs/")) == 3
    other = lr.files.Store(url, storage_options=s3.options, read_only=True)
    assert other.list() == sorted([*files, "later"])
    assert other.get_many(list(files)) == files
    with other.open("long", "rb") as file:
        file.seek(19_999_000)
        assert file.read() == files["long"][19_999_000:]
    assert other.verify()[:4] == (5003, 20_320_007, 0, [])
    table = lr.scan(s3.url("files/one/index"), storage_options=s3.options, where="pack IS NOT NULL")
    assert table.count() == 5003
    with pytest.raises(lr.NotFoundError):
        lr.files.Store(s3.url("files/absent"), storage_options=s3.options, create=False)


def test_the_command_takes_the_url(s3: S3, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"content")
    url = s3.url("files/command")
    done = ok("files", "put", url, "a/b", tmp_path / "in", "--json", env=s3.env).json
    assert done["requests"]["put"] >= 4
    assert ok("files", "get", url, "a/b", env=s3.env).out == "content"
    ok("files", "mv", url, "a", "c", env=s3.env)
    assert ok("files", "ls", url, "-r", env=s3.env).out == "c/b\n"
    ok("files", "compact", url, env=s3.env)
    ok("files", "rm", url, "c/b", env=s3.env)
    assert ok("files", "ls", url, env=s3.env).out == ""
    assert run("files", "ls", s3.url("files/absent"), env=s3.env).code == 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_is_refused_in_the_child(s3: S3) -> None:
    store = lr.files.Store(s3.url("files/fork"), storage_options=s3.options)
    store.put("a", b"1")
    store.flush()
    store.put("b", b"2")
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: store.get("a"), lambda: store.put("c", b""), store.flush):
            try:
                use()
            except lr.UsageError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    store.close()
    assert lr.files.Store(s3.url("files/fork"), storage_options=s3.options).list() == ["a", "b"]


def test_what_was_put_is_durable_at_the_end_of_a_process(s3: S3) -> None:
    url = s3.url("files/ended")
    script = (
        "import sys, fsspec, lakerace as lr\n"
        "options = eval(sys.argv[2])\n"
        "store = lr.files.Store(sys.argv[1], storage_options=options)\n"
        "store.put('a', b'1')\n"
        "with fsspec.open(f'lrfiles://{sys.argv[1]}!/b', 'wb', storage_options=options) as file: file.write(b'2')\n"
    )
    subprocess.run([sys.executable, "-c", script, url, repr(s3.options)], check=True, timeout=100)
    with lr.files.Store(url, storage_options=s3.options, create=False) as store:
        assert store.get_many(["a", "b"]) == {"a": b"1", "b": b"2"}
    with pytest.raises(lr.UsageError, match="closed"):
        store.flush()


WRITER = """
import os, sys
import lakerace as lr
url, options = sys.argv[1], eval(sys.argv[2])
store = lr.files.Store(url, storage_options=options)
for version in range(1000):
    names = [f"{os.getpid()}/{version}/{i}" for i in range(20)]
    for name in names:
        store.put(name, name.encode() * 50)
    store.flush()
    print(*names, flush=True)
"""


def test_what_killed_writers_had_flushed_is_there(s3: S3) -> None:
    """Two writers at the same time are killed while they go on, and others come."""
    url = s3.url("files/killed")
    confirmed: list[str] = []
    for _ in range(2):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, url, repr(s3.options)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for _ in range(3):
            for writer in writers:
                assert writer.stdout is not None
                confirmed += writer.stdout.readline().split()
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            assert writer.stdout is not None
            confirmed += [name for line in writer.stdout if line.endswith("\n") for name in line.split()]
            writer.stdout.close()
            writer.wait()
    store = lr.files.Store(url, storage_options=s3.options, create=False)
    assert len(confirmed) >= 240
    assert store.get_many(confirmed) == {name: name.encode() * 50 for name in confirmed}
    assert store.verify().damage == []
