"""Locations as text."""

from __future__ import annotations

import os


def location_text(location: str | os.PathLike[str]) -> str:
    """The text of a location. A path is never below a connection of the configuration file, whatever its name."""
    text = os.fspath(location)
    return f"./{text}" if text.startswith("@") and not isinstance(location, str) else text
