"""What a contestant says to a server, counted: a relay of this process between both, for HTTP and for MongoDB's protocol.

It counts bytes of both directions and whole requests, by kind: method and last segment of a path, or a command of MongoDB.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

_CHUNK_BYTES = 1 << 20
_MESSAGE = 2013
_HEADER_BYTES = 16


class Requests:
    """Cuts what a client sends into requests; `kinds` counts the whole ones."""

    def __init__(self, framing: Callable[[bytearray], tuple[int, str] | None]) -> None:
        self.kinds: Counter[str] = Counter()
        self._framing = framing
        self._head = bytearray()
        #: Bytes of the request under way that are still to come.
        self._missing = 0

    def add(self, data: bytes) -> None:
        """What was sent next."""
        view = memoryview(data)
        while view:
            if self._missing:
                taken = min(self._missing, len(view))
                self._missing -= taken
                view = view[taken:]
                continue
            self._head += view
            view = view[len(view) :]
            while found := self._framing(self._head):
                length, kind = found
                self.kinds[kind] += 1
                self._missing = max(0, length - len(self._head))
                del self._head[:length]
                if self._missing:
                    break


def http(head: bytearray) -> tuple[int, str] | None:
    """Length and kind of the request at the start of the bytes; None if its head is incomplete."""
    end = head.find(b"\r\n\r\n")
    if end < 0:
        return None
    lines = bytes(head[:end]).decode("latin-1").split("\r\n")
    method, _, rest = lines[0].partition(" ")
    segment = rest.partition(" ")[0].partition("?")[0].rpartition("/")[2]
    fields = dict(line.lower().split(":", 1) for line in lines[1:] if ":" in line)
    kind = f"{method} {segment}" if segment.startswith("_") else method
    return end + 4 + int(fields.get("content-length", "0")), kind


def mongodb(head: bytearray) -> tuple[int, str] | None:
    """The same of a message of MongoDB; its kind is the name of its command."""
    if len(head) < _HEADER_BYTES:
        return None
    length, _, _, code = struct.unpack_from("<iiii", head)
    if code != _MESSAGE:
        return length, "other"
    # Flags, the section's kind, the document's length, the type of its first value, and that value's name: the command.
    begin = _HEADER_BYTES + 4 + 1 + 4 + 1
    end = head.find(b"\0", begin)
    return (length, bytes(head[begin:end]).decode()) if end >= 0 else None


class Relay:
    """A server's address that counts; it ends with the block."""

    def __init__(self, target: str, framing: Callable[[bytearray], tuple[int, str] | None]) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._framing = framing
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.reset()

    def __enter__(self) -> Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def reset(self) -> None:
        """Resets the counts."""
        with self._lock:
            self._kinds: Counter[str] = Counter()
            self._bytes = {"from_client": 0, "to_client": 0}

    def counts(self) -> dict[str, Any]:
        """Requests in all and by kind, and bytes from and to the client, since the reset."""
        with self._lock:
            return {
                "requests": self._kinds.total(),
                "kinds": dict(sorted(self._kinds.items())),
                "bytes_from_client": self._bytes["from_client"],
                "bytes_to_client": self._bytes["to_client"],
            }

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed at the end
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """One connection, until both of its ends are closed."""
        with client, suppress(OSError), socket.create_connection(self._target) as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=self._pump, args=(server, client, "to_client"), daemon=True)
            back.start()
            self._pump(client, server, "from_client")
            back.join()

    def _pump(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        requests = Requests(self._framing)
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                before = requests.kinds.copy()
                if way == "from_client":
                    requests.add(data)
                with self._lock:
                    self._bytes[way] += len(data)
                    self._kinds += requests.kinds - before
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
