"""Arrays of other libraries that are not valid: each door refuses them by name, and nothing is committed."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

LATIN_1 = b"J\xf6rg"
NESTED_TARGETS = ["o.parquet", "o.arrow", "delta:t"]
TARGETS = [*NESTED_TARGETS, "o.orc", "o.csv", "o.jsonl", "sqlite:o.db#t"]


def texts(values: list[bytes | None], text: pa.DataType) -> pa.Array:
    """An array of texts, whatever the bytes are: pyarrow does not look at them."""
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[text]
    array = pa.array(values, binary)
    return pa.Array.from_buffers(text, len(values), array.buffers(), array.null_count)


WRONG = {
    "string": texts([b"Anna", LATIN_1, b"Zo\xeb"], pa.string()),
    "large_string": texts([b"Anna", LATIN_1, b"x"], pa.large_string()),
    "string_view": texts([b"Anna", LATIN_1, b"x"], pa.string_view()),
    "long string_view": texts([b"Anna", b"a text of more than twelve bytes: " + LATIN_1, b"x"], pa.string_view()),
    # Both halves of one character: the whole is UTF-8, its texts are not.
    "halves": texts([b"a", b"\xc3", b"\xb6"], pa.string()),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), texts([b"a", LATIN_1], pa.string())),
    "list": pa.ListArray.from_arrays(pa.array([0, 1, 2, 2], pa.int32()), texts([b"a", LATIN_1], pa.string())),
    "struct": pa.StructArray.from_arrays([texts([b"a", LATIN_1, b"x"], pa.string())], ["s"]),
    "map": pa.MapArray.from_arrays(
        pa.array([0, 1, 2, 2], pa.int32()), pa.array(["k", "l"]), texts([b"a", LATIN_1], pa.string())
    ),
}


def buffer(layout: str, *values: int) -> pa.Buffer:
    return pa.py_buffer(struct.pack(f"<{len(values)}{layout}", *values))


def broken() -> dict[str, pa.Array]:
    """Arrays whose buffers contradict one another."""
    text = pa.py_buffer(b"abcdef" * 4)
    string = pa.string()
    return {
        "offsets that decrease": pa.Array.from_buffers(string, 3, [None, buffer("i", 0, 5, 3, 6), text]),
        "large offsets that decrease": pa.Array.from_buffers(
            pa.large_string(), 3, [None, buffer("q", 0, 5, 3, 6), text]
        ),
        "binary offsets that decrease": pa.Array.from_buffers(pa.binary(), 3, [None, buffer("i", 0, 5, 3, 6), text]),
        "a view beyond its buffer": pa.Array.from_buffers(
            pa.string_view(), 3, [None, pa.py_buffer(struct.pack("<i4sii", 20, b"abcd", 0, 10) * 3), text]
        ),
        "a view of a buffer that is not there": pa.Array.from_buffers(
            pa.string_view(), 3, [None, pa.py_buffer(struct.pack("<i4sii", 20, b"abcd", 7, 0) * 3), text]
        ),
        "an index beyond its dictionary": pa.DictionaryArray.from_arrays(
            pa.array([0, 9, 0], pa.int32()), pa.array(["a", "b"]), safe=False
        ),
        "a negative index": pa.DictionaryArray.from_arrays(
            pa.array([0, -1, 0], pa.int32()), pa.array(["a", "b"]), safe=False
        ),
        "a list that ends before it begins": pa.Array.from_buffers(
            pa.list_(pa.int32()), 3, [None, buffer("i", 0, 3, 1, 3)], children=[pa.array([1, 2, 3], pa.int32())]
        ),
    }


def written(tmp_path: Path, target: str) -> str:
    scheme, _, rest = target.rpartition(":")
    return f"{scheme}:{tmp_path / rest}" if scheme else str(tmp_path / rest)


@pytest.mark.parametrize("name", WRONG)
def test_text_that_is_not_utf8_is_refused_by_column_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    table = pa.table({"id": [1, 2, 3], "name": WRONG[name]})
    for target in NESTED_TARGETS if pa.types.is_nested(table["name"].type) else TARGETS:
        with pytest.raises(lr.InvalidInputError, match=r'column "name"') as error:
            lr.copy(table, written(tmp_path, target))
        assert "not valid UTF-8" in str(error.value), target
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("o.db", "t")] == []
    assert not list(tmp_path.glob("t/_delta_log/*"))


def test_the_row_is_counted_over_all_batches() -> None:
    good = pa.table({"s": pa.array(["a"] * 10)})
    bad = pa.table({"s": texts([b"b", LATIN_1], pa.string())})
    with pytest.raises(lr.InvalidInputError, match="row 12 is not valid UTF-8"):
        lr.checksum(pa.concat_tables([good, bad]))


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
def test_no_upsert_commits_text_that_is_not_utf8(tmp_path: Path, text: pa.DataType) -> None:
    table = str(tmp_path / "t")
    lr.copy(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), f"delta:{table}")
    rows = pa.table({"id": [2, 7], "name": texts([LATIN_1, b"x"], text)})
    for key in ("id", "name"):
        for options in ({}, {"merge": {"name": "last"}} if key == "id" else {}, {"insert_only": True}):
            with pytest.raises(lr.InvalidInputError, match="row 1 is not valid UTF-8"):
                lr.Table(table, key=key).upsert(rows, **options)
        with pytest.raises(lr.InvalidInputError, match="row 1 is not valid UTF-8"):
            lr.Table(table, key=key).delete_keys(rows)
    assert sorted(lr.scan(table).rows()) == [(1, "a"), (2, "b"), (3, "c")]
    assert len(list((tmp_path / "t/_delta_log").glob("*.json"))) == 1


def test_arrays_whose_buffers_contradict_one_another_are_refused(tmp_path: Path) -> None:
    for name, array in broken().items():
        table = pa.table({"id": [1, 2, 3], "x": array})
        for target in ("o.parquet", "delta:t"):
            with pytest.raises(lr.InvalidInputError):
                lr.copy(table, written(tmp_path, target))
            assert not (tmp_path / "o.parquet").exists(), name
        with pytest.raises(lr.InvalidInputError):
            lr.checksum(table)


def test_bytes_of_nulls_may_be_anything(tmp_path: Path) -> None:
    validity = buffer("B", 0b101)
    offsets = buffer("i", 0, 1, 3, 4)
    array = pa.Array.from_buffers(pa.string(), 3, [validity, offsets, pa.py_buffer(b"a\xff\xfeb")])
    views = struct.pack("<i12s", 1, b"a") + b"\xff" * 16 + struct.pack("<i12s", 1, b"b")
    view = pa.Array.from_buffers(pa.string_view(), 3, [validity, pa.py_buffer(views)])
    path = tmp_path / "o.parquet"
    lr.copy(pa.table({"x": array, "y": view}), str(path))
    assert pq.read_table(path).to_pydict() == {"x": ["a", None, "b"], "y": ["a", None, "b"]}


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
def test_valid_arrays_of_every_language_pass(tmp_path: Path, text: pa.DataType) -> None:
    values = ["", "a", "ö", "日本語", "🦀 longer than twelve bytes", None] * 50
    table = pa.table({"s": pa.array(values, text)})
    for piece in (table, table.slice(3, 200), table.slice(299)):
        path = tmp_path / "o.parquet"
        lr.copy(piece, str(path), mode="overwrite")
        assert pq.read_table(path)["s"].to_pylist() == piece["s"].to_pylist()


def test_a_schema_too_deep_is_refused_before_it_is_followed(tmp_path: Path) -> None:
    for levels in (61, 300):
        data_type = pa.int32()
        for _ in range(levels):
            data_type = pa.list_(data_type)
        table = pa.table({"deep": pa.nulls(1, data_type)})
        for target in NESTED_TARGETS:
            with pytest.raises(lr.UnsupportedError, match="nested deeper than 60 levels"):
                lr.copy(table, written(tmp_path, target))


def test_rows_that_are_null_as_a_whole_are_refused() -> None:
    rows = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=pa.array([False, True]))
    with pytest.raises(lr.InvalidInputError, match="row 2 is null as a whole"):
        lr.checksum(pa.chunked_array([rows]))


def test_a_stream_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    def batches():
        yield pa.record_batch({"a": [1]})
        raise ValueError("the sensor is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(lr.InvalidInputError, match="the sensor is gone"):
        lr.copy(reader, str(tmp_path / "o.parquet"))
    assert not (tmp_path / "o.parquet").exists()


class OtherFormat:
    """A stream of pyarrow with another format of its first column."""

    def __init__(self, table: pa.Table, form: bytes) -> None:
        self._table = table
        self._form = ctypes.create_string_buffer(form)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        capsule = self._table.__arrow_c_stream__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # The first member of a stream fills a schema.
        get_schema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
        stream = ctypes.cast(pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(get_schema))
        self._kept = (original := get_schema(ctypes.cast(stream, ctypes.POINTER(ctypes.c_void_p))[0]), capsule)

        def with_other_format(stream_at: int, schema: object) -> int:
            code = original(stream_at, schema)
            # Members of a schema: format, name, metadata, flags, number of children, children.
            child = ctypes.cast(schema[5], ctypes.POINTER(ctypes.c_void_p))[0]  # type: ignore[index]
            ctypes.cast(child, ctypes.POINTER(ctypes.c_void_p))[0] = ctypes.addressof(self._form)
            return int(code)

        self._callback = get_schema(with_other_format)
        ctypes.cast(stream, ctypes.POINTER(ctypes.c_void_p))[0] = ctypes.cast(self._callback, ctypes.c_void_p).value
        return capsule


@pytest.mark.parametrize("form", [b"d:139,2", b"d:0,0", b"d:5,100", b"d:77,2,256", b"d:10,2,32", b"w:-5"])
def test_types_that_no_array_has_are_refused(tmp_path: Path, form: bytes) -> None:
    table = pa.table({"x": pa.array([1], pa.int64()), "y": ["a"]})
    assert lr.checksum(OtherFormat(table, b"l")) == lr.checksum(table)
    for target in TARGETS:
        with pytest.raises(lr.InvalidInputError, match=r'column "x" has the type .* but'):
            lr.copy(OtherFormat(table, form), written(tmp_path, target))
        assert not (tmp_path / "o.parquet").exists()


@pytest.mark.parametrize("target", ["o.parquet", "o.arrow", "o.jsonl"])
def test_columns_of_nulls_of_polars(tmp_path: Path, target: str) -> None:
    """polars states a buffer for arrays of nulls, which have none by Arrow's rules."""
    frame = polars.DataFrame({"a": [1, 2], "n": [None, None], "l": [[None], None], "s": [{"x": None}, {"x": None}]})
    assert lr.checksum(frame) == lr.checksum(frame.to_arrow())

    columns = ["a", "n"]
    lr.copy(frame.select(columns), tmp_path / target)
    assert lr.scan(tmp_path / target).to_arrow().to_pylist() == frame.select(columns).to_dicts()
