"""elasticsearch-py: `helpers.bulk` and `helpers.parallel_bulk`, a point in time with `search_after`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import contest
import elasticsearch
import loads
import texts
from elasticsearch import helpers

_PAGE_ROWS = 5_000
_VERSION = ".".join(map(str, elasticsearch.__version__))


def load(job: dict[str, Any]) -> contest.Prepared:
    """Makes the index, and sends each batch."""
    client, index = _client(job), job["place"]["index"]
    threads, parallel = job["threads"], job["options"]["helper"] == "parallel_bulk"
    source = loads.source(job)

    def work() -> None:
        client.indices.create(
            index=index,
            mappings=loads.mapping(loads.schema(job)),
            settings={"number_of_replicas": 0, "refresh_interval": "-1"},
        )
        for batch in source():
            actions = ({"_index": index, "_source": row} for row in batch.to_pylist())
            if parallel:
                for _ in helpers.parallel_bulk(client, actions, thread_count=threads):
                    pass
            else:
                helpers.bulk(client, actions)
        client.indices.put_settings(index=index, settings={"refresh_interval": None})
        client.indices.refresh(index=index)

    return contest.Prepared(_VERSION, work, {"helper": job["options"]["helper"], "threads": threads if parallel else 1})


def follow(job: dict[str, Any]) -> contest.Prepared:
    """Puts the rows that have changed and removes those that are gone, by their key, which is the `_id`."""
    client, index, key = _client(job), job["place"]["index"], job["key"]
    put, gone = loads.changed(job)

    def work() -> None:
        actions: list[dict[str, Any]] = [{"_index": index, "_id": str(row[key]), "_source": row} for row in put]
        actions += [{"_op_type": "delete", "_index": index, "_id": str(each)} for each in gone]
        helpers.bulk(client, actions)
        client.indices.refresh(index=index)

    return contest.Prepared(_VERSION, work, {"helper": "bulk"})


def unload(job: dict[str, Any]) -> contest.Prepared:
    """Every document as a dict."""
    client, index, types = _client(job), job["place"]["index"], loads.schema(job)
    names = types.names

    def again() -> Any:
        return texts.table(([row.get(name) for name in names] for row in _rows(client, index)), types)

    return loads.counted(job, _VERSION, lambda: loads.exhausted(_rows(client, index)), again, size=_PAGE_ROWS)


def _rows(client: Any, index: str) -> Iterator[dict[str, Any]]:
    opened = client.open_point_in_time(index=index, keep_alive="5m")["id"]
    after = None
    try:
        while True:
            pit = {"id": opened, "keep_alive": "5m"}
            page = {"size": _PAGE_ROWS, "pit": pit, "sort": [{"_shard_doc": "asc"}], "track_total_hits": False}
            hits = client.search(**page, search_after=after)["hits"]["hits"]
            if not hits:
                return
            for hit in hits:
                yield hit["_source"]
            after = hits[-1]["sort"]
    finally:
        client.close_point_in_time(id=opened)


def _client(job: dict[str, Any]) -> Any:
    return elasticsearch.Elasticsearch(job["place"]["endpoint"], request_timeout=600)


if __name__ == "__main__":
    contest.main({"load": load, "follow": follow, "unload": unload})
