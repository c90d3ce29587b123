"""Names, folders and patterns in the file system `lrfiles`, held against the local file system of fsspec."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lakerace.files.fsspec import LakeraceFileSystem

    Use = Callable[[Any, str], object]


@pytest.fixture(params=["pack.db", "files/", "memory:", "packs:"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> LakeraceFileSystem:
    """The file system of a store of each home."""
    places = {"memory:": "memory:", "packs:": f"packs:{tmp_path}/packs"}
    return fsspec.filesystem("lrfiles", store=places.get(request.param, f"{tmp_path}/{request.param}"))


def outcome(files: Any, root: str, names: list[str], use: Use) -> tuple[str, dict[str, bytes]]:
    """Whether a call failed, and the files that there are behind it."""
    for name in names:
        if "/" in name:
            files.makedirs(root + name.rsplit("/", 1)[0], exist_ok=True)
        files.pipe_file(root + name, name.encode())
    try:
        use(files, root)
        told = "done"
    except (OSError, ValueError) as error:
        told = "not found" if isinstance(error, FileNotFoundError) else "refused"
    return told, {name.removeprefix(root): files.cat_file(name) for name in files.find(root)}


CASES: dict[str, tuple[list[str], Use]] = {
    "mv a folder": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d", r + "n")),
    "mv a folder recursively": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d", r + "n", recursive=True)),
    "mv a folder into a new one of a folder": (["d/x", "e/y"], lambda fs, r: fs.mv(r + "d", r + "e/n")),
    "mv a folder into a folder": (["d/x", "e/y"], lambda fs, r: fs.mv(r + "d", r + "e")),
    "mv a folder into a folder that has it": (["d/x", "e/d/y"], lambda fs, r: fs.mv(r + "d", r + "e")),
    "mv a folder into itself": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d", r + "d/s", recursive=True)),
    "mv a folder below itself": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d", r + "d/y", recursive=True)),
    "mv a folder to itself": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d", r + "d", recursive=True)),
    "mv a folder to itself with a slash": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d", r + "d/", recursive=True)),
    "mv a folder with a slash to itself": (["d/x", "d/y/z"], lambda fs, r: fs.mv(r + "d/", r + "d", recursive=True)),
    "mv a folder onto a file": (["d/x", "f"], lambda fs, r: fs.mv(r + "d", r + "f")),
    "mv a file to itself": (["d/x"], lambda fs, r: fs.mv(r + "d/x", r + "d/x")),
    "mv a file to itself with a slash": (["x"], lambda fs, r: fs.mv(r + "x", r + "x/")),
    "mv a file onto a file": (["x", "y"], lambda fs, r: fs.mv(r + "x", r + "y")),
    "mv a file into a folder": (["x", "d/y"], lambda fs, r: fs.mv(r + "x", r + "d")),
    "mv a file into a folder that has it": (["x", "d/x"], lambda fs, r: fs.mv(r + "x", r + "d/")),
    "mv what is not there": (["x"], lambda fs, r: fs.mv(r + "q", r + "n")),
    "mv a made folder": (["x"], lambda fs, r: (fs.makedirs(r + "m/n"), fs.mv(r + "m", r + "k"), fs.info(r + "k/n"))),
    "rm_file a folder": (["d/x"], lambda fs, r: fs.rm_file(r + "d")),
    "rm_file a made folder": (["x"], lambda fs, r: (fs.mkdir(r + "m"), fs.rm_file(r + "m"))),
    "rm a folder": (["d/x"], lambda fs, r: fs.rm(r + "d")),
    "rm a made folder": (["x"], lambda fs, r: (fs.mkdir(r + "m"), fs.rm(r + "m"))),
    "rm a made folder recursively": (["x"], lambda fs, r: (fs.mkdir(r + "m"), fs.rm(r + "m", recursive=True))),
    "rm a folder recursively": (["d/x", "d/y/z", "e"], lambda fs, r: fs.rm(r + "d", recursive=True)),
    "rm several": (["d/x", "e", "f"], lambda fs, r: fs.rm([r + "d", r + "e"], recursive=True)),
    "rm what is not there": (["x"], lambda fs, r: fs.rm(r + "q", recursive=True)),
    "rm a name with brackets": (["f[1].txt", "f1.txt"], lambda fs, r: fs.rm(r + "f[1].txt")),
    "rm a name with a question mark": (["q?", "qz"], lambda fs, r: fs.rm(r + "q?")),
    "rm a folder with brackets": (["d[1]/x", "d1/x"], lambda fs, r: fs.rm(r + "d[1]", recursive=True)),
    "mv a name with a star": (["a*", "ab"], lambda fs, r: fs.mv(r + "a*", r + "n")),
    "rmdir a folder": (["d/x"], lambda fs, r: fs.rmdir(r + "d")),
    "rmdir a folder of folders": (["x"], lambda fs, r: (fs.makedirs(r + "m/n"), fs.rmdir(r + "m"))),
    "rmdir a file": (["x"], lambda fs, r: fs.rmdir(r + "x")),
    "rmdir a made folder": (["x"], lambda fs, r: (fs.mkdir(r + "m"), fs.rmdir(r + "m"))),
    "cp a folder into itself": (["d/x"], lambda fs, r: fs.cp(r + "d", r + "d/s", recursive=True)),
    "cp a file onto a folder": (["x", "d/y"], lambda fs, r: fs.cp_file(r + "x", r + "d")),
    "open a folder": (["d/x"], lambda fs, r: fs.open(r + "d")),
    "read a folder": (["d/x"], lambda fs, r: fs.cat_file(r + "d")),
    "read a list of patterns": (["a/x", "a/y"], lambda fs, r: _is_equal(len(fs.cat([r + "a/*"])), 2)),
    "read a block": (["a/x"], lambda fs, r: _is_equal(fs.read_block(r + "a/x", 0, 2, b"/"), b"a/x")),
}


def _is_equal(got: object, wanted: object) -> None:
    assert got == wanted


@pytest.mark.parametrize("case", CASES)
def test_a_call_does_what_it_does_on_a_local_disk(files: LakeraceFileSystem, tmp_path: Path, case: str) -> None:
    names, use = CASES[case]
    (tmp_path / "local").mkdir()
    assert outcome(files, "", names, use) == outcome(LocalFileSystem(), f"{tmp_path}/local/", names, use)


SLASHES = {
    "a folder to a new name": ("d/", "n/"),
    "a folder to a new name without a slash": ("d/", "n"),
    "a folder to a new name in a folder": ("d/", "e/n/"),
    "a nested folder": ("d/y/", "n/"),
    "a nested folder to a new name in a folder": ("d/y/", "e/n/"),
    "a folder without slashes": ("d", "n"),
    "a file": ("f", "n"),
    "what is not there": ("q/", "n/"),
}


@pytest.mark.parametrize("case", SLASHES)
def test_a_move_by_names_with_slashes_does_what_it_does_elsewhere(
    files: LakeraceFileSystem, tmp_path: Path, case: str
) -> None:
    names, (source, target) = ["d/x", "d/y/z", "e/v", "f"], SLASHES[case]

    def use(fs: Any, root: str) -> None:
        fs.mv(root + source, root + target, recursive=True)

    (tmp_path / "local").mkdir()
    memory = MemoryFileSystem()
    root = f"/{uuid.uuid4().hex}/"
    try:
        found = outcome(files, "", names, use)
        assert found == outcome(LocalFileSystem(), f"{tmp_path}/local/", names, use)
        assert found == outcome(memory, root, names, use)
    finally:
        memory.rm(root, recursive=True)


def test_copies_of_names_that_look_like_patterns(files: LakeraceFileSystem, tmp_path: Path) -> None:
    files.pipe({"f[1]": b"literal", "f1": b"other", "d[1]/x": b"x", "d1/y": b"y", "a*": b"star", "ab": b"ab"})
    files.cp("f[1]", "copy")
    files.cp("d[1]", "n", recursive=True)
    files.cp("a*", "into/")
    assert (files.cat("copy"), files.cat("f[1]"), files.cat("a*")) == (b"literal", b"literal", b"star")
    assert (files.find("n"), files.find("into")) == (["n/x"], ["into/a*"])
    files.get("f[1]", f"{tmp_path}/got")
    files.get("d[1]", f"{tmp_path}/folder", recursive=True)
    assert (tmp_path / "got").read_bytes() == b"literal"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["x"]
    (tmp_path / "l[1]").write_bytes(b"literal")
    (tmp_path / "l1").write_bytes(b"other")
    files.put(f"{tmp_path}/l[1]", "put")
    assert files.cat("put") == b"literal"
    assert files.cat(["f[1]", "f?"]) == {"f1": b"other", "f[1]": b"literal"}
    assert sorted(files.expand_path("f*")) == ["f1", "f[1]"]


def test_copies_of_names_without_a_folder(files: LakeraceFileSystem, tmp_path: Path) -> None:
    files.pipe({"x": b"x", "a1": b"1", "a2": b"2", "d/y": b"y"})
    files.cp("x", "into/")
    files.cp("x", "d")
    files.cp("a?", "many/")
    files.cp("a?", "d")
    files.cp(["x", "a1"], "list")
    files.cp("d", "e", recursive=True)
    assert files.find("into") == ["into/x"]
    assert files.find("d") == ["d/a1", "d/a2", "d/x", "d/y"]
    assert files.find("many") == ["many/a1", "many/a2"]
    assert files.find("list") == ["list/a1", "list/x"]
    assert files.find("e") == ["e/a1", "e/a2", "e/x", "e/y"]
    (tmp_path / "there").mkdir()
    files.get("x", f"{tmp_path}/there")
    files.get("a?", f"{tmp_path}/there/")
    files.get("x", tmp_path / "single")
    files.get("", f"{tmp_path}/all", recursive=True)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["a1", "a2", "x"]
    assert (tmp_path / "single").read_bytes() == b"x"
    assert sum(path.is_file() for path in (tmp_path / "all").rglob("*")) == len(files.find(""))


def test_patterns_move_and_remove_what_they_name(files: LakeraceFileSystem) -> None:
    files.pipe({"d/x": b"x", "d/y": b"y", "e/x": b"ex", "é1": b"1", "é日": b"2"})
    files.mv("d/*", "d/")
    assert files.find("d") == ["d/x", "d/y"]
    with pytest.raises(FileExistsError):
        files.mv("d/*", "e")
    assert files.find("") == ["d/x", "d/y", "e/x", "é1", "é日"]
    files.mv(["d/x", "d/y"], "new/")
    assert files.find("new") == ["new/x", "new/y"]
    with pytest.raises(ValueError, match="the same name"):
        files.mv(["new/x", "e/x"], "both/")
    files.rm("é?")
    assert files.find("") == ["e/x", "new/x", "new/y"]
    with pytest.raises(FileNotFoundError):
        files.mv("nothing*", "there")
    with pytest.raises(ValueError, match="maxdepth"):
        files.mv("new", "other", recursive=True, maxdepth=1)
    with pytest.raises(ValueError, match="recursive"):
        files.rm("n*")
    files.rm("n*", recursive=True)
    assert files.find("") == ["e/x"]


def test_times_and_keys_of_folders_are_refused(files: LakeraceFileSystem) -> None:
    files.pipe_file("d/x", b"1")
    for use in (files.modified, files.created, files.checksum, files.ukey):
        with pytest.raises(IsADirectoryError):
            use("d")
        with pytest.raises(FileNotFoundError):
            use("absent")
    with pytest.raises(OSError, match="root"):
        files.rmdir("")
