"""What the tests of the bench share."""

from __future__ import annotations

import pytest

from lakerace_bench import race


@pytest.fixture
def without_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the processes: for tests of what entrants do, and not of rounds."""
    monkeypatch.setattr(race, "_first_round", lambda _: 1)
