"""Files of text that a store lists with bytes and gives without any: an error, never a file without rows."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl
import pytest
from conftest import run
from http_server import QuietHandler, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: Three rows in each format, packed or not, and what the command has to be told of it.
FILES: dict[str, tuple[bytes, list[str]]] = {
    "jsonl": (b'{"id":1}\n{"id":2}\n{"id":3}\n', []),
    "csv": (b"id\n1\n2\n3\n", []),
    "tbl": (b"1|\n2|\n3|\n", ["--schema", "id int64"]),
    "jsonl.gz": (gzip.compress(b'{"id":1}\n{"id":2}\n{"id":3}\n'), []),
    "csv.gz": (gzip.compress(b"id\n1\n2\n3\n"), []),
    "tbl.gz": (gzip.compress(b"1|\n2|\n3|\n"), ["--schema", "id int64"]),
}

#: Answers to a request for the bytes of a file, and the exit code: status, headers beside those of the file.
EMPTY: dict[str, tuple[int, dict[str, str], int]] = {
    "no range": (200, {}, 8),
    "no body": (206, {"Content-Range": "bytes 0-{last}/{size}"}, 8),
    "behind the end": (416, {"Content-Range": "bytes */0"}, 5),
    "no content": (204, {}, 4),
}


@contextmanager
def bucket(objects: Mapping[str, bytes], empty: str | None) -> Iterator[dict[str, str]]:
    """The variables of a server with these objects; the second one is given without a byte, where that is how."""
    names = sorted(objects)

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.split("?")[0].removeprefix("/bucket/")
            if "list-type=2" in self.path:
                return self.send(200, listing(objects))
            data = objects[name]
            headers = {"ETag": '"tag"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
            first, last = 0, len(data) - 1
            if (asked := self.asked_range(len(data))) is not None:
                first, last = asked[0], asked[1] - 1
            if empty is not None and name == names[1]:
                status, more, _ = EMPTY[empty]
                more = {key: value.format(last=last, size=len(data)) for key, value in more.items()}
                return self.send(status, b"", {**headers, **more})
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            return self.send(206, data[first : last + 1], headers)

    with serving(Handler) as endpoint:
        yield {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }


def listing(objects: Mapping[str, bytes]) -> bytes:
    """The answer to a LIST of all objects."""
    item = (
        "<Contents><Key>{}</Key><Size>{}</Size><ETag>&quot;tag&quot;</ETag>"
        "<LastModified>2015-10-21T07:28:00.000Z</LastModified></Contents>"
    )
    items = "".join(item.format(name, len(data)) for name, data in sorted(objects.items()))
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode()


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("empty", EMPTY)
def test_bytes_that_are_listed_and_not_given_are_an_error(tmp_path: Path, ending: str, empty: str) -> None:
    data, options = FILES[ending]
    objects = {f"folder/{name}.{ending}": data for name in "abc"}
    arguments = ["copy", "s3://bucket/folder/", tmp_path / "out.parquet", "--storage-option", "retry_time=1s", *options]
    with bucket(objects, empty) as env:
        done = run(*arguments, env=env)
    assert done.code == EMPTY[empty][2], done.err
    assert f"folder/b.{ending}" in done.err
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("ending", ["jsonl", "tbl"])
def test_a_part_that_is_listed_without_bytes_has_no_row(tmp_path: Path, ending: str) -> None:
    data, options = FILES[ending]
    objects = {f"folder/a.{ending}": data, f"folder/b.{ending}": b"", f"folder/c.{ending}": data}
    with bucket(objects, None) as env:
        done = run("copy", "s3://bucket/folder/", tmp_path / "out.parquet", *options, env=env)
    assert done.code == 0, done.err
    assert pl.read_parquet(tmp_path / "out.parquet")["id"].to_list() == [1, 2, 3, 1, 2, 3]
