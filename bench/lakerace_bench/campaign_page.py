"""The page of a campaign: the write-up's tables in their own layout, with our numbers next to the printed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

from lakerace_bench import markdown, numbers, samples
from lakerace_bench.campaign import Campaign, CampaignGrid, CampaignThreshold, PrintedSpeedup, PrintedTime
from lakerace_bench.samples import RIGHT, Run, Sample
from lakerace_bench.statistics import Spread
from lakerace_bench.table import Row, Table

#: What a grid can show besides fields of samples: the heading, and the value of a sample.
MEASURES: dict[str, tuple[str, Callable[[Sample], float | None]]] = {
    "seconds": ("seconds", lambda s: s.seconds),
    "total_seconds": ("seconds from the start of the process", lambda s: s.total_seconds),
    "peak_megabytes": ("MB at the peak", lambda s: s.peak_rss_bytes and s.peak_rss_bytes / 1e6),
    "requests": ("requests", lambda s: s.requests),
    "thousand_rows_per_second": ("thousand rows a second", lambda s: _rate(s.rows, s.seconds, 1e3)),
    "operations_per_second": ("operations a second", lambda s: _rate(s.operations, s.seconds, 1)),
}
#: The word for a cell without samples.
NOT_RUN = "not run"


class CampaignSamples:
    """Samples by case and entrant."""

    def __init__(self, taken: Iterable[Sample]) -> None:
        self._by_cell: dict[tuple[str, str], list[Sample]] = {}
        for sample in taken:
            self._by_cell.setdefault((sample.case, sample.contestant), []).append(sample)

    def reason(self, case: str, contestant: str) -> str | None:
        """Why a cell has no number; `None` where it has one."""
        found = self._by_cell.get((case, contestant))
        if not found:
            return NOT_RUN
        bad = next((sample for sample in found if sample.verdict != RIGHT), None)
        return f"{bad.verdict}: {bad.why}" if bad else None

    def pair_reason(self, one: PrintedSpeedup) -> str | None:
        """Why a speed-up has no number: the entrant at fault, and its reason."""
        for contestant in (one.slow, one.fast):
            if reason := self.reason(one.case, contestant):
                return reason if reason == NOT_RUN else f"{contestant}: {reason}"
        return None

    def spread(self, case: str, contestant: str, pick: Callable[[Sample], float | None]) -> Spread | None:
        """The values of the rounds that count."""
        if self.reason(case, contestant):
            return None
        counted = [sample for sample in self._by_cell[case, contestant] if sample.round > 0]
        return Spread.of([value for sample in counted if (value := pick(sample)) is not None])

    def speedup(self, one: PrintedSpeedup) -> Spread | None:
        """The seconds of the slow entrant over those of the fast one, round by round."""
        if self.pair_reason(one):
            return None
        of_fast = {sample.round: sample.seconds for sample in self._by_cell[one.case, one.fast] if sample.round > 0}
        pairs = [(s.seconds, of_fast.get(s.round)) for s in self._by_cell[one.case, one.slow] if s.round > 0]
        return Spread.of([mine / its for mine, its in pairs if mine and its])


def write(campaign: Campaign, files: list[Path], path: Path) -> Path:
    """Writes the page of the samples in `files`. Two files with the same entrant in a case are a `ValueError`."""
    runs: list[Run] = []
    taken: list[Sample] = []
    file_of: dict[tuple[str, str], Path] = {}
    for file in files:
        run, more = samples.read(file)
        for cell in sorted({(sample.case, sample.contestant) for sample in more}):
            if cell in file_of:
                where = f"{file_of[cell]} and {file}"
                raise ValueError(f"{where} both have samples of {cell[0]} by {cell[1]}: move one of them away")
            file_of[cell] = file
        runs.append(run)
        taken += more
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(campaign, runs, taken))
    return path


def render(campaign: Campaign, runs: list[Run], taken: list[Sample]) -> str:
    """The page as Markdown."""
    found = CampaignSamples(taken)
    lines = [f"# Campaign {campaign.letter}: {campaign.title}", "", campaign.about, ""]
    if campaign.times:
        lines += ["## The printed times", "", *markdown.table(_times(campaign.times, found)), ""]
    if campaign.speedups:
        lines += ["## The printed speed-ups", "", *markdown.table(_speedups(campaign.speedups, found)), ""]
    for grid in campaign.grids:
        heading = MEASURES[grid.measure][0]
        about = f"{grid.about} Cells: {heading}, the median of the rounds; the best of a row is bold."
        lines += [f"## {grid.title}", "", about, "", *_grid(grid, found), ""]
    sentences = _sentences(campaign, found)
    if sentences:
        lines += ["## What follows", "", *[f"- {sentence}" for sentence in sentences], ""]
    if campaign.missing:
        lines += ["## What is not here", "", *[f"- {sentence}" for sentence in campaign.missing], ""]
    lines += ["## Machine", "", *_machine(runs), ""]
    return "\n".join(lines)


def _rate(count: int | None, seconds: float | None, unit: float) -> float | None:
    return count / seconds / unit if count and seconds else None


def _times(times: tuple[PrintedTime, ...], found: CampaignSamples) -> Table:
    rows = []
    for time in times:
        ours = found.spread(time.case, time.contestant, lambda s: s.seconds)
        if ours is None:
            cells = (str(found.reason(time.case, time.contestant)), "", "")
        else:
            ratio = numbers.times(ours.median / time.printed)
            cells = (numbers.seconds(ours.median), numbers.spread(ours, numbers.seconds), ratio)
        rows.append(Row((time.title, time.contestant, f"{time.printed:g}", *cells), "peer"))
    return Table(("what", "entrant", "printed, s", "here, s", "min – max", "here over printed"), tuple(rows), 2)


def _speedups(speedups: tuple[PrintedSpeedup, ...], found: CampaignSamples) -> Table:
    rows = []
    for one in speedups:
        ours = found.speedup(one)
        cells = (
            (str(found.pair_reason(one)), "", "")
            if ours is None
            else (f"{ours.median:.2f}x", numbers.spread(ours, numbers.times), _verdict(one, ours))
        )
        rows.append(Row((one.title, f"{one.printed:g}x", *cells), "peer"))
    return Table(("what", "printed", "here", "min – max", ""), tuple(rows), 1)


def _verdict(one: PrintedSpeedup, ours: Spread) -> str:
    return "met" if ours.median >= one.printed else "short of it"


def _grid(grid: CampaignGrid, found: CampaignSamples) -> list[str]:
    pick = MEASURES[grid.measure][1]
    rows = []
    notes: dict[str, str] = {}
    for title, case in grid.rows:
        values = [found.spread(case, contestant, pick) for _, contestant in grid.columns]
        medians = [value.median for value in values if value]
        best = (max if _is_rate(grid) else min)(medians, default=None)
        cells = []
        for (column, contestant), value in zip(grid.columns, values, strict=True):
            if value is None:
                reason = found.reason(case, contestant) or "no such number"
                cells.append(NOT_RUN if reason == NOT_RUN else "–")
                if reason != NOT_RUN:
                    notes[f"{title}, {column}"] = reason
                continue
            is_whole = value.median >= 1000 or value.median == int(value.median)
            shown = numbers.count(value.median) if is_whole else numbers.seconds(value.median)
            cells.append(f"**{shown}**" if value.median == best and len(medians) > 1 else shown)
        rows.append(Row((title, *cells), "peer"))
    table = Table(("", *(column for column, _ in grid.columns)), tuple(rows), 1)
    lines = markdown.table(table)
    return lines + (["", *[f"- {cell}: {reason}" for cell, reason in notes.items()]] if notes else [])


def _sentences(campaign: Campaign, found: CampaignSamples) -> list[str]:
    """What the samples say of each printed speed-up, and of each pair of columns of a grid."""
    said = []
    for one in campaign.speedups:
        ours = found.speedup(one)
        if ours is not None:
            pair = f"{ours.median:.2f} times here, {one.printed:g} times in print"
            said.append(f"{one.title}: {pair}: {_verdict(one, ours)}.")
    for grid in campaign.grids:
        others = [column for column in grid.columns[1:] if "lakerace" not in column[1]]
        said += [sentence for column in others if (sentence := _comparison(grid, grid.columns[0], column, found))]
    said += [sentence for one in campaign.thresholds if (sentence := _threshold(one, found))]
    return said


def _threshold(one: CampaignThreshold, found: CampaignSamples) -> str | None:
    """The sizes at which the ratio is low enough, with the ratios at both ends."""
    ratios = []
    for size, cases in one.sizes:
        pair = [found.spread(case, who, lambda s: s.seconds) for case, who in zip(cases, one.contestants, strict=True)]
        if pair[0] is None or pair[1] is None:
            return None
        ratios.append((size, pair[0].median / pair[1].median))
    ends = " and ".join(f"{numbers.times(ratio)} times at {size}" for size, ratio in (ratios[0], ratios[-1]))
    return f"{one.title}: {_where([(size, ratio <= one.factor) for size, ratio in ratios])} ({ends})."


def _where(sizes: list[tuple[str, bool]]) -> str:
    """The sizes that are marked, in words."""
    marked = [at for at, (_, is_marked) in enumerate(sizes) if is_marked]
    if len(marked) in (0, len(sizes)):
        return "at every size" if marked else "at no size"
    if marked == list(range(len(marked))):
        return f"up to {sizes[marked[-1]][0]}"
    if marked == list(range(marked[0], len(sizes))):
        return f"from {sizes[marked[0]][0]} on"
    return "at " + ", ".join(sizes[at][0] for at in marked)


def _comparison(
    grid: CampaignGrid, ours: tuple[str, str], other: tuple[str, str], found: CampaignSamples
) -> str | None:
    """The first column of a grid next to another one."""
    heading, pick = MEASURES[grid.measure]
    pairs = [
        (mine.median, its.median)
        for _, case in grid.rows
        if (mine := found.spread(case, ours[1], pick)) and (its := found.spread(case, other[1], pick))
    ]
    if not pairs:
        return None
    ratio = numbers.times(median(mine / its for mine, its in pairs))
    ahead = sum((mine > its) == _is_rate(grid) for mine, its in pairs)
    rows = f"median of {len(pairs)} rows; ahead in {ahead}" if len(pairs) > 1 else "one row"
    return f"{grid.title}: {ours[0]} has {ratio} times the {heading} of {other[0]} ({rows})."


def _is_rate(grid: CampaignGrid) -> bool:
    """Whether more is better."""
    return grid.measure.endswith("per_second")


def _machine(runs: list[Run]) -> list[str]:
    """The machine and the commit of each run, the same ones once."""
    lines = []
    for run in runs:
        told = run.machine
        memory = f"{told.get('memory_bytes', 0) / 2**30:.0f} GiB"
        lines.append(
            f"- {run.date[:10]}, commit {told.get('commit')}: {told.get('cpus')} CPUs ({told.get('cpu')}), {memory}, "
            f"Linux {told.get('kernel')}"
        )
    return list(dict.fromkeys(lines)) or [f"- {NOT_RUN}"]
