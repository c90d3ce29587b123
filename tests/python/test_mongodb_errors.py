"""Answers of MongoDB servers that are errors, in the forms that servers have: what they say is said."""

from __future__ import annotations

import socketserver
import struct
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import bson
import pytest
from conftest import run

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = {
    "ok": 1,
    "helloOk": True,
    "isWritablePrimary": True,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "maxBsonObjectSize": 16 << 20,
}
HELLO |= {"maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "ismaster": True}
OP_MSG = 2013


@contextmanager
def answering(answer: dict[str, Any], hello: dict[str, Any] = HELLO) -> Iterator[str]:
    """The address of a server that gives one answer to each command after the first one of a connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while header := self.rfile.read(16):
                length, request, _, code = struct.unpack("<iiii", header)
                body = self.rfile.read(length - 16)
                # A message has flags and the kind of its section, an older query has flags, a name and two numbers.
                document = body[5:] if code == OP_MSG else body[body.index(b"\0", 4) + 9 :]
                command = next(iter(bson.decode(document[: struct.unpack_from("<i", document)[0]])))
                is_first = command.lower() in ("hello", "ismaster")
                content = struct.pack("<Ib", 0, 0) + bson.encode(hello if is_first else answer)
                self.wfile.write(struct.pack("<iiii", 16 + len(content), 0, request, OP_MSG) + content)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"mongodb://127.0.0.1:{server.server_address[1]}/db/rows"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ({"ok": 0, "errmsg": "hunter2", "code": 9, "codeName": "FailedToParse"}, 4, "(FailedToParse, code 9)"),
        # Older servers give no name, and `$err` in place of `errmsg`.
        ({"ok": 0, "$err": "hunter2", "code": 10003}, 4, "the server rejects the command (code 10003)"),
        ({"ok": 0, "errmsg": "hunter2"}, 4, "without the code of an error"),
        ({"$err": "hunter2", "code": 10003}, 5, "no status"),
        ({"ok": "hunter2"}, 5, "not a MongoDB response"),
    ],
)
def test_errors_of_commands(answer: dict[str, Any], code: int, says: str) -> None:
    with answering(answer) as location:
        done = run("scan", location, "--json")
    assert (done.code, says in done.error["message"]) == (code, True), done.out
    assert "hunter2" not in done.out + done.err


def test_the_error_of_the_first_answer_is_shown() -> None:
    refused = {"ok": 0, "errmsg": "this proxy has no backend", "code": 13, "codeName": "Unauthorized"}
    with answering({"ok": 1}, hello=refused) as location:
        done = run("scan", location + "?serverSelectionTimeoutMS=1000", "--json")
    assert done.code == 8, done.out
    assert "this proxy has no backend" in done.error["message"]
    assert "13" in done.error["message"]
