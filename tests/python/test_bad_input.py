"""Bad input: the right exit code, one clear message, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, Done, command, ok, people, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.parquet"
    pq.write_table(people(50), path, row_group_size=20, write_page_index=True)
    return path


def test_truncated_at_every_length(small: Path, tmp_path: Path) -> None:
    data = small.read_bytes()
    path = tmp_path / "cut.parquet"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(lr.CorruptDataError, match=r"cut\.parquet"):
            lr.scan(path).checksum()


def test_every_byte_flipped(small: Path, tmp_path: Path) -> None:
    """A flipped byte gives an error of ours or rows; never a fault of ours, a hang or a crash."""
    data = bytearray(small.read_bytes())
    path = tmp_path / "flipped.parquet"
    errors = 0
    for at in range(len(data)):
        data[at] ^= 0x5A
        path.write_bytes(data)
        data[at] ^= 0x5A
        try:
            lr.scan(path).to_arrow()
        except lr.InternalError:
            raise
        except lr.Error as error:
            errors += 1
            assert isinstance(error, (lr.CorruptDataError, lr.UnsupportedError, lr.InvalidInputError)), error
            assert "flipped.parquet" in str(error)
    assert errors > len(data) // 4


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("empty.parquet", b"", 5),
        ("magic.parquet", b"PAR2" + b"\0" * 100 + b"PAR2", 5),
        ("zeros.parquet", b"\0" * 1000, 5),
        ("length.parquet", b"PAR1" + b"\0" * 20 + b"\xff\xff\xff\x7fPAR1", 5),
        ("text.parquet", b"a,b\n1,2\n" * 100, 5),
        ("bad.csv.gz", b"a,b\n1,2\n", 5),
        ("bad.csv.zst", b"a,b\n1,2\n", 5),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", 4),
        ("open.csv", b'a,b\n1,"2\n', 4),
        ("binary.csv", b"a,b\n\xff\xfe,1\n", 4),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path: Path, name: str, data: bytes, code: int) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    done = run("scan", path, "--json")
    assert done.code == code, done.err
    assert name in done.error["place"]
    target = tmp_path / "out.parquet"
    assert run("copy", path, target).code == code
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "folder/", "*.parquet"])
def test_missing_sources(tmp_path: Path, name: str) -> None:
    done = run("scan", f"{tmp_path}/{name}", "--json")
    assert done.code == 3
    assert done.error["kind"] == "not_found"
    assert str(tmp_path) in done.error["place"]


def test_missing_columns_name_the_nearest(parquet: Path) -> None:
    done = run("scan", parquet, "--columns", "id,scor", "--json")
    assert done.code == 3
    assert "scor" in done.err
    assert '"score"' in done.err or "score" in done.err.replace("scor ", "")
    done = run("scan", parquet, "--where", "nam = 'x'")
    assert done.code == 3
    assert "name" in done.err


def test_wrong_filters(parquet: Path) -> None:
    assert run("scan", parquet, "--where", "id >").code == 2
    assert run("scan", parquet, "--where", "DROP TABLE x").code == 2
    done = run("scan", parquet, "--where", "id > 'many'")
    assert done.code in (2, 4)
    assert "id" in done.err


def test_unknown_formats(tmp_path: Path) -> None:
    path = tmp_path / "x.unknown"
    path.write_bytes(b"x")
    assert run("scan", path).code in (2, 6)
    assert run("copy", path, tmp_path / "y.parquet").code in (2, 6)


def test_zero_rows(tmp_path: Path) -> None:
    path, again = tmp_path / "none.parquet", tmp_path / "again.parquet"
    pq.write_table(people(0), path)
    assert ok("scan", path, "--count").out == "0\n"
    ok("copy", path, again)
    assert pq.read_table(again).schema.names == ["id", "name", "score"]
    assert ok("scan", path, "--where", "id > 5", "--format", "csv").out == "id,name,score\n"
    (tmp_path / "none.csv").write_text("a,b\n")
    assert ok("scan", tmp_path / "none.csv", "--count").out == "0\n"


def test_zero_columns(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}).select([]), path)
    done = run("scan", path, "--count")
    assert (done.code, done.out) in ((0, "0\n"), (0, "3\n"))
    assert lr.scan(path).to_arrow().num_columns == 0


def test_ten_thousand_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    made = pa.table({f"c{i}": pa.array([i, None], pa.int32()) for i in range(10_000)})
    pq.write_table(made, path)
    assert lr.scan(path).to_arrow() == made
    assert lr.scan(path, columns=["c9999", "c0"]).to_arrow().to_pydict() == {"c9999": [9999, None], "c0": [0, None]}
    lr.copy(path, tmp_path / "again.parquet")
    assert pq.read_table(tmp_path / "again.parquet") == made
    lr.copy(path, tmp_path / "wide.csv")
    assert lr.scan(tmp_path / "wide.csv").count() == 2


def test_folders_of_different_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    done = run("scan", f"{tmp_path}/", "--json")
    assert done.code == 4
    assert "2.parquet" in done.err
    assert "a" in done.err


#: Makes root a user like others, for the command that follows.
WITHOUT_PRIVILEGES = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]


def test_unreadable_folders(parquet: Path, tmp_path: Path) -> None:
    closed, locked = tmp_path / "closed", tmp_path / "locked.parquet"
    prefix = WITHOUT_PRIVILEGES if os.geteuid() == 0 else []
    if prefix and (not shutil.which("setpriv") or subprocess.run([*prefix, "true"], check=False).returncode != 0):
        pytest.skip("we are root, who may read everything, and can't give that up")
    locked.write_bytes(parquet.read_bytes())
    locked.chmod(0)
    closed.mkdir(mode=0)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "a").touch(0)
    try:
        for arguments in (
            ["scan", f"{closed}/"],
            ["scan", f"{closed}/*.parquet"],
            ["scan", closed / "x.parquet"],
            ["scan", locked],
            ["copy", f"{closed}/", tmp_path / "x.parquet"],
            ["copy", parquet, closed / "x.parquet"],
            ["copy", parquet, f"{closed}/new/", "--output-format", "parquet"],
            ["files", "verify", f"{kept}/"],
            ["files", "verify", f"{closed}/"],
        ):
            line = [*prefix, *command(*arguments, "--json")]
            done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
            outcome = Done(done.returncode, done.stdout, done.stderr)
            assert outcome.code == 4, (arguments, outcome.err)
            assert str(tmp_path) in outcome.error["place"]
            assert "permission" in outcome.err.lower()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["closed", "kept", "locked.parquet"]
    finally:
        closed.chmod(0o700)


def test_a_folder_that_can_not_be_written_to(parquet: Path) -> None:
    done = run("copy", parquet, "/proc/lakerace/x.parquet", "--json")
    assert done.code in (3, 4), done.err
    assert "/proc/lakerace" in done.error["place"]


#: How often a folder that is busy is unmounted again.
PATIENCE = 100


@contextmanager
def tiny_disk(folder: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder.mkdir()
    arguments = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(arguments, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if done.returncode != 0:
        pytest.skip(f"mounting a small tmpfs is not allowed here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        unmount(folder)


def unmount(folder: Path) -> None:
    """Others, such as a search through all files, may look into it for a moment."""
    for _ in range(PATIENCE):
        done = subprocess.run(["umount", str(folder)], capture_output=True, text=True, check=False)
        if "busy" not in done.stderr:
            break
        time.sleep(0.1)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_full_disk(tmp_path: Path, ending: str) -> None:
    source = tmp_path / "big.parquet"
    pq.write_table(pa.table({"a": [os.urandom(32).hex() for _ in range(50_000)]}), source)
    with tiny_disk(tmp_path / "disk") as disk:
        done = run("copy", source, disk / f"out.{ending}", "--compression", "none", "--json")
        assert done.code == 8, done.err
        assert "space" in done.err
        assert not list(disk.iterdir())


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_flipped_bit_of_a_page_is_told_by_its_checksum(tmp_path: Path, version: str, dictionary: bool) -> None:
    rows = 300
    table = pa.table(
        {
            "flat": [i % 50 for i in range(rows)],
            "struct": [{"a": i % 40, "b": f"text {i % 30}"} for i in range(rows)],
            "list": [[i % 20] * (i % 4) for i in range(rows)],
            "map": pa.array([[(f"k{i % 9}", i % 70)] for i in range(rows)], pa.map_(pa.string(), pa.int64())),
        }
    )
    path = tmp_path / "x.parquet"
    options = {"data_page_version": version, "use_dictionary": dictionary, "compression": "none"}
    pq.write_table(table, path, write_page_checksum=True, **options)
    whole, chunks = path.read_bytes(), []
    group = pq.ParquetFile(path).metadata.row_group(0)
    for number in range(group.num_columns):
        chunk = group.column(number)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        chunks.append((chunk.path_in_schema, start, start + chunk.total_compressed_size))
    told = 0
    for name, start, end in chunks:
        for at in range(start, end, max(1, (end - start) // 25)):
            damaged = bytearray(whole)
            damaged[at] ^= 0x10
            path.write_bytes(damaged)
            try:
                # A header's statistics are no rows, and have no checksum.
                assert pa.table(lr.scan(path)) == table.cast(pa.table(lr.scan(path)).schema), (name, at)
            except lr.CorruptDataError as error:
                assert "x.parquet" in str(error)
                assert name.split(".")[0] in str(error)
                told += 1
    assert told > 20 * len(chunks) * 0.7


def test_damaged_arrow_streams_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.arrow"
    lr.copy(people(20), path)
    data = path.read_bytes()
    refused = 0
    for at in range(0, len(data) - 8, 8):
        # Lengths and offsets far behind the end, among others.
        path.write_bytes(data[:at] + (1 << 40).to_bytes(8, "little") + data[at + 8 :])
        try:
            lr.scan(path).to_arrow()
        except lr.CorruptDataError:
            refused += 1
        except (lr.InvalidInputError, lr.UnsupportedError):
            pass
    assert refused > 20
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["struct", "list", "map", "top"])
def test_two_fields_of_one_name_are_refused_by_every_target(tmp_path: Path, kind: str) -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    columns = {
        "struct": [twice],
        "list": [pa.LargeListArray.from_arrays([0, 1], twice)],
        "map": [pa.MapArray.from_arrays([0, 1], ["k"], twice)],
        "top": [pa.array([1]), pa.array([2])],
    }[kind]
    rows = pa.table(columns, names=["c"] * len(columns))
    for target in ["a.parquet", "a.orc", "a.arrow", "a.jsonl", "parquet/"]:
        name = f"{tmp_path}/{target}"
        with pytest.raises(lr.InvalidInputError, match=r'both named "[ac]"'):
            lr.copy(rows, name, output_format="parquet" if target == "parquet/" else None)
        assert not list(tmp_path.iterdir()), target
    with pytest.raises(lr.InvalidInputError, match=r'both named "[ac]"'):
        lr.copy(rows, f"sqlite:{tmp_path}/a.db#t")
    assert not list(tmp_path.iterdir())


def test_an_unknown_time_zone_is_an_error_of_the_option(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("a\n2024-01-01T00:00:00Z\n")
    for target in ("a.parquet", "sqlite:a.db#t"):
        done = run("copy", source, target, "--schema", "a timestamp(us, Mars/X)", cwd=tmp_path)
        assert done.code == 2, done.err
        assert 'no time zone "Mars/X"' in done.err
    assert list(tmp_path.iterdir()) == [source]
    # What a file says itself stays.
    odd = pa.table({"a": pa.array([0], pa.timestamp("us", "Mars/X"))})
    with pa.OSFile(str(tmp_path / "odd.arrow"), "wb") as file, pa.ipc.new_file(file, odd.schema) as writer:
        writer.write_table(odd)
    assert lr.scan(tmp_path / "odd.arrow").schema.field("a").type == pa.timestamp("us", "Mars/X")


def test_an_upsert_that_a_full_disk_ends_leaves_nothing_behind(tmp_path: Path) -> None:
    with tiny_disk(tmp_path / "disk") as disk:
        table = disk / "t"
        lr.copy(
            pa.table({"k": [1, 2, 3], "x": [1, 2, 3]}), f"delta:{table}", table_properties={"lakerace.primaryKey": "k"}
        )
        before = sorted(table.rglob("*"))
        fill, failed = disk / "fill", 0
        with fill.open("wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    break
        size = fill.stat().st_size
        # With each page that is free, another step of the commit is the one that finds no room.
        for pages in range(1, 64):
            os.truncate(fill, size - pages * 4096)
            try:
                done = lr.Table(table).upsert(pa.table({"k": [2, 4], "x": [20, 40]}))
            except lr.UnavailableError as error:
                assert "space" in str(error)
                assert sorted(table.rglob("*")) == before, f"with {pages} pages free"
                failed += 1
                continue
            assert done.rows_hidden == 1
            break
        assert failed > 1
        assert sorted(lr.scan(table).rows()) == [(1, 1), (2, 20), (3, 3), (4, 40)]


@pytest.mark.parametrize(
    "words", [["scan", "--format", "csv"], ["scan", "--format", "jsonl"], ["scan", "--count"], ["schema"]]
)
def test_a_full_standard_output_is_named(parquet: Path, words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command(*words, parquet), stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 8, done.stderr
    assert b"error: standard output: No space left on device" in done.stderr
