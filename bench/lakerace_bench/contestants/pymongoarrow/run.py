"""pymongoarrow: `write` and `find_arrow_all`."""

from __future__ import annotations

from typing import Any

import contest
import loads
import pyarrow as pa
import pymongo
import pymongoarrow
from pymongoarrow import api

#: mongo-java-server cuts no answer by itself, as mongod does.
_BATCH_ROWS = 10_000


def load(job: dict[str, Any]) -> contest.Prepared:
    """Writes each batch."""
    collection = _collection(job)

    def write(batch: pa.Table) -> None:
        api.write(collection, batch.cast(_native(batch.schema)))

    return loads.each(job, pymongoarrow.__version__, write)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """All documents as one table, of the types that are known beforehand."""
    collection, types = _collection(job), loads.schema(job)
    wanted = api.Schema({field.name: field.type for field in _native(types)})

    def read() -> pa.Table:
        return api.find_arrow_all(collection, {}, schema=wanted, batch_size=_BATCH_ROWS)

    def again() -> pa.Table:
        found = read().select(types.names)
        return pa.table(
            [_back(column, field.type) for column, field in zip(found.columns, types, strict=True)], types.names
        )

    return loads.counted(job, pymongoarrow.__version__, lambda: read().num_rows, again)


def _native(types: pa.Schema) -> pa.Schema:
    """The types that it knows: times in milliseconds without a zone."""
    fields = [pa.field(f.name, pa.timestamp("ms") if pa.types.is_timestamp(f.type) else f.type) for f in types]
    return pa.schema(fields)


def _back(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("us")).cast(kind) if pa.types.is_timestamp(kind) else column.cast(kind)


def _collection(job: dict[str, Any]) -> Any:
    place = job["place"]
    client: Any = pymongo.MongoClient(place["url"])
    return client[place["database"]][place["collection"]]


if __name__ == "__main__":
    contest.main({"load": load, "unload": unload})
