"""Where the conformance corpora are: files that other implementations wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "conformance"


def corpus(name: str) -> Path:
    """The folder of one corpus; skips the calling module where it is absent."""
    folder = Path(os.environ.get("LAKERACE_CONFORMANCE", _BESIDE)) / name
    if not folder.is_dir():
        pytest.skip(
            f"conformance corpus {name!r} is not here: set LAKERACE_CONFORMANCE to the folder that holds it",
            allow_module_level=True,
        )
    return folder
