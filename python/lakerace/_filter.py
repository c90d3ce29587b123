"""What the translations of other engines' filters have in common.

None of them loses a row that the other engine keeps: what they can't say exactly they leave out, and who calls applies the whole filter to the
rows that come.
"""

from __future__ import annotations

import re

#: Names that a filter names without doubt: of others a dot may be a struct's field.
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The integers that filters have.
LEAST_INTEGER, MOST_INTEGER = -(2**63), 2**63 - 1


class UnknownPart(Exception):
    """A part of a filter that can't be said."""


def quoted(name: str) -> str:
    """A column's name in a filter."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in a filter."""
    return "'" + value.replace("'", "''") + "'"
