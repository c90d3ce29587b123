"""Stores of packs on a disk: forks, failures on the way, and the end of a process."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def in_child(run: Callable[[], int]) -> int:
    """The exit code of a forked child that runs `run`; -1 where it fails."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            signal.alarm(60)
            code = run()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


FORKS = """
import os, sys, lakerace as lr
# The thread draws a name before it forks.
lr.files.Store(f"{sys.argv[1]}/files/").put("a", b"")
for place in ("one", "two"):
    child = os.fork()
    if child == 0:
        lr.files.Store(f"{sys.argv[1]}/{place}.db", key=bytes(32)).put("a", b"content")
        with lr.files.Store(f"packs:{sys.argv[1]}/{place}") as store:
            store.put("a", b"content")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_children_name_packs_and_draw_salts_for_themselves(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(tmp_path)], check=True, timeout=100)
    found = []
    for place in ("one", "two"):
        [pack] = (tmp_path / place / "packs").iterdir()
        [added] = (tmp_path / place / "index").glob("*.parquet")
        row = sqlite3.connect(tmp_path / f"{place}.db").execute("SELECT content FROM files").fetchone()
        found.append((pack.name, added.name, row[0][:16]))
    one, two = found
    assert [a == b for a, b in zip(one, two, strict=True)] == [False] * 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_reads_and_does_not_write(tmp_path: Path) -> None:
    place = f"packs:{tmp_path}/store"
    store = lr.files.Store(place)
    store.put("a", b"1")
    store.flush()
    store.put("b", b"2")

    def use() -> int:
        if (store.get("a"), store.get("b")) != (b"1", b"2"):
            return 100
        refused = 0
        for write in (
            lambda: store.put("c", b""),
            lambda: store.put("long", bytes(13 << 20)),
            lambda: store.remove("a"),
            lambda: store.put_many({"d": b""}),
            store.flush,
        ):
            try:
                write()
            except lr.UsageError as error:
                refused += "forked" in str(error)
        return refused

    assert in_child(use) == 5
    assert store.list() == ["a", "b"]
    store.close()
    assert len(list((tmp_path / "store/packs").iterdir())) == 2
    with lr.files.Store(place) as again:
        assert again.get_many(["a", "b"]) == {"a": b"1", "b": b"2"}
        assert again.verify()[:4] == (2, 2, 0, [])


def test_a_close_that_fails_loses_nothing(tmp_path: Path) -> None:
    place = f"packs:{tmp_path}/store"
    store = lr.files.Store(place)
    store.put("a", b"1")
    (tmp_path / "store").mkdir(exist_ok=True)
    blocked = tmp_path / "store/packs"
    blocked.write_bytes(b"")
    with pytest.raises(lr.Error):
        store.close()
    assert store.get("a") == b"1"
    store.put("b", b"2")
    blocked.unlink()
    store.close()
    store.close()
    with pytest.raises(lr.UsageError, match="closed"):
        store.get("a")
    assert lr.files.Store(place).get_many(["a", "b"]) == {"a": b"1", "b": b"2"}


def test_one_failure_at_the_end_of_a_process_leaves_the_other_stores_theirs(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, lakerace as lr\n"
        "stores = [lr.files.Store(f'packs:{sys.argv[1]}/{i}') for i in range(6)]\n"
        "for store in stores: store.put('a', b'1')\n"
        "for i in range(0, 6, 2):\n"
        "    folder = pathlib.Path(sys.argv[1], str(i)); folder.mkdir(exist_ok=True); (folder / 'packs').write_bytes(b'')\n"
        # Without the destructors, which try again.
        "import atexit, os; atexit._run_exitfuncs(); sys.stderr.flush(); os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=True, timeout=100, capture_output=True, text=True
    )
    for i in (1, 3, 5):
        assert lr.files.Store(f"packs:{tmp_path}/{i}", create=False).get("a") == b"1"
    assert [f"{tmp_path}/{i}" in done.stderr for i in (0, 2, 4)] == [True] * 3


class Breaks:
    """A transform that fails while it is told to."""

    name = "breaks"

    def __init__(self) -> None:
        self.is_broken = False

    def apply(self, data: bytes) -> bytes:
        if self.is_broken:
            raise RuntimeError("broken")
        return data

    def remove(self, data: bytes) -> bytes:
        return data


@pytest.mark.parametrize("home", ["packs", "sqlite"])
@pytest.mark.parametrize("buffering", [0, -1])
def test_a_file_of_which_a_write_failed_does_not_appear(tmp_path: Path, home: str, buffering: int) -> None:
    breaks = Breaks()
    store = lr.files.Store(f"{home}:{tmp_path}/store", transforms=[breaks])
    file = store.open("a", "wb", buffering=buffering)
    file.write(bytes(5 << 20))
    breaks.is_broken = True
    with pytest.raises(lr.InvalidInputError, match="broken"):
        file.write(bytes(5 << 20))
    breaks.is_broken = False
    with pytest.raises(lr.UsageError, match=r"a: .*again from its start"):
        file.close()
    assert file.closed
    assert store.list() == []
    with store.open("a", "wb", buffering=buffering) as file:
        file.write(bytes(5 << 20))
    assert store.get("a") == bytes(5 << 20)


@pytest.mark.parametrize("ending", ["tar", "tar.zst", "zip"])
def test_a_failed_export_leaves_no_archive(tmp_path: Path, ending: str) -> None:
    store = lr.files.Store("memory:")
    store.put_many({f"{i}": os.urandom(1000) for i in range(100)})
    archive = tmp_path / f"out.{ending}"

    def stop(files: int, _: int) -> None:
        if files > 50:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        store.export_tree(archive, progress=stop)
    assert not archive.exists()
    full = tmp_path / f"full.{ending}"
    full.symlink_to("/dev/full")
    with pytest.raises(lr.Error, match=f"full.{ending}"):
        store.export_tree(full, if_exists="replace")


WAITS = """
import sys, threading, lakerace as lr

class Slow:
    name = "slow"
    def __init__(self): self.entered, self.may_go = threading.Event(), threading.Event()
    def apply(self, data):
        self.entered.set()
        self.may_go.wait(0.3)
        return data
    def remove(self, data): return data

slow = Slow()
store = lr.files.Store(f"{sys.argv[1]}", transforms=[slow])
file = store._create("a")
batch = store._batch()
for use in (lambda: file.write(bytes(5 << 20)), lambda: batch.put("b", bytes(5 << 20))):
    slow.entered.clear()
    thread = threading.Thread(target=use)
    thread.start()
    slow.entered.wait()
    (file.finish if not store.list() else batch.commit)()
    thread.join()
print(store.list())
"""


@pytest.mark.parametrize("home", ["packs", "sqlite"])
def test_ending_a_write_waits_for_another_thread_of_python(tmp_path: Path, home: str) -> None:
    arguments: list[Any] = [sys.executable, "-c", WAITS, f"{home}:{tmp_path}/store"]
    done = subprocess.run(arguments, check=True, timeout=100, capture_output=True, text=True)
    assert done.stdout == "['a', 'b']\n"


@pytest.mark.parametrize("keeps_times", [False, True])
def test_an_index_that_was_put_back_is_not_taken_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps_times: bool
) -> None:
    monkeypatch.setenv("LAKERACE_CACHE_DIR", str(tmp_path / "cache"))
    place, index, backup = f"packs:{tmp_path}/store", tmp_path / "store/index", tmp_path / "backup"
    copy = shutil.copy2 if keeps_times else shutil.copyfile
    names = [f"d/{number:05}" for number in range(40_000)]
    with lr.files.Store(place) as store:
        store.put_many(dict.fromkeys(names, b"v1"))
    shutil.copytree(index, backup, copy_function=copy)
    with lr.files.Store(place) as store:
        store.put_many({**dict.fromkeys(names, b"v2"), "more": b"v2"})
    before = lr.files.Store(place)
    assert before.get(names[7]) == b"v2"
    shutil.rmtree(index)
    shutil.copytree(backup, index, copy_function=copy)
    with lr.files.Store(place) as store:
        store.put("new", b"3")
    after = lr.files.Store(place, read_only=True)
    # One that was open takes in what was put back, too.
    before.put("newer", b"4")
    before.flush()
    for store, own in ((after, ["new"]), (before, ["new", "newer"]), (lr.files.Store(place), ["new", "newer"])):
        assert store.list() == names + own
        assert store.get(names[7]) == b"v1"
        assert store.get("new") == b"3"
    assert before.verify().damage == []


#: Children that are forked while other threads use a store.
CHILDREN = 30


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("place", ["packs:", "memory:"])
def test_a_child_reads_whatever_other_threads_did_at_the_fork(tmp_path: Path, place: str) -> None:
    store = lr.files.Store(f"packs:{tmp_path}/store" if place == "packs:" else place)
    store.put("base", b"0" * 1000)
    store.flush()
    is_over = threading.Event()

    def write() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            store.put(f"t/{number % 50}", bytes(5000))
            store.get("base")

    def use() -> int:
        is_right = store.get("base") == b"0" * 1000 and store.exists("base") and store.list("b") == ["base"]
        return 0 if is_right else 1

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = [in_child(use) for _ in range(CHILDREN)]
    is_over.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * CHILDREN
    # The parent goes on.
    store.put("after", b"1")
    store.flush()
    assert store.get("after") == b"1"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_may_write_to_a_store_in_memory(tmp_path: Path) -> None:
    store = lr.files.Store("memory:")
    store.put("a", b"1")

    def use() -> int:
        store.put("a", b"2")
        return 0 if store.get("a") == b"2" else 1

    assert in_child(use) == 0
    assert store.get("a") == b"1"


@pytest.mark.parametrize("place", ["packs:{}/packs", "{}/folder/", "memory:"])
def test_blocks_are_refused_where_a_store_has_none(tmp_path: Path, place: str) -> None:
    location = place.format(tmp_path)
    with pytest.raises(lr.UnsupportedError, match="blocks"):
        lr.files.Store(location, pack_bytes=16_384)
    with lr.files.Store(location, pack_bytes=0) as store:
        store.put("a", b"1")
        assert store.get("a") == b"1"
