//! Updates of rows: other writers at the same time, stores that end, the change feed, and the log.

use std::sync::Arc;

use lakerace_delta::{
    ChangeOutcome, ColumnAssignment, CompactOptions, Table, UpdateOptions, UpdateStatement, compact, delete,
    plan_update, update,
};
use lakerace_format::{Expr, Literal};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};

use crate::common::{
    Meanwhile, Model, append, create, entry, less, names, on, put, read, read_at, rows, stored, table, version,
};
use crate::faults::every_end;
use crate::feed::{has_change_files, replays};

const PLAIN: (&str, &str) = ("delta.enableDeletionVectors", "false");
const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");

fn text(value: &str) -> Expr {
    Expr::Literal(Literal::Text(value.to_owned()))
}

/// Sets the texts of the rows for which a condition is true.
fn statement(column: &str, value: Expr, condition: Option<Expr>) -> UpdateStatement {
    let assignment = ColumnAssignment { column: column.to_owned(), value, text: format!("{column} = …") };
    let condition_text = condition.as_ref().map(|_| "id < 15".to_owned());
    UpdateStatement { assignments: vec![assignment], condition, condition_text }
}

fn set_below(table: &Table, limit: i128, value: &str) -> Result<ChangeOutcome> {
    update(table, &statement("text", text(value), Some(less("id", limit))), &UpdateOptions::default())
}

/// A table of three files, of 10 rows each.
fn made(inner: &Arc<InMemory>, properties: &[(&str, &str)]) -> Table {
    let table = table(inner);
    create(&table, 0..10, properties);
    append(&table, 10..20, "base");
    append(&table, 20..30, "base");
    table
}

fn with_texts(model: &Model, below: i64, value: &str) -> Model {
    model.iter().map(|(id, text)| (*id, if *id < below { value.to_owned() } else { text.clone() })).collect()
}

#[test]
fn rows_get_new_values_in_one_commit() {
    for properties in [&[][..], &[PLAIN], &[FEED], &[PLAIN, FEED]] {
        let inner = Arc::new(InMemory::new());
        let table = made(&inner, properties);
        let before = read(&table);
        let changed = set_below(&table, 15, "new").unwrap();
        assert_eq!((changed.written.rows, changed.hidden, changed.probed), (15, 15, 2), "{properties:?}");
        assert_eq!(changed.written.version, Some(3));
        let is_plain = properties.contains(&PLAIN);
        assert_eq!((changed.vectors, changed.rewritten, changed.removed), if is_plain { (0, 1, 1) } else { (1, 0, 1) });
        let after = with_texts(&before, 15, "new");
        assert_eq!(read(&table), after);
        assert_eq!(read_at(&table, Some(2)).unwrap(), before);
        let entry = entry(&inner, 3);
        let info = entry.iter().find_map(|line| line.get("commitInfo")).unwrap();
        assert_eq!(info["operation"], "UPDATE");
        assert_eq!(info["operationParameters"]["predicate"], r#"["id < 15"]"#);
        assert_eq!(info["operationMetrics"]["numUpdatedRows"], "15");
        assert_eq!(info["operationMetrics"]["numCopiedRows"], if is_plain { "5" } else { "0" });
        assert_eq!(has_change_files(&inner, 3), properties.contains(&FEED));
        if properties.contains(&FEED) {
            replays(&table);
        }
        // All rows, of files that are searched and files that are not.
        let all = statement("text", text("all"), None);
        assert_eq!(update(&table, &all, &UpdateOptions::default()).unwrap().hidden, 30);
        assert_eq!(read(&table), with_texts(&before, 30, "all"));
    }
}

#[test]
fn an_update_of_no_row_writes_nothing() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner, &[]);
    let before = names(&inner);
    let changed = set_below(&table, 0, "new").unwrap();
    assert_eq!((changed.written.version, changed.written.rows, changed.hidden), (None, 0, 0));
    let statement = statement("text", text("new"), Some(less("id", 15)));
    let plan = plan_update(&table, &statement, &UpdateOptions::default()).unwrap();
    assert_eq!((plan.version, plan.rows, plan.files), (2, 15, 2));
    assert_eq!(names(&inner), before);
}

#[test]
fn a_value_that_does_not_fit_leaves_the_table() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner, &[]);
    let before = names(&inner);
    let wrong = statement("id", Expr::Column("text".to_owned()), Some(less("id", 15)));
    for outcome in [
        update(&table, &wrong, &UpdateOptions::default()).map(drop),
        plan_update(&table, &wrong, &UpdateOptions::default()).map(drop),
    ] {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("id = …"), "{error}");
    }
    assert_eq!(names(&inner), before);
}

#[test]
fn rows_of_other_writers_are_updated_as_they_are_then() {
    /// What another writer does, and what becomes of the rows by it.
    type Act = (fn(&Table), fn(Model) -> Model);
    let acts: [Act; 5] = [
        (
            |table| drop(put(table, &rows([3, 12, 40], "other")).unwrap()),
            |mut model| {
                model.extend(rows([3, 12, 40], "other"));
                model
            },
        ),
        (
            |table| append(table, -5..0, "more"),
            |mut model| {
                model.extend(rows(-5..0, "more"));
                model
            },
        ),
        (
            |table| drop(delete(table, &less("id", 12)).unwrap()),
            |model| model.into_iter().filter(|(id, _)| *id >= 12).collect(),
        ),
        (|table| drop(set_below(table, 20, "theirs").unwrap()), |model| with_texts(&model, 20, "theirs")),
        (|table| assert!(compact(table, &CompactOptions::default()).unwrap().version.is_some()), |model| model),
    ];
    for properties in [&[][..], &[PLAIN], &[FEED]] {
        for (number, (act, then)) in acts.iter().enumerate() {
            let inner = Arc::new(InMemory::new());
            let healthy = made(&inner, properties);
            let (before, act) = (read(&healthy), *act);
            let other = table(&inner);
            let changed = set_below(&on(Meanwhile::before(3, &inner, move || act(&other))), 15, "mine").unwrap();
            let last = version(&table(&inner));
            assert_eq!(changed.written.version, Some(last));
            let expected = with_texts(&then(before), 15, "mine");
            assert_eq!(read(&table(&inner)), expected, "{properties:?}, act {number}");
            assert_eq!(changed.hidden, expected.values().filter(|text| *text == "mine").count() as u64);
            if properties.contains(&FEED) {
                replays(&table(&inner));
            }
            // Files of the first attempt are gone.
            let kept = stored(&inner).len();
            crate::vacuum::vacuum_now(&table(&inner)).unwrap();
            assert!(stored(&inner).len() <= kept);
            assert_eq!(read(&table(&inner)), expected);
        }
    }
}

#[test]
fn updates_that_break_off() {
    for properties in [&[][..], &[PLAIN], &[FEED], &[PLAIN, FEED]] {
        let job = |table: &Table| set_below(table, 15, "new").map(drop);
        every_end(|inner| made(inner, properties), job, |model| with_texts(model, 15, "new"));
    }
}
