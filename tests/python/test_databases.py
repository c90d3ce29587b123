"""The same rows through every kind of place: one checksum."""

from __future__ import annotations

import datetime
import decimal
import itertools
import subprocess
from typing import TYPE_CHECKING, Any

import mongoserver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command, empty_place

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 2500


def rows() -> pa.Table:
    """Rows of the types that all of these places hold."""
    number = range(ROWS)
    day = datetime.date(2024, 2, 29)
    return pa.table(
        {
            "id": pa.array(number, pa.int64()),
            "text": pa.array([None if n % 7 == 0 else f"{n:03}" for n in number], pa.string()),
            "ratio": pa.array([n / 8 for n in number], pa.float64()),
            "is_even": pa.array([n % 2 == 0 for n in number], pa.bool_()),
            "price": pa.array([decimal.Decimal(n) / 4 for n in number], pa.decimal128(15, 2)),
            "day": pa.array([day + datetime.timedelta(n) for n in number], pa.date32()),
            "at": pa.array([1_700_000_000_123_000 + n * 1000 for n in number], pa.timestamp("us", "UTC")),
            "raw": pa.array([bytes([n % 256]) for n in number], pa.binary()),
            "tags": pa.array([[] if n % 3 == 0 else [f"a{n}", None] for n in number], pa.list_(pa.string())),
            "place": pa.array([{"x": n, "y": None if n % 5 else 0.5} for n in number]),
        }
    )


#: The types of :func:`rows`, for files that keep none.
SCHEMA = (
    "id int64, text utf8, ratio float64, is_even bool, price decimal(15,2), day date32, at timestamp(us, UTC), "
    "raw binary, tags list(utf8), place struct(x int64, y float64)"
)
#: Of these, the ones that CSV has texts for.
FLAT = ["id", "text", "ratio", "is_even", "price", "day", "at"]


@pytest.mark.parametrize("is_flat", [True, False])
def test_one_checksum_through_every_kind_of_place(
    mongo: mongoserver.MongoServer, index: str, tmp_path: Path, is_flat: bool
) -> None:
    name = "flat" if is_flat else "rows"
    first = tmp_path / ("rows.csv" if is_flat else "rows.parquet")
    if is_flat:
        lr.copy(rows().select(FLAT), first, null_strings=["NULL"])
    else:
        pq.write_table(rows(), first)
    hops = [
        str(first),
        f"delta:{tmp_path / 'table'}",
        mongo.location(name),
        f"{index}{name}",
        f"sqlite:{tmp_path / 'rows.db'}#{name}",
        str(tmp_path / "rows.jsonl.zst"),
        str(tmp_path / "back.parquet"),
    ]
    given = ", ".join(SCHEMA.split(", ")[: len(FLAT) + 1]) if is_flat else SCHEMA

    def options(hop: str) -> dict[str, Any]:
        """What tells the types of a file that keeps none."""
        if hop.endswith(".csv"):
            return {"schema": given, "null_strings": ["NULL"]}
        return {"schema": given} if ".jsonl" in hop else {}

    for source, target in itertools.pairwise(hops):
        made = lr.copy(source, target, verify=True, **options(source))
        assert made.rows == ROWS
    sums = {lr.scan(hop, **options(hop)).checksum() for hop in hops}
    assert sums == {lr.checksum(rows().select(FLAT) if is_flat else rows()).checksum}


@pytest.mark.parametrize("batch_rows", [300, None])
def test_batches_upserts_and_deletes_by_key(
    mongo: mongoserver.MongoServer, index: str, tmp_path: Path, batch_rows: int | None
) -> None:
    table = rows().select(["id", "text", "ratio"])
    newer = pa.table({"id": pa.array([1, ROWS], pa.int64()), "text": ["new", "new"], "ratio": [0.5, 0.5]})
    name = f"batches_{batch_rows}".lower()
    for target in (mongo.location(name), f"{index}{name}", f"sqlite:{tmp_path / 'rows.db'}#{name}"):
        lr.copy(table, target, key="id", batch_rows=batch_rows)
        lr.copy(newer, target, key="id", mode="upsert")
        lr.copy(newer.slice(1), target, key="id", mode="delete")
        found = dict(lr.scan(target, columns=["id", "text"]).rows())
        assert len(found) == ROWS
        assert (found[0], found[1], found[2]) == (None, "new", "002")


def test_an_index_is_read_by_filters_and_limits(index: str, tmp_path: Path) -> None:
    table = rows().select(["id", "text", "day"])
    target = f"{index}filtered"
    lr.copy(table, target, key="id")
    pq.write_table(table, tmp_path / "rows.parquet")
    for where in ("id >= 2490", "text = '007'", "text IS NULL", "day < DATE '2024-03-05'", "NOT (text < '1')"):
        assert lr.scan(target, where=where).checksum() == lr.scan(tmp_path / "rows.parquet", where=where).checksum()
    assert lr.scan(target, limit=7).to_arrow().num_rows == 7
    assert lr.scan(target).count() == ROWS
    with pytest.raises(lr.NotFoundError, match="filter: the index does not exist"):
        lr.scan(f"{index}filter")


@pytest.fixture(params=["mongodb", "elasticsearch", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place in each of the databases."""
    return empty_place(request, tmp_path)


@pytest.mark.parametrize("mode", ["error", "overwrite", "append", "upsert"])
def test_zero_rows_and_columns_without_a_value(place: str, mode: str) -> None:
    schema = pa.schema({"id": pa.int64(), "text": pa.string(), "day": pa.date32(), "tags": pa.list_(pa.string())})
    key = "id" if mode == "upsert" else None
    assert lr.copy(schema.empty_table(), place, mode=mode, key=key, verify=True).rows == 0
    assert lr.scan(place).to_arrow().schema.names == schema.names
    nulls = pa.table([pa.array([1, 2], pa.int64()), *(pa.nulls(2, field.type) for field in list(schema)[1:])], schema)
    lr.copy(nulls, place, mode="upsert" if key else "append", key=key, verify=True)
    assert lr.scan(place).checksum() == lr.checksum(nulls).checksum


def test_two_upserts_at_once(place: str, tmp_path: Path) -> None:
    table = rows().select(["id", "text", "ratio"])
    loads = []
    for part in range(2):
        source = tmp_path / f"{part}.parquet"
        pq.write_table(table.take(list(range(part, ROWS, 2))), source)
        arguments = ("copy", source, place, "--mode", "upsert", "--key", "id", "--max-rate", "2000")
        loads.append(subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL))
    assert [load.wait(120) for load in loads] == [0, 0]
    assert lr.scan(place).checksum() == lr.checksum(table).checksum


def test_duplicate_keys(place: str) -> None:
    twice = pa.table({"id": [1, 2, 1], "text": ["first", "x", "last"]})
    lr.copy(twice, place, key="id", mode="upsert")
    assert dict(lr.scan(place, columns=["id", "text"]).rows()) == {1: "last", 2: "x"}
    with pytest.raises((lr.ConflictError, lr.InvalidInputError)):
        lr.copy(twice, place, key="id", mode="append")


@pytest.mark.parametrize("place", ["mongodb", "sqlite"], indirect=True)
def test_an_append_by_a_key_that_nothing_enforces_is_refused(place: str) -> None:
    """Rows would be added once more: the place was loaded without the key, and has no unique index on it."""
    table = pa.table({"id": [1, 2], "text": ["a", "b"]})
    lr.copy(table, place)
    with pytest.raises((lr.InvalidInputError, lr.UnsupportedError), match="no unique index"):
        lr.copy(table, place, key="id", mode="append")
    assert sorted(lr.scan(place, columns=["id"]).rows()) == [(1,), (2,)]
    lr.copy(table, place, mode="append")
    assert lr.scan(place).count() == 4


@pytest.mark.parametrize("mode", ["error", "overwrite", "append", "upsert"])
@pytest.mark.parametrize("place", ["mongodb", "elasticsearch"], indirect=True)
def test_another_key_than_the_id_of_the_rows_is_refused(place: str, mode: str) -> None:
    table = pa.table({"_id": ["x", "y"], "id": [1, 1]})
    with pytest.raises(lr.UsageError, match="_id"):
        lr.copy(table, place, key="id", mode=mode)
    lr.copy(table, place, key="_id", mode=mode)
    assert lr.scan(place).count() == 2


@pytest.mark.parametrize("place", ["mongodb", "sqlite"], indirect=True)
def test_appends_by_a_key_add_new_rows_alone(place: str) -> None:
    for first in (1, 3, 5):
        lr.copy(pa.table({"id": [first, first + 1], "text": ["a", "b"]}), place, key="id", mode="append", verify=True)
    with pytest.raises((lr.ConflictError, lr.InvalidInputError)):
        lr.copy(pa.table({"id": [7, 5], "text": ["c", "d"]}), place, key="id", mode="append")
    found = dict(lr.scan(place, columns=["id", "text"]).rows())
    assert {key: found[key] for key in range(1, 7)} == {1: "a", 2: "b", 3: "a", 4: "b", 5: "a", 6: "b"}


def test_appends_by_a_key_use_a_unique_index_of_another_program(mongo: mongoserver.MongoServer) -> None:
    documents = mongo.client[mongo.database]["indexed"]
    documents.insert_one({"id": 1, "text": "a"})
    documents.create_index("id", unique=True)
    place = mongo.location("indexed")
    assert lr.copy(pa.table({"id": [2], "text": ["b"]}), place, key="id", mode="append").rows == 1
    with pytest.raises(lr.ConflictError):
        lr.copy(pa.table({"id": [1], "text": ["c"]}), place, key="id", mode="append")
    assert sorted((one["id"], one["text"]) for one in documents.find()) == [(1, "a"), (2, "b")]
