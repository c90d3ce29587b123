"""What a table takes of nested columns: all of it, or nothing, at every level."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

I64 = pa.int64()


def struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


#: A struct as it stands in a column: alone, in a list, as a map's value, in another struct.
PLACES: dict[str, tuple[Callable[[pa.DataType], pa.DataType], Callable[[Any], Any]]] = {
    "struct": (lambda t: t, lambda v: v),
    "list": (pa.list_, lambda v: [v]),
    "map": (lambda t: pa.map_(pa.string(), t), lambda v: [("k", v)]),
    "deep": (lambda t: pa.list_(struct(in_=t)), lambda v: [{"in_": v}]),
}


def rows(place: str, kind: pa.DataType, **values: Any) -> pa.Table:
    """A row for each of `values`, named by its key."""
    of_type, of_value = PLACES[place]
    column = pa.array([of_value(value) for value in values.values()], of_type(kind))
    return pa.table({"id": [int(name.removeprefix("n")) for name in values], "c": column})


def table(folder: Path, source: pa.Table, **properties: str) -> str:
    lr.copy(source, f"delta:{folder}/t", table_properties=properties or None)
    return f"{folder}/t"


def read(location: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(lr.scan(location)).sort_by("id").to_pylist()
    return found


def write(how: str, location: str, source: pa.Table, evolve: str | None = None) -> None:
    if how == "append":
        lr.copy(source, location, mode="append", evolve=evolve)
    else:
        lr.Table(location, key="id").upsert(source, evolve=evolve)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["append", "upsert"])
def test_a_field_that_the_table_lacks_is_refused_or_added(tmp_path: Path, place: str, how: str) -> None:
    location = table(tmp_path, rows(place, struct(a=I64), n1={"a": 1}))
    more = rows(place, struct(a=I64, c=I64), n2={"a": 2, "c": 7})
    with pytest.raises(lr.InvalidInputError, match=r'column "c".*no field "c".*evolve=\"add\"'):
        write(how, location, more)
    _, of_value = PLACES[place]
    assert read(location) == [{"id": 1, "c": of_value({"a": 1})}]
    write(how, location, more, evolve="add")
    wanted = [{"id": 1, "c": of_value({"a": 1, "c": None})}, {"id": 2, "c": of_value({"a": 2, "c": 7})}]
    assert read(location) == wanted
    lr.Table(location).compact()
    assert read(location) == wanted


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["append", "upsert"])
def test_a_field_of_another_case_is_refused(tmp_path: Path, place: str, how: str) -> None:
    location = table(tmp_path, rows(place, struct(a=I64), n1={"a": 1}))
    other = rows(place, struct(A=I64), n1={"A": 9})
    with pytest.raises(lr.InvalidInputError, match='did you mean "a"'):
        write(how, location, other)
    with pytest.raises(lr.InvalidInputError, match=r"column .a.*case"):
        write(how, location, other, evolve="add")
    assert read(location)[0]["c"] == PLACES[place][1]({"a": 1})


@pytest.mark.parametrize("place", PLACES)
def test_a_field_that_the_rows_lack_is_null_in_new_rows_and_never_in_place_of_a_value(
    tmp_path: Path, place: str
) -> None:
    location = table(tmp_path, rows(place, struct(a=I64, b=I64), n1={"a": 1, "b": 2}))
    less = rows(place, struct(a=I64), n1={"a": 5})
    with pytest.raises(lr.InvalidInputError, match='no field "b"'):
        write("upsert", location, less)
    write("append", location, rows(place, struct(a=I64), n2={"a": 5}))
    of_value = PLACES[place][1]
    wanted = [{"id": 1, "c": of_value({"a": 1, "b": 2})}, {"id": 2, "c": of_value({"a": 5, "b": None})}]
    assert read(location) == wanted


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["append", "upsert"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_wall_clock_and_utc_do_not_mix(tmp_path: Path, place: str, how: str, zone: str | None) -> None:
    moment = datetime.datetime(2024, 7, 1, 10, tzinfo=datetime.timezone.utc if zone else None)
    location = table(tmp_path, rows(place, struct(x=pa.timestamp("us", zone)), n1={"x": moment}))
    other = pa.timestamp("us", None if zone else "UTC")
    with pytest.raises(lr.InvalidInputError, match=r"UTC.*local time"):
        write(how, location, rows(place, struct(x=other), n1={"x": datetime.datetime(2024, 7, 1, 10)}))


@pytest.mark.parametrize("place", PLACES)
def test_nested_numbers_widen_as_the_protocol_notes_it(tmp_path: Path, place: str) -> None:
    narrow = rows(place, struct(x=pa.int32()), n1={"x": 1})
    location = table(tmp_path, narrow, **{"delta.enableTypeWidening": "true"})
    large = 2**40
    write("append", location, rows(place, struct(x=I64), n2={"x": large}), evolve="widen")
    of_value = PLACES[place][1]
    assert [row["c"] for row in read(location)] == [of_value({"x": 1}), of_value({"x": large})]
    logs = sorted((tmp_path / "t" / "_delta_log").glob("*.json"))
    texts = [json.loads(line) for line in logs[-1].read_text().splitlines() if "metaData" in line]
    assert '"delta.typeChanges"' in texts[0]["metaData"]["schemaString"]


def test_elements_keys_and_values_note_where_they_were_widened(tmp_path: Path) -> None:
    kinds = {
        "list": (pa.list_(pa.int32()), pa.list_(I64), [1], [2**40], ["element"]),
        "map": (pa.map_(pa.int32(), pa.int32()), pa.map_(I64, I64), [(1, 2)], [(2**40, 2**41)], ["key", "value"]),
    }
    for name, (narrow, wide, small, large, paths) in kinds.items():
        source = pa.table({"id": [1], "c": pa.array([small], narrow)})
        location = table(tmp_path / name, source, **{"delta.enableTypeWidening": "true"})
        write("append", location, pa.table({"id": [2], "c": pa.array([large], wide)}), evolve="widen")
        assert [row["c"] for row in read(location)] == [small, large]
        log = sorted((tmp_path / name / "t" / "_delta_log").glob("*.json"))[-1].read_text().splitlines()
        [meta] = [json.loads(line)["metaData"] for line in log if "metaData" in line]
        [column] = [f for f in json.loads(meta["schemaString"])["fields"] if f["name"] == "c"]
        assert [change["fieldPath"] for change in column["metadata"]["delta.typeChanges"]] == paths


def test_mapped_columns_get_ids_for_nested_fields(tmp_path: Path) -> None:
    source = rows("deep", struct(a=I64), n1={"a": 1})
    location = table(tmp_path, source, **{"delta.columnMapping.mode": "name"})
    write("upsert", location, rows("deep", struct(a=I64, c=I64), n2={"a": 2, "c": 7}), evolve="add")
    assert read(location)[1]["c"] == [{"in_": {"a": 2, "c": 7}}]


def test_other_readers_see_the_added_fields(tmp_path: Path) -> None:
    location = table(tmp_path, rows("deep", struct(a=I64), n1={"a": 1}))
    write("append", location, rows("deep", struct(a=I64, c=I64), n2={"a": 2, "c": 7}), evolve="add")
    found = pa.table(DeltaTable(location).to_pyarrow_table() if not has_vectors(location) else lr.scan(location))
    values = {row["id"]: row["c"] for row in found.to_pylist()}
    assert values == {1: [{"in_": {"a": 1, "c": None}}], 2: [{"in_": {"a": 2, "c": 7}}]}


def has_vectors(location: str) -> bool:
    return "deletionVectors" in (DeltaTable(location).protocol().reader_features or [])


def test_names_that_stand_twice_are_refused(tmp_path: Path) -> None:
    location = table(tmp_path, pa.table({"id": [1], "v": [1]}))
    twice = pa.table([pa.array([1]), pa.array([7]), pa.array([8])], names=["id", "v", "v"])
    for how in ("append", "upsert"):
        for evolve in (None, "add"):
            with pytest.raises(lr.InvalidInputError, match='two columns are named "v"'):
                write(how, location, twice, evolve)
    with pytest.raises(lr.InvalidInputError, match='"v"'):
        lr.copy(twice, f"delta:{tmp_path}/new")
    with pytest.raises(lr.InvalidInputError, match="only in case"):
        lr.copy(pa.table({"a": [1], "A": [2]}), f"delta:{tmp_path}/new")
    assert not (tmp_path / "new").exists()
    assert read(location) == [{"id": 1, "v": 1}]


def test_an_empty_text_is_no_key_where_the_table_is_partitioned_by_it(tmp_path: Path) -> None:
    location = f"{tmp_path}/t"
    source = pa.table({"p": ["a"], "k": [1], "v": [1]})
    lr.copy(source, f"delta:{location}", partition_by=["p"], table_properties={"lakerace.primaryKey": "p,k"})
    empty = pa.table({"p": [""], "k": [1], "v": [2]})
    with pytest.raises(lr.InvalidInputError, match=r'"p": a row has an empty string'):
        lr.Table(location).upsert(empty)
    with pytest.raises(lr.InvalidInputError, match='"p": a row has an empty string'):
        lr.Table(location).delete_keys(empty.select(["p", "k"]))
    assert pa.table(lr.scan(location)).to_pylist() == source.to_pylist()
