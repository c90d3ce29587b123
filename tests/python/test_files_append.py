"""Files of a store that several processes append to and change, and files that are written here and there."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import wave
import zipfile
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: One of the processes that append lines to one file.
APPENDER = """
import sys
import lakerace as lr
location, mode, who, count = sys.argv[1:]
store = lr.files.Store(location)
for i in range(int(count)):
    with store.open("log", mode) as file:
        file.write(f"{who} {i}\\n")
    if location.startswith("packs:"):
        store.flush()
"""


@pytest.fixture(params=["pack.db", "files/", "memory:", "packs:"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> lr.files.Store:
    """A store of each home."""
    places = {"memory:": "memory:", "packs:": f"packs:{tmp_path}/packs"}
    return lr.files.Store(places.get(request.param, f"{tmp_path}/{request.param}"))


@pytest.mark.parametrize("mode", ["a", "a+"])
@pytest.mark.parametrize(("place", "count"), [("s.db", 40), ("files/", 40), ("packs:p", 8)])
def test_lines_of_many_processes_are_all_there(tmp_path: Path, place: str, count: int, mode: str) -> None:
    location = f"packs:{tmp_path}/p" if place.startswith("packs:") else f"{tmp_path}/{place}"
    writers = [
        subprocess.Popen([sys.executable, "-c", APPENDER, location, mode, str(who), str(count)]) for who in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    lines = lr.files.Store(location).read_text("log").splitlines()
    assert sorted(lines) == sorted(f"{who} {i}" for who in range(4) for i in range(count))
    for who in range(4):
        assert [line for line in lines if line.startswith(f"{who} ")] == [f"{who} {i}" for i in range(count)]


def test_appends_to_packs_that_are_flushed_late_are_all_there(tmp_path: Path) -> None:
    stores = [lr.files.Store(f"packs:{tmp_path}/p", compression="zstd") for _ in range(3)]
    stores[0].put("log", b"start\n", metadata={"kind": 1})
    stores[0].flush()
    for i in range(3):
        for number, store in enumerate(stores):
            with store.open("log", "a") as file:
                file.write(f"{number} {i}\n")
    for store in stores:
        store.flush()
    found = lr.files.Store(f"packs:{tmp_path}/p")
    assert sorted(found.read_text("log").splitlines()) == sorted(
        ["start", *[f"{n} {i}" for n in range(3) for i in range(3)]]
    )
    assert found.stat("log").metadata == {"kind": 1}
    assert found.verify().damage == []


def test_a_file_that_others_have_changed_is_not_overwritten(store: lr.files.Store) -> None:
    store.put("f", b"0123456789")
    with store.open("f", "r+b") as untouched:
        assert untouched.read(2) == b"01"
        store.put("f", b"abcdefghij")
    assert store.get("f") == b"abcdefghij"
    first, second = store.open("f", "r+b"), store.open("f", "r+b")
    first.write(b"1")
    second.write(b"22")
    first.close()
    with pytest.raises(lr.ConflictError, match="another writer changed"):
        second.close()
    assert second.closed
    assert store.get("f") == b"1bcdefghij"
    with pytest.raises(FileNotFoundError):
        store.open("absent", "r+b")
    removed = store.open("f", "r+b")
    removed.write(b"x")
    store.remove("f")
    with pytest.raises(lr.ConflictError):
        removed.close()
    assert not store.exists("f")


def test_a_change_of_packs_that_another_process_has_overtaken_is_told(tmp_path: Path) -> None:
    one, two = (lr.files.Store(f"packs:{tmp_path}/p") for _ in range(2))
    one.put("f", b"0123")
    one.flush()
    two.snapshot().close()
    for store in (one, two):
        with store.open("f", "r+b") as file:
            file.write(b"1" if store is one else b"2")
    two.put("other", b"kept")
    one.flush()
    with pytest.raises(lr.ConflictError, match="f: another writer changed the file"):
        two.flush()
    two.flush()
    found = lr.files.Store(f"packs:{tmp_path}/p")
    assert (found.get("f"), found.get("other")) == (b"1123", b"kept")


def test_what_was_appended_meanwhile_stays(store: lr.files.Store) -> None:
    for mode in ("ab", "a+b"):
        store.put("f", b"start ")
        one, two = store.open("f", mode), store.open("f", mode)
        one.write(b"one ")
        two.write(b"two ")
        two.close()
        one.close()
        assert store.get("f") == b"start two one "
    with store.open("new", "ab") as outer, store.open("new", "ab") as inner:
        outer.write(b"outer")
        inner.write(b"inner")
    assert store.get("new") == b"innerouter"
    cut, other = store.open("new", "ab"), store.open("new", "ab")
    cut.truncate(2)
    cut.write(b"!")
    other.write(b"other")
    other.close()
    with pytest.raises(lr.ConflictError):
        cut.close()
    with store.open("new", "ab") as file:
        file.truncate(2)
        file.write(b"!")
    assert store.get("new") == b"in!"


def test_a_long_tail_is_appended(store: lr.files.Store) -> None:
    tail = os.urandom(20_000_000)
    store.put("f", b"x" * 300_000)
    with store.open("f", "ab") as file:
        for at in range(0, len(tail), 1 << 20):
            file.write(tail[at : at + (1 << 20)])
        assert file.tell() == 20_300_000
    assert store.get("f") == b"x" * 300_000 + tail
    assert store.verify().damage == []


def test_an_append_in_a_transaction_is_not_lost(tmp_path: Path) -> None:
    files = fsspec.filesystem("lrfiles", store=tmp_path / "s.db")
    files.pipe_file("log", b"start ")
    with files.transaction, files.open("log", "ab") as file:
        file.write(b"one ")
    assert files.cat_file("log") == b"start one "
    with pytest.raises(lr.ConflictError), files.transaction:  # noqa: PT012  the end of the transaction tells
        with files.open("log", "ab") as file:
            file.write(b"two ")
        files.store.open("log", "ab").close()
        with files.store.open("log", "ab") as other:
            other.write(b"other ")
    assert files.cat_file("log") == b"start one other "


@pytest.mark.parametrize("mode", ["wb", "xb", "ab", "r+b", "w+b", "a+b"])
@pytest.mark.parametrize("buffering", [-1, 0, 7])
@pytest.mark.parametrize("seed", range(4))
def test_seeks_and_cuts_are_as_of_the_built_in_open(
    store: lr.files.Store, tmp_path: Path, mode: str, buffering: int, seed: int
) -> None:
    start = bytes(range(256)) * 3
    if "x" not in mode:
        store.put("f", start)
        (tmp_path / "oracle").write_bytes(start)
    outcomes = []
    for opener in (lambda: open(tmp_path / "oracle", mode, buffering), lambda: store.open("f", mode, buffering)):  # noqa: SIM115
        numbers, log = random.Random(seed), []
        file: Any = opener()
        log.append((file.seekable(), file.readable(), file.writable(), file.tell()))
        for _ in range(60):
            what, size = numbers.randrange(6), numbers.randrange(900)
            try:
                if what == 0:
                    log.append(file.seek(size))
                elif what == 1:
                    log.append(file.seek(-min(size, 50), os.SEEK_END))
                elif what == 2:
                    log.append(file.truncate(numbers.choice([None, size])))
                elif what == 3 and file.readable():
                    log.append(bytes(file.read(size)))
                else:
                    log.append(file.write(bytes(numbers.randbytes(size))))
            except (OSError, ValueError) as error:
                log.append((type(error).__name__, getattr(error, "errno", None)))
            log.append(file.tell())
        file.close()
        outcomes.append(log)
    assert outcomes[0] == outcomes[1]
    assert store.get("f") == (tmp_path / "oracle").read_bytes()


def test_a_file_that_is_closed_takes_and_gives_nothing(store: lr.files.Store) -> None:
    store.put("f", b"0123456789")
    for mode in ("rb", "wb", "ab"):
        file = store.open("f" if mode == "rb" else "g", mode, buffering=0)
        file.close()
        for use in (
            lambda file=file: file.read(1),
            lambda file=file: file.write(b"x"),
            lambda file=file: file.seek(0),
            lambda file=file: file.tell(),
            lambda file=file: file.readable(),
            lambda file=file: file.truncate(1),
        ):
            with pytest.raises(ValueError, match="closed file"):
                use()
    raw = store.open("f", "rb", buffering=0)
    for offset, whence in ((0, 5), (-1, 0), (-100, 2)):
        with pytest.raises(OSError, match="Invalid argument"):
            raw.seek(offset, whence)
    with pytest.raises(TypeError):
        raw.seek(1.5)
    with pytest.raises(io.UnsupportedOperation):
        raw.write(b"1")


def test_programs_that_seek_while_they_write(store: lr.files.Store) -> None:
    with store.open("a.wav", "wb") as file, wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        for _ in range(100):
            sound.writeframes(os.urandom(20_000))
    with store.open("a.wav", "rb") as file, wave.open(file) as sound:
        assert sound.getnframes() == 1_000_000
    contents = {f"m{i}": os.urandom(500_000) for i in range(6)}
    with store.open("a.zip", "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            with archive.open(name, "w") as member:
                member.write(content)
    with store.open("a.zip", "rb") as file, zipfile.ZipFile(file) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == contents


def test_names_may_be_paths(store: lr.files.Store, tmp_path: Path) -> None:
    with store.open(tmp_path.relative_to("/"), "wb") as file:
        file.write(b"1")
    assert store.list() == [str(tmp_path)[1:]]
    assert store.open(os.fsencode(str(tmp_path)[1:]), "rb").read() == b"1"
