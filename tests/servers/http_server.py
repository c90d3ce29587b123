"""Servers of HTTP that a test describes by a handler."""

from __future__ import annotations

import re
import threading
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that writes no log."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answers with a body, which a HEAD does not get."""
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def asked_range(self, size: int) -> tuple[int, int] | None:
        """The first byte that is asked for and the one after the last, of `size`; `None` for a request of the whole."""
        if not (asked := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))):
            return None
        first, last = asked.groups()
        start = int(first) if first else max(0, size - int(last))
        return start, min(int(last) + 1, size) if first and last else size


class FolderHandler(SimpleHTTPRequestHandler):
    """Files of a folder as Python serves them: whole, whatever range is asked for."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that ends with the context."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        # A request that a test holds back does not keep the server from its end.
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def serving_folder(folder: Path) -> AbstractContextManager[str]:
    """The address of a server of the files of a folder."""
    return serving(partial(FolderHandler, directory=str(folder)))
