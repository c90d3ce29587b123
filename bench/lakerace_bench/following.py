"""Samples of `sync`: a database that follows a Delta table of all rows, of which a thousand change before each sample.

The rows that change are handed to a peer that sends them and nothing else: the floor of what must be sent.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakerace_bench import contestant, process, relay, s3
from lakerace_bench.loads import Loads
from lakerace_bench.relay import Relay

#: Rows of a change: replaced, new, and gone.
REPLACED, NEW, GONE = 700, 200, 100
KEY = "id"
_FRAMINGS = {"mongodb": relay.mongodb, "elasticsearch": relay.http}


@dataclass
class Followed:
    """A table, and the target that follows it."""

    target: str
    #: The rows that the table had at first.
    parquet: Path
    place: dict[str, Any]
    #: The same through the relay that counts, and that relay; None for a file.
    counted_place: dict[str, Any]
    relay: Relay | None
    #: Settings of the table's store, straight and through the relay that counts.
    table: dict[str, str]
    counted_table: dict[str, str]
    source: Relay
    changes: int = 0
    #: What the first load, of all rows, has sent.
    whole_bytes: int = 0


@dataclass
class Following:
    """Makes tables and targets, changes them, and hands out jobs."""

    processes: process.Processes
    stack: ExitStack
    folder: Path
    make_place: Callable[[str, s3.S3 | None], dict[str, Any]]
    _made: dict[tuple[str, str], Followed] = field(default_factory=dict)

    def of(self, target: str, how: str, parquet: Path, store: s3.S3) -> Followed:
        """The table of all rows and its target, where the target has all that the table has."""
        if (target, how) not in self._made:
            self._made[target, how] = self._make(target, how, parquet, store)
        return self._made[target, how]

    def change(self, followed: Followed, inputs: Loads) -> dict[str, Path]:
        """Changes a thousand rows of the table; returns the files of rows that were put, and of keys that are gone."""
        followed.changes += 1
        files = self._write(followed, inputs)
        self._run({"kind": "change", "table": followed.table, **{name: str(path) for name, path in files.items()}})
        return files

    def job(self, followed: Followed, *, counted: bool = True) -> dict[str, Any]:
        """Brings the target to the table's last version."""
        return {
            "kind": "follow",
            "target": followed.target,
            "place": followed.counted_place if counted else followed.place,
            "table": followed.counted_table if counted else followed.table,
            "key": KEY,
        }

    def catch_up(self, followed: Followed) -> None:
        """Lets lakerace bring the target up, unmeasured: it alone knows which version the target has."""
        self._run(self.job(followed, counted=False))

    def begin(self, followed: Followed) -> None:
        """Resets the counts."""
        for one in filter(None, (followed.relay, followed.source)):
            one.reset()

    def taken(self, followed: Followed) -> dict[str, Any]:
        """What has gone to the target and come from the table since then, as fields of a sample."""
        sent = followed.relay.counts() if followed.relay else {}
        found = {"target": sent, "source": followed.source.counts(), "whole_bytes": followed.whole_bytes}
        if not sent:
            return {"counts": found}
        moved = sent["bytes_from_client"] + sent["bytes_to_client"]
        return {"counts": found, "requests": sent["requests"], "request_bytes": moved}

    def _make(self, target: str, how: str, parquet: Path, store: s3.S3) -> Followed:
        place = self.make_place(target, store)
        store.make_bucket()
        table = store.direct.settings(f"followed-{target}-{how}")
        source = self.stack.enter_context(Relay(table["endpoint"], relay.http))
        front = None
        counted = dict(place)
        if target in _FRAMINGS:
            address = "url" if target == "mongodb" else "endpoint"
            scheme, _, server = place[address].partition("://")
            front = self.stack.enter_context(Relay(server, _FRAMINGS[target]))
            counted[address] = f"{scheme}://{front.address}"
        through = table | {"endpoint": source.address}
        followed = Followed(target, parquet, place, counted, front, table, through, source)
        self._run({"kind": "change", "table": table, "all": str(parquet), "has_feed": how == "feed"})
        self._run(self.job(followed))
        followed.whole_bytes = front.counts()["bytes_from_client"] if front else Path(place["path"]).stat().st_size
        return followed

    def _write(self, followed: Followed, inputs: Loads) -> dict[str, Path]:
        """Rows that change, anywhere in the table: no key changes twice, and no two changes are the same."""
        rows = pq.read_table(followed.parquet)
        order = np.random.Generator(np.random.PCG64(inputs.seed)).permutation(inputs.rows)
        each = REPLACED + GONE
        begin = (followed.changes - 1) * each
        if begin + each > inputs.rows:
            raise ValueError(f"{inputs.rows} rows are too few for {followed.changes} changes")
        old, gone = np.split(order[begin : begin + each], [REPLACED])
        first = inputs.rows + (followed.changes - 1) * NEW
        keys = np.concatenate([old, np.arange(first, first + NEW)])
        put = rows.take(np.concatenate([old, old[:NEW]]))
        text = pc.binary_join_element_wise(put["t01"], pa.scalar(f"change {followed.changes}"), " ")
        put = put.set_column(put.schema.get_field_index(KEY), put.schema.field(KEY), pa.array(keys.astype(np.int64)))
        put = put.set_column(put.schema.get_field_index("t01"), put.schema.field("t01"), text)
        home = self.stack.enter_context(process.scratch(self.folder))
        files = {"put": home / "put.parquet", "gone": home / "gone.parquet"}
        pq.write_table(put, files["put"])
        pq.write_table(pa.table({KEY: pa.array(gone.astype(np.int64))}), files["gone"])
        return files

    def _run(self, job: dict[str, Any]) -> None:
        """Has lakerace do something that is not measured."""
        filler = next(one for one in contestant.discover() if one.subject)
        shared = {"threads": 1, "options": {}, "looked_at": False}
        self.processes.run(filler, shared | job, process.cpus_for(1)[0])
