//! Decimals that are read in 64 bits are those that the `parquet` crate's own reader reads.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, RecordBatch};
use arrow::datatypes::DataType;
use lakerace_format::{ReadRequest, compact_type};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use crate::common::greater;
use crate::text_keys::{check, table};

/// Decimals of both signs with up to all digits, of which a share is null.
fn decimals(rows: usize, digits: u8, scale: i8, values: usize, null_every: usize) -> ArrayRef {
    let most = 10_i128.pow(u32::from(digits)) - 1;
    let value = |row: usize| {
        let number = (row * 7919 % values) as i128;
        let magnitude = if number % 3 == 0 { most - number.min(most) } else { number % (most + 1) };
        if number % 2 == 0 { magnitude } else { -magnitude }
    };
    let rows = (0..rows).map(|row| (null_every == 0 || row % null_every > 0).then(|| value(row)));
    Arc::new(Decimal128Array::from_iter(rows).with_precision_and_scale(digits, scale).unwrap())
}

fn written(rows: &RecordBatch, path: &std::path::Path, dictionary: bool, group_rows: usize) {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(dictionary)
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(64)
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

fn type_of(batches: &[RecordBatch], column: &str) -> DataType {
    batches[0].column_by_name(column).unwrap().data_type().clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn decimals_are_those_of_the_crates_reader(
        digits in 1_u8..=38,
        scale in 0_i8..=3,
        values in 1_usize..900,
        null_every in 0_usize..5,
        dictionary in any::<bool>(),
        group_rows in 200_usize..3000,
        batch_rows in prop::option::of(1_usize..1500),
        is_filtered in any::<bool>(),
        threads in 1_usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decimals.parquet");
        let column = decimals(2_000, digits, scale.min(digits as i8), values, null_every);
        let stored = column.data_type().clone();
        written(&table(vec![("decimal", column)]), &path, dictionary, group_rows);
        let filter = is_filtered.then(|| greater("id", 700));
        let batches = check(&[&path], &ReadRequest { batch_rows, filter, ..ReadRequest::default() }, threads);
        prop_assert_eq!(type_of(&batches, "decimal"), compact_type(&stored).unwrap_or(stored));
    }
}

#[test]
fn columns_of_the_filter_and_of_other_types_keep_128_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two, wide) =
        (folder.path().join("one.parquet"), folder.path().join("two.parquet"), folder.path().join("wide.parquet"));
    let column = |digits, scale| table(vec![("decimal", decimals(1_000, digits, scale, 300, 4))]);
    for (rows, path) in [(column(15, 2), &one), (column(12, 2), &two), (column(20, 2), &wide)] {
        written(&rows, path, true, 1_000);
    }
    let all = ReadRequest::default();
    assert_eq!(type_of(&check(&[&one], &all, 1), "decimal"), DataType::Decimal64(15, 2));
    assert_eq!(type_of(&check(&[&wide], &all, 1), "decimal"), DataType::Decimal128(20, 2));
    let filtered = ReadRequest { filter: Some(greater("decimal", 0)), ..ReadRequest::default() };
    assert_eq!(type_of(&check(&[&two], &filtered, 1), "decimal"), DataType::Decimal128(12, 2));
}
