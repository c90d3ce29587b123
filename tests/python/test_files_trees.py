"""`lakerace files import`, `export` and `get -o`: against tar, zip and the kernel."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import stat
import subprocess
import tarfile
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from conftest import ok, run

import lakerace as lr


def contents(store: Path | str, prefix: str = "") -> dict[str, bytes]:
    with lr.files.Store(store, read_only=True) as opened:
        return opened.get_many(opened.list(prefix))


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def tar(*arguments: str | Path) -> None:
    subprocess.run(["tar", *map(str, arguments)], check=True)


def test_the_store_is_no_part_of_what_is_imported(tmp_path: Path) -> None:
    files = {f"{number}": os.urandom(3_000_000) for number in range(12)} | {"in/x-wal": b"none of SQLite"}
    write(tmp_path, files)
    assert ok("files", "import", tmp_path / "pack.db", tmp_path, "--json").json["files"] == 13
    assert contents(tmp_path / "pack.db") == files
    # A name of its own that is linked to is the same file.
    os.link(tmp_path / "pack.db", tmp_path / "linked")
    assert ok("files", "import", tmp_path / "pack.db", tmp_path, "--json").json["files"] == 13
    with lr.files.Store(tmp_path / "pack.db") as store:
        assert store.import_tree(tmp_path, "again")[0] == 13
    assert run("files", "put", tmp_path / "pack.db", "x", tmp_path / "pack.db").code == 2


@pytest.mark.parametrize("store", ["s/", "packs:s"])
def test_a_store_of_many_files_is_passed_over_in_its_source(tmp_path: Path, store: str) -> None:
    files = {"a": b"1", "b/c": b"2" * 1000}
    write(tmp_path, files)
    place = store.replace("s", f"{tmp_path}/s", 1) if store == "s/" else f"packs:{tmp_path}/s"
    for _ in range(3):
        assert ok("files", "import", place, tmp_path, "--json").json["files"] == 2
    assert contents(place) == files


def test_a_directory_is_imported_into_itself_once(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "b/c": b"2"})
    for _ in range(3):
        ok("files", "import", f"{tmp_path}/", tmp_path, "in")
    assert sorted(contents(f"{tmp_path}/")) == ["a", "b/c", "in/a", "in/b/c"]


def test_exports_into_a_store_do_not_hold_themselves(tmp_path: Path) -> None:
    files = {f"{number:04}": b"x" for number in range(1_200)}
    write(tmp_path, files)
    for _ in range(2):
        ok("files", "export", f"{tmp_path}/", tmp_path / "m.tar", "--mode", "overwrite")
        with tarfile.open(tmp_path / "m.tar") as archive:
            assert sorted(archive.getnames()) == sorted(files)
    (tmp_path / "m.tar").unlink()
    for _ in range(2):
        ok("files", "export", f"{tmp_path}/", tmp_path / "0500out", "--mode", "overwrite")
        assert sorted(path.name for path in (tmp_path / "0500out").iterdir()) == sorted(files)


def test_a_file_that_grows_is_taken_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    grown = tmp_path / "in/log"
    grown.write_bytes(bytes(17 << 20))
    with lr.files.Store(tmp_path / "s.db") as store:

        def grow(files: int, bytes_: int) -> None:
            with grown.open("ab") as file:
                file.write(b"more" * 1000)

        store.import_tree(tmp_path / "in", progress=grow)
        assert store.get("log") == bytes(17 << 20)


def test_links_and_odd_files_of_a_tar_have_their_contents(tmp_path: Path) -> None:
    source = tmp_path / "src"
    write(source, {"one": b"content", "d/big": os.urandom(17 << 20)})
    os.link(source / "one", source / "two")
    os.link(source / "d/big", source / "z")
    (source / "link").symlink_to("one")
    os.link(source / "link", source / "link2", follow_symlinks=False)
    os.mkfifo(source / "pipe")
    with (source / "sparse").open("wb") as file:
        file.write(b"front")
        file.seek(1 << 20)
        file.write(b"back")
        file.truncate(3 << 20)
    with (source / "hole").open("wb") as file:
        file.truncate(1 << 20)
    expected = {str(path.relative_to(source)): path.read_bytes() for path in source.rglob("*") if path.is_file()}
    expected = {name: data for name, data in expected.items() if not name.startswith("link")}
    assert len(expected) == 6
    for number, arguments in enumerate([[], ["--sparse"], ["--format=posix"], ["--format=ustar"]]):
        archive, store = tmp_path / f"{number}.tar", tmp_path / f"{number}.db"
        tar("cf", archive, "-C", source, *arguments, ".")
        assert ok("files", "import", store, archive, "--json").json["files"] == 6
        assert contents(store) == expected, arguments
    for home in ("dir/", "packs:"):
        place = f"{tmp_path}/{home}" if home == "dir/" else f"packs:{tmp_path}/packs"
        ok("files", "import", place, tmp_path / "0.tar")
        assert contents(place) == expected
    tar("cf", tmp_path / "pax.tar", "--format=posix", "--sparse", "-C", source, "sparse")
    done = run("files", "import", tmp_path / "pax.db", tmp_path / "pax.tar", "--json")
    assert (done.code, "sparse" in done.err) == (6, True)


def made_tar(path: Path, *entries: tuple[str, bytes, bytes, str]) -> Path:
    """A tar of entries of any type: name, type, content and what a link leads to."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind, data, link in entries:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(data), link
            archive.addfile(info, io.BytesIO(data))
    return path


def test_entries_of_a_tar_are_taken_or_named(tmp_path: Path) -> None:
    archive = made_tar(
        tmp_path / "a.tar",
        ("a", tarfile.REGTYPE, b"1", ""),
        ("./a", tarfile.LNKTYPE, b"", "./a"),
        ("c", tarfile.CONTTYPE, b"contiguous", ""),
        ("d", tarfile.LNKTYPE, b"", "./c"),
        ("e", tarfile.LNKTYPE, b"", "d"),
    )
    ok("files", "import", tmp_path / "a.db", archive)
    assert contents(tmp_path / "a.db") == {"a": b"1", "c": b"contiguous", "d": b"contiguous", "e": b"contiguous"}
    with lr.files.Store(tmp_path / "b.db") as store:
        store.put("secret", b"of the store")
    link = made_tar(tmp_path / "b.tar", ("shown", tarfile.LNKTYPE, b"", "secret"))
    done = run("files", "import", tmp_path / "b.db", link)
    assert (done.code, "shown" in done.err, "secret" in done.err) == (4, True, True)
    unknown = made_tar(tmp_path / "u.tar", ("odd", b"M", b"1", ""))
    done = run("files", "import", tmp_path / "u.db", unknown)
    assert (done.code, "odd" in done.err) == (6, True)


@pytest.mark.parametrize("size", [100_000, 20_000_000])
def test_a_truncated_archive_leaves_no_truncated_file(tmp_path: Path, size: int) -> None:
    big = os.urandom(size)
    write(tmp_path / "in", {"big": big})
    tar("cf", tmp_path / "b.tar", "-C", tmp_path / "in", "big")
    (tmp_path / "t.tar").write_bytes((tmp_path / "b.tar").read_bytes()[: size - 2_500])
    assert run("files", "import", tmp_path / "x.db", tmp_path / "t.tar").code == 5
    assert contents(tmp_path / "x.db") == {}


@pytest.mark.parametrize("size", [100_000, 20_000_000])
def test_a_zip_that_says_other_lengths_is_damaged(tmp_path: Path, size: int) -> None:
    big = os.urandom(size)
    for number, change in enumerate([-7, 7]):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("big", big)
        data = archive.read_bytes()
        (length, other) = (one.to_bytes(4, "little") for one in (size, size + change))
        assert data.count(length) == 2
        archive.write_bytes(data.replace(length, other))
        assert run("files", "import", tmp_path / "x.db", archive).code == 5
        assert contents(tmp_path / "x.db") == {}


def plain_tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_damage_of_a_compressed_tar_is_told(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    packed = bytearray(gzip.compress(plain_tar({"a": data}), 0))
    good = bytes(packed)
    packed[50_000] ^= 1
    halves = plain_tar({"a": data})
    archives = {
        "flipped": (bytes(packed), 5),
        "short": (good[:-4], 5),
        "garbage": (good + b"garbage", 5),
        "zeros": (good + bytes(100_000), 0),
        "members": (gzip.compress(halves[:30_000]) + gzip.compress(halves[30_000:]), 0),
    }
    for name, (archive, code) in archives.items():
        (tmp_path / f"{name}.tar.gz").write_bytes(archive)
        assert run("files", "import", tmp_path / f"{name}.db", tmp_path / f"{name}.tar.gz").code == code, name
        assert contents(tmp_path / f"{name}.db") == ({} if code else {"a": data}), name
    with lr.files.Store("memory:") as store:
        store.put("a", data)
        store.export_tree(tmp_path / "z.tar.zst")
    zst = bytearray((tmp_path / "z.tar.zst").read_bytes())
    zst[50_000] ^= 1
    (tmp_path / "z.tar.zst").write_bytes(zst)
    assert run("files", "import", tmp_path / "z.db", tmp_path / "z.tar.zst").code == 5
    assert contents(tmp_path / "z.db") == {}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store `s.db` with the file `a`."""
    with lr.files.Store(tmp_path / "s.db") as opened:
        opened.put("a", b"content")
    return tmp_path / "s.db"


@pytest.mark.parametrize("ending", ["tar", "zip"])
def test_a_failed_export_leaves_the_old_archive(tmp_path: Path, store: Path, ending: str) -> None:
    with lr.files.Store(store) as opened:
        opened.put("b", os.urandom(100_000))
    damage(store)
    for number in range(2):
        archive = tmp_path / f"{number}.{ending}"
        archive.write_bytes(b"old")
        archive.chmod(0o640)
        if number == 0:
            assert run("files", "export", store, archive, "--mode", "overwrite").code == 5
        else:
            with lr.files.Store(store) as opened, pytest.raises(lr.Error):
                opened.export_tree(archive, if_exists="replace")
        assert archive.read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir() if "s.db" not in path.name} == {f"0.{ending}", f"1.{ending}"}
    with lr.files.Store(store) as opened:
        opened.remove("b")
    ok("files", "export", store, tmp_path / f"0.{ending}", "--mode", "overwrite")
    assert stat.S_IMODE((tmp_path / f"0.{ending}").stat().st_mode) == 0o640
    assert (tmp_path / f"0.{ending}").read_bytes() != b"old"


def damage(store: Path) -> None:
    """Damages what is stored of large contents."""
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE chunks SET data = zeroblob(length(data))")
        connection.commit()


def test_get_treats_its_target_as_copy_does(tmp_path: Path, store: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    ok("files", "get", store, "a", "-o", tmp_path / "pipe", "--mode", "overwrite")
    thread.join()
    assert (read, stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)) == ([b"content"], True)
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    assert run("files", "get", store, "a", "-o", tmp_path / "link").code == 7
    ok("files", "get", store, "a", "-o", tmp_path / "link", "--mode", "overwrite")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"content"
    (tmp_path / "folder").mkdir()
    assert run("files", "get", store, "a", "-o", tmp_path / "folder", "--mode", "overwrite").code == 4
    done = run("files", "get", store, "a", "-o", store, "--mode", "overwrite")
    assert (done.code, contents(store)) == (2, {"a": b"content"})


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_an_export_does_not_replace_special_files(tmp_path: Path, store: Path, kind: str) -> None:
    (tmp_path / "out").mkdir()
    if kind == "pipe":
        os.mkfifo(tmp_path / "out/a")
    else:
        (tmp_path / "out/a").symlink_to("elsewhere")
    before = (tmp_path / "out/a").lstat().st_ino
    done = run("files", "export", store, tmp_path / "out", "--mode", "overwrite")
    assert (done.code, "a: a pipe" in done.err) == (6, True)
    assert (tmp_path / "out/a").lstat().st_ino == before
    with lr.files.Store(store) as opened:
        opened.put("s.db", b"replaces the store")
    assert run("files", "export", store, tmp_path, "--mode", "overwrite").code == 2


@pytest.mark.parametrize("target", ["out", "o.zip", "o.tar"])
def test_an_export_of_a_missing_folder_is_not_found(tmp_path: Path, store: Path, target: str) -> None:
    done = run("files", "export", store, tmp_path / target, "nosuch", "--json")
    assert (done.code, done.error["kind"]) == (3, "not_found")
    assert not (tmp_path / target).exists()
    with lr.files.Store(store) as opened, pytest.raises(lr.NotFoundError):
        opened.export_tree(tmp_path / target, "nosuch")


def test_a_failed_put_or_import_makes_no_store(tmp_path: Path) -> None:
    write(tmp_path, {"h.txt": b"1", "bad.zip": b"no zip", "bad.tar": b"no tar" * 200, "bad.tar.gz": b"no gzip"})
    calls: list[tuple[int, list[str | Path]]] = [
        (3, ["put", "x", tmp_path / "missing.txt"]),
        (4, ["put", "x", tmp_path]),
        (4, ["put", "../x", tmp_path / "h.txt"]),
        (4, ["put", "x", tmp_path / "h.txt", "--metadata", "{"]),
        (3, ["import", tmp_path / "nodir"]),
        (3, ["import", tmp_path / "no.tar"]),
        (2, ["import", tmp_path / "h.txt"]),
        (5, ["import", tmp_path / "bad.zip"]),
        (5, ["import", tmp_path / "bad.tar"]),
        (5, ["import", tmp_path / "bad.tar.gz"]),
        (4, ["import", tmp_path, "../x"]),
    ]
    for home in ("new.db", "new/"):
        for code, (command, *rest) in calls:
            assert run("files", str(command), f"{tmp_path}/{home}", *rest).code == code, rest
            assert not (tmp_path / home).exists(), rest


def test_zips_keep_times(tmp_path: Path) -> None:
    times = {"old": -1_000_000_000_000, "dos": 1_000_000_001_000, "new": 1_700_000_001_000}
    with lr.files.Store(tmp_path / "s.db") as store:
        for name, mtime in times.items():
            store.put(name, b"", mtime_ms=mtime)
        store.export_tree(tmp_path / "a.zip")
        store.export_tree(tmp_path / "a.tar")
        for archive in ("a.zip", "a.tar"):
            store.import_tree(tmp_path / archive, archive)
            for name, mtime in times.items():
                assert store.stat(f"{archive}/{name}").mtime == mtime / 1000, (archive, name)
        with zipfile.ZipFile(tmp_path / "a.zip") as zipped:
            assert zipped.getinfo("dos").date_time == (2001, 9, 9, 1, 46, 40)
        with zipfile.ZipFile(tmp_path / "b.zip", "w") as zipped:
            zipped.writestr(zipfile.ZipInfo("./d/x", (2020, 2, 29, 23, 59, 58)), b"1")
        store.import_tree(tmp_path / "b.zip", "b")
        assert store.stat("b/d/x").mtime == 1_583_020_798


def test_tars_and_directories_keep_times_of_any_year(tmp_path: Path) -> None:
    times = {"far": 100_000_000_000.0, "near": 1_700_000_000.25, "before": -1.5}
    with tarfile.open(tmp_path / "p.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for name, mtime in times.items():
            info = tarfile.TarInfo(f"./{name}")
            info.mtime = mtime
            archive.addfile(info)
    write(tmp_path / "in", {"before": b""})
    os.utime(tmp_path / "in/before", ns=(0, -1_500_000_000))
    with lr.files.Store("memory:") as store:
        store.import_tree(tmp_path / "p.tar")
        store.import_tree(tmp_path / "in", "in")
        assert {name: store.stat(name).mtime for name in times} == times
        assert store.stat("in/before").mtime == -1.5


def test_a_file_and_a_folder_of_one_name_are_told_apart(tmp_path: Path) -> None:
    with lr.files.Store(tmp_path / "s.db") as store:
        store.put_many({"a": b"1", "a/b": b"2"})
    for mode in ("error", "overwrite"):
        done = run("files", "export", tmp_path / "s.db", tmp_path / mode, "--mode", mode)
        assert (done.code, "--mode overwrite" in done.err, ".tar" in done.err) == (7, False, True)
    ok("files", "export", tmp_path / "s.db", tmp_path / "a.tar")
