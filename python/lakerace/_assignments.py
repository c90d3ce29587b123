"""New values of columns, as updates and merges take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lakerace._errors import UsageError


def checked_updates(updates: Mapping[str, str], advice_on: Callable[[str, object], str]) -> list[tuple[str, str]]:
    """Columns and the SQL expressions of their values. `advice_on` says how a value that is none is written.

    Raises:
        UsageError: They are no mapping, none, or no texts.
    """
    example = 'write columns and their values, as in {"a": "a + 1"}'
    if not isinstance(updates, Mapping):
        raise UsageError(f"updates: a value of type {type(updates).__name__} is no dict", advice=example)
    if not updates:
        raise UsageError("updates: no column is set", advice=example)
    for name, text in updates.items():
        if not isinstance(name, str):
            raise UsageError(f"updates: {name!r} is no name of a column", advice=example)
        if not isinstance(text, str):
            raise UsageError(
                f"updates: the value of {name!r} is not a SQL expression, but of type {type(text).__name__}",
                advice=advice_on(name, text),
            )
    return list(updates.items())
