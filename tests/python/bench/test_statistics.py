"""Medians, spreads and ratios."""

from __future__ import annotations

from typing import Any

import pytest

from lakerace_bench.samples import RIGHT, UNABLE, WRONG, Sample
from lakerace_bench.statistics import Spread, summarize


def sample(contestant: str, number: int, seconds: float | None, **more: Any) -> Sample:
    known: dict[str, Any] = {
        "case": "scan/local/all/t1",
        "bench": "scan",
        "store": "local",
        "title": "all",
        "threads": 1,
    }
    known |= {"contestant": contestant, "round": number, "seconds": seconds, "cpu_seconds": seconds, "verdict": RIGHT}
    return Sample(**known | more)


def rounds(contestant: str, *seconds: float, **more: Any) -> list[Sample]:
    return [sample(contestant, number, value, **more) for number, value in enumerate(seconds)]


def test_a_spread_has_median_and_ends() -> None:
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0, (3.0, 1.0, 2.0, 10.0))
    assert Spread.of([]) is None


def test_the_warm_up_counts_for_nothing() -> None:
    [result] = summarize(rounds("a", 99.0, 1.0, 2.0, 3.0), set())
    [entry] = result.entries
    assert entry.seconds == Spread(2.0, 1.0, 3.0, (1.0, 2.0, 3.0))


def test_ratios_are_taken_pair_by_pair() -> None:
    """The machine got slower in round 2: the ratio of medians would hide that the pairs agree."""
    samples = rounds("we", 9, 1.0, 8.0, 1.0) + rounds("they", 9, 2.0, 16.0, 4.0)
    [result] = summarize(samples, {"we"})
    [ratio] = result.ratios
    assert ratio.peer == "they"
    assert ratio.wall == Spread(0.5, 0.25, 0.5, (0.5, 0.5, 0.25))


def test_only_rounds_that_both_have_are_paired() -> None:
    samples = [*rounds("we", 9, 1.0, 1.0), sample("they", 2, 4.0)]
    [result] = summarize(samples, {"we"})
    assert result.ratios[0].wall.values == (0.25,)


def test_the_fastest_peer_is_the_one_with_the_smallest_median() -> None:
    samples = rounds("we", 9, 1.0, 1.0, 1.0) + rounds("slow", 9, 0.5, 3.0, 3.0) + rounds("fast", 9, 2.0, 2.0, 9.0)
    [result] = summarize(samples, {"we"})
    fastest = result.fastest({"slow", "fast"})
    assert fastest is not None
    assert fastest.peer == "fast"
    only_slow = result.fastest({"slow"})
    assert only_slow is not None
    assert only_slow.peer == "slow"
    assert [entry.contestant for entry in result.entries] == ["we", "fast", "slow"]


def test_wrong_work_gives_no_numbers_even_if_it_was_wrong_once() -> None:
    samples = rounds("we", 9, 2.0, 2.0) + rounds("cheat", 9, 0.1) + [sample("cheat", 2, 0.1, verdict=WRONG, why="rows")]
    [result] = summarize(samples, {"we"})
    cheat = result.entries[-1]
    assert (cheat.contestant, cheat.verdict, cheat.why, cheat.seconds) == ("cheat", WRONG, "rows", None)
    assert result.ratios == ()
    assert result.fastest({"cheat"}) is None


def test_the_unable_come_last_and_say_why() -> None:
    samples = [sample("no", 0, None, verdict=UNABLE, why="no S3"), *rounds("we", 9, 1.0)]
    [result] = summarize(samples, {"we"})
    assert [(entry.contestant, entry.why) for entry in result.entries] == [("we", None), ("no", "no S3")]


@pytest.mark.parametrize("subjects", [set(), {"absent"}])
def test_without_the_subject_there_are_no_ratios(subjects: set[str]) -> None:
    [result] = summarize(rounds("a", 9, 1.0) + rounds("b", 9, 2.0), subjects)
    assert result.ratios == ()
