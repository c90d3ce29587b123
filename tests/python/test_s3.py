"""S3: the same rows as on disk, counted requests, and its ways to fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, people, run

import lakerace as lr

if TYPE_CHECKING:
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


def test_multipart_uploads_appear_whole(s3: S3, tmp_path: Path) -> None:
    import os

    table = pa.table({"a": [os.urandom(500) for _ in range(60_000)]})
    report = lr.copy(table, s3.url("big/big.parquet"), compression="none", storage_options=s3.options)
    assert report.bytes_written == report.file_bytes > 30_000_000
    assert report.requests.put >= 3
    assert lr.checksum(lr.scan(s3.url("big/big.parquet"), storage_options=s3.options)) == lr.checksum(table)
    assert s3.keys("big/") == ["big.parquet"]
    del tmp_path


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
    done = run("copy", parquet, "s3://lakerace-no-such-bucket/x.parquet", "--json", env=s3.env)
    assert done.code == 3, done.err
    assert "lakerace-no-such-bucket" in done.err


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
