"""From samples to numbers: medians, spreads, and ratios taken pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from lakerace_bench.samples import FAILED, RIGHT, UNABLE, WRONG, Sample

#: The verdict of several samples is the worst of theirs.
_WORST_LAST = (RIGHT, UNABLE, FAILED, WRONG)


@dataclass(frozen=True)
class Spread:
    """The median of some values, with the smallest and the largest."""

    median: float
    low: float
    high: float
    values: tuple[float, ...]

    @staticmethod
    def of(values: list[float]) -> Spread | None:
        """None where there are no values."""
        return Spread(median(values), min(values), max(values), tuple(values)) if values else None


@dataclass(frozen=True)
class Ratio:
    """The subject against one peer, pair by pair: below 1, the subject needs less."""

    peer: str
    wall: Spread
    cpu: Spread | None
    #: Of the sizes of what was written.
    output: Spread | None = None


@dataclass(frozen=True)
class Entry:
    """One contestant in one case."""

    contestant: str
    verdict: str
    why: str | None
    version: str | None
    seconds: Spread | None
    cpu: Spread | None
    peak_rss_bytes: float | None
    peak_anonymous_bytes: float | None
    rounds: int
    requests: float | None
    request_bytes: float | None
    output_bytes: float | None
    row_groups: float | None
    #: `ranges`: what the planner chose in the last round.
    planned: dict[str, Any] | None = None
    #: `files`: frames of SQLite's log for each commit.
    frames_per_put: float | None = None
    #: All that count, in the order of their rounds.
    samples: tuple[Sample, ...] = ()
    #: The most rows that were seen in it, in a warm-up, too.
    rows: int = 0


@dataclass(frozen=True)
class Result:
    """One case: its entries, the right ones first and by time, and the subject's ratios against each peer."""

    case: str
    bench: str
    store: str
    title: str
    threads: int
    entries: tuple[Entry, ...]
    ratios: tuple[Ratio, ...] = field(default=())
    #: The entry that the ratios are of.
    subject: str | None = None
    #: Whether a round came before those that count.
    has_warm_up: bool = True

    def fastest(self, among: Container[str]) -> Ratio | None:
        """The ratio against the peer with the smallest median `among` these; None where none of them has a time."""
        times = {entry.contestant: entry.seconds.median for entry in self.entries if entry.seconds}
        return min((r for r in self.ratios if r.peer in among), key=lambda ratio: times[ratio.peer], default=None)

    def entry(self, contestant: str | None) -> Entry | None:
        """The entry of `contestant`, if it has a time."""
        return next((entry for entry in self.entries if entry.contestant == contestant and entry.seconds), None)

    def ratio_to(self, peer: str) -> Ratio | None:
        """The ratio against `peer`."""
        return next((ratio for ratio in self.ratios if ratio.peer == peer), None)


def summarize(samples: list[Sample], subjects: Container[str]) -> list[Result]:
    """One result per case, in the order in which the cases first appear. Only RIGHT samples give numbers.

    Ratios are those of the one of `subjects` that took part in the case.
    """
    cases: dict[str, list[Sample]] = {}
    for sample in samples:
        cases.setdefault(sample.case, []).append(sample)
    return [_result(found, subjects) for found in cases.values()]


def _result(samples: list[Sample], subjects: Container[str]) -> Result:
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.contestant, []).append(sample)
    entries = sorted((_entry(name, found) for name, found in by_name.items()), key=_by_time)
    timed = {entry.contestant for entry in entries if entry.seconds}
    ratios = []
    subject = next((name for name in by_name if name in subjects), None)
    if subject is not None and subject in timed:
        for peer in sorted(timed - {subject}):
            ratio = _ratio(by_name[subject], by_name[peer])
            if ratio:
                ratios.append(ratio)
    first = samples[0]
    about = (first.case, first.bench, first.store, first.title, first.threads)
    has_warm_up = any(sample.round == 0 for sample in samples)
    return Result(*about, tuple(entries), tuple(ratios), subject, has_warm_up)


def _entry(name: str, samples: list[Sample]) -> Entry:
    verdict = max((sample.verdict for sample in samples), key=_WORST_LAST.index)
    worst = next(sample for sample in samples if sample.verdict == verdict)
    counted = [sample for sample in samples if sample.round > 0] if verdict == RIGHT else []

    def values(pick: Callable[[Sample], float | None]) -> list[float]:
        return [value for sample in counted if (value := pick(sample)) is not None]

    def middle(pick: Callable[[Sample], float | None]) -> float | None:
        found = values(pick)
        return median(found) if found else None

    return Entry(
        contestant=name,
        verdict=verdict,
        why=worst.why,
        version=next((sample.version for sample in samples if sample.version), None),
        seconds=Spread.of(values(lambda s: s.seconds)),
        cpu=Spread.of(values(lambda s: s.cpu_seconds)),
        peak_rss_bytes=middle(lambda s: s.peak_rss_bytes),
        peak_anonymous_bytes=middle(lambda s: s.peak_anonymous_bytes),
        rounds=len(counted),
        requests=middle(lambda s: s.requests),
        request_bytes=middle(lambda s: s.request_bytes),
        output_bytes=middle(lambda s: s.output_bytes),
        row_groups=middle(lambda s: s.row_groups),
        planned=counted[-1].planned if counted else None,
        frames_per_put=next((s.wal_frames / s.operations for s in samples if s.wal_frames and s.operations), None),
        samples=tuple(counted),
        rows=max((sample.rows or 0 for sample in samples), default=0),
    )


def _ratio(subject: list[Sample], peer: list[Sample]) -> Ratio | None:
    peers = {sample.round: sample for sample in peer if sample.round > 0}
    pairs = [(sample, peers[sample.round]) for sample in subject if sample.round in peers]
    wall = Spread.of([a.seconds / b.seconds for a, b in pairs if a.seconds and b.seconds])
    cpu = Spread.of([a.cpu_seconds / b.cpu_seconds for a, b in pairs if a.cpu_seconds and b.cpu_seconds])
    output = Spread.of([a.output_bytes / b.output_bytes for a, b in pairs if a.output_bytes and b.output_bytes])
    return Ratio(peer[0].contestant, wall, cpu, output) if wall else None


def _by_time(entry: Entry) -> tuple[bool, float, str]:
    seconds = entry.seconds.median if entry.seconds else float("inf")
    return (entry.seconds is None, seconds, entry.contestant)
