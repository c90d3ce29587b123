"""The small-file store from Python: the built-in `open` and `sqlite3` are the oracles."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import pickle
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

#: Rounds of a writer that is killed; `LAKERACE_CRASH_ROUNDS=1000` for a soak.
CRASH_ROUNDS = int(os.environ.get("LAKERACE_CRASH_ROUNDS", "10"))


@pytest.fixture(params=["pack.db", "files/", "memory:"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> lr.files.Store:
    """A store of each home."""
    place = request.param if request.param == "memory:" else f"{tmp_path}/{request.param}"
    return lr.files.Store(place)


def test_errors_name_the_store_and_the_file(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "pack.db")
    store.put("there", b"x")
    missing: list[Callable[[], object]] = [
        lambda: store.get("none"),
        lambda: store.get_many(["none"]),
        lambda: store.stat("none"),
        lambda: store.open("none"),
        lambda: store.open("none", "r+b"),
        lambda: store.remove("none"),
        lambda: store.rename("none", "other"),
    ]
    for call in missing:
        with pytest.raises(lr.NotFoundError) as caught:
            call()
        assert caught.value.place == f"{store.location}: none"
    with pytest.raises(lr.ConflictError) as conflict:
        store.open("there", "xb")
    assert conflict.value.place == f"{store.location}: there"


def test_contents_come_back(store: lr.files.Store) -> None:
    for data in (b"", b"x", os.urandom(70_000), os.urandom(2_000_000)):
        for kind in (bytes, bytearray, memoryview):
            store.put("a/b", kind(data))
            got = store.get("a/b")
            assert type(got) is bytes
            assert got == data
    with pytest.raises(TypeError):
        store.put("a/b", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        store.put("a/b", "text")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        store.get("a/c")
    with pytest.raises(FileExistsError):
        store.put("a/b", b"", if_exists="error")
    with pytest.raises(lr.InvalidInputError):
        store.put("../b", b"")


def test_many_go_in_and_out_together(store: lr.files.Store) -> None:
    files = {f"n{i:04}": os.urandom(i % 300) for i in range(2500)}
    assert store.put_many(files) == 2500
    names = list(files)[::-1]
    got = store.get_many(names)
    assert list(got) == names
    assert got == files
    assert store.list("n00") == [f"n{i:04}" for i in range(100)]
    assert [stat.name for stat in store.scan()] == sorted(files)
    with pytest.raises(FileNotFoundError):
        store.get_many(["n0000", "absent"])
    assert list(store.get_many(["n0000", "absent"], missing="skip")) == ["n0000"]


def test_a_failed_put_many_leaves_nothing(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")

    def pairs() -> Any:
        yield "a", b"1"
        raise RuntimeError("the source ended")

    with pytest.raises(RuntimeError):
        store.put_many(pairs())
    with pytest.raises(RuntimeError), store.batch() as batch:  # noqa: PT012
        batch.put("b", b"2")
        raise RuntimeError
    assert store.list() == []
    with store.batch() as batch:
        batch.put("c", b"3")
        batch.rename("c", "d")
    assert store.list() == ["d"]


@pytest.mark.parametrize("place", ["pack.db", "files/", "memory:", "packs:"])
def test_a_name_that_no_file_can_have_is_absent(place: str, tmp_path: Path) -> None:
    place = f"packs:{tmp_path}/packs" if place == "packs:" else place if place == "memory:" else f"{tmp_path}/{place}"
    with lr.files.Store(place) as store:
        store.put("a/b", b"1")
        names = ["", "/", ".", "..", "a/", "a/b/", "a//b", "/a/b", "a/../a/b", "a\0b", "a/b\0", "x" * 20_000]
        assert store.get_many(names, missing="skip") == {}
        for name in names:
            assert name not in store
            assert not store.exists(name)
            for absent in (store.get, store.stat, store.remove, store.open):
                with pytest.raises(lr.NotFoundError):
                    absent(name)
            with pytest.raises(lr.NotFoundError):
                store.rename(name, "z")
            with pytest.raises(lr.NotFoundError):
                store.copy(name, "z")
            with pytest.raises(lr.InvalidInputError):
                store.put(name, b"")
        assert store.list() == ["a/b"]


def test_a_directory_is_the_one_that_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder / "files/a").mkdir(parents=True)
        (tmp_path / folder / "files/a/1").write_text(folder)
    monkeypatch.chdir(tmp_path / "one")
    store = lr.files.Store("files/")
    monkeypatch.chdir(tmp_path / "two")
    (tmp_path / "one/files/b").write_text("b")
    assert (store.list(), store.get("a/1"), store.location) == (["a/1", "b"], b"one", "files/")
    assert (store.verify().bytes, store.compact().bytes_after, store.glob("?")) == (4, 4, ["b"])
    assert store.remove_tree("") == 2
    assert (tmp_path / "two/files/a/1").read_text() == "two"


def test_a_batch_may_have_more_files_than_a_process_may_have_open(tmp_path: Path) -> None:
    code = (
        "import resource, sys, lakerace as lr\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
        "store = lr.files.Store(sys.argv[1])\n"
        "assert store.put_many({f'{i % 7}/{i}': b'1' for i in range(500)}) == 500\n"
        "assert len(store.list()) == 500\n"
    )
    subprocess.run([sys.executable, "-c", code, f"{tmp_path}/files/"], check=True)


@pytest.mark.parametrize("mode", ["r", "w", "a", "x", "r+", "w+", "a+", "x+"])
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("binary", [True, False])
def test_open_is_like_the_built_in_one(
    store: lr.files.Store, tmp_path: Path, mode: str, exists: bool, binary: bool
) -> None:
    path = tmp_path / "oracle"
    start = b"line one\r\nline two\nlast"
    if exists:
        path.write_bytes(start)
        store.put("f", start)

    def use(opener: Any) -> Any:
        text = (lambda data: data) if binary else (lambda data: data.decode())
        log: list[Any] = []
        try:
            with opener(mode + ("b" if binary else "")) as file:
                log += [file.readable(), file.writable(), file.tell()]
                if file.readable():
                    log += [file.read(5), file.readline(), list(file)]
                    file.seek(2)
                    log.append(file.read())
                if file.writable():
                    log.append(file.write(text(b"written\n")))
        except (OSError, ValueError) as error:
            log.append([kind for kind in (FileNotFoundError, FileExistsError) if isinstance(error, kind)])
        return log

    expected = use(lambda mode: open(path, mode, **({} if binary else {"encoding": "utf-8"})))  # noqa: SIM115
    assert use(lambda mode: store.open("f", mode)) == expected
    assert store.exists("f") == path.exists()
    if path.exists():
        assert store.get("f") == path.read_bytes()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_texts_are_appended_in_their_encoding(store: lr.files.Store, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "oracle"
    for opener in (
        lambda mode: open(path, mode, encoding=encoding),  # noqa: SIM115
        lambda mode: store.open("f", mode, encoding=encoding),
    ):
        for mode in ("w", "a", "a"):
            with opener(mode) as file:
                file.write("ä\n")
    assert store.get("f") == path.read_bytes()


@pytest.mark.parametrize("mode", ["a", "ab", "a+", "r+", "r+b"])
def test_a_file_that_is_changed_keeps_its_metadata(tmp_path: Path, mode: str) -> None:
    store = lr.files.Store(tmp_path / "pack.db")
    store.put("x", b"old", metadata={"kind": 1})
    with store.open("x", mode) as file:
        file.write(b"new" if "b" in mode else "new")
    assert store.get("x") == (b"oldnew" if "a" in mode else b"new")
    assert store.stat("x").metadata == {"kind": 1}
    with store.open("x", mode, metadata=[2]):
        pass
    assert store.stat("x").metadata == [2]
    with store.open("x", "w"):
        pass
    assert store.stat("x").metadata is None


@pytest.mark.parametrize("folder", ["bs\\x", "a[b]c", "{a,b}", "*", "?", "!", "-^\\*"])
def test_the_name_of_a_path_is_no_pattern(store: lr.files.Store, folder: str) -> None:
    store.put_many({f"{folder}/q": b"1", "other/q": b"2", "b/q": b"3"})
    assert [str(path) for path in store.path(folder).glob("*")] == [f"{folder}/q"]
    assert [str(path) for path in store.path(folder).rglob("q")] == [f"{folder}/q"]


def test_what_ends_by_an_exception_does_not_appear(store: lr.files.Store) -> None:
    for mode in ("w", "wb", "a", "w+b"):
        with pytest.raises(RuntimeError), store.open("f", mode) as file:  # noqa: PT012
            file.write("x" * 10 if "b" not in mode else b"x" * 600_000)
            raise RuntimeError
        assert not store.exists("f"), mode
    for mode in ("rw", "q", "", "rbt", "++"):
        with pytest.raises(ValueError, match="mode"):
            store.open("f", mode)


def test_stats_paths_and_trees(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db", compression="zstd")
    store.put("a/b.json", b"{}" * 500, metadata={"k": [1, None]}, mtime_ms=1_500)
    stat = store.stat("a/b.json")
    assert stat[:3] == ("a/b.json", 1000, 1500)
    assert (stat.encoding, stat.metadata, stat.mtime) == ("zstd", {"k": [1, None]}, 1.5)
    path = store / "a" / "c.txt"
    assert path.write_text("ä") == 1
    assert path.read_text() == "ä"
    assert (path.name, path.suffix, str(path.parent)) == ("c.txt", ".txt", "a")
    assert [str(one) for one in path.parent.iterdir()] == ["a/b.json", "a/c.txt"]
    assert [str(one) for one in store.path().rglob("*.txt")] == ["a/c.txt"]
    assert list(store.walk()) == [("", ["a"], []), ("a", [], ["b.json", "c.txt"])]
    seen: list[tuple[int, int]] = []
    assert store.export_tree(tmp_path / "out", progress=lambda files, bytes_: seen.append((files, bytes_))) == (2, 1002)
    assert seen == [(1, 1000), (2, 1002)]
    assert (tmp_path / "out/a/c.txt").read_text(encoding="utf-8") == "ä"
    assert store.export_tree(tmp_path / "out.zip") == (2, 1002)
    other = lr.files.Store("memory:")
    assert other.import_tree(tmp_path / "out.zip", "in") == (2, 1002)
    assert other.import_tree(tmp_path / "out", "in2") == (2, 1002)
    assert other.get_many(["in/a/c.txt", "in2/a/c.txt"]) == dict.fromkeys(["in/a/c.txt", "in2/a/c.txt"], "ä".encode())
    assert "a/c.txt" in store
    path.unlink()
    assert not path.exists()
    assert store.verify()[:4] == (1, 1000, 0, [])
    assert store.compact().orphans == 0


def test_a_snapshot_does_not_change(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    store.put_many({f"f{i}": b"old" for i in range(10)})
    with store.snapshot() as snapshot:
        store.put("f1", b"new")
        store.remove("f2")
        assert snapshot.get("f1") == b"old"
        assert snapshot.list() == [f"f{i}" for i in range(10)]
        with snapshot.open("f2") as file:
            assert file.read() == "old"
        assert snapshot.get_many(["f1", "f2"]) == {"f1": b"old", "f2": b"old"}
    assert store.get("f1") == b"new"
    with pytest.raises(lr.UsageError):
        snapshot.get("f1")


def test_transforms_are_python_objects(tmp_path: Path) -> None:
    class Rot:
        name = "rot"

        def apply(self, data: bytes) -> bytes:
            return bytes((byte + 1) % 256 for byte in data)

        def remove(self, data: bytes) -> bytes:
            return bytes((byte - 1) % 256 for byte in data)

    store = lr.files.Store(tmp_path / "s.db", transforms=[Rot(), "base64"], key=b"k" * 32, compression="gzip")
    store.put("a", b"secret" * 100)
    assert store.get("a") == b"secret" * 100
    assert store.stat("a").encoding.startswith("gzip; python:rot; base64; aes-256-gcm key=")
    store.close()
    with lr.files.Store(tmp_path / "s.db", key=b"k" * 32) as other, pytest.raises(lr.UsageError, match="python:rot"):
        other.get("a")
    with pytest.raises(ValueError, match="32 bytes"):
        lr.files.Store(tmp_path / "s.db", key=b"short")


def test_any_sqlite_reads_the_documented_schema(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    store.put("a/b", b"small")
    store.put("big", bytes(range(256)) * 4000)
    store.close()
    with sqlite3.connect(tmp_path / "s.db") as other:
        assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert other.execute("SELECT name, size FROM files ORDER BY name").fetchall() == [
            ("a/b", 5),
            ("big", 1_024_000),
        ]
        assert other.execute("SELECT content FROM files WHERE name='a/b' AND encoding=0").fetchone() == (b"small",)
        (place,) = other.execute("SELECT place FROM files WHERE name='big'").fetchone()
        chunks = other.execute("SELECT data FROM chunks WHERE id>>24=? ORDER BY id", (place,)).fetchall()
        assert b"".join(chunk for (chunk,) in chunks) == bytes(range(256)) * 4000
    other.close()


def _read_in_child(store: lr.files.Store, queue: Any) -> None:
    store.put("child", b"from the child")
    queue.put(store.get("parent"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_store_is_open_in_children(tmp_path: Path, method: str) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    store.put("parent", b"from the parent")
    for _ in range(600):
        assert store.exists("parent")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_read_in_child, args=(store, queue))
    child.start()
    assert queue.get(timeout=60) == b"from the parent"
    child.join()
    assert child.exitcode == 0
    assert store.get("child") == b"from the child"
    store.put("after", b"x")
    assert store.verify().damage == []
    assert pickle.loads(pickle.dumps(store)).get("after") == b"x"


@pytest.mark.parametrize("place", ["s.db", "sqlite:s.db", "colon:s.db", "folder/", "dir:folder", "packs:packs"])
def test_a_pickled_store_is_the_same_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = lr.files.Store(place)
    store.put("a", b"1")
    store.flush()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = pickle.loads(pickle.dumps(store))
    assert again.get("a") == b"1"
    assert os.listdir() == []
    assert repr(store) == f"lakerace.files.Store({place!r})"


def test_an_open_store_stays_what_it_is_when_the_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    lr.files.Store(other / "s.db").put("a", b"other")
    monkeypatch.chdir(tmp_path)
    store = lr.files.Store("s.db")
    monkeypatch.chdir(other)
    store.put("a", b"1")
    assert store.get("a") == b"1"
    store.flush()
    assert store.compact().bytes_after > 0
    assert store.location == "s.db"
    assert lr.files.Store("s.db").get("a") == b"other"
    assert lr.files.Store(tmp_path / "s.db").get("a") == b"1"


#: Tries for the lock that SQLite takes of a file that nobody else has open.
LOCK_CODE = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except BlockingIOError:
        print("held")
"""


def test_a_flush_and_a_verification_keep_the_locks_of_the_file(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    store.put("a", b"1")

    def is_held() -> bool:
        code = [sys.executable, "-c", LOCK_CODE, str(tmp_path / "s.db")]
        return subprocess.run(code, capture_output=True, text=True, check=True).stdout == "held\n"

    assert is_held()
    store.flush()
    assert is_held()
    assert store.verify().damage == []
    assert is_held()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_with_an_open_snapshot_is_refused_in_the_child(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    store.put("a", b"1")
    with store.snapshot() as snapshot:
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (lambda: store.get("a"), lambda: lr.files.Store(tmp_path / "s.db"), lambda: snapshot.get("a")):
                try:
                    use()
                except lr.UsageError:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert snapshot.get("a") == b"1"
    assert store.get("a") == b"1"


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db", durability="full")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(25):
                store.put(f"{number}/{i}", b"%d" % i)
                assert store.get(f"{number}/{i}") == b"%d" % i
        except BaseException as error:  # told by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.list()) == 400


WRITER = """
import os, sys
import lakerace as lr
store = lr.files.Store(sys.argv[1], durability="normal", compression="zstd")
for i in range(1_000_000):
    name = f"{os.getpid()}/{i}"
    size = 700_000 if i % 50 == 49 else i % 300
    store.put(name, (name * (size // len(name) + 1)).encode())
    sys.stdout.write(f"{name} {size}\\n")
    sys.stdout.flush()
"""


#: Rounds on one store; then another one is made, so that a round takes as long whatever their number.
ROUNDS_OF_A_STORE = 20


def test_what_a_killed_writer_had_confirmed_is_there(tmp_path: Path) -> None:
    confirmed: dict[str, int] = {}
    path = tmp_path / "s.db"
    total = 0
    for round_number in range(CRASH_ROUNDS):
        if round_number % ROUNDS_OF_A_STORE == 0:
            confirmed.clear()
            for left in tmp_path.iterdir():
                left.unlink()
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        before = len(confirmed)
        for _ in range(60 + 13 * (round_number % 10)):
            name, size = writer.stdout.readline().split()
            confirmed[name] = int(size)
        writer.send_signal(signal.SIGKILL)
        for line in writer.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                name, size = line.split()
                confirmed[name] = int(size)
        writer.stdout.close()
        writer.wait()
        total += len(confirmed) - before
        store = lr.files.Store(path)
        assert store.verify().damage == []
        for name, content in store.get_many(list(confirmed)).items():
            assert content == (name * (confirmed[name] // len(name) + 1)).encode()
        store.close()
    print(f"{CRASH_ROUNDS} writers were killed: {total} confirmed files are there and whole")


FULL = """
import os, resource, signal, sys
import lakerace as lr
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = lr.files.Store(sys.argv[1])
store.put("first", b"there" * 1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
try:
    for i in range(100):
        store.put(f"more{i}", os.urandom(300_000))
except lr.UnavailableError as error:
    print(i)
"""


def test_a_disk_that_is_full_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    stored = int(done.stdout)
    assert 1 <= stored < 20
    store = lr.files.Store(path)
    assert store.list() == sorted(["first", *[f"more{i}" for i in range(stored)]])
    assert store.verify().damage == []
    store.put("again", b"x")


#: The length of a long content, in millions of bytes; `LAKERACE_LONG_MEGABYTES=3000` for a soak.
LONG_MEGABYTES = int(os.environ.get("LAKERACE_LONG_MEGABYTES", "400"))


def test_a_long_content_is_never_held_whole(tmp_path: Path) -> None:
    script = (
        f"n = {LONG_MEGABYTES}\n"
        "import sys, lakerace as lr\n"
        "store = lr.files.Store(sys.argv[1], durability='off')\n"
        "with store.open('big', 'wb') as file:\n"
        "    for i in range(n): file.write(bytes([i % 256]) * 1_000_000)\n"
        "with store.open('big', 'rb') as file:\n"
        "    file.seek(n * 1_000_000 - 10)\n"
        "    assert file.read() == bytes([(n - 1) % 256]) * 10\n"
        "    file.seek(0)\n"
        "    assert sum(len(part) for part in iter(lambda: file.read(1 << 20), b'')) == n * 1_000_000\n"
        # Not by getrusage, whose peak is the parent's where that had more when it started this process.
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "s.db")],
        capture_output=True,
        text=True,
        timeout=110 + LONG_MEGABYTES / 10,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 250_000


def test_warnings_name_what_is_odd(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    with pytest.warns(lr.LakeraceWarning, match="NFC"):
        store.put("e\u0301", b"1")
    store.put("\u00e9", b"2")
    assert store.verify().alike == [("e\u0301", "\u00e9")]
    assert io.BytesIO(store.get("\u00e9")).read() == b"2"
    assert json.dumps(store.list())
