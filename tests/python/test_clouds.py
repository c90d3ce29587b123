"""Azure, Google Cloud Storage and HTTP: the same rows as on disk, judged by other clients, Delta tables, and their ways to fail."""

from __future__ import annotations

import http.server
import json
import os
import threading
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

import azurite
import google_storage
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, people, run
from deltalake import DeltaTable
from http_server import serving_folder

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class Cloud:
    """A store, and what other clients need to reach it."""

    #: The URL of a key.
    url: Callable[[str], str]
    #: Storage options that reach the server.
    options: dict[str, str]
    #: The bytes of a key, through another client.
    read: Callable[[str], bytes]
    #: The keys below a prefix, through the same client.
    keys: Callable[[str], list[str]]
    #: An option with which the store denies access.
    denied: tuple[str, str]
    #: What names where it is.
    endpoint: str

    @property
    def env(self) -> dict[str, str]:
        """The options as variables of the environment."""
        return {name.upper(): value for name, value in self.options.items()}


def _google_read(server: google_storage.GoogleStorage, key: str) -> bytes:
    """The bytes of an object by the raw interface."""
    quoted = urllib.request.quote(f"/{google_storage.BUCKET}/{key}")
    request = urllib.request.Request(
        server.endpoint + quoted, headers={"Authorization": f"Bearer {google_storage.TOKEN}"}
    )
    with urllib.request.urlopen(request) as answer:
        data: bytes = answer.read()
    return data


@pytest.fixture(scope="module")
def azure() -> Iterator[Cloud]:
    """Azurite."""
    with azurite.started() as server:
        denied = ("azure_storage_account_key", "bm8=")
        yield Cloud(server.url, server.options, server.read, server.keys, denied, "azure_storage_endpoint")


@pytest.fixture(scope="module")
def google() -> Iterator[Cloud]:
    """The stand-in for Google Cloud Storage."""
    with google_storage.started() as server:
        denied = ("google_bearer_token", google_storage.DENIED_TOKEN)
        yield Cloud(
            server.url,
            server.options,
            lambda key: _google_read(server, key),
            lambda prefix: sorted(key for key in server.objects if key.startswith(prefix)),
            denied,
            "google_base_url",
        )


@pytest.fixture(params=["azure", "google"])
def cloud(request: pytest.FixtureRequest) -> Cloud:
    """Each of them."""
    found: Cloud = request.getfixturevalue(request.param)
    return found


def test_there_and_back(cloud: Cloud, parquet: Path, tmp_path: Path) -> None:
    expected = ok("scan", parquet, "--checksum").out
    for name in ("people.parquet", "a b%+ü#?.csv", "people.orc"):
        report = ok("copy", parquet, cloud.url(f"there/{name}"), "--json", env=cloud.env).json
        assert report["files"] == [cloud.url(f"there/{name}")]
        assert report["requests"]["put"] == 1
        assert ok("scan", cloud.url(f"there/{name}"), "--checksum", env=cloud.env).out == expected
        (tmp_path / name).write_bytes(cloud.read(f"there/{name}"))
        assert ok("scan", tmp_path / name, "--checksum").out == expected
    for folder in ("there/*.parquet", "there/*.orc"):
        assert ok("scan", cloud.url(folder), "--count", env=cloud.env).out.strip() == "1000"
    again = run("copy", parquet, cloud.url("there/people.parquet"), "--json", env=cloud.env)
    assert again.error["kind"] == "conflict"


def test_delta_tables(cloud: Cloud, parquet: Path, tmp_path: Path) -> None:
    place = cloud.url("tables/people")
    lr.copy(parquet, f"delta:{place}", storage_options=cloud.options)
    table = lr.Table(place, key="id", storage_options=cloud.options)
    changes = pa.table({"id": pa.array([0, 5000], pa.int64()), "name": ["new", "newer"], "score": [1.0, 2.0]})
    table.upsert(changes, enable_deletion_vectors=True)
    found = sorted(lr.scan(place, storage_options=cloud.options).to_arrow().to_pylist(), key=lambda row: row["id"])
    rows = people().slice(1).to_pylist()
    assert found == [changes.slice(0, 1).to_pylist()[0], *rows, changes.slice(1).to_pylist()[0]]
    # The version before the deletion vectors, of the bytes that another client reads, by delta-rs.
    for key in cloud.keys("tables/people/"):
        copied = tmp_path / key
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(cloud.read(key))
    other = DeltaTable(tmp_path / "tables" / "people", version=0).to_pyarrow_table()
    assert other.sort_by("id").to_pylist() == people().to_pylist()
    log = cloud.read("tables/people/_delta_log/00000000000000000001.json").decode()
    assert any("commitInfo" in json.loads(line) for line in log.splitlines())
    assert ok("verify", place, env=cloud.env).code == 0


def test_commits_that_race_replace_none(cloud: Cloud, parquet: Path) -> None:
    place = cloud.url("tables/race")
    lr.copy(parquet, f"delta:{place}", storage_options=cloud.options)
    failures: list[BaseException] = []

    def append(number: int) -> None:
        rows = pa.table({"id": pa.array([10_000 + number], pa.int64()), "name": ["x"], "score": [0.5]})
        try:
            lr.copy(rows, f"delta:{place}", mode="append", storage_options=cloud.options)
        except lr.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert lr.scan(place, storage_options=cloud.options).count() == 1006
    assert [entry.version for entry in lr.Table(place, storage_options=cloud.options).history()] == list(
        range(6, -1, -1)
    )


def test_errors_and_exit_codes(cloud: Cloud) -> None:
    missing = run("scan", cloud.url("no/such.parquet"), "--count", "--json", env=cloud.env)
    assert (missing.code, missing.error["kind"]) == (3, "not_found")
    name, value = cloud.denied
    denied = run("scan", cloud.url("x.parquet"), "--count", "--json", env={**cloud.env, name.upper(): value})
    assert (denied.code, denied.error["kind"]) == (4, "invalid_input")
    assert value not in denied.out
    gone = {**cloud.env, cloud.endpoint.upper(): "http://127.0.0.1:1"}
    unavailable = run("scan", cloud.url("x.parquet"), "--count", "--json", "--retry-time", "1s", env=gone)
    assert (unavailable.code, unavailable.error["kind"]) == (8, "unavailable")
    wrong = run(
        "scan", cloud.url("x.parquet"), "--storage-option", f"{cloud.endpoint}x=secret", "--json", env=cloud.env
    )
    assert wrong.code == 2
    assert cloud.endpoint in str(wrong.error)
    assert "secret" not in wrong.out


def test_check_tells_what_is_allowed(cloud: Cloud) -> None:
    found = ok("check", cloud.url("checked/"), "--json", env=cloud.env).json
    allowed = {right["right"]: right["outcome"] for right in found["rights"]}
    assert allowed == dict.fromkeys(["list", "write", "read", "put_if_absent", "delete"], "allowed")
    assert abs(found["clock_skew_seconds"]) <= 30
    assert found["latency_ms"] > 0
    assert found["advice"] == []
    assert cloud.options[cloud.denied[0]] not in json.dumps(found)
    name, value = cloud.denied
    denied = run("check", cloud.url("checked/"), "--json", env={**cloud.env, name.upper(): value})
    assert denied.code == 4
    assert {right["outcome"] for right in denied.json["rights"]} <= {"denied", "not_tried"}
    assert denied.json["advice"] != []


def test_files_of_http_servers(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    pq.write_table(people(), folder / "a b%ü.parquet")
    (folder / "people.csv").write_text("id,name\n1,a\n2,b\n")
    (folder / "endless").write_text("id,name\n1,a\n2,b\n")
    with serving_folder(folder) as address:
        url = f"{address}/{urllib.request.quote('a b%ü.parquet')}"
        scan = lr.scan(url)
        assert scan.to_arrow().to_pylist() == people().to_pylist()
        # The server takes no ranges: the file comes once.
        assert scan.report()["requests"]["get"] == 1
        assert scan.report()["cost_usd"] == 0
        assert ok("scan", f"{address}/people.csv?token=secret", "--count").out.strip() == "2"
        assert lr.scan(f"{address}/endless", format="csv").count() == 2
        place = f"delta:{tmp_path / 'table'}"
        lr.copy(url, place)
        assert DeltaTable(str(tmp_path / "table")).to_pyarrow_table().num_rows == 1000
        for arguments, code in [
            (("scan", f"{address}/nothing.parquet"), 3),
            (("scan", f"{address}/"), 6),
            (("scan", f"{address}/*.parquet"), 6),
            (("scan", f"delta:{address}/table"), 6),
            (("copy", url, f"{address}/target.parquet"), 6),
            (("scan", "http://me:secret@127.0.0.1/x.parquet"), 2),
        ]:
            done = run(*arguments, "--json")
            assert done.code == code, done.out
            assert done.error["advice"] or code == 3 or "give the URL of one file" in done.error["message"]
            assert "secret" not in done.out + done.err
        found = lr.check(url)
        outcomes = {right["right"]: right["outcome"] for right in found["rights"]}
        assert (outcomes["read"], outcomes["write"], outcomes["list"]) == ("allowed", "unsupported", "unsupported")


def test_check_of_a_folder(tmp_path: Path) -> None:
    text = ok("check", f"{tmp_path}/").out
    assert "put if absent  yes" in text
    assert os.listdir(tmp_path) == []
    assert run("check", "sqlite:x.db#t", "--json").code == 6


@pytest.mark.parametrize(
    ("location", "endpoint", "host", "first"),
    [
        ("http://127.0.0.1:1/x.parquet", None, "127.0.0.1:1", "read"),
        ("http://no.such.host.invalid/x.parquet", None, "no.such.host.invalid", "read"),
        ("s3://bucket/x.parquet", "http://127.0.0.1:1", "127.0.0.1:1", "read"),
        ("s3://bucket/folder/", "http://127.0.0.1:1", "127.0.0.1:1", "list"),
        ("s3://bucket/x.parquet", "http://no.such.host.invalid:9000", "no.such.host.invalid:9000", "read"),
    ],
)
def test_a_host_that_can_not_be_reached_is_named(location: str, endpoint: str | None, host: str, first: str) -> None:
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    env = {} if endpoint is None else {**env, "AWS_ENDPOINT_URL": endpoint}
    found = run("check", location, "--json", "--retry-time", "0s", env=env)
    assert found.code == 8
    rights = {right["right"]: right for right in found.json["rights"]}
    assert list(rights) == ["list", "write", "read", "put_if_absent", "delete"]
    assert rights[first]["outcome"] == "failed"
    assert rights[first]["message"].startswith(f"{host} can't be reached: ")
    # The others would wait as long.
    others = [right for name, right in rights.items() if name != first]
    assert all(right["outcome"] == "not_tried" for right in others)
    assert all(right["message"] == "the store does not answer" for right in others)
    scanned = run("scan", location.rstrip("/"), "--input-format", "parquet", "--json", "--retry-time", "0s", env=env)
    assert scanned.code == 8
    assert f"{host} can't be reached: " in scanned.error["message"]


class _Denying(http.server.BaseHTTPRequestHandler):
    """A server that denies all."""

    def do_HEAD(self) -> None:
        self.send_response(403)
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def test_check_of_a_file_that_is_denied_says_so() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Denying) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = run("check", f"http://127.0.0.1:{server.server_port}/x.parquet", "--json")
        server.shutdown()
    rights = {right["right"]: right for right in found.json["rights"]}
    assert (found.code, rights["read"]["outcome"]) == (4, "denied")
