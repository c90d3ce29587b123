"""The file system `lrfiles`: fsspec's own suites, bulk calls, transactions, and the programs that take its URLs."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pickle
from typing import TYPE_CHECKING, Any

import fsspec
import pandas
import pyarrow.dataset
import pyarrow.parquet
import pytest
from fsspec.callbacks import Callback
from fsspec.tests import abstract

import lakerace as lr
from lakerace.files.fsspec import LakeraceFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Fixtures(abstract.AbstractFixtures):
    """What fsspec's suites are run with: a store in each home."""

    @pytest.fixture(params=["pack.db", "files/", "memory:"])
    def fs(self, request: pytest.FixtureRequest, tmp_path: Path) -> LakeraceFileSystem:
        place = request.param if request.param == "memory:" else f"{tmp_path}/{request.param}"
        return fsspec.filesystem("lrfiles", store=place)

    @pytest.fixture
    def fs_join(self) -> Callable[..., str]:
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def fs_path(self) -> str:
        return "below"


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    """fsspec's suite of copies."""


class TestGet(abstract.AbstractGetTests, Fixtures):
    """fsspec's suite of downloads."""


class TestPut(abstract.AbstractPutTests, Fixtures):
    """fsspec's suite of uploads."""


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    """fsspec's suite of open files."""


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    """fsspec's suite of contents in memory."""


@pytest.fixture
def files(tmp_path: Path) -> LakeraceFileSystem:
    """A file system of a store on disk."""
    return fsspec.filesystem("lrfiles", store=tmp_path / "pack.db")


def test_contents_go_in_and_out_in_bulk(files: LakeraceFileSystem) -> None:
    contents = {f"a/{i:04}": b"%d" % i for i in range(2500)}
    files.pipe(contents)
    assert files.find("a") == list(contents)
    assert files.cat(list(contents)) == contents
    assert files.cat("a", recursive=True) == contents
    assert files.cat("a/000*") == {f"a/{i:04}": b"%d" % i for i in range(10)}
    assert files.cat(["a/0001", "absent"], on_error="omit") == {"a/0001": b"1"}
    assert isinstance(files.cat(["absent", "a/0001"], on_error="return")["absent"], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        files.cat(["absent", "a/0001"])
    assert files.cat_ranges(["a/1234", "a/1234"], [0, 1], [2, 4]) == [b"12", b"234"]
    assert files.cat_file("a/1234", -3, -1) == b"23"
    assert (files.head("a/1234", 2), files.tail("a/1234", 2)) == (b"12", b"34")
    assert files.du("a") == sum(map(len, contents.values()))
    assert files.find("a/1234") == ["a/1234"]


def test_folders_and_removals(files: LakeraceFileSystem) -> None:
    files.pipe({"a/b/c": b"1", "a/d": b"22", "ab": b"333"})
    assert files.ls("", detail=False) == ["a", "ab"]
    assert files.ls("a", detail=False) == ["a/b", "a/d"]
    assert files.ls("a/d", detail=False) == ["a/d"]
    assert (files.isdir("a"), files.isfile("a"), files.isdir("ab"), files.isdir("")) == (True, False, False, True)
    assert list(files.walk("")) == [("", ["a"], ["ab"]), ("a", ["b"], ["d"]), ("a/b", [], ["c"])]
    assert files.find("", withdirs=True) == ["a", "a/b", "a/b/c", "a/d", "ab"]
    assert files.info("a/d")["size"] == 2
    assert files.size("ab") == 3
    with pytest.raises(FileNotFoundError):
        files.ls("absent")
    files.mkdir("new/inner")
    assert files.isdir("new")
    files.rmdir("new/inner")
    files.mv("a/d", "a/e")
    files.mv("a/b", "z", recursive=True)
    assert files.find("") == ["a/e", "ab", "z/c"]
    files.rm("a", recursive=True)
    files.rm(["ab", "z/c"])
    assert files.find("") == []
    with pytest.raises(FileNotFoundError):
        files.rm("ab")


def test_writes_of_a_transaction_appear_together(files: LakeraceFileSystem) -> None:
    with files.transaction:
        with files.open("a", "wb") as file:
            file.write(b"1")
        files.pipe_file("b", b"2")
        files.pipe({"c": b"3", "d": b"4"})
        assert files.find("") == []
    assert files.cat(["a", "b", "c", "d"]) == {"a": b"1", "b": b"2", "c": b"3", "d": b"4"}
    with pytest.raises(RuntimeError), files.transaction:  # noqa: PT012
        files.pipe_file("e", b"5")
        raise RuntimeError
    assert files.find("") == ["a", "b", "c", "d"]
    files.start_transaction()
    files.pipe_file("f", b"6")
    files.end_transaction()
    assert files.cat("f") == b"6"


def test_a_transaction_appends_to_what_there_is(files: LakeraceFileSystem) -> None:
    files.pipe_file("a", b"old")
    with files.transaction:
        for name in ("a", "new"):
            with files.open(name, "ab") as file:
                file.write(b" and new")
        assert files.cat("a") == b"old"
        with pytest.raises(lr.UsageError, match="a: the transaction has already written"):
            files.open("a", "ab")
    assert files.cat(["a", "new"]) == {"a": b"old and new", "new": b" and new"}
    with files.transaction, files.open("a", "at") as text:
        text.write("!")
    assert files.cat("a") == b"old and new!"


@pytest.mark.parametrize("mode", ["wb", "w", "xb", "xt", "ab", "a"])
@pytest.mark.parametrize("transacted", [True, False])
def test_a_file_left_by_an_exception_is_discarded(files: LakeraceFileSystem, mode: str, transacted: bool) -> None:
    files.pipe_file("old", b"old")
    name = "old" if mode.startswith("a") else "t"
    with files.transaction if transacted else contextlib.nullcontext():
        with pytest.raises(ValueError, match="left"), files.open(name, mode) as file:  # noqa: PT012
            file.write(b"partial" if "b" in mode else "partial")
            raise ValueError("left")
        files.pipe_file("other", b"1")
    assert files.cat(files.find("")) == {"old": b"old", "other": b"1"}


def test_a_transaction_keeps_the_metadata_of_what_it_appends_to(files: LakeraceFileSystem) -> None:
    files.store.put("a", b"old", metadata={"kind": 1})
    with files.transaction, files.open("a", "ab") as file:
        file.write(b" and new")
    assert (files.cat("a"), files.info("a")["metadata"]) == (b"old and new", {"kind": 1})


def test_a_file_that_outlives_its_transaction_is_not_written(files: LakeraceFileSystem) -> None:
    with pytest.raises(RuntimeError), files.transaction:  # noqa: PT012
        file = files.open("t", "wb")
        file.write(b"partial")
        raise RuntimeError
    file.close()
    with files.transaction:
        file = files.open("t", "wb")
    with pytest.raises(lr.UsageError, match="the transaction has ended"):
        file.close()
    assert file.closed
    assert files.find("") == []


def test_a_transaction_begins_one_batch(files: LakeraceFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    begin = files.store.batch
    monkeypatch.setattr(files.store, "batch", lambda: begun.append(None) or begin())
    with files.transaction:
        files.pipe_file("a", b"1")
    assert len(begun) == 1
    assert files.cat("a") == b"1"


def test_a_move_of_a_file_is_a_rename(files: LakeraceFileSystem) -> None:
    files.store.put("a/b", b"1", metadata={"kind": 1}, mtime_ms=1500)
    files.mv("a/b", "a/c")
    assert (files.info("a/c")["mtime"], files.info("a/c")["metadata"]) == (1.5, {"kind": 1})
    files.mkdir("d")
    files.mv("a/c", "d/")
    assert files.find("") == ["d/c"]
    with pytest.raises(FileNotFoundError):
        files.mv("absent", "e")


class _Counts(Callback):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int | None, int]] = []

    def call(self, hook_name: str | None = None, **kwargs: Any) -> None:
        self.seen.append((self.size, self.value))


def test_callbacks_are_told_of_progress(files: LakeraceFileSystem, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(3 << 20))
    for action in (
        lambda counts: files.put_file(str(tmp_path / "in"), "big", callback=counts),
        lambda counts: files.get_file("big", str(tmp_path / "out"), callback=counts),
    ):
        counts = _Counts()
        action(counts)
        assert counts.seen[-1] == (3 << 20, 3 << 20)
        assert len(counts.seen) >= 3
    assert (tmp_path / "out").read_bytes() == bytes(3 << 20)


def test_urls_name_the_store_and_the_file(tmp_path: Path) -> None:
    url = f"lrfiles://{tmp_path}/pack.db!/folder/t.csv"
    table = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    table.to_csv(url, index=False)
    assert lr.files.Store(tmp_path / "pack.db").get("folder/t.csv") == b"a,b\n1,x\n2,y\n"
    assert pandas.read_csv(url).equals(table)
    assert pandas.read_csv("lrfiles://folder/t.csv", storage_options={"store": str(tmp_path / "pack.db")}).equals(table)
    with fsspec.open(url, "rt") as file:
        assert file.read() == "a,b\n1,x\n2,y\n"
    with pytest.raises(ValueError, match="store="):
        fsspec.open("lrfiles://folder/t.csv").open()


@pytest.mark.parametrize("place", ["pack.db", "files/"])
def test_a_name_is_never_split(place: str, tmp_path: Path) -> None:
    files = fsspec.filesystem("lrfiles", store=f"{tmp_path}/{place}")
    files.store.put_many({"b.txt": b"innocent", "hello!/b.txt": b"wow", "x!/y!/b.txt": b"two"})
    assert files.cat("hello!/b.txt") == files.cat(["hello!/b.txt"])["hello!/b.txt"] == b"wow"
    assert files.cat("hello!", recursive=True) == {"hello!/b.txt": b"wow"}
    assert files.cat_ranges(["hello!/b.txt"], 0, 2) == [b"wo"]
    assert (files.info("hello!/b.txt")["size"], files.size("x!/y!/b.txt"), files.isdir("x!/y!")) == (3, 3, True)
    assert files.ls("hello!", detail=False) == files.glob("hello!/*") == ["hello!/b.txt"]
    assert files.find("x!") == ["x!/y!/b.txt"]
    with files.open("x!/y!/b.txt") as file:
        assert file.read() == b"two"
    files.pipe_file("q!/c", b"1")
    files.pipe({"q!/d": b"2", "q!/e": b"3"})
    files.cp_file("q!/c", "r!/c")
    files.mv("q!/d", "r!/d")
    (tmp_path / "in").write_bytes(b"4")
    files.put_file(str(tmp_path / "in"), "r!/in")
    files.get_file("r!/in", str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b"4"
    with files.transaction, files.open("r!/t", "wb") as file:
        file.write(b"5")
    files.rm("hello!/b.txt")
    files.rm("x!", recursive=True)
    assert files.store.list() == ["b.txt", "q!/c", "q!/e", "r!/c", "r!/d", "r!/in", "r!/t"]


@pytest.mark.parametrize("place", ["pack.db", "files/"])
def test_a_name_that_no_file_can_have_does_not_exist(place: str, tmp_path: Path) -> None:
    files = fsspec.filesystem("lrfiles", store=f"{tmp_path}/{place}")
    files.pipe_file("a/b", b"1")
    for name in ("a//b", "a/../a/b", "..", "a/./b"):
        assert (files.exists(name), files.isfile(name)) == (False, False)
        with pytest.raises(FileNotFoundError):
            files.cat(name)


def test_a_url_is_split_once(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "f.db")
    store.put("x.txt", b"innocent")
    url = f"lrfiles://{tmp_path}/f.db!/hello!/x.txt"
    with fsspec.open(url, "wb") as file:
        file.write(b"wow")
    assert store.list() == ["hello!/x.txt", "x.txt"]
    files, name = fsspec.url_to_fs(url)
    assert (name, files._strip_protocol(name), files.unstrip_protocol(name)) == ("hello!/x.txt", name, url)
    assert files.cat(url) == files.cat(files.unstrip_protocol(name)) == b"wow"
    for text in (f"lrfiles://{tmp_path}/f.db!/lrfiles://a!/x.txt", "/lrfiles://a!/x.txt"):
        with pytest.raises(lr.InvalidInputError, match="a URL is not the name"):
            files.rm(text)
    files.rm(url)
    assert store.list() == ["x.txt"]


def test_pyarrow_and_pickle_take_the_file_system(files: LakeraceFileSystem) -> None:
    table = pyarrow.table({"a": list(range(1000))})
    with files.open("t.parquet", "wb") as file:
        pyarrow.parquet.write_table(table, file)
    assert pyarrow.parquet.read_table("t.parquet", filesystem=files).equals(table)
    again = pickle.loads(pickle.dumps(files))
    assert again.size("t.parquet") == files.size("t.parquet")
    assert files.ukey("t.parquet") == again.ukey("t.parquet")
    with pytest.raises(IsADirectoryError):
        files.open("")


def test_folders_are_made_by_one_thread_while_another_lists_them(files: LakeraceFileSystem) -> None:
    def make() -> None:
        for number in range(3000):
            files.makedirs(f"made/{number}", exist_ok=True)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        making = pool.submit(make)
        while not making.done():
            files.exists("made/nothing")
            files.find("made", withdirs=True)
        making.result()
    assert len(files.ls("made", detail=False)) == 3000


def test_pyarrow_writes_a_dataset_of_many_folders_by_several_threads(files: LakeraceFileSystem) -> None:
    rows = pyarrow.table({"p": [number % 200 for number in range(4000)], "x": range(4000)})
    written = pyarrow.dataset.write_dataset
    written(rows, "set", filesystem=files, format="parquet", partitioning=["p"], max_partitions=200)
    back = pyarrow.dataset.dataset("set", filesystem=files, format="parquet", partitioning=["p"])
    assert sorted(back.to_table()["x"].to_pylist()) == list(range(4000))


def test_a_pickled_file_system_is_of_the_same_store_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    files = LakeraceFileSystem("s.db", skip_instance_cache=True)
    files.pipe("a", b"1")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(pickle.dumps(files)).cat("a") == b"1"
    assert os.listdir() == []
