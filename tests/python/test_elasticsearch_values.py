"""Values and definitions of indices as other clients see them: the server itself is the judge, asked by plain HTTP."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import gzip
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import elastic
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from http_server import QuietHandler, serving

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UTC = dt.timezone.utc


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An Elasticsearch server's `http://host:port`."""
    with elastic.endpoint("elasticsearch-8") as endpoint:
        yield endpoint.rstrip("/")


def location(server: str, index: str, parameters: str = "") -> str:
    return f"{server.replace('http://', 'elasticsearch://')}/{index}{parameters}"


def ask(server: str, method: str, path: str, body: str | dict[str, Any] | None = None) -> Any:
    """The server's answer; the body may be a text, whose digits stay as they are."""
    text = body if isinstance(body, str) else None if body is None else json.dumps(body)
    request = urllib.request.Request(f"{server}{path}", method=method, data=None if text is None else text.encode())
    request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def index(server: str, name: str, body: dict[str, Any], documents: list[str]) -> None:
    """Makes an index and puts documents there, named `0`, `1` and so on."""
    ask(server, "PUT", f"/{name}", body)
    for number, document in enumerate(documents):
        ask(server, "PUT", f"/{name}/_doc/{number}?refresh=true", document)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 1, 2**64 - 1], pa.uint64()),
        pa.array([-1, 2**63 - 1], pa.int64()),
        pa.array([True, False]),
        pa.array([dt.date(1, 1, 1), dt.date(2024, 2, 29)]),
        pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), dt.datetime(2024, 2, 29, tzinfo=UTC)]),
        pa.array([10**18 + 1, -1], pa.timestamp("ns")),
        pa.array([decimal.Decimal("1234567890123456789.01"), decimal.Decimal("-0.10")], pa.decimal128(38, 2)),
        pa.array([b"\x00" * 16, b"\xff" * 16], pa.binary(16)),
        pa.array([b"a", b"\x00\xff"], pa.binary()),
        pa.array([dt.time(1, 2, 3, 4), dt.time(23, 59)], pa.time64("us")),
        pa.array(["a", "\u00e9/ |"]),
    ],
    ids=lambda values: str(values.type),
)
def test_an_id_comes_back_in_its_type(server: str, values: pa.Array) -> None:
    name = f"ids-{abs(hash(str(values.type)))}"
    table = pa.table({"_id": values, "n": pa.array(range(len(values)), pa.int64())})
    lr.copy(table, location(server, name), mode="overwrite")
    back = pa.table(lr.scan(location(server, name))).sort_by("n")
    assert back["_id"].combine_chunks().cast(values.type).equals(values)
    assert back["_id"].type == values.type


def test_an_id_of_another_type_is_an_error(server: str) -> None:
    lr.copy(pa.table({"_id": pa.array([1], pa.int64()), "v": ["a"]}), location(server, "mixed-ids"), mode="overwrite")
    ask(server, "PUT", "/mixed-ids/_doc/other?refresh=true", {"v": "b"})
    read = run("scan", location(server, "mixed-ids"))
    assert read.code == 4, read.err
    assert "_id" in read.err


def test_floats_have_the_digits_of_their_documents(server: str) -> None:
    texts = ["0.123456789012", "16777217", "12345678.9", "1e300", "-0.0", "9007199254740992", '"1.5"']
    mapping = {"f": {"type": "float", "ignore_malformed": True}, "s": {"type": "double"}}
    index(server, "floats", {"mappings": {"properties": mapping}}, [f'{{"f":{text}}}' for text in texts])
    found = pa.table(lr.scan(location(server, "floats", "?metadata=_id"))).sort_by("_id")["f"].to_pylist()
    assert found == [float(text.strip('"')) for text in texts]
    ask(server, "PUT", "/floats/_doc/7?refresh=true", '{"s":9007199254740993}')
    read = run("scan", location(server, "floats"))
    assert read.code == 4
    assert '"7"' in read.err
    assert '"s"' in read.err
    exact = pa.table(lr.scan(location(server, "floats"), schema="s decimal(20, 0)"))["s"].to_pylist()
    assert decimal.Decimal(9007199254740993) in exact


@pytest.mark.filterwarnings("ignore:.*which are cut off:lakerace.LakeraceWarning")
@pytest.mark.parametrize("kind", ["date", "date_nanos"])
def test_dates_are_what_the_server_takes_them_for(server: str, kind: str) -> None:
    texts = [
        "2024-05-01T10:00:00.1234567Z",
        "1420070400000",
        "2024",
        "2024-05",
        "2024-05-01",
        "2024-05-01T10",
        "2024-05-01T10:30",
        "2024-05-01T10:00:00,123Z",
        "2024-05-01T10:00:00+0200",
        "2024-05-01T10:00:00-04:30",
        "2024-05-01T10+02",
        "2024-05-01T",
        "20240",
        "999",
        "2024-05-01T10:00:00.123456789",
        "2024-05-01T10:00Z",
        "1420070400000.5",
    ]
    texts += ["-1", "-1000", "1969-12-31T23:59:59.999Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z"] * (
        kind == "date"
    )
    name = f"texts-of-{kind}"
    documents = [json.dumps({"d": text}) for text in texts]
    documents += [f'{{"d":{text}}}' for text in texts if text.isdigit()]
    ask(server, "PUT", f"/{name}", {"mappings": {"properties": {"d": {"type": kind}}}})
    taken = []
    for number, document in enumerate(documents):
        try:
            ask(server, "PUT", f"/{name}/_doc/{number}?refresh=true", document)
        except urllib.error.HTTPError:
            continue
        taken.append(str(number))
    assert len(taken) >= 15
    hits = ask(
        server,
        "POST",
        f"/{name}/_search",
        {"size": 100, "docvalue_fields": [{"field": "d", "format": "epoch_millis"}]},
    )["hits"]["hits"]
    expected = {hit["_id"]: int(float(hit["fields"]["d"][0]) // 1) for hit in hits}
    assert sorted(expected) == sorted(taken)
    back = pa.table(lr.scan(location(server, name, "?metadata=_id")))
    per_ms = 1000 if kind == "date" else 1_000_000
    units = back["d"].cast(pa.int64()).to_pylist()
    found = {name: value // per_ms for name, value in zip(back["_id"].to_pylist(), units, strict=True)}
    assert found == expected


def test_digits_of_a_time_are_cut_with_a_warning_alone(server: str, tmp_path: Path) -> None:
    body = {"mappings": {"properties": {"d": {"type": "date"}, "e": {"type": "date"}}}}
    index(server, "cut", body, ['{"d":"2024-05-01T10:00:00.1234567Z","e":"2024-05-01T10:00:00.123Z"}'])
    done = ok("copy", location(server, "cut"), tmp_path / "cut.parquet")
    assert '"d"' in done.err
    assert '"e"' not in done.err
    assert pq.read_table(tmp_path / "cut.parquet")["d"].to_pylist() == [dt.datetime(2024, 5, 1, 10, 0, 0, 123456, UTC)]
    whole = pa.table(lr.scan(location(server, "cut"), schema="d timestamp(ns, UTC)"))
    assert whole["d"].cast(pa.int64()).to_pylist()[0] % 10**9 == 123456700


def test_values_outside_of_the_mapping_are_named_and_read(server: str, tmp_path: Path) -> None:
    mapping = {
        "dynamic": False,
        "properties": {"a": {"type": "long"}, "o": {"properties": {"x": {"type": "long"}}}},
        "runtime": {"r": {"type": "long"}},
    }
    documents = ['{"a":1,"b":12345678901234567890.5,"o":{"x":1,"y":[1]},"c":null,"r":7}', '{"a":2,"c":[],"z.w":1}']
    index(server, "unmapped", {"mappings": mapping}, documents)
    done = ok("copy", location(server, "unmapped"), tmp_path / "a.parquet")
    for name in ('"b"', '"o.y"', '"z.w"'):
        assert name in done.err, done.err
    assert '"c"' not in done.err
    table = pq.read_table(tmp_path / "a.parquet").sort_by("a")
    assert table["r"].to_pylist() == [7, None]
    # They are known when all rows are read.
    with pytest.warns(lr.LakeraceWarning) as told:
        read = pa.table(lr.scan(location(server, "unmapped", "?json=b"))).sort_by("a")
    [warning] = told
    assert warning.filename == __file__
    assert '"o.y"' in str(warning.message)
    assert '"b"' not in str(warning.message)
    assert read["b"].to_pylist() == ["12345678901234567890.5", None]
    assert ok("copy", location(server, "unmapped"), tmp_path / "b.parquet", "--columns", "a").err.count("warning") == 0


OLD = {
    "settings": {
        "number_of_shards": 2,
        "refresh_interval": "7s",
        "analysis": {"analyzer": {"mine": {"type": "standard", "stopwords": ["the"]}}},
    },
    "mappings": {
        "dynamic": "false",
        "_meta": {"owner": "theirs"},
        "properties": {
            "t": {"type": "text", "analyzer": "mine", "fields": {"raw": {"type": "keyword"}}},
            "n": {"type": "long"},
            "also": {"type": "alias", "path": "n"},
            "gone": {"type": "ip"},
        },
    },
    "aliases": {
        "OLD-all": {},
        "OLD-some": {"filter": {"range": {"n": {"gt": 1}}}, "routing": "r"},
    },
}


@pytest.mark.parametrize("is_alias", [False, True])
def test_an_overwrite_keeps_what_stands_around_the_rows(server: str, is_alias: bool) -> None:
    name = f"kept-{is_alias}".lower()
    old = json.loads(json.dumps(OLD).replace("OLD", name))
    ask(server, "PUT", f"/{name}", old)
    table = pa.table({"t": ["Some Text", "b"], "n": pa.array([1, 2], pa.int64()), "new": [0.5, 1.5]})
    for _ in range(2 if is_alias else 1):
        # The second time, the name is an alias of an index of the first.
        lr.copy(table, location(server, name), mode="overwrite", key="n", verify=True)
    (now,) = ask(server, "GET", f"/{name}").values()
    settings, mappings = now["settings"]["index"], now["mappings"]
    assert (settings["number_of_shards"], settings["refresh_interval"]) == ("2", "7s")
    assert settings["analysis"] == OLD["settings"]["analysis"]  # type: ignore[index]
    assert mappings["dynamic"] == "false"
    assert mappings["_meta"]["owner"] == "theirs"
    properties = mappings["properties"]
    assert {key: properties[key] for key in ("t", "n", "also")} == {
        key: OLD["mappings"]["properties"][key]
        for key in ("t", "n", "also")  # type: ignore[index]
    }
    assert "gone" not in properties
    aliases = next(iter(ask(server, "GET", f"/{name}/_alias").values()))["aliases"]
    assert aliases == {
        name: {},
        f"{name}-all": {},
        f"{name}-some": {"filter": {"range": {"n": {"gt": 1}}}, "index_routing": "r", "search_routing": "r"},
    }
    hits = ask(server, "POST", f"/{name}-all/_search", {"query": {"term": {"t": "some"}}})["hits"]["hits"]
    assert [hit["_source"]["n"] for hit in hits] == [1]


def test_an_alias_does_not_leave_others_on_the_old_rows(server: str) -> None:
    index(server, "shared-1", {"aliases": {"shared": {}, "shared-view": {}}}, ['{"n":1}', '{"n":2}'])
    new = pa.table({"n": [7]})
    with pytest.raises(lr.ConflictError, match=r'"shared-1".*: shared-view \(overwrite "shared-1" itself'):
        lr.copy(new, location(server, "shared"), mode="overwrite")
    assert ask(server, "GET", "/shared/_count")["count"] == 2
    assert ask(server, "GET", "/shared-view/_count")["count"] == 2
    # By its own name, the index takes all of its aliases along.
    lr.copy(new, location(server, "shared-1"), mode="overwrite")
    for name in ("shared-1", "shared", "shared-view"):
        assert lr.scan(location(server, name)).to_arrow().to_pydict() == {"n": [7]}
    # An alias that is the only one moves, and the index of others stays.
    index(server, "single-1", {"aliases": {"single": {}}}, ['{"n":1}'])
    lr.copy(new, location(server, "single"), mode="overwrite")
    assert lr.scan(location(server, "single")).to_arrow().to_pydict() == {"n": [7]}
    assert ask(server, "GET", "/single-1/_count")["count"] == 1
    # The name stands for an index of a load now, whose other aliases go along.
    (loaded,) = ask(server, "GET", "/single")
    ask(server, "POST", "/_aliases", {"actions": [{"add": {"index": loaded, "alias": "single-view"}}]})
    lr.copy(pa.table({"n": [8]}), location(server, "single"), mode="overwrite")
    assert lr.scan(location(server, "single-view")).to_arrow().to_pydict() == {"n": [8]}


def test_a_blocked_index_is_not_replaced(server: str) -> None:
    index(server, "blocked", {"settings": {"index.blocks.write": False}}, ['{"n":1}'])
    ask(server, "PUT", "/blocked/_settings", {"index.blocks.write": True})
    with pytest.raises(lr.ConflictError, match=r"index\.blocks\.write"):
        lr.copy(pa.table({"n": [1]}), location(server, "blocked"), mode="overwrite")
    assert ask(server, "GET", "/blocked/_count")["count"] == 1


OLD_TIMES = [
    dt.datetime(1, 1, 1, tzinfo=UTC),
    dt.datetime(1965, 7, 1, 12, 0, 0, 123000, UTC),
    dt.datetime(9999, 12, 31, tzinfo=UTC),
]


def times(values: list[dt.datetime], zone: str | None = "UTC") -> pa.Table:
    column = pa.array([value.replace(tzinfo=None) for value in values], pa.timestamp("us")).cast(
        pa.timestamp("us", zone)
    )
    return pa.table({"n": pa.array(range(len(values)), pa.int64()), "t": column})


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_before_1970_are_dates_of_whole_milliseconds(server: str, zone: str | None) -> None:
    name, rows = f"old-times-{zone}".lower(), times(OLD_TIMES, zone)
    lr.copy(rows, location(server, name), mode="overwrite", key="n", verify=True)
    (found,) = ask(server, "GET", f"/{name}/_mapping").values()
    assert found["mappings"]["properties"]["t"]["type"] == "date"
    query = {"query": {"range": {"t": {"lt": "1970-01-01", "gt": "1900-01-01"}}}}
    hits = ask(server, "POST", f"/{name}/_search", query)["hits"]["hits"]
    assert [hit["_id"] for hit in hits] == ["1"]
    # More of them are added by value, those of more digits are told of.
    lr.copy(times([*OLD_TIMES, OLD_TIMES[1]], zone).slice(3), location(server, name), mode="append", key="n")
    finer = times([OLD_TIMES[1].replace(microsecond=1)], zone)
    with pytest.raises(lr.InvalidInputError, match="milliseconds"):
        lr.copy(finer, location(server, name), mode="upsert", key="n")
    lr.copy(finer, location(server, name), mode="upsert", key="n", allow_narrowing=True)
    back = pa.table(lr.scan(location(server, name))).sort_by("n")
    assert back["t"].slice(0, 1).equals(finer["t"])


def test_times_before_1970_with_microseconds_need_a_choice(server: str) -> None:
    fine = times([*OLD_TIMES[:2], OLD_TIMES[1].replace(microsecond=1)])
    with pytest.raises(lr.InvalidInputError, match=r"\?date=t"):
        lr.copy(fine, location(server, "fine-times"))
    assert run("scan", location(server, "fine-times")).code == 3
    lr.copy(fine, location(server, "fine-times", "?date=t"), key="n", verify=True)
    assert pa.table(lr.scan(location(server, "fine-times"))).sort_by("n").equals(fine)
    recent = times([dt.datetime(2024, 1, 1, 0, 0, 0, 1, UTC)])
    lr.copy(recent, location(server, "recent-times"))
    (found,) = ask(server, "GET", "/recent-times/_mapping").values()
    assert found["mappings"]["properties"]["t"]["type"] == "date_nanos"
    with pytest.raises(lr.InvalidInputError, match="1970"):
        lr.copy(fine, location(server, "recent-times"), mode="append")


def test_float_fields_take_back_what_they_gave(server: str) -> None:
    index(
        server, "floats-back", {"mappings": {"properties": {"f": {"type": "float"}}}}, ['{"f":0.1}', '{"f":16777216}']
    )
    rows = pa.table(lr.scan(location(server, "floats-back", "?metadata=_id")))
    assert lr.copy(rows, location(server, "floats-back"), mode="upsert", key="_id").rows == 2
    finer = pa.table({"_id": ["0"], "f": [0.123456789012]})
    with pytest.raises(lr.InvalidInputError, match="float"):
        lr.copy(finer, location(server, "floats-back"), mode="upsert", key="_id")
    lr.copy(finer, location(server, "floats-back"), mode="upsert", key="_id", allow_narrowing=True)
    assert 0.123456789012 in pa.table(lr.scan(location(server, "floats-back")))["f"].to_pylist()


BOMB = gzip.compress(bytes(300 << 20), 1)


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_unpacks_to_too_much_is_an_error(status: int) -> None:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                self.send(status, BOMB, {"Content-Encoding": "gzip"})

    with serving(Handler) as bombs:
        done = run("scan", f"{bombs.replace('http', 'elasticsearch')}/bomb?gzip=true", "--json")
    assert done.code == 8, done.err
    assert ("more than" in done.err) == (status == 200)
    assert "panicked" not in done.err
