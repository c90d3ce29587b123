"""Hooks of the site: links to files outside of `docs`, the reference of the command line, and roles of Sphinx in docstrings."""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+|results/)(#[^)]*)?\)")
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(?=<code>|<autoref)")
CELL = re.compile(r"<td.*?</td>", re.DOTALL)
FENCE = re.compile(r"^(```\w+) .+$", re.MULTILINE)
SECTION = re.compile(r"^([A-Z][A-Za-z ,]*):$", re.MULTILINE)
#: An argument or an option of a help, and its meaning if that is in the same line.
ENTRY = re.compile(r"^ {2,6}(?! )((?:-|<|\[|[a-z]).*?)(?:  +(\S.*))?$")
COMMAND = re.compile(r"^  ([a-z][a-z-]*)  ", re.MULTILINE)


def _help(*command: str) -> str:
    """The long help of a command, as a terminal of 100 columns shows it."""
    program = os.environ.get("LAKERACE", str(ROOT / ".venv" / "bin" / "lakerace"))
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            [program, *command, "--help"], capture_output=True, text=True, check=True, env=environment
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PluginError(f"the help of {program} can't be shown ({error}): run `make build` first") from error
    return done.stdout.strip()


def _text(text: str) -> str:
    """A text of the help as Markdown: outside of code, it has no HTML and no line of a table."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_\[\]])", r"\\\1", html.escape(part, quote=False)) for part in parts[::2]]
    return "`".join(parts).replace("|", r"\|")


def _entries(lines: list[str]) -> list[tuple[str, str]]:
    """The arguments or options of a section, each with its meaning."""
    found: list[tuple[str, str]] = []
    for line in lines:
        entry = ENTRY.match(line)
        if entry:
            found.append((entry[1], entry[2] or ""))
        elif line.strip() and found:
            name, meaning = found[-1]
            found[-1] = (name, f"{meaning} {line.strip()}".strip())
    return found


def _described(text: str) -> list[str]:
    """The help of a command as Markdown: its summary, its usage, and a table for each section."""
    head, *sections = SECTION.split(text)
    summary, _, usage = head.partition("Usage: ")
    parts = [_text(summary.strip()), "", "```text", usage.strip(), "```", ""]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        lines = body.strip("\n").split("\n")
        entries = [] if title == "Examples" else _entries(lines)
        if entries:
            parts += [f"**{title}**", "", "| | |", "| --- | --- |"]
            parts += [f"| `{name.replace('|', chr(92) + '|')}` | {_text(meaning)} |" for name, meaning in entries] + [
                ""
            ]
        else:
            parts += [f"**{title}**", "", "```sh", *[line.strip() for line in lines if line.strip()], "```", ""]
    return parts


def _command_line() -> str:
    """The sections of all commands, from their help."""
    program = _help()
    parts = ["", *_described(program.partition("\nExit codes:")[0])]
    for name in COMMAND.findall(program.partition("Commands:")[2].partition("Options:")[0]):
        if name == "help":
            continue
        text = _help(name)
        parts += [f"## lakerace {name}", "", *_described(text)]
        for inner in COMMAND.findall(text.partition("Commands:")[2].partition("Options:")[0]):
            if inner != "help" and name != "bench":
                parts += [f"### lakerace {name} {inner}", "", *_described(_help(name, inner))]
    return "\n".join(parts)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lets links to files that are not part of the site lead to the repository; keeps reports out of the search."""
    folder = Path(page.file.src_uri).parent
    part = page.file.src_uri.partition("/")[0]
    if part == "results":
        page.meta["search"] = {"exclude": True}
    elif part in ("guide", "tutorials"):
        page.meta["search"] = {"boost": 4}
    if page.file.src_uri == "reference/command-line.md":
        markdown = markdown.partition("The site of")[0] + _command_line()

    def linked(found: re.Match[str]) -> str:
        target = os.path.normpath(Path("docs") / folder / found[1])
        inside = target.removeprefix("docs/")
        if inside != target and files.get_file_from_path(inside) is not None:
            return found[0]
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"]({config.extra['repository']}/{kind}/main/{target}{found[2] or ''})"

    # Words after the language are for the tests.
    return FENCE.sub(r"\1", LINK.sub(linked, markdown))


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Removes the roles of Sphinx, which Markdown shows as text, and backslashes before bars in the code of a table."""
    return CELL.sub(lambda found: found[0].replace("\\|", "|"), ROLE.sub("", content))
