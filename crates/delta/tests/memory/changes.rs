//! What updates take of memory.

use std::sync::PoisonError;

use lakerace_delta::{ColumnAssignment, UpdateOptions, UpdateStatement, update};
use lakerace_format::{Expr, Literal};

use crate::{ALONE, batches, most, peak, table_of};

/// Texts of a row, and rows.
const SIZES: [(usize, i64); 4] = [(1, 20_000), (8, 10_000), (8, 60_000), (40, 4000)];
const KEY: (&str, &str) = ("lakerace.primaryKey", "id");
const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");
const PROPERTIES: [&[(&str, &str)]; 3] = [&[], &[KEY], &[KEY, FEED]];

/// The most that may be taken beside the limit of rows of so many texts: rows of a table are read ahead, and noted.
fn most_of(limit: u64, texts: usize, rows: i64, folder: &tempfile::TempDir) -> usize {
    let files = std::fs::read_dir(folder.path().join("table")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    most(limit, texts) + 2 * bytes as usize + 64 * rows as usize
}

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
                let written = if properties.contains(&FEED) { 2 * texts } else { texts };
                let most = most_of(limit, written, rows, &folder);
                let case = format!("{texts} texts, {rows} rows, limit {limit}, {properties:?}");
                assert!(taken <= most, "{case}: {taken}, at most {most}");
            }
        }
    }
}
