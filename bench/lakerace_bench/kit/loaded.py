"""What a system holds after a `load`, read by its own client or by plain requests, never by a contestant's code.

`python loaded.py` answers the question that it reads as JSON on stdin. It names a `target` (`delta`, `mongodb`,
`elasticsearch`, `sqlite`) and a `place` in it: `{"do": "look", …}` returns rows, schema and checksum,
`{"do": "count", …}` the rows alone, and `{"do": "drop", …}` removes them.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import contest
import loads
import pyarrow as pa
import texts
import verify

_PAGE_ROWS = 5_000


def mongodb(question: dict[str, Any], types: pa.Schema) -> Any:
    """All documents, by pymongoarrow; a value that is not of its column's type is null, and changes the checksum."""
    import pymongo
    from pymongoarrow import api

    place = question["place"]
    with pymongo.MongoClient(place["url"]) as client:
        collection = client[place["database"]][place["collection"]]
        if question["do"] == "count":
            return collection.count_documents({})
        if question["do"] == "drop":
            return client.drop_database(place["database"])
        fields = {f.name: pa.timestamp("ms") if pa.types.is_timestamp(f.type) else f.type for f in types}
        found = api.find_arrow_all(collection, {}, schema=api.Schema(fields), batch_size=_PAGE_ROWS)
    names = [field.name for field in types]
    return pa.table([_zoned(found[field.name], field.type) for field in types], names=names)


def _zoned(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Times without a zone are in UTC."""
    return column.cast(pa.timestamp("us")).cast(kind) if pa.types.is_timestamp(kind) else column.cast(kind)


def elasticsearch(question: dict[str, Any], types: pa.Schema) -> Any:
    """All documents, by a point in time and its pages."""
    place = question["place"]
    index = f"{place['endpoint']}/{place['index']}"
    if question["do"] == "count":
        _ask("POST", f"{index}/_refresh")
        return _ask("GET", f"{index}/_count")["count"]
    if question["do"] == "drop":
        return _drop(place)
    names = types.names
    return texts.table(([source.get(name) for name in names] for source in _pages(place["endpoint"], index)), types)


def _drop(place: dict[str, str]) -> None:
    """Removes the index, also by the name of an alias."""
    try:
        for name in _ask("GET", f"{place['endpoint']}/{place['index']}"):
            _ask("DELETE", f"{place['endpoint']}/{name}")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


def _pages(endpoint: str, index: str) -> Iterator[dict[str, Any]]:
    _ask("POST", f"{index}/_refresh")
    opened = _ask("POST", f"{index}/_pit?keep_alive=5m")["id"]
    after: list[Any] = []
    try:
        while True:
            page: dict[str, Any] = {"size": _PAGE_ROWS, "pit": {"id": opened, "keep_alive": "5m"}}
            page |= {"sort": [{"_shard_doc": "asc"}], "track_total_hits": False}
            page |= {"search_after": after} if after else {}
            hits = _ask("POST", f"{endpoint}/_search", page)["hits"]["hits"]
            if not hits:
                return
            yield from (hit["_source"] for hit in hits)
            after = hits[-1]["sort"]
    finally:
        _ask("DELETE", f"{endpoint}/_pit", {"id": opened})


def _ask(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def sqlite(question: dict[str, Any], types: pa.Schema) -> Any:
    """All rows, by the module of Python's library."""
    place = question["place"]
    # duckdb consumes rows on its own thread.
    connection = sqlite3.connect(place["path"], check_same_thread=False)
    if question["do"] == "count":
        return connection.execute(f'SELECT count(*) FROM "{place["table"]}"').fetchone()[0]
    if question["do"] == "drop":
        return None  # the file goes with its folder
    names = ", ".join(f'"{name}"' for name in types.names)
    return texts.table(connection.execute(f'SELECT {names} FROM "{place["table"]}"'), types)


def delta(question: dict[str, Any], types: pa.Schema) -> Any:
    """All rows, by delta-rs."""
    import deltalake

    place = question["place"]
    url = f"s3://{place['bucket']}/{place['key']}"
    if question["do"] == "drop":
        return None  # the objects go with their folder
    table = deltalake.DeltaTable(url, storage_options=contest.object_store(place))
    query = "count(*)" if question["do"] == "count" else ", ".join(f'"{name}"' for name in types.names)
    stream = deltalake.QueryBuilder().register("held", table).execute(f"SELECT {query} FROM held")
    found = pa.RecordBatchReader.from_stream(stream).read_all()
    return found.column(0)[0].as_py() if question["do"] == "count" else found.cast(types)


_SYSTEMS = {"delta": delta, "elasticsearch": elasticsearch, "mongodb": mongodb, "sqlite": sqlite}


def main() -> None:
    """Answers the one question on stdin."""
    question = json.load(sys.stdin)
    answer = _SYSTEMS[question["target"]](question, loads.schema(question))
    json.dump(verify.held(answer) if question["do"] == "look" else answer, sys.stdout)


if __name__ == "__main__":
    main()
