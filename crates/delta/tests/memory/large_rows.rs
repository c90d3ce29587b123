//! Rows of megabytes: batches, queues and statistics are bounded by bytes, and not by the number of rows alone.

use std::sync::{Arc, PoisonError};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use lakerace_delta::{CompactOptions, Layout, UpsertOptions, WriteMode, compact, upsert};
use lakerace_format::Batches;

use crate::{ALONE, BESIDE_BYTES, copy, peak, table_of};

/// Bytes of all rows.
const ALL_BYTES: usize = 64 << 20;
/// Tables of these tests have such row groups, two of which are in memory while a file is written.
const ROW_GROUP_BYTES: usize = 1 << 20;
/// Copies of a row that are under way at a time, on the two threads of the job: decoded, sorted, encoded, compressed.
const ROWS_UNDER_WAY: usize = 9;
/// The same for rows that are sorted by their text: each has a key of its length. Threads that wait for a core keep rows for longer.
const ROWS_WITH_KEYS: usize = 20;

/// A text that nothing makes shorter.
fn scattered_text(bytes: usize) -> String {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((b' ' + (state >> 57) as u8 % 95) as char)
    };
    std::iter::from_fn(next).take(bytes).collect()
}

/// Each row has the text from another place on.
fn row(number: usize, rows: usize, text: &str) -> RecordBatch {
    let (front, rest) = text.split_at(number * 997 % text.len());
    let key: ArrayRef = Arc::new(Int64Array::from(vec![(number * 7 % rows) as i64]));
    let text: ArrayRef = Arc::new(StringViewArray::from(vec![format!("{rest}{front}")]));
    RecordBatch::try_from_iter_with_nullable([("id", key, true), ("text", text, true)]).unwrap()
}

fn rows_of(text: &Arc<str>) -> Batches {
    let (text, rows) = (Arc::clone(text), ALL_BYTES / text.len());
    let schema = row(0, rows, &text).schema();
    Batches::new(schema, (0..rows).map(move |number| Ok(row(number, rows, &text))))
}

#[test]
fn rows_of_megabytes_take_the_limit_and_a_few_of_them() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (text_bytes, limit) in [(1 << 20, 16 << 20), (1 << 20, 48 << 20), (4 << 20, 24 << 20), (8 << 20, 24 << 20)] {
        let folder = tempfile::tempdir().unwrap();
        let text: Arc<str> = scattered_text(text_bytes).into();
        let table = table_of(&folder, rows_of(&text), &[]);
        let beside = 2 * ROW_GROUP_BYTES + ROWS_UNDER_WAY * text_bytes + BESIDE_BYTES;
        let copied = peak(|| copy(&table, rows_of(&text), WriteMode::Overwrite, &[]));
        let key = vec!["id".to_owned()];
        let options = UpsertOptions { key: key.clone(), memory_bytes: limit, ..UpsertOptions::default() };
        let put = peak(|| {
            upsert(&table, rows_of(&text), &options).unwrap();
        });
        let text_column = vec!["text".to_owned()];
        let layouts = [Layout::SortBy(key), Layout::SortBy(text_column.clone()), Layout::ZOrder(text_column)];
        let sorted = layouts.map(|layout| {
            let options = CompactOptions { layout, memory_bytes: limit, ..CompactOptions::default() };
            peak(|| {
                compact(&table, &options).unwrap();
            })
        });
        let case = format!("{text_bytes} bytes of a row, limit {limit}");
        assert!(copied <= beside, "{case}: copy {copied}, at most {beside}");
        let most = limit as usize + beside;
        let most_with_keys = most + (ROWS_WITH_KEYS - ROWS_UNDER_WAY) * text_bytes;
        let [by_id, by_text, on_curve] = sorted;
        assert!(put <= most, "{case}: upsert {put}, at most {most}");
        assert!(by_id <= most && on_curve <= most, "{case}: compact {sorted:?}, at most {most}");
        assert!(by_text <= most_with_keys, "{case}: compact by text {by_text}, at most {most_with_keys}");
    }
}
