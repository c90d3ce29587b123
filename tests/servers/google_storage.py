"""A stand-in for the XML interface of Google Cloud Storage, in memory, on loopback.

There is no server to be had that speaks it: fake-gcs-server and gcp-storage-emulator have the JSON interface alone, neither
conditions nor uploads in parts of the XML one. What this does is what https://cloud.google.com/storage/docs/xml-api says, as far as
clients of tables need it: objects with generations, conditions on them, ranges, listings by pages, uploads in parts (which take no
conditions), and copies.

python tests/servers/google_storage.py      runs one in the foreground and prints its endpoint
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from http_server import QuietHandler

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The token of somebody who may do everything.
TOKEN = "the-token"
#: The token of somebody who may do nothing.
DENIED_TOKEN = "the-token-of-somebody-else"
BUCKET = "lakerace-test"
PAGE = 100
PART_BYTES = 5 << 20


@dataclass
class StoredObject:
    """An object."""

    data: bytes
    generation: int
    metadata: dict[str, str]
    modified: float

    @property
    def tag(self) -> str:
        return f'"{hashlib.md5(self.data).hexdigest()}-{self.generation}"'


@dataclass
class Upload:
    """An upload in parts."""

    key: str
    metadata: dict[str, str]
    parts: dict[int, bytes] = field(default_factory=dict)


class GoogleStorage(ThreadingHTTPServer):
    """One bucket, :data:`BUCKET`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, StoredObject] = {}
        self.uploads: dict[str, Upload] = {}
        self.generations = itertools.count(1)
        self.lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        """`http://host:port`."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def options(self) -> dict[str, str]:
        """Storage options that reach the server."""
        return {"google_base_url": self.endpoint, "google_allow_http": "true", "google_bearer_token": TOKEN}

    def url(self, key: str) -> str:
        """The URL of a key."""
        return f"gs://{BUCKET}/{key}"


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class Handler(QuietHandler):
    """Requests of one connection."""

    protocol_version = "HTTP/1.1"
    server: GoogleStorage

    def serve(self) -> None:
        """Answers a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        bucket, _, key = parts.path.removeprefix("/").partition("/")
        key = unquote(key)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        try:
            self.check_caller(unquote(bucket))
            with self.server.lock:
                match self.command, "uploadId" in query:
                    case ("GET", _) if not key:
                        self.list(query)
                    case ("GET" | "HEAD", _):
                        self.read(key)
                    case ("POST", False):
                        self.begin(key)
                    case ("PUT", True):
                        self.part(query, body)
                    case ("POST", True):
                        self.complete(query, body)
                    case ("DELETE", True):
                        self.server.uploads.pop(query["uploadId"], None)
                        self.answer(204)
                    case ("PUT", _) if "x-goog-copy-source" in self.headers:
                        self.copy(key)
                    case ("PUT", _):
                        self.check_generation(key)
                        self.stored(key, self.store(key, body, self.metadata()))
                    case _:
                        self.remove(key)
        except Refused as refused:
            text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{refused.code}</Code></Error>"
            self.answer(refused.status, text.encode())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def check_caller(self, bucket: str) -> None:
        """Refuses strangers, and buckets that do not exist."""
        caller = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if caller not in {TOKEN, DENIED_TOKEN, ""}:
            raise Refused(401, "AuthenticationRequired")
        if caller != TOKEN:
            raise Refused(403, "AccessDenied")
        if bucket != BUCKET:
            raise Refused(404, "NoSuchBucket")

    def metadata(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("x-goog-meta-")}

    def check_generation(self, key: str) -> None:
        """The condition of a write."""
        expected = self.headers.get("x-goog-if-generation-match")
        found = self.server.objects.get(key)
        if expected is not None and int(expected) != (found.generation if found else 0):
            raise Refused(412, "PreconditionFailed")

    def found(self, key: str) -> StoredObject:
        if key not in self.server.objects:
            raise Refused(404, "NoSuchKey")
        return self.server.objects[key]

    def store(self, key: str, data: bytes, metadata: dict[str, str]) -> StoredObject:
        made = StoredObject(data, next(self.server.generations), metadata, time.time())
        self.server.objects[key] = made
        return made

    def stored(self, key: str, made: StoredObject) -> None:
        self.answer(200, b"", {"ETag": made.tag, "x-goog-generation": str(made.generation)})

    def read(self, key: str) -> None:
        found = self.found(key)
        wanted = self.headers.get("If-Match")
        if wanted is not None and wanted not in {found.tag, "*"}:
            raise Refused(412, "PreconditionFailed")
        headers = {
            "ETag": found.tag,
            "Last-Modified": formatdate(found.modified, usegmt=True),
            "x-goog-generation": str(found.generation),
            **found.metadata,
        }
        size = len(found.data)
        if not (asked := self.asked_range(size)):
            self.answer(200, found.data, headers)
            return
        start, end = asked
        if start >= size:
            raise Refused(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        self.answer(206, found.data[start:end], headers)

    def remove(self, key: str) -> None:
        self.found(key)
        del self.server.objects[key]
        self.answer(204)

    def copy(self, key: str) -> None:
        bucket, _, source = unquote(self.headers["x-goog-copy-source"]).removeprefix("/").partition("/")
        if bucket != BUCKET:
            raise Refused(404, "NoSuchBucket")
        self.check_generation(key)
        found = self.found(source)
        self.stored(key, self.store(key, found.data, found.metadata))

    def begin(self, key: str) -> None:
        upload = f"upload-{next(self.server.generations)}"
        self.server.uploads[upload] = Upload(key, self.metadata())
        self.answer(
            200,
            f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode(),
        )

    def upload(self, query: dict[str, str]) -> Upload:
        if "x-goog-if-generation-match" in self.headers:
            raise Refused(400, "InvalidArgument")
        if query["uploadId"] not in self.server.uploads:
            raise Refused(404, "NoSuchUpload")
        return self.server.uploads[query["uploadId"]]

    def part(self, query: dict[str, str], body: bytes) -> None:
        self.upload(query).parts[int(query["partNumber"])] = body
        self.answer(200, b"", {"ETag": f'"{hashlib.md5(body).hexdigest()}"'})

    def complete(self, query: dict[str, str], body: bytes) -> None:
        upload = self.upload(query)
        numbers = [int(number.text or 0) for number in ET.fromstring(body).iter("PartNumber")]
        if any(len(upload.parts[number]) < PART_BYTES for number in numbers[:-1]):
            raise Refused(400, "EntityTooSmall")
        made = self.store(upload.key, b"".join(upload.parts[number] for number in numbers), upload.metadata)
        del self.server.uploads[query["uploadId"]]
        tag = escape(made.tag)
        text = f"<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>"
        self.answer(200, text.encode(), {"x-goog-generation": str(made.generation)})

    def list(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        entries: dict[str, str] = {}
        for key in sorted(key for key in self.server.objects if key.startswith(prefix)):
            folder = (
                key[: key.find(delimiter, len(prefix)) + 1] if delimiter and delimiter in key[len(prefix) :] else ""
            )
            if (folder or key) <= after:
                continue
            found = self.server.objects[key]
            modified = f"<LastModified>{_iso(found.modified)}</LastModified>"
            entries[folder or key] = (
                f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
                if folder
                else f"<Contents><Key>{escape(key)}</Key>{modified}<ETag>{escape(found.tag)}</ETag><Size>{len(found.data)}</Size></Contents>"
            )
        names = list(entries)[:PAGE]
        more = len(entries) > PAGE
        token = f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>" if more else ""
        listed = "".join(entries[name] for name in names)
        text = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{listed}"
        self.answer(200, f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>{text}</ListBucketResult>".encode())

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@contextlib.contextmanager
def started() -> Iterator[GoogleStorage]:
    """A server that serves until the end of the block."""
    server = GoogleStorage()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> int:
    """Serves until it is interrupted."""
    with started() as server, contextlib.suppress(KeyboardInterrupt):
        print(server.endpoint, flush=True)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
