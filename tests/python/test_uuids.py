"""Columns of UUIDs and JSON: files of duckdb and pyarrow, what copies keep of them, filters, texts, and other libraries."""

from __future__ import annotations

import json
import sqlite3
import warnings
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 5000
FIRST, SEVENTH, EIGHTH = (UUID(int=at) for at in (0, 7, 8))
#: The UUID of a row is its number; that of the row 13 is null.
COLUMNS = """
    CASE WHEN i <> 13 THEN ('00000000-0000-0000-0000-' || lpad(to_hex(i), 12, '0'))::UUID END AS u,
    ('{"a": ' || i || '}')::JSON AS j,
    [uuid()] AS l,
    {'x': uuid(), 'j': '[]'::JSON} AS s,
    MAP {uuid(): uuid()} AS m,
    '12:00:00+02'::TIMETZ AS tz,
    TIME '12:00:00' AS t,
    i
"""
TYPES = ["UUID", "JSON", "UUID[]", "STRUCT(x UUID, j JSON)", "MAP(UUID, UUID)", "TIME WITH TIME ZONE", "TIME", "BIGINT"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of duckdb."""
    path = tmp_path_factory.mktemp("uuids") / "source.parquet"
    duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({ROWS}) r(i)) TO '{path}' (FORMAT parquet)")
    return path


@pytest.fixture(scope="module")
def copied(source: Path) -> Path:
    """A copy of it, of several row groups, with a bloom filter."""
    path = source.with_name("copied.parquet")
    lr.copy(source, path, row_group_rows=1000, bloom_filter=["u"])
    return path


def types(path: Path) -> list[str]:
    """The types of a file's columns, by duckdb."""
    return [str(kind) for kind in duckdb.sql(f"FROM '{path}'").types]


def logical_types(path: Path) -> list[str]:
    """The logical types of the leaf columns of a file, by pyarrow."""
    schema = pq.ParquetFile(path).schema
    return [str(schema.column(at).logical_type) for at in range(len(schema))]


def test_a_copy_keeps_uuids_and_json(source: Path, copied: Path) -> None:
    assert types(copied) == types(source) == TYPES
    # duckdb says of integers that they are signed ones of 64 bits, as they are without it.
    assert logical_types(copied)[:-1] == logical_types(source)[:-1]
    rows = [
        duckdb.sql(f"SELECT * EXCLUDE j, j::VARCHAR FROM '{path}' ORDER BY i").fetchall() for path in (source, copied)
    ]
    assert rows[0] == rows[1]
    assert lr.scan(copied).checksum() == lr.scan(source).checksum()
    again = copied.with_name("again.parquet")
    lr.copy(copied, again, columns=["j", "u"], where="i < 5", verify=True)
    assert types(again) == ["JSON", "UUID"]


def test_a_copy_of_a_stream_keeps_uuids(source: Path, tmp_path: Path) -> None:
    lr.copy(lr.scan(source).to_arrow(), tmp_path / "a.parquet")
    assert types(tmp_path / "a.parquet")[:3] == ["UUID", "VARCHAR", "UUID[]"]
    table = pa.table({"u": pa.array([SEVENTH], pa.uuid()), "j": pa.array(['{"a":1}'], pa.json_())})
    lr.copy(table, tmp_path / "b.parquet")
    assert types(tmp_path / "b.parquet") == ["UUID", "JSON"]


@pytest.mark.parametrize("storage", [pa.string(), pa.large_string()])
def test_files_of_pyarrow(tmp_path: Path, storage: pa.DataType) -> None:
    ids = pa.array([SEVENTH, None], pa.uuid())
    texts = pa.array(['{"a":1}', None], storage).cast(pa.json_(storage))
    table = pa.table({"u": ids, "j": texts, "l": pa.ListArray.from_arrays([0, 1, 2], ids)})
    pq.write_table(table, tmp_path / "a.parquet")
    lr.copy(tmp_path / "a.parquet", tmp_path / "b.parquet", verify=True)
    assert logical_types(tmp_path / "b.parquet") == ["UUID", "JSON", "UUID"] == logical_types(tmp_path / "a.parquet")
    back = pq.read_table(tmp_path / "b.parquet")
    assert [field.type for field in back.schema] == [pa.uuid(), pa.json_(), table.schema.field("l").type]
    assert back.to_pylist() == table.to_pylist() == lr.scan(tmp_path / "a.parquet").to_arrow().to_pylist()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_files_with_and_without_logical_types_are_one_table(
    source: Path, tmp_path: Path, order: tuple[int, int]
) -> None:
    plain = pa.table(
        {"u": pa.array([FIRST.bytes], pa.binary(16)), "j": ["no JSON"], "s": [{"x": FIRST.bytes, "j": "text"}]},
        pa.schema(
            [("u", pa.binary(16)), ("j", pa.string()), ("s", pa.struct([("x", pa.binary(16)), ("j", pa.string())]))]
        ),
    )
    names = ["a.parquet", "b.parquet"]
    lr.copy(source, tmp_path / names[order[0]], columns=["u", "j", "s"], limit=10)
    pq.write_table(plain, tmp_path / names[order[1]])
    assert lr.scan(tmp_path, where=f"u = '{FIRST}' AND s.x IS NOT NULL").count() == 2
    lr.copy(tmp_path, tmp_path / "all.parquet", verify=True)
    # Not all texts are JSON, and not all bytes UUIDs.
    assert types(tmp_path / "all.parquet") == ["BLOB", "VARCHAR", "STRUCT(x BLOB, j VARCHAR)"]


def read_parts(path: Path, where: str) -> int:
    """The row groups that a filter leaves."""
    return sum(
        unit["pruned"] is None
        for file in lr.scan(path, where=where).explain().to_dict()["plan"]["files"]
        for unit in file["units"]
    )


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        (f"u = '{SEVENTH}'", 1),
        (f"u = '{str(SEVENTH).upper()}'", 1),
        (f"u = '{{{SEVENTH}}}'", 1),
        (f"u IN ('{SEVENTH}', '{UUID(int=4321)}')", 2),
        (f"u < '{SEVENTH}'", 1),
        (f"u >= '{UUID(int=4999)}'", 1),
        (f"u BETWEEN '{SEVENTH}' AND '{EIGHTH}'", 1),
        (f"u <> '{SEVENTH}'", 5),
        ("u IS NULL", 1),
        ("u IS NOT NULL", 5),
        (f"u = '{UUID(int=1 << 100)}'", 0),
    ],
)
def test_filters(source: Path, copied: Path, condition: str, parts: int) -> None:
    wanted = duckdb.sql(f"SELECT i FROM '{source}' WHERE {condition} ORDER BY i").fetchall()
    for path in (source, copied):
        assert lr.scan(path, columns=["i"], where=condition).to_arrow()["i"].to_pylist() == [i for (i,) in wanted]
        found = lr.sql(f"SELECT i FROM '{path}' WHERE {condition} ORDER BY i")
        assert list(found) == wanted
    assert read_parts(copied, condition) == parts


def test_filters_of_unordered_uuids_use_bloom_filters(tmp_path: Path) -> None:
    path, copied = tmp_path / "a.parquet", tmp_path / "b.parquet"
    duckdb.sql(f"COPY (SELECT uuid() AS u, i FROM range({ROWS}) r(i)) TO '{path}' (FORMAT parquet)")
    lr.copy(path, copied, row_group_rows=500, bloom_filter=["u"])
    ((some,),) = duckdb.sql(f"SELECT u FROM '{path}' WHERE i = 3210").fetchall()
    assert lr.scan(copied, where=f"u = '{some}'").to_arrow()["i"].to_pylist() == [3210]
    assert read_parts(copied, f"u = '{some}'") < 5
    assert duckdb.sql(f"SELECT i FROM '{copied}' WHERE u = '{some}'").fetchall() == [(3210,)]


def test_filters_with_parameters_and_within_structs(source: Path) -> None:
    for value in (SEVENTH, str(SEVENTH), SEVENTH.bytes):
        assert lr.scan(source, where="u = ?", params=[value]).to_arrow()["i"].to_pylist() == [7]
    ((inner,),) = duckdb.sql(f"SELECT s.x FROM '{source}' WHERE i = 99").fetchall()
    assert lr.scan(source, where=f"s.x = '{inner}'").to_arrow()["i"].to_pylist() == [99]
    assert list(lr.sql(f"SELECT i FROM '{source}' WHERE s.x = ? OR u = ?", params=[inner, SEVENTH])) == [(7,), (99,)]


def test_texts_that_are_no_uuids(source: Path) -> None:
    with pytest.raises(lr.InvalidInputError, match="'abc' is not a UUID"):
        lr.scan(source, where="u = 'abc'")
    with pytest.raises(lr.InvalidInputError, match="Could not convert string 'abc' to UUID"):
        lr.sql(f"SELECT * FROM '{source}' WHERE u = 'abc'").to_arrow()
    done = run("scan", source, "--where", "u IN ('abc')")
    assert (done.code, "is not a UUID" in done.err) == (4, True)


def test_sql_knows_uuids(source: Path) -> None:
    kinds = lr.sql(f"SELECT typeof(u), typeof(l), typeof(s), typeof(m), typeof(j) FROM '{source}' LIMIT 1")
    assert list(kinds) == [("UUID", "UUID[]", "STRUCT(x UUID, j VARCHAR)", "MAP(UUID, UUID)", "VARCHAR")]
    assert list(lr.sql(f"SELECT u, j->>'a' FROM '{source}' WHERE i = 7")) == [(str(SEVENTH), "7")]
    joined = lr.sql(
        f"SELECT a.i FROM '{source}' a JOIN t ON a.u = t.u", t=pa.table({"u": pa.array([SEVENTH], pa.uuid())})
    )
    assert list(joined) == [(7,)]
    done = ok("sql", f"SELECT u FROM '{source}' WHERE u = '{SEVENTH}'", "--format", "csv")
    assert done.out == f"u\n{SEVENTH}\n"


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "csv.gz"])
def test_text_files_have_texts(source: Path, tmp_path: Path, ending: str) -> None:
    target, is_json = tmp_path / f"a.{ending}", "json" in ending
    columns = ["i", "u", "j", *(["l", "s", "m"] if is_json else [])]
    lr.copy(source, target, columns=columns, limit=20, verify=True)
    texts = [(i, None if u is None else str(u), j) for i, u, j in lr.scan(source, columns=["i", "u", "j"], limit=20)]
    reader = "read_json" if is_json else "read_csv"
    types = "columns={i: 'BIGINT', u: 'VARCHAR', j: 'VARCHAR'}" + ("" if is_json else ", header=true")
    assert duckdb.sql(f"SELECT i, u, j FROM {reader}('{target}', {types})").fetchall() == texts
    if is_json:
        item, within, pairs = next(iter(lr.scan(source, columns=["l", "s", "m"])))
        row = lr.scan(target).to_arrow().to_pylist()[0]
        assert [row["l"], row["s"]["x"]] == [[str(item[0])], str(within["x"])]
        # To its reader, the keys of all rows are fields.
        assert {key: value for key, value in row["m"].items() if value} == {
            str(key): str(value) for key, value in pairs
        }


def test_a_folder_of_text_files_is_verified(source: Path, tmp_path: Path) -> None:
    lr.copy(source, f"{tmp_path}/folder/", output_format="csv", columns=["i", "u"], verify=True)
    assert lr.scan(f"{tmp_path}/folder", where=f"u = '{SEVENTH}'").count() == 1


def test_json_is_read_as_uuids_of_16_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"u": "{SEVENTH}"}}\n{{"u": "{SEVENTH.hex}"}}\n{{"u": null}}\n')
    read = lr.scan(path, schema="u fixed_size_binary(16)").to_arrow()
    assert read["u"].to_pylist() == [SEVENTH.bytes, SEVENTH.bytes, None]
    path.write_text(f'{{"u": "{str(SEVENTH)[1:]}"}}\n')
    with pytest.raises(lr.InvalidInputError):
        lr.scan(path, schema="u fixed_size_binary(16)").to_arrow()


@pytest.mark.parametrize("form", ["table", "csv", "jsonl"])
def test_the_command_prints_texts(source: Path, form: str) -> None:
    columns = "u" if form == "csv" else "u,l,s"
    done = ok("scan", source, "--columns", columns, "--where", "i = 7", "--format", form)
    assert str(SEVENTH) in done.out
    if form != "csv":
        inner, within = duckdb.sql(f"SELECT l[1], s.x FROM '{source}' WHERE i = 7").fetchall()[0]
        assert str(inner) in done.out
        assert str(within) in done.out


def test_other_libraries(source: Path) -> None:
    columns = ["u", "j", "l", "s", "i"]
    scan = lr.scan(source, columns=columns, where="i = 7")
    ((inner, within),) = duckdb.sql(f"SELECT l[1], s.x FROM '{source}' WHERE i = 7").fetchall()
    row = (SEVENTH, '{"a": 7}', [inner], {"x": within, "j": "[]"}, 7)
    assert list(scan) == [row]
    assert scan.to_arrow().to_pylist() == [dict(zip(columns, row, strict=True))]
    assert scan.to_arrow().schema.field("u").type == pa.uuid()
    assert scan.to_arrow().schema.field("j").type in (pa.string(), pa.string_view())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame in (scan.to_polars(), pl.DataFrame(scan), scan.lazy().collect()):
            assert frame.schema["u"] == pl.Binary
            assert frame.schema["j"] == pl.String
            assert frame["u"].to_list() == [SEVENTH.bytes]
            assert frame["j"].str.json_path_match("$.a").to_list() == ["7"]
        assert str(UUID(str(scan.to_arrow().select(["u"]).to_pandas()["u"][0]))) == str(SEVENTH)
        found = lr.scan(source).lazy().filter((pl.col("i") == 7) & (pl.col("u") == SEVENTH.bytes)).select("i").collect()
        assert found["i"].to_list() == [7]
    data = lr.scan(source, columns=columns).to_dataset()  # noqa: F841
    for name in ("scan", "data"):
        query = f"SELECT typeof(u), typeof(l), i FROM {name} WHERE u = '{SEVENTH}' AND i < 100"
        assert duckdb.sql(query).fetchall() == [("UUID", "UUID[]", 7)]


def test_delta_files_are_plain(source: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    with pytest.warns(lr.LakeraceWarning, match="become columns? of variable-length bytes"):
        lr.copy(source, f"delta:{table}", columns=["i", "u", "j", "s"])
    lr.copy(lr.scan(source, columns=["i", "u", "j", "s"], limit=5).to_arrow(), f"delta:{table}", mode="append")
    lr.Table(table, key=["i"]).upsert(lr.scan(source, columns=["i", "u", "j", "s"], limit=3))
    for file in table.glob("*.parquet"):
        assert types(file) == ["BIGINT", "BLOB", "VARCHAR", "STRUCT(x BLOB, j VARCHAR)"]
    assert "arrow" not in (table / "_delta_log" / f"{0:020}.json").read_text()
    assert lr.scan(table, where="u = ?", params=[SEVENTH.bytes]).count() == 1


@pytest.mark.parametrize("target", ["delta:{}/table", "{}/a.orc"])
def test_filters_of_bytes_name_the_bytes_of_a_uuid(source: Path, tmp_path: Path, target: str) -> None:
    place = target.format(tmp_path)
    with pytest.warns(lr.LakeraceWarning, match="variable-length bytes"):
        lr.copy(source, place, columns=["i", "u"])
    digits = SEVENTH.hex.upper()
    for where, params in [(f"u = '{SEVENTH}'", None), (f"i < 9 AND u IN ('{SEVENTH}')", None), ("u = ?", [SEVENTH])]:
        with pytest.raises(
            lr.InvalidInputError, match=f"write X'{digits}' for the 16 bytes of a UUID, or the bytes of the text"
        ):
            lr.scan(place, where=where, params=params)
    assert lr.scan(place, where=f"u = X'{digits}'").to_arrow()["i"].to_pylist() == [7]
    # Digits without hyphens may be a text of any kind, and a text of bytes can be computed.
    assert lr.scan(place, where=f"u = '{SEVENTH.hex}'").count() == 0
    if target.startswith("delta"):
        refused = run("delete", tmp_path / "table", "--where", f"u = '{SEVENTH}'")
        assert (refused.code, f"X'{digits}'" in refused.err) == (4, True)


def test_uuids_are_no_texts_without_a_cast(source: Path) -> None:
    for where in ("u LIKE '123e%'", "lower(u) = 'a'"):
        with pytest.raises(lr.InvalidInputError, match="text"):
            lr.scan(source, where=where)


@pytest.mark.parametrize(
    "condition",
    [
        f"CAST(u AS varchar) = '{SEVENTH}'",
        "u::text LIKE '%-00000000000_'",
        "upper(CAST(u AS text)) LIKE '%00A'",
        "concat(CAST(u AS text), '!') LIKE '%7!'",
        "length(CAST(u AS text)) = 36 AND i < 20",
        f"u = CAST('{SEVENTH}' AS uuid)",
        f"u = CAST('{str(SEVENTH).upper()}' AS uuid)",
        f"coalesce(u, CAST('{SEVENTH}' AS uuid)) = CAST('{SEVENTH}' AS uuid)",
        f"CASE WHEN i < 10 THEN u ELSE s.x END = CAST('{SEVENTH}' AS uuid)",
        f"coalesce(u, s.x) = '{SEVENTH}'",
        f"CASE WHEN i < 10 THEN u ELSE s.x END IN ('{SEVENTH}', '{EIGHTH}')",
        "TRY_CAST('abc' AS uuid) IS NULL AND i = 3",
        "CAST(CAST(u AS text) AS uuid) = u AND i < 5",
        "CAST(coalesce(u, s.x) AS text) = CAST(u AS text) AND i < 5",
    ],
)
def test_casts(source: Path, copied: Path, condition: str) -> None:
    wanted = duckdb.sql(f"SELECT i FROM '{source}' WHERE {condition} ORDER BY i").fetchall()
    for path in (source, copied):
        assert lr.scan(path, columns=["i"], where=condition).to_arrow()["i"].to_pylist() == [i for (i,) in wanted]


def test_a_cast_constant_prunes_row_groups(copied: Path) -> None:
    assert read_parts(copied, f"u = CAST('{SEVENTH}' AS uuid)") == 1


def test_values_that_are_no_uuids_can_not_be_cast(source: Path) -> None:
    for where in ("CAST(j AS uuid) IS NULL", "CAST('abc' AS uuid) = u", "CAST(X'00' AS uuid) = u"):
        with pytest.raises(lr.InvalidInputError, match="a value can't be cast to uuid"):
            lr.scan(source, where=where).count()
    with pytest.raises(lr.InvalidInputError, match="can't be cast to uuid"):
        lr.scan(source, where="CAST(i AS uuid) = u")
    assert lr.scan(source, where="TRY_CAST(j AS uuid) IS NULL").count() == ROWS


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("coalesce(u, s.x)", "UUID"),
        ("coalesce(NULL, u)", "UUID"),
        ("CASE WHEN i > 3 THEN u ELSE s.x END", "UUID"),
        ("CASE WHEN i > 3 THEN u END", "UUID"),
        ("CAST(CAST(u AS text) AS uuid)", "UUID"),
        (f"CAST('{SEVENTH}' AS uuid)", "UUID"),
        ("CAST(u AS text)", "VARCHAR"),
    ],
)
def test_computed_columns_keep_the_type(source: Path, tmp_path: Path, column: str, kind: str) -> None:
    path = tmp_path / "a.parquet"
    lr.copy(source, path, columns=["i", f"{column} as v"])
    assert types(path) == ["BIGINT", kind]
    expected = duckdb.sql(f"SELECT i, {column} FROM '{source}' ORDER BY i").fetchall()
    assert duckdb.sql(f"FROM '{path}' ORDER BY i").fetchall() == expected


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "json"])
def test_text_is_read_as_uuids(source: Path, tmp_path: Path, ending: str) -> None:
    path, back = tmp_path / f"a.{ending}", tmp_path / "back.parquet"
    lr.copy(source, path, columns=["i", "u"], limit=50)
    lr.copy(path, back, schema="i int64, u uuid")
    assert types(back) == ["BIGINT", "UUID"]
    assert duckdb.sql(f"FROM '{back}'").fetchall() == duckdb.sql(f"SELECT i, u FROM '{source}' LIMIT 50").fetchall()
    assert lr.scan(path, schema="i int64, u uuid", where=f"u = '{SEVENTH}'").to_arrow()["i"].to_pylist() == [7]
    with pytest.raises(lr.InvalidInputError, match=r"a\."):
        lr.scan(path, schema="i uuid, u text").to_arrow()


def test_lists_of_uuids_are_read_from_json(source: Path, tmp_path: Path) -> None:
    path, back = tmp_path / "a.jsonl", tmp_path / "back.parquet"
    lr.copy(source, path, columns=["l"], limit=5)
    lr.copy(path, back, schema="l list(uuid)")
    assert types(back) == ["UUID[]"]
    assert duckdb.sql(f"FROM '{back}'").fetchall() == duckdb.sql(f"SELECT l FROM '{source}' LIMIT 5").fetchall()


@pytest.mark.parametrize("form", ["stream", "file"])
def test_dictionaries_of_uuids(tmp_path: Path, form: str) -> None:
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array([SEVENTH, EIGHTH], pa.uuid()))
    table = pa.table({"d": ids, "i": range(4)})
    target = tmp_path / "a.parquet"
    if form == "file":
        with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
            writer.write_table(table)
    lr.copy(table if form == "stream" else tmp_path / "a.arrow", target)
    assert types(target) == ["UUID", "BIGINT"]
    expected = [SEVENTH, EIGHTH, None, SEVENTH]
    assert [u for u, _ in duckdb.sql(f"FROM '{target}'").fetchall()] == expected
    assert pq.read_table(target)["d"].to_pylist() == expected
    lr.copy(table if form == "stream" else tmp_path / "a.arrow", tmp_path / "a.csv")
    texts = [line.split(",")[0] for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    assert texts == [str(SEVENTH), str(EIGHTH), "", str(SEVENTH)]


def test_list_views_of_uuids_become_texts(tmp_path: Path) -> None:
    ids = pa.array([SEVENTH, EIGHTH], pa.uuid())
    for kind in (pa.ListViewArray, pa.LargeListViewArray):
        # Rows that share elements, in any order.
        views = kind.from_arrays([1, 0, 0], [1, 2, 0], ids)
        lr.copy(pa.table({"l": views}), tmp_path / "a.jsonl", mode="overwrite")
        rows = [json.loads(line)["l"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
        assert rows == [[str(EIGHTH)], [str(SEVENTH), str(EIGHTH)], []]


def test_differences_have_uuids(source: Path, tmp_path: Path) -> None:
    other, out, texts = tmp_path / "other.parquet", tmp_path / "out.csv", tmp_path / "texts.csv"
    duckdb.sql(f"COPY (SELECT i, CASE WHEN i = 7 THEN '{EIGHTH}'::UUID ELSE u END AS u FROM '{source}') TO '{other}'")
    assert run("diff", source, other, "--key", "i", "--columns", "i,u", "-o", out).code == 1
    # The row before, and the one after it.
    assert [line.split(",")[2] for line in out.read_text().splitlines()[1:]] == [str(SEVENTH), str(EIGHTH)]
    # A UUID equals its text, also as a key and within other columns.
    lr.copy(source, texts, columns=["i", "u"])
    for one, two in [(source, texts), (texts, source)]:
        for key, where in [("i", "true"), (["i", "u"], "u IS NOT NULL"), ("u", "i IN (7, 8)")]:
            found = lr.diff(one, two, key=key, columns=["i", "u"], where=where)
            assert (found.is_different, found.unchanged) == (False, lr.scan(source, where=where).count())
    assert lr.diff(other, texts, key="i").changed_columns == {"u": 1}


@pytest.mark.parametrize("shape", ["list", "struct", "map"])
def test_differences_have_uuids_within_columns(tmp_path: Path, shape: str) -> None:
    of = {"list": "[{}, NULL]", "struct": "{{'a': {}, 'b': i}}", "map": "MAP {{i: {}}}"}[shape]
    ids = "'00000000-0000-4000-8000-' || lpad(i::VARCHAR, 12, '0')"
    for name, value in (("a", f"({ids})::UUID"), ("b", ids), ("c", f"CASE i WHEN 3 THEN 'x' ELSE {ids} END")):
        duckdb.sql(f"COPY (SELECT i, {of.format(value)} AS v FROM range(20) t(i)) TO '{tmp_path}/{name}.parquet'")
    found = lr.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", key="i")
    assert (found.is_different, found.unchanged) == (False, 20)
    found = lr.diff(tmp_path / "c.parquet", tmp_path / "a.parquet", key="i")
    assert (found.changed_columns, found.unchanged) == ({"v": 1}, 19)
    # Before it, and after it.
    shown = [str(row["v"]) for row in pa.table(found.rows).to_pylist()]
    assert ["'x'" in shown[0], "'00000000-0000-4000-8000-000000000003'" in shown[1]] == [True, True]


def test_the_schema_has_no_metadata(source: Path) -> None:
    kinds = {column["name"]: column["type"] for column in lr.schema(source)["columns"]}
    assert kinds["l"] == "List(FixedSizeBinary(16), field: 'element')"
    assert not any("metadata" in kind for kind in kinds.values())


def test_sqlite_has_bytes(source: Path, tmp_path: Path) -> None:
    lr.copy(source, f"sqlite://{tmp_path}/a.db#t", columns=["i", "u", "j"], limit=20, verify=True)
    rows: list[Any] = sqlite3.connect(tmp_path / "a.db").execute("SELECT u, j FROM t WHERE i = 7").fetchall()
    assert rows == [(SEVENTH.bytes, '{"a": 7}')]
    lr.copy(f"sqlite://{tmp_path}/a.db#t", tmp_path / "back.parquet")
    assert types(tmp_path / "back.parquet") == ["BIGINT", "UUID", "JSON"]


def test_dictionaries_of_uuids_are_uuids_in_sql_and_python(tmp_path: Path) -> None:
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array([SEVENTH, EIGHTH], pa.uuid()))
    table = pa.table({"d": ids, "s": pa.StructArray.from_arrays([ids], ["d"]), "i": range(4)})
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    expected = [SEVENTH, EIGHTH, None, SEVENTH]
    found = lr.sql(f"SELECT typeof(d), typeof(s), d, s.d AS e FROM '{path}' ORDER BY i").to_arrow().to_pylist()
    assert {(row["typeof(d)"], row["typeof(s)"]) for row in found} == {("UUID", "STRUCT(d UUID)")}
    texts = [None if value is None else str(value) for value in expected]
    assert [row["d"] for row in found] == [row["e"] for row in found] == texts
    assert lr.sql(f"SELECT i FROM '{path}' WHERE d = '{EIGHTH}'").to_arrow()["i"].to_pylist() == [1]
    scanned = lr.scan(path).to_arrow()
    assert scanned.schema.field("d").type == pa.uuid()
    assert scanned["d"].to_pylist() == expected
    assert [row["d"] for row in lr.scan(path).rows(named=True)] == expected
    assert duckdb.sql("SELECT d FROM scanned").fetchall() == [(value,) for value in expected]


def test_messages_name_the_type_as_the_user_does(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\nx\n")
    (tmp_path / "a.jsonl").write_text('{"id":"x"}\n')
    for path in (tmp_path / "a.csv", tmp_path / "a.jsonl"):
        with pytest.raises(lr.InvalidInputError, match='"x" is not a value of type uuid'):
            lr.scan(path, schema="id uuid").to_arrow()
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": pa.array([SEVENTH], pa.uuid())}), source)
    for condition in ("id = 5", "id LIKE 'x'", "id", "id IN (5)", "length(id) > 5"):
        with pytest.raises(lr.InvalidInputError, match="uuid") as caught:
            lr.scan(source, where=condition).to_arrow()
        assert "fixed_size_binary" not in str(caught.value)
