"""New values of columns, as updates and merges take them."""

from __future__ import annotations

from collections.abc import Mapping

from lakerace._errors import UsageError


def checked_updates(updates: Mapping[str, str]) -> list[tuple[str, str]]:
    """Columns and the SQL expressions of their values.

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
                advice=f'write {{{name!r}: "?"}} and params=[{text!r}]',
            )
    return list(updates.items())
