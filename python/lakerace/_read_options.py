"""Options for reading whose values are of another kind than they have to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lakerace._errors import UsageError

#: Several names in one text.
_PLAIN_NAMES = re.compile(r"\s*[\w.]+(\s*,\s*[\w.]+)+\s*")


def checked_names(option: str, names: Iterable[str]) -> list[str]:
    """The names that an option takes.

    Raises:
        UsageError: They are one text.
    """
    if not isinstance(names, str):
        return list(names)
    # A text that is read as null may have a comma.
    has_commas = option != "null_strings" and _PLAIN_NAMES.fullmatch(names)
    listed = re.split(r"\s*,\s*", names.strip()) if has_commas else [names]
    raise UsageError(f"{option} is a list of names, not one text: write {listed}")


def check_schema(schema: object) -> None:
    """Refuses types of columns that are no text.

    Raises:
        TypeError: They are a dict, or a schema of another package.
    """
    if schema is None or isinstance(schema, str):
        return
    example = "price float64, day date32"
    if isinstance(schema, Mapping) and all(isinstance(part, str) for pair in schema.items() for part in pair):
        example = ", ".join(f"{name} {kind}" for name, kind in schema.items()) or example
    raise TypeError(f"schema: a text is expected, such as {example!r}, not {type(schema).__name__}")
