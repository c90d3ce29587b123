"""`lakerace bench list|run|campaign|report|overview`."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lakerace_bench import campaign, campaign_page, cases, data, machine, overview, report, samples, termination
from lakerace_bench.contestant import Contestant, ManifestError, discover
from lakerace_bench.entrant import entrants, readers
from lakerace_bench.process import cpus_for
from lakerace_bench.race import Race

#: The command's exit codes, as for all of lakerace.
DONE, USAGE, NOT_FOUND, INVALID = 0, 2, 3, 4
#: Files are called after the cases that were asked for, unless these make more characters than so many.
_LONGEST_STEM = 80


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who reads has seen enough: `lakerace bench list | head`. Python flushes once more at the end, to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (ManifestError, ValueError) as error:
        print(f"lakerace bench: {error}", file=sys.stderr)
        return USAGE
    except FileNotFoundError as error:
        print(f"lakerace bench: {error.filename}: no such file", file=sys.stderr)
        return NOT_FOUND


def _list(_: argparse.Namespace) -> int:
    print("benches")
    for name, about in cases.BENCHES.items():
        print(f"  {name:16} {about}")
    print("\ncases (any leading part selects those below it)")
    for case in cases.all_cases([1, 2], cases.full()):
        print(f"  {case.name}")
    print("\ncontestants")
    for contestant in discover():
        print(
            f"  {contestant.name:16} {', '.join(contestant.jobs)} on {', '.join(contestant.stores)}: {contestant.about}"
        )
    return DONE


def _run(options: argparse.Namespace) -> int:
    threads = sorted({int(part) for part in options.threads.split(",")})
    for count in threads:
        cpus_for(count)
    inputs = cases.quick() if options.quick else cases.full(options.size)
    chosen = cases.select(options.names, threads, inputs)
    contestants = _contestants(options.only)
    folder = (options.data or data.directory()).absolute()
    path = _samples_path(options.out, options.names, options.quick)
    run = _circumstances(options.names, threads, options.rounds, inputs, chosen, contestants)
    # Contestants that stay are stopped while others run, and servers of the bench know nothing of its end: both end with it.
    termination.raises()
    with samples.create(path, run, {str(folder): f"${data.VARIABLE}"}) as writer:
        race = Race(chosen, contestants, options.rounds, writer, folder)
        taken = race.go()
    print(path)
    for made in report.write([path], path.parent, path.stem):
        print(made)
    return _code(taken)


def _circumstances(
    names: Sequence[str],
    threads: Sequence[int],
    rounds: int,
    inputs: cases.Inputs,
    chosen: list[cases.Case],
    contestants: list[Contestant],
) -> samples.Run:
    """The first line of a file of samples."""
    benches = dict.fromkeys(case.bench for case in chosen)
    return samples.Run(
        date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        machine=machine.describe(),
        options={
            "names": list(names),
            "threads": list(threads),
            "rounds": rounds,
            "rows": inputs.table.rows,
            "row_group_rows": inputs.table.row_group_rows,
            "codec": cases.CODEC,
            "inputs": {bench: _inputs(chosen, bench) for bench in benches},
        },
        contestants={
            one.name: one.about
            for bench in benches
            for one in (*(readers(contestants) if bench in cases.UPSERTING else ()), *entrants(contestants, bench))
        },
    )


def _campaign(options: argparse.Namespace) -> int:
    asked = campaign.load(options.letter)
    out = options.out or _results_folder(None) / f"campaign-{asked.letter.lower()}"
    folder = (options.data or data.directory()).absolute()
    contestants = _contestants(options.only)

    def describe(step: campaign.CampaignStep, chosen: list[cases.Case], inputs: cases.Inputs) -> samples.Run:
        return _circumstances(step.names, step.threads, step.rounds, inputs, chosen, contestants)

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    run = campaign.CampaignRun(
        asked, contestants, out, folder, options.quick, describe, {str(folder): f"${data.VARIABLE}"}, tell
    )
    taken: list[samples.Sample] = []
    if not options.page_only:
        termination.raises()
        taken = run.go()
    files = [*run.paths(), *options.samples]
    if not files:
        raise ValueError(f"no samples of campaign {asked.letter} in {out}: run it without --page-only first")
    quick = "-quick" if options.quick else ""
    print(campaign_page.write(asked, files, out / f"campaign-{asked.letter.lower()}{quick}.md"))
    return _code(taken)


def _code(taken: list[samples.Sample]) -> int:
    """The exit code of a run; wrong work is named on stderr."""
    wrong = sorted({f"{s.case} {s.contestant}: {s.why}" for s in taken if s.verdict == samples.WRONG})
    for line in wrong:
        print(f"WRONG {line}", file=sys.stderr)
    return INVALID if wrong else DONE


def _inputs(chosen: list[cases.Case], bench: str) -> str:
    """What a bench works on, in words."""
    return "; ".join(dict.fromkeys(case.input.about for case in chosen if case.bench == bench))


def _report(options: argparse.Namespace) -> int:
    files = options.files
    if not files:
        newest = sorted(_results_folder(options.out).glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        if not newest:
            raise ValueError(f"no samples in {_results_folder(options.out)}: run `lakerace bench run scan` first")
        files = newest[-1:]
    folder = options.out or files[0].parent
    wrong = False
    for made in report.write(files, folder, files[0].stem):
        print(made)
    for file in files:
        wrong = wrong or any(sample.verdict == samples.WRONG for sample in samples.read(file)[1])
    return INVALID if wrong else DONE


def _overview(options: argparse.Namespace) -> int:
    print(overview.write(_results_folder(options.out)))
    return DONE


def _contestants(only: str | None) -> list[Contestant]:
    """Those asked for: by name, or by name and setting (`lakerace/default`)."""
    found = discover()
    if only is None:
        return found
    names = only.split(",")
    known = {contestant.name for contestant in found}
    known |= {f"{one.name}/{setting['name']}" for one in found for bench in one.settings.values() for setting in bench}
    unknown = set(names) - known
    if unknown:
        raise ValueError(f"no contestant is called {', '.join(sorted(unknown))}: see `lakerace bench list`")
    chosen = []
    for contestant in found:
        if contestant.name in names:
            chosen.append(contestant)
        elif any(name.startswith(f"{contestant.name}/") for name in names):
            settings = {
                bench: [setting for setting in given if f"{contestant.name}/{setting['name']}" in names]
                for bench, given in contestant.settings.items()
            }
            chosen.append(replace(contestant, settings=settings))
    return chosen


def _results_folder(out: Path | None) -> Path:
    if out is not None:
        return out
    return Path("docs/results") if Path("docs").is_dir() else Path("lakerace-bench")


def _samples_path(out: Path | None, names: list[str], quick: bool) -> Path:
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    stem = "-".join(name.replace("/", "-") for name in names)
    if len(stem) > _LONGEST_STEM:
        stem = "-".join(dict.fromkeys(name.partition("/")[0] for name in names))
    name = "-".join([date, stem, *(["quick"] if quick else [])])
    path = _results_folder(out) / f"{name}.jsonl"
    number = 2
    while path.exists():
        path = path.with_name(f"{name}-{number}.jsonl")
        number += 1
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lakerace bench", description="Races lakerace against other tools and checks that all did the same work."
    )
    verbs = parser.add_subparsers(required=True, metavar="list|run|campaign|report|overview")

    listing = verbs.add_parser("list", help="shows benches, cases and contestants")
    listing.set_defaults(run=_list)

    run = verbs.add_parser("run", help="runs benches; exits with 4 where any work was wrong")
    run.add_argument("names", nargs="+", metavar="NAME", help="a bench, or the leading part of a case's name")
    run.add_argument("--rounds", type=_positive, default=5, help="measured rounds after the warm-up (default 5)")
    run.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    run.add_argument("--only", metavar="A,B", help="only these contestants, or settings of them (lakerace/default)")
    run.add_argument("--quick", action="store_true", help="small inputs: a smoke test, not a result")
    sizes = ("small", "full")
    run.add_argument("--size", choices=sizes, default=sizes[0], help="of `upsert`, `tpch` and `load` (default small)")
    run.add_argument("--out", type=Path, metavar="DIR", help="where samples and reports go (default docs/results)")
    run.add_argument("--data", type=Path, metavar="DIR", help="where tables are kept (default LAKERACE_BENCH_DATA)")
    run.set_defaults(run=_run)

    repeating = verbs.add_parser("campaign", help="repeats the measurements of a write-up; goes on where it was ended")
    repeating.add_argument("letter", metavar="LETTER", type=str.upper, help=f"one of {', '.join(campaign.letters())}")
    repeating.add_argument("--quick", action="store_true", help="small inputs, one round: a smoke test, not a result")
    repeating.add_argument("--only", metavar="A,B", help="only these contestants, or settings of them")
    repeating.add_argument(
        "--page-only", action="store_true", help="runs nothing: makes the page from samples that exist"
    )
    repeating.add_argument(
        "--samples",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help="samples of other runs that the page shows, too",
    )
    repeating.add_argument(
        "--out", type=Path, metavar="DIR", help="for samples and page (default docs/results/campaign-LETTER)"
    )
    repeating.add_argument(
        "--data", type=Path, metavar="DIR", help="where tables are kept (default LAKERACE_BENCH_DATA)"
    )
    repeating.set_defaults(run=_campaign)

    reporting = verbs.add_parser("report", help="makes Markdown, HTML and PNG from samples")
    reporting.add_argument("files", nargs="*", type=Path, metavar="FILE", help="samples (default: the newest)")
    reporting.add_argument("--out", type=Path, metavar="DIR", help="where the reports go (default: beside the samples)")
    reporting.set_defaults(run=_report)

    whole = verbs.add_parser("overview", help="draws one chart in seconds of a case of each bench")
    whole.add_argument(
        "--out", type=Path, metavar="DIR", help="where samples lie, a folder a bench (default docs/results)"
    )
    whole.set_defaults(run=_overview)
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value
