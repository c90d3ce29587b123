"""The fuzz of Delta tables by random operations: after each one the table, its history and its change feed are those of a model.

What lakerace makes is read by delta-rs, too, and where a table has no feature that delta-rs can't write, that writes between.
"""

from __future__ import annotations

import random
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from columns import KINDS, Kind, comparable
from evaluate import truth
from expressions import Expressions, sql
from model import Model, Row, Values, flat, from_arrow, to_arrow
from views import without_views

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

#: Operations for each table.
OPERATIONS = 14
_KEYS = ["i16", "i32", "i64", "text", "day", "d5_2", "d18_4", "at_us", "at_us_utc", "bytes"]
_VALUES = ["bool", "text", "bytes", "day", "f32", "f64", "i8", "i16", "i32", "i64"]
_VALUES += ["d9_9", "d38_10", "at_us", "at_us_utc"]
# delta-rs writes and reads negative decimals of partitions as `-999.-99`.
_PARTITIONS = ["bool", "text", "day", "i8", "i32", "at_us"]
_WIDER = {"i8": "i16", "i16": "i32", "i32": "i64", "f32": "f64"}


def run(seed: int, folder: Path) -> str:
    """Runs one case; what it was is returned. Raises `AssertionError` where table and model differ."""
    case = Case(seed, folder / "table")
    try:
        case.create()
        case.check()
        for _ in range(OPERATIONS):
            case.step()
            case.check()
        case.check_others()
        case.check_history()
    except AssertionError as error:
        raise AssertionError(f"case {seed}\n  {case.told()}\n  {error}") from error
    except (lr.Error, deltalake.exceptions.DeltaError) as error:
        raise AssertionError(f"case {seed}\n  {case.told()}\n  {type(error).__name__}: {error}") from error
    return f"case {seed}, {len(case.model.versions)} versions"


class Case:
    """A table, its model, and what was done."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.drawn = random.Random(seed)
        self.folder = folder
        self.done: list[str] = []
        drawn = self.drawn
        kinds = {f"k{i}": KINDS[drawn.choice(_KEYS)] for i in range(drawn.choice([1, 1, 2]))}
        key = list(kinds)
        kinds |= {f"v{i}": KINDS[drawn.choice(_VALUES)] for i in range(drawn.randint(1, 4))}
        partitions = []
        if drawn.random() < 0.4:
            kinds["p"] = KINDS[drawn.choice(_PARTITIONS)]
            partitions = ["p"]
            if drawn.random() < 0.3:
                key.append("p")
        self.model = Model(kinds, key, partitions)
        self.properties = self._properties()
        self.table = lr.Table(folder, key=key)

    def _properties(self) -> dict[str, str]:
        drawn = self.drawn
        properties = {}
        vectors = drawn.choice([None, "true", "false"])
        if vectors:
            properties["delta.enableDeletionVectors"] = vectors
        if drawn.random() < 0.4:
            properties["delta.enableChangeDataFeed"] = "true"
        if drawn.random() < 0.3:
            properties["delta.enableTypeWidening"] = "true"
        if drawn.random() < 0.5:
            properties["lakerace.primaryKey"] = ",".join(self.model.key)
        if drawn.random() < 0.4:
            properties["delta.checkpointInterval"] = drawn.choice(["1", "3"])
        if drawn.random() < 0.2:
            properties["delta.dataSkippingNumIndexedCols"] = drawn.choice(["0", "1"])
        if drawn.random() < 0.2:
            properties["delta.columnMapping.mode"] = drawn.choice(["name", "id"])
        if drawn.random() < 0.2:
            properties["delta.enableInCommitTimestamps"] = "true"
        return properties

    @property
    def has_feed(self) -> bool:
        return self.properties.get("delta.enableChangeDataFeed") == "true"

    def told(self) -> str:
        """What was done, a line an operation."""
        columns = ", ".join(f"{name} {kind.name}" for name, kind in self.model.kinds.items())
        head = f"columns {columns}; key {self.model.key}; partitions {self.model.partitions}; {self.properties}"
        return "\n  ".join([head, *(f"{number}: {text}" for number, text in enumerate(self.done))])

    def fresh_rows(self, count: int) -> list[Row]:
        """Rows with keys that the table has not, each once."""
        rows: dict[Values, Row] = {}
        for row in self.model.draw_rows(self.drawn, count, self.model.kinds):
            if self.model.key_of(row) not in self.model.rows:
                rows[self.model.key_of(row)] = row
        return list(rows.values())

    def create(self) -> None:
        """Makes the table with some rows."""
        rows = self.fresh_rows(self.drawn.choice([0, 1, 20, 60]))
        self.done.append(f"create with {len(rows)} rows")
        lr.copy(
            to_arrow(rows, self.model.kinds),
            f"delta:{self.folder}",
            partition_by=self.model.partitions or None,
            table_properties=self.properties,
        )
        for row in rows:
            self.model.put(row)
        self.model.commit(self.version())

    def version(self) -> int:
        """The table's last version."""
        version = self.table.schema()["version"]
        assert isinstance(version, int)
        return version

    def step(self) -> None:
        """Does one operation."""
        names = list(_OPERATIONS)
        name = self.drawn.choices(names, [_OPERATIONS[name][0] for name in names])[0]
        self.done.append(name)
        before = len(self.model.versions)
        changes = _OPERATIONS[name][1](self)
        version = self.version()
        self.model.commit(version)
        if changes is not None and len(self.model.versions) == before + 1:
            self.model.told[version] = changes
        if changes:
            assert version >= before, f"{name} made no version"

    def note(self, text: str) -> None:
        """Says more of the operation under way."""
        self.done[-1] += f" {text}"

    def check(self) -> None:
        """The table is the model's, at one earlier version, too, and so are the changes of the last one."""
        model, drawn = self.model, self.drawn
        self._compare(None)
        last = len(model.versions) - 1
        self._compare(drawn.randint(model.readable_from, last))
        if self.has_feed and drawn.random() < 0.5 and last > model.readable_from:
            first = drawn.randint(model.readable_from + 1, last)
            self._check_feed(first, drawn.randint(first, last))

    def _compare(self, at: int | None) -> None:
        version = self.model.versions[-1 if at is None else at]
        found = without_views(self.table.scan(at=at).to_arrow())
        what = f"version {len(self.model.versions) - 1 if at is None else at}"
        assert found.column_names == list(version.kinds), f"{what} has columns {found.column_names}"
        types = [kind.type for kind in version.kinds.values()]
        assert found.schema.types == types, f"{what} has types {found.schema.types}, not {types}"
        self._same(found, at, what)
        if at is None:
            counted = self.table.scan().count()
            assert counted == len(version.rows), f"{what}: counted {counted} rows, not {len(version.rows)}"

    def _same(self, found: pa.Table, at: int | None, what: str) -> None:
        version = self.model.versions[-1 if at is None else at]
        wanted = Counter(flat([row.get(name) for name in version.kinds]) for row in version.rows.values())
        _equal(Counter(from_arrow(found, version.kinds)), wanted, what)

    def _check_feed(self, first: int, last: int) -> None:
        model = self.model
        if any(self._is_wider(v, v + 1) for v in range(first - 1, last)):
            # A restored schema is narrower than values of the files that its version removes.
            try:
                self.table.changes(first, last)
            except lr.UnsupportedError:
                return
            raise AssertionError(f"changes {first} to {last} are given although a version between is narrower")
        feed = without_views(pa.table(self.table.changes(first, last)))
        kinds = {name: model.versions[last].kinds[name] for name in model.versions[last].kinds}
        rows = from_arrow(feed, kinds)
        labels = zip(feed["_commit_version"].to_pylist(), feed["_change_type"].to_pylist(), strict=True)
        by_version: dict[int, Counter[tuple[str, Values]]] = {v: Counter() for v in range(first, last + 1)}
        for (version, change), row in zip(labels, rows, strict=True):
            by_version[version][change, row] += 1
        for version, changes in by_version.items():
            what = f"changes {first} to {last}: version {version}"
            known = model.told.get(version)
            if known is not None and model.versions[version].kinds == kinds:
                _equal(changes, known, what)
            # What was, less what went, plus what came, is what is.
            state: Counter[Values] = Counter()
            for sign, at in ((1, version - 1), (-1, version)):
                for row in model.versions[at].rows.values():
                    state[flat([row.get(name) for name in kinds])] += sign
            for (change, row), count in changes.items():
                state[row] += count if change in ("insert", "update_postimage") else -count
            wrong = {row: count for row, count in state.items() if count}
            assert not wrong, f"{what}: does not lead from one to the next: {list(wrong.items())[:4]}"

    def _is_wider(self, version: int, last: int) -> bool:
        """Whether a column of a version has a wider type than in a later one."""
        then, now = self.model.versions[version].kinds, self.model.versions[last].kinds
        both = [(then[name], now[name]) for name in then.keys() & now.keys()]
        return any(old.type.bit_width > new.type.bit_width for old, new in both if old != new)

    def check_others(self) -> None:
        """delta-rs reads the same rows of the last version and of an earlier one."""
        if self.properties.keys() & {"delta.enableTypeWidening", "delta.columnMapping.mode"}:
            return
        last = len(self.model.versions) - 1
        for version in {last, self.drawn.randint(self.model.readable_from, last)}:
            table = deltalake.DeltaTable(str(self.folder), version=version)
            builder = deltalake.QueryBuilder().register("t", table)
            found = without_views(pa.table(builder.execute("SELECT * FROM t").read_all()))
            self._same(found, version, f"version {version} by delta-rs")

    def check_history(self) -> None:
        """All versions are told, the newest first."""
        told = [entry.version for entry in self.table.history()]
        assert told == list(range(len(self.model.versions)))[::-1], f"the history has versions {told}"

    def source(self, rows: list[Row], kinds: dict[str, Kind]) -> Any:
        """Rows as an operation takes them: a table of one or many batches, a frame or a file; columns in any order."""
        names = list(kinds)
        self.drawn.shuffle(names)
        table = to_arrow(rows, {name: kinds[name] for name in names})
        choice = self.drawn.randrange(4)
        if choice == 0:
            path = self.folder.parent / f"source-{len(self.done)}.parquet"
            pq.write_table(table, path, row_group_size=self.drawn.choice([3, 1000]))
            return path
        if choice == 1 and rows:
            return pa.Table.from_batches(table.to_batches(max_chunksize=3))
        return table


def _equal(found: Counter[Any], wanted: Counter[Any], what: str) -> None:
    if found != wanted:
        more, fewer = found - wanted, wanted - found
        told = [f"{what}: {more.total()} rows too many, {fewer.total()} missing"]
        told += [f"too many: {row}" for row in list(more)[:3]] + [f"missing: {row}" for row in list(fewer)[:3]]
        raise AssertionError("\n  ".join(told))


Changes = Counter[tuple[str, Values]]


def _append(case: Case) -> Changes:
    rows = case.fresh_rows(case.drawn.choice([0, 1, 15, 40]))
    case.note(f"{len(rows)} rows")
    lr.copy(case.source(rows, case.model.kinds), case.folder, mode="append")
    before = dict(case.model.rows)
    for row in rows:
        case.model.put(row)
    return case.model.differences(before, None)


def _overwrite(case: Case) -> Changes:
    gone = case.model.delete(list(case.model.rows))
    rows = case.fresh_rows(case.drawn.choice([0, 5, 30]))
    case.note(f"by {len(rows)} rows")
    lr.copy(case.source(rows, case.model.kinds), case.folder, mode="overwrite")
    for row in rows:
        case.model.put(row)
    return gone + case.model.differences({}, None)


def _merges(case: Case, kinds: dict[str, Kind], rows: list[Row]) -> dict[str, str]:
    """Ways to merge some of the columns that are not the key's."""
    merge = {}
    for name, kind in kinds.items():
        if name in case.model.key or case.drawn.random() < 0.6:
            continue
        ways = ["last_not_null"]
        if kind.family in ("int", "instant", "decimal"):
            ways += ["min", "max"]
        if kind.family == "text" and name not in case.model.partitions:
            ways.append("concat:, ")
        if kind.name == "i64" and _is_small(name, [*rows, *case.model.rows.values()]):
            ways.append("sum")
        merge[name] = case.drawn.choice(ways)
    return merge


def _is_small(name: str, rows: list[Row]) -> bool:
    """Whether no sum of these goes over."""
    return sum(abs(row.get(name) or 0) for row in rows) < 2**62


def _upsert(case: Case) -> Changes:
    drawn, model = case.drawn, case.model
    kinds = dict(model.kinds)
    if drawn.random() < 0.3:
        kinds = {n: k for n, k in kinds.items() if n in model.key or drawn.random() < 0.5}
    rows = model.draw_rows(drawn, drawn.choice([0, 1, 10, 40]), kinds)
    if drawn.random() < 0.5 and model.rows:
        olds = drawn.sample(sorted(model.rows, key=repr), min(len(model.rows), 5))
        rows += [{**row, **dict(zip(model.key, key, strict=True))} for key, row in zip(olds, rows, strict=False)]
    merge = _merges(case, kinds, rows) if drawn.random() < 0.3 else {}
    insert_only = not merge and drawn.random() < 0.15
    case.note(f"{len(rows)} rows, columns {list(kinds)}, merge {merge}, insert_only {insert_only}")
    options = {"memory_limit": 1 << 26} if drawn.random() < 0.2 else {}
    case.table.upsert(case.source(rows, kinds), merge=merge, insert_only=insert_only, **options)
    return model.upsert(rows, merge, insert_only)


def _delete(case: Case) -> Changes:
    model = case.model
    rows = list(model.rows.values())
    columns = {name: comparable(kind, to_arrow(rows, {name: kind})[name]) for name, kind in model.kinds.items()}
    expr = Expressions(case.drawn, model.kinds, columns).condition(2)
    case.note(f"where {sql(expr)}")
    gone = [
        key
        for number, key in enumerate(model.rows)
        if truth(expr, {name: column[number] for name, column in columns.items()}) is True
    ]
    deleted = case.table.delete(sql(expr))
    assert deleted.rows == len(gone), f"deleted {deleted.rows} rows, not {len(gone)}"
    return model.delete(gone)


def _delete_keys(case: Case) -> Changes:
    model, drawn = case.model, case.drawn
    rows = model.draw_rows(drawn, drawn.choice([1, 10]), {name: model.kinds[name] for name in model.key})
    for key in drawn.sample(sorted(model.rows, key=repr), min(len(model.rows), drawn.choice([0, 3, 100]))):
        rows.append(dict(zip(model.key, key, strict=True)))
    case.note(f"{len(rows)} keys")
    case.table.delete_keys(case.source(rows, {name: model.kinds[name] for name in model.key}))
    return model.delete([model.key_of(row) for row in rows])


def _compact(case: Case) -> Changes:
    drawn = case.drawn
    options: dict[str, Any] = {}
    names = drawn.sample(list(case.model.kinds), drawn.randint(1, min(2, len(case.model.kinds))))
    names = [name for name in names if name not in case.model.partitions]
    choice = drawn.randrange(4)
    if choice < 2 and names:
        options["sort_by" if choice else "zorder"] = names
    if case.model.partitions and drawn.random() < 0.3:
        options["where"] = f"p IS {drawn.choice(['', 'NOT '])}NULL"
    if drawn.random() < 0.2:
        options["target_size"] = 2000
    case.note(str(options))
    case.table.compact(**options)
    return Counter()


def _vacuum(case: Case) -> None:
    time.sleep(0.01)
    case.table.vacuum(retain="0", allow_short_retention=True)
    case.model.readable_from = len(case.model.versions) - 1


def _restore(case: Case) -> None:
    model = case.model
    version = case.drawn.randint(model.readable_from, len(model.versions) - 1)
    case.note(f"to {version}")
    case.table.restore(version)
    model.kinds, model.rows = dict(model.versions[version].kinds), dict(model.versions[version].rows)


def _evolve(case: Case) -> None:
    """Adds a column or widens one, with rows that need it, by an append or an upsert."""
    model, drawn = case.model, case.drawn
    kinds, ways = dict(model.kinds), []
    if drawn.random() < 0.6:
        # A name that a restored version's history may have in another type.
        name = f"n{drawn.randrange(3)}"
        if name not in kinds and all(name not in version.kinds for version in model.versions):
            # Times without a zone need a feature that a table gets when it is made.
            kinds[name] = KINDS[drawn.choice([value for value in _VALUES if value != "at_us"])]
            ways.append("add")
    if case.properties.get("delta.enableTypeWidening"):
        for name, kind in model.kinds.items():
            if name not in model.key + model.partitions and kind.name in _WIDER and drawn.random() < 0.5:
                kinds[name] = KINDS[_WIDER[kind.name]]
                ways.append("widen")
    ways = sorted(set(ways))
    model.kinds, old = kinds, model.kinds
    rows = case.fresh_rows(5)
    by_upsert = drawn.random() < 0.5
    case.note(f"{ways} by {'upsert' if by_upsert else 'append'}, {[f'{n} {k.name}' for n, k in kinds.items()]}")
    if not rows:
        model.kinds = old
        return
    source = case.source(rows, kinds)
    if by_upsert:
        case.table.upsert(source, evolve=ways)
    else:
        lr.copy(source, case.folder, mode="append", evolve=ways)
    model.rows = {key: {name: row.get(name) for name in kinds} for key, row in model.rows.items()}
    for row in rows:
        model.put(row)


def _refused(case: Case) -> Changes:
    """What must be an error and change nothing."""
    model, drawn = case.model, case.drawn
    rows = model.draw_rows(drawn, 5, model.kinds)
    if drawn.random() < 0.5:
        rows[2] = {**rows[2], drawn.choice(model.key): None}
        call: Callable[[], Any] = lambda: case.table.upsert(to_arrow(rows, model.kinds))  # noqa: E731
    else:
        rows.append(rows[0])
        call = lambda: case.table.upsert(to_arrow(rows, model.kinds), on_duplicate="error")  # noqa: E731
    try:
        call()
    except lr.InvalidInputError as error:
        case.note(str(error)[:60])
        return Counter()
    raise AssertionError("rows with a null in the key, or a key that stands twice, were taken")


def _foreign(case: Case) -> Changes | None:
    """delta-rs appends rows or compacts, where it can write to the table."""
    unknown = {"delta.enableTypeWidening", "delta.columnMapping.mode", "delta.enableInCommitTimestamps"}
    if case.properties.get("delta.enableDeletionVectors") != "false" or case.properties.keys() & unknown:
        return Counter()
    if case.drawn.random() < 0.3:
        case.note("compacts")
        deltalake.DeltaTable(str(case.folder)).optimize.compact()
        return Counter()
    rows = case.fresh_rows(case.drawn.choice([1, 10]))
    case.note(f"{len(rows)} rows")
    if not rows:
        return Counter()
    before = dict(case.model.rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deltalake.write_deltalake(str(case.folder), to_arrow(rows, case.model.kinds), mode="append")
    for row in rows:
        case.model.put(row)
    return case.model.differences(before, None)


#: How often each is done, and what it does.
_OPERATIONS: dict[str, tuple[int, Callable[[Case], Changes | None]]] = {
    "append": (3, _append),
    "overwrite": (1, _overwrite),
    "upsert": (8, _upsert),
    "delete": (4, _delete),
    "delete keys": (3, _delete_keys),
    "compact": (3, _compact),
    "vacuum": (1, _vacuum),
    "restore": (2, _restore),
    "evolve": (2, _evolve),
    "refused": (1, _refused),
    "delta-rs": (2, _foreign),
}
