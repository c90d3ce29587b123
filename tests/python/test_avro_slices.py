"""Avro files of arrays that are slices of others: their values start at any bit of a buffer. fastavro reads what is written."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 20_000
ITEMS: dict[str, pa.DataType] = {"bool": pa.bool_(), "int8": pa.int8(), "text": pa.string()}
CONTAINERS = {
    "list": pa.list_,
    "large list": pa.large_list,
    "fixed list": lambda item: pa.list_(item, 3),
    "map": lambda item: pa.map_(pa.string(), item),
    "list of fixed lists": lambda item: pa.list_(pa.list_(item, 3)),
    "struct": lambda item: pa.struct([("inner", pa.list_(item, 3))]),
    "list of structs": lambda item: pa.list_(pa.struct([("flag", item), ("inner", pa.list_(item, 3))])),
}


def value(kind: pa.DataType, chance: random.Random) -> Any:
    """A random value of a type; one in six is null."""
    if chance.random() < 1 / 6:
        return None
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, chance) for field in kind}
    if pa.types.is_map(kind):
        return [(key, value(kind.item_type, chance)) for key in chance.sample("abcdef", chance.randrange(4))]
    if pa.types.is_fixed_size_list(kind):
        return [value(kind.value_type, chance) for _ in range(kind.list_size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [value(kind.value_type, chance) for _ in range(chance.randrange(4))]
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    return chance.randrange(-100, 100) if pa.types.is_integer(kind) else chance.choice("xyz")


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_slices_have_their_own_values(tmp_path: Path, container: str, item: str) -> None:
    kind = CONTAINERS[container](ITEMS[item])
    chance = random.Random(f"{container} {item}")
    values = [value(kind, chance) for _ in range(500)] * (ROWS // 500)
    rows = pa.table({"id": pa.array(range(ROWS)), "c": pa.array(values, kind)})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=7_001)
    expected = [dict(found) if pa.types.is_map(kind) and found is not None else found for found in values]
    target = tmp_path / "rows.avro"

    def written(source: Any, **options: Any) -> list[Any]:
        lr.copy(source, target, mode="overwrite", **options)
        with target.open("rb") as file:
            return [found["c"] for found in fastavro.reader(file)]  # type: ignore[index, call-overload]

    assert written(tmp_path / "rows.parquet") == expected
    assert written(tmp_path / "rows.parquet", where="id >= 5001") == expected[5001:]
    assert written(rows.slice(13)) == expected[13:]
    # The items are a slice, and not the lists.
    if container == "list":
        items = rows["c"].combine_chunks()
        shifted = pa.ListArray.from_arrays(pa.array([0, 2, 3, 3, 7], pa.int32()), items.values.slice(5))
        assert written(pa.table({"c": shifted})) == shifted.to_pylist()
