"""Rows as JSON, the same whoever has read them: Spark, pyarrow or anybody else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any


def lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line of JSON for each row, sorted: tables have no order."""
    return sorted(json.dumps(plain(dict(row)), ensure_ascii=False) for row in rows)


def digest(text: str) -> str:
    """The SHA-256 of all lines, each with its line feed."""
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> Any:
    """A value as JSON has it: exact numbers as text, times in UTC, maps as sorted pairs."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return repr(value)
        case Decimal():
            return str(value)
        case datetime():
            return (value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value).isoformat()
        case date():
            return value.isoformat()
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            return {name: plain(inner) for name, inner in value.items()}
        case list() if value and isinstance(value[0], tuple):
            return sorted(([plain(key), plain(inner)] for key, inner in value), key=json.dumps)
        case list():
            return [plain(inner) for inner in value]
    raise TypeError(f"no JSON for {type(value)}")
