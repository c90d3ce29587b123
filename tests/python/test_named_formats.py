"""The format of a written file is the one that its name says: readers believe names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakerace._api import Format

ROWS = pl.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})


def read_arrow(path: Path) -> pl.DataFrame:
    """A file of Arrow IPC, or a stream, which names without an ending of files get."""
    return pl.read_ipc(path) if path.read_bytes().startswith(b"ARROW1") else pl.read_ipc_stream(path)


#: Readers of other libraries, by the endings that they are for.
READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    "parquet": pl.read_parquet,
    "csv": pl.read_csv,
    "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "jsonl": pl.read_ndjson,
    "json": pl.read_json,
    "arrow": read_arrow,
    "avro": pl.read_avro,
}
FORMATS: tuple[Format, ...] = ("parquet", "csv", "tsv", "jsonl", "json", "arrow", "avro")
PACKABLE = ("csv", "tsv", "jsonl", "json")


def is_said(form: str, ending: str) -> bool:
    """Whether a reader that goes by the ending reads files of the format. Many programs write JSON lines to `.json`."""
    return form == ending or (form, ending) == ("jsonl", "json")


@pytest.mark.parametrize("form", FORMATS)
def test_copy_writes_no_file_under_a_name_of_another_format(tmp_path: Path, form: Format) -> None:
    for ending in (*FORMATS, "dat"):
        path = tmp_path / f"{form}.{ending}"
        if ending == "dat" or is_said(form, ending):
            lr.copy(ROWS, path, output_format=form)
            assert READERS[form](path).equals(ROWS), path
            continue
        with pytest.raises(lr.UsageError, match=rf'output_format="{form}" is given.*ends in \.{form}') as error:
            lr.copy(ROWS, path, output_format=form)
        assert str(path) in str(error.value)
        assert not path.exists()
    for ending in PACKABLE:
        if not is_said(form, ending):
            with pytest.raises(lr.UsageError, match="output_format"):
                lr.copy(ROWS, tmp_path / f"packed.{ending}.gz", output_format=form)
    # The name of a folder is free.
    lr.copy(ROWS, f"{tmp_path}/folder.orc/", output_format=form)
    assert READERS[form](next((tmp_path / "folder.orc").iterdir())).equals(ROWS)


@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow", "table"])
@pytest.mark.parametrize("door", ["scan", "sql", "diff", "changes"])
def test_printed_rows_go_to_no_file_of_another_format(tmp_path: Path, form: str, door: str) -> None:
    source, other = tmp_path / "source.parquet", tmp_path / "other.parquet"
    ROWS.write_parquet(source)
    ROWS.with_columns(pl.col("name").str.to_uppercase()).write_parquet(other)
    lr.copy(source, f"delta:{tmp_path / 'table'}", table_properties={"delta.enableChangeDataFeed": "true"})
    words = {
        "scan": ("scan", source),
        "sql": ("sql", f"select * from '{source}'"),
        "diff": ("diff", source, other, "--key", "id"),
        "changes": ("changes", tmp_path / "table", "--from", 0),
    }[door]
    for ending in (*FORMATS, "orc", "txt", "dat"):
        path = tmp_path / f"out.{ending}"
        if ending in {"txt", "dat"} or is_said(form, ending):
            done = run(*words, "-o", path, "--format", form)
            assert done.code in ({1} if door == "diff" else {0}), done.err
            assert path.stat().st_size > 0
            if form != "table":
                assert READERS[form](path)["id"].to_list()
            continue
        done = run(*words, "-o", path, "--format", form)
        assert (done.code, not path.exists()) == (2, True), done.err
        assert str(path) in done.err
        assert f"--format {form} is given" in done.err
        assert "omit --format, or choose a name that ends in " in done.err


def test_a_packed_file_is_read_by_its_first_bytes(tmp_path: Path) -> None:
    """As the guide says: a name without an ending of compressed files says nothing about compression."""
    for ending in PACKABLE:
        for packing in ("gz", "zst", "bz2", "xz"):
            packed, plain = tmp_path / f"rows.{ending}.{packing}", tmp_path / f"{packing}.{ending}"
            lr.copy(ROWS, packed)
            packed.rename(plain)
            assert lr.scan(plain).to_polars().equals(ROWS.cast({"id": pl.Int64}))
    assert ok("scan", tmp_path / "gz.csv", "--format", "csv").out == "id,name\n1,a\n2,b\n3,c\n"
