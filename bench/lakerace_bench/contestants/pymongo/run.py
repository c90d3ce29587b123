"""pymongo: `insert_many` and `find`, and ready BSON by insert commands."""

from __future__ import annotations

import datetime
from typing import Any

import bson
import contest
import loads
import pyarrow as pa
import pymongo
from bson.raw_bson import RawBSONDocument

#: Documents of a raw command: approximately a megabyte, as drivers of several connections send.
_RAW_DOCUMENTS = 1_000
#: mongo-java-server cuts no answer by itself, as mongod does.
_BATCH_ROWS = 10_000


def load(job: dict[str, Any]) -> contest.Prepared:
    """Inserts the dicts of each batch."""
    collection = _collection(job)
    if job["options"].get("raw"):
        return _raw(job, collection)
    days = [field.name for field in loads.schema(job) if pa.types.is_date32(field.type)]

    def write(batch: pa.Table) -> None:
        documents = batch.to_pylist()
        for document in documents:
            for name in days:  # BSON has no days
                document[name] = _midnight(document[name])
        collection.insert_many(documents, ordered=False)

    return loads.each(job, pymongo.version, write, ordered=False)


def _raw(job: dict[str, Any], collection: Any) -> contest.Prepared:
    days = [field.name for field in loads.schema(job) if pa.types.is_date32(field.type)]
    ready = []
    for batch in loads.source(job | {"batch_rows": _RAW_DOCUMENTS})():
        documents = batch.to_pylist()
        for document in documents:
            document["_id"] = bson.ObjectId()
            for name in days:
                document[name] = _midnight(document[name])
        ready.append([RawBSONDocument(bson.encode(document)) for document in documents])

    def work() -> None:
        for documents in ready:
            collection.database.command({"insert": collection.name, "documents": documents, "ordered": False})

    return contest.Prepared(pymongo.version, work, {"documents": _RAW_DOCUMENTS})


def follow(job: dict[str, Any]) -> contest.Prepared:
    """Puts the rows that have changed and removes those that are gone, by their key, which is the `_id`."""
    collection, key = _collection(job), job["key"]
    put, gone = loads.changed(job)
    days = [field.name for field in loads.schema(job) if pa.types.is_date32(field.type)]

    def work() -> None:
        writes: list[Any] = []
        for document in put:
            for name in days:
                document[name] = _midnight(document[name])
            writes.append(pymongo.ReplaceOne({"_id": document[key]}, {"_id": document[key], **document}, upsert=True))
        writes += [pymongo.DeleteOne({"_id": each}) for each in gone]
        collection.bulk_write(writes, ordered=False)

    return contest.Prepared(pymongo.version, work, {"ordered": False})


def unload(job: dict[str, Any]) -> contest.Prepared:
    """Every document as a dict."""
    if job["how"] != "rows":
        raise contest.UnableError("gives no Arrow: see pymongoarrow")
    collection, types = _collection(job), loads.schema(job)
    days = [field.name for field in types if pa.types.is_date32(field.type)]

    def again() -> Any:
        def rows() -> Any:
            for document in collection.find({}, {"_id": False}, batch_size=_BATCH_ROWS):
                for name in days:
                    document[name] = document[name].date()
                yield document

        return loads.table(rows(), types)

    return loads.counted(job, pymongo.version, lambda: loads.exhausted(collection.find(batch_size=_BATCH_ROWS)), again)


def _midnight(day: datetime.date | None) -> datetime.datetime | None:
    return None if day is None else datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.timezone.utc)


def _collection(job: dict[str, Any]) -> Any:
    place = job["place"]
    client: Any = pymongo.MongoClient(place["url"], tz_aware=True)
    return client[place["database"]][place["collection"]]


if __name__ == "__main__":
    contest.main({"load": load, "follow": follow, "unload": unload})
