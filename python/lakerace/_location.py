"""Locations as text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakerace._errors import UsageError

if TYPE_CHECKING:
    from typing import TypeGuard

#: What a pattern has, and names of a list have literally.
_PATTERN_CHARACTERS = frozenset("*?[{")


def location_text(location: str | os.PathLike[str]) -> str:
    """The text of a location. A path is never below a connection of the configuration file, whatever its name."""
    try:
        text = os.fspath(location)
    except TypeError:
        takers = ": scan, copy, schema and upsert take lists" if isinstance(location, (list, tuple)) else ""
        message = f"one location is expected (a str or a path), not a {type(location).__name__}{takers}"
        raise TypeError(message) from None
    # Where it can't be encoded, the caller names the argument.
    text.encode()
    return f"./{text}" if text.startswith("@") and not isinstance(location, str) else text


def is_location(source: object) -> TypeGuard[str | os.PathLike[str] | Sequence[str | os.PathLike[str]]]:
    """Whether a source names one location or a list of them. A list that also has rows is an error.

    Raises:
        TypeError: A list has both locations and rows.
    """
    if isinstance(source, (str, os.PathLike)):
        return True
    if not isinstance(source, (list, tuple)):
        return False
    others = [item for item in source if not isinstance(item, (str, os.PathLike))]
    if others and len(others) < len(source):
        raise TypeError(
            f"a list of sources has locations and a {type(others[0]).__name__}: give locations only, or rows only (dicts)"
        )
    return bool(source) and not others


def located(source: object, door: str) -> tuple[str, dict[str, list[str]]]:
    """The first location that a source names, and as an option the list of them, as the native half takes it. `door` is the function,
    for errors.

    Raises:
        TypeError: The source is no location.
        UsageError: The list is empty.
    """
    if isinstance(source, (list, tuple)) and not source:
        raise UsageError(f"{door}: the list of locations is empty: name at least one file or folder")
    if not is_location(source):
        raise TypeError(_no_location(source, door))
    if isinstance(source, (str, os.PathLike)):
        return location_text(source), {}
    texts = [location_text(item) for item in source]
    # One name may be that of a table, and is a list only if it could be a pattern otherwise.
    is_plain = len(texts) == 1 and _PATTERN_CHARACTERS.isdisjoint(texts[0])
    return texts[0], {} if is_plain else {"locations": texts}


def _no_location(source: object, door: str) -> str:
    """The error of a source that names no location."""
    if hasattr(source, "read") or isinstance(source, (bytes, bytearray, memoryview)):
        advice = 'lr.copy(source, target, format="csv") reads bytes and open files'
    else:
        advice = "lr.copy(source, target) takes rows, and so does Table.upsert"
    return f"{door} takes a location or a list of locations, and not {type(source).__name__}: {advice}"
