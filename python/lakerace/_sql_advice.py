"""Advice on options for reading, which a query has none of."""

from __future__ import annotations

import re

from lakerace._errors import Error, set_advice

#: Options for reading text files and workbooks.
READING_OPTIONS = [
    "comment",
    "date_format",
    "decimal_comma",
    "delimiter",
    "encoding",
    "escape",
    "header",
    "infer_rows",
    "null_strings",
    "on_bad_row",
    "quote",
    "schema",
    "sheet",
    "skip_rows",
    "timestamp_format",
]
#: The command has some of them in the singular.
_NAMES = "|".join(f"{name}?" if name.endswith("s") else name for name in READING_OPTIONS)
#: Such an option in a text: as the native half marks it, as the command shows it, and as Python does.
_NAMED_OPTION = re.compile(rf"\ufdd0(?:{_NAMES})\W|--(?:{_NAMES.replace('_', '-')})\b|\b(?:{_NAMES})=")
#: What to do instead.
READING_ADVICE = "a query has no such option: copy the file with it and query the copy, or in Python pass lr.scan(location, …) as a relation"


def names_option(text: str) -> bool:
    """Whether a text names an option for reading."""
    return _NAMED_OPTION.search(text) is not None


def with_reading_advice(text: str) -> str:
    """A text with the advice, if it names an option for reading."""
    return f"{text}; {READING_ADVICE}" if names_option(text) and READING_ADVICE not in text else text


def advise_reading(error: BaseException | None) -> None:
    """Adds the advice to an error that names an option for reading."""
    if isinstance(error, Error) and error.advice is not None:
        set_advice(error, with_reading_advice(error.advice))
