"""The cases of `scan-public` and `write-public`: work that no tool is tuned for; reads are the first of a process (`cold`) and later ones (`warm`)."""

from __future__ import annotations

from lakerace_bench.public_tables import LINEITEM_WRITERS, WIDE_COLUMNS, PublicTable
from lakerace_bench.scan_filter import ScanFilter

#: Reads of the same process before the one that is measured.
READS_BEFORE = {"cold": 0, "warm": 3}

#: A read by the name of the case: columns first, None for all.
Read = tuple[tuple[str, ...] | None, ScanFilter | None]

_PRICE_COLUMNS = ("l_orderkey", "l_extendedprice", "l_shipdate")
_FLAG_COLUMNS = ("l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode")

#: Of `lineitem`, whoever has written it.
_LINEITEM: dict[str, Read] = {
    "all": (None, None),
    "three": (_PRICE_COLUMNS, None),
    "decimals": (("l_quantity", "l_extendedprice", "l_discount", "l_tax"), None),
    "flags": (_FLAG_COLUMNS, None),
    "comment": (("l_comment",), None),
    "two-percent": (None, ScanFilter("l_quantity", equals=7)),
    "half": (None, ScanFilter("l_quantity", below=26)),
    "few": (None, ScanFilter("l_partkey", at_least=1_000, below=1_020)),
    "mode": (("l_orderkey", "l_comment"), ScanFilter("l_shipmode", one_of=("AIR", "RAIL"))),
    "like": (_PRICE_COLUMNS, ScanFilter("l_shipmode", equals="AIR", further=ScanFilter("l_comment", like="%final%"))),
}

#: Of the files of other writers than pyarrow.
_WRITTEN_BY_OTHERS = {name: _LINEITEM[name] for name in ("all", "three", "two-percent")}

_READS: dict[str, dict[str, Read]] = {
    "lineitem-pyarrow": _LINEITEM,
    **{f"lineitem-{writer}": _WRITTEN_BY_OTHERS for writer in LINEITEM_WRITERS if writer != "pyarrow"},
    "orders": {"all": (None, None), "comment": (("o_comment",), None)},
    "part": {"all": (None, None), "brand": (None, ScanFilter("p_brand", equals="Brand#23"))},
    "weblog": {
        "all": (None, None),
        "four": (("EventTime", "UserID", "URL", "Duration"), None),
        "urls": (("URL", "Referer"), None),
        "flags": (tuple(f"Is{number}" for number in range(20)), None),
        "counter": (None, ScanFilter("CounterID", equals=62)),
        "search": (("UserID", "SearchPhrase"), ScanFilter("URL", like="%Go%")),
        "phrase": (("UserID", "URL"), ScanFilter("Tag2", one_of=("",))),
    },
    "taxi": {
        "all": (None, None),
        "doubles": (("trip_distance", "fare_amount", "tip_amount", "total_amount"), None),
        "times": (("tpep_pickup_datetime", "tpep_dropoff_datetime"), None),
        "zone": (None, ScanFilter("PULocationID", equals=132)),
        "far": (("PULocationID", "fare_amount"), ScanFilter("trip_distance", at_least=20)),
    },
    "events": {
        # Without the map, which polars has as a list of pairs.
        "all": (("id", "at", "user", "tags", "scores", "items"), None),
        "struct": (("id", "user"), None),
        "lists": (("tags", "scores"), None),
        "items": (("items",), None),
        "few": (("id", "user", "items"), ScanFilter("id", at_least=500_000, below=500_100)),
    },
    "wide": {
        "five": (tuple(f"c{number * WIDE_COLUMNS // 5}" for number in range(5)), None),
        "all": (None, None),
    },
}


def reads(scale: float) -> list[tuple[str, PublicTable, Read]]:
    """Each read: its name such as `weblog/urls`, the table, and the columns and filter."""
    return [
        (f"{name}-{read}", PublicTable(name, scale), what)
        for name, of_table in _READS.items()
        for read, what in of_table.items()
    ]


def written(scale: float) -> list[tuple[str, PublicTable]]:
    """The tables that are written: their names, and those without maps, which polars has as lists of pairs."""
    names = {"lineitem": "lineitem-pyarrow", "orders": "orders", "part": "part", "weblog": "weblog", "taxi": "taxi"}
    return [(name, PublicTable(of, scale)) for name, of in names.items()]
