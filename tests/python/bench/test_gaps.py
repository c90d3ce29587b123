"""Where a seek costs as much as reading on, from times that are known."""

from __future__ import annotations

import pytest

from lakerace_bench.gaps import TURNS, crossover, read_through
from lakerace_bench.samples import RIGHT, Sample
from lakerace_bench.statistics import Result, summarize

LATENCY, BANDWIDTH, WANTED = 0.020, 100e6, 1 << 20


def results(latency: float, gaps: list[int]) -> list[Result]:
    """What a path would give whose bandwidth is 100 MB/s: auto reads on up to 1 MiB."""
    samples = []
    for gap in gaps:
        ways = {
            "lakerace/one": latency + (2 * WANTED + gap) / BANDWIDTH,
            "lakerace/two": latency + WANTED / BANDWIDTH,
            "lakerace/turns": 2 * (latency + WANTED / BANDWIDTH),
            "lakerace/auto": latency,
        }
        for who, seconds in ways.items():
            samples.append(
                Sample(
                    case=f"seek/s3/{gap >> 10}KiB/t1",
                    bench="seek",
                    store="s3",
                    title="gap",
                    threads=1,
                    contestant=who,
                    round=1,
                    verdict=RIGHT,
                    seconds=seconds,
                    planned={"requests": 1 if gap <= 1 << 20 else 2},
                )
            )
    return summarize(samples, {"lakerace/auto"})


def test_the_crossover_is_latency_times_bandwidth() -> None:
    gap, words = crossover(results(LATENCY, [16 << 10 << n for n in range(11)]), TURNS)
    assert gap == pytest.approx(LATENCY * BANDWIDTH, rel=0.05)
    assert words == "1.89 MiB"


def test_a_crossover_outside_of_what_was_measured_is_not_made_up() -> None:
    assert crossover(results(0.0, [16 << 10, 32 << 10]), TURNS) == (None, "below 16 KiB")
    assert crossover(results(1.0, [16 << 10, 32 << 10]), TURNS) == (None, "above 32 KiB")


def test_up_to_where_auto_reads_on() -> None:
    assert read_through(results(LATENCY, [512 << 10, 1 << 20, 2 << 20])) == "1 MiB"
    assert read_through(results(LATENCY, [512 << 10, 1 << 20])) == "at least 1 MiB"
    assert read_through(results(LATENCY, [2 << 20])) == "not even 2 MiB"
