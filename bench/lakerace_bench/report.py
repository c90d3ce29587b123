"""Reports from files of samples: Markdown, a self-contained HTML page, and its figures as PNG."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

from lakerace_bench import canvas, markdown, page, plots, samples, tables


def write(files: list[Path], folder: Path, stem: str) -> list[Path]:
    """Writes `folder/stem.md`, `.html` and one PNG per figure; returns their paths.

    Several files are joined (say, one bench each); the machine and the options shown are those of the first, and all
    must have the same row count. Without matplotlib there are no figures, and a line on stderr says so.
    """
    report = read(files)
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    names: dict[str, str] = {}
    images: dict[str, str] = {}
    if importlib.util.find_spec("matplotlib") is None:
        print("lakerace bench: no figures without matplotlib: pip install 'lakerace[bench]'", file=sys.stderr)
    else:
        for key, figure in plots.draw(report, headings=True).items():
            path = folder / f"{stem}-{key}.png"
            path.write_bytes(canvas.png(figure))
            names[key] = path.name
            made.append(path)
        images = {key: canvas.svg(figure) for key, figure in plots.draw(report, headings=False).items()}
    for suffix, text in ((".md", markdown.render(report, names)), (".html", page.render(report, images))):
        path = folder / f"{stem}{suffix}"
        path.write_text(text)
        made.append(path)
    return made


def read(files: list[Path]) -> tables.Document:
    """The report of the samples in `files`."""
    run, taken = samples.read(files[0])
    dates, commits = [run.date], [str(run.machine.get("commit"))]
    for file in files[1:]:
        other, more = samples.read(file)
        if other.options["rows"] != run.options["rows"]:
            raise ValueError(f"{file} and {files[0]} are about tables of different sizes")
        run.contestants.update(other.contestants)
        dates.append(other.date)
        commits.append(str(other.machine.get("commit")))
        taken += more
    # What is of one file each: when it was, and with what.
    told = {"dates": sorted(dates), "commit": ", ".join(dict.fromkeys(commits))}
    return tables.document(replace(run, machine=run.machine | told), taken)
