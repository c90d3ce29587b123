"""A bucket in this process, whose server a test can hold up and have refuse keys."""

from __future__ import annotations

import hashlib
import html
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Bucket:
    """Objects by key."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.endpoint = ""
        #: Each answer to a GET of an object: its key, and how many bytes it had.
        self.sent: list[tuple[str, int]] = []
        #: Called with the verb, the key, the access key's id and the token of a request; whether it may be answered.
        self.before: Callable[[str, str, str, str], bool] = lambda verb, key, identity, token: True


class Handler(BaseHTTPRequestHandler):
    """Answers what lakerace asks of a bucket."""

    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_verb(self) -> None:
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path.split("/", 2)[2] if path.count("/") > 1 else "")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = re.search(r"Credential=([^/]*)/", self.headers.get("Authorization", ""))
        identity = found.group(1) if found else ""
        if not self.bucket.before(self.command, key, identity, self.headers.get("x-amz-security-token", "")):
            self.answer(403, b"<Error><Code>ExpiredToken</Code><Message>the key has expired</Message></Error>")
        elif self.command == "GET" and not key:
            self.list(dict(urllib.parse.parse_qsl(query)))
        elif self.command == "POST":
            names = re.findall(r"<Key>(.*?)</Key>", body.decode())
            for name in names:
                self.bucket.objects.pop(html.unescape(name), None)
            deleted = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            self.answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())
        elif self.command == "DELETE":
            self.bucket.objects.pop(key, None)
            self.answer(204)
        elif self.command == "PUT":
            self.put(key, body)
        elif key in self.bucket.objects:
            self.get(key, self.bucket.objects[key])
        else:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_verb

    def put(self, key: str, body: bytes) -> None:
        if self.headers.get("If-None-Match") == "*" and key in self.bucket.objects:
            self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            return
        self.bucket.objects[key] = body
        self.answer(200, ETag=tag(body))

    def get(self, key: str, data: bytes) -> None:
        headers = {"ETag": tag(data), "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            self.bucket.sent.append((key, len(data)))
            self.answer(200, data, **headers)
            return
        first, last = asked.groups()
        begin = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        self.bucket.sent.append((key, end - begin))
        self.answer(206, data[begin:end], **headers, Content_Range=f"bytes {begin}-{end - 1}/{len(data)}")

    def list(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        text, folders = "", set()
        for key, data in sorted(self.bucket.objects.items()):
            if not key.startswith(prefix) or key <= query.get("start-after", ""):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            text += f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            text += f"<ETag>{tag(data)}</ETag><Size>{len(data)}</Size></Contents>"
        text += "".join(f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>" for name in sorted(folders))
        self.answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{text}</ListBucketResult>".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def tag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


@contextmanager
def serving() -> Iterator[Bucket]:
    """A bucket, as long as the context lasts."""
    bucket = Bucket()
    handler = type("Served", (Handler,), {"bucket": bucket})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        bucket.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield bucket
        finally:
            server.shutdown()
            thread.join()
