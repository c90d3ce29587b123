"""The relay that counts what a contestant says to a server."""

from __future__ import annotations

import struct
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lakerace_bench.relay import Relay, Requests, http, mongodb


def message(name: str, size: int = 0) -> bytes:
    """A message of MongoDB with a command of a number, and so many bytes behind it."""
    document = b"\x10" + name.encode() + b"\0" + struct.pack("<i", 1) + b"\0"
    body = struct.pack("<i", 0) + b"\0" + struct.pack("<i", 4 + len(document)) + document + b"x" * size
    return struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body


@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 20])
def test_requests_are_counted_however_they_arrive(step: int) -> None:
    told = b"".join(
        [
            b"POST /index/_bulk?x=/y HTTP/1.1\r\nHost: a\r\nContent-Length: 2750\r\n\r\n" + b"GET / x\r\n\r\n" * 250,
            b"GET /index/77 HTTP/1.1\r\nHost: a\r\n\r\n",
        ]
    )
    requests = Requests(http)
    for at in range(0, len(told), step):
        requests.add(told[at : at + step])
    assert dict(requests.kinds) == {"POST _bulk": 1, "GET": 1}

    told = (
        message("hello") + message("update", 5_000) + message("update") + struct.pack("<iiii", 20, 1, 0, 2004) + b"four"
    )
    requests = Requests(mongodb)
    for at in range(0, len(told), step):
        requests.add(told[at : at + step])
    assert dict(requests.kinds) == {"hello": 1, "update": 2, "other": 1}


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_bytes_go_both_ways() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    body = b"z" * 3_000_000
    try:
        with Relay(f"127.0.0.1:{server.server_port}", http) as relay:
            for _ in range(3):
                with urllib.request.urlopen(f"http://{relay.address}/a/_bulk", data=body, timeout=30) as answer:
                    assert answer.read() == body
            counts = relay.counts()
            assert (counts["requests"], counts["kinds"]) == (3, {"POST _bulk": 3})
            assert len(body) * 3 < counts["bytes_from_client"] < len(body) * 3 + 3_000
            assert len(body) * 3 < counts["bytes_to_client"] < len(body) * 3 + 3_000
            relay.reset()
            assert relay.counts()["requests"] == 0
    finally:
        server.shutdown()
        server.server_close()
