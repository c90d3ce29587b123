"""Differences between two locations, held against a full join of polars."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from polars.testing import assert_frame_equal

import lakerace as lr


def table(count: int, seed: int = 1) -> pl.DataFrame:
    random.seed(seed)
    return pl.DataFrame(
        {
            "id": list(range(count)),
            "part": [number % 3 for number in range(count)],
            "text": [random.choice(["", "ä", "日本", None, "x" * 30]) for _ in range(count)],
            "price": [random.choice([None, 0.0, 1.5, -2.25]) for _ in range(count)],
            "nested": [{"a": number % 5, "b": [number % 2, None]} for number in range(count)],
        }
    )


def changed(frame: pl.DataFrame, seed: int, share: float) -> pl.DataFrame:
    """Rows deleted, inserted and changed at random, in another order."""
    random.seed(seed)
    rows = [row for row in frame.to_dicts() if random.random() > share]
    for row in rows:
        if random.random() < share:
            row["text"] = random.choice(["new", None, row["text"]])
        if random.random() < share:
            row["price"] = random.choice([7.0, None, row["price"]])
        if random.random() < share:
            row["nested"] = {"a": -1, "b": []}
    more = [{**row, "id": row["id"] + 10**6} for row in frame.to_dicts() if random.random() < share]
    rows += more
    random.shuffle(rows)
    return pl.DataFrame(rows, schema=frame.schema)


def joined(first: pl.DataFrame, second: pl.DataFrame, key: list[str]) -> dict[str, Any]:
    """The counts by a full join."""
    one = {tuple(row[name] for name in key): row for row in first.to_dicts()}
    two = {tuple(row[name] for name in key): row for row in second.to_dicts()}
    both = one.keys() & two.keys()
    other = {k: [name for name in first.columns if one[k][name] != two[k][name]] for k in both}
    columns: dict[str, int] = {}
    for names in other.values():
        for name in names:
            columns[name] = columns.get(name, 0) + 1
    return {
        "first_rows": len(one),
        "second_rows": len(two),
        "inserted": len(two.keys() - one.keys()),
        "deleted": len(one.keys() - two.keys()),
        "changed": sum(bool(names) for names in other.values()),
        "unchanged": sum(not names for names in other.values()),
        "changed_columns": columns,
    }


def counts(found: lr.Diff) -> dict[str, Any]:
    names = ["first_rows", "second_rows", "inserted", "deleted", "changed", "unchanged", "changed_columns"]
    return {name: getattr(found, name) for name in names}


@pytest.mark.parametrize(("count", "share"), [(0, 0.5), (1, 0.0), (2000, 0.0), (2000, 0.01), (3000, 0.5), (500, 1.0)])
@pytest.mark.parametrize("key", [["id"], ["id", "part"]])
def test_as_a_full_join_counts_them(tmp_path: Path, count: int, share: float, key: list[str]) -> None:
    first = table(count)
    second = changed(first, 2, share)
    first.write_parquet(tmp_path / "a.parquet", row_group_size=300)
    second.write_parquet(tmp_path / "b.parquet")
    found = lr.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", key=key)
    wanted = joined(first, second, key)
    assert counts(found) == wanted
    assert found.is_different == (wanted["inserted"] + wanted["deleted"] + wanted["changed"] > 0)
    summary = lr.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", key=key, summary=True)
    assert counts(summary) == wanted
    # The least memory that five columns may have.
    small = lr.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", key=key, memory_limit=114_688)
    assert counts(small) == wanted
    assert pl.DataFrame(summary.rows).height == 0

    rows = pl.DataFrame(found.rows)
    assert_frame_equal(pl.DataFrame(small.rows).drop("nested"), rows.drop("nested"), check_row_order=False)
    kinds = dict(rows.group_by("_change_type").len().iter_rows())
    expected = {"insert": "inserted", "delete": "deleted", "update_preimage": "changed", "update_postimage": "changed"}
    assert kinds == {kind: wanted[name] for kind, name in expected.items() if wanted[name]}
    # The rows make the second side of the first one.
    columns = first.columns
    gone = rows.filter(pl.col("_change_type").is_in(["delete", "update_preimage"]))
    come = rows.filter(pl.col("_change_type").is_in(["insert", "update_postimage"]))
    deleted = {tuple(row[name] for name in key): row for row in gone.select(columns).to_dicts()}
    left = [row for row in first.to_dicts() if deleted.get(tuple(row[name] for name in key)) != row]
    made = sorted(left + come.select(columns).to_dicts(), key=lambda row: row["id"])
    assert made == sorted(second.to_dicts(), key=lambda row: row["id"])


def ordered_keys(count: int, kind: str) -> pl.DataFrame:
    """Keys that ascend."""
    numbers = pl.Series(range(count))
    if kind == "two":
        return pl.DataFrame(
            {"k": [f"t{number // 7:06}" for number in numbers], "l": [number % 7 for number in numbers]}
        )
    keys = {
        "small": numbers.cast(pl.Int32),
        "number": numbers - 10,
        "text": pl.Series([f"{number:07}" for number in numbers]),
        "day": pl.date_range(pl.date(1960, 1, 1), pl.date(1960, 1, 1) + pl.duration(days=count - 1), eager=True),
        "decimal": (numbers.cast(pl.Decimal(12, 2)) - 100),
        "bytes": pl.Series([number.to_bytes(4, "big") for number in numbers]),
        "float": numbers.cast(pl.Float64),
    }
    return pl.DataFrame({"k": keys[kind]})


@pytest.mark.parametrize("order", ["ascending", "late", "descending", "batches"])
@pytest.mark.parametrize("kind", ["small", "number", "text", "day", "decimal", "bytes", "float", "two"])
def test_keys_in_any_order(tmp_path: Path, kind: str, order: str) -> None:
    count = 4000
    keys = ordered_keys(count, kind)
    first = keys.with_columns(v=pl.int_range(count))
    chooser = random.Random(len(kind))
    kept = [number for number in range(count) if chooser.random() > 0.1]
    second = first[kept].with_columns(v=pl.when(pl.col("v") % 50 == 0).then(-1).otherwise(pl.col("v")))
    first = first[[number for number in range(count) if chooser.random() > 0.1]]
    height = second.height
    if order == "late":
        second = pl.concat([second[1:], second[:1]])
    elif order == "descending":
        second = second.reverse()
    elif order == "batches":
        second = pl.concat([second[height // 2 :], second[: height // 2]])
    wanted = joined(first, second, keys.columns)
    if kind == "small":
        second = second.with_columns(pl.col("k").cast(pl.Int64))
    first.write_parquet(tmp_path / "a.parquet", row_group_size=500)
    second.write_parquet(tmp_path / "b.parquet", row_group_size=700)
    for threads in (1, 3):
        one, two = tmp_path / "a.parquet", tmp_path / "b.parquet"
        found = lr.diff(one, two, key=keys.columns, batch_rows=333, threads=threads)
        assert counts(found) == wanted
        rows = pl.DataFrame(found.rows)
        gone = rows.filter(pl.col("_change_type").is_in(["delete", "update_preimage"]))["v"]
        after = set(second.rows())
        assert sorted(gone) == sorted(row[-1] for row in first.rows() if row not in after)
        assert (
            counts(lr.diff(two, one, key=keys.columns, threads=threads, summary=True))["inserted"] == wanted["deleted"]
        )


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_sides_whose_keys_ascend_are_read_once(tmp_path: Path, order: str) -> None:
    ids = sorted(random.Random(4).sample(range(10**9), 200_000), reverse=order == "descending")
    total = 0
    for name, last in (("a", 1), ("b", 2)):
        pq.write_table(
            pa.table({"id": ids, "v": [1] * 199_999 + [last]}), tmp_path / f"{name}.parquet", compression="none"
        )
        total += (tmp_path / f"{name}.parquet").stat().st_size
    done = command(tmp_path / "a.parquet", tmp_path / "b.parquet", "--key", "id", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["changed"]) == (1, 1)
    # Footers are read apart, and some bytes between columns with them.
    reads = found["bytes_read"] / total
    assert reads < 1.1 if order == "ascending" else 1.9 < reads < 3.2


@pytest.mark.parametrize("place", [0, 499, 500, 1998])
def test_a_key_that_two_neighbours_have(tmp_path: Path, place: int) -> None:
    ids = list(range(2000))
    pl.DataFrame({"id": ids}).write_parquet(tmp_path / "a.parquet")
    ids[place + 1] = ids[place]
    pl.DataFrame({"id": ids}).write_parquet(tmp_path / "b.parquet", row_group_size=500)
    for pair in [("a", "b"), ("b", "a"), ("b", "b")]:
        with pytest.raises(lr.InvalidInputError, match=f"b.parquet: the key id = {place} appears in several rows"):
            lr.diff(*(tmp_path / f"{name}.parquet" for name in pair), key="id", batch_rows=500)


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_partitions_that_do_not_fit_are_divided(tmp_path: Path, is_dictionary: bool) -> None:
    first = pl.DataFrame({"id": range(30_000)}).with_columns(text=pl.format("{}" + "x" * 40, pl.col("id")))
    second = first.with_columns(text=pl.col("text") + "!").filter(pl.col("id") % 7 > 0)
    for name, rows in (("a", first), ("b", second)):
        written = rows.to_arrow()
        # In an order that is not the one of the keys.
        written = written.sort_by([("id", "descending")])
        if is_dictionary:
            # A categorical column of pandas, with as many categories as rows.
            written = written.set_column(1, "text", written["text"].cast(pa.string()).dictionary_encode())
        pq.write_table(written, tmp_path / f"{name}.parquet")
    found = lr.diff(tmp_path / "a.parquet", tmp_path / "b.parquet", key="id", memory_limit=65_536)
    assert counts(found) == joined(first, second, ["id"])
    rows = pl.DataFrame(found.rows)
    made = rows.filter(pl.col("_change_type") == "update_postimage").select("id", "text").sort("id")
    assert_frame_equal(made, second.sort("id"))
    gone = rows.filter(pl.col("_change_type") == "delete")["id"].sort()
    assert gone.to_list() == list(range(0, 30_000, 7))


KEY_TYPES = [pa.int8(), pa.int16(), pa.int32()]


def encoded(texts: list[str], key: pa.DataType, shape: str) -> pa.Array:
    """Texts as a dictionary with such keys, or as lists or structs of it."""
    values = pa.array(texts).dictionary_encode().cast(pa.dictionary(key, pa.string()))
    if shape == "list":
        return pa.ListArray.from_arrays(list(range(len(texts) + 1)), values)
    return pa.StructArray.from_arrays([values], ["a"]) if shape == "struct" else values


def write_stream(path: Path, batches: list[pa.RecordBatch]) -> None:
    with pa.ipc.new_stream(path, batches[0].schema) as file:
        for batch in batches:
            file.write_batch(batch)


@pytest.mark.parametrize("shape", ["value", "list", "struct"])
@pytest.mark.parametrize("key", KEY_TYPES, ids=str)
def test_dictionaries_that_do_not_fit_one_key(tmp_path: Path, key: pa.DataType, shape: str) -> None:
    """Each batch has a dictionary of its own, and all values together are more than keys of 8 bits count."""
    for side in ("a", "b"):
        batches = []
        for number in range(3):
            texts = [f"{side}{number}-{row % 100:02}" for row in range(200)]
            ids = pa.array(range(number * 200, number * 200 + 200))
            batches.append(pa.record_batch({"id": ids, "x": encoded(texts, key, shape)}))
        write_stream(tmp_path / f"{side}.arrow", batches)
    wanted = {side: pa.ipc.open_stream(tmp_path / f"{side}.arrow").read_all()["x"].to_pylist() for side in ("a", "b")}
    sides = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
    for limit in (100_000, None):
        found = lr.diff(*sides, key="id", memory_limit=limit)
        assert (found.changed, found.inserted, found.deleted) == (600, 0, 0)
        rows = pa.table(found.rows)
        for kind, side in (("update_preimage", "a"), ("update_postimage", "b")):
            part = rows.filter(pc.equal(rows["_change_type"], kind)).sort_by("id")
            assert part["x"].to_pylist() == wanted[side]
        ordered = lr.scan(sides[0], order_by="id desc", memory_limit=limit)
        assert ordered.to_arrow()["x"].to_pylist() == wanted["a"][::-1]
        # A file has one dictionary for a column.
        lr.copy(
            sides[0],
            tmp_path / "o.arrow",
            order_by="id desc",
            memory_limit=limit,
            mode="overwrite",
        )
        assert pa.ipc.open_file(tmp_path / "o.arrow").read_all()["x"].to_pylist() == wanted["a"][::-1]
    first = lr.scan(sides[0], order_by="id desc", limit=250)
    assert first.to_arrow()["x"].to_pylist() == wanted["a"][:349:-1]


def test_large_dictionaries_with_small_keys_fit_the_memory(tmp_path: Path) -> None:
    ids = random.Random(3).sample(range(20_000), 20_000)
    texts = [f"a long text with the number {number}" for number in ids]
    for name, offset in (("a", 0), ("b", 1)):
        rows = pa.table({"id": ids, "v": [number + offset for number in ids], "x": encoded(texts, pa.int16(), "value")})
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", rows.schema) as file:
            file.write_table(rows)
    found = lr.diff(tmp_path / "a.arrow", tmp_path / "b.arrow", key="id", memory_limit=200_000)
    assert (found.changed, found.changed_columns) == (20_000, {"v": 20_000})
    rows = pa.table(found.rows)
    after = rows.filter(pc.equal(rows["_change_type"], "update_postimage")).sort_by("id")
    assert after["x"].to_pylist() == [f"a long text with the number {number}" for number in range(20_000)]


def test_any_two_kinds_of_locations(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": pa.array(range(100), pa.int32()),
            "price": pa.array([Decimal(number) / 4 for number in range(100)], pa.decimal128(9, 2)),
            "text": [f"t{number}" for number in range(100)],
        }
    )
    pq.write_table(rows, tmp_path / "a.parquet")
    other = rows.set_column(0, "id", rows["id"].cast(pa.int64()))
    places = [
        tmp_path / "b.orc",
        tmp_path / "b.csv",
        tmp_path / "b.jsonl",
        f"delta:{tmp_path}/t",
        f"sqlite:{tmp_path}/b.db#t",
    ]
    for place in places:
        options = {"key": "id"} if str(place).startswith("sqlite") else {}
        lr.copy(other, place, **options)
        made = str(place).removeprefix("delta:")
        found = lr.diff(tmp_path / "a.parquet", made, key="id", columns=["id", "text"])
        assert (found.is_different, found.unchanged) == (False, 100), made
        if not made.endswith(("csv", "jsonl", "#t")):
            assert not lr.diff(tmp_path / "a.parquet", made, key="id").is_different, made


def test_versions_and_columns_that_one_side_has(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(
        pa.table({"id": [1, 2, 3], "a": ["x", "y", "z"]}),
        f"delta:{folder}",
        table_properties={"lakerace.primaryKey": "id"},
    )
    lake = lr.Table(folder)
    lake.upsert(pa.table({"id": [2, 4], "a": ["Y", "w"]}))
    lake.delete("id = 1")
    found = lr.diff(folder, folder, at=0)
    assert (found.inserted, found.deleted, found.changed, found.unchanged) == (1, 1, 1, 1)
    assert lr.diff(folder, folder, at=0, second_at=0).is_different is False
    one = lr.diff(folder, folder, at=0, limit=1)
    assert (one.inserted + one.deleted + one.changed, 1 <= len(pl.DataFrame(one.rows)) <= 2) == (3, True)
    filtered = lr.diff(folder, folder, at=0, where="id > ?", params=[2])
    assert (filtered.inserted, filtered.deleted, filtered.changed, filtered.unchanged) == (1, 0, 0, 1)
    lake.alter(add_columns="more int")
    other = lr.diff(folder, folder, second_at=0)
    assert (other.first_columns, other.second_columns, other.is_different) == (["more"], [], True)


def test_values_that_have_no_common_form_are_refused(tmp_path: Path) -> None:
    sides = {
        "bytes": pa.array([b"\xff"]),
        "number": pa.array([1]),
    }
    for name, values in sides.items():
        pq.write_table(pa.table({"id": [1], "v": values}), tmp_path / f"{name}.parquet")
    for one, two in [("bytes", "number"), ("number", "bytes")]:
        places = [tmp_path / f"{name}.parquet" for name in (one, two)]
        with pytest.raises(lr.UnsupportedError, match=r'column "v": .*columns'):
            lr.diff(*places, key="id")
        assert lr.diff(*places, key="id", columns=["id"]).unchanged == 1
        assert lr.diff(*places, key="id", summary=True).changed_columns == {"v": 1}


def test_keys_that_tell_no_rows_apart(tmp_path: Path) -> None:
    good, doubled, null = tmp_path / "good.parquet", tmp_path / "doubled.parquet", tmp_path / "null.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3], "k": ["a", "b", "c"]}), good)
    pq.write_table(pa.table({"id": [3, 1, 3], "k": ["a", "b", "c"]}), doubled)
    pq.write_table(pa.table({"id": [1, None], "k": ["a", "b"]}), null)
    for pair in [(good, doubled), (doubled, good), (doubled, doubled)]:
        with pytest.raises(lr.InvalidInputError, match=r"doubled.parquet: the key id = 3 appears in several rows"):
            lr.diff(*pair, key="id")
    with pytest.raises(lr.InvalidInputError, match=r'null.parquet: a row has null in the column "id" of the key'):
        lr.diff(good, null, key="id")
    with pytest.raises(lr.UsageError, match="no key"):
        lr.diff(good, good)
    with pytest.raises(lr.NotFoundError, match="idd"):
        lr.diff(good, good, key="idd")
    with pytest.raises(
        lr.UsageError, match=r'the column "id" of the key is not among the compared ones \(add it to columns'
    ):
        lr.diff(good, good, key="id", columns=["k"])
    assert lr.diff(doubled, doubled, key=["id", "k"]).unchanged == 3


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lakerace", "diff", *map(str, arguments)], check=False, capture_output=True, text=True
    )


def test_the_command(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("id,a,b\n1,x,1\n2,y,2\n3,z,3\n")
    second.write_text("id,a,b\n1,x,1\n2,Y,3\n4,w,4\n")
    same = command(first, first, "--key", "id")
    assert (same.returncode, "3 the same" in same.stderr) == (0, True)
    done = command(first, second, "--key", "id", "--format", "jsonl")
    assert done.returncode == 1
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(rows, key=lambda row: (row["id"], row["_change_type"])) == [
        {"_change_type": "update_postimage", "id": 2, "a": "Y", "b": 3, "_changed_columns": "a,b"},
        {"_change_type": "update_preimage", "id": 2, "a": "y", "b": 2, "_changed_columns": "a,b"},
        {"_change_type": "delete", "id": 3, "a": "z", "b": 3, "_changed_columns": None},
        {"_change_type": "insert", "id": 4, "a": "w", "b": 4, "_changed_columns": None},
    ]
    assert "1 inserted, 1 deleted, 1 changed, 1 the same; changed columns: a in 1 row, b in 1 row" in done.stderr
    summary = command(first, second, "--key", "id", "--summary", "--json")
    told = json.loads(summary.stdout)
    assert (summary.returncode, told["different"], told["changed_columns"]) == (1, True, {"a": 1, "b": 1})
    assert command(first, second).returncode == 2
    assert command(first, tmp_path / "none.csv", "--key", "id").returncode == 3
    twice = tmp_path / "twice.csv"
    twice.write_text("id,a,b\n1,x,1\n1,x,1\n")
    assert command(first, twice, "--key", "id").returncode == 4


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "arrow"])
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_a_pipe_is_a_side(tmp_path: Path, form: str, order: str) -> None:
    rows = pa.table({"id": list(range(100)), "text": [f"t{number}" for number in range(100)]})
    rows = rows.sort_by([("id", order)])
    lr.copy(rows, tmp_path / f"a.{form}")
    lr.copy(rows, tmp_path / "same.parquet")
    lr.copy(rows.slice(1), tmp_path / "other.parquet")
    for other, code in (("same", 0), ("other", 1)):
        with subprocess.Popen(["cat", tmp_path / f"a.{form}"], stdout=subprocess.PIPE) as pipe:
            done = subprocess.run(
                [sys.executable, "-m", "lakerace", "diff", "-", tmp_path / f"{other}.parquet", "--key", "id", "--json"],
                check=False,
                capture_output=True,
                stdin=pipe.stdout,
            )
        assert done.returncode == code, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        assert (found["first_rows"], found["deleted"], found["unchanged"]) == (100, code, 100 - code)


def test_an_option_of_one_format_applies_to_the_side_that_takes_it(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["01", "02"], "text": ["a", "b"]})
    frame.write_csv(tmp_path / "rows.csv")
    lr.copy(frame.to_arrow(), f"delta:{tmp_path / 'table'}")
    sides = [str(tmp_path / "table"), str(tmp_path / "rows.csv")]
    for first, second in [sides, sides[::-1]]:
        assert lr.diff(first, second, key="id", schema="id utf8").changed == 0
        done = command(first, second, "--key", "id", "--schema", "id utf8", "--json")
        assert (done.returncode, json.loads(done.stdout)["unchanged"]) == (0, frame.height)
    with pytest.raises(lr.UsageError, match=r"schema.* does not apply: this is a Delta table"):
        lr.diff(sides[0], sides[0], key="id", schema="id utf8")


LAYOUTS: dict[str, list[tuple[pa.DataType, pa.DataType]]] = {
    "text": [
        (pa.string(), pa.large_string()),
        (pa.string(), pa.string_view()),
        (pa.large_string(), pa.dictionary(pa.int32(), pa.string())),
    ],
    "bytes": [(pa.binary(), pa.large_binary()), (pa.binary(), pa.binary(2)), (pa.large_binary(), pa.binary(2))],
}
NESTED: dict[str, Any] = {
    "value": (lambda of: of, lambda value: value),
    "list": (pa.list_, lambda value: [value, None]),
    "struct": (lambda of: pa.struct([("a", of), ("b", pa.int32())]), lambda value: {"a": value, "b": 1}),
    "map": (lambda of: pa.map_(pa.int32(), of), lambda value: [(1, value)]),
    "deep": (
        lambda of: pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.struct([("v", of)]))))]),
        lambda value: {"m": [("k", [{"v": value}, None])]},
    ),
}


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("kind", LAYOUTS)
def test_layouts_are_compared_by_their_values(tmp_path: Path, kind: str, shape: str) -> None:
    """As the lists of Python values of pyarrow, at each depth."""
    type_of, value_of = NESTED[shape]
    plain: list[Any] = ["ab", "ä", None, "zz"] if kind == "text" else [b"\xff\x00", b"ab", None, b"zz"]
    other = [*plain[:3], "yy" if kind == "text" else b"yy"]
    for number, (one, two) in enumerate(LAYOUTS[kind]):
        sides = []
        for name, of, values in [("a", one, plain), ("b", two, plain), ("c", two, other)]:
            column = pa.array(
                [value_of(value) for value in values], type_of(of if not pa.types.is_dictionary(of) else pa.string())
            )
            if pa.types.is_dictionary(of) and shape == "value":
                column = column.dictionary_encode()
            rows = pa.table({"id": range(4), "x": column})
            place = tmp_path / f"{number}{name}.arrow"
            with pa.ipc.new_file(place, rows.schema) as file:
                file.write_table(rows)
            sides.append((place, rows["x"].to_pylist()))
        (first, values), (same, _), (changed, others) = sides
        assert not lr.diff(first, same, key="id").is_different
        found = lr.diff(first, changed, key="id")
        assert (found.changed, found.unchanged, found.changed_columns) == (1, 3, {"x": 1})
        assert pa.table(found.rows)["x"].to_pylist() == [values[3], others[3]]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")])
def test_days_and_times_of_any_year(tmp_path: Path, kind: pa.DataType) -> None:
    """Those beyond the calendars of programs have the texts that CSV has, and duckdb reads them where it can."""
    most = (1 << 31) - 1 if kind == pa.date32() else (1 << 53) // 86_400_000 * 86_400_000
    numbers = pa.array([0, most, -most], pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
    one, two = tmp_path / "one.arrow", tmp_path / "two.arrow"
    for path, values in [(one, numbers), (two, numbers.take(pa.array([0, 2, 1])))]:
        rows = pa.table({"k": [1, 2, 3], "v": values})
        with pa.ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows)
    texts = [line.split(",")[1] for line in ok("scan", one, "--format", "csv").out.splitlines()[1:]]
    assert texts[0].startswith("1970-01-01")
    for form in ("table", "csv"):
        done = run("diff", one, two, "--key", "k", "--format", form)
        assert done.code == 1, done.err
        assert [done.out.count(text) for text in texts] == [0, 2, 2]
    shown = ok("scan", one).out
    assert all(text in shown for text in texts)
    # Also as a key, and beside a type without a common form.
    keyed = tmp_path / "keyed.arrow"
    rows = pa.table({"k": pa.concat_arrays([numbers, numbers])})
    with pa.ipc.new_file(keyed, rows.schema) as writer:
        writer.write_table(rows.slice(1, 4))
    assert f"the key k = {texts[1]} appears" in run("diff", keyed, keyed, "--key", "k").err
    texts_file = tmp_path / "texts.csv"
    texts_file.write_text("k,v\n" + "".join(f"{k},x{k}\n" for k in (1, 2, 3)))
    done = run("diff", one, texts_file, "--key", "k", "--format", "csv")
    assert done.code == 1, done.err
    assert all(text in done.out for text in texts)


def test_a_version_of_a_side_without_versions_is_told_by_its_option(tmp_path: Path) -> None:
    """Each side has its own option."""
    rows = pa.table({"id": [1, 2]})
    lr.copy(rows, f"delta:{tmp_path / 'table'}")
    table = tmp_path / "table"
    pq.write_table(rows, tmp_path / "file.parquet")
    lr.copy(rows, f"sqlite:{tmp_path}/app.db#rows")
    for other in (tmp_path / "file.parquet", f"sqlite:{tmp_path}/app.db#rows", "tpch:region?sf=0.01"):
        done = run("diff", table, other, "--key", "id", "--at", 0, "--second-at", 0)
        assert done.code == 6, done.err
        assert "omit --second-at: only Delta tables have versions" in done.err
        done = run("diff", other, table, "--key", "id", "--at", 0, "--second-at", 0)
        assert done.code == 6, done.err
        assert "omit --at: only Delta tables have versions" in done.err
        with pytest.raises(lr.UnsupportedError, match="omit second_at"):
            lr.diff(table, other, key="id", at=0, second_at=0)
    assert run("diff", table, table, "--key", "id", "--at", 0, "--second-at", 0).code == 0
