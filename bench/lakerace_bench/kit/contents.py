"""What the bench `files` puts and gets: names and contents from a seed, and a checksum of what was read.

No two seeds share a name or a content: a database that is given the same row again writes nothing, and looks fast.
`python contents.py` reads a job from stdin and prints how many files a contestant must have read, and their checksum.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

#: Kinds of work that put files; the others get them.
PUTS = ("put", "put-group", "put-threads", "import", "fill")
#: Kinds of work whose files must come in the order that they are asked for.
ORDERED = ("get-all",)
_WORDS = ("created", "updated", "shipped", "returned", "paid", "cancelled", "viewed", "archived")
_PLACES = ("Amsterdam", "Bogota", "Chennai", "Dakar", "Edmonton", "Fukuoka", "Geneva", "Hanoi", "Izmir", "Jakarta")


def pairs(job: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Names and contents, in no order, or in that of their names where they are imported."""
    made = list(stream(job))
    return sorted(made) if job["work"] == "import" else made


def stream(job: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The same in no order, made one by one."""
    source = random.Random(f"{job['seed']} {job['form']} {job['bytes']}")
    for _ in range(job["files"]):
        yield _name(source, job["form"]), _content(source, job)


def asked(job: dict[str, Any], names: Sequence[str], part: int = 0) -> list[str]:
    """The names that are asked for, in random order or, where it is all, in theirs; each of the `parts` asks for as many."""
    if job["work"] in ORDERED:
        return sorted(names)
    source = random.Random(f"{job['seed']} asks {part}")
    found: list[str] = []
    while len(found) < job["operations"]:
        found += source.sample(names, len(names))
    return found[: job["operations"]]


def shared(job: dict[str, Any], made: Sequence[tuple[str, bytes]]) -> list[list[tuple[str, bytes]]]:
    """The files that each of the `parts` puts."""
    return [list(made[part :: job["parts"]]) for part in range(job["parts"])]


def digest(read: Iterable[tuple[str, bytes]], is_ordered: bool = False) -> dict[str, Any]:
    """The number of files, and the sum of the hashes of names and contents, in their order if `is_ordered`."""
    rows = total = 0
    for name, content in read:
        each = hashlib.blake2b(name.encode() + b"\0", digest_size=8)
        if is_ordered:
            each.update(b"%d\0" % rows)
        each.update(content)
        total += int.from_bytes(each.digest(), "little")
        rows += 1
    return {"rows": rows, "checksum": f"{total % (1 << 64):016x}", "checked_by": "BLAKE2b"}


def added(digests: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The digest of all that several processes have read."""
    all_of_them = list(digests)
    total = sum(int(each["checksum"], 16) for each in all_of_them)
    rows = sum(each["rows"] for each in all_of_them)
    return {"rows": rows, "checksum": f"{total % (1 << 64):016x}", "checked_by": "BLAKE2b"}


def expected(job: dict[str, Any]) -> dict[str, Any]:
    """What a contestant must have read, or must have put."""
    if job["work"] == "fill":
        import fill

        return digest(itertools.islice(stream(job), 0, None, fill.SAMPLED)) | {"rows": job["files"]}
    made = pairs(job)
    if job["work"] in PUTS:
        return digest(made)
    contents = dict(made)
    names = list(contents)
    found = [[(name, contents[name]) for name in asked(job, names, part)] for part in range(job["parts"])]
    return added(digest(part, job["work"] in ORDERED) for part in found)


def _name(source: random.Random, form: str) -> str:
    return f"{source.getrandbits(8):02x}/{source.getrandbits(64):016x}.{'json' if form == 'json' else 'bin'}"


def _content(source: random.Random, job: dict[str, Any]) -> bytes:
    return _document(source) if job["form"] == "json" else source.randbytes(job["bytes"])


def _document(source: random.Random) -> bytes:
    """An event as services log them, of 64 to 300 bytes."""
    event: dict[str, Any] = {
        "id": f"{source.getrandbits(48):012x}",
        "event": source.choice(_WORDS),
        "at": f"2026-{source.randint(1, 12):02}-{source.randint(1, 28):02}T{source.randint(0, 23):02}:{source.randint(0, 59):02}:00Z",
    }
    optional: list[tuple[str, Any]] = [
        ("customer", source.randint(1, 999_999)),
        ("city", source.choice(_PLACES)),
        ("amount", source.randint(100, 99_999) / 100),
        ("currency", source.choice(("EUR", "USD", "JPY"))),
        ("status", source.choice(("open", "closed", "failed"))),
        ("items", [source.randint(1, 500) for _ in range(source.randint(1, 4))]),
        ("source", f"service-{source.randint(1, 20)}.example.com"),
        ("retry", source.random() < 0.5),
        ("path", f"/v2/orders/{source.randint(1, 99_999)}/items"),
        ("agent", f"client/{source.randint(1, 9)}.{source.randint(0, 20)}"),
    ]
    event |= dict(optional[: source.randint(0, len(optional))])
    return json.dumps(event, separators=(",", ":")).encode()


if __name__ == "__main__":
    json.dump(expected(json.load(sys.stdin)), sys.stdout)
