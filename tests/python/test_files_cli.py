"""`lakerace files`: the command against the Python package, tar and the kernel."""

from __future__ import annotations

import ctypes
import os
import signal
import sqlite3
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from conftest import command, ok, run

import lakerace as lr


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, bytes]:
    """A directory `tree` with these files."""
    files = {f"d{i % 3}/f{i:02}.bin": bytes([i]) * (i * 37) for i in range(30)} | {"big": os.urandom(3_000_000)}
    for name, data in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return files


@pytest.mark.parametrize("home", ["pack.db", "files/"])
def test_contents_go_in_and_out(tmp_path: Path, home: str) -> None:
    store = f"{tmp_path}/{home}"
    (tmp_path / "in").write_bytes(bytes(range(256)) * 100_000)
    put = ok("files", "put", store, "a/big", tmp_path / "in", "--json").json
    assert (put["files"], put["file_bytes"]) == (1, 25_600_000)
    ok("files", "get", store, "a/big", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()
    done = run("files", "get", store, "a/big", "-o", tmp_path / "out", "--json")
    assert (done.code, done.error["kind"]) == (7, "conflict")
    assert "--mode overwrite" in done.err
    ok("files", "get", store, "a/big", "-o", tmp_path / "out", "--mode", "overwrite")
    piped = subprocess.run(command("files", "put", store, "b\nc"), input=b"from a pipe", check=False)
    assert piped.returncode == 0
    got = subprocess.run(command("files", "get", store, "b\nc"), stdout=subprocess.PIPE, check=True)
    assert got.stdout == b"from a pipe"
    assert ok("files", "ls", store).out == "a/\nb\\nc\n"
    assert [one["name"] for one in ok("files", "ls", store, "-r", "--json").json["files"]] == ["a/big", "b\nc"]
    done = run("files", "put", store, "b\nc", tmp_path / "in", "--mode", "error", "--json")
    assert (done.code, done.error["kind"]) == (7, "conflict")
    assert lr.files.Store(store).get("b\nc") == b"from a pipe"
    for name in ("../x", "/x", "a//b", "", "n" * 17_000):
        done = run("files", "put", store, name, tmp_path / "in", "--json")
        assert (done.code, done.error["kind"]) == (4, "invalid_input"), name


def test_names_are_listed_moved_and_removed(tmp_path: Path, tree: dict[str, bytes]) -> None:
    store = tmp_path / "pack.db"
    done = ok("files", "import", store, tmp_path / "tree", "in", "--compression", "zstd", "--json").json
    assert (done["files"], done["file_bytes"]) == (31, sum(map(len, tree.values())))
    assert ok("files", "ls", store).out == "in/\n"
    assert ok("files", "ls", store, "in").out == "in/big\nin/d0/\nin/d1/\nin/d2/\n"
    assert ok("files", "ls", store, "in/*/f*1.bin").out == "in/d0/f21.bin\nin/d1/f01.bin\nin/d2/f11.bin\n"
    assert ok("files", "ls", store, "-r").out.splitlines() == sorted(f"in/{name}" for name in tree)
    assert ok("files", "ls", store, "-l", "in/d1/f01.bin").out.split()[::2] == ["37", "in/d1/f01.bin"]
    stat = ok("files", "stat", store, "in/d1/f01.bin", "--json").json["files"][0]
    expected = lr.files.Store(store).stat("in/d1/f01.bin")
    assert expected.checksum is not None
    assert (stat["size"], stat["encoding"], stat["checksum"]) == (37, "zstd", f"{expected.checksum:016x}")
    assert "encoding  zstd" in ok("files", "stat", store, "in/d1/f01.bin").out
    ok("files", "mv", store, "in/d1", "moved")
    ok("files", "mv", store, "in/big", "moved/large")
    done_ = run("files", "mv", store, "moved/large", "moved/f01.bin", "--json")
    assert (done_.code, done_.error["kind"]) == (7, "conflict")
    assert "--mode overwrite" in done_.err
    assert ok("files", "rm", store, "moved/large", "--json").json["files"] == 1
    done_ = run("files", "rm", store, "moved")
    assert (done_.code, "--recursive" in done_.err) == (3, True)
    assert ok("files", "rm", store, "moved", "-r", "--json").json["files"] == 10
    for name in ("moved", "absent"):
        for call in (["ls"], ["get"], ["stat"], ["rm", "-r"]):
            assert run("files", *call, store, name).code == 3
    assert run("files", "mv", store, "absent", "x").code == 3
    assert run("files", "ls", tmp_path / "absent.db").code == 3


def test_trees_and_archives_go_in_and_out(tmp_path: Path, tree: dict[str, bytes]) -> None:
    store = tmp_path / "pack.db"
    ok("files", "import", store, tmp_path / "tree", "--pack-size", "16KiB", "--compression", "zstd")
    ok("files", "export", store, tmp_path / "out", "d1")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        name[3:]: data for name, data in tree.items() if name.startswith("d1/")
    }
    done = run("files", "export", store, tmp_path / "out", "d1", "--json")
    assert (done.code, done.error["kind"]) == (7, "conflict")
    for archive in ("t.tar", "t.tar.gz", "t.tar.zst", "t.zip"):
        ok("files", "export", store, tmp_path / archive)
        assert run("files", "export", store, tmp_path / archive).code == 7
        again = tmp_path / f"{archive}.db"
        assert ok("files", "import", again, tmp_path / archive, "x", "--json").json["files"] == 31
        assert lr.files.Store(again).get_many([f"x/{name}" for name in tree]) == {
            f"x/{name}": data for name, data in tree.items()
        }
    for other in ("t.tar.xz", "t.tar.bz2", "T.7Z"):
        done = run("files", "export", store, tmp_path / other)
        assert (done.code, (tmp_path / other).exists()) == (6, False)
        assert "choose .tar, .tar.gz, .tar.zst or .zip" in done.err
        ok("files", "export", store, f"{tmp_path / other}/", "d1")
        assert len(list((tmp_path / other).iterdir())) == sum(name.startswith("d1/") for name in tree)
    with tarfile.open(tmp_path / "t.tar.gz") as tar:
        assert sorted(tar.getnames()) == sorted(tree)
    with zipfile.ZipFile(tmp_path / "t.zip") as zipped:
        assert zipped.read("d1/f01.bin") == tree["d1/f01.bin"]


def test_a_store_that_ends_with_the_command_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(b"a")
    for arguments in (["put", "memory:", "a.txt", str(source)], ["ls", "memory:"]):
        done = run("files", *arguments)
        assert done.code == 2
        assert "error: memory: is not allowed here" in done.err


def test_keys_encrypt_and_metadata_stays(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(os.urandom(32))
    (tmp_path / "short").write_bytes(b"x" * 31)
    (tmp_path / "in").write_bytes(b"secret" * 1000)
    store, key = tmp_path / "pack.db", ["--key-file", tmp_path / "key"]
    ok("files", "put", store, "a", tmp_path / "in", *key, "--transform", "base64", "--metadata", '{"k": [1]}')
    stat = ok("files", "stat", store, "a", "--json").json["files"][0]
    assert stat["metadata"] == {"k": [1]}
    assert stat["encoding"].startswith("none; base64; aes-256-gcm key=")
    assert ok("files", "get", store, "a", *key).out == "secret" * 1000
    assert run("files", "get", store, "a").code == 2
    assert run("files", "get", store, "a", "--key-file", tmp_path / "short").code == 2
    assert b"secret" not in store.read_bytes()
    assert run("files", "put", store, "b", tmp_path / "in", "--metadata", "{").code == 4


def test_damage_is_named(tmp_path: Path, tree: dict[str, bytes]) -> None:
    store = tmp_path / "pack.db"
    ok("files", "import", store, tmp_path / "tree")
    verified = ok("files", "verify", store, "--json").json
    assert (verified["files"], verified["bytes"], verified["damage"]) == (31, sum(map(len, tree.values())), [])
    assert ok("files", "verify", store).err.startswith("checked 31 files (")
    with sqlite3.connect(store) as other:
        other.execute("UPDATE files SET content = zeroblob(length(content)) WHERE name = 'd1/f07.bin'")
    other.close()
    done = run("files", "verify", store, "--json")
    assert (done.code, done.error["kind"]) == (5, "corrupt_data")
    assert [one["name"] for one in done.json["damage"]] == ["d1/f07.bin"]
    done = run("files", "verify", store)
    assert (done.code, "d1/f07.bin" in done.err) == (5, True)
    assert run("files", "get", store, "d1/f07.bin").code == 5


def test_compacting_gives_space_back(tmp_path: Path, tree: dict[str, bytes]) -> None:
    store = tmp_path / "pack.db"
    ok("files", "import", store, tmp_path / "tree")
    ok("files", "rm", store, "big")
    done = ok("files", "compact", store, "--json").json
    assert done["bytes_before"] - done["bytes_after"] > 2_500_000
    assert store.stat().st_size < 500_000
    assert lr.files.Store(store).verify().files == 30


def _can_open_fuse() -> bool:
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return True


def _unmount(path: Path) -> None:
    """What umount(8) does."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.umount2(os.fsencode(path), 0) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.parametrize(
    ("home", "by"),
    [("pack.db", signal.SIGINT), ("files/", signal.SIGTERM), ("packs", signal.SIGTERM), ("pack.db", None)],
)
def test_a_mount_shows_the_files(tmp_path: Path, tree: dict[str, bytes], home: str, by: signal.Signals | None) -> None:
    store = f"packs:{tmp_path}/packs" if home == "packs" else f"{tmp_path}/{home}"
    ok("files", "import", store, tmp_path / "tree", "in")
    point = tmp_path / "mounted"
    point.mkdir()
    process = subprocess.Popen(command("files", "mount", store, point), stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not point.is_mount():
        time.sleep(0.02)
    if process.poll() is not None:
        # No FUSE, or nobody may mount here: then the command says what to do.
        err = process.communicate()[1]
        assert process.returncode == 6, err
        assert "or export the files to a directory" in err
        assert not _can_open_fuse() or "refuses the mount" in err
        return
    assert _can_open_fuse()
    read = {str(path.relative_to(point / "in")): path for path in point.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in read.items()} == tree
    sizes = {name: path.stat().st_size for name, path in read.items()}
    assert sizes == {name: len(data) for name, data in tree.items()}
    with (point / "in/big").open("rb") as file:
        file.seek(2_999_990)
        assert file.read() == tree["big"][-10:]
    with pytest.raises(OSError, match="Read-only"):
        (point / "new").write_bytes(b"")
    assert not (point / "gone").exists()
    if by is None:
        _unmount(point)
    else:
        process.send_signal(by)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 0, err
    assert not point.is_mount()
    assert f"{store} is mounted at {point}" in err


def test_a_mount_wants_an_empty_directory(tmp_path: Path, tree: dict[str, bytes]) -> None:
    store = tmp_path / "pack.db"
    ok("files", "import", store, tmp_path / "tree")
    for point, code in ((tmp_path / "tree", 4), (tmp_path / "absent", 3), (store, 4)):
        done = run("files", "mount", store, point)
        assert done.code == code, done.err
        assert str(point) in done.err
    done = run("files", "mount", tmp_path / "absent.db", tmp_path / "tree")
    assert done.code == 3, done.err


def test_errors_name_the_store_and_the_file_in_it(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x")
    for store in (tmp_path / "pack.db", tmp_path / "folder"):
        ok("files", "put", store, "there", tmp_path / "in")
        for arguments in (
            ["rm", store, "nothing"],
            ["ls", store, "nothing"],
            ["stat", store, "nothing"],
            ["get", store, "nothing"],
            ["mv", store, "nothing", "else"],
        ):
            done = run("files", *arguments, "--json") if arguments[0] != "get" else run("files", *arguments)
            assert done.code == 3, arguments
            assert f"{store}: nothing" in (done.error["place"] if arguments[0] != "get" else done.err), arguments
        taken = run("files", "put", store, "there", tmp_path / "in", "--mode", "error", "--json")
        assert (taken.code, taken.error["place"]) == (7, f"{store}: there")


@pytest.mark.parametrize("prefix", ["", "sqlite:"])
def test_one_file_does_not_change_the_blocks_of_a_store(tmp_path: Path, tree: dict[str, bytes], prefix: str) -> None:
    store, source = f"{prefix}{tmp_path / 'pack.db'}", tmp_path / "one"
    source.write_bytes(b"1")
    ok("files", "put", store, "a", source, "--pack-size", "16KiB")
    with sqlite3.connect(tmp_path / "pack.db") as database:
        assert ("16384",) in database.execute("SELECT value FROM settings WHERE key = 'pack_bytes'").fetchall()
    done = run("files", "put", store, "b", source, "--pack-size", "8KiB")
    assert done.code == 2
    assert "--pack-size does not apply" in done.err
    assert "files import" in done.err
    assert ok("files", "ls", store).out.split() == ["a"]
    ok("files", "put", store, "b", source)
    ok("files", "import", store, tmp_path / "tree", "--pack-size", "8KiB")
    with lr.files.Store(tmp_path / "pack.db") as opened:
        assert opened.get("b") == b"1"
