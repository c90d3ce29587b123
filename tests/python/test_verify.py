"""Verification of Delta tables: damage of each kind is found, and what is repaired is read right by delta-rs and polars."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

PROPERTIES = {
    "delta.checkpointInterval": "4",
    "delta.enableDeletionVectors": "false",
    "lakerace.primaryKey": "id",
}


def rows(first: int, last: int, text: str = "row") -> pa.Table:
    return pa.table({"id": list(range(first, last)), "text": [f"{text} {n}" for n in range(first, last)]})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of versions 0 to 9, with checkpoints of 4 and 8, that every reader knows."""
    folder = tmp_path / "table"
    lr.copy(rows(0, 10), f"delta:{folder}", table_properties=PROPERTIES)
    for number in range(1, 9):
        lr.copy(rows(number * 10, number * 10 + 10), folder, mode="append")
    lr.Table(folder).upsert(rows(5, 6, "put"))
    return folder


#: Its rows.
MODEL = {n: f"row {n}" for n in range(90)} | {5: "put 5"}


def log(folder: Path, name: str) -> Path:
    return folder / "_delta_log" / name


def entry(folder: Path, version: int) -> Path:
    return log(folder, f"{version:020}.json")


def read_by_others(folder: Path) -> None:
    """delta-rs and polars read the rows of the model, and so do we."""
    for found in (
        deltalake.DeltaTable(folder).to_pyarrow_table(),
        pl.read_delta(str(folder)).to_arrow(),
        lr.scan(folder).to_arrow(),
    ):
        assert dict(zip(found["id"].to_pylist(), found["text"].to_pylist(), strict=True)) == MODEL
        assert found.num_rows == len(MODEL)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def emptied(name: str) -> Callable[[Path], None]:
    return lambda folder: empty(log(folder, name))


def cut_with_a_copy(folder: Path) -> None:
    whole = entry(folder, 6).read_bytes()
    log(folder, entry(folder, 6).name + ".bak").write_bytes(whole)
    entry(folder, 6).write_bytes(whole[: whole.index(b"\n") + 1])


def older_checkpoint(folder: Path) -> None:
    shutil.copyfile(log(folder, f"{4:020}.checkpoint.parquet"), log(folder, f"{8:020}.checkpoint.parquet"))


def hint_into_nowhere(folder: Path) -> None:
    log(folder, "_last_checkpoint").write_text('{"version":7,"size":3}')


REPAIRABLE = {
    "an empty checkpoint": emptied(f"{8:020}.checkpoint.parquet"),
    "a checkpoint of another version": older_checkpoint,
    "an empty hint": emptied("_last_checkpoint"),
    "a hint into nowhere": hint_into_nowhere,
    "a cut entry with a copy": cut_with_a_copy,
}


@pytest.mark.parametrize("damage", REPAIRABLE)
def test_what_is_repaired_is_read_by_others(table: Path, damage: str) -> None:
    read_by_others(table)
    REPAIRABLE[damage](table)
    found = run("verify", table, "--deep", "--json")
    assert found.code == 5, found.out
    told = json.loads(found.out)
    assert not told["sound"]
    assert told["findings"]
    assert told["error"]["exit_code"] == 5
    assert all(finding["repaired"] is None and "--repair" in finding["advice"] for finding in told["findings"])
    repaired = ok("verify", table, "--deep", "--repair")
    assert "repaired: " in repaired.out
    assert run("verify", table, "--deep").out == ""
    report = lr.Table(table).verify(deep=True)
    assert report.sound
    assert report.findings == []
    assert (report.version, report.verified_rows, report.key) == (9, 90, ["id"])
    # Writers go on, and their checkpoints are right.
    for _ in range(4):
        lr.Table(table).upsert(rows(5, 6, "put"))
    read_by_others(table)


IRREPARABLE = {
    "an empty entry": (emptied(f"{9:020}.json"), ["entry"]),
    "an empty entry before a checkpoint": (emptied(f"{6:020}.json"), ["entry"]),
    "a missing entry": (lambda folder: entry(folder, 6).unlink(), ["entry"]),
    "a missing file": (lambda folder: data_file(folder).unlink(), ["file"]),
    "an empty file": (lambda folder: empty(data_file(folder)), ["file"]),
    # It is whole, and lies in the place of another one: the checkpoint is right.
    "an entry of another version": (
        lambda folder: shutil.copyfile(entry(folder, 5), entry(folder, 6)),
        ["entry", "checkpoint"],
    ),
}


def data_file(folder: Path) -> Path:
    actions = [json.loads(line) for line in entry(folder, 7).read_text().splitlines()]
    return folder / next(action["add"]["path"] for action in actions if "add" in action)


@pytest.mark.parametrize("damage", IRREPARABLE)
def test_what_can_not_be_proven_stays_and_is_named(table: Path, damage: str) -> None:
    change, subjects = IRREPARABLE[damage]
    change(table)
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    done = run("verify", table, "--repair")
    assert done.code == 5
    report = lr.Table(table).verify(repair=True)
    assert not report.sound
    assert [finding.subject for finding in report.findings] == subjects
    assert report.findings[0].place in done.out
    assert report.findings[0].repaired is None
    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before


#: The words for statistics that are no JSON object.
NO_OBJECT = "are no JSON object"

#: Statistics, and the defect that they have.
STATISTICS = {
    "": NO_OBJECT,
    " ": NO_OBJECT,
    "{}": None,
    '{"nullCount":{}}': None,
    '{"numRecords":10': NO_OBJECT,
    '{"numRecords":10,"minValues":{"id":}}': NO_OBJECT,
    "not JSON": NO_OBJECT,
    "[]": NO_OBJECT,
    '{"numRecords":1180591620717411303424}': "have 1180591620717411303424 as numRecords, which must be a count",
    '{"numRecords":true}': "have true as numRecords, which must be a count",
    '{"minValues":5}': "have no object as minValues",
    '{"nullCount":{"id":[]}}': "have no count as nullCount of id",
    '{"minValues":{"name":"\\ud800"}}': "can't be parsed: unexpected end of hex escape at line 1 column 29",
}

#: Those that delta-rs takes for none.
NO_STATISTICS_TO_DELTA_RS = ('{"minValues":5}', '{"nullCount":{"id":[]}}')


def is_compacted_by_delta_rs(table: Path) -> bool:
    """Whether delta-rs can read all statistics of a table: it needs them to compact it, and not to read it."""
    copy = table.with_name("copy")
    shutil.copytree(table, copy)
    try:
        deltalake.DeltaTable(copy).optimize.compact()
    except deltalake.exceptions.DeltaError:
        return False
    finally:
        shutil.rmtree(copy)
    return True


@pytest.mark.parametrize("statistics", STATISTICS)
def test_statistics_of_an_entry_that_are_no_json_are_named(table: Path, statistics: str) -> None:
    lines = [json.loads(line) for line in entry(table, 9).read_text().splitlines()]
    added = [line["add"] for line in lines if "add" in line]
    names = [one["path"] for one in added]
    for one in added:
        one["stats"] = statistics
    entry(table, 9).write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = lr.Table(table).verify()
    found = [finding for finding in report.findings if finding.subject == "statistics"]
    assert report.findings == found
    defect = STATISTICS[statistics]
    assert len(found) == (len(names) if defect else 0)
    for name, finding in zip(names, found, strict=False):
        assert finding.place == f"{table}/_delta_log/{9:020}.json"
        assert finding.problem == f'the statistics that version 9 has of "{name}" {defect}'
    assert dict(lr.scan(table).rows()) == MODEL
    assert is_compacted_by_delta_rs(table) == (not defect or statistics in NO_STATISTICS_TO_DELTA_RS)
    # Rewritten files have statistics again, which others parse, too.
    lr.Table(table).compact(sort_by="id")
    assert deltalake.DeltaTable(table).to_pyarrow_table().num_rows == len(MODEL)


@pytest.mark.parametrize("statistics", [5, {"numRecords": 3}, []], ids=str)
def test_statistics_of_an_entry_that_are_no_text_are_named(table: Path, statistics: object) -> None:
    lines = [json.loads(line) for line in entry(table, 9).read_text().splitlines()]
    added = [line["add"] for line in lines if "add" in line]
    for one in added:
        one["stats"] = statistics
    entry(table, 9).write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = lr.Table(table).verify()
    problems = [finding.problem for finding in report.findings if finding.subject == "statistics"]
    assert problems == [f'the statistics that version 9 has of "{one["path"]}" are no text' for one in added]
    assert not is_compacted_by_delta_rs(table)


@pytest.mark.parametrize("statistics", STATISTICS)
def test_statistics_of_a_checkpoint_that_are_no_json_are_named(table: Path, statistics: str) -> None:
    file = log(table, f"{8:020}.checkpoint.parquet")
    whole = pq.read_table(file)
    rows = whole["add"].to_pylist()
    changed = next(row for row in rows if row is not None)
    changed["stats"] = statistics
    damaged = whole.set_column(
        whole.schema.get_field_index("add"), whole.schema.field("add"), pa.array(rows, whole.schema.field("add").type)
    )
    pq.write_table(damaged, file)
    report = lr.Table(table).verify()
    found = [finding for finding in report.findings if finding.subject == "statistics"]
    defect = STATISTICS[statistics]
    assert len(found) == (defect is not None), report.findings
    assert report.findings == found
    for finding in found:
        assert finding.place == f"{table}: the checkpoint of version 8"
        path = changed["path"]
        assert finding.problem == f'the statistics that version 8 has of "{path}" {defect}'
    assert run("verify", table).code == (5 if found else 0)


def test_keys_in_two_rows_are_named(table: Path) -> None:
    # By a writer that knows no keys.
    deltalake.write_deltalake(table, rows(7, 8), mode="append")
    for limit in (None, 65_536):
        report = lr.Table(table).verify(memory_limit=limit)
        assert [finding.subject for finding in report.findings] == ["key"]
        assert "id=7" in report.findings[0].problem
    lr.Table(table).upsert(rows(7, 8))
    assert lr.Table(table).verify().sound
    read_by_others(table)


def test_keys_are_checked_where_they_are_known(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    for first in (0, 7):
        lr.copy(rows(first, 10), f"delta:{folder}" if first == 0 else folder, mode="error" if first == 0 else "append")
    done = ok("verify", folder)
    assert "keys are not checked" in done.err
    told = json.loads(ok("verify", folder, "--json").out)
    assert (told["keys_checked"], told["key"], len(told["notes"])) == (False, [], 1)
    assert not lr.Table(folder).verify().keys_checked
    assert not lr.Table(folder).verify().values_checked
    assert lr.Table(folder).verify(deep=True).values_checked
    assert "checked 13 rows" in done.err
    assert "values were not read (--deep reads them)" in done.err
    deep = ok("verify", folder, "--deep").err
    assert "verified 13 rows" in deep
    assert "values were not read" not in deep
    by_key = run("verify", folder, "--key", "id", "--json")
    assert by_key.code == 5
    assert json.loads(by_key.out)["keys_checked"]
    for report in (lr.Table(folder, key="id").verify(), lr.Table(folder).verify(key="id")):
        assert (report.keys_checked, report.key, report.notes) == (True, ["id"], [])
        assert [finding.subject for finding in report.findings] == ["key"]
    assert run("verify", folder, "--key", "it").code == 3


DOUBLE = [
    (f"{5:020}.json", f"{6:020}.json"),
    (f"{6:020}.json", f"{8:020}.checkpoint.parquet"),
    (f"{9:020}.json", f"{8:020}.checkpoint.parquet"),
]


@pytest.mark.parametrize("names", DOUBLE)
@pytest.mark.parametrize("damaged", [b"", b"\xa5" * 100])
def test_two_damages_are_both_named(table: Path, names: tuple[str, str], damaged: bytes) -> None:
    for name in names:
        log(table, name).write_bytes(damaged)
    for repair in (False, True):
        report = lr.Table(table).verify(repair=repair)
        assert not report.sound
        left = [finding for finding in report.findings if finding.repaired is None]
        told = " ".join(f"{finding.place} {finding.problem}" for finding in report.findings)
        assert len(report.findings) >= 2 - (repair and len(left) < 2)
        assert all(name in told or f"checkpoint of version {int(name[:20])}" in told for name in names)
    assert run("verify", table).code == 5


def test_an_entry_of_another_writer_that_was_replaced_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    for number in range(4):
        deltalake.write_deltalake(folder, rows(number, number + 1), mode="append")
    assert lr.Table(folder).verify().sound
    shutil.copyfile(entry(folder, 1), entry(folder, 2))
    report = lr.Table(folder).verify()
    assert [finding.subject for finding in report.findings] == ["entry"]
    assert "it adds a file that already exists" in report.findings[0].problem
    assert str(entry(folder, 2)) in report.findings[0].place


def test_tables_of_others_are_sound(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    for number in range(12):
        deltalake.write_deltalake(folder, rows(number, number + 1), mode="append")
    deltalake.DeltaTable(folder).create_checkpoint()
    deltalake.DeltaTable(folder).delete("id = 3")
    report = lr.Table(folder).verify(deep=True)
    assert report.findings == []
    assert (report.verified_rows, report.entries) == (11, 13)


def test_a_file_with_two_deletion_vectors_is_damage(tmp_path: Path) -> None:
    """An entry that replaces a file's deletion vector removes the file by another name: which rows are hidden is not known."""
    folder = tmp_path / "table"
    lr.copy(rows(0, 3), f"delta:{folder}", table_properties={"lakerace.primaryKey": "id"})
    lr.Table(folder).upsert(rows(1, 4, "put"))
    actions = [json.loads(line) for line in entry(folder, 1).read_text().splitlines()]
    (removal,) = [action["remove"] for action in actions if "remove" in action]
    path = removal["path"]
    removal["path"] = path.replace(path[-9], "0" if path[-9] != "0" else "1")
    entry(folder, 1).write_text("".join(json.dumps(action) + "\n" for action in actions))
    for words in [["scan", folder], ["scan", folder, "--count"], ["upsert", tmp_path / "more.parquet", folder]]:
        lr.copy(rows(7, 8), str(tmp_path / "more.parquet"), mode="overwrite")
        done = run(*words)
        assert done.code == 5, done.err
        assert path in done.err
        assert "twice" in done.err
    done = run("verify", folder)
    assert done.code == 5, done.out + done.err
    assert "does not exist" in done.out + done.err


def test_a_folder_without_a_table_is_not_found(tmp_path: Path) -> None:
    assert run("verify", tmp_path).code == 3
    with pytest.raises(lr.NotFoundError):
        lr.Table(tmp_path).verify()


def edited_checkpoint(folder: Path, field: str, change: Callable[[Any], Any]) -> None:
    """Changes a value of the first file that the last checkpoint adds: pages without checksums do not show that."""
    path = log(folder, f"{8:020}.checkpoint.parquet")
    found = pq.read_table(path)
    actions = found.to_pylist()
    add = next(action["add"] for action in actions if action["add"])
    add[field] = change(add[field])
    pq.write_table(pa.Table.from_pylist(actions, found.schema), path)


EDITS: dict[str, tuple[str, Callable[[Any], Any], bool]] = {
    "another name": ("path", lambda path: path.replace("part", "pbrt"), False),
    "another size": ("size", lambda size: size ^ (1 << 33), False),
    "a name that no file can have": ("path", lambda path: path.replace("part", "p\x1brt"), True),
    "a size that no file can have": ("size", lambda size: size ^ (1 << 62), True),
    "no size": ("size", lambda size: -size, True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_values_that_changed_in_a_checkpoint(table: Path, edit: str) -> None:
    """The rows are right or there are none. The message names the checkpoint and the command that mends it."""
    field, change, is_read = EDITS[edit]
    edited_checkpoint(table, field, change)
    done = run("scan", table, "--checksum", "--json")
    assert (done.code == 0) is is_read, done.err
    assert "--repair" in done.err
    if is_read:
        assert "warning: " in done.err
        [told] = [line for line in done.err.splitlines() if "the checkpoint of version 8 can't be read" in line]
        assert f"and older entries were read instead; `lakerace verify {table} --repair` mends it: " in told
        # The advice of the error that it tells is not repeated, in whichever words.
        assert told.count("repair") == 1
        assert done.json["rows"] == len(MODEL)
    else:
        assert done.code == 5
        assert f"{8:020}.checkpoint.parquet: the checkpoint is damaged" in done.err
    assert run("verify", table).code == 5
    ok("verify", table, "--repair")
    read_by_others(table)


def test_a_data_file_that_is_gone_is_not_blamed_on_the_checkpoint(table: Path) -> None:
    data_file(table).unlink()
    done = run("scan", table, "--checksum")
    assert done.code == 5
    assert "checkpoint" not in done.err


#: Statistics of a table of the columns `id`, `d`, `t`, `m`, `b`, `x` that differ in one place, and the words of the finding.
MISFITS = {
    ("minValues", "id", '"x"'): 'have "x" as minValues of id, which must be a value of int64',
    ("maxValues", "id", "9223372036854775808"): "which must be a value of int64",
    ("minValues", "id", "true"): "which must be a value of int64",
    ("minValues", "id", "0.5"): "have 0.5 as minValues of id, which must be a value of int64",
    ("maxValues", "id", "3.5"): "have 3.5 as maxValues of id, which must be a value of int64",
    ("maxValues", "id", '"3.5"'): "which must be a value of int64",
    ("maxValues", "s", "32768"): "which must be a value of int16",
    ("minValues", "s", "1.5"): "which must be a value of int16",
    ("minValues", "d", '"2020-13-01"'): "which must be a value of date32",
    ("minValues", "t", '"x"'): "which must be a value of timestamp(us, UTC)",
    ("minValues", "m", "12345.25"): "which must be a value of decimal(5,2)",
    ("minValues", "b", "0"): "which must be a value of bool",
    ("minValues", "x", '{"y": "q"}'): 'have "q" as minValues of x.y, which must be a value of int64',
    ("nullCount", "x", "0"): "have 0 as nullCount of x, which must be an object of its fields",
    ("nullCount", "id", "7"): "have 7 as nullCount of id, but 3 as numRecords",
    ("minValues", "id", "5"): "have a minimum of id that is above its maximum",
}

#: Those that some reader takes: other forms of a value, and keys that are no columns.
FITS = [
    ("minValues", "id", '"1"'),
    ("minValues", "id", "1.0"),
    ("minValues", "d", '"2020-01-01T00:00:00Z"'),
    ("minValues", "t", '"2020-01-01 00:00:00"'),
    ("minValues", "m", '"1.25"'),
    ("minValues", "q", "[]"),
    ("nullCount", "q", "9"),
    ("nullCount", "id", "null"),
]


def with_statistics(folder: Path, kind: str, column: str, value: str) -> Path:
    """A table of delta-rs whose statistics have one value more, or another one."""
    when = [datetime(2020, 1, day, tzinfo=timezone.utc) for day in (1, 2, 3)]
    written = pa.table(
        {
            "id": [1, 2, 3],
            "s": pa.array([1, 2, 3], pa.int16()),
            "d": [moment.date() for moment in when],
            "t": when,
            "m": pa.array([Decimal("1.25"), Decimal("2.25"), Decimal("3.25")], pa.decimal128(5, 2)),
            "b": [True, False, True],
            "x": [{"y": 1}, {"y": 2}, {"y": 3}],
        }
    )
    deltalake.write_deltalake(folder, written)
    lines = [json.loads(line) for line in entry(folder, 0).read_text().splitlines()]
    for added in (line["add"] for line in lines if "add" in line):
        statistics = json.loads(added["stats"])
        statistics[kind][column] = json.loads(value)
        added["stats"] = json.dumps(statistics)
    entry(folder, 0).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def rows_of_delta_rs(folder: Path) -> list[int] | None:
    """The rows that a filter of delta-rs finds; `None` where it can't open the table."""
    try:
        query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(folder))
        return sorted(pa.table(query.execute("SELECT id FROM t WHERE id >= 2").read_all())["id"].to_pylist())
    except deltalake.exceptions.DeltaError:
        return None


@pytest.mark.parametrize(("kind", "column", "value"), MISFITS)
def test_statistics_that_do_not_fit_their_columns_are_named(tmp_path: Path, kind: str, column: str, value: str) -> None:
    folder = with_statistics(tmp_path / "table", kind, column, value)
    (finding,) = lr.Table(folder).verify().findings
    assert finding.subject == "statistics"
    assert MISFITS[kind, column, value] in finding.problem
    assert lr.scan(folder, where="id >= 2").to_arrow()["id"].to_pylist() == [2, 3]
    # Rewritten by lakerace, the file has statistics that others read.
    lr.Table(folder).compact(sort_by="id")
    assert rows_of_delta_rs(folder) == [2, 3]
    assert lr.Table(folder).verify().sound


@pytest.mark.parametrize(
    ("kind", "value", "problem"), [("minValues", True, "false is below"), ("maxValues", False, "true is above")]
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_bounds_of_booleans_hold(tmp_path: Path, kind: str, value: bool, problem: str, is_nested: bool) -> None:
    flags = [True, False]
    deltalake.write_deltalake(
        tmp_path, pa.table({"k": [1, 2], **({"x": [{"b": flag} for flag in flags]} if is_nested else {"b": flags})})
    )
    assert lr.Table(tmp_path).verify(deep=True).sound
    lines = [json.loads(line) for line in entry(tmp_path, 0).read_text().splitlines()]
    for added in (line["add"] for line in lines if "add" in line):
        statistics = json.loads(added["stats"])
        (statistics[kind]["x"] if is_nested else statistics[kind])["b"] = value
        added["stats"] = json.dumps(statistics)
    entry(tmp_path, 0).write_text("".join(json.dumps(line) + "\n" for line in lines))
    if not is_nested:
        # Others find no row where there is one.
        assert pl.scan_delta(str(tmp_path)).filter(pl.col("b") != value).collect().is_empty()
    (finding,) = lr.Table(tmp_path).verify(deep=True).findings
    name = "x.b" if is_nested else "b"
    assert f"column {name}: the value {problem} the" in finding.problem
    lr.Table(tmp_path).compact(sort_by="b" if not is_nested else "k")
    assert lr.Table(tmp_path).verify(deep=True).sound


@pytest.mark.parametrize(("kind", "column", "value"), FITS)
def test_statistics_of_another_form_are_sound(tmp_path: Path, kind: str, column: str, value: str) -> None:
    folder = with_statistics(tmp_path / "table", kind, column, value)
    assert rows_of_delta_rs(folder) == [2, 3]
    assert lr.Table(folder).verify(deep=True).findings == []


def test_a_folder_in_place_of_the_hint_is_damage(table: Path) -> None:
    log(table, "_last_checkpoint").unlink()
    log(table, "_last_checkpoint").mkdir()
    read_by_others(table)
    # Others can't write the file.
    with pytest.raises(OSError, match="directory"):
        deltalake.DeltaTable(table).create_checkpoint()
    done = run("verify", table)
    assert done.code == 5
    assert "_last_checkpoint: it is a folder" in done.out
    (finding,) = lr.Table(table).verify(repair=True).findings
    assert (finding.subject, finding.repaired) == ("last_checkpoint", None)
    log(table, "_last_checkpoint").rmdir()
    assert lr.Table(table).verify().sound


@pytest.mark.parametrize("left", [b"", b"PAR1", None])
def test_a_checkpoint_of_another_size_is_named_once(table: Path, left: bytes | None) -> None:
    path = log(table, f"{8:020}.checkpoint.parquet")
    path.write_bytes(path.read_bytes()[:-9] if left is None else left)
    done = run("verify", table, "--json")
    assert done.code == 5
    assert [finding["subject"] for finding in done.json["findings"]] == ["checkpoint"]
    assert done.json["warnings"] == []
    assert run("verify", table).err.count("checkpoint of version 8") == 0
    assert lr.Table(table).verify(repair=True).sound
    assert lr.Table(table).verify().findings == []
    read_by_others(table)


def test_a_folder_in_the_place_of_a_data_file_is_a_finding(tmp_path: Path) -> None:
    place = tmp_path / "t"
    for first in (0, 10, 20):
        lr.copy(rows(first, first + 10), f"delta:{place}", mode="append")
    one, other, _ = sorted(place.glob("*.parquet"))
    one.unlink()
    one.mkdir()
    other.unlink()
    done = run("verify", place, "--json")
    assert done.code == 5
    assert {finding["place"]: finding["problem"] for finding in json.loads(done.out)["findings"]} == {
        str(one): "is a directory",
        str(other): "it does not exist, but the version needs it",
    }
