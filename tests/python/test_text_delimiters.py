"""Text whose name does not give its delimiter: duckdb's sniffing is the oracle."""

from __future__ import annotations

import gzip
import subprocess
from typing import TYPE_CHECKING

import duckdb
import pyarrow.csv
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [("id", "name"), ("1", "one, two"), ("2", "three")]


def text(delimiter: str) -> bytes:
    return "".join(delimiter.join(row) + "\n" for row in ROWS).encode()


def piped(content: bytes, *options: str) -> tuple[str, str]:
    """The rows of a scan of a pipe as CSV, and its messages."""
    words = command("scan", "-", "--format", "csv", *options)
    done = subprocess.run(words, input=content, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("is_packed", [False, True])
def test_tabs_of_a_pipe_are_found(tmp_path: Path, is_packed: bool) -> None:
    content = text("\t")
    (tmp_path / "a.txt").write_bytes(content)
    expected = duckdb.sql(f"SELECT * FROM read_csv('{tmp_path / 'a.txt'}')").fetchall()
    out, err = piped(gzip.compress(content) if is_packed else content)
    assert out == 'id,name\n1,"one, two"\n2,three\n'
    assert expected == [(1, "one, two"), (2, "three")]
    assert "column" not in err


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_one_column_of_other_delimiters_has_a_warning(tmp_path: Path, delimiter: str) -> None:
    content = text(delimiter).replace(b", ", b" ")
    for name, packed in {"a.csv": content, "a.csv.gz": gzip.compress(content)}.items():
        (tmp_path / name).write_bytes(packed)
        err = ok("scan", tmp_path / name).err
        assert "there is one column, but each of the first lines has 2 fields" in err, err
        shown = delimiter.replace("\t", r"\t")
        assert f"use --delimiter '{shown}', or --delimiter ',' for one column" in err
        assert "one column" not in ok("scan", tmp_path / name, "--delimiter", shown).err
        assert "one column" not in ok("scan", tmp_path / name, "--delimiter", delimiter).err
        assert "one column" not in ok("scan", tmp_path / name, "--delimiter", ",").err
    if delimiter != "\t":
        assert "there is one column" in piped(content)[1]
    assert piped(content, "--delimiter", delimiter)[0] == "id,name\n1,one two\n2,three\n"


def test_names_that_give_the_delimiter(tmp_path: Path) -> None:
    for name, content in {"a.tsv": text("\t"), "a.tsv.gz": gzip.compress(text("\t")), "a.tab": text("\t")}.items():
        (tmp_path / name).write_bytes(content)
        assert ok("scan", tmp_path / name, "--format", "csv").out == 'id,name\n1,"one, two"\n2,three\n'
    (tmp_path / "a.txt").write_bytes(text("\t"))
    done = run("scan", tmp_path / "a.txt")
    assert done.code == 2
    assert "--input-format" in done.err


def test_a_column_of_texts_has_no_warning(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("note\na;b\nc\n")
    assert "one column" not in ok("scan", tmp_path / "a.csv").err


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
@pytest.mark.parametrize("form", ['"a"{0}"b"\n"1"{0}"2"\n', '"a"{0}b\n"x,y"{0}2\n', '"a, b"{0}"c"\n"1"{0}"2"\n'])
def test_quoted_text_of_other_delimiters_is_an_error_that_names_it(tmp_path: Path, form: str, delimiter: str) -> None:
    content = form.format(delimiter).encode()
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    for place, given in ((file, b""), ("-", content)):
        done = subprocess.run(
            command("scan", place, "--input-format", "csv"),
            input=given,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        err = done.stderr.decode()
        assert (done.returncode, done.stdout) == (4, b"")
        assert "the first row can't be read" in err
        shown = delimiter.replace("\t", r"\t")
        assert f"each of the first lines has 2 fields between '{shown}': use --delimiter '{shown}'" in err, err
    # As another implementation reads it.
    wanted = pyarrow.csv.read_csv(file, parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter)).to_pylist()
    assert lr.scan(file, delimiter=delimiter).to_arrow().to_pylist() == wanted


def test_quoted_text_without_another_delimiter_has_other_advice(tmp_path: Path) -> None:
    for content in ('"a"x\n1\n', '"a";"b"\n"1";"2";"3"\n'):
        (tmp_path / "rows.csv").write_text(content)
        with pytest.raises(lr.InvalidInputError, match="check quote"):
            lr.scan(tmp_path / "rows.csv")
