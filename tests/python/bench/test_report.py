"""Reports from committed samples (invented, round numbers): `example.jsonl` gives exactly `example.md`."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from lakerace_bench import markdown, page, report
from lakerace_bench.cli import main

HERE = Path(__file__).parent
EXAMPLE = HERE / "example.jsonl"


def test_the_markdown_is_the_expected_one() -> None:
    """After a wanted change: `python -m lakerace_bench report tests/python/bench/example.jsonl`, and look at it."""
    figures = {key: f"example-{key}.png" for key in ("ratios", "scan-local", "scan-s3")}
    assert markdown.render(report.read([EXAMPLE]), figures) == (HERE / "example.md").read_text()


def test_everything_wrong_is_in_both_reports() -> None:
    document = report.read([EXAMPLE])
    for text in (markdown.render(document, {}), page.render(document, {})):
        assert "WRONG scan/local/all/t1 duckdb: rows: 9 instead of 10" in text
        assert "UNABLE: its httpfs extension is not installed" in text
        assert "FAILED: ended with signal SIGKILL" in text


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    example = tmp_path / EXAMPLE.name
    shutil.copy(EXAMPLE, example)
    assert main(["report", str(example)]) == 4  # it has wrong work in it
    text = (tmp_path / "example.html").read_text()
    assert not re.findall(r"""(?:src|href)=["']?(?!#)[^"'\s>]+""", re.sub(r"xlink:href=\"#[^\"]*\"", "", text))
    assert text.count("<svg") == 3
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert pictures == ["example-ratios.png", "example-scan-local.png", "example-scan-s3.png"]
    for name in pictures:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_text_from_contestants_cannot_break_the_page(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    bad = next(line for line in lines if line.get("verdict") == "failed")
    bad["why"] = "<script>alert(1)</script> | a\nb"
    example = tmp_path / "odd.jsonl"
    example.write_text("\n".join(json.dumps(line) for line in lines))
    document = report.read([example])
    assert "<script>" not in page.render(document, {})
    assert r"</script> \| a b" in markdown.render(document, {})


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", '{"record": "sample", "case": "x"}\n'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    assert main(["report", str(path)]) == 2


def test_files_about_different_tables_are_not_joined(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text().splitlines()
    run = json.loads(lines[0])
    run["options"]["rows"] = 11
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join([json.dumps(run), *lines[1:]]))
    assert main(["report", str(EXAMPLE), str(other), "--out", str(tmp_path)]) == 2
