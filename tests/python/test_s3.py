"""S3: the same rows as on disk, counted requests, and its ways to fail."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command, ok, people, run
from deltalake import DeltaTable, write_deltalake
from http_server import QuietHandler, serving

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from s3server import S3


def test_there_and_back(s3: S3, parquet: Path, tmp_path: Path) -> None:
    expected = ok("scan", parquet, "--checksum").out
    for name in ("people.parquet", "people.csv", "people.csv.gz"):
        report = ok("copy", parquet, s3.url(f"there/{name}"), "--json", env=s3.env).json
        assert report["rows"] == 1000
        assert report["requests"]["put"] == 1
        assert report["cost_usd"] > 0
        assert report["files"] == [s3.url(f"there/{name}")]
        assert ok("scan", s3.url(f"there/{name}"), "--checksum", env=s3.env).out == expected
        back = tmp_path / name
        ok("copy", s3.url(f"there/{name}"), back, env=s3.env)
        assert ok("scan", back, "--checksum").out == expected
    with s3.pyarrow.open_input_file(f"{s3.bucket}/there/people.parquet") as file:
        assert pq.read_table(file).to_pylist() == people().to_pylist()


def test_requests_are_few_and_counted(s3: S3, parquet: Path) -> None:
    s3.put("few/people.parquet", parquet.read_bytes())
    url = s3.url("few/people.parquet")
    report = ok("scan", url, "--json", env=s3.env).json
    size = parquet.stat().st_size
    assert report["requests"]["head"] == 0
    assert report["requests"]["list"] == 0
    assert 1 <= report["requests"]["get"] <= 2
    assert 0 < report["bytes_read"] <= 2 * size
    scan = lr.scan(url, storage_options=s3.options, where="id < 0")
    assert scan.count() == 0
    assert scan.report()["requests"]["get"] == 1


def test_multipart_uploads_appear_whole(s3: S3) -> None:
    table = pa.table({"a": [os.urandom(500) for _ in range(60_000)]})
    report = lr.copy(table, s3.url("big/big.parquet"), compression="none", storage_options=s3.options)
    assert report.bytes_written == report.file_bytes > 30_000_000
    assert report.requests.put >= 3
    assert lr.checksum(lr.scan(s3.url("big/big.parquet"), storage_options=s3.options)) == lr.checksum(table)
    assert s3.keys("big/") == ["big.parquet"]


def test_an_object_that_appears_during_an_upload_stays(s3: S3) -> None:
    table = pa.table({"a": [os.urandom(500) for _ in range(30_000)]})
    url = s3.url("race/x.parquet")

    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches(max_chunksize=3000)
        lr.copy(table.slice(0, 10), url, storage_options=s3.options)

    reader = pa.RecordBatchReader.from_batches(table.schema, batches())
    with pytest.raises(lr.ConflictError, match="already exists"):
        lr.copy(reader, url, compression="none", storage_options=s3.options)
    assert lr.scan(url, storage_options=s3.options).count() == 10


def test_modes_and_folders(s3: S3, parquet: Path) -> None:
    target = s3.url("modes/one.parquet")
    ok("copy", parquet, target, env=s3.env)
    done = run("copy", parquet, target, "--json", env=s3.env)
    assert done.code == 7
    assert done.error["kind"] == "conflict"
    ok("copy", parquet, target, "--mode", "overwrite", "--where", "id < 3", env=s3.env)
    assert ok("scan", target, "--count", env=s3.env).out == "3\n"
    folder = s3.url("folder/")
    for _ in range(2):
        ok("copy", parquet, folder, "--mode", "append", "--output-format", "parquet", env=s3.env)
    assert ok("scan", folder, "--count", env=s3.env).out == "2000\n"
    assert ok("scan", s3.url("modes/*.parquet"), "--count", env=s3.env).out == "3\n"


@pytest.mark.parametrize(
    ("key", "changes", "code"),
    [
        ("missing.parquet", {}, 3),
        ("missing/", {}, 3),
        ("ready", {"AWS_SECRET_ACCESS_KEY": "wrong-secret-key"}, 4),
        ("ready", {"AWS_ACCESS_KEY_ID": "nobody"}, 4),
    ],
)
def test_what_is_not_there_and_who_may_not(s3: S3, key: str, changes: dict[str, str], code: int) -> None:
    done = run("scan", s3.url(key), "--input-format", "parquet", "--json", env={**s3.env, **changes})
    assert done.code == code, done.err
    assert s3.bucket in done.error["place"]
    for secret in (s3.secret_key, "wrong-secret-key"):
        assert secret not in done.out + done.err


def test_a_missing_bucket(s3: S3, parquet: Path) -> None:
    done = run("scan", "s3://lakerace-no-such-bucket/x.parquet", "--json", env=s3.env)
    assert done.code == 3, done.err
    bucket = f"{s3.bucket}-missing"
    done = run("copy", parquet, f"s3://{bucket}/x.parquet", "--json", env=s3.env)
    if done.code == 0:
        # SeaweedFS makes a bucket that is written to.
        s3.pyarrow.delete_dir(bucket)
        return
    assert done.code == 3, done.err
    assert bucket in done.err


def test_a_server_that_is_not_there(s3: S3) -> None:
    env = {**s3.env, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    done = run("scan", s3.url("x.parquet"), "--json", env=env)
    assert done.code == 8
    assert done.error["kind"] == "unavailable"


def test_a_failed_copy_leaves_nothing(s3: S3, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("a\n" + "1\n" * 100_000 + "x\n")
    done = run("copy", bad, s3.url("failed/x.parquet"), env=s3.env)
    assert done.code == 4
    assert s3.keys("failed/") == []


def test_an_object_replaced_during_a_scan_is_a_conflict(s3: S3, tmp_path: Path) -> None:
    key = "replaced/x.parquet"
    path = tmp_path / "x.parquet"
    pq.write_table(people(200_000), path, row_group_size=20_000)
    s3.put(key, path.read_bytes())
    scan = lr.scan(s3.url(key), storage_options=s3.options)
    pq.write_table(people(200_001), path, row_group_size=20_000)
    s3.put(key, path.read_bytes())
    with pytest.raises(lr.ConflictError, match=r"x\.parquet"):
        scan.to_arrow()
    assert lr.scan(s3.url(key), storage_options=s3.options).count() == 200_001


@contextmanager
def proxied(s3: S3, *options: object) -> Iterator[S3]:
    """The same server behind a proxy that does what `options` say."""
    process = subprocess.Popen(
        command("proxy", "--target", s3.host, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = json.loads(process.stdout.readline())["address"]
        yield replace(s3, endpoint=f"http://{address}")
    finally:
        process.stdin.close()
        assert process.wait(timeout=20) == 0
        process.stdout.close()


def counts(s3: S3) -> dict[str, int]:
    """What has gone through the proxy."""
    with urllib.request.urlopen(f"{s3.endpoint}/__lakerace/counts", timeout=20) as answer:
        made = json.load(answer)
        assert isinstance(made, dict)
        return made


@pytest.fixture(scope="module")
def large(s3: S3) -> str:
    """A Parquet file of several megabytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(people(300_000), sink, row_group_size=30_000, compression="none", use_dictionary=False)
    s3.put("large.parquet", sink.getvalue().to_pybytes())
    return s3.url("large.parquet")


def test_the_bill_is_what_the_server_saw(s3: S3, large: str) -> None:
    with proxied(s3) as front:
        report = ok("scan", large, "--checksum", "--json", env=front.env).json
        seen = counts(front)
    assert report["requests"]["get"] == seen["get"]
    assert seen["requests"] == seen["get"]
    assert report["bytes_read"] == seen["bytes_to_client"]


def test_fewer_requests_with_larger_gaps(s3: S3, large: str) -> None:
    requests = {}
    for size in ("0", "4MiB"):
        options = ["--columns", "id,score", "--min-seek-size", size, "--json"]
        requests[size] = ok("scan", large, *options, env=s3.env).json["requests"]["get"]
    assert requests["4MiB"] < requests["0"]


@pytest.mark.parametrize("fault", ["--error-every", "--reset-every"])
def test_faults_are_survived(s3: S3, large: str, fault: str) -> None:
    expected = ok("scan", large, "--checksum", "--json", env=s3.env).json["checksum"]
    with proxied(s3, fault, 3) as front:
        options = ["--max-request-size", "256KiB", "--checksum", "--json"]
        report = ok("scan", large, *options, env=front.env).json
        seen = counts(front)
        ok("copy", large, s3.url(f"survived{fault}.parquet"), env=front.env)
    assert seen["faults"] > 0
    assert report["requests"]["get"] == seen["get"]
    assert report["checksum"] == expected
    assert ok("scan", s3.url(f"survived{fault}.parquet"), "--checksum", env=s3.env).out.strip() == expected


def test_a_body_that_stands_still_is_asked_for_again(s3: S3, large: str) -> None:
    """After the 20 seconds that a server may be silent for."""
    expected = ok("scan", large, "--checksum", env=s3.env).out
    with proxied(s3, "--stall-every", 4) as front:
        assert ok("scan", large, "--checksum", env=front.env).out == expected
        assert counts(front)["faults"] > 0


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    """A server that answers every request alike."""

    class Answer(QuietHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send(status, b"" if self.command == "HEAD" else body.encode())

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    with serving(Answer) as endpoint:
        yield endpoint


@pytest.mark.parametrize(
    ("status", "name", "code"),
    [
        (400, "AuthorizationHeaderMalformed", 4),
        (403, "AccessDenied", 4),
        (403, "SignatureDoesNotMatch", 4),
        (404, "NoSuchBucket", 3),
        (404, "NoSuchKey", 3),
        (200, "NotParquet", 5),
    ],
)
def test_what_a_server_may_answer(parquet: Path, status: int, name: str, code: int) -> None:
    body = f"<?xml version='1.0'?><Error><Code>{name}</Code><Message>told by the server</Message></Error>"
    with answering(status, body) as endpoint:
        env = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key-of-the-test",
            "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
        }
        commands: list[list[object]] = [["scan", "s3://bucket/x.parquet"]]
        if status >= 400:
            commands.append(["copy", parquet, "s3://bucket/x.parquet", "--mode", "overwrite"])
        for arguments in commands:
            done = run(*arguments, "--json", env=env)
            assert done.code == code, done.err
            assert "s3://bucket/x.parquet" in done.error["place"]
            assert "secret-of-the-test" not in done.out + done.err


@contextmanager
def uploads_meet_another_object() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """A server on which somebody else's object appears while an upload is under way, and what it was asked."""
    asked: list[tuple[str, str | None]] = []

    class Bucket(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, body: str = "", **headers: str) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send(status, body.encode(), headers)

        def do_HEAD(self) -> None:
            self.answer(404)

        def do_GET(self) -> None:
            self.answer(200, "<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated></ListBucketResult>")

        def do_PUT(self) -> None:
            self.answer(200, ETag='"part"')

        def do_POST(self) -> None:
            if "uploadId=" not in self.path:
                xml = "<Bucket>b</Bucket><Key>k</Key><UploadId>1</UploadId>"
                self.answer(200, f"<InitiateMultipartUploadResult>{xml}</InitiateMultipartUploadResult>")
                return
            condition = self.headers.get("If-None-Match")
            asked.append(("complete", condition))
            if condition:
                self.answer(412, "<Error><Code>PreconditionFailed</Code></Error>")
            else:
                xml = '<Location>l</Location><Bucket>b</Bucket><Key>k</Key><ETag>"e"</ETag>'
                self.answer(200, f"<CompleteMultipartUploadResult>{xml}</CompleteMultipartUploadResult>")

        def do_DELETE(self) -> None:
            asked.append(("abort", None))
            self.answer(204)

    with serving(Bucket) as endpoint:
        yield endpoint, asked


def test_an_upload_does_not_replace_what_appeared_meanwhile() -> None:
    table = pa.table({"a": [os.urandom(500) for _ in range(30_000)]})
    with uploads_meet_another_object() as (endpoint, asked):
        options = {
            "aws_endpoint_url": endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }
        with pytest.raises(lr.ConflictError, match="already exists"):
            lr.copy(table, "s3://b/x.parquet", compression="none", storage_options=options)
        assert asked[0] == ("complete", "*")
        assert set(asked[1:]) == {("abort", None)}
        asked.clear()
        lr.copy(table, "s3://b/x.parquet", mode="overwrite", compression="none", storage_options=options)
        assert asked == [("complete", None)]


@pytest.mark.parametrize("fault", ["--error-every", "--reset-every"])
def test_faults_that_do_not_end_are_unavailable(s3: S3, large: str, parquet: Path, fault: str) -> None:
    with proxied(s3, fault, 1) as front:
        done = run("scan", large, "--retry-time", "2s", "--json", env=front.env)
        assert done.code == 8, done.err
        assert done.error["kind"] == "unavailable"
        if fault == "--error-every":
            done = run("copy", parquet, s3.url("never/x.parquet"), "--retry-time", "2s", "--json", env=front.env)
            assert done.code == 8, done.err
            assert s3.keys("never/") == []


def test_pickles_hold_credentials_unless_told_otherwise(s3: S3, parquet: Path, tmp_path: Path) -> None:
    s3.put("people.parquet", parquet.read_bytes())
    url, secrets = s3.url("people.parquet"), [s3.access_key.encode(), s3.secret_key.encode()]
    with_them = pickle.dumps(lr.scan(url, storage_options=s3.options))
    assert all(secret in with_them for secret in secrets)
    scan = lr.scan(url, columns=["id"], storage_options=s3.options, pickle_credentials=False)
    for part in [scan, *scan.tasks(2)]:
        data = pickle.dumps(part)
        assert not any(secret in data for secret in secrets)
        assert s3.host.encode() in data
    # Another process has credentials of its own, or none, and hands on no more than it got.
    file = tmp_path / "scan.pickle"
    file.write_bytes(pickle.dumps(scan))
    code = f"import pickle; s = pickle.load(open({str(file)!r}, 'rb')); print(s.count(), len(pickle.dumps(s)))"
    env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    own = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    done = subprocess.run([sys.executable, "-c", code], env=env | own, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1000", str(len(file.read_bytes()))]
    none = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert none.returncode != 0
    assert "AWS_ACCESS_KEY_ID" in none.stderr


def test_options_of_other_tools_are_taken(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {
        **s3.options,
        "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
        "allow_http": "true",
        "max_retries": "3",
        "AWS_S3_LOCKING_PROVIDER": "none",
    }
    write_deltalake(s3.url("others/table"), people(), storage_options=others)
    with pytest.warns(lr.LakeraceWarning):
        assert lr.scan(s3.url("others/table"), storage_options=others).count() == 1000
    with pytest.warns(lr.LakeraceWarning) as told:
        lr.copy(people(), f"delta:{s3.url('others/table')}", mode="append", storage_options=others)
    warnings = [str(one.message) for one in told]
    assert len(warnings) == len(set(warnings)) == 3
    for name, why in [("unsafe_rename", "put-if-absent"), ("locking", "DynamoDB"), ("max_retries", "retry_time")]:
        assert [why in one for one in warnings if name in one] == [True]
    assert DeltaTable(s3.url("others/table"), storage_options=others).to_pyarrow_table().num_rows == 2000
    # The names of s3fs, and a profile, as botocore reads it.
    names = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    of_s3fs = {names.get(name, name): value for name, value in s3.options.items()}
    assert lr.scan(s3.url("others/table"), storage_options=of_s3fs).count() == 2000
    keys = "".join(f"{name} = {s3.options[name]}\n" for name in names)
    (tmp_path / "credentials").write_text(f"[default]\nregion = x\n[work]\n{keys}")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    profile = {name: value for name, value in s3.options.items() if name not in names} | {"aws_profile": "work"}
    assert lr.scan(s3.url("others/table"), storage_options=profile).count() == 2000
    with pytest.raises(lr.UsageError, match='no profile "wrok"'):
        lr.scan(s3.url("others/table"), storage_options=profile | {"aws_profile": "wrok"}).count()
    with pytest.raises(lr.UsageError, match="unknown storage option"):
        lr.scan(s3.url("others/table"), storage_options=s3.options | {"aws_s3_allow_unsafe_renam": "true"}).count()
