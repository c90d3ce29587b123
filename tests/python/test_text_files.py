"""Text as other programs make it: packings, JSON arrays, preambles, comments, decimal commas, time formats and encodings."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import json
import lzma
import subprocess
import zipfile
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import command, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CSV = "id,name\n" + "".join(f"{i},naïve {i % 97}\n" for i in range(200_000))
ROWS = 200_000


def zipped(data: bytes, name: str = "rows.csv", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def streamed_zip(data: bytes) -> bytes:
    """An archive whose sizes follow the file, as writers make it that cannot go back."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("rows.csv", "w") as file:  # type: ignore[arg-type]
        file.write(data)
    return pipe.data


def mac_zip(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        archive.writestr("folder/rows.csv", data)
        archive.writestr("__MACOSX/folder/._rows.csv", b"\x00\x05\x16\x07")
    return file.getvalue()


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "bz2": ("bz2", bz2.compress),
    "bz2 streams": ("bz2", lambda data: bz2.compress(data[:100_000]) + bz2.compress(data[100_000:])),
    "xz": ("xz", lzma.compress),
    "xz streams": ("xz", lambda data: lzma.compress(data[:7]) + bytes(8) + lzma.compress(data[7:])),
    "xz crc32": ("xz", lambda data: lzma.compress(data, check=lzma.CHECK_CRC32, preset=9)),
    "zst": ("zst", zstd),
    "zst frames": ("zst", lambda data: zstd(data[:100_000]) + zstd(data[100_000:])),
    "gz": ("gz", gzip.compress),
    "zip": ("zip", zipped),
    "zip stored": ("zip", lambda data: zipped(data, method=zipfile.ZIP_STORED)),
    "zip streamed": ("zip", streamed_zip),
    "zip of macOS": ("zip", mac_zip),
}


@pytest.mark.parametrize("how", PACKERS)
def test_packed_files_are_read_by_name_and_by_content(tmp_path: Path, how: str) -> None:
    ending, pack = PACKERS[how]
    data = pack(CSV.encode())
    expected = pd.read_csv(io.StringIO(CSV))
    for name, options in (
        (f"rows.csv.{ending}", {}),
        ("rows", {"format": "csv"}),
        (f"rows.{ending}", {"format": "csv"}),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        scan = lr.scan(path, **options)
        pd.testing.assert_frame_equal(scan.to_arrow().to_pandas(), expected, check_dtype=False)
        assert lr.scan(path, limit=3, **options).to_arrow().num_rows == 3
    done = subprocess.run(
        command("scan", "-", "--input-format", "csv", "--count", "-q"), input=data, capture_output=True, check=True
    )
    assert int(done.stdout) == ROWS


@pytest.mark.parametrize("how", PACKERS)
def test_packed_files_that_are_cut_or_damaged_are_errors(tmp_path: Path, how: str) -> None:
    ending, pack = PACKERS[how]
    rows = "id,name\n" + "".join(f"{i},{i * 7919 % 1000}\n" for i in range(400))
    data = pack(rows.encode())
    whole = lr.scan(io_file(tmp_path / f"whole.csv.{ending}", data)).checksum()
    path = tmp_path / f"cut.csv.{ending}"
    # Between two members the file is whole, and so it is in front of the padding of the last one.
    for length in range(1, len(data), max(len(data) // 60, 1)):
        path.write_bytes(data[:length])
        try:
            rows_read = lr.scan(path, schema="id int64, name int64").to_arrow().num_rows
        except (lr.CorruptDataError, lr.InvalidInputError) as error:
            assert "cut.csv" in str(error)
        else:
            assert "streams" in how or "frames" in how, (how, length, rows_read)
    for at in range(0, len(data), max(len(data) // 60, 1)):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        path.write_bytes(bytes(damaged))
        try:
            found = lr.scan(path).checksum()
        except lr.InternalError:
            raise
        except lr.Error as error:
            assert "cut.csv" in str(error)
        else:
            # Times, names and versions in headers are not looked at; a frame of pyarrow has no checksum.
            assert found == whole or ending in ("zip", "zst"), (how, at)


def io_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_damaged_rows_in_a_zip_are_an_error(tmp_path: Path) -> None:
    data = bytearray(zipped(b"id\n" + b"1234567\n" * 1000, method=zipfile.ZIP_STORED))
    data[data.index(b"1234567")] = ord("9")
    path = io_file(tmp_path / "a.csv.zip", bytes(data))
    with pytest.raises(lr.CorruptDataError, match="checksum is wrong"):
        lr.scan(path).to_arrow()


def test_archives_of_several_files_are_refused_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "two.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.csv", "b.csv"):
            archive.writestr(name, "id\n1\n")
    done = run("scan", path)
    assert done.code == 6
    assert "the zip archive has 2 files: a.csv, b.csv" in done.err
    with zipfile.ZipFile(path, "w"):
        pass
    assert "has no file" in run("scan", path).err
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.csv", "id\n1\n")
    assert "unzip" in run("scan", path).err
    assert run("copy", path, tmp_path / "out.csv.zip").code == 6
    done = run("copy", io_file(tmp_path / "a.csv", b"id\n1\n"), tmp_path / "out.csv.zip")
    assert done.code == 6
    assert "zip archives can be read, but not written" in done.err


def test_a_zip_without_an_inner_ending_is_told_by_the_name_of_its_file(tmp_path: Path) -> None:
    path = io_file(tmp_path / "export.zip", zipped(b'[{"a":1},{"a":2}]', "rows.json"))
    assert ok("scan", path, "--count", "-q").out == "2\n"
    path.write_bytes(zipped(b"PAR1", "rows.parquet"))
    assert "Parquet" in run("scan", path).err


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_whose_name_says_another_format_than_its_file_is_refused(tmp_path: Path, method: int) -> None:
    lines = b'{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'
    path = io_file(tmp_path / "rows.csv.zip", zipped(lines, "rows.jsonl", method))
    for arguments in (("scan", path), ("schema", path), ("copy", path, tmp_path / "out.parquet")):
        done = run(*arguments)
        assert done.code == 4, done.err
        assert "rows.jsonl" in done.err
        assert "--input-format jsonl" in done.err
    expected = pl.read_ndjson(lines).rows()
    assert list(lr.scan(path, format="jsonl").rows()) == expected
    # Names that say the same, or nothing, are read.
    for name, member, text in (
        ("a.jsonl.zip", "a.ndjson", lines),
        ("b.csv.zip", "b.txt", b"a,b\n1,x\n2,y\n"),
        ("c.csv.zip", "deep/c.CSV", b"a,b\n1,x\n2,y\n"),
    ):
        assert list(lr.scan(io_file(tmp_path / name, zipped(text, member, method))).rows()) == expected
    with pytest.raises(lr.InvalidInputError, match="TSV"):
        lr.scan(io_file(tmp_path / "d.csv.zip", zipped(b"a\tb\n1\tx\n", "d.tsv", method))).to_arrow()


@pytest.mark.parametrize("ending", ["bz2", "xz", "gz", "zst"])
def test_packed_files_that_are_written_are_read_by_others(tmp_path: Path, ending: str) -> None:
    table = pa.table({"id": range(300_000), "name": [f"naïve {i}" for i in range(300_000)]})
    path = tmp_path / f"out.csv.{ending}"
    lr.copy(table, path)
    if ending == "zst":
        read = pl.read_csv(path).to_pandas()
    else:
        read = pd.read_csv(path, compression={"gz": "gzip"}.get(ending, ending))
    pd.testing.assert_frame_equal(read, table.to_pandas(), check_dtype=False)


def test_tsv_is_csv_with_tabs(tmp_path: Path) -> None:
    text = 'id\tname\n1\t"a\tb"\n2\tc,d\n'
    path = io_file(tmp_path / "a.tsv", text.encode())
    expected = pl.read_csv(path, separator="\t")
    assert lr.scan(path).to_polars().equals(expected)
    lr.copy(path, tmp_path / "b.tsv.gz")
    assert pl.read_csv(tmp_path / "b.tsv.gz", separator="\t").equals(expected)
    lr.copy(path, tmp_path / "c.csv")
    assert pl.read_csv(tmp_path / "c.csv").equals(expected)
    assert ok("schema", path, "--json").json["format"] == "tsv"


RECORDS: list[dict[str, Any]] = [
    {"id": i, "name": f'q"],{{[\\ {i}\n', "tags": [i, {"x": None}] if i % 2 else [], "place": {"lat": i / 4}}
    for i in range(30_000)
]


@pytest.mark.parametrize("form", ["compact", "pretty", "pandas", "objects", "pretty objects"])
def test_json_arrays_are_read_like_other_readers_do(tmp_path: Path, form: str) -> None:
    records = [{**record, "tags": [record["id"]]} for record in RECORDS]
    path = tmp_path / "rows.json"
    if form == "compact":
        path.write_text(json.dumps(records, separators=(",", ":")))
    elif form == "pretty":
        path.write_text(json.dumps(records, indent=2, ensure_ascii=False))
    elif form == "pandas":
        pd.DataFrame(records).to_json(path, orient="records")
    else:
        indent = 2 if form.startswith("pretty") else None
        path.write_text("\n".join(json.dumps(record, indent=indent) for record in records))
    assert lr.scan(path).to_arrow().to_pylist() == records
    assert lr.scan(path, columns=["id"], where="id % 1000 = 7").to_arrow().num_rows == 30
    frame = duckdb.sql(f"select count(*), sum(id), max(place.lat) from read_json('{path}')").fetchall()
    found = lr.scan(path).to_arrow()
    assert frame == [(found.num_rows, sum(record["id"] for record in records), 29_999 / 4)]


def test_json_arrays_are_written_as_other_readers_take_them(tmp_path: Path) -> None:
    table = pa.table({"id": range(200_000), "name": [f'"{i}\n' for i in range(200_000)]})
    for name in ("a.json", "a.json.gz"):
        path = tmp_path / name
        assert lr.copy(table, path, verify=True).rows == table.num_rows
        text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        assert json.loads(text) == table.to_pylist()
        assert pl.read_json(text).height == 200_000
    lr.copy(table.slice(0, 0), tmp_path / "none.json")
    assert json.loads((tmp_path / "none.json").read_text()) == []
    done = subprocess.run(
        command("copy", tmp_path / "a.json", "-", "--limit", "2", "--output-format", "json"),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == table.slice(0, 2).to_pylist()


def test_errors_in_json_arrays_name_the_row(tmp_path: Path) -> None:
    cases = {
        '[{"a":1},{"a":x}]': (4, "row 2"),
        '[{"a":1},7]': (4, "row 2"),
        '[{"a":1}': (5, "truncated"),
        '[{"a":1} {"a":2}]': (4, "comma"),
        '[{"a":1}] x': (4, "follows the end"),
        "id\n1\n": (4, "starts with 'i'"),
    }
    for text, (code, word) in cases.items():
        done = run("scan", io_file(tmp_path / "a.json", text.encode()), "--format", "csv")
        assert (done.code, word in done.err, "a.json" in done.err) == (code, True, True), (text, done.err)
    path = io_file(tmp_path / "a.json", b'[{"a":1},7,{"a":2}]')
    assert ok("scan", path, "--on-bad-row", "skip", "--format", "csv", "-q").out == "a\n1\n2\n"


def test_json_arrays_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    with path.open("w") as file:
        file.write("[\n")
        for i in range(60):
            rows = [{"id": i * 20_000 + j, "name": "x" * 100} for j in range(20_000)]
            file.write(",\n" * (i > 0) + json.dumps(rows)[1:-1])
        file.write("\n]\n")
    report = ok("scan", path, "--count", "--json", "--threads", "2").json
    assert report["rows"] == 1_200_000
    assert path.stat().st_size > 140_000_000
    assert report["peak_rss_bytes"] < 140_000_000


GERMAN = 'Bericht "2024\nerstellt, am 1.1.\n# Tag; Wert\nTag;Wert;Zeit;Name\n29.02.2024;1,5;01.02.2024 13:45;Käse\n# it\'s a "comment\n01.03.2024;-2,25;02.02.2024 00:00;#kein\n'


def test_a_file_with_everything(tmp_path: Path) -> None:
    expected = pa.table(
        {
            "Tag": pa.array([datetime.date(2024, 2, 29), datetime.date(2024, 3, 1)]),
            "Wert": [1.5, -2.25],
            "Zeit": pa.array(
                [datetime.datetime(2024, 2, 1, 13, 45), datetime.datetime(2024, 2, 2)], pa.timestamp("us")
            ),
            "Name": pa.array(["Käse", "#kein"], pa.string_view()),
        }
    )
    for encoding in ("latin1", "cp1252", "utf-16", "utf-8"):
        path = io_file(tmp_path / f"{encoding}.csv", GERMAN.encode(encoding))
        options = {
            "delimiter": ";",
            "skip_rows": 2,
            "comment": "#",
            "decimal_comma": True,
            "date_format": "%d.%m.%Y",
            "timestamp_format": "%d.%m.%Y %H:%M",
            "encoding": encoding,
        }
        assert lr.scan(path, **options).to_arrow() == expected, encoding
        flags = [
            word
            for name, value in options.items()
            for word in ([f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)]))
        ]
        assert "| 29.02" not in ok("scan", path, *flags).out
        assert ok("scan", path, *flags, "--where", '"Wert" < 0', "--count", "-q").out == "1\n"
        lr.copy(path, tmp_path / f"{encoding}.parquet", **options)
        assert pl.read_parquet(tmp_path / f"{encoding}.parquet").rows() == pl.from_arrow(expected).rows()  # type: ignore[union-attr]
        assert [c["name"] for c in lr.schema(path, **options)["columns"]] == ["Tag", "Wert", "Zeit", "Name"]


def test_comments_and_skipped_lines_are_those_of_other_readers(tmp_path: Path) -> None:
    """Comments with quotes, at block ends, in the middle and at the end; texts that look like comments."""
    lines = ['preamble, with "a quote', "# note", "id,text"]
    for i in range(150_000):
        if i % 7 == 0:
            lines.append("#" + '"' * (i % 3) + f" comment {i}, {i}")
        lines.append(f'{i},"multi # line {i}"' if i % 5 else f"{i},#{i}")
    for end in ("\n", "\r\n"):
        path = io_file(tmp_path / "rows.csv", end.join(lines).encode())
        expected = pl.read_csv(path, skip_lines=1, comment_prefix="#")
        for threads in (1, 3):
            found = lr.scan(path, skip_rows=1, comment="#", threads=threads).to_polars()
            assert found.equals(expected)
        assert (
            lr.scan(path, skip_rows=1, comment="# note", where="id = 5", on_bad_row="skip", schema="id int64")
            .to_arrow()
            .num_rows
            == 1
        )


def test_comments_of_several_characters(tmp_path: Path) -> None:
    text = 'a,b\n//x"\n/1,2\n//\n"//3",4\n5,"x\n//6"\n//'
    path = io_file(tmp_path / "a.csv", text.encode())
    rows = lr.scan(path, comment="//").to_arrow().to_pylist()
    assert rows == [{"a": "/1", "b": "2"}, {"a": "//3", "b": "4"}, {"a": "5", "b": "x\n//6"}]
    one = io_file(tmp_path / "one.csv", b"a\n1\n\n#x\n2\n")
    assert lr.scan(one, comment="#").to_arrow().to_pydict() == {"a": [1, None, 2]}
    for comment in ("", ",", '"', "a\n", "x" * 17):
        with pytest.raises(lr.UsageError, match="comment"):
            lr.scan(path, comment=comment)


def test_lines_that_are_skipped_are_counted_in_errors(tmp_path: Path) -> None:
    path = io_file(tmp_path / "a.csv", b'junk "\njunk\na,b\n#\n1,2\n#\n3\n')
    with pytest.raises(lr.InvalidInputError, match="line 7"):
        lr.scan(path, skip_rows=2, comment="#").to_arrow()
    many = io_file(tmp_path / "many.csv", b'junk,"\n' * 300_000 + b"a\n1\nx\n")
    with pytest.raises(lr.InvalidInputError, match="line 300003"):
        lr.scan(many, skip_rows=300_000, schema="a int64").to_arrow()
    with pytest.raises(lr.UnsupportedError, match="skip_rows"):
        lr.scan(io_file(many, b'junk,"\n' * 1_000_000), skip_rows=900_000)
    with pytest.raises(lr.InvalidInputError, match="empty"):
        lr.scan(path, skip_rows=20)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b"):
        io_file(folder / f"{name}.csv", b"title\nid\n1\n")
    assert lr.scan(folder, skip_rows=1).to_arrow().to_pydict() == {"id": [1, 1]}


def test_decimal_commas_are_those_of_other_readers(tmp_path: Path) -> None:
    text = 'a;b;c\n1,5;-0,25;1\n2;,5;7\n1000,;"3,75";8\n;;9\n'
    path = io_file(tmp_path / "a.csv", text.encode())
    expected = pl.read_csv(path, separator=";", decimal_comma=True)
    found = lr.scan(path, delimiter=";", decimal_comma=True).to_polars()
    assert found.equals(expected)
    exact = lr.scan(path, delimiter=";", decimal_comma=True, schema="a decimal(10,2)").to_arrow()["a"]
    assert [str(value) for value in exact.to_pylist()] == ["1.50", "2.00", "1000.00", "None"]
    io_file(path, b"a\n1.5\n2,5\n")
    assert lr.schema(path, delimiter=";", decimal_comma=True)["columns"][0]["type"] == "Utf8View"
    with pytest.raises(lr.InvalidInputError, match=r"line 2.*\"a\""):
        lr.scan(path, delimiter=";", decimal_comma=True, schema="a float64").to_arrow()


def test_time_formats_are_those_of_other_readers(tmp_path: Path) -> None:
    text = "d,t\n02/29/2024,29-Feb-2024 01:45:30 PM\n12/31/1999,01-Jan-2000 12:00:00 AM\n,\n"
    path = io_file(tmp_path / "a.csv", text.encode())
    formats = {"date_format": "%m/%d/%Y", "timestamp_format": "%d-%b-%Y %I:%M:%S %p"}
    found = lr.scan(path, **formats).to_arrow()
    duck = duckdb.sql(
        f"select * from read_csv('{path}', columns={{'d':'DATE','t':'TIMESTAMP'}}, "
        "dateformat='%m/%d/%Y', timestampformat='%d-%b-%Y %I:%M:%S %p')"
    ).fetchall()
    assert [tuple(row.values()) for row in found.to_pylist()] == duck
    # A date of the usual form is no date of the given one.
    io_file(path, b"d\n02/29/2024\n2024-02-29\n")
    assert lr.schema(path, date_format="%m/%d/%Y")["columns"][0]["type"] == "Utf8View"
    with pytest.raises(lr.InvalidInputError, match="line 3"):
        lr.scan(path, date_format="%m/%d/%Y", schema="d date32").to_arrow()
    assert lr.scan(path, date_format="%m/%d/%Y", schema="d date32", on_bad_row="null").to_arrow()["d"].null_count == 1
    zoned = io_file(tmp_path / "z.csv", b"t\n29.02.2024 13:45 +0200\n")
    at = lr.scan(zoned, timestamp_format="%d.%m.%Y %H:%M %z").to_arrow()["t"][0].as_py()
    assert at == datetime.datetime(2024, 2, 29, 11, 45, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    "encoding", ["latin1", "cp1252", "cp1250", "utf-16", "utf-16-be", "utf-16-le", "shift_jis", "gb18030", "koi8-r"]
)
def test_encodings_are_those_of_python(tmp_path: Path, encoding: str) -> None:
    words = {"shift_jis": "日本語", "gb18030": "汉字𝄞", "koi8-r": "ёж", "cp1250": "żółć"}.get(encoding, "naïve")
    text = "id,name\n" + "".join(f'{i},"{words},{i}"\n' for i in range(100_000))
    path = io_file(tmp_path / "a.csv.gz", gzip.compress(text.encode(encoding), 1))
    name = encoding.replace("16-", "16")
    assert lr.scan(path, encoding=name).to_arrow()["name"].to_pylist() == [f"{words},{i}" for i in range(100_000)]
    plain = io_file(tmp_path / "a.csv", text.encode(encoding))
    assert lr.scan(plain, encoding=name).checksum() == lr.scan(path, encoding=name).checksum()


@pytest.mark.parametrize(
    "name",
    [
        "latin1",
        "latin-1",
        "latin",
        "L1",
        "iso-8859-1",
        "iso8859-1",
        "iso_8859_1",
        "8859",
        "cp819",
        "iso-ir-100",
        "ascii",
        "us-ascii",
        "646",
    ],
)
def test_names_of_encodings_mean_what_they_mean_in_python(tmp_path: Path, name: str) -> None:
    """The WHATWG takes all of these for windows-1252, whose bytes from 0x80 to 0x9f are other characters."""
    data = b"a,b\n1,x\x80y\x93\xe9\n"
    path = io_file(tmp_path / "a.csv", data)
    try:
        expected = data.decode(name).splitlines(keepends=False)[1:]
        text = data.decode(name).split(",")[-1].rstrip("\n")
    except UnicodeDecodeError as error:
        with pytest.raises(lr.InvalidInputError, match=f"ASCII: byte {error.start} in line 2"):
            lr.scan(path, encoding=name).to_arrow()
        assert lr.scan(io_file(path, b"a,b\n1,x\n"), encoding=name).to_arrow()["b"].to_pylist() == ["x"]
        return
    assert expected
    assert lr.scan(path, encoding=name).to_arrow()["b"].to_pylist() == [text]


@pytest.mark.parametrize(
    "name", ["utf-8-sig", "utf_8_sig", "utf-16-le", "utf-16-be", "shift_jis", "koi8_r", "cp1252", "windows_1252"]
)
def test_names_of_python_are_known(tmp_path: Path, name: str) -> None:
    text = "a,b\n1,x\n"
    path = io_file(tmp_path / "a.csv", text.encode(name))
    assert lr.scan(path, encoding=name).to_arrow().to_pylist() == [{"a": 1, "b": "x"}]


def test_seconds_are_timestamps_where_the_schema_says_so(tmp_path: Path) -> None:
    path = io_file(tmp_path / "a.csv", b"id,t\n1,1709210701\n2,0\n3,\n")
    with pytest.raises(lr.UsageError, match="fits every column of integers"):
        lr.scan(path, timestamp_format="%s").to_arrow()
    found = lr.scan(path, timestamp_format="%s", schema="t timestamp(s, UTC)").to_arrow()
    assert found.schema.field("id").type == pa.int64()
    expected = pl.read_csv(path).with_columns(pl.from_epoch("t", "s"))
    assert [value and value.replace(tzinfo=None) for value in found["t"].to_pylist()] == expected["t"].to_list()
    assert found["id"].to_pylist() == expected["id"].to_list()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_seconds_are_dates_and_times_of_utc_in_a_column_without_a_zone(tmp_path: Path, unit: str) -> None:
    path = io_file(tmp_path / "a.csv", b"id,t\n1,1709210701\n2,0\n3,\n")
    found = lr.scan(path, timestamp_format="%s", schema=f"t timestamp({unit})").to_arrow()
    assert found.schema.field("t").type == pa.timestamp(unit)
    expected = pl.read_csv(path).with_columns(pl.from_epoch("t", "s"))
    assert found["t"].cast(pa.timestamp("us")).to_pylist() == expected["t"].to_list()


@pytest.mark.parametrize(
    ("value", "format", "advised"),
    [("2024-02-01T10:15:30Z", None, True), ("01.02.24 9:00 +0100", "%d.%m.%y %H:%M %z", True), ("soon", None, False)],
)
def test_advice_on_a_timestamp_names_a_zone_only_if_the_value_has_one(
    tmp_path: Path, value: str, format: str | None, advised: bool
) -> None:
    path = io_file(tmp_path / "a.csv", f"t\n{value}\n".encode())
    with pytest.raises(lr.InvalidInputError, match="is not a value of type") as raised:
        lr.scan(path, timestamp_format=format, schema="t timestamp(ms)").to_arrow()
    assert ("t timestamp(ms, UTC)" if advised else "t utf8") in str(raised.value)


def test_a_quote_in_a_number_is_no_quote_around_it(tmp_path: Path) -> None:
    path = io_file(tmp_path / "a.csv", b'a;b\n"""5""";1\n"5,5";2\n')
    with pytest.raises(lr.InvalidInputError, match="line 2"):
        lr.scan(path, delimiter=";", decimal_comma=True, schema="a float64, b int64").to_arrow()
    found = lr.scan(path, delimiter=";", decimal_comma=True, schema="a float64, b int64", on_bad_row="null").to_arrow()
    assert found["a"].to_pylist() == [None, 5.5]
    # polars takes the quotes for a part of the text, too.
    assert pl.read_csv(path, separator=";")["a"].to_list() == ['"5"', "5,5"]


def test_text_of_another_encoding_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = io_file(tmp_path / "a.csv", "id,name\n1,Käse\n".encode("latin1"))
    with pytest.raises(lr.InvalidInputError, match="encoding"):
        lr.scan(path).to_arrow()
    io_file(path, "id,name\n1,日本\n".encode("utf-16-le")[:-3])
    with pytest.raises(lr.InvalidInputError, match="in line 2"):
        lr.scan(path, encoding="utf-16").to_arrow()
    with pytest.raises(lr.UsageError, match="klingon"):
        lr.scan(path, encoding="klingon")
    done = run("scan", io_file(path, "id\n1\n".encode("utf-16")))
    assert done.code == 4
    assert "--encoding utf-16" in done.err


@pytest.mark.parametrize("format", ["%Y-%m-%d %H:%M", "%d.%m.%y %z", "%Y-%m-%d %p", "%s"])
def test_a_date_has_no_time_of_day(tmp_path: Path, format: str) -> None:
    (tmp_path / "a.csv").write_text("d\n2024-02-01 10:15\n")
    with pytest.raises(lr.UsageError, match="a time of day or a zone, which a date can't hold"):
        lr.scan(tmp_path / "a.csv", date_format=format)


def test_names_of_zones_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t\n2024-02-01 10:15:30 CET\n")
    with pytest.raises(lr.UsageError, match="has the name of a time zone, which does not give an offset"):
        lr.scan(tmp_path / "a.csv", timestamp_format="%Y-%m-%d %H:%M:%S %Z")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_bad_rows_of_packed_files_without_a_checksum_hint_at_damage(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}.zst"
    line = '{{"id": {0}, "name": "name {1}"}}\n' if ending == "jsonl" else "{0},name {1}\n"
    text = ("" if ending == "jsonl" else "id,name\n") + "".join(line.format(i, i * i % 977) for i in range(3000))
    # pyarrow packs without a checksum.
    packed, told = zstd(text.encode()), 0
    for at in range(0, len(packed), 61):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 1 << at % 8]) + packed[at + 1 :])
        try:
            lr.scan(path).to_arrow()
        except lr.CorruptDataError:
            pass
        except lr.InvalidInputError as error:
            assert "the file is compressed without a checksum, so it may also be damaged" in str(error)
            told += 1
    assert told > 20
    # Where there is a checksum, or no compression, the rows are those of the file.
    broken = text.encode() + b"1,2,3\n"
    for name, content in ((f"b.{ending}", broken), (f"b.{ending}.gz", gzip.compress(broken))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(lr.InvalidInputError) as refused:
            lr.scan(tmp_path / name).to_arrow()
        assert "checksum" not in str(refused.value)
