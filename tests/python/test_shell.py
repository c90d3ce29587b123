"""Help, completions and manual pages: bash completes, man formats, and each example of the help runs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run

#: Commands that do not exist for users, or take their help from elsewhere.
OTHERS = {"bench", "help"}


def commands() -> list[str]:
    lines = ok("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    line = f"""
source /dev/stdin <<'SCRIPT'
{script}
SCRIPT
COMP_WORDS=({" ".join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}
_lakerace lakerace {words[-1]!r} {words[-2]!r}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    # An argument may have 128 KiB at most, and the script has more.
    done = subprocess.run(
        ["bash", "-s"], input=line, capture_output=True, text=True, check=True, timeout=TIMEOUT_SECONDS
    )
    return done.stdout.split()


def test_bash_completes_commands_options_and_values() -> None:
    script = ok("completions", "bash").out
    assert completed(script, "lakerace", "sc") == ["scan", "schema"]
    assert "--where" in completed(script, "lakerace", "scan", "--wh")
    assert set(completed(script, "lakerace", "scan", "--format", "")) == {"table", "csv", "jsonl", "arrow"}
    assert "put" in completed(script, "lakerace", "files", "p")


@pytest.mark.parametrize(("shell", "expected"), [("zsh", "#compdef lakerace"), ("fish", "complete -c lakerace")])
def test_other_shells_have_scripts(shell: str, expected: str) -> None:
    assert expected in ok("completions", shell).out


def test_a_script_is_no_json() -> None:
    error = run("completions", "bash", "--json").error
    assert (error["exit_code"], error["advice"]) == (2, "omit it")


def test_each_command_has_a_manual_page(tmp_path: Path) -> None:
    made = ok("man", tmp_path / "man1", "--json").json["files"]
    names = {Path(path).name for path in made}
    assert names == {path.name for path in (tmp_path / "man1").iterdir()}
    assert names >= {f"lakerace-{name}.1" for name in commands() if name not in OTHERS} | {
        "lakerace.1",
        "lakerace-files-put.1",
    }
    assert "lakerace-proxy.1" not in names
    page = (tmp_path / "man1" / "lakerace-scan.1").read_text()
    assert page.splitlines()[2].startswith(".TH lakerace-scan 1") or ".TH lakerace-scan 1" in page
    assert "--where" in page.replace("\\-", "-")


def flags(text: str) -> set[str]:
    """The options that a help lists."""
    return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.MULTILINE))


def test_options_of_requests_have_their_own_help(tmp_path: Path) -> None:
    ok("man", tmp_path)
    with_io = 0
    for name in set(commands()) - OTHERS:
        usual = flags(ok(name, "--help").out)
        page = (tmp_path / f"lakerace-{name}.1").read_text().replace("\\-", "-")
        # The flags of subcommands are in their own pages.
        everything = set(re.findall(r"^\\fB--([a-z-]+)", page, re.MULTILINE))
        everything |= set(re.findall(r", \\fB--([a-z-]+)", page))
        if "help-io" not in usual:
            assert "min-seek-size" not in everything
            continue
        with_io += 1
        io = flags(ok(name, "--help-io").out)
        assert io & usual == {"help", "help-io"} & io
        assert {"min-seek-size", "io", "retry-time"} <= io
        assert "storage-option" in usual
        assert (usual | io) - {"help"} == everything - {"help"}, name
        assert io == flags(ok(name, "--json", "--help-io").out)
    assert with_io > 10
    assert run("completions", "bash", "--help-io").code == 2
    script = ok("completions", "bash").out
    assert completed(script, "lakerace", "scan", "--min-s") == ["--min-seek-size"]
    assert set(completed(script, "lakerace", "scan", "--help")) == {"--help", "--help-io"}


def test_help_takes_a_command() -> None:
    assert ok("help", "scan").out == ok("scan", "--help").out


def test_every_command_ends_its_help_with_examples() -> None:
    without = {name for name in commands() if name not in OTHERS and "Examples:\n" not in ok(name, "--help").out}
    assert without == {"demo"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The files and the table that the examples name."""
    days = [f"2026-01-{1 + at % 3:02}" for at in range(9)]
    rows = [f"{at},{day},{at * 1000}.5" for at, day in enumerate(days)]
    (tmp_path / "orders.csv").write_text("order_id,day,price\n" + "\n".join(rows) + "\n")
    (tmp_path / "changes.csv").write_text("order_id,day,price\n1,2026-01-01,-1.0\n100,2026-01-02,7.25\n")
    ok("copy", "orders.csv", "orders.parquet", cwd=tmp_path)
    return tmp_path


def test_each_example_runs(lake: Path) -> None:
    Path(lake / "orders.parquet").unlink()
    ran = 0
    order = ["copy", "alter", "upsert", *(name for name in commands() if name not in {"copy", "alter", "upsert"})]
    for name in order:
        if name in OTHERS or name == "demo":
            continue
        for example in ok(name, "--help").out.split("Examples:\n")[1].splitlines():
            program, _, rest = example.strip().partition(" ")
            assert program == "lakerace", example
            line = " ".join(command()) + " " + rest
            done = subprocess.run(
                ["bash", "-c", line], cwd=lake, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
            )
            assert done.returncode == 0, f"{example}\n{done.stderr}"
            ran += 1
    assert ran > 20
    assert json.loads(ok("scan", "rows.parquet", "--count", "--json", cwd=lake).out)["rows"] == 9
    assert (lake / "back.csv").read_bytes() == (lake / "orders.csv").read_bytes()
