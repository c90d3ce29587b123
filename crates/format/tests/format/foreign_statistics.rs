//! Bounds in Parquet footers that are in another order than the values, too short, or impossible: no filter loses a row.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use lakerace_format::{CompareOp, Literal, ParquetSource};
use parquet::arrow::ArrowWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::{Statistics, ValueStatistics};

use crate::common::{compare, filtered, job, number, objects, read};

/// A file of one column `k` whose footer states these statistics of it, and how many of its rows are equal to a literal.
fn found(values: ArrayRef, statistics: Statistics, literal: Literal) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.parquet");
    let table = RecordBatch::try_from_iter_with_nullable([("k", values, true)]).unwrap();
    let properties = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties)).unwrap();
    writer.write(&table).unwrap();
    let written = writer.into_inner().unwrap();
    fs::write(&path, with_statistics(&written, statistics)).unwrap();
    let job = job(1);
    let source = ParquetSource::open(objects(&[&path], &job).unwrap(), &job).unwrap();
    read(&source, &filtered(compare("k", CompareOp::Eq, literal))).unwrap().num_rows()
}

fn with_statistics(file: &[u8], statistics: Statistics) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::copy_from_slice(file)).unwrap();
    let footer = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
    let mut changed = file[..file.len() - 8 - footer].to_vec();
    let group = metadata.row_group(0).clone();
    let chunk = group.column(0).clone().into_builder().set_statistics(statistics).clear_page_encoding_stats();
    let group = group.into_builder().set_column_metadata(vec![chunk.build().unwrap()]).build().unwrap();
    let metadata: ParquetMetaData = metadata.into_builder().set_row_groups(vec![group]).build();
    let mut writer = Vec::new();
    ParquetMetaDataWriter::new(&mut writer, &metadata).finish().unwrap();
    changed.extend(writer);
    changed
}

fn texts(min: &str, max: &str, is_old: bool) -> Statistics {
    let bound = |text: &str| Some(ByteArray::from(text.as_bytes().to_vec()));
    Statistics::ByteArray(
        ValueStatistics::new(bound(min), bound(max), None, Some(0), is_old).with_backwards_compatible_min_max(is_old),
    )
}

#[test]
fn the_old_fields_are_no_bounds_of_texts() {
    let values = || Arc::new(StringArray::from(vec!["a", "m", "z"]));
    assert_eq!(found(values(), texts("x", "y", true), Literal::Text("m".to_owned())), 1);
    assert_eq!(found(values(), texts("z", "a", false), Literal::Text("m".to_owned())), 1);
    // The new ones are.
    assert_eq!(found(values(), texts("x", "y", false), Literal::Text("m".to_owned())), 0);
}

#[test]
fn signed_bounds_of_unsigned_numbers_are_none() {
    let bounds = |is_old: bool| {
        let (min, max) = (Some(3_000_000_000u32 as i32), Some(4_000_000_000u32 as i32));
        Statistics::Int32(
            ValueStatistics::new(min, max, None, Some(0), is_old).with_backwards_compatible_min_max(is_old),
        )
    };
    let values = || Arc::new(UInt32Array::from(vec![7, 3_000_000_000, 4_000_000_000]));
    assert_eq!(found(values(), bounds(true), number(7)), 1);
    assert_eq!(found(values(), bounds(false), number(7)), 0);
}

#[test]
fn impossible_bounds_are_none() {
    let bounds = |min, max, nulls| Statistics::Int64(ValueStatistics::new(Some(min), Some(max), None, nulls, false));
    let values = || Arc::new(Int64Array::from(vec![1, 5, 9]));
    assert_eq!(found(values(), bounds(9, 1, Some(0)), number(5)), 1);
    assert_eq!(found(values(), bounds(1, 9, Some(4)), number(5)), 1);
    assert_eq!(found(values(), bounds(1, 9, Some(3)), number(5)), 1);
    assert_eq!(found(values(), bounds(6, 9, Some(0)), number(5)), 0);
    let decimals = || Arc::new(Decimal128Array::from(vec![1i128, 5, 9]).with_precision_and_scale(38, 0).unwrap());
    let bounds = |min: &[u8], max: &[u8], is_old: bool| {
        let bound = |bytes: &[u8]| Some(FixedLenByteArray::from(bytes.to_vec()));
        Statistics::FixedLenByteArray(
            ValueStatistics::new(bound(min), bound(max), None, Some(0), is_old)
                .with_backwards_compatible_min_max(is_old),
        )
    };
    let wide = |value: i128| value.to_be_bytes();
    assert_eq!(found(decimals(), bounds(&[7], &[8], false), number(5)), 1);
    assert_eq!(found(decimals(), bounds(&wide(7), &wide(8), true), number(5)), 1);
    assert_eq!(found(decimals(), bounds(&wide(7), &wide(8), false), number(5)), 0);
}
