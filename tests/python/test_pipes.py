"""Standard input and output, named pipes and devices: every row arrives, or the command says why not."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, people, run
from process_state import wait_until_blocked

import lakerace as lr

ROWS = 100_000


def csv_bytes(rows: int = ROWS) -> bytes:
    return b"id,name\n" + b"".join(b"%d,n%d\n" % (i, i) for i in range(rows))


def piped(given: bytes, *args: object) -> tuple[int, bytes, str]:
    done = subprocess.run(
        command(*args), input=given, capture_output=True, timeout=TIMEOUT_SECONDS, check=False, env=os.environ
    )
    return done.returncode, done.stdout, done.stderr.decode()


def arrow_bytes(table: pa.Table, *, as_file: bool) -> bytes:
    sink = io.BytesIO()
    make = pa.ipc.new_file if as_file else pa.ipc.new_stream
    with make(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    return sink.getvalue()


def parquet_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def orc_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pyarrow.orc.write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize("place", ["-", "/dev/stdin"])
def test_csv_is_copied_with_every_row(tmp_path: Path, place: str) -> None:
    target = tmp_path / "out.parquet"
    code, out, err = piped(csv_bytes(), "copy", place, target)
    assert (code, out) == (0, b""), err
    table = pq.read_table(target)
    assert table.num_rows == ROWS
    assert table["id"].to_pylist() == list(range(ROWS))


@pytest.mark.parametrize("form", ["csv", "csv.gz", "arrow stream", "arrow file", "parquet", "orc"])
def test_the_format_is_told_by_the_first_bytes(tmp_path: Path, form: str) -> None:
    table = people(5000)
    if form.startswith("csv"):
        sink = io.BytesIO()
        pyarrow.csv.write_csv(table, sink)
        given = sink.getvalue()
        if form == "csv.gz":
            given = pa.compress(given, codec="gzip", asbytes=True)
    elif form.startswith("arrow"):
        given = arrow_bytes(table, as_file=form == "arrow file")
    else:
        given = parquet_bytes(table) if form == "parquet" else orc_bytes(table)
    target = tmp_path / "out.parquet"
    code, _, err = piped(given, "copy", "-", target)
    assert code == 0, err
    read = pq.read_table(target)
    assert read.to_pylist() == table.to_pylist()
    assert ("temporary file" in err) == (form in {"parquet", "orc"})
    code, out, err = piped(given, "scan", "-", "--where", "id >= 10 and id < 14", "--columns", "id", "--format", "csv")
    assert (code, out) == (0, b"id\n10\n11\n12\n13\n"), err


@pytest.mark.parametrize("form", ["csv", "tbl", "jsonl", "arrow", "parquet", "orc"])
def test_a_copy_to_standard_output(parquet: Path, tmp_path: Path, form: str) -> None:
    code, out, err = piped(b"", "copy", parquet, "-", "--output-format", form)
    assert code == 0, err
    expected = people()
    if form == "arrow":
        assert pa.ipc.open_stream(out).read_all().to_pylist() == expected.to_pylist()
    elif form == "parquet":
        assert pq.read_table(io.BytesIO(out)).to_pylist() == expected.to_pylist()
    elif form == "orc":
        assert pyarrow.orc.read_table(io.BytesIO(out)).to_pylist() == expected.to_pylist()
    elif form == "jsonl":
        assert [lr_json(line) for line in out.splitlines()] == expected.to_pylist()
    else:
        target = tmp_path / f"out.{form}"
        ok("copy", parquet, target)
        assert out == target.read_bytes()
    assert not (Path.cwd() / "-").exists()


def lr_json(line: bytes) -> Any:
    import json

    return json.loads(line)


def test_the_source_says_the_format_of_a_stream_and_a_folder(parquet: Path, tmp_path: Path) -> None:
    code, out, err = piped(b"", "copy", parquet, "-")
    assert code == 0, err
    assert pq.read_table(io.BytesIO(out)).num_rows == 1000
    ok("copy", parquet, f"{tmp_path}/folder/")
    assert pq.read_table(tmp_path / "folder").num_rows == 1000
    assert run("copy", "tpch:region?sf=0.01", f"{tmp_path}/other/").code == 2


def test_a_number_that_json_lacks(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [{"x": [1.0, float("inf")]}]}), source)
    code, _, err = piped(b"", "copy", source, "-", "--output-format", "jsonl")
    assert code == 6
    assert 'column "a"' in err


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 4), (["--input-format", "csv"], 4), (["--input-format", "parquet"], 5), (["--input-format", "arrow"], 4)],
)
def test_nothing_to_read_is_an_error(tmp_path: Path, options: list[str], code: int) -> None:
    target = tmp_path / "out.parquet"
    assert piped(b"", "copy", "-", target, *options)[0] == code
    assert not target.exists()


@pytest.mark.parametrize("as_file", [False, True])
def test_arrow_that_is_cut_is_an_error_or_the_same_rows(tmp_path: Path, as_file: bool) -> None:
    table = people(2000)
    whole = arrow_bytes(table, as_file=as_file)
    for cut in range(9, len(whole), 997):
        code, out, err = piped(whole[:cut], "scan", "-", "--count")
        assert code in {0, 5}, err
        if code == 0:
            # Between two messages nothing tells that more were to come.
            assert int(out) % 300 == 0 or int(out) == 2000


def test_upsert_and_delete_and_schema(tmp_path: Path) -> None:
    table = tmp_path / "table"
    ok("copy", "tpch:nation?sf=0.01", f"delta:{table}")
    given = b"n_nationkey,n_name,n_regionkey,n_comment\n3,CHANGED,1,x\n99,NEW,2,y\n"
    code, _, err = piped(given, "upsert", table, "-", "--key", "n_nationkey")
    assert code == 0, err
    names = dict(zip(*(lr.scan(str(table)).to_arrow()[c].to_pylist() for c in ("n_nationkey", "n_name")), strict=True))
    assert (len(names), names[3], names[99]) == (26, "CHANGED", "NEW")
    code, _, err = piped(b"n_nationkey\n99\n", "delete", table, "--keys", "-", "--key", "n_nationkey")
    assert code == 0, err
    assert lr.scan(str(table)).count() == 25
    code, out, err = piped(given, "schema", "-", "--json")
    assert code == 0, err
    assert b"n_regionkey" in out


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["copy", "-", "-", "--json"], 2),
        (["upsert", "-", "x.csv", "--key", "id"], 2),
        (["copy", "x.csv", "delta:-"], 2),
        (["scan", "-", "--at", "1"], 6),
    ],
)
def test_no_place_for_it(tmp_path: Path, args: list[str], code: int) -> None:
    done = subprocess.run(
        command(*args), input=b"a\n1\n", capture_output=True, timeout=TIMEOUT_SECONDS, check=False, cwd=tmp_path
    )
    assert done.returncode == code, done.stderr
    assert not list(tmp_path.iterdir())


def test_json_lines_are_told_by_their_first_byte() -> None:
    code, out, err = piped(b'{"a": 1}\n', "scan", "-", "--format", "csv")
    assert (code, out) == (0, b"a\n1\n"), err


FRONTS = {"plain": b"", "mark": b"\xef\xbb\xbf", "blank": b"\n", "blanks": b"\r\n  \n", "both": b"\xef\xbb\xbf\n"}


def packed(text: bytes, how: str) -> bytes:
    return text if how == "none" else pa.compress(text, codec=how, asbytes=True)


@pytest.mark.parametrize("how", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("front", FRONTS)
def test_json_lines_are_told_however_they_begin(tmp_path: Path, front: str, how: str) -> None:
    one, many = (
        b'{"id":1}\n{"id":2}\n{"id":3}\n',
        b"".join(b'{"id":%d,"s":"n%d"}\n' % (i, i * i) for i in range(99_999)),
    )
    for text, count in ((one, 3), (many, 99_999)):
        given = packed(FRONTS[front] + text, how)
        code, out, err = piped(given, "scan", "-", "--count", "--json")
        assert (code, lr_json(out)["rows"]) == (0, count), err
        path = tmp_path / "without_an_ending"
        path.write_bytes(given)
        assert lr.scan(path).count() == count
        assert lr.scan(path).schema.names[0] == "id"


@pytest.mark.parametrize("how", ["none", "gzip", "zstd"])
def test_two_byte_order_marks_are_an_error_on_a_pipe_as_in_a_file(tmp_path: Path, how: str) -> None:
    given = packed(b"\xef\xbb\xbf\xef\xbb\xbf" + b'{"id":1}\n', how)
    path = tmp_path / {"none": "a.jsonl", "gzip": "a.jsonl.gz", "zstd": "a.jsonl.zst"}[how]
    path.write_bytes(given)
    unnamed = tmp_path / "without_an_ending"
    unnamed.write_bytes(given)
    for code, err in (
        piped(given, "scan", "-", "--count")[::2],
        piped(given, "copy", "-", tmp_path / "x.parquet")[::2],
        piped(b"", "scan", path, "--count")[::2],
        piped(b"", "scan", unnamed, "--count")[::2],
    ):
        assert code == 4
        assert "line 1, column 1: the line is not valid JSON" in err
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.parametrize("how", ["none", "gzip", "zstd"])
def test_one_json_array_is_told_by_its_content(tmp_path: Path, how: str) -> None:
    for text, rows in ((b'[{"id":1},\n{"id":2}]\n', "2\n"), (b'[\n  {"id":1}\n]', "1\n")):
        code, out, err = piped(packed(text, how), "scan", "-", "--count", "-q")
        assert (code, out.decode() if isinstance(out, bytes) else out) == (0, rows), err
        path = tmp_path / "rows"
        path.write_bytes(packed(text, how))
        assert ok("scan", path, "--count", "-q").out == rows


def test_content_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "a.jsonl.gz", "a.csv.zst"):
        path = tmp_path / name
        path.write_bytes(b'{"id":1}\n')
        done = run("scan", path)
        assert done.code == 5
        assert "its content is not" in done.err
    for text, code, word in (
        (b"\x04\x22\x4d\x18", 6, "compressed with lz4"),
        (b"\xfd7zXZ\x00\x00", 4, "truncated"),
        (b"BZh91AY&SY", 4, "truncated"),
        (b"PK\x03\x04", 2, "does not give the format"),
    ):
        found, _, err = piped(text * 20, "scan", "-")
        assert found == code, err
        assert word in err


def test_text_of_a_file_without_an_ending_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "readme"
    path.write_bytes(b"some,words\n1,2\n")
    done = run("scan", path)
    assert done.code == 2
    assert "--input-format" in done.err


def test_a_reader_that_goes_away(parquet: Path) -> None:
    with subprocess.Popen(
        command("copy", "tpch:lineitem?sf=0.05", "-", "--output-format", "csv"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"l_orderkey,")
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(TIMEOUT_SECONDS) == 0


def test_named_pipes_on_both_sides(parquet: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "p.parquet"
    os.mkfifo(pipe)
    writer = threading.Thread(target=ok, args=("copy", parquet, pipe))
    writer.start()
    assert ok("scan", pipe, "--count", "-q").out == "1000\n"
    writer.join(TIMEOUT_SECONDS)
    assert pipe.is_fifo()


def test_a_pipe_in_a_folder_is_named(parquet: Path, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "a.parquet")
    os.mkfifo(tmp_path / "b.parquet")
    error = run("scan", tmp_path, "--count", "--json").error
    assert (error["exit_code"], error["place"]) == (4, str(tmp_path / "b.parquet"))


@pytest.mark.parametrize("is_pattern", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a pipe", "link to a device"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "csv.gz", "parquet", "orc"])
def test_no_format_reads_a_special_file_of_a_folder(tmp_path: Path, ending: str, kind: str, is_pattern: bool) -> None:
    """The first of its files alone, or after another one."""
    folder, special = tmp_path / "data", tmp_path / "data" / f"b.{ending}"
    folder.mkdir()
    if kind == "pipe":
        os.mkfifo(special)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(special))
    else:
        os.mkfifo(tmp_path / "pipe")
        special.symlink_to("/dev/null" if kind == "link to a device" else tmp_path / "pipe")
    assert not special.is_file()
    place = folder / f"*.{ending}" if is_pattern else folder
    for arguments in [("scan", place, "--count"), ("schema", place), ("copy", place, tmp_path / "o.parquet")]:
        error = run(*arguments, "--json").error
        # A pattern is named in front of the file.
        assert (error["exit_code"], error["place"].split(": ")[-1]) == (4, str(special))
    if ending == "csv":
        (folder / "a.csv").write_text("x\n1\n")
        assert run("scan", place, "--count", "--json").error["place"].split(": ")[-1] == str(special)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", ["no writer", "silent writer", "no reader", "full pipe"])
def test_a_signal_ends_every_wait(tmp_path: Path, what: str, by: signal.Signals) -> None:
    pipe = tmp_path / "p.csv"
    os.mkfifo(pipe)
    args = {
        "no writer": ("scan", pipe, "--count"),
        "silent writer": ("copy", "-", tmp_path / "out.parquet"),
        "no reader": ("copy", "tpch:lineitem?sf=0.05", pipe),
        "full pipe": ("scan", "tpch:lineitem?sf=0.05", "--format", "csv"),
    }[what]
    process = subprocess.Popen(
        command(*args),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(by, signal.SIG_DFL),  # noqa: PLW1509  no thread of the tests holds a lock
    )
    wait_until_blocked(process, by)
    process.send_signal(by)
    assert process.wait(20) == 130
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def test_one_text_is_a_list_of_one(parquet: Path, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    lr.copy(str(parquet), f"delta:{table}", partition_by="id", columns=["id", "name"], where="id < 3")
    assert {path.name for path in Path(table).iterdir()} == {"_delta_log", "id=0", "id=1", "id=2"}
