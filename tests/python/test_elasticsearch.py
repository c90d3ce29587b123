"""Loads of Elasticsearch by the process: kills, credentials, certificates, and odd tables."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal

import elastic
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aws_signature import signature
from certificates import certificate
from conftest import command, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

ROWS = 30_000


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An Elasticsearch server's `http://host:port`."""
    with elastic.endpoint("elasticsearch-8") as endpoint:
        yield endpoint.rstrip("/")


def location(endpoint: str, index: str) -> str:
    return endpoint.replace("https://", "elasticsearch+https://").replace("http://", "elasticsearch://") + "/" + index


def rows(count: int = 300) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int64()), "text": [f"row {n}" for n in range(count)]})


def asked(server: str, path: str) -> Any:
    with urllib.request.urlopen(f"{server}/{path}", timeout=30) as answer:
        return json.load(answer)


def indexed(server: str, index: str) -> int:
    """Documents that an index has ever taken; searches see them later."""
    try:
        shards = asked(server, f"{index}/_stats/indexing")["_all"]["primaries"]
    except urllib.error.HTTPError:
        return 0
    return int(shards.get("indexing", {}).get("index_total", 0))


def test_a_load_that_is_killed_goes_on(server: str, tmp_path: Path) -> None:
    source, target = tmp_path / "rows.parquet", location(server, "killed")
    pq.write_table(rows(ROWS), source, row_group_size=5000)
    arguments = ["copy", source, target, "--batch-rows", "2000", "--mode", "append"]
    for turn in range(3):
        resume = ["--resume"] if turn else []
        before = indexed(server, "killed")
        load = subprocess.Popen(command(*arguments, *resume, "--max-rate", "12000"), stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while indexed(server, "killed") < before + 4000 and time.monotonic() < end:
            time.sleep(0.02)
        load.send_signal(signal.SIGKILL)
        load.wait()
    done = ok(*arguments, "--resume", "--json").json
    assert done["skipped"] >= 2000
    assert done["skipped"] + done["rows"] == ROWS
    assert sorted(row[0] for row in lr.scan(target, columns=["id"]).rows()) == list(range(ROWS))
    assert lr.checksum(target) == lr.checksum(source)
    settings = asked(server, "killed/_settings")["killed"]["settings"]["index"]
    assert settings.get("refresh_interval") != "-1"


def test_a_load_by_key_that_is_killed_is_done_again(server: str, tmp_path: Path) -> None:
    source, target = tmp_path / "rows.parquet", location(server, "again")
    pq.write_table(rows(ROWS), source, row_group_size=5000)
    arguments = ["copy", source, target, "--mode", "overwrite", "--key", "id"]
    load = subprocess.Popen(command(*arguments, "--max-rate", "12000"), stderr=subprocess.DEVNULL)
    time.sleep(1)
    load.send_signal(signal.SIGKILL)
    load.wait()
    assert run("scan", target, "--count").code == 3
    ok(*arguments)
    assert lr.checksum(target) == lr.checksum(source)
    assert len(asked(server, "again*/_settings?expand_wildcards=all")) == 1


@contextmanager
def guarded(
    server: str, check: Callable[[str, str, Mapping[str, str], bytes], bool], tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[bool]]]:
    """A proxy in front of a server, which lets through what `check` takes, and answers 401 to all else."""
    seen: list[bool] = []
    host = urllib.parse.urlsplit(server).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            seen.append(check(self.command, self.path, self.headers, body))
            if not seen[-1]:
                return self.send(401, b'{"error":{"type":"security_exception"},"status":401}', "application/json")
            with closing(http.client.HTTPConnection(host, timeout=60)) as behind:
                kept = {
                    n: v
                    for n, v in self.headers.items()
                    if n.lower() in {"content-type", "content-encoding", "accept-encoding"}
                }
                behind.request(self.command, self.path, body, kept)
                answer = behind.getresponse()
                content = answer.read()
                self.send(
                    answer.status, content, answer.headers.get("content-type"), answer.headers.get("content-encoding")
                )

        def send(self, status: int, content: bytes, kind: str | None, encoding: str | None = None) -> None:
            self.send_response(status)
            for name, value in (
                ("content-type", kind),
                ("content-encoding", encoding),
                ("content-length", str(len(content))),
            ):
                if value:
                    self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

        def log_message(self, *_: object) -> None:
            pass

    class Proxy(ThreadingHTTPServer):
        def get_request(self) -> tuple[socket.socket, Any]:
            connection, address = super().get_request()
            if tls is None:
                return connection, address
            try:
                return tls.wrap_socket(connection, server_side=True), address
            except OSError:
                connection.close()
                raise

        def handle_error(self, *_: object) -> None:
            """A client that has gone away."""

    proxy = Proxy(("127.0.0.1", 0), Handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if tls else 'http'}://localhost:{proxy.server_port}", seen
    finally:
        proxy.shutdown()
        proxy.server_close()


def test_api_keys(server: str, tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(rows(), source)
    key = "Y2FuYXJ5OmNhbmFyeS1zZWNyZXQ="
    with guarded(server, lambda _m, _p, headers, _b: headers["authorization"] == f"ApiKey {key}") as (endpoint, seen):
        target = location(endpoint, "apikey")
        done = ok("copy", source, target, "--verify", "--json", env={"ELASTICSEARCH_API_KEY": key})
        assert done.json["rows"] == 300
        assert all(seen)
        wrong = run("copy", source, location(endpoint, "refused"), env={"ELASTICSEARCH_API_KEY": key[:-4] + "AAA="})
        assert wrong.code == 4, wrong.err
        assert "canary" not in done.out + done.err + wrong.err
        assert key[:12] not in done.out + done.err + wrong.err
    assert run("scan", location(server, "refused")).code == 3


def test_signatures_of_amazon(server: str, tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(rows(), source)
    secret = "canary/secret+key"
    env = {
        "ELASTICSEARCH_SIGV4": "es",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": "eu-central-1",
    }

    def is_signed(method: str, path: str, headers: Mapping[str, str], body: bytes) -> bool:
        given = headers["authorization"]
        return (
            given is not None
            and "AKIDEXAMPLE/" in given
            and "/eu-central-1/es/aws4_request" in given
            and given.rpartition("Signature=")[2] == signature(method, path, headers, body, secret)
        )

    with guarded(server, is_signed) as (endpoint, seen):
        target = location(endpoint, "signed")
        done = ok("copy", source, target, "--key", "id", "--verify", "--json", env=env)
        assert done.json["rows"] == 300
        assert len(seen) > 5
        assert all(seen)
        wrong = run("scan", target, env={**env, "AWS_SECRET_ACCESS_KEY": "other"})
        assert wrong.code == 4, wrong.err
        assert "canary" not in done.out + done.err + wrong.err


def test_certificates_of_both_sides(server: str, tmp_path: Path) -> None:
    certificate(tmp_path, "authority", "basicConstraints=critical,CA:TRUE")
    certificate(tmp_path, "localhost", "subjectAltName=DNS:localhost", "authority")
    certificate(tmp_path, "client", "extendedKeyUsage=clientAuth", "authority")
    certificate(tmp_path, "stranger", "extendedKeyUsage=clientAuth")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "localhost.pem", tmp_path / "localhost.key")
    tls.load_verify_locations(tmp_path / "authority.pem")
    tls.verify_mode = ssl.CERT_REQUIRED
    source = tmp_path / "rows.parquet"
    pq.write_table(rows(), source)
    env = {
        "ELASTICSEARCH_CA": str(tmp_path / "authority.pem"),
        "ELASTICSEARCH_CLIENT_CERTIFICATE": str(tmp_path / "client.pem"),
        "ELASTICSEARCH_CLIENT_KEY": str(tmp_path / "client.key"),
    }
    with guarded(server, lambda *_: True, tls) as (endpoint, _):
        target = location(endpoint, "certified")
        assert ok("copy", source, target, "--verify", "--json", env=env).json["rows"] == 300
        stranger = {name: value.replace("client.", "stranger.") for name, value in env.items()}
        nobody = {"ELASTICSEARCH_CA": env["ELASTICSEARCH_CA"]}
        # The server's certificate is nobody's that this machine knows.
        unknown = {name: value for name, value in env.items() if name != "ELASTICSEARCH_CA"}
        for others, code in ((stranger, 8), (nobody, 8), (unknown, 4)):
            assert run("scan", target, "--count", env=others).code == code, others
        half = run("scan", target, env={"ELASTICSEARCH_CLIENT_KEY": env["ELASTICSEARCH_CLIENT_KEY"]})
        assert half.code == 2, half.err


def test_duplicate_keys(server: str, tmp_path: Path) -> None:
    twice = pa.table({"id": [1, 2, 1], "text": ["first", "x", "last"]})
    target = location(server, "twice")
    lr.copy(twice, target, key="id", mode="upsert")
    assert dict(lr.scan(target, columns=["id", "text"]).rows()) == {1: "last", 2: "x"}
    dead = tmp_path / "dead.jsonl"
    done = lr.copy(twice, location(server, "once"), key="id", mode="append", dead_letter=dead)
    assert (done.rows, done.rejected) == (2, 1)
    assert json.loads(dead.read_text())["key"] == {"id": 1}
    with pytest.raises((lr.ConflictError, lr.InvalidInputError)):
        lr.copy(twice, location(server, "strict"), key="id", mode="append")


@pytest.mark.parametrize("mode", ["append", "upsert", "delete"])
@pytest.mark.parametrize("first_key", [None, "text"])
def test_rows_by_another_key_than_that_of_the_index_are_refused(
    server: str, first_key: str | None, mode: Literal["append", "upsert", "delete"]
) -> None:
    index = f"keyed-by-{first_key or 'nothing'}-{mode}"
    lr.copy(rows(20), location(server, index), key=first_key)
    with pytest.raises(lr.UnsupportedError, match=r"not from \(id\)"):
        lr.copy(rows(20), location(server, index), key="id", mode=mode)
    asked(server, f"{index}/_refresh")
    assert asked(server, f"{index}/_count")["count"] == 20


def test_rows_without_a_key_end_the_key_of_an_index(server: str) -> None:
    target = location(server, "mixed-ids")
    lr.copy(rows(20), target, key="id")
    lr.copy(rows(20), target, key="id", mode="upsert")
    assert lr.scan(target).count() == 20
    lr.copy(rows(5), target, mode="append")
    with pytest.raises(lr.UnsupportedError, match="the server generated the _ids"):
        lr.copy(rows(20), target, key="id", mode="upsert")
    lr.copy(rows(5), target, mode="append")
    assert lr.scan(target).count() == 30


def test_a_second_document_of_a_key_is_no_proof(server: str) -> None:
    # An index of another program: its `_id` is not the key, so the upsert adds a document.
    document = json.dumps({"id": 1}).encode()
    request = urllib.request.Request(
        f"{server}/second/_doc/other?refresh=true", document, {"content-type": "application/json"}, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201
    with pytest.raises(lr.CorruptDataError, match="0 have other values; 1 more rows have a key that another row has"):
        lr.copy(pa.table({"id": [1, 2]}), location(server, "second"), key="id", mode="upsert", verify=True)


def test_two_loads_at_once(server: str, tmp_path: Path) -> None:
    odd, even = tmp_path / "odd.parquet", tmp_path / "even.parquet"
    table = rows(8000)
    pq.write_table(table.take(list(range(1, 8000, 2))), odd)
    pq.write_table(table.take(list(range(0, 8000, 2))), even)

    def loaded(index: str, *options: str) -> list[int]:
        """The exit codes of two processes that load an index."""
        arguments = [location(server, index), *options, "--max-rate", "4000"]
        loads = [
            subprocess.Popen(command("copy", source, *arguments), stderr=subprocess.DEVNULL) for source in (odd, even)
        ]
        return sorted(load.wait(120) for load in loads)

    assert loaded("both", "--mode", "upsert", "--key", "id") == [0, 0]
    assert lr.scan(location(server, "both")).checksum() == lr.checksum(table).checksum
    assert asked(server, "both/_settings")["both"]["settings"]["index"].get("refresh_interval") != "-1"
    # Of two that make the same index, one wins and the other one says so.
    assert loaded("race") == [0, 7]
    assert lr.scan(location(server, "race")).count() == 4000
