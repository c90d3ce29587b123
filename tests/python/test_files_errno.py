"""Errors of the small-file store have the `errno` and the name that those of the local file system have."""

from __future__ import annotations

import copy
import errno
import os
import pickle
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

import lakerace as lr
from lakerace.files import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Calls of fsspec that fail, with names that are made relative to a folder.
FAILING: dict[str, Callable[[Any, Callable[[str], str]], object]] = {
    "info": lambda fs, at: fs.info(at("none")),
    "size": lambda fs, at: fs.size(at("none")),
    "modified": lambda fs, at: fs.modified(at("none")),
    "ls": lambda fs, at: fs.ls(at("none")),
    "cat": lambda fs, at: fs.cat(at("none")),
    "cat_file": lambda fs, at: fs.cat_file(at("none")),
    "cat_file part": lambda fs, at: fs.cat_file(at("none"), start=1, end=2),
    "cat_file folder": lambda fs, at: fs.cat_file(at("folder")),
    "head": lambda fs, at: fs.head(at("none")),
    "open": lambda fs, at: fs.open(at("none"), "rb"),
    "open text": lambda fs, at: fs.open(at("none"), "r"),
    "open folder": lambda fs, at: fs.open(at("folder"), "rb"),
    "open update": lambda fs, at: fs.open(at("none"), "r+b"),
    "open new": lambda fs, at: fs.open(at("file"), "xb").close(),
    "rm": lambda fs, at: fs.rm(at("none")),
    "rm_file": lambda fs, at: fs.rm_file(at("none")),
    "cp_file": lambda fs, at: fs.cp_file(at("none"), at("new")),
    "get_file": lambda fs, at: fs.get_file(at("none"), os.devnull),
    "makedirs": lambda fs, at: fs.makedirs(at("folder")),
    "mkdir": lambda fs, at: fs.mkdir(at("folder")),
    "rmdir": lambda fs, at: fs.rmdir(at("none")),
    "rmdir file": lambda fs, at: fs.rmdir(at("file")),
    "rmdir full": lambda fs, at: fs.rmdir(at("folder")),
}


def error_of(call: Callable[[], object]) -> OSError:
    try:
        call()
    except OSError as error:
        return error
    raise AssertionError("the call did not fail")


@pytest.mark.parametrize("name", FAILING)
def test_calls_of_fsspec_fail_as_those_of_a_folder(tmp_path: Path, name: str) -> None:
    local, ours = LocalFileSystem(), fsspec.filesystem("lrfiles", store=str(tmp_path / "pack.db"))
    (tmp_path / "local").mkdir()
    for fs, start in ((local, f"{tmp_path}/local/"), (ours, "")):
        fs.makedirs(f"{start}folder", exist_ok=True)
        fs.pipe(f"{start}folder/inner", b"1")
        fs.pipe(f"{start}file", b"2")
    wanted = error_of(lambda: FAILING[name](local, lambda one: f"{tmp_path}/local/{one}"))
    found = error_of(lambda: FAILING[name](ours, lambda one: one))
    number = wanted.errno or {FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST}[type(wanted)]
    assert found.errno == number, (wanted, found)
    assert isinstance(found, type(OSError(number, "")))
    assert found.filename
    ours.store.close()


STORES: dict[str, Callable[[Store], object]] = {
    "get": lambda store: store.get("none"),
    "stat": lambda store: store.stat("none"),
    "open": lambda store: store.open("none"),
    "open update": lambda store: store.open("none", "r+b"),
    "remove": lambda store: store.remove("none"),
    "copy": lambda store: store.copy("none", "new"),
    "rename": lambda store: store.rename("none", "new"),
    "put": lambda store: store.put("file", b"", if_exists="error"),
    "open new": lambda store: store.open("file", "xb").close(),
}


@pytest.mark.parametrize("kind", ["pack.db", "folder/", "memory:"])
@pytest.mark.parametrize("name", STORES)
def test_calls_of_a_store_fail_with_an_errno(tmp_path: Path, name: str, kind: str) -> None:
    with Store(kind if kind == "memory:" else f"{tmp_path}/{kind}") as store:
        store.put("file", b"1")
        error = error_of(lambda: STORES[name](store))
        is_new = name in {"put", "open new"}
        assert error.errno == (errno.EEXIST if is_new else errno.ENOENT)
        assert isinstance(error, lr.ConflictError if is_new else lr.NotFoundError)
        assert error.filename == error.place
        assert ("file" if is_new else "none") in error.filename
        assert error.strerror == str(error)
        assert not str(error).startswith("[Errno")
        for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (type(same), str(same), same.args) == (type(error), str(error), error.args)
            assert (same.errno, same.filename, same.place, same.advice) == (
                error.errno,
                error.filename,
                error.place,
                error.advice,
            )


def test_errors_of_scans_have_them_too(tmp_path: Path) -> None:
    error = error_of(lambda: lr.scan(tmp_path / "none.parquet"))
    assert isinstance(error, lr.NotFoundError)
    assert (error.errno, error.filename) == (errno.ENOENT, str(tmp_path / "none.parquet"))
    (tmp_path / "rows.csv").write_text("a\n1\n")
    lr.copy(tmp_path / "rows.csv", tmp_path / "rows.parquet")
    error = error_of(lambda: lr.copy(tmp_path / "rows.csv", tmp_path / "rows.parquet"))
    assert isinstance(error, lr.ConflictError)
    assert (error.errno, error.filename) == (errno.EEXIST, str(tmp_path / "rows.parquet"))
