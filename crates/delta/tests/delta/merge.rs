//! Merges with clauses: other writers at the same time, stores that end, the change feed, duplicates, and the log.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lakerace_delta::{
    ColumnAssignment, CompactOptions, MergeAction, MergeClause, MergeOptions, MergeOutcome, MergeStatement, Table,
    compact, delete, merge, plan_merge,
};
use lakerace_format::{Batches, Expr, Literal};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};

use crate::common::{
    Meanwhile, Model, append, create, entry, less, names, on, put, read, rows, scattered, table, version,
};
use crate::faults::every_end;
use crate::feed::replays;

const PLAIN: (&str, &str) = ("delta.enableDeletionVectors", "false");
const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");
const PROPERTIES: [&[(&str, &str)]; 4] = [&[], &[PLAIN], &[FEED], &[PLAIN, FEED]];

/// Rows of a source: a key or none, and a text.
fn source(rows: &[(Option<i64>, &str)]) -> Batches {
    let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| *id).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(rows.iter().map(|(_, text)| Some(*text)).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap();
    Batches::new(batch.schema(), std::iter::once(Ok(batch)))
}

fn keyed(ids: impl IntoIterator<Item = i64>, text: &'static str) -> Vec<(Option<i64>, &'static str)> {
    ids.into_iter().map(|id| (Some(id), text)).collect()
}

fn clause(action: MergeAction, condition: Option<Expr>) -> MergeClause {
    let condition_text = condition.as_ref().map(|_| "a condition".to_owned());
    MergeClause { condition, condition_text, action }
}

fn set(value: Expr) -> MergeAction {
    MergeAction::Set(vec![ColumnAssignment { column: "text".to_owned(), value, text: "text = …".to_owned() }])
}

fn all() -> MergeAction {
    MergeAction::SetAll { except: Vec::new() }
}

fn text(value: &str) -> Expr {
    Expr::Literal(Literal::Text(value.to_owned()))
}

fn statement(
    matched: Vec<MergeClause>,
    not_matched: Vec<MergeClause>,
    not_matched_by_source: Vec<MergeClause>,
) -> MergeStatement {
    MergeStatement {
        on: vec![("id".to_owned(), "id".to_owned())],
        target_alias: "target".to_owned(),
        source_alias: "source".to_owned(),
        matched,
        not_matched,
        not_matched_by_source,
    }
}

/// Each of the three groups of rows has something done to it.
fn every_clause() -> MergeStatement {
    statement(
        vec![clause(MergeAction::Delete, Some(less("target.id", 3))), clause(all(), None)],
        vec![clause(all(), None)],
        vec![clause(MergeAction::Delete, Some(less("id", 9))), clause(set(text("left")), Some(less("id", 25)))],
    )
}

fn run(table: &Table, rows: &[(Option<i64>, &str)], statement: &MergeStatement) -> Result<MergeOutcome> {
    merge(table, source(rows), statement, &MergeOptions::default())
}

/// A table of three files, of 10 rows each.
fn made(inner: &Arc<InMemory>, properties: &[(&str, &str)]) -> Table {
    let table = table(inner);
    create(&table, 0..10, properties);
    append(&table, 10..20, "base");
    append(&table, 20..30, "base");
    table
}

/// The rows after a merge by [`every_clause`] with distinct keys.
fn expected(model: &Model, source: &[(Option<i64>, &str)]) -> Model {
    let mut after = Model::new();
    let of_source = |id: i64| source.iter().find(|(key, _)| *key == Some(id)).map(|(_, text)| (*text).to_owned());
    for (id, text) in model {
        match of_source(*id) {
            Some(_) if *id < 3 => {}
            Some(new) => drop(after.insert(*id, new)),
            None if *id < 9 => {}
            None if *id < 25 => drop(after.insert(*id, "left".to_owned())),
            None => drop(after.insert(*id, text.clone())),
        }
    }
    let new = source.iter().filter_map(|(id, text)| Some(((*id)?, (*text).to_owned())));
    after.extend(new.filter(|(id, _)| !model.contains_key(id)));
    after
}

#[test]
fn each_group_of_rows_has_its_clauses() {
    for properties in PROPERTIES {
        let inner = Arc::new(InMemory::new());
        let table = made(&inner, properties);
        let before = read(&table);
        let rows = keyed([1, 2, 5, 12, 29, 40, 41], "new");
        let merged = run(&table, &rows, &every_clause()).unwrap();
        // Of the rows below 9 that match nothing, 0, 3, 4, 6, 7 and 8; from 9 to 24 all but 12.
        assert_eq!((merged.source_rows, merged.inserted, merged.updated, merged.deleted), (7, 2, 3 + 15, 2 + 6));
        assert_eq!(merged.changed.hidden, merged.updated + merged.deleted, "{properties:?}");
        assert_eq!(read(&table), expected(&before, &rows));
        let entry = entry(&inner, 3);
        let info = entry.iter().find_map(|line| line.get("commitInfo")).unwrap();
        assert_eq!(info["operation"], "MERGE");
        let parameter = |name: &str| info["operationParameters"][name].as_str().unwrap().to_owned();
        assert_eq!(parameter("predicate"), r#"["target.id = source.id"]"#);
        assert!(parameter("matchedPredicates").contains(r#""actionType":"delete""#));
        assert_eq!(parameter("notMatchedPredicates"), r#"[{"actionType":"insert"}]"#);
        let metric = |name: &str| info["operationMetrics"][name].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!(metric("numSourceRows"), 7);
        assert_eq!((metric("numTargetRowsInserted"), metric("numTargetRowsUpdated")), (2, 18));
        assert_eq!((metric("numTargetRowsMatchedUpdated"), metric("numTargetRowsMatchedDeleted")), (3, 2));
        assert_eq!(metric("numTargetRowsNotMatchedBySourceUpdated"), 15);
        assert_eq!((metric("numTargetRowsNotMatchedBySourceDeleted"), metric("numTargetRowsDeleted")), (6, 8));
        if properties.contains(&FEED) {
            replays(&table);
        }
    }
}

#[test]
fn a_merge_that_changes_nothing_writes_nothing() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner, &[]);
    let before = names(&inner);
    let nothing = statement(vec![clause(all(), Some(less("target.id", 0)))], Vec::new(), Vec::new());
    let merged = run(&table, &keyed(0..50, "new"), &nothing).unwrap();
    assert_eq!((merged.changed.written.version, merged.updated, merged.source_rows), (None, 0, 50));
    // No row of the source.
    let inserts = statement(vec![clause(all(), None)], vec![clause(all(), None)], Vec::new());
    assert_eq!(run(&table, &[], &inserts).unwrap().changed.written.version, None);
    // All of it, without writing.
    let planned =
        plan_merge(&table, source(&keyed([1, 5, 40], "new")), &every_clause(), &MergeOptions::default()).unwrap();
    assert_eq!((planned.inserted, planned.updated, planned.deleted), (1, 1 + 16, 1 + 7));
    assert_eq!(names(&inner), before);
}

#[test]
fn several_rows_of_the_source_may_not_change_one_row() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner, &[]);
    let before = (names(&inner), read(&table));
    let twice = [keyed([4, 5, 4], "new"), keyed([60, 60], "more")].concat();
    let update = |condition| statement(vec![clause(all(), condition)], Vec::new(), Vec::new());
    let error = run(&table, &twice, &update(None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("(id = 4)"), "{error}");
    assert_eq!(names(&inner), before.0);
    // One of them meets the condition.
    let distinct = [(Some(4), "a"), (Some(4), "b"), (Some(5), "a")];
    let is_b = Expr::Like {
        expr: Box::new(Expr::Column("source.text".to_owned())),
        pattern: "b".to_owned(),
        escape: None,
        case_insensitive: false,
    };
    assert_eq!(run(&table, &distinct, &update(Some(is_b))).unwrap().updated, 1);
    assert_eq!(read(&table)[&4], "b");
    // Rows that are deleted are deleted once, and rows of the source without a match are all inserted.
    let deletes = statement(vec![clause(MergeAction::Delete, None)], Vec::new(), Vec::new());
    let merged = run(&table, &twice, &deletes).unwrap();
    assert_eq!((merged.deleted, merged.inserted), (2, 0));
    let inserts = statement(Vec::new(), vec![clause(set(text("x")), None)], Vec::new());
    assert_eq!(run(&table, &twice, &inserts).unwrap().inserted, 5);
}

#[test]
fn rows_without_a_key_match_nothing() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner, &[]);
    let nulls = [(None, "a"), (Some(5), "b"), (None, "c")];
    let inserts = |condition| statement(vec![clause(all(), None)], vec![clause(set(text("x")), condition)], Vec::new());
    let only_a = Expr::Like {
        expr: Box::new(Expr::Column("source.text".to_owned())),
        pattern: "a".to_owned(),
        escape: None,
        case_insensitive: false,
    };
    let merged = run(&table, &nulls, &inserts(Some(only_a))).unwrap();
    assert_eq!((merged.source_rows, merged.inserted, merged.updated), (3, 1, 1));
    // The table's row without a key is not matched by another one.
    let merged = run(&table, &nulls, &inserts(None)).unwrap();
    assert_eq!((merged.inserted, merged.updated), (2, 1));
    let gone = statement(Vec::new(), Vec::new(), vec![clause(MergeAction::Delete, None)]);
    assert_eq!(run(&table, &nulls, &gone).unwrap().deleted, 29 + 3);
    assert_eq!(read(&table).len(), 1);
}

#[test]
fn sources_that_do_not_fit_into_memory() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..20_000, &[FEED]);
    let mut ids: Vec<i64> = (0..60_000).map(|n| n * 2 / 3).collect();
    for at in (1..ids.len()).rev() {
        ids.swap(at, scattered(at as u64, at as u64 + 1) as usize);
    }
    // Below 40,000, each even number comes twice.
    let rows: Vec<_> = ids.into_iter().map(|id| (Some(id), "a text that takes some memory")).collect();
    let options = MergeOptions { memory_bytes: 1 << 20, ..MergeOptions::default() };
    let deletes = statement(vec![clause(MergeAction::Delete, None)], vec![clause(set(text("x")), None)], Vec::new());
    let merged = merge(&table, source(&rows), &deletes, &options).unwrap();
    assert_eq!((merged.source_rows, merged.deleted, merged.inserted), (60_000, 20_000, 30_000));
    assert!(merged.changed.windows > 1, "{merged:?}");
}

#[test]
fn rows_of_other_writers_are_merged_as_they_are_then() {
    /// What another writer does, and what becomes of the rows by it.
    type Act = (fn(&Table), fn(Model) -> Model);
    let acts: [Act; 5] = [
        (
            |table| drop(put(table, &rows([1, 12, 27, 40], "other")).unwrap()),
            |mut model| {
                model.extend(rows([1, 12, 27, 40], "other"));
                model
            },
        ),
        (
            |table| append(table, 40..45, "more"),
            |mut model| {
                model.extend(rows(40..45, "more"));
                model
            },
        ),
        (
            |table| drop(delete(table, &less("id", 12)).unwrap()),
            |model| model.into_iter().filter(|(id, _)| *id >= 12).collect(),
        ),
        (
            |table| drop(run(table, &keyed([2, 29], "theirs"), &every_clause()).unwrap()),
            |model| expected(&model, &keyed([2, 29], "theirs")),
        ),
        (|table| assert!(compact(table, &CompactOptions::default()).unwrap().version.is_some()), |model| model),
    ];
    let mine = keyed([1, 5, 12, 29, 40], "mine");
    for properties in PROPERTIES {
        for (number, (act, then)) in acts.iter().enumerate() {
            let inner = Arc::new(InMemory::new());
            let before = read(&made(&inner, properties));
            let (act, other) = (*act, table(&inner));
            let store = Meanwhile::before(3, &inner, move || act(&other));
            let merged = run(&on(store), &mine, &every_clause()).unwrap();
            assert_eq!(merged.changed.written.version, Some(version(&table(&inner))));
            assert_eq!(read(&table(&inner)), expected(&then(before), &mine), "{properties:?}, act {number}");
            if properties.contains(&FEED) {
                replays(&table(&inner));
            }
        }
    }
}

#[test]
fn a_row_that_another_writer_deletes_is_inserted_again() {
    // It matches, and no clause changes it.
    let unchanged = statement(vec![clause(all(), Some(less("target.id", 0)))], vec![clause(all(), None)], Vec::new());
    let inserts = statement(Vec::new(), vec![clause(all(), None)], Vec::new());
    for statement in [unchanged, inserts] {
        let inner = Arc::new(InMemory::new());
        made(&inner, &[]);
        let other = table(&inner);
        let store = Meanwhile::before(3, &inner, move || drop(delete(&other, &less("id", 6)).unwrap()));
        let merged = run(&on(store), &keyed([5, 7, 50], "mine"), &statement).unwrap();
        assert_eq!((merged.inserted, merged.updated, merged.deleted), (2, 0, 0));
        let now = read(&table(&inner));
        assert_eq!((now[&5].as_str(), now[&7].as_str(), now.len()), ("mine", "base 7", 24 + 2));
    }
}

#[test]
fn merges_that_break_off() {
    for properties in [&[][..], &[PLAIN, FEED]] {
        // The same again changes nothing more.
        let again = statement(vec![clause(all(), None)], vec![clause(all(), None)], Vec::new());
        let job = |table: &Table| run(table, &keyed([1, 12, 40], "new"), &again).map(drop);
        let after = |model: &Model| {
            let new = [1, 12, 40].map(|id| (id, "new".to_owned()));
            model.clone().into_iter().chain(new).collect()
        };
        every_end(|inner| made(inner, properties), job, after);
    }
}
