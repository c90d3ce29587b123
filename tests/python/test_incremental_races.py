"""Two runs of an incremental unload into a Delta table at once."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from conftest import command, ok
from deltalake import DeltaTable
from http_server import QuietHandler, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Without deletion vectors, other programs read the table.
OPTIONS = [
    *("--mode", "upsert", "--key", "id", "--since", "at"),
    *("--table-property", "delta.enableDeletionVectors=false"),
]


class Source:
    """Rows that a server gives: all of them by one GET or by several, as it is asked."""

    def __init__(self) -> None:
        """Without rows."""
        self.text = b""
        #: The request that waits, by its number from 1, and what it waits for.
        self.held: int | None = None
        self.asked = 0
        self.arrived, self.released = threading.Event(), threading.Event()
        self.lock = threading.Lock()

    def put(self, rows: dict[int, tuple[int, str]]) -> None:
        """Rows by their key: when they were changed, and a text."""
        lines = [json.dumps({"id": key, "at": at, "text": text}) for key, (at, text) in rows.items()]
        self.text = "".join(f"{line}\n" for line in lines).encode()

    def take(self) -> bytes:
        """The rows as they are when a request comes, once it may go on."""
        with self.lock:
            self.asked += 1
            is_held, text = self.asked == self.held, self.text
        if is_held:
            self.arrived.set()
            assert self.released.wait(60)
        return text


@contextmanager
def serving_rows(source: Source, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the rows: an object of S3."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            if not self.path.endswith("rows.jsonl"):
                return self.send(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
            text = source.take()
            tag = {"ETag": f'"{hashlib.sha256(text).hexdigest()}"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
            if (asked := self.asked_range(len(text))) is None:
                return self.send(200, text, tag)
            first, end = asked
            return self.send(206, text[first:end], {**tag, "Content-Range": f"bytes {first}-{end - 1}/{len(text)}"})

        do_GET = do_HEAD = answer

    with serving(Handler) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield "s3://bucket/rows.jsonl"


def requests_of_a_run(source: Source, place: str, folder: Path, first: dict[int, tuple[int, str]] | None) -> int:
    """Requests to the source by a run that nothing disturbs, after one that has read the first rows."""
    rows, table = source.text, f"delta:{folder / 'undisturbed'}"
    if first:
        source.put(first)
        ok("copy", place, table, *OPTIONS)
    source.text, before = rows, source.asked
    ok("copy", place, table, *OPTIONS)
    return source.asked - before


@pytest.mark.parametrize("is_known", [True, False])
def test_rows_that_were_read_earlier_do_not_replace_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """A run has read its rows, and waits. Another one reads later rows, and ends. Then the first one goes on."""
    source, target = Source(), tmp_path / "target"
    first = {key: (key, "first") for key in range(5)}
    older = {**first, 3: (10, "older"), 7: (11, "first")}
    newer = {**first, 3: (12, "newer"), 7: (11, "first"), 8: (13, "first")}
    with serving_rows(source, monkeypatch) as place:
        source.put(older)
        requests = requests_of_a_run(source, place, tmp_path, first if is_known else None)
        if is_known:
            source.put(first)
            ok("copy", place, f"delta:{target}", *OPTIONS)
        source.put(older)
        source.held = source.asked + requests
        arguments = command("copy", place, f"delta:{target}", *OPTIONS)
        with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as slow:
            try:
                assert source.arrived.wait(60)
                source.put(newer)
                ok("copy", place, f"delta:{target}", *OPTIONS)
            finally:
                source.released.set()
            assert slow.wait(60) == 0, slow.communicate()[1]
        expected = sorted((key, text) for key, (_, text) in newer.items())
        assert found(target) == expected
        # The value that is kept is not above rows that the table lacks.
        last = {**newer, 3: (13, "last"), 9: (14, "first")}
        source.put(last)
        ok("copy", place, f"delta:{target}", *OPTIONS)
        assert found(target) == sorted((key, text) for key, (_, text) in last.items())


def test_rows_of_a_pipe_that_were_overtaken_are_an_error(tmp_path: Path) -> None:
    target, rows = tmp_path / "target", range(5000)
    arguments = command("copy", "-", f"delta:{target}", "--input-format", "jsonl", *OPTIONS)
    lines = [json.dumps({"id": key, "at": key, "text": "x" * 50}) + "\n" for key in rows]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as slow:
        assert slow.stdin is not None
        # A pipe holds less: when these are written, the run reads, and has looked at the table.
        slow.stdin.write("".join(lines[:4000]).encode())
        slow.stdin.flush()
        newer = "".join(json.dumps({"id": key, "at": key + 1, "text": "newer"}) + "\n" for key in rows)
        subprocess.run(arguments, input=newer.encode(), check=True, capture_output=True)
        errors = slow.communicate("".join(lines[4000:]).encode())[1].decode()
    assert slow.returncode == 7
    assert "a pipe returns its rows only once" in errors
    assert found(target) == [(key, "newer") for key in rows]


def found(target: Path) -> list[tuple[int, str]]:
    """The rows of a table by another reader, each once."""
    table = DeltaTable(target).to_pyarrow_table().to_pydict()
    return sorted(zip(table["id"], table["text"], strict=True))
