"""MongoDB through the command, with pymongo as the oracle."""

from __future__ import annotations

import datetime
import decimal
import json
import signal
import subprocess
import time
import uuid
from typing import TYPE_CHECKING, Any

import bson
import mongoserver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command, ok, people, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UTC = datetime.timezone.utc


@pytest.fixture(scope="module")
def server() -> Iterator[mongoserver.MongoServer]:
    """A server."""
    with mongoserver.started() as started:
        yield started


@pytest.fixture
def mongo(server: mongoserver.MongoServer) -> Iterator[mongoserver.MongoServer]:
    """A database of its own."""
    own = mongoserver.MongoServer(server.url)
    yield own
    own.close()


def checksum(source: object) -> str:
    """The checksum of a source."""
    value = ok("scan", source, "--checksum").out.strip()
    assert len(value) >= 32
    return value


def test_there_and_back_with_one_checksum(mongo: mongoserver.MongoServer, parquet: Path, tmp_path: Path) -> None:
    at = mongo.location("people")
    done = ok("copy", parquet, at, "--key", "id", "--verify", "--json")
    assert done.json["rows"] == 1000
    documents = list(mongo.client[mongo.database]["people"].find({}, sort=[("id", 1)]))
    assert documents[7] == {"_id": 7, "id": 7, "name": None, "score": 1.75}
    assert checksum(at) == checksum(parquet)
    ok("copy", at, tmp_path / "back.parquet")
    assert pq.read_table(tmp_path / "back.parquet").sort_by("id").equals(people())


def test_an_upsert_into_an_empty_collection(mongo: mongoserver.MongoServer) -> None:
    """Another upsert may just have made it, and sends its rows in a moment."""
    names = ["made", "theirs"]
    for name in names:
        mongo.client[mongo.database].create_collection(name)
    mongo.client[mongo.database]["theirs"].create_index("id", unique=True)
    for name in names:
        for _ in range(2):
            assert lr.copy(people(10), mongo.location(name), mode="upsert", key="id").rows == 10
        documents = list(mongo.client[mongo.database][name].find({}, sort=[("id", 1)]))
        assert [document["id"] for document in documents] == list(range(10))
        # Whoever has an index for the key keeps ids of the server.
        assert all((document["_id"] == document["id"]) == (name == "made") for document in documents)


def test_documents_of_pymongo(mongo: mongoserver.MongoServer) -> None:
    oid = bson.ObjectId("0123456789abcdef01234567")
    document = {
        "_id": oid,
        "i": 1,
        "l": bson.Int64(2**63 - 1),
        "d": 0.1,
        "dec": bson.Decimal128("12.50"),
        "at": datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC),
        "u": uuid.UUID(int=7),
        "b": b"\0\xff",
        "s": "007",
        "n": None,
        "list": [{"x": 1}, {"y": "z"}],
        "doc": {"a": {"b": True}},
    }
    mongo.client[mongo.database]["any"].insert_one(document)
    table = lr.scan(mongo.location("any")).to_arrow()
    row = table.to_pylist()[0]
    assert row["_id"] == str(oid)
    assert (row["i"], row["l"], row["d"], row["s"], row["n"]) == (1, 2**63 - 1, 0.1, "007", None)
    assert row["dec"] == decimal.Decimal("12.5")
    assert row["at"] == document["at"]
    assert row["b"] == b"\0\xff"
    assert row["list"] == [{"x": 1, "y": None}, {"x": None, "y": "z"}]
    assert row["doc"] == {"a": {"b": True}}
    ok("copy", mongo.location("any"), mongo.location("again"))
    again = mongo.client[mongo.database]["again"].find_one({})
    assert again is not None
    assert (again["_id"], again["u"], again["at"], again["dec"]) == (
        oid,
        document["u"],
        document["at"],
        bson.Decimal128("12.5"),
    )


def test_a_load_that_is_killed_goes_on(mongo: mongoserver.MongoServer, tmp_path: Path) -> None:
    rows = 60_000
    pq.write_table(people(rows), tmp_path / "people.parquet", row_group_size=5000)
    collection = mongo.client[mongo.database]["people"]
    arguments = [
        "copy",
        tmp_path / "people.parquet",
        mongo.location("people"),
        "--batch-rows",
        "2000",
        "--mode",
        "append",
    ]
    for _ in range(3):
        resume = ["--resume"] if collection.estimated_document_count() else []
        before = collection.estimated_document_count()
        load = subprocess.Popen(command(*arguments, *resume, "--max-rate", "20000"), stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while collection.estimated_document_count() < before + 5000 and time.monotonic() < end:
            time.sleep(0.02)
        load.send_signal(signal.SIGKILL)
        load.wait()
    ok(*arguments, "--resume")
    ids = sorted(document["id"] for document in collection.find({}, {"id": 1}))
    assert ids == list(range(rows))
    assert checksum(mongo.location("people")) == checksum(tmp_path / "people.parquet")


def test_a_server_that_breaks_connections_and_steps_down(mongo: mongoserver.MongoServer, parquet: Path) -> None:
    fails = {"failCommands": ["insert"], "closeConnection": True}
    mongo.client.admin.command({"configureFailPoint": "failCommand", "mode": {"times": 2}, "data": fails})
    assert ok("copy", parquet, mongo.location("cut"), "--json").json["rows"] == 1000
    fails = {"failCommands": ["insert"], "errorCode": 10107}
    mongo.client.admin.command({"configureFailPoint": "failCommand", "mode": {"times": 2}, "data": fails})
    assert ok("copy", parquet, mongo.location("down"), "--json").json["rows"] == 1000
    for name in ("cut", "down"):
        assert mongo.client[mongo.database][name].count_documents({}) == 1000
        assert checksum(mongo.location(name)) == checksum(parquet)


def test_rejected_rows_and_a_canary(mongo: mongoserver.MongoServer, tmp_path: Path) -> None:
    table = pa.table({"id": ["canary-value", "a", "canary-value"], "n": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    failed = run("copy", tmp_path / "t.parquet", mongo.location("c"), "--key", "id", "--json")
    assert failed.error["exit_code"] == 7
    assert "canary" not in failed.out + failed.err
    letters = tmp_path / "letters.jsonl"
    done = ok("copy", tmp_path / "t.parquet", mongo.location("c"), "--key", "id", "--dead-letter", letters, "--json")
    assert done.json["rows"] == 2
    letter = json.loads(letters.read_text())
    assert letter["key"] == {"id": "canary-value"}
    assert "canary" not in done.out + done.err


def test_wrong_names_and_credentials(mongo: mongoserver.MongoServer) -> None:
    mongo.client[mongo.database]["orders"].insert_one({"x": 1})
    missing = run("scan", mongo.location("order"), "--json")
    assert missing.code == 3
    assert "orders" in missing.err
    port = mongoserver.free_port()
    location = f"mongodb://me:canary@127.0.0.1:{port}/a/b?serverSelectionTimeoutMS=500"
    down = run("scan", location, "--json")
    assert down.code == 8
    assert "canary" not in down.out + down.err


def test_upserts_and_filters(mongo: mongoserver.MongoServer, parquet: Path, tmp_path: Path) -> None:
    at = mongo.location("people")
    ok("copy", parquet, at, "--key", "id")
    newer = pa.table({"id": pa.array([1, 1, 5000]), "name": ["old", "new", "added"], "score": [None, 2.5, -1.0]})
    pq.write_table(newer, tmp_path / "newer.parquet")
    ok("copy", tmp_path / "newer.parquet", at, "--key", "id", "--mode", "upsert")
    found = lr.scan(at, where="score < 0 OR name = 'new'", columns=["id", "name"]).rows()
    assert sorted(found) == [(1, "new"), (5000, "added")]
    assert mongo.client[mongo.database]["people"].count_documents({}) == 1001


def signed(folder: Path) -> tuple[Path, Path, Path]:
    """An authority's certificate, and a key and certificate that it has signed for this machine."""
    authority, authority_key = folder / "authority.pem", folder / "authority-key.pem"
    key, request, certificate = folder / "key.pem", folder / "request.pem", folder / "certificate.pem"
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes"]
    for step in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", authority_key, "-out", authority],
        [*new, "-subj", "/CN=localhost", "-keyout", key, "-out", request],
        ["openssl", "x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority_key, "-CAcreateserial",
         "-days", "2", "-extfile", folder / "extensions", "-out", certificate],
    ):  # fmt: skip
        subprocess.run(step, check=True, capture_output=True)
    return authority, key, certificate


def test_certificates_are_told(tmp_path: Path) -> None:
    authority, key, certificate = signed(tmp_path)
    with mongoserver.started(["--tls-cert-file", str(certificate), "--tls-key-file", str(key)]) as server:
        options = f"?tls=true&tlsCAFile={authority}&serverSelectionTimeoutMS=3000"
        client = mongoserver.pymongo.MongoClient(server.url + "/" + options)
        client[server.database]["c"].insert_one({"x": 1})
        client.close()
        assert ok("scan", server.location("c", options), "--count").out.strip() == "1"
        refused = run("scan", server.location("c", "?tls=true&serverSelectionTimeoutMS=3000"), "--json")
        assert refused.code == 4
        assert "certificate" in refused.err


def test_an_overwrite_keeps_the_options_of_a_collection(mongo: mongoserver.MongoServer) -> None:
    database = mongo.client[mongo.database]
    rows = pa.table({"n": pa.array([1, 2], pa.int64())})
    database.create_collection("checked", validator={"n": {"$type": "long"}}, validationLevel="moderate")
    database.create_collection("moved")
    database.checked.create_index([("n", 1)], unique=True, partialFilterExpression={"n": {"$gt": 0}})
    database.command({"create": "seen", "viewOn": "checked", "pipeline": [{"$match": {"n": {"$gt": 1}}}]})

    def state(name: str) -> tuple[Any, Any]:
        (found,) = database.list_collections(filter={"name": name})
        return found.get("options", {}), database[name].index_information()

    before = state("checked")
    assert lr.copy(rows, mongo.location("checked"), mode="overwrite", verify=True).rows == 2
    assert state("checked") == before
    assert [document["n"] for document in database.seen.find()] == [2]
    # What a server forgets with a collection's name is not overwritten.
    for name, options in {
        "sorted": {"collation": {"locale": "fr"}},
        "capped": {"capped": True, "size": 1 << 20},
    }.items():
        database.create_collection(name, **options)  # type: ignore[arg-type]
        database[name].insert_one({"n": 7})
        before = state(name)
        try:
            lr.copy(rows, mongo.location(name), mode="overwrite")
        except lr.UnsupportedError as error:
            assert next(iter(options)) in str(error)
            assert database[name].count_documents({}) == 1
        assert state(name) == before
