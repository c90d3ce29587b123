"""JSON lines as files that are read and written: every kind of value, and errors with line and column."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import random
import subprocess
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    import s3server

ROWS = 30_000


def rows(count: int = ROWS) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "x": i / 4 if i % 3 else i,
            "s": f"n\n{i}\u2603\U0001f600",
            "o": {"a": [i, None], "b": []},
            "z": None,
        }
        for i in range(count)
    ]


def write(path: Path, lines: list[dict[str, Any]], end: str = "\n") -> Path:
    text = "".join(json.dumps(line) + end for line in lines).encode()
    if path.suffix == ".zst":
        text = pa.compress(text, codec="zstd", asbytes=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz", "a.ndjson.zst"])
def test_all_rows_come_back_in_order(tmp_path: Path, name: str, threads: int) -> None:
    expected = rows()
    path = write(tmp_path / name, expected)
    table = lr.scan(path, threads=threads).to_arrow()
    assert table.schema.field("o").type.field("b").type == pa.list_(pa.string())
    assert table.to_pylist() == expected
    assert lr.scan(path, where="id >= 29990", threads=threads).count() == 10
    some = lr.scan(path, columns=["s", "id"], where="x > 10", limit=5, threads=threads).to_arrow()
    matching = [row for row in expected if row["x"] > 10][:5]
    assert some.to_pylist() == [{"s": row["s"], "id": row["id"]} for row in matching]
    assert lr.scan(path, columns=[], threads=threads).count() == ROWS


def test_line_ends_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf\r\n{"a": 1}\r\n \t\n\n{ "a" : 2 }')
    assert lr.scan(path).to_arrow().to_pylist() == [{"a": 1}, {"a": 2}]


ZONES = ["Europe/Berlin", "Africa/Monrovia", "Asia/Tokyo", "America/New_York", "+05:30", "UTC"]


@pytest.mark.parametrize("zone", ZONES)
def test_instants_come_back_from_zones_with_seconds_in_their_offset(tmp_path: Path, zone: str) -> None:
    utc = datetime.timezone.utc
    times = [datetime.datetime(year, 6, 1, 12, tzinfo=utc) for year in (1700, 1880, 1935, 1965, 2024)]
    column = pa.array([*times, None], pa.timestamp("us", zone))
    lists = pa.ListArray.from_arrays(pa.array([0, 6], pa.int32()), column)
    source, target = tmp_path / "a.parquet", tmp_path / "a.jsonl"
    pq.write_table(pa.table({"at": column, "s": pa.StructArray.from_arrays([column], ["at"])}), source)
    ok("copy", source, target, "--verify")
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    wanted = [time.isoformat().replace("+00:00", "Z") for time in times]
    assert [line["at"] for line in lines] == [*wanted, None]
    assert [line["s"]["at"] for line in lines] == [*wanted, None]
    lr.copy(pa.table({"all": lists}), tmp_path / "b.jsonl", verify=True)
    assert json.loads((tmp_path / "b.jsonl").read_text())["all"] == [*wanted, None]
    table = ok("scan", source).out
    assert all(text in table for text in wanted), table


def test_a_byte_order_mark_that_a_frame_cuts_is_no_csv() -> None:
    text = b"\xef\xbb\xbf" + b"".join(b'{"a":%d,"s":"0.123"}\n' % n for n in range(30_000))
    zstd = pa.Codec("zstd")
    for cut in range(1, 8):
        packed = b"".join(zstd.compress(part, asbytes=True) for part in (text[:cut], text[cut:]))
        done = subprocess.run(
            command("scan", "-", "--count", "-q"),
            input=packed,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
        assert done.stdout.split() == [b"30000"], cut


def test_a_long_line_and_one_across_blocks(tmp_path: Path) -> None:
    expected = [{"id": i, "s": "x" * (5_000_000 if i == 3 else 300_000)} for i in range(8)]
    path = write(tmp_path / "a.jsonl", expected)
    assert lr.scan(path, threads=2).to_arrow().to_pylist() == expected


ERRORS = {
    '{"a": 1}\n{"a": 1,}\n': "line 2, column 9",
    '{"a": 01}\n': "line 1, column 7",
    '{"a": 1.}\n': "line 1, column 9",
    '{"a": +1}\n': "line 1, column 7",
    '{"a": NaN}\n': "line 1, column 7",
    '{"a": 1}\n\n[1]\n': "line 3, column 1",
    '{"a": 1} {"a": 2}\n': "line 1, column 10",
    '{"a": 1, "a": 2}\n': "two fields named",
    '{"o": {"a": 1, "a": 2}}\n': "line 1, column 14",
    '{"a": "\\x"}\n': "line 1, column 8",
    '{"a": "\\ud800"}\n': "line 1",
    '{"a": "\t"}\n': "control character",
    '{"\u00e4": "\u00e4" "b"}\n': "line 1, column 11",
    '{"a": 1}\n{"a": "x"}\n': '"a" has no type',
    '{"a": [1]}\n{"a": {"b": 1}}\n': "lists (",
    '{"a": {"b": [1, "x"]}}\n': '"a.b[]" has no type',
    '{"a": 9007199254740993}\n{"a": 0.5}\n': "that a float can't represent exactly",
    '{"a": 1e400}\n': "outside of all types",
    '{"a": 0.12345678901234567890}\n': "numbers with more digits than a float can hold",
    '{"a": 1\n}\n': "jq -c",
    "\n": "--schema",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_name_line_and_column(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    done = run("scan", path)
    assert (done.code, ERRORS[text] in done.err) == (4, True), done.err
    assert str(path) in done.err


@pytest.mark.parametrize(
    ("first", "late", "place"),
    [
        ('{"a": 1}', '{"a": 1.0}', "column 7"),
        ('{"a": 1}', '{"a": -0}', "column 7"),
        ('{"a": 1}', '{"a": 9223372036854775808}', "column 7"),
        ('{"a": 1.5}', '{"a": 9007199254740993}', "column 7"),
        ('{"a": 1.5}', '{"a": 1e-400}', "column 7"),
        ('{"a": 1.5}', '{"a": 12345678901234567.89}', "column 7"),
        ('{"a": [{"b": 1.5}]}', '{"a": [{"b": 0.12345678901234567890}]}', "column 14"),
        ('{"a": "x"}', '{"a": 1}', "column 7"),
        ('{"a": null}', '{"a": 1}', "column 7"),
        ('{"a": true}', '{"a": "true"}', "column 7"),
        ('{"a": [1]}', '{"a": [1, [2]]}', "column 11"),
        ('{"a": [1]}', '{"a": {}}', "column 7"),
        ('{"a": {"b": 1}}', '{"a": {"c": 1}}', "column 8"),
        ('{"a": 1}', '{"b": 1}', "column 2"),
        ('{"a": 18446744073709551615}', '{"a": -1}', "column 7"),
    ],
)
def test_what_the_first_rows_would_have_typed_otherwise(tmp_path: Path, first: str, late: str, place: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text((first + "\n") * 20_000 + late + "\n")
    for threads in (1, 3):
        with pytest.raises(lr.InvalidInputError, match="line 20001") as caught:
            lr.scan(path, threads=threads).to_arrow()
        assert place in str(caught.value)
    # The rows before it are not asked for it, and it may be left out.
    assert lr.scan(path, limit=20_000).to_arrow().num_rows == 20_000
    assert lr.scan(path, on_bad_row="skip").to_arrow().num_rows == 20_000
    if late.startswith('{"b"'):
        assert lr.scan(path, columns=["a"]).to_arrow()["a"].to_pylist()[-1] is None


#: A value of each kind of column, and how a line goes wrong within it.
KINDS: dict[str, tuple[str, Any, str]] = {
    "i": ("int64", 1, "1.5"),
    "s": ("utf8", "a", '"\\ud800"'),
    "b": ("bool", True, "1"),
    "d": ("dictionary(int32, utf8)", "x", '"\\q"'),
    "h": ("fixed_size_binary(2)", "00ff", '"00"'),
    "l": ("list(int32)", [1, 2], "[3, 4, []]"),
    "f": ("fixed_size_list(int32, 2)", [1, 2], "[1, 2, 3]"),
    "o": ("struct(x int32, y list(bool))", {"x": 1, "y": [True]}, '{"x": 2, "y": [false, 1]}'),
    "m": ("map(utf8, list(int32))", {"k": [1], "n": [2, 3]}, '{"k": [1], "n": [2, "z"]}'),
}


@pytest.mark.parametrize("threads", [1, 3])
def test_bad_lines_among_good_ones(tmp_path: Path, threads: int) -> None:
    """Whatever a bad line leaves in the columns, the good lines before and behind it are read as if it were not there."""
    good = {name: value for name, (_, value, _) in KINDS.items()}
    good_lines, all_lines = [], []
    for number in range(300):
        row = {**good, "i": number, "l": [number] * (number % 4)}
        if number % 5 == 0:
            del row[list(KINDS)[number % len(KINDS)]]
        good_lines.append(json.dumps(row))
        all_lines.append(good_lines[-1])
        wrong = list(KINDS)[number % len(KINDS)]
        values = {name: json.dumps(value) for name, value in good.items()} | {wrong: KINDS[wrong][2]}
        bad_line = "{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}"
        all_lines += [bad_line] * (number % 3) + ["", '{"i": 1', "[]"][: number % 4]
    schema = ", ".join(f"{name} {kind}" for name, (kind, _, _) in KINDS.items())
    clean, mixed = tmp_path / "clean.jsonl", tmp_path / "mixed.jsonl"
    clean.write_text("\n".join(good_lines))
    mixed.write_text("\n".join(all_lines))
    read = lr.scan(mixed, schema=schema, on_bad_row="skip", threads=threads).to_arrow()
    assert read.equals(lr.scan(clean, schema=schema).to_arrow())
    assert read["i"].null_count == sum(number % 45 == 0 for number in range(300))
    first_bad = next(at for at, line in enumerate(all_lines) if line and line not in good_lines)
    with pytest.raises(lr.InvalidInputError, match=f"line {first_bad + 1}, "):
        lr.scan(mixed, schema=schema, threads=threads).to_arrow()


def test_what_the_first_rows_hold_has_a_type(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"u": 18446744073709551615, "d": -1, "f": 1}\n{"u": 0, "d": 18446744073709551616, "f": 2.5e0}\n')
    table = lr.scan(path).to_arrow()
    assert table.schema.types == [pa.uint64(), pa.decimal128(38, 0), pa.float64()]
    assert table["d"].to_pylist() == [decimal.Decimal(-1), decimal.Decimal(2**64)]
    assert table["f"].to_pylist() == [1.0, 2.5]


def test_a_schema_is_kept_exactly(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1, "t": "2024-02-29", "p": "12.50", "j": {"x":[1, 2]}}\n{"a": 1.5, "n": [[1]]}\n')
    with pytest.raises(lr.InvalidInputError, match="line 2, column 7"):
        lr.scan(path, schema="a int64").to_arrow()
    table = lr.scan(path, schema="a utf8, t date32, p decimal(9,2), j utf8, n list(list(int32)), later bool").to_arrow()
    assert table.to_pylist() == [
        {
            "a": "1",
            "t": datetime.date(2024, 2, 29),
            "p": decimal.Decimal("12.50"),
            "j": '{"x":[1, 2]}',
            "n": None,
            "later": None,
        },
        {"a": "1.5", "t": None, "p": None, "j": None, "n": [[1]], "later": None},
    ]
    with pytest.raises(lr.InvalidInputError, match="not null"):
        lr.scan(path, schema="a utf8, t utf8 not null").to_arrow()
    # A column that the schema does not name is inferred.
    assert lr.scan(path, schema="a utf8").to_arrow()["j"].to_pylist()[0] == {"x": [1, 2]}


def every_type() -> pa.Table:
    count = 1000
    number = range(count)

    def sparse(values: list[Any]) -> list[Any]:
        return [None if n % 7 == 3 else value for n, value in enumerate(values)]

    return pa.table(
        {
            "i8": pa.array(sparse([n % 256 - 128 for n in number]), pa.int8()),
            "u64": pa.array(sparse([2**64 - 1 - n for n in number]), pa.uint64()),
            "f32": pa.array(sparse([n / 3 for n in number]), pa.float32()),
            "f64": pa.array(sparse([n * 1e300 / 7 for n in number]), pa.float64()),
            "dec": pa.array(sparse([decimal.Decimal(n - 500) / 8 for n in number]), pa.decimal128(38, 10)),
            "wide": pa.array(sparse([decimal.Decimal(10) ** 60 + n for n in number]), pa.decimal256(70, 2)),
            "text": pa.array(sparse([f'"{n}\\\x01\u00e9' for n in number]), pa.large_string()),
            "raw": pa.array(sparse([bytes([n % 256, 0]) for n in number]), pa.binary()),
            "fixed": pa.array(sparse([bytes([n % 256] * 3) for n in number]), pa.binary(3)),
            "day": pa.array(sparse([n * 30 - 5000 for n in number]), pa.date32()),
            "t32": pa.array(sparse([n * 1001 for n in number]), pa.time32("ms")),
            "t64": pa.array(sparse([n * 1_000_000_001 for n in number]), pa.time64("ns")),
            "ts": pa.array(sparse([n * 1_000_000_007 - 10**12 for n in number]), pa.timestamp("us")),
            "utc": pa.array(sparse([n * 999_999_937 for n in number]), pa.timestamp("ns", "UTC")),
            "span": pa.array(sparse([n * 1_234_567 - 600_000_000 for n in number]), pa.duration("us")),
            "word": pa.array(sparse([f"w{n % 5}" for n in number])).dictionary_encode(),
            "list": pa.array(sparse([[n, None][: n % 3] for n in number]), pa.list_(pa.int16())),
            "pair": pa.array(sparse([[n, n + 1] for n in number]), pa.list_(pa.float32(), 2)),
            "map": pa.array(sparse([[(f"k{n}", n)] for n in number]), pa.map_(pa.string(), pa.int64())),
            "deep": pa.array(sparse([{"a": [{"b": None if n % 2 else f"{n}"}], "c": None} for n in number])),
            "nothing": pa.nulls(count),
        }
    )


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_written_is_read_back(tmp_path: Path, ending: str, threads: int) -> None:
    table = every_type()
    target = tmp_path / f"out.{ending}"
    made = lr.copy(table, target, verify=True, threads=threads)
    assert made.rows == table.num_rows
    plain = lr.copy(target, tmp_path / "plain.jsonl", mode="overwrite", threads=threads)
    lines = (tmp_path / "plain.jsonl").read_text().splitlines()
    assert plain.rows == len(lines) == table.num_rows
    assert [json.loads(line)["text"] for line in lines] == table["text"].to_pylist()


def test_a_folder_with_partitions_and_its_replacement(tmp_path: Path) -> None:
    for day in (1, 2):
        folder = tmp_path / "in" / f"day={day}"
        folder.mkdir(parents=True)
        write(folder / "a.jsonl", rows(10))
    table = lr.scan(tmp_path / "in", columns=["id", "day"], where="day = 2").to_arrow()
    assert table["day"].to_pylist() == [2] * 10
    out = f"{tmp_path / 'out'}/"
    for _ in range(2):
        lr.copy(tmp_path / "in", out, output_format="jsonl", compression="gzip", mode="overwrite")
    assert [path.name.split(".", 1)[1] for path in (tmp_path / "out").iterdir()] == ["jsonl.gz"]
    assert lr.scan(out).checksum() == lr.scan(tmp_path / "in").checksum()


def test_rows_for_a_table_have_its_types(tmp_path: Path) -> None:
    table = pa.table(
        {"id": pa.array([1], pa.int64()), "day": pa.array([0], pa.date32()), "p": pa.array([1], pa.decimal128(9, 2))}
    )
    target = f"delta:{tmp_path / 'table'}"
    lr.copy(table, target)
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 2, "day": "2024-02-29", "p": 3.25}\n')
    lr.copy(path, target, mode="append")
    assert sorted(row[2] for row in lr.scan(target).rows()) == [decimal.Decimal(1), decimal.Decimal("3.25")]
    path.write_text('{"id": 3, "day": "2024-02-30", "p": 3.255}\n')
    with pytest.raises(lr.InvalidInputError, match="line 1, column 18"):
        lr.copy(path, target, mode="append")


def test_zero_rows_need_a_schema(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    made = lr.copy(pa.table({"a": pa.array([], pa.int64())}), empty, verify=True)
    assert made.rows == 0
    assert lr.scan(empty, schema="a int64, b list(utf8)").to_arrow().schema.names == ["a", "b"]
    with pytest.raises(lr.InvalidInputError, match="no row to infer the columns from"):
        lr.scan(empty)


def test_s3(s3: s3server.S3, tmp_path: Path) -> None:
    expected = rows(2000)
    path = write(tmp_path / "a.jsonl.gz", expected)
    lr.copy(path, s3.url("rows.jsonl.zst"), storage_options=s3.options)
    assert lr.scan(s3.url("rows.jsonl.zst"), storage_options=s3.options).to_arrow().to_pylist() == expected


def test_pipes(tmp_path: Path) -> None:
    given = write(tmp_path / "a.jsonl", rows(3000)).read_bytes()
    for data, options in [
        (given, []),
        (given, ["--input-format", "jsonl"]),
        (gzip.compress(given), ["--input-format", "jsonl"]),
    ]:
        target = tmp_path / "out.parquet"
        done = subprocess.run(
            command("copy", "-", target, "--mode", "overwrite", *options),
            input=data,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert pq.read_table(target)["id"].to_pylist() == list(range(3000))


def test_many_files_and_the_parts_of_a_scan(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.jsonl", rows(50))
    assert ok("scan", tmp_path, "--count").out.strip() == "150"
    parts = lr.scan(tmp_path).tasks(3)
    assert [part.to_arrow()["id"].to_pylist() for part in parts] == [list(range(50))] * 3


BYTES = b'{}[]",:\\u0019eE-+.tfn \n\r\xc3\xa9'


def test_mutated_lines_are_read_as_python_reads_them(tmp_path: Path) -> None:
    """Rows or a sensible error; where there are rows, they are those that Python's own reader gives."""
    drawn = random.Random(11)
    seeds = [json.dumps(row) for row in rows(3)] + ['{"a": -1.5e3, "b": [true, {"c": "\\u00e9"}], "d": 12}']
    path = tmp_path / "a.jsonl"
    outcomes = {True: 0, False: 0}
    for _ in range(600):
        line = bytearray(drawn.choice(seeds).encode())
        for _ in range(drawn.randint(1, 2)):
            at = drawn.randrange(len(line))
            match drawn.randrange(3):
                case 0:
                    line[at] = drawn.choice(BYTES)
                case 1:
                    line.insert(at, drawn.choice(BYTES))
                case _:
                    del line[at]
        path.write_bytes(bytes(line))
        try:
            read = lr.scan(path, threads=1).to_arrow().to_pylist()
        except (lr.InvalidInputError, lr.UnsupportedError) as error:
            assert str(path) in str(error)
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        lines = [json.loads(text) for text in bytes(line).split(b"\n") if text.strip()]
        for row, expected in zip(read, lines, strict=True):
            assert {name: value for name, value in row.items() if value is not None} == without_nulls(expected), line
    assert min(outcomes.values()) > 30, outcomes


def without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_a_map_with_a_key_twice_is_refused_before_the_file_is_there(tmp_path: Path) -> None:
    keys = [[("a", 1)], [("a", 1), ("b", 2)], [("a", 1), ("b", 2), ("a", 3)]]
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"m": pa.array(keys, pa.map_(pa.string(), pa.int64()))}), source)
    for words in [("copy", source, tmp_path / "out.jsonl"), ("scan", source, "-o", tmp_path / "out.jsonl")]:
        done = run(*words)
        assert done.code == 4, done.err
        assert 'column "m": the map of row 3 has the key "a" twice' in done.err
        assert not (tmp_path / "out.jsonl").exists()
    assert ok("copy", source, tmp_path / "out.jsonl", "--where", "m IS NULL").code == 0


def test_a_verified_file_is_one_that_can_be_read_back(tmp_path: Path) -> None:
    texts = pa.table({"c": pa.array(["x", "y", None, "x"]).dictionary_encode()})
    for name in ("cat.csv", "cat.jsonl", "cat.tbl"):
        copied = lr.copy(texts, tmp_path / name, verify=True)
        assert copied.checksum == lr.checksum(texts).checksum, name
        (tmp_path / name).unlink()
    round_number = pa.table({"c": pa.array([decimal.Decimal(1200)], pa.decimal128(10, -2))})
    no_name = pa.table({"": [1], "b": [2]})
    no_columns = pa.table({"a": [1, 2]}).select([])
    refused = [(round_number, "a.jsonl"), (round_number, "a.csv"), (no_name, "a.csv"), (no_name, "folder/")]
    for table, name in [*refused, (no_columns, "a.jsonl")]:
        with pytest.raises(lr.UnsupportedError, match="could not be read back: "):
            lr.copy(table, f"{tmp_path}/{name}", output_format="csv" if name == "folder/" else None, verify=True)
        assert not list(tmp_path.iterdir()), name
    assert lr.copy(no_name, tmp_path / "a.csv").rows == 1


def folder(place: Path, **files: str) -> Path:
    """A folder with a file in each partition: its name is the partition's, with `_` in place of `=`."""
    for name, text in files.items():
        partition = place / name.replace("_", "=")
        partition.mkdir(parents=True)
        (partition / "a.jsonl").write_text(text)
    return place


def test_types_do_not_depend_on_the_partitions_that_a_filter_keeps(tmp_path: Path) -> None:
    place = folder(tmp_path / "t", p_1='{"a":1}\n', p_2='{"a":1.5,"c":[1]}\n')
    whole = lr.scan(place).to_arrow()
    for where in ("p = 1", "p = 1 AND c IS NULL"):
        assert lr.scan(place, where=where).to_arrow().equals(whole.slice(0, 1)), where
    for name, text in {"p=1": "a\n1\n", "p=2": "a\nx\n"}.items():
        (tmp_path / "csv" / name).mkdir(parents=True)
        (tmp_path / "csv" / name / "a.csv").write_text(text)
    with pytest.raises(lr.InvalidInputError, match="not a value of type int64, which was inferred"):
        lr.scan(tmp_path / "csv", where="p = 2").to_arrow()
    # Many files have no row to learn from.
    for number in range(20):
        (tmp_path / "late" / f"p={number}").mkdir(parents=True)
        (tmp_path / "late" / f"p={number}" / "a.csv").write_text("a\n1\n" if number == 19 else "a\n")
    for where in (None, "p = 0", "p = 19"):
        assert lr.scan(tmp_path / "late", where=where).to_arrow()["a"].type == pa.int64(), where


def test_a_folder_tells_what_the_lines_lack(tmp_path: Path) -> None:
    place = folder(tmp_path / "some", k_1='{"a":1,"k":1}\n', k_2='{"a":2}\n', k_3='{"a":3,"k":null}\n')
    assert list(lr.scan(place).rows()) == [(1, 1), (2, 2), (3, None)]
    assert list(lr.scan(place, columns=["a"], where="k = 2").rows()) == [(2,)]
    assert list(lr.scan(place, columns=["a"], where="k = 3").rows()) == []
    assert lr.scan(place, where="k > 1 OR a = 0").count() == 1
    nulls = folder(tmp_path / "nulls", k_1='{"a":1,"k":null}\n')
    assert list(lr.scan(nulls, where="k = 1").rows()) == []
    assert list(lr.scan(nulls).rows()) == [(1, None)]


def test_a_folder_tells_it_to_lines_that_are_read_only(tmp_path: Path) -> None:
    """The place of a file is asked when a line lacks the column: no request is added, and no error of other lines."""
    files = {f"k_{number}": '{"a":1}\n' for number in range(1, 41)}
    place = folder(tmp_path / "t", **{"k_0": '{"a":1,"k":1}\n', **files})
    gets = []
    for columns in (["a"], ["a", "k"]):
        scan = lr.scan(place, columns=columns)
        assert len(list(scan.rows())) == 41
        gets.append(scan.report()["requests"]["get"])
    assert gets[0] == gets[1]
    wrong = folder(tmp_path / "wrong", k_0='{"a":1,"k":1}\n' * 10_001, k_x1='{"a":1}\n', k_x2='{"a":1,"k":1}\n')
    assert list(lr.scan(wrong, limit=1).rows()) == [(1, 1)]
    assert lr.scan(wrong).count() == 10_003
    assert len(list(lr.scan(wrong, where="a = 1", columns=["a"]).rows())) == 10_003
    with pytest.raises(lr.InvalidInputError, match='"x1", is not a value of type int64'):
        list(lr.scan(wrong).rows())


def test_the_first_rows_of_a_file_may_be_in_many_blocks(tmp_path: Path) -> None:
    """A file has a column if one of its first rows has it, in whatever block; the model is written by hand."""
    long = "x" * 3000
    line = '{"a":"' + long + '"}\n'
    late = '{"a":"' + long + '","k":7}\n'
    place = folder(tmp_path / "t", k_1='{"a":"","k":1}\n', k_2=line * 1000 + late, k_3=line * 1500 + late)
    counts = {}
    for (k,) in lr.scan(place, columns=["k"]).rows():
        counts[k] = counts.get(k, 0) + 1
    # 4 MiB are 1398 of these lines: the last file lacks the column there.
    assert counts == {1: 1, None: 1000, 7: 2, 3: 1500}


def test_a_column_of_several_kinds_is_an_error_where_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a":1,"b":1}\n{"a":2,"b":"x"}\n')
    assert list(lr.scan(path, columns=["a"]).rows()) == [(1,), (2,)]
    for options in ({}, {"columns": ["b"]}, {"columns": ["a"], "where": "b = 1"}):
        with pytest.raises(lr.InvalidInputError, match='"b" has no type that can hold all of its values'):
            lr.scan(path, **options)


def test_a_count_leaves_out_the_lines_that_a_read_does(tmp_path: Path) -> None:
    for path, text in {
        "a.jsonl": '{"a":1}\n' * 10_001 + '{"a":1.0}\n',
        "a.csv": "a\n" + "1\n" * 10_001 + "x\n",
    }.items():
        (tmp_path / path).write_text(text)
        scan = lr.scan(tmp_path / path, on_bad_row="skip")
        assert scan.count() == scan.to_dataset().count_rows() == len(list(scan.rows())) == 10_001


def test_no_time_at_all_and_numbers_that_are_not_finite(tmp_path: Path) -> None:
    spans = pa.table({"d": pa.array([0, -3, None], pa.duration("s"))})
    path = tmp_path / "a.jsonl"
    lr.copy(spans, path, verify=True)
    assert lr.scan(path, schema="d duration(s)").to_arrow().equals(spans)
    path.write_text('{"d":"PT0S"}\n{"d":"P0D"}\n')
    assert lr.scan(path, schema="d duration(ms)").to_arrow()["d"].to_pylist() == [datetime.timedelta(0)] * 2
    path.write_text('{"f":"NaN"}\n{"f":"-inf"}\n')
    for kind in ("float16", "float32", "float64"):
        assert [str(value) for (value,) in lr.scan(path, schema=f"f {kind}").rows()] == ["nan", "-inf"]
    path.write_text('{"f":1e60}\n')
    with pytest.raises(lr.InvalidInputError, match="1e60 is not a value of type float32"):
        lr.scan(path, schema="f float32").to_arrow()


def test_an_array_in_one_line_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('[{"a":1},{"a":2}]\n')
    for on_bad_row in ("error", "skip"):
        with pytest.raises(
            lr.InvalidInputError, match=r"line 1, column 1: a line must hold one object.*format=\"json\""
        ):
            lr.scan(path, on_bad_row=on_bad_row)


def test_values_too_deep_to_be_read_are_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    for levels in (150, 5000):
        path.write_text(f'{{"a":{"[" * levels}{"]" * levels}}}\n')
        with pytest.raises(lr.UnsupportedError, match="nested too deeply to be read"):
            lr.scan(path)
    # Types that are read may be too deep to be written.
    path.write_text(f'{{"a":{"[" * 80}{"]" * 80}}}\n')
    with pytest.raises(lr.UnsupportedError, match="nested deeper than 60 levels"):
        lr.copy(path, tmp_path / "out.parquet")


def test_a_given_column_that_the_rows_lack_is_warned_of_if_it_is_near_another(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"price": 1.5, "id": 1}\n')
    with pytest.warns(lr.LakeraceWarning, match=r'the first rows have no column "pric" \(did you mean "price"\?\)'):
        assert lr.scan(path, schema="pric decimal(5,2)").to_arrow()["pric"].to_pylist() == [None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Both are known, and an optional one is near no other.
        lr.scan(path, schema="price decimal(5,2), note utf8").to_arrow()
