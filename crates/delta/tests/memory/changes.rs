//! What updates and merges with clauses take of memory.

use std::sync::PoisonError;

use lakerace_delta::{
    ColumnAssignment, MergeAction, MergeClause, MergeOptions, MergeStatement, UpdateOptions, UpdateStatement, merge,
    update,
};
use lakerace_format::{Expr, Literal};

use crate::{ALONE, batches, most, peak, table_of};

/// Texts of a row, and rows.
const SIZES: [(usize, i64); 4] = [(1, 20_000), (8, 10_000), (8, 60_000), (40, 4000)];
const KEY: (&str, &str) = ("lakerace.primaryKey", "id");
const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");
const PROPERTIES: [&[(&str, &str)]; 3] = [&[], &[KEY], &[KEY, FEED]];

fn set(value: Expr) -> Vec<ColumnAssignment> {
    vec![ColumnAssignment { column: "t0".to_owned(), value, text: "t0 = …".to_owned() }]
}

#[test]
fn updates_keep_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (texts, rows) in SIZES {
        for limit in [1 << 20, 4 << 20] {
            for properties in PROPERTIES {
                let folder = tempfile::tempdir().unwrap();
                let table = table_of(&folder, batches(rows, texts, true), properties);
                let statement = UpdateStatement {
                    assignments: set(Expr::Literal(Literal::Text("another text".to_owned()))),
                    condition: None,
                    condition_text: None,
                };
                let options = UpdateOptions { memory_bytes: Some(limit), ..UpdateOptions::default() };
                let taken = peak(|| {
                    assert_eq!(update(&table, &statement, &options).unwrap().written.rows, rows as u64);
                });
                // Data files and change files are written at the same time.
                let most = most(limit, if properties.contains(&FEED) { 2 * texts } else { texts });
                let case = format!("{texts} texts, {rows} rows, limit {limit}, {properties:?}");
                assert!(taken <= most, "{case}: {taken}, at most {most}");
            }
        }
    }
}

#[test]
fn merges_keep_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let clause = |action| MergeClause { condition: None, condition_text: None, action };
    for (texts, rows) in SIZES {
        for limit in [1 << 20, 4 << 20] {
            for properties in PROPERTIES {
                let folder = tempfile::tempdir().unwrap();
                let table = table_of(&folder, batches(rows / 2, texts, true), properties);
                let statement = MergeStatement {
                    on: vec![("id".to_owned(), "id".to_owned())],
                    target_alias: "target".to_owned(),
                    source_alias: "source".to_owned(),
                    matched: vec![clause(MergeAction::SetAll { except: Vec::new() })],
                    not_matched: vec![clause(MergeAction::SetAll { except: Vec::new() })],
                    not_matched_by_source: vec![clause(MergeAction::Set(set(Expr::Literal(Literal::Null))))],
                };
                let options = MergeOptions { memory_bytes: limit, ..MergeOptions::default() };
                let taken = peak(|| {
                    let merged = merge(&table, batches(rows, texts, true), &statement, &options).unwrap();
                    assert_eq!((merged.updated, merged.inserted), (rows as u64 / 2, rows as u64 - rows as u64 / 2));
                });
                let most = most(limit, if properties.contains(&FEED) { 2 * texts } else { texts });
                let case = format!("{texts} texts, {rows} rows, limit {limit}, {properties:?}");
                assert!(taken <= most, "{case}: {taken}, at most {most}");
            }
        }
    }
}
